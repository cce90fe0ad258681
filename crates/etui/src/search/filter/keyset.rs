//! [`KeySet`]: the search keys that a field stands for.

use crate::record::keys::Key;
use crate::search::index::grams;

/// Some of the keys, a bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeySet(u32);

impl KeySet {
    /// A contact's names.
    pub(crate) const NAMES: Self = Self::of(Key::Display)
        .with(Key::Family)
        .with(Key::Given)
        .with(Key::Nickname);

    /// This key alone.
    pub(crate) const fn of(key: Key) -> Self {
        Self(1 << key as u8)
    }

    /// This key as well.
    pub(crate) const fn with(self, key: Key) -> Self {
        Self(self.0 | Self::of(key).0)
    }

    /// Whether `key` is among them.
    pub(crate) fn has(self, key: Key) -> bool {
        self.0 >> (key as u8) & 1 == 1
    }

    /// Each of them, in the order of their numbers.
    pub(super) fn iter(self) -> impl Iterator<Item = Key> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let number = rest.trailing_zeros();
            rest &= rest.wrapping_sub(1);
            Key::from_u8(number as u8)
        })
    }

    /// Those whose terms have the words of these: a word of the display name is under another
    /// name if it is in one.
    pub(super) fn of_words(self) -> Self {
        match self.has(Key::Display) {
            true => Self(self.0 | Self::NAMES.0),
            false => self,
        }
    }

    /// Whether a term of a word says that it is in a value of these, and not of others.
    pub(super) fn is_told_by_words(self) -> bool {
        self.of_words() == self
    }

    /// Whether the substring index has all of their values.
    pub(super) fn has_grams(self) -> bool {
        self.iter().all(grams::covers)
    }
}
