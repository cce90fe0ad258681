//! External sort: sorted runs in an unnamed temporary file, merged.
//!
//! ```text
//! file := run*
//! run  := item*                          ascending
//! item := length:u32le key_length:u16le key value
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::paths::parent_of;
use crate::error::{Error, Result};

/// The read buffer of each run in bytes.
const BUFFER: usize = 32 << 10;

/// Sorted runs of items in a temporary file.
pub(crate) struct SortedRuns {
    file: File,
    /// For messages.
    near: PathBuf,
    runs: Vec<Range<u64>>,
    end: u64,
}

impl SortedRuns {
    /// Creates an empty file in the directory of `store`. It is deleted when the process ends,
    /// however it ends.
    pub(crate) fn beside(store: &Path) -> Result<Self> {
        let directory = parent_of(store);
        let file = tempfile::tempfile_in(directory).map_err(|e| Error::io(directory, e))?;
        Ok(Self {
            file,
            near: directory.to_owned(),
            runs: Vec::new(),
            end: 0,
        })
    }

    /// Writes a run of the items (key, value) of `each`, ascending by key.
    pub(crate) fn write(
        &mut self,
        each: impl FnOnce(&mut dyn FnMut(&[u8], &[&[u8]]) -> std::io::Result<()>) -> std::io::Result<()>,
    ) -> Result<()> {
        let begin = self.end;
        let mut out = std::io::BufWriter::with_capacity(256 << 10, &self.file);
        let mut written = 0u64;
        let done = each(&mut |key, values| {
            let length = 2 + key.len() + values.iter().map(|v| v.len()).sum::<usize>();
            let too_long = || std::io::Error::from(std::io::ErrorKind::InvalidInput);
            out.write_all(&u32::try_from(length).map_err(|_| too_long())?.to_le_bytes())?;
            out.write_all(
                &u16::try_from(key.len())
                    .map_err(|_| too_long())?
                    .to_le_bytes(),
            )?;
            out.write_all(key)?;
            values.iter().try_for_each(|v| out.write_all(v))?;
            written += 4 + length as u64;
            Ok(())
        });
        done.and_then(|()| out.flush())
            .map_err(|e| Error::io(&self.near, e))?;
        self.end = begin + written;
        self.runs.push(begin..self.end);
        Ok(())
    }

    /// Returns true if there are no runs.
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    fn run_readers(&self) -> impl Iterator<Item = RunReader<'_>> {
        self.runs.iter().map(|range| RunReader {
            runs: self,
            range: range.clone(),
            buffer: Vec::new(),
            at: 0,
        })
    }

    /// Calls `visit` with each item of one run after the other, with one item in memory.
    pub(crate) fn for_each_unsorted(
        &self,
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        for mut reader in self.run_readers() {
            while let Some((key, value)) = reader.next()? {
                visit(&key, &value)?;
            }
        }
        Ok(())
    }

    /// Calls `visit` with each item of all runs, ascending; equal keys in the order of their runs.
    pub(crate) fn for_each_merged(
        &self,
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut readers: Vec<RunReader<'_>> = self.run_readers().collect();
        let mut heap = BinaryHeap::new();
        for (run, reader) in readers.iter_mut().enumerate() {
            if let Some((key, value)) = reader.next()? {
                heap.push(Reverse((key, run, value)));
            }
        }
        while let Some(Reverse((key, run, value))) = heap.pop() {
            visit(&key, &value)?;
            if let Some((key, value)) = readers[run].next()? {
                heap.push(Reverse((key, run, value)));
            }
        }
        Ok(())
    }
}

/// Reads a run from its beginning.
struct RunReader<'r> {
    runs: &'r SortedRuns,
    /// The unread range.
    range: Range<u64>,
    buffer: Vec<u8>,
    at: usize,
}

