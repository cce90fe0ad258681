//! [`ListState`]: the visible part of a list, the search and the effect of keys. It does no I/O:
//! [`ListState::next_request`] names the data it needs, [`ListState::handle_key`] returns the effect of a
//! key on the store or the terminal.

mod search;

use std::time::Duration;

use etui::search::filter::{FieldSet, Filter};
use etui::{CollectionKind, RecordId};

use super::action::{Action, Command, Subject};
use super::dialog::{Dialogs, Handled, PromptKind};
use super::window::{ListLine, ListWindow};
use crate::terminal::{Key, LineInput, Move};

/// A named position in the list: a letter, a year.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListLandmark {
    pub label: String,
    /// The position of its first record.
    pub position: u64,
}

/// A request for data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListRequest<F: FieldSet> {
    /// Answered by [`ListState::set_page`].
    Page {
        filter: Filter<F>,
        offset: u64,
        limit: u64,
    },
    /// The number of matches. Answered by [`ListWindow::set_count`].
    Count(Filter<F>),
    /// The position of a record in the whole list. Answered by [`ListWindow::set_position`].
    Position(RecordId),
    /// Answered by [`ListState::set_landmarks`].
    Landmarks,
    /// Answered by [`Dialogs::set_details`].
    Details(Subject),
    /// The meaning of a prompt's text. Answered by [`Dialogs::set_preview`].
    Preview(PromptKind, String),
}

/// The move that waits for the landmarks.
#[derive(Debug, Clone, Copy)]
enum LandmarkMove {
    Before,
    Next,
    Show,
}

/// The words and keys of a kind of record.
#[derive(Debug, Clone, Copy)]
pub struct ListWords {
    /// The noun for one record.
    pub one: &'static str,
    /// The noun for a collection of them.
    pub kind: CollectionKind,
    /// An example of a phrase for a new one.
    pub phrase_example: &'static str,
    /// The name of a record without one.
    pub unnamed: &'static str,
    /// The index of the cell with the name.
    pub name_cell: usize,
    /// Whether records can be completed.
    pub has_done: bool,
    /// Whether records can be moved.
    pub has_times: bool,
    /// Target of left and right: `letter`.
    pub landmark: &'static str,
}

/// The state of the list.
#[derive(Debug)]
pub struct ListState<F: FieldSet> {
    /// The names of the address books or calendars.
    names: Vec<String>,
    /// The one that is listed.
    collection: usize,
    pub words: ListWords,
    /// The search text.
    pub search: LineInput,
    /// Whether characters go into the search text.
    pub searching: bool,
    /// Why the search text is not a filter (yet).
    pub problem: Option<String>,
    pub window: ListWindow,
    /// The time that the latest page took.
    pub took: Duration,
    /// The landmarks to choose from.
    pub jump: Option<Vec<ListLandmark>>,
    pub dialogs: Dialogs,
    columns: usize,
    rows: usize,
    filter: Filter<F>,
    /// The first and the selected position before the search.
    before: (u64, u64),
    landmark_move: Option<LandmarkMove>,
    done: bool,
}

impl<F: FieldSet> ListState<F> {
    /// Returns the state at the beginning of the list on a terminal of this size.
    pub fn new(names: Vec<String>, words: ListWords, (columns, rows): (usize, usize)) -> Self {
        Self {
            names,
            collection: 0,
            words,
            search: LineInput::default(),
            searching: false,
            problem: None,
            window: ListWindow::new(list_height(rows)),
            took: Duration::ZERO,
            jump: None,
            dialogs: Dialogs::default(),
            columns,
            rows,
            filter: Filter::All,
            before: (0, 0),
            landmark_move: None,
            done: false,
        }
    }

    /// Returns the position of the collection that is listed.
    pub fn collection(&self) -> usize {
        self.collection
    }

    /// Returns the name of the collection that is listed.
    pub fn name(&self) -> &str {
        self.names.get(self.collection).map_or("", String::as_str)
    }

