//! What the index says of a whole filter: which records match for sure, which perhaps.

use rusqlite::Connection;

use crate::error::Result;
use crate::search::filter::Matcher;
use crate::search::index::look::Look;
use crate::search::index::postings::Ids;

/// A set of records, or all records but those of a set.
#[derive(Debug, Clone)]
pub(super) struct Set {
    ids: Ids,
    all_but: bool,
}

impl Set {
    fn none() -> Self {
        Self {
            ids: Ids::new(),
            all_but: false,
        }
    }

    fn all() -> Self {
        Self::none().complement()
    }

    pub(super) fn of(ids: Ids) -> Self {
        Self {
            ids,
            all_but: false,
        }
    }

    pub(super) fn has(&self, id: i64) -> bool {
        self.ids.contains(id.cast_unsigned()) != self.all_but
    }

    /// Its records, if they are not all but some.
    pub(super) fn ids(&self) -> Option<&Ids> {
        (!self.all_but).then_some(&self.ids)
    }

    /// How many records it has, or lacks.
    pub(super) fn size(&self) -> u64 {
        self.ids.len()
    }

    fn complement(self) -> Self {
        Self {
            ids: self.ids,
            all_but: !self.all_but,
        }
    }

    fn and(self, other: Self) -> Self {
        let (ids, all_but) = match (self.all_but, other.all_but) {
            (false, false) => (self.ids & other.ids, false),
            (false, true) => (self.ids - other.ids, false),
            (true, false) => (other.ids - self.ids, false),
            (true, true) => (self.ids | other.ids, true),
        };
        Self { ids, all_but }
    }

    fn or(self, other: Self) -> Self {
        self.complement().and(other.complement()).complement()
    }

    pub(super) fn insert(&mut self, id: i64) {
        match self.all_but {
            false => self.ids.insert(id.cast_unsigned()),
            true => self.ids.remove(id.cast_unsigned()),
        };
    }

    pub(super) fn remove(&mut self, id: i64) {
        match self.all_but {
            false => self.ids.remove(id.cast_unsigned()),
            true => self.ids.insert(id.cast_unsigned()),
        };
    }
}

/// A set that many records are met with, in an order that is not theirs: after some, its ids are
/// laid out as a bit each, in which a look costs a tenth.
pub(super) struct Met<'s> {
    set: &'s Set,
    asked: u32,
    bits: Vec<u64>,
}

impl<'s> Met<'s> {
    /// Looks after which the bits are worth being laid out.
    const LOOKS: u32 = 2_048;
    /// Most numbers that get a bit: a megabyte of them.
    const MOST: u64 = 8 << 20;

    pub(super) fn new(set: &'s Set) -> Self {
        Self {
            set,
            asked: 0,
            bits: Vec::new(),
        }
    }

    pub(super) fn has(&mut self, id: i64) -> bool {
        let id = id.cast_unsigned();
        if let Some(word) = self.bits.get((id / 64) as usize) {
            return (word >> (id % 64) & 1 == 1) != self.set.all_but;
        }
        if self.asked <= Self::LOOKS {
            self.asked += 1;
            if self.asked == Self::LOOKS {
                self.lay_out();
            }
        }
        self.set.has(id.cast_signed())
    }

    fn lay_out(&mut self) {
        let ids = &self.set.ids;
        let Some(last) = ids.max().filter(|&last| last < Self::MOST) else {
            return;
        };
        self.bits = vec![0; (last / 64) as usize + 1];
        for id in ids {
            self.bits[(id / 64) as usize] |= 1 << (id % 64);
        }
    }
}

/// What is known of the records that match.
pub(super) enum Bounds {
    /// These match, no others.
    Exact(Set),
    /// The first match for sure; of the second, which has them all, some.
    Between(Set, Set),
}

impl Bounds {
    /// Those that match for sure, and those that may.
    fn split(self) -> (Set, Set) {
        match self {
            Self::Exact(set) => (set.clone(), set),
            Self::Between(sure, maybe) => (sure, maybe),
        }
    }

