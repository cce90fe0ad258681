//! [`WordList`]: the words of a text, as they are compared and as they were written.

use std::rc::Rc;

use super::clock::parse_digits;
use super::language::japanese::split_japanese;
use super::language::{Language, is_telling_form, longest_meaning, meaning_in};
use super::names::{fold_word, is_weekday_name, parse_month};

/// A word.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    folded: Rc<str>,
    /// As it was written, for messages.
    written: Rc<str>,
}

/// The words of a text and a position.
#[derive(Debug, Clone)]
pub struct WordList {
    words: Vec<Word>,
    pub at: usize,
    has_telling_form: bool,
    is_translated: bool,
    has_unknown_word: bool,
}

/// Words of a time in every language, and that of a comma. A word that is not as it was written was translated when it was split.
const ANY_LANGUAGE: &[&str] = &["am", "pm", "a.m.", "p.m.", "h", "x", "uhr", "and"];

impl WordList {
    /// Splits an English text. Commas separate words; in `14:00-15:00` the hyphen is a word.
    pub fn split(text: &str) -> Self {
        Self::split_in(text, Language::ENGLISH)
    }

    /// Splits a text in a language, whose words are replaced with the English ones. It has a telling form if its
    /// language is not English.
    pub fn split_in(text: &str, language: Language) -> Self {
        let separators = [' ', '\t', '\n', '\r', ',', '\u{a0}', '\u{3000}', '\u{3001}'];
        let mut all: Vec<(String, &str)> = Vec::new();
        let mut has_telling_form = false;
        let mut is_translated = false;
        let mut has_unknown_word = false;
        let mut is_after_time = false;
        let marks = ['(', ')', '!', '?', ';'];
        let all_written = text
            .split(separators)
            .map(|word| word.trim_matches(marks).trim_end_matches(':'));
        for written in all_written.filter(|word| !word.is_empty()) {
            if language.is("ja") {
                for part in split_japanese(written, &mut is_after_time) {
                    let english = part.english.as_deref();
                    has_telling_form |= english.is_some() && !part.text.is_ascii();
                    is_translated |= english.is_some();
                    let words = english.unwrap_or(part.text).split(' ');
                    all.extend(words.map(|word| (fold_word(word), part.text)));
                }
                continue;
            }
            let words = split_word(fold_word(written), language);
            all.extend(words.into_iter().map(|word| (word, written)));
        }
        split_months(&mut all, language);
        // 今日から
        if language.is("ja") && all.last().is_some_and(|(word, _)| word == "-") {
            all.pop();
        }
        let folded: Vec<&str> = all.iter().map(|(word, _)| word.as_str()).collect();
        let mut words = Vec::new();
        let mut at = 0;
        while let (Some((word, written)), Some(rest)) = (all.get(at), folded.get(at..)) {
            let mut push = |folded: &str| {
                words.push(Word {
                    folded: folded.into(),
                    written: (*written).into(),
                });
            };
            let found = longest_meaning(rest, language);
            at += found.map_or(1, |(_, count)| count);
            is_translated |= found.is_some();
            match found {
                Some((english, count)) => {
                    let form = if count == 1 {
                        *written
                    } else {
                        "form of several words"
                    };
                    has_telling_form |= is_telling_form(form, english);
                    english.split(' ').for_each(push);
                }
                None => match translate_range(word, language) {
                    Some(range) => {
                        has_telling_form = true;
                        push(&range);
                    }
                    None => {
                        let is_word = word.starts_with(char::is_alphabetic);
                        let is_known =
                            ANY_LANGUAGE.contains(&word.as_str()) || word != &fold_word(written);
                        has_unknown_word |= is_word && !is_known;
                        push(word);
                    }
                },
            }
        }
        Self {
            words,
            at: 0,
            has_telling_form,
            is_translated,
            has_unknown_word,
        }
    }

    /// Returns the words of two lists, one after the other.
    pub fn joined(&self, other: &Self) -> Self {
        Self {
            words: [self.words.as_slice(), other.words.as_slice()].concat(),
            at: 0,
            has_telling_form: self.has_telling_form || other.has_telling_form,
            is_translated: self.is_translated || other.is_translated,
            has_unknown_word: self.has_unknown_word || other.has_unknown_word,
        }
    }

