//! Calendars as CSV: converted to iCalendar, which is imported.

use std::io::{Cursor, Read};

use etui::CollectionKind;
use etui::import::Refused;
use etui_program::output::escape_text;
use etui_program::{Failure, Result};
use etui_tables::{RejectedRecord, TableCharset, is_calendar_csv, read_calendar};

use super::ImportSource;
use super::converted::{ConversionNote, ConversionNotes};

/// Limit of the bytes of a file: its events are held in memory.
const MAX_FILE: u64 = 256 << 20;

/// Opens a file as a calendar in CSV, if its beginning has the columns of one.
pub fn open_calendar(
    name: &str,
    head: &[u8],
    rest: impl Read,
    charset: Option<TableCharset>,
) -> Result<Option<ImportSource>> {
    if !is_calendar_csv(head) {
        return Ok(None);
    }
    let mut file = head.to_vec();
    let read = rest.take(MAX_FILE).read_to_end(&mut file);
    read.map_err(|e| Failure::named_io(name, e))?;
    if file.len() as u64 > MAX_FILE {
        let name = escape_text(name);
        let problem = "is larger than 256 MB, the limit of calendars as CSV; split it";
        return Err(Failure::Refused(format!("{name}: {problem}")));
    }
    let table = read_calendar(file.as_slice(), charset);
    let table = table.map_err(|e| Failure::named_io(name, e))?;
    let rejected = table.rejected.into_iter().map(|record| note(record, true));
    let warnings = table.warnings.into_iter().map(|record| note(record, false));
    Ok(Some(ImportSource {
        name: name.to_owned(),
        kind: CollectionKind::Calendar,
        calendar: None,
        color: None,
        table: None,
        size: Some(table.text.len() as u64),
        file: None,
        reader: Box::new(Cursor::new(table.text)),
        folder: None,
        converted: Some(ConversionNotes {
            file_bytes: file.len() as u64,
            notes: rejected.chain(warnings).collect(),
            remark: table.charset.map(|charset| {
                let (name, charset) = (escape_text(name), charset.name());
                format!(
                    "{name}: read as {charset}; if letters are wrong, import it with --charset NAME"
                )
            }),
        }),
    }))
}

fn note(record: RejectedRecord, is_refused: bool) -> ConversionNote {
    ConversionNote {
        place: format!("line {}", record.line),
        is_refused,
        refused: Refused {
            line: record.line,
            last_line: record.last_line,
            reason: record.reason,
            excerpt: record.excerpt,
        },
    }
}
