//! [`Table`]: one line per row, as wide as the terminal at the most.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{OutputWriter, Style, one_line};
use crate::errors::Result;

/// Between two columns.
const GAP: usize = 2;
/// Columns are not made narrower than this for lack of room.
const NARROWEST: usize = 4;

/// Rows of text under headings.
pub struct Table {
    headings: Vec<&'static str>,
    /// The column that is for numbers: flush right, and never cut.
    numbers: Option<usize>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table, the first column for numbers.
    pub fn new(headings: &[&'static str]) -> Self {
        Self::with_numbers(headings, Some(0))
    }

    /// An empty table, that column for numbers.
    pub fn with_numbers(headings: &[&'static str], numbers: Option<usize>) -> Self {
        Self {
            headings: headings.to_vec(),
            numbers,
            rows: Vec::new(),
        }
    }

    /// Adds a row; its texts may be anything.
    pub fn row<'t>(&mut self, cells: impl IntoIterator<Item = &'t str>) {
        self.rows.push(
            cells
                .into_iter()
                .map(|c| one_line(c).into_owned())
                .collect(),
        );
    }

    /// Adds a column behind the others; of each row the last cell is its, by [`Self::cell`].
    pub fn column(&mut self, heading: &'static str) {
        self.headings.push(heading);
    }

    /// Adds a cell to the last row.
    pub fn cell(&mut self, text: &str) {
        if let Some(row) = self.rows.last_mut() {
            row.push(one_line(text).into_owned());
        }
    }

    /// Writes it. On a terminal what is too wide is cut and ends in `…`; elsewhere nothing is.
    pub fn write(&self, out: &mut OutputWriter) -> Result<()> {
        let widths = self.widths(out.width());
        let headings: Vec<String> = self.headings.iter().map(|h| (*h).to_owned()).collect();
        let heading = self.line(&headings, &widths);
        let heading = out.styled(Style::Dim, &heading).into_owned();
        out.line(heading)?;
        for row in &self.rows {
            out.line(self.line(row, &widths))?;
        }
        Ok(())
    }

    /// The columns' widths: what they need, or, when that is too much, the widest ones less.
    fn widths(&self, room: Option<usize>) -> Vec<usize> {
        let mut widths: Vec<usize> = self.headings.iter().map(|h| h.width()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        let Some(room) = room else { return widths };
        let room = room.saturating_sub(GAP * widths.len().saturating_sub(1));
        while widths.iter().sum::<usize>() > room {
            let texts = widths.iter_mut().enumerate();
            let texts = texts.filter(|(i, _)| Some(*i) != self.numbers);
            match texts.max_by_key(|(_, width)| **width) {
                Some((_, widest)) if *widest > NARROWEST => *widest -= 1,
                _ => break,
            }
        }
        widths
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut out = String::new();
        let mut gap = 0;
        for (i, (cell, &width)) in cells.iter().zip(widths).enumerate() {
            out.extend(std::iter::repeat_n(' ', gap));
            let (text, used) = cut(cell, width);
            let rest = width.saturating_sub(used);
            if self.numbers == Some(i) {
                out.extend(std::iter::repeat_n(' ', rest));
                out.push_str(&text);
                gap = GAP;
            } else {
                out.push_str(&text);
                gap = GAP + rest;
            }
        }
        out.truncate(out.trim_end().len());
        out
    }
}

/// `text` in at most `width` columns, and how many it takes.
pub fn cut(text: &str, width: usize) -> (String, usize) {
    let natural = text.width();
    if natural <= width {
        return (text.to_owned(), natural);
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let w = c.width().unwrap_or(0);
        if used + w + 1 > width {
            break;
        }
        out.push(c);
        used += w;
    }
    out.push('…');
    (out, used + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["#", "Name", "Organisation"]);
        table.row(["7", "Ada\nLovelace", "Analytical Engines of London"]);
        table.row(["12800", "山田 太郎", ""]);
        table
    }

    fn lines(room: Option<usize>) -> Vec<String> {
        let table = table();
        let widths = table.widths(room);
        table.rows.iter().map(|r| table.line(r, &widths)).collect()
    }

    #[test]
    fn without_a_terminal_nothing_is_cut() {
        assert_eq!(
            lines(None),
            [
                "    7  Ada Lovelace  Analytical Engines of London",
                "12800  山田 太郎"
            ]
        );
    }

    #[test]
    fn a_narrow_terminal_cuts_the_widest() {
        assert_eq!(
            lines(Some(30)),
            ["    7  Ada Lovela…  Analytica…", "12800  山田 太郎"]
        );
        for line in lines(Some(20)) {
            assert!(line.width() <= 21, "{line}");
        }
    }
}
