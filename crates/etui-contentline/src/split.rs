//! Records in foreign bytes: [`Splitter`] finds each vCard (or iCalendar
//! object) in a stream, before any parser sees it, and reports the rest with
//! reasons.
//!
//! ```text
//! BEGIN:VCARD        --.
//! FN:Ada Example       |  a record: these bytes, unchanged
//! AGENT:               |
//! BEGIN:VCARD    -.    |
//! FN:Bob Example  |    |  nested, because it follows AGENT
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
//! * `END:name` directly followed by `BEGIN:name` on one line ends one record
//!   and begins the next. Concatenated files without a last line end have such
//!   lines.
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
//! use etui_contentline::split::{SplitItem, Splitter};
//!
//! let file = b"BEGIN:VCARD\nFN:Cleo\nBEGIN:VCARD\nFN:Dan\nEND:VCARD\n";
//! let pieces: Vec<SplitItem> = Splitter::new(&file[..], "VCARD").collect::<Result<_, _>>()?;
//! assert!(matches!(&pieces[0], SplitItem::Rejected(why) if why.line == 1 && why.last_line == 2));
//! assert!(matches!(&pieces[1], SplitItem::Record(card) if card.line == 3));
//! # Ok::<(), std::io::Error>(())
//! ```

use std::collections::VecDeque;
use std::io::{self, Read};

use super::lines::{LineJoiner, LineRole, PhysicalLine, last_visible_byte};
use super::stream::text::{LineKind, classify_line};
use super::stream::{FetchedLine, LineStream, MAX_LINE, SkippedRange};

pub use super::rejection::{RejectReason, Rejection};

/// The default limit of a record's size: a card with a large photo, and room.
const MAX_RECORD: usize = 32 << 20;

/// How deep cards may nest. Real ones nest once.
const MAX_DEPTH: usize = 16;

/// A record or a rejected part of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SplitItem {
    /// A whole record.
    Record(RawRecord),
    /// A part of the input that is no record.
    Rejected(Rejection),
}

/// One record, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawRecord {
    /// From the `B` of BEGIN through the line end after END, where there is
    /// one. UTF-16 stays UTF-16.
    pub bytes: Vec<u8>,
    /// The line of its BEGIN in the input, the first being 1.
    pub line: u64,
    /// The line of its END.
    pub last_line: u64,
    /// Where it starts, in bytes from the start of the input.
    pub offset: u64,
}

/// The record being read; its bytes are kept by the stream.
#[derive(Debug)]
struct OpenRecord {
    line: u64,
    offset: u64,
    depth: usize,
    /// The reason to reject it, with an excerpt. Its bytes are no longer kept.
    refused: Option<(RejectReason, Vec<u8>)>,
}

/// An iterator over the records of a stream and the rejected parts between
/// them. It holds one record and a window of fixed size.
///
/// After an error of the reader it ends. Interrupted reads are repeated.
#[derive(Debug)]
pub struct Splitter<R> {
    stream: LineStream<R>,
    name: Vec<u8>,
    max_record: usize,
    open: Option<OpenRecord>,
    outside: Option<SkippedRange>,
    follow: LineJoiner,
    ready: VecDeque<SplitItem>,
    done: bool,
}

impl<R: Read> Splitter<R> {
    /// Splits the bytes of `reader` into components called `name`: `VCARD` or
    /// `VCALENDAR`. The reader need not be buffered.
    pub fn new(reader: R, name: &str) -> Self {
        Self {
            stream: LineStream::new(reader),
            name: name.as_bytes().to_vec(),
            max_record: MAX_RECORD,
            open: None,
            outside: None,
            follow: LineJoiner::default(),
            ready: VecDeque::new(),
            done: false,
        }
    }

    /// Refuses records of more than `bytes` bytes. The default is 32 MiB.
    pub fn max_record(mut self, bytes: usize) -> Self {
        self.max_record = bytes;
        self
    }

    /// How many bytes have been read so far, for showing progress.
    pub fn bytes_read(&self) -> u64 {
        self.stream.bytes_read()
    }

    /// Reads one line. Returns false at the end of the input.
    fn advance(&mut self) -> io::Result<bool> {
        match self.stream.fetch_line()? {
            None => {
                self.end_outside();
                self.end_open();
                return Ok(false);
            }
            Some(FetchedLine::Line { text, whole }) => self.line(text, whole),
            Some(FetchedLine::Long) => self.long_line()?,
            Some(FetchedLine::Unread(refusal)) => {
                self.ready.push_back(SplitItem::Rejected(refusal))
            }
        }
        Ok(true)
    }

