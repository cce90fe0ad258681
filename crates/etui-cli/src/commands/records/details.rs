//! All about one record: its name, and lines with labels.

use crate::errors::Result;
use crate::output::{OutputWriter, Style, one_line, shown};

/// What is known of a record, in words.
#[derive(Debug, Default)]
pub struct RecordDetails {
    /// Its name.
    pub name: String,
    /// Labels and values; a value may have several lines.
    pub rows: Vec<(String, String)>,
}

impl RecordDetails {
    /// One of which nothing is known but its name.
    pub fn new(name: &str) -> Self {
        Self {
            name: one_line(name).into_owned(),
            rows: Vec::new(),
        }
    }

    /// Adds a row, unless its value is blank.
    pub fn row(&mut self, label: &str, value: impl Into<String>) {
        let value = value.into();
        if !value.trim().is_empty() {
            self.rows.push((shown(label).into_owned(), value));
        }
    }

    /// Writes it; further lines of a value stand under its first.
    pub fn write(&self, out: &mut OutputWriter) -> Result<()> {
        let name = out.styled(Style::Bold, &self.name).into_owned();
        out.line(name)?;
        let widths = self.rows.iter().map(|(label, _)| label.chars().count());
        let width = widths.max().unwrap_or(0);
        for (label, value) in &self.rows {
            let pad = width - label.chars().count();
            let label = out.styled(Style::Dim, label).into_owned();
            for (i, line) in value.lines().enumerate() {
                let line = shown(line);
                match i {
                    0 => out.line(format!("  {label}{:pad$}  {line}", ""))?,
                    _ => out.line(format!("  {:width$}  {line}", ""))?,
                }
            }
        }
        Ok(())
    }
}
