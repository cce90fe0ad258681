//! Index lookup: candidates are fetched by id, rechecked and ordered.

use super::super::SortOrder;
use super::super::candidates::Candidates;
use super::super::query_plan::AccessPath;
use super::super::record_reader::{BATCH, RecheckReader, SortBuffer};
use super::QueryExecutor;
use crate::error::Result;
use crate::search::index::id_set::RecordIds;

impl QueryExecutor<'_, '_> {
    /// Fetches all candidates and sorts the matches in list order.
    pub(super) fn lookup_and_sort(
        &mut self,
        ids: &RecordIds,
        candidates: &Candidates,
    ) -> Result<()> {
        self.plan.access_path = AccessPath::IndexLookup;
        let matcher = self.matcher;
        let ids: Vec<i64> = ids.iter().map(u64::cast_signed).collect();
        let mut matches = SortBuffer::default();
        let mut rechecked = 0;
        RecheckReader::new(self.conn, self.collection).each_row(&ids, |row| {
            let is_match = candidates.definite().contains(row.id) || {
                rechecked += 1;
                matcher.matches(row.search)
            };
            if is_match {
                let rank = match self.window.sort {
                    SortOrder::Rank => self.ranks.of(row.search),
                    _ => 0,
                };
                matches.push(rank, row.id, row.sort, row.summary);
            }
            Ok(())
        })?;
        self.plan.rechecked += rechecked;
        matches.sort();
        match self.window.sort == SortOrder::ListReversed {
            false => self.push_matches(matches.iter(), false),
            true => self.push_matches(matches.iter().rev(), true),
        }
    }

    /// Appends the matches after the query's cursor until the page is full.
    fn push_matches<'m>(
        &mut self,
        matches: impl Iterator<Item = (u8, i64, &'m [u8], &'m [u8])>,
        backward: bool,
    ) -> Result<()> {
        let window = self.window;
        for (rank, id, sort, summary) in matches {
            let is_after = window.after.as_ref().is_none_or(|after| {
                let after = (after.rank, &after.sort[..], after.id);
                match backward {
                    false => (rank, sort, id) > after,
                    true => (rank, sort, id) < after,
                }
            });
            if is_after && self.accept_match() {
                self.sink.push(id, summary)?;
                if self.is_full() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Fetches the candidates in the order of their ids until the page is full.
    pub(super) fn lookup_by_id(&mut self, ids: &RecordIds, candidates: &Candidates) -> Result<()> {
        self.plan.access_path = AccessPath::IndexLookup;
        let backward = self.window.sort == SortOrder::AddedReversed;
        let after = match self.window.sort {
            SortOrder::Unordered => None,
            _ => self.window.after.as_ref().map(|after| after.id),
        };
        let is_after =
            |id| after.is_none_or(|after| if backward { id < after } else { id > after });
        let mut reader = RecheckReader::new(self.conn, self.collection);
        let mut ids = ids.iter();
        let mut batch = Vec::with_capacity(BATCH);
        while !self.is_full() {
            // Records fetched beyond the end of the page are wasted.
            let room = self.window.limit - self.sink.len() as u64;
            let room = room.saturating_add(self.skip).min(BATCH as u64) as usize;
            batch.clear();
            while batch.len() < room
                && let Some(id) = if backward {
                    ids.next_back()
                } else {
                    ids.next()
                }
            {
                let id = id.cast_signed();
                if is_after(id) {
                    batch.push(id);
                }
            }
            if batch.is_empty() {
                break;
            }
            self.push_candidates(&mut reader, &batch, candidates)?;
        }
        Ok(())
    }

    /// Appends those of the records that are in the collection and match.
    fn push_candidates(
        &mut self,
        reader: &mut RecheckReader<'_>,
        ids: &[i64],
        candidates: &Candidates,
    ) -> Result<()> {
        // Nothing is skipped or rechecked: one statement fetches the records and their rows.
        if self.skip == 0 && candidates.is_exact() {
            return self.sink.push_by_id(ids);
        }
        let matcher = self.matcher;
        reader.each_row(ids, |row| {
            let is_match = candidates.definite().contains(row.id) || {
                self.plan.rechecked += 1;
                matcher.matches(row.search)
            };
            match is_match && self.accept_match() {
                true => self.sink.push(row.id, row.summary),
                false => Ok(()),
            }
        })
    }
}
