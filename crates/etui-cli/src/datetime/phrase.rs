//! A title and a time in one phrase: `Lunch with Bob tomorrow 12:30`, `Gym every monday 18:00-19:30`.

use etui::calendar::recurrence::RecurrenceRule;
use etui::calendar::time::{Date, DateTime, DateTimeValue};

use super::names::{fold_word, is_full_name};
use super::parse::{TimeWords, parse_words};
use super::parse_rule::{parse_rule_words, spread_words};
use super::words::WordList;

/// Words of a phrase that can be a time; it bounds the cost.
const MAX_TIME_WORDS: usize = 14;

/// A phrase, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase {
    pub title: String,
    pub times: TimeWords,
    /// Whether a day was named, not only a time of day or a rule.
    pub has_day: bool,
    pub rule: Option<RecurrenceRule>,
}

/// Takes the time from the end or the beginning of a text; `None` if there is none, or if it may be a
/// part of the title: a time has a figure or a whole name, so that "Sun" and "May" are none. A time alone is on
/// `day`.
pub fn parse_phrase(text: &str, day: Date, now: DateTime) -> Option<Phrase> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let most = MAX_TIME_WORDS.min(words.len().checked_sub(1)?);
    // The longest time first.
    for count in (1..=most).rev() {
        let (title, time) = words.split_at(words.len() - count);
        let leading = || {
            let (time, title) = words.split_at(count);
            phrase_of(title, time, day, now)
        };
        if let Some(phrase) = phrase_of(title, time, day, now).or_else(leading) {
            return Some(phrase);
        }
    }
    None
}

fn phrase_of(title: &[&str], time: &[&str], day: Date, now: DateTime) -> Option<Phrase> {
    if !time.iter().any(|word| is_distinct(word)) {
        return None;
    }
    let title = title.join(" ");
    let title = title.trim_end_matches([',', ':', ';', '-', '–']).trim();
    if title.is_empty() {
        return None;
    }
    let words = WordList::split(&spread_words(&time.join(" ")));
    let (times, has_day, rule) = match parse_words(&without_and(&words), day, now) {
        Ok(times) => (times, true, None),
        Err(_) => split_rule(&words, day, now)?,
    };
    Some(Phrase {
        title: title.to_owned(),
        times,
        has_day,
        rule,
    })
}

/// Words that are a rule by themselves.
const FREQUENCIES: &[&str] = &[
    "daily",
    "weekly",
    "biweekly",
    "fortnightly",
    "monthly",
    "quarterly",
    "yearly",
    "annually",
    "weekdays",
    "weekends",
];

/// Takes a rule and a time apart; the time can be within the rule: `every monday 9:00 until june 1`.
fn split_rule(
    words: &WordList,
    day: Date,
    now: DateTime,
) -> Option<(TimeWords, bool, Option<RecurrenceRule>)> {
    const RULE_BEGINS: &[&str] = &["every", "each", "once", "hourly"];
    let count = words.left();
    let has_rule = words
        .next_words(count)
        .iter()
        .any(|word| RULE_BEGINS.contains(word) || FREQUENCIES.contains(word));
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
                _ => match parse_words(&time, day, now) {
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

fn without_and(words: &WordList) -> WordList {
    words.filter(|word| word != "and")
}

/// Returns true if a word of a time cannot be a word of a title, such as an abbreviated name.
fn is_distinct(word: &str) -> bool {
    const WORDS: &[&str] = &[
        "today",
        "tonight",
        "tomorrow",
        "yesterday",
        "noon",
        "midnight",
        "week",
        "weekend",
        "day",
        "month",
        "weekday",
        "hour",
        "hours",
        "heute",
        "morgen",
        "demain",
        "manana",
        "hoje",
        "amanha",
        "hoy",
    ];
    let folded = fold_word(word.trim_end_matches(','));
    let singular = folded.strip_suffix('s').unwrap_or(&folded);
    folded.contains(|c: char| c.is_ascii_digit())
        || WORDS.contains(&folded.as_str())
        || FREQUENCIES.contains(&folded.as_str())
        || is_full_name(&folded)
        || is_full_name(singular)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::super::{parse_recurrence, parse_times_on};
    use super::*;

    /// A Saturday.
    fn now() -> DateTime {
        DateTime::new(2026, 11, 21, 14, 5, 30).unwrap()
    }

    fn describe(times: &TimeWords) -> String {
        use super::super::EndWords;
        match &times.end {
            None => times.start.to_string(),
            Some(EndWords::At(end)) => format!("{} to {end}", times.start),
            Some(EndWords::After(length)) => format!("{} for {length}", times.start),
        }
    }

    fn evaluate(kind: &str, text: &str) -> Result<String, String> {
        let today = now().date();
        match kind {
            "start" => parse_times_on(text, today, now()).map(|times| describe(&times)),
            "repeat" => parse_recurrence(text, today, now()).map(|rule| rule.to_string()),
            "add" => Ok(match parse_phrase(text, today, now()) {
                None => "none".to_owned(),
                Some(phrase) => {
                    let rule = phrase.rule.map(|rule| format!("; {rule}"));
                    let times = describe(&phrase.times);
                    format!("{}; {times}{}", phrase.title, rule.unwrap_or_default())
                }
            }),
            other => Err(format!("{other} is no kind")),
        }
    }

    /// `phrases.txt` has a phrase on each line: `kind | phrase | expected`; for an error, the word that it
    /// names.
    #[test]
    fn phrases_are_understood() {
        let lines = include_str!("phrases.txt").lines();
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut wrong = String::new();
        let mut count = 0;
        for line in lines {
            let parts: Vec<&str> = line.split('|').map(str::trim).collect();
            let [kind, text, expected] = parts[..] else {
                panic!("{line}");
            };
            count += 1;
            let found = match kind.strip_prefix("not ") {
                None => evaluate(kind, text).unwrap_or_else(|e| e),
                Some(kind) => match evaluate(kind, text) {
                    Ok(found) => found,
                    Err(e) if e.contains(&format!("\"{expected}\"")) => expected.to_owned(),
                    Err(e) => e,
                },
            };
            if found != expected {
                wrong.push_str(&format!("{line}\n    {found}\n"));
            }
        }
        assert!(wrong.is_empty(), "\n{wrong}");
        assert!(count >= 150, "{count} phrases");
    }

    proptest! {
        #[test]
        fn any_phrase_is_parsed(text in "\\PC{0,40}") {
            let _ = parse_phrase(&text, now().date(), now());
        }

        #[test]
        fn similar_phrases_are_parsed(
            text in "((Lunch|every|second|last|friday|mar|dec|25|25th|24-26|at|9|9:00|-|to|for|10|weeks|until|next|in|of|the|month|am|half|past|pm|\\+3d|2026-12-24|from) ?){0,12}"
        ) {
            let _ = parse_phrase(&text, now().date(), now());
            let _ = parse_times_on(&text, now().date(), now());
            let _ = parse_recurrence(&text, now().date(), now());
        }
    }
}
