//! [`PagerState`]: the visible part of the list, the search and the effect of keys. It does no I/O:
//! [`PagerState::next_request`] names the data it needs.

use std::time::Duration;

use etui::RecordId;
use etui::search::filter::{FieldSet, Filter};

use super::details::DetailsView;

/// A key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PagerKey {
    Char(char),
    /// Pasted text.
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
    /// Deletes the last word.
    DeleteWord,
    /// Deletes the whole text.
    DeleteAll,
    /// Asks for a landmark.
    Jump,
    Quit,
    /// A key without a function.
    Other,
}

/// A record in the list; its texts are escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListLine {
    pub id: RecordId,
    /// The text of each column.
    pub cells: Vec<String>,
}

/// A named position in the list: a letter, a year.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListLandmark {
    pub label: String,
    /// The position of its first record.
    pub position: u64,
}

/// A request for data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PagerRequest<F: FieldSet> {
    /// Answered by [`PagerState::set_page`].
    Page {
        filter: Filter<F>,
        offset: u64,
        limit: u64,
    },
    /// The number of matches. Answered by [`PagerState::set_count`].
    Count(Filter<F>),
    /// Answered by [`PagerState::set_landmarks`].
    Landmarks,
    /// Answered by [`PagerState::set_details`].
    Details(RecordId),
}

/// The move that waits for the landmarks.
#[derive(Debug, Clone, Copy)]
enum LandmarkMove {
    Before,
    Next,
    Show,
}

/// The content of the screen.
#[derive(Debug)]
pub enum PagerMode {
    List,
    /// The list with a choice of landmarks.
    Jump(Vec<ListLandmark>),
    Details(DetailsView),
}

/// The state of the pager.
#[derive(Debug)]
pub struct PagerState<F: FieldSet> {
    /// The name of the address book or calendar.
    pub name: String,
    /// The search text.
    pub text: String,
    /// Whether all characters go into the search text.
    pub searching: bool,
    /// Why the search text is not a filter (yet).
    pub problem: Option<String>,
    /// A message that the next key removes.
    pub message: Option<String>,
    /// The visible records.
    pub lines: Vec<ListLine>,
    /// The position of the first of them.
    pub top: u64,
    /// The position of the selected record.
    pub selected: u64,
    /// The number of records, if known.
    pub total: Option<u64>,
    /// Whether records follow the visible ones.
    pub more: bool,
    /// The time that the latest page took.
    pub took: Duration,
    pub mode: PagerMode,
    columns: usize,
    rows: usize,
    filter: Filter<F>,
    /// `top` and `selected` before the search.
    before: (u64, u64),
    stale: bool,
    to_end: bool,
    landmark_move: Option<LandmarkMove>,
    to_open: Option<RecordId>,
    done: bool,
}

