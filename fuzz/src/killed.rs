//! Databases with their logs, as left by killed processes, and the check of opening one.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use etui_testkit::disk::{DiskFiles, DiskMount, FileContent, MountedDisks, RecordingDisk};
use etui_vfs::{Options, Vfs};
use rusqlite::{Connection, OpenFlags};

use crate::reference::{
    BLOCK, Outcome, Pages, RECORDS, decompressed, guard, hash, is_torn, opened, seed, u32_at,
    u64_at,
};

/// A fixed lineage, for reproducible runs.
const LINEAGE: [u8; 16] = *b"lineage of tests";

/// A database and its log.
#[derive(Debug, Clone)]
pub struct Killed {
    pub database: Vec<u8>,
    pub log: Vec<u8>,
    /// The closed database after none, one, ... of the log's records.
    pub states: Vec<Vec<u8>>,
}

fn rack() -> &'static (MountedDisks, Vfs) {
    static RACK: OnceLock<(MountedDisks, Vfs)> = OnceLock::new();
    RACK.get_or_init(|| {
        let rack = MountedDisks::new();
        let options = Options {
            log_size: 4 * BLOCK as u64,
            growth_step: BLOCK as u64,
            // Less than the larger databases need.
            wal_memory: 16 << 10,
            idle: None,
            ..Options::default()
        };
        let vfs = etui_vfs::register_with("fuzzed", options, Arc::new(rack.clone()));
        (rack, vfs.expect("a name that is not taken"))
    })
}

fn connect(mount: &DiskMount) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    Connection::open_with_flags_and_vfs(mount.path("/db"), flags, rack().1.name())
}

fn bytes_of(disk: &RecordingDisk, path: &str) -> Option<Vec<u8>> {
    disk.files().get(Path::new(path)).map(FileContent::to_vec)
}

/// Returns databases of several page sizes: small commits, one that grows, one that shrinks, one with a
/// record of many blocks.
pub fn killed() -> &'static [Killed; 3] {
    static ALL: OnceLock<[Killed; 3]> = OnceLock::new();
    ALL.get_or_init(|| {
        [
            (512, "NONE", "UPDATE t SET x = x || 'a' WHERE n < 3"),
            (1024, "FULL", "DELETE FROM t WHERE n > 2"),
            (
                4096,
                "NONE",
                "INSERT INTO t SELECT n + 100, x || n || x FROM t",
            ),
        ]
        .map(|(page_size, vacuum, last)| make(page_size, vacuum, last).expect("it is made"))
    })
}

fn make(page_size: u32, vacuum: &str, last: &str) -> rusqlite::Result<Killed> {
    let disk = RecordingDisk::new();
    let mount = rack().0.mount(&disk);
    let db = connect(&mount)?;
    db.execute_batch(&format!(
        "PRAGMA page_size = {page_size}; PRAGMA auto_vacuum = {vacuum};
         CREATE TABLE t(n INTEGER PRIMARY KEY, x); INSERT INTO t VALUES(0, 'begin');
         PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = FULL;
         INSERT INTO t VALUES(1, 'one');
         CREATE INDEX i ON t(x);
         WITH RECURSIVE some(n) AS (VALUES(2) UNION ALL SELECT n + 1 FROM some WHERE n < 12)
           INSERT INTO t SELECT n, hex(n * n) || replace(hex(zeroblob(300)), '00', n) FROM some;
         {last};"
    ))?;
    let database = bytes_of(&disk, "/db").expect("there");
    let log = bytes_of(&disk, "/db-redo").expect("there");
    Ok(Killed::new(database, log))
}

impl Killed {
    fn new(mut database: Vec<u8>, mut log: Vec<u8>) -> Self {
        assert!(guard(&database).is_some());
        database[72..88].copy_from_slice(&LINEAGE);
        for slot in [0, BLOCK] {
            log[slot + 24..slot + 40].copy_from_slice(&LINEAGE);
            log[slot + 56..slot + 60].fill(0);
        }
        seal_headers(&mut log);
        seal_records(&mut log, &database, false);
        let ends = records(&log).into_iter().map(|(_, next)| next);
        let cuts = std::iter::once(RECORDS).chain(ends);
        let states: Vec<_> = cuts
            .map(|cut| {
                let mut cut_off = log.clone();
                cut_off[cut..].fill(0);
                match opened(&database, Some(&cut_off)) {
                    Outcome::Is(state) => state,
                    outcome => panic!("a log of commits: {outcome:?}"),
                }
            })
            .collect();
        assert!(states.len() >= 4, "{} states", states.len());
        let all = Self {
            database,
            log,
            states,
        };
        for (n, state) in all.states.iter().enumerate() {
            assert!(is_sound(state), "state {n}");
        }
        all
    }

    /// Returns the database after an interrupted checkpoint that wrote these pages.
    pub fn half_checkpointed(&self, which: u64) -> Vec<u8> {
        let page = match u32::from_be_bytes([0, 0, self.database[16], self.database[17]]) {
            1 => 65536,
            page => page as usize,
        };
        let last = self.states.last().expect("there is one");
        let mut database = self.database.clone();
        for (n, from) in last.chunks(page).enumerate().skip(1) {
            if which >> (n % 64) & 1 == 1 {
                let begin = n * page;
                database.resize(database.len().max(begin + page), 0);
                database[begin..begin + page].copy_from_slice(from);
            }
        }
        database
    }
}

