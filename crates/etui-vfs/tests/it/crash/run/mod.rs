//! [`run`]: runs steps on a disk and on the model, and marks commits begun and guaranteed in the
//! disk's history.

use std::collections::BTreeSet;

use etui_testkit::disk::{DiskMount, RecordingDisk};
use rusqlite::{Connection, ErrorCode, Row};

use crate::crash::check::Subject;
use crate::crash::commits::{Commits, Mark};
use crate::crash::model::{Model, Write, hash_in};
use crate::crash::steps::{CONNECTIONS, Journal, Setup, Step, Synchronous};

mod sessions;
mod upkeep;

/// The database's name on its disk.
pub const DATABASE: &str = "/db";

/// A transaction in progress.
#[derive(Debug)]
struct Transaction {
    tables: Model,
    savepoints: Vec<Model>,
}

/// A connection and its transaction.
#[derive(Debug)]
struct Session {
    sql: Connection,
    transaction: Option<Transaction>,
    /// The tables in its open read transaction.
    snapshot: Option<u64>,
}

/// A history in progress.
pub struct Run<'a> {
    subject: &'a Subject,
    setup: &'a Setup,
    mount: DiskMount,
    sessions: [Option<Session>; CONNECTIONS],
    committed: Model,
    journal: Journal,
    pub commits: Commits,
    acknowledged: usize,
    /// The tables after commits that failed since the last successful one.
    doubtful: Vec<(usize, Model)>,
    /// The initial set-up is done.
    made: bool,
    /// Errors of the disk are expected.
    faulty: bool,
}

/// Returns the row of a pragma. The pragma is complete only after the row, and may fail then.
fn answer<T>(
    sql: &Connection,
    text: &str,
    read: impl FnOnce(&Row) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let mut statement = sql.prepare(text)?;
    let mut rows = statement.query(())?;
    let row = rows.next()?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    let value = read(row)?;
    while rows.next()?.is_some() {}
    Ok(value)
}

/// A wrong state of the database without a failure.
pub type Wrong = String;

/// Runs the steps. Returns the disk, closed, and the commits.
pub fn run(
    subject: &Subject,
    setup: &Setup,
    steps: &[Step],
) -> (RecordingDisk, Commits, Result<(), Wrong>) {
    let disk = RecordingDisk::new();
    let mut run = Run::new(subject, setup, &disk, false);
    let mut done = Ok(());
    for (at, step) in steps.iter().enumerate() {
        done = run
            .step(step)
            .map_err(|wrong| format!("step {at}, {step:?}: {wrong}"));
        if done.is_err() {
            break;
        }
    }
    let done = done.and_then(|()| run.compare()).and_then(|()| run.close());
    let commits = run.commits.clone();
    drop(run);
    (disk, commits, done)
}

impl<'a> Run<'a> {
    pub fn new(subject: &'a Subject, setup: &'a Setup, disk: &RecordingDisk, faulty: bool) -> Self {
        Self {
            subject,
            setup,
            mount: subject.rack.mount(disk),
            sessions: [None, None, None],
            committed: Model::default(),
            journal: Journal::Delete,
            commits: Commits {
                states: vec![Model::default().hash()],
                failed: BTreeSet::new(),
            },
            acknowledged: 0,
            doubtful: Vec::new(),
            made: false,
            faulty,
        }
    }

    fn mark(&self, mark: Mark) {
        self.mount.disk.mark(mark.encode());
    }

