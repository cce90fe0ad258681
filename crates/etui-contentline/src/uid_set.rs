//! [`Seen`]: which UIDs of an input were met.

use std::collections::HashSet;

/// Hashes that were met, in many small tables: of a million one table would double at some moment,
/// and take half as much again while it does.
#[derive(Debug, Default)]
pub struct UidSet([HashSet<u64>; 32]);

impl UidSet {
    /// Tells whether this one is new.
    pub fn insert(&mut self, hash: u64) -> bool {
        // The upper bits choose; tables use others of a hash of their own.
        self.0[(hash >> 59) as usize].insert(hash)
    }

    /// Forgets one; tells whether it was met.
    pub fn remove(&mut self, hash: u64) -> bool {
        self.0[(hash >> 59) as usize].remove(&hash)
    }
}
