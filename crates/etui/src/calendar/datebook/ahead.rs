//! What a date book knows of its calendar, in one state of the store: a part of the list, and records
//! that were read along.
//!
//! Who goes from record to record is read more along each time, so that what reading costs by itself
//! is shared by many; who looks here and there is read one record. Records whose numbers follow each
//! other are read as they stand in the file, others many to a statement.

use std::ops::{ControlFlow, Range};

use rusqlite::{Connection, Row};

use crate::calendar::CalendarObject;
use crate::error::Result;
use crate::record::{StoredRecord, list};
use crate::search::query::record_reader::RecordsById;
use crate::types::{ETag, RecordId};

use super::clock::Moment;

/// Bytes that are read along at the most.
const MOST_BYTES: usize = 128 << 10;
/// Records that are read along at the least, once somebody goes on, and at the most.
const LEAST: usize = 8;
const MOST: usize = 1_024;
/// So many numbers that follow each other are read as a range.
const RANGE: usize = 8;
/// How many records are asked for before it is looked how many bytes they have.
const SOME: usize = 32;
/// How many times as many entries of the list are read along as records.
const LISTED: usize = 4;

/// What is known of the calendar, in one state of the store.
#[derive(Default)]
pub(super) struct State {
    /// What this process had saved by then.
    pub(super) generation: u64,
    /// The store's latest change.
    pub(super) latest: i64,
    /// The latest change by a date book, as far as was told before.
    pub(super) told: Option<i64>,
    /// When it is to be looked whether it is still that state.
    pub(super) until: Option<Moment>,
    /// The position that was looked at last.
    pub(super) looked: Option<u64>,
    /// A part of the list: the position of its first entry, and the entries.
    first: u64,
    ids: Vec<i64>,
    /// The list's block that holds the last of them: what it begins with, and at which position.
    block: Vec<u8>,
    block_at: u64,
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

    /// A record that was read along.
    pub(super) fn get(&self, known: usize) -> Seen<'_> {
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
            true => (4 * self.along).clamp(LEAST, self.ahead.room()),
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
        let is_read = self.ahead.read(conn, collection, &ids).is_ok();
        if !is_read {
            // One of them cannot be read. Whoever comes to it is told; the others are as before.
            self.along = 1;
        }
        if !is_read || self.ahead.find(id).is_none() {
            // Or so many bytes came before it that it was not reached.
            self.ahead.read(conn, collection, &[id])?;
        }
        Ok(())
    }

    /// Reads the part of the list that begins about a position, and tells where the position is in
    /// it.
    fn list(&mut self, conn: &Connection, collection: i64, index: u64) -> Result<Option<usize>> {
        // Where it goes on, and where the list begins, nobody need look.
        if index == self.first + self.ids.len() as u64
            && let Some(last) = self.ids.last().copied()
            && let Ok(at) = usize::try_from(index - self.block_at)
        {
            let block = std::mem::take(&mut self.block);
            self.walk(conn, collection, self.block_at, &block, at, Some(last))?;
            if let Some(listed) = self.listed(index) {
                return Ok(Some(listed));
            }
        }
        self.ids.clear();
        let start = match index {
            0 => Some((Vec::new(), 0)),
            _ => list::start_at(conn, collection, index)?,
        };
        let Some((first, at)) = start else {
            return Ok(None);
        };
        let position = index.saturating_sub(at as u64);
        self.walk(conn, collection, position, &first, at, None)?;
        Ok(self.listed(index))
    }

    /// Reads blocks from the one on that begins with `first`, at `position`: `at` entries and as many
    /// further ones as are worth it. It is left alone unless the last of the `at` entries of that
    /// block is `known`, if one is: no change tells of lists that were made anew with the same
    /// records, in other blocks.
    fn walk(
        &mut self,
        conn: &Connection,
        collection: i64,
        position: u64,
        first: &[u8],
        at: usize,
        known: Option<i64>,
    ) -> Result<()> {
        let further = match self.along {
            1 => 1,
            along => LISTED * along,
        };
        let wanted = at + further;
        self.first = position;
        self.ids.clear();
        let (ids, block, block_at) = (&mut self.ids, &mut self.block, &mut self.block_at);
        let mut known = known;
        list::walk_from_block(conn, collection, first, |begins, entries| {
            *block_at = position + ids.len() as u64;
            block.clear();
            block.extend_from_slice(begins);
            ids.extend(entries.ids());
            if let Some(known) = known.take()
                && (ids.len() != at || ids.last() != Some(&known))
            {
                ids.clear();
                return Ok(ControlFlow::Break(()));
            }
            Ok(match ids.len() < wanted {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            })
        })
    }
}

/// A record as it is shown; UID and ETag only if they were wanted.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) id: i64,
    pub(super) etag: ETag,
    pub(super) text: &'a [u8],
    pub(super) uid: &'a [u8],
}

