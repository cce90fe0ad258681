//! Writing records: save, remove and restore, the same for every kind. One record is a batch of
//! one.

use rusqlite::Connection;

use super::collection_table;
use super::handle::Collection;
use super::kind::RecordKind;
use super::prepared::IndexedRecord;
use super::records::{self, RecordWriter};
use super::shared::SourceObject;
use crate::db::IndexContext;
use crate::db::TransactionSize;
use crate::error::{Error, Result};
use crate::types::{Condition, SavedRecord};

/// A record to save, and how: a reference to a record, or one with a [`Condition`].
#[derive(Debug)]
pub struct Save<'r, R> {
    /// The record.
    pub record: &'r R,
    /// What must hold.
    pub condition: Condition,
    /// The UID of the stored record, for records without a UID of their own: an edit changes the identity that
    /// their content gave them, but not the record.
    pub uid: Option<&'r str>,
}

impl<R: RecordKind> Save<'_, R> {
    /// Fails if the record has another UID than the one that it is to be saved under.
    fn check_uid(&self) -> Result<()> {
        match (self.uid, self.record.uid()) {
            (Some(uid), Some(own)) if own != uid => Err(Error::OtherUid {
                uid: uid.to_owned(),
                found: own.to_owned(),
            }),
            _ => Ok(()),
        }
    }
}

impl<'r, R> From<&'r R> for Save<'r, R> {
    fn from(record: &'r R) -> Self {
        (record, Condition::Always).into()
    }
}

impl<'r, R> From<(&'r R, Condition)> for Save<'r, R> {
    fn from((record, condition): (&'r R, Condition)) -> Self {
        Self {
            record,
            condition,
            uid: None,
        }
    }
}

impl<'r, R> From<&(&'r R, Condition)> for Save<'r, R> {
    fn from(&(record, condition): &(&'r R, Condition)) -> Self {
        (record, condition).into()
    }
}

/// A record to remove: its UID, or that with a [`Condition`].
#[derive(Debug, Clone, Copy)]
pub struct Removal<'r> {
    /// The UID.
    pub uid: &'r str,
    /// What must hold.
    pub condition: Condition,
}

impl<'r, U: AsRef<str> + ?Sized> From<&'r U> for Removal<'r> {
    fn from(uid: &'r U) -> Self {
        (uid, Condition::Always).into()
    }
}

impl<'r, U: AsRef<str> + ?Sized> From<(&'r U, Condition)> for Removal<'r> {
    fn from((uid, condition): (&'r U, Condition)) -> Self {
        let uid = uid.as_ref();
        Self { uid, condition }
    }
}

