//! [`Ahead`]: what is known of the alarms of a calendar that are due next.
//!
//! The rows of `alarm` are four streams, each in the order of time: of what happens once and of
//! series, at moments of all the world and at local times. They are read a batch at a time, as far
//! as the answer needs:
//!
//! ```text
//!            read: in `next`                not read
//! stream 0   x  x    x   x x                  . .   .
//! stream 1      x                x            .
//! stream 2   ? ?  x ? x  ?                 . . . . . .
//! stream 3        x         ?                    .
//! ---------+----------------------------------------------> time
//!        after              an alarm is the next one if nothing that is not read may be due before
//! ```
//!
//! Of a series (`?`) nothing is made before its row is the next; then it is asked for two alarms,
//! and for more if those are told of.

use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::OptionalExtension;

use super::due::Due;
use super::series::{Upcoming, due_of};
use super::{DueAlarm, State};
use crate::calendar::known::Known;
use crate::calendar::moment::{Named, REACH};
use crate::calendar::summary::Stored;
use crate::calendar::time::{CalendarTime, DateTime, TimeZone, Timestamp};
use crate::calendar::{AlarmAction, AlarmTrigger, CalendarObject};
use crate::error::Result;
use crate::record::Reader;
use crate::record::times::{self, NEVER, OF_SERIES};
use crate::types::RecordId;

/// Seconds by which a local time may be earlier or later than the clocks of today say.
const CLOCK_CHANGE: i64 = 3_600;

/// Rows that are read at once.
const BATCH: usize = 32;

/// So many rows behind the moment asked for are moved on when they were just read.
const BEHIND: usize = 16;

/// And so many where they are known already, so that they cost nothing until then.
const BEHIND_KNOWN: usize = 96;

/// A series is asked for two alarms, and then for so many times more.
const MORE: usize = 8;

/// How long rows are left where they are when somebody wrote, if not many more fall behind.
const PUT_OFF: Duration = Duration::from_secs(1);

/// Alarms that a series is asked for at first, and that are kept if it was asked for many.
const FIRST: usize = 2;

/// What is kept for the next question at the most: alarms and series, and bytes of series.
const MOST: usize = 4_096;
const MOST_BYTES: usize = 1 << 20;

/// When something is due, or may be due at the earliest; the record; and a number that tells it
/// from others.
type Key = (Timestamp, i64, u32);

/// What is known of a calendar's next alarms.
pub(super) struct Ahead {
    pub(super) collection: i64,
    /// What was read depends on it.
    state: State,
    pub(super) viewer: TimeZone,
    /// The moment that was asked for last.
    after: Timestamp,
    streams: [Stream; 4],
    /// What was read, by when it is due.
    next: BTreeMap<Key, Next>,
    count: u32,
    /// Series whose rows were read.
    series: HashMap<i64, Series>,
    /// Bytes of those that are held.
    bytes: usize,
    /// Alarms that series told of and that are held.
    upcoming: usize,
    /// The zones of the series that were asked, if others say their rules.
    zones: Vec<TimeZone>,
    /// Of how many series the row is to be moved on.
    behind: usize,
    /// How many there were when they could not be moved, and when that was.
    put_off: Option<(usize, Instant)>,
    /// Whether it was made for this question.
    is_new: bool,
    /// Whether every series told of all it was asked for.
    is_whole: bool,
}

/// Rows of one kind.
struct Stream {
    kind: i64,
    /// Moment and record of the last row that was read.
    last: (i64, i64),
    /// No row behind it is due before.
    bound: (Timestamp, i64),
    is_done: bool,
    /// Whether all must be asked: rows were moved beyond the moment asked for.
    is_every: bool,
    /// Seconds by which alarms may be due earlier or later than their row stands.
    slack: i64,
}

/// What is next.
enum Next {
    /// An alarm of what happens once.
    Once {
        action: AlarmAction,
        /// Start and title, when they were told.
        told: Option<(Option<CalendarTime>, String)>,
    },
    /// A series' alarm, or one to be asked.
    OfSeries,
}

/// A series whose row was read.
struct Series {
    /// Class and first.
    place: (i64, i64),
    /// Where its row of `alarm` stands.
    from: times::At,
    known: Option<Arc<Known>>,
    was_asked: bool,
    /// Its alarms from the moment asked for on.
    upcoming: Vec<Upcoming>,
    /// Whether these are all.
    is_all: bool,
    /// Whether its row may be moved.
    may_move: bool,
    floats: bool,
    is_behind: bool,
}

