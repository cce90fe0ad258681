//! Writes the `VTIMEZONE` of a time zone, which RFC 5545 section 3.6.5 requires beside times with
//! its `TZID`.
//!
//! ```text
//! offsets   +1 |   +2   | +1 |   +2   | +1 ...     from `since` on
//!                ^ 29.3.     ^ 28.3.               always the last Sunday of March: one RRULE
//! ```
//!
//! Transitions without such a rule (Morocco's in Ramadan) are listed one by one, up to 2037.

use super::TimeZoneDefinition;
use super::definition::Observance;
use crate::time::{DAY, Date, DateTime, DateTimeValue, TimeZone, Timestamp, month_length};
use etui_contentline::edit::fold_line;

/// The last year for which transitions are written, and the least number of years.
const LAST_YEAR: i32 = 2037;
const MIN_YEARS: i32 = 12;
/// Days between two samples of the offset. No zone changes its clocks twice within a week.
const SAMPLE_STEP: i64 = 7 * DAY;
/// Number of years from which a rule is written.
const MIN_RULE_YEARS: usize = 3;

impl TimeZoneDefinition {
    /// Builds the definition of a time zone, complete from `since` on.
    pub fn of(zone: &TimeZone, since: Date) -> Self {
        let (year, _, _) = since.ymd();
        let first_year = year.clamp(1900, 9900);
        let last_year = LAST_YEAR.max(first_year + MIN_YEARS);
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
        for (at, from, to) in find_transitions(zone, begin, end) {
            let local = DateTime::from_seconds(at.seconds() + i64::from(from));
            match groups.iter_mut().find(|g| (g.0, g.1) == (from, to)) {
                Some((_, _, locals)) => locals.push(local),
                None => groups.push((from, to, vec![local])),
            }
        }
        for (from, to, locals) in groups {
            let regular = YearlyPattern::of_last_years(&locals, last_year);
            let ruled = regular.map_or(0, |(count, _)| count);
            let (single, of_rule) = locals.split_at(locals.len() - ruled);
            if let Some((&first, rest)) = single.split_first() {
                observances.push(Observance {
                    start: first,
                    from,
                    to,
                    rules: Vec::new(),
                    dates: rest
                        .iter()
                        .map(|&local| DateTimeValue::Local(local))
                        .collect(),
                });
            }
            if let (Some(&first), Some((_, pattern))) = (of_rule.first(), regular) {
                observances.push(Observance {
                    start: first,
                    from,
                    to,
                    rules: pattern.rule_text().parse().into_iter().collect(),
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

    /// Returns the `VTIMEZONE`, with CRLF line ends.
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
            line(format!("TZOFFSETFROM:{}", format_offset(observance.from)));
            line(format!("TZOFFSETTO:{}", format_offset(observance.to)));
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

/// Returns the transitions between two instants: the instant and the offsets before and after.
fn find_transitions(
    zone: &TimeZone,
    begin: Timestamp,
    end: Timestamp,
) -> Vec<(Timestamp, i32, i32)> {
    let mut found = Vec::new();
    let (mut at, mut from) = (begin, zone.offset(begin));
    while at < end {
        let next = at.plus_seconds(SAMPLE_STEP).min(end);
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

/// A weekday of a month: the nth or the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct YearlyPattern {
    month: u32,
    /// From 1; -1 for the last.
    nth: i32,
    weekday: &'static str,
    /// Seconds of the day.
    time: i64,
}

impl YearlyPattern {
    fn of(local: DateTime, last: bool) -> Self {
        let date = local.date();
        let (_, month, day) = date.ymd();
        Self {
            month,
            nth: if last { -1 } else { day.div_ceil(7) as i32 },
            weekday: date.weekday().code(),
            time: local.seconds() - date.midnight().seconds(),
        }
    }

    fn matches_local(self, local: DateTime) -> bool {
        let (year, month, day) = local.date().ymd();
        let is_last = day + 7 > month_length(year, month);
        Self::of(local, self.nth < 0) == self && (self.nth > 0 || is_last)
    }

    /// Returns how many of the last transitions, one a year up to `last_year`, fit one pattern, and
    /// the pattern.
    fn of_last_years(locals: &[DateTime], last_year: i32) -> Option<(usize, Self)> {
        let last = *locals.last()?;
        let counted = [true, false].map(|is_last| {
            let pattern = Self::of(last, is_last);
            let years = (0..=last_year).rev();
            let fit = |(local, year): &(&DateTime, i32)| {
                local.date().ymd().0 == *year && pattern.matches_local(**local)
            };
            (
                locals.iter().rev().zip(years).take_while(fit).count(),
                pattern,
            )
        });
        let best = counted.into_iter().max_by_key(|(count, _)| *count)?;
        (best.0 >= MIN_RULE_YEARS).then_some(best)
    }

    fn rule_text(self) -> String {
        let Self {
            month,
            nth,
            weekday,
            ..
        } = self;
        format!("FREQ=YEARLY;BYMONTH={month};BYDAY={nth}{weekday}")
    }
}

/// Formats `+0100`, with seconds if there are any.
fn format_offset(offset: i32) -> String {
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
    fn a_written_zone_parses_to_equal_offsets() {
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
            let read = TimeZoneDefinition::parse(&text).to_time_zone().unwrap();
            let mut at = zone.to_utc(since.midnight());
            let end = zone.to_utc(Date::new(2037, 12, 1).unwrap().midnight());
            while at < end {
                assert_eq!(read.offset(at), zone.offset(at), "{name} {at}");
                at = at.plus_seconds(10_800);
            }
        }
    }

    #[test]
    fn yearly_rules_are_found() {
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
        let read = TimeZoneDefinition::parse(berlin.as_bytes())
            .to_time_zone()
            .unwrap();
        let far = TimeZone::UTC.to_utc(Date::new(2090, 7, 1).unwrap().midnight());
        assert_eq!(read.offset(far), 7_200);
        let kathmandu = text("Asia/Kathmandu");
        assert_eq!(kathmandu.matches("BEGIN:").count(), 2);
        assert!(kathmandu.contains("TZOFFSETTO:+0545\r\n"));
        assert!(!text("Africa/Casablanca").contains("RRULE"));
    }
}
