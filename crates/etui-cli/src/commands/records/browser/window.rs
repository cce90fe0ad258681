//! [`ListWindow`]: the visible part of a long list, of which only the visible records are known.

use etui::RecordId;

use crate::terminal::Move;

/// A record in the list; its texts are escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListLine {
    pub id: RecordId,
    /// The text of each column.
    pub cells: Vec<String>,
}

/// The visible records and the selected one.
#[derive(Debug)]
pub struct ListWindow {
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
    height: usize,
    stale: bool,
    to_end: bool,
    /// The record that stays, or becomes, the selected one when the list is read again.
    follow: Option<RecordId>,
}

impl ListWindow {
    /// Returns the window of this many rows at the beginning of the list.
    pub fn new(height: usize) -> Self {
        Self {
            lines: Vec::new(),
            top: 0,
            selected: 0,
            total: None,
            more: false,
            height,
            stale: true,
            to_end: false,
            follow: None,
        }
    }

    pub fn height(&self) -> usize {
        self.height
    }

    /// Adapts to a new height.
    pub fn resize(&mut self, height: usize) {
        self.height = height;
        self.stale = true;
        self.select(self.selected);
    }

    /// Goes to a place in another list.
    pub fn reset(&mut self, (top, selected): (u64, u64)) {
        (self.top, self.selected) = (top, selected);
        self.total = None;
        self.to_end = false;
        self.follow = None;
        self.stale = true;
    }

    /// Reads the list again; this record is selected then, or else the one that is.
    pub fn reload(&mut self, id: Option<RecordId>) {
        self.stale = true;
        let selected = self.selected_line().map(|line| line.id);
        self.follow = id.or(self.follow).or(selected);
    }

    /// Returns the record whose position in the list is needed. Answered by [`Self::set_position`].
    pub fn wanted_position(&self) -> Option<RecordId> {
        self.follow
    }

    /// Returns the offset and the number of records that are needed. Answered by [`Self::set_page`].
    pub fn wanted_page(&self) -> Option<(u64, u64)> {
        // One more row shows whether the list continues.
        self.stale.then_some((self.top, self.height as u64 + 1))
    }

    /// Returns true if the number of records is needed. Answered by [`Self::set_count`].
    pub fn wants_count(&self) -> bool {
        self.to_end
    }

    /// Sets the records from position `top`, and the number of all records if known.
    pub fn set_page(&mut self, mut lines: Vec<ListLine>, total: Option<u64>) {
        self.stale = false;
        self.more = lines.len() > self.height;
        lines.truncate(self.height);
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
            let last = total.unwrap_or(0).saturating_sub(self.height as u64);
            self.top = last.min(self.top - 1);
            self.selected = u64::MAX;
            self.stale = true;
            return;
        }
        self.lines = lines;
        if let Some(id) = self.follow.take()
            && let Some(at) = self.lines.iter().position(|line| line.id == id)
        {
            self.selected = self.top + at as u64;
        }
        self.selected = self.selected.clamp(self.top, end.max(self.top + 1) - 1);
    }

    /// Sets the number of records.
    pub fn set_count(&mut self, total: u64) {
        self.total = Some(total);
        self.to_end = false;
        self.select(total.saturating_sub(1));
    }

    /// Sets the position of the record that was asked for; `None` if it is not in the list.
    pub fn set_position(&mut self, position: Option<u64>) {
        self.follow = None;
        self.stale = true;
        if let Some(position) = position {
            // The number of records may have changed.
            self.total = None;
            self.more = true;
            self.select(position);
        }
    }

    pub fn selected_line(&self) -> Option<&ListLine> {
        let at = usize::try_from(self.selected.checked_sub(self.top)?).ok()?;
        self.lines.get(at)
    }

    pub fn move_by(&mut self, step: Move) {
        let page = self.height as u64;
        match step {
            Move::Up => self.select(self.selected.saturating_sub(1)),
            Move::Down => self.select(self.selected.saturating_add(1)),
            Move::PageUp => {
                self.set_top(self.top.saturating_sub(page));
                self.select(self.selected.saturating_sub(page));
            }
            Move::PageDown => {
                if self.more {
                    self.set_top(self.top + page);
                }
                self.select(self.selected.saturating_add(page));
            }
            Move::First => self.select(0),
            Move::Last => match self.total {
                Some(total) => self.select(total.saturating_sub(1)),
                None => self.to_end = true,
            },
        }
    }

    /// Selects the record at this position and shows it in the first row.
    pub fn scroll_to(&mut self, position: u64) {
        self.set_top(position.min(self.last_position()));
        self.select(position);
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
            Some(total) => total.saturating_sub(self.height as u64),
            None => u64::MAX,
        };
        let top = top.min(most);
        self.stale |= top != self.top;
        self.top = top;
    }

    /// Selects the record at this position and scrolls to it.
    fn select(&mut self, position: u64) {
        self.selected = position.min(self.last_position());
        let lowest = (self.selected + 1).saturating_sub(self.height as u64);
        self.set_top(self.top.clamp(lowest, self.selected));
    }
}