/// A row to be moved.
pub(super) struct Move {
    record: i64,
    pub(super) place: times::Place,
    pub(super) from: times::At,
    pub(super) to: times::At,
}

/// Where what is due at an instant stands in a stream.
pub(super) fn placed(at: Timestamp, floating: bool, viewer: &TimeZone) -> i64 {
    match floating {
        true => viewer.to_local(at).seconds(),
        false => at.seconds(),
    }
}

impl Ahead {
    pub(super) fn new(collection: i64, state: State, after: Timestamp, viewer: TimeZone) -> Self {
        let stream = |kind: i64| {
            let floating = kind % 2 == 1;
            let slack = match (floating, state.is_exact) {
                (true, _) => CLOCK_CHANGE,
                (false, true) => 0,
                (false, false) => REACH,
            };
            let place = placed(after, floating, &viewer);
            let first = match kind {
                OF_SERIES.. => i64::MIN,
                _ => place.saturating_sub(slack),
            };
            Stream {
                kind,
                last: (first, i64::MIN),
                bound: (Timestamp::MIN, i64::MIN),
                is_done: false,
                is_every: kind >= OF_SERIES && place < state.marks[usize::from(floating)],
                slack,
            }
        };
        Self {
            collection,
            streams: [0, 1, 2, 3].map(stream),
            state,
            viewer,
            after,
            next: BTreeMap::new(),
            count: 0,
            series: HashMap::new(),
            bytes: 0,
            upcoming: 0,
            zones: Vec::new(),
            behind: 0,
            put_off: None,
            is_new: true,
            is_whole: true,
        }
    }

    /// Whether it can answer another question.
    pub(super) fn holds(&self, state: &State, after: Timestamp, viewer: &TimeZone) -> bool {
        self.state == *state && self.after <= after && self.viewer == *viewer
    }

    /// Whether it was found in the state behind the change of this number.
    pub(super) fn is_of(&self, latest: i64) -> bool {
        self.state.latest == latest
    }

    /// Whether it is worth its memory, and holds for later moments.
    pub(super) fn is_small(&self) -> bool {
        self.is_whole && self.next.len() + self.series.len() <= MOST
    }

    /// The first `limit` alarms.
    pub(super) fn first(
        &mut self,
        reader: &Reader<'_, CalendarObject>,
        after: Timestamp,
        limit: usize,
    ) -> Result<Vec<DueAlarm>> {
        self.after = after;
        let mut found = Vec::with_capacity(limit.min(64));
        // Alarms of series behind their next ones.
        let mut later: BinaryHeap<Reverse<(Timestamp, i64, usize)>> = BinaryHeap::new();
        let mut told = None;
        while found.len() < limit {
            let behind = told.map_or(Bound::Unbounded, Bound::Excluded);
            let mut ahead = self.next.range((behind, Bound::Unbounded));
            let next = ahead.next().map(|(key, _)| *key);
            let more = later.peek().map(|Reverse((at, record, _))| (*at, *record));
            let next_place = next.map(|(at, record, _)| (at, record));
            let first = next_place.into_iter().chain(more).min();
            if let Some(stream) = self.unread_before(first) {
                self.read(reader, stream)?;
                continue;
            }
            let (of, record) = match (next, later.peek()) {
                (None, None) => break,
                (Some(key), _) if next_place == first => {
                    if !self.is_ready(reader, key)? {
                        continue;
                    }
                    told = Some(key);
                    if let Some(due) = self.once(reader, key)? {
                        found.push(due);
                        continue;
                    }
                    (0, key.1)
                }
                (_, Some(Reverse((_, record, of)))) => {
                    let item = (*of, *record);
                    later.pop();
                    item
                }
                (Some(_), None) => break,
            };
            found.extend(self.of_series(reader, record, of)?);
            if found.len() < limit
                && let Some(at) = self.alarm_at(reader, record, of + 1)?
            {
                later.push(Reverse((at, record, of + 1)));
            }
        }
        Ok(found)
    }

    /// A stream with rows that are not read and may be due before this.
    fn unread_before(&self, first: Option<(Timestamp, i64)>) -> Option<usize> {
        let streams = self.streams.iter().enumerate().filter(|(_, s)| !s.is_done);
        let (n, stream) = streams.min_by_key(|(_, s)| s.bound)?;
        first.is_none_or(|first| stream.bound < first).then_some(n)
    }

