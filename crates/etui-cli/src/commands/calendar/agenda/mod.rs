//! `etui calendar agenda`: the occurrences of a period, day by day.

pub mod browser;
mod days;
mod draw;
mod load;
pub mod month_grid;
pub mod week_grid;

use etui::calendar::CalendarObject;
use etui::calendar::time::Date;
use etui::record::Reader;
use etui_program::output::{OutputWriter, Style, format_count, one_line};
use etui_program::{App, Result};

use self::days::{AgendaDays, AgendaEntry};
pub use self::days::{DayMap, days_of};
pub use self::load::AgendaSource;
use super::span_args::{SpanArgs, local_now};
use super::todos::find_overdue;

use crate::commands::records::name_or_placeholder;
use crate::terminal::TerminalSession;
use etui_when::{LocalNow, TimeSpan, format_long_day, format_short};

const EXAMPLES: &str = "\
Examples:
  etui calendar agenda                       the next seven days; on a terminal, browse the week
  etui calendar agenda today                 with the to-dos that are overdue
  etui calendar agenda tomorrow
  etui calendar agenda week                  this week, from Monday
  etui calendar agenda next weekend
  etui calendar agenda next month
  etui calendar agenda 2026-12               a month (2026: a year)
  etui calendar agenda --from monday --to friday
  etui calendar agenda --from -7d --to yesterday
  etui calendar agenda --calendar Work --zone America/New_York
  etui calendar agenda month --json | jq -r .title
  etui calendar agenda month --birthdays     with the birthdays of the contacts

On a terminal, a day, week or month opens in the browser: D, W and M switch between them, ? lists
the keys. With --from, --to, --limit or --no-pager, and in a pipe, the agenda is printed.

  ↻ recurring   [ ] to do   [x] done   09:00-... continues the next day   #17 number

Times are shown in the display zone (--zone). All-day events and floating times have no zone.";

/// Overdue to-dos that are shown before today.
const MAX_OVERDUE: usize = 10;

/// Show the agenda day by day
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct AgendaArgs {
    #[command(flatten)]
    span: SpanArgs,
    /// Show the first N occurrences [default: 10,000, and 100 a day of one entry]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Show the birthdays and anniversaries of the contacts too
    #[arg(long)]
    birthdays: bool,
    /// Print the agenda on a terminal too, instead of opening the browser
    #[arg(long)]
    no_pager: bool,
}

pub fn show_agenda(app: &mut App, args: &AgendaArgs) -> Result<()> {
    let here = local_now(&app.out);
    let span = args.span.parse_span(&here)?;
    let store = app.open_to_read()?;
    let is_plain = args.no_pager || app.out.json || args.limit.is_some();
    if let Some(view) = args.span.view().filter(|_| !is_plain)
        && TerminalSession::is_possible(&app.out)
    {
        let day = match view {
            // Of the present week or month, today is selected.
            _ if (span.first..=span.last).contains(&here.now.date()) => here.now.date(),
            _ => span.first,
        };
        return browser::run_agenda(app, &store, view, day, args.birthdays);
    }
    let snapshot = store.snapshot()?;
    let calendars = app.readers_in::<CalendarObject>(&snapshot)?;
    let source = AgendaSource {
        snapshot: &snapshot,
        calendars: &calendars,
        names: &[],
        limit: args.limit,
        with_birthdays: args.birthdays,
    };
    if app.out.json {
        return source.write_json(app, &span, &here);
    }
    let (entries, notes) = source.read_entries(app, &span, &here)?;
    let today = here.now.date();
    if (span.first, span.last) == (today, today) {
        write_overdue(&mut app.out, &calendars, &here)?;
    }
    write_days(&mut app.out, &entries, &span, &here)?;
    for note in &notes {
        app.out.write_note(note);
    }
    Ok(())
}

/// Writes the open to-dos that were due before today, the latest ones.
fn write_overdue(
    out: &mut OutputWriter,
    calendars: &[(String, Reader<CalendarObject>)],
    here: &LocalNow,
) -> Result<()> {
    let all = find_overdue(calendars, here, here.now.date())?;
    if all.is_empty() {
        return Ok(());
    }
    let heading = out.with_style(Style::Bold, "Overdue").into_owned();
    out.write_line(heading)?;
    let earlier = all.len().saturating_sub(MAX_OVERDUE);
    if earlier > 0 {
        let earlier = format_count(earlier as u64);
        out.write_line(format!(
            "  {earlier} earlier: etui calendar todos --overdue"
        ))?;
    }
    for todo in all.iter().skip(all.len().saturating_sub(MAX_OVERDUE)) {
        let due = todo.due.as_ref();
        let due = due.map_or_else(String::new, |due| format_short(due, &here.zone));
        let title = name_or_placeholder::<CalendarObject>(&todo.title);
        let number = format!("  #{}", todo.id);
        let line = out.fit_width(&format!("  {due}  [ ] {}{number}", one_line(title)));
        out.write_line(line)?;
    }
    out.write_line("")
}

/// Returns the words for today and tomorrow after the name of a day.
fn relative_day(date: Date, today: Date) -> &'static str {
    match date.days() - today.days() {
        0 => ", today",
        1 => ", tomorrow",
        _ => "",
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
        let relative = relative_day(date, here.now.date());
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
