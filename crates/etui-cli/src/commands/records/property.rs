//! Properties as they are named on the command line: `PROP` and `PROP=VALUE`.

/// Common words and the property names of the format.
pub type PropertyWords = &'static [(&'static str, &'static str)];

/// Returns the property name for a word.
pub fn property_name(word: &str, words: PropertyWords) -> String {
    let word = word.trim();
    words
        .iter()
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

impl PropertyRemoval {
    pub fn parse_arg(text: &str, words: PropertyWords) -> Self {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        Self {
            name: property_name(name, words),
            value,
        }
    }
}
