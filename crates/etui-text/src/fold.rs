//! Folding: the form in which names and addresses are compared.
//!
//! Folded text is Unicode NFKD, case-folded, without accents, with the letters that do not
//! decompose (`ø`, `ł`, `ß`, ...) written as people type them without the right keyboard:
//!
//! ```
//! use etui_text::fold::words;
//! assert_eq!(words("Dr. Łukasz  O’Brien-Müller"), "dr lukasz obrien muller");
//! ```
//!
//! Sources: Unicode Standard §3.11 (NFKD), §5.18 (case folding); UAX #29 for the apostrophe,
//! which does not end a word.

use icu_casemap::CaseMapperBorrowed;
use icu_normalizer::DecomposingNormalizerBorrowed;

/// Appends the folded words of `text` to `out`, one space between words.
///
/// Everything that is neither letter, digit nor a mark that belongs to one separates words.
pub fn push_words(text: &str, out: &mut String) {
    let start = out.len();
    let mut gap = false;
    let mut push = |c: char| match class(c) {
        Class::Keep(c) => {
            if gap && out.len() > start {
                out.push(' ');
            }
            gap = false;
            out.push(c);
        }
        Class::Spell(s) => {
            if gap && out.len() > start {
                out.push(' ');
            }
            gap = false;
            out.push_str(s);
        }
        Class::Drop => {}
        Class::Separator => gap = true,
    };
    if text.is_ascii() {
        text.bytes()
            .for_each(|b| push(b.to_ascii_lowercase() as char));
    } else {
        decomposed(text).chars().for_each(push);
    }
}

/// The folded words of `text`, one space between words.
#[must_use]
pub fn words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_words(text, &mut out);
    out
}

/// Appends `text` folded as an address: case and accents go, punctuation stays, white space
/// does not.
pub fn push_address(text: &str, out: &mut String) {
    if text.is_ascii() {
        out.extend(
            text.bytes()
                .filter(|b| !b.is_ascii_whitespace() && !b.is_ascii_control())
                .map(|b| b.to_ascii_lowercase() as char),
        );
        return;
    }
    for c in decomposed(text).chars() {
        match class(c) {
            Class::Keep(c) => out.push(c),
            Class::Spell(s) => out.push_str(s),
            // What stands for an apostrophe between words is a character of an address.
            Class::Drop if !matches!(c, '\'' | '’' | 'ʼ' | '`') => {}
            _ if c.is_whitespace() || c.is_control() => {}
            _ => out.push(c),
        }
    }
}

/// `text` folded as an e-mail address or other identifier.
#[must_use]
pub fn address(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_address(text, &mut out);
    out
}

fn decomposed(text: &str) -> String {
    let nfkd = DecomposingNormalizerBorrowed::new_nfkd();
    // Decomposing first lets a precomposed capital fold as its base letter (`İ` -> `i`); what
    // case folding composes or produces anew is decomposed again below, in `class`.
    CaseMapperBorrowed::new()
        .fold_string(&nfkd.normalize(text))
        .into_owned()
}

enum Class {
    Keep(char),
    Spell(&'static str),
    Drop,
    Separator,
}

fn class(c: char) -> Class {
    match c {
        'a'..='z' | '0'..='9' => Class::Keep(c),
        '\'' | '’' | 'ʼ' | '´' | '`' => Class::Drop,
        '\0'..='\x7f' => Class::Separator,
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
        | '\u{fe00}'..='\u{fe2f}' => Class::Drop,
        'ß' => Class::Spell("ss"),
        'æ' => Class::Spell("ae"),
        'œ' => Class::Spell("oe"),
        'þ' => Class::Spell("th"),
        'ø' => Class::Keep('o'),
        'ł' => Class::Keep('l'),
        'đ' | 'ð' => Class::Keep('d'),
        'ħ' => Class::Keep('h'),
        'ı' => Class::Keep('i'),
        'ŋ' => Class::Keep('n'),
        'ŧ' => Class::Keep('t'),
        _ if c.is_alphanumeric() => Class::Keep(c),
        // Punctuation and spaces beyond ASCII (after NFKD, wide forms are ASCII).
        '\u{80}'..='\u{bf}'
        | '\u{d7}'
        | '\u{f7}'
        | '\u{2000}'..='\u{206f}'
        | '\u{2e00}'..='\u{2e7f}'
        | '\u{3000}'..='\u{303f}'
        | '\u{30fb}' => Class::Separator,
        _ if c.is_whitespace() || c.is_control() => Class::Separator,
        _ => Class::Keep(c),
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
            assert_eq!(words(raw), folded, "{raw}");
        }
    }

    #[test]
    fn scripts_without_case_keep_their_letters() {
        assert_eq!(words("山田 太郎"), "山田 太郎");
        assert_ne!(words("が"), words("か"));
        assert_ne!(words("कि"), words("क"));
    }

    #[test]
    fn separators_collapse() {
        assert_eq!(
            words("  Dr.-Ing.  Anna\t(née\u{a0}Katz) "),
            "dr ing anna nee katz"
        );
        assert_eq!(words("..."), "");
        assert_eq!(words("山田・太郎"), "山田 太郎");
    }

    #[test]
    fn addresses_keep_punctuation() {
        assert_eq!(
            address(" Anna.Müller@Example.ORG\r\n"),
            "anna.muller@example.org"
        );
        assert_eq!(address("o'brien@example.org"), "o'brien@example.org");
    }

    #[test]
    fn folding_twice_changes_nothing() {
        for s in ["Müller", "İstanbul", "Æther ﬁ ǅ", "Ω Å K", "ẞ", "ŉ"] {
            let once = words(s);
            assert_eq!(words(&once), once, "{s}");
        }
    }
}
