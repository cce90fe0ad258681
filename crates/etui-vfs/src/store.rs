//! [`PageStore`]: pages in memory up to a cap, beyond it in a file without a name.

use std::io;

use crate::device::File;

/// Opens the file that takes what does not fit into memory.
pub(crate) type Spill<'a> = &'a dyn Fn() -> io::Result<Box<dyn File>>;

/// Where a page is.
#[derive(Debug)]
pub(crate) enum Image {
    Memory(Box<[u8]>),
    /// In the file, at this multiple of the page size.
    Spilled(u64),
}

/// Pages of one size.
#[derive(Debug, Default)]
pub(crate) struct PageStore {
    page_size: usize,
    /// How many pages may be in memory.
    most: usize,
    in_memory: usize,
    /// Memory that was given back, to be used again.
    free: Vec<Box<[u8]>>,
    file: Option<Box<dyn File>>,
    file_pages: u64,
    free_in_file: Vec<u64>,
}

impl PageStore {
    pub fn new(page_size: usize, cap: usize) -> Self {
        Self {
            page_size,
            most: cap / page_size.max(1),
            ..Self::default()
        }
    }

    /// Keeps a copy of a page.
    pub fn put(&mut self, page: &[u8], spill: Spill<'_>) -> io::Result<Image> {
        if self.in_memory < self.most {
            self.in_memory += 1;
            let memory = match self.free.pop() {
                Some(mut memory) => {
                    memory.copy_from_slice(page);
                    memory
                }
                None => page.into(),
            };
            return Ok(Image::Memory(memory));
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(spill()?),
        };
        let at = match self.free_in_file.pop() {
            Some(at) => at,
            None => {
                self.file_pages += 1;
                self.file_pages - 1
            }
        };
        file.write_at(page, at * self.page_size as u64)?;
        Ok(Image::Spilled(at))
    }

    /// Overwrites a page.
    pub fn overwrite(&self, image: &mut Image, page: &[u8]) -> io::Result<()> {
        match (image, &self.file) {
            (Image::Memory(memory), _) => {
                memory.copy_from_slice(page);
                Ok(())
            }
            (Image::Spilled(at), Some(file)) => file.write_at(page, *at * self.page_size as u64),
            (Image::Spilled(_), None) => Err(lost()),
        }
    }

    /// Reads from `offset` in a page on.
    pub fn read(&self, image: &Image, offset: usize, to: &mut [u8]) -> io::Result<()> {
        match (image, &self.file) {
            (Image::Memory(memory), _) => {
                let from = memory.get(offset..offset.saturating_add(to.len()));
                to.copy_from_slice(from.ok_or_else(lost)?);
                Ok(())
            }
            (Image::Spilled(at), Some(file)) => {
                let at = *at * self.page_size as u64 + offset as u64;
                if file.read_at(to, at)? == to.len() {
                    Ok(())
                } else {
                    Err(lost())
                }
            }
            (Image::Spilled(_), None) => Err(lost()),
        }
    }

    /// Forgets a page.
    pub fn give_back(&mut self, image: Image) {
        match image {
            Image::Memory(memory) => {
                self.in_memory -= 1;
                self.free.push(memory);
            }
            Image::Spilled(at) => self.free_in_file.push(at),
        }
    }

    /// Forgets what lies in the file, once all that was put was given back.
    pub fn rest(&mut self) {
        if self.in_memory == 0 {
            self.file = None;
            self.file_pages = 0;
            self.free_in_file.clear();
        }
    }
}

fn lost() -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        "a page that was put aside cannot be found again",
    )
}
