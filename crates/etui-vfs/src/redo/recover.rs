//! [`replay_log`]: replays a log over its database.
//!
//! The log is read twice: once to find the valid records, once to build the final images of the
//! pages, by [`etui_redo::recovery`]. Nothing is written until all images match the hashes in the
//! records, and the log is flushed. The size is set last.

use std::collections::BTreeMap;
use std::io;

use etui_redo::codec::{DecodeError, PayloadSource};
use etui_redo::compression::decompress_payload;
use etui_redo::record::{RECORD_HEADER, RecordHeader};
use etui_redo::recovery::{PageImages, Recovery, RecoveryError};
use etui_redo::{BLOCK, StreamHash};

use super::log::{LogHeader, LogTail, record_at};
use crate::device::File;
use crate::mutation::{BrokenRule, Mutation};
use crate::page_store::{OpenSpillFile, PageSlot, PageStore};
use etui_vfs_base::header_marker;

/// Bytes of the log read at once.
const READ: usize = 1 << 18;

/// The reason why a log cannot be replayed. Nothing was written, unless a write failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplayError {
    /// The log is damaged.
    #[error("{0}")]
    Damaged(String),
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The result of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Replayed {
    pub records: u64,
    pub pages: u64,
    /// The size of the database in pages; `None` without a record.
    pub database_pages: Option<u32>,
}

/// A reader of a record's payload in the log.
struct PayloadReader<'a> {
    log: &'a dyn File,
    at: u64,
    end: u64,
    buffer: Vec<u8>,
    begin: usize,
}

impl<'a> PayloadReader<'a> {
    fn of(log: &'a dyn File, record: &ScannedRecord) -> Result<Self, ReplayError> {
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
            payload.buffer = decompress_payload(&payload.buffer)
                .ok_or_else(|| ReplayError::Damaged("a record cannot be decompressed".into()))?;
        }
        Ok(payload)
    }

    /// Reads more. The buffer holds at most the rest of the payload.
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

impl PayloadSource for PayloadReader<'_> {
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

/// A valid record.
struct ScannedRecord {
    payload: u64,
    head: RecordHeader,
}

/// Returns the records of the epoch, as far as they chain, and the position after them.
fn records(
    log: &dyn File,
    header: &LogHeader,
    broken: BrokenRule,
) -> io::Result<(Vec<ScannedRecord>, LogTail)> {
    let mut found = Vec::new();
    let mut tail = LogTail::of_epoch(header);
    let len = log.len()?;
    let mut buffer = vec![0; READ];
    loop {
        let mut bytes = [0; RECORD_HEADER];
        log.read_at(&mut bytes, tail.offset)?;
        let Some((head, next)) = record_at(&bytes, header, &tail, broken) else {
            return Ok((found, tail));
        };
        if next.offset > len {
            return Ok((found, tail));
        }
        let payload = tail.offset + RECORD_HEADER as u64;
        let mut hashing = StreamHash::default();
        let (mut at, end) = (payload, payload + head.payload);
        while at < end {
            let part = usize::try_from(end - at).map_or(READ, |left| left.min(READ));
            let to = buffer.get_mut(..part).unwrap_or_default();
            if log.read_at(to, at)? < part {
                return Ok((found, tail));
            }
            hashing.add(to);
            at += part as u64;
        }
        if hashing.hash() != head.payload_hash {
            return Ok((found, tail));
        }
        tail = next;
        found.push(ScannedRecord { payload, head });
    }
}

/// Returns true if a later record proves that the record at this tail, which is not valid, was
/// durable: it is damaged. A power failure leaves such gaps only among records that were not
/// flushed.
fn is_damaged(log: &dyn File, header: &LogHeader, tail: &LogTail) -> io::Result<bool> {
    let mut buffer = vec![0; READ];
    let mut at = tail.offset.saturating_add(BLOCK as u64);
    loop {
        let there = log.read_at(&mut buffer, at)?;
        let blocks = buffer.get(..there).unwrap_or_default().chunks(BLOCK);
        for (offset, block) in (at..).step_by(BLOCK).zip(blocks) {
            let distance = (offset - tail.offset) / BLOCK as u64;
            if let Some((witness, _)) = RecordHeader::decode(block)
                && witness.epoch == header.epoch
                && witness.flushed() > tail.sequence
                // Each record between has at least a block.
                && distance >= witness.sequence - tail.sequence
            {
                return Ok(true);
            }
        }
        if there < buffer.len() {
            return Ok(false);
        }
        at = at.saturating_add(there as u64);
    }
}

/// The images of a replay: in memory, beyond `cap` in a file, over the pages of the database.
struct ReplayedImages<'a> {
    database: &'a dyn File,
    store: PageStore,
    slots: BTreeMap<u32, PageSlot>,
    spill: OpenSpillFile<'a>,
}

