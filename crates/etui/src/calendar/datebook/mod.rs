//! The date book: a calendar seen as an ordered, numbered database of records, as the programs of
//! handhelds knew it.
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
//! let taken = book.take(0)?;                          // nobody else gets it now
//! let mut record = taken.record()?;
//! record.set(0, "SUMMARY", "Dentist, at last", &TimeZoneResolver::new())?;
//! book.release_dirty(taken, record)?;                 // seen in this process at once
//! book.close()?;                                      // and durable from here on
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! It is a way to look at the calendar, not a copy of it: records are the calendar's own, in the
//! order of its list.
//!
//! - **Order**: record i is the i-th of the list, by when it begins. The order is that of one state
//!   of the store. It stays while a date book works on it, also when a dirty release changed when a
//!   record begins, and is looked at anew after a sync, after anything that this process saved, and,
//!   for what other programs saved, when it is some hundredths of a second old. Who takes a record
//!   sees what any date book synced before.
//! - **Taking** is exclusive: among all date books of all programs (`taken`). A program that dies
//!   lets go of what it took.
//! - **Releasing clean** costs nothing. **Releasing dirty** is seen by this date book and by all that
//!   reads the calendar in this process at once. Views and other programs see it when it is synced.
//! - **Sync** makes all dirty releases of the calendar durable in one commit; closing syncs. What
//!   was not synced may be lost in a crash, and only that. If the calendar is also read, or saved to,
//!   by other means in this process, what was released until then is committed for that, to be seen
//!   (by other programs, too), and is flushed with the sync. While this process runs a large import
//!   it is not: other means see it afterwards.
//! - A record that another program changed by other means while it was taken or not yet synced is
//!   not overwritten: the sync tells of it ([`Synced::conflicts`]), and the other's change stays.

mod page;
mod purge;
pub(crate) mod shared;
mod taken;

use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension};

use super::Calendar;
use super::CalendarObject;
use super::objects::ZonesOf;
use crate::error::{Error, Result};
use crate::record::{StoredRecord, changes, list};
use crate::types::{ETag, RecordId};
use shared::DateBooks;

use page::{Page, PageEntry};
use shared::Hold;

pub use shared::{Conflict, Synced};
pub use taken::Taken;

/// Time for which a page is used without looking for changes by other programs. A change that is
/// missed when a record is taken is a conflict at the sync, like any change by other means.
const MAX_AGE: Duration = Duration::from_millis(10);

impl<'s> Calendar<'s> {
    /// Opens the calendar as a date book.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn date_book(&self) -> Result<DateBook<'s>> {
        self.db().cache::<DateBooks>().opened();
        Ok(DateBook {
            calendar: self.again(),
            page: Page::default(),
            is_closed: false,
        })
    }
}

/// A calendar as an ordered, numbered database of records.
pub struct DateBook<'s> {
    calendar: Calendar<'s>,
    page: Page,
    is_closed: bool,
}

