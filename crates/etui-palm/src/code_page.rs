//! [`CodePage`]: the charset of a Palm's texts.

use encoding_rs::{Encoding, SHIFT_JIS, WINDOWS_1252};

/// The charset of the texts of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CodePage {
    /// Windows-1252 (CP1252), of devices for western languages.
    #[default]
    Windows1252,
    /// Shift_JIS with Microsoft's extensions (CP932), of Japanese devices.
    ShiftJis,
}

impl CodePage {
    /// Every code page with its name.
    pub const NAMES: [(&'static str, Self); 2] =
        [("cp1252", Self::Windows1252), ("cp932", Self::ShiftJis)];

    /// Returns its name, `cp1252` or `cp932`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Windows1252 => "cp1252",
            Self::ShiftJis => "cp932",
        }
    }

    fn encoding(self) -> &'static Encoding {
        match self {
            Self::Windows1252 => WINDOWS_1252,
            Self::ShiftJis => SHIFT_JIS,
        }
    }

    /// Returns the code page that texts are in: CP932 if all of them are valid in it, and one has a
    /// kana of two bytes, as text in CP1252 practically never has, or if in CP1252 many signs would be
    /// within words; else CP1252.
    pub fn detect<'a>(texts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut has_kana = false;
        let (mut likely, mut unlikely) = (0_usize, 0_usize);
        for text in texts {
            if text.is_ascii() {
                continue;
            }
            let (decoded, had_errors) = SHIFT_JIS.decode_without_bom_handling(text);
            if had_errors {
                return Self::Windows1252;
            }
            has_kana |= decoded.contains(|c| ('\u{3041}'..='\u{30FE}').contains(&c));
            let (more_likely, more_unlikely) = count_western(text);
            likely += more_likely;
            unlikely += more_unlikely;
        }
        // Of kanji, about half of the bytes are unlikely in CP1252.
        match has_kana || unlikely > likely / 4 {
            true => Self::ShiftJis,
            false => Self::Windows1252,
        }
    }

    /// Decodes a text. CR LF and CR become line breaks.
    pub fn decode(self, bytes: &[u8]) -> DecodedText {
        let (text, had_errors) = self.encoding().decode_without_bom_handling(bytes);
        let mut lost_controls = false;
        let mut plain = String::with_capacity(text.len());
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\r' => {
                    chars.next_if_eq(&'\n');
                    plain.push('\n');
                }
                '\n' | '\t' => plain.push(c),
                c if c.is_control() => lost_controls = true,
                c => plain.push(c),
            }
        }
        DecodedText {
            text: plain,
            had_errors,
            lost_controls,
        }
    }

    /// Encodes a text. Returns the characters, each once, that the code page does not have, for
    /// which `?` is written; a zero character is one of them.
    pub fn encode(self, text: &str) -> (Vec<u8>, Vec<char>) {
        if !text.contains('\0') {
            let (bytes, _, had_unmappable) = self.encoding().encode(text);
            if !had_unmappable {
                return (bytes.into_owned(), Vec::new());
            }
        }
        let mut out = Vec::with_capacity(text.len());
        let mut missing = Vec::new();
        let mut one = [0; 4];
        for c in text.chars() {
            let (bytes, _, had_unmappable) = self.encoding().encode(c.encode_utf8(&mut one));
            if had_unmappable || c == '\0' {
                out.push(b'?');
                if !missing.contains(&c) {
                    missing.push(c);
                }
            } else {
                out.extend_from_slice(&bytes);
            }
        }
        (out, missing)
    }
}

