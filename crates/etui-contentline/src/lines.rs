//! The lines of a record: [`ContentLines`] iterates over the logical lines of one
//! vCard or iCalendar record with their positions in its bytes.
//!
//! ```text
//! item1.TEL;TYPE=CELL:+1 202 555\r\n   physical line
//!  0100\r\n                            folded: one more physical line
//! '---' '-' '-------' '---------...'
//! group name  params   value
//! '------------------ span --------'   every byte, line ends included
//! ```
//!
//! A physical line ends with CRLF, LF or a lone CR. It goes on on the next one
//!
//! * that starts with a space or a tab (RFC 6350 §3.2, RFC 5545 §3.1);
//! * after a soft break, `=` at the end of a line of a quoted-printable
//!   property (vCard 2.1), perhaps with blanks after it (RFC 2045 §6.7 rule 3),
//!   unless the next line is exactly `BEGIN:x` or
//!   `END:x`: a broken encoder must not swallow the neighbour;
//! * in a base64 property, over lines that are not indented (vCard 2.1), up to
//!   an empty line or one that starts with `name:` or `name;`.
//!
//! The splitter follows the same rules without holding the lines of a record
//! (`LineJoiner`).
//!
//! ```
//! use etui_contentline::lines::ContentLines;
//!
//! let record = b"BEGIN:VCARD\r\nFN:Ada\r\n  Example\r\nEND:VCARD\r\n";
//! let name = ContentLines::new(record).find(|line| line.name_is("fn"));
//! let name = name.expect("the card has a name");
//! assert_eq!(name.span, 13..32);
//! assert_eq!(&*name.unfolded_value(), b"Ada Example");
//! ```

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr2};

mod iterator;
mod unfold;

pub use iterator::ContentLines;
pub(crate) use unfold::escaped_byte;

/// The largest size of a property's name and parameters. A longer line counts as text without
/// parameters, which bounds the memory for a stream.
pub(crate) const MAX_HEAD: usize = 64 * 1024;

/// Returns the end of the text of the physical line at `from` and the start of the next line;
/// `None` at the end of `bytes`.
pub fn physical_line(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    let rest = bytes.get(from..).filter(|rest| !rest.is_empty())?;
    let Some(at) = memchr2(b'\n', b'\r', rest) else {
        return Some((bytes.len(), bytes.len()));
    };
    let is_crlf = rest[at] == b'\r' && rest.get(at + 1) == Some(&b'\n');
    Some((from + at, from + at + 1 + usize::from(is_crlf)))
}

/// Returns true if `text` is only spaces and tabs.
pub fn is_blank(text: &[u8]) -> bool {
    text.iter().all(|byte| matches!(byte, b' ' | b'\t'))
}

/// Trims spaces and tabs.
pub fn trim_blanks(text: &[u8]) -> &[u8] {
    let text = trim_blanks_start(text);
    let end = text
        .iter()
        .rposition(|byte| !matches!(byte, b' ' | b'\t'))
        .map_or(0, |at| at + 1);
    &text[..end]
}

/// Returns the last byte of `text` that is no space or tab.
pub(crate) fn last_visible_byte(text: &[u8]) -> Option<u8> {
    match text.last() {
        Some(b' ' | b'\t') => trim_blanks(text).last().copied(),
        last => last.copied(),
    }
}

fn trim_blanks_start(text: &[u8]) -> &[u8] {
    let start = text
        .iter()
        .position(|byte| !matches!(byte, b' ' | b'\t'))
        .unwrap_or(text.len());
    &text[start..]
}

/// The two kinds of lines around a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delimiter {
    /// `BEGIN:name`
    Begin,
    /// `END:name`
    End,
}