    /// Reads a batch of rows.
    fn read(&mut self, reader: &Reader<'_, CalendarObject>, n: usize) -> Result<()> {
        let Some(stream) = self.streams.get(n) else {
            return Ok(());
        };
        let (rows, last, kind) = ((self.collection, stream.kind), stream.last, stream.kind);
        let (slack, is_every) = (stream.slack, stream.is_every);
        let to = if is_every { NEVER } else { NEVER - 1 };
        let mut zones = Named::default();
        let mut behind = last;
        let count =
            times::alarms_behind(reader.conn, rows, last, to, BATCH, |at, record, what| {
                behind = (at, record);
                match kind {
                    OF_SERIES.. => {
                        let bound = match is_every {
                            true => Timestamp::MIN,
                            false => self.earliest(kind, at, slack),
                        };
                        let place = times::series_of(what);
                        self.take_series(record, place, (kind, at), bound);
                    }
                    _ => self.take_once(record, what, &mut zones),
                }
            })?;
        let earliest = self.earliest(kind, behind.0, slack);
        if let Some(stream) = self.streams.get_mut(n) {
            stream.last = behind;
            stream.is_done = count < BATCH;
            stream.bound = match (is_every, slack) {
                (true, _) => (Timestamp::MIN, i64::MIN),
                (false, 0) => (earliest, behind.1),
                (false, _) => (earliest, i64::MIN),
            };
        }
        Ok(())
    }

    /// No alarm whose row stands there is due before.
    fn earliest(&self, kind: i64, at: i64, slack: i64) -> Timestamp {
        let at = match kind % 2 {
            0 => Timestamp::from_seconds(at),
            _ => self.viewer.to_utc(DateTime::from_seconds(at)),
        };
        at.plus_seconds(-slack)
    }

    fn insert(&mut self, at: Timestamp, record: i64, next: Next) {
        self.count = self.count.wrapping_add(1);
        self.next.insert((at, record, self.count), next);
    }

    fn take_once(&mut self, record: i64, mut what: &[u8], zones: &mut Named) {
        while let Some(due) = Due::take(&mut what, zones) {
            let at = due.at(&self.viewer);
            if at >= self.after && !due.is_done(&self.viewer) {
                let action = due.action;
                self.insert(at, record, Next::Once { action, told: None });
            }
        }
    }

    fn take_series(&mut self, record: i64, place: (i64, i64), from: times::At, bound: Timestamp) {
        let series = Series {
            place,
            from,
            known: None,
            was_asked: false,
            upcoming: Vec::new(),
            is_all: false,
            may_move: false,
            floats: false,
            is_behind: false,
        };
        // Another process may have moved the row of one that was read before.
        if let std::collections::hash_map::Entry::Vacant(vacant) = self.series.entry(record) {
            vacant.insert(series);
            self.insert(bound, record, Next::OfSeries);
        }
    }

    /// Whether what is next is an alarm that is due now or later; else it is asked, or goes.
    fn is_ready(&mut self, reader: &Reader<'_, CalendarObject>, key: Key) -> Result<bool> {
        let (at, record, _) = key;
        let Entry::Occupied(next) = self.next.entry(key) else {
            return Ok(false);
        };
        let was_asked = |s: &Series| s.was_asked;
        match next.get() {
            Next::Once { .. } if at >= self.after => return Ok(true),
            Next::OfSeries
                if at >= self.after && self.series.get(&record).is_some_and(was_asked) =>
            {
                return Ok(true);
            }
            _ => {}
        }
        if let Next::OfSeries = next.remove()
            && let Some(at) = self.pass(reader, record)?
        {
            self.insert(at, record, Next::OfSeries);
        }
        Ok(false)
    }

    /// An alarm of what happens once.
    fn once(&mut self, reader: &Reader<'_, CalendarObject>, key: Key) -> Result<Option<DueAlarm>> {
        let Some(Next::Once { action, told }) = self.next.get_mut(&key) else {
            return Ok(None);
        };
        let (start, title) = match told {
            Some(told) => told.clone(),
            None => told.insert(tell(reader, key.1)?).clone(),
        };
        Ok(Some(DueAlarm {
            record: RecordId(key.1),
            component: 0,
            at: key.0,
            start,
            title,
            action: *action,
        }))
    }

