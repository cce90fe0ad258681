//! Moves of the selected day and entry, and the lines that they are on.

use etui::calendar::time::Date;

use super::super::super::month_grid::first_of_month;
use super::super::view::list_height;
use super::{AgendaState, AgendaView};
use crate::terminal::Move;
use etui_when::plus_months;

/// A line of the list of days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgendaRow {
    Heading(Date),
    /// The nth entry of a day.
    Entry(Date, usize),
    /// A day without entries.
    Empty(Date),
}

impl AgendaState {
    /// Returns the lines of the list of days.
    pub fn list_rows(&self) -> Vec<AgendaRow> {
        let (first, last) = match self.view {
            // Below the grid, the selected day is listed.
            AgendaView::Month => (self.day, self.day),
            _ => self.span(),
        };
        let mut rows = Vec::new();
        for day in (0..=i64::from(last.days() - first.days())).map(|n| first.plus_days(n)) {
            // The title of a day's view is its heading.
            if self.view != AgendaView::Day {
                rows.push(AgendaRow::Heading(day));
            }
            match self.entries(day).len() {
                0 => rows.push(AgendaRow::Empty(day)),
                count => rows.extend((0..count).map(|n| AgendaRow::Entry(day, n))),
            }
        }
        rows
    }

    /// Returns true if a row is the selected one.
    pub fn is_selected(&self, row: AgendaRow) -> bool {
        match row {
            AgendaRow::Heading(_) => false,
            AgendaRow::Entry(day, n) => (day, n) == (self.day, self.entry),
            AgendaRow::Empty(day) => day == self.day,
        }
    }

    pub(super) fn set_view(&mut self, view: AgendaView) {
        self.back = None;
        self.view = view;
    }

    pub(super) fn select_day(&mut self, day: Date) {
        if day != self.day {
            self.day = day;
            self.entry = 0;
        }
    }

    /// Goes to the next day, week or month, or one of the earlier ones.
    pub(super) fn turn_page(&mut self, by: i64) {
        let day = match self.view {
            AgendaView::Day => self.day.plus_days(by),
            AgendaView::Week => self.day.plus_days(7 * by),
            AgendaView::Month => plus_months(self.day, by),
        };
        self.select_day(day);
    }

    /// Selects the next entry of the day, after the last one the first.
    pub(super) fn next_entry(&mut self, by: i64) {
        let count = i64::try_from(self.entries(self.day).len()).unwrap_or(i64::MAX);
        if count > 0 {
            let entry = i64::try_from(self.entry).unwrap_or(0) + by;
            self.entry = usize::try_from(entry.rem_euclid(count)).unwrap_or(0);
        }
    }

    pub(super) fn move_by(&mut self, step: Move) {
        if self.view == AgendaView::Month {
            let (first, last) = (
                first_of_month(self.day),
                plus_months(first_of_month(self.day), 1),
            );
            return self.select_day(match step {
                Move::Up => self.day.plus_days(-7),
                Move::Down => self.day.plus_days(7),
                Move::First => first,
                Move::Last => last.plus_days(-1),
                Move::PageUp => plus_months(self.day, -1),
                Move::PageDown => plus_months(self.day, 1),
            });
        }
        let (first, last) = self.span();
        let count = self.entries(self.day).len();
        match step {
            Move::Up if self.entry > 0 => self.entry -= 1,
            Move::Down if self.entry + 1 < count => self.entry += 1,
            Move::Up => {
                self.select_day(self.day.plus_days(-1));
                // Of a day that is not read yet, it is corrected when it is.
                self.entry = match self.entries(self.day).len() {
                    0 => usize::MAX,
                    count => count - 1,
                };
                if self.loaded == Some(self.span()) {
                    self.entry = self
                        .entry
                        .min(self.entries(self.day).len().saturating_sub(1));
                }
            }
            Move::Down => self.select_day(self.day.plus_days(1)),
            Move::First => {
                (self.day, self.entry) = (first, 0);
            }
            Move::Last => {
                self.day = last;
                self.entry = self.entries(last).len().saturating_sub(1);
            }
            Move::PageUp => self.turn_page(-1),
            Move::PageDown => self.turn_page(1),
        }
    }

    /// Scrolls the list of days so that the selected row, and its heading if there is room, is visible.
    pub(super) fn scroll(&mut self) {
        let height = list_height(self);
        let rows = self.list_rows();
        let selected = rows
            .iter()
            .position(|row| self.is_selected(*row))
            .unwrap_or(0);
        let lowest = (selected + 1).saturating_sub(height);
        let heading = match height {
            0..2 => selected,
            _ if self.entry == 0 => selected.saturating_sub(1),
            _ => selected,
        };
        let most = rows.len().saturating_sub(height);
        self.top = self.top.min(most).clamp(lowest.min(heading), heading);
    }
}
