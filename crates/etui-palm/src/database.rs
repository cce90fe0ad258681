//! [`Database`]: the container of every Palm file, read and written byte for byte.
//!
//! All numbers are big-endian.
//!
//! ```text
//! header, 78 bytes
//!  0  32s  name, zero-terminated; the rest may be garbage
//! 32  u16  attributes        34  u16  version
//! 36  u32  created           40  u32  modified        44  u32  backed up
//! 48  u32  modification number
//! 52  u32  offset of app info, or 0                   56  u32  offset of sort info, or 0
//! 60  4s   type              64  4s   creator
//! 68  u32  unique-id seed    72  u32  next record list, 0
//! 76  u16  number of records
//!
//! record entry, 8 bytes
//!  0  u32  offset             4  u8   attributes       5  u24  unique id
//!
//! then  gap, app info, sort info, records
//! ```
//!
//! A record continues to the offset of the next one, the last one to the end of the file.

use crate::bytes::ByteReader;
use crate::error::PalmError;

/// Bytes of the header and of a record entry.
const HEADER: usize = 78;
const ENTRY: usize = 8;

/// Limit of records of a database.
pub const MAX_RECORDS: usize = u16::MAX as usize;

/// A Palm database, with everything that its file has.
///
/// ```
/// use etui_palm::{Database, DatabaseRecord};
///
/// let mut memos = Database::new("MemoDB", *b"DATA", *b"memo");
/// memos.records.push(DatabaseRecord { attributes: 0, unique_id: 1, data: b"Hello\0".to_vec() });
/// let (read, problems) = Database::parse(&memos.to_bytes())?;
/// assert_eq!((read, problems), (memos, vec![]));
/// # Ok::<(), etui_palm::PalmError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Database {
    /// The name with its zero byte and the bytes after it.
    pub name: [u8; 32],
    /// Attributes of the database.
    pub attributes: u16,
    /// Version of the application's format.
    pub version: u16,
    /// Time of creation, in seconds since 1904-01-01 of local time, or since 1970-01-01 if the top
    /// bit is clear.
    pub created: u32,
    /// Time of the last modification, as `created`.
    pub modified: u32,
    /// Time of the last backup, as `created`.
    pub backed_up: u32,
    /// Number of modifications.
    pub modification_number: u32,
    /// Its type, `DATA` for the four standard databases.
    pub kind: [u8; 4],
    /// Its creator: the application that it belongs to.
    pub creator: [u8; 4],
    /// Seed of new unique ids.
    pub unique_id_seed: u32,
    /// Offset of a further list of records; 0.
    pub next_record_list: u32,
    /// Bytes between the record entries and the first part after them.
    pub gap: Vec<u8>,
    /// The application's information: its categories, and data of its own.
    pub app_info: Option<Vec<u8>>,
    /// The application's order of records.
    pub sort_info: Option<Vec<u8>>,
    /// The records.
    pub records: Vec<DatabaseRecord>,
}

/// A record of a database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DatabaseRecord {
    /// 0x80 deleted, 0x40 changed since the last synchronization, 0x20 in use, 0x10 secret; the low
    /// four bits are the index of the category.
    pub attributes: u8,
    /// The id that the device gave it, of 24 bits; unique in the database, 0 for none.
    pub unique_id: u32,
    /// Its bytes, in the format of the application.
    pub data: Vec<u8>,
}

impl DatabaseRecord {
    /// Attribute of a record that was deleted and not synchronized yet.
    pub const DELETED: u8 = 0x80;
    /// Attribute of a record that is shown only with a password.
    pub const SECRET: u8 = 0x10;

    /// Returns true if it was deleted.
    pub fn is_deleted(&self) -> bool {
        self.attributes & Self::DELETED != 0
    }

    /// Returns true if it is shown only with a password.
    pub fn is_secret(&self) -> bool {
        self.attributes & Self::SECRET != 0
    }

    /// Returns the index of its category; 0 for none.
    pub fn category(&self) -> usize {
        usize::from(self.attributes & 0x0F)
    }
}

