//! [`Observed`]: what a command did to a database, from the records of the preloaded library.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::doctor::workload::Transaction;
use crate::measure::syscalls::database_calls::{DatabaseCall, IoOperation};

/// Counts of a program's I/O on the files of the database.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FileIo {
    pub writes: u64,
    pub bytes: u64,
    /// Flushes by `fdatasync`.
    pub data_flushes: u64,
    /// Flushes by `fsync`, which also writes the file's metadata.
    pub full_flushes: u64,
    /// Times that its size was set.
    pub resizes: u64,
    /// Times that it was removed.
    pub removals: u64,
}

impl FileIo {
    pub(super) fn add(&mut self, operation: IoOperation) {
        match operation {
            IoOperation::Write { bytes, .. } => {
                self.writes += 1;
                self.bytes += bytes;
            }
            IoOperation::Flush { data_only: true } => self.data_flushes += 1,
            IoOperation::Flush { data_only: false } => self.full_flushes += 1,
            IoOperation::Resize => self.resizes += 1,
            IoOperation::Remove => self.removals += 1,
        }
    }

    pub fn flushes(&self) -> u64 {
        self.data_flushes + self.full_flushes
    }

    pub(super) fn plus(mut self, other: &Self) -> Self {
        self.writes += other.writes;
        self.bytes += other.bytes;
        self.data_flushes += other.data_flushes;
        self.full_flushes += other.full_flushes;
        self.resizes += other.resizes;
        self.removals += other.removals;
        self
    }
}

/// The commits of one shape of transactions.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CommitShape {
    pub program: String,
    /// The shape of the first statement that changes something.
    pub statement: String,
    pub commits: u64,
    /// Their I/O.
    pub io: FileIo,
    /// Pages of the database that one commit wrote more than once.
    pub rewritten_pages: u64,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct StatementShape {
    pub statement: String,
    /// One of the statements, with its values.
    pub example: String,
    /// How often it ran.
    pub runs: u64,
    /// Seconds in all.
    pub seconds: f64,
    /// Rows read in scans of whole tables.
    pub scanned: u64,
    /// Sorts without an index.
    pub sorts: u64,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct Observed {
    /// Programs that used the database, by their names.
    pub programs: Vec<String>,
    /// Processes that used it at once.
    pub processes_at_once: u64,
    pub sqlite: Option<String>,
    /// The defaults that it was built with.
    #[serde(skip)]
    pub defaults: BTreeMap<String, String>,
    pub connections: u64,
    /// Connections whose statements could not be seen.
    pub untraceable: u64,
    /// Settings made by `PRAGMA`, the last value of each.
    pub settings: BTreeMap<String, String>,
    /// Commits that changed something.
    pub commits: u64,
    /// Statements in them that may change something.
    pub changing_statements: u64,
    /// Transactions that were rolled back.
    pub rollbacks: u64,
    /// Commits that followed the one before within a moment, on the same connection.
    pub commits_in_bursts: u64,
    /// Commits by the shape of their first change, those with the most I/O first.
    pub commit_shapes: Vec<CommitShape>,
    /// Statements by shape, the slowest first.
    pub statement_shapes: Vec<StatementShape>,
    /// I/O by file: `database`, `journal`, `wal`, `directory`, `redo`.
    pub io: BTreeMap<String, FileIo>,
    /// I/O outside of commits: checkpoints at a close, recovery.
    pub io_outside: FileIo,
    /// The records reached their limit.
    pub limited: bool,
    /// The transactions, for a replay.
    #[serde(skip)]
    pub transactions: Vec<Transaction>,
    /// Seconds from the first to the last event.
    pub seconds: f64,
}

impl Observed {
    /// Returns the I/O on all files.
    pub fn total_io(&self) -> FileIo {
        self.io
            .values()
            .fold(FileIo::default(), |sum, io| sum.plus(io))
    }

    /// Returns the flushes within commits.
    pub fn flushes_in_commits(&self) -> u64 {
        self.commit_shapes
            .iter()
            .map(|shape| shape.io.flushes())
            .sum()
    }
}

impl Observed {
    /// Summarises calls that `strace` saw: I/O and commits, without statements.
    pub fn of_calls(calls: &[DatabaseCall]) -> Self {
        let mut observed = Self::default();
        for call in calls {
            let DatabaseCall::Io(suffix, operation) = call else {
                observed.commits += 1;
                continue;
            };
            let file = suffix
                .as_ref()
                .map_or("directory", |suffix| match suffix.as_str() {
                    "-journal" => "journal",
                    "-wal" => "wal",
                    "-redo" => "redo",
                    _ => "database",
                });
            let io = observed.io.entry(file.to_owned()).or_default();
            io.add(*operation);
        }
        observed
    }
}
