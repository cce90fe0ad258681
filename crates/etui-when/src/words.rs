//! [`WordList`]: the words of a text, as they are compared and as they were written.

use super::names::fold_word;
use super::translate::english_word;

/// A word.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    folded: String,
    /// As it was written, for messages.
    written: String,
}

/// The words of a text and a position.
#[derive(Debug, Clone)]
pub struct WordList {
    words: Vec<Word>,
    pub at: usize,
}

impl WordList {
    /// Splits a text. Commas separate words; in `14:00-15:00` the hyphen is a word.
    pub fn split(text: &str) -> Self {
        let mut words = Vec::new();
        for written in text.split([' ', '\t', '\n', '\r', ',', '\u{a0}']) {
            let folded = fold_word(written);
            let parts = match split_range(&folded) {
                Some((first, last)) => vec![first.to_owned(), "-".to_owned(), last.to_owned()],
                None if folded.is_empty() => continue,
                None => vec![english_word(&folded).map_or(folded, str::to_owned)],
            };
            words.extend(parts.into_iter().map(|folded| Word {
                folded,
                written: written.to_owned(),
            }));
        }
        Self { words, at: 0 }
    }

    /// Returns the word `ahead` of the position.
    pub fn peek(&self, ahead: usize) -> Option<&str> {
        self.words.get(self.at + ahead).map(|w| w.folded.as_str())
    }

    /// Returns the word at the position as it was written; empty at the end.
    pub fn written(&self) -> &str {
        self.words.get(self.at).map_or("", |w| &w.written)
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

    /// Returns the words from the position on.
    pub fn rest(&self) -> Self {
        Self {
            words: self.words.get(self.at..).unwrap_or_default().to_vec(),
            at: 0,
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
        (rest, Self { words, at: 0 })
    }

    /// Returns the first `count` words from the position on.
    pub fn part(&self, count: usize) -> Self {
        let mut part = self.rest();
        part.words.truncate(count);
        part
    }
}

/// Splits a range of times, hours or days: `14:00-15:00`, `2pm-3pm`, `9-17`; not a date.
fn split_range(word: &str) -> Option<(&str, &str)> {
    let (first, last) = word.split_once('-')?;
    let is_hour = |text: &str| text.len() <= 2 && text.bytes().all(|b| b.is_ascii_digit());
    let is_time = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_digit())
            && (text.contains(':')
                || text.ends_with("am")
                || text.ends_with("pm")
                || text.contains('h'))
    };
    let is_one = |text: &str| is_hour(text) || is_time(text);
    let has_both = !first.is_empty() && !last.is_empty() && !last.contains('-');
    (has_both && is_one(first) && is_one(last)).then_some((first, last))
}
