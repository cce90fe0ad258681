//! The search as one types, and the choice of landmarks.

use etui::search::filter::{FieldSet, Filter};

use super::{LandmarkMove, ListLandmark, ListState};
use crate::terminal::Key;

impl<F: FieldSet> ListState<F> {
    pub(super) fn search_key(&mut self, key: &Key) {
        if let Some(step) = key.to_text_move() {
            return self.window.move_by(step);
        }
        match key {
            Key::Escape => self.clear_search(),
            Key::Enter => {
                self.searching = false;
                if self.search.text().is_empty() || self.problem.is_some() {
                    self.clear_search();
                }
            }
            Key::Control('g') => self.begin_jump(),
            Key::Backspace if self.search.text().is_empty() => self.clear_search(),
            key => {
                self.search.handle_key(key);
                self.update_search();
            }
        }
    }

    /// Handles a key in the choice of landmarks: goes to the one whose label begins with the character,
    /// or else ends with it. Other keys return to the list.
    pub(super) fn jump_key(&mut self, key: &Key, marks: &[ListLandmark]) {
        match key {
            Key::Char(typed) => {
                let typed = typed.to_uppercase().to_string();
                let begins = |m: &&ListLandmark| m.label.to_uppercase().starts_with(&typed);
                let ends = |m: &&ListLandmark| m.label.to_uppercase().ends_with(&typed);
                let mark = marks.iter().find(begins);
                match mark.or_else(|| marks.iter().find(ends)) {
                    Some(mark) => self.window.scroll_to(mark.position),
                    None => self.dialogs.set_message(format!("No {typed}.")),
                }
            }
            Key::Left => self.landmark_move = Some(LandmarkMove::Before),
            Key::Right => self.landmark_move = Some(LandmarkMove::Next),
            _ => {}
        }
    }

    pub(super) fn begin_jump(&mut self) {
        self.clear_search();
        self.landmark_move = Some(LandmarkMove::Show);
    }

    pub(super) fn begin_search(&mut self) {
        self.searching = true;
        if !self.is_search() {
            self.before = (self.window.top, self.window.selected);
        }
    }

    pub(super) fn clear_search(&mut self) {
        self.search.set_text("");
        self.update_search();
        self.searching = false;
    }

    /// Applies the search text; an empty one restores the list.
    pub(super) fn update_search(&mut self) {
        self.problem = None;
        let filter = match self.search.text().parse::<Filter<F>>() {
            Ok(filter) => filter,
            Err(error) => {
                self.problem = Some(error.problem);
                return;
            }
        };
        if filter == self.filter {
            return;
        }
        self.filter = filter;
        self.window.reset(match self.filter {
            Filter::All => self.before,
            _ => (0, 0),
        });
    }
}
