//! Export: records reassembled into the calendar objects that they came from.
//!
//! Templates that are compatible become one object (`ics::merge`). The components of an object are
//! written in the order of their ordinals. Memory holds an ordinal per component and a few records.
//! New records are written at the end of the first object, and time zones that they name and that it
//! lacks are added.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Write};
use std::path::Path;

use rusqlite::OptionalExtension;

use super::CalendarObject;
use super::ics::{MergedTemplate, ObjectTemplate, ObjectWriter, ZoneKey, merge_templates};
use super::object_zones::{self, ObjectZones};
use super::time::Date;
use super::zones::{TimeZoneDefinition, TimeZoneResolver};
use crate::db::metadata;
use crate::error::{Error, Result};
use crate::record::{ReadState, Reader, StoredRecord, shared};
use crate::types::{ETag, RecordId};

/// A component to write: its ordinal in the object, its record, its position in the record.
type ComponentSlot = (u32, i64, u32);

impl Reader<CalendarObject> {
    /// Returns the record with this UID, parsed with the zones of the object that it came from;
    /// `None` if there is none.
    ///
    /// # Errors
    /// Any error of reading; [`Error::Record`] if another program stored text that is no
    /// record.
    pub fn record(
        &self,
        uid: &str,
    ) -> Result<Option<(StoredRecord<CalendarObject>, CalendarObject)>> {
        self.read_ordered(|r| r.record(uid))
    }

    /// Returns the zones that a record can name: those of the object that it came from. For edits
    /// ([`CalendarObject::set`]).
    ///
    /// # Errors
    /// Any error of reading.
    pub fn zones(&self, record: RecordId) -> Result<TimeZoneResolver> {
        self.read(|r| r.zones(record))
    }

    /// Writes records as calendar objects, as few as possible: all of them, or these. An object whose records
    /// are complete and unchanged is written byte for byte. Returns the number of records.
    ///
    /// # Errors
    /// Any error of reading; [`Error::Io`] if writing to `out` fails.
    pub fn export(&self, out: &mut dyn Write, records: Option<&[RecordId]>) -> Result<u64> {
        self.read_ordered(|r| r.export(out, records))
    }
}

