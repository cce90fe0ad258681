//! Prints a line for each change as it happens.

use std::os::fd::AsFd;
use std::time::SystemTime;

use etui::calendar::time::TimeZone;
use etui::record::{Collection, Paging};
use etui::search::filter::FieldSet;
use etui::watch::{View, ViewChange, ViewChanges};
use etui::{ChangeKind, SyncToken};
use etui_program::output::{Style, object, one_line, quote_operand};
use etui_program::{App, Failure, Result, StopSignal};
use rustix::event::{PollFd, PollFlags, poll};
use serde::Serialize;

use super::{RecordCommands, name_or_placeholder, parse_filter};
use crate::json::listed_json;

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
    all: &Collection<R>,
    args: &WatchArgs,
) -> Result<()> {
    let filter = parse_filter::<R>(&args.filter)?;
    let stop = StopSignal::install()?;
    let mut view = match args.since {
        Some(token) => all.view_since(&filter, token)?,
        None => all.view(&filter)?,
    };
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
                let object = object! { event: "collection_removed", name: &name };
                let text = format!("The {} {} was removed", R::KIND, one_line(&name));
                write_event(app, &object, '!', &text)?;
                return Err(Failure::NotFound(format!(
                    "the {} was removed; restore it with: etui {} restore {}",
                    R::KIND,
                    R::COLLECTIONS_COMMAND,
                    quote_operand(&name)
                )));
            }
            Some(now) if now != name => {
                let object = object! { event: "collection_renamed", from: &name, name: &now };
                let [from, to] = [&name, &now].map(|name| one_line(name));
                let text = format!("The {} {from} was renamed to {to}", R::KIND);
                write_event(app, &object, '!', &text)?;
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

/// Waits for changes. Returns false after a signal, or when the reader of the output is gone.
fn wait_for_change<R: RecordCommands>(view: &View<R>, stop: &StopSignal) -> Result<bool> {
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
fn write_matches<R: RecordCommands>(app: &mut App, view: &mut View<R>) -> Result<()> {
    // The page includes the changes made until now.
    for entry in &view.load(Paging::ALL)?.entries {
        let summary = R::json_summary(&entry.summary, &app.out);
        let object = object! {
            event: "present",
            #[serde(flatten)] entry: listed_json(entry.id, summary, None, None, None),
        };
        let name = name_or_placeholder::<R>(R::summary_name(&entry.summary));
        write_event(
            app,
            &object,
            '=',
            &format!("{} {}", entry.id, one_line(name)),
        )?;
    }
    Ok(())
}

fn write_changes<R: RecordCommands>(
    app: &mut App,
    view: &mut View<R>,
    changes: ViewChanges<R::Summary, R::Field>,
    with_matches: bool,
) -> Result<()> {
    match changes {
        ViewChanges::Since(changes) => changes
            .iter()
            .try_for_each(|change| write_change::<R>(app, change)),
        ViewChanges::Reset => {
            let text = "The changes until now are no longer known; read all records again";
            write_event(app, &object! { event: "reset" }, '!', text)?;
            match with_matches {
                true => write_matches(app, view),
                false => Ok(()),
            }
        }
    }
}

fn write_change<R: RecordCommands>(
    app: &mut App,
    change: &ViewChange<R::Summary, R::Field>,
) -> Result<()> {
    let fields = change.fields.iter().map(|f| field_name::<R::Field>(*f));
    let fields: Vec<&str> = fields.collect();
    let (event, sign, what) = match change.kind {
        ChangeKind::Added => ("added", '+', String::new()),
        ChangeKind::Removed => ("removed", '-', String::new()),
        ChangeKind::Changed if fields.is_empty() => ("changed", '~', ": details".to_owned()),
        ChangeKind::Changed => ("changed", '~', format!(": {}", fields.join(", "))),
    };
    let name = name_or_placeholder::<R>(R::summary_name(&change.summary));
    let text = format!("{} {}{what}", change.id, one_line(name));
    let object = object! {
        event: event,
        number: change.number,
        id: change.id.0,
        uid: &change.uid,
        #[serde(flatten)] summary: R::json_summary(&change.summary, &app.out),
        // Fields whose searchable values changed.
        fields: fields,
    };
    write_event(app, &object, sign, &text)
}

/// Writes the last line of each batch.
fn write_token<R: RecordCommands>(app: &mut App, view: &View<R>) -> Result<()> {
    let token = view.token().to_string();
    match app.out.json {
        true => app
            .out
            .write_json(&object! { event: "token", token: token }),
        false => Ok(()),
    }
}

/// Writes an event as JSON, or as a line with the time of day in UTC.
fn write_event(app: &mut App, object: &impl Serialize, sign: char, text: &str) -> Result<()> {
    if app.out.json {
        return app.out.write_json(object);
    }
    let now = TimeZone::UTC.to_local(SystemTime::now().into());
    let (hour, minute, second) = now.hms();
    let time = format!("{hour:02}:{minute:02}:{second:02}Z");
    let time = app.out.with_style(Style::Dim, &time).into_owned();
    app.out.write_line(format!("{time} {sign} {text}"))
}

/// Returns the name of a field in filters.
fn field_name<F: FieldSet>(field: F) -> &'static str {
    let known = F::NAMES.iter().find(|(_, f)| *f == field);
    known.map_or("any", |(name, _)| name)
}
