//! The time options of calendar entries and their combined meaning.

use etui::calendar::recurrence::{CompiledRule, RecurrenceRule};
use etui::calendar::time::{CalendarTime, Date, DateTime, DateTimeValue, Duration, TimeZone};
use etui_program::{Failure, Result};

use super::show::in_form_of;
use etui_when::{
    EndWords, LocalNow, TimeWords, format_clock, format_range, parse_duration, parse_end_of,
    parse_recurrence, parse_times_on, parse_when_on,
};

/// Default duration of an event.
const DEFAULT_SECONDS: i64 = 3_600;

// Flattened into the arguments of `add` and `edit`.
#[derive(Debug, Default, clap::Args)]
pub struct TimeArgs {
    /// Start: "monday 9:00", 2026-12-24T18:30, +2h; a day without a time is an all-day event
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    pub start: Option<String>,
    /// End: a time on the day of the start, a day and time, or the last day
    #[arg(
        long,
        value_name = "WHEN",
        allow_hyphen_values = true,
        conflicts_with = "duration"
    )]
    pub end: Option<String>,
    /// Duration: 45m, 1h30m, 2d
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, allow_hyphen_values = true)]
    pub duration: Option<Duration>,
    /// Make it an all-day event
    #[arg(long)]
    pub all_day: bool,
    /// Due day or time of a to-do
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    pub due: Option<String>,
    /// Recurrence: daily, "weekly on mon,thu", "monthly on the last fri until 2027-06-30", or an RRULE
    /// (FREQ=WEEKLY;BYDAY=MO)
    #[arg(long, value_name = "HOW")]
    pub repeat: Option<String>,
}

/// A start, and the end if it was given with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartTime {
    pub start: CalendarTime,
    pub end: Option<EventEnd>,
}

/// The end of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventEnd {
    At(CalendarTime),
    After(Duration),
}

impl TimeArgs {
    pub fn is_empty(&self) -> bool {
        self.start.is_none()
            && self.end.is_none()
            && self.duration.is_none()
            && self.due.is_none()
            && self.repeat.is_none()
            && !self.all_day
    }

    /// Parses `--start`, which may be a range; a time alone is on `day`.
    pub fn parse_start(&self, day: Date, here: &LocalNow) -> Result<Option<StartTime>> {
        let Some(text) = &self.start else {
            return Ok(None);
        };
        let words = parse_times_on(text, day, here.now)
            .map_err(|e| Failure::usage(format!("--start {text}: {e}")))?;
        if words.end.is_some() && (self.end.is_some() || self.duration.is_some()) {
            return Err(Failure::usage(format!(
                "--start {text}: this range has an end; leave out --end and --duration"
            )));
        }
        let what = format!("--start {text}");
        self.start_of_words(&words, &what, here).map(Some)
    }

    /// Converts a start in words; the last argument names it in messages.
    pub fn start_of_words(
        &self,
        words: &TimeWords,
        what: &str,
        here: &LocalNow,
    ) -> Result<StartTime> {
        let start = self.to_time(words.start, here);
        let end = match &words.end {
            None => None,
            Some(EndWords::After(length)) => Some(EventEnd::After(*length)),
            Some(EndWords::At(end)) => Some(EventEnd::At(end_at(&start, *end, what, here)?)),
        };
        if let Some(EventEnd::After(length)) = &end {
            check_length(&start, *length)?;
        }
        Ok(StartTime { start, end })
    }

    /// Parses `--due`; a time alone is on `day`.
    pub fn parse_due(&self, day: Date, here: &LocalNow) -> Result<Option<CalendarTime>> {
        let Some(text) = &self.due else {
            return Ok(None);
        };
        let value = parse_when_on(text, day, here.now);
        let value = value.map_err(|e| Failure::usage(format!("--due {text}: {e}")))?;
        Ok(Some(self.to_time(value, here)))
    }

    fn to_time(&self, value: DateTimeValue, here: &LocalNow) -> CalendarTime {
        match self.all_day {
            true => CalendarTime::Date(value.local().date()),
            false => to_zone(value, &here.zone),
        }
    }

