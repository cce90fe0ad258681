#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::atomic::AtomicUsize;
use std::sync::mpsc;

use super::*;
use crate::error::SqliteError;

const NO_WAIT: WriteWait = WriteWait {
    most: Duration::ZERO,
    tell: None,
};

type BoxedWork<'w> = Box<dyn FnOnce(&Connection) -> Result<i64> + Send + 'w>;

/// A writer on a table of numbers, each of which may refer to another that must exist at the
/// commit.
struct Fixture {
    writer: Writer,
    commits: AtomicUsize,
    _dir: tempfile::TempDir,
}

/// The outcome of a write, with the value of its work.
struct Outcome {
    work: thread::Result<Result<i64>>,
    follows_up: bool,
    has_committed: bool,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let connection = Connection::open(dir.path().join("db")).unwrap();
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON; CREATE TABLE t \
                 (n INTEGER PRIMARY KEY, other REFERENCES t DEFERRABLE INITIALLY DEFERRED)",
            )
            .unwrap();
        let writer = Writer::new(Durability::Full, NO_WAIT);
        lock(&writer.slot).connection = Some(connection);
        Self {
            writer,
            commits: AtomicUsize::new(0),
            _dir: dir,
        }
    }

    fn run(&self, size: TransactionSize, work: impl FnOnce(&Connection) -> Result<i64>) -> Outcome {
        self.run_by(&self.writer, size, work)
    }

    fn run_by(
        &self,
        writer: &Writer,
        size: TransactionSize,
        work: impl FnOnce(&Connection) -> Result<i64>,
    ) -> Outcome {
        let (mut work, mut value) = (Some(work), None);
        let done = writer.run(
            size,
            &|| panic!("there is a connection"),
            &|_| {
                self.commits.fetch_add(1, Ordering::Relaxed);
                Ok(None)
            },
            &mut |conn| {
                let work = work.take().expect("it runs once");
                value = Some(work(conn)?);
                Ok(())
            },
        );
        Outcome {
            work: done
                .work
                .map(|done| done.map(|()| value.expect("it has run"))),
            follows_up: done.follows_up,
            has_committed: done.at_commit.is_some(),
        }
    }

    /// Waits until this number of threads wait for the slot.
    fn wait_for_threads(&self, threads: usize) {
        while self.writer.waiting.load(Ordering::Relaxed) < threads {
            thread::yield_now();
        }
    }

    /// Runs the works in one group, the first one first; `None` if the machine was too slow for one
    /// group.
    fn try_one_group(&self, works: Vec<BoxedWork<'_>>) -> Option<Vec<Outcome>> {
        let others = works.len() - 1;
        let (begun, go) = mpsc::channel();
        let mut begun = Some(begun);
        let before = self.commits.load(Ordering::Relaxed);
        let done = thread::scope(|scope| {
            let mut threads = Vec::new();
            for work in works {
                match begun.take() {
                    Some(begun) => {
                        threads.push(scope.spawn(move || {
                            self.run(TransactionSize::Small, |conn| {
                                begun.send(()).unwrap();
                                self.wait_for_threads(others);
                                work(conn)
                            })
                        }));
                        go.recv().unwrap();
                    }
                    None => {
                        threads.push(scope.spawn(move || self.run(TransactionSize::Small, work)));
                    }
                }
            }
            let done: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
            done
        });
        (self.commits.load(Ordering::Relaxed) <= before + 1).then_some(done)
    }

    fn numbers(&self) -> Vec<i64> {
        let slot = lock(&self.writer.slot);
        let connection = slot.connection.as_ref().unwrap();
        assert!(connection.is_autocommit() && slot.group.is_none());
        let mut all = connection.prepare("SELECT n FROM t ORDER BY n").unwrap();
        let all = all.query_map([], |r| r.get(0)).unwrap();
        all.map(|n| n.unwrap()).collect()
    }
}

