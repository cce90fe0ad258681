//! Recorded runs in files, so that a point that failed can be repeated: [`CutRecord`].
//!
//! A line of JSON ([`RecordHeader`]), then the events: first those that make the empty file system,
//! then those of the run. An event is a byte for its kind, its offset and length (little-endian, 8
//! bytes each), and its data.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::device::{BlockDisk, DeviceEvent, DeviceLog};
use crate::{Arm, Error};

/// Of the format.
const VERSION: u32 = 1;
/// Longest data of an event.
const MAX_DATA: u64 = 64 << 20;
/// The unit in which the empty file system is kept.
const BLOCK_BYTES: usize = 4096;

const WRITE: u8 = 1;
const ZERO: u8 = 2;
const FLUSH: u8 = 3;
const MARK: u8 = 4;
/// Added to the kind of an event with forced unit access.
const FORCED: u8 = 0x80;

/// The arm and its run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordHeader {
    version: u32,
    /// The kernel's name of the file system.
    pub file_system: String,
    pub arm: Arm,
    pub saves: u64,
    /// Events of the empty file system.
    base_events: u64,
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
                base_events: base.len() as u64,
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
        for event in self.base.iter().chain(&self.log) {
            write_event(event, &mut out).map_err(failed)?;
        }
        out.flush().map_err(failed)
    }

    pub fn read(path: &Path) -> Result<Self, Error> {
        let failed = |e| Error::file(path, e);
        let mut input = BufReader::new(File::open(path).map_err(failed)?);
        let mut line = Vec::new();
        let mut first = (&mut input).take(1 << 20);
        first.read_until(b'\n', &mut line).map_err(failed)?;
        let header: Option<RecordHeader> = serde_json::from_slice(&line).ok();
        let header = header
            .filter(|header| header.version == VERSION)
            .ok_or_else(|| failed(io::Error::other("no record of power cuts of this version")))?;
        let mut base = DeviceLog::new();
        while let Some(event) = read_event(&mut input).map_err(failed)? {
            base.push(event);
        }
        let at = usize::try_from(header.base_events).unwrap_or(usize::MAX);
        let log = base.split_off(at.min(base.len()));
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

fn write_event(event: &DeviceEvent, out: &mut impl Write) -> io::Result<()> {
    let forced = |kind: u8, forced: bool| if forced { kind | FORCED } else { kind };
    let (kind, offset, length, data): (u8, u64, u64, &[u8]) = match event {
        DeviceEvent::Write {
            offset,
            data,
            force_unit_access,
        } => (
            forced(WRITE, *force_unit_access),
            *offset,
            data.len() as u64,
            data,
        ),
        DeviceEvent::Zero {
            offset,
            length,
            force_unit_access,
        } => (forced(ZERO, *force_unit_access), *offset, *length, &[]),
        DeviceEvent::Flush => (FLUSH, 0, 0, &[]),
        DeviceEvent::Mark(mark) => (MARK, 0, mark.len() as u64, mark),
    };
    out.write_all(&[kind])?;
    out.write_all(&offset.to_le_bytes())?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(data)
}

/// Reads an event; none at the end.
fn read_event(input: &mut impl Read) -> io::Result<Option<DeviceEvent>> {
    let mut kind = [0];
    if input.read(&mut kind)? == 0 {
        return Ok(None);
    }
    let mut number = || {
        let mut bytes = [0; 8];
        input
            .read_exact(&mut bytes)
            .map(|()| u64::from_le_bytes(bytes))
    };
    let [offset, length] = [number()?, number()?];
    let mut data = || {
        if length > MAX_DATA {
            return Err(io::Error::other("an event of too many bytes"));
        }
        let mut data = vec![0; length as usize];
        input.read_exact(&mut data)?;
        Ok(Arc::from(data))
    };
    let force_unit_access = kind[0] & FORCED != 0;
    Ok(Some(match kind[0] & !FORCED {
        WRITE => DeviceEvent::Write {
            offset,
            data: data()?,
            force_unit_access,
        },
        ZERO => DeviceEvent::Zero {
            offset,
            length,
            force_unit_access,
        },
        FLUSH => DeviceEvent::Flush,
        MARK => DeviceEvent::Mark(data()?),
        _ => return Err(io::Error::other("an event of an unknown kind")),
    }))
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
