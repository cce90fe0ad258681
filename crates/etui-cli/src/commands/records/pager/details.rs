//! [`About`]: all about one record, in lines of a width, that may be more than the screen has.

use unicode_width::UnicodeWidthChar;

use super::state::Key;
use super::view::{Span, Style};
use crate::output::shown;

/// On a narrower terminal, values stand behind their labels and not in a column of their own.
const NARROW: usize = 48;

/// All about a record.
#[derive(Debug)]
pub struct About {
    name: String,
    /// What is known of it, with labels.
    rows: Vec<(String, String)>,
    /// The first line shown.
    top: usize,
}

impl About {
    /// With this name and these labels and values.
    pub fn new(name: String, rows: Vec<(String, String)>) -> Self {
        Self { name, rows, top: 0 }
    }

    /// Whether it fits on a screen of so many columns and rows.
    pub fn fits(&self, (columns, rows): (usize, usize)) -> bool {
        self.lines(columns).len() <= rows
    }

    /// Shows another part of it, if it has more than fits and the key is about that.
    pub fn scroll(&mut self, key: &Key, (columns, rows): (usize, usize)) -> bool {
        let last = self.lines(columns).len().saturating_sub(rows);
        let top = match key {
            _ if last == 0 => return false,
            Key::Up => self.top.saturating_sub(1),
            Key::Down => self.top + 1,
            Key::PageUp => self.top.saturating_sub(rows),
            Key::PageDown | Key::Char(' ') => self.top + rows,
            Key::Home => 0,
            Key::End => last,
            _ => return false,
        };
        self.top = top.min(last);
        true
    }

    /// The lines shown on a screen of so many columns and rows.
    pub fn shown(&self, (columns, rows): (usize, usize)) -> Vec<Vec<Span>> {
        let mut lines = self.lines(columns);
        // The terminal may have grown.
        let top = self.top.min(lines.len().saturating_sub(rows));
        lines.drain(..top);
        lines.truncate(rows);
        lines
    }

    fn lines(&self, columns: usize) -> Vec<Vec<Span>> {
        let mut lines = Vec::new();
        for text in wrap(&self.name, columns) {
            lines.push(vec![Span::new(0, text, Style::Bold)]);
        }
        let labels = self.rows.iter().map(|(label, _)| label.chars().count());
        let width = match columns < NARROW {
            true => 0,
            false => labels.max().unwrap_or(0).min(columns / 3),
        };
        for (label, value) in &self.rows {
            let mut label = label.clone();
            if width == 0 && !label.is_empty() {
                lines.push(vec![Span::new(0, std::mem::take(&mut label), Style::Dim)]);
            }
            let column = width + 2;
            for part in value.lines() {
                for text in wrap(&shown(part), columns.saturating_sub(column)) {
                    let value = Span::new(column, text, Style::Plain);
                    let label = std::mem::take(&mut label);
                    lines.push(match label.is_empty() {
                        true => vec![value],
                        false => vec![Span::cut(0, &label, width, Style::Dim), value],
                    });
                }
            }
        }
        lines
    }
}

/// Lines of at most `width` columns, broken at spaces where there are any.
fn wrap(text: &str, width: usize) -> Vec<String> {
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

    #[test]
    fn lines_break_at_spaces_and_where_they_must() {
        assert_eq!(wrap("", 10), [""]);
        assert_eq!(wrap("one two three", 8), ["one two ", "three"]);
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("山田太郎", 5), ["山田", "太郎"]);
        assert_eq!(wrap("山田", 0), ["山", "田"]);
        assert_eq!(
            wrap("e\u{301}e\u{301}e\u{301}", 2),
            ["e\u{301}e\u{301}", "e\u{301}"]
        );
    }

    #[test]
    fn it_scrolls_only_if_it_does_not_fit() {
        let rows = (0..9)
            .map(|n| ("Phone".to_owned(), n.to_string()))
            .collect();
        let mut about = About::new("Ada".to_owned(), rows);
        assert!(!about.scroll(&Key::Down, (80, 10)));
        assert!(about.scroll(&Key::End, (80, 4)));
        assert_eq!(about.top, 6);
        assert!(about.scroll(&Key::Down, (80, 4)));
        assert_eq!(about.top, 6);
        assert!(!about.scroll(&Key::Char('x'), (80, 4)));
    }
}
