//! Databases that several processes share, and the exchange between SQLite's own WAL and the redo
//! log with connections open.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use etui_testkit::own_process::in_own_process;
use etui_testkit::wait::wait_until;
use etui_vfs::{Options, RedoLogUse, Vfs};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{child, killed, number, path_of_child, wait_for};

/// The counters and exchanges of a VFS are of all its databases: one test at a time.
static TURN: Mutex<()> = Mutex::new(());

fn register(name: &str, idle: Duration) -> Vfs {
    let options = Options {
        redo_log: RedoLogUse::Bursts,
        idle: Some(idle),
        ..Options::default()
    };
    etui_vfs::register(name, options).unwrap()
}

/// A VFS to which no pause of a slow machine is one.
fn sharing() -> &'static Vfs {
    static VFS: OnceLock<Vfs> = OnceLock::new();
    VFS.get_or_init(|| register("etui-sharing", Duration::from_secs(1_000)))
}

fn open(path: &Path) -> Connection {
    open_by(path, sharing())
}

fn open_by(path: &Path, vfs: &Vfs) -> Connection {
    let flags = OpenFlags::default();
    let db = Connection::open_with_flags_and_vfs(path, flags, vfs.name()).unwrap();
    db.busy_timeout(Duration::from_secs(100)).unwrap();
    db.execute_batch("PRAGMA synchronous = FULL").unwrap();
    db
}

fn plain(path: &Path) -> Connection {
    let db = Connection::open(path).unwrap();
    db.busy_timeout(Duration::from_secs(100)).unwrap();
    db.execute_batch("PRAGMA synchronous = FULL").unwrap();
    db
}

fn made(path: &Path) -> Connection {
    let db = open(path);
    create_table(&db);
    db
}

fn create_table(db: &Connection) {
    db.execute_batch(
        "PRAGMA journal_mode = WAL; CREATE TABLE t(k INTEGER PRIMARY KEY, v BLOB, w TEXT UNIQUE)",
    )
    .unwrap();
}

fn insert(db: &Connection, rows: usize) {
    for _ in 0..rows {
        db.execute_batch("INSERT INTO t(v) VALUES(randomblob(100))")
            .unwrap();
    }
}

fn check(db: &Connection) {
    let answer: String = db
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(answer, "ok");
}

#[test]
fn a_burst_goes_alone_and_another_program_is_let_in() {
    let _turn = TURN.lock();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = made(&path);
    let before = sharing().counters();
    let since = || sharing().counters().since(&before);
    insert(&db, 20);
    assert_eq!((since().exchanged_to_log, since().records), (0, 0));
    insert(&db, 40);
    assert_eq!(since().exchanged_to_log, 1);
    assert!(since().records >= 20, "{:?}", since());
    // The file is not one of SQLite's now; another program is let in after a wait.
    let other = plain(&path);
    assert_eq!(number(&other, "SELECT count(*) FROM t"), 60);
    assert_eq!(since().exchanged_to_wal, 1);
    insert(&other, 5);
    insert(&db, 5);
    assert_eq!(number(&db, "SELECT count(*) FROM t"), 70);
    assert_eq!(number(&other, "SELECT count(*) FROM t"), 70);
    // It does not go alone while the other has it open.
    insert(&db, 50);
    assert_eq!(since().exchanged_to_log, 1);
    check(&db);
    drop(other);
    drop(db);
    for left in ["db-wal", "db-shm"] {
        assert!(!dir.path().join(left).exists(), "{left}");
    }
    assert_eq!(number(&plain(&path), "SELECT count(*) FROM t"), 120);
}

#[test]
fn a_pause_shares_the_database() {
    let _turn = TURN.lock();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let vfs = register("etui-pausing", Duration::from_secs(1));
    let db = open_by(&path, &vfs);
    create_table(&db);
    insert(&db, 40);
    assert!(vfs.counters().exchanged_to_log >= 1);
    wait_until("the pause", || {
        let counted = vfs.counters();
        counted.exchanged_to_wal == counted.exchanged_to_log
    });
    // An ordinary file, whatever becomes of this process.
    let copy = dir.path().join("copy");
    std::fs::copy(&path, &copy).unwrap();
    assert_eq!(number(&plain(&copy), "SELECT count(*) FROM t"), 40);
    insert(&db, 1);
    assert_eq!(number(&db, "SELECT count(*) FROM t"), 41);
}

