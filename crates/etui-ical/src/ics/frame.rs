//! [`ObjectTemplate`]: what of a calendar object is in none of its records, with holes where they stood.
//!
//! ```text
//! frame   := version:u8 segment*
//! segment := part:u8 length:varint bytes    0..3: a text that begins, stands in the middle, is
//!                                           a component of another kind, ends
//!          | 4 hash:16 bytes                a VTIMEZONE, by its ZoneKey
//!          | 5 count:varint                 so many components of records, one after another
//! ```
//!
//! A frame is shared by its content: objects written by one program with the same zones and as
//! many components have the same one.

use super::piece::{TemplatePart, TemplateText};
use etui_contentline::charset::detect_utf16;

const VERSION: u8 = 1;
const ZONE: u8 = 4;
const COMPONENTS: u8 = 5;

/// The frame of one calendar object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectTemplate {
    bytes: Vec<u8>,
    components: u32,
}

/// The caller's key of a `VTIMEZONE`, such as a digest of its bytes. Templates name zones by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ZoneKey(pub [u8; 16]);

/// A part of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateSegment<'f> {
    /// Bytes as they came.
    Text(TemplatePart, &'f [u8]),
    /// Here stands the `VTIMEZONE` with these bytes.
    Zone(ZoneKey),
    /// Here stand so many components, each the next in number.
    Components(u32),
}

impl ObjectTemplate {
    /// The frame of records that came in no object.
    #[must_use]
    pub fn plain() -> Self {
        let mut builder = TemplateBuilder::new();
        builder.push(
            TemplatePart::Begin,
            b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//etui//etui//EN\r\n",
        );
        builder.push(TemplatePart::End, b"END:VCALENDAR\r\n");
        builder.finish()
    }

    /// The same with more zones before its components, such as those of new records; see
    /// [`Definition::to_text`](crate::zones::TimeZoneDefinition::to_text).
    #[must_use]
    pub fn with_zones(&self, zones: impl IntoIterator<Item = ZoneKey>) -> Self {
        let mut rest = self.bytes.get(1..).unwrap_or_default();
        let all = rest;
        if !matches!(
            take_segment(&mut rest),
            Some(TemplateSegment::Text(TemplatePart::Begin, _))
        ) {
            rest = all;
        }
        let (begin, rest) = self.bytes.split_at(self.bytes.len() - rest.len());
        let mut bytes = begin.to_vec();
        for zone in zones {
            bytes.push(ZONE);
            bytes.extend_from_slice(&zone.0);
        }
        bytes.extend_from_slice(rest);
        Self {
            bytes,
            components: self.components,
        }
    }

    /// The frame that [`ObjectTemplate::as_bytes`] gave these bytes of; `None` if none did.
    #[must_use]
    pub fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let (&version, mut rest) = bytes.split_first()?;
        let mut components = 0u32;
        while !rest.is_empty() {
            if let TemplateSegment::Components(count) = take_segment(&mut rest)? {
                components = components.checked_add(count)?;
            }
        }
        (version == VERSION).then_some(Self { bytes, components })
    }

    /// The form in which it is stored.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many components of records the object had.
    #[must_use]
    pub fn components(&self) -> u32 {
        self.components
    }

    /// Its parts, in order.
    pub fn segments(&self) -> impl Iterator<Item = TemplateSegment<'_>> {
        let mut rest = self.bytes.get(1..).unwrap_or_default();
        std::iter::from_fn(move || take_segment(&mut rest))
    }

    /// The zones it has, in order.
    pub fn zones(&self) -> impl Iterator<Item = ZoneKey> {
        self.segments().filter_map(|segment| match segment {
            TemplateSegment::Zone(zone) => Some(zone),
            _ => None,
        })
    }

    /// The text it begins with.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        match self.segments().next() {
            Some(TemplateSegment::Text(TemplatePart::Begin, text)) => text,
            _ => b"",
        }
    }
}

fn take_segment<'f>(bytes: &mut &'f [u8]) -> Option<TemplateSegment<'f>> {
    let (&tag, rest) = bytes.split_first()?;
    *bytes = rest;
    let part = match tag {
        0 => TemplatePart::Begin,
        1 => TemplatePart::Middle,
        2 => TemplatePart::Other,
        3 => TemplatePart::End,
        ZONE => {
            let (hash, rest) = bytes.split_first_chunk()?;
            *bytes = rest;
            return Some(TemplateSegment::Zone(ZoneKey(*hash)));
        }
        COMPONENTS => {
            let count = take_varint(bytes)?;
            return u32::try_from(count).ok().map(TemplateSegment::Components);
        }
        _ => return None,
    };
    let length = usize::try_from(take_varint(bytes)?).ok()?;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(TemplateSegment::Text(part, text))
}

