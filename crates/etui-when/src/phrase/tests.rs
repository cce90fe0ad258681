//! Tests of phrases.

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
        "add" => {
            parse_phrase(text, today, now())
                .map_err(|e| e.problem)
                .map(|phrase| match phrase {
                    None => "none".to_owned(),
                    Some(phrase) => {
                        let rule = phrase.rule.map(|rule| format!("; {rule}"));
                        let place = phrase.place.map(|place| format!("; at {place}"));
                        let [rule, place] = [rule, place].map(Option::unwrap_or_default);
                        format!("{}; {}{rule}{place}", phrase.title, describe(&phrase.times))
                    }
                })
        }
        other => Err(format!("{other} is no kind")),
    }
}

/// `phrases.txt` has a phrase on each line: `kind | phrase | expected`; for an error, the word that it
/// names.
#[test]
fn phrases_are_understood() {
    let lines = include_str!("../phrases.txt").lines();
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
