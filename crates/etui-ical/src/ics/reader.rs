//! [`ObjectReader`]: the pieces of a stream of calendar objects.

use std::collections::VecDeque;
use std::io::{self, Read};

use super::head::ComponentHead;
use super::pieces::{
    ComponentKind, ObjectPiece, RawComponent, RawZone, TemplatePart, TemplateText,
};
use etui_contentline::lines::{Delimiter, parse_delimiter, starts_property};
use etui_contentline::rejection::RejectReason;
use etui_contentline::stream::text::{LineKind, classify_line};
use etui_contentline::stream::{EXCERPT_BYTES, FetchedLine, LineStream, MAX_LINE, SkippedRange};

/// Largest accepted component, in bytes, attachments included.
pub const MAX_COMPONENT: usize = 32 << 20;

/// Limit of the text of a calendar object outside of its components, in bytes.
pub const MAX_OBJECT_TEXT: usize = 4 << 20;

/// Deepest nesting of components. Real ones nest twice: an event, an alarm in it, a location in
/// that.
pub(crate) const MAX_DEPTH: usize = 16;

/// Deepest nesting of calendar objects, and the longest beginning of one that is repeated for the components after
/// an inner object: it bounds what many of them cost.
const MAX_OUTER: usize = 16;
const MAX_REPEATED: usize = 4 << 10;

/// Cost of a template segment in addition to its bytes.
const SEGMENT_OVERHEAD: usize = 64;

const OBJECT: &[u8] = b"VCALENDAR";

/// Components directly in a calendar object and in no other component (RFC 5545 section 3.6).
const TOP: [&[u8]; 5] = [b"VEVENT", b"VTODO", b"VJOURNAL", b"VTIMEZONE", b"VFREEBUSY"];

/// An iterator over the pieces of a stream, in order. It holds one component and a window of fixed
/// size, whatever the size of the input.
///
/// It ends after an error of the stream. Interrupted reads are repeated.
#[derive(Debug)]
pub struct ObjectReader<R> {
    stream: LineStream<R>,
    max_component: usize,
    at: ReaderState,
    /// The text of the template that the stream keeps now.
    text: Option<OpenText>,
    /// The input being skipped, and the reason.
    passed: Option<SkippedRange>,
    why: RejectReason,
    /// Components of the current object, and bytes of its template.
    components: u32,
    template_bytes: usize,
    /// The beginning of the current object, and the objects around it, whose ENDs are still to come.
    head: TemplateText,
    outer: Vec<OuterObject>,
    ready: VecDeque<ObjectPiece>,
    done: bool,
}

/// An object within which another one began, and the place of that.
#[derive(Debug)]
struct OuterObject {
    head: TemplateText,
    place: SkippedRange,
}

/// Position of the next line.
#[derive(Debug)]
enum ReaderState {
    Outside,
    Object,
    Component(OpenComponent),
}

/// The component being read; the stream keeps its bytes.
#[derive(Debug)]
struct OpenComponent {
    line: u64,
    offset: u64,
    /// Its name and those of its open nested components, up to [`MAX_DEPTH`], and the number of
    /// deeper ones.
    names: Vec<Vec<u8>>,
    deeper: u64,
    /// Reason and excerpt, if it will be rejected.
    refused: Option<(RejectReason, Vec<u8>)>,
}

#[derive(Debug)]
struct OpenText {
    part: TemplatePart,
    line: u64,
    offset: u64,
}

impl<R: Read> ObjectReader<R> {
    /// Reads from `reader`, which need not be buffered.
    pub fn new(reader: R) -> Self {
        Self {
            stream: LineStream::new(reader),
            max_component: MAX_COMPONENT,
            at: ReaderState::Outside,
            text: None,
            passed: None,
            why: RejectReason::Outside,
            components: 0,
            template_bytes: 0,
            head: TemplateText::beginning(),
            outer: Vec::new(),
            ready: VecDeque::new(),
            done: false,
        }
    }

    /// Rejects components of more than `bytes` bytes. The default is [`MAX_COMPONENT`].
    pub fn max_component(mut self, bytes: usize) -> Self {
        self.max_component = bytes;
        self
    }

    /// Returns the number of bytes read so far, for a progress display.
    pub fn bytes_read(&self) -> u64 {
        self.stream.bytes_read()
    }