impl ReadState<'_, CalendarObject> {
    /// See [`Reader::record`].
    pub(crate) fn record(
        &self,
        uid: &str,
    ) -> Result<Option<(StoredRecord<CalendarObject>, CalendarObject)>> {
        let Some(stored) = self.get(uid.into())? else {
            return Ok(None);
        };
        self.explain_errors(|| {
            let row = self.shared_row(stored.id)?;
            let text = stored.text.clone();
            let record = ObjectZones::default().parse_record(self.conn, text, row)?;
            Ok(Some((stored, record)))
        })
    }

    /// See [`Reader::zones`].
    pub(crate) fn zones(&self, record: RecordId) -> Result<TimeZoneResolver> {
        self.explain_errors(|| match self.shared_row(record)? {
            Some(row) => object_zones::read_zones(self.conn, row),
            None => Ok(TimeZoneResolver::new()),
        })
    }

    pub(super) fn shared_row(&self, record: RecordId) -> Result<Option<i64>> {
        Ok(self
            .conn
            .prepare_cached("SELECT source FROM record WHERE id = ?1")?
            .query_row([record.0], |r| r.get(0))
            .optional()?
            .flatten())
    }

    /// See [`Reader::export`].
    pub(crate) fn export(&self, out: &mut dyn Write, records: Option<&[RecordId]>) -> Result<u64> {
        self.explain_errors(|| {
            let mut export = ExportPlan::default();
            self.collect_components(records, &mut export)?;
            // New records are written to the first object.
            let mut rows: Vec<i64> = export.objects.keys().copied().collect();
            // In the order of their first records, which is that of the import.
            let first_id = |row: &i64| {
                let slots = export.objects.get(row).into_iter().flatten();
                slots.map(|(_, id, _)| *id).min()
            };
            rows.sort_by_cached_key(first_id);
            let has_others = rows.len() > 1;
            rows.retain(|row| *row != NO_OBJECT || !has_others);
            let mut frames = Vec::with_capacity(rows.len().max(1));
            for &row in &rows {
                let frame = match row {
                    NO_OBJECT => None,
                    row => object_zones::read_template(self.conn, row)?,
                };
                frames.push(frame.unwrap_or_else(ObjectTemplate::plain));
            }
            let frames: Vec<&ObjectTemplate> = frames.iter().collect();
            let mut names: HashMap<ZoneKey, String> = HashMap::new();
            for hash in frames.iter().flat_map(|f| f.zones()) {
                if let Some(text) = shared::find_text(self.conn, ETag(hash.0))? {
                    names.insert(hash, TimeZoneDefinition::parse(&text).name);
                }
            }
            let tzid = |hash: &ZoneKey| names.get(hash).cloned().unwrap_or_default();
            let merged = match frames.is_empty() {
                true => vec![MergedTemplate {
                    template: ObjectTemplate::plain(),
                    sources: Vec::new(),
                }],
                false => merge_templates(&frames, tzid),
            };
            let mut open_line = false;
            for (at, object) in merged.iter().enumerate() {
                // The last line of a file may not be terminated.
                if open_line {
                    out.write_all(b"\r\n").map_err(output_error)?;
                }
                let new = match at == 0 && has_others {
                    true => export
                        .objects
                        .get(&NO_OBJECT)
                        .map_or(&[][..], Vec::as_slice),
                    false => &[],
                };
                open_line = self.write_object(out, object, (&rows, new), &export, &names)?;
            }
            Ok(export.records)
        })
    }

    /// Collects the components to write, by object.
    fn collect_components(
        &self,
        records: Option<&[RecordId]>,
        export: &mut ExportPlan,
    ) -> Result<()> {
        const COLUMNS: &str = "SELECT id, source, positions, text, changed <> id FROM record";
        const LIVE: &str = "collection = ?1 AND removed_at IS NULL";
        match records {
            Some(records) => {
                let sql = format!("{COLUMNS} WHERE id = ?2 AND {LIVE}");
                let mut statement = self.conn.prepare_cached(&sql)?;
                // A record that was given twice is written once, and records follow the order of the import.
                let mut ids: Vec<i64> = records.iter().map(|id| id.0).collect();
                ids.sort_unstable();
                ids.dedup();
                for id in ids {
                    let mut rows = statement.query((self.collection, id))?;
                    while let Some(row) = rows.next()? {
                        export.add_record(row)?;
                    }
                }
            }
            None => {
                let sql = format!("{COLUMNS} NOT INDEXED WHERE {LIVE} ORDER BY id");
                let mut statement = self.conn.prepare_cached(&sql)?;
                let mut rows = statement.query([self.collection])?;
                while let Some(row) = rows.next()? {
                    export.add_record(row)?;
                }
            }
        }
        for places in export.objects.values_mut() {
            places.sort_unstable();
        }
        Ok(())
    }

    /// Writes one object. Returns true if its last line is not terminated.
    fn write_object(
        &self,
        out: &mut dyn Write,
        object: &MergedTemplate,
        (rows, new): (&[i64], &[ComponentSlot]),
        export: &ExportPlan,
        names: &HashMap<ZoneKey, String>,
    ) -> Result<bool> {
        // The ordinals of each source follow those of the source before; new components are last.
        let mut places: Vec<ComponentSlot> = Vec::new();
        for &(at, add) in &object.sources {
            let row = rows.get(at).copied().unwrap_or(NO_OBJECT);
            for &(number, id, place) in export.objects.get(&row).into_iter().flatten() {
                // A new component has no position in its source.
                let number = match number {
                    u32::MAX => u32::MAX,
                    number => number.saturating_add(add),
                };
                places.push((number, id, place));
            }
        }
        places.extend_from_slice(new);
        places.sort_by_key(|p| p.0);
        let defined: HashSet<&str> = object
            .template
            .zones()
            .filter_map(|hash| names.get(&hash).map(String::as_str))
            .collect();
        let added = self.missing_zones(&places, export, &defined)?;
        let frame = match added.is_empty() {
            true => object.template.clone(),
            false => object
                .template
                .with_zones(added.iter().map(|z| object_zones::zone_key(z))),
        };
        let zone = |hash: &ZoneKey| -> io::Result<Vec<u8>> {
            if let Some(text) = added
                .iter()
                .find(|text| object_zones::zone_key(text) == *hash)
            {
                return Ok(text.clone());
            }
            let text = shared::find_text(self.conn, ETag(hash.0)).map_err(io::Error::other)?;
            // Another program may have deleted the text.
            Ok(text.unwrap_or_default())
        };
        let mut writer = ObjectWriter::new(out, &frame, zone);
        // Other components may be between those of one record.
        let (mut read, mut bytes) = (HashMap::new(), 0);
        for (number, id, place) in places {
            if !read.contains_key(&id) {
                let text = self.text_of(id)?;
                bytes += text.len();
                if bytes > MAX_HELD_BYTES || read.len() >= MAX_HELD_RECORDS {
                    read.clear();
                    bytes = text.len();
                }
                read.insert(id, CalendarObject::split_components(&text));
            }
            let all: Option<&Vec<Vec<u8>>> = read.get(&id);
            let component = all.and_then(|all| all.get(usize::try_from(place).ok()?));
            if let Some(component) = component {
                writer.component(number, component).map_err(output_error)?;
            }
        }
        writer.write_rest().map_err(output_error)
    }

    fn text_of(&self, id: i64) -> Result<Vec<u8>> {
        Ok(self
            .conn
            .prepare_cached("SELECT text FROM record WHERE id = ?1")?
            .query_row([id], |r| r.get(0))?)
    }

    /// Returns the definitions of zones that new and changed records name and that their object
    /// lacks.
    fn missing_zones(
        &self,
        places: &[ComponentSlot],
        export: &ExportPlan,
        defined: &HashSet<&str>,
    ) -> Result<Vec<Vec<u8>>> {
        let mut missing: BTreeMap<String, (super::time::TimeZone, Date)> = BTreeMap::new();
        let as_imported = self.find_as_imported(places, export)?;
        let mut zones = ObjectZones::default();
        let mut seen = HashSet::new();
        for &(number, id, _) in places {
            let is_changed = export.changed.contains(&id) && !as_imported.contains(&id);
            let is_new = number == u32::MAX || is_changed;
            if !is_new || !seen.insert(id) {
                continue;
            }
            let (text, row) = self
                .conn
                .prepare_cached("SELECT text, source FROM record WHERE id = ?1")?
                .query_row([id], |r| Ok((r.get(0)?, r.get(1)?)))?;
            let Ok(record) = zones.parse_record(self.conn, text, row) else {
                continue;
            };
            let known = zones.zones_of(self.conn, row)?;
            for item in record.components() {
                let since = item.start.as_ref().map_or(Date::MAX, |t| t.local().date());
                for tzid in &item.tzids {
                    if defined.contains(tzid.as_str()) {
                        continue;
                    }
                    if let Some(zone) = known.resolve(tzid) {
                        let entry = missing.entry(tzid.clone()).or_insert((zone, since));
                        entry.1 = entry.1.min(since);
                    }
                }
            }
        }
        let define = |(name, (zone, since)): (String, (super::time::TimeZone, Date))| {
            let definition = TimeZoneDefinition {
                // A year earlier, so that the observance in force at the first start is defined.
                name,
                ..TimeZoneDefinition::of(&zone, since.plus_days(-366))
            };
            definition.to_text()
        };
        Ok(missing.into_iter().map(define).collect())
    }
}

