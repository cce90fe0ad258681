//! [`TextMatch`]: comparison of texts by a collation (RFC 4790).

use std::borrow::Cow;

use icu_casemap::CaseMapperBorrowed;
use icu_normalizer::DecomposingNormalizerBorrowed;

use super::error::QueryError;
use crate::xml::{Element, Namespace};

/// The names of the collations, for `supported-collation-set` (RFC 4791 section 7.5.1, RFC 6352
/// section 8.3.1).
pub const COLLATIONS: [&str; 3] = ["i;ascii-casemap", "i;octet", "i;unicode-casemap"];

/// How texts are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Collation {
    /// `i;ascii-casemap` (RFC 4790 section 9.2): ASCII letters in any case.
    AsciiCasemap,
    /// `i;octet` (RFC 4790 section 9.3): byte by byte.
    Octet,
    /// `i;unicode-casemap` (RFC 5051): title case, fully decomposed.
    UnicodeCasemap,
}

impl Collation {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "i;ascii-casemap" => Self::AsciiCasemap,
            "i;octet" => Self::Octet,
            "i;unicode-casemap" => Self::UnicodeCasemap,
            _ => return None,
        })
    }

    /// Returns the form of a text whose bytes are compared.
    fn map(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Octet => Cow::Borrowed(text),
            Self::AsciiCasemap => Cow::Owned(text.to_ascii_uppercase()),
            Self::UnicodeCasemap if text.is_ascii() => Cow::Owned(text.to_ascii_uppercase()),
            Self::UnicodeCasemap => {
                let case = CaseMapperBorrowed::new();
                let titled: String = text.chars().map(|c| case.simple_titlecase(c)).collect();
                let decomposed = DecomposingNormalizerBorrowed::new_nfkd().normalize(&titled);
                Cow::Owned(decomposed.into_owned())
            }
        }
    }
}

/// Where the text has to be in a value (RFC 6352 section 10.5.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MatchType {
    Equals,
    Contains,
    StartsWith,
    EndsWith,
}

/// A `text-match` element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextMatch {
    collation: Collation,
    match_type: MatchType,
    is_negated: bool,
    /// The text as written, and as the collation compares it.
    text: String,
    mapped: String,
}

impl TextMatch {
    /// Parses a `text-match` of CalDAV: a value contains the text, by default by `i;ascii-casemap`
    /// (RFC 4791 section 9.7.5).
    pub(super) fn parse_caldav(element: &Element) -> Result<Self, QueryError> {
        Self::parse(element, Collation::AsciiCasemap, MatchType::Contains)
    }

    /// Parses a `text-match` of CardDAV, by default by `i;unicode-casemap` (RFC 6352 section 10.5.4).
    pub(super) fn parse_carddav(element: &Element) -> Result<Self, QueryError> {
        let match_type = match element.attribute("match-type") {
            None | Some("contains") => MatchType::Contains,
            Some("equals") => MatchType::Equals,
            Some("starts-with") => MatchType::StartsWith,
            Some("ends-with") => MatchType::EndsWith,
            Some(_) => {
                return Err(QueryError::malformed(
                    "match-type is equals, contains, starts-with or ends-with",
                ));
            }
        };
        Self::parse(element, Collation::UnicodeCasemap, match_type)
    }

    fn parse(
        element: &Element,
        default: Collation,
        match_type: MatchType,
    ) -> Result<Self, QueryError> {
        let collation = match element.attribute("collation") {
            None | Some("default") => default,
            Some(name) => Collation::named(name).ok_or_else(|| QueryError::Precondition {
                namespace: element.ns.clone(),
                element: "supported-collation",
                detail: format!("collations are {}", COLLATIONS.join(", ")),
            })?,
        };
        let is_negated = match element.attribute("negate-condition") {
            None | Some("no") => false,
            Some("yes") => true,
            Some(_) if element.ns == Namespace::CalDav => {
                let detail = "negate-condition is yes or no";
                return Err(QueryError::caldav("valid-filter", detail));
            }
            Some(_) => return Err(QueryError::malformed("negate-condition is yes or no")),
        };
        Ok(Self {
            collation,
            match_type,
            is_negated,
            mapped: collation.map(&element.text).into_owned(),
            text: element.text.clone(),
        })
    }

    /// Returns the text if a value has to have it, in whatever case and place.
    pub(super) fn required_text(&self) -> Option<&str> {
        (!self.is_negated).then_some(self.text.as_str())
    }

    /// Returns true if the condition holds for a value.
    pub(super) fn matches(&self, value: &str) -> bool {
        self.has_text(value) != self.is_negated
    }

    /// Returns true if the condition holds for a list of values: one of them has the text, or none
    /// if the condition is negated.
    pub(super) fn matches_any<'v>(&self, mut values: impl Iterator<Item = &'v str>) -> bool {
        values.any(|value| self.has_text(value)) != self.is_negated
    }

    fn has_text(&self, value: &str) -> bool {
        let value = self.collation.map(value);
        let (value, text) = (value.as_ref(), self.mapped.as_str());
        match self.match_type {
            MatchType::Equals => value == text,
            MatchType::Contains => value.contains(text),
            MatchType::StartsWith => value.starts_with(text),
            MatchType::EndsWith => value.ends_with(text),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn matches(collation: Collation, match_type: MatchType, text: &str, value: &str) -> bool {
        let element = Element {
            text: text.to_owned(),
            ..Element::new(Namespace::CardDav, "text-match")
        };
        TextMatch::parse(&element, collation, match_type)
            .unwrap()
            .matches(value)
    }

    #[test]
    fn collations_fold_as_much_as_their_rfc_says() {
        use Collation::{AsciiCasemap, Octet, UnicodeCasemap};
        for (collation, text, value, expected) in [
            (Octet, "Ada", "x Ada", true),
            (Octet, "ada", "Ada", false),
            (AsciiCasemap, "aDA", "Ada", true),
            (AsciiCasemap, "ö", "Ö", false),
            (UnicodeCasemap, "ö", "Ö", true),
            (UnicodeCasemap, "o\u{308}", "Ö", true),
            (UnicodeCasemap, "o", "Ö", true),
            // Decomposed after the title case.
            (UnicodeCasemap, "fi", "ﬁsh", false),
            (UnicodeCasemap, "Ⅻ", "ⅻ", true),
            (UnicodeCasemap, "ss", "ß", false),
            (UnicodeCasemap, "ол", "ОЛЬГА", true),
        ] {
            let found = matches(collation, MatchType::Contains, text, value);
            assert_eq!(found, expected, "{collation:?} {text} {value}");
        }
    }

    #[test]
    fn texts_are_compared_at_their_place() {
        use MatchType::{Contains, EndsWith, Equals, StartsWith};
        for (match_type, expected) in [
            (Equals, [true, false, false, false]),
            (Contains, [true; 4]),
            (StartsWith, [true, true, false, false]),
            (EndsWith, [true, false, true, false]),
        ] {
            let values = ["foo", "Foo!", "a foo", "a foo b"];
            let found = values.map(|v| matches(Collation::AsciiCasemap, match_type, "FOO", v));
            assert_eq!(found, expected, "{match_type:?}");
        }
    }
}
