//! Collections as clients of a sync server make and change them: found by the segment of their URL, and
//! changed as a whole.
//!
//! The *segment* is the last segment of a collection's URL, chosen by the client that made it. It is in
//! `meta`, under `segment.ID` with the collection's id, beside its name and external id, and never
//! changes. A removed collection keeps it; if another one was made there meanwhile, the segment means
//! the later one.

use rusqlite::Connection;

use crate::calendar::{Color, write_color};
use crate::db::metadata;
use crate::error::{Error, Result};
use crate::record::collection_table::CollectionRef;
use crate::record::steps::{self, CollectionChange};
use crate::record::{Reader, collection_table, external_id};
use crate::resource::{Resource, check_name, set_properties};
use crate::types::CollectionKind;

/// Changes of a collection that are made together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectionChanges {
    /// Its new name.
    pub name: Option<String>,
    /// The new colour of a calendar; `Some(None)`: it has none. An address book has no colour.
    pub color: Option<Option<Color>>,
    /// Properties to set, and those to remove, which have no value. See
    /// [`Collection::set_properties`](crate::record::Collection::set_properties).
    pub properties: Vec<(String, Option<String>)>,
}

impl CollectionChanges {
    /// Makes the changes other than that of the name.
    pub(super) fn write(
        &self,
        conn: &Connection,
        kind: CollectionKind,
        collection: i64,
    ) -> Result<()> {
        if let Some(color) = self.color
            && kind == CollectionKind::Calendar
        {
            write_color(conn, collection, color)?;
        }
        set_properties(conn, collection, &self.properties)
    }
}

/// A collection to create.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NewCollection<'n> {
    /// Its name; without one it is named like its segment.
    pub name: Option<&'n str>,
    /// Its external id: 1 to 255 bytes without control characters, unique within its kind. See
    /// [`CollectionKey::ExternalId`](crate::store::CollectionKey::ExternalId).
    pub external_id: Option<&'n str>,
    /// The segment of its URL. See [`CollectionKey::Segment`](crate::store::CollectionKey::Segment).
    pub segment: Option<&'n str>,
    /// Its colour and properties; a name there counts, too.
    pub changes: Option<&'n CollectionChanges>,
}

impl<'n> NewCollection<'n> {
    pub(super) fn create(&self, conn: &Connection, kind: CollectionKind) -> Result<CollectionRef> {
        if let Some(segment) = self.segment {
            check_name(segment)?;
            expect_free(conn, kind, segment)?;
        }
        let changed_name = self.changes.and_then(|changes| changes.name.as_deref());
        let name = self.name.or(changed_name).or(self.segment);
        // No name is no valid one.
        let name = name.unwrap_or_default();
        let made = collection_table::create_collection(conn, kind, name)?;
        if self.external_id.is_some() {
            external_id::set(conn, kind, made.id, self.external_id)?;
        }
        if let Some(segment) = self.segment {
            metadata::set(conn, &key_of(made.id), segment)?;
        }
        if let Some(changes) = self.changes {
            changes.write(conn, kind, made.id)?;
        }
        // What a desktop or a client made by itself is no step that a person undoes.
        if self.external_id.is_none() && self.segment.is_none() {
            let change = CollectionChange::Created;
            steps::record_collection(conn, made.id, change, None, Some(name))?;
        }
        Ok(made)
    }
}

impl<'n, N: AsRef<str> + ?Sized> From<&'n N> for NewCollection<'n> {
    fn from(name: &'n N) -> Self {
        Self {
            name: Some(name.as_ref()),
            ..Self::default()
        }
    }
}

impl<R: Resource> Reader<R> {
    /// Returns the segment of the collection's URL; `None`: no client chose one.
    ///
    /// # Errors
    /// Any read error.
    pub fn segment(&self) -> Result<Option<String>> {
        self.read(|state| read_segment(state.conn, state.collection))
    }
}

/// Returns the segment of a collection, live or removed.
pub(super) fn read_segment(conn: &Connection, collection: i64) -> Result<Option<String>> {
    metadata::get_value(conn, &key_of(collection))
}

/// Returns the live collection with this segment.
pub(super) fn find_segment(
    conn: &Connection,
    kind: CollectionKind,
    segment: &str,
) -> Result<Option<CollectionRef>> {
    let all = collection_table::list_collections(conn, kind)?;
    let ids = ids_at(conn, segment)?;
    Ok(all
        .into_iter()
        .rfind(|collection| ids.contains(&collection.id)))
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
    match find_segment(conn, kind, segment)? {
        None => Ok(()),
        Some(CollectionRef { name, .. }) => Err(Error::SegmentExists {
            kind,
            name,
            segment: segment.to_owned(),
        }),
    }
}
