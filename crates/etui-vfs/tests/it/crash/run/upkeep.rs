//! Steps that concern the whole database: checkpoints, backups, other journal modes.

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::{DATABASE, Run, Wrong, answer};
use crate::crash::check::connect;
use crate::crash::model::{Model, Write};
use crate::crash::steps::{Journal, Synchronous};

impl Run<'_> {
    pub(super) fn checkpoint(&mut self, on: usize, mode: &str) -> Result<(), Wrong> {
        let Some(session) = self.session(on)? else {
            return Ok(());
        };
        if session.snapshot.is_some() {
            return Ok(());
        }
        let text = format!("PRAGMA wal_checkpoint({mode})");
        let done = answer(&session.sql, &text, |row| {
            Ok((
                row.get::<_, i64>(0)?,
                row.get::<_, i64>(1)?,
                row.get::<_, i64>(2)?,
            ))
        });
        match done {
            Ok((0, log, back)) if log == back && log >= 0 => {
                if self.synchronous() > Synchronous::Off {
                    self.promise();
                }
                Ok(())
            }
            Ok(_) => Ok(()),
            Err(error) => self.refused(&error),
        }
    }

    pub(super) fn backup(
        &mut self,
        on: usize,
        rows: u32,
        len: u32,
        seed: u64,
        pages: Option<u32>,
    ) -> Result<(), Wrong> {
        let setup = self.setup;
        let made = || -> rusqlite::Result<(Connection, Model)> {
            let source = Connection::open_in_memory()?;
            source.execute_batch(&format!(
                "PRAGMA page_size = {}; PRAGMA auto_vacuum = {};",
                setup.page_size, setup.auto_vacuum
            ))?;
            let mut tables = Model::default();
            let insert = Write::Insert {
                table: 1,
                rows,
                len,
                seed,
            };
            for write in [Write::Create { table: 1 }, insert] {
                write.execute(&source)?;
                write.apply(&mut tables);
            }
            Ok((source, tables))
        };
        let (source, tables) = made().map_err(|error| error.to_string())?;
        // An aborted one leaves everything unchanged.
        let step = pages.map_or(-1, |pages| pages as i32);
        self.alone(on, tables, |sql| {
            let backup = Backup::new(&source, sql)?;
            match backup.step(step)? {
                StepResult::Done => Ok(()),
                _ => Err(rusqlite::Error::SqliteFailure(
                    rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY),
                    None,
                )),
            }
        })
    }

    /// Commits by another program, to SQLite's own WAL.
    pub(super) fn write_by_other(&mut self, write: &Write) -> Result<(), Wrong> {
        let mut tables = self.committed.clone();
        let is_open = self.session(0)?.is_some() && self.journal == Journal::Wal;
        if !is_open || !write.fits(&tables) || self.subject.etui.is_some() {
            return Ok(());
        }
        write.apply(&mut tables);
        let commit = self.begin(&tables);
        let done = connect(&self.mount.path(DATABASE), &self.subject.vfs).and_then(|sql| {
            self.set_synchronous(&sql)?;
            write.execute(&sql)?;
            sql.close().map_err(|(_, error)| error)
        });
        match done {
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

    /// Requires a database that no other connection has open.
    pub(super) fn change_journal(&mut self, mode: Journal) -> Result<(), Wrong> {
        let open = self.sessions.iter().flatten().count();
        if open > 1 || self.setup.synchronous < Synchronous::Full {
            return Ok(());
        }
        let on = self.sessions.iter().position(Option::is_some).unwrap_or(0);
        let Some(session) = self.session(on)? else {
            return Ok(());
        };
        if session.transaction.is_some() || session.snapshot.is_some() {
            return Ok(());
        }
        let changed = session
            .sql
            .execute_batch("PRAGMA synchronous = EXTRA")
            .and_then(|()| {
                let text = format!("PRAGMA journal_mode = {}", mode.name());
                answer(&session.sql, &text, |row| row.get::<_, String>(0))
            });
        match changed {
            Ok(now) if now == mode.name() => self.journal = mode,
            Ok(now) => return Err(format!("journal mode is {now}, not {}", mode.name())),
            Err(error) => return self.refused(&error),
        }
        let Some(Some(session)) = self.sessions.get(on) else {
            return Ok(());
        };
        let done = self.set_synchronous(&session.sql);
        done.or_else(|error| self.refused(&error))
    }
}
