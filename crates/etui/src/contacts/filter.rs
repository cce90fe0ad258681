//! [`Filter`]: a condition on contacts.
//!
//! ```
//! use etui::contacts::{Field, Filter, MatchMode};
//!
//! let text: Filter = r#"name:mül* -email:*@example.org (org:"Acme" or phone:*4711)"#.parse()?;
//! let code = Filter::text(Field::Name, MatchMode::Prefix, "mül")
//!     .and(Filter::text(Field::Email, MatchMode::Suffix, "@example.org").not())
//!     .and(
//!         Filter::text(Field::Organization, MatchMode::Words, "Acme")
//!             .or(Filter::text(Field::Phone, MatchMode::Suffix, "4711")),
//!     );
//! assert_eq!(text, code);
//! # Ok::<(), etui::contacts::FilterError>(())
//! ```

use crate::record::keys::Key;
use crate::search::filter::{self, FieldSet, KeySet, MatchMode, Matcher};
use etui_text::phone::{MatchType, Region};

/// A condition on contacts: [`Filter::text`](filter::Filter::text) compares a field, and text is parsed
/// ([`str::parse`]).
pub type Filter = filter::Filter<Field>;

/// A field that filters compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    /// Names, organisation, e-mail and phone.
    Any,
    /// Display, family, given and nick name.
    Name,
    /// The display name (FN).
    Display,
    /// Family name.
    Family,
    /// Given and additional names.
    Given,
    /// Nicknames.
    Nickname,
    /// Organisation and its units.
    Organization,
    /// E-mail addresses.
    Email,
    /// Phone numbers.
    Phone,
    /// The digits of phone numbers as they are written: `030 1234` has the digits 0301234, whatever
    /// the region. Those of an extension count.
    PhoneWritten,
    /// Categories.
    Category,
    /// Notes.
    Note,
    /// Titles and roles.
    Title,
    /// Postal addresses, with city and country.
    Address,
    /// The birthday: `1990`, `1990-05`, `1990-05-17`, or of any year `05-17`, `05`, `may`.
    Birthday,
    /// The kind (KIND): `individual`, `org`, `group` or `location`. A card with an organisation and
    /// without names, or shown as a company, is an `org`.
    Kind,
    /// All of `Any`, and titles, postal addresses, notes, categories and the domains of e-mail
    /// addresses.
    Everywhere,
}

impl Field {
    /// Every field with its names in the text form.
    pub const NAMES: &'static [(&'static str, Field)] = &[
        ("any", Field::Any),
        ("name", Field::Name),
        ("display", Field::Display),
        ("family", Field::Family),
        ("given", Field::Given),
        ("nick", Field::Nickname),
        ("org", Field::Organization),
        ("email", Field::Email),
        ("phone", Field::Phone),
        ("phone.written", Field::PhoneWritten),
        ("category", Field::Category),
        ("label", Field::Category),
        ("note", Field::Note),
        ("title", Field::Title),
        ("address", Field::Address),
        // The parts of an address are looked for in all of it.
        ("city", Field::Address),
        ("postcode", Field::Address),
        ("country", Field::Address),
        ("birthday", Field::Birthday),
        ("kind", Field::Kind),
        ("everywhere", Field::Everywhere),
    ];
}

