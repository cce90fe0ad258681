//! Recurrence rules of vCalendar 1.0, as old phones and organisers write them.
//!
//! ```text
//! rule := freq interval { modifier } [ "#" count | end ]     #0: without an end
//! freq := M | D | W | MP | MD | YM | YD
//! D1 #5                          daily, five times
//! W2 MO WE 20271224T000000Z      every second week on Monday and Wednesday, until then
//! MP1 1+ TU                      monthly on the first Tuesday; 1- is the last one
//! MD1 15 1-                      monthly on the 15th, and on the last day
//! YM1 6                          yearly in June
//! YD1 100                        yearly on the hundredth day
//! M15 #4                         every 15 minutes, four times
//! D1 0900 1730                   with times of day, which are of all its days
//! ```
//!
//! Rules within rules (`D1 M15`), and times of day with different minutes in a rule of weeks with an interval, or
//! of months or years, are not read.

use super::rule::{Frequency, NthWeekday, RecurrenceRule};
use crate::time::Weekday;

/// Occurrences of a rule that says neither a number nor an end: two (vCalendar 1.0, "Recurrence Rule
/// Grammar").
const DEFAULT_COUNT: u32 = 2;

/// Parses a rule of vCalendar 1.0; `None` for another text.
pub(super) fn parse_vcalendar_rule(text: &str) -> Option<RecurrenceRule> {
    let mut words = text.split_ascii_whitespace();
    let first = words.next()?;
    let digits = first.find(|c: char| c.is_ascii_digit())?;
    let (name, interval) = first.split_at(digits);
    let name = name.to_ascii_uppercase();
    let mut rule = RecurrenceRule::every(match name.as_str() {
        "M" => Frequency::Minutely,
        "D" => Frequency::Daily,
        "W" => Frequency::Weekly,
        "MP" | "MD" => Frequency::Monthly,
        "YM" | "YD" => Frequency::Yearly,
        _ => return None,
    });
    rule.interval = interval.parse().ok().filter(|interval| *interval > 0)?;
    let (mut has_end, mut nth, mut times) = (false, Vec::new(), Vec::new());
    let mut fresh = false;
    for word in words {
        if has_end {
            return None;
        }
        if let Some(count) = word.strip_prefix('#') {
            rule.count = Some(count.parse().ok()?).filter(|count| *count > 0);
            has_end = true;
        } else if word.len() >= 8 {
            // A date has eight digits, a time of day has four.
            rule.until = Some(word.parse().ok()?);
            has_end = true;
        } else if let Some(time) = parse_time(word) {
            (name != "M").then_some(())?;
            times.push(time);
        } else if let Some(weekday) = Weekday::from_code(word) {
            // Times of some of the weekdays only.
            times.is_empty().then_some(())?;
            if nth.is_empty() {
                (name != "MP").then_some(())?;
                rule.by_day.push(NthWeekday { nth: 0, weekday });
            }
            let each = nth.iter().map(|nth| NthWeekday { nth: *nth, weekday });
            rule.by_day.extend(each);
            fresh = true;
        } else {
            match name.as_str() {
                "MP" => {
                    // 1+ MO 3+ TU: the ordinals before a weekday are of it.
                    if std::mem::take(&mut fresh) {
                        nth.clear();
                    }
                    nth.push(parse_signed::<i8>(word, 5)?);
                }
                "MD" if word.eq_ignore_ascii_case("LD") => rule.by_month_day.push(-1),
                "MD" => rule.by_month_day.push(parse_signed(word, 31)?),
                "YM" => rule.by_month.push(parse_signed::<u8>(word, 12)?),
                "YD" => rule.by_year_day.push(parse_signed(word, 366)?),
                _ => return None,
            }
        }
    }
    if !has_end {
        rule.count = Some(DEFAULT_COUNT);
    }
    set_times(&mut rule, times)?;
    Some(rule)
}

/// Parses `0900`.
fn parse_time(word: &str) -> Option<(u8, u8)> {
    let (hour, minute) = word.split_at_checked(2).filter(|_| word.len() == 4)?;
    let number = |text: &str| {
        let is_plain = text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<u8>().ok().filter(|_| is_plain)
    };
    let (hour, minute) = (number(hour)?, number(minute)?);
    (hour < 24 && minute < 60).then_some((hour, minute))
}

