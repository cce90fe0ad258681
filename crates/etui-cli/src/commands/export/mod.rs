//! `etui export`: exports contacts as vCard, or calendars as iCalendar (`calendar`).
//!
//! ```text
//! record [CRLF, if the record lacks a line end] record ... record
//! ```
//!
//! A file has one encoding. If all records are UTF-16 of one byte order, they are written as they are
//! after a byte order mark; else UTF-16 records are converted to UTF-8.

mod calendar;

use std::borrow::Cow;
use std::io::Write;
use std::path::PathBuf;

use etui::contacts::{Card, Filter, Reader};
use etui::record::RecordKind;
use etui::{Error, RecordId};

use super::new_file::NewFile;
use super::records::find::no_match;
use super::records::parse_filter;
use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::json::ContactJson;
use crate::output::{OutputWriter, escape_text, pluralize};

const EXAMPLES: &str = "\
Examples:
  etui export -o contacts.vcf                all address books, byte for byte
  etui export org:acme -o acme.vcf           one organisation
  etui export --vcard-version 4.0 | less     everything, as vCard 4.0
  etui export --json | jq .emails            everything, as JSON

  etui export --calendars -o calendar.ics            all calendars, byte for byte
  etui export --calendar Work -o work.ics            one of them
  etui export --calendars kind:todo -o todo.ics      all to-dos

A new file (-o) is readable only by you. For FILTER see `etui contacts find --help` and
`etui calendar find --help`.";

/// Export contacts as vCard, or calendars as iCalendar
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ExportArgs {
    /// Export only matching records
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    /// Output file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Export all calendars instead of contacts
    #[arg(long, conflicts_with_all = ["calendar", "vcard_version", "addressbook"])]
    calendars: bool,
    /// Export this calendar instead of contacts
    #[arg(long, value_name = "NAME", conflicts_with_all = ["vcard_version", "addressbook"])]
    calendar: Option<String>,
    /// Byte for byte as imported, or converted to vCard 4.0 (RFC 6350)
    #[arg(long, value_name = "VERSION", default_value = "as-is")]
    vcard_version: VcardVersion,
    /// Replace an existing file
    #[arg(long, requires = "output")]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum VcardVersion {
    AsIs,
    #[value(name = "4.0")]
    V4,
}

enum ExportTarget<'a> {
    OutputWriter(&'a mut OutputWriter),
    File(Box<NewFile>, PathBuf),
}

impl ExportTarget<'_> {
    fn write_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::OutputWriter(out) => out.write_bytes(bytes),
            Self::File(file, path) => file.write_all(bytes).map_err(|e| Failure::io(path, e)),
        }
    }
}

pub fn export_records(app: &mut App, args: &ExportArgs) -> Result<()> {
    if args.calendars || args.calendar.is_some() {
        return calendar::export_calendars(app, args, args.calendar.as_deref());
    }
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let selection = BookSelections::new(app.address_books_in(&snapshot)?, &args.filter)?;
    if app.out.json {
        if args.output.is_some() || args.vcard_version != VcardVersion::AsIs {
            return Err(Failure::usage(
                "--json writes JSON to standard output; leave out --output and --vcard-version",
            ));
        }
        let region = store.region()?;
        return selection.for_each(|book, id, text| {
            let contact = book.by_id(id)?.ok_or(Error::Stopped)?;
            match ContactJson::new(&contact, region) {
                Ok(object) => app.out.write_json(&object),
                Err(e) => {
                    app.out
                        .write_note(&format!("contact {id} ({} bytes): {e}", text.len()));
                    Ok(())
                }
            }
        });
    }
    let encoding = match args.vcard_version {
        VcardVersion::V4 => FileEncoding::Utf8,
        VcardVersion::AsIs => detect_encoding(&selection)?,
    };
    let mut recoded = 0;
    let mut written = 0u64;
    let mut note = None;
    {
        let mut target = match &args.output {
            Some(path) => {
                ExportTarget::File(Box::new(NewFile::create(path, args.force)?), path.clone())
            }
            None => ExportTarget::OutputWriter(&mut app.out),
        };
        if let FileEncoding::Utf16(order) = encoding {
            target.write_bytes(order.mark())?;
        }
        let mut open_line = false;
        selection.for_each(|_, _, text| {
            if open_line {
                target.write_bytes(match encoding {
                    FileEncoding::Utf16(ByteOrder::Little) => b"\r\0\n\0".as_slice(),
                    FileEncoding::Utf16(ByteOrder::Big) => b"\0\r\0\n",
                    FileEncoding::Utf8 => b"\r\n",
                })?;
            }
            let text = match (args.vcard_version, encoding, utf16_order(text)) {
                (VcardVersion::V4, ..) => {
                    let card = Card::parse(text)?;
                    Cow::Owned(with_uid(card.clone(), &card)?.to_v4().into_bytes())
                }
                (_, FileEncoding::Utf8, Some(order)) => {
                    recoded += 1;
                    let recoded = Card::parse(order.decode(text))?;
                    Cow::Owned(with_uid(recoded, &Card::parse(text)?)?.into_text())
                }
                _ => Cow::Borrowed(text),
            };
            written += 1;
            open_line = !ends_line(&text, encoding);
            target.write_bytes(&text)
        })?;
        if let ExportTarget::File(file, path) = target {
            file.commit()?;
            note = Some(format!(
                "Wrote {} to {}",
                pluralize(written, "contact"),
                escape_text(&path.display().to_string())
            ));
        }
    }
    if recoded > 0 {
        app.out.write_note(&format!(
            "{} converted from UTF-16 to UTF-8, as other records are not UTF-16",
            pluralize(recoded, "contact")
        ));
    }
    if let Some(note) = note {
        app.out.status(note)?;
    }
    if written == 0 {
        let entries: u64 = store.stats()?.calendars.iter().map(|(_, n)| n).sum();
        if entries > 0 {
            app.out
                .write_note("There are no contacts. To export calendars: etui export --calendars");
        }
    }
    Ok(())
}

