//! Helpers of the VFS's tests.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use etui_vfs::{Options, Vfs};
use rusqlite::{Connection, OpenFlags};

pub fn vfs() -> &'static Vfs {
    static VFS: OnceLock<Vfs> = OnceLock::new();
    VFS.get_or_init(|| etui_vfs::register("etui", Options::default()).unwrap())
}

pub fn open(path: &Path) -> Connection {
    let flags = OpenFlags::default();
    let db = Connection::open_with_flags_and_vfs(path, flags, vfs().name()).unwrap();
    db.busy_timeout(Duration::from_secs(10)).unwrap();
    db
}

pub fn plain(path: &Path) -> Connection {
    Connection::open(path).unwrap()
}

pub fn mode(db: &Connection, mode: &str) -> String {
    db.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |row| {
        row.get(0)
    })
    .unwrap()
}

pub fn wal(path: &Path) -> Connection {
    let db = open(path);
    assert_eq!(mode(&db, "WAL"), "wal");
    db.execute_batch("PRAGMA synchronous = FULL").unwrap();
    db
}

pub fn number(db: &Connection, sql: &str) -> i64 {
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

pub fn integrity(db: &Connection) {
    let answer: String = db
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(answer, "ok");
}

pub fn versions(path: &Path) -> (u8, u8) {
    let bytes = std::fs::read(path).unwrap();
    (bytes[18], bytes[19])
}

/// Copies the file and its log while they are open, as a killed process would leave them.
pub fn crash(path: &Path) -> PathBuf {
    let to = path.with_extension("crashed");
    std::fs::copy(path, &to).unwrap();
    let log = |path: &Path| format!("{}-redo", path.display());
    std::fs::copy(log(path), log(&to)).unwrap();
    to
}
