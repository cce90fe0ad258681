//! [`Folder`]: devices in step by a folder that something else carries: Syncthing, a stick, the folder of a cloud.
//!
//! ```text
//! FOLDER/etui-folder                      says that it is one, and which key it has
//! FOLDER/DEVICE/000017-1f9c22ab.etc       a batch of changes of a device, sealed (etui-seal)
//! ```
//!
//! Each device writes files of its own only, once, and never changes them: no service makes conflict copies of them.
//! A change names the changes that it replaces; those that nothing replaces are the *heads* of a record. Two heads are
//! changes that did not know of each other: they are merged as changes here and on a server are, in an order that all
//! devices have, so that all get the same text. A removal loses to a change. The order in which files come, files that
//! come twice, and files that are cut off until they are whole make no difference.

mod batch;
mod files;
mod remote;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use etui::CollectionKind;
use etui_seal::SealKey;

use self::batch::Change;
use self::files::{FolderFiles, FoundFile};
use crate::error::SyncError;

pub(crate) use self::remote::FolderRemote;

/// Files of a device, above which they are made one.
const MANY_FILES: usize = 200;

/// How long a replaced text is kept, from which two changes that did not know of each other are merged.
const KEPT_FOR: i64 = 90 * 86_400_000;

/// A folder.
pub struct Folder {
    files: FolderFiles,
    device: String,
    state: RefCell<State>,
}

/// The changes that were read.
#[derive(Default)]
struct State {
    changes: HashMap<String, Change>,
    replaced: HashSet<String>,
    /// The changes of each record: by collection and name.
    records: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    /// The files were read once.
    is_loaded: bool,
    read: HashSet<FoundFile>,
    unreadable: Vec<PathBuf>,
    /// Those that are not written yet.
    pending: Vec<Change>,
}

impl Folder {
    /// Makes a folder; returns the key that the other devices need. `device` is the name of this one's part, which no
    /// other device has.
    ///
    /// # Errors
    /// [`SyncError::Folder`]; it may be one already.
    pub fn create(path: &Path, device: &str) -> Result<(Self, SealKey), SyncError> {
        let (files, key) = FolderFiles::create(path)?;
        Ok((Self::of(files, device), key))
    }

    /// Opens a folder.
    ///
    /// # Errors
    /// [`SyncError::Folder`]: it is not there, is none, or has another key.
    pub fn open(path: &Path, key: SealKey, device: &str) -> Result<Self, SyncError> {
        Ok(Self::of(FolderFiles::open(path, key)?, device))
    }

    /// Returns true if there is a folder of devices at a path.
    #[must_use]
    pub fn is_one(path: &Path) -> bool {
        FolderFiles::is_one(path)
    }

    fn of(files: FolderFiles, device: &str) -> Self {
        Self {
            files,
            device: device.to_owned(),
            state: RefCell::default(),
        }
    }

    /// Returns the kinds and names of the collections that have records.
    ///
    /// # Errors
    /// [`SyncError::Folder`].
    pub fn collections(&self) -> Result<Vec<(CollectionKind, String)>, SyncError> {
        self.load(&self.files.list()?)?;
        let state = self.state.borrow();
        let names = state.records.keys().filter_map(|place| read_place(place));
        Ok(names.collect())
    }

    /// Returns a hash of the files that are there now.
    ///
    /// # Errors
    /// [`SyncError::Folder`].
    pub fn token(&self) -> Result<String, SyncError> {
        Ok(files::token(&self.files.list()?))
    }

    /// Returns files that cannot be read: they are not whole yet, or of another key.
    #[must_use]
    pub fn unreadable(&self) -> Vec<PathBuf> {
        self.state.borrow().unreadable.clone()
    }

    /// Makes one file of this device's, if there are many. Texts that were replaced long ago are left out.
    ///
    /// # Errors
    /// [`SyncError::Folder`]; all changes are there then, some of them twice.
    pub fn tidy(&self) -> Result<(), SyncError> {
        let found = self.files.list()?;
        let own = self.files.own(&found, &self.device);
        if own.len() <= MANY_FILES {
            return Ok(());
        }
        self.load(&found)?;
        let mut state = self.state.borrow_mut();
        // One that cannot be read may be one's own.
        if !state.unreadable.is_empty() {
            return Ok(());
        }
        let until = crate::run::now_ms() - KEPT_FOR;
        // A text may still be what two changes come from, until all that replaced it is old, and one.
        let mut replaced_at: HashMap<&str, i64> = HashMap::new();
        for one in state.changes.values() {
            for id in &one.replaces {
                let at = replaced_at.entry(id).or_default();
                *at = one.at.max(*at);
            }
        }
        let mut kept = Vec::new();
        for (place, names) in &state.records {
            for (name, all) in names {
                let is_one = state.heads(place, name).len() == 1;
                let own = all.iter().filter_map(|id| state.changes.get(id));
                kept.extend(own.filter(|one| one.device == self.device).map(|one| {
                    let at = replaced_at.get(one.id.as_str());
                    match is_one && at.is_some_and(|at| *at < until) {
                        true => one.without_text(),
                        false => one.clone(),
                    }
                }));
            }
        }
        let written = self.files.write(&self.device, &kept)?;
        state.read.extend(written);
        drop(state);
        self.files.remove(&own)
    }

