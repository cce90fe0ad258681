//! Folders of items (vdir): the files of a folder as one stream, so that they are saved in few
//! transactions.
//!
//! ```text
//! a.vcf  b.vcf  c.vcf ── FileStream ── import
//!                          └ FileIndex: the first line of each file in the stream
//! ```
//!
//! A file that is not plain UTF-8 with a last line end is a stream of its own.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use etui::calendar::{CalendarObject, Color};
use etui::contacts::Card;
use etui::import::{ImportReport, Refused};
use etui::{CollectionKind, ETag};
use etui_contentline::charset::to_utf8_bytes;
use etui_contentline::lines::physical_line;
use etui_program::output::{OutputWriter, escape_text, one_line, pluralize, quote_operand};
use etui_program::{App, Failure, Result};

use super::{HEAD_BYTES, ImportSource, calendar_name};
use crate::commands::vdir::item::ItemRecord;
use crate::commands::vdir::ledger::{ExportLedger, LedgerEntry};
use crate::commands::vdir::{
    COLOR, DISPLAY_NAME, FolderItem, list_folders, list_items, read_property,
};

/// Suffixes of items and the kind of their records.
const SUFFIXES: [(&str, CollectionKind); 2] = [
    (".vcf", CollectionKind::Contacts),
    (".ics", CollectionKind::Calendar),
];

/// Limit of the bytes of a file that is read into memory.
const MAX_JOINED: u64 = 4 << 20;

/// The folder that a source is read from.
#[derive(Debug, Clone)]
pub struct SourceFolder {
    pub path: PathBuf,
    /// The name that the folder gives its collection: that in it, or its own.
    pub title: Option<String>,
    pub files: SharedIndex,
    /// No source after it has items of the folder and this kind.
    pub is_last: bool,
}

/// The files of a stream, filled while it is read.
pub type SharedIndex = Rc<RefCell<FileIndex>>;

/// A file of a stream.
#[derive(Debug)]
struct IndexedFile {
    /// Its first line in the stream, from 1.
    line: u64,
    path: PathBuf,
    hash: Option<ETag>,
    /// The UID of its record, if it has exactly one.
    uid: Option<String>,
    has_refusals: bool,
}

/// The files of a stream in their order.
#[derive(Debug, Default)]
pub struct FileIndex {
    files: Vec<IndexedFile>,
    /// The items that are not read yet.
    pub waiting: VecDeque<FolderItem>,
}

impl FileIndex {
    /// Returns the entries of the files that were read without a refusal, for a ledger.
    pub fn entries<'f>(
        &'f self,
        home: &'f str,
    ) -> impl Iterator<Item = (&'f str, LedgerEntry)> + use<'f> {
        let good = self.files.iter().filter(|file| !file.has_refusals);
        good.filter_map(move |file| {
            let name = file.path.file_name()?.to_str()?;
            let entry = LedgerEntry {
                hash: file.hash?,
                home: home.to_owned(),
                uid: file.uid.clone(),
            };
            Some((name, entry))
        })
    }

    /// Returns the file that a line of the stream is in, and the line there.
    pub fn locate(&self, line: u64) -> Option<(&Path, u64)> {
        let file = self.files.get(self.position(line)?)?;
        Some((&file.path, line - file.line + 1))
    }

    /// Notes that a part of a file was refused.
    pub fn refuse(&mut self, line: u64) {
        let at = self.position(line);
        if let Some(file) = at.and_then(|at| self.files.get_mut(at)) {
            file.has_refusals = true;
        }
    }

    fn position(&self, line: u64) -> Option<usize> {
        self.files
            .partition_point(|file| file.line <= line)
            .checked_sub(1)
    }
}

impl SourceFolder {
    /// Replaces the lines of the stream in a report by those of the files, whose names come before
    /// the reasons.
    pub fn localize(&self, report: &mut ImportReport) {
        let files = self.files.borrow();
        for part in report.refusals.iter_mut().chain(&mut report.warnings) {
            if let Some((path, line)) = files.locate(part.line) {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                part.reason = format!("{name}: {}", part.reason);
                part.last_line = line + (part.last_line - part.line);
                part.line = line;
            }
        }
    }
}

