//! `etui export`: takes contacts out as vCards, or calendars as iCalendar (`calendar`).
//!
//! ```text
//! record [CRLF, if the record lacks a line end] record ... record
//! ```
//!
//! Records in UTF-16 can only stand in a file of their own kind: if all records are UTF-16 of one
//! byte order, a byte order mark goes first and they go out as they are; else those are written
//! as UTF-8.

mod calendar;

use std::borrow::Cow;
use std::io::Write;
use std::path::PathBuf;

use etui::contacts::{Card, Filter, Reader};
use etui::{Error, RecordId};

use super::new_file::NewFile;
use super::records::filter;
use super::records::find::nothing_found;
use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::json::ContactObject;
use crate::output::{OutputWriter, plural, shown};

const EXAMPLES: &str = "\
Examples:
  etui export -o contacts.vcf                all address books, byte for byte as it came in
  etui export org:acme -o acme.vcf           those of one organisation
  etui export --vcard-version 4.0 | less     everything, as vCard 4.0
  etui export --json | jq .emails            everything, as JSON

  etui export --calendars -o calendar.ics            all calendars, byte for byte as they came in
  etui export --calendar Work -o work.ics            one of them
  etui export --calendars kind:todo -o todo.ics      the to-dos of all

A file that is written (-o) can be read only by you. Filters: see `etui contacts find --help` and
`etui calendar find --help`.";

/// Take contacts out as vCards, or calendars as iCalendar
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Only those that the filter means
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    /// The file to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// All calendars, instead of contacts
    #[arg(long, conflicts_with_all = ["calendar", "vcard_version", "book"])]
    calendars: bool,
    /// The calendar of this name, instead of contacts
    #[arg(long, value_name = "NAME", conflicts_with_all = ["vcard_version", "book"])]
    calendar: Option<String>,
    /// Byte for byte as they came, or all in vCard 4.0 (RFC 6350)
    #[arg(long, value_name = "VERSION", default_value = "as-is")]
    vcard_version: Version,
    /// Replace the file if it is there
    #[arg(long, requires = "output")]
    force: bool,
}

/// What to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Version {
    AsIs,
    #[value(name = "4.0")]
    V4,
}

/// Where it goes.
enum Sink<'a> {
    OutputWriter(&'a mut OutputWriter),
    File(Box<NewFile>, PathBuf),
}

impl Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::OutputWriter(out) => out.bytes(bytes),
            Self::File(file, path) => file.write_all(bytes).map_err(|e| Failure::io(path, e)),
        }
    }
}

/// Writes them.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    if args.calendars || args.calendar.is_some() {
        return calendar::run(app, args, args.calendar.as_deref());
    }
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let meant = Selection::new(app.books_in(&snapshot)?, &args.filter)?;
    if app.out.json {
        if args.output.is_some() || args.vcard_version != Version::AsIs {
            return Err(Failure::usage(
                "--json writes JSON to standard output; leave out --output and --vcard-version",
            ));
        }
        let region = store.region()?;
        return meant.each(|book, id, text| {
            let contact = book.by_id(id)?.ok_or(Error::Stopped)?;
            match ContactObject::of(&contact, region) {
                Ok(object) => app.out.object(&object),
                Err(e) => {
                    app.out
                        .note(&format!("contact {id} ({} bytes): {e}", text.len()));
                    Ok(())
                }
            }
        });
    }
    let shape = match args.vcard_version {
        Version::V4 => Shape::Utf8,
        Version::AsIs => shape(&meant)?,
    };
    let mut recoded = 0;
    let mut written = 0u64;
    let mut note = None;
    {
        let mut sink = match &args.output {
            Some(path) => Sink::File(Box::new(NewFile::begin(path, args.force)?), path.clone()),
            None => Sink::OutputWriter(&mut app.out),
        };
        if let Shape::Utf16(order) = shape {
            sink.write(order.mark())?;
        }
        let mut open_line = false;
        meant.each(|_, _, text| {
            if open_line {
                sink.write(match shape {
                    Shape::Utf16(Order::Little) => b"\r\0\n\0".as_slice(),
                    Shape::Utf16(Order::Big) => b"\0\r\0\n",
                    Shape::Utf8 => b"\r\n",
                })?;
            }
            let text = match (args.vcard_version, shape, utf16(text)) {
                (Version::V4, ..) => {
                    let card = Card::parse(text)?;
                    Cow::Owned(identified(card.clone(), &card)?.to_v4().into_bytes())
                }
                (_, Shape::Utf8, Some(order)) => {
                    recoded += 1;
                    let recoded = Card::parse(order.decode(text))?;
                    Cow::Owned(identified(recoded, &Card::parse(text)?)?.into_text())
                }
                _ => Cow::Borrowed(text),
            };
            written += 1;
            open_line = !ends_line(&text, shape);
            sink.write(&text)
        })?;
        if let Sink::File(file, path) = sink {
            file.finish()?;
            note = Some(format!(
                "Wrote {} to {}",
                plural(written, "contact"),
                shown(&path.display().to_string())
            ));
        }
    }
    if recoded > 0 {
        app.out.note(&format!(
            "{} in UTF-16 written as UTF-8, since the others are not in UTF-16",
            plural(recoded, "contact")
        ));
    }
    if let Some(note) = note {
        app.out.say(note)?;
    }
    if written == 0 {
        let entries: u64 = store.stats()?.calendars.iter().map(|(_, n)| n).sum();
        if entries > 0 {
            app.out
                .note("There are no contacts; calendars: etui export --calendars");
        }
    }
    Ok(())
}

