//! The compatibility layer: an old date book's interface, record by position in the packed form,
//! over a new calendar's database of texts; and each of its cures as a switch.
//!
//! ```text
//! event        id, start, text     the new calendar; an index on start gives the order
//! layer_state  position, event, digest   the list as last seen by the layer, by position
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Statement, StatementStatus, params};

use super::book::{self, BackendCounts, DatebookBackend};
use super::record::Appointment;
use crate::Error;

/// Which cures are in; none is the layer as found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LayerMitigations {
    /// A position is looked up in the stored list, not counted off.
    pub(super) index: bool,
    /// Changed records are noted, so that a close deals with nothing else.
    pub(super) clean_close: bool,
    /// All that is done between open, sync and close is one transaction.
    pub(super) grouped: bool,
}

const BY_COUNTING: &str = "SELECT event.id, text FROM event ORDER BY start, id LIMIT 1 OFFSET ?1";
const BY_INDEX: &str = "SELECT event.id, text FROM layer_state \
     JOIN event ON event.id = layer_state.event WHERE position = ?1";
const WHOLE_LIST: &str = "SELECT event.id, text, layer_state.event, digest \
     FROM event LEFT JOIN layer_state ON layer_state.event = event.id \
     ORDER BY start, id";

/// An open date book, seen through the layer.
#[derive(Debug)]
pub(super) struct Layer {
    db: Connection,
    cures: LayerMitigations,
    /// Every record that the program was shown, packed as it last saw it.
    shown: BTreeMap<u64, Vec<u8>>,
    /// Those it changed and that were not synced; kept only by the cured close.
    dirty: BTreeSet<u64>,
    counts: BackendCounts,
}

/// Creates the database with this number of records.
pub(super) fn make_layer(path: &Path, records: u64) -> Result<(), Error> {
    let schema =
        "CREATE TABLE event(id INTEGER PRIMARY KEY, start INTEGER NOT NULL, text TEXT NOT NULL);
         CREATE INDEX event_start ON event(start);
         CREATE TABLE layer_state(position INTEGER PRIMARY KEY, event INTEGER NOT NULL UNIQUE,
                                  digest BLOB NOT NULL);";
    book::create_database(path, schema, |db| {
        let mut event = db.prepare("INSERT INTO event VALUES (?1, ?2, ?3)")?;
        let mut state = db.prepare("INSERT INTO layer_state VALUES (?1, ?2, ?3)")?;
        for index in 0..records {
            let made = Appointment::made(index);
            let id = book::read_row(index)? + 1;
            let text = made.to_text(id);
            event.execute(params![id, made.start(), text])?;
            state.execute(params![id - 1, id, digest_record(&text)])?;
        }
        Ok(())
    })
}

/// Every record in order, packed: the final content of the database.
pub(super) fn layer_contents(path: &Path, mut each: impl FnMut(&[u8])) -> Result<(), Error> {
    let db = book::open_connection(path)?;
    let mut all = db.prepare("SELECT text FROM event ORDER BY start, id")?;
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        let text = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
        each(&Appointment::from_text(text)?.pack());
    }
    Ok(())
}

impl Layer {
    /// Opens: constant work.
    pub(super) fn open(path: &Path, cures: LayerMitigations) -> Result<Self, Error> {
        Ok(Self {
            db: book::open_connection(path)?,
            cures,
            shown: BTreeMap::new(),
            dirty: BTreeSet::new(),
            counts: BackendCounts::default(),
        })
    }