impl Database {
    /// Creates an empty database. A name longer than 31 bytes is shortened.
    pub fn new(name: &str, kind: [u8; 4], creator: [u8; 4]) -> Self {
        let mut padded = [0; 32];
        for (place, byte) in padded.iter_mut().take(31).zip(name.bytes()) {
            *place = byte;
        }
        Self {
            name: padded,
            attributes: 0,
            version: 0,
            created: 0,
            modified: 0,
            backed_up: 0,
            modification_number: 0,
            kind,
            creator,
            unique_id_seed: 0,
            next_record_list: 0,
            gap: vec![0, 0],
            app_info: None,
            sort_info: None,
            records: Vec::new(),
        }
    }

    /// Returns the type and the creator in a file's beginning, if it is long enough.
    pub fn signature(head: &[u8]) -> Option<([u8; 4], [u8; 4])> {
        let mut reader = ByteReader::new(head.get(60..)?);
        Some((reader.array()?, reader.array()?))
    }

    /// Parses a file. Records and parts whose offsets are wrong are reported; a record of them is
    /// kept empty, so that the numbers of the others stay.
    ///
    /// # Errors
    /// [`PalmError::NoHeader`] if the file is shorter than a header.
    pub fn parse(file: &[u8]) -> Result<(Self, Vec<PartProblem>), PalmError> {
        let mut reader = ByteReader::new(file);
        let header = Header::read(&mut reader).ok_or(PalmError::NoHeader { bytes: file.len() })?;
        let mut problems = Vec::new();
        let mut entries = Vec::new();
        for _ in 0..header.records {
            let Some(entry) = Entry::read(&mut reader) else {
                break;
            };
            entries.push(entry);
        }
        if entries.len() < header.records {
            problems.push(PartProblem::MissingEntries {
                found: entries.len(),
                expected: header.records,
            });
        }
        let mut floor = HEADER + entries.len() * ENTRY;
        let first = floor;
        let place = |offset: u32, name: &'static str, problems: &mut Vec<PartProblem>| {
            let offset = usize::try_from(offset).unwrap_or(usize::MAX);
            if offset == 0 {
                return None;
            }
            let is_inside = (first..=file.len()).contains(&offset);
            if !is_inside {
                problems.push(PartProblem::BadOffset { part: name });
            }
            is_inside.then_some(offset)
        };
        let app_info = place(header.app_info, "the app info", &mut problems);
        let sort_info = place(header.sort_info, "the sort info", &mut problems);
        // Offsets never decrease; a record that breaks the order has no extent.
        let mut starts: Vec<Option<usize>> = Vec::with_capacity(entries.len());
        for (at, entry) in entries.iter().enumerate() {
            let start = usize::try_from(entry.offset).unwrap_or(usize::MAX);
            let is_ordered = (floor..=file.len()).contains(&start);
            if is_ordered {
                floor = start;
            } else if entry.attributes & DatabaseRecord::DELETED == 0 {
                problems.push(PartProblem::BadRecordOffset { record: at + 1 });
            }
            starts.push(is_ordered.then_some(start));
        }
        let marks = [app_info, sort_info, starts.iter().flatten().next().copied()];
        let end_of = |start: usize| {
            let marks = marks.iter().flatten().filter(|mark| **mark > start);
            marks.min().copied().unwrap_or(file.len())
        };
        let gap_end = marks.iter().flatten().min().copied();
        let part = |range: std::ops::Range<usize>| file.get(range).unwrap_or_default().to_vec();
        // Two parts with one offset: the first is empty.
        let app_end = |at: usize| match sort_info {
            Some(sort) if sort == at => at,
            _ => end_of(at),
        };
        let records_end = |start: usize| {
            let infos = [app_info, sort_info];
            let after = infos.iter().flatten().filter(|at| **at > start).min();
            after.copied().unwrap_or(file.len())
        };
        let mut next = None;
        let mut records: Vec<DatabaseRecord> = Vec::with_capacity(entries.len());
        for (entry, start) in entries.iter().zip(&starts).rev() {
            let data = start.map(|start| {
                let end = next.unwrap_or(usize::MAX).min(records_end(start));
                next = Some(start);
                part(start..end)
            });
            records.push(DatabaseRecord {
                attributes: entry.attributes,
                unique_id: entry.unique_id,
                data: data.unwrap_or_default(),
            });
        }
        records.reverse();
        let database = Self {
            name: header.name,
            attributes: header.attributes,
            version: header.version,
            created: header.created,
            modified: header.modified,
            backed_up: header.backed_up,
            modification_number: header.modification_number,
            kind: header.kind,
            creator: header.creator,
            unique_id_seed: header.unique_id_seed,
            next_record_list: header.next_record_list,
            gap: part(first..gap_end.unwrap_or(file.len())),
            app_info: app_info.map(|at| part(at..app_end(at))),
            sort_info: sort_info.map(|at| part(at..end_of(at))),
            records,
        };
        Ok((database, problems))
    }

    /// Returns the file. A parsed file that has its parts in the usual order is returned byte for
    /// byte. Records after the first 65,535 are left out.
    pub fn to_bytes(&self) -> Vec<u8> {
        let records = &self.records[..self.records.len().min(MAX_RECORDS)];
        let mut at = HEADER + records.len() * ENTRY + self.gap.len();
        let mut place = |bytes: usize| {
            let offset = u32::try_from(at).unwrap_or(u32::MAX);
            at += bytes;
            offset
        };
        let app_info = self.app_info.as_ref().map_or(0, |info| place(info.len()));
        let sort_info = self.sort_info.as_ref().map_or(0, |info| place(info.len()));
        let mut out = self.name.to_vec();
        out.extend(self.attributes.to_be_bytes());
        out.extend(self.version.to_be_bytes());
        for number in [
            self.created,
            self.modified,
            self.backed_up,
            self.modification_number,
            app_info,
            sort_info,
        ] {
            out.extend(number.to_be_bytes());
        }
        out.extend(self.kind);
        out.extend(self.creator);
        out.extend(self.unique_id_seed.to_be_bytes());
        out.extend(self.next_record_list.to_be_bytes());
        let count = u16::try_from(records.len()).unwrap_or(u16::MAX);
        out.extend(count.to_be_bytes());
        for record in records {
            out.extend(place(record.data.len()).to_be_bytes());
            let id = record.unique_id & 0x00FF_FFFF;
            out.extend((u32::from(record.attributes) << 24 | id).to_be_bytes());
        }
        out.extend_from_slice(&self.gap);
        out.extend(self.app_info.iter().flatten());
        out.extend(self.sort_info.iter().flatten());
        for record in records {
            out.extend_from_slice(&record.data);
        }
        out
    }
}

