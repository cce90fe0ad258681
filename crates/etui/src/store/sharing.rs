//! Sharing: collections of this store that other people may use, and those of other people's stores that this one
//! refers to.
//!
//! A shared collection exists once, in the store of its owner, which alone says who may use it ([`Grant`]). The store
//! of the other person has a [`Reference`]: the name, the colour and the properties that this person gives it, and no
//! record. A server that has both stores looks up the grant at each request, so a reference gives no right.
//!
//! A reference is a row of `collection` of a kind of its own, which nothing else lists: it has an id that no other
//! collection has, and takes properties and colour as they do.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension};

use super::Store;
use crate::db::TransactionSize;
use crate::error::{Error, Result};
use crate::record::collection_table::{self, CollectionRef};
use crate::types::{CollectionId, CollectionKind, now_ms};

/// The table of grants, made with the first one. `docs/src/schema.md` explains it.
const SCHEMA: &str = "\
CREATE TABLE IF NOT EXISTS share (
    collection INTEGER NOT NULL,
    person     TEXT NOT NULL,
    may_write  INTEGER NOT NULL,
    PRIMARY KEY (collection, person)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS share_purge AFTER DELETE ON collection BEGIN
    DELETE FROM share WHERE collection = OLD.id;
END;";

/// A person's right to use a collection of this store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    /// The collection.
    pub collection: CollectionId,
    /// The name of the person, as the server knows it.
    pub person: String,
    /// Whether this person may change it; everybody named may read it.
    pub may_write: bool,
}

/// A collection of another person's store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reference {
    /// The id of the reference in this store. No collection of the store has it.
    pub id: CollectionId,
    /// The kind of the collection.
    pub kind: CollectionKind,
    /// The name under which this person sees it.
    pub name: String,
    /// The name of the owner, as the server knows it.
    pub owner: String,
    /// The id of the collection in the owner's store.
    pub collection: CollectionId,
}

/// The shared collections of a store.
pub struct Sharing<'s>(&'s Store);

impl Store {
    /// Returns the collections that are shared with others, and by them.
    pub fn sharing(&self) -> Sharing<'_> {
        Sharing(self)
    }
}

