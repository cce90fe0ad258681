//! The file `NAME-watch` beside a store: how processes hear of each other's commits.
//!
//! It is empty and stays so. It is there while somebody follows the store; each follower holds a
//! shared `flock` on it, and an inotify watch. A writer opens and closes it after each commit,
//! which its followers hear of (`IN_OPEN`) and which writes nothing, not even a time stamp.
//!
//! The last follower removes it: the one that gets the exclusive lock while the file is still the
//! one at the path. Whoever came between and opened the file that was about to be removed finds,
//! once it has the lock, that the path leads elsewhere, and begins again. A file that a killed
//! follower left behind does no harm, and goes with the next one.
//!
//! A writer that dies between its commit and its word closes the store file by dying
//! (`IN_CLOSE_WRITE`). The store file itself must never be opened here: to close a descriptor of
//! it drops the locks that SQLite holds on it in this process (POSIX advisory locks).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::fs::{FileType, FlockOperation, Mode, OFlags, Stat, fstat, stat};
use rustix::io::Errno;

/// Somebody else's removal of the file is waited for this often, a millisecond each time.
const ATTEMPTS: u32 = 100;

/// A FIFO or a link that somebody put there must not hold a writer, nor lead it elsewhere.
const OPEN: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK);

/// What a writer does after a commit: one system call that fails when nobody follows.
pub(super) fn touch(watch: &Path) {
    let _ = rustix::fs::open(watch, OPEN, Mode::empty());
}

/// A follower's ear.
pub(super) struct Ear {
    inotify: OwnedFd,
    store: PathBuf,
    watch: PathBuf,
    /// `NAME-watch`, locked.
    file: OwnedFd,
}

impl Ear {
    /// Begins to listen. What was committed before is not heard of: look after this.
    pub(super) fn open(store: &Path, watch: &Path) -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        inotify::add_watch(&inotify, store, WatchFlags::CLOSE_WRITE)?;
        let file = join(&inotify, store, watch)?;
        Ok(Self {
            inotify,
            store: store.to_owned(),
            watch: watch.to_owned(),
            file,
        })
    }

    /// Readable when there is something to be heard.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }

    /// Ends it, and removes the file if nobody else follows. What is given back is of no more use,
    /// but takes its time to close.
    pub(super) fn leave(self) -> OwnedFd {
        // The lock fails while others follow; the last of them gets it.
        if rustix::fs::flock(&self.file, FlockOperation::NonBlockingLockExclusive).is_ok()
            && is_at(&self.file, &self.watch)
        {
            let _ = rustix::fs::unlink(&self.watch);
        }
        self.inotify
    }

    /// Takes in what is to be heard. When the file was taken away (by hand, say) another one is
    /// made; then, too, a look has to follow.
    pub(super) fn listen(&mut self) -> io::Result<()> {
        const GONE: ReadFlags = ReadFlags::ATTRIB
            .union(ReadFlags::DELETE_SELF)
            .union(ReadFlags::MOVE_SELF)
            .union(ReadFlags::IGNORED)
            .union(ReadFlags::QUEUE_OVERFLOW);
        let mut buffer = [MaybeUninit::uninit(); 1_024];
        let mut events = inotify::Reader::new(&self.inotify, &mut buffer);
        let mut gone = false;
        loop {
            match events.next() {
                Ok(event) => gone |= event.events().intersects(GONE),
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        if gone && !is_at(&self.file, &self.watch) {
            self.file = join(&self.inotify, &self.store, &self.watch)?;
        }
        Ok(())
    }
}

/// Opens or makes the file, locks and watches it, and makes sure that it is the one at the path:
/// then nobody removes it in order, and whoever opens the path is heard.
fn join(inotify: &OwnedFd, store: &Path, watch: &Path) -> io::Result<OwnedFd> {
    for _ in 0..ATTEMPTS {
        let Some(file) = open_or_make(store, watch)? else {
            continue;
        };
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK | Errno::INTR) => {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            Err(e) => return Err(e.into()),
        }
        let mask =
            WatchFlags::OPEN | WatchFlags::ATTRIB | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        let watched = match inotify::add_watch(inotify, watch, mask) {
            Ok(number) => number,
            Err(Errno::NOENT) => continue,
            Err(e) => return Err(e.into()),
        };
        if is_at(&file, watch) {
            return Ok(file);
        }
        let _ = inotify::remove_watch(inotify, watched);
    }
    Err(Errno::AGAIN.into())
}