/// Parses the start of a delimiter line, `BEGIN:` or `END:`, and returns the rest of the line.
/// vCard 2.1 allows blanks around the colon, RFC 2426 §4 a group before the name.
pub(crate) fn parse_delimiter_start(text: &[u8]) -> Option<(Delimiter, &[u8])> {
    let text = strip_group(text);
    let (edge, rest) = match text.first()? {
        b'B' | b'b' => (Delimiter::Begin, strip_ignore_case(text, b"BEGIN")?),
        b'E' | b'e' => (Delimiter::End, strip_ignore_case(text, b"END")?),
        _ => return None,
    };
    let rest = trim_blanks_start(rest).strip_prefix(b":")?;
    Some((edge, trim_blanks_start(rest)))
}

/// Strips a group and its dot from the start of `text`.
pub(crate) fn strip_group(text: &[u8]) -> &[u8] {
    match text.iter().position(|&byte| !is_name_byte(byte)) {
        Some(at) if at > 0 && text[at] == b'.' => &text[at + 1..],
        _ => text,
    }
}

pub(crate) fn strip_ignore_case<'a>(text: &'a [u8], prefix: &[u8]) -> Option<&'a [u8]> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// Parses a line that is exactly `BEGIN:name` or `END:name`, blanks at its end aside.
pub fn parse_delimiter(text: &[u8]) -> Option<(Delimiter, &[u8])> {
    let (edge, rest) = parse_delimiter_start(text)?;
    let name = trim_blanks(rest);
    (!name.is_empty() && name.iter().all(|&byte| is_name_byte(byte))).then_some((edge, name))
}

/// Returns the lines between the first line of `text`, `BEGIN:name`, and the last one, `END:name`.
/// `None` if one of them is missing.
pub fn component_body<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let is = |line: &str, wanted: Delimiter| {
        parse_delimiter(line.as_bytes()).is_some_and(|(edge, found)| {
            edge == wanted && found.eq_ignore_ascii_case(name.as_bytes())
        })
    };
    let (first, rest) = text.split_at(text.find(['\r', '\n'])?);
    let last_at = text.trim_end().rfind(['\r', '\n'])? + 1;
    let body = rest.get(..last_at.checked_sub(first.len())?)?;
    let last = text.get(last_at..)?.trim_end();
    (is(first, Delimiter::Begin) && is(last, Delimiter::End))
        .then(|| body.trim_start_matches(['\r', '\n']))
}

fn is_name_byte(byte: u8) -> bool {
    const NAME: [bool; 256] = {
        let mut name = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            name[byte] = (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'-' | b'_');
            byte += 1;
        }
        name
    };
    NAME[usize::from(byte)]
}

/// Returns true if the line starts with `name:` or `name;`, which base64 data cannot.
fn is_named(text: &[u8]) -> bool {
    let name = text
        .iter()
        .position(|&byte| !is_name_byte(byte) && byte != b'.')
        .unwrap_or(text.len());
    name > 0 && matches!(text.get(name), Some(b':' | b';'))
}

/// Returns true if the line starts as a property does: with a name, and then `:` or `;`, or nothing
/// when the fold is in the name.
pub fn starts_property(text: &[u8]) -> bool {
    let name = text
        .iter()
        .position(|&byte| !is_name_byte(byte) && byte != b'.');
    match name {
        Some(at) => at > 0 && matches!(text[at], b':' | b';'),
        None => !text.is_empty(),
    }
}

/// Splits `group.name`.
fn split_group(name: &[u8]) -> (Option<&[u8]>, &[u8]) {
    match memchr(b'.', name) {
        Some(at) => (Some(&name[..at]), &name[at + 1..]),
        None => (None, name),
    }
}

