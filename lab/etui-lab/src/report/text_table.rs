//! [`TextTable`]: a table in words, from which every form of the report is written.

use super::numbers::{self, Scale, join_unit};
use crate::{ArmRole, Loss, Table, TableCell};

/// A table with formatted cells: as many in each row as there are columns.
pub(super) struct TextTable<'a> {
    pub columns: Vec<&'a str>,
    pub rows: Vec<TextRow<'a>>,
}

/// A row of a [`TextTable`].
pub(super) struct TextRow<'a> {
    pub role: ArmRole,
    pub label: &'a str,
    /// The label's group, on the first row of each, if the groups are shown as headings.
    pub heading: Option<&'a str>,
    /// The label without a group that is shown as a heading.
    pub name: &'a str,
    pub cells: Vec<TextCell<'a>>,
}

/// A cell of a [`TextTable`].
#[derive(Default)]
pub(super) struct TextCell<'a> {
    /// Number and unit.
    pub figure: Option<(String, &'static str)>,
    /// The ratio, or `base`; may be empty.
    pub ratio: String,
    /// Whether the ratios of the column are taken against this cell.
    pub base: bool,
    /// The lowest and the highest repetition, in brackets.
    pub range: Option<String>,
    pub note: &'a str,
    /// By how much the figure is better than etui's, in words.
    pub lost: Option<String>,
    /// The same in short, e.g. `1.3x`.
    pub lost_by: String,
}

impl TextCell<'_> {
    fn is_empty(&self) -> bool {
        self.figure.is_none() && self.ratio.is_empty() && self.note.is_empty()
    }

    pub fn figure(&self) -> Option<String> {
        let (number, unit) = self.figure.as_ref()?;
        Some(join_unit(number, unit))
    }
}

impl<'a> TextTable<'a> {
    pub fn new(table: &'a Table) -> Self {
        let scales: Vec<Scale> = (0..table.columns.len())
            .map(|at| column_scale(table, at))
            .collect();
        // Groups are headings if all labels have one and some group has several rows.
        let groups = |row: &'a crate::TableRow| row.label.split_once(": ");
        let parts: Option<Vec<_>> = table.rows.iter().map(groups).collect();
        let grouped = parts.is_some_and(|parts| {
            parts
                .windows(2)
                .any(|two| matches!(two, [a, b] if a.0 == b.0))
        });
        let mut last = None;
        let rows = table.rows.iter().map(|row| {
            let (group, name) = match row.label.split_once(": ") {
                Some((group, name)) if grouped => (Some(group), name),
                _ => (None, row.label.as_str()),
            };
            let heading = group.filter(|_| group != last);
            last = group;
            let cells = scales.iter().enumerate();
            TextRow {
                role: row.role,
                label: &row.label,
                heading,
                name,
                cells: cells
                    .map(|(at, scale)| {
                        let cell = row.cells.get(at);
                        cell.map_or_else(TextCell::default, |cell| text_cell(cell, scale))
                    })
                    .collect(),
            }
        });
        Self {
            rows: rows.collect(),
            columns: table.columns.iter().map(|c| c.title.as_str()).collect(),
        }
        .without_empty()
    }

    /// Leaves out rows and columns in which there is nothing at all.
    fn without_empty(mut self) -> Self {
        self.rows
            .retain(|row| row.cells.is_empty() || row.cells.iter().any(|cell| !cell.is_empty()));
        let used: Vec<bool> = (0..self.columns.len())
            .map(|at| {
                let mut cells = self.rows.iter().filter_map(|row| row.cells.get(at));
                cells.any(|cell| !cell.is_empty())
            })
            .collect();
        for row in &mut self.rows {
            retain_used(&mut row.cells, &used);
        }
        retain_used(&mut self.columns, &used);
        self
    }
}

fn retain_used<T>(all: &mut Vec<T>, used: &[bool]) {
    let mut used = used.iter();
    all.retain(|_| used.next().copied().unwrap_or(false));
}

/// Says by how much a figure is better than etui's.
fn loss_words(loss: &Loss, scale: &Scale) -> String {
    let ours = scale.write(loss.figure);
    let mut words = match loss.times.is_finite() {
        true => format!(
            "{} better than {} ({ours})",
            numbers::format_times(loss.times),
            loss.arm
        ),
        false => format!("{} has {ours}", loss.arm),
    };
    if loss.unsure {
        words += "; their ranges overlap";
    }
    words
}

/// Returns the scale of a column's figures.
pub(super) fn column_scale(table: &Table, at: usize) -> Scale {
    let cells = table.rows.iter().filter_map(|row| row.cells.get(at));
    let unit = table.columns.get(at).map_or(crate::Unit::Count, |c| c.unit);
    Scale::of(unit, cells.filter_map(|cell| cell.value))
}

fn text_cell<'a>(cell: &'a TableCell, scale: &Scale) -> TextCell<'a> {
    let spread = |(low, high): &(f64, f64)| low.is_finite() && high.is_finite() && low != high;
    TextCell {
        figure: cell.value.map(|value| scale.split(value)),
        ratio: match cell.ratio.filter(|ratio| ratio.is_finite()) {
            Some(ratio) => numbers::format_ratio(ratio),
            None if cell.base => "base".to_owned(),
            None => String::new(),
        },
        base: cell.base,
        range: cell
            .range
            .filter(spread)
            .map(|(low, high)| format!("({})", scale.range(low, high))),
        note: &cell.note,
        lost_by: match &cell.lost {
            Some(loss) if loss.times.is_finite() => numbers::format_ratio(loss.times),
            _ => String::new(),
        },
        lost: cell.lost.as_ref().map(|loss| loss_words(loss, scale)),
    }
}
