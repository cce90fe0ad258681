//! Crash tests of the VFS with a persistent WAL, on the laboratory's disk.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use etui_lab_io::instrumented::{FileKind, InstrumentedOptions, InstrumentedVfs};
use etui_testkit::disk::{FaultKind, InjectedFailure, MountedDisks, RecordingDisk};
use etui_vfs::persist_wal::{PersistWalOptions, PersistWalVfs};
use rusqlite::{Connection, OpenFlags};

use crate::crash::check::Subject;
use crate::crash::faults;
use crate::crash::plain::{Mistake, register};
use crate::crash::random::{self, Kind, variable};
use crate::crash::steps::Synchronous;

/// The identity of the disk's files, which have no inode numbers. Tests on a real file system cover
/// copied and moved files.
fn fixed_identity(_: &Path) -> Option<(u64, u64)> {
    Some((1, 1))
}

fn persisting(mistake: Mistake) -> Subject {
    persisting_and_counting(mistake).0
}

/// A VFS with persistent WALs above one that counts, above a device with a mistake. The plain VFS
/// beside it has none.
fn persisting_and_counting(mistake: Mistake) -> (Subject, InstrumentedVfs) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let rack = MountedDisks::new();
    let name = |what: &str| format!("persist-{what}-{number}");
    let (vfs, counting) = (name("wal"), name("counting"));
    let (device, plain) = (name("device"), name("plain"));
    register(&device, Arc::new(rack.clone()), mistake);
    register(&plain, Arc::new(rack.clone()), Mistake::None);
    let options = InstrumentedOptions::default();
    let counting = InstrumentedVfs::register_above(&counting, &device, options).unwrap();
    let options = PersistWalOptions {
        identity: fixed_identity,
        ..PersistWalOptions::with_max_bytes(1 << 13)
    };
    PersistWalVfs::register_above(&vfs, counting.name(), options).unwrap();
    let subject = Subject {
        vfs,
        etui: None,
        plain,
        rack,
        close_is_promised: false,
        guarded: false,
        torn: None,
    };
    (subject, counting)
}

#[test]
fn persistent_wal_survives() {
    let images = variable("ETUI_CRASH_IMAGES_STOCK", 600) as usize;
    for synchronous in [Synchronous::Full, Synchronous::Normal] {
        random::survives(&persisting(Mistake::None), synchronous, Kind::All, images);
    }
}

#[test]
fn persistent_wal_survives_failing_calls() {
    let subject = persisting(Mistake::None);
    let images = Some(random::budget());
    let (tally, wrong) = faults::first_wrong(&subject, Synchronous::Full, images, false, 0..10, 40);
    println!("persistent WAL, failing calls: {tally:?}");
    assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
}

/// A mark must not become visible, even after a kill, unless the zeroed header is durable.
#[test]
fn no_mark_is_written_after_a_flush_that_failed() {
    let (subject, _) = persisting_and_counting(Mistake::None);
    for by_closing in [true, false] {
        let mut at = 0;
        loop {
            let disk = RecordingDisk::new();
            let mount = subject.rack.mount(&disk);
            let flags = OpenFlags::default();
            let path = mount.path("/db");
            let db =
                Connection::open_with_flags_and_vfs(path, flags, subject.vfs.as_str()).unwrap();
            db.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(v)")
                .unwrap();
            disk.fail(Some(InjectedFailure {
                at: disk.calls() + at,
                fault: FaultKind::Flush,
                lasting: true,
            }));
            if by_closing {
                drop(db);
            } else {
                let _ = db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
            }
            let files = disk.files();
            let log = files.get(Path::new("/db-wal"));
            let mark = log.is_some_and(|log| log.to_vec().starts_with(b"etuirest"));
            assert_eq!(mark, !disk.failed(), "{by_closing}, {at}");
            if mark {
                break;
            }
            at += 1;
        }
        assert!(at > 3);
    }
}

/// A header over a mark saves only its own flush, not that of a header which another connection
/// wrote after this one had failed.
#[test]
fn a_failed_header_saves_no_flush() {
    let (subject, counting) = persisting_and_counting(Mistake::None);
    let disk = RecordingDisk::new();
    let mount = subject.rack.mount(&disk);
    let path = mount.path("/db");
    let connect = || {
        let flags = OpenFlags::default();
        let db = Connection::open_with_flags_and_vfs(&path, flags, subject.vfs.as_str()).unwrap();
        db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
            .unwrap();
        db
    };
    let first = connect();
    first.execute_batch("CREATE TABLE t(v)").unwrap();
    first.close().unwrap();

    let insert = "INSERT INTO t VALUES (1)";
    let (first, second) = (connect(), connect());
    disk.fail(Some(InjectedFailure {
        at: disk.calls(),
        fault: FaultKind::Full,
        lasting: true,
    }));
    assert!(first.execute_batch(insert).is_err());
    assert!(disk.failed());
    disk.fail(None);
    let before = counting.counters();
    second.execute_batch(insert).unwrap();
    let flushed = |before| counting.counters().since(before).of(FileKind::Wal).syncs;
    assert_eq!(flushed(&before), 0);
    first.execute_batch("PRAGMA wal_checkpoint").unwrap();
    assert_eq!(flushed(&before), 1);
}

/// A mark implies that the zeroed header is durable.
#[test]
fn an_unflushed_zeroed_header_is_caught() {
    let most = variable("ETUI_CRASH_IMAGES_STOCK", 600) as usize * 10;
    let kind = (Synchronous::Full, Kind::All);
    let subject = persisting(Mistake::NoSyncOfVoid);
    let (tally, wrong) = random::hunt(&subject, kind, 1, most, Duration::ZERO);
    println!("{tally:?}: {wrong:?}");
    assert!(wrong.is_some());
}
