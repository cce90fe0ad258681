//! Group commit: write transactions of several threads share one COMMIT, and so one flush.
//!
//! One connection writes, in a slot that threads take in turn; each thread does its own work on it.
//! A thread that finds no transaction open begins one. A thread that finds one open joins it with a
//! savepoint. When its work is done, a member leaves the transaction open for the next thread, or
//! commits it for all:
//!
//! ```text
//! A  BEGIN IMMEDIATE, work ─┐ leaves it open                    ┌ saved
//! B         waits           └ SAVEPOINT, work, RELEASE ─┐       ├ saved
//! C              waits            SAVEPOINT, fails,     └       │
//!                                 ROLLBACK TO, RELEASE ─┐       ├ its own error
//! D                   waits            SAVEPOINT, work, └ COMMIT┴ saved
//! E                                          waits ..............BEGIN IMMEDIATE, work ─ ...
//! ```
//!
//! **Every group is committed.** The member that joined last commits an open group. It leaves the
//! group open in two cases: a thread waits for the slot and joins next, also if its own work fails
//! or panics; or it waits for one ([`COMMIT_DELAY`]) and comes back if none came.
//!
//! **Commit delay** (PostgreSQL's `commit_delay` and `commit_siblings`). Threads whose save was
//! just acknowledged usually come back at once with the next. A commit before they do would split
//! them into two groups that alternate, each half as large. So the last member of a group that is
//! smaller than the previous one waits for [`COMMIT_DELAY`]. A single thread never waits.
//!
//! **Results.** No member returns before the commit, not even one whose own work failed: it may have
//! read the work of members before it. If the commit fails, or SQLite rolls back the transaction
//! during a member's work (a full disk, say), every member gets that error, and nothing of the group
//! is kept.
//!
//! **Without a flush** (`Durability::Deferred`) each thread commits for itself.
//!
//! **Large transactions are not grouped**: they commit the open group first, so that its members do
//! not wait for them.
//!
//! **Maintenance needs no flush**: changes of derived data only (a merge of the index) are committed
//! with `synchronous=NORMAL`. The log keeps its order, so the flush of the next save makes them
//! durable too; after a power cut before that, the store is as before the maintenance.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, ffi};

use super::Maintenance;
use super::pool::{Durability, lock};
use super::work::Work;
use crate::error::{Error, Result, SqliteError};

/// The maximum number of members of a group.
const MAX_GROUP_SIZE: usize = 64;
/// How long the last member of a group waits for another thread: longer than a thread takes to
/// come back with its next save, short beside a flush.
const COMMIT_DELAY: Duration = Duration::from_micros(200);
/// The pause between two attempts to get the file lock from another process.
const BUSY_PAUSE: Duration = Duration::from_millis(1);

/// A write that waits for another process says so after this time, in which a person begins to wonder.
const TOLD_AFTER: Duration = Duration::from_secs(2);

/// A write that waits for another process.
#[derive(Debug)]
#[non_exhaustive]
pub struct Waiting<'w> {
    /// The file.
    pub path: &'w Path,
    /// How long it has waited.
    pub waited: Duration,
}

impl<'w> Waiting<'w> {
    fn new(path: &'w Path, waited: Duration) -> Self {
        Self { path, waited }
    }

    /// Names the process that writes, if it is known: one of another container, or of another user, is not.
    /// It reads `/proc`.
    pub fn writer(&self) -> Option<String> {
        etui_vfs_base::writer_of(self.path).map(|writer| writer.to_string())
    }
}

/// Called while a write waits, from time to time; `Break` ends the wait ([`Error::Stopped`]).
pub type TellWaiting = fn(&Waiting<'_>) -> ControlFlow<()>;

/// How a write waits for other processes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteWait {
    pub(crate) most: Duration,
    pub(crate) tell: Option<TellWaiting>,
}

/// The size of a transaction, which decides how it is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransactionSize {
    /// Shares its commit.
    Small,
    /// Large, or of unknown size: a transaction of its own.
    Large,
    /// Changes of derived data: a transaction of its own that need not be durable at once.
    Maintenance,
}

