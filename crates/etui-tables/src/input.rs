//! [`TextInput`]: the lines of a foreign text.
//!
//! Lines are UTF-8. UTF-16 is recognized by its byte order mark, or by the zero bytes of its first
//! characters; another charset is detected from the beginning of the text, or from the first line that
//! is not UTF-8. Lines end with CRLF, LF or a lone CR.

use std::borrow::Cow;
use std::io::{self, Read};

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Decoder, Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Bytes of the longest line that is kept; the rest of a longer one is skipped.
pub(crate) const MAX_LINE: usize = 48 << 20;
/// Bytes that are read at a time.
const CHUNK: usize = 64 << 10;
/// Bytes at the beginning that the charset is detected from.
const SAMPLE: usize = 256 << 10;

/// A line without its end.
#[derive(Debug, Default)]
pub(crate) struct InputLine {
    pub(crate) bytes: Vec<u8>,
    /// The line was longer than [`MAX_LINE`].
    pub(crate) is_cut: bool,
}

/// A reader of lines.
pub(crate) struct TextInput<R> {
    reader: R,
    bytes_read: u64,
    decoder: Option<Decoder>,
    /// The charset of lines that are not UTF-8, once it is known.
    charset: Option<&'static Encoding>,
    /// Bytes that are read and not returned yet, from `start`.
    buffer: Vec<u8>,
    start: usize,
    is_started: bool,
    is_ended: bool,
}

impl<R: Read> TextInput<R> {
    /// A reader of a text in a charset; it is detected if it is `None`.
    pub(crate) fn new(reader: R, charset: Option<&'static Encoding>) -> Self {
        Self {
            reader,
            bytes_read: 0,
            decoder: None,
            charset,
            buffer: Vec::new(),
            start: 0,
            is_started: false,
            is_ended: false,
        }
    }

    /// The number of bytes read so far.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// The charset of the lines so far that were not UTF-8 or UTF-16.
    pub(crate) fn charset(&self) -> Option<&'static Encoding> {
        self.charset
    }

    /// Returns the next line; `None` at the end.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<InputLine>> {
        if !self.is_started {
            self.begin()?;
        }
        let line = self.next_bytes()?;
        Ok(line.map(|line| self.convert(line)))
    }

    /// Converts a line to UTF-8.
    fn convert(&mut self, line: InputLine) -> InputLine {
        let is_utf8 = std::str::from_utf8(&line.bytes).is_ok();
        let charset = match self.charset {
            // A text of one-byte characters may have lines of another program, in UTF-8; text of
            // two-byte ones may look like UTF-8 by chance.
            Some(charset) if !is_utf8 || !charset.is_single_byte() => charset,
            None if !is_utf8 => {
                let rest = self.buffer.get(self.start..).unwrap_or_default();
                *self.charset.insert(detect_charset(&[&line.bytes, rest]))
            }
            _ => return line,
        };
        let text = charset.decode_without_bom_handling(&line.bytes).0;
        InputLine {
            bytes: text.into_owned().into_bytes(),
            ..line
        }
    }

    /// Returns the next line as it is.
    fn next_bytes(&mut self) -> io::Result<Option<InputLine>> {
        let mut line = InputLine::default();
        loop {
            let rest = self.buffer.get(self.start..).unwrap_or_default();
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            line.append(rest.get(..end.unwrap_or(rest.len())).unwrap_or_default());
            let Some(end) = end else {
                let was_empty = rest.is_empty() && line.bytes.is_empty();
                self.start = self.buffer.len();
                if self.fill()? {
                    continue;
                }
                return Ok((!was_empty || line.is_cut).then_some(line));
            };
            let is_cr = rest.get(end) == Some(&b'\r');
            self.start += end + 1;
            if is_cr && (self.start < self.buffer.len() || self.fill()?) {
                let follows = self.buffer.get(self.start) == Some(&b'\n');
                self.start += usize::from(follows);
            }
            return Ok(Some(line));
        }
    }

    /// Recognizes the charset.
    fn begin(&mut self) -> io::Result<()> {
        self.is_started = true;
        let mut head = Vec::new();
        while head.len() < SAMPLE {
            let read = self.read_chunk()?;
            if read.is_empty() {
                break;
            }
            head.extend(read);
        }
        let wide = match self.charset {
            Some(charset) => Some(charset).filter(|c| [UTF_16BE, UTF_16LE].contains(c)),
            None => detect_wide(&head),
        };
        self.decoder = wide.map(Encoding::new_decoder_with_bom_removal);
        let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&head);
        if wide.is_some() {
            self.charset = None;
        } else if self.charset.is_none() && !is_mostly_utf8(text) {
            self.charset = Some(detect_charset(&[text]));
        }
        self.append(text);
        Ok(())
    }

    /// Reads more bytes into the buffer. Returns false at the end of the input.
    fn fill(&mut self) -> io::Result<bool> {
        if self.is_ended {
            return Ok(false);
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        let before = self.buffer.len();
        while self.buffer.len() == before {
            let read = self.read_chunk()?;
            if read.is_empty() {
                self.is_ended = true;
                self.append(&[]);
                break;
            }
            self.append(&read);
        }
        Ok(self.buffer.len() > before)
    }

    fn read_chunk(&mut self) -> io::Result<Vec<u8>> {
        let mut chunk = vec![0; CHUNK];
        loop {
            match self.reader.read(&mut chunk) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                read => {
                    let read = read?;
                    self.bytes_read += read as u64;
                    chunk.truncate(read);
                    return Ok(chunk);
                }
            }
        }
    }

    /// Appends bytes of the input to the buffer, as UTF-8 if it is UTF-16.
    fn append(&mut self, bytes: &[u8]) {
        let Some(decoder) = &mut self.decoder else {
            self.buffer.extend_from_slice(bytes);
            return;
        };
        let mut text = String::new();
        let room = decoder.max_utf8_buffer_length(bytes.len());
        text.reserve(room.unwrap_or(4 * bytes.len() + 16));
        // The text has room for all of it.
        let _ = decoder.decode_to_string(bytes, &mut text, self.is_ended);
        self.buffer.extend_from_slice(text.as_bytes());
    }
}

