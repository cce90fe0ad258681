//! Stores that cannot be written, and full disks.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::support::{clean, directory, filled, german, names, people, reading};
use etui::contacts::{Card, Paging};
use etui::record::RecordKind;
use etui::{Error, Store};
use etui_testkit::own_process::ProgramOfTest;
use etui_testkit::small_disk::SmallDisk;

const STORE: &str = "personal.etui";
const READ_ONLY: &str = "ETUI_TEST_READ_ONLY_STORE";

/// Asserts the behaviour of a store with 7 people that this process may not write.
fn cannot_be_written(path: &Path) {
    let dir = path.parent().unwrap();
    let before = names(dir);
    let error = Store::open(path).err().expect("it cannot be written");
    assert!(matches!(error, Error::ReadOnly { .. }), "{error:?}");
    assert!(error.to_string().contains("read-only"), "{error}");
    let store = Store::open_with(path, &reading()).unwrap();
    assert!(store.is_read_only());
    let contacts = store.contacts().unwrap();
    assert_eq!(contacts.count().unwrap(), 7);
    assert_eq!(contacts.list(Paging::ALL).unwrap().len(), 7);
    assert_eq!(contacts.all().unwrap().len(), 7);
    assert_eq!(
        store
            .snapshot()
            .unwrap()
            .contacts()
            .unwrap()
            .count()
            .unwrap(),
        7
    );
    clean(&store);
    for card in people(3, 7) {
        assert!(contacts.get(&card.identity()).unwrap().is_some());
        let error = contacts.save(&card).unwrap_err();
        assert!(matches!(error, Error::ReadOnly { .. }), "{error:?}");
    }
    store.close().unwrap();
    assert_eq!(names(dir), before);
}

#[test]
fn child_without_rights() {
    if let Some(path) = std::env::var_os(READ_ONLY) {
        cannot_be_written(Path::new(&path));
        println!("it cannot be written");
    }
}

#[test]
fn a_file_without_write_permission_can_be_read() {
    const NOBODY: u32 = 65_534;
    let (dir, path) = directory();
    filled(&path, 7);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    let root = rustix::process::geteuid().is_root();
    // Root may write anyway, so another user reads, with a copy of this program that it may run.
    let exe = tempfile::tempdir().unwrap();
    if root {
        fs::set_permissions(exe.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::copy(std::env::current_exe().unwrap(), exe.path().join("test")).unwrap();
        std::os::unix::fs::chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        std::os::unix::fs::chown(dir.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o500)).unwrap();
    if root {
        let output = Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(exe.path().join("test"))
            .args(ProgramOfTest::new(child_without_rights).arguments())
            .env(READ_ONLY, &path)
            .output();
        match output {
            Ok(output) if matches!(output.status.code(), Some(126 | 127)) => {
                println!("skipped: setpriv cannot run this test as another user");
            }
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stdout);
                assert!(
                    output.status.success() && said.contains("it cannot be written"),
                    "{said}{}",
                    String::from_utf8_lossy(&output.stderr)
                );
            }
            Err(e) => println!("skipped: root may write everything, and setpriv: {e}"),
        }
    } else {
        cannot_be_written(&path);
    }
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_read_only_medium_can_be_read() {
    let Some(medium) = SmallDisk::mount("8m") else {
        return;
    };
    filled(&medium.path().join(STORE), 7);
    medium.remount("ro").unwrap();
    cannot_be_written(&medium.path().join(STORE));
}

/// The store holds these cards, in this order, and is sound.
fn same(store: &Store, expected: &[Card]) {
    let texts = store.contacts().unwrap().all().unwrap();
    assert_eq!(texts.len(), expected.len());
    for ((_, found), expected) in texts.iter().zip(expected) {
        assert_eq!(found, expected.text());
    }
    clean(store);
}

#[test]
fn a_full_disk_takes_nothing_back() {
    let Some(disk) = SmallDisk::mount("4m") else {
        return;
    };
    let path = disk.path().join(STORE);
    let filler = disk.path().join("filler");
    fs::write(&filler, vec![1; 1_500_000]).unwrap();
    let store = Store::open_with(&path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    let mut cards = people(8, 20_000).into_iter();
    let mut acknowledged: Vec<Card> = Vec::new();
    // Single saves and batches, until both fail.
    let (mut one, mut many) = (false, false);
    while !(one && many) {
        for size in [1, 40] {
            let batch: Vec<_> = cards.by_ref().take(size).collect();
            assert_eq!(batch.len(), size, "4 MB held twenty thousand contacts");
            let saved = match &batch[..] {
                [only] => contacts.save(only).map(drop),
                all => contacts.save_many(all).map(drop),
            };
            let full = if size == 1 { &mut one } else { &mut many };
            match saved {
                Ok(()) => acknowledged.extend(batch),
                Err(Error::DiskFull { .. }) => *full = true,
                Err(e) => panic!("{e:?}"),
            }
        }
    }
    println!("{} contacts until the disk was full", acknowledged.len());
    assert!(acknowledged.len() > 40);
    same(&store, &acknowledged);
    // Reopened on the full disk it has the same content, if it can be opened.
    drop(store);
    match Store::open(&path) {
        Ok(store) => same(&store, &acknowledged),
        Err(e) => assert!(matches!(e, Error::DiskFull { .. }), "{e:?}"),
    }

    fs::remove_file(&filler).unwrap();
    let store = Store::open(&path).unwrap();
    same(&store, &acknowledged);
    let last = cards.next().unwrap();
    let more: Vec<_> = cards.take(30).collect();
    store.contacts().unwrap().save_many(&more).unwrap();
    store.contacts().unwrap().save(&last).unwrap();
    acknowledged.extend(more);
    acknowledged.push(last);
    same(&store, &acknowledged);
    store.close().unwrap();
}

/// There is no space for the WAL index, and none is needed while nobody has the store open.
#[test]
fn a_closed_store_on_a_full_disk_is_read() {
    let Some(disk) = SmallDisk::mount("4m") else {
        return;
    };
    let path = disk.path().join(STORE);
    let cards = people(8, 30);
    let store = Store::open_with(&path, &german()).unwrap();
    store.contacts().unwrap().save_many(&cards).unwrap();
    store.close().unwrap();
    let filler = disk.path().join("filler");
    let full = fs::write(&filler, vec![1; 5_000_000]).unwrap_err();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    let error = Store::open(&path).err().unwrap();
    assert!(matches!(error, Error::DiskFull { .. }), "{error:?}");
    let [first, second] = [(); 2].map(|()| Store::open_with(&path, &reading()).unwrap());
    same(&first, &cards);
    same(&second, &cards);
    second.close().unwrap();
    fs::remove_file(&filler).unwrap();
    let store = Store::open(&path).unwrap();
    store.contacts().unwrap().save_many(&people(9, 1)).unwrap();
    store.close().unwrap();
    first.close().unwrap();
    assert_eq!(
        Store::open(&path)
            .unwrap()
            .contacts()
            .unwrap()
            .count()
            .unwrap(),
        31
    );
}

#[test]
fn no_store_fits_on_a_full_disk() {
    let Some(disk) = SmallDisk::mount("64k") else {
        return;
    };
    fs::write(disk.path().join("filler"), vec![1; 40 << 10]).unwrap();
    let error = Store::open(disk.path().join(STORE))
        .err()
        .expect("there is no room");
    assert!(matches!(error, Error::DiskFull { .. }), "{error:?}");
    fs::remove_file(disk.path().join("filler")).unwrap();
}