    /// An alarm of a series.
    fn of_series(
        &mut self,
        reader: &Reader<'_, CalendarObject>,
        record: i64,
        of: usize,
    ) -> Result<Option<DueAlarm>> {
        let known = self.known(reader, record)?;
        let upcoming = self.series.get(&record).and_then(|s| s.upcoming.get(of));
        let (Some(known), Some(upcoming)) = (known, upcoming) else {
            return Ok(None);
        };
        let component = known.components.get(upcoming.component);
        Ok(component.map(|component| DueAlarm {
            record: RecordId(record),
            component: component.place,
            at: upcoming.at,
            start: Some(upcoming.start.clone()),
            title: component.title.to_string(),
            action: upcoming.due.action,
        }))
    }

    /// When an alarm of a series is due; it is asked for more if need be.
    fn alarm_at(
        &mut self,
        reader: &Reader<'_, CalendarObject>,
        record: i64,
        of: usize,
    ) -> Result<Option<Timestamp>> {
        let is_known = |s: &Series| s.is_all || of < s.upcoming.len();
        if !self.series.get(&record).is_some_and(is_known) {
            self.ask(reader, record, of.saturating_mul(MORE))?;
        }
        let series = self.series.get(&record);
        Ok(series.and_then(|s| Some(s.upcoming.get(of)?.at)))
    }

    /// Leaves out what was due before the moment asked for; when the next alarm of the series is
    /// due.
    fn pass(
        &mut self,
        reader: &Reader<'_, CalendarObject>,
        record: i64,
    ) -> Result<Option<Timestamp>> {
        let after = self.after;
        let Some(series) = self.series.get_mut(&record) else {
            return Ok(None);
        };
        let passed = series.upcoming.partition_point(|u| u.at < after);
        series.upcoming.drain(..passed);
        self.upcoming -= passed;
        if series.upcoming.is_empty() && !(series.was_asked && series.is_all) {
            self.ask(reader, record, FIRST)?;
        }
        let Some(series) = self.series.get_mut(&record) else {
            return Ok(None);
        };
        let floating = series.from.0 % 2 == 1;
        if series.may_move
            && !series.is_behind
            && series.from.1 < placed(after, floating, &self.viewer)
        {
            series.is_behind = true;
            self.behind += 1;
        }
        Ok(series.upcoming.first().map(|u| u.at))
    }

    /// Asks a series for its first alarms.
    fn ask(
        &mut self,
        reader: &Reader<'_, CalendarObject>,
        record: i64,
        count: usize,
    ) -> Result<()> {
        let known = self.known(reader, record)?;
        let Some(series) = self.series.get_mut(&record) else {
            return Ok(());
        };
        series.was_asked = true;
        let Some(known) = known else {
            // A row that leads nowhere.
            series.is_all = true;
            return Ok(());
        };
        let (upcoming, is_whole) = due_of(&known, self.after, count, &self.viewer);
        series.is_all = upcoming.len() < count;
        let is_over = upcoming.is_empty();
        self.upcoming = self.upcoming - series.upcoming.len() + upcoming.len();
        series.upcoming = upcoming;
        for zone in known.series.zones() {
            if !self.zones.contains(zone) {
                self.zones.push(zone.clone());
            }
        }
        series.may_move = is_whole && !known.is_mixed();
        // By other rules what ended just now may not have ended yet.
        if is_over && series.from.1 < NEVER && !known.series.zones().is_empty() {
            let since = self.after.plus_seconds(-REACH);
            let (late, _) = due_of(&known, since, 1, &self.viewer);
            series.may_move &= late.is_empty();
        }
        series.floats = known.components.iter().any(|c| {
            let along = |alarm| !matches!(alarm, &AlarmTrigger::At(_));
            c.start.zone().is_none() && c.alarms.iter().any(|a| along(&a.trigger))
        });
        self.is_whole &= is_whole;
        Ok(())
    }

    /// What a series' row says.
    fn known(
        &mut self,
        reader: &Reader<'_, CalendarObject>,
        record: i64,
    ) -> Result<Option<Arc<Known>>> {
        let Some(series) = self.series.get_mut(&record) else {
            return Ok(None);
        };
        if let Some(known) = &series.known {
            return Ok(Some(Arc::clone(known)));
        }
        let (class, first) = series.place;
        let mut bytes = 0;
        let place = (class, first, record);
        let known = times::of_series(reader.conn, self.collection, place, |times| {
            bytes = times.len();
            reader.store.known_series.get(record, times)
        })?;
        if self.bytes + bytes <= MOST_BYTES {
            self.bytes += bytes;
            series.known = known.clone();
        }
        Ok(known)
    }

