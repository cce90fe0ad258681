//! [`Filter`]: a condition on contacts.
//!
//! ```
//! use etui::contacts::Filter;
//!
//! let text: Filter = r#"name:mül* -email:*@example.org (org:"Acme" or phone:*4711)"#.parse()?;
//! let code = Filter::name_prefix("mül")
//!     .and(Filter::email_suffix("@example.org").not())
//!     .and(Filter::organization("Acme").or(Filter::phone_suffix("4711")));
//! assert_eq!(text, code);
//! # Ok::<(), etui::contacts::FilterError>(())
//! ```

use crate::record::keys::Key;
use crate::search::filter::{self, FieldSet, KeySet, MatchMode, Matcher};
use etui_text::phone::{MatchType, Region};

/// A condition on contacts. Built by the functions below, or parsed from text ([`str::parse`]).
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
}

impl Field {
    /// Every field with its name in the text form.
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
        ("note", Field::Note),
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
    ];

    fn number_filters(text: &str) -> Vec<Filter> {
        let mut any = vec![
            Filter::phone_prefix(text),
            Filter::text(Self::Phone, MatchMode::Contains, text),
            Filter::text(Self::PhoneWritten, MatchMode::Contains, text),
        ];
        if text.chars().filter(|c| c.is_numeric()).count() >= MIN_WHOLE_NUMBER {
            any.push(Filter::phone(text, MatchType::Nsn));
        }
        any
    }

    fn keys(self) -> KeySet {
        match self {
            Self::Any => KeySet::NAMES
                .with(Key::Organization)
                .with(Key::Email)
                .with(Key::Phone),
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
            _ => Matcher::match_words(self.keys(), mode, text),
        }
    }
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
    /// A name has these words.
    pub fn name(words: impl Into<String>) -> Self {
        Self::text(Field::Name, MatchMode::Words, words)
    }

    /// A word of a name starts with `start`.
    pub fn name_prefix(start: impl Into<String>) -> Self {
        Self::text(Field::Name, MatchMode::Prefix, start)
    }

    /// A word of a name ends with `end`.
    pub fn name_suffix(end: impl Into<String>) -> Self {
        Self::text(Field::Name, MatchMode::Suffix, end)
    }

    /// The organisation or one of its units has these words.
    pub fn organization(words: impl Into<String>) -> Self {
        Self::text(Field::Organization, MatchMode::Words, words)
    }

    /// An e-mail address equals `address`.
    pub fn email(address: impl Into<String>) -> Self {
        Self::text(Field::Email, MatchMode::Words, address)
    }

    /// An e-mail address starts with `start`.
    pub fn email_prefix(start: impl Into<String>) -> Self {
        Self::text(Field::Email, MatchMode::Prefix, start)
    }

    /// An e-mail address ends with `end`, such as `@example.org`.
    pub fn email_suffix(end: impl Into<String>) -> Self {
        Self::text(Field::Email, MatchMode::Suffix, end)
    }

    /// A phone number equals `number`.
    pub fn phone(number: impl Into<String>, strength: MatchType) -> Self {
        Self::PhoneEquals {
            number: number.into(),
            strength,
        }
    }

    /// A phone number starts with `start`, national or international.
    pub fn phone_prefix(start: impl Into<String>) -> Self {
        Self::text(Field::Phone, MatchMode::Prefix, start)
    }

    /// A phone number ends with `end`.
    pub fn phone_suffix(end: impl Into<String>) -> Self {
        Self::text(Field::Phone, MatchMode::Suffix, end)
    }

    /// A name, organisation, e-mail address or phone number contains the text.
    pub fn contains(text: impl Into<String>) -> Self {
        Self::text(Field::Any, MatchMode::Contains, text)
    }
}
