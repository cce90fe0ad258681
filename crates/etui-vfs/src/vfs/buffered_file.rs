//! [`BufferedFile`]: a file of a database with optional deferred writes and read-ahead.
//!
//! ```text
//! deferred write -> buffer, sorted and merged -> few writes  (at a flush, a truncation, or when full)
//! read           <- deferred writes, else read-ahead, else the file
//! ```
//!
//! All handles of a file share one [`SharedBuffer`], so each sees the deferred writes of the
//! others. Writes of a database follow those of its rollback journal, so a killed process keeps
//! their order.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::counters::CountedFile;
use crate::deferred_writes::DeferredWrites;
use crate::device::{File, Lock, SqliteFile};
use crate::mutation::{BrokenRule, Mutation};
use crate::read_ahead::ReadAheadBuffer;
use etui_redo::codec::is_page_size;

/// The options of a buffer besides deferred writes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BufferOptions {
    /// The size of the read-ahead buffer.
    pub read: usize,
    /// The step in which the file grows.
    pub step: u64,
    /// Deferred writes beyond the end of the file set its size once, before they are written.
    pub extends_once: bool,
}

/// The longest deferred run that reaches the file in a single write.
const SINGLE_WRITE: usize = 64 << 10;

#[derive(Debug, Default)]
struct BufferState {
    pending: DeferredWrites,
    windows: Option<ReadAheadBuffer>,
    /// The reported length of the file, if the file is longer.
    end: Option<u64>,
}

/// The state shared by the handles of a file.
#[derive(Debug)]
pub(super) struct SharedBuffer {
    tuning: BufferOptions,
    broken: BrokenRule,
    /// Reads must consult the state, not the file alone.
    is_used: AtomicBool,
    page_size: AtomicU32,
    state: Mutex<BufferState>,
    /// The file whose deferred writes precede those of this one.
    before: Mutex<Weak<BufferedFile>>,
}

impl SharedBuffer {
    pub fn new(tuning: BufferOptions, broken: BrokenRule) -> Arc<Self> {
        Arc::new(Self {
            tuning,
            broken,
            is_used: AtomicBool::new(false),
            page_size: AtomicU32::new(0),
            state: Mutex::default(),
            before: Mutex::default(),
        })
    }

    /// Makes the writes of this file follow those of another one.
    pub fn set_before(&self, file: &Arc<BufferedFile>) {
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        *before = Arc::downgrade(file);
    }

    /// Returns the page size of the database, once its header was read or written.
    pub fn page_size(&self) -> Option<u32> {
        match self.page_size.load(Ordering::Relaxed) {
            0 => None,
            size => Some(size),
        }
    }

    /// Returns true if the file alone is not its contents.
    pub fn is_used(&self) -> bool {
        self.is_used.load(Ordering::Acquire)
    }

    /// Discards the read-ahead buffer, as other processes may have changed the file.
    pub fn invalidate_read_ahead(&self) {
        if let Some(windows) = &mut self.state().windows {
            windows.clear();
        }
    }

    fn state(&self) -> MutexGuard<'_, BufferState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the page size at offset 16 of a database: big-endian, 1 means 65,536.
    fn update_page_size(&self, bytes: &[u8], offset: u64) {
        if offset == 0
            && let Some(&[high, low]) = bytes.get(16..18)
        {
            let size = match u32::from(u16::from_be_bytes([high, low])) {
                1 => 65_536,
                size => size,
            };
            if is_page_size(size as usize) {
                self.page_size.store(size, Ordering::Relaxed);
            }
        }
    }
}

/// A handle of a file.
#[derive(Debug)]
pub(super) struct BufferedFile {
    file: CountedFile,
    buffer: Arc<SharedBuffer>,
}

impl BufferedFile {
    pub fn new(file: CountedFile, buffer: Arc<SharedBuffer>) -> Self {
        Self { file, buffer }
    }

    pub fn buffer(&self) -> &Arc<SharedBuffer> {
        &self.buffer
    }

