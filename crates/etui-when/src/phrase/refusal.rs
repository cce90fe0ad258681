//! Words of a title that look like a part of its time, and the errors that name them.

use std::ops::Range;

use super::super::clock::{parse_clock, parse_digits};
use super::super::dates::parse_day_number;
use super::super::language::{is_day_of_another_language, is_telling_form, meanings};
use super::super::leftover::{RULE_NAMES, find_leftover};
use super::super::names::{fold_word, is_weekday_name, nearest_weekday, parse_number_word};
use super::super::parse::parse_words;
use super::super::parse_rule::{parse_rule_words, spread_words};
use super::super::words::WordList;
use super::super::zone_words::is_unknown_zone;
use super::rule_and_time::{begins_rule, without_and};
use super::{FoundTime, MAX_TIME_WORDS, PhraseError, PhraseReader};

impl PhraseReader<'_> {
    /// Returns the position of a word of the title that looks like a part of a time.
    pub fn leftover(&self, title: &[usize], has_rule: bool) -> Option<usize> {
        let pieces = title.iter().filter_map(|at| self.pieces.get(*at));
        let words = pieces.map(|piece| match piece.is_quoted {
            true => "",
            false => piece.text,
        });
        let words: Vec<&str> = words.collect();
        let found = || find_leftover(&words, has_rule, self.language);
        let beside = || {
            title
                .iter()
                .position(|at| self.is_leftover_beside_time(*at, title))
        };
        let zone = self.unknown_zone(title);
        zone.or_else(|| title.get(found().or_else(beside)?).copied())
    }

    /// Returns true for a word that is a part of the time by its place before it: hours (`2-3 tomorrow`), the short
    /// name of a day (`Mi 14:00`), or "until" with one word between.
    fn is_leftover_beside_time(&self, at: usize, title: &[usize]) -> bool {
        let Some(piece) = self.pieces.get(at).filter(|piece| !piece.is_quoted) else {
            return false;
        };
        let is_time = |at: usize| at < self.pieces.len() && title.binary_search(&at).is_err();
        let is_until = ["until", "till", "thru"].contains(&self.english_of(at));
        if is_until && is_telling_form(piece.text, "at") && (is_time(at + 1) || is_time(at + 2)) {
            return true;
        }
        // Of "for 2 weeks" the number was taken as an hour.
        let is_unit = matches!(
            self.english_of(at).trim_end_matches('s'),
            "day" | "week" | "month" | "year" | "hour" | "minute"
        );
        let before = at
            .checked_sub(1)
            .filter(|at| is_time(*at))
            .map(|at| self.english_of(at));
        if is_unit && before.is_some_and(|word| parse_number_word(word).is_some()) {
            return true;
        }
        // 12月8日
        if self.language.is("ja") && self.time_of(at..at + 1, 0..0).is_some() {
            return true;
        }
        if !is_time(at + 1) {
            return false;
        }
        // "de 9", of which only the end was read.
        let before = at.checked_sub(1).map_or("", |at| self.english_of(at));
        if matches!(before, "of" | "from" | "at")
            && parse_digits::<u32>(piece.text, 1..=2).is_some()
        {
            return true;
        }
        let text = fold_word(piece.text);
        let is_hour = |text: &str| parse_digits::<u32>(text, 1..=2).is_some_and(|hour| hour <= 24);
        let is_ordinal =
            parse_day_number(&text).is_some() && parse_digits::<u32>(&text, 1..=2).is_none();
        let are_hours = |(first, last)| is_hour(first) && is_hour(last);
        if text.split_once('-').is_some_and(are_hours) || parse_clock(&text).is_some() || is_ordinal
        {
            return true;
        }
        /// Short names of days that are words or first names.
        const OTHER_WORDS: &[&str] =
            &["per", "son", "sex", "man", "mar", "sal", "sam", "ter", "ma"];
        let next = self.pieces.get(at + 1).map_or("", |piece| piece.text);
        let folded = fold_word(piece.text);
        let is_capital = piece.text.starts_with(char::is_uppercase);
        let is_short = folded.len() == 2 || (folded.len() == 3 && !is_capital);
        let is_weekday = meanings(&folded).any(is_weekday_name);
        if is_weekday && folded.len() >= 4 {
            return true;
        }
        is_short
            && is_weekday
            && !OTHER_WORDS.contains(&folded.as_str())
            && next.starts_with(|c: char| c.is_ascii_digit())
    }

    /// Returns the position of a word after a clock time that is a zone, but which one is not known.
    fn unknown_zone(&self, title: &[usize]) -> Option<usize> {
        let is_clock = |at: usize| {
            let before = at.checked_sub(1).and_then(|at| self.pieces.get(at));
            before.is_some_and(|piece| {
                piece.text.starts_with(|c: char| c.is_ascii_digit())
                    || matches!(piece.text, "am" | "pm")
            })
        };
        let is_zone = |at: usize| {
            self.pieces
                .get(at)
                .is_some_and(|piece| is_unknown_zone(piece.text))
        };
        title
            .iter()
            .copied()
            .find(|at| is_zone(*at) && is_clock(*at))
    }

    /// Returns the position of a word beside a time that looks like a part of it.
    pub fn leftover_of(&self, found: &FoundTime) -> Option<usize> {
        self.leftover(&found.title, found.phrase.rule.is_some())
    }

    /// Returns the error for the last word, of the ways to understand a text, that is not understood.
    fn deepest_error(&self, text: &str) -> String {
        let words = WordList::split_in(&spread_words(text), self.language);
        let mut errors: Vec<String> =
            Vec::from_iter(parse_words(&without_and(&words), self.context).err());
        let all = words.next_words(words.left());
        let is_rule = (0..all.len()).any(|at| begins_rule(all.get(at..).unwrap_or_default()));
        let count = all.len().min(MAX_TIME_WORDS);
        for length in 0..count.min(if is_rule { 4 } else { 0 }) {
            for first in 0..=count - length {
                let (rule, time) = words.without(first, length);
                if length == 0 || parse_words(&time, self.context).is_ok() {
                    let rule = parse_rule_words(&rule, self.context.day, self.context.now);
                    errors.extend(rule.err());
                }
            }
        }
        let deepest = errors
            .into_iter()
            .max_by_key(|error| position_in(text, error));
        deepest.unwrap_or_default()
    }

    /// Describes the word at a position, which was left in the title beside the time.
    pub fn refusal(&self, position: usize, time: Option<Range<usize>>) -> PhraseError {
        let word = self.text_of(position..position + 1);
        let word = word.trim_matches([',', ':', ';', '(', ')', '!', '?']);
        let end = match &time {
            Some(time) if time.end > position => time.end,
            _ => self.pieces.len(),
        };
        let text = self.text_of(position..end.min(position + MAX_TIME_WORDS));
        let error = self.deepest_error(&text);
        let named = error.split('"').nth(1).unwrap_or_default();
        let time = time.map(|time| self.text_of(time));
        if error.contains("write one of them") {
            return PhraseError {
                problem: error,
                may_be_title: false,
            };
        }
        let folded = fold_word(word);
        // Of a rule another word may be wrong; beside a time, this one is.
        let words = WordList::split_in(&spread_words(&text), self.language);
        let is_rule = begins_rule(&words.next_words(words.left()));
        let problem = match (nearest_weekday(&folded), time) {
            (Some(name), _) => format!("\"{word}\" is not a day; did you mean {name}?"),
            _ if is_day_of_another_language(&folded) => format!(
                "\"{word}\" looks like a day in a language that is not read; write the day in English, or as 2026-12-24"
            ),
            _ if is_unknown_zone(word) => format!(
                "\"{word}\" is a time zone of several places; give --zone with a name such as Europe/Berlin"
            ),
            (None, Some(time)) if RULE_NAMES.contains(&&*folded) => {
                format!("\"{word}\" may mean that it repeats; then write \"{time} {folded}\"")
            }
            (_, time)
                if (is_rule || time.is_none())
                    && !named.is_empty()
                    && named != word
                    && text.contains(named) =>
            {
                format!("\"{named}\" in \"{text}\" is not understood")
            }
            (None, Some(time)) => {
                format!("\"{word}\" looks like a part of the time, but does not go with \"{time}\"")
            }
            (None, None) => format!("\"{word}\" is not understood as a time"),
        };
        PhraseError {
            problem,
            may_be_title: true,
        }
    }
}

/// Returns the position of the word that an error names.
fn position_in(text: &str, error: &str) -> Option<usize> {
    let named = error.split('"').nth(1)?;
    text.rfind(named)
}
