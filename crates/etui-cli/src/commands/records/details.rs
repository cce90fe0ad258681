//! [`RecordDetails`]: the full description of one record.

use etui_program::Result;
use etui_program::output::{OutputWriter, Style, escape_text, one_line, wrap_text};

/// The name of a record and its labelled values.
#[derive(Debug, Default)]
pub struct RecordDetails {
    pub name: String,
    /// Labels and values; a value may have several lines.
    pub rows: Vec<(String, String)>,
}

impl RecordDetails {
    pub fn new(name: &str) -> Self {
        Self {
            name: one_line(name).into_owned(),
            rows: Vec::new(),
        }
    }

    /// Adds a row unless its value is blank.
    pub fn add_row(&mut self, label: &str, value: impl Into<String>) {
        let value = value.into();
        if !value.trim().is_empty() {
            self.rows.push((escape_text(label).into_owned(), value));
        }
    }

    /// Adds a row for each value.
    pub fn add_rows(&mut self, label: &str, values: impl IntoIterator<Item = impl Into<String>>) {
        for value in values {
            self.add_row(label, value);
        }
    }

    /// Writes the name and the rows. The lines of a value are aligned and, on a terminal, wrapped.
    pub fn write_to(&self, out: &mut OutputWriter) -> Result<()> {
        let name = out.with_style(Style::Bold, &self.name).into_owned();
        out.write_line(name)?;
        let widths = self.rows.iter().map(|(label, _)| label.chars().count());
        let width = widths.max().unwrap_or(0);
        let room = match out.width() {
            Some(columns) => columns.saturating_sub(width + 4),
            None => usize::MAX,
        };
        for (label, value) in &self.rows {
            let pad = width - label.chars().count();
            let label = out.with_style(Style::Dim, label).into_owned();
            let wrapped = value
                .lines()
                .flat_map(|line| wrap_text(&escape_text(line), room));
            for (i, line) in wrapped.enumerate() {
                let line = line.trim_end();
                match i {
                    0 => out.write_line(format!("  {label}{:pad$}  {line}", ""))?,
                    _ => out.write_line(format!("  {:width$}  {line}", ""))?,
                }
            }
        }
        Ok(())
    }
}
