//! [`Shelf`]: the verbs that change a collection, the same for every kind. One is a batch of one.

use std::borrow::Cow;
use std::marker::PhantomData;

use rusqlite::Connection;

use super::kind::{Derived, Deriving, Record};
use super::names::Named;
use super::records::{self, Incoming, Writing};
use super::shared::Provenance;
use super::{Condition, Saved};
use crate::engine::Size;
use crate::error::{Error, Result};
use crate::store::Store;

/// A record with all that is stored of it.
pub(crate) struct Prepared<'r> {
    uid: Cow<'r, str>,
    text: &'r [u8],
    derived: Derived,
    from: Option<&'r Provenance>,
}

impl<'r> Prepared<'r> {
    /// Derives what is stored of `record`.
    pub(crate) fn new(record: &'r impl Record, with: &Deriving<'_>) -> Self {
        Self::derived(record, record.derive(with))
    }

    /// The same where it was derived already.
    pub(crate) fn derived(record: &'r impl Record, derived: Derived) -> Self {
        Self {
            uid: record.identity(),
            text: record.text(),
            derived,
            from: None,
        }
    }

    /// What the store knows it by.
    pub(crate) fn uid(&self) -> &str {
        &self.uid
    }

    /// The same as the record `uid`, for one that has no UID or this one.
    pub(crate) fn known_as(self, uid: &'r str) -> Self {
        Self {
            uid: Cow::Borrowed(uid),
            ..self
        }
    }

    /// The same with where it came from.
    pub(crate) fn from(self, from: Option<&'r Provenance>) -> Self {
        Self { from, ..self }
    }

    /// As what it goes in.
    pub(crate) fn incoming(&self) -> Incoming<'_> {
        Incoming {
            uid: &self.uid,
            text: self.text,
            keys: &self.derived.keys,
            sort: &self.derived.sort,
            summary: &self.derived.summary,
            times: &self.derived.times,
            from: self.from,
        }
    }

    /// Saves it.
    pub(crate) fn put(
        &self,
        conn: &Connection,
        writing: &mut Writing<'_>,
        collection: i64,
        condition: Condition,
    ) -> Result<Saved> {
        records::put(conn, writing, collection, &self.incoming(), condition)
    }
}

/// One collection of a store, whose records are `R`.
pub(crate) struct Shelf<'s, R> {
    store: &'s Store,
    named: Named,
    records: PhantomData<fn() -> R>,
}

impl<'s, R: Record> Shelf<'s, R> {
    pub(crate) fn new(store: &'s Store, named: Named) -> Self {
        Self {
            store,
            named,
            records: PhantomData,
        }
    }

