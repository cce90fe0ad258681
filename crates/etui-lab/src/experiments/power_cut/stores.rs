//! The stores under test: etui at each durability level and on each VFS, and plain SQLite.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use etui::calendar::CalendarObject;
use etui::contacts::Card;
use etui::media::ScanOptions;
use etui::{Durability, Store};
use etui_testkit::media::{AudioFormat, TrackSpec, audio_file};
use rusqlite::{Connection, OptionalExtension, params};

use super::saves::{SaveKind, SaveStep, StoreState, contact_text};
use crate::experiments::backends::local::Kept;
use crate::experiments::common::{open_database, people_options};
use crate::{ArmSettings, Error, redo};

/// Milliseconds of a track.
const LENGTH: u32 = 200;
/// The record that is saved after a cut.
const AFTER: &str = "after-the-cut";

/// An open store of an arm.
pub enum OpenStore {
    /// etui.
    Etui {
        /// The store.
        store: Store,
        /// The folder of music.
        music: PathBuf,
    },
    /// Plain SQLite: a table of texts.
    Plain {
        /// The database.
        db: Connection,
    },
}

impl OpenStore {
    /// Opens the store of an arm in a directory, as a program does when it starts.
    pub fn open(settings: &ArmSettings, dir: &Path) -> Result<Self, Error> {
        match settings.text("product")? {
            "etui" => open_etui(settings, dir),
            _ => open_plain(settings, dir),
        }
    }

    /// Does a step. It is acknowledged when this returns.
    pub fn save(&mut self, step: &SaveStep) -> Result<(), Error> {
        match self {
            Self::Plain { db } => {
                let key = format!("{:?}/{}", step.kind, step.name);
                match &step.text {
                    Some(text) => db.execute(
                        "INSERT INTO record VALUES (?1, ?2) \
                         ON CONFLICT DO UPDATE SET text = excluded.text",
                        params![key, text],
                    )?,
                    None => db.execute("DELETE FROM record WHERE name = ?1", [key])?,
                };
                Ok(())
            }
            Self::Etui { store, music } => match (step.kind, &step.text) {
                (SaveKind::Contact, Some(text)) => {
                    store.contacts()?.save(&Card::parse(text.clone())?)?;
                    Ok(())
                }
                (SaveKind::Contact, None) => Ok(store.contacts()?.remove(&step.name)?),
                (SaveKind::Event, Some(text)) => {
                    store
                        .calendar()?
                        .save(&<CalendarObject as Kept>::parsed(text)?)?;
                    Ok(())
                }
                (SaveKind::Event, None) => Ok(store.calendar()?.remove(&step.name)?),
                (SaveKind::Track, text) if text.as_deref() == Some(b"0") => {
                    scan_track(store, music, &step.name)
                }
                (SaveKind::Track, _) => play_track(store, &step.name),
            },
        }
    }

    /// Reads all records.
    pub fn read_state(&self) -> Result<StoreState, Error> {
        match self {
            Self::Plain { db } => read_plain(db),
            Self::Etui { store, .. } => read_etui(store),
        }
    }

    /// Checks the store's own rules: none of the problems if it is intact.
    pub fn check(&self) -> Result<Vec<String>, Error> {
        match self {
            Self::Plain { db } => {
                let mut statement = db.prepare("PRAGMA integrity_check")?;
                let lines = statement.query_map([], |row| row.get(0))?;
                let lines: Vec<String> = lines.collect::<rusqlite::Result<_>>()?;
                Ok(lines.into_iter().filter(|line| line != "ok").collect())
            }
            Self::Etui { store, .. } => {
                let report = store.check()?;
                Ok(report.problems.into_iter().chain(report.outdated).collect())
            }
        }
    }

    /// Saves a record, and reads it.
    pub fn use_again(&mut self) -> Result<(), Error> {
        let text = contact_text(AFTER, 0);
        let kind = SaveKind::Contact;
        self.save(&SaveStep {
            kind,
            name: AFTER.to_owned(),
            text: Some(text.clone()),
        })?;
        let found = match self {
            Self::Plain { db } => {
                let query = "SELECT text FROM record WHERE name = ?1";
                let name = format!("{kind:?}/{AFTER}");
                db.query_row(query, [name], |row| row.get(0)).optional()?
            }
            Self::Etui { store, .. } => store.contacts()?.get(AFTER)?.map(|stored| stored.text),
        };
        match found == Some(text) {
            true => Ok(()),
            false => Err(Error::other("a record saved after the cut is not there")),
        }
    }

    /// Closes it, as a program does when it ends.
    pub fn close(self) -> Result<(), Error> {
        match self {
            Self::Etui { store, .. } => Ok(store.close()?),
            Self::Plain { db } => db.close().map_err(|(_, error)| error.into()),
        }
    }
}

fn open_etui(settings: &ArmSettings, dir: &Path) -> Result<OpenStore, Error> {
    let mut options = people_options();
    options.durability = match settings.text("durability")? {
        "full" => Durability::Full,
        _ => Durability::Deferred,
    };
    options.vfs = match settings.text("vfs")? {
        "system" => etui::Vfs::System,
        "bursts" => etui::Vfs::Bursts,
        _ => etui::Vfs::Etui,
    };
    // After a cut nothing else has it open.
    options.busy_timeout = Duration::from_secs(5);
    let store = Store::open_with(dir.join("store.etui"), &options)?;
    let music = dir.join("music");
    fs::create_dir_all(&music).map_err(|e| Error::file(&music, e))?;
    Ok(OpenStore::Etui { store, music })
}

