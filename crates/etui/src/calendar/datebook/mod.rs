//! The date book: a calendar as an ordered, numbered database of records, as in the programs of
//! handheld computers.
//!
//! ```
//! use etui::Store;
//! use etui::calendar::{Draft, zones::TimeZoneResolver};
//!
//! # let dir = tempfile::tempdir()?;
//! # let store = Store::open(dir.path().join("personal.etui"))?;
//! let calendar = store.calendar()?;
//! calendar.save(&Draft::event("Dentist").uid("1").make(&TimeZoneResolver::new())?)?;
//!
//! let mut book = calendar.date_book()?;
//! assert_eq!(book.count()?, 1);
//! let taken = book.take(0)?;                          // exclusive
//! let mut record = taken.record()?;
//! record.set(0, "SUMMARY", "Dentist, at last", &TimeZoneResolver::new())?;
//! book.release_dirty(taken, record)?;                 // visible in this process
//! book.close()?;                                      // durable from here on
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A date book is a view of the calendar, not a copy: its records are the calendar's own, in the order
//! of its list.
//!
//! - **Order**: record i is the i-th of the list, by start. The order is that of one state of the
//!   store. It is stable while a date book works on it, even if a dirty release changes a start. It
//!   is updated after a sync, after any save of this process, and within a few hundredths of a
//!   second of a save by another program. Checking out a record shows what any date book synced
//!   before.
//! - **Taking** a record is exclusive among all date books of all programs. The locks of a program
//!   that dies are released.
//! - **Releasing clean** costs nothing. **Releasing dirty** is visible at once to this date book and
//!   to every reader of the calendar in this process; to views and other programs after a sync.
//! - **Sync** makes all dirty releases of the calendar durable in one commit; closing syncs. A crash
//!   loses only dirty releases that were not synced. If this process also reads or saves the
//!   calendar by other means, dirty records are committed before that (and become visible to other
//!   programs), and flushed by the sync. During a large import of this process they are not; other
//!   means see them afterwards.
//! - A record that another program changed by other means while it was taken or dirty is not
//!   overwritten: the sync reports it ([`SyncReport::conflicts`]) and the other program's change stays.

mod checked_out;
mod page;
mod purge;
pub(crate) mod shared;

use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::Calendar;
use super::CalendarObject;
use super::object_zones::ObjectZones;
use crate::error::{Error, Result};
use crate::record::{Reader, StoredRecord, changes, list};
use crate::types::{ETag, RecordId};
use shared::DateBooks;

use page::{BookPage, PageEntry};
use shared::RecordLock;

pub use checked_out::CheckedOut;
pub use shared::{SyncConflict, SyncReport};

/// Time for which a page is used without looking for changes by other programs. A change that is
/// missed when a record is taken is a conflict at the sync, like any change by other means.
const MAX_AGE: Duration = Duration::from_millis(10);

impl<'s> Calendar<'s> {
    /// Opens the calendar as a date book.
    ///
    /// # Errors
    /// Any error of reading.
    pub fn date_book(&self) -> Result<DateBook<'s>> {
        self.db().cache::<DateBooks>().count_opened();
        Ok(DateBook {
            calendar: self.clone(),
            page: BookPage::default(),
            is_closed: false,
        })
    }
}

/// A calendar as an ordered, numbered database of records.
pub struct DateBook<'s> {
    calendar: Calendar<'s>,
    page: BookPage,
    is_closed: bool,
}

impl<'s> DateBook<'s> {
    /// Returns the number of records.
    ///
    /// # Errors
    /// Any error of reading.
    pub fn count(&mut self) -> Result<u64> {
        let collection = self.calendar.id();
        self.read_page(|conn, _| list::count(conn, collection))
    }

    /// Returns record `index` without taking it; `None` beyond the last.
    ///
    /// # Errors
    /// Any error of reading.
    pub fn peek(&mut self, index: u64) -> Result<Option<StoredRecord<CalendarObject>>> {
        let found = self
            .with_record(index, |entry| entry.to_stored())?
            .transpose();
        found.map_err(|error| self.calendar.db().explain(error))
    }

