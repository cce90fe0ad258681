//! Plain SQLite as a native program uses it: packed records, the position is the key, all
//! that is done between open, sync and close is one transaction.

use std::path::Path;

use rusqlite::{Connection, StatementStatus, params};

use super::book::{self, BackendCounts, DatebookBackend};
use super::record::Appointment;
use crate::Error;

const GET: &str = "SELECT packed FROM record WHERE position = ?1";

/// An open date book.
#[derive(Debug)]
pub(super) struct Plain {
    db: Connection,
    counts: BackendCounts,
}

/// Creates the database with this number of records.
pub(super) fn make_plain(path: &Path, records: u64) -> Result<(), Error> {
    let schema = "CREATE TABLE record(position INTEGER PRIMARY KEY, packed BLOB NOT NULL);";
    book::create_database(path, schema, |db| {
        let mut insert = db.prepare("INSERT INTO record VALUES (?1, ?2)")?;
        for index in 0..records {
            let packed = Appointment::made(index).pack();
            insert.execute(params![book::read_row(index)?, packed])?;
        }
        Ok(())
    })
}

/// Every record in order: the final content of the database.
pub(super) fn plain_contents(path: &Path, mut each: impl FnMut(&[u8])) -> Result<(), Error> {
    let db = book::open_connection(path)?;
    let mut all = db.prepare("SELECT packed FROM record ORDER BY position")?;
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        each(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?);
    }
    Ok(())
}

impl Plain {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        Ok(Self {
            db: book::open_connection(path)?,
            counts: BackendCounts::default(),
        })
    }
}

impl DatebookBackend for Plain {
    fn peek_record(&mut self, position: u64, look: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        book::begin_transaction(&self.db)?;
        let mut get = self.db.prepare_cached(GET)?;
        get.query_row([book::read_row(position)?], |row| {
            look(row.get_ref(0)?.as_blob()?);
            Ok(())
        })?;
        self.counts.steps(get.get_status(StatementStatus::VmStep));
        get.reset_status(StatementStatus::VmStep);
        Ok(())
    }

    fn release_record(&mut self, at: u64, record: Vec<u8>, changed: bool) -> Result<(), Error> {
        if !changed {
            return Ok(());
        }
        book::begin_transaction(&self.db)?;
        let update = "UPDATE record SET packed = ?2 WHERE position = ?1";
        let mut update = self.db.prepare_cached(update)?;
        update.execute(params![book::read_row(at)?, record])?;
        Ok(())
    }

    fn sync_record(&mut self, _position: u64) -> Result<(), Error> {
        book::commit_transaction(&self.db)
    }

    fn close(self: Box<Self>) -> Result<BackendCounts, Error> {
        book::commit_transaction(&self.db)?;
        book::close_connection(self.db)?;
        Ok(self.counts)
    }

    fn count_calls(&self) -> BackendCounts {
        self.counts
    }
}
