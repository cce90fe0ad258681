//! [`FolderWatch`]: waits until media files in the folders of a library change.
//!
//! ```text
//! event ── a file of media was written, moved or removed, or a folder was
//!   └─ quiet for half a second, or five seconds after the first event
//!        └─ watch new folders ── before the scan, so that later changes are events again
//!             └─ scan ── all folders; only changed files are opened
//! ```
//!
//! Each folder has an inotify watch. Folders beyond the user's limit, and drives that are away, are
//! looked at once a minute.

use std::fs;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::walk::{FileKind, is_hidden};
use super::{ScanOptions, ScanProgress, ScanReport};
use crate::error::{Error, Result};
use crate::media::library::Media;

/// A burst of changes is scanned when no more came for this long,
const QUIET: Duration = Duration::from_millis(500);
/// or this long after the first, so that a long copy is seen while it goes on.
const LONGEST_BURST: Duration = Duration::from_secs(5);
/// Time between two scans for changes that no event reports.
const POLL_INTERVAL: Duration = Duration::from_secs(60);

/// Follows the folders of a library.
///
/// [`wait`](Self::wait) blocks until there is something to scan, and [`scan`](Self::scan) scans. A
/// program with an event loop polls the descriptor ([`AsFd`]) for reading with the time-out
/// [`due_in`](Self::due_in) instead.
pub struct FolderWatch {
    media: Media,
    inotify: OwnedFd,
    /// The first and the last event that no scan has followed yet.
    burst: Option<(Instant, Instant)>,
    /// The end of the last scan, if some folders have to be polled.
    polled: Option<Instant>,
    unwatched: usize,
}

impl Media {
    /// Begins to follow the library's folders. [`FolderWatch::scan`] is to be called next: it finds
    /// earlier changes.
    ///
    /// # Errors
    /// [`Error::Io`] if the system has no more inotify instances.
    pub fn watch_folders(&self) -> Result<FolderWatch> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK);
        let inotify = inotify.map_err(|e| Error::io(self.db.path(), e.into()))?;
        Ok(FolderWatch {
            media: self.clone(),
            inotify,
            burst: None,
            polled: None,
            unwatched: 0,
        })
    }
}

impl AsFd for FolderWatch {
    /// Readable when files changed.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}

impl FolderWatch {
    /// Scans the library's folders, and follows them, new ones too, from now on.
    ///
    /// # Errors
    /// Those of [`Media::scan`].
    pub fn scan(
        &mut self,
        options: &ScanOptions,
        progress: &mut dyn FnMut(&ScanProgress) -> ControlFlow<()>,
    ) -> Result<ScanReport> {
        self.burst = None;
        self.unwatched = 0;
        for root in self.media.roots()? {
            self.watch_below(&root.path);
        }
        let report = self.media.scan(&[], options, progress);
        if !report.as_ref().is_ok_and(|report| !report.is_stopped) {
            // The changes are still to be scanned.
            let now = Instant::now();
            self.burst = Some((now, now));
        }
        let report = report?;
        let is_polled = self.unwatched > 0 || !report.away.is_empty();
        self.polled = is_polled.then(Instant::now);
        Ok(report)
    }

    /// Returns the number of folders that have no inotify watch because the user has no more
    /// (`fs.inotify.max_user_watches`). They are looked at once a minute.
    pub fn unwatched(&self) -> usize {
        self.unwatched
    }

    /// Returns the time until [`scan`](Self::scan) is to be called, zero: now; `None`: not before
    /// the descriptor is readable. Reads the events.
    ///
    /// # Errors
    /// [`Error::Io`] if the events cannot be read.
    pub fn due_in(&mut self) -> Result<Option<Duration>> {
        self.read_events()
            .map_err(|e| Error::io(self.media.db.path(), e.into()))?;
        let of_burst = self
            .burst
            .map(|(first, last)| (first + LONGEST_BURST).min(last + QUIET));
        let of_poll = self.polled.map(|polled| polled + POLL_INTERVAL);
        let due = [of_burst, of_poll].into_iter().flatten().min();
        Ok(due.map(|due| due.saturating_duration_since(Instant::now())))
    }