impl<R: RecordKind> Collection<R> {
    /// Saves a record: adds it, or replaces the one with its UID. With a condition:
    /// `save((&card, Condition::IfMatch(etag)))`; see [`Save`].
    ///
    /// # Errors
    /// [`Error::Conflict`]: a condition does not hold; [`Error::OtherUid`]: the record has another UID than
    /// [`Save::uid`]; any write error. Nothing is changed then.
    pub fn save<'r>(&self, record: impl Into<Save<'r, R>>) -> Result<SavedRecord>
    where
        R: 'r,
    {
        let save = record.into();
        save.check_uid()?;
        // Derived before the lock is taken: it takes longer than the writing.
        let context = self.db().index_context();
        let new = IndexedRecord::new(save.record, &context);
        let new = match save.uid {
            Some(uid) => new.with_uid(uid),
            None => new,
        };
        self.write(TransactionSize::of(1, new.text.len()), |conn, writing| {
            new.put(conn, writing, self.number(), save.condition)
        })
    }

    /// Saves many records in one transaction: all of them, or, on an error, none.
    ///
    /// A condition is checked after the records before it are saved. So a UID that occurs twice
    /// is refused with [`Condition::IfAbsent`].
    ///
    /// ```
    /// # use etui::{Condition, Error, Store, contacts::Card};
    /// # let dir = tempfile::tempdir()?;
    /// # let store = Store::open(dir.path().join("personal.etui"))?;
    /// # let contacts = store.contacts()?;
    /// let ada = Card::parse("BEGIN:VCARD\nVERSION:4.0\nUID:ada\nFN:Ada Lovelace\nEND:VCARD\n")?;
    /// let alan = Card::parse("BEGIN:VCARD\nVERSION:4.0\nUID:alan\nFN:Alan Turing\nEND:VCARD\n")?;
    /// contacts.save_many([&alan])?;
    /// match contacts.save_many([(&ada, Condition::IfAbsent), (&alan, Condition::IfAbsent)]) {
    ///     Err(Error::BatchConflict { index, uid, .. }) => assert_eq!((index, &*uid), (1, "alan")),
    ///     other => panic!("{other:?}"),
    /// }
    /// assert_eq!(contacts.count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BatchConflict`] with the first record whose condition does not hold; any write
    /// error. Nothing is changed then.
    pub fn save_many<'r, S: Into<Save<'r, R>>>(
        &self,
        records: impl IntoIterator<Item = S>,
    ) -> Result<Vec<SavedRecord>>
    where
        R: 'r,
    {
        let all = records.into_iter().map(|record| (record.into(), None));
        self.put_all(all, |index, result| match result {
            Err(Error::Conflict {
                uid,
                expected,
                found,
            }) => Err(Error::BatchConflict {
                index,
                uid,
                expected,
                found,
            }),
            other => other,
        })
    }

    /// Saves many records in one transaction. A record whose condition does not hold is skipped, and its
    /// error returned; the others are saved.
    ///
    /// # Errors
    /// Any write error; nothing is changed then.
    pub fn save_each<'r, S: Into<Save<'r, R>>>(
        &self,
        records: impl IntoIterator<Item = S>,
    ) -> Result<Vec<Result<SavedRecord>>>
    where
        R: 'r,
    {
        self.save_found(records.into_iter().map(|record| (record.into(), None)))
    }

    /// Like [`Collection::save_each`], for records with a known source object.
    pub(crate) fn save_found<'r>(
        &self,
        records: impl IntoIterator<Item = (Save<'r, R>, Option<&'r SourceObject>)>,
    ) -> Result<Vec<Result<SavedRecord>>>
    where
        R: 'r,
    {
        self.put_all(records, |_, result| match result {
            // A record's own failure is not the transaction's.
            Err(e @ Error::Conflict { .. }) => Ok(Err(e)),
            Err(e) => Err(e),
            Ok(saved) => Ok(Ok(saved)),
        })
    }

    /// Saves many records in one transaction. `map_result` maps the result of each, by its index, to
    /// that of the batch; an error ends the batch, and nothing is changed.
    fn put_all<'r, T>(
        &self,
        records: impl IntoIterator<Item = (Save<'r, R>, Option<&'r SourceObject>)>,
        map_result: impl Fn(usize, Result<SavedRecord>) -> Result<T>,
    ) -> Result<Vec<T>>
    where
        R: 'r,
    {
        let context = self.db().index_context();
        // The caller's iterator runs before the lock is taken: it may be slow, save, or panic.
        let records: Vec<_> = records.into_iter().collect();
        let bytes = records
            .iter()
            .map(|(save, _)| save.record.text().len())
            .sum();
        let size = TransactionSize::of(records.len(), bytes);
        let derive = |(save, from): &(Save<'r, R>, Option<&'r SourceObject>)| {
            let new = IndexedRecord::new(save.record, &context).from(*from);
            let new = match save.uid {
                Some(uid) => new.with_uid(uid),
                None => new,
            };
            (new, save.condition)
        };
        records.iter().try_for_each(|(save, _)| save.check_uid())?;
        // So does deriving, but for large batches, of which all that is derived takes memory.
        let derived: Vec<_> = match size {
            TransactionSize::Small => records.iter().map(derive).collect(),
            _ => Vec::new(),
        };
        self.write(size, |conn, writing| {
            let mut put = |(index, (new, condition)): (usize, (IndexedRecord<'_>, Condition))| {
                map_result(index, new.put(conn, writing, self.number(), condition))
            };
            match size {
                TransactionSize::Small => derived.into_iter().enumerate().map(&mut put).collect(),
                _ => {
                    let derived = records.iter().map(derive);
                    derived.enumerate().map(&mut put).collect()
                }
            }
        })
    }

    /// Removes a record. It can be restored for 30 days. With a condition:
    /// `remove((uid, Condition::IfMatch(etag)))`.
    ///
    /// # Errors
    /// [`Error::NoRecord`]; [`Error::Conflict`]: the condition does not hold; any write error.
    pub fn remove<'r>(&self, record: impl Into<Removal<'r>>) -> Result<()> {
        let Removal { uid, condition } = record.into();
        self.remove_all_if(&[(uid, condition)])
    }

    /// Removes many records in one transaction; returns true for each that existed.
    ///
    /// # Errors
    /// Any write error; nothing is changed then.
    pub fn remove_many<U: AsRef<str>>(&self, uids: &[U]) -> Result<Vec<bool>> {
        let uids: Vec<&str> = uids.iter().map(AsRef::as_ref).collect();
        self.write(TransactionSize::of(uids.len(), 0), |conn, writing| {
            uids.iter()
                .map(|uid| records::remove(conn, writing, self.number(), uid, Condition::Always))
                .collect()
        })
    }

    /// Removes many records in one transaction, each with its own condition: all of them, or none.
    ///
    /// # Errors
    /// [`Error::NoRecord`] or [`Error::Conflict`] of the first record that cannot be removed; any
    /// write error. Nothing is changed then.
    pub fn remove_all_if<U: AsRef<str>>(&self, records: &[(U, Condition)]) -> Result<()> {
        self.write(TransactionSize::of(records.len(), 0), |conn, writing| {
            for (uid, condition) in records {
                let uid = uid.as_ref();
                if !records::remove(conn, writing, self.number(), uid, *condition)? {
                    return Err(Error::NoRecord {
                        kind: R::KIND,
                        uid: uid.to_owned(),
                    });
                }
            }
            Ok(())
        })
    }

    /// Undoes a record's latest change: a removed one comes back, an edited one gets the text it
    /// had before. Undoing an edit twice brings the edit back.
    ///
    /// # Errors
    /// [`Error::NothingToUndo`]; any write error.
    pub fn restore(&self, uid: &str) -> Result<SavedRecord> {
        let mut restored = self.restore_many(&[uid])?;
        match restored.pop().flatten() {
            Some(saved) => Ok(saved),
            None => Err(Error::NothingToUndo {
                kind: R::KIND,
                uid: uid.to_owned(),
            }),
        }
    }

    /// Undoes the latest change of many records in one transaction; returns `None` where there is
    /// nothing to restore.
    ///
    /// # Errors
    /// Any write error; nothing is changed then.
    pub fn restore_many<U: AsRef<str>>(&self, uids: &[U]) -> Result<Vec<Option<SavedRecord>>> {
        let context = self.db().index_context();
        let uids: Vec<&str> = uids.iter().map(AsRef::as_ref).collect();
        self.write(TransactionSize::of(uids.len(), 0), |conn, writing| {
            uids.iter()
                .map(|uid| undo_latest::<R>(conn, writing, &context, self.number(), uid))
                .collect()
        })
    }

    /// Runs `work` in a write transaction that saves and removes records.
    pub(crate) fn write<T>(
        &self,
        size: TransactionSize,
        work: impl FnOnce(&Connection, &mut RecordWriter<'_>) -> Result<T>,
    ) -> Result<T> {
        if R::IS_SCANNED {
            return Err(Error::Scanned(R::KIND));
        }
        let order = self.db().order();
        self.db().write_of(size, |conn| {
            // Inside the transaction: another process may remove the collection before it begins.
            collection_table::expect_exists(conn, R::KIND, self.collection_ref())?;
            RecordWriter::run(conn, order, |writing| work(conn, writing))
        })
    }
}

/// Undoes a record's latest change; returns `None` if there is nothing to restore.
pub(crate) fn undo_latest<R: RecordKind>(
    conn: &Connection,
    writing: &mut RecordWriter<'_>,
    context: &IndexContext<'_>,
    collection: i64,
    uid: &str,
) -> Result<Option<SavedRecord>> {
    let Some((text, shared, places)) = records::previous_version(conn, collection, uid)? else {
        return Ok(None);
    };
    let record = R::stored(conn, text, shared)?;
    let from = SourceObject::stored(shared, &places, record.component_count());
    // The record keeps its identity, also where that came from the text before.
    let one = IndexedRecord::new(&record, context).with_uid(uid);
    let one = one.from(Some(&from)).with_exact_source(shared.is_some());
    one.put(conn, writing, collection, Condition::Always)
        .map(Some)
}
