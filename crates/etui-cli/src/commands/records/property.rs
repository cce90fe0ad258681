//! Properties as they are named on the command line: `PROP` and `PROP=VALUE`.

use std::convert::Infallible;

use etui::RecordId;

use super::RecordCommands;
use crate::errors::{Failure, Result};

/// Common words and the property names of the format.
pub type PropertyWords = &'static [(&'static str, &'static str)];

/// Returns the property name for a word.
pub fn property_name<R: RecordCommands>(word: &str) -> String {
    let word = word.trim();
    let mut known = R::PROPERTY_WORDS.iter();
    known
        .find(|(known, _)| known.eq_ignore_ascii_case(word))
        .map_or_else(|| word.to_ascii_uppercase(), |(_, name)| (*name).to_owned())
}

/// A property to remove: `PROP` or `PROP=VALUE`.
#[derive(Debug, Clone)]
pub struct PropertyRemoval {
    pub name: String,
    /// Restricts the removal to properties with this value.
    pub value: Option<String>,
}

/// Parses the value of `--remove`.
pub fn parse_removal<R: RecordCommands>(
    text: &str,
) -> std::result::Result<PropertyRemoval, Infallible> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    let name = property_name::<R>(name);
    Ok(PropertyRemoval { name, value })
}

impl PropertyRemoval {
    /// Returns an error if this removed no property of a record.
    pub fn check_removed<R: RecordCommands>(&self, id: RecordId, removed: usize) -> Result<()> {
        if removed > 0 {
            return Ok(());
        }
        let value = self.value.iter().map(|value| format!(" {value}"));
        Err(Failure::NotFound(format!(
            "{} {id} has no {}{}; nothing was changed",
            R::ONE,
            self.name,
            value.collect::<String>()
        )))
    }
}
