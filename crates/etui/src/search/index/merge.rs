//! Merges pending changes into the index.
//!
//! A merge takes a bounded number of changes after the watermark, compares the keys that each
//! record had at the watermark with the keys it has now, writes the differences in index order, and
//! moves the watermark, all in one transaction. An interrupted merge leaves no trace.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use rusqlite::{Connection, OptionalExtension};

use super::pending::Watermarks;
use super::postings::{self, Edit, PostingKey};
use super::{IndexParts, terms, trigrams};
use crate::db::{Db, metadata};
use crate::error::Result;
use crate::record::changes;
use crate::types::now_ms;

/// Pending changes at which a save merges terms. A merge writes most pages of the terms, however
/// many records it has; a search compares as many records at about 1 us each (`--bench contacts`).
const TERM_MERGE_THRESHOLD: i64 = 1_024;
/// Pending changes at which a save merges trigrams. A record has many more trigrams than terms,
/// each in another row, so the batches are larger.
const TRIGRAM_MERGE_THRESHOLD: i64 = 2_048;
/// Most records merged in one transaction, and bytes of their keys. A merge holds about five times
/// these bytes in memory.
const MAX_BATCH_RECORDS: usize = 2_048;
const MAX_BATCH_BYTES: usize = 256 << 10;

impl IndexParts {
    /// Returns the parts that are due for a merge at the end of a write transaction.
    pub(crate) fn due_for_merge(conn: &Connection, merge_trigrams: bool) -> Result<Self> {
        let watermarks = Watermarks::read(conn)?;
        let pending_trigrams = watermarks.latest - watermarks.trigrams;
        let part = |part, is_due| if is_due { part } else { Self::NONE };
        let pending_terms = watermarks.latest - watermarks.terms;
        Ok(part(Self::TERMS, pending_terms >= TERM_MERGE_THRESHOLD)
            | part(
                Self::TRIGRAMS,
                merge_trigrams && pending_trigrams >= TRIGRAM_MERGE_THRESHOLD,
            ))
    }

    /// Returns the keys in `meta` of the watermarks.
    fn watermark_keys(self) -> impl Iterator<Item = &'static str> {
        let watermarks = [
            (Self::TERMS, metadata::TERM_WATERMARK),
            (Self::TRIGRAMS, metadata::TRIGRAM_WATERMARK),
        ];
        let due = watermarks
            .into_iter()
            .filter(move |(part, _)| self.contains(*part));
        due.map(|(_, key)| key)
    }
}

/// Brings parts of the index up to date, in as many transactions as it takes.
pub(crate) fn merge_index(db: &Db, parts: IndexParts) -> Result<()> {
    for watermark in parts.watermark_keys() {
        // Another process may have merged meanwhile, so each transaction reads the watermark.
        while db.maintain(|conn| merge_batch(conn, watermark))? {}
    }
    Ok(())
}

/// Brings the index up to date inside the caller's transaction.
pub(crate) fn merge_within(conn: &Connection) -> Result<()> {
    for watermark in IndexParts::ALL.watermark_keys() {
        while merge_batch(conn, watermark)? {}
    }
    Ok(())
}

/// Merges one batch. Returns false if nothing is left.
fn merge_batch(conn: &Connection, watermark: &str) -> Result<bool> {
    let from = metadata::get_number(conn, watermark)?;
    let latest = changes::latest_seq(conn)?;
    if latest <= from {
        return Ok(false);
    }
    let batch = MergeBatch::read_changes(conn, from, latest)?;
    if watermark == metadata::TERM_WATERMARK {
        write_terms(conn, &batch)?;
    } else {
        write_trigrams(conn, &batch)?;
    }
    metadata::set(conn, watermark, batch.to)?;
    // The rows that either part of the index still needs stay in the log.
    let merged = metadata::get_number(conn, metadata::TERM_WATERMARK)?
        .min(metadata::get_number(conn, metadata::TRIGRAM_WATERMARK)?);
    changes::trim_log(conn, now_ms(), merged, changes::KEPT_CHANGES)?;
    tracing::debug!(
        watermark,
        from,
        to = batch.to,
        records = batch.records.len(),
        "merged"
    );
    Ok(batch.to < latest)
}

/// Records changed in a range of changes, with their keys at its start and at its end.
struct MergeBatch {
    to: i64,
    records: BTreeMap<i64, KeyChange>,
}

