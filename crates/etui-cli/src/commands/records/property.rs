//! Properties as they are named on the command line: `PROP` and `PROP=VALUE`.

use std::convert::Infallible;

use etui::RecordId;
use etui_contentline::edit::is_property_name;
use etui_program::{Failure, Result};

use super::{RecordCommands, nearest_word};

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

/// Returns the first common word for a property, or else its name in small letters.
pub fn word_of<R: RecordCommands>(name: &str) -> String {
    let mut known = R::PROPERTY_WORDS.iter();
    let word = known.find(|(_, known)| known.eq_ignore_ascii_case(name));
    word.map_or_else(|| name.to_ascii_lowercase(), |(word, _)| (*word).to_owned())
}

/// Returns the property name for a word, or an error for a name that is neither a known one nor
/// begins with `X-`. `more` are words that the caller knows beside those of the kind.
pub fn known_property_name<R: RecordCommands>(
    word: &str,
    more: impl IntoIterator<Item = &'static str>,
) -> std::result::Result<String, String> {
    let name = property_name::<R>(word);
    let is_own = name.starts_with("X-") || !is_property_name(&name);
    if is_own || R::KNOWN_PROPERTIES.contains(&name.as_str()) {
        return Ok(name);
    }
    let word = word.trim().to_ascii_lowercase();
    let words = R::PROPERTY_WORDS
        .iter()
        .map(|(known, _)| *known)
        .chain(more);
    let names = R::KNOWN_PROPERTIES.iter().copied();
    let nearest = nearest_word(&word, words.chain(names).map(str::to_ascii_lowercase));
    Err(match nearest {
        Some(known) => format!(
            "there is no property \"{word}\"; did you mean {known}? (one of your own begins with x-: \
             x-{word})"
        ),
        None => {
            format!("there is no property \"{word}\"; one of your own begins with x-: x-{word}")
        }
    })
}

/// Parses an e-mail address: `LOCAL@DOMAIN`, without blanks.
pub fn parse_email(text: &str) -> std::result::Result<String, String> {
    let text = text.trim();
    let is_valid = text.rsplit_once('@').is_some_and(|(local, domain)| {
        let is_label = |label: &str| !label.is_empty();
        !local.is_empty() && domain.split('.').all(is_label)
    });
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "<>,;\"".contains(c);
    match is_valid && !text.contains(is_odd) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "\"{text}\" is not an e-mail address; write it like ada@example.org"
        )),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_mail_are_checked() {
        for text in [
            "ada@example.org",
            " o'hara+x@localhost ",
            "müller@bücher.example",
        ] {
            assert_eq!(parse_email(text).as_deref(), Ok(text.trim()));
        }
        for text in [
            "",
            "ada",
            "@example.org",
            "ada@",
            "a b@c.example",
            "Ada <a@b.example>",
            "a@b..c",
            "a@b.",
        ] {
            assert!(parse_email(text).is_err(), "{text}");
        }
    }
}