/// A part of a file that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartProblem {
    /// The file ends in the list of records.
    #[error(
        "the file ends after {found} of {expected} record entries; it is cut off: copy it again"
    )]
    MissingEntries {
        /// Entries in the file.
        found: usize,
        /// Entries that the header announces.
        expected: usize,
    },
    /// The app info or the sort info is outside the file.
    #[error("{part} is outside the file; the file is damaged or cut off")]
    BadOffset {
        /// Its name.
        part: &'static str,
    },
    /// A record is outside the file, or before the record that precedes it.
    #[error(
        "record {record} is outside the file or overlaps another; the file is damaged or cut off"
    )]
    BadRecordOffset {
        /// Its number, from 1.
        record: usize,
    },
}

struct Header {
    name: [u8; 32],
    attributes: u16,
    version: u16,
    created: u32,
    modified: u32,
    backed_up: u32,
    modification_number: u32,
    app_info: u32,
    sort_info: u32,
    kind: [u8; 4],
    creator: [u8; 4],
    unique_id_seed: u32,
    next_record_list: u32,
    records: usize,
}

impl Header {
    fn read(reader: &mut ByteReader<'_>) -> Option<Self> {
        Some(Self {
            name: reader.array()?,
            attributes: reader.u16()?,
            version: reader.u16()?,
            created: reader.u32()?,
            modified: reader.u32()?,
            backed_up: reader.u32()?,
            modification_number: reader.u32()?,
            app_info: reader.u32()?,
            sort_info: reader.u32()?,
            kind: reader.array()?,
            creator: reader.array()?,
            unique_id_seed: reader.u32()?,
            next_record_list: reader.u32()?,
            records: reader.u16()?.into(),
        })
    }
}

