//! Opening connections, and the outcome of failed commits.

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::{DATABASE, Run, Session, Wrong, answer};
use crate::crash::model::hash_in;
use crate::crash::steps::Journal;

impl Run<'_> {
    /// Returns the session with this number, and opens it if necessary.
    pub(super) fn session(&mut self, on: usize) -> Result<Option<&mut Session>, Wrong> {
        let on = if self.setup.exclusive { 0 } else { on };
        if self.sessions[on].is_none() {
            match self.open() {
                Ok(sql) => {
                    if self.faulty && !self.settle(&sql)? {
                        return Ok(None);
                    }
                    self.sessions[on] = Some(Session {
                        sql,
                        transaction: None,
                        snapshot: None,
                    });
                }
                Err(error) if self.expected(&error) => return Ok(None),
                Err(error) => return Err(format!("open: {error}")),
            }
        }
        Ok(self.sessions[on].as_mut())
    }

    /// Decides whether a failed commit exists, after all connections were closed.
    fn settle(&mut self, sql: &Connection) -> Result<bool, Wrong> {
        if self.sessions.iter().any(Option::is_some) {
            return Ok(true);
        }
        match hash_in(sql) {
            Ok(seen) => self.adopt(seen).map(|()| true),
            Err(_) => Ok(false),
        }
    }

    /// With a rollback journal a commit may be complete although it failed, e.g. when half of the
    /// journal's header was zeroed. A WAL leaves no such doubt while it is open.
    pub(super) fn reconcile(&mut self, on: usize) -> Result<(), Wrong> {
        if self.doubtful.is_empty() || self.journal == Journal::Wal {
            return Ok(());
        }
        let seen = match self.session(on)? {
            Some(session) if session.transaction.is_none() && session.snapshot.is_none() => {
                hash_in(&session.sql)
            }
            _ => return Ok(()),
        };
        seen.map_or(Ok(()), |seen| self.adopt(seen))
    }

    /// Accepts this state: that of the last commit, or of a failed one.
    fn adopt(&mut self, seen: u64) -> Result<(), Wrong> {
        if seen == self.committed.hash() {
            return Ok(());
        }
        let mut doubtful = self.doubtful.iter();
        let there = doubtful.find(|(_, tables)| tables.hash() == seen);
        let Some((commit, tables)) = there.cloned() else {
            return Err(format!(
                "the tables are as after {:?}, not {}",
                self.commits.find(seen),
                self.acknowledged
            ));
        };
        self.commits.failed.remove(&commit);
        self.committed = tables;
        Ok(())
    }

    fn open(&mut self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let path = self.mount.path(DATABASE);
        let sql = Connection::open_with_flags_and_vfs(path, flags, self.subject.vfs.as_str())?;
        let setup = self.setup;
        sql.execute_batch(&format!(
            "PRAGMA busy_timeout = 0;
             PRAGMA page_size = {};
             PRAGMA auto_vacuum = {};
             PRAGMA cache_size = {};
             PRAGMA synchronous = EXTRA;",
            setup.page_size, setup.auto_vacuum, setup.cache_pages
        ))?;
        if setup.exclusive {
            sql.execute_batch("PRAGMA locking_mode = EXCLUSIVE")?;
        }
        if !self.made {
            self.journal = setup.journal;
        }
        // The file does not record the kind of rollback mode.
        let text = format!("PRAGMA journal_mode = {}", self.journal.name());
        let mode: String = answer(&sql, &text, |row| row.get(0))?;
        if mode != self.journal.name() {
            return Err(rusqlite::Error::InvalidParameterName(mode));
        }
        self.made = true;
        sql.execute_batch(&format!(
            "PRAGMA wal_autocheckpoint = {}",
            setup.autocheckpoint
        ))?;
        self.set_synchronous(&sql)?;
        sql.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, setup.keep_wal)?;
        Ok(sql)
    }

    /// Kills the process: no further operation of its connections reaches the disk. The kernel
    /// survives, with all unflushed writes.
    pub(super) fn kill(&mut self) {
        self.mount.disk.kill();
        self.sessions = [None, None, None];
        let next = self.mount.disk.another_process();
        self.mount = self.subject.rack.mount(&next);
    }
}
