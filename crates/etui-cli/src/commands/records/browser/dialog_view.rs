//! Draws dialogs: details and keys on the whole screen, prompts and questions in its last rows.
//!
//! ```text
//! ── New entry ─────────────────────────────
//! Lunch with Bob tomorrow 12:30
//!   Title  Lunch with Bob
//!   When   Thu 26 Nov 2026, 12:30-13:30
//! Enter: save   Ctrl-O: editor   Esc: cancel
//! ```

use etui_program::output::{escape_text, one_line, wrap_text};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use unicode_width::UnicodeWidthStr;

use super::details::DetailsView;
use super::dialog::{Dialog, Dialogs, Preview, Prompt, PromptKind, Question};
use super::form::Form;
use crate::terminal::{BOLD, DIM, PLAIN, draw_rule, draw_text, to_cell};

/// Maximum share of the screen that a message takes, in rows out of four.
const MESSAGE_QUARTERS: usize = 3;

/// Draws the dialogs in front of a list of this size.
pub fn draw_dialogs(dialogs: &Dialogs, frame: &mut Frame<'_>, size: (usize, usize)) {
    let mut message = dialogs.message();
    for dialog in dialogs.visible() {
        let buffer = frame.buffer_mut();
        match dialog {
            Dialog::Help(view) => draw_page(view, buffer, size, "any other key: back"),
            Dialog::Details(_, view) => {
                draw_page(
                    view,
                    buffer,
                    size,
                    "q: back   ?: keys   e: edit   y: copy   d: remove",
                );
            }
            Dialog::Prompt(prompt) => {
                let (column, row) = draw_prompt(prompt, buffer, size);
                frame.set_cursor_position((to_cell(column), to_cell(row)));
            }
            Dialog::Form(form) => {
                let (column, row) = draw_form(form, message.take(), buffer, size);
                frame.set_cursor_position((to_cell(column), to_cell(row)));
            }
            Dialog::Question(question) => draw_question(question, buffer, size),
        }
    }
    if let Some(message) = message {
        draw_message(message, frame.buffer_mut(), size);
    }
}

/// Draws a text that fills the screen.
fn draw_page(view: &DetailsView, buffer: &mut Buffer, (columns, rows): (usize, usize), keys: &str) {
    for row in 0..rows {
        clear_row(buffer, row, columns);
    }
    let size = (columns, rows.saturating_sub(1).max(1));
    view.draw_details(buffer, size);
    let hint = match view.fits(size) {
        true => keys.to_owned(),
        false => format!("Up, down: scroll   {keys}"),
    };
    draw_text(buffer, (0, size.1), &hint, columns, DIM);
}

fn clear_row(buffer: &mut Buffer, row: usize, columns: usize) {
    draw_text(buffer, (0, row), &" ".repeat(columns), columns, PLAIN);
    buffer.set_style(
        ratatui::layout::Rect::new(0, to_cell(row), to_cell(columns), 1).intersection(buffer.area),
        ratatui::style::Style::reset(),
    );
}

/// Draws a prompt with its preview. Returns the position of the cursor.
fn draw_prompt(
    prompt: &Prompt,
    buffer: &mut Buffer,
    (columns, rows): (usize, usize),
) -> (usize, usize) {
    let mut lines: Vec<(String, bool)> = Vec::new();
    match &prompt.preview {
        Preview::Rows(values) => {
            let labels = values.iter().map(|(label, _)| label.width());
            let width = labels.max().unwrap_or(0);
            for (label, value) in values {
                let pad = width - label.width();
                lines.push((format!("  {label}{:pad$}  {}", "", one_line(value)), false));
            }
        }
        Preview::Problem(problem) => {
            let wrapped = wrap_text(&escape_text(problem), columns.saturating_sub(2));
            lines.extend(wrapped.into_iter().map(|line| (format!("  {line}"), false)));
        }
        Preview::None | Preview::Wanted if prompt.input.text().is_empty() => {
            lines.push((format!("  {}", prompt.example), true));
        }
        Preview::None | Preview::Wanted => {}
    }
    let hint = match (&prompt.kind, &prompt.preview) {
        (PromptKind::Add, Preview::Problem(_)) => "Ctrl-O: editor   Esc: cancel",
        (PromptKind::Add, _) => "Enter: save   Ctrl-O: editor   Esc: cancel",
        (PromptKind::GoTo, _) => "Enter: go   Esc: cancel",
        (PromptKind::Find, _) => "Enter: find   Esc: cancel",
        (PromptKind::Move(_), Preview::Problem(_)) => "Esc: cancel",
        (PromptKind::Move(_), _) => "Enter: move   Esc: cancel",
    };
    // The line of input is always visible.
    lines.truncate(rows.saturating_sub(3));
    let height = (lines.len() + 3).min(rows.max(1));
    let top = rows - height.min(rows);
    for row in top..rows {
        clear_row(buffer, row, columns);
    }
    let input_row = (top + 1).min(rows.saturating_sub(1));
    if input_row > top {
        draw_rule(buffer, top, columns, &prompt.title);
    }
    let column = prompt.input.draw_input(buffer, input_row, "", columns);
    for (i, (line, is_dim)) in lines.iter().enumerate() {
        let style = if *is_dim { DIM } else { PLAIN };
        draw_text(buffer, (0, input_row + 1 + i), line, columns, style);
    }
    if height > 2 {
        draw_text(buffer, (0, rows - 1), hint, columns, DIM);
    }
    (column, input_row)
}

