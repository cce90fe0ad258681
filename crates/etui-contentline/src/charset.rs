//! A record as text for a parser: [`repair_charset`] converts it to UTF-8 and replaces the
//! encodings of vCard 2.1 by those of 3.0 and 4.0.
//!
//! ```text
//! N;ENCODING=QUOTED-PRINTABLE:M=FC=\r\n   ->   N:Müller;Anna\r\n
//! ller;Anna\r\n
//! ```
//!
//! The text is for parsing; a program stores the record as it came.
//!
//! ```
//! use etui_contentline::charset::repair_charset;
//!
//! let card = b"BEGIN:VCARD\nVERSION:2.1\nFN;CHARSET=ISO-8859-1:M\xFCller\nEND:VCARD\n";
//! assert!(repair_charset(card).contains("FN:Müller\r\n"));
//! ```

use std::borrow::Cow;

use encoding_rs::{Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use memchr::{memchr_iter, memchr2};

use super::lines::{
    ContentLine, ContentLines, Delimiter, is_begin_of, parse_delimiter, parse_params, trim_blanks,
};

/// Returns the record as UTF-8 text for a parser.
///
/// An ordinary record is borrowed. Any of these cases makes it a rebuilt one, each property on one
/// line with CRLF:
///
/// * UTF-16 is decoded.
/// * Values with `CHARSET=x` are decoded from it, and the parameter is dropped
///   (base64 values keep theirs). Without CHARSET, or with one that is not
///   known, a property that is not UTF-8 is read as windows-1252; so is one
///   that claims to be UTF-8 and is not.
/// * Quoted-printable values are decoded, and the parameter is dropped.
///   Encoded semicolons, commas and backslashes come out escaped, encoded line
///   breaks as `\n`; literal ones stay the separators they are. Where N or ADR
///   has no literal semicolon at all, the encoded ones are taken as the
///   separators: the encoder has encoded everything.
/// * A card nested in a card (AGENT) is left out together with its AGENT line.
/// * Base64 over lines that are not indented is put on one line.
/// * A lone CR ends a line.
///
/// Any input gives text; nothing is an error.
pub fn repair_charset(record: &[u8]) -> Cow<'_, str> {
    if let Some(encoding) = detect_utf16(record) {
        let (text, _) = encoding.decode_with_bom_removal(record);
        return if is_ordinary(text.as_bytes()) {
            Cow::Owned(text.into_owned())
        } else {
            Cow::Owned(rebuild_record(text.as_bytes(), true))
        };
    }
    let record = record.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(record);
    match std::str::from_utf8(record) {
        Ok(text) if is_ordinary(record) => Cow::Borrowed(text),
        _ => Cow::Owned(rebuild_record(record, false)),
    }
}

/// Returns the record in UTF-8 with its lines as they are. Only a record in UTF-16, or with 8-bit
/// text that is not UTF-8, is rebuilt ([`repair_charset`]).
pub fn to_utf8_bytes(record: &[u8]) -> Cow<'_, [u8]> {
    match to_utf8(record) {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// Returns the result of [`to_utf8_bytes`] as text.
pub fn to_utf8(record: &[u8]) -> Cow<'_, str> {
    if detect_utf16(record).is_none()
        && let Ok(text) = std::str::from_utf8(record)
    {
        return Cow::Borrowed(text);
    }
    repair_charset(record)
}

/// Returns the encoding of a record in UTF-16.
pub fn detect_utf16(record: &[u8]) -> Option<&'static Encoding> {
    match record {
        [0xFF, 0xFE, ..] | [b'B' | b'b', 0, b'E' | b'e', 0, ..] => Some(UTF_16LE),
        [0xFE, 0xFF, ..] | [0, b'B' | b'b', 0, b'E' | b'e', ..] => Some(UTF_16BE),
        _ => None,
    }
}

/// Returns true if a parser reads the UTF-8 text `record` as it is.
fn is_ordinary(record: &[u8]) -> bool {
    memchr_iter(b'\r', record).all(|at| record.get(at + 1) == Some(&b'\n'))
        && ContentLines::new(record).all(|line| {
            let traits = line.traits;
            !(traits.quoted_printable
                || (traits.charset && !traits.base64)
                || traits.agent
                || (traits.base64 && has_bare_continuation(line.raw())))
        })
}

/// Returns true if a line of `raw` other than the first is not indented.
fn has_bare_continuation(raw: &[u8]) -> bool {
    memchr_iter(b'\n', raw)
        .filter_map(|at| raw.get(at + 1))
        .any(|byte| !matches!(byte, b' ' | b'\t'))
}

