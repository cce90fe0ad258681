//! The alarms that are due next.
//!
//! Alarms of what happens once stand in the table `alarm`, in the order in which they are due. Of
//! what recurs the table `series` has the next alarm, in an index in that order; which alarm is the
//! next, time decides:
//!
//! ```text
//!  series   a bound --- told of --- told of --- next      never asked: no alarm is due before
//!           told of --- told of --- next                  its alarm lies behind: asked, and moved
//!                                     |
//!           ---------------- now -----+----------> time
//! ```
//!
//! Series whose alarm lies behind the moment asked for are asked for their next one; when there are
//! some, what is found is stored. So asking costs its answer, and what became due since it was last
//! asked. `alarm_mark` in `meta` is the last moment up to which they were moved, of floating
//! times `floating_alarm_mark`, a local time; who asks for an earlier one has every series asked.

pub(super) mod due;
mod series;

use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension};

use super::Calendar;
use super::moment::Named;
use super::record::{Action, Record};
use super::summary::Stored;
use super::time::{Time, Timestamp, Zone};
use crate::collection::{Reader, RecordId, meta};
use crate::engine::Size;
use crate::error::Result;
use due::Due;
use series::due_of;

/// Seconds by which an alarm may be due earlier or later than it is stored: by a change of its
/// zone's rules, or of the viewer's clocks.
const RULES_CHANGE: i64 = 3_600;

/// What lies behind is moved on when there is so much of it.
const STALE: usize = 16;

/// An alarm that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueAlarm {
    /// The record that has it.
    pub record: RecordId,
    /// Which of the record's components has it.
    pub component: usize,
    /// When it is due.
    pub at: Timestamp,
    /// The start of what it is for.
    pub start: Option<Time>,
    /// Its title.
    pub title: String,
    /// What it does.
    pub action: Action,
}

/// A row of `series`, and where its alarm stands.
struct Row {
    record: i64,
    place: i64,
    class: i64,
    first: i64,
    /// Whether its alarms depend on where one is.
    floats: bool,
    /// What it was asked by: it may be another one by now.
    times: Vec<u8>,
}

/// Rows whose alarm lies behind, and their next ones.
type Stale = Vec<(Row, Option<Due>)>;

impl Calendar<'_> {
    /// The first `limit` alarms that are due at `after` or later. See [`Reader::alarms`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn alarms(&self, after: Timestamp, limit: usize, viewer: &Zone) -> Result<Vec<DueAlarm>> {
        let (due, stale) = self.read_ordered(|r| r.alarms_and_stale(after, limit, viewer))?;
        let is_past = after <= Timestamp::from(SystemTime::now());
        if stale.len() >= STALE && is_past && !self.store().is_read_only() {
            let collection = self.id();
            let moved = self.store().write_of(Size::Upkeep, |conn| {
                move_on(conn, collection, after, viewer, &stale)
            });
            // They are moved the next time.
            if let Err(error) = moved {
                tracing::warn!(%error, "alarms were not moved on");
            }
        }
        Ok(due)
    }
}

