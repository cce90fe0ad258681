//! Folding: the form for comparing names and addresses.
//!
//! Folded text is Unicode NFKD, case-folded, without accents, with the letters that do not
//! decompose (`ø`, `ł`, `ß`, ...) replaced by the letters that people type instead:
//!
//! ```
//! use etui_text::fold::fold_words;
//! assert_eq!(fold_words("Dr. Łukasz  O’Brien-Müller"), "dr lukasz obrien muller");
//! ```
//!
//! Sources: Unicode Standard §3.11 (NFKD), §5.18 (case folding); UAX #29 for the apostrophe,
//! which does not end a word.

use icu_casemap::CaseMapperBorrowed;
use icu_normalizer::DecomposingNormalizerBorrowed;

/// Appends the folded words of `text` to `out`, one space between words.
///
/// Any character that is no letter, digit or mark separates words.
pub fn push_folded_words(text: &str, out: &mut String) {
    let start = out.len();
    let mut gap = false;
    let mut push = |c: char| match classify_char(c) {
        CharClass::Keep(c) => {
            if gap && out.len() > start {
                out.push(' ');
            }
            gap = false;
            out.push(c);
        }
        CharClass::Spell(s) => {
            if gap && out.len() > start {
                out.push(' ');
            }
            gap = false;
            out.push_str(s);
        }
        CharClass::Drop => {}
        CharClass::Separator => gap = true,
    };
    if text.is_ascii() {
        text.bytes()
            .for_each(|b| push(b.to_ascii_lowercase() as char));
    } else {
        decompose(text).chars().for_each(push);
    }
}

/// Returns the folded words of `text`, one space between words.
pub fn fold_words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_folded_words(text, &mut out);
    out
}

/// Returns the folded words of `text` with its umlauts spelled out, as on a keyboard without them: `ä` is
/// `ae`, `ö` and `ø` are `oe`, `ü` is `ue`, `å` is `aa`. `None`: there is none.
///
/// ```
/// use etui_text::fold::{fold_spelled_out, fold_words};
/// assert_eq!(fold_words("Jörg Müller"), "jorg muller");
/// assert_eq!(fold_spelled_out("Jörg Müller").as_deref(), Some("joerg mueller"));
/// assert_eq!(fold_spelled_out("Zoë Muller"), None);
/// ```
pub fn fold_spelled_out(text: &str) -> Option<String> {
    if text.is_ascii() {
        return None;
    }
    let mut out = String::with_capacity(text.len() + 8);
    let mut has_umlaut = false;
    for c in text.chars() {
        let spelled = match c {
            'ä' | 'Ä' => "ae",
            'ö' | 'Ö' | 'ø' | 'Ø' => "oe",
            'ü' | 'Ü' => "ue",
            'å' | 'Å' => "aa",
            // A combining diaeresis or ring follows its letter.
            '\u{308}' if out.ends_with(['a', 'A', 'o', 'O', 'u', 'U']) => "e",
            '\u{30a}' if out.ends_with(['a', 'A']) => "a",
            other => {
                out.push(other);
                continue;
            }
        };
        has_umlaut = true;
        out.push_str(spelled);
    }
    has_umlaut.then(|| fold_words(&out))
}

/// Appends `text` folded as an address: without case, accents and white space, but with its
/// punctuation.
pub fn push_folded_address(text: &str, out: &mut String) {
    if text.is_ascii() {
        out.extend(
            text.bytes()
                .filter(|b| !b.is_ascii_whitespace() && !b.is_ascii_control())
                .map(|b| b.to_ascii_lowercase() as char),
        );
        return;
    }
    for c in decompose(text).chars() {
        match classify_char(c) {
            CharClass::Keep(c) => out.push(c),
            CharClass::Spell(s) => out.push_str(s),
            // An apostrophe separates nothing in an address.
            CharClass::Drop if !matches!(c, '\'' | '’' | 'ʼ' | '`') => {}
            _ if c.is_whitespace() || c.is_control() => {}
            _ => out.push(c),
        }
    }
}

/// Returns `text` folded as an e-mail address or other identifier.
pub fn fold_address(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_folded_address(text, &mut out);
    out
}

fn decompose(text: &str) -> String {
    let nfkd = DecomposingNormalizerBorrowed::new_nfkd();
    // Decomposing first lets a precomposed capital fold as its base letter (`İ` -> `i`).
    // `classify_char` drops the marks that case folding composes again.
    CaseMapperBorrowed::new()
        .fold_string(&nfkd.normalize(text))
        .into_owned()
}

