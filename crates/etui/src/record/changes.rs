//! The change log: changes since a sync token.
//!
//! One sequence numbers all changes of a store. A record's id is the sequence number of the change
//! that created it, so additions are in `record` itself. `change` has a row for every edit, removal
//! and restoration, with the replaced data.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension};

use super::{collection_table, steps};
use crate::db::metadata;
use crate::error::Result;
use crate::types::{ChangeKind, Changes, RecordChange, RecordId, SyncToken};

/// Changes are kept at least this long, and removed contacts and earlier versions with them.
pub(crate) const KEPT_MS: i64 = 30 * 24 * 3600 * 1000;
/// At least this many changes are kept, whatever their age: a wrong clock must not empty the trash.
pub(crate) const KEPT_CHANGES: i64 = 1_000;
/// Maximum number of rows trimmed by one merge, so that no save pays for a month at once.
const TRIM_ROWS: i64 = 2_000;

pub(crate) const EDITED: i64 = 1;
pub(crate) const REMOVED: i64 = 2;
pub(crate) const RESTORED: i64 = 3;

/// Returns the sequence number of the latest change; 0 in a new store.
pub(crate) fn latest_seq(conn: &Connection) -> Result<i64> {
    let mut statement =
        conn.prepare_cached("SELECT max(id) FROM record UNION ALL SELECT max(seq) FROM change")?;
    let mut rows = statement.query([])?;
    let mut latest = 0;
    while let Some(row) = rows.next()? {
        // max() over an empty table is one row with NULL.
        latest = latest.max(row.get::<_, Option<i64>>(0)?.unwrap_or(0));
    }
    Ok(latest)
}

/// Returns the sync token of the present state.
pub(crate) fn token(conn: &Connection) -> Result<SyncToken> {
    let id = |key| -> Result<u64> { Ok(metadata::get_number(conn, key)?.cast_unsigned()) };
    Ok(SyncToken {
        store: id(metadata::STORE_ID)?,
        incarnation: id(metadata::INCARNATION)?,
        seq: latest_seq(conn)?,
        listing: None,
    })
}

/// Returns true if the log has all changes between `token` and `now`, the present token.
pub(crate) fn covers_token(conn: &Connection, token: &SyncToken, now: &SyncToken) -> Result<bool> {
    Ok(token.store == now.store
        && token.listing.is_none()
        // A restored backup has another incarnation: it gives these numbers to other changes.
        && token.incarnation == now.incarnation
        && token.seq >= metadata::get_number(conn, metadata::LOG_FLOOR)?
        // An older copy of the file has its ids, and lacks the changes up to the token.
        && token.seq <= now.seq)
}

/// Returns the changes in `collection` since `token`. Runs in a read transaction.
pub(crate) fn list_changes(
    conn: &Connection,
    collection: i64,
    token: &SyncToken,
) -> Result<Changes> {
    if !covers_token(conn, token, &self::token(conn)?)?
        || token.seq < collection_table::history_start(conn, collection)?
    {
        return Ok(Changes::Resynchronise);
    }
    let mut all = Vec::new();
    // Live records created since; later edits of them are still additions seen from the token.
    let mut added = conn.prepare_cached(
        "SELECT changed, id, uid FROM record NOT INDEXED \
         WHERE id > ?1 AND collection = ?2 AND removed_at IS NULL",
    )?;
    let mut rows = added.query((token.seq, collection))?;
    while let Some(row) = rows.next()? {
        all.push(RecordChange {
            seq: row.get(0)?,
            id: RecordId(row.get(1)?),
            uid: row.get(2)?,
            kind: ChangeKind::Added,
        });
    }
    // Older records: the first change since the token says whether the record was live at the
    // token; the record itself says whether it is now.
    let mut before: BTreeMap<i64, bool> = BTreeMap::new();
    let mut changed = conn.prepare_cached(
        "SELECT record, keys IS NOT NULL FROM change WHERE seq > ?1 AND record <= ?1 \
         ORDER BY seq",
    )?;
    let mut rows = changed.query([token.seq])?;
    while let Some(row) = rows.next()? {
        before.entry(row.get(0)?).or_insert(row.get(1)?);
    }
    let mut now = conn.prepare_cached(
        "SELECT changed, uid, removed_at IS NULL FROM record WHERE id = ?1 AND collection = ?2",
    )?;
    for (id, was_live) in before {
        let found = now
            .query_row((id, collection), |r| {
                Ok((r.get(0)?, r.get(1)?, r.get::<_, bool>(2)?))
            })
            .optional()?;
        // The change log is that of all collections.
        let Some((number, uid, is_live)) = found else {
            continue;
        };
        let kind = match (was_live, is_live) {
            (false, false) => continue,
            (true, false) => ChangeKind::Removed,
            (false, true) => ChangeKind::Added,
            (true, true) => ChangeKind::Changed,
        };
        all.push(RecordChange {
            seq: number,
            id: RecordId(id),
            uid,
            kind,
        });
    }
    all.sort_by_key(|c| c.seq);
    Ok(Changes::Since(all))
}

