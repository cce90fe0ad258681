//! A log that stays beside the closed store: nothing is in it, and nobody stumbles over it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{card, directory, filled};
use etui::{Options, Store, Vfs};

fn keeping() -> Options {
    let mut options = Options::default();
    options.persist_wal = true;
    options
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// A store with three contacts that was closed, and its log, which stayed.
fn kept(path: &Path) -> PathBuf {
    let store = Store::open_with(path, &keeping()).unwrap();
    let cards: Vec<_> = ["a", "b", "c"].map(|uid| card(uid, uid)).into();
    store.contacts().unwrap().save_many(&cards).unwrap();
    store.close().unwrap();
    let log = beside(path, "-wal");
    assert!(fs::metadata(&log).unwrap().len() > 4096);
    assert!(etui_vfs::persist_wal::is_idle_wal(&log));
    assert!(!beside(path, "-shm").exists());
    log
}

fn count(path: &Path, options: &Options) -> u64 {
    let store = Store::open_with(path, options).unwrap();
    let count = store.contacts().unwrap().count().unwrap();
    store.close().unwrap();
    count
}

#[test]
fn the_store_is_complete_without_it() {
    let (dir, path) = directory();
    let log = kept(&path);
    let alone = dir.path().join("alone.etui");
    fs::copy(&path, &alone).unwrap();
    assert_eq!(count(&alone, &Options::default()), 3);
    fs::remove_file(&log).unwrap();
    assert_eq!(count(&path, &keeping()), 3);
}

#[test]
fn it_is_used_again_and_goes_with_who_does_not_keep_it() {
    let (_dir, path) = directory();
    let log = kept(&path);
    for session in 0..3 {
        let store = Store::open_with(&path, &keeping()).unwrap();
        let uid = format!("session-{session}");
        store.contacts().unwrap().save(&card(&uid, &uid)).unwrap();
        store.close().unwrap();
        assert!(etui_vfs::persist_wal::is_idle_wal(&log));
    }
    assert_eq!(count(&path, &keeping()), 6);
    assert!(etui_vfs::persist_wal::is_idle_wal(&log));
    assert_eq!(count(&path, &Options::default()), 6);
    assert!(!log.exists());
    // Who only reads leaves none behind.
    assert_eq!(count(&path, &keeping()), 6);
    assert!(!log.exists());
}

#[test]
fn another_vfs_opens_the_store_beside_it() {
    let (_dir, path) = directory();
    let log = kept(&path);
    let mut redo = keeping();
    redo.vfs = Vfs::Etui;
    let store = Store::open_with(&path, &redo).unwrap();
    store.contacts().unwrap().save(&card("d", "D")).unwrap();
    store.close().unwrap();
    assert!(!log.exists());
    assert_eq!(count(&path, &keeping()), 4);
}

#[test]
fn it_does_not_stand_in_the_way_of_a_new_store() {
    let (dir, path) = directory();
    kept(&path);
    fs::remove_file(&path).unwrap();
    let store = Store::open_with(&path, &keeping()).unwrap();
    assert_eq!(store.contacts().unwrap().count().unwrap(), 0);
    store.contacts().unwrap().save(&card("n", "N")).unwrap();
    store.close().unwrap();
    assert_eq!(count(&path, &Options::default()), 1);

    // Nor of one that is brought back.
    let backup = dir.path().join("backup.etui");
    let other = dir.path().join("other.etui");
    kept(&path);
    let store = Store::open(&path).unwrap();
    store.backup(&backup, &mut |_, _| ()).unwrap();
    store.close().unwrap();
    kept(&other);
    fs::remove_file(&other).unwrap();
    Store::restore(&backup, &other, &mut |_, _| ()).unwrap();
    assert_eq!(count(&other, &keeping()), 4);
}

#[test]
fn programs_that_keep_it_and_others_use_the_store_at_once() {
    let (_dir, path) = directory();
    let log = kept(&path);
    let keeps = Store::open_with(&path, &keeping()).unwrap();
    let does_not = Store::open(&path).unwrap();
    keeps.contacts().unwrap().save(&card("x", "X")).unwrap();
    does_not.contacts().unwrap().save(&card("y", "Y")).unwrap();
    assert_eq!(keeps.contacts().unwrap().count().unwrap(), 5);
    does_not.close().unwrap();
    assert!(!etui_vfs::persist_wal::is_idle_wal(&log));
    keeps.contacts().unwrap().save(&card("z", "Z")).unwrap();
    keeps.close().unwrap();
    assert!(etui_vfs::persist_wal::is_idle_wal(&log));
    assert_eq!(count(&path, &Options::default()), 6);
}

#[test]
fn a_new_store_may_keep_its_log_from_the_first() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &keeping()).unwrap();
    store.close().unwrap();
    assert!(etui_vfs::persist_wal::is_idle_wal(&beside(&path, "-wal")));
    filled(&path, 5);
    assert_eq!(count(&path, &keeping()), 5);
}