impl RunReader<'_> {
    /// Returns the key and value of the next item.
    fn next(&mut self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let Some(length) = self.take_bytes(4)? else {
            return Ok(None);
        };
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]);
        let Some(item) = self.take_bytes(length as usize)? else {
            return Ok(None);
        };
        let key = usize::from(u16::from_le_bytes([item[0], item[1]]));
        // A damaged temporary file must not panic.
        let (key, value) = item[2..].split_at(key.min(item.len() - 2));
        Ok(Some((key.to_vec(), value.to_vec())))
    }

    /// Returns the next `length` bytes; `None` at the end.
    fn take_bytes(&mut self, length: usize) -> Result<Option<&[u8]>> {
        if self.buffer.len() - self.at < length {
            self.buffer.drain(..self.at);
            self.at = 0;
            let missing = length.saturating_sub(self.buffer.len()).max(BUFFER);
            let left = self.range.end - self.range.start;
            // The bytes after the range are another run.
            let more = missing.min(usize::try_from(left).unwrap_or(usize::MAX));
            let filled = self.buffer.len();
            self.buffer.resize(filled + more, 0);
            self.runs
                .file
                .read_exact_at(&mut self.buffer[filled..], self.range.start)
                .map_err(|e| Error::io(&self.runs.near, e))?;
            self.range.start += more as u64;
        }
        if self.buffer.len() < length {
            return Ok(None);
        }
        self.at += length;
        Ok(Some(&self.buffer[self.at - length..self.at]))
    }
}

/// Sorts items (key, value) with a bounded amount of memory.
pub(crate) struct ExternalSorter {
    runs: SortedRuns,
    bytes: Vec<u8>,
    /// The start of the key, its end, and the end of the value of each item.
    items: Vec<(usize, usize, usize)>,
    most: usize,
}

impl ExternalSorter {
    pub(crate) fn new(store: &Path, most: usize) -> Result<Self> {
        Ok(Self {
            runs: SortedRuns::beside(store)?,
            bytes: Vec::new(),
            items: Vec::new(),
            most,
        })
    }

    pub(crate) fn push(&mut self, key: &[u8], values: &[&[u8]]) -> Result<()> {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let middle = self.bytes.len();
        values.iter().for_each(|v| self.bytes.extend_from_slice(v));
        self.items.push((begin, middle, self.bytes.len()));
        if self.bytes.len() + self.items.len() * size_of::<(usize, usize, usize)>() >= self.most {
            self.write_run()?;
        }
        Ok(())
    }

    fn write_run(&mut self) -> Result<()> {
        let bytes = &self.bytes;
        self.items
            .sort_unstable_by_key(|i| (&bytes[i.0..i.1], &bytes[i.1..i.2]));
        self.runs.write(|put| {
            self.items
                .iter()
                .try_for_each(|i| put(&bytes[i.0..i.1], &[&bytes[i.1..i.2]]))
        })?;
        self.items.clear();
        self.bytes.clear();
        Ok(())
    }

    /// Calls `visit` with each item (key, value), ascending by key. One item of each run is in
    /// memory; all items are if they fit.
    pub(crate) fn for_each_sorted(
        self,
        visit: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.into_runs()?.for_each_merged(visit)
    }

    /// Calls `visit` with each item in the order of pushing, which was ascending, with one item in
    /// memory.
    pub(crate) fn for_each_unsorted(
        self,
        visit: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.into_runs()?.for_each_unsorted(visit)
    }

    fn into_runs(mut self) -> Result<SortedRuns> {
        if !self.items.is_empty() {
            self.write_run()?;
        }
        Ok(self.runs)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn items_come_sorted(
            items in prop::collection::vec(
                (prop::collection::vec(any::<u8>(), 0..6), prop::collection::vec(any::<u8>(), 0..90)),
                0..400),
            most in 1usize..20_000,
        ) {
            let dir = tempfile::tempdir().unwrap();
            let mut sorter = ExternalSorter::new(&dir.path().join("s.etui"), most).unwrap();
            for (key, value) in &items {
                let (a, b) = value.split_at(value.len() / 2);
                sorter.push(key, &[a, b]).unwrap();
            }
            prop_assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
            let mut seen = Vec::new();
            sorter.for_each_sorted(|key, value| { seen.push((key.to_vec(), value.to_vec())); Ok(()) }).unwrap();
            prop_assert!(seen.is_sorted_by_key(|item| item.0.clone()));
            let mut items = items;
            items.sort();
            seen.sort();
            prop_assert_eq!(seen, items);
        }

        #[test]
        fn what_was_pushed_in_order_comes_in_turn(
            values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..900), 0..200),
            most in 1usize..20_000,
        ) {
            let dir = tempfile::tempdir().unwrap();
            let mut sorter = ExternalSorter::new(&dir.path().join("s.etui"), most).unwrap();
            for (n, value) in values.iter().enumerate() {
                sorter.push(&n.to_be_bytes(), &[value]).unwrap();
            }
            let mut seen = Vec::new();
            sorter.for_each_unsorted(|_, value| { seen.push(value.to_vec()); Ok(()) }).unwrap();
            prop_assert_eq!(seen, values);
        }
    }
}