    /// Parses `--end` or `--duration` of an event with this start.
    pub fn parse_end(&self, start: &CalendarTime, here: &LocalNow) -> Result<Option<EventEnd>> {
        if let Some(length) = self.duration {
            check_length(start, length)?;
            return Ok(Some(EventEnd::After(length)));
        }
        let Some(text) = &self.end else {
            return Ok(None);
        };
        let value = parse_end_of(text, start.local(), here.now);
        let value = value.map_err(|e| Failure::usage(format!("--end {text}: {e}")))?;
        let end = end_at(start, value, &format!("--end {text}"), here)?;
        Ok(Some(EventEnd::At(end)))
    }

    pub fn default_duration(start: &CalendarTime) -> Duration {
        match start {
            CalendarTime::Date(_) => Duration::from_days(1),
            _ => Duration::from_seconds(DEFAULT_SECONDS),
        }
    }

    /// Parses `--repeat` of an entry with this start.
    pub fn parse_rule(&self, start: &CalendarTime, here: &LocalNow) -> Result<Option<AlignedRule>> {
        let Some(text) = &self.repeat else {
            return Ok(None);
        };
        let rule = parse_recurrence(text, start.local().date(), here.now)
            .map_err(|e| Failure::usage(format!("--repeat: {e}")))?;
        align_rule(rule, start, here).map(Some)
    }
}

/// A rule and its first occurrence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlignedRule {
    pub rule: RecurrenceRule,
    /// The first occurrence at the start or later.
    pub first: CalendarTime,
}

/// Brings the end of a rule into the form of the start, and finds the first occurrence.
pub fn align_rule(
    mut rule: RecurrenceRule,
    start: &CalendarTime,
    here: &LocalNow,
) -> Result<AlignedRule> {
    rule.until = rule.until.map(|until| normalize_until(until, start));
    let is_over = |time: &CalendarTime| match rule.until {
        None => false,
        Some(DateTimeValue::Date(last)) => time.local().date() > last,
        Some(DateTimeValue::Local(last)) => time.local() > last,
        Some(DateTimeValue::Utc(last)) => time.at(&here.zone) > TimeZone::UTC.to_utc(last),
    };
    if is_over(start) {
        return Err(Failure::usage(format!(
            "--repeat: the rule ends before the start, {}",
            describe_start(start)
        )));
    }
    let endless = RecurrenceRule {
        until: None,
        count: None,
        ..rule.clone()
    };
    let compiled = CompiledRule::new(&endless, start.local(), start.is_date());
    let first = compiled.occurrences(start.local(), DateTime::MAX).next();
    let first = first.map(|local| in_form_of(start, local));
    let Some(first) = first.filter(|first| !is_over(first)) else {
        return Err(Failure::usage(format!(
            "--repeat: the rule has no occurrence from {} on; change --start or the end of the rule",
            describe_start(start)
        )));
    };
    Ok(AlignedRule { rule, first })
}

fn describe_start(start: &CalendarTime) -> String {
    let text = format_range(start, start);
    text.trim_end_matches(", all day").to_owned()
}

/// Checks that a due time is after the start.
pub fn check_due(start: &CalendarTime, due: &CalendarTime, here: &LocalNow) -> Result<()> {
    match start.is_date() != due.is_date() || due.at(&here.zone) <= start.at(&here.zone) {
        true => Err(Failure::usage(
            "--due must be after --start; either both or none have a time of day",
        )),
        false => Ok(()),
    }
}

/// Error for a start on which the rule of the entry has no occurrence.
pub fn not_in_rule(start: &CalendarTime) -> Failure {
    Failure::usage(format!(
        "{} is not a time of the rule; give --repeat, too",
        describe_start(start)
    ))
}

/// Says that a start was moved to the first occurrence of its rule.
pub fn note_of_move(from: &CalendarTime, to: &CalendarTime) -> String {
    format!(
        "{} is not in the rule; the start was moved to {}",
        describe_start(from),
        describe_start(to)
    )
}

/// Says that a start was earlier today.
pub fn note_of_passed(start: &CalendarTime, here: &LocalNow) -> Option<String> {
    let local = here.zone.to_local(start.at(&here.zone));
    let is_passed = !start.is_date() && local.date() == here.now.date() && local < here.now;
    is_passed.then(|| format!("{} has already passed", describe_start(start)))
}

