//! The difference between a filter's answers at two states of the store.
//!
//! A record's keys at the first state are in the change log, with its first change after that
//! state. Its keys now are in the record.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Row};

use super::{ChangesOf, ViewChange, ViewChanges};
use crate::error::Result;
use crate::record::changes;
use crate::record::keys::{Keys, SearchKeys};
use crate::search::filter::{FieldSet, Matcher};
use crate::search::query::SearchableRecord;
use crate::types::{ChangeKind, RecordId, SyncToken};

/// A change of a record of `R`.
type ChangeOf<R> = ViewChange<<R as SearchableRecord>::Summary, <R as SearchableRecord>::Field>;

/// Decodes a column that has a record's summary, or its last one before it was removed.
type SummaryOf<'s, R> =
    dyn FnMut(&Row<'_>, usize) -> rusqlite::Result<<R as SearchableRecord>::Summary> + 's;

/// The earlier state of a record that was changed since.
struct PreviousState {
    /// Its first change since, which has its earlier keys.
    first_change: i64,
    matched: bool,
    /// Its first change since that replaced its text, which has its earlier text.
    text_change: Option<i64>,
}

/// Returns the changes in `collection` between `from` and `now`, the state that is read.
pub(super) fn diff_since<R: SearchableRecord>(
    conn: &Connection,
    collection: i64,
    matcher: &Matcher,
    from: &SyncToken,
    now: &SyncToken,
) -> Result<ChangesOf<R>> {
    if !changes::covers_token(conn, from, now)? {
        return Ok(ViewChanges::Reset);
    }
    if from.seq == now.seq {
        return Ok(ViewChanges::Since(Vec::new()));
    }
    let mut all = Vec::new();
    let mut decode = R::summary_decoder();
    let mut summary = |row: &Row<'_>, column| -> rusqlite::Result<R::Summary> {
        Ok(decode(row.get_ref(column)?.as_blob().unwrap_or_default()))
    };
    push_added::<R>(conn, collection, matcher, from, &mut summary, &mut all)?;
    for (id, before) in read_changed(conn, matcher, from)? {
        if let Some(change) =
            compare_states::<R>(conn, collection, matcher, &mut summary, id, &before)?
        {
            all.push(change);
        }
    }
    all.sort_by_key(|c| c.number);
    Ok(ViewChanges::Since(all))
}

/// Appends the matching records added since `from`, whatever was done to them afterwards.
fn push_added<R: SearchableRecord>(
    conn: &Connection,
    collection: i64,
    matcher: &Matcher,
    from: &SyncToken,
    summary: &mut SummaryOf<'_, R>,
    all: &mut Vec<ChangeOf<R>>,
) -> Result<()> {
    let mut statement = conn.prepare_cached(
        "SELECT changed, id, uid, summary, keys FROM record NOT INDEXED \
         WHERE id > ?1 AND collection = ?2 AND removed_at IS NULL",
    )?;
    let mut rows = statement.query((from.seq, collection))?;
    while let Some(row) = rows.next()? {
        let search = SearchKeys {
            uid: row.get_ref(2)?.as_bytes().unwrap_or_default(),
            keys: row.get_ref(4)?.as_blob().unwrap_or_default(),
        };
        if matcher.matches(search) {
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

/// Returns the earlier state of the records of all collections that were changed since `from`.
fn read_changed(
    conn: &Connection,
    matcher: &Matcher,
    from: &SyncToken,
) -> Result<BTreeMap<i64, PreviousState>> {
    let mut records: BTreeMap<i64, PreviousState> = BTreeMap::new();
    let mut statement = conn.prepare_cached(
        "SELECT c.seq, c.record, c.keys, c.text IS NOT NULL, r.uid \
         FROM change c CROSS JOIN record r ON r.id = c.record \
         WHERE c.seq > ?1 AND c.record <= ?1 ORDER BY c.seq",
    )?;
    let mut rows = statement.query([from.seq])?;
    while let Some(row) = rows.next()? {
        let number = row.get(0)?;
        let before = match records.entry(row.get(1)?) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(new) => {
                // A record without keys was in the trash.
                let keys = row.get_ref(2)?.as_blob().ok();
                let uid = row.get_ref(4)?.as_bytes().unwrap_or_default();
                new.insert(PreviousState {
                    first_change: number,
                    matched: keys.is_some_and(|keys| matcher.matches(SearchKeys { uid, keys })),
                    text_change: None,
                })
            }
        };
        if before.text_change.is_none() && row.get(3)? {
            before.text_change = Some(number);
        }
    }
    Ok(records)
}

fn compare_states<R: SearchableRecord>(
    conn: &Connection,
    collection: i64,
    matcher: &Matcher,
    summary: &mut SummaryOf<'_, R>,
    id: i64,
    before: &PreviousState,
) -> Result<Option<ChangeOf<R>>> {
    let found = conn
        .prepare_cached(
            "SELECT changed, uid, iif(removed_at IS NULL, keys, NULL), summary FROM record \
             WHERE id = ?1 AND collection = ?2",
        )?
        .query_row((id, collection), |r| {
            let (number, uid): (i64, String) = (r.get(0)?, r.get(1)?);
            let keys: Option<Vec<u8>> = r.get(2)?;
            Ok((number, uid, keys, summary(r, 3)?))
        })
        .optional()?;
    let Some((number, uid, keys, summary)) = found else {
        return Ok(None);
    };
    let is_match = keys.as_ref().is_some_and(|keys| {
        let uid = uid.as_bytes();
        matcher.matches(SearchKeys { uid, keys })
    });
    let kind = match (before.matched, is_match) {
        (false, false) => return Ok(None),
        (false, true) => ChangeKind::Added,
        (true, false) => ChangeKind::Removed,
        (true, true) if is_edited(conn, before.text_change)? => ChangeKind::Changed,
        (true, true) => return Ok(None),
    };
    let fields = match (kind, keys) {
        (ChangeKind::Changed, Some(keys)) => changed_fields(conn, before.first_change, &keys)?,
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

/// Returns true if the text that the change `number` replaced differs from the record's text. It does
/// not after an edit that was undone, or a removal that was.
fn is_edited(conn: &Connection, number: Option<i64>) -> Result<bool> {
    let Some(number) = number else {
        return Ok(false);
    };
    // Lengths are compared first: SQLite knows them without reading the texts.
    Ok(conn
        .prepare_cached(
            "SELECT length(c.text) <> length(r.text) OR c.text <> r.text \
             FROM change c JOIN record r ON r.id = c.record WHERE c.seq = ?1",
        )?
        .query_row([number], |r| r.get(0))?)
}

/// Returns the fields whose values before the change `number` differ from those in `now`.
fn changed_fields<F: FieldSet>(conn: &Connection, number: i64, now: &[u8]) -> Result<Vec<F>> {
    let before: Vec<u8> = conn
        .prepare_cached("SELECT keys FROM change WHERE seq = ?1")?
        .query_row([number], |r| r.get(0))?;
    let values = |keys, key| Keys(keys).filter(move |(k, _)| *k == key);
    Ok(F::KEYS
        .iter()
        .filter(|&&(key, _)| values(&before, key).ne(values(now, key)))
        .map(|&(_, field)| field)
        .collect())
}
