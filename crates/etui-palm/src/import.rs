//! [`read_database`]: a Palm file as vCards or as a calendar object.

use std::collections::HashSet;

use crate::address::Address;
use crate::app_info::AppInfo;
use crate::appointment::Appointment;
use crate::bytes::until_zero;
use crate::code_page::CodePage;
use crate::contact::{RecordContext, address_to_vcard};
use crate::database::{Database, DatabaseRecord, PartProblem};
use crate::error::{PalmError, RecordError};
use crate::event::appointment_to_event;
use crate::kind::DatabaseKind;
use crate::task::{Memo, Task};
use crate::text::Decoded;
use crate::todo::{memo_to_journal, task_to_todo};
use crate::uid::record_uid;

/// The records of a database in a standard format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedDatabase {
    /// The database.
    pub kind: DatabaseKind,
    /// The code page of its texts.
    pub code_page: CodePage,
    /// vCards 4.0 one after another, or one `VCALENDAR`. The same file gives the same bytes.
    pub text: Vec<u8>,
    /// Number of records in the text.
    pub records: usize,
    /// Number of records that were deleted on the device; they are not in the text.
    pub deleted: usize,
    /// Unreadable parts.
    pub notes: Vec<RecordNote>,
}

/// Unreadable parts of a record, or of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordNote {
    /// The number of the record, from 1; 0 for the file.
    pub record: usize,
    /// Its title; empty if that could not be read.
    pub title: String,
    /// Whether it is left out altogether.
    pub is_refused: bool,
    /// A sentence for each thing.
    pub notes: Vec<String>,
}

/// Returns the kind of the database that a file begins with; `None` for other files.
///
/// # Errors
/// [`PalmError::OtherDatabase`] for a Palm database of another application.
pub fn recognize(head: &[u8]) -> Option<Result<DatabaseKind, PalmError>> {
    let (kind, creator) = Database::signature(head)?;
    if let Some(known) = DatabaseKind::of(kind, creator) {
        return Some(Ok(known));
    }
    // Other files have no name that ends in a zero byte, and letters at these places.
    let (name, rest) = head.split_at_checked(32)?;
    let is_name = until_zero(name).len() < 32
        && !until_zero(name).is_empty()
        && until_zero(name)
            .iter()
            .all(|byte| (b' '..=b'~').contains(byte));
    let is_code = |code: [u8; 4]| code.iter().all(|byte| byte.is_ascii_alphanumeric());
    let has_zero_list = rest.get(40..44) == Some(&[0; 4]);
    (is_name && is_code(kind) && is_code(creator) && has_zero_list).then(|| {
        let text = |code: [u8; 4]| String::from_utf8_lossy(&code).into_owned();
        Err(PalmError::OtherDatabase {
            kind: text(kind),
            creator: text(creator),
        })
    })
}

