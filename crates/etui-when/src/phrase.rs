//! A title and a time in one phrase: `Lunch with Bob tomorrow 12:30`, `Gym every monday 18:00-19:30`.

mod pieces;
mod rule_and_time;

use std::fmt;
use std::ops::Range;

use etui_ical::recurrence::RecurrenceRule;
use etui_ical::time::{Date, DateTime};

use self::pieces::{Piece, split_pieces};
use self::rule_and_time::{FoundRule, begins_rule, split_rule, without_and};
use super::leftover::{RULE_NAMES, find_leftover};
use super::names::{fold_word, is_full_name, nearest_weekday, parse_day_of_week};
use super::parse::{TimeWords, parse_words};
use super::parse_rule::{parse_rule_words, spread_words};
use super::translate::english_word;
use super::words::WordList;

/// Words of a phrase that can be a time; it bounds the cost.
const MAX_TIME_WORDS: usize = 14;

/// Words of a phrase whose time is looked for in two places; it bounds the cost.
const MAX_SPREAD_WORDS: usize = 24;

/// A phrase, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase {
    /// The words that are no part of the time.
    pub title: String,
    /// The start, and the end if it was given.
    pub times: TimeWords,
    /// Whether a day was named, not only a time of day or a rule.
    pub has_day: bool,
    /// The recurrence rule.
    pub rule: Option<RecurrenceRule>,
    /// The words after `at` that follow the time.
    pub place: Option<String>,
}

/// A phrase that is not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhraseError {
    /// The word, and what is wrong with it.
    pub problem: String,
    /// Whether the word may be one of the title, which quotes say.
    pub may_be_title: bool,
}

impl PhraseError {
    /// How a word is kept in the title.
    pub const QUOTES: &'static str =
        "To keep it in the title, write the title in double quotes: \"Plan friday\" tomorrow 9:00";
}

impl fmt::Display for PhraseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)?;
        let end = if self.problem.ends_with('?') { "" } else { "." };
        match self.may_be_title {
            true => write!(f, "{end} {}", Self::QUOTES),
            false => Ok(()),
        }
    }
}

/// Takes the time from a text: from its end or beginning, from both, or from the words before `at` or
/// `with` and the like. A time alone is on `day`. A title in double quotes is taken as it is. Returns `None`
/// without a time, or if it may be a part of the title: a time has a figure or a whole name, so that "Sun" and
/// "May" are none.
///
/// # Errors
/// Names the word if one that looks like a part of a time is not understood.
pub fn parse_phrase(text: &str, day: Date, now: DateTime) -> Result<Option<Phrase>, PhraseError> {
    let pieces = split_pieces(text);
    let reader = PhraseReader {
        pieces: &pieces,
        day,
        now,
    };
    reader.read()
}

/// A time that was understood, and the positions of its words.
struct FoundTime {
    phrase: Phrase,
    /// The positions of the words of the title.
    title: Vec<usize>,
    /// The positions of the words of the time.
    time: Range<usize>,
}

struct PhraseReader<'t> {
    pieces: &'t [Piece<'t>],
    day: Date,
    now: DateTime,
}

