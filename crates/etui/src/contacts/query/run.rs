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

use rusqlite::{Connection, OptionalExtension};

use super::page::Page;
use super::plan::{Plan, Way};
use super::records::{Gathered, Records};
use super::rows::{Columns, Rows};
use super::sets::{self, Bounds, Met, Set};
use super::{Cursor, Query, Sort};
use crate::collection::list;
use crate::contacts::Filter;
use crate::error::Result;
use crate::filter::Matcher;
use crate::index::look::Look;
use crate::index::pending::Marks;
use crate::index::postings::Ids;
use crate::index::stream::Stream;
use crate::store::Store;

/// Most candidates that are gathered at once, in an address book of `contacts`. Reading one costs
/// about as much as passing [`PASSED_AT_COST`] in the list, of which matches spread evenly need
/// `50 * contacts / candidates`: both cost the same at about this many.
fn most_gathered(contacts: u64) -> usize {
    usize::try_from(contacts.isqrt().clamp(256, 4_096)).unwrap_or(4_096)
}

/// Places in the list that are passed at the cost of reading one record by its number.
const PASSED_AT_COST: u64 = 48;

/// Most candidates that are gathered once the list was gone along in vain for as long as that
/// costs: more of them cost more than the rest of a list of a million.
const MOST_GATHERED_LATE: u64 = 8_192;

/// Candidates whose sets take so much memory that the allocator would keep it.
const MANY: u64 = 65_536;

/// Contacts compared along the list before other ways are tried.
fn most_walked(contacts: u64) -> u64 {
    (contacts / 128).clamp(16, 256)
}

/// Candidates in the index's order that are read at once.
const AT_ONCE: usize = 64;

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
    let mut plan = run.plan;
    plan.rows = rows.len() as u64;
    if plan.candidates > MANY {
        etui_vfs::give_back();
    }
    Ok((rows, plan))
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
        let room = self.query.limit.saturating_add(self.left_out);
        let matching = pending.matching.iter().copied();
        let first: Vec<i64> = matching
            .take(usize::try_from(room).unwrap_or(usize::MAX))
            .collect();
        let mut read = Records::new(self.conn, self.book);
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
    fn worth_reading(&self) -> usize {
        let room = self.query.limit - self.page.rows.len() as u64;
        let room = room.saturating_add(self.left_out);
        usize::try_from(room).unwrap_or(AT_ONCE).clamp(1, AT_ONCE)
    }

    /// Shows contacts as far as the page has room, if they are of this address book and match
    /// what they are to be compared with.
    fn show(
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
        let mut read = Records::new(self.conn, self.book);
        if !exact {
            self.plan.compared += ids.len() as u64;
        }
        for (ids, matches) in [(ids, exact), (&pending.matching, true)] {
            read.each(ids, |id, sort, summary, keys| {
                if matches || matcher.matches(keys) {
                    let sort = if by_name { sort } else { &[] };
                    found.push(id, sort, summary);
                }
                Ok(())
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
        let mut read = Records::new(self.conn, self.book);
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
        let few = candidates.ids().map_or(u64::MAX, Ids::len);
        let settled = |candidates: &Set| -> Vec<i64> {
            let ids = candidates.ids().into_iter().flatten().map(u64::cast_signed);
            ids.filter(|id| !pending.all.contains(id)).collect()
        };
        if few <= most_gathered(contacts) as u64 {
            // The conditions together leave few, though none of them did.
            return self.gather(matcher, &settled(candidates), pending, maybe.is_none());
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
        if !matches!(self.query.sort, Sort::Name | Sort::NameReversed) {
            return self.by_set_and_number(matcher, &sure, maybe.as_ref());
        }
        if self.query.limit != u64::MAX {
            let patience = match few <= MOST_GATHERED_LATE {
                true => PASSED_AT_COST.saturating_mul(few),
                false => u64::MAX,
            };
            if self.met(matcher, &sure, maybe.as_ref(), patience)? {
                return Ok(());
            }
        }
        if few <= MOST_GATHERED_LATE {
            let ids = settled(maybe.as_ref().unwrap_or(&sure));
            return self.gather(matcher, &ids, pending, maybe.is_none());
        }
        // All there is to compare is compared in the order of the file, where neighbours share a
        // page, and not in the list's.
        if let Some(ids) = maybe.as_ref().and_then(Set::ids) {
            let ids = ids.iter().map(u64::cast_signed);
            let ids: Vec<i64> = ids.filter(|&id| !sure.has(id)).collect();
            self.plan.compared += ids.len() as u64;
            Records::new(self.conn, self.book).each(&ids, |id, _, _, keys| {
                if matcher.matches(keys) {
                    sure.insert(id);
                }
                Ok(())
            })?;
            maybe = None;
        }
        self.along_set(matcher, &sure, maybe.as_ref(), u64::MAX, u64::MAX)?;
        Ok(())
    }

    /// The page met along the list, unless that takes more than `patience` places or too many
    /// comparisons. Tells whether that filled the page, or the list was at its end; if not,
    /// nothing is kept of it.
    fn met(
        &mut self,
        matcher: &Matcher,
        sure: &Set,
        maybe: Option<&Set>,
        patience: u64,
    ) -> Result<bool> {
        if self.along_set(matcher, sure, maybe, patience, MOST_COMPARED)? {
            return Ok(true);
        }
        self.page.rows = Rows::new(self.query.columns);
        self.left_out = self.query.offset;
        Ok(false)
    }

    /// Along the list, showing who is in `sure`, or in `maybe` and matches, for `patience` places
    /// and as many comparisons as `most_compared` says. Tells whether that was enough.
    fn along_set(
        &mut self,
        matcher: &Matcher,
        sure: &Set,
        maybe: Option<&Set>,
        patience: u64,
        most_compared: u64,
    ) -> Result<bool> {
        let mut read = Records::new(self.conn, self.book);
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

    /// By number, who is in `sure`, or in `maybe` and matches.
    fn by_set_and_number(
        &mut self,
        matcher: &Matcher,
        sure: &Set,
        maybe: Option<&Set>,
    ) -> Result<()> {
        let mut read = Records::new(self.conn, self.book);
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
        let back = self.query.sort == Sort::AddedReversed;
        let after = self.query.after.as_ref().map(|after| after.id);
        let is_behind = |id| after.is_none_or(|after| if back { id < after } else { id > after });
        let mut read = Records::new(self.conn, self.book);
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
            // Some may be of another address book.
            self.show(&mut read, &next, None)?;
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
