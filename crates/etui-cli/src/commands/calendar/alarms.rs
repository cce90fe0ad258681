//! `etui calendar alarms`: which are due next.

use etui::calendar::DueAlarm;
use etui::calendar::time::DateTimeValue;

use super::span_args::here;
use crate::app::{App, all_in};
use crate::datetime::{clock, day, instant, short, when};
use crate::errors::{Failure, Result};
use crate::output::Table;
use crate::output::json::calendar::DueAlarmObject;

const EXAMPLES: &str = "\
Examples:
  etui calendar alarms                       the next 10
  etui calendar alarms --next 1 --json | jq -r .at
  etui calendar alarms --from tomorrow

Alarms that were acknowledged are left out. `etui calendar add --alarm 10m` makes one.";

/// Show which alarms are due next
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Show this many
    #[arg(long, value_name = "N", default_value_t = 10)]
    next: usize,
    /// Due after this day or time [default: now]
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    from: Option<String>,
}

/// Shows them.
pub fn run(app: &mut App, name: Option<&str>, args: &Args) -> Result<()> {
    let here = here(&app.out);
    let from = match &args.from {
        Some(text) => {
            when(text, here.now).map_err(|e| Failure::usage(format!("--from {text}: {e}")))?
        }
        None => DateTimeValue::Local(here.now),
    };
    let from = instant(from, &here.zone);
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let mut all: Vec<(String, DueAlarm)> = Vec::new();
    for (name, reader) in all_in(name, &snapshot)? {
        let due = reader.alarms(from, args.next, &here.zone)?;
        all.extend(due.into_iter().map(|alarm| (name.clone(), alarm)));
    }
    all.sort_by_key(|(_, alarm)| alarm.at);
    all.truncate(args.next);
    if app.out.json {
        return all.iter().try_for_each(|(name, alarm)| {
            app.out.object(&DueAlarmObject::of(name, alarm, &here.zone))
        });
    }
    if all.is_empty() {
        return app.out.say("No alarm is due.");
    }
    let mut table = Table::new(&["#", "Alarm", "Start", "Title"]);
    for (_, alarm) in &all {
        let at = here.zone.to_local(alarm.at);
        let at = format!("{} {}", day(at.date()), clock(at));
        let start = alarm.start.as_ref();
        let start = start.map_or_else(String::new, |start| short(start, &here.zone));
        table.row([
            alarm.record.to_string().as_str(),
            &at,
            &start,
            match alarm.title.as_str() {
                "" => "(no title)",
                title => title,
            },
        ]);
    }
    table.write(&mut app.out)
}
