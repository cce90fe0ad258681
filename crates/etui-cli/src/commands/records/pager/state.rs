//! [`Pager`]: which part of the list is shown, what is searched for, what a key does. Pure: it
//! says what it wants to know, and is told.

use std::time::Duration;

use etui::RecordId;
use etui::search::filter::{FieldSet, Filter};

use super::details::About;

/// What a person does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    Char(char),
    /// Text that was pasted.
    Text(String),
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Backspace,
    Escape,
    /// Removes the last word typed.
    DropWord,
    /// Removes all that was typed.
    DropAll,
    /// Asks for a landmark to go to.
    Jump,
    Quit,
    /// One that means nothing here.
    Other,
}

/// A record in the list; its texts are fit for a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub id: RecordId,
    /// What is shown of it, by columns.
    pub cells: Vec<String>,
}

/// A place of the list that has a name: a letter, a year.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListLandmark {
    pub label: String,
    /// The position of the first record from there on.
    pub position: u64,
}

/// What the pager wants to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PagerRequest<F: FieldSet> {
    /// Answered by [`Pager::page`].
    Page {
        filter: Filter<F>,
        offset: u64,
        limit: u64,
    },
    /// How many those are. Answered by [`Pager::counted`].
    Count(Filter<F>),
    /// Answered by [`Pager::landmarks`].
    Landmarks,
    /// Answered by [`Pager::about`].
    About(RecordId),
}

/// What is done as soon as it is known where the landmarks are.
#[derive(Debug, Clone, Copy)]
enum LandmarkMove {
    Before,
    Next,
    Show,
}

/// What fills the screen.
#[derive(Debug)]
pub enum Mode {
    List,
    /// The list, and the landmarks to choose from.
    Jump(Vec<ListLandmark>),
    About(About),
}

/// The list on a terminal.
#[derive(Debug)]
pub struct Pager<F: FieldSet> {
    /// The name of the address book or calendar.
    pub name: String,
    /// What was typed to be searched for.
    pub text: String,
    /// Whether what is typed is searched for, whatever it is.
    pub searching: bool,
    /// Why what was typed cannot be searched for (yet).
    pub problem: Option<String>,
    /// What is to be told once.
    pub message: Option<String>,
    /// The records shown.
    pub lines: Vec<Line>,
    /// The position of the first of them.
    pub top: u64,
    /// The position of the one that is chosen.
    pub selected: u64,
    /// How many there are, if that is known.
    pub total: Option<u64>,
    /// Whether there are more behind those shown.
    pub more: bool,
    /// How long the latest page took.
    pub took: Duration,
    pub mode: Mode,
    columns: usize,
    rows: usize,
    filter: Filter<F>,
    /// Where the list stood before the search.
    before: (u64, u64),
    stale: bool,
    to_end: bool,
    landmark_move: Option<LandmarkMove>,
    opens: Option<RecordId>,
    done: bool,
}

impl<F: FieldSet> Pager<F> {
    /// At the beginning of the list, on a terminal of so many columns and rows.
    pub fn new(name: &str, (columns, rows): (usize, usize)) -> Self {
        Self {
            name: name.to_owned(),
            text: String::new(),
            searching: false,
            problem: None,
            message: None,
            lines: Vec::new(),
            top: 0,
            selected: 0,
            total: None,
            more: false,
            took: Duration::ZERO,
            mode: Mode::List,
            columns,
            rows,
            filter: Filter::All,
            before: (0, 0),
            stale: true,
            to_end: false,
            landmark_move: None,
            opens: None,
            done: false,
        }
    }

    /// Columns of the terminal.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Rows of the terminal.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Rows between the first, with what is typed, and the last, which tells where one is.
    pub fn height(&self) -> usize {
        self.rows.saturating_sub(2).max(1)
    }

    /// Columns and rows for all about a record.
    pub fn about_size(&self) -> (usize, usize) {
        (self.columns, self.rows.saturating_sub(1).max(1))
    }

    /// Whether it was left.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Whether the list is that of a search.
    pub fn is_search(&self) -> bool {
        self.filter != Filter::All
    }