/// Connections that slept over an exchange see the commits since.
#[test]
fn a_connection_that_sleeps_sees_what_was_committed() {
    let _turn = TURN.lock();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = made(&path);
    let sleeper = open(&path);
    let count = "SELECT count(*) FROM t";
    for round in 0..6 {
        let rows = round * 8;
        assert_eq!(number(&sleeper, count), rows);
        assert!(sharing().go_alone());
        insert(&db, 4);
        assert!(sharing().step_aside());
        insert(&db, 4);
        assert_eq!(number(&sleeper, count), rows + 8);
        // An exchange without a commit changes nothing.
        assert!(sharing().go_alone() && sharing().step_aside());
        assert_eq!(number(&sleeper, count), rows + 8);
    }
    check(&sleeper);
}

/// Neither way is left while a snapshot is read.
#[test]
fn a_reader_keeps_its_snapshot() {
    let _turn = TURN.lock();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = made(&path);
    insert(&db, 3);
    let reader = open(&path);
    let count = "SELECT count(*) FROM t";
    for is_alone in [false, true] {
        let exchange = || match is_alone {
            false => sharing().go_alone(),
            true => sharing().step_aside(),
        };
        let rows = number(&db, count);
        reader.execute_batch("BEGIN").unwrap();
        assert_eq!(number(&reader, count), rows);
        insert(&db, 2);
        assert!(!exchange());
        assert_eq!(number(&reader, count), rows);
        reader.execute_batch("COMMIT").unwrap();
        assert!(exchange());
        assert_eq!(number(&reader, count), rows + 2);
    }
}

/// A generator of numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % most
    }
}

/// Commits in sessions with the VFS, exchanges at random, and prints each row after it was
/// acknowledged.
#[test]
#[ignore = "run by other tests"]
fn commits_and_exchanges_for_ever() {
    let Some(path) = path_of_child() else { return };
    let seed: u64 = std::env::var(super::SEED).unwrap().parse().unwrap();
    sharing();
    std::thread::spawn(move || {
        let mut random = Random(seed | 1);
        loop {
            std::thread::sleep(Duration::from_micros(random.below(10_000)));
            let before = sharing().counters().exchanged_to_log;
            match random.below(3) {
                0 => sharing().step_aside(),
                _ => sharing().go_alone(),
            };
            if sharing().counters().exchanged_to_log > before {
                println!("alone");
            }
        }
    });
    commit_for_ever(|| open(&path), seed);
}

#[test]
#[ignore = "run by other tests"]
fn commits_for_ever_without_the_vfs() {
    let Some(path) = path_of_child() else { return };
    let seed: u64 = std::env::var(super::SEED).unwrap().parse().unwrap();
    // Plain SQLite refuses the file of a killed process; another one of the storm recovers it.
    let open = || {
        loop {
            let db = Connection::open(&path).unwrap();
            db.busy_timeout(Duration::from_secs(100)).unwrap();
            match db.execute_batch("PRAGMA synchronous = FULL") {
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
                    drop(db);
                    std::thread::sleep(Duration::from_millis(5));
                }
                done => {
                    done.unwrap();
                    return db;
                }
            }
        }
    };
    commit_for_ever(open, seed);
}

