//! Writing resources: put and remove.

use rusqlite::Connection;

use super::condition::ResourceCondition;
use super::kind::{ParsedResource, Resource};
use super::name::check_name;
use super::names::{self, NamedRecord};
use super::read::{self, StoredResource};
use crate::db::TransactionSize;
use crate::error::{Error, Result};
use crate::record::prepared::IndexedRecord;
use crate::record::records::{self, RecordWriter};
use crate::record::{Collection, IndexedColumns};
use crate::resource_tag::ResourceTag;
use crate::types::{Condition, RecordId, SaveOutcome};

/// The result of saving a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SavedResource {
    /// Its tag now.
    pub tag: ResourceTag,
    /// The effect of the save.
    pub outcome: SaveOutcome,
    /// Its record.
    pub id: RecordId,
    /// Reading the resource gives back exactly the bytes that were given.
    pub is_verbatim: bool,
}

impl<R: Resource> Collection<R> {
    /// Saves one vCard, or one calendar object with its time zones, under a name, if `condition`
    /// holds. The bytes are kept as they are.
    ///
    /// A record of this UID in the trash comes back, under this name. A removed record that had this
    /// name and has another UID loses it. Text that came without a UID keeps the record of the name.
    ///
    /// # Errors
    /// [`Error::BadResourceName`]; [`Error::NotOneObject`], [`Error::Card`], [`Error::Record`]: the
    /// bytes are not one resource of this kind; [`Error::ConditionFailed`]; [`Error::UidTaken`]:
    /// another resource has the UID, or the resource has another UID; [`Error::ReservedName`]; any
    /// write error. Nothing is changed then.
    pub fn put_resource(
        &self,
        name: &str,
        bytes: &[u8],
        condition: &ResourceCondition,
    ) -> Result<SavedResource> {
        check_name(name)?;
        // Parsed before the lock is taken, as for any save.
        let parsed = R::parse_resource(bytes)?;
        let derived = parsed.record.index(&self.db().index_context());
        self.write(TransactionSize::of(1, bytes.len()), |conn, writing| {
            let mut put = ResourcePut {
                conn,
                writing,
                collection: self.id(),
                name,
            };
            let found = put.find::<R>(condition)?;
            put.save(found, &parsed, derived)
        })
    }

    /// Saves an edit that a client made of what it was given. See
    /// [`put_resource`](Self::put_resource).
    ///
    /// A contact that is stored as vCard 4.0 is given to many clients as 3.0, which cannot say all of it.
    /// If the edited card is of version 3.0, it is merged into the stored one
    /// ([`Card::merge_v3`](crate::contacts::Card::merge_v3)), and `is_verbatim` is false if that gives other
    /// bytes.
    ///
    /// # Errors
    /// As [`put_resource`](Self::put_resource).
    pub fn put_edited(
        &self,
        name: &str,
        bytes: &[u8],
        condition: &ResourceCondition,
    ) -> Result<SavedResource> {
        check_name(name)?;
        let with = self.db().index_context();
        let parsed = R::parse_resource(bytes)?;
        let derived = parsed.record.index(&with);
        self.write(TransactionSize::of(1, bytes.len()), |conn, writing| {
            let mut put = ResourcePut {
                conn,
                writing,
                collection: self.id(),
                name,
            };
            let found = put.find::<R>(condition)?;
            let stored = match R::may_merge(&parsed.record) {
                true => put.read_live::<R>(found.as_ref())?,
                false => None,
            };
            let merged = match stored {
                Some(stored) => R::merge_edit(&parsed.record, &stored.bytes)?,
                None => None,
            };
            let Some(merged) = merged.filter(|merged| merged != bytes) else {
                return put.save(found, &parsed, derived);
            };
            let parsed = R::parse_resource(&merged)?;
            let derived = parsed.record.index(&with);
            let saved = put.save(found, &parsed, derived)?;
            Ok(SavedResource {
                is_verbatim: false,
                ..saved
            })
        })
    }

    /// Saves one resource that has no name yet; it gets a computed one.
    pub(crate) fn put_new(&self, bytes: &[u8]) -> Result<SavedResource> {
        let parsed = R::parse_resource(bytes)?;
        let derived = parsed.record.index(&self.db().index_context());
        self.write(TransactionSize::of(1, bytes.len()), |conn, writing| {
            let one = IndexedRecord::derived(&parsed.record, derived)
                .from(parsed.source.as_ref())
                .with_exact_source(R::HAS_SOURCE);
            let saved = one.put(conn, writing, self.id(), Condition::Always)?;
            let stored = names::find_by_id::<R>(conn, self.id(), saved.id.0)?;
            Ok(SavedResource {
                tag: stored.map_or(ResourceTag::new(saved.etag, None, &[]), |stored| stored.tag),
                outcome: saved.outcome,
                id: saved.id,
                is_verbatim: parsed.is_verbatim,
            })
        })
    }

