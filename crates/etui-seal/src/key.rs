//! [`SealKey`], and how a person writes it down.

use std::fmt;
use std::str::FromStr;

use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};

use crate::SealError;

/// The letters of a written key: without I, L, O and U, which are read as others.
const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Letters of a written key: 26 of 5 bits for 128, two that find a slip of the pen.
const KEY_LETTERS: usize = 26;
const CHECK_LETTERS: usize = 2;

/// Letters that are written together.
const GROUP: usize = 4;

/// A key of 128 bits.
#[derive(Clone, PartialEq, Eq)]
pub struct SealKey([u8; 16]);

/// A text that is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A letter that keys do not have.
    #[error("a key has no {0:?}")]
    Letter(char),
    /// Too short or too long.
    #[error("a key has 28 letters, this has {0}")]
    Length(usize),
    /// A letter is another one than was written down.
    #[error("the key has a mistake; compare it with what you wrote down")]
    Mistake,
}

/// Without the key.
impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealKey")
    }
}

impl SealKey {
    /// Makes a new key.
    ///
    /// # Errors
    /// [`SealError::Random`].
    pub fn generate() -> Result<Self, SealError> {
        let mut bytes = [0; 16];
        SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|_| SealError::Random)?;
        Ok(Self(bytes))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the key as a person writes it down: 28 letters and digits in groups of four.
    #[must_use]
    pub fn to_text(&self) -> String {
        let number = u128::from_be_bytes(self.0);
        let letters = (0..KEY_LETTERS).rev().map(|at| letter(number >> (5 * at)));
        let check = self.check();
        let all: Vec<char> = letters.chain([letter(check >> 5), letter(check)]).collect();
        let groups: Vec<String> = all
            .chunks(GROUP)
            .map(|group| group.iter().collect())
            .collect();
        groups.join("-")
    }

    /// Returns 10 bits by which a mistake is found.
    fn check(&self) -> u128 {
        let hash = digest(&SHA256, &self.0);
        let bits = hash.as_ref();
        u128::from(u16::from_be_bytes([bits[0], bits[1]]) & 0x3ff)
    }
}

fn letter(number: u128) -> char {
    char::from(LETTERS[(number & 31) as usize])
}

/// Reads a key as a person typed it: in any case, with or without blanks and dashes, and with letters for the digits that look
/// like them.
impl FromStr for SealKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let mut values = Vec::new();
        for c in text.chars().filter(|c| !c.is_whitespace() && *c != '-') {
            let plain = match c.to_ascii_uppercase() {
                'O' => '0',
                'I' | 'L' => '1',
                c => c,
            };
            let at = LETTERS
                .iter()
                .position(|letter| char::from(*letter) == plain);
            values.push(at.ok_or(KeyError::Letter(c))? as u128);
        }
        if values.len() != KEY_LETTERS + CHECK_LETTERS {
            return Err(KeyError::Length(values.len()));
        }
        let (letters, check) = values.split_at(KEY_LETTERS);
        // 26 letters have two bits more than a key: those of one are 0.
        if letters[0] > 7 {
            return Err(KeyError::Mistake);
        }
        let number = letters.iter().fold(0_u128, |sum, value| sum << 5 | value);
        let key = Self(number.to_be_bytes());
        match key.check() == (check[0] << 5 | check[1]) {
            true => Ok(key),
            false => Err(KeyError::Mistake),
        }
    }
}
