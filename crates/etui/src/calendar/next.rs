//! The next occurrence of the entries that match a filter.

use super::object_zones::ObjectZones;
use super::range::{Occurrence, instance_of, once_of};
use super::series_cache::SeriesCache;
use super::summary::StoredSummary;
use super::time::{TimeZone, Timestamp};
use super::time_codec::ZoneInterner;
use super::{CalendarObject, Columns, Filter, Query, Status};
use crate::error::Result;
use crate::record::time_index::TimeVersion;
use crate::record::{ReadState, Reader};
use crate::types::RecordId;

/// Years in which an occurrence is looked for.
const MAX_YEARS: i64 = 10;
/// Instances of one series that are looked at. A rule that fires every second, for hours each time,
/// has as many that began earlier.
const MAX_INSTANCES: usize = 10_000;

impl Reader<CalendarObject> {
    /// Returns the first occurrence, of the entries that match `filter`, that begins at `from` or later;
    /// one of whole days, also if it began earlier and has not ended. Cancelled and completed ones are
    /// left out. `None`: there is none within ten years.
    ///
    /// The cost is that of the filter and of each match; a series is parsed once.
    ///
    /// ```
    /// # use etui::Store;
    /// # use etui::calendar::{CalendarObject, time::{TimeZone, Timestamp}, zones::TimeZoneResolver};
    /// # let dir = tempfile::tempdir()?;
    /// # let store = Store::open(dir.path().join("personal.etui"))?;
    /// # let calendar = store.calendar()?;
    /// # let text = "BEGIN:VEVENT\r\nUID:1\r\nDTSTART:20261101T090000Z\r\nRRULE:FREQ=WEEKLY\r\n\
    /// #     SUMMARY:Dentist\r\nEND:VEVENT\r\n";
    /// # calendar.save(&CalendarObject::parse(text, &TimeZoneResolver::new())?)?;
    /// let now = Timestamp::from_seconds(1_795_478_400);    // 2026-11-24
    /// let next = calendar.next_occurrence(&"dentist".parse()?, now, &TimeZone::UTC)?;
    /// assert_eq!(next.expect("every week").during.start.to_string(), "20261129T090000Z");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Any error of reading.
    pub fn next_occurrence(
        &self,
        filter: &Filter,
        from: Timestamp,
        viewer: &TimeZone,
    ) -> Result<Option<Occurrence>> {
        self.read_ordered(|r| r.next_occurrence(filter, from, viewer))
    }
}

impl ReadState<'_, CalendarObject> {
    /// See [`Reader::next_occurrence`].
    pub(crate) fn next_occurrence(
        &self,
        filter: &Filter,
        from: Timestamp,
        viewer: &TimeZone,
    ) -> Result<Option<Occurrence>> {
        let matches = self.query(&Query::new(filter.clone()).columns(Columns::NONE))?;
        self.explain_errors(|| {
            let mut next: Option<Occurrence> = None;
            let mut zones = (ZoneInterner::default(), ObjectZones::default());
            for &id in matches.ids() {
                let found = self.next_of(id, from, viewer, &mut zones)?;
                // The order of `Reader::between`.
                let key = |o: &Occurrence| (o.during.start, o.during.end, o.record, o.component);
                next = next.into_iter().chain(found).min_by_key(key);
            }
            Ok(next)
        })
    }

    /// Returns the next occurrence of one record.
    fn next_of(
        &self,
        id: RecordId,
        from: Timestamp,
        viewer: &TimeZone,
        (names, objects): &mut (ZoneInterner, ObjectZones),
    ) -> Result<Option<Occurrence>> {
        let mut statement = self.conn.prepare_cached(
            "SELECT summary, (SELECT version FROM series s WHERE s.record = r.id) \
             FROM record r WHERE id = ?1",
        )?;
        let mut rows = statement.query([id.0])?;
        let Some(row) = rows.next()? else {
            return Ok(None);
        };
        let is_next = |o: &Occurrence| {
            let is_over = matches!(o.status, Some(Status::Cancelled | Status::Completed));
            let is_today = o.is_all_day() && o.during.end > from;
            !is_over && (o.during.start >= from || is_today)
        };
        let version: Option<TimeVersion> = row.get(1)?;
        let Some(version) = version else {
            let summary = row.get_ref(0)?.as_blob().unwrap_or_default();
            let stored = StoredSummary::from_bytes(summary, names);
            let (Some(start), Some(end)) = (&stored.start, &stored.end) else {
                return Ok(None);
            };
            let during = start.at(viewer)..end.at(viewer);
            return Ok(once_of(id.0, stored, during).filter(is_next));
        };
        let cache = self.db.cache::<SeriesCache>();
        let Some(known) = cache.get_or_parse(self.conn, id.0, version, objects)? else {
            return Ok(None);
        };
        let ahead = from..from.plus_seconds(MAX_YEARS * 366 * 86_400);
        let instances = known.series.between(ahead, viewer).take(MAX_INSTANCES);
        let mut occurrences = instances.filter_map(|i| instance_of(id.0, &known, i));
        Ok(occurrences.find(is_next))
    }
}
