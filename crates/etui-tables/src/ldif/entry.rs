//! [`EntryReader`]: the entries of an LDIF file (RFC 2849).
//!
//! ```text
//! # a comment
//! dn: cn=Ada Lovelace,ou=people,dc=example,dc=org
//! cn: Ada Lovelace
//! sn:: TG92ZWxhY2U=                base64
//! description: a value that is
//!  folded                          one value, "a value that isfolded"
//! jpegPhoto:< file:///photos/a.jpg the content of a file, which is not read
//!                                  an empty line ends the entry
//! ```

use std::io::{self, Read};

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use encoding_rs::Encoding;

use crate::input::{InputLine, TextInput, decode_text};

/// Bytes of the largest entry.
const MAX_ENTRY: usize = 32 << 20;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// One value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attribute {
    /// The name as written, without options such as `;lang-de`.
    pub(crate) name: String,
    /// The name in lower-case.
    pub(crate) key: String,
    pub(crate) value: Vec<u8>,
}

impl Attribute {
    pub(crate) fn text(&self) -> String {
        decode_text(&self.value).trim().to_owned()
    }
}

/// An entry.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    /// The line of its first attribute.
    pub(crate) line: u64,
    pub(crate) last_line: u64,
    pub(crate) attributes: Vec<Attribute>,
    /// Lines that were not understood.
    pub(crate) warnings: Vec<String>,
    /// It is larger than [`MAX_ENTRY`]; its attributes are incomplete.
    pub(crate) is_too_large: bool,
}

impl Entry {
    /// The first value of an attribute, by its name in lower-case.
    pub(crate) fn first(&self, key: &str) -> Option<String> {
        let found = self
            .attributes
            .iter()
            .find(|attribute| attribute.key == key)?;
        Some(found.text()).filter(|text| !text.is_empty())
    }
}

/// A reader of entries.
pub(crate) struct EntryReader<R> {
    input: TextInput<R>,
    line: u64,
    /// A line that was read ahead.
    ahead: Option<InputLine>,
}

impl<R: Read> EntryReader<R> {
    pub(crate) fn new(reader: R, charset: Option<&'static Encoding>) -> Self {
        Self {
            input: TextInput::new(reader, charset),
            line: 0,
            ahead: None,
        }
    }

    pub(crate) fn bytes_read(&self) -> u64 {
        self.input.bytes_read()
    }

    pub(crate) fn charset(&self) -> Option<&'static Encoding> {
        self.input.charset()
    }

    fn next_line(&mut self) -> io::Result<Option<InputLine>> {
        let line = match self.ahead.take() {
            Some(line) => Some(line),
            None => self.input.next_line()?,
        };
        self.line += u64::from(line.is_some());
        Ok(line)
    }

    /// Returns the next line with its continuations, its first line, and whether it was too long.
    fn next_unfolded(&mut self) -> io::Result<Option<(Vec<u8>, u64, bool)>> {
        let Some(first) = self.next_line()? else {
            return Ok(None);
        };
        let line = self.line;
        let (mut bytes, mut is_cut) = (first.bytes, first.is_cut);
        // A line of blanks ends an entry, and continues nothing.
        if bytes.trim_ascii().is_empty() {
            return Ok(Some((Vec::new(), line, is_cut)));
        }
        while let Some(next) = self.next_line()? {
            let is_continuation = next.bytes.first() == Some(&b' ');
            if !is_continuation {
                self.line -= 1;
                self.ahead = Some(next);
                break;
            }
            is_cut |= next.is_cut || bytes.len() > MAX_ENTRY;
            if !is_cut {
                bytes.extend_from_slice(next.bytes.get(1..).unwrap_or_default());
            }
        }
        Ok(Some((bytes, line, is_cut)))
    }

    /// Returns the next entry; `None` at the end.
    pub(crate) fn next_entry(&mut self) -> io::Result<Option<Entry>> {
        let mut entry = Entry::default();
        let mut size = 0;
        while let Some((text, line, is_cut)) = self.next_unfolded()? {
            if text.is_empty() {
                match entry.line {
                    0 => continue,
                    _ => break,
                }
            }
            if text.first() == Some(&b'#') {
                continue;
            }
            let attribute = parse_attribute(&text);
            let is_version = attribute.as_ref().is_ok_and(|a| a.key == "version");
            if entry.line == 0 && is_version {
                continue;
            }
            if entry.line == 0 {
                entry.line = line;
            }
            entry.last_line = self.line;
            size += text.len();
            entry.is_too_large |= is_cut || size > MAX_ENTRY;
            if entry.is_too_large {
                entry.attributes.clear();
                continue;
            }
            match attribute {
                Ok(attribute) => entry.attributes.push(attribute),
                Err(reason) => entry.warnings.push(format!("line {line}: {reason}")),
            }
        }
        Ok((entry.line > 0).then_some(entry))
    }
}

/// Parses `NAME: VALUE`, `NAME:: BASE64`.
fn parse_attribute(text: &[u8]) -> Result<Attribute, String> {
    let Some(colon) = text.iter().position(|byte| *byte == b':') else {
        return Err("is no attribute (NAME: VALUE) and was left out".to_owned());
    };
    let (name, value) = text.split_at(colon);
    let name = decode_text(name);
    let name = name.split(';').next().unwrap_or_default().trim();
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || !name.chars().all(is_name) {
        return Err("is no attribute (NAME: VALUE) and was left out".to_owned());
    }
    let value = match value.get(1..).unwrap_or_default() {
        [b':', encoded @ ..] => {
            let encoded: Vec<u8> = encoded
                .iter()
                .copied()
                .filter(|b| !b.is_ascii_whitespace())
                .collect();
            match BASE64.decode(encoded) {
                Ok(value) => value,
                Err(_) => {
                    return Err(format!(
                        "the value of {name} is not base64 and was left out"
                    ));
                }
            }
        }
        [b'<', ..] => {
            return Err(format!(
                "the value of {name} is in another file, which is not read; it was left out"
            ));
        }
        value => value.trim_ascii().to_vec(),
    };
    Ok(Attribute {
        name: name.to_owned(),
        key: name.to_ascii_lowercase(),
        value,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str) -> Vec<Entry> {
        let mut reader = EntryReader::new(text.as_bytes(), None);
        let mut all = Vec::new();
        while let Some(entry) = reader.next_entry().unwrap() {
            all.push(entry);
        }
        all
    }

    #[test]
    fn entries_have_attributes_of_every_form() {
        let all = entries(
            "# comment\n folded comment\nversion: 1\n\ndn: cn=A\r\nCN;lang-de:: TcO8bGxlcg==\n\
             description: one\n  two\nempty:\n\n\n  \nno colon\ndn: cn=B\nphoto:< file:///a\nx:: ?",
        );
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].line, all[0].last_line), (5, 9));
        assert_eq!(all[0].first("cn").as_deref(), Some("Müller"));
        assert_eq!(all[0].attributes[1].name, "CN");
        assert_eq!(all[0].first("description").as_deref(), Some("one two"));
        assert_eq!(all[0].first("empty"), None);
        assert_eq!((all[1].line, all[1].last_line), (13, 16));
        assert_eq!(
            all[1].warnings,
            [
                "line 13: is no attribute (NAME: VALUE) and was left out",
                "line 15: the value of photo is in another file, which is not read; it was left out",
                "line 16: the value of x is not base64 and was left out",
            ]
        );
    }
}
