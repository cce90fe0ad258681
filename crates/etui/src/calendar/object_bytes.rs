//! The bytes of one record as a calendar object of its own.
//!
//! ```text
//! the record is all of its source object     the object, byte for byte
//! it is a part of a larger one, or of none    the head of that, the zones that the record names, its
//!                                            components, END:VCALENDAR
//! ```
//!
//! A `METHOD` of the larger object is left out: it belongs to the exchange of a file, and a stored
//! object has none (RFC 4791 section 4.1). A zone that the record names and its source does not
//! define is written from the time zone database.

use std::collections::HashMap;
use std::rc::Rc;

use etui_contentline::charset::to_utf8_bytes;
use etui_contentline::edit::{own_lines, remove_spans};
use etui_contentline::lines::{ContentLines, parse_params};
use etui_contentline::values::property_value;
use rusqlite::Connection;

use super::CalendarObject;
use super::ics::{
    ObjectTemplate, ObjectWriter, TemplateBuilder, TemplatePart, TemplateSegment, TemplateText,
    ZoneKey,
};
use super::object_zones::{self, read_template};
use super::time::Date;
use super::zones::{TimeZoneDefinition, TimeZoneResolver};
use crate::error::Result;
use crate::record::shared;
use crate::types::ETag;

/// A template with the texts of its zones.
pub(super) struct StoredTemplate {
    template: ObjectTemplate,
    zones: Vec<StoredZone>,
    /// The end of the object. Its template may have many segments before it.
    end: Vec<u8>,
}

/// A time zone of an object.
#[derive(Clone)]
struct StoredZone {
    key: ZoneKey,
    tzid: String,
    text: Vec<u8>,
}

impl StoredZone {
    fn new(key: ZoneKey, text: Vec<u8>) -> Self {
        let tzid = own_lines(&text, None)
            .find(|line| line.name_is("TZID"))
            .map(|line| property_value(&line).into_owned());
        Self {
            key,
            tzid: tzid.unwrap_or_default().trim_matches('"').to_owned(),
            text,
        }
    }
}

/// Returns true if a text of an object has the property METHOD.
pub(super) fn has_method(text: &[u8]) -> bool {
    own_lines(text, None).any(|line| line.name_is("METHOD"))
}

impl StoredTemplate {
    /// Returns a template; `read` returns the texts of its zones.
    pub(super) fn new(
        template: ObjectTemplate,
        mut read: impl FnMut(&ZoneKey) -> Result<Option<Vec<u8>>>,
    ) -> Result<Self> {
        let (mut zones, mut end) = (Vec::new(), Vec::new());
        for segment in template.segments() {
            match segment {
                TemplateSegment::Zone(key) => {
                    zones.extend(read(&key)?.map(|text| StoredZone::new(key, text)));
                }
                TemplateSegment::Text(TemplatePart::End, text) => end = text.to_vec(),
                _ => {}
            }
        }
        Ok(Self {
            template,
            zones,
            end,
        })
    }

    fn read(conn: &Connection, row: Option<i64>) -> Result<Self> {
        let template = match row {
            Some(row) => read_template(conn, row)?,
            None => None,
        };
        let template = template.unwrap_or_else(ObjectTemplate::plain);
        Self::new(template, |key| shared::find_text(conn, ETag(key.0)))
    }

    /// Returns the whole object with the components of `text` at their positions; `None` if they are
    /// not all of its components.
    pub(super) fn write_original(&self, text: &[u8], positions: &[u32]) -> Option<Vec<u8>> {
        let count = u32::try_from(positions.len()).ok()?;
        if self.template.components() != count {
            return None;
        }
        let components = CalendarObject::split_components(text);
        let mut numbered: Vec<_> = positions.iter().zip(&components).collect();
        numbered.sort_by_key(|(position, _)| **position);
        let is_whole = components.len() == positions.len()
            && numbered.iter().map(|(position, _)| **position).eq(0..count);
        let has_method = || {
            self.template.segments().any(|segment| match segment {
                TemplateSegment::Text(TemplatePart::Other, _) => false,
                TemplateSegment::Text(_, text) => has_method(text),
                _ => false,
            })
        };
        if !is_whole || has_method() {
            return None;
        }
        write_components(&self.template, &self.zones, numbered.into_iter())
    }

    /// Returns a template of the head and the end of the object around `count` components, with
    /// these zones.
    fn cut(&self, zones: &[StoredZone], count: usize) -> ObjectTemplate {
        let mut builder = TemplateBuilder::default();
        let text = |part, bytes: Vec<u8>| TemplateText {
            part,
            bytes,
            line: 0,
            offset: 0,
        };
        let head = self.template.head();
        let methods: Vec<_> = own_lines(head, None)
            .filter(|line| line.name_is("METHOD"))
            .map(|line| line.span)
            .collect();
        builder.text(&text(TemplatePart::Begin, remove_spans(head, &methods)));
        for zone in zones {
            builder.zone(zone.key);
        }
        for _ in 0..count {
            builder.component();
        }
        builder.text(&text(TemplatePart::End, self.end.clone()));
        builder.finish()
    }
}

