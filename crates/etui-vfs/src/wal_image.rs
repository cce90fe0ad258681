//! [`WalImage`]: the volatile WAL that SQLite reads and writes. It exists in memory only; the redo
//! log makes commits durable.
//!
//! ```text
//! SQLite sees: | header, 32 bytes | frame 1: header, 24 bytes; page | frame 2 | ...
//! ```
//!
//! Pages that no reader can request any more are released ([`WalImage::release`]); others may be
//! stored as deltas to the database file ([`WalImage::store_deltas`]).

use std::io;

use crate::page_store::{OpenSpillFile, PageSlot, PageStore};
use etui_redo::codec::PageHeader;
use etui_redo::hash;

/// Bytes of the WAL's header.
pub(crate) const HEADER: usize = 32;
/// Bytes of a frame's header.
pub(crate) const FRAME_HEADER: usize = 24;

/// The share of the memory available to deltas.
const FOR_FOLDED: usize = 8;

/// The page of a frame.
#[derive(Debug)]
enum FrameContent {
    /// Not written yet.
    Missing,
    Page(PageSlot),
    /// A delta to the database file, by its index.
    Folded(u32),
    /// Equal to the page in the database file, with this hash.
    InPlace(u64),
    /// Released.
    Gone,
}

/// Reads a page of the database file.
pub(crate) type ReadBasePage<'a> = &'a dyn Fn(u32, &mut [u8]) -> io::Result<()>;

#[derive(Debug)]
struct Frame {
    header: [u8; FRAME_HEADER],
    content: FrameContent,
}

/// A part of the WAL. Frames count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WalSpan {
    Header,
    FrameHeader(u32),
    Page(u32),
}

/// The volatile WAL.
#[derive(Debug, Default)]
pub(crate) struct WalImage {
    header: Option<[u8; HEADER]>,
    frames: Vec<Frame>,
    page_size: usize,
    store: PageStore,
    folded: Vec<Box<[u8]>>,
    free_folded: Vec<u32>,
    folded_bytes: usize,
    in_place: usize,
    cap: usize,
}

fn index(frame: u32) -> usize {
    // There is no frame 0: it gets an index that no frame has.
    (frame as usize).wrapping_sub(1)
}

/// Checks a page that was read from the database file, in whole or in part, against its hash.
fn is_expected(page: &[u8], expected: u64) -> io::Result<()> {
    match hash(page) == expected {
        true => Ok(()),
        false => Err(io::Error::other(
            "the database's file was changed below the WAL",
        )),
    }
}

fn gone() -> io::Error {
    io::Error::other("a page of a snapshot that nobody held was asked for")
}

impl WalImage {
    /// Creates an empty WAL whose pages use at most `cap` bytes of memory.
    pub fn new(cap: usize) -> Self {
        Self {
            cap,
            ..Self::default()
        }
    }

    pub fn page_size(&self) -> usize {
        self.page_size
    }

    /// Returns the salts of the header.
    pub fn wal_salts(&self) -> Option<[u8; 8]> {
        self.header.as_ref()?.get(16..24)?.try_into().ok()
    }

