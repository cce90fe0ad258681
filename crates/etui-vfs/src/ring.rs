//! [`Ring`]: reads and writes through `io_uring`, to be measured.

use std::alloc::{self, Layout};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

use io_uring::{IoUring, opcode, squeue, types};

use crate::Error;

/// What direct reads and writes are aligned to.
pub const ALIGNMENT: usize = 4096;

/// `RWF_DSYNC` (linux/fs.h): the write is durable when it is done.
const DURABLE: i32 = 2;

/// How completions are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RingMode {
    /// The process sleeps until an interrupt.
    Interrupts,
    /// The kernel looks at the device's completion queue (`IORING_SETUP_IOPOLL`): for files
    /// opened with `O_DIRECT` on devices with polled queues.
    Polled,
    /// The process looks at its completion queue without sleeping; the device interrupts.
    Spinning,
}

/// A queue of requests to the kernel.
pub struct Ring {
    ring: IoUring,
    mode: RingMode,
    depth: usize,
}

/// Memory for direct reads and writes: aligned to [`ALIGNMENT`], zero at first.
#[derive(Debug)]
pub struct AlignedBuffer {
    begin: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the memory belongs to the value alone.
unsafe impl Send for AlignedBuffer {}
// SAFETY: shared references only read.
unsafe impl Sync for AlignedBuffer {}

impl AlignedBuffer {
    /// At least so many bytes.
    pub fn new(length: usize) -> Result<Self, Error> {
        let too_much = || Error::Usage(format!("{length} bytes of memory cannot be had"));
        let length = length.max(1).checked_next_multiple_of(ALIGNMENT);
        let layout = length
            .and_then(|length| Layout::from_size_align(length, ALIGNMENT).ok())
            .ok_or_else(too_much)?;
        // SAFETY: the layout has a size above zero.
        let begin = unsafe { alloc::alloc_zeroed(layout) };
        let begin = NonNull::new(begin).ok_or_else(too_much)?;
        Ok(Self { begin, layout })
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: so many bytes were allocated, and set to zero.
        unsafe { std::slice::from_raw_parts(self.begin.as_ptr(), self.layout.size()) }
    }

    /// Its bytes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the value is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.begin.as_ptr(), self.layout.size()) }
    }
}

impl Drop for AlignedBuffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { alloc::dealloc(self.begin.as_ptr(), self.layout) }
    }
}

#[derive(Clone, Copy)]
enum Direction {
    Read,
    Write { durable: bool },
}

impl Ring {
    /// A queue that keeps `depth` requests in flight.
    pub fn new(depth: u32, mode: RingMode) -> Result<Self, Error> {
        let mut builder = IoUring::builder();
        if mode == RingMode::Polled {
            builder.setup_iopoll();
        }
        let depth = depth.clamp(1, 4096);
        let ring = builder.build(depth).map_err(|error| {
            use rustix::io::Errno;
            match error.raw_os_error().map(Errno::from_raw_os_error) {
                Some(Errno::NOSYS | Errno::PERM | Errno::ACCESS) => Error::unsupported(
                    "io_uring",
                    format!("{error} (see /proc/sys/kernel/io_uring_disabled; containers often forbid it)"),
                ),
                _ => Error::io("io_uring_setup", error),
            }
        })?;
        let depth = depth as usize;
        Ok(Self { ring, mode, depth })
    }

    /// Reads parts of a file, given by offset and length, into a buffer, one behind the other.
    /// Answers how many bytes were read; a part that ends with the file is shorter.
    pub fn read(
        &mut self,
        file: &File,
        parts: &[(u64, usize)],
        buffer: &mut AlignedBuffer,
    ) -> Result<u64, Error> {
        check(parts, buffer)?;
        self.run(file, parts, buffer.begin.as_ptr(), Direction::Read)
    }

    /// Writes parts of a buffer, one behind the other, to places in a file. With `durable`,
    /// each is on the device when it is done (`RWF_DSYNC`).
    pub fn write(
        &mut self,
        file: &File,
        parts: &[(u64, usize)],
        buffer: &AlignedBuffer,
        durable: bool,
    ) -> Result<u64, Error> {
        check(parts, buffer)?;
        let direction = Direction::Write { durable };
        let wanted: u64 = parts.iter().map(|(_, length)| *length as u64).sum();
        let written = self.run(file, parts, buffer.begin.as_ptr(), direction)?;
        if written == wanted {
            return Ok(written);
        }
        let source = io::Error::from(io::ErrorKind::WriteZero);
        Err(Error::io("a write through io_uring", source))
    }

    /// Makes what was written to a file durable (`fdatasync`). Not in [`RingMode::Polled`].
    pub fn sync_data(&mut self, file: &File) -> Result<(), Error> {
        let request = opcode::Fsync::new(types::Fd(file.as_raw_fd()))
            .flags(types::FsyncFlags::DATASYNC)
            .build();
        // SAFETY: the request points to no memory.
        unsafe { self.push(request) };
        self.complete(1)?;
        let mut failed = None;
        self.take(&mut failed, &mut 0);
        failed.map_or(Ok(()), |error| Err(self.refused(error)))
    }

