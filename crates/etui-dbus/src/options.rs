//! [`CallOptions`]: the `a{sv}` of a call. Unknown keys are refused.

use std::collections::HashMap;

use zbus::OwnedVariant;

use crate::error::StoreError;

/// The argument `options` as it is received.
pub(crate) type OptionArgument = HashMap<String, OwnedVariant>;

/// The options of a call. Each is taken once; [`CallOptions::finish`] refuses the others.
pub(crate) struct CallOptions(OptionArgument);

impl CallOptions {
    pub(crate) fn new(argument: OptionArgument) -> Self {
        Self(argument)
    }

    /// Fails if the call has any option.
    pub(crate) fn expect_none(argument: OptionArgument) -> Result<(), StoreError> {
        Self(argument).finish()
    }

    /// Takes a number: any integer type, not negative. Clients without static types send `i`.
    pub(crate) fn take_number(&mut self, key: &str) -> Result<Option<u64>, StoreError> {
        use zbus::Variant as V;
        let Some(value) = self.0.remove(key) else {
            return Ok(None);
        };
        let number = match &*value {
            V::U8(n) => Some(u64::from(*n)),
            V::U16(n) => Some(u64::from(*n)),
            V::U32(n) => Some(u64::from(*n)),
            V::U64(n) => Some(*n),
            V::I16(n) => u64::try_from(*n).ok(),
            V::I32(n) => u64::try_from(*n).ok(),
            V::I64(n) => u64::try_from(*n).ok(),
            _ => None,
        };
        match number {
            Some(number) => Ok(Some(number)),
            None => Err(StoreError::option(
                key,
                "has to be a number from 0 (type t)",
            )),
        }
    }

    /// Takes a text.
    pub(crate) fn take_text(&mut self, key: &str) -> Result<Option<String>, StoreError> {
        let Some(value) = self.0.remove(key) else {
            return Ok(None);
        };
        let text = String::try_from(value);
        text.map(Some)
            .map_err(|_| StoreError::option(key, "has to be a text (type s)"))
    }

    /// Takes a list of texts.
    pub(crate) fn take_texts(&mut self, key: &str) -> Result<Option<Vec<String>>, StoreError> {
        let Some(value) = self.0.remove(key) else {
            return Ok(None);
        };
        let texts = Vec::<String>::try_from(value);
        texts
            .map(Some)
            .map_err(|_| StoreError::option(key, "has to be a list of texts (type as)"))
    }

    /// Takes a truth value.
    pub(crate) fn take_flag(&mut self, key: &str) -> Result<Option<bool>, StoreError> {
        let Some(value) = self.0.remove(key) else {
            return Ok(None);
        };
        let flag = bool::try_from(value);
        flag.map(Some)
            .map_err(|_| StoreError::option(key, "has to be true or false (type b)"))
    }

    /// Fails if any option is left.
    pub(crate) fn finish(self) -> Result<(), StoreError> {
        let mut left: Vec<&String> = self.0.keys().collect();
        left.sort_unstable();
        match left.first() {
            Some(key) => Err(StoreError::option(key, "is not known here")),
            None => Ok(()),
        }
    }
}
