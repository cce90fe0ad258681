//! The alarms that are due next.
//!
//! They stand in the table `alarm`, in the order in which they are due: those of what happens once
//! each by itself, of what recurs the next one. Which that is, time decides:
//!
//! ```text
//!  a series' row   never asked ----- told of ----- told of ----- next     no alarm is due before
//!                  told of ------ next                           |        its row: asked, moved on
//!                                  |                             |
//!                  -------------- now -------------------------------> time
//! ```
//!
//! Series whose row lies behind the moment asked for are asked for their next alarm; when there are
//! some, what is found is stored. So asking costs its answer, and what became due since it was last
//! asked; what was found is kept in memory ([`Ahead`]) while no record changes. Who asks waits for
//! nobody: while somebody writes nothing is stored.
//!
//! `meta` has up to when rows were moved on, of floating times as local time; who asks for an
//! earlier moment has every series asked. If that is because the clock was ahead, rows are moved
//! back. It also has digests of the rules of all zones that say when the alarms of rows are due:
//! only if they are others now rows must be looked for around the place where they should stand.

mod ahead;
pub(super) mod due;
mod series;

use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use rusqlite::Connection;

use super::Calendar;
use super::time::{CalendarTime, TimeZone, Timestamp};
use super::{AlarmAction, CalendarObject};
use crate::db::metadata;
use crate::error::Result;
use crate::record::times;
use crate::record::{Reader, changes};
use crate::types::RecordId;
use ahead::{Ahead, Move, placed};

/// Calendars whose next alarms are kept in memory.
const MOST: usize = 8;

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
    pub start: Option<CalendarTime>,
    /// Its title.
    pub title: String,
    /// What it does.
    pub action: AlarmAction,
}

impl Calendar<'_> {
    /// The first `limit` alarms that are due at `after` or later. See [`Reader::alarms`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn alarms(
        &self,
        after: Timestamp,
        limit: usize,
        viewer: &TimeZone,
    ) -> Result<Vec<DueAlarm>> {
        let (due, mut ahead) = self.read_ordered(|r| r.alarms_ahead(after, limit, viewer))?;
        if !self.store().is_read_only() && ahead.is_worth_moving() {
            self.move_on(&mut ahead, after, SystemTime::now().into());
        }
        self.store().alarms_ahead.keep(ahead);
        Ok(due)
    }

    /// Moves rows to where they belong, if nobody writes at the moment.
    fn move_on(&self, ahead: &mut Ahead, after: Timestamp, now: Timestamp) {
        let clock_was_ahead = ahead.is_marked_behind(now);
        if after > now || !(ahead.is_behind() || clock_was_ahead) {
            return;
        }
        let to = match clock_was_ahead {
            true => To::Back(now),
            false => To::On(after),
        };
        let moved = self.store().try_upkeep(|conn| {
            let moves = ahead.moves(clock_was_ahead);
            let state = move_rows(conn, ahead, to, &moves)?;
            Ok(state.map(|state| (state, moves)))
        });
        match moved {
            Ok(Some(Some((state, moves)))) => ahead.moved(state, &moves),
            // A record was changed: this is not asked again.
            Ok(Some(None)) => {}
            Ok(None) => ahead.put_off(),
            Err(error) => {
                tracing::warn!(%error, "alarms were not moved on");
                ahead.put_off();
            }
        }
    }
}

/// Up to when the alarms of series are moved.
#[derive(Debug, Clone, Copy)]
enum To {
    /// What is due before was asked for.
    On(Timestamp),
    /// All rows are moved to what is due next; another process may have moved some up to now.
    Back(Timestamp),
}

