//! Properties as they are named on the command line: `PROP` and `PROP=VALUE`.

/// Words that people know, and the format's names.
pub type Words = &'static [(&'static str, &'static str)];

/// The format's name of a property.
pub fn property_name(word: &str, words: Words) -> String {
    let word = word.trim();
    words
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(word))
        .map_or_else(|| word.to_ascii_uppercase(), |(_, name)| (*name).to_owned())
}

/// `PROP` or `PROP=VALUE`.
#[derive(Debug, Clone)]
pub struct PropertyRemoval {
    /// The property's name.
    pub name: String,
    /// Only with this value.
    pub value: Option<String>,
}

impl PropertyRemoval {
    /// Reads one.
    pub fn of(text: &str, words: Words) -> Self {
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
