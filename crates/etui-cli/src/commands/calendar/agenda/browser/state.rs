//! [`AgendaState`]: the selected day and entry, the view, and the effect of keys. It does no I/O:
//! [`AgendaState::next_request`] names the data it needs, [`AgendaState::handle_key`] returns the effect of
//! a key on the store or the terminal.

mod moves;

use etui::RecordId;
use etui::calendar::time::{Date, DateTime, Weekday};

pub use self::moves::AgendaRow;
use super::super::days::{AgendaEntry, DayMap, DayPart, days_of};
use super::super::draw::entry_title;
use super::super::month_grid::MonthGrid;
use super::view::fits_week_grid;
use crate::commands::records::browser::action::{Action, Command, Subject};
use crate::commands::records::browser::dialog::{Dialogs, Handled, Preview, PromptKind};
use crate::terminal::Key;
use etui_when::{format_long_day, parse_when, start_of_week};

/// The days on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgendaView {
    Day,
    Week,
    Month,
}

/// A request for data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgendaRequest {
    /// The entries from one day to another. Answered by [`AgendaState::set_entries`].
    Load(Date, Date),
    /// The next entry with these words, or the one before. Answered by [`AgendaState::set_found`].
    Find { words: String, is_forward: bool },
    /// Answered by [`Dialogs::set_details`].
    Details(Subject),
    /// The meaning of the text for a new entry or a new time. Answered by [`Dialogs::set_preview`].
    Preview(PromptKind, String),
}

/// An entry of a day, to be found again when the days were read again.
#[derive(Debug, Clone, PartialEq, Eq)]
struct EntryKey {
    id: Option<RecordId>,
    starts: Option<DateTime>,
}

/// The settings of a browser.
#[derive(Debug, Clone)]
pub struct AgendaOptions {
    /// The calendars, in one line.
    pub name: String,
    /// The calendar that new entries go into.
    pub target: String,
    pub first_weekday: Weekday,
    /// An example of a phrase for a new entry.
    pub phrase_example: &'static str,
}

/// The state of the agenda.
#[derive(Debug)]
pub struct AgendaState {
    pub options: AgendaOptions,
    pub view: AgendaView,
    /// The selected day.
    pub day: Date,
    /// The selected entry of the day.
    pub entry: usize,
    /// The first visible row of the list of days.
    pub top: usize,
    pub now: DateTime,
    pub dialogs: Dialogs,
    days: DayMap,
    loaded: Option<(Date, Date)>,
    /// The entry that is selected when the days were read again.
    follow: Option<EntryKey>,
    /// The view that Escape returns to.
    back: Option<AgendaView>,
    /// The words that were looked for last.
    words: String,
    to_find: Option<bool>,
    columns: usize,
    rows: usize,
    done: bool,
}

impl AgendaState {
    pub fn new(
        options: AgendaOptions,
        view: AgendaView,
        day: Date,
        now: DateTime,
        (columns, rows): (usize, usize),
    ) -> Self {
        Self {
            options,
            view,
            day,
            entry: 0,
            top: 0,
            now,
            dialogs: Dialogs::default(),
            days: DayMap::new(),
            loaded: None,
            follow: None,
            back: None,
            words: String::new(),
            to_find: None,
            columns,
            rows,
            done: false,
        }
    }

    /// Returns columns and rows.
    pub fn size(&self) -> (usize, usize) {
        (self.columns, self.rows)
    }

    pub fn resize(&mut self, (columns, rows): (usize, usize)) {
        (self.columns, self.rows) = (columns, rows);
        self.scroll();
    }

    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Returns true if the days are beside one another, a row for each hour.
    pub fn has_week_grid(&self) -> bool {
        self.view == AgendaView::Week && fits_week_grid(self.columns)
    }

    pub fn today(&self) -> Date {
        self.now.date()
    }

    /// Returns the grid of the selected day's month.
    pub fn grid(&self) -> MonthGrid {
        MonthGrid {
            day: self.day,
            first_weekday: self.options.first_weekday,
            today: self.today(),
            has_selection: true,
        }
    }

    /// Returns the first and the last day of the view.
    pub fn span(&self) -> (Date, Date) {
        match self.view {
            AgendaView::Day => (self.day, self.day),
            AgendaView::Week => {
                let first = start_of_week(self.day, self.options.first_weekday);
                (first, first.plus_days(6))
            }
            AgendaView::Month => (self.grid().first(), self.grid().last()),
        }
    }

    /// Returns the entries of a day, in the order of its lines.
    pub fn entries(&self, day: Date) -> &[(DayPart, AgendaEntry)] {
        self.days.get(&day).map_or(&[], Vec::as_slice)
    }

