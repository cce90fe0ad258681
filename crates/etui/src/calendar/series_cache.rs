//! Cache of parsed series. Parsing a series costs more than expanding one week of it.
//!
//! One LRU for a store, keyed by record and checked against the version of the time index
//! ([`TimeVersion`]), so that a stale entry is never used and no write has to invalidate anything.

use std::sync::{Arc, Mutex, PoisonError};

use hashlink::LruCache;
use rusqlite::{Connection, OptionalExtension};

use super::ics::ComponentKind;
use super::object_zones::ObjectZones;
use super::range::takes_time;
use super::recurrence::{RecurrenceId, RecurrenceSet};
use super::summary::MAX_SHOWN;
use super::time::{CalendarTime, TimeZone, Timestamp};
use super::{Alarm, CalendarComponent, CalendarObject, Status};
use crate::error::Result;
use crate::record::keys::clip_text;
use crate::record::time_index::TimeVersion;

/// Series that are kept at most.
const MAX_CACHED_SERIES: usize = 16_384;
/// Approximate size of all that is kept, in bytes.
const MAX_CACHED_BYTES: usize = 16 << 20;

/// A record, parsed for expansion.
#[derive(Debug)]
pub(super) struct ParsedSeries {
    pub(super) series: RecurrenceSet,
    /// Whether it happens more than once, as far as it says.
    pub(super) recurs: bool,
    /// Components with a time, as instances number them.
    pub(super) components: Vec<ParsedComponent>,
    /// Components without a time that have alarms.
    pub(super) undated: Vec<ParsedComponent>,
    /// Alarms of instances that were put off.
    pub(super) snoozes: Vec<ParsedSnooze>,
}

/// An instance whose alarms were put off.
#[derive(Debug)]
pub(super) struct ParsedSnooze {
    /// Its original start, in the form of the series.
    pub(super) instance: CalendarTime,
    pub(super) until: Timestamp,
}

/// Returns the snoozes of the master component. One without an instance is of an entry that happens once.
fn read_snoozes(record: &CalendarObject) -> Vec<ParsedSnooze> {
    let main = record.master();
    let Some(start) = main.timing.as_ref().map(|timing| &timing.start) else {
        return Vec::new();
    };
    let of_instance = |at: Timestamp| match start {
        CalendarTime::Date(_) => CalendarTime::Date(at.utc().date()),
        CalendarTime::Floating(_) => CalendarTime::Floating(at.utc()),
        CalendarTime::Zoned(_, zone) => CalendarTime::Zoned(zone.to_local(at), zone.clone()),
        CalendarTime::Utc(_) => CalendarTime::Utc(at),
    };
    let each = main.snoozes.iter().filter_map(|snooze| {
        let instance = match snooze.instance {
            Some(at) => of_instance(at),
            None if main.recurs() => return None,
            None => start.clone(),
        };
        Some(ParsedSnooze {
            instance,
            until: snooze.until,
        })
    });
    each.collect()
}

/// A component of a record, as occurrences and alarms show it.
#[derive(Debug)]
pub(super) struct ParsedComponent {
    /// Its position in the record.
    pub(super) position: usize,
    pub(super) kind: ComponentKind,
    pub(super) title: Arc<str>,
    pub(super) location: Arc<str>,
    pub(super) status: Option<Status>,
    pub(super) transparent: bool,
    pub(super) start: Option<CalendarTime>,
    pub(super) recurrence_id: Option<RecurrenceId>,
    pub(super) alarms: Vec<Alarm>,
    /// Its alarms up to this moment were acknowledged.
    pub(super) acknowledged: Option<Timestamp>,
}

impl ParsedSeries {
    pub(super) fn new(record: &CalendarObject) -> Self {
        let items = || record.components().enumerate();
        let undated = items().filter(|(_, i)| i.timing.is_none() && !i.alarms.is_empty());
        Self {
            series: record.recurrence_set(),
            recurs: record.components().any(|i| i.recurs() || i.is_override()),
            components: items()
                .filter(|(_, item)| item.timing.is_some())
                .map(|(position, item)| ParsedComponent::new(position, item))
                .collect(),
            undated: undated
                .map(|(position, item)| ParsedComponent::new(position, item))
                .collect(),
            snoozes: read_snoozes(record),
        }
    }

    /// Approximate size in memory. A zone of a file's own has a table of its transitions.
    fn memory_weight(&self, record: &CalendarObject) -> usize {
        let per_item = |item: &CalendarComponent| {
            let dates = item.timing.as_ref();
            let dates = dates.map_or(0, |t| t.dates.len() + t.exception_dates.len());
            // Rough figures: a component, a date, an alarm, a table of transitions.
            600 + 64 * dates + 128 * item.alarms.len() + (item.defined_zones.len() << 14)
        };
        record.components().map(per_item).sum()
    }
}

