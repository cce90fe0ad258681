//! Contacts in tables (CSV) and directories (LDIF) as vCards, and vCards as CSV.
//!
//! [`CsvReader`] reads the exports of Google Contacts, Outlook, LinkedIn and Thunderbird, and any other
//! table whose columns are named ([`CsvOptions::map`]); [`LdifReader`] reads LDIF (RFC 2849) of
//! Thunderbird and of LDAP directories. Each record becomes a vCard 4.0. [`CsvPlan`] and [`CsvWriter`]
//! write the columns of Google or Outlook, and return the properties that a row cannot hold
//! ([`Loss`]).
//!
//! ```text
//! CSV  -> rows -> columns of a program -.
//!                                        draft -> vCard 4.0
//! LDIF -> entries -> attributes --------'
//! ```
//!
//! Nothing is lost silently: a field without a meaning is kept as `X-CUSTOM` with the label of its
//! column and counted; a value that is not understood is kept as text, with a warning; a wrong row or
//! entry is rejected with its line, and the rest is read.

#![deny(missing_docs)]

mod calendar;
mod charset;
mod convert;
mod date;
mod draft;
mod export;
mod input;
mod item;
mod label;
mod ldif;
mod table;

pub use calendar::{CalendarTable, is_calendar_csv, read_calendar};
pub use charset::{TableCharset, UnknownCharset};
pub use export::{CsvFormat, CsvPlan, CsvWriter, Loss, LossKind};
pub use item::{FieldCount, ForeignContact, ForeignItem, RejectedRecord};
pub use ldif::{LdifReader, is_ldif};
pub use table::{ColumnField, CsvError, CsvOptions, CsvProgram, CsvReader, UnmappedColumn, is_csv};

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
