//! [`Buffered`]: a file of a database that keeps writes back and reads ahead, as far as it is
//! asked to.
//!
//! ```text
//! written later ->  kept, sorted and merged  -> few writes   (when it is flushed, cut, or full)
//! read          <-  what is kept, over what was read ahead, over the file
//! ```
//!
//! All handles of a file have one [`Buffer`], so each sees what the others keep back. Nothing of
//! a database is written before what its rollback journal keeps: a killed process does not lose
//! their order either.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::counters::CountedFile;
use crate::device::{File, HostFile, Lock};
use crate::mutation::{Broken, Mutation};
use crate::pending::Pending;
use crate::redo::codec::is_page_size;
use crate::windows::Windows;

/// What a buffer is to do besides keeping what it is told to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tuning {
    /// A buffer for reading, of so many bytes.
    pub read: usize,
    /// The file grows in steps of so many bytes.
    pub step: u64,
    /// Deferred writes beyond the end of the file set its size once, before they are written.
    pub extends_once: bool,
}

/// The longest deferred run that reaches the file in a single write.
const SINGLE_WRITE: usize = 64 << 10;

#[derive(Debug, Default)]
struct State {
    pending: Pending,
    windows: Option<Windows>,
    /// The file's length as it is told, if it has more.
    end: Option<u64>,
}

/// What the handles of a file share.
#[derive(Debug)]
pub(super) struct Buffer {
    tuning: Tuning,
    broken: Broken,
    /// Whether reading the file alone does not do.
    is_used: AtomicBool,
    page_size: AtomicU32,
    state: Mutex<State>,
    /// What is to be written before anything of this file.
    before: Mutex<Weak<Buffered>>,
}

impl Buffer {
    pub fn new(tuning: Tuning, broken: Broken) -> Arc<Self> {
        Arc::new(Self {
            tuning,
            broken,
            is_used: AtomicBool::new(false),
            page_size: AtomicU32::new(0),
            state: Mutex::default(),
            before: Mutex::default(),
        })
    }

    /// Writes of this file wait for those of another one.
    pub fn set_before(&self, file: &Arc<Buffered>) {
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        *before = Arc::downgrade(file);
    }

    /// The page size of the database, once its header was read or written.
    pub fn page_size(&self) -> Option<u32> {
        match self.page_size.load(Ordering::Relaxed) {
            0 => None,
            size => Some(size),
        }
    }

    /// Whether anything of the file is to be had by reading only.
    pub fn is_used(&self) -> bool {
        self.is_used.load(Ordering::Acquire)
    }

