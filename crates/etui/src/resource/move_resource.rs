//! Moving and copying a resource: to another name, or to another collection.

use rusqlite::Connection;

use super::condition::ResourceCondition;
use super::kind::{ParsedResource, Resource};
use super::name::check_name;
use super::names::{self, NamedRecord};
use super::write::{SavedResource, save_named, uid_taken};
use crate::db::TransactionSize;
use crate::error::{Error, Result};
use crate::record::records::{self, RecordWriter};
use crate::record::shared::SourceObject;
use crate::record::{Collection, collection_table};
use crate::types::{Condition, RecordId, SaveOutcome};

impl<R: Resource> Collection<R> {
    /// Moves a resource to another name or collection, if `condition` holds for it. In another
    /// collection it is a new record with the same bytes; here the record goes to the trash.
    ///
    /// With `overwrite` a resource that has the new name and the same UID is replaced.
    ///
    /// # Errors
    /// [`Error::NoResource`]; [`Error::ConditionFailed`], with the new name if there is a resource
    /// and it is not to be overwritten; [`Error::UidTaken`]: a resource there has its UID and another
    /// name, or the new name and another UID; [`Error::BadResourceName`], [`Error::ReservedName`]; any write error. Nothing is changed
    /// then.
    pub fn move_resource(
        &self,
        name: &str,
        condition: &ResourceCondition,
        target: &Self,
        to: &str,
        overwrite: bool,
    ) -> Result<SavedResource> {
        self.transfer_resource(name, condition, (target, to), overwrite, false)
    }

    /// Copies a resource to another collection, if `condition` holds for it. It is a new record there with
    /// the same bytes.
    ///
    /// With `overwrite` a resource that has the new name and the same UID is replaced.
    ///
    /// # Errors
    /// As [`move_resource`](Self::move_resource). In one collection a UID is unique: a copy there is
    /// [`Error::UidTaken`].
    pub fn copy_resource(
        &self,
        name: &str,
        condition: &ResourceCondition,
        target: &Self,
        to: &str,
        overwrite: bool,
    ) -> Result<SavedResource> {
        self.transfer_resource(name, condition, (target, to), overwrite, true)
    }

    fn transfer_resource(
        &self,
        name: &str,
        condition: &ResourceCondition,
        (target, to): (&Self, &str),
        overwrite: bool,
        is_copy: bool,
    ) -> Result<SavedResource> {
        check_name(to)?;
        self.write(TransactionSize::Small, |conn, writing| {
            collection_table::expect_exists(conn, R::KIND, target.collection_ref())?;
            let live = |collection, name| -> Result<Option<NamedRecord>> {
                Ok(names::find::<R>(conn, collection, name)?.filter(|found| !found.is_removed))
            };
            let moved = live(self.number(), name)?;
            condition.check(name, moved.as_ref().map(|moved| moved.tag))?;
            let Some(moved) = moved else {
                return Err(Error::NoResource(name.to_owned()));
            };
            let is_same = |other: &NamedRecord| other.id == moved.id;
            let there = live(target.number(), to)?;
            if there.as_ref().is_some_and(is_same) {
                return Ok(unchanged(&moved));
            }
            if let Some(there) = &there {
                if !overwrite {
                    ResourceCondition::IfAbsent.check(to, Some(there.tag))?;
                }
                // RFC 4791 section 5.3.2.1: one of another UID is not overwritten.
                if there.uid != moved.uid {
                    return Err(uid_taken(&there.uid, to.to_owned()));
                }
            }
            let mut saved = if self.id() == target.id() && !is_copy {
                rename::<R>(conn, writing, self.number(), &moved, to)?
            } else {
                copy::<R>(conn, writing, self, &moved, (target, to))?
            };
            // After the copy, which reads the live record.
            if self.id() != target.id() && !is_copy {
                records::remove(conn, writing, self.number(), &moved.uid, Condition::Always)?;
            }
            saved.outcome = match there {
                Some(_) => SaveOutcome::Changed,
                None => SaveOutcome::Added,
            };
            Ok(saved)
        })
    }
}

fn unchanged(moved: &NamedRecord) -> SavedResource {
    SavedResource {
        tag: moved.tag,
        outcome: SaveOutcome::Unchanged,
        id: RecordId(moved.id),
        is_verbatim: true,
    }
}

/// Gives a live record another name.
fn rename<R: Resource>(
    conn: &Connection,
    writing: &mut RecordWriter<'_>,
    collection: i64,
    moved: &NamedRecord,
    to: &str,
) -> Result<SavedResource> {
    if names::find::<R>(conn, collection, to)?.is_none() {
        names::check_free::<R>(conn, to)?;
    }
    // Before the record's own change, so that the released name has a number of its own.
    let released = writing.reserve_seq();
    records::log_rename(conn, writing, moved.id)?;
    names::assign::<R>(conn, collection, moved.id, to, Some(released))?;
    Ok(unchanged(moved))
}

/// Saves a live record of a collection in another one.
fn copy<R: Resource>(
    conn: &Connection,
    writing: &mut RecordWriter<'_>,
    from: &Collection<R>,
    moved: &NamedRecord,
    (target, to): (&Collection<R>, &str),
) -> Result<SavedResource> {
    let Some((text, shared, positions)) = records::read_version(conn, from.number(), &moved.uid)?
    else {
        return Err(Error::NoResource(to.to_owned()));
    };
    let record = R::stored(conn, text, shared)?;
    let source =
        R::HAS_SOURCE.then(|| SourceObject::stored(shared, &positions, record.component_count()));
    let parsed = ParsedResource {
        record,
        source,
        is_verbatim: true,
    };
    let new = parsed.index(&from.db().index_context());
    let found = names::find::<R>(conn, target.number(), to)?;
    let to = (target.number(), to);
    let saved = save_named::<R>(conn, writing, to, found.as_ref(), &new.with_uid(&moved.uid))?;
    parsed.saved(conn, saved)
}
