//! `etui export`: exports contacts as vCard or CSV (`csv`), or calendars as iCalendar (`calendar`),
//! into folders (`vdir`) or as Palm databases (`palm`).
//!
//! ```text
//! record [CRLF, if the record lacks a line end] record ... record
//! ```
//!
//! A file has one encoding. If all records are UTF-16 of one byte order, they are written as they are
//! after a byte order mark; else UTF-16 records are converted to UTF-8.

mod calendar;
mod csv;
mod palm;
mod vdir;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use etui::calendar::CalendarObject;
use etui::contacts::Card;
use etui::record::Reader;
use etui::search::filter::Filter;
use etui::{Error, RecordId, Snapshot};
use etui_contentline::charset::detect_utf16;
use etui_program::output::{escape_text, format_count, one_line, pluralize, quote_operand};
use etui_program::{App, Failure, Result};

use super::export_target::{ExportTarget, named_file, write_failure};
use super::import::PalmCharset;
use super::records::find::no_match;
use super::records::{RecordCommands, parse_filter};
use super::vdir::item::with_uid;
use super::written_version::WrittenVersion;
use crate::json::contact_json;

const EXAMPLES: &str = "\
Examples:
  etui export -o contacts.vcf                all address books, byte for byte
  etui export org:acme -o acme.vcf           one organisation
  etui export --vcard-version 4.0 | less     everything, as vCard 4.0
  etui export --vcard-version 3.0 -o old.vcf for a program that knows no 4.0
  etui export --json | jq .emails            everything, as JSON
  etui export -o contacts.csv                a table for Google Contacts
  etui export -o contacts.csv --columns outlook

  etui export --calendars -o calendar.ics            all calendars, byte for byte
  etui export --calendar Work -o work.ics            one of them
  etui export --calendars kind:todo -o todo.ics      all to-dos

  etui export --vdir ~/.contacts                     a folder for each address book (khard)
  etui export --calendar Work --vdir ~/work --delete one calendar into this folder (khal)
  etui export --palm address -o AddressDB.pdb        contacts for a Palm
  etui export --palm datebook -o DatebookDB.pdb      events; also todo and memo

A table does not hold everything: the parts that are not in it are counted, and with --json listed
for each contact. A folder (--vdir) has a file for each record, UID.vcf or UID.ics. Files that are
the same already are not written; a file that another program changed since is kept and named: import
the folder first. A Palm has fewer fields: what is lost or changed is reported for each record, and
events are written in your time zone. A new file (-o) is readable only by you. For FILTER see
`etui contacts find --help` and `etui calendar find --help`.";

/// Export contacts as vCard or CSV, or calendars as iCalendar
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ExportArgs {
    /// Export only matching records
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    /// Output file; `-` is standard output, as without it
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Export all calendars instead of contacts
    #[arg(long, conflicts_with_all = ["calendar", "vcard_version", "addressbook"])]
    calendars: bool,
    /// Export this calendar instead of contacts
    #[arg(long, value_name = "NAME", conflicts_with_all = ["vcard_version", "addressbook"])]
    calendar: Option<String>,
    /// Byte for byte as imported, or converted to vCard 3.0 (RFC 2426) or 4.0 (RFC 6350)
    #[arg(long, value_name = "VERSION", default_value = "as-is")]
    vcard_version: WrittenVersion,
    /// Format of contacts [default: that of the output file's ending, else vcard]
    #[arg(long, value_name = "FORMAT", value_parser = ["vcard", "csv"],
        conflicts_with_all = ["calendar", "calendars", "vdir", "palm"])]
    format: Option<String>,
    /// Columns of a table: those of the program that is to read it [default: google]
    #[arg(long, value_name = "PROGRAM")]
    columns: Option<csv::CsvColumns>,
    /// Replace an existing file, and files of a folder that other programs have changed
    #[arg(long)]
    force: bool,
    /// Write a file for each record into this folder (vdir); of several address books or calendars,
    /// into a folder for each
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    vdir: Option<PathBuf>,
    /// Remove the files of the folder that have no record
    #[arg(long, requires = "vdir")]
    delete: bool,
    /// Write this database of a Palm
    #[arg(long, value_name = "DATABASE", conflicts_with_all = ["vdir", "vcard_version"])]
    palm: Option<palm::PalmDatabase>,
    /// Charset of the Palm [default: cp1252]
    #[arg(long, value_name = "CHARSET", requires = "palm")]
    palm_charset: Option<PalmCharset>,
}

impl ExportArgs {
    /// Returns the output file; `None` is standard output.
    fn path(&self) -> Option<&Path> {
        named_file(self.output.as_deref())
    }
}

