//! [`ObjectReader`]: the pieces of a stream of calendar objects.

use std::collections::VecDeque;
use std::io::{self, Read};

use super::head::ComponentHead;
use super::piece::{ComponentKind, ObjectPiece, RawComponent, RawZone, TemplatePart, TemplateText};
use etui_contentline::lines::{Delimiter, parse_delimiter, starts_property};
use etui_contentline::rejection::RejectReason;
use etui_contentline::stream::text::{LineKind, classify_line};
use etui_contentline::stream::{EXCERPT_BYTES, FetchedLine, LineStream, MAX_LINE, SkippedRange};

/// Largest component that is kept, in bytes (attachments included).
pub const MAX_COMPONENT: usize = 32 << 20;

/// Largest frame of a calendar object, in bytes: its properties, and components of other kinds.
pub const MAX_FRAME: usize = 4 << 20;

/// How deep components may nest. Real ones nest twice: an event, an alarm in it, a place in that.
pub(crate) const MAX_DEPTH: usize = 16;

/// What a piece of a frame costs beside its bytes.
const PIECE: usize = 64;

const OBJECT: &[u8] = b"VCALENDAR";

/// Components that stand in a calendar object itself and in no other component (RFC 5545 §3.6).
const TOP: [&[u8]; 5] = [b"VEVENT", b"VTODO", b"VJOURNAL", b"VTIMEZONE", b"VFREEBUSY"];

/// An iterator over the pieces of a stream, in its order. It holds one component and a window of
/// fixed size, whatever the input.
///
/// After an error of the stream it ends. Interrupted reads are repeated.
#[derive(Debug)]
pub struct ObjectReader<R> {
    stream: LineStream<R>,
    max_component: usize,
    at: At,
    /// The frame's text that the stream keeps now.
    text: Option<Text>,
    /// What is passed now, and why.
    passed: Option<SkippedRange>,
    why: RejectReason,
    /// Components of the object so far, and bytes of its frame.
    components: u32,
    frame_bytes: usize,
    ready: VecDeque<ObjectPiece>,
    done: bool,
}

/// Where the next line stands.
#[derive(Debug)]
enum At {
    Outside,
    Object,
    Component(Open),
}

/// The component being read; its bytes are kept by the stream.
#[derive(Debug)]
struct Open {
    line: u64,
    offset: u64,
    /// Its name and those of the components begun in it and not ended, up to [`MAX_DEPTH`]; and
    /// how many more there are.
    names: Vec<Vec<u8>>,
    deeper: u64,
    /// It will be refused, for this reason and with this excerpt.
    refused: Option<(RejectReason, Vec<u8>)>,
}

#[derive(Debug)]
struct Text {
    part: TemplatePart,
    line: u64,
    offset: u64,
}

impl<R: Read> ObjectReader<R> {
    /// Reads what `reader` gives, which need not be buffered.
    pub fn new(reader: R) -> Self {
        Self {
            stream: LineStream::new(reader),
            max_component: MAX_COMPONENT,
            at: At::Outside,
            text: None,
            passed: None,
            why: RejectReason::Outside,
            components: 0,
            frame_bytes: 0,
            ready: VecDeque::new(),
            done: false,
        }
    }

    /// Refuses components of more than `bytes` bytes. The default is [`MAX_COMPONENT`].
    #[must_use]
    pub fn max_component(mut self, bytes: usize) -> Self {
        self.max_component = bytes;
        self
    }

    /// How many bytes have been read so far, for showing progress.
    pub fn bytes_read(&self) -> u64 {
        self.stream.bytes_read()
    }

    /// Goes on by one line. `false` at the end of the input.
    fn advance(&mut self) -> io::Result<bool> {
        match self.stream.fetch_line()? {
            None => {
                self.end_all();
                return Ok(false);
            }
            Some(FetchedLine::Line { text, whole }) => self.line(text, whole),
            Some(FetchedLine::Long) => self.long_line()?,
            Some(FetchedLine::Unread(refusal)) => {
                self.ready.push_back(ObjectPiece::Refused(refusal))
            }
        }
        Ok(true)
    }

