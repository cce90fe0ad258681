//! DateBooksState shared by the date books of a process: records checked out, and dirty records.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::checked_out::{CheckedOut, LockFile};
use crate::calendar::CalendarObject;
use crate::db::IndexContext;
use crate::db::TransactionSize;
use crate::db::metadata;
use crate::db::{Db, DbRef};
use crate::error::{Error, Result};
use crate::record::prepared::IndexedRecord;
use crate::record::records::RecordWriter;
use crate::record::shared::SourceObject;
use crate::record::{IndexedColumns, RecordKind as _, changes};
use crate::types::{Condition, ETag, RecordId};

/// Result of a sync.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SyncReport {
    /// Number of records saved since the sync before.
    pub saved: u64,
    /// DirtyRecord records that were not saved, as others changed or removed the record meanwhile.
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

/// DateBooksState shared by the date books of a process.
#[derive(Debug, Default)]
pub(crate) struct DateBooks {
    /// True if there are dirty records.
    waits: AtomicBool,
    state: Mutex<DateBooksState>,
    /// Held during a commit; callers that need the dirty records committed wait for it.
    committing: Mutex<()>,
}

#[derive(Debug, Default)]
struct DateBooksState {
    /// Records checked out in this process.
    taken: HashSet<i64>,
    dirty: BTreeMap<i64, Arc<DirtyRecord>>,
    locks: Option<LockFile>,
    /// Number of open date books.
    open: usize,
    /// True if dirty records were committed without a flush since the last sync.
    unflushed: bool,
    unreported: SyncReport,
}

/// A record that was released dirty and is not committed.
#[derive(Debug)]
struct DirtyRecord {
    collection: i64,
    uid: String,
    /// Version in the store.
    before: ETag,
    text: Vec<u8>,
    derived: IndexedColumns,
    /// The zones that it adds to the store.
    made: Option<SourceObject>,
}

impl DateBooks {
    fn lock_state(&self) -> MutexGuard<'_, DateBooksState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the latest change that a date book of any process announced; `None` if nothing was
    /// checked out in this process yet, so that there may be no lock file to announce it in.
    pub(super) fn latest_announced(&self) -> Option<i64> {
        self.lock_state().locks.as_ref().map(LockFile::read_latest)
    }

