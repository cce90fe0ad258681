//! [`Ranks`]: the compiled filters of a ranked query.

use rusqlite::Connection;

use super::record_reader::RecheckReader;
use crate::error::Result;
use crate::record::keys::SearchKeys;
use crate::search::filter::Matcher;
use crate::types::RecordId;

/// The filters of the ranks, the best first; none if there is one rank.
pub(super) struct Ranks(pub(super) Vec<Matcher>);

impl Ranks {
    /// Returns the rank of a record that matches the query.
    pub(super) fn of(&self, record: SearchKeys<'_>) -> u8 {
        let last = self.0.len().saturating_sub(1);
        // The last rank is the widest: every record of the query matches it.
        let wider = self.0.get(..last).unwrap_or_default();
        let rank = wider.iter().position(|rank| rank.matches(record));
        u8::try_from(rank.unwrap_or(last)).unwrap_or(u8::MAX)
    }

    /// Returns the rank of the record with this id.
    pub(super) fn of_id(&self, conn: &Connection, collection: i64, id: RecordId) -> Result<u8> {
        let mut rank = 0;
        if !self.0.is_empty() {
            RecheckReader::new(conn, collection).each_row(&[id.0], |row| {
                rank = self.of(row.search);
                Ok(())
            })?;
        }
        Ok(rank)
    }

    /// Returns the filter for the records of rank `at`.
    pub(super) fn stage(&self, at: usize) -> Matcher {
        let better = self.0.iter().take(at).cloned();
        let better = better.map(|rank| Matcher::Not(Box::new(rank)));
        Matcher::And(self.0.get(at).cloned().into_iter().chain(better).collect())
    }
}
