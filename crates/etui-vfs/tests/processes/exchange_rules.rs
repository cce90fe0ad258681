//! The rules of the exchange between SQLite's own WAL and the redo log: each holds, and is caught when
//! it is broken.

use std::io::{self, BufReader};
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use etui_vfs::device::{self, Access, DatabaseLock, File, Platform, Role, SqliteFile};
use etui_vfs::{Mutation, Options, RedoLogUse, Vfs};
use rusqlite::{Connection, OpenFlags};

use super::{child, number, path_of_child, wait_for};

/// A moment of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// While it goes alone: the WAL is checkpointed, the exclusive lock not taken yet.
    Checkpointed,
    /// While it steps aside: all is in the file, others are not let in yet.
    Settled,
}

type Meanwhile = Mutex<Option<(Moment, Box<dyn FnOnce(&Path) + Send>)>>;

/// The system's files, with something that happens at a moment of an exchange, once.
#[derive(Clone)]
struct Files {
    files: Arc<dyn Platform>,
    meanwhile: Arc<Meanwhile>,
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Files")
    }
}

impl Files {
    fn new() -> Self {
        Self {
            files: device::system().unwrap(),
            meanwhile: Arc::default(),
        }
    }

    fn at(&self, moment: Moment, run: impl FnOnce(&Path) + Send + 'static) {
        *self.meanwhile.lock().unwrap() = Some((moment, Box::new(run)));
    }

    fn reach(&self, moment: Moment, path: &Path) {
        let mut meanwhile = self.meanwhile.lock().unwrap();
        if let Some((_, run)) = meanwhile.take_if(|(wanted, _)| *wanted == moment) {
            drop(meanwhile);
            run(path);
        }
    }
}

impl Platform for Files {
    fn open(&self, path: Option<&Path>, role: Role, access: Access) -> io::Result<Box<dyn File>> {
        self.files.open(path, role, access)
    }

    fn open_lock(&self, path: &Path) -> io::Result<Box<dyn DatabaseLock>> {
        self.files.open_lock(path)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        let name = path.to_str().unwrap();
        if let Some(database) = name.strip_suffix("-wal") {
            self.reach(Moment::Settled, Path::new(database));
        }
        self.files.exists(path)
    }

    fn remove(&self, path: &Path, durably: bool) -> io::Result<()> {
        self.files.remove(path, durably)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.files.rename(from, to)
    }

    fn sync_directory_of(&self, path: &Path) -> io::Result<()> {
        self.files.sync_directory_of(path)
    }

    fn file_identity(&self, path: &Path) -> io::Result<Option<(u64, u64)>> {
        self.files.file_identity(path)
    }

    fn recover_foreign_wal(&self, path: &Path) -> io::Result<()> {
        self.files.recover_foreign_wal(path)?;
        self.reach(Moment::Checkpointed, path);
        Ok(())
    }

    fn open_shared(&self, path: &Path) -> io::Result<Option<SqliteFile>> {
        self.files.open_shared(path)
    }

    fn open_wal(&self, path: &Path) -> io::Result<SqliteFile> {
        self.files.open_wal(path)
    }
}

/// A database that this process shares by a VFS of its own, with a violated rule.
struct Shared {
    vfs: Vfs,
    files: Files,
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
        let files = Files::new();
        let platform = Arc::new(files.clone());
        let shared = Self {
            vfs: etui_vfs::register_broken(&name, options, platform, broken).unwrap(),
            files,
            dir: tempfile::tempdir().unwrap(),
        };
        shared
            .open()
            .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(v)")
            .unwrap();
        shared
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
    std::thread::sleep(Duration::from_secs(60));
}

/// Runs a program until it has committed. Returns it and the number of acknowledged commits.
fn committed(test: &str, path: &Path) -> (Child, i64) {
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

/// A program opens the file of a process that is alone, and waits for two seconds. Returns whether it
/// is let in.
fn is_let_in(broken: Option<Mutation>) -> bool {
    let shared = Shared::new(broken);
    let db = shared.open();
    assert!(insert(&db, "own") && shared.vfs.go_alone() && insert(&db, "own"));
    let other = Connection::open(shared.path()).unwrap();
    other.busy_timeout(Duration::from_secs(2)).unwrap();
    insert(&other, "other")
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
    shared.files.at(Moment::Settled, move |path| {
        let program = "locks::commits_twenty_without_the_vfs";
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
    shared.files.at(Moment::Checkpointed, move |path| {
        let (mut program, rows) = committed("exchange_rules::commits_twenty_and_closes", path);
        program.wait().unwrap();
        let mut holder = child("exchange_rules::keeps_it_open", path, 0);
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
    shared.files.at(Moment::Checkpointed, move |path| {
        let (program, rows) = committed("locks::commits_twenty_without_the_vfs", path);
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
    let (mut program, rows) = committed("exchange_rules::commits_twenty_and_closes", &path);
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

/// Another thread drops SQLite's locks all the time. A commit without them is refused; all that were
/// acknowledged are there in the end.
#[test]
fn a_commit_without_locks_is_refused() {
    let shared = Shared::new(None);
    let db = shared.open();
    let index = format!("{}-shm", shared.path().display());
    let ends = std::sync::atomic::AtomicBool::new(false);
    let (mut committed, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Ordering::Relaxed) {
                drop(std::fs::File::open(&index));
            }
        });
        let began = std::time::Instant::now();
        while began.elapsed() < Duration::from_millis(1500) {
            // The thread drops the lock between its acquisition and the commit.
            let rows = "BEGIN IMMEDIATE; INSERT INTO t SELECT 'own' FROM sqlite_schema; COMMIT";
            match db.execute_batch(rows) {
                Ok(()) => committed += 1,
                Err(_) => {
                    refused += 1;
                    let _ = db.execute_batch("ROLLBACK");
                }
            }
        }
        ends.store(true, Ordering::Relaxed);
    });
    drop(db);
    assert!(committed + refused > 0);
    println!("{committed} commits, {refused} refused");
    assert_eq!(shared.rows_in_the_end("own"), Some(committed));
}
