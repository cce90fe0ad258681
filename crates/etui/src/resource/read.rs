//! Reading resources: by name, many at once, and the listing of all.

use std::borrow::Cow;

use rusqlite::{Connection, OptionalExtension, Row};

use super::kind::Resource;
use super::name::computed_name;
use super::names;
use crate::error::Result;
use crate::record::{ReadState, Reader};
use crate::resource_tag::ResourceTag;
use crate::types::{ETag, RecordId};

/// A resource as it is served.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredResource {
    /// Its name, the last segment of its URL, decoded.
    pub name: String,
    /// Its record.
    pub id: RecordId,
    /// Its UID (or the identity that stands for one).
    pub uid: String,
    /// Its strong ETag.
    pub tag: ResourceTag,
    /// A vCard, or one calendar object with the time zones that it names.
    pub bytes: Vec<u8>,
}

/// An entry of the listing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedResource<'r> {
    /// Its name.
    pub name: Cow<'r, str>,
    /// Its record.
    pub id: RecordId,
    /// Its strong ETag.
    pub tag: ResourceTag,
    /// The size in bytes; `None` if that is not known without composing it.
    pub size: Option<u64>,
}

/// Returns the columns `name, etag, source, positions` of the record `r`.
pub(super) fn tag_columns<R: Resource>(has_names: bool) -> String {
    let name = if has_names { "n.name" } else { "NULL" };
    let source = match R::HAS_SOURCE {
        true => "r.source, r.positions",
        // These come after the text, which may be large.
        false => "NULL, NULL",
    };
    format!("{name}, r.etag, {source}")
}

/// Returns the join for the names of the records `r`.
pub(super) fn name_join(has_names: bool) -> &'static str {
    match has_names {
        true => "LEFT JOIN resource n ON n.record = r.id AND n.released = 0",
        false => "",
    }
}

/// Reads the name and the tag of the record `id` from the columns of [`tag_columns`], which start at
/// `first`.
pub(super) fn read_tag<'r, R: Resource>(
    row: &'r Row<'_>,
    first: usize,
    id: i64,
) -> Result<(Cow<'r, str>, ResourceTag)> {
    let name = match row.get_ref(first)?.as_str_or_null().ok().flatten() {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(computed_name(id, R::EXTENSION)),
    };
    let etag: ETag = row.get(first + 1)?;
    let positions = row.get_ref(first + 3)?.as_blob_or_null().ok().flatten();
    let positions = positions.unwrap_or_default();
    Ok((name, ResourceTag::new(etag, row.get(first + 2)?, positions)))
}

/// How a resource is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceKey<'k> {
    /// By its name.
    Name(&'k str),
    /// By the UID of its record.
    Uid(&'k str),
    /// By the id of its record.
    Id(RecordId),
}

impl<'k, N: AsRef<str> + ?Sized> From<&'k N> for ResourceKey<'k> {
    fn from(name: &'k N) -> Self {
        Self::Name(name.as_ref())
    }
}

impl From<RecordId> for ResourceKey<'_> {
    fn from(id: RecordId) -> Self {
        Self::Id(id)
    }
}

