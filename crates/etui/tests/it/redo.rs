//! A store on the redo log: the same results, one flush a save, one process at a time, a standard SQLite
//! file when closed.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use etui::contacts::{Card, Filter, Query};
use etui::{Error, Options, Store, Vfs};
use etui_testkit::own_process::{ProgramOfTest, in_own_process};
use etui_testkit::people::People;

const STORE: &str = "ETUI_TEST_REDO_STORE";

fn on_redo() -> Options {
    let mut options = Options::default();
    options.vfs = Vfs::RedoLog;
    options.locale = Some("en".into());
    options.region = Some("GB".into());
    options.busy_timeout = Duration::from_millis(50);
    options
}

fn cards(count: usize) -> Vec<Card> {
    let people = People::new(5).take(count);
    people.map(|text| Card::parse(text).unwrap()).collect()
}

/// Plain SQLite, as in any other program.
fn names_by_plain_sqlite(path: &Path) -> rusqlite::Result<i64> {
    let db = rusqlite::Connection::open(path)?;
    db.busy_timeout(Duration::ZERO)?;
    db.query_row("SELECT count(*) FROM item", [], |r| r.get(0))
}

#[test]
fn saves_cost_a_flush_each_and_a_closed_store_is_an_ordinary_file() {
    // The VFS's counters are of all stores of the process.
    if !in_own_process(saves_cost_a_flush_each_and_a_closed_store_is_an_ordinary_file) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("personal.etui");
    let store = Store::open_with(&path, &on_redo()).unwrap();
    let contacts = store.contacts().unwrap();
    let all = cards(600);
    contacts.save_many(&all[..500]).unwrap();
    let before = store.vfs_counters().unwrap();
    for card in &all[500..] {
        contacts.save(card).unwrap();
    }
    let spent = store.vfs_counters().unwrap().since(&before);
    // Merges are commits too, without a flush of their own.
    assert!(spent.commits >= 100, "{spent}");
    assert!(spent.records >= spent.commits, "{spent}");
    assert!(
        (100..=110).contains(&spent.redo_flushes),
        "a flush for each save, and some for checkpoints:\n{spent}"
    );
    assert_eq!(contacts.count().unwrap(), 600);
    // While the store is open, plain SQLite cannot use it.
    assert!(names_by_plain_sqlite(&path).is_err());
    store.close().unwrap();
    assert_eq!(names_by_plain_sqlite(&path).unwrap(), 600);
    let left: Vec<_> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with("-wal") || name.ends_with("-shm"))
        .collect();
    assert_eq!(left, [""; 0]);

    // And in reverse: a reader does not depend on the writer's VFS.
    let mut options = Options::default();
    options.vfs = Vfs::System;
    let system = Store::open_with(&path, &options).unwrap();
    assert!(system.vfs_counters().is_none());
    let everybody = Query::new(Filter::All);
    let listed = system.contacts().unwrap().query(&everybody).unwrap();
    system.close().unwrap();
    let redo = Store::open_with(&path, &on_redo()).unwrap();
    assert!(redo.check().unwrap().is_clean());
    let again = redo.contacts().unwrap().query(&everybody).unwrap();
    assert_eq!(listed.ids(), again.ids());
}

#[test]
fn snapshots_and_threads_see_what_they_should() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_with(dir.path().join("s.etui"), &on_redo()).unwrap();
    let all = cards(400);
    store.contacts().unwrap().save_many(&all[..200]).unwrap();
    let snapshot = store.snapshot().unwrap();
    std::thread::scope(|scope| {
        for part in all[200..].chunks(50) {
            let store = &store;
            scope.spawn(move || {
                let contacts = store.contacts().unwrap();
                for card in part {
                    contacts.save(card).unwrap();
                }
            });
        }
    });
    assert_eq!(snapshot.contacts().unwrap().count().unwrap(), 200);
    drop(snapshot);
    assert_eq!(store.contacts().unwrap().count().unwrap(), 400);
    assert!(store.check().unwrap().is_clean());
}

