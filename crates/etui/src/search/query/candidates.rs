//! [`Candidates`]: the records that the index returns for a whole filter.

use std::collections::HashSet;

use rusqlite::Connection;

use crate::error::Result;
use crate::search::filter::Matcher;
use crate::search::index::condition::MIN_SELECTIVE;
use crate::search::index::id_set::{RecordIds, RecordIdsBuilder};

/// A set of records, or the complement of one.
#[derive(Debug, Clone)]
pub(super) struct CandidateSet {
    ids: RecordIds,
    is_complement: bool,
}

impl CandidateSet {
    fn none() -> Self {
        Self::from_ids(RecordIds::new())
    }

    fn all() -> Self {
        Self::none().complement()
    }

    pub(super) fn from_ids(ids: RecordIds) -> Self {
        Self {
            ids,
            is_complement: false,
        }
    }

    pub(super) fn contains(&self, id: i64) -> bool {
        self.ids.contains(id.cast_unsigned()) != self.is_complement
    }

    /// Returns the ids; `None` for a complement.
    pub(super) fn ids(&self) -> Option<&RecordIds> {
        (!self.is_complement).then_some(&self.ids)
    }

    /// Returns the number of stored ids: of a complement, the records it excludes.
    pub(super) fn stored_len(&self) -> u64 {
        self.ids.len()
    }

    fn complement(self) -> Self {
        Self {
            ids: self.ids,
            is_complement: !self.is_complement,
        }
    }

    fn intersect(self, other: Self) -> Self {
        let (ids, is_complement) = match (self.is_complement, other.is_complement) {
            (false, false) => (self.ids & other.ids, false),
            (false, true) => (self.ids - other.ids, false),
            (true, false) => (other.ids - self.ids, false),
            (true, true) => (self.ids | other.ids, true),
        };
        Self { ids, is_complement }
    }

    fn unite(self, other: Self) -> Self {
        // De Morgan: the union is the complement of the complements' intersection.
        self.complement().intersect(other.complement()).complement()
    }

    pub(super) fn insert(&mut self, id: i64) {
        self.set(id, true);
    }

    /// Adds or removes a record.
    fn set(&mut self, id: i64, is_member: bool) {
        match is_member != self.is_complement {
            true => self.ids.insert(id.cast_unsigned()),
            false => self.ids.remove(id.cast_unsigned()),
        };
    }
}

/// The records that may match a filter.
#[derive(Clone)]
pub(super) enum Candidates {
    /// Exactly the records that match.
    Exact(CandidateSet),
    /// A subset and a superset of the records that match. The records between need a recheck.
    Lossy {
        /// Records that match.
        definite: CandidateSet,
        /// Every record that matches, and others.
        possible: CandidateSet,
    },
}

impl Candidates {
    /// Looks a filter up in the index. Pending records are not considered
    /// ([`Candidates::set_match`]).
    ///
    /// Once a conjunction has at most [`MIN_SELECTIVE`] candidates, its other conditions are left
    /// to the recheck.
    pub(super) fn find(matcher: &Matcher, conn: &Connection, collection: i64) -> Result<Self> {
        Ok(match matcher {
            Matcher::All => Self::Exact(CandidateSet::all()),
            Matcher::Nothing => Self::Exact(CandidateSet::none()),
            Matcher::And(parts) => {
                let mut all = Self::Exact(CandidateSet::all());
                for (at, part) in parts.iter().enumerate() {
                    // A complement may have any number of records.
                    let found = all.possible().ids().map_or(u64::MAX, RecordIds::len);
                    if at > 0 && found <= MIN_SELECTIVE {
                        // Without the conditions that are left out it is a superset.
                        return Ok(all.into_lossy());
                    }
                    all = all
                        .combine_with(Self::find(part, conn, collection)?, CandidateSet::intersect);
                }
                all
            }
            Matcher::Or(parts) => {
                let mut any = Self::Exact(CandidateSet::none());
                let mut seen = Vec::new();
                for part in parts {
                    // Fields that share trigrams have equal conditions: `any:*a*` reads them once.
                    if let Some(found) = part.index_match() {
                        if seen.contains(&found) {
                            continue;
                        }
                        seen.push(found);
                    }
                    any =
                        any.combine_with(Self::find(part, conn, collection)?, CandidateSet::unite);
                }
                any
            }
            Matcher::Not(inner) => match Self::find(inner, conn, collection)? {
                Self::Exact(set) => Self::Exact(set.complement()),
                // The complement exchanges the bounds.
                Self::Lossy { definite, possible } => Self::Lossy {
                    definite: possible.complement(),
                    possible: definite.complement(),
                },
            },
            Matcher::Uids(uids) => {
                Self::Exact(CandidateSet::from_ids(ids_of_uids(conn, collection, uids)?))
            }
            leaf => match leaf.index_match() {
                Some(found) => {
                    let set = CandidateSet::from_ids(found.condition.record_ids(conn)?);
                    match found.is_exact {
                        true => Self::Exact(set),
                        false => Self::Exact(set).into_lossy(),
                    }
                }
                None => Self::Exact(CandidateSet::all()).into_lossy(),
            },
        })
    }

