//! [`WalIndex`]: the memory that SQLite keeps its index of the WAL in, shared by the connections
//! of this process.
//!
//! ```text
//! what is read of it here (wal.c, WalIndexHdr and WalCkptInfo; the machine's byte order)
//!  12  u8       whether it was set up
//!  16  u32      mxFrame: the last frame that is committed
//!  32  8 bytes  salts of the WAL that it belongs to
//!  96  u32      nBackfill: up to where checkpoints wrote the database
//! 100  5 u32    aReadMark: up to where the readers that hold a read lock see at least
//! 128  u32      nBackfillAttempted: up to where they began to
//! ```

use std::cell::UnsafeCell;
use std::ptr;

/// SQLite asks for parts of this size.
const REGION: usize = 32_768;

/// A part of it, which stays where it is.
struct Region(Box<[UnsafeCell<u64>]>);

impl std::fmt::Debug for Region {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Region").finish_non_exhaustive()
    }
}

// SAFETY: the memory is only touched through raw pointers: by SQLite, which brings its own
// order into it, and by `WalIndex::word`, by volatile reads.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

/// The index's memory.
#[derive(Debug, Default)]
pub(super) struct WalIndex {
    regions: Vec<Region>,
    /// How many connections have it mapped.
    users: usize,
}

impl WalIndex {
    /// A connection maps its first region.
    pub fn join(&mut self) {
        self.users += 1;
    }

    /// A connection gives it back.
    pub fn leave(&mut self) {
        self.users = self.users.saturating_sub(1);
    }

    /// Whether a connection has it mapped; one that keeps an index of its own has not.
    pub fn in_use(&self) -> bool {
        self.users > 0
    }

    /// Forgets it, unless it is mapped.
    pub fn clear(&mut self) {
        if self.users == 0 {
            self.regions.clear();
        }
    }

    /// A region's begin, zeroed when it is new; null if there is none and none is to be made,
    /// or if SQLite asks for another size than its own.
    pub fn region(&mut self, number: usize, size: usize, extend: bool) -> *mut u8 {
        if size != REGION {
            return ptr::null_mut();
        }
        while extend && self.regions.len() <= number {
            let words = (0..REGION / 8).map(|_| UnsafeCell::new(0)).collect();
            self.regions.push(Region(words));
        }
        match self.regions.get(number) {
            Some(region) => region.0.as_ptr().cast_mut().cast(),
            None => ptr::null_mut(),
        }
    }

    /// Four bytes of the first region.
    fn word(&self, at: usize) -> Option<u32> {
        let word = self.regions.first()?.0.get(at / 8)?;
        let half = (at % 8) / 4;
        // SAFETY: the eight bytes lie in the region, and so does this aligned half of them.
        // SQLite may write there meanwhile, from another thread: a volatile read of a word,
        // as SQLite's own.
        Some(unsafe { word.get().cast::<u32>().add(half).read_volatile() })
    }

    /// The last committed frame, if the index belongs to the WAL with these salts; 0 if it
    /// belongs to another. `None`: no connection has it mapped.
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

    /// Tells SQLite that the database's file has all frames up to this one. Nobody else has any
    /// lock of the index.
    pub fn set_backfilled(&mut self, frame: u32) {
        // nBackfill, and nBackfillAttempted.
        for at in [96, 128] {
            if let Some(word) = self.regions.first().and_then(|region| region.0.get(at / 8)) {
                // SAFETY: the word lies in the region and is aligned; with all locks held no
                // connection writes there, and those that look read a word.
                unsafe { word.get().cast::<u32>().write_volatile(frame) };
            }
        }
    }

    /// The mark of a read lock, of which there are five.
    pub fn read_mark(&self, number: usize) -> u32 {
        self.word(100 + 4 * number).unwrap_or(0)
    }
}