#[derive(Default)]
struct KeyChange {
    before: Vec<u8>,
    now: Vec<u8>,
    /// The record's latest change. If it is after the range, `now` is not yet its state at the end.
    changed: i64,
}

impl MergeBatch {
    fn read_changes(conn: &Connection, from: i64, latest: i64) -> Result<Self> {
        let mut batch = Self {
            to: latest,
            records: BTreeMap::new(),
        };
        let mut bytes = 0;
        let mut added = conn.prepare_cached(
            "SELECT id, removed_at IS NULL, keys, changed FROM record WHERE id > ?1",
        )?;
        let mut rows = added.query([from])?;
        while let Some(row) = rows.next()? {
            let id = row.get(0)?;
            if batch.records.len() >= MAX_BATCH_RECORDS || bytes >= MAX_BATCH_BYTES {
                batch.to = id - 1;
                break;
            }
            let mut keys = KeyChange {
                changed: row.get(3)?,
                ..KeyChange::default()
            };
            if row.get(1)? {
                keys.now = row.get(2)?;
            }
            bytes += keys.now.len();
            batch.records.insert(id, keys);
        }
        drop(rows);
        // A record's keys at `from` are those that its first change after `from` replaced.
        let mut changed = conn.prepare_cached(
            "SELECT seq, record, keys FROM change \
             WHERE seq > ?1 AND seq <= ?2 AND record <= ?1 ORDER BY seq",
        )?;
        let mut now = conn.prepare_cached(
            "SELECT iif(removed_at IS NULL, keys, NULL), changed FROM record WHERE id = ?1",
        )?;
        let mut rows = changed.query((from, batch.to))?;
        while let Some(row) = rows.next()? {
            let (number, id): (i64, i64) = (row.get(0)?, row.get(1)?);
            if batch.records.contains_key(&id) {
                continue;
            }
            // Every batch takes at least one change, so that the watermark moves.
            // Twice the bound: a batch that is full of added records still takes changes.
            let full = bytes >= 2 * MAX_BATCH_BYTES || batch.records.len() >= 2 * MAX_BATCH_RECORDS;
            if full && number > from + 1 {
                batch.to = number - 1;
                break;
            }
            // A record that was purged has no keys any more.
            let (now, changed) = now
                .query_row([id], |r| Ok((r.get::<_, Option<Vec<u8>>>(0)?, r.get(1)?)))
                .optional()?
                .unwrap_or_default();
            let keys = KeyChange {
                before: row.get::<_, Option<Vec<u8>>>(2)?.unwrap_or_default(),
                now: now.unwrap_or_default(),
                changed,
            };
            bytes += keys.before.len() + keys.now.len();
            batch.records.insert(id, keys);
        }
        // Its changes may have moved the end of the batch back.
        batch.records.retain(|&id, _| id <= batch.to);
        batch.undo_later_changes(conn)?;
        Ok(batch)
    }

    /// Calls `visit` with each record before the batch (`id << 1`) and after it (`id << 1 | 1`), and
    /// its keys in that state.
    fn for_each_state(&self, mut visit: impl FnMut(i64, &[u8])) {
        for (&id, keys) in &self.records {
            visit(id << 1, &keys.before);
            visit(id << 1 | 1, &keys.now);
        }
    }

    /// Replaces the keys of records changed again after the range by their keys at its end: the
    /// next batch takes those as the indexed ones.
    fn undo_later_changes(&mut self, conn: &Connection) -> Result<()> {
        let to = self.to;
        let mut changed_later: BTreeSet<i64> = self
            .records
            .iter()
            .filter(|(_, keys)| keys.changed > to)
            .map(|(&id, _)| id)
            .collect();
        if changed_later.is_empty() {
            return Ok(());
        }
        let mut later =
            conn.prepare_cached("SELECT record, keys FROM change WHERE seq > ?1 ORDER BY seq")?;
        let mut rows = later.query([to])?;
        while !changed_later.is_empty()
            && let Some(row) = rows.next()?
        {
            let id = row.get(0)?;
            if changed_later.remove(&id)
                && let Some(keys) = self.records.get_mut(&id)
            {
                keys.now = row.get::<_, Option<Vec<u8>>>(1)?.unwrap_or_default();
            }
        }
        Ok(())
    }
}

