//! [`Filter`]: which records are meant, in code and in text, over the fields of a kind of record.
//!
//! What the fields of a kind are, and how each is compared, its [`FieldSet`] says
//! ([`contacts::Field`](crate::contacts::Field), [`calendar::Field`](crate::calendar::Field)). The
//! text form is described in the book
//! (`docs/src/filter-language.md`) and in `parse`; comparing, and looking into the index, is
//! `matches`, which knows of no fields but of the search keys that they stand for.

mod keyset;
mod matches;
mod parse;

use std::fmt;

use crate::record::keys::Key;
use etui_text::phone::Region;

pub use crate::error::FilterError;
pub(crate) use keyset::KeySet;
pub(crate) use matches::Matcher;

/// The fields that the filters of one kind of record ask about.
///
/// Implemented by [`contacts::Field`](crate::contacts::Field) and
/// [`calendar::Field`](crate::calendar::Field): what can be asked for is what the index is made
/// for.
pub trait FieldSet: Copy + fmt::Debug + Eq + Send + Sync + 'static {
    /// Every field with its name in the text form; of several names the first is written.
    const NAMES: &'static [(&'static str, Self)];
    /// Where a value without a field is looked for.
    const ANY: Self;
    /// How equal a phone number must be; what nobody can make where there are none.
    type Strength: Copy + fmt::Debug + Eq + Send + Sync;
    /// The fields of phone numbers by what equality they ask for, each with its name.
    const PHONES: &'static [(&'static str, Self, Self::Strength)];
    /// The fields of one search key each.
    #[doc(hidden)]
    const KEYS: &'static [(Key, Self)];

    /// The only values of the field; none: it may have any.
    #[doc(hidden)]
    fn values(self) -> &'static [&'static str] {
        &[]
    }

    /// The search keys that the field's values are under.
    #[doc(hidden)]
    fn keys(self) -> KeySet;

    /// The comparison of the field with a text.
    #[doc(hidden)]
    fn compare(self, how: Match, text: &str, region: Option<Region>) -> Matcher;

    /// The comparison with a phone number.
    #[doc(hidden)]
    fn same_phone(number: &str, strength: Self::Strength, region: Option<Region>) -> Matcher;
}

/// A field's name in the text form.
fn name_of<F: FieldSet>(field: F) -> &'static str {
    let found = F::NAMES.iter().find(|(_, f)| *f == field);
    found.map_or("any", |(name, _)| name)
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

/// Which records are meant. Built in code, or read from text ([`str::parse`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter<F: FieldSet> {
    /// All records.
    All,
    /// Those that all of these mean.
    And(Vec<Filter<F>>),
    /// Those that any of these means.
    Or(Vec<Filter<F>>),
    /// Those that this does not mean.
    Not(Box<Filter<F>>),
    /// Those with a matching value.
    Text {
        /// Where to look.
        field: F,
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
        strength: F::Strength,
    },
    /// Those that have any value in the field.
    Present(F),
}

impl<F: FieldSet> Filter<F> {
    /// A comparison of `field` with `text`.
    #[must_use]
    pub fn text(field: F, how: Match, text: impl Into<String>) -> Self {
        Self::Text {
            field,
            how,
            text: text.into(),
        }
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
impl<F: FieldSet> fmt::Display for Filter<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let join = |f: &mut fmt::Formatter<'_>, parts: &[Self], between: &str| {
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
            Self::Present(field) => write!(f, "{}:*", name_of(*field)),
            Self::PhoneEquals { number, strength } => {
                let found = F::PHONES.iter().find(|(_, _, s)| s == strength);
                let name = found.map_or("any", |(name, ..)| name);
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
                write!(
                    f,
                    "{}{mark}{before}{}{after}",
                    name_of(*field),
                    Quoted(text)
                )
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
