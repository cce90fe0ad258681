//! Draws the agenda.
//!
//! ```text
//! November 2026                                     the days, and the calendars
//!  Mon  Tue  Wed  Thu  Fri  Sat  Sun                a month: the grid, and the selected day below or beside
//!  23   24  >25*•  ...
//! Wednesday, 25 November 2026, today                a day or a week: the entries of each day
//! >  12:30-13:30  Lunch with Bob  #17
//! Enter: show   a: add   ?: keys                    the keys
//! ```

use etui::calendar::time::Date;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use unicode_width::UnicodeWidthStr;

use super::super::draw::{StyledText, format_line};
use super::super::relative_day;
use super::super::week_grid::WeekGrid;
use super::state::{AgendaRow, AgendaState, AgendaView};
use crate::commands::records::browser::dialog::Dialog;
use crate::commands::records::browser::dialog_view::draw_dialogs;
use crate::terminal::{BOLD, DIM, PLAIN, REVERSE, draw_text, style_of};
use etui_when::{format_day, format_long_day, month_name, week_number};

/// Narrower terminals show the selected day below the grid, not beside it.
const MIN_BESIDE_WIDTH: usize = 96;
/// Narrower terminals list the days of a week below one another.
const MIN_WEEK_GRID: usize = 100;
/// Lines of a week in a grid, at most.
const MAX_CELL_HEIGHT: usize = 8;
/// Narrower headings have short names.
const MIN_LONG_DAY: usize = 30;

/// Draws the screen.
pub fn draw_agenda(agenda: &AgendaState, frame: &mut Frame<'_>) {
    let (columns, rows) = agenda.size();
    let is_full = |dialog: &Dialog| matches!(dialog, Dialog::Help(_) | Dialog::Details(..));
    if !agenda.dialogs.visible().next().is_some_and(is_full) {
        let buffer = frame.buffer_mut();
        draw_title(agenda, buffer);
        match agenda.view {
            AgendaView::Week if agenda.has_week_grid() => draw_week(agenda, buffer),
            AgendaView::Day | AgendaView::Week => {
                draw_list(agenda, buffer, (0, 1), columns, body_height(agenda));
            }
            AgendaView::Month => draw_month(agenda, buffer),
        }
        draw_status(buffer, rows.saturating_sub(1), columns);
    }
    draw_dialogs(&agenda.dialogs, frame, (columns, rows));
}

/// Returns the rows between the title and the status line.
fn body_height(agenda: &AgendaState) -> usize {
    agenda.size().1.saturating_sub(2).max(1)
}

/// Returns true if a week is a grid of hours on a screen of this width.
pub fn fits_week_grid(columns: usize) -> bool {
    columns >= MIN_WEEK_GRID
}

/// Returns the rows of the list of days.
pub fn list_height(agenda: &AgendaState) -> usize {
    match agenda.view {
        AgendaView::Month => MonthLayout::of(agenda).list_height,
        _ => body_height(agenda),
    }
}

/// The place of the grid and the list of a month.
struct MonthLayout {
    grid_width: usize,
    cell_height: usize,
    /// The first visible week, and the number of them.
    first_week: usize,
    weeks: usize,
    list_at: (usize, usize),
    list_height: usize,
}

impl MonthLayout {
    fn of(agenda: &AgendaState) -> Self {
        let (columns, _) = agenda.size();
        let body = body_height(agenda);
        let grid = agenda.grid();
        let all = grid.weeks();
        let is_beside = columns >= MIN_BESIDE_WIDTH;
        // A list below has a quarter of the rows, and a heading and two entries if possible.
        let below = match is_beside {
            true => 0,
            false => (body / 4).max(3).min(body.saturating_sub(2)),
        };
        let room = body.saturating_sub(1 + below).max(1);
        let weeks = all.min(room);
        let cell_height = (room / weeks.max(1)).clamp(1, MAX_CELL_HEIGHT);
        let first_week = grid.week_of_day().saturating_sub(weeks / 2);
        let grid_rows = 1 + weeks * cell_height;
        let grid_width = match is_beside {
            true => columns * 3 / 5 / 7 * 7,
            false => columns / 7 * 7,
        };
        let (list_at, list_height) = match is_beside {
            true => ((grid_width + 2, 1), body),
            false => ((0, 1 + grid_rows), body.saturating_sub(grid_rows)),
        };
        Self {
            grid_width,
            cell_height,
            first_week: first_week.min(all - weeks),
            weeks,
            list_at,
            list_height,
        }
    }
}

