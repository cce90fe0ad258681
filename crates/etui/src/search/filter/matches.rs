//! Comparing a filter with a record's keys, and the looks into the index that find the same.
//!
//! [`Matcher`] is a filter made ready: texts folded, numbers parsed. `matches` is the truth;
//! a look finds at least what matches, and tells whether it finds nothing else.

use memchr::memmem::{self, Finder};

use super::{FieldSet, Filter, KeySet, Match};
use crate::record::keys::{Key, Keys, phone_parts};
use crate::search::index::look::Look;
use crate::search::index::{grams, terms};
use etui_text::fold;
use etui_text::phone::{PhoneNumber, Region, Strength, decimal_digits, prefix_forms, suffix_forms};

/// A filter made ready to be compared.
pub enum Matcher {
    All,
    Nothing,
    And(Vec<Matcher>),
    Or(Vec<Matcher>),
    Not(Box<Matcher>),
    Present(KeySet),
    Words(Box<Words>),
    Phone(Phone),
}

/// A substring of a padded value (`keys`).
pub struct Words {
    keys: KeySet,
    how: Match,
    finder: Finder<'static>,
}

pub enum Phone {
    Equals(PhoneNumber, Strength),
    Begins(Vec<Vec<u8>>),
    Ends(Vec<Vec<u8>>),
    Contains(Vec<u8>),
}

impl Matcher {
    /// A filter made ready. `region` completes national phone numbers.
    pub(crate) fn new<F: FieldSet>(filter: &Filter<F>, region: Option<Region>) -> Self {
        let all = |parts: &[Filter<F>]| parts.iter().map(|p| Self::new(p, region)).collect();
        match filter {
            Filter::All => Self::All,
            Filter::And(parts) => Self::And(all(parts)),
            Filter::Or(parts) => Self::Or(all(parts)),
            Filter::Not(inner) => Self::Not(Box::new(Self::new(inner, region))),
            Filter::Present(field) => Self::Present(field.keys()),
            Filter::PhoneEquals { number, strength } => F::same_phone(number, *strength, region),
            Filter::Text { field, how, text } => field.compare(*how, text, region),
        }
    }

    /// Values under these keys have words.
    pub(crate) fn words(keys: KeySet, how: Match, text: &str) -> Self {
        padded(keys, how, fold::words(text))
    }

    /// An e-mail address.
    pub(crate) fn address(how: Match, text: &str) -> Self {
        padded(KeySet::of(Key::Email), how, fold::address(text))
    }

    /// A phone number, as equal as `strength` says.
    pub(crate) fn same_phone(text: &str, strength: Strength, region: Option<Region>) -> Self {
        match PhoneNumber::parse(text, region) {
            Some(number) => Self::Phone(Phone::Equals(number, strength)),
            None => Self::Nothing,
        }
    }

    /// A phone number, or a part of one.
    pub(crate) fn phone(how: Match, text: &str, region: Option<Region>) -> Self {
        let bytes = |forms: Vec<String>| -> Vec<Vec<u8>> {
            forms
                .into_iter()
                .map(String::into_bytes)
                .filter(|f| !f.is_empty())
                .collect()
        };
        let phone = match how {
            Match::Words | Match::Whole => {
                return Self::same_phone(text, Strength::Exact, region);
            }
            Match::Prefix => Phone::Begins(bytes(prefix_forms(text, region))),
            Match::Suffix => Phone::Ends(bytes(suffix_forms(text, region))),
            Match::Contains => Phone::Contains(decimal_digits(text)),
        };
        match &phone {
            Phone::Begins(f) | Phone::Ends(f) if f.is_empty() => Self::Nothing,
            Phone::Contains(p) if p.is_empty() => Self::Nothing,
            _ => Self::Phone(phone),
        }
    }

    /// Whether a record with these keys is meant.
    pub(crate) fn matches(&self, keys: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Nothing => false,
            Self::And(parts) => parts.iter().all(|p| p.matches(keys)),
            Self::Or(parts) => parts.iter().any(|p| p.matches(keys)),
            Self::Not(inner) => !inner.matches(keys),
            Self::Present(wanted) => Keys(keys).any(|(k, _)| wanted.has(k)),
            Self::Words(words) => {
                Keys(keys).any(|(k, value)| words.keys.has(k) && words.matches(value))
            }
            Self::Phone(phone) => Keys(keys).any(|(k, value)| {
                k == Key::Phone && phone_parts(value).is_some_and(|number| phone.matches(number))
            }),
        }
    }

    /// What finds the records that a comparison of one field means. `None`: this is no such
    /// comparison.
    pub(crate) fn look(&self) -> Option<Found> {
        match self {
            Self::All | Self::Nothing | Self::And(_) | Self::Or(_) | Self::Not(_) => None,
            Self::Present(keys) => Some(Found {
                look: any(keys
                    .iter()
                    .filter_map(terms::kind)
                    .map(|kind| Look::Term(vec![kind]))),
                exact: true,
            }),
            Self::Words(words) => Some(words.look()),
            Self::Phone(phone) => Some(phone.look()),
        }
    }
}

/// A look into the index.
pub(crate) struct Found {
    pub(crate) look: Look,
    /// Whether it finds nothing but what matches.
    pub(crate) exact: bool,
}

fn any(looks: impl Iterator<Item = Look>) -> Look {
    let mut looks: Vec<_> = looks.collect();
    match looks.len() {
        1 => looks.remove(0),
        _ => Look::Any(looks),
    }
}

fn all(mut looks: Vec<Look>) -> Look {
    match looks.len() {
        1 => looks.remove(0),
        _ => Look::All(looks),
    }
}

