//! [`ContactQuery`]: a query of an address book, parsed from an s-expression.
//!
//! ```text
//! (and (or (contains "full_name" "ada") (is "id" "u1")) (not (exists "phone")))
//! ```
//!
//! `(contains "x-evolution-any-field" "")` and the empty text mean all contacts. Regular
//! expressions run in linear time, so those with look-around or back-references, which the stock
//! server's PCRE has, are refused as bad queries.

use etui::contacts::Card;
use regex::{Regex, RegexBuilder};

use super::fields::ContactField;
use super::fold::fold_text;
use super::phone::{PhoneStrength, WrittenNumber, is_same_number};
use super::plain_values::any_plain_value;
use super::reduced::PropertyNames;
use crate::error::{EdsError, EdsResult, INVALID_QUERY};
use crate::sexp::{self, Expr};

/// The largest compiled regular expression in bytes.
const MAX_REGEX: usize = 1 << 20;

/// A query of an address book.
#[derive(Debug, Clone)]
pub(super) enum ContactQuery {
    /// Every contact.
    All,
    /// All of these.
    And(Vec<ContactQuery>),
    /// Any of these.
    Or(Vec<ContactQuery>),
    /// Not this one.
    Not(Box<ContactQuery>),
    /// A value compares so with a text.
    Text(TextComparison),
    /// A value is an equal phone number.
    Phone(ContactField, PhoneStrength, WrittenNumber),
    /// A value matches a regular expression; `folded`: both after folding.
    Regex {
        /// The field.
        field: ContactField,
        /// The expression.
        regex: Regex,
        /// Whether values are folded before.
        folded: bool,
    },
    /// The field has a value.
    Exists(ContactField),
    /// The first part of the first property of this name is not empty.
    ExistsProperty(String),
}

/// How a value compares with a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextMode {
    /// It contains the text.
    Contains,
    /// It is the text.
    Is,
    /// It begins with the text.
    Begins,
    /// It ends with the text.
    Ends,
}

/// A comparison of a field's values with a text.
#[derive(Debug, Clone)]
pub(super) struct TextComparison {
    /// The field.
    pub(super) field: ContactField,
    /// The comparison.
    pub(super) mode: TextMode,
    /// The text; folded, except for UIDs.
    pub(super) text: String,
}

impl ContactQuery {
    /// Parses a query.
    ///
    /// # Errors
    /// [`INVALID_QUERY`], with what was not understood.
    pub(super) fn parse(text: &str) -> EdsResult<Self> {
        if text.is_empty() {
            return Ok(Self::All);
        }
        let expr = sexp::parse(text).map_err(|e| bad_query(e.to_string()))?;
        Self::from_expr(expr)
    }

    fn from_expr(expr: Expr) -> EdsResult<Self> {
        let Expr::Call(name, arguments) = expr else {
            return Err(bad_query("a query is a function in parentheses"));
        };
        match name.as_str() {
            "and" | "or" if arguments.is_empty() => {
                Err(bad_query(format!("`{name}` needs an argument")))
            }
            "and" | "or" => {
                let parts = arguments.into_iter().map(Self::from_expr);
                let mut parts: Vec<Self> = parts.collect::<EdsResult<_>>()?;
                Ok(match (parts.len(), name.as_str()) {
                    (1, _) => parts.remove(0),
                    (_, "and") => Self::And(parts),
                    _ => Self::Or(parts),
                })
            }
            "not" => {
                let [inner] = <[Expr; 1]>::try_from(arguments)
                    .map_err(|_| bad_query("`not` needs one argument"))?;
                Ok(Self::Not(Box::new(Self::from_expr(inner)?)))
            }
            "exists" => Ok(Self::Exists(ContactField::from_name(&one_text(
                &name, arguments,
            )?))),
            "exists_vcard" => Ok(Self::ExistsProperty(one_text(&name, arguments)?)),
            _ => {
                let (field, text) = field_and_text(&name, arguments)?;
                Self::comparison(&name, &field, text)
            }
        }
    }

