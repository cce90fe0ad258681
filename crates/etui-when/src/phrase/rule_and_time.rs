//! Takes the rule and the time of a phrase apart.

use etui_ical::recurrence::RecurrenceRule;
use etui_ical::time::{Date, DateTime, DateTimeValue};

use super::super::leftover::RULE_NAMES;
use super::super::names::{is_full_name, parse_day_of_week, parse_weekday};
use super::super::parse::{TimeWords, parse_words};
use super::super::parse_rule::parse_rule_words;
use super::super::words::WordList;

/// Start and end, whether a day was named, and a rule.
pub type FoundRule = (TimeWords, bool, Option<RecurrenceRule>);

/// Takes a rule and a time apart; the time can be within the rule: `every monday 9:00 until june 1`.
pub fn split_rule(words: &WordList, day: Date, now: DateTime) -> Option<FoundRule> {
    let count = words.left();
    let all = words.next_words(count);
    let has_rule = (0..count).any(|at| begins_rule(all.get(at..).unwrap_or_default()));
    if !has_rule {
        return None;
    }
    for length in 0..count {
        // A time follows the days of its rule: every friday evening.
        for first in (0..=count - length).rev() {
            let (rule, time) = words.without(first, length);
            let times = match length {
                0 => TimeWords {
                    start: DateTimeValue::Date(day),
                    end: None,
                },
                _ => match parse_words(&time, day, now).or_else(|_| parse_hours(&time, day, now)) {
                    Ok(times) => times,
                    Err(_) => continue,
                },
            };
            let start = times.start.local().date();
            if let Ok(rule) = parse_rule_words(&rule, start, now) {
                let has_day = length > 0 && start != day;
                return Some((times, has_day, Some(rule)));
            }
        }
    }
    None
}

/// Parses the hours of `mon-fri 9-17`, which are none without a rule.
fn parse_hours(words: &WordList, day: Date, now: DateTime) -> Result<TimeWords, String> {
    let text = words.next_words(words.left()).join(" ");
    parse_words(&WordList::split(&format!("from {text}")), day, now)
}

/// Returns true if a rule begins with the first word: `every`, `weekly`, `tuesdays`, `mon-fri`,
/// `last friday of the month`.
pub fn begins_rule(words: &[&str]) -> bool {
    const BEGINS: &[&str] = &["every", "each", "once", "hourly"];
    const ORDINALS: &[&str] = &[
        "first", "second", "third", "fourth", "last", "2nd", "3rd", "4th", "1st",
    ];
    let Some(word) = words.first() else {
        return false;
    };
    let is_plural = word
        .strip_suffix('s')
        .is_some_and(|day| parse_weekday(day).is_some() && is_full_name(day));
    let is_week_range = || {
        let (first, last) = word.split_once('-').unwrap_or_default();
        parse_day_of_week(first).is_some() && parse_day_of_week(last).is_some()
    };
    let is_nth_of_month = || {
        let is_day =
            |word: &str| parse_weekday(word).is_some() || matches!(word, "day" | "weekday");
        let mut further = words.iter().skip(1).copied();
        ORDINALS.contains(word)
            && further.next().is_some_and(is_day)
            && further
                .next()
                .is_some_and(|word| matches!(word, "of" | "in" | "im" | "du"))
            && further
                .find(|word| !matches!(*word, "the" | "every" | "each" | "of"))
                .is_some_and(|word| word == "month")
    };
    BEGINS.contains(word)
        || RULE_NAMES.contains(word)
        || is_plural
        || is_week_range()
        || is_nth_of_month()
}

pub fn without_and(words: &WordList) -> WordList {
    words.filter(|word| word != "and")
}