/// Rebuilds a record line by line. `is_unicode` is true if its bytes are known to be UTF-8,
/// whatever its CHARSET parameters say.
fn rebuild_record(record: &[u8], is_unicode: bool) -> String {
    let mut out = String::with_capacity(record.len() + record.len() / 8);
    // Only cards nest cards that are no components of theirs.
    let outer = ContentLines::new(record)
        .find(|line| !line.unfolded().is_empty())
        .and_then(|line| Some(line.delimiter()?.1))
        .filter(|name| name.eq_ignore_ascii_case(b"VCARD"))
        .unwrap_or_default();
    // An AGENT line is held until the next line shows whether a card is its value.
    let mut agent: Option<ContentLine<'_>> = None;
    let mut depth = 0_u32;
    for line in ContentLines::new(record) {
        if line.unfolded().is_empty() {
            continue;
        }
        let found = line
            .delimiter()
            .filter(|(_, name)| name.eq_ignore_ascii_case(outer))
            .map(|(edge, _)| edge);
        if depth > 0 {
            // Within the nested card, only its delimiters are of interest.
            match found {
                Some(Delimiter::Begin) => depth += 1,
                Some(Delimiter::End) => depth -= 1,
                None if begins_agent(&line, outer) => depth += 1,
                None => {}
            }
            continue;
        }
        if let Some(held) = agent.take() {
            if found == Some(Delimiter::Begin) {
                depth = 1;
                continue;
            }
            push_line(&mut out, &held, is_unicode);
        }
        if begins_agent(&line, outer) {
            depth = 1;
        } else if line.traits.agent && trim_blanks(&line.unfolded_value()).is_empty() {
            agent = Some(line);
        } else {
            push_line(&mut out, &line, is_unicode);
        }
    }
    if let Some(held) = agent {
        push_line(&mut out, &held, is_unicode);
    }
    out
}

/// Appends the line unfolded, unless that would make or unmake a `BEGIN:x` or `END:x`; then one
/// fold stays.
fn push_line(out: &mut String, line: &ContentLine<'_>, is_unicode: bool) {
    let at = out.len();
    push_unfolded(out, line, is_unicode);
    let was = line.delimiter().map(|(edge, name)| (edge, name.len()));
    let text = out[at..].trim_end_matches(['\r', '\n']);
    let is = parse_delimiter(text.as_bytes()).map(|(edge, name)| (edge, name.len()));
    if was != is {
        let fold = match was {
            Some(_) => line.first_physical_line().len(),
            None => 1,
        };
        out.insert_str(at + fold, "\r\n ");
    }
}

/// Whether the line is `AGENT:BEGIN:name`.
fn begins_agent(line: &ContentLine<'_>, name: &[u8]) -> bool {
    line.traits.agent && is_begin_of(trim_blanks(&line.unfolded_value()), name)
}

fn push_unfolded(out: &mut String, line: &ContentLine<'_>, is_unicode: bool) {
    let traits = line.traits;
    let value = line.unfolded_value();
    let head_params = line.unfolded_params();
    let charset = parse_params(&head_params)
        .filter(|param| param.name.eq_ignore_ascii_case(b"CHARSET"))
        .filter_map(|param| Encoding::for_label(param.value?))
        .find(|&encoding| encoding != REPLACEMENT);

    if traits.quoted_printable || (traits.charset && !traits.base64) {
        push_text(out, &decode_value(&line.unfolded_label(), None));
        for param in parse_params(&head_params) {
            let dropped = param.name.eq_ignore_ascii_case(b"CHARSET")
                || param.is_encoding("QUOTED-PRINTABLE");
            if !dropped {
                out.push(';');
                push_text(
                    out,
                    &decode_value(param.text, charset.filter(|_| !is_unicode)),
                );
            }
        }
        out.push(':');
    } else {
        let text = line.unfolded();
        let head = text.len().saturating_sub(value.len());
        push_text(out, &decode_value(&text[..head], None));
    }

    if traits.base64 && !traits.quoted_printable {
        let data: Vec<u8> = value
            .iter()
            .copied()
            .filter(|byte| !matches!(byte, b' ' | b'\t'))
            .collect();
        push_text(out, &decode_value(&data, None));
    } else if traits.quoted_printable {
        let structured = line.name_is("N") || line.name_is("ADR");
        push_quoted(out, &value, charset, structured);
    } else {
        push_text(out, &decode_value(&value, charset.filter(|_| !is_unicode)));
    }
    out.push_str("\r\n");
}

