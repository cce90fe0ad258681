//! Merging pending changes into the index.
//!
//! A merge takes the changes after a mark, a bounded number of them, works out which entries each
//! record had when the mark was set and which it has now, writes the differences in index order,
//! and moves the mark, all in one transaction. Cut off at any moment, it is as if it had not
//! begun.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, Ordering};

use rusqlite::{Connection, OptionalExtension};

use super::postings::Edit;
use super::{grams, postings, terms};
use crate::db::ConnectionPool;
use crate::db::metadata;
use crate::error::Result;
use crate::record::changes;
use crate::types::now_ms;

/// Pending changes at which a save merges terms. A search compares about as many records besides
/// the index, at less than 0.1 us each; a merge writes most of the pages that the terms have,
/// whether it is of many records or few.
const TERMS_DUE: i64 = 1_024;
/// The same for grams. A record has many more of them than terms, each in another row to be
/// rewritten, so the batches are larger.
const GRAMS_DUE: i64 = 2_048;
/// Records merged in one transaction at the most, and bytes of their keys. A merge holds about
/// five times the latter, in pieces that stay below the megabyte at which the allocator would
/// begin to keep what is given back to it.
const BATCH_RECORDS: usize = 2_048;
const BATCH_BYTES: usize = 256 << 10;

/// Which parts of the index a merge brings up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Due {
    terms: bool,
    grams: bool,
}

impl Due {
    /// Everything.
    pub(crate) const ALL: Self = Self {
        terms: true,
        grams: true,
    };

    /// What a write transaction leaves due, asked at its end. `seen`: the marks as this process
    /// last saw them.
    pub(crate) fn after(conn: &Connection, grams: bool, seen: &Seen) -> Result<Self> {
        let latest = changes::latest(conn)?;
        let is_due = |mark, seen: &AtomicI64, due| -> Result<bool> {
            if latest - seen.load(Ordering::Relaxed) < due {
                return Ok(false);
            }
            let now = metadata::number(conn, mark)?;
            seen.store(now, Ordering::Relaxed);
            Ok(latest - now >= due)
        };
        Ok(Self {
            terms: is_due(metadata::TERM_MARK, &seen.terms, TERMS_DUE)?,
            grams: grams && is_due(metadata::GRAM_MARK, &seen.grams, GRAMS_DUE)?,
        })
    }
}

/// The marks as they were last seen. They only ever grow, so that most saves need not read them.
#[derive(Default)]
pub(crate) struct Seen {
    terms: AtomicI64,
    grams: AtomicI64,
}

/// Brings the index up to date, in as many transactions as it takes.
pub(crate) fn merge(engine: &ConnectionPool, due: Due) -> Result<()> {
    for (mark, due) in [
        (metadata::TERM_MARK, due.terms),
        (metadata::GRAM_MARK, due.grams),
    ] {
        // Another program may have merged meanwhile, so each transaction asks again.
        while due && engine.upkeep(|conn| step(conn, mark))? {}
    }
    Ok(())
}

/// Brings the index up to date inside the caller's transaction.
pub(crate) fn merge_within(conn: &Connection) -> Result<()> {
    for mark in [metadata::TERM_MARK, metadata::GRAM_MARK] {
        while step(conn, mark)? {}
    }
    Ok(())
}

/// One transaction of a merge. `false`: nothing is left to do.
fn step(conn: &Connection, mark: &str) -> Result<bool> {
    let from = metadata::number(conn, mark)?;
    let latest = changes::latest(conn)?;
    if latest <= from {
        return Ok(false);
    }
    let batch = Batch::read(conn, from, latest)?;
    if mark == metadata::TERM_MARK {
        write_terms(conn, &batch)?;
    } else {
        write_grams(conn, &batch)?;
    }
    metadata::set(conn, mark, batch.to)?;
    let merged = metadata::number(conn, metadata::TERM_MARK)?
        .min(metadata::number(conn, metadata::GRAM_MARK)?);
    changes::trim(conn, now_ms(), merged, changes::KEPT_CHANGES)?;
    tracing::debug!(
        mark,
        from,
        to = batch.to,
        records = batch.records.len(),
        "merged"
    );
    Ok(batch.to < latest)
}

/// Records changed in a range of numbers, with their keys at its beginning and at its end.
struct Batch {
    from: i64,
    to: i64,
    records: BTreeMap<i64, Keys>,
}