    /// The record at a position as the database has it.
    fn fetch(&mut self, position: u64) -> Result<(i64, String), Error> {
        if self.cures.grouped {
            book::begin_transaction(&self.db)?;
        }
        let ask = |statement: &mut Statement<'_>| {
            let found = statement
                .query_row([book::read_row(position)?], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })
                .optional()?;
            let steps = statement.get_status(StatementStatus::VmStep);
            statement.reset_status(StatementStatus::VmStep);
            let found = found.ok_or_else(|| book::missing_record(position))?;
            Ok::<_, Error>((found, steps))
        };
        let (found, steps) = if self.cures.index {
            ask(&mut *self.db.prepare_cached(BY_INDEX)?)?
        } else {
            ask(&mut self.db.prepare(BY_COUNTING)?)?
        };
        self.counts.steps(steps);
        Ok(found)
    }

    /// The text of a shown record as the program last saw it.
    fn text_of(&mut self, position: u64, id: i64) -> Result<String, Error> {
        let packed = self
            .shown
            .get(&position)
            .ok_or_else(|| Error::other(format!("record {position} was never shown")))?;
        self.counts.conversions += 1;
        Ok(Appointment::unpack(packed)?.to_text(id))
    }

    /// Writes a record, and the layer's state of it.
    fn write_record(&self, id: i64, text: &str) -> Result<(), Error> {
        let update = "UPDATE event SET text = ?2 WHERE id = ?1";
        self.db.prepare_cached(update)?.execute(params![id, text])?;
        let update = "UPDATE layer_state SET digest = ?2 WHERE event = ?1";
        let mut update = self.db.prepare_cached(update)?;
        update.execute(params![id, digest_record(text)])?;
        Ok(())
    }

    /// Compares the whole list with the layer's last state of it.
    fn check_list(&mut self) -> Result<(), Error> {
        let mut all = self.db.prepare(WHOLE_LIST)?;
        let mut rows = all.query([])?;
        let mut foreign = 0_u64;
        while let Some(row) = rows.next()? {
            let text = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
            let known = row
                .get_ref(3)?
                .as_blob_or_null()
                .map_err(rusqlite::Error::from)?;
            foreign += u64::from(known != Some(digest_record(text).as_slice()));
        }
        drop(rows);
        self.counts.steps(all.get_status(StatementStatus::VmStep));
        match foreign {
            0 => Ok(()),
            _ => Err(Error::other(format!(
                "{foreign} records were changed by others"
            ))),
        }
    }

    /// Looks up, converts and compares records, and writes back those that differ.
    fn write_back(&mut self, positions: Vec<u64>) -> Result<(), Error> {
        if positions.is_empty() {
            return Ok(());
        }
        if !self.cures.grouped {
            // Record by record without waiting for the device each time; the close of the
            // database flushes in the end.
            self.db.execute_batch("PRAGMA synchronous = NORMAL")?;
        }
        for position in positions {
            let (id, stored) = self.fetch(position)?;
            let text = self.text_of(position, id)?;
            if text != stored {
                self.write_record(id, &text)?;
            }
        }
        Ok(())
    }
}

impl DatebookBackend for Layer {
    fn peek_record(&mut self, position: u64, look: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        let (_, text) = self.fetch(position)?;
        let packed = Appointment::from_text(&text)?.pack();
        self.counts.conversions += 1;
        look(&packed);
        self.shown.insert(position, packed);
        Ok(())
    }

    fn release_record(&mut self, at: u64, record: Vec<u8>, changed: bool) -> Result<(), Error> {
        self.shown.insert(at, record);
        if changed && self.cures.clean_close {
            self.dirty.insert(at);
        }
        Ok(())
    }

    fn sync_record(&mut self, position: u64) -> Result<(), Error> {
        let (id, _) = self.fetch(position)?;
        let text = self.text_of(position, id)?;
        self.write_record(id, &text)?;
        book::commit_transaction(&self.db)?;
        self.dirty.remove(&position);
        Ok(())
    }

    fn close(mut self: Box<Self>) -> Result<BackendCounts, Error> {
        if self.cures.clean_close {
            let dirty = std::mem::take(&mut self.dirty).into_iter().collect();
            self.write_back(dirty)?;
        } else {
            self.check_list()?;
            let shown = self.shown.keys().copied().collect();
            self.write_back(shown)?;
        }
        book::commit_transaction(&self.db)?;
        book::close_connection(self.db)?;
        Ok(self.counts)
    }

    fn count_calls(&self) -> BackendCounts {
        self.counts
    }
}

/// Returns the digest that detects a change of a record.
fn digest_record(text: &str) -> Vec<u8> {
    blake3::hash(text.as_bytes()).as_bytes()[..16].to_vec()
}
