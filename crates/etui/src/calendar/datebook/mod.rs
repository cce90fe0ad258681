//! The date book: a calendar seen as an ordered, numbered database of records, as the programs of
//! handhelds knew it.
//!
//! ```
//! use etui::Store;
//! use etui::calendar::{Draft, zones::Zones};
//!
//! # let dir = tempfile::tempdir()?;
//! # let store = Store::open(dir.path().join("personal.etui"))?;
//! let calendar = store.calendar()?;
//! calendar.save(&Draft::event("Dentist").uid("1").make(&Zones::new())?)?;
//!
//! let mut book = calendar.date_book()?;
//! assert_eq!(book.count()?, 1);
//! let taken = book.take(0)?;                          // nobody else gets it now
//! let mut record = taken.record()?;
//! record.set(0, "SUMMARY", "Dentist, at last", &Zones::new())?;
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
//!   for what other programs saved, when it is a hundredth of a second old. Who takes a record sees
//!   what any date book synced before.
//! - **Taking** is exclusive: among all date books of all programs (`taken`). A program that dies
//!   lets go of what it took.
//! - **Releasing clean** costs nothing. **Releasing dirty** is seen by this date book and by all that
//!   reads the calendar in this process at once. Views and other programs see it when it is synced.
//! - **Sync** makes all dirty releases of the calendar durable in one commit; closing syncs. What
//!   was not synced may be lost in a crash, and only that: the records are then as they were. If
//!   the calendar is also read, or saved to, by other means in this process, what was released until
//!   then is committed for that, to be seen, and is flushed with the sync.
//! - A record that another program changed by other means while it was taken or not yet synced is
//!   not overwritten: the sync tells of it ([`Synced::conflicts`]), and the other's change stays.

mod purge;
pub(crate) mod shared;
mod taken;

use std::ops::{ControlFlow, Range};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension};

use super::Calendar;
use super::objects::ZonesOf;
use super::record::Record;
use crate::collection::{ETag, RecordId, Stored, changes, list};
use crate::error::{Error, Result};

pub use shared::{Conflict, Synced};
pub use taken::Taken;

/// How old the state may be that is looked at. What another program changed in so short a time
/// before a record was taken is noticed by the sync, like any change by other means.
const AGE: Duration = Duration::from_millis(10);

/// Bytes that are read along at the most.
const MOST_AHEAD: usize = 256 << 10;

impl<'s> Calendar<'s> {
    /// Opens the calendar as a date book.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn date_book(&self) -> Result<DateBook<'s>> {
        self.store().ensure_order()?;
        self.store().date_books.opened();
        Ok(DateBook {
            calendar: self.again(),
            state: None,
            is_closed: false,
        })
    }
}

/// A calendar as an ordered, numbered database of records.
pub struct DateBook<'s> {
    calendar: Calendar<'s>,
    state: Option<State>,
    is_closed: bool,
}

/// One state of the store, in a read transaction.
struct State {
    connection: Connection,
    /// What this process had saved by then.
    generation: u64,
    /// The store's latest change.
    latest: i64,
    /// The latest change by a date book, as far as was told before.
    told: i64,
    since: Instant,
    /// A part of the list: the position of its first entry, and the entries.
    first: u64,
    ids: Vec<i64>,
    /// Texts that were read along, and the position that was looked at last.
    ahead: Ahead,
    looked: Option<u64>,
}

