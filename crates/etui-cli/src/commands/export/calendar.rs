//! Exports one calendar or all calendars as iCalendar objects in one file.

use std::io::{self, Write};

use etui::calendar::CalendarObject;
use etui_program::output::pluralize;
use etui_program::{App, Result};

use super::{ExportArgs, for_each_record, report_written, select_records};
use crate::commands::export_target::{ExportTarget, write_failure};
use crate::json::calendar::entry_json;

/// Exports the calendar given with `--calendar`, or all calendars.
pub fn export_calendars(app: &mut App, args: &ExportArgs) -> Result<()> {
    app.calendar.clone_from(&args.calendar);
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let mut all = select_records::<CalendarObject>(app, &snapshot, &args.filter)?;
    if app.out.json {
        let zone = app.out.time_zone();
        return for_each_record(&all, |calendar, id, _| {
            let stored = calendar.get(id)?;
            let record = stored
                .map(|stored| calendar.record(&stored.uid))
                .transpose()?;
            match record.flatten() {
                Some((stored, record)) => app.out.write_json(&entry_json(&stored, &record, &zone)),
                None => Ok(()),
            }
        });
    }
    let mut counts = Vec::new();
    for (calendar, matches) in &all {
        counts.push(match matches {
            Some(ids) => ids.len() as u64,
            None => calendar.count()?,
        });
    }
    // An empty calendar is exported as an empty object only if nothing else is exported.
    let written: u64 = counts.iter().sum();
    match written {
        0 => all.truncate(1),
        _ => {
            let mut counts = counts.into_iter();
            all.retain(|_| counts.next() != Some(0));
        }
    }
    let path = args.path();
    let mut target = ExportTarget::open(&mut app.out, path, args.force)?;
    let mut out = LineTracker {
        out: &mut target,
        last: b'\n',
    };
    for (calendar, matches) in &all {
        // The last line of a byte-for-byte export may have no line end.
        if out.last != b'\n' {
            let ended = out.write_all(b"\r\n");
            ended.map_err(|e| write_failure(path, e))?;
        }
        calendar.export(&mut out, matches.as_deref())?;
    }
    target.commit()?;
    report_written(app, path, &pluralize(written, "entry"))
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
