//! [`Recovery`]: the final images of pages after a number of records; [`recover`]: from their bytes.
//!
//! Recovery is idempotent, also over pages that already have a part of the changes: each byte that a
//! record covers ends with the contents of the last record that covers it, and all other bytes are
//! equal in all images since the start of the epoch. So only the final images match the hashes in
//! the records, and all are compared before one is used.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::codec::{DecodeError, PageHeader, PayloadSource, is_page_size};
use crate::compression::decompress_payload;
use crate::hash;
use crate::record::{RECORD_HEADER, RecordHeader};

/// The pages of a database, with the images of the records so far over them.
pub trait PageImages {
    /// The error of reading or keeping a page.
    type Error;

    /// Reads the newest image of a page. A page that does not exist is zeros.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    fn read(&mut self, number: u32, to: &mut [u8]) -> Result<(), Self::Error>;

    /// Replaces the newest image of a page.
    ///
    /// # Errors
    ///
    /// It cannot be kept.
    fn replace(&mut self, number: u32, page: &[u8]) -> Result<(), Self::Error>;
}

/// The reason why records cannot be applied.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError<E> {
    /// A record is damaged.
    #[error("record {0} is damaged")]
    Damaged(u64),
    /// A record is missing, or belongs to another database.
    #[error("record {0} does not follow the record before it")]
    NotChained(u64),
    /// A page differs from the one that the records were written against.
    #[error("page {0} of the database is not what it was logged against")]
    WrongPage(u32),
    /// The size is no page size, or the last record says that the database has no pages.
    #[error("there is no size of a page, or of the database")]
    NoSize,
    /// A record's payload cannot be read.
    #[error(transparent)]
    Payload(std::io::Error),
    /// A page cannot be read or kept.
    #[error(transparent)]
    Pages(E),
}

/// The state after some records.
#[derive(Debug)]
pub struct Recovery {
    page: Vec<u8>,
    /// The hash of each page after the last record that has it.
    expected: BTreeMap<u32, u64>,
    database_pages: u32,
    records: u64,
}

impl Recovery {
    /// Begins with pages of this size, in bytes.
    ///
    /// # Errors
    ///
    /// [`RecoveryError::NoSize`].
    pub fn new<E>(page_size: usize) -> Result<Self, RecoveryError<E>> {
        if !is_page_size(page_size) {
            return Err(RecoveryError::NoSize);
        }
        Ok(Self {
            page: vec![0; page_size],
            expected: BTreeMap::new(),
            database_pages: 0,
            records: 0,
        })
    }

    /// Applies a record: its header, and its payload, decompressed.
    ///
    /// # Errors
    ///
    /// The payload is damaged or cannot be read, or a page cannot be read or kept.
    pub fn apply<I: PageImages>(
        &mut self,
        header: &RecordHeader,
        payload: &mut impl PayloadSource,
        images: &mut I,
    ) -> Result<(), RecoveryError<I::Error>> {
        let not_decoded = |error| match error {
            DecodeError::Damaged => RecoveryError::Damaged(header.sequence),
            DecodeError::Io(error) => RecoveryError::Payload(error),
        };
        for _ in 0..header.pages {
            let page = PageHeader::read(payload).map_err(not_decoded)?;
            self.expected.insert(page.number, page.hash);
            if page.is_in_place() {
                continue;
            }
            if !page.on_zeros {
                images
                    .read(page.number, &mut self.page)
                    .map_err(RecoveryError::Pages)?;
            }
            page.apply(payload, &mut self.page).map_err(not_decoded)?;
            images
                .replace(page.number, &self.page)
                .map_err(RecoveryError::Pages)?;
        }
        self.database_pages = header.database_pages;
        self.records += 1;
        Ok(())
    }