/// Appends `n`, seven bits a byte, low bits first (LEB128).
fn push_varint(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push((n & 0x7f) as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Takes a number from the front of `bytes`; `None` if they end too early or it is too large.
fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut n = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        n |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(n);
        }
    }
    None
}

/// Puts a frame together from the pieces of one object, in their order.
#[derive(Debug, Default)]
pub struct TemplateBuilder {
    bytes: Vec<u8>,
    /// Components since the last other piece, and before that.
    run: u32,
    before: u32,
    /// What the object began with, to end it likewise.
    head: Vec<u8>,
    ended: bool,
    /// A zone came behind a component.
    late_zone: bool,
}

impl TemplateBuilder {
    /// Of an object that begins.
    #[must_use]
    pub fn new() -> Self {
        Self {
            bytes: vec![VERSION],
            ..Self::default()
        }
    }

    /// A text comes.
    pub fn text(&mut self, text: &TemplateText) {
        self.push(text.part, &text.bytes);
    }

    /// A zone comes.
    pub fn zone(&mut self, zone: ZoneKey) {
        self.late_zone |= self.components() > 0;
        self.end_run();
        self.bytes.push(ZONE);
        self.bytes.extend_from_slice(&zone.0);
    }

    /// A component of a record comes; so many came before it.
    pub fn component(&mut self) {
        self.run += 1;
    }

    /// How many components came so far.
    #[must_use]
    pub fn components(&self) -> u32 {
        self.before + self.run
    }

    /// Whether a `VTIMEZONE` came behind a component, whose times may be in it.
    #[must_use]
    pub fn has_late_zone(&self) -> bool {
        self.late_zone
    }

    pub(super) fn push(&mut self, part: TemplatePart, text: &[u8]) {
        self.end_run();
        if part == TemplatePart::Begin {
            self.head = text.iter().take(64).copied().collect();
        }
        self.ended |= part == TemplatePart::End;
        self.bytes.push(match part {
            TemplatePart::Begin => 0,
            TemplatePart::Middle => 1,
            TemplatePart::Other => 2,
            TemplatePart::End => 3,
        });
        push_varint(&mut self.bytes, text.len() as u64);
        self.bytes.extend_from_slice(text);
    }

    pub(super) fn components_run(&mut self, count: u32) {
        self.run += count;
    }

    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        if run > 0 {
            self.before += run;
            self.bytes.push(COMPONENTS);
            push_varint(&mut self.bytes, run.into());
        }
    }

    /// The frame. An object that was cut off gets the END it lacks.
    #[must_use]
    pub fn finish(mut self) -> ObjectTemplate {
        if !self.ended {
            let end = "END:VCALENDAR\r\n";
            let head = std::mem::take(&mut self.head);
            self.push(
                TemplatePart::End,
                &super::write::in_units(detect_utf16(&head), end),
            );
        }
        self.end_run();
        ObjectTemplate {
            bytes: self.bytes,
            components: self.before,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_frame_reads_back_and_damage_is_noticed() {
        let mut builder = TemplateBuilder::new();
        builder.push(TemplatePart::Begin, b"BEGIN:VCALENDAR\n");
        builder.zone(ZoneKey(*b"0123456789abcdef"));
        builder.component();
        builder.component();
        builder.push(TemplatePart::Middle, b"\n");
        builder.component();
        builder.push(TemplatePart::End, b"END:VCALENDAR\n");
        assert!(!builder.has_late_zone());
        let frame = builder.finish();
        assert_eq!(frame.components(), 3);
        let segments: Vec<_> = frame.segments().collect();
        assert_eq!(
            segments,
            [
                TemplateSegment::Text(TemplatePart::Begin, b"BEGIN:VCALENDAR\n"),
                TemplateSegment::Zone(ZoneKey(*b"0123456789abcdef")),
                TemplateSegment::Components(2),
                TemplateSegment::Text(TemplatePart::Middle, b"\n"),
                TemplateSegment::Components(1),
                TemplateSegment::Text(TemplatePart::End, b"END:VCALENDAR\n"),
            ]
        );
        let more = frame.with_zones([ZoneKey([7; 16])]);
        assert_eq!(more.zones().next(), Some(ZoneKey([7; 16])));
        assert_eq!(more.segments().count(), 7);
        assert_eq!(
            ObjectTemplate::from_bytes(more.as_bytes().to_vec()),
            Some(more)
        );
        let bytes = frame.as_bytes().to_vec();
        assert_eq!(ObjectTemplate::from_bytes(bytes.clone()), Some(frame));
        assert_eq!(ObjectTemplate::from_bytes(Vec::new()), None);
        assert_eq!(
            ObjectTemplate::from_bytes(bytes[..bytes.len() - 1].to_vec()),
            None
        );
        assert_eq!(ObjectTemplate::from_bytes(vec![VERSION, 9]), None);
        assert_eq!(ObjectTemplate::from_bytes(vec![VERSION + 1]), None);
    }
}
