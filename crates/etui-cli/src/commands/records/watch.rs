//! Prints a line for each change as it happens.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use etui::record::{Collection, Paging};
use etui::search::filter::{FieldSet, Filter};
use etui::search::query::ListEntry;
use etui::watch::{View, ViewChange, ViewChanges};
use etui::{ChangeKind, SyncToken};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

use super::{RecordCommands, parse_filter};
use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::json::{
    EndJson, RenamedJson, ResetJson, TokenJson, ViewChangeJson, ViewEntryJson,
};
use crate::output::{Style, one_line, quote_operand};

// A struct comment would replace the help text of the subcommand.
#[derive(Debug, clap::Args)]
pub struct WatchArgs {
    /// Filter, as for `find`; several words are joined by spaces [default: all records]
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    /// Print the changes since this token first
    #[arg(long, value_name = "TOKEN")]
    since: Option<SyncToken>,
    /// Print the existing records first
    #[arg(long, conflicts_with = "since")]
    initial: bool,
}

/// Prints the changes of a collection until a signal arrives or the collection is removed.
pub fn watch_records<R: RecordCommands>(
    app: &mut App,
    all: &Collection<'_, R>,
    args: &WatchArgs,
) -> Result<()> {
    let filter = parse_filter::<R>(&args.filter)?;
    let stop = stop_on_signal()?;
    let mut view = open_view(all, &filter, args.since)?;
    if args.initial {
        write_matches(app, &mut view)?;
    }
    write_token(app, &view)?;
    app.out.flush_output()?;
    app.out
        .write_note("Watching for changes; stop with Ctrl-C.");
    let mut name = all.name().to_owned();
    // The first check does not wait: the name was read before the view existed.
    loop {
        let (changes, now) = view.changes_and_name()?;
        if !changes.is_empty() {
            write_changes(app, &mut view, changes, args.initial)?;
            write_token(app, &view)?;
        }
        match now {
            None => {
                write_removed::<R>(app, &name)?;
                return Err(collection_gone::<R>(&name));
            }
            Some(now) if now != name => {
                write_renamed::<R>(app, &name, &now)?;
                name = now;
            }
            Some(_) => {}
        }
        app.out.flush_output()?;
        if !wait_for_change(&view, &stop)? {
            return Ok(());
        }
    }
}

/// Returns the error for a removed collection.
fn collection_gone<R: RecordCommands>(name: &str) -> Failure {
    Failure::NotFound(format!(
        "the {} was removed; restore it with: etui {} restore {}",
        R::KIND,
        R::COLLECTIONS_COMMAND,
        quote_operand(name)
    ))
}

fn open_view<'s, R: RecordCommands>(
    all: &Collection<'s, R>,
    filter: &Filter<R::Field>,
    since: Option<SyncToken>,
) -> Result<View<'s, R>> {
    Ok(match since {
        Some(token) => all.view_since(filter, token)?,
        None => all.view(filter)?,
    })
}

/// Returns an eventfd that becomes readable on SIGINT, SIGTERM or SIGHUP.
fn stop_on_signal() -> Result<Arc<OwnedFd>> {
    let stop = eventfd(0, EventfdFlags::CLOEXEC)
        .map_err(|e| Failure::named_io("eventfd", e.into()))
        .map(Arc::new)?;
    let asked = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        let _ = rustix::io::write(&*asked, &1u64.to_ne_bytes());
    })
    .map_err(|e| Failure::Other(e.to_string()))?;
    Ok(stop)
}

/// Waits for changes. Returns false after a signal, or when the reader of the output is gone.
fn wait_for_change<R: RecordCommands>(view: &View<'_, R>, stop: &OwnedFd) -> Result<bool> {
    let stdout = std::io::stdout();
    let changes = view.descriptor()?;
    loop {
        let mut fds = [
            PollFd::new(&changes, PollFlags::IN),
            PollFd::new(stop, PollFlags::IN),
            // POLLERR is reported without being requested.
            PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::empty()),
        ];
        match poll(&mut fds, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(e) => return Err(Failure::named_io("poll", e.into())),
        }
        let [changes, stop, stdout] = fds.map(|fd| !fd.revents().is_empty());
        if stop || stdout {
            return Ok(false);
        }
        if changes {
            return Ok(true);
        }
    }
}

