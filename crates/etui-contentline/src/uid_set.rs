//! [`UidSet`]: the UIDs found in an input.

use std::collections::HashSet;

/// A set of the hashes of UIDs, in 32 tables: one table of a million hashes would need half as much
/// memory again each time it grows.
#[derive(Debug, Default)]
pub struct UidSet([HashSet<u64>; 32]);

impl UidSet {
    /// Inserts a hash. Returns true if it is new.
    pub fn insert(&mut self, hash: u64) -> bool {
        // The upper bits choose the table; the table hashes again.
        self.0[(hash >> 59) as usize].insert(hash)
    }

    /// Removes a hash. Returns true if it was there.
    pub fn remove(&mut self, hash: u64) -> bool {
        self.0[(hash >> 59) as usize].remove(&hash)
    }
}