fn draw_title(agenda: &AgendaState, buffer: &mut Buffer) {
    let (columns, _) = agenda.size();
    let (first, last) = agenda.span();
    let title = match agenda.view {
        AgendaView::Day => day_heading(first, agenda.today(), columns),
        AgendaView::Week => {
            let number = week_number(first, agenda.options.first_weekday);
            format!(
                "Week {number}, {} to {}",
                format_day(first),
                format_day(last)
            )
        }
        AgendaView::Month => {
            let (year, month, _) = agenda.day.ymd();
            format!("{} {year}", month_name(month))
        }
    };
    draw_text(buffer, (0, 0), &title, columns, BOLD);
    let column = title.width() + 3;
    if column + agenda.options.name.width() <= columns {
        draw_text(buffer, (column, 0), &agenda.options.name, columns, DIM);
    }
}

/// Formats a day, with the word for today or tomorrow.
fn day_heading(day: Date, today: Date, columns: usize) -> String {
    let name = match columns < MIN_LONG_DAY {
        true => format_day(day),
        false => format_long_day(day),
    };
    format!("{name}{}", relative_day(day, today))
}

fn draw_month(agenda: &AgendaState, buffer: &mut Buffer) {
    let layout = MonthLayout::of(agenda);
    let grid = agenda.grid();
    let (columns, rows) = agenda.size();
    let bottom = rows.saturating_sub(1);
    draw_pieces(buffer, (0, 1), &grid.heading(layout.grid_width), PLAIN);
    let mut row = 2;
    for week in layout.first_week..layout.first_week + layout.weeks {
        let entries = |day| Some(agenda.entries(day));
        let height = layout.cell_height;
        for line in grid.week(week, layout.grid_width, height, entries) {
            if row < bottom {
                draw_pieces(buffer, (0, row), &line, PLAIN);
            }
            row += 1;
        }
    }
    let width = columns.saturating_sub(layout.list_at.0);
    draw_list(agenda, buffer, layout.list_at, width, layout.list_height);
}

fn draw_week(agenda: &AgendaState, buffer: &mut Buffer) {
    let (columns, _) = agenda.size();
    let height = body_height(agenda).saturating_sub(1);
    let grid = WeekGrid::new(
        agenda.span().0,
        |day| agenda.entries(day),
        agenda.today(),
        (agenda.day, agenda.entry),
        (columns, height),
    );
    for (row, line) in grid.lines().iter().enumerate() {
        draw_pieces(buffer, (0, 1 + row), line, PLAIN);
    }
    // A cell has no room for times and place: the selected entry is below the grid.
    if let Some((part, entry)) = agenda.entries(agenda.day).get(agenda.entry) {
        let line = format_line(*part, entry, Some(columns));
        draw_pieces(buffer, (0, 1 + height), &line, PLAIN);
    }
}

/// Draws the list of days.
fn draw_list(
    agenda: &AgendaState,
    buffer: &mut Buffer,
    (column, row): (usize, usize),
    width: usize,
    height: usize,
) {
    let rows = agenda.list_rows();
    for (i, line) in rows.iter().skip(agenda.top).take(height).enumerate() {
        let at = (column, row + i);
        let style = match agenda.is_selected(*line) {
            true => REVERSE,
            false => PLAIN,
        };
        match *line {
            AgendaRow::Heading(day) => {
                let text = day_heading(day, agenda.today(), width);
                draw_text(buffer, at, &text, width, BOLD);
                continue;
            }
            AgendaRow::Entry(day, n) => {
                if let Some((part, entry)) = agenda.entries(day).get(n) {
                    draw_text(buffer, at, &" ".repeat(width), width, style);
                    draw_pieces(buffer, at, &format_line(*part, entry, Some(width)), style);
                }
            }
            AgendaRow::Empty(_) => {
                draw_text(buffer, at, &" ".repeat(width), width, style);
                draw_text(buffer, at, "  nothing", width, style.patch(DIM));
            }
        }
        if agenda.is_selected(*line) {
            draw_text(buffer, at, ">", width, style);
        }
    }
}

/// Draws pieces of text after one another, in their styles on top of `style`.
fn draw_pieces(
    buffer: &mut Buffer,
    (mut column, row): (usize, usize),
    pieces: &[StyledText],
    style: ratatui::style::Style,
) {
    for (text, own) in pieces {
        let width = text.width();
        draw_text(
            buffer,
            (column, row),
            text,
            width,
            style.patch(style_of(*own)),
        );
        column += width;
    }
}

fn draw_status(buffer: &mut Buffer, row: usize, columns: usize) {
    let hints = [
        "?: keys",
        "Enter: show",
        "a: add",
        "D W M: view",
        "t: today",
        "q: quit",
    ];
    let mut column = 0;
    for text in hints {
        if column + text.width() > columns {
            break;
        }
        draw_text(buffer, (column, row), text, text.width(), DIM);
        column += text.width() + 3;
    }
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
