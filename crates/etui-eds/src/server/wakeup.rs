//! [`Wakeup`]: waits for a descriptor of the library on the bus's runtime.

use std::future::poll_fn;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use zruntime::{Interest, Registration, Shared, SharedRuntime};

/// Waits until a descriptor is readable; the descriptor's owner makes it unreadable.
pub(crate) struct Wakeup {
    descriptor: Arc<OwnedFd>,
    registration: Registration<Shared>,
}

impl Wakeup {
    /// Watches a copy of a descriptor.
    pub(crate) fn new(descriptor: BorrowedFd<'_>) -> io::Result<Self> {
        let descriptor = Arc::new(descriptor.try_clone_to_owned()?);
        let registration = SharedRuntime::current()?.register(descriptor.clone())?;
        Ok(Self {
            descriptor,
            registration,
        })
    }

    /// Waits until the descriptor is readable.
    pub(crate) async fn wait(&self) -> io::Result<()> {
        let is_readable = || expect_readable(&self.descriptor);
        poll_fn(|cx| {
            self.registration
                .poll_io(cx, Interest::Readable, is_readable)
        })
        .await
    }
}

/// Returns `WouldBlock` until the descriptor is readable.
fn expect_readable(descriptor: &OwnedFd) -> io::Result<()> {
    let mut wanted = [PollFd::new(descriptor, PollFlags::IN)];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    match poll(&mut wanted, Some(&at_once))? {
        0 => Err(io::ErrorKind::WouldBlock.into()),
        _ => Ok(()),
    }
}
