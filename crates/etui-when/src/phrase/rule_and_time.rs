//! Takes the rule and the time of a phrase apart.

use etui_ical::recurrence::{CompiledRule, Frequency, RecurrenceRule};
use etui_ical::time::{DateTime, DateTimeValue};

use super::super::duration::{number_words, parse_duration, with_minutes};
use super::super::leftover::RULE_NAMES;
use super::super::names::{is_full_name, parse_day_of_week, parse_weekday};
use super::super::parse::{ParsedTimes, TimeContext, parse_words};
use super::super::parse_rule::parse_rule_words;
use super::super::when_parser::RANGE_WORDS;
use super::super::words::WordList;

/// A time and the rule beside it.
#[derive(Debug, Clone)]
pub struct FoundRule {
    pub parsed: ParsedTimes,
    pub rule: Option<RecurrenceRule>,
}

/// Takes a rule and a time apart; the time can be within the rule: `every monday 9:00 until june 1`.
pub fn split_rule(words: &WordList, context: TimeContext) -> Option<FoundRule> {
    let (day, now) = (context.day, context.now);
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
            // "until 11" ends the rule, or a range that begins before.
            if time.peek(0).is_some_and(|word| RANGE_WORDS.contains(&word)) {
                continue;
            }
            // "every thursday 19:30 from 10 december" is not every 10 december.
            let begins = |word: Option<&str>| matches!(word, Some("from" | "since" | "starting"));
            let last = |back: usize| length.checked_sub(back).and_then(|at| time.peek(at));
            let ends_early = begins(last(1)) || (last(1) == Some("the") && last(2) == Some("at"));
            if ends_early || (first > 0 && length > 0 && begins(rule.peek(first))) {
                continue;
            }
            let mut parsed = match length {
                0 => ParsedTimes::of_day(day),
                _ => match parse_words(&time, context).or_else(|_| parse_hours(&time, context)) {
                    Ok(parsed) => parsed,
                    Err(_) => continue,
                },
            };
            let start = parsed.times.start.local().date();
            if let Ok(rule) = parse_rule_words(&rule, start, now) {
                parsed.has_day &= start != day;
                let rule = Some(rule);
                return Some(FoundRule { parsed, rule });
            }
        }
    }
    None
}

/// Parses the hours of `mon-fri 9-17`, which are none without a rule.
fn parse_hours(words: &WordList, context: TimeContext) -> Result<ParsedTimes, String> {
    let text = words.next_words(words.left()).join(" ");
    parse_words(&WordList::split(&format!("from {text}")), context)
}

/// Moves a start without a day to the first one of its rule from now on. The weeks of `every other tuesday` are
/// counted from the next Tuesday.
pub fn first_of_rule(start: DateTimeValue, rule: &RecurrenceRule, now: DateTime) -> DateTimeValue {
    let is_date = matches!(start, DateTimeValue::Date(_));
    let has_passed = !is_date && start.local() < now;
    let start = plus_days(start, i64::from(has_passed));
    let every = RecurrenceRule {
        interval: if rule.frequency == Frequency::Weekly {
            1
        } else {
            rule.interval
        },
        until: None,
        count: None,
        ..rule.clone()
    };
    let compiled = CompiledRule::new(&every, start.local(), is_date);
    let first = compiled.occurrences(start.local(), DateTime::MAX).next();
    let days = first.map_or(0, |first| first.date().days() - start.local().date().days());
    plus_days(start, days.into())
}

/// Returns a value this many days later.
pub fn plus_days(value: DateTimeValue, days: i64) -> DateTimeValue {
    let later = |time: DateTime| time.plus_seconds(days * 86_400);
    match value {
        DateTimeValue::Date(date) => DateTimeValue::Date(date.plus_days(days)),
        DateTimeValue::Local(time) => DateTimeValue::Local(later(time)),
        DateTimeValue::Utc(time) => DateTimeValue::Utc(later(time)),
    }
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
                .find(|word| !matches!(*word, "the" | "every" | "each" | "of" | "in" | "from"))
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

/// Returns the words with a duration that is between others, `for 45 minutes`, at the end.
pub fn with_duration_last(words: &WordList) -> Option<WordList> {
    /// `for 1 hour 30 minutes`
    const MOST: usize = 5;
    let count = words.left();
    let all = words.next_words(count);
    let first = all.iter().position(|word| *word == "for")?;
    let is_duration = |length: &usize| {
        let text = number_words(all.get(first + 1..first + length).unwrap_or_default());
        parse_duration(&with_minutes(&text)).is_ok()
    };
    let length = (2..=MOST.min(count - first)).rev().find(is_duration)?;
    let (rest, duration) = words.without(first, length);
    (first + length < count).then(|| rest.joined(&duration))
}
