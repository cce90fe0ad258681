//! A calendar goes out as iCalendar.

use etui::RecordId;
use etui::calendar::{Filter, Reader, Record};

use super::Args;
use crate::app::App;
use crate::commands::file::NewFile;
use crate::commands::records::filter;
use crate::commands::records::find::nothing_found;
use crate::errors::{Failure, Result};
use crate::output::json::calendar::RecordObject;
use crate::output::{ToOut, plural, shown};

/// Writes the calendar of this name.
pub fn run(app: &mut App, args: &Args, name: &str) -> Result<()> {
    let filter = filter::<Record>(&args.filter)?;
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let calendar = snapshot.calendar_named(name)?;
    let meant = match filter {
        Filter::All => None,
        filter => {
            let found = calendar.find(&filter)?;
            if found.is_empty() {
                return Err(nothing_found::<Record>(&args.filter));
            }
            Some(found.into_iter().map(|e| e.id).collect::<Vec<_>>())
        }
    };
    if app.out.json {
        if args.output.is_some() {
            return Err(Failure::usage(
                "--json writes JSON to standard output; leave out --output",
            ));
        }
        return write_objects(app, &calendar, meant);
    }
    let Some(path) = &args.output else {
        let mut to = ToOut::new(&mut app.out);
        let written = calendar.export(&mut to, meant.as_deref());
        return match to.failure() {
            Some(failure) => Err(failure),
            None => written.map(|_| ()).map_err(Failure::from),
        };
    };
    let mut file = NewFile::begin(path, args.force)?;
    let written = calendar.export(&mut file, meant.as_deref())?;
    file.finish()?;
    app.out.say(format!(
        "Wrote {} to {}",
        plural(written, "entry"),
        shown(&path.display().to_string())
    ))
}

fn write_objects(app: &mut App, calendar: &Reader<'_>, meant: Option<Vec<RecordId>>) -> Result<()> {
    let ids = match meant {
        Some(ids) => ids,
        None => {
            let mut ids = Vec::new();
            calendar.for_each(|id, _| {
                ids.push(id);
                Ok(())
            })?;
            ids
        }
    };
    let zone = app.out.zone();
    for id in ids {
        let Some(stored) = calendar.by_id(id)? else {
            continue;
        };
        if let Some((stored, record)) = calendar.record(&stored.uid)? {
            app.out.object(&RecordObject::of(&stored, &record, &zone))?;
        }
    }
    Ok(())
}