impl InputLine {
    fn append(&mut self, bytes: &[u8]) {
        let room = MAX_LINE.saturating_sub(self.bytes.len());
        self.is_cut |= bytes.len() > room;
        self.bytes
            .extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
    }
}

/// Returns the encoding of a text in UTF-16.
pub(crate) fn detect_wide(head: &[u8]) -> Option<&'static Encoding> {
    match head {
        [0xFF, 0xFE, ..] => Some(UTF_16LE),
        [0xFE, 0xFF, ..] => Some(UTF_16BE),
        [1..=255, 0, 1..=255, 0, ..] => Some(UTF_16LE),
        [0, 1..=255, 0, 1..=255, ..] => Some(UTF_16BE),
        _ => None,
    }
}

/// Returns true if most lines with other characters than ASCII are UTF-8.
fn is_mostly_utf8(text: &[u8]) -> bool {
    let lines = text.split(|byte| *byte == b'\n');
    let others = lines.filter(|line| !line.is_ascii());
    let (utf8, other): (Vec<&[u8]>, Vec<&[u8]>) =
        others.partition(|line| std::str::from_utf8(line).is_ok());
    // The last line may be cut within a character.
    other.is_empty() || utf8.len() > other.len() || std::str::from_utf8(text).is_err_and(is_cut)
}

fn is_cut(error: std::str::Utf8Error) -> bool {
    error.error_len().is_none()
}

/// Returns the charset of a text that is not UTF-8.
fn detect_charset(text: &[&[u8]]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    for part in text {
        detector.feed(part, false);
    }
    detector.feed(b"", true);
    let found = detector.guess(None, Utf8Detection::Deny);
    // UTF-8 with wrong bytes: those are read as the most common charset.
    if found == UTF_8 { WINDOWS_1252 } else { found }
}

/// Returns the charset with a name: one of the WHATWG's, or a number of a Windows code page, such as
/// `cp932`. `None` if there is none.
pub(crate) fn find_charset(name: &str) -> Option<&'static Encoding> {
    let name = name.trim();
    let page = name
        .get(..2)
        .filter(|start| start.eq_ignore_ascii_case("cp"));
    Encoding::for_label(name.as_bytes()).or_else(|| match page.and(name.get(2..))? {
        "932" => Some(encoding_rs::SHIFT_JIS),
        "936" => Some(encoding_rs::GBK),
        "949" => Some(encoding_rs::EUC_KR),
        "950" => Some(encoding_rs::BIG5),
        "65001" => Some(UTF_8),
        _ => None,
    })
}

/// Returns bytes as text: UTF-8, or else windows-1252.
pub(crate) fn decode_text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => WINDOWS_1252.decode_without_bom_handling(bytes).0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<String> {
        // One byte at a time: an end of line and a character may be in two reads.
        struct Slow<'b>(&'b [u8]);
        impl Read for Slow<'_> {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                let n = self.0.len().min(1);
                out[..n].copy_from_slice(&self.0[..n]);
                self.0 = &self.0[n..];
                Ok(n)
            }
        }
        let mut input = TextInput::new(Slow(bytes), None);
        let mut all = Vec::new();
        while let Some(line) = input.next_line().unwrap() {
            all.push(decode_text(&line.bytes).into_owned());
        }
        assert_eq!(input.bytes_read(), bytes.len() as u64);
        all
    }

    #[test]
    fn lines_of_every_ending_and_encoding() {
        let text = "Müller\r\nb\rc\n\nend 😀";
        let expected = ["Müller", "b", "c", "", "end 😀"];
        assert_eq!(lines(text.as_bytes()), expected);
        assert_eq!(lines(format!("\u{feff}{text}").as_bytes()), expected);
        for marked in [text.to_owned(), format!("\u{feff}{text}")] {
            let units = || marked.encode_utf16();
            let little: Vec<u8> = units().flat_map(u16::to_le_bytes).collect();
            let big: Vec<u8> = units().flat_map(u16::to_be_bytes).collect();
            if marked.starts_with('\u{feff}') {
                assert_eq!(lines(&little), expected);
                assert_eq!(lines(&big), expected);
            }
        }
        let plain: Vec<u8> = "Name\nA"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(lines(&plain), ["Name", "A"]);
        assert_eq!(lines(b"M\xFCller\n"), ["Müller"]);
        assert_eq!(lines(b""), [""; 0]);
        assert_eq!(lines(b"\n"), [""]);
    }
}
