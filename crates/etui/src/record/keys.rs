//! Search keys: the folded values of a record's indexed fields.
//!
//! Filters are evaluated against them, and the index is built from them. They are stored in the
//! record so that index entries can be removed exactly as they were inserted:
//!
//! ```text
//! keys   := entry*
//! entry  := field:u8  length:varint  value[length]
//! value  := ' ' folded text ' '                       (all fields but phones)
//!         | country:u8 ' ' digits ' ' extension       (phones)
//! ```
//!
//! The spaces make every comparison a substring test: ` anna ` is a word, ` ann` a prefix, `nna ` a
//! suffix. `country` is the number of digits of the country calling code (0: unknown).

use etui_text::fold;
use etui_text::phone::PhoneNumber;
use etui_text::varint;

/// The fields of filters. The numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Key {
    Display = 1,
    Family = 2,
    Given = 3,
    Nickname = 4,
    Organization = 5,
    Email = 6,
    Phone = 7,
    Category = 8,
    Note = 9,
    Title = 10,
    Place = 11,
    Description = 12,
    Component = 13,
}

impl Key {
    pub(crate) fn from_u8(n: u8) -> Option<Self> {
        Some(match n {
            1 => Self::Display,
            2 => Self::Family,
            3 => Self::Given,
            4 => Self::Nickname,
            5 => Self::Organization,
            6 => Self::Email,
            7 => Self::Phone,
            8 => Self::Category,
            9 => Self::Note,
            10 => Self::Title,
            11 => Self::Place,
            12 => Self::Description,
            13 => Self::Component,
            _ => return None,
        })
    }
}

/// Longest value that is folded and stored, in bytes; the rest of a longer note is not searched.
const MAX_VALUE: usize = 8 << 10;
/// Maximum size of a record's keys in bytes; values beyond it (after the ten-thousandth phone
/// number or so) are not searched.
const MAX_KEYS: usize = 1 << 20;

/// Returns `text` cut to at most `max` bytes, at a character boundary.
pub(crate) fn clip_text(text: &str, max: usize) -> &str {
    match text.len() {
        n if n <= max => text,
        _ => &text[..text.floor_char_boundary(max)],
    }
}

/// Writes keys.
#[derive(Default)]
pub(crate) struct KeyWriter {
    out: Vec<u8>,
    value: String,
}

impl KeyWriter {
    pub(crate) fn push_words(&mut self, key: Key, text: &str) {
        self.value.clear();
        self.value.push(' ');
        fold::push_folded_words(clip_text(text, MAX_VALUE), &mut self.value);
        self.push_value(key);
    }

    pub(crate) fn push_address(&mut self, key: Key, text: &str) {
        self.value.clear();
        self.value.push(' ');
        fold::push_folded_address(clip_text(text, MAX_VALUE), &mut self.value);
        self.push_value(key);
    }

    /// Returns the keys.
    pub(crate) fn into_keys(self) -> Vec<u8> {
        self.out
    }

    fn push_value(&mut self, key: Key) {
        if self.value.len() > 1 {
            self.value.push(' ');
            let value = std::mem::take(&mut self.value);
            self.push_entry(key, value.as_bytes());
            self.value = value;
        }
    }

    pub(crate) fn push_phone(&mut self, number: &PhoneNumber) {
        let digits = number.digits();
        let mut value = Vec::with_capacity(digits.len() + 8);
        value.push(number.country_len());
        value.push(b' ');
        value.extend_from_slice(digits.as_bytes());
        value.push(b' ');
        value.extend_from_slice(number.extension().unwrap_or_default().as_bytes());
        self.push_entry(Key::Phone, &value);
    }

    fn push_entry(&mut self, key: Key, value: &[u8]) {
        if self.out.len() + value.len() < MAX_KEYS {
            self.out.push(key as u8);
            varint::push_bytes(&mut self.out, value);
        }
    }
}

/// An iterator over the entries of stored keys. It ends at bytes that are no entry.
#[derive(Clone, Copy)]
pub(crate) struct Keys<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Keys<'a> {
    type Item = (Key, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (&field, rest) = self.0.split_first()?;
        self.0 = rest;
        let value = varint::take_bytes(&mut self.0)?;
        Some((Key::from_u8(field)?, value))
    }
}

/// Splits a stored phone value into the length of its country calling code, its digits and its
/// extension.
pub(crate) fn phone_parts(value: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&country, rest) = value.split_first()?;
    let mut parts = rest.strip_prefix(b" ")?.splitn(2, |&b| b == b' ');
    Some((country, parts.next()?, parts.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_keys_end_the_walk() {
        assert_eq!(Keys(&[1]).count(), 0);
        assert_eq!(Keys(&[1, 5, b'a']).count(), 0);
        assert_eq!(Keys(&[200, 1, b'a']).count(), 0);
        assert_eq!(
            Keys(&[
                1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1
            ])
            .count(),
            0
        );
    }
}
