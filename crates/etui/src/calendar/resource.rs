//! [`CalendarObject`] as a resource: one iCalendar object with the components of one UID and the
//! time zones that they name (RFC 4791 section 4.1).

use std::sync::Arc;

use rusqlite::Connection;

use super::CalendarObject;
use super::ics::{
    ComponentGroup, ComponentGrouper, GroupOutcome, ObjectPiece, ObjectReader, TemplateBuilder,
    TemplatePart,
};
use super::object_bytes::{ObjectComposer, StoredTemplate, has_method};
use super::object_zones;
use super::zones::{TimeZoneDefinition, TimeZoneResolver};
use crate::error::{Error, Result};
use crate::record::shared::{self, ImportedObject, SourceObject};
use crate::resource::{ParsedResource, Resource};

impl Resource for CalendarObject {
    const EXTENSION: &'static str = ".ics";
    const HAS_SOURCE: bool = true;

    type Composer = ObjectComposer;

    fn parse_resource(bytes: &[u8]) -> Result<ParsedResource<Self>> {
        let object = SplitObject::read(bytes)?;
        let SplitObject {
            template,
            zones,
            group,
        } = object;
        let mut resolver = TimeZoneResolver::new();
        for zone in &zones {
            resolver.define(&TimeZoneDefinition::parse(zone));
        }
        let record = Self::parse(group.text(), &resolver)?;
        let positions: Vec<u32> = group.components.iter().map(|c| c.number).collect();
        let template = template.finish();
        let frame = template.as_bytes().to_vec();
        let stored = StoredTemplate::new(template, |key| {
            let mut all = zones.iter();
            Ok(all
                .find(|zone| object_zones::zone_key(zone) == *key)
                .cloned())
        })?;
        let is_verbatim =
            stored.write_original(record.text(), &positions).as_deref() == Some(bytes);
        let imported = ImportedObject::default();
        imported.set_texts(frame, Arc::new(zones));
        Ok(ParsedResource {
            record,
            source: Some(SourceObject {
                object: Arc::new(imported),
                places: positions,
                made: None,
            }),
            is_verbatim,
        })
    }

    fn compose(
        composer: &mut ObjectComposer,
        conn: &Connection,
        text: Vec<u8>,
        source: Option<i64>,
        positions: &[u8],
    ) -> Result<Vec<u8>> {
        composer.compose(conn, text, source, shared::decode_positions(positions))
    }
}

/// One calendar object, split.
struct SplitObject {
    template: TemplateBuilder,
    /// The texts of its time zones.
    zones: Vec<Vec<u8>>,
    group: ComponentGroup,
}

impl SplitObject {
    /// Splits the one object in `bytes`, which has components of one kind and one UID.
    fn read(bytes: &[u8]) -> Result<Self> {
        let mut template = TemplateBuilder::default();
        let mut grouper = ComponentGrouper::new();
        let (mut zones, mut begins, mut kind) = (Vec::new(), 0, None);
        for piece in ObjectReader::new(bytes) {
            let piece = piece.map_err(|error| not_one(error.to_string()))?;
            match piece {
                ObjectPiece::Text(text) => {
                    begins += u32::from(text.part == TemplatePart::Begin);
                    if begins > 1 {
                        return Err(not_one(format!(
                            "line {}: a second object begins; put each by itself",
                            text.line
                        )));
                    }
                    if text.part != TemplatePart::Other && has_method(&text.bytes) {
                        return Err(not_one(
                            "it has a METHOD, which is for messages between people (RFC 5546), not \
                             for stored objects; leave it out"
                                .to_owned(),
                        ));
                    }
                    template.text(&text);
                }
                ObjectPiece::Zone(zone) => {
                    template.zone(object_zones::zone_key(&zone.bytes));
                    zones.push(zone.bytes);
                }
                ObjectPiece::Component(component) => {
                    let line = component.line;
                    if component.uid.is_none() {
                        return Err(not_one(format!("line {line}: the component has no UID")));
                    }
                    if *kind.get_or_insert(component.kind) != component.kind {
                        return Err(not_one(format!(
                            "line {line}: components of several kinds; put each kind by itself"
                        )));
                    }
                    template.component();
                    match grouper.push(component) {
                        (Some(_), _) => {
                            return Err(not_one(format!(
                                "line {line}: components with several UIDs; put those of each UID \
                                 by themselves"
                            )));
                        }
                        (None, GroupOutcome::Refused(_)) => {
                            return Err(not_one(format!(
                                "line {line}: a second component for the same instance"
                            )));
                        }
                        (None, _) => {}
                    }
                }
                ObjectPiece::Refused(refusal) => {
                    return Err(not_one(format!(
                        "line {}: {}",
                        refusal.line, refusal.reason
                    )));
                }
            }
        }
        match grouper.finish() {
            Some(group) if begins == 1 => Ok(Self {
                template,
                zones,
                group,
            }),
            Some(_) => Err(not_one("BEGIN:VCALENDAR is missing".to_owned())),
            None => Err(not_one(
                "it has no event, to-do or journal entry".to_owned(),
            )),
        }
    }
}

fn not_one(detail: String) -> Error {
    Error::NotOneObject { detail }
}
