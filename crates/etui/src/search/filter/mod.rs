//! [`Filter`]: a condition on the fields of a kind of record, built in code or parsed from text.
//!
//! A kind's [`FieldSet`] defines its fields and how each is compared
//! ([`contacts::Field`](crate::contacts::Field), [`calendar::Field`](crate::calendar::Field)). The
//! book (`docs/src/filter-language.md`) and `parse` describe the text form. `matcher` compares
//! records and queries the index; it knows search keys, not fields.

mod keyset;
mod matcher;
mod number_range;
mod parse;
mod ranked;

use std::collections::BTreeSet;
use std::fmt;

use crate::record::keys::Key;
use etui_text::phone::{MatchType, Region};

pub use crate::error::FilterError;
pub(crate) use keyset::KeySet;
pub(crate) use matcher::Matcher;
pub(crate) use number_range::NumberRange;

/// The fields of one kind of record that filters can compare.
///
/// Implemented by [`contacts::Field`](crate::contacts::Field),
/// [`calendar::Field`](crate::calendar::Field) and the fields of the media library.
pub trait FieldSet: Copy + fmt::Debug + Eq + Send + Sync + 'static {
    /// Every field with its name in the text form. Of several names, the first is written.
    const NAMES: &'static [(&'static str, Self)];
    /// The field of a value without a field name.
    const ANY: Self;
    /// The names that compare phone numbers: name, field, and kind of equality; none for
    /// kinds without phone numbers.
    const PHONES: &'static [(&'static str, Self, MatchType)];
    /// Each search key with its field.
    #[doc(hidden)]
    const KEYS: &'static [(Key, Self)];
    /// The fields that a plain word is looked for in by a ranked search, the closest first. Each
    /// includes those before it, and the last includes [`Self::ANY`]. None: [`Self::ANY`] alone.
    #[doc(hidden)]
    const RANKS: &'static [Self] = &[];

    /// Returns the records that follow the others of their rank.
    #[doc(hidden)]
    fn ranked_last() -> Option<Filter<Self>> {
        None
    }

    /// Returns the permitted values of the field; empty if any value is.
    #[doc(hidden)]
    fn values(self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the reason why the field cannot be compared with a text; `None` if it can.
    #[doc(hidden)]
    fn refuse_text(self, mode: MatchMode, text: &str) -> Option<String> {
        let _ = (mode, text);
        None
    }

    /// Returns the filters for a part of a phone number without a field name; none for kinds without
    /// phone numbers.
    #[doc(hidden)]
    fn number_filters(text: &str) -> Vec<Filter<Self>> {
        let _ = text;
        Vec::new()
    }

    /// Returns the filter for a phone number with letters, as it is written: `1-800-FLOWERS`, `030 23125 ext
    /// 45`, `0171 3920001 private`. `None` for other texts, and kinds without phone numbers.
    #[doc(hidden)]
    fn written_number(text: &str) -> Option<Filter<Self>> {
        let _ = text;
        None
    }

    /// Returns the search keys of the field's values.
    #[doc(hidden)]
    fn keys(self) -> KeySet;

    /// Returns the comparison of the field with a text.
    #[doc(hidden)]
    fn compare(self, mode: MatchMode, text: &str, region: Option<Region>) -> Matcher;
}

/// Returns a field's name in the text form.
fn field_name<F: FieldSet>(field: F) -> &'static str {
    let found = F::NAMES.iter().find(|(_, f)| *f == field);
    found.map_or("any", |(name, _)| name)
}

/// How a text is compared with a field. All modes ignore case and accents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MatchMode {
    /// The field has these adjacent words (e-mail: the whole address; phone: an equal number).
    Words,
    /// As `Words`, but the last word is a prefix (e-mail, phone: the value starts with the text).
    Prefix,
    /// As `Words`, but the first word is a suffix (e-mail, phone: the value ends with the text).
    Suffix,
    /// The value contains the text.
    Contains,
    /// The whole value equals the text.
    Whole,
}

