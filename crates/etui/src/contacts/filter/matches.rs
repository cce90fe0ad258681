//! Comparing a filter with a record's keys, and the looks into the index that find the same.
//!
//! [`Matcher`] is a filter made ready: texts folded, numbers parsed. `matches` is the truth;
//! a look finds at least what matches, and tells whether it finds nothing else.

mod sieve;

use memchr::memmem::{self, Finder};

use super::{Field, Filter, Match};
use crate::collection::keys::{Key, Keys, phone_parts};
use crate::index::look::Look;
use crate::index::{grams, terms};
use crate::text::fold;
use crate::text::phone::{
    PhoneNumber, Region, Strength, decimal_digits, prefix_forms, suffix_forms,
};

/// A filter made ready to be compared.
pub(crate) enum Matcher {
    All,
    Nothing,
    And(Vec<Matcher>),
    Or(Vec<Matcher>),
    Not(Box<Matcher>),
    Present(Field),
    Words(Box<Words>),
    Phone(Phone),
}

/// A substring of a padded value (`keys`).
pub(crate) struct Words {
    field: Field,
    how: Match,
    finder: Finder<'static>,
}

pub(crate) enum Phone {
    Equals(PhoneNumber, Strength),
    Begins(Vec<Vec<u8>>),
    Ends(Vec<Vec<u8>>),
    Contains(Vec<u8>),
}

impl Matcher {
    pub(crate) fn new(filter: &Filter, region: Option<Region>) -> Self {
        let all = |parts: &[Filter]| parts.iter().map(|p| Self::new(p, region)).collect();
        match filter {
            Filter::All => Self::All,
            Filter::And(parts) => Self::And(all(parts)),
            Filter::Or(parts) => Self::Or(all(parts)),
            Filter::Not(inner) => Self::Not(Box::new(Self::new(inner, region))),
            Filter::Present(field) => Self::Present(*field),
            Filter::PhoneEquals { number, strength } => equals(number, *strength, region),
            Filter::Text { field, how, text } => match field {
                Field::Phone => phone(*how, text, region),
                Field::Email => address(*how, text),
                Field::Any => {
                    let mut any = vec![
                        words(Field::Name, *how, text),
                        words(Field::Organization, *how, text),
                        address(*how, text),
                    ];
                    if looks_like_a_number(text) {
                        any.push(phone(*how, text, region));
                    }
                    Self::Or(any)
                }
                _ => words(*field, *how, text),
            },
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
            Self::Present(field) => Keys(keys).any(|(k, _)| belongs(k, *field)),
            Self::Words(words) => {
                Keys(keys).any(|(k, value)| belongs(k, words.field) && words.matches(value))
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
            Self::Present(field) => {
                // Of the field itself: a name may be without a display name that says anything.
                let kinds = match field {
                    Field::Display => b"d",
                    _ => kinds(*field),
                };
                Some(Found {
                    look: any(kinds.iter().map(|&kind| Look::Term(vec![kind]))),
                    exact: true,
                })
            }
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

/// The kinds of terms that a field's words or values are under.
fn kinds(field: Field) -> &'static [u8] {
    match field {
        Field::Any => b"dfgnoep",
        // A word of the display name is under another name if it is in one.
        Field::Name | Field::Display => b"dfgn",
        Field::Family => b"f",
        Field::Given => b"g",
        Field::Nickname => b"n",
        Field::Organization => b"o",
        Field::Email => b"e",
        Field::Phone => b"p",
        Field::Category => b"c",
        Field::Note => b"t",
    }
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

    fn look(&self) -> Found {
        let kinds = kinds(self.field);
        let needle = self.finder.needle();
        let term = |word: &[u8]| any(kinds.iter().map(|&k| Look::Term(terms::term(k, word))));
        let prefix = |word: &[u8]| any(kinds.iter().map(|&k| Look::Prefix(terms::term(k, word))));
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
            // An address is one word.
            let is_address = self.field == Field::Email;
            return Found {
                exact: exact && self.field != Field::Display
                    || is_address && single && whole(words[0]),
                look: all(looks),
            };
        }
        if self.field == Field::Email
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
        if !matches!(self.field, Field::Note | Field::Category)
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
                any(kinds.iter().map(|&k| Look::Inside(k, part.to_vec())))
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

fn belongs(key: Key, field: Field) -> bool {
    match field {
        Field::Any => !matches!(key, Key::Category | Key::Note),
        Field::Name => matches!(key, Key::Display | Key::Family | Key::Given | Key::Nickname),
        Field::Display => key == Key::Display,
        Field::Family => key == Key::Family,
        Field::Given => key == Key::Given,
        Field::Nickname => key == Key::Nickname,
        Field::Organization => key == Key::Organization,
        Field::Email => key == Key::Email,
        Field::Phone => key == Key::Phone,
        Field::Category => key == Key::Category,
        Field::Note => key == Key::Note,
    }
}

fn words(field: Field, how: Match, text: &str) -> Matcher {
    padded(field, how, fold::words(text))
}

fn address(how: Match, text: &str) -> Matcher {
    padded(Field::Email, how, fold::address(text))
}

fn padded(field: Field, how: Match, folded: String) -> Matcher {
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
        field,
        how,
        finder: Finder::new(needle.as_bytes()).into_owned(),
    }))
}

fn equals(text: &str, strength: Strength, region: Option<Region>) -> Matcher {
    match PhoneNumber::parse(text, region) {
        Some(number) => Matcher::Phone(Phone::Equals(number, strength)),
        None => Matcher::Nothing,
    }
}

fn phone(how: Match, text: &str, region: Option<Region>) -> Matcher {
    let bytes = |forms: Vec<String>| -> Vec<Vec<u8>> {
        forms
            .into_iter()
            .map(String::into_bytes)
            .filter(|f| !f.is_empty())
            .collect()
    };
    let phone = match how {
        Match::Words | Match::Whole => return equals(text, Strength::Exact, region),
        Match::Prefix => Phone::Begins(bytes(prefix_forms(text, region))),
        Match::Suffix => Phone::Ends(bytes(suffix_forms(text, region))),
        Match::Contains => Phone::Contains(decimal_digits(text)),
    };
    match &phone {
        Phone::Begins(f) | Phone::Ends(f) if f.is_empty() => Matcher::Nothing,
        Phone::Contains(p) if p.is_empty() => Matcher::Nothing,
        _ => Matcher::Phone(phone),
    }
}

fn looks_like_a_number(text: &str) -> bool {
    text.chars().any(char::is_numeric)
        && text
            .chars()
            .all(|c| c.is_numeric() || c.is_whitespace() || "+-/().#*".contains(c))
}
