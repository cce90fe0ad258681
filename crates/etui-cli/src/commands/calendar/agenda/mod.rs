//! `etui calendar agenda`: the occurrences of a period, day by day.

mod days;
mod draw;

use etui::calendar::ics::ComponentKind;
use etui::calendar::time::{CalendarTime, TimeZone};
use etui::calendar::{CalendarObject, Occurrence, Status};

use self::days::{AgendaDays, AgendaEntry, EntryMark};
use super::span_args::{SpanArgs, local_now};
use crate::app::App;
use crate::datetime::{LocalNow, TimeSpan, format_long_day};
use crate::errors::Result;
use crate::output::json::calendar::occurrence_json;
use crate::output::{OutputWriter, Style, format_count};

const EXAMPLES: &str = "\
Examples:
  etui calendar agenda                       the next seven days
  etui calendar agenda tomorrow
  etui calendar agenda week                  this week, from Monday
  etui calendar agenda next month
  etui calendar agenda 2026-12               a month (2026: a year)
  etui calendar agenda --from monday --to friday
  etui calendar agenda --from -7d --to yesterday
  etui calendar agenda --calendar Work --zone America/New_York
  etui calendar agenda month --json | jq -r .title

  ↻ recurring   [ ] to do   [x] done   09:00-... continues the next day   #17 number

Times are shown in the display zone (--zone). All-day events and floating times have no zone.";

/// Default limit; a rule can recur every second.
const DEFAULT_LIMIT: usize = 10_000;

/// Show the agenda day by day
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct AgendaArgs {
    #[command(flatten)]
    span: SpanArgs,
    /// Maximum number of occurrences
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT)]
    limit: usize,
}

pub fn show_agenda(app: &mut App, args: &AgendaArgs) -> Result<()> {
    let here = local_now(&app.out);
    let span = args.span.parse_span(&here)?;
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let calendars = app.readers_in::<CalendarObject>(&snapshot)?;
    let mut found: Vec<(&str, Occurrence)> = Vec::new();
    for (name, reader) in &calendars {
        let most = args.limit.saturating_add(1);
        let some = reader.between_at_most(span.during.clone(), &here.zone, most)?;
        found.extend(some.into_iter().map(|o| (name.as_str(), o)));
    }
    found.sort_by_key(|(_, o)| (o.during.start, o.during.end));
    let is_more = found.len() > args.limit;
    found.truncate(args.limit);
    if app.out.json {
        for (calendar, occurrence) in &found {
            let object = occurrence_json(calendar, occurrence, &here.zone);
            app.out.write_json(&object)?;
        }
    } else {
        let several = calendars.len() > 1;
        let entries = found.iter();
        let entries = entries.map(|(of, o)| agenda_entry(o, several.then_some(of), &here.zone));
        write_days(&mut app.out, &Vec::from_iter(entries), &span, &here)?;
    }
    if is_more {
        app.out.write_note(&format!(
            "Only the first {} are shown; use --limit for more",
            format_count(args.limit as u64)
        ));
    }
    Ok(())
}

/// Converts an occurrence to local time.
fn agenda_entry(occurrence: &Occurrence, calendar: Option<&str>, zone: &TimeZone) -> AgendaEntry {
    let all_day = occurrence.start.is_date();
    let to_local = |time: &CalendarTime, at| match all_day {
        // A date has no zone.
        true => time.local(),
        false => zone.to_local(at),
    };
    AgendaEntry {
        id: occurrence.record.0,
        starts: to_local(&occurrence.start, occurrence.during.start),
        ends: to_local(&occurrence.end, occurrence.during.end),
        all_day,
        title: occurrence.title.to_string(),
        place: occurrence.location.to_string(),
        calendar: calendar.map(str::to_owned),
        is_recurring: occurrence.instance.is_some(),
        mark: match occurrence.status {
            Some(Status::Tentative) => EntryMark::Tentative,
            Some(Status::Cancelled) => EntryMark::Cancelled,
            _ => EntryMark::Confirmed,
        },
        done: (occurrence.kind == ComponentKind::Todo)
            .then_some(occurrence.status == Some(Status::Completed)),
    }
}

fn write_days(
    out: &mut OutputWriter,
    entries: &[AgendaEntry],
    span: &TimeSpan,
    here: &LocalNow,
) -> Result<()> {
    let mut days = AgendaDays::new(entries, span.first, span.last).peekable();
    if days.peek().is_none() {
        return out.status(format!("Nothing {}.", span.describe_days()));
    }
    let room = out.width();
    for (i, (date, lines)) in days.enumerate() {
        if i > 0 {
            out.write_line("")?;
        }
        let relative = match date.days() - here.now.date().days() {
            0 => ", today",
            1 => ", tomorrow",
            _ => "",
        };
        let heading = format!("{}{relative}", format_long_day(date));
        let heading = out.with_style(Style::Bold, &heading).into_owned();
        out.write_line(heading)?;
        for (part, entry) in lines {
            let mut line = String::new();
            for (text, style) in draw::format_line(part, entry, room) {
                match style {
                    Some(style) => line.push_str(&out.with_style(style, &text)),
                    None => line.push_str(&text),
                }
            }
            out.write_line(line)?;
        }
    }
    Ok(())
}