/// Opens the database, commits for a while, closes it, and sleeps, for ever. Readers never see less
/// than before.
fn commit_for_ever(open: impl Fn() -> Connection, seed: u64) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (mut seen, mut row) = (0, 0);
    loop {
        let db = open();
        db.execute_batch("PRAGMA wal_autocheckpoint = 30").unwrap();
        for _ in 0..random.below(60) {
            row += 1;
            let size = random.below(2000);
            let insert = format!("INSERT INTO t(v, w) VALUES(randomblob({size}), '{seed}-{row}')");
            let began = Instant::now();
            let done = db.execute_batch(&insert);
            println!("took {}", began.elapsed().as_millis());
            match done {
                Ok(()) => println!("committed {seed}-{row}"),
                Err(error) => println!("failed {error}"),
            }
            if row % 5 == 0
                && let Ok(rows) = db.query_row("SELECT count(*) FROM t", [], |r| r.get::<_, i64>(0))
            {
                assert!(rows >= seen, "{rows} rows after {seen}");
                seen = rows;
            }
        }
        drop(db);
        std::thread::sleep(Duration::from_millis(random.below(1500)));
    }
}

/// Several processes, some of them plain SQLite, commit while they exchange at random, and are killed
/// one after the other. Nothing acknowledged is lost.
fn storm(processes: u64, of_plain: u64, lasts: Duration) {
    let _turn = TURN.lock();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    drop(made(&path));
    let (commits, exchanges) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)));
    let is_enough =
        || commits.load(Ordering::Relaxed) > 200 && exchanges.load(Ordering::Relaxed) > 1;
    let start = |number: u64| {
        let mut program = match number % processes < of_plain {
            true => child(commits_for_ever_without_the_vfs, &path, number),
            false => child(commits_and_exchanges_for_ever, &path, number),
        };
        let mut said = BufReader::new(program.stdout.take().unwrap());
        let (commits, exchanges) = (Arc::clone(&commits), Arc::clone(&exchanges));
        let listener = std::thread::spawn(move || {
            let mut all = String::new();
            let mut begin = 0;
            while said.read_line(&mut all).is_ok_and(|read| read > 0) {
                let line = &all[begin..];
                let is_commit = line.starts_with("committed ");
                commits.fetch_add(i64::from(is_commit), Ordering::Relaxed);
                exchanges.fetch_add(i64::from(line == "alone\n"), Ordering::Relaxed);
                begin = all.len();
            }
            all
        });
        (program, listener)
    };
    let mut running: Vec<_> = (0..processes).map(&start).collect();
    let mut said = Vec::new();
    let (began, mut started) = (Instant::now(), processes);
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    loop {
        std::thread::sleep(Duration::from_millis(20 + random.below(60)));
        if began.elapsed() >= lasts {
            // On a slow machine some of them have to live longer.
            wait_until("commits and exchanges", is_enough);
            break;
        }
        let at = random.below(processes) as usize;
        let (mut program, listener) = running.swap_remove(at);
        program.kill().unwrap();
        program.wait().unwrap();
        said.push(listener);
        running.push(start(started));
        started += 1;
    }
    for (mut program, listener) in running {
        program.kill().unwrap();
        program.wait().unwrap();
        said.push(listener);
    }
    let db = open(&path);
    check(&db);
    let (mut acknowledged, mut failed) = (0, Vec::new());
    let (mut alone, mut longest) = (0, 0);
    for listener in said {
        let all = listener.join().unwrap();
        assert!(!all.contains("panicked"), "{all}");
        // The last line may be cut off.
        let whole = all.rsplit_once('\n').map_or("", |(whole, _)| whole);
        for line in whole.lines() {
            if let Some(row) = line.strip_prefix("committed ") {
                acknowledged += 1;
                let found = number(&db, &format!("SELECT count(*) FROM t WHERE w = '{row}'"));
                assert_eq!(found, 1, "{row} is lost");
            } else if let Some(why) = line.strip_prefix("failed ") {
                failed.push(why.to_owned());
            } else if let Some(milliseconds) = line.strip_prefix("took ") {
                longest = longest.max(milliseconds.parse::<u64>().unwrap());
            } else if line == "alone" {
                alone += 1;
            }
        }
    }
    println!(
        "{started} processes, {acknowledged} acknowledged; alone {alone} times; \
         the longest took {longest} ms"
    );
    assert_eq!(failed, Vec::<String>::new());
    assert!(acknowledged > 100 && alone > 0);
}

