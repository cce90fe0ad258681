//! [`UringQueue`]: reads and writes through `io_uring`, for measurements.

use std::alloc::{self, Layout};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

use io_uring::{IoUring, opcode, squeue, types};
use rustix::io::Errno;

use crate::Error;

/// The alignment of direct reads and writes.
pub const DIRECT_IO_ALIGNMENT: usize = 4096;

/// `RWF_DSYNC` (linux/fs.h): the write is durable when it completes.
const RWF_DSYNC: i32 = 2;

/// The way to wait for completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionMode {
    /// The process sleeps until an interrupt.
    Interrupts,
    /// The kernel polls the device's completion queue (`IORING_SETUP_IOPOLL`). Requires files
    /// opened with `O_DIRECT` on a device with polled queues.
    Polled,
    /// The process polls its completion queue without sleeping; the device interrupts.
    Spinning,
}

/// A queue of I/O requests to the kernel.
pub struct UringQueue {
    ring: IoUring,
    mode: CompletionMode,
    depth: usize,
}

/// A buffer for direct reads and writes, aligned to [`DIRECT_IO_ALIGNMENT`]; initially zero.
#[derive(Debug)]
pub struct AlignedBuffer {
    begin: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the value owns the memory.
unsafe impl Send for AlignedBuffer {}
// SAFETY: shared references only read.
unsafe impl Sync for AlignedBuffer {}

impl AlignedBuffer {
    /// Allocates at least `length` bytes.
    ///
    /// # Errors
    ///
    /// There is not enough memory.
    pub fn new(length: usize) -> Result<Self, Error> {
        let too_much = || Error::Usage(format!("cannot allocate {length} bytes"));
        let length = length.max(1).checked_next_multiple_of(DIRECT_IO_ALIGNMENT);
        let layout = length
            .and_then(|length| Layout::from_size_align(length, DIRECT_IO_ALIGNMENT).ok())
            .ok_or_else(too_much)?;
        // SAFETY: the layout has a size above zero.
        let begin = unsafe { alloc::alloc_zeroed(layout) };
        let begin = NonNull::new(begin).ok_or_else(too_much)?;
        Ok(Self { begin, layout })
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `layout.size()` bytes were allocated and zeroed.
        unsafe { std::slice::from_raw_parts(self.begin.as_ptr(), self.layout.size()) }
    }

    /// Returns the bytes, writable.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the borrow is exclusive.
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
enum IoDirection {
    Read,
    Write { durable: bool },
}

impl UringQueue {
    /// Creates a queue with up to `depth` requests in flight.
    ///
    /// # Errors
    ///
    /// The kernel does not support or permit `io_uring`.
    pub fn new(depth: u32, mode: CompletionMode) -> Result<Self, Error> {
        let mut builder = IoUring::builder();
        if mode == CompletionMode::Polled {
            builder.setup_iopoll();
        }
        let depth = depth.clamp(1, 4096);
        let ring = builder.build(depth).map_err(|error| match errno(&error) {
            Some(Errno::NOSYS | Errno::PERM | Errno::ACCESS) => Error::unsupported(
                "io_uring",
                format!(
                    "{error} (see /proc/sys/kernel/io_uring_disabled; containers often forbid it)"
                ),
            ),
            _ => Error::io("io_uring_setup", error),
        })?;
        let depth = depth as usize;
        Ok(Self { ring, mode, depth })
    }

    /// Reads ranges of a file, given by offset and length, into a buffer, one after the other.
    /// Returns the number of bytes read; a range at the end of the file is cut short.
    ///
    /// # Errors
    ///
    /// The ranges do not fit into the buffer, or a request failed.
    pub fn read(
        &mut self,
        file: &File,
        parts: &[(u64, usize)],
        buffer: &mut AlignedBuffer,
    ) -> Result<u64, Error> {
        check_parts(parts, buffer)?;
        self.run_requests(file, parts, buffer.begin.as_ptr(), IoDirection::Read)
    }

    /// Writes consecutive parts of a buffer to ranges of a file, given by offset and length.
    /// With `durable` each write is on the device when it completes (`RWF_DSYNC`).
    ///
    /// # Errors
    ///
    /// The buffer is too small, or a request failed.
    pub fn write(
        &mut self,
        file: &File,
        parts: &[(u64, usize)],
        buffer: &AlignedBuffer,
        durable: bool,
    ) -> Result<u64, Error> {
        check_parts(parts, buffer)?;
        let direction = IoDirection::Write { durable };
        let wanted: u64 = parts.iter().map(|(_, length)| *length as u64).sum();
        let written = self.run_requests(file, parts, buffer.begin.as_ptr(), direction)?;
        if written == wanted {
            return Ok(written);
        }
        let source = io::Error::from(io::ErrorKind::WriteZero);
        Err(Error::io("a write through io_uring", source))
    }

