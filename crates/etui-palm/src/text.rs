//! Texts of records: decoded with a note for each thing that could not be kept.

use crate::bytes::ByteReader;
use crate::code_page::CodePage;

/// A record of a database, read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decoded<T> {
    /// The record.
    pub record: T,
    /// Parts that were not read as they are: a sentence for each.
    pub notes: Vec<String>,
}

/// The bytes of a record, written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Encoded {
    /// The record.
    pub data: Vec<u8>,
    /// Parts that were not written as they are: a sentence for each.
    pub notes: Vec<String>,
}

/// Limit of the bytes of a record: the largest that Palm OS allocates.
pub const MAX_RECORD: usize = 65_505;

/// Decodes the texts of a record.
pub(crate) struct TextReader {
    page: CodePage,
    had_errors: bool,
    lost_controls: bool,
}

impl TextReader {
    pub(crate) fn new(page: CodePage) -> Self {
        Self {
            page,
            had_errors: false,
            lost_controls: false,
        }
    }

    /// Reads the next text, up to its zero byte.
    pub(crate) fn next(&mut self, bytes: &mut ByteReader<'_>) -> String {
        let decoded = self.page.decode(bytes.string());
        self.had_errors |= decoded.had_errors;
        self.lost_controls |= decoded.lost_controls;
        decoded.text
    }

    /// Adds the notes about the texts.
    pub(crate) fn finish(self, notes: &mut Vec<String>) {
        if self.had_errors {
            let page = self.page.name();
            notes.push(format!("some bytes are not {page} and became \u{FFFD}"));
        }
        if self.lost_controls {
            notes.push("control characters were removed".to_owned());
        }
    }
}

/// Encodes the texts of a record, each with its zero byte, within the limit of a record.
pub(crate) struct TextWriter {
    page: CodePage,
    data: Vec<u8>,
    missing: Vec<char>,
    shortened: Vec<&'static str>,
}

impl TextWriter {
    /// Creates one that appends to `data`.
    pub(crate) fn new(page: CodePage, data: Vec<u8>) -> Self {
        Self {
            page,
            data,
            missing: Vec::new(),
            shortened: Vec::new(),
        }
    }

    /// Returns the bytes written so far.
    pub(crate) fn position(&self) -> usize {
        self.data.len()
    }

    /// Overwrites a byte.
    pub(crate) fn set_byte(&mut self, at: usize, byte: u8) {
        if let Some(place) = self.data.get_mut(at) {
            *place = byte;
        }
    }

    /// Appends a text, leaving `reserved` bytes for those after it. Too long a text is shortened.
    pub(crate) fn push(&mut self, name: &'static str, text: &str, reserved: usize) {
        let room = MAX_RECORD.saturating_sub(self.data.len() + reserved + 1);
        let (mut bytes, missing) = self.page.encode(text);
        if bytes.len() > room {
            self.shortened.push(name);
            bytes.clear();
            let mut one = [0; 4];
            for c in text.chars() {
                let (encoded, _) = self.page.encode(c.encode_utf8(&mut one));
                if bytes.len() + encoded.len() > room {
                    break;
                }
                bytes.extend(encoded);
            }
        }
        for c in missing {
            if !self.missing.contains(&c) {
                self.missing.push(c);
            }
        }
        self.data.extend(bytes);
        self.data.push(0);
    }

    /// Returns the record.
    pub(crate) fn finish(self) -> Encoded {
        let mut notes = Vec::new();
        if !self.missing.is_empty() {
            let missing: String = self.missing.iter().take(20).collect();
            let page = self.page.name();
            notes.push(format!("not in {page}, written as ?: {missing}"));
        }
        for name in self.shortened {
            notes.push(format!(
                "the {name} is too long for a record and was shortened"
            ));
        }
        Encoded {
            data: self.data,
            notes,
        }
    }
}
