//! The list of a calendar to look around in.

use etui::calendar::time::{CalendarTime, Date, TimeZone};
use etui::calendar::{Calendar, CalendarObject, Summary};
use etui::record::{Paging, StoredRecord};

use super::show::described;
use super::span_args::here;
use crate::commands::records::details::RecordDetails;
use crate::commands::records::pager::{GAP, ListLandmark, PagedRecord};
use crate::datetime::short;
use crate::errors::Result;
use crate::output::OutputWriter;

/// Columns of a start: `2026-11-23 09:00`.
const START: usize = 16;

impl PagedRecord for CalendarObject {
    const NONE: &'static str = "No entries.";
    const NONE_FOUND: &'static str = "Nothing is found.";
    const JUMP: &'static str = "left, right: year";

    fn cells(summary: &Summary, out: &OutputWriter) -> Vec<String> {
        let start = summary.start.as_ref();
        let start = start.map_or_else(String::new, |time| short(time, &out.zone()));
        vec![start, summary.title.clone(), summary.place.clone()]
    }

    fn layout(cells: &[String], room: usize) -> Vec<(&str, usize)> {
        let cell = |n: usize| cells.get(n).map_or("", String::as_str);
        let title = match cell(1) {
            "" => "(no title)",
            title => title,
        };
        let (start, place) = (cell(0), cell(2));
        let left = room.saturating_sub(START + GAP);
        match room {
            0..30 => vec![(title, room)],
            30..60 => vec![(start, START), (title, left)],
            _ => {
                let width = (left - GAP) * 3 / 5;
                vec![(start, START), (title, width), (place, left - GAP - width)]
            }
        }
    }

    /// Each year in which something starts.
    fn landmarks(calendar: &Calendar<'_>, out: &OutputWriter) -> Result<Vec<ListLandmark>> {
        let zone = out.zone();
        let count = calendar.count()?;
        let mut marks = Vec::new();
        let mut position = 0;
        while position < count {
            let Some(day) = day_at(calendar, position, &zone)? else {
                break;
            };
            let (year, _, _) = day.ymd();
            marks.push(ListLandmark {
                label: year.to_string(),
                position,
            });
            let Some(next) = Date::new(year + 1, 1, 1) else {
                break;
            };
            position = first_from(calendar, next, (position + 1, count), &zone)?;
        }
        Ok(marks)
    }

    /// Where what starts today or later begins.
    fn opening(calendar: &Calendar<'_>, out: &OutputWriter) -> Result<u64> {
        let here = here(out);
        let count = calendar.count()?;
        let today = first_from(calendar, here.now.date(), (0, count), &here.zone)?;
        // Behind them all the last ones are shown.
        Ok(today.min(count.saturating_sub(1)))
    }

    fn about(
        calendar: &Calendar<'_>,
        stored: &StoredRecord<CalendarObject>,
        out: &OutputWriter,
    ) -> std::result::Result<RecordDetails, String> {
        let record = calendar.record(&stored.uid).map_err(|e| e.to_string())?;
        let (stored, record) = record.ok_or("It was removed meanwhile.")?;
        Ok(described(&stored, &record, None, &here(out)))
    }
}

/// The day on which the entry at a position starts; `None` without a time.
fn day_at(calendar: &Calendar<'_>, position: u64, zone: &TimeZone) -> Result<Option<Date>> {
    let page = Paging {
        offset: position,
        limit: 1,
    };
    let entry = calendar.list(page)?.into_iter().next();
    Ok(entry
        .and_then(|e| e.summary.start)
        .map(|start| match start {
            CalendarTime::Date(day) => day,
            start => zone.to_local(start.at(zone)).date(),
        }))
}

/// The first position of these at which something starts on a day or later; undated entries stand
/// at the end.
fn first_from(
    calendar: &Calendar<'_>,
    day: Date,
    (mut from, mut to): (u64, u64),
    zone: &TimeZone,
) -> Result<u64> {
    while from < to {
        let middle = from + (to - from) / 2;
        match day_at(calendar, middle, zone)? {
            Some(start) if start < day => from = middle + 1,
            _ => to = middle,
        }
    }
    Ok(from)
}
