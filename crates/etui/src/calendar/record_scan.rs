//! Records for a program that examines their components itself, such as a calendar server.

use std::ops::Range;
use std::rc::Rc;

use rusqlite::{Connection, Row};

use super::CalendarObject;
use super::ics::ComponentKind;
use super::object_zones::ObjectZones;
use super::range::RangeCandidate;
use super::time::{TimeZone, Timestamp};
use super::zones::TimeZoneResolver;
use crate::error::Result;
use crate::record::{ReadState, Reader};
use crate::types::RecordId;

/// Instances of a series that are examined for one of the right kind.
const MAX_EXAMINED: usize = 10_000;

/// The time zones that one record can name, read when they are asked for.
pub struct RecordZones<'r> {
    conn: &'r Connection,
    source: Option<i64>,
    cache: &'r mut ObjectZones,
}

impl RecordZones<'_> {
    /// Returns the zones of the object that the record came from.
    ///
    /// # Errors
    /// Any read error.
    pub fn resolver(&mut self) -> Result<Rc<TimeZoneResolver>> {
        self.cache.zones_of(self.conn, self.source)
    }
}

impl Reader<CalendarObject> {
    /// Returns the ids of the records that have an occurrence of a component of this kind in `range`,
    /// each once. Days and floating times are read in the zone `viewer`. No text is read beyond the
    /// cache of parsed series.
    ///
    /// Without a kind, also recurring records that begin before the range's end and end after its start: for
    /// programs that ask more of each component than its time. A series with components of several kinds, of
    /// which the first 10,000 occurrences in the range are of other kinds, counts as one that has some.
    ///
    /// # Errors
    /// Any error of reading.
    pub fn records_between(
        &self,
        range: Range<Timestamp>,
        viewer: &TimeZone,
        kind: Option<ComponentKind>,
    ) -> Result<Vec<RecordId>> {
        self.read_ordered(|r| r.records_between(range, viewer, kind))
    }

    /// Calls `visit` with the text and the time zones of these records, or of all records in the
    /// order in which they were added; ids of other collections and removed records are passed over.
    /// One record is in memory at a time. An error of `visit` ends the iteration.
    ///
    /// Records of one object that follow each other share its zones, so give ids in order.
    ///
    /// # Errors
    /// Any read error, and the errors of `visit`.
    pub fn for_each_with_zones(
        &self,
        records: Option<&[RecordId]>,
        visit: impl FnMut(RecordId, &[u8], &mut RecordZones<'_>) -> Result<()>,
    ) -> Result<()> {
        self.read(|r| r.for_each_with_zones(records, visit))
    }
}

impl ReadState<'_, CalendarObject> {
    /// See [`Reader::records_between`].
    pub(crate) fn records_between(
        &self,
        range: Range<Timestamp>,
        viewer: &TimeZone,
        kind: Option<ComponentKind>,
    ) -> Result<Vec<RecordId>> {
        let mut found = Vec::new();
        if range.start >= range.end {
            return Ok(found);
        }
        self.explain_errors(|| {
            self.each(&range, viewer, |record, candidate| {
                let Some(kind) = kind else {
                    return found.push(RecordId(record));
                };
                let is_match = match candidate {
                    RangeCandidate::Once(stored, _) => stored.kind() == kind,
                    RangeCandidate::Series(known) => {
                        let is_kind =
                            |at: usize| known.components.get(at).is_some_and(|c| c.kind == kind);
                        let has_kind = (0..known.components.len()).any(is_kind);
                        let mut all = known.series.between(range.clone(), viewer).enumerate();
                        has_kind && all.any(|(n, i)| n >= MAX_EXAMINED || is_kind(i.component))
                    }
                };
                found.extend(is_match.then_some(RecordId(record)));
            })?;
            Ok(found)
        })
    }

    /// See [`Reader::for_each_with_zones`].
    pub(crate) fn for_each_with_zones(
        &self,
        records: Option<&[RecordId]>,
        mut visit: impl FnMut(RecordId, &[u8], &mut RecordZones<'_>) -> Result<()>,
    ) -> Result<()> {
        const COLUMNS: &str = "SELECT id, text, source FROM record";
        const LIVE: &str = "collection = ?1 AND removed_at IS NULL";
        let mut cache = ObjectZones::default();
        let mut visit_row = |row: &Row<'_>| -> Result<()> {
            let mut zones = RecordZones {
                conn: self.conn,
                source: row.get(2)?,
                cache: &mut cache,
            };
            let text = row.get_ref(1)?.as_blob().unwrap_or_default();
            visit(RecordId(row.get(0)?), text, &mut zones)
        };
        self.explain_errors(|| {
            let Some(records) = records else {
                let sql = format!("{COLUMNS} NOT INDEXED WHERE {LIVE} ORDER BY id");
                let mut statement = self.conn.prepare_cached(&sql)?;
                let mut rows = statement.query([self.collection])?;
                while let Some(row) = rows.next()? {
                    visit_row(row)?;
                }
                return Ok(());
            };
            let sql = format!("{COLUMNS} WHERE id = ?2 AND {LIVE}");
            let mut statement = self.conn.prepare_cached(&sql)?;
            for id in records {
                let mut rows = statement.query((self.collection, id.0))?;
                while let Some(row) = rows.next()? {
                    visit_row(row)?;
                }
            }
            Ok(())
        })
    }
}
