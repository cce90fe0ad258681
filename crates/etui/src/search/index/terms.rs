//! Terms: whole words, addresses and numbers, for equality and prefixes.
//!
//! ```text
//! term := 'f' | 'g' | 'n' | 'o' | 'c' | 't' word   a word of the family name, given names,
//!                                                  nickname, organisation, category, note
//!       | 's' | 'l' | 'm' | 'k' word           a word of a title, location, description, kind
//!       | 'd' word       a word of the display name that is in none of the other names
//!       | 'e' address    an e-mail address
//!       | 'h' tsoh       the end of an e-mail address from its "@" on, reversed
//!       | 'a' | 'j' | 'b' | 'q' | 'x' | 'u' | 'i' word   a word of an artist, album artist, album,
//!                                                  composer, genre, file format, camera
//!       | 'y' | 'z' | 'v' | 'L' | 'T' digits   a year, rating, number of plays, length in seconds,
//!                                                  day as YYYYMMDD, in ten digits
//!       | 'J' | 'A' | 'S' word                 a word of a job title, postal address, status
//!       | 'D' word       a part of a birthday: `y1990`, `m05`, `d17`
//!       | 'U' digits     a due day as YYYYMMDD, in ten digits
//!       | 'p' digits     a phone number, country code first
//!       | 'r' digits     a phone number reversed: a suffix of the number is a prefix of the term
//!       | 'w' digits     a phone number as written, if it is not written in a usual form
//!                        (`record::keys::WrittenForm`)
//!       | kind           the field is present (not of 'h', 'r' and 'w')
//! ```

use crate::record::keys::{Key, Keys, PhoneParts};

pub(crate) const EMAIL: u8 = b'e';
pub(crate) const HOST: u8 = b'h';
pub(crate) const PHONE: u8 = b'p';
pub(crate) const PHONE_REVERSED: u8 = b'r';
pub(crate) const PHONE_WRITTEN: u8 = b'w';

/// Returns the first byte of a key's terms; `None` for keys without text.
pub(crate) fn kind_of(key: Key) -> u8 {
    match key {
        Key::Display => b'd',
        Key::Family => b'f',
        Key::Given => b'g',
        Key::Nickname => b'n',
        Key::Organization => b'o',
        Key::Category => b'c',
        Key::Note => b't',
        Key::Email => EMAIL,
        Key::Phone => PHONE,
        Key::Title => b's',
        Key::Place => b'l',
        Key::Description => b'm',
        Key::Component => b'k',
        Key::Artist => b'a',
        Key::AlbumArtist => b'j',
        Key::Album => b'b',
        Key::Composer => b'q',
        Key::Genre => b'x',
        Key::Format => b'u',
        Key::Camera => b'i',
        Key::Year => b'y',
        Key::Rating => b'z',
        Key::Plays => b'v',
        Key::Length => b'L',
        Key::Taken => b'T',
        Key::AlbumUid => b'B',
        Key::JobTitle => b'J',
        Key::Address => b'A',
        Key::Birthday => b'D',
        Key::Status => b'S',
        Key::Due => b'U',
        Key::Tempo => b'M',
        Key::Tonality => b'K',
    }
}

/// Longest text of a term in bytes. Longer texts are cut, in the index and in lookups.
pub(crate) const MAX_TERM: usize = 64;

/// Returns a term of a kind.
pub(crate) fn new_term(kind: u8, text: &[u8]) -> Vec<u8> {
    let mut term = Vec::with_capacity(text.len().min(MAX_TERM) + 1);
    term.push(kind);
    term.extend_from_slice(&text[..text.len().min(MAX_TERM)]);
    term
}

/// Returns the bytes in reverse order.
pub(crate) fn reverse_bytes(text: &[u8]) -> Vec<u8> {
    text.iter().rev().copied().collect()
}

/// Returns the end of an address from its "@" on, or all of an address without one.
pub(crate) fn host_of(address: &[u8]) -> &[u8] {
    let at = address.iter().rposition(|&b| b == b'@').unwrap_or(0);
    &address[at..]
}

