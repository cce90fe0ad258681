//! [`BookPage`]: consecutive records of a calendar's list, read in one state of the store.
//!
//! Reading the next record in order fills a page of up to [`PAGE_RECORDS`], which amortizes the cost
//! of a transaction and of its statements; any other access reads one record.

use std::ops::{ControlFlow, Range};
use std::time::Instant;

use rusqlite::types::Type;
use rusqlite::{Connection, Row};

use crate::calendar::CalendarObject;
use crate::error::Result;
use crate::record::{StoredRecord, list};
use crate::search::query::record_reader::RecordsById;
use crate::types::{ETag, RecordId};

const PAGE_RECORDS: usize = 256;
/// Bytes of a page; the record that exceeds them is the last.
const PAGE_BYTES: usize = 128 << 10;

/// Consecutive records of the list, and the state of the store that they were read from.
#[derive(Default)]
pub(super) struct BookPage {
    /// Saves of this process up to that state.
    pub(super) generation: u64,
    /// The store's latest change.
    pub(super) latest: i64,
    /// The latest change that a date book of any process had announced.
    pub(super) announced: Option<i64>,
    /// From then on the state has to be checked for changes by other processes.
    pub(super) valid_until: Option<Instant>,
    /// The position that was asked for last.
    pub(super) last_index: Option<u64>,
    /// Position of the first record.
    first: u64,
    /// Records by position; `None`: not read, as the page was full.
    records: Vec<Option<PageRecord>>,
    /// Text and UID of each record.
    bytes: Vec<u8>,
}

/// Where a record is in [`BookPage::bytes`]: its text, followed by its UID.
struct PageRecord {
    id: i64,
    etag: Option<ETag>,
    text: Range<usize>,
    end: usize,
}

/// A record of a page.
#[derive(Clone, Copy)]
pub(super) struct PageEntry<'a> {
    pub(super) id: i64,
    /// `None`: the stored one is damaged.
    pub(super) etag: Option<ETag>,
    pub(super) text: &'a [u8],
    pub(super) uid: &'a [u8],
}

impl PageEntry<'_> {
    /// Returns the record with its text; an error if its ETag is damaged.
    pub(super) fn to_stored(self) -> Result<StoredRecord<CalendarObject>> {
        let uid = String::from_utf8_lossy(self.uid).into_owned();
        let Some(etag) = self.etag else {
            return Err(rusqlite::Error::InvalidColumnType(2, "etag".into(), Type::Blob).into());
        };
        let id = RecordId(self.id);
        Ok(StoredRecord::new(id, uid, etag, self.text.to_vec()))
    }
}