impl Seen<'_> {
    pub(super) fn stored(self) -> StoredRecord<CalendarObject> {
        let uid = String::from_utf8_lossy(self.uid).into_owned();
        StoredRecord::new(RecordId(self.id), uid, self.etag, self.text.to_vec())
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

/// Where a record is in memory: its text, and behind that, if they are read, its ETag and its UID.
/// There is one for each record that is read along, and what is short is quickly gone through.
struct Place {
    id: i64,
    text: Range<u32>,
    end: u32,
}

impl Ahead {
    fn clear(&mut self) {
        self.bytes.clear();
        // One long text does not take its memory for as long as the date book is open.
        self.bytes.shrink_to(4 * MOST_BYTES);
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

    fn get(&self, at: usize) -> Seen<'_> {
        let Place { id, text, end } = &self.records[at];
        let behind = &self.bytes[text.end as usize..*end as usize];
        let (etag, uid) = match behind.split_first_chunk() {
            Some((etag, uid)) => (ETag(*etag), uid),
            None => (ETag([0; 16]), behind),
        };
        Seen {
            id: *id,
            etag,
            text: &self.bytes[text.start as usize..text.end as usize],
            uid,
        }
    }

    /// How many records there is room for, if they are like these.
    fn room(&self) -> usize {
        (MOST_BYTES * self.records.len() / self.bytes.len().max(1)).clamp(LEAST, MOST)
    }

    /// Reads the records with these numbers, which ascend, as far as there is room. After an error
    /// nothing is known of any of them.
    fn read(&mut self, conn: &Connection, collection: i64, ids: &[i64]) -> Result<()> {
        self.clear();
        let read = self.read_all(conn, collection, ids);
        if read.is_err() {
            // Of a range that was not read to its end it is not known which is which.
            self.clear();
        }
        read
    }

    fn read_all(&mut self, conn: &Connection, collection: i64, ids: &[i64]) -> Result<()> {
        if ids.len() > 1 {
            // Once: what grows by doubling takes memory twice.
            self.bytes.reserve(MOST_BYTES + MOST_BYTES / 8);
            self.records.reserve(ids.len());
        }
        let mut scattered = Vec::new();
        for range in ids.chunk_by(|a, b| a.checked_add(1) == Some(*b)) {
            // One by itself needs no statement of its own.
            let is_range = range.len() >= RANGE || ids.len() == 1;
            if !(is_range && self.read_range(conn, range)?) {
                scattered.extend_from_slice(range);
            }
        }
        let columns = match self.is_whole {
            true => "r.text, r.uid, r.etag",
            false => "r.text",
        };
        let mut by_number = RecordsById::new(conn, collection, columns);
        for some in scattered.chunks(SOME) {
            if self.is_full() {
                break;
            }
            by_number.each_row(some, |row| self.push(row.get(0)?, row))?;
        }
        // Either kind ascends.
        self.records.sort_by_key(|r| r.id);
        Ok(())
    }

    /// Reads the records with these numbers, which follow each other, as far as there is room;
    /// `false`, and none is read, if some of them are not there.
    fn read_range(&mut self, conn: &Connection, ids: &[i64]) -> Result<bool> {
        let (records, bytes) = (self.records.len(), self.bytes.len());
        let is_read = self.push_range(conn, ids)?;
        if !is_read {
            self.records.truncate(records);
            self.bytes.truncate(bytes);
        }
        Ok(is_read)
    }

    /// The same, but what is not to be read may have been. The records are listed, so that they are
    /// live and the collection's; and as many rows as numbers tell that all are there, so that only
    /// the last one's number is read, which takes half as long as a text.
    fn push_range(&mut self, conn: &Connection, ids: &[i64]) -> Result<bool> {
        let mut statement = conn.prepare_cached(match self.is_whole {
            true => {
                "SELECT id, text, uid, etag FROM record NOT INDEXED \
                 WHERE id BETWEEN ?1 AND ?2 ORDER BY id"
            }
            false => {
                "SELECT id, text FROM record NOT INDEXED WHERE id BETWEEN ?1 AND ?2 ORDER BY id"
            }
        })?;
        let mut rows = statement.query((ids.first(), ids.last()))?;
        for id in ids {
            let Some(row) = rows.next()? else {
                return Ok(false);
            };
            self.push(*id, row)?;
            if self.is_full() || Some(id) == ids.last() {
                return Ok(row.get::<_, i64>(0)? == *id);
            }
        }
        Ok(true)
    }

    fn is_full(&self) -> bool {
        self.bytes.len() > MOST_BYTES
    }

    /// Keeps a record, if there is room.
    fn push(&mut self, id: i64, row: &Row<'_>) -> Result<()> {
        if self.is_full() {
            return Ok(());
        }
        // SQLite holds no text of 2 GiB, and nothing is kept behind what is that long.
        let here = |bytes: &Vec<u8>| u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let start = here(&self.bytes);
        self.bytes
            .extend_from_slice(row.get_ref(1)?.as_blob().unwrap_or_default());
        let text = start..here(&self.bytes);
        if self.is_whole {
            let ETag(etag) = row.get(3)?;
            self.bytes.extend_from_slice(&etag);
            self.bytes
                .extend_from_slice(row.get_ref(2)?.as_bytes().unwrap_or_default());
        }
        self.records.push(Place {
            id,
            text,
            end: here(&self.bytes),
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_takes_its_memory_along() {
        let mut ahead = Ahead::default();
        ahead.bytes.reserve(MOST_BYTES);
        let usual = ahead.bytes.capacity();
        ahead.clear();
        assert_eq!(ahead.bytes.capacity(), usual);
        ahead.bytes.resize(32 << 20, b'x');
        ahead.clear();
        assert!(ahead.bytes.capacity() <= 1 << 20);
    }
}
