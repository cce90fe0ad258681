//! A connection that leaves WAL mode while the disk fails continues with the committed state.

use std::sync::Arc;

use etui_testkit::disk::{FaultKind, InjectedFailure, MountedDisks, RecordingDisk};
use etui_vfs::Options;
use rusqlite::{Connection, OpenFlags, Result};

fn count(db: &Connection) -> Result<i64> {
    db.query_row("SELECT count(*) FROM t", [], |row| row.get(0))
}

/// Each call of `PRAGMA journal_mode = DELETE` fails in turn, once.
fn leave(name: &str, locking: &str) {
    let rack = MountedDisks::new();
    let options = Options {
        idle: None,
        ..Options::default()
    };
    etui_vfs::register_with(name, options, Arc::new(rack.clone())).unwrap();
    let mut failed = 0;
    for at in 0.. {
        let disk = RecordingDisk::new();
        let mount = rack.mount(&disk);
        let open = || {
            let flags = OpenFlags::default();
            Connection::open_with_flags_and_vfs(mount.path("/db"), flags, name).unwrap()
        };
        let db = open();
        db.execute_batch(&format!(
            "PRAGMA locking_mode = {locking}; PRAGMA journal_mode = WAL; CREATE TABLE t(x);
             INSERT INTO t VALUES(1), (2);"
        ))
        .unwrap();
        let failure = InjectedFailure {
            at: disk.calls() + at,
            fault: FaultKind::Io,
            lasting: false,
        };
        disk.fail(Some(failure));
        let left = db.query_row("PRAGMA journal_mode = DELETE", [], |row| {
            row.get::<_, String>(0)
        });
        if !disk.failed() {
            break;
        }
        disk.fail(None);
        failed += 1;
        // It continues, or is refused until it is closed: it never reads another state.
        if let Ok(count) = count(&db) {
            assert_eq!(count, 2, "{at}: {left:?}");
        }
        let wrote = db.execute("INSERT INTO t VALUES(3)", []).is_ok();
        if wrote {
            assert_eq!(count(&db).unwrap(), 3, "{at}");
        }
        drop(db);
        assert_eq!(count(&open()).unwrap(), 2 + i64::from(wrote), "{at}");
    }
    assert!(failed > 5, "{failed}");
}

#[test]
fn with_a_lock_that_is_kept() {
    leave("leaving-exclusive", "EXCLUSIVE");
}

#[test]
fn with_locks_as_usual() {
    leave("leaving-normal", "NORMAL");
}

/// After a failure of the database file, but not of the log, it continues at once.
#[test]
fn a_flush_of_the_database_that_fails_is_made_good() {
    let rack = MountedDisks::new();
    let options = Options {
        idle: None,
        ..Options::default()
    };
    etui_vfs::register_with("leaving-flush", options, Arc::new(rack.clone())).unwrap();
    let mut gone_on = 0;
    for at in 0..40 {
        let disk = RecordingDisk::new();
        let mount = rack.mount(&disk);
        let flags = OpenFlags::default();
        let db = Connection::open_with_flags_and_vfs(mount.path("/db"), flags, "leaving-flush");
        let db = db.unwrap();
        db.execute_batch(
            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
             CREATE TABLE t(x); INSERT INTO t VALUES(1), (2);",
        )
        .unwrap();
        let failure = InjectedFailure {
            at: disk.calls() + at,
            fault: FaultKind::Flush,
            lasting: false,
        };
        disk.fail(Some(failure));
        let _ = db.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()));
        let events = disk.history().events;
        let last_failed = events.iter().rev().find_map(|event| match event {
            etui_testkit::disk::DiskEvent::Sync { file, ok: false } => Some(*file),
            _ => None,
        });
        // The first file created is the database.
        if last_failed == Some(0) {
            assert_eq!(count(&db).unwrap(), 2, "{at}");
            db.execute("INSERT INTO t VALUES(3)", []).unwrap();
            gone_on += 1;
        }
    }
    assert!(gone_on > 0);
}
