//! SQLite's own count of its memory, and the soft heap limit that needs it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use etui_vfs::shim::{FileKind, Shim, ShimOptions};
use rusqlite::{Connection, OpenFlags};

#[test]
fn the_soft_heap_limit_makes_pages_spill() {
    etui_vfs::memory_statistics(true).unwrap();
    let shim = Shim::register("limited", ShimOptions::default()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let flags = OpenFlags::default();
    let mut rewritten = Vec::new();
    for limit in [1 << 20, 64 << 20] {
        let path = dir.path().join(format!("db{limit}"));
        let db = Connection::open_with_flags_and_vfs(path, flags, shim.name()).unwrap();
        assert!(etui_vfs::memory_used() > 0);
        assert!(etui_vfs::memory_statistics(false).is_err());
        db.execute_batch(&format!(
            "PRAGMA cache_size = -100000; PRAGMA soft_heap_limit = {limit};
             CREATE TABLE t(k INTEGER PRIMARY KEY, v BLOB)"
        ))
        .unwrap();
        shim.reset();
        db.execute_batch(
            "BEGIN;
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
             INSERT INTO t SELECT i * 7919 % 10007, zeroblob(1000) FROM n;
             COMMIT",
        )
        .unwrap();
        rewritten.push(shim.counters().of(FileKind::Database).rewritten_pages);
    }
    assert!(rewritten[0] > 100 && rewritten[1] == 0, "{rewritten:?}");
}
