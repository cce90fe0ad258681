//! The screen as it is drawn: pieces of text with their columns. Pure.
//!
//! ```text
//! Search: mül                          what is typed, or whose list it is
//! >Anna Müller        0171 39200 02    the records; > is the chosen one
//!  Jörg Müllermann
//! 1 of 2   0.3 ms   Enter: show        where one is, what keys do
//! ```

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::PagedRecord;
use super::state::{Line, Mode, Pager};
use crate::output::{count, cut, duration};

/// How a piece of text is set off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Plain,
    Bold,
    Dim,
    /// The chosen record.
    Reverse,
}

/// A piece of text from a column on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub column: usize,
    pub text: String,
    pub style: Style,
}

impl Span {
    pub fn new(column: usize, text: impl Into<String>, style: Style) -> Self {
        Self {
            column,
            text: text.into(),
            style,
        }
    }

    /// As much of `text` as fits into `width` columns.
    pub fn cut(column: usize, text: &str, width: usize, style: Style) -> Self {
        let text = match width {
            0 => String::new(),
            _ => cut(text, width).0,
        };
        Self::new(column, text, style)
    }
}

/// A screen: a line for each row of the terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Screen {
    pub lines: Vec<Vec<Span>>,
    /// Where the cursor is shown, in the first row.
    pub cursor: Option<usize>,
}

/// What is to be seen.
pub fn screen<R: PagedRecord>(pager: &Pager<R::Field>) -> Screen {
    let (columns, rows) = (pager.columns(), pager.rows());
    let mut screen = Screen::default();
    if let Mode::About(about) = &pager.mode {
        let size = pager.about_size();
        screen.lines = about.shown(size);
        screen.lines.resize(size.1, Vec::new());
        let hint = match about.fits(size) {
            true => "Any key: back",
            false => "Up, down: more   Any other key: back",
        };
        screen
            .lines
            .push(vec![Span::cut(0, hint, columns, Style::Dim)]);
        screen.lines.truncate(rows);
        return screen;
    }
    let (title, cursor) = title::<R>(pager);
    screen.cursor = cursor;
    screen.lines.push(title);
    let chosen = usize::try_from(pager.selected.saturating_sub(pager.top)).ok();
    for (i, record) in pager.lines.iter().enumerate() {
        screen
            .lines
            .push(line::<R>(record, columns, chosen == Some(i)));
    }
    if pager.lines.is_empty() {
        let text = match pager.is_search() {
            true => R::NONE_FOUND,
            false => R::NONE,
        };
        screen.lines.push(vec![Span::cut(
            1,
            text,
            columns.saturating_sub(1),
            Style::Plain,
        )]);
    }
    screen.lines.resize(pager.height() + 1, Vec::new());
    screen.lines.push(status::<R>(pager));
    screen.lines.truncate(rows);
    screen
}

fn title<R: PagedRecord>(pager: &Pager<R::Field>) -> (Vec<Span>, Option<usize>) {
    let columns = pager.columns();
    if !pager.searching {
        let mut spans = vec![Span::cut(0, &pager.name, columns, Style::Bold)];
        let column = pager.name.width() + 3;
        let hint = "type to search";
        if column + hint.width() <= columns {
            spans.push(Span::new(column, hint, Style::Dim));
        }
        return (spans, None);
    }
    let label = match columns < 40 {
        true => "/",
        false => "Search: ",
    };
    // The end of what is typed is where one types.
    let room = columns.saturating_sub(label.len() + 1);
    let mut text = pager.text.as_str();
    while text.width() > room {
        let mut chars = text.chars();
        chars.next();
        text = chars.as_str();
    }
    // What joins the character before must not join the label.
    let text = text.trim_start_matches(|c: char| c.width() == Some(0));
    let spans = vec![
        Span::new(0, label, Style::Dim),
        Span::new(label.len(), text, Style::Bold),
    ];
    (spans, Some(label.len() + text.width()))
}

/// Between two columns.
pub const GAP: usize = 2;

/// A record in the list; the wider the terminal, the more of it.
fn line<R: PagedRecord>(record: &Line, columns: usize, chosen: bool) -> Vec<Span> {
    let style = match chosen {
        true => Style::Reverse,
        false => Style::Plain,
    };
    let room = columns.saturating_sub(1);
    let cells = R::layout(&record.cells, room);
    // The whole row, so that the chosen one is marked from end to end.
    let mut spans = Vec::new();
    match chosen {
        true => spans.push(Span::new(0, format!(">{:room$}", ""), style)),
        false => spans.push(Span::new(0, " ", style)),
    }
    let mut column = 1;
    for (text, width) in cells {
        if !text.is_empty() {
            spans.push(Span::cut(column, text, width, style));
        }
        column += width + GAP;
    }
    spans
}

fn status<R: PagedRecord>(pager: &Pager<R::Field>) -> Vec<Span> {
    let columns = pager.columns();
    if let Mode::Jump(marks) = &pager.mode {
        let mut text = "Go to:".to_owned();
        for (i, mark) in marks.iter().enumerate() {
            let next = marks.get(i + 1).map(|m| m.position).or(pager.total);
            if next.is_none_or(|next| next > mark.position) {
                text.push(' ');
                text.push_str(&mark.label);
            }
        }
        return vec![Span::cut(0, &text, columns, Style::Plain)];
    }
    if let Some(text) = pager.message.as_ref().or(pager.problem.as_ref()) {
        return vec![Span::cut(0, text, columns, Style::Plain)];
    }
    let place = match (pager.total, pager.lines.len() as u64) {
        (_, 0) => "0".to_owned(),
        (Some(total), _) => format!("{} of {}", count(pager.selected + 1), count(total)),
        (None, shown) => format!(
            "{} of more than {}",
            count(pager.selected + 1),
            count(pager.top + shown)
        ),
    };
    let mut spans = vec![Span::cut(0, &place, columns, Style::Plain)];
    let mut column = place.width() + 3;
    let keys: &[&str] = match (pager.searching, pager.lines.is_empty()) {
        (true, true) => &["Esc: whole list", "Ctrl-C: quit"],
        (true, false) => &["Enter: show", "Esc: whole list", "Ctrl-C: quit"],
        (false, true) => &["q: quit"],
        (false, false) => &["Enter: show", "q: quit", R::JUMP],
    };
    let took = duration(pager.took);
    for text in keys.iter().copied().chain([took.as_str()]) {
        if column + text.width() > columns {
            break;
        }
        spans.push(Span::new(column, text, Style::Dim));
        column += text.width() + 3;
    }
    spans
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
