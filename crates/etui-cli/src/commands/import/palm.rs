//! Palm databases: converted to vCard or iCalendar, which is imported.

use std::io::{Cursor, Read};

use clap::ValueEnum;
use etui::CollectionKind;
use etui::import::Refused;
use etui_palm::{CodePage, DatabaseKind, RecordNote, read_database, recognize};
use etui_program::output::{escape_text, pluralize};
use etui_program::{Failure, Result};
use etui_tables::TableCharset;

use super::ImportSource;
use super::converted::{ConversionNote, ConversionNotes};

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

/// Opens a file as a Palm database, if its beginning is one.
pub fn open_database(
    name: &str,
    head: &[u8],
    rest: impl Read,
    charset: Option<TableCharset>,
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
    let page = match charset.map(TableCharset::name) {
        None => None,
        Some("windows-1252") => Some(CodePage::Windows1252),
        Some("Shift_JIS") => Some(CodePage::ShiftJis),
        Some(other) => {
            let problem = format!(
                "is a database of a Palm, whose charsets are cp1252 and cp932, not {other}"
            );
            return Err(refused(problem));
        }
    };
    let mut database = read_database(&file, page).map_err(|error| refused(error.to_string()))?;
    let text = std::mem::take(&mut database.text);
    let deleted = database.deleted as u64;
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
        file: None,
        reader: Box::new(Cursor::new(text)),
        folder: None,
        converted: Some(ConversionNotes {
            file_bytes: file.len() as u64,
            remark: (deleted > 0).then(|| {
                let records = pluralize(deleted, "record");
                format!("{shown}: skipped {records} that the Palm had deleted")
            }),
            notes: database.notes.into_iter().map(note).collect(),
        }),
    }))
}

/// Returns the note on a record of a database. Lines are numbers of records.
fn note(note: RecordNote) -> ConversionNote {
    let number = note.record as u64;
    ConversionNote {
        place: match number {
            0 => String::new(),
            number => format!("record {number}"),
        },
        is_refused: note.is_refused,
        refused: Refused {
            line: number,
            last_line: number,
            reason: note.notes.join("; "),
            excerpt: note.title.trim().to_owned(),
        },
    }
}
