//! Exports one calendar or all calendars as iCalendar objects in one file.

use std::io::{self, Write};

use etui::RecordId;
use etui::calendar::{CalendarObject, Filter, Reader};

use super::ExportArgs;
use crate::app::{App, readers_in};
use crate::commands::new_file::NewFile;
use crate::commands::records::find::no_match;
use crate::commands::records::parse_filter;
use crate::errors::{Failure, Result};
use crate::output::json::calendar::EntryJson;
use crate::output::{OutputSink, escape_text, pluralize};

/// The selected entries of a calendar; `None` selects all.
type EntrySelection = Option<Vec<RecordId>>;

/// Exports the calendar with this name, or all calendars.
pub fn export_calendars(app: &mut App, args: &ExportArgs, name: Option<&str>) -> Result<()> {
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let mut all = Vec::new();
    for (_, calendar) in readers_in(name, &snapshot)? {
        let selection = select_entries(&calendar, &args.filter)?;
        all.push((calendar, selection));
    }
    // An empty calendar is exported as an empty object only if nothing else is exported.
    let mut some = Vec::new();
    for (calendar, selection) in &all {
        let count = match selection {
            Some(ids) => ids.len() as u64,
            None => calendar.count()?,
        };
        if count > 0 {
            some.push((calendar, selection));
        }
    }
    match (some.is_empty(), all.first()) {
        (true, Some((calendar, None))) => some.push((calendar, &None)),
        (true, _) => return Err(no_match::<CalendarObject>(&args.filter)),
        (false, _) => {}
    }
    if app.out.json {
        if args.output.is_some() {
            return Err(Failure::usage(
                "--json writes JSON to standard output; leave out --output",
            ));
        }
        return some
            .into_iter()
            .try_for_each(|(calendar, selection)| write_json_entries(app, calendar, selection));
    }
    let Some(path) = &args.output else {
        let mut to = OutputSink::new(&mut app.out);
        let written = write_calendars(&mut to, &some);
        return match to.failure() {
            Some(failure) => Err(failure),
            None => written.map(|_| ()),
        };
    };
    let mut file = NewFile::create(path, args.force)?;
    let written = write_calendars(&mut file, &some)?;
    file.commit()?;
    app.out.status(format!(
        "Wrote {} to {}",
        pluralize(written, "entry"),
        escape_text(&path.display().to_string())
    ))
}

/// Returns the entries of a calendar that match the filter.
fn select_entries(calendar: &Reader<'_>, words: &[String]) -> Result<EntrySelection> {
    Ok(match parse_filter::<CalendarObject>(words)? {
        Filter::All => None,
        filter => {
            let found = calendar.find(&filter)?;
            Some(found.into_iter().map(|e| e.id).collect())
        }
    })
}

/// Writes calendars. Returns the total number of entries.
fn write_calendars(out: &mut dyn Write, all: &[(&Reader<'_>, &EntrySelection)]) -> Result<u64> {
    let mut out = LineTracker { out, last: b'\n' };
    let mut written = 0;
    for (calendar, selection) in all {
        // The last line of a byte-for-byte export may have no line end.
        if out.last != b'\n' {
            out.write_all(b"\r\n")
                .map_err(|e| Failure::named_io("the output", e))?;
        }
        written += calendar.export(&mut out, selection.as_deref())?;
    }
    Ok(written)
}

/// A writer that remembers its last byte.
struct LineTracker<'w> {
    out: &'w mut dyn Write,
    last: u8,
}

impl Write for LineTracker<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        if let Some(&last) = bytes[..written].last() {
            self.last = last;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn write_json_entries(
    app: &mut App,
    calendar: &Reader<'_>,
    selection: &EntrySelection,
) -> Result<()> {
    let mut all = Vec::new();
    let ids = match selection {
        Some(ids) => ids,
        None => {
            calendar.for_each(|id, _| {
                all.push(id);
                Ok(())
            })?;
            &all
        }
    };
    let zone = app.out.time_zone();
    for &id in ids {
        let Some(stored) = calendar.by_id(id)? else {
            continue;
        };
        if let Some((stored, record)) = calendar.record(&stored.uid)? {
            app.out
                .write_json(&EntryJson::new(&stored, &record, &zone))?;
        }
    }
    Ok(())
}
