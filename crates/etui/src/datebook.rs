//! The date book: a calendar as an ordered, numbered database of records, as in the programs of
//! handheld computers. It is a layer over [`Calendar`], and uses only what is public.
//!
//! ```
//! use etui::Store;
//! use etui::calendar::{Draft, zones::TimeZoneResolver};
//! use etui::datebook::DateBook;
//!
//! # let dir = tempfile::tempdir()?;
//! # let store = Store::open(dir.path().join("personal.etui"))?;
//! let calendar = store.calendar()?;
//! calendar.save(&Draft::event("Dentist").uid("1").make(&TimeZoneResolver::new())?)?;
//!
//! let mut book = DateBook::open(&calendar);
//! assert_eq!(book.count()?, 1);
//! let taken = book.take(0)?;                          // exclusive in this date book
//! let mut record = taken.record()?;
//! record.set(0, "SUMMARY", "Dentist, at last", &TimeZoneResolver::new())?;
//! book.release_dirty(taken, record)?;                 // visible in this date book
//! book.close()?;                                      // durable, and visible to all, from here on
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A date book is a view of the calendar, not a copy: its records are the calendar's own, in the order
//! of its list. Opening and closing it read nothing.
//!
//! - **Order**: record i is the i-th of the list, by start. [`DateBook::look`] reads ahead, so records
//!   can be as they were when their page was read; a sync or [`DateBook::refresh`] ends that.
//!   [`DateBook::peek`] and [`DateBook::take`] read the record at that position as it is now.
//! - **Taking** a record is exclusive in one date book. **Releasing clean**, or dropping, costs
//!   nothing. **Releasing dirty** is visible at once to this date book, and to nobody else.
//! - **Sync** makes all dirty releases durable in one commit; closing syncs. A crash loses only dirty
//!   releases that were not synced. A record that somebody else changed since it was taken, another
//!   date book of the same program included, is not overwritten: the sync reports it
//!   ([`SyncReport::conflicts`]), and the other change stays.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};

use crate::calendar::ics::ComponentKind;
use crate::calendar::time::{TimeZone, Timestamp};
use crate::calendar::{Calendar, CalendarObject, Column, Columns, Query, Rows, Status};
use crate::error::{Error, Result};
use crate::record::{Save, StoredRecord};
use crate::types::{CollectionKind, Condition, ETag, RecordId};

/// Records that sequential access reads at once: enough that the query before them costs little
/// beside them (benchmark `date_book`).
const PAGE: u64 = 128;
/// Records that a purge removes in one transaction, so that other writers get their turn.
const PURGE_BATCH: usize = 1_000;

/// A calendar as an ordered, numbered database of records.
pub struct DateBook {
    calendar: Calendar,
    page: Option<Rows>,
    /// Position of the page's first record.
    first: u64,
    /// The position after the last that was asked for. Access there is sequential.
    next: Option<u64>,
    /// Records that are taken, as long as their [`CheckedOut`] lives.
    taken: HashMap<RecordId, Weak<()>>,
    dirty: BTreeMap<RecordId, DirtyRecord>,
}

/// A record that was released dirty and is not saved.
struct DirtyRecord {
    uid: String,
    /// Version in the store when it was taken first.
    before: ETag,
    record: CalendarObject,
}

/// A record that is taken from a date book, until this is released or dropped.
pub struct CheckedOut {
    calendar: Calendar,
    stored: StoredRecord<CalendarObject>,
    /// The version in the store, which a dirty record's own differs from.
    before: ETag,
    dirty: Option<CalendarObject>,
    _hold: Arc<()>,
}

/// Result of a sync.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SyncReport {
    /// Number of records saved.
    pub saved: u64,
    /// Dirty records that were not saved, as others changed or removed them meanwhile.
    pub conflicts: Vec<SyncConflict>,
}

/// A dirty record that was not saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncConflict {
    /// The record.
    pub record: RecordId,
    /// Its UID.
    pub uid: String,
    /// The text that was released dirty.
    pub text: Vec<u8>,
}

impl CheckedOut {
    /// Returns the record as it was taken.
    pub fn stored(&self) -> &StoredRecord<CalendarObject> {
        &self.stored
    }

    /// Parses the record, with the zones of the object that it came from.
    ///
    /// # Errors
    /// [`Error::Record`] if another program stored text that is no record; any error of reading.
    pub fn record(&self) -> Result<CalendarObject> {
        if let Some(dirty) = &self.dirty {
            return Ok(dirty.clone());
        }
        let zones = self.calendar.zones(self.stored.id)?;
        Ok(CalendarObject::parse(self.stored.text.clone(), &zones)?)
    }
}

impl DateBook {
    /// Opens a calendar as a date book. Nothing is read yet.
    pub fn open(calendar: &Calendar) -> Self {
        Self {
            calendar: calendar.clone(),
            page: None,
            first: 0,
            next: None,
            taken: HashMap::new(),
            dirty: BTreeMap::new(),
        }
    }

