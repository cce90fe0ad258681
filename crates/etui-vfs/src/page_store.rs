//! [`PageStore`]: pages in memory up to a limit, and beyond it in an unnamed file.
//!
//! ```text
//! the file: clusters of pages. A cluster is written at once when it is full, and reused when all its
//! pages were released.
//! ```

use std::io;

use crate::device::File;

/// Opens the file for pages that do not fit into memory.
pub(crate) type OpenSpillFile<'a> = &'a dyn Fn() -> io::Result<Box<dyn File>>;

/// The position of a page in the store. A number, as there may be very many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageSlot(u32);

/// Set in the number of a page in the file.
const IN_FILE: u32 = 1 << 31;

/// The maximum number of pages in a cluster, and its maximum size in bytes.
const CLUSTER: (usize, usize) = (16, 1 << 16);

/// The share of the memory available to the cluster being filled.
const FOR_CLUSTER: usize = 8;

/// A store of pages of one size.
#[derive(Debug, Default)]
pub(crate) struct PageStore {
    page_size: usize,
    /// The maximum number of pages in memory.
    most: usize,
    memory: Vec<Box<[u8]>>,
    free: Vec<u32>,
    file: Option<Box<dyn File>>,
    /// The number of pages in a cluster.
    cluster: u32,
    /// The number of live pages in each cluster.
    kept: Vec<u32>,
    /// Clusters without live pages.
    free_clusters: Vec<u32>,
    /// The number of live pages in clusters.
    in_clusters: usize,
    /// The cluster being filled, and its pages.
    filling: Option<u32>,
    filled: Vec<u8>,
}

impl PageStore {
    pub fn new(page_size: usize, cap: usize) -> Self {
        let page_size = page_size.max(1);
        let most = (cap / page_size).min(IN_FILE as usize);
        let cluster = CLUSTER.0.min(CLUSTER.1 / page_size).min(most / FOR_CLUSTER);
        Self {
            page_size,
            // The cluster being filled is in memory, too.
            most: if cluster > 1 { most - cluster } else { most },
            // At most 16.
            cluster: cluster.max(1) as u32,
            ..Self::default()
        }
    }

    /// Stores a copy of a page.
    pub fn put(&mut self, page: &[u8], spill: OpenSpillFile<'_>) -> io::Result<PageSlot> {
        if let Some(slot) = self.free.pop() {
            if let Some(memory) = self.memory.get_mut(slot as usize) {
                memory.copy_from_slice(page);
            }
            return Ok(PageSlot(slot));
        }
        if self.memory.len() < self.most {
            self.memory.push(page.into());
            // Fewer than 2^31.
            return Ok(PageSlot(self.memory.len() as u32 - 1));
        }
        let cluster = match self.filling {
            Some(cluster) => cluster,
            None => self.free_cluster()?,
        };
        self.filling = Some(cluster);
        let before = self.filled.len();
        self.filled.extend_from_slice(page);
        if self.filled.len() == self.cluster_size()
            && let Err(error) = self.write_filled(cluster, spill)
        {
            self.filled.truncate(before);
            return Err(error);
        }
        if let Some(kept) = self.kept.get_mut(cluster as usize) {
            *kept += 1;
        }
        self.in_clusters += 1;
        let at = cluster * self.cluster + (before / self.page_size) as u32;
        Ok(PageSlot(at | IN_FILE))
    }

    fn cluster_size(&self) -> usize {
        self.cluster as usize * self.page_size
    }

    fn free_cluster(&mut self) -> io::Result<u32> {
        if let Some(cluster) = self.free_clusters.pop() {
            return Ok(cluster);
        }
        let next = self.kept.len() as u32;
        if next >= IN_FILE / self.cluster - 1 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.kept.push(0);
        Ok(next)
    }