    /// Returns the number of collections.
    pub fn collections(&self) -> usize {
        self.names.len()
    }

    /// Returns columns and rows.
    pub fn size(&self) -> (usize, usize) {
        (self.columns, self.rows)
    }

    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Returns true if the list is a search result.
    pub fn is_search(&self) -> bool {
        self.filter != Filter::All
    }

    /// Returns the next request, or `None` if the screen can be drawn.
    pub fn next_request(&self) -> Option<ListRequest<F>> {
        if let Some(id) = self.window.wanted_position().filter(|_| !self.is_search()) {
            return Some(ListRequest::Position(id));
        }
        if let Some((offset, limit)) = self.window.wanted_page() {
            let filter = self.filter.clone();
            return Some(ListRequest::Page {
                filter,
                offset,
                limit,
            });
        }
        if self.landmark_move.is_some() {
            return Some(ListRequest::Landmarks);
        }
        if self.window.wants_count() {
            return Some(ListRequest::Count(self.filter.clone()));
        }
        if let Some((kind, text)) = self.dialogs.wanted_preview() {
            return Some(ListRequest::Preview(kind.clone(), text.to_owned()));
        }
        let wanted = self.dialogs.wanted_details();
        wanted.map(|subject| ListRequest::Details(subject.clone()))
    }

    /// Returns true if a pending request must be answered before this key. Typing does not wait for
    /// the result of the previous text; the effect of other keys depends on the screen.
    pub fn needs_answer_before(&self, key: &Key) -> bool {
        if !self.dialogs.is_empty() {
            return !self.dialogs.is_typing(key);
        }
        let is_typing = matches!(key, Key::Char(_) | Key::Text(_) | Key::Backspace);
        !(self.searching && is_typing) || self.landmark_move.is_some()
    }

    /// Sets the records of the page that was asked for, the number of all records if known, and the time
    /// taken.
    pub fn set_page(&mut self, lines: Vec<ListLine>, total: Option<u64>, took: Duration) {
        self.took = took;
        self.window.set_page(lines, total);
    }

    /// Sets the landmarks.
    pub fn set_landmarks(&mut self, marks: Vec<ListLandmark>) {
        let mut positions = marks.iter().map(|mark| mark.position);
        match self.landmark_move.take() {
            Some(LandmarkMove::Show) => self.jump = Some(marks),
            Some(LandmarkMove::Next) => {
                let next = positions.find(|p| *p > self.window.selected);
                self.window.scroll_to(next.unwrap_or(u64::MAX));
            }
            Some(LandmarkMove::Before) => {
                let before = positions.take_while(|p| *p < self.window.selected).last();
                self.window.scroll_to(before.unwrap_or(0));
            }
            None => {}
        }
    }

    /// Reads the list again; the selected record stays selected.
    pub fn reload(&mut self) {
        self.window.reload(None);
        self.dialogs.refresh_details();
    }

    /// Reads the list again and selects a record. The search ends if the record is new.
    pub fn reload_at(&mut self, id: RecordId, is_new: bool) {
        if is_new {
            self.clear_search();
        }
        self.window.reload(Some(id));
        self.dialogs.refresh_details();
    }

    /// Adapts to a new size of the terminal.
    pub fn resize(&mut self, (columns, rows): (usize, usize)) {
        (self.columns, self.rows) = (columns, rows);
        self.window.resize(list_height(rows));
    }

    /// Handles a key. Returns its effect on the store or the terminal.
    pub fn handle_key(&mut self, key: &Key) -> Option<Action> {
        self.dialogs.clear_message();
        if *key == Key::Quit {
            self.done = true;
            return None;
        }
        if *key == Key::Control('z') {
            return Some(Action::Suspend);
        }
        let page = (self.columns, self.rows.saturating_sub(1).max(1));
        match self.dialogs.handle_key(key, page) {
            Handled::Nothing => None,
            Handled::Act(action) => Some(action),
            Handled::Command(command, subject) => self.run_command(command, Some(subject)),
            Handled::Submitted(_, text, true) => Some(Action::AddInEditor(text, None)),
            Handled::Submitted(_, text, false) => Some(Action::Add(text, None)),
            Handled::NoDialog => {
                if let Some(marks) = self.jump.take() {
                    self.jump_key(key, &marks);
                    return None;
                }
                match self.searching {
                    true => self.search_key(key),
                    false => return self.list_key(key),
                }
                None
            }
        }
    }

