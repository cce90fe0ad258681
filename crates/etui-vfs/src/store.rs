//! [`PageStore`]: pages in memory up to a cap, beyond it in a file without a name.

use std::io;

use crate::device::File;

/// Opens the file that takes what does not fit into memory.
pub(crate) type Spill<'a> = &'a dyn Fn() -> io::Result<Box<dyn File>>;

/// Where a page is: a number, since there may be very many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Image(u32);

/// Set in the number of a page that is in the file.
const IN_FILE: u32 = 1 << 31;

/// Pages of one size.
#[derive(Debug, Default)]
pub(crate) struct PageStore {
    page_size: usize,
    /// How many pages may be in memory.
    most: usize,
    memory: Vec<Box<[u8]>>,
    free: Vec<u32>,
    file: Option<Box<dyn File>>,
    file_pages: u32,
    free_in_file: Vec<u32>,
}

impl PageStore {
    pub fn new(page_size: usize, cap: usize) -> Self {
        Self {
            page_size,
            most: (cap / page_size.max(1)).min(IN_FILE as usize),
            ..Self::default()
        }
    }

    /// Keeps a copy of a page.
    pub fn put(&mut self, page: &[u8], spill: Spill<'_>) -> io::Result<Image> {
        if let Some(slot) = self.free.pop() {
            if let Some(memory) = self.memory.get_mut(slot as usize) {
                memory.copy_from_slice(page);
            }
            return Ok(Image(slot));
        }
        if self.memory.len() < self.most {
            self.memory.push(page.into());
            // Fewer than 2^31.
            return Ok(Image(self.memory.len() as u32 - 1));
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(spill()?),
        };
        let at = self.free_in_file.pop().unwrap_or(self.file_pages);
        if at >= IN_FILE - 2 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if let Err(error) = file.write_at(page, u64::from(at) * self.page_size as u64) {
            if at < self.file_pages {
                self.free_in_file.push(at);
            }
            return Err(error);
        }
        self.file_pages = self.file_pages.max(at + 1);
        Ok(Image(at | IN_FILE))
    }

    /// Whether more pages are in the file than memory holds.
    pub fn is_short(&self) -> bool {
        self.file_pages as usize - self.free_in_file.len() > self.most
    }

    /// A page that is in memory.
    pub fn in_memory(&self, image: Image) -> Option<&[u8]> {
        let memory = self.memory.get(image.0 as usize)?;
        Some(memory)
    }

    fn in_file(&self, image: Image) -> io::Result<(&dyn File, u64)> {
        let file = self.file.as_ref().filter(|_| image.0 & IN_FILE != 0);
        let at = u64::from(image.0 & !IN_FILE) * self.page_size as u64;
        Ok((&**file.ok_or_else(lost)?, at))
    }

    /// Overwrites a page.
    pub fn overwrite(&mut self, image: Image, page: &[u8]) -> io::Result<()> {
        if let Some(memory) = self.memory.get_mut(image.0 as usize) {
            memory.copy_from_slice(page);
            return Ok(());
        }
        let (file, at) = self.in_file(image)?;
        file.write_at(page, at)
    }

    /// Reads from `offset` in a page on.
    pub fn read(&self, image: Image, offset: usize, to: &mut [u8]) -> io::Result<()> {
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

    /// Forgets a page.
    pub fn give_back(&mut self, image: Image) {
        if image.0 & IN_FILE != 0 {
            self.free_in_file.push(image.0 & !IN_FILE);
        } else {
            self.free.push(image.0);
        }
    }

    /// Gives the file back, once all pages were given back.
    pub fn rest(&mut self) {
        self.file = None;
        self.file_pages = 0;
        self.free_in_file = Vec::new();
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
    use crate::redo::tests::Memory;

    #[test]
    fn pages_beyond_the_cap_are_in_the_file() {
        let mut store = PageStore::new(512, 1024);
        let spill = || -> io::Result<Box<dyn File>> { Ok(Box::new(Memory::default())) };
        let mut images: Vec<Image> = (0..5)
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
        store.give_back(images.remove(1));
        store.give_back(images.remove(2));
        images.push(store.put(&[6; 512], &spill).unwrap());
        images.push(store.put(&[7; 512], &spill).unwrap());
        let mut page = [0; 100];
        for (image, byte) in images.iter().zip([40, 2, 44, 6, 7]) {
            store.read(*image, 412, &mut page).unwrap();
            assert_eq!(page, [byte; 100]);
        }
        assert_eq!(store.file_pages, 3);
    }
}