impl PageImages for ReplayedImages<'_> {
    type Error = io::Error;

    fn read(&mut self, number: u32, to: &mut [u8]) -> io::Result<()> {
        match self.slots.get(&number) {
            Some(slot) => self.store.read(*slot, 0, to),
            None => read_page(self.database, number, to),
        }
    }

    fn replace(&mut self, number: u32, page: &[u8]) -> io::Result<()> {
        match self.slots.get(&number) {
            Some(slot) => self.store.overwrite(*slot, page),
            None => {
                let slot = self.store.put(page, self.spill)?;
                self.slots.insert(number, slot);
                Ok(())
            }
        }
    }
}

/// Replays the log's epoch over the database, and flushes it. The header marker, with `lineage`,
/// stays.
pub(crate) fn replay_log(
    database: &dyn File,
    log: &dyn File,
    header: &LogHeader,
    cap: usize,
    spill: OpenSpillFile<'_>,
    broken: BrokenRule,
) -> Result<Replayed, ReplayError> {
    if !header.live {
        return Ok(Replayed::default());
    }
    let page_size = header.page_size as usize;
    let (found, tail) = records(log, header, broken)?;
    if is_damaged(log, header, &tail)? {
        let sequence = tail.sequence;
        return Err(ReplayError::Damaged(format!(
            "it is damaged: record {sequence} was flushed, and is not valid; restore a backup"
        )));
    }
    if found.is_empty() {
        flush_marked(database, header.lineage, broken)?;
        return Ok(Replayed::default());
    }
    let mut recovery = Recovery::new(page_size)?;
    let mut images = ReplayedImages {
        database,
        store: PageStore::new(page_size, cap),
        slots: BTreeMap::new(),
        spill,
    };
    for record in &found {
        let mut payload = PayloadReader::of(log, record)?;
        recovery.apply(&record.head, &mut payload, &mut images)?;
    }
    let recovered = match broken.is(Mutation::SkipImageHash) {
        true => recovery.finish_unchecked(),
        false => recovery.finish(&mut images)?,
    };
    let database_pages = recovered.database_pages;
    images.slots.retain(|number, _| *number <= database_pages);
    let mut page = vec![0; page_size];
    if !broken.is(Mutation::SkipImageHash) && recovered.pages.first() == Some(&1) {
        images.read(1, &mut page)?;
        if !header_marker::is_database(&page) {
            let why = "its first page is not a database's";
            return Err(ReplayError::Damaged(why.to_owned()));
        }
    }
    // A killed process may have left unflushed records. The log must keep durable what the database
    // is about to receive from them.
    if !broken.is(Mutation::ReplayUnflushedLog) {
        log.sync()?;
    }
    for (&number, &slot) in &images.slots {
        images.store.read(slot, 0, &mut page)?;
        if number == 1 {
            header_marker::keep(&mut page, header.lineage);
        }
        let offset = u64::from(number - 1) * page_size as u64;
        database.write_at(&page, offset)?;
    }
    let size = u64::from(database_pages) * page_size as u64;
    if database.len()? != size && !broken.is(Mutation::ReplayWithoutSize) {
        database.set_len(size)?;
    }
    flush_marked(database, header.lineage, broken)?;
    Ok(Replayed {
        records: recovered.records,
        pages: images.slots.len() as u64,
        database_pages: Some(database_pages),
    })
}

/// Flushes the database with its marker. The flush of an earlier marker may have failed, and the
/// header of the epoch that the marker on the disk refers to is about to be overwritten.
fn flush_marked(database: &dyn File, lineage: [u8; 16], broken: BrokenRule) -> io::Result<()> {
    let mut begin = [0; header_marker::HEADER];
    if database.read_at(&mut begin, 0)? == begin.len() && header_marker::is_database(&begin) {
        header_marker::keep(&mut begin, lineage);
        database.write_at(&begin, 0)?;
    }
    match broken.is(Mutation::ReplayWithoutFlush) {
        true => Ok(()),
        false => database.sync(),
    }
}

/// Reads a page of the database. A missing page was truncated by a checkpoint, and is truncated
/// again or logged whole later; its hash is verified.
fn read_page(database: &dyn File, number: u32, page: &mut [u8]) -> io::Result<()> {
    let offset = u64::from(number - 1) * page.len() as u64;
    let there = database.read_at(page, offset)?;
    page.get_mut(there..).unwrap_or_default().fill(0);
    header_marker::hide(page, offset);
    Ok(())
}

impl From<RecoveryError<io::Error>> for ReplayError {
    fn from(error: RecoveryError<io::Error>) -> Self {
        match error {
            RecoveryError::Payload(error) | RecoveryError::Pages(error) => Self::Io(error),
            other => Self::Damaged(other.to_string()),
        }
    }
}