/// Draws a form in the last rows, with the reason why it was not saved below its fields. Returns the position
/// of the cursor.
fn draw_form(
    form: &Form,
    problem: Option<&str>,
    buffer: &mut Buffer,
    (columns, rows): (usize, usize),
) -> (usize, usize) {
    let mut lines: Vec<String> = problem
        .into_iter()
        .flat_map(str::lines)
        .flat_map(|line| wrap_text(&escape_text(line), columns.saturating_sub(2)))
        .collect();
    // The field that is edited is always visible.
    lines.truncate(rows.saturating_sub(3));
    let height = (form.len() + lines.len() + 2).min(rows);
    let top = rows - height;
    for row in top..rows {
        clear_row(buffer, row, columns);
    }
    draw_rule(buffer, top, columns, &form.title);
    let hint = form.hint();
    draw_text(buffer, (0, rows.saturating_sub(1)), hint, columns, DIM);
    let bottom = rows.saturating_sub(1 + lines.len());
    for (i, line) in lines.iter().enumerate() {
        draw_text(buffer, (0, bottom + i), &format!("  {line}"), columns, BOLD);
    }
    let room = height.saturating_sub(2 + lines.len());
    form.draw_fields(buffer, (top + 1, room), columns)
}

fn draw_question(question: &Question, buffer: &mut Buffer, (columns, rows): (usize, usize)) {
    let labels = question.choices.iter();
    let labels: Vec<String> = labels
        .map(|choice| format!("{}: {}", choice.key, one_line(&choice.label)))
        .collect();
    let other = match question.escape {
        None => "any other key: cancel",
        Some(_) => "",
    };
    let in_line = [labels.join("   ").as_str(), other].join("   ");
    let answers = match labels.len() <= 2 && in_line.width() <= columns {
        true => vec![in_line],
        false => labels.into_iter().chain([other.to_owned()]).collect(),
    };
    let mut lines: Vec<String> = question
        .text
        .lines()
        .flat_map(|line| wrap_text(&escape_text(line), columns))
        .collect();
    // The answers are visible even if the text is not.
    let room = rows.saturating_sub(answers.len() + 1);
    lines.truncate(room.max(1));
    draw_panel(&lines, &answers, buffer, (columns, rows));
}

fn draw_message(message: &str, buffer: &mut Buffer, (columns, rows): (usize, usize)) {
    let lines = message.lines();
    let mut lines: Vec<String> = lines
        .flat_map(|line| wrap_text(&escape_text(line), columns))
        .collect();
    lines.truncate((rows * MESSAGE_QUARTERS / 4).max(1));
    match lines.as_slice() {
        [line] => {
            clear_row(buffer, rows.saturating_sub(1), columns);
            draw_text(buffer, (0, rows.saturating_sub(1)), line, columns, BOLD);
        }
        _ => draw_panel(&lines, &[], buffer, (columns, rows)),
    }
}

/// Draws a rule, a text and answers in the last rows.
fn draw_panel(
    text: &[String],
    answers: &[String],
    buffer: &mut Buffer,
    (columns, rows): (usize, usize),
) {
    let height = (text.len() + answers.len() + 1).min(rows);
    let top = rows - height;
    for row in top..rows {
        clear_row(buffer, row, columns);
    }
    draw_rule(buffer, top, columns, "");
    let has_rule = height > text.len() + answers.len();
    let first = top + usize::from(has_rule);
    for (i, line) in text.iter().chain(answers).enumerate() {
        let style = if i < text.len() { BOLD } else { PLAIN };
        draw_text(buffer, (0, first + i), line, columns, style);
    }
}
