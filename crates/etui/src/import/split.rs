//! Records in foreign bytes: [`Splitter`] finds each vCard (or iCalendar
//! object) in a stream, before any parser sees it, and says what it could not
//! take and why.
//!
//! ```text
//! BEGIN:VCARD        --.
//! FN:Ada Example       |  a record: these bytes, unchanged
//! AGENT:               |
//! BEGIN:VCARD    -.    |
//! FN:Bob Example  |    |  nested, because AGENT stands before it
//! END:VCARD      -'    |
//! END:VCARD          --'
//! some text          ---  refused: belongs to no record
//! BEGIN:VCARD        --.
//! FN:Cleo Example    --'  refused: no END before the next BEGIN
//! BEGIN:VCARD        --.
//! FN:Dan Example       |  a record
//! END:VCARD          --'
//! ```
//!
//! * `BEGIN:name` and `END:name` count when they are a physical line, in any
//!   case, blanks after them (and around the colon, as vCard 2.1 allows) aside.
//!   A line that starts with a space or a tab is folded data, never one of
//!   them. The line after a quoted-printable soft break is one if it looks like
//!   one.
//! * `END:name` directly followed by `BEGIN:name` on one line, which is what
//!   joining two files without a last line end gives, ends one record and
//!   begins the next.
//! * Only `name` is counted: the components within an iCalendar object are
//!   lines like any other.
//! * Lines end with CRLF, LF or a lone CR. Bytes from 0x80 on are not looked
//!   at. A byte order mark before BEGIN belongs to no record. UTF-16 is known
//!   by its byte order mark or by `BE` in 16-bit units at the very start; its
//!   records keep their 16-bit units.
//! * Every byte of the input is in one record, in the range of one refusal, or
//!   in an empty line (or byte order mark) between them.
//!
//! ```
//! use etui::import::split::{Piece, Splitter};
//!
//! let file = b"BEGIN:VCARD\nFN:Cleo\nBEGIN:VCARD\nFN:Dan\nEND:VCARD\n";
//! let pieces: Vec<Piece> = Splitter::new(&file[..], "VCARD").collect::<Result<_, _>>()?;
//! assert!(matches!(&pieces[0], Piece::Refused(why) if why.line == 1 && why.last_line == 2));
//! assert!(matches!(&pieces[1], Piece::Record(card) if card.line == 3));
//! # Ok::<(), std::io::Error>(())
//! ```

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read};
use std::mem;

use self::text::{Kind, NARROW_OTHER, Units, excerpt, kind};
use super::lines::{Follow, HEAD_MAX, Physical, Step};

mod text;

/// A longer physical line is never held together: only its first bytes are
/// looked at.
const LINE_MAX: usize = HEAD_MAX;

/// What is read ahead. A line that is looked at fits several times, so that
/// moving the rest of the window to its front stays cheap.
const WINDOW: usize = 4 * LINE_MAX;

/// What a record may have by default: a card with a large photo, and room.
const MAX_RECORD: usize = 32 << 20;

/// How deep cards may nest. Real ones nest once.
const MAX_DEPTH: usize = 16;

/// How many bytes are kept for an excerpt: 80 characters need no more.
const EXCERPT_BYTES: usize = 320;

/// How a record starts, for a person to recognise it; see [`Refusal::excerpt`].
pub(super) fn record_excerpt(record: &[u8]) -> String {
    excerpt(Units::Bytes, record.get(..EXCERPT_BYTES).unwrap_or(record))
}

/// What the splitter found, in the order of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A whole record.
    Record(RawRecord),
    /// Something that is not a record.
    Refused(Refusal),
}

/// One record, as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawRecord {
    /// From the `B` of BEGIN through the line end after END, where there is
    /// one. UTF-16 stays UTF-16.
    pub bytes: Vec<u8>,
    /// The line of its BEGIN in the input, the first being 1.
    pub line: u64,
    /// Where it starts, in bytes from the start of the input.
    pub offset: u64,
}

