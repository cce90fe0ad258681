//! Calendar objects out of frames and components: [`ObjectWriter`], [`merge`].
//!
//! ```text
//! frame       Begin  Zone  Components(2)  Middle  Components(1)  End
//! written     Begin  zone  #0 #1          Middle  #2 new new     End
//! ```
//!
//! A component goes where its number says, a new one behind all others. When every hole is filled
//! with the component that stood there, the object is, byte for byte, what it was.

use std::borrow::Cow;
use std::io::{self, Write};

use encoding_rs::{Encoding, UTF_16BE};

use super::frame::{ObjectTemplate, TemplateBuilder, TemplateSegment, ZoneKey};
use super::piece::TemplatePart;
use etui_contentline::charset::{detect_utf16, to_utf8_bytes};
use etui_contentline::edit::own_lines;
use etui_contentline::values::property_value;

/// Writes one calendar object, component by component.
///
/// The components are given in the order of their numbers; those with one number stand one behind
/// the other, those of numbers that the frame does not have behind all others. A component whose
/// encoding is not the frame's is written in the frame's.
pub struct ObjectWriter<'f, W, Z> {
    out: W,
    frame: Box<dyn Iterator<Item = TemplateSegment<'f>> + 'f>,
    /// A segment taken from the frame and not written.
    held: Option<TemplateSegment<'f>>,
    zone: Z,
    units: Option<&'static Encoding>,
    /// How many components the frame has, and how many of its holes were reached.
    components: u32,
    reached: u32,
    /// What was written last does not end its line.
    open_line: bool,
}

impl<'f, W: Write, Z: FnMut(&ZoneKey) -> io::Result<Vec<u8>>> ObjectWriter<'f, W, Z> {
    /// Begins an object with this frame; `zone` gives the bytes of its zones.
    pub fn new(out: W, frame: &'f ObjectTemplate, zone: Z) -> Self {
        Self {
            out,
            frame: Box::new(frame.segments()),
            held: None,
            zone,
            units: detect_utf16(frame.head()),
            components: frame.components(),
            reached: 0,
            open_line: false,
        }
    }

    /// Writes the component, or all components of a record, that stood at `number`.
    ///
    /// # Errors
    /// What the output or the zone's source report.
    pub fn component(&mut self, number: u32, bytes: &[u8]) -> io::Result<()> {
        while self.reached <= number {
            match self.next_segment() {
                Some(TemplateSegment::Components(count)) => self.reached += count,
                Some(end @ TemplateSegment::Text(TemplatePart::End, _)) => {
                    self.held = Some(end);
                    break;
                }
                // What stands behind the last hole comes when all components are written.
                Some(other) if self.components > 0 && self.reached == self.components => {
                    self.held = Some(other);
                    break;
                }
                Some(segment) => self.segment(segment)?,
                None => break,
            }
        }
        self.write(bytes)
    }

    /// Writes what is left of the frame.
    ///
    /// # Errors
    /// What the output or the zone's source report.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_rest()?;
        Ok(self.out)
    }

    /// Writes what is left of the frame; tells whether its last line has no end.
    /// # Errors
    /// As [`ObjectWriter::finish`].
    pub fn write_rest(&mut self) -> io::Result<bool> {
        while let Some(segment) = self.next_segment() {
            self.segment(segment)?;
        }
        Ok(self.open_line)
    }

    fn next_segment(&mut self) -> Option<TemplateSegment<'f>> {
        self.held.take().or_else(|| self.frame.next())
    }

    fn segment(&mut self, segment: TemplateSegment<'_>) -> io::Result<()> {
        match segment {
            TemplateSegment::Text(_, text) => self.raw(text),
            TemplateSegment::Zone(hash) => {
                let zone = (self.zone)(&hash)?;
                self.write(&zone)
            }
            TemplateSegment::Components(_) => Ok(()),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if detect_utf16(bytes) == self.units {
            return self.raw(bytes);
        }
        let text = to_utf8_bytes(bytes);
        let text = String::from_utf8_lossy(&text);
        self.raw(&in_units(self.units, &text))
    }

    fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.open_line {
            self.out.write_all(&in_units(self.units, "\r\n"))?;
        }
        let ends_line = match self.units {
            None => matches!(bytes, [.., b'\n' | b'\r']),
            Some(_) => matches!(bytes, [.., b'\n' | b'\r', 0] | [.., 0, b'\n' | b'\r']),
        };
        self.open_line = !ends_line;
        self.out.write_all(bytes)
    }
}

