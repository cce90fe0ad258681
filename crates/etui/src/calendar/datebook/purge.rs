//! Purge: moves past records to the trash, so that a date book does not grow without bound.

use std::ops::ControlFlow;

use rusqlite::OptionalExtension;

use super::DateBook;
use super::shared::DateBooks;
use crate::calendar::ics::ComponentKind;
use crate::calendar::object_zones::ObjectZones;
use crate::calendar::series_cache::SeriesCache;
use crate::calendar::summary::StoredSummary;
use crate::calendar::time::{TimeZone, Timestamp};
use crate::calendar::time_codec::{self, MAX_UTC_OFFSET, ZoneInterner};
use crate::calendar::{CalendarObject, Status};
use crate::db::TransactionSize;
use crate::error::{Error, Result};
use crate::record::{Reader, list, records, time_index};
use crate::types::{Condition, ETag};

/// Records that are removed in one transaction.
const PURGE_BATCH: usize = 1_000;

impl DateBook<'_> {
    /// Moves the records that end before `before` to the trash, where they can be restored for 30
    /// days, and returns their number. A recurring record ends with its last instance. To-dos that
    /// are neither completed nor cancelled stay, as do records without a time and records that are
    /// checked out. Days and floating times are read in the zone `viewer`.
    ///
    /// It syncs first. Every thousand records are removed in a transaction of their own.
    ///
    /// # Errors
    /// Any error of reading or writing; records removed until then stay removed.
    pub fn purge(&mut self, before: Timestamp, viewer: &TimeZone) -> Result<u64> {
        let synced = self.sync()?;
        let db = self.calendar.db();
        // Reported by the next sync.
        db.cache::<DateBooks>().put_back(synced);
        let over = self
            .calendar
            .read_ordered(|r| r.past_records(before, viewer))?;
        let mut removed = 0;
        for some in over.chunks(PURGE_BATCH) {
            let mut holds = Vec::with_capacity(some.len());
            let mut free = Vec::with_capacity(some.len());
            for past in some {
                match db
                    .cache::<DateBooks>()
                    .lock_record(self.calendar.db_ref(), past.id)
                {
                    Ok(hold) => holds.push(hold),
                    Err(Error::CheckedOut { .. }) => continue,
                    Err(e) => return Err(e),
                }
                free.push(past);
            }
            let collection = self.calendar.id();
            removed += self
                .calendar
                .write(TransactionSize::Large, |conn, writing| {
                    let mut removed = 0;
                    for PastRecord { uid, etag, .. } in &free {
                        let unchanged = Condition::IfMatch(*etag);
                        match records::remove(conn, writing, collection, uid, unchanged) {
                            Ok(gone) => removed += u64::from(gone),
                            // It was changed after it was found to be past.
                            Err(Error::Conflict { .. }) => {}
                            Err(e) => return Err(e),
                        }
                    }
                    Ok(removed)
                })?;
        }
        Ok(removed)
    }
}

impl Reader<'_, CalendarObject> {
    /// Returns the records that end before a moment.
    fn past_records(&self, before: Timestamp, viewer: &TimeZone) -> Result<Vec<PastRecord>> {
        self.explain_errors(|| {
            let mut found = Vec::new();
            let mut zones = ZoneInterner::default();
            let to = time_codec::list_key_at(before.seconds().saturating_add(MAX_UTC_OFFSET));
            list::for_each_block(self.conn, self.collection, &[], false, |block| {
                let end = block.count_before(&to, i64::MIN);
                for (id, summary) in block.ids().zip(block.summaries()).take(end) {
                    let stored = StoredSummary::from_bytes(summary, &mut zones);
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
            // Spans are wider than what they hold.
            let ended = before.plus_seconds(4 * MAX_UTC_OFFSET).seconds();
            let cache = self.db.cache::<SeriesCache>();
            let mut objects = ObjectZones::default();
            time_index::for_each_ended(self.conn, self.collection, ended, |row| {
                let (record, version) = (row.record, row.version);
                if let Some(parsed) =
                    cache.get_or_parse(self.conn, record, version, &mut objects)?
                {
                    let is_open = parsed.components.iter().any(|c| is_open(c.kind, c.status));
                    let mut left = parsed.series.between(before..Timestamp::MAX, viewer);
                    if !is_open && left.next().is_none() {
                        found.push(record);
                    }
                }
                Ok(())
            })?;
            let mut about = self
                .conn
                .prepare_cached("SELECT uid, etag FROM record WHERE id = ?1")?;
            let mut named = Vec::with_capacity(found.len());
            for id in found {
                let over = about.query_row([id], |r| {
                    Ok(PastRecord {
                        id,
                        uid: r.get(0)?,
                        etag: r.get(1)?,
                    })
                });
                named.extend(over.optional()?);
            }
            Ok(named)
        })
    }
}

struct PastRecord {
    id: i64,
    uid: String,
    etag: ETag,
}

/// Returns true if it is a to-do that is neither completed nor cancelled.
fn is_open(kind: ComponentKind, status: Option<Status>) -> bool {
    kind == ComponentKind::Todo && !matches!(status, Some(Status::Completed | Status::Cancelled))
}
