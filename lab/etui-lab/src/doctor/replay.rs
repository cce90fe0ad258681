//! [`Bench`]: repeats a workload on copies of a database under a [`Setup`], and counts.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use etui_lab_io::instrumented::{FileKind, InstrumentedOptions, InstrumentedVfs};
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, OpenFlags};
use serde::Serialize;

use super::copy::beside;
use super::setup::{Layer, Setup};
use super::workload::{Transaction, Workload};
use crate::error::Error;
use crate::redo;

/// I/O on a database's files. Of temporary files it has nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct IoCounts {
    pub writes: u64,
    pub bytes: u64,
    /// Flushes of files and directories.
    pub flushes: u64,
    /// Files that were created, removed or resized: changes that the file system journals itself.
    /// Not counted for etui's VFS, whose log is allocated before.
    pub metadata: u64,
    /// Pages of the database written again before they were flushed.
    pub rewritten_pages: u64,
}

/// A workload as it was repeated.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Replayed {
    pub transactions: u64,
    /// The time, with the last close.
    pub seconds: f64,
    /// The I/O, with that of the last close.
    pub io: IoCounts,
    /// Rows changed, which must be equal under all setups.
    pub changes: u64,
    pub failed: u64,
    pub first_failure: Option<String>,
}

impl Replayed {
    /// Returns transactions in a second.
    pub fn rate(&self) -> f64 {
        match self.seconds > 0.0 {
            true => self.transactions as f64 / self.seconds,
            false => 0.0,
        }
    }
}

/// A file that a setup begins with.
#[derive(Debug, Clone)]
pub struct Prepared {
    path: PathBuf,
    setup: Setup,
    /// Changes to the schema of tables that the workload creates.
    pending: Vec<String>,
}

/// Copies of a database in a directory of their own, and the VFSes that count.
pub struct Bench<'a> {
    dir: PathBuf,
    base: PathBuf,
    counting: InstrumentedVfs,
    etui: etui_vfs::Vfs,
    stop: &'a AtomicBool,
    prepared: u32,
}