    /// Returns the next request, or `None` if the screen can be drawn.
    pub fn next_request(&self) -> Option<AgendaRequest> {
        if let Some(is_forward) = self.to_find {
            return Some(AgendaRequest::Find {
                words: self.words.clone(),
                is_forward,
            });
        }
        let (first, last) = self.span();
        if self.loaded != Some((first, last)) {
            return Some(AgendaRequest::Load(first, last));
        }
        if let Some((kind, text)) = self.dialogs.wanted_preview() {
            return Some(AgendaRequest::Preview(kind.clone(), text.to_owned()));
        }
        let wanted = self.dialogs.wanted_details();
        wanted.map(|subject| AgendaRequest::Details(subject.clone()))
    }

    /// Returns true if a pending request must be answered before this key. A key that goes to another day
    /// or is typed does not wait.
    pub fn needs_answer_before(&self, key: &Key) -> bool {
        if !self.dialogs.is_empty() {
            return !self.dialogs.is_typing(key);
        }
        let goes_on = matches!(key, Key::Left | Key::Right | Key::Char('[' | ']' | 't'));
        !goes_on || self.to_find.is_some()
    }

    /// Sets the entries of the days that were asked for.
    pub fn set_entries(&mut self, entries: &[AgendaEntry], (first, last): (Date, Date)) {
        self.days = days_of(entries, (first, last));
        self.loaded = Some((first, last));
        let key = self.follow.take();
        let lines = self.entries(self.day);
        let followed = key.and_then(|key| {
            let has_id = |e: &AgendaEntry| e.source.as_ref().map(|s| s.id) == key.id;
            let mut same = lines.iter().enumerate().filter(|(_, (_, e))| has_id(e));
            let exact = same
                .clone()
                .find(|(_, (_, e))| Some(e.starts) == key.starts);
            exact.or_else(|| same.next()).map(|(at, _)| at)
        });
        let last_entry = lines.len().saturating_sub(1);
        self.entry = followed.unwrap_or(self.entry).min(last_entry);
        self.scroll();
    }

    /// Sets the entry that was looked for: its day, id and start.
    pub fn set_found(&mut self, found: Option<(Date, RecordId, DateTime)>) {
        self.to_find = None;
        match found {
            Some((day, id, starts)) => {
                self.follow = Some(EntryKey {
                    id: Some(id),
                    starts: Some(starts),
                });
                self.select_day(day);
                self.loaded = None;
            }
            None => {
                let words = &self.words;
                self.dialogs
                    .set_message(format!("Nothing more with \"{words}\"."));
            }
        }
    }

    /// Reads the days again; the selected entry stays selected.
    pub fn reload(&mut self) {
        let entry = self.selected_entry();
        let key = entry.map(|entry| EntryKey {
            id: entry.source.as_ref().map(|source| source.id),
            starts: Some(entry.starts),
        });
        self.follow = self.follow.take().or(key);
        self.loaded = None;
        self.dialogs.refresh_details();
    }

    /// Reads the days again and selects an entry; of a new one, its day.
    pub fn reload_at(&mut self, id: RecordId, day: Option<Date>) {
        self.reload();
        let starts = self.follow.take().and_then(|key| key.starts);
        self.follow = Some(EntryKey {
            id: Some(id),
            starts,
        });
        if let Some(day) = day {
            self.select_day(day);
        }
    }

    /// Returns the selected entry.
    pub fn selected_entry(&self) -> Option<&AgendaEntry> {
        self.entries(self.day)
            .get(self.entry)
            .map(|(_, entry)| entry)
    }

    fn subject(&self) -> Option<Subject> {
        let entry = self.selected_entry()?;
        let source = entry.source.as_ref()?;
        Some(Subject {
            id: source.id,
            collection: source.calendar,
            instance: source.instance.clone(),
            title: entry_title(entry),
        })
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
        let handled = self.dialogs.handle_key(key, page);
        self.preview_day();
        let action = match handled {
            Handled::Nothing => None,
            Handled::Act(action) => Some(action),
            Handled::Command(command, subject) => self.run_command(command, Some(subject)),
            Handled::Submitted(PromptKind::Add, text, in_editor) => {
                let day = Some(self.day);
                Some(match in_editor {
                    true => Action::AddInEditor(text, day),
                    false => Action::Add(text, day),
                })
            }
            Handled::Submitted(PromptKind::GoTo, text, _) => {
                if let Ok(value) = parse_when(&text, self.now) {
                    self.dialogs.close_prompt();
                    self.select_day(value.local().date());
                }
                None
            }
            Handled::Submitted(PromptKind::Find, text, _) => {
                self.dialogs.close_prompt();
                self.words = text;
                self.to_find = Some(true);
                None
            }
            // A prompt for a new time is answered by an action.
            Handled::Submitted(PromptKind::Move(_), ..) => None,
            Handled::NoDialog => self.view_key(key),
        };
        self.scroll();
        action
    }