#[test]
fn nothing_acknowledged_is_lost_in_a_storm() {
    // It starts many processes.
    if !in_own_process(nothing_acknowledged_is_lost_in_a_storm) {
        return;
    }
    match std::env::var_os("ETUI_TEST_LONG").is_some() {
        true => storm(8, 3, Duration::from_secs(600)),
        false => storm(5, 2, Duration::from_secs(8)),
    }
}

/// A program commits beside another one that is killed amid its commits, alone or not, and goes on. The time that it
/// waits for the dead is printed (`--nocapture`).
#[test]
fn a_survivor_goes_on_after_a_kill() {
    // It starts many processes.
    if !in_own_process(a_survivor_goes_on_after_a_kill) {
        return;
    }
    let _turn = TURN.lock();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = made(&path);
    db.execute_batch("PRAGMA wal_autocheckpoint = 30").unwrap();
    let rounds = match std::env::var_os("ETUI_TEST_LONG").is_some() {
        true => 200,
        false => 10,
    };
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut waited = Vec::new();
    for round in 0..rounds {
        let mut program = child(commits_and_exchanges_for_ever, &path, round);
        let mut said = BufReader::new(program.stdout.take().unwrap());
        wait_for(&mut said, "committed");
        let end = Instant::now() + Duration::from_millis(random.below(60));
        while Instant::now() < end {
            insert(&db, 1);
        }
        program.kill().unwrap();
        let killed = Instant::now();
        insert(&db, 1);
        waited.push(killed.elapsed());
        program.wait().unwrap();
        let mut rest = String::new();
        said.read_to_string(&mut rest).unwrap();
        let whole = rest.rsplit_once('\n').map_or("", |(whole, _)| whole);
        for row in whole
            .lines()
            .filter_map(|line| line.strip_prefix("committed "))
        {
            let found = number(&db, &format!("SELECT count(*) FROM t WHERE w = '{row}'"));
            assert_eq!(found, 1, "{row} is lost");
        }
    }
    check(&db);
    waited.sort_unstable();
    let (middle, longest) = (waited[waited.len() / 2], waited[waited.len() - 1]);
    println!("from a kill to the next commit: median {middle:?}, longest {longest:?}");
}

/// Threads of one process commit and read while it goes alone and steps aside.
#[test]
fn threads_go_on_over_exchanges() {
    let _turn = TURN.lock();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    drop(made(&path));
    let (ends, committed) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicI64::new(0)),
    );
    let before = sharing().counters();
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let (path, ends, committed) = (path.clone(), ends.clone(), committed.clone());
            std::thread::spawn(move || {
                let db = open(&path);
                while !ends.load(Ordering::Relaxed) {
                    let before = committed.load(Ordering::SeqCst);
                    let rows = number(&db, "SELECT count(*) FROM t");
                    assert!(rows >= before, "{rows} rows of {before}");
                    insert(&db, 1);
                    committed.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    let began = Instant::now();
    let alone = || sharing().counters().since(&before).exchanged_to_log;
    while began.elapsed() < Duration::from_secs(3) || alone() <= 10 {
        assert!(began.elapsed() < Duration::from_secs(600), "{}", alone());
        sharing().go_alone();
        sharing().step_aside();
    }
    ends.store(true, Ordering::Relaxed);
    for thread in threads {
        thread.join().unwrap();
    }
    let db = plain(&path);
    check(&db);
    let committed = committed.load(Ordering::SeqCst);
    assert_eq!(number(&db, "SELECT count(*) FROM t"), committed);
    println!("{} exchanges, {committed} commits", alone());
}

/// A process that was killed while it was alone is recovered by the next one that shares.
#[test]
fn what_a_killed_process_left_is_recovered_by_who_shares() {
    let _turn = TURN.lock();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let mut program = child(killed::commits_for_ever, &path, 7);
    let mut said = BufReader::new(program.stdout.take().unwrap());
    wait_for(&mut said, "committed 30");
    program.kill().unwrap();
    program.wait().unwrap();
    let db = open(&path);
    assert!(number(&db, "SELECT max(k) FROM t") >= 30);
    check(&db);
    // Shared again, at once.
    assert!(number(&plain(&path), "SELECT max(k) FROM t") >= 30);
}
