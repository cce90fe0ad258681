//! Writing resources: put and remove.

use rusqlite::Connection;

use super::condition::ResourceCondition;
use super::kind::{ParsedResource, Resource};
use super::name::check_name;
use super::names::{self, NamedRecord};
use crate::db::{IndexContext, TransactionSize};
use crate::error::{Error, Result};
use crate::record::Collection;
use crate::record::prepared::IndexedRecord;
use crate::record::records::{self, RecordWriter};
use crate::resource_tag::ResourceTag;
use crate::types::{Condition, RecordId, SaveOutcome, SavedRecord};

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
    /// holds. The bytes are kept as they are, but for a merge:
    ///
    /// A contact that is stored as vCard 4.0 is given to many clients as 3.0, which cannot say all of it.
    /// A card of version 3.0 is therefore merged into the stored one
    /// ([`Card::merge_v3`](crate::contacts::Card::merge_v3)), and `is_verbatim` is false if that gives other
    /// bytes.
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
        let edited = R::parse_resource(bytes)?;
        if !R::may_merge(&edited.record) {
            return self.put_parsed(name, &edited, condition);
        }
        // Merged before the lock is taken, and again if another program was faster.
        loop {
            let stored = self.resource(name)?;
            condition.check(name, stored.as_ref().map(|stored| stored.tag))?;
            let (merged, is_unchanged) = match stored {
                Some(stored) => (
                    R::merge_edit(&edited.record, &stored.bytes)?,
                    ResourceCondition::IfMatch(vec![stored.tag]),
                ),
                None => (None, ResourceCondition::IfAbsent),
            };
            // A merge that changes nothing is saved as the client sent it.
            let merged = merged.filter(|merged| merged.text() != bytes);
            let merged = merged.map(|record| ParsedResource {
                record,
                source: None,
                is_verbatim: false,
            });
            match self.put_parsed(name, merged.as_ref().unwrap_or(&edited), &is_unchanged) {
                Err(Error::ConditionFailed { .. }) => {}
                saved => return saved,
            }
        }
    }

    /// Saves one resource that has no name yet; it gets a computed one.
    pub(crate) fn put_new(&self, bytes: &[u8]) -> Result<SavedResource> {
        let parsed = R::parse_resource(bytes)?;
        let new = parsed.index(&self.db().index_context());
        self.write(TransactionSize::of(1, bytes.len()), |conn, writing| {
            let saved = new.put(conn, writing, self.number(), Condition::Always)?;
            parsed.saved(conn, saved)
        })
    }

    fn put_parsed(
        &self,
        name: &str,
        parsed: &ParsedResource<R>,
        condition: &ResourceCondition,
    ) -> Result<SavedResource> {
        // Indexed before the lock is taken, as for any save.
        let new = parsed.index(&self.db().index_context());
        self.write(TransactionSize::of(1, new.text.len()), |conn, writing| {
            let found = find_if::<R>(conn, self.number(), name, condition)?;
            save_parsed(
                conn,
                writing,
                (self.number(), name),
                found.as_ref(),
                parsed,
                new,
            )
        })
    }

    /// Removes the resource of this name, if `condition` holds. It can be restored for 30 days.
    ///
    /// # Errors
    /// [`Error::ConditionFailed`]; [`Error::NoResource`]; any write error.
    pub fn remove_resource(&self, name: &str, condition: &ResourceCondition) -> Result<()> {
        self.write(TransactionSize::Small, |conn, writing| {
            let found = names::find::<R>(conn, self.number(), name)?;
            let found = found.filter(|found| !found.is_removed);
            condition.check(name, found.as_ref().map(|found| found.tag))?;
            let Some(found) = found else {
                return Err(Error::NoResource(name.to_owned()));
            };
            records::remove(conn, writing, self.number(), &found.uid, Condition::Always)?;
            Ok(())
        })
    }
}

impl<R: Resource> ParsedResource<R> {
    /// Derives the columns of the record.
    pub(crate) fn index(&self, context: &IndexContext<'_>) -> IndexedRecord<'_> {
        IndexedRecord::new(&self.record, context)
            .from(self.source.as_ref())
            .with_exact_source(R::HAS_SOURCE)
    }

    /// Returns the result of a save, in its transaction.
    pub(crate) fn saved(&self, conn: &Connection, saved: SavedRecord) -> Result<SavedResource> {
        let origin = self.source.as_ref().map(|source| source.origin(conn));
        let tag = match origin.transpose()? {
            Some(origin) => ResourceTag::new(saved.etag, origin.source, &origin.positions),
            None => ResourceTag::new(saved.etag, None, &[]),
        };
        Ok(SavedResource {
            tag,
            outcome: saved.outcome,
            id: saved.id,
            is_verbatim: self.is_verbatim,
        })
    }
}

/// Returns the record of a name, live or removed, after the condition is checked.
fn find_if<R: Resource>(
    conn: &Connection,
    collection: i64,
    name: &str,
    condition: &ResourceCondition,
) -> Result<Option<NamedRecord>> {
    let found = names::find::<R>(conn, collection, name)?;
    let live = found.as_ref().filter(|found| !found.is_removed);
    condition.check(name, live.map(|live| live.tag))?;
    Ok(found)
}

/// Saves a parsed resource under a name of a collection. `found` is the record of the name.
fn save_parsed<'r, R: Resource>(
    conn: &Connection,
    writing: &mut RecordWriter<'_>,
    to: (i64, &str),
    found: Option<&'r NamedRecord>,
    parsed: &ParsedResource<R>,
    new: IndexedRecord<'r>,
) -> Result<SavedResource> {
    let new = match found {
        // A text without a UID keeps the record.
        Some(live) if !live.is_removed && parsed.record.uid().is_none() => new.with_uid(&live.uid),
        _ => new,
    };
    let saved = save_named::<R>(conn, writing, to, found, &new)?;
    parsed.saved(conn, saved)
}

/// Saves an indexed resource under a name of a collection. `found` is the record of the name.
pub(super) fn save_named<R: Resource>(
    conn: &Connection,
    writing: &mut RecordWriter<'_>,
    (collection, name): (i64, &str),
    found: Option<&NamedRecord>,
    new: &IndexedRecord<'_>,
) -> Result<SavedRecord> {
    let uid = new.uid();
    let is_new_name = match found {
        Some(live) if !live.is_removed && live.uid != uid => {
            return Err(uid_taken(&live.uid, name.to_owned()));
        }
        Some(found) => found.uid != uid,
        None => {
            names::check_free::<R>(conn, name)?;
            true
        }
    };
    let mut released = None;
    if is_new_name && let Some(other) = names::find_by_uid::<R>(conn, collection, uid)? {
        if !other.is_removed {
            return Err(uid_taken(uid, names::name_of::<R>(conn, other.id)?));
        }
        // Before the record's own change, so that each entry of a page has its own number.
        released = Some(writing.reserve_seq());
    }
    let saved = new.put(conn, writing, collection, Condition::Always)?;
    if is_new_name {
        names::assign::<R>(conn, collection, saved.id.0, name, released)?;
    }
    Ok(saved)
}

pub(crate) fn uid_taken(uid: &str, name: String) -> Error {
    Error::UidTaken {
        uid: uid.to_owned(),
        name,
    }
}
