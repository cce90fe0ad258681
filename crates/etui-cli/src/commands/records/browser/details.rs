//! [`DetailsView`]: the details of one record, wrapped and scrollable.

use etui_program::output::{escape_text, truncate_text, wrap_text};
use ratatui::buffer::Buffer;
use ratatui::style::Style;

use crate::terminal::{BOLD, DIM, Key, Move, PLAIN, draw_text};

/// On a narrower terminal, each value is below its label.
const MIN_TWO_COLUMN_WIDTH: usize = 48;

/// The details of a record.
#[derive(Debug)]
pub struct DetailsView {
    name: String,
    /// Labels and values.
    rows: Vec<(String, String)>,
    /// The first visible line.
    top: usize,
}

/// Pieces of text with their columns and styles.
type StyledLine = Vec<(usize, String, Style)>;

impl DetailsView {
    pub fn new(name: String, rows: Vec<(String, String)>) -> Self {
        Self { name, rows, top: 0 }
    }

    /// Returns true if all lines fit on a screen of this size.
    pub fn fits(&self, (columns, rows): (usize, usize)) -> bool {
        self.wrapped_lines(columns).len() <= rows
    }

    /// Replaces the content; the position stays.
    pub fn set_content(&mut self, name: String, rows: Vec<(String, String)>) {
        (self.name, self.rows) = (name, rows);
    }

    /// Scrolls. Returns false if the key is not for scrolling; of space, also if there is nothing to
    /// scroll.
    pub fn scroll_by(&mut self, key: &Key, (columns, rows): (usize, usize)) -> bool {
        let last = self.wrapped_lines(columns).len().saturating_sub(rows);
        let step = match key {
            Key::Char(' ') if last > 0 => Move::PageDown,
            key => match key.to_move() {
                Some(step) => step,
                None => return false,
            },
        };
        self.top = step.apply(self.top, rows, last);
        true
    }

    /// Draws the visible lines.
    pub fn draw_details(&self, buffer: &mut Buffer, (columns, rows): (usize, usize)) {
        let lines = self.wrapped_lines(columns);
        // The terminal may have grown.
        let top = self.top.min(lines.len().saturating_sub(rows));
        for (row, line) in lines.iter().skip(top).take(rows).enumerate() {
            for (column, text, style) in line {
                draw_text(buffer, (*column, row), text, columns, *style);
            }
        }
    }

    fn wrapped_lines(&self, columns: usize) -> Vec<StyledLine> {
        let mut lines = Vec::new();
        for text in wrap_text(&self.name, columns) {
            lines.push(vec![(0, text, BOLD)]);
        }
        let labels = self.rows.iter().map(|(label, _)| label.chars().count());
        let width = match columns < MIN_TWO_COLUMN_WIDTH {
            true => 0,
            false => labels.max().unwrap_or(0).min(columns / 3),
        };
        for (label, value) in &self.rows {
            let mut label = label.clone();
            if width == 0 && !label.is_empty() {
                lines.push(vec![(0, std::mem::take(&mut label), DIM)]);
            }
            let column = width + 2;
            for part in value.lines() {
                for text in wrap_text(&escape_text(part), columns.saturating_sub(column)) {
                    let mut line = vec![(column, text, PLAIN)];
                    if !label.is_empty() {
                        let label = truncate_text(&label, width).0;
                        line.push((0, label, DIM));
                    }
                    label.clear();
                    lines.push(line);
                }
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_scrolls_by_the_keys_of_less() {
        let rows = (0..9)
            .map(|n| ("Phone".to_owned(), n.to_string()))
            .collect();
        let mut details = DetailsView::new("Ada".to_owned(), rows);
        assert!(!details.scroll_by(&Key::Char(' '), (80, 10)));
        assert!(details.scroll_by(&Key::Char('G'), (80, 4)));
        assert_eq!(details.top, 6);
        assert!(details.scroll_by(&Key::Down, (80, 4)));
        assert_eq!(details.top, 6);
        assert!(details.scroll_by(&Key::Char('k'), (80, 4)));
        assert_eq!(details.top, 5);
        assert!(!details.scroll_by(&Key::Char('x'), (80, 4)));
    }
}
