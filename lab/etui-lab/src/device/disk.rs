//! Contents of a device: [`BlockDisk`].

use std::collections::HashMap;
use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::FallocateFlags;

use crate::Error;

/// The unit of a device's requests; a power cut does not tear it.
pub const SECTOR_BYTES: u64 = 512;

/// Contents of a device. Offsets and lengths are those of whole sectors inside it.
pub trait BlockDisk: Debug + Send + Sync {
    /// Returns the size in bytes, a multiple of [`SECTOR_BYTES`].
    fn size(&self) -> u64;

    /// Reads sectors.
    fn read_at(&self, offset: u64, data: &mut [u8]) -> io::Result<()>;

    /// Writes sectors.
    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()>;

    /// Makes sectors zeros.
    fn zero_at(&self, offset: u64, length: u64) -> io::Result<()>;
}

/// A sparse file.
#[derive(Debug)]
pub struct FileDisk {
    file: File,
    size: u64,
}

impl FileDisk {
    /// Creates a file of zeros; one that exists is emptied.
    pub fn create(path: &Path, size: u64) -> Result<Self, Error> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)
            .map_err(|e| Error::file(path, e))?;
        let size = size - size % SECTOR_BYTES;
        file.set_len(size).map_err(|e| Error::file(path, e))?;
        Ok(Self { file, size })
    }

    /// Opens a file, e.g. one that `mkfs` filled.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map_err(|e| Error::file(path, e))?;
        let length = file.metadata().map_err(|e| Error::file(path, e))?.len();
        Ok(Self {
            file,
            size: length - length % SECTOR_BYTES,
        })
    }
}

impl BlockDisk for FileDisk {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(data, offset)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_all_at(data, offset)
    }

    fn zero_at(&self, offset: u64, length: u64) -> io::Result<()> {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match rustix::fs::fallocate(&self.file, hole, offset, length) {
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
                let zeros = vec![0; 1 << 16];
                let mut done = 0;
                while done < length {
                    let part = (length - done).min(zeros.len() as u64);
                    self.file
                        .write_all_at(&zeros[..part as usize], offset + done)?;
                    done += part;
                }
                Ok(())
            }
            done => Ok(done?),
        }
    }
}

/// Writes over another disk, in memory. The other disk is not changed, so that many
/// overlays can share it.
#[derive(Debug)]
pub struct OverlayDisk {
    base: Arc<dyn BlockDisk>,
    blocks: Mutex<HashMap<u64, Box<[u8]>>>,
}

/// The unit in which an overlay copies.
const BLOCK_BYTES: u64 = 4096;

impl OverlayDisk {
    /// Nothing written over a disk yet.
    pub fn new(base: Arc<dyn BlockDisk>) -> Self {
        Self {
            base,
            blocks: Mutex::default(),
        }
    }

    fn blocks(&self) -> MutexGuard<'_, HashMap<u64, Box<[u8]>>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes a range, block by block: the part of the block, and its place in the range.
    fn change(
        &self,
        offset: u64,
        length: u64,
        mut change: impl FnMut(&mut [u8], usize),
    ) -> io::Result<()> {
        let mut blocks = self.blocks();
        for (index, within, part, done) in parts(offset, length) {
            let block = match blocks.entry(index) {
                std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::hash_map::Entry::Vacant(entry) => {
                    let mut block = vec![0; BLOCK_BYTES as usize].into_boxed_slice();
                    if part < BLOCK_BYTES {
                        let start = index * BLOCK_BYTES;
                        let inside = self.base.size().saturating_sub(start).min(BLOCK_BYTES);
                        self.base.read_at(start, &mut block[..inside as usize])?;
                    }
                    entry.insert(block)
                }
            };
            change(
                &mut block[within as usize..(within + part) as usize],
                done as usize,
            );
        }
        Ok(())
    }
}

/// Parts of a range, one for each block: the block, the offset in it, the length, and the offset in the
/// range.
fn parts(offset: u64, length: u64) -> impl Iterator<Item = (u64, u64, u64, u64)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        (done < length).then(|| {
            let position = offset + done;
            let within = position % BLOCK_BYTES;
            let part = (BLOCK_BYTES - within).min(length - done);
            let item = (position / BLOCK_BYTES, within, part, done);
            done += part;
            item
        })
    })
}

impl BlockDisk for OverlayDisk {
    fn size(&self) -> u64 {
        self.base.size()
    }

    fn read_at(&self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        let blocks = self.blocks();
        // Runs of blocks that the overlay lacks are read from the base at once.
        let mut missing = 0..0;
        for (index, within, part, done) in parts(offset, data.len() as u64) {
            let (start, end) = (done as usize, (done + part) as usize);
            match blocks.get(&index) {
                None => missing = missing.start..end,
                Some(block) => {
                    let range = std::mem::replace(&mut missing, end..end);
                    let at = offset + range.start as u64;
                    if !range.is_empty() {
                        self.base.read_at(at, &mut data[range])?;
                    }
                    data[start..end]
                        .copy_from_slice(&block[within as usize..(within + part) as usize]);
                }
            }
        }
        let at = offset + missing.start as u64;
        if missing.is_empty() {
            return Ok(());
        }
        self.base.read_at(at, &mut data[missing])
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(offset, data.len() as u64, |block, done| {
            block.copy_from_slice(&data[done..done + block.len()]);
        })
    }

    fn zero_at(&self, offset: u64, length: u64) -> io::Result<()> {
        self.change(offset, length, |block, _| block.fill(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An overlay and a file that are changed alike are equal, and the base keeps its contents.
    #[test]
    fn an_overlay_is_as_a_copy() {
        let dir = tempfile::tempdir().unwrap();
        let size = 64 * SECTOR_BYTES;
        let base = FileDisk::create(&dir.path().join("base"), size).unwrap();
        let copy = FileDisk::create(&dir.path().join("copy"), size).unwrap();
        let whole = |disk: &dyn BlockDisk| {
            let mut data = vec![0; size as usize];
            disk.read_at(0, &mut data).unwrap();
            data
        };
        for sector in 0..64 {
            let data = vec![sector as u8 + 1; 512];
            base.write_at(sector * 512, &data).unwrap();
            copy.write_at(sector * 512, &data).unwrap();
        }
        let before = whole(&base);
        let base: Arc<dyn BlockDisk> = Arc::new(base);
        let overlay = OverlayDisk::new(base.clone());
        let mut random = 7_u64;
        for round in 0..200 {
            random = random.wrapping_mul(6_364_136_223_846_793_005) + 1;
            let first = (random >> 33) % 64;
            let count = 1 + (random >> 40) % (64 - first);
            let data = vec![200 + (round % 50) as u8; (count * 512) as usize];
            for disk in [&overlay as &dyn BlockDisk, &copy] {
                if round % 3 == 0 {
                    disk.zero_at(first * 512, count * 512).unwrap();
                } else {
                    disk.write_at(first * 512, &data).unwrap();
                }
            }
            let mut part = vec![0; (count * 512) as usize];
            overlay.read_at(first * 512, &mut part).unwrap();
            assert_eq!(part, whole(&copy)[(first * 512) as usize..][..part.len()]);
            assert_eq!(whole(&overlay), whole(&copy), "round {round}");
            if round == 2 {
                assert_ne!(whole(&overlay), before);
            }
        }
        assert_eq!(whole(base.as_ref()), before);
    }
}
