//! Calendars go out as iCalendar: one, or all of them, one behind the other.

use std::io::{self, Write};

use etui::RecordId;
use etui::calendar::{CalendarObject, Filter, Reader};

use super::Args;
use crate::app::{App, all_in};
use crate::commands::new_file::NewFile;
use crate::commands::records::filter;
use crate::commands::records::find::nothing_found;
use crate::errors::{Failure, Result};
use crate::output::json::calendar::RecordObject;
use crate::output::{OutputSink, plural, shown};

/// What goes out of a calendar; `None`: all of it.
type Meant = Option<Vec<RecordId>>;

/// Writes the calendar of this name, or else all calendars.
pub fn run(app: &mut App, args: &Args, name: Option<&str>) -> Result<()> {
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let mut all = Vec::new();
    for (_, calendar) in all_in(name, &snapshot)? {
        let meant = meant(&calendar, &args.filter)?;
        all.push((calendar, meant));
    }
    // An empty calendar is an object without records, but only where nothing else goes out.
    let mut some = Vec::new();
    for (calendar, meant) in &all {
        let count = match meant {
            Some(ids) => ids.len() as u64,
            None => calendar.count()?,
        };
        if count > 0 {
            some.push((calendar, meant));
        }
    }
    match (some.is_empty(), all.first()) {
        (true, Some((calendar, None))) => some.push((calendar, &None)),
        (true, _) => return Err(nothing_found::<CalendarObject>(&args.filter)),
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
            .try_for_each(|(calendar, meant)| write_objects(app, calendar, meant));
    }
    let Some(path) = &args.output else {
        let mut to = OutputSink::new(&mut app.out);
        let written = write(&mut to, &some);
        return match to.failure() {
            Some(failure) => Err(failure),
            None => written.map(|_| ()),
        };
    };
    let mut file = NewFile::begin(path, args.force)?;
    let written = write(&mut file, &some)?;
    file.finish()?;
    app.out.say(format!(
        "Wrote {} to {}",
        plural(written, "entry"),
        shown(&path.display().to_string())
    ))
}

/// What the filter's words mean in a calendar.
fn meant(calendar: &Reader<'_>, words: &[String]) -> Result<Meant> {
    Ok(match filter::<CalendarObject>(words)? {
        Filter::All => None,
        filter => {
            let found = calendar.find(&filter)?;
            Some(found.into_iter().map(|e| e.id).collect())
        }
    })
}

/// Writes calendars; tells how many entries they have together.
fn write(out: &mut dyn Write, all: &[(&Reader<'_>, &Meant)]) -> Result<u64> {
    let mut out = Lines { out, last: b'\n' };
    let mut written = 0;
    for (calendar, meant) in all {
        // Byte for byte may mean that the last line has no end.
        if out.last != b'\n' {
            out.write_all(b"\r\n")
                .map_err(|e| Failure::named_io("the output", e))?;
        }
        written += calendar.export(&mut out, meant.as_deref())?;
    }
    Ok(written)
}

/// Notes what was written last.
struct Lines<'w> {
    out: &'w mut dyn Write,
    last: u8,
}

impl Write for Lines<'_> {
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

fn write_objects(app: &mut App, calendar: &Reader<'_>, meant: &Meant) -> Result<()> {
    let mut all = Vec::new();
    let ids = match meant {
        Some(ids) => ids,
        None => {
            calendar.for_each(|id, _| {
                all.push(id);
                Ok(())
            })?;
            &all
        }
    };
    let zone = app.out.zone();
    for &id in ids {
        let Some(stored) = calendar.by_id(id)? else {
            continue;
        };
        if let Some((stored, record)) = calendar.record(&stored.uid)? {
            app.out.object(&RecordObject::of(&stored, &record, &zone))?;
        }
    }
    Ok(())
}
