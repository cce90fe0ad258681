//! A cold start reads the pages that it needs, and not all around them.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

/// Returns true if this process has the file mapped.
fn is_mapped(path: &Path) -> bool {
    let path = path.canonicalize().unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines()
        .any(|line| line.ends_with(path.to_str().unwrap()))
}

fn the_first_pages_are_read_and_later_ones_mapped(vfs: &str) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let connect = || {
        let flags = OpenFlags::default();
        let db = Connection::open_with_flags_and_vfs(&path, flags, vfs).unwrap();
        db.execute_batch("PRAGMA mmap_size = 100000000").unwrap();
        db
    };
    let number = |db: &Connection, sql| db.query_row(sql, [], |r| r.get::<_, i64>(0)).unwrap();
    let db = connect();
    db.execute_batch(
        "PRAGMA journal_mode = WAL;
         CREATE TABLE t(k INTEGER PRIMARY KEY, v);
         WITH n(k) AS (VALUES(1) UNION ALL SELECT k + 1 FROM n WHERE k < 400)
         INSERT INTO t SELECT k, zeroblob(3000) FROM n",
    )
    .unwrap();
    drop(db);

    let db = connect();
    let first = "SELECT sum(length(v)) FROM t WHERE k < 50";
    assert_eq!(number(&db, first), 49 * 3_000);
    assert!(!is_mapped(&path));
    assert_eq!(number(&db, "SELECT sum(length(v)) FROM t"), 400 * 3_000);
    assert!(is_mapped(&path));

    // Pages that were read are answered as before, and a change is seen in both.
    assert_eq!(number(&db, first), 49 * 3_000);
    let change = "UPDATE t SET v = zeroblob(k) WHERE k IN (7, 307)";
    connect().execute_batch(change).unwrap();
    let changed = "SELECT sum(length(v)) FROM t WHERE k IN (7, 307)";
    assert_eq!(number(&db, changed), 7 + 307);
}

#[test]
fn the_first_pages_are_read() {
    the_first_pages_are_read_and_later_ones_mapped(crate::common::vfs().name());
}
