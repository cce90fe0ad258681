//! [`Filter`]: which contacts are meant.
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
//!
//! The text form is described in the book (`docs/src/filter-language.md`) and in `parse`.

mod matches;
mod parse;

use std::fmt;

use crate::text::phone::Strength;

pub(crate) use matches::Matcher;
pub use parse::FilterError;

/// What a comparison looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    /// Names, organisation, e-mail and phone.
    Any,
    /// Display, family, given and nick name.
    Name,
    /// The name to show (FN).
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

    fn name(self) -> &'static str {
        Self::NAMES
            .iter()
            .find(|(_, f)| *f == self)
            .map_or("any", |(n, _)| n)
    }
}

/// How a text is compared with a field. All comparisons ignore case and accents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Match {
    /// The field has these words, next to each other (e-mail: the whole address; phone: the same
    /// number).
    Words,
    /// The same, and the last word may go on (e-mail, phone: begins so).
    Prefix,
    /// The same, and the first word may have begun before (e-mail, phone: ends so).
    Suffix,
    /// It stands anywhere.
    Contains,
    /// It is the whole value.
    Whole,
}

/// Which contacts are meant. Built by the functions below, or read from text ([`str::parse`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// All contacts.
    All,
    /// Those that all of these mean.
    And(Vec<Filter>),
    /// Those that any of these means.
    Or(Vec<Filter>),
    /// Those that this does not mean.
    Not(Box<Filter>),
    /// Those with a matching value.
    Text {
        /// Where to look.
        field: Field,
        /// How to compare.
        how: Match,
        /// What to look for, as typed.
        text: String,
    },
    /// Those with this phone number.
    PhoneEquals {
        /// The number, as typed or as the network gave it.
        number: String,
        /// How equal it must be.
        strength: Strength,
    },
    /// Those that have any value in the field.
    Present(Field),
}

impl Filter {
    /// A comparison of `field` with `text`.
    #[must_use]
    pub fn text(field: Field, how: Match, text: impl Into<String>) -> Self {
        Self::Text {
            field,
            how,
            text: text.into(),
        }
    }

    /// Any name has these words.
    #[must_use]
    pub fn name(words: impl Into<String>) -> Self {
        Self::text(Field::Name, Match::Words, words)
    }

    /// A word of any name begins so; as one types.
    #[must_use]
    pub fn name_prefix(start: impl Into<String>) -> Self {
        Self::text(Field::Name, Match::Prefix, start)
    }

    /// A word of any name ends so.
    #[must_use]
    pub fn name_suffix(end: impl Into<String>) -> Self {
        Self::text(Field::Name, Match::Suffix, end)
    }

    /// The organisation or one of its units has these words.
    #[must_use]
    pub fn organization(words: impl Into<String>) -> Self {
        Self::text(Field::Organization, Match::Words, words)
    }

    /// Has this e-mail address.
    #[must_use]
    pub fn email(address: impl Into<String>) -> Self {
        Self::text(Field::Email, Match::Words, address)
    }

    /// Has an e-mail address that begins so.
    #[must_use]
    pub fn email_prefix(start: impl Into<String>) -> Self {
        Self::text(Field::Email, Match::Prefix, start)
    }

    /// Has an e-mail address that ends so, e.g. `@example.org`.
    #[must_use]
    pub fn email_suffix(end: impl Into<String>) -> Self {
        Self::text(Field::Email, Match::Suffix, end)
    }

    /// Has this phone number.
    #[must_use]
    pub fn phone(number: impl Into<String>, strength: Strength) -> Self {
        Self::PhoneEquals {
            number: number.into(),
            strength,
        }
    }

    /// Has a phone number that begins so, national or international.
    #[must_use]
    pub fn phone_prefix(start: impl Into<String>) -> Self {
        Self::text(Field::Phone, Match::Prefix, start)
    }

    /// Has a phone number that ends so.
    #[must_use]
    pub fn phone_suffix(end: impl Into<String>) -> Self {
        Self::text(Field::Phone, Match::Suffix, end)
    }

    /// Name, organisation, e-mail or phone contains the text.
    #[must_use]
    pub fn contains(text: impl Into<String>) -> Self {
        Self::text(Field::Any, Match::Contains, text)
    }

    /// Both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match self {
            Self::And(mut all) => {
                all.push(other);
                Self::And(all)
            }
            first => Self::And(vec![first, other]),
        }
    }

    /// Either.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match self {
            Self::Or(mut any) => {
                any.push(other);
                Self::Or(any)
            }
            first => Self::Or(vec![first, other]),
        }
    }

    /// Not this.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "reads as `and` and `or` do")]
    pub fn not(self) -> Self {
        Self::Not(Box::new(self))
    }
}

/// The text form; reading it gives the same filter.
impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let join = |f: &mut fmt::Formatter<'_>, parts: &[Filter], between: &str| {
            f.write_str("(")?;
            for (i, part) in parts.iter().enumerate() {
                if i > 0 {
                    f.write_str(between)?;
                }
                part.fmt(f)?;
            }
            f.write_str(")")
        };
        match self {
            Self::All => f.write_str("*"),
            Self::And(parts) => join(f, parts, " "),
            Self::Or(parts) => join(f, parts, " or "),
            Self::Not(inner) => write!(f, "-{inner}"),
            Self::Present(field) => write!(f, "{}:*", field.name()),
            Self::PhoneEquals { number, strength } => {
                let name = match strength {
                    Strength::Exact => "phone",
                    Strength::National => "phone.national",
                    Strength::Short => "phone.short",
                };
                write!(f, "{name}:{}", Quoted(number))
            }
            Self::Text { field, how, text } => {
                let (mark, before, after) = match how {
                    Match::Words => (':', "", ""),
                    Match::Prefix => (':', "", "*"),
                    Match::Suffix => (':', "*", ""),
                    Match::Contains => (':', "*", "*"),
                    Match::Whole => ('=', "", ""),
                };
                write!(f, "{}{mark}{before}{}{after}", field.name(), Quoted(text))
            }
        }
    }
}

struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            if matches!(c, '"' | '\\') {
                f.write_str("\\")?;
            }
            write!(f, "{c}")?;
        }
        f.write_str("\"")
    }
}