    /// Defers a write until a flush, a truncation, or more than `bound` deferred bytes. With 0 it
    /// writes at once.
    pub fn defer_write(&self, bytes: &[u8], offset: u64, bound: usize) -> io::Result<()> {
        if bound == 0 {
            return self.write_at(bytes, offset);
        }
        self.buffer.update_page_size(bytes, offset);
        let state = &mut *self.buffer.state();
        if state.pending.bytes().saturating_add(bytes.len()) > bound {
            self.write_pending(state)?;
        }
        if bytes.len() > bound {
            return self.write_below(state, bytes, offset);
        }
        state.pending.write(offset, bytes);
        self.note_use(state);
        Ok(())
    }

    /// Writes the deferred bytes. After an error they stay deferred, and readers see them.
    pub fn flush(&self) -> io::Result<()> {
        match self.buffer.is_used() {
            true => self.write_pending(&mut self.buffer.state()),
            false => Ok(()),
        }
    }

    /// Truncates the file to its reported length. Returns true if it was longer.
    pub fn trim_to_len(&self) -> io::Result<bool> {
        let state = &mut *self.buffer.state();
        let Some(end) = state.end else {
            return Ok(false);
        };
        self.file.set_len(end)?;
        state.end = None;
        self.note_use(state);
        Ok(true)
    }

    /// Reduces the reported length; the file is unchanged.
    pub fn set_reported_len(&self, len: u64) -> io::Result<()> {
        let state = &mut *self.buffer.state();
        state.pending.truncate(len);
        self.write_pending(state)?;
        state.end = Some(len);
        self.note_use(state);
        Ok(())
    }

    /// Reads, also from the part of the file beyond its reported length.
    pub fn read_past_reported_len(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let there = self.read_at(bytes, offset)?;
        match bytes.get_mut(there..) {
            Some(rest) if !rest.is_empty() => {
                let more = self
                    .file
                    .read_at(rest, offset.saturating_add(there as u64))?;
                Ok(there + more)
            }
            _ => Ok(there),
        }
    }

    /// Truncates the file if it is longer, without another change.
    pub fn shrink_to(&self, len: u64) -> io::Result<()> {
        let state = &mut *self.buffer.state();
        if self.file.len()? <= len {
            return Ok(());
        }
        self.file.set_len(len)?;
        if let Some(end) = &mut state.end {
            *end = len.min(*end);
        }
        Ok(())
    }

    fn note_use(&self, state: &BufferState) {
        let used = !state.pending.is_empty() || state.windows.is_some() || state.end.is_some();
        self.buffer.is_used.store(used, Ordering::Release);
    }

    fn write_pending(&self, state: &mut BufferState) -> io::Result<()> {
        let before = self.buffer.before.lock();
        let before = before.unwrap_or_else(PoisonError::into_inner).upgrade();
        if let Some(before) = before {
            before.flush()?;
        }
        if state.pending.is_empty() {
            return Ok(());
        }
        let runs = state.pending.merged_runs();
        // Several writes beyond the end of the file: one change of its size, not one for each.
        let end = state.pending.end();
        let extends_once = self.buffer.tuning.extends_once && self.buffer.tuning.step == 0;
        if extends_once
            && (runs.len() > 1 || state.pending.bytes() > SINGLE_WRITE)
            && end > self.file.len()?
        {
            self.file.set_len(end)?;
        }
        for (offset, run) in runs {
            self.write_below(state, &run, offset)?;
        }
        state.pending.clear();
        self.note_use(state);
        Ok(())
    }

    fn round_up_to_step(&self, len: u64) -> u64 {
        match self.buffer.tuning.step {
            0 => len,
            step => len.checked_next_multiple_of(step).unwrap_or(len),
        }
    }

    fn write_below(&self, state: &mut BufferState, bytes: &[u8], offset: u64) -> io::Result<()> {
        let end = offset.saturating_add(bytes.len() as u64);
        if let Some(windows) = &mut state.windows {
            windows.invalidate_range(offset, end);
        }
        if self.buffer.tuning.step > 0 && state.end.is_none_or(|told| end > told) {
            let there = self.file.len()?;
            let told = state.end.unwrap_or(there);
            if end > there {
                self.file.set_len(self.round_up_to_step(end))?;
            }
            state.end = Some(told.max(end));
            self.note_use(state);
        } else if let Some(told) = &mut state.end {
            *told = end.max(*told);
        }
        self.file.write_at(bytes, offset)
    }