    fn expected(&self, error: &rusqlite::Error) -> bool {
        let busy = matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        );
        busy || self.faulty
    }

    /// Returns the level in use. Rollback journals require FULL or EXTRA. With FULL, SQLite
    /// truncates the database after the deletion of a journal that is not durable yet. File systems
    /// with a journal for names and sizes keep that order; the laboratory's disk does not.
    fn synchronous(&self) -> Synchronous {
        match self.journal {
            Journal::Wal => self.setup.synchronous,
            Journal::Delete => Synchronous::Extra,
            _ => self.setup.synchronous.max(Synchronous::Full),
        }
    }

    fn set_synchronous(&self, sql: &Connection) -> rusqlite::Result<()> {
        let level = self.synchronous() as u8;
        sql.execute_batch(&format!("PRAGMA synchronous = {level}"))
    }

    /// Returns true if SQLite guarantees that an acknowledged commit survives a power failure.
    fn commit_is_promised(&self) -> bool {
        match self.synchronous() {
            Synchronous::Off | Synchronous::Normal => false,
            Synchronous::Full | Synchronous::Extra => true,
        }
    }

    fn promise(&self) {
        self.mark(Mark::Durable(self.acknowledged));
    }

    /// Begins a commit with these tables. A commit without changes is not counted: it may write
    /// nothing, and then shows nothing about the one before.
    fn begin(&mut self, tables: &Model) -> Option<usize> {
        if *tables == self.committed {
            return None;
        }
        let commit = self.commits.states.len();
        self.commits.states.push(tables.hash());
        self.mark(Mark::Begun(commit));
        Some(commit)
    }

    fn acknowledge(&mut self, commit: Option<usize>, tables: Model) {
        let Some(commit) = commit else {
            return;
        };
        self.committed = tables;
        self.acknowledged = commit;
        self.doubtful.clear();
        self.mark(Mark::Acknowledged(commit));
        if self.commit_is_promised() {
            self.promise();
        }
    }

    /// Checks whether an error may happen.
    fn refused(&mut self, error: &rusqlite::Error) -> Result<(), Wrong> {
        match self.expected(error) {
            true => Ok(()),
            false => Err(error.to_string()),
        }
    }

    /// Runs a statement that is a commit of its own.
    fn alone(
        &mut self,
        on: usize,
        tables: Model,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<()>,
    ) -> Result<(), Wrong> {
        let Some(session) = self.session(on)? else {
            return Ok(());
        };
        if session.transaction.is_some() || session.snapshot.is_some() {
            return Ok(());
        }
        let commit = self.begin(&tables);
        let Some(session) = self.session(on)? else {
            return Ok(());
        };
        match work(&mut session.sql) {
            Ok(()) => {
                self.acknowledge(commit, tables);
                Ok(())
            }
            Err(error) => {
                self.fail(commit, tables);
                self.refused(&error)
            }
        }
    }

    fn fail(&mut self, commit: Option<usize>, tables: Model) {
        let Some(commit) = commit else {
            return;
        };
        self.commits.failed.insert(commit);
        self.doubtful.push((commit, tables));
    }

    pub fn step(&mut self, step: &Step) -> Result<(), Wrong> {
        if let Step::Write { on, .. }
        | Step::Begin { on }
        | Step::Vacuum { on }
        | Step::IncrementalVacuum { on, .. } = step
        {
            // The schema may be known only now.
            self.session(*on)?;
            self.reconcile(*on)?;
        }
        match step {
            Step::Write { on, write } => self.write(*on, write),
            Step::Begin { on } => {
                let tables = self.committed.clone();
                let Some(session) = self.session(*on)? else {
                    return Ok(());
                };
                if session.transaction.is_some() || session.snapshot.is_some() {
                    return Ok(());
                }
                match session.sql.execute_batch("BEGIN IMMEDIATE") {
                    Ok(()) => {
                        session.transaction = Some(Transaction {
                            tables,
                            savepoints: Vec::new(),
                        });
                        Ok(())
                    }
                    Err(error) => self.refused(&error),
                }
            }
            Step::Commit { on } => self.commit(*on),
            Step::Rollback { on } => self.within(*on, "ROLLBACK", |session| {
                session.transaction = None;
            }),
            Step::Savepoint { on } => self.within(*on, "SAVEPOINT s", |session| {
                if let Some(transaction) = &mut session.transaction {
                    transaction.savepoints.push(transaction.tables.clone());
                }
            }),
            Step::RollbackTo { on } if self.has_savepoint(*on) => {
                self.within(*on, "ROLLBACK TO s", |session| {
                    if let Some(transaction) = &mut session.transaction
                        && let Some(before) = transaction.savepoints.last()
                    {
                        transaction.tables = before.clone();
                    }
                })
            }
            Step::Release { on } if self.has_savepoint(*on) => {
                self.within(*on, "RELEASE s", |session| {
                    if let Some(transaction) = &mut session.transaction {
                        transaction.savepoints.pop();
                    }
                })
            }
            Step::RollbackTo { .. } | Step::Release { .. } => Ok(()),
            Step::Spill { on } => {
                let done = match self.session(*on)? {
                    Some(session) if session.transaction.is_some() => session.sql.cache_flush(),
                    _ => Ok(()),
                };
                done.or_else(|error| self.refused(&error))?;
                self.forget_ended(*on);
                Ok(())
            }
            Step::Read { on } => self.read(*on),
            Step::EndRead { on } => self.end_read(*on),
            Step::Checkpoint { on, mode } => self.checkpoint(*on, mode),
            Step::Vacuum { on } => {
                let tables = self.committed.clone();
                self.alone(*on, tables, |sql| sql.execute_batch("VACUUM"))
            }
            Step::IncrementalVacuum { on, pages } => {
                let tables = self.committed.clone();
                let text = format!("PRAGMA incremental_vacuum({pages})");
                self.alone(*on, tables, |sql| {
                    let mut statement = sql.prepare(&text)?;
                    let mut rows = statement.query(())?;
                    while rows.next()?.is_some() {}
                    Ok(())
                })
            }
            Step::Backup {
                on,
                rows,
                len,
                seed,
                pages,
            } => self.backup(*on, *rows, *len, *seed, *pages),
            Step::Journal { mode } => self.change_journal(*mode),
            Step::Settle => {
                if let Some(etui) = &self.subject.etui {
                    etui.checkpoint_idle();
                }
                Ok(())
            }
            Step::Other { write } => self.write_by_other(write),
            Step::Close { on } => self.close_one(*on),
            Step::Reopen => {
                self.compare()?;
                self.close()
            }
            Step::Kill => {
                self.kill();
                Ok(())
            }
        }
    }

    fn write(&mut self, on: usize, write: &Write) -> Result<(), Wrong> {
        let Some(session) = self.session(on)? else {
            return Ok(());
        };
        let Some(transaction) = &mut session.transaction else {
            let mut tables = self.committed.clone();
            if !write.fits(&tables) {
                return Ok(());
            }
            write.apply(&mut tables);
            return self.alone(on, tables, |sql| write.execute(sql));
        };
        if !write.fits(&transaction.tables) {
            return Ok(());
        }
        match write.execute(&session.sql) {
            Ok(()) => {
                write.apply(&mut transaction.tables);
                Ok(())
            }
            Err(error) => {
                self.forget_ended(on);
                self.refused(&error)
            }
        }
    }

    /// Handles errors after which SQLite rolls the whole transaction back.
    fn forget_ended(&mut self, on: usize) {
        if let Some(Some(session)) = self.sessions.get_mut(on)
            && session.sql.is_autocommit()
        {
            session.transaction = None;
            session.snapshot = None;
        }
    }

    fn has_savepoint(&self, on: usize) -> bool {
        let session = self.sessions.get(on).and_then(Option::as_ref);
        let transaction = session.and_then(|session| session.transaction.as_ref());
        transaction.is_some_and(|transaction| !transaction.savepoints.is_empty())
    }

    /// Changes an open transaction.
    fn within(
        &mut self,
        on: usize,
        text: &str,
        then: impl FnOnce(&mut Session),
    ) -> Result<(), Wrong> {
        let Some(session) = self.session(on)? else {
            return Ok(());
        };
        if session.transaction.is_none() {
            return Ok(());
        }
        match session.sql.execute_batch(text) {
            Ok(()) => {
                then(session);
                Ok(())
            }
            Err(error) => {
                self.forget_ended(on);
                self.refused(&error)
            }
        }
    }

    fn commit(&mut self, on: usize) -> Result<(), Wrong> {
        let transaction = match self.session(on)? {
            Some(session) => session.transaction.take(),
            None => None,
        };
        let Some(transaction) = transaction else {
            return Ok(());
        };
        let commit = self.begin(&transaction.tables);
        let Some(session) = self.session(on)? else {
            return Ok(());
        };
        match session.sql.execute_batch("COMMIT") {
            Ok(()) => {
                self.acknowledge(commit, transaction.tables);
                Ok(())
            }
            Err(error) => {
                // It was not committed; if it is still open, it is rolled back.
                if !session.sql.is_autocommit() {
                    let _ = session.sql.execute_batch("ROLLBACK");
                }
                self.fail(commit, transaction.tables);
                self.refused(&error)
            }
        }
    }

    fn read(&mut self, on: usize) -> Result<(), Wrong> {
        let now = self.committed.hash();
        let Some(session) = self.session(on)? else {
            return Ok(());
        };
        if session.transaction.is_some() || session.snapshot.is_some() {
            return Ok(());
        }
        let begun = session
            .sql
            .execute_batch("BEGIN; SELECT * FROM sqlite_schema");
        match begun {
            Ok(()) => {
                session.snapshot = Some(now);
                Ok(())
            }
            Err(error) => {
                if !session.sql.is_autocommit() {
                    let _ = session.sql.execute_batch("ROLLBACK");
                }
                self.refused(&error)
            }
        }
    }

    fn end_read(&mut self, on: usize) -> Result<(), Wrong> {
        let Some(session) = self.session(on)? else {
            return Ok(());
        };
        let Some(snapshot) = session.snapshot.take() else {
            return Ok(());
        };
        let seen = hash_in(&session.sql);
        let _ = session.sql.execute_batch("ROLLBACK");
        match seen {
            Ok(seen) if seen == snapshot => Ok(()),
            Ok(_) => Err("a reader's snapshot has changed under it".to_owned()),
            Err(error) => self.refused(&error),
        }
    }

    fn close_one(&mut self, on: usize) -> Result<(), Wrong> {
        let Some(session) = self.sessions.get_mut(on).and_then(Option::take) else {
            return Ok(());
        };
        let closed = session.sql.close();
        if let Err((_, error)) = closed {
            return self.refused(&error);
        }
        let last = self.sessions.iter().all(Option::is_none);
        let promised = self.subject.close_is_promised && !self.setup.keep_wal
            || self.setup.synchronous > Synchronous::Off
                && self.journal == Journal::Wal
                && !self.setup.keep_wal
            || self.commit_is_promised();
        if last && promised && !self.faulty {
            self.promise();
        }
        Ok(())
    }

    /// Closes everything; uncommitted changes are lost.
    pub fn close(&mut self) -> Result<(), Wrong> {
        (0..CONNECTIONS).try_for_each(|on| self.close_one(on))
    }

    /// Compares the tables with the model.
    pub fn compare(&mut self) -> Result<(), Wrong> {
        let now = self.committed.hash();
        let idle = |session: &Session| session.transaction.is_none() && session.snapshot.is_none();
        for session in self
            .sessions
            .iter()
            .flatten()
            .filter(|session| idle(session))
        {
            match hash_in(&session.sql) {
                Ok(seen) if seen == now => {}
                Ok(seen) => {
                    let known = self.commits.find(seen);
                    return Err(format!(
                        "the tables are not as the last commit left them, but as after {known:?}"
                    ));
                }
                Err(error) if self.expected(&error) => {}
                Err(error) => return Err(format!("reading: {error}")),
            }
        }
        Ok(())
    }

    /// Returns true if commits rely on a rollback journal now.
    pub fn has_rollback_journal(&self) -> bool {
        self.made && self.journal != Journal::Wal
    }

    /// Returns the newest acknowledged commit.
    pub fn acknowledged(&self) -> usize {
        self.acknowledged
    }
}
