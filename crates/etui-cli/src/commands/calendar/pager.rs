//! The list of a calendar in the pager.

use etui::calendar::time::{CalendarTime, Date, TimeZone};
use etui::calendar::{Calendar, CalendarObject, Summary};
use etui::record::{Paging, StoredRecord};

use super::show::entry_details;
use super::span_args::local_now;
use crate::commands::records::details::RecordDetails;
use crate::commands::records::pager::{COLUMN_GAP, ListLandmark, PagedRecord};
use crate::datetime::format_short;
use crate::errors::Result;
use crate::output::OutputWriter;

/// Width of a start: `2026-11-23 09:00`.
const START_WIDTH: usize = 16;

impl PagedRecord for CalendarObject {
    const EMPTY_LIST: &'static str = "No entries.";
    const NO_MATCH: &'static str = "No entry matches.";
    const LANDMARK_HINT: &'static str = "left, right: year";

    fn cells(summary: &Summary, out: &OutputWriter) -> Vec<String> {
        let start = summary.start.as_ref();
        let start = start.map_or_else(String::new, |time| format_short(time, &out.time_zone()));
        vec![start, summary.title.clone(), summary.location.clone()]
    }

    fn layout_columns(cells: &[String], room: usize) -> Vec<(&str, usize)> {
        let cell = |n: usize| cells.get(n).map_or("", String::as_str);
        let title = match cell(1) {
            "" => "(no title)",
            title => title,
        };
        let (start, place) = (cell(0), cell(2));
        let left = room.saturating_sub(START_WIDTH + COLUMN_GAP);
        match room {
            0..30 => vec![(title, room)],
            30..60 => vec![(start, START_WIDTH), (title, left)],
            _ => {
                let width = (left - COLUMN_GAP) * 3 / 5;
                vec![
                    (start, START_WIDTH),
                    (title, width),
                    (place, left - COLUMN_GAP - width),
                ]
            }
        }
    }

    /// Returns the years in which entries start.
    fn landmarks(calendar: &Calendar<'_>, out: &OutputWriter) -> Result<Vec<ListLandmark>> {
        let zone = out.time_zone();
        let count = calendar.count()?;
        let mut marks = Vec::new();
        let mut position = 0;
        while position < count {
            let Some(day) = start_day_at(calendar, position, &zone)? else {
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
            position = first_position_from(calendar, next, (position + 1, count), &zone)?;
        }
        Ok(marks)
    }

    /// Returns the position of the first entry that starts today or later.
    fn opening_position(calendar: &Calendar<'_>, out: &OutputWriter) -> Result<u64> {
        let here = local_now(out);
        let count = calendar.count()?;
        let today = first_position_from(calendar, here.now.date(), (0, count), &here.zone)?;
        // If there is none, the end of the list is shown.
        Ok(today.min(count.saturating_sub(1)))
    }

    fn record_details(
        calendar: &Calendar<'_>,
        stored: &StoredRecord<CalendarObject>,
        out: &OutputWriter,
    ) -> std::result::Result<RecordDetails, String> {
        let record = calendar.record(&stored.uid).map_err(|e| e.to_string())?;
        let (stored, record) = record.ok_or("The entry was removed.")?;
        Ok(entry_details(&stored, &record, None, &local_now(out)))
    }
}

/// Returns the day on which the entry at a position starts, or `None` without a time.
fn start_day_at(calendar: &Calendar<'_>, position: u64, zone: &TimeZone) -> Result<Option<Date>> {
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

/// Returns the first position in the range with an entry that starts on `day` or later. Undated entries
/// are at the end.
fn first_position_from(
    calendar: &Calendar<'_>,
    day: Date,
    (mut from, mut to): (u64, u64),
    zone: &TimeZone,
) -> Result<u64> {
    while from < to {
        let middle = from + (to - from) / 2;
        match start_day_at(calendar, middle, zone)? {
            Some(start) if start < day => from = middle + 1,
            _ => to = middle,
        }
    }
    Ok(from)
}