    fn line(&mut self, text: usize, whole: usize) {
        let units = self.stream.units();
        let line = self.stream.peek(text);
        match classify_line(units, line, OBJECT) {
            LineKind::Begin { .. } => self.begin_object(whole),
            LineKind::End => self.end_object(whole),
            LineKind::EndBegin { end } => {
                // The line goes on with a BEGIN.
                return self.end_object(end * units.width());
            }
            LineKind::Blank => self.blank(whole),
            LineKind::Text => match parse_delimiter(line) {
                Some((Delimiter::Begin, name)) => {
                    let name = name.to_ascii_uppercase();
                    self.begin(name, whole);
                }
                Some((Delimiter::End, name)) => {
                    let name = name.to_ascii_uppercase();
                    self.end(&name, whole);
                }
                None => {
                    let owner = owner(line);
                    self.other(whole, owner);
                }
            },
        }
        self.stream.next_line();
    }

    /// A line that is too long to be looked at as a whole.
    fn long_line(&mut self) -> io::Result<()> {
        let mut owner = owner(self.stream.peek(MAX_LINE));
        if matches!(self.at, At::Object) && self.text.is_some() {
            // By itself, so that it alone is refused should it be too large.
            self.end_text();
            if owner == Owner::Before {
                owner = Owner::Frame;
            }
        }
        self.other(MAX_LINE, owner);
        loop {
            let chunk = self.stream.next_chunk()?;
            match &self.at {
                At::Component(_) => self.take(chunk.len),
                _ if self.text.is_none() => self.pass(chunk.len, self.why),
                _ if self.frame_has_room(chunk.len) => self.stream.consume(chunk.len),
                _ => {
                    let line = self.text.take();
                    let excerpt = self.stream.discard_record(0);
                    self.passed = line.map(|line| SkippedRange {
                        line: line.line,
                        last_line: line.line,
                        offset: line.offset,
                        end: line.offset,
                        excerpt,
                    });
                    self.why = RejectReason::TooLarge { limit: MAX_FRAME };
                    self.pass(chunk.len, self.why);
                }
            }
            if chunk.ends {
                break;
            }
        }
        self.stream.next_line();
        Ok(())
    }

    fn begin_object(&mut self, whole: usize) {
        match self.at {
            At::Outside => {}
            At::Object => self.unended(),
            At::Component(_) => self.refuse_open(RejectReason::Unterminated),
        }
        self.end_passed();
        let leads = matches!((&self.at, &self.text), (At::Outside, Some(text)) if text.part == TemplatePart::Begin);
        if !leads {
            self.end_text();
            self.begin_text(TemplatePart::Begin);
        }
        self.at = At::Object;
        self.components = 0;
        self.frame_bytes = 0;
        self.stream.consume(whole);
    }

    fn end_object(&mut self, len: usize) {
        if let At::Component(_) = self.at {
            self.refuse_open(RejectReason::Unterminated);
        }
        if let At::Object = self.at {
            self.end_passed();
            self.end_text();
            self.begin_text(TemplatePart::End);
            self.stream.consume(len);
            self.at = At::Outside;
        } else {
            self.stray_end(len);
        }
    }

    fn begin(&mut self, name: Vec<u8>, whole: usize) {
        let is_top = TOP.contains(&name.as_slice());
        match &mut self.at {
            At::Outside => return self.other(whole, Owner::None),
            At::Component(open) if !is_top => {
                if open.names.len() < MAX_DEPTH {
                    open.names.push(name);
                } else {
                    open.deeper += 1;
                    self.refuse(0, RejectReason::TooDeep { limit: MAX_DEPTH });
                }
                return self.take(whole);
            }
            At::Component(_) => self.refuse_open(RejectReason::Unterminated),
            At::Object => {}
        }
        self.end_passed();
        self.end_text();
        self.at = At::Component(Open {
            line: self.stream.line(),
            offset: self.stream.offset(),
            names: vec![name],
            deeper: 0,
            refused: None,
        });
        self.stream.start_record();
        self.take(whole);
    }