/// Writes all current matches.
fn write_matches<R: RecordCommands>(app: &mut App, view: &mut View<'_, R>) -> Result<()> {
    // The page includes the changes made until now.
    for entry in &view.load(Paging::ALL)?.entries {
        write_entry::<R>(app, entry)?;
    }
    Ok(())
}

fn write_changes<R: RecordCommands>(
    app: &mut App,
    view: &mut View<'_, R>,
    changes: ViewChanges<R::Summary, R::Field>,
    with_matches: bool,
) -> Result<()> {
    match changes {
        ViewChanges::Since(changes) => changes
            .iter()
            .try_for_each(|change| write_change::<R>(app, change)),
        ViewChanges::Reset => {
            write_reset(app)?;
            match with_matches {
                true => write_matches(app, view),
                false => Ok(()),
            }
        }
    }
}

fn write_entry<R: RecordCommands>(app: &mut App, entry: &ListEntry<R::Summary>) -> Result<()> {
    if app.out.json {
        let summary = R::json_summary(&entry.summary, &app.out);
        let object = ViewEntryJson::new(entry.id, summary);
        return app.out.write_json(&object);
    }
    write_line::<R>(app, '=', entry.id.0, R::summary_name(&entry.summary), "")
}

fn write_change<R: RecordCommands>(
    app: &mut App,
    change: &ViewChange<R::Summary, R::Field>,
) -> Result<()> {
    let fields: Vec<&str> = change
        .fields
        .iter()
        .map(|f| field_name::<R::Field>(*f))
        .collect();
    if app.out.json {
        let summary = R::json_summary(&change.summary, &app.out);
        let object = ViewChangeJson::new(change, summary, fields);
        return app.out.write_json(&object);
    }
    let (sign, what) = match change.kind {
        ChangeKind::Added => ('+', String::new()),
        ChangeKind::Removed => ('-', String::new()),
        ChangeKind::Changed if fields.is_empty() => ('~', ": details".to_owned()),
        ChangeKind::Changed => ('~', format!(": {}", fields.join(", "))),
    };
    write_line::<R>(
        app,
        sign,
        change.id.0,
        R::summary_name(&change.summary),
        &what,
    )
}

fn write_reset(app: &mut App) -> Result<()> {
    if app.out.json {
        return app.out.write_json(&ResetJson::default());
    }
    write_remark(
        app,
        "The changes until now are no longer known; read all records again",
    )
}

fn write_renamed<R: RecordCommands>(app: &mut App, from: &str, name: &str) -> Result<()> {
    if app.out.json {
        return app.out.write_json(&RenamedJson::new(from, name));
    }
    let (from, name) = (one_line(from), one_line(name));
    write_remark(
        app,
        &format!("The {} {from} was renamed to {name}", R::KIND),
    )
}

fn write_removed<R: RecordCommands>(app: &mut App, name: &str) -> Result<()> {
    if app.out.json {
        return app.out.write_json(&EndJson::new(name));
    }
    let name = one_line(name);
    write_remark(app, &format!("The {} {name} was removed", R::KIND))
}

fn write_remark(app: &mut App, text: &str) -> Result<()> {
    let time = app.out.with_style(Style::Dim, &utc_time()).into_owned();
    app.out.write_line(format!("{time} ! {text}"))
}

fn write_token<R: RecordCommands>(app: &mut App, view: &View<'_, R>) -> Result<()> {
    match app.out.json {
        true => app.out.write_json(&TokenJson::new(view.token())),
        false => Ok(()),
    }
}

fn write_line<R: RecordCommands>(
    app: &mut App,
    sign: char,
    id: i64,
    name: &str,
    what: &str,
) -> Result<()> {
    let name = match name {
        "" => R::UNNAMED.into(),
        name => one_line(name),
    };
    let time = app.out.with_style(Style::Dim, &utc_time()).into_owned();
    app.out
        .write_line(format!("{time} {sign} {id} {name}{what}"))
}

/// Returns the time of day in UTC.
fn utc_time() -> String {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
        .as_secs();
    let (hours, minutes, seconds) = (now / 3_600 % 24, now / 60 % 60, now % 60);
    format!("{hours:02}:{minutes:02}:{seconds:02}Z")
}

/// Returns the name of a field in filters.
fn field_name<F: FieldSet>(field: F) -> &'static str {
    let known = F::NAMES.iter().find(|(_, f)| *f == field);
    known.map_or("any", |(name, _)| name)
}
