//! [`IndexCondition`]: a condition that the index answers.

use std::ops::Range;

use memchr::memmem::Finder;
use rusqlite::Connection;

use super::IndexParts;
use super::id_set::{RecordIds, RecordIdsBuilder};
use super::postings::{self, decode_row};
use super::terms;
use crate::error::Result;

/// Once a conjunction has at most this many candidates, its other conditions are not looked up:
/// rechecking the candidates costs less than reading a posting list of average length
/// (experiment `searches`).
pub(crate) const MIN_SELECTIVE: u64 = 64;

/// A condition on the terms and trigrams of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IndexCondition {
    /// The record has this term.
    Term(Vec<u8>),
    /// The record has a term with this prefix.
    TermPrefix(Vec<u8>),
    /// The record has a term in this range.
    TermRange(Range<Vec<u8>>),
    /// The record has a term of this kind that contains these bytes. All terms of the kind are
    /// read.
    TermContains(u8, Vec<u8>),
    /// The record has this trigram.
    Trigram(i64),
    /// The record has a trigram in this range.
    TrigramRange(Range<i64>),
    /// Any of these conditions holds.
    Any(Vec<IndexCondition>),
    /// All of these conditions hold.
    All(Vec<IndexCondition>),
}

impl IndexCondition {
    /// Returns the parts of the index that the condition reads.
    pub(crate) fn index_parts(&self) -> IndexParts {
        match self {
            Self::Term(_) | Self::TermPrefix(_) | Self::TermRange(_) | Self::TermContains(..) => {
                IndexParts::TERMS
            }
            Self::Trigram(_) | Self::TrigramRange(_) => IndexParts::TRIGRAMS,
            Self::Any(parts) | Self::All(parts) => parts
                .iter()
                .fold(IndexParts::NONE, |all, part| all | part.index_parts()),
        }
    }

    /// Returns the records for which the condition holds. Of [`IndexCondition::All`] they may be a
    /// superset: once it has at most [`MIN_SELECTIVE`] records, the other conditions are skipped.
    pub(crate) fn record_ids(&self, conn: &Connection) -> Result<RecordIds> {
        let mut ids = RecordIdsBuilder::default();
        match self {
            Self::Any(parts) => {
                let mut any = RecordIds::new();
                for part in parts {
                    any |= part.record_ids(conn)?;
                }
                return Ok(any);
            }
            Self::All(parts) => {
                let mut all: Option<RecordIds> = None;
                for part in parts {
                    let found = part.record_ids(conn)?;
                    let common = match all {
                        None => found,
                        Some(before) => before & found,
                    };
                    if common.len() <= MIN_SELECTIVE {
                        return Ok(common);
                    }
                    all = Some(common);
                }
                return Ok(all.unwrap_or_default());
            }
            Self::Term(term) => postings::read_list(conn, &term[..], |id| ids.add(id))?,
            Self::Trigram(trigram) => postings::read_list(conn, *trigram, |id| ids.add(id))?,
            Self::TermPrefix(prefix) => {
                let end = terms::prefix_end(prefix);
                postings::read_range(conn, &prefix[..]..&end[..], |id| ids.add(id))?;
            }
            Self::TermRange(Range { start, end }) => {
                postings::read_range(conn, &start[..]..&end[..], |id| ids.add(id))?;
            }
            Self::TrigramRange(range) => {
                postings::read_range(conn, range.clone(), |id| ids.add(id))?;
            }
            Self::TermContains(kind, part) => read_terms_containing(conn, *kind, part, &mut ids)?,
        }
        Ok(ids.finish())
    }
}

/// Adds the records of each term of a kind that contains `part`.
fn read_terms_containing(
    conn: &Connection,
    kind: u8,
    part: &[u8],
    ids: &mut RecordIdsBuilder,
) -> Result<()> {
    let finder = Finder::new(part);
    let (start, end) = ([kind], [kind + 1]);
    let mut term = Vec::new();
    let mut is_match = false;
    postings::each_row(conn, &start[..]..&end[..], |key, first, row| {
        if key != term {
            term.clear();
            term.extend_from_slice(key);
            // The cut part of a long term may contain it.
            is_match = key.len() > terms::MAX_TERM
                || finder.find(key.get(1..).unwrap_or_default()).is_some();
        }
        if is_match {
            decode_row(first, row, |id| ids.add(id));
        }
    })
}
