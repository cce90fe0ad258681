//! The one connection that writes, and group commit: transactions that wait at the same moment
//! share one COMMIT, and so one flush.
//!
//! The connection goes from thread to thread like a baton, and each thread does its own work on
//! it; no work crosses threads. Whoever finds no transaction open begins one; whoever finds one
//! open, left by the member before, joins it with a savepoint. When its work is done a member
//! either leaves the transaction open for the next one, or commits it for all:
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
//! **Somebody always commits.** An open group has exactly one member that is answerable for it:
//! the one that joined last. It leaves the group open only if it saw a thread that waits for the
//! baton, which then joins as the next one and is answerable in its place, also if its own work
//! fails or panics; or if it comes back itself after a short while, when nobody came.
//!
//! **Waiting for company.** Threads whose save has just been acknowledged mostly come back at
//! once with the next. Committing before they do would split them into two groups that take
//! turns, each half as large as it might be. So the last member waits for as many as saved or
//! queued at the commit before, for at most a part of the time that this commit took. A thread
//! alone has no company to wait for: it runs BEGIN, its work and COMMIT, and nothing else.
//!
//! **Outcome.** No member returns before the commit, not even one whose own work failed: what it
//! saw may have been the work of members before it. If the commit fails, or SQLite gives up the
//! whole transaction in the midst of a member's work (a full disk, say), every member gets that
//! error, and nothing of the group is kept.
//!
//! **Where a commit costs no flush** (`Durability::Deferred`) each thread commits for itself.
//!
//! **Large work is not grouped**: it first commits the group it finds, then runs in a transaction
//! of its own, so that those who saved before it do not wait for it to become durable.
//!
//! **Upkeep needs no flush**: what only rearranges what can be derived (a merge of the index) is
//! committed with `synchronous=NORMAL`. The log keeps its order, so that the flush of the next
//! save makes it durable too; a power cut before that leaves the store as it was before the merge.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, ffi};

use super::open::{CHECKPOINT_AT, CHECKPOINT_PUT_OFF_TO};
use super::pool::{Durability, lock};
use crate::error::{Error, Result};

/// Members of a group at the most.
const MEMBERS: usize = 64;
/// How long a group goes on taking in those who wait, counted from its first member's end.
const OPEN_AT_MOST: Duration = Duration::from_millis(10);
/// How long a member waits for company at the most, however slow the last commit was.
const PATIENCE: Duration = Duration::from_millis(2);
/// Below this a wait costs more than it brings: timers are not that fine.
const LEAST_PATIENCE: Duration = Duration::from_micros(50);

/// How often the lock that another process has is asked for.
const BUSY_PAUSE: Duration = Duration::from_millis(1);

/// How much a transaction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransactionSize {
    /// Little: it shares its commit.
    Small,
    /// Much, or nobody knows how much: it has a transaction of its own.
    Large,
    /// Nothing that anybody saved: a transaction of its own, which need not be durable at once.
    Upkeep,
}

impl TransactionSize {
    /// Of a transaction that writes so many records, with so many bytes of text.
    pub(crate) fn of(records: usize, bytes: usize) -> Self {
        if records <= 64 && bytes <= 1 << 20 {
            Self::Small
        } else {
            Self::Large
        }
    }
}

/// See [`Writer::put_off_checkpoint`].
pub(super) struct DeferredCheckpoint<'w>(&'w AtomicUsize);

impl Drop for DeferredCheckpoint<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The connection that writes, and who is waiting for it.
pub(super) struct Writer {
    durability: Durability,
    /// How long another process's transaction is waited for.
    busy_timeout: Duration,
    /// Threads on their way to the baton; each of them takes it.
    waiting: AtomicUsize,
    /// Those who have the checkpoint put off.
    putting_off: AtomicUsize,
    baton: Mutex<WriterSlot>,
}

#[derive(Default)]
struct WriterSlot {
    /// Opened by the first who writes.
    connection: Option<Connection>,
    /// Whether it commits without a flush.
    is_unflushed: bool,
    /// Whether its commits put the checkpoint off.
    puts_off: bool,
    /// The transaction that is open while nobody holds the baton.
    group: Option<Group>,
    /// Members of the last commit, and threads that waited while it ran.
    crowd: usize,
    /// How long the last commit took, if there was a crowd.
    commit_took: Duration,
}

