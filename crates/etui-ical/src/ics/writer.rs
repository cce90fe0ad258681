//! Writes calendar objects from templates and components: [`ObjectWriter`], [`merge_templates`].
//!
//! ```text
//! template    Begin  Zone  Components(2)  Middle  Components(1)  End
//! written     Begin  zone  #0 #1          Middle  #2 new new     End
//! ```
//!
//! A component is written in the place of its number, a new one after all others. If every hole is
//! filled with the original component, the object is byte for byte the original.

use std::borrow::Cow;
use std::io::{self, Write};

use encoding_rs::{Encoding, UTF_16BE};

use super::pieces::TemplatePart;
use super::template::{ObjectTemplate, TemplateBuilder, TemplateSegment, ZoneKey};
use etui_contentline::charset::{detect_utf16, to_utf8_bytes};
use etui_contentline::lines::{ContentLines, trim_blanks};

/// Writes one calendar object, component by component.
///
/// Components are given in the order of their numbers; those with one number are written one after
/// another, those with numbers that the template does not have after all others. A component in
/// another encoding is converted to that of the template.
pub struct ObjectWriter<'f, W, Z> {
    out: W,
    template: Box<dyn Iterator<Item = TemplateSegment<'f>> + 'f>,
    /// A segment taken from the template and not yet written.
    held: Option<TemplateSegment<'f>>,
    zone: Z,
    units: Option<&'static Encoding>,
    /// Number of components of the template, and of those reached.
    components: u32,
    reached: u32,
    /// Whether the last line written lacks its line end.
    open_line: bool,
}

impl<'f, W: Write, Z: FnMut(&ZoneKey) -> io::Result<Vec<u8>>> ObjectWriter<'f, W, Z> {
    /// Begins an object with this template; `zone` returns the bytes of its zones.
    pub fn new(out: W, template: &'f ObjectTemplate, zone: Z) -> Self {
        Self {
            out,
            template: Box::new(template.segments()),
            held: None,
            zone,
            units: detect_utf16(template.head()),
            components: template.components(),
            reached: 0,
            open_line: false,
        }
    }

    /// Writes the component, or all components of a record, with this number.
    ///
    /// # Errors
    /// The errors of the output and of the source of zones.
    pub fn component(&mut self, number: u32, bytes: &[u8]) -> io::Result<()> {
        while self.reached <= number {
            match self.next_segment() {
                Some(TemplateSegment::Components(count)) => self.reached += count,
                Some(end @ TemplateSegment::Text(TemplatePart::End, _)) => {
                    self.held = Some(end);
                    break;
                }
                // Segments after the last hole follow when all components are written.
                Some(other) if self.components > 0 && self.reached == self.components => {
                    self.held = Some(other);
                    break;
                }
                Some(segment) => self.write_segment(segment)?,
                None => break,
            }
        }
        self.write_encoded(bytes)
    }

    /// Writes the rest of the template.
    ///
    /// # Errors
    /// The errors of the output and of the source of zones.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_rest()?;
        Ok(self.out)
    }

    /// Writes the rest of the template. Returns true if the last line has no line end.
    ///
    /// # Errors
    /// As [`ObjectWriter::finish`].
    pub fn write_rest(&mut self) -> io::Result<bool> {
        while let Some(segment) = self.next_segment() {
            self.write_segment(segment)?;
        }
        Ok(self.open_line)
    }

    fn next_segment(&mut self) -> Option<TemplateSegment<'f>> {
        self.held.take().or_else(|| self.template.next())
    }

    fn write_segment(&mut self, segment: TemplateSegment<'_>) -> io::Result<()> {
        match segment {
            TemplateSegment::Text(_, text) => self.write_raw(text),
            TemplateSegment::Zone(hash) => {
                let zone = (self.zone)(&hash)?;
                self.write_encoded(&zone)
            }
            TemplateSegment::Components(_) => Ok(()),
        }
    }

    fn write_encoded(&mut self, bytes: &[u8]) -> io::Result<()> {
        if detect_utf16(bytes) == self.units {
            return self.write_raw(bytes);
        }
        let text = to_utf8_bytes(bytes);
        let text = String::from_utf8_lossy(&text);
        self.write_raw(&encode_text(self.units, &text))
    }

    fn write_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.open_line {
            self.out.write_all(&encode_text(self.units, "\r\n"))?;
        }
        let ends_line = match self.units {
            None => matches!(bytes, [.., b'\n' | b'\r']),
            Some(_) => matches!(bytes, [.., b'\n' | b'\r', 0] | [.., 0, b'\n' | b'\r']),
        };
        self.open_line = !ends_line;
        self.out.write_all(bytes)
    }
}