/// Rejects a file without a byte, which has no record.
pub fn reject_empty(out: &mut OutputWriter, name: &str, report: &mut ImportReport) {
    let reason = "is empty; remove it, or restore it from a backup";
    if !out.json {
        out.write_error_line(&one_line(&format!("{name}: {reason}")));
    }
    report.refused += 1;
    report.refusals.push(Refused {
        line: 1,
        last_line: 1,
        reason: reason.to_owned(),
        excerpt: String::new(),
    });
}

/// Opens a folder of items, or a folder of such folders. Those are imported into a collection each:
/// with `--each`, or if the person agrees, which sets `each`.
pub fn open_folder(app: &mut App, path: &Path, each: &mut bool) -> Result<Vec<ImportSource>> {
    let mut sources = open_items(app, path)?;
    let mut folders = Vec::new();
    for folder in list_folders(path)? {
        let items = open_items(app, &folder)?;
        if !items.is_empty() {
            folders.push(items);
        }
    }
    let shown = path.display().to_string();
    if sources.is_empty() && folders.is_empty() {
        return Err(Failure::Other(format!(
            "{shown}: is a directory without .vcf or .ics files, and without folders of them"
        )));
    }
    if !folders.is_empty() && !*each {
        let count = pluralize(folders.len() as u64, "folder");
        let question = format!(
            "{} has {count} of items. Import each into a collection of its own?",
            escape_text(&shown)
        );
        if !(app.out.is_interactive() && app.out.ask_yes_no(&question)?) {
            return Err(Failure::usage(format!(
                "{shown}: has {count} of items; import each into a collection of its own: \
                 etui import --each {}",
                quote_operand(&shown)
            )));
        }
        *each = true;
    }
    sources.extend(folders.into_iter().flatten());
    Ok(sources)
}

/// Opens the items of a folder.
fn open_items(app: &mut App, folder: &Path) -> Result<Vec<ImportSource>> {
    let mut sources: Vec<ImportSource> = Vec::new();
    let ledger = ExportLedger::read(folder)?;
    let color_text = read_property(folder, COLOR)?;
    let color: Option<Color> = color_text.as_ref().and_then(|text| text.parse().ok());
    for (suffix, kind) in SUFFIXES {
        let items = list_items(folder, suffix)?;
        // All files of a folder may have been removed by another program.
        let is_emptied = items.is_empty() && ledger.as_ref().is_some_and(|l| l.has_suffix(suffix));
        if items.is_empty() && !is_emptied {
            continue;
        }
        let title = folder_title(folder)?;
        let color = match (kind, items.first()) {
            (CollectionKind::Calendar, Some(first)) => match color {
                None => color_of_item(first)?,
                own => own,
            },
            _ => None,
        };
        let mut joined = VecDeque::new();
        let mut alone = Vec::new();
        for item in items {
            match can_be_joined(&item)? {
                true => joined.push_back(item),
                false => alone.push(item),
            }
        }
        let mut streams = vec![(folder.to_owned(), joined)];
        let alone = alone.into_iter();
        streams.extend(alone.map(|item| (item.path.clone(), VecDeque::from([item]))));
        for (path, items) in streams {
            if items.is_empty() && !is_emptied {
                continue;
            }
            let size = (!items.is_empty()).then(|| items.iter().map(|item| item.size).sum());
            let files = Rc::new(RefCell::new(FileIndex {
                files: Vec::new(),
                waiting: items,
            }));
            sources.push(ImportSource {
                name: path.display().to_string(),
                kind,
                calendar: None,
                color,
                table: None,
                size,
                file: None,
                reader: Box::new(FileStream {
                    kind,
                    lines: 0,
                    reader: Box::new(io::empty()),
                    files: Rc::clone(&files),
                }),
                folder: Some(SourceFolder {
                    path: folder.to_owned(),
                    title: title.clone(),
                    files,
                    is_last: false,
                }),
                converted: None,
            });
        }
        if let Some(last) = sources.last_mut().and_then(|source| source.folder.as_mut()) {
            last.is_last = true;
        }
    }
    if let Some(text) = color_text
        && sources.iter().all(|source| source.color.is_none())
        && !sources.is_empty()
    {
        let why = match color {
            Some(_) => "address books have none",
            None => "it is none",
        };
        app.out.write_note(&format!(
            "{}: the colour {} is not imported; {why}. An export into this folder leaves it",
            escape_text(&folder.display().to_string()),
            escape_text(&text)
        ));
    }
    Ok(sources)
}

