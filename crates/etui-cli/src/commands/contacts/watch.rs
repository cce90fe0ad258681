//! `etui contacts watch`: a line for each change, as it happens.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use etui::contacts::{Contacts, Entry, Field, Filter, Page, View, ViewChange, ViewChanges};
use etui::{ChangeKind, Token};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

use super::filter;
use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::json::{ResetObject, TokenObject, ViewChangeObject, ViewEntryObject};
use crate::output::{Style, one_line};

const EXAMPLES: &str = "\
Examples:
  etui contacts watch                        whatever happens in the address book
  etui contacts watch name:anna or org:acme  what concerns these
  etui contacts watch --initial 'phone:*'    who has a phone number, and what becomes of it
  etui contacts watch --json --since \"$(cat token)\"

  12:30:07Z + 17 Ada Lovelace                is there now, or fits the filter now
  12:30:09Z ~ 17 Ada Lovelace: phone, note   was changed: where
  12:30:10Z - 17 Ada Lovelace                was removed, or fits no longer

Changes by any program are told, once each, in order; several of one contact at the same moment
are one. It goes on until it is ended (Ctrl-C) or its output is closed. With --json, a line with a
token follows each batch: a reader that begins again with --since and the last token that it has
seen misses nothing and is told nothing twice. Tokens are good for 30 days at least. Times are UTC.";

/// Tell of changes as they happen
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Whom it is about, as for `find`; words are joined by spaces [default: all]
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    /// Begin with what happened since then
    #[arg(long, value_name = "TOKEN")]
    since: Option<Token>,
    /// Begin with those that are there
    #[arg(long, conflicts_with = "since")]
    initial: bool,
}

/// Tells of them.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    let filter = filter(&args.filter)?;
    let stop = stop_when_asked()?;
    let store = app.open_to_read()?;
    let book = app.book(&store)?;
    let mut view = open(&book, &filter, args.since)?;
    if args.initial {
        write_all(app, &mut view)?;
    }
    write_token(app, &view)?;
    app.out.flush()?;
    app.out.note("Following changes; end with Ctrl-C.");
    while wait(&view, &stop)? {
        match view.changes()? {
            ViewChanges::Since(changes) if changes.is_empty() => continue,
            ViewChanges::Since(changes) => {
                for change in &changes {
                    write_change(app, change)?;
                }
            }
            ViewChanges::Reset => {
                write_reset(app)?;
                if args.initial {
                    write_all(app, &mut view)?;
                }
            }
        }
        write_token(app, &view)?;
        app.out.flush()?;
    }
    drop(view);
    store.close()?;
    Ok(())
}

fn open<'s>(book: &Contacts<'s>, filter: &Filter, since: Option<Token>) -> Result<View<'s>> {
    Ok(match since {
        Some(token) => book.view_since(filter, token)?,
        None => book.view(filter)?,
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
fn wait(view: &View<'_>, stop: &OwnedFd) -> Result<bool> {
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
fn write_all(app: &mut App, view: &mut View<'_>) -> Result<()> {
    // What was changed until then is in it.
    for entry in &view.load(Page::ALL)?.entries {
        write_entry(app, entry)?;
    }
    Ok(())
}

fn write_entry(app: &mut App, entry: &Entry) -> Result<()> {
    if app.out.json {
        return app.out.object(&ViewEntryObject::of(entry));
    }
    write_line(app, '=', entry.id.0, &entry.summary.name, "")
}

fn write_change(app: &mut App, change: &ViewChange) -> Result<()> {
    let fields: Vec<&str> = change.fields.iter().map(|f| name(*f)).collect();
    if app.out.json {
        return app.out.object(&ViewChangeObject::of(change, fields));
    }
    let (sign, what) = match change.kind {
        ChangeKind::Added => ('+', String::new()),
        ChangeKind::Removed => ('-', String::new()),
        ChangeKind::Changed if fields.is_empty() => ('~', ": details".to_owned()),
        ChangeKind::Changed => ('~', format!(": {}", fields.join(", "))),
    };
    write_line(app, sign, change.id.0, &change.summary.name, &what)
}

fn write_reset(app: &mut App) -> Result<()> {
    if app.out.json {
        return app.out.object(&ResetObject::default());
    }
    let time = app.out.styled(Style::Dim, &time()).into_owned();
    app.out.line(format!(
        "{time} ! What was changed until now is not known any more; look at everything anew"
    ))
}

fn write_token(app: &mut App, view: &View<'_>) -> Result<()> {
    match app.out.json {
        true => app.out.object(&TokenObject::of(view.token())),
        false => Ok(()),
    }
}

fn write_line(app: &mut App, sign: char, id: i64, name: &str, what: &str) -> Result<()> {
    let name = match name {
        "" => "(no name)".into(),
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
fn name(field: Field) -> &'static str {
    let known = Field::NAMES.iter().find(|(_, f)| *f == field);
    known.map_or("any", |(name, _)| name)
}
