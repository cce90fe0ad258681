//! [`copy_database`]: a consistent copy of a database that its program may have open. The original is
//! only read.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::Error;

/// Bytes of the header of a database (<https://sqlite.org/fileformat2.html>).
const HEADER: usize = 100;
const MAGIC: &[u8] = b"SQLite format 3\0";
/// The read and write versions of a database with commits in the log of etui's VFS only.
const REDO_MARK: u8 = 0xe7;

/// The facts in the header of a database file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatabaseHeader {
    pub page_size: u32,
    pub wal: bool,
    /// The version of the SQLite that wrote it last, e.g. 3040001; 0 if unknown.
    pub writer: u32,
}

/// Reads the header of a database. None if the file is empty, which is an empty database.
pub fn read_header(path: &Path) -> Result<Option<DatabaseHeader>, Error> {
    let metadata = fs::metadata(path).map_err(|e| Error::file(path, e))?;
    let other = |words: &str| Err(Error::other(format!("{}: {words}", path.display())));
    if !metadata.is_file() {
        return other("not a file; give the path of a SQLite database");
    }
    let mut bytes = Vec::with_capacity(HEADER);
    let file = File::open(path).map_err(|e| Error::file(path, e))?;
    let read = file.take(HEADER as u64).read_to_end(&mut bytes);
    read.map_err(|e| Error::file(path, e))?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let number =
        |at: usize| u32::from_be_bytes([byte(at), byte(at + 1), byte(at + 2), byte(at + 3)]);
    if bytes.len() < HEADER || !bytes.starts_with(MAGIC) {
        return other("not a SQLite database, or an encrypted one");
    }
    if byte(18) == REDO_MARK || byte(19) == REDO_MARK {
        return other(
            "its latest commits are in the log of etui's VFS: close the program that has it open, \
             or run `etui recover` on it, and try again",
        );
    }
    let page_size = match u32::from(u16::from_be_bytes([byte(16), byte(17)])) {
        1 => 65_536,
        size if size.is_power_of_two() && size >= 512 => size,
        size => {
            return other(&format!(
                "damaged: a page size of {size} bytes. {WHEN_DAMAGED}"
            ));
        }
    };
    Ok(Some(DatabaseHeader {
        page_size,
        wal: byte(18) == 2 || byte(19) == 2,
        writer: number(96),
    }))
}

/// Returns the path of a file beside a database: `-wal`, `-shm`, `-journal`.
pub fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Copies a database, with the transactions in its WAL.
pub fn copy_database(source: &Path, target: &Path) -> Result<(), Error> {
    let Some(header) = read_header(source)? else {
        File::create(target).map_err(|e| Error::file(target, e))?;
        return Ok(());
    };
    let exists = |suffix| fs::metadata(beside(source, suffix)).is_ok_and(|file| file.len() > 0);
    // Opening such a database would create its wal-index, or roll a transaction back.
    let needs_recovery = match header.wal {
        true => !exists("-shm"),
        false => exists("-journal"),
    };
    if needs_recovery {
        copy_files(source, target)?;
    } else {
        back_up(source, target)?;
    }
    recover_copy(target).map_err(|error| sqlite_error(source, error))
}

/// Copies by SQLite's backup, which reads like any other reader.
fn back_up(source: &Path, target: &Path) -> Result<(), Error> {
    let failed = |error| sqlite_error(source, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let from = Connection::open_with_flags(source, flags).map_err(failed)?;
    let mut to = Connection::open(target).map_err(|e| sqlite_error(target, e))?;
    let backup = Backup::new(&from, &mut to).map_err(failed)?;
    // All pages at once: a writer that came between two steps would start it again. A database that
    // is locked is waited for.
    for _ in 0..LOCK_ATTEMPTS {
        match backup.step(-1).map_err(failed)? {
            StepResult::Done => return Ok(()),
            _ => std::thread::sleep(LOCK_PAUSE),
        }
    }
    Err(locked(source))
}

const LOCK_ATTEMPTS: u32 = 50;
const LOCK_PAUSE: Duration = Duration::from_millis(100);

fn locked(path: &Path) -> Error {
    Error::other(format!(
        "{}: another program has locked it; close that program, or give a copy of the database",
        path.display()
    ))
}

/// Advice on a damaged database.
pub const WHEN_DAMAGED: &str =
    "Keep the file, and restore a backup; `sqlite3 DB .recover` saves what can be read";

/// Returns an error of SQLite in words, with the database that it is about.
pub fn sqlite_error(path: &Path, error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => locked(path),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Error::other(format!(
            "{}: damaged: {error}. {WHEN_DAMAGED}",
            path.display()
        )),
        _ => Error::other(format!("{}: {error}", path.display())),
    }
}

/// Copies the files while they are locked as by a reader.
fn copy_files(source: &Path, target: &Path) -> Result<(), Error> {
    let file = File::open(source).map_err(|e| Error::file(source, e))?;
    let locked = (0..LOCK_ATTEMPTS).any(|attempt| {
        if attempt > 0 {
            std::thread::sleep(LOCK_PAUSE);
        }
        lock_shared(&file)
    });
    if !locked {
        return Err(self::locked(source));
    }
    for suffix in ["", "-wal", "-journal"] {
        let (from, to) = (beside(source, suffix), beside(target, suffix));
        match fs::copy(&from, &to) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !suffix.is_empty() => {}
            done => {
                done.map_err(|e| Error::file(&from, e))?;
            }
        }
    }
    // The lock is released with the file.
    drop(file);
    Ok(())
}

/// SQLite's bytes for readers (os.h, `SHARED_FIRST`, `SHARED_SIZE`).
const SHARED_FIRST: i64 = 0x4000_0002;
const SHARED_SIZE: i64 = 510;

/// Takes the lock of a reader. It belongs to the open file, so nothing else in this process
/// releases it.
fn lock_shared(file: &File) -> bool {
    let lock = libc::flock {
        l_type: libc::F_RDLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: SHARED_FIRST,
        l_len: SHARED_SIZE,
        l_pid: 0,
    };
    fcntl(file, FcntlArg::F_OFD_SETLK(&lock)).is_ok()
}

/// Opens the copy once: its WAL or journal becomes part of it.
fn recover_copy(path: &Path) -> rusqlite::Result<()> {
    let copy = Connection::open(path)?;
    copy.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    copy.close().map_err(|(_, error)| error)
}
