//! The physical lines of a stream: [`LineStream`] holds a window of fixed size and the bytes of the
//! record being read.
//!
//! ```text
//! input   ......[- consumed --|-- unread --]......
//!               window        start        end
//!         kept  [----------]                        from `start_record` to the last line consumed
//! ```
//!
//! Lines end with CRLF, LF or a lone CR. Bytes from 0x80 on have no meaning here. UTF-16 is detected
//! by its byte order mark or by `BE` in 16-bit units at the very start; its lines are narrowed to
//! bytes for classification, and kept as they are.

use std::io::{self, ErrorKind, Read};

use self::text::make_excerpt;
use super::lines::{MAX_HEAD, is_blank, last_visible_byte};
use super::rejection::{RejectReason, Rejection};

pub mod text;

pub use text::CodeUnits;

/// The longest physical line that is held as a whole. Of a longer one only the
/// first bytes are examined.
pub const MAX_LINE: usize = MAX_HEAD;

/// The size of the window. It holds the longest line several times, which keeps
/// moving its rest to the front cheap.
const WINDOW: usize = 4 * MAX_LINE;

/// The number of bytes kept for an excerpt: 80 characters need no more.
pub const EXCERPT_BYTES: usize = 320;

/// Returns the beginning of a record for people; see [`Rejection::excerpt`].
pub fn record_excerpt(record: &[u8]) -> String {
    make_excerpt(
        CodeUnits::Bytes,
        record.get(..EXCERPT_BYTES).unwrap_or(record),
    )
}

/// The line at the front of the window.
#[derive(Debug)]
pub enum FetchedLine {
    /// The whole line is in the window.
    Line {
        /// Length of the text.
        text: usize,
        /// Length with the line end.
        whole: usize,
    },
    /// It has [`MAX_LINE`] bytes or more.
    Long,
    /// The whole input is in an unsupported encoding and was skipped.
    Unread(Rejection),
}

/// A piece of a long line.
#[derive(Clone, Copy, Debug)]
pub struct LineChunk {
    /// Its length.
    pub len: usize,
    /// The last byte of its text that is no blank.
    pub last: Option<u8>,
    /// True if the line ends with it.
    pub ends: bool,
}

/// A part of the input that is going to be rejected.
#[derive(Debug)]
pub struct SkippedRange {
    /// Its first line.
    pub line: u64,
    /// Its last line.
    pub last_line: u64,
    /// Offset of its first byte in the input.
    pub offset: u64,
    /// Offset of the byte after its last.
    pub end: u64,
    /// Its first bytes.
    pub excerpt: Vec<u8>,
}

/// A stream with its position. Interrupted reads are repeated.
#[derive(Debug)]
pub struct LineStream<R> {
    reader: R,
    /// Input read: `window[start..end]` is not consumed.
    window: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset of the window in the input.
    base: u64,
    exhausted: bool,
    units: Option<CodeUnits>,
    /// The line at `start`, and the one of the last byte consumed.
    line: u64,
    last_line: u64,
    /// The line's text in bytes, when it is in UTF-16.
    narrow: Vec<u8>,
    /// Offset in the window of the record being read, if there is one.
    kept: Option<usize>,
    /// The bytes of that record that have left the window.
    held: Vec<u8>,
}

impl<R: Read> LineStream<R> {
    /// Reads the lines of `reader`, which need not be buffered.
    pub fn new(reader: R) -> Self {
        Self {
            reader,
            window: vec![0; WINDOW],
            start: 0,
            end: 0,
            base: 0,
            exhausted: false,
            units: None,
            line: 1,
            last_line: 1,
            narrow: Vec::new(),
            kept: None,
            held: Vec::new(),
        }
    }