    /// Forgets what was read, which others may have changed meanwhile.
    pub fn forget_read(&self) {
        if let Some(windows) = &mut self.state().windows {
            windows.clear();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Learns the page size: two bytes at offset 16 of a database, big-endian; 1 means 65,536.
    fn learn(&self, bytes: &[u8], offset: u64) {
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
pub(super) struct Buffered {
    file: CountedFile,
    buffer: Arc<Buffer>,
}

impl Buffered {
    pub fn new(file: CountedFile, buffer: Arc<Buffer>) -> Self {
        Self { file, buffer }
    }

    pub fn buffer(&self) -> &Arc<Buffer> {
        &self.buffer
    }

    /// Writes when it is flushed, cut, or more than `bound` bytes are kept; 0: now.
    pub fn write_later(&self, bytes: &[u8], offset: u64, bound: usize) -> io::Result<()> {
        if bound == 0 {
            return self.write_at(bytes, offset);
        }
        self.buffer.learn(bytes, offset);
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

    /// Writes what is kept; what cannot be written stays, and is read as if it were.
    pub fn flush(&self) -> io::Result<()> {
        match self.buffer.is_used() {
            true => self.write_pending(&mut self.buffer.state()),
            false => Ok(()),
        }
    }

    /// Gives the file the length that it is told to have. Answers whether it had more.
    pub fn trim(&self) -> io::Result<bool> {
        let state = &mut *self.buffer.state();
        let Some(end) = state.end else {
            return Ok(false);
        };
        self.file.set_len(end)?;
        state.end = None;
        self.note_use(state);
        Ok(true)
    }

    /// Its length is told to be less; the file stays as it is.
    pub fn seem_to_end(&self, len: u64) -> io::Result<()> {
        let state = &mut *self.buffer.state();
        state.pending.truncate(len);
        self.write_pending(state)?;
        state.end = Some(len);
        self.note_use(state);
        Ok(())
    }

    /// Reads, and beyond the length that is told what the file has there still.
    pub fn read_beyond(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
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

    /// Cuts the file to a size, if it is longer, without a word of it.
    pub fn cut_below(&self, len: u64) -> io::Result<()> {
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

    fn note_use(&self, state: &State) {
        let used = !state.pending.is_empty() || state.windows.is_some() || state.end.is_some();
        self.buffer.is_used.store(used, Ordering::Release);
    }

    fn write_pending(&self, state: &mut State) -> io::Result<()> {
        let before = self.buffer.before.lock();
        let before = before.unwrap_or_else(PoisonError::into_inner).upgrade();
        if let Some(before) = before {
            before.flush()?;
        }
        if state.pending.is_empty() {
            return Ok(());
        }
        let runs = state.pending.runs();
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

    fn stepped(&self, len: u64) -> u64 {
        match self.buffer.tuning.step {
            0 => len,
            step => len.checked_next_multiple_of(step).unwrap_or(len),
        }
    }

    fn write_below(&self, state: &mut State, bytes: &[u8], offset: u64) -> io::Result<()> {
        let end = offset.saturating_add(bytes.len() as u64);
        if let Some(windows) = &mut state.windows {
            windows.forget(offset, end);
        }
        if self.buffer.tuning.step > 0 && state.end.is_none_or(|told| end > told) {
            let there = self.file.len()?;
            let told = state.end.unwrap_or(there);
            if end > there {
                self.file.set_len(self.stepped(end))?;
            }
            state.end = Some(told.max(end));
            self.note_use(state);
        } else if let Some(told) = &mut state.end {
            *told = end.max(*told);
        }
        self.file.write_at(bytes, offset)
    }

    fn read_below(&self, state: &mut State, to: &mut [u8], offset: u64) -> io::Result<usize> {
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
        let windows = state.windows.get_or_insert_with(|| Windows::new(wanted));
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
            // Its end lies in what is asked for.
            false => self.file.read_at(to, offset),
        }
    }
}

impl File for Buffered {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        if !self.buffer.is_used() && self.buffer.tuning.read == 0 {
            let there = self.file.read_at(bytes, offset)?;
            self.buffer
                .learn(bytes.get(..there).unwrap_or_default(), offset);
            return Ok(there);
        }
        let state = &mut *self.buffer.state();
        if self.buffer.broken.is(Mutation::ReadPastKept) {
            return self.read_below(state, bytes, offset);
        }
        if state.pending.covers(offset, bytes.len()) {
            state.pending.overlay(offset, bytes);
            return Ok(bytes.len());
        }
        let mut there = self.read_below(state, bytes, offset)?;
        if !state.pending.is_empty() {
            bytes.get_mut(there..).unwrap_or_default().fill(0);
            state.pending.overlay(offset, bytes);
            let kept = state.pending.end().saturating_sub(offset);
            let kept = usize::try_from(kept).unwrap_or(usize::MAX);
            there = there.max(kept.min(bytes.len()));
        }
        self.buffer
            .learn(bytes.get(..there).unwrap_or_default(), offset);
        Ok(there)
    }

    fn read_alone(&mut self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        if self.buffer.is_used() || self.buffer.tuning.read != 0 || offset == 0 {
            return self.read_at(bytes, offset);
        }
        self.file.read_alone(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.buffer.learn(bytes, offset);
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
        let stepped = self.stepped(len);
        state.end = (stepped > len).then_some(len);
        self.note_use(state);
        match stepped > len && self.file.len()? == stepped {
            true => Ok(()),
            false => self.file.set_len(stepped),
        }
    }

    fn sync(&self) -> io::Result<()> {
        if !self.buffer.broken.is(Mutation::SyncWithoutKept) {
            self.flush()?;
        }
        self.file.sync()
    }

    fn lock(&self, lock: Lock) -> io::Result<bool> {
        self.file.lock(lock)
    }

    fn host(&mut self) -> Option<&mut HostFile> {
        self.file.host()
    }
}