/// What a thread's work came to: its result, or what it panicked with.
type Own<T> = thread::Result<Result<T>>;

/// A thread's own result, and what is left to it to do after the commit.
pub(crate) struct WriteOutcome<T, A> {
    /// The result, or what the work panicked with.
    pub(crate) own: Own<T>,
    /// Whether this thread is the one of its group that does what follows a commit.
    pub(crate) committed: bool,
    /// What `at_commit` said, if this thread called it and the commit succeeded.
    pub(crate) at_commit: Option<A>,
}

impl<T, A> WriteOutcome<T, A> {
    /// Nothing was committed.
    pub(super) fn without(own: Own<T>) -> Self {
        Self {
            own,
            committed: false,
            at_commit: None,
        }
    }

    /// The result; the panic goes on.
    pub(crate) fn result(self) -> Result<T> {
        self.own
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Writer {
    pub(super) fn new(durability: Durability, busy_timeout: Duration) -> Self {
        Self {
            durability,
            busy_timeout,
            waiting: AtomicUsize::new(0),
            putting_off: AtomicUsize::new(0),
            baton: Mutex::default(),
        }
    }

    pub(super) fn has_connection(&self) -> bool {
        lock(&self.baton).connection.is_some()
    }

    pub(super) fn take_connection(&self) -> Option<Connection> {
        lock(&self.baton).connection.take()
    }

    /// Until it is dropped commits put the checkpoint off.
    pub(super) fn put_off_checkpoint(&self) -> DeferredCheckpoint<'_> {
        self.putting_off.fetch_add(1, Ordering::Relaxed);
        DeferredCheckpoint(&self.putting_off)
    }

    /// Runs `work` on the connection while no transaction is open. `None`: one is, or nothing was
    /// written yet.
    pub(super) fn between<T>(&self, work: impl FnOnce(&Connection) -> T) -> Option<T> {
        let baton = lock(&self.baton);
        match (&baton.group, &baton.connection) {
            (None, Some(connection)) => Some(work(connection)),
            _ => None,
        }
    }

    /// Runs `work` in a write transaction and returns when that is committed.
    ///
    /// `at_commit` runs at the end of a transaction, in the one thread that commits it. What
    /// follows a commit is left to one thread of each group ([`WriteOutcome::committed`]), outside the
    /// lock and after the others were told.
    pub(super) fn run<T, A>(
        &self,
        size: TransactionSize,
        connect: impl FnOnce() -> Result<Connection>,
        at_commit: impl Fn(&Connection) -> A,
        work: impl FnOnce(&Connection) -> Result<T>,
    ) -> WriteOutcome<T, A> {
        let baton = self.take_baton();
        self.run_with(baton, size, self.busy_timeout, connect, at_commit, work)
    }

    /// Runs `work` as the one who holds the baton.
    fn run_with<'w, T, A>(
        &'w self,
        mut baton: MutexGuard<'w, WriterSlot>,
        size: TransactionSize,
        busy_timeout: Duration,
        connect: impl FnOnce() -> Result<Connection>,
        at_commit: impl Fn(&Connection) -> A,
        work: impl FnOnce(&Connection) -> Result<T>,
    ) -> WriteOutcome<T, A> {
        let mut found = baton.group.take();
        if size != TransactionSize::Small
            && let Some(group) = found.take()
        {
            // What follows is for one of those who are told: here a long work follows.
            let outcome = baton.commit(&self.waiting, group.members, |_| ());
            group.tell(outcome, Duty::ForFirst);
        }
        let connection = match baton.connection.take() {
            Some(c) => c,
            None => match connect() {
                Ok(c) => {
                    baton.is_unflushed = self.durability == Durability::Deferred;
                    baton.puts_off = false;
                    c
                }
                Err(e) => return WriteOutcome::without(Ok(Err(e))),
            },
        };
        let is_upkeep = size == TransactionSize::Upkeep || self.durability == Durability::Deferred;
        if found.is_none() && baton.is_unflushed != is_upkeep {
            let level = if is_upkeep { "NORMAL" } else { "FULL" };
            if let Err(e) = connection.pragma_update(None, "synchronous", level) {
                baton.connection = Some(connection);
                return WriteOutcome::without(Ok(Err(e.into())));
            }
            baton.is_unflushed = is_upkeep;
        }
        let puts_off = self.putting_off.load(Ordering::Relaxed) > 0;
        if baton.puts_off != puts_off {
            let pages = match puts_off {
                true => CHECKPOINT_PUT_OFF_TO,
                false => CHECKPOINT_AT,
            };
            // Should it fail, the log is brought to the file at another time.
            let _ = connection.pragma_update(None, "wal_autocheckpoint", pages);
            baton.puts_off = puts_off;
        }
        let connection = &*baton.connection.insert(connection);
        let (own, group) = match found {
            None => match begin(connection, busy_timeout, work) {
                own @ Ok(Ok(_)) => (own, None),
                own => return WriteOutcome::without(own),
            },
            Some(group) => match join(connection, work) {
                (own, Ok(())) => (own, Some(group.with_one_more())),
                (own, Err(failure)) => {
                    drop(baton);
                    group.tell(Err(failure), Duty::Done);
                    return WriteOutcome::without(own);
                }
            },
        };
        let patient = own.is_ok();
        match self.settle(baton, size, group, patient, at_commit) {
            Ok(Committed { duty, at_commit }) => WriteOutcome {
                own,
                committed: duty,
                at_commit,
            },
            Err(failure) => WriteOutcome::without(own.map(|_| Err(failure.into()))),
        }
    }

