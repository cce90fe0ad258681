//! The log that is kept at rest between sessions: SQLite's own WAL under the shim's cure, over the
//! laboratory's disk.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use etui_testkit::disk::{Disk, Failure, Fault, Rack};
use etui_vfs::shim::{FileKind, KeptLog, Shim, ShimOptions};
use rusqlite::{Connection, OpenFlags};

use crate::check::Subject;
use crate::faults;
use crate::plain::{Mistake, register};
use crate::random::{self, Kind, variable};
use crate::steps::Synchronous;

/// The disk's files have no number of their own: a log that was copied or moved is told from its
/// like by tests on a real file system.
fn the_same(_: &Path) -> Option<(u64, u64)> {
    Some((1, 1))
}

fn kept(mistake: Mistake) -> Subject {
    kept_and_shim(mistake).0
}

/// The shim that keeps logs, over a device with a mistake. The plain VFS beside it has none.
fn kept_and_shim(mistake: Mistake) -> (Subject, Shim) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let rack = Rack::new();
    let name = |what: &str| format!("kept-{what}-{number}");
    let (vfs, below, plain) = (name("log"), name("below"), name("plain"));
    register(&below, Arc::new(rack.clone()), mistake);
    register(&plain, Arc::new(rack.clone()), Mistake::None);
    let options = ShimOptions {
        keep_log: Some(KeptLog {
            identity: the_same,
            ..KeptLog::of_at_most(1 << 13)
        }),
        ..ShimOptions::default()
    };
    let shim = Shim::register_above(&vfs, &below, options).unwrap();
    let subject = Subject {
        vfs,
        etui: None,
        plain,
        rack,
        close_is_promised: false,
        guarded: false,
        torn: None,
    };
    (subject, shim)
}

#[test]
fn a_kept_log_survives() {
    let images = variable("ETUI_CRASH_IMAGES_STOCK", 600) as usize;
    for synchronous in [Synchronous::Full, Synchronous::Normal] {
        random::survives(&kept(Mistake::None), synchronous, Kind::All, images);
    }
}

#[test]
fn a_kept_log_survives_failing_calls() {
    let subject = kept(Mistake::None);
    let images = Some(random::budget());
    let (tally, wrong) = faults::first_wrong(&subject, Synchronous::Full, images, false, 0..10, 40);
    println!("kept log, failing calls: {tally:?}");
    assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
}

/// A mark whose void header is not durable must not even be seen by who comes after a kill.
#[test]
fn no_mark_is_written_after_a_flush_that_failed() {
    let (subject, shim) = kept_and_shim(Mistake::None);
    for by_closing in [true, false] {
        let mut at = 0;
        loop {
            let disk = Disk::new();
            let mount = subject.rack.mount(&disk);
            let flags = OpenFlags::default();
            let path = mount.path("/db");
            let db = Connection::open_with_flags_and_vfs(path, flags, shim.name()).unwrap();
            db.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(v)")
                .unwrap();
            disk.fail(Some(Failure {
                at: disk.calls() + at,
                fault: Fault::Flush,
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

/// The flush that a header in the mark's place spares is its own, not one after a header that
/// another connection wrote because this one could not.
#[test]
fn a_header_that_was_not_written_spares_no_flush() {
    let (subject, shim) = kept_and_shim(Mistake::None);
    let disk = Disk::new();
    let mount = subject.rack.mount(&disk);
    let path = mount.path("/db");
    let connect = || {
        let flags = OpenFlags::default();
        let db = Connection::open_with_flags_and_vfs(&path, flags, shim.name()).unwrap();
        db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
            .unwrap();
        db
    };
    let first = connect();
    first.execute_batch("CREATE TABLE t(v)").unwrap();
    first.close().unwrap();

    let insert = "INSERT INTO t VALUES (1)";
    let (first, second) = (connect(), connect());
    disk.fail(Some(Failure {
        at: disk.calls(),
        fault: Fault::Full,
        lasting: true,
    }));
    assert!(first.execute_batch(insert).is_err());
    assert!(disk.failed());
    disk.fail(None);
    let before = shim.counters();
    second.execute_batch(insert).unwrap();
    let flushed = |before| shim.counters().since(before).of(FileKind::Wal).syncs;
    assert_eq!(flushed(&before), 0);
    first.execute_batch("PRAGMA wal_checkpoint").unwrap();
    assert_eq!(flushed(&before), 1);
}

/// The mark says that the header was made void for good.
#[test]
fn a_void_header_that_is_not_flushed_is_caught() {
    let most = variable("ETUI_CRASH_IMAGES_STOCK", 600) as usize * 10;
    let kind = (Synchronous::Full, Kind::All);
    let subject = kept(Mistake::NoSyncOfVoid);
    let (tally, wrong) = random::hunt(&subject, kind, 1, most, Duration::ZERO);
    println!("{tally:?}: {wrong:?}");
    assert!(wrong.is_some());
}