fn insert(n: i64) -> BoxedWork<'static> {
    Box::new(move |conn| {
        execute(conn, &format!("INSERT INTO t (n) VALUES ({n})"))?;
        Ok(n)
    })
}

fn inserts(numbers: impl IntoIterator<Item = i64>) -> Vec<BoxedWork<'static>> {
    numbers.into_iter().map(insert).collect()
}

/// Runs them together in a new store until they were one group.
fn run_in_one_group(works: impl Fn() -> Vec<BoxedWork<'static>>) -> (Fixture, Vec<Outcome>) {
    for _ in 0..50 {
        let fixture = Fixture::new();
        if let Some(done) = fixture.try_one_group(works()) {
            return (fixture, done);
        }
    }
    panic!("no group of all in 50 attempts");
}

fn code(done: &Outcome) -> i32 {
    match &done.work {
        Ok(Err(Error::Sqlite(SqliteError(e)))) => e.sqlite_error().unwrap().extended_code,
        _ => panic!("no error of SQLite"),
    }
}

#[test]
fn a_single_thread_commits_at_once() {
    let fixture = Fixture::new();
    for n in 0..3 {
        let done = fixture.run(TransactionSize::Small, insert(n));
        assert!(matches!(done.work, Ok(Ok(found)) if found == n));
        assert!(done.follows_up && done.has_committed);
    }
    assert!(
        fixture
            .run(TransactionSize::Small, insert(2))
            .work
            .unwrap()
            .is_err()
    );
    assert_eq!(fixture.numbers(), [0, 1, 2]);
    assert_eq!(fixture.commits.into_inner(), 3);
}

#[test]
fn waiting_threads_share_a_commit() {
    let (fixture, done) = run_in_one_group(|| inserts(0..16));
    for (n, done) in done.iter().enumerate() {
        assert!(matches!(done.work, Ok(Ok(found)) if found == n as i64));
    }
    let committed = done.iter().filter(|d| d.follows_up).count();
    assert_eq!(committed, 1, "one thread commits");
    assert_eq!(fixture.numbers(), (0..16).collect::<Vec<_>>());
    assert_eq!(fixture.commits.load(Ordering::Relaxed), 1);
    assert_eq!(lock(&fixture.writer.slot).siblings, 16);
}

#[test]
fn failures_and_panics_stay_with_their_member() {
    let works = || {
        let mut works = inserts(0..8);
        works.push(Box::new(|conn| {
            execute(conn, "INSERT INTO t (n) VALUES (100)")?;
            execute(conn, "INSERT INTO t (n) VALUES (100)")?;
            Ok(100)
        }));
        works.push(Box::new(|conn| {
            execute(conn, "INSERT INTO t (n) VALUES (200)")?;
            panic!("a panic of a test");
        }));
        works
    };
    let (fixture, done) = run_in_one_group(works);
    assert!(done[..8].iter().all(|d| matches!(d.work, Ok(Ok(_)))));
    assert_eq!(code(&done[8]), ffi::SQLITE_CONSTRAINT_PRIMARYKEY);
    assert!(done[9].work.is_err());
    assert_eq!(fixture.numbers(), (0..8).collect::<Vec<_>>());
    let next = fixture.run(TransactionSize::Small, insert(9));
    assert!(matches!(next.work, Ok(Ok(9))));
}

#[test]
fn the_last_member_commits_also_when_it_fails_or_panics() {
    for panics in [false, true] {
        let (fixture, done) = run_in_one_group(|| {
            let mut works = inserts([1]);
            works.push(Box::new(move |_| match panics {
                true => panic!("a panic of a test"),
                false => Err(Error::Stopped),
            }));
            works
        });
        assert!(matches!(done[0].work, Ok(Ok(1))));
        assert_eq!(done[1].work.is_err(), panics);
        assert!(done[1].follows_up);
        assert_eq!(fixture.numbers(), [1]);
    }
}

