//! Scans of the list, and of the records by id.

use std::ops::ControlFlow;

use super::super::{Cursor, SortOrder};
use super::{Predicate, QueryExecutor};
use crate::error::Result;
use crate::record::list;

/// Greater than every key of a list. A collation key has at most 512 bytes of weights, of which
/// none exceeds that of U+FFFF (0xff 0xff); other sort keys are shorter.
const END_OF_LIST: [u8; 512] = [0xff; 512];

impl QueryExecutor<'_, '_> {
    /// Scans the unfiltered list, from the page's position at once.
    pub(super) fn scan_whole_list(&mut self) -> Result<()> {
        let every = &mut |_| Ok(Some(true));
        let offset = self.window.offset;
        if self.window.after.is_some() || offset == 0 {
            return self.scan_list(every);
        }
        let backward = self.window.sort == SortOrder::ListReversed;
        // Positions count from the front.
        let position = match backward {
            false => Some(offset),
            true => list::count(self.conn, self.collection)?.checked_sub(offset.saturating_add(1)),
        };
        let Some(position) = position else {
            return Ok(());
        };
        let Some((first, at)) = list::find_position(self.conn, self.collection, position)? else {
            return Ok(());
        };
        self.skip = at as u64;
        if backward {
            let mut length = 0;
            list::for_each_block(self.conn, self.collection, &first, false, |block| {
                length = block.len();
                Ok(ControlFlow::Break(()))
            })?;
            // Backward, the entries after it in its block come first.
            self.skip = length.saturating_sub(at + 1) as u64;
        }
        self.scan_list_from(&first, None, every)
    }

    /// Scans the list from the query's cursor, or from its start.
    pub(super) fn scan_list(&mut self, predicate: &mut Predicate<'_>) -> Result<()> {
        match &self.window.after {
            Some(after) if self.window.sort.is_list() => {
                let key = list::list_key(&after.sort, after.id);
                self.scan_list_from(&key, Some(after), predicate)
            }
            _ if self.window.sort == SortOrder::ListReversed => {
                self.scan_list_from(&END_OF_LIST, None, predicate)
            }
            _ => self.scan_list_from(&[], None, predicate),
        }
    }

    /// Scans the list from the block that holds the list key `from`, without the entries up to
    /// `after`.
    fn scan_list_from(
        &mut self,
        from: &[u8],
        mut after: Option<&Cursor>,
        predicate: &mut Predicate<'_>,
    ) -> Result<()> {
        let backward = self.window.sort == SortOrder::ListReversed;
        let shows_summaries = self.sink.shows_summaries();
        let mut ids = Vec::new();
        list::for_each_block(self.conn, self.collection, from, backward, |block| {
            ids.clear();
            ids.extend(block.ids());
            let mut range = 0..ids.len();
            if let Some(after) = after.take() {
                match backward {
                    true => range.end = block.count_before(&after.sort, after.id),
                    // The entry of the cursor itself was on the page before.
                    false => {
                        range.start = block.count_before(&after.sort, after.id.saturating_add(1))
                    }
                }
            }
            let mut summaries = block.summaries();
            let mut read = 0;
            // Summaries are decoded forward only.
            let all: Vec<&[u8]> = match backward && shows_summaries {
                true => block.summaries().collect(),
                false => Vec::new(),
            };
            for step in 0..range.len() {
                let at = match backward {
                    true => range.end - 1 - step,
                    false => range.start + step,
                };
                self.plan.scanned += 1;
                match predicate(ids[at])? {
                    None => return Ok(ControlFlow::Break(())),
                    Some(true) if self.accept_match() => {}
                    Some(_) => continue,
                }
                let summary = match (shows_summaries, backward) {
                    (false, _) => None,
                    (true, true) => all.get(at).copied(),
                    (true, false) => {
                        let next = summaries.nth(at - read);
                        read = at + 1;
                        next
                    }
                };
                self.sink.push(ids[at], summary.unwrap_or_default())?;
                if self.is_full() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Scans the records in the order of their ids.
    pub(super) fn scan_records(&mut self, predicate: &mut Predicate<'_>) -> Result<()> {
        let backward = self.window.sort == SortOrder::AddedReversed;
        let mut statement = self.conn.prepare_cached(match backward {
            false => {
                "SELECT id, summary FROM record NOT INDEXED \
                 WHERE id > ?1 AND collection = ?2 AND removed_at IS NULL ORDER BY id"
            }
            true => {
                "SELECT id, summary FROM record NOT INDEXED \
                 WHERE id < ?1 AND collection = ?2 AND removed_at IS NULL ORDER BY id DESC"
            }
        })?;
        let from = match &self.window.after {
            Some(after) if self.window.sort.is_by_id() => after.id,
            _ if backward => i64::MAX,
            _ => 0,
        };
        let mut rows = statement.query((from, self.collection))?;
        while let Some(row) = rows.next()? {
            let id = row.get(0)?;
            self.plan.scanned += 1;
            if predicate(id)? == Some(true) && self.accept_match() {
                let summary = row.get_ref(1)?.as_blob().unwrap_or_default();
                self.sink.push(id, summary)?;
                if self.is_full() {
                    break;
                }
            }
        }
        Ok(())
    }
}
