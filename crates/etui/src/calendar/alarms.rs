//! The alarms that are due next.
//!
//! Alarms of what happens once stand in the table `alarm`, in the order in which they are due. Of
//! what recurs the table `series` has a bound, before which no alarm is due any more; those rows
//! whose bound has come are asked for their next alarm. Bounds that lie behind the moment asked for
//! are moved up to it now and then, so that asking costs its answer, and what became due since:
//!
//! ```text
//! bound ----+------ mark ------ now        of each series: no alarm between its bound's
//!           '- alarm told of long ago      advance (at some mark) and the bound
//! ```
//!
//! `alarm_mark` in `meta` is the last moment up to which bounds were moved; who asks for an earlier
//! one has every series asked.

use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension};

use super::Calendar;
use super::derive::Due;
use super::known::{Component, Known};
use super::moment::{Named, REACH};
use super::record::{Action, Alarm, Record, Trigger};
use super::summary::Stored;
use super::time::{Time, Timestamp, Zone};
use crate::collection::{Reader, RecordId, meta};
use crate::engine::Size;
use crate::error::Result;

/// Seconds by which an alarm in a zone may be due earlier or later than it was when it was saved:
/// by a change of the zone's rules.
const RULES_CHANGE: i64 = 3 * 3_600;

/// Instances of one series that are gone through for its next alarms: of what fires every second,
/// and was acknowledged for years ahead, there would be no end.
const MOST_INSTANCES: usize = 1 << 18;

/// Bounds that lie behind are moved when there are so many.
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

