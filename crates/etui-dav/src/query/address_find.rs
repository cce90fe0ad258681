//! [`find_contacts`]: the records of an address book that match a query.
//!
//! The search index folds texts further than collations do (`ø` to `o`, punctuation away) and compares
//! words. So it finds a superset where the text is of ASCII letters, digits and blanks, in e-mail
//! addresses of any visible ASCII, in phone numbers of digits and their punctuation. Each card that it
//! finds is then compared exactly. Everything else reads all cards. The index keeps the first 8 KiB of a
//! text.

use etui::RecordId;
use etui::contacts::{Column, Field, Filter, MatchMode, Query, Reader};
use etui::search::query::SortOrder;

use super::address_query::{AddressQuery, CardFilter, CardTest, Combination};
use super::error::QueryError;
use super::text_match::TextMatch;

/// Records of a page when ids are read from the index.
const PAGE: u64 = 4_096;

/// The contacts that match a query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FoundContacts {
    /// The records, in the order in which they were added.
    pub ids: Vec<RecordId>,
    /// True if the limit of the query left some out: the answer has a 507 for the address book (RFC 6352
    /// section 8.6.1).
    pub is_truncated: bool,
}

/// Returns the contacts that match a query, up to its limit. Memory holds one card and the ids.
///
/// # Errors
/// [`QueryError::Store`].
pub fn find_contacts(reader: &Reader, query: &AddressQuery) -> Result<FoundContacts, QueryError> {
    let limit = query.limit().unwrap_or(usize::MAX);
    let mut found = FoundContacts::default();
    let mut visit = |id: RecordId, card: &[u8]| {
        if !found.is_truncated && query.matches(card) {
            match found.ids.len() < limit {
                true => found.ids.push(id),
                false => found.is_truncated = true,
            }
        }
        !found.is_truncated
    };
    match candidates(query) {
        Some(filter) => {
            let query = Query::new(filter)
                .columns(Column::Uid)
                .sort(SortOrder::Added)
                .limit(PAGE);
            let mut page = reader.query(&query)?;
            'pages: loop {
                for id in page.ids() {
                    let Some(stored) = reader.get(*id)? else {
                        continue;
                    };
                    if !visit(*id, &stored.text) {
                        break 'pages;
                    }
                }
                let Some(next) = page.next().cloned() else {
                    break;
                };
                page = reader.query(&query.clone().after(next))?;
            }
        }
        None => reader.for_each(|id, card| {
            visit(id, card);
            Ok(())
        })?,
    }
    Ok(found)
}

/// Returns a filter of the library that finds a superset; `None` for all contacts.
fn candidates(query: &AddressQuery) -> Option<Filter> {
    combine(
        query.combination,
        query.properties.iter().map(of_property).collect(),
    )
}

/// Combines the supersets of conditions; `None` is a condition without one.
fn combine(combination: Combination, all: Vec<Option<Filter>>) -> Option<Filter> {
    let mut filters: Vec<Filter> = match combination {
        Combination::AnyOf => all.into_iter().collect::<Option<_>>()?,
        Combination::AllOf => all.into_iter().flatten().collect(),
    };
    match (filters.len(), combination) {
        (0, _) => None,
        (1, _) => filters.pop(),
        (_, Combination::AnyOf) => Some(Filter::Or(filters)),
        (_, Combination::AllOf) => Some(Filter::And(filters)),
    }
}

fn of_property(filter: &CardFilter) -> Option<Filter> {
    let CardTest::Defined {
        combination,
        texts,
        params,
    } = &filter.test
    else {
        return None;
    };
    let name = filter.name.to_ascii_uppercase();
    let texts = texts.iter().map(|text| of_text(&name, text));
    combine(
        *combination,
        texts.chain(params.iter().map(|_| None)).collect(),
    )
}

fn of_text(name: &str, text: &TextMatch) -> Option<Filter> {
    let text = text.required_text()?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b' ';
    let is_phone = |byte: u8| byte.is_ascii_digit() || b" +-/().".contains(&byte);
    let (field, is_usable) = match name {
        "FN" => (Field::Display, text.bytes().all(is_plain)),
        "NICKNAME" => (Field::Nickname, text.bytes().all(is_plain)),
        "ORG" => (Field::Organization, text.bytes().all(is_plain)),
        "EMAIL" => (Field::Email, text.bytes().all(|b| b.is_ascii_graphic())),
        "TEL" => (
            Field::PhoneWritten,
            text.bytes().all(is_phone) && text.bytes().any(|b| b.is_ascii_digit()),
        ),
        _ => return None,
    };
    let text = text.trim_matches(' ');
    (is_usable && !text.is_empty()).then(|| Filter::text(field, MatchMode::Contains, text))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::tests::parse_addresses;
    use super::*;

    fn candidates_of(filter: &str) -> Option<Filter> {
        candidates(&parse_addresses(filter).unwrap())
    }

    #[test]
    fn safe_texts_are_looked_up() {
        let one = |name: &str, text: &str| {
            format!(
                "<C:prop-filter name=\"{name}\"><C:text-match>{text}</C:text-match></C:prop-filter>"
            )
        };
        let of = |name: &str, text: &str| {
            candidates_of(&format!("<C:filter>{}</C:filter>", one(name, text)))
        };
        let contains = |field, text: &str| Some(Filter::text(field, MatchMode::Contains, text));
        assert_eq!(of("fn", "Ada B"), contains(Field::Display, "Ada B"));
        assert_eq!(
            of("EMAIL", "@Ex-1.org"),
            contains(Field::Email, "@Ex-1.org")
        );
        assert_eq!(
            of("TEL", "(030) 12"),
            contains(Field::PhoneWritten, "(030) 12")
        );
        for (name, text) in [
            ("FN", "ø"),
            ("FN", "a-b"),
            ("TEL", "-"),
            ("NOTE", "a"),
            ("FN", ""),
        ] {
            assert_eq!(of(name, text), None, "{name} {text}");
        }
        let two = |test: &str| {
            let filters = one("FN", "a") + &one("NOTE", "b");
            candidates_of(&format!("<C:filter test=\"{test}\">{filters}</C:filter>"))
        };
        assert_eq!(two("anyof"), None);
        assert_eq!(two("allof"), contains(Field::Display, "a"));
    }
}
