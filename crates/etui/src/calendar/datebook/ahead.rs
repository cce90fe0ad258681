//! What a date book knows of its calendar, in one state of the store: a part of the list, and records
//! that were read along.
//!
//! Who goes from record to record is read more along each time, so that what reading costs by itself
//! is shared by many; who looks here and there is read one record. Records whose numbers follow each
//! other are read as they stand in the file, others many to a statement.

use std::ops::{ControlFlow, Range};
use std::time::Instant;

use rusqlite::{Connection, Row};

use crate::collection::{ETag, list};
use crate::error::Result;
use crate::query::records::ByNumber;

/// Bytes that are read along at the most.
const MOST_BYTES: usize = 128 << 10;
/// Records that are read along at the least, once somebody goes on, and at the most.
const LEAST: usize = 8;
const MOST: usize = 1_024;
/// So many numbers that nearly follow each other are read as a range.
const RANGE: usize = 8;
/// How far apart such numbers may be: what lies between them is read for nothing.
const GAP: i64 = 2;
/// How many records are asked for before it is looked how many bytes they have.
const SOME: usize = 32;

/// What is known of the calendar, in one state of the store.
#[derive(Default)]
pub(super) struct State {
    /// What this process had saved by then.
    pub(super) generation: u64,
    /// The store's latest change.
    pub(super) latest: i64,
    /// The latest change by a date book, as far as was told before.
    pub(super) told: i64,
    pub(super) since: Option<Instant>,
    /// The position that was looked at last.
    pub(super) looked: Option<u64>,
    /// A part of the list: the position of its first entry, and the entries.
    first: u64,
    ids: Vec<i64>,
    /// Records that were read along, and how many were asked for.
    ahead: Ahead,
    along: usize,
}

impl State {
    /// Begins with another state of the store.
    pub(super) fn forget(&mut self) {
        let is_whole = self.ahead.is_whole;
        *self = Self::default();
        self.ahead.is_whole = is_whole;
    }

    /// Has UIDs and ETags be read, too, from now on.
    pub(super) fn want_whole(&mut self) {
        if !self.ahead.is_whole {
            self.ahead.clear();
            self.ahead.is_whole = true;
        }
    }

    /// Where the record at a position is among those that were read along.
    pub(super) fn known(&mut self, index: u64) -> Option<usize> {
        let id = *self.ids.get(self.listed(index)?)?;
        self.ahead.find(id)
    }

    /// Number, UID, text and ETag of a record that was read along; without UID and ETag if these
    /// were not wanted.
    pub(super) fn get(&self, known: usize) -> (i64, &str, &[u8], ETag) {
        self.ahead.get(known)
    }

    /// Where a position is in the part of the list that was read.
    fn listed(&self, index: u64) -> Option<usize> {
        let at = usize::try_from(index.checked_sub(self.first)?).ok()?;
        (at < self.ids.len()).then_some(at)
    }

    /// Reads the record at a position; if the one before it was looked at, also those that follow.
    pub(super) fn read(&mut self, conn: &Connection, collection: i64, index: u64) -> Result<()> {
        let goes_on = self
            .looked
            .is_some_and(|last| index.wrapping_sub(last) <= 1);
        self.along = match goes_on {
            true => (2 * self.along).clamp(LEAST, self.ahead.room()),
            false => 1,
        };
        let at = match self.listed(index) {
            Some(at) => at,
            None => match self.list(conn, collection, index)? {
                Some(at) => at,
                None => return Ok(()),
            },
        };
        let rest = self.ids.get(at..).unwrap_or_default();
        let Some(&id) = rest.first() else {
            return Ok(());
        };
        let mut ids = rest[..rest.len().min(self.along)].to_vec();
        ids.sort_unstable();
        self.ahead.read(conn, collection, &ids)?;
        if self.ahead.find(id).is_none() {
            // So many bytes came before it that it was not reached.
            self.ahead.read(conn, collection, &[id])?;
        }
        Ok(())
    }

    /// Reads the part of the list that begins about a position, and tells where the position is in
    /// it.
    fn list(&mut self, conn: &Connection, collection: i64, index: u64) -> Result<Option<usize>> {
        self.ids.clear();
        let Some((first, at)) = list::start_at(conn, collection, index)? else {
            return Ok(None);
        };
        self.first = index.saturating_sub(at as u64);
        let (ids, wanted) = (&mut self.ids, at + self.along);
        list::walk(conn, collection, &first, false, |block| {
            ids.extend(block.ids());
            Ok(match ids.len() < wanted {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            })
        })?;
        Ok(self.listed(index))
    }
}