    pub(crate) fn store(&self) -> &'s Store {
        self.store
    }

    pub(crate) fn name(&self) -> &str {
        &self.named.name
    }

    pub(crate) fn id(&self) -> i64 {
        self.named.id
    }

    /// Saves a record if `condition` holds.
    pub(crate) fn save_if(&self, record: &R, condition: Condition) -> Result<Saved> {
        // Derived before the lock is taken: it takes longer than the writing.
        let one = Prepared::new(record, &self.store.deriving()?);
        self.put_one(&one, condition)
    }

    /// Saves `record` as `uid` if `condition` holds.
    pub(crate) fn save_as(&self, uid: &str, record: &R, condition: Condition) -> Result<Saved> {
        if let Some(own) = record.uid().filter(|own| *own != uid) {
            return Err(Error::OtherUid {
                uid: uid.to_owned(),
                found: own.to_owned(),
            });
        }
        let one = Prepared::new(record, &self.store.deriving()?).known_as(uid);
        self.put_one(&one, condition)
    }

    fn put_one(&self, one: &Prepared<'_>, condition: Condition) -> Result<Saved> {
        let size = Size::of(1, one.text.len());
        self.write(size, |conn, writing| {
            one.put(conn, writing, self.named.id, condition)
        })
    }

    /// Saves many in one transaction: all of them, or, on an error, none.
    pub(crate) fn save_many<'r>(
        &self,
        records: impl IntoIterator<Item = &'r R>,
    ) -> Result<Vec<Saved>>
    where
        R: 'r,
    {
        let always = records.into_iter().map(|r| (r, Condition::Always));
        self.put_all(always.map(|(r, c)| (r, c, None)), |result| result)
    }

    /// Saves many in one transaction, each on its own condition: those whose condition does not
    /// hold are left out and told of.
    pub(crate) fn save_each(&self, records: &[(&R, Condition)]) -> Result<Vec<Result<Saved>>> {
        self.save_found(records.iter().map(|&(r, condition)| (r, condition, None)))
    }

    /// The same for records of which is known where they came from.
    pub(crate) fn save_found<'r>(
        &self,
        records: impl IntoIterator<Item = (&'r R, Condition, Option<&'r Provenance>)>,
    ) -> Result<Vec<Result<Saved>>>
    where
        R: 'r,
    {
        self.put_all(records, |result| match result {
            // A record's own failure is not the transaction's.
            Err(e @ Error::Conflict { .. }) => Ok(Err(e)),
            Err(e) => Err(e),
            Ok(saved) => Ok(Ok(saved)),
        })
    }

    fn put_all<'r, T>(
        &self,
        records: impl IntoIterator<Item = (&'r R, Condition, Option<&'r Provenance>)>,
        settle: impl Fn(Result<Saved>) -> Result<T>,
    ) -> Result<Vec<T>>
    where
        R: 'r,
    {
        let with = self.store.deriving()?;
        // The caller's iterator runs before the lock is taken: it may be slow, save, or panic.
        let records: Vec<_> = records.into_iter().collect();
        let bytes = records.iter().map(|(r, _, _)| r.text().len()).sum();
        let size = Size::of(records.len(), bytes);
        let derive = |&(record, condition, from): &(&'r R, Condition, Option<&'r Provenance>)| {
            (Prepared::new(record, &with).from(from), condition)
        };
        // So does deriving, but for large batches, of which all that is derived takes memory.
        let derived: Vec<_> = match size {
            Size::Small => records.iter().map(derive).collect(),
            _ => Vec::new(),
        };
        self.write(size, |conn, writing| {
            let mut put = |(one, condition): (Prepared<'_>, Condition)| {
                settle(one.put(conn, writing, self.named.id, condition))
            };
            match size {
                Size::Small => derived.into_iter().map(&mut put).collect(),
                _ => records.iter().map(derive).map(&mut put).collect(),
            }
        })
    }

    /// Removes a record if `condition` holds.
    pub(crate) fn remove_if(&self, uid: &str, condition: Condition) -> Result<()> {
        let removed = self.write(Size::Small, |conn, writing| {
            records::remove(conn, writing, self.named.id, uid, condition)
        })?;
        match removed {
            true => Ok(()),
            false => Err(Error::NoRecord {
                kind: R::KIND,
                uid: uid.to_owned(),
            }),
        }
    }

    /// Removes many in one transaction; tells of each whether it was there.
    pub(crate) fn remove_many<U: AsRef<str>>(&self, uids: &[U]) -> Result<Vec<bool>> {
        let uids: Vec<&str> = uids.iter().map(AsRef::as_ref).collect();
        self.write(Size::of(uids.len(), 0), |conn, writing| {
            uids.iter()
                .map(|uid| records::remove(conn, writing, self.named.id, uid, Condition::Always))
                .collect()
        })
    }

    /// Undoes a record's latest change.
    pub(crate) fn restore(&self, uid: &str) -> Result<Saved> {
        let mut restored = self.restore_many(&[uid])?;
        match restored.pop().flatten() {
            Some(saved) => Ok(saved),
            None => Err(Error::NothingToUndo {
                kind: R::KIND,
                uid: uid.to_owned(),
            }),
        }
    }

    /// Undoes the latest change of many in one transaction; `None` where there is nothing to
    /// bring back.
    pub(crate) fn restore_many<U: AsRef<str>>(&self, uids: &[U]) -> Result<Vec<Option<Saved>>> {
        let with = self.store.deriving()?;
        let uids: Vec<&str> = uids.iter().map(AsRef::as_ref).collect();
        self.write(Size::of(uids.len(), 0), |conn, writing| {
            uids.iter()
                .map(|&uid| {
                    let Some((text, shared)) = records::former(conn, self.named.id, uid)? else {
                        return Ok(None);
                    };
                    let record = R::stored(conn, text, shared)?;
                    // The record keeps its identity, also where that came from the text before.
                    let one = Prepared::new(&record, &with).known_as(uid);
                    one.put(conn, writing, self.named.id, Condition::Always)
                        .map(Some)
                })
                .collect()
        })
    }

    /// A write transaction that puts and removes records.
    fn write<T>(
        &self,
        size: Size,
        work: impl FnOnce(&Connection, &mut Writing<'_>) -> Result<T>,
    ) -> Result<T> {
        let order = self.store.order()?;
        self.store.write_of(size, |conn| {
            Writing::run(conn, order, |writing| work(conn, writing))
        })
    }
}
