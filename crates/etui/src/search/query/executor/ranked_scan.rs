//! Ranked scan: many candidates, one rank after another.

use super::super::query_plan::QueryPlan;
use super::super::ranks::Ranks;
use super::super::{Cursor, ResultWindow, SortOrder};
use super::QueryExecutor;
use crate::error::Result;

impl QueryExecutor<'_, '_> {
    /// Answers each rank in list order until the page is full.
    pub(super) fn scan_ranks(&mut self) -> Result<()> {
        let one_rank = Ranks(Vec::new());
        let after = self.window.after.as_ref();
        let first = after.map_or(0, |after| usize::from(after.rank));
        for at in first..self.ranks.0.len() {
            let stage = self.ranks.stage(at);
            let window = ResultWindow {
                sort: SortOrder::List,
                offset: self.skip,
                limit: self.window.limit,
                // Later ranks begin at the start of the list.
                after: after.filter(|_| at == first).map(|after| Cursor {
                    rank: 0,
                    ..after.clone()
                }),
                wants_cursor: false,
            };
            let mut part = QueryExecutor {
                conn: self.conn,
                collection: self.collection,
                matcher: &stage,
                ranks: &one_rank,
                window: &window,
                skip: self.skip,
                first_row: self.sink.len(),
                sink: &mut *self.sink,
                plan: QueryPlan::default(),
            };
            let candidates = part.find_candidates()?;
            part.choose_path(&candidates)?;
            let (skip, plan) = (part.skip, part.plan);
            self.skip = skip;
            self.plan.access_path = plan.access_path;
            self.plan.rechecked += plan.rechecked;
            self.plan.scanned += plan.scanned;
            if self.is_full() {
                break;
            }
        }
        Ok(())
    }
}
