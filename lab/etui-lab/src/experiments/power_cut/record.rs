//! Recorded runs in files, so that a point that failed can be repeated: [`CutRecord`].
//!
//! A line of JSON ([`RecordHeader`]), then the events in postcard's form: those that make the empty
//! file system, and those of the run.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::device::{BlockDisk, DeviceEvent, DeviceLog};
use crate::{Arm, Error};

/// Of the format. The first one had events in a form of its own.
const VERSION: u32 = 2;
/// The unit in which the empty file system is kept.
const BLOCK_BYTES: usize = 4096;

/// The arm and its run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordHeader {
    version: u32,
    /// The kernel's name of the file system.
    pub file_system: String,
    pub arm: Arm,
    pub saves: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CutRecord {
    /// The arm and its run.
    pub header: RecordHeader,
    /// Events that make the empty file system of a device of zeros.
    pub base: DeviceLog,
    /// Events of the run.
    pub log: DeviceLog,
}

impl CutRecord {
    /// A run over an empty file system.
    pub fn new(
        file_system: &str,
        arm: &Arm,
        saves: u64,
        base: &dyn BlockDisk,
        log: DeviceLog,
    ) -> Result<Self, Error> {
        let base = disk_events(base).map_err(|e| Error::file("the device's contents", e))?;
        Ok(Self {
            header: RecordHeader {
                version: VERSION,
                file_system: file_system.to_owned(),
                arm: arm.clone(),
                saves,
            },
            base,
            log,
        })
    }

    /// Writes it to a file; its directory is made.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let failed = |e| Error::file(path, e);
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir).map_err(failed)?;
        }
        let mut out = BufWriter::new(File::create(path).map_err(failed)?);
        let header = serde_json::to_vec(&self.header).map_err(|e| Error::other(e.to_string()))?;
        out.write_all(&header).map_err(failed)?;
        out.write_all(b"\n").map_err(failed)?;
        let events = (&self.base, &self.log);
        postcard::to_io(&events, &mut out).map_err(|e| failed(io::Error::other(e)))?;
        out.flush().map_err(failed)
    }

    pub fn read(path: &Path) -> Result<Self, Error> {
        let failed = |e| Error::file(path, e);
        let bytes = fs::read(path).map_err(failed)?;
        let at = bytes.iter().position(|byte| *byte == b'\n');
        let (line, events) = bytes.split_at(at.map_or(bytes.len(), |at| at + 1));
        let header: Option<RecordHeader> = serde_json::from_slice(line).ok();
        let header = header
            .filter(|header| header.version == VERSION)
            .ok_or_else(|| failed(io::Error::other("no record of power cuts of this version")))?;
        let events = postcard::from_bytes(events);
        let (base, log) = events.map_err(|e| failed(io::Error::other(e)))?;
        Ok(Self { header, base, log })
    }
}

/// Returns the writes that give a device of zeros a disk's contents.
fn disk_events(disk: &dyn BlockDisk) -> io::Result<DeviceLog> {
    let mut events = DeviceLog::new();
    let mut block = vec![0; BLOCK_BYTES];
    for offset in (0..disk.size()).step_by(BLOCK_BYTES) {
        disk.read_at(offset, &mut block)?;
        if block.iter().any(|byte| *byte != 0) {
            events.push(DeviceEvent::Write {
                offset,
                data: Arc::from(&block[..]),
                force_unit_access: false,
            });
        }
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ArmRole;
    use crate::device::FileDisk;
    use crate::experiments::power_cut::points::apply_events;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let size = 64 * BLOCK_BYTES as u64;
        let base = FileDisk::create(&dir.path().join("base"), size).unwrap();
        base.write_at(8192, &[7; 1024]).unwrap();
        let log = vec![
            DeviceEvent::Write {
                offset: 512,
                data: Arc::from(vec![3; 512]),
                force_unit_access: true,
            },
            DeviceEvent::Zero {
                offset: 0,
                length: 4096,
                force_unit_access: false,
            },
            DeviceEvent::Flush,
            DeviceEvent::Mark(Arc::from(5_u64.to_le_bytes())),
        ];
        let arm = Arm::new("an arm", ArmRole::Peer, "product=plain points=3");
        let record = CutRecord::new("ext4", &arm, 9, &base, log).unwrap();
        let path = dir.path().join("new/one.record");
        record.write(&path).unwrap();
        assert_eq!(CutRecord::read(&path).unwrap(), record);
        let copy = FileDisk::create(&dir.path().join("copy"), size).unwrap();
        apply_events(&record.base, &copy).unwrap();
        let read = |name| fs::read(dir.path().join(name)).unwrap();
        assert_eq!(read("copy"), read("base"));
        // Cut short, or garbage: an error.
        let bytes = fs::read(&path).unwrap();
        for bad in [&bytes[..bytes.len() - 3], b"{}", b"", &[0xff; 100]] {
            fs::write(&path, bad).unwrap();
            assert!(CutRecord::read(&path).is_err());
        }
    }
}
