//! A recurrence rule in words. What `repeat` understands is said in words that it understands.

use etui::calendar::recurrence::{Frequency, NthWeekday, RecurrenceRule};
use etui::calendar::time::{DateTime, DateTimeValue, TimeZone, Weekday};

use super::format::{clock, iso_day};
use super::parse::{name_of_month, name_of_weekday};

/// `every 2 weeks on Mon, Thu until 2027-01-01`; an end in UTC is told in `zone`.
pub fn spoken(rule: &RecurrenceRule, zone: &TimeZone) -> String {
    let unit = match rule.frequency {
        Frequency::Secondly => "second",
        Frequency::Minutely => "minute",
        Frequency::Hourly => "hour",
        Frequency::Daily => "day",
        Frequency::Weekly => "week",
        Frequency::Monthly => "month",
        Frequency::Yearly => "year",
    };
    let mut text = match rule.interval {
        0 | 1 => format!("every {unit}"),
        n => format!("every {n} {unit}s"),
    };
    let mut part = |before: &str, all: Vec<String>| {
        if !all.is_empty() {
            text.push_str(before);
            text.push_str(&all.join(", "));
        }
    };
    let months = rule.by_month.iter().map(|m| name_of_month((*m).into()));
    part(" in ", months.map(str::to_owned).collect());
    part(
        " in week ",
        rule.by_week.iter().map(ordinal_number).collect(),
    );
    let days = rule.by_year_day.iter().map(|d| nth((*d).into()));
    part(
        " on day ",
        days.map(|d| format!("{d} of the year")).collect(),
    );
    let days = rule.by_month_day.iter().map(|d| match *d {
        d if d < 0 => format!("{} day", nth(d.into())),
        d => nth(d.into()),
    });
    part(" on the ", days.collect());
    let if_it_is = if rule.by_month_day.is_empty() {
        " on "
    } else {
        " if it is "
    };
    let has_nth = rule.by_day.iter().any(|d| d.nth != 0);
    let days = rule.by_day.iter().map(|d| weekday(*d));
    match (has_nth, rule.by_month_day.is_empty()) {
        (true, true) => part(" on the ", days.collect()),
        _ => part(if_it_is, days.collect()),
    }
    part(
        " in hour ",
        rule.by_hour.iter().map(u8::to_string).collect(),
    );
    part(
        " in minute ",
        rule.by_minute.iter().map(u8::to_string).collect(),
    );
    part(
        " in second ",
        rule.by_second.iter().map(u8::to_string).collect(),
    );
    let positions = rule.by_position.iter().map(|p| nth((*p).into()));
    part(", of these the ", positions.collect());
    let weeks_matter = rule.interval > 1 && rule.frequency == Frequency::Weekly;
    if rule.week_start != Weekday::Monday && (weeks_matter || !rule.by_week.is_empty()) {
        part(
            ", weeks starting on ",
            vec![short(rule.week_start).to_owned()],
        );
    }
    if let Some(until) = rule.until {
        part(" until ", vec![end(until, zone)]);
    }
    match rule.count {
        Some(1) => text.push_str(" 1 time"),
        Some(n) => text.push_str(&format!(" {n} times")),
        None => {}
    }
    text
}

/// The day on which it ends, and the time, if that is not the end of the day.
fn end(until: DateTimeValue, zone: &TimeZone) -> String {
    let local = match until {
        DateTimeValue::Date(date) => return iso_day(date),
        DateTimeValue::Local(time) => time,
        DateTimeValue::Utc(time) => zone.to_local(TimeZone::UTC.to_utc(time)),
    };
    let day = iso_day(local.date());
    match is_end_of_day(local) {
        true => day,
        false => format!("{day} {}", clock(local)),
    }
}

/// Whether it is the last minute of its day.
pub fn is_end_of_day(time: DateTime) -> bool {
    matches!(time.hms(), (23, 59, _))
}

fn weekday(day: NthWeekday) -> String {
    match day.nth {
        0 => short(day.weekday).to_owned(),
        n => format!("{} {}", nth(n.into()), name_of_weekday(day.weekday)),
    }
}

fn short(weekday: Weekday) -> &'static str {
    &name_of_weekday(weekday)[..3]
}

fn ordinal_number(n: &i8) -> String {
    match *n {
        n if n < 0 => format!("{} of the year", nth(n.into())),
        n => n.to_string(),
    }
}

/// `1st`, `22nd`, `last`, `2nd last`.
fn nth(n: i64) -> String {
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
    fn is(rule: &str, words: &str) {
        let berlin = TimeZone::named("Europe/Berlin").unwrap();
        assert_eq!(spoken(&rule.parse().unwrap(), &berlin), words, "{rule}");
    }

    #[test]
    fn in_words() {
        is("FREQ=DAILY", "every day");
        is("FREQ=DAILY;COUNT=1", "every day 1 time");
        is(
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH;UNTIL=20270101",
            "every 2 weeks on Mon, Thu until 2027-01-01",
        );
        is(
            "FREQ=WEEKLY;UNTIL=20270101T225959Z",
            "every week until 2027-01-01",
        );
        is(
            "FREQ=WEEKLY;UNTIL=20270101T080000Z",
            "every week until 2027-01-01 09:00",
        );
        is("FREQ=MONTHLY;BYDAY=2TU", "every month on the 2nd Tuesday");
        is(
            "FREQ=MONTHLY;BYDAY=-1FR,-2FR",
            "every month on the last Friday, 2nd last Friday",
        );
        is(
            "FREQ=MONTHLY;BYMONTHDAY=1,22,-1;COUNT=12",
            "every month on the 1st, 22nd, last day 12 times",
        );
        is(
            "FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR",
            "every month on the 13th if it is Fri",
        );
        is(
            "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
            "every month on Mon, Tue, Wed, Thu, Fri, of these the last",
        );
        is(
            "FREQ=YEARLY;BYMONTH=11;BYDAY=4TH",
            "every year in November on the 4th Thursday",
        );
        is(
            "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO",
            "every year in week 20 on Mon",
        );
        is(
            "FREQ=YEARLY;INTERVAL=3;BYYEARDAY=1,100,-2",
            "every 3 years on day 1st of the year, 100th of the year, 2nd last of the year",
        );
        is(
            "FREQ=WEEKLY;INTERVAL=2;WKST=SU",
            "every 2 weeks, weeks starting on Sun",
        );
        is(
            "FREQ=DAILY;BYHOUR=9,10;BYMINUTE=0,30",
            "every day in hour 9, 10 in minute 0, 30",
        );
    }
}
