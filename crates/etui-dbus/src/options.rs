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

/// The part of a list that a call asks for, by its options `limit` and `offset`.
pub(crate) struct ListPage {
    limit: usize,
    offset: usize,
}

impl ListPage {
    /// Parses the options of a call that has no others.
    pub(crate) fn parse(argument: OptionArgument) -> Result<Self, StoreError> {
        Self::parse_up_to(argument, u64::MAX)
    }

    /// Parses the options of a call that lists at most `most` rows if no limit is given.
    pub(crate) fn parse_up_to(argument: OptionArgument, most: u64) -> Result<Self, StoreError> {
        let mut options = CallOptions::new(argument);
        let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let page = Self {
            limit: number(options.take_number("limit")?.unwrap_or(most)),
            offset: number(options.take_number("offset")?.unwrap_or(0)),
        };
        options.finish()?;
        Ok(page)
    }

    /// Returns the part of a list.
    pub(crate) fn of<T>(&self, list: Vec<T>) -> Vec<T> {
        let part = list.into_iter().skip(self.offset).take(self.limit);
        part.collect()
    }
}
