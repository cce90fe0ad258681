//! [`SwitchState`]: the journal of switching, beside the store (`STORE-eds.json`).
//!
//! It is written before each step that a killed command may leave half done: atomically, and
//! flushed to the disk. A command that is repeated reads it and goes on.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::SwitchError;
use super::activation::Lasting;
use super::merge::{Base, Side};
use crate::sources::SourceKind;

/// The version of the file's content.
const VERSION: u32 = 1;

/// How far switching has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Records are being copied into the store; the stock server is still in use.
    TakingOver,
    /// The store serves.
    On,
    /// Changes are being copied to the stock server.
    GivingBack,
    /// The stock server serves again.
    Off,
}

/// The state of switching.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct SwitchState {
    version: u32,
    pub(super) phase: Phase,
    pub(super) lasting: Lasting,
    /// Which side counts where both changed a record.
    pub(super) prefer: Option<Side>,
    pub(super) collections: Vec<CollectionState>,
}

/// What both sides had of a source when they were last equal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct CollectionState {
    pub(super) source: String,
    pub(super) kind: SourceKind,
    pub(super) records: Base,
}

impl SwitchState {
    /// The state of a store that was never switched.
    pub(super) fn new(lasting: Lasting) -> Self {
        Self {
            version: VERSION,
            phase: Phase::Off,
            lasting,
            prefer: None,
            collections: Vec::new(),
        }
    }

    /// Reads the state beside a store; `None` if it was never switched.
    pub(super) fn read(store: &Path) -> Result<Option<Self>, SwitchError> {
        let path = state_path(store);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(SwitchError::file(&path, e)),
        };
        let state: Self = serde_json::from_slice(&bytes).map_err(|e| {
            SwitchError::Refused(format!(
                "{}: the state of switching cannot be read: {e}",
                path.display()
            ))
        })?;
        if state.version != VERSION {
            return Err(SwitchError::Refused(format!(
                "{}: written by a newer version of this program",
                path.display()
            )));
        }
        Ok(Some(state))
    }

    /// Writes the state; when this returns it survives a power cut.
    pub(super) fn write(&self, store: &Path) -> Result<(), SwitchError> {
        let path = state_path(store);
        let failed = |e| SwitchError::file(&path, e);
        let dir = directory(&path);
        let mut file = tempfile::NamedTempFile::new_in(dir).map_err(failed)?;
        let json = serde_json::to_vec(self).map_err(|e| failed(e.into()))?;
        file.write_all(&json).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(&path).map_err(|e| failed(e.error))?;
        File::open(dir)
            .and_then(|dir| dir.sync_all())
            .map_err(failed)
    }

    /// Removes the state of a store.
    pub(super) fn remove(store: &Path) -> Result<(), SwitchError> {
        let path = state_path(store);
        match fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(SwitchError::file(&path, e)),
            _ => Ok(()),
        }
    }

    /// What both sides had of a source.
    pub(super) fn base(&self, kind: SourceKind, source: &str) -> Base {
        let is_it = |c: &&CollectionState| c.kind == kind && c.source == source;
        let found = self.collections.iter().find(is_it);
        found.map(|c| c.records.clone()).unwrap_or_default()
    }
}

/// Prevents a second command from switching at the same time, until it is dropped: this store, or
/// the same desktop to another one.
pub(super) struct SwitchLock {
    _files: [File; 2],
}

impl SwitchLock {
    /// Takes the lock of a store, and that of the user with the data directory `data`.
    pub(super) fn take(store: &Path, data: &Path) -> Result<Self, SwitchError> {
        use rustix::fs::{FlockOperation, flock};
        let take = |path: &Path| {
            let file = File::create(path).map_err(|e| SwitchError::file(path, e))?;
            flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
                SwitchError::Refused("another command is switching; wait for its end".to_owned())
            })?;
            Ok::<_, SwitchError>(file)
        };
        let user = data.join("dbus-1");
        fs::create_dir_all(&user).map_err(|e| SwitchError::file(&user, e))?;
        let user = take(&user.join("etui-eds.lock"))?;
        Ok(Self {
            _files: [user, take(&with_suffix(store, "-eds.lock"))?],
        })
    }
}

/// The path of the state of a store.
pub(super) fn state_path(store: &Path) -> PathBuf {
    with_suffix(store, "-eds.json")
}

pub(super) fn with_suffix(store: &Path, suffix: &str) -> PathBuf {
    // By whatever link it is named, a store has one state and one lock.
    let store = store.canonicalize().unwrap_or_else(|_| store.to_owned());
    let mut path = store.into_os_string();
    path.push(suffix);
    PathBuf::from(path)
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("personal.etui");
        assert!(SwitchState::read(&store).unwrap().is_none());
        let mut state = SwitchState::new(Lasting::Session);
        state.phase = Phase::TakingOver;
        state.write(&store).unwrap();
        let read = SwitchState::read(&store).unwrap().unwrap();
        assert_eq!((read.phase, read.lasting), (state.phase, state.lasting));
        fs::write(state_path(&store), "{").unwrap();
        assert!(SwitchState::read(&store).is_err());
        let data = dir.path().join("data");
        let lock = SwitchLock::take(&store, &data).unwrap();
        assert!(SwitchLock::take(&store, &data).is_err());
        let other = dir.path().join("other.etui");
        assert!(SwitchLock::take(&other, &data).is_err());
        drop(lock);
        assert!(SwitchLock::take(&store, &data).is_ok());
    }
}
