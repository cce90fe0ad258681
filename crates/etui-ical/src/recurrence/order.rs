//! [`InstantOrder`]: local times to instants, in order.
//!
//! Local times in order are instants in order, except for local times in a gap: read with the
//! offset before the gap, they fall among the times that follow it, up to the length of the gap.
//! Those are held back until their turn. No more are held than one gap contains.

use std::collections::VecDeque;

use super::timing::MAX_OFFSET_SHIFT;

/// An item with its local time and its instant.
pub(super) struct ResolvedItem<T> {
    pub(super) at: i64,
    pub(super) local: i64,
    pub(super) skipped: bool,
    pub(super) item: T,
}

/// Reorders items that arrive by local time into the order of their instants.
pub(super) struct InstantOrder<T> {
    /// Items in a gap.
    late: VecDeque<ResolvedItem<T>>,
    /// The first item outside of the gap.
    ahead: Option<ResolvedItem<T>>,
    over: bool,
}

impl<T> InstantOrder<T> {
    pub(super) fn new() -> Self {
        Self {
            late: VecDeque::new(),
            ahead: None,
            over: false,
        }
    }

    /// Returns the next item; `pull` supplies items in the order of local time.
    pub(super) fn next_item(
        &mut self,
        mut pull: impl FnMut() -> Option<ResolvedItem<T>>,
    ) -> Option<ResolvedItem<T>> {
        if self.late.is_empty() && self.ahead.is_none() && !self.over {
            // The common case: nothing is held back.
            match pull() {
                None => self.over = true,
                Some(placed) if placed.skipped => self.late.push_back(placed),
                placed => return placed,
            }
        }
        while self.ahead.is_none() && !self.over && !self.gap_is_over() {
            match pull() {
                None => self.over = true,
                Some(placed) if placed.skipped => self.late.push_back(placed),
                placed => self.ahead = placed,
            }
        }
        let late_first = match (self.late.front(), &self.ahead) {
            (Some(late), Some(ahead)) => late.at <= ahead.at,
            (Some(_), None) => true,
            (None, _) => false,
        };
        if late_first {
            self.late.pop_front()
        } else {
            self.ahead.take()
        }
    }

    /// Returns true once a later gap was reached: nothing can precede the items of the first gap.
    fn gap_is_over(&self) -> bool {
        match (self.late.front(), self.late.back()) {
            (Some(front), Some(back)) => back.local - front.local > MAX_OFFSET_SHIFT,
            _ => false,
        }
    }
}