    /// Processes one line. Returns false at the end of the input.
    fn read_next_line(&mut self) -> io::Result<bool> {
        match self.stream.fetch_line()? {
            None => {
                self.end_all();
                return Ok(false);
            }
            Some(FetchedLine::Line { text, whole }) => self.handle_line(text, whole),
            Some(FetchedLine::Long) => self.long_line()?,
            Some(FetchedLine::Unread(refusal)) => {
                self.ready.push_back(ObjectPiece::Refused(refusal))
            }
        }
        Ok(true)
    }

    fn handle_line(&mut self, text: usize, whole: usize) {
        let units = self.stream.units();
        let line = self.stream.peek(text);
        match classify_line(units, line, OBJECT) {
            LineKind::Begin { .. } => self.begin_object(whole),
            LineKind::End => self.end_object(whole),
            LineKind::EndBegin { end } => {
                // The line continues with a BEGIN.
                return self.end_object(end * units.width());
            }
            LineKind::Blank => self.blank_line(whole),
            LineKind::Text => match parse_delimiter(line) {
                Some((Delimiter::Begin, name)) => {
                    let name = name.to_ascii_uppercase();
                    self.begin_component(name, whole);
                }
                Some((Delimiter::End, name)) => {
                    let name = name.to_ascii_uppercase();
                    self.end_line(&name, whole);
                }
                None => {
                    let owner = line_owner(line);
                    self.other_line(whole, owner);
                }
            },
        }
        self.stream.next_line();
    }