/// A card written otherwise than it came, with the identity that its own text gives it as its
/// UID, so that it is the same contact when it is brought in again.
fn identified(mut written: Card, came: &Card) -> Result<Card> {
    if written.uid().is_none() {
        written.set("UID", &came.identity())?;
    }
    Ok(written)
}

/// What goes out of which address books.
struct Selection<'s>(Vec<(Reader<'s>, Meant)>);

impl<'s> Selection<'s> {
    fn new(books: Vec<Reader<'s>>, words: &[String]) -> Result<Self> {
        let filter = filter::<Card>(words)?;
        let mut parts = Vec::new();
        for book in books {
            let meant = Meant::new(&book, &filter)?;
            parts.push((book, meant));
        }
        if parts
            .iter()
            .all(|(_, m)| matches!(m, Meant::These(ids) if ids.is_empty()))
        {
            return Err(nothing_found::<Card>(words));
        }
        Ok(Self(parts))
    }

    /// Calls `visit` with each, book by book.
    fn each(
        &self,
        mut visit: impl FnMut(&Reader<'s>, RecordId, &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.0
            .iter()
            .try_for_each(|(book, meant)| meant.each(book, |id, text| visit(book, id, text)))
    }
}

/// Which contacts of a book go out: all as they were added, or those found, in list order.
enum Meant {
    All,
    These(Vec<RecordId>),
}

impl Meant {
    fn new(book: &Reader<'_>, filter: &Filter) -> Result<Self> {
        if *filter == Filter::All {
            return Ok(Self::All);
        }
        let found = book.find(filter)?;
        Ok(Self::These(found.into_iter().map(|e| e.id).collect()))
    }

    /// Calls `visit` with each; one is in memory at a time.
    fn each(
        &self,
        book: &Reader<'_>,
        mut visit: impl FnMut(RecordId, &[u8]) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::These(ids) => {
                for &id in ids {
                    if let Some(contact) = book.by_id(id)? {
                        visit(id, &contact.text)?;
                    }
                }
                Ok(())
            }
            Self::All => {
                // The library's walk knows the library's errors only; ours is kept beside it.
                let mut failure = None;
                let walked = book.for_each(|id, text| {
                    visit(id, text).map_err(|e| {
                        failure = Some(e);
                        Error::Stopped
                    })
                });
                match failure {
                    Some(failure) => Err(failure),
                    None => Ok(walked?),
                }
            }
        }
    }
}

/// Byte order of UTF-16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

impl Order {
    fn mark(self) -> &'static [u8] {
        match self {
            Self::Little => b"\xff\xfe",
            Self::Big => b"\xfe\xff",
        }
    }

    fn decode(self, text: &[u8]) -> String {
        let units = text.chunks_exact(2).map(|pair| match (self, pair) {
            (Self::Little, &[a, b]) => u16::from_le_bytes([a, b]),
            (Self::Big, &[a, b]) => u16::from_be_bytes([a, b]),
            _ => 0xfffd,
        });
        char::decode_utf16(units)
            .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect()
    }
}

/// What kind of file the records make together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Utf16(Order),
    /// UTF-8, or whatever 8-bit charsets the records are in.
    Utf8,
}

/// A record begins with the B of BEGIN.
fn utf16(text: &[u8]) -> Option<Order> {
    match text {
        [b'B' | b'b', 0, ..] => Some(Order::Little),
        [0, b'B' | b'b', ..] => Some(Order::Big),
        _ => None,
    }
}

fn shape(meant: &Selection<'_>) -> Result<Shape> {
    let mut first = None;
    let mut mixed = false;
    meant.each(|_, _, text| {
        let order = utf16(text);
        mixed |= *first.get_or_insert(order) != order;
        Ok(())
    })?;
    Ok(match first.flatten() {
        Some(order) if !mixed => Shape::Utf16(order),
        _ => Shape::Utf8,
    })
}

fn ends_line(text: &[u8], shape: Shape) -> bool {
    match shape {
        Shape::Utf8 => matches!(text.last(), Some(b'\n' | b'\r')),
        Shape::Utf16(Order::Little) => matches!(text, [.., b'\n' | b'\r', 0]),
        Shape::Utf16(Order::Big) => matches!(text, [.., 0, b'\n' | b'\r']),
    }
}