    /// Writes the cluster that has become full.
    fn write_filled(&mut self, cluster: u32, spill: OpenSpillFile<'_>) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(spill()?),
        };
        let size = self.filled.len() as u64;
        file.write_at(&self.filled, u64::from(cluster) * size)?;
        self.filled.clear();
        self.filling = None;
        Ok(())
    }

    /// Returns true if the next page fills a cluster, which is then written to the file.
    pub fn spills_next(&self) -> bool {
        self.free.is_empty()
            && self.memory.len() >= self.most
            && self.filled.len() + self.page_size >= self.cluster_size()
    }

    /// Returns true if the file has more pages than memory holds.
    pub fn exceeds_memory(&self) -> bool {
        self.in_clusters > self.most
    }

    /// Returns the range of a page in the cluster being filled.
    fn in_filled(&self, image: PageSlot) -> Option<std::ops::Range<usize>> {
        let at = image.0 & !IN_FILE;
        if image.0 & IN_FILE == 0 || self.filling != Some(at / self.cluster) {
            return None;
        }
        let begin = (at % self.cluster) as usize * self.page_size;
        Some(begin..begin + self.page_size)
    }

    /// Returns a page that is in memory.
    pub fn in_memory(&self, image: PageSlot) -> Option<&[u8]> {
        match self.memory.get(image.0 as usize) {
            Some(page) => Some(page),
            None => self.filled.get(self.in_filled(image)?),
        }
    }

    fn in_file(&self, image: PageSlot) -> io::Result<(&dyn File, u64)> {
        let file = self.file.as_ref().filter(|_| image.0 & IN_FILE != 0);
        let at = u64::from(image.0 & !IN_FILE) * self.page_size as u64;
        Ok((&**file.ok_or_else(lost)?, at))
    }

    /// Overwrites a page.
    pub fn overwrite(&mut self, image: PageSlot, page: &[u8]) -> io::Result<()> {
        let memory = match self.memory.get_mut(image.0 as usize) {
            Some(memory) => Some(&mut **memory),
            None => match self.in_filled(image) {
                Some(range) => self.filled.get_mut(range),
                None => None,
            },
        };
        if let Some(memory) = memory {
            memory.copy_from_slice(page);
            return Ok(());
        }
        let (file, at) = self.in_file(image)?;
        file.write_at(page, at)
    }

    /// Reads from `offset` in a page.
    pub fn read(&self, image: PageSlot, offset: usize, to: &mut [u8]) -> io::Result<()> {
        if let Some(memory) = self.in_memory(image) {
            let from = memory.get(offset..offset.saturating_add(to.len()));
            to.copy_from_slice(from.ok_or_else(lost)?);
            return Ok(());
        }
        let (file, at) = self.in_file(image)?;
        match file.read_at(to, at + offset as u64)? == to.len() {
            true => Ok(()),
            false => Err(lost()),
        }
    }

    /// Releases a page.
    pub fn release_slot(&mut self, image: PageSlot) {
        if image.0 & IN_FILE == 0 {
            self.free.push(image.0);
            return;
        }
        let cluster = (image.0 & !IN_FILE) / self.cluster;
        let Some(kept) = self.kept.get_mut(cluster as usize) else {
            return;
        };
        *kept -= 1;
        self.in_clusters -= 1;
        if *kept > 0 {
            return;
        }
        if self.filling == Some(cluster) {
            // The cluster has no live pages: it is filled again, and its contents need not be
            // written.
            self.filled.clear();
        } else {
            self.free_clusters.push(cluster);
        }
    }

    /// Releases memory and closes the file if they are larger than the memory limit. All pages must
    /// have been released.
    pub fn rest(&mut self) {
        if self.memory.len() > self.most {
            self.memory.truncate(self.most);
            self.free = (0..self.memory.len() as u32).collect();
        }
        if self.kept.len() * self.cluster as usize > self.most {
            self.file = None;
            self.kept = Vec::new();
            self.free_clusters = Vec::new();
            self.filling = None;
        }
    }
}

