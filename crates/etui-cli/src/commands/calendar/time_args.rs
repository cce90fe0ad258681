//! The time options of calendar entries and their combined meaning.

use etui::calendar::recurrence::RecurrenceRule;
use etui::calendar::time::{CalendarTime, Date, DateTimeValue, Duration, TimeZone};

use crate::datetime::{LocalNow, parse_duration, parse_end_of, parse_recurrence, parse_when_on};
use crate::errors::{Failure, Result};

/// Default duration of an event.
const DEFAULT_SECONDS: i64 = 3_600;

// Flattened into the arguments of `add` and `edit`.
#[derive(Debug, clap::Args)]
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

    /// Parses `--start`; a time alone is on `day`.
    pub fn parse_start(&self, day: Date, here: &LocalNow) -> Result<Option<CalendarTime>> {
        self.parse_time("--start", &self.start, day, here)
    }

    /// Parses `--due`; a time alone is on `day`.
    pub fn parse_due(&self, day: Date, here: &LocalNow) -> Result<Option<CalendarTime>> {
        self.parse_time("--due", &self.due, day, here)
    }

    fn parse_time(
        &self,
        option: &str,
        text: &Option<String>,
        day: Date,
        here: &LocalNow,
    ) -> Result<Option<CalendarTime>> {
        let Some(text) = text else { return Ok(None) };
        let value = parse_option(option, text, parse_when_on(text, day, here.now))?;
        Ok(Some(match self.all_day {
            true => CalendarTime::Date(value.local().date()),
            false => to_zone(value, &here.zone),
        }))
    }

    /// Parses `--end` or `--duration` of an event with this start.
    pub fn parse_end(&self, start: &CalendarTime, here: &LocalNow) -> Result<Option<EventEnd>> {
        if let Some(length) = self.duration {
            if start.is_date() && length.seconds() != 0 {
                return Err(Failure::usage(
                    "--duration: an all-day event lasts whole days; write 2d, or give --start a time",
                ));
            }
            return Ok(Some(EventEnd::After(length)));
        }
        let Some(text) = &self.end else {
            return Ok(None);
        };
        let value = parse_option("--end", text, parse_end_of(text, start.local(), here.now))?;
        let end = match (start, value) {
            // People name the last day; DTEND is exclusive.
            (CalendarTime::Date(_), value) => CalendarTime::Date(value.local().date().plus_days(1)),
            (_, DateTimeValue::Date(_)) => {
                return Err(Failure::usage(format!(
                    "--end {text}: add a time, as --start has one, or use --all-day"
                )));
            }
            (CalendarTime::Zoned(_, zone), value) => to_zone(value, zone),
            (_, value) => to_zone(value, &here.zone),
        };
        if end.at(&here.zone) <= start.at(&here.zone) {
            return Err(Failure::usage(format!(
                "--end {text}: this is not after the start"
            )));
        }
        Ok(Some(EventEnd::At(end)))
    }

    pub fn default_duration(start: &CalendarTime) -> Duration {
        match start {
            CalendarTime::Date(_) => Duration::from_days(1),
            _ => Duration::from_seconds(DEFAULT_SECONDS),
        }
    }

    /// Parses `--repeat` of an entry with this start.
    pub fn parse_rule(
        &self,
        start: &CalendarTime,
        here: &LocalNow,
    ) -> Result<Option<RecurrenceRule>> {
        let Some(text) = &self.repeat else {
            return Ok(None);
        };
        let mut rule = parse_recurrence(text, here.now)
            .map_err(|e| Failure::usage(format!("--repeat: {e}")))?;
        rule.until = rule.until.map(|until| normalize_until(until, start));
        Ok(Some(rule))
    }
}

/// Adds the option to a parse error.
fn parse_option(
    option: &str,
    text: &str,
    value: std::result::Result<DateTimeValue, String>,
) -> Result<DateTimeValue> {
    value.map_err(|e| Failure::usage(format!("{option} {text}: {e}")))
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
    use etui::calendar::time::DateTime;

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
            let start = args.parse_start(here.now.date(), &here)?.unwrap();
            let mut text = start.value().to_string();
            match args.parse_end(&start, &here)? {
                Some(EventEnd::At(end)) => text.push_str(&format!(" to {}", end.value())),
                Some(EventEnd::After(length)) => text.push_str(&format!(" for {length}")),
                None => {}
            }
            if let Some(rule) = args.parse_rule(&start, &here)? {
                text.push_str(&format!(" {rule}"));
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