/// Writes components into a template, in memory; so that does not fail.
fn write_components<'c>(
    template: &ObjectTemplate,
    zones: &[StoredZone],
    components: impl Iterator<Item = (&'c u32, &'c Vec<u8>)>,
) -> Option<Vec<u8>> {
    let zone = |key: &ZoneKey| {
        let found = zones.iter().find(|zone| zone.key == *key);
        Ok(found.map(|zone| zone.text.clone()).unwrap_or_default())
    };
    let mut writer = ObjectWriter::new(Vec::new(), template, zone);
    for (number, bytes) in components {
        writer.component(*number, bytes).ok()?;
    }
    writer.finish().ok()
}

/// Maximum number of templates that are kept for further records.
const MAX_TEMPLATES: usize = 64;

/// Composes the objects of records, one after another. Records of one source object share its
/// template.
#[derive(Default)]
pub struct ObjectComposer {
    templates: HashMap<Option<i64>, Rc<StoredTemplate>>,
    /// Zones from the time zone database, by `TZID` and first year.
    made: HashMap<(String, i32), Option<Vec<u8>>>,
}

impl ObjectComposer {
    /// Returns the object of a record with this text, source object and positions in it.
    pub(super) fn compose(
        &mut self,
        conn: &Connection,
        text: Vec<u8>,
        source: Option<i64>,
        mut positions: Vec<u32>,
    ) -> Result<Vec<u8>> {
        let template = match self.templates.get(&source) {
            Some(template) => Rc::clone(template),
            None => {
                let template = Rc::new(StoredTemplate::read(conn, source)?);
                if self.templates.len() >= MAX_TEMPLATES {
                    self.templates.clear();
                }
                self.templates.insert(source, Rc::clone(&template));
                template
            }
        };
        if let Some(original) = template.write_original(&text, &positions) {
            return Ok(original);
        }
        let components = CalendarObject::split_components(&text);
        positions.resize(components.len(), u32::MAX);
        let mut ordered: Vec<_> = positions.iter().zip(&components).collect();
        ordered.sort_by_key(|(position, _)| **position);
        let zones = self.zones_of(&template, &text);
        let cut = template.cut(&zones, components.len());
        let numbers: Vec<u32> = (0..).take(components.len()).collect();
        let numbered = numbers
            .iter()
            .zip(ordered.into_iter().map(|(_, bytes)| bytes));
        Ok(write_components(&cut, &zones, numbered).unwrap_or(text))
    }

    /// Returns the zones that the components name.
    fn zones_of(&mut self, template: &StoredTemplate, text: &[u8]) -> Vec<StoredZone> {
        let named = NamedZones::read(text);
        let (mut zones, mut made) = (Vec::new(), Vec::new());
        for zone in &template.zones {
            if named.tzids.contains(&zone.tzid) {
                zones.push(zone.clone());
            }
        }
        for tzid in named.tzids {
            if !zones.iter().any(|zone| zone.tzid == tzid)
                && let Some(text) = self.make_zone(&tzid, named.first_year)
            {
                made.push(StoredZone {
                    key: object_zones::zone_key(&text),
                    tzid,
                    text,
                });
            }
        }
        zones.extend(made);
        zones
    }

    /// Returns the definition of a zone of the database, complete from the year before `year`.
    fn make_zone(&mut self, tzid: &str, year: i32) -> Option<Vec<u8>> {
        let make = || {
            let zone = TimeZoneResolver::new().resolve(tzid)?;
            let since = Date::new(year - 1, 1, 1).unwrap_or(Date::MIN);
            let definition = TimeZoneDefinition {
                name: tzid.to_owned(),
                ..TimeZoneDefinition::of(&zone, since)
            };
            Some(definition.to_text())
        };
        let made = self.made.entry((tzid.to_owned(), year));
        made.or_insert_with(make).clone()
    }
}

/// The time zones that components name.
#[derive(Default)]
struct NamedZones {
    tzids: Vec<String>,
    /// The year of the first start.
    first_year: i32,
}

impl NamedZones {
    fn read(text: &[u8]) -> Self {
        let text = to_utf8_bytes(text);
        let mut named = Self {
            tzids: Vec::new(),
            first_year: 9999,
        };
        for line in ContentLines::new(&text) {
            if line.name_is("DTSTART") {
                let value = property_value(&line);
                let year = value.get(..4).and_then(|year| year.parse().ok());
                named.first_year = named.first_year.min(year.unwrap_or(9999)).max(1);
            }
            for parameter in parse_params(&line.unfolded_params()) {
                if parameter.name.eq_ignore_ascii_case(b"TZID")
                    && let Some(value) = parameter.value
                {
                    let tzid = String::from_utf8_lossy(value);
                    let tzid = tzid.trim_matches('"');
                    if !tzid.is_empty() && !named.tzids.iter().any(|known| known == tzid) {
                        named.tzids.push(tzid.to_owned());
                    }
                }
            }
        }
        named
    }
}