struct Entry {
    offset: u32,
    attributes: u8,
    unique_id: u32,
}

impl Entry {
    fn read(reader: &mut ByteReader<'_>) -> Option<Self> {
        let offset = reader.u32()?;
        let rest = reader.u32()?;
        let [attributes, ..] = rest.to_be_bytes();
        Some(Self {
            offset,
            attributes,
            unique_id: rest & 0x00FF_FFFF,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn sample() -> Database {
        let mut database = Database::new("MemoDB", *b"DATA", *b"memo");
        database.name[10] = 0xEE;
        database.attributes = 8;
        database.created = 0xB0B0_B0B0;
        database.gap = vec![7, 7, 7];
        database.app_info = Some(vec![1; 20]);
        database.sort_info = Some(vec![2; 6]);
        for (unique_id, data) in [(1, &b"one\0"[..]), (2, b""), (0x00AB_CDEF, b"three\0\xFF")] {
            database.records.push(DatabaseRecord {
                attributes: 0x43,
                unique_id,
                data: data.to_vec(),
            });
        }
        database
    }

    #[test]
    fn a_file_is_read_and_written_byte_for_byte() {
        let mut database = sample();
        for _ in 0..3 {
            let file = database.to_bytes();
            let (read, problems) = Database::parse(&file).unwrap();
            assert_eq!((&read, problems), (&database, vec![]));
            assert_eq!(read.to_bytes(), file);
            // Without sort info, then without app info.
            database.sort_info = None;
            if read.sort_info.is_none() {
                database.app_info = None;
            }
        }
    }

    #[test]
    fn a_database_without_records_keeps_its_app_info() {
        let mut database = sample();
        database.records.clear();
        let (read, problems) = Database::parse(&database.to_bytes()).unwrap();
        assert_eq!((read, problems), (database, vec![]));
    }

    #[test]
    fn a_cut_file_keeps_the_records_before_the_cut() {
        let file = sample().to_bytes();
        let (read, problems) = Database::parse(&file[..file.len() - 8]).unwrap();
        assert_eq!(read.records[0].data, b"one");
        let outside = [2, 3].map(|record| PartProblem::BadRecordOffset { record });
        assert_eq!(problems, outside);

        let (read, problems) = Database::parse(&file[..HEADER + ENTRY + 3]).unwrap();
        assert_eq!(read.records.len(), 1);
        assert_eq!(read.app_info, None);
        let expected = PartProblem::MissingEntries {
            found: 1,
            expected: 3,
        };
        assert_eq!(problems[0], expected);
        assert_eq!(
            Database::parse(&file[..HEADER - 1]),
            Err(PalmError::NoHeader { bytes: HEADER - 1 })
        );
    }

    /// Overlapping records could make a small file a large database.
    #[test]
    fn records_that_overlap_are_reported() {
        let mut database = sample();
        database.records = vec![DatabaseRecord::default(); 1000];
        database.records[999].data = vec![9; 1000];
        let mut file = database.to_bytes();
        for at in (0..1000).step_by(2) {
            let entry = HEADER + at * ENTRY;
            let end = u32::try_from(file.len()).unwrap();
            file[entry..entry + 4].copy_from_slice(&end.to_be_bytes());
        }
        let (read, problems) = Database::parse(&file).unwrap();
        assert_eq!(problems.len(), 500);
        let bytes: usize = read.records.iter().map(|r| r.data.len()).sum();
        assert!(bytes <= file.len());
    }
}
