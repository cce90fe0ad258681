//! `etui import`: imports vCard, iCalendar, CSV and LDIF files, Palm databases and folders of items
//! (vdir), recognized by their content.

mod address;
mod calendar_csv;
mod converted;
mod folder;
mod folder_sync;
mod formats;
mod groups;
mod palm;

use std::collections::HashMap;
use std::fs::File;
use std::io::{Cursor, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use etui::calendar::{Calendar, CalendarImport, Color};
use etui::contacts::Contacts;
use etui::import::{ContactImport, ImportEvent, ImportReport};
use etui::record::{Collection, RecordKind};
use etui::{CollectionKind, Error, Store};
use etui_contentline::charset::to_utf8_bytes;
use etui_contentline::edit::own_lines;
use etui_contentline::values::{property_value, unescape_text};
use etui_program::output::{
    OutputWriter, ProgressReporter, escape_text, format_count, format_size, object, one_line,
    pluralize, quote_option,
};
use etui_program::{App, Failure, Result};
use etui_tables::TableCharset;

use self::converted::ConversionNotes;
use self::folder::SourceFolder;
use self::folder_sync::FolderSync;
pub use self::formats::name_other_format;
use self::groups::LabelledCards;
pub use self::palm::PalmCharset;
use crate::commands::import_tables::{ColumnMapping, TableReader, detect_table, write_labels};
use crate::commands::settings::region_name;
use crate::json::imported_file_json;

const EXAMPLES: &str = "\
Examples:
  etui import contacts.vcf                   an export of an address book
  etui import calendar.ics                   an export of a calendar
  etui import phone.vcf backup/*.vcf *.ics   several files of both kinds
  etui import --calendar Work work.ics       into the calendar Work
  etui import --each *.ics                   each into a calendar of its own
  etui import ~/.contacts/friends            a folder of khard, khal or vdirsyncer (vdir)
  etui import --each ~/.calendars            a folder of such folders, each a calendar of its own
  etui import --delete ~/.contacts/friends   also the removals of other programs
  etui import AddressDB.pdb DatebookDB.pdb   databases of a Palm
  curl -s https://example.org/all.vcf | etui import -
  etui import google.csv thunderbird.ldif    contacts in CSV and LDIF
  etui import --map \"Tel.=phone.work\" --map \"Kundennr.=-\" kunden.csv

vCard 2.1, 3.0 and 4.0 and iCalendar in any charset are recognized by content and stored byte for
byte. A contact replaces the stored one with the same UID, unless it is an earlier version of it: what was
corrected here stays when an export is imported again (--older takes it back). Of a calendar entry the newer version of
each time counts (SEQUENCE, then the stamps), and messages by mail (invitations, updates, cancellations)
change their series, in whatever calendar it is. `etui undo` undoes an import; importing a file twice
changes nothing. The groups of Apple's programs, of vCard 4.0 and of LDIF stay contacts, and their
names are labels of their members. Rejected input is reported with line number and reason, everything else is imported, and the exit code is 3. The same for a file
that cannot be read or is in another format (jCard, PDF, zip): the error names it, and the other files
are imported.

The CSV of Google Contacts, Outlook, LinkedIn and Thunderbird and columns of common names are
recognized, whatever the separator, charset and language (English, German, French, Spanish, Italian,
Dutch, Swedish, Polish, Portuguese); --map names others. FIELD is as in `etui contacts edit --set`, with
a type after a point: name, family, given, phone.work, phone.mobile, email.home, street, city.work, org,
title, birthday, note, label, x-anything; `-` leaves the column out. Columns and LDIF attributes without
a meaning are kept as fields of their own names, and listed; a file with such a column of e-mail
addresses or phone numbers is imported only with --map or --force.

A folder's .vcf and .ics files are items, one record each; hidden and .tmp files are ignored. Files
that are as they were at the last export or import are not read again. Files that another program
removed since are named; --delete removes their records too. AddressDB, DatebookDB, ToDoDB and MemoDB of a Palm become contacts, events,
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
    /// Remove the records whose files another program has removed from a folder since the last export
    /// or import
    #[arg(long)]
    delete: bool,
    /// Take contacts back to an earlier version, too: those that were changed here since stay otherwise
    #[arg(long)]
    older: bool,
    /// Make entries of their own of those that have one UID but are on other days: the day is added to
    /// the UID
    #[arg(long)]
    split_uids: bool,
    /// Meaning of a column of a CSV file; `-` leaves it out
    #[arg(long, value_name = "COLUMN=FIELD")]
    map: Vec<ColumnMapping>,
    /// Charset of CSV and LDIF files and Palm databases, such as windows-1251 [default: detected]
    #[arg(long, value_name = "NAME", alias = "palm-charset")]
    charset: Option<TableCharset>,
    /// Import a CSV file although columns of e-mail addresses, phone numbers or names are not
    /// recognized; they become custom fields
    #[arg(long)]
    force: bool,
}

/// Bytes that are searched for the kind of a file.
const HEAD_BYTES: u64 = 64 << 10;

/// The reason to refuse a text of no known format.
const NO_RECORDS: &str = "has no contacts or entries: it is no vCard, iCalendar, CSV, LDIF or database of \
                          a Palm; a table without known columns needs --map COLUMN=FIELD";

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
    /// The regular file that `reader` reads, which can be opened again.
    file: Option<PathBuf>,
    size: Option<u64>,
    /// The contacts of a CSV or LDIF file, instead of `reader`.
    table: Option<TableReader>,
    /// The folder of items that it is read from.
    folder: Option<SourceFolder>,
    /// What a conversion left out: of a Palm database, or a calendar in CSV.
    converted: Option<ConversionNotes>,
}

impl ImportSource {
    /// Opens a file and recognizes the kind of its records from its beginning.
    fn open(path: &Path, args: &ImportArgs) -> Result<Self> {
        address::refuse_address(path)?;
        let map = &args.map;
        let name = path.display().to_string();
        let failed = |e| Failure::named_io(name.as_str(), e);
        let (mut size, mut regular) = (None, None);
        let mut reader: Box<dyn Read> = match name.as_str() {
            "-" => Box::new(std::io::stdin()),
            _ => {
                let file = File::open(path).map_err(failed)?;
                let metadata = file.metadata().map_err(failed)?;
                if metadata.is_file() {
                    size = Some(metadata.len());
                    regular = Some(path.to_owned());
                }
                Box::new(file)
            }
        };
        let mut head = Vec::new();
        let read = reader.by_ref().take(HEAD_BYTES).read_to_end(&mut head);
        read.map_err(failed)?;
        if let Some(database) = palm::open_database(&name, &head, &mut reader, args.charset)? {
            return Ok(database);
        }
        let found = detect_kind(&head);
        let refused =
            |problem: &str| Failure::Refused(format!("{}: {problem}", escape_text(&name)));
        if let Some(format) = name_other_format(&head, found.is_some()) {
            return Err(refused(format));
        }
        if found.is_none()
            && let Some(calendar) =
                calendar_csv::open_calendar(&name, &head, &mut reader, args.charset)?
        {
            return Ok(calendar);
        }
        // All lines of a long unknown text are rejected as contacts.
        let kind = found.unwrap_or(CollectionKind::Contacts);
        let calendar = find_calendar_name(&head);
        let color = Color::in_object(&to_utf8_bytes(&head));
        let table = match found {
            None => detect_table(&name, &head, !map.is_empty()),
            Some(_) => None,
        };
        // A longer text may have records after its beginning.
        if found.is_none() && table.is_none() && (head.len() as u64) < HEAD_BYTES {
            return Err(refused(NO_RECORDS));
        }
        let mut reader: Box<dyn Read> = Box::new(Cursor::new(head).chain(reader));
        let table = match table {
            None => None,
            Some(format) => {
                let text = std::mem::replace(&mut reader, Box::new(std::io::empty()));
                Some(TableReader::open(
                    &name,
                    format,
                    text,
                    map,
                    args.charset,
                    args.force,
                )?)
            }
        };
        Ok(Self {
            kind,
            calendar,
            color,
            reader,
            file: regular,
            name,
            size,
            table,
            folder: None,
            converted: None,
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
fn open_or_create_collection<R: RecordKind>(store: &Store, name: &str) -> Result<Collection<R>> {
    match store.collection(name) {
        Err(Error::NoCollection { .. }) => Ok(store.collections().create(name)?),
        opened => Ok(opened?),
    }
}

/// A file that was not imported.
#[derive(serde::Serialize)]
struct UnreadFile {
    file: String,
    reason: String,
}

/// Opens all files. One that cannot be read does not stop the others: it is reported, and returned
/// with its reason.
///
/// # Errors
/// No file can be read.
fn open_sources(
    app: &mut App,
    args: &ImportArgs,
    each: &mut bool,
) -> Result<(Vec<ImportSource>, Vec<UnreadFile>)> {
    let mut sources = Vec::new();
    let mut unread: Vec<(String, Failure)> = Vec::new();
    for file in &args.files {
        let opened = match file.is_dir() {
            true => folder::open_folder(app, file, each),
            false => ImportSource::open(file, args).map(|source| vec![source]),
        };
        match opened {
            Ok(opened) => sources.extend(opened),
            Err(error) => unread.push((file.display().to_string(), error)),
        }
    }
    if sources.is_empty()
        && let Some((_, last)) = unread.pop()
    {
        for (_, error) in &unread {
            app.out.write_error_line(&one_line(&error.to_string()));
        }
        return Err(last);
    }
    let mut reasons = Vec::new();
    for (file, error) in unread {
        let reason = error.to_string();
        if !app.out.json {
            app.out.write_error_line(&one_line(&reason));
        }
        reasons.push(UnreadFile { file, reason });
    }
    Ok((sources, reasons))
}

pub fn import_files(app: &mut App, args: &ImportArgs) -> Result<()> {
    let mut each = args.each;
    let (sources, unread) = open_sources(app, args, &mut each)?;
    if args.delete && !sources.iter().any(|source| source.folder.is_some()) {
        return Err(Failure::usage(
            "--delete takes over what was removed from a folder; give a folder of items",
        ));
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
    let book: Option<Contacts> = book.transpose()?;
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
    let has_charset = |source: &ImportSource| source.table.is_some() || source.converted.is_some();
    for (flag, is_given, is_used) in [
        ("--map", !args.map.is_empty(), sources.iter().any(is_csv)),
        ("--force", args.force, sources.iter().any(is_csv)),
        (
            "--charset",
            args.charset.is_some(),
            sources.iter().any(has_charset),
        ),
    ] {
        if is_given && !is_used {
            let none = match flag {
                "--charset" => "no CSV or LDIF file and no database of a Palm was given",
                _ => "no CSV file was given",
            };
            app.out.write_note(&format!("{flag} has no effect: {none}"));
        }
    }
    let mut total = ImportReport::default();
    let mut total_removed = 0;
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
        let options = CalendarImport {
            any_calendar: args.calendar.is_none() && own_calendar.is_none(),
            whole_objects: source.folder.is_some(),
            split_uids: args.split_uids,
        };
        let contacts = ContactImport {
            // The other program may have taken its change back.
            takes_earlier: args.older || source.folder.is_some(),
        };
        let (converted, folder) = (source.converted.take(), source.folder.clone());
        let is_empty_item = folder.is_some() && source.size == Some(0);
        let color = match calendar {
            Some(own) if kind == CollectionKind::Calendar => {
                let takes_color = own.color()?.is_none() && (args.each || own.count()? == 0);
                source.color.filter(|_| takes_color)
            }
            _ => None,
        };
        let sync = match (&folder, book, calendar) {
            (Some(folder), _, Some(calendar)) if kind == CollectionKind::Calendar => {
                Some(FolderSync::begin(&store, calendar, folder)?)
            }
            (Some(folder), Some(book), _) => Some(FolderSync::begin(&store, book, folder)?),
            _ => None,
        };
        let mut report = import_source(
            &mut app.out,
            book,
            calendar,
            (contacts, options),
            &mut source,
        )?;
        if let (Some(own), Some(_)) = (calendar, color) {
            own.set_color(color)?;
        }
        if let Some(converted) = converted {
            converted.report(&mut app.out, &name, &mut report);
        }
        if is_empty_item {
            folder::reject_empty(&mut app.out, &name, &mut report);
        }
        if let Some(folder) = folder {
            folder.localize(&mut report);
        }
        let (out, delete) = (&mut app.out, args.delete);
        let removed = match (sync, book, calendar) {
            (Some(sync), _, Some(calendar)) if kind == CollectionKind::Calendar => {
                sync.finish(out, &store, calendar, delete, &mut report)?
            }
            (Some(sync), Some(book), _) => sync.finish(out, &store, book, delete, &mut report)?,
            _ => 0,
        };
        total_removed += removed;
        let and_removed = match removed {
            0 => String::new(),
            removed => format!("; {} removed", format_count(removed)),
        };
        app.out.status(format!(
            "{}: {}{and_removed}{into}",
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
            removed,
            source
                .table
                .as_ref()
                .map(TableReader::notes)
                .unwrap_or_default(),
        ));
    }
    // The records are saved; without the merge, searches are slower until the next save.
    if let Err(error) = store.maintenance().merge_index() {
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
            removed: total_removed,
            files: files,
            unread: &unread,
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
    let mut problems = Vec::new();
    for (n, what) in [(unread.len() as u64, "file"), (refused, "piece")] {
        match n {
            0 => {}
            1 => problems.push(format!("1 {what} was rejected")),
            n => problems.push(format!("{} {what}s were rejected", format_count(n))),
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    let rest = match added + changed + unchanged {
        0 => "nothing was imported",
        _ => "the rest was imported",
    };
    Err(Failure::Refused(format!("{}; {rest}", problems.join(", "))))
}

/// Returns a message with the settings that a created store has taken from the environment.
fn describe_new_store(store: &Store) -> Result<String> {
    Ok(format!(
        "Created a store: {}\nSort order: {}; region of phone numbers without a country code: {} \
         (change it: etui settings region CODE)",
        escape_text(&store.path().display().to_string()),
        store.settings().locale,
        region_name(store.settings().region)
    ))
}

/// Adds the counts of a report to a total.
pub fn add_report(total: &mut ImportReport, report: &ImportReport) {
    total.added += report.added;
    total.revived += report.revived;
    total.changed += report.changed;
    total.unchanged += report.unchanged;
    total.older += report.older;
    total.proposals += report.proposals;
    total.refused += report.refused;
    total.bytes += report.bytes;
}

fn import_source(
    out: &mut OutputWriter,
    book: Option<&Contacts>,
    calendar: Option<&Calendar>,
    (for_contacts, for_entries): (ContactImport, CalendarImport),
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
    let mut grouped = match (book, &source.table, &source.folder) {
        // The files of a folder stay as they are.
        (Some(book), None, None) if source.kind == CollectionKind::Contacts => {
            LabelledCards::open(source, book)?
        }
        _ => None,
    };
    let reader = &mut source.reader;
    let imported = match (source.kind, book, calendar) {
        (CollectionKind::Calendar, _, Some(calendar)) => {
            calendar.import_with(reader, for_entries, &mut on_event)
        }
        (_, Some(book), _) => match &mut source.table {
            Some(table) => book.import_cards(table, for_contacts, &mut on_event),
            None => match &mut grouped {
                Some(cards) => book.import_cards(cards, for_contacts, &mut on_event),
                None => book.import_with(reader, for_contacts, &mut on_event),
            },
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
    if let Some(cards) = grouped.filter(|cards| !cards.given().is_empty()) {
        write_labels(out, &name, &cards.given());
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
    let mut parts = vec![match report.revived {
        0 => format!("{} added", format_count(report.added)),
        n => format!(
            "{} added, {} of them back from the trash",
            format_count(report.added),
            format_count(n)
        ),
    }];
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
}
