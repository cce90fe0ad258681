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
pub(crate) struct ZonesOf(Option<(i64, Rc<TimeZoneResolver>)>);

impl ZonesOf {
    /// Returns the zones that an object defines.
    pub(crate) fn get(
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
        let zones = Rc::new(zones(conn, row)?);
        self.0 = Some((row, Rc::clone(&zones)));
        Ok(zones)
    }

    /// Parses a stored record.
    pub(crate) fn record(
        &mut self,
        conn: &Connection,
        text: Vec<u8>,
        row: Option<i64>,
    ) -> Result<CalendarObject> {
        Ok(CalendarObject::parse(text, &*self.get(conn, row)?)?)
    }
}

/// Returns the key of a `VTIMEZONE` in a template: the ETag of its text.
pub(super) fn zone_key(text: &[u8]) -> ZoneKey {
    ZoneKey(ETag::of(text).0)
}

/// Returns the zones that an object defines.
pub(super) fn zones(conn: &Connection, row: i64) -> Result<TimeZoneResolver> {
    let mut zones = TimeZoneResolver::new();
    if let Some(frame) = frame(conn, row)? {
        for hash in frame.zones() {
            if let Some(text) = shared::by_hash(conn, ETag(hash.0))? {
                zones.define(&TimeZoneDefinition::parse(&text));
            }
        }
    }
    Ok(zones)
}

/// Returns the template in a row; `None` if another program deleted it.
pub(super) fn frame(conn: &Connection, row: i64) -> Result<Option<ObjectTemplate>> {
    Ok(shared::text(conn, row)?.and_then(ObjectTemplate::from_bytes))
}