impl<'s> DateBook<'s> {
    /// How many records there are.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn count(&mut self) -> Result<u64> {
        let collection = self.calendar.id();
        self.read_page(|conn, _| list::count(conn, collection))
    }

    /// Looks at record `index` without taking it; `None` beyond the last.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn peek(&mut self, index: u64) -> Result<Option<StoredRecord<CalendarObject>>> {
        let found = self.at(index, |entry| entry.to_stored())?.transpose();
        found.map_err(|error| self.calendar.db().explain(error))
    }

    /// Calls `visit` with the number and the text of record `index`, without taking it; `None` beyond
    /// the last. Going through records in their order costs about as much as a query for their texts
    /// in that order, and where they follow each other in the file, up to half as much again as
    /// [`Calendar::for_each`](Calendar::for_each): those that follow are read along.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn look<T>(
        &mut self,
        index: u64,
        visit: impl FnOnce(RecordId, &[u8]) -> T,
    ) -> Result<Option<T>> {
        self.at(index, |entry| visit(RecordId(entry.id), entry.text))
    }

    /// Takes record `index`: until it is released, nobody else can.
    ///
    /// # Errors
    /// [`Error::Taken`] when somebody has it; [`Error::NoIndex`] beyond the last record;
    /// [`Error::ReadOnly`]; whatever reading reports.
    pub fn take(&mut self, index: u64) -> Result<Taken<'s>> {
        let Some((hold, id)) = self.hold_at(index)? else {
            return Err(Error::NoIndex {
                index,
                count: self.count()?,
            });
        };
        // The lock was taken after any other date book announced its commit, if there was a lock file
        // to announce it in.
        let announced = self.page.announced;
        if announced.is_none() || announced != self.calendar.db().cache::<DateBooks>().latest() {
            self.page.valid_until = None;
        }
        match self.peek(index)? {
            Some(found) if found.id.0 == id => Ok(Taken::new(hold, found, self.calendar.again())),
            // The order has changed.
            _ => self.taken(hold, id),
        }
    }

    /// Takes the record with this number.
    ///
    /// # Errors
    /// [`Error::Taken`] when somebody has it; [`Error::NoRecord`] when it is gone;
    /// [`Error::ReadOnly`]; whatever reading reports.
    pub fn take_id(&mut self, id: RecordId) -> Result<Taken<'s>> {
        let hold = self.hold(id.0)?;
        self.taken(hold, id.0)
    }

    fn hold_at(&mut self, index: u64) -> Result<Option<(Hold<'s>, i64)>> {
        match self.at(index, |entry| entry.id)? {
            Some(id) => Ok(Some((self.hold(id)?, id))),
            None => Ok(None),
        }
    }

    fn hold(&self, id: i64) -> Result<Hold<'s>> {
        let db = self.calendar.db();
        db.cache::<DateBooks>().take(db, id)
    }

    /// The record that is held, as it is now.
    fn taken(&mut self, hold: Hold<'s>, id: i64) -> Result<Taken<'s>> {
        let db = self.calendar.db();
        let collection = self.calendar.id();
        // What waits is looked for first: once it is committed, the store has it.
        let dirty = db.cache::<DateBooks>().dirty(id);
        let found = db.read(|conn| {
            Ok(conn
                .prepare_cached(
                    "SELECT id, uid, etag, text FROM record \
                     WHERE id = ?1 AND collection = ?2 AND removed IS NULL",
                )?
                .query_row((id, collection), StoredRecord::from_row)
                .optional()?)
        })?;
        match found {
            Some(mut found) => {
                if let Some(text) = dirty {
                    found.etag = ETag::of(&text);
                    found.text = text;
                }
                Ok(Taken::new(hold, found, self.calendar.again()))
            }
            None => Err(Error::NoRecord {
                kind: crate::CollectionKind::Calendar,
                uid: format!("(number {id})"),
            }),
        }
    }

    /// Gives a record back as it was. Dropping it does the same.
    pub fn release(&mut self, taken: Taken<'s>) {
        drop(taken);
    }

    /// Gives a record back changed. This date book, and what else reads the calendar in this
    /// process, sees it at once; [`DateBook::sync`] makes it durable.
    ///
    /// # Errors
    /// [`Error::OtherUid`] when `record` has another UID than the one that was taken.
    pub fn release_dirty(&mut self, taken: Taken<'s>, record: CalendarObject) -> Result<()> {
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
    /// Whatever writing reports; the changes then still wait for a sync.
    pub fn sync(&mut self) -> Result<Synced> {
        let db = self.calendar.db();
        db.cache::<DateBooks>().sync(db)
    }

    /// Syncs, and closes it. A date book that is dropped is closed as well, but cannot tell of an
    /// error.
    ///
    /// # Errors
    /// As [`DateBook::sync`].
    pub fn close(mut self) -> Result<Synced> {
        let synced = self.sync()?;
        self.is_closed = true;
        Ok(synced)
    }

    /// Calls `visit` with the record at a position.
    fn at<T>(&mut self, index: u64, visit: impl FnOnce(PageEntry<'_>) -> T) -> Result<Option<T>> {
        let collection = self.calendar.id();
        let db = self.calendar.db();
        loop {
            if self.page.get(index).is_none() || !self.is_valid() {
                self.read_page(|conn, page| match page.get(index) {
                    // Nothing has changed since it was read.
                    Some(_) => Ok(()),
                    None => page.read(conn, collection, index),
                })?;
            }
            let Some(entry) = self.page.get(index) else {
                return Ok(None);
            };
            let dirty = db.cache::<DateBooks>().dirty(entry.id);
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
        work: impl FnOnce(&Connection, &mut Page) -> Result<T>,
    ) -> Result<T> {
        let db = self.calendar.db();
        db.ensure_indexed()?;
        let (generation, announced) = (db.generation(), db.cache::<DateBooks>().latest());
        let page = &mut self.page;
        db.read_transaction(|conn| {
            let latest = changes::latest(conn)?;
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
                // For who asks next; else it would be lost without a word.
                Ok(synced) => {
                    for conflict in &synced.conflicts {
                        tracing::warn!(uid = conflict.uid, "others changed it: not overwritten");
                    }
                    books.put_back(synced);
                }
                Err(error) => tracing::warn!(%error, "a date book was not synced"),
            }
        }
        books.closed();
    }
}

/// Reads a record as it was taken.
fn read(calendar: &Calendar<'_>, stored: &StoredRecord<CalendarObject>) -> Result<CalendarObject> {
    let db = calendar.db();
    db.read(|conn| {
        let row = conn
            .prepare_cached("SELECT shared FROM record WHERE id = ?1")?
            .query_row([stored.id.0], |r| r.get(0))
            .optional()?
            .flatten();
        ZonesOf::default().record(conn, stored.text.clone(), row)
    })
}