impl<'a> Bench<'a> {
    /// Makes a bench over a copy of the database in `dir`. Each flush takes `flush_delay` longer.
    /// A process can have one bench.
    pub fn new(
        dir: &Path,
        base: &Path,
        flush_delay: Duration,
        stop: &'a AtomicBool,
    ) -> Result<Self, Error> {
        let options = InstrumentedOptions {
            sync_delay: flush_delay,
            ..InstrumentedOptions::default()
        };
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let name = format!("doctor-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        Ok(Self {
            dir: dir.to_owned(),
            base: base.to_owned(),
            counting: InstrumentedVfs::register(&name, options)?,
            etui: redo::register_vfs(redo::vfs_options(), flush_delay)?,
            stop,
            prepared: 0,
        })
    }

    /// Makes the file that a setup begins with.
    pub fn prepare(&mut self, setup: &Setup) -> Result<Prepared, Error> {
        self.prepared += 1;
        let path = self.dir.join(format!("prepared-{}.db", self.prepared));
        copy_file(&self.base, &path)?;
        let mut conn = Connection::open(&path)?;
        restrict(&mut conn)?;
        let number = |name: &str| -> Result<i64, Error> {
            Ok(conn.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))?)
        };
        let auto_vacuum = match setup.auto_vacuum.as_str() {
            "full" => 1,
            "incremental" => 2,
            _ => 0,
        };
        let empty = number("page_count")? == 0;
        conn.execute_batch(
            "PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF;",
        )?;
        let rebuilds = setup.vacuum
            || number("page_size")? != i64::from(setup.page_size)
            || number("auto_vacuum")? != auto_vacuum;
        if rebuilds {
            conn.execute_batch(&format!(
                "PRAGMA page_size = {}; PRAGMA auto_vacuum = {auto_vacuum};",
                setup.page_size
            ))?;
            // An empty file takes its settings with its first page.
            conn.execute_batch(match empty {
                true => "CREATE TABLE doctor(x); DROP TABLE doctor;",
                false => "VACUUM",
            })?;
        }
        let mut pending = setup.schema.clone();
        pending.retain(|sql| conn.execute_batch(sql).is_err());
        conn.execute_batch(&format!("PRAGMA journal_mode = {}", setup.journal_mode))?;
        conn.close().map_err(|(_, error)| error)?;
        Ok(Prepared {
            path,
            setup: setup.clone(),
            pending,
        })
    }

    /// Removes the file of a setup.
    pub fn discard(&self, prepared: &Prepared) {
        remove_database(&prepared.path);
    }

    /// Repeats the first `count` transactions of a workload, for no longer than `limit`.
    pub fn replay(
        &self,
        prepared: &Prepared,
        workload: &Workload,
        count: usize,
        limit: Duration,
    ) -> Result<Replayed, Error> {
        let path = self.dir.join("replay.db");
        remove_database(&path);
        copy_file(&prepared.path, &path)?;
        // What the copy left to write must not be counted.
        for file in [&path, &self.dir] {
            let opened = File::open(file).and_then(|file| file.sync_all());
            opened.map_err(|e| Error::file(file, e))?;
        }
        let replayed = self.replay_file(&path, prepared, workload, count, limit);
        remove_database(&path);
        replayed
    }

    fn replay_file(
        &self,
        path: &Path,
        prepared: &Prepared,
        workload: &Workload,
        count: usize,
        limit: Duration,
    ) -> Result<Replayed, Error> {
        let setup = &prepared.setup;
        let mut pending = prepared.pending.clone();
        let mut conn = Some(self.open(path, setup)?);
        if let Some(conn) = &conn {
            // A commit that changes nothing: the log then exists, as it does after the first commit
            // of a program.
            let version: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            conn.execute_batch(&format!("PRAGMA user_version = {version}"))?;
        }
        let mut replayed = Replayed::default();
        let mut changes_before = 0;
        let before = self.counts();
        let begun = Instant::now();
        let transactions = workload.transactions.get(..count).unwrap_or_default();
        let mut last = transactions.first().map(|first| first.connection);
        let mut rest = transactions;
        while let Some(first) = rest.first() {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            if begun.elapsed() > limit {
                break;
            }
            let (group, after) = rest.split_at(group_length(rest, setup.group));
            rest = after;
            if !setup.keep_connection && last != Some(first.connection) {
                last = Some(first.connection);
                if let Some(old) = conn.take() {
                    changes_before += old.total_changes();
                    old.close().map_err(|(_, error)| error)?;
                }
                conn = Some(self.open(path, setup)?);
            }
            if let Some(conn) = &conn {
                run_group(conn, group, &mut replayed);
                if !pending.is_empty() && group.iter().any(Transaction::creates) {
                    pending.retain(|sql| conn.execute_batch(sql).is_err());
                }
            }
            replayed.transactions += group.len() as u64;
        }
        if let Some(conn) = conn {
            changes_before += conn.total_changes();
            conn.close().map_err(|(_, error)| error)?;
        }
        replayed.seconds = begun.elapsed().as_secs_f64();
        replayed.changes = changes_before;
        replayed.io = self.counts().since(before, setup.layer);
        Ok(replayed)
    }

    fn open(&self, path: &Path, setup: &Setup) -> Result<Connection, Error> {
        let vfs = match setup.layer {
            Layer::Sqlite => self.counting.name(),
            Layer::Etui => self.etui.name(),
        };
        let mut conn = Connection::open_with_flags_and_vfs(path, OpenFlags::default(), vfs)?;
        conn.execute_batch(&setup.connection_sql())?;
        restrict(&mut conn)?;
        Ok(conn)
    }

    fn counts(&self) -> LayerCounts {
        let counters = self.counting.counters();
        let mut sqlite = IoCounts::default();
        for kind in [FileKind::Database, FileKind::Journal, FileKind::Wal] {
            let of_kind = counters.of(kind);
            sqlite.writes += of_kind.writes;
            sqlite.bytes += of_kind.write_bytes;
            sqlite.flushes += of_kind.syncs + of_kind.directory_syncs;
            // Every removal has a creation before it.
            sqlite.metadata += of_kind.size_changes + 2 * of_kind.deletes;
            sqlite.rewritten_pages += of_kind.rewritten_pages;
        }
        let counters = self.etui.counters();
        LayerCounts {
            sqlite,
            etui: IoCounts {
                writes: counters.redo_writes + counters.database_writes,
                bytes: counters.redo_bytes + counters.database_bytes,
                flushes: counters.redo_flushes + counters.database_flushes,
                ..IoCounts::default()
            },
        }
    }
}

