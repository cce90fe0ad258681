//! A second implementation of reading the redo log and the header marker: plain and slow, from the drawing in
//! `docs/src/redo-log.md`. etui-vfs must give an equal result for any bytes.

use std::collections::BTreeMap;

use twox_hash::XxHash3_64;

/// Block size of the log.
pub const BLOCK: usize = 4096;

/// Offset of the first record, and length of a record's head.
pub const RECORDS: usize = 2 * BLOCK;
const HEAD: usize = 64;

/// Larger databases are not created: the log may demand them, but they exceed the memory of this test.
const MOST: u64 = 1 << 24;

const MARK: u8 = 0xe7;

/// The result of opening a database, reading it and closing it.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// An error, without a change.
    Refused,
    /// These are its bytes.
    Is(Vec<u8>),
    /// Too large for a test.
    TooMuch,
}

/// Hash of all parts of the log.
pub fn hash(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("of this length")
}

pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(number(bytes, at))
}

pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(number(bytes, at))
}

/// The current header of the log.
struct Header {
    epoch: u64,
    lineage: [u8; 16],
    page_size: u32,
    live: bool,
}

impl Header {
    /// Returns the valid headers, the current one first.
    fn read(log: &[u8]) -> Vec<Self> {
        let slots = log.chunks(BLOCK).take(2).filter(|block| block.len() >= 72);
        let valid = slots.filter(|block| {
            block.starts_with(b"etui redo log 1\n")
                && u64_at(block, 64) == hash(&block[..64])
                && u32_at(block, 60) as usize == BLOCK
                && u64_at(block, 16) < 1 << 63
        });
        let mut all: Vec<_> = valid
            .map(|block| Self {
                epoch: u64_at(block, 16),
                lineage: number(block, 24),
                page_size: u32_at(block, 40),
                live: u32_at(block, 44) == 1,
            })
            .collect();
        // Of two with one epoch the first is current.
        all.sort_by_key(|header| std::cmp::Reverse(header.epoch));
        all
    }

    /// Returns the header of a lineage: the newest one, or the one before if the newest has no
    /// record.
    fn of_lineage<'a>(all: &'a [Self], lineage: [u8; 16], log: &[u8]) -> Option<&'a Self> {
        match all {
            [header, ..] if header.lineage == lineage => Some(header),
            [header, before]
                if before.lineage == lineage
                    && before.epoch + 1 == header.epoch
                    && !is_head(log, RECORDS, header, 0, header.seed()) =>
            {
                Some(before)
            }
            _ => None,
        }
    }

    fn seed(&self) -> u64 {
        seed(self.lineage, self.epoch)
    }
}

/// Returns the predecessor of an epoch's first record.
pub fn seed(lineage: [u8; 16], epoch: u64) -> u64 {
    hash(&[&lineage[..], &epoch.to_le_bytes()].concat())
}

/// Returns true if the head of the record that follows a hash is at this offset.
fn is_head(log: &[u8], at: usize, header: &Header, sequence: u64, predecessor: u64) -> bool {
    head_at(log, at, header)
        .is_some_and(|head| u64_at(head, 16) == sequence && u64_at(head, 24) == predecessor)
}

/// Returns the head of any record of the epoch at this offset.
fn head_at<'a>(log: &'a [u8], at: usize, header: &Header) -> Option<&'a [u8]> {
    let head = log.get(at..)?.get(..HEAD)?;
    let valid = (head.starts_with(b"eRec") || head.starts_with(b"eLz4"))
        && u64_at(head, 56) == hash(&head[..56])
        && u64_at(head, 8) == header.epoch;
    valid.then_some(head)
}

/// Returns true if a record after this offset proves that the record there, of this sequence, was
/// flushed.
fn was_flushed(log: &[u8], at: usize, header: &Header, sequence: u64) -> bool {
    let later = (at..log.len()).step_by(BLOCK).enumerate().skip(1);
    later.into_iter().any(|(blocks, at)| {
        head_at(log, at, header).is_some_and(|head| {
            let own = u64_at(head, 16);
            let flushed = own.saturating_sub(u64::from(u32_at(head, 44)));
            flushed > sequence && own - sequence <= blocks as u64
        })
    })
}

/// The record at an offset, if it follows the given hash.
struct Record<'a> {
    pages: u32,
    database_pages: u32,
    payload: &'a [u8],
    compressed: bool,
    hash: u64,
    next: usize,
}

