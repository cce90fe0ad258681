//! Purging: records that are over go to the trash, so that a date book does not grow for ever.

use std::ops::ControlFlow;

use rusqlite::OptionalExtension;

use super::DateBook;
use crate::calendar::ics::Kind;
use crate::calendar::moment::{self, Named, REACH};
use crate::calendar::record::{Record, Status};
use crate::calendar::summary::Stored;
use crate::calendar::time::{Timestamp, Zone};
use crate::collection::{Reader, list};
use crate::error::Result;

/// Records removed in one transaction.
const AT_ONCE: usize = 1_000;

impl DateBook<'_> {
    /// Moves the records that are over before `before` to the trash, from which they can be brought
    /// back for 30 days, and tells how many they were. What recurs is over when its last instance
    /// is. To-dos stay until they are completed or cancelled; so does what has no time, and what
    /// others took. Days and floating times are where they are in the zone `viewer`.
    ///
    /// It syncs first. Each thousand records are removed in a commit of their own.
    ///
    /// # Errors
    /// Whatever reading and writing report; what was removed until then stays removed.
    pub fn purge(&mut self, before: Timestamp, viewer: &Zone) -> Result<u64> {
        let synced = self.sync()?;
        let store = self.calendar.store();
        // They are told of by the next sync.
        store.date_books.put_back(synced);
        let over = self.calendar.read_ordered(|r| r.over(before, viewer))?;
        let mut removed = 0;
        for some in over.chunks(AT_ONCE) {
            let mut holds = Vec::with_capacity(some.len());
            let mut uids = Vec::with_capacity(some.len());
            for (id, uid) in some {
                match store.date_books.take(store, *id) {
                    Ok(hold) => holds.push(hold),
                    Err(crate::Error::Taken { .. }) => continue,
                    Err(e) => return Err(e),
                }
                uids.push(uid.as_str());
            }
            let gone = self.calendar.remove_many(&uids)?;
            removed += gone.into_iter().filter(|gone| *gone).count() as u64;
        }
        Ok(removed)
    }
}

impl Reader<'_, Record> {
    /// Numbers and UIDs of the records that are over.
    fn over(&self, before: Timestamp, viewer: &Zone) -> Result<Vec<(i64, String)>> {
        self.told(|| {
            let mut found = Vec::new();
            let mut zones = Named::default();
            let to = moment::place(before.seconds().saturating_add(REACH));
            list::walk(self.conn, self.collection, &[], false, |block| {
                let end = block.before(&to, i64::MIN);
                for (id, summary) in block.ids().zip(block.summaries()).take(end) {
                    let stored = Stored::read(summary, &mut zones);
                    let ends = stored.end.as_ref().map(|t| t.at(viewer));
                    if !stored.in_series()
                        && ends.is_some_and(|at| at <= before)
                        && !is_open(stored.kind(), stored.status)
                    {
                        found.push(id);
                    }
                }
                Ok(match end < block.len() {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                })
            })?;
            let mut statement = self.conn.prepare_cached(
                "SELECT record, times FROM series WHERE collection = ?1 AND until < ?2",
            )?;
            // Bounds are wider than what they hold.
            let until = before.seconds().saturating_add(4 * REACH);
            let mut rows = statement.query((self.collection, until))?;
            while let Some(row) = rows.next()? {
                let record: i64 = row.get(0)?;
                let times = row.get_ref(1)?.as_blob().unwrap_or_default();
                let Some(known) = self.store.known_series.get(record, times) else {
                    continue;
                };
                let is_open = known.components.iter().any(|c| is_open(c.kind, c.status));
                let mut left = known.series.between(before..Timestamp::MAX, viewer);
                if !is_open && left.next().is_none() {
                    found.push(record);
                }
            }
            let mut uid = self
                .conn
                .prepare_cached("SELECT uid FROM record WHERE id = ?1")?;
            let mut named = Vec::with_capacity(found.len());
            for id in found {
                if let Some(uid) = uid.query_row([id], |r| r.get(0)).optional()? {
                    named.push((id, uid));
                }
            }
            Ok(named)
        })
    }
}

/// Whether it is something that is still to be done.
fn is_open(kind: Kind, status: Option<Status>) -> bool {
    kind == Kind::Todo && !matches!(status, Some(Status::Completed | Status::Cancelled))
}
