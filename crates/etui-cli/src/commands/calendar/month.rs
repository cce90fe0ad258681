//! `etui calendar month`: a month as a grid.

use etui::calendar::CalendarObject;
use etui_program::output::{OutputWriter, Style};
use etui_program::{App, Failure, Result};

use super::agenda::browser::{AgendaView, run_agenda};
use super::agenda::month_grid::MonthGrid;
use super::agenda::{AgendaSource, DayMap, days_of};
use super::span_args::{SpanArgs, local_now};
use crate::terminal::TerminalSession;
use etui_when::{TimeSpan, first_weekday, month_name};

const EXAMPLES: &str = "\
Examples:
  etui calendar month                        this month; on a terminal, browse it
  etui calendar month next month
  etui calendar month 2026-12
  etui calendar month 2026-12-24 --no-pager  print it
  etui calendar month --birthdays            with the birthdays of the contacts
  etui calendar month --json                 the occurrences, as `etui calendar agenda month --json`

  25* today   +2 two more entries on this day

A week begins on the first day that the region of the store has, or the locale of the store:
`etui settings`. Without either it is Monday.";

/// Columns of the grid if the output is not a terminal.
const DEFAULT_WIDTH: usize = 80;
/// Columns below which a grid is not readable.
const MIN_WIDTH: usize = 28;
/// Entries of a day that are printed.
const MAX_ENTRIES: usize = 4;

/// Show a month as a grid
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct MonthArgs {
    /// A day of the month, or the month: next month, 2026-12 [default: this month]
    #[arg(value_name = "WHEN")]
    when: Vec<String>,
    /// Show the birthdays and anniversaries of the contacts too
    #[arg(long)]
    birthdays: bool,
    /// Print the grid on a terminal too, instead of opening the browser
    #[arg(long)]
    no_pager: bool,
}

pub fn show_month(app: &mut App, args: &MonthArgs) -> Result<()> {
    let here = local_now(&app.out);
    let today = here.now.date();
    let day = match args.when.is_empty() {
        true => today,
        false => {
            let span = SpanArgs::of_period(&args.when).parse_span(&here)?;
            match (span.first..=span.last).contains(&today) {
                true => today,
                false => span.first,
            }
        }
    };
    let store = app.open_to_read()?;
    if !args.no_pager && !app.out.json && TerminalSession::is_possible(&app.out) {
        return run_agenda(app, &store, AgendaView::Month, day, args.birthdays);
    }
    let region = store.settings().region;
    let grid = MonthGrid {
        day,
        first_weekday: first_weekday(&store.settings().locale, region.as_ref().map(|r| r.code())),
        today,
        has_selection: false,
    };
    let snapshot = store.snapshot()?;
    let source = AgendaSource {
        snapshot: &snapshot,
        calendars: &app.readers_in::<CalendarObject>(&snapshot)?,
        names: &[],
        limit: None,
        with_birthdays: args.birthdays,
    };
    if app.out.json {
        let (first, last) = grid.month();
        return source.write_json(app, &TimeSpan::of_days(first, last, &here), &here);
    }
    let days = (grid.first(), grid.last());
    let (entries, notes) =
        source.read_entries(app, &TimeSpan::of_days(days.0, days.1, &here), &here)?;
    write_grid(&mut app.out, &grid, &days_of(&entries, days))?;
    for note in &notes {
        app.out.write_note(note);
    }
    Ok(())
}

fn write_grid(out: &mut OutputWriter, grid: &MonthGrid, days: &DayMap) -> Result<()> {
    let width = out.width().unwrap_or(DEFAULT_WIDTH);
    if width < MIN_WIDTH {
        return Err(Failure::usage(format!(
            "a month needs {MIN_WIDTH} columns; etui calendar agenda month lists it"
        )));
    }
    let (year, month, _) = grid.day.ymd();
    let title = format!("{} {year}", month_name(month));
    let title = out.with_style(Style::Bold, &title).into_owned();
    out.write_line(title)?;
    write_pieces(out, &grid.heading(width))?;
    for week in 0..grid.weeks() {
        let counts = grid.days_of_week(week).filter_map(|day| days.get(&day));
        let most = counts.map(|lines| lines.len()).max().unwrap_or(0);
        let height = 1 + most.clamp(1, MAX_ENTRIES);
        for line in grid.week(week, width, height, |day| days.get(&day).map(Vec::as_slice)) {
            write_pieces(out, &line)?;
        }
    }
    Ok(())
}

/// Writes pieces of a line in their styles, without spaces at the end.
fn write_pieces(out: &mut OutputWriter, pieces: &[(String, Option<Style>)]) -> Result<()> {
    let is_blank = |(text, style): &&(String, Option<Style>)| {
        text.trim().is_empty() && *style != Some(Style::Reverse)
    };
    let end = pieces.len() - pieces.iter().rev().take_while(is_blank).count();
    let mut line = String::new();
    for (text, style) in pieces.iter().take(end) {
        match style {
            Some(style) => line.push_str(&out.with_style(*style, text)),
            None => line.push_str(text),
        }
    }
    line.truncate(line.trim_end().len());
    out.write_line(line)
}