impl TransactionSize {
    /// Returns the size of a transaction that writes this number of records and bytes of text.
    pub(crate) fn of(records: usize, bytes: usize) -> Self {
        // So small that other members of its group hardly wait for it.
        if records <= 64 && bytes <= 1 << 20 {
            Self::Small
        } else {
            Self::Large
        }
    }
}

/// The connection that writes, and the threads that wait for it.
pub(super) struct Writer {
    durability: Durability,
    /// How long to wait for the transaction of another process.
    wait: WriteWait,
    /// The number of threads that wait for the slot.
    waiting: AtomicUsize,
    slot: Mutex<WriterSlot>,
}

#[derive(Default)]
struct WriterSlot {
    /// Opened by the first write.
    connection: Option<Connection>,
    /// Commits of the connection are not flushed.
    is_unflushed: bool,
    /// The open transaction, while no thread holds the slot.
    group: Option<CommitGroup>,
    /// The members of the last commit, and the threads that waited when it ended.
    siblings: usize,
}

/// The result of a thread's work, or the payload of its panic.
type WorkResult = thread::Result<Result<()>>;

/// Finds the maintenance that a commit makes due. Runs at the end of the transaction, in the one
/// thread that commits it.
pub(super) type AtCommit<'a> = &'a dyn Fn(&Connection) -> DueMaintenance;

/// The maintenance that a commit made due, if any.
type DueMaintenance = Result<Option<Maintenance>>;

/// The outcome of a write for one thread.
pub(super) struct WriteOutcome {
    /// The result of its work, or the payload of its panic.
    pub(super) work: WorkResult,
    /// True in one thread of each committed group, which does what follows a commit.
    pub(super) follows_up: bool,
    /// The value of [`AtCommit`], in the thread that committed.
    pub(super) at_commit: Option<DueMaintenance>,
}

impl WriteOutcome {
    /// The outcome of a write without a commit.
    pub(super) fn uncommitted(work: WorkResult) -> Self {
        Self {
            work,
            follows_up: false,
            at_commit: None,
        }
    }

