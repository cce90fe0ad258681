//! Search keys: the folded values of a record's indexed fields.
//!
//! Filters are evaluated against them, and the index is built from them. They are stored in the
//! record so that index entries can be removed exactly as they were inserted:
//!
//! ```text
//! keys   := entry*
//! entry  := field:u8  length:varint  value[length]
//! value  := ' ' folded text ' '                       (all fields but phones)
//!         | ' ' folded text, umlauts spelled out ' '    (after it, for words with umlauts)
//!         | form:u8 ' ' digits ' ' extension [ ' ' written ]     (phones)
//!         | ' ' 10 decimal digits ' '                           (numbers)
//! ```
//!
//! The spaces make every comparison a substring test: ` anna ` is a word, ` ann` a prefix, `nna ` a
//! suffix. The lower four bits of `form` are the number of digits of the country calling code (0:
//! unknown), the upper ones say how the number is written ([`WrittenForm`]).

use etui_text::fold;
use etui_text::phone::{PhoneNumber, decimal_digits};
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
    Artist = 14,
    AlbumArtist = 15,
    Album = 16,
    Composer = 17,
    Genre = 18,
    Format = 19,
    Camera = 20,
    Year = 21,
    Length = 22,
    Plays = 23,
    Rating = 24,
    Taken = 25,
    AlbumUid = 26,
    JobTitle = 27,
    Address = 28,
    Birthday = 29,
    Status = 30,
    Due = 31,
    Tempo = 32,
    Tonality = 33,
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
            14 => Self::Artist,
            15 => Self::AlbumArtist,
            16 => Self::Album,
            17 => Self::Composer,
            18 => Self::Genre,
            19 => Self::Format,
            20 => Self::Camera,
            21 => Self::Year,
            22 => Self::Length,
            23 => Self::Plays,
            24 => Self::Rating,
            25 => Self::Taken,
            26 => Self::AlbumUid,
            27 => Self::JobTitle,
            28 => Self::Address,
            29 => Self::Birthday,
            30 => Self::Status,
            31 => Self::Due,
            32 => Self::Tempo,
            33 => Self::Tonality,
            _ => return None,
        })
    }
}

/// The parts of a record that filters compare.
#[derive(Clone, Copy)]
pub(crate) struct SearchKeys<'r> {
    /// Its UID, or the identity that stands for one.
    pub(crate) uid: &'r [u8],
    /// Its folded values ([`Keys`]).
    pub(crate) keys: &'r [u8],
}

/// Longest value that is folded and stored, in bytes; the rest of a longer note is not searched.
const MAX_VALUE: usize = 8 << 10;
/// Longest value, in bytes, that has a second entry with its umlauts spelled out. It doubles a value,
/// so texts such as descriptions have none.
const MAX_SPELLED_OUT: usize = 256;
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

/// Returns the text of a number in keys and terms. Texts have the order of their numbers.
pub(crate) fn number_term(number: u32) -> String {
    format!("{number:010}")
}

/// Writes keys.
#[derive(Default)]
pub(crate) struct KeyWriter {
    out: Vec<u8>,
    value: String,
}

impl KeyWriter {
    /// Appends words. Words with umlauts are appended twice, so that `mueller` finds Müller.
    pub(crate) fn push_words(&mut self, key: Key, text: &str) {
        self.push_folded(key, text, fold::push_folded_words);
        if text.len() <= MAX_SPELLED_OUT
            && let Some(spelled) = fold::fold_spelled_out(text)
        {
            self.push_entry(key, format!(" {spelled} ").as_bytes());
        }
    }

    pub(crate) fn push_address(&mut self, key: Key, text: &str) {
        self.push_folded(key, text, fold::push_folded_address);
    }

    /// Appends a number.
    pub(crate) fn push_number(&mut self, key: Key, number: u32) {
        self.push_entry(key, format!(" {} ", number_term(number)).as_bytes());
    }

    /// Returns the keys.
    pub(crate) fn into_keys(self) -> Vec<u8> {
        self.out
    }

    fn push_folded(&mut self, key: Key, text: &str, push_folded: fn(&str, &mut String)) {
        let mut value = std::mem::take(&mut self.value);
        value.clear();
        value.push(' ');
        push_folded(clip_text(text, MAX_VALUE), &mut value);
        // Punctuation alone folds to nothing, and has no entry.
        if value.len() > 1 {
            value.push(' ');
            self.push_entry(key, value.as_bytes());
        }
        self.value = value;
    }

    /// Appends a phone number, and the text that it is written as.
    pub(crate) fn push_phone(&mut self, number: &PhoneNumber, text: &str) {
        let digits = number.digits();
        let written = decimal_digits(clip_text(text, MAX_VALUE));
        let form = WrittenForm::of(number, &written);
        let mut value = Vec::with_capacity(digits.len() + 8);
        value.push(number.country_len() | (form as u8) << 4);
        value.push(b' ');
        value.extend_from_slice(digits.as_bytes());
        value.push(b' ');
        value.extend_from_slice(number.extension().unwrap_or_default().as_bytes());
        if form == WrittenForm::Otherwise {
            value.push(b' ');
            value.extend_from_slice(&written);
        }
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

/// How the digits of a phone number are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum WrittenForm {
    /// As they are stored: with a plus and the country code, or not completed.
    AsStored = 0,
    /// The national number after a zero.
    AfterZero = 1,
    /// The national number.
    National = 2,
    /// Any other way. The written digits, those of an extension included, are stored too.
    Otherwise = 3,
}

impl WrittenForm {
    fn of(number: &PhoneNumber, written: &[u8]) -> Self {
        let national = number.national_number().as_bytes();
        let has_country = number.country_len() > 0;
        match written {
            all if all == number.digits().as_bytes() => Self::AsStored,
            [b'0', rest @ ..] if has_country && rest == national => Self::AfterZero,
            all if has_country && all == national => Self::National,
            _ => Self::Otherwise,
        }
    }
}

/// The parts of a stored phone value.
#[derive(Clone, Copy)]
pub(crate) struct PhoneParts<'k> {
    /// The number of digits of the country calling code.
    pub(crate) country_len: u8,
    pub(crate) digits: &'k [u8],
    pub(crate) extension: &'k [u8],
    form: u8,
    stored_written: &'k [u8],
}

impl<'k> PhoneParts<'k> {
    /// Splits a stored phone value.
    pub(crate) fn parse(value: &'k [u8]) -> Option<Self> {
        let (&first, rest) = value.split_first()?;
        let mut parts = rest.strip_prefix(b" ")?.splitn(3, |&b| b == b' ');
        Some(Self {
            country_len: first & 0xf,
            form: first >> 4,
            digits: parts.next()?,
            extension: parts.next()?,
            stored_written: parts.next().unwrap_or_default(),
        })
    }

    /// Returns the digits as they are written, as up to two parts in a row.
    pub(crate) fn written(&self) -> (&'static [u8], &'k [u8]) {
        let national = || {
            let country = usize::from(self.country_len);
            // Damaged keys may have fewer digits than their country code.
            self.digits.get(country..).unwrap_or_default()
        };
        match self.form {
            0 => (b"", self.digits),
            1 => (b"0", national()),
            2 => (b"", national()),
            _ => (b"", self.stored_written),
        }
    }

    /// Returns the written digits if they are stored.
    pub(crate) fn stored_written(&self) -> Option<&'k [u8]> {
        (!self.stored_written.is_empty()).then_some(self.stored_written)
    }
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
