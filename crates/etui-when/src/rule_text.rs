//! Describes a recurrence rule in words. `parse_rule` parses the description of every rule it can build.

use etui_ical::recurrence::{Frequency, NthWeekday, RecurrenceRule, Skip};
use etui_ical::time::{DateTime, DateTimeValue, TimeZone, Weekday};

use super::format::{format_clock, iso_day};
use super::names::{month_name, weekday_name};

/// The units of frequencies.
pub(super) const FREQUENCIES: [(&str, Frequency); 7] = [
    ("second", Frequency::Secondly),
    ("minute", Frequency::Minutely),
    ("hour", Frequency::Hourly),
    ("day", Frequency::Daily),
    ("week", Frequency::Weekly),
    ("month", Frequency::Monthly),
    ("year", Frequency::Yearly),
];

/// Formats `every 2 weeks on Mon, Thu until 2027-01-01`; UNTIL is converted to `zone`.
pub fn describe_rule(rule: &RecurrenceRule, zone: &TimeZone) -> String {
    let known = FREQUENCIES.iter().find(|(_, f)| *f == rule.frequency);
    let unit = known.map_or("?", |(unit, _)| unit);
    let mut text = match rule.interval {
        0 | 1 => format!("every {unit}"),
        n => format!("every {n} {unit}s"),
    };
    let numbers = |all: &[u8]| all.iter().map(u8::to_string).collect::<Vec<_>>();
    let months = rule.by_month.iter().map(|m| month_name((*m).into()));
    let year_days = rule.by_year_day.iter().map(|d| ordinal((*d).into()));
    let month_days = rule.by_month_day.iter().map(|d| match *d {
        d if d < 0 => format!("{} day", ordinal(d.into())),
        d => ordinal(d.into()),
    });
    let has_nth = rule.by_day.iter().any(|d| d.nth != 0);
    let on_weekdays = match (rule.by_month_day.is_empty(), has_nth) {
        (true, true) => " on the ",
        (true, false) => " on ",
        (false, _) => " if it is ",
    };
    let positions = rule.by_position.iter().map(|p| ordinal((*p).into()));
    let weeks_matter = rule.interval > 1 && rule.frequency == Frequency::Weekly;
    let weeks_matter = weeks_matter || !rule.by_week.is_empty();
    let week_start = (rule.week_start != Weekday::Monday && weeks_matter)
        .then(|| weekday_abbreviation(rule.week_start).to_owned());
    for (before, values) in [
        (" in ", months.map(str::to_owned).collect()),
        (" in week ", rule.by_week.iter().map(week_ordinal).collect()),
        (
            " on day ",
            year_days.map(|d| format!("{d} of the year")).collect(),
        ),
        (" on the ", month_days.collect()),
        (
            on_weekdays,
            rule.by_day.iter().map(|d| format_weekday(*d)).collect(),
        ),
        (" in hour ", numbers(&rule.by_hour)),
        (" in minute ", numbers(&rule.by_minute)),
        (" in second ", numbers(&rule.by_second)),
        (", of these the ", positions.collect()),
        (", weeks starting on ", Vec::from_iter(week_start)),
        (
            " until ",
            rule.until
                .iter()
                .map(|until| format_until(*until, zone))
                .collect(),
        ),
    ] {
        if !values.is_empty() {
            text.push_str(before);
            text.push_str(&values.join(", "));
        }
    }
    match rule.skip {
        Skip::Omit => {}
        Skip::Backward => text.push_str(" (a missing day: the one before)"),
        Skip::Forward => text.push_str(" (a missing day: the one after)"),
    }
    match rule.count {
        Some(1) => text.push_str(" 1 time"),
        Some(n) => text.push_str(&format!(" {n} times")),
        None => {}
    }
    text
}

/// Formats the day of UNTIL, with its time unless that is the end of the day.
fn format_until(until: DateTimeValue, zone: &TimeZone) -> String {
    let local = match until {
        DateTimeValue::Date(date) => return iso_day(date),
        DateTimeValue::Local(time) => time,
        DateTimeValue::Utc(time) => zone.to_local(TimeZone::UTC.to_utc(time)),
    };
    let day = iso_day(local.date());
    // A series that was cut ends a second before its next time.
    match is_end_of_day(local) || matches!(local.hms(), (_, 59, 59)) {
        true => day,
        false => format!("{day} {}", format_clock(local)),
    }
}

/// Returns true in the last minute of a day.
pub fn is_end_of_day(time: DateTime) -> bool {
    matches!(time.hms(), (23, 59, _))
}

fn format_weekday(day: NthWeekday) -> String {
    match day.nth {
        0 => weekday_abbreviation(day.weekday).to_owned(),
        n => format!("{} {}", ordinal(n.into()), weekday_name(day.weekday)),
    }
}

fn weekday_abbreviation(weekday: Weekday) -> &'static str {
    &weekday_name(weekday)[..3]
}

fn week_ordinal(n: &i8) -> String {
    match *n {
        n if n < 0 => format!("{} of the year", ordinal(n.into())),
        n => n.to_string(),
    }
}

/// Formats `1st`, `22nd`, `last`, `2nd last`.
fn ordinal(n: i64) -> String {
    let from_end = match n {
        -1 => return "last".to_owned(),
        n if n < 0 => " last",
        _ => "",
    };
    let n = n.unsigned_abs();
    let suffix = match (n % 100, n % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{n}{suffix}{from_end}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[track_caller]
    fn assert_words(rule: &str, words: &str) {
        let berlin = TimeZone::named("Europe/Berlin").unwrap();
        assert_eq!(
            describe_rule(&rule.parse().unwrap(), &berlin),
            words,
            "{rule}"
        );
    }

    #[test]
    fn rules_are_described() {
        assert_words("FREQ=DAILY", "every day");
        assert_words("FREQ=DAILY;COUNT=1", "every day 1 time");
        assert_words(
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH;UNTIL=20270101",
            "every 2 weeks on Mon, Thu until 2027-01-01",
        );
        assert_words(
            "FREQ=WEEKLY;UNTIL=20270101T225959Z",
            "every week until 2027-01-01",
        );
        assert_words(
            "FREQ=WEEKLY;UNTIL=20270101T080000Z",
            "every week until 2027-01-01 09:00",
        );
        assert_words("FREQ=MONTHLY;BYDAY=2TU", "every month on the 2nd Tuesday");
        assert_words(
            "FREQ=MONTHLY;BYDAY=-1FR,-2FR",
            "every month on the last Friday, 2nd last Friday",
        );
        assert_words(
            "FREQ=MONTHLY;BYMONTHDAY=1,22,-1;COUNT=12",
            "every month on the 1st, 22nd, last day 12 times",
        );
        assert_words(
            "FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR",
            "every month on the 13th if it is Fri",
        );
        assert_words(
            "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
            "every month on Mon, Tue, Wed, Thu, Fri, of these the last",
        );
        assert_words(
            "FREQ=YEARLY;BYMONTH=11;BYDAY=4TH",
            "every year in November on the 4th Thursday",
        );
        assert_words(
            "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO",
            "every year in week 20 on Mon",
        );
        assert_words(
            "FREQ=YEARLY;INTERVAL=3;BYYEARDAY=1,100,-2",
            "every 3 years on day 1st of the year, 100th of the year, 2nd last of the year",
        );
        assert_words(
            "FREQ=WEEKLY;INTERVAL=2;WKST=SU",
            "every 2 weeks, weeks starting on Sun",
        );
        assert_words(
            "FREQ=DAILY;BYHOUR=9,10;BYMINUTE=0,30",
            "every day in hour 9, 10 in minute 0, 30",
        );
    }
}
