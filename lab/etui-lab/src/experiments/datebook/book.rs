//! Interface of every date book here ([`DatebookBackend`]), and opening their databases.

use std::borrow::Cow;
use std::path::Path;

use rusqlite::Connection;

use super::record::Appointment;
use crate::Error;

/// The form in which a date book shows its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordForm {
    Packed,
    Text,
}

impl RecordForm {
    /// The appointment that a record says.
    pub(super) fn read(self, record: &[u8]) -> Result<Appointment, Error> {
        match self {
            Self::Packed => Appointment::unpack(record),
            Self::Text => match std::str::from_utf8(record) {
                Ok(text) => Appointment::from_text(text),
                Err(_) => Err(Error::other("an appointment's text is not UTF-8")),
            },
        }
    }

    /// The record of an appointment at a position.
    pub(super) fn write(self, appointment: &Appointment, position: u64) -> Result<Vec<u8>, Error> {
        Ok(match self {
            Self::Packed => appointment.pack(),
            Self::Text => appointment.to_text(read_row(position)? + 1).into_bytes(),
        })
    }

    /// A record in the old form, in which all are compared.
    pub(super) fn packed(self, record: &[u8]) -> Result<Cow<'_, [u8]>, Error> {
        Ok(match self {
            Self::Packed => Cow::Borrowed(record),
            Self::Text => Cow::Owned(self.read(record)?.pack()),
        })
    }
}

/// The records that a test saw, one after the other: kept while the clock runs, and compared
/// when it has stopped.
#[derive(Debug, Default)]
pub(super) struct SeenRecords {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl SeenRecords {
    /// Reserves room for `count` records, touched in advance.
    pub(super) fn with_room(records: usize) -> Self {
        let mut seen = Self {
            bytes: vec![1; records * 512],
            ends: vec![1; records],
        };
        seen.bytes.clear();
        seen.ends.clear();
        seen
    }

    pub(super) fn push(&mut self, record: &[u8]) {
        self.bytes.extend_from_slice(record);
        self.ends.push(self.bytes.len());
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut from = 0;
        self.ends.iter().filter_map(move |end| {
            let record = self.bytes.get(from..*end);
            from = *end;
            record
        })
    }
}

/// An open date book, records by position.
pub(super) trait DatebookBackend {
    fn record_form(&self) -> RecordForm {
        RecordForm::Packed
    }

    /// Looks at a record without taking it ("query").
    fn peek_record(&mut self, position: u64, look: &mut dyn FnMut(&[u8])) -> Result<(), Error>;

    /// Reads the first `count` records.
    fn peek_all(&mut self, records: u64, look: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        (0..records).try_for_each(|position| self.peek_record(position, look))
    }

    /// Takes a record ("get").
    fn take_record(&mut self, position: u64) -> Result<Vec<u8>, Error> {
        let mut taken = Vec::new();
        self.peek_record(position, &mut |record| taken.extend_from_slice(record))?;
        Ok(taken)
    }

    /// Gives a taken record back, changed ("dirty") or not.
    fn release_record(&mut self, at: u64, record: Vec<u8>, changed: bool) -> Result<(), Error>;

    /// Makes a change that was given back durable now.
    fn sync_record(&mut self, position: u64) -> Result<(), Error>;

    /// Makes all changes durable and closes.
    fn close(self: Box<Self>) -> Result<BackendCounts, Error>;

    /// Counters so far.
    fn count_calls(&self) -> BackendCounts {
        BackendCounts::default()
    }
}

/// Work that repeats exactly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct BackendCounts {
    /// Steps of SQLite's virtual machine in looking up and in checking records.
    pub(super) steps: u64,
    /// Records converted from one form to the other.
    pub(super) conversions: u64,
}

impl BackendCounts {
    /// Adds a statement's steps.
    pub(super) fn steps(&mut self, steps: i32) {
        self.steps += u64::try_from(steps).unwrap_or(0);
    }

    /// Counters since `before`.
    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            steps: self.steps.saturating_sub(before.steps),
            conversions: self.conversions.saturating_sub(before.conversions),
        }
    }
}

/// Opens a database; every commit is durable when it returns.
pub(super) fn open_connection(path: &Path) -> Result<Connection, Error> {
    let db = Connection::open(path)?;
    db.execute_batch("PRAGMA synchronous = FULL")?;
    // Reads the header and the schema, which SQLite would put off to the first statement.
    db.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(db)
}

/// Begins a transaction, unless one is open.
pub(super) fn begin_transaction(db: &Connection) -> Result<(), Error> {
    match db.is_autocommit() {
        true => Ok(db.execute_batch("BEGIN")?),
        false => Ok(()),
    }
}

/// Commits the transaction, if one is open; its changes are durable then.
pub(super) fn commit_transaction(db: &Connection) -> Result<(), Error> {
    match db.is_autocommit() {
        true => Ok(()),
        false => Ok(db.execute_batch("COMMIT")?),
    }
}

/// Makes a new database, with a schema and records, and closes it, leaving one file.
pub(super) fn create_database(
    path: &Path,
    schema: &str,
    insert: impl FnOnce(&Connection) -> Result<(), Error>,
) -> Result<(), Error> {
    let db = Connection::open(path)?;
    db.execute_batch(&format!(
        "PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; {schema}
         BEGIN"
    ))?;
    insert(&db)?;
    db.execute_batch("COMMIT")?;
    close_connection(db)
}

/// Closes a database.
pub(super) fn close_connection(db: Connection) -> Result<(), Error> {
    db.close().map_err(|(_, error)| error.into())
}

pub(super) fn missing_record(position: u64) -> Error {
    Error::other(format!("no record at position {position}"))
}

/// A position as SQLite's integer.
pub(super) fn read_row(position: u64) -> Result<i64, Error> {
    i64::try_from(position).map_err(|_| Error::other("a position is too large"))
}