/// Finds the first colon of `text` outside quotes. `quoted` is the state at its start, and then at
/// its end.
fn find_colon(text: &[u8], quoted: &mut bool) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = memchr2(b':', b'"', &text[from..]) {
        let at = from + at;
        if text[at] == b'"' {
            *quoted = !*quoted;
        } else if !*quoted {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

/// One parameter: `name=value`, or the bare word of vCard 2.1.
#[derive(Clone, Copy, Debug)]
pub struct Parameter<'a> {
    /// The whole parameter.
    pub text: &'a [u8],
    /// The text before the `=`, or the bare word.
    pub name: &'a [u8],
    /// The text after the `=`, without the quotes around it.
    pub value: Option<&'a [u8]>,
}

impl Parameter<'_> {
    /// Returns true if it declares the value to be in `encoding`.
    pub(crate) fn is_encoding(&self, encoding: &str) -> bool {
        match self.value {
            Some(value) => {
                self.name.eq_ignore_ascii_case(b"ENCODING")
                    && value.eq_ignore_ascii_case(encoding.as_bytes())
            }
            None => self.name.eq_ignore_ascii_case(encoding.as_bytes()),
        }
    }
}

/// Splits unfolded parameters at the semicolons outside quotes.
pub fn parse_params(text: &[u8]) -> impl Iterator<Item = Parameter<'_>> {
    let mut rest = Some(text).filter(|text| !text.is_empty());
    std::iter::from_fn(move || {
        let text = rest?;
        let end = param_end(text);
        let equals = text[..end].iter().position(|byte| *byte == b'=');
        rest = text.get(end + 1..);
        let text = &text[..end];
        let (name, value) = match equals {
            Some(at) => (&text[..at], Some(unquote(trim_blanks(&text[at + 1..])))),
            None => (text, None),
        };
        Some(Parameter {
            text,
            name: trim_blanks(name),
            value,
        })
    })
}

/// Returns the end of the first parameter of `text`.
pub fn param_end(text: &[u8]) -> usize {
    match memchr2(b';', b'"', text) {
        Some(at) if text[at] == b';' => return at,
        Some(_) => {}
        None => return text.len(),
    }
    let mut quoted = false;
    let end = text.iter().position(|byte| {
        quoted ^= *byte == b'"';
        *byte == b';' && !quoted
    });
    end.unwrap_or(text.len())
}

fn unquote(value: &[u8]) -> &[u8] {
    value
        .strip_prefix(b"\"")
        .and_then(|value| value.strip_suffix(b"\""))
        .unwrap_or(value)
}

/// Properties of a line that decide how its physical lines are joined and decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PropertyTraits {
    /// The value is quoted-printable.
    pub(crate) quoted_printable: bool,
    /// The value is base64.
    pub(crate) base64: bool,
    /// A character set is declared.
    pub(crate) charset: bool,
    /// It is the `AGENT` of vCard 2.1, whose value may be a whole card.
    pub(crate) agent: bool,
}

impl PropertyTraits {
    /// Parses the text before a colon, whose name ends at `name_end`.
    fn of(head: &[u8], name_end: usize) -> Self {
        let name = &head[..name_end];
        let mut traits = Self {
            agent: matches!(name, [.., b'N' | b'n', b'T' | b't'] | [.., b' ' | b'\t'])
                && split_group(trim_blanks(name))
                    .1
                    .eq_ignore_ascii_case(b"AGENT"),
            ..Self::default()
        };
        if name_end == head.len() {
            return traits;
        }
        for param in parse_params(&head[name_end + 1..]) {
            match param.name.first() {
                Some(b'B' | b'b' | b'E' | b'e' | b'Q' | b'q') => {
                    traits.quoted_printable |= param.is_encoding("QUOTED-PRINTABLE");
                    traits.base64 |= param.is_encoding("BASE64")
                        || (param.value.is_some() && param.is_encoding("B"));
                }
                Some(b'C' | b'c') => {
                    traits.charset |= param.name.eq_ignore_ascii_case(b"CHARSET");
                }
                _ => {}
            }
        }
        traits
    }
}

/// Offsets of the parts of a property's first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LineOffsets {
    colon: usize,
    /// Where the name ends: at the first semicolon, or at the colon.
    name_end: usize,
    /// The first dot of the name, which ends a group.
    dot: Option<usize>,
}