#[derive(Default)]
struct Keys {
    before: Vec<u8>,
    now: Vec<u8>,
    /// The record's latest change: beyond the range, `now` is not what it had at its end.
    changed: i64,
}

impl Batch {
    fn read(conn: &Connection, from: i64, latest: i64) -> Result<Self> {
        let mut batch = Self {
            from,
            to: latest,
            records: BTreeMap::new(),
        };
        let mut bytes = 0;
        let mut added = conn.prepare_cached(
            "SELECT id, removed IS NULL, keys, changed FROM record WHERE id > ?1",
        )?;
        let mut rows = added.query([from])?;
        while let Some(row) = rows.next()? {
            let id = row.get(0)?;
            if batch.records.len() >= BATCH_RECORDS || bytes >= BATCH_BYTES {
                batch.to = id - 1;
                break;
            }
            let mut keys = Keys {
                changed: row.get(3)?,
                ..Keys::default()
            };
            if row.get(1)? {
                keys.now = row.get(2)?;
            }
            bytes += keys.now.len();
            batch.records.insert(id, keys);
        }
        drop(rows);
        // What a record had at `from` is what its first change after that replaced.
        let mut changed = conn.prepare_cached(
            "SELECT number, record, keys FROM change \
             WHERE number > ?1 AND number <= ?2 AND record <= ?1 ORDER BY number",
        )?;
        let mut now = conn.prepare_cached(
            "SELECT iif(removed IS NULL, keys, NULL), changed FROM record WHERE id = ?1",
        )?;
        let mut rows = changed.query((from, batch.to))?;
        while let Some(row) = rows.next()? {
            let (number, id): (i64, i64) = (row.get(0)?, row.get(1)?);
            if batch.records.contains_key(&id) {
                continue;
            }
            // Every batch takes one change at the least, so that the mark moves.
            let full = bytes >= 2 * BATCH_BYTES || batch.records.len() >= 2 * BATCH_RECORDS;
            if full && number > from + 1 {
                batch.to = number - 1;
                break;
            }
            let (now, changed) = now
                .query_row([id], |r| Ok((r.get::<_, Option<Vec<u8>>>(0)?, r.get(1)?)))
                .optional()?
                .unwrap_or_default();
            let keys = Keys {
                before: row.get::<_, Option<Vec<u8>>>(2)?.unwrap_or_default(),
                now: now.unwrap_or_default(),
                changed,
            };
            bytes += keys.before.len() + keys.now.len();
            batch.records.insert(id, keys);
        }
        batch.records.retain(|&id, _| id <= batch.to);
        batch.end_at_its_end(conn)?;
        Ok(batch)
    }

    /// What was changed beyond the range is taken as it was at its end, which is what its first
    /// change after that replaced: the next batch takes that for what the index has.
    fn end_at_its_end(&mut self, conn: &Connection) -> Result<()> {
        let to = self.to;
        let mut beyond: BTreeSet<i64> = self
            .records
            .iter()
            .filter(|(_, keys)| keys.changed > to)
            .map(|(&id, _)| id)
            .collect();
        if beyond.is_empty() {
            return Ok(());
        }
        let mut later = conn
            .prepare_cached("SELECT record, keys FROM change WHERE number > ?1 ORDER BY number")?;
        let mut rows = later.query([to])?;
        while !beyond.is_empty()
            && let Some(row) = rows.next()?
        {
            let id = row.get(0)?;
            if beyond.remove(&id)
                && let Some(keys) = self.records.get_mut(&id)
            {
                keys.now = row.get::<_, Option<Vec<u8>>>(1)?.unwrap_or_default();
            }
        }
        Ok(())
    }
}

fn write_terms(conn: &Connection, batch: &Batch) -> Result<()> {
    // (term, record, present): all terms stand in one buffer, and the places in it are sorted.
    let mut buffer = Vec::new();
    let mut entries: Vec<(usize, usize, i64, bool)> = Vec::new();
    for (&id, keys) in &batch.records {
        for (present, keys) in [(false, &keys.before), (true, &keys.now)] {
            terms::of_keys(keys, |term| {
                entries.push((buffer.len(), term.len(), id, present));
                buffer.extend_from_slice(term);
            });
        }
    }
    let term = |e: &(usize, usize, i64, bool)| &buffer[e.0..e.0 + e.1];
    entries.sort_unstable_by(|a, b| (term(a), a.2, a.3).cmp(&(term(b), b.2, b.3)));
    let mut edits: Vec<Edit> = Vec::new();
    for group in entries.chunk_by(|a, b| term(a) == term(b)) {
        edits.clear();
        for of_record in group.chunk_by(|a, b| a.2 == b.2) {
            // What it had and has still is there already.
            if of_record.iter().all(|e| e.3 == of_record[0].3) {
                edits.push((of_record[0].2, of_record[0].3));
            }
        }
        match edits[..] {
            [] => {}
            // An address or number of a new record, whose id is beyond all in the index: a row of
            // its own needs no look at what the list has, which mostly is nothing.
            [(id, true)] if id > batch.from && is_rarely_shared(term(&group[0])) => {
                postings::insert(conn, term(&group[0]), &[id])?;
            }
            _ => postings::apply(conn, term(&group[0]), &edits)?,
        }
    }
    Ok(())
}

