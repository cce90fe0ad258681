//! A line for each change, as it happens.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use etui::record::{Collection, Paging};
use etui::search::filter::{FieldSet, Filter};
use etui::search::query::ListEntry;
use etui::watch::{View, ViewChange, ViewChanges};
use etui::{ChangeKind, SyncToken};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

use super::{RecordCommands, filter};
use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::json::{
    EndObject, RenamedObject, ResetObject, TokenObject, ViewChangeObject, ViewEntryObject,
};
use crate::output::{Style, one_line, operand};

/// Whom it is about, and since when.
#[derive(Debug, clap::Args)]
pub struct WatchArgs {
    /// What it is about, as for `find`; words are joined by spaces [default: all]
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    /// Begin with what happened since then
    #[arg(long, value_name = "TOKEN")]
    since: Option<SyncToken>,
    /// Begin with those that are there
    #[arg(long, conflicts_with = "since")]
    initial: bool,
}

/// Tells of changes in a collection until it is asked to end, or the collection is removed.
pub fn watch<R: RecordCommands>(
    app: &mut App,
    all: &Collection<'_, R>,
    args: &WatchArgs,
) -> Result<()> {
    let filter = filter::<R>(&args.filter)?;
    let stop = stop_when_asked()?;
    let mut view = open(all, &filter, args.since)?;
    if args.initial {
        write_all(app, &mut view)?;
    }
    write_token(app, &view)?;
    app.out.flush()?;
    app.out.note("Following changes; end with Ctrl-C.");
    let mut name = all.name().to_owned();
    // The first look comes without a wait: the name is from before the view was there.
    loop {
        let (changes, now) = view.changes_and_name()?;
        if !changes.is_empty() {
            write_changes(app, &mut view, changes, args.initial)?;
            write_token(app, &view)?;
        }
        match now {
            None => {
                write_end::<R>(app, &name)?;
                return Err(ended::<R>(&name));
            }
            Some(now) if now != name => {
                write_name::<R>(app, &name, &now)?;
                name = now;
            }
            Some(_) => {}
        }
        app.out.flush()?;
        if !wait(&view, &stop)? {
            return Ok(());
        }
    }
}

/// Why nothing can be followed any more.
fn ended<R: RecordCommands>(name: &str) -> Failure {
    Failure::NotFound(format!(
        "there is nothing to follow any more; bring the {} back: etui {} {} restore {}",
        R::KIND,
        R::COMMAND,
        R::HOLDERS,
        operand(name)
    ))
}

fn open<'s, R: RecordCommands>(
    all: &Collection<'s, R>,
    filter: &Filter<R::Field>,
    since: Option<SyncToken>,
) -> Result<View<'s, R>> {
    Ok(match since {
        Some(token) => all.view_since(filter, token)?,
        None => all.view(filter)?,
    })
}

/// Readable once the program is asked to end: by Ctrl-C, by SIGTERM, by its terminal's end.
fn stop_when_asked() -> Result<Arc<OwnedFd>> {
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

/// Waits until there may be changes. `false`: it is over, by request or because nobody reads the
/// output any more.
fn wait<R: RecordCommands>(view: &View<'_, R>, stop: &OwnedFd) -> Result<bool> {
    let stdout = std::io::stdout();
    let changes = view.descriptor()?;
    loop {
        let mut fds = [
            PollFd::new(&changes, PollFlags::IN),
            PollFd::new(stop, PollFlags::IN),
            // Errors are reported unasked.
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

/// All that the filter means at this moment.
fn write_all<R: RecordCommands>(app: &mut App, view: &mut View<'_, R>) -> Result<()> {
    // What was changed until then is in it.
    for entry in &view.load(Paging::ALL)?.entries {
        write_entry::<R>(app, entry)?;
    }
    Ok(())
}

fn write_changes<R: RecordCommands>(
    app: &mut App,
    view: &mut View<'_, R>,
    changes: ViewChanges<R::Summary, R::Field>,
    with_all: bool,
) -> Result<()> {
    match changes {
        ViewChanges::Since(changes) => changes
            .iter()
            .try_for_each(|change| write_change::<R>(app, change)),
        ViewChanges::Reset => {
            write_reset(app)?;
            match with_all {
                true => write_all(app, view),
                false => Ok(()),
            }
        }
    }
}

fn write_entry<R: RecordCommands>(app: &mut App, entry: &ListEntry<R::Summary>) -> Result<()> {
    if app.out.json {
        let summary = R::object(&entry.summary, &app.out);
        let object = ViewEntryObject::new(entry.id, summary);
        return app.out.object(&object);
    }
    write_line::<R>(app, '=', entry.id.0, R::name(&entry.summary), "")
}

fn write_change<R: RecordCommands>(
    app: &mut App,
    change: &ViewChange<R::Summary, R::Field>,
) -> Result<()> {
    let fields: Vec<&str> = change.fields.iter().map(|f| name::<R::Field>(*f)).collect();
    if app.out.json {
        let summary = R::object(&change.summary, &app.out);
        let object = ViewChangeObject::of(change, summary, fields);
        return app.out.object(&object);
    }
    let (sign, what) = match change.kind {
        ChangeKind::Added => ('+', String::new()),
        ChangeKind::Removed => ('-', String::new()),
        ChangeKind::Changed if fields.is_empty() => ('~', ": details".to_owned()),
        ChangeKind::Changed => ('~', format!(": {}", fields.join(", "))),
    };
    write_line::<R>(app, sign, change.id.0, R::name(&change.summary), &what)
}

fn write_reset(app: &mut App) -> Result<()> {
    if app.out.json {
        return app.out.object(&ResetObject::default());
    }
    write_remark(
        app,
        "What was changed until now is not known any more; look at everything anew",
    )
}

fn write_name<R: RecordCommands>(app: &mut App, from: &str, name: &str) -> Result<()> {
    if app.out.json {
        return app.out.object(&RenamedObject::new(from, name));
    }
    let (from, name) = (one_line(from), one_line(name));
    write_remark(app, &format!("The {} {from} is {name} now", R::KIND))
}

fn write_end<R: RecordCommands>(app: &mut App, name: &str) -> Result<()> {
    if app.out.json {
        return app.out.object(&EndObject::new(name));
    }
    let name = one_line(name);
    write_remark(app, &format!("The {} {name} was removed", R::KIND))
}

fn write_remark(app: &mut App, text: &str) -> Result<()> {
    let time = app.out.styled(Style::Dim, &time()).into_owned();
    app.out.line(format!("{time} ! {text}"))
}

fn write_token<R: RecordCommands>(app: &mut App, view: &View<'_, R>) -> Result<()> {
    match app.out.json {
        true => app.out.object(&TokenObject::of(view.token())),
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
    let time = app.out.styled(Style::Dim, &time()).into_owned();
    app.out.line(format!("{time} {sign} {id} {name}{what}"))
}

/// The time of day, in UTC.
fn time() -> String {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
        .as_secs();
    let (hours, minutes, seconds) = (now / 3_600 % 24, now / 60 % 60, now % 60);
    format!("{hours:02}:{minutes:02}:{seconds:02}Z")
}

/// The field's name in filters.
fn name<F: FieldSet>(field: F) -> &'static str {
    let known = F::NAMES.iter().find(|(_, f)| *f == field);
    known.map_or("any", |(name, _)| name)
}
