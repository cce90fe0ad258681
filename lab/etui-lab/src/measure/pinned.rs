//! [`run_pinned`]: work on one core, so that times are processor time and no core wakes another.

use std::process::{Command, Stdio};

use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};

use crate::error::Error;
use crate::machine;

/// The lowest real-time priority: above every ordinary process.
const PRIORITY: &str = "1";

/// Runs work in a thread on the last of the available cores, at real-time priority if that is
/// permitted; the work learns whether it is. Threads and processes that it starts inherit both.
pub fn run_pinned<T: Send>(work: impl FnOnce(bool) -> Result<T, Error> + Send) -> Result<T, Error> {
    let pinned = || {
        pin_thread()?;
        work(raise_priority())
    };
    std::thread::scope(|scope| {
        let done = scope.spawn(pinned).join();
        done.unwrap_or_else(|_| Err(Error::other("the pinned work panicked")))
    })
}

fn pin_thread() -> Result<(), Error> {
    let failed = |e: rustix::io::Errno| Error::other(format!("pinning to a core: {e}"));
    let available = sched_getaffinity(None).map_err(failed)?;
    let mut one = CpuSet::new();
    if let Some(core) = (0..CpuSet::MAX_CPU).rfind(|core| available.is_set(*core)) {
        one.set(core);
    }
    sched_setaffinity(None, &one).map_err(failed)
}

/// By `chrt` of util-linux; returns whether it is permitted.
fn raise_priority() -> bool {
    let Some(chrt) = machine::find_tool("chrt") else {
        return false;
    };
    let thread = gettid().as_raw_nonzero().to_string();
    let mut command = Command::new(chrt);
    command.args(["--fifo", "--pid", PRIORITY, &thread]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_pinned_work_share_its_core() {
        let cores = || sched_getaffinity(None).unwrap().count();
        let before = cores();
        let inside = run_pinned(|_| Ok(std::thread::spawn(cores).join().unwrap()));
        assert_eq!((inside.unwrap(), cores()), (1, before));
    }
}