/// Whether a term is mostly of one record.
fn is_rarely_shared(term: &[u8]) -> bool {
    let kind = term
        .first()
        .is_some_and(|kind| [terms::EMAIL, terms::PHONE, terms::PHONE_REVERSED].contains(kind));
    kind && term.len() > 1
}

fn write_grams(conn: &Connection, batch: &Batch) -> Result<()> {
    // (gram, record and in its lowest bit whether it is gone).
    let mut entries: Vec<(i64, i64)> = Vec::new();
    let mut own: [Vec<i64>; 2] = Default::default();
    for (&id, keys) in &batch.records {
        for (own, keys) in own.iter_mut().zip([&keys.now, &keys.before]) {
            own.clear();
            grams::of_keys(keys, |g| own.push(g));
            own.sort_unstable();
            own.dedup();
        }
        let [now, before] = &own;
        // What it had and has still is there already.
        let only = |these: &[i64], those: &[i64], gone: i64, out: &mut Vec<(i64, i64)>| {
            let missing = |g: &&i64| those.binary_search(g).is_err();
            out.extend(these.iter().filter(missing).map(|&g| (g, id << 1 | gone)));
        };
        only(now, before, 0, &mut entries);
        only(before, now, 1, &mut entries);
    }
    entries.sort_unstable();
    let mut edits: Vec<Edit> = Vec::new();
    for group in entries.chunk_by(|a, b| a.0 == b.0) {
        edits.clear();
        edits.extend(
            group
                .iter()
                .map(|&(_, tagged)| (tagged >> 1, tagged & 1 == 0)),
        );
        postings::apply(conn, group[0].0, &edits)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;
    use crate::contacts::Card;

    /// Between two transactions of one merge others save. What a record had in between must not
    /// stay in the index.
    #[test]
    fn edits_between_two_batches_leave_nothing_behind() {
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
            // Not by way of the store, which would merge.
            let order = store.order().unwrap();
            let card = card(uid, name);
            let with = store.deriving().unwrap();
            let one = crate::record::prepared::IndexedRecord::new(&card, &with);
            let put = |conn: &Connection| {
                crate::record::records::RecordWriter::run(conn, order, |writing| {
                    one.put(conn, writing, 1, crate::types::Condition::Always)
                })
            };
            store.engine.write(put).unwrap();
        };
        let step = |mark| store.engine.write(|conn| step(conn, mark)).unwrap();
        let long = "x".repeat(200);
        save("old", "Alpha");
        save("gone", "Alpha");
        while step(metadata::TERM_MARK) || step(metadata::GRAM_MARK) {}
        save("new", "Alpha");
        save("old", "Beta");
        for n in 0..2_100 {
            save(&format!("{n}"), &long);
        }
        for uid in ["old", "new", "gone"] {
            save(uid, "Gamma");
        }
        for mark in [metadata::TERM_MARK, metadata::GRAM_MARK] {
            assert!(step(mark), "{mark}: more than one batch");
        }
        for uid in ["old", "new", "gone"] {
            save(uid, "Delta");
        }
        for mark in [metadata::TERM_MARK, metadata::GRAM_MARK] {
            while step(mark) {}
        }
        let found = |filter: &str| contacts.find(&filter.parse().unwrap()).unwrap().len();
        assert_eq!(found("Delta"), 3);
        for before in ["Alpha", "Beta", "Gamma"] {
            assert_eq!(found(before), 0, "{before}");
            let term = terms::term(b'd', before.to_lowercase().as_bytes());
            let left = store
                .engine
                .read(|conn| postings::set(conn, &term))
                .unwrap();
            assert!(left.is_empty(), "{before}: {left:?}");
        }
        assert!(store.check().unwrap().is_clean());
    }
}
