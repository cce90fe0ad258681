//! `etui import`: brings in files of vCards and of calendars, told apart by what is in them.

use std::fs::File;
use std::io::{Cursor, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use etui::calendar::Calendar;
use etui::contacts::Contacts;
use etui::import::{ImportEvent, ImportReport};
use etui::{CollectionKind, Error};

use crate::app::{App, calendar_to_fill};
use crate::errors::{Failure, Result};
use crate::output::json::ImportObject;
use crate::output::{OutputWriter, Progress, count, one_line, option, plural, shown, size};

const EXAMPLES: &str = "\
Examples:
  etui import contacts.vcf                   a file, as any address book exports it
  etui import calendar.ics                   a file, as any calendar exports it
  etui import phone.vcf backup/*.vcf *.ics   several files, of both kinds
  etui import --calendar Work work.ics       into a calendar of that name
  curl -s https://example.org/all.vcf | etui import -

Files of vCard 2.1, 3.0 and 4.0 and of iCalendar in any charset can be read; which of them a file
is, its content tells. Records go in byte for byte. One whose UID is there already replaces it
(`etui contacts restore`, `etui calendar restore` undo it); the same file imported twice changes
nothing. What cannot be read is told of, with its line, and the rest goes in; then the exit code
is 3.";

/// Bring in files of contacts and calendars
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The files; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The calendar that calendars go into [default: the first one]
    #[arg(long, value_name = "NAME")]
    calendar: Option<String>,
}

/// Bytes at the beginning of a file that tell what is in it.
const HEAD: u64 = 64 << 10;

/// A file about to be read.
struct Source {
    name: String,
    holds: CollectionKind,
    reader: Box<dyn Read>,
    size: Option<u64>,
}

impl Source {
    fn open(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            return Self::of("-".to_owned(), std::io::stdin(), None);
        }
        let failed = |e| Failure::io(path, e);
        let file = File::open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        if about.is_dir() {
            return Err(Failure::Other(format!(
                "{}: this is a directory; name the files in it",
                path.display()
            )));
        }
        let size = about.is_file().then_some(about.len());
        Self::of(path.display().to_string(), file, size)
    }

    /// Looks at the beginning of what is to be read.
    fn of(name: String, mut reader: impl Read + 'static, size: Option<u64>) -> Result<Self> {
        let mut head = Vec::new();
        let read = reader.by_ref().take(HEAD).read_to_end(&mut head);
        read.map_err(|e| Failure::named_io(name.as_str(), e))?;
        Ok(Self {
            holds: kind_of(&head),
            reader: Box::new(Cursor::new(head).chain(reader)),
            name,
            size,
        })
    }
}

/// What a text holds: the first thing that begins in it tells. In UTF-16 every other byte is zero.
fn kind_of(head: &[u8]) -> CollectionKind {
    const BEGIN: &[u8] = b"BEGIN:V";
    let narrow: Vec<u8> = head.iter().copied().filter(|b| *b != 0).collect();
    let mut texts = narrow.windows(BEGIN.len() + 3);
    let first = texts.find(|text| text[..BEGIN.len()].eq_ignore_ascii_case(BEGIN));
    match first {
        Some(text) if !text[BEGIN.len()..].eq_ignore_ascii_case(b"CAR") => CollectionKind::Calendar,
        _ => CollectionKind::Contacts,
    }
}

/// Imports the files, one after the other.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    // All of them are opened first: a mistyped name is noticed before anything is done.
    let sources = args
        .files
        .iter()
        .map(|f| Source::open(f))
        .collect::<Result<Vec<_>>>()?;
    let mut options = app.options();
    options.merge_substrings = false;
    let store = app.open_or_create(&options)?;
    let into = Into {
        book: is_any(&sources, CollectionKind::Contacts)
            .then(|| app.book(&store))
            .transpose()?,
        calendar: is_any(&sources, CollectionKind::Calendar)
            .then(|| calendar_to_fill(&store, args.calendar.as_deref()))
            .transpose()?,
    };
    let book = app.book_name().map(str::to_owned);
    for (flag, name, is_used, none) in [
        (
            "--calendar",
            &args.calendar,
            into.calendar.is_some(),
            "no calendar was",
        ),
        ("--book", &book, into.book.is_some(), "no contacts were"),
    ] {
        if let (Some(name), false) = (name, is_used) {
            let given = option(flag, name);
            app.out.note(&format!("{given} is not used: {none} given"));
        }
    }
    let mut all = ImportObject::default();
    let several = sources.len() > 1;
    for source in sources {
        let name = source.name.clone();
        let holds = source.holds;
        let report = import(&mut app.out, &into, source)?;
        app.out
            .say(format!("{}: {}", shown(&name), summary(&report)))?;
        all.add(&name, holds, report);
    }
    // What is imported is saved; without this, searches take longer until the next save.
    if let Err(error) = store.merge_index() {
        app.out.error_line(&one_line(&format!(
            "everything is saved, but the search index is not up to date yet: {error}"
        )));
    }
    store.close()?;
    if app.out.json {
        app.out.object(&all)?;
    } else if several {
        app.out.say(format!(
            "Together: {} added, {} changed, {} unchanged, {} refused",
            count(all.added),
            count(all.changed),
            count(all.unchanged),
            count(all.refused)
        ))?;
    }
    if all.refused > 0 {
        return Err(Failure::Refused(format!(
            "{} refused; {}",
            if all.refused == 1 {
                "1 piece was".to_owned()
            } else {
                format!("{} pieces were", count(all.refused))
            },
            if all.added + all.changed + all.unchanged == 0 {
                "nothing went in"
            } else {
                "the rest went in"
            }
        )));
    }
    Ok(())
}

/// Where records go, as far as there are any.
struct Into<'s> {
    book: Option<Contacts<'s>>,
    calendar: Option<Calendar<'s>>,
}

fn is_any(sources: &[Source], kind: CollectionKind) -> bool {
    sources.iter().any(|source| source.holds == kind)
}

fn import(out: &mut OutputWriter, into: &Into<'_>, source: Source) -> Result<ImportReport> {
    let mut progress = Progress::of_bytes(out, &source.name, source.size);
    let name = source.name;
    let json = out.json;
    let one = match source.holds {
        CollectionKind::Calendar => "entry",
        _ => "contact",
    };
    let (mut saved, mut read) = (0, (0, 0));
    let mut on_event = |event: ImportEvent<'_>| {
        match event {
            ImportEvent::Progress { bytes, records } => {
                read = (bytes, records);
                progress.set(bytes, plural(records, one));
            }
            ImportEvent::Refused(refused) | ImportEvent::Warned(refused) if !json => {
                let line = format!(
                    "{name}:{}: {} ({})",
                    refused.line, refused.reason, refused.excerpt
                );
                progress.beside(|| out.error_line(&one_line(&line)));
            }
            ImportEvent::Refused(_) | ImportEvent::Warned(_) => {}
            ImportEvent::Indexing => {
                progress.set(
                    read.0,
                    format!("{}, being put in order", plural(read.1, one)),
                );
            }
            ImportEvent::Saved { records } => saved = records,
        }
        ControlFlow::Continue(())
    };
    let imported = match (source.holds, &into.book, &into.calendar) {
        (CollectionKind::Calendar, _, Some(calendar)) => {
            calendar.import(source.reader, &mut on_event)
        }
        (_, Some(book), _) => book.import(source.reader, &mut on_event),
        _ => Ok(ImportReport::default()),
    };
    drop(progress);
    if imported.is_err() && saved > 0 {
        out.note(&format!(
            "{} of {} went in before this; bring it in again to go on",
            plural(saved, one),
            shown(&name)
        ));
    }
    imported.map_err(|error| match error {
        Error::Io { source, path } if path == Path::new("the input") => {
            Failure::named_io(name, source)
        }
        other => other.into(),
    })
}

/// `8,412 added, 1 changed, 3 refused (6.4 MB)`.
pub fn summary(report: &ImportReport) -> String {
    let mut parts = vec![format!("{} added", count(report.added))];
    for (n, what) in [
        (report.changed, "changed"),
        (report.unchanged, "unchanged"),
        (report.refused, "refused"),
        (report.warned, "not wholly understood"),
    ] {
        if n > 0 {
            parts.push(format!("{} {what}", count(n)));
        }
    }
    format!("{} ({})", parts.join(", "), size(report.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_tells_what_it_is() {
        let wide =
            |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_be_bytes).collect() };
        for (text, kind) in [
            ("BEGIN:VCARD\n", CollectionKind::Contacts),
            ("\u{feff}\r\nbegin:vcalendar\n", CollectionKind::Calendar),
            ("BEGIN:VEVENT\n", CollectionKind::Calendar),
            (
                "From: x\n\nBEGIN:VCARD\nBEGIN:VCALENDAR",
                CollectionKind::Contacts,
            ),
            ("", CollectionKind::Contacts),
            ("BEGIN:V", CollectionKind::Contacts),
            ("hello", CollectionKind::Contacts),
        ] {
            assert_eq!(kind_of(text.as_bytes()), kind, "{text}");
            assert_eq!(kind_of(&wide(text)), kind, "{text}");
        }
    }
}
