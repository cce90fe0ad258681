//! A `VTIMEZONE` for a zone: what RFC 5545 §3.6.5 wants beside times with its `TZID`.
//!
//! ```text
//! offsets   +1 |   +2   | +1 |   +2   | +1 ...     from `since` on
//!                ^ 29.3.     ^ 28.3.               always the last Sunday of March: one RRULE
//! ```
//!
//! Changes that follow no such rule (Morocco's in Ramadan) are told one by one, up to 2037.

use super::TimeZoneDefinition;
use super::definition::Observance;
use crate::time::{DAY, Date, DateTime, DateTimeValue, TimeZone, Timestamp, month_length};
use etui_contentline::edit::fold_line;

/// The last year that changes are looked for, and how many years they are looked for at least.
const LAST_YEAR: i32 = 2037;
const LEAST_YEARS: i32 = 12;
/// Days between two looks at the offset. No zone changes its clocks twice within a week.
const STEP: i64 = 7 * DAY;
/// As many years make a rule.
const MAKE_A_RULE: usize = 3;

impl TimeZoneDefinition {
    /// The definition of a zone, as far as it matters from `since` on.
    #[must_use]
    pub fn of(zone: &TimeZone, since: Date) -> Self {
        let (year, _, _) = since.ymd();
        let first_year = year.clamp(1900, 9900);
        let last_year = LAST_YEAR.max(first_year + LEAST_YEARS);
        let new_year = |year: i32| Date::new(year, 1, 1).unwrap_or(Date::MAX).midnight();
        let start = new_year(first_year);
        let begin = zone.to_utc(start);
        let end = zone.to_utc(new_year(last_year + 1));

        let offset = zone.offset(begin);
        let mut observances = vec![Observance {
            start,
            from: offset,
            to: offset,
            rules: Vec::new(),
            dates: Vec::new(),
        }];
        let mut groups: Vec<(i32, i32, Vec<DateTime>)> = Vec::new();
        for (at, from, to) in changes(zone, begin, end) {
            let wall = DateTime::from_seconds(at.seconds() + i64::from(from));
            match groups.iter_mut().find(|g| (g.0, g.1) == (from, to)) {
                Some((_, _, walls)) => walls.push(wall),
                None => groups.push((from, to, vec![wall])),
            }
        }
        for (from, to, walls) in groups {
            let regular = Pattern::tail(&walls, last_year);
            let ruled = regular.map_or(0, |(count, _)| count);
            let (single, of_rule) = walls.split_at(walls.len() - ruled);
            if let Some((&first, rest)) = single.split_first() {
                observances.push(Observance {
                    start: first,
                    from,
                    to,
                    rules: Vec::new(),
                    dates: rest
                        .iter()
                        .map(|&wall| DateTimeValue::Local(wall))
                        .collect(),
                });
            }
            if let (Some(&first), Some((_, pattern))) = (of_rule.first(), regular) {
                observances.push(Observance {
                    start: first,
                    from,
                    to,
                    rules: pattern.rule().parse().into_iter().collect(),
                    dates: Vec::new(),
                });
            }
        }
        Self {
            name: zone.name().to_owned(),
            location: None,
            observances,
        }
    }

    /// Its text, as a `VTIMEZONE` with CRLF.
    #[must_use]
    pub fn to_text(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut line = |text: String| out.extend_from_slice(&fold_line(&text, b"\r\n"));
        line("BEGIN:VTIMEZONE".to_owned());
        let name: String = self.name.chars().filter(|c| !c.is_control()).collect();
        line(format!("TZID:{name}"));
        for observance in &self.observances {
            let part = match observance.to > observance.from {
                true => "DAYLIGHT",
                false => "STANDARD",
            };
            line(format!("BEGIN:{part}"));
            line(format!("DTSTART:{}", observance.start));
            line(format!("TZOFFSETFROM:{}", written(observance.from)));
            line(format!("TZOFFSETTO:{}", written(observance.to)));
            for rule in &observance.rules {
                line(format!("RRULE:{rule}"));
            }
            if !observance.dates.is_empty() {
                let dates: Vec<String> = observance
                    .dates
                    .iter()
                    .map(DateTimeValue::to_string)
                    .collect();
                line(format!("RDATE:{}", dates.join(",")));
            }
            line(format!("END:{part}"));
        }
        line("END:VTIMEZONE".to_owned());
        out
    }
}

