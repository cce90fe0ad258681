//! [`summarise_events`]: follows connections, statements and transactions through the records.

use std::collections::BTreeMap;
use std::path::Path;

use super::observed::{CommitShape, FileIo, Observed, StatementShape};
use super::trace::{Address, EventKind, IoOperation, TraceEvent};
use crate::doctor::sql_text;
use crate::doctor::workload::Transaction;

/// A commit that begins so soon after the one before, on the same connection, could have been the
/// same transaction.
const BURST_GAP: u64 = 50_000_000;
/// Distinct shapes that are kept.
const MOST_SHAPES: usize = 5_000;

pub fn summarise_events(events: &[TraceEvent], database: &Path, page_size: u32) -> Observed {
    let mut observer = Observer {
        database: database.to_string_lossy().into_owned(),
        page_size: u64::from(page_size.max(512)),
        ..Observer::default()
    };
    for event in events {
        observer.event(event);
    }
    let time = |event: Option<&TraceEvent>| event.map_or(0, |event| event.time);
    let span = time(events.last()).saturating_sub(time(events.first()));
    observer.finish(span as f64 / 1e9)
}

type ConnectionId = (u32, Address);

#[derive(Default)]
struct ConnectionState {
    number: u32,
    /// Statements of the open transaction.
    statements: Vec<String>,
    in_transaction: bool,
    /// Statements that may have changed something.
    changes: u64,
    begun: u64,
    last_commit: Option<u64>,
    io: FileIo,
    pages: BTreeMap<u64, u64>,
}

struct Running {
    connection: ConnectionId,
    thread: (u32, u32),
    sql: String,
    begun: u64,
}

#[derive(Default)]
struct Observer {
    database: String,
    page_size: u64,
    observed: Observed,
    names: BTreeMap<u32, String>,
    /// The times of each process's first opening of the database and last use of SQLite.
    used: BTreeMap<u32, (u64, u64)>,
    connections: BTreeMap<ConnectionId, ConnectionState>,
    running: BTreeMap<(u32, Address), Running>,
    /// The connection that ran a statement last in a thread.
    current: BTreeMap<(u32, u32), ConnectionId>,
    /// Counters of a statement at its last end.
    counted: BTreeMap<(u32, Address), (u64, u64)>,
    commits: BTreeMap<(String, String), CommitShape>,
    statements: BTreeMap<String, StatementShape>,
}

impl Observer {
    fn event(&mut self, event: &TraceEvent) {
        let process = event.process;
        if let Some((_, last)) = self.used.get_mut(&process) {
            *last = event.time;
        }
        match &event.kind {
            EventKind::Program(path) => {
                let name = path.rsplit('/').next().unwrap_or(path).to_owned();
                self.names.insert(process, name);
            }
            EventKind::Sqlite(text) => match text.strip_prefix("DEFAULT_") {
                Some(text) => {
                    let (name, value) = text.split_once('=').unwrap_or((text, ""));
                    let defaults = &mut self.observed.defaults;
                    defaults.insert(name.to_ascii_lowercase(), value.to_owned());
                }
                None => self.observed.sqlite = Some(text.clone()),
            },
            EventKind::Open(connection) => self.open(event, (process, *connection)),
            EventKind::Close(connection) => self.close((process, *connection)),
            EventKind::Untraceable => self.observed.untraceable += 1,
            EventKind::Begin {
                connection,
                statement,
                sql,
                ..
            } => self.begin(event, (process, *connection), *statement, sql),
            EventKind::End {
                connection,
                statement,
                read_only,
                autocommit,
                scanned,
                sorts,
            } => {
                let end = StatementEnd {
                    read_only: *read_only,
                    autocommit: *autocommit,
                    counters: (*scanned, *sorts),
                };
                self.end(event, (process, *connection), *statement, end);
            }
            EventKind::Io { path, operation } => self.io(event, path, *operation),
            EventKind::Limit => self.observed.limited = true,
        }
    }

    fn open(&mut self, event: &TraceEvent, id: ConnectionId) {
        self.observed.connections += 1;
        let used = self.used.entry(event.process);
        used.or_insert((event.time, event.time));
        let number = u32::try_from(self.observed.connections).unwrap_or(u32::MAX);
        self.current.insert((event.process, event.thread), id);
        let state = ConnectionState {
            number,
            ..ConnectionState::default()
        };
        self.connections.insert(id, state);
        let program = self.names.get(&event.process).cloned().unwrap_or_default();
        if !self.observed.programs.contains(&program) {
            self.observed.programs.push(program);
        }
    }