fn lost() -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        "a page that was put aside cannot be found again",
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::redo::tests::MemoryFile;

    #[test]
    fn pages_beyond_the_cap_are_in_the_file() {
        let mut store = PageStore::new(512, 1024);
        let spill = || -> io::Result<Box<dyn File>> { Ok(Box::new(MemoryFile::default())) };
        let mut images: Vec<PageSlot> = (0..5)
            .map(|n| store.put(&[n; 512], &spill).unwrap())
            .collect();
        assert_eq!(
            images
                .iter()
                .filter(|i| store.in_memory(**i).is_some())
                .count(),
            2
        );
        store.overwrite(images[4], &[44; 512]).unwrap();
        store.overwrite(images[0], &[40; 512]).unwrap();
        store.release_slot(images.remove(1));
        store.release_slot(images.remove(2));
        images.push(store.put(&[6; 512], &spill).unwrap());
        images.push(store.put(&[7; 512], &spill).unwrap());
        let mut page = [0; 100];
        for (image, byte) in images.iter().zip([40, 2, 44, 6, 7]) {
            store.read(*image, 412, &mut page).unwrap();
            assert_eq!(page, [byte; 100]);
        }
        assert_eq!(store.kept, [1, 1, 1]);
    }

    #[test]
    fn clusters_are_written_whole_and_used_again() {
        let mut store = PageStore::new(512, 32 * 512);
        let spill = || -> io::Result<Box<dyn File>> { Ok(Box::new(MemoryFile::default())) };
        assert_eq!((store.most, store.cluster), (28, 4));
        let mut images: Vec<PageSlot> = (0..40)
            .map(|n| store.put(&[n; 512], &spill).unwrap())
            .collect();
        images.push(store.put(&[40; 512], &spill).unwrap());
        store.overwrite(images[40], &[140; 512]).unwrap();
        store.overwrite(images[39], &[139; 512]).unwrap();
        let mut page = [0; 512];
        for (number, image) in images.iter().enumerate() {
            let expected = if number < 39 { number } else { number + 100 };
            store.read(*image, 0, &mut page).unwrap();
            assert_eq!(page, [expected as u8; 512]);
            assert_eq!(
                store.in_memory(*image).is_some(),
                !(28..40).contains(&number)
            );
        }
        // The cluster being filled is empty again, the second one is free.
        store.release_slot(images.pop().unwrap());
        assert_eq!(
            store.put(&[1; 512], &spill).unwrap(),
            PageSlot(12 | IN_FILE)
        );
        images
            .drain(32..36)
            .for_each(|image| store.release_slot(image));
        assert_eq!((&store.free_clusters[..], store.in_clusters), (&[1][..], 9));
        let more: Vec<PageSlot> = (0..4)
            .map(|n| store.put(&[n; 512], &spill).unwrap())
            .collect();
        assert_eq!((more[3], store.in_clusters), (PageSlot(4 | IN_FILE), 13));
        store.read(images[32], 0, &mut page).unwrap();
        assert_eq!(page, [36; 512]);
    }

    #[test]
    fn a_page_that_cannot_be_written_is_not_kept() {
        let mut store = PageStore::new(512, 16 * 512);
        let spill = || -> io::Result<Box<dyn File>> { Ok(Box::new(MemoryFile::default())) };
        let none = || -> io::Result<Box<dyn File>> { Err(lost()) };
        let images: Vec<PageSlot> = (0..15)
            .map(|n| store.put(&[n; 512], &none).unwrap())
            .collect();
        assert!(store.put(&[15; 512], &none).is_err());
        assert_eq!(store.in_memory(images[14]), Some(&[14; 512][..]));
        let last = store.put(&[16; 512], &spill).unwrap();
        let mut page = [0; 512];
        store.read(last, 0, &mut page).unwrap();
        assert_eq!(page, [16; 512]);
    }
}