impl<R: Resource> Reader<R> {
    /// Returns a resource; `None` if there is none, or it was removed.
    ///
    /// # Errors
    /// Any read error.
    pub fn resource<'k>(&self, key: impl Into<ResourceKey<'k>>) -> Result<Option<StoredResource>> {
        let key = key.into();
        self.read(|state| state.resource(key, &mut R::Composer::default()))
    }

    /// Calls `visit` with the index of each key and its resource, in the order of `keys`, with one resource in memory at a time. An
    /// error of `visit` ends the iteration.
    ///
    /// # Errors
    /// Any read error, and the errors of `visit`.
    pub fn resources<'k, K: Into<ResourceKey<'k>>>(
        &self,
        keys: impl IntoIterator<Item = K>,
        mut visit: impl FnMut(usize, Option<StoredResource>) -> Result<()>,
    ) -> Result<()> {
        self.read(|state| {
            let mut composer = R::Composer::default();
            let mut keys = keys.into_iter().enumerate();
            keys.try_for_each(|(at, key)| visit(at, state.resource(key.into(), &mut composer)?))
        })
    }

    /// Returns the names and tags of records, in the order of `ids`; `None` where there is no live
    /// record. No text is read.
    ///
    /// # Errors
    /// Any read error.
    pub fn resource_names(&self, ids: &[RecordId]) -> Result<Vec<Option<(String, ResourceTag)>>> {
        self.read(|state| {
            let has_names = names::has_table(state.conn)?;
            let mut statement = state.conn.prepare_cached(&format!(
                "SELECT {} FROM record r {} \
                 WHERE r.id = ?1 AND r.collection = ?2 AND r.removed_at IS NULL",
                tag_columns::<R>(has_names),
                name_join(has_names)
            ))?;
            ids.iter()
                .map(|id| {
                    let mut rows = statement.query((id.0, state.collection))?;
                    let Some(row) = rows.next()? else {
                        return Ok(None);
                    };
                    let (name, tag) = read_tag::<R>(row, 0, id.0)?;
                    Ok(Some((name.into_owned(), tag)))
                })
                .collect()
        })
    }

    /// Calls `visit` with every resource, in the order in which the records were added. No text is
    /// read. An error of `visit` ends the iteration.
    ///
    /// # Errors
    /// Any read error, and the errors of `visit`.
    pub fn for_each_resource(
        &self,
        mut visit: impl FnMut(ListedResource<'_>) -> Result<()>,
    ) -> Result<()> {
        self.read(|state| {
            let has_names = names::has_table(state.conn)?;
            let mut statement = state.conn.prepare_cached(&format!(
                // In the order of the file, as `Reader::for_each`.
                "SELECT r.id, length(r.text), {} FROM record r NOT INDEXED {} \
                 WHERE r.collection = ?1 AND r.removed_at IS NULL ORDER BY r.id",
                tag_columns::<R>(has_names),
                name_join(has_names)
            ))?;
            let mut rows = statement.query([state.collection])?;
            while let Some(row) = rows.next()? {
                let id: i64 = row.get(0)?;
                let size: i64 = row.get(1)?;
                let (name, tag) = read_tag::<R>(row, 2, id)?;
                visit(ListedResource {
                    name,
                    id: RecordId(id),
                    tag,
                    size: (!R::HAS_SOURCE).then_some(size.unsigned_abs()),
                })?;
            }
            Ok(())
        })
    }
}

impl<R: Resource> ReadState<'_, R> {
    fn resource(
        &self,
        key: ResourceKey<'_>,
        composer: &mut R::Composer,
    ) -> Result<Option<StoredResource>> {
        let id = match key {
            ResourceKey::Name(name) => {
                return read_named::<R>(self.conn, self.collection, name, composer);
            }
            ResourceKey::Id(id) => id.0,
            ResourceKey::Uid(uid) => {
                match names::find_by_uid::<R>(self.conn, self.collection, uid)? {
                    Some(found) if !found.is_removed => found.id,
                    _ => return Ok(None),
                }
            }
        };
        read_live::<R>(self.conn, self.collection, id, None, composer)
    }
}

/// Returns the live resource of this name.
fn read_named<R: Resource>(
    conn: &Connection,
    collection: i64,
    name: &str,
    composer: &mut R::Composer,
) -> Result<Option<StoredResource>> {
    match names::find::<R>(conn, collection, name)? {
        Some(found) if !found.is_removed => {
            read_live::<R>(conn, collection, found.id, Some(name), composer)
        }
        _ => Ok(None),
    }
}

/// Returns the resource of a live record; its name is read unless it is known.
pub(super) fn read_live<R: Resource>(
    conn: &Connection,
    collection: i64,
    id: i64,
    name: Option<&str>,
    composer: &mut R::Composer,
) -> Result<Option<StoredResource>> {
    let found = conn
        .prepare_cached(
            "SELECT uid, etag, text, source, coalesce(positions, x'') FROM record \
             WHERE id = ?1 AND collection = ?2 AND removed_at IS NULL",
        )?
        .query_row((id, collection), |r| {
            let positions: Vec<u8> = r.get(4)?;
            Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, positions))
        })
        .optional()?;
    let Some((uid, etag, text, source, positions)) = found else {
        return Ok(None);
    };
    let name = match name {
        Some(name) => name.to_owned(),
        None => names::name_of::<R>(conn, id)?,
    };
    Ok(Some(StoredResource {
        name,
        id: RecordId(id),
        uid,
        tag: ResourceTag::new(etag, source, &positions),
        bytes: R::compose(composer, conn, text, source, &positions)?,
    }))
}

/// Returns the record of this id, live or removed; `None` if the collection has none.
pub(crate) fn find_record<R: Resource>(
    conn: &Connection,
    collection: i64,
    id: RecordId,
) -> Result<Option<names::NamedRecord>> {
    names::find_by_id::<R>(conn, collection, id.0)
}

/// Returns the bytes of a live record's resource.
pub(crate) fn read_resource<R: Resource>(
    conn: &Connection,
    collection: i64,
    id: RecordId,
) -> Result<Option<Vec<u8>>> {
    let name = Some("");
    let found = read_live::<R>(conn, collection, id.0, name, &mut R::Composer::default())?;
    Ok(found.map(|found| found.bytes))
}
