//! A cold start with few requests to the device: the beginning of the file is asked for at once, and
//! the first pages that a connection uses are read, later ones mapped ([`FirstPages`]).
//!
//! A fault on a mapped page that is not in memory reads around it as far as the device's read-ahead
//! says, up to megabytes for one page. A `read` of a page reads that page, and ahead only where pages
//! follow one another. So the pages of a program's first screens are read; SQLite keeps them in its
//! cache. Later pages are mapped, which needs no copy.

use std::fs::File;
use std::num::NonZeroU64;

use rustix::fs::Advice;

/// The beginning of a database: its schema, and the roots of the trees that were created with it,
/// 84 KiB in a store. One request instead of five (experiment `app-start`, first screen, cold).
const BEGINNING: Option<NonZeroU64> = NonZeroU64::new(128 << 10);

/// Has the kernel read the beginning of a database, without waiting for it.
pub fn ask_for_beginning(file: &File) {
    // Where the kernel refuses, the pages are read when they are used.
    let _ = rustix::fs::fadvise(file, 0, BEGINNING, Advice::WillNeed);
}

/// Pages that SQLite wants mapped and that are read instead. The first screen of a list takes 13
/// (experiment `app-start`, first screen, cold).
const FIRST_PAGES: u32 = 128;

/// The count of a connection.
#[derive(Debug, Default)]
pub struct FirstPages(u32);

impl FirstPages {
    /// Counts a page that SQLite wants mapped. Returns true if it is to be read.
    pub fn is_next(&mut self) -> bool {
        let is_first = self.0 < FIRST_PAGES;
        self.0 += u32::from(is_first);
        is_first
    }
}
