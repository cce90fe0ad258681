//! [`Form`]: the fields of a record, each a line that is edited.
//!
//! ```text
//! ── Bob Öst ──────────────────────────────
//!   Name    Bob Öst
//! > Phone   +44 20 7946 0123
//!   Phone
//! Enter: save   Tab, arrows: next field   Esc: cancel
//! ```

use ratatui::buffer::Buffer;
use unicode_width::UnicodeWidthStr;

use super::action::{Action, Subject};
use crate::terminal::{DIM, Key, LineInput, draw_text};

/// A field of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormField {
    pub label: &'static str,
    /// The property, or another name of the record's kind.
    pub name: &'static str,
    /// The value; empty if the record has none.
    pub value: String,
    /// Whether the value is yes or no.
    pub is_switch: bool,
}

impl FormField {
    pub fn new(label: &'static str, name: &'static str, value: impl Into<String>) -> Self {
        let value = value.into();
        Self {
            label,
            name,
            value,
            is_switch: false,
        }
    }

    /// Makes it a field of yes or no, which the space key switches.
    pub fn switch(mut self) -> Self {
        self.is_switch = true;
        self
    }

    /// Returns false if the value has several lines: an edited line would lose its breaks.
    pub fn is_line(&self) -> bool {
        !self.value.contains(char::is_control)
    }
}

/// A field with its new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldChange {
    pub field: FormField,
    /// Empty if the value is removed.
    pub new: String,
}

/// The fields of a record.
#[derive(Debug)]
pub struct Form {
    pub subject: Subject,
    pub title: String,
    rows: Vec<(FormField, LineInput)>,
    selected: usize,
}

impl Form {
    pub fn new(subject: Subject, title: String, fields: Vec<FormField>) -> Self {
        let rows = fields.into_iter().map(|field| {
            let mut input = LineInput::default();
            input.set_text(&field.value);
            (field, input)
        });
        Self {
            subject,
            title,
            rows: rows.collect(),
            selected: 0,
        }
    }

    fn changes(&self) -> Vec<FieldChange> {
        let rows = self.rows.iter();
        let changed = rows.filter(|(field, input)| field.value != input.text().trim());
        let changed = changed.map(|(field, input)| FieldChange {
            field: field.clone(),
            new: input.text().trim().to_owned(),
        });
        changed.collect()
    }

    /// Handles a key. Returns the action that it asks for; `None` closes the form.
    pub fn handle_key(&mut self, key: &Key) -> Option<Option<Action>> {
        let last = self.rows.len().saturating_sub(1);
        match key {
            Key::Escape => return None,
            Key::Enter => {
                let changes = self.changes();
                let save = Action::SaveForm(self.subject.clone(), changes);
                return Some(Some(save));
            }
            Key::Up | Key::BackTab => self.selected = self.selected.checked_sub(1).unwrap_or(last),
            Key::Down | Key::Tab if self.selected == last => self.selected = 0,
            Key::Down | Key::Tab => self.selected += 1,
            key => match self.rows.get_mut(self.selected) {
                Some((field, input)) if field.is_switch && *key == Key::Char(' ') => {
                    let other = if input.text() == "yes" { "no" } else { "yes" };
                    input.set_text(other);
                }
                Some((_, input)) => {
                    input.handle_key(key);
                }
                None => {}
            },
        }
        Some(None)
    }

    /// Draws the visible fields below `top`. Returns the position of the cursor.
    pub fn draw_fields(
        &self,
        buffer: &mut Buffer,
        (top, rows): (usize, usize),
        columns: usize,
    ) -> (usize, usize) {
        let labels = self.rows.iter().map(|(field, _)| field.label.width());
        let width = labels.max().unwrap_or(0);
        let first = (self.selected + 1).saturating_sub(rows);
        let mut cursor = (0, top);
        let shown = self.rows.iter().enumerate().skip(first).take(rows);
        for (row, (n, (field, input))) in shown.enumerate() {
            let mark = if n == self.selected { '>' } else { ' ' };
            let label = format!("{mark} {:width$}  ", field.label);
            match n == self.selected {
                true => {
                    cursor = (
                        input.draw_input(buffer, top + row, &label, columns),
                        top + row,
                    )
                }
                false => {
                    draw_text(buffer, (0, top + row), &label, columns, DIM);
                    let at = label.width();
                    let room = columns.saturating_sub(at);
                    let style = crate::terminal::PLAIN;
                    draw_text(buffer, (at, top + row), input.text(), room, style);
                }
            }
        }
        cursor
    }

    /// Returns the keys of the selected field.
    pub fn hint(&self) -> &'static str {
        match self.rows.get(self.selected) {
            Some((field, _)) if field.is_switch => {
                "Space: yes or no   Enter: save   Tab, arrows: another field   Esc: cancel"
            }
            _ => "Enter: save   Tab, arrows: another field   Esc: cancel",
        }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }
}
