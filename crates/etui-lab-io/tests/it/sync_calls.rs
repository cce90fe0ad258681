//! The system call of a sync, observed by strace.

use std::process::Command;

use etui_lab_io::instrumented::{InstrumentedOptions, InstrumentedVfs, SyncCall};
use etui_testkit::own_process::ProgramOfTest;
use rusqlite::{Connection, OpenFlags};

/// The traced program: the test below runs it in a process of its own.
#[test]
fn traced() {
    let Ok(sync) = std::env::var("ETUI_LAB_IO_TRACED") else {
        return;
    };
    let sync = if sync == "fsync" {
        SyncCall::Fsync
    } else {
        SyncCall::Fdatasync
    };
    let vfs = InstrumentedVfs::register(
        "traced",
        InstrumentedOptions {
            sync,
            ..InstrumentedOptions::default()
        },
    )
    .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let flags = OpenFlags::default();
    let db = Connection::open_with_flags_and_vfs(&path, flags, vfs.name()).unwrap();
    db.execute_batch("PRAGMA journal_mode = DELETE; CREATE TABLE t(x)")
        .unwrap();
    // Opened again while the locks of the first one keep its descriptor open.
    let again = Connection::open_with_flags_and_vfs(&path, flags, vfs.name()).unwrap();
    db.execute_batch("BEGIN; SELECT * FROM t").unwrap();
    again
        .query_row("SELECT count(*) FROM t", [], |_| Ok(()))
        .unwrap();
    drop(again);
    let again = Connection::open_with_flags_and_vfs(&path, flags, vfs.name()).unwrap();
    db.execute_batch("COMMIT").unwrap();
    again.execute_batch("INSERT INTO t VALUES(1)").unwrap();
}

fn count(sync: &str) -> Option<(usize, usize)> {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let ran = Command::new("strace")
        .args(["-f", "-e", "trace=fsync,fdatasync", "-o"])
        .arg(&out)
        .arg(std::env::current_exe().unwrap())
        .args(ProgramOfTest::new(traced).arguments())
        .env("ETUI_LAB_IO_TRACED", sync)
        .output();
    let Ok(ran) = ran else {
        eprintln!("skipped: strace is not installed");
        return None;
    };
    let text = std::fs::read_to_string(&out).unwrap_or_default();
    if text.contains("PTRACE") || String::from_utf8_lossy(&ran.stderr).contains("PTRACE") {
        eprintln!("skipped: strace may not trace here");
        return None;
    }
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stdout)
    );
    Some((
        text.matches(" fsync(").count(),
        text.matches("fdatasync(").count(),
    ))
}

#[test]
fn fsync_is_really_called() {
    let (Some(data), Some(full)) = (count("fdatasync"), count("fsync")) else {
        return;
    };
    // Each of two transactions syncs the journal twice, the database, and the directory of the new
    // journal.
    assert_eq!(data, (0, 8));
    assert_eq!(full, (8, 0));
}
