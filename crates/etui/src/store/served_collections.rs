//! Collections as clients of a sync server make and change them: found by the segment of their URL, and
//! changed as a whole.
//!
//! The *segment* is the last segment of a collection's URL, chosen by the client that made it. It is in
//! `meta`, under `segment.ID` with the collection's id, beside its name and external id, and never
//! changes. A removed collection keeps it; if another one was made there meanwhile, the segment means
//! the later one.

use rusqlite::Connection;

use crate::calendar::{Color, write_color};
use crate::db::{TransactionSize, metadata};
use crate::error::{Error, Result};
use crate::record::collection_table::CollectionRef;
use crate::record::{Collection, collection_table};
use crate::resource::{Resource, check_name, set_properties};
use crate::store::Store;
use crate::types::CollectionKind;

/// Changes of a collection that are made together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectionChanges {
    /// Its new name.
    pub name: Option<String>,
    /// The new colour of a calendar; `Some(None)`: it has none. An address book has no colour.
    pub color: Option<Option<Color>>,
    /// Properties to set, and those to remove, which have no value. See
    /// [`Collection::set_properties`].
    pub properties: Vec<(String, Option<String>)>,
}

impl CollectionChanges {
    /// Makes the changes other than that of the name.
    fn write(&self, conn: &Connection, kind: CollectionKind, collection: i64) -> Result<()> {
        if let Some(color) = self.color
            && kind == CollectionKind::Calendar
        {
            write_color(conn, collection, color)?;
        }
        set_properties(conn, collection, &self.properties)
    }
}

impl<R: Resource> Collection<R> {
    /// Returns the segment of the collection's URL; `None`: no client chose one.
    ///
    /// # Errors
    /// Any read error.
    pub fn segment(&self) -> Result<Option<String>> {
        let key = key_of(self.id());
        self.db().read(|conn| metadata::get_value(conn, &key))
    }
}

impl Store {
    /// Returns the live collection with this segment. See [`Store::create_collection_at`].
    ///
    /// # Errors
    /// Any read error.
    pub fn collection_at<R: Resource>(&self, segment: &str) -> Result<Option<Collection<R>>> {
        self.drain_write_queue()?;
        let found = self.db.read(|conn| {
            let all = collection_table::list_collections(conn, R::KIND)?;
            let ids = ids_at(conn, segment)?;
            Ok(all.into_iter().rfind(|one| ids.contains(&one.id)))
        })?;
        Ok(found.map(|found| Collection::new(&self.db, found)))
    }

    /// Returns the id of the removed collection with this segment; the latest, if there are several.
    ///
    /// # Errors
    /// Any read error.
    pub fn removed_collection_at<R: Resource>(&self, segment: &str) -> Result<Option<i64>> {
        self.db.read(|conn| {
            let ids = ids_at(conn, segment)?;
            let all = collection_table::list_removed(conn, R::KIND)?;
            let mut removed = all.into_iter().map(|(one, _)| one.id);
            Ok(removed.find(|id| ids.contains(id)))
        })
    }

    /// Creates a collection with the segment that a client chose for its URL, with name, colour and
    /// properties, in one transaction. Without a name it is named like the segment.
    ///
    /// ```
    /// use etui::contacts::Card;
    /// use etui::store::CollectionChanges;
    /// # let dir = tempfile::tempdir()?;
    /// # let store = etui::Store::open(dir.path().join("personal.etui"))?;
    /// let changes = CollectionChanges {
    ///     name: Some("Team".to_owned()),
    ///     ..CollectionChanges::default()
    /// };
    /// let team = store.create_collection_at::<Card>("6f1c-team", &changes)?;
    /// let found = store.collection_at::<Card>("6f1c-team")?;
    /// assert_eq!(found.map(|one| one.id()), Some(team.id()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::SegmentExists`]; [`Error::BadResourceName`]: the segment cannot be the name of a resource;
    /// [`Error::CollectionExists`], [`Error::BadName`]; [`Error::TooManyProperties`]; any write error.
    /// Nothing is created then.
    pub fn create_collection_at<R: Resource>(
        &self,
        segment: &str,
        changes: &CollectionChanges,
    ) -> Result<Collection<R>> {
        check_name(segment)?;
        let made = self.db.write_of(TransactionSize::Small, |conn| {
            expect_free(conn, R::KIND, segment)?;
            let name = changes.name.as_deref().unwrap_or(segment);
            let made = collection_table::create_collection(conn, R::KIND, name)?;
            metadata::set(conn, &key_of(made.id), segment)?;
            changes.write(conn, R::KIND, made.id)?;
            Ok(made)
        })?;
        Ok(Collection::new(&self.db, made))
    }

    /// Changes name, colour and properties of the collection with this id: all of them, or none.
    ///
    /// # Errors
    /// [`Error::NoCollection`]; [`Error::CollectionExists`], [`Error::BadName`];
    /// [`Error::TooManyProperties`]; any write error. Nothing is changed then.
    pub fn change_collection<R: Resource>(
        &self,
        id: i64,
        changes: &CollectionChanges,
    ) -> Result<()> {
        self.after_queue(|conn| {
            let found = collection_table::find_live(conn, R::KIND, id)?;
            if let Some(name) = changes.name.as_ref().filter(|name| **name != found.name) {
                collection_table::rename_collection(conn, R::KIND, id, name)?;
            }
            changes.write(conn, R::KIND, id)
        })
    }
}

fn key_of(collection: i64) -> String {
    format!("{}{collection}", metadata::SEGMENT_PREFIX)
}

/// Returns the ids of all collections with this segment, live and removed, of any kind.
fn ids_at(conn: &Connection, segment: &str) -> Result<Vec<i64>> {
    let mut statement = conn.prepare_cached(
        "SELECT CAST(substr(key, length(?1) + 1) AS INTEGER) FROM meta \
         WHERE key GLOB ?1 || '*' AND value = ?2",
    )?;
    let all = statement.query_map((metadata::SEGMENT_PREFIX, segment), |r| r.get(0))?;
    Ok(all.collect::<rusqlite::Result<_>>()?)
}

/// Fails if a live collection of the kind has the segment.
fn expect_free(conn: &Connection, kind: CollectionKind, segment: &str) -> Result<()> {
    let ids = ids_at(conn, segment)?;
    let all = collection_table::list_collections(conn, kind)?;
    match all.into_iter().find(|one| ids.contains(&one.id)) {
        None => Ok(()),
        Some(CollectionRef { name, .. }) => Err(Error::SegmentExists {
            kind,
            name,
            segment: segment.to_owned(),
        }),
    }
}
