//! Content of the parts of a device ([`DiskLayout`]), and the purpose of each traced request
//! ([`ByteSplit`]).
//!
//! | file system | its journal | files |
//! |---|---|---|
//! | ext4 | the blocks of inode 8, or a device of its own | stay where they are: by extents (FIEMAP) |
//! | xfs | the log's blocks, by the superblock | stay where they are: by extents |
//! | btrfs | none of its own: log trees are metadata | each write goes elsewhere: not distinguished |
//! | others | none | not distinguished where there are no extents |

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::path::Path;

use strum::{IntoStaticStr, VariantArray};

use super::trace::{self, BlockRequest};
use crate::error::Error;
use crate::stacks::{self, mounts};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Purpose {
    Database,
    /// SQLite's rollback journal or write-ahead log, or the redo log in their place.
    Journal,
    #[strum(serialize = "fs_journal")]
    FileSystemJournal,
    /// Metadata of the file system in its place.
    Metadata,
    /// Content of an unknown file.
    Data,
}

impl Purpose {
    /// Its part of a measure's name: `block_database_bytes`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The words for people.
    pub fn label(self) -> &'static str {
        match self {
            Purpose::Journal => "journal or log",
            Purpose::FileSystemJournal => "file system's journal",
            Purpose::Data => "data, which file unknown",
            Purpose::Database | Purpose::Metadata => self.name(),
        }
    }
}

/// Content of the parts of a stack's devices, in bytes from the device's beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiskLayout {
    /// The number of the device with the file system.
    main: String,
    /// Where the file system's journal is on it.
    log: Vec<Range<u64>>,
    /// Extents of files; none if unknown.
    files: Vec<(Purpose, Range<u64>)>,
    /// Purpose of a write outside all files.
    elsewhere: Option<Purpose>,
}

impl DiskLayout {
    /// Of a directory on the laboratory's own devices, after the work. `files` are those that
    /// are still there; content that went elsewhere is taken for `gone`: with a rollback
    /// journal that is removed at every commit, that journal.
    pub fn of(
        dir: &Path,
        devices: &[String],
        files: &[(Purpose, &Path)],
        gone: Purpose,
    ) -> Result<Self, Error> {
        let Some(device) = devices.first() else {
            return Err(Error::other("no device to look at"));
        };
        let file_system = mounts::mount_of(dir)?.file_system;
        let mut layout = Self {
            main: trace::device_number(device)?,
            ..Self::default()
        };
        let path = format!("/dev/{device}");
        match file_system.as_str() {
            "ext4" if devices.len() == 1 => layout.log = ext4_log(&path)?,
            "ext4" => {}
            "xfs" => layout.log = xfs_log(&path)?,
            // Addresses of btrfs are its own, and every write goes to a new one.
            _ => return Ok(layout),
        }
        for (purpose, path) in files {
            let file = File::open(path).map_err(|e| Error::file(path, e))?;
            let Ok(extents) = etui_lab_io::extents::file_extents(&file) else {
                layout.files.clear();
                return Ok(layout);
            };
            for extent in extents {
                let range = extent.physical..extent.physical + extent.length;
                layout.files.push((*purpose, range));
            }
        }
        layout.elsewhere = Some(gone);
        Ok(layout)
    }

    fn purpose(&self, request: &BlockRequest) -> Purpose {
        let at = request.sector * 512;
        if request.device != self.main || self.log.iter().any(|log| log.contains(&at)) {
            return Purpose::FileSystemJournal;
        }
        if request.is_metadata() {
            return Purpose::Metadata;
        }
        self.files
            .iter()
            .find(|(_, range)| range.contains(&at))
            .map(|(purpose, _)| *purpose)
            .or(self.elsewhere)
            .unwrap_or(Purpose::Data)
    }
}

/// `EXTENTS:` and the next line, `(0-8191):131072-139263, (8192-9000):150000-150808`, in blocks.
fn ext4_log(device: &str) -> Result<Vec<Range<u64>>, Error> {
    const BLOCK: u64 = 4096;
    let said = stacks::run_tool("debugfs", ["-R", "stat <8>", device])?;
    Ok(said
        .split_once("EXTENTS:")
        .map_or("", |(_, extents)| extents)
        .split(", ")
        .filter_map(|extent| {
            let (logical, place) = extent.trim().split_once("):")?;
            // The blocks of an extent tree are not its content.
            if logical.contains("ETB") {
                return None;
            }
            let (first, last) = place.split_once('-').unwrap_or((place, place));
            Some(first.parse::<u64>().ok()? * BLOCK..(last.parse::<u64>().ok()? + 1) * BLOCK)
        })
        .collect())
}

