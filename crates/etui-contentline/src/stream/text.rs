//! Classification of single lines of 8-bit or 16-bit units.

use std::borrow::Cow;

use encoding_rs::{UTF_16BE, UTF_16LE};
use memchr::memchr2;

use crate::charset::detect_utf16;
use crate::lines::{
    Delimiter, is_begin_of, parse_delimiter, parse_delimiter_start, strip_group, strip_ignore_case,
};

/// The largest number of characters in an excerpt.
pub const EXCERPT_CHARS: usize = 80;

const UTF8_BOM: &[u8] = b"\xEF\xBB\xBF";

/// Placeholders for U+FEFF and for any other character that is not ASCII, when
/// UTF-16 is narrowed to bytes.
const NARROW_BOM: u8 = 0xFE;
const NARROW_OTHER: u8 = 0xFF;

/// The width and order of the units of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeUnits {
    /// Bytes in any charset that contains ASCII.
    Bytes,
    /// UTF-16, little-endian.
    Utf16Le,
    /// UTF-16, big-endian.
    Utf16Be,
}

impl CodeUnits {
    /// Bytes per unit.
    pub fn width(self) -> usize {
        match self {
            Self::Bytes => 1,
            Self::Utf16Le | Self::Utf16Be => 2,
        }
    }

    pub(crate) fn unit(self, pair: [u8; 2]) -> u16 {
        match self {
            Self::Utf16Be => u16::from_be_bytes(pair),
            Self::Bytes | Self::Utf16Le => u16::from_le_bytes(pair),
        }
    }

    pub(crate) fn narrow(self, pair: [u8; 2]) -> u8 {
        match self.unit(pair) {
            0xFEFF => NARROW_BOM,
            unit => u8::try_from(unit)
                .ok()
                .filter(u8::is_ascii)
                .unwrap_or(NARROW_OTHER),
        }
    }

    /// Narrows text of 16-bit units to bytes.
    pub fn narrow_all(self, bytes: &[u8], out: &mut Vec<u8>) {
        let pairs = bytes.chunks_exact(2);
        let half = pairs.remainder().iter().map(|_| NARROW_OTHER);
        let pairs = pairs.map(|pair| self.narrow([pair[0], pair[1]]));
        out.clear();
        out.extend(pairs.chain(half));
    }

    /// Finds the first line end in `bytes`, which start with a whole unit, from
    /// `from` on. Returns its position and true if it is a CR.
    pub fn line_end(self, bytes: &[u8], mut from: usize) -> Option<(usize, bool)> {
        if self == Self::Bytes {
            let at = from + memchr2(b'\n', b'\r', bytes.get(from..)?)?;
            return Some((at, bytes[at] == b'\r'));
        }
        loop {
            let at = from + memchr2(b'\n', b'\r', bytes.get(from..)?)?;
            let start = at & !1;
            let pair = [*bytes.get(start)?, *bytes.get(start + 1)?];
            match self.unit(pair) {
                0x0A => return Some((start, false)),
                0x0D => return Some((start, true)),
                _ => from = at + 1,
            }
        }
    }

    /// Returns the length of the line whose text ends at `text`, line end included;
    /// `None` if it ends with a CR and the next unit is not read yet.
    pub fn whole(self, bytes: &[u8], text: usize, is_cr: bool, exhausted: bool) -> Option<usize> {
        let after = text + self.width();
        let next = bytes.get(after..).unwrap_or_default();
        if !is_cr || (next.len() < self.width() && exhausted) {
            return Some(after);
        }
        let is_lf = match self {
            Self::Bytes => *next.first()? == b'\n',
            _ => self.unit([*next.first()?, *next.get(1)?]) == 0x0A,
        };
        Some(if is_lf { after + self.width() } else { after })
    }

    /// Returns the code units that `bytes`, the start of a text, are in.
    pub fn detect(bytes: &[u8]) -> Self {
        match detect_utf16(bytes) {
            Some(encoding) if encoding == UTF_16BE => Self::Utf16Be,
            Some(_) => Self::Utf16Le,
            None => Self::Bytes,
        }
    }

    fn text(self, bytes: &[u8]) -> Cow<'_, str> {
        match self {
            Self::Bytes => String::from_utf8_lossy(bytes),
            Self::Utf16Le => UTF_16LE.decode_without_bom_handling(bytes).0,
            Self::Utf16Be => UTF_16BE.decode_without_bom_handling(bytes).0,
        }
    }
}

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// `BEGIN:name`, after this many bytes of byte order mark.
    Begin {
        /// Bytes of byte order mark before it.
        bom: usize,
    },
    /// `END:name`.
    End,
    /// `END:name` in this many bytes, and `BEGIN:name` after it.
    EndBegin {
        /// Length of the END.
        end: usize,
    },
    /// Spaces, tabs, or nothing.
    Blank,
    /// Any other text.
    Text,
}

/// Returns true for blanks, and for what phones and programs of DOS put at the end of a file: zeros,
/// and the end-of-file mark ^Z.
fn is_padding(text: &[u8]) -> bool {
    text.iter()
        .all(|byte| matches!(byte, b' ' | b'\t' | 0 | 0x1A))
}

/// Classifies a line of the component `name`.
pub fn classify_line(units: CodeUnits, line: &[u8], name: &[u8]) -> LineKind {
    let mark = match units {
        CodeUnits::Bytes => UTF8_BOM,
        CodeUnits::Utf16Le | CodeUnits::Utf16Be => &[NARROW_BOM],
    };
    let text = line.strip_prefix(mark).unwrap_or(line);
    match strip_group(text).first() {
        Some(b'B' | b'b') if is_begin_of(text, name) => LineKind::Begin {
            bom: line.len() - text.len(),
        },
        Some(b'E' | b'e') => match parse_delimiter(line) {
            Some((Delimiter::End, found)) if found.eq_ignore_ascii_case(name) => LineKind::End,
            _ => {
                end_begin(mark, line, name).map_or(LineKind::Text, |end| LineKind::EndBegin { end })
            }
        },
        _ if is_padding(text) => LineKind::Blank,
        _ => LineKind::Text,
    }
}

/// Returns the length of the `END:name` of a line that continues with `BEGIN:name`.
fn end_begin(mark: &[u8], line: &[u8], name: &[u8]) -> Option<usize> {
    let (_, rest) = parse_delimiter_start(line).filter(|(edge, _)| *edge == Delimiter::End)?;
    let after = strip_ignore_case(rest, name)?;
    let next = after.strip_prefix(mark).unwrap_or(after);
    is_begin_of(next, name).then(|| line.len() - after.len())
}

/// Makes an excerpt of `bytes` for people to recognise them: the first line that is
/// not BEGIN, END or VERSION.
pub fn make_excerpt(units: CodeUnits, bytes: &[u8]) -> String {
    let text = units.text(bytes);
    let text = text.trim_start_matches('\u{FEFF}').trim();
    let says_more = |line: &&str| {
        let line = line.trim().as_bytes();
        !line.is_empty()
            && parse_delimiter_start(line).is_none()
            && strip_ignore_case(line, b"VERSION:").is_none()
    };
    let text = text.split(['\r', '\n']).find(says_more).unwrap_or(text);
    let mut out = String::new();
    let mut count = 0;
    for char in text.chars() {
        let escaped: String = if char.is_control() {
            char.escape_default().collect()
        } else {
            char.to_string()
        };
        count += escaped.chars().count();
        if count >= EXCERPT_CHARS {
            out.push('…');
            break;
        }
        out.push_str(&escaped);
    }
    out
}
