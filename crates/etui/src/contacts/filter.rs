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
        ("category", Field::Category),
        ("note", Field::Note),
    ];
}

impl FieldSet for Field {
    const NAMES: &'static [(&'static str, Self)] = Self::NAMES;
    const ANY: Self = Self::Any;
    type Strength = MatchType;
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

    fn keys(self) -> KeySet {
        match self {
            Self::Any => KeySet::NAMES
                .with(Key::Organization)
                .with(Key::Email)
                .with(Key::Phone),
            Self::Name => KeySet::NAMES,
            Self::Display => KeySet::of(Key::Display),
            Self::Family => KeySet::of(Key::Family),
            Self::Given => KeySet::of(Key::Given),
            Self::Nickname => KeySet::of(Key::Nickname),
            Self::Organization => KeySet::of(Key::Organization),
            Self::Email => KeySet::of(Key::Email),
            Self::Phone => KeySet::of(Key::Phone),
            Self::Category => KeySet::of(Key::Category),
            Self::Note => KeySet::of(Key::Note),
        }
    }

    fn compare(self, mode: MatchMode, text: &str, region: Option<Region>) -> Matcher {
        match self {
            Self::Phone => Matcher::match_phone(mode, text, region),
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

    fn same_phone(number: &str, strength: MatchType, region: Option<Region>) -> Matcher {
        Matcher::same_phone(number, strength, region)
    }
}

fn is_number_like(text: &str) -> bool {
    text.chars().any(char::is_numeric)
        && text
            .chars()
            .all(|c| c.is_numeric() || c.is_whitespace() || "+-/().#*".contains(c))
}

impl Filter {
    /// A name has these words.
    #[must_use]
    pub fn name(words: impl Into<String>) -> Self {
        Self::text(Field::Name, MatchMode::Words, words)
    }

    /// A word of a name starts with `start`.
    #[must_use]
    pub fn name_prefix(start: impl Into<String>) -> Self {
        Self::text(Field::Name, MatchMode::Prefix, start)
    }

    /// A word of a name ends with `end`.
    #[must_use]
    pub fn name_suffix(end: impl Into<String>) -> Self {
        Self::text(Field::Name, MatchMode::Suffix, end)
    }

    /// The organisation or one of its units has these words.
    #[must_use]
    pub fn organization(words: impl Into<String>) -> Self {
        Self::text(Field::Organization, MatchMode::Words, words)
    }

    /// An e-mail address equals `address`.
    #[must_use]
    pub fn email(address: impl Into<String>) -> Self {
        Self::text(Field::Email, MatchMode::Words, address)
    }

    /// An e-mail address starts with `start`.
    #[must_use]
    pub fn email_prefix(start: impl Into<String>) -> Self {
        Self::text(Field::Email, MatchMode::Prefix, start)
    }

    /// An e-mail address ends with `end`, such as `@example.org`.
    #[must_use]
    pub fn email_suffix(end: impl Into<String>) -> Self {
        Self::text(Field::Email, MatchMode::Suffix, end)
    }

    /// A phone number equals `number`.
    #[must_use]
    pub fn phone(number: impl Into<String>, strength: MatchType) -> Self {
        Self::PhoneEquals {
            number: number.into(),
            strength,
        }
    }

    /// A phone number starts with `start`, national or international.
    #[must_use]
    pub fn phone_prefix(start: impl Into<String>) -> Self {
        Self::text(Field::Phone, MatchMode::Prefix, start)
    }

    /// A phone number ends with `end`.
    #[must_use]
    pub fn phone_suffix(end: impl Into<String>) -> Self {
        Self::text(Field::Phone, MatchMode::Suffix, end)
    }

    /// A name, organisation, e-mail address or phone number contains the text.
    #[must_use]
    pub fn contains(text: impl Into<String>) -> Self {
        Self::text(Field::Any, MatchMode::Contains, text)
    }
}