    /// Waits until there is something to scan. Returns false if there is nothing after `timeout`.
    ///
    /// # Errors
    /// [`Error::Io`] if the events cannot be read.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<bool> {
        let end = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            let due = self.due_in()?;
            if due == Some(Duration::ZERO) {
                return Ok(true);
            }
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Ok(false);
            }
            let wait = [due, left].into_iter().flatten().min();
            let wait = wait.and_then(|wait| Timespec::try_from(wait).ok());
            let mut fds = [PollFd::new(&self.inotify, PollFlags::IN)];
            match poll(&mut fds, wait.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(e) => return Err(Error::io(self.media.db.path(), e.into())),
            }
        }
    }

    /// Watches a folder and those in it. One that cannot be listed is left to the scan, which
    /// reports it.
    fn watch_below(&mut self, folder: &Path) {
        const MASK: WatchFlags = WatchFlags::ATTRIB
            .union(WatchFlags::CLOSE_WRITE)
            .union(WatchFlags::CREATE)
            .union(WatchFlags::DELETE)
            .union(WatchFlags::DELETE_SELF)
            .union(WatchFlags::MOVE_SELF)
            .union(WatchFlags::MOVED_FROM)
            .union(WatchFlags::MOVED_TO)
            .union(WatchFlags::ONLYDIR)
            .union(WatchFlags::EXCL_UNLINK);
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            if let Err(Errno::NOSPC) = inotify::add_watch(&self.inotify, &folder, MASK) {
                self.unwatched += 1;
            }
            let Ok(entries) = fs::read_dir(&folder) else {
                continue;
            };
            for entry in entries.flatten() {
                let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_dir && !is_hidden(entry.file_name().as_bytes()) {
                    folders.push(entry.path());
                }
            }
        }
    }

    fn read_events(&mut self) -> rustix::io::Result<()> {
        let mut buffer = [MaybeUninit::uninit(); 4_096];
        let mut events = inotify::Reader::new(&self.inotify, &mut buffer);
        loop {
            match events.next() {
                Ok(event) => {
                    let name = event.file_name().map(|name| name.to_bytes());
                    if matters(event.events(), name.unwrap_or_default()) {
                        let now = Instant::now();
                        let first = self.burst.map_or(now, |(first, _)| first);
                        self.burst = Some((first, now));
                    }
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(e) => return Err(e),
            }
        }
    }
}

/// Returns true for an event that a scan is to follow. A file that was only created is not complete:
/// an event follows when it is closed.
fn matters(events: ReadFlags, name: &[u8]) -> bool {
    const OF_FOLDER: ReadFlags = ReadFlags::DELETE_SELF
        .union(ReadFlags::MOVE_SELF)
        .union(ReadFlags::QUEUE_OVERFLOW)
        .union(ReadFlags::UNMOUNT);
    if events.intersects(OF_FOLDER) {
        return true;
    }
    if events.contains(ReadFlags::ISDIR) {
        return !is_hidden(name) && !events.contains(ReadFlags::IGNORED);
    }
    let is_complete = !events.contains(ReadFlags::CREATE);
    is_complete && FileKind::of_name(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_media_and_folders_matter() {
        let dir = ReadFlags::ISDIR;
        for (events, name, expected) in [
            (ReadFlags::CLOSE_WRITE, "a.mp3", true),
            (ReadFlags::CLOSE_WRITE, "a.txt", false),
            (ReadFlags::CREATE, "a.mp3", false),
            (ReadFlags::CREATE | dir, "Low", true),
            (ReadFlags::CREATE | dir, ".git", false),
            (ReadFlags::MOVED_TO, "cover.jpg", true),
            (ReadFlags::DELETE_SELF, "", true),
            (ReadFlags::UNMOUNT, "", true),
            (ReadFlags::QUEUE_OVERFLOW, "", true),
            (ReadFlags::IGNORED, "", false),
        ] {
            assert_eq!(
                matters(events, name.as_bytes()),
                expected,
                "{events:?} {name}"
            );
        }
    }
}
