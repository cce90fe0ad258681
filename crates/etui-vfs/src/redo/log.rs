//! [`RedoLog`]: the file of the redo log, its epochs and its records.
//!
//! ```text
//! block 0, 1: the header, in the slot of its epoch's parity; the valid one with the higher epoch
//! applies
//!   0  16 bytes  "etui redo log 1\n"
//!  16  u64       epoch
//!  24  16 bytes  lineage: equal to that in the database's header marker
//!  40  u32       page size
//!  44  u32       1 while the epoch's records apply, 0 after the log was ended
//!  48  u64       seed: the predecessor of the epoch's first record
//!  56  u32       process that wrote it, for messages
//!  60  u32       block size: 4096
//!  64  u64       hash of the bytes before
//!
//! from block 2: records, each on blocks of its own: see etui_redo::record
//! ```
//!
//! Numbers are little-endian.

use std::io;
use std::path::Path;
use std::sync::Arc;

use etui_redo::compression::{CompressionTable, PART, compress_payload, is_worth_compressing};
use etui_redo::record::{RECORD_HEADER, RecordHeader};
use etui_redo::{BLOCK, StreamHash, hash, u32_at, u64_at};

use crate::counters::{AtomicCounters, CountedFile, add};
use crate::device::{Access, File, Lock, Platform, Role};
use crate::mutation::{BrokenRule, Mutation};

const MAGIC: &[u8; 16] = b"etui redo log 1\n";
const LIVE: u32 = 1;

/// An upper limit of epochs that no log reaches; a higher one is damage. There is always a next
/// epoch below it.
const EPOCHS: u64 = 1 << 63;

/// The offset of the first record.
pub(crate) const RECORDS: u64 = 2 * BLOCK as u64;

/// Before a record of at most this size the log grows by a step, so that the next commits find
/// written blocks. A larger record extends the log itself: writing its blocks in advance would
/// write them twice, and the metadata of its flush is small in comparison.
const SMALL: u64 = 64 << 10;

/// The smallest resting size of a log.
pub(crate) const SMALLEST: u64 = 4 * BLOCK as u64;

/// The header of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogHeader {
    pub epoch: u64,
    pub lineage: [u8; 16],
    pub page_size: u32,
    /// The epoch's records apply.
    pub live: bool,
    pub process: u32,
}

impl LogHeader {
    fn seed(&self) -> u64 {
        let mut bytes = [0; 24];
        bytes[..16].copy_from_slice(&self.lineage);
        bytes[16..].copy_from_slice(&self.epoch.to_le_bytes());
        hash(&bytes)
    }

    fn encode(&self) -> Vec<u8> {
        let mut block = Vec::with_capacity(BLOCK);
        block.extend_from_slice(MAGIC);
        block.extend_from_slice(&self.epoch.to_le_bytes());
        block.extend_from_slice(&self.lineage);
        block.extend_from_slice(&self.page_size.to_le_bytes());
        block.extend_from_slice(&(if self.live { LIVE } else { 0 }).to_le_bytes());
        block.extend_from_slice(&self.seed().to_le_bytes());
        block.extend_from_slice(&self.process.to_le_bytes());
        block.extend_from_slice(&(BLOCK as u32).to_le_bytes());
        block.extend_from_slice(&hash(&block).to_le_bytes());
        block.resize(BLOCK, 0);
        block
    }

    fn decode(block: &[u8]) -> Option<Self> {
        let header = block.get(..64)?;
        let lineage = header.get(24..40)?.try_into().ok()?;
        let valid = header.starts_with(MAGIC)
            && u64_at(block, 64) == hash(header)
            && u32_at(header, 60) == BLOCK as u32
            && u64_at(header, 16) < EPOCHS;
        valid.then(|| Self {
            epoch: u64_at(header, 16),
            lineage,
            page_size: u32_at(header, 40),
            live: u32_at(header, 44) == LIVE,
            process: u32_at(header, 56),
        })
    }

    /// Returns the valid header, if the file has one.
    pub fn read(file: &dyn File) -> io::Result<Option<Self>> {
        let mut newest: Option<Self> = None;
        for slot in 0..2 {
            let mut block = [0; BLOCK];
            file.read_at(&mut block, slot * BLOCK as u64)?;
            if let Some(header) = Self::decode(&block)
                && newest.is_none_or(|newest| newest.epoch < header.epoch)
            {
                newest = Some(header);
            }
        }
        Ok(newest)
    }
}

