//! Another copy of SQLite in the process of an open store: Python's `sqlite3`, which loads the
//! system's, and plain reads of the file. Nothing that was acknowledged may be lost.

use std::io::{BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use etui::contacts::Card;
use etui::{Error, Options, Store, Waiting};
use etui_testkit::own_process::{ProgramOfTest, in_own_process};
use rusqlite::Connection;

const PATIENCE: Duration = Duration::from_secs(120);
const STORE: &str = "ETUI_TEST_SECOND_STORE";

fn card(uid: &str) -> Card {
    Card::parse(format!("BEGIN:VCARD\nUID:{uid}\nFN:{uid}\nEND:VCARD\n")).unwrap()
}

fn names(path: &Path) -> Vec<String> {
    ["", "-wal", "-shm"]
        .into_iter()
        .map(|suffix| format!("{}{suffix}", path.display()))
        .filter(|name| Path::new(name).exists())
        .collect()
}

/// A second process that opens the store with plain SQLite, reads, and closes it: it would be the
/// last one, if it took the store's process for gone.
fn look_from_outside(path: &Path) {
    let shell = Command::new("sqlite3")
        .arg(path)
        .arg("SELECT count(*) FROM record")
        .output()
        .unwrap();
    assert!(shell.status.success(), "{shell:?}");
}

fn check_all_saved(path: &Path, uids: &[String]) {
    let store = Store::open(path).unwrap();
    let contacts = store.contacts().unwrap();
    let found = contacts.get_many(uids).unwrap();
    let missing = found.iter().filter(|contact| contact.is_none()).count();
    assert_eq!(missing, 0, "of {}", uids.len());
    assert!(store.check().unwrap().is_clean());
}

#[test]
fn reading_the_file_in_the_process_takes_nothing_away() {
    // It starts many processes.
    if !in_own_process(reading_the_file_in_the_process_takes_nothing_away) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.etui");
    let store = Store::open(&path).unwrap();
    let contacts = store.contacts().unwrap();
    let mut saved = Vec::new();
    for round in 0..10 {
        let uid = format!("before-{round}");
        contacts.save(&card(&uid)).unwrap();
        saved.push(uid);
        // Closing the descriptor drops the POSIX locks of this process.
        fs::read(&path).unwrap();
        fs::read(dir.path().join("s.etui-shm")).unwrap();
        look_from_outside(&path);
        assert_eq!(names(&path).len(), 3, "nobody took itself for the last");
        let uid = format!("after-{round}");
        contacts.save(&card(&uid)).unwrap();
        saved.push(uid);
    }
    // The files as a killed process would leave them.
    let copy = dir.path().join("copy.etui");
    for suffix in ["", "-wal"] {
        let name = |path: &Path| format!("{}{suffix}", path.display());
        fs::copy(name(&path), name(&copy)).unwrap();
    }
    check_all_saved(&copy, &saved);
    drop(contacts);
    store.close().unwrap();
    assert_eq!(names(&path).len(), 1, "the last one tidies up");
    check_all_saved(&path, &saved);
}

#[test]
fn two_stores_of_a_process_on_one_file_close_in_any_order() {
    // It starts many processes.
    if !in_own_process(two_stores_of_a_process_on_one_file_close_in_any_order) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.etui");
    for keep_first in [true, false] {
        let (first, second) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
        first.contacts().unwrap().save(&card("a")).unwrap();
        second.contacts().unwrap().save(&card("b")).unwrap();
        let kept = match keep_first {
            true => {
                second.close().unwrap();
                first
            }
            false => {
                // Without a call of close.
                drop(first);
                second
            }
        };
        fs::read(&path).unwrap();
        look_from_outside(&path);
        assert_eq!(names(&path).len(), 3);
        kept.contacts().unwrap().save(&card("c")).unwrap();
        kept.close().unwrap();
        assert_eq!(names(&path).len(), 1);
        check_all_saved(&path, &["a", "b", "c"].map(str::to_owned));
    }
}

#[test]
fn saves_go_on_while_sqlite_would_lose_its_locks() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.etui");
    let store = Store::open(&path).unwrap();
    let contacts = store.contacts().unwrap();
    contacts.save(&card("kept")).unwrap();
    let shm = dir.path().join("s.etui-shm");
    // The iterator runs before the transaction, so the lock is dropped by another thread.
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let end = Instant::now() + Duration::from_secs(1);
            while Instant::now() < end {
                drop(fs::File::open(&shm));
            }
        });
        let mut number = 0;
        while !reader.is_finished() {
            let cards: Vec<_> = (0..20).map(|n| card(&format!("{number}-{n}"))).collect();
            number += 1;
            contacts.save_many(&cards).unwrap();
        }
    });
    contacts.save(&card("later")).unwrap();
    drop(contacts);
    store.close().unwrap();
    check_all_saved(&path, &["kept", "later"].map(str::to_owned));
}

