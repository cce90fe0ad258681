//! The disk keeps durable data, and a power cut destroys only pending data.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use etui_vfs::device::{Access, File, Lock, Platform, Role};

use super::*;

const PATH: &str = "/db";
const ACCESS: Access = Access {
    write: true,
    create: true,
};

fn open(disk: &RecordingDisk, path: &str) -> Box<dyn File> {
    disk.open(Some(Path::new(path)), Role::Database, ACCESS)
        .unwrap()
}

/// A disk with a durable file of `len` bytes of `byte`.
fn filled(len: usize, byte: u8) -> RecordingDisk {
    let disk = RecordingDisk::new();
    open(&disk, PATH).write_at(&vec![byte; len], 0).unwrap();
    RecordingDisk::from_files(disk.files())
}

fn plan(per_point: usize) -> CrashPlan {
    CrashPlan {
        sector: 512,
        per_point,
        between: 1000,
        torn: None,
        seed: 1,
    }
}

/// Returns the possible states of the file after a power cut at the end: a letter for each sector, `-` if
/// there is no file.
fn outcomes(disk: &RecordingDisk, plan: &CrashPlan) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let end = disk.events();
    let _ = crash(&disk.history(), plan, |image| {
        if image.after == end {
            all.insert(match image.files.get(Path::new(PATH)) {
                None => "-".to_owned(),
                Some(content) => content
                    .to_vec()
                    .chunks(512)
                    .map(|sector| match sector {
                        [0, ..] => '0',
                        [first, ..] => char::from(*first),
                        [] => '?',
                    })
                    .collect(),
            });
        }
        ControlFlow::Continue(())
    });
    all
}

fn set(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(|one| (*one).to_owned()).collect()
}

#[test]
fn what_is_not_flushed_may_be_there_sector_by_sector() {
    let disk = filled(1024, b'a');
    let file = open(&disk, PATH);
    file.write_at(&[b'b'; 1024], 0).unwrap();
    assert_eq!(outcomes(&disk, &plan(9)), set(&["aa", "ab", "ba", "bb"]));
    file.sync().unwrap();
    assert_eq!(outcomes(&disk, &plan(9)), set(&["bb"]));
}

#[test]
fn a_sector_may_hold_any_of_the_contents_it_had() {
    let disk = filled(512, b'a');
    let file = open(&disk, PATH);
    file.write_at(&[b'b'; 512], 0).unwrap();
    file.write_at(b"c", 0).unwrap();
    assert_eq!(outcomes(&disk, &plan(9)), set(&["a", "b", "c"]));
    // The second write is one byte long: an image that has it has the first one too.
    let _ = crash(&disk.history(), &plan(9), |image| {
        let bytes = image.files.get(Path::new(PATH)).unwrap().to_vec();
        assert!(bytes[0] != b'c' || bytes[1] == b'b', "{image}");
        ControlFlow::Continue(())
    });
}

#[test]
fn growth_reads_as_zeros_until_it_is_written() {
    let disk = filled(512, b'a');
    open(&disk, PATH).write_at(&[b'b'; 512], 512).unwrap();
    assert_eq!(outcomes(&disk, &plan(9)), set(&["a", "a0", "ab"]));
}

#[test]
fn sizes_follow_each_other() {
    let disk = filled(1024, b'a');
    let file = open(&disk, PATH);
    file.set_len(512).unwrap();
    file.set_len(1536).unwrap();
    assert_eq!(outcomes(&disk, &plan(9)), set(&["aa", "a", "a00"]));
}

#[test]
fn a_name_is_durable_when_its_directory_is() {
    let disk = RecordingDisk::new();
    let file = open(&disk, PATH);
    file.write_at(&[b'a'; 512], 0).unwrap();
    file.sync().unwrap();
    assert_eq!(outcomes(&disk, &plan(9)), set(&["-", "a"]));
    disk.sync_directory_of(Path::new(PATH)).unwrap();
    assert_eq!(outcomes(&disk, &plan(9)), set(&["a"]));
    disk.remove(Path::new(PATH), false).unwrap();
    assert_eq!(outcomes(&disk, &plan(9)), set(&["-", "a"]));
    disk.remove(Path::new(PATH), true).unwrap();
    disk.sync_directory_of(Path::new(PATH)).unwrap();
    assert_eq!(outcomes(&disk, &plan(9)), set(&["-"]));
}