#[test]
fn a_first_member_that_fails_or_panics_leaves_nothing_open() {
    let fixture = Fixture::new();
    let failed = fixture.run(TransactionSize::Small, |conn| {
        execute(conn, "INSERT INTO t (n) VALUES (1)")?;
        Err(Error::Stopped)
    });
    assert!(matches!(failed.work, Ok(Err(Error::Stopped))));
    let panicked = fixture.run(TransactionSize::Small, |_| panic!("a panic of a test"));
    assert!(panicked.work.is_err());
    assert_eq!(fixture.numbers(), [0i64; 0]);
    assert_eq!(fixture.commits.into_inner(), 0);
}

#[test]
fn a_failed_commit_is_returned_to_all_members() {
    let (fixture, done) = run_in_one_group(|| {
        let mut works = inserts(0..6);
        works.push(Box::new(|conn| {
            execute(conn, "INSERT INTO t (n, other) VALUES (7, 999)")?;
            Ok(7)
        }));
        works.push(Box::new(|_| Err(Error::Stopped)));
        works
    });
    for done in &done {
        assert_eq!(code(done), ffi::SQLITE_CONSTRAINT_FOREIGNKEY);
        assert!(!done.follows_up && !done.has_committed);
    }
    let messages: Vec<_> = done
        .iter()
        .map(|d| d.work.as_ref().unwrap().as_ref().unwrap_err().to_string())
        .collect();
    assert!(messages.windows(2).all(|w| w[0] == w[1]), "{messages:?}");
    assert_eq!(fixture.numbers(), [0i64; 0]);
    let next = fixture.run(TransactionSize::Small, insert(9));
    assert!(matches!(next.work, Ok(Ok(9))));
}

#[test]
fn a_rollback_by_sqlite_is_returned_to_all_members() {
    for swallowed in [false, true] {
        let (fixture, done) = run_in_one_group(|| {
            let mut works = inserts([1]);
            works.push(Box::new(move |conn| {
                let done = execute(conn, "INSERT OR ROLLBACK INTO t (n) VALUES (1)");
                assert!(conn.is_autocommit());
                match swallowed {
                    true => Ok(1),
                    false => done.map(|()| 1),
                }
            }));
            works
        });
        let expected = match swallowed {
            true => ffi::SQLITE_ABORT_ROLLBACK,
            false => ffi::SQLITE_CONSTRAINT_PRIMARYKEY,
        };
        assert_eq!([code(&done[0]), code(&done[1])], [expected; 2]);
        assert_eq!(fixture.numbers(), [0i64; 0]);
    }
}

#[test]
fn large_transactions_do_not_delay_open_groups() {
    let fixture = Fixture::new();
    let (begun, go) = mpsc::channel();
    let (acknowledged, seen) = mpsc::channel();
    thread::scope(|scope| {
        let fixture = &fixture;
        scope.spawn(move || {
            let done = fixture.run(TransactionSize::Small, |conn| {
                begun.send(()).unwrap();
                fixture.wait_for_threads(1);
                insert(1)(conn)
            });
            assert!(matches!(done.work, Ok(Ok(1))));
            // It follows up its commit.
            assert!(done.follows_up && !done.has_committed);
            acknowledged.send(()).unwrap();
        });
        go.recv().unwrap();
        let large = fixture.run(TransactionSize::Large, |conn| {
            // The small one returns while the large one still works.
            seen.recv().unwrap();
            insert(2)(conn)
        });
        assert!(matches!(large.work, Ok(Ok(2))));
        assert!(large.follows_up && large.has_committed);
    });
    assert_eq!(fixture.numbers(), [1, 2]);
    assert_eq!(fixture.commits.into_inner(), 1, "for its own transaction");
}