#[test]
fn a_save_into_a_deleted_log_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.etui");
    let store = Store::open(&path).unwrap();
    let contacts = store.contacts().unwrap();
    contacts.save(&card("a")).unwrap();
    fs::remove_file(dir.path().join("s.etui-wal")).unwrap();
    for _ in 0..2 {
        match contacts.save(&card("b")) {
            Err(Error::LogReplaced(log)) => assert!(log.ends_with("s.etui-wal")),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
#[ignore = "a process that the next test starts and kills"]
fn save_until_killed() {
    let Some(path) = env::var_os(STORE) else {
        return;
    };
    let name = env::var("ETUI_TEST_SECOND_NAME").unwrap();
    let store = Store::open(Path::new(&path)).unwrap();
    let contacts = store.contacts().unwrap();
    for number in 0.. {
        let uid = format!("{name}-{number}");
        match contacts.save(&card(&uid)) {
            Ok(_) => println!("saved {uid}"),
            Err(Error::Busy { .. }) => {}
            Err(other) => panic!("{other}"),
        }
        // A program that should not, but does: it opens the file by itself.
        if number % 5 == 0 {
            drop(fs::File::open(&path));
        }
    }
}

/// Saves in two processes that drop their own POSIX locks, while plain SQLite opens and closes the
/// file, until all are killed.
#[test]
fn processes_that_lose_their_locks_lose_no_saves() {
    // It starts many processes.
    if !in_own_process(processes_that_lose_their_locks_lose_no_saves) {
        return;
    }
    let rounds = match env::var_os("ETUI_TEST_LONG") {
        Some(_) => 100,
        None => 4,
    };
    for round in 0..rounds {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.etui");
        Store::open(&path).unwrap().close().unwrap();
        let start = |name: &str| -> Child {
            ProgramOfTest::new(save_until_killed)
                .command()
                .unwrap()
                .env(STORE, &path)
                .env("ETUI_TEST_SECOND_NAME", name)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let mut children = [start("first"), start("second")];
        let (begun, mut records) = (Instant::now(), 0);
        // On a slow machine, until some are saved.
        while begun.elapsed() < Duration::from_secs(1) || records < 30 {
            assert!(begun.elapsed() < PATIENCE, "{records} saves");
            let plain = Connection::open(&path).unwrap();
            plain.busy_timeout(PATIENCE).unwrap();
            let count = "SELECT count(*) FROM record";
            records = plain.query_row(count, [], |r| r.get::<_, i64>(0)).unwrap();
            plain.close().unwrap();
            look_from_outside(&path);
        }
        for child in &mut children {
            child.kill().unwrap();
        }
        let mut saved = Vec::new();
        for child in children {
            let output = child.wait_with_output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            // The last line may be cut.
            let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
            saved.extend(
                whole
                    .lines()
                    .filter_map(|line| line.strip_prefix("saved "))
                    .map(str::to_owned),
            );
        }
        assert!(saved.len() > 10, "round {round}: {}", saved.len());
        check_all_saved(&path, &saved);
    }
}

/// The process that a save waited for.
static WAITED_FOR: Mutex<Option<String>> = Mutex::new(None);

fn note_and_end(waiting: &Waiting<'_>) -> ControlFlow<()> {
    assert!(waiting.waited >= Duration::from_secs(2));
    *WAITED_FOR.lock().unwrap() = waiting.writer();
    ControlFlow::Break(())
}

/// A save waits for a program that keeps a transaction open: it is told which, and can be ended.
#[test]
fn a_save_that_waits_says_for_whom() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.etui");
    let mut options = Options::default();
    options.tell_waiting = Some(note_and_end);
    let store = Store::open_with(&path, &options).unwrap();
    let contacts = store.contacts().unwrap();
    contacts.save(&card("a")).unwrap();
    let mut shell = Command::new("sqlite3")
        .arg(&path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = shell.stdin.take().unwrap();
    input
        .write_all(b"BEGIN IMMEDIATE; SELECT 'begun';\n")
        .unwrap();
    let mut said = String::new();
    let mut out = BufReader::new(shell.stdout.take().unwrap());
    out.read_line(&mut said).unwrap();
    assert_eq!(said, "begun\n");
    let stopped = contacts.save(&card("b"));
    assert!(matches!(stopped, Err(Error::Stopped)), "{stopped:?}");
    let writer = WAITED_FOR.lock().unwrap().clone();
    let expected = format!("process {} (sqlite3)", shell.id());
    assert_eq!(writer.as_deref(), Some(expected.as_str()));
    drop(input);
    shell.wait().unwrap();
    contacts.save(&card("b")).unwrap();
}
