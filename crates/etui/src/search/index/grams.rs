//! Grams: every three characters in a row, for what stands inside or at the end of a word.
//!
//! Grams are taken from the padded values (`keys`) and one space more, so ` an` says that a word
//! begins with "an", `er ` that one ends with "er", and whatever one or two characters are looked
//! for are the beginning of a gram.
//!
//! ```text
//! gram := c1 << 42 | c2 << 21 | c3                    (Unicode scalar values)
//! ```

use std::ops::Range;

use crate::record::keys::{Key, Keys};

const LOW_TWO: i64 = (1 << 42) - 1;

fn each(chars: impl Iterator<Item = char>, mut visit: impl FnMut(i64)) {
    let mut gram = 0i64;
    for (i, c) in chars.enumerate() {
        gram = (gram & LOW_TWO) << 21 | i64::from(u32::from(c));
        if i >= 2 {
            visit(gram);
        }
    }
}

/// Calls `visit` with every gram of `text`.
pub(crate) fn of_text(text: &str, visit: impl FnMut(i64)) {
    each(text.chars(), visit);
}

/// The grams that begin with `text`, which is of one or two characters.
pub(crate) fn beginning_with(text: &str) -> Option<Range<i64>> {
    let mut chars = text.chars().map(|c| i64::from(u32::from(c)));
    let range = match (chars.next(), chars.next(), chars.next()) {
        (Some(a), None, _) => a << 42..(a + 1) << 42,
        (Some(a), Some(b), None) => a << 42 | b << 21..a << 42 | (b + 1) << 21,
        _ => return None,
    };
    Some(range)
}

/// Whether grams are taken from a field's values. Texts that are long, or of which there are few
/// different ones, are found inside by their terms; some fields have no text.
pub(crate) fn covers(key: Key) -> bool {
    !matches!(
        key,
        Key::Note | Key::Category | Key::Description | Key::Component | Key::Series | Key::Alarm
    )
}

/// Calls `visit` with every gram of a record's keys; the same gram may come more than once.
pub(crate) fn of_keys(keys: &[u8], mut visit: impl FnMut(i64)) {
    for (key, value) in Keys(keys) {
        if !covers(key) {
            continue;
        }
        let value = match key {
            Key::Phone => value.get(1..).unwrap_or_default(),
            _ => value,
        };
        if let Ok(text) = std::str::from_utf8(value) {
            each(text.chars().chain([' ']), &mut visit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grams(text: &str) -> Vec<i64> {
        let mut all = Vec::new();
        of_text(text, |g| all.push(g));
        all
    }

    #[test]
    fn a_gram_is_three_characters() {
        assert!(grams(" a").is_empty());
        assert_eq!(grams(" anna ").len(), 4);
        assert_eq!(grams("山田太")[0], (0x5c71 << 42) | (0x7530 << 21) | 0x592a);
        assert!(grams("\u{10ffff}\u{10ffff}\u{10ffff}")[0] > 0);
    }

    #[test]
    fn one_and_two_characters_are_ranges() {
        for (part, inside, outside) in [
            (
                "a",
                ["a  ", "azz", "a\u{10ffff}\u{10ffff}"],
                ["b  ", "`zz", " a "],
            ),
            (
                "an",
                ["an ", "anz", "an\u{10ffff}"],
                ["ao ", "am\u{10ffff}", " an"],
            ),
        ] {
            let range = beginning_with(part).unwrap();
            assert!(
                inside.iter().all(|t| range.contains(&grams(t)[0])),
                "{part}"
            );
            assert!(
                !outside.iter().any(|t| range.contains(&grams(t)[0])),
                "{part}"
            );
        }
        assert_eq!(beginning_with("ann"), None);
        let last = beginning_with("\u{10ffff}\u{10ffff}").unwrap();
        assert!(last.end > last.start);
    }
}