/// The position of the next record, and its predecessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogTail {
    pub offset: u64,
    pub sequence: u64,
    pub predecessor: u64,
}

impl LogTail {
    /// Returns the tail of an epoch without records.
    pub fn of_epoch(header: &LogHeader) -> Self {
        Self {
            offset: RECORDS,
            sequence: 0,
            predecessor: header.seed(),
        }
    }
}

/// Decodes a record's header if it belongs to the record at this tail, and returns the tail after it.
pub(crate) fn record_at(
    bytes: &[u8],
    header: &LogHeader,
    tail: &LogTail,
    broken: BrokenRule,
) -> Option<(RecordHeader, LogTail)> {
    let (record, own) = RecordHeader::decode(bytes)?;
    let chained = record.predecessor == tail.predecessor || broken.is(Mutation::ChainBySequence);
    let is_next = record.epoch == header.epoch && record.sequence == tail.sequence && chained;
    let next = LogTail {
        offset: tail.offset.checked_add(record.size_of_blocks()?)?,
        sequence: tail.sequence.checked_add(1)?,
        predecessor: own,
    };
    is_next.then_some((record, next))
}

/// The sizes of a log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogSizes {
    /// The resting size: written once, then reused.
    pub resting: u64,
    /// The step by which it grows beyond that.
    pub step: u64,
}

/// A record that is being written.
#[derive(Debug, Default)]
struct UnfinishedRecord {
    /// Bytes not written yet; they begin with the record's header until a part is written.
    bytes: Vec<u8>,
    /// The first block, once a part is written: it is written last, with the header.
    first: Vec<u8>,
    written: u64,
    hashing: StreamHash,
    /// Zeros for the rest of the last block: copying them is faster than creating them.
    fill: Vec<u8>,
    /// A buffer for the compressed record.
    compressed: Vec<u8>,
    table: CompressionTable,
}

/// An open redo log, locked by this process.
#[derive(Debug)]
pub(crate) struct RedoLog {
    file: CountedFile,
    header: LogHeader,
    /// The length up to which blocks have been written.
    len: u64,
    sizes: LogSizes,
    unfinished: UnfinishedRecord,
    /// The file was created, and its name may not be durable.
    is_new: bool,
    /// There are writes since the last flush.
    dirty: bool,
    /// The offset of the first unflushed record.
    unflushed: Option<u64>,
    /// The number of records in this epoch, and of those that are durable.
    written: u64,
    flushed: u64,
    /// The offset of the first record of a failed flush, whatever was flushed since.
    doubtful: Option<u64>,
    counting: Arc<AtomicCounters>,
    broken: BrokenRule,
}