/// The changes of the clocks between two instants: when, and the offsets before and after.
fn changes(zone: &TimeZone, begin: Timestamp, end: Timestamp) -> Vec<(Timestamp, i32, i32)> {
    let mut found = Vec::new();
    let (mut at, mut from) = (begin, zone.offset(begin));
    while at < end {
        let next = at.plus_seconds(STEP).min(end);
        let to = zone.offset(next);
        if to != from {
            // The first second with the new offset.
            let (mut before, mut after) = (at.seconds(), next.seconds());
            while after - before > 1 {
                let middle = before + (after - before) / 2;
                match zone.offset(Timestamp::from_seconds(middle)) == from {
                    true => before = middle,
                    false => after = middle,
                }
            }
            found.push((Timestamp::from_seconds(after), from, to));
            from = to;
        }
        at = next;
    }
    found
}

/// A weekday of a month: the n-th, or the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pattern {
    month: u32,
    /// From 1; -1 for the last.
    nth: i32,
    weekday: &'static str,
    /// Seconds of the day.
    time: i64,
}

impl Pattern {
    fn of(wall: DateTime, last: bool) -> Self {
        let date = wall.date();
        let (_, month, day) = date.ymd();
        Self {
            month,
            nth: if last { -1 } else { day.div_ceil(7) as i32 },
            weekday: date.weekday().code(),
            time: wall.seconds() - date.midnight().seconds(),
        }
    }

    fn fits(self, wall: DateTime) -> bool {
        let (year, month, day) = wall.date().ymd();
        let is_last = day + 7 > month_length(year, month);
        Self::of(wall, self.nth < 0) == self && (self.nth > 0 || is_last)
    }

    /// How many of the last ones, one each year up to `last_year`, fit one pattern, and which.
    fn tail(walls: &[DateTime], last_year: i32) -> Option<(usize, Self)> {
        let last = *walls.last()?;
        let counted = [true, false].map(|is_last| {
            let pattern = Self::of(last, is_last);
            let years = (0..=last_year).rev();
            let fit = |(wall, year): &(&DateTime, i32)| {
                wall.date().ymd().0 == *year && pattern.fits(**wall)
            };
            (
                walls.iter().rev().zip(years).take_while(fit).count(),
                pattern,
            )
        });
        let best = counted.into_iter().max_by_key(|(count, _)| *count)?;
        (best.0 >= MAKE_A_RULE).then_some(best)
    }

    fn rule(self) -> String {
        let Self {
            month,
            nth,
            weekday,
            ..
        } = self;
        format!("FREQ=YEARLY;BYMONTH={month};BYDAY={nth}{weekday}")
    }
}

/// `+0100`, with seconds where there are any.
fn written(offset: i32) -> String {
    let sign = if offset < 0 { '-' } else { '+' };
    let seconds = offset.unsigned_abs();
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    match seconds % 60 {
        0 => format!("{sign}{hours:02}{minutes:02}"),
        seconds => format!("{sign}{hours:02}{minutes:02}{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_zone_reads_back_as_it_is() {
        let since = Date::new(2009, 5, 17).unwrap();
        for name in [
            "Europe/Berlin",
            "America/New_York",
            "Asia/Kathmandu",
            "Africa/Casablanca",
            "Australia/Lord_Howe",
            "Europe/Dublin",
            "America/Sao_Paulo",
            "Asia/Tehran",
            "America/Santiago",
            "Pacific/Apia",
        ] {
            let zone = TimeZone::named(name).unwrap();
            let text = TimeZoneDefinition::of(&zone, since).to_text();
            let read = TimeZoneDefinition::parse(&text).zone().unwrap();
            let mut at = zone.to_utc(since.midnight());
            let end = zone.to_utc(Date::new(2037, 12, 1).unwrap().midnight());
            while at < end {
                assert_eq!(read.offset(at), zone.offset(at), "{name} {at}");
                at = at.plus_seconds(10_800);
            }
        }
    }

    #[test]
    fn rules_are_found_and_last() {
        let since = Date::new(2026, 1, 1).unwrap();
        let text = |name| {
            let zone = TimeZone::named(name).unwrap();
            String::from_utf8(TimeZoneDefinition::of(&zone, since).to_text()).unwrap()
        };
        let berlin = text("Europe/Berlin");
        assert!(
            berlin.contains("RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3\r\n"),
            "{berlin}"
        );
        assert!(text("America/New_York").contains("BYDAY=1SU;BYMONTH=11\r\n"));
        let read = TimeZoneDefinition::parse(berlin.as_bytes()).zone().unwrap();
        let far = TimeZone::UTC.to_utc(Date::new(2090, 7, 1).unwrap().midnight());
        assert_eq!(read.offset(far), 7_200);
        let kathmandu = text("Asia/Kathmandu");
        assert_eq!(kathmandu.matches("BEGIN:").count(), 2);
        assert!(kathmandu.contains("TZOFFSETTO:+0545\r\n"));
        assert!(!text("Africa/Casablanca").contains("RRULE"));
    }
}