    /// Returns the number of records in the calendar.
    ///
    /// # Errors
    /// Any error of reading.
    pub fn count(&self) -> Result<u64> {
        self.calendar.count()
    }

    /// Forgets what was read ahead.
    pub fn refresh(&mut self) {
        self.page = None;
        self.next = None;
    }

    /// Returns record `index` without taking it; `None` beyond the last, or if it was removed since
    /// its page was read.
    ///
    /// # Errors
    /// Any error of reading.
    pub fn peek(&mut self, index: u64) -> Result<Option<StoredRecord<CalendarObject>>> {
        match self.look(index, |id, _| id)? {
            Some(id) => Ok(self.current(id)?.map(|(stored, _)| stored)),
            None => Ok(None),
        }
    }

    /// Calls `visit` with the id and the text of record `index`, without taking it; `None` beyond the
    /// last. Sequential access reads ahead.
    ///
    /// # Errors
    /// Any error of reading.
    pub fn look<T>(
        &mut self,
        index: u64,
        visit: impl FnOnce(RecordId, &[u8]) -> T,
    ) -> Result<Option<T>> {
        let place = |first: u64| {
            index
                .checked_sub(first)
                .and_then(|at| usize::try_from(at).ok())
        };
        let has = |page: &Rows| place(self.first).is_some_and(|at| at < page.len());
        if !self.page.as_ref().is_some_and(has) {
            let limit = if self.next == Some(index) { PAGE } else { 1 };
            let query = Query::all().offset(index).limit(limit);
            self.page = Some(self.calendar.query(&query.columns(Column::Record))?);
            self.first = index;
        }
        self.next = index.checked_add(1);
        let at = place(self.first).unwrap_or(usize::MAX);
        let row = self.page.as_ref().and_then(|page| page.get(at));
        Ok(row.map(|row| {
            let dirty = self.dirty.get(&row.id()).map(|d| d.record.text());
            visit(row.id(), dirty.unwrap_or(row.record()))
        }))
    }

    /// Takes record `index`, exclusively until it is released.
    ///
    /// # Errors
    /// [`Error::NoIndex`] beyond the last record; those of [`DateBook::take_id`].
    pub fn take(&mut self, index: u64) -> Result<CheckedOut> {
        match self.look(index, |id, _| id)? {
            Some(id) => self.take_id(id),
            None => Err(Error::NoIndex {
                index,
                count: self.count()?,
            }),
        }
    }

    /// Takes the record with this id.
    ///
    /// # Errors
    /// [`Error::CheckedOut`] if it is taken already; [`Error::NoRecord`] when it is gone; any error
    /// of reading.
    pub fn take_id(&mut self, id: RecordId) -> Result<CheckedOut> {
        if self
            .taken
            .get(&id)
            .is_some_and(|hold| hold.strong_count() > 0)
        {
            return Err(Error::CheckedOut(id));
        }
        let Some((stored, before)) = self.current(id)? else {
            return Err(Error::NoRecord {
                kind: CollectionKind::Calendar,
                uid: format!("(number {id})"),
            });
        };
        // Those that were dropped are swept when the map would grow, so that it has as many entries
        // as there are taken records, times two.
        if self.taken.len() == self.taken.capacity() {
            self.taken.retain(|_, hold| hold.strong_count() > 0);
        }
        let hold = Arc::new(());
        self.taken.insert(id, Arc::downgrade(&hold));
        Ok(CheckedOut {
            calendar: self.calendar.clone(),
            stored,
            before,
            dirty: self.dirty.get(&id).map(|dirty| dirty.record.clone()),
            _hold: hold,
        })
    }

    /// Returns a record as this date book sees it, and its version in the store when it was taken
    /// first.
    fn current(&self, id: RecordId) -> Result<Option<(StoredRecord<CalendarObject>, ETag)>> {
        if let Some(dirty) = self.dirty.get(&id) {
            let text = dirty.record.text().to_vec();
            let stored = StoredRecord::new(id, dirty.uid.clone(), ETag::of(&text), text);
            return Ok(Some((stored, dirty.before)));
        }
        let found = self.calendar.get(id)?;
        Ok(found.map(|stored| {
            let before = stored.etag;
            (stored, before)
        }))
    }

    /// Releases a record changed. It is visible at once to this date book; [`DateBook::sync`] makes it
    /// durable, and visible to all.
    ///
    /// # Errors
    /// [`Error::OtherUid`] if the UID of `record` differs from that of the taken record.
    pub fn release_dirty(&mut self, taken: CheckedOut, record: CalendarObject) -> Result<()> {
        let uid = &taken.stored.uid;
        if let Some(found) = record.uid().filter(|own| own != uid) {
            return Err(Error::OtherUid {
                uid: uid.clone(),
                found: found.to_owned(),
            });
        }
        let dirty = DirtyRecord {
            uid: taken.stored.uid,
            before: taken.before,
            record,
        };
        self.dirty.insert(taken.stored.id, dirty);
        Ok(())
    }

