//! The score of a pair of contacts: points for equal values, less for contradictions.
//!
//! ```text
//! same name       50   of one word 30, of many contacts 35     phone    50   of several 25, of many 5
//! similar name    25                                            e-mail   50   of several 25, of many 5
//! one word equal -10   different names -30                      further ones of either, 5 each
//! same birthday   35   different birthdays -40, -15 with the    organisation 25 with a similar name,
//!                      same name and phone or e-mail                          10 with the same
//! ```
//!
//! A pair is likely from 50 on: a name alone, or a number or address alone where one contact has no
//! name. A phone shared by a family, with different given names, stays below.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use etui_text::fold;

use super::{DuplicateReason, KeyHash, MAX_GROUP, name_words};
use crate::contacts::PartialDate;
use crate::record::keys::{Key, Keys, PhoneParts};

/// Contacts from which on a name is a common one.
const COMMON_NAME: usize = 5;
/// Shortest word in which a typing mistake is looked for.
const MIN_TYPO_WORD: usize = 4;

/// A contact with the values that are compared.
pub(super) struct ComparedContact {
    /// The words of the name, in order; empty if it has none of its own.
    name: Vec<String>,
    name_key: KeyHash,
    /// Digits and extension, and whether the digits begin with the country code.
    phones: BTreeMap<(String, String), bool>,
    emails: BTreeSet<String>,
    organizations: BTreeSet<String>,
    birthday: Option<PartialDate>,
}

impl ComparedContact {
    pub(super) fn new(keys: &[u8], birthday: Option<PartialDate>) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        let words = name_words(keys);
        let mut contact = Self {
            name: words.iter().map(|word| text(word)).collect(),
            name_key: KeyHash::name(&words),
            phones: BTreeMap::new(),
            emails: BTreeSet::new(),
            organizations: BTreeSet::new(),
            birthday,
        };
        for (key, value) in Keys(keys) {
            match key {
                Key::Phone => {
                    let phone = PhoneParts::parse(value);
                    let phone =
                        phone.map(|p| ((text(p.digits), text(p.extension)), p.country_len > 0));
                    contact.phones.extend(phone);
                }
                Key::Email => drop(contact.emails.insert(text(value))),
                Key::Organization => drop(contact.organizations.insert(text(value))),
                _ => {}
            }
        }
        // A name that only repeats an address is no second sign.
        if contact.is_named_by_address() {
            contact.name.clear();
        }
        contact
    }

    /// Returns true if the name is an address or a number that stands for one.
    fn is_named_by_address(&self) -> bool {
        let is_address = |address: &String| {
            let mut words = String::new();
            fold::push_folded_words(address, &mut words);
            let mut words: Vec<&str> = words.split(' ').filter(|word| !word.is_empty()).collect();
            words.sort_unstable();
            self.name == words
        };
        self.emails.iter().any(is_address)
            || self
                .name
                .iter()
                .all(|word| !word.contains(|c: char| c.is_alphabetic()))
    }
}

/// Two names compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameMatch {
    /// One of them is missing.
    Unknown,
    Same,
    Similar,
    /// They share a word, such as a family name.
    Partial,
    Different,
}

/// Returns the score of a pair and its reasons. `sharers` is the number of contacts of each key that
/// more than two have.
pub(super) fn score_pair(
    a: &ComparedContact,
    b: &ComparedContact,
    sharers: &HashMap<KeyHash, usize>,
) -> (u8, Vec<DuplicateReason>) {
    let mut reasons = Vec::new();
    let mut score: i32 = 0;
    // The keys that two contacts have are not counted.
    let shared_by = |key: KeyHash| sharers.get(&key).copied().unwrap_or(2);
    let name = compare_names(&a.name, &b.name);
    match name {
        NameMatch::Same => {
            reasons.push(DuplicateReason::SameName);
            score += match a.name.len() {
                1 => 30,
                _ if shared_by(a.name_key) >= COMMON_NAME => 35,
                _ => 50,
            };
        }
        NameMatch::Similar => {
            reasons.push(DuplicateReason::SimilarName);
            score += 25;
        }
        NameMatch::Partial => {
            reasons.push(DuplicateReason::DifferentName);
            score -= 10;
        }
        NameMatch::Different => {
            reasons.push(DuplicateReason::DifferentName);
            score -= 30;
        }
        NameMatch::Unknown => {}
    }
    let by_sharers = |sharers: usize| match sharers {
        ..=2 => 50,
        3..=MAX_GROUP => 25,
        _ => 5,
    };
    let mut phones = 0;
    for ((digits, extension), has_country) in &a.phones {
        if !b.phones.contains_key(&(digits.clone(), extension.clone())) {
            continue;
        }
        let key = KeyHash::phone(digits.as_bytes(), extension.as_bytes());
        phones = i32::max(phones + 5, by_sharers(shared_by(key)));
        let plus = if *has_country { "+" } else { "" };
        let text = match extension.is_empty() {
            true => format!("{plus}{digits}"),
            false => format!("{plus}{digits} ext. {extension}"),
        };
        reasons.push(DuplicateReason::SamePhone(text));
    }
    let mut emails = 0;
    for address in a.emails.intersection(&b.emails) {
        // Stored keys have a space on either side.
        let key = KeyHash::email(format!(" {address} ").as_bytes());
        emails = i32::max(emails + 5, by_sharers(shared_by(key)));
        reasons.push(DuplicateReason::SameEmail(address.clone()));
    }
    score += phones + emails;
    // The same desk of two firms: `Support`, `Reception`.
    let has_others = |a: bool, b: bool| !a && !b;
    let is_elsewhere = phones + emails == 0
        && has_others(a.organizations.is_empty(), b.organizations.is_empty())
        && a.organizations.is_disjoint(&b.organizations)
        && (has_others(a.phones.is_empty(), b.phones.is_empty())
            || has_others(a.emails.is_empty(), b.emails.is_empty()));
    if is_elsewhere {
        score -= 15;
    }
    match (a.birthday, b.birthday) {
        (Some(a), Some(b)) if is_same_day(a, b) => {
            reasons.push(DuplicateReason::SameBirthday);
            score += 35;
        }
        (Some(a), Some(b)) if is_other_day(a, b) => {
            reasons.push(DuplicateReason::DifferentBirthday);
            let is_mistake = name == NameMatch::Same && phones + emails > 0;
            score -= if is_mistake { 15 } else { 40 };
        }
        _ => {}
    }
    let has_same_organization = !a.organizations.is_disjoint(&b.organizations);
    if has_same_organization && matches!(name, NameMatch::Same | NameMatch::Similar) {
        reasons.push(DuplicateReason::SameOrganization);
        score += if name == NameMatch::Similar { 25 } else { 10 };
    }
    // After the clamp it always fits.
    let score = u8::try_from(score.clamp(0, 100)).unwrap_or_default();
    (score, reasons)
}