/// Rows of `series` whose bound lies behind: record, until, bound and what it is to be.
type Stale = Vec<(i64, i64, i64, Option<i64>)>;

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
                move_bounds(conn, collection, after, &stale)
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
                self.series_due(viewer, &mut found, &mut stale)?;
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
        let stored = |at: Timestamp| match floating {
            true => viewer.to_local(at).seconds(),
            false => at.seconds(),
        };
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
            let what = row.get_ref(2)?.as_blob().unwrap_or_default();
            let Some(due) = Due::decode(what, &mut zones) else {
                continue;
            };
            found.push(DueAlarm {
                record: RecordId(row.get(1)?),
                component: 0,
                at: due.at(viewer),
                start: None,
                title: String::new(),
                action: due.action,
            });
        }
        Ok(())
    }

    /// Alarms of what recurs.
    fn series_due(&self, viewer: &Zone, found: &mut Found, stale: &mut Stale) -> Result<()> {
        let after = found.after;
        let mark = meta::number(self.conn, meta::ALARM_MARK)?;
        // Bounds say nothing of what was due before they were moved.
        let is_behind = after.seconds() < mark;
        let mut statement = self.conn.prepare_cached(match is_behind {
            false => {
                "SELECT record, alarm, until, times FROM series \
                 WHERE collection = ?1 AND alarm IS NOT NULL ORDER BY alarm"
            }
            true => {
                "SELECT record, ?2, until, times FROM series \
                 WHERE collection = ?1 AND until >= ?2"
            }
        })?;
        let mut rows = match is_behind {
            false => statement.query([self.collection])?,
            true => statement.query((self.collection, after.seconds() - REACH))?,
        };
        while let Some(row) = rows.next()? {
            let (record, bound): (i64, i64) = (row.get(0)?, row.get(1)?);
            if !is_behind
                && found.is_full()
                && found.last().is_some_and(|last| bound > last.seconds())
            {
                break;
            }
            let times = row.get_ref(3)?.as_blob().unwrap_or_default();
            let Some(known) = self.store.known_series.get(record, times) else {
                continue;
            };
            let (next, is_whole) = due_of(&known, record, after, found.limit, viewer);
            if is_whole && !is_behind && bound < after.seconds() - REACH {
                let first = next.first().map(|due| due.at.seconds());
                let slack = if known.is_floating() {
                    REACH
                } else {
                    RULES_CHANGE
                };
                let new = first.map(|at| at.saturating_sub(slack));
                // Seen from elsewhere, what is over here may be due.
                let is_over = new.is_none() && known.is_floating();
                if !is_over && new.is_none_or(|new| new > bound) {
                    stale.push((record, row.get(2)?, bound, new));
                }
            }
            found.all.extend(next);
            found.cut();
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

    fn is_full(&self) -> bool {
        self.all.len() >= self.limit
    }

    /// Keeps the first ones.
    fn cut(&mut self) {
        self.all.sort_by_key(|due| (due.at, due.record));
        self.all.truncate(self.limit);
    }

    /// When the last of those that are kept is due, after a cut.
    fn last(&self) -> Option<Timestamp> {
        Some(self.all.get(..self.limit)?.last()?.at)
    }
}

impl Known {
    /// Whether any of its times depend on where one is.
    fn is_floating(&self) -> bool {
        self.components.iter().any(|c| c.start.zone().is_none())
    }
}

/// The first `limit` alarms of a series that are due at `after` or later, and whether they are
/// those for certain.
fn due_of(
    known: &Known,
    record: i64,
    after: Timestamp,
    limit: usize,
    viewer: &Zone,
) -> (Vec<DueAlarm>, bool) {
    let mut asked = Asked {
        record: RecordId(record),
        after,
        limit,
        all: Vec::new(),
        is_whole: true,
    };
    for component in &known.components {
        for alarm in &component.alarms {
            if let Trigger::At(at) = alarm.trigger {
                let times = alarm.repetitions().map(|more| at.plus_seconds(more));
                asked.take(component, alarm, &component.start, times);
            }
        }
    }
    if let Some(reach) = Reach::of(known, viewer) {
        asked.instances(known, &reach, viewer);
    }
    asked.cut();
    (asked.all, asked.is_whole)
}

/// The instances of a series that may have an alarm due.
struct Reach {
    /// Seconds after the start of its instance at which an alarm is due, at the least; mostly less
    /// than none.
    least: i64,
    /// And at the most.
    most: i64,
    /// Until when there are such instances.
    until: Timestamp,
}

impl Reach {
    /// `None`: it has no alarms that go along with instances.
    fn of(known: &Known, viewer: &Zone) -> Option<Self> {
        let (mut least, mut most, mut slack) = (i64::MAX, i64::MIN, 0);
        let mut until = None;
        for component in &known.components {
            for alarm in &component.alarms {
                let (of, length) = match alarm.trigger {
                    Trigger::At(_) => continue,
                    Trigger::Start(of) => (of, 0),
                    Trigger::End(of) => (of, known.series.longest()),
                };
                // Days are the calendar's, which may be longer or shorter.
                if of.days() != 0 {
                    slack = REACH;
                }
                let of = of.nominal_seconds();
                let last = alarm.repetitions().last().unwrap_or(0);
                least = least.min(of);
                most = most.max(of.saturating_add(last).saturating_add(length));
                let end = match Known::goes_on(component) {
                    true => Timestamp::MAX,
                    false => component.start.at(viewer).plus_seconds(2 * REACH),
                };
                until = until.max(Some(end));
            }
        }
        Some(Self {
            until: until?,
            least: least.saturating_sub(slack),
            most: most.saturating_add(slack),
        })
    }
}

/// Alarms of one series, as they are found.
struct Asked {
    record: RecordId,
    after: Timestamp,
    limit: usize,
    all: Vec<DueAlarm>,
    /// No more instances than are gone through.
    is_whole: bool,
}

impl Asked {
    /// Takes in what of an alarm is still to be told of.
    fn take(
        &mut self,
        component: &Component,
        alarm: &Alarm,
        start: &Time,
        times: impl Iterator<Item = Timestamp>,
    ) {
        let done = component.acknowledged.max(alarm.acknowledged);
        for at in times.filter(|at| *at >= self.after && done.is_none_or(|done| *at > done)) {
            self.all.push(DueAlarm {
                record: self.record,
                component: component.place,
                at,
                start: Some(start.clone()),
                title: component.title.clone(),
                action: alarm.action,
            });
        }
    }

    /// Goes through the instances, for as long as one of them may be due before the last that is
    /// wanted.
    fn instances(&mut self, known: &Known, reach: &Reach, viewer: &Zone) {
        // What was acknowledged need not be gone through.
        let done = known.components.iter().map(|c| c.acknowledged).min();
        let since = done
            .flatten()
            .map_or(self.after, |done| done.max(self.after));
        let since = since.plus_seconds(reach.most.saturating_neg());
        let mut full_at = None;
        let instances = known.series.between(since..reach.until, viewer);
        for (n, instance) in instances.enumerate() {
            if n >= MOST_INSTANCES {
                self.is_whole = false;
                break;
            }
            let earliest = instance.during.start.plus_seconds(reach.least);
            if full_at.is_some_and(|at| earliest > at) {
                break;
            }
            let Some(component) = known.components.get(instance.component) else {
                continue;
            };
            for alarm in &component.alarms {
                if !matches!(alarm.trigger, Trigger::At(_)) {
                    let times = alarm.due(&instance.start, &instance.end, viewer);
                    self.take(component, alarm, &instance.start, times);
                }
            }
            let most = match full_at {
                None => self.limit,
                Some(_) => self.limit.saturating_mul(2),
            };
            if self.all.len() >= most {
                self.cut();
                full_at = self.all.last().map(|due| due.at);
            }
        }
    }

    fn cut(&mut self) {
        self.all.sort_by_key(|due| due.at);
        self.all.truncate(self.limit);
    }
}

/// Moves bounds that lie behind.
fn move_bounds(conn: &Connection, collection: i64, to: Timestamp, stale: &Stale) -> Result<()> {
    let mut statement = conn.prepare_cached(
        "UPDATE series SET alarm = ?5 \
         WHERE collection = ?1 AND until = ?2 AND record = ?3 AND alarm = ?4",
    )?;
    for (record, until, bound, new) in stale {
        statement.execute((collection, until, record, bound, new))?;
    }
    let mark = meta::number(conn, meta::ALARM_MARK)?;
    meta::set(conn, meta::ALARM_MARK, mark.max(to.seconds()))
}
