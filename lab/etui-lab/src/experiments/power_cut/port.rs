//! Messages between the host and its guest, through a block device of their own: the laboratory
//! is the device, so a message is in order with the writes of the other device.
//!
//! A message is a write of one page, and the host has seen it when the write returns; the next
//! task is a read of that page, which returns when there is one.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

use etui_lab_io::uring::AlignedBuffer;
use rustix::fs::OFlags;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::device::{BlockDisk, NbdServer};
use crate::{ArmSettings, Error};

/// The device's size.
pub const PORT_BYTES: u64 = 1 << 20;
/// Where messages are: not where a kernel looks for partitions.
const PAGE_OFFSET: u64 = PORT_BYTES / 2;
const PAGE_BYTES: usize = 4096;
/// Longest text in a message, in bytes.
const MAX_TEXT: usize = 1_500;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "kebab-case")]
pub enum GuestTask {
    /// Mount the device, save records, and unmount it.
    Record {
        settings: ArmSettings,
        saves: u64,
    },
    /// Mount the device as a cut left it, look at the store, and unmount it.
    Check {
        settings: ArmSettings,
        saves: u64,
    },
    End,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "kebab-case")]
pub enum GuestMessage {
    /// This number of saves has been acknowledged.
    Acknowledged {
        saves: u64,
    },
    Recorded {
        /// The reason why it failed.
        error: Option<String>,
    },
    Checked(CheckedStore),
    /// The guest's program ended, for this reason. Sent by the host itself.
    Ended {
        reason: String,
    },
}

/// A store after a cut.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedStore {
    /// The file system could not be mounted, for this reason.
    pub unmounted: Option<String>,
    /// The file system could be mounted only after it was repaired.
    pub repaired: bool,
    /// The store is damaged: it cannot be opened, its check finds faults, or its records are
    /// those of no moment of the run.
    pub damage: Option<String>,
    /// Its records are those after this number of saves.
    pub saves: Option<u64>,
    /// The guest's program ends now, since it holds files open; it is started again.
    pub restarts: bool,
}

/// Shortens a text to the size of a message.
pub fn clip_text(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_TEXT);
    text[..end].to_owned()
}

fn encode<T: Serialize>(value: &T, page: &mut [u8]) -> io::Result<()> {
    let bytes = serde_json::to_vec(value)?;
    let (length, rest) = page.split_at_mut(4);
    let room = rest.get_mut(..bytes.len());
    let room = room.ok_or_else(|| io::Error::other("a message is too long"))?;
    room.copy_from_slice(&bytes);
    length.copy_from_slice(&(bytes.len() as u32).to_le_bytes());
    Ok(())
}

fn decode<T: DeserializeOwned>(page: &[u8]) -> io::Result<T> {
    let bytes = page.split_first_chunk::<4>().and_then(|(length, rest)| {
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        rest.get(..length)
    });
    let bytes = bytes.ok_or_else(|| io::Error::other("a message without its end"))?;
    Ok(serde_json::from_slice(bytes)?)
}

/// The guest's end.
pub struct GuestPort {
    file: File,
    page: AlignedBuffer,
}

impl GuestPort {
    pub fn open(device: &Path) -> Result<Self, Error> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(OFlags::DIRECT.bits() as i32)
            .open(device)
            .map_err(|e| Error::file(device, e))?;
        let page = AlignedBuffer::new(PAGE_BYTES)?;
        Ok(Self { file, page })
    }

    /// Sends a message; the host has it when this returns.
    pub fn send(&mut self, message: &GuestMessage) -> Result<(), Error> {
        let page = &mut self.page.bytes_mut()[..PAGE_BYTES];
        let sent = encode(message, page).and_then(|()| self.file.write_all_at(page, PAGE_OFFSET));
        sent.map_err(|e| Error::file("the port", e))
    }

    pub fn next_task(&mut self) -> Result<GuestTask, Error> {
        let page = &mut self.page.bytes_mut()[..PAGE_BYTES];
        let read = self.file.read_exact_at(page, PAGE_OFFSET);
        let task = read.and_then(|()| decode(page));
        task.map_err(|e| Error::file("the port", e))
    }
}

/// The host's end: a device that passes messages on. Acknowledgements are marks in the log of the
/// device under test.
#[derive(Debug)]
pub struct HostPort {
    device: Arc<NbdServer>,
    ends: Mutex<(Sender<GuestMessage>, Receiver<GuestTask>)>,
}

impl HostPort {
    /// A port beside a device.
    pub fn new(
        device: Arc<NbdServer>,
        messages: Sender<GuestMessage>,
        tasks: Receiver<GuestTask>,
    ) -> Self {
        let ends = Mutex::new((messages, tasks));
        Self { device, ends }
    }
}

impl BlockDisk for HostPort {
    fn size(&self) -> u64 {
        PORT_BYTES
    }

    fn read_at(&self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        data.fill(0);
        if offset != PAGE_OFFSET {
            return Ok(());
        }
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let task = ends.1.recv().map_err(io::Error::other)?;
        encode(&task, data)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if offset != PAGE_OFFSET {
            return Ok(());
        }
        match decode(data)? {
            GuestMessage::Acknowledged { saves } => self.device.mark(&saves.to_le_bytes()),
            message => {
                let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
                ends.0.send(message).map_err(io::Error::other)?;
            }
        }
        Ok(())
    }

    fn zero_at(&self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let mut page = [0; PAGE_BYTES];
        let checked = CheckedStore {
            damage: Some(clip_text(&"é".repeat(5_000))),
            saves: Some(7),
            ..CheckedStore::default()
        };
        let message = GuestMessage::Checked(checked);
        encode(&message, &mut page).unwrap();
        assert_eq!(decode::<GuestMessage>(&page).unwrap(), message);
        for bad in [[0xff; PAGE_BYTES], [0; PAGE_BYTES]] {
            assert!(decode::<GuestMessage>(&bad).is_err());
        }
        let long = GuestMessage::Ended {
            reason: "x".repeat(PAGE_BYTES),
        };
        assert!(encode(&long, &mut page).is_err());
    }
}