    /// Reads the files that were not read yet.
    fn load(&self, found: &[FoundFile]) -> Result<(), SyncError> {
        let mut state = self.state.borrow_mut();
        state.is_loaded = true;
        state.unreadable.clear();
        for file in found {
            if state.read.contains(file) {
                continue;
            }
            match self.files.read(file)? {
                Some(changes) => {
                    changes.into_iter().for_each(|change| state.add(change));
                    state.read.insert(file.clone());
                }
                None => state.unreadable.push(file.path.clone()),
            }
        }
        Ok(())
    }

    /// Reads the folder, unless this was done: a run that finds no new files has not.
    fn ensure_loaded(&self) -> Result<(), SyncError> {
        let is_loaded = self.state.borrow().is_loaded;
        match is_loaded {
            true => Ok(()),
            false => self.load(&self.files.list()?),
        }
    }

    /// Writes the changes that are not written yet.
    fn flush(&self) -> Result<(), SyncError> {
        let mut state = self.state.borrow_mut();
        if state.pending.is_empty() {
            return Ok(());
        }
        let written = self.files.write(&self.device, &state.pending)?;
        state.read.extend(written);
        state.pending.clear();
        Ok(())
    }
}

impl State {
    fn add(&mut self, change: Change) {
        match self.changes.get(&change.id) {
            // One that came twice; the one with the text is used.
            Some(known) if !known.is_left_out || change.is_left_out => return,
            _ => {}
        }
        self.replaced.extend(change.replaces.iter().cloned());
        let names = self.records.entry(change.place.clone()).or_default();
        let all = names.entry(change.name.clone()).or_default();
        if !self.changes.contains_key(&change.id) {
            all.push(change.id.clone());
        }
        self.changes.insert(change.id.clone(), change);
    }

    /// Returns the changes of a record that nothing replaces, the newest first, in an order that all devices have.
    fn heads(&self, place: &str, name: &str) -> Vec<&Change> {
        let names = self.records.get(place);
        let all = names.and_then(|names| names.get(name));
        let ids = all.into_iter().flatten();
        let mut heads: Vec<&Change> = ids
            .filter(|id| !self.replaced.contains(*id))
            .filter_map(|id| self.changes.get(id))
            .collect();
        // A text that was written again, since its file was lost, gives way to those that replaced all of it.
        if heads.len() > 1 {
            let is_replaced = |id: &String| {
                let others = heads.iter().filter(|other| !other.is_again);
                others.into_iter().any(|other| self.is_before(id, other))
            };
            let left_out: HashSet<&str> = heads
                .iter()
                .filter(|one| one.is_again && one.replaces.iter().all(is_replaced))
                .map(|one| one.id.as_str())
                .collect();
            heads.retain(|one| !left_out.contains(one.id.as_str()));
        }
        sort_heads(&mut heads);
        heads
    }

    /// Returns true if `id` is a change before this one.
    fn is_before(&self, id: &str, change: &Change) -> bool {
        self.before(change).contains(id)
    }

    /// Returns the changes before one.
    fn before<'s>(&'s self, change: &'s Change) -> HashSet<&'s str> {
        let mut seen = HashSet::new();
        let mut next: Vec<&str> = change.replaces.iter().map(String::as_str).collect();
        while let Some(id) = next.pop() {
            if seen.insert(id)
                && let Some(known) = self.changes.get(id)
            {
                next.extend(known.replaces.iter().map(String::as_str));
            }
        }
        seen
    }

    /// Returns the latest changes that two come from, as far as they are known.
    fn shared<'s>(&'s self, one: &'s Change, other: &'s Change) -> Vec<&'s Change> {
        let (ours, theirs) = (self.before(one), self.before(other));
        let both = ours.intersection(&theirs);
        let both: Vec<&Change> = both.filter_map(|id| self.changes.get(*id)).collect();
        // What is before another of these is replaced by one of these.
        let earlier: HashSet<&String> = both.iter().flat_map(|one| &one.replaces).collect();
        let latest = both.into_iter().filter(|one| !earlier.contains(&one.id));
        let mut latest: Vec<&Change> = latest.collect();
        sort_heads(&mut latest);
        latest
    }
}

/// Sorts changes, the newest first, in an order that all devices have.
fn sort_heads(heads: &mut [&Change]) {
    heads.sort_by_cached_key(|one| {
        let stamp = one.text.as_deref().map(crate::kind::stamp);
        std::cmp::Reverse((stamp.unwrap_or_default(), one.id.clone()))
    });
}

/// Returns the name of a collection in a folder.
#[must_use]
pub fn folder_place(kind: CollectionKind, name: &str) -> String {
    let kind = match kind {
        CollectionKind::Calendar => "calendar",
        _ => "contacts",
    };
    format!("{kind}/{name}")
}

fn read_place(place: &str) -> Option<(CollectionKind, String)> {
    let (kind, name) = place.split_once('/')?;
    let kind = match kind {
        "calendar" => CollectionKind::Calendar,
        "contacts" => CollectionKind::Contacts,
        // Of a later version.
        _ => return None,
    };
    Some((kind, name.to_owned()))
}