    /// Returns the word `ahead` of the position.
    pub fn peek(&self, ahead: usize) -> Option<&str> {
        self.words.get(self.at + ahead).map(|w| &*w.folded)
    }

    /// Returns the word at the position as it was written; empty at the end.
    pub fn written(&self) -> &str {
        self.words.get(self.at).map_or("", |w| &w.written)
    }

    /// Returns true if a word was replaced with an English one.
    pub fn is_translated(&self) -> bool {
        self.is_translated
    }

    /// Returns true if a word is none of the language.
    pub fn has_unknown_word(&self) -> bool {
        self.has_unknown_word
    }

    /// Returns true if a word shows that the text is in its language.
    pub fn has_telling_form(&self) -> bool {
        self.has_telling_form
    }

    pub fn is_at_end(&self) -> bool {
        self.at >= self.words.len()
    }

    /// Returns the number of words from the position on.
    pub fn left(&self) -> usize {
        self.words.len().saturating_sub(self.at)
    }

    /// Skips the word at the position if it is one of these.
    pub fn skip_any(&mut self, words: &[&str]) -> bool {
        let is_one = self.peek(0).is_some_and(|word| words.contains(&word));
        self.at += usize::from(is_one);
        is_one
    }

    /// Skips all words that are one of these.
    pub fn skip_all(&mut self, words: &[&str]) {
        while self.skip_any(words) {}
    }

    /// Returns the next `count` words.
    pub fn next_words(&self, count: usize) -> Vec<&str> {
        (0..count).filter_map(|ahead| self.peek(ahead)).collect()
    }

    /// Returns true if a word from the position on satisfies a condition.
    pub fn contains(&self, condition: impl Fn(&str) -> bool) -> bool {
        (0..self.left()).any(|ahead| self.peek(ahead).is_some_and(&condition))
    }

    /// Returns the words from the position on.
    pub fn rest(&self) -> Self {
        Self {
            words: self.words.get(self.at..).unwrap_or_default().to_vec(),
            at: 0,
            has_telling_form: self.has_telling_form,
            is_translated: self.is_translated,
            has_unknown_word: self.has_unknown_word,
        }
    }

    /// Returns the words that satisfy a condition.
    pub fn filter(&self, keep: impl Fn(&str) -> bool) -> Self {
        let mut all = self.rest();
        all.words.retain(|word| keep(&word.folded));
        all
    }

    /// Returns all words but `count` of them from index `first` on, and these.
    pub fn without(&self, first: usize, count: usize) -> (Self, Self) {
        let mut rest = self.rest();
        let first = first.min(rest.words.len());
        let last = (first + count).min(rest.words.len());
        let words = rest.words.drain(first..last).collect();
        let (has_telling_form, is_translated) = (self.has_telling_form, self.is_translated);
        (
            rest,
            Self {
                words,
                at: 0,
                has_telling_form,
                is_translated,
                has_unknown_word: self.has_unknown_word,
            },
        )
    }

    /// Returns the first `count` words from the position on.
    pub fn part(&self, count: usize) -> Self {
        let mut part = self.rest();
        part.words.truncate(count);
        part
    }
}

