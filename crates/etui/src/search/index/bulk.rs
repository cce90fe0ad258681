//! [`BulkIndexer`] indexes many new records by an external sort: posting lists are buffered in
//! memory, written out as sorted runs when the buffer is full, and merged into the index in key
//! order at the end.
//!
//! The value of a run's item (`db::spill`) is the part of a posting list that was buffered since
//! the previous run:
//!
//! ```text
//! value := first:i64le last:i64le ids        ids as in a row (`postings`)
//! ```

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::path::Path;

use rusqlite::Connection;

use super::postings::{Edit, PostingKey, decode_row};
use super::{postings, terms, trigrams};
use crate::db::sort::SortedRuns;
use crate::error::Result;
use etui_text::varint;

/// Bytes of buffered posting lists, of terms and of trigrams each, at which a run is written
/// (experiment `first_fill`).
const MAX_BUFFERED_BYTES: usize = 6 << 20;
/// Bytes of a buffered list besides its ids: its key, its hash table slot, two allocations.
const LIST_OVERHEAD: usize = 128;

/// Indexes the terms and trigrams of many new records.
pub(crate) struct BulkIndexer {
    terms: PostingBuffer<Box<[u8]>>,
    trigrams: PostingBuffer<i64>,
    /// The trigrams of one record.
    of_record: Vec<i64>,
}

impl BulkIndexer {
    pub(crate) fn new(store: &Path) -> Result<Self> {
        Ok(Self {
            terms: PostingBuffer::new(store)?,
            trigrams: PostingBuffer::new(store)?,
            of_record: Vec::new(),
        })
    }

    /// Adds a record with its keys. Ids must ascend.
    pub(crate) fn add_record(&mut self, id: i64, keys: &[u8]) -> Result<()> {
        terms::of_keys(keys, |term| self.terms.add_posting(term, id));
        let of_record = &mut self.of_record;
        of_record.clear();
        trigrams::of_keys(keys, |trigram| of_record.push(trigram));
        of_record.sort_unstable();
        of_record.dedup();
        for trigram in &*of_record {
            self.trigrams.add_posting(trigram, id);
        }
        self.terms.spill_if_full()?;
        self.trigrams.spill_if_full()
    }

    /// Writes the postings into the index. `new`: the index is empty, so lists are inserted without
    /// a lookup. `on_progress` is called every few thousand keys.
    pub(crate) fn write_index(
        self,
        conn: &Connection,
        new: bool,
        on_progress: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        self.trigrams.merge_runs(on_progress, |key, ids| {
            let mut trigram = [0; 8];
            trigram.copy_from_slice(&key[..8]);
            write_list(conn, i64::from_be_bytes(trigram), ids, new)
        })?;
        self.terms
            .merge_runs(on_progress, |key, ids| write_list(conn, key, ids, new))
    }
}

fn write_list(conn: &Connection, key: impl PostingKey, ids: &[i64], new: bool) -> Result<()> {
    if new {
        return postings::insert_list(conn, key, ids);
    }
    let edits: Vec<Edit> = ids.iter().map(|&id| (id, true)).collect();
    postings::apply_edits(conn, key, &edits)
}

/// The buffered part of a posting list.
struct BufferedList {
    first: i64,
    last: i64,
    ids: Vec<u8>,
}

/// A key whose bytes in a run have its order.
trait RunKey: Eq + Ord + Hash {
    fn run_bytes(&self) -> impl AsRef<[u8]>;
}

impl RunKey for Box<[u8]> {
    fn run_bytes(&self) -> impl AsRef<[u8]> {
        self
    }
}

impl RunKey for i64 {
    fn run_bytes(&self) -> impl AsRef<[u8]> {
        // Trigrams are positive.
        self.to_be_bytes()
    }
}

/// Buffered posting lists by key, and the runs written before.
struct PostingBuffer<K> {
    runs: SortedRuns,
    lists: HashMap<K, BufferedList, foldhash::fast::RandomState>,
    bytes: usize,
}

impl<K: RunKey> PostingBuffer<K> {
    fn new(store: &Path) -> Result<Self> {
        Ok(Self {
            runs: SortedRuns::beside(store)?,
            lists: HashMap::default(),
            bytes: 0,
        })
    }

    fn add_posting<Q>(&mut self, key: &Q, id: i64)
    where
        Q: Eq + Hash + ToOwned + ?Sized,
        K: Borrow<Q> + From<Q::Owned>,
    {
        if let Some(list) = self.lists.get_mut(key) {
            // A term that a record has twice is one posting.
            if id > list.last {
                let before = list.ids.capacity();
                varint::push_u64(&mut list.ids, id.abs_diff(list.last));
                list.last = id;
                self.bytes += list.ids.capacity() - before;
            }
            return;
        }
        self.bytes += LIST_OVERHEAD;
        let list = BufferedList {
            first: id,
            last: id,
            ids: Vec::new(),
        };
        self.lists.insert(key.to_owned().into(), list);
    }

    fn spill_if_full(&mut self) -> Result<()> {
        match self.bytes >= MAX_BUFFERED_BYTES {
            true => self.spill_run(),
            false => Ok(()),
        }
    }

    fn spill_run(&mut self) -> Result<()> {
        let mut lists: Vec<_> = self.lists.drain().collect();
        lists.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        self.bytes = 0;
        self.runs.write(|put| {
            lists.iter().try_for_each(|(key, list)| {
                let ends = [list.first.to_le_bytes(), list.last.to_le_bytes()];
                put(key.run_bytes().as_ref(), &[&ends[0], &ends[1], &list.ids])
            })
        })
    }

    /// Calls `write` with each key in order and its records, ascending.
    fn merge_runs(
        mut self,
        on_progress: &mut dyn FnMut() -> Result<()>,
        mut write: impl FnMut(&[u8], &[i64]) -> Result<()>,
    ) -> Result<()> {
        if !self.lists.is_empty() {
            self.spill_run()?;
        }
        // Releases the memory of the buffer before the runs are merged.
        self.lists = HashMap::default();
        if self.runs.is_empty() {
            return Ok(());
        }
        let mut key: Vec<u8> = Vec::new();
        let mut ids: Vec<i64> = Vec::new();
        let mut keys = 0u64;
        self.runs.for_each_merged(|next, value| {
            if next != key {
                if !ids.is_empty() {
                    write(&key, &ids)?;
                    ids.clear();
                }
                key.clear();
                key.extend_from_slice(next);
                keys += 1;
                if keys.is_multiple_of(4_096) {
                    on_progress()?;
                }
            }
            let mut first = [0; 8];
            first.copy_from_slice(&value[..8]);
            decode_row(i64::from_le_bytes(first), &value[16..], |id| ids.push(id));
            Ok(())
        })?;
        // No key follows the last one, which would write its list.
        match ids.is_empty() {
            true => Ok(()),
            false => write(&key, &ids),
        }
    }
}