/// A condition on records, built in code or parsed from text ([`str::parse`]).
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter<F: FieldSet> {
    /// Every record.
    All,
    /// Records that match all of these.
    And(Vec<Filter<F>>),
    /// Records that match any of these.
    Or(Vec<Filter<F>>),
    /// Records that do not match this.
    Not(Box<Filter<F>>),
    /// Records with a matching value.
    Text {
        /// The field to compare.
        field: F,
        /// How to compare.
        mode: MatchMode,
        /// The text to compare with, as typed.
        text: String,
    },
    /// Records with this phone number.
    PhoneEquals {
        /// The number, as typed or as received from the network.
        number: String,
        /// How it is compared.
        strength: MatchType,
    },
    /// Records with a value in the field.
    Present(F),
    /// Records with one of these UIDs, compared exactly.
    Uids(BTreeSet<String>),
}

impl<F: FieldSet> Filter<F> {
    /// Returns a comparison of `field` with `text`.
    pub fn text(field: F, mode: MatchMode, text: impl Into<String>) -> Self {
        Self::Text {
            field,
            mode,
            text: text.into(),
        }
    }

    /// Returns a filter for the records with one of these UIDs, case and all. Records are found by
    /// their UIDs, without a search.
    ///
    /// ```
    /// use etui::contacts::{Field, MatchMode, Filter};
    ///
    /// let two = Filter::uids(["ada", "alan"]);
    /// assert_eq!(two.to_string(), r#"uid:"ada","alan""#);
    /// let others = Filter::text(Field::Name, MatchMode::Prefix, "a").and(two.not());
    /// # assert_eq!(others.to_string().parse(), Ok(others));
    /// ```
    pub fn uids<U: Into<String>>(uids: impl IntoIterator<Item = U>) -> Self {
        Self::Uids(uids.into_iter().map(Into::into).collect())
    }

    /// Returns the conjunction with `other`.
    pub fn and(self, other: Self) -> Self {
        match self {
            Self::And(mut all) => {
                all.push(other);
                Self::And(all)
            }
            first => Self::And(vec![first, other]),
        }
    }

    /// Returns the disjunction with `other`.
    pub fn or(self, other: Self) -> Self {
        match self {
            Self::Or(mut any) => {
                any.push(other);
                Self::Or(any)
            }
            first => Self::Or(vec![first, other]),
        }
    }

    /// Returns the negation.
    #[expect(clippy::should_implement_trait, reason = "reads as `and` and `or` do")]
    pub fn not(self) -> Self {
        Self::Not(Box::new(self))
    }
}

/// Writes the text form, which parses into an equal filter.
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
            Self::Present(field) => write!(f, "{}:*", field_name(*field)),
            Self::Uids(uids) if uids.is_empty() => f.write_str("uid:\"\""),
            Self::Uids(uids) => {
                for (i, uid) in uids.iter().enumerate() {
                    f.write_str(if i == 0 { "uid:" } else { "," })?;
                    QuotedText(uid).fmt(f)?;
                }
                Ok(())
            }
            Self::PhoneEquals { number, strength } => {
                let found = F::PHONES.iter().find(|(_, _, s)| s == strength);
                let name = found.map_or("any", |(name, ..)| name);
                write!(f, "{name}:{}", QuotedText(number))
            }
            Self::Text { field, mode, text } => {
                let (operator, before, after) = match mode {
                    MatchMode::Words => (':', "", ""),
                    MatchMode::Prefix => (':', "", "*"),
                    MatchMode::Suffix => (':', "*", ""),
                    MatchMode::Contains => (':', "*", "*"),
                    MatchMode::Whole => ('=', "", ""),
                };
                write!(
                    f,
                    "{}{operator}{before}{}{after}",
                    field_name(*field),
                    QuotedText(text)
                )
            }
        }
    }
}

struct QuotedText<'a>(&'a str);

impl fmt::Display for QuotedText<'_> {
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