/// A part of the input that was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Its first line, the first of the input being 1.
    pub line: u64,
    /// Its last line. The same as the first where the encoding is not read.
    pub last_line: u64,
    /// Where it starts, in bytes from the start of the input.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u64,
    /// Why it was refused.
    pub reason: Reason,
    /// How it starts, for a person to recognise it: at most 80 characters,
    /// control characters escaped, what is not Unicode replaced.
    pub excerpt: String,
}

/// Why a part of the input was refused, and what can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// A BEGIN, but no END before the next BEGIN or the end of the input.
    #[error("the record has no END line; it may be cut off: complete it or export it again")]
    Unterminated,
    /// Lines before, between or after records.
    #[error("this text belongs to no record; remove it, or put BEGIN and END lines around it")]
    Outside,
    /// An END without BEGIN.
    #[error(
        "END without a BEGIN before it; the start of the record may be missing: export it again"
    )]
    StrayEnd,
    /// More bytes than a record may have.
    #[error("the record is larger than {limit} bytes; make its photo smaller or raise the limit")]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// Records within records, too deep.
    #[error("records are nested more than {limit} deep; take the inner ones out")]
    TooDeep {
        /// The limit, the outermost record counted.
        limit: usize,
    },
    /// The input is in an encoding that is not read.
    #[error("the text is in {found}, which is not read; convert it to UTF-8")]
    Encoding {
        /// The encoding.
        found: &'static str,
    },
}

/// The line at the front of the window.
#[derive(Clone, Copy, Debug)]
enum Fetched {
    /// All of it is there: the length of its text, and with the line end.
    Line { text: usize, whole: usize },
    /// It has [`LINE_MAX`] bytes or more.
    Long,
}

/// The record being read.
#[derive(Debug)]
struct Open {
    line: u64,
    offset: u64,
    depth: usize,
    /// Its bytes, those in the window from `kept` on aside.
    bytes: Vec<u8>,
    /// Where in the window the bytes start that have not been taken yet.
    kept: usize,
    /// It will be refused, for this reason and with this excerpt; its bytes
    /// are not kept any longer.
    refused: Option<(Reason, Vec<u8>)>,
}

/// A part of the input that is going to be refused.
#[derive(Debug)]
struct Passed {
    line: u64,
    last_line: u64,
    offset: u64,
    end: u64,
    excerpt: Vec<u8>,
}

/// An iterator over the records of a stream and what is refused of it. It
/// holds one record and a window of fixed size, whatever the input.
///
/// After an error of the reader it ends. Interrupted reads are repeated.
#[derive(Debug)]
pub struct Splitter<R> {
    reader: R,
    name: Vec<u8>,
    max_record: usize,
    /// Input read: `window[start..end]` has not been gone through.
    window: Vec<u8>,
    start: usize,
    end: usize,
    /// Where in the input the window starts.
    base: u64,
    exhausted: bool,
    units: Option<Units>,
    /// The line at `start`, and the one of the last byte taken or passed.
    line: u64,
    last_line: u64,
    open: Option<Open>,
    outside: Option<Passed>,
    follow: Follow,
    /// The line's text in bytes, when it is in UTF-16.
    narrow: Vec<u8>,
    ready: VecDeque<Piece>,
    done: bool,
}

impl<R: Read> Splitter<R> {
    /// Splits what `reader` gives into the components called `name`: `VCARD`
    /// or `VCALENDAR`. The reader need not be buffered.
    pub fn new(reader: R, name: &str) -> Self {
        Self {
            reader,
            name: name.as_bytes().to_vec(),
            max_record: MAX_RECORD,
            window: vec![0; WINDOW],
            start: 0,
            end: 0,
            base: 0,
            exhausted: false,
            units: None,
            line: 1,
            last_line: 1,
            open: None,
            outside: None,
            follow: Follow::default(),
            narrow: Vec::new(),
            ready: VecDeque::new(),
            done: false,
        }
    }