    fn line(&mut self, text: usize, whole: usize) {
        let units = self.stream.units();
        let width = units.width();
        let line = self.stream.peek(text);
        let kind = classify_line(units, line, &self.name);
        // Only within a record does it matter which lines belong together.
        if self.open.is_some() && matches!(kind, LineKind::Text | LineKind::Blank) {
            let step = self.follow.accept_line(PhysicalLine::whole(line));
            if step == LineRole::Start && self.follow.is_agent_beginning(line, &self.name) {
                self.follow = LineJoiner::default();
                self.nest();
            }
        }
        match kind {
            LineKind::Begin { bom } => self.begin(bom * width, whole),
            LineKind::End => self.close(whole, true),
            LineKind::EndBegin { end } => self.close(end * width, false),
            LineKind::Text | LineKind::Blank if self.open.is_some() => {
                self.take(whole);
                self.stream.next_line();
            }
            LineKind::Text => {
                self.stream.consume_rejected(&mut self.outside, whole);
                self.stream.next_line();
            }
            LineKind::Blank => {
                self.stream.skip(whole);
                self.stream.next_line();
            }
        }
    }

    fn begin(&mut self, bom: usize, whole: usize) {
        if self.open.is_some() && bom == 0 && self.follow.expects_agent() {
            self.nest();
            self.take(whole);
        } else {
            self.end_outside();
            self.end_open();
            self.stream.skip(bom);
            self.open = Some(OpenRecord {
                line: self.stream.line(),
                offset: self.stream.offset(),
                depth: 1,
                refused: None,
            });
            self.stream.start_record();
            self.take(whole - bom);
        }
        self.follow = LineJoiner::default();
        self.stream.next_line();
    }

    /// Begins a record within the open one.
    fn nest(&mut self) {
        let Some(open) = &mut self.open else { return };
        open.depth += 1;
        if open.depth > MAX_DEPTH {
            self.refuse(0, RejectReason::TooDeep { limit: MAX_DEPTH });
        }
    }

    /// An END of `len` bytes, which ends its line or not.
    fn close(&mut self, len: usize, ends_line: bool) {
        self.follow = LineJoiner::default();
        if self.open.is_some() {
            self.take(len);
        } else {
            self.end_outside();
            self.stream.consume_rejected(&mut self.outside, len);
        }
        if ends_line {
            self.stream.next_line();
        }
        match &mut self.open {
            None => {
                if let Some(end) = self.outside.take() {
                    self.refused(end, RejectReason::StrayEnd);
                }
            }
            Some(open) if open.depth > 1 => open.depth -= 1,
            Some(open) if open.refused.is_some() => self.end_open(),
            Some(open) => {
                let (line, offset) = (open.line, open.offset);
                self.open = None;
                self.ready.push_back(SplitItem::Record(RawRecord {
                    bytes: self.stream.take_record(),
                    line,
                    last_line: self.stream.last_line(),
                    offset,
                }));
            }
        }
    }

    /// Passes over a long line, which is data or noise. Only its first bytes are
    /// examined.
    fn long_line(&mut self) -> io::Result<()> {
        let head = self.stream.peek(MAX_LINE).to_vec();
        let mut last = last_visible_byte(&head);
        self.take_or_pass(MAX_LINE);
        loop {
            let chunk = self.stream.next_chunk()?;
            last = chunk.last.or(last);
            self.take_or_pass(chunk.len);
            if chunk.ends {
                break;
            }
        }
        if self.open.is_some() {
            self.follow.accept_line(PhysicalLine {
                text: &head,
                last,
                long: true,
            });
        }
        self.stream.next_line();
        Ok(())
    }

    fn take_or_pass(&mut self, len: usize) {
        if self.open.is_some() {
            self.take(len);
        } else {
            self.stream.consume_rejected(&mut self.outside, len);
        }
    }

    /// The next `len` bytes belong to the open record.
    fn take(&mut self, len: usize) {
        if self.stream.record_len() + len > self.max_record {
            let limit = self.max_record;
            self.refuse(len, RejectReason::TooLarge { limit });
        }
        self.stream.consume(len);
    }

    /// Marks the open record as rejected; the rest of it is skipped. `len` bytes of
    /// it are still unread.
    fn refuse(&mut self, len: usize, reason: RejectReason) {
        let Some(open) = &mut self.open else { return };
        if open.refused.is_none() {
            open.refused = Some((reason, self.stream.discard_record(len)));
        }
    }

    /// Rejects the open record, if any.
    fn end_open(&mut self) {
        self.refuse(0, RejectReason::Unterminated);
        if let Some(open) = self.open.take()
            && let Some((reason, excerpt)) = open.refused
        {
            let passed = SkippedRange {
                line: open.line,
                last_line: self.stream.last_line(),
                offset: open.offset,
                end: self.stream.offset(),
                excerpt,
            };
            self.refused(passed, reason);
        }
    }

    /// Rejects the text outside of records, if any.
    fn end_outside(&mut self) {
        if let Some(outside) = self.outside.take() {
            self.refused(outside, RejectReason::Outside);
        }
    }

    fn refused(&mut self, passed: SkippedRange, reason: RejectReason) {
        let refusal = self.stream.reject(passed, reason);
        self.ready.push_back(SplitItem::Rejected(refusal));
    }
}

impl<R: Read> Iterator for Splitter<R> {
    type Item = io::Result<SplitItem>;

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
