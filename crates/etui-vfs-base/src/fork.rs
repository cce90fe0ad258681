//! Forks: a count of them between the first process and this one, and [`LockedFile`].
//!
//! Files opened before the last fork belong to the parent. Most stay open in the child, unused. A
//! descriptor with a lock must not: the lock belongs to the open file, so a child that lives longer
//! than its parent would keep it (rule 32).

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::raw::c_int;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

static FORKS: AtomicU64 = AtomicU64::new(0);
static WATCH: Once = Once::new();

/// The descriptors with locks. It is locked during a fork, and while one of them is opened or
/// closed, so that the child closes these descriptors and no other ones.
static LOCKED: Mutex<Vec<RawFd>> = Mutex::new(Vec::new());

type LockedGuard = MutexGuard<'static, Vec<RawFd>>;

thread_local! {
    /// The lock of `LOCKED` while this thread forks.
    static FORKING: RefCell<Option<LockedGuard>> = const { RefCell::new(None) };
}

type Handler = Option<unsafe extern "C" fn()>;

unsafe extern "C" {
    fn pthread_atfork(prepare: Handler, parent: Handler, child: Handler) -> c_int;
}

fn locked() -> LockedGuard {
    LOCKED.lock().unwrap_or_else(PoisonError::into_inner)
}

unsafe extern "C" fn before_fork() {
    let guard = locked();
    // In a thread that is ending it fails, and drops the guard.
    let _ = FORKING.try_with(|forking| forking.replace(Some(guard)));
}

fn after_fork() -> Option<LockedGuard> {
    FORKING.try_with(RefCell::take).ok().flatten()
}

unsafe extern "C" fn in_parent() {
    drop(after_fork());
}

/// Makes no call but `close`, which is allowed in the child of a program with threads.
unsafe extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    let Some(mut locked) = after_fork() else {
        return;
    };
    for descriptor in locked.drain(..) {
        if !keeps_locks() {
            // SAFETY: the descriptor is the child's copy of one that is open in the parent. The
            // `LockedFile` that owns it does not use or close it after a fork.
            drop(unsafe { OwnedFd::from_raw_fd(descriptor) });
        }
    }
}

/// Starts to count forks.
pub fn watch() {
    WATCH.call_once(|| {
        // SAFETY: the handlers are static functions, and the child's does only what is allowed
        // there. If there is no memory for them, forks go unnoticed, which matters only to a
        // program that uses a connection after a fork.
        let _ = unsafe { pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) };
    });
}

/// Returns the number of forks up to this process.
pub fn fork_count() -> u64 {
    FORKS.load(Ordering::Relaxed)
}

/// A file whose descriptor carries a lock. The child of a fork closes the descriptor at once.
#[derive(Debug)]
pub struct LockedFile {
    file: ManuallyDrop<File>,
    forks: u64,
}

impl LockedFile {
    /// Opens a file.
    pub fn open(options: &OpenOptions, path: &Path) -> io::Result<Self> {
        watch();
        let mut locked = locked();
        let file = options.open(path)?;
        locked.push(file.as_raw_fd());
        Ok(Self {
            file: ManuallyDrop::new(file),
            forks: fork_count(),
        })
    }

    /// Returns true if this process opened it.
    pub fn is_ours(&self) -> bool {
        self.forks == fork_count()
    }

    /// Returns the file; in a child of the process that opened it, an error.
    pub fn get(&self) -> io::Result<&File> {
        match self.is_ours() {
            true => Ok(&self.file),
            false => Err(io::Error::other("a parent of this process opened it")),
        }
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        let mut locked = locked();
        // The child's descriptor is closed already, and another file may have its number.
        if self.is_ours() {
            let descriptor = self.file.as_raw_fd();
            locked.retain(|other| *other != descriptor);
            // SAFETY: the file is not used after this.
            unsafe { ManuallyDrop::drop(&mut self.file) };
        }
    }
}

#[cfg(feature = "mutations")]
static KEEPS_LOCKS: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// Violates rule 32 in this process: children keep the descriptors of locks.
#[cfg(feature = "mutations")]
pub fn keep_locks() {
    KEEPS_LOCKS.store(true, Ordering::Relaxed);
}

#[cfg(feature = "mutations")]
fn keeps_locks() -> bool {
    KEEPS_LOCKS.load(Ordering::Relaxed)
}

#[cfg(not(feature = "mutations"))]
fn keeps_locks() -> bool {
    false
}