/// Describes a start that a clock change leaves out, and the time that it is then.
pub fn note_of_gap(start: &CalendarTime, here: &LocalNow) -> Option<String> {
    let zone = match start {
        CalendarTime::Zoned(_, zone) => zone,
        CalendarTime::Floating(_) => &here.zone,
        _ => return None,
    };
    let found = zone.to_local(zone.to_utc(start.local()));
    (found != start.local()).then(|| {
        format!(
            "{} is skipped by the change of clocks on that day; it is {}",
            describe_start(start),
            format_clock(found)
        )
    })
}

/// Returns the notes of a typed time: that it has passed, or is left out by a clock change.
pub fn notes_of_time(time: &CalendarTime, here: &LocalNow) -> Vec<String> {
    let passed = note_of_passed(time, here);
    passed.into_iter().chain(note_of_gap(time, here)).collect()
}

/// Converts the end of an event; the last argument names it in messages.
fn end_at(
    start: &CalendarTime,
    value: DateTimeValue,
    what: &str,
    here: &LocalNow,
) -> Result<CalendarTime> {
    let end = match (start, value) {
        // People name the last day; DTEND is exclusive.
        (CalendarTime::Date(_), value) => CalendarTime::Date(value.local().date().plus_days(1)),
        (_, DateTimeValue::Date(_)) => {
            return Err(Failure::usage(format!(
                "{what}: add a time, as --start has one, or use --all-day"
            )));
        }
        (CalendarTime::Zoned(_, zone), value) => to_zone(value, zone),
        (_, value) => to_zone(value, &here.zone),
    };
    if end.at(&here.zone) <= start.at(&here.zone) {
        return Err(Failure::usage(format!(
            "{what}: this is not after the start"
        )));
    }
    Ok(end)
}

fn check_length(start: &CalendarTime, length: Duration) -> Result<()> {
    match start.is_date() && length.seconds() != 0 {
        true => Err(Failure::usage(
            "--duration: an all-day event lasts whole days; write 2d, or give --start a time",
        )),
        false => Ok(()),
    }
}

/// Converts a value to a time in a zone.
fn to_zone(value: DateTimeValue, zone: &TimeZone) -> CalendarTime {
    match value {
        DateTimeValue::Utc(time) => {
            CalendarTime::Zoned(zone.to_local(TimeZone::UTC.to_utc(time)), zone.clone())
        }
        DateTimeValue::Local(time) => CalendarTime::Zoned(time, zone.clone()),
        DateTimeValue::Date(date) => CalendarTime::Date(date),
    }
}

/// Converts UNTIL to the form that RFC 5545 §3.3.10 requires: a date for all-day events, local time for
/// floating ones, else UTC. A day includes its last second.
pub fn normalize_until(until: DateTimeValue, start: &CalendarTime) -> DateTimeValue {
    let local = match until {
        DateTimeValue::Date(date) => date.midnight().plus_seconds(86_399),
        DateTimeValue::Local(time) | DateTimeValue::Utc(time) => time,
    };
    match (start, until) {
        (CalendarTime::Date(_), until) => DateTimeValue::Date(until.local().date()),
        (_, DateTimeValue::Utc(time)) => DateTimeValue::Utc(time),
        (CalendarTime::Floating(_), _) => DateTimeValue::Local(local),
        (CalendarTime::Zoned(_, zone), _) => DateTimeValue::Utc(zone.to_utc(local).utc()),
        (CalendarTime::Utc(_), _) => DateTimeValue::Utc(local),
    }
}