    /// Returns the number of bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.base + self.end as u64
    }

    /// Returns the offset of the unread part in the input.
    pub fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// The line that the unread part starts in, and that of the byte before it.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The line of the last byte consumed.
    pub fn last_line(&self) -> u64 {
        self.last_line
    }

    /// Counts a line.
    pub fn next_line(&mut self) {
        self.line += 1;
    }

    /// The units of the text; bytes until the first line was fetched.
    pub fn units(&self) -> CodeUnits {
        self.units.unwrap_or(CodeUnits::Bytes)
    }

    fn unread(&self) -> &[u8] {
        &self.window[self.start..self.end]
    }

    /// Reads more into the window; sets `exhausted` at the end of the input.
    fn fill_window(&mut self) -> io::Result<()> {
        if self.end == self.window.len() {
            if let Some(kept) = &mut self.kept {
                self.held.extend_from_slice(&self.window[*kept..self.start]);
                *kept = 0;
            }
            self.window.copy_within(self.start..self.end, 0);
            self.base += self.start as u64;
            self.end -= self.start;
            self.start = 0;
        }
        loop {
            match self.reader.read(&mut self.window[self.end..]) {
                Ok(0) => self.exhausted = true,
                // A reader that claims more than there was room for is wrong.
                Ok(read) => self.end = (self.end + read).min(self.window.len()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }

    /// Detects the units by the first bytes; the error is the name of an unsupported encoding.
    fn detect_units(&mut self) -> io::Result<Result<CodeUnits, &'static str>> {
        while self.end < 4 && !self.exhausted {
            self.fill_window()?;
        }
        let units = match self.unread() {
            [0xFF, 0xFE, 0, 0, ..] => return Ok(Err("UTF-32LE")),
            [0, 0, 0xFE, 0xFF, ..] => return Ok(Err("UTF-32BE")),
            start => CodeUnits::detect(start),
        };
        self.units = Some(units);
        Ok(Ok(units))
    }

    /// Skips the whole input, whose lines cannot be counted.
    fn skip_input(&mut self, found: &'static str) -> io::Result<Rejection> {
        while self.end < EXCERPT_BYTES && !self.exhausted {
            self.fill_window()?;
        }
        let text: Vec<u8> = self
            .unread()
            .iter()
            .take(EXCERPT_BYTES)
            .copied()
            .filter(|&byte| byte != 0 && byte < 0xFE)
            .collect();
        while !self.exhausted {
            self.start = self.end;
            self.fill_window()?;
        }
        self.start = self.end;
        self.units = Some(CodeUnits::Bytes);
        Ok(Rejection {
            line: 1,
            last_line: 1,
            offset: 0,
            len: self.offset(),
            reason: RejectReason::Encoding { found },
            excerpt: make_excerpt(CodeUnits::Bytes, &text),
        })
    }

    /// Makes sure that the next line is in the window, or its first
    /// [`MAX_LINE`] bytes. `None` at the end of the input.
    pub fn fetch_line(&mut self) -> io::Result<Option<FetchedLine>> {
        let units = match self.units {
            Some(units) => units,
            None => match self.detect_units()? {
                Ok(units) => units,
                Err(found) => return Ok(Some(FetchedLine::Unread(self.skip_input(found)?))),
            },
        };
        let mut searched = 0;
        loop {
            let unread = self.unread();
            // A longer line is taken in chunks (`next_chunk`).
            let bounded = &unread[..unread.len().min(MAX_LINE)];
            match units.line_end(bounded, searched) {
                Some((text, is_cr)) => {
                    if let Some(whole) = units.whole(unread, text, is_cr, self.exhausted) {
                        return Ok(Some(FetchedLine::Line { text, whole }));
                    }
                    searched = text;
                }
                None if unread.len() >= MAX_LINE => return Ok(Some(FetchedLine::Long)),
                None if self.exhausted => {
                    let text = unread.len();
                    let line = FetchedLine::Line { text, whole: text };
                    return Ok((text > 0).then_some(line));
                }
                // The half unit at the end has to be looked at again.
                None => searched = unread.len() & !(units.width() - 1),
            }
            self.fill_window()?;
        }
    }

    /// Returns the first `len` bytes of the unread part, narrowed to bytes.
    pub fn peek(&mut self, len: usize) -> &[u8] {
        let units = self.units();
        let bytes = &self.window[self.start..self.start + len];
        if units == CodeUnits::Bytes {
            return bytes;
        }
        units.narrow_all(bytes, &mut self.narrow);
        &self.narrow
    }

    /// The next piece of a long line, its first [`MAX_LINE`] bytes being consumed.
    pub fn next_chunk(&mut self) -> io::Result<LineChunk> {
        loop {
            let units = self.units();
            let unread = self.unread();
            let (text, whole) = match units.line_end(unread, 0) {
                Some((text, is_cr)) => {
                    let whole = units.whole(unread, text, is_cr, self.exhausted);
                    (text, whole)
                }
                None if self.exhausted => (unread.len(), Some(unread.len())),
                None => (unread.len() & !(units.width() - 1), None),
            };
            if text > 0 || whole.is_some() {
                let last = match units {
                    CodeUnits::Bytes => last_visible_byte(&unread[..text]),
                    _ => {
                        let all = unread[..text].chunks_exact(2).rev();
                        let mut all = all.map(|unit| units.narrow([unit[0], unit[1]]));
                        all.find(|byte| !is_blank(&[*byte]))
                    }
                };
                return Ok(LineChunk {
                    len: whole.unwrap_or(text),
                    last,
                    ends: whole.is_some(),
                });
            }
            self.fill_window()?;
        }
    }

    /// Consumes the next `len` bytes.
    pub fn consume(&mut self, len: usize) {
        self.start += len;
        self.last_line = self.line;
    }

    /// Skips `len` bytes between records.
    pub fn skip(&mut self, len: usize) {
        self.start += len;
    }

    /// Consumes `len` bytes that belong to `passed`.
    pub fn consume_rejected(&mut self, passed: &mut Option<SkippedRange>, len: usize) {
        let offset = self.offset();
        let text = &self.window[self.start..self.start + len];
        let passed = passed.get_or_insert_with(|| SkippedRange {
            line: self.line,
            last_line: self.line,
            offset,
            end: offset,
            excerpt: Vec::new(),
        });
        let room = EXCERPT_BYTES - passed.excerpt.len();
        passed.excerpt.extend(text.iter().take(room));
        passed.last_line = self.line;
        passed.end = offset + len as u64;
        self.consume(len);
    }

    /// Starts to keep the consumed bytes as a record.
    pub fn start_record(&mut self) {
        self.held.clear();
        self.kept = Some(self.start);
    }

    /// Returns the number of bytes kept.
    pub fn record_len(&self) -> usize {
        self.kept
            .map_or(0, |kept| self.held.len() + self.start - kept)
    }

    /// Returns the bytes kept and ends the record.
    pub fn take_record(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.held);
        if let Some(kept) = self.kept.take() {
            bytes.extend_from_slice(&self.window[kept..self.start]);
        }
        bytes
    }

    /// Ends the record and returns an excerpt of it and of `len` bytes more.
    pub fn discard_record(&mut self, len: usize) -> Vec<u8> {
        let mut excerpt = std::mem::take(&mut self.held);
        excerpt.truncate(EXCERPT_BYTES);
        let room = EXCERPT_BYTES - excerpt.len();
        let kept = &self.window[self.kept.take().unwrap_or(self.start)..self.start + len];
        excerpt.extend(kept.iter().take(room));
        excerpt.shrink_to_fit();
        excerpt
    }

    /// Makes the rejection of `passed`.
    pub fn reject(&self, passed: SkippedRange, reason: RejectReason) -> Rejection {
        Rejection {
            line: passed.line,
            last_line: passed.last_line,
            offset: passed.offset,
            len: passed.end - passed.offset,
            reason,
            excerpt: make_excerpt(self.units(), &passed.excerpt),
        }
    }
}