impl Sharing<'_> {
    /// Lets a person use a collection of this store, or changes that right.
    ///
    /// ```
    /// # use etui::Store;
    /// use etui::store::Grant;
    /// # let dir = tempfile::tempdir()?;
    /// # let store = Store::open(dir.path().join("ada.etui"))?;
    /// let grant = Grant {
    ///     collection: store.calendar()?.id(),
    ///     person: "bob".to_owned(),
    ///     may_write: false,
    /// };
    /// store.sharing().grant(&grant)?;
    /// assert_eq!(store.sharing().grants()?, [grant]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoCollection`]: no address book or calendar has this id; any write error.
    pub fn grant(&self, grant: &Grant) -> Result<()> {
        self.0.db.write_of(TransactionSize::Small, |conn| {
            let id = grant.collection.0;
            let found = collection_table::find_by_id(conn, id)?;
            let shareable =
                |kind| matches!(kind, CollectionKind::Contacts | CollectionKind::Calendar);
            if !found.is_some_and(|(kind, _, exists)| exists && shareable(kind)) {
                // The error names those that there are.
                return collection_table::find_live(conn, CollectionKind::Calendar, id).map(drop);
            }
            conn.execute_batch(SCHEMA)?;
            conn.execute(
                "INSERT OR REPLACE INTO share (collection, person, may_write) VALUES (?1, ?2, ?3)",
                (id, &grant.person, grant.may_write),
            )?;
            Ok(())
        })
    }

    /// Takes the right to use a collection from a person; returns false if this person had none.
    ///
    /// # Errors
    /// Any write error.
    pub fn revoke(&self, collection: CollectionId, person: &str) -> Result<bool> {
        self.0.db.write_of(TransactionSize::Small, |conn| {
            if !has_grants(conn)? {
                return Ok(false);
            }
            let revoked = conn.execute(
                "DELETE FROM share WHERE collection = ?1 AND person = ?2",
                (collection.0, person),
            )?;
            Ok(revoked > 0)
        })
    }

    /// Returns the rights of others, by collection and person; those of a removed collection, too.
    ///
    /// # Errors
    /// Any read error.
    pub fn grants(&self) -> Result<Vec<Grant>> {
        self.0.db.read_transaction(|conn| {
            if !has_grants(conn)? {
                return Ok(Vec::new());
            }
            let mut all = conn.prepare_cached(
                "SELECT collection, person, may_write FROM share ORDER BY collection, person",
            )?;
            let all = all.query_map([], |row| {
                Ok(Grant {
                    collection: CollectionId(row.get(0)?),
                    person: row.get(1)?,
                    may_write: row.get(2)?,
                })
            })?;
            Ok(all.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Refers to a collection of another person's store under a name, to which a number is added if another reference
    /// of this kind has it, or a collection of this store. A reference that there is stays as it is.
    ///
    /// # Errors
    /// [`Error::BadName`]; any write error.
    pub fn refer(
        &self,
        kind: CollectionKind,
        owner: &str,
        collection: CollectionId,
        name: &str,
    ) -> Result<Reference> {
        self.0.db.write_of(TransactionSize::Small, |conn| {
            let all = list(conn)?;
            let is_it = |one: &&Reference| {
                (one.kind, one.owner.as_str(), one.collection) == (kind, owner, collection)
            };
            if let Some(found) = all.iter().find(is_it) {
                return Ok(found.clone());
            }
            collection_table::check_name(kind, name)?;
            let own = collection_table::list_collections(conn, kind)?.into_iter();
            let taken: BTreeSet<String> = own
                .map(|one| one.name)
                .chain(
                    all.into_iter()
                        .filter(|one| one.kind == kind)
                        .map(|one| one.name),
                )
                .collect();
            let names = std::iter::once(name.to_owned())
                .chain((2..).map(|number: u32| format!("{name} {number}")));
            // There is a free one: fewer are taken than are tried.
            let free = names.into_iter().find(|name| !taken.contains(name));
            let name = free.unwrap_or_else(|| name.to_owned());
            let target = external_id(owner, collection);
            // One that was removed comes back with its path, colour and properties.
            let removed: Option<i64> = conn
                .query_row(
                    "SELECT id FROM collection WHERE kind = ?1 AND external_id = ?2",
                    (schema_name(kind), &target),
                    |row| row.get(0),
                )
                .optional()?;
            let id = match removed {
                Some(id) => {
                    conn.execute(
                        "UPDATE collection SET removed_at = NULL, name = ?2 WHERE id = ?1",
                        (id, &name),
                    )?;
                    id
                }
                None => {
                    conn.execute(
                        "INSERT INTO collection (kind, name, external_id) VALUES (?1, ?2, ?3)",
                        (schema_name(kind), &name, &target),
                    )?;
                    conn.last_insert_rowid()
                }
            };
            Ok(Reference {
                id: CollectionId(id),
                kind,
                name,
                owner: owner.to_owned(),
                collection,
            })
        })
    }

    /// Removes a reference; the collection stays as it is, in its owner's store. Returns false if there was none.
    ///
    /// # Errors
    /// Any write error.
    pub fn remove_reference(&self, id: CollectionId) -> Result<bool> {
        self.0.db.write_of(TransactionSize::Small, |conn| {
            // The row stays for a while, so that its id is not given to another collection.
            let removed = conn.execute(
                "UPDATE collection SET removed_at = ?2 \
                 WHERE id = ?1 AND kind GLOB 'shared-*' AND removed_at IS NULL",
                (id.0, now_ms()),
            )?;
            Ok(removed > 0)
        })
    }

    /// Returns the collections of others that this store refers to, in the order in which they came.
    ///
    /// # Errors
    /// Any read error.
    pub fn references(&self) -> Result<Vec<Reference>> {
        self.0.db.read(list)
    }
}

/// Returns the reference with this id. Its handle has name, colour and properties, and no record.
pub(super) fn find_reference(
    conn: &Connection,
    kind: CollectionKind,
    id: CollectionId,
) -> Result<CollectionRef> {
    let mut all = list(conn)?.into_iter();
    let found = all.find(|one| (one.kind, one.id) == (kind, id));
    let found = found.ok_or_else(|| Error::NoCollection {
        kind,
        name: id.to_string(),
        known: Vec::new(),
    })?;
    Ok(CollectionRef {
        id: found.id.0,
        name: found.name,
    })
}

fn list(conn: &Connection) -> Result<Vec<Reference>> {
    let mut all = conn.prepare_cached(
        "SELECT id, kind, name, external_id FROM collection NOT INDEXED \
         WHERE kind GLOB 'shared-*' AND removed_at IS NULL ORDER BY id",
    )?;
    let mut rows = all.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (kind, target): (String, Option<String>) = (row.get(1)?, row.get(3)?);
        let kind = kind
            .strip_prefix("shared-")
            .and_then(CollectionKind::from_schema_name);
        let target = target.as_deref().and_then(|target| target.rsplit_once('/'));
        // A row that another program wrote in another form is none of ours.
        if let Some(kind) = kind
            && let Some((owner, collection)) = target
            && let Ok(collection) = collection.parse()
        {
            found.push(Reference {
                id: CollectionId(row.get(0)?),
                kind,
                name: row.get(2)?,
                owner: owner.to_owned(),
                collection: CollectionId(collection),
            });
        }
    }
    Ok(found)
}

fn external_id(owner: &str, collection: CollectionId) -> String {
    format!("{owner}/{collection}")
}

fn schema_name(kind: CollectionKind) -> String {
    format!("shared-{}", kind.schema_name())
}

fn has_grants(conn: &Connection) -> Result<bool> {
    let mut found = conn.prepare_cached("SELECT 1 FROM sqlite_schema WHERE name = 'share'")?;
    Ok(found.exists([])?)
}
