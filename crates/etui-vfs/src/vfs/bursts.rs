//! When a process goes alone and when it steps aside: bursts of commits, opens of the file by
//! others, pauses (rules 39 and 40).

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::RedoLogUse;
use super::database::Database;
use super::exchange::{Attempt, Sharing};
use crate::fork::fork_count;
use crate::mutation::Mutation;

/// A burst: this many commits within [`BURST`]. Fewer would not repay the flushes of the exchange
/// (`docs/src/redo-log.md`, "Alone or shared").
const BURST_COMMITS: usize = 32;
const BURST: Duration = Duration::from_secs(5);
/// The pause after which a process that is alone steps aside, without [`super::Options::idle`].
const PAUSE: Duration = Duration::from_secs(5);
/// The memory of the volatile WAL during an announced burst, as a multiple of
/// [`super::Options::wal_memory`]: without it the rewritten pages of ten batches of `media-sync` would be
/// written to the temporary file first.
const BURST_MEMORY: usize = 4;
/// How long a database stays shared after somebody came: doubled with each time within
/// [`REMEMBERED`], up to [`MOST_QUIET`].
const QUIET: Duration = Duration::from_secs(5);
const MOST_QUIET: Duration = Duration::from_secs(300);
const REMEMBERED: Duration = Duration::from_secs(600);
/// How often to try again to step aside, beside each end of a transaction.
const AGAIN: Duration = Duration::from_millis(5);
/// How long a long read waits for transactions before it begins.
const LONG_READ_WAITS: Duration = Duration::from_millis(100);

/// The latest commits, and since when others come.
#[derive(Debug, Default)]
pub(super) struct BurstPolicy {
    commits: VecDeque<Instant>,
    shared_until: Option<Instant>,
    quiet: Duration,
    last_asked: Option<Instant>,
}

impl BurstPolicy {
    /// Records a commit. Returns true if it is one of a burst.
    pub fn note_commit(&mut self, now: Instant) -> bool {
        self.commits.push_back(now);
        if self.commits.len() > BURST_COMMITS {
            self.commits.pop_front();
        }
        let first = self.commits.front().copied().unwrap_or(now);
        self.commits.len() == BURST_COMMITS
            && now.duration_since(first) <= BURST
            && self.may_go_alone(now)
    }

    /// Returns true if nobody else came in the last time.
    fn may_go_alone(&self, now: Instant) -> bool {
        self.shared_until.is_none_or(|until| now >= until)
    }

    /// Records that somebody else has the database, or comes.
    pub fn note_other_process(&mut self, now: Instant) {
        let is_recent = self
            .last_asked
            .is_some_and(|last| now.duration_since(last) < REMEMBERED);
        self.quiet = match is_recent {
            true => (self.quiet * 2).min(MOST_QUIET),
            false => QUIET,
        };
        self.last_asked = Some(now);
        self.shared_until = Some(now + self.quiet);
        self.commits.clear();
    }

    /// Records that this process itself opened the file: the database stays shared for a while.
    pub fn note_own_open(&mut self, now: Instant) {
        let until = now + QUIET;
        self.shared_until = Some(self.shared_until.map_or(until, |known| known.max(until)));
        self.commits.clear();
    }
}

/// A watch for opens of the file.
#[derive(Debug, Clone)]
pub(super) struct OpenWatch(Arc<OwnedFd>);

impl OpenWatch {
    /// Waits for an open. Returns false after the time is over.
    fn wait(&self, most: Duration) -> bool {
        let most = Timespec {
            tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(most.subsec_nanos()),
        };
        let mut files = [PollFd::new(&*self.0, PollFlags::IN)];
        // An error is taken for an open: stepping aside is always right.
        poll(&mut files, Some(&most)).map_or(true, |ready| ready > 0)
    }
}

impl Database {
    /// Starts to watch for opens of the file. `None`: the system cannot.
    pub(super) fn watch_opens(&self) -> Option<OpenWatch> {
        let queue = self.shared.platform.watch_opens(&self.path).ok()?;
        let watch = OpenWatch(Arc::new(queue));
        *self.watch() = Some(watch.clone());
        Some(watch)
    }

    pub(super) fn watch_no_more(&self) {
        *self.watch() = None;
    }

    /// Follows the watch in a thread until the database is shared.
    pub(super) fn follow_opens(self: &Arc<Self>, watch: OpenWatch) {
        let database = Arc::downgrade(self);
        let process = fork_count();
        let pause = self.options.idle.unwrap_or(PAUSE);
        let follow = move || follow_opens(&database, &watch, pause, process);
        let thread = std::thread::Builder::new().name("etui-vfs-opens".to_owned());
        if thread.spawn(follow).is_err() {
            // Without the thread nobody would be let in.
            self.is_asked.store(true, Ordering::Release);
        }
    }

    fn is_open_elsewhere(&self) -> bool {
        self.shared.platform.is_open_elsewhere(&self.path)
    }

    /// Records that somebody else opens the file.
    fn ask(&self) {
        if !self.is_asked.swap(true, Ordering::AcqRel) {
            self.bursts().note_other_process(Instant::now());
        }
    }

    /// Records that a connection of this process is about to open the file, which the watch reports.
    pub(super) fn ask_for_own_open(self: &Arc<Self>) {
        if self.watch().is_some() {
            self.bursts().note_own_open(Instant::now());
            self.is_asked.store(true, Ordering::Release);
            self.exchange_if_wanted();
        }
    }

