//! Plain SQLite: a table of texts.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use rusqlite::{Connection, params};

use super::super::saves::{SaveKind, SaveStep, StoreState};
use super::CutStore;
use crate::experiments::common::open_database;
use crate::{ArmSettings, Error, redo};

/// An open database.
pub struct PlainStore {
    db: Connection,
}

impl PlainStore {
    /// Opens the database with the journal mode of an arm.
    pub fn open(settings: &ArmSettings, dir: &Path) -> Result<Self, Error> {
        let vfs = settings.is("redo").then(plain_vfs).transpose()?;
        let db = open_database(&dir.join("plain.db"), vfs)?;
        let (journal, sync) = (settings.text("journal")?, settings.text("sync")?);
        db.query_row(&format!("PRAGMA journal_mode = {journal}"), [], |_| Ok(()))?;
        db.execute_batch(&format!(
            "PRAGMA synchronous = {sync};
         CREATE TABLE IF NOT EXISTS record (name TEXT PRIMARY KEY, text BLOB NOT NULL) STRICT;
         CREATE INDEX IF NOT EXISTS record_text ON record (text);"
        ))?;
        Ok(Self { db })
    }
}

impl CutStore for PlainStore {
    fn save(&mut self, step: &SaveStep) -> Result<(), Error> {
        let key = format!("{}/{}", step.kind, step.name);
        match &step.text {
            Some(text) => self.db.execute(
                "INSERT INTO record VALUES (?1, ?2) \
                 ON CONFLICT DO UPDATE SET text = excluded.text",
                params![key, text],
            )?,
            None => self
                .db
                .execute("DELETE FROM record WHERE name = ?1", [key])?,
        };
        Ok(())
    }

    fn read_state(&self) -> Result<StoreState, Error> {
        let db = &self.db;
        let mut statement = db.prepare("SELECT name, text FROM record")?;
        let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
        let mut state = StoreState::new();
        for row in rows {
            let (key, text) = row?;
            let (kind, name) = key.split_once('/').unwrap_or((&key, ""));
            let kind = SaveKind::named(kind)?;
            state.insert((kind, name.to_owned()), text);
        }
        Ok(state)
    }

    fn check(&self) -> Result<Vec<String>, Error> {
        let mut statement = self.db.prepare("PRAGMA integrity_check")?;
        let lines = statement.query_map([], |row| row.get(0))?;
        let lines: Vec<String> = lines.collect::<rusqlite::Result<_>>()?;
        Ok(lines.into_iter().filter(|line| line != "ok").collect())
    }

    fn close(self: Box<Self>) -> Result<(), Error> {
        self.db.close().map_err(|(_, error)| error.into())
    }
}

/// The name of the VFS `etui` for plain SQLite: one for all openings of this process.
fn plain_vfs() -> Result<&'static str, Error> {
    static VFS: OnceLock<Option<etui_vfs::Vfs>> = OnceLock::new();
    let vfs = VFS.get_or_init(|| redo::register_vfs(redo::vfs_options(), Duration::ZERO).ok());
    let vfs = vfs.as_ref().map(etui_vfs::Vfs::name);
    vfs.ok_or_else(|| Error::other("the VFS `etui` cannot be registered"))
}