impl ParsedComponent {
    /// Returns true if its instances take up time.
    pub(super) fn takes_time(&self) -> bool {
        takes_time(self.kind, self.transparent, self.status)
    }

    fn new(position: usize, item: &CalendarComponent) -> Self {
        let shown = |text: &Option<String>| -> Arc<str> {
            let text = text.as_deref().map(|text| clip_text(text, MAX_SHOWN));
            text.map(Arc::from).unwrap_or_default()
        };
        let timing = item.timing.as_ref();
        let start = timing.map(|t| &t.start).or(item.start.as_ref());
        Self {
            position,
            kind: item.kind,
            title: shown(&item.summary),
            location: shown(&item.location),
            status: item.status,
            transparent: item.transparent,
            start: start.cloned(),
            recurrence_id: timing.and_then(|t| t.recurrence_id.clone()),
            alarms: item.alarms.clone(),
            acknowledged: item.acknowledged.as_ref().map(|t| t.at(&TimeZone::UTC)),
        }
    }
}

/// The parsed series of a store that were used last.
#[derive(Debug)]
pub(crate) struct SeriesCache(Mutex<CachedEntries>);

#[derive(Debug)]
struct CachedEntries {
    by_record: LruCache<i64, CachedEntry>,
    bytes: usize,
}

#[derive(Debug)]
struct CachedEntry {
    version: TimeVersion,
    series: Arc<ParsedSeries>,
    weight: usize,
}

impl Default for SeriesCache {
    fn default() -> Self {
        Self(Mutex::new(CachedEntries {
            by_record: LruCache::new(MAX_CACHED_SERIES),
            bytes: 0,
        }))
    }
}

impl SeriesCache {
    /// Returns a record as of `version`; `None` if its text is gone or is no record.
    pub(super) fn get_or_parse(
        &self,
        conn: &Connection,
        record: i64,
        version: TimeVersion,
        zones: &mut ObjectZones,
    ) -> Result<Option<Arc<ParsedSeries>>> {
        if let Some(entry) = self.lock_entries().by_record.get(&record)
            && entry.version == version
        {
            return Ok(Some(Arc::clone(&entry.series)));
        }
        // Parsed without the lock: two threads may parse one series, and none waits for the other.
        let row: Option<(Vec<u8>, Option<i64>)> = conn
            .prepare_cached("SELECT text, source FROM record WHERE id = ?1")?
            .query_row([record], |r| Ok((r.get(0)?, r.get(1)?)))
            .optional()?;
        let Some((text, shared)) = row else {
            return Ok(None);
        };
        let Ok(parsed) = CalendarObject::parse(text, &*zones.zones_of(conn, shared)?) else {
            return Ok(None);
        };
        let series = Arc::new(ParsedSeries::new(&parsed));
        self.lock_entries().insert(
            record,
            CachedEntry {
                version,
                weight: series.memory_weight(&parsed),
                series: Arc::clone(&series),
            },
        );
        Ok(Some(series))
    }

    fn lock_entries(&self) -> std::sync::MutexGuard<'_, CachedEntries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedEntries {
    fn insert(&mut self, record: i64, entry: CachedEntry) {
        self.bytes += entry.weight;
        if let Some(former) = self.by_record.remove(&record) {
            self.bytes -= former.weight;
        }
        while self.bytes > MAX_CACHED_BYTES || self.by_record.len() >= MAX_CACHED_SERIES {
            match self.by_record.remove_lru() {
                Some((_, oldest)) => self.bytes -= oldest.weight,
                None => break,
            }
        }
        self.by_record.insert(record, entry);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::calendar::zones::TimeZoneResolver;

    #[test]
    fn cache_evicts_the_oldest_entries() {
        let text = "BEGIN:VEVENT\r\nUID:1\r\nDTSTART:20260101T090000Z\r\nEND:VEVENT\r\n";
        let record = CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap();
        let series = Arc::new(ParsedSeries::new(&record));
        assert!(series.memory_weight(&record) >= 600);
        let cache = SeriesCache::default();
        let insert = |record, weight| {
            cache.lock_entries().insert(
                record,
                CachedEntry {
                    version: [0; 16],
                    series: Arc::clone(&series),
                    weight,
                },
            );
        };
        let held = || {
            let entries = cache.lock_entries();
            (entries.by_record.len(), entries.bytes)
        };
        for record in 0..2 * MAX_CACHED_SERIES as i64 {
            insert(record, 1);
        }
        assert_eq!(held(), (MAX_CACHED_SERIES, MAX_CACHED_SERIES));
        insert(1, MAX_CACHED_BYTES);
        assert_eq!(held(), (1, MAX_CACHED_BYTES));
        insert(1, 5);
        insert(2, MAX_CACHED_BYTES - 5);
        assert_eq!(held(), (2, MAX_CACHED_BYTES));
        insert(3, 1);
        assert_eq!(held(), (2, MAX_CACHED_BYTES - 4));
    }
}
