//! Calls on the files of one SQLite database, from a trace by `strace` of any program.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::strace::{TracedCall, parse_calls};
use crate::error::Error;

pub use super::check_available;

/// A call on a file that changed or flushed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoOperation {
    /// Bytes were written.
    Write {
        /// Where; 0 where that is not known.
        offset: u64,
        /// How many.
        bytes: u64,
    },
    /// It was flushed.
    Flush {
        /// By `fdatasync`, which leaves out what a read does not need.
        data_only: bool,
    },
    /// Its size was set.
    Resize,
    /// It was removed.
    Remove,
}

/// A call on the files of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatabaseCall {
    /// On the file with this suffix to the database's name (`-journal`, `-wal` or empty), or on the
    /// directory if there is none.
    Io(Option<String>, IoOperation),
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
        let is_directory = matches!(known, Some(DatabaseCall::Io(None, _)));
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
    let on_file = |operation| Some(DatabaseCall::Io(Some(known()?), operation));
    match call.name.as_str() {
        "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" => {
            let (offset, bytes) = (0, result.unsigned_abs());
            on_file(IoOperation::Write { offset, bytes })
        }
        "fsync" | "fdatasync" => {
            let data_only = call.name == "fdatasync";
            let flush = IoOperation::Flush { data_only };
            let of_directory = directory == Some(file.as_str());
            on_file(flush).or_else(|| of_directory.then_some(DatabaseCall::Io(None, flush)))
        }
        "ftruncate" | "truncate" => on_file(IoOperation::Resize),
        "unlink" | "unlinkat" => on_file(IoOperation::Remove),
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
        let on = |suffix: &str, operation| DatabaseCall::Io(Some(suffix.to_owned()), operation);
        let flush = |data_only| IoOperation::Flush { data_only };
        let (offset, bytes) = (0, 512);
        assert_eq!(
            calls,
            [
                DatabaseCall::WriteLock,
                DatabaseCall::WriteLock,
                on("-journal", IoOperation::Write { offset, bytes }),
                on("", flush(false)),
                DatabaseCall::Io(None, flush(true)),
                on("-journal", IoOperation::Remove),
            ]
        );
    }
}