/// Decodes raw bytes. ASCII is ASCII in any charset but the stateful ones, which begin with an
/// escape.
fn decode_value<'a>(bytes: &'a [u8], charset: Option<&'static Encoding>) -> Cow<'a, str> {
    let charset = charset.filter(|charset| {
        // Text among ASCII lines is not UTF-16, whatever it claims.
        charset.is_ascii_compatible() || (bytes.contains(&0x1B) && !is_utf16(charset))
    });
    match (std::str::from_utf8(bytes), charset) {
        (Ok(text), None) => Cow::Borrowed(text),
        (Ok(text), Some(charset)) if charset == UTF_8 => Cow::Borrowed(text),
        (Ok(text), Some(_)) if text.is_ascii() && !bytes.contains(&0x1B) => Cow::Borrowed(text),
        (_, Some(charset)) if charset != UTF_8 => charset.decode_without_bom_handling(bytes).0,
        _ => WINDOWS_1252.decode_without_bom_handling(bytes).0,
    }
}

fn is_utf16(charset: &'static Encoding) -> bool {
    charset == UTF_16LE || charset == UTF_16BE
}

/// Appends `text` with its line breaks escaped.
fn push_text(out: &mut String, text: &str) {
    if memchr2(b'\n', b'\r', text.as_bytes()).is_none() {
        out.push_str(text);
    } else {
        out.push_str(&text.replace("\r\n", "\\n").replace(['\r', '\n'], "\\n"));
    }
}

/// A byte of a quoted-printable value, and whether it was written as `=XX`.
type Quoted = (u8, bool);

fn quoted_bytes(value: &[u8]) -> Vec<Quoted> {
    let mut out = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'=' {
            out.push((byte, false));
            continue;
        }
        match after {
            [high, low, after @ ..]
                if let (Some(high), Some(low)) = (hex_value(*high), hex_value(*low)) =>
            {
                out.push((high << 4 | low, true));
                rest = after;
            }
            // The soft break of a value that was cut off.
            [] => {}
            _ => out.push((byte, false)),
        }
    }
    out
}

fn hex_value(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

fn push_quoted(
    out: &mut String,
    value: &[u8],
    charset: Option<&'static Encoding>,
    structured: bool,
) {
    let quoted = quoted_bytes(value);
    let bytes: Vec<u8> = quoted.iter().map(|&(byte, _)| byte).collect();
    let charset = match charset {
        Some(charset) if charset != UTF_8 => charset,
        _ if std::str::from_utf8(&bytes).is_ok() => UTF_8,
        _ => WINDOWS_1252,
    };
    let mut sink = QuotedSink {
        out,
        escape: false,
        carriage_return: false,
        all_encoded: structured && !quoted.contains(&(b';', false)),
    };
    // Byte by byte, because in some charsets (Shift_JIS) the second byte of a
    // character can be a backslash. Only decoded text shows which is one, and
    // only undecoded text shows whether it was encoded.
    let mut decoder = charset.new_decoder_without_bom_handling();
    let mut buffer = [0_u8; 32];
    for (byte, encoded) in quoted {
        let (_, _, written, _) = decoder.decode_to_utf8(&[byte], &mut buffer, false);
        sink.push(&buffer[..written], encoded);
    }
    let (_, _, written, _) = decoder.decode_to_utf8(&[], &mut buffer, true);
    sink.push(&buffer[..written], true);
    sink.end();
}

/// Writes decoded characters as the text of a value.
struct QuotedSink<'a> {
    out: &'a mut String,
    /// The last character was a literal backslash.
    escape: bool,
    /// The last character was a carriage return, written as a line break; a
    /// following line feed belongs to it.
    carriage_return: bool,
    /// Encoded semicolons are separators.
    all_encoded: bool,
}

