//! Along the list, or along the records by their numbers.

use std::ops::ControlFlow;

use super::super::plan::Way;
use super::super::records::Records;
use super::super::{Cursor, Sort};
use super::{Meant, Run};
use crate::error::Result;
use crate::record::list;

/// Beyond every place in a list: no name that takes part in the order has so many bytes of
/// weights, not even of U+FFFF, which has the highest (0xff 0xff); what else lists are ordered by
/// is shorter.
const BEYOND_ALL: [u8; 512] = [0xff; 512];

impl Run<'_> {
    /// The list as it stands.
    pub(super) fn list(&mut self) -> Result<()> {
        self.plan.way = Way::List;
        let every = &mut |_| Ok(Some(true));
        let offset = self.part.offset;
        if self.part.after.is_some() || offset == 0 {
            return self.along(every, u64::MAX);
        }
        let back = self.part.sort == Sort::ListReversed;
        // From the end, the one at this position counted from the front.
        let position = match back {
            false => Some(offset),
            true => list::count(self.conn, self.collection)?.checked_sub(offset.saturating_add(1)),
        };
        let Some(position) = position else {
            return Ok(());
        };
        let Some((first, at)) = list::start_at(self.conn, self.collection, position)? else {
            return Ok(());
        };
        self.left_out = at as u64;
        if back {
            let mut length = 0;
            list::walk(self.conn, self.collection, &first, false, |block| {
                length = block.len();
                Ok(ControlFlow::Break(()))
            })?;
            self.left_out = length.saturating_sub(at + 1) as u64;
        }
        self.along_from(&first, None, every, u64::MAX)
    }

    /// Along the list from where the query begins, past `most` entries at the most.
    pub(super) fn along(&mut self, meant: &mut Meant<'_>, most: u64) -> Result<()> {
        match &self.part.after {
            Some(after) => {
                let place = list::place(&after.sort, after.id);
                self.along_from(&place, Some(after), meant, most)
            }
            None if self.part.sort == Sort::ListReversed => {
                self.along_from(&BEYOND_ALL, None, meant, most)
            }
            None => self.along_from(&[], None, meant, most),
        }
    }

    /// Along the list from the block that holds `from`; entries up to `after` are left out.
    fn along_from(
        &mut self,
        from: &[u8],
        mut after: Option<&Cursor>,
        meant: &mut Meant<'_>,
        most: u64,
    ) -> Result<()> {
        let back = self.part.sort == Sort::ListReversed;
        let shown = self.page.shows_summaries();
        let end = self.plan.passed.saturating_add(most);
        let mut ids = Vec::new();
        list::walk(self.conn, self.collection, from, back, |block| {
            ids.clear();
            ids.extend(block.ids());
            let mut range = 0..ids.len();
            if let Some(after) = after.take() {
                match back {
                    true => range.end = block.before(&after.sort, after.id),
                    false => range.start = block.before(&after.sort, after.id.saturating_add(1)),
                }
            }
            let mut summaries = block.summaries();
            let mut read = 0;
            // Backwards they are needed in an order in which they cannot be read.
            let all: Vec<&[u8]> = match back && shown {
                true => block.summaries().collect(),
                false => Vec::new(),
            };
            for step in 0..range.len() {
                let at = match back {
                    true => range.end - 1 - step,
                    false => range.start + step,
                };
                if self.plan.passed >= end {
                    return Ok(ControlFlow::Break(()));
                }
                self.plan.passed += 1;
                match meant(ids[at])? {
                    None => return Ok(ControlFlow::Break(())),
                    Some(true) if self.takes() => {}
                    Some(_) => continue,
                }
                let summary = match (shown, back) {
                    (false, _) => None,
                    (true, true) => all.get(at).copied(),
                    (true, false) => {
                        let next = summaries.nth(at - read);
                        read = at + 1;
                        next
                    }
                };
                self.page.push(ids[at], summary.unwrap_or_default())?;
                if self.is_full() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// All records by their number, those that are `meant`.
    pub(super) fn by_number(&mut self, meant: &mut Meant<'_>) -> Result<()> {
        let back = self.part.sort == Sort::AddedReversed;
        let mut statement = self.conn.prepare_cached(match back {
            false => {
                "SELECT id, summary FROM record NOT INDEXED \
                 WHERE id > ?1 AND collection = ?2 AND removed IS NULL ORDER BY id"
            }
            true => {
                "SELECT id, summary FROM record NOT INDEXED \
                 WHERE id < ?1 AND collection = ?2 AND removed IS NULL ORDER BY id DESC"
            }
        })?;
        let from = match &self.part.after {
            Some(after) => after.id,
            None if back => i64::MAX,
            None => 0,
        };
        let mut rows = statement.query((from, self.collection))?;
        while let Some(row) = rows.next()? {
            let id = row.get(0)?;
            self.plan.passed += 1;
            if meant(id)? == Some(true) && self.takes() {
                let summary = row.get_ref(1)?.as_blob().unwrap_or_default();
                self.page.push(id, summary)?;
                if self.is_full() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Along the list, comparing each record, for `most` records. Tells whether that filled the
    /// page, or the list was at its end; if not, nothing is kept of it.
    pub(super) fn walk(&mut self, most: u64) -> Result<bool> {
        let matcher = self.matcher;
        let in_list_order = self.part.sort.is_list();
        if !in_list_order || self.part.limit.saturating_add(self.part.offset) > most {
            return Ok(false);
        }
        self.plan.way = Way::Walk;
        let mut read = Records::new(self.conn, self.collection);
        let mut compared = 0;
        self.along(
            &mut |id| {
                compared += 1;
                read.has(id, |keys| matcher.matches(keys)).map(Some)
            },
            most,
        )?;
        self.plan.compared = compared;
        if self.is_full() || self.plan.passed < most {
            return Ok(true);
        }
        self.page.clear();
        self.left_out = self.part.offset;
        Ok(false)
    }
}
