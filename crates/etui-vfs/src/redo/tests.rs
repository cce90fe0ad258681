//! The log and its replay over files in memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::log::{LogHeader, LogSizes, LogTail, RECORDS, RedoLog};
use super::recover::{ReplayError, Replayed, replay_log};
use crate::device::{Access, File, Lock, Platform, Role};
use crate::mutation::BrokenRule;
use etui_redo::codec::PageEncoder;
use etui_redo::{BLOCK, hash};
use etui_vfs_base::header_marker;

const PAGE: usize = 512;
const LINEAGE: [u8; 16] = [42; 16];

/// A file in memory; clones share its contents.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemoryFile(Arc<Mutex<Vec<u8>>>);

impl MemoryFile {
    fn of(bytes: &[u8]) -> Self {
        Self(Arc::new(Mutex::new(bytes.to_vec())))
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl File for MemoryFile {
    fn read_at(&self, to: &mut [u8], offset: u64) -> io::Result<usize> {
        let bytes = self.0.lock().unwrap();
        let from = bytes.get(offset as usize..).unwrap_or_default();
        let len = from.len().min(to.len());
        to[..len].copy_from_slice(&from[..len]);
        Ok(len)
    }

    fn write_at(&self, from: &[u8], offset: u64) -> io::Result<()> {
        let mut bytes = self.0.lock().unwrap();
        let end = offset as usize + from.len();
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[offset as usize..end].copy_from_slice(from);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().len() as u64)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.lock().unwrap().resize(len as usize, 0);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, _lock: Lock) -> io::Result<bool> {
        Ok(true)
    }
}

/// A platform with a single file.
#[derive(Debug)]
struct SingleFilePlatform(MemoryFile);

impl Platform for SingleFilePlatform {
    fn open(&self, _: Option<&Path>, _: Role, _: Access) -> io::Result<Box<dyn File>> {
        Ok(Box::new(self.0.clone()))
    }

    fn exists(&self, _: &Path) -> io::Result<bool> {
        Ok(true)
    }

    fn remove(&self, _: &Path, _: bool) -> io::Result<()> {
        Ok(())
    }

