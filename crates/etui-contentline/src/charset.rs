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

use encoding_rs::{
    Decoder, DecoderResult, Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252,
};
use memchr::{memchr_iter, memchr2, memchr2_iter};

use super::lines::{
    ContentLine, ContentLines, Delimiter, escaped_byte, is_begin_of, is_blank, parse_delimiter,
    parse_params, physical_line, trim_blanks,
};

mod v21;

/// A record as UTF-8 text for a parser; see [`repair_record`].
#[derive(Debug, Clone)]
pub struct RepairedRecord<'t> {
    /// The text, in the syntax of vCard 3.0 if it was a vCard 2.1.
    pub text: Cow<'t, str>,
    /// True if the record is a vCard 2.1.
    pub was_v21: bool,
}

/// Returns the record as UTF-8 text for a parser.
///
/// An ordinary record is borrowed. Any of these cases makes it a rebuilt one, each property on one
/// line with CRLF:
///
/// * UTF-16 is decoded.
/// * Values with `CHARSET=x` are decoded from it, and the parameter is dropped
///   (base64 values keep theirs). Without CHARSET, or with one that is not
///   known, they are UTF-8. A byte that is invalid there is read as windows-1252.
/// * Quoted-printable values are decoded, and the parameter is dropped.
///   Encoded semicolons, commas and backslashes come out escaped, encoded line
///   breaks as `\n`; literal ones stay the separators they are. Where N, ADR or ORG
///   has no literal semicolon at all, the encoded ones are taken as the
///   separators: the encoder has encoded everything.
/// * A vCard 2.1 comes out in the syntax of 3.0, with that VERSION: see the module `v21`.
/// * A card nested in a card (AGENT) is left out together with its AGENT line.
/// * Base64 over lines that are not indented is put on one line.
/// * A lone CR ends a line.
///
/// Any input gives text; nothing is an error.
pub fn repair_record(record: &[u8]) -> RepairedRecord<'_> {
    if let Some(encoding) = detect_utf16(record) {
        let (text, _) = encoding.decode_with_bom_removal(record);
        let was_v21 = v21::is_v21(text.as_bytes());
        let text = match !was_v21 && is_ordinary(text.as_bytes()) {
            true => text.into_owned(),
            false => Rebuilder::new(true, was_v21).rebuild(text.as_bytes()),
        };
        return RepairedRecord {
            text: Cow::Owned(text),
            was_v21,
        };
    }
    let record = record.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(record);
    let was_v21 = v21::is_v21(record);
    let text = match std::str::from_utf8(record) {
        Ok(text) if !was_v21 && is_ordinary(record) => Cow::Borrowed(text),
        _ => Cow::Owned(Rebuilder::new(false, was_v21).rebuild(record)),
    };
    RepairedRecord { text, was_v21 }
}

/// Returns the text of [`repair_record`].
pub fn repair_charset(record: &[u8]) -> Cow<'_, str> {
    repair_record(record).text
}

/// Returns the record in UTF-8 with its lines and encodings as they are. Only a record in UTF-16, or
/// with 8-bit text that is not UTF-8, is rebuilt, each property that is not quoted-printable on one line.
pub fn to_utf8_bytes(record: &[u8]) -> Cow<'_, [u8]> {
    match to_utf8(record) {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// Returns the result of [`to_utf8_bytes`] as text.
pub fn to_utf8(record: &[u8]) -> Cow<'_, str> {
    let decoded = detect_utf16(record).map(|encoding| encoding.decode_with_bom_removal(record).0);
    match decoded {
        None => match std::str::from_utf8(record) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(Rebuilder::transcode(false, record).rebuild(record)),
        },
        Some(text) if is_ordinary(text.as_bytes()) => Cow::Owned(text.into_owned()),
        Some(text) => {
            let bytes = text.as_bytes();
            Cow::Owned(Rebuilder::transcode(true, bytes).rebuild(bytes))
        }
    }
}