fn open_plain(settings: &ArmSettings, dir: &Path) -> Result<OpenStore, Error> {
    let vfs = settings.is("redo").then(plain_vfs).transpose()?;
    let db = open_database(&dir.join("plain.db"), vfs)?;
    let (journal, sync) = (settings.text("journal")?, settings.text("sync")?);
    db.query_row(&format!("PRAGMA journal_mode = {journal}"), [], |_| Ok(()))?;
    db.execute_batch(&format!(
        "PRAGMA synchronous = {sync};
         CREATE TABLE IF NOT EXISTS record (name TEXT PRIMARY KEY, text BLOB NOT NULL) STRICT;
         CREATE INDEX IF NOT EXISTS record_text ON record (text);"
    ))?;
    Ok(OpenStore::Plain { db })
}

/// The name of the VFS `etui` for plain SQLite: one for all openings of this process.
fn plain_vfs() -> Result<&'static str, Error> {
    static VFS: OnceLock<Option<etui_vfs::Vfs>> = OnceLock::new();
    let vfs = VFS.get_or_init(|| redo::register_vfs(redo::vfs_options(), Duration::ZERO).ok());
    let vfs = vfs.as_ref().map(etui_vfs::Vfs::name);
    vfs.ok_or_else(|| Error::other("the VFS `etui` cannot be registered"))
}

/// Adds a file of music to the folder, and scans it.
fn scan_track(store: &Store, music: &Path, title: &str) -> Result<(), Error> {
    let spec = TrackSpec {
        title: title.to_owned(),
        artists: vec!["The Laboratory".to_owned()],
        album: "Cuts".to_owned(),
        ..TrackSpec::new(
            title.len() as u64 + title.bytes().map(u64::from).sum::<u64>(),
            LENGTH,
        )
    };
    let path = music.join(format!("{title}.mp3"));
    let file = audio_file(AudioFormat::Mp3, &spec);
    fs::write(&path, file).map_err(|e| Error::file(&path, e))?;
    let options = ScanOptions {
        threads: Some(1),
        ..ScanOptions::default()
    };
    let go_on = &mut |_: &_| ControlFlow::Continue(());
    let report = store.media()?.scan(&[music.to_owned()], &options, go_on)?;
    match report.added {
        1 => Ok(()),
        added => Err(Error::other(format!(
            "a scan added {added} tracks instead of 1"
        ))),
    }
}

fn play_track(store: &Store, title: &str) -> Result<(), Error> {
    let media = store.media()?;
    let tracks = media.tracks();
    let mut ids = Vec::new();
    tracks.for_each(|id, text| {
        if track_title(text).as_deref() == Some(title) {
            ids.push(id);
        }
        Ok(())
    })?;
    let id = ids.first().copied();
    let id = id.ok_or_else(|| Error::other(format!("there is no track `{title}`")))?;
    let stored = tracks.by_id(id)?;
    let stored = stored.ok_or_else(|| Error::other(format!("no track {title}")))?;
    Ok(media.record_play(&stored.uid, SystemTime::now())?)
}

fn text_value(text: &[u8], name: &str) -> Option<String> {
    let values = etui::media::text_values(text);
    values
        .into_iter()
        .find_map(|(key, value)| (key == name).then_some(value))
}

fn track_title(text: &[u8]) -> Option<String> {
    text_value(text, "TITLE")
}

fn read_etui(store: &Store) -> Result<StoreState, Error> {
    let mut state = StoreState::new();
    let contacts = store.contacts()?;
    for (id, text) in contacts.all()?.iter() {
        let stored = contacts.by_id(id)?;
        let uid = stored.map(|stored| stored.uid).unwrap_or_default();
        state.insert((SaveKind::Contact, uid), text.to_vec());
    }
    let calendar = store.calendar()?;
    for (id, text) in calendar.all()?.iter() {
        let stored = calendar.by_id(id)?;
        let uid = stored.map(|stored| stored.uid).unwrap_or_default();
        state.insert((SaveKind::Event, uid), text.to_vec());
    }
    store.media()?.tracks().for_each(|_, text| {
        let plays = text_value(text, "user.plays").unwrap_or_else(|| "0".to_owned());
        let title = track_title(text).unwrap_or_default();
        state.insert((SaveKind::Track, title), plays.into_bytes());
        Ok(())
    })?;
    Ok(state)
}

fn read_plain(db: &Connection) -> Result<StoreState, Error> {
    let mut statement = db.prepare("SELECT name, text FROM record")?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
    let mut state = StoreState::new();
    for row in rows {
        let (key, text) = row?;
        let (kind, name) = key.split_once('/').unwrap_or((&key, ""));
        let kind = match kind {
            "Contact" => SaveKind::Contact,
            "Event" => SaveKind::Event,
            _ => SaveKind::Track,
        };
        state.insert((kind, name.to_owned()), text);
    }
    Ok(state)
}
