//! [`WalIndex`]: the memory of SQLite's wal-index, shared by the connections of this process.
//!
//! ```text
//! fields read here (wal.c, WalIndexHdr and WalCkptInfo; native byte order)
//!  12  u8       1: initialised
//!  16  u32      mxFrame: the last committed frame
//!  32  8 bytes  salts of the WAL
//!  96  u32      nBackfill: the database has the frames up to here
//! 100  5 u32    aReadMark: readers with a read lock see at least up to here
//! 128  u32      nBackfillAttempted: checkpoints have begun up to here
//! ```

use std::cell::UnsafeCell;
use std::ptr;

/// The size of the regions that SQLite requests.
const REGION: usize = 32_768;

/// A region, which stays in place.
struct IndexRegion(Box<[UnsafeCell<u64>]>);

impl std::fmt::Debug for IndexRegion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Region").finish_non_exhaustive()
    }
}

// SAFETY: the memory is only accessed through raw pointers: by SQLite, which synchronises its
// accesses, and by `WalIndex` with volatile accesses.
unsafe impl Send for IndexRegion {}
// SAFETY: as above.
unsafe impl Sync for IndexRegion {}

impl IndexRegion {
    fn new() -> Self {
        Self((0..REGION / 8).map(|_| UnsafeCell::new(0)).collect())
    }

    fn start(&self) -> *mut u64 {
        self.0.as_ptr().cast_mut().cast()
    }
}

/// The memory of the wal-index.
#[derive(Debug, Default)]
pub(super) struct WalIndex {
    regions: Vec<IndexRegion>,
    /// The number of connections that have it mapped.
    users: usize,
}

impl WalIndex {
    /// Counts a connection that maps its first region.
    pub fn join(&mut self) {
        self.users += 1;
    }

    /// Counts a connection that unmaps it.
    pub fn leave(&mut self) {
        self.users = self.users.saturating_sub(1);
    }

    /// Returns true if a connection has it mapped; one with a private index has not.
    pub fn in_use(&self) -> bool {
        self.users > 0
    }

    /// Clears it, unless it is mapped.
    pub fn clear(&mut self) {
        if self.users == 0 {
            self.regions.clear();
        }
    }

    /// Returns the start of a region, zeroed if it is new. Null if there is none and `extend` is
    /// false, or if SQLite requests another size than its own.
    pub fn map_region(&mut self, number: usize, size: usize, extend: bool) -> *mut u8 {
        if size != REGION {
            return ptr::null_mut();
        }
        while extend && self.regions.len() <= number {
            self.regions.push(IndexRegion::new());
        }
        let region = self.regions.get(number);
        region.map_or(ptr::null_mut(), |region| region.start().cast())
    }

    /// Returns four bytes of the first region.
    fn word(&self, at: usize) -> Option<u32> {
        if at + 4 > REGION {
            return None;
        }
        let start: *mut u8 = self.regions.first()?.start().cast();
        // SAFETY: the four bytes are in the region, and aligned. SQLite may write there
        // concurrently from another thread: a volatile read of a word, like SQLite's own.
        Some(unsafe { start.add(at & !3).cast::<u32>().read_volatile() })
    }

    /// Returns the last committed frame if the index belongs to the WAL with these salts; 0 if it
    /// belongs to another one. `None`: no connection has it mapped.
    pub fn committed(&self, salts: [u8; 8]) -> Option<u32> {
        if !self.in_use() {
            return None;
        }
        let set_up = self.word(12)?.to_ne_bytes()[0] != 0;
        let mut own = [0; 8];
        own[..4].copy_from_slice(&self.word(32)?.to_ne_bytes());
        own[4..].copy_from_slice(&self.word(36)?.to_ne_bytes());
        Some(if set_up && own == salts {
            self.word(16)?
        } else {
            0
        })
    }

    /// Records for SQLite that the database file has all frames up to this one. The caller holds
    /// all locks of the index.
    pub fn set_backfilled(&mut self, frame: u32) {
        // nBackfill and nBackfillAttempted.
        for at in [96, 128] {
            if let Some(region) = self.regions.first() {
                let start: *mut u8 = region.start().cast();
                // SAFETY: the word is in the region and aligned; as the caller holds all locks, no
                // connection writes there, and readers read whole words.
                unsafe { start.add(at).cast::<u32>().write_volatile(frame) };
            }
        }
    }

    /// Returns the mark of one of the five read locks.
    pub fn read_mark(&self, number: usize) -> u32 {
        self.word(100 + 4 * number).unwrap_or(0)
    }
}
