//! The form in which contact queries compare texts.
//!
//! Canonical decomposition without the marks U+0300 to U+033F, then full case folding: `ß` is `ss`,
//! `İ` is `i`, and letters that do not decompose stay (`ø` is not `o`).

use std::borrow::Cow;

use icu_casemap::CaseMapperBorrowed;
use icu_normalizer::DecomposingNormalizerBorrowed;

/// Folds a text for comparing.
pub(super) fn fold_text(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return match text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Cow::Owned(text.to_ascii_lowercase()),
            false => Cow::Borrowed(text),
        };
    }
    let mut decomposed = DecomposingNormalizerBorrowed::new_nfd()
        .normalize(text)
        .into_owned();
    decomposed.retain(|c| !matches!(c, '\u{300}'..='\u{33f}'));
    let folded = CaseMapperBorrowed::new().fold_string(&decomposed);
    Cow::Owned(folded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_case_are_dropped_and_other_letters_stay() {
        for (text, folded) in [
            ("MÜLLER", "muller"),
            ("Straße", "strasse"),
            ("ﬁn", "fin"),
            ("İ", "i"),
            ("Søren", "søren"),
            ("Łukasz", "łukasz"),
            ("O’Brien-Ä", "o’brien-a"),
        ] {
            assert_eq!(fold_text(text), folded);
        }
    }
}