    /// Keeps requests for all parts in flight until all are done. `memory` is theirs, one
    /// part behind the other, until then; all of it was checked to be there.
    fn run(
        &mut self,
        file: &File,
        parts: &[(u64, usize)],
        memory: *mut u8,
        direction: Direction,
    ) -> Result<u64, Error> {
        let descriptor = types::Fd(file.as_raw_fd());
        let mut parts = parts.iter();
        let (mut in_flight, mut placed, mut moved) = (0_usize, 0_usize, 0_u64);
        let mut failed: Option<io::Error> = None;
        loop {
            while in_flight < self.depth && failed.is_none() {
                let Some(&(offset, length)) = parts.next() else {
                    break;
                };
                // SAFETY: `check` has seen that all parts lie in the buffer, one behind the
                // other.
                let at = unsafe { memory.add(placed) };
                placed += length;
                // Below 2^32, as `check` has seen.
                let length = length as u32;
                let request = match direction {
                    Direction::Read => opcode::Read::new(descriptor, at, length)
                        .offset(offset)
                        .build(),
                    Direction::Write { durable } => {
                        let flags = if durable { DURABLE } else { 0 };
                        let write = opcode::Write::new(descriptor, at, length);
                        write.offset(offset).rw_flags(flags).build()
                    }
                };
                // SAFETY: the memory outlives the request: this function returns only when
                // nothing is in flight.
                unsafe { self.push(request) };
                in_flight += 1;
            }
            if in_flight == 0 {
                break;
            }
            self.complete(1)?;
            in_flight = in_flight.saturating_sub(self.take(&mut failed, &mut moved));
        }
        match failed {
            None => Ok(moved),
            Some(error) => Err(self.refused(error)),
        }
    }

    fn refused(&self, error: io::Error) -> Error {
        use rustix::io::Errno;
        let errno = error.raw_os_error().map(Errno::from_raw_os_error);
        match errno {
            Some(Errno::OPNOTSUPP) if self.mode == RingMode::Polled => Error::unsupported(
                "polled completion",
                format!("{error} (the device has no polled queues, or the file system cannot)"),
            ),
            _ => Error::io("a request through io_uring", error),
        }
    }

    /// # Safety
    ///
    /// What the request points to stays until it is complete.
    unsafe fn push(&mut self, request: squeue::Entry) {
        loop {
            // SAFETY: as the caller promises.
            if unsafe { self.ring.submission().push(&request) }.is_ok() {
                return;
            }
            // Full, which the depth prevents; room comes by submitting.
            let _ = self.ring.submit();
        }
    }

    /// Submits, and waits until at least so many are complete.
    fn complete(&mut self, wanted: usize) -> Result<(), Error> {
        loop {
            let done = if self.mode == RingMode::Spinning {
                let submitted = self.ring.submit();
                while submitted.is_ok() && self.ring.completion().is_empty() {
                    std::hint::spin_loop();
                }
                submitted
            } else {
                self.ring.submit_and_wait(wanted)
            };
            match done {
                Ok(_) => return Ok(()),
                Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted) => {}
                Err(error)
                    if error.raw_os_error() == Some(rustix::io::Errno::BUSY.raw_os_error()) => {}
                Err(error)
                    if error.raw_os_error() == Some(rustix::io::Errno::AGAIN.raw_os_error()) => {}
                Err(error) => {
                    // Requests may be in flight whose memory would be used for other things
                    // when this returns; nothing else can wait for them.
                    eprintln!("io_uring_enter: {error}; requests in flight cannot be awaited");
                    std::process::abort();
                }
            }
        }
    }

    /// Takes what is complete; answers how many.
    fn take(&mut self, failed: &mut Option<io::Error>, moved: &mut u64) -> usize {
        let mut taken = 0;
        for entry in self.ring.completion() {
            taken += 1;
            match u64::try_from(entry.result()) {
                Ok(bytes) => *moved += bytes,
                Err(_) => {
                    let error = io::Error::from_raw_os_error(entry.result().saturating_neg());
                    failed.get_or_insert(error);
                }
            }
        }
        taken
    }
}

fn check(parts: &[(u64, usize)], buffer: &AlignedBuffer) -> Result<(), Error> {
    let mut needed = 0_usize;
    for (_, length) in parts {
        if u32::try_from(*length).is_err() {
            return Err(Error::Usage(format!(
                "{length} bytes are too many for one request"
            )));
        }
        needed = needed.saturating_add(*length);
    }
    if needed > buffer.layout.size() {
        return Err(Error::Usage(format!(
            "{needed} bytes do not fit into a buffer of {}",
            buffer.layout.size()
        )));
    }
    Ok(())
}
