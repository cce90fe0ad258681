//! A folder with a file for each record, as programs for vCards and iCalendar files keep them.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use strum::VariantArray;

use super::super::saves::{SaveKind, SaveStep, StoreState};
use super::CutStore;
use crate::{ArmSettings, Error};

/// A folder for each kind of record.
pub struct FolderStore {
    dir: PathBuf,
    /// Files are replaced as a whole and flushed; otherwise they are written over.
    is_atomic: bool,
}

impl FolderStore {
    pub fn open(settings: &ArmSettings, dir: &Path) -> Result<Self, Error> {
        let folder = Self {
            dir: dir.join("records"),
            is_atomic: settings.is("atomic"),
        };
        let kinds = SaveKind::VARIANTS.iter();
        let kinds: Vec<PathBuf> = kinds.map(|kind| folder.dir.join(kind.as_ref())).collect();
        let made = kinds.iter().try_for_each(fs::create_dir_all);
        let flushed = made.and_then(|()| {
            let parents = [dir, &folder.dir].into_iter();
            let mut all = parents.chain(kinds.iter().map(PathBuf::as_path));
            match folder.is_atomic {
                true => all.try_for_each(|dir| File::open(dir)?.sync_all()),
                false => Ok(()),
            }
        });
        flushed.map_err(|e| Error::file(&folder.dir, e))?;
        Ok(folder)
    }
}

impl CutStore for FolderStore {
    fn save(&mut self, step: &SaveStep) -> Result<(), Error> {
        let dir = self.dir.join(step.kind.as_ref());
        let path = dir.join(&step.name);
        let saved = match (&step.text, self.is_atomic) {
            (Some(text), false) => fs::write(&path, text),
            (Some(text), true) => replace_file(&path, &dir.join(format!(".{}", step.name)), text),
            (None, _) => fs::remove_file(&path),
        };
        let flushed = saved.and_then(|()| match self.is_atomic {
            true => File::open(&dir)?.sync_all(),
            false => Ok(()),
        });
        flushed.map_err(|e| Error::file(&path, e))
    }

    fn read_state(&self) -> Result<StoreState, Error> {
        let mut state = StoreState::new();
        for &kind in SaveKind::VARIANTS {
            let dir = self.dir.join(kind.as_ref());
            let failed = |e| Error::file(&dir, e);
            for entry in fs::read_dir(&dir).map_err(failed)? {
                let path = entry.map_err(failed)?.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                // One that was not finished.
                if name.starts_with('.') {
                    continue;
                }
                let text = fs::read(&path).map_err(|e| Error::file(&path, e))?;
                state.insert((kind, name.into_owned()), text);
            }
        }
        Ok(state)
    }

    fn check(&self) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    fn close(self: Box<Self>) -> Result<(), Error> {
        Ok(())
    }
}

/// Writes a file of another name, flushes it, and gives it the name.
fn replace_file(path: &Path, new: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = File::create(new)?;
    file.write_all(text)?;
    file.sync_all()?;
    fs::rename(new, path)
}