    fn close(&mut self, id: ConnectionId) {
        if let Some(state) = self.connections.get_mut(&id) {
            let io = std::mem::take(&mut state.io);
            self.observed.io_outside = self.observed.io_outside.plus(&io);
            state.in_transaction = false;
        }
    }

    fn begin(&mut self, event: &TraceEvent, id: ConnectionId, statement: Address, sql: &str) {
        let Some(state) = self.connections.get_mut(&id) else {
            return;
        };
        if !state.in_transaction && state.statements.is_empty() {
            state.begun = event.time;
        }
        self.current.insert((event.process, event.thread), id);
        let running = Running {
            connection: id,
            thread: (event.process, event.thread),
            sql: sql.to_owned(),
            begun: event.time,
        };
        self.running.insert((event.process, statement), running);
    }

    fn end(&mut self, event: &TraceEvent, id: ConnectionId, statement: Address, end: StatementEnd) {
        let key = (event.process, statement);
        let before = self.counted.insert(key, end.counters).unwrap_or_default();
        let Some(running) = self.running.remove(&key) else {
            return;
        };
        if running.connection != id {
            return;
        }
        // Counters that went back are of another statement at the same address.
        let since = |now: u64, before: u64| now.checked_sub(before).unwrap_or(now);
        let scanned = since(end.counters.0, before.0);
        let sorts = since(end.counters.1, before.1);
        let sql = running.sql;
        if let Some((name, value)) = sql_text::pragma(&sql) {
            self.setting(name, value);
        } else {
            let seconds = event.time.saturating_sub(running.begun) as f64 / 1e9;
            self.count_statement(&sql, seconds, scanned, sorts);
        }
        self.advance(event, id, sql, &end);
    }

    fn setting(&mut self, name: String, value: Option<String>) {
        if let Some(value) = value {
            self.observed.settings.insert(name, value);
        }
    }

    fn count_statement(&mut self, sql: &str, seconds: f64, scanned: u64, sorts: u64) {
        let shape = sql_text::shape(sql);
        if self.statements.len() >= MOST_SHAPES && !self.statements.contains_key(&shape) {
            return;
        }
        let counted = self.statements.entry(shape.clone()).or_default();
        if counted.runs == 0 {
            counted.statement = shape;
            counted.example = sql.to_owned();
        }
        counted.runs += 1;
        counted.seconds += seconds;
        counted.scanned += scanned;
        counted.sorts += sorts;
    }

    /// Follows the transaction of a connection after a statement.
    fn advance(&mut self, event: &TraceEvent, id: ConnectionId, sql: String, end: &StatementEnd) {
        let Some(state) = self.connections.get_mut(&id) else {
            return;
        };
        let words = sql_text::split_words(&sql);
        let first = |keywords: &[&str]| {
            let word = words.first();
            word.is_some_and(|word| keywords.iter().any(|keyword| word.is_keyword(keyword)))
        };
        let is_control = first(&["BEGIN", "COMMIT", "END"])
            || (first(&["ROLLBACK"]) && words.len() <= 2)
            || (first(&["SAVEPOINT", "RELEASE"]) && end.autocommit != state.in_transaction);
        let is_setting = sql_text::pragma(&sql)
            .is_some_and(|(name, _)| !matches!(name.as_str(), "user_version" | "application_id"));
        let rolled_back = first(&["ROLLBACK"]) && end.autocommit;
        if !is_control && !is_setting && !rolled_back {
            state.changes += u64::from(!end.read_only);
            state.statements.push(sql);
        }
        state.in_transaction = !end.autocommit;
        if !end.autocommit {
            return;
        }
        let statements = std::mem::take(&mut state.statements);
        let changes = std::mem::take(&mut state.changes);
        let io = std::mem::take(&mut state.io);
        let pages = std::mem::take(&mut state.pages);
        if rolled_back {
            self.observed.rollbacks += u64::from(changes > 0);
        }
        if rolled_back || changes == 0 {
            self.observed.io_outside = self.observed.io_outside.plus(&io);
            return;
        }
        let soon = |last: u64| state.begun.saturating_sub(last) < BURST_GAP;
        let follows = state.last_commit.is_some_and(soon);
        state.last_commit = Some(event.time);
        let transaction = Transaction {
            connection: state.number,
            follows,
            statements,
        };
        let rewritten = pages.values().filter(|writes| **writes > 1).count() as u64;
        self.observed.changing_statements += changes;
        self.commit(event.process, transaction, &io, rewritten);
    }

