//! `etui calendar alarms`: the next alarms.

use etui::calendar::DueAlarm;
use etui::calendar::time::DateTimeValue;

use super::span_args::local_now;
use crate::app::{App, readers_in};
use crate::datetime::{format_clock, format_day, format_short, parse_when, to_instant};
use crate::errors::{Failure, Result};
use crate::output::Table;
use crate::output::json::calendar::DueAlarmJson;

const EXAMPLES: &str = "\
Examples:
  etui calendar alarms                       the next 10
  etui calendar alarms --next 1 --json | jq -r .at
  etui calendar alarms --from tomorrow

Acknowledged alarms are left out. `etui calendar add --alarm 10m` sets one.";

/// Show the next alarms
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct AlarmsArgs {
    /// Number of alarms
    #[arg(long, value_name = "N", default_value_t = 10)]
    next: usize,
    /// Show alarms after this day or time [default: now]
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    from: Option<String>,
}

pub fn show_alarms(app: &mut App, name: Option<&str>, args: &AlarmsArgs) -> Result<()> {
    let here = local_now(&app.out);
    let from = match &args.from {
        Some(text) => {
            parse_when(text, here.now).map_err(|e| Failure::usage(format!("--from {text}: {e}")))?
        }
        None => DateTimeValue::Local(here.now),
    };
    let from = to_instant(from, &here.zone);
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let mut all: Vec<(String, DueAlarm)> = Vec::new();
    for (name, reader) in readers_in(name, &snapshot)? {
        let due = reader.alarms(from, args.next, &here.zone)?;
        all.extend(due.into_iter().map(|alarm| (name.clone(), alarm)));
    }
    all.sort_by_key(|(_, alarm)| alarm.at);
    all.truncate(args.next);
    if app.out.json {
        return all.iter().try_for_each(|(name, alarm)| {
            app.out
                .write_json(&DueAlarmJson::new(name, alarm, &here.zone))
        });
    }
    if all.is_empty() {
        return app.out.status("No alarms.");
    }
    let mut table = Table::new(&["#", "Alarm", "Start", "Title"]);
    for (_, alarm) in &all {
        let at = here.zone.to_local(alarm.at);
        let at = format!("{} {}", format_day(at.date()), format_clock(at));
        let start = alarm.start.as_ref();
        let start = start.map_or_else(String::new, |start| format_short(start, &here.zone));
        table.add_row([
            alarm.record.to_string().as_str(),
            &at,
            &start,
            match alarm.title.as_str() {
                "" => "(no title)",
                title => title,
            },
        ]);
    }
    table.write_to(&mut app.out)
}