/// Sets the times of day; `None` if no rule of iCalendar has them.
fn set_times(rule: &mut RecurrenceRule, mut times: Vec<(u8, u8)>) -> Option<()> {
    times.sort_unstable();
    times.dedup();
    let sorted = |mut numbers: Vec<u8>| {
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    };
    rule.by_hour = sorted(times.iter().map(|(hour, _)| *hour).collect());
    rule.by_minute = sorted(times.iter().map(|(_, minute)| *minute).collect());
    let all = rule.by_hour.iter();
    let all = all.flat_map(|hour| rule.by_minute.iter().map(|minute| (*hour, *minute)));
    let positions: Vec<i16> = (1..)
        .zip(all)
        .filter_map(|(position, time)| times.contains(&time).then_some(position))
        .collect();
    if positions.len() == rule.by_hour.len() * rule.by_minute.len() {
        return Some(());
    }
    // BYSETPOS counts the times of a day.
    match (rule.frequency, rule.interval, rule.by_day.is_empty()) {
        (Frequency::Daily, ..) => {}
        (Frequency::Weekly, 1, false) => rule.frequency = Frequency::Daily,
        _ => return None,
    }
    rule.by_position = positions;
    Some(())
}

/// Parses `15`, `1+` or `1-`, from 1 to `max`.
fn parse_signed<N: TryFrom<i32>>(word: &str, max: i32) -> Option<N> {
    let (digits, sign) = match (word.strip_suffix('+'), word.strip_suffix('-')) {
        (Some(digits), _) => (digits, 1),
        (_, Some(digits)) => (digits, -1),
        _ => (word, 1),
    };
    let is_plain = (1..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    let number: i32 = digits.parse().ok().filter(|_| is_plain)?;
    N::try_from(sign * number)
        .ok()
        .filter(|_| (1..=max).contains(&number))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn rules_of_version_1_are_read() {
        for (text, expected) in [
            ("D1 #5", "FREQ=DAILY;COUNT=5"),
            ("D2 #0", "FREQ=DAILY;INTERVAL=2"),
            ("D1", "FREQ=DAILY;COUNT=2"),
            (
                "W2 MO WE 20271224T000000Z",
                "FREQ=WEEKLY;UNTIL=20271224T000000Z;INTERVAL=2;BYDAY=MO,WE",
            ),
            ("W1 #4", "FREQ=WEEKLY;COUNT=4"),
            ("MP1 1+ TU #0", "FREQ=MONTHLY;BYDAY=1TU"),
            (
                "MP2 1+ 3+ MO 1- FR #3",
                "FREQ=MONTHLY;COUNT=3;INTERVAL=2;BYDAY=1MO,3MO,-1FR",
            ),
            ("MD1 15 #0", "FREQ=MONTHLY;BYMONTHDAY=15"),
            ("MD1 1 LD 2- #0", "FREQ=MONTHLY;BYMONTHDAY=1,-1,-2"),
            ("YM1 6 12 #10", "FREQ=YEARLY;COUNT=10;BYMONTH=6,12"),
            ("YD1 100 #0", "FREQ=YEARLY;BYYEARDAY=100"),
            ("YD1 20301231", "FREQ=YEARLY;UNTIL=20301231"),
            ("  yd1   #0 ", "FREQ=YEARLY"),
            ("M15 #4", "FREQ=MINUTELY;COUNT=4;INTERVAL=15"),
            ("D1 #10", "FREQ=DAILY;COUNT=10"),
            ("MP1 1+ SU 2- FR #0", "FREQ=MONTHLY;BYDAY=1SU,-2FR"),
            ("D1 0900 #3", "FREQ=DAILY;COUNT=3;BYMINUTE=0;BYHOUR=9"),
            (
                "D1 0900 1700 20270101T000000",
                "FREQ=DAILY;UNTIL=20270101T000000;BYMINUTE=0;BYHOUR=9,17",
            ),
            (
                "W1 MO WE 1730 0900 #0",
                "FREQ=DAILY;BYMINUTE=0,30;BYHOUR=9,17;BYDAY=MO,WE;BYSETPOS=1,4",
            ),
            (
                "MD1 LD 0815 #0",
                "FREQ=MONTHLY;BYMINUTE=15;BYHOUR=8;BYMONTHDAY=-1",
            ),
        ] {
            let rule = text.parse::<RecurrenceRule>().unwrap();
            assert_eq!(rule.to_string(), expected, "{text}");
        }
        for text in [
            "",
            "D",
            "D0 #1",
            "X1 #1",
            "D1 M15 #4",
            "M5 0900 #4",
            "D1 2400 #3",
            "W1 MO 0900 WE 1700 #3",
            "W2 MO 0900 1730 #3",
            "MP1 TU #1",
            "MP1 6+ MO #1",
            "MD1 32 #1",
            "MD1 0 #1",
            "YM1 13 #1",
            "YM1 1- #1",
            "D1 #x",
            "D1 #5 #5",
            "W1 XX #1",
            "D99999999999 #1",
            "ü1",
        ] {
            assert!(text.parse::<RecurrenceRule>().is_err(), "{text}");
        }
    }
}
