//! Bitmap scan: the list, or the records by id, are scanned for the candidates of a bitmap.

use super::super::candidates::{BitmapProbe, Candidates};
use super::super::query_plan::AccessPath;
use super::super::record_reader::{RecheckReader, each_key_set};
use super::{FILE_ORDER_GAIN, MAX_LIST_RECHECKS, QueryExecutor};
use crate::error::Result;

impl QueryExecutor<'_, '_> {
    /// Scans in the query's order. Lossy candidates are rechecked as they are met, or if that takes
    /// too many rechecks, all at once in file order.
    pub(super) fn scan_bitmap(&mut self, candidates: &Candidates) -> Result<()> {
        self.plan.access_path = AccessPath::BitmapScan;
        let undecided = candidates.undecided();
        let is_list = self.window.sort.is_list();
        let Some(undecided) = undecided.filter(|ids| is_list && !ids.is_empty()) else {
            return self.scan_candidates(candidates, u64::MAX).map(|_| ());
        };
        // An unlimited page needs every recheck: all in file order at once.
        if self.window.limit != u64::MAX {
            let max_rechecks = MAX_LIST_RECHECKS.min(undecided.len() / FILE_ORDER_GAIN);
            if self.scan_candidates(candidates, max_rechecks)? {
                return Ok(());
            }
            // The rows of the scan that was given up.
            self.sink.truncate(self.first_row);
            self.skip = self.window.offset;
        }
        let matcher = self.matcher;
        self.plan.rechecked += undecided.len();
        let mut matches = candidates.definite().clone();
        each_key_set(self.conn, self.collection, &undecided, |id, record| {
            if matcher.matches(record) {
                matches.insert(id);
            }
        })?;
        // Few matches may be left, which are faster fetched by id.
        self.choose_path(&Candidates::Exact(matches))
    }

    /// Scans until the page is full, rechecking candidates as they are met. Returns false if that
    /// would take more than `max_rechecks`.
    fn scan_candidates(&mut self, candidates: &Candidates, max_rechecks: u64) -> Result<bool> {
        let matcher = self.matcher;
        let mut reader = RecheckReader::new(self.conn, self.collection);
        let definite = BitmapProbe::new(candidates.definite());
        let possible = match candidates {
            Candidates::Exact(_) => None,
            Candidates::Lossy { possible, .. } => Some(BitmapProbe::new(possible)),
        };
        let mut rechecked = 0;
        let mut is_complete = true;
        let mut predicate = |id: i64| -> Result<Option<bool>> {
            if definite.contains(id) {
                return Ok(Some(true));
            }
            if !possible.as_ref().is_some_and(|probe| probe.contains(id)) {
                return Ok(Some(false));
            }
            if rechecked == max_rechecks {
                is_complete = false;
                return Ok(None);
            }
            rechecked += 1;
            reader
                .recheck_record(id, |record| matcher.matches(record))
                .map(Some)
        };
        match self.window.sort.is_list() {
            true => self.scan_list(&mut predicate)?,
            false => self.scan_records(&mut predicate)?,
        }
        self.plan.rechecked += rechecked;
        Ok(is_complete)
    }
}
