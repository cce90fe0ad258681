//! Draws a list.
//!
//! ```text
//! Search: mül                          the search text, or the name of the list
//! >Anna Müller        0171 39200 02    the records; > marks the selected one
//!  Jörg Müllermann
//! 1 of 2   Enter: show   ?: keys       the position and the keys
//! ```

use etui::search::filter::FieldSet;
use etui_program::output::{format_count, format_duration};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use unicode_width::UnicodeWidthStr;

use super::dialog::Dialog;
use super::dialog_view::draw_dialogs;
use super::state::ListState;
use super::window::ListLine;
use crate::commands::records::{RecordCommands, name_or_placeholder};
use crate::terminal::{BOLD, DIM, PLAIN, REVERSE, draw_text, to_cell};

/// Columns between two cells of a list row.
pub const COLUMN_GAP: usize = 2;

/// Draws the screen.
pub fn draw_list<R: RecordCommands>(list: &ListState<R::Field>, frame: &mut Frame<'_>) {
    let (columns, rows) = list.size();
    let is_covered = list.dialogs.visible().next().is_some_and(fills_screen);
    if !is_covered {
        let cursor = draw_records::<R>(list, frame.buffer_mut());
        if let Some(column) = cursor.filter(|_| list.dialogs.is_empty()) {
            frame.set_cursor_position((to_cell(column), 0));
        }
    }
    draw_dialogs(&list.dialogs, frame, (columns, rows));
}

fn fills_screen(dialog: &Dialog) -> bool {
    matches!(dialog, Dialog::Help(_) | Dialog::Details(..))
}

/// Draws the list. Returns the column of the cursor in a search.
fn draw_records<R: RecordCommands>(
    list: &ListState<R::Field>,
    buffer: &mut Buffer,
) -> Option<usize> {
    let (columns, _) = list.size();
    let window = &list.window;
    let cursor = draw_title(list, buffer);
    let selected = usize::try_from(window.selected.saturating_sub(window.top)).ok();
    for (i, record) in window.lines.iter().enumerate() {
        draw_record::<R>(record, buffer, i + 1, columns, selected == Some(i));
    }
    if window.lines.is_empty() {
        let text = match list.is_search() {
            true => format!("No {} matches.", R::ONE),
            false => format!("No {}. a: add", R::MANY),
        };
        draw_text(buffer, (1, 1), &text, columns.saturating_sub(1), PLAIN);
    }
    draw_status::<R>(list, buffer, window.height() + 1);
    cursor
}

/// Draws the first row. Returns the column of the cursor in a search.
fn draw_title<F: FieldSet>(list: &ListState<F>, buffer: &mut Buffer) -> Option<usize> {
    let (columns, _) = list.size();
    if list.searching || list.is_search() {
        let label = match columns < 40 {
            true => "/",
            false => "Search: ",
        };
        let column = list.search.draw_input(buffer, 0, label, columns);
        return list.searching.then_some(column);
    }
    draw_text(buffer, (0, 0), list.name(), columns, BOLD);
    let column = list.name().width() + 3;
    let hint = match list.collections() {
        0 | 1 => "/: search",
        _ => "Tab: next   /: search",
    };
    if column + hint.width() <= columns {
        draw_text(buffer, (column, 0), hint, hint.width(), DIM);
    }
    None
}

/// Draws a record; a wider terminal shows more columns of it.
fn draw_record<R: RecordCommands>(
    record: &ListLine,
    buffer: &mut Buffer,
    row: usize,
    columns: usize,
    is_selected: bool,
) {
    let (mark, style) = match is_selected {
        true => (">", REVERSE),
        false => (" ", PLAIN),
    };
    let room = columns.saturating_sub(1);
    let blank = format!("{mark}{:room$}", "");
    draw_text(buffer, (0, row), &blank, columns, style);
    let mut column = 1;
    for (cell, width) in R::layout_columns(room) {
        let text = record.cells.get(cell).map_or("", String::as_str);
        let text = match cell == R::NAME_CELL {
            true => name_or_placeholder::<R>(text),
            false => text,
        };
        draw_text(buffer, (column, row), text, width, style);
        column += width + COLUMN_GAP;
    }
}

fn draw_status<R: RecordCommands>(list: &ListState<R::Field>, buffer: &mut Buffer, row: usize) {
    let (columns, _) = list.size();
    let window = &list.window;
    if let Some(marks) = &list.jump {
        let mut text = "Go to:".to_owned();
        for (i, mark) in marks.iter().enumerate() {
            let next = marks.get(i + 1).map(|m| m.position).or(window.total);
            if next.is_none_or(|next| next > mark.position) {
                text.push(' ');
                text.push_str(&mark.label);
            }
        }
        return draw_text(buffer, (0, row), &text, columns, PLAIN);
    }
    if let Some(text) = &list.problem {
        return draw_text(buffer, (0, row), text, columns, PLAIN);
    }
    let selected = format_count(window.selected + 1);
    let position = match (window.total, window.lines.len() as u64) {
        (_, 0) => "0".to_owned(),
        (Some(total), _) => format!("{selected} of {}", format_count(total)),
        (None, shown) => format!(
            "{selected} of more than {}",
            format_count(window.top + shown)
        ),
    };
    draw_text(buffer, (0, row), &position, columns, PLAIN);
    let keys: &[&str] = match (list.searching, list.is_search()) {
        (true, _) => &["Enter: use this result", "Esc: whole list"],
        (false, true) => &["Esc: whole list", "?: keys", "Enter: show"],
        (false, false) if window.lines.is_empty() => &["?: keys", "a: add", "q: quit"],
        (false, false) => &["?: keys", "Enter: show", "a: add", "e: edit", "q: quit"],
    };
    let took = format_duration(list.took);
    draw_hints(buffer, (position.width() + 3, row), columns, keys, &took);
}

/// Draws hints as far as there is room.
fn draw_hints(
    buffer: &mut Buffer,
    (mut column, row): (usize, usize),
    columns: usize,
    keys: &[&str],
    last: &str,
) {
    for text in keys.iter().copied().chain([last]) {
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
