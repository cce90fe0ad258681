//! Answers a query by one of three access paths.
//!
//! | access path | used for | cost grows with |
//! |---|---|---|
//! | [`AccessPath::ListScan`] | no filter | the page |
//! | [`AccessPath::IndexLookup`] | up to [`MAX_LOOKUPS`] candidates; orders that follow the ids | the candidates, each fetched by id |
//! | [`AccessPath::BitmapScan`] | more candidates, in list order | the candidates, some nanoseconds each, and the list up to the end of the page, some 20 ns an entry |
//!
//! A query with ranks ([`Ranks`]) looks its widest filter up. Up to [`MAX_LOOKUPS`] candidates are ranked
//! by their keys; of more, each rank is a query of its own until the page is full.

mod bitmap_scan;
mod index_lookup;
mod list_scan;
mod ranked_scan;

use rusqlite::Connection;

use super::candidates::Candidates;
use super::columns::RowShape;
use super::query_plan::{AccessPath, QueryPlan};
use super::ranks::Ranks;
use super::record_reader::read_sort_key;
use super::row_sink::RowSink;
use super::rows::RowBuffer;
use super::{Cursor, ResultWindow, SortOrder};
use crate::error::Result;
use crate::search::filter::Matcher;
use crate::search::index::pending::{Watermarks, each_pending};

/// Most candidates that are fetched by id and sorted. Fetching one takes about as long as scanning
/// 50 list entries, so more of them are found faster by a scan of the list (experiment
/// `searches`).
const MAX_LOOKUPS: u64 = 1_024;

/// Most records that are rechecked in list order, and their largest share of the records to recheck:
/// one fifth. If they do not fill the page, all are rechecked in file order, where a record costs a
/// fifth (experiment `searches`, matches at the end of the list).
const MAX_LIST_RECHECKS: u64 = 4_096;
const FILE_ORDER_GAIN: u64 = 5;

/// Number of candidates from which the allocator is asked to release the memory of their sets
/// (experiment `first-fill`, private memory after searches).
const RELEASE_MEMORY_FROM: u64 = 65_536;

/// The rows of a query, and how they were found.
pub(super) struct QueryResult {
    pub(super) rows: RowBuffer,
    /// Start of the next page, if it was wanted and this one is full.
    pub(super) next: Option<Cursor>,
    pub(super) plan: QueryPlan,
}

/// Answers a query with rows of `shape`. `conn` is in a read transaction.
pub(super) fn execute_query(
    conn: &Connection,
    collection: i64,
    matcher: &Matcher,
    ranks: &Ranks,
    window: &ResultWindow,
    shape: RowShape,
) -> Result<QueryResult> {
    let mut sink = RowSink::new(conn, collection, shape);
    let mut executor = QueryExecutor {
        conn,
        collection,
        matcher,
        ranks,
        window,
        skip: window.offset,
        first_row: 0,
        sink: &mut sink,
        plan: QueryPlan::default(),
    };
    let mut next = None;
    if window.limit > 0 {
        executor.run_query()?;
        next = executor.next_cursor()?;
    }
    let mut plan = executor.plan;
    let rows = sink.rows;
    plan.rows = rows.len() as u64;
    if plan.candidates >= RELEASE_MEMORY_FROM {
        etui_vfs_base::release_free_memory();
    }
    Ok(QueryResult { rows, next, plan })
}

struct QueryExecutor<'q, 'c> {
    conn: &'c Connection,
    collection: i64,
    matcher: &'q Matcher,
    ranks: &'q Ranks,
    window: &'q ResultWindow,
    /// Matches before the page that are still to be skipped.
    skip: u64,
    /// The rows before this one are of better ranks.
    first_row: usize,
    sink: &'q mut RowSink<'c>,
    plan: QueryPlan,
}

/// Decides whether the record with an id matches. `None` stops the scan.
type Predicate<'p> = dyn FnMut(i64) -> Result<Option<bool>> + 'p;

impl QueryExecutor<'_, '_> {
    fn run_query(&mut self) -> Result<()> {
        if matches!(self.matcher, Matcher::All) {
            self.plan.access_path = AccessPath::ListScan;
            return match self.window.sort.is_by_id() {
                true => self.scan_records(&mut |_| Ok(Some(true))),
                false => self.scan_whole_list(),
            };
        }
        let candidates = self.find_candidates()?;
        self.choose_path(&candidates)
    }

    /// Answers from the candidates by the cheapest access path.
    fn choose_path(&mut self, candidates: &Candidates) -> Result<()> {
        let ids = candidates.possible().ids();
        match ids {
            Some(ids) if !self.window.sort.is_list() => self.lookup_by_id(ids, candidates),
            Some(ids) if ids.len() <= MAX_LOOKUPS => self.lookup_and_sort(ids, candidates),
            _ if self.window.sort == SortOrder::Rank && !self.ranks.0.is_empty() => {
                self.scan_ranks()
            }
            _ => self.scan_bitmap(candidates),
        }
    }

    /// Returns the candidates from the index, corrected by the pending records.
    fn find_candidates(&mut self) -> Result<Candidates> {
        let matcher = self.matcher;
        let mut candidates = Candidates::find(matcher, self.conn, self.collection)?;
        self.plan.candidates = candidates.possible().stored_len();
        self.plan.exact = candidates.is_exact();
        let watermarks = Watermarks::read(self.conn)?;
        let merged = watermarks.merged(matcher.index_parts());
        let mut pending = 0;
        each_pending(self.conn, self.collection, merged, |id, record| {
            pending += 1;
            candidates.set_match(id, record.is_some_and(|record| matcher.matches(record)));
        })?;
        self.plan.pending = pending;
        self.plan.rechecked = pending;
        Ok(candidates)
    }

    fn is_full(&self) -> bool {
        self.sink.len() as u64 >= self.window.limit
    }

    /// Counts a match. Returns true if it is on the page, false if it is before it.
    fn accept_match(&mut self) -> bool {
        match self.skip {
            0 => true,
            _ => {
                self.skip -= 1;
                false
            }
        }
    }

    /// Returns the start of the next page if it is wanted and this page is full.
    fn next_cursor(&self) -> Result<Option<Cursor>> {
        let has_cursor = self.window.wants_cursor && self.window.sort != SortOrder::Unordered;
        let last = self.sink.rows.ids().last().copied();
        let Some(id) = last.filter(|_| has_cursor && self.is_full()) else {
            return Ok(None);
        };
        let Some(sort) = read_sort_key(self.conn, id)? else {
            return Ok(None);
        };
        let rank = match self.window.sort {
            SortOrder::Rank => self.ranks.of_id(self.conn, self.collection, id)?,
            _ => 0,
        };
        let id = id.0;
        Ok(Some(Cursor { sort, id, rank }))
    }
}
