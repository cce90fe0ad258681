//! [`IanaZone`]: a time zone of the IANA database with tables of its clock changes.
//!
//! After the last transition that the database lists (2037) the zone follows a rule, which the
//! database library evaluates for each query. Expanding a thousand recurrence sets for a week makes
//! thousands of queries, so transitions are kept in tables of two years each, filled on first use.
//! Outside the spans the database is asked.
//!
//! Zones are interned for the life of the process; there are some hundred of them.

use std::collections::HashMap;
use std::sync::{OnceLock, PoisonError, RwLock};

use jiff::tz::{AmbiguousOffset, TimeZone};

use super::civil::DateTime;
use super::table::{TransitionTable, ZoneTransition};

/// Seconds per span: a little more than two years, with about four clock changes.
const SPAN_SECONDS: i64 = 1 << 26;
/// Start of the first span: 1901-12-13.
const FIRST_SPAN: i64 = -32 * SPAN_SECONDS;
/// Number of spans; the last one ends in 2242.
const SPANS: usize = 160;
/// Seconds by which a span's table extends beyond both its ends; local times differ by less.
const SPAN_MARGIN: i64 = 3 * 86_400;

/// A time zone of the IANA database.
pub(super) struct IanaZone {
    pub(super) zone: TimeZone,
    spans: [OnceLock<TransitionTable>; SPANS],
}

impl IanaZone {
    /// Returns the interned zone for a zone of the database, as the database has it now.
    pub(super) fn intern(zone: TimeZone) -> &'static Self {
        static INTERNED: RwLock<Option<HashMap<String, &'static IanaZone>>> = RwLock::new(None);
        let same = |known: &Option<HashMap<String, &'static Self>>| {
            let same = known.as_ref()?.get(zone.iana_name().unwrap_or_default())?;
            (same.zone == zone).then_some(*same)
        };
        if let Some(same) = same(&INTERNED.read().unwrap_or_else(PoisonError::into_inner)) {
            return same;
        }
        let mut known = INTERNED.write().unwrap_or_else(PoisonError::into_inner);
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

    /// Returns the UTC offset at an instant, in seconds.
    pub(super) fn offset_at(&self, at: i64) -> i32 {
        match self.span_table(at) {
            Some(table) => table.offset_at(at),
            None => self.database_offset_at(at),
        }
    }

    /// Returns the UTC offset with which a local time is read, and whether it is in a gap.
    pub(super) fn offset_of(&self, local: i64) -> (i32, bool) {
        match self.span_table(local) {
            Some(table) => table.offset_of(local),
            None => self.database_offset_of(local),
        }
    }

    fn span_table(&self, seconds: i64) -> Option<&TransitionTable> {
        let span = usize::try_from((seconds - FIRST_SPAN).div_euclid(SPAN_SECONDS)).ok()?;
        let table = self.spans.get(span)?;
        Some(table.get_or_init(|| {
            let from = FIRST_SPAN + span as i64 * SPAN_SECONDS;
            self.read_changes(from - SPAN_MARGIN, from + SPAN_SECONDS + SPAN_MARGIN)
        }))
    }

    fn read_changes(&self, from: i64, to: i64) -> TransitionTable {
        let all = self
            .zone
            .following(jiff_timestamp(from))
            .map(|t| ZoneTransition {
                at: t.timestamp().as_second(),
                offset: t.offset().seconds(),
            });
        let list = all.take_while(|t| t.at < to).collect();
        TransitionTable::new(self.database_offset_at(from), list, false)
    }

    /// Asks the database.
    fn database_offset_at(&self, at: i64) -> i32 {
        self.zone.to_offset(jiff_timestamp(at)).seconds()
    }

    fn database_offset_of(&self, local: i64) -> (i32, bool) {
        let local = jiff_datetime(DateTime::from_seconds(local));
        match self.zone.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Unambiguous { offset } => (offset.seconds(), false),
            AmbiguousOffset::Gap { before, .. } => (before.seconds(), true),
            AmbiguousOffset::Fold { before, .. } => (before.seconds(), false),
        }
    }
}

fn jiff_timestamp(seconds: i64) -> jiff::Timestamp {
    let (first, last) = (jiff::Timestamp::MIN, jiff::Timestamp::MAX);
    let seconds = seconds.clamp(first.as_second(), last.as_second());
    jiff::Timestamp::from_second(seconds).unwrap_or(last)
}

fn jiff_datetime(local: DateTime) -> jiff::civil::DateTime {
    let (year, month, day) = local.date().ymd();
    let (hour, minute, second) = local.hms();
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

    fn named(name: &str) -> &'static IanaZone {
        IanaZone::intern(jiff::tz::db().get(name).unwrap())
    }

    #[test]
    fn a_zone_is_interned_once() {
        let one = named("Europe/Berlin");
        assert!(std::ptr::eq(one, named("europe/berlin")));
        assert!(!std::ptr::eq(one, named("Europe/Paris")));
    }

    /// Compares around every change of every zone and at the span boundaries.
    #[test]
    fn tables_agree_with_the_database() {
        for name in jiff::tz::db().available() {
            let zone = IanaZone::intern(jiff::tz::db().get(name.as_str()).unwrap());
            let from = FIRST_SPAN - 400 * 86_400;
            let changes = zone.zone.following(jiff_timestamp(from));
            let changes = changes.map(|t| t.timestamp().as_second());
            let end = FIRST_SPAN + SPANS as i64 * SPAN_SECONDS + 400 * 86_400;
            let meet = (0..=SPANS as i64).map(|n| FIRST_SPAN + n * SPAN_SECONDS);
            let all: Vec<i64> = changes.take_while(|at| *at < end).chain(meet).collect();
            for at in all {
                for near in [
                    -93_600, -7_200, -3_601, -3_600, -1_800, -1, 0, 1, 1_799, 3_600, 7_200,
                ] {
                    let at = at + near;
                    assert_eq!(
                        zone.offset_at(at),
                        zone.database_offset_at(at),
                        "{} at {at}",
                        name.as_str()
                    );
                    for offset in [
                        zone.database_offset_at(at),
                        zone.database_offset_at(at - 86_400),
                    ] {
                        let local = at + i64::from(offset);
                        let (told, asked) = (zone.offset_of(local), zone.database_offset_of(local));
                        assert_eq!(told, asked, "{} at {local}", name.as_str());
                    }
                }
            }
        }
    }
}