impl Reader<'_, Record> {
    /// The first `limit` alarms that are due at `after` or later, by when they are due. Those that
    /// were acknowledged are left out; so are the repetitions of an alarm beyond the hundredth, and what
    /// is due behind the first 262,144 instances of a rule that may have one due.
    /// Days and floating times are where they are in the zone `viewer`.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn alarms(&self, after: Timestamp, limit: usize, viewer: &Zone) -> Result<Vec<DueAlarm>> {
        Ok(self.alarms_and_stale(after, limit, viewer)?.0)
    }

    fn alarms_and_stale(
        &self,
        after: Timestamp,
        limit: usize,
        viewer: &Zone,
    ) -> Result<(Vec<DueAlarm>, Stale)> {
        self.told(|| {
            let mut found = Found {
                after,
                limit,
                all: Vec::new(),
            };
            let mut stale = Stale::new();
            if limit > 0 {
                self.once_due(false, viewer, &mut found)?;
                self.once_due(true, viewer, &mut found)?;
                for floating in [false, true] {
                    let mark = meta::number(self.conn, mark(floating))?;
                    match placed(after, floating, viewer) < mark {
                        true => self.every_series_due(floating, viewer, &mut found)?,
                        false => self.series_due(floating, viewer, &mut found, &mut stale)?,
                    }
                }
            }
            found.cut();
            for due in &mut found.all {
                if due.start.is_none() {
                    self.tell(due)?;
                }
            }
            Ok((found.all, stale))
        })
    }

    /// Alarms of what happens once.
    fn once_due(&self, floating: bool, viewer: &Zone, found: &mut Found) -> Result<()> {
        let stored = |at| placed(at, floating, viewer);
        let from = stored(found.after).saturating_sub(RULES_CHANGE);
        let mut statement = self.conn.prepare_cached(
            "SELECT at, record, what FROM alarm \
             WHERE collection = ?1 AND floating = ?2 AND at >= ?3 ORDER BY at",
        )?;
        let mut rows = statement.query((self.collection, floating, from))?;
        let mut zones = Named::default();
        let mut since_cut = 0;
        while let Some(row) = rows.next()? {
            let at: i64 = row.get(0)?;
            if found.is_full() {
                if since_cut == 0 {
                    found.cut();
                    since_cut = found.limit;
                }
                since_cut -= 1;
                let last = found.last().map_or(i64::MAX, stored);
                if at > last.saturating_add(RULES_CHANGE) {
                    break;
                }
            }
            let mut what = row.get_ref(2)?.as_blob().unwrap_or_default();
            while let Some(due) = Due::take(&mut what, &mut zones) {
                if due.is_done(viewer) {
                    continue;
                }
                found.push(DueAlarm {
                    record: RecordId(row.get(1)?),
                    component: 0,
                    at: due.at(viewer),
                    start: None,
                    title: String::new(),
                    action: due.action,
                });
            }
        }
        Ok(())
    }

    /// Alarms of what recurs: of every series whose next alarm may be among the first.
    fn series_due(
        &self,
        floating: bool,
        viewer: &Zone,
        found: &mut Found,
        stale: &mut Stale,
    ) -> Result<()> {
        let mut statement = self.conn.prepare_cached(
            "SELECT record, alarm, due, class, first, times FROM series \
             WHERE collection = ?1 AND floating = ?2 AND alarm IS NOT NULL ORDER BY alarm",
        )?;
        let mut rows = statement.query((self.collection, floating))?;
        let mut zones = Named::default();
        while let Some(row) = rows.next()? {
            let (record, place): (i64, i64) = (row.get(0)?, row.get(1)?);
            let last = found.last();
            if last.is_some_and(|last| place > placed(last, floating, viewer) + RULES_CHANGE) {
                break;
            }
            let due = row.get_ref(2)?.as_blob_or_null().ok().flatten();
            let due = due.and_then(|mut due| Due::take(&mut due, &mut zones));
            let next = due.as_ref().map(|due| due.at(viewer));
            if next.is_some_and(|next| next >= found.after && last.is_some_and(|l| next > l)) {
                continue;
            }
            let times = row.get_ref(5)?.as_blob().unwrap_or_default();
            let Some(known) = self.store.known_series.get(record, times) else {
                continue;
            };
            let (all, is_whole) = due_of(&known, record, found.after, found.limit, viewer);
            let is_behind = next.is_none_or(|next| next < found.after);
            if is_behind && is_whole && !known.is_mixed() {
                let row = Row {
                    record,
                    place,
                    class: row.get(3)?,
                    first: row.get(4)?,
                    floats: known.components.iter().any(|c| c.start.zone().is_none()),
                    times: times.to_vec(),
                };
                stale.push((row, all.first().map(|(_, due)| due.clone())));
            }
            found.take(all);
        }
        Ok(())
    }

    /// The same for a moment before which what is stored of the next alarms was moved on.
    fn every_series_due(&self, floating: bool, viewer: &Zone, found: &mut Found) -> Result<()> {
        let mut statement = self.conn.prepare_cached(
            "SELECT record, times FROM series WHERE collection = ?1 AND floating = ?2",
        )?;
        let mut rows = statement.query((self.collection, floating))?;
        while let Some(row) = rows.next()? {
            let record: i64 = row.get(0)?;
            let times = row.get_ref(1)?.as_blob().unwrap_or_default();
            if let Some(known) = self.store.known_series.get(record, times) {
                let (all, _) = due_of(&known, record, found.after, found.limit, viewer);
                found.take(all);
            }
        }
        Ok(())
    }

    /// Completes what is told of an alarm of what happens once.
    fn tell(&self, due: &mut DueAlarm) -> Result<()> {
        let summary: Option<Vec<u8>> = self
            .conn
            .prepare_cached("SELECT summary FROM record WHERE id = ?1")?
            .query_row([due.record.0], |r| r.get(0))
            .optional()?;
        let summary = summary.unwrap_or_default();
        let stored = Stored::read(&summary, &mut Named::default());
        due.title = stored.title();
        due.start = stored.start;
        Ok(())
    }
}

/// The key of `meta` that says up to when alarms were moved on.
fn mark(floating: bool) -> &'static str {
    match floating {
        true => meta::FLOATING_ALARM_MARK,
        false => meta::ALARM_MARK,
    }
}

/// Where what is due at an instant stands in an index.
fn placed(at: Timestamp, floating: bool, viewer: &Zone) -> i64 {
    match floating {
        true => viewer.to_local(at).seconds(),
        false => at.seconds(),
    }
}

/// The alarms found so far.
struct Found {
    after: Timestamp,
    limit: usize,
    all: Vec<DueAlarm>,
}

impl Found {
    fn push(&mut self, due: DueAlarm) {
        if due.at >= self.after {
            self.all.push(due);
        }
    }

    fn take(&mut self, all: Vec<(DueAlarm, Due)>) {
        self.all.extend(all.into_iter().map(|(told, _)| told));
        self.cut();
    }

    fn is_full(&self) -> bool {
        self.all.len() >= self.limit
    }

    /// Keeps the first ones.
    fn cut(&mut self) {
        self.all.sort_by_key(|due| (due.at, due.record));
        self.all.truncate(self.limit);
    }

    /// When the last of those that are wanted is due, after a cut; `None`: there are not so many.
    fn last(&self) -> Option<Timestamp> {
        Some(self.all.get(..self.limit)?.last()?.at)
    }
}

/// Stores what the next alarms are now.
fn move_on(
    conn: &Connection,
    collection: i64,
    to: Timestamp,
    viewer: &Zone,
    stale: &Stale,
) -> Result<()> {
    let mut statement = conn.prepare_cached(
        "UPDATE series SET floating = ?6, alarm = ?7, due = ?8 \
         WHERE collection = ?1 AND class = ?2 AND first = ?3 AND record = ?4 AND alarm = ?5 \
           AND times = ?9",
    )?;
    for (row, due) in stale {
        statement.execute((
            collection,
            row.class,
            row.first,
            row.record,
            row.place,
            due.as_ref().map_or(row.floats, Due::is_floating),
            due.as_ref().map(Due::place),
            due.as_ref().map(Due::encode),
            &row.times,
        ))?;
    }
    for floating in [false, true] {
        let moved = meta::number(conn, mark(floating))?;
        let to = placed(to, floating, viewer);
        meta::set(conn, mark(floating), moved.max(to))?;
    }
    Ok(())
}
