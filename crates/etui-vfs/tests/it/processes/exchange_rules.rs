//! The rules of the exchange between SQLite's own WAL and the redo log: each holds, and is caught when
//! it is broken.

use std::io::BufReader;
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use etui_testkit::wait::wait_until;
use etui_vfs::{Mutation, Options, RedoLogUse, Vfs};
use rusqlite::{Connection, OpenFlags};

use super::meanwhile::{Meanwhile, Moment};
use super::{child, locks, number, path_of_child, stay_until_killed, wait_for};

/// The event at a moment, once.
type Planned = Arc<Mutex<Option<(Moment, Box<dyn FnOnce(&Path) + Send>)>>>;

/// A database that this process shares by a VFS of its own, with a violated rule.
struct Shared {
    vfs: Vfs,
    planned: Planned,
    dir: tempfile::TempDir,
}

impl Shared {
    fn new(broken: Option<Mutation>) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!("etui-exchange-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let options = Options {
            redo_log: RedoLogUse::Bursts,
            idle: None,
            ..Options::default()
        };
        let planned = Planned::default();
        let due = Arc::clone(&planned);
        let platform = Arc::new(Meanwhile::new(move |moment, path: &Path| {
            let due = due.lock().unwrap().take_if(|(wanted, _)| *wanted == moment);
            if let Some((_, run)) = due {
                run(path);
            }
        }));
        let shared = Self {
            vfs: etui_vfs::register_broken(&name, options, platform, broken).unwrap(),
            planned,
            dir: tempfile::tempdir().unwrap(),
        };
        shared
            .open()
            .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(v)")
            .unwrap();
        shared
    }

    /// Plans the event at a moment.
    fn at(&self, moment: Moment, run: impl FnOnce(&Path) + Send + 'static) {
        *self.planned.lock().unwrap() = Some((moment, Box::new(run)));
    }

    fn path(&self) -> std::path::PathBuf {
        self.dir.path().join("db")
    }

    fn open(&self) -> Connection {
        let flags = OpenFlags::default();
        let db = Connection::open_with_flags_and_vfs(self.path(), flags, self.vfs.name()).unwrap();
        db.busy_timeout(Duration::from_secs(5)).unwrap();
        db
    }

    /// The rows that a program without the VFS finds, after all others have closed the database;
    /// `None`: it is damaged.
    fn rows_in_the_end(&self, value: &str) -> Option<i64> {
        let plain = Connection::open(self.path()).unwrap();
        let check = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
        let answer = plain.query_row("PRAGMA integrity_check", [], check).ok()?;
        (answer == "ok").then(|| {
            let count = format!("SELECT count(*) FROM t WHERE v = '{value}'");
            number(&plain, &count)
        })
    }
}

fn insert(db: &Connection, value: &str) -> bool {
    db.execute_batch(&format!("INSERT INTO t VALUES('{value}')"))
        .is_ok()
}

/// Commits 20 rows and closes the database.
#[test]
#[ignore = "run by other tests"]
fn commits_twenty_and_closes() {
    let Some(path) = path_of_child() else { return };
    let db = Connection::open(&path).unwrap();
    println!("begins");
    let committed = (0..20).filter(|_| insert(&db, "other")).count();
    drop(db);
    println!("committed {committed}");
}

/// Has read the database, and keeps it open.
#[test]
#[ignore = "run by other tests"]
fn keeps_it_open() {
    let Some(path) = path_of_child() else { return };
    let db = Connection::open(&path).unwrap();
    number(&db, "SELECT count(*) FROM t");
    println!("holds");
    stay_until_killed();
}

/// Runs a program until it has committed. Returns it and the number of acknowledged commits.
fn committed(test: impl Fn(), path: &Path) -> (Child, i64) {
    let mut program = child(test, path, 0);
    let mut said = BufReader::new(program.stdout.take().unwrap());
    let line = wait_for(&mut said, "committed");
    program.stdout = Some(said.into_inner());
    (program, line["committed ".len()..].parse().unwrap())
}

fn end(mut program: Child) {
    program.kill().unwrap();
    program.wait().unwrap();
}

