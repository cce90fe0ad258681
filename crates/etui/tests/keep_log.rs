//! The log at rest: gone, or kept on request, emptied, so that a session's first save needs no
//! flush but its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use etui::{Error, Options, Store, Vfs};
use etui_vfs::{Spared, spared};
use support::{card, clean, directory, filled, names};

/// What is spared is counted for the whole process: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn keeping() -> Options {
    let mut options = Options::default();
    options.keep_log = true;
    options
}

fn log(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}-wal", path.display()))
}

/// A session with one save; what it spared.
fn session(path: &Path, options: &Options, uid: &str) -> Spared {
    let before = spared();
    let store = Store::open_with(path, options).unwrap();
    store.contacts().unwrap().save(&card(uid, uid)).unwrap();
    store.close().unwrap();
    let now = spared();
    Spared {
        headers: now.headers - before.headers,
        names: now.names - before.names,
    }
}

/// A store with three people and its log, of more than one session.
fn kept() -> (tempfile::TempDir, PathBuf) {
    let (dir, path) = directory();
    filled(&path, 1);
    session(&path, &keeping(), "first");
    session(&path, &keeping(), "second");
    assert_eq!(names(dir.path()), ["personal.etui", "personal.etui-wal"]);
    assert_eq!(fs::metadata(log(&path)).unwrap().len(), 0);
    (dir, path)
}

fn count(path: &Path, options: &Options) -> u64 {
    let store = Store::open_with(path, options).unwrap();
    clean(&store);
    let count = store.contacts().unwrap().count().unwrap();
    store.close().unwrap();
    count
}

#[test]
fn a_store_at_rest_is_one_file_unless_its_log_is_to_be_kept() {
    let _alone = alone();
    let (dir, path) = directory();
    filled(&path, 1);
    let spared = |headers, names| Spared { headers, names };
    for n in 0..3 {
        let done = session(&path, &Options::default(), &format!("plain-{n}"));
        assert_eq!(done, spared(1, 0));
        assert_eq!(names(dir.path()), ["personal.etui"]);
    }
    for n in 0..3 {
        // The first makes it.
        let done = session(&path, &keeping(), &format!("kept-{n}"));
        assert_eq!(done, spared(1, u64::from(n > 0)));
        assert_eq!(names(dir.path()), ["personal.etui", "personal.etui-wal"]);
        assert_eq!(fs::metadata(log(&path)).unwrap().len(), 0);
    }
    // Others need not know of it, and may remove it.
    assert_eq!(session(&path, &Options::default(), "plain-3"), spared(1, 0));
    assert_eq!(names(dir.path()), ["personal.etui"]);
    assert_eq!(session(&path, &keeping(), "kept-3"), spared(1, 0));
    assert_eq!(session(&path, &keeping(), "kept-4"), spared(1, 1));
    assert_eq!(count(&path, &keeping()), 1 + 3 + 3 + 1 + 2);
}

#[test]
fn a_date_book_that_is_all_changed_costs_one_flush_where_the_log_was_kept() {
    use etui::calendar::{Draft, zones::Zones};
    let _alone = alone();
    let (_dir, path) = directory();
    let event = |n: usize, title: &str| {
        let draft = Draft::event(title).uid(&n.to_string());
        draft.make(&Zones::new()).unwrap()
    };
    let store = Store::open_with(&path, &keeping()).unwrap();
    let all: Vec<_> = (0..100).map(|n| event(n, "Dentist")).collect();
    store.calendar().unwrap().save_many(&all).unwrap();
    store.close().unwrap();

    let before = spared();
    let store = Store::open_with(&path, &keeping()).unwrap();
    let calendar = store.calendar().unwrap();
    let mut book = calendar.date_book().unwrap();
    for index in 0..100 {
        let taken = book.take(index).unwrap();
        let mut record = taken.record().unwrap();
        record.set(0, "SUMMARY", "Later", &Zones::new()).unwrap();
        book.release_dirty(taken, record).unwrap();
    }
    // Its only commit: what SQLite flushes with a session's first are header, frames and name.
    assert_eq!(book.close().unwrap().saved, 100);
    let now = spared();
    assert_eq!(
        (now.headers - before.headers, now.names - before.names),
        (1, 1)
    );
    drop(calendar);
    store.close().unwrap();
}

