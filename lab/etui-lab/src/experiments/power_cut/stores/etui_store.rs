//! etui.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use etui::calendar::CalendarObject;
use etui::contacts::Card;
use etui::media::ScanOptions;
use etui::{Durability, Store};
use etui_testkit::media::{AudioFormat, TrackSpec, audio_file};

use super::super::saves::{SaveKind, SaveStep, StoreState};
use super::CutStore;
use crate::experiments::backends::local::Kept;
use crate::experiments::common::people_options;
use crate::{ArmSettings, Error};

/// Milliseconds of a track.
const LENGTH: u32 = 200;

/// A store of etui, and its folder of music.
pub struct EtuiStore {
    store: Store,
    music: PathBuf,
}

impl EtuiStore {
    /// Opens the store with the durability and the VFS of an arm.
    pub fn open(settings: &ArmSettings, dir: &Path) -> Result<Self, Error> {
        let mut options = people_options();
        options.durability = match settings.text("durability")? {
            "full" => Durability::Full,
            _ => Durability::Deferred,
        };
        options.vfs = match settings.text("vfs")? {
            "system" => etui::Vfs::System,
            _ => etui::Vfs::RedoLog,
        };
        // After a cut nothing else has it open.
        options.busy_timeout = Duration::from_secs(5);
        let store = Store::open_with(dir.join("store.etui"), &options)?;
        let music = dir.join("music");
        fs::create_dir_all(&music).map_err(|e| Error::file(&music, e))?;
        Ok(Self { store, music })
    }
}

impl CutStore for EtuiStore {
    fn save(&mut self, step: &SaveStep) -> Result<(), Error> {
        let store = &self.store;
        match (step.kind, &step.text) {
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
                scan_track(store, &self.music, &step.name)
            }
            (SaveKind::Track, _) => play_track(store, &step.name),
        }
    }

    fn read_state(&self) -> Result<StoreState, Error> {
        read_records(&self.store)
    }

    fn check(&self) -> Result<Vec<String>, Error> {
        let report = self.store.check()?;
        Ok(report.problems.into_iter().chain(report.outdated).collect())
    }

    fn close(self: Box<Self>) -> Result<(), Error> {
        Ok(self.store.close()?)
    }
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
    let stored = tracks.get(id)?;
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

fn read_records(store: &Store) -> Result<StoreState, Error> {
    let mut state = StoreState::new();
    let contacts = store.contacts()?;
    for (id, text) in contacts.all()?.iter() {
        let stored = contacts.get(id)?;
        let uid = stored.map(|stored| stored.uid).unwrap_or_default();
        state.insert((SaveKind::Contact, uid), text.to_vec());
    }
    let calendar = store.calendar()?;
    for (id, text) in calendar.all()?.iter() {
        let stored = calendar.get(id)?;
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