impl<'a> Record<'a> {
    fn read(
        log: &'a [u8],
        at: usize,
        header: &Header,
        sequence: u64,
        predecessor: u64,
    ) -> Option<Self> {
        let head = log.get(at..)?.get(..HEAD)?;
        let payload = usize::try_from(u64_at(head, 32)).ok()?;
        let begin = at + HEAD;
        let next = begin
            .checked_add(payload)?
            .checked_next_multiple_of(BLOCK)?;
        let record = Self {
            pages: u32_at(head, 4),
            database_pages: u32_at(head, 40),
            payload: log.get(begin..begin.checked_add(payload)?)?,
            compressed: head.starts_with(b"eLz4"),
            hash: u64_at(head, 56),
            next,
        };
        let valid = is_head(log, at, header, sequence, predecessor)
            && u64_at(head, 48) == hash(record.payload)
            && next <= log.len();
        valid.then_some(record)
    }
}

/// Decompresses a payload: its length, then one block of LZ4 (lz4_Block_format.md).
pub fn decompressed(payload: &[u8]) -> Option<Vec<u8>> {
    let len = u32_at(payload.get(..4)?, 0) as usize;
    // One MiB, and the page that exceeds it.
    if len > (1 << 20) + (2 << 16) {
        return None;
    }
    let mut front = Front {
        all: payload,
        at: 4,
    };
    let mut out = Vec::new();
    loop {
        let token = front.take(1)?[0];
        let literals = front.length(token >> 4)?;
        out.extend_from_slice(front.take(literals)?);
        if front.at == payload.len() {
            return (out.len() == len).then_some(out);
        }
        let offset = usize::from(u16::from_le_bytes(front.take(2)?.try_into().expect("two")));
        let matched = front.length(token & 15)? + 4;
        if offset == 0 || offset > out.len() || out.len() + matched > len {
            return None;
        }
        for _ in 0..matched {
            out.push(out[out.len() - offset]);
        }
    }
}

/// Bytes that are read from the front.
struct Front<'a> {
    all: &'a [u8],
    at: usize,
}

impl Front<'_> {
    fn take(&mut self, len: usize) -> Option<&[u8]> {
        let taken = self.all.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
        Some(taken)
    }

    /// A length of LZ4: four bits, or in following bytes.
    fn length(&mut self, bits: u8) -> Option<usize> {
        let mut length = usize::from(bits);
        if bits == 15 {
            loop {
                let byte = self.take(1)?[0];
                length += usize::from(byte);
                if byte < 255 {
                    break;
                }
            }
        }
        Some(length)
    }

    fn varint(&mut self) -> Option<u32> {
        let mut all = 0_u64;
        for n in 0..5 {
            let byte = self.take(1)?[0];
            all |= u64::from(byte & 0x7f) << (7 * n);
            if byte < 0x80 {
                return u32::try_from(all).ok();
            }
        }
        None
    }
}

/// Pages as the log produces them, each with its recorded hash.
#[derive(Default)]
pub struct Pages(BTreeMap<u32, (Vec<u8>, u64)>);

impl Pages {
    /// Applies a record's pages. `seal` is called for each with the offset of its hash and with
    /// its image.
    pub fn apply(
        &mut self,
        payload: &[u8],
        pages: u32,
        page_size: usize,
        database: &[u8],
        mut seal: impl FnMut(usize, u64),
    ) -> Option<()> {
        let mut front = Front {
            all: payload,
            at: 0,
        };
        for _ in 0..pages {
            let page = front.varint()?;
            let ranges = front.varint()?;
            let hash_at = front.at;
            let told = u64::from_le_bytes(front.take(8)?.try_into().expect("eight"));
            if page == 0 {
                return None;
            }
            let known = self.0.get(&page).map(|(image, _)| image.clone());
            let mut image = match known {
                _ if ranges & 1 == 1 => vec![0; page_size],
                Some(image) => image,
                None => page_of(database, page, page_size),
            };
            let mut at = 0_usize;
            for _ in 0..ranges >> 1 {
                at = at.checked_add(front.varint()? as usize)?;
                let len = front.varint()? as usize;
                let to = image.get_mut(at..at.checked_add(len)?)?;
                if len == 0 {
                    return None;
                }
                to.copy_from_slice(front.take(len)?);
                at += len;
            }
            seal(hash_at, hash(&image));
            self.0.insert(page, (image, told));
        }
        Some(())
    }
}