    fn commit(&mut self, process: u32, transaction: Transaction, io: &FileIo, rewritten: u64) {
        let reads = ["SELECT", "WITH", "EXPLAIN", "VALUES"];
        let is_change = |sql: &&String| {
            let words = sql_text::split_words(sql);
            words
                .first()
                .is_some_and(|word| !reads.iter().any(|read| word.is_keyword(read)))
        };
        let first = transaction.statements.iter().find(is_change);
        let first = first.or(transaction.statements.first());
        let shape = first.map(|sql| sql_text::shape(sql)).unwrap_or_default();
        let program = self.names.get(&process).cloned().unwrap_or_default();
        let key = (program, shape);
        if self.commits.len() < MOST_SHAPES || self.commits.contains_key(&key) {
            let counted = self.commits.entry(key.clone()).or_default();
            (counted.program, counted.statement) = key;
            counted.commits += 1;
            counted.io = counted.io.plus(io);
            counted.rewritten_pages += rewritten;
        }
        self.observed.commits += 1;
        self.observed.commits_in_bursts += u64::from(transaction.follows);
        self.observed.transactions.push(transaction);
    }

    fn io(&mut self, event: &TraceEvent, path: &str, operation: IoOperation) {
        let kind = match path.strip_prefix(self.database.as_str()) {
            Some("") => "database",
            Some("-journal") => "journal",
            Some("-wal") => "wal",
            Some("-shm") => return,
            Some("-redo") => "redo",
            _ => "directory",
        };
        // Of the directory, flushes within a statement are about the database; other flushes are about
        // other files in it.
        let thread = (event.process, event.thread);
        let is_flush = matches!(operation, IoOperation::Flush { .. });
        let in_statement = || {
            self.running
                .values()
                .any(|running| running.thread == thread)
        };
        if kind == "directory" && (!is_flush || !in_statement()) {
            return;
        }
        let io = self.observed.io.entry(kind.to_owned()).or_default();
        io.add(operation);
        let id = self.current.get(&(event.process, event.thread));
        match id.and_then(|id| self.connections.get_mut(id)) {
            Some(state) => {
                state.io.add(operation);
                if let ("database", IoOperation::Write { offset, bytes }) = (kind, operation) {
                    for page in 0..(bytes / self.page_size).max(1) {
                        *state
                            .pages
                            .entry(offset / self.page_size + page)
                            .or_default() += 1;
                    }
                }
            }
            None => self.observed.io_outside.add(operation),
        }
    }

    fn finish(mut self, seconds: f64) -> Observed {
        for state in self.connections.values() {
            self.observed.io_outside = self.observed.io_outside.plus(&state.io);
        }
        let mut commits: Vec<CommitShape> = self.commits.into_values().collect();
        // A flush takes as long as some writes.
        let cost = |shape: &CommitShape| shape.io.flushes() * (64 << 10) + shape.io.bytes;
        commits.sort_by_key(|shape| std::cmp::Reverse(cost(shape)));
        let mut statements: Vec<StatementShape> = self.statements.into_values().collect();
        statements.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let mut begun: Vec<u64> = self.used.values().map(|(first, _)| *first).collect();
        let mut ended: Vec<u64> = self.used.values().map(|(_, last)| *last).collect();
        begun.sort_unstable();
        ended.sort_unstable();
        let mut over = 0;
        // Most processes use it at once when one of them begins.
        let at_once = begun.iter().zip(1_usize..).map(|(now, begun)| {
            while ended.get(over).is_some_and(|last| last < now) {
                over += 1;
            }
            begun - over
        });
        self.observed.processes_at_once = at_once.max().unwrap_or(0) as u64;
        self.observed.commit_shapes = commits;
        self.observed.statement_shapes = statements;
        self.observed.seconds = seconds;
        self.observed
    }
}

struct StatementEnd {
    read_only: bool,
    autocommit: bool,
    counters: (u64, u64),
}
