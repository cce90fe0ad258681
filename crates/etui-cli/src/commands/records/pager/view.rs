//! Draws the pager.
//!
//! ```text
//! Search: mül                          the search text, or the name of the list
//! >Anna Müller        0171 39200 02    the records; > marks the selected one
//!  Jörg Müllermann
//! 1 of 2   Enter: show   0.3 ms        the position and the keys
//! ```

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::style::{Modifier, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::state::{ListLine, PagerMode, PagerState};
use crate::commands::records::{RecordCommands, name_or_placeholder};
use crate::output::{format_count, format_duration, truncate_text};

pub const PLAIN: Style = Style::new();
pub const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
pub const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const REVERSE: Style = Style::new().add_modifier(Modifier::REVERSED);

/// Columns between two cells of a list row.
pub const COLUMN_GAP: usize = 2;

/// Draws the screen.
pub fn draw_pager<R: RecordCommands>(pager: &PagerState<R::Field>, frame: &mut Frame<'_>) {
    let buffer = frame.buffer_mut();
    let columns = pager.columns();
    if let PagerMode::Details(details) = &pager.mode {
        let size = pager.details_size();
        details.draw_details(buffer, size);
        let hint = match details.fits(size) {
            true => "Any key: back",
            false => "Up, down: scroll   Any other key: back",
        };
        draw_text(buffer, (0, size.1), hint, columns, DIM);
        return;
    }
    let cursor = draw_title(pager, buffer);
    let selected = usize::try_from(pager.selected.saturating_sub(pager.top)).ok();
    for (i, record) in pager.lines.iter().enumerate() {
        draw_record::<R>(record, buffer, i + 1, columns, selected == Some(i));
    }
    if pager.lines.is_empty() {
        let text = match pager.is_search() {
            true => format!("No {} matches.", R::ONE),
            false => format!("No {}.", R::MANY),
        };
        draw_text(buffer, (1, 1), &text, columns.saturating_sub(1), PLAIN);
    }
    draw_status::<R>(pager, buffer, pager.list_height() + 1);
    if let Some(column) = cursor {
        frame.set_cursor_position((to_cell(column), 0));
    }
}

/// Draws `text`, truncated to `width` columns and to the buffer.
pub fn draw_text(
    buffer: &mut Buffer,
    (column, row): (usize, usize),
    text: &str,
    width: usize,
    style: Style,
) {
    let area = buffer.area;
    let width = width.min(usize::from(area.width).saturating_sub(column));
    if width > 0 && row < usize::from(area.height) {
        let text = truncate_text(text, width).0;
        buffer.set_stringn(to_cell(column), to_cell(row), text, width, style);
    }
}

fn to_cell(position: usize) -> u16 {
    u16::try_from(position).unwrap_or(u16::MAX)
}

/// Draws the first row. Returns the column of the cursor in a search.
fn draw_title<F: etui::search::filter::FieldSet>(
    pager: &PagerState<F>,
    buffer: &mut Buffer,
) -> Option<usize> {
    let columns = pager.columns();
    if !pager.searching {
        draw_text(buffer, (0, 0), &pager.name, columns, BOLD);
        let column = pager.name.width() + 3;
        let hint = "type to search";
        if column + hint.width() <= columns {
            draw_text(buffer, (column, 0), hint, hint.width(), DIM);
        }
        return None;
    }
    let label = match columns < 40 {
        true => "/",
        false => "Search: ",
    };
    // The end of a long text is visible, as the cursor is there.
    let room = columns.saturating_sub(label.len() + 1);
    let mut text = pager.text.as_str();
    while text.width() > room {
        let mut chars = text.chars();
        chars.next();
        text = chars.as_str();
    }
    // A combining character at the start would join the label.
    let text = text.trim_start_matches(|c: char| c.width() == Some(0));
    draw_text(buffer, (0, 0), label, columns, DIM);
    draw_text(buffer, (label.len(), 0), text, room, BOLD);
    Some(label.len() + text.width())
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
    draw_text(
        buffer,
        (0, row),
        &format!("{mark}{:room$}", ""),
        columns,
        style,
    );
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

fn draw_status<R: RecordCommands>(pager: &PagerState<R::Field>, buffer: &mut Buffer, row: usize) {
    let columns = pager.columns();
    if let PagerMode::Jump(marks) = &pager.mode {
        let mut text = "Go to:".to_owned();
        for (i, mark) in marks.iter().enumerate() {
            let next = marks.get(i + 1).map(|m| m.position).or(pager.total);
            if next.is_none_or(|next| next > mark.position) {
                text.push(' ');
                text.push_str(&mark.label);
            }
        }
        return draw_text(buffer, (0, row), &text, columns, PLAIN);
    }
    if let Some(text) = pager.message.as_ref().or(pager.problem.as_ref()) {
        return draw_text(buffer, (0, row), text, columns, PLAIN);
    }
    let selected = format_count(pager.selected + 1);
    let position = match (pager.total, pager.lines.len() as u64) {
        (_, 0) => "0".to_owned(),
        (Some(total), _) => format!("{selected} of {}", format_count(total)),
        (None, shown) => format!(
            "{selected} of more than {}",
            format_count(pager.top + shown)
        ),
    };
    draw_text(buffer, (0, row), &position, columns, PLAIN);
    let mut column = position.width() + 3;
    let keys: &[&str] = match (pager.searching, pager.lines.is_empty()) {
        (true, true) => &["Esc: whole list", "Ctrl-C: quit"],
        (true, false) => &["Enter: show", "Esc: whole list", "Ctrl-C: quit"],
        (false, true) => &["q: quit"],
        (false, false) => &["Enter: show", "q: quit", R::LANDMARK_HINT],
    };
    let took = format_duration(pager.took);
    for text in keys.iter().copied().chain([took.as_str()]) {
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
