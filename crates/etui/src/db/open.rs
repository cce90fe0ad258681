//! Opening a database: its file, kind and pragmas; creation and migration.

use std::io::Read;
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, ffi};
use rustix::fs::{Mode, OFlags};

use super::paths::{sync_directory, with_suffix};
use super::pool::{self, PoolOptions, set_cache};
use super::schema;
use crate::error::{Error, Result, SqliteError};

/// The access to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenMode {
    /// Read and write; created when it is not there, if `create`.
    ReadWrite,
    /// Read, including the live WAL of other processes. The file itself may be writable: only a
    /// connection that may write removes the WAL files that reading creates.
    ReadOnly,
    /// Read a file that cannot be written.
    ReadOnlyFile,
    /// Read from a read-only medium (no locks, no WAL).
    Immutable,
}

/// The size of the smallest database in bytes: the minimal page size.
const HEADER: u64 = 512;
/// The size limit of an idle WAL: larger ones are truncated when they restart.
const WAL_RESTS_AT: u32 = 8 << 20;
/// The number of WAL pages at which a commit checkpoints: those of an idle WAL, so that a commit
/// is rarely more than one flush, and the last close checkpoints no more.
pub(super) const CHECKPOINT_PAGES: i64 = 2_000;
/// Bytes of the file that are read through a memory map (shared between processes, no copy).
const MAPPED: i64 = 1 << 30;
/// The number of prepared statements that a connection keeps; all of this library's fit.
const STATEMENTS: usize = 96;

/// Opens the file, creating or migrating the store if it may be written; `found` writes the first
/// contents. The schema is read here, in the same read transaction as the header: further
/// transactions cost system calls, and a damaged schema is reported at once.
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
        // SQLite treats a file shorter than its header as empty, and a device as a file.
        Ok(m) if !m.is_file() || (1..HEADER).contains(&m.len()) => {
            return Err(Error::NotADatabase(path.to_owned()));
        }
        _ => {}
    }
    let (connection, mode) = match mode {
        OpenMode::ReadWrite => (connect_only(path, mode, settings)?, mode),
        _ if !path.exists() => {
            return Err(Error::NoStore(path.to_owned()));
        }
        _ => connect_to_read(path, settings)?,
    };
    let is_store = schema::in_store(&connection, settings.migrations.version(), |conn| {
        // This makes SQLite read the schema.
        set_cache(conn, cache)?;
        schema::expect_tables(conn, path)
    })?;
    if is_store.is_some() {
        return Ok((connection, mode));
    }
    set_cache(&connection, cache)?;
    match schema::read_file_kind(&connection)? {
        // Another process has created it since.
        schema::FileKind::Store(version) if version == settings.migrations.version() => {}
        schema::FileKind::Store(version) => {
            schema::refuse_newer(path, version, settings.migrations.version())?;
            if mode != OpenMode::ReadWrite {
                return Err(Error::ReadOnly(path.to_owned()));
            }
            prepare_to_write(&connection, settings)?;
            migrate(&connection, path, settings.migrations, found)?;
        }
        schema::FileKind::Empty if mode == OpenMode::ReadWrite => {
            prepare_to_write(&connection, settings)?;
            switch_to_wal(&connection, settings)?;
            migrate(&connection, path, settings.migrations, found)?;
            // The name of the new file is durable once its directory is.
            sync_directory(path)?;
        }
        schema::FileKind::Empty | schema::FileKind::Foreign => {
            return Err(Error::NotAStore(path.to_owned()));
        }
    }
    Ok((connection, mode))
}

/// Refuses a missing store beside the log of a store.
pub(crate) fn refuse_stray_log(path: &Path) -> Result<()> {
    for suffix in ["-wal", "-journal"] {
        let log = with_suffix(path, suffix);
        // A store that another process is creating has a log too, but exists before it.
        if std::fs::metadata(&log).is_ok_and(|m| m.len() > 0)
            && !is_journal_of_creation(&log)
            && !path.exists()
        {
            return Err(Error::StrayLog(log));
        }
    }
    Ok(())
}

/// Returns true for a rollback journal without pages: that of the creation of a database, or one whose
/// transaction ended. A power cut during the creation of a store may leave it alone, since its
/// name can be durable before that of the store. SQLite deletes it.
///
/// The header (<https://www.sqlite.org/fileformat2.html#the_rollback_journal>) has the size of the
/// database before the transaction, in pages, after 16 bytes.
fn is_journal_of_creation(log: &Path) -> bool {
    const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    let mut header = [0; 20];
    let read = std::fs::File::open(log).and_then(|mut file| file.read_exact(&mut header));
    let is_journal = log.to_string_lossy().ends_with("-journal");
    let is_ended = header[0] == 0;
    let has_no_pages = header[..8] == MAGIC && header[16..] == [0; 4];
    is_journal && read.is_ok() && (is_ended || has_no_pages)
}

/// Switches the file to WAL mode. SQLite does not wait for a lock here, so this does: another
/// process may be creating the same store.
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

/// Creates and migrates in one transaction: of two processes the second finds it done.
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
                return Err(Error::NotAStore(path.to_owned()));
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

/// Opens a further connection.
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