    /// Steps aside before a long read, which would keep others out as long as it lasts. Waits for
    /// other transactions of this process, but not long. Returns true if the database is shared.
    pub(super) fn share_for_long_read(self: &Arc<Self>) -> bool {
        if self.options.redo_log == RedoLogUse::Always {
            return false;
        }
        let end = Instant::now() + LONG_READ_WAITS;
        loop {
            self.bursts().note_own_open(Instant::now());
            if *self.sharing() == Sharing::Shared {
                return true;
            }
            self.is_asked.store(true, Ordering::Release);
            self.exchange_if_wanted();
            if Instant::now() >= end {
                return *self.sharing() == Sharing::Shared;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Announces large commits: the process goes alone at the end of its next transaction, and the
    /// volatile WAL may have more memory. Returns true if commits go to the redo log, or will if nobody
    /// else has the database.
    pub(super) fn expect_burst(&self) -> bool {
        let is_expected = match self.options.redo_log {
            RedoLogUse::Never => false,
            RedoLogUse::Always => true,
            RedoLogUse::Bursts => self.bursts().may_go_alone(Instant::now()),
        };
        if is_expected {
            let memory = self.options.wal_memory.saturating_mul(BURST_MEMORY);
            self.wal_mut().set_memory(memory);
            let goes = self.options.redo_log == RedoLogUse::Bursts;
            self.is_burst.fetch_or(goes, Ordering::AcqRel);
        }
        is_expected
    }

    /// Ends an announced burst. The volatile WAL releases its memory when it restarts.
    pub(super) fn end_burst(&self) {
        self.wal_mut().set_memory(self.options.wal_memory);
    }

    /// Counts a commit while the database is shared.
    pub(super) fn note_shared_commit(&self) {
        if self.options.redo_log == RedoLogUse::Bursts && self.bursts().note_commit(Instant::now())
        {
            self.is_burst.store(true, Ordering::Release);
        }
    }

    /// Makes the exchange that is wanted, if that is possible now. To be called by a connection that
    /// has ended a transaction, and does not hold [`Sharing`].
    pub(super) fn exchange_if_wanted(self: &Arc<Self>) {
        if self.is_asked.load(Ordering::Acquire) {
            if self.step_aside() {
                self.is_asked.store(false, Ordering::Release);
            }
        } else if self.is_burst.load(Ordering::Acquire) {
            match self.go_alone() {
                // At the end of another transaction.
                Attempt::Later => return,
                Attempt::Done => {}
                Attempt::Refused => self.bursts().note_other_process(Instant::now()),
            }
            self.is_burst.store(false, Ordering::Release);
        }
    }
}

/// Waits for opens of the file, and for a pause.
fn follow_opens(database: &Weak<Database>, watch: &OpenWatch, pause: Duration, process: u64) {
    let mut is_asked = false;
    // A process that opened the file just before it was watched waits for a lock now.
    let waits = |database: Arc<Database>| database.is_open_elsewhere();
    if database.upgrade().is_some_and(waits)
        && let Some(database) = database.upgrade()
    {
        database.ask();
        is_asked = true;
    }
    loop {
        let most = if is_asked { AGAIN } else { pause / 2 };
        let was_opened = match is_asked {
            true => {
                std::thread::sleep(most);
                false
            }
            false => watch.wait(most),
        };
        let Some(database) = database.upgrade() else {
            return;
        };
        let is_followed = database
            .watch()
            .as_ref()
            .is_some_and(|own| Arc::ptr_eq(&own.0, &watch.0));
        if !is_followed || process != fork_count() || *database.sharing() == Sharing::Shared {
            return;
        }
        if was_opened && database.broken().is(Mutation::ForgetAsk) {
            std::thread::sleep(most);
        } else if was_opened {
            database.ask();
            is_asked = true;
        } else if !is_asked && database.session().idle_for() >= pause {
            database.is_asked.store(true, Ordering::Release);
            is_asked = true;
        }
        if is_asked {
            database.exchange_if_wanted();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_many_commits_in_a_short_time() {
        let mut policy = BurstPolicy::default();
        let begin = Instant::now();
        let at = |milliseconds| begin + Duration::from_millis(milliseconds);
        // 25 within five seconds.
        assert!((0..100).all(|n| !policy.note_commit(at(n * 200))));
        let mut policy = BurstPolicy::default();
        let bursts: Vec<bool> = (0..40).map(|n| policy.note_commit(at(n))).collect();
        assert_eq!(bursts.iter().position(|burst| *burst), Some(31));
    }

    #[test]
    fn company_keeps_it_shared_longer_each_time() {
        let mut policy = BurstPolicy::default();
        let begin = Instant::now();
        let mut now = begin;
        let mut quiet = Vec::new();
        for _ in 0..9 {
            policy.note_other_process(now);
            let until = policy.shared_until.unwrap_or(now);
            quiet.push(until.duration_since(now).as_secs());
            let early = until - Duration::from_millis(50);
            assert!((0..40).all(|n| !policy.note_commit(early + Duration::from_micros(n))));
            now = until;
        }
        assert_eq!(quiet, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
        // Forgotten after ten minutes.
        policy.note_other_process(now + REMEMBERED);
        assert_eq!(policy.quiet, QUIET);
    }
}