    /// Answers the preview of a day to go to: it needs no data.
    fn preview_day(&mut self) {
        let now = self.now;
        let preview = match self.dialogs.wanted_preview() {
            Some((PromptKind::GoTo, text)) => match parse_when(text, now) {
                Ok(value) => {
                    let day = format_long_day(value.local().date());
                    Preview::Rows(vec![("Day".to_owned(), day)])
                }
                Err(problem) => Preview::Problem(problem),
            },
            Some((PromptKind::Find, _)) => Preview::None,
            _ => return,
        };
        self.dialogs.set_preview(preview);
    }

    fn view_key(&mut self, key: &Key) -> Option<Action> {
        let is_grid = self.view == AgendaView::Month || self.has_week_grid();
        match key {
            Key::Char('q') | Key::Escape if self.back.is_some() => {
                self.view = self.back.take().unwrap_or(self.view);
            }
            Key::Char('q') => self.done = true,
            Key::Char('D') => self.set_view(AgendaView::Day),
            Key::Char('W') => self.set_view(AgendaView::Week),
            Key::Char('M') => self.set_view(AgendaView::Month),
            Key::Char('t') => self.select_day(self.today()),
            Key::Char('[') | Key::PageUp => self.turn_page(-1),
            Key::Char(']') | Key::PageDown => self.turn_page(1),
            Key::Left | Key::Char('h') if is_grid => self.select_day(self.day.plus_days(-1)),
            Key::Right | Key::Char('l') if is_grid => self.select_day(self.day.plus_days(1)),
            Key::Left | Key::Char('h') => self.turn_page(-1),
            Key::Right | Key::Char('l') => self.turn_page(1),
            Key::Tab => self.next_entry(1),
            Key::BackTab => self.next_entry(-1),
            Key::Char(':') | Key::Control('g') => {
                let example = "24.12., next friday, in 2 weeks, 2027-03-08";
                self.dialogs
                    .open_prompt(PromptKind::GoTo, "Go to a day", example);
            }
            Key::Char('/') => {
                let example = "dentist, place:berlin, -lunch";
                self.dialogs
                    .open_prompt(PromptKind::Find, "Find the next", example);
            }
            Key::Char('n') if !self.words.is_empty() => self.to_find = Some(true),
            Key::Char('N') if !self.words.is_empty() => self.to_find = Some(false),
            Key::Enter => self.open_selected(),
            key => match (key.to_move(), Command::of_key(key)) {
                (Some(step), _) => self.move_by(step),
                (None, Some(command)) => {
                    let subject = self.subject();
                    return self.run_command(command, subject);
                }
                (None, None) if matches!(key, Key::Char(_) | Key::Text(_)) => {
                    self.dialogs
                        .set_message("?: keys   D, W, M: day, week, month   a: add");
                }
                (None, None) => {}
            },
        }
        None
    }

    fn run_command(&mut self, command: Command, subject: Option<Subject>) -> Option<Action> {
        match command {
            Command::Help => {
                self.dialogs.open_help("Keys", super::keys::agenda_keys());
                return None;
            }
            Command::Add => {
                let target = &self.options.target;
                let title = format!("New entry in {target}, {}", format_long_day(self.day));
                let example = self.options.phrase_example;
                self.dialogs.open_prompt(PromptKind::Add, &title, example);
                return None;
            }
            Command::Undo => return Some(Action::Undo),
            _ => {}
        }
        let Some(subject) = subject else {
            let text = match self.selected_entry() {
                Some(_) => "This is from the contacts, and is changed there.",
                None => "There is no entry on this day. a: add",
            };
            self.dialogs.set_message(text);
            return None;
        };
        match command {
            Command::OpenForm => self.dialogs.choose_form(subject),
            Command::Move => self.dialogs.choose_move(subject),
            Command::Edit => Some(Action::Edit(subject)),
            Command::Copy => Some(Action::ChooseCopy(subject)),
            Command::ToggleDone => Some(Action::ToggleDone(subject)),
            Command::Skip if subject.instance.is_some() => Some(Action::SkipInstance(subject)),
            Command::Skip => {
                self.dialogs
                    .set_message("This entry does not repeat. d: remove it");
                None
            }
            Command::Remove => {
                self.dialogs.ask_removal(&subject);
                None
            }
            _ => None,
        }
    }

    /// Shows the selected entry; in a month, the selected day.
    fn open_selected(&mut self) {
        if self.view == AgendaView::Month {
            self.back = Some(self.view);
            self.view = AgendaView::Day;
            return;
        }
        match self.subject() {
            Some(subject) => self.dialogs.show_details(subject),
            None => {
                self.run_command(Command::Edit, None);
            }
        }
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
pub mod tests;
