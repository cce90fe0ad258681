//! [`TimeZoneDefinition`]: a `VTIMEZONE` (RFC 5545 section 3.6.5) and its time zone.

use crate::recurrence::{CompiledRule, Frequency, RecurrenceRule};
use crate::time::{DateTime, DateTimeValue, TimeZone, TransitionTable, ZoneTransition};
use etui_contentline::lines::{ContentLine, ContentLines};

/// Transitions read per observance. A usual rule has one a year: 400 years and the history before.
const MAX_CHANGES: usize = 1_000;
/// Observances read per time zone, and rules per observance: a zone with all its history has some
/// two hundred observances with one rule each.
const MAX_OBSERVANCES: usize = 300;
const MAX_RULES: usize = 2;
/// The calendar, and with it the transitions of an unbounded rule, repeats after 400 years: these
/// and one year more, in seconds.
const CYCLE: i64 = (146_097 + 366) * 86_400;
const YEAR: i64 = 365 * 86_400;
/// Years for which the rules of one time zone are expanded in total; two unbounded rules since 1601
/// need 2,000. It bounds the cost of a definition by its size.
const MAX_YEARS: i64 = 40_000;

/// A `VTIMEZONE`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TimeZoneDefinition {
    /// `TZID`
    pub name: String,
    /// `X-LIC-LOCATION`: the IANA name, as written by libical (Evolution, Thunderbird, Nextcloud)
    /// and others.
    pub location: Option<String>,
    /// The `STANDARD` and `DAYLIGHT` parts.
    pub observances: Vec<Observance>,
}

/// A `STANDARD` or `DAYLIGHT` part: the times at which a UTC offset begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observance {
    /// `DTSTART`, with the offset before it.
    pub start: DateTime,
    /// `TZOFFSETFROM`, in seconds.
    pub from: i32,
    /// `TZOFFSETTO`, in seconds.
    pub to: i32,
    /// `RRULE`
    pub rules: Vec<RecurrenceRule>,
    /// `RDATE`
    pub dates: Vec<DateTimeValue>,
}

impl TimeZoneDefinition {
    /// Parses one `VTIMEZONE`. Unknown properties are ignored, as is an observance without start or
    /// offsets.
    pub fn parse(text: &[u8]) -> Self {
        let mut definition = Self::default();
        let mut part = None::<ObservanceBuilder>;
        for line in ContentLines::new(text) {
            let value = line.unfolded_value();
            let value = String::from_utf8_lossy(&value);
            let value = value.trim();
            let named = |name| line.name_is(name) && line.group.is_none();
            if named("BEGIN") {
                let of_zone = ["STANDARD", "DAYLIGHT"]
                    .iter()
                    .any(|n| value.eq_ignore_ascii_case(n));
                part = of_zone.then(ObservanceBuilder::default);
            } else if named("END") {
                if let Some(observance) = part.take().and_then(ObservanceBuilder::build)
                    && definition.observances.len() < MAX_OBSERVANCES
                {
                    definition.observances.push(observance);
                }
            } else if let Some(part) = &mut part {
                part.read_line(&line, value);
            } else if named("TZID") {
                definition.name = trim_quotes(value).to_owned();
            } else if named("X-LIC-LOCATION") {
                definition.location = Some(trim_quotes(value).to_owned());
            }
        }
        definition
    }

