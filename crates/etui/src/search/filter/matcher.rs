//! [`Matcher`]: a compiled filter, and its translation to conditions on the index.
//!
//! Texts are folded and numbers parsed once. [`Matcher::matches`] decides whether a record matches;
//! an [`IndexMatch`] finds at least the records that match, and records whether it finds no others.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use memchr::memmem::{self, Finder};

use super::{FieldSet, Filter, KeySet, MatchMode, NumberRange};
use crate::record::keys::{Key, Keys, PhoneParts, SearchKeys, number_term};
use crate::search::index::condition::IndexCondition;
use crate::search::index::{IndexParts, terms, trigrams};
use etui_text::fold;
use etui_text::phone::{
    MatchType, PhoneNumber, Region, decimal_digits, prefix_forms, suffix_forms,
};

/// A compiled filter.
#[derive(Clone)]
pub enum Matcher {
    All,
    Nothing,
    And(Vec<Matcher>),
    Or(Vec<Matcher>),
    Not(Box<Matcher>),
    Uids(HashSet<Vec<u8>>),
    Present(KeySet),
    Text(Box<TextPredicate>),
    Phone(PhonePredicate),
    Number(Key, RangeInclusive<u32>),
}

/// A substring of a padded value (`keys`).
#[derive(Clone)]
pub struct TextPredicate {
    keys: KeySet,
    mode: MatchMode,
    finder: Finder<'static>,
}

/// A comparison with a phone number.
#[derive(Clone)]
pub enum PhonePredicate {
    Equals(PhoneNumber, MatchType),
    StartsWith(Vec<Vec<u8>>),
    EndsWith(Vec<Vec<u8>>),
    Contains(Vec<u8>),
    /// The digits as they are written.
    Written {
        mode: MatchMode,
        digits: Vec<u8>,
        /// The country calling code of the store's region, which completes numbers.
        country: Vec<u8>,
    },
}

impl Matcher {
    /// Compiles a filter. `region` completes national phone numbers.
    pub(crate) fn new<F: FieldSet>(filter: &Filter<F>, region: Option<Region>) -> Self {
        let all = |parts: &[Filter<F>]| parts.iter().map(|p| Self::new(p, region)).collect();
        match filter {
            Filter::All => Self::All,
            Filter::And(parts) => Self::And(all(parts)),
            Filter::Or(parts) => Self::Or(all(parts)),
            Filter::Not(inner) => Self::Not(Box::new(Self::new(inner, region))),
            Filter::Uids(uids) => Self::Uids(uids.iter().map(|u| u.as_bytes().to_vec()).collect()),
            Filter::Present(field) => Self::Present(field.keys()),
            Filter::PhoneEquals { number, strength } => Self::same_phone(number, *strength, region),
            Filter::Text { field, mode, text } => field.compare(*mode, text, region),
        }
    }

    /// Returns a comparison of the words of these keys' values. Umlauts also match their spelled-out
    /// form; keys have that of their own umlauts.
    pub(crate) fn match_words(keys: KeySet, mode: MatchMode, text: &str) -> Self {
        let words = match_padded(keys, mode, fold::fold_words(text));
        match fold::fold_spelled_out(text) {
            Some(spelled) => Self::Or(vec![words, match_padded(keys, mode, spelled)]),
            None => words,
        }
    }

    /// Returns a comparison of e-mail addresses.
    pub(crate) fn match_address(mode: MatchMode, text: &str) -> Self {
        match_padded(KeySet::of(Key::Email), mode, fold::fold_address(text))
    }

    /// Returns a comparison for equality of phone numbers.
    pub(crate) fn same_phone(text: &str, strength: MatchType, region: Option<Region>) -> Self {
        match PhoneNumber::parse(text, region) {
            Some(number) => Self::Phone(PhonePredicate::Equals(number, strength)),
            None => Self::Nothing,
        }
    }

    /// Returns a comparison with a phone number, or a part of one.
    pub(crate) fn match_phone(mode: MatchMode, text: &str, region: Option<Region>) -> Self {
        let bytes = |forms: Vec<String>| -> Vec<Vec<u8>> {
            forms
                .into_iter()
                .map(String::into_bytes)
                // An empty form would match every number.
                .filter(|f| !f.is_empty())
                .collect()
        };
        let phone = match mode {
            MatchMode::Words | MatchMode::Whole => {
                return Self::same_phone(text, MatchType::Exact, region);
            }
            MatchMode::Prefix => PhonePredicate::StartsWith(bytes(prefix_forms(text, region))),
            MatchMode::Suffix => PhonePredicate::EndsWith(bytes(suffix_forms(text, region))),
            MatchMode::Contains => PhonePredicate::Contains(decimal_digits(text)),
        };
        match &phone {
            PhonePredicate::StartsWith(f) | PhonePredicate::EndsWith(f) if f.is_empty() => {
                Self::Nothing
            }
            PhonePredicate::Contains(p) if p.is_empty() => Self::Nothing,
            _ => Self::Phone(phone),
        }
    }