    /// Returns the result of the work; resumes its panic.
    pub(super) fn into_result(self) -> Result<()> {
        self.work
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Writer {
    pub(super) fn new(durability: Durability, wait: WriteWait) -> Self {
        Self {
            durability,
            wait,
            waiting: AtomicUsize::new(0),
            slot: Mutex::default(),
        }
    }

    pub(super) fn has_connection(&self) -> bool {
        lock(&self.slot).connection.is_some()
    }

    /// Commits the open transaction, and takes the connection.
    pub(super) fn close(&self) -> Option<Connection> {
        let mut slot = self.take_slot();
        self.commit_group(&mut slot);
        slot.connection.take()
    }

    /// Commits the open transaction that no thread holds the slot for. A member of the group follows up.
    fn commit_group(&self, slot: &mut WriterSlot) {
        if let Some(group) = slot.group.take() {
            let result = self.commit(slot, group.members, &|_| Ok(None));
            group.finish(result.map(|_| true));
        }
    }

    /// Runs `work` on the connection if no transaction is open and something was written.
    pub(super) fn with_idle_connection<T>(&self, work: impl FnOnce(&Connection) -> T) -> Option<T> {
        let slot = lock(&self.slot);
        match (&slot.group, &slot.connection) {
            (None, Some(connection)) => Some(work(connection)),
            _ => None,
        }
    }

    /// Runs `work` in a write transaction and returns after its commit.
    ///
    /// What follows a commit is left to one thread of each group ([`WriteOutcome::follows_up`]),
    /// after the slot is free and the other members know the result.
    pub(super) fn run(
        &self,
        size: TransactionSize,
        connect: &dyn Fn() -> Result<Connection>,
        at_commit: AtCommit<'_>,
        work: Work<'_>,
    ) -> WriteOutcome {
        let mut slot = self.take_slot();
        if size != TransactionSize::Small {
            // This thread has a long transaction to run first.
            self.commit_group(&mut slot);
        }
        let found = slot.group.take();
        if let Err(e) = self.prepare_connection(&mut slot, size, found.is_some(), connect) {
            return WriteOutcome::uncommitted(Ok(Err(e)));
        }
        let Some(connection) = &slot.connection else {
            return WriteOutcome::uncommitted(Ok(Err(CommitFailure::unknown().into())));
        };
        let (work, group) = match found {
            None => match begin_group(connection, self.wait, work) {
                done @ Ok(Ok(())) => (done, None),
                done => return WriteOutcome::uncommitted(done),
            },
            Some(group) => match join_group(connection, work) {
                (done, Ok(())) => (done, Some(group.with_one_more())),
                (done, Err(failure)) => {
                    drop(slot);
                    group.finish(Err(failure));
                    return WriteOutcome::uncommitted(done);
                }
            },
        };
        let may_delay = work.is_ok();
        match self.finish_turn(slot, size, group, may_delay, at_commit) {
            Ok((follows_up, at_commit)) => WriteOutcome {
                work,
                follows_up,
                at_commit,
            },
            Err(failure) => WriteOutcome::uncommitted(work.map(|_| Err(failure.into()))),
        }
    }

    /// Takes the slot. Until then its holder sees that a thread waits.
    fn take_slot(&self) -> MutexGuard<'_, WriterSlot> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let slot = lock(&self.slot);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        slot
    }

    /// Opens the connection if necessary, and sets its pragmas for a transaction of this size.
    fn prepare_connection(
        &self,
        slot: &mut WriterSlot,
        size: TransactionSize,
        joins_group: bool,
        connect: &dyn Fn() -> Result<Connection>,
    ) -> Result<()> {
        if slot.connection.is_none() {
            slot.connection = Some(connect()?);
            slot.is_unflushed = self.durability == Durability::Deferred;
        }
        let Some(connection) = &slot.connection else {
            return Ok(());
        };
        let unflushed =
            size == TransactionSize::Maintenance || self.durability == Durability::Deferred;
        // SQLite does not change `synchronous` inside a transaction.
        if !joins_group && slot.is_unflushed != unflushed {
            let level = if unflushed { "NORMAL" } else { "FULL" };
            connection.pragma_update(None, "synchronous", level)?;
            slot.is_unflushed = unflushed;
        }
        Ok(())
    }

    /// Ends the turn of a member whose work is in the open transaction: commits, or leaves the
    /// transaction open and waits for its result. Returns true if this thread does what follows the
    /// commit, and the value of `at_commit` if it committed.
    fn finish_turn<'w>(
        &'w self,
        mut slot: MutexGuard<'w, WriterSlot>,
        size: TransactionSize,
        mut group: Option<CommitGroup>,
        mut may_delay: bool,
        at_commit: AtCommit<'_>,
    ) -> std::result::Result<(bool, Option<DueMaintenance>), CommitFailure> {
        loop {
            // Without a group this thread is the only member.
            let members = group.as_ref().map_or(1, |g| g.members);
            // Without a flush, handing over costs more than a commit.
            let may_share = size == TransactionSize::Small
                && self.durability == Durability::Full
                && members < MAX_GROUP_SIZE;
            let is_awaited = self.waiting.load(Ordering::Relaxed) > 0;
            if !may_share || !(is_awaited || may_delay && members < slot.siblings) {
                let result = self.commit(&mut slot, members, at_commit);
                // The next thread takes the slot while the members wake up.
                drop(slot);
                if let Some(group) = group {
                    group.finish(result.as_ref().map(|_| false).map_err(CommitFailure::clone));
                }
                return result.map(|due| (true, Some(due)));
            }
            let open = group.take().unwrap_or_else(CommitGroup::new);
            let signal = Arc::clone(&open.signal);
            slot.group = Some(open);
            drop(slot);
            let timeout = (!is_awaited).then_some(COMMIT_DELAY);
            if let Some(result) = signal.wait(timeout) {
                return result.map(|follows_up| (follows_up, None));
            }
            // No thread joined in time, or one did and commits now.
            slot = lock(&self.slot);
            group = slot
                .group
                .take_if(|g| Arc::ptr_eq(&g.signal, &signal) && g.members == members);
            if group.is_none() {
                drop(slot);
                return match signal.wait(None) {
                    Some(result) => result.map(|follows_up| (follows_up, None)),
                    None => Err(CommitFailure::unknown()),
                };
            }
            may_delay = false;
        }
    }

