//! `etui calendar alarms`: the next alarms.

use etui::calendar::time::DateTimeValue;
use etui::calendar::{CalendarObject, DueAlarm};
use etui_program::output::{Table, name_cut};
use etui_program::{App, Failure, Result};

use super::span_args::local_now;
use crate::commands::records::name_or_placeholder;
use crate::json::calendar::due_alarm_json;
use etui_when::{format_clock, format_day, format_short, parse_when, to_instant};

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

pub fn show_alarms(app: &mut App, args: &AlarmsArgs) -> Result<()> {
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
    let mut cut = Vec::new();
    for (name, reader) in app.readers_in::<CalendarObject>(&snapshot)? {
        let due = reader.alarms(from, args.next, &here.zone)?;
        all.extend(due.alarms.into_iter().map(|alarm| (name.clone(), alarm)));
        cut.extend(due.cut);
    }
    all.sort_by_key(|(_, alarm)| alarm.at);
    all.truncate(args.next);
    if let Some(names) = name_cut(&cut) {
        app.out.write_note(&format!(
            "Not all alarms of {names} were searched; there are too many"
        ));
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
        let id = alarm.record.to_string();
        let title = name_or_placeholder::<CalendarObject>(&alarm.title);
        table.add_row([id.as_str(), &at, &start, title]);
    }
    app.out.write_table(&table, &all, |out, (name, alarm)| {
        out.write_json(&due_alarm_json(name, alarm, &here.zone))
    })
}