pub fn export_records(app: &mut App, args: &ExportArgs) -> Result<()> {
    if args.force && args.output.is_none() && args.vdir.is_none() {
        return Err(Failure::usage("--force needs --output or --vdir"));
    }
    if writes_csv(args)? {
        return csv::export_csv(app, args);
    }
    if args.columns.is_some() {
        return Err(Failure::usage("--columns is for tables: --format csv"));
    }
    if app.out.json && (args.path().is_some() || args.vcard_version != WrittenVersion::AsIs) {
        return Err(Failure::usage(
            "--json writes JSON to standard output; leave out --output and --vcard-version",
        ));
    }
    let is_calendar = args.calendars || args.calendar.is_some();
    if let Some(database) = args.palm {
        if app.out.json {
            return Err(Failure::usage("--palm writes no JSON; leave out --json"));
        }
        if database.is_contacts() && is_calendar {
            return Err(Failure::usage(
                "--palm address writes contacts; for calendars: --palm datebook, todo or memo",
            ));
        }
        return palm::export_database(app, args, database);
    }
    if let Some(folder) = &args.vdir {
        app.calendar.clone_from(&args.calendar);
        return match is_calendar {
            true => vdir::export_folders::<CalendarObject>(app, args, folder),
            false => vdir::export_folders::<Card>(app, args, folder),
        };
    }
    match is_calendar {
        true => calendar::export_calendars(app, args),
        false => export_contacts(app, args),
    }
}

/// Returns true if contacts are written as a table: by `--format`, or by the ending of the output file. An
/// ending of a format that does not hold the records is an error.
fn writes_csv(args: &ExportArgs) -> Result<bool> {
    if let Some(format) = &args.format {
        return Ok(format == "csv");
    }
    let Some(path) = args.path().filter(|_| args.palm.is_none()) else {
        return Ok(false);
    };
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    let is_calendar = args.calendars || args.calendar.is_some();
    let advice = match (ending.to_ascii_lowercase().as_str(), is_calendar) {
        ("csv", false) => return Ok(true),
        ("ics" | "ical" | "ifb", false) => {
            "it would have contacts; for calendars add --calendars, for contacts name it .vcf or .csv"
        }
        ("vcf" | "vcard" | "csv" | "ldif", true) => {
            "calendars are written as iCalendar; name it .ics"
        }
        ("ldif" | "ldi" | "xlsx" | "xls" | "ods" | "tsv", false) => {
            "contacts are written as vCard or CSV; name it .vcf or .csv"
        }
        ("json", _) => "JSON goes to standard output: etui export --json > FILE",
        ("pdb", _) => "for a Palm add --palm address, datebook, todo or memo",
        ("zip" | "gz", _) => "files are not compressed; name it .vcf, .csv or .ics",
        _ => return Ok(false),
    };
    Err(Failure::usage(format!(
        "{}: {advice}",
        escape_text(&path.display().to_string())
    )))
}

fn export_contacts(app: &mut App, args: &ExportArgs) -> Result<()> {
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let books = select_records::<Card>(app, &snapshot, &args.filter)?;
    if app.out.json {
        let region = store.settings().region;
        return for_each_record(&books, |book, id, text| {
            let contact = book.get(id)?.ok_or(Error::Stopped)?;
            match contact_json(&contact, region) {
                Ok(object) => app.out.write_json(&object)?,
                Err(e) => app
                    .out
                    .write_note(&format!("contact {id} ({} bytes): {e}", text.len())),
            }
            Ok(())
        });
    }
    let version = args.vcard_version;
    let is_converted = version != WrittenVersion::AsIs;
    let encoding = match is_converted {
        true => UTF_8,
        false => common_encoding(&books)?,
    };
    let (mut written, mut recoded) = (0, 0);
    let mut losses = Vec::new();
    let path = args.path();
    let mut target = ExportTarget::open(&mut app.out, path, args.force)?;
    let mut write = |bytes: &[u8]| {
        let written = target.write_all(bytes);
        written.map_err(|e| write_failure(path, e))
    };
    if encoding != UTF_8 {
        write(&encode_text("\u{feff}", encoding))?;
    }
    let mut open_line = false;
    for_each_record(&books, |_, _, text| {
        if open_line {
            write(&encode_text("\r\n", encoding))?;
        }
        let text = match detect_utf16(text) {
            _ if is_converted => {
                let card = Card::parse(text)?;
                let card = with_uid(card.clone(), &card)?;
                match version.convert(&card) {
                    Some(converted) => {
                        losses.extend(converted.losses);
                        Cow::Owned(converted.text.into_bytes())
                    }
                    None => Cow::Owned(card.into_text()),
                }
            }
            Some(utf16) if encoding == UTF_8 => {
                recoded += 1;
                let (decoded, _) = utf16.decode_without_bom_handling(text);
                let card = Card::parse(decoded.into_owned())?;
                Cow::Owned(with_uid(card, &Card::parse(text)?)?.into_text())
            }
            _ => Cow::Borrowed(text),
        };
        written += 1;
        // In UTF-16, the other byte of a line end is 0.
        let last = text.iter().rev().find(|byte| **byte != 0);
        open_line = !matches!(last, Some(b'\n' | b'\r'));
        write(&text)
    })?;
    target.commit()?;
    if recoded > 0 {
        app.out.write_note(&format!(
            "{} converted from UTF-16 to UTF-8, as other records are not UTF-16",
            pluralize(recoded, "contact")
        ));
    }
    report_written(app, path, &pluralize(written, "contact"))?;
    report_losses(app, version, losses);
    if written == 0
        && store
            .maintenance()
            .stats()?
            .calendars
            .iter()
            .any(|(_, n)| *n > 0)
    {
        app.out
            .write_note("There are no contacts. To export calendars: etui export --calendars");
    }
    Ok(())
}

