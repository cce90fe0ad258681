//! Palm databases: converted to vCard or iCalendar, which is imported.

use std::io::{Cursor, Read};

use clap::ValueEnum;
use etui::CollectionKind;
use etui::import::Refused;
use etui_palm::{CodePage, DatabaseKind, ImportedDatabase, read_database, recognize};

use super::ImportSource;
use crate::errors::{Failure, Result};
use crate::output::{OutputWriter, escape_text, one_line, pluralize};

/// Limit of the bytes of a file; larger ones are no databases of a device.
const MAX_FILE: u64 = 256 << 20;

/// A code page on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum PalmCharset {
    /// Western
    Cp1252,
    /// Japanese
    Cp932,
}

impl From<PalmCharset> for CodePage {
    fn from(charset: PalmCharset) -> Self {
        match charset {
            PalmCharset::Cp1252 => Self::Windows1252,
            PalmCharset::Cp932 => Self::ShiftJis,
        }
    }
}

/// Unreadable parts of a database.
#[derive(Debug)]
pub struct PalmNotes {
    file_bytes: u64,
    database: ImportedDatabase,
}

/// Opens a file as a Palm database, if its beginning is one.
pub fn open_database(
    name: &str,
    head: &[u8],
    rest: impl Read,
    charset: Option<PalmCharset>,
) -> Result<Option<ImportSource>> {
    let shown = escape_text(name);
    let refused = |problem: String| Failure::Refused(format!("{shown}: {problem}"));
    match recognize(head) {
        None => return Ok(None),
        Some(Err(error)) => return Err(refused(error.to_string())),
        Some(Ok(_)) => {}
    }
    let mut file = head.to_vec();
    let read = rest.take(MAX_FILE).read_to_end(&mut file);
    read.map_err(|e| Failure::named_io(name, e))?;
    if file.len() as u64 > MAX_FILE {
        let problem = "is larger than the databases of a Palm, 256 MB at most";
        return Err(refused(problem.to_owned()));
    }
    let mut database = read_database(&file, charset.map(CodePage::from))
        .map_err(|error| refused(error.to_string()))?;
    let text = std::mem::take(&mut database.text);
    Ok(Some(ImportSource {
        name: name.to_owned(),
        kind: match database.kind {
            DatabaseKind::Addresses => CollectionKind::Contacts,
            _ => CollectionKind::Calendar,
        },
        calendar: None,
        color: None,
        table: None,
        size: Some(text.len() as u64),
        reader: Box::new(Cursor::new(text)),
        folder: None,
        palm: Some(PalmNotes {
            file_bytes: file.len() as u64,
            database,
        }),
    }))
}

impl PalmNotes {
    /// Writes the notes, and adds them to the report of the import: a record that is left out is
    /// rejected, one that is not complete has a warning. Lines are numbers of records.
    pub fn report(
        self,
        out: &mut OutputWriter,
        name: &str,
        report: &mut etui::import::ImportReport,
    ) {
        const KEPT: usize = 1_000;
        report.bytes = self.file_bytes;
        for note in self.database.notes {
            if note.is_refused {
                report.refused += 1;
            } else {
                report.warned += 1;
            }
            let reason = note.notes.join("; ");
            let title = note.title.trim();
            if !out.json {
                let place = match note.record {
                    0 => name.to_owned(),
                    number => format!("{name}: record {number}"),
                };
                let title = match title.is_empty() {
                    true => String::new(),
                    false => format!(" ({title})"),
                };
                out.write_error_line(&one_line(&format!("{place}: {reason}{title}")));
            }
            let refused = Refused {
                line: note.record as u64,
                last_line: note.record as u64,
                reason,
                excerpt: title.to_owned(),
            };
            let kept = match note.is_refused {
                true => &mut report.refusals,
                false => &mut report.warnings,
            };
            if kept.len() < KEPT {
                kept.push(refused);
            }
        }
        let deleted = self.database.deleted as u64;
        if deleted > 0 {
            out.write_note(&format!(
                "{}: skipped {} that the Palm had deleted",
                escape_text(name),
                pluralize(deleted, "record")
            ));
        }
    }
}