#[test]
fn the_empty_log_may_stay_behind_or_come_along() {
    let _alone = alone();
    let (dir, path) = kept();
    let copy = dir.path().join("copy.etui");
    fs::copy(&path, &copy).unwrap();
    assert_eq!(count(&copy, &Options::default()), 3);

    let elsewhere = tempfile::tempdir().unwrap();
    let moved = elsewhere.path().join("personal.etui");
    fs::copy(&path, &moved).unwrap();
    fs::copy(log(&path), log(&moved)).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(count(&moved, &Options::default()), 3);
    assert_eq!(names(elsewhere.path()), ["personal.etui"]);

    // One that was left alone is in nobody's way.
    assert!(matches!(
        Store::open_with(&path, &support::reading()).err().unwrap(),
        Error::NoStore { .. }
    ));
    let made = Store::open_with(&path, &keeping()).unwrap();
    assert_eq!(made.contacts().unwrap().count().unwrap(), 0);
    made.close().unwrap();
    // Nor in another store's.
    fs::remove_file(&path).unwrap();
    fs::copy(&moved, &path).unwrap();
    assert_eq!(count(&path, &keeping()), 3);
}

#[test]
fn backups_and_restored_stores_are_one_file() {
    let _alone = alone();
    let (dir, path) = kept();
    let backup = dir.path().join("backup.etui");
    let restored = dir.path().join("restored.etui");
    let store = Store::open_with(&path, &keeping()).unwrap();
    store.backup(&backup, &mut |_, _| ()).unwrap();
    store.close().unwrap();
    Store::restore(&backup, &restored, &mut |_, _| ()).unwrap();
    assert_eq!(
        names(dir.path()),
        [
            "backup.etui",
            "personal.etui",
            "personal.etui-wal",
            "restored.etui"
        ]
    );
    assert_eq!(count(&restored, &keeping()), 3);
}

#[test]
fn who_only_reads_leaves_a_kept_log_or_removes_it() {
    let _alone = alone();
    let (dir, path) = kept();
    let mut reading = support::reading();
    reading.keep_log = true;
    assert_eq!(count(&path, &reading), 3);
    assert_eq!(names(dir.path()), ["personal.etui", "personal.etui-wal"]);
    assert_eq!(session(&path, &keeping(), "third").names, 1);
    assert_eq!(count(&path, &support::reading()), 4);
    assert_eq!(names(dir.path()), ["personal.etui"]);
    // The reader that is the last to close leaves it empty, too.
    let writer = Store::open_with(&path, &keeping()).unwrap();
    let reader = Store::open_with(&path, &reading).unwrap();
    let contacts = writer.contacts().unwrap();
    contacts.save(&card("fourth", "Fourth")).unwrap();
    drop(contacts);
    assert_eq!(reader.contacts().unwrap().count().unwrap(), 5);
    writer.close().unwrap();
    assert!(fs::metadata(log(&path)).unwrap().len() > 0);
    reader.close().unwrap();
    assert_eq!(fs::metadata(log(&path)).unwrap().len(), 0);
    assert_eq!(names(dir.path()), ["personal.etui", "personal.etui-wal"]);
}

#[test]
fn a_store_with_a_kept_log_goes_on_on_etuis_vfs() {
    let _alone = alone();
    let (dir, path) = kept();
    let mut redo = keeping();
    redo.vfs = Vfs::Etui;
    session(&path, &redo, "third");
    assert_eq!(
        names(dir.path()),
        ["personal.etui", "personal.etui-redo", "personal.etui-wal"]
    );
    session(&path, &redo, "fourth");
    assert_eq!(count(&path, &keeping()), 5);
}
