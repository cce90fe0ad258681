//! Text in a frame.

use etui_program::output;
use etui_program::output::truncate_text;
use ratatui::buffer::Buffer;
use ratatui::style::{Modifier, Style};

pub const PLAIN: Style = Style::new();
pub const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
pub const DIM: Style = Style::new().add_modifier(Modifier::DIM);
pub const REVERSE: Style = Style::new().add_modifier(Modifier::REVERSED);

/// Returns the style of a frame for a style of printed text.
pub fn style_of(style: Option<output::Style>) -> Style {
    match style {
        None => PLAIN,
        Some(output::Style::Bold) => BOLD,
        Some(output::Style::Dim) => DIM,
        Some(output::Style::Red) => PLAIN.fg(ratatui::style::Color::Red),
        Some(output::Style::Green) => PLAIN.fg(ratatui::style::Color::Green),
        Some(output::Style::Reverse) => REVERSE,
        Some(output::Style::Color(color)) => {
            PLAIN.fg(ratatui::style::Color::Indexed(output::palette_index(color)))
        }
        Some(output::Style::Struck) => PLAIN.add_modifier(Modifier::CROSSED_OUT),
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

/// Clears a row and draws a horizontal rule with a title.
pub fn draw_rule(buffer: &mut Buffer, row: usize, columns: usize, title: &str) {
    draw_text(buffer, (0, row), &"─".repeat(columns), columns, DIM);
    if !title.is_empty() {
        let title = format!(" {title} ");
        draw_text(buffer, (2, row), &title, columns.saturating_sub(3), BOLD);
    }
}

pub fn to_cell(position: usize) -> u16 {
    u16::try_from(position).unwrap_or(u16::MAX)
}

/// Returns a screen as text for tests; a wide character takes two cells.
#[cfg(test)]
pub fn screen_text(buffer: &Buffer) -> String {
    use unicode_width::UnicodeWidthStr;
    let mut out = String::new();
    for row in 0..buffer.area.height {
        let mut line = String::new();
        let mut column = 0;
        while column < buffer.area.width {
            let symbol = buffer[(column, row)].symbol();
            assert!(!symbol.contains(char::is_control), "{symbol:?}");
            line.push_str(symbol);
            column += to_cell(symbol.width().max(1));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