/// Some records.
#[derive(Default)]
struct Ahead {
    bytes: Vec<u8>,
    /// By number.
    records: Vec<Place>,
    /// The place that was asked for last.
    found: usize,
    /// Whether UIDs and ETags are read.
    is_whole: bool,
}

/// Where a record is in memory: its text, and behind that its UID.
struct Place {
    id: i64,
    etag: ETag,
    text: Range<usize>,
    end: usize,
}

impl Ahead {
    fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
    }

    fn find(&mut self, id: i64) -> Option<usize> {
        // Mostly the same one again, or the next.
        let near = (self.found..=self.found + 1)
            .find(|at| self.records.get(*at).is_some_and(|r| r.id == id));
        let found = match near {
            Some(at) => at,
            None => self.records.binary_search_by_key(&id, |r| r.id).ok()?,
        };
        self.found = found;
        Some(found)
    }

    fn get(&self, at: usize) -> (i64, &str, &[u8], ETag) {
        let record = &self.records[at];
        let uid = &self.bytes[record.text.end..record.end];
        let uid = std::str::from_utf8(uid).unwrap_or_default();
        (
            record.id,
            uid,
            &self.bytes[record.text.clone()],
            record.etag,
        )
    }

    /// How many records there is room for, if they are like these.
    fn room(&self) -> usize {
        (MOST_BYTES * self.records.len() / self.bytes.len().max(1)).clamp(LEAST, MOST)
    }

    /// Reads the records with these numbers, which ascend, as far as there is room.
    fn read(&mut self, conn: &Connection, collection: i64, ids: &[i64]) -> Result<()> {
        self.clear();
        let mut scattered = Vec::new();
        for near in ids.chunk_by(|a, b| b - a <= GAP) {
            match near {
                [first, .., last] if near.len() >= RANGE => {
                    self.read_range(conn, collection, *first, *last)?;
                }
                // One by itself needs no statement of its own.
                [only] if ids.len() == 1 => self.read_range(conn, collection, *only, *only)?,
                _ => scattered.extend_from_slice(near),
            }
        }
        let columns = match self.is_whole {
            true => "r.text, r.uid, r.etag",
            false => "r.text",
        };
        let mut by_number = ByNumber::new(conn, collection, columns);
        for some in scattered.chunks(SOME) {
            if self.is_full() {
                break;
            }
            by_number.each(some, |row| self.push(row))?;
        }
        // Either kind ascends.
        self.records.sort_by_key(|r| r.id);
        Ok(())
    }

    /// Reads the records from one number to another.
    fn read_range(&mut self, conn: &Connection, collection: i64, from: i64, to: i64) -> Result<()> {
        let mut statement = conn.prepare_cached(match self.is_whole {
            true => {
                "SELECT id, text, uid, etag FROM record NOT INDEXED \
                 WHERE id BETWEEN ?1 AND ?2 AND collection = ?3 AND removed IS NULL ORDER BY id"
            }
            false => {
                "SELECT id, text FROM record NOT INDEXED \
                 WHERE id BETWEEN ?1 AND ?2 AND collection = ?3 AND removed IS NULL ORDER BY id"
            }
        })?;
        let mut rows = statement.query((from, to, collection))?;
        while !self.is_full()
            && let Some(row) = rows.next()?
        {
            self.push(row)?;
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.bytes.len() > MOST_BYTES
    }

    /// Keeps a record, if there is room.
    fn push(&mut self, row: &Row<'_>) -> Result<()> {
        if self.is_full() {
            return Ok(());
        }
        let start = self.bytes.len();
        self.bytes
            .extend_from_slice(row.get_ref(1)?.as_blob().unwrap_or_default());
        let text = start..self.bytes.len();
        let mut etag = ETag([0; 16]);
        if self.is_whole {
            self.bytes
                .extend_from_slice(row.get_ref(2)?.as_bytes().unwrap_or_default());
            etag = row.get(3)?;
        }
        self.records.push(Place {
            id: row.get_ref(0)?.as_i64().unwrap_or_default(),
            etag,
            text,
            end: self.bytes.len(),
        });
        Ok(())
    }
}