impl QuotedSink<'_> {
    fn push(&mut self, utf8: &[u8], encoded: bool) {
        for char in String::from_utf8_lossy(utf8).chars() {
            self.push_char(char, encoded);
        }
    }

    fn push_char(&mut self, char: char, encoded: bool) {
        let follows_cr = std::mem::replace(&mut self.carriage_return, char == '\r');
        if std::mem::take(&mut self.escape) {
            self.out.push('\\');
            match char {
                '\\' | ';' | ',' => return self.out.push(char),
                _ if !encoded => return self.out.push(char),
                _ => self.out.push('\\'),
            }
        }
        match char {
            '\n' if follows_cr => {}
            '\r' | '\n' => self.out.push_str("\\n"),
            ';' if encoded && self.all_encoded => self.out.push(';'),
            '\\' | ';' | ',' if encoded => {
                self.out.push('\\');
                self.out.push(char);
            }
            '\\' => self.escape = true,
            _ => self.out.push(char),
        }
    }

    fn end(&mut self) {
        if self.escape {
            self.out.push_str("\\\\");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::{split_unescaped, unescape_text};

    fn card(lines: &[u8]) -> Vec<u8> {
        [b"BEGIN:VCARD\r\nVERSION:2.1\r\n", lines, b"END:VCARD\r\n"].concat()
    }

    /// The values of the properties `name` of a card, split at bare semicolons where the
    /// property is structured.
    fn read(lines: &[u8], name: &str) -> Vec<Vec<String>> {
        let text = repair_charset(&card(lines)).into_owned();
        let is_structured = matches!(name, "N" | "ADR" | "ORG");
        let parts = |value: &str| match is_structured {
            true => split_unescaped(value, ';').map(unescape_text).collect(),
            false => vec![unescape_text(value)],
        };
        ContentLines::of_text(&text)
            .filter(|line| line.name_is(name))
            .map(|line| parts(&String::from_utf8_lossy(&line.unfolded_value())))
            .collect()
    }

    #[test]
    fn an_ordinary_card_is_borrowed() {
        for text in [
            "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Müller\r\nNOTE:a\r\n b\r\nEND:VCARD\r\n",
            "BEGIN:VCARD\nPHOTO;ENCODING=b:AAAA\n BBBB\nEND:VCARD",
        ] {
            assert!(matches!(repair_charset(text.as_bytes()), Cow::Borrowed(same) if same == text));
        }
        let marked = "\u{FEFF}BEGIN:VCARD\nEND:VCARD\n";
        assert_eq!(
            repair_charset(marked.as_bytes()),
            "BEGIN:VCARD\nEND:VCARD\n"
        );
    }

    #[test]
    fn utf16_is_decoded() {
        let text = "BEGIN:VCARD\r\nN;CHARSET=ISO-8859-1:Müller\r\nEND:VCARD\r\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let expected = text.replace(";CHARSET=ISO-8859-1", "");
        assert_eq!(repair_charset(&little), expected);
        assert_eq!(repair_charset(&big), expected);
    }

    #[test]
    fn charsets_are_decoded_per_property() {
        let lines = b"FN;CHARSET=ISO-8859-2:\xA3ukasz\r\nNOTE:M\xFCller\r\n\
            ORG:\xC3\xBCber\r\nTITLE;CHARSET=utf-8:\xFC\r\nROLE;CHARSET=x-none:\xFC\r\n\
            NICKNAME;CHARSET=ISO-2022-JP:\x1B$B;3ED\x1B(B\r\n";
        assert_eq!(read(lines, "FN"), [["Łukasz"]]);
        assert_eq!(read(lines, "NOTE"), [["Müller"]]);
        assert_eq!(read(lines, "ORG"), [["über"]]);
        assert_eq!(read(lines, "TITLE"), [["ü"]]);
        assert_eq!(read(lines, "ROLE"), [["ü"]]);
        assert_eq!(read(lines, "NICKNAME"), [["山田"]]);
    }

    #[test]
    fn utf8_split_by_a_fold_is_utf8() {
        assert_eq!(read(b"FN:M\xC3\r\n \xBCller\r\n", "FN"), [["Müller"]]);
    }

    #[test]
    fn quoted_printable_keeps_the_structure() {
        let lines = b"N;ENCODING=QUOTED-PRINTABLE:M=FC=\r\nller=3B=20=5C;A\\;n;;;\r\n\
            ADR;HOME;QUOTED-PRINTABLE;CHARSET=UTF-8:;;=C3=BCber 1=2C;Ort;;;\r\n\
            ORG;ENCODING=QUOTED-PRINTABLE:A=3BB;C\r\n";
        assert_eq!(read(lines, "N"), [["Müller; \\", "A;n", "", "", ""]]);
        assert_eq!(read(lines, "ADR"), [["", "", "über 1,", "Ort", "", "", ""]]);
        assert_eq!(read(lines, "ORG"), [["A;B", "C"]]);
    }

    #[test]
    fn a_name_with_all_its_separators_encoded_has_parts() {
        let lines = b"N;ENCODING=QUOTED-PRINTABLE:=4D=C3=BC=3B=41=3B=3B=3B\r\n";
        assert_eq!(read(lines, "N"), [["Mü", "A", "", "", ""]]);
    }

    #[test]
    fn quoted_printable_line_breaks_stay_breaks() {
        let lines = b"NOTE;ENCODING=QUOTED-PRINTABLE:a=0D=0A=\r\nb=0Ac=0D=3Dd=\r\n";
        assert_eq!(read(lines, "NOTE"), [["a\nb\nc\n=d"]]);
    }

    #[test]
    fn shift_jis_with_a_literal_backslash_byte() {
        // U+30BD is 83 5C, U+8868 is 95 5C: only the lead byte gets encoded.
        let lines = b"FN;CHARSET=SHIFT_JIS;ENCODING=QUOTED-PRINTABLE:=83\\=95\\\r\n\
            ORG;CHARSET=SHIFT_JIS:\x83\x5C;\x95\x5C\r\n";
        assert_eq!(read(lines, "FN"), [["ソ表"]]);
        assert_eq!(read(lines, "ORG"), [["ソ", "表"]]);
    }

    #[test]
    fn a_nested_card_is_left_out() {
        for agent in [
            "AGENT:\r\n\r\nBEGIN:VCARD\r\n",
            "X.agent;A=1:BEGIN:VCARD\r\n",
        ] {
            let lines = format!(
                "FN:Ada\r\n{agent}FN:Bob\r\nAGENT:\r\nBEGIN:VCARD\r\nFN:Cleo\r\n\
                 END:VCARD\r\nTEL:1\r\nEND:VCARD\r\nTEL:+1 202 555 0100\r\n"
            );
            assert_eq!(read(lines.as_bytes(), "FN"), [["Ada"]]);
            assert_eq!(read(lines.as_bytes(), "TEL"), [["+1 202 555 0100"]]);
            assert!(read(lines.as_bytes(), "AGENT").is_empty());
        }
        assert_eq!(read(b"AGENT:\r\nFN:Ada\r\n", "FN"), [["Ada"]]);
    }

    #[test]
    fn lines_that_begin_and_end_components_stay_those() {
        for (lines, expected) in [
            ("BEGIN:A\r\n B\r\nEND:A\r\n", "BEGIN:A\r\n B\r\nEND:A\r\n"),
            ("BEGIN:A\r X:1\rEND:A\r", "BEGIN:A\r\n X:1\r\nEND:A\r\n"),
            ("BEGI\n N:A\nEND:\n A\n", "B\r\n EGIN:A\r\nE\r\n ND:A\r\n"),
            ("\n END:A\n", "E\r\n ND:A\r\n"),
            ("END;CHARSET=utf-8:A\n", "E\r\n ND:A\r\n"),
            ("END;ENCODING=QUOTED-PRINTABLE:=41\n", "E\r\n ND:A\r\n"),
        ] {
            let text = format!("BEGIN:VEVENT\nX:\u{fc}\n{lines}END:VEVENT\n");
            let cleaned = repair_charset(&WINDOWS_1252.encode(&text).0).into_owned();
            let expected = format!("BEGIN:VEVENT\r\nX:\u{fc}\r\n{expected}END:VEVENT\r\n");
            assert_eq!(cleaned, expected);
        }
    }

    #[test]
    fn only_a_card_has_a_nested_card() {
        let event = b"BEGIN:VEVENT\nX:\xFC\nAGENT:BEGIN:VEVENT\nAGENT:\nEND:VEVENT\n";
        let lines = "X:\u{fc}\r\nAGENT:BEGIN:VEVENT\r\nAGENT:\r\n";
        let expected = format!("BEGIN:VEVENT\r\n{lines}END:VEVENT\r\n");
        assert_eq!(repair_charset(event), expected);
    }

    #[test]
    fn bare_base64_and_lone_carriage_returns_are_read() {
        let lines = b"PHOTO;BASE64:\r\n//79\r\n/Pv6\r\n\r\nFN:Ada\r\n";
        assert_eq!(read(lines, "PHOTO"), [["//79/Pv6"]]);
        let lines = b"PHOTO;ENCODING=BASE64;TYPE=JPEG://79\r  /Pv6\r\rFN:Ada\r";
        assert_eq!(read(lines, "PHOTO"), [["//79/Pv6"]]);
        assert_eq!(read(lines, "FN"), [["Ada"]]);
    }
}