/// The log begins at a block whose number has the group above `agblklog` bits.
fn xfs_log(device: &str) -> Result<Vec<Range<u64>>, Error> {
    let fields = "print logstart logblocks agblocks agblklog blocksize";
    let said = stacks::run_tool("xfs_db", ["-r", "-c", "sb 0", "-c", fields, device])?;
    let number = |name: &str| {
        said.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "))
            .and_then(|value| value.trim().parse::<u64>().ok())
            .ok_or_else(|| Error::other(format!("xfs_db does not tell {name}")))
    };
    let (start, bits) = (number("logstart")?, number("agblklog")?);
    let group = start >> bits;
    let block = group * number("agblocks")? + (start - (group << bits));
    let size = number("blocksize")?;
    let log = block * size..(block + number("logblocks")?) * size;
    Ok(std::iter::once(log).collect())
}

/// Bytes and writes by purpose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ByteSplit {
    writes: BTreeMap<Purpose, (u64, u64)>,
    flushes: u64,
    /// Flushes of the device with the file system.
    main_flushes: u64,
}

impl ByteSplit {
    pub fn of(requests: &[BlockRequest], layout: &DiskLayout) -> Self {
        let mut split = Self::default();
        for request in requests {
            if request.is_flush() {
                split.flushes += 1;
                split.main_flushes += u64::from(request.device == layout.main);
            } else if request.is_write() {
                let (writes, bytes) = split.writes.entry(layout.purpose(request)).or_default();
                *writes += 1;
                *bytes += request.bytes;
            }
        }
        split
    }

    pub fn measures(&self) -> Vec<(String, f64)> {
        let sum = |part: fn(&(u64, u64)) -> u64| self.writes.values().map(part).sum::<u64>();
        let mut measures = vec![
            ("block_real_writes".to_owned(), sum(|w| w.0) as f64),
            ("block_real_write_bytes".to_owned(), sum(|w| w.1) as f64),
            ("block_empty_flushes".to_owned(), self.flushes as f64),
            ("block_main_flushes".to_owned(), self.main_flushes as f64),
        ];
        for &purpose in Purpose::VARIANTS {
            let (writes, bytes) = self.writes.get(&purpose).copied().unwrap_or_default();
            let name = purpose.name();
            measures.push((format!("block_{name}_writes"), writes as f64));
            measures.push((format!("block_{name}_bytes"), bytes as f64));
        }
        measures
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::measure::trace::BlockTrace;
    use std::io::Write;

    fn request(device: &str, flags: &str, bytes: u64, sector: u64) -> BlockRequest {
        BlockRequest {
            device: device.to_owned(),
            flags: flags.to_owned(),
            bytes,
            sector,
            process: "kworker".to_owned(),
        }
    }

    #[test]
    fn each_request_has_its_purpose() {
        let layout = DiskLayout {
            main: "7,0".to_owned(),
            log: std::iter::once(1_048_576..2_097_152).collect(),
            files: vec![(Purpose::Database, 4096..8192)],
            elsewhere: Some(Purpose::Journal),
        };
        let requests = [
            request("7,0", "WS", 4096, 8),
            request("7,0", "WS", 8192, 100),
            request("7,0", "WSM", 4096, 2048),
            request("7,0", "WSM", 4096, 9000),
            request("7,1", "WSM", 1024, 8),
            request("7,0", "FF", 0, 0),
            request("7,1", "FF", 0, 0),
            request("7,0", "R", 4096, 8),
        ];
        let split = ByteSplit::of(&requests, &layout);
        let found: BTreeMap<String, f64> = split.measures().into_iter().collect();
        assert_eq!(found["block_real_writes"], 5.0);
        assert_eq!(found["block_real_write_bytes"], 21_504.0);
        assert_eq!(found["block_empty_flushes"], 2.0);
        assert_eq!(found["block_main_flushes"], 1.0);
        assert_eq!(found["block_database_bytes"], 4096.0);
        assert_eq!(found["block_journal_bytes"], 8192.0);
        assert_eq!(found["block_fs_journal_writes"], 2.0);
        assert_eq!(found["block_metadata_bytes"], 4096.0);
        assert_eq!(found["block_data_bytes"], 0.0);
    }

    #[test]
    fn a_new_file_is_data_and_journal() {
        for name in ["ext4", "ext4-journal", "xfs"] {
            if stacks::check_available(name).is_err() {
                continue;
            }
            let work = tempfile::tempdir().unwrap();
            let stack = stacks::prepare_stack(name, work.path(), None).unwrap();
            let path = stack.dir.join("file");
            let trace = BlockTrace::start(&stack.devices).unwrap();
            let mut file = File::create(&path).unwrap();
            file.write_all(&[1; 8192]).unwrap();
            file.sync_all().unwrap();
            let requests = trace.stop().unwrap();
            let files = [(Purpose::Database, path.as_path())];
            let layout =
                DiskLayout::of(&stack.dir, &stack.devices, &files, Purpose::Journal).unwrap();
            let split = ByteSplit::of(&requests, &layout);
            assert_eq!(
                split.writes[&Purpose::Database].1,
                8192,
                "{name}: {split:?}"
            );
            assert!(split.writes[&Purpose::FileSystemJournal].1 > 0, "{name}");
            assert!(!split.writes.contains_key(&Purpose::Journal), "{name}");
            assert!(!split.writes.contains_key(&Purpose::Metadata), "{name}");
        }
    }
}
