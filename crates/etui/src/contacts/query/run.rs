//! Answering a query: which way is expected to be the cheapest, and going it.
//!
//! | way | cost grows with |
//! |---|---|
//! | the list ([`Way::List`]) | the page |
//! | gathering ([`Way::Gather`]) | the candidates, each of which is read: a few thousand at most |
//! | walking ([`Way::Walk`]) | the page, if matches are dense; tried for so long and no longer |
//! | a set ([`Way::Set`]) | the candidates, a nanosecond or so each, and the list up to the end of the page, some nanoseconds an entry |
//! | the index ([`Way::Index`]) | the page |

use std::collections::HashSet;
use std::ops::ControlFlow;

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row};

use super::plan::{Plan, Way};
use super::rows::{Column, Columns, Rows};
use super::sets::{self, Bounds, Set};
use super::{Cursor, Query, Sort};
use crate::collection::RecordId;
use crate::collection::list;
use crate::contacts::card::{Card, Typed};
use crate::contacts::filter::{Filter, Matcher};
use crate::error::Result;
use crate::index::look::Look;
use crate::index::pending::Marks;
use crate::index::postings::Ids;
use crate::index::stream::Stream;
use crate::store::Store;

/// Most candidates that are gathered, in an address book of `contacts`. Reading one costs about
/// as much as passing a hundred in the list, of which matches spread evenly need
/// `50 * contacts / candidates`: both cost the same at about this many.
fn most_gathered(contacts: u64) -> usize {
    usize::try_from((contacts * 6).isqrt().clamp(256, 4_096)).unwrap_or(4_096)
}

/// Contacts compared along the list before other ways are tried.
fn most_walked(contacts: u64) -> u64 {
    (contacts / 128).clamp(16, 256)
}

/// Contacts compared along the list for a page before all that is left to compare is compared in
/// the order of the file, which costs a fifth of it each.
const MOST_COMPARED: u64 = 4_096;

/// Beyond every place in a list: no name that takes part in the order has so many bytes of
/// weights, not even of U+FFFF, which has the highest (0xff 0xff).
const BEYOND_ALL: [u8; 512] = [0xff; 512];

/// Answers `query` on `conn`, which is in a read transaction.
pub(crate) fn run(
    store: &Store,
    conn: &Connection,
    book: i64,
    query: &Query,
) -> Result<(Rows, Plan)> {
    let mut run = Run {
        store,
        conn,
        book,
        query,
        left_out: query.offset,
        page: Page::new(conn, book, query.columns),
        plan: Plan::default(),
    };
    if query.limit > 0 {
        run.answer()?;
        run.set_next()?;
    }
    let rows = run.page.rows;
    run.plan.rows = rows.len() as u64;
    Ok((rows, run.plan))
}

struct Run<'q> {
    store: &'q Store,
    conn: &'q Connection,
    book: i64,
    query: &'q Query,
    /// Matches still to be left out before the page.
    left_out: u64,
    page: Page<'q>,
    plan: Plan,
}

/// The pending records of a query: all of them, and those that match.
#[derive(Default)]
struct PendingRecords {
    all: HashSet<i64>,
    matching: Vec<i64>,
}

/// Whether a contact is meant. `None`: it is to be found another way.
type Meant<'m> = dyn FnMut(i64) -> Result<Option<bool>> + 'm;

impl<'q> Run<'q> {
    fn answer(&mut self) -> Result<()> {
        let query = self.query;
        if matches!(query.filter, Filter::All) {
            return match query.sort {
                Sort::Added | Sort::AddedReversed => self.by_number(&mut |_| Ok(Some(true))),
                _ => self.list(),
            };
        }
        let matcher = Matcher::new(&query.filter, self.store.region());
        let marks = Marks::of(self.conn)?;
        let since = marks.since(sets::uses(&matcher));
        let mut pending = PendingRecords::default();
        self.store
            .pending
            .each(self.conn, self.book, &marks, since, |id, keys| {
                pending.all.insert(id);
                if keys.is_some_and(|keys| matcher.matches(keys)) {
                    pending.matching.push(id);
                }
            })?;
        pending.matching.sort_unstable();
        self.plan.pending = pending.all.len() as u64;
        if query.sort == Sort::Found
            && let Some((look, exact)) = sets::look_of(&matcher)
        {
            let compare = (!exact).then_some(&matcher);
            return self.stream(&look, compare, &pending);
        }
        let contacts = list::count(self.conn, self.book)?;
        if let Some(mut ids) = sets::few(&matcher, self.conn, most_gathered(contacts))? {
            if !pending.all.is_empty() {
                ids.retain(|id| !pending.all.contains(id));
            }
            let exact = sets::look_of(&matcher).is_some_and(|(_, exact)| exact);
            return self.gather(&matcher, &ids, &pending, exact);
        }
        if self.walk(&matcher, most_walked(contacts))? {
            return Ok(());
        }
        self.by_set(&matcher, &pending, contacts)
    }

