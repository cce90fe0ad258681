//! What the date books of a process share: who has taken what, and what waits for a sync.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::taken::{Locks, Taken};
use crate::calendar::CalendarObject;
use crate::db::Db;
use crate::db::IndexContext;
use crate::db::TransactionSize;
use crate::db::metadata;
use crate::error::{Error, Result};
use crate::record::prepared::IndexedRecord;
use crate::record::records::RecordWriter;
use crate::record::shared::SourceObject;
use crate::record::{IndexedColumns, RecordKind as _, changes};
use crate::types::{Condition, ETag, RecordId};

/// What a sync did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Synced {
    /// Records that are saved since the sync before.
    pub saved: u64,
    /// Records that others changed or removed meanwhile: theirs stay as they are, and what was
    /// released dirty is here.
    pub conflicts: Vec<Conflict>,
}

/// A dirty release that could not be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The record.
    pub record: RecordId,
    /// Its UID.
    pub uid: String,
    /// What it was to be.
    pub text: Vec<u8>,
}

/// What the date books of a process share.
#[derive(Debug, Default)]
pub(crate) struct DateBooks {
    /// Whether something waits to be committed.
    waits: AtomicBool,
    state: Mutex<State>,
    /// Held while it is committed: those who need it committed wait for it.
    committing: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    /// Records taken in this process.
    taken: HashSet<i64>,
    dirty: BTreeMap<i64, Arc<Dirty>>,
    locks: Option<Locks>,
    /// Date books that are open.
    open: usize,
    /// Committed without a flush since the last sync, and of that what could not be kept.
    unflushed: bool,
    so_far: Synced,
}

/// A record that was released dirty.
#[derive(Debug)]
struct Dirty {
    collection: i64,
    uid: String,
    /// What is in the store.
    before: ETag,
    text: Vec<u8>,
    derived: IndexedColumns,
    /// The zones that it brings along.
    made: Option<SourceObject>,
}

impl DateBooks {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The latest change that a date book of any process committed, as far as is known; `None`:
    /// nothing here was taken yet, so that nobody would have told of it.
    pub(super) fn latest(&self) -> Option<i64> {
        self.state().locks.as_ref().map(Locks::latest)
    }