impl LineOffsets {
    /// Finds the offsets in `text`; `quoted` is then true if it ends within quotes.
    fn of(text: &[u8], quoted: &mut bool) -> Option<Self> {
        let is_stop = |byte: &u8| matches!(byte, b':' | b';' | b'"' | b'.');
        let mut at = text.iter().position(is_stop)?;
        let mut dot = None;
        if text[at] == b'.' {
            dot = Some(at);
            let behind = &text[at + 1..];
            // No name has quotes.
            let end = memchr2(b':', b';', behind).filter(|end| !behind[..*end].contains(&b'"'));
            at = end.map_or(text.len(), |end| at + 1 + end);
        }
        let colon = match text.get(at) {
            Some(b':') => at,
            Some(b';') => at + 1 + find_colon(&text[at + 1..], quoted)?,
            _ => return find_colon(text, quoted).map(|colon| Self::before(text, colon)),
        };
        Some(Self {
            colon,
            name_end: at,
            dot,
        })
    }

    /// Returns the offsets in `text` with this colon.
    fn before(text: &[u8], colon: usize) -> Self {
        let name_end = memchr(b';', &text[..colon]).unwrap_or(colon);
        Self {
            colon,
            name_end,
            dot: memchr(b'.', &text[..name_end]),
        }
    }
}

/// A physical line without its line end, or the start of a long one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PhysicalLine<'a> {
    /// The text, or at least its first [`MAX_HEAD`] bytes.
    pub(crate) text: &'a [u8],
    /// The last byte of the whole text that is no blank.
    pub(crate) last: Option<u8>,
    /// Whether `text` reaches [`MAX_HEAD`].
    pub(crate) long: bool,
}

impl<'a> PhysicalLine<'a> {
    /// Wraps the whole text of a line.
    pub(crate) fn whole(text: &'a [u8]) -> Self {
        Self {
            text,
            last: last_visible_byte(text),
            long: text.len() >= MAX_HEAD,
        }
    }
}

/// The relation of a physical line to the lines before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineRole {
    /// The first line of a property.
    Start,
    /// It continues the line before.
    More,
    /// An empty line.
    Empty,
}

/// Decides which physical lines of a record form a logical line. It holds no more than
/// [`MAX_HEAD`] bytes.
#[derive(Debug, Default)]
pub(crate) struct LineJoiner {
    /// Whether there is a line to continue.
    begun: bool,
    /// The name and parameters so far, while their colon has not been seen.
    head: Option<Vec<u8>>,
    /// Whether `head` ends within quotes.
    quoted: bool,
    /// The parts of the property's first physical line, if the colon is in it.
    marks: Option<LineOffsets>,
    traits: PropertyTraits,
    /// The line before ended with a soft break.
    soft: bool,
    /// The last property is an `AGENT` that has had no value yet.
    agent_open: bool,
}

impl LineJoiner {
    /// Returns the role of the next physical line.
    pub(crate) fn accept_line(&mut self, line: PhysicalLine<'_>) -> LineRole {
        let PhysicalLine { text, .. } = line;
        if self.soft && parse_delimiter(text).is_none() {
            self.agent_open &= is_blank(text);
            return self.continue_value(line);
        }
        self.soft = false;
        match text.first() {
            None => {
                let closes_base64 = self.traits.base64 && self.head.is_none();
                let agent_open = self.agent_open;
                *self = Self {
                    begun: true,
                    agent_open,
                    ..Self::default()
                };
                if closes_base64 {
                    LineRole::More
                } else {
                    LineRole::Empty
                }
            }
            Some(b' ' | b'\t') if self.begun => {
                if let Some(head) = self.head.take() {
                    self.continue_head(head, line);
                } else {
                    self.agent_open &= is_blank(text);
                }
                self.continue_value(line)
            }
            Some(_)
                if self.traits.base64
                    && self.head.is_none()
                    && !is_named(text)
                    && parse_delimiter(text).is_none() =>
            {
                LineRole::More
            }
            Some(_) => {
                self.start_property(line);
                LineRole::Start
            }
        }
    }