/// The child: has the store open, with a save in its log, until it is killed.
#[test]
fn keeps_a_store_open() {
    let Some(path) = std::env::var_os(STORE) else {
        return;
    };
    let store = Store::open_with(path, &on_redo()).unwrap();
    let uid = std::process::id();
    let text = format!("BEGIN:VCARD\r\nVERSION:4.0\r\nUID:{uid}\r\nFN:Ada\r\nEND:VCARD\r\n");
    let contacts = store.contacts().unwrap();
    contacts.save(&Card::parse(text).unwrap()).unwrap();
    let mut out = std::io::stdout().lock();
    out.write_all(b"\n@open\n").unwrap();
    out.flush().unwrap();
    loop {
        std::thread::park();
    }
}

fn keeper(path: &Path) -> Child {
    let mut child = ProgramOfTest::new(keeps_a_store_open)
        .command()
        .unwrap()
        .env(STORE, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    assert!(out.lines().any(|line| line.unwrap() == "@open"));
    child
}

#[test]
fn a_second_process_is_refused_and_a_killed_one_leaves_nothing_to_do() {
    // What is closed has no locks: a child that another test starts would have them for a moment.
    if !in_own_process(a_second_process_is_refused_and_a_killed_one_leaves_nothing_to_do) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("personal.etui");
    for (opens_next, saved) in [Some(Vfs::RedoLog), Some(Vfs::System), None]
        .into_iter()
        .zip(1..)
    {
        let mut child = keeper(&path);
        let pid = child.id().to_string();
        let asked = std::time::Instant::now();
        let mut patient = on_redo();
        patient.busy_timeout = Duration::from_secs(1_000);
        let refused = Store::open_with(&path, &patient).err().unwrap();
        // The refusal does not wait as a lock would.
        assert!(asked.elapsed() < Duration::from_secs(500));
        let Error::Refused { reason, .. } = &refused else {
            panic!("{refused}");
        };
        assert!(reason.contains(&pid), "{reason} names {pid}");
        let refused = etui::recover(&path).unwrap_err();
        assert!(refused.to_string().contains(&pid), "{refused} names {pid}");

        child.kill().unwrap();
        child.wait().unwrap();
        assert!(names_by_plain_sqlite(&path).is_err());
        if opens_next == Some(Vfs::System) {
            // Another program may have the log in use: it is not replayed unasked.
            let refused = Store::open(&path).err().unwrap().to_string();
            assert!(refused.contains("etui_recover"), "{refused}");
        }
        if opens_next == Some(Vfs::RedoLog) {
            let store = Store::open_with(&path, &on_redo()).unwrap();
            assert_eq!(store.contacts().unwrap().count().unwrap(), saved);
            store.close().unwrap();
        } else {
            assert!(etui::recover(&path).unwrap().transactions > 0);
            assert_eq!(etui::recover(&path).unwrap().transactions, 0);
        }
        assert_eq!(names_by_plain_sqlite(&path).unwrap(), saved as i64);
    }
}

/// Why a store whose last changes are in a redo log is refused without it.
#[test]
fn a_refusal_has_its_reason() {
    let dir = tempfile::tempdir().unwrap();
    let [path, other] = ["personal", "other"].map(|name| dir.path().join(format!("{name}.etui")));
    let log = |path: &Path| path.with_extension("etui-redo");
    for path in [&path, &other] {
        let mut child = keeper(path);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let reason = || match Store::open(&path).err().unwrap() {
        Error::Refused { reason, .. } => reason,
        other => panic!("{other}"),
    };
    assert!(reason().contains("etui_recover"), "{}", reason());
    let kept = dir.path().join("kept");
    std::fs::rename(log(&path), &kept).unwrap();
    assert!(reason().contains("is not there"), "{}", reason());
    std::fs::copy(log(&other), log(&path)).unwrap();
    assert!(reason().contains("another database"), "{}", reason());
    std::fs::rename(&kept, log(&path)).unwrap();
    assert!(etui::recover(&path).unwrap().transactions > 0);
    assert_eq!(
        Store::open(&path)
            .unwrap()
            .contacts()
            .unwrap()
            .count()
            .unwrap(),
        1
    );
}