/// Returns the text of [`repair_record`] if a value may be quoted-printable, and of [`to_utf8`]
/// otherwise, which is cheaper: for records that should have no encodings, as those of iCalendar.
pub fn to_plain_utf8(record: &[u8]) -> Cow<'_, str> {
    const ENCODING: &[u8] = b"QUOTED-PRINTABLE";
    let mut starts = memchr2_iter(b'Q', b'q', record);
    let is_encoded = starts.any(|at| {
        let word = record.get(at..at + ENCODING.len());
        word.is_some_and(|word| word.eq_ignore_ascii_case(ENCODING))
    });
    match is_encoded {
        true => repair_charset(record),
        false => to_utf8(record),
    }
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

/// Rebuilds a record line by line.
struct Rebuilder {
    out: String,
    /// The bytes are known to be UTF-8, whatever the CHARSET parameters say.
    is_unicode: bool,
    /// The record is a vCard 2.1.
    is_v21: bool,
    /// Only the charset changes: quoted-printable and the syntax of the version stay.
    keeps_syntax: bool,
}

impl Rebuilder {
    fn new(is_unicode: bool, is_v21: bool) -> Self {
        Self {
            out: String::new(),
            is_unicode,
            is_v21,
            keeps_syntax: false,
        }
    }

    fn transcode(is_unicode: bool, record: &[u8]) -> Self {
        Self {
            keeps_syntax: true,
            ..Self::new(is_unicode, v21::is_v21(record))
        }
    }

    fn rebuild(mut self, record: &[u8]) -> String {
        self.out.reserve(record.len() + record.len() / 8);
        // Only cards nest cards that are no components of theirs.
        let outer = outer_component(record)
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
                self.push_line(&held);
            }
            if begins_agent(&line, outer) {
                depth = 1;
            } else if line.traits.agent && trim_blanks(&line.unfolded_value()).is_empty() {
                agent = Some(line);
            } else {
                self.push_line(&line);
            }
        }
        if let Some(held) = agent {
            self.push_line(&held);
        }
        self.out
    }

    /// Appends the line unfolded, unless that would make or unmake a `BEGIN:x` or `END:x`; then one
    /// fold stays.
    fn push_line(&mut self, line: &ContentLine<'_>) {
        let at = self.out.len();
        if self.keeps_syntax && line.traits.quoted_printable {
            push_physical_lines(&mut self.out, line.raw());
            return;
        }
        self.push_unfolded(line);
        let was = line.delimiter().map(|(edge, name)| (edge, name.len()));
        let text = self.out[at..].trim_end_matches(['\r', '\n']);
        let is = parse_delimiter(text.as_bytes()).map(|(edge, name)| (edge, name.len()));
        if was != is {
            let fold = match was {
                Some(_) => line.first_physical_line().len(),
                None => 1,
            };
            self.out.insert_str(at + fold, "\r\n ");
        }
    }

    fn push_unfolded(&mut self, line: &ContentLine<'_>) {
        let traits = line.traits;
        let out = &mut self.out;
        if self.is_v21 && !self.keeps_syntax && line.name_is("VERSION") {
            out.push_str("VERSION:3.0\r\n");
            return;
        }
        let value = match self.is_v21 && v21::keeps_fold_blanks(line) {
            true => line.unfolded_value_with_blanks(),
            false => line.unfolded_value(),
        };
        let head_params = line.unfolded_params();
        let charset = parse_params(&head_params)
            .filter(|param| param.name.eq_ignore_ascii_case(b"CHARSET"))
            .filter_map(|param| Encoding::for_label(param.value?))
            .find(|&encoding| encoding != REPLACEMENT);
        let raw_charset = charset.filter(|_| !self.is_unicode);

        if traits.quoted_printable || (traits.charset && !traits.base64) {
            push_text(out, &decode_value(&line.unfolded_label(), None));
            for param in parse_params(&head_params) {
                let dropped = param.name.eq_ignore_ascii_case(b"CHARSET")
                    || param.is_encoding("QUOTED-PRINTABLE");
                if !dropped {
                    out.push(';');
                    push_text(out, &decode_value(param.text, raw_charset));
                }
            }
            out.push(':');
        } else {
            let text = line.unfolded();
            let head = text.len().saturating_sub(line.unfolded_value().len());
            push_text(out, &decode_value(&text[..head], None));
        }

        let syntax = match self.is_v21 && !self.keeps_syntax {
            true => v21::syntax_of(line),
            false => ValueEscapes::default(),
        };
        if traits.base64 && !traits.quoted_printable {
            let data: Vec<u8> = value
                .iter()
                .copied()
                .filter(|byte| !matches!(byte, b' ' | b'\t'))
                .collect();
            push_text(out, &decode_value(&data, None));
        } else if traits.quoted_printable {
            let structured = ["N", "ADR", "ORG"].iter().any(|name| line.name_is(name));
            push_quoted(out, &value, charset, structured, syntax);
        } else {
            let text = decode_value(&value, raw_charset);
            if syntax == ValueEscapes::default() {
                push_text(out, &text);
            } else {
                let mut sink = ValueSink::new(out, false, syntax);
                sink.push(&text, false);
                sink.end();
            }
        }
        out.push_str("\r\n");
    }
}