    /// Keeps what a later question is likely to need.
    pub(super) fn trim(&mut self) {
        self.is_new = false;
        // So many are there only if some were asked for many.
        if self.is_small() && self.upcoming > FIRST * MOST {
            for series in self.series.values_mut() {
                if series.upcoming.len() > FIRST {
                    series.upcoming.truncate(FIRST);
                    series.upcoming.shrink_to_fit();
                    series.is_all = false;
                }
            }
            self.upcoming = self.series.values().map(|s| s.upcoming.len()).sum();
        }
    }

    /// Alarms of series that it holds.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        let held = self.series.values().map(|s| s.upcoming.len()).sum();
        assert_eq!(self.upcoming, held);
        held
    }

    /// Whether rows are to be moved, if the time is right.
    pub(super) fn is_worth_moving(&self) -> bool {
        let is_put_off =
            |(behind, at): (usize, Instant)| self.behind <= 2 * behind && at.elapsed() < PUT_OFF;
        (self.is_behind() || self.asks_every()) && !self.put_off.is_some_and(is_put_off)
    }

    /// Whether so many rows lie behind that it is worth moving them.
    pub(super) fn is_behind(&self) -> bool {
        self.behind >= if self.is_new { BEHIND } else { BEHIND_KNOWN }
    }

    /// Whether every series has to be asked, and the rows of all were read.
    fn asks_every(&self) -> bool {
        let mut of_series = self.streams.iter().filter(|s| s.kind >= OF_SERIES);
        of_series.all(|s| s.is_every && s.is_done)
    }

    /// Whether rows were moved on to a time that is not yet, by a clock that was ahead, and all of
    /// them can be moved back.
    pub(super) fn is_marked_behind(&self, now: Timestamp) -> bool {
        let [mark, _] = self.state.marks;
        mark > now.plus_seconds(REACH).seconds()
            && self.asks_every()
            && self.is_whole
            && self.series.values().all(|s| s.was_asked)
    }

    /// The rows are to be moved later.
    pub(super) fn put_off(&mut self) {
        self.put_off = Some((self.behind, Instant::now()));
    }

    /// The rules that say when the series that were asked are. By others any component's alarm may
    /// be the next one.
    pub(super) fn rules(&self) -> impl Iterator<Item = times::Rules> {
        let rules = |zone: &TimeZone| Some((zone.name().to_owned(), zone.rules()?));
        self.zones.iter().filter_map(rules)
    }

    /// The rows that lie behind, or all that may be moved, and where they belong.
    pub(super) fn moves(&self, all: bool) -> Vec<Move> {
        let to_move = |s: &Series| s.is_behind || (all && s.may_move);
        let to_move = self.series.iter().filter(|(_, s)| to_move(s));
        let mut moves: Vec<Move> = to_move
            .map(|(record, series)| {
                let next = series.upcoming.first().map(|u| &u.due);
                let floats = next.map_or(series.floats, Due::is_floating);
                Move {
                    record: *record,
                    place: (series.place.0, series.place.1, *record),
                    from: series.from,
                    to: (
                        OF_SERIES + i64::from(floats),
                        next.map_or(NEVER, Due::place),
                    ),
                }
            })
            .filter(|moved| moved.from != moved.to)
            .collect();
        moves.sort_by_key(|moved| moved.place);
        moves
    }

    /// The rows were moved.
    pub(super) fn moved(&mut self, state: State, moves: &[Move]) {
        self.state = state;
        self.behind = 0;
        self.put_off = None;
        for series in self.series.values_mut() {
            series.is_behind = false;
        }
        for moved in moves {
            if let Some(series) = self.series.get_mut(&moved.record) {
                series.from = moved.to;
            }
        }
    }
}

/// Start and title of what happens once.
fn tell(
    reader: &Reader<'_, CalendarObject>,
    record: i64,
) -> Result<(Option<CalendarTime>, String)> {
    let summary: Option<Vec<u8>> = reader
        .conn
        .prepare_cached("SELECT summary FROM record WHERE id = ?1")?
        .query_row([record], |r| r.get(0))
        .optional()?;
    let summary = summary.unwrap_or_default();
    let stored = Stored::read(&summary, &mut Named::default());
    Ok((stored.start.clone(), stored.title()))
}