/// `text` in UTF-8, or in the encoding of UTF-16 that is given.
pub(super) fn in_units<'t>(units: Option<&'static Encoding>, text: &'t str) -> Cow<'t, [u8]> {
    let Some(encoding) = units else {
        return Cow::Borrowed(text.as_bytes());
    };
    let to = match encoding == UTF_16BE {
        true => u16::to_be_bytes,
        false => u16::to_le_bytes,
    };
    Cow::Owned(text.encode_utf16().flat_map(to).collect())
}

/// A frame made of several, and where the components of each are in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedTemplate {
    /// The frame.
    pub frame: ObjectTemplate,
    /// Which of the frames given it is made of, and what to add to the numbers of their
    /// components.
    pub sources: Vec<(usize, u32)>,
}

/// Puts frames together so that as few objects as can be have all their components.
///
/// Frames go into one object unless they define a `TZID` differently or have another `METHOD`:
/// then they stay objects of their own, of which a stream may have several (RFC 5545 §3.4). A
/// frame that stays alone is as it was. Of several, the first one's properties are kept, each zone
/// once, and all components of other kinds. `tzid` tells the `TZID` of a zone.
pub fn merge(
    frames: &[&ObjectTemplate],
    mut tzid: impl FnMut(&ZoneKey) -> String,
) -> Vec<MergedTemplate> {
    let mut gathered: Vec<Gathered> = Vec::new();
    for (at, frame) in frames.iter().enumerate() {
        let mut zones: Vec<(String, ZoneKey)> = Vec::new();
        for zone in frame.zones() {
            if !zones.iter().any(|(_, known)| *known == zone) {
                zones.push((tzid(&zone), zone));
            }
        }
        let method = method(frame.head());
        let fits = |object: &&mut Gathered| {
            object.method == method
                && zones
                    .iter()
                    .all(|(name, zone)| object.zones.iter().all(|(n, z)| n != name || z == zone))
        };
        let object = match gathered.iter_mut().find(fits) {
            Some(object) => object,
            None => {
                gathered.push(Gathered {
                    method,
                    zones: Vec::new(),
                    frames: Vec::new(),
                });
                let Some(object) = gathered.last_mut() else {
                    continue;
                };
                object
            }
        };
        for zone in zones {
            if !object.zones.contains(&zone) {
                object.zones.push(zone);
            }
        }
        object.frames.push(at);
    }
    gathered
        .iter()
        .map(|object| object.merged(frames))
        .collect()
}

struct Gathered {
    method: String,
    zones: Vec<(String, ZoneKey)>,
    frames: Vec<usize>,
}

impl Gathered {
    fn merged(&self, frames: &[&ObjectTemplate]) -> MergedTemplate {
        let mut sources = Vec::with_capacity(self.frames.len());
        let mut components = 0u32;
        for &at in &self.frames {
            sources.push((at, components));
            components = components.saturating_add(frames[at].components());
        }
        let frame = match self.frames[..] {
            [one] => frames[one].clone(),
            _ => self.together(frames, components),
        };
        MergedTemplate { frame, sources }
    }

    fn together(&self, frames: &[&ObjectTemplate], components: u32) -> ObjectTemplate {
        let mut builder = TemplateBuilder::new();
        let texts = || {
            let frames = self.frames.iter().map(|&at| frames[at]);
            frames.flat_map(ObjectTemplate::segments)
        };
        let first = |wanted| {
            texts().find_map(|segment| match segment {
                TemplateSegment::Text(part, text) if part == wanted => Some(text),
                _ => None,
            })
        };
        // All in UTF-8: the frames may differ in their encoding.
        builder.push(
            TemplatePart::Begin,
            &to_utf8_bytes(first(TemplatePart::Begin).unwrap_or_default()),
        );
        for (_, zone) in &self.zones {
            builder.zone(*zone);
        }
        builder.components_run(components);
        for segment in texts() {
            if let TemplateSegment::Text(TemplatePart::Other, text) = segment {
                builder.push(TemplatePart::Other, &to_utf8_bytes(text));
            }
        }
        builder.finish()
    }
}

fn method(head: &[u8]) -> String {
    own_lines(&to_utf8_bytes(head), None)
        .find(|line| line.name_is("METHOD"))
        .map(|line| property_value(&line).to_ascii_uppercase())
        .unwrap_or_default()
}
