//! [`Table`]: one line per row, truncated to the width of the terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use etui::calendar::Color;

use super::{OutputWriter, Style, one_line};
use crate::errors::Result;

/// The mark of a colour, and the gap after it.
pub const COLOR_MARK: &str = "● ";

/// Columns between two cells.
const COLUMN_GAP: usize = 2;
/// A column is not truncated below this width.
const MIN_COLUMN_WIDTH: usize = 4;

/// A table with a heading line.
pub struct Table {
    headings: Vec<&'static str>,
    /// A column of numbers: right-aligned and never truncated.
    number_column: Option<usize>,
    rows: Vec<Vec<String>>,
    /// The colour of each row; it may be shorter.
    colors: Vec<Option<Color>>,
}

impl Table {
    /// Returns an empty table whose first column holds numbers.
    pub fn new(headings: &[&'static str]) -> Self {
        Self::with_number_column(headings, Some(0))
    }

    /// Returns an empty table; the numbers of one column are aligned at the right.
    pub fn with_number_column(headings: &[&'static str], number_column: Option<usize>) -> Self {
        Self {
            headings: headings.to_vec(),
            number_column,
            rows: Vec::new(),
            colors: Vec::new(),
        }
    }

    /// Adds a row; the cells are escaped.
    pub fn add_row(&mut self, cells: impl IntoIterator<Item = impl AsRef<str>>) {
        let cells = cells.into_iter();
        let cells = cells.map(|cell| one_line(cell.as_ref()).into_owned());
        self.rows.push(cells.collect());
    }

    /// Adds a row with a colour, which is shown as a dot before it where there are colours.
    pub fn add_marked_row(
        &mut self,
        cells: impl IntoIterator<Item = impl AsRef<str>>,
        color: Option<Color>,
    ) {
        self.add_row(cells);
        self.colors.resize(self.rows.len(), None);
        if let Some(last) = self.colors.last_mut() {
            *last = color;
        }
    }

    /// Writes the table. On a terminal, wide cells are truncated and end in `…`.
    pub fn write_to(&self, out: &mut OutputWriter) -> Result<()> {
        let is_marked = out.colour && self.colors.iter().any(Option::is_some);
        let margin = if is_marked { COLOR_MARK.width() } else { 0 };
        let room = out.width().map(|room| room.saturating_sub(margin));
        let widths = self.column_widths(room);
        let headings: Vec<String> = self.headings.iter().map(|h| (*h).to_owned()).collect();
        let heading = self.format_line(&headings, &widths);
        let heading = out.with_style(Style::Dim, &heading).into_owned();
        out.write_line(format!("{:margin$}{heading}", ""))?;
        for (n, row) in self.rows.iter().enumerate() {
            let line = self.format_line(row, &widths);
            let mark = match self.colors.get(n).copied().flatten() {
                Some(color) if is_marked => out.with_style(Style::Color(color), COLOR_MARK),
                _ => format!("{:margin$}", "").into(),
            };
            out.write_line(format!("{mark}{line}"))?;
        }
        Ok(())
    }

    /// Returns the column widths. If they exceed `room`, the widest text columns are narrowed first.
    fn column_widths(&self, room: Option<usize>) -> Vec<usize> {
        let mut widths: Vec<usize> = self.headings.iter().map(|h| h.width()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        let Some(room) = room else { return widths };
        let room = room.saturating_sub(COLUMN_GAP * widths.len().saturating_sub(1));
        while widths.iter().sum::<usize>() > room {
            let texts = widths.iter_mut().enumerate();
            let texts = texts.filter(|(i, _)| Some(*i) != self.number_column);
            match texts.max_by_key(|(_, width)| **width) {
                Some((_, widest)) if *widest > MIN_COLUMN_WIDTH => *widest -= 1,
                _ => break,
            }
        }
        widths
    }

    fn format_line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut out = String::new();
        let mut gap = 0;
        for (i, (cell, &width)) in cells.iter().zip(widths).enumerate() {
            out.extend(std::iter::repeat_n(' ', gap));
            let (text, used) = truncate_text(cell, width);
            let rest = width.saturating_sub(used);
            if self.number_column == Some(i) {
                out.extend(std::iter::repeat_n(' ', rest));
                out.push_str(&text);
                gap = COLUMN_GAP;
            } else {
                out.push_str(&text);
                gap = COLUMN_GAP + rest;
            }
        }
        out.truncate(out.trim_end().len());
        out
    }
}

/// Truncates `text` to `width` columns. Returns the text and its width.
pub fn truncate_text(text: &str, width: usize) -> (String, usize) {
    let natural = text.width();
    if natural <= width {
        return (text.to_owned(), natural);
    }
    if width == 0 {
        return (String::new(), 0);
    }
    // As a string: a variation selector widens the character before it.
    let (mut end, mut used) = (0, 0);
    for (at, c) in text.char_indices() {
        let next = at + c.len_utf8();
        let wide = text.get(..next).map_or(0, UnicodeWidthStr::width);
        if wide + 1 > width {
            break;
        }
        (end, used) = (next, wide);
    }
    let mut out = text.get(..end).unwrap_or_default().to_owned();
    out.push('…');
    (out, used + 1)
}

/// Wraps `text` at spaces, and words longer than `width` columns anywhere.
pub fn wrap_text(text: &str, width: usize) -> Vec<String> {
    let width = width.max(2);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for c in text.chars() {
        let w = c.width().unwrap_or(0);
        if used + w > width {
            let rest = match line.rfind(' ') {
                Some(space) if c != ' ' => line.split_off(space + 1),
                _ => String::new(),
            };
            lines.push(std::mem::replace(&mut line, rest));
            used = line.chars().map(|c| c.width().unwrap_or(0)).sum();
            if c == ' ' {
                continue;
            }
        }
        line.push(c);
        used += w;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["#", "Name", "Organisation"]);
        table.add_row(["7", "Ada\nLovelace", "Analytical Engines of London"]);
        table.add_row(["12800", "山田 太郎", ""]);
        table
    }

    fn lines(room: Option<usize>) -> Vec<String> {
        let table = table();
        let widths = table.column_widths(room);
        table
            .rows
            .iter()
            .map(|r| table.format_line(r, &widths))
            .collect()
    }

    #[test]
    fn without_a_terminal_nothing_is_truncated() {
        assert_eq!(
            lines(None),
            [
                "    7  Ada Lovelace  Analytical Engines of London",
                "12800  山田 太郎"
            ]
        );
    }

    #[test]
    fn a_narrow_terminal_truncates_the_widest_column() {
        assert_eq!(
            lines(Some(30)),
            ["    7  Ada Lovela…  Analytica…", "12800  山田 太郎"]
        );
        for line in lines(Some(20)) {
            assert!(line.width() <= 21, "{line}");
        }
    }

    #[test]
    fn a_character_widened_by_the_next_is_counted_so() {
        assert_eq!(
            truncate_text("*\u{fe0f}abcdef", 4),
            ("*\u{fe0f}a…".to_owned(), 4)
        );
    }

    #[test]
    fn lines_break_at_spaces_and_in_long_words() {
        assert_eq!(wrap_text("", 10), [""]);
        assert_eq!(wrap_text("one two three", 8), ["one two ", "three"]);
        assert_eq!(wrap_text("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap_text("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap_text("山田太郎", 5), ["山田", "太郎"]);
        assert_eq!(wrap_text("山田", 0), ["山", "田"]);
        assert_eq!(
            wrap_text("e\u{301}e\u{301}e\u{301}", 2),
            ["e\u{301}e\u{301}", "e\u{301}"]
        );
    }
}