impl PhraseReader<'_> {
    fn read(&self) -> Result<Option<Phrase>, PhraseError> {
        let count = self.pieces.len();
        if count > 0 && self.time_of(0..count, 0..0).is_some() {
            let text = self.text_of(0..count);
            return Err(PhraseError {
                problem: format!("\"{text}\" is a time; a title is missing"),
                may_be_title: false,
            });
        }
        let at_end = self.time_at_end();
        if let Some(found) = &at_end
            && self.leftover_of(found).is_none()
        {
            return Ok(at_end.map(|found| found.phrase));
        }
        let spread = self.time_within().or_else(|| self.time_in_two_parts());
        if let Some(found) = spread {
            return Ok(Some(found.phrase));
        }
        let (leftover, time) = match at_end {
            Some(found) => (self.leftover_of(&found), Some(found.time)),
            None => (self.leftover(&(0..count).collect::<Vec<_>>(), false), None),
        };
        match leftover {
            Some(position) => Err(self.refusal(position, time)),
            None => Ok(None),
        }
    }

    fn text_of(&self, words: Range<usize>) -> String {
        let pieces = self.pieces.get(words).unwrap_or_default();
        let texts: Vec<&str> = pieces.iter().map(|piece| piece.text).collect();
        texts.join(" ")
    }

    /// Returns the position of a word of the title that looks like a part of a time.
    fn leftover(&self, title: &[usize], has_rule: bool) -> Option<usize> {
        let pieces = title.iter().filter_map(|at| self.pieces.get(*at));
        let words = pieces.map(|piece| match piece.is_quoted {
            true => "",
            false => piece.text,
        });
        let at = find_leftover(&words.collect::<Vec<_>>(), has_rule)?;
        title.get(at).copied()
    }

    fn leftover_of(&self, found: &FoundTime) -> Option<usize> {
        self.leftover(&found.title, found.phrase.rule.is_some())
    }

    /// Parses the time in these words, one part after the other.
    fn time_of(&self, first: Range<usize>, second: Range<usize>) -> Option<FoundRule> {
        let parts = [first, second].map(|part| self.pieces.get(part).unwrap_or_default());
        let pieces = parts.concat();
        let are_plain = pieces.iter().all(|piece| !piece.is_quoted);
        if !are_plain || !pieces.iter().any(|piece| is_distinct(piece.text)) {
            return None;
        }
        let texts: Vec<&str> = pieces.iter().map(|piece| piece.text).collect();
        let words = WordList::split(&spread_words(&texts.join(" ")));
        match parse_words(&without_and(&words), self.day, self.now) {
            Ok(times) => Some((times, true, None)),
            Err(_) => split_rule(&words, self.day, self.now),
        }
    }

    fn phrase_of(&self, title: &[usize], time: FoundRule) -> Option<Phrase> {
        let pieces: Vec<&Piece<'_>> = title.iter().filter_map(|at| self.pieces.get(*at)).collect();
        let title = match pieces[..] {
            [one] if one.is_quoted => {
                let inner = one.text.trim_end_matches([',', ':', ';']);
                let mut inner = inner.chars();
                inner.next();
                inner.next_back();
                inner.as_str().trim().to_owned()
            }
            _ => {
                let texts: Vec<&str> = pieces.iter().map(|piece| piece.text).collect();
                let title = texts.join(" ");
                let title = title.trim_end_matches([',', ':', ';', '-', '–']);
                title.trim().to_owned()
            }
        };
        if title.is_empty() {
            return None;
        }
        let (times, has_day, rule) = time;
        Some(Phrase {
            title,
            times,
            has_day,
            rule,
            place: None,
        })
    }

    /// Finds the longest time at the end or the beginning.
    fn time_at_end(&self) -> Option<FoundTime> {
        let count = self.pieces.len();
        let most = MAX_TIME_WORDS.min(count.checked_sub(1)?);
        for length in (1..=most).rev() {
            for time in [count - length..count, 0..length] {
                let title: Vec<usize> = (0..count).filter(|at| !time.contains(at)).collect();
                let phrase = self.time_of(time.clone(), 0..0);
                if let Some(phrase) = phrase.and_then(|found| self.phrase_of(&title, found)) {
                    return Some(FoundTime {
                        phrase,
                        title,
                        time,
                    });
                }
            }
        }
        None
    }

    /// Finds the longest time that is followed by `at` and a place, or by `with` and the like.
    fn time_within(&self) -> Option<FoundTime> {
        const PLACE: &[&str] = &["at", "@", "bei", "chez"];
        const FURTHER: &[&str] = &[
            "with", "in", "about", "for", "to", "near", "re", "via", "mit", "zu", "zum", "zur",
            "nach", "wegen", "im", "fur", "avec", "pour", "sur", "con", "para", "sobre",
        ];
        let count = self.pieces.len();
        let most = MAX_TIME_WORDS.min(count.checked_sub(2)?);
        for length in (1..=most).rev() {
            for first in (1..count - length).rev() {
                let last = first + length;
                let next = self.pieces.get(last).filter(|piece| !piece.is_quoted)?;
                let next = fold_word(next.text);
                let is_place = PLACE.contains(&next.as_str()) && last + 1 < count;
                if !is_place && !FURTHER.contains(&next.as_str()) {
                    continue;
                }
                let Some(time) = self.time_of(first..last, 0..0) else {
                    continue;
                };
                let all: Vec<usize> = (0..first).chain(last..count).collect();
                if self.leftover(&all, time.2.is_some()).is_some() {
                    continue;
                }
                let title: Vec<usize> = match is_place {
                    true => (0..first).collect(),
                    false => all,
                };
                if let Some(mut phrase) = self.phrase_of(&title, time) {
                    phrase.place = is_place.then(|| self.text_of(last + 1..count));
                    let time = first..last;
                    return Some(FoundTime {
                        phrase,
                        title,
                        time,
                    });
                }
            }
        }
        None
    }

    /// Finds the longest time of which a part is at the end and another one before: `every monday Choir 19:30`.
    fn time_in_two_parts(&self) -> Option<FoundTime> {
        let count = self.pieces.len();
        if count > MAX_SPREAD_WORDS {
            return None;
        }
        let most = MAX_TIME_WORDS.min(count.checked_sub(1)?);
        for length in (2..=most).rev() {
            for tail in 1..length {
                let (before, time) = (length - tail, count - tail..count);
                for first in 0..time.start.saturating_sub(before) {
                    let part = first..first + before;
                    let words = self.pieces.get(part.clone()).unwrap_or_default();
                    let is_time = words.iter().any(|piece| is_distinct(piece.text))
                        && words.last().is_none_or(|piece| !is_preposition(piece.text));
                    // Of "Weekly sync monday" the first word is as likely a part of the title.
                    let is_name = |piece: &Piece<'_>| RULE_NAMES.contains(&&*fold_word(piece.text));
                    if !is_time || words.iter().all(is_name) {
                        continue;
                    }
                    let title: Vec<usize> =
                        (0..time.start).filter(|at| !part.contains(at)).collect();
                    let found = self.time_of(part.clone(), time.clone());
                    let found = found.or_else(|| self.time_of(time.clone(), part));
                    let Some(found) = found else {
                        continue;
                    };
                    let last = title.last().and_then(|at| self.pieces.get(*at));
                    if last.is_some_and(|piece| is_preposition(piece.text))
                        || self.leftover(&title, found.2.is_some()).is_some()
                    {
                        continue;
                    }
                    if let Some(phrase) = self.phrase_of(&title, found) {
                        return Some(FoundTime {
                            phrase,
                            title,
                            time,
                        });
                    }
                }
            }
        }
        None
    }

    /// Returns the error for the last word, of the ways to understand a text, that is not understood.
    fn deepest_error(&self, text: &str) -> String {
        let words = WordList::split(&spread_words(text));
        let mut errors: Vec<String> =
            Vec::from_iter(parse_words(&without_and(&words), self.day, self.now).err());
        let all = words.next_words(words.left());
        let is_rule = (0..all.len()).any(|at| begins_rule(all.get(at..).unwrap_or_default()));
        let count = all.len().min(MAX_TIME_WORDS);
        for length in 0..count.min(if is_rule { 4 } else { 0 }) {
            for first in 0..=count - length {
                let (rule, time) = words.without(first, length);
                if length == 0 || parse_words(&time, self.day, self.now).is_ok() {
                    errors.extend(parse_rule_words(&rule, self.day, self.now).err());
                }
            }
        }
        let deepest = errors
            .into_iter()
            .max_by_key(|error| position_in(text, error));
        deepest.unwrap_or_default()
    }

    /// Describes the word at a position, which was left in the title beside the time.
    fn refusal(&self, position: usize, time: Option<Range<usize>>) -> PhraseError {
        let word = self.text_of(position..position + 1);
        let word = word.trim_matches([',', ':', ';', '(', ')', '!', '?']);
        let end = match &time {
            Some(time) if time.end > position => time.end,
            _ => self.pieces.len(),
        };
        let text = self.text_of(position..end);
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
        let words = WordList::split(&spread_words(&text));
        let is_rule = begins_rule(&words.next_words(words.left()));
        let problem = match (nearest_weekday(&folded), time) {
            (Some(name), _) => format!("\"{word}\" is not a day; did you mean {name}?"),
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

/// Returns true for a word that is not the last one of a time.
fn is_preposition(word: &str) -> bool {
    const WORDS: &[&str] = &[
        "at", "the", "on", "in", "of", "for", "from", "a", "to", "by", "um", "am", "im", "von",
        "le", "de",
    ];
    WORDS.contains(&&*fold_word(word))
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
        "ubermorgen",
        "uebermorgen",
        "demain",
        "manana",
        "hoje",
        "amanha",
        "hoy",
    ];
    let folded = fold_word(word.trim_end_matches(','));
    let folded = english_word(&folded).unwrap_or(&folded);
    let singular = folded.strip_suffix('s').unwrap_or(folded);
    folded.contains(|c: char| c.is_ascii_digit())
        || WORDS.contains(&folded)
        || RULE_NAMES.contains(&folded)
        || is_full_name(folded)
        || is_full_name(singular)
        || folded.split_once('-').is_some_and(|(first, last)| {
            parse_day_of_week(first).is_some() && parse_day_of_week(last).is_some()
        })
}

#[cfg(test)]
mod tests;