/// Deletes changes older than [`KEPT_MS`], with the removed records and replaced texts that only
/// they refer to, from the oldest up to the first that is kept. The latest `keep` changes (at least
/// one: it carries the sequence) and those after `merged` stay.
pub(crate) fn trim_log(conn: &Connection, now: i64, merged: i64, keep: i64) -> Result<()> {
    let last: Option<i64> = conn
        .prepare_cached("SELECT seq FROM change ORDER BY seq DESC LIMIT 1 OFFSET ?1")?
        .query_row([keep.max(1)], |r| r.get(0))
        .optional()?;
    let Some(last) = last.map(|last| last.min(merged)) else {
        return Ok(());
    };
    let mut oldest =
        conn.prepare_cached("SELECT seq, at FROM change WHERE seq <= ?1 ORDER BY seq LIMIT ?2")?;
    let mut rows = oldest.query((last, TRIM_ROWS))?;
    let mut floor = None;
    while let Some(row) = rows.next()? {
        // The log has one floor: after a kept row all stay, also those with an earlier time (a clock set back).
        if row.get::<_, i64>(1)? >= now - KEPT_MS {
            break;
        }
        floor = Some(row.get::<_, i64>(0)?);
    }
    drop(rows);
    let Some(floor) = floor else {
        return Ok(());
    };
    // The latest of the changes that are deleted stays known for each collection.
    conn.prepare_cached(
        "UPDATE collection SET history_start = max(history_start, deleted.seq) \
         FROM (SELECT r.collection AS id, max(c.seq) AS seq \
               FROM change c CROSS JOIN record r ON r.id = c.record \
               WHERE c.seq <= ?1 GROUP BY r.collection) AS deleted \
         WHERE collection.id = deleted.id",
    )?
    .execute([floor])?;
    // Before the changes, which lead to these records.
    conn.prepare_cached(
        "DELETE FROM record WHERE removed_at IS NOT NULL AND changed <= ?1 \
         AND id IN (SELECT record FROM change WHERE seq <= ?1)",
    )?
    .execute([floor])?;
    conn.prepare_cached("DELETE FROM change WHERE seq <= ?1")?
        .execute([floor])?;
    metadata::set(conn, metadata::LOG_FLOOR, floor)?;
    steps::trim_steps(conn, floor, now - KEPT_MS)?;
    // After its records: a collection is purged once it has none.
    collection_table::purge_removed(conn, now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contacts::Card;
    use crate::record::RecordKind;
    use crate::types::now_ms;

    /// After the retention period the trash and the replaced texts are gone, the sequence goes on,
    /// and older tokens give `Changes::Resynchronise`.
    #[test]
    fn what_is_older_than_the_retention_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let store = crate::Store::open(dir.path().join("s.etui")).unwrap();
        let contacts = store.contacts().unwrap();
        let card = |uid: &str, name: &str| {
            Card::parse(format!("BEGIN:VCARD\nUID:{uid}\nFN:{name}\nEND:VCARD\n")).unwrap()
        };
        contacts.save(&card("a", "A")).unwrap();
        contacts.save(&card("b", "B")).unwrap();
        let before = store.token().unwrap();
        contacts.save(&card("a", "A again")).unwrap();
        contacts.remove("b").unwrap();
        let after = store.token().unwrap();
        store.maintenance().merge_index().unwrap();

        let trim = |at| {
            store
                .db
                .write_unhooked(|conn| trim_log(conn, at, latest_seq(conn)?, 1))
                .unwrap()
        };
        trim(now_ms() + KEPT_MS - 60_000);
        assert!(
            matches!(contacts.changes_since(&before), Ok(Changes::Since(all)) if all.len() == 2)
        );
        assert_eq!(contacts.trash().unwrap().len(), 1);

        trim(now_ms() + KEPT_MS + 60_000);
        assert_eq!(
            contacts.changes_since(&before).unwrap(),
            Changes::Resynchronise
        );
        assert_eq!(
            store.token().unwrap(),
            after,
            "the latest row carries the sequence"
        );
        contacts.save(&card("c", "C")).unwrap();
        trim(now_ms() + KEPT_MS + 60_000);
        assert!(contacts.restore("a").is_err());
        assert_eq!(
            contacts.trash().unwrap().len(),
            1,
            "its removal is the latest change logged"
        );
        contacts.save(&card("c", "C again")).unwrap();
        trim(now_ms() + KEPT_MS + 60_000);
        assert_eq!(contacts.trash().unwrap().len(), 0);
        assert!(contacts.restore("b").is_err());
        assert!(store.check().unwrap().is_clean());
    }

    /// A removed collection is deleted after its last record; its id is not reused.
    #[test]
    fn removed_collections_are_forgotten_with_their_records() {
        let dir = tempfile::tempdir().unwrap();
        let store = crate::Store::open(dir.path().join("s.etui")).unwrap();
        let card = Card::parse("BEGIN:VCARD\nFN:A\nEND:VCARD\n").unwrap();
        let contacts = store.contacts().unwrap();
        for name in ["Empty", "Full"] {
            store.collections::<Card>().create(name).unwrap();
        }
        let full = store.collection::<Card>(Some("Full")).unwrap();
        let number = full.id();
        full.save(&card).unwrap();
        store.collections::<Card>().remove("Empty").unwrap();
        store.collections::<Card>().remove("Full").unwrap();
        // The latest change stays.
        contacts.save(&card).unwrap();
        contacts.remove(&card.identity()).unwrap();
        store.maintenance().merge_index().unwrap();
        let trim = |at| {
            let trim = |conn: &Connection| trim_log(conn, at, latest_seq(conn)?, 1);
            store.db.write_unhooked(trim).unwrap();
        };

        trim(now_ms() + KEPT_MS - 60_000);
        for (name, records) in [("Empty", 0), ("Full", 1)] {
            assert_eq!(store.collections::<Card>().restore(name).unwrap(), records);
            store.collections::<Card>().remove(name).unwrap();
        }
        contacts.restore(&card.identity()).unwrap();
        store.maintenance().merge_index().unwrap();
        trim(now_ms() + KEPT_MS + 60_000);
        assert!(store.collections::<Card>().restore("Empty").is_err());
        assert_eq!(
            store.collections::<Card>().restore("Full").unwrap(),
            0,
            "carries the numbers"
        );
        store.collections::<Card>().remove("Full").unwrap();
        assert!(store.collections::<Card>().create("New").unwrap().id() > number);
        assert!(store.check().unwrap().is_clean());
    }
}