impl BookPage {
    /// Returns the record at a position, if it is on the page.
    pub(super) fn entry(&self, index: u64) -> Option<PageEntry<'_>> {
        let at = usize::try_from(index.checked_sub(self.first)?).ok()?;
        let record = self.records.get(at)?.as_ref()?;
        Some(PageEntry {
            id: record.id,
            etag: record.etag,
            text: self.bytes.get(record.text.clone())?,
            uid: self.bytes.get(record.text.end..record.end)?,
        })
    }

    /// Drops the records.
    pub(super) fn clear(&mut self) {
        self.records.clear();
        self.bytes.clear();
        // A long text does not hold its memory for as long as the date book is open.
        self.bytes.shrink_to(4 * PAGE_BYTES);
    }

    /// Reads the record at a position, and those after it if the access is sequential.
    pub(super) fn read_at(&mut self, conn: &Connection, collection: i64, index: u64) -> Result<()> {
        let is_sequential = self.last_index.is_some_and(|last| index == last + 1);
        if is_sequential {
            // An unreadable record is reported when it is asked for itself.
            let is_read = self.read_from(conn, collection, index, PAGE_RECORDS);
            if is_read.is_ok() && self.entry(index).is_some() {
                return Ok(());
            }
        }
        self.read_from(conn, collection, index, 1)
    }

    fn read_from(
        &mut self,
        conn: &Connection,
        collection: i64,
        index: u64,
        count: usize,
    ) -> Result<()> {
        self.clear();
        self.first = index;
        let ids = listed_ids(conn, collection, index, count)?;
        self.records.resize_with(ids.len(), || None);
        let read = self.read_records(conn, collection, &ids);
        if read.is_err() {
            self.clear();
        }
        read
    }

    /// Reads records in the order of their ids, until the page is full.
    fn read_records(&mut self, conn: &Connection, collection: i64, ids: &[i64]) -> Result<()> {
        let mut by_id: Vec<(i64, usize)> = ids.iter().copied().zip(0..).collect();
        by_id.sort_unstable();
        let (Some(&(first, _)), Some(&(last, _))) = (by_id.first(), by_id.last()) else {
            return Ok(());
        };
        let mut push = |row: &Row<'_>| -> Result<bool> {
            let id: i64 = row.get(0)?;
            if let Ok(found) = by_id.binary_search_by_key(&id, |(id, _)| *id)
                && let Some((_, at)) = by_id.get(found)
            {
                self.push_row(id, *at, row)?;
            }
            Ok(self.bytes.len() <= PAGE_BYTES)
        };
        // Records that were added in the order of the list are read in one scan: half the cost.
        if last
            .checked_sub(first)
            .is_some_and(|distance| distance < by_id.len() as i64)
        {
            let mut statement = conn.prepare_cached(
                "SELECT id, text, etag, uid FROM record NOT INDEXED \
                 WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
            )?;
            let mut rows = statement.query((first, last))?;
            while let Some(row) = rows.next()? {
                if !push(row)? {
                    break;
                }
            }
            return Ok(());
        }
        let mut records = RecordsById::new(conn, collection, "r.text, r.etag, r.uid");
        let ids: Vec<i64> = by_id.iter().map(|(id, _)| *id).collect();
        for batch in ids.chunks(32) {
            let mut has_room = true;
            records.each_row(batch, |row| {
                if has_room {
                    has_room = push(row)?;
                }
                Ok(())
            })?;
            if !has_room {
                break;
            }
        }
        Ok(())
    }

    fn push_row(&mut self, id: i64, at: usize, row: &Row<'_>) -> Result<()> {
        let start = self.bytes.len();
        let text = row.get_ref(1)?.as_blob().unwrap_or_default();
        self.bytes.extend_from_slice(text);
        let text = start..self.bytes.len();
        let etag = row.get(2).ok();
        self.bytes
            .extend_from_slice(row.get_ref(3)?.as_bytes().unwrap_or_default());
        let end = self.bytes.len();
        if let Some(slot) = self.records.get_mut(at) {
            *slot = Some(PageRecord {
                id,
                etag,
                text,
                end,
            });
        }
        Ok(())
    }
}

/// Returns the ids of up to `count` records of the list from a position on.
fn listed_ids(conn: &Connection, collection: i64, index: u64, count: usize) -> Result<Vec<i64>> {
    let mut ids = Vec::with_capacity(count);
    let start = match index {
        0 => Some((Vec::new(), 0)),
        _ => list::find_position(conn, collection, index)?,
    };
    let Some((block, mut skip)) = start else {
        return Ok(ids);
    };
    list::for_each_block(conn, collection, &block, false, |entries| {
        ids.extend(entries.ids().skip(skip).take(count - ids.len()));
        skip = 0;
        Ok(match ids.len() < count {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    })?;
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clearing_a_long_text_frees_its_memory() {
        let mut page = BookPage::default();
        page.bytes.reserve(PAGE_BYTES);
        let usual = page.bytes.capacity();
        page.clear();
        assert_eq!(page.bytes.capacity(), usual);
        page.bytes.resize(32 << 20, b'x');
        page.clear();
        assert!(page.bytes.capacity() <= 1 << 20);
    }
}