    /// Takes the baton; until then its holder sees that somebody waits.
    fn take_baton(&self) -> MutexGuard<'_, WriterSlot> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let baton = lock(&self.baton);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        baton
    }

    /// Ends the turn of a member whose work is in the open transaction: commits, or leaves the
    /// transaction open and waits for the outcome.
    fn settle<'w, A>(
        &'w self,
        mut baton: MutexGuard<'w, WriterSlot>,
        size: TransactionSize,
        mut group: Option<Group>,
        patient: bool,
        at_commit: impl Fn(&Connection) -> A,
    ) -> std::result::Result<Committed<A>, Failure> {
        let mut patient = patient;
        loop {
            let members = group.as_ref().map_or(1, |g| g.members);
            let wait = match size {
                // Without a flush, handing over costs more than a commit.
                _ if self.durability == Durability::Deferred => None,
                TransactionSize::Small => self.leave(&baton, members, group.as_ref(), patient),
                TransactionSize::Large | TransactionSize::Upkeep => None,
            };
            let Some(wait) = wait else {
                let outcome = baton.commit(&self.waiting, members, &at_commit);
                drop(baton);
                if let Some(group) = group {
                    let told = outcome.as_ref().map(|_| ()).map_err(Failure::clone);
                    group.tell(told, Duty::Done);
                }
                return outcome.map(|said| Committed {
                    duty: true,
                    at_commit: Some(said),
                });
            };
            let left = group.take().unwrap_or_else(Group::new);
            let shared = Arc::clone(&left.shared);
            baton.group = Some(left);
            drop(baton);
            if let Some(outcome) = shared.wait(wait) {
                return outcome.into_committed();
            }
            // Nobody came in time, or somebody did and is answerable now.
            baton = lock(&self.baton);
            group = baton
                .group
                .take_if(|g| Arc::ptr_eq(&g.shared, &shared) && g.members == members);
            if group.is_none() {
                drop(baton);
                return match shared.wait(Wait::ForOutcome) {
                    Some(outcome) => outcome.into_committed(),
                    None => Err(Failure::lost()),
                };
            }
            patient = false;
        }
    }

    /// Whether the last of so many members may leave the transaction open, and for how long.
    fn leave(
        &self,
        baton: &WriterSlot,
        members: usize,
        group: Option<&Group>,
        patient: bool,
    ) -> Option<Wait> {
        if members >= MEMBERS {
            return None;
        }
        let waits = self.waiting.load(Ordering::Relaxed) > 0;
        let company = patient && members < baton.crowd;
        if !waits && !company {
            return None;
        }
        let open = group.map_or(Duration::ZERO, |g| g.since.elapsed());
        if waits {
            return (open < OPEN_AT_MOST).then_some(Wait::ForOutcome);
        }
        let patience = (baton.commit_took / 2).min(PATIENCE);
        (patience >= LEAST_PATIENCE && open < 2 * patience).then_some(Wait::ForCompany(patience))
    }
}