    /// Takes a record for one holder.
    pub(super) fn take<'s>(&'s self, db: &Db, record: i64) -> Result<Hold<'s>> {
        if db.is_read_only() {
            return Err(Error::ReadOnly {
                path: db.path().to_owned(),
            });
        }
        let mut state = self.state();
        let taken = || Error::Taken {
            record: RecordId(record),
        };
        if state.taken.contains(&record) {
            return Err(taken());
        }
        // What waits for a sync is locked.
        if !state.dirty.contains_key(&record) {
            if state.locks.is_none() {
                state.locks = Some(Locks::beside(db.path())?);
            }
            if let Some(locks) = &state.locks
                && !locks.take(record)?
            {
                return Err(taken());
            }
        }
        state.taken.insert(record);
        Ok(Hold {
            books: self,
            record,
        })
    }

    /// The text of a record that was released dirty.
    #[inline]
    pub(super) fn dirty(&self, record: i64) -> Option<Vec<u8>> {
        match self.waits.load(Ordering::Acquire) {
            true => self.state().dirty.get(&record).map(|d| d.text.clone()),
            false => None,
        }
    }

    /// Keeps what a record is to be, to be seen from now on.
    pub(super) fn release_dirty(
        &self,
        taken: Taken<'_>,
        record: CalendarObject,
        with: &IndexContext<'_>,
    ) {
        let derived = record.derive(with);
        let made = record.provenance();
        let (hold, stored, collection) = taken.into_parts();
        let mut state = self.state();
        let before = state
            .dirty
            .get(&hold.record)
            .map_or(stored.etag, |d| d.before);
        state.dirty.insert(
            hold.record,
            Arc::new(Dirty {
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

    /// Commits what waits, so that whoever reads the store sees it.
    pub(crate) fn settle(&self, db: &Db) -> Result<()> {
        match self.waits.load(Ordering::Acquire) {
            true => self.commit(db, false),
            false => Ok(()),
        }
    }

    /// Makes all that was released durable.
    pub(super) fn sync(&self, db: &Db) -> Result<Synced> {
        self.commit(db, true)?;
        Ok(std::mem::take(&mut self.state().so_far))
    }

    fn commit(&self, db: &Db, durably: bool) -> Result<()> {
        let _one = self
            .committing
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let (dirty, unflushed) = {
            let state = self.state();
            (state.dirty.clone(), state.unflushed)
        };
        if dirty.is_empty() && !(durably && unflushed) {
            return Ok(());
        }
        let bytes = dirty.values().map(|d| d.text.len()).sum();
        let size = match durably {
            true => TransactionSize::of(dirty.len(), bytes),
            false => TransactionSize::Upkeep,
        };
        let order = db.order();
        let (mut saved, mut conflicts, mut latest) = (0, Vec::new(), 0);
        let work = |conn: &Connection| {
            if dirty.is_empty() {
                // What was committed before is flushed with this.
                let syncs = metadata::number(conn, metadata::SYNCS)?;
                return metadata::set(conn, metadata::SYNCS, syncs.wrapping_add(1));
            }
            RecordWriter::run(conn, order, |writing| {
                for (&record, dirty) in &dirty {
                    let one = IndexedRecord::stored(&dirty.uid, &dirty.text, &dirty.derived)
                        .from(dirty.made.as_ref());
                    let condition = Condition::IfMatch(dirty.before);
                    match one.put(conn, writing, dirty.collection, condition) {
                        Ok(_) => saved += 1,
                        Err(Error::Conflict { .. }) => conflicts.push(Conflict {
                            record: RecordId(record),
                            uid: dirty.uid.clone(),
                            text: dirty.text.clone(),
                        }),
                        Err(e) => return Err(e),
                    }
                }
                Ok(())
            })?;
            latest = changes::latest(conn)?;
            Ok(())
        };
        // A day's changes are flushed once; the file has them at the close, or by a later commit.
        let put_off = || db.write_of(size, work);
        db.with_deferred_checkpoint(put_off)?;
        let mut state = self.state();
        // Before the locks are let go of.
        if let Some(locks) = state.locks.as_ref().filter(|_| latest > 0) {
            locks.tell(latest);
        }
        for (record, committed) in dirty {
            match state.dirty.get_mut(&record) {
                // It was taken and released again meanwhile.
                Some(now) if !Arc::ptr_eq(now, &committed) => {
                    *now = Arc::new(Dirty {
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
                    state.free(record);
                }
            }
        }
        state.so_far.saved += saved;
        state.so_far.conflicts.extend(conflicts);
        state.unflushed = !durably;
        self.waits.store(!state.dirty.is_empty(), Ordering::Release);
        Ok(())
    }

    pub(super) fn opened(&self) {
        self.state().open += 1;
    }

    pub(super) fn closed(&self) {
        let mut state = self.state();
        state.open -= 1;
        state.rest();
    }

    /// What a sync told, to be told by the next one.
    pub(super) fn put_back(&self, synced: Synced) {
        let mut state = self.state();
        state.so_far.saved += synced.saved;
        state.so_far.conflicts.extend(synced.conflicts);
    }
}

impl State {
    /// Lets other processes have a record that nobody here holds or is to sync.
    fn free(&self, record: i64) {
        if !self.taken.contains(&record)
            && !self.dirty.contains_key(&record)
            && let Some(locks) = &self.locks
        {
            locks.free(record);
        }
    }

    /// Lets the lock file go when nobody needs it.
    fn rest(&mut self) {
        if self.open == 0 && self.taken.is_empty() && self.dirty.is_empty() {
            self.locks = None;
        }
    }
}

/// A record that is held by one date book.
pub(super) struct Hold<'s> {
    books: &'s DateBooks,
    record: i64,
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        let mut state = self.books.state();
        state.taken.remove(&self.record);
        state.free(self.record);
        state.rest();
    }
}