    /// Processes a line that is longer than the window.
    fn long_line(&mut self) -> io::Result<()> {
        let mut owner = line_owner(self.stream.peek(MAX_LINE));
        if matches!(self.at, ReaderState::Object) && self.text.is_some() {
            // By itself, so that it alone is refused should it be too large.
            self.end_text();
            if owner == LineOwner::Before {
                owner = LineOwner::Object;
            }
        }
        self.other_line(MAX_LINE, owner);
        loop {
            let chunk = self.stream.next_chunk()?;
            match &self.at {
                ReaderState::Component(_) => self.keep_bytes(chunk.len),
                _ if self.text.is_none() => self.skip_bytes(chunk.len, self.why),
                _ if self.template_has_room(chunk.len) => self.stream.consume(chunk.len),
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
                    self.why = RejectReason::TooLarge {
                        limit: MAX_OBJECT_TEXT,
                    };
                    self.skip_bytes(chunk.len, self.why);
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
            ReaderState::Outside => {}
            ReaderState::Object => self.leave_outer(),
            ReaderState::Component(_) => self.refuse_open(RejectReason::Unterminated),
        }
        self.end_passed();
        let leads = matches!((&self.at, &self.text), (ReaderState::Outside, Some(text)) if text.part == TemplatePart::Begin);
        if !leads {
            self.end_text();
            self.begin_text(TemplatePart::Begin);
        }
        self.at = ReaderState::Object;
        self.components = 0;
        self.template_bytes = 0;
        self.stream.consume(whole);
    }

    fn end_object(&mut self, len: usize) {
        if let ReaderState::Component(_) = self.at {
            self.refuse_open(RejectReason::Unterminated);
        }
        if let ReaderState::Object = self.at {
            self.end_passed();
            self.end_text();
            self.begin_text(TemplatePart::End);
            self.stream.consume(len);
            self.at = ReaderState::Outside;
        } else if self.outer.pop().is_some() {
            self.end_passed();
            self.end_outside_text();
            self.begin_text(TemplatePart::End);
            self.stream.consume(len);
        } else {
            self.stray_end(len);
        }
    }

    fn begin_component(&mut self, name: Vec<u8>, whole: usize) {
        let is_top = TOP.contains(&name.as_slice());
        match &mut self.at {
            ReaderState::Outside if self.outer.is_empty() => {
                return self.other_line(whole, LineOwner::None);
            }
            ReaderState::Outside => self.resume_outer(),
            ReaderState::Component(open) if !is_top => {
                if open.names.len() < MAX_DEPTH {
                    open.names.push(name);
                } else {
                    open.deeper += 1;
                    self.mark_refused(0, RejectReason::TooDeep { limit: MAX_DEPTH });
                }
                return self.keep_bytes(whole);
            }
            ReaderState::Component(_) => self.refuse_open(RejectReason::Unterminated),
            ReaderState::Object => {}
        }
        self.end_passed();
        self.end_text();
        self.at = ReaderState::Component(OpenComponent {
            line: self.stream.line(),
            offset: self.stream.offset(),
            names: vec![name],
            deeper: 0,
            refused: None,
        });
        self.stream.start_record();
        self.keep_bytes(whole);
    }

    fn end_line(&mut self, name: &[u8], whole: usize) {
        let open = match &mut self.at {
            ReaderState::Outside => return self.other_line(whole, LineOwner::None),
            ReaderState::Object => return self.stray_end(whole),
            ReaderState::Component(open) => open,
        };
        let is_last = open.deeper == 0 && open.names.last().is_some_and(|last| last == name);
        let is_first = open.names.first().is_some_and(|first| first == name);
        if is_last {
            open.names.pop();
        } else {
            open.deeper = open.deeper.saturating_sub(1);
            self.mark_refused(0, RejectReason::Nesting);
        }
        self.keep_bytes(whole);
        match &self.at {
            ReaderState::Component(open) if open.names.is_empty() => self.end_component(),
            ReaderState::Component(_) if is_first && !is_last => {
                self.refuse_open(RejectReason::Nesting)
            }
            _ => {}
        }
    }

    /// Completes the open component.
    fn end_component(&mut self) {
        let ReaderState::Component(open) = std::mem::replace(&mut self.at, ReaderState::Object)
        else {
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
            return self.push_refusal(passed, reason);
        }
        let bytes = self.stream.take_record();
        let head = ComponentHead::of_bytes(&bytes);
        let kind = ComponentKind::named(&head.name);
        let is_zone = head.name.eq_ignore_ascii_case(b"VTIMEZONE");
        let is_other = kind.is_none() && !is_zone;
        let reason = match () {
            () if is_other && !self.template_has_room(bytes.len()) => {
                Some(RejectReason::TooLarge {
                    limit: MAX_OBJECT_TEXT,
                })
            }
            () if !head.has_property && kind.is_some() => Some(RejectReason::Empty),
            () => None,
        };
        if let Some(reason) = reason {
            let start = bytes.iter().take(EXCERPT_BYTES).copied().collect();
            let passed = passed(&self.stream, start);
            return self.push_refusal(passed, reason);
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
                    recurrence_id: head.recurrence_id,
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
                self.template_bytes += bytes.len() + SEGMENT_OVERHEAD;
                ObjectPiece::Text(TemplateText {
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
        self.skip_bytes(len, RejectReason::StrayEnd);
        self.end_passed();
    }

    fn blank_line(&mut self, whole: usize) {
        match self.at {
            ReaderState::Component(_) => self.keep_bytes(whole),
            _ if self.passed.is_some() => self.skip_bytes(whole, self.why),
            ReaderState::Object => self.other_line(whole, LineOwner::Object),
            ReaderState::Outside => {
                // After an object blank lines belong to it, else to the next object, if there is
                // one.
                if !self.template_has_room(whole) {
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

    /// Processes a line that neither begins nor ends a component.
    fn other_line(&mut self, len: usize, owner: LineOwner) {
        let is_text = match owner {
            LineOwner::Object => true,
            LineOwner::Before => self.text.is_some(),
            LineOwner::None => false,
        };
        match self.at {
            ReaderState::Component(_) => self.keep_bytes(len),
            ReaderState::Object if is_text && self.template_has_room(len) => {
                self.end_passed();
                if self.text.is_none() {
                    self.begin_text(TemplatePart::Middle);
                }
                self.stream.consume(len);
            }
            ReaderState::Object if is_text => self.skip_bytes(
                len,
                RejectReason::TooLarge {
                    limit: MAX_OBJECT_TEXT,
                },
            ),
            ReaderState::Object if owner == LineOwner::Before && self.passed.is_some() => {
                self.skip_bytes(len, self.why);
            }
            _ => self.skip_bytes(len, RejectReason::Outside),
        }
    }

    fn template_has_room(&self, len: usize) -> bool {
        self.template_bytes + self.stream.record_len() + len <= MAX_OBJECT_TEXT
    }

    fn begin_text(&mut self, part: TemplatePart) {
        self.text = Some(OpenText {
            part,
            line: self.stream.line(),
            offset: self.stream.offset(),
        });
        self.stream.start_record();
    }

    /// Ends the current text, if any.
    fn end_text(&mut self) {
        let Some(text) = self.text.take() else { return };
        let bytes = self.stream.take_record();
        self.template_bytes += bytes.len() + SEGMENT_OVERHEAD;
        let text = TemplateText {
            part: text.part,
            bytes,
            line: text.line,
            offset: text.offset,
        };
        if text.part == TemplatePart::Begin {
            self.head = match text.bytes.len() > MAX_REPEATED {
                true => TemplateText {
                    line: text.line,
                    offset: text.offset,
                    ..TemplateText::beginning()
                },
                false => text.clone(),
            };
        }
        self.ready.push_back(ObjectPiece::Text(text));
    }

    /// Notes that another object begins within the open one. If its own END does not come, that is reported at the
    /// end of the input.
    fn leave_outer(&mut self) {
        if self.outer.len() >= MAX_OUTER {
            return self.report_unended();
        }
        self.end_passed();
        self.end_text();
        let place = self.empty_range();
        let head = std::mem::replace(&mut self.head, TemplateText::beginning());
        self.outer.push(OuterObject { head, place });
    }

    /// Continues the object around the one that has ended: as another object with the same beginning.
    fn resume_outer(&mut self) {
        self.end_passed();
        self.end_outside_text();
        if let Some(outer) = self.outer.pop() {
            self.head = outer.head;
        }
        self.components = 0;
        self.template_bytes = self.head.bytes.len() + SEGMENT_OVERHEAD;
        self.ready.push_back(ObjectPiece::Text(self.head.clone()));
        self.at = ReaderState::Object;
    }

    /// Returns the place before the next line.
    fn empty_range(&self) -> SkippedRange {
        let (line, here) = (self.stream.last_line(), self.stream.offset());
        SkippedRange {
            line,
            last_line: line,
            offset: here,
            end: here,
            excerpt: Vec::new(),
        }
    }

    /// As [`Self::end_text`], between objects: blank lines before an object that does not follow
    /// are dropped.
    fn end_outside_text(&mut self) {
        match &self.text {
            Some(text) if text.part == TemplatePart::Begin => {
                self.text = None;
                self.stream.discard_record(0);
            }
            _ => self.end_text(),
        }
    }

    /// Adds the next `len` bytes to the open component.
    fn keep_bytes(&mut self, len: usize) {
        if self.stream.record_len() + len > self.max_component {
            let limit = self.max_component;
            self.mark_refused(len, RejectReason::TooLarge { limit });
        }
        self.stream.consume(len);
    }

    /// Marks the open component as rejected. `len` bytes of it are still unread.
    fn mark_refused(&mut self, len: usize, reason: RejectReason) {
        if let ReaderState::Component(open) = &mut self.at
            && open.refused.is_none()
        {
            open.refused = Some((reason, self.stream.discard_record(len)));
        }
    }

    /// Ends the open component, rejected.
    fn refuse_open(&mut self, reason: RejectReason) {
        self.mark_refused(0, reason);
        if let ReaderState::Component(open) = std::mem::replace(&mut self.at, ReaderState::Object)
            && let Some((reason, excerpt)) = open.refused
        {
            let passed = SkippedRange {
                line: open.line,
                last_line: self.stream.last_line(),
                offset: open.offset,
                end: self.stream.offset(),
                excerpt,
            };
            self.push_refusal(passed, reason);
        }
    }

    /// Skips the next `len` bytes.
    fn skip_bytes(&mut self, len: usize, why: RejectReason) {
        if matches!(self.at, ReaderState::Outside) {
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
            self.push_refusal(passed, self.why);
        }
    }

    fn push_refusal(&mut self, passed: SkippedRange, reason: RejectReason) {
        let refusal = self.stream.reject(passed, reason);
        self.ready.push_back(ObjectPiece::Refused(refusal));
    }

    /// Reports that the open object has no END.
    fn report_unended(&mut self) {
        self.end_passed();
        self.end_text();
        let nothing = self.empty_range();
        self.push_refusal(nothing, RejectReason::Unended);
    }

    fn end_all(&mut self) {
        if matches!(self.at, ReaderState::Outside) {
            self.end_passed();
            self.end_outside_text();
        }
        for outer in std::mem::take(&mut self.outer) {
            self.push_refusal(outer.place, RejectReason::Unended);
        }
        match self.at {
            ReaderState::Outside => {}
            ReaderState::Object => self.report_unended(),
            ReaderState::Component(_) => self.refuse_open(RejectReason::Unterminated),
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
            match self.read_next_line() {
                Ok(more) => self.done = !more,
                Err(error) => {
                    self.done = true;
                    return Some(Err(error));
                }
            }
        }
    }
}

/// The owner of a line that neither begins nor ends a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineOwner {
    /// The calendar object: a property.
    Object,
    /// The owner of the previous line.
    Before,
    /// Nothing.
    None,
}

fn line_owner(line: &[u8]) -> LineOwner {
    match line.first() {
        Some(b' ' | b'\t') => LineOwner::Before,
        _ if starts_property(line) => LineOwner::Object,
        _ => LineOwner::None,
    }
}