impl RedoLog {
    /// Opens or creates a log, and locks it. `None`: another process has it locked.
    pub fn open(
        platform: &dyn Platform,
        path: &Path,
        access: Access,
        sizes: LogSizes,
        counting: &Arc<AtomicCounters>,
        broken: BrokenRule,
    ) -> io::Result<Option<Self>> {
        let existing = Access {
            create: false,
            ..access
        };
        let opened = platform.open(Some(path), Role::Redo, existing);
        let (file, is_new) = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound && access.create => {
                (platform.open(Some(path), Role::Redo, access)?, true)
            }
            opened => (opened?, false),
        };
        let file = CountedFile::new(file, Role::Redo, counting);
        if !file.lock(Lock::Exclusive)? {
            return Ok(None);
        }
        let header = LogHeader::read(&file)?.unwrap_or(LogHeader {
            epoch: 0,
            lineage: [0; 16],
            page_size: 0,
            live: false,
            process: 0,
        });
        Ok(Some(Self {
            len: file.len()?,
            file,
            is_new,
            header,
            sizes,
            unfinished: UnfinishedRecord {
                fill: vec![0; BLOCK],
                ..UnfinishedRecord::default()
            },
            dirty: false,
            unflushed: None,
            written: 0,
            flushed: 0,
            doubtful: None,
            counting: Arc::clone(counting),
            broken,
        }))
    }

    pub fn header(&self) -> &LogHeader {
        &self.header
    }

    /// Returns true if the file was created: its name may not be durable.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    pub fn file(&self) -> &dyn File {
        &self.file
    }

    /// Makes the header of this lineage current, if there is one. That is the newest header, or the
    /// one before: a recovery or the next session begins its epoch with a lineage of its own before
    /// it sets the database's marker, and writes no record until the marker is durable. The next
    /// epoch then takes the place of the newest one.
    pub fn select_lineage(&mut self, lineage: [u8; 16]) -> io::Result<bool> {
        let header = &self.header;
        if header.lineage == lineage {
            return Ok(true);
        }
        let mut before = [0; BLOCK];
        let slot = (header.epoch + 1) % 2;
        self.file.read_at(&mut before, slot * BLOCK as u64)?;
        let before = LogHeader::decode(&before)
            .filter(|before| before.lineage == lineage && before.epoch + 1 == header.epoch);
        let mut bytes = [0; RECORD_HEADER];
        self.file.read_at(&mut bytes, RECORDS)?;
        let record = record_at(&bytes, header, &LogTail::of_epoch(header), self.broken);
        let selected = before.filter(|_| record.is_none());
        self.header = selected.unwrap_or(self.header);
        Ok(selected.is_some())
    }

    /// Writes the blocks up to the resting size. The flush of the next epoch makes them durable. On
    /// a disk without space for them the log rests at a smaller size, and leaves half of the space
    /// that it found to the database.
    pub fn preallocate(&mut self) -> io::Result<()> {
        let had = self.len;
        let wanted = self.sizes.resting;
        while let Err(error) = self.fill_to(self.sizes.resting) {
            self.cut_back(had);
            if error.kind() != io::ErrorKind::StorageFull || self.sizes.resting <= SMALLEST {
                return Err(error);
            }
            self.sizes.resting = (self.sizes.resting / 4).max(SMALLEST);
        }
        if self.sizes.resting < wanted {
            self.sizes.resting = (self.sizes.resting / 2).max(SMALLEST);
            self.cut_back(had.max(self.sizes.resting));
        }
        Ok(())
    }

    /// Gives back blocks that were written in vain, on a full disk. If that fails, they are written
    /// again when they are needed.
    fn cut_back(&mut self, len: u64) {
        let _ = self.file.set_len(len);
        self.len = len;
    }

    /// Gives back the blocks of a record that the disk had no space for.
    pub fn discard_unfinished(&mut self, tail: &LogTail) {
        let kept = self.sizes.resting.max(tail.offset);
        if self.file.len().is_ok_and(|len| len > kept) {
            self.cut_back(kept);
        }
    }

    fn fill_to(&mut self, len: u64) -> io::Result<()> {
        let zeros = vec![0; 1 << 18];
        while self.len < len {
            let part = usize::try_from(len - self.len).map_or(zeros.len(), |n| n.min(zeros.len()));
            self.file
                .write_at(zeros.get(..part).unwrap_or_default(), self.len)?;
            self.len += part as u64;
        }
        self.dirty = true;
        Ok(())
    }

    /// Opens the next epoch, durably, and returns the log to its resting size; `live`: its records
    /// apply. Records of earlier epochs are invalid from then on.
    pub fn next_epoch(
        &mut self,
        lineage: [u8; 16],
        page_size: u32,
        live: bool,
    ) -> io::Result<LogTail> {
        let tail = self.open_epoch(lineage, page_size, live)?;
        self.return_to_rest()?;
        Ok(tail)
    }

    /// Opens the next epoch like [`RedoLog::next_epoch`], and keeps the records of the one before,
    /// which are valid until the marker has the new lineage.
    pub fn open_epoch(
        &mut self,
        lineage: [u8; 16],
        page_size: u32,
        live: bool,
    ) -> io::Result<LogTail> {
        let epoch = self.header.epoch.checked_add(1);
        let header = LogHeader {
            epoch: epoch.ok_or_else(|| io::Error::other("its log has had too many epochs"))?,
            lineage,
            page_size,
            live,
            process: std::process::id(),
        };
        let slot = if self.broken.is(Mutation::OneHeaderSlot) {
            0
        } else {
            header.epoch % 2
        };
        let mut written = self.file.write_at(&header.encode(), slot * BLOCK as u64);
        if !self.broken.is(Mutation::EpochWithoutFlush) {
            written = written.and_then(|()| self.sync());
        }
        if let Err(error) = written {
            // The header may or may not be durable. The other slot's header is: it remains valid,
            // and the next attempt writes to this slot again.
            let _ = self.file.write_at(&[0; BLOCK], slot * BLOCK as u64);
            return Err(error);
        }
        self.dirty = false;
        self.header = header;
        (self.written, self.flushed) = (0, 0);
        add(&self.counting.epochs, 1);
        Ok(LogTail::of_epoch(&header))
    }

    /// Releases blocks of the previous epoch.
    pub fn return_to_rest(&mut self) -> io::Result<()> {
        if self.len > self.sizes.resting {
            self.file.set_len(self.sizes.resting)?;
            self.len = self.sizes.resting;
        }
        Ok(())
    }

    /// Begins a record; its payload is appended to [`RedoLog::payload`].
    pub fn begin_record(&mut self) {
        let unfinished = &mut self.unfinished;
        unfinished.bytes.clear();
        unfinished.bytes.extend_from_slice(&[0; RECORD_HEADER]);
        unfinished.first.clear();
        unfinished.written = 0;
    }

    /// Returns the buffer for the next pages of the current record.
    pub fn payload(&mut self) -> &mut Vec<u8> {
        &mut self.unfinished.bytes
    }

    /// Writes the complete parts of a large record, which needs no memory of its size; called after each
    /// page.
    pub fn write_full_parts(&mut self, tail: &LogTail) -> io::Result<()> {
        if self.unfinished.bytes.len() < PART {
            return Ok(());
        }
        let UnfinishedRecord {
            bytes,
            first,
            written,
            hashing,
            ..
        } = &mut self.unfinished;
        self.unflushed.get_or_insert(tail.offset);
        self.written = self.written.min(tail.sequence);
        self.flushed = self.flushed.min(tail.sequence);
        let whole = bytes.len() - bytes.len() % BLOCK;
        let mut begin = 0;
        if *written == 0 {
            *hashing = StreamHash::default();
            first.extend_from_slice(bytes.get(..BLOCK).unwrap_or_default());
            begin = BLOCK;
            hashing.add(bytes.get(RECORD_HEADER..whole).unwrap_or_default());
        } else {
            hashing.add(bytes.get(..whole).unwrap_or_default());
        }
        let part = bytes.get(begin..whole).unwrap_or_default();
        let at = tail.offset + *written + begin as u64;
        self.file.write_at(part, at)?;
        self.len = self.len.max(at + part.len() as u64);
        self.dirty = true;
        *written += whole as u64;
        bytes.drain(..whole);
        Ok(())
    }

    /// Writes the record, without a flush. Returns the tail after it.
    pub fn finish(
        &mut self,
        tail: &LogTail,
        pages: u32,
        database_pages: u32,
    ) -> io::Result<LogTail> {
        self.forget_records_from(tail);
        let large = self.unfinished.written > 0;
        let mut compressed = false;
        let payload_hash;
        let payload;
        {
            let unfinished = &mut self.unfinished;
            if large {
                let bytes = &unfinished.bytes;
                payload = unfinished.written + bytes.len() as u64 - RECORD_HEADER as u64;
                unfinished.hashing.add(bytes);
                payload_hash = unfinished.hashing.hash();
            } else {
                if is_worth_compressing(unfinished.bytes.len().div_ceil(BLOCK)) {
                    let bytes = unfinished.bytes.get(RECORD_HEADER..).unwrap_or_default();
                    if compress_payload(bytes, &mut unfinished.compressed, &mut unfinished.table) {
                        std::mem::swap(&mut unfinished.bytes, &mut unfinished.compressed);
                        compressed = true;
                    }
                }
                let bytes = &unfinished.bytes;
                payload = (bytes.len() - RECORD_HEADER) as u64;
                payload_hash = hash(bytes.get(RECORD_HEADER..).unwrap_or_default());
            }
        }
        let (header, own) = RecordHeader {
            compressed,
            pages,
            epoch: self.header.epoch,
            sequence: tail.sequence,
            predecessor: tail.predecessor,
            payload,
            database_pages,
            unflushed: u32::try_from(tail.sequence - self.flushed).unwrap_or(u32::MAX),
            payload_hash,
        }
        .encode();
        let bytes = &mut self.unfinished.bytes;
        let rest = bytes.len().next_multiple_of(BLOCK) - bytes.len();
        bytes.extend_from_slice(self.unfinished.fill.get(..rest).unwrap_or_default());
        let begin = if large {
            &mut self.unfinished.first
        } else {
            &mut *bytes
        };
        if let Some(to) = begin.get_mut(..RECORD_HEADER) {
            to.copy_from_slice(&header);
        }
        let next = LogTail {
            offset: tail.offset + self.unfinished.written + self.unfinished.bytes.len() as u64,
            sequence: tail.sequence + 1,
            predecessor: own,
        };
        if next.offset - tail.offset <= SMALL {
            self.grow_to(next.offset)?;
        }
        self.dirty = true;
        self.unflushed.get_or_insert(tail.offset);
        if large {
            let rest = tail.offset + self.unfinished.written;
            self.file.write_at(&self.unfinished.bytes, rest)?;
            self.file.write_at(&self.unfinished.first, tail.offset)?;
        } else {
            self.file.write_at(&self.unfinished.bytes, tail.offset)?;
        }
        self.len = self.len.max(next.offset);
        self.written = next.sequence;
        add(&self.counting.records, 1);
        add(&self.counting.bytes_logged, payload + RECORD_HEADER as u64);
        add(
            &self.counting.blocks,
            (next.offset - tail.offset) / BLOCK as u64,
        );
        Ok(next)
    }

    /// Reads the record at this tail: its header and payload.
    pub fn read_record(&self, tail: &LogTail) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; RECORD_HEADER];
        self.file.read_at(&mut bytes, tail.offset)?;
        let record = record_at(&bytes, &self.header, tail, self.broken);
        let (record, _) = record.ok_or(io::ErrorKind::InvalidData)?;
        let payload = usize::try_from(record.payload).map_err(io::Error::other)?;
        bytes.resize(RECORD_HEADER + payload, 0);
        match self.file.read_at(&mut bytes, tail.offset)? == bytes.len() {
            true => Ok(bytes),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Extends the log to at least this length, with written and flushed blocks: the flush of a
    /// commit then carries no file-system metadata.
    fn grow_to(&mut self, len: u64) -> io::Result<()> {
        if len <= self.len {
            return Ok(());
        }
        let (had, step) = (self.len, self.sizes.step.max(BLOCK as u64));
        let mut grown = self.fill_to(len.checked_next_multiple_of(step).unwrap_or(len));
        if grown.is_err() {
            // Perhaps there is space for this record.
            self.cut_back(had);
            grown = self.fill_to(len);
        }
        if grown.is_err() {
            self.cut_back(had);
        }
        grown?;
        self.sync()
    }

    fn sync(&mut self) -> io::Result<()> {
        if let Err(error) = self.file.sync() {
            self.doubtful = self.unflushed();
            return Err(error);
        }
        self.dirty = false;
        self.unflushed = None;
        self.flushed = self.written;
        Ok(())
    }

    /// Records that the record at this tail is about to be overwritten or destroyed.
    fn forget_records_from(&mut self, tail: &LogTail) {
        self.written = self.written.min(tail.sequence);
        self.flushed = self.flushed.min(tail.sequence);
    }

    /// Returns the offset of the first unflushed record. After a failed flush everything from there
    /// is in doubt, whatever a later flush returns.
    pub fn unflushed(&self) -> Option<u64> {
        let both = [self.unflushed, self.doubtful];
        both.into_iter().flatten().min()
    }

    /// Reads and rewrites everything that is in doubt, so that the next flush covers it.
    pub fn rewrite_from(&mut self, from: u64) -> io::Result<()> {
        let mut bytes = vec![0; 1 << 18];
        let mut at = from;
        self.dirty = true;
        self.unflushed = Some(from);
        self.doubtful = None;
        while at < self.len {
            let there = self.file.read_at(&mut bytes, at)?;
            let Some(part) = bytes.get(..there).filter(|part| !part.is_empty()) else {
                break;
            };
            self.file.write_at(part, at)?;
            at += there as u64;
        }
        Ok(())
    }

    /// Destroys the record at this tail, durably.
    pub fn destroy_record(&mut self, tail: &LogTail) -> io::Result<()> {
        self.forget_records_from(tail);
        // There is no record beyond the end: a full disk had no room for it.
        if tail.offset >= self.file.len()? {
            return Ok(());
        }
        self.file.write_at(&[0; BLOCK], tail.offset)?;
        self.sync()?;
        add(&self.counting.unpublished, 1);
        Ok(())
    }

    /// Flushes the writes since the last flush, if any.
    pub fn flush(&mut self) -> io::Result<()> {
        match self.dirty {
            true => self.sync(),
            false => Ok(()),
        }
    }
}