    /// Returns a comparison of the digits of phone numbers as they are written.
    pub(crate) fn match_written_phone(mode: MatchMode, text: &str, region: Option<Region>) -> Self {
        let digits = decimal_digits(text);
        // Without a digit every number would match.
        if digits.is_empty() {
            return Self::Nothing;
        }
        let country = region.and_then(Region::country_code);
        let country = country.map(|code| code.to_string().into_bytes());
        Self::Phone(PhonePredicate::Written {
            mode,
            digits,
            country: country.unwrap_or_default(),
        })
    }

    /// Returns a comparison of a number with a range; without one nothing matches.
    pub(crate) fn match_number(key: Key, range: Option<NumberRange>) -> Self {
        range.map_or(Self::Nothing, |range| Self::Number(key, range.0))
    }

    /// Returns true if a record with this UID and these keys matches.
    pub(crate) fn matches(&self, record: SearchKeys<'_>) -> bool {
        let keys = record.keys;
        match self {
            Self::All => true,
            Self::Nothing => false,
            Self::And(parts) => parts.iter().all(|p| p.matches(record)),
            Self::Or(parts) => parts.iter().any(|p| p.matches(record)),
            Self::Not(inner) => !inner.matches(record),
            Self::Uids(uids) => uids.contains(record.uid),
            Self::Present(wanted) => Keys(keys).any(|(k, _)| wanted.contains(k)),
            Self::Text(text) => {
                Keys(keys).any(|(k, value)| text.keys.contains(k) && text.matches(value))
            }
            Self::Number(key, range) => Keys(keys).any(|(k, value)| {
                let number = std::str::from_utf8(value).ok();
                k == *key
                    && number.is_some_and(|n| n.trim().parse().is_ok_and(|n| range.contains(&n)))
            }),
            Self::Phone(phone) => Keys(keys).any(|(k, value)| {
                k == Key::Phone
                    && PhoneParts::parse(value).is_some_and(|number| phone.matches(number))
            }),
        }
    }

    /// Returns the parts of the index that the filter's conditions read.
    pub(crate) fn index_parts(&self) -> IndexParts {
        match self {
            Self::And(parts) | Self::Or(parts) => parts
                .iter()
                .fold(IndexParts::NONE, |all, part| all | part.index_parts()),
            Self::Not(inner) => inner.index_parts(),
            leaf => leaf
                .index_match()
                .map_or(IndexParts::NONE, |found| found.condition.index_parts()),
        }
    }

    /// Returns the index condition of a comparison of one field; `None` for other filters. UIDs have
    /// an index of their own ([`record::records`](crate::record::records)).
    pub(crate) fn index_match(&self) -> Option<IndexMatch> {
        match self {
            Self::All
            | Self::Nothing
            | Self::And(_)
            | Self::Or(_)
            | Self::Not(_)
            | Self::Uids(_) => None,
            Self::Present(keys) => Some(IndexMatch {
                condition: any_of(
                    keys.iter()
                        .map(terms::kind_of)
                        .map(|kind| IndexCondition::Term(vec![kind])),
                ),
                is_exact: true,
            }),
            Self::Text(text) => Some(text.index_match()),
            Self::Phone(phone) => Some(phone.index_match()),
            Self::Number(key, range) => {
                let term =
                    |number| terms::new_term(terms::kind_of(*key), number_term(number).as_bytes());
                let (start, end) = (term(*range.start()), terms::prefix_end(&term(*range.end())));
                let is_empty = range.is_empty();
                Some(IndexMatch {
                    condition: match is_empty {
                        true => IndexCondition::Any(Vec::new()),
                        false => IndexCondition::TermRange(start..end),
                    },
                    is_exact: true,
                })
            }
        }
    }
}

/// An index condition that holds for every record that matches.
#[derive(PartialEq, Eq)]
pub(crate) struct IndexMatch {
    pub(crate) condition: IndexCondition,
    /// True if the condition holds for no other record.
    pub(crate) is_exact: bool,
}

fn any_of(conditions: impl Iterator<Item = IndexCondition>) -> IndexCondition {
    let mut conditions: Vec<_> = conditions.collect();
    match conditions.len() {
        1 => conditions.remove(0),
        _ => IndexCondition::Any(conditions),
    }
}

fn all_of(mut conditions: Vec<IndexCondition>) -> IndexCondition {
    match conditions.len() {
        1 => conditions.remove(0),
        _ => IndexCondition::All(conditions),
    }
}

