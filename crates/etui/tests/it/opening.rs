//! Opening a store that is in use or damaged, and the locks that it leaves: none.

use std::path::Path;
use std::time::Duration;

use crate::support::{directory, filled};
use etui::{Error, Options, Store};
use etui_testkit::own_process::in_own_process;
use rusqlite::Connection;

fn hasty() -> Options {
    let mut options = Options::default();
    options.busy_timeout = Duration::from_millis(50);
    options
}

/// Returns the error of opening, for reading and for writing.
fn refused(path: &Path) -> Error {
    let mut reading = hasty();
    (reading.read_only, reading.create) = (true, false);
    assert!(Store::open_with(path, &reading).is_err());
    Store::open_with(path, &hasty()).err().unwrap()
}

/// Asserts that nobody has the file open or locked.
fn is_left_alone(path: &Path) {
    let conn = Connection::open(path).unwrap();
    conn.busy_timeout(Duration::ZERO).unwrap();
    conn.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT")
        .unwrap();
}

#[test]
fn a_store_that_another_program_has_to_itself_is_busy() {
    let (_dir, path) = directory();
    filled(&path, 3);
    let other = Connection::open(&path).unwrap();
    other
        .execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT")
        .unwrap();
    assert!(matches!(refused(&path), Error::Busy { .. }));
    drop(other);
    let store = Store::open_with(&path, &hasty()).unwrap();
    assert_eq!(store.contacts().unwrap().count().unwrap(), 3);
}

#[test]
fn a_store_of_a_newer_version_or_without_its_tables_is_refused_and_left_alone() {
    // What is closed has no locks: a child that another test starts would have them for a moment.
    if !in_own_process(a_store_of_a_newer_version_or_without_its_tables_is_refused_and_left_alone) {
        return;
    }
    let (_dir, path) = directory();
    filled(&path, 3);
    let change = |sql: &str| Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    change("PRAGMA user_version = 1000");
    assert!(matches!(refused(&path), Error::Newer { found: 1000, .. }));
    is_left_alone(&path);
    change("PRAGMA user_version = 1; ALTER TABLE meta RENAME TO mate");
    let error = refused(&path);
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("\"meta\""), "{error}");
    is_left_alone(&path);
    change("ALTER TABLE mate RENAME TO meta; PRAGMA application_id = 5");
    assert!(matches!(refused(&path), Error::NotAStore { .. }));
    is_left_alone(&path);
    change("PRAGMA application_id = 0x65747569");
    let store = Store::open_with(&path, &hasty()).unwrap();
    assert_eq!(store.contacts().unwrap().count().unwrap(), 3);
    store.close().unwrap();
    is_left_alone(&path);
}

/// Opening does not check these.
#[test]
fn a_store_that_was_robbed_of_its_identity_is_told_of() {
    for key in ["store_id", "incarnation"] {
        let (_dir, path) = directory();
        filled(&path, 3);
        let plain = Connection::open(&path).unwrap();
        plain
            .execute("DELETE FROM meta WHERE key = ?1", [key])
            .unwrap();
        drop(plain);
        let report = Store::open(&path).unwrap().check().unwrap();
        let told = format!("the table \"meta\" lacks \"{key}\"");
        assert!(report.problems.contains(&told), "{report:?}");
    }
}

#[test]
fn an_open_store_reads_what_others_save_and_keeps_no_state_of_its_opening() {
    let (_dir, path) = directory();
    filled(&path, 3);
    let early = Store::open_with(&path, &hasty()).unwrap();
    let other = Store::open_with(&path, &hasty()).unwrap();
    let contacts = other.contacts().unwrap();
    contacts.save(&crate::support::card("new", "New")).unwrap();
    assert_eq!(early.contacts().unwrap().count().unwrap(), 4);
    // A reader that kept its state would prevent the truncation of the log.
    let plain = Connection::open(&path).unwrap();
    let busy: i64 = plain
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |r| r.get(0))
        .unwrap();
    assert_eq!(busy, 0);
}
