//! A disk with little space left: the log takes what there is, and gives back what it cannot use.

use std::collections::BTreeMap;
use std::io::{
    self,
    ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull},
};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use etui_testkit::disk::{MountedDisks, RecordingDisk};
use etui_vfs::device::{Access, File, Lock, Platform, Role};
use etui_vfs::{Options, Vfs};
use rusqlite::{Connection, OpenFlags};

/// A disk with this number of bytes left, and its error without any.
#[derive(Debug)]
struct SmallDisk {
    disks: MountedDisks,
    refusal: io::ErrorKind,
    left: Arc<AtomicU64>,
}

impl Platform for SmallDisk {
    fn open(&self, path: Option<&Path>, role: Role, access: Access) -> io::Result<Box<dyn File>> {
        Ok(Box::new(SmallFile {
            file: self.disks.open(path, role, access)?,
            refusal: self.refusal,
            left: Arc::clone(&self.left),
        }))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.disks.exists(path)
    }

    fn remove(&self, path: &Path, durably: bool) -> io::Result<()> {
        self.disks.remove(path, durably)
    }

    fn sync_directory_of(&self, path: &Path) -> io::Result<()> {
        self.disks.sync_directory_of(path)
    }
}

#[derive(Debug)]
struct SmallFile {
    file: Box<dyn File>,
    refusal: io::ErrorKind,
    left: Arc<AtomicU64>,
}

impl SmallFile {
    /// Takes the space to grow to this length. Returns the length that there is space for.
    fn grow(&self, len: u64) -> io::Result<u64> {
        let now = self.file.len()?;
        let wanted = len.saturating_sub(now);
        let taken = wanted.min(self.left.load(Ordering::Relaxed));
        self.left.fetch_sub(taken, Ordering::Relaxed);
        Ok(len.min(now + taken).max(now.min(len)))
    }
}

impl File for SmallFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let end = offset + bytes.len() as u64;
        let room = self.grow(end)?.saturating_sub(offset) as usize;
        self.file
            .write_at(&bytes[..room.min(bytes.len())], offset)?;
        match room < bytes.len() {
            true => Err(self.refusal.into()),
            false => Ok(()),
        }
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        if self.grow(len)? < len {
            return Err(self.refusal.into());
        }
        let freed = self.file.len()?.saturating_sub(len);
        self.left.fetch_add(freed, Ordering::Relaxed);
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn lock(&self, lock: Lock) -> io::Result<bool> {
        self.file.lock(lock)
    }
}

/// The registered VFSs, by name.
static VFS: Mutex<BTreeMap<String, Vfs>> = Mutex::new(BTreeMap::new());

/// Creates a database of 100 rows, then leaves this number of bytes on the disk.
fn with_left(
    vfs: &str,
    left: u64,
    refusal: io::ErrorKind,
) -> (Connection, RecordingDisk, Arc<AtomicU64>) {
    let disks = MountedDisks::new();
    let disk = RecordingDisk::new();
    let mount = disks.mount(&disk);
    let path = mount.path("/db");
    // The mount lives as long as the test.
    std::mem::forget(mount);
    let space = Arc::new(AtomicU64::new(u64::MAX / 2));
    let platform = SmallDisk {
        disks,
        refusal,
        left: Arc::clone(&space),
    };
    let registered = etui_vfs::register_with(vfs, Options::default(), Arc::new(platform)).unwrap();
    VFS.lock().unwrap().insert(vfs.to_owned(), registered);
    let db = Connection::open_with_flags_and_vfs(path, OpenFlags::default(), vfs).unwrap();
    db.execute_batch(
        "PRAGMA journal_mode = DELETE; CREATE TABLE t(k INTEGER PRIMARY KEY, v);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
         INSERT INTO t SELECT i, randomblob(1000) FROM n",
    )
    .unwrap();
    space.store(left, Ordering::Relaxed);
    db.execute_batch("PRAGMA synchronous = FULL").unwrap();
    (db, disk, space)
}

fn log_len(disk: &RecordingDisk) -> u64 {
    let files = disk.files();
    files
        .get(Path::new("/db-redo"))
        .map_or(0, |log| log.to_vec().len() as u64)
}