impl<'s> DateBook<'s> {
    /// How many records there are.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn count(&mut self) -> Result<u64> {
        let collection = self.calendar.id();
        self.reading(|state| list::count(&state.connection, collection))
    }

    /// Looks at record `index` without taking it; `None` beyond the last.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn peek(&mut self, index: u64) -> Result<Option<Stored<Record>>> {
        match self.id_at(index)? {
            Some(id) => self.stored(id),
            None => Ok(None),
        }
    }

    /// Calls `visit` with the number and the text of record `index`, without taking it; `None` beyond
    /// the last. Going through records in their order costs about as much as
    /// [`Calendar::for_each`](Calendar::for_each): those that follow are read along.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn look<T>(
        &mut self,
        index: u64,
        visit: impl FnOnce(RecordId, &[u8]) -> T,
    ) -> Result<Option<T>> {
        let collection = self.calendar.id();
        let books = &self.calendar.store().date_books;
        self.reading(|state| {
            let Some(id) = state.id_at(collection, index)? else {
                return Ok(None);
            };
            if let Some(text) = books.dirty(id) {
                return Ok(Some(visit(RecordId(id), &text)));
            }
            if !state.ahead.has(id) {
                state.read_along(collection, index)?;
            }
            // So many bytes came before it that it was not reached.
            if !state.ahead.has(id) {
                state.read(collection, &[(id, id)])?;
            }
            state.looked = Some(index);
            Ok(state.ahead.get(id).map(|text| visit(RecordId(id), text)))
        })
    }

    /// Takes record `index`: until it is released, nobody else can.
    ///
    /// # Errors
    /// [`Error::Taken`] when somebody has it; [`Error::NoIndex`] beyond the last record;
    /// [`Error::ReadOnly`]; whatever reading reports.
    pub fn take(&mut self, index: u64) -> Result<Taken<'s>> {
        match self.id_at(index)? {
            Some(id) => self.take_id(RecordId(id)),
            None => Err(Error::NoIndex {
                index,
                count: self.count()?,
            }),
        }
    }

    /// Takes the record with this number.
    ///
    /// # Errors
    /// [`Error::Taken`] when somebody has it; [`Error::NoRecord`] when it is gone;
    /// [`Error::ReadOnly`]; whatever reading reports.
    pub fn take_id(&mut self, id: RecordId) -> Result<Taken<'s>> {
        let store = self.calendar.store();
        if store.is_read_only() {
            return Err(Error::ReadOnly {
                path: store.path().to_owned(),
            });
        }
        let hold = store.date_books.take(store, id.0)?;
        // It was locked after what others did to it was told of.
        let told = store.date_books.latest();
        if self.state.as_ref().is_some_and(|s| s.told != told) {
            self.let_go();
        }
        match self.stored(id.0)? {
            Some(stored) => Ok(Taken::new(hold, stored, self.calendar.again())),
            None => Err(Error::NoRecord {
                kind: crate::Kind::Calendar,
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
    pub fn release_dirty(&mut self, taken: Taken<'s>, record: Record) -> Result<()> {
        let uid = &taken.stored().uid;
        if let Some(found) = record.uid().filter(|own| own != uid) {
            return Err(Error::OtherUid {
                uid: uid.clone(),
                found: found.to_owned(),
            });
        }
        let store = self.calendar.store();
        let with = store.deriving()?;
        store
            .date_books
            .release_dirty(self.calendar.id(), taken, record, &with);
        Ok(())
    }

    /// Makes all dirty releases of the calendar durable, in one commit.
    ///
    /// # Errors
    /// Whatever writing reports; the changes then still wait for a sync.
    pub fn sync(&mut self) -> Result<Synced> {
        self.let_go();
        let store = self.calendar.store();
        store.date_books.sync(store)
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

    /// The number of the record at a position.
    fn id_at(&mut self, index: u64) -> Result<Option<i64>> {
        let collection = self.calendar.id();
        self.reading(|state| state.id_at(collection, index))
    }

    /// The record with a number, with what was released dirty.
    fn stored(&mut self, id: i64) -> Result<Option<Stored<Record>>> {
        let collection = self.calendar.id();
        let found = self.reading(|state| find(&state.connection, collection, id))?;
        Ok(self.with_dirty(id, found))
    }

    fn with_dirty(&self, id: i64, found: Option<Stored<Record>>) -> Option<Stored<Record>> {
        let dirty = self.calendar.store().date_books.dirty(id);
        let mut found = found?;
        if let Some(text) = dirty {
            found.etag = ETag::of(&text);
            found.text = text;
        }
        Some(found)
    }

    /// Reads from a state that is new enough.
    fn reading<T>(&mut self, work: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        let store = self.calendar.store();
        let explain = |e| store.engine.explain(e);
        let generation = store.generation();
        let told = || store.date_books.latest();
        let mut state = match self.state.take() {
            None => {
                let connection = store.engine.take()?;
                State::begin(connection, generation, told()).map_err(explain)?
            }
            Some(state) if state.generation == generation && state.since.elapsed() < AGE => state,
            Some(state) => state.renew(generation, told()).map_err(explain)?,
        };
        let result = work(&mut state).map_err(explain);
        self.state = Some(state);
        result
    }

    /// Ends the read transaction, which would keep the log from being folded back.
    fn let_go(&mut self) {
        if let Some(state) = self.state.take() {
            self.calendar.store().engine.give_back(state.connection);
        }
    }
}

impl Drop for DateBook<'_> {
    fn drop(&mut self) {
        if !self.is_closed
            && let Err(error) = self.sync()
        {
            tracing::warn!(%error, "a date book was not synced");
        }
        self.let_go();
        self.calendar.store().date_books.closed();
    }
}

impl State {
    fn begin(connection: Connection, generation: u64, told: i64) -> Result<Self> {
        connection.prepare_cached("BEGIN")?.execute([])?;
        let latest = changes::latest(&connection)?;
        Ok(Self {
            connection,
            generation,
            latest,
            told,
            since: Instant::now(),
            first: 0,
            ids: Vec::new(),
            ahead: Ahead::default(),
            looked: None,
        })
    }

    /// The state as it is now; what is known of the list stays if nothing changed.
    fn renew(self, generation: u64, told: i64) -> Result<Self> {
        self.connection.prepare_cached("ROLLBACK")?.execute([])?;
        let new = Self::begin(self.connection, generation, told)?;
        Ok(match new.latest == self.latest {
            true => Self {
                first: self.first,
                ids: self.ids,
                ahead: self.ahead,
                looked: self.looked,
                ..new
            },
            false => new,
        })
    }

    fn id_at(&mut self, collection: i64, index: u64) -> Result<Option<i64>> {
        let known = |state: &Self| {
            let behind = index.checked_sub(state.first)?;
            state.ids.get(usize::try_from(behind).ok()?).copied()
        };
        if let Some(id) = known(self) {
            return Ok(Some(id));
        }
        self.ahead.clear();
        let Some((first, at)) = list::start_at(&self.connection, collection, index)? else {
            return Ok(None);
        };
        self.ids.clear();
        self.first = index.saturating_sub(at as u64);
        let ids = &mut self.ids;
        list::walk(&self.connection, collection, &first, false, |block| {
            ids.extend(block.ids());
            Ok(ControlFlow::Break(()))
        })?;
        Ok(known(self))
    }
}

fn find(conn: &Connection, collection: i64, id: i64) -> Result<Option<Stored<Record>>> {
    Ok(conn
        .prepare_cached(
            "SELECT id, uid, etag, text FROM record \
             WHERE id = ?1 AND collection = ?2 AND removed IS NULL",
        )?
        .query_row((id, collection), Stored::from_row)
        .optional()?)
}

/// Texts of some records.
#[derive(Default)]
struct Ahead {
    bytes: Vec<u8>,
    /// Each record's number, and where its text is; by number.
    places: Vec<(i64, Range<usize>)>,
}

impl Ahead {
    fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    fn push(&mut self, id: i64, text: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(text);
        self.places.push((id, start..self.bytes.len()));
    }

    fn find(&self, id: i64) -> Option<usize> {
        self.places.binary_search_by_key(&id, |place| place.0).ok()
    }

    fn has(&self, id: i64) -> bool {
        self.find(id).is_some()
    }

    fn get(&self, id: i64) -> Option<&[u8]> {
        let (_, place) = self.places.get(self.find(id)?)?;
        self.bytes.get(place.clone())
    }
}

impl State {
    /// Reads the text of a record; if the one before it was looked at, also of those that follow.
    fn read_along(&mut self, collection: i64, index: u64) -> Result<()> {
        let at = usize::try_from(index.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let rest = self.ids.get(at..).unwrap_or_default();
        let count = match index.checked_sub(1) == self.looked {
            true => rest.len(),
            false => 1,
        };
        let mut ids = rest[..count].to_vec();
        ids.sort_unstable();
        let (Some(&first), Some(&last)) = (ids.first(), ids.last()) else {
            return Ok(());
        };
        // Neighbours in the file are read in its order.
        let are_near = (last - first) / 4 < ids.len() as i64;
        let ranges: Vec<(i64, i64)> = match are_near {
            true => vec![(first, last)],
            false => ids.into_iter().map(|id| (id, id)).collect(),
        };
        self.read(collection, &ranges)
    }

    /// Reads the texts of the records in these ranges of numbers, as far as they are wanted.
    fn read(&mut self, collection: i64, ranges: &[(i64, i64)]) -> Result<()> {
        self.ahead.clear();
        let mut statement = self.connection.prepare_cached(
            "SELECT id, text FROM record NOT INDEXED \
             WHERE id BETWEEN ?1 AND ?2 AND collection = ?3 AND removed IS NULL ORDER BY id",
        )?;
        for (first, last) in ranges {
            let mut rows = statement.query((first, last, collection))?;
            while let Some(row) = rows.next()? {
                let text = row.get_ref(1)?.as_blob().unwrap_or_default();
                self.ahead.push(row.get(0)?, text);
                if self.ahead.bytes.len() > MOST_AHEAD {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// Reads a record as it was taken.
fn read(calendar: &Calendar<'_>, stored: &Stored<Record>) -> Result<Record> {
    let store = calendar.store();
    store.engine.read(|conn| {
        let row = conn
            .prepare_cached("SELECT shared FROM record WHERE id = ?1")?
            .query_row([stored.id.0], |r| r.get(0))
            .optional()?
            .flatten();
        ZonesOf::default().record(conn, stored.text.clone(), row)
    })
}