impl WriterSlot {
    /// Commits the open transaction, and notes how many threads save at this time.
    fn commit<A>(
        &mut self,
        waiting: &AtomicUsize,
        members: usize,
        at_commit: impl Fn(&Connection) -> A,
    ) -> std::result::Result<A, Failure> {
        let Some(connection) = &self.connection else {
            return Err(Failure::lost());
        };
        let crowded = members > 1 || self.crowd > 1 || waiting.load(Ordering::Relaxed) > 0;
        let begun = crowded.then(Instant::now);
        let outcome = commit(connection, at_commit);
        if let Some(begun) = begun {
            self.commit_took = begun.elapsed();
        }
        self.crowd = members + waiting.load(Ordering::Relaxed);
        outcome
    }
}

/// Begins a transaction as soon as no other process has one open. While many threads of a process
/// write there are only moments between one group and the next, and SQLite's own waiting, which
/// ends in pauses of 100 ms, would miss them for seconds.
fn lock_file(connection: &Connection, busy_timeout: Duration) -> Result<()> {
    let mut began = None;
    loop {
        match execute(connection, "BEGIN IMMEDIATE") {
            Err(Error::Sqlite(e))
                if e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && began.get_or_insert_with(Instant::now).elapsed() < busy_timeout =>
            {
                thread::sleep(BUSY_PAUSE);
            }
            done => return done,
        }
    }
}

/// Runs the work of a transaction's first member. An error: nothing is open.
fn begin<T>(
    connection: &Connection,
    busy_timeout: Duration,
    work: impl FnOnce(&Connection) -> Result<T>,
) -> Own<T> {
    if let Err(e) = lock_file(connection, busy_timeout) {
        return Ok(Err(e));
    }
    match catch_unwind(AssertUnwindSafe(|| work(connection))) {
        Ok(Ok(_)) if connection.is_autocommit() => Ok(Err(Failure::lost().into())),
        own @ Ok(Ok(_)) => own,
        own => {
            roll_back(connection);
            own
        }
    }
}

/// Runs the work of a further member. A failure: the whole transaction is gone.
fn join<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T>,
) -> (Own<T>, std::result::Result<(), Failure>) {
    let gone = |own: Own<T>, failure| {
        roll_back(connection);
        (own, Err(failure))
    };
    if let Err(e) = execute(connection, "SAVEPOINT member") {
        let failure = Failure::of(&e);
        return gone(Ok(Err(e)), failure);
    }
    let own = catch_unwind(AssertUnwindSafe(|| work(connection)));
    if connection.is_autocommit() {
        // SQLite itself rolled back all of it: what it said then is what all are told.
        let failure = match &own {
            Ok(Err(e)) => Failure::of(e),
            _ => Failure::lost(),
        };
        return match own {
            Ok(Ok(_)) => gone(Ok(Err(Failure::lost().into())), failure),
            own => gone(own, failure),
        };
    }
    let undone = match own {
        Ok(Ok(_)) => Ok(()),
        _ => execute(connection, "ROLLBACK TO member"),
    };
    match undone.and_then(|()| execute(connection, "RELEASE member")) {
        Ok(()) => (own, Ok(())),
        Err(e) => {
            let failure = Failure::of(&e);
            match own {
                Ok(Ok(_)) => gone(Ok(Err(e)), failure),
                own => gone(own, failure),
            }
        }
    }
}

