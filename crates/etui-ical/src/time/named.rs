//! [`Named`]: a zone of the database, with tables of its changes.
//!
//! Behind the last change that the database lists (2037) it follows the zone's rule, and works it
//! out anew for each time asked for. A week of a thousand series asks for thousands of times, so
//! the changes are kept, a span of two years at a time, as soon as it is asked for.
//! Before and behind the spans the database is asked.
//!
//! There are some hundred zones: each is kept, as it was read, for as long as the program runs.

use std::collections::HashMap;
use std::sync::{OnceLock, PoisonError, RwLock};

use jiff::tz::{AmbiguousOffset, TimeZone};

use super::civil::DateTime;
use super::table::{TransitionTable, ZoneTransition};

/// Seconds of a span: a little more than two years, in which there are about four changes.
const SPAN: i64 = 1 << 26;
/// Where the first span begins: 1901-12-13.
const FIRST: i64 = -32 * SPAN;
/// The last one ends in 2242.
const SPANS: usize = 160;
/// Seconds by which the table of a span is longer at both ends: local times differ by less.
const MARGIN: i64 = 3 * 86_400;

/// A zone of the database.
pub(super) struct Named {
    pub(super) zone: TimeZone,
    spans: [OnceLock<TransitionTable>; SPANS],
}

impl Named {
    /// The one for a zone as the database has it now.
    pub(super) fn of(zone: TimeZone) -> &'static Self {
        static KNOWN: RwLock<Option<HashMap<String, &'static Named>>> = RwLock::new(None);
        let same = |known: &Option<HashMap<String, &'static Self>>| {
            let same = known.as_ref()?.get(zone.iana_name().unwrap_or_default())?;
            (same.zone == zone).then_some(*same)
        };
        if let Some(same) = same(&KNOWN.read().unwrap_or_else(PoisonError::into_inner)) {
            return same;
        }
        let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = same(&known) {
            return same;
        }
        let name = zone.iana_name().unwrap_or_default().to_owned();
        let new: &'static Self = Box::leak(Box::new(Self {
            zone,
            spans: [const { OnceLock::new() }; SPANS],
        }));
        known.get_or_insert_default().insert(name, new);
        new
    }

    /// Seconds that local time is ahead of UTC at an instant.
    pub(super) fn offset_at(&self, at: i64) -> i32 {
        match self.table(at) {
            Some(table) => table.offset_at(at),
            None => self.asked_at(at),
        }
    }

    /// The offset a local time is to be read by, and whether the clocks skipped it.
    pub(super) fn offset_of(&self, wall: i64) -> (i32, bool) {
        match self.table(wall) {
            Some(table) => table.offset_of(wall),
            None => self.asked_of(wall),
        }
    }

    fn table(&self, seconds: i64) -> Option<&TransitionTable> {
        let span = usize::try_from((seconds - FIRST).div_euclid(SPAN)).ok()?;
        let table = self.spans.get(span)?;
        Some(table.get_or_init(|| {
            let from = FIRST + span as i64 * SPAN;
            self.changes(from - MARGIN, from + SPAN + MARGIN)
        }))
    }

    fn changes(&self, from: i64, to: i64) -> TransitionTable {
        let all = self.zone.following(instant(from)).map(|t| ZoneTransition {
            at: t.timestamp().as_second(),
            offset: t.offset().seconds(),
        });
        let list = all.take_while(|t| t.at < to).collect();
        TransitionTable::new(self.asked_at(from), list, false)
    }

    /// What the database says.
    fn asked_at(&self, at: i64) -> i32 {
        self.zone.to_offset(instant(at)).seconds()
    }

    fn asked_of(&self, wall: i64) -> (i32, bool) {
        let wall = civil(DateTime::from_seconds(wall));
        match self.zone.to_ambiguous_timestamp(wall).offset() {
            AmbiguousOffset::Unambiguous { offset } => (offset.seconds(), false),
            AmbiguousOffset::Gap { before, .. } => (before.seconds(), true),
            AmbiguousOffset::Fold { before, .. } => (before.seconds(), false),
        }
    }
}

fn instant(seconds: i64) -> jiff::Timestamp {
    let (first, last) = (jiff::Timestamp::MIN, jiff::Timestamp::MAX);
    let seconds = seconds.clamp(first.as_second(), last.as_second());
    jiff::Timestamp::from_second(seconds).unwrap_or(last)
}

fn civil(wall: DateTime) -> jiff::civil::DateTime {
    let (year, month, day) = wall.date().ymd();
    let (hour, minute, second) = wall.hms();
    jiff::civil::DateTime::new(
        year as i16,
        month as i8,
        day as i8,
        hour as i8,
        minute as i8,
        second as i8,
        0,
    )
    .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn named(name: &str) -> &'static Named {
        Named::of(jiff::tz::db().get(name).unwrap())
    }

    #[test]
    fn a_zone_is_kept_once() {
        let one = named("Europe/Berlin");
        assert!(std::ptr::eq(one, named("europe/berlin")));
        assert!(!std::ptr::eq(one, named("Europe/Paris")));
    }

    /// Around every change of every zone, and where spans meet.
    #[test]
    fn tables_say_what_the_database_says() {
        for name in jiff::tz::db().available() {
            let zone = Named::of(jiff::tz::db().get(name.as_str()).unwrap());
            let from = FIRST - 400 * 86_400;
            let changes = zone.zone.following(instant(from));
            let changes = changes.map(|t| t.timestamp().as_second());
            let end = FIRST + SPANS as i64 * SPAN + 400 * 86_400;
            let meet = (0..=SPANS as i64).map(|n| FIRST + n * SPAN);
            let all: Vec<i64> = changes.take_while(|at| *at < end).chain(meet).collect();
            for at in all {
                for near in [
                    -93_600, -7_200, -3_601, -3_600, -1_800, -1, 0, 1, 1_799, 3_600, 7_200,
                ] {
                    let at = at + near;
                    assert_eq!(
                        zone.offset_at(at),
                        zone.asked_at(at),
                        "{} at {at}",
                        name.as_str()
                    );
                    for offset in [zone.asked_at(at), zone.asked_at(at - 86_400)] {
                        let wall = at + i64::from(offset);
                        let (told, asked) = (zone.offset_of(wall), zone.asked_of(wall));
                        assert_eq!(told, asked, "{} at {wall}", name.as_str());
                    }
                }
            }
        }
    }
}