/// Negates a duration, for the trigger of an alarm.
pub fn offset_before_start(length: Duration) -> Result<Duration> {
    let back = format!("-{length}").parse();
    back.map_err(|_| Failure::usage(format!("--alarm {length}: too long")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use clap::{Args, FromArgMatches};

    use super::*;

    /// A Saturday.
    fn here() -> LocalNow {
        LocalNow {
            zone: TimeZone::named("Europe/Berlin").unwrap(),
            now: DateTime::new(2026, 11, 21, 14, 5, 30).unwrap(),
        }
    }

    fn describe(args: &[&str]) -> String {
        let command = TimeArgs::augment_args(clap::Command::new("add").no_binary_name(true));
        let matches = command.try_get_matches_from(args).unwrap();
        let args = TimeArgs::from_arg_matches(&matches).unwrap();
        let here = here();
        let describe = |args: &TimeArgs| -> Result<String> {
            let found = args.parse_start(here.now.date(), &here)?.unwrap();
            let start = found.start;
            let mut text = start.value().to_string();
            match args.parse_end(&start, &here)?.or(found.end) {
                Some(EventEnd::At(end)) => text.push_str(&format!(" to {}", end.value())),
                Some(EventEnd::After(length)) => text.push_str(&format!(" for {length}")),
                None => {}
            }
            if let Some(AlignedRule { rule, first }) = args.parse_rule(&start, &here)? {
                text.push_str(&format!(" {rule}"));
                if first != start {
                    text.push_str(&format!(" from {}", first.value()));
                }
            }
            Ok(text)
        };
        describe(&args).unwrap_or_else(|e| e.to_string())
    }

    #[test]
    fn options_are_combined() {
        for (args, expected) in [
            (&["--start", "monday 9:00"][..], "20261123T090000"),
            (
                &["--start", "9:00", "--end", "10:30"],
                "20261121T090000 to 20261121T103000",
            ),
            (
                &["--start", "mon 9:00", "--end", "10:30"],
                "20261123T090000 to 20261123T103000",
            ),
            (
                &["--start", "mon 22:00", "--end", "6:00"],
                "20261123T220000 to 20261124T060000",
            ),
            (
                &["--start", "mon 22:00", "--end", "+90m"],
                "20261123T220000 to 20261123T233000",
            ),
            (
                &["--start", "mon 22:00", "--duration", "1d2h"],
                "20261123T220000 for P1DT2H",
            ),
            (&["--start", "2026-12-24"], "20261224"),
            (
                &["--start", "2026-12-24", "--end", "2026-12-26"],
                "20261224 to 20261227",
            ),
            (
                &["--start", "2026-12-24", "--duration", "3d"],
                "20261224 for P3D",
            ),
            (&["--start", "mon 9:00", "--all-day"], "20261123"),
            (&["--start", "2026-12-24T12:00Z"], "20261224T130000"),
            (
                &["--start", "mon 9:00", "--repeat", "weekly until 2027-06-30"],
                "20261123T090000 FREQ=WEEKLY;UNTIL=20270630T215959Z",
            ),
            (
                &["--start", "mon", "--repeat", "weekly until 2027-06-30"],
                "20261123 FREQ=WEEKLY;UNTIL=20270630",
            ),
            (
                &["--start", "fri 14:00-15:00"],
                "20261127T140000 to 20261127T150000",
            ),
            (
                &["--start", "fri 14:00-15:00", "--duration", "2h"],
                "--start fri 14:00-15:00: this range has an end; leave out --end and --duration",
            ),
            (
                &["--start", "tue 9:00", "--repeat", "every monday"],
                "20261124T090000 FREQ=WEEKLY;BYDAY=MO from 20261130T090000",
            ),
            (
                &["--start", "tue", "--repeat", "monthly on the last day"],
                "20261124 FREQ=MONTHLY;BYMONTHDAY=-1 from 20261130",
            ),
            (
                &["--start", "tue", "--repeat", "daily until yesterday"],
                "--repeat: the rule ends before the start, Tue 24 Nov 2026",
            ),
            (
                &["--start", "tue 9:00", "--repeat", "every monday until fri"],
                "--repeat: the rule has no occurrence from Tue 24 Nov 2026, 09:00 on; change --start \
                 or the end of the rule",
            ),
            (
                &[
                    "--start",
                    "tue 9:00",
                    "--repeat",
                    "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
                ],
                "--repeat: the rule has no occurrence from Tue 24 Nov 2026, 09:00 on; change --start \
                 or the end of the rule",
            ),
            (
                &["--start", "mon 9:00", "--end", "sun 9:00"],
                "--end sun 9:00: this is not after the start",
            ),
            (
                &["--start", "mon 9:00", "--end", "tue"],
                "--end tue: add a time, as --start has one, or use --all-day",
            ),
            (
                &["--start", "mon", "--duration", "1h"],
                "--duration: an all-day event lasts whole days; write 2d, or give --start a time",
            ),
        ] {
            assert_eq!(describe(args), expected, "{args:?}");
        }
    }
}