    /// Whether the page is full.
    fn is_full(&self) -> bool {
        self.page.rows.len() as u64 >= self.query.limit
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

    /// The list as it stands.
    fn list(&mut self) -> Result<()> {
        self.plan.way = Way::List;
        let everyone = &mut |_| Ok(Some(true));
        let offset = self.query.offset;
        if self.query.after.is_some() || offset == 0 {
            return self.along(everyone, u64::MAX);
        }
        let back = self.query.sort == Sort::NameReversed;
        // From the end, the one at this position counted from the front.
        let position = match back {
            false => Some(offset),
            true => list::count(self.conn, self.book)?.checked_sub(offset.saturating_add(1)),
        };
        let Some(position) = position else {
            return Ok(());
        };
        let Some((first, at)) = list::start_at(self.conn, self.book, position)? else {
            return Ok(());
        };
        self.left_out = at as u64;
        if back {
            let mut length = 0;
            list::walk(self.conn, self.book, &first, false, |block| {
                length = block.len();
                Ok(ControlFlow::Break(()))
            })?;
            self.left_out = length.saturating_sub(at + 1) as u64;
        }
        self.along_from(&first, None, everyone, u64::MAX)
    }

    /// Along the list from where the query begins, past `most` entries at the most.
    fn along(&mut self, meant: &mut Meant<'_>, most: u64) -> Result<()> {
        match &self.query.after {
            Some(after) => {
                let place = list::place(&after.sort, after.id);
                self.along_from(&place, Some(after), meant, most)
            }
            None if self.query.sort == Sort::NameReversed => {
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
        let back = self.query.sort == Sort::NameReversed;
        let shown = self.query.columns.any(Columns::SUMMARY);
        let end = self.plan.passed.saturating_add(most);
        let mut ids = Vec::new();
        list::walk(self.conn, self.book, from, back, |block| {
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
    fn by_number(&mut self, meant: &mut Meant<'_>) -> Result<()> {
        let back = self.query.sort == Sort::AddedReversed;
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
        let from = match &self.query.after {
            Some(after) => after.id,
            None if back => i64::MAX,
            None => 0,
        };
        let mut rows = statement.query((from, self.book))?;
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

    /// The pending records that match, then those that the index has, in its order: compared
    /// unless it is exact.
    fn stream(
        &mut self,
        look: &Look,
        compare: Option<&Matcher>,
        pending: &PendingRecords,
    ) -> Result<()> {
        self.plan.way = Way::Index;
        self.plan.exact = compare.is_none();
        self.plan.compared = pending.all.len() as u64;
        let mut read = Records::new(self.conn, self.book)?;
        for &id in &pending.matching {
            if !self.is_full() {
                self.show_if(&mut read, id, None)?;
            }
        }
        if self.is_full() {
            return Ok(());
        }
        if let Some(mut stream) = Stream::of(look) {
            let mut least = 0;
            while !self.is_full()
                && let Some(id) = stream.seek(self.conn, least)?
            {
                least = id.saturating_add(1);
                self.plan.candidates += 1;
                if !pending.all.contains(&id) {
                    self.show_if(&mut read, id, compare)?;
                }
            }
            return Ok(());
        }
        // Not in the order of their numbers: a record of several words that begin alike comes
        // several times.
        let mut seen = HashSet::new();
        let mut failed = None;
        look.each(self.conn, &mut |id| {
            self.plan.candidates += 1;
            if pending.all.contains(&id) || !seen.insert(id) {
                return true;
            }
            match self.show_if(&mut read, id, compare) {
                Ok(()) => !self.is_full(),
                Err(e) => {
                    failed = Some(e);
                    false
                }
            }
        })?;
        failed.map_or(Ok(()), Err)
    }

    /// A contact, if it is of this address book and matches what it is to be compared with.
    fn show_if(
        &mut self,
        read: &mut Records<'q>,
        id: i64,
        compare: Option<&Matcher>,
    ) -> Result<()> {
        if compare.is_none() && self.left_out == 0 {
            return self.page.push_by_number(id);
        }
        let page = &mut self.page;
        let left_out = &mut self.left_out;
        self.plan.compared += u64::from(compare.is_some());
        let shown = read.one(id, |_, summary, keys| {
            if compare.is_some_and(|matcher| !matcher.matches(keys)) {
                return Ok(());
            }
            match *left_out {
                0 => page.push(id, summary),
                _ => {
                    *left_out -= 1;
                    Ok(())
                }
            }
        })?;
        shown.unwrap_or(Ok(()))
    }

    /// Candidates, each read, compared unless the index is exact, and sorted.
    fn gather(
        &mut self,
        matcher: &Matcher,
        ids: &[i64],
        pending: &PendingRecords,
        exact: bool,
    ) -> Result<()> {
        self.plan.way = Way::Gather;
        self.plan.candidates = ids.len() as u64;
        self.plan.exact = exact;
        self.plan.compared = pending.all.len() as u64;
        let by_name = matches!(self.query.sort, Sort::Name | Sort::NameReversed);
        let mut found = Gathered::default();
        let mut read = Records::new(self.conn, self.book)?;
        let candidates = ids.iter().map(|&id| (id, exact));
        let pending = pending.matching.iter().map(|&id| (id, true));
        for (id, matches) in candidates.chain(pending) {
            self.plan.compared += u64::from(!matches);
            read.one(id, |sort, summary, keys| {
                if matches || matcher.matches(keys) {
                    let sort = if by_name { sort } else { &[] };
                    found.push(id, sort, summary);
                }
            })?;
        }
        found.sort();
        let back = self.query.sort.is_reversed();
        let after = self.query.after.as_ref();
        for step in 0..found.len() {
            let at = match back {
                true => found.len() - 1 - step,
                false => step,
            };
            let (id, sort, summary) = found.get(at);
            let is_behind = after.is_none_or(|after| {
                let after = match by_name {
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

    /// Along the list, comparing each contact, for `most` contacts. Tells whether that filled the
    /// page, or the list was at its end; if not, nothing is kept of it.
    fn walk(&mut self, matcher: &Matcher, most: u64) -> Result<bool> {
        let by_name = matches!(self.query.sort, Sort::Name | Sort::NameReversed);
        if !by_name || self.query.limit.saturating_add(self.query.offset) > most {
            return Ok(false);
        }
        self.plan.way = Way::Walk;
        let mut read = Records::new(self.conn, self.book)?;
        let mut compared = 0;
        self.along(
            &mut |id| {
                compared += 1;
                let found = read.one(id, |_, _, keys| matcher.matches(keys))?;
                Ok(Some(found.unwrap_or(false)))
            },
            most,
        )?;
        self.plan.compared = compared;
        if self.is_full() || self.plan.passed < most {
            return Ok(true);
        }
        self.page.rows = Rows::new(self.query.columns);
        self.left_out = self.query.offset;
        Ok(false)
    }

    /// What the index says of the whole filter; where that is not enough, contacts are compared.
    fn by_set(&mut self, matcher: &Matcher, pending: &PendingRecords, contacts: u64) -> Result<()> {
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
        if let Some(ids) = candidates.ids()
            && ids.len() <= most_gathered(contacts) as u64
        {
            // The conditions together leave few, though none of them did.
            let ids = ids.iter().map(u64::cast_signed);
            let ids: Vec<i64> = ids.filter(|id| !pending.all.contains(id)).collect();
            return self.gather(matcher, &ids, pending, maybe.is_none());
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
        let mut read = Records::new(self.conn, self.book)?;
        let mut compared = 0;
        let mut compare = |id: i64| -> Result<bool> {
            compared += 1;
            let found = read.one(id, |_, _, keys| matcher.matches(keys))?;
            Ok(found.unwrap_or(false))
        };
        let by_name = matches!(self.query.sort, Sort::Name | Sort::NameReversed);
        // A page is met along the list, if it does not take too many comparisons.
        if by_name && self.query.limit != u64::MAX && maybe.is_some() {
            let mut left = MOST_COMPARED;
            let mut gave_up = false;
            let mut meant = |id: i64| -> Result<Option<bool>> {
                if sure.has(id) || !maybe.as_ref().is_some_and(|m| m.has(id)) {
                    return Ok(Some(sure.has(id)));
                }
                gave_up = left == 0;
                left = left.saturating_sub(1);
                match gave_up {
                    true => Ok(None),
                    false => compare(id).map(Some),
                }
            };
            self.along(&mut meant, u64::MAX)?;
            if !gave_up {
                self.plan.compared += compared;
                return Ok(());
            }
            self.page.rows = Rows::new(self.query.columns);
            self.left_out = self.query.offset;
        }
        // All there is to compare is compared in the order of the file, where neighbours share a
        // page, and not in the list's.
        if by_name && let Some(ids) = maybe.as_ref().and_then(Set::ids) {
            for id in ids.iter().map(u64::cast_signed) {
                if !sure.has(id) && compare(id)? {
                    sure.insert(id);
                }
            }
            maybe = None;
        }
        let mut meant = |id: i64| -> Result<Option<bool>> {
            let found = sure.has(id) || maybe.as_ref().is_some_and(|m| m.has(id)) && compare(id)?;
            Ok(Some(found))
        };
        if by_name {
            self.along(&mut meant, u64::MAX)?;
        } else {
            // Numbers that no record has are passed over.
            match maybe.as_ref().unwrap_or(&sure).ids().cloned() {
                None => self.by_number(&mut meant)?,
                Some(mut ids) => {
                    if let Some(sure) = sure.ids() {
                        ids |= sure;
                    }
                    self.of_set(&ids, &mut meant)?;
                }
            }
        }
        self.plan.compared += compared;
        Ok(())
    }

    /// The records of a set by their number, those that are `meant`.
    fn of_set(&mut self, ids: &Ids, meant: &mut Meant<'_>) -> Result<()> {
        let back = self.query.sort == Sort::AddedReversed;
        let mut read = Records::new(self.conn, self.book)?;
        let mut ids = ids.iter();
        let after = self.query.after.as_ref().map(|after| after.id);
        while let Some(id) = if back { ids.next_back() } else { ids.next() } {
            let id = id.cast_signed();
            let is_behind = after.is_none_or(|after| if back { id < after } else { id > after });
            if is_behind && meant(id)? == Some(true) {
                self.show_if(&mut read, id, None)?;
                if self.is_full() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Where the next page begins, if this one is full.
    fn set_next(&mut self) -> Result<()> {
        let last = self.page.rows.ids.last().copied();
        if let Some(id) = last.filter(|_| self.is_full() && self.query.sort != Sort::Found) {
            let sort = self
                .conn
                .prepare_cached("SELECT sort FROM record WHERE id = ?1")?
                .query_row([id.0], |r| r.get(0))
                .optional()?;
            self.page.rows.next = sort.map(|sort| Cursor { sort, id: id.0 });
        }
        Ok(())
    }
}

/// What is read of a live record to find and show it.
struct Records<'c> {
    statement: CachedStatement<'c>,
    book: i64,
}

impl<'c> Records<'c> {
    fn new(conn: &'c Connection, book: i64) -> Result<Self> {
        Ok(Self {
            statement: conn.prepare_cached(
                "SELECT sort, summary, keys FROM record \
                 WHERE id = ?1 AND collection = ?2 AND removed IS NULL",
            )?,
            book,
        })
    }

    /// What `see` makes of a record's sort key, summary and keys. `None`: this address book has
    /// no such live record.
    fn one<T>(&mut self, id: i64, see: impl FnOnce(&[u8], &[u8], &[u8]) -> T) -> Result<Option<T>> {
        let mut rows = self.statement.query((id, self.book))?;
        let Some(row) = rows.next()? else {
            return Ok(None);
        };
        let column = |n| -> Result<&[u8]> { Ok(row.get_ref(n)?.as_blob().unwrap_or_default()) };
        Ok(Some(see(column(0)?, column(1)?, column(2)?)))
    }
}

/// Matches with what they are sorted by, in one piece of memory.
#[derive(Default)]
struct Gathered {
    bytes: Vec<u8>,
    /// Each one's number, and where its sort key begins, and its summary begins and ends.
    entries: Vec<(i64, usize, usize, usize)>,
}

impl Gathered {
    fn push(&mut self, id: i64, sort: &[u8], summary: &[u8]) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(sort);
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(summary);
        self.entries.push((id, begin, middle, self.bytes.len()));
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        self.entries
            .sort_unstable_by_key(|&(id, begin, middle, _)| (&bytes[begin..middle], id));
    }

    fn len(&self) -> usize {
        self.entries.len()
    }

    fn get(&self, at: usize) -> (i64, &[u8], &[u8]) {
        let (id, begin, middle, end) = self.entries[at];
        (id, &self.bytes[begin..middle], &self.bytes[middle..end])
    }
}

/// The rows of the answer as they are filled.
struct Page<'c> {
    conn: &'c Connection,
    book: i64,
    rows: Rows,
    /// Reads what a summary does not have.
    beyond_summary: Option<CachedStatement<'c>>,
    /// Reads all that is shown.
    all: Option<CachedStatement<'c>>,
}

impl<'c> Page<'c> {
    fn new(conn: &'c Connection, book: i64, columns: Columns) -> Self {
        Self {
            conn,
            book,
            rows: Rows::new(columns),
            beyond_summary: None,
            all: None,
        }
    }

    /// A statement that reads what of these columns stands beside the summary, and the summary if
    /// asked for. SQLite copies each column that it reads, so no more is asked for.
    fn select(&self, summary: bool) -> Result<CachedStatement<'c>> {
        let columns = self.rows.columns;
        let summary = if summary { "summary" } else { "NULL" };
        let record = match columns.any(Columns::RECORD) {
            true => "uid, etag",
            false => "NULL, NULL",
        };
        let text = match columns.any(columns.of_card()) {
            true => "text",
            false => "NULL",
        };
        Ok(self.conn.prepare_cached(&format!(
            "SELECT {summary}, {record}, {text} FROM record \
             WHERE id = ?1 AND collection = ?2 AND removed IS NULL"
        ))?)
    }

    /// A row, of the contact with this number and summary.
    fn push(&mut self, id: i64, summary: &[u8]) -> Result<()> {
        let columns = self.rows.columns;
        let mut statement = None;
        if columns.any(Columns::RECORD | columns.of_card()) {
            statement = match self.beyond_summary.take() {
                Some(statement) => Some(statement),
                None => Some(self.select(false)?),
            };
        }
        let Some(mut statement) = statement else {
            self.rows.begin(RecordId(id));
            if columns.any(Columns::SUMMARY) {
                self.rows.push_summary(summary);
            }
            return Ok(());
        };
        let mut found = statement.query((id, self.book))?;
        if let Some(row) = found.next()? {
            push_row(&mut self.rows, id, Some(summary), row)?;
        }
        drop(found);
        self.beyond_summary = Some(statement);
        Ok(())
    }

    /// A row, of the contact with this number, if it is live and of this address book.
    fn push_by_number(&mut self, id: i64) -> Result<()> {
        let mut statement = match self.all.take() {
            Some(statement) => statement,
            None => self.select(self.rows.columns.any(Columns::SUMMARY))?,
        };
        let mut found = statement.query((id, self.book))?;
        if let Some(row) = found.next()? {
            push_row(&mut self.rows, id, None, row)?;
        }
        drop(found);
        self.all = Some(statement);
        Ok(())
    }
}

/// A row of the answer from one of [`Page::select`]'s; its summary unless it is known.
fn push_row(rows: &mut Rows, id: i64, summary: Option<&[u8]>, row: &Row<'_>) -> Result<()> {
    let columns = rows.columns;
    rows.begin(RecordId(id));
    if columns.any(Columns::SUMMARY) {
        match summary {
            Some(summary) => rows.push_summary(summary),
            None => rows.push_summary(row.get_ref(0)?.as_blob().unwrap_or_default()),
        }
    }
    if columns.has(Column::Uid) {
        rows.push(row.get_ref(1)?.as_bytes().unwrap_or_default());
    }
    if columns.has(Column::ETag) {
        let etag: crate::ETag = row.get(2)?;
        rows.push(etag.to_string().as_bytes());
    }
    if columns.any(columns.of_card()) {
        push_of_card(rows, row.get_ref(3)?.as_blob().unwrap_or_default());
    }
    Ok(())
}

/// The columns that are read from the card. A text that is no vCard has none of them.
fn push_of_card(rows: &mut Rows, text: &[u8]) {
    let columns = rows.columns.of_card();
    let parsed = match columns == Columns::from(Column::Card) {
        true => None,
        false => Card::parse(text.to_vec()).ok(),
    };
    let typed = |all: Vec<Typed>| all.into_iter().map(|t| t.value);
    for column in columns.iter() {
        match (column, &parsed) {
            (Column::Card, _) => rows.push(text),
            (_, None) => rows.push(&[]),
            (Column::Family, Some(card)) => rows.push(card.name().family.as_bytes()),
            (Column::Given, Some(card)) => {
                let name = card.name();
                let given = format!("{} {}", name.given, name.additional);
                rows.push(given.trim().as_bytes());
            }
            (Column::Nicknames, Some(card)) => rows.push_many(card.nicknames()),
            (Column::Phones, Some(card)) => rows.push_many(typed(card.phones())),
            (Column::Emails, Some(card)) => rows.push_many(typed(card.emails())),
            (Column::Categories, Some(card)) => rows.push_many(card.categories()),
            (_, Some(card)) => rows.push(card.note().unwrap_or_default().as_bytes()),
        }
    }
}
