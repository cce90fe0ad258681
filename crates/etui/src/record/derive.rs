//! Reindexing, after the library derives data in another way.

use rusqlite::Connection;

use super::kind::IndexedColumns;
use super::{list, time_index};
use crate::db::IndexContext;
use crate::error::Result;
use crate::types::CollectionKind;

/// A stored record.
struct RecordToIndex {
    id: i64,
    collection: i64,
    live: bool,
    keys: Vec<u8>,
    text: Vec<u8>,
    shared: Option<i64>,
    kind: Option<String>,
}

/// Derives the columns, lists and time index of all records again from their texts. Returns true if
/// any keys changed; the search index has to be rebuilt then. ETags stay: they show that a text is
/// not the saved one.
pub(crate) fn all(
    conn: &Connection,
    context: &IndexContext<'_>,
    derive: impl Fn(CollectionKind, Vec<u8>, Option<i64>) -> Result<IndexedColumns>,
) -> Result<bool> {
    list::clear_lists(conn)?;
    time_index::clear_entries(conn)?;
    let mut entries = list::ListEdits::default();
    let mut update =
        conn.prepare("UPDATE record SET sort_key = ?2, summary = ?3, keys = ?4 WHERE id = ?1")?;
    // Pages by id: the rows are updated while they are read, and one page of texts is in memory.
    let mut next = conn.prepare(
        "SELECT r.id, r.collection, r.removed_at IS NULL, r.keys, r.text, r.source, c.kind \
         FROM record r LEFT JOIN collection c ON c.id = r.collection \
         WHERE r.id > ?1 ORDER BY r.id LIMIT 64",
    )?;
    let mut last = i64::MIN;
    let mut changed = false;
    loop {
        let page = next
            .query_map([last], |r| {
                Ok(RecordToIndex {
                    id: r.get(0)?,
                    collection: r.get(1)?,
                    live: r.get(2)?,
                    keys: r.get(3)?,
                    text: r.get(4)?,
                    shared: r.get(5)?,
                    kind: r.get::<_, Option<String>>(6)?,
                })
            })?
            .collect::<rusqlite::Result<Vec<RecordToIndex>>>()?;
        if page.is_empty() {
            entries.write(conn, context.order.label_bounds())?;
            return Ok(changed);
        }
        for found in page {
            last = found.id;
            // A record that cannot be parsed sorts first.
            let kind = found
                .kind
                .as_deref()
                .and_then(CollectionKind::from_schema_name);
            let derived = match kind.map(|kind| derive(kind, found.text, found.shared)) {
                Some(Ok(derived)) => derived,
                _ => IndexedColumns::default(),
            };
            changed |= derived.keys != found.keys;
            update.execute((found.id, &derived.sort_key, &derived.summary, &derived.keys))?;
            if found.live {
                entries.put(
                    found.collection,
                    &derived.sort_key,
                    found.id,
                    &derived.summary,
                );
                time_index::insert_entries(conn, found.collection, found.id, &derived.times)?;
            }
        }
        if entries.is_full() {
            entries.write(conn, context.order.label_bounds())?;
        }
    }
}
