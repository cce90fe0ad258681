//! The records of the preloaded library: [`read_events`]. Their format is documented in
//! `etui-lab-preload`, `record.rs`.

use std::fs;
use std::path::Path;

use crate::error::Error;
pub use crate::measure::syscalls::database_calls::IoOperation;

/// A connection or a statement, by the address that it had in its process.
pub type Address = u64;

/// A record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceEvent {
    /// Nanoseconds of the monotonic clock.
    pub time: u64,
    pub process: u32,
    pub thread: u32,
    pub kind: EventKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// The program's executable.
    Program(String),
    /// The version of its SQLite, or a compile option.
    Sqlite(String),
    /// A connection was opened.
    Open(Address),
    /// A connection is closed.
    Close(Address),
    /// The statements of a connection cannot be seen.
    Untraceable,
    /// A statement begins.
    Begin {
        connection: Address,
        statement: Address,
        /// The text has the bound values.
        expanded: bool,
        sql: String,
    },
    /// A statement ended.
    End {
        connection: Address,
        statement: Address,
        /// It changes nothing.
        read_only: bool,
        /// No transaction is open afterwards.
        autocommit: bool,
        /// Rows read in scans of whole tables, since the statement was prepared.
        scanned: u64,
        /// Sorts, since the statement was prepared.
        sorts: u64,
    },
    /// A file changed or was flushed.
    Io {
        path: String,
        /// What was done.
        operation: IoOperation,
    },
    /// The records of this process reached their limit.
    Limit,
}

/// Reads the records of all processes, in the order of their times.
pub fn read_events(dir: &Path) -> Result<Vec<TraceEvent>, Error> {
    let mut events = Vec::new();
    for entry in fs::read_dir(dir).map_err(|e| Error::file(dir, e))? {
        let path = entry.map_err(|e| Error::file(dir, e))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        // Files of other names are none of the library's.
        if let Some(process) = name.and_then(|name| name.parse().ok()) {
            let bytes = fs::read(&path).map_err(|e| Error::file(&path, e))?;
            parse_events(&bytes, process, &mut events);
        }
    }
    events.sort_by_key(|event| event.time);
    Ok(events)
}

/// Parses the records of a process. A record that is not whole, and all after it, are left out.
fn parse_events(bytes: &[u8], process: u32, events: &mut Vec<TraceEvent>) {
    let mut rest = bytes;
    while let Some(event) = parse_event(&mut rest, process) {
        events.extend(event);
    }
}

/// Returns the next record: `Some(None)` for one of an unknown kind, None at the end.
fn parse_event(rest: &mut &[u8], process: u32) -> Option<Option<TraceEvent>> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let (line, after) = rest.split_at_checked(end)?;
    *rest = after.get(1..)?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split(' ');
    let kind = words.next()?;
    let words: Vec<&str> = words.collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
    let address = |at: usize| Address::from_str_radix(words.get(at)?, 16).ok();
    let has_payload = !matches!(kind, "c" | "n" | "e" | "x");
    let mut payload = String::new();
    if has_payload {
        let length = usize::try_from(words.last()?.parse::<u64>().ok()?).ok()?;
        let (text, after) = rest.split_at_checked(length)?;
        *rest = after.get(1..)?;
        payload = String::from_utf8_lossy(text).into_owned();
    }
    let io = |operation| {
        let path = payload.strip_suffix(" (deleted)").unwrap_or(&payload);
        EventKind::Io {
            path: path.to_owned(),
            operation,
        }
    };
    let kind = match kind {
        "p" => EventKind::Program(payload),
        "v" => EventKind::Sqlite(payload),
        "o" => EventKind::Open(address(2)?),
        "c" => EventKind::Close(address(2)?),
        "n" => EventKind::Untraceable,
        "s" => EventKind::Begin {
            connection: address(2)?,
            statement: address(3)?,
            expanded: number(4)? == 1,
            sql: payload,
        },
        "e" => EventKind::End {
            connection: address(2)?,
            statement: address(3)?,
            read_only: number(5)? == 1,
            autocommit: number(6)? == 1,
            scanned: number(7)?,
            sorts: number(8)?,
        },
        "w" => io(IoOperation::Write {
            offset: number(2)?,
            bytes: number(3)?,
        }),
        "f" => io(IoOperation::Flush {
            data_only: number(2)? == 1,
        }),
        "t" => io(IoOperation::Resize),
        "u" => io(IoOperation::Remove),
        "x" => EventKind::Limit,
        _ => return Some(None),
    };
    Some(Some(TraceEvent {
        time: number(0)?,
        process,
        thread: u32::try_from(number(1)?).ok()?,
        kind,
    }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const TRACE: &[u8] = b"p 100 7 8\n/bin/app\n\
        o 101 7 a0 5\n/t.db\n\
        s 102 7 a0 b0 1 23\nINSERT INTO t\nVALUES(1)\n\
        w 103 7 512 1024 13\n/t.db-journal\n\
        f 104 7 1 15\n/t.db (deleted)\n\
        e 105 7 a0 b0 3000 0 1 12 0 44\n\
        ? 105 7 0\n\n\
        c 106 7 a0\n";

    fn parse(bytes: &[u8]) -> Vec<TraceEvent> {
        let mut events = Vec::new();
        parse_events(bytes, 9, &mut events);
        events
    }

    #[test]
    fn records_of_each_kind() {
        let events = parse(TRACE);
        let times: Vec<u64> = events.iter().map(|event| event.time).collect();
        assert_eq!(times, [100, 101, 102, 103, 104, 105, 106]);
        assert_eq!(
            events[2].kind,
            EventKind::Begin {
                connection: 0xa0,
                statement: 0xb0,
                expanded: true,
                sql: "INSERT INTO t\nVALUES(1)".to_owned(),
            }
        );
        assert_eq!(
            events[4].kind,
            EventKind::Io {
                path: "/t.db".to_owned(),
                operation: IoOperation::Flush { data_only: true },
            }
        );
    }

    #[test]
    fn a_record_that_is_cut_ends_the_file() {
        let whole = parse(TRACE).len();
        let mut last = 0;
        for length in 0..TRACE.len() {
            let count = parse(&TRACE[..length]).len();
            assert!(count >= last && count <= whole);
            last = count;
        }
        assert_eq!(parse(b"s 1 2 a b 1 99999999999999999999\nx\n"), []);
        assert_eq!(parse(b"\xff\xfe 1\n"), []);
    }
}
