//! [`IndexMaintenance`]: reindexing before the first use, merging of the search index after commits.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, TryLockError};

use rusqlite::Connection;

use crate::calendar::object_zones::ObjectZones;
use crate::contacts::Card;
use crate::db::{Db, IndexContext, Maintenance, WriteHooks, metadata};
use crate::error::{Error, Result};
#[cfg(feature = "media")]
use crate::media::{
    group::{Album, Artist, Day, Genre},
    picture::Picture,
    track::Track,
};
use crate::record::{IndexedColumns, RecordKind};
use crate::search::index::IndexParts;
use crate::search::index::merge::merge_index;
use crate::types::CollectionKind;

/// The hooks that keep derived data up to date.
pub(super) struct IndexMaintenance {
    /// Merge the substring index too.
    merge_substrings: bool,
    is_current: AtomicBool,
    /// Held by the thread that merges.
    merging: Arc<Mutex<()>>,
}

impl IndexMaintenance {
    pub(super) fn new(merge_substrings: bool) -> Self {
        Self {
            merge_substrings,
            is_current: AtomicBool::new(false),
            merging: Arc::default(),
        }
    }
}

impl WriteHooks for IndexMaintenance {
    fn ensure_indexed(&self, db: &Db) -> Result<()> {
        // Relaxed: a thread that reads the old value checks the version again.
        if self.is_current.load(Ordering::Relaxed) {
            return Ok(());
        }
        let version = db.metadata().index_version.as_deref();
        if version != Some(&index_version(db)) {
            if !db.is_read_only() {
                db.write_unhooked(|conn| {
                    // Another process may have reindexed while this one waited.
                    if is_index_current(db, conn)? {
                        return Ok(());
                    }
                    tracing::info!("reindexing");
                    reindex(db, conn)
                })?;
                // Without a merge every search would scan every record until the next save.
                let merged = db
                    .read(|conn| self.due_maintenance(conn))
                    .and_then(|due| due.map_or(Ok(()), |due| due(db)));
                if let Err(error) = merged {
                    tracing::warn!(%error, "the index was not merged");
                }
                db.release_memory();
            } else if version.is_none()
                && db
                    .read(|conn| metadata::get_value::<String>(conn, metadata::INDEX_VERSION))?
                    .is_none()
            {
                // The schema was migrated and not reindexed since: lists are empty.
                return Err(Error::ReadOnly(db.path().to_owned()));
            }
        }
        self.is_current.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn due_maintenance(&self, conn: &Connection) -> Result<Option<Maintenance>> {
        let due = IndexParts::due_for_merge(conn, self.merge_substrings)?;
        if due == IndexParts::NONE {
            return Ok(None);
        }
        let merging = Arc::clone(&self.merging);
        Ok(Some(Box::new(move |db| match merging.try_lock() {
            // The `match` keeps the guard until its end. A merge that panicked was rolled back.
            Ok(_) | Err(TryLockError::Poisoned(_)) => {
                merge_index(db, due)?;
                db.limit_wal_size()
            }
            // Another thread is merging.
            Err(TryLockError::WouldBlock) => Ok(()),
        })))
    }
}

/// Returns true if the stored index version is this library's.
pub(super) fn is_index_current(db: &Db, conn: &Connection) -> Result<bool> {
    let stored: Option<String> = metadata::get_value(conn, metadata::INDEX_VERSION)?;
    Ok(stored.as_deref() == Some(&index_version(db)))
}

/// Derives all data from the records again; rebuilds the search index if any keys changed.
pub(super) fn reindex(db: &Db, conn: &Connection) -> Result<()> {
    reindex_with(db, conn, &db.index_context())
}

/// Reindexes as [`reindex`] does, with other settings than those the store was opened with.
pub(super) fn reindex_with(db: &Db, conn: &Connection, context: &IndexContext<'_>) -> Result<()> {
    #[cfg(not(feature = "media"))]
    expect_no_media(conn)?;
    // A migration leaves an empty index.
    let is_unindexed = metadata::get_number(conn, metadata::TERM_WATERMARK)? == 0;
    let zones = RefCell::default();
    let index = |kind, text, shared| index_record(conn, kind, text, shared, context, &zones);
    if crate::record::derive::all(conn, context, index)? || is_unindexed {
        crate::search::index::rebuild_index(conn, db.path())?;
    }
    let version = index_version_of(context.order.collation_version());
    metadata::set(conn, metadata::INDEX_VERSION, version)
}

/// Refuses a store with media records: their columns cannot be derived here, and would be emptied.
#[cfg(not(feature = "media"))]
pub(super) fn expect_no_media(conn: &Connection) -> Result<()> {
    let mut statement = conn.prepare_cached(
        "SELECT 1 FROM record r JOIN collection c ON c.id = r.collection WHERE c.kind = ?1",
    )?;
    for kind in CollectionKind::MEDIA {
        if statement.exists([kind.schema_name()])? {
            return Err(Error::NeedsFeature("media"));
        }
    }
    Ok(())
}

/// Derives the indexed columns of a stored record.
pub(super) fn index_record(
    conn: &Connection,
    kind: CollectionKind,
    text: Vec<u8>,
    shared: Option<i64>,
    context: &IndexContext<'_>,
    zones: &RefCell<ObjectZones>,
) -> Result<IndexedColumns> {
    match kind {
        CollectionKind::Contacts => Ok(Card::stored(conn, text, shared)?.index(context)),
        CollectionKind::Calendar => {
            let record = zones.borrow_mut().parse_record(conn, text, shared)?;
            Ok(record.index(context))
        }
        #[cfg(not(feature = "media"))]
        _ => Err(Error::NeedsFeature("media")),
        #[cfg(feature = "media")]
        CollectionKind::Music => Ok(Track::stored(conn, text, shared)?.index(context)),
        #[cfg(feature = "media")]
        CollectionKind::Pictures => Ok(Picture::stored(conn, text, shared)?.index(context)),
        #[cfg(feature = "media")]
        CollectionKind::Albums => Ok(Album::stored(conn, text, shared)?.index(context)),
        #[cfg(feature = "media")]
        CollectionKind::Artists => Ok(Artist::stored(conn, text, shared)?.index(context)),
        #[cfg(feature = "media")]
        CollectionKind::Genres => Ok(Genre::stored(conn, text, shared)?.index(context)),
        #[cfg(feature = "media")]
        CollectionKind::Days => Ok(Day::stored(conn, text, shared)?.index(context)),
    }
}

/// Returns the version of the data that this library derives with the store's collator.
fn index_version(db: &Db) -> String {
    index_version_of(db.order().collation_version())
}

/// Returns the version of the data that this library derives with the collator of this stamp.
pub(super) fn index_version_of(stamp: &str) -> String {
    format!("{stamp} keys-{}", crate::contacts::keys::VERSION)
}