/// Splits the range of `Dec 20-Jan 3` and `20 Dec-3 Jan`, in which `20-Jan` and `Dec-3` are no days.
fn split_months<'t>(all: &mut Vec<(String, &'t str)>, language: Language) {
    let is_month = |word: &str| parse_month(meaning_in(word, language).unwrap_or(word)).is_some();
    let is_day = |word: &str| parse_digits::<u32>(word.trim_end_matches('.'), 1..=2).is_some();
    let range_at = |all: &[(String, &'t str)], at: usize| {
        let before = &all.get(at.checked_sub(1)?)?.0;
        let (word, written) = all.get(at)?;
        let (first, last) = word.split_once('-')?;
        let is_range = (is_month(before) && is_day(first) && is_month(last))
            || (is_day(before) && is_month(first) && is_day(last));
        is_range.then(|| [first, "-", last].map(|word| (word.to_owned(), *written)))
    };
    let range = (1..all.len()).find_map(|at| Some((at, range_at(all, at)?)));
    if let Some((at, words)) = range {
        all.splice(at..=at, words);
    }
}

/// Parts of the day that are written together with a weekday.
const PARTS_OF_COMPOUNDS: &[&str] = &[
    "abend",
    "vormittag",
    "nachmittag",
    "mittag",
    "nacht",
    "avond",
    "ochtend",
    "middag",
    "kvall",
    "eftermiddag",
];

/// Splits a folded word into those that are compared.
fn split_word(word: String, language: Language) -> Vec<String> {
    if word.is_empty() {
        return Vec::new();
    }
    if meaning_in(&word, language).is_some() {
        return vec![word];
    }
    if let Some((first, last)) = split_range(&word) {
        let mut all = split_word(first.to_owned(), language);
        all.push("-".to_owned());
        all.extend(split_word(last.to_owned(), language));
        return all;
    }
    let starts_with_digit = word.starts_with(|c: char| c.is_ascii_digit());
    // 14uhr, 10u30
    if let Some(number) = word.strip_suffix("uhr").filter(|_| starts_with_digit) {
        return vec![number.to_owned(), "uhr".to_owned()];
    }
    // samstagabend
    let compound = PARTS_OF_COMPOUNDS.iter().find_map(|part| {
        let day = word.strip_suffix(part)?;
        is_weekday_name(meaning_in(day, language)?)
            .then(|| vec![day.to_owned(), (*part).to_owned()])
    });
    if let Some(words) = compound {
        return words;
    }
    if language.is("nl") && starts_with_digit && word.matches('u').count() == 1 {
        return vec![word.replace('u', "h")];
    }
    let Some((stem, ending)) = word.split_once('\'') else {
        return vec![word];
    };
    // l'8, dall'11
    let article = format!("{stem}'");
    if meaning_in(&article, language).is_some() && !ending.is_empty() {
        return vec![article, ending.to_owned()];
    }
    // The case of a time: 15:00'te, 9'dan
    if language.is("tr") && (starts_with_digit || meaning_in(stem, language).is_some()) {
        let preposition = match ending {
            "den" | "dan" | "ten" | "tan" => "from",
            "e" | "a" | "ye" | "ya" => "thru",
            "de" | "da" | "te" | "ta" => "at",
            _ => "the",
        };
        return vec![preposition.to_owned(), stem.to_owned()];
    }
    vec![word]
}

/// Translates a range of weekdays: `mo-fr`, `lun-ven`.
fn translate_range(word: &str, language: Language) -> Option<String> {
    let (first, last) = word.split_once('-')?;
    let [first, last] = [first, last].map(|name| meaning_in(name, language));
    let [first, last] = [first?, last?];
    (is_weekday_name(first) && is_weekday_name(last)).then(|| format!("{first}-{last}"))
}

/// Splits a range of times, hours or days: `14:00-15:00`, `2pm-3pm`, `9-17`, `20.12.-3.1.`; not a date.
fn split_range(word: &str) -> Option<(&str, &str)> {
    let (first, last) = word.split_once('-')?;
    let is_hour = |text: &str| text.len() <= 2 && text.bytes().all(|b| b.is_ascii_digit());
    let is_time = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_digit())
            && (text.contains(':')
                || text.ends_with("am")
                || text.ends_with("pm")
                || text.ends_with("uhr")
                || text.contains('h'))
    };
    let is_day = |text: &str| {
        text.contains(['.', '/'])
            && text
                .bytes()
                .all(|b| b.is_ascii_digit() || b"./".contains(&b))
    };
    let is_one = |text: &str| is_hour(text) || is_time(text) || is_day(text);
    let has_both = !first.is_empty() && !last.is_empty() && !last.contains('-');
    (has_both && is_one(first) && is_one(last)).then_some((first, last))
}