    /// Makes the writes to a file durable (`fdatasync`). Not in [`CompletionMode::Polled`].
    ///
    /// # Errors
    ///
    /// The flush failed.
    pub fn sync_data(&mut self, file: &File) -> Result<(), Error> {
        let request = opcode::Fsync::new(types::Fd(file.as_raw_fd()))
            .flags(types::FsyncFlags::DATASYNC)
            .build();
        // SAFETY: the request references no memory.
        unsafe { self.push_request(request) };
        self.wait();
        let mut failed = None;
        self.take_completions(&mut failed, &mut 0);
        failed.map_or(Ok(()), |error| Err(self.request_error(error)))
    }

    /// Submits requests for all parts and waits for them. The requests own `memory`, one part
    /// after the other, until this function returns; `check_parts` has verified its size.
    fn run_requests(
        &mut self,
        file: &File,
        parts: &[(u64, usize)],
        memory: *mut u8,
        direction: IoDirection,
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
                // SAFETY: `check_parts` has verified that all parts fit into the buffer.
                let at = unsafe { memory.add(placed) };
                placed += length;
                // Below 2^32, as `check_parts` has verified.
                let length = length as u32;
                let request = match direction {
                    IoDirection::Read => opcode::Read::new(descriptor, at, length)
                        .offset(offset)
                        .build(),
                    IoDirection::Write { durable } => {
                        let flags = if durable { RWF_DSYNC } else { 0 };
                        let write = opcode::Write::new(descriptor, at, length);
                        write.offset(offset).rw_flags(flags).build()
                    }
                };
                // SAFETY: the memory outlives the request, as this function returns only when no
                // request is in flight.
                unsafe { self.push_request(request) };
                in_flight += 1;
            }
            if in_flight == 0 {
                break;
            }
            self.wait();
            in_flight = in_flight.saturating_sub(self.take_completions(&mut failed, &mut moved));
        }
        match failed {
            None => Ok(moved),
            Some(error) => Err(self.request_error(error)),
        }
    }

    fn request_error(&self, error: io::Error) -> Error {
        match errno(&error) {
            Some(Errno::OPNOTSUPP) if self.mode == CompletionMode::Polled => Error::unsupported(
                "polled completion",
                format!(
                    "{error} (the device has no polled queues, or the file system does not support them)"
                ),
            ),
            _ => Error::io("a request through io_uring", error),
        }
    }

    /// Queues a request.
    ///
    /// # Safety
    ///
    /// The memory that the request references stays valid until the request completes.
    unsafe fn push_request(&mut self, request: squeue::Entry) {
        loop {
            // SAFETY: as the caller promises.
            if unsafe { self.ring.submission().push(&request) }.is_ok() {
                return;
            }
            // The queue is full, which `depth` prevents; submitting makes room.
            let _ = self.ring.submit();
        }
    }

    /// Submits the queue and waits for at least one completion.
    fn wait(&mut self) {
        loop {
            let done = if self.mode == CompletionMode::Spinning {
                let submitted = self.ring.submit();
                while submitted.is_ok() && self.ring.completion().is_empty() {
                    std::hint::spin_loop();
                }
                submitted
            } else {
                self.ring.submit_and_wait(1)
            };
            match done {
                Ok(_) => return,
                Err(error)
                    if matches!(
                        errno(&error),
                        Some(Errno::INTR | Errno::BUSY | Errno::AGAIN)
                    ) => {}
                Err(error) => {
                    // Requests may be in flight, and their memory would be reused after a return.
                    // There is no other way to wait for them.
                    eprintln!("io_uring_enter: {error}; requests in flight cannot be awaited");
                    std::process::abort();
                }
            }
        }
    }

    /// Removes the completions from the queue. Returns their number.
    fn take_completions(&mut self, failed: &mut Option<io::Error>, moved: &mut u64) -> usize {
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

fn errno(error: &io::Error) -> Option<Errno> {
    error.raw_os_error().map(Errno::from_raw_os_error)
}

fn check_parts(parts: &[(u64, usize)], buffer: &AlignedBuffer) -> Result<(), Error> {
    let mut needed = 0_usize;
    for (_, length) in parts {
        if u32::try_from(*length).is_err() {
            return Err(Error::Usage(format!(
                "{length} bytes are too large for one request"
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
