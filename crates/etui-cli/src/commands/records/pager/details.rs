//! [`DetailsView`]: the details of one record, wrapped and scrollable.

use ratatui::buffer::Buffer;
use ratatui::style::Style;

use super::state::PagerKey;
use super::view::{BOLD, DIM, PLAIN, draw_text};
use crate::output::{escape_text, truncate_text, wrap_text};

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

    /// Scrolls. Returns false if there is nothing to scroll or the key is not for scrolling.
    pub fn scroll_by(&mut self, key: &PagerKey, (columns, rows): (usize, usize)) -> bool {
        let last = self.wrapped_lines(columns).len().saturating_sub(rows);
        let top = match key {
            _ if last == 0 => return false,
            PagerKey::Up => self.top.saturating_sub(1),
            PagerKey::Down => self.top + 1,
            PagerKey::PageUp => self.top.saturating_sub(rows),
            PagerKey::PageDown | PagerKey::Char(' ') => self.top + rows,
            PagerKey::Home => 0,
            PagerKey::End => last,
            _ => return false,
        };
        self.top = top.min(last);
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
    fn it_scrolls_only_if_it_does_not_fit() {
        let rows = (0..9)
            .map(|n| ("Phone".to_owned(), n.to_string()))
            .collect();
        let mut details = DetailsView::new("Ada".to_owned(), rows);
        assert!(!details.scroll_by(&PagerKey::Down, (80, 10)));
        assert!(details.scroll_by(&PagerKey::End, (80, 4)));
        assert_eq!(details.top, 6);
        assert!(details.scroll_by(&PagerKey::Down, (80, 4)));
        assert_eq!(details.top, 6);
        assert!(!details.scroll_by(&PagerKey::Char('x'), (80, 4)));
    }
}
