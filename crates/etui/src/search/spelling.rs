//! Typing mistakes: words of the store that differ by one edit from a word that nothing matches.
//!
//! An edit is a letter too many, a missing one, a wrong one, or two neighbours exchanged (a
//! Damerau-Levenshtein distance of 1). The words of the store are the terms of its index and the keys
//! of pending records.
//!
//! ```
//! # use etui::{Store, contacts::{Card, Query}};
//! # let dir = tempfile::tempdir()?;
//! # let store = Store::open(dir.path().join("personal.etui"))?;
//! # let contacts = store.contacts()?;
//! contacts.save(&Card::parse("BEGIN:VCARD\nVERSION:3.0\nFN:Eva Müller\nEND:VCARD\n")?)?;
//! let filter = "mullr".parse()?;
//! assert!(contacts.find(&filter)?.is_empty());
//!
//! let corrected = contacts.correct(&filter)?.expect("there is a similar word");
//! assert_eq!(corrected.to_string(), "muller");
//! assert_eq!(contacts.query(&Query::ranked(corrected.filter))?.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod dictionary;

use std::fmt;

use self::dictionary::Dictionary;
use crate::error::Result;
use crate::record::Reader;
use crate::search::filter::{FieldSet, Filter, MatchMode};
use crate::search::query::{Columns, Query, SearchableRecord};
use etui_text::fold;

/// Letters of the shortest word that is corrected.
const MIN_LETTERS: usize = 4;
/// Similar words that replace one word at most, the first in alphabetical order.
const MAX_SIMILAR: usize = 8;

/// A filter with words that were corrected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CorrectedFilter<F: FieldSet> {
    /// The filter with similar words in place of those without a match. For [`Query::ranked`]: a
    /// similar word may be one of a note.
    pub filter: Filter<F>,
    /// The corrections, in the order of the words.
    pub corrections: Vec<Correction>,
    /// Distinct words of the store that were compared, a measure of the cost.
    pub compared: u64,
}

/// A word without a match, and the words that replace it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Correction {
    /// The word as typed.
    pub typed: String,
    /// Words of the store, folded: `muller`.
    pub similar: Vec<String>,
}

/// Writes the similar words: `muller`; of several corrections `anna muller`, of several similar words
/// `muller or muller`.
impl<F: FieldSet> fmt::Display for CorrectedFilter<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, correction) in self.corrections.iter().enumerate() {
            if at > 0 {
                f.write_str(" ")?;
            }
            f.write_str(&correction.similar.join(" or "))?;
        }
        Ok(())
    }
}

impl<R: SearchableRecord> Reader<R> {
    /// Corrects the plain words of `filter` that match nothing by themselves, for a filter without a
    /// match. Plain words have no field and are not negated; words of fewer than four letters, or with
    /// digits, are not corrected. `None`: nothing is similar.
    ///
    /// It reads the words of the index that begin like the typed one, and seeks those that differ in
    /// their first letters.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn correct(&self, filter: &Filter<R::Field>) -> Result<Option<CorrectedFilter<R::Field>>> {
        correct_filter([self], filter)
    }

    /// Returns true if a record matches a word, wherever it is looked for.
    fn has_match(&self, word: Filter<R::Field>) -> Result<bool> {
        let query = Query::ranked(word).columns(Columns::NONE).limit(1);
        Ok(!self.query(&query)?.is_empty())
    }
}

/// Corrects the plain words of `filter` that match nothing in any of `collections`. See
/// [`Reader::correct`].
///
/// # Errors
/// Whatever reading reports.
pub fn correct_filter<'r, R: SearchableRecord + 'r>(
    collections: impl IntoIterator<Item = &'r Reader<R>>,
    filter: &Filter<R::Field>,
) -> Result<Option<CorrectedFilter<R::Field>>> {
    let collections: Vec<&Reader<R>> = collections.into_iter().collect();
    let mut words: Vec<(String, MatchMode)> = Vec::new();
    // Only the visits matter; the filter is not changed.
    let _ = filter.map_plain_words(&mut |text, mode| {
        if !words.iter().any(|(word, _)| word == text) {
            words.push((text.to_owned(), mode));
        }
        None
    });
    let mut corrections = Vec::new();
    let mut compared = 0;
    for (typed, mode) in words {
        let folded = fold::fold_words(&typed);
        let is_word = folded.chars().all(char::is_alphabetic);
        if !is_word || folded.chars().count() < MIN_LETTERS {
            continue;
        }
        let word = |mode, text: &str| Filter::text(R::Field::ANY, mode, text);
        if any(&collections, |reader| reader.has_match(word(mode, &typed)))? {
            continue;
        }
        let any_field = [R::Field::ANY];
        let fields = match R::Field::RANKS {
            [] => &any_field,
            ranks => ranks,
        };
        for field in fields {
            let mut similar = Vec::new();
            for reader in &collections {
                let mut dictionary = Dictionary::new(field.keys());
                reader.read_ordered(|r| dictionary.read(r.conn, r.collection, &folded))?;
                compared += dictionary.compared;
                similar.extend(dictionary.similar);
            }
            similar.sort();
            similar.dedup();
            let mut found = Vec::new();
            for text in similar {
                // Words of the index may be those of another collection.
                let is_found = any(&collections, |reader| {
                    reader.has_match(word(MatchMode::Words, &text))
                })?;
                if is_found && found.len() < MAX_SIMILAR {
                    found.push(text);
                }
            }
            if !found.is_empty() {
                corrections.push(Correction {
                    typed,
                    similar: found,
                });
                // The fields go from the closest to the widest: words of wider ones are less likely meant.
                break;
            }
        }
    }
    if corrections.is_empty() {
        return Ok(None);
    }
    let filter = filter.map_plain_words(&mut |text, mode| {
        let correction = corrections.iter().find(|c| c.typed == text)?;
        let similar = correction.similar.iter();
        let mut similar = similar.map(|word| Filter::text(R::Field::ANY, mode, word.as_str()));
        let first = similar.next()?;
        Some(similar.fold(first, Filter::or))
    });
    Ok(Some(CorrectedFilter {
        filter,
        corrections,
        compared,
    }))
}

/// Returns true if `check` is true for one of the collections.
fn any<'r, R: SearchableRecord>(
    collections: &[&'r Reader<R>],
    check: impl Fn(&'r Reader<R>) -> Result<bool>,
) -> Result<bool> {
    for reader in collections {
        if check(reader)? {
            return Ok(true);
        }
    }
    Ok(false)
}
