//! A store whose file is not in memory: what is read from the device.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use etui::contacts::{Card, Field, Filter, MatchMode, Paging};
use etui::{Options, Store};
use etui_testkit::own_process::in_own_process;
use etui_testkit::people::People;
use rustix::fs::Advice;

/// Bytes that this process read from devices (proc_pid_io(5)).
fn device_bytes() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap();
    let line = io.lines().find_map(|l| l.strip_prefix("read_bytes: "));
    line.unwrap().parse().unwrap()
}

/// Puts the file out of memory, which on some file systems does nothing.
fn evict(path: &Path) {
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).unwrap();
}

/// Returns the bytes that come from the device when the beginning of the file is read.
fn missing_beginning(path: &Path) -> u64 {
    let before = device_bytes();
    let beginning = &mut [0; 96 << 10];
    File::open(path)
        .unwrap()
        .read_exact_at(beginning, 0)
        .unwrap();
    device_bytes() - before
}

fn open_to_read(path: &Path) -> Store {
    let mut options = Options::default();
    options.read_only = true;
    Store::open_with(path, &options).unwrap()
}

/// Opens the store cold and shows the first screen; returns the bytes that a search reads then.
fn bytes_of_a_search(path: &Path, populate: bool) -> u64 {
    evict(path);
    let store = open_to_read(path);
    let contacts = store.contacts().unwrap();
    contacts.list(Paging::first(50)).unwrap();
    if populate {
        store.maintenance().populate().unwrap();
    }
    let before = device_bytes();
    contacts
        .find(&Filter::text(Field::Name, MatchMode::Prefix, "s"))
        .unwrap();
    device_bytes() - before
}

fn create_store(path: PathBuf) -> PathBuf {
    let store = Store::open(&path).unwrap();
    let cards: Vec<Card> = People::new(3)
        .take(3_000)
        .map(|text| Card::parse(text.as_str()).unwrap())
        .collect();
    store.contacts().unwrap().save_many(&cards).unwrap();
    store.maintenance().merge_index().unwrap();
    store.close().unwrap();
    path
}

#[test]
fn a_cold_store_is_read_ahead_where_that_is_asked_for() {
    // What the process reads from devices is measured.
    if !in_own_process(a_cold_store_is_read_ahead_where_that_is_asked_for) {
        return;
    }
    // On a disk: /tmp may be memory.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = create_store(dir.path().join("s.etui"));
    evict(&path);
    if missing_beginning(&path) == 0 {
        println!("not tested: here a file does not leave the memory");
        return;
    }

    // The pages of this program's own code, which are read from its file when they are first used.
    bytes_of_a_search(&path, true);

    // Opening asks for the roots of all trees at once, and not for all of the file.
    evict(&path);
    let before = device_bytes();
    let store = open_to_read(&path);
    store.contacts().unwrap().list(Paging::first(50)).unwrap();
    let read = device_bytes() - before;
    assert!(read < 400 << 10, "{read} bytes for the first screen");
    assert_eq!(missing_beginning(&path), 0);
    drop(store);

    assert!(bytes_of_a_search(&path, false) > 0);
    assert_eq!(bytes_of_a_search(&path, true), 0);
}