/// Returns true if month and day are the same, and the years do not differ.
fn is_same_day(a: PartialDate, b: PartialDate) -> bool {
    let has_day = a.month.is_some() && a.day.is_some();
    let is_same_year = a.year.is_none() || b.year.is_none() || a.year == b.year;
    has_day && (a.month, a.day) == (b.month, b.day) && is_same_year
}

/// Returns true if a part that both dates have differs.
fn is_other_day(a: PartialDate, b: PartialDate) -> bool {
    fn differ<T: PartialEq>(a: Option<T>, b: Option<T>) -> bool {
        a.is_some() && b.is_some() && a != b
    }
    differ(a.year, b.year) || differ(a.month, b.month) || differ(a.day, b.day)
}

fn compare_names(a: &[String], b: &[String]) -> NameMatch {
    if a.is_empty() || b.is_empty() {
        return NameMatch::Unknown;
    }
    if a == b {
        return NameMatch::Same;
    }
    let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    // An initial is no shared word.
    let has_equal = few.iter().any(|word| word.len() > 1 && many.contains(word));
    // A name of another length shares a word; a name of the same length may be mistyped.
    let is_alike = has_equal || few.len() == many.len();
    if is_alike && has_all_words(few, many) {
        return NameMatch::Similar;
    }
    match has_equal {
        true => NameMatch::Partial,
        false => NameMatch::Different,
    }
}

/// Returns true if each word of `few` is one of `many`, each used once: exactly, as an initial, or
/// with one typing mistake.
fn has_all_words(few: &[String], many: &[String]) -> bool {
    let mut left: Vec<&String> = many.iter().collect();
    // Exact words first, so that a similar one is not used up.
    let (exact, others): (Vec<&String>, Vec<&String>) =
        few.iter().partition(|word| many.contains(word));
    exact.into_iter().chain(others).all(|word| {
        let at = left.iter().position(|other| *other == word);
        let at = at.or_else(|| left.iter().position(|other| is_similar_word(word, other)));
        at.map(|at| left.swap_remove(at)).is_some()
    })
}

fn is_similar_word(a: &str, b: &str) -> bool {
    let is_initial =
        |short: &str, long: &str| short.chars().count() == 1 && long.starts_with(short);
    let is_long = a.chars().count() >= MIN_TYPO_WORD && b.chars().count() >= MIN_TYPO_WORD;
    is_initial(a, b) || is_initial(b, a) || (is_long && strsim::osa_distance(a, b) <= 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(name: &str) -> Vec<String> {
        let mut words: Vec<String> = name.split(' ').map(str::to_owned).collect();
        words.sort_unstable();
        words
    }

    #[test]
    fn names_are_compared_by_words() {
        for (a, b, expected) in [
            ("ada lovelace", "lovelace ada", NameMatch::Same),
            ("ada lovelace", "ada king lovelace", NameMatch::Similar),
            ("ada lovelace", "a lovelace", NameMatch::Similar),
            ("ada lovelace", "ada lovelcae", NameMatch::Similar),
            ("ada lovelace", "ada", NameMatch::Similar),
            ("anna muller", "peter muller", NameMatch::Partial),
            ("jan meyer", "jon meyer", NameMatch::Partial),
            ("ada lovelace", "alan turing", NameMatch::Different),
            ("a b", "ada", NameMatch::Different),
        ] {
            assert_eq!(compare_names(&words(a), &words(b)), expected, "{a}, {b}");
            assert_eq!(compare_names(&words(b), &words(a)), expected, "{b}, {a}");
        }
        assert_eq!(compare_names(&[], &words("ada")), NameMatch::Unknown);
    }

    #[test]
    fn birthdays_without_a_year_are_compared_by_day() {
        let date = |text| PartialDate::parse(text).unwrap();
        for (a, b, same, other) in [
            ("1815-12-10", "1815-12-10", true, false),
            ("1815-12-10", "--12-10", true, false),
            ("1815-12-10", "1816-12-10", false, true),
            ("1815", "1815-12-10", false, false),
            ("--12-11", "1815-12-10", false, true),
        ] {
            assert_eq!(is_same_day(date(a), date(b)), same, "{a}, {b}");
            assert_eq!(is_other_day(date(a), date(b)), other, "{a}, {b}");
        }
    }
}
