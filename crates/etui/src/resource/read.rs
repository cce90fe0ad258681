//! Reading resources: by name, many at once, and the listing of all.

use std::borrow::Cow;

use rusqlite::{Connection, OptionalExtension, Row};

use super::kind::Resource;
use super::name::computed_name;
use super::names;
use crate::error::Result;
use crate::record::{Collection, Reader};
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

impl<R: Resource> Reader<'_, R> {
    /// Returns the resource of this name; `None` if there is none, or it was removed.
    ///
    /// # Errors
    /// Any read error.
    pub fn resource(&self, name: &str) -> Result<Option<StoredResource>> {
        self.explain_errors(|| {
            let mut composer = R::Composer::default();
            read_named::<R>(self.conn, self.collection, name, &mut composer)
        })
    }

    /// Returns the resource of the record with this UID.
    ///
    /// # Errors
    /// Any read error.
    pub fn resource_by_uid(&self, uid: &str) -> Result<Option<StoredResource>> {
        self.explain_errors(|| {
            let found = names::find_by_uid::<R>(self.conn, self.collection, uid)?;
            match found.filter(|found| !found.is_removed) {
                Some(found) => {
                    let composer = &mut R::Composer::default();
                    read_live::<R>(self.conn, self.collection, found.id, None, composer)
                }
                None => Ok(None),
            }
        })
    }

    /// Returns the resource of the record with this id.
    ///
    /// # Errors
    /// Any read error.
    pub fn resource_by_id(&self, id: RecordId) -> Result<Option<StoredResource>> {
        self.explain_errors(|| {
            let composer = &mut R::Composer::default();
            read_live::<R>(self.conn, self.collection, id.0, None, composer)
        })
    }

    /// Calls `visit` with the index of each name and its resource, in the order of `names`, with one
    /// resource in memory at a time. An error of `visit` ends the iteration.
    ///
    /// # Errors
    /// Any read error, and the errors of `visit`.
    pub fn resources<N: AsRef<str>>(
        &self,
        names: &[N],
        mut visit: impl FnMut(usize, Option<StoredResource>) -> Result<()>,
    ) -> Result<()> {
        self.explain_errors(|| {
            let mut composer = R::Composer::default();
            for (index, name) in names.iter().enumerate() {
                let name = name.as_ref();
                let found = read_named::<R>(self.conn, self.collection, name, &mut composer)?;
                visit(index, found)?;
            }
            Ok(())
        })
    }

    /// Calls `visit` with the index of each record and its resource, as [`Reader::resources`] does
    /// for names.
    ///
    /// # Errors
    /// Any read error, and the errors of `visit`.
    pub fn resources_by_ids(
        &self,
        ids: &[RecordId],
        mut visit: impl FnMut(usize, Option<StoredResource>) -> Result<()>,
    ) -> Result<()> {
        self.explain_errors(|| {
            let composer = &mut R::Composer::default();
            for (index, id) in ids.iter().enumerate() {
                let found = read_live::<R>(self.conn, self.collection, id.0, None, composer)?;
                visit(index, found)?;
            }
            Ok(())
        })
    }

    /// Returns the names and tags of records, in the order of `ids`; `None` where there is no live
    /// record. No text is read.
    ///
    /// # Errors
    /// Any read error.
    pub fn resource_names(&self, ids: &[RecordId]) -> Result<Vec<Option<(String, ResourceTag)>>> {
        self.explain_errors(|| {
            let has_names = names::has_table(self.conn)?;
            let mut statement = self.conn.prepare_cached(&format!(
                "SELECT {} FROM record r {} \
                 WHERE r.id = ?1 AND r.collection = ?2 AND r.removed_at IS NULL",
                tag_columns::<R>(has_names),
                name_join(has_names)
            ))?;
            ids.iter()
                .map(|id| {
                    let mut rows = statement.query((id.0, self.collection))?;
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
        self.explain_errors(|| {
            let has_names = names::has_table(self.conn)?;
            let mut statement = self.conn.prepare_cached(&format!(
                // In the order of the file, as `Reader::for_each`.
                "SELECT r.id, length(r.text), {} FROM record r NOT INDEXED {} \
                 WHERE r.collection = ?1 AND r.removed_at IS NULL ORDER BY r.id",
                tag_columns::<R>(has_names),
                name_join(has_names)
            ))?;
            let mut rows = statement.query([self.collection])?;
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

impl<R: Resource> Collection<R> {
    /// Returns the resource of this name. See [`Reader::resource`].
    ///
    /// # Errors
    /// Any read error.
    pub fn resource(&self, name: &str) -> Result<Option<StoredResource>> {
        self.read(|r| r.resource(name))
    }

    /// Returns the resource of the record with this UID. See [`Reader::resource_by_uid`].
    ///
    /// # Errors
    /// Any read error.
    pub fn resource_by_uid(&self, uid: &str) -> Result<Option<StoredResource>> {
        self.read(|r| r.resource_by_uid(uid))
    }

    /// Returns the resource of the record with this id. See [`Reader::resource_by_id`].
    ///
    /// # Errors
    /// Any read error.
    pub fn resource_by_id(&self, id: RecordId) -> Result<Option<StoredResource>> {
        self.read(|r| r.resource_by_id(id))
    }

    /// Calls `visit` with the resource of each name. See [`Reader::resources`].
    ///
    /// # Errors
    /// Any read error, and the errors of `visit`.
    pub fn resources<N: AsRef<str>>(
        &self,
        names: &[N],
        visit: impl FnMut(usize, Option<StoredResource>) -> Result<()>,
    ) -> Result<()> {
        self.read(|r| r.resources(names, visit))
    }

    /// Returns the names and tags of records. See [`Reader::resource_names`].
    ///
    /// # Errors
    /// Any read error.
    pub fn resource_names(&self, ids: &[RecordId]) -> Result<Vec<Option<(String, ResourceTag)>>> {
        self.read(|r| r.resource_names(ids))
    }

    /// Calls `visit` with every resource. See [`Reader::for_each_resource`].
    ///
    /// # Errors
    /// Any read error, and the errors of `visit`.
    pub fn for_each_resource(
        &self,
        visit: impl FnMut(ListedResource<'_>) -> Result<()>,
    ) -> Result<()> {
        self.read(|r| r.for_each_resource(visit))
    }
}
