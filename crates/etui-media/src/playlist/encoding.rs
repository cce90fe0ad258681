//! [`Text`]: the bytes of a playlist, and the encoding that they are in.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::NoPlaylist;

/// Bytes that are searched for a declaration of the encoding.
const HEAD: usize = 4 << 10;

/// The text of a playlist.
pub(super) struct Text<'b> {
    bytes: Cow<'b, [u8]>,
    /// The encoding that it declares.
    declared: Option<&'static Encoding>,
    start: String,
}

/// A line of a text.
pub(super) struct Line<'t> {
    /// Its number, from 1.
    pub(super) number: usize,
    /// Its bytes, without the line break.
    pub(super) raw: &'t [u8],
    pub(super) text: Cow<'t, str>,
}

impl<'b> Text<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Result<Self, NoPlaylist> {
        let (bytes, declared) = match Encoding::for_bom(bytes) {
            Some((encoding, _)) if encoding == UTF_16LE || encoding == UTF_16BE => {
                let (decoded, ..) = encoding.decode(bytes);
                (Cow::Owned(decoded.into_owned().into_bytes()), None)
            }
            Some((_, bom)) => (Cow::Borrowed(bytes.get(bom..).unwrap_or_default()), None),
            None => (Cow::Borrowed(bytes), declared_encoding(bytes)),
        };
        if bytes.contains(&0) {
            return Err(NoPlaylist::Binary);
        }
        let head = bytes.get(..bytes.len().min(HEAD)).unwrap_or_default();
        let start = String::from_utf8_lossy(head.trim_ascii_start()).into_owned();
        Ok(Self {
            bytes,
            declared,
            start,
        })
    }

    /// Returns its first characters, without white space before them.
    pub(super) fn start(&self) -> &str {
        &self.start
    }

    /// Returns all of it.
    pub(super) fn decoded(&self) -> Cow<'_, str> {
        self.decode(&self.bytes)
    }

    /// Decodes all of the text or a line of it, as UTF-8 if it is, unless another encoding is
    /// declared. Lists that several programs wrote have lines in several encodings.
    fn decode<'t>(&self, bytes: &'t [u8]) -> Cow<'t, str> {
        match (self.declared, std::str::from_utf8(bytes)) {
            (None, Ok(text)) => Cow::Borrowed(text),
            (None, Err(_)) => decode_western(bytes),
            (Some(declared), _) => declared.decode_without_bom_handling(bytes).0,
        }
    }

    /// Returns the lines that are not empty; they end with LF, CR LF or, in old files, CR.
    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let has_lf = self.bytes.contains(&b'\n');
        let is_end = move |b: &u8| *b == if has_lf { b'\n' } else { b'\r' };
        let lines = self.bytes.split(is_end).enumerate();
        lines.filter_map(|(at, line)| {
            let raw = line.strip_suffix(b"\r").unwrap_or(line);
            (!raw.trim_ascii().is_empty()).then(|| Line {
                number: at + 1,
                raw,
                text: self.decode(raw),
            })
        })
    }
}

/// Decodes bytes as Windows-1252, which has the characters of Latin-1 and more.
pub(super) fn decode_western(bytes: &[u8]) -> Cow<'_, str> {
    WINDOWS_1252.decode_without_bom_handling(bytes).0
}

/// Returns the encoding other than UTF-8 that `#EXTENC:` or the declaration of an XML file names.
/// The bytes of one of 16 bits without a byte order mark are not a text.
fn declared_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..bytes.len().min(HEAD)).unwrap_or_default();
    let text = String::from_utf8_lossy(head);
    let label = match text.trim_start().starts_with("<?xml") {
        true => {
            let declaration = text.split("?>").next()?;
            let after = declaration.split_once("encoding")?.1.trim_start();
            let quoted = after.strip_prefix('=')?.trim_start();
            quoted.split(['"', '\'']).nth(1)?.to_owned()
        }
        false => {
            let mut lines = text.lines();
            lines.find_map(|line| Some(line.trim().strip_prefix("#EXTENC:")?.trim().to_owned()))?
        }
    };
    let encoding = Encoding::for_label(label.as_bytes())?;
    (![UTF_8, UTF_16LE, UTF_16BE].contains(&encoding)).then_some(encoding)
}