/// Returns a page of the database file without the header marker; absent bytes are zeros.
fn page_of(database: &[u8], page: u32, page_size: usize) -> Vec<u8> {
    let begin = u64::from(page - 1) * page_size as u64;
    let there = usize::try_from(begin)
        .ok()
        .and_then(|at| database.get(at..));
    let there = there.unwrap_or_default();
    let mut image = there[..there.len().min(page_size)].to_vec();
    image.resize(page_size, 0);
    if page == 1 {
        for version in &mut image[18..20] {
            if *version == MARK {
                *version = 2;
            }
        }
        if image[88..92] == *b"etui" {
            image[72..92].fill(0);
        }
    }
    image
}

fn is_page_size(size: u32) -> bool {
    size.is_power_of_two() && (512..=65536).contains(&size)
}

/// Returns the database with its header marker cleared.
fn cleared(mut database: Vec<u8>) -> Vec<u8> {
    for version in &mut database[18..20] {
        if *version == MARK {
            *version = 2;
        }
    }
    database[72..92].fill(0);
    let counter = u32::from_be_bytes(number(&database, 24)).wrapping_add(1);
    database[24..28].copy_from_slice(&counter.to_be_bytes());
    database[92..96].copy_from_slice(&counter.to_be_bytes());
    database
}

/// Returns the lineage in a header marker.
pub fn guard(database: &[u8]) -> Option<[u8; 16]> {
    let set = database.len() >= 100
        && database.starts_with(b"SQLite format 3\0")
        && database[18] == MARK
        && database[19] == MARK
        && database[88..92] == *b"etui";
    set.then(|| number(database, 72))
}

/// Returns true if the header marker is incomplete: setting it failed.
pub fn is_torn(database: &[u8]) -> bool {
    database.len() >= 100
        && database.starts_with(b"SQLite format 3\0")
        && guard(database).is_none()
        && (database[18] == MARK || database[19] == MARK)
}

/// Returns the expected result for a database.
pub fn opened(database: &[u8], log: Option<&[u8]>) -> Outcome {
    let Some(lineage) = guard(database) else {
        return Outcome::Is(match is_torn(database) {
            true => cleared(database.to_vec()),
            false => database.to_vec(),
        });
    };
    let Some(log) = log else {
        return Outcome::Refused;
    };
    let headers = Header::read(log);
    let Some(header) = Header::of_lineage(&headers, lineage, log) else {
        return Outcome::Refused;
    };
    if !is_page_size(header.page_size) {
        return Outcome::Refused;
    }
    if !header.live {
        return Outcome::Is(cleared(database.to_vec()));
    }
    replayed(database, log, header)
}

fn replayed(database: &[u8], log: &[u8], header: &Header) -> Outcome {
    let page_size = header.page_size as usize;
    let (mut at, mut sequence, mut predecessor) = (RECORDS, 0, header.seed());
    let mut pages = Pages::default();
    let mut size = None;
    while let Some(record) = Record::read(log, at, header, sequence, predecessor) {
        let payload = match record.compressed {
            true => decompressed(record.payload),
            false => Some(record.payload.to_vec()),
        };
        let done = payload.and_then(|payload| {
            pages.apply(&payload, record.pages, page_size, database, |_, _| {})
        });
        if done.is_none() {
            return Outcome::Refused;
        }
        size = Some(record.database_pages);
        (at, sequence, predecessor) = (record.next, sequence + 1, record.hash);
    }
    if was_flushed(log, at, header, sequence) {
        return Outcome::Refused;
    }
    let Some(size) = size else {
        return Outcome::Is(cleared(database.to_vec()));
    };
    if size == 0 {
        return Outcome::Refused;
    }
    let left = || pages.0.iter().filter(|(page, _)| **page <= size);
    if left().any(|(_, (image, told))| hash(image) != *told) {
        return Outcome::Refused;
    }
    let first = pages.0.get(&1);
    if first.is_some_and(|(image, _)| !image.starts_with(b"SQLite format 3\0")) {
        return Outcome::Refused;
    }
    let bytes = u64::from(size) * page_size as u64;
    if bytes > MOST {
        return Outcome::TooMuch;
    }
    let mut after = database.to_vec();
    after.resize(bytes as usize, 0);
    for (page, (image, _)) in left() {
        let begin = (*page as usize - 1) * page_size;
        after[begin..begin + page_size].copy_from_slice(image);
    }
    Outcome::Is(cleared(after))
}