    fn sync_directory_of(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

const SIZES: LogSizes = LogSizes {
    resting: 1 << 16,
    step: 1 << 14,
};

fn open(file: &MemoryFile) -> RedoLog {
    let access = Access {
        write: true,
        create: true,
    };
    let one = SingleFilePlatform(file.clone());
    let path = Path::new("log");
    let log = RedoLog::open(
        &one,
        path,
        access,
        SIZES,
        &Arc::default(),
        BrokenRule::default(),
    );
    let mut log = log.unwrap().unwrap();
    log.preallocate().unwrap();
    log
}

fn replayed(database: &MemoryFile, log: &MemoryFile) -> Result<Replayed, ReplayError> {
    let header = LogHeader::read(log).unwrap().unwrap();
    let spill = || -> io::Result<Box<dyn File>> { Ok(Box::new(MemoryFile::default())) };
    replay_log(
        database,
        log,
        &header,
        4 * PAGE,
        &spill,
        BrokenRule::default(),
    )
}

/// A database changed by transactions.
struct DatabaseModel {
    log: RedoLog,
    tail: LogTail,
    pages: Vec<Vec<u8>>,
    /// The smallest size in the epoch, and the pages that have an image in it.
    floor: usize,
    imaged: Vec<bool>,
}

impl DatabaseModel {
    fn new(file: &MemoryFile, pages: usize) -> Self {
        let mut log = open(file);
        let tail = log.next_epoch(LINEAGE, PAGE as u32, true).unwrap();
        let pages: Vec<Vec<u8>> = (0..pages).map(|n| vec![n as u8; PAGE]).collect();
        Self {
            log,
            tail,
            floor: pages.len(),
            imaged: vec![false; pages.len()],
            pages,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        self.pages.concat()
    }

    /// Sets the size, then changes bytes of pages.
    fn transaction(&mut self, size: usize, writes: &[(usize, usize, u8, usize)]) -> LogTail {
        let before = self.pages.clone();
        self.pages.resize(size, vec![0; PAGE]);
        self.imaged.resize(size, false);
        self.floor = self.floor.min(size);
        let mut touched: Vec<usize> = (before.len()..size).collect();
        for &(page, at, byte, len) in writes {
            let page = page % size;
            let at = at % PAGE;
            let end = (at + len).min(PAGE);
            self.pages[page][at..end].fill(byte);
            touched.push(page);
        }
        touched.sort_unstable();
        touched.dedup();
        let mut encoder = PageEncoder::default();
        self.log.begin_record();
        for &page in &touched {
            let based = page < before.len() && (page < self.floor || self.imaged[page]);
            let old = based.then(|| &before[page][..]);
            let new = &self.pages[page];
            encoder.page(self.log.payload(), page as u32 + 1, old, new, hash(new));
            self.log.write_full_parts(&self.tail).unwrap();
            self.imaged[page] = true;
        }
        let next = self
            .log
            .finish(&self.tail, touched.len() as u32, size as u32);
        std::mem::replace(&mut self.tail, next.unwrap())
    }
}

/// Returns the database as SQLite sees it: without the marker that the replay set in page 1.
fn seen(database: &MemoryFile) -> Vec<u8> {
    let mut bytes = database.bytes();
    header_marker::hide(&mut bytes, 0);
    bytes
}

fn first_page_as_databases_have(bytes: &mut [u8]) {
    bytes[18..20].fill(2);
    bytes[72..92].fill(0);
}

type Writes = Vec<(usize, usize, u8, usize)>;

fn transactions() -> impl Strategy<Value = Vec<(usize, Writes)>> {
    let write = (1_usize..12, 0..PAGE, any::<u8>(), 1_usize..80);
    let one = (6_usize..14, proptest::collection::vec(write, 1..6));
    proptest::collection::vec(one, 1..8)
}

proptest! {
    #[test]
    fn a_log_is_replayed_over_any_image_since_its_epoch_began(
        transactions in transactions(),
        mixed in any::<u64>(),
        flip in any::<prop::sample::Index>(),
    ) {
        let log = MemoryFile::default();
        let mut model = DatabaseModel::new(&log, 8);
        first_page_as_databases_have(&mut model.pages[0]);
        let mut states = vec![model.bytes()];
        for (size, writes) in &transactions {
            // Page 1 is not changed: it has the marker.
            let writes: Writes = writes.iter().filter(|w| w.0 % size != 0).copied().collect();
            model.transaction(*size, &writes);
            states.push(model.bytes());
        }
        let last = states.last().unwrap().clone();

        // Over the initial database, twice.
        let database = MemoryFile::of(&states[0]);
        for _ in 0..2 {
            let done = replayed(&database, &log).unwrap();
            prop_assert_eq!(done.records, transactions.len() as u64);
            prop_assert!(seen(&database) == last);
        }

        // Over a database during a checkpoint: each sector is the initial or the last one, and the
        // file may be longer than either.
        let longest = states[0].len().max(last.len());
        let mut bytes = states[0].clone();
        bytes.resize(longest, 0xee);
        for (n, sector) in last.chunks(PAGE).enumerate() {
            if mixed >> (n % 64) & 1 != 0 {
                bytes[n * PAGE..(n + 1) * PAGE].copy_from_slice(sector);
            }
        }
        let database = MemoryFile::of(&bytes);
        replayed(&database, &log).unwrap();
        prop_assert!(seen(&database) == last);

        // With one wrong byte in the log: an earlier state, or an error without a change.
        let mut bytes = log.bytes();
        let used = model.tail.offset as usize;
        let at = RECORDS as usize + flip.index(used - RECORDS as usize);
        bytes[at] ^= 0x10;
        let database = MemoryFile::of(&states[0]);
        match replayed(&database, &MemoryFile::of(&bytes)) {
            Ok(done) => prop_assert!(seen(&database) == states[done.records as usize]),
            Err(_) => prop_assert!(database.bytes() == states[0]),
        }
    }

    #[test]
    fn any_log_is_replayed_or_refused(
        bytes in proptest::collection::vec(any::<u8>(), 0..600),
        at in 0_usize..200,
    ) {
        let log = MemoryFile::default();
        let mut model = DatabaseModel::new(&log, 8);
        model.transaction(8, &[(3, 5, 7, 20)]);
        let mut damaged = log.bytes();
        let at = RECORDS as usize + at;
        damaged[at..at + bytes.len()].copy_from_slice(&bytes);
        let database = MemoryFile::of(&vec![0; 8 * PAGE]);
        let _ = replayed(&database, &MemoryFile::of(&damaged));
    }
}

#[test]
fn a_record_that_was_not_published_is_overwritten_and_nothing_chains_onto_it() {
    let log = MemoryFile::default();
    let mut model = DatabaseModel::new(&log, 8);
    let begin = model.bytes();
    model.transaction(8, &[(3, 0, 1, 9)]);
    let published = model.pages.clone();
    // A failed one, so large that its blocks reach beyond the next.
    let behind = model.transaction(8, &[(4, 0, 2, 9)]);
    let dead = model.tail;
    model.transaction(8, &[(5, 0, 3, 9)]);
    // Its second block still has the record after the dead one.
    model.tail = behind;
    model.pages = published;
    model.transaction(8, &[(6, 0, 4, 9)]);
    assert_eq!(model.tail.offset, dead.offset);
    let database = MemoryFile::of(&begin);
    assert_eq!(replayed(&database, &log).unwrap().records, 2);
    assert!(seen(&database) == model.bytes());
    // A revoked record does not apply either.
    let tail = model.transaction(8, &[(6, 0, 5, 9)]);
    model.log.destroy_record(&tail).unwrap();
    let database = MemoryFile::of(&begin);
    assert_eq!(replayed(&database, &log).unwrap().records, 2);
}

#[test]
fn an_epoch_that_was_not_opened_whole_is_the_one_before() {
    let log = MemoryFile::default();
    let mut model = DatabaseModel::new(&log, 8);
    let begin = model.bytes();
    model.transaction(8, &[(3, 0, 1, 9)]);
    let old = log.bytes();
    let epoch = model.log.header().epoch;
    model.log.next_epoch(LINEAGE, PAGE as u32, true).unwrap();
    assert_eq!(LogHeader::read(&log).unwrap().unwrap().epoch, epoch + 1);
    assert_eq!(replayed(&MemoryFile::of(&begin), &log).unwrap().records, 0);
    // Half of the new header's block is written.
    let slot = ((epoch + 1) % 2) as usize * BLOCK;
    let mut torn = log.bytes();
    torn[slot + 30..slot + BLOCK].copy_from_slice(&old[slot + 30..slot + BLOCK]);
    let torn = MemoryFile::of(&torn);
    assert_eq!(LogHeader::read(&torn).unwrap().unwrap().epoch, epoch);
    assert_eq!(replayed(&MemoryFile::of(&begin), &torn).unwrap().records, 1);
}

#[test]
fn an_ended_log_is_not_replayed() {
    let log = MemoryFile::default();
    let mut model = DatabaseModel::new(&log, 8);
    let begin = model.bytes();
    model.transaction(8, &[(3, 0, 1, 9)]);
    model.log.next_epoch(LINEAGE, PAGE as u32, false).unwrap();
    let database = MemoryFile::of(&begin);
    assert_eq!(replayed(&database, &log).unwrap(), Replayed::default());
    assert!(database.bytes() == begin);
}

#[test]
fn a_database_that_the_log_is_not_of_is_refused() {
    let log = MemoryFile::default();
    let mut model = DatabaseModel::new(&log, 8);
    model.transaction(8, &[(3, 0, 1, 9)]);
    let other = vec![0xaa; 8 * PAGE];
    let database = MemoryFile::of(&other);
    assert!(matches!(
        replayed(&database, &log),
        Err(ReplayError::Damaged(_))
    ));
    assert!(database.bytes() == other);
    let short = MemoryFile::of(&other[..2 * PAGE]);
    assert!(matches!(
        replayed(&short, &log),
        Err(ReplayError::Damaged(_))
    ));
}

#[test]
fn a_log_that_leaves_no_database_is_refused() {
    // A record after which the database has no pages.
    let log = MemoryFile::default();
    let mut model = DatabaseModel::new(&log, 8);
    let begin = model.bytes();
    model.log.begin_record();
    model.log.finish(&model.tail, 0, 0).unwrap();
    let database = MemoryFile::of(&begin);
    assert!(replayed(&database, &log).is_err());
    assert!(database.bytes() == begin);
    // A record that makes the first page something else.
    let log = MemoryFile::default();
    let mut model = DatabaseModel::new(&log, 8);
    model.transaction(8, &[(0, 0, 1, 9)]);
    let database = MemoryFile::of(&begin);
    assert!(replayed(&database, &log).is_err());
    assert!(database.bytes() == begin);
}

#[test]
fn a_large_record_goes_in_parts_and_the_log_back_to_rest() {
    let log = MemoryFile::default();
    let mut model = DatabaseModel::new(&log, 8);
    let begin = model.bytes();
    // 6,000 new pages of random bytes: 3 MB.
    let mut random = 1_u64;
    let writes: Writes = (8..6008)
        .flat_map(|page| (0..PAGE / 2).map(move |n| (page, 2 * n)))
        .map(|(page, at)| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (page, at, (random >> 56) as u8, 2)
        })
        .collect();
    model.transaction(6008, &writes);
    model.transaction(6008, &[(7, 0, 1, 1)]);
    assert!(log.bytes().len() > 3_000_000);
    let database = MemoryFile::of(&begin);
    assert_eq!(replayed(&database, &log).unwrap().records, 2);
    assert!(seen(&database) == model.bytes());
    model.log.next_epoch(LINEAGE, PAGE as u32, true).unwrap();
    assert_eq!(log.bytes().len() as u64, SIZES.resting);
}