#[test]
fn commits_succeed_with_less_space_than_the_log_rests_at() {
    for (name, left) in [
        ("full-2m", 2 << 20),
        ("full-300k", 300 << 10),
        ("full-100k", 100 << 10),
    ] {
        let (db, disk, space) = with_left(name, left, StorageFull);
        db.execute_batch("PRAGMA journal_mode = WAL").unwrap();
        db.execute("INSERT INTO t VALUES(1000, randomblob(3000))", [])
            .unwrap();
        db.execute("DELETE FROM t WHERE k < 10", []).unwrap();
        for k in 2000..2010 {
            db.execute("INSERT INTO t VALUES(?1, 1)", [k]).unwrap();
        }
        // The log leaves space for the database.
        assert!(log_len(&disk) <= left / 4 * 3, "{name}: {}", log_len(&disk));
        assert!(space.load(Ordering::Relaxed) >= left / 8, "{name}");
        drop(db);
    }
}

/// Without space for the smallest log a commit fails, and the log takes nothing.
#[test]
fn a_log_that_cannot_be_made_takes_no_space() {
    let (db, disk, space) = with_left("full-8k", 8 << 10, StorageFull);
    let failed = db
        .execute_batch("PRAGMA journal_mode = WAL; INSERT INTO t VALUES(1000, 1)")
        .unwrap_err();
    assert_eq!(
        failed.sqlite_error_code(),
        Some(rusqlite::ErrorCode::DiskFull)
    );
    assert_eq!(log_len(&disk), 0);
    // Space was freed: the next commit succeeds.
    space.fetch_add(1 << 20, Ordering::Relaxed);
    db.execute("INSERT INTO t VALUES(1000, 1)", []).unwrap();
}

/// A log that outgrew its resting size takes the last blocks singly, and gives back a part of a
/// record that does not fit.
#[test]
fn a_growing_log_uses_the_last_blocks() {
    let (db, disk, space) = with_left("full-growing", 5 << 20, StorageFull);
    db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
        .unwrap();
    // The database keeps this size.
    db.execute_batch(
        "INSERT INTO t VALUES(1000, 1); UPDATE t SET v = randomblob(1000);
         PRAGMA wal_checkpoint(TRUNCATE)",
    )
    .unwrap();
    let resting = log_len(&disk);
    while log_len(&disk) == resting {
        db.execute("UPDATE t SET v = randomblob(1000)", []).unwrap();
    }
    // Less than a step of growth.
    space.store(40 << 10, Ordering::Relaxed);
    let mut committed = 0;
    let failed = loop {
        match db.execute("UPDATE t SET v = randomblob(20) WHERE k = 1", []) {
            Ok(_) => committed += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(
        failed.sqlite_error_code(),
        Some(rusqlite::ErrorCode::DiskFull)
    );
    assert_eq!(
        space.load(Ordering::Relaxed),
        0,
        "after {committed} commits"
    );
    // A checkpoint writes into the database, which needs little, and frees the log.
    let freed = db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
    assert_eq!(freed, Ok(()), "{:?}", etui_vfs::last_refusal());
    db.execute("UPDATE t SET v = 1 WHERE k = 1", []).unwrap();
}

/// A checkpoint that finds no space, or a quota or a limit of sizes, is made later: commits go on, and so
/// does the checkpoint when there is space again.
#[test]
fn a_checkpoint_without_space_is_made_later() {
    for (idle, refusal) in [
        (false, StorageFull),
        (true, StorageFull),
        (false, QuotaExceeded),
        (true, QuotaExceeded),
        (false, FileTooLarge),
        (true, FileTooLarge),
    ] {
        let name = format!("full-checkpoint-{idle}-{refusal:?}");
        let (db, _, space) = with_left(&name, u64::MAX / 2, refusal);
        db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
            .unwrap();
        for k in 1000..1100 {
            db.execute("INSERT INTO t VALUES(?1, randomblob(2000))", [k])
                .unwrap();
        }
        space.store(0, Ordering::Relaxed);
        if idle {
            VFS.lock().unwrap()[&name].checkpoint_idle();
        } else {
            let full = db.execute_batch("PRAGMA wal_checkpoint").unwrap_err();
            let code = full.sqlite_error_code();
            assert_eq!(code, Some(rusqlite::ErrorCode::DiskFull), "{full}");
        }
        // The log has room for these.
        for k in 2000..2010 {
            db.execute("INSERT INTO t VALUES(?1, 1)", [k]).unwrap();
        }
        space.store(1 << 20, Ordering::Relaxed);
        for k in 3000..3040 {
            db.execute("INSERT INTO t VALUES(?1, 1)", [k]).unwrap();
        }
        let count = "SELECT count(*) FROM t";
        let rows = db.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(rows, 250);
        let done = db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
        assert_eq!(done, Ok(()), "{:?}", etui_vfs::last_refusal());
        let answer: String = db
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(answer, "ok");
    }
}
