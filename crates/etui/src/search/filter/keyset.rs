//! [`KeySet`]: the search keys of a field.

use super::FieldSet;
use crate::record::keys::Key;
use crate::search::index::trigrams;

/// A set of search keys, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeySet(u64);

impl KeySet {
    /// The names of a contact.
    pub(crate) const NAMES: Self = Self::of(Key::Display)
        .with(Key::Family)
        .with(Key::Given)
        .with(Key::Nickname);

    pub(crate) const fn of(key: Key) -> Self {
        Self(1 << key as u8)
    }

    /// Returns the keys whose field is `field`.
    pub(crate) fn of_field<F: FieldSet>(field: F) -> Self {
        let keys = F::KEYS.iter().filter(|(_, of)| *of == field);
        keys.fold(Self(0), |all, (key, _)| all.with(*key))
    }

    /// Returns the set with one more key.
    pub(crate) const fn with(self, key: Key) -> Self {
        Self(self.0 | Self::of(key).0)
    }

    /// Returns true if the set has `key`.
    pub(crate) fn contains(self, key: Key) -> bool {
        self.0 >> (key as u8) & 1 == 1
    }

    /// Returns the keys in the order of their numbers.
    pub(crate) fn iter(self) -> impl Iterator<Item = Key> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let number = rest.trailing_zeros();
            // Clears the lowest set bit. Of an empty set the number is 64, which is that of no key.
            rest &= rest.wrapping_sub(1);
            Key::from_u8(number as u8)
        })
    }

    /// Returns the keys whose terms have the words of these keys. A word of the display name that is
    /// also in another name is indexed only there.
    pub(super) fn with_shared_words(self) -> Self {
        match self.contains(Key::Display) {
            true => Self(self.0 | Self::NAMES.0),
            false => self,
        }
    }

    /// Returns true if a word's terms under these keys prove that a value of these keys has the word.
    pub(super) fn owns_its_words(self) -> bool {
        self.with_shared_words() == self
    }

    /// Returns true if all values of these keys have trigrams.
    pub(super) fn has_trigrams(self) -> bool {
        self.iter().all(trigrams::has_trigrams)
    }
}
