//! [`StopSignal`]: SIGINT, SIGTERM and SIGHUP as a descriptor that a loop can wait for.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::errors::{Failure, Result};

/// A signal came that is handled.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Returns true after a signal that is handled.
pub fn was_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// An eventfd that becomes, and stays, readable on SIGINT, SIGTERM or SIGHUP.
pub struct StopSignal(Arc<OwnedFd>);

impl StopSignal {
    /// Handles the signals from now on. A process has one handler.
    pub fn install() -> Result<Self> {
        let stop = eventfd(0, EventfdFlags::CLOEXEC);
        let stop = Arc::new(stop.map_err(|e| Failure::named_io("eventfd", e.into()))?);
        let asked = Arc::clone(&stop);
        ctrlc::set_handler(move || {
            ASKED.store(true, Ordering::Relaxed);
            let _ = rustix::io::write(&*asked, &1u64.to_ne_bytes());
        })
        .map_err(|e| Failure::Other(e.to_string()))?;
        Ok(Self(stop))
    }

    /// Returns true after a signal.
    pub fn is_set(&self) -> bool {
        let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }
}

impl AsFd for StopSignal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