impl FieldSet for Field {
    const NAMES: &'static [(&'static str, Self)] = Self::NAMES;
    const ANY: Self = Self::Any;
    const PHONES: &'static [(&'static str, Self, MatchType)] = &[
        ("phone", Self::Phone, MatchType::Exact),
        ("phone.national", Self::Phone, MatchType::Nsn),
        ("phone.short", Self::Phone, MatchType::ShortNsn),
    ];
    const KEYS: &'static [(Key, Self)] = &[
        (Key::Display, Self::Display),
        (Key::Family, Self::Family),
        (Key::Given, Self::Given),
        (Key::Nickname, Self::Nickname),
        (Key::Organization, Self::Organization),
        (Key::Email, Self::Email),
        (Key::Phone, Self::Phone),
        (Key::Category, Self::Category),
        (Key::Note, Self::Note),
        (Key::JobTitle, Self::Title),
        (Key::Address, Self::Address),
        (Key::Birthday, Self::Birthday),
        (Key::Component, Self::Kind),
    ];
    const RANKS: &'static [Self] = &[Self::Name, Self::Any, Self::Everywhere];

    fn ranked_last() -> Option<Filter> {
        Some(Filter::text(Self::Kind, MatchMode::Words, ORGANIZATION))
    }

    fn values(self) -> &'static [&'static str] {
        match self {
            Self::Kind => &[INDIVIDUAL, ORGANIZATION, "group", "location"],
            _ => &[],
        }
    }

    fn refuse_text(self, mode: MatchMode, text: &str) -> Option<String> {
        let is_date = || {
            matches!(mode, MatchMode::Words | MatchMode::Whole) && birthday_words(text).is_some()
        };
        (self == Self::Birthday && !is_date()).then(|| {
            format!("\"{text}\" is no birthday; write 1990, 1990-05, 1990-05-17, 05-17, 05 or may")
        })
    }

    fn number_filters(text: &str) -> Vec<Filter> {
        let mut any = vec![
            Filter::text(Field::Phone, MatchMode::Prefix, text),
            Filter::text(Self::Phone, MatchMode::Contains, text),
            Filter::text(Self::PhoneWritten, MatchMode::Contains, text),
        ];
        if text.chars().filter(|c| c.is_numeric()).count() >= MIN_WHOLE_NUMBER {
            any.push(Filter::phone(text, MatchType::Nsn));
        }
        any
    }

    fn written_number(text: &str) -> Option<Filter> {
        let count = |is: fn(&char) -> bool| text.chars().filter(is).count();
        let (digits, letters) = (count(|c| c.is_numeric()), count(|c| c.is_alphabetic()));
        let inner = text.strip_prefix('(').unwrap_or(text);
        let begins = inner.starts_with(|c: char| c.is_numeric() || c == '+');
        let is_plain =
            |c: char| c.is_alphanumeric() || c.is_whitespace() || "+-/().,;#".contains(c);
        // Those are operators of a filter.
        let has_operator = text.contains(" -") || !text.chars().all(is_plain);
        // Letters in place of digits are capitals, or joined to digits: `1-800-flowers`.
        let is_joined = || {
            let bytes = text.as_bytes();
            bytes
                .windows(3)
                .any(|w| matches!(w, [a, b'-', c] if a.is_ascii_digit() && c.is_ascii_alphabetic()))
        };
        let is_dialled = || {
            let capitals = text.chars().filter(|c| c.is_alphabetic());
            digits >= 3
                && letters >= 3
                && digits + letters >= MIN_WHOLE_NUMBER
                && (capitals.clone().all(|c| c.is_ascii_uppercase()) || is_joined())
        };
        let is_number =
            begins && letters > 0 && !has_operator && (digits >= MIN_WHOLE_NUMBER || is_dialled());
        is_number.then(|| Filter::phone(text, MatchType::Nsn))
    }

    fn keys(self) -> KeySet {
        match self {
            Self::Any => KeySet::NAMES
                .with(Key::Organization)
                .with(Key::Email)
                .with(Key::Phone),
            Self::Everywhere => Self::Any
                .keys()
                .with(Key::JobTitle)
                .with(Key::Address)
                .with(Key::Note)
                .with(Key::Category),
            Self::Name => KeySet::NAMES,
            Self::PhoneWritten => KeySet::of(Key::Phone),
            field => KeySet::of_field(field),
        }
    }

    fn compare(self, mode: MatchMode, text: &str, region: Option<Region>) -> Matcher {
        match self {
            Self::Phone => Matcher::match_phone(mode, text, region),
            Self::PhoneWritten => Matcher::match_written_phone(mode, text, region),
            Self::Email => Matcher::match_address(mode, text),
            Self::Any => {
                let mut any = vec![
                    Matcher::match_words(Self::Name.keys(), mode, text),
                    Matcher::match_words(Self::Organization.keys(), mode, text),
                    Matcher::match_address(mode, text),
                ];
                if is_number_like(text) {
                    any.push(Matcher::match_phone(mode, text, region));
                }
                Matcher::Or(any)
            }
            Self::Everywhere => Matcher::Or(vec![
                Self::Any.compare(mode, text, region),
                Matcher::match_words(LONG_TEXTS, mode, text),
                match_domain(mode, text),
            ]),
            Self::Birthday => match birthday_words(text) {
                Some(words) => Matcher::match_words(self.keys(), MatchMode::Words, &words),
                None => Matcher::Nothing,
            },
            // Individuals have no key.
            Self::Kind if text.eq_ignore_ascii_case(INDIVIDUAL) => {
                Matcher::Not(Box::new(Matcher::Present(self.keys())))
            }
            _ => Matcher::match_words(self.keys(), mode, text),
        }
    }
}

/// The kind of a card without KIND.
const INDIVIDUAL: &str = "individual";
/// The kind of an organisation.
pub(super) const ORGANIZATION: &str = "org";