/// `None`: it came or went at this moment.
fn open_or_make(store: &Path, watch: &Path) -> io::Result<Option<OwnedFd>> {
    let file = match rustix::fs::open(watch, OPEN, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => {
            let flags = OPEN | OFlags::CREATE | OFlags::EXCL;
            match rustix::fs::open(watch, flags, Mode::RUSR | Mode::WUSR) {
                Ok(file) => {
                    allow_as(store, &file);
                    file
                }
                Err(Errno::EXIST) => return Ok(None),
                Err(e) => return Err(e.into()),
            }
        }
        Err(e) => return Err(e.into()),
    };
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(Errno::EXIST.into());
    }
    Ok(Some(file))
}

/// Whoever may write to the store must be able to open the file: it gets the store's owner and
/// mode, as SQLite's companions do.
fn allow_as(store: &Path, file: &OwnedFd) {
    let (Ok(as_is), Ok(wanted)) = (fstat(file), stat(store)) else {
        return;
    };
    if (as_is.st_uid, as_is.st_gid) != (wanted.st_uid, wanted.st_gid) {
        // Only root can give files away; for anyone else the owner is its own.
        let owner = rustix::fs::Uid::from_raw(wanted.st_uid);
        let group = rustix::fs::Gid::from_raw(wanted.st_gid);
        let _ = rustix::fs::fchown(file, Some(owner), Some(group));
    }
    let bits = 0o666;
    if as_is.st_mode & bits != wanted.st_mode & bits {
        let _ = rustix::fs::fchmod(file, Mode::from_raw_mode(wanted.st_mode & bits));
    }
}

/// Whether `file` is what the path leads to.
fn is_at(file: &OwnedFd, path: &Path) -> bool {
    let same = |a: &Stat, b: &Stat| (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino);
    match (fstat(file), stat(path)) {
        (Ok(a), Ok(b)) => same(&a, &b),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(ear: &mut Ear) -> bool {
        let mut fds = [rustix::event::PollFd::new(
            &ear.inotify,
            rustix::event::PollFlags::IN,
        )];
        let timeout = rustix::event::Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let heard = rustix::event::poll(&mut fds, Some(&timeout)).unwrap() > 0;
        ear.listen().unwrap();
        heard
    }

    #[test]
    fn followers_come_and_go() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("s.etui");
        let watch = dir.path().join("s.etui-watch");
        std::fs::write(&store, "").unwrap();
        touch(&watch);
        assert!(!watch.exists());

        let mut first = Ear::open(&store, &watch).unwrap();
        assert!(!heard(&mut first));
        touch(&watch);
        touch(&watch);
        assert!(heard(&mut first));
        assert!(!heard(&mut first));
        drop(std::fs::OpenOptions::new().append(true).open(&store));
        assert!(heard(&mut first), "a writer's end");

        let mut second = Ear::open(&store, &watch).unwrap();
        first.leave();
        assert!(watch.exists());
        heard(&mut second);
        touch(&watch);
        assert!(heard(&mut second));

        std::fs::remove_file(&watch).unwrap();
        assert!(heard(&mut second), "the file is gone");
        assert!(watch.exists(), "another one was made");
        touch(&watch);
        assert!(heard(&mut second));
        second.leave();
        assert!(!watch.exists());

        // One left behind by a killed follower.
        std::fs::write(&watch, "").unwrap();
        Ear::open(&store, &watch).unwrap().leave();
        assert!(!watch.exists());

        // Something else stands there.
        std::fs::create_dir(&watch).unwrap();
        touch(&watch);
        assert!(Ear::open(&store, &watch).is_err());
        assert!(watch.exists());
    }

    /// Whoever has an ear hears, however many come and go meanwhile.
    #[test]
    fn no_follower_is_left_on_a_removed_file() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("s.etui");
        let watch = dir.path().join("s.etui-watch");
        std::fs::write(&store, "").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..300 {
                        let mut ear = Ear::open(&store, &watch).unwrap();
                        heard(&mut ear);
                        touch(&watch);
                        assert!(heard(&mut ear));
                        ear.leave();
                    }
                });
            }
        });
        assert!(!watch.exists());
    }
}
