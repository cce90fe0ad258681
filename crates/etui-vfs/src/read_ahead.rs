//! [`ReadAheadBuffer`]: parts of a file that were read ahead.

use std::collections::VecDeque;

#[derive(Debug)]
struct ReadAheadWindow {
    begin: u64,
    bytes: Vec<u8>,
}

/// Parts of a file, the most recently read one last.
#[derive(Debug)]
pub(crate) struct ReadAheadBuffer {
    /// The size of the buffer in bytes.
    capacity: usize,
    windows: VecDeque<ReadAheadWindow>,
}

impl ReadAheadBuffer {
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            windows: VecDeque::new(),
        }
    }

    /// Fills `to` if the buffer has the whole range.
    pub fn get(&self, offset: u64, to: &mut [u8]) -> bool {
        self.windows.iter().any(|window| {
            let Some(at) = offset.checked_sub(window.begin) else {
                return false;
            };
            let Some(from) = usize::try_from(at)
                .ok()
                .and_then(|at| window.bytes.get(at..at.checked_add(to.len())?))
            else {
                return false;
            };
            to.copy_from_slice(from);
            true
        })
    }

    /// Returns the range to read for a missing one: whole pages, as far ahead as the buffer can
    /// hold. Returns `None` if the request itself does not fit.
    pub fn range_for(&self, offset: u64, length: usize, page_size: u64) -> Option<(u64, usize)> {
        let begin = offset - offset % page_size;
        let need = (offset - begin).saturating_add(length as u64);
        let pages = |bytes: u64| bytes.div_ceil(page_size).saturating_mul(page_size);
        let capacity = self.capacity as u64;
        let ahead = pages(need.max(capacity)).min(capacity - capacity % page_size);
        let ahead = usize::try_from(ahead).ok()?;
        (need <= ahead as u64).then_some((begin, ahead))
    }

    /// Adds a part, and drops the oldest ones beyond the capacity.
    pub fn put(&mut self, begin: u64, bytes: Vec<u8>) {
        self.windows.push_back(ReadAheadWindow { begin, bytes });
        let mut kept: usize = self.windows.iter().map(|window| window.bytes.len()).sum();
        while kept > self.capacity {
            let Some(oldest) = self.windows.pop_front() else {
                break;
            };
            kept = kept.saturating_sub(oldest.bytes.len());
        }
    }

    /// Drops the parts that a write changes.
    pub fn invalidate_range(&mut self, begin: u64, end: u64) {
        self.windows.retain(|window| {
            let window_end = window.begin.saturating_add(window.bytes.len() as u64);
            window_end <= begin || window.begin >= end
        });
    }

    /// Drops everything.
    pub fn clear(&mut self) {
        self.windows.clear();
    }
}