    /// Commits the open transaction, and counts the threads that save at this time.
    fn commit(
        &self,
        slot: &mut WriterSlot,
        members: usize,
        at_commit: AtCommit<'_>,
    ) -> std::result::Result<DueMaintenance, CommitFailure> {
        let Some(connection) = &slot.connection else {
            return Err(CommitFailure::unknown());
        };
        let result = commit(connection, at_commit);
        slot.siblings = members + self.waiting.load(Ordering::Relaxed);
        result
    }
}

/// Begins a transaction as soon as no other process has one open. While many threads of a process
/// write, the file is unlocked only for moments between two groups. SQLite's own busy handler
/// pauses for up to 100 ms and would miss them for seconds.
fn begin_immediate(connection: &Connection, wait: WriteWait) -> Result<()> {
    let mut start = None;
    loop {
        let error = match execute(connection, "BEGIN IMMEDIATE") {
            Err(Error::Sqlite(SqliteError(e)))
                if e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) =>
            {
                e
            }
            done => return done,
        };
        let waited = start.get_or_insert_with(Instant::now).elapsed();
        if waited >= wait.most {
            return Err(error.into());
        }
        if waited >= TOLD_AFTER
            && let Some(tell) = wait.tell
            && let Some(path) = connection.path()
            && tell(&Waiting::new(path.as_ref(), waited)).is_break()
        {
            return Err(Error::Stopped);
        }
        thread::sleep(BUSY_PAUSE);
    }
}

/// Runs the work of the first member of a group. After a failure no transaction is open.
fn begin_group(connection: &Connection, wait: WriteWait, work: Work<'_>) -> WorkResult {
    if let Err(e) = begin_immediate(connection, wait) {
        return Ok(Err(e));
    }
    match catch_unwind(AssertUnwindSafe(|| work(connection))) {
        // SQLite rolled back the transaction, although the work returned no error.
        Ok(Ok(_)) if connection.is_autocommit() => Ok(Err(CommitFailure::unknown().into())),
        done @ Ok(Ok(_)) => done,
        done => {
            roll_back(connection);
            done
        }
    }
}

/// Runs the work of a further member. After a [`CommitFailure`] the whole transaction is rolled back.
fn join_group(
    connection: &Connection,
    work: Work<'_>,
) -> (WorkResult, std::result::Result<(), CommitFailure>) {
    let fail = |done: WorkResult, failure| {
        roll_back(connection);
        (done, Err(failure))
    };
    if let Err(e) = execute(connection, "SAVEPOINT member") {
        let failure = CommitFailure::from_error(&e);
        return fail(Ok(Err(e)), failure);
    }
    let done = catch_unwind(AssertUnwindSafe(|| work(connection)));
    if connection.is_autocommit() {
        // SQLite rolled back the transaction; all members get its error.
        let failure = match &done {
            Ok(Err(e)) => CommitFailure::from_error(e),
            _ => CommitFailure::unknown(),
        };
        return match done {
            Ok(Ok(_)) => fail(Ok(Err(CommitFailure::unknown().into())), failure),
            done => fail(done, failure),
        };
    }
    let undone = match done {
        Ok(Ok(_)) => Ok(()),
        _ => execute(connection, "ROLLBACK TO member"),
    };
    match undone.and_then(|()| execute(connection, "RELEASE member")) {
        Ok(()) => (done, Ok(())),
        Err(e) => {
            let failure = CommitFailure::from_error(&e);
            match done {
                Ok(Ok(_)) => fail(Ok(Err(e)), failure),
                done => fail(done, failure),
            }
        }
    }
}

