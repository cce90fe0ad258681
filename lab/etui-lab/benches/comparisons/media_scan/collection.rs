//! The music files: written once for a group, linked for each run, and changed there.
//!
//! ```text
//! SHARED/Music/...      the collection
//! SHARED/changed/...    one of a hundred of its files, with another title
//! SHARED/about.json     numbers and titles
//! RUN/Music/...         links to the collection's files; after the change 1 % are files of their own
//! ```

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use etui_testkit::media::{CoverPlacement, MediaCollection, TrackSpec, audio_file};
use serde::{Deserialize, Serialize};

use etui_lab::Error;

/// Tracks of an album.
pub(super) const TRACKS: u64 = 12;
/// One of so many files is changed.
const CHANGED: usize = 100;
const SEED: u64 = 12;
const MUSIC: &str = "Music";
const ABOUT: &str = "about.json";

/// Numbers and titles of a collection.
#[derive(Debug, Serialize, Deserialize)]
struct CollectionFacts {
    titles: Vec<String>,
    /// Files of covers, beside tracks.
    cover_files: usize,
    /// Different covers.
    covers: usize,
    albums: usize,
    /// Paths of the changed files, relative to the root.
    changed: Vec<PathBuf>,
}

pub(super) fn write_shared(dir: &Path, albums: u64) -> Result<(), Error> {
    let root = dir.join(MUSIC);
    let albums = u32::try_from(albums).map_err(|_| Error::Usage("too many albums".to_owned()))?;
    let collection =
        MediaCollection::write(&root, albums, SEED).map_err(|e| Error::file(&root, e))?;
    let mut covers = HashSet::new();
    let mut changed = Vec::new();
    for (number, track) in collection.tracks.iter().enumerate() {
        if track.cover != CoverPlacement::Missing {
            covers.insert(track.album);
        }
        if number % CHANGED == 0 {
            let spec = TrackSpec {
                title: format!("{} (live)", track.spec.title),
                ..track.spec.clone()
            };
            let path = dir.join("changed").join(&track.path);
            let folder = path.parent().unwrap_or(dir);
            fs::create_dir_all(folder).map_err(|e| Error::file(folder, e))?;
            let written = fs::write(&path, audio_file(track.format, &spec));
            written.map_err(|e| Error::file(&path, e))?;
            changed.push(track.path.clone());
        }
    }
    let titles = collection.tracks.iter();
    let facts = CollectionFacts {
        titles: titles.map(|track| track.spec.title.clone()).collect(),
        cover_files: collection.folder_covers.len(),
        covers: covers.len(),
        albums: albums as usize,
        changed,
    };
    let path = dir.join(ABOUT);
    let json = serde_json::to_vec(&facts).map_err(|e| Error::other(e.to_string()))?;
    fs::write(&path, json).map_err(|e| Error::file(&path, e))
}

pub(super) struct Files {
    root: PathBuf,
    changed: PathBuf,
    facts: CollectionFacts,
}

impl Files {
    /// Links the group's files into a directory.
    pub(super) fn link_shared(shared: &Path, dir: &Path) -> Result<Self, Error> {
        let root = dir.join(MUSIC);
        link_folder(&shared.join(MUSIC), &root)?;
        let path = shared.join(ABOUT);
        let json = fs::read(&path).map_err(|e| Error::file(&path, e))?;
        let facts = serde_json::from_slice(&json).map_err(|e| Error::other(e.to_string()))?;
        Ok(Self {
            root,
            changed: shared.join("changed"),
            facts,
        })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the number of files: tracks and covers.
    pub(super) fn count_files(&self) -> usize {
        self.facts.titles.len() + self.facts.cover_files
    }

    pub(super) fn count_albums(&self) -> usize {
        self.facts.albums
    }

    /// Returns the number of different covers.
    pub(super) fn count_covers(&self) -> usize {
        self.facts.covers
    }

    pub(super) fn titles_with(&self, word: &str) -> Vec<String> {
        let titles = self.facts.titles.iter();
        let mut found: Vec<String> = titles
            .filter(|title| title.contains(word))
            .cloned()
            .collect();
        found.sort_unstable();
        found
    }

    /// Renames the folder of the collection.
    pub(super) fn rename_root(&mut self) -> Result<(), Error> {
        let to = self.root.with_file_name("Renamed music");
        fs::rename(&self.root, &to).map_err(|e| Error::file(&self.root, e))?;
        self.root = to;
        Ok(())
    }

    /// Replaces the changed files, as an editor does; returns their number.
    pub(super) fn change_some(&self) -> Result<usize, Error> {
        for path in &self.facts.changed {
            let to = self.root.join(path);
            let beside = to.with_extension("new");
            let from = self.changed.join(path);
            fs::copy(&from, &beside).map_err(|e| Error::file(&from, e))?;
            fs::rename(&beside, &to).map_err(|e| Error::file(&to, e))?;
        }
        Ok(self.facts.changed.len())
    }
}

/// Makes a folder whose files are links to those of another.
fn link_folder(from: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir(to).map_err(|e| Error::file(to, e))?;
    for entry in fs::read_dir(from).map_err(|e| Error::file(from, e))? {
        let entry = entry.map_err(|e| Error::file(from, e))?;
        let kind = entry
            .file_type()
            .map_err(|e| Error::file(entry.path(), e))?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        match kind.is_dir() {
            true => link_folder(&path, &target)?,
            false => fs::hard_link(&path, &target).map_err(|e| Error::file(&path, e))?,
        }
    }
    Ok(())
}