/// The counters of both VFSes so far.
#[derive(Debug, Clone, Copy)]
struct LayerCounts {
    sqlite: IoCounts,
    etui: IoCounts,
}

impl LayerCounts {
    fn since(&self, before: Self, layer: Layer) -> IoCounts {
        let (now, then) = match layer {
            Layer::Sqlite => (self.sqlite, before.sqlite),
            Layer::Etui => (self.etui, before.etui),
        };
        IoCounts {
            writes: now.writes.saturating_sub(then.writes),
            bytes: now.bytes.saturating_sub(then.bytes),
            flushes: now.flushes.saturating_sub(then.flushes),
            metadata: now.metadata.saturating_sub(then.metadata),
            rewritten_pages: now.rewritten_pages.saturating_sub(then.rewritten_pages),
        }
    }
}

/// Returns the number of transactions that are one: the first and those of its burst.
fn group_length(transactions: &[Transaction], most: usize) -> usize {
    let Some(first) = transactions.first() else {
        return 0;
    };
    if first.runs_alone() {
        return 1;
    }
    let joins = |next: &&Transaction| next.follows && !next.runs_alone();
    let followers = transactions.iter().skip(1).take_while(joins);
    followers.take(most.saturating_sub(1)).count() + 1
}

/// Runs transactions as one. A statement that fails is counted; the program went on, too.
fn run_group(conn: &Connection, group: &[Transaction], replayed: &mut Replayed) {
    let mut run = |sql: &str| {
        let done = conn.prepare(sql).and_then(|mut statement| {
            let mut rows = statement.raw_query();
            while rows.next()?.is_some() {}
            Ok(())
        });
        if let Err(error) = done {
            replayed.failed += 1;
            replayed
                .first_failure
                .get_or_insert_with(|| error.to_string());
        }
    };
    let statements = || group.iter().flat_map(|transaction| &transaction.statements);
    // A single statement is a transaction.
    let alone = statements().count() == 1 || group.iter().any(Transaction::runs_alone);
    if !alone {
        run("BEGIN");
    }
    statements().for_each(|sql| run(sql));
    if !alone && !conn.is_autocommit() {
        run("COMMIT");
    }
}

/// Denies a connection other files: a recorded statement may name them.
pub(super) fn restrict(conn: &mut Connection) -> Result<(), Error> {
    Ok(conn.authorizer(Some(deny_other_files))?)
}

fn deny_other_files(context: AuthContext<'_>) -> Authorization {
    match context.action {
        // VACUUM attaches a file without a name.
        AuthAction::Attach { filename } if !filename.is_empty() => Authorization::Deny,
        _ => Authorization::Allow,
    }
}

fn copy_file(from: &Path, to: &Path) -> Result<(), Error> {
    fs::copy(from, to).map_err(|e| Error::file(to, e))?;
    Ok(())
}

/// Removes a database and the files beside it, as far as they exist.
fn remove_database(path: &Path) {
    for suffix in ["", "-journal", "-wal", "-shm", "-redo"] {
        let _ = fs::remove_file(beside(path, suffix));
    }
}

impl Prepared {
    /// Returns the size of the file.
    pub fn bytes(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |file| file.len())
    }
}
