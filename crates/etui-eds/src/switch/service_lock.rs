//! [`ServiceLock`]: the processes that serve a store, on whatever bus.
//!
//! Every service holds a shared POSIX lock on the empty file `STORE-eds.services` for its whole
//! life. Switching off takes the exclusive lock: the kernel names a holder, which is asked to end, until
//! there is none. So the services of all sessions of a user end, those of other buses too.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::process::{Flock, FlockType, Pid, Signal, fcntl_getlk, kill_process};
use zruntime::SharedRuntime;

use super::SwitchError;
use super::state::with_suffix;

const SUFFIX: &str = "-eds.services";
/// How long a service may take to end, and a new one may wait for a command that switches.
const PATIENCE: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(20);

/// A lock on the services of a store; it is released when it is dropped.
///
/// POSIX locks belong to the process: it opens the file once at a time, since closing any of its descriptors
/// would release the lock.
pub(crate) struct ServiceLock {
    _file: File,
}

impl ServiceLock {
    /// Takes the lock of a service. Returns it and whether a command that switches was waited for.
    pub(crate) async fn share(store: &Path) -> io::Result<(Self, bool)> {
        let file = open(store)?;
        let runtime = SharedRuntime::current()?;
        let mut waited = Duration::ZERO;
        loop {
            match fcntl_lock(&file, FlockOperation::NonBlockingLockShared) {
                Ok(()) => return Ok((Self { _file: file }, waited > Duration::ZERO)),
                Err(error) if !is_held(error) || waited >= PATIENCE => return Err(error.into()),
                Err(_) => runtime.sleep(POLL).await,
            }
            waited += POLL;
        }
    }

    /// Ends all services of a store, and prevents new ones until it is dropped.
    pub(super) async fn end_services(store: &Path) -> Result<Self, SwitchError> {
        let path = with_suffix(store, SUFFIX);
        let failed = |e: io::Error| SwitchError::file(&path, e);
        let file = open(store).map_err(failed)?;
        let runtime = SharedRuntime::current().map_err(failed)?;
        let (mut asked, mut waited) = (HashSet::new(), Duration::ZERO);
        loop {
            match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { _file: file }),
                Err(error) if !is_held(error) => return Err(failed(error.into())),
                Err(_) => {}
            }
            let holder = fcntl_getlk(&file, &Flock::from(FlockType::WriteLock));
            let holder = holder.map_err(|e| failed(e.into()))?;
            let process = holder.and_then(|lock| lock.pid);
            if let Some(process) = process
                && asked.insert(process)
            {
                // It may have ended meanwhile.
                let _ = kill_process(process, Signal::TERM);
            }
            if waited >= PATIENCE {
                return Err(SwitchError::Refused(match process {
                    Some(process) => format!(
                        "the service with process {} does not end; end it and repeat the command",
                        process.as_raw_nonzero()
                    ),
                    None => "a service in another container serves the store; end it there and \
                             repeat the command"
                        .to_owned(),
                }));
            }
            runtime.sleep(POLL).await;
            waited += POLL;
        }
    }
}

fn open(store: &Path) -> io::Result<File> {
    let path = with_suffix(store, SUFFIX);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path)
}

fn is_held(error: rustix::io::Errno) -> bool {
    [rustix::io::Errno::AGAIN, rustix::io::Errno::ACCESS].contains(&error)
}

/// Returns the store that a process serves; `None` if it is no service of this program.
pub(super) fn store_of_service(process: u32) -> Option<PathBuf> {
    let open = std::fs::read_dir(format!("/proc/{process}/fd")).ok()?;
    let targets = open
        .flatten()
        .filter_map(|fd| std::fs::read_link(fd.path()).ok());
    let mut stores = targets.filter_map(|path| {
        let path = path.to_str()?;
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        path.strip_suffix(SUFFIX).map(PathBuf::from)
    });
    stores.next()
}

/// Whether two paths are those of one store.
pub(super) fn is_same_store(store: &Path, other: &Path) -> bool {
    let resolved = |path: &Path| {
        // The store may not exist yet; its directory does.
        let directory = path.parent()?.canonicalize().ok()?;
        path.canonicalize()
            .ok()
            .or(Some(directory.join(path.file_name()?)))
    };
    store == other || matches!((resolved(store), resolved(other)), (Some(a), Some(b)) if a == b)
}

/// Asks a process to end.
pub(super) fn ask_to_end(process: u32) {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // It may have ended meanwhile.
        let _ = kill_process(pid, Signal::TERM);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_has_several_paths() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("a.etui"), "").unwrap();
        std::os::unix::fs::symlink(at("a.etui"), at("link")).unwrap();
        for (one, other, same) in [
            ("a.etui", "a.etui", true),
            ("a.etui", "link", true),
            ("a.etui", "./a.etui", true),
            ("a.etui", "b.etui", false),
            ("new.etui", "./new.etui", true),
            ("gone/a.etui", "a.etui", false),
        ] {
            assert_eq!(is_same_store(&at(one), &at(other)), same, "{one} {other}");
        }
    }

    #[test]
    fn a_process_without_the_lock_serves_no_store() {
        assert_eq!(store_of_service(std::process::id()), None);
        assert_eq!(store_of_service(u32::MAX), None);
    }
}