/// The time that a program waits to be let in: where nobody lets it in, it is the length of the test.
fn patience(is_let_in: bool) -> Duration {
    Duration::from_secs(if is_let_in { 100 } else { 2 })
}

/// A program opens the file of a process that is alone, and waits. Returns whether it is let in.
fn is_let_in(broken: Option<Mutation>) -> bool {
    let shared = Shared::new(broken);
    let db = shared.open();
    assert!(insert(&db, "own") && shared.vfs.go_alone() && insert(&db, "own"));
    let other = Connection::open(shared.path()).unwrap();
    other.busy_timeout(patience(broken.is_none())).unwrap();
    insert(&other, "other")
}

/// A read transaction that begins while the process is alone keeps others out; the pragma has them
/// let in before.
#[test]
fn a_long_read_that_is_announced_keeps_nobody_out() {
    for is_announced in [false, true] {
        let shared = Shared::new(None);
        let db = shared.open();
        assert!(insert(&db, "own") && shared.vfs.go_alone() && insert(&db, "own"));
        let reader = shared.open();
        // The reader's own open made the process step aside.
        assert!(shared.vfs.go_alone());
        if is_announced {
            let answer = reader.query_row("PRAGMA etui_share", [], |r| r.get::<_, String>(0));
            assert_eq!(answer.unwrap(), "1");
        }
        reader.execute_batch("BEGIN").unwrap();
        assert_eq!(number(&reader, "SELECT count(*) FROM t"), 2);
        let other = Connection::open(shared.path()).unwrap();
        other.busy_timeout(patience(is_announced)).unwrap();
        assert_eq!(insert(&other, "other"), is_announced);
        // It stays shared as long as the read lasts.
        assert_eq!(shared.vfs.go_alone(), !is_announced);
        let seen = number(&reader, "SELECT count(*) FROM t");
        assert_eq!(seen, 2, "a snapshot is kept");
    }
}