    fn comparison(name: &str, field: &str, text: String) -> EdsResult<Self> {
        let field = ContactField::from_name(field);
        if field.is_boolean() && !matches!(name, "is" | "regex_raw") {
            return Err(bad_query(format!(
                "`{name}` does not compare true and false"
            )));
        }
        let mode = match name {
            "contains" => TextMode::Contains,
            "is" => TextMode::Is,
            "beginswith" => TextMode::Begins,
            "endswith" => TextMode::Ends,
            "eqphone" => return Self::phone(field, PhoneStrength::Exact, &text),
            "eqphone_national" => return Self::phone(field, PhoneStrength::National, &text),
            "eqphone_short" => return Self::phone(field, PhoneStrength::Short, &text),
            "regex_normal" | "regex_raw" => {
                let folded = name == "regex_normal";
                let expression = match folded {
                    true => fold_text(&text),
                    false => text.as_str().into(),
                };
                let regex = RegexBuilder::new(&expression)
                    .size_limit(MAX_REGEX)
                    .build()
                    .map_err(|e| bad_query(format!("not a regular expression: {e}")))?;
                return Ok(Self::Regex {
                    field,
                    regex,
                    folded,
                });
            }
            _ => return Err(bad_query(format!("there is no function `{name}`"))),
        };
        if field == ContactField::Any && text.is_empty() && mode != TextMode::Is {
            return Ok(Self::All);
        }
        let text = match field {
            ContactField::Uid => text,
            _ => fold_text(&text).into_owned(),
        };
        Ok(Self::Text(TextComparison { field, mode, text }))
    }

    fn phone(field: ContactField, strength: PhoneStrength, text: &str) -> EdsResult<Self> {
        let number = WrittenNumber::parse(text)
            .ok_or_else(|| bad_query(format!("\"{text}\" is not a phone number")))?;
        Ok(Self::Phone(field, strength, number))
    }

    /// Whether the query is nothing but UIDs, one of which a contact must have.
    pub(super) fn is_of_uids(&self) -> bool {
        match self {
            Self::Or(parts) => parts.iter().all(Self::is_of_uids),
            Self::Text(TextComparison { field, mode, .. }) => {
                *field == ContactField::Uid && *mode == TextMode::Is
            }
            _ => false,
        }
    }

    /// The properties that it looks at.
    pub(super) fn property_names(&self) -> PropertyNames {
        PropertyNames::new(self.properties())
    }

    fn properties(&self) -> Option<Vec<String>> {
        match self {
            Self::All => Some(Vec::new()),
            Self::And(parts) | Self::Or(parts) => {
                let names: Option<Vec<_>> = parts.iter().map(Self::properties).collect();
                Some(names?.concat())
            }
            Self::Not(inner) => inner.properties(),
            Self::Text(TextComparison { field, .. })
            | Self::Phone(field, ..)
            | Self::Regex { field, .. }
            | Self::Exists(field) => field.properties(),
            Self::ExistsProperty(name) => Some(vec![name.clone()]),
        }
    }

    /// Whether the contact with this text matches, where that takes no parser.
    pub(super) fn matches_plain(&self, text: &[u8]) -> Option<bool> {
        let Self::Text(comparison) = self else {
            return None;
        };
        let ContactField::Property(name) = &comparison.field else {
            return None;
        };
        let is_plain = name == "TEL" || name == "EMAIL";
        is_plain
            .then(|| any_plain_value(text, name, &mut |value| comparison.matches_value(value)))
            .flatten()
    }

    /// Whether a contact matches.
    pub(super) fn matches(&self, uid: &str, card: &Card) -> bool {
        match self {
            Self::All => true,
            Self::And(parts) => parts.iter().all(|part| part.matches(uid, card)),
            Self::Or(parts) => parts.iter().any(|part| part.matches(uid, card)),
            Self::Not(inner) => !inner.matches(uid, card),
            Self::Text(comparison) => comparison.matches(uid, card),
            Self::Phone(field, strength, wanted) => field.any_value(uid, card, &mut |value| {
                WrittenNumber::parse(value)
                    .is_some_and(|number| is_same_number(&number, wanted, *strength))
            }),
            Self::Regex {
                field,
                regex,
                folded,
            } => field.any_value(uid, card, &mut |value| match folded {
                true => regex.is_match(&fold_text(value)),
                false => regex.is_match(value),
            }),
            Self::Exists(field) => field.any_value(uid, card, &mut |_| true),
            Self::ExistsProperty(name) => card
                .property(name)
                .is_some_and(|value| !value.is_empty() && !value.starts_with(';')),
        }
    }
}