    fn frame_size(&self) -> usize {
        FRAME_HEADER + self.page_size
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> u64 {
        match self.header {
            Some(_) => (HEADER + self.frames.len() * self.frame_size()) as u64,
            None => 0,
        }
    }

    /// Returns the part of the WAL that a write addresses; `None`: SQLite never writes such a
    /// range.
    pub fn place(&self, offset: u64, len: usize) -> Option<WalSpan> {
        if offset == 0 && len == HEADER {
            return Some(WalSpan::Header);
        }
        if self.page_size == 0 {
            return None;
        }
        let at = usize::try_from(offset).ok()?.checked_sub(HEADER)?;
        let frame = u32::try_from(at / self.frame_size() + 1).ok()?;
        match at % self.frame_size() {
            0 if len == FRAME_HEADER => Some(WalSpan::FrameHeader(frame)),
            FRAME_HEADER if len == self.page_size => Some(WalSpan::Page(frame)),
            _ => None,
        }
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.truncate(0);
        self.header = None;
    }

    /// Starts again with a header, which contains the page size.
    pub fn restart(&mut self, header: [u8; HEADER], page_size: usize) {
        self.clear();
        if page_size != self.page_size {
            self.page_size = page_size;
            self.store = PageStore::new(page_size, self.cap - self.cap / FOR_FOLDED);
        }
        self.header = Some(header);
    }

    /// Truncates the WAL.
    pub fn truncate(&mut self, len: u64) {
        let frames = match usize::try_from(len)
            .ok()
            .and_then(|len| len.checked_sub(HEADER))
        {
            Some(len) if self.page_size > 0 => len / self.frame_size(),
            Some(_) => 0,
            None => {
                self.header = None;
                0
            }
        };
        for frame in (frames as u32 + 1)..=(self.frames.len() as u32) {
            self.release(frame);
        }
        self.frames.truncate(frames);
        if self.frames.is_empty() {
            self.store.rest();
            self.folded.clear();
            self.free_folded.clear();
        }
    }

    /// Writes the header of an existing frame, or of a new one at the end.
    pub fn set_frame_header(&mut self, frame: u32, header: [u8; FRAME_HEADER]) -> io::Result<()> {
        if index(frame) == self.frames.len() {
            self.frames.push(Frame {
                header,
                content: FrameContent::Missing,
            });
            return Ok(());
        }
        let there = self.frames.get_mut(index(frame)).ok_or_else(gone)?;
        there.header = header;
        Ok(())
    }

    /// Writes the page of a frame.
    pub fn set_page(
        &mut self,
        frame: u32,
        page: &[u8],
        spill: OpenSpillFile<'_>,
    ) -> io::Result<()> {
        let there = self.frames.get_mut(index(frame)).ok_or_else(gone)?;
        match there.content {
            FrameContent::Page(image) => self.store.overwrite(image, page)?,
            FrameContent::Missing
            | FrameContent::Gone
            | FrameContent::Folded(_)
            | FrameContent::InPlace(_) => {
                let image = self.store.put(page, spill)?;
                self.release(frame);
                if let Some(there) = self.frames.get_mut(index(frame)) {
                    there.content = FrameContent::Page(image);
                }
            }
        }
        Ok(())
    }

    /// Releases the page of a frame that no reader requests any more.
    pub fn release(&mut self, frame: u32) {
        let Some(there) = self.frames.get_mut(index(frame)) else {
            return;
        };
        match std::mem::replace(&mut there.content, FrameContent::Gone) {
            FrameContent::Page(image) => self.store.release_slot(image),
            FrameContent::Folded(at) => {
                if let Some(folded) = self.folded.get_mut(at as usize) {
                    self.folded_bytes -= folded.len();
                    *folded = Box::default();
                    self.free_folded.push(at);
                }
            }
            FrameContent::InPlace(_) => self.in_place -= 1,
            FrameContent::Missing | FrameContent::Gone => {}
        }
    }

    /// Marks the page of a frame as equal to the page in the database file.
    pub fn set_in_place(&mut self, frame: u32, hash: u64) {
        self.release(frame);
        if let Some(there) = self.frames.get_mut(index(frame)) {
            there.content = FrameContent::InPlace(hash);
            self.in_place += 1;
        }
    }

    /// Returns the hash of a frame's page if it is in place.
    pub fn in_place(&self, frame: u32) -> Option<u64> {
        match self.frames.get(index(frame))?.content {
            FrameContent::InPlace(hash) => Some(hash),
            _ => None,
        }
    }

    /// Returns true if the next page makes pages go to the file.
    pub fn spills_next(&self) -> bool {
        self.store.spills_next()
    }

    /// Returns true if pages should be stored as deltas: the file has more pages than memory holds,
    /// and there is room.
    pub fn exceeds_memory(&self) -> bool {
        let room = self.cap / FOR_FOLDED - self.cap / FOR_FOLDED / 16;
        self.folded_bytes < room && self.store.exceeds_memory()
    }

    /// Returns true if any page was released.
    pub fn has_released(&self) -> bool {
        let mut frames = self.frames.iter();
        frames.any(|frame| matches!(frame.content, FrameContent::Gone))
    }

    /// Returns true if any page is a delta or in place.
    pub fn has_deltas(&self) -> bool {
        self.folded_bytes > 0 || self.in_place > 0
    }

    /// Returns true if the frame's page is a delta or in place.
    pub fn is_delta(&self, frame: u32) -> bool {
        let there = self.frames.get(index(frame));
        there.is_some_and(|there| {
            matches!(
                there.content,
                FrameContent::Folded(_) | FrameContent::InPlace(_)
            )
        })
    }

    /// Stores the page of a frame as a delta to the database file, encoded as in a record. Returns
    /// false if there is no room.
    pub fn store_deltas(&mut self, frame: u32, folded: &[u8]) -> bool {
        if self.folded_bytes + folded.len() > self.cap / FOR_FOLDED
            || index(frame) >= self.frames.len()
        {
            return false;
        }
        self.release(frame);
        self.folded_bytes += folded.len();
        let at = match self.free_folded.pop() {
            Some(at) => at,
            None => {
                self.folded.push(Box::default());
                self.folded.len() as u32 - 1
            }
        };
        if let Some(place) = self.folded.get_mut(at as usize) {
            *place = folded.into();
        }
        if let Some(there) = self.frames.get_mut(index(frame)) {
            there.content = FrameContent::Folded(at);
        }
        true
    }

    /// Stores the whole page of a frame again.
    pub fn restore_whole_page(
        &mut self,
        frame: u32,
        page: &[u8],
        spill: OpenSpillFile<'_>,
    ) -> io::Result<()> {
        self.set_page(frame, page, spill)
    }

    /// Rebuilds a page from its delta and the database file.
    fn rebuild_page(&self, at: u32, to: &mut [u8], below: ReadBasePage<'_>) -> io::Result<()> {
        let mut folded = &**self.folded.get(at as usize).ok_or_else(gone)?;
        let head = PageHeader::read(&mut folded).map_err(|_| gone())?;
        if !head.on_zeros {
            below(head.number, to)?;
        }
        head.apply(&mut folded, to).map_err(|_| gone())?;
        is_expected(to, head.hash)
    }

    /// Reads a page that is in place.
    fn read_in_place(
        &self,
        frame: u32,
        expected: u64,
        to: &mut [u8],
        below: ReadBasePage<'_>,
    ) -> io::Result<()> {
        below(self.page_number(frame).ok_or_else(gone)?, to)?;
        is_expected(to, expected)
    }

    /// Returns the page number of a frame.
    pub fn page_number(&self, frame: u32) -> Option<u32> {
        let header = &self.frames.get(index(frame))?.header;
        Some(u32::from_be_bytes(header.get(..4)?.try_into().ok()?))
    }

    /// Returns the page of a frame: from memory, else read into the buffer, which has the size of a
    /// page.
    pub fn page<'a>(
        &'a self,
        frame: u32,
        buffer: &'a mut [u8],
        below: ReadBasePage<'_>,
    ) -> io::Result<&'a [u8]> {
        let there = self.frames.get(index(frame)).ok_or_else(gone)?;
        match there.content {
            FrameContent::Page(image) => match self.store.in_memory(image) {
                Some(page) => return Ok(page),
                None => self.store.read(image, 0, buffer)?,
            },
            FrameContent::Folded(at) => self.rebuild_page(at, buffer, below)?,
            FrameContent::InPlace(hash) => self.read_in_place(frame, hash, buffer, below)?,
            FrameContent::Missing | FrameContent::Gone => return Err(gone()),
        }
        Ok(buffer)
    }

    /// Reads at an offset. Returns the number of bytes.
    pub fn read(&self, to: &mut [u8], offset: u64, below: ReadBasePage<'_>) -> io::Result<usize> {
        let len = self.len().saturating_sub(offset);
        let len = usize::try_from(len).map_or(to.len(), |len| len.min(to.len()));
        let mut at = usize::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut to = to.get_mut(..len).unwrap_or_default();
        while !to.is_empty() {
            // A part of no bytes would repeat for ever.
            let part = self.read_part(to, at, below)?.max(1);
            at += part;
            to = to.get_mut(part..).unwrap_or_default();
        }
        Ok(len)
    }

    /// Reads to the end of the header or page at the offset.
    fn read_part(&self, to: &mut [u8], at: usize, below: ReadBasePage<'_>) -> io::Result<usize> {
        let (from, within) = match at.checked_sub(HEADER) {
            None => (self.header.as_ref().map_or(&[][..], |header| header), at),
            Some(at) => {
                let number = at / self.frame_size();
                let frame = self.frames.get(number).ok_or_else(gone)?;
                let number = number as u32 + 1;
                let within = at % self.frame_size();
                if let Some(in_page) = within.checked_sub(FRAME_HEADER) {
                    let part = to.len().min(self.page_size - in_page);
                    let to = to.get_mut(..part).unwrap_or_default();
                    match frame.content {
                        FrameContent::Missing => to.fill(0),
                        FrameContent::Page(image) => self.store.read(image, in_page, to)?,
                        FrameContent::Folded(at) if to.len() == self.page_size => {
                            self.rebuild_page(at, to, below)?;
                        }
                        FrameContent::InPlace(hash) if to.len() == self.page_size => {
                            self.read_in_place(number, hash, to, below)?;
                        }
                        FrameContent::Folded(_) | FrameContent::InPlace(_) => {
                            let mut buffer = vec![0; self.page_size];
                            let page = self.page(number, &mut buffer, below)?;
                            let from = page.get(in_page..in_page + part);
                            to.copy_from_slice(from.ok_or_else(gone)?);
                        }
                        FrameContent::Gone => return Err(gone()),
                    }
                    return Ok(part);
                }
                (&frame.header[..], within)
            }
        };
        let from = from.get(within..).unwrap_or_default();
        let part = to.len().min(from.len());
        for (to, from) in to.iter_mut().zip(from) {
            *to = *from;
        }
        Ok(part)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn none() -> io::Result<Box<dyn crate::device::File>> {
        Err(gone())
    }

    fn below(_: u32, to: &mut [u8]) -> io::Result<()> {
        to.fill(7);
        Ok(())
    }

    #[test]
    fn it_is_a_file_of_a_header_and_frames() {
        let mut wal = WalImage::new(1 << 20);
        assert_eq!((wal.len(), wal.place(32, 24)), (0, None));
        assert_eq!(wal.place(0, 32), Some(WalSpan::Header));
        wal.restart([1; 32], 512);
        assert_eq!(wal.place(32, 24), Some(WalSpan::FrameHeader(1)));
        assert_eq!(wal.place(56, 512), Some(WalSpan::Page(1)));
        assert_eq!(wal.place(56 + 512, 24), Some(WalSpan::FrameHeader(2)));
        assert_eq!(wal.place(57, 512), None);
        for frame in 1..=2 {
            wal.set_frame_header(frame, [frame as u8; 24]).unwrap();
            wal.set_page(frame, &[10 * frame as u8; 512], &none)
                .unwrap();
        }
        assert_eq!(wal.len(), 32 + 2 * 536);
        let mut bytes = vec![0xee; 2000];
        assert_eq!(wal.read(&mut bytes, 31, &below).unwrap(), 1 + 2 * 536);
        let expected = [&[1; 25][..], &[10; 512], &[2; 24], &[20; 512]].concat();
        assert_eq!(bytes[..1073], expected);
        wal.release(1);
        assert!(wal.read(&mut bytes[..512], 56, &below).is_err());
        assert!(wal.page(1, &mut bytes, &below).is_err());
        assert_eq!(wal.page(2, &mut bytes, &below).unwrap(), [20; 512]);
        wal.truncate(32 + 536);
        assert_eq!(wal.len(), 32 + 536);
        assert!(wal.set_frame_header(3, [0; 24]).is_err());
        wal.truncate(0);
        assert_eq!(
            (wal.len(), wal.read(&mut bytes, 0, &below).unwrap()),
            (0, 0)
        );
    }

    #[test]
    fn a_folded_page_is_what_it_was() {
        let mut wal = WalImage::new(1 << 20);
        wal.restart([1; 32], 512);
        let mut page = [7; 512];
        page[100] = 8;
        wal.set_frame_header(1, [2; 24]).unwrap();
        wal.set_page(1, &page, &none).unwrap();
        let mut folded = Vec::new();
        let mut encoder = etui_redo::codec::PageEncoder::default();
        encoder.page(&mut folded, 5, Some(&[7; 512]), &page, hash(&page));
        assert!(wal.store_deltas(1, &folded) && wal.is_delta(1));
        let mut bytes = [0; 512];
        assert_eq!(wal.page(1, &mut bytes, &below).unwrap(), page);
        assert_eq!(
            wal.read(&mut bytes, 32 + 24 + 90, &below).unwrap(),
            512 - 90
        );
        assert_eq!(bytes[..422], page[90..]);
        let other = |_: u32, to: &mut [u8]| -> io::Result<()> {
            to.fill(9);
            Ok(())
        };
        assert!(wal.page(1, &mut bytes, &other).is_err());
        wal.restore_whole_page(1, &page, &none).unwrap();
        assert_eq!(wal.page(1, &mut bytes, &other).unwrap(), page);
        assert_eq!(wal.folded_bytes, 0);
    }
}
