//! From the index: in its order, or few gathered and sorted.

use std::collections::HashSet;

use super::super::plan::Way;
use super::super::records::{Gathered, Records};
use super::{Pending, Run};
use crate::error::Result;
use crate::search::filter::Matcher;
use crate::search::index::look::Look;
use crate::search::index::stream::Stream;

/// Candidates in the index's order that are read at once.
pub(super) const AT_ONCE: usize = 64;

impl<'q> Run<'q> {
    /// The pending records that match, then those that the index has, in its order: compared
    /// unless it is exact.
    pub(super) fn stream(
        &mut self,
        look: &Look,
        compare: Option<&Matcher>,
        pending: &Pending,
    ) -> Result<()> {
        self.plan.way = Way::Index;
        self.plan.exact = compare.is_none();
        self.plan.compared = pending.all.len() as u64;
        let room = self.part.limit.saturating_add(self.left_out);
        let matching = pending.matching.iter().copied();
        let first: Vec<i64> = matching
            .take(usize::try_from(room).unwrap_or(usize::MAX))
            .collect();
        let mut read = Records::new(self.conn, self.collection);
        self.show(&mut read, &first, None)?;
        let mut next = Vec::with_capacity(AT_ONCE);
        if let Some(mut stream) = Stream::of(look) {
            let mut least = 0;
            while !self.is_full() {
                next.clear();
                let most = self.worth_reading();
                while next.len() < most
                    && let Some(id) = stream.seek(self.conn, least)?
                {
                    least = id.saturating_add(1);
                    self.plan.candidates += 1;
                    if !pending.all.contains(&id) {
                        next.push(id);
                    }
                }
                if next.is_empty() {
                    break;
                }
                self.show(&mut read, &next, compare)?;
            }
            return Ok(());
        }
        if self.is_full() {
            return Ok(());
        }
        // Not in the order of their numbers: a record of several words that begin alike comes
        // several times.
        let mut seen = HashSet::with_capacity(AT_ONCE);
        let mut failed = None;
        let mut most = self.worth_reading();
        look.each(self.conn, &mut |id| {
            self.plan.candidates += 1;
            if pending.all.contains(&id) || !seen.insert(id) {
                return true;
            }
            next.push(id);
            if next.len() < most {
                return true;
            }
            failed = self.show(&mut read, &next, compare).err();
            next.clear();
            most = self.worth_reading();
            failed.is_none() && !self.is_full()
        })?;
        if let Some(e) = failed {
            return Err(e);
        }
        match self.is_full() {
            true => Ok(()),
            false => self.show(&mut read, &next, compare),
        }
    }

    /// How many of the next candidates are read at once: what the page has room for, if they are
    /// few enough.
    pub(super) fn worth_reading(&self) -> usize {
        let room = self.part.limit - self.page.len() as u64;
        let room = room.saturating_add(self.left_out);
        usize::try_from(room).unwrap_or(AT_ONCE).clamp(1, AT_ONCE)
    }

    /// Shows records as far as the page has room, if they are of this collection and match
    /// what they are to be compared with.
    pub(super) fn show(
        &mut self,
        read: &mut Records<'q>,
        ids: &[i64],
        compare: Option<&Matcher>,
    ) -> Result<()> {
        if compare.is_none() && self.left_out == 0 {
            return self.page.push_by_number(ids);
        }
        if compare.is_some() {
            self.plan.compared += ids.len() as u64;
        }
        read.each(ids, |id, _, summary, keys| {
            if compare.is_some_and(|matcher| !matcher.matches(keys)) {
                return Ok(());
            }
            match self.takes() {
                true => self.page.push(id, summary),
                false => Ok(()),
            }
        })
    }

    /// Candidates, each read, compared unless the index is exact, and sorted.
    pub(super) fn gather(&mut self, ids: &[i64], pending: &Pending, exact: bool) -> Result<()> {
        let matcher = self.matcher;
        self.plan.way = Way::Gather;
        self.plan.candidates = ids.len() as u64;
        self.plan.exact = exact;
        self.plan.compared = pending.all.len() as u64;
        let in_list_order = self.part.sort.is_list();
        let mut found = Gathered::default();
        let mut read = Records::new(self.conn, self.collection);
        if !exact {
            self.plan.compared += ids.len() as u64;
        }
        for (ids, matches) in [(ids, exact), (&pending.matching, true)] {
            read.each(ids, |id, sort, summary, keys| {
                if matches || matcher.matches(keys) {
                    let sort = if in_list_order { sort } else { &[] };
                    found.push(id, sort, summary);
                }
                Ok(())
            })?;
        }
        found.sort();
        let back = self.part.sort.is_reversed();
        let after = self.part.after.as_ref();
        for step in 0..found.len() {
            let at = match back {
                true => found.len() - 1 - step,
                false => step,
            };
            let (id, sort, summary) = found.get(at);
            let is_behind = after.is_none_or(|after| {
                let after = match in_list_order {
                    true => (&after.sort[..], after.id),
                    false => (&[][..], after.id),
                };
                match back {
                    true => (sort, id) < after,
                    false => (sort, id) > after,
                }
            });
            if is_behind && self.takes() {
                self.page.push(id, summary)?;
                if self.is_full() {
                    break;
                }
            }
        }
        Ok(())
    }
}
