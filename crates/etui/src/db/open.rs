//! Opening: the file, its kind, its settings; creating and migrating it.

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{Mode, OFlags};

use super::pool::{self, PoolOptions, set_cache};
use super::schema;
use super::vfs::Vfs;
use crate::error::{Error, Result};

/// How the file may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenMode {
    /// Read and write; created when it is not there, if `create`.
    ReadWrite,
    /// Read; a live WAL of other programs is seen. The file itself may be writable: only a
    /// connection that may write removes the WAL files that reading brings along.
    ReadOnly,
    /// Read a file that cannot be written.
    ReadOnlyFile,
    /// Read from a medium that nobody can write to (no locks, no WAL).
    Immutable,
}

/// Bytes of the shortest database: the least page size.
const HEADER: u64 = 512;
/// The WAL's resting size: larger ones are truncated to it when they start over.
const WAL_RESTS_AT: u32 = 8 << 20;
/// The commit that brings the WAL to so many pages brings them to the file.
pub(super) const CHECKPOINT_PAGES: i64 = 1_000;
/// The same while that is put off: as many as a resting WAL has room for, so that whoever closes the
/// store last brings at most so much to the file.
pub(super) const DEFERRED_CHECKPOINT_PAGES: i64 = 2_000;
/// Bytes of the file that are read through a memory map (shared between processes, no copy).
const MAPPED: i64 = 1 << 30;
/// Prepared statements kept by a connection; all of this library's fit.
const STATEMENTS: usize = 96;

/// Opens the file, creating or migrating the store when it is opened to write; `found` writes what
/// one begins with that has nothing yet. The schema is read here, where the marks are seen: each read transaction
/// costs system calls, and a damaged one is told of now, not by whoever comes first.
pub(super) fn open(
    path: &Path,
    mode: OpenMode,
    settings: &PoolOptions,
    found: impl FnOnce(&Connection) -> Result<()>,
) -> Result<(Connection, OpenMode)> {
    let cache = pool::reader_share(settings.memory_budget);
    match std::fs::metadata(path) {
        Err(_) if mode == OpenMode::ReadWrite => {
            refuse_stray_log(path)?;
            create_file(path)?;
        }
        // SQLite takes a file shorter than its header for an empty one, and a device for a file.
        Ok(m) if !m.is_file() || (1..HEADER).contains(&m.len()) => {
            return Err(Error::NotADatabase {
                path: path.to_owned(),
            });
        }
        _ => {}
    }
    let (connection, mode) = match mode {
        OpenMode::ReadWrite => (connect_only(path, mode, settings)?, mode),
        _ if !path.exists() => {
            return Err(Error::NoStore {
                path: path.to_owned(),
            });
        }
        _ => connect_to_read(path, settings)?,
    };
    let is_store = schema::in_store(&connection, settings.migrations.version(), |conn| {
        // This has SQLite read the schema.
        set_cache(conn, cache)?;
        schema::expect_tables(conn, path)
    })?;
    if is_store.is_some() {
        return Ok((connection, mode));
    }
    set_cache(&connection, cache)?;
    match schema::read_file_kind(&connection)? {
        // Another program has made it one since.
        schema::FileKind::Store(version) if version == settings.migrations.version() => {}
        schema::FileKind::Store(version) => {
            schema::refuse_newer(path, version, settings.migrations.version())?;
            if mode != OpenMode::ReadWrite {
                return Err(Error::ReadOnly {
                    path: path.to_owned(),
                });
            }
            prepare_to_write(&connection, settings)?;
            migrate(&connection, path, settings.migrations, found)?;
        }
        schema::FileKind::Empty if mode == OpenMode::ReadWrite => {
            prepare_to_write(&connection, settings)?;
            switch_to_wal(&connection, settings)?;
            migrate(&connection, path, settings.migrations, found)?;
            sync_directory(path)?;
        }
        schema::FileKind::Empty | schema::FileKind::Foreign => {
            return Err(Error::NotAStore {
                path: path.to_owned(),
            });
        }
    }
    Ok((connection, mode))
}