/// Keys of [`Field::Everywhere`] without trigrams.
const LONG_TEXTS: KeySet = KeySet::of(Key::JobTitle)
    .with(Key::Address)
    .with(Key::Note)
    .with(Key::Category);

/// Returns the comparison of a word with the labels of e-mail domains, the last one excepted:
/// `acme` finds `ada@acme.example` and `bo@mail.acme.example`.
fn match_domain(mode: MatchMode, text: &str) -> Matcher {
    let text = text.trim();
    let is_label = |c: char| c.is_alphanumeric() || c == '-' || c == '.';
    if text.is_empty() || !text.chars().all(is_label) {
        return Matcher::Nothing;
    }
    let contains = |part: String| Matcher::match_address(MatchMode::Contains, &part);
    match mode {
        MatchMode::Prefix => Matcher::Or(vec![
            contains(format!("@{text}")),
            contains(format!(".{text}.")),
        ]),
        MatchMode::Words => Matcher::Or(vec![
            contains(format!("@{text}.")),
            contains(format!(".{text}.")),
        ]),
        _ => Matcher::Nothing,
    }
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Returns the words of a birthday in keys: `y1990 m05 d17`, without the parts that are not known.
pub(super) fn birthday_key(year: Option<u16>, month: Option<u8>, day: Option<u8>) -> String {
    let year = year.map(|year| format!("y{year:04}"));
    let month = month.map(|month| format!("m{month:02}"));
    let day = day.map(|day| format!("d{day:02}"));
    let words: Vec<String> = year.into_iter().chain(month).chain(day).collect();
    words.join(" ")
}

/// Returns the words of a birthday's key that a text means; `None` if it means none.
fn birthday_words(text: &str) -> Option<String> {
    let text = text.trim().trim_start_matches("--").to_ascii_lowercase();
    // Three letters distinguish all months.
    let is_name = |month: &&str| text.len() >= 3 && month.starts_with(&text);
    if let Some(month) = MONTHS.iter().position(is_name) {
        return Some(birthday_key(None, Some(month as u8 + 1), None));
    }
    let mut parts = text.split('-').peekable();
    let number = |part: &str, digits: usize| -> Option<u16> {
        let is_number = part.len() == digits && part.bytes().all(|b| b.is_ascii_digit());
        part.parse().ok().filter(|_| is_number)
    };
    let year = match parts.next_if(|part| part.len() == 4) {
        Some(year) => Some(number(year, 4)?),
        None => None,
    };
    let mut part = |max: u16| -> Option<Option<u8>> {
        let Some(part) = parts.next() else {
            return Some(None);
        };
        let found = number(part, 2).filter(|n| (1..=max).contains(n))?;
        Some(u8::try_from(found).ok())
    };
    let (month, day) = (part(12)?, part(31)?);
    let is_whole = parts.next().is_none() && (year.is_some() || month.is_some());
    is_whole.then(|| birthday_key(year, month, day))
}

/// Digits of the shortest text that is compared as a whole phone number.
const MIN_WHOLE_NUMBER: usize = 7;

fn is_number_like(text: &str) -> bool {
    text.chars().any(char::is_numeric)
        && text
            .chars()
            .all(|c| c.is_numeric() || c.is_whitespace() || "+-/().#*".contains(c))
}

impl Filter {
    /// A phone number equals `number`.
    pub fn phone(number: impl Into<String>, strength: MatchType) -> Self {
        Self::PhoneEquals {
            number: number.into(),
            strength,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn birthdays_are_parsed() {
        for (text, words) in [
            ("1990", Some("y1990")),
            ("1990-05", Some("y1990 m05")),
            ("1990-05-17", Some("y1990 m05 d17")),
            ("05-17", Some("m05 d17")),
            ("--05-17", Some("m05 d17")),
            ("05", Some("m05")),
            ("May", Some("m05")),
            ("sept", Some("m09")),
            ("", None),
            ("ma", None),
            ("1990-13", None),
            ("1990-05-17-1", None),
            ("17.5.", None),
            ("199", None),
            ("19900", None),
        ] {
            assert_eq!(birthday_words(text).as_deref(), words, "{text}");
        }
        let refused = "bo birthday:soon"
            .parse::<Filter>()
            .unwrap_err()
            .to_string();
        assert_eq!(
            refused,
            "in the filter, at character 13: \"soon\" is no birthday; write 1990, 1990-05, \
             1990-05-17, 05-17, 05 or may"
        );
    }
}
