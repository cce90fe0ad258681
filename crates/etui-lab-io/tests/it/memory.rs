//! SQLite's memory statistics, and the soft heap limit that requires them.

use etui_lab_io::instrumented::{FileKind, InstrumentedOptions, InstrumentedVfs};
use etui_lab_io::memory::{enable_memory_statistics, memory_used};
use etui_testkit::own_process::in_own_process;
use rusqlite::{Connection, OpenFlags};

#[test]
fn the_soft_heap_limit_makes_pages_spill() {
    // Both are of the process, and before its first database.
    if !in_own_process(the_soft_heap_limit_makes_pages_spill) {
        return;
    }
    enable_memory_statistics(true).unwrap();
    let vfs = InstrumentedVfs::register("limited", InstrumentedOptions::default()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let flags = OpenFlags::default();
    let mut rewritten = Vec::new();
    for limit in [1 << 20, 64 << 20] {
        let path = dir.path().join(format!("db{limit}"));
        let db = Connection::open_with_flags_and_vfs(path, flags, vfs.name()).unwrap();
        assert!(memory_used() > 0);
        assert!(enable_memory_statistics(false).is_err());
        db.execute_batch(&format!(
            "PRAGMA cache_size = -100000; PRAGMA soft_heap_limit = {limit};
             CREATE TABLE t(k INTEGER PRIMARY KEY, v BLOB)"
        ))
        .unwrap();
        vfs.reset_counters();
        db.execute_batch(
            "BEGIN;
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
             INSERT INTO t SELECT i * 7919 % 10007, zeroblob(1000) FROM n;
             COMMIT",
        )
        .unwrap();
        rewritten.push(vfs.counters().of(FileKind::Database).rewritten_pages);
    }
    assert!(rewritten[0] > 100 && rewritten[1] == 0, "{rewritten:?}");
}