impl Reader<'_, CalendarObject> {
    /// The first `limit` alarms that are due at `after` or later, by when they are due. Those that
    /// were acknowledged are left out; so are the repetitions of an alarm beyond the hundredth, and what
    /// is due behind the first 262,144 instances of a rule that may have one due.
    /// Days and floating times are where they are in the zone `viewer`.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn alarms(
        &self,
        after: Timestamp,
        limit: usize,
        viewer: &TimeZone,
    ) -> Result<Vec<DueAlarm>> {
        let (due, ahead) = self.alarms_ahead(after, limit, viewer)?;
        self.store.alarms_ahead.keep(ahead);
        Ok(due)
    }

    fn alarms_ahead(
        &self,
        after: Timestamp,
        limit: usize,
        viewer: &TimeZone,
    ) -> Result<(Vec<DueAlarm>, Ahead)> {
        self.told(|| {
            let state = State::read(self.conn)?;
            let kept = &self.store.alarms_ahead;
            let kept = kept.take(self.collection, &state, after, viewer);
            let mut ahead =
                kept.unwrap_or_else(|| Ahead::new(self.collection, state, after, viewer.clone()));
            let due = ahead.first(self, after, limit)?;
            Ok((due, ahead))
        })
    }
}

/// What the rows of the alarms depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    /// The number of the latest change.
    latest: i64,
    /// Up to when rows of series were moved on; of floating times as local time.
    marks: [i64; 2],
    /// How often everything was derived anew.
    derived_anew: i64,
    /// Whether the zones have the rules by which rows were placed.
    is_exact: bool,
}

impl State {
    fn read(conn: &Connection) -> Result<Self> {
        let mut state = Self {
            latest: changes::latest(conn)?,
            derived_anew: 0,
            marks: [0; 2],
            is_exact: true,
        };
        let mut statement =
            conn.prepare_cached("SELECT key, value FROM meta WHERE key >= ?1 AND key < ?2")?;
        let mut rows = statement.query([metadata::ALARMS, metadata::BEHIND_ALARMS])?;
        while let Some(row) = rows.next()? {
            let key = row.get_ref(0)?.as_str().unwrap_or_default();
            let value: i64 = row.get(1)?;
            match key {
                metadata::ALARM_MARK => state.marks[0] = value,
                metadata::FLOATING_ALARM_MARK => state.marks[1] = value,
                metadata::DERIVED_ANEW => state.derived_anew = value,
                _ => {
                    let zone = key
                        .strip_prefix(metadata::ALARM_RULES)
                        .and_then(TimeZone::named);
                    state.is_exact &= zone.and_then(|zone| zone.rules()) == Some(value);
                }
            }
        }
        Ok(state)
    }
}

/// Stores where the next alarms stand now. `None`: a record was changed since they were found.
fn move_rows(conn: &Connection, ahead: &Ahead, to: To, moves: &[Move]) -> Result<Option<State>> {
    if !ahead.is_of(changes::latest(conn)?) {
        return Ok(None);
    }
    for moved in moves {
        times::move_alarm(conn, ahead.collection, moved.place, moved.from, moved.to)?;
    }
    for rules in ahead.rules() {
        times::placed_by(conn, &rules)?;
    }
    for (key, floating) in [
        (metadata::ALARM_MARK, false),
        (metadata::FLOATING_ALARM_MARK, true),
    ] {
        let mark = match to {
            To::On(to) => placed(to, floating, &ahead.viewer).max(metadata::number(conn, key)?),
            To::Back(to) => placed(to, floating, &ahead.viewer),
        };
        metadata::set(conn, key, mark)?;
    }
    State::read(conn).map(Some)
}

/// What is known of the next alarms of a store's calendars.
#[derive(Default)]
pub(crate) struct AlarmsAhead(Mutex<Vec<Ahead>>);

impl AlarmsAhead {
    /// What is known of a calendar's, if it holds for this question.
    fn take(
        &self,
        collection: i64,
        state: &State,
        after: Timestamp,
        viewer: &TimeZone,
    ) -> Option<Ahead> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = |a: &Ahead| a.collection == collection && a.holds(state, after, viewer);
        let found = all.iter().position(holds)?;
        Some(all.swap_remove(found))
    }

    /// Forgets them: rows changed, and no record did.
    pub(crate) fn forget(&self) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.clear();
    }

    /// Keeps it for the next question.
    fn keep(&self, mut ahead: Ahead) {
        ahead.trim();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|a| a.collection != ahead.collection);
        if ahead.is_small() {
            all.truncate(MOST - 1);
            all.insert(0, ahead);
        }
    }
}

#[cfg(test)]
mod tests;