    /// Checks out a record.
    pub(super) fn lock_record<'s>(&self, db: DbRef<'s>, record: i64) -> Result<RecordLock<'s>> {
        if db.is_read_only() {
            return Err(Error::ReadOnly(db.path().to_owned()));
        }
        let mut state = self.lock_state();
        let taken = || Error::CheckedOut(RecordId(record));
        if state.taken.contains(&record) {
            return Err(taken());
        }
        // A dirty record is locked already.
        if !state.dirty.contains_key(&record) {
            if state.locks.is_none() {
                state.locks = Some(LockFile::open_beside(db.path())?);
            }
            if let Some(locks) = &state.locks
                && !locks.try_lock(record)?
            {
                return Err(taken());
            }
        }
        state.taken.insert(record);
        Ok(RecordLock { db, record })
    }

    /// Returns the text of a dirty record.
    #[inline]
    pub(super) fn dirty_text(&self, record: i64) -> Option<Vec<u8>> {
        match self.waits.load(Ordering::Acquire) {
            true => self.lock_state().dirty.get(&record).map(|d| d.text.clone()),
            false => None,
        }
    }

    /// Makes a record dirty: date books see the new text from now on.
    pub(super) fn release_dirty(
        &self,
        taken: CheckedOut<'_>,
        record: CalendarObject,
        with: &IndexContext<'_>,
    ) {
        let derived = record.index(with);
        let made = record.required_source();
        let (hold, stored, collection) = taken.into_parts();
        let mut state = self.lock_state();
        let before = state
            .dirty
            .get(&hold.record)
            .map_or(stored.etag, |d| d.before);
        state.dirty.insert(
            hold.record,
            Arc::new(DirtyRecord {
                collection,
                uid: stored.uid,
                before,
                text: record.into_text(),
                derived,
                made,
            }),
        );
        self.waits.store(true, Ordering::Release);
        drop(state);
        drop(hold);
    }

    /// Commits dirty records without a flush, so that all readers of the store see them.
    pub(crate) fn flush_dirty(&self, db: &Db) -> Result<()> {
        match self.waits.load(Ordering::Acquire) {
            true => self.commit_dirty(db, false),
            false => Ok(()),
        }
    }

    /// Commits and flushes all dirty records.
    pub(super) fn sync(&self, db: &Db) -> Result<SyncReport> {
        self.commit_dirty(db, true)?;
        Ok(std::mem::take(&mut self.lock_state().unreported))
    }

    fn commit_dirty(&self, db: &Db, durably: bool) -> Result<()> {
        let _one = self
            .committing
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let (dirty, unflushed) = {
            let state = self.lock_state();
            (state.dirty.clone(), state.unflushed)
        };
        if dirty.is_empty() && !(durably && unflushed) {
            return Ok(());
        }
        let bytes = dirty.values().map(|d| d.text.len()).sum();
        let size = match durably {
            true => TransactionSize::of(dirty.len(), bytes),
            false => TransactionSize::Maintenance,
        };
        let order = db.order();
        let (mut saved, mut conflicts, mut latest) = (0, Vec::new(), 0);
        let work = |conn: &Connection| {
            if dirty.is_empty() {
                // Flushes what was committed before.
                let syncs = metadata::get_number(conn, metadata::SYNCS)?;
                return metadata::set(conn, metadata::SYNCS, syncs.wrapping_add(1));
            }
            RecordWriter::run(conn, order, |writing| {
                for (&record, dirty) in &dirty {
                    let one = IndexedRecord::stored(&dirty.uid, &dirty.text, &dirty.derived)
                        .from(dirty.made.as_ref());
                    let condition = Condition::IfMatch(dirty.before);
                    match one.put(conn, writing, dirty.collection, condition) {
                        Ok(_) => saved += 1,
                        Err(Error::Conflict { .. }) => conflicts.push(SyncConflict {
                            record: RecordId(record),
                            uid: dirty.uid.clone(),
                            text: dirty.text.clone(),
                        }),
                        Err(e) => return Err(e),
                    }
                }
                Ok(())
            })?;
            latest = changes::latest_seq(conn)?;
            Ok(())
        };
        db.write_of(size, work)?;
        let mut state = self.lock_state();
        // Before the locks are released.
        if let Some(locks) = state.locks.as_ref().filter(|_| latest > 0) {
            locks.announce(latest);
        }
        for (record, committed) in dirty {
            match state.dirty.get_mut(&record) {
                // It was checked out and released again meanwhile.
                Some(now) if !Arc::ptr_eq(now, &committed) => {
                    *now = Arc::new(DirtyRecord {
                        before: ETag::of(&committed.text),
                        uid: now.uid.clone(),
                        text: now.text.clone(),
                        derived: now.derived.clone(),
                        made: now.made.clone(),
                        collection: now.collection,
                    });
                }
                _ => {
                    state.dirty.remove(&record);
                    state.unlock_unused(record);
                }
            }
        }
        state.unreported.saved += saved;
        state.unreported.conflicts.extend(conflicts);
        state.unflushed = !durably;
        self.waits.store(!state.dirty.is_empty(), Ordering::Release);
        Ok(())
    }

    pub(super) fn count_opened(&self) {
        self.lock_state().open += 1;
    }

    pub(super) fn count_closed(&self) {
        let mut state = self.lock_state();
        state.open -= 1;
        state.close_unused();
    }

    /// Adds the result of a sync to that of the next one.
    pub(super) fn put_back(&self, synced: SyncReport) {
        let mut state = self.lock_state();
        state.unreported.saved += synced.saved;
        state.unreported.conflicts.extend(synced.conflicts);
    }
}

impl DateBooksState {
    /// Unlocks a record that is neither checked out nor dirty.
    fn unlock_unused(&self, record: i64) {
        if !self.taken.contains(&record)
            && !self.dirty.contains_key(&record)
            && let Some(locks) = &self.locks
        {
            locks.unlock(record);
        }
    }

    /// Closes the lock file if it is not needed.
    fn close_unused(&mut self) {
        if self.open == 0 && self.taken.is_empty() && self.dirty.is_empty() {
            self.locks = None;
        }
    }
}

/// Lock of a record that is checked out.
pub(super) struct RecordLock<'s> {
    db: DbRef<'s>,
    record: i64,
}

impl Drop for RecordLock<'_> {
    fn drop(&mut self) {
        let mut state = self.db.cache::<DateBooks>().lock_state();
        state.taken.remove(&self.record);
        state.unlock_unused(self.record);
        state.close_unused();
    }
}