    /// Ends it: compares all images with the hashes in the records, except those beyond the end of
    /// the database.
    ///
    /// # Errors
    ///
    /// [`RecoveryError::NoSize`], [`RecoveryError::WrongPage`], or a page cannot be read. No image may be used then.
    pub fn finish<I: PageImages>(
        mut self,
        images: &mut I,
    ) -> Result<Recovered, RecoveryError<I::Error>> {
        // Of the last record: an earlier one says nothing about the result.
        if self.records > 0 && self.database_pages == 0 {
            return Err(RecoveryError::NoSize);
        }
        for (&number, &expected) in self.expected.range(..=self.database_pages) {
            images
                .read(number, &mut self.page)
                .map_err(RecoveryError::Pages)?;
            if hash(&self.page) != expected {
                return Err(RecoveryError::WrongPage(number));
            }
        }
        Ok(self.finish_unchecked())
    }

    /// Ends it without comparing, for the crash laboratory.
    #[doc(hidden)]
    pub fn finish_unchecked(self) -> Recovered {
        let inside = self.expected.range(..=self.database_pages);
        Recovered {
            records: self.records,
            pages: inside.map(|(number, _)| *number).collect(),
            database_pages: self.database_pages,
        }
    }
}

/// The result of a recovery.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recovered {
    /// The number of records.
    pub records: u64,
    /// The pages that they have, in order: all others are as they were.
    pub pages: Vec<u32>,
    /// The size of the database in pages; 0 without a record.
    pub database_pages: u32,
}