/// Reads AddressDB as vCards; DatebookDB, ToDoDB or MemoDB as a calendar object with events, to-dos
/// or journal entries. Without a `page` the code page is detected.
///
/// Times are floating. UIDs are made of the creator, the unique id and the content, so that a file
/// can be imported again.
///
/// # Errors
/// [`PalmError`]: no Palm database, or one of another application.
pub fn read_database(file: &[u8], page: Option<CodePage>) -> Result<ImportedDatabase, PalmError> {
    let kind = match recognize(file) {
        Some(kind) => kind?,
        None => return Err(PalmError::NoHeader { bytes: file.len() }),
    };
    let (database, problems) = Database::parse(file)?;
    let app_info = database.app_info.as_deref().unwrap_or_default();
    let page = page.unwrap_or_else(|| {
        let records = database
            .records
            .iter()
            .flat_map(|record| texts(kind, record));
        CodePage::detect(AppInfo::texts(app_info).chain(records))
    });
    let info = AppInfo::parse(app_info, kind, page);
    let mut imported = ImportedDatabase {
        kind,
        code_page: page,
        text: Vec::new(),
        records: 0,
        deleted: 0,
        notes: Vec::new(),
    };
    let mut outside = HashSet::new();
    for problem in problems {
        match problem {
            PartProblem::BadRecordOffset { record } => {
                outside.insert(record);
            }
            _ => imported.notes.push(RecordNote {
                record: 0,
                title: String::new(),
                is_refused: matches!(problem, PartProblem::MissingEntries { .. }),
                notes: vec![problem.to_string()],
            }),
        }
    }
    let is_calendar = kind != DatabaseKind::Addresses;
    if is_calendar {
        let head = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//etui//Palm import//EN\r\n";
        imported.text.extend(head.as_bytes());
    }
    for (number, record) in (1..).zip(&database.records) {
        if record.is_deleted() {
            imported.deleted += 1;
            continue;
        }
        let converted = match outside.contains(&number) {
            true => Err(
                "is outside the file or overlaps another; the file is damaged or cut off"
                    .to_owned(),
            ),
            false => convert(kind, record, &info, page).map_err(|error| error.to_string()),
        };
        match converted {
            Ok(Converted { text, title, notes }) => {
                imported.text.extend(text);
                imported.records += 1;
                if !notes.is_empty() {
                    imported.notes.push(RecordNote {
                        record: number,
                        title,
                        is_refused: false,
                        notes,
                    });
                }
            }
            Err(problem) => imported.notes.push(RecordNote {
                record: number,
                title: String::new(),
                is_refused: true,
                notes: vec![problem],
            }),
        }
    }
    if is_calendar {
        imported.text.extend(b"END:VCALENDAR\r\n");
    }
    Ok(imported)
}

/// Returns the bytes of a record that are text.
fn texts(kind: DatabaseKind, record: &DatabaseRecord) -> Option<&[u8]> {
    let from = match kind {
        DatabaseKind::Addresses => 9,
        DatabaseKind::Tasks => 3,
        DatabaseKind::Memos => 0,
        DatabaseKind::Appointments => {
            let flags = *record.data.get(6)?;
            let count = |flag, bytes| if flags & flag != 0 { bytes } else { 0 };
            let at = 8 + count(0x40, 2) + count(0x20, 8);
            match flags & 0x08 {
                0 => at,
                _ => {
                    let exceptions = record.data.get(at..at + 2)?;
                    let exceptions = u16::from_be_bytes(exceptions.try_into().ok()?);
                    at + 2 + 2 * usize::from(exceptions)
                }
            }
        }
    };
    record.data.get(from..)
}

/// A record in a standard format.
struct Converted {
    text: Vec<u8>,
    title: String,
    notes: Vec<String>,
}

fn convert(
    kind: DatabaseKind,
    record: &DatabaseRecord,
    info: &AppInfo,
    page: CodePage,
) -> Result<Converted, RecordError> {
    let data = &record.data;
    if data.is_empty() {
        return Err(RecordError::Truncated {
            part: "its first byte",
        });
    }
    let uid = record_uid(kind, record);
    let context = RecordContext {
        uid: &uid,
        category: info.category(record.category()),
        is_secret: record.is_secret(),
    };
    Ok(match kind {
        DatabaseKind::Addresses => {
            let Decoded { record, notes } = Address::parse(data, page)?;
            Converted {
                text: address_to_vcard(&record, context, &info.custom_labels),
                title: [record.first, record.last, record.company].join(" "),
                notes,
            }
        }
        DatabaseKind::Appointments => {
            let Decoded { record, notes } = Appointment::parse(data, page)?;
            Converted {
                text: appointment_to_event(&record, context),
                title: record.description,
                notes,
            }
        }
        DatabaseKind::Tasks => {
            let Decoded { record, notes } = Task::parse(data, page)?;
            Converted {
                text: task_to_todo(&record, context),
                title: record.title,
                notes,
            }
        }
        DatabaseKind::Memos => {
            let Decoded { record, notes } = Memo::parse(data, page);
            Converted {
                text: memo_to_journal(&record, context),
                title: record.title().to_owned(),
                notes,
            }
        }
    })
}