/// Returns the name of the component that the first line begins.
fn outer_component(record: &[u8]) -> Option<&[u8]> {
    let first = ContentLines::new(record).find(|line| !line.unfolded().is_empty())?;
    Some(first.delimiter()?.1)
}

/// Appends the physical lines of a property in ASCII, each with CRLF.
fn push_physical_lines(out: &mut String, raw: &[u8]) {
    let mut at = 0;
    while let Some((end, next)) = physical_line(raw, at) {
        out.push_str(&decode_value(&raw[at..end], None));
        out.push_str("\r\n");
        at = next;
    }
}

/// Whether the line is `AGENT:BEGIN:name`.
fn begins_agent(line: &ContentLine<'_>, name: &[u8]) -> bool {
    line.traits.agent && is_begin_of(trim_blanks(&line.unfolded_value()), name)
}

/// Decodes raw bytes. ASCII is ASCII in any charset but the stateful ones, which begin with an
/// escape.
fn decode_value<'a>(bytes: &'a [u8], charset: Option<&'static Encoding>) -> Cow<'a, str> {
    let charset = charset
        .filter(|charset| {
            // Text among ASCII lines is not UTF-16, whatever it claims.
            charset.is_ascii_compatible() || (bytes.contains(&0x1B) && !is_utf16(charset))
        })
        .unwrap_or(UTF_8);
    match std::str::from_utf8(bytes) {
        Ok(text) if charset == UTF_8 => Cow::Borrowed(text),
        Ok(text) if text.is_ascii() && !bytes.contains(&0x1B) => Cow::Borrowed(text),
        _ => {
            let mut out = String::with_capacity(bytes.len() + bytes.len() / 4);
            let mut decoder = LenientDecoder::new(charset);
            decoder.decode(bytes, |char| out.push(char));
            decoder.end(|char| out.push(char));
            Cow::Owned(out)
        }
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
        if let Some(escaped) = escaped_byte(rest) {
            out.push((escaped, true));
            rest = &rest[3..];
            continue;
        }
        // The soft break of a value that was cut off says nothing.
        if byte != b'=' || !is_blank(after) {
            out.push((byte, false));
        }
        rest = after;
    }
    out
}

/// Decodes quoted-printable in UTF-8.
pub fn decode_quoted_text(value: &[u8]) -> String {
    let bytes: Vec<u8> = quoted_bytes(value)
        .into_iter()
        .map(|(byte, _)| byte)
        .collect();
    decode_value(&bytes, None).into_owned()
}

fn push_quoted(
    out: &mut String,
    value: &[u8],
    charset: Option<&'static Encoding>,
    structured: bool,
    syntax: ValueEscapes,
) {
    let quoted = quoted_bytes(value);
    let all_encoded = structured && !quoted.contains(&(b';', false));
    let mut sink = ValueSink::new(out, all_encoded, syntax);
    // Byte by byte, because in some charsets (Shift_JIS) the second byte of a
    // character can be a backslash. Only decoded text shows which is one, and
    // only undecoded text shows whether it was encoded.
    let mut decoder = LenientDecoder::new(charset.unwrap_or(UTF_8));
    for (byte, encoded) in quoted {
        decoder.decode(&[byte], |char| sink.push_char(char, encoded));
    }
    decoder.end(|char| sink.push_char(char, true));
    sink.end();
}

/// A decoder that reads each byte that is invalid in its charset as windows-1252, so that one wrong
/// byte costs no other.
struct LenientDecoder {
    decoder: Decoder,
    /// The bytes that were consumed without output: the start of a character.
    pending: Vec<u8>,
}

