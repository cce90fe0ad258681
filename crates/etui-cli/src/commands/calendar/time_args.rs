//! The options that say when an entry is, and what they mean together.

use etui::calendar::recurrence::RecurrenceRule;
use etui::calendar::time::{CalendarTime, Date, DateTimeValue, Duration, TimeZone};

use crate::datetime::{LocalNow, ends, length, repeat, when_on};
use crate::errors::{Failure, Result};

/// Length of an event of which nothing is said.
const USUAL_SECONDS: i64 = 3_600;

/// When an entry is.
#[derive(Debug, clap::Args)]
pub struct TimeArgs {
    /// When it starts: "monday 9:00", 2026-12-24T18:30, +2h; a day alone is all day
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    pub start: Option<String>,
    /// When it ends; a time alone is on the day it starts, a day is its last one
    #[arg(
        long,
        value_name = "WHEN",
        allow_hyphen_values = true,
        conflicts_with = "duration"
    )]
    pub end: Option<String>,
    /// How long it is: 45m, 1h30m, 2d
    #[arg(long, value_name = "LENGTH", value_parser = length, allow_hyphen_values = true)]
    pub duration: Option<Duration>,
    /// Whole days, whatever times are given
    #[arg(long)]
    pub all_day: bool,
    /// When a to-do is due
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    pub due: Option<String>,
    /// How it recurs: daily, "weekly on mon,thu", "monthly on the last fri until 2027-06-30", or a
    /// rule (FREQ=WEEKLY;BYDAY=MO)
    #[arg(long, value_name = "HOW")]
    pub repeat: Option<String>,
}

/// How something ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventEnd {
    At(CalendarTime),
    After(Duration),
}

impl TimeArgs {
    /// Whether nothing of it was said.
    pub fn is_empty(&self) -> bool {
        self.start.is_none()
            && self.end.is_none()
            && self.duration.is_none()
            && self.due.is_none()
            && self.repeat.is_none()
            && !self.all_day
    }

    /// When it starts; a clock alone is of `day`.
    pub fn starts(&self, day: Date, here: &LocalNow) -> Result<Option<CalendarTime>> {
        let Some(text) = &self.start else {
            return Ok(None);
        };
        let value = said("--start", text, when_on(text, day, here.now))?;
        Ok(Some(self.time(value, here)))
    }

    /// When it is due; a clock alone is of `day`.
    pub fn due(&self, day: Date, here: &LocalNow) -> Result<Option<CalendarTime>> {
        let Some(text) = &self.due else {
            return Ok(None);
        };
        let value = said("--due", text, when_on(text, day, here.now))?;
        Ok(Some(self.time(value, here)))
    }

    /// How what starts then ends, if that is said.
    pub fn ends(&self, start: &CalendarTime, here: &LocalNow) -> Result<Option<EventEnd>> {
        if let Some(length) = self.duration {
            if start.is_date() && length.seconds() != 0 {
                return Err(Failure::usage(
                    "--duration: whole days last whole days; write 2d, or give --start a time",
                ));
            }
            return Ok(Some(EventEnd::After(length)));
        }
        let Some(text) = &self.end else {
            return Ok(None);
        };
        let value = said("--end", text, ends(text, start.local(), here.now))?;
        let end = match (start, value) {
            // People name the last day; iCalendar the one behind it.
            (CalendarTime::Date(_), value) => CalendarTime::Date(value.local().date().plus_days(1)),
            (_, DateTimeValue::Date(_)) => {
                return Err(Failure::usage(format!(
                    "--end {text}: a time is missing, for --start has one; or say --all-day"
                )));
            }
            (CalendarTime::Zoned(_, zone), value) => zoned(value, zone),
            (_, value) => zoned(value, &here.zone),
        };
        if end.at(&here.zone) <= start.at(&here.zone) {
            return Err(Failure::usage(format!(
                "--end {text}: this is not behind the start"
            )));
        }
        Ok(Some(EventEnd::At(end)))
    }

    /// The length of an event of which none is said.
    pub fn usual_length(start: &CalendarTime) -> Duration {
        match start {
            CalendarTime::Date(_) => Duration::from_days(1),
            _ => Duration::from_seconds(USUAL_SECONDS),
        }
    }

    /// How what starts then recurs.
    pub fn rule(&self, start: &CalendarTime, here: &LocalNow) -> Result<Option<RecurrenceRule>> {
        let Some(text) = &self.repeat else {
            return Ok(None);
        };
        let mut rule =
            repeat(text, here.now).map_err(|e| Failure::usage(format!("--repeat: {e}")))?;
        rule.until = rule.until.map(|until| end_of_rule(until, start));
        Ok(Some(rule))
    }

    fn time(&self, value: DateTimeValue, here: &LocalNow) -> CalendarTime {
        match value {
            value if self.all_day => CalendarTime::Date(value.local().date()),
            DateTimeValue::Date(date) => CalendarTime::Date(date),
            value => zoned(value, &here.zone),
        }
    }
}

/// What was said for an option, or why it is not understood.
fn said(
    option: &str,
    text: &str,
    value: std::result::Result<DateTimeValue, String>,
) -> Result<DateTimeValue> {
    value.map_err(|e| Failure::usage(format!("{option} {text}: {e}")))
}

/// A time on the clock of a zone.
fn zoned(value: DateTimeValue, zone: &TimeZone) -> CalendarTime {
    match value {
        DateTimeValue::Utc(time) => {
            CalendarTime::Zoned(zone.to_local(TimeZone::UTC.to_utc(time)), zone.clone())
        }
        DateTimeValue::Local(time) => CalendarTime::Zoned(time, zone.clone()),
        DateTimeValue::Date(date) => CalendarTime::Date(date),
    }
}

/// `UNTIL` as RFC 5545 §3.3.10 wants it: a day for days, else in UTC, but for floating times; a
/// day is meant to its end.
pub fn end_of_rule(until: DateTimeValue, start: &CalendarTime) -> DateTimeValue {
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

/// So long before the start, as an alarm says it.
pub fn before_start(length: Duration) -> Result<Duration> {
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

    fn told(args: &[&str]) -> String {
        let command = TimeArgs::augment_args(clap::Command::new("add").no_binary_name(true));
        let matches = command.try_get_matches_from(args).unwrap();
        let args = TimeArgs::from_arg_matches(&matches).unwrap();
        let here = here();
        let told = |args: &TimeArgs| -> Result<String> {
            let start = args.starts(here.now.date(), &here)?.unwrap();
            let mut text = start.value().to_string();
            match args.ends(&start, &here)? {
                Some(EventEnd::At(end)) => text.push_str(&format!(" to {}", end.value())),
                Some(EventEnd::After(length)) => text.push_str(&format!(" for {length}")),
                None => {}
            }
            if let Some(rule) = args.rule(&start, &here)? {
                text.push_str(&format!(" {rule}"));
            }
            Ok(text)
        };
        told(&args).unwrap_or_else(|e| e.to_string())
    }

    #[test]
    fn what_the_options_mean_together() {
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
                "--end sun 9:00: this is not behind the start",
            ),
            (
                &["--start", "mon 9:00", "--end", "tue"],
                "--end tue: a time is missing, for --start has one; or say --all-day",
            ),
            (
                &["--start", "mon", "--duration", "1h"],
                "--duration: whole days last whole days; write 2d, or give --start a time",
            ),
        ] {
            assert_eq!(told(args), expected, "{args:?}");
        }
    }
}