/// Returns the colour that a calendar's item gives its calendar.
fn color_of_item(item: &FolderItem) -> Result<Option<Color>> {
    let failed = |e| Failure::io(&item.path, e);
    let file = File::open(&item.path).map_err(failed)?;
    let mut head = Vec::new();
    file.take(HEAD_BYTES)
        .read_to_end(&mut head)
        .map_err(failed)?;
    Ok(Color::in_object(&to_utf8_bytes(&head)))
}

/// Returns the name of the collection: that in the folder, or that of the folder.
fn folder_title(folder: &Path) -> Result<Option<String>> {
    if let Some(name) = read_property(folder, DISPLAY_NAME)? {
        return Ok(calendar_name(&name));
    }
    let full = folder.canonicalize().map_err(|e| Failure::io(folder, e))?;
    let name = full.file_name().map(|name| name.to_string_lossy());
    Ok(name.and_then(|name| calendar_name(&name)))
}

/// Returns true if the file can be followed by another one in a stream: it is not large, begins as
/// text in UTF-8 and ends with a line end.
fn can_be_joined(item: &FolderItem) -> Result<bool> {
    let failed = |e| Failure::io(&item.path, e);
    if !(2..=MAX_JOINED).contains(&item.size) {
        return Ok(false);
    }
    let mut file = File::open(&item.path).map_err(failed)?;
    let (mut head, mut last) = ([0; 2], [0; 1]);
    file.read_exact(&mut head).map_err(failed)?;
    file.seek(SeekFrom::End(-1)).map_err(failed)?;
    file.read_exact(&mut last).map_err(failed)?;
    Ok(head.iter().all(u8::is_ascii) && !head.contains(&0) && last == *b"\n")
}

/// The files of a folder, one after another.
struct FileStream {
    kind: CollectionKind,
    /// Lines of the files before.
    lines: u64,
    reader: Box<dyn Read>,
    files: SharedIndex,
}

impl FileStream {
    /// Opens the next file; false if there is none.
    fn open_next(&mut self) -> io::Result<bool> {
        let Some(item) = self.files.borrow_mut().waiting.pop_front() else {
            return Ok(false);
        };
        let failed =
            |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", item.path.display()));
        let mut indexed = IndexedFile {
            line: self.lines + 1,
            path: item.path.clone(),
            hash: None,
            uid: None,
            has_refusals: false,
        };
        let file = File::open(&item.path).map_err(failed)?;
        if item.size > MAX_JOINED {
            self.reader = Box::new(file);
        } else {
            let mut bytes = Vec::new();
            file.take(2 * MAX_JOINED)
                .read_to_end(&mut bytes)
                .map_err(failed)?;
            indexed.hash = Some(ETag::of(&bytes));
            indexed.uid = match self.kind {
                CollectionKind::Calendar => CalendarObject::file_uid(&bytes),
                _ => Card::file_uid(&bytes),
            };
            let mut at = 0;
            while let Some((_, next)) = physical_line(&bytes, at) {
                self.lines += 1;
                at = next;
            }
            self.reader = Box::new(Cursor::new(bytes));
        }
        self.files.borrow_mut().files.push(indexed);
        Ok(true)
    }
}

impl Read for FileStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.reader.read(buffer)? {
                0 if self.open_next()? => {}
                read => return Ok(read),
            }
        }
    }
}