/// Adds the identity of the original text as a UID to a converted card, so that a new import updates
/// the same contact.
fn with_uid(mut written: Card, original: &Card) -> Result<Card> {
    if written.uid().is_none() {
        written.set("UID", &original.identity())?;
    }
    Ok(written)
}

/// The selected contacts of each address book.
struct BookSelections<'s>(Vec<(Reader<'s>, BookSelection)>);

impl<'s> BookSelections<'s> {
    fn new(books: Vec<Reader<'s>>, words: &[String]) -> Result<Self> {
        let filter = parse_filter::<Card>(words)?;
        let mut parts = Vec::new();
        for book in books {
            let selection = BookSelection::new(&book, &filter)?;
            parts.push((book, selection));
        }
        if parts
            .iter()
            .all(|(_, m)| matches!(m, BookSelection::Matches(ids) if ids.is_empty()))
        {
            return Err(no_match::<Card>(words));
        }
        Ok(Self(parts))
    }

    /// Calls `visit` with each contact, book by book.
    fn for_each(
        &self,
        mut visit: impl FnMut(&Reader<'s>, RecordId, &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.0.iter().try_for_each(|(book, selection)| {
            selection.for_each(book, |id, text| visit(book, id, text))
        })
    }
}

/// The selected contacts of a book: all in order of addition, or the matches in list order.
enum BookSelection {
    All,
    Matches(Vec<RecordId>),
}

impl BookSelection {
    fn new(book: &Reader<'_>, filter: &Filter) -> Result<Self> {
        if *filter == Filter::All {
            return Ok(Self::All);
        }
        let found = book.find(filter)?;
        Ok(Self::Matches(found.into_iter().map(|e| e.id).collect()))
    }

    /// Calls `visit` with each contact, with one in memory at a time.
    fn for_each(
        &self,
        book: &Reader<'_>,
        mut visit: impl FnMut(RecordId, &[u8]) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Matches(ids) => {
                for &id in ids {
                    if let Some(contact) = book.by_id(id)? {
                        visit(id, &contact.text)?;
                    }
                }
                Ok(())
            }
            Self::All => {
                // The callback can only return errors of the library, so ours is kept here.
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
enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
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

/// The encoding of the exported file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileEncoding {
    Utf16(ByteOrder),
    /// UTF-8, or whatever 8-bit charsets the records are in.
    Utf8,
}

/// Returns the byte order of a UTF-16 record, which begins with the B of BEGIN.
fn utf16_order(text: &[u8]) -> Option<ByteOrder> {
    match text {
        [b'B' | b'b', 0, ..] => Some(ByteOrder::Little),
        [0, b'B' | b'b', ..] => Some(ByteOrder::Big),
        _ => None,
    }
}

fn detect_encoding(selection: &BookSelections<'_>) -> Result<FileEncoding> {
    let mut first = None;
    let mut mixed = false;
    selection.for_each(|_, _, text| {
        let order = utf16_order(text);
        mixed |= *first.get_or_insert(order) != order;
        Ok(())
    })?;
    Ok(match first.flatten() {
        Some(order) if !mixed => FileEncoding::Utf16(order),
        _ => FileEncoding::Utf8,
    })
}

fn ends_line(text: &[u8], encoding: FileEncoding) -> bool {
    match encoding {
        FileEncoding::Utf8 => matches!(text.last(), Some(b'\n' | b'\r')),
        FileEncoding::Utf16(ByteOrder::Little) => matches!(text, [.., b'\n' | b'\r', 0]),
        FileEncoding::Utf16(ByteOrder::Big) => matches!(text, [.., 0, b'\n' | b'\r']),
    }
}