fn write_terms(conn: &Connection, batch: &MergeBatch) -> Result<()> {
    // All terms are in one buffer; their places in it are sorted.
    let mut buffer = Vec::new();
    let mut places = Vec::new();
    batch.for_each_state(|state, keys| {
        terms::of_keys(keys, |term| {
            places.push((buffer.len()..buffer.len() + term.len(), state));
            buffer.extend_from_slice(term);
        });
    });
    let term = |(place, state): (Range<usize>, i64)| (&buffer[place], state);
    write_edits(conn, places.into_iter().map(term).collect())
}

fn write_trigrams(conn: &Connection, batch: &MergeBatch) -> Result<()> {
    let mut entries: Vec<(i64, i64)> = Vec::new();
    batch.for_each_state(|state, keys| {
        trigrams::of_keys(keys, |trigram| entries.push((trigram, state)));
    });
    write_edits(conn, entries)
}

/// Edits the posting lists of the keys in `entries`, each with a state of a record
/// ([`MergeBatch::for_each_state`]) that has it.
fn write_edits<K: PostingKey + Ord>(conn: &Connection, mut entries: Vec<(K, i64)>) -> Result<()> {
    entries.sort_unstable();
    entries.dedup();
    let mut edits: Vec<Edit> = Vec::new();
    for group in entries.chunk_by(|a, b| a.0 == b.0) {
        edits.clear();
        for of_record in group.chunk_by(|a, b| a.1 >> 1 == b.1 >> 1) {
            // A key that the record had and still has is already in the index.
            if let [(_, state)] = of_record {
                edits.push((state >> 1, state & 1 == 1));
            }
        }
        if !edits.is_empty() {
            postings::apply_edits(conn, group[0].0, &edits)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;
    use crate::contacts::Card;

    /// Saves between two transactions of one merge: keys that a record had in between must not stay
    /// in the index.
    #[test]
    fn edits_between_two_batches_leave_no_postings() {
        let dir = tempfile::tempdir().unwrap();
        let options = crate::Options {
            merge_substrings: false,
            ..crate::Options::default()
        };
        let store = Store::open_with(dir.path().join("s.etui"), &options).unwrap();
        let contacts = store.contacts().unwrap();
        let card = |uid: &str, name: &str| {
            Card::parse(format!("BEGIN:VCARD\nUID:{uid}\nFN:{name}\nEND:VCARD\n")).unwrap()
        };
        let save = |uid: &str, name: &str| {
            // Without `Store`, which would merge.
            let order = store.db.order();
            let card = card(uid, name);
            let context = store.db.index_context();
            let one = crate::record::prepared::IndexedRecord::new(&card, &context);
            let put = |conn: &Connection| {
                crate::record::records::RecordWriter::run(conn, order, |writing| {
                    one.put(conn, writing, 1, crate::types::Condition::Always)
                })
            };
            store.db.write_unhooked(put).unwrap();
        };
        let step = |watermark| {
            store
                .db
                .write_unhooked(|conn| merge_batch(conn, watermark))
                .unwrap()
        };
        let long = "x".repeat(200);
        save("old", "Alpha");
        save("gone", "Alpha");
        while step(metadata::TERM_WATERMARK) || step(metadata::TRIGRAM_WATERMARK) {}
        save("new", "Alpha");
        save("old", "Beta");
        for n in 0..2_100 {
            save(&format!("{n}"), &long);
        }
        for uid in ["old", "new", "gone"] {
            save(uid, "Gamma");
        }
        for mark in [metadata::TERM_WATERMARK, metadata::TRIGRAM_WATERMARK] {
            assert!(step(mark), "{mark}: more than one batch");
        }
        for uid in ["old", "new", "gone"] {
            save(uid, "Delta");
        }
        for mark in [metadata::TERM_WATERMARK, metadata::TRIGRAM_WATERMARK] {
            while step(mark) {}
        }
        let found = |filter: &str| contacts.find(&filter.parse().unwrap()).unwrap().len();
        assert_eq!(found("Delta"), 3);
        for before in ["Alpha", "Beta", "Gamma"] {
            assert_eq!(found(before), 0, "{before}");
            let term = terms::new_term(b'd', before.to_lowercase().as_bytes());
            let left = store
                .db
                .read(|conn| postings::record_ids(conn, &term[..]))
                .unwrap();
            assert!(left.is_empty(), "{before}: {left:?}");
        }
        assert!(store.check().unwrap().is_clean());
    }
}
