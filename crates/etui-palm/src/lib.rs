//! Palm databases (`.pdb`): AddressDB, DatebookDB, ToDoDB and MemoDB of Palm OS.
//!
//! - [`Database`]: the container, read and written byte for byte;
//! - [`Address`], [`Appointment`], [`Task`], [`Memo`]: the records of the four;
//! - [`read_database`]: a file as vCards or as a calendar object;
//! - [`DatabaseWriter`]: cards and calendar objects into a file.
//!
//! ```text
//! file ── Database ── records ── Address ...      ── vCard, VEVENT, VTODO, VJOURNAL
//!                       └ app info: categories        (etui-vcard, etui-ical)
//! ```
//!
//! A conversion returns what the other side has no place for, record by record. A database
//! converted and converted back is the same, record by record.

#![deny(missing_docs)]

mod address;
mod app_info;
mod appointment;
mod bytes;
mod code_page;
mod component;
mod contact;
mod database;
mod date;
mod error;
mod event;
mod export;
mod import;
mod kind;
mod lines;
mod outgoing;
mod repeat;
mod task;
mod text;
mod todo;
mod uid;

pub use address::{Address, CUSTOM_FIELDS, PHONES, PhoneLabel};
pub use app_info::{AppInfo, CATEGORIES};
pub use appointment::{AlarmAdvance, AlarmUnit, Appointment, Repeat, RepeatPeriod};
pub use code_page::{CodePage, DecodedText};
pub use contact::{OutgoingAddress, RecordContext, address_to_vcard, vcard_to_address};
pub use database::{Database, DatabaseRecord, MAX_RECORDS, PartProblem};
pub use date::TimeOfDay;
pub use error::{PalmError, RecordError};
pub use event::{OutgoingAppointments, appointment_to_event, object_to_appointments};
pub use export::{Added, DatabaseWriter};
pub use import::{ImportedDatabase, RecordNote, read_database, recognize};
pub use kind::DatabaseKind;
pub use outgoing::Outgoing;
pub use task::{LOWEST_PRIORITY, Memo, Task};
pub use text::{Decoded, Encoded, MAX_RECORD};
pub use todo::{memo_to_journal, object_to_memos, object_to_tasks, task_to_todo};

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
