//! Calls on the files of one SQLite database, from a trace by `strace` of any program.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::strace::{TracedCall, parse_calls};
use crate::error::Error;

pub use super::check_available;

/// A call that changed or flushed a file of a database, or began a write transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatabaseCall {
    /// Bytes were written to the file with this suffix to the database's name.
    Write {
        /// `-journal`, `-wal`, or empty.
        suffix: String,
        /// How many.
        bytes: u64,
    },
    /// A file was flushed; None: the directory.
    Flush {
        /// `-journal`, `-wal`, or empty.
        suffix: Option<String>,
        /// By `fdatasync`.
        data_only: bool,
    },
    /// The size of a file was set.
    Resize {
        /// `-journal`, `-wal`, or empty.
        suffix: String,
    },
    /// A file was removed.
    Remove {
        /// `-journal`, `-wal`, or empty.
        suffix: String,
    },
    /// The lock of the only writer was taken.
    WriteLock,
}

/// The calls that change or flush a file, or lock one.
const CALLS: &str = "trace=write,pwrite64,writev,pwritev,pwritev2,fsync,fdatasync,ftruncate,truncate,\
                     unlink,unlinkat,fcntl";

/// Returns the command as it runs under `strace`; input and output must be set again. None if there
/// is no `strace`.
pub fn wrap_command(command: &Command, output: &Path) -> Option<Command> {
    // `-I 2`: a signal to end reaches the program.
    let options = ["-s", "0", "-I", "2", "-e", CALLS];
    super::wrap_traced(command, output, &options)
}

/// Reads a trace.
pub fn read(trace: &Path, database: &Path) -> Result<Vec<DatabaseCall>, Error> {
    let bytes = fs::read(trace).map_err(|e| Error::file(trace, e))?;
    let calls = parse_calls(&String::from_utf8_lossy(&bytes));
    Ok(database_calls(&calls, &database.to_string_lossy()))
}

fn database_calls(calls: &[TracedCall], database: &str) -> Vec<DatabaseCall> {
    let mut found = Vec::new();
    // SQLite flushes a directory after it flushed a new file in it or removed one. After calls on
    // other files, the flush is about those.
    let mut of_database = false;
    for call in calls {
        let known = database_call(call, database);
        let is_directory = matches!(known, Some(DatabaseCall::Flush { suffix: None, .. }));
        let names_file = matches!(
            call.name.as_str(),
            "fsync" | "fdatasync" | "unlink" | "unlinkat"
        );
        if !is_directory || of_database {
            found.extend(known.clone());
        }
        if names_file && !is_directory {
            of_database = known.is_some();
        }
    }
    found
}

/// SQLite's lock of a writer: in rollback mode `RESERVED_BYTE` of the database, in WAL mode
/// `WAL_WRITE_LOCK` of the `-shm`.
const RESERVED: &str = "l_start=1073741825,";
const WAL_WRITE: &str = "l_start=120,";

fn database_call(call: &TracedCall, database: &str) -> Option<DatabaseCall> {
    let file = call.file()?;
    let directory = database.rsplit_once('/').map(|(directory, _)| directory);
    let suffix = file.strip_prefix(database);
    let result = call.result.filter(|result| *result >= 0)?;
    let known = || {
        let suffix = suffix?;
        let known = ["", "-journal", "-wal", "-redo"].contains(&suffix);
        known.then(|| suffix.to_owned())
    };
    match call.name.as_str() {
        "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" => Some(DatabaseCall::Write {
            suffix: known()?,
            bytes: result.unsigned_abs(),
        }),
        "fsync" | "fdatasync" => {
            let of_directory = directory == Some(file.as_str());
            let suffix = known();
            (of_directory || suffix.is_some()).then(|| DatabaseCall::Flush {
                suffix,
                data_only: call.name == "fdatasync",
            })
        }
        "ftruncate" | "truncate" => Some(DatabaseCall::Resize { suffix: known()? }),
        "unlink" | "unlinkat" => Some(DatabaseCall::Remove { suffix: known()? }),
        "fcntl" if call.arguments.contains("F_WRLCK") => {
            let taken = match suffix? {
                "" => call.arguments.contains(RESERVED),
                "-shm" => call.arguments.contains(WAL_WRITE),
                _ => false,
            };
            taken.then_some(DatabaseCall::WriteLock)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_on_a_database() {
        let text = concat!(
            "7 fcntl(3</d/t.db>, F_SETLK, {l_type=F_WRLCK, l_whence=SEEK_SET, l_start=1073741825, l_len=1}) = 0\n",
            "7 fcntl(3</d/t.db>, F_SETLK, {l_type=F_WRLCK, l_whence=SEEK_SET, l_start=1073741825, l_len=1}) = -1 EAGAIN (Resource temporarily unavailable)\n",
            "7 fcntl(5</d/t.db-shm>, F_SETLK, {l_type=F_WRLCK, l_whence=SEEK_SET, l_start=120, l_len=1}) = 0\n",
            "7 pwrite64(4</d/t.db-journal>, \"\"..., 512, 0) = 512\n",
            "7 write(1</d/other>, \"\"..., 5) = 5\n",
            "7 fdatasync(6</d>) = 0\n",
            "7 fsync(3</d/t.db>) = 0\n",
            "7 fdatasync(6</d>) = 0\n",
            "7 fsync(3</d/other>) = 0\n",
            "7 fdatasync(6</d>) = 0\n",
            "7 unlink(\"/d/t.db-journal\") = 0\n",
        );
        let calls = database_calls(&parse_calls(text), "/d/t.db");
        let journal = || "-journal".to_owned();
        let flush = |suffix: Option<&str>, data_only| DatabaseCall::Flush {
            suffix: suffix.map(str::to_owned),
            data_only,
        };
        assert_eq!(
            calls,
            [
                DatabaseCall::WriteLock,
                DatabaseCall::WriteLock,
                DatabaseCall::Write {
                    suffix: journal(),
                    bytes: 512
                },
                flush(Some(""), false),
                flush(None, true),
                DatabaseCall::Remove { suffix: journal() },
            ]
        );
    }
}
