//! [`CalendarObject`] as a kind of record that a store keeps.

use etui_ical::{CalendarComponent, Method, ReceivedMessage};
use rusqlite::Connection;

use super::CalendarObject;
use super::ics::ObjectTemplate;
use super::index_columns::{index_columns, name_of};
use super::object_zones::{self, ObjectZones};
use super::time::{Date, TimeZone};
use super::zones::{TimeZoneDefinition, TimeZoneResolver};
use crate::db::IndexContext;
use crate::record::shared::SourceObject;
use crate::record::{IndexedColumns, RecordKind};
use crate::types::CollectionKind;

impl RecordKind for CalendarObject {
    const KIND: CollectionKind = CollectionKind::Calendar;
    const CAN_MERGE: bool = true;

    fn stored(conn: &Connection, text: Vec<u8>, shared: Option<i64>) -> crate::Result<Self> {
        ObjectZones::default().parse_record(conn, text, shared)
    }

    fn text(&self) -> &[u8] {
        self.text()
    }

    fn uid(&self) -> Option<&str> {
        self.uid()
    }

    fn noun(&self) -> &'static str {
        name_of(self.master().kind)
    }

    fn receive(
        &mut self,
        message: Self,
        method: Method,
        keeps_first: bool,
    ) -> Option<ReceivedMessage> {
        Some(self.receive(message, method, keeps_first))
    }

    fn is_unlike(&self, other: &Self) -> bool {
        let day = |record: &Self| {
            let main = record.master();
            let time = main.start.as_ref().or(main.due.as_ref())?;
            let is_single = record.components().len() == 1 && !main.recurs() && !main.is_override();
            is_single.then_some((time.local().date(), main.sequence))
        };
        match (day(self), day(other)) {
            // A greater SEQUENCE moves the entry; an equal one is that of another entry.
            (Some((own, sequence)), Some((other, others))) => own != other && sequence == others,
            _ => false,
        }
    }

    fn with_uid_of_day(&self) -> Option<Self> {
        let main = self.master();
        let time = main.start.as_ref().or(main.due.as_ref())?;
        let (year, month, day) = time.local().date().ymd();
        let uid = format!("{}-{year:04}{month:02}{day:02}", self.uid()?);
        let mut zones = TimeZoneResolver::new();
        let defined = self.components().flat_map(|c| &c.defined_zones);
        for (tzid, zone) in defined {
            // A year earlier, so that the observance in force at the start is defined.
            let definition = TimeZoneDefinition::of(zone, time.local().date().plus_days(-366));
            zones.define(&TimeZoneDefinition {
                name: tzid.clone(),
                ..definition
            });
        }
        let mut own = self.clone();
        own.set(0, "UID", &uid, &zones).ok()?;
        Some(own)
    }

    fn is_partial(&self) -> bool {
        self.components().all(CalendarComponent::is_override)
    }

    fn component_count(&self) -> usize {
        self.components().len()
    }

    fn required_source(&self) -> Option<SourceObject> {
        let mut zones: Vec<&(String, TimeZone)> = Vec::new();
        for defined in self.components().flat_map(|c| &c.defined_zones) {
            if !zones.iter().any(|(tzid, _)| *tzid == defined.0) {
                zones.push(defined);
            }
        }
        // Unknown here; another object may define them.
        let unknown = self.unresolved_tzids();
        if zones.is_empty() && unknown.is_empty() {
            return None;
        }
        let starts = self.components().filter_map(|c| c.start.as_ref());
        let since = starts.map(|t| t.local().date()).min();
        // A year earlier, so that the observance in force at the first start is defined.
        let since = since.unwrap_or(Date::MAX).plus_days(-366);
        let define = move |(tzid, zone): &(String, TimeZone)| {
            let name = tzid.clone();
            let definition = TimeZoneDefinition::of(zone, since);
            TimeZoneDefinition { name, ..definition }.to_text()
        };
        let texts: Vec<Vec<u8>> = zones.iter().copied().map(define).collect();
        let keys = texts.iter().map(|text| object_zones::zone_key(text));
        let template = ObjectTemplate::plain().with_zones(keys);
        let template = template.as_bytes().to_vec();
        let own: Vec<(String, Vec<u8>)> = std::iter::zip(zones, &texts)
            .map(|((tzid, _), text)| (tzid.clone(), text.clone()))
            .collect();
        let defines = move |conn: &Connection, row| {
            let theirs = object_zones::read_zones(conn, row)?;
            let is_same = |(tzid, text): &(String, Vec<u8>)| {
                let zone = theirs.defined(tzid).cloned();
                zone.is_some_and(|zone| define(&(tzid.clone(), zone)) == *text)
            };
            let knows = |tzid: &String| theirs.defined(tzid).is_some();
            Ok(own.iter().all(is_same) && !unknown.iter().any(knows))
        };
        let parts = self.components().len();
        Some(SourceObject::made(template, texts, parts, defines))
    }

    fn index(&self, context: &IndexContext<'_>) -> IndexedColumns {
        index_columns(self, context)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::zones::TimeZoneResolver;
    use super::*;

    #[test]
    fn the_identity_is_the_uid_or_the_content() {
        let parse = |text: &str| CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap();
        let with_uid = parse("BEGIN:VEVENT\r\nUID:1\r\nSUMMARY:A\r\nEND:VEVENT\r\n");
        assert_eq!(with_uid.identity(), "1");
        let one = parse("BEGIN:VEVENT\nSUMMARY:A\nEND:VEVENT\n");
        let same = parse("BEGIN:VEVENT\nSUMMARY:A\nEND:VEVENT");
        let other = parse("BEGIN:VEVENT\nSUMMARY:B\nEND:VEVENT\n");
        assert_eq!(one.identity(), same.identity());
        assert_ne!(one.identity(), other.identity());
    }
}