impl<F: FieldSet> PagerState<F> {
    /// Returns the state at the beginning of the list on a terminal of this size.
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
            mode: PagerMode::List,
            columns,
            rows,
            filter: Filter::All,
            before: (0, 0),
            stale: true,
            to_end: false,
            landmark_move: None,
            to_open: None,
            done: false,
        }
    }

    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the rows of the list, between the title and the status line.
    pub fn list_height(&self) -> usize {
        self.rows.saturating_sub(2).max(1)
    }

    /// Returns the columns and rows of the details view.
    pub fn details_size(&self) -> (usize, usize) {
        (self.columns, self.rows.saturating_sub(1).max(1))
    }

    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Returns true if the list is a search result.
    pub fn is_search(&self) -> bool {
        self.filter != Filter::All
    }

    /// Returns the next request, or `None` if the screen can be drawn.
    pub fn next_request(&self) -> Option<PagerRequest<F>> {
        if self.stale {
            return Some(PagerRequest::Page {
                filter: self.filter.clone(),
                offset: self.top,
                // One more row shows whether the list continues.
                limit: self.list_height() as u64 + 1,
            });
        }
        if self.landmark_move.is_some() {
            return Some(PagerRequest::Landmarks);
        }
        if self.to_end {
            return Some(PagerRequest::Count(self.filter.clone()));
        }
        self.to_open.map(PagerRequest::Details)
    }

    /// Returns true if a pending request must be answered before this key. Typing does not wait for
    /// the result of the previous search text; the effect of other keys depends on the screen.
    pub fn needs_answer_before(&self, key: &PagerKey) -> bool {
        let is_typing = matches!(
            key,
            PagerKey::Char(_) | PagerKey::Text(_) | PagerKey::Backspace
        );
        !is_typing || self.landmark_move.is_some() || self.to_open.is_some()
    }

    /// Sets the records from position `top`, the number of all records if known, and the time taken.
    pub fn set_page(&mut self, mut lines: Vec<ListLine>, total: Option<u64>, took: Duration) {
        self.stale = false;
        self.took = took;
        let height = self.list_height();
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
            // The list became shorter.
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

    /// Sets the number of matches.
    pub fn set_count(&mut self, total: u64) {
        self.total = Some(total);
        self.to_end = false;
        self.select(total.saturating_sub(1));
    }

    /// Sets the landmarks.
    pub fn set_landmarks(&mut self, marks: Vec<ListLandmark>) {
        let mut positions = marks.iter().map(|mark| mark.position);
        match self.landmark_move.take() {
            Some(LandmarkMove::Show) => self.mode = PagerMode::Jump(marks),
            Some(LandmarkMove::Next) => {
                let next = positions.find(|p| *p > self.selected);
                self.scroll_to(next.unwrap_or(u64::MAX));
            }
            Some(LandmarkMove::Before) => {
                let before = positions.take_while(|p| *p < self.selected).last();
                self.scroll_to(before.unwrap_or(0));
            }
            None => {}
        }
    }

    /// Sets the name and the labelled values of the selected record; `None` if it was removed.
    pub fn set_details(&mut self, details: Option<(String, Vec<(String, String)>)>) {
        self.to_open = None;
        match details {
            Some((name, rows)) => self.mode = PagerMode::Details(DetailsView::new(name, rows)),
            None => {
                self.message = Some("The record was removed.".to_owned());
                self.stale = true;
            }
        }
    }

    /// Adapts to a new size of the terminal.
    pub fn resize(&mut self, (columns, rows): (usize, usize)) {
        (self.columns, self.rows) = (columns, rows);
        self.stale = true;
        self.select(self.selected);
    }

    /// Handles a key.
    pub fn handle_key(&mut self, key: PagerKey) {
        self.message = None;
        if key == PagerKey::Quit {
            self.done = true;
            return;
        }
        let size = self.details_size();
        match &mut self.mode {
            PagerMode::List => self.list_key(key),
            PagerMode::Jump(marks) => {
                let marks = std::mem::take(marks);
                self.mode = PagerMode::List;
                self.jump_key(&key, &marks);
            }
            PagerMode::Details(details) => {
                if !details.scroll_by(&key, size) {
                    self.mode = PagerMode::List;
                    // The list may have changed.
                    self.stale = true;
                }
            }
        }
    }

    fn list_key(&mut self, key: PagerKey) {
        let page = self.list_height() as u64;
        match key {
            PagerKey::Char('q') if !self.searching => self.done = true,
            PagerKey::Char('/') if !self.searching => self.begin_search(),
            PagerKey::Char(' ') if !self.searching => self.list_key(PagerKey::PageDown),
            PagerKey::Char(c) => self.append_text(c.encode_utf8(&mut [0; 4])),
            PagerKey::Text(text) => self.append_text(&text),
            PagerKey::Up => self.select(self.selected.saturating_sub(1)),
            PagerKey::Down => self.select(self.selected.saturating_add(1)),
            PagerKey::PageUp => {
                self.set_top(self.top.saturating_sub(page));
                self.select(self.selected.saturating_sub(page));
            }
            PagerKey::PageDown => {
                if self.more {
                    self.set_top(self.top + page);
                }
                self.select(self.selected.saturating_add(page));
            }
            PagerKey::Home => self.select(0),
            PagerKey::End => match self.total {
                Some(total) => self.select(total.saturating_sub(1)),
                None => self.to_end = true,
            },
            PagerKey::Left if !self.is_search() => self.landmark_move = Some(LandmarkMove::Before),
            PagerKey::Right if !self.is_search() => self.landmark_move = Some(LandmarkMove::Next),
            PagerKey::Jump => {
                self.clear_search();
                self.landmark_move = Some(LandmarkMove::Show);
            }
            PagerKey::Enter => {
                let at = usize::try_from(self.selected - self.top).ok();
                self.to_open = at.and_then(|at| self.lines.get(at)).map(|line| line.id);
            }
            PagerKey::Backspace => {
                self.text.pop();
                self.update_search();
            }
            PagerKey::DeleteWord => {
                let rest = self.text.trim_end();
                let end = rest.rfind(' ').map_or(0, |space| space + 1);
                self.text.truncate(end);
                self.update_search();
            }
            PagerKey::DeleteAll | PagerKey::Escape => self.clear_search(),
            PagerKey::Left | PagerKey::Right | PagerKey::Other | PagerKey::Quit => {}
        }
    }

    /// Handles a key in the choice of landmarks: goes to the one whose label begins with the character,
    /// or else ends with it. Other keys return to the list.
    fn jump_key(&mut self, key: &PagerKey, marks: &[ListLandmark]) {
        match key {
            PagerKey::Char(typed) => {
                let typed = typed.to_uppercase().to_string();
                let begins = |m: &&ListLandmark| m.label.to_uppercase().starts_with(&typed);
                let ends = |m: &&ListLandmark| m.label.to_uppercase().ends_with(&typed);
                let mark = marks.iter().find(begins);
                match mark.or_else(|| marks.iter().find(ends)) {
                    Some(mark) => self.scroll_to(mark.position),
                    None => self.message = Some(format!("No {typed}.")),
                }
            }
            PagerKey::Left | PagerKey::Right => self.list_key(key.clone()),
            _ => {}
        }
    }

    fn begin_search(&mut self) {
        if !self.searching {
            self.searching = true;
            self.before = (self.top, self.selected);
        }
    }

    fn append_text(&mut self, text: &str) {
        self.begin_search();
        let visible = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        self.text.extend(visible);
        self.update_search();
    }

    fn clear_search(&mut self) {
        self.text.clear();
        self.update_search();
    }

    /// Applies the search text; an empty one restores the list.
    fn update_search(&mut self) {
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

    /// Returns the last position that can be selected.
    fn last_position(&self) -> u64 {
        match self.total {
            Some(total) => total.saturating_sub(1),
            // The end is known once it was reached.
            None if self.more => u64::MAX,
            None => self.top + (self.lines.len() as u64).max(1) - 1,
        }
    }

    /// Scrolls so that this position is the first.
    fn set_top(&mut self, top: u64) {
        let most = match self.total {
            Some(total) => total.saturating_sub(self.list_height() as u64),
            None => u64::MAX,
        };
        let top = top.min(most);
        self.stale |= top != self.top;
        self.top = top;
    }

    /// Selects the record at this position and scrolls to it.
    fn select(&mut self, position: u64) {
        let height = self.list_height() as u64;
        self.selected = position.min(self.last_position());
        let lowest = (self.selected + 1).saturating_sub(height);
        self.set_top(self.top.clamp(lowest, self.selected));
    }

    /// Selects the record at this position and shows it in the first row.
    pub fn scroll_to(&mut self, position: u64) {
        self.set_top(position.min(self.last_position()));
        self.select(position);
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