    /// What it wants to know next; `None`: it can be shown.
    pub fn want(&self) -> Option<PagerRequest<F>> {
        if self.stale {
            return Some(PagerRequest::Page {
                filter: self.filter.clone(),
                offset: self.top,
                // One more, to know whether there are more.
                limit: self.height() as u64 + 1,
            });
        }
        if self.landmark_move.is_some() {
            return Some(PagerRequest::Landmarks);
        }
        if self.to_end {
            return Some(PagerRequest::Count(self.filter.clone()));
        }
        self.opens.map(PagerRequest::About)
    }

    /// Whether what it wants must be known before this key: what is typed next does not need to
    /// wait for what was found so far, but what a key means depends on what is shown.
    pub fn must_know_before(&self, key: &Key) -> bool {
        let is_typing = matches!(key, Key::Char(_) | Key::Text(_) | Key::Backspace);
        !is_typing || self.landmark_move.is_some() || self.opens.is_some()
    }

    /// The records from position `top` on, how many there are if that is known, and how long it
    /// took.
    pub fn page(&mut self, mut lines: Vec<Line>, total: Option<u64>, took: Duration) {
        self.stale = false;
        self.took = took;
        let height = self.height();
        self.more = lines.len() > height;
        lines.truncate(height);
        let end = self.top + lines.len() as u64;
        if total.is_some() {
            self.total = total;
        } else if !self.more && (self.top == 0 || !lines.is_empty()) {
            self.total = Some(end);
        } else if self.total.is_some_and(|total| total <= end) {
            self.total = None;
        }
        if lines.is_empty() && self.top > 0 {
            // The list has become shorter than that.
            self.total = total;
            let last = total.unwrap_or(0).saturating_sub(height as u64);
            self.top = last.min(self.top - 1);
            self.selected = u64::MAX;
            self.stale = true;
            return;
        }
        self.lines = lines;
        self.selected = self.selected.clamp(self.top, end.max(self.top + 1) - 1);
    }

    /// How many records the search finds.
    pub fn counted(&mut self, total: u64) {
        self.total = Some(total);
        self.to_end = false;
        self.choose(total.saturating_sub(1));
    }

    /// Where the landmarks are.
    pub fn landmarks(&mut self, marks: Vec<ListLandmark>) {
        let mut positions = marks.iter().map(|mark| mark.position);
        match self.landmark_move.take() {
            Some(LandmarkMove::Show) => self.mode = Mode::Jump(marks),
            Some(LandmarkMove::Next) => {
                let next = positions.find(|p| *p > self.selected);
                self.lead(next.unwrap_or(u64::MAX));
            }
            Some(LandmarkMove::Before) => {
                let before = positions.take_while(|p| *p < self.selected).last();
                self.lead(before.unwrap_or(0));
            }
            None => {}
        }
    }

    /// All about the record that is chosen: its name, and what is known with labels. `None`: it
    /// is not there any more.
    pub fn about(&mut self, described: Option<(String, Vec<(String, String)>)>) {
        self.opens = None;
        match described {
            Some((name, rows)) => self.mode = Mode::About(About::new(name, rows)),
            None => {
                self.message = Some("It was removed meanwhile.".to_owned());
                self.stale = true;
            }
        }
    }

    /// The terminal has another size now.
    pub fn resize(&mut self, (columns, rows): (usize, usize)) {
        (self.columns, self.rows) = (columns, rows);
        self.stale = true;
        self.choose(self.selected);
    }

    /// What a key does.
    pub fn key(&mut self, key: Key) {
        self.message = None;
        if key == Key::Quit {
            self.done = true;
            return;
        }
        let size = self.about_size();
        match &mut self.mode {
            Mode::List => self.list_key(key),
            Mode::Jump(marks) => {
                let marks = std::mem::take(marks);
                self.mode = Mode::List;
                self.jump_key(&key, &marks);
            }
            Mode::About(about) => {
                if !about.scroll(&key, size) {
                    self.mode = Mode::List;
                    // Time may have passed.
                    self.stale = true;
                }
            }
        }
    }