/// Opens a connection without reading more than the first bytes of the file; its cache is not
/// bounded yet.
fn connect_only(path: &Path, mode: OpenMode, settings: &PoolOptions) -> Result<Connection> {
    let access = match mode {
        OpenMode::ReadWrite | OpenMode::ReadOnly => OpenFlags::SQLITE_OPEN_READ_WRITE,
        OpenMode::ReadOnlyFile => OpenFlags::SQLITE_OPEN_READ_ONLY,
        OpenMode::Immutable => OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
    };
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_PRIVATE_CACHE;
    let open = |path: &Path| -> Result<Connection> {
        let vfs = super::vfs::registered_name(settings.vfs)?;
        Ok(Connection::open_with_flags_and_vfs(path, flags, vfs)?)
    };
    let connection = match mode {
        // Nothing is written there, so no log is needed.
        OpenMode::Immutable => Connection::open_with_flags(immutable_uri(path), flags)?,
        // SQLite takes `file:...` for a URI; a leading `./` makes it a path.
        _ if path.is_relative() => open(&Path::new(".").join(path))?,
        _ => open(path)?,
    };
    // SQLite opens a file that it may not write to read only, without an error.
    if matches!(mode, OpenMode::ReadWrite | OpenMode::ReadOnly) && connection.is_readonly("main")? {
        return Err(Error::ReadOnly(path.to_owned()));
    }
    #[cfg(feature = "redo-log")]
    if settings.vfs == super::Vfs::RedoLog && mode != OpenMode::Immutable {
        super::redo_log::refuse_held(&connection, path, settings.busy_timeout)?;
    }
    connection.busy_timeout(settings.busy_timeout)?;
    // SQLite would plan a query again whenever a bound value changes, for statistics that this
    // schema does not have: every index lookup would be compiled again.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    if settings.memory_map {
        connection.pragma_update(None, "mmap_size", MAPPED)?;
    }
    // Functions with side effects are not needed; the schema of a foreign file may not call any.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    if mode != OpenMode::ReadWrite {
        connection.pragma_update(None, "query_only", true)?;
    }
    Ok(connection)
}

/// Unmaps the file of a connection. Its next read maps it again.
pub(super) fn unmap_file(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "mmap_size", MAPPED)
}

/// Sets the durability level of a connection that writes.
pub(super) fn prepare_to_write(connection: &Connection, settings: &PoolOptions) -> Result<()> {
    let level = match settings.durability {
        pool::Durability::Full => "FULL",
        pool::Durability::Deferred => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", level)?;
    connection.pragma_update(None, "journal_size_limit", WAL_RESTS_AT)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    Ok(())
}

/// Opens a connection to read. A WAL database needs its shared-memory file; where that can neither
/// be found nor created (a read-only medium), no process writes, and the file is read as it is. So it is
/// where there is no space for it (a full disk), while nobody has the file open.
fn connect_to_read(path: &Path, settings: &PoolOptions) -> Result<(Connection, OpenMode)> {
    let attempt = |mode| {
        let connection = connect_only(path, mode, settings)?;
        schema::read_file_kind(&connection)?;
        Ok((connection, mode))
    };
    let refused = |e: &Error| match e {
        Error::ReadOnly { .. } => true,
        Error::Sqlite(SqliteError(e)) => matches!(
            e.sqlite_error_code(),
            Some(rusqlite::ErrorCode::CannotOpen | rusqlite::ErrorCode::ReadOnly)
        ),
        _ => false,
    };
    let is_full = |e: &Error| match e {
        Error::Sqlite(SqliteError(e)) => {
            let code = e.sqlite_error().map(|e| e.extended_code);
            let codes = [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_SHMSIZE];
            code.is_some_and(|code| codes.contains(&code))
        }
        _ => false,
    };
    match attempt(OpenMode::ReadOnly) {
        Err(e) if is_full(&e) && wal_is_empty(path) && !etui_vfs_base::is_in_use(path) => {
            attempt(OpenMode::Immutable)
        }
        Err(e) if refused(&e) => match attempt(OpenMode::ReadOnlyFile) {
            Err(e) if refused(&e) && nobody_writes(path) => attempt(OpenMode::Immutable),
            other => other,
        },
        other => other,
    }
}

/// Returns true if the file system or the file's mode is read-only, and the WAL is empty.
fn nobody_writes(path: &Path) -> bool {
    let read_only_medium = rustix::fs::statvfs(path)
        .is_ok_and(|fs| fs.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY));
    let read_only_file = std::fs::metadata(path).is_ok_and(|m| m.permissions().readonly());
    (read_only_medium || read_only_file) && wal_is_empty(path)
}

fn wal_is_empty(path: &Path) -> bool {
    std::fs::metadata(with_suffix(path, "-wal")).map_or(true, |m| m.len() == 0)
}

/// Returns the `file:` URI of a path (<https://sqlite.org/uri.html>), with all but harmless bytes
/// percent-encoded.
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

/// Creates an empty file that only its owner may read; SQLite gives its sidecar files the same
/// mode.
fn create_file(path: &Path) -> Result<()> {
    let made = rustix::fs::open(
        path,
        OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC,
        Mode::RUSR | Mode::WUSR,
    );
    match made {
        Ok(_) => Ok(()),
        // Another process created it at the same time.
        Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(e) => Err(Error::io(path, e.into())),
    }
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
            memory_map: true,
            busy_timeout: std::time::Duration::from_secs(5),
            tell_waiting: None,
            vfs: super::super::Vfs::System,
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
        // A later opening initializes nothing.
        assert_eq!(tables(|_| panic!("it has begun")).unwrap(), 1);
    }
}
