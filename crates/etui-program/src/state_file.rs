//! [`StateFile`]: the file beside the store that remembers the alarms that were shown.
//!
//! ```text
//! STORE-reminders.json       JSON; who shows alarms holds a lock (`flock`) on it
//! STORE-reminders.json-new   written completely and flushed, then renamed to STORE-reminders.json
//! ```
//!
//! The lock is held while alarms are shown and remembered, so that of two processes one shows an
//! alarm, and the other finds it in the file. The kernel releases the lock of a killed process.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{File, OpenOptions, rename};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::errors::{Failure, Result};
use crate::shown::{ShownAlarms, UnreadableShown};

/// The file of a store.
#[derive(Debug, Clone)]
pub struct StateFile {
    path: PathBuf,
}

/// The file while this process shows alarms.
pub struct LockedState<'f> {
    file: &'f StateFile,
    /// Holds the lock.
    locked: File,
    /// The alarms that were shown.
    pub shown: ShownAlarms,
    /// Whether a file that could not be read was put aside.
    pub was_damaged: bool,
}

impl StateFile {
    /// Returns the file of the store at `path`.
    pub fn of_store(path: &Path) -> Self {
        Self {
            path: with_suffix(path, "-reminders.json"),
        }
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Forgets the alarms of erased entries, and files of the same name that a killed or an older program
    /// left.
    pub fn forget_entries(&self, uids: &HashSet<&str>) -> Result<()> {
        for suffix in ["-new", "-damaged"] {
            let left = with_suffix(&self.path, suffix);
            match std::fs::remove_file(&left) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(Failure::io(&left, e)),
                _ => {}
            }
        }
        if !self.path.exists() {
            return Ok(());
        }
        let mut state = self.lock()?;
        state.shown.forget_entries(|uid| uids.contains(uid));
        state.save()
    }

    /// Waits until no other process shows alarms, and reads the file.
    pub fn lock(&self) -> Result<LockedState<'_>> {
        let failed = |e| Failure::io(&self.path, e);
        let (mut locked, bytes) = self.open_locked().map_err(failed)?;
        let (shown, was_damaged) = match ShownAlarms::parse(&bytes) {
            Ok(shown) => (shown, false),
            Err(UnreadableShown::Newer) => {
                return Err(Failure::Other(format!(
                    "{}: a newer version of etui wrote this file; use that version",
                    self.path.display()
                )));
            }
            Err(UnreadableShown::Damaged) => {
                let aside = with_suffix(&self.path, "-damaged");
                std::fs::write(&aside, &bytes).map_err(|e| Failure::io(&aside, e))?;
                locked.set_len(0).map_err(failed)?;
                locked.flush().map_err(failed)?;
                (ShownAlarms::default(), true)
            }
        };
        Ok(LockedState {
            file: self,
            locked,
            shown,
            was_damaged,
        })
    }

    /// Opens the file, creating it if there is none, and locks and reads it.
    fn open_locked(&self) -> io::Result<(File, Vec<u8>)> {
        loop {
            let mut file = private_file().read(true).append(true).open(&self.path)?;
            flock(&file, FlockOperation::LockExclusive)?;
            // Another process may have replaced it meanwhile.
            let (opened, named) = (file.metadata()?, self.path.metadata());
            if named.is_ok_and(|named| named.ino() == opened.ino()) {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes)?;
                return Ok((file, bytes));
            }
        }
    }
}

impl LockedState<'_> {
    /// Saves the alarms that were shown, durably.
    pub fn save(&mut self) -> Result<()> {
        let text = self.shown.to_json();
        let text = text.map_err(|e| Failure::Other(e.to_string()))?;
        self.locked = self
            .replace_file(&text)
            .map_err(|e| Failure::io(&self.file.path, e))?;
        Ok(())
    }

    /// Writes a new file and puts it in the place of the old one. Returns it, locked.
    fn replace_file(&self, text: &[u8]) -> io::Result<File> {
        let path = &self.file.path;
        let new = with_suffix(path, "-new");
        // One that a killed process left is overwritten.
        let mut file = private_file().write(true).truncate(true).open(&new)?;
        flock(&file, FlockOperation::LockExclusive)?;
        file.write_all(text)?;
        file.sync_data()?;
        rename(&new, path)?;
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
        Ok(file)
    }
}

/// Returns options to create a file that only its owner can read.
fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).mode(0o600);
    options
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::atomic::{AtomicU32, Ordering};

    use etui::calendar::time::Timestamp;

    use super::*;

    #[test]
    fn one_process_at_a_time_has_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = StateFile::of_store(&dir.path().join("s.etui"));
        let holders = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..25 {
                        let mut state = file.lock().unwrap();
                        assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                        state.save().unwrap();
                        std::thread::yield_now();
                        assert_eq!(holders.fetch_sub(1, Ordering::SeqCst), 1);
                    }
                });
            }
        });
        let mut names: Vec<_> = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["s.etui-reminders.json"]);
        let mode = dir
            .path()
            .join("s.etui-reminders.json")
            .metadata()
            .unwrap()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_damaged_file_is_put_aside() {
        let dir = tempfile::tempdir().unwrap();
        let file = StateFile::of_store(&dir.path().join("s.etui"));
        std::fs::write(dir.path().join("s.etui-reminders.json"), "rubbish").unwrap();
        let state = file.lock().unwrap();
        assert!(state.was_damaged);
        drop(state);
        let aside = std::fs::read(dir.path().join("s.etui-reminders.json-damaged")).unwrap();
        assert_eq!(aside, b"rubbish");
        let state = file.lock().unwrap();
        assert!(!state.was_damaged);
        assert_eq!(state.shown.floor(Timestamp::MAX), Timestamp::MIN);
    }

    #[test]
    fn a_newer_file_is_not_touched() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.etui-reminders.json");
        let newer = br#"{"version":9}"#;
        std::fs::write(&path, newer).unwrap();
        let failure = StateFile::of_store(&dir.path().join("s.etui")).lock().err();
        assert!(failure.unwrap().to_string().contains("newer version"));
        assert_eq!(std::fs::read(&path).unwrap(), newer);
    }
}