    fn list_key(&mut self, key: Key) {
        let page = self.height() as u64;
        match key {
            Key::Char('q') if !self.searching => self.done = true,
            Key::Char('/') if !self.searching => self.begin_search(),
            Key::Char(' ') if !self.searching => self.list_key(Key::PageDown),
            Key::Char(c) => self.typed(c.encode_utf8(&mut [0; 4])),
            Key::Text(text) => self.typed(&text),
            Key::Up => self.choose(self.selected.saturating_sub(1)),
            Key::Down => self.choose(self.selected.saturating_add(1)),
            Key::PageUp => {
                self.turn(self.top.saturating_sub(page));
                self.choose(self.selected.saturating_sub(page));
            }
            Key::PageDown => {
                if self.more {
                    self.turn(self.top + page);
                }
                self.choose(self.selected.saturating_add(page));
            }
            Key::Home => self.choose(0),
            Key::End => match self.total {
                Some(total) => self.choose(total.saturating_sub(1)),
                None => self.to_end = true,
            },
            Key::Left if !self.is_search() => self.landmark_move = Some(LandmarkMove::Before),
            Key::Right if !self.is_search() => self.landmark_move = Some(LandmarkMove::Next),
            Key::Jump => {
                self.end_search();
                self.landmark_move = Some(LandmarkMove::Show);
            }
            Key::Enter => {
                let at = usize::try_from(self.selected - self.top).ok();
                self.opens = at.and_then(|at| self.lines.get(at)).map(|line| line.id);
            }
            Key::Backspace => {
                self.text.pop();
                self.search();
            }
            Key::DropWord => {
                let rest = self.text.trim_end();
                let end = rest.rfind(' ').map_or(0, |space| space + 1);
                self.text.truncate(end);
                self.search();
            }
            Key::DropAll | Key::Escape => self.end_search(),
            Key::Left | Key::Right | Key::Other | Key::Quit => {}
        }
    }

    /// In the list of landmarks: goes to the one that begins with what is typed, or else ends so;
    /// other keys lead back.
    fn jump_key(&mut self, key: &Key, marks: &[ListLandmark]) {
        match key {
            Key::Char(typed) => {
                let typed = typed.to_uppercase().to_string();
                let begins = |m: &&ListLandmark| m.label.to_uppercase().starts_with(&typed);
                let ends = |m: &&ListLandmark| m.label.to_uppercase().ends_with(&typed);
                let mark = marks.iter().find(begins);
                match mark.or_else(|| marks.iter().find(ends)) {
                    Some(mark) => self.lead(mark.position),
                    None => self.message = Some(format!("There is no {typed} to go to.")),
                }
            }
            Key::Left | Key::Right => self.list_key(key.clone()),
            _ => {}
        }
    }

    fn begin_search(&mut self) {
        if !self.searching {
            self.searching = true;
            self.before = (self.top, self.selected);
        }
    }

    fn typed(&mut self, text: &str) {
        self.begin_search();
        let visible = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        self.text.extend(visible);
        self.search();
    }

    fn end_search(&mut self) {
        self.text.clear();
        self.search();
    }

    /// Looks for what is typed now; nothing: the list as it stood before.
    fn search(&mut self) {
        self.problem = None;
        let filter = match self.text.parse::<Filter<F>>() {
            Ok(filter) => filter,
            Err(error) => {
                self.problem = Some(error.problem);
                return;
            }
        };
        if self.text.is_empty() {
            self.searching = false;
        }
        if filter == self.filter {
            return;
        }
        self.filter = filter;
        self.to_end = false;
        self.total = None;
        self.stale = true;
        (self.top, self.selected) = match self.filter {
            Filter::All => self.before,
            _ => (0, 0),
        };
    }

    /// The last position that can be gone to from here.
    fn last(&self) -> u64 {
        match self.total {
            Some(total) => total.saturating_sub(1),
            // Where it ends is seen when one is there.
            None if self.more => u64::MAX,
            None => self.top + (self.lines.len() as u64).max(1) - 1,
        }
    }

    /// Shows the page from this position on.
    fn turn(&mut self, top: u64) {
        let most = match self.total {
            Some(total) => total.saturating_sub(self.height() as u64),
            None => u64::MAX,
        };
        let top = top.min(most);
        self.stale |= top != self.top;
        self.top = top;
    }

    /// Chooses the record at this position, and shows it.
    fn choose(&mut self, position: u64) {
        let height = self.height() as u64;
        self.selected = position.min(self.last());
        let lowest = (self.selected + 1).saturating_sub(height);
        self.turn(self.top.clamp(lowest, self.selected));
    }

    /// Chooses the record at this position, and shows it as the first.
    pub fn lead(&mut self, position: u64) {
        self.turn(position.min(self.last()));
        self.choose(position);
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