    fn read_below(&self, state: &mut BufferState, to: &mut [u8], offset: u64) -> io::Result<usize> {
        let to = match state.end {
            Some(end) => {
                let there = usize::try_from(end.saturating_sub(offset)).unwrap_or(usize::MAX);
                let there = there.min(to.len());
                to.get_mut(..there).unwrap_or_default()
            }
            None => to,
        };
        let (wanted, page_size) = (self.buffer.tuning.read, self.buffer.page_size());
        let Some(page_size) = page_size.filter(|_| wanted > 0) else {
            return self.file.read_at(to, offset);
        };
        let windows = state
            .windows
            .get_or_insert_with(|| ReadAheadBuffer::new(wanted));
        if windows.get(offset, to) {
            return Ok(to.len());
        }
        let range = windows.range_for(offset, to.len(), u64::from(page_size));
        let Some((begin, len)) = range.filter(|_| !to.is_empty()) else {
            return self.file.read_at(to, offset);
        };
        let mut window = vec![0; len];
        let there = self.file.read_at(&mut window, begin)?;
        window.truncate(there);
        windows.put(begin, window);
        self.buffer.is_used.store(true, Ordering::Release);
        match windows.get(offset, to) {
            true => Ok(to.len()),
            // The window ends within the requested range.
            false => self.file.read_at(to, offset),
        }
    }
}

impl File for BufferedFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        if !self.buffer.is_used() && self.buffer.tuning.read == 0 {
            let there = self.file.read_at(bytes, offset)?;
            self.buffer
                .update_page_size(bytes.get(..there).unwrap_or_default(), offset);
            return Ok(there);
        }
        let state = &mut *self.buffer.state();
        if self.buffer.broken.is(Mutation::ReadPastDeferred) {
            return self.read_below(state, bytes, offset);
        }
        if state.pending.covers_range(offset, bytes.len()) {
            state.pending.copy_onto(offset, bytes);
            return Ok(bytes.len());
        }
        let mut there = self.read_below(state, bytes, offset)?;
        if !state.pending.is_empty() {
            bytes.get_mut(there..).unwrap_or_default().fill(0);
            state.pending.copy_onto(offset, bytes);
            let kept = state.pending.end().saturating_sub(offset);
            let kept = usize::try_from(kept).unwrap_or(usize::MAX);
            there = there.max(kept.min(bytes.len()));
        }
        self.buffer
            .update_page_size(bytes.get(..there).unwrap_or_default(), offset);
        Ok(there)
    }

    fn read_exclusive(&mut self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        if self.buffer.is_used() || self.buffer.tuning.read != 0 || offset == 0 {
            return self.read_at(bytes, offset);
        }
        self.file.read_exclusive(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.buffer.update_page_size(bytes, offset);
        let state = &mut *self.buffer.state();
        self.write_pending(state)?;
        self.write_below(state, bytes, offset)
    }

    fn len(&self) -> io::Result<u64> {
        if !self.buffer.is_used() {
            return self.file.len();
        }
        let state = self.buffer.state();
        let below = match state.end {
            Some(end) => end,
            None => self.file.len()?,
        };
        Ok(below.max(state.pending.end()))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let state = &mut *self.buffer.state();
        state.pending.truncate(len);
        self.write_pending(state)?;
        if let Some(windows) = &mut state.windows {
            windows.clear();
        }
        let stepped = self.round_up_to_step(len);
        state.end = (stepped > len).then_some(len);
        self.note_use(state);
        match stepped > len && self.file.len()? == stepped {
            true => Ok(()),
            false => self.file.set_len(stepped),
        }
    }

    fn sync(&self) -> io::Result<()> {
        if !self.buffer.broken.is(Mutation::FlushWithoutDeferred) {
            self.flush()?;
        }
        self.file.sync()
    }

    fn lock(&self, lock: Lock) -> io::Result<bool> {
        self.file.lock(lock)
    }

    fn host(&mut self) -> Option<&mut SqliteFile> {
        self.file.host()
    }
}