    /// Returns the time zone; `None` without an observance.
    pub fn to_time_zone(&self) -> Option<TimeZone> {
        let first = self.observances.iter().min_by_key(|o| o.start)?.from;
        let latest = self.observances.iter().map(|o| o.start).max()?;
        let (mut list, mut cyclic, mut years) = (Vec::new(), false, 0);
        for observance in &self.observances {
            let mut add = |local: DateTime| {
                list.push(ZoneTransition {
                    at: local.seconds() - i64::from(observance.from),
                    offset: observance.to,
                });
            };
            add(observance.start);
            for date in &observance.dates {
                match date {
                    DateTimeValue::Utc(time) => add(time.plus_seconds(observance.from.into())),
                    date => add(date.local()),
                }
            }
            for rule in &observance.rules {
                // One cycle and a year after the latest start: the repeating part is complete.
                let end = latest.plus_seconds(CYCLE);
                let compiled =
                    CompiledRule::new(&observance.with_local_until(rule), observance.start, false);
                let last = rule.until.map_or(end, |until| until.local().min(end));
                years += (last.seconds() - observance.start.seconds()).max(0) / YEAR + 1;
                if years > MAX_YEARS {
                    break;
                }
                cyclic |= rule.is_unbounded();
                compiled
                    .occurrences(DateTime::MIN, end)
                    .take(MAX_CHANGES)
                    .for_each(&mut add);
            }
        }
        Some(TimeZone::defined(
            &self.name,
            TransitionTable::new(first, list, cyclic),
        ))
    }
}

impl Observance {
    /// Returns `rule` with its `UNTIL`, which is in UTC here, as local time with the offset before.
    fn with_local_until(&self, rule: &RecurrenceRule) -> RecurrenceRule {
        let mut rule = rule.clone();
        if let Some(DateTimeValue::Utc(time)) = rule.until {
            rule.until = Some(DateTimeValue::Local(time.plus_seconds(self.from.into())));
        }
        rule
    }
}

#[derive(Debug, Default)]
struct ObservanceBuilder {
    start: Option<DateTime>,
    from: Option<i32>,
    to: Option<i32>,
    rules: Vec<RecurrenceRule>,
    dates: Vec<DateTimeValue>,
}

impl ObservanceBuilder {
    fn read_line(&mut self, line: &ContentLine<'_>, value: &str) {
        if line.name_is("DTSTART") {
            self.start = value.parse().ok().map(DateTimeValue::local);
        } else if line.name_is("TZOFFSETFROM") {
            self.from = parse_offset(value);
        } else if line.name_is("TZOFFSETTO") {
            self.to = parse_offset(value);
        } else if line.name_is("RRULE") && self.rules.len() < MAX_RULES {
            let rule = value.parse::<RecurrenceRule>().ok();
            // Clocks are changed on some days of a year.
            self.rules
                .extend(rule.filter(|r| r.frequency >= Frequency::Monthly));
        } else if line.name_is("RDATE") {
            let dates = value
                .split(',')
                .filter_map(|v| v.parse::<DateTimeValue>().ok());
            let room = MAX_CHANGES.saturating_sub(self.dates.len());
            self.dates.extend(dates.take(room));
        }
    }

    /// Either offset replaces the other if one is missing.
    fn build(self) -> Option<Observance> {
        let to = self.to.or(self.from)?;
        Some(Observance {
            start: self.start?,
            from: self.from.unwrap_or(to),
            to,
            rules: self.rules,
            dates: self.dates,
        })
    }
}

/// Parses `+0100`, `-0330` or `+013015`, also with colons; less than a day.
fn parse_offset(text: &str) -> Option<i32> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1, text.get(1..)?),
        b'+' => (1, text.get(1..)?),
        _ => (1, text),
    };
    let digits: Vec<i32> = digits
        .bytes()
        .filter(|b| *b != b':')
        .map(|b| b.is_ascii_digit().then(|| i32::from(b - b'0')))
        .collect::<Option<_>>()?;
    let seconds = match *digits.as_slice() {
        [a, b, c, d] => (a * 10 + b) * 3_600 + (c * 10 + d) * 60,
        [a, b, c, d, e, f] => (a * 10 + b) * 3_600 + (c * 10 + d) * 60 + e * 10 + f,
        _ => return None,
    };
    (seconds < 86_400).then_some(sign * seconds)
}

/// Returns `text` without the quotes that some programs write around a `TZID`.
pub(super) fn trim_quotes(text: &str) -> &str {
    text.trim().trim_matches('"').trim()
}