    fn continue_value(&mut self, line: PhysicalLine<'_>) -> LineRole {
        self.soft = self.traits.quoted_printable && line.last == Some(b'=');
        LineRole::More
    }

    fn start_property(&mut self, line: PhysicalLine<'_>) {
        let text = &line.text[..line.text.len().min(MAX_HEAD)];
        self.begun = true;
        self.head = None;
        self.quoted = false;
        self.marks = LineOffsets::of(text, &mut self.quoted);
        match self.marks {
            Some(LineOffsets {
                colon, name_end, ..
            }) => self.finish_head(&text[..colon], name_end, &text[colon + 1..], line),
            None => {
                self.traits = PropertyTraits::default();
                self.agent_open = false;
                self.head = (!line.long).then(|| text.to_vec());
            }
        }
    }

    fn continue_head(&mut self, mut head: Vec<u8>, line: PhysicalLine<'_>) {
        let text = line.text.get(1..).unwrap_or_default();
        let text = &text[..text.len().min(MAX_HEAD - head.len())];
        match find_colon(text, &mut self.quoted) {
            Some(at) => {
                head.extend_from_slice(&text[..at]);
                let name_end = memchr(b';', &head).unwrap_or(head.len());
                self.finish_head(&head, name_end, &text[at + 1..], line);
            }
            None => {
                head.extend_from_slice(text);
                self.head = (head.len() < MAX_HEAD).then_some(head);
            }
        }
    }

    fn finish_head(&mut self, head: &[u8], name_end: usize, value: &[u8], line: PhysicalLine<'_>) {
        self.traits = PropertyTraits::of(head, name_end);
        self.agent_open = self.traits.agent && !line.long && is_blank(value);
        self.soft = self.traits.quoted_printable && line.last == Some(b'=');
    }

    /// Returns true if the last line that was not blank is an `AGENT` without value: a card that
    /// begins now is its value.
    pub(crate) fn expects_agent(&self) -> bool {
        self.agent_open
    }

    /// Returns true if the last line is `AGENT:BEGIN:name`.
    pub(crate) fn is_agent_beginning(&self, text: &[u8], name: &[u8]) -> bool {
        self.traits.agent
            && self
                .marks
                .and_then(|marks| text.get(marks.colon + 1..))
                .is_some_and(|value| is_begin_of(trim_blanks(value), name))
    }
}

/// Returns true if `text` is exactly `BEGIN:name`.
pub(crate) fn is_begin_of(text: &[u8], name: &[u8]) -> bool {
    parse_delimiter(text)
        .is_some_and(|(edge, found)| edge == Delimiter::Begin && found.eq_ignore_ascii_case(name))
}

/// One logical line of a record. Ranges are byte positions in the record.
#[derive(Clone, Debug)]
pub struct ContentLine<'a> {
    /// Every byte of the line: all its physical lines with their line ends.
    pub span: Range<usize>,
    /// The group before the name (`item1` in `item1.TEL`), as written.
    pub group: Option<&'a [u8]>,
    /// The name, as written. Empty if the line has no colon, as an empty line.
    pub name: &'a [u8],
    /// The parameters, between the `;` after the name and the colon.
    pub params: Range<usize>,
    /// The value, after the colon and without the last line end. The whole
    /// text if the line has no colon.
    pub value: Range<usize>,
    record: &'a [u8],
    /// The record as text, if it is known to be text.
    text: Option<&'a str>,
    /// The end of the name.
    label_end: usize,
    /// True if it is more than one physical line.
    is_folded: bool,
    pub(crate) traits: PropertyTraits,
}

