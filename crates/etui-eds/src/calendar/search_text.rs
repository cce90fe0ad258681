//! [`SearchText`]: how calendar queries compare texts.

use icu_normalizer::DecomposingNormalizerBorrowed;

/// A text that is looked for: without accents and case, as the stock server does it. It lowers the
/// case of single letters only, so `strasse` is not in `Straße`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SearchText {
    exact: String,
    folded: String,
}

impl SearchText {
    pub(super) fn new(text: &str) -> Self {
        Self {
            exact: text.to_owned(),
            folded: fold(text),
        }
    }

    /// Returns the folded text if it is of ASCII letters, digits and blanks.
    pub(super) fn plain(&self) -> Option<&str> {
        let text = self.folded.trim();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b' ';
        (!text.is_empty() && text.bytes().all(is_plain)).then_some(text)
    }

    /// Returns true if a value has this text somewhere.
    pub(super) fn is_in(&self, value: &str) -> bool {
        self.folded.is_empty() || fold(value).contains(&self.folded)
    }

    /// Returns true if a value is this text, case included.
    pub(super) fn is_exactly(&self, value: &str) -> bool {
        self.exact == value
    }
}

fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let decomposed = DecomposingNormalizerBorrowed::new_nfd().normalize(text);
    decomposed
        .chars()
        .filter(|c| !matches!(c, '\u{300}'..='\u{36f}'))
        .map(|c| {
            let mut lower = c.to_lowercase();
            match (lower.next(), lower.next()) {
                (Some(one), None) => one,
                _ => c,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_and_case_are_dropped() {
        for (text, value, found) in [
            ("muller", "Breakfast with MÜLLER", true),
            ("ÜBER", "ubersee", true),
            ("strasse", "STRASSE", true),
            ("straße", "STRASSE", false),
            ("", "", true),
            ("a b", "a  b", false),
        ] {
            assert_eq!(
                SearchText::new(text).is_in(value),
                found,
                "{text} in {value}"
            );
        }
        assert!(!SearchText::new("high").is_exactly("HIGH"));
    }
}
