//! Guesses from the cells of a column: e-mail addresses, phone numbers, names.

use super::UnmappedColumn;
use super::layout::{ColumnUse, Layout};
use crate::date::{DayOrder, TableDate, is_placeholder_date};

/// The property of a contact that a cell looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guess {
    Email,
    Phone,
    /// Words without digits.
    Words,
    Other,
}

/// Parts of headings that call the digits below them phone numbers.
const PHONE_WORDS: &[&str] = &[
    "phone", "tel", "fax", "mobil", "cell", "handy", "gsm", "móvil", "movil", "portable", "telé",
    "тел", "моб", "電話", "携帯", "电话", "手机", "전화", "휴대",
];

/// Returns true for an e-mail address, or several.
fn is_email(text: &str) -> bool {
    let is_address = |part: &str| {
        let part = part.trim_matches(['<', '>']);
        let (local, domain) = part.split_once('@').unwrap_or_default();
        let is_plain = |c: char| c.is_alphanumeric() || ".-".contains(c);
        !local.is_empty()
            && domain.contains('.')
            && domain.chars().all(is_plain)
            && !domain.starts_with('.')
            && !domain.ends_with('.')
    };
    let parts = text.split([',', ';', ' ', '\n']);
    let mut parts = parts.filter(|part| !part.is_empty()).peekable();
    parts.peek().is_some() && parts.all(is_address)
}

/// Returns true for a phone number: 7 to 15 digits (ITU-T E.164) with a prefix or in groups, or any
/// digits under a heading that says so. A date is none.
fn is_phone(text: &str, heading: &str) -> bool {
    const MARKS: &str = "+ ()/.-\u{a0}\u{2011}";
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let is_plain = text
        .chars()
        .all(|c| c.is_ascii_digit() || MARKS.contains(c));
    let is_date = || {
        let orders = [DayOrder::DayFirst, DayOrder::MonthFirst];
        orders
            .iter()
            .any(|order| TableDate::parse(text, *order).is_some())
    };
    if !is_plain || digits > 15 || is_date() {
        return false;
    }
    if PHONE_WORDS.iter().any(|word| heading.contains(word)) {
        return digits >= 3;
    }
    let has_prefix = text.starts_with(['+', '0', '(']);
    let groups = text.split(|c: char| !c.is_ascii_digit());
    let groups = groups.filter(|group| !group.is_empty()).count();
    // One separator is too few: a price, a version, a range.
    digits >= 6 && (has_prefix || digits >= 7 && groups >= 3)
}

fn guess_cell(text: &str, heading: &str) -> Guess {
    let is_words = || text.chars().any(char::is_alphabetic) && !text.contains(char::is_numeric);
    match () {
        () if is_email(text) => Guess::Email,
        () if is_phone(text, heading) => Guess::Phone,
        () if is_words() => Guess::Words,
        () => Guess::Other,
    }
}

/// Returns true if a cell looks like an e-mail address or a phone number.
pub(crate) fn is_contact_datum(text: &str, heading: &str) -> bool {
    matches!(guess_cell(text, heading), Guess::Email | Guess::Phone)
}

/// Returns the columns without a meaning that hold, in the first rows of a table, what a contact is
/// for: e-mail addresses, phone numbers, and the only names.
pub(crate) fn find_unmapped(layout: &Layout, rows: &[&[String]]) -> Vec<UnmappedColumn> {
    let cells = |index: usize| {
        let cells = rows.iter().filter_map(move |row| row.get(index));
        cells
            .map(|cell| cell.trim())
            .filter(|cell| !cell.is_empty())
    };
    let unknown = || {
        let columns = layout.columns.iter().enumerate();
        columns.filter(|(_, column)| column.usage == ColumnUse::Kept { is_custom: false })
    };
    let guesses = |index: usize, heading: &str| -> Vec<Guess> {
        let cells = cells(index).filter(|cell| !is_placeholder_date(cell));
        cells.map(|cell| guess_cell(cell, heading)).collect()
    };
    let mut unmapped = Vec::new();
    for (index, column) in unknown() {
        let guesses = guesses(index, &column.key);
        let count = |kind| guesses.iter().filter(|guess| **guess == kind).count();
        for (kind, field) in [(Guess::Email, "email"), (Guess::Phone, "phone")] {
            if 2 * count(kind) >= guesses.len().max(1) {
                unmapped.push(UnmappedColumn {
                    name: column.name.clone(),
                    field,
                });
            }
        }
    }
    let has_name = layout.columns.iter().enumerate().any(|(index, column)| {
        let ColumnUse::Part { slot, .. } = column.usage else {
            return false;
        };
        let property = layout.slots.get(slot).map(|slot| slot.property.as_str());
        matches!(property, Some("FN" | "N" | "ORG" | "NICKNAME")) && cells(index).next().is_some()
    });
    if !has_name {
        let mut words = unknown().filter(|(index, column)| {
            let guesses = guesses(*index, &column.key);
            !guesses.is_empty() && guesses.iter().all(|guess| *guess == Guess::Words)
        });
        if let Some((_, column)) = words.next() {
            unmapped.push(UnmappedColumn {
                name: column.name.clone(),
                field: "name",
            });
        }
    }
    unmapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_addresses_and_numbers() {
        for text in ["a@b.example", "a@b.example; c@d.example", "<x.y@ü.example>"] {
            assert!(is_email(text), "{text}");
        }
        for text in ["", "a@b", "@b.c", "call a@b.example", "a@b.", "@home"] {
            assert!(!is_email(text), "{text}");
        }
        for text in [
            "+49 30 2312501",
            "030 2312501",
            "070 123",
            "(704) 555-0123",
            "704-555-0123",
            "0171/3920001",
            "06.12.34.56.78",
        ] {
            assert!(is_phone(text, "x"), "{text}");
        }
        for text in [
            "",
            "9",
            "1980",
            "9.5.1980",
            "09/05/1980",
            "1980-05-09",
            "0.0.00",
            "10115",
            "42,50",
            "1.5",
            "12345678",
            "1.2.3",
            "0171 privat",
            "12345678901234567",
        ] {
            assert!(!is_phone(text, "x"), "{text}");
        }
        assert!(is_phone("7045550123", "home tel."));
        assert!(!is_phone("7045550123", "customer"));
    }
}
