//! [`InotifyWatch`]: notification of the commits of other processes, by the file `NAME-watch`.
//!
//! The file is empty. It exists while a process watches the store; each watcher holds a shared
//! `flock` on it, and an inotify watch. A writer opens and closes it after each commit
//! ([`CommitSignal`](crate::db::CommitSignal)), which inotify reports (`IN_OPEN`).
//!
//! The last watcher removes it (`db::sidecar`).
//!
//! A writer that dies between its commit and the signal closes the store file by dying
//! (`IN_CLOSE_WRITE`).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use crate::db::sidecar;

/// The inotify watch of one watcher.
pub(super) struct InotifyWatch {
    inotify: OwnedFd,
    store: PathBuf,
    watch: PathBuf,
    /// `NAME-watch`, locked.
    file: OwnedFd,
}

impl InotifyWatch {
    /// Begins to watch. Earlier commits are not reported: read the log after this.
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

    /// Returns a descriptor that is readable when there are events.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }

    /// Ends the watch, and removes the file if no other process watches. The returned descriptor is
    /// of no use, but takes time to close.
    pub(super) fn leave(self) -> OwnedFd {
        sidecar::leave_sidecar(&self.file, &self.watch);
        self.inotify
    }

    /// Reads the events. If the file was removed (by hand, say), another one is created; a
    /// comparison has to follow then, too.
    pub(super) fn read_events(&mut self) -> io::Result<()> {
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
        if gone && !sidecar::is_at(&self.file, &self.watch) {
            self.file = join(&self.inotify, &self.store, &self.watch)?;
        }
        Ok(())
    }
}

/// Opens or creates the file, locks and watches it.
fn join(inotify: &OwnedFd, store: &Path, watch: &Path) -> io::Result<OwnedFd> {
    let mask =
        WatchFlags::OPEN | WatchFlags::ATTRIB | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
    let listen = |_: &OwnedFd| match inotify::add_watch(inotify, watch, mask) {
        Ok(number) => Ok(Some(number)),
        Err(Errno::NOENT) => Ok(None),
        Err(e) => Err(e.into()),
    };
    let undo = |watched| {
        // It fails if the file is gone, and the watch with it.
        let _ = inotify::remove_watch(inotify, watched);
    };
    let (file, _) = sidecar::join_sidecar(store, watch, OFlags::RDONLY, listen, undo)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::open_watch_file as touch;

    fn heard(ear: &mut InotifyWatch) -> bool {
        let mut fds = [rustix::event::PollFd::new(
            &ear.inotify,
            rustix::event::PollFlags::IN,
        )];
        let timeout = rustix::event::Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let heard = rustix::event::poll(&mut fds, Some(&timeout)).unwrap() > 0;
        ear.read_events().unwrap();
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

        let mut first = InotifyWatch::open(&store, &watch).unwrap();
        assert!(!heard(&mut first));
        touch(&watch);
        touch(&watch);
        assert!(heard(&mut first));
        assert!(!heard(&mut first));
        drop(std::fs::OpenOptions::new().append(true).open(&store));
        assert!(heard(&mut first), "a writer's end");

        let mut second = InotifyWatch::open(&store, &watch).unwrap();
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

        // A file left by a killed watcher.
        std::fs::write(&watch, "").unwrap();
        InotifyWatch::open(&store, &watch).unwrap().leave();
        assert!(!watch.exists());

        // A directory at the path.
        std::fs::create_dir(&watch).unwrap();
        touch(&watch);
        assert!(InotifyWatch::open(&store, &watch).is_err());
        assert!(watch.exists());
    }

    /// Every watcher is notified, however many come and go meanwhile.
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
                        let mut ear = InotifyWatch::open(&store, &watch).unwrap();
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
