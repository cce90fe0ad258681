//! Comparing a filter with a record's keys, and finding index lookups that give its candidates.
//!
//! [`Matcher`] is a filter made ready: texts folded, numbers parsed. `matches` is the truth;
//! `lookups` only has to find at least what matches.

use memchr::memmem::{self, Finder};

use super::{Field, Filter, Match};
use crate::contacts::keys::{Key, Keys, phone_parts};
use crate::index::{Lookup, grams, terms};
use crate::text::fold;
use crate::text::phone::{PhoneNumber, Region, Strength, prefix_forms, suffix_forms};

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

    /// Index lookups that together find at least every record that matches, and how much they
    /// are likely to find (smaller is better). `None`: only a walk over all finds them.
    pub(crate) fn lookups(&self) -> Option<(Vec<Lookup>, u32)> {
        match self {
            Self::All | Self::Not(_) | Self::Present(_) => None,
            Self::Nothing => Some((Vec::new(), 0)),
            Self::And(parts) => parts.iter().filter_map(Self::lookups).min_by_key(|l| l.1),
            Self::Or(parts) => {
                let mut all = (Vec::new(), 0);
                for part in parts {
                    let (lookups, cost) = part.lookups()?;
                    all.0.extend(lookups);
                    all.1 += cost;
                }
                Some(all)
            }
            Self::Words(words) => words.lookups(),
            Self::Phone(phone) => phone.lookups(),
        }
    }
}

impl Words {
    fn matches(&self, value: &[u8]) -> bool {
        match self.how {
            Match::Whole => self.finder.needle() == value,
            _ => self.finder.find(value).is_some(),
        }
    }

    fn lookups(&self) -> Option<(Vec<Lookup>, u32)> {
        let needle = self.finder.needle();
        let indexed_by_grams = !matches!(self.field, Field::Note | Field::Category);
        let kind = match self.field {
            Field::Email => terms::EMAIL,
            _ => terms::WORD,
        };
        // Words with a space on both sides are whole; the longest is likely the rarest.
        let inside = needle.strip_prefix(b" ").zip(needle.strip_suffix(b" "));
        let parts: Vec<&[u8]> = needle.split(|&b| b == b' ').collect();
        let whole = parts
            .iter()
            .enumerate()
            .filter(|(i, w)| *i > 0 && *i + 1 < parts.len() && !w.is_empty())
            .map(|(_, w)| *w)
            .max_by_key(|w| w.len());
        if let Some(word) = whole {
            return Some((
                vec![Lookup::Term(terms::term(kind, word))],
                rank(10, word.len()),
            ));
        }
        if inside.is_none()
            && let Some(start) = needle.strip_prefix(b" ")
        {
            return Some((
                vec![Lookup::TermPrefix(terms::term(kind, start))],
                rank(20, start.len()),
            ));
        }
        let mut found = Vec::new();
        if indexed_by_grams && let Ok(text) = std::str::from_utf8(needle) {
            grams::of_text(text, |g| found.push(g));
        }
        (!found.is_empty()).then(|| {
            let cost = rank(24, found.len() + 2);
            (vec![Lookup::Grams(found)], cost)
        })
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

    fn lookups(&self) -> Option<(Vec<Lookup>, u32)> {
        let backwards = |digits: &[u8]| {
            Lookup::TermPrefix(terms::term(terms::PHONE_REVERSED, &terms::reversed(digits)))
        };
        match self {
            Self::Equals(number, Strength::Exact) => {
                let term = terms::term(terms::PHONE, number.digits().as_bytes());
                Some((vec![Lookup::Term(term)], 1))
            }
            Self::Equals(number, strength) => {
                // What two equal numbers have in common: the end of the national number; as
                // dialled, without the trunk prefix that may stand before it.
                let national = number.national().as_bytes();
                let before = match (strength, number.country_len()) {
                    (Strength::Short, _) => national.len().saturating_sub(7),
                    (_, 0) => (national.len() / 2).min(3),
                    _ => 0,
                };
                Some((vec![backwards(&national[before..])], 2))
            }
            Self::Begins(forms) => Some((
                forms
                    .iter()
                    .map(|f| Lookup::TermPrefix(terms::term(terms::PHONE, f)))
                    .collect(),
                rank(20, forms.iter().map(Vec::len).min().unwrap_or(0)),
            )),
            Self::Ends(forms) => Some((
                forms.iter().map(|f| backwards(f)).collect(),
                rank(16, forms.iter().map(Vec::len).min().unwrap_or(0)),
            )),
            Self::Contains(part) => {
                let mut found = Vec::new();
                grams::of_text(std::str::from_utf8(part).ok()?, |g| found.push(g));
                (!found.is_empty()).then(|| (vec![Lookup::Grams(found)], rank(30, part.len())))
            }
        }
    }
}

/// Longer texts are rarer.
fn rank(base: u32, len: usize) -> u32 {
    base.saturating_sub(u32::try_from(len).unwrap_or(u32::MAX))
        .max(1)
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
        Match::Contains => Phone::Contains(text.bytes().filter(u8::is_ascii_digit).collect()),
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
