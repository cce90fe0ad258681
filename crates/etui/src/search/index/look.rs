//! Looks into the index: which records may match.

use std::ops::Range;

use memchr::memmem::Finder;
use rusqlite::Connection;

use super::build::Builder;
use super::postings::{Gathered, Ids, decode};
use super::{postings, terms};
use crate::error::Result;

/// A look into the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Look {
    /// Records with exactly this term.
    Term(Vec<u8>),
    /// Records with a term that begins so.
    Prefix(Vec<u8>),
    /// Records with a term of this kind that has these bytes inside.
    Inside(u8, Vec<u8>),
    /// Records with this gram.
    Gram(i64),
    /// Records with a gram of this range.
    GramRange(Range<i64>),
    /// Records that any of these finds.
    Any(Vec<Look>),
    /// Records that all of these find.
    All(Vec<Look>),
}

/// Of a look for all of several things, the others need not be looked up once so few are left:
/// comparing those is cheaper.
const FEW: u64 = 64;

impl Look {
    /// What the pending records of are to be looked at besides: (terms, grams).
    pub(crate) fn uses(&self) -> (bool, bool) {
        match self {
            Self::Term(_) | Self::Prefix(_) | Self::Inside(..) => (true, false),
            Self::Gram(_) | Self::GramRange(_) => (false, true),
            Self::Any(parts) | Self::All(parts) => parts
                .iter()
                .map(Self::uses)
                .fold((false, false), |a, b| (a.0 | b.0, a.1 | b.1)),
        }
    }

    /// Calls `visit` with each record found, in no order and perhaps more than once, until it
    /// says `false`; tells whether it never did. Of [`Look::All`] there may be some that not all
    /// parts find.
    pub(crate) fn each(
        &self,
        conn: &Connection,
        visit: &mut dyn FnMut(i64) -> bool,
    ) -> Result<bool> {
        match self {
            Self::Term(term) => postings::of_key(conn, term, visit),
            Self::Prefix(prefix) => {
                postings::in_range(conn, prefix, terms::successor(prefix), visit)
            }
            Self::Inside(kind, part) => inside(conn, *kind, part, visit),
            Self::Gram(gram) => postings::of_key(conn, gram, visit),
            Self::GramRange(range) => postings::in_range(conn, range.start, range.end, visit),
            Self::Any(parts) => {
                for part in parts {
                    if !part.each(conn, visit)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Self::All(_) => {
                for id in self.set(conn)? {
                    if !visit(id.cast_signed()) {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    /// The records found, ascending, if they are at most `most`. Of what must have all of several
    /// things, those that have one of them will do.
    pub(crate) fn few(&self, conn: &Connection, most: usize) -> Result<Option<Vec<i64>>> {
        if let Self::All(parts) = self {
            let mut best: Option<Vec<i64>> = None;
            for part in parts {
                let bound = best.as_ref().map_or(most, Vec::len);
                if let Some(found) = part.few(conn, bound)? {
                    let enough = found.len() as u64 <= FEW;
                    best = Some(match best {
                        None => found,
                        Some(before) => common(&before, &found),
                    });
                    if enough {
                        break;
                    }
                }
            }
            return Ok(best);
        }
        let mut gathered = Gathered::new(most);
        let complete = self.each(conn, &mut |id| gathered.add(id))?;
        Ok(if complete { gathered.into_ids() } else { None })
    }

    /// The records found.
    pub(crate) fn set(&self, conn: &Connection) -> Result<Ids> {
        match self {
            Self::Term(term) => postings::set(conn, term),
            Self::Gram(gram) => postings::set(conn, gram),
            Self::Any(parts) => {
                let mut all = Ids::new();
                for part in parts {
                    all |= part.set(conn)?;
                }
                Ok(all)
            }
            Self::All(parts) => {
                let mut common: Option<Ids> = None;
                for part in parts {
                    let found = part.set(conn)?;
                    let now = match common {
                        None => found,
                        Some(before) => before & found,
                    };
                    let few = now.len() <= FEW;
                    common = Some(now);
                    if few {
                        break;
                    }
                }
                Ok(common.unwrap_or_default())
            }
            Self::Prefix(_) | Self::Inside(..) | Self::GramRange(_) => {
                let mut ids = Builder::default();
                self.each(conn, &mut |id| {
                    ids.add(id);
                    true
                })?;
                Ok(ids.finish())
            }
        }
    }
}

fn common(a: &[i64], b: &[i64]) -> Vec<i64> {
    let mut b = b.iter().copied().peekable();
    a.iter()
        .copied()
        .filter(|id| {
            while b.next_if(|other| other < id).is_some() {}
            b.peek() == Some(id)
        })
        .collect()
}

/// Every term of a kind is looked at. A term that has it not and has many rows is leapt over.
fn inside(
    conn: &Connection,
    kind: u8,
    part: &[u8],
    visit: &mut dyn FnMut(i64) -> bool,
) -> Result<bool> {
    /// Rows after which a leap costs less than going on.
    const ROWS: usize = 6;
    let finder = Finder::new(part);
    let mut statement = conn.prepare_cached(postings::BETWEEN)?;
    let mut from = vec![kind];
    loop {
        let mut rows = statement.query((&from, [kind + 1].as_slice()))?;
        let (mut without, mut passed) = (Vec::new(), 0);
        loop {
            let Some(row) = rows.next()? else {
                return Ok(true);
            };
            let term = row.get_ref(0)?.as_blob().unwrap_or_default();
            if passed > 0 && term == without {
                passed += 1;
                if passed < ROWS {
                    continue;
                }
                from = without;
                break;
            }
            // A term that was cut may have had it behind the cut.
            let cut = term.len() > terms::MAX_TERM;
            if !cut && finder.find(term.get(1..).unwrap_or_default()).is_none() {
                without.clear();
                without.extend_from_slice(term);
                passed = 1;
                continue;
            }
            passed = 0;
            let ids = row.get_ref(2)?.as_blob().unwrap_or_default();
            if !decode(row.get(1)?, ids, &mut *visit) {
                return Ok(false);
            }
        }
    }
}