/// Refuses a path beside which the log of a store lies that is not there itself.
pub(crate) fn refuse_stray_log(path: &Path) -> Result<()> {
    for suffix in ["-wal", "-journal"] {
        let log = with_suffix(path, suffix);
        // A store that another program is making has a log too, but is there before it.
        if std::fs::metadata(&log).is_ok_and(|m| m.len() > 0)
            && !etui_vfs::persist_wal::is_idle_wal(&log)
            && !path.exists()
        {
            return Err(Error::StrayLog { path: log });
        }
    }
    Ok(())
}

/// Makes the file a WAL database. SQLite does not wait for a lock here, so this does: another
/// program may be creating the same store.
fn switch_to_wal(connection: &Connection, settings: &PoolOptions) -> Result<()> {
    let start = std::time::Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(e)
                if e.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
                    && start.elapsed() < settings.busy_timeout =>
            {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            done => return Ok(done?),
        }
    }
}

/// Creates and migrates in one transaction; two programs that do so at once meet at its lock, and
/// the second finds it done.
fn migrate(
    connection: &Connection,
    path: &Path,
    migrations: schema::Migrations,
    found: impl FnOnce(&Connection) -> Result<()>,
) -> Result<()> {
    pool::transact(connection, |conn| {
        let from = match schema::read_file_kind(conn)? {
            schema::FileKind::Store(v) => v,
            schema::FileKind::Empty => 0,
            schema::FileKind::Foreign => {
                return Err(Error::NotAStore {
                    path: path.to_owned(),
                });
            }
        };
        schema::refuse_newer(path, from, migrations.version())?;
        migrations.run(conn, from)?;
        if from == 0 {
            conn.pragma_update(None, "application_id", schema::APPLICATION_ID)?;
        }
        found(conn)
    })
}

/// A further connection to a store that was opened before.
pub(super) fn connect(
    path: &Path,
    mode: OpenMode,
    settings: &PoolOptions,
    cache: usize,
) -> Result<Connection> {
    let connection = connect_only(path, mode, settings)?;
    set_cache(&connection, cache)?;
    Ok(connection)
}

/// The same without reading anything of the file but its first bytes; the cache is not bounded yet.
fn connect_only(path: &Path, mode: OpenMode, settings: &PoolOptions) -> Result<Connection> {
    let access = match mode {
        OpenMode::ReadWrite | OpenMode::ReadOnly => OpenFlags::SQLITE_OPEN_READ_WRITE,
        OpenMode::ReadOnlyFile => OpenFlags::SQLITE_OPEN_READ_ONLY,
        OpenMode::Immutable => OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
    };
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_PRIVATE_CACHE;
    let open = |path: &Path| -> Result<Connection> {
        Ok(match settings.vfs {
            Vfs::Etui => {
                let vfs = super::vfs::registered_vfs()?;
                Connection::open_with_flags_and_vfs(path, flags, vfs.name())?
            }
            Vfs::System if settings.persist_wal => {
                let vfs = super::vfs::persist_wal(WAL_RESTS_AT)?;
                Connection::open_with_flags_and_vfs(path, flags, vfs.name())?
            }
            Vfs::System => Connection::open_with_flags(path, flags)?,
        })
    };
    let connection = match mode {
        // Nothing is written there, so that no log can be needed.
        OpenMode::Immutable => Connection::open_with_flags(immutable_uri(path), flags)?,
        // SQLite was built to take `file:...` for a URI; a leading `./` says that it is a path.
        _ if path.is_relative() => open(&Path::new(".").join(path))?,
        _ => open(path)?,
    };
    if matches!(mode, OpenMode::ReadWrite | OpenMode::ReadOnly) && connection.is_readonly("main")? {
        return Err(Error::ReadOnly {
            path: path.to_owned(),
        });
    }
    if settings.vfs == Vfs::Etui && mode != OpenMode::Immutable {
        super::vfs::refuse_held(&connection, path, settings.busy_timeout)?;
    }
    connection.busy_timeout(settings.busy_timeout)?;
    // SQLite is built to plan a query again whenever a bound value changes, in hope of statistics
    // that this schema has no use for: each look into the index would be compiled again.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.pragma_update(None, "mmap_size", MAPPED)?;
    // Functions with side effects have no business in this schema; a foreign file may not call any.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    if mode != OpenMode::ReadWrite {
        connection.pragma_update(None, "query_only", true)?;
    }
    Ok(connection)
}

