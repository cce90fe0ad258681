//! `etui import`: imports vCard, iCalendar, CSV and LDIF files, Palm databases and folders of items
//! (vdir), recognized by their content.

mod folder;
mod palm;

use std::collections::HashMap;
use std::fs::File;
use std::io::{Cursor, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use etui::calendar::{Calendar, Color};
use etui::contacts::Contacts;
use etui::import::{ImportEvent, ImportReport};
use etui::record::{Collection, RecordKind};
use etui::{CollectionKind, Error, Store};
use etui_contentline::charset::to_utf8_bytes;
use etui_contentline::edit::own_lines;
use etui_contentline::values::{property_value, unescape_text};

use self::folder::SourceFolder;
pub use self::palm::PalmCharset;
use self::palm::PalmNotes;
use crate::app::App;
use crate::commands::import_tables::{ColumnMapping, TableReader, detect_table};
use crate::commands::settings::region_name;
use crate::errors::{Failure, Result};
use crate::output::json::{imported_file_json, object};
use crate::output::{
    OutputWriter, ProgressReporter, escape_text, format_count, format_size, one_line, pluralize,
    quote_option,
};

const EXAMPLES: &str = "\
Examples:
  etui import contacts.vcf                   an export of an address book
  etui import calendar.ics                   an export of a calendar
  etui import phone.vcf backup/*.vcf *.ics   several files of both kinds
  etui import --calendar Work work.ics       into the calendar Work
  etui import --each *.ics                   each into a calendar of its own
  etui import ~/.contacts/friends            a folder of khard, khal or vdirsyncer (vdir)
  etui import --each ~/.calendars            a folder of such folders, each a calendar of its own
  etui import AddressDB.pdb DatebookDB.pdb   databases of a Palm
  curl -s https://example.org/all.vcf | etui import -
  etui import google.csv thunderbird.ldif    contacts in CSV and LDIF
  etui import --map \"Tel.=phone.work\" --map \"Kundennr.=-\" kunden.csv

vCard 2.1, 3.0 and 4.0 and iCalendar in any charset are recognized by content and stored byte for
byte. A record replaces the stored record with the same UID (`etui contacts restore` and
`etui calendar restore` undo it); importing a file twice changes nothing. Rejected input is reported
with line number and reason, everything else is imported, and the exit code is 3. If a file is in
another format (jCard, zip, a calendar as CSV), the error names it and nothing is imported.

The CSV of Google Contacts, Outlook, LinkedIn and Thunderbird and columns of common names are
recognized, whatever the separator and charset; --map names others. FIELD is as in `etui contacts
edit --set`, with a type after a point: name, family, given, phone.work, phone.mobile, email.home,
street, city.work, org, title, birthday, note, label, x-anything; `-` leaves the column out. Columns
and LDIF attributes without a meaning are kept as fields of their own names, and listed.

A folder's .vcf and .ics files are items, one record each; hidden and .tmp files are ignored. Records
whose files are gone stay. AddressDB, DatebookDB, ToDoDB and MemoDB of a Palm become contacts, events,
to-dos and journal entries with local times.";

/// Import vCard, iCalendar, CSV and LDIF files, vdir folders and Palm databases
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ImportArgs {
    /// Files and folders; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Calendar for the entries [default: the first one]
    #[arg(long, value_name = "NAME")]
    calendar: Option<String>,
    /// Import each calendar file and each folder into a calendar or address book of its own, with the
    /// name that the file or folder gives it, else its own; it is created if there is none
    #[arg(long, conflicts_with = "calendar")]
    each: bool,
    /// Meaning of a column of a CSV file; `-` leaves it out
    #[arg(long, value_name = "COLUMN=FIELD")]
    map: Vec<ColumnMapping>,
    /// Charset of Palm databases [default: detected]
    #[arg(long, value_name = "CHARSET")]
    palm_charset: Option<PalmCharset>,
}

/// Bytes that are searched for the kind of a file.
const HEAD_BYTES: u64 = 64 << 10;

/// Characters of the name of a calendar, with room for a number.
const MAX_NAME: usize = 190;

/// An opened file and the kind of its records.
struct ImportSource {
    name: String,
    kind: CollectionKind,
    /// The name that a calendar file gives its calendar.
    calendar: Option<String>,
    /// The colour that it gives it.
    color: Option<Color>,
    reader: Box<dyn Read>,
    size: Option<u64>,
    /// The contacts of a CSV or LDIF file, instead of `reader`.
    table: Option<TableReader>,
    /// The folder of items that it is read from.
    folder: Option<SourceFolder>,
    /// Unreadable parts of a Palm database.
    palm: Option<PalmNotes>,
}

impl ImportSource {
    /// Opens a file and recognizes the kind of its records from its beginning.
    fn open(path: &Path, args: &ImportArgs) -> Result<Self> {
        let map = &args.map;
        let name = path.display().to_string();
        let failed = |e| Failure::named_io(name.as_str(), e);
        let mut size = None;
        let mut reader: Box<dyn Read> = match name.as_str() {
            "-" => Box::new(std::io::stdin()),
            _ => {
                let file = File::open(path).map_err(failed)?;
                let metadata = file.metadata().map_err(failed)?;
                size = metadata.is_file().then_some(metadata.len());
                Box::new(file)
            }
        };
        let mut head = Vec::new();
        let read = reader.by_ref().take(HEAD_BYTES).read_to_end(&mut head);
        read.map_err(failed)?;
        if let Some(database) = palm::open_database(&name, &head, &mut reader, args.palm_charset)? {
            return Ok(database);
        }
        let found = detect_kind(&head);
        let text_format = || foreign_format(&head).filter(|_| found.is_none());
        if let Some(format) = archive_format(&head).or_else(text_format) {
            let name = escape_text(&name);
            return Err(Failure::Refused(format!("{name}: {format}")));
        }
        // All lines of an unknown text are rejected as contacts.
        let kind = found.unwrap_or(CollectionKind::Contacts);
        let calendar = find_calendar_name(&head);
        let color = Color::in_object(&to_utf8_bytes(&head));
        let table = match found {
            None => detect_table(&name, &head, !map.is_empty()),
            Some(_) => None,
        };
        let mut reader: Box<dyn Read> = Box::new(Cursor::new(head).chain(reader));
        let table = match table {
            None => None,
            Some(format) => {
                let text = std::mem::replace(&mut reader, Box::new(std::io::empty()));
                Some(TableReader::open(&name, format, text, map)?)
            }
        };
        Ok(Self {
            kind,
            calendar,
            color,
            reader,
            name,
            size,
            table,
            folder: None,
            palm: None,
        })
    }
}

/// Returns the kind of the first record of a text, if it has one. Zero bytes are skipped, for UTF-16.
fn detect_kind(head: &[u8]) -> Option<CollectionKind> {
    const BEGIN: &[u8] = b"BEGIN:V";
    let narrow: Vec<u8> = head.iter().copied().filter(|b| *b != 0).collect();
    let mut texts = narrow.windows(BEGIN.len() + 3);
    let first = texts.find(|text| text[..BEGIN.len()].eq_ignore_ascii_case(BEGIN))?;
    Some(match first[BEGIN.len()..].eq_ignore_ascii_case(b"CAR") {
        true => CollectionKind::Contacts,
        false => CollectionKind::Calendar,
    })
}

/// Recognizes an archive; returns its name and the way to import its content.
fn archive_format(head: &[u8]) -> Option<&'static str> {
    match head {
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Some(
            "is a zip archive; unpack it (unzip FILE), then import the .vcf and .ics files in it",
        ),
        [0x1F, 0x8B, ..] => {
            Some("is compressed with gzip; to import it: gunzip -c FILE | etui import -")
        }
        _ => None,
    }
}

/// Returns the name in the properties of a calendar object, `X-WR-CALNAME` or `NAME` (RFC 7986 section
/// 5.1), as a calendar can have it.
fn find_calendar_name(head: &[u8]) -> Option<String> {
    let head = to_utf8_bytes(head);
    let mut named: Vec<_> = own_lines(&head, None)
        .filter(|line| line.name_is("X-WR-CALNAME") || line.name_is("NAME"))
        .collect();
    named.sort_by_key(|line| !line.name_is("X-WR-CALNAME"));
    let names = named
        .iter()
        .map(|line| calendar_name(&unescape_text(&property_value(line))));
    names.flatten().next()
}

/// Returns a name without the characters that a name of a calendar cannot have.
fn calendar_name(text: &str) -> Option<String> {
    let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let name: String = plain.take(MAX_NAME).collect();
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// The names of the collections that `--each` imports into.
#[derive(Default)]
struct OwnCollections {
    used: Vec<(bool, String)>,
    /// Those of folders, which may be several sources each.
    folders: HashMap<(bool, PathBuf), String>,
}

impl OwnCollections {
    /// Returns the name of the collection that a source is imported into. Of several sources with one
    /// name, the later ones get a number.
    fn name_for(&mut self, source: &ImportSource) -> String {
        let is_calendar = source.kind == CollectionKind::Calendar;
        let folder = source.folder.as_ref();
        let key = folder.map(|folder| (is_calendar, folder.path.clone()));
        if let Some(name) = key.as_ref().and_then(|key| self.folders.get(key)) {
            return name.clone();
        }
        let of_file = || {
            let stem = Path::new(&source.name).file_stem()?;
            calendar_name(&stem.to_string_lossy())
        };
        let title = folder.and_then(|folder| folder.title.clone());
        let name = title.or_else(|| source.calendar.clone()).or_else(of_file);
        let name = name.unwrap_or_else(|| match is_calendar {
            true => "Calendar".to_owned(),
            false => "Contacts".to_owned(),
        });
        let numbered = (2..).map(|n| format!("{} {n}", name.trim_end()));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        let is_free = |name: &String| !self.used.contains(&(is_calendar, name.clone()));
        let name = names.find(is_free).unwrap_or(name);
        self.used.push((is_calendar, name.clone()));
        if let Some(key) = key {
            self.folders.insert(key, name.clone());
        }
        name
    }
}

/// Returns the collection with a name, and creates it if there is none.
fn open_or_create_collection<'s, R: RecordKind>(
    store: &'s Store,
    name: &str,
) -> Result<Collection<'s, R>> {
    match store.collection(Some(name)) {
        Err(Error::NoCollection { .. }) => Ok(store.create_collection(name)?),
        opened => Ok(opened?),
    }
}

/// Recognizes a text format that cannot be imported; returns its name and the way to import its
/// content.
fn foreign_format(head: &[u8]) -> Option<&'static str> {
    const JCARD: &str = "is jCard (RFC 7095), which cannot be imported; convert it to vCard (.vcf)";
    const JCAL: &str =
        "is jCal (RFC 7265), which cannot be imported; convert it to iCalendar (.ics)";
    const XCARD: &str = "is xCard (RFC 6351), which cannot be imported; convert it to vCard (.vcf)";
    const XCAL: &str =
        "is xCal (RFC 6321), which cannot be imported; convert it to iCalendar (.ics)";
    let narrow: Vec<u8> = head.iter().copied().filter(|b| *b != 0).collect();
    let text = String::from_utf8_lossy(&narrow).to_lowercase();
    let text = text
        .trim_start_matches(['\u{feff}', '\u{fffd}'])
        .trim_start();
    let list = text.trim_start_matches(|c: char| c == '[' || c.is_whitespace());
    for (begin, format) in [("\"vcard\"", JCARD), ("\"vcalendar\"", JCAL)] {
        if text.starts_with('[') && list.starts_with(begin) {
            return Some(format);
        }
    }
    for (namespace, format) in [("ns:vcard-4.0", XCARD), ("ns:icalendar-2.0", XCAL)] {
        if text.starts_with('<') && text.contains(namespace) {
            return Some(format);
        }
    }
    None
}

pub fn import_files(app: &mut App, args: &ImportArgs) -> Result<()> {
    // All files are opened first, so that a wrong name changes nothing.
    let mut sources = Vec::new();
    let mut each = args.each;
    for file in &args.files {
        match file.is_dir() {
            true => sources.extend(folder::open_folder(app, file, &mut each)?),
            false => sources.push(ImportSource::open(file, args)?),
        }
    }
    let has_own = |source: &ImportSource| {
        each && (source.kind == CollectionKind::Calendar || source.folder.is_some())
    };
    let has = |kind| {
        sources
            .iter()
            .any(|source| source.kind == kind && !has_own(source))
    };
    let mut options = app.store_options();
    options.merge_substrings = false;
    let is_new = !app.store_path()?.exists();
    let store = app.open_or_create(options)?;
    app.calendar.clone_from(&args.calendar);
    let book = has(CollectionKind::Contacts).then(|| app.open_collection(&store));
    let book: Option<Contacts<'_>> = book.transpose()?;
    let has_calendar = has(CollectionKind::Calendar);
    let calendar = has_calendar.then(|| app.open_target_calendar(&store));
    let calendar = calendar.transpose()?;
    let unused_calendar = app.calendar.as_ref().filter(|_| calendar.is_none());
    let unused_book = app.address_book.as_ref().filter(|_| book.is_none());
    for (flag, name, none) in [
        ("--calendar", unused_calendar, "no calendar was"),
        ("--addressbook", unused_book, "no contacts were"),
    ] {
        if let Some(name) = name {
            let given = quote_option(flag, name);
            app.out
                .write_note(&format!("{given} has no effect: {none} given"));
        }
    }
    let is_csv = |source: &ImportSource| matches!(source.table, Some(TableReader::Csv(_)));
    if !args.map.is_empty() && !sources.iter().any(is_csv) {
        app.out
            .write_note("--map has no effect: no CSV file was given");
    }
    let mut total = ImportReport::default();
    let mut files = Vec::new();
    let mut own_collections = OwnCollections::default();
    for mut source in sources {
        let name = source.name.clone();
        let kind = source.kind;
        let mut into = String::new();
        let (mut own_book, mut own_calendar) = (None, None);
        if has_own(&source) {
            let own = own_collections.name_for(&source);
            let noun = match kind {
                CollectionKind::Calendar => {
                    own_calendar = Some(open_or_create_collection(&store, &own)?);
                    "calendar"
                }
                _ => {
                    own_book = Some(open_or_create_collection(&store, &own)?);
                    "address book"
                }
            };
            into = format!(", in the {noun} {}", one_line(&own));
        }
        let book = own_book.as_ref().or(book.as_ref());
        let calendar = own_calendar.as_ref().or(calendar.as_ref());
        let any_calendar = args.calendar.is_none() && own_calendar.is_none();
        let (palm, folder) = (source.palm.take(), source.folder.clone());
        let is_empty_item = folder.is_some() && source.size == Some(0);
        let color = match calendar {
            Some(own) if kind == CollectionKind::Calendar => {
                let takes_color = own.color()?.is_none() && (args.each || own.count()? == 0);
                source.color.filter(|_| takes_color)
            }
            _ => None,
        };
        let mut report = import_source(&mut app.out, book, calendar, any_calendar, &mut source)?;
        if let (Some(own), Some(_)) = (calendar, color) {
            own.set_color(color)?;
        }
        if let Some(palm) = palm {
            palm.report(&mut app.out, &name, &mut report);
        }
        if is_empty_item {
            folder::reject_empty(&mut app.out, &name, &mut report);
        }
        if let Some(folder) = folder {
            folder.localize(&mut report);
            folder::update_ledger(&folder)?;
        }
        app.out.status(format!(
            "{}: {}{into}",
            escape_text(&name),
            summarize_report(&report)
        ))?;
        add_report(&mut total, &report);
        let calendar = calendar.filter(|_| kind == CollectionKind::Calendar);
        let into = calendar.map(|calendar| calendar.name().to_owned());
        if let Some(table) = source.table.as_ref().filter(|_| !app.out.json) {
            table.write_notes(&mut app.out, &name);
        }
        files.push(imported_file_json(
            name,
            kind,
            into,
            report,
            source.table.as_ref().map_or(&[], TableReader::kept_fields),
            source
                .table
                .as_ref()
                .map_or(&[], TableReader::skipped_entries),
        ));
    }
    // The records are saved; without the merge, searches are slower until the next save.
    if let Err(error) = store.merge_index() {
        app.out.write_error_line(&one_line(&format!(
            "all records are saved, but merging the search index failed: {error}"
        )));
    }
    let new_store = is_new.then(|| describe_new_store(&store)).transpose()?;
    store.close()?;
    let [added, changed, unchanged, refused] =
        [total.added, total.changed, total.unchanged, total.refused];
    if app.out.json {
        app.out.write_json(&object! {
            added: added,
            changed: changed,
            unchanged: unchanged,
            older: total.older,
            proposals: total.proposals,
            refused: refused,
            files: files,
        })?;
    } else if files.len() > 1 {
        let [added, changed, unchanged, refused] =
            [added, changed, unchanged, refused].map(format_count);
        app.out.status(format!(
            "Total: {added} added, {changed} changed, {unchanged} unchanged, {refused} rejected"
        ))?;
    }
    if let Some(text) = new_store.filter(|_| !app.out.json) {
        app.out.status(text)?;
    }
    if refused == 0 {
        return Ok(());
    }
    let pieces = match refused {
        1 => "1 piece was".to_owned(),
        n => format!("{} pieces were", format_count(n)),
    };
    let rest = match added + changed + unchanged {
        0 => "nothing was imported",
        _ => "the rest was imported",
    };
    Err(Failure::Refused(format!("{pieces} rejected; {rest}")))
}

/// Returns a message with the settings that a created store has taken from the environment.
fn describe_new_store(store: &Store) -> Result<String> {
    Ok(format!(
        "Created a store: {}\nSort order: {}; region of phone numbers without a country code: {} \
         (change it: etui settings region CODE)",
        escape_text(&store.path().display().to_string()),
        store.locale()?,
        region_name(store.region()?)
    ))
}

/// Adds the counts of a report to a total.
pub fn add_report(total: &mut ImportReport, report: &ImportReport) {
    total.added += report.added;
    total.changed += report.changed;
    total.unchanged += report.unchanged;
    total.older += report.older;
    total.proposals += report.proposals;
    total.refused += report.refused;
    total.bytes += report.bytes;
}

fn import_source(
    out: &mut OutputWriter,
    book: Option<&Contacts<'_>>,
    calendar: Option<&Calendar<'_>>,
    any_calendar: bool,
    source: &mut ImportSource,
) -> Result<ImportReport> {
    let mut progress = ProgressReporter::for_bytes(out, &source.name, source.size);
    let name = source.name.clone();
    let json = out.json;
    let one = match source.kind {
        CollectionKind::Calendar => "entry",
        _ => "contact",
    };
    let files = source.folder.as_ref();
    let files = files.map(|folder| folder.files.clone());
    let (mut saved, mut read) = (0, (0, 0));
    let mut on_event = |event: ImportEvent<'_>| {
        match event {
            ImportEvent::Progress { bytes, records } => {
                read = (bytes, records);
                progress.set_position(bytes, pluralize(records, one));
            }
            ImportEvent::Refused(r) | ImportEvent::Warned(r) => {
                let mut place = format!("{name}:{}", r.line);
                if let Some(files) = &files {
                    if let Some((path, line)) = files.borrow().locate(r.line) {
                        place = format!("{}:{line}", path.display());
                    }
                    if matches!(event, ImportEvent::Refused(_)) {
                        files.borrow_mut().refuse(r.line);
                    }
                }
                if !json {
                    let line = format!("{place}: {} ({})", r.reason, r.excerpt);
                    progress.suspend(|| out.write_error_line(&one_line(&line)));
                }
            }
            ImportEvent::Indexing => {
                let text = format!("{}, building the list", pluralize(read.1, one));
                progress.set_position(read.0, text);
            }
            ImportEvent::Saved { records } => saved = records,
        }
        ControlFlow::Continue(())
    };
    let reader = &mut source.reader;
    let imported = match (source.kind, book, calendar) {
        (CollectionKind::Calendar, _, Some(calendar)) => match any_calendar {
            true => calendar.import_messages(reader, &mut on_event),
            false => calendar.import(reader, &mut on_event),
        },
        (_, Some(book), _) => match &mut source.table {
            Some(table) => book.import_cards(table, &mut on_event),
            None => book.import(reader, &mut on_event),
        },
        _ => Ok(ImportReport::default()),
    };
    drop(progress);
    if imported.is_err() && saved > 0 {
        out.write_note(&format!(
            "{} of {} were imported before the error; import it again to continue",
            pluralize(saved, one),
            escape_text(&name)
        ));
    }
    imported.map_err(|error| match error {
        Error::Io { source, path } if path == Path::new("the input") => {
            Failure::named_io(name, source)
        }
        other => other.into(),
    })
}

/// Formats `8,412 added, 1 changed, 3 rejected (6.4 MB)`.
pub fn summarize_report(report: &ImportReport) -> String {
    let mut parts = vec![format!("{} added", format_count(report.added))];
    for (n, what) in [
        (report.changed, "changed"),
        (report.unchanged, "unchanged"),
        (report.older, "older"),
        (
            report.proposals,
            if report.proposals == 1 {
                "proposal"
            } else {
                "proposals"
            },
        ),
        (report.refused, "rejected"),
        (report.warned, "with warnings"),
    ] {
        if n > 0 {
            parts.push(format!("{} {what}", format_count(n)));
        }
    }
    format!("{} ({})", parts.join(", "), format_size(report.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_is_detected_from_the_content() {
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
        ] {
            assert_eq!(detect_kind(text.as_bytes()), Some(kind), "{text}");
            assert_eq!(detect_kind(&wide(text)), Some(kind), "{text}");
        }
        for text in ["", "BEGIN:V", "hello"] {
            assert_eq!(detect_kind(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn tables_are_recognized() {
        use crate::commands::import_tables::TableFormat::{Csv, Ldif};
        for (text, format) in [
            (
                "Name,Given Name,E-mail 1 - Value\nAda,Ada,a@example.org\n",
                Some(Csv),
            ),
            (
                "\u{feff}\"First Name\";\"Last Name\";\"E-mail\"\r\n",
                Some(Csv),
            ),
            ("Subject\tStart Date\tEnd Date\n", Some(Csv)),
            ("# export\n\nversion: 1\ndn: cn=Ada\n", Some(Ldif)),
            ("dn:: Y249QWRh\n", Some(Ldif)),
            ("hello", None),
            ("N:a;b;c", None),
            ("dear name, hello", None),
            ("FN:name, a, b", None),
        ] {
            assert_eq!(detect_table("-", text.as_bytes(), false), format, "{text}");
        }
        assert_eq!(detect_table("a.CSV", b"hello", false), Some(Csv));
        assert_eq!(detect_table("-", b"hello", true), Some(Csv));
    }

    #[test]
    fn other_formats_are_recognized() {
        let wide =
            |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
        for (text, name) in [
            (
                "[\"vcard\", [[\"version\", {}, \"text\", \"4.0\"]]]",
                "jCard",
            ),
            ("[ [\n \"vcard\", []]]", "jCard"),
            ("[\"vcalendar\", []]", "jCal"),
            (
                "<?xml version=\"1.0\"?><vcards xmlns=\"urn:ietf:params:xml:ns:vcard-4.0\"/>",
                "xCard",
            ),
        ] {
            let found = foreign_format(text.as_bytes()).unwrap_or("none");
            assert!(found.contains(name), "{text}: {found}");
            assert_eq!(foreign_format(&wide(text)), Some(found), "{text}");
        }
        assert!(archive_format(b"PK\x03\x04\x14\0").is_some_and(|f| f.contains("zip")));
        assert!(archive_format(b"\x1f\x8b\x08").is_some_and(|f| f.contains("gzip")));
        for text in [
            "",
            "hello",
            "[]",
            "<html>",
            "N:a;b;c",
            "dear name, hello",
            "FN:name, a, b",
        ] {
            assert_eq!(foreign_format(text.as_bytes()), None, "{text}");
        }
    }
}
