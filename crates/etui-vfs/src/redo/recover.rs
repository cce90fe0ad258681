//! [`replay`]: bringing a database's file to where its log is.
//!
//! The log is read twice: once to find the records that count, once to make the images of the
//! pages that they end with. Nothing is written before all images have the hashes that the
//! records tell, and the log is flushed. The size is set last. All of it can be done again from the begin, also after
//! it was done in part: each byte that a record touches ends as the last record that touches it
//! says, and the other bytes are as they were in any image since the epoch began.

use std::collections::BTreeMap;
use std::io;

use super::codec::{DecodeError, PageHead, Source, is_page_size};
use super::guard;
use super::log::{Header, RECORD_HEADER, RecordHead, Tail, decompress};
use super::{Hashing, hash};
use crate::device::File;
use crate::mutation::{Broken, Mutation};
use crate::store::{Image, PageStore, Spill};

/// How much of the log is read at once.
const READ: usize = 1 << 18;

/// Why a log cannot be replayed. Nothing was written then, unless writing failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplayError {
    /// It is not what was written.
    #[error("{0}")]
    Damaged(String),
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What was replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Replayed {
    pub records: u64,
    pub pages: u64,
    /// The database's size in pages; `None` without a record.
    pub database_pages: Option<u32>,
}

/// A record's payload in the log.
struct Payload<'a> {
    log: &'a dyn File,
    at: u64,
    end: u64,
    buffer: Vec<u8>,
    begin: usize,
}

impl<'a> Payload<'a> {
    fn of(log: &'a dyn File, record: &Found) -> Result<Self, ReplayError> {
        let mut payload = Self {
            log,
            at: record.payload,
            end: record.payload.saturating_add(record.head.payload),
            buffer: Vec::new(),
            begin: 0,
        };
        if record.head.compressed {
            while payload.at < payload.end {
                payload.fill()?;
            }
            payload.buffer = decompress(&payload.buffer)
                .ok_or_else(|| ReplayError::Damaged("a record cannot be decompressed".into()))?;
        }
        Ok(payload)
    }

    /// Reads more; the buffer has no more than that is left then.
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.begin);
        self.begin = 0;
        let left = usize::try_from(self.end - self.at).map_or(READ, |left| left.min(READ));
        let had = self.buffer.len();
        self.buffer.resize(had + left, 0);
        let read = match self.buffer.get_mut(had..) {
            Some(to) => self.log.read_at(to, self.at)?,
            None => 0,
        };
        self.buffer.truncate(had + read);
        self.at += read as u64;
        if read < left {
            self.end = self.at;
        }
        Ok(())
    }
}

impl Source for Payload<'_> {
    fn take(&mut self, len: usize) -> Result<&[u8], DecodeError> {
        while self.buffer.len() - self.begin < len && self.at < self.end {
            self.fill()?;
        }
        let taken = self.begin..self.begin + len;
        let bytes = self.buffer.get(taken.clone()).ok_or(DecodeError::Damaged)?;
        self.begin = taken.end;
        Ok(bytes)
    }
}

/// A record that counts.
struct Found {
    payload: u64,
    head: RecordHead,
}

/// The records of the epoch, while they chain.
fn records(log: &dyn File, header: &Header, broken: Broken) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    let mut tail = Tail::of_epoch(header);
    let len = log.len()?;
    let mut buffer = vec![0; READ];
    loop {
        let mut bytes = [0; RECORD_HEADER];
        log.read_at(&mut bytes, tail.offset)?;
        let Some(head) = RecordHead::decode(&bytes, header, &tail, broken) else {
            return Ok(found);
        };
        if head.next.offset > len {
            return Ok(found);
        }
        let payload = tail.offset + RECORD_HEADER as u64;
        let mut hashing = Hashing::default();
        let (mut at, end) = (payload, payload + head.payload);
        while at < end {
            let part = usize::try_from(end - at).map_or(READ, |left| left.min(READ));
            let to = buffer.get_mut(..part).unwrap_or_default();
            if log.read_at(to, at)? < part {
                return Ok(found);
            }
            hashing.add(to);
            at += part as u64;
        }
        if hashing.hash() != head.payload_hash {
            return Ok(found);
        }
        tail = head.next;
        found.push(Found { payload, head });
    }
}

