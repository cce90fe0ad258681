//! [`PalmError`] and [`RecordError`]: why a file or a record cannot be read or written.

/// Why a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PalmError {
    /// The file is shorter than a header.
    #[error("a Palm database has at least 78 bytes, this file {bytes}; copy it again")]
    NoHeader {
        /// Bytes of the file.
        bytes: usize,
    },
    /// The database is none of the four that are supported.
    #[error(
        "is a Palm database of the type {kind} and the creator {creator}, which cannot be read; \
         export AddressDB, DatebookDB, ToDoDB or MemoDB"
    )]
    OtherDatabase {
        /// Its type.
        kind: String,
        /// Its creator.
        creator: String,
    },
}

/// Why a record cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The record ends before a part that it must have.
    #[error("the record ends before {part}")]
    Truncated {
        /// The part.
        part: &'static str,
    },
    /// A date that the calendar does not have.
    #[error("{0:#06x} is no date")]
    BadDate(u16),
    /// A time that the day does not have.
    #[error("{hour}:{minute} is no time of day")]
    BadTime {
        /// The hour.
        hour: u8,
        /// The minute.
        minute: u8,
    },
    /// A Palm has no place for it.
    #[error("{0}")]
    NotHeld(String),
    /// The database is full.
    #[error("a Palm database has at most 65,535 records")]
    Full,
}