/// Commits, or rolls back and returns the failure.
fn commit(
    connection: &Connection,
    at_commit: AtCommit<'_>,
) -> std::result::Result<DueMaintenance, CommitFailure> {
    /// Rolls back an uncommitted transaction, also when `at_commit` panics.
    struct RollBack<'c>(&'c Connection);
    impl Drop for RollBack<'_> {
        fn drop(&mut self) {
            roll_back(self.0);
        }
    }
    let uncommitted = RollBack(connection);
    let due = at_commit(connection);
    let result = execute(connection, "COMMIT");
    let result = result.map_err(|e| CommitFailure::from_error(&e));
    drop(uncommitted);
    result.map(|()| due)
}

/// Executes a statement without parameters, prepared once for each connection.
pub(super) fn execute(connection: &Connection, sql: &str) -> Result<()> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}

fn roll_back(connection: &Connection) {
    if !connection.is_autocommit() {
        // It fails if SQLite has rolled back already.
        let _ = connection.execute_batch("ROLLBACK");
    }
}

/// An open transaction and its members.
struct CommitGroup {
    members: usize,
    signal: Arc<GroupSignal>,
}

impl CommitGroup {
    /// A group of one member.
    fn new() -> Self {
        Self {
            members: 1,
            signal: Arc::default(),
        }
    }

    fn with_one_more(mut self) -> Self {
        self.members += 1;
        self
    }

    /// Wakes all members with the result.
    fn finish(self, result: GroupResult) {
        self.signal.send(result);
    }
}

impl Drop for CommitGroup {
    fn drop(&mut self) {
        // No member may wait forever, whatever happened to the one that commits.
        self.signal.send(Err(CommitFailure::unknown()));
    }
}

/// The result of a group. `true`: no thread does yet what follows the commit; the first member that
/// reads the result does.
type GroupResult = std::result::Result<bool, CommitFailure>;

/// The condition on which members wait for the result of their group.
#[derive(Default)]
struct GroupSignal {
    result: Mutex<Option<GroupResult>>,
    is_known: Condvar,
}

impl GroupSignal {
    /// Sends the result, once.
    fn send(&self, result: GroupResult) {
        let mut known = lock(&self.result);
        if known.is_none() {
            *known = Some(result);
            drop(known);
            self.is_known.notify_all();
        }
    }

    /// Waits for the result; returns `None` after the timeout.
    fn wait(&self, timeout: Option<Duration>) -> Option<GroupResult> {
        let guard = lock(&self.result);
        let is_unknown = |known: &mut Option<GroupResult>| known.is_none();
        let mut known = match timeout {
            None => self
                .is_known
                .wait_while(guard, is_unknown)
                .unwrap_or_else(PoisonError::into_inner),
            Some(timeout) => {
                self.is_known
                    .wait_timeout_while(guard, timeout, is_unknown)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
        };
        let known = known.as_mut()?;
        let result = known.clone();
        if let Ok(follows_up) = known {
            *follows_up = false;
        }
        Some(result)
    }
}

/// The reason why a transaction was rolled back, for every member.
#[derive(Debug, Clone)]
pub(super) enum CommitFailure {
    /// SQLite's code and message.
    Sqlite {
        code: ffi::Error,
        message: Option<String>,
    },
}

impl CommitFailure {
    fn from_error(error: &Error) -> Self {
        match error {
            Error::Sqlite(SqliteError(rusqlite::Error::SqliteFailure(code, message))) => {
                Self::Sqlite {
                    code: *code,
                    message: message.clone(),
                }
            }
            other => Self::rolled_back(Some(other.to_string())),
        }
    }

    /// The failure of a transaction that was rolled back for an unknown reason.
    pub(super) fn unknown() -> Self {
        Self::rolled_back(None)
    }

    fn rolled_back(message: Option<String>) -> Self {
        let code = ffi::Error::new(ffi::SQLITE_ABORT_ROLLBACK);
        Self::Sqlite { code, message }
    }
}

impl From<CommitFailure> for Error {
    fn from(failure: CommitFailure) -> Self {
        match failure {
            CommitFailure::Sqlite { code, message } => {
                rusqlite::Error::SqliteFailure(code, message).into()
            }
        }
    }
}

#[cfg(test)]
mod tests;