/// Saves are flushed and maintenance is not, in any order.
#[test]
fn only_maintenance_commits_without_a_flush() {
    const NORMAL: i64 = 1;
    const FULL: i64 = 2;
    let level = |connection: &Connection| -> Result<i64> {
        Ok(connection.query_row("PRAGMA synchronous", [], |r| r.get(0))?)
    };
    let fixture = Fixture::new();
    let run = |size| fixture.run(size, level).work.unwrap().unwrap();
    assert_eq!(run(TransactionSize::Small), FULL);
    assert_eq!(run(TransactionSize::Maintenance), NORMAL);
    assert_eq!(run(TransactionSize::Maintenance), NORMAL);
    assert_eq!(run(TransactionSize::Large), FULL);
    // Also after maintenance that failed or panicked.
    let failed = fixture.run(TransactionSize::Maintenance, |_| {
        Err(CommitFailure::unknown().into())
    });
    assert!(failed.work.unwrap().is_err());
    assert_eq!(run(TransactionSize::Small), FULL);
    let panicked = fixture.run(TransactionSize::Maintenance, |_| {
        panic!("a panic of a test")
    });
    assert!(panicked.work.is_err());
    assert_eq!(run(TransactionSize::Small), FULL);

    let deferred = Writer::new(Durability::Deferred, NO_WAIT);
    let connection = lock(&fixture.writer.slot).connection.take();
    lock(&deferred.slot).connection = connection;
    for size in [
        TransactionSize::Small,
        TransactionSize::Maintenance,
        TransactionSize::Large,
    ] {
        let done = fixture.run_by(&deferred, size, level);
        assert_eq!(done.work.unwrap().unwrap(), NORMAL, "{size:?}");
    }
}

#[test]
fn a_member_waits_no_longer_than_the_commit_delay() {
    let fixture = Fixture::new();
    {
        let mut slot = lock(&fixture.writer.slot);
        slot.siblings = 16;
    }
    let done = fixture.run(TransactionSize::Small, insert(1));
    assert!(matches!(done.work, Ok(Ok(1))));
    assert!(done.follows_up && done.has_committed);
    assert_eq!(lock(&fixture.writer.slot).siblings, 1);
    assert_eq!(fixture.numbers(), [1]);
}

#[test]
fn a_thread_that_comes_within_the_commit_delay_joins() {
    for _ in 0..50 {
        let fixture = Fixture::new();
        {
            let mut slot = lock(&fixture.writer.slot);
            slot.siblings = 2;
        }
        let both = thread::scope(|scope| {
            let first = scope.spawn(|| fixture.run(TransactionSize::Small, insert(1)));
            let second = scope.spawn(|| fixture.run(TransactionSize::Small, insert(2)));
            [first.join().unwrap(), second.join().unwrap()]
        });
        assert!(both.iter().all(|d| matches!(d.work, Ok(Ok(_)))));
        assert_eq!(fixture.numbers(), [1, 2]);
        if fixture.commits.into_inner() == 1 {
            return;
        }
    }
    panic!("two threads that came at once never shared a commit");
}

/// Many groups of all kinds: every thread gets its own result, and it is true.
#[test]
fn many_threads_get_their_own_results() {
    let fixture = Fixture::new();
    let kept: Vec<i64> = thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|thread| {
                let fixture = &fixture;
                scope.spawn(move || {
                    let mut kept = Vec::new();
                    for i in 0..60 {
                        let n = thread * 1_000 + i;
                        let size = match (thread + i) % 23 {
                            0 => TransactionSize::Large,
                            _ => TransactionSize::Small,
                        };
                        let done = fixture.run(size, |conn| {
                            insert(n)(conn)?;
                            match (thread * 7 + i) % 11 {
                                0 => Err(Error::Stopped),
                                1 => panic!("a panic of a test"),
                                _ => Ok(n),
                            }
                        });
                        match ((thread * 7 + i) % 11, done.work) {
                            (0, Ok(Err(Error::Stopped))) | (1, Err(_)) => {}
                            (2.., Ok(Ok(own))) if own == n => kept.push(n),
                            _ => panic!("the answer to {n} is another's"),
                        }
                    }
                    kept
                })
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|t| t.join().unwrap())
            .collect()
    });
    assert_eq!(fixture.numbers(), kept);
}
