//! [`Near`]: what a zone's clocks show around some range of time, in which they are changed once
//! at the most. Asked often, it is cheaper than the zone.

use super::civil::{DAY, DateTime, Timestamp};
use super::table::ZoneTransition;
use super::zone::{ResolvedTime, TimeZone};

/// Seconds by which a change of the clocks may lie beside the local times it has to do with.
const REACH: i64 = 2 * DAY;

/// A zone around some range of time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Near {
    before: i64,
    /// The instant of the change; the greatest number if there is none.
    change: i64,
    after: i64,
}

/// Local times to instants and back: by a zone, or by what is known of it around a time.
pub(crate) trait Clocks {
    /// The instant a local time means, and whether the clocks skip it.
    fn resolve(&self, wall: DateTime) -> ResolvedTime;
    /// What a clock shows at an instant.
    fn to_local(&self, at: Timestamp) -> DateTime;
}

impl Clocks for TimeZone {
    fn resolve(&self, wall: DateTime) -> ResolvedTime {
        TimeZone::resolve(self, wall)
    }

    fn to_local(&self, at: Timestamp) -> DateTime {
        TimeZone::to_local(self, at)
    }
}

impl Near {
    /// UTC.
    pub(super) const UTC: Near = Near {
        before: 0,
        change: i64::MAX,
        after: 0,
    };

    /// The zone from `from` to `to`, of whose changes `changes` lists those in the range that it
    /// is given, with the offset before the first of them; `None` if it cannot tell, or if there
    /// are more than one.
    pub(super) fn new(
        from: i64,
        to: i64,
        changes: impl FnOnce(i64, i64, &mut dyn FnMut(ZoneTransition)) -> Option<i32>,
    ) -> Option<Self> {
        let (mut change, mut many) = (None, false);
        let before = changes(from - REACH, to + REACH, &mut |t| {
            many |= change.replace(t).is_some();
        })?;
        let (at, after) = change.map_or((i64::MAX, before), |t| (t.at, t.offset));
        let fits = |offset: i32| i64::from(offset).abs() < DAY;
        (!many && fits(before) && fits(after)).then_some(Self {
            before: before.into(),
            change: at,
            after: after.into(),
        })
    }

    /// The least and the greatest offset from UTC.
    pub(crate) fn offsets(&self) -> (i64, i64) {
        (self.before.min(self.after), self.before.max(self.after))
    }

    /// Whether the clocks skip this time of day, in seconds, on some day.
    pub(crate) fn skips(&self, of_day: i64) -> bool {
        if self.change == i64::MAX {
            return false;
        }
        let gap = self.change + self.before;
        gap + (of_day - gap).rem_euclid(DAY) < self.change + self.after
    }
}

impl Clocks for Near {
    fn resolve(&self, wall: DateTime) -> ResolvedTime {
        let wall = wall.seconds();
        let (offset, skipped) = if wall - self.before < self.change {
            (self.before, false)
        } else if wall - self.after < self.change {
            (self.before, true)
        } else {
            (self.after, false)
        };
        ResolvedTime {
            at: Timestamp::from_seconds(wall - offset),
            skipped,
        }
    }

    fn to_local(&self, at: Timestamp) -> DateTime {
        let offset = if at.seconds() < self.change {
            self.before
        } else {
            self.after
        };
        DateTime::from_seconds(at.seconds() + offset)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::table::TransitionTable;
    use super::*;

    /// Ten days every so often, and all times around that the clocks' changes have to do with.
    fn agrees(zone: &TimeZone, from: i64, to: i64) -> (usize, usize) {
        let (mut changes, mut untold) = (0, 0);
        for start in (from..to).step_by(7 * 86_400) {
            let end = start + 10 * DAY;
            let Some(near) = zone.near(start, end) else {
                untold += 1;
                continue;
            };
            changes += usize::from(near.change != i64::MAX);
            let edges = [
                near.change,
                near.change.saturating_add(near.after - near.before),
            ];
            let around = edges.into_iter().flat_map(|e| {
                [-90_000, -3_600, -1, 0, 1, 1_800, 3_599, 3_600, 90_000]
                    .map(|d: i64| e.saturating_add(d))
            });
            let spread = (start..=end).step_by(17 * 3_600 + 1);
            let inside = around.filter(|at| (start..=end).contains(at));
            for at in spread.chain(inside).map(Timestamp::from_seconds) {
                assert_eq!(near.to_local(at), zone.to_local(at), "{zone:?} {at}");
                for offset in [near.before, near.after] {
                    let wall = DateTime::from_seconds(at.seconds() + offset);
                    let resolved = zone.resolve(wall);
                    assert_eq!(near.resolve(wall), resolved, "{zone:?} {wall}");
                    let of_day = wall.seconds().rem_euclid(DAY);
                    assert!(!resolved.skipped || near.skips(of_day), "{zone:?} {wall}");
                }
            }
        }
        (changes, untold)
    }

    #[test]
    fn it_is_what_the_zone_says() {
        let year = 31_556_952;
        for name in [
            "Europe/Berlin",
            "America/New_York",
            "Australia/Lord_Howe",
            "Pacific/Apia",
            "Africa/Casablanca",
            "Asia/Manila",
        ] {
            let zone = TimeZone::named(name).unwrap();
            let (changes, untold) = agrees(&zone, -69 * year, 273 * year);
            assert!(changes > 0, "{name}");
            // Before 1901 and behind 2242 there are no tables; two changes are seldom near.
            assert!((1..200).contains(&untold), "{name}: {untold}");
        }
        assert_eq!(agrees(&TimeZone::UTC, -60 * year, 60 * year), (0, 0));
        let change = |n: i64| ZoneTransition {
            at: n * year / 2,
            offset: if n % 2 == 0 { 3_600 } else { 7_200 },
        };
        let table = |n, cyclic| TransitionTable::new(0, (0..n).map(change).collect(), cyclic);
        for table in [table(100, false), table(802, true)] {
            let zone = TimeZone::defined("own", table);
            let (changes, untold) = agrees(&zone, -10 * year, 900 * year);
            assert!(changes >= 100 && untold < 50, "{changes} {untold}");
        }
    }

    #[test]
    fn what_does_not_fit_is_not_told() {
        let at = |at, offset| ZoneTransition { at, offset };
        let near =
            |list| TimeZone::defined("odd", TransitionTable::new(0, list, false)).near(0, DAY);
        assert!(near(vec![at(10, 3_600)]).is_some());
        assert!(near(vec![at(10, 3_600), at(20, 7_200)]).is_none());
        assert!(near(vec![at(10, 100_000)]).is_none());
    }
}
