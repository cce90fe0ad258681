//! What happened to a filter's answer between two moments.
//!
//! What a record was at the first moment, the change log tells: the keys before its first change
//! since then. What it is now, the record itself does.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Row};

use super::{Reported, ViewChange, ViewChanges};
use crate::error::Result;
use crate::record::changes;
use crate::record::keys::Keys;
use crate::search::filter::{FieldSet, Matcher};
use crate::search::query::Listed;
use crate::types::{ChangeKind, RecordId, SyncToken};

/// What happened to a record of `R`.
type Change<R> = ViewChange<<R as Listed>::Summary, <R as Listed>::Field>;

/// Reads what a list shows of a record, or showed of it until it was removed, from a column.
type ReadSummary<'s, R> =
    dyn FnMut(&Row<'_>, usize) -> rusqlite::Result<<R as Listed>::Summary> + 's;

/// A record that was there before, and was changed since.
struct Before {
    /// Its first change since: the keys there are those it had.
    first: i64,
    /// Whether the filter meant it.
    meant: bool,
    /// Its first change since that replaced its text, and so has the text that it had.
    text: Option<i64>,
}

/// What happened in `collection` between `from` and `now`, the state that is read.
pub(super) fn since<R: Listed>(
    conn: &Connection,
    collection: i64,
    matcher: &Matcher,
    from: &SyncToken,
    now: &SyncToken,
) -> Result<Reported<R>> {
    if !changes::reaches_back(conn, from, now)? {
        return Ok(ViewChanges::Reset);
    }
    if from.seq == now.seq {
        return Ok(ViewChanges::Since(Vec::new()));
    }
    let mut all = Vec::new();
    let mut summary = R::summaries();
    let mut summary = |row: &Row<'_>, column| -> rusqlite::Result<R::Summary> {
        Ok(summary(row.get_ref(column)?.as_blob().unwrap_or_default()))
    };
    added::<R>(conn, collection, matcher, from, &mut summary, &mut all)?;
    for (id, before) in changed(conn, matcher, from)? {
        if let Some(change) = compare::<R>(conn, collection, matcher, &mut summary, id, &before)? {
            all.push(change);
        }
    }
    all.sort_by_key(|c| c.number);
    Ok(ViewChanges::Since(all))
}

/// Records made since. Seen from then they are additions, whatever was done to them afterwards.
fn added<R: Listed>(
    conn: &Connection,
    collection: i64,
    matcher: &Matcher,
    from: &SyncToken,
    summary: &mut ReadSummary<'_, R>,
    all: &mut Vec<Change<R>>,
) -> Result<()> {
    let mut statement = conn.prepare_cached(
        "SELECT changed, id, uid, summary, keys FROM record NOT INDEXED \
         WHERE id > ?1 AND collection = ?2 AND removed IS NULL",
    )?;
    let mut rows = statement.query((from.seq, collection))?;
    while let Some(row) = rows.next()? {
        if matcher.matches(row.get_ref(4)?.as_blob().unwrap_or_default()) {
            all.push(ViewChange {
                number: row.get(0)?,
                id: RecordId(row.get(1)?),
                uid: row.get(2)?,
                kind: ChangeKind::Added,
                summary: summary(row, 3)?,
                fields: Vec::new(),
            });
        }
    }
    Ok(())
}

/// Records from before that were changed since, of whatever collection.
fn changed(
    conn: &Connection,
    matcher: &Matcher,
    from: &SyncToken,
) -> Result<BTreeMap<i64, Before>> {
    let mut records: BTreeMap<i64, Before> = BTreeMap::new();
    let mut statement = conn.prepare_cached(
        "SELECT number, record, keys, text IS NOT NULL FROM change \
         WHERE number > ?1 AND record <= ?1 ORDER BY number",
    )?;
    let mut rows = statement.query([from.seq])?;
    while let Some(row) = rows.next()? {
        let number = row.get(0)?;
        let before = match records.entry(row.get(1)?) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(new) => {
                // No keys: it was in the trash.
                let keys = row.get_ref(2)?.as_blob().ok();
                new.insert(Before {
                    first: number,
                    meant: keys.is_some_and(|k| matcher.matches(k)),
                    text: None,
                })
            }
        };
        if before.text.is_none() && row.get(3)? {
            before.text = Some(number);
        }
    }
    Ok(records)
}

fn compare<R: Listed>(
    conn: &Connection,
    collection: i64,
    matcher: &Matcher,
    summary: &mut ReadSummary<'_, R>,
    id: i64,
    before: &Before,
) -> Result<Option<Change<R>>> {
    let found = conn
        .prepare_cached(
            "SELECT changed, uid, iif(removed IS NULL, keys, NULL), summary FROM record \
             WHERE id = ?1 AND collection = ?2",
        )?
        .query_row((id, collection), |r| {
            let keys: Option<Vec<u8>> = r.get(2)?;
            Ok((r.get(0)?, r.get(1)?, keys, summary(r, 3)?))
        })
        .optional()?;
    let Some((number, uid, keys, summary)) = found else {
        return Ok(None);
    };
    let is_meant = keys.as_ref().is_some_and(|k| matcher.matches(k));
    let kind = match (before.meant, is_meant) {
        (false, false) => return Ok(None),
        (false, true) => ChangeKind::Added,
        (true, false) => ChangeKind::Removed,
        (true, true) if is_edited(conn, before.text)? => ChangeKind::Changed,
        (true, true) => return Ok(None),
    };
    let fields = match (kind, keys) {
        (ChangeKind::Changed, Some(keys)) => differing(conn, before.first, &keys)?,
        _ => Vec::new(),
    };
    Ok(Some(ViewChange {
        number,
        id: RecordId(id),
        uid,
        kind,
        summary,
        fields,
    }))
}

/// Whether the text that the change `number` replaced is another than the record's now. An edit
/// that was undone is none, nor is a removal.
fn is_edited(conn: &Connection, number: Option<i64>) -> Result<bool> {
    let Some(number) = number else {
        return Ok(false);
    };
    // Lengths first: SQLite knows them without reading the texts.
    Ok(conn
        .prepare_cached(
            "SELECT length(c.text) <> length(r.text) OR c.text <> r.text \
             FROM change c JOIN record r ON r.id = c.record WHERE c.number = ?1",
        )?
        .query_row([number], |r| r.get(0))?)
}

/// Fields whose values before the change `number` are others than in `now`.
fn differing<F: FieldSet>(conn: &Connection, number: i64, now: &[u8]) -> Result<Vec<F>> {
    let before: Vec<u8> = conn
        .prepare_cached("SELECT keys FROM change WHERE number = ?1")?
        .query_row([number], |r| r.get(0))?;
    let values = |keys, key| Keys(keys).filter(move |(k, _)| *k == key);
    Ok(F::KEYS
        .iter()
        .filter(|&&(key, _)| values(&before, key).ne(values(now, key)))
        .map(|&(_, field)| field)
        .collect())
}
