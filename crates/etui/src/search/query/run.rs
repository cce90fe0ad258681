//! Answering a query: which way is expected to be the cheapest, and going it.
//!
//! | way | cost grows with |
//! |---|---|
//! | the list (`Way::List`) | the page |
//! | gathering (`Way::Gather`) | the candidates, each of which is read: a few thousand at most |
//! | walking (`Way::Walk`) | the page, if matches are dense; tried for so long and no longer |
//! | a set (`Way::Set`) | the candidates, a nanosecond or so each, and the list up to the end of the page, some nanoseconds an entry |
//! | the index (`Way::Index`) | the page |

mod index;
mod list;
mod set;

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension};

use super::columns::Shape;
use super::page::Page;
use super::plan::Plan;
use super::rows::Table;
use super::{Cursor, Part, Sort, sets};
use crate::error::Result;
use crate::search::filter::Matcher;
use crate::search::index::pending::Marks;
use crate::store::Store;

/// Most candidates that are gathered at once, in a collection of `records`. Reading one costs
/// about as much as passing `set::PASSED_AT_COST` in the list, of which matches spread evenly need
/// `50 * records / candidates`: both cost the same at about this many.
fn most_gathered(records: u64) -> usize {
    usize::try_from(records.isqrt().clamp(256, 4_096)).unwrap_or(4_096)
}

/// Candidates whose sets take so much memory that the allocator would keep it.
const MANY: u64 = 65_536;

/// Records compared along the list before other ways are tried.
fn most_walked(records: u64) -> u64 {
    (records / 128).clamp(16, 256)
}

/// An answer, and how it was had.
pub(super) struct Answer {
    pub(super) table: Table,
    /// Where the next page begins, if this one is full.
    pub(super) next: Option<Cursor>,
    pub(super) plan: Plan,
}

/// Answers what `matcher` means, in rows of `shape`, on `conn`, which is in a read transaction.
pub(super) fn run(
    store: &Store,
    conn: &Connection,
    collection: i64,
    matcher: &Matcher,
    part: &Part,
    shape: Shape,
) -> Result<Answer> {
    let mut run = Run {
        store,
        conn,
        collection,
        matcher,
        part,
        left_out: part.offset,
        page: Page::new(conn, collection, shape),
        plan: Plan::default(),
    };
    let mut next = None;
    if part.limit > 0 {
        run.answer()?;
        next = run.next()?;
    }
    let table = run.page.table;
    let mut plan = run.plan;
    plan.rows = table.len() as u64;
    if plan.candidates > MANY {
        etui_vfs::release_free_memory();
    }
    Ok(Answer { table, next, plan })
}

struct Run<'q> {
    store: &'q Store,
    conn: &'q Connection,
    collection: i64,
    matcher: &'q Matcher,
    part: &'q Part,
    /// Matches still to be left out before the page.
    left_out: u64,
    page: Page<'q>,
    plan: Plan,
}

/// The pending records of a query: all of them, and those that match.
#[derive(Default)]
struct Pending {
    all: HashSet<i64>,
    matching: Vec<i64>,
}

/// Whether a record is meant. `None`: it is to be found another way.
type Meant<'m> = dyn FnMut(i64) -> Result<Option<bool>> + 'm;

impl Run<'_> {
    fn answer(&mut self) -> Result<()> {
        let matcher = self.matcher;
        if matches!(matcher, Matcher::All) {
            return match self.part.sort {
                Sort::Added | Sort::AddedReversed => self.by_number(&mut |_| Ok(Some(true))),
                _ => self.list(),
            };
        }
        let marks = Marks::of(self.conn)?;
        let since = marks.since(sets::uses(matcher));
        let mut pending = Pending::default();
        self.store
            .pending
            .each(self.conn, self.collection, &marks, since, |id, keys| {
                pending.all.insert(id);
                if keys.is_some_and(|keys| matcher.matches(keys)) {
                    pending.matching.push(id);
                }
            })?;
        pending.matching.sort_unstable();
        self.plan.pending = pending.all.len() as u64;
        if self.part.sort == Sort::Found
            && let Some((look, exact)) = sets::look_of(matcher)
        {
            let compare = (!exact).then_some(matcher);
            return self.stream(&look, compare, &pending);
        }
        let records = crate::record::list::count(self.conn, self.collection)?;
        if let Some(mut ids) = sets::few(matcher, self.conn, most_gathered(records))? {
            if !pending.all.is_empty() {
                ids.retain(|id| !pending.all.contains(id));
            }
            let exact = sets::look_of(matcher).is_some_and(|(_, exact)| exact);
            return self.gather(&ids, &pending, exact);
        }
        if self.walk(most_walked(records))? {
            return Ok(());
        }
        self.by_set(&pending, records)
    }

    /// Whether the page is full.
    fn is_full(&self) -> bool {
        self.page.len() as u64 >= self.part.limit
    }

    /// Counts a match; tells whether it is on the page.
    fn takes(&mut self) -> bool {
        match self.left_out {
            0 => true,
            _ => {
                self.left_out -= 1;
                false
            }
        }
    }

    /// Where the next page begins, if this one is full.
    fn next(&self) -> Result<Option<Cursor>> {
        let last = self.page.table.ids().last().copied();
        let Some(id) = last.filter(|_| self.is_full() && self.part.sort != Sort::Found) else {
            return Ok(None);
        };
        let sort = self
            .conn
            .prepare_cached("SELECT sort FROM record WHERE id = ?1")?
            .query_row([id.0], |r| r.get(0))
            .optional()?;
        Ok(sort.map(|sort| Cursor { sort, id: id.0 }))
    }
}