/// Returns `text` in UTF-8, or in the given encoding of UTF-16.
pub(super) fn encode_text<'t>(units: Option<&'static Encoding>, text: &'t str) -> Cow<'t, [u8]> {
    let Some(encoding) = units else {
        return Cow::Borrowed(text.as_bytes());
    };
    let to = match encoding == UTF_16BE {
        true => u16::to_be_bytes,
        false => u16::to_le_bytes,
    };
    Cow::Owned(text.encode_utf16().flat_map(to).collect())
}

/// A template made of several, with the numbers of their components in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedTemplate {
    /// The template.
    pub template: ObjectTemplate,
    /// Indices of the source templates, and the offset added to the numbers of their components.
    pub sources: Vec<(usize, u32)>,
}

/// Merges templates into as few objects as possible.
///
/// Templates share an object if their calendar properties are equal (`PRODID`, `METHOD`,
/// `X-WR-CALNAME`, `COLOR` and the others, in the order of their lines), and if they define no
/// `TZID` differently. Otherwise they stay separate objects; a stream may have several (RFC 5545
/// section 3.4). A template that stays alone is unchanged. A merged one has each zone once, and all
/// components of other kinds. `tzid` returns the `TZID` of a zone.
pub fn merge_templates(
    templates: &[&ObjectTemplate],
    mut tzid: impl FnMut(&ZoneKey) -> String,
) -> Vec<MergedTemplate> {
    let mut groups: Vec<MergeGroup> = Vec::new();
    for (at, template) in templates.iter().enumerate() {
        let mut zones: Vec<(String, ZoneKey)> = Vec::new();
        for zone in template.zones() {
            if !zones.iter().any(|(_, known)| *known == zone) {
                zones.push((tzid(&zone), zone));
            }
        }
        let properties = properties_of(template, at);
        let fits = |object: &&mut MergeGroup| {
            object.properties == properties
                && zones
                    .iter()
                    .all(|(name, zone)| object.zones.iter().all(|(n, z)| n != name || z == zone))
        };
        let object = match groups.iter_mut().find(fits) {
            Some(object) => object,
            None => {
                groups.push(MergeGroup {
                    properties,
                    zones: Vec::new(),
                    templates: Vec::new(),
                });
                let Some(object) = groups.last_mut() else {
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
        object.templates.push(at);
    }
    groups
        .iter()
        .map(|object| object.to_merged(templates))
        .collect()
}

struct MergeGroup {
    properties: Vec<String>,
    zones: Vec<(String, ZoneKey)>,
    templates: Vec<usize>,
}

impl MergeGroup {
    fn to_merged(&self, templates: &[&ObjectTemplate]) -> MergedTemplate {
        let mut sources = Vec::with_capacity(self.templates.len());
        let mut components = 0u32;
        for &at in &self.templates {
            sources.push((at, components));
            components = components.saturating_add(templates[at].components());
        }
        let template = match self.templates[..] {
            [one] => templates[one].clone(),
            _ => self.combine(templates, components),
        };
        MergedTemplate { template, sources }
    }

    fn combine(&self, templates: &[&ObjectTemplate], components: u32) -> ObjectTemplate {
        let mut builder = TemplateBuilder::default();
        let texts = || {
            let templates = self.templates.iter().map(|&at| templates[at]);
            templates.flat_map(ObjectTemplate::segments)
        };
        let first = |wanted| {
            texts().find_map(|segment| match segment {
                TemplateSegment::Text(part, text) if part == wanted => Some(text),
                _ => None,
            })
        };
        // All in UTF-8: the encodings of the templates may differ.
        builder.push_text(
            TemplatePart::Begin,
            &to_utf8_bytes(first(TemplatePart::Begin).unwrap_or_default()),
        );
        for (_, zone) in &self.zones {
            builder.zone(*zone);
        }
        builder.add_components(components);
        for segment in texts() {
            if let TemplateSegment::Text(TemplatePart::Other, text) = segment {
                builder.push_text(TemplatePart::Other, &to_utf8_bytes(text));
            }
        }
        builder.finish()
    }
}

/// Returns the calendar properties of the template at index `at`, unfolded. One with properties between
/// its components is like no other, as a merged template has no place for them.
fn properties_of(template: &ObjectTemplate, at: usize) -> Vec<String> {
    let mut all = Vec::new();
    for segment in template.segments() {
        let TemplateSegment::Text(part @ (TemplatePart::Begin | TemplatePart::Middle), text) =
            segment
        else {
            continue;
        };
        for line in ContentLines::new(&to_utf8_bytes(text)) {
            let line = String::from_utf8_lossy(trim_blanks(&line.unfolded())).into_owned();
            if !line.is_empty() {
                all.push(line);
                all.extend((part == TemplatePart::Middle).then(|| at.to_string()));
            }
        }
    }
    all
}
