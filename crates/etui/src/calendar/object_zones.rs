//! Calendar objects that records came from, as the store keeps them (`record::shared`).

use std::rc::Rc;

use rusqlite::Connection;

use super::CalendarObject;
use super::ics::{ObjectTemplate, ZoneKey};
use super::zones::{TimeZoneDefinition, TimeZoneResolver};
use crate::error::Result;
use crate::record::shared;
use crate::types::ETag;

/// Cache of the zones of the last object: records of one object are mostly read one after another.
#[derive(Default)]
pub(crate) struct ObjectZones(Option<(i64, Rc<TimeZoneResolver>)>);

impl ObjectZones {
    /// Returns the zones that an object defines.
    pub(crate) fn zones_of(
        &mut self,
        conn: &Connection,
        row: Option<i64>,
    ) -> Result<Rc<TimeZoneResolver>> {
        let Some(row) = row else {
            return Ok(Rc::default());
        };
        if let Some((of, zones)) = &self.0
            && *of == row
        {
            return Ok(Rc::clone(zones));
        }
        let zones = Rc::new(read_zones(conn, row)?);
        self.0 = Some((row, Rc::clone(&zones)));
        Ok(zones)
    }

    /// Parses a stored record.
    pub(crate) fn parse_record(
        &mut self,
        conn: &Connection,
        text: Vec<u8>,
        row: Option<i64>,
    ) -> Result<CalendarObject> {
        Ok(CalendarObject::parse(text, &*self.zones_of(conn, row)?)?)
    }
}

/// Returns the key of a `VTIMEZONE` in a template: the ETag of its text.
pub(super) fn zone_key(text: &[u8]) -> ZoneKey {
    ZoneKey(ETag::of(text).0)
}

/// Returns the zones that an object defines.
pub(super) fn read_zones(conn: &Connection, row: i64) -> Result<TimeZoneResolver> {
    let mut zones = TimeZoneResolver::new();
    if let Some(frame) = read_template(conn, row)? {
        for hash in frame.zones() {
            if let Some(text) = shared::find_text(conn, ETag(hash.0))? {
                zones.define(&TimeZoneDefinition::parse(&text));
            }
        }
    }
    Ok(zones)
}

/// Returns the template in a row; `None` if another program deleted it.
pub(super) fn read_template(conn: &Connection, row: i64) -> Result<Option<ObjectTemplate>> {
    Ok(shared::text(conn, row)?.and_then(ObjectTemplate::from_bytes))
}