    fn end(&mut self, name: &[u8], whole: usize) {
        let open = match &mut self.at {
            At::Outside => return self.other(whole, Owner::None),
            At::Object => return self.stray_end(whole),
            At::Component(open) => open,
        };
        let is_last = open.deeper == 0 && open.names.last().is_some_and(|last| last == name);
        let is_first = open.names.first().is_some_and(|first| first == name);
        if is_last {
            open.names.pop();
        } else {
            open.deeper = open.deeper.saturating_sub(1);
            self.refuse(0, RejectReason::Nesting);
        }
        self.take(whole);
        match &self.at {
            At::Component(open) if open.names.is_empty() => self.end_component(),
            At::Component(_) if is_first && !is_last => self.refuse_open(RejectReason::Nesting),
            _ => {}
        }
    }

    /// The open component is there, whole.
    fn end_component(&mut self) {
        let At::Component(open) = std::mem::replace(&mut self.at, At::Object) else {
            return;
        };
        let passed = |stream: &LineStream<R>, excerpt| SkippedRange {
            line: open.line,
            last_line: stream.line(),
            offset: open.offset,
            end: stream.offset(),
            excerpt,
        };
        if let Some((reason, excerpt)) = open.refused {
            let passed = passed(&self.stream, excerpt);
            return self.refused(passed, reason);
        }
        let bytes = self.stream.take_record();
        let head = ComponentHead::of(&bytes);
        let kind = ComponentKind::named(&head.name);
        let is_zone = head.name.eq_ignore_ascii_case(b"VTIMEZONE");
        let is_other = kind.is_none() && !is_zone;
        let reason = match () {
            () if is_other && !self.frame_has_room(bytes.len()) => {
                Some(RejectReason::TooLarge { limit: MAX_FRAME })
            }
            () if !head.has_property && kind.is_some() => Some(RejectReason::Empty),
            () => None,
        };
        if let Some(reason) = reason {
            let start = bytes.iter().take(EXCERPT_BYTES).copied().collect();
            let passed = passed(&self.stream, start);
            return self.refused(passed, reason);
        }
        let (line, offset) = (open.line, open.offset);
        self.ready.push_back(match kind {
            Some(kind) => {
                let number = self.components;
                self.components += 1;
                ObjectPiece::Component(RawComponent {
                    kind,
                    bytes,
                    uid: head.uid,
                    replaces: head.replaces,
                    number,
                    line,
                    last_line: self.stream.line(),
                    offset,
                })
            }
            None if is_zone => ObjectPiece::Zone(RawZone {
                bytes,
                tzid: head.tzid,
                line,
                offset,
            }),
            None => {
                self.frame_bytes += bytes.len() + PIECE;
                ObjectPiece::Frame(TemplateText {
                    part: TemplatePart::Other,
                    bytes,
                    line,
                    offset,
                })
            }
        });
    }

    fn stray_end(&mut self, len: usize) {
        self.end_passed();
        self.pass(len, RejectReason::StrayEnd);
        self.end_passed();
    }

    fn blank(&mut self, whole: usize) {
        match self.at {
            At::Component(_) => self.take(whole),
            _ if self.passed.is_some() => self.pass(whole, self.why),
            At::Object => self.other(whole, Owner::Frame),
            At::Outside => {
                // Behind an object they are its own, else the next one's, if there is one.
                if !self.frame_has_room(whole) {
                    self.end_outside_text();
                    return self.stream.skip(whole);
                }
                if self.text.is_none() {
                    self.begin_text(TemplatePart::Begin);
                }
                self.stream.consume(whole);
            }
        }
    }

    /// A line that begins and ends nothing.
    fn other(&mut self, len: usize, owner: Owner) {
        let is_text = match owner {
            Owner::Frame => true,
            Owner::Before => self.text.is_some(),
            Owner::None => false,
        };
        match self.at {
            At::Component(_) => self.take(len),
            At::Object if is_text && self.frame_has_room(len) => {
                self.end_passed();
                if self.text.is_none() {
                    self.begin_text(TemplatePart::Middle);
                }
                self.stream.consume(len);
            }
            At::Object if is_text => self.pass(len, RejectReason::TooLarge { limit: MAX_FRAME }),
            At::Object if owner == Owner::Before && self.passed.is_some() => {
                self.pass(len, self.why);
            }
            _ => self.pass(len, RejectReason::Outside),
        }
    }

