//! Trigrams: every three consecutive characters of a value, for substrings and suffixes.
//!
//! Trigrams are taken from the padded values (`keys`) and one more space. So ` an` says that a word
//! starts with "an", `er ` that one ends with "er", and any one or two characters are the start of
//! a trigram.
//!
//! ```text
//! trigram := c1 << 42 | c2 << 21 | c3                 (Unicode scalar values)
//! ```

use std::ops::Range;

use crate::record::keys::{Key, Keys};

const LAST_TWO: i64 = (1 << 42) - 1;

fn each_trigram(chars: impl Iterator<Item = char>, mut visit: impl FnMut(i64)) {
    let mut trigram = 0i64;
    for (i, c) in chars.enumerate() {
        trigram = (trigram & LAST_TWO) << 21 | i64::from(u32::from(c));
        if i >= 2 {
            visit(trigram);
        }
    }
}

/// Calls `visit` with each trigram of `text`.
pub(crate) fn of_text(text: &str, visit: impl FnMut(i64)) {
    each_trigram(text.chars(), visit);
}

/// Returns the range of trigrams that start with `text`, if it has one or two characters.
pub(crate) fn range_of_prefix(text: &str) -> Option<Range<i64>> {
    let mut chars = text.chars().map(|c| i64::from(u32::from(c)));
    let range = match (chars.next(), chars.next(), chars.next()) {
        (Some(a), None, _) => a << 42..(a + 1) << 42,
        (Some(a), Some(b), None) => a << 42 | b << 21..a << 42 | (b + 1) << 21,
        _ => return None,
    };
    Some(range)
}

/// Returns true if a key's values have trigrams. Substrings of long texts, and of values with few
/// distinct texts, are found by scanning the terms; some keys have no text.
pub(crate) fn has_trigrams(key: Key) -> bool {
    matches!(
        key,
        Key::Display
            | Key::Family
            | Key::Given
            | Key::Nickname
            | Key::Organization
            | Key::Email
            | Key::Phone
            | Key::Title
            | Key::Place
            | Key::Artist
            | Key::Album
    )
}

/// Calls `visit` with each trigram of a record's keys, repeated ones included.
pub(crate) fn of_keys(keys: &[u8], mut visit: impl FnMut(i64)) {
    for (key, value) in Keys(keys) {
        if !has_trigrams(key) {
            continue;
        }
        let value = match key {
            // Without the byte of the form, which is no text.
            Key::Phone => value.get(1..).unwrap_or_default(),
            _ => value,
        };
        if let Ok(text) = std::str::from_utf8(value) {
            each_trigram(text.chars().chain([' ']), &mut visit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trigrams_of(text: &str) -> Vec<i64> {
        let mut all = Vec::new();
        of_text(text, |trigram| all.push(trigram));
        all
    }

    #[test]
    fn a_trigram_is_three_characters() {
        assert!(trigrams_of(" a").is_empty());
        assert_eq!(trigrams_of(" anna ").len(), 4);
        assert_eq!(
            trigrams_of("山田太")[0],
            (0x5c71 << 42) | (0x7530 << 21) | 0x592a
        );
        assert!(trigrams_of("\u{10ffff}\u{10ffff}\u{10ffff}")[0] > 0);
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
            let range = range_of_prefix(part).unwrap();
            assert!(
                inside.iter().all(|t| range.contains(&trigrams_of(t)[0])),
                "{part}"
            );
            assert!(
                !outside.iter().any(|t| range.contains(&trigrams_of(t)[0])),
                "{part}"
            );
        }
        assert_eq!(range_of_prefix("ann"), None);
        let last = range_of_prefix("\u{10ffff}\u{10ffff}").unwrap();
        assert!(last.end > last.start);
    }
}
