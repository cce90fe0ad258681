//! The events and the queries of the experiment.

use std::ops::Range;
use std::path::Path;

use etui::calendar::CalendarObject;
use etui::calendar::time::Timestamp;
use etui_testkit::calendars::{Calendars, Entry, Shape, Span, write_entries};

use etui_lab::Error;
use etui_lab::experiments::backends::local::Kept;

/// The calendar that is used.
const SEED: u64 = 6;
/// 2022-07-04, a Monday in the middle of the usual years, three minutes past four: in no zone does
/// an event begin or end within two hours of it. So it does not matter on which side of a range
/// its ends are, nor that the server takes a range's end in the time zone of a series.
const MONDAY: i64 = 19_177 * DAY + 4 * 3_600 + 180;
/// Seconds of a day.
pub const DAY: i64 = 86_400;

/// Events without end. Left out of the usual mix are to-dos and journal entries, for which the
/// server has stores of another kind, and rules that may not make their own start: whether that
/// counts is each product's own.
pub fn generate_events() -> impl Iterator<Item = Entry> {
    Calendars::over(SEED, Span::USUAL).filter(|entry| {
        !matches!(entry.shape, Shape::Todo | Shape::Journal)
            && !entry.text.contains("BYDAY=-1")
            && !entry.text.contains("BYDAY=MO,WE,FR")
    })
}

/// Returns `count` UIDs spread over the first events.
pub fn select_uids(events: u64, count: u64) -> Vec<String> {
    let all: Vec<Entry> = generate_events().take(events as usize).collect();
    let at = |n| Some(all.get((n * 37 % events) as usize)?.uid.clone());
    (0..count.min(events)).filter_map(at).collect()
}

pub fn write_events(path: &Path, entries: impl IntoIterator<Item = Entry>) -> Result<(), Error> {
    let failed = |e| Error::file(path, e);
    let mut out = std::io::BufWriter::new(std::fs::File::create(path).map_err(failed)?);
    write_entries(&mut out, entries).map_err(failed)?;
    std::io::Write::flush(&mut out).map_err(failed)
}

pub fn parse_records(entries: impl Iterator<Item = Entry>) -> Result<Vec<CalendarObject>, Error> {
    entries
        .map(|entry| CalendarObject::parsed(entry.text.as_bytes()))
        .collect()
}

/// A range of time that is asked for.
#[derive(Debug, Clone)]
pub struct RangeQuery {
    pub name: &'static str,
    /// From when until when, in seconds since 1970.
    pub range: Range<i64>,
}

impl RangeQuery {
    fn days(name: &'static str, days: i64) -> Self {
        Self {
            name,
            range: MONDAY..MONDAY + days * DAY,
        }
    }

    pub fn to_instants(&self) -> Range<Timestamp> {
        range_instants(&self.range)
    }
}

pub fn range_instants(range: &Range<i64>) -> Range<Timestamp> {
    Timestamp::from_seconds(range.start)..Timestamp::from_seconds(range.end)
}

pub fn query_ranges() -> [RangeQuery; 2] {
    [RangeQuery::days("week", 7), RangeQuery::days("year", 365)]
}

/// The searches by name: a word of some titles, and a part of words. Letters without marks only,
/// on which all products agree.
pub const SEARCHES: [(&str, &str); 2] = [("title_word", "dentist"), ("title_part", "ear")];