    /// Returns the superset of the records that match.
    pub(super) fn possible(&self) -> &CandidateSet {
        match self {
            Self::Exact(set) => set,
            Self::Lossy { possible, .. } => possible,
        }
    }

    /// Returns the records that match without a recheck.
    pub(super) fn definite(&self) -> &CandidateSet {
        match self {
            Self::Exact(set) => set,
            Self::Lossy { definite, .. } => definite,
        }
    }

    pub(super) fn is_exact(&self) -> bool {
        matches!(self, Self::Exact(_))
    }

    /// Returns the records that need a recheck; `None` if they are a complement.
    pub(super) fn undecided(&self) -> Option<RecordIds> {
        match self {
            Self::Exact(_) => Some(RecordIds::new()),
            Self::Lossy { definite, possible } => {
                let rest = possible.clone().intersect(definite.clone().complement());
                rest.ids().cloned()
            }
        }
    }

    /// Records whether a pending record matches.
    pub(super) fn set_match(&mut self, id: i64, matches: bool) {
        match self {
            Self::Exact(set) => set.set(id, matches),
            Self::Lossy { definite, possible } => {
                definite.set(id, matches);
                possible.set(id, matches);
            }
        }
    }

    /// Turns the candidates into lossy ones, all of which need a recheck.
    fn into_lossy(self) -> Self {
        let (_, possible) = self.into_bounds();
        Self::Lossy {
            definite: CandidateSet::none(),
            possible,
        }
    }

    fn into_bounds(self) -> (CandidateSet, CandidateSet) {
        match self {
            Self::Exact(set) => (set.clone(), set),
            Self::Lossy { definite, possible } => (definite, possible),
        }
    }

    fn combine_with(
        self,
        other: Self,
        how: fn(CandidateSet, CandidateSet) -> CandidateSet,
    ) -> Self {
        match (self, other) {
            (Self::Exact(a), Self::Exact(b)) => Self::Exact(how(a, b)),
            (a, b) => {
                let (a_definite, a_possible) = a.into_bounds();
                let (b_definite, b_possible) = b.into_bounds();
                Self::Lossy {
                    definite: how(a_definite, b_definite),
                    possible: how(a_possible, b_possible),
                }
            }
        }
    }
}

/// Returns the ids of the live records with these UIDs.
fn ids_of_uids(conn: &Connection, collection: i64, uids: &HashSet<Vec<u8>>) -> Result<RecordIds> {
    // UIDs of a filter are bytes; SQLite finds no blob equal to a text.
    let mut statement = conn.prepare_cached(
        "SELECT id FROM record \
         WHERE collection = ?1 AND uid = CAST(?2 AS TEXT) AND removed_at IS NULL",
    )?;
    let mut ids = RecordIdsBuilder::default();
    for uid in uids {
        let mut rows = statement.query((collection, uid))?;
        while let Some(row) = rows.next()? {
            ids.add(row.get(0)?);
        }
    }
    Ok(ids.finish())
}

/// A set laid out as one bit per id. Probing it in random order costs a tenth of a probe of the
/// compressed set, which a scan of a million entries needs (experiment `searches`).
pub(super) struct BitmapProbe<'s> {
    set: &'s CandidateSet,
    bits: Vec<u64>,
}

impl<'s> BitmapProbe<'s> {
    /// Largest id that gets a bit: one megabyte of bits. Larger ids are looked up in the set.
    const MAX_ID: u64 = (8 << 20) - 1;

    pub(super) fn new(set: &'s CandidateSet) -> Self {
        let last = set.ids.max().unwrap_or(0).min(Self::MAX_ID);
        let mut bits = vec![0; (last / 64) as usize + 1];
        for id in set.ids.iter().take_while(|&id| id <= last) {
            bits[(id / 64) as usize] |= 1 << (id % 64);
        }
        Self { set, bits }
    }

    pub(super) fn contains(&self, id: i64) -> bool {
        match self.bits.get((id.cast_unsigned() / 64) as usize) {
            Some(word) => (word >> (id % 64) & 1 == 1) != self.set.is_complement,
            None => self.set.contains(id),
        }
    }
}