    /// Makes all dirty releases durable, in one commit.
    ///
    /// # Errors
    /// Any error of writing; the records stay dirty.
    pub fn sync(&mut self) -> Result<SyncReport> {
        if self.dirty.is_empty() {
            return Ok(SyncReport::default());
        }
        let saves = self.dirty.values().map(|dirty| Save {
            record: &dirty.record,
            condition: Condition::IfMatch(dirty.before),
            // Without a UID its identity came from its content, which has changed.
            uid: Some(&dirty.uid),
        });
        let saves: Vec<Save<'_, CalendarObject>> = saves.collect();
        let mut saved = self.calendar.save_each(saves)?.into_iter();
        let mut report = SyncReport::default();
        while let Some((record, dirty)) = self.dirty.pop_first() {
            let result = saved.next().unwrap_or(Err(Error::CheckedOut(record)));
            match result {
                Ok(_) => report.saved += 1,
                Err(Error::Conflict { .. }) => report.conflicts.push(SyncConflict {
                    record,
                    uid: dirty.uid,
                    text: dirty.record.into_text(),
                }),
                Err(error) => {
                    self.dirty.insert(record, dirty);
                    return Err(error);
                }
            }
        }
        // A changed start moves a record.
        self.refresh();
        Ok(report)
    }

    /// Syncs and closes. Dropping a date book does so, too, but cannot report an error.
    ///
    /// # Errors
    /// As [`DateBook::sync`].
    pub fn close(mut self) -> Result<SyncReport> {
        let synced = self.sync();
        // What could not be saved is the caller's to know, not to be tried again by the drop.
        self.dirty.clear();
        synced
    }

    /// Moves the records that end before `before` to the trash, where they can be restored for 30
    /// days, and returns their number. A recurring record ends with its last instance. To-dos that
    /// are neither completed nor cancelled stay, as do records without a time, and records that are
    /// taken or dirty. Days and floating times are read in the zone `viewer`.
    ///
    /// It costs one walk over all records. Every thousand are removed in a transaction of their own.
    ///
    /// # Errors
    /// Any error of reading or writing; records removed until then stay removed.
    pub fn purge(&mut self, before: Timestamp, viewer: &TimeZone) -> Result<u64> {
        let mut past = Vec::new();
        for first in (0..).step_by(PAGE as usize) {
            let query = Query::all().offset(first).limit(PAGE);
            let columns = Columns::from(Column::Record) | Column::Uid;
            let rows = self.calendar.query(&query.columns(columns))?;
            for row in rows.iter() {
                let id = row.id();
                let is_held = self.taken.get(&id).is_some_and(|h| h.strong_count() > 0);
                if is_held || self.dirty.contains_key(&id) {
                    continue;
                }
                let zones = self.calendar.zones(id)?;
                // What cannot be read has no end that is known.
                if let Ok(record) = CalendarObject::parse(row.record(), &zones)
                    && is_past(&record, before, viewer)
                {
                    let unchanged = Condition::IfMatch(ETag::of(row.record()));
                    past.push((row.get(Column::Uid).to_owned(), unchanged));
                }
            }
            if rows.is_empty() {
                break;
            }
        }
        let mut removed = 0;
        for batch in past.chunks(PURGE_BATCH) {
            let mut batch = batch.to_vec();
            loop {
                match self.calendar.remove_all_if(&batch) {
                    Ok(()) => break,
                    // It was changed after it was found to be past.
                    Err(Error::Conflict { uid, .. } | Error::NoRecord { uid, .. }) => {
                        batch.retain(|(past, _)| *past != uid);
                    }
                    Err(error) => return Err(error),
                }
            }
            removed += batch.len() as u64;
        }
        self.refresh();
        Ok(removed)
    }
}

/// Returns true if the last instance of a record ends before a moment.
fn is_past(record: &CalendarObject, before: Timestamp, viewer: &TimeZone) -> bool {
    let is_open = |kind, status: Option<Status>| {
        kind == ComponentKind::Todo
            && !matches!(status, Some(Status::Completed | Status::Cancelled))
    };
    let mut components = record.components();
    let mut is_timed = false;
    if components.any(|c| {
        is_timed |= c.timing.is_some();
        is_open(c.kind, c.status)
    }) {
        return false;
    }
    // An instance that ends at the moment is past; `between` has those that last into the range.
    is_timed
        && record
            .recurrence_set()
            .between(before..Timestamp::MAX, viewer)
            .next()
            .is_none()
}

impl Drop for DateBook {
    fn drop(&mut self) {
        match self.sync() {
            Ok(synced) => {
                for conflict in &synced.conflicts {
                    tracing::warn!(uid = conflict.uid, "others changed it: not overwritten");
                }
            }
            Err(error) => tracing::warn!(%error, "a date book was not synced"),
        }
    }
}
