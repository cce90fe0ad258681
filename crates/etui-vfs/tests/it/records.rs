//! The records that an observer of commits receives, and the recovery from their bytes.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use etui_redo::recovery::{PageImages, recover};
use etui_vfs::{CommitObserver, Options};
use rusqlite::{Connection, OpenFlags};

use crate::common::{integrity, mode, number, plain};

#[derive(Debug, Default)]
struct Kept(Mutex<Vec<Vec<u8>>>);

impl CommitObserver for Kept {
    fn committed(&self, _database: &Path, record: io::Result<&[u8]>) {
        self.0.lock().unwrap().push(record.unwrap().to_vec());
    }
}

impl Kept {
    fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

/// A database as pages.
#[derive(Default, Clone)]
struct Pages(BTreeMap<u32, Vec<u8>>);

impl Pages {
    fn of(path: &Path, size: usize) -> Self {
        let bytes = std::fs::read(path).unwrap();
        let pages = bytes.chunks(size).map(<[u8]>::to_vec);
        Self((1..).zip(pages).collect())
    }

    /// Applies the records, and writes the database to a file of its own.
    fn recovered(mut self, size: usize, records: &[Vec<u8>], to: &Path) -> Connection {
        let done = recover(size, records.iter().map(Vec::as_slice), &mut self).unwrap();
        let mut bytes = Vec::new();
        for number in 1..=done.database_pages {
            bytes.extend_from_slice(&self.0[&number]);
        }
        std::fs::write(to, bytes).unwrap();
        let db = plain(to);
        integrity(&db);
        db
    }
}

impl PageImages for Pages {
    type Error = Infallible;

    fn read(&mut self, number: u32, to: &mut [u8]) -> Result<(), Infallible> {
        match self.0.get(&number) {
            Some(page) => to.copy_from_slice(page),
            None => to.fill(0),
        }
        Ok(())
    }

    fn replace(&mut self, number: u32, page: &[u8]) -> Result<(), Infallible> {
        self.0.insert(number, page.to_vec());
        Ok(())
    }
}

/// A database on a VFS of its own, whose records are kept.
fn observed(name: &str, path: &Path) -> (Connection, Arc<Kept>) {
    let vfs = etui_vfs::register(name, Options::default()).unwrap();
    let kept = Arc::new(Kept::default());
    assert!(vfs.observe(kept.clone()));
    assert!(!vfs.observe(kept.clone()), "there is one observer");
    let db = Connection::open_with_flags_and_vfs(path, OpenFlags::default(), name).unwrap();
    (db, kept)
}

/// Inserts a number of rows.
const INSERT: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
    INSERT INTO item (text) SELECT hex(randomblob(200)) FROM n";

/// The sum of all rows: equal in two databases only if no commit is missing.
const SUM: &str = "SELECT coalesce(sum(id * length(text) + unicode(text)), 0) FROM item";

#[test]
fn records_recover_each_state_of_a_database() {
    let dir = tempfile::tempdir().unwrap();
    let (path, copy) = (dir.path().join("db"), dir.path().join("copy"));
    let (db, kept) = observed("observed-states", &path);
    db.execute_batch("PRAGMA page_size = 1024; CREATE TABLE item (id INTEGER PRIMARY KEY, text)")
        .unwrap();
    let begin = Pages::of(&path, 1024);
    assert_eq!(mode(&db, "WAL"), "wal");
    let mut states = Vec::new();
    for round in 0..12_i64 {
        match round {
            // Larger than a part of the log, so that no record of it is ever in memory; elsewhere it would be
            // appended in place.
            4 => db.execute(INSERT, [6_000]),
            5 => db.execute("DELETE FROM item WHERE id % 3 > 0", []),
            7 => db.execute_batch("VACUUM").map(|()| 0),
            8 => {
                db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
                db.execute(INSERT, [2])
            }
            9 => {
                // A rollback has no record.
                let had = kept.len();
                db.execute_batch("BEGIN; DELETE FROM item; ROLLBACK")
                    .unwrap();
                assert_eq!(kept.len(), had);
                db.execute("UPDATE item SET text = upper(text) WHERE id < 40", [])
            }
            _ => db.execute(INSERT, [round * 3 + 1]),
        }
        .unwrap();
        states.push((kept.len(), number(&db, SUM)));
    }
    let records = kept.0.lock().unwrap().clone();
    assert!(records.iter().any(|record| record.len() > 1 << 20));
    for (taken, sum) in states {
        let copied = begin.clone().recovered(1024, &records[..taken], &copy);
        assert_eq!(number(&copied, SUM), sum, "after {taken} records");
    }
    drop(db);
    // The closed file differs only in the counters of its header.
    let mut pages = begin;
    recover(1024, records.iter().map(Vec::as_slice), &mut pages).unwrap();
    let closed = Pages::of(&path, 1024);
    for (number, page) in closed.0.iter().skip(1) {
        assert!(pages.0[number] == *page, "page {number}");
    }
}

#[test]
fn several_connections_give_one_order() {
    let dir = tempfile::tempdir().unwrap();
    let (path, copy) = (dir.path().join("db"), dir.path().join("copy"));
    let (db, kept) = observed("observed-threads", &path);
    db.execute_batch("CREATE TABLE item (id INTEGER PRIMARY KEY, text)")
        .unwrap();
    let begin = Pages::of(&path, 4096);
    assert_eq!(mode(&db, "WAL"), "wal");
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let path = &path;
            scope.spawn(move || {
                let flags = OpenFlags::default();
                let db = Connection::open_with_flags_and_vfs(path, flags, "observed-threads");
                let db = db.unwrap();
                db.busy_timeout(std::time::Duration::from_secs(600))
                    .unwrap();
                for n in 0..40 {
                    let text = format!("{writer} {n}").repeat(20);
                    db.execute("INSERT INTO item (text) VALUES (?1)", [text])
                        .unwrap();
                }
            });
        }
    });
    let records = kept.0.lock().unwrap().clone();
    let copied = begin.recovered(4096, &records, &copy);
    assert_eq!(number(&copied, "SELECT count(*) FROM item"), 160);
    assert_eq!(number(&copied, SUM), number(&db, SUM));
}
