//! Copying and moving records to another collection of their kind.

use rusqlite::Connection;

use super::collection_table;
use super::handle::Collection;
use super::kind::RecordKind;
use super::prepared::IndexedRecord;
use super::records::{self, RecordWriter};
use crate::db::{IndexContext, TransactionSize};
use crate::error::{Error, Result};
use crate::types::{Condition, ETag, SavedRecord};

impl<R: RecordKind> Collection<R> {
    /// Copies records to another collection, in one transaction: all of them, or none. A copy keeps
    /// text and UID. [`SaveOutcome::Unchanged`](crate::SaveOutcome::Unchanged) is reported for a
    /// record that is there already, with the same text.
    ///
    /// Copies of calendar objects get the time zones that they name, not the rest of the object that
    /// they came in.
    ///
    /// # Errors
    /// [`Error::NoRecord`], or [`Error::Conflict`] if a condition on a record of this collection does
    /// not hold; [`Error::BatchConflict`] if the other collection has a record with its UID and
    /// another text; any write error. Nothing is changed then.
    pub fn copy_all_if<U: AsRef<str>>(
        &self,
        records: &[(U, Condition)],
        target: &Self,
    ) -> Result<Vec<SavedRecord>> {
        self.transfer(records, target, false)
    }

    /// Moves records to another collection, in one transaction: all of them, or none. They are added
    /// there as by [`Collection::copy_all_if`], and removed here. Moving them back is the undo: a
    /// record then has its former id again.
    ///
    /// # Errors
    /// As [`Collection::copy_all_if`].
    pub fn move_all_if<U: AsRef<str>>(
        &self,
        records: &[(U, Condition)],
        target: &Self,
    ) -> Result<Vec<SavedRecord>> {
        self.transfer(records, target, true)
    }

    fn transfer<U: AsRef<str>>(
        &self,
        transferred: &[(U, Condition)],
        target: &Self,
        is_move: bool,
    ) -> Result<Vec<SavedRecord>> {
        if target.id() == self.id() {
            return Err(Error::SameCollection {
                kind: R::KIND,
                name: self.name().to_owned(),
            });
        }
        let context = self.db().index_context();
        self.write(
            TransactionSize::of(transferred.len(), 0),
            |conn, writing| {
                // `write` checks the collection that it writes, not the other.
                collection_table::expect_exists(conn, R::KIND, target.collection_ref())?;
                let mut saved = Vec::with_capacity(transferred.len());
                for (index, (uid, condition)) in transferred.iter().enumerate() {
                    let uid = uid.as_ref();
                    check_source::<R>(conn, self.number(), uid, *condition)?;
                    let copied = copy_record::<R>(
                        conn,
                        writing,
                        &context,
                        [self.number(), target.number()],
                        uid,
                    );
                    saved.push(copied.map_err(|error| in_batch(error, index))?);
                    // After the copy, which reads the live record.
                    if is_move {
                        records::remove(conn, writing, self.number(), uid, Condition::Always)?;
                    }
                }
                Ok(saved)
            },
        )
    }
}

/// Checks the condition on a record that is copied.
fn check_source<R: RecordKind>(
    conn: &Connection,
    collection: i64,
    uid: &str,
    condition: Condition,
) -> Result<()> {
    let found = records::find_record(conn, collection, uid)?.filter(|found| !found.removed);
    let Some(found) = found else {
        return Err(Error::NoRecord {
            kind: R::KIND,
            uid: uid.to_owned(),
        });
    };
    records::check_condition(uid, condition, Some(&found))
}

/// Adds the live record with this UID to the second of two collections, unless it is there with
/// the same text.
fn copy_record<R: RecordKind>(
    conn: &Connection,
    writing: &mut RecordWriter<'_>,
    context: &IndexContext<'_>,
    [from, to]: [i64; 2],
    uid: &str,
) -> Result<SavedRecord> {
    let Some((text, shared, _)) = records::read_version(conn, from, uid)? else {
        return Err(Error::NoRecord {
            kind: R::KIND,
            uid: uid.to_owned(),
        });
    };
    let etag = ETag::of(&text);
    let there = records::find_record(conn, to, uid)?.filter(|there| !there.removed);
    let condition = match there {
        Some(there) if there.etag == etag => Condition::IfMatch(etag),
        _ => Condition::IfAbsent,
    };
    let record = R::stored(conn, text, shared)?;
    let one = IndexedRecord::new(&record, context).with_uid(uid);
    one.put(conn, writing, to, condition)
}

fn in_batch(error: Error, index: usize) -> Error {
    match error {
        Error::Conflict {
            uid,
            expected,
            found,
        } => Error::BatchConflict {
            index,
            uid,
            expected,
            found,
        },
        other => other,
    }
}