    fn join(self, other: Self, how: fn(Set, Set) -> Set) -> Self {
        match (self, other) {
            (Self::Exact(a), Self::Exact(b)) => Self::Exact(how(a, b)),
            (a, b) => {
                let ((a_sure, a_maybe), (b_sure, b_maybe)) = (a.split(), b.split());
                Self::Between(how(a_sure, b_sure), how(a_maybe, b_maybe))
            }
        }
    }

    /// What the index says of `matcher`. It does not know of pending records.
    pub(super) fn of(matcher: &Matcher, conn: &Connection) -> Result<Self> {
        let fold = |parts: &[Matcher], first: Set, how: fn(Set, Set) -> Set| -> Result<Self> {
            parts.iter().try_fold(Self::Exact(first), |all, part| {
                Ok(all.join(Self::of(part, conn)?, how))
            })
        };
        Ok(match matcher {
            Matcher::All => Self::Exact(Set::all()),
            Matcher::Nothing => Self::Exact(Set::none()),
            Matcher::And(parts) => fold(parts, Set::all(), Set::and)?,
            Matcher::Or(parts) => fold(parts, Set::none(), Set::or)?,
            Matcher::Not(inner) => match Self::of(inner, conn)? {
                Self::Exact(set) => Self::Exact(set.complement()),
                Self::Between(sure, maybe) => Self::Between(maybe.complement(), sure.complement()),
            },
            leaf => match leaf.look() {
                Some(found) => {
                    let set = Set::of(found.look.set(conn)?);
                    match found.exact {
                        true => Self::Exact(set),
                        false => Self::Between(Set::none(), set),
                    }
                }
                None => Self::Between(Set::none(), Set::all()),
            },
        })
    }
}

/// Records that have all that match `matcher` among them, ascending, if a look finds at most
/// `most`; without the pending ones.
pub(super) fn few(matcher: &Matcher, conn: &Connection, most: usize) -> Result<Option<Vec<i64>>> {
    match matcher {
        Matcher::All | Matcher::Not(_) => Ok(None),
        Matcher::Nothing => Ok(Some(Vec::new())),
        Matcher::And(parts) => {
            let mut best: Option<Vec<i64>> = None;
            for part in parts {
                let bound = best.as_ref().map_or(most, Vec::len);
                if let Some(found) = few(part, conn, bound)? {
                    let enough = found.len() <= ENOUGH;
                    best = Some(found);
                    if enough {
                        break;
                    }
                }
            }
            Ok(best)
        }
        Matcher::Or(parts) => {
            let mut all = Vec::new();
            for part in parts {
                match few(part, conn, most)? {
                    Some(found) => all.extend(found),
                    None => return Ok(None),
                }
            }
            all.sort_unstable();
            all.dedup();
            Ok((all.len() <= most).then_some(all))
        }
        leaf => match leaf.look() {
            Some(found) => found.look.few(conn, most),
            None => Ok(None),
        },
    }
}

/// With so few candidates, no further condition is looked up.
const ENOUGH: usize = 32;

/// A look that finds all that matches, if one does, and whether it finds nothing else.
pub(super) fn look_of(matcher: &Matcher) -> Option<(Look, bool)> {
    match matcher {
        Matcher::Or(parts) => {
            let looks: Option<Vec<_>> = parts.iter().map(look_of).collect();
            let (looks, exact): (Vec<Look>, Vec<bool>) = looks?.into_iter().unzip();
            Some((Look::Any(looks), exact.into_iter().all(|exact| exact)))
        }
        leaf => leaf.look().map(|found| (found.look, found.exact)),
    }
}

/// What the looks of a matcher use: (terms, grams).
pub(super) fn uses(matcher: &Matcher) -> (bool, bool) {
    let both = |a: (bool, bool), b: (bool, bool)| (a.0 | b.0, a.1 | b.1);
    match matcher {
        Matcher::And(parts) | Matcher::Or(parts) => {
            parts.iter().map(uses).fold((false, false), both)
        }
        Matcher::Not(inner) => uses(inner),
        leaf => leaf.look().map_or((false, false), |f| f.look.uses()),
    }
}
