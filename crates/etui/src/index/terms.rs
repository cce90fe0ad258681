//! Terms: whole words, addresses and numbers, for equality and beginnings.
//!
//! ```text
//! term := 'w' word          a word of a name, organisation, category or note
//!       | 'e' address       an e-mail address
//!       | 'p' digits        a phone number, country code first
//!       | 'r' digits        the same backwards: the end of a number is a beginning
//! ```

use rusqlite::Connection;

use crate::contacts::keys::{Key, Keys, phone_parts};
use crate::error::Result;

pub(crate) const WORD: u8 = b'w';
pub(crate) const EMAIL: u8 = b'e';
pub(crate) const PHONE: u8 = b'p';
pub(crate) const PHONE_REVERSED: u8 = b'r';

/// Longest term that is kept, in bytes; longer ones are cut, here and when they are looked up.
pub(crate) const MAX_TERM: usize = 64;

/// A term of a kind.
pub(crate) fn term(kind: u8, text: &[u8]) -> Vec<u8> {
    let mut term = Vec::with_capacity(text.len().min(MAX_TERM) + 1);
    term.push(kind);
    term.extend_from_slice(&text[..text.len().min(MAX_TERM)]);
    term
}

/// A number's digits backwards.
pub(crate) fn reversed(digits: &[u8]) -> Vec<u8> {
    digits.iter().rev().copied().collect()
}

/// Calls `visit` with every term of a record's keys; the same term may come more than once.
pub(crate) fn of_keys(keys: &[u8], mut visit: impl FnMut(&[u8])) {
    let mut buffer = Vec::with_capacity(MAX_TERM + 1);
    let mut emit = |kind: u8, text: &mut dyn Iterator<Item = u8>| {
        buffer.clear();
        buffer.push(kind);
        buffer.extend(text.take(MAX_TERM));
        visit(&buffer);
    };
    for (key, value) in Keys(keys) {
        match key {
            Key::Phone => {
                if let Some((_, digits, _)) = phone_parts(value) {
                    emit(PHONE, &mut digits.iter().copied());
                    emit(PHONE_REVERSED, &mut digits.iter().rev().copied());
                }
            }
            Key::Email => emit(EMAIL, &mut value.trim_ascii().iter().copied()),
            _ => {
                for word in value.split(|&b| b == b' ').filter(|w| !w.is_empty()) {
                    emit(WORD, &mut word.iter().copied());
                }
            }
        }
    }
}

/// Appends the records that have exactly `term`.
pub(crate) fn exact(conn: &Connection, term: &[u8], ids: &mut Vec<i64>) -> Result<()> {
    let mut statement = conn.prepare_cached("SELECT record FROM term WHERE term = ?1")?;
    let mut rows = statement.query([term])?;
    while let Some(row) = rows.next()? {
        ids.push(row.get(0)?);
    }
    Ok(())
}

/// Appends the records that have a term beginning with `prefix`.
pub(crate) fn prefix(conn: &Connection, prefix: &[u8], ids: &mut Vec<i64>) -> Result<()> {
    let mut statement =
        conn.prepare_cached("SELECT record FROM term WHERE term >= ?1 AND term < ?2")?;
    let mut rows = statement.query((prefix, successor(prefix)))?;
    while let Some(row) = rows.next()? {
        ids.push(row.get(0)?);
    }
    Ok(())
}

/// The least byte string greater than all that begin with `prefix`. Kinds are below 0xff, so
/// there always is one.
fn successor(prefix: &[u8]) -> Vec<u8> {
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

    #[test]
    fn successor_is_beyond_every_extension() {
        assert_eq!(successor(b"wmu"), b"wmv");
        assert_eq!(successor(b"w\xff\xff"), b"x");
        assert!(b"wmu\xff\xff".as_slice() < successor(b"wmu").as_slice());
    }

    #[test]
    fn long_terms_are_cut_alike() {
        let long = [b'a'; 200];
        assert_eq!(term(WORD, &long).len(), MAX_TERM + 1);
        let keys = [&[2u8, 202, 1, b' '][..], &long, b" "].concat();
        let mut seen = Vec::new();
        of_keys(&keys, |t| seen.push(t.to_vec()));
        assert_eq!(seen, [term(WORD, &long)]);
    }
}