impl LenientDecoder {
    fn new(charset: &'static Encoding) -> Self {
        Self {
            decoder: charset.new_decoder_without_bom_handling(),
            pending: Vec::new(),
        }
    }

    /// Decodes the next bytes.
    fn decode(&mut self, bytes: &[u8], put: impl FnMut(char)) {
        self.run(bytes, false, put);
    }

    /// Ends the text.
    fn end(&mut self, put: impl FnMut(char)) {
        self.run(&[], true, put);
    }

    fn run(&mut self, bytes: &[u8], last: bool, mut put: impl FnMut(char)) {
        let mut rest = bytes;
        let mut buffer = [0_u8; 256];
        loop {
            let (result, read, written) =
                self.decoder
                    .decode_to_utf8_without_replacement(rest, &mut buffer, last);
            let (consumed, after) = rest.split_at(read);
            rest = after;
            String::from_utf8_lossy(&buffer[..written])
                .chars()
                .for_each(&mut put);
            if written > 0 {
                self.pending.clear();
            }
            // The longest character of any charset has 4 bytes, the longest escape of ISO-2022-JP 3.
            let from = consumed.len().saturating_sub(8);
            self.pending.extend_from_slice(&consumed[from..]);
            match result {
                DecoderResult::InputEmpty => return,
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(bad, extra) => {
                    // The decoder has read `extra` bytes after the malformed ones.
                    let end = self.pending.len().saturating_sub(usize::from(extra));
                    let start = end.saturating_sub(usize::from(bad));
                    let (text, _) =
                        WINDOWS_1252.decode_without_bom_handling(&self.pending[start..end]);
                    // Half a character of UTF-16 has zeros.
                    text.chars().filter(|c| !c.is_control()).for_each(&mut put);
                    self.pending.drain(..end);
                }
            }
        }
    }
}

/// The characters of a value that are escaped though they were not encoded, and the meaning of its
/// backslashes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ValueEscapes {
    /// Commas are text.
    commas: bool,
    /// Semicolons are text.
    semicolons: bool,
    /// A backslash is text, unless it is before a separator (vCard 2.1).
    backslashes: bool,
}

/// Writes decoded characters as the text of a value.
struct ValueSink<'a> {
    out: &'a mut String,
    /// The last character was a literal backslash.
    escape: bool,
    /// The last character was a carriage return, written as a line break; a
    /// following line feed belongs to it.
    carriage_return: bool,
    /// Encoded semicolons are separators.
    all_encoded: bool,
    syntax: ValueEscapes,
}

impl<'a> ValueSink<'a> {
    fn new(out: &'a mut String, all_encoded: bool, syntax: ValueEscapes) -> Self {
        Self {
            out,
            escape: false,
            carriage_return: false,
            all_encoded,
            syntax,
        }
    }

    fn push(&mut self, text: &str, encoded: bool) {
        for char in text.chars() {
            self.push_char(char, encoded);
        }
    }

    fn push_char(&mut self, char: char, encoded: bool) {
        let follows_cr = std::mem::replace(&mut self.carriage_return, char == '\r');
        if std::mem::take(&mut self.escape) {
            self.out.push('\\');
            match char {
                ';' | ',' => return self.out.push(char),
                ':' if self.syntax.backslashes && !encoded => return self.out.push(char),
                _ if self.syntax.backslashes => self.out.push('\\'),
                '\\' => return self.out.push(char),
                _ if !encoded => return self.out.push(char),
                _ => self.out.push('\\'),
            }
        }
        match char {
            '\n' if follows_cr => {}
            '\r' | '\n' => self.out.push_str("\\n"),
            ';' if encoded && self.all_encoded => self.out.push(';'),
            '\\' if !encoded => self.escape = true,
            '\\' | ';' | ',' if encoded => self.push_escaped(char),
            ';' if self.syntax.semicolons => self.push_escaped(char),
            ',' if self.syntax.commas => self.push_escaped(char),
            _ => self.out.push(char),
        }
    }

    fn push_escaped(&mut self, char: char) {
        self.out.push('\\');
        self.out.push(char);
    }

    fn end(&mut self) {
        if self.escape {
            self.out.push_str("\\\\");
        }
    }
}

#[cfg(test)]
mod tests;