enum CharClass {
    Keep(char),
    Spell(&'static str),
    Drop,
    Separator,
}

fn classify_char(c: char) -> CharClass {
    match c {
        'a'..='z' | '0'..='9' => CharClass::Keep(c),
        '\'' | '’' | 'ʼ' | '´' | '`' => CharClass::Drop,
        '\0'..='\x7f' => CharClass::Separator,
        // Accents and vowel points: Latin, Greek, Cyrillic, Hebrew, Arabic. Marks of other
        // scripts (Devanagari vowels, kana voicing) change the letter and stay.
        '\u{300}'..='\u{36f}'
        | '\u{483}'..='\u{487}'
        | '\u{591}'..='\u{5bd}'
        | '\u{5bf}'..='\u{5c7}'
        | '\u{610}'..='\u{61a}'
        | '\u{640}'
        | '\u{64b}'..='\u{65f}'
        | '\u{670}'
        | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}'
        | '\u{200b}'..='\u{200f}'
        | '\u{20d0}'..='\u{20ff}'
        | '\u{feff}'
        | '\u{fe00}'..='\u{fe2f}' => CharClass::Drop,
        'ß' => CharClass::Spell("ss"),
        'æ' => CharClass::Spell("ae"),
        'œ' => CharClass::Spell("oe"),
        'þ' => CharClass::Spell("th"),
        'ø' => CharClass::Keep('o'),
        'ł' => CharClass::Keep('l'),
        'đ' | 'ð' => CharClass::Keep('d'),
        'ħ' => CharClass::Keep('h'),
        'ı' => CharClass::Keep('i'),
        'ŋ' => CharClass::Keep('n'),
        'ŧ' => CharClass::Keep('t'),
        _ if c.is_alphanumeric() => CharClass::Keep(c),
        // Punctuation and spaces beyond ASCII (after NFKD, wide forms are ASCII).
        '\u{80}'..='\u{bf}'
        | '\u{d7}'
        | '\u{f7}'
        | '\u{2000}'..='\u{206f}'
        | '\u{2e00}'..='\u{2e7f}'
        | '\u{3000}'..='\u{303f}'
        | '\u{30fb}' => CharClass::Separator,
        _ if c.is_whitespace() || c.is_control() => CharClass::Separator,
        _ => CharClass::Keep(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_and_case_go() {
        for (raw, folded) in [
            ("Müller", "muller"),
            ("MÜLLER", "muller"),
            ("Søren Ærø", "soren aero"),
            ("Łukasz", "lukasz"),
            ("İbrahim", "ibrahim"),
            ("Straße", "strasse"),
            ("STRASSE", "strasse"),
            ("Nguyễn Văn", "nguyen van"),
            ("ÅSA", "asa"),
            ("Ａｎｎａ", "anna"),
            ("Đặng", "dang"),
            ("Γιώργος", "γιωργοσ"),
            ("ЁЛКА", "елка"),
        ] {
            assert_eq!(fold_words(raw), folded, "{raw}");
        }
    }

    #[test]
    fn umlauts_are_spelled_out() {
        for (raw, spelled) in [
            ("Müller", Some("mueller")),
            ("MU\u{308}LLER", Some("mueller")),
            ("Ärzte für Öl", Some("aerzte fuer oel")),
            ("Søren A\u{30a}se", Some("soeren aase")),
            ("Straße", None),
            ("Noël Peña", None),
            ("muller", None),
            ("\u{308}", None),
        ] {
            assert_eq!(fold_spelled_out(raw).as_deref(), spelled, "{raw}");
        }
    }

    #[test]
    fn scripts_without_case_keep_their_letters() {
        assert_eq!(fold_words("山田 太郎"), "山田 太郎");
        assert_ne!(fold_words("が"), fold_words("か"));
        assert_ne!(fold_words("कि"), fold_words("क"));
    }

    #[test]
    fn separators_collapse() {
        assert_eq!(
            fold_words("  Dr.-Ing.  Anna\t(née\u{a0}Katz) "),
            "dr ing anna nee katz"
        );
        assert_eq!(fold_words("..."), "");
        assert_eq!(fold_words("山田・太郎"), "山田 太郎");
    }

    #[test]
    fn addresses_keep_punctuation() {
        assert_eq!(
            fold_address(" Anna.Müller@Example.ORG\r\n"),
            "anna.muller@example.org"
        );
        assert_eq!(fold_address("o'brien@example.org"), "o'brien@example.org");
    }

    #[test]
    fn folding_twice_changes_nothing() {
        for s in ["Müller", "İstanbul", "Æther ﬁ ǅ", "Ω Å K", "ẞ", "ŉ"] {
            let once = fold_words(s);
            assert_eq!(fold_words(&once), once, "{s}");
        }
    }
}