/// Reports the parts of contacts that are not in a version of vCard.
fn report_losses(app: &mut App, version: WrittenVersion, losses: Vec<String>) {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for loss in losses {
        *counts.entry(loss).or_default() += 1;
    }
    if !counts.is_empty() {
        let counts = counts
            .iter()
            .map(|(name, n)| format!("{name} ({})", format_count(*n)));
        let counts = counts.collect::<Vec<_>>().join(", ");
        app.out.write_note(&one_line(&format!(
            "Not in vCard {}: {counts}",
            version.number()
        )));
    }
}

/// Reports the number of records written to a file.
fn report_written(app: &mut App, path: Option<&Path>, written: &str) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    let path = path.display().to_string();
    app.out
        .status(format!("Wrote {written} to {}", escape_text(&path)))
}

/// The selected records of a collection: the matches in list order, or `None` for all in order of
/// addition.
type Selection<'s, R> = (Reader<R>, Option<Vec<RecordId>>);

/// Selects the records of the collection given on the command line, or of all, that match a filter.
fn select_records<'s, R: RecordCommands>(
    app: &App,
    snapshot: &'s Snapshot,
    words: &[String],
) -> Result<Vec<Selection<'s, R>>> {
    let filter = parse_filter::<R>(words)?;
    let mut all = Vec::new();
    for (_, reader) in app.readers_in::<R>(snapshot)? {
        let matches = match &filter {
            Filter::All => None,
            filter => Some(reader.find(filter)?.into_iter().map(|e| e.id).collect()),
        };
        all.push((reader, matches));
    }
    let is_empty = |(_, ids): &Selection<'_, R>| ids.as_ref().is_some_and(Vec::is_empty);
    match all.iter().all(is_empty) {
        true => Err(hint_at_output(no_match::<R>(words), words)),
        false => Ok(all),
    }
}

/// Adds the option for an output file to the error for a filter that looks like one.
fn hint_at_output(failure: Failure, words: &[String]) -> Failure {
    const ENDINGS: [&str; 5] = [".vcf", ".vcard", ".csv", ".ics", ".json"];
    let mut words = words.iter();
    let is_file = |word: &&String| {
        ENDINGS
            .iter()
            .any(|ending| word.to_ascii_lowercase().ends_with(ending))
    };
    match words.find(is_file) {
        Some(file) => Failure::NotFound(format!(
            "{failure}; to write to a file: etui export -o {}",
            quote_operand(file)
        )),
        None => failure,
    }
}

/// Calls `visit` with each selected record, with one in memory at a time.
fn for_each_record<'s, R: RecordCommands>(
    all: &[Selection<'s, R>],
    mut visit: impl FnMut(&Reader<R>, RecordId, &[u8]) -> Result<()>,
) -> Result<()> {
    for (reader, matches) in all {
        for &id in matches.iter().flatten() {
            if let Some(stored) = reader.get(id)? {
                visit(reader, id, &stored.text)?;
            }
        }
        if matches.is_some() {
            continue;
        }
        // The callback can only return errors of the library, so ours is kept here.
        let mut failure = None;
        let walked = reader.for_each(|id, text| {
            visit(reader, id, text).map_err(|e| {
                failure = Some(e);
                Error::Stopped
            })
        });
        failure.map_or(Ok(()), Err)?;
        walked?;
    }
    Ok(())
}

/// Returns the encoding of all records if they are UTF-16 of one byte order, else UTF-8, also
/// for records in 8-bit charsets.
fn common_encoding(books: &[Selection<'_, Card>]) -> Result<&'static Encoding> {
    let mut first = None;
    let mut is_mixed = false;
    for_each_record(books, |_, _, text| {
        let encoding = detect_utf16(text).unwrap_or(UTF_8);
        is_mixed |= *first.get_or_insert(encoding) != encoding;
        Ok(())
    })?;
    Ok(first.filter(|_| !is_mixed).unwrap_or(UTF_8))
}

fn encode_text(text: &str, encoding: &'static Encoding) -> Vec<u8> {
    let units = text.encode_utf16();
    match encoding {
        e if e == UTF_16LE => units.flat_map(u16::to_le_bytes).collect(),
        e if e == UTF_16BE => units.flat_map(u16::to_be_bytes).collect(),
        _ => text.into(),
    }
}
