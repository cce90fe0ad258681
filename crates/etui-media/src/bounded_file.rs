//! [`BoundedFile`]: reads of a file that end at a number of bytes and at a time.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::time::Instant;

use crate::error::Unreadable;
use crate::limits::{MAX_READ, MAX_TIME};

/// Reads a file up to the limits of [`limits`](crate::limits). A parser that asks for more gets an
/// error, which [`BoundedFile::refine`] turns into the reason.
#[derive(Debug)]
pub(crate) struct BoundedFile<'f> {
    file: &'f File,
    /// Where the file begins for its reader: after a tag.
    start: u64,
    len: u64,
    left: u64,
    deadline: Instant,
    is_late: bool,
}

/// Messages of the standard library and the system for a read beyond the end or before the start.
const EARLY_ENDS: [&str; 2] = ["failed to fill whole buffer", "Invalid argument"];

impl<'f> BoundedFile<'f> {
    /// Wraps a file, from its start.
    ///
    /// # Errors
    /// [`Unreadable::Io`].
    pub(crate) fn new(mut file: &'f File) -> Result<Self, Unreadable> {
        file.rewind()?;
        Ok(Self {
            file,
            start: 0,
            len: file.metadata()?.len(),
            left: MAX_READ,
            deadline: Instant::now() + MAX_TIME,
            is_late: false,
        })
    }

    /// The length of the file in bytes, from its start.
    pub(crate) fn len(&self) -> u64 {
        self.len.saturating_sub(self.start)
    }

    /// Leaves out the bytes before an offset of the whole file.
    pub(crate) fn set_start(&mut self, start: u64) {
        self.start = start;
    }

    /// Reads up to `buf.len()` bytes at an offset; fewer only at the end of the file.
    pub(crate) fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.seek(SeekFrom::Start(offset))?;
        let mut done = 0;
        while let Some(rest) = buf.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match self.read(rest)? {
                0 => break,
                n => done += n,
            }
        }
        Ok(done)
    }

    /// Returns why a parser failed: a limit, if one was met, else its own error.
    pub(crate) fn refine(&self, error: impl ToString) -> Unreadable {
        match () {
            () if self.is_late => Unreadable::TooSlow,
            () if self.left == 0 => Unreadable::TooMuchRead,
            () => match error.to_string() {
                text if EARLY_ENDS.iter().any(|end| text.contains(end)) => {
                    Unreadable::damaged("it ends too early")
                }
                text => Unreadable::Damaged(text),
            },
        }
    }
}

impl Read for BoundedFile<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if Instant::now() > self.deadline {
            self.is_late = true;
            return Err(io::Error::other("too slow"));
        }
        if self.left == 0 {
            return Err(io::Error::other("too many reads"));
        }
        let allowed = usize::try_from(self.left).unwrap_or(usize::MAX);
        let len = buf.len().min(allowed);
        let n = self.file.read(buf.get_mut(..len).unwrap_or_default())?;
        self.left -= n as u64;
        Ok(n)
    }
}

impl Seek for BoundedFile<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Start(at) => SeekFrom::Start(at.saturating_add(self.start)),
            other => other,
        };
        let at = self.file.seek(to)?;
        // As before the start of a file.
        at.checked_sub(self.start)
            .ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }
}
