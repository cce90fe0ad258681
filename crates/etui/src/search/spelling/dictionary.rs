//! [`Dictionary`]: the words of a store that are one edit from a word.
//!
//! Terms are in the order of their bytes, so those that share the first letter with the word are one
//! range, which is read. Of a term with another first letter all other letters are known:
//!
//! ```text
//! word  term                       lookups
//! abcd  bcd                        a letter too many       1
//! abcd  bacd                       exchanged               1
//! abcd  xbcd, xabcd                wrong, or missing       2 for each first letter of the index
//! ```

use std::collections::BTreeSet;

use rusqlite::Connection;

use crate::error::Result;
use crate::record::keys::{Key, Keys};
use crate::search::filter::KeySet;
use crate::search::index::pending::{Watermarks, each_pending};
use crate::search::index::{IndexParts, postings, terms};

/// The words of some keys that are one edit from a word.
pub(super) struct Dictionary {
    keys: KeySet,
    /// The words found.
    pub(super) similar: BTreeSet<String>,
    /// Distinct words that were compared.
    pub(super) compared: u64,
}

impl Dictionary {
    pub(super) fn new(keys: KeySet) -> Self {
        Self {
            keys,
            similar: BTreeSet::new(),
            compared: 0,
        }
    }

    /// Collects the words of the index, and of pending records of a collection.
    pub(super) fn read(&mut self, conn: &Connection, collection: i64, word: &str) -> Result<()> {
        // Longer words are cut in the index, and cannot be compared.
        if word.len() >= terms::MAX_TERM {
            return Ok(());
        }
        // A word of the display name that is in another name is indexed there.
        for key in self.keys.iter().filter(|key| has_words(*key)) {
            self.read_terms(conn, terms::kind_of(key), word)?;
        }
        let merged = Watermarks::read(conn)?.merged(IndexParts::TERMS);
        let keys = self.keys;
        each_pending(conn, collection, merged, |_, record| {
            for (key, value) in record.iter().flat_map(|record| Keys(record.keys)) {
                if keys.contains(key) && has_words(key) {
                    let words = value.split(|&b| b == b' ').filter(|w| !w.is_empty());
                    words.for_each(|text| self.compare(text, word));
                }
            }
        })
    }

    fn compare(&mut self, text: &[u8], word: &str) {
        self.compared += 1;
        // A character has at most four bytes.
        if text.len().abs_diff(word.len()) <= 4
            && let Ok(text) = std::str::from_utf8(text)
            && strsim::osa_distance(text, word) == 1
        {
            self.similar.insert(text.to_owned());
        }
    }

    fn read_terms(&mut self, conn: &Connection, kind: u8, word: &str) -> Result<()> {
        let mut letters = word.chars();
        let (Some(first), Some(second)) = (letters.next(), letters.next()) else {
            return Ok(());
        };
        let rest = letters.as_str();
        let start = new_term(kind, &[first], "");
        let end = terms::prefix_end(&start);
        postings::each_term(conn, &start[..]..&end[..], |term| {
            // A cut term is not a whole word.
            if term.len() <= terms::MAX_TERM {
                self.compare(term.get(1..).unwrap_or_default(), word);
            }
        })?;
        self.look_up(conn, &new_term(kind, &[second], rest), word)?;
        self.look_up(conn, &new_term(kind, &[second, first], rest), word)?;
        // After the term without text, which means that the field is present.
        let mut from = vec![kind, 0];
        while let Some(found) = postings::first_term(conn, &from[..]..&[kind + 1][..])? {
            let text = std::str::from_utf8(found.get(1..).unwrap_or_default());
            let Some(letter) = text.unwrap_or_default().chars().next() else {
                break;
            };
            if letter != first {
                self.look_up(conn, &new_term(kind, &[letter, second], rest), word)?;
                self.look_up(conn, &new_term(kind, &[letter], word), word)?;
            }
            from = terms::prefix_end(&new_term(kind, &[letter], ""));
        }
        Ok(())
    }

    /// Compares one term, if it exists.
    fn look_up(&mut self, conn: &Connection, term: &[u8], word: &str) -> Result<()> {
        let end = [term, &[0]].concat();
        if let Some(found) = postings::first_term(conn, term..&end[..])? {
            self.compare(found.get(1..).unwrap_or_default(), word);
        }
        Ok(())
    }
}

/// Returns the term of some letters and the rest of a word.
fn new_term(kind: u8, letters: &[char], rest: &str) -> Vec<u8> {
    let text: String = letters.iter().copied().chain(rest.chars()).collect();
    terms::new_term(kind, text.as_bytes())
}

/// Returns true if a key's values are words.
fn has_words(key: Key) -> bool {
    !matches!(key, Key::Email | Key::Phone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_edit_is_a_letter_too_many_missing_wrong_or_exchanged() {
        let similar = |typed: &str| {
            let mut dictionary = Dictionary::new(KeySet::NAMES);
            dictionary.compare(b"muller", typed);
            !dictionary.similar.is_empty()
        };
        for typed in [
            "uller", "mmuller", "mullerr", "muler", "miller", "mulelr", "umller",
        ] {
            assert!(similar(typed), "{typed}");
        }
        for typed in [
            "muller", "", "ulle", "mulre", "mellar", "llumer", "mullerrs",
        ] {
            assert!(!similar(typed), "{typed}");
        }
    }
}
