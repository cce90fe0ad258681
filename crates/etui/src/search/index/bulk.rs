//! Indexing many new records at once: posting lists are gathered in memory, written out as
//! sorted runs when they fill it, and merged into the index in its order at the end.
//!
//! The value of an item of a run (`engine::spill`) is the part of a posting list that was
//! gathered since the run before:
//!
//! ```text
//! value := first:i64le last:i64le ids        ids as in a row (`postings`)
//! ```

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::path::Path;

use rusqlite::Connection;

use super::postings::{Edit, decode};
use super::{grams, postings, terms};
use crate::db::spill::SortedRuns;
use crate::error::Result;
use etui_text::varint;

/// Bytes that gathered posting lists may take, of terms and of grams each.
const MOST: usize = 6 << 20;
/// What a list takes beside its ids: its key, its place in the table, two allocations.
const OVERHEAD: usize = 128;

/// Terms and grams of many new records.
pub(crate) struct Bulk {
    terms: Lists<Box<[u8]>>,
    grams: Lists<i64>,
    own: Vec<i64>,
}

impl Bulk {
    pub(crate) fn new(store: &Path) -> Result<Self> {
        Ok(Self {
            terms: Lists::new(store)?,
            grams: Lists::new(store)?,
            own: Vec::new(),
        })
    }

    /// Adds a record with its keys. Numbers ascend.
    pub(crate) fn add(&mut self, id: i64, keys: &[u8]) -> Result<()> {
        terms::of_keys(keys, |term| self.terms.add(term, id));
        let own = &mut self.own;
        own.clear();
        grams::of_keys(keys, |gram| own.push(gram));
        own.sort_unstable();
        own.dedup();
        for gram in &*own {
            self.grams.add(gram, id);
        }
        self.terms.spill_if_many()?;
        self.grams.spill_if_many()
    }

    /// Writes them into the index. `new`: it has nothing yet, so that nothing is looked for
    /// first. `on_key` is called now and then.
    pub(crate) fn write(
        self,
        conn: &Connection,
        new: bool,
        on_key: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        // Grams lie before terms.
        self.grams.merged(on_key, |key, ids| {
            let mut gram = [0; 8];
            gram.copy_from_slice(&key[..8]);
            write_list(conn, i64::from_be_bytes(gram), ids, new)
        })?;
        self.terms
            .merged(on_key, |key, ids| write_list(conn, key, ids, new))
    }
}

fn write_list(
    conn: &Connection,
    key: impl rusqlite::types::ToSql + Copy,
    ids: &[i64],
    new: bool,
) -> Result<()> {
    if new {
        return postings::insert(conn, key, ids);
    }
    let edits: Vec<Edit> = ids.iter().map(|&id| (id, true)).collect();
    postings::apply(conn, key, &edits)
}

/// A posting list as far as it is in memory.
struct List {
    first: i64,
    last: i64,
    ids: Vec<u8>,
}

/// A key, and its bytes in a run, which order as keys do.
trait Key: Eq + Ord + Hash {
    fn bytes(&self) -> impl AsRef<[u8]>;
}

impl Key for Box<[u8]> {
    fn bytes(&self) -> impl AsRef<[u8]> {
        self
    }
}

impl Key for i64 {
    fn bytes(&self) -> impl AsRef<[u8]> {
        // Grams are positive.
        self.to_be_bytes()
    }
}

/// Posting lists by their key.
struct Lists<K> {
    runs: SortedRuns,
    lists: HashMap<K, List, foldhash::fast::RandomState>,
    bytes: usize,
}

impl<K: Key> Lists<K> {
    fn new(store: &Path) -> Result<Self> {
        Ok(Self {
            runs: SortedRuns::beside(store)?,
            lists: HashMap::default(),
            bytes: 0,
        })
    }

    fn add<Q>(&mut self, key: &Q, id: i64)
    where
        Q: Eq + Hash + ToOwned + ?Sized,
        K: Borrow<Q> + From<Q::Owned>,
    {
        if let Some(list) = self.lists.get_mut(key) {
            if id > list.last {
                let before = list.ids.capacity();
                varint::push(&mut list.ids, id.abs_diff(list.last));
                list.last = id;
                self.bytes += list.ids.capacity() - before;
            }
            return;
        }
        self.bytes += OVERHEAD;
        let list = List {
            first: id,
            last: id,
            ids: Vec::new(),
        };
        self.lists.insert(key.to_owned().into(), list);
    }

    fn spill_if_many(&mut self) -> Result<()> {
        match self.bytes >= MOST {
            true => self.spill(),
            false => Ok(()),
        }
    }

    fn spill(&mut self) -> Result<()> {
        let mut lists: Vec<_> = self.lists.drain().collect();
        lists.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        self.bytes = 0;
        self.runs.write(|put| {
            lists.iter().try_for_each(|(key, list)| {
                let ends = [list.first.to_le_bytes(), list.last.to_le_bytes()];
                put(key.bytes().as_ref(), &[&ends[0], &ends[1], &list.ids])
            })
        })
    }

    /// Calls `write` with each key, ascending, and its records, ascending.
    fn merged(
        mut self,
        on_key: &mut dyn FnMut() -> Result<()>,
        mut write: impl FnMut(&[u8], &[i64]) -> Result<()>,
    ) -> Result<()> {
        if !self.lists.is_empty() {
            self.spill()?;
        }
        self.lists = HashMap::default();
        if self.runs.is_empty() {
            return Ok(());
        }
        let mut key: Vec<u8> = Vec::new();
        let mut ids: Vec<i64> = Vec::new();
        let mut keys = 0u64;
        self.runs.merged(|next, value| {
            if next != key {
                if !ids.is_empty() {
                    write(&key, &ids)?;
                    ids.clear();
                }
                key.clear();
                key.extend_from_slice(next);
                keys += 1;
                if keys.is_multiple_of(4_096) {
                    on_key()?;
                }
            }
            let mut first = [0; 8];
            first.copy_from_slice(&value[..8]);
            decode(i64::from_le_bytes(first), &value[16..], |id| {
                ids.push(id);
                true
            });
            Ok(())
        })?;
        match ids.is_empty() {
            true => Ok(()),
            false => write(&key, &ids),
        }
    }
}