/// Returns the condition that a value has all trigrams of `text`, or one that starts with it.
fn has_trigrams_of(text: &str) -> IndexCondition {
    if let Some(range) = trigrams::range_of_prefix(text) {
        return IndexCondition::TrigramRange(range);
    }
    let mut found = Vec::new();
    trigrams::of_text(text, |trigram| found.push(trigram));
    found.sort_unstable();
    found.dedup();
    all_of(found.into_iter().map(IndexCondition::Trigram).collect())
}

impl TextPredicate {
    fn matches(&self, value: &[u8]) -> bool {
        match self.mode {
            MatchMode::Whole => self.finder.needle() == value,
            _ => self.finder.find(value).is_some(),
        }
    }

    fn is_address(&self) -> bool {
        self.keys == KeySet::of(Key::Email)
    }

    fn index_match(&self) -> IndexMatch {
        let kinds = || self.keys.with_shared_words().iter().map(terms::kind_of);
        let needle = self.finder.needle();
        let term =
            |word: &[u8]| any_of(kinds().map(|k| IndexCondition::Term(terms::new_term(k, word))));
        let prefix = |word: &[u8]| {
            any_of(kinds().map(|k| IndexCondition::TermPrefix(terms::new_term(k, word))))
        };
        // A cut term is the term of every word that starts like it.
        let whole = |word: &[u8]| word.len() < terms::MAX_TERM;
        // The needle is a series of words. After a space the first word is complete at its start;
        // before a space the last word is complete at its end.
        let mut words: Vec<&[u8]> = needle.split(|&b| b == b' ').collect();
        let (starts, ends) = (needle.starts_with(b" "), needle.ends_with(b" "));
        let last = match ends {
            true => None,
            false => words.pop(),
        };
        let first = match starts || words.is_empty() {
            true => None,
            false => Some(words.remove(0)),
        };
        words.retain(|w| !w.is_empty());
        let mut conditions: Vec<IndexCondition> = words.iter().map(|w| term(w)).collect();
        let single = words.len() == 1 && first.is_none() && last.is_none();
        if starts || !conditions.is_empty() {
            if let Some(last) = last.filter(|l| !l.is_empty()) {
                conditions.push(prefix(last));
            }
            let exact = match (single, last) {
                (true, _) => self.mode != MatchMode::Whole && whole(words[0]),
                (false, Some(last)) => words.is_empty() && first.is_none() && whole(last),
                _ => false,
            };
            return IndexMatch {
                is_exact: exact && self.keys.owns_its_words()
                    // An address is one word.
                    || self.is_address() && single && whole(words[0]),
                condition: all_of(conditions),
            };
        }
        if self.is_address()
            && let Some(end) = needle.strip_suffix(b" ")
            && !end.is_empty()
            // A host term begins at the last "@": a longer end of an address is not in it.
            && end
                .iter()
                .rposition(|&b| b == b'@')
                .is_none_or(|at| at == 0)
        {
            return IndexMatch {
                is_exact: end.len() < terms::MAX_TERM,
                condition: IndexCondition::TermPrefix(terms::new_term(
                    terms::HOST,
                    &terms::reverse_bytes(end),
                )),
            };
        }
        if self.keys.has_trigrams()
            && let Ok(text) = std::str::from_utf8(needle)
        {
            return IndexMatch {
                is_exact: false,
                condition: has_trigrams_of(text),
            };
        }
        // "a b" in a note is the end of one word and the start of the next.
        let condition = match (first, last) {
            (Some(_), Some(last)) if !last.is_empty() => prefix(last),
            (first, last) => {
                let part = first.or(last).unwrap_or_default();
                any_of(kinds().map(|k| IndexCondition::TermContains(k, part.to_vec())))
            }
        };
        IndexMatch {
            condition,
            is_exact: false,
        }
    }
}

impl PhonePredicate {
    fn matches(&self, number: PhoneParts<'_>) -> bool {
        let digits = number.digits;
        match self {
            Self::Equals(wanted, strength) => wanted.matches(
                &PhoneNumber::from_parts(digits, number.country_len, number.extension),
                *strength,
            ),
            Self::Written { mode, digits, .. } => {
                let (zero, rest) = number.written();
                match mode {
                    MatchMode::Words | MatchMode::Whole => {
                        digits.strip_prefix(zero).is_some_and(|d| d == rest)
                    }
                    MatchMode::Prefix => digits
                        .strip_prefix(zero)
                        .is_some_and(|digits| rest.starts_with(digits)),
                    MatchMode::Suffix => {
                        rest.ends_with(digits)
                            || !zero.is_empty() && [zero, rest].concat() == *digits
                    }
                    MatchMode::Contains => {
                        memmem::find(rest, digits).is_some()
                            || !zero.is_empty()
                                && digits
                                    .strip_prefix(zero)
                                    .is_some_and(|digits| rest.starts_with(digits))
                    }
                }
            }
            Self::StartsWith(forms) => forms.iter().any(|f| digits.starts_with(f)),
            Self::EndsWith(forms) => forms.iter().any(|f| digits.ends_with(f)),
            Self::Contains(part) => memmem::find(digits, part).is_some(),
        }
    }

