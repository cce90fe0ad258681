//! Properties of a collection that clients set and the store does not interpret (RFC 4918 section 4).

use rusqlite::Connection;

use super::kind::Resource;
use crate::db::TransactionSize;
use crate::error::{Error, Result};
use crate::record::{Collection, ReadState, Reader, collection_table};

const SCHEMA: &str = include_str!("property.sql");

/// Maximum size in bytes of the names and values of a collection's properties together.
pub const MAX_PROPERTY_BYTES: usize = 64 << 10;

/// A property of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionProperty {
    /// Its name, `{namespace}local name`.
    pub name: String,
    /// Its value, as the client wrote it.
    pub value: String,
}

fn has_table(conn: &Connection) -> Result<bool> {
    let sql = "SELECT 1 FROM sqlite_schema WHERE name = 'collection_property'";
    Ok(conn.prepare_cached(sql)?.exists([])?)
}

impl<R: Resource> Reader<R> {
    /// Returns the properties of the collection, by name.
    ///
    /// # Errors
    /// Any read error.
    pub fn properties(&self) -> Result<Vec<CollectionProperty>> {
        self.read(|r| r.properties())
    }
}

impl<R: Resource> ReadState<'_, R> {
    /// See [`Reader::properties`].
    pub(crate) fn properties(&self) -> Result<Vec<CollectionProperty>> {
        self.explain_errors(|| {
            if !has_table(self.conn)? {
                return Ok(Vec::new());
            }
            let mut statement = self.conn.prepare_cached(
                "SELECT name, value FROM collection_property WHERE collection = ?1 ORDER BY name",
            )?;
            let found = statement.query_map([self.collection], |r| {
                Ok(CollectionProperty {
                    name: r.get(0)?,
                    value: r.get(1)?,
                })
            })?;
            Ok(found.collect::<rusqlite::Result<_>>()?)
        })
    }
}

impl<R: Resource> Collection<R> {
    /// Sets properties, or removes those without a value: all of them, or none. A removed collection
    /// keeps its properties. They are not records: the collection's token stays.
    ///
    /// # Errors
    /// [`Error::TooManyProperties`]: together they would be larger than [`MAX_PROPERTY_BYTES`];
    /// [`Error::NoCollection`] if it was removed; any write error. Nothing is changed then.
    pub fn set_properties(&self, changes: &[(&str, Option<&str>)]) -> Result<()> {
        self.db().write_of(TransactionSize::Small, |conn| {
            collection_table::expect_exists(conn, R::KIND, self.collection_ref())?;
            set(conn, self.number(), changes)
        })
    }
}

/// Sets properties of a collection, or removes those without a value.
pub(crate) fn set<N: AsRef<str>, V: AsRef<str>>(
    conn: &Connection,
    collection: i64,
    changes: &[(N, Option<V>)],
) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    if !has_table(conn)? {
        conn.execute_batch(SCHEMA)?;
    }
    for (name, value) in changes {
        let name = name.as_ref();
        match value {
            Some(value) => conn
                .prepare_cached(
                    "INSERT INTO collection_property (collection, name, value) \
                     VALUES (?1, ?2, ?3) \
                     ON CONFLICT (collection, name) DO UPDATE SET value = ?3",
                )?
                .execute((collection, name, value.as_ref()))?,
            None => conn
                .prepare_cached(
                    "DELETE FROM collection_property WHERE collection = ?1 AND name = ?2",
                )?
                .execute((collection, name))?,
        };
    }
    // After the changes, since they may remove properties too; an error rolls them back.
    let size: i64 = conn
        .prepare_cached(
            "SELECT coalesce(sum(octet_length(name) + octet_length(value)), 0) \
             FROM collection_property WHERE collection = ?1",
        )?
        .query_row([collection], |r| r.get(0))?;
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    match size <= MAX_PROPERTY_BYTES {
        true => Ok(()),
        false => Err(Error::TooManyProperties { size }),
    }
}