/// Has a connection commit as the store's level says; most only read.
pub(super) fn prepare_to_write(connection: &Connection, settings: &PoolOptions) -> Result<()> {
    let level = match settings.durability {
        pool::Durability::Full => "FULL",
        pool::Durability::Deferred => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", level)?;
    connection.pragma_update(None, "journal_size_limit", WAL_RESTS_AT)?;
    Ok(())
}

/// Reading a WAL database needs its shared-memory file; where that can neither be found nor made
/// (a read-only medium), nobody writes, and the file is read as it is.
fn connect_to_read(path: &Path, settings: &PoolOptions) -> Result<(Connection, OpenMode)> {
    let attempt = |mode| {
        let connection = connect_only(path, mode, settings)?;
        schema::read_file_kind(&connection)?;
        Ok((connection, mode))
    };
    let refused = |e: &Error| match e {
        Error::ReadOnly { .. } => true,
        Error::Sqlite(e) => matches!(
            e.sqlite_error_code(),
            Some(rusqlite::ErrorCode::CannotOpen | rusqlite::ErrorCode::ReadOnly)
        ),
        _ => false,
    };
    match attempt(OpenMode::ReadOnly) {
        Err(e) if refused(&e) => match attempt(OpenMode::ReadOnlyFile) {
            Err(e) if refused(&e) && nobody_writes(path) => attempt(OpenMode::Immutable),
            other => other,
        },
        other => other,
    }
}

/// Whether the file system or the file's mode lets nobody write, and no WAL holds anything.
fn nobody_writes(path: &Path) -> bool {
    let read_only_medium = rustix::fs::statvfs(path)
        .is_ok_and(|fs| fs.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY));
    let read_only_file = std::fs::metadata(path).is_ok_and(|m| m.permissions().readonly());
    let wal = with_suffix(path, "-wal");
    let wal_is_empty = std::fs::metadata(&wal).map_or(true, |m| m.len() == 0)
        || etui_vfs::persist_wal::is_idle_wal(&wal);
    (read_only_medium || read_only_file) && wal_is_empty
}

/// `path` with `suffix` behind its name, as SQLite names its companions.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// `file:` URI of a path (<https://sqlite.org/uri.html>): every byte that is not plainly harmless
/// is percent-encoded.
fn immutable_uri(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut uri = String::from("file:");
    for &b in path.as_os_str().as_bytes() {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(b as char);
            }
            _ => uri.push_str(&format!("%{b:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    uri
}

/// Creates an empty file that only its owner may read; SQLite gives its companions the same mode.
fn create_file(path: &Path) -> Result<()> {
    let made = rustix::fs::open(
        path,
        OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC,
        Mode::RUSR | Mode::WUSR,
    );
    match made {
        Ok(_) => Ok(()),
        // Another program made it in the same moment.
        Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(e) => Err(Error::io(path, e.into())),
    }
}

/// Makes the file's name durable.
pub(crate) fn sync_directory(path: &Path) -> Result<()> {
    let directory = match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    };
    std::fs::File::open(directory)
        .and_then(|d| d.sync_all())
        .map_err(|e| Error::io(directory, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_could_not_be_begun_is_none_yet() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.etui");
        let settings = PoolOptions {
            durability: pool::Durability::Full,
            memory_budget: 1 << 20,
            busy_timeout: std::time::Duration::from_secs(5),
            vfs: Vfs::System,
            persist_wal: false,
            migrations: schema::Migrations(&[]),
        };
        let tables = |found: fn(&Connection) -> Result<()>| {
            let (conn, _) = open(&path, OpenMode::ReadWrite, &settings, found)?;
            let count = "SELECT count(*) FROM sqlite_schema WHERE name = 'record'";
            Ok::<i64, Error>(conn.query_row(count, [], |r| r.get(0))?)
        };
        let failed = tables(|conn| Ok(conn.execute_batch("INSERT INTO nowhere VALUES (1)")?));
        assert!(failed.is_err());
        let plain = Connection::open(&path).unwrap();
        assert!(matches!(
            schema::read_file_kind(&plain),
            Ok(schema::FileKind::Empty)
        ));
        drop(plain);
        assert_eq!(tables(|_| Ok(())).unwrap(), 1);
        // Whoever opens it later begins nothing.
        assert_eq!(tables(|_| panic!("it has begun")).unwrap(), 1);
    }
}