    /// Returns the last digits, which equal numbers have in common. Before them, a number may have a
    /// trunk prefix, a carrier code, or digits that are only dialled within the country.
    fn common_end(number: &PhoneNumber, strength: MatchType) -> &[u8] {
        let common = match strength {
            MatchType::ShortNsn => 7,
            _ => 6,
        };
        let national = number.national_number().as_bytes();
        // A national number may be shorter.
        &national[national.len().saturating_sub(common)..]
    }

    fn index_match(&self) -> IndexMatch {
        let suffix = |digits: &[u8]| {
            IndexCondition::TermPrefix(terms::new_term(
                terms::PHONE_REVERSED,
                &terms::reverse_bytes(digits),
            ))
        };
        let condition = match self {
            Self::Equals(number, MatchType::Exact) => {
                IndexCondition::Term(terms::new_term(terms::PHONE, number.digits().as_bytes()))
            }
            Self::Equals(number, strength) => suffix(Self::common_end(number, *strength)),
            Self::StartsWith(forms) => any_of(
                forms
                    .iter()
                    .map(|f| IndexCondition::TermPrefix(terms::new_term(terms::PHONE, f))),
            ),
            Self::EndsWith(forms) => any_of(forms.iter().map(|f| suffix(f))),
            // Only ASCII digits are kept.
            Self::Contains(part) => has_trigrams_of(std::str::from_utf8(part).unwrap_or_default()),
            Self::Written {
                mode,
                digits,
                country,
            } => written_condition(*mode, digits, country),
        };
        let is_exact = match self {
            Self::StartsWith(forms) | Self::EndsWith(forms) => {
                forms.iter().all(|f| f.len() < terms::MAX_TERM)
            }
            _ => false,
        };
        IndexMatch {
            condition,
            is_exact,
        }
    }
}

/// Returns the condition for digits as they are written. A number in a usual form
/// ([`WrittenForm`](crate::record::keys::WrittenForm)) is found by its stored digits, any other by
/// a term of its own.
fn written_condition(mode: MatchMode, digits: &[u8], country: &[u8]) -> IndexCondition {
    let phone = |digits: &[u8]| terms::new_term(terms::PHONE, digits);
    let ending = |digits: &[u8]| {
        let reversed = terms::reverse_bytes(digits);
        IndexCondition::TermPrefix(terms::new_term(terms::PHONE_REVERSED, &reversed))
    };
    let written = terms::new_term(terms::PHONE_WRITTEN, digits);
    let written_part = IndexCondition::TermContains(terms::PHONE_WRITTEN, digits.to_vec());
    let completed = |digits: &[u8]| phone(&[country, digits].concat());
    // A trunk prefix 0 is written, but not stored.
    let after_zero = digits.strip_prefix(b"0");
    let mut any = Vec::new();
    match mode {
        MatchMode::Words | MatchMode::Whole => {
            any.push(IndexCondition::Term(phone(digits)));
            any.push(IndexCondition::Term(completed(digits)));
            any.extend(after_zero.map(|d| IndexCondition::Term(completed(d))));
            any.push(IndexCondition::Term(written));
        }
        MatchMode::Prefix => {
            any.push(IndexCondition::TermPrefix(phone(digits)));
            any.push(IndexCondition::TermPrefix(completed(digits)));
            any.extend(after_zero.map(|d| IndexCondition::TermPrefix(completed(d))));
            any.push(IndexCondition::TermPrefix(written));
        }
        MatchMode::Suffix => {
            any.push(ending(digits));
            any.extend(after_zero.map(ending));
            any.push(written_part);
        }
        MatchMode::Contains => {
            // The trigrams of a number are also those of its written digits, if they are stored.
            let text = std::str::from_utf8(digits).unwrap_or_default();
            any.push(has_trigrams_of(text));
            any.extend(after_zero.map(|d| IndexCondition::TermPrefix(completed(d))));
        }
    }
    any_of(any.into_iter())
}

fn match_padded(keys: KeySet, mode: MatchMode, folded: String) -> Matcher {
    if folded.is_empty() {
        return Matcher::Nothing;
    }
    let needle = match mode {
        MatchMode::Words | MatchMode::Whole => format!(" {folded} "),
        MatchMode::Prefix => format!(" {folded}"),
        MatchMode::Suffix => format!("{folded} "),
        MatchMode::Contains => folded,
    };
    Matcher::Text(Box::new(TextPredicate {
        keys,
        mode,
        finder: Finder::new(needle.as_bytes()).into_owned(),
    }))
}