/// Applies records from their bytes, as an observer of commits received them, in order. A first record
/// may be any; each other one follows the one before, or begins a later epoch.
///
/// # Errors
///
/// [`RecoveryError`]. No image may be used then.
pub fn recover<'a, I: PageImages>(
    page_size: usize,
    records: impl IntoIterator<Item = &'a [u8]>,
    images: &mut I,
) -> Result<Recovered, RecoveryError<I::Error>> {
    let mut recovery = Recovery::new(page_size)?;
    let mut before: Option<(RecordHeader, u64)> = None;
    for bytes in records {
        let place = before.map_or(0, |(header, _)| header.sequence.saturating_add(1));
        let damaged = || RecoveryError::Damaged(place);
        let (header, own) = RecordHeader::decode(bytes).ok_or_else(damaged)?;
        if let Some((last, hash)) = before {
            let follows = header.epoch == last.epoch
                && header.sequence == place
                && header.predecessor == hash;
            let begins = header.epoch > last.epoch && header.sequence == 0;
            if !follows && !begins {
                return Err(RecoveryError::NotChained(header.sequence));
            }
        }
        let payload = bytes.get(RECORD_HEADER..).unwrap_or_default();
        if payload.len() as u64 != header.payload || hash(payload) != header.payload_hash {
            return Err(RecoveryError::Damaged(header.sequence));
        }
        let payload = match header.compressed {
            true => decompress_payload(payload).map(Cow::Owned),
            false => Some(Cow::Borrowed(payload)),
        };
        let payload = payload.ok_or_else(damaged)?;
        recovery.apply(&header, &mut &*payload, images)?;
        before = Some((header, own));
    }
    recovery.finish(images)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use std::collections::HashMap;
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;
    use crate::codec::PageEncoder;
    use crate::compression::{CompressionTable, compress_payload};

    const PAGE: usize = 512;

    #[derive(Default, Clone)]
    struct Memory(HashMap<u32, Vec<u8>>);

    impl PageImages for Memory {
        type Error = Infallible;

        fn read(&mut self, number: u32, to: &mut [u8]) -> Result<(), Infallible> {
            match self.0.get(&number) {
                Some(page) => to.copy_from_slice(page),
                None => to.fill(0),
            }
            Ok(())
        }

        fn replace(&mut self, number: u32, page: &[u8]) -> Result<(), Infallible> {
            self.0.insert(number, page.to_vec());
            Ok(())
        }
    }

    /// A writer of records over pages in memory.
    #[derive(Default)]
    struct Log {
        pages: Memory,
        records: Vec<Vec<u8>>,
        epoch: u64,
        sequence: u64,
        predecessor: u64,
    }

    impl Log {
        fn commit(&mut self, writes: &[(u32, u8)], compressed: bool) {
            let mut bytes = vec![0; RECORD_HEADER];
            let mut encoder = PageEncoder::default();
            for &(number, byte) in writes {
                let before = self.pages.0.get(&number).cloned();
                let mut after = before.clone().unwrap_or_else(|| vec![0; PAGE]);
                after[usize::from(byte)..usize::from(byte) + 100].fill(byte);
                encoder.page(&mut bytes, number, before.as_deref(), &after, hash(&after));
                self.pages.0.insert(number, after);
            }
            if compressed {
                let mut shorter = Vec::new();
                let mut table = CompressionTable::default();
                assert!(compress_payload(
                    &bytes[RECORD_HEADER..],
                    &mut shorter,
                    &mut table
                ));
                bytes = shorter;
            }
            let payload = &bytes[RECORD_HEADER..];
            let (header, own) = RecordHeader {
                compressed,
                pages: writes.len() as u32,
                epoch: self.epoch,
                sequence: self.sequence,
                predecessor: self.predecessor,
                payload: payload.len() as u64,
                database_pages: 90,
                unflushed: 0,
                payload_hash: hash(payload),
            }
            .encode();
            bytes[..RECORD_HEADER].copy_from_slice(&header);
            self.records.push(bytes);
            (self.sequence, self.predecessor) = (self.sequence + 1, own);
        }

        fn three() -> Self {
            let mut log = Self::default();
            log.commit(&[(1, 7), (2, 9)], false);
            log.commit(&[(2, 30)], false);
            log.commit(&[(1, 200), (3, 4)], false);
            log
        }

        fn slices(&self) -> Vec<&[u8]> {
            self.records.iter().map(Vec::as_slice).collect()
        }
    }

    fn recovered(records: &[&[u8]]) -> Result<(Memory, Recovered), String> {
        let mut pages = Memory::default();
        match recover(PAGE, records.iter().copied(), &mut pages) {
            Ok(done) => Ok((pages, done)),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn records_give_the_last_images_also_over_later_ones() {
        let mut log = Log::three();
        // A checkpoint begins another epoch.
        (log.epoch, log.sequence, log.predecessor) = (1, 0, 77);
        log.commit(&(1..90).map(|n| (n, 5)).collect::<Vec<_>>(), true);
        let (mut pages, done) = recovered(&log.slices()).unwrap();
        assert_eq!(pages.0, log.pages.0);
        assert_eq!((done.records, done.database_pages), (4, 90));
        assert_eq!(done.pages, (1..90).collect::<Vec<_>>());
        recover(PAGE, log.slices(), &mut pages).unwrap();
        assert_eq!(pages.0, log.pages.0);
    }

    #[test]
    fn lost_swapped_and_foreign_records_are_errors() {
        let log = Log::three();
        let all = log.slices();
        let chain = "record 2 does not follow the record before it";
        assert_eq!(recovered(&[all[0], all[2]]).err().as_deref(), Some(chain));
        assert!(recovered(&[all[1], all[0]]).is_err());
        let wrong = "page 1 of the database is not what it was logged against";
        assert_eq!(recovered(&all[1..]).err().as_deref(), Some(wrong));
        let mut other = Log::default();
        other.commit(&[(1, 8)], false);
        assert!(recovered(&[&other.records[0], all[1]]).is_err());
        assert!(matches!(
            recover(500, all, &mut Memory::default()),
            Err(RecoveryError::NoSize)
        ));
    }

    proptest! {
        #[test]
        fn a_changed_byte_is_an_error(record in 0..3_usize, at in any::<u16>(), change in 1..=255_u8) {
            let mut log = Log::three();
            let bytes = &mut log.records[record];
            let at = usize::from(at) % bytes.len();
            bytes[at] ^= change;
            prop_assert!(recovered(&log.slices()).is_err());
        }

        #[test]
        fn any_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(recovered(&[&bytes]).is_err());
        }
    }
}
