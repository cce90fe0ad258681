//! [`TimeZoneDefinition`]: a `VTIMEZONE` (RFC 5545 §3.6.5) and the zone it makes.

use crate::recurrence::{CompiledRule, Frequency, RecurrenceRule};
use crate::time::{DateTime, DateTimeValue, TimeZone, TransitionTable, ZoneTransition};
use etui_contentline::lines::{ContentLine, ContentLines};

/// Changes of the clocks that are read of one observance. A rule of the usual kind has one a
/// year: 400 years and what came before.
const MAX_CHANGES: usize = 1_000;
/// Observances that are read of one zone, and rules of one of them: a zone with all its history
/// has some two hundred, with a rule each.
const MAX_OBSERVANCES: usize = 300;
const MAX_RULES: usize = 2;
/// The calendar repeats after 400 years, and so do the changes of an endless rule: these, and
/// one year more, in seconds.
const CYCLE: i64 = (146_097 + 366) * 86_400;
const YEAR: i64 = 365 * 86_400;
/// Years that the rules of one zone are followed through, all together: two endless rules since
/// 1601 need 2,000. What a definition costs stays within what its bytes may cost.
const MAX_YEARS: i64 = 40_000;

/// A `VTIMEZONE` of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TimeZoneDefinition {
    /// `TZID`
    pub name: String,
    /// `X-LIC-LOCATION`: the IANA name that libical (Evolution, Thunderbird, Nextcloud) and
    /// others write.
    pub location: Option<String>,
    /// Its `STANDARD` and `DAYLIGHT` parts.
    pub observances: Vec<Observance>,
}

/// A `STANDARD` or `DAYLIGHT` part: when an offset begins to count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observance {
    /// `DTSTART`, by the offset of before.
    pub start: DateTime,
    /// `TZOFFSETFROM` in seconds.
    pub from: i32,
    /// `TZOFFSETTO` in seconds.
    pub to: i32,
    /// `RRULE`
    pub rules: Vec<RecurrenceRule>,
    /// `RDATE`
    pub dates: Vec<DateTimeValue>,
}

impl TimeZoneDefinition {
    /// Reads one `VTIMEZONE`. What is not understood in it is passed over; a part without start
    /// or offsets as a whole.
    #[must_use]
    pub fn parse(text: &[u8]) -> Self {
        let mut definition = Self::default();
        let mut part = None::<Part>;
        for line in ContentLines::new(text) {
            let value = line.unfolded_value();
            let value = String::from_utf8_lossy(&value);
            let value = value.trim();
            let named = |name| line.name_is(name) && line.group.is_none();
            if named("BEGIN") {
                let of_zone = ["STANDARD", "DAYLIGHT"]
                    .iter()
                    .any(|n| value.eq_ignore_ascii_case(n));
                part = of_zone.then(Part::default);
            } else if named("END") {
                if let Some(observance) = part.take().and_then(Part::complete)
                    && definition.observances.len() < MAX_OBSERVANCES
                {
                    definition.observances.push(observance);
                }
            } else if let Some(part) = &mut part {
                part.take(&line, value);
            } else if named("TZID") {
                definition.name = unquoted(value).to_owned();
            } else if named("X-LIC-LOCATION") {
                definition.location = Some(unquoted(value).to_owned());
            }
        }
        definition
    }

    /// The zone it defines; `None` if it has no observance.
    #[must_use]
    pub fn zone(&self) -> Option<TimeZone> {
        let first = self.observances.iter().min_by_key(|o| o.start)?.from;
        let latest = self.observances.iter().map(|o| o.start).max()?;
        let (mut list, mut cyclic, mut years) = (Vec::new(), false, 0);
        for observance in &self.observances {
            let mut add = |wall: DateTime| {
                list.push(ZoneTransition {
                    at: wall.seconds() - i64::from(observance.from),
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
                // From the last that began on, one cycle and a year: what repeats is there in full.
                let end = latest.plus_seconds(CYCLE);
                let plan =
                    CompiledRule::new(&observance.on_own_clock(rule), observance.start, false);
                let last = rule.until.map_or(end, |until| until.local().min(end));
                years += (last.seconds() - observance.start.seconds()).max(0) / YEAR + 1;
                if years > MAX_YEARS {
                    break;
                }
                cyclic |= rule.is_unbounded();
                plan.walk(DateTime::MIN, end)
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
    /// `rule` with its `UNTIL`, which is in UTC here, on the clock of before.
    fn on_own_clock(&self, rule: &RecurrenceRule) -> RecurrenceRule {
        let mut rule = rule.clone();
        if let Some(DateTimeValue::Utc(time)) = rule.until {
            rule.until = Some(DateTimeValue::Local(time.plus_seconds(self.from.into())));
        }
        rule
    }
}

#[derive(Debug, Default)]
struct Part {
    start: Option<DateTime>,
    from: Option<i32>,
    to: Option<i32>,
    rules: Vec<RecurrenceRule>,
    dates: Vec<DateTimeValue>,
}

impl Part {
    fn take(&mut self, line: &ContentLine<'_>, value: &str) {
        if line.name_is("DTSTART") {
            self.start = value.parse().ok().map(DateTimeValue::local);
        } else if line.name_is("TZOFFSETFROM") {
            self.from = offset(value);
        } else if line.name_is("TZOFFSETTO") {
            self.to = offset(value);
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

    /// Either offset stands for the other where one is missing.
    fn complete(self) -> Option<Observance> {
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

/// `+0100`, `-0330`, `+013015`; also with colons. Less than a day.
fn offset(text: &str) -> Option<i32> {
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

/// `text` without the quotes that some programs put around a `TZID`.
pub(super) fn unquoted(text: &str) -> &str {
    text.trim().trim_matches('"').trim()
}