impl<'a> ContentLine<'a> {
    /// Returns true if the property's name is `name`, in any case.
    pub fn name_is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
            // With a fold in it, it is longer.
            || (self.is_folded
                && self.name.len() > name.len()
                && self.unfolded_name().eq_ignore_ascii_case(name.as_bytes()))
    }

    /// Returns the name without folds.
    pub fn unfolded_name(&self) -> Cow<'a, [u8]> {
        self.unfold_part(self.name, false)
    }

    /// Returns true if the value is quoted-printable (vCard 2.1).
    pub fn is_quoted_printable(&self) -> bool {
        self.traits.quoted_printable
    }

    /// Returns true if the value is base64.
    pub fn is_base64(&self) -> bool {
        self.traits.base64
    }

    /// Returns the line as it is in the record, line ends included.
    pub fn raw(&self) -> &'a [u8] {
        self.slice(self.span.clone())
    }

    /// Returns its first physical line without the line end.
    pub(crate) fn first_physical_line(&self) -> &'a [u8] {
        let raw = self.raw();
        let end = physical_line(raw, 0).map_or(0, |(end, _)| end);
        &raw[..end]
    }

    /// Returns delimiter and name, if its first physical line is exactly `BEGIN:name` or `END:name`.
    pub fn delimiter(&self) -> Option<(Delimiter, &'a [u8])> {
        let may_be = matches!(self.name.first(), Some(b'B' | b'b' | b'E' | b'e'));
        may_be.then(|| parse_delimiter(self.first_physical_line()))?
    }

    /// Returns the line without folds, soft breaks and the last line end. The value stays in its
    /// encoding.
    pub fn unfolded(&self) -> Cow<'a, [u8]> {
        let head = self.unfold_part(self.slice(self.span.start..self.value.start), false);
        let value = self.unfolded_value();
        match (head, value) {
            (Cow::Borrowed(_), Cow::Borrowed(_)) => {
                Cow::Borrowed(self.slice(self.span.start..self.value.end))
            }
            (head, value) => Cow::Owned([&*head, &*value].concat()),
        }
    }

    /// Returns the value without folds and soft breaks, in its encoding.
    pub fn unfolded_value(&self) -> Cow<'a, [u8]> {
        let value = self.slice(self.value.clone());
        self.unfold_part(value, self.traits.quoted_printable)
    }

    /// Returns the value without soft breaks and line ends, in its encoding. The blank of a fold is
    /// part of the text, as in RFC 822 §3.1.1 and vCard 2.1.
    pub(crate) fn unfolded_value_with_blanks(&self) -> Cow<'a, [u8]> {
        let value = self.slice(self.value.clone());
        match self.is_folded {
            true => {
                let head_len = self.value.start - self.span.start;
                unfold::unfold_v21(value, head_len, self.traits.quoted_printable)
            }
            false => Cow::Borrowed(value),
        }
    }

    /// Returns the parameters without folds.
    pub fn unfolded_params(&self) -> Cow<'a, [u8]> {
        self.unfold_part(self.raw_params(), false)
    }

    /// Returns group, dot and name without folds.
    pub(crate) fn unfolded_label(&self) -> Cow<'a, [u8]> {
        self.unfold_part(self.slice(self.span.start..self.label_end), false)
    }

    /// Unfolds a part of the line.
    fn unfold_part(&self, part: &'a [u8], quoted_printable: bool) -> Cow<'a, [u8]> {
        match self.is_folded {
            true => unfold::unfold(part, quoted_printable, false),
            false => Cow::Borrowed(part),
        }
    }

    /// Returns the parameters as they are in the record, folds included.
    pub fn raw_params(&self) -> &'a [u8] {
        self.slice(self.params.clone())
    }

    /// Returns the value as text, if the line is unfolded and its record is text
    /// ([`ContentLines::of_text`]).
    pub(crate) fn value_text(&self) -> Option<&'a str> {
        self.text_of(self.value.clone())
    }

    /// Returns the parameters as text under the same conditions.
    pub(crate) fn params_text(&self) -> Option<&'a str> {
        self.text_of(self.params.clone())
    }

    fn text_of(&self, part: Range<usize>) -> Option<&'a str> {
        match self.is_folded {
            true => None,
            false => self.text?.get(part),
        }
    }

    fn slice(&self, range: Range<usize>) -> &'a [u8] {
        self.record.get(range).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
