//! `etui calendar calendars`: which there are.

use crate::app::App;
use crate::errors::Result;
use crate::output::json::calendar::CalendarObject;
use crate::output::{Table, count, one_line, quoted};

const EXAMPLES: &str = "\
Examples:
  etui calendar calendars
  etui calendar calendars --create Work
  etui import --calendar Work work.ics";

/// List calendars, or make one
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Make a calendar of this name
    #[arg(long, value_name = "NAME")]
    create: Option<String>,
}

/// Lists them, or makes one.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    if let Some(name) = &args.create {
        let store = app.open_to_write()?;
        store.create_calendar(name)?;
        store.close()?;
        if app.out.json {
            return app.out.object(&CalendarObject { name, entries: 0 });
        }
        return app.out.say(format!(
            "Made a calendar: {} (use it with --calendar {})",
            one_line(name),
            quoted(name)
        ));
    }
    let store = app.open_to_read()?;
    let mut table = Table::new(&["Entries", "Calendar"]);
    for name in store.calendars()? {
        let entries = store.calendar_named(&name)?.count()?;
        if app.out.json {
            app.out.object(&CalendarObject {
                name: &name,
                entries,
            })?;
        } else {
            table.row([count(entries).as_str(), &name]);
        }
    }
    if app.out.json {
        return Ok(());
    }
    table.write(&mut app.out)
}
