//! Dates as people and programs write them.
//!
//! vCard 4.0 writes `18151210`, `--1210` (RFC 6350 §4.3.1), older versions `1815-12-10`, and many
//! programs the latter in 4.0 as well. The parser takes each version by its word, and loses the
//! day of a date in the other's form, or makes one of what is none. So dates are read here, from
//! the text.

use calcard::common::PartialDateTime;
use calcard::vcard::{VCard, VCardProperty, VCardValue};

use etui_contentline::lines::ContentLines;

const DATES: &[VCardProperty] = &[
    VCardProperty::Bday,
    VCardProperty::Anniversary,
    VCardProperty::Deathdate,
];

/// Reads the dates of `parsed` again from the card's text; what is no date stays text.
pub(super) fn read_as_written(parsed: &mut VCard, text: &str) {
    for property in DATES {
        if !parsed.entries.iter().any(|e| &e.name == property) {
            continue;
        }
        let lines = ContentLines::new(text.as_bytes()).filter(|l| l.name_is(property.as_str()));
        let values: Vec<String> = lines
            .map(|l| {
                String::from_utf8_lossy(&l.unfolded_value())
                    .trim()
                    .to_owned()
            })
            .collect();
        let mut entries: Vec<_> = parsed
            .entries
            .iter_mut()
            .filter(|e| &e.name == property)
            .collect();
        if entries.len() != values.len() {
            continue;
        }
        for (entry, value) in entries.iter_mut().zip(values) {
            match (date(&value), entry.values.first_mut()) {
                (Some(read), Some(VCardValue::PartialDateTime(known))) => {
                    (known.year, known.month, known.day) = (read.year, read.month, read.day);
                }
                (Some(read), _) => entry.values = vec![VCardValue::PartialDateTime(read)],
                (None, Some(VCardValue::PartialDateTime(_))) if !value.starts_with(['T', 't']) => {
                    entry.values = vec![VCardValue::Text(value)];
                }
                (None, _) => {}
            }
        }
    }
}

/// `1815-12-10`, `18151210`, `1815-12`, `1815`, `--12-10`, `--1210`, `--12`, `---10`, each perhaps
/// with a time behind it.
fn date(text: &str) -> Option<PartialDateTime> {
    let date = text.split(['T', 't', ' ']).next()?;
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit()).then(|| s.to_owned());
    let (year, rest) = match date.strip_prefix("--") {
        Some(rest) => (None, rest),
        None => {
            let (year, rest) = date.split_at_checked(4)?;
            (Some(digits(year)?.parse().ok()?), rest)
        }
    };
    let (month, day) = match (year, rest.as_bytes()) {
        (Some(_), []) => (None, None),
        (None, [b'-', ..]) => (None, Some(rest.get(1..)?)),
        _ => {
            let rest = rest.strip_prefix('-').unwrap_or(rest);
            let (month, rest) = rest.split_at_checked(2)?;
            let day = rest.strip_prefix('-').unwrap_or(rest);
            (Some(month), (!day.is_empty()).then_some(day))
        }
    };
    let number = |part: Option<&str>, most: u8| -> Option<Option<u8>> {
        let Some(part) = part else { return Some(None) };
        let n: u8 = (part.len() == 2).then(|| digits(part))??.parse().ok()?;
        (1..=most).contains(&n).then_some(Some(n))
    };
    Some(PartialDateTime {
        year,
        month: number(month, 12)?,
        day: number(day, 31)?,
        ..PartialDateTime::default()
    })
}

/// A date as vCard 4.0 writes it, if `text` is a whole one in the older form.
pub(super) fn basic(text: &str) -> Option<String> {
    let read = date(text).filter(|_| text.len() == 10)?;
    Some(format!(
        "{:04}{:02}{:02}",
        read.year?, read.month?, read.day?
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_and_their_parts() {
        for (text, expected) in [
            ("1815-12-10", (Some(1815), Some(12), Some(10))),
            ("18151210", (Some(1815), Some(12), Some(10))),
            ("1815-12-10T10:00:00Z", (Some(1815), Some(12), Some(10))),
            ("1815-12", (Some(1815), Some(12), None)),
            ("1815", (Some(1815), None, None)),
            ("--1210", (None, Some(12), Some(10))),
            ("--12-10", (None, Some(12), Some(10))),
            ("--12", (None, Some(12), None)),
            ("---10", (None, None, Some(10))),
        ] {
            let read = date(text).unwrap();
            assert_eq!((read.year, read.month, read.day), expected, "{text}");
        }
        for text in [
            "2000-13-45",
            "10 Dec 1815",
            "1815-1-1",
            "",
            "circa 1800",
            "--",
            "1815-12-",
            "----",
        ] {
            let whole = date(text)
                .is_some_and(|d| d.month.is_some() || d.year.is_some() || d.day.is_some());
            assert!(!whole || text == "1815-12-", "{text}");
        }
        assert_eq!(basic("1815-12-10").as_deref(), Some("18151210"));
        assert_eq!(basic("18151210"), None);
    }

    #[test]
    fn cards_of_every_version_keep_their_day() {
        for version in ["2.1", "3.0", "4.0"] {
            for value in ["1815-12-10", "18151210"] {
                let card = super::super::Card::parse(format!(
                    "BEGIN:VCARD\nVERSION:{version}\nFN:A\nBDAY:{value}\nEND:VCARD\n"
                ))
                .unwrap();
                let day = card.birthday().unwrap();
                assert_eq!(
                    (day.year, day.month, day.day),
                    (Some(1815), Some(12), Some(10))
                );
                assert_eq!(card.property("BDAY").as_deref(), Some("1815-12-10"));
                assert!(card.to_v4().contains("BDAY:18151210"), "{}", card.to_v4());
            }
        }
        let card = super::super::Card::parse(
            "BEGIN:VCARD\nVERSION:4.0\nFN:A\nBDAY:10 Dec 1815\nEND:VCARD\n",
        )
        .unwrap();
        assert_eq!(card.birthday(), None);
        assert_eq!(card.property("BDAY").as_deref(), Some("10 Dec 1815"));
    }
}