/// Returns true if SQLite's integrity check passes.
fn is_sound(database: &[u8]) -> bool {
    let (disk, _) = disk_of(&[("/db", Some(database))]);
    let mount = rack().0.mount(&disk);
    let db = connect(&mount).expect("a database");
    let told = db.query_row("PRAGMA integrity_check", [], |row| row.get(0));
    told == Ok("ok".to_owned())
}

fn disk_of(files: &[(&str, Option<&[u8]>)]) -> (RecordingDisk, DiskFiles) {
    let mut all = DiskFiles::default();
    for (id, (name, bytes)) in files.iter().enumerate() {
        if let Some(bytes) = bytes {
            let mut content = FileContent::default();
            content.write_at(bytes, 0);
            all.contents.insert(id as u32, content);
            all.names.insert(name.into(), id as u32);
        }
    }
    (RecordingDisk::from_files(all.clone()), all)
}

/// Returns start and end of each record of the current log, judged by
/// the record headers alone.
fn records(log: &[u8]) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    let mut at = RECORDS;
    while let Some(head) = log.get(at..at + 64)
        && (head.starts_with(b"eRec") || head.starts_with(b"eLz4"))
        && let Ok(payload) = usize::try_from(u64_at(head, 32))
        && let Some(end) = (at + 64).checked_add(payload)
        && end <= log.len()
    {
        let next = end.next_multiple_of(BLOCK);
        all.push((at, next));
        at = next;
    }
    all
}

/// Corrects the hashes of both headers.
pub fn seal_headers(log: &mut [u8]) {
    for slot in [0, BLOCK] {
        if log.len() >= slot + 72 {
            let (lineage, epoch) = (
                log[slot + 24..slot + 40].try_into().expect("16 bytes"),
                u64_at(log, slot + 16),
            );
            let seed = seed(lineage, epoch);
            log[slot + 48..slot + 56].copy_from_slice(&seed.to_le_bytes());
            let sealed = hash(&log[slot..slot + 64]);
            log[slot + 64..slot + 72].copy_from_slice(&sealed.to_le_bytes());
        }
    }
}

/// Corrects the records' predecessors and payload hashes; with `pages` also
/// the hashes of the resulting pages.
pub fn seal_records(log: &mut [u8], database: &[u8], pages: bool) {
    if log.len() < RECORDS {
        return;
    }
    let slot = match u64_at(log, 16) >= u64_at(log, BLOCK + 16) {
        true => 0,
        false => BLOCK,
    };
    let lineage = log[slot + 24..slot + 40].try_into().expect("16 bytes");
    let page_size = u32_at(log, slot + 40) as usize;
    let mut predecessor = seed(lineage, u64_at(log, slot + 16));
    let mut images = Pages::default();
    for (at, _) in records(log) {
        let end = at + 64 + u64_at(log, at + 32) as usize;
        if pages && (512..=65536).contains(&page_size) {
            let mut hashes = Vec::new();
            let note = |at, hash| hashes.push((at, hash));
            let number = u32_at(log, at + 4);
            let compressed = log[at..].starts_with(b"eLz4");
            let payload = match compressed {
                true => decompressed(&log[at + 64..end]).unwrap_or_default(),
                false => log[at + 64..end].to_vec(),
            };
            let _ = images.apply(&payload, number, page_size, database, note);
            // Compressed ones stay unchanged.
            for (within, hash) in hashes.into_iter().filter(|_| !compressed) {
                let begin = at + 64 + within;
                log[begin..begin + 8].copy_from_slice(&u64::to_le_bytes(hash));
            }
        }
        log[at + 24..at + 32].copy_from_slice(&predecessor.to_le_bytes());
        let payload = hash(&log[at + 64..end]);
        log[at + 48..at + 56].copy_from_slice(&payload.to_le_bytes());
        predecessor = hash(&log[at..at + 56]);
        log[at + 56..at + 64].copy_from_slice(&predecessor.to_le_bytes());
    }
}

/// Opens a database, reads it and closes it, asserts the result that the format defines,
/// and returns it.
pub fn check(database: &[u8], log: Option<&[u8]>, journal: bool, wal: bool) -> Outcome {
    let guarded = guard(database).is_some();
    let journal = (journal && guarded).then_some(&b"of before the guard"[..]);
    // A torn header marker is cleared before SQLite recovers a WAL, which this disk cannot do.
    let wal = wal && !is_torn(database);
    let expected = match opened(database, log) {
        // A foreign WAL, or one that a platform without SQLite cannot recover.
        Outcome::Is(_) if wal => Outcome::Refused,
        outcome => outcome,
    };
    if expected == Outcome::TooMuch {
        return expected;
    }
    let wal = wal.then_some(&b"a WAL"[..]);
    let (disk, before) = disk_of(&[
        ("/db", Some(database)),
        ("/db-redo", log),
        ("/db-journal", journal),
        ("/db-wal", wal),
    ]);
    let mount = rack().0.mount(&disk);
    // Twice: the second time there is no work, or it is refused again.
    for _ in 0..2 {
        let read = connect(&mount).and_then(|db| {
            db.busy_timeout(std::time::Duration::ZERO)?;
            db.query_row("PRAGMA schema_version", [], |row| row.get::<_, i64>(0))
        });
        match &expected {
            Outcome::Is(bytes) => {
                let now = bytes_of(&disk, "/db").expect("it is not deleted");
                assert!(now == *bytes, "it is not what the log says ({read:?})");
                let left = bytes_of(&disk, "/db-journal");
                assert!(left.is_none(), "a journal of before the guard is left");
            }
            _ => {
                assert!(read.is_err(), "it is opened");
                assert_eq!(disk.files().hash(), before.hash(), "refused, but changed");
            }
        }
    }
    expected
}