/// Replays the log's epoch over the database, flushed at the end. `lineage` is the guard's,
/// which stays.
pub(crate) fn replay(
    database: &dyn File,
    log: &dyn File,
    header: &Header,
    cap: usize,
    spill: Spill<'_>,
    broken: Broken,
) -> Result<Replayed, ReplayError> {
    let damaged = |why: &str| ReplayError::Damaged(why.to_owned());
    if !header.live {
        return Ok(Replayed::default());
    }
    let page_size = header.page_size as usize;
    let found = records(log, header, broken)?;
    let Some(last) = found.last() else {
        return Ok(Replayed::default());
    };
    if !is_page_size(page_size) {
        return Err(damaged("its header tells no page size"));
    }
    let database_pages = last.head.database_pages;
    if database_pages == 0 {
        return Err(damaged("it says that the database has no pages"));
    }
    let mut store = PageStore::new(page_size, cap);
    // The image of each page, unless it is in place.
    let mut pages: BTreeMap<u32, (Option<Image>, u64)> = BTreeMap::new();
    let mut page = vec![0; page_size];
    let offset_of = |number: u32| u64::from(number - 1) * page_size as u64;
    for record in &found {
        let mut payload = Payload::of(log, record)?;
        for _ in 0..record.head.pages {
            let head = PageHead::read(&mut payload).map_err(not_decoded)?;
            let (image, hash) = pages.entry(head.number).or_default();
            *hash = head.hash;
            if head.is_in_place() {
                continue;
            }
            match image {
                _ if head.on_zeros => {}
                Some(image) => store.read(*image, 0, &mut page)?,
                None => read_page(database, head.number, &mut page)?,
            }
            head.apply(&mut payload, &mut page).map_err(not_decoded)?;
            match image {
                Some(image) => store.overwrite(*image, &page)?,
                None => *image = Some(store.put(&page, spill)?),
            }
        }
    }
    pages.retain(|&number, _| number <= database_pages);
    if !broken.is(Mutation::SkipImageHash) {
        for (number, (image, expected)) in &pages {
            match image {
                Some(image) => store.read(*image, 0, &mut page)?,
                None => read_page(database, *number, &mut page)?,
            }
            if hash(&page) != *expected {
                return Err(damaged(&format!(
                    "page {number} of the database is not what it was logged against"
                )));
            }
            if *number == 1 && !guard::is_database(&page) {
                return Err(damaged("its first page is not a database's"));
            }
        }
    }
    // A killed process may have left records that are not flushed: what the database is about to
    // have of them, the log must keep.
    if !broken.is(Mutation::ReplayUnflushedLog) {
        log.sync()?;
    }
    let mut written = 0;
    for (&number, (image, _)) in &pages {
        let Some(image) = image else {
            continue;
        };
        written += 1;
        store.read(*image, 0, &mut page)?;
        if number == 1 {
            guard::keep(&mut page, header.lineage);
        }
        database.write_at(&page, offset_of(number))?;
    }
    let size = u64::from(database_pages) * page_size as u64;
    if database.len()? != size && !broken.is(Mutation::ReplayWithoutSize) {
        database.set_len(size)?;
    }
    if !broken.is(Mutation::ReplayWithoutFlush) {
        database.sync()?;
    }
    Ok(Replayed {
        records: found.len() as u64,
        pages: written,
        database_pages: Some(database_pages),
    })
}

/// Reads a page of the database. One that is not there was cut off by a checkpoint, and is either
/// cut off again or logged whole later on: its hash tells.
fn read_page(database: &dyn File, number: u32, page: &mut [u8]) -> io::Result<()> {
    let offset = u64::from(number - 1) * page.len() as u64;
    let there = database.read_at(page, offset)?;
    page.get_mut(there..).unwrap_or_default().fill(0);
    guard::hide(page, offset);
    Ok(())
}

fn not_decoded(error: DecodeError) -> ReplayError {
    match error {
        DecodeError::Damaged => ReplayError::Damaged("a record cannot be decoded".to_owned()),
        DecodeError::Io(error) => ReplayError::Io(error),
    }
}