#[test]
fn a_failed_flush_is_not_mended_by_a_later_one() {
    let disk = filled(512, b'a');
    let file = open(&disk, PATH);
    file.write_at(&[b'b'; 512], 0).unwrap();
    disk.fail(Some(InjectedFailure {
        at: disk.calls(),
        fault: FaultKind::Io,
        lasting: false,
    }));
    assert!(file.sync().is_err());
    assert!(disk.failed());
    file.sync().unwrap();
    assert_eq!(outcomes(&disk, &plan(9)), set(&["a", "b"]));
    file.write_at(&[b'c'; 512], 0).unwrap();
    file.sync().unwrap();
    assert_eq!(outcomes(&disk, &plan(9)), set(&["c"]));
}

#[test]
fn many_are_sampled_the_same_way_each_time() {
    let disk = filled(512 * 40, b'a');
    let file = open(&disk, PATH);
    for at in 0..5 {
        file.write_at(&[b'b'; 4096], at * 4096).unwrap();
    }
    let seen = outcomes(&disk, &plan(60));
    assert!(seen.len() > 40, "{}", seen.len());
    assert!(seen.contains(&"a".repeat(40)) && seen.contains(&"b".repeat(40)));
    assert_eq!(seen, outcomes(&disk, &plan(60)));
    let other = CrashPlan {
        seed: 2,
        ..plan(60)
    };
    assert_ne!(seen, outcomes(&disk, &other));
}

#[test]
fn larger_sectors_are_written_at_once() {
    let disk = filled(8192, b'a');
    open(&disk, PATH).write_at(&[b'b'; 8192], 0).unwrap();
    let large = CrashPlan {
        sector: 4096,
        ..plan(9)
    };
    assert_eq!(outcomes(&disk, &large).len(), 4);
}

#[test]
fn one_sector_may_be_torn() {
    let disk = filled(1024, b'a');
    open(&disk, PATH).write_at(&[b'b'; 512], 0).unwrap();
    let torn = CrashPlan {
        torn: Some(Role::Database),
        ..plan(9)
    };
    let seen = outcomes(&disk, &torn);
    assert!(
        seen.len() == 3 && seen.iter().all(|end| end.ends_with('a')),
        "{seen:?}"
    );
}

#[test]
fn calls_fail_as_they_are_told_to() {
    let disk = RecordingDisk::new();
    let file = open(&disk, PATH);
    let fail = |fault| {
        disk.fail(Some(InjectedFailure {
            at: disk.calls(),
            fault,
            lasting: false,
        }));
    };
    fail(FaultKind::Short);
    assert!(file.write_at(b"abcd", 0).is_err());
    assert_eq!(file.len().unwrap(), 2);
    fail(FaultKind::Full);
    let full = file.write_at(b"abcd", 0).unwrap_err();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    file.write_at(b"abcd", 0).unwrap();
    assert_eq!(file.len().unwrap(), 4);
}

#[test]
fn locks_go_with_the_process() {
    let disk = RecordingDisk::new();
    let other = disk.another_process();
    let (mine, theirs) = (open(&disk, PATH), open(&other, PATH));
    assert!(mine.lock(Lock::Exclusive).unwrap());
    assert!(!theirs.lock(Lock::Exclusive).unwrap());
    disk.kill();
    assert!(theirs.lock(Lock::Exclusive).unwrap());
    assert!(mine.write_at(b"late", 0).is_err());
    drop(theirs);
    assert!(open(&other, PATH).lock(Lock::Exclusive).unwrap());
}

#[test]
fn disks_on_a_rack_are_apart() {
    let rack = MountedDisks::new();
    let (one, two) = (
        rack.mount(&RecordingDisk::new()),
        rack.mount(&RecordingDisk::new()),
    );
    let path = one.path("/db");
    rack.open(Some(Path::new(&path)), Role::Database, ACCESS)
        .unwrap();
    assert!(one.disk.exists(Path::new("/db")).unwrap());
    assert!(!two.disk.exists(Path::new("/db")).unwrap());
    drop(one);
    assert!(!rack.exists(Path::new(&path)).unwrap());
}