    /// Calls `visit` with the id and the text of record `index`, without taking it; `None` beyond the
    /// last. Sequential access reads ahead. It costs about as much as a query for the texts in that
    /// order; if the records were added in that order, at most 1.5 times
    /// [`Calendar::for_each`](Calendar::for_each).
    ///
    /// # Errors
    /// Any error of reading.
    pub fn look<T>(
        &mut self,
        index: u64,
        visit: impl FnOnce(RecordId, &[u8]) -> T,
    ) -> Result<Option<T>> {
        self.with_record(index, |entry| visit(RecordId(entry.id), entry.text))
    }

    /// Takes record `index`, exclusively until it is released.
    ///
    /// # Errors
    /// [`Error::CheckedOut`] if it is taken already; [`Error::NoIndex`] beyond the last record;
    /// [`Error::ReadOnly`]; any error of reading.
    pub fn take(&mut self, index: u64) -> Result<CheckedOut<'s>> {
        let Some((hold, id)) = self.lock_record_at(index)? else {
            return Err(Error::NoIndex {
                index,
                count: self.count()?,
            });
        };
        // The lock was taken after any other date book announced its commit, if there was a lock file
        // to announce it in.
        let announced = self.page.announced;
        if announced.is_none()
            || announced != self.calendar.db().cache::<DateBooks>().latest_announced()
        {
            self.page.valid_until = None;
        }
        match self.peek(index)? {
            Some(found) if found.id.0 == id => {
                Ok(CheckedOut::new(hold, found, self.calendar.clone()))
            }
            // The order changed.
            _ => self.read_locked(hold, id),
        }
    }

    /// Takes the record with this id.
    ///
    /// # Errors
    /// [`Error::CheckedOut`] if it is taken already; [`Error::NoRecord`] when it is gone;
    /// [`Error::ReadOnly`]; any error of reading.
    pub fn take_id(&mut self, id: RecordId) -> Result<CheckedOut<'s>> {
        let hold = self.lock_record(id.0)?;
        self.read_locked(hold, id.0)
    }

    fn lock_record_at(&mut self, index: u64) -> Result<Option<(RecordLock<'s>, i64)>> {
        match self.with_record(index, |entry| entry.id)? {
            Some(id) => Ok(Some((self.lock_record(id)?, id))),
            None => Ok(None),
        }
    }

    fn lock_record(&self, id: i64) -> Result<RecordLock<'s>> {
        let books = self.calendar.db().cache::<DateBooks>();
        books.lock_record(self.calendar.db_ref(), id)
    }

    /// Reads the record that is locked.
    fn read_locked(&mut self, hold: RecordLock<'s>, id: i64) -> Result<CheckedOut<'s>> {
        let db = self.calendar.db();
        let collection = self.calendar.id();
        // Dirty records are looked up first: once one is committed, the store has it.
        let dirty = db.cache::<DateBooks>().dirty_text(id);
        let found = db.read(|conn| Reader::new(db, conn, collection).by_id(RecordId(id)))?;
        match found {
            Some(mut found) => {
                if let Some(text) = dirty {
                    found.etag = ETag::of(&text);
                    found.text = text;
                }
                Ok(CheckedOut::new(hold, found, self.calendar.clone()))
            }
            None => Err(Error::NoRecord {
                kind: crate::CollectionKind::Calendar,
                uid: format!("(number {id})"),
            }),
        }
    }

    /// Releases a record unchanged, as dropping it does.
    pub fn release(&mut self, taken: CheckedOut<'s>) {
        drop(taken);
    }

    /// Releases a record changed. It is visible at once to this date book and to every reader of the
    /// calendar in this process; [`DateBook::sync`] makes it durable.
    ///
    /// # Errors
    /// [`Error::OtherUid`] if the UID of `record` differs from that of the taken record.
    pub fn release_dirty(&mut self, taken: CheckedOut<'s>, record: CalendarObject) -> Result<()> {
        let uid = &taken.stored().uid;
        if let Some(found) = record.uid().filter(|own| own != uid) {
            return Err(Error::OtherUid {
                uid: uid.clone(),
                found: found.to_owned(),
            });
        }
        let db = self.calendar.db();
        let with = db.index_context();
        db.cache::<DateBooks>().release_dirty(taken, record, &with);
        Ok(())
    }

    /// Makes all dirty releases of the calendar durable, in one commit.
    ///
    /// # Errors
    /// Any error of writing; the records stay dirty.
    pub fn sync(&mut self) -> Result<SyncReport> {
        let db = self.calendar.db();
        db.cache::<DateBooks>().sync(db)
    }

    /// Syncs and closes. Dropping a date book does so, too, but cannot report an error.
    ///
    /// # Errors
    /// As [`DateBook::sync`].
    pub fn close(mut self) -> Result<SyncReport> {
        let synced = self.sync()?;
        self.is_closed = true;
        Ok(synced)
    }

    /// Calls `visit` with the record at a position.
    fn with_record<T>(
        &mut self,
        index: u64,
        visit: impl FnOnce(PageEntry<'_>) -> T,
    ) -> Result<Option<T>> {
        let collection = self.calendar.id();
        let db = self.calendar.db_ref();
        loop {
            if self.page.entry(index).is_none() || !self.is_valid() {
                self.read_page(|conn, page| match page.entry(index) {
                    // Nothing has changed since it was read.
                    Some(_) => Ok(()),
                    None => page.read_at(conn, collection, index),
                })?;
            }
            let Some(entry) = self.page.entry(index) else {
                return Ok(None);
            };
            let dirty = db.cache::<DateBooks>().dirty_text(entry.id);
            // A dirty record may have been committed since the page was read.
            if dirty.is_none() && self.page.generation != db.generation() {
                continue;
            }
            let found = match dirty {
                Some(dirty) => visit(PageEntry {
                    etag: Some(ETag::of(&dirty)),
                    text: &dirty,
                    ..entry
                }),
                None => visit(entry),
            };
            self.page.last_index = Some(index);
            return Ok(Some(found));
        }
    }

    /// Returns true if the page can be used without looking for changes.
    fn is_valid(&self) -> bool {
        let is_fresh = |until: Instant| Instant::now() < until;
        self.page.generation == self.calendar.db().generation()
            && self.page.valid_until.is_some_and(is_fresh)
    }

    /// Runs `work` in one state of the store. The page is cleared first if it is of another one.
    fn read_page<T>(
        &mut self,
        work: impl FnOnce(&Connection, &mut BookPage) -> Result<T>,
    ) -> Result<T> {
        let db = self.calendar.db();
        db.ensure_indexed()?;
        let (generation, announced) = (db.generation(), db.cache::<DateBooks>().latest_announced());
        let page = &mut self.page;
        db.read_transaction(|conn| {
            let latest = changes::latest_seq(conn)?;
            if page.latest != latest {
                page.clear();
                page.last_index = None;
            }
            page.latest = latest;
            page.generation = generation;
            page.announced = announced;
            page.valid_until = Instant::now().checked_add(MAX_AGE);
            work(conn, page)
        })
    }
}

impl Drop for DateBook<'_> {
    fn drop(&mut self) {
        let books = &self.calendar.db().cache::<DateBooks>();
        if !self.is_closed {
            match books.sync(self.calendar.db()) {
                // Reported by the next sync, as nothing else can.
                Ok(synced) => {
                    for conflict in &synced.conflicts {
                        tracing::warn!(uid = conflict.uid, "others changed it: not overwritten");
                    }
                    books.put_back(synced);
                }
                Err(error) => tracing::warn!(%error, "a date book was not synced"),
            }
        }
        books.count_closed();
    }
}

/// Parses a record as it was taken.
fn parse_record(
    calendar: &Calendar<'_>,
    stored: &StoredRecord<CalendarObject>,
) -> Result<CalendarObject> {
    let db = calendar.db();
    db.read(|conn| {
        let row = Reader::new(db, conn, calendar.id()).shared_row(stored.id)?;
        ObjectZones::default().parse_record(conn, stored.text.clone(), row)
    })
}