    /// Refuses records of more than `bytes` bytes. The default is 32 MiB.
    #[must_use]
    pub fn max_record(mut self, bytes: usize) -> Self {
        self.max_record = bytes;
        self
    }

    /// How many bytes have been read so far, for showing progress.
    pub fn bytes_read(&self) -> u64 {
        self.base + self.end as u64
    }

    /// Reads more into the window; `exhausted` tells that there is no more.
    fn fill(&mut self) -> io::Result<()> {
        if self.end == self.window.len() {
            if let Some(open) = &mut self.open {
                if open.refused.is_none() {
                    let kept = &self.window[open.kept..self.start];
                    open.bytes.extend_from_slice(kept);
                }
                open.kept = 0;
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

    fn unread(&self) -> &[u8] {
        &self.window[self.start..self.end]
    }

    fn here(&self) -> u64 {
        self.base + self.start as u64
    }

    /// Finds out the units from the first bytes and passes the byte order
    /// mark of UTF-16.
    fn detect(&mut self) -> io::Result<Units> {
        while self.end < 4 && !self.exhausted {
            self.fill()?;
        }
        let (units, bom) = match self.unread() {
            [0xFF, 0xFE, 0, 0, ..] => return self.refuse_all("UTF-32LE"),
            [0, 0, 0xFE, 0xFF, ..] => return self.refuse_all("UTF-32BE"),
            [0xFF, 0xFE, ..] => (Units::Utf16Le, 2),
            [0xFE, 0xFF, ..] => (Units::Utf16Be, 2),
            [b'B' | b'b', 0, b'E' | b'e', 0, ..] => (Units::Utf16Le, 0),
            [0, b'B' | b'b', 0, b'E' | b'e', ..] => (Units::Utf16Be, 0),
            _ => (Units::Bytes, 0),
        };
        self.start += bom;
        self.units = Some(units);
        Ok(units)
    }

    /// Passes the whole input, whose lines cannot be counted.
    fn refuse_all(&mut self, found: &'static str) -> io::Result<Units> {
        while self.end < EXCERPT_BYTES && !self.exhausted {
            self.fill()?;
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
            self.fill()?;
        }
        self.start = self.end;
        self.ready.push_back(Piece::Refused(Refusal {
            line: 1,
            last_line: 1,
            offset: 0,
            len: self.here(),
            reason: Reason::Encoding { found },
            excerpt: excerpt(Units::Bytes, &text),
        }));
        self.units = Some(Units::Bytes);
        Ok(Units::Bytes)
    }

    /// Makes sure that the next line is in the window, or its first
    /// [`LINE_MAX`] bytes. `None` at the end of the input.
    fn fetch(&mut self, units: Units) -> io::Result<Option<Fetched>> {
        let mut searched = 0;
        loop {
            let unread = self.unread();
            let bounded = &unread[..unread.len().min(LINE_MAX)];
            match units.line_end(bounded, searched) {
                Some((text, is_cr)) => {
                    if let Some(whole) = units.whole(unread, text, is_cr, self.exhausted) {
                        return Ok(Some(Fetched::Line { text, whole }));
                    }
                    searched = text;
                }
                None if unread.len() >= LINE_MAX => return Ok(Some(Fetched::Long)),
                None if self.exhausted => {
                    let text = unread.len();
                    let line = Fetched::Line { text, whole: text };
                    return Ok((text > 0).then_some(line));
                }
                // The half unit at the end has to be looked at again.
                None => searched = unread.len() & !(units.width() - 1),
            }
            self.fill()?;
        }
    }

    /// Goes on by one line. `false` at the end of the input.
    fn advance(&mut self) -> io::Result<bool> {
        let units = match self.units {
            Some(units) => units,
            None => self.detect()?,
        };
        match self.fetch(units)? {
            None => {
                self.end_outside(units);
                self.end_open(units);
                return Ok(false);
            }
            Some(Fetched::Line { text, whole }) => self.line(units, text, whole),
            Some(Fetched::Long) => self.long_line(units)?,
        }
        Ok(true)
    }

    /// The first `text` bytes of the window's unread part, as bytes that can
    /// be looked at.
    fn look_at(&mut self, units: Units, text: usize) {
        self.narrow.clear();
        if units != Units::Bytes {
            let bytes = &self.window[self.start..self.start + text];
            let pairs = bytes.chunks_exact(2);
            let half = pairs.remainder().iter().map(|_| NARROW_OTHER);
            let pairs = pairs.map(|pair| units.narrow([pair[0], pair[1]]));
            self.narrow.extend(pairs.chain(half));
        }
    }

    fn line(&mut self, units: Units, text: usize, whole: usize) {
        self.look_at(units, text);
        let line = match units {
            Units::Bytes => &self.window[self.start..self.start + text],
            _ => &self.narrow[..],
        };
        let width = units.width();
        let kind = kind(units, line, &self.name);
        // Only within a record does it matter which lines belong together.
        if self.open.is_some() && matches!(kind, Kind::Text | Kind::Blank) {
            let step = self.follow.step(Physical::whole(line));
            if step == Step::Start && self.follow.is_agent_beginning(line, &self.name) {
                self.follow = Follow::default();
                self.nest();
            }
        }
        match kind {
            Kind::Begin { bom } => self.begin(units, bom * width, whole),
            Kind::End => self.close(units, whole, true),
            Kind::EndBegin { end } => self.close(units, end * width, false),
            Kind::Text | Kind::Blank if self.open.is_some() => {
                self.take(whole);
                self.line += 1;
            }
            Kind::Text => {
                self.pass(whole);
                self.line += 1;
            }
            Kind::Blank => {
                self.start += whole;
                self.line += 1;
            }
        }
    }

    fn begin(&mut self, units: Units, bom: usize, whole: usize) {
        if self.open.is_some() && bom == 0 && self.follow.expects_agent() {
            self.nest();
            self.take(whole);
        } else {
            self.end_outside(units);
            self.end_open(units);
            self.start += bom;
            self.open = Some(Open {
                line: self.line,
                offset: self.here(),
                depth: 1,
                bytes: Vec::new(),
                kept: self.start,
                refused: None,
            });
            self.take(whole - bom);
        }
        self.follow = Follow::default();
        self.line += 1;
    }

    /// A record begins within the open one.
    fn nest(&mut self) {
        let Some(open) = &mut self.open else { return };
        open.depth += 1;
        if open.depth > MAX_DEPTH {
            self.refuse(0, Reason::TooDeep { limit: MAX_DEPTH });
        }
    }

    /// An END of `len` bytes, which ends its line or not.
    fn close(&mut self, units: Units, len: usize, ends_line: bool) {
        self.follow = Follow::default();
        if self.open.is_some() {
            self.take(len);
        } else {
            self.end_outside(units);
            self.pass(len);
        }
        self.line += u64::from(ends_line);
        match &mut self.open {
            None => {
                if let Some(end) = self.outside.take() {
                    self.refused(units, end, Reason::StrayEnd);
                }
            }
            Some(open) if open.depth > 1 => open.depth -= 1,
            Some(open) if open.refused.is_some() => self.end_open(units),
            Some(open) => {
                let mut bytes = mem::take(&mut open.bytes);
                bytes.extend_from_slice(&self.window[open.kept..self.start]);
                let (line, offset) = (open.line, open.offset);
                self.open = None;
                self.ready.push_back(Piece::Record(RawRecord {
                    bytes,
                    line,
                    offset,
                }));
            }
        }
    }

    /// A line of which only the first bytes are looked at: data or noise.
    fn long_line(&mut self, units: Units) -> io::Result<()> {
        self.look_at(units, LINE_MAX);
        let head = match units {
            Units::Bytes => self.unread()[..LINE_MAX].to_vec(),
            _ => mem::take(&mut self.narrow),
        };
        let mut last = head.last().copied();
        self.take_or_pass(LINE_MAX);
        loop {
            let unread = self.unread();
            let (text, whole) = match units.line_end(unread, 0) {
                Some((text, is_cr)) => {
                    let whole = units.whole(unread, text, is_cr, self.exhausted);
                    (text, whole)
                }
                None if self.exhausted => (unread.len(), Some(unread.len())),
                None => (unread.len() & !(units.width() - 1), None),
            };
            if let Some(at) = text.checked_sub(units.width()) {
                last = Some(match units {
                    Units::Bytes => unread[at],
                    _ => units.narrow([unread[at], unread[at + 1]]),
                });
            }
            self.take_or_pass(whole.unwrap_or(text));
            if whole.is_some() {
                break;
            }
            self.fill()?;
        }
        if self.open.is_some() {
            self.follow.step(Physical {
                text: &head,
                last,
                long: true,
            });
        }
        self.line += 1;
        Ok(())
    }

    fn take_or_pass(&mut self, len: usize) {
        if self.open.is_some() {
            self.take(len);
        } else {
            self.pass(len);
        }
    }

    /// The next `len` bytes belong to the open record.
    fn take(&mut self, len: usize) {
        if let Some(open) = &self.open
            && open.refused.is_none()
            && open.bytes.len() + (self.start - open.kept) + len > self.max_record
        {
            let limit = self.max_record;
            self.refuse(len, Reason::TooLarge { limit });
        }
        self.start += len;
        self.last_line = self.line;
    }

    /// The next `len` bytes belong to no record.
    fn pass(&mut self, len: usize) {
        let offset = self.here();
        let text = &self.window[self.start..self.start + len];
        let outside = self.outside.get_or_insert_with(|| Passed {
            line: self.line,
            last_line: self.line,
            offset,
            end: offset,
            excerpt: Vec::new(),
        });
        let room = EXCERPT_BYTES - outside.excerpt.len();
        outside.excerpt.extend(text.iter().take(room));
        outside.last_line = self.line;
        outside.end = offset + len as u64;
        self.start += len;
        self.last_line = self.line;
    }

    /// From now on the open record is only passed through. `len` bytes of it
    /// are still unread.
    fn refuse(&mut self, len: usize, reason: Reason) {
        let Some(open) = &mut self.open else { return };
        if open.refused.is_none() {
            let mut excerpt = mem::take(&mut open.bytes);
            excerpt.truncate(EXCERPT_BYTES);
            let room = EXCERPT_BYTES - excerpt.len();
            let kept = &self.window[open.kept..self.start + len];
            excerpt.extend(kept.iter().take(room));
            excerpt.shrink_to_fit();
            open.refused = Some((reason, excerpt));
        }
    }

    /// The open record, if any, ends here, refused.
    fn end_open(&mut self, units: Units) {
        self.refuse(0, Reason::Unterminated);
        let end = self.here();
        if let Some(open) = self.open.take()
            && let Some((reason, excerpt)) = open.refused
        {
            let passed = Passed {
                line: open.line,
                last_line: self.last_line,
                offset: open.offset,
                end,
                excerpt,
            };
            self.refused(units, passed, reason);
        }
    }

    /// The text outside of records, if any, ends here.
    fn end_outside(&mut self, units: Units) {
        if let Some(outside) = self.outside.take() {
            self.refused(units, outside, Reason::Outside);
        }
    }

    fn refused(&mut self, units: Units, passed: Passed, reason: Reason) {
        self.ready.push_back(Piece::Refused(Refusal {
            line: passed.line,
            last_line: passed.last_line,
            offset: passed.offset,
            len: passed.end - passed.offset,
            reason,
            excerpt: excerpt(units, &passed.excerpt),
        }));
    }
}

impl<R: Read> Iterator for Splitter<R> {
    type Item = io::Result<Piece>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Some(Ok(piece));
            }
            if self.done {
                return None;
            }
            match self.advance() {
                Ok(more) => self.done = !more,
                Err(error) => {
                    self.done = true;
                    return Some(Err(error));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