/// Returns the numbers of other characters than ASCII that are likely and unlikely where they are in
/// CP1252: quotes, dashes and the like between letters or other such characters are unlikely, and so are undefined bytes.
fn count_western(text: &[u8]) -> (usize, usize) {
    let is_undefined = |byte: u8| matches!(byte, 0x81 | 0x8D | 0x8F | 0x90 | 0x9D);
    let chars: Vec<char> = WINDOWS_1252
        .decode_without_bom_handling(text)
        .0
        .chars()
        .collect();
    let is_word = |at: Option<usize>| {
        let found = at.and_then(|at| chars.get(at));
        found.is_some_and(|c| c.is_alphanumeric() || !c.is_ascii())
    };
    let (mut likely, mut unlikely) = (0, 0);
    // Each byte of CP1252 is a character.
    for (at, (c, byte)) in chars.iter().zip(text).enumerate() {
        if byte.is_ascii() {
            continue;
        }
        let (after, before) = (is_word(at.checked_sub(1)), is_word(Some(at + 1)));
        let is_likely = match c {
            _ if is_undefined(*byte) => false,
            c if c.is_alphabetic() => true,
            // The apostrophe.
            '\u{2019}' => after,
            _ => !(after && before),
        };
        match is_likely {
            true => likely += 1,
            false => unlikely += 1,
        }
    }
    (likely, unlikely)
}

/// A text of a database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecodedText {
    /// The text, without control characters but tabs and line breaks.
    pub text: String,
    /// Whether some bytes are not of the code page; they are U+FFFD in the text.
    pub had_errors: bool,
    /// Whether control characters were removed.
    pub lost_controls: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kanji_without_kana_are_japanese() {
        for text in [
            "山田",
            "山田 太郎",
            "東京都渋谷区",
            "佐藤\n鈴木 一郎",
            "株式会社 日本",
            "090-1234 携帯",
        ] {
            let (bytes, missing) = CodePage::ShiftJis.encode(text);
            assert_eq!(missing, [], "{text}");
            let detected = CodePage::detect([b"Bob".as_slice(), &bytes]);
            assert_eq!(detected, CodePage::ShiftJis, "{text}");
        }
        for text in [
            "Anna’s",
            "“Größe”",
            "Bénédicte",
            "Åsa – Ömer",
            "Noël’s café",
            "Žižek",
            "ÄÖÜ",
            "é",
        ] {
            let (bytes, missing) = CodePage::Windows1252.encode(text);
            assert_eq!(missing, [], "{text}");
            let detected = CodePage::detect([b"Bob".as_slice(), &bytes]);
            assert_eq!(detected, CodePage::Windows1252, "{text}");
        }
    }

    #[test]
    fn kana_make_a_text_japanese() {
        let (kana, missing) = CodePage::ShiftJis.encode("山田さくら\n東京");
        assert_eq!(missing, []);
        assert_eq!(
            CodePage::detect([b"Bob".as_slice(), &kana]),
            CodePage::ShiftJis
        );
        for western in ["Müller", "Élysée à Noël", "Ås", "¿Qué?", "façade € ‚x‘ ƒ"]
        {
            let (bytes, missing) = CodePage::Windows1252.encode(western);
            assert_eq!(missing, [], "{western}");
            let texts = [bytes.as_slice(), &kana];
            assert_eq!(
                CodePage::detect([texts[0]]),
                CodePage::Windows1252,
                "{western}"
            );
        }
    }

    #[test]
    fn texts_read_back_as_written() {
        for (page, text) in [
            (CodePage::Windows1252, "Größe €\n\tœ\\~"),
            (CodePage::ShiftJis, "山田さくら\\~ｶﾅ"),
        ] {
            let (bytes, missing) = page.encode(text);
            assert_eq!(missing, []);
            assert_eq!(page.decode(&bytes).text, text);
        }
    }

    #[test]
    fn missing_characters_are_returned() {
        let (bytes, missing) = CodePage::Windows1252.encode("a정b정\0ü");
        assert_eq!(bytes, b"a?b??\xFC");
        assert_eq!(missing, ['정', '\0']);
        let decoded = CodePage::Windows1252.decode(b"a\r\nb\rc\x07");
        assert_eq!(
            (decoded.text.as_str(), decoded.lost_controls),
            ("a\nb\nc", true)
        );
    }
}