    fn list_key(&mut self, key: &Key) -> Option<Action> {
        match key {
            Key::Char('q') => self.done = true,
            Key::Char('/') => self.begin_search(),
            Key::Escape => self.clear_search(),
            Key::Enter => {
                if let Some(subject) = self.subject() {
                    self.dialogs.show_details(subject);
                }
            }
            Key::Tab => self.switch_collection(1),
            Key::BackTab => self.switch_collection(-1),
            Key::Left | Key::Char('[' | 'h') if !self.is_search() => {
                self.landmark_move = Some(LandmarkMove::Before);
            }
            Key::Right | Key::Char(']' | 'l') if !self.is_search() => {
                self.landmark_move = Some(LandmarkMove::Next);
            }
            Key::Control('g') => self.begin_jump(),
            Key::Char(' ') if !self.words.has_done => self.window.move_by(Move::PageDown),
            key => match (key.to_move(), Command::of_key(key)) {
                (Some(step), _) => self.window.move_by(step),
                (None, Some(command)) => {
                    let subject = self.subject();
                    return self.run_command(command, subject);
                }
                (None, None) if matches!(key, Key::Char(_) | Key::Text(_)) => {
                    self.dialogs.set_message("?: keys   /: search");
                }
                (None, None) => {}
            },
        }
        None
    }

    fn run_command(&mut self, command: Command, subject: Option<Subject>) -> Option<Action> {
        match command {
            Command::Help => {
                let rows = super::help::list_keys(&self.words);
                self.dialogs.open_help("Keys", rows);
                return None;
            }
            Command::Add => {
                let title = format!("New {} in {}", self.words.one, self.name());
                let example = self.words.phrase_example;
                self.dialogs.open_prompt(PromptKind::Add, &title, example);
                return None;
            }
            Command::Undo => return Some(Action::Undo),
            _ => {}
        }
        let Some(subject) = subject else {
            let one = self.words.one;
            self.dialogs.set_message(format!("There is no {one} here."));
            return None;
        };
        match command {
            Command::OpenForm => self.dialogs.choose_form(subject),
            Command::Move if self.words.has_times => self.dialogs.choose_move(subject),
            Command::Edit => Some(Action::Edit(subject)),
            Command::Copy => Some(Action::ChooseCopy(subject)),
            Command::ToggleDone if self.words.has_done => Some(Action::ToggleDone(subject)),
            Command::Remove => {
                self.dialogs.ask_removal(&subject);
                None
            }
            _ => None,
        }
    }

    /// Lists the next collection, or one before, from its beginning.
    fn switch_collection(&mut self, by: isize) {
        let count = isize::try_from(self.names.len()).unwrap_or(1).max(1);
        let at = isize::try_from(self.collection).unwrap_or(0) + by;
        let at = usize::try_from(at.rem_euclid(count)).unwrap_or(0);
        if at != self.collection {
            self.clear_search();
            self.collection = at;
            self.window.reset((0, 0));
        }
    }

    /// Returns the selected record.
    fn subject(&self) -> Option<Subject> {
        let line = self.window.selected_line()?;
        let name = line.cells.get(self.words.name_cell);
        let name = name.filter(|name| !name.is_empty());
        Some(Subject {
            id: line.id,
            collection: self.collection,
            instance: None,
            title: name.map_or_else(|| self.words.unnamed.to_owned(), Clone::clone),
        })
    }
}

/// Returns the rows of the list, between the title and the status line.
fn list_height(rows: usize) -> usize {
    rows.saturating_sub(2).max(1)
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