/// Records that have all grams of `text`, or the ones that it is the beginning of.
fn by_grams(text: &str) -> Look {
    if let Some(range) = grams::beginning_with(text) {
        return Look::GramRange(range);
    }
    let mut found = Vec::new();
    grams::of_text(text, |g| found.push(g));
    found.sort_unstable();
    found.dedup();
    all(found.into_iter().map(Look::Gram).collect())
}

impl Words {
    fn matches(&self, value: &[u8]) -> bool {
        match self.how {
            Match::Whole => self.finder.needle() == value,
            _ => self.finder.find(value).is_some(),
        }
    }

    fn is_address(&self) -> bool {
        self.keys == KeySet::of(Key::Email)
    }

    fn look(&self) -> Found {
        let kinds = || self.keys.of_words().iter().filter_map(terms::kind);
        let needle = self.finder.needle();
        let term = |word: &[u8]| any(kinds().map(|k| Look::Term(terms::term(k, word))));
        let prefix = |word: &[u8]| any(kinds().map(|k| Look::Prefix(terms::term(k, word))));
        // A cut term stands for every word that begins like it.
        let whole = |word: &[u8]| word.len() < terms::MAX_TERM;
        // "a b ": words, the first of them with its beginning if a space stands before it, the
        // last with its end if one stands behind it.
        let mut words: Vec<&[u8]> = needle.split(|&b| b == b' ').collect();
        let (begins, ends) = (needle.starts_with(b" "), needle.ends_with(b" "));
        let last = match ends {
            true => None,
            false => words.pop(),
        };
        let first = match begins || words.is_empty() {
            true => None,
            false => Some(words.remove(0)),
        };
        words.retain(|w| !w.is_empty());
        let mut looks: Vec<Look> = words.iter().map(|w| term(w)).collect();
        let single = words.len() == 1 && first.is_none() && last.is_none();
        if begins || !looks.is_empty() {
            if let Some(last) = last.filter(|l| !l.is_empty()) {
                looks.push(prefix(last));
            }
            let exact = match (single, last) {
                (true, _) => self.how != Match::Whole && whole(words[0]),
                (false, Some(last)) => words.is_empty() && first.is_none() && whole(last),
                _ => false,
            };
            return Found {
                exact: exact && self.keys.is_told_by_words()
                    // An address is one word.
                    || self.is_address() && single && whole(words[0]),
                look: all(looks),
            };
        }
        if self.is_address()
            && let Some(end) = needle.strip_suffix(b" ")
            && !end.is_empty()
            && end
                .iter()
                .rposition(|&b| b == b'@')
                .is_none_or(|at| at == 0)
        {
            return Found {
                exact: end.len() < terms::MAX_TERM,
                look: Look::Prefix(terms::term(terms::HOST, &terms::reversed(end))),
            };
        }
        if self.keys.has_grams()
            && let Ok(text) = std::str::from_utf8(needle)
        {
            return Found {
                exact: false,
                look: by_grams(text),
            };
        }
        // Of "a b" in a note, the end of one word and the beginning of the next.
        let look = match (first, last) {
            (Some(_), Some(last)) if !last.is_empty() => prefix(last),
            (first, last) => {
                let part = first.or(last).unwrap_or_default();
                any(kinds().map(|k| Look::Inside(k, part.to_vec())))
            }
        };
        Found { look, exact: false }
    }
}

impl Phone {
    fn matches(&self, (country, digits, extension): (u8, &[u8], &[u8])) -> bool {
        match self {
            Self::Equals(wanted, strength) => wanted.equals(
                &PhoneNumber::from_kept(digits, country, extension),
                *strength,
            ),
            Self::Begins(forms) => forms.iter().any(|f| digits.starts_with(f)),
            Self::Ends(forms) => forms.iter().any(|f| digits.ends_with(f)),
            Self::Contains(part) => memmem::find(digits, part).is_some(),
        }
    }

    /// What two equal numbers have in common: their last digits. Before them, one may be dialled
    /// with trunk prefix, carrier code, or digits that go into the middle within the country.
    fn common_end(number: &PhoneNumber, strength: Strength) -> &[u8] {
        let common = match strength {
            Strength::Short => 7,
            _ => 6,
        };
        let national = number.national().as_bytes();
        &national[national.len().saturating_sub(common)..]
    }

    fn look(&self) -> Found {
        let backwards = |digits: &[u8]| {
            Look::Prefix(terms::term(terms::PHONE_REVERSED, &terms::reversed(digits)))
        };
        let look = match self {
            Self::Equals(number, Strength::Exact) => {
                Look::Term(terms::term(terms::PHONE, number.digits().as_bytes()))
            }
            Self::Equals(number, strength) => backwards(Self::common_end(number, *strength)),
            Self::Begins(forms) => any(forms
                .iter()
                .map(|f| Look::Prefix(terms::term(terms::PHONE, f)))),
            Self::Ends(forms) => any(forms.iter().map(|f| backwards(f))),
            // Only ASCII digits are kept.
            Self::Contains(part) => by_grams(std::str::from_utf8(part).unwrap_or_default()),
        };
        let exact = match self {
            Self::Begins(forms) | Self::Ends(forms) => {
                forms.iter().all(|f| f.len() < terms::MAX_TERM)
            }
            _ => false,
        };
        Found { look, exact }
    }
}

fn padded(keys: KeySet, how: Match, folded: String) -> Matcher {
    if folded.is_empty() {
        return Matcher::Nothing;
    }
    let needle = match how {
        Match::Words | Match::Whole => format!(" {folded} "),
        Match::Prefix => format!(" {folded}"),
        Match::Suffix => format!("{folded} "),
        Match::Contains => folded,
    };
    Matcher::Words(Box::new(Words {
        keys,
        how,
        finder: Finder::new(needle.as_bytes()).into_owned(),
    }))
}
