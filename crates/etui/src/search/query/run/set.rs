//! A set of candidates from the index, met along the list or gone through by number.

use super::super::Sort;
use super::super::plan::Way;
use super::super::records::Records;
use super::super::sets::{Bounds, Met, Set};
use super::index::AT_ONCE;
use super::{Meant, Pending, Run, most_gathered};
use crate::error::Result;
use crate::search::index::postings::Ids;

/// Places in the list that are passed at the cost of reading one record by its number.
const PASSED_AT_COST: u64 = 48;

/// Most candidates that are gathered once the list was gone along in vain for as long as that
/// costs: more of them cost more than the rest of a list of a million.
const MOST_GATHERED_LATE: u64 = 8_192;

/// Records compared along the list for a page before all that is left to compare is compared in
/// the order of the file, which costs a fifth of it each.
const MOST_COMPARED: u64 = 4_096;

impl Run<'_> {
    /// What the index says of the whole filter; where that is not enough, records are compared.
    pub(super) fn by_set(&mut self, pending: &Pending, records: u64) -> Result<()> {
        let matcher = self.matcher;
        let bounds = Bounds::of(matcher, self.conn)?;
        self.plan.way = Way::Set;
        self.plan.exact = matches!(bounds, Bounds::Exact(_));
        self.plan.compared += pending.all.len() as u64;
        let (mut sure, mut maybe) = match bounds {
            Bounds::Exact(sure) => (sure, None),
            Bounds::Between(sure, maybe) => (sure, Some(maybe)),
        };
        let candidates = maybe.as_ref().unwrap_or(&sure);
        self.plan.candidates = candidates.size();
        let few = candidates.ids().map_or(u64::MAX, Ids::len);
        let settled = |candidates: &Set| -> Vec<i64> {
            let ids = candidates.ids().into_iter().flatten().map(u64::cast_signed);
            ids.filter(|id| !pending.all.contains(id)).collect()
        };
        if few <= most_gathered(records) as u64 {
            // The conditions together leave few, though none of them did.
            return self.gather(&settled(candidates), pending, maybe.is_none());
        }
        for &id in &pending.all {
            sure.remove(id);
            if let Some(maybe) = &mut maybe {
                maybe.remove(id);
            }
        }
        for &id in &pending.matching {
            sure.insert(id);
        }
        if !self.part.sort.is_list() {
            return self.by_set_and_number(&sure, maybe.as_ref());
        }
        if self.part.limit != u64::MAX {
            let patience = match few <= MOST_GATHERED_LATE {
                true => PASSED_AT_COST.saturating_mul(few),
                false => u64::MAX,
            };
            if self.met(&sure, maybe.as_ref(), patience)? {
                return Ok(());
            }
        }
        if few <= MOST_GATHERED_LATE {
            let ids = settled(maybe.as_ref().unwrap_or(&sure));
            return self.gather(&ids, pending, maybe.is_none());
        }
        // All there is to compare is compared in the order of the file, where neighbours share a
        // page, and not in the list's.
        if let Some(ids) = maybe.as_ref().and_then(Set::ids) {
            let ids = ids.iter().map(u64::cast_signed);
            let ids: Vec<i64> = ids.filter(|&id| !sure.has(id)).collect();
            self.plan.compared += ids.len() as u64;
            Records::new(self.conn, self.collection).each(&ids, |id, _, _, keys| {
                if matcher.matches(keys) {
                    sure.insert(id);
                }
                Ok(())
            })?;
            maybe = None;
        }
        self.along_set(&sure, maybe.as_ref(), u64::MAX, u64::MAX)?;
        Ok(())
    }

    /// The page met along the list, unless that takes more than `patience` places or too many
    /// comparisons. Tells whether that filled the page, or the list was at its end; if not,
    /// nothing is kept of it.
    fn met(&mut self, sure: &Set, maybe: Option<&Set>, patience: u64) -> Result<bool> {
        if self.along_set(sure, maybe, patience, MOST_COMPARED)? {
            return Ok(true);
        }
        self.page.clear();
        self.left_out = self.part.offset;
        Ok(false)
    }

    /// Along the list, showing those in `sure`, or in `maybe` and matches, for `patience` places
    /// and as many comparisons as `most_compared` says. Tells whether that was enough.
    fn along_set(
        &mut self,
        sure: &Set,
        maybe: Option<&Set>,
        patience: u64,
        most_compared: u64,
    ) -> Result<bool> {
        let matcher = self.matcher;
        let mut read = Records::new(self.conn, self.collection);
        let (mut sure, mut maybe) = (Met::new(sure), maybe.map(Met::new));
        let mut compared = 0;
        let mut gave_up = false;
        let before = self.plan.passed;
        let mut meant = |id: i64| -> Result<Option<bool>> {
            if sure.has(id) {
                return Ok(Some(true));
            }
            if !maybe.as_mut().is_some_and(|maybe| maybe.has(id)) {
                return Ok(Some(false));
            }
            if compared == most_compared {
                gave_up = true;
                return Ok(None);
            }
            compared += 1;
            read.has(id, |keys| matcher.matches(keys)).map(Some)
        };
        self.along(&mut meant, patience)?;
        self.plan.compared += compared;
        let is_at_end = !gave_up && self.plan.passed - before < patience;
        Ok(self.is_full() || is_at_end)
    }

    /// By number, those in `sure`, or in `maybe` and matches.
    fn by_set_and_number(&mut self, sure: &Set, maybe: Option<&Set>) -> Result<()> {
        let matcher = self.matcher;
        let mut read = Records::new(self.conn, self.collection);
        let mut compared = 0;
        let mut meant = |id: i64| -> Result<Option<bool>> {
            if sure.has(id) {
                return Ok(Some(true));
            }
            if !maybe.is_some_and(|maybe| maybe.has(id)) {
                return Ok(Some(false));
            }
            compared += 1;
            read.has(id, |keys| matcher.matches(keys)).map(Some)
        };
        // Numbers that no record has are passed over.
        match maybe.unwrap_or(sure).ids().cloned() {
            None => self.by_number(&mut meant)?,
            Some(mut ids) => {
                if let Some(sure) = sure.ids() {
                    ids |= sure;
                }
                self.of_set(&ids, &mut meant)?;
            }
        }
        self.plan.compared += compared;
        Ok(())
    }

    /// The records of a set by their number, those that are `meant`.
    fn of_set(&mut self, ids: &Ids, meant: &mut Meant<'_>) -> Result<()> {
        let back = self.part.sort == Sort::AddedReversed;
        let after = self.part.after.as_ref().map(|after| after.id);
        let is_behind = |id| after.is_none_or(|after| if back { id < after } else { id > after });
        let mut read = Records::new(self.conn, self.collection);
        let mut next = Vec::with_capacity(AT_ONCE);
        let mut ids = ids.iter();
        while !self.is_full() {
            next.clear();
            let most = self.worth_reading();
            while next.len() < most
                && let Some(id) = if back { ids.next_back() } else { ids.next() }
            {
                let id = id.cast_signed();
                if is_behind(id) && meant(id)? == Some(true) {
                    next.push(id);
                }
            }
            if next.is_empty() {
                break;
            }
            // Some may be of another collection.
            self.show(&mut read, &next, None)?;
        }
        Ok(())
    }
}