impl ReadState<'_, CalendarObject> {
    /// Returns those of the changed records that have the text again with which they were added: an undo
    /// brings it back. The change log has no index by record; it is read once.
    fn find_as_imported(
        &self,
        places: &[ComponentSlot],
        export: &ExportPlan,
    ) -> Result<HashSet<i64>> {
        let floor = metadata::get_number(self.conn, metadata::LOG_FLOOR)?;
        let ids = places.iter().map(|&(_, id, _)| id);
        let mut all: HashSet<i64> = ids
            .filter(|id| export.changed.contains(id) && *id >= floor)
            .collect();
        let Some(first) = all.iter().min().copied() else {
            return Ok(all);
        };
        let mut is_current = self
            .conn
            .prepare_cached("SELECT text = ?2 FROM record WHERE id = ?1")?;
        let mut changes = self.conn.prepare_cached(
            "SELECT record, text FROM change WHERE seq > ?1 AND text IS NOT NULL ORDER BY seq",
        )?;
        let mut rows = changes.query([first])?;
        // The first text of a record in the log is that with which it was added.
        let mut seen = HashSet::new();
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            if !all.contains(&id) || !seen.insert(id) {
                continue;
            }
            let text = row.get_ref(1)?.as_blob().unwrap_or_default();
            if !is_current.query_row((id, text), |r| r.get(0))? {
                all.remove(&id);
            }
        }
        Ok(all)
    }
}

fn output_error(error: io::Error) -> Error {
    Error::io(Path::new("the output"), error)
}

/// Limits of the records that are held in memory while their objects are written.
const MAX_HELD_RECORDS: usize = 256;
const MAX_HELD_BYTES: usize = 4 << 20;

/// Stands for the object of records that came from none.
const NO_OBJECT: i64 = 0;

#[derive(Default)]
struct ExportPlan {
    records: u64,
    /// The components of each object, in order.
    objects: BTreeMap<i64, Vec<ComponentSlot>>,
    /// Records that were changed after they were imported.
    changed: HashSet<i64>,
}

impl ExportPlan {
    /// Adds the components of a row of `id, source, positions, text, is changed`.
    fn add_record(&mut self, row: &rusqlite::Row<'_>) -> Result<()> {
        let id: i64 = row.get(0)?;
        let text = row.get_ref(3)?.as_blob().unwrap_or_default();
        let components = CalendarObject::count_components(text).max(1);
        let places = row.get_ref(2)?.as_blob().unwrap_or_default();
        let mut numbers = shared::decode_positions(places);
        // Components that were added later have no position.
        numbers.resize(components, u32::MAX);
        let object: Option<i64> = row.get(1)?;
        let all = self.objects.entry(object.unwrap_or(NO_OBJECT)).or_default();
        for (at, number) in (0..).zip(numbers) {
            all.push((number, id, at));
        }
        if row.get(4)? {
            self.changed.insert(id);
        }
        self.records += 1;
        Ok(())
    }
}