/// The names beside the database, and it.
fn files(shared: &Shared) -> Vec<String> {
    let all = std::fs::read_dir(shared.dir.path()).unwrap();
    let mut names: Vec<String> = all
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn the_last_to_close_removes_a_log_that_has_ended() {
    let shared = Shared::new(None);
    let db = shared.open();
    assert!(insert(&db, "own") && shared.vfs.go_alone() && insert(&db, "own"));
    assert_eq!(files(&shared), ["db", "db-redo", "db-wal"]);
    drop(db);
    assert_eq!(files(&shared), ["db"], "closed while it was alone");
    let db = shared.open();
    assert!(insert(&db, "own") && shared.vfs.go_alone() && insert(&db, "own"));
    let other = Connection::open(shared.path()).unwrap();
    other.busy_timeout(Duration::from_secs(5)).unwrap();
    assert!(insert(&other, "other"));
    drop(other);
    assert!(files(&shared).contains(&"db-redo".to_owned()));
    drop(db);
    assert_eq!(files(&shared), ["db"], "closed while it was shared");
    // A live log of another database is nobody's to remove.
    let other = shared.dir.path().join("other");
    let name = Options {
        redo_log: RedoLogUse::Always,
        ..Options::default()
    };
    let always = etui_vfs::register("etui-log-kept", name).unwrap();
    let flags = OpenFlags::default();
    let writer = Connection::open_with_flags_and_vfs(&other, flags, always.name()).unwrap();
    writer
        .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(v)")
        .unwrap();
    std::fs::copy(
        shared.dir.path().join("other-redo"),
        shared.path().with_extension("redo"),
    )
    .unwrap();
    std::fs::rename(
        shared.path().with_extension("redo"),
        shared.dir.path().join("db-redo"),
    )
    .unwrap();
    let db = shared.open();
    assert!(insert(&db, "own"));
    drop(db);
    assert!(files(&shared).contains(&"db-redo".to_owned()));
    assert_eq!(shared.rows_in_the_end("own"), Some(5));
}

#[test]
fn who_opens_the_file_is_let_in() {
    assert!(is_let_in(None));
}

#[test]
fn rule_40_forget_ask() {
    assert!(!is_let_in(Some(Mutation::ForgetAsk)));
}

/// Changes all rows and exchanges, in both directions, while a snapshot is read. Returns whether it
/// stays as it is.
fn is_snapshot_kept(broken: Option<Mutation>) -> bool {
    let shared = Shared::new(broken);
    let (db, reader) = (shared.open(), shared.open());
    let rows = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
                INSERT INTO t SELECT hex(zeroblob(1000)) FROM n";
    db.execute_batch(rows).unwrap();
    reader.execute_batch("PRAGMA cache_size = 1").unwrap();
    let distinct = || {
        let distinct = "SELECT count(DISTINCT v) + count(*) FROM t";
        let answer = reader.query_row(distinct, [], |row| row.get::<_, i64>(0));
        answer.ok()
    };
    for is_alone in [false, true] {
        let exchange = || match is_alone {
            false => shared.vfs.go_alone(),
            true => shared.vfs.step_aside(),
        };
        reader.execute_batch("BEGIN").unwrap();
        let first = "SELECT v FROM t LIMIT 1";
        let _: String = reader.query_row(first, [], |row| row.get(0)).unwrap();
        let change = "UPDATE t SET v = CASE WHEN rowid % 2 THEN v || 'x' ELSE v END";
        let changed = db.execute_batch(change);
        let exchanged = exchange();
        let again = db.execute_batch("UPDATE t SET v = v || rowid");
        if changed.is_err() || again.is_err() || exchanged != broken.is_some() {
            return false;
        }
        let kept = distinct() == Some(201);
        if !kept || reader.execute_batch("COMMIT").is_err() {
            return false;
        }
        assert!(is_alone || shared.vfs.go_alone());
        db.execute_batch("UPDATE t SET v = hex(zeroblob(1000))")
            .unwrap();
    }
    true
}

#[test]
fn an_exchange_waits_for_readers() {
    assert!(is_snapshot_kept(None));
}

#[test]
fn rule_41_exchange_with_reader() {
    assert!(!is_snapshot_kept(Some(Mutation::ExchangeWithReader)));
}

/// Steps aside after commits. Returns whether a program without the VFS sees them.
fn are_commits_seen(broken: Option<Mutation>) -> bool {
    let shared = Shared::new(broken);
    let db = shared.open();
    assert!(shared.vfs.go_alone() && insert(&db, "own"));
    assert!(shared.vfs.step_aside());
    shared.rows_in_the_end("own") == Some(1)
}

#[test]
fn who_is_let_in_sees_all_commits() {
    assert!(are_commits_seen(None));
}

#[test]
fn rule_42_aside_without_backfill() {
    assert!(!are_commits_seen(Some(Mutation::AsideWithoutBackfill)));
}

/// Another program commits as soon as it can while this process steps aside. Returns the number of
/// acknowledged commits that are lost; `None`: the database is damaged.
fn lost_while_stepping_aside(broken: Option<Mutation>) -> Option<i64> {
    let shared = Shared::new(broken);
    let db = shared.open();
    assert!(shared.vfs.go_alone() && insert(&db, "own"));
    let (said, heard) = std::sync::mpsc::channel();
    shared.at(Moment::LooksForWal, move |path| {
        let program = locks::commits_twenty_without_the_vfs;
        said.send(committed(program, path)).unwrap();
    });
    shared.vfs.step_aside();
    let (program, rows) = heard.recv().unwrap();
    insert(&db, "own");
    drop(db);
    end(program);
    Some(rows - shared.rows_in_the_end("other")?)
}

#[test]
fn nobody_is_let_in_before_the_index_is_shared() {
    assert_eq!(lost_while_stepping_aside(None), Some(0));
}

#[test]
fn rule_42_admit_before_map() {
    let lost = lost_while_stepping_aside(Some(Mutation::AdmitBeforeMap));
    assert_ne!(lost, Some(0));
}

/// A connection reads right after an exchange, sleeps over commits and the next exchange, and reads
/// again. Returns whether it sees them.
fn does_sleeper_see_commits(broken: Option<Mutation>) -> bool {
    let shared = Shared::new(broken);
    let (db, sleeper) = (shared.open(), shared.open());
    assert!(insert(&db, "own") && shared.vfs.go_alone());
    let count = "SELECT count(*) FROM t";
    let before = number(&sleeper, count);
    assert!(insert(&db, "own") && shared.vfs.step_aside());
    number(&sleeper, count) == before + 1
}

#[test]
fn a_sleeper_sees_what_was_committed_meanwhile() {
    assert!(does_sleeper_see_commits(None));
}

#[test]
fn rule_43_same_header() {
    assert!(!does_sleeper_see_commits(Some(Mutation::SameHeader)));
}

/// Two programs come while this process goes alone: one commits and closes the database, the other
/// keeps it open. Returns whether this process's next commit is there in the end.
fn is_kept_after_a_failed_attempt(broken: Option<Mutation>) -> bool {
    let shared = Shared::new(broken);
    let db = shared.open();
    assert!(insert(&db, "first"));
    let (said, heard) = std::sync::mpsc::channel();
    shared.at(Moment::Checkpointed, move |path| {
        let (mut program, rows) = committed(commits_twenty_and_closes, path);
        program.wait().unwrap();
        let mut holder = child(keeps_it_open, path, 0);
        let mut said_by_holder = BufReader::new(holder.stdout.take().unwrap());
        wait_for(&mut said_by_holder, "holds");
        holder.stdout = Some(said_by_holder.into_inner());
        said.send((holder, rows)).unwrap();
    });
    assert!(!shared.vfs.go_alone());
    let (holder, rows) = heard.recv().unwrap();
    let committed = insert(&db, "own");
    end(holder);
    drop(db);
    assert_eq!(rows, 20);
    committed
        && shared.rows_in_the_end("own") == Some(1)
        && shared.rows_in_the_end("other") == Some(20)
}

#[test]
fn files_stay_those_of_all_over_a_failed_attempt() {
    assert!(is_kept_after_a_failed_attempt(None));
}

#[test]
fn rule_47_gap_in_locks() {
    assert!(!is_kept_after_a_failed_attempt(Some(Mutation::GapInLocks)));
}

/// A program commits and is killed while this process goes alone. Returns the number of its
/// acknowledged commits that are lost; `None`: the database is damaged.
fn lost_while_going_alone(broken: Option<Mutation>) -> Option<i64> {
    let shared = Shared::new(broken);
    let db = shared.open();
    assert!(insert(&db, "own"));
    let (said, heard) = std::sync::mpsc::channel();
    shared.at(Moment::Checkpointed, move |path| {
        let (program, rows) = committed(locks::commits_twenty_without_the_vfs, path);
        end(program);
        said.send(rows).unwrap();
    });
    let is_alone = shared.vfs.go_alone();
    assert_eq!(is_alone, broken.is_some());
    let rows = heard.recv().unwrap();
    assert_eq!(rows, 20);
    insert(&db, "own");
    drop(db);
    Some(rows - shared.rows_in_the_end("other")?)
}

#[test]
fn commits_made_while_it_goes_alone_are_kept() {
    assert_eq!(lost_while_going_alone(None), Some(0));
}

#[test]
fn rule_48_look_before_lock() {
    let lost = lost_while_going_alone(Some(Mutation::LookBeforeLock));
    assert_ne!(lost, Some(0));
}

/// A program reads its own files while it shares the database, which drops SQLite's locks. Another one
/// opens and closes the database, and would delete the WAL as the last. Returns whether the next
/// commit is there in the end.
fn is_kept_over_own_close(broken: Option<Mutation>) -> bool {
    let shared = Shared::new(broken);
    let db = shared.open();
    assert!(insert(&db, "first"));
    for suffix in ["", "-shm"] {
        std::fs::read(format!("{}{suffix}", shared.path().display())).unwrap();
    }
    let path = shared.path();
    let (mut program, rows) = committed(commits_twenty_and_closes, &path);
    program.wait().unwrap();
    assert_eq!(rows, 20);
    let committed = insert(&db, "own");
    // The files as they are found after this process was killed.
    let copy = shared.dir.path().join("copy");
    for suffix in ["", "-wal"] {
        let name = |path: &Path| format!("{}{suffix}", path.display());
        let _ = std::fs::copy(name(&path), name(&copy));
    }
    let found = number(
        &Connection::open(&copy).unwrap(),
        "SELECT count(*) FROM t WHERE v = 'own'",
    );
    drop(db);
    committed && found == 1 && shared.rows_in_the_end("other") == Some(20)
}

#[test]
fn own_closes_leave_the_files_of_a_shared_database() {
    assert!(is_kept_over_own_close(None));
}

#[test]
fn rule_31_shared_without_guard() {
    assert!(!is_kept_over_own_close(Some(Mutation::PosixGate)));
}

/// A program closes a descriptor of the wal-index amid a transaction, which releases the locks of SQLite's
/// own VFS, and another program wants to write. Returns true if it waits for the commit.
fn is_write_lock_kept(broken: Option<Mutation>) -> bool {
    let shared = Shared::new(broken);
    let db = shared.open();
    assert!(insert(&db, "own"));
    db.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES('own')")
        .unwrap();
    let index = format!("{}-shm", shared.path().display());
    drop(std::fs::File::open(index).unwrap());
    let path = shared.path();
    let mut program = child(commits_twenty_and_closes, &path, 0);
    let mut said = BufReader::new(program.stdout.take().unwrap());
    wait_for(&mut said, "begins");
    if broken.is_none() {
        // Time in which it would commit if nothing kept it from that.
        std::thread::sleep(Duration::from_millis(300));
    } else {
        wait_until("commits that nothing keeps back", || {
            program.try_wait().unwrap().is_some()
        });
    }
    let is_waiting = program.try_wait().unwrap().is_none();
    let is_committed = db.execute_batch("COMMIT").is_ok();
    program.wait().unwrap();
    drop(db);
    is_waiting && is_committed && shared.rows_in_the_end("own") == Some(2)
}

#[test]
fn the_write_lock_is_kept_over_own_closes() {
    assert!(is_write_lock_kept(None));
}

#[test]
fn rule_31_write_lock_of_sqlite() {
    assert!(!is_write_lock_kept(Some(Mutation::PosixGate)));
}

/// Another thread opens and closes the database at a moment when a connection has it exclusively, and a
/// program wants to commit. Returns the program and the number of its acknowledged commits.
fn commits_after_another_close(vfs: &str, path: &Path, test: impl Fn()) -> (Child, i64) {
    let (vfs, at) = (vfs.to_owned(), path.to_owned());
    let closed = std::thread::spawn(move || {
        let flags = OpenFlags::default();
        drop(Connection::open_with_flags_and_vfs(at, flags, vfs.as_str()).unwrap());
    });
    closed.join().unwrap();
    committed(test, path)
}

/// The last connection to close has SQLite's EXCLUSIVE while it deletes the WAL. Another one of this
/// process, which was opened and is closed meanwhile, leaves it that.
#[test]
fn a_close_leaves_the_lock_of_a_connection_that_deletes_the_wal() {
    let shared = Shared::new(None);
    let db = shared.open();
    assert!(insert(&db, "own"));
    let (said, heard) = std::sync::mpsc::channel();
    let vfs = shared.vfs.name().to_owned();
    shared.at(Moment::DeletesWal, move |path| {
        let program = locks::commits_twenty_without_the_vfs;
        let committed = commits_after_another_close(&vfs, path, program);
        said.send(committed).unwrap();
    });
    drop(db);
    let (program, rows) = heard.recv().unwrap();
    end(program);
    assert_eq!(shared.rows_in_the_end("other"), Some(rows), "lost");
    assert_eq!(rows, 0, "nobody is let in");
    assert_eq!(shared.rows_in_the_end("own"), Some(1));
}

/// A connection has the database exclusively while it replays the log of a killed process. Another one of
/// this process, which was opened and is closed meanwhile, leaves it that.
#[test]
fn a_close_leaves_the_lock_of_a_connection_that_replays_a_log() {
    let shared = Shared::new(None);
    let killed = shared.dir.path().join("killed");
    let running = super::open(&killed).unwrap();
    running
        .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(v); INSERT INTO t VALUES('own')")
        .unwrap();
    for suffix in ["", "-redo"] {
        let name = |path: &Path| format!("{}{suffix}", path.display());
        std::fs::copy(name(&killed), name(&shared.path())).unwrap();
    }
    let (said, heard) = std::sync::mpsc::channel();
    let vfs = shared.vfs.name().to_owned();
    let db = shared.open();
    shared.at(Moment::LooksForWal, move |path| {
        let committed = commits_after_another_close(&vfs, path, locks::commits_twenty);
        said.send(committed).unwrap();
    });
    let count = "SELECT count(*) FROM t";
    let rows = db.query_row(count, [], |row| row.get::<_, i64>(0)).ok();
    let (program, committed) = heard.recv().unwrap();
    end(program);
    assert_eq!((rows, committed), (Some(1), 0), "nobody is let in");
}

/// A connection reads for the first time after all others have closed the database, and its WAL and
/// wal-index were deleted and made again.
#[test]
fn the_index_is_that_of_the_file_after_all_others_closed() {
    let shared = Shared::new(None);
    let (first, late) = (shared.open(), shared.open());
    assert!(insert(&first, "own"));
    let other = Connection::open(shared.path()).unwrap();
    assert!(insert(&other, "other"));
    drop(first);
    drop(other);
    let path = shared.path();
    let (mut program, rows) = committed(commits_twenty_and_closes, &path);
    program.wait().unwrap();
    let other = Connection::open(&path).unwrap();
    assert!(insert(&other, "other"));
    let count = "SELECT count(*) FROM t";
    assert_eq!(number(&late, count), rows + 3);
    assert!(insert(&late, "own"));
    assert_eq!(number(&other, count), rows + 4);
    drop((late, other));
    assert_eq!(shared.rows_in_the_end("own"), Some(2));
    assert_eq!(shared.rows_in_the_end("other"), Some(rows + 2));
}

/// A database is renamed while its process is alone, and another one takes its name. Neither stepping
/// aside nor the last close touches the other one's files.
#[test]
fn files_of_a_database_that_took_the_name_stay() {
    let shared = Shared::new(None);
    let db = shared.open();
    assert!(insert(&db, "own") && shared.vfs.go_alone() && insert(&db, "own"));
    let renamed = shared.dir.path().join("renamed");
    std::fs::rename(shared.path(), &renamed).unwrap();
    let other = Connection::open(shared.path()).unwrap();
    other
        .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(v)")
        .unwrap();
    assert!(insert(&other, "other"));
    // Its own WAL is empty, too.
    other
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    assert!(!shared.vfs.step_aside());
    let again = Connection::open(shared.path()).unwrap();
    assert_eq!(number(&again, "SELECT count(*) FROM t"), 1);
    assert!(insert(&again, "other"));
    drop(db);
    // As after a kill of both.
    let copy = shared.dir.path().join("copy");
    for suffix in ["", "-wal"] {
        let name = |path: &Path| format!("{}{suffix}", path.display());
        std::fs::copy(name(&shared.path()), name(&copy)).unwrap();
    }
    let copy = Connection::open(&copy).unwrap();
    assert_eq!(number(&copy, "SELECT count(*) FROM t"), 2);
    let renamed = Connection::open(&renamed).unwrap();
    assert_eq!(number(&renamed, "SELECT count(*) FROM t"), 2);
}

/// Buffers of this process do not show old pages of a shared database.
#[test]
fn nothing_is_read_ahead_while_shared() {
    let shared = Shared::new(None);
    drop(shared.open());
    let rows = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
                INSERT INTO t SELECT hex(zeroblob(1000)) FROM n";
    let other = Connection::open(shared.path()).unwrap();
    other.execute_batch(rows).unwrap();
    let options = "etui_read_buffer=262144&etui_write_back=262144&etui_database_step=1048576";
    let (path, vfs) = (shared.path(), shared.vfs.name());
    let db = Connection::open(format!("file:{}?vfs={vfs}&{options}", path.display())).unwrap();
    db.execute_batch("PRAGMA cache_size = 1; PRAGMA mmap_size = 0")
        .unwrap();
    for round in 0..4 {
        let changed = format!("UPDATE t SET v = v || '{round}'; PRAGMA wal_checkpoint(TRUNCATE)");
        let sum = "SELECT sum(length(v)) FROM t";
        assert_eq!(number(&db, sum), 200 * (2000 + round));
        other.execute_batch(&changed).unwrap();
        assert_eq!(number(&db, sum), 200 * (2001 + round));
    }
}