/// Commits, or rolls back and tells why.
fn commit<A>(
    connection: &Connection,
    at_commit: impl Fn(&Connection) -> A,
) -> std::result::Result<A, Failure> {
    /// Rolls back what was not committed.
    struct Open<'c>(&'c Connection);
    impl Drop for Open<'_> {
        fn drop(&mut self) {
            roll_back(self.0);
        }
    }
    let open = Open(connection);
    let last = at_commit(connection);
    let done = execute(connection, "COMMIT").map_err(|e| Failure::of(&e));
    drop(open);
    done.map(|()| last)
}

fn execute(connection: &Connection, sql: &str) -> Result<()> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}

fn roll_back(connection: &Connection) {
    if !connection.is_autocommit() {
        let _ = connection.execute_batch("ROLLBACK");
    }
}

/// An open transaction, and those who wait for its end.
struct Group {
    members: usize,
    /// When its first member left it open.
    since: Instant,
    shared: Arc<Shared>,
}

impl Group {
    /// Of the one member whose work is in the transaction.
    fn new() -> Self {
        Self {
            members: 1,
            since: Instant::now(),
            shared: Arc::default(),
        }
    }

    fn with_one_more(mut self) -> Self {
        self.members += 1;
        self
    }

    /// Tells all members what became of them.
    fn tell(self, result: std::result::Result<(), Failure>, duty: Duty) {
        self.shared.tell(Outcome { result, duty });
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Nobody may wait for ever, whatever happened to the one who was to tell.
        self.shared.tell(Outcome {
            result: Err(Failure::lost()),
            duty: Duty::Done,
        });
    }
}

/// Who does what follows the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Duty {
    /// The first member that hears of it.
    ForFirst,
    /// Somebody else.
    Done,
}

/// What became of a group.
struct Outcome {
    result: std::result::Result<(), Failure>,
    duty: Duty,
}

impl Outcome {
    fn into_committed<A>(self) -> std::result::Result<Committed<A>, Failure> {
        self.result.map(|()| Committed {
            duty: self.duty == Duty::ForFirst,
            at_commit: None,
        })
    }
}

/// What a commit leaves to one of its members.
struct Committed<A> {
    duty: bool,
    at_commit: Option<A>,
}

/// Where members wait for the outcome.
#[derive(Default)]
struct Shared {
    outcome: Mutex<Option<Outcome>>,
    told: Condvar,
}

enum Wait {
    /// Until the outcome is known.
    ForOutcome,
    /// The same, for so long at the most.
    ForCompany(Duration),
}

impl Shared {
    /// Tells the outcome, once.
    fn tell(&self, outcome: Outcome) {
        let mut told = lock(&self.outcome);
        if told.is_none() {
            *told = Some(outcome);
            drop(told);
            self.told.notify_all();
        }
    }

    /// The outcome, with the duty for the first who asks; `None`: it was not known in time.
    fn wait(&self, wait: Wait) -> Option<Outcome> {
        let guard = lock(&self.outcome);
        let unknown = |told: &mut Option<Outcome>| told.is_none();
        let mut told = match wait {
            Wait::ForOutcome => self
                .told
                .wait_while(guard, unknown)
                .unwrap_or_else(PoisonError::into_inner),
            Wait::ForCompany(time) => {
                self.told
                    .wait_timeout_while(guard, time, unknown)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
        };
        told.as_mut().map(|outcome| Outcome {
            result: outcome.result.clone(),
            duty: std::mem::replace(&mut outcome.duty, Duty::Done),
        })
    }
}

/// Why a transaction was rolled back: SQLite's code and message, as often as there are members.
#[derive(Debug, Clone)]
struct Failure {
    code: ffi::Error,
    message: Option<String>,
}

impl Failure {
    fn of(error: &Error) -> Self {
        match error {
            Error::Sqlite(rusqlite::Error::SqliteFailure(code, message)) => Self {
                code: *code,
                message: message.clone(),
            },
            other => Self {
                message: Some(other.to_string()),
                ..Self::lost()
            },
        }
    }

    /// The transaction was rolled back and nobody knows why.
    fn lost() -> Self {
        Self {
            code: ffi::Error::new(ffi::SQLITE_ABORT_ROLLBACK),
            message: None,
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::Sqlite(rusqlite::Error::SqliteFailure(
            failure.code,
            failure.message,
        ))
    }
}

#[cfg(test)]
mod tests;