    fn frame_has_room(&self, len: usize) -> bool {
        self.frame_bytes + self.stream.record_len() + len <= MAX_FRAME
    }

    fn begin_text(&mut self, part: TemplatePart) {
        self.text = Some(Text {
            part,
            line: self.stream.line(),
            offset: self.stream.offset(),
        });
        self.stream.start_record();
    }

    /// The frame's text, if any, ends here.
    fn end_text(&mut self) {
        let Some(text) = self.text.take() else { return };
        let bytes = self.stream.take_record();
        self.frame_bytes += bytes.len() + PIECE;
        self.ready.push_back(ObjectPiece::Frame(TemplateText {
            part: text.part,
            bytes,
            line: text.line,
            offset: text.offset,
        }));
    }

    /// The same between objects, where blank lines before an object that does not come are
    /// nobody's.
    fn end_outside_text(&mut self) {
        match &self.text {
            Some(text) if text.part == TemplatePart::Begin => {
                self.text = None;
                self.stream.discard_record(0);
            }
            _ => self.end_text(),
        }
    }

    /// The next `len` bytes belong to the open component.
    fn take(&mut self, len: usize) {
        if self.stream.record_len() + len > self.max_component {
            let limit = self.max_component;
            self.refuse(len, RejectReason::TooLarge { limit });
        }
        self.stream.consume(len);
    }

    /// From now on the open component is only passed through. `len` bytes of it are still unread.
    fn refuse(&mut self, len: usize, reason: RejectReason) {
        if let At::Component(open) = &mut self.at
            && open.refused.is_none()
        {
            open.refused = Some((reason, self.stream.discard_record(len)));
        }
    }

    /// The open component ends here, refused.
    fn refuse_open(&mut self, reason: RejectReason) {
        self.refuse(0, reason);
        if let At::Component(open) = std::mem::replace(&mut self.at, At::Object)
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

    /// The next `len` bytes are not taken.
    fn pass(&mut self, len: usize, why: RejectReason) {
        if matches!(self.at, At::Outside) {
            self.end_outside_text();
        } else {
            self.end_text();
        }
        if why != self.why {
            self.end_passed();
            self.why = why;
        }
        self.stream.consume_rejected(&mut self.passed, len);
    }

    fn end_passed(&mut self) {
        if let Some(passed) = self.passed.take() {
            self.refused(passed, self.why);
        }
    }

    fn refused(&mut self, passed: SkippedRange, reason: RejectReason) {
        let refusal = self.stream.reject(passed, reason);
        self.ready.push_back(ObjectPiece::Refused(refusal));
    }

    /// The open object has no END.
    fn unended(&mut self) {
        self.end_passed();
        self.end_text();
        let (line, here) = (self.stream.last_line(), self.stream.offset());
        let nothing = SkippedRange {
            line,
            last_line: line,
            offset: here,
            end: here,
            excerpt: Vec::new(),
        };
        self.refused(nothing, RejectReason::Unended);
    }

    fn end_all(&mut self) {
        match self.at {
            At::Outside => {
                self.end_passed();
                self.end_outside_text();
            }
            At::Object => self.unended(),
            At::Component(_) => self.refuse_open(RejectReason::Unterminated),
        }
    }
}

impl<R: Read> Iterator for ObjectReader<R> {
    type Item = io::Result<ObjectPiece>;

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

/// Whose a line is that begins and ends nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The calendar object's: a property.
    Frame,
    /// Of whoever has the line before it.
    Before,
    /// Nobody's.
    None,
}

fn owner(line: &[u8]) -> Owner {
    match line.first() {
        Some(b' ' | b'\t') => Owner::Before,
        _ if starts_property(line) => Owner::Frame,
        _ => Owner::None,
    }
}