impl TextComparison {
    fn matches(&self, uid: &str, card: &Card) -> bool {
        let exact = self.field == ContactField::Uid;
        self.field.any_value(uid, card, &mut |value| match exact {
            true => self.compare(value),
            false => self.matches_value(value),
        })
    }

    /// Compares a value of a field other than the UID.
    fn matches_value(&self, value: &str) -> bool {
        self.compare(&fold_text(value))
    }

    fn compare(&self, value: &str) -> bool {
        let wanted = self.text.as_str();
        match self.mode {
            TextMode::Contains => value.contains(wanted),
            TextMode::Is => value == wanted,
            TextMode::Begins => value.starts_with(wanted),
            TextMode::Ends => value.ends_with(wanted),
        }
    }
}

fn one_text(name: &str, arguments: Vec<Expr>) -> EdsResult<String> {
    match <[Expr; 1]>::try_from(arguments) {
        Ok([Expr::Text(text)]) => Ok(text),
        _ => Err(bad_query(format!("`{name}` needs one text"))),
    }
}

/// Field and text of a comparison; a third text, a locale, is ignored.
fn field_and_text(name: &str, arguments: Vec<Expr>) -> EdsResult<(String, String)> {
    let mut texts = Vec::new();
    for argument in arguments {
        match argument {
            Expr::Text(text) => texts.push(text),
            _ => return Err(bad_query(format!("the arguments of `{name}` are texts"))),
        }
    }
    let mut texts = texts.into_iter();
    match (texts.next(), texts.next(), texts.len()) {
        (Some(field), Some(text), 0 | 1) => Ok((field, text)),
        _ => Err(bad_query(format!("`{name}` needs a field and a text"))),
    }
}

fn bad_query(reason: impl Into<String>) -> EdsError {
    EdsError::new(INVALID_QUERY, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(query: &str) -> bool {
        let card = Card::parse(
            "BEGIN:VCARD\nVERSION:3.0\nUID:U1\nN:Müller;Anna Luise\nFN:Anna Müller\n\
             EMAIL:anna@example.org\nTEL:+49 30 1234567\nNOTE:\nEND:VCARD\n",
        )
        .unwrap();
        ContactQuery::parse(query).unwrap().matches("U1", &card)
    }

    #[test]
    fn comparisons_fold_and_keep_blanks() {
        for (query, expected) in [
            ("(contains \"x-evolution-any-field\" \"\")", true),
            ("(is \"full_name\" \"ANNA MULLER\")", true),
            ("(contains \"full_name\" \"a m\")", true),
            ("(contains \"full_name\" \"a  m\")", false),
            ("(beginswith \"family_name\" \"mul\")", true),
            ("(endswith \"email\" \"@EXAMPLE.org\" \"de_DE\")", true),
            ("(is \"id\" \"u1\")", false),
            ("(is \"id\" \"U1\")", true),
            ("(is \"nickname\" \"\")", false),
            ("(exists \"nickname\")", false),
            ("(exists_vcard \"NOTE\")", false),
            ("(eqphone_short \"phone\" \"123-4567\")", true),
            ("(eqphone \"phone\" \"123-4567\")", false),
            ("(regex_normal \"full_name\" \"^anna.*er$\")", true),
            ("(regex_raw \"full_name\" \"^anna\")", false),
            ("(not (and (exists \"phone\") (exists \"email\")))", false),
        ] {
            assert_eq!(matches(query), expected, "{query}");
        }
    }

    #[test]
    fn what_is_no_query_is_refused() {
        for query in [
            "(and)",
            "#t",
            "(invalid \"a\" \"b\")",
            "(is \"a\"",
            "(is \"a\")",
            "(eqphone \"phone\" \"ask me\")",
            "(regex_raw \"note\" \"(\")",
        ] {
            let error = ContactQuery::parse(query).unwrap_err();
            assert!(error.name().ends_with("Code16"), "{query}");
        }
    }
}