    /// Replaces the resource of this name by a result of `make`, in one transaction. `make` runs
    /// while no other program can write, and must not use the store.
    ///
    /// # Errors
    /// As [`put_resource`](Self::put_resource), and the errors of `make`.
    pub fn put_resource_with(
        &self,
        name: &str,
        condition: &ResourceCondition,
        make: impl FnOnce(Option<&StoredResource>) -> Result<Vec<u8>>,
    ) -> Result<SavedResource> {
        check_name(name)?;
        let with = self.db().index_context();
        self.write(TransactionSize::Small, |conn, writing| {
            let mut put = ResourcePut {
                conn,
                writing,
                collection: self.id(),
                name,
            };
            let found = put.find::<R>(condition)?;
            let stored = put.read_live::<R>(found.as_ref())?;
            let parsed = R::parse_resource(&make(stored.as_ref())?)?;
            let derived = parsed.record.index(&with);
            put.save(found, &parsed, derived)
        })
    }

    /// Removes the resource of this name, if `condition` holds. It can be restored for 30 days.
    ///
    /// # Errors
    /// [`Error::ConditionFailed`]; [`Error::NoResource`]; any write error.
    pub fn remove_resource(&self, name: &str, condition: &ResourceCondition) -> Result<()> {
        self.write(TransactionSize::Small, |conn, writing| {
            let found = names::find::<R>(conn, self.id(), name)?;
            let found = found.filter(|found| !found.is_removed);
            condition.check(name, found.as_ref().map(|found| found.tag))?;
            let Some(found) = found else {
                return Err(Error::NoResource(name.to_owned()));
            };
            records::remove(conn, writing, self.id(), &found.uid, Condition::Always)?;
            Ok(())
        })
    }
}

/// Saves one resource inside a write transaction.
pub(super) struct ResourcePut<'p, 'o> {
    pub(super) conn: &'p Connection,
    pub(super) writing: &'p mut RecordWriter<'o>,
    pub(super) collection: i64,
    pub(super) name: &'p str,
}

impl ResourcePut<'_, '_> {
    /// Returns the record of the name, live or removed, after the condition is checked.
    fn find<R: Resource>(&self, condition: &ResourceCondition) -> Result<Option<NamedRecord>> {
        let found = names::find::<R>(self.conn, self.collection, self.name)?;
        let live = found.as_ref().filter(|found| !found.is_removed);
        condition.check(self.name, live.map(|live| live.tag))?;
        Ok(found)
    }

    /// Returns the resource of the name, unless it is removed. `found` is its record.
    fn read_live<R: Resource>(
        &self,
        found: Option<&NamedRecord>,
    ) -> Result<Option<StoredResource>> {
        let Some(live) = found.filter(|found| !found.is_removed) else {
            return Ok(None);
        };
        let composer = &mut R::Composer::default();
        read::read_live::<R>(
            self.conn,
            self.collection,
            live.id,
            Some(self.name),
            composer,
        )
    }

    /// Saves a resource. `found` is the record of the name.
    fn save<R: Resource>(
        &mut self,
        found: Option<NamedRecord>,
        parsed: &ParsedResource<R>,
        derived: IndexedColumns,
    ) -> Result<SavedResource> {
        let live = found.as_ref().filter(|found| !found.is_removed);
        let uid = match (parsed.record.uid(), live) {
            // A text without a UID keeps the record.
            (None, Some(live)) => live.uid.clone(),
            _ => parsed.record.identity().into_owned(),
        };
        self.save_as(found, parsed, derived, &uid)
    }

    /// Saves a resource as the record with this UID. `found` is the record of the name.
    pub(super) fn save_as<R: Resource>(
        &mut self,
        found: Option<NamedRecord>,
        parsed: &ParsedResource<R>,
        derived: IndexedColumns,
        uid: &str,
    ) -> Result<SavedResource> {
        let is_new_name = match &found {
            Some(live) if !live.is_removed && live.uid != uid => {
                return Err(uid_taken(&live.uid, self.name.to_owned()));
            }
            Some(found) => found.uid != uid,
            None => {
                names::check_free::<R>(self.conn, self.name)?;
                true
            }
        };
        let mut released = None;
        if is_new_name
            && let Some(other) = names::find_by_uid::<R>(self.conn, self.collection, uid)?
        {
            if !other.is_removed {
                return Err(uid_taken(uid, names::name_of::<R>(self.conn, other.id)?));
            }
            // Before the record's own change, so that each entry of a page has its own number.
            released = Some(self.writing.reserve_seq());
        }
        let one = IndexedRecord::derived(&parsed.record, derived).with_uid(uid);
        let one = one
            .from(parsed.source.as_ref())
            .with_exact_source(R::HAS_SOURCE);
        let saved = one.put(self.conn, self.writing, self.collection, Condition::Always)?;
        if is_new_name {
            names::assign::<R>(self.conn, self.collection, saved.id.0, self.name, released)?;
        }
        let stored = match R::HAS_SOURCE {
            true => names::find_by_id::<R>(self.conn, self.collection, saved.id.0)?,
            false => None,
        };
        Ok(SavedResource {
            tag: stored.map_or(ResourceTag::new(saved.etag, None, &[]), |stored| stored.tag),
            outcome: saved.outcome,
            id: saved.id,
            is_verbatim: parsed.is_verbatim,
        })
    }
}

pub(super) fn uid_taken(uid: &str, name: String) -> Error {
    Error::UidTaken {
        uid: uid.to_owned(),
        name,
    }
}
