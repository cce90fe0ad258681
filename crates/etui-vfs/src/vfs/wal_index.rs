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
use std::io;
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, MremapFlags, ProtFlags, mmap_anonymous, mremap, mremap_fixed, munmap};

/// The size of the regions that SQLite requests.
pub(super) const REGION: usize = 32_768;
/// `WALINDEX_MAX_VERSION`.
const VERSION: u32 = 3_007_000;
/// The size of SQLite's header without its checksum.
const CHECKED: usize = 40;
/// `READMARK_NOT_USED`.
const NO_MARK: u32 = u32::MAX;

/// A region, which stays in place.
enum IndexRegion {
    /// Memory of this process, for good.
    Own(Box<[UnsafeCell<u64>]>),
    /// Pages of address space, which show memory of this process or a file.
    Pages(NonNull<u64>),
    /// The pages that SQLite's VFS has mapped, where the system does not map them a second time.
    OfSqlite(NonNull<u64>),
}

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

/// New pages, zeroed.
fn empty_pages() -> io::Result<NonNull<u64>> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the system chooses the address; nothing is there.
    let at = unsafe { mmap_anonymous(ptr::null_mut(), REGION, access, MapFlags::SHARED)? };
    NonNull::new(at.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

/// Maps the shared pages at an address a second time.
///
/// # Safety
///
/// A shared mapping of at least a region begins there.
unsafe fn pages_of(from: *mut u8) -> io::Result<NonNull<u64>> {
    // Of larger pages a region is a part.
    if rustix::param::page_size() > REGION {
        return Err(io::ErrorKind::Unsupported.into());
    }
    // SAFETY: as the caller promises; with an old size of 0 the old mapping stays (mremap(2)).
    let at = unsafe { mremap(from.cast(), 0, REGION, MremapFlags::MAYMOVE)? };
    NonNull::new(at.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

impl IndexRegion {
    fn own() -> Self {
        Self::Own((0..REGION / 8).map(|_| UnsafeCell::new(0)).collect())
    }

    fn start(&self) -> *mut u64 {
        match self {
            Self::Own(words) => words.as_ptr().cast_mut().cast(),
            Self::Pages(at) | Self::OfSqlite(at) => at.as_ptr(),
        }
    }

    /// Makes the address show other pages, which are moved there. Ends the process if the system
    /// cannot, which leaves nothing at the address (rule 44): that is a kill, and kills lose nothing.
    fn show(&self, pages: NonNull<u64>) {
        let Self::Pages(at) = self else {
            return;
        };
        let (from, to) = (pages.as_ptr().cast(), at.as_ptr().cast());
        // SAFETY: both are mappings of this size that belong to this index; nobody reads or writes
        // them now, as the caller has all locks of the index.
        let moved = unsafe { mremap_fixed(from, REGION, REGION, MremapFlags::MAYMOVE, to) };
        if moved.is_err() {
            std::process::abort();
        }
    }
}

impl Drop for IndexRegion {
    fn drop(&mut self) {
        if let Self::Pages(at) = self {
            // SAFETY: the mapping belongs to this region, and no connection has it mapped.
            let _ = unsafe { munmap(at.as_ptr().cast(), REGION) };
        }
    }
}

/// The memory of the wal-index.
#[derive(Debug, Default)]
pub(super) struct WalIndex {
    regions: Vec<IndexRegion>,
    /// The number of connections that have it mapped.
    users: usize,
    /// Its memory can be exchanged for that of a file.
    is_exchangeable: bool,
}

impl WalIndex {
    /// Returns an index whose memory can be exchanged for that of a file.
    pub fn exchangeable() -> Self {
        Self {
            is_exchangeable: true,
            ..Self::default()
        }
    }

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

    /// Returns true if more than one connection has it mapped.
    pub fn is_used_by_several(&self) -> bool {
        self.users > 1
    }

    /// Clears it, unless it is mapped.
    pub fn clear(&mut self) {
        if self.users == 0 {
            self.regions.clear();
        }
    }

    /// Returns the number of regions.
    pub fn len(&self) -> usize {
        self.regions.len()
    }

    /// Returns the start of a region, zeroed if it is new. Null if there is none and `extend` is
    /// false, or if SQLite requests another size than its own.
    pub fn map_region(&mut self, number: usize, size: usize, extend: bool) -> *mut u8 {
        if size != REGION {
            return ptr::null_mut();
        }
        while extend && self.regions.len() <= number {
            let region = match self.is_exchangeable {
                true => match empty_pages() {
                    Ok(pages) => IndexRegion::Pages(pages),
                    Err(_) => return ptr::null_mut(),
                },
                false => IndexRegion::own(),
            };
            self.regions.push(region);
        }
        self.address(number)
    }

    fn address(&self, number: usize) -> *mut u8 {
        let region = self.regions.get(number);
        region.map_or(ptr::null_mut(), |region| region.start().cast())
    }

    /// Returns the start of a region that shows the pages at an address. A region that is there
    /// shows them already.
    ///
    /// # Safety
    ///
    /// The pages are region `number` of the wal-index's file, mapped shared.
    pub unsafe fn map_shared(&mut self, number: usize, from: *mut u8) -> io::Result<*mut u8> {
        if number == self.regions.len() {
            // SAFETY: as the caller promises.
            let region = match unsafe { pages_of(from) } {
                Ok(pages) => IndexRegion::Pages(pages),
                // Under valgrind, for example, and with pages of 64 KiB.
                Err(error) => match NonNull::new(from.cast()) {
                    Some(at) => IndexRegion::OfSqlite(at),
                    None => return Err(error),
                },
            };
            self.regions.push(region);
        }
        Ok(self.address(number))
    }

    /// Returns true if its addresses can show other pages.
    pub fn can_exchange(&self) -> bool {
        let mut regions = self.regions.iter();
        self.is_exchangeable && regions.all(|region| matches!(region, IndexRegion::Pages(_)))
    }

    /// Makes the regions show the pages at these addresses, one for each region, or new memory of
    /// this process; with a header as [`WalIndex::write_empty_header`] writes it. The caller has all
    /// locks of the index. After an error nothing is changed.
    ///
    /// # Safety
    ///
    /// The pages are the regions of the wal-index's file, mapped shared.
    pub unsafe fn exchange(
        &mut self,
        shared: Option<&[*mut u8]>,
        random: [u8; 12],
    ) -> io::Result<()> {
        let pages = |number: usize| match shared {
            None => empty_pages(),
            Some(from) => match from.get(number) {
                // SAFETY: as the caller promises.
                Some(from) => unsafe { pages_of(*from) },
                None => Err(io::ErrorKind::NotFound.into()),
            },
        };
        let mut all = Vec::with_capacity(self.regions.len());
        for number in 0..self.regions.len() {
            match pages(number) {
                Ok(pages) => all.push(IndexRegion::Pages(pages)),
                Err(error) => return Err(error),
            }
        }
        for (region, pages) in self.regions.iter().zip(all) {
            if let IndexRegion::Pages(at) = pages {
                region.show(at);
                std::mem::forget(pages);
            }
        }
        self.write_empty_header(random);
        Ok(())
    }

    /// Writes the header of an empty WAL, as SQLite's recovery does, but unlike any that a connection
    /// can remember (rule 43): the change counter and the salts are random.
    fn write_empty_header(&mut self, random: [u8; 12]) {
        let Some(region) = self.regions.first() else {
            return;
        };
        let mut header = [0_u8; CHECKED + 8];
        header[..4].copy_from_slice(&VERSION.to_ne_bytes());
        header[8..12].copy_from_slice(&random[..4]);
        header[12] = 1;
        header[13] = u8::from(cfg!(target_endian = "big"));
        header[32..CHECKED].copy_from_slice(&random[4..]);
        let checksum = checksum(&header[..CHECKED]);
        header[CHECKED..].copy_from_slice(&checksum);
        let info = [0, 0, NO_MARK, NO_MARK, NO_MARK, NO_MARK];
        let info = info.iter().flat_map(|word: &u32| word.to_ne_bytes());
        let bytes: Vec<u8> = header.into_iter().chain(header).chain(info).collect();
        let start: *mut u8 = region.start().cast();
        for (at, byte) in bytes.into_iter().enumerate() {
            // SAFETY: the 120 bytes are in the region. The caller has all locks of the index, so no
            // connection writes there; one that reads the header checks its two copies.
            unsafe { start.add(at).write_volatile(byte) };
        }
        // nBackfillAttempted.
        // SAFETY: as above.
        unsafe { start.add(128).cast::<u32>().write_volatile(0) };
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

/// SQLite's checksum of its header, in the byte order of the machine (wal.c, walChecksumBytes).
fn checksum(bytes: &[u8]) -> [u8; 8] {
    let word = |bytes: &[u8]| {
        let mut word = [0; 4];
        word.copy_from_slice(bytes);
        u32::from_ne_bytes(word)
    };
    let (mut first, mut second) = (0_u32, 0_u32);
    for pair in bytes.chunks_exact(8) {
        first = first.wrapping_add(word(&pair[..4])).wrapping_add(second);
        second = second.wrapping_add(word(&pair[4..])).wrapping_add(first);
    }
    let mut sums = [0; 8];
    sums[..4].copy_from_slice(&first.to_ne_bytes());
    sums[4..].copy_from_slice(&second.to_ne_bytes());
    sums
}
