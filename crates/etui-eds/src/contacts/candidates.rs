//! [`Candidates`]: at least the contacts that match a query, found by the library's index.
//!
//! The library folds further than queries do (`ø` to `o`, punctuation away) and compares words. So
//! its index finds a superset where the text is of ASCII letters, digits and blanks (in e-mail
//! addresses: any visible ASCII). Everything else visits all contacts.

use etui::contacts::{Field, Filter, MatchMode};

use super::fields::ContactField;
use super::phone::{WrittenNumber, last_digits};
use super::query::{ContactQuery, TextComparison, TextMode};

/// The digits at the end that equal numbers have in common. Before them the library's form may
/// have a country or lack a trunk prefix.
const COMMON_DIGITS: usize = 6;

/// Where the contacts are that can match.
#[derive(Debug, PartialEq)]
pub(super) enum Candidates {
    /// Anywhere.
    All,
    /// Under these UIDs.
    Uids(Vec<String>),
    /// Among those that a filter of the library finds.
    Filter(Filter),
}

impl Candidates {
    /// Returns the candidates of a query.
    pub(super) fn of(query: &ContactQuery) -> Self {
        match query {
            ContactQuery::Text(comparison) => Self::of_text(comparison),
            ContactQuery::Phone(ContactField::Property(name), _, number) if name == "TEL" => {
                Self::of_phone(number)
            }
            ContactQuery::And(parts) => Self::of_all(parts),
            ContactQuery::Or(parts) => Self::of_any(parts),
            _ => Self::All,
        }
    }

    fn of_all(parts: &[ContactQuery]) -> Self {
        let mut filters = Vec::new();
        for part in parts {
            match Self::of(part) {
                Self::All => {}
                Self::Filter(filter) => filters.push(filter),
                uids @ Self::Uids(_) => return uids,
            }
        }
        match filters.len() {
            0 => Self::All,
            1 => Self::Filter(filters.remove(0)),
            _ => Self::Filter(Filter::And(filters)),
        }
    }

    fn of_any(parts: &[ContactQuery]) -> Self {
        let mut filters = Vec::new();
        let mut all_uids = Vec::new();
        for part in parts {
            match Self::of(part) {
                Self::All => return Self::All,
                Self::Filter(filter) => filters.push(filter),
                Self::Uids(uids) => all_uids.extend(uids),
            }
        }
        match (filters.is_empty(), all_uids.is_empty()) {
            (true, _) => {
                all_uids.sort_unstable();
                all_uids.dedup();
                Self::Uids(all_uids)
            }
            (false, true) => Self::Filter(Filter::Or(filters)),
            (false, false) => Self::All,
        }
    }

    fn of_text(comparison: &TextComparison) -> Self {
        let TextComparison { field, mode, text } = comparison;
        if *field == ContactField::Uid && *mode == TextMode::Is {
            return Self::Uids(vec![text.clone()]);
        }
        if matches!(field, ContactField::Property(name) if name == "TEL") {
            return Self::of_phone_text(*mode, text);
        }
        let (indexed, is_address) = match field {
            ContactField::Names => (Field::Name, false),
            ContactField::NamePart(0) => (Field::Family, false),
            ContactField::NamePart(1) => (Field::Given, false),
            ContactField::OrganizationPart(_) => (Field::Organization, false),
            ContactField::Property(name) if name == "EMAIL" => (Field::Email, true),
            ContactField::Property(name) if name == "NICKNAME" => (Field::Nickname, false),
            ContactField::Property(name) if name == "CATEGORIES" => (Field::Category, false),
            _ => return Self::All,
        };
        let is_safe = |byte: u8| match is_address {
            true => byte.is_ascii_graphic(),
            false => byte.is_ascii_alphanumeric() || byte == b' ',
        };
        if !text.bytes().all(is_safe) || text.trim().is_empty() {
            return Self::All;
        }
        Self::Filter(Filter::text(indexed, match_mode(*mode), text.trim()))
    }

    /// A number that has a text of digits and punctuation has its digits.
    fn of_phone_text(mode: TextMode, text: &str) -> Self {
        let is_safe = |c: char| c.is_ascii_digit() || " +-/().".contains(c);
        match text.chars().all(is_safe) && text.contains(|c: char| c.is_ascii_digit()) {
            true => Self::Filter(Filter::text(Field::PhoneWritten, match_mode(mode), text)),
            false => Self::All,
        }
    }

    fn of_phone(number: &WrittenNumber) -> Self {
        Self::Filter(Filter::text(
            Field::Phone,
            MatchMode::Suffix,
            last_digits(number, COMMON_DIGITS),
        ))
    }
}

fn match_mode(mode: TextMode) -> MatchMode {
    match mode {
        TextMode::Contains => MatchMode::Contains,
        TextMode::Is => MatchMode::Words,
        TextMode::Begins => MatchMode::Prefix,
        TextMode::Ends => MatchMode::Suffix,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(query: &str) -> Candidates {
        Candidates::of(&ContactQuery::parse(query).unwrap())
    }

    #[test]
    fn uids_and_safe_texts_are_looked_up() {
        let ids = "(or (is \"id\" \"b\") (is \"id\" \"a\") (is \"id\" \"b\"))";
        let found = candidates(ids);
        assert_eq!(found, Candidates::Uids(vec!["a".into(), "b".into()]));
        let and = format!("(and (exists \"note\") {ids})");
        assert_eq!(candidates(&and), found);
        assert_eq!(
            candidates("(endswith \"email\" \"@X.org\")"),
            Candidates::Filter(Filter::text(Field::Email, MatchMode::Suffix, "@x.org"))
        );
        let written = Filter::text(Field::PhoneWritten, MatchMode::Suffix, "12-3");
        assert_eq!(
            candidates("(endswith \"phone\" \"12-3\")"),
            Candidates::Filter(written)
        );
        for text in ["x12", "-"] {
            let query = format!("(contains \"phone\" \"{text}\")");
            assert_eq!(candidates(&query), Candidates::All);
        }
        assert_eq!(candidates("(is \"full_name\" \"ø\")"), Candidates::All);
        assert_eq!(candidates("(not (is \"id\" \"a\"))"), Candidates::All);
    }
}