fn split_words(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&b| b == b' ').filter(|w| !w.is_empty())
}

/// Returns true if another name of the record has this word.
fn is_in_other_names(keys: &[u8], word: &[u8]) -> bool {
    Keys(keys)
        .filter(|(key, _)| matches!(key, Key::Family | Key::Given | Key::Nickname))
        .any(|(_, value)| split_words(value).any(|w| w == word))
}

/// Calls `visit` with each term of a record's keys, repeated ones included.
pub(crate) fn of_keys(keys: &[u8], mut visit: impl FnMut(&[u8])) {
    let mut buffer = Vec::with_capacity(MAX_TERM + 1);
    let mut emit = |kind: u8, text: &mut dyn Iterator<Item = u8>| {
        buffer.clear();
        buffer.push(kind);
        buffer.extend(text.take(MAX_TERM));
        visit(&buffer);
    };
    for (key, value) in Keys(keys) {
        let kind = kind_of(key);
        emit(kind, &mut std::iter::empty());
        match key {
            Key::Phone => {
                if let Some(parts) = PhoneParts::parse(value) {
                    emit(PHONE, &mut parts.digits.iter().copied());
                    emit(PHONE_REVERSED, &mut parts.digits.iter().rev().copied());
                    if let Some(written) = parts.stored_written() {
                        emit(PHONE_WRITTEN, &mut written.iter().copied());
                    }
                }
            }
            Key::Email => {
                let address = value.trim_ascii();
                emit(EMAIL, &mut address.iter().copied());
                emit(HOST, &mut host_of(address).iter().rev().copied());
            }
            _ => {
                for word in split_words(value) {
                    if key != Key::Display || !is_in_other_names(keys, word) {
                        emit(kind, &mut word.iter().copied());
                    }
                }
            }
        }
    }
}

/// Returns the least byte string greater than all that start with `prefix`. It exists, as kinds are
/// below 0xff.
pub(crate) fn prefix_end(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < 0xff {
            end.push(last + 1);
            break;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms_of(keys: &[u8]) -> Vec<String> {
        let mut seen = Vec::new();
        of_keys(keys, |t| seen.push(String::from_utf8_lossy(t).into_owned()));
        seen
    }

    #[test]
    fn prefix_end_is_beyond_every_extension() {
        assert_eq!(prefix_end(b"wmu"), b"wmv");
        assert_eq!(prefix_end(b"w\xff\xff"), b"x");
        assert!(b"wmu\xff\xff".as_slice() < prefix_end(b"wmu").as_slice());
    }

    #[test]
    fn long_terms_are_cut_alike() {
        let long = [b'a'; 200];
        assert_eq!(new_term(b'f', &long).len(), MAX_TERM + 1);
        let keys = [&[2u8, 202, 1, b' '][..], &long, b" "].concat();
        assert_eq!(terms_of(&keys)[1].as_bytes(), new_term(b'f', &long));
    }

    #[test]
    fn every_field_has_its_kind() {
        let card = crate::contacts::Card::parse(
            "BEGIN:VCARD\r\nVERSION:3.0\r\nN:Bo;Al;;;\r\nFN:Dr Al Bo\r\nORG:Acme\r\n\
             EMAIL:al@bo.example\r\nTEL:+4930123\r\nEND:VCARD\r\n",
        )
        .unwrap();
        let order = etui_text::collator::Collator::new("en").unwrap();
        let with = crate::db::IndexContext {
            order: &order,
            region: None,
        };
        let keys = crate::contacts::keys::derive(&card, &with).keys;
        assert_eq!(
            terms_of(&keys),
            [
                "d",
                "ddr",
                "f",
                "fbo",
                "g",
                "gal",
                "o",
                "oacme",
                "e",
                "eal@bo.example",
                "helpmaxe.ob@",
                "p",
                "p4930123",
                "r3210394"
            ]
        );
    }
}
