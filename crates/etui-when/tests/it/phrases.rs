//! Phrases in the languages that are read, by what a person means with them.

use std::fmt::Write;

use etui_ical::time::DateTime;
use etui_when::{EndWords, Phrase, parse_phrase};

/// Friday, 27 November 2026, 12:24.
fn now() -> DateTime {
    DateTime::new(2026, 11, 27, 12, 24, 0).unwrap_or(DateTime::MAX)
}

/// Formats `title; start to end; rule; at place`.
fn describe(phrase: &Phrase) -> String {
    let mut text = format!("{}; {}", phrase.title, phrase.times.start);
    let _ = match &phrase.times.end {
        None => Ok(()),
        Some(EndWords::At(end)) => write!(text, " to {end}"),
        Some(EndWords::After(length)) => write!(text, " for {length}"),
    };
    let rule = phrase.rule.as_ref().map(|rule| format!("; {rule}"));
    let place = phrase.place.as_ref().map(|place| format!("; at {place}"));
    text.extend(rule.into_iter().chain(place));
    text
}

fn evaluate(text: &str) -> String {
    match parse_phrase(text, now().date(), now()) {
        Ok(Some(phrase)) => describe(&phrase),
        Ok(None) => "none".to_owned(),
        Err(e) => format!("refused: {e}"),
    }
}

/// `phrases.tsv` has a phrase and its meaning on each line; `refused` for one that has no clear one.
#[test]
fn phrases_of_people_are_understood() {
    let lines = include_str!("phrases.tsv").lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let (mut wrong, mut count) = (String::new(), 0);
    for line in lines {
        let (text, expected) = line.split_once('\t').unwrap_or((line, ""));
        count += 1;
        let found = evaluate(text);
        let is_right = match expected {
            "refused" => found.starts_with("refused"),
            expected => found == expected,
        };
        if !is_right {
            let _ = write!(wrong, "{line}\n    {found}\n");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(count >= 100, "{count} phrases");
}
