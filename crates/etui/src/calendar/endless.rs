//! [`Endless`]: the series of a calendar that go on for ever, kept in memory.
//!
//! Each of them is in nearly every range behind its beginning, so that each range would read all of
//! them anew. They are kept, made ready, in the order in which they begin, for one state of the
//! store, told by the number of its latest change and how often all was derived anew:
//!
//! ```text
//! by first   [ s  s  s  s  s  s  s | s  s  s ...
//!              kept            upto  not asked for yet, or too many: read from the table
//! ```

use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

use super::known::{self, Known, KnownSeries};
use crate::db::metadata;
use crate::error::Result;
use crate::record::{changes, times};

/// Series that are kept of a calendar, and bytes of what is made of them, about.
const MOST: usize = 8_192;
const MOST_BYTES: usize = 8 << 20;
/// Calendars of which they are kept.
const MOST_CALENDARS: usize = 8;

/// What is kept of each calendar.
#[derive(Debug, Default)]
pub(super) struct Endless(Mutex<Vec<Kept>>);

/// What is kept of a calendar.
#[derive(Debug, Default)]
struct Kept {
    collection: i64,
    /// The state it is of: how often everything was derived anew, and the latest change.
    state: (i64, i64),
    /// All that begin before are there.
    upto: i64,
    is_full: bool,
    bytes: usize,
    all: Arc<Vec<Entry>>,
}

#[derive(Debug, Clone)]
struct Entry {
    record: i64,
    first: i64,
    until: i64,
    known: Arc<Known>,
}

impl Endless {
    /// Calls `visit` with each that may have to do with a range.
    pub(super) fn each(
        &self,
        series: &KnownSeries,
        conn: &Connection,
        collection: i64,
        range: &Range<i64>,
        mut visit: impl FnMut(i64, &Known),
    ) -> Result<()> {
        let (all, upto) = self.kept(series, conn, collection, range.end)?;
        let begun = all.iter().take_while(|e| e.first < range.end);
        for entry in begun.filter(|e| e.until >= range.start) {
            visit(entry.record, &entry.known);
        }
        if upto >= range.end {
            return Ok(());
        }
        times::unending(conn, collection, upto..range.end, |row| {
            if row.until >= range.start
                && let Some(known) = series.get(row.record, row.times)
            {
                visit(row.record, &known);
            }
            ControlFlow::Continue(())
        })
    }

    /// What is kept, and up to where; read up to `end`, if there is room.
    fn kept(
        &self,
        series: &KnownSeries,
        conn: &Connection,
        collection: i64,
        end: i64,
    ) -> Result<(Arc<Vec<Entry>>, i64)> {
        let state = (
            metadata::number(conn, metadata::DERIVED_ANEW)?,
            changes::latest(conn)?,
        );
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = match all.iter().position(|kept| kept.collection == collection) {
            Some(place) => place,
            None => {
                if all.len() >= MOST_CALENDARS {
                    all.remove(0);
                }
                all.push(Kept::new(collection, state));
                all.len() - 1
            }
        };
        let Some(kept) = all.get_mut(place) else {
            return Ok((Arc::default(), i64::MIN));
        };
        if kept.state > state {
            // Who looks at an older state reads it.
            return Ok((Arc::default(), i64::MIN));
        }
        if kept.state < state {
            *kept = Kept::new(collection, state);
        }
        if kept.upto < end && !kept.is_full {
            kept.grow(series, conn, end)?;
        }
        Ok((Arc::clone(&kept.all), kept.upto))
    }

    /// Forgets them: rows changed, and no record did.
    pub(super) fn forget(&self) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.clear();
    }
}

impl Kept {
    fn new(collection: i64, state: (i64, i64)) -> Self {
        Self {
            collection,
            state,
            upto: i64::MIN,
            ..Self::default()
        }
    }

    fn grow(&mut self, series: &KnownSeries, conn: &Connection, end: i64) -> Result<()> {
        let mut found = Vec::new();
        let (mut bytes, mut full_at) = (self.bytes, None);
        times::unending(conn, self.collection, self.upto..end, |row| {
            bytes += known::weight(row.times);
            if self.all.len() + found.len() >= MOST || bytes > MOST_BYTES {
                full_at = Some(row.first);
                return ControlFlow::Break(());
            }
            if let Some(known) = series.get(row.record, row.times) {
                found.push(Entry {
                    record: row.record,
                    first: row.first,
                    until: row.until,
                    known,
                });
            }
            ControlFlow::Continue(())
        })?;
        self.is_full = full_at.is_some();
        self.upto = full_at.unwrap_or(end);
        self.bytes = bytes;
        // Those that begin with the one for which there was no room are read with it.
        found.retain(|entry| entry.first < self.upto);
        Arc::make_mut(&mut self.all).append(&mut found);
        Ok(())
    }
}
