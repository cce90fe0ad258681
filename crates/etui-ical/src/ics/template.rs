//! [`ObjectTemplate`]: a calendar object without the components of its records, with holes in their
//! places.
//!
//! ```text
//! template := version:u8 segment*
//! segment  := part:u8 length:varint bytes   0..3: a text that begins, is between components, is a
//!                                           component of another kind, ends
//!           | 4 key:16 bytes                 a VTIMEZONE, by the key of the caller
//!           | 5 count:varint                 this number of consecutive components
//! ```
//!
//! Templates are shared by content: objects written by one program with equal zones and numbers of
//! components have equal templates.

use super::pieces::{TemplatePart, TemplateText};
use etui_contentline::charset::detect_utf16;

const VERSION: u8 = 1;
const ZONE: u8 = 4;
const COMPONENTS: u8 = 5;

/// A calendar object without the components of its records.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectTemplate {
    bytes: Vec<u8>,
    components: u32,
}

/// The caller's key of a `VTIMEZONE`, such as a digest of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ZoneKey(pub [u8; 16]);

/// A segment of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateSegment<'f> {
    /// Bytes as they came.
    Text(TemplatePart, &'f [u8]),
    /// The place of a `VTIMEZONE`.
    Zone(ZoneKey),
    /// The place of this number of consecutive components.
    Components(u32),
}

impl ObjectTemplate {
    /// Returns the template for components that came in no object.
    pub fn plain() -> Self {
        let mut builder = TemplateBuilder::default();
        builder.push_text(
            TemplatePart::Begin,
            b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//etui//etui//EN\r\n",
        );
        builder.push_text(TemplatePart::End, b"END:VCALENDAR\r\n");
        builder.finish()
    }

    /// Returns the template with more zones before its components, such as those of new components;
    /// see [`TimeZoneDefinition::to_text`](crate::zones::TimeZoneDefinition::to_text).
    pub fn with_zones(&self, zones: impl IntoIterator<Item = ZoneKey>) -> Self {
        // The first byte is that of the format.
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

    /// Decodes [`ObjectTemplate::as_bytes`]; `None` for other bytes.
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

    /// Returns the encoded form.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the number of components of the object.
    pub fn components(&self) -> u32 {
        self.components
    }

    /// Returns its segments in order.
    pub fn segments(&self) -> impl Iterator<Item = TemplateSegment<'_>> {
        let mut rest = self.bytes.get(1..).unwrap_or_default();
        std::iter::from_fn(move || take_segment(&mut rest))
    }

    /// Returns its zones in order.
    pub fn zones(&self) -> impl Iterator<Item = ZoneKey> {
        self.segments().filter_map(|segment| match segment {
            TemplateSegment::Zone(zone) => Some(zone),
            _ => None,
        })
    }

    /// Returns the text at its start.
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

/// Builds a template from the pieces of one object, in their order.
#[derive(Debug, Default)]
pub struct TemplateBuilder {
    bytes: Vec<u8>,
    /// Components since the last other piece, and before it.
    run: u32,
    before: u32,
    /// Start of the object, from which the encoding of a missing END follows.
    head: Vec<u8>,
    ended: bool,
}

impl TemplateBuilder {
    /// Adds a text.
    pub fn text(&mut self, text: &TemplateText) {
        self.push_text(text.part, &text.bytes);
    }

    /// Adds a zone.
    pub fn zone(&mut self, zone: ZoneKey) {
        self.end_run();
        self.bytes.push(ZONE);
        self.bytes.extend_from_slice(&zone.0);
    }

    /// Adds a component; its number is the count of those before it.
    pub fn component(&mut self) {
        self.run += 1;
    }

    /// Returns the number of components so far.
    pub fn components(&self) -> u32 {
        self.before + self.run
    }

    pub(super) fn push_text(&mut self, part: TemplatePart, text: &[u8]) {
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

    pub(super) fn add_components(&mut self, count: u32) {
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

    /// Returns the template. A truncated object gets the missing END.
    pub fn finish(mut self) -> ObjectTemplate {
        if !self.ended {
            let end = "END:VCALENDAR\r\n";
            let head = std::mem::take(&mut self.head);
            self.push_text(
                TemplatePart::End,
                &super::writer::encode_text(detect_utf16(&head), end),
            );
        }
        self.end_run();
        ObjectTemplate {
            bytes: [&[VERSION], &*self.bytes].concat(),
            components: self.before,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_template_round_trips_and_damage_is_detected() {
        let mut builder = TemplateBuilder::default();
        builder.push_text(TemplatePart::Begin, b"BEGIN:VCALENDAR\n");
        builder.zone(ZoneKey(*b"0123456789abcdef"));
        builder.component();
        builder.component();
        builder.push_text(TemplatePart::Middle, b"\n");
        builder.component();
        builder.push_text(TemplatePart::End, b"END:VCALENDAR\n");
        let template = builder.finish();
        assert_eq!(template.components(), 3);
        let segments: Vec<_> = template.segments().collect();
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
        let more = template.with_zones([ZoneKey([7; 16])]);
        assert_eq!(more.zones().next(), Some(ZoneKey([7; 16])));
        assert_eq!(more.segments().count(), 7);
        assert_eq!(
            ObjectTemplate::from_bytes(more.as_bytes().to_vec()),
            Some(more)
        );
        let bytes = template.as_bytes().to_vec();
        assert_eq!(ObjectTemplate::from_bytes(bytes.clone()), Some(template));
        assert_eq!(ObjectTemplate::from_bytes(Vec::new()), None);
        assert_eq!(
            ObjectTemplate::from_bytes(bytes[..bytes.len() - 1].to_vec()),
            None
        );
        assert_eq!(ObjectTemplate::from_bytes(vec![VERSION, 9]), None);
        assert_eq!(ObjectTemplate::from_bytes(vec![VERSION + 1]), None);
    }
}
