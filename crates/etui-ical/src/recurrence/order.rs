//! [`InOrder`]: local times become instants, and stay in order.
//!
//! Local times in order are instants in order but for those that the clocks skip: read by the
//! offset before the gap they fall among the times that follow it, up to the gap's length. Those
//! are held back until their turn. No more are held than lie in one gap.

use std::collections::VecDeque;

use super::timing::SLACK;

/// An item on its way, with its local time.
pub(super) struct Placed<T> {
    pub(super) at: i64,
    pub(super) wall: i64,
    pub(super) skipped: bool,
    pub(super) item: T,
}

/// Puts items that come by local time into the order of their instants.
pub(super) struct InOrder<T> {
    /// Those that the clocks skip.
    late: VecDeque<Placed<T>>,
    /// The first that they do not skip.
    ahead: Option<Placed<T>>,
    over: bool,
}

impl<T> InOrder<T> {
    pub(super) fn new() -> Self {
        Self {
            late: VecDeque::new(),
            ahead: None,
            over: false,
        }
    }

    /// The next item; `pull` gives items by local time.
    pub(super) fn next(
        &mut self,
        mut pull: impl FnMut() -> Option<Placed<T>>,
    ) -> Option<Placed<T>> {
        if self.late.is_empty() && self.ahead.is_none() && !self.over {
            // Nothing is held back: nearly always.
            match pull() {
                None => self.over = true,
                Some(placed) if placed.skipped => self.late.push_back(placed),
                placed => return placed,
            }
        }
        while self.ahead.is_none() && !self.over && !self.is_settled() {
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

    /// Whether a later gap was reached: nothing can come before what the first one held.
    fn is_settled(&self) -> bool {
        match (self.late.front(), self.late.back()) {
            (Some(front), Some(back)) => back.wall - front.wall > SLACK,
            _ => false,
        }
    }
}
