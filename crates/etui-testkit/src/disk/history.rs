//! [`History`]: all that was done to a disk, in order.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use etui_vfs::device::Role;

use super::content::Content;

/// A file, whatever its name.
pub type FileId = u32;

/// What was done.
#[derive(Debug, Clone)]
pub enum Event {
    /// A file was made and has a name.
    Create {
        /// Which.
        file: FileId,
        /// Its name.
        path: PathBuf,
    },
    /// A name was taken away.
    Remove {
        /// The name.
        path: PathBuf,
    },
    /// Bytes were written.
    Write {
        /// Into which file.
        file: FileId,
        /// Where.
        offset: u64,
        /// What.
        bytes: Arc<[u8]>,
    },
    /// A size was set.
    SetLen {
        /// Of which file.
        file: FileId,
        /// To how many bytes.
        len: u64,
    },
    /// A file was flushed.
    Sync {
        /// Which.
        file: FileId,
        /// Whether it succeeded.
        ok: bool,
    },
    /// A directory was flushed.
    SyncDirectory {
        /// Which.
        directory: PathBuf,
    },
    /// The test's own mark, e.g. that a commit was acknowledged.
    Mark(u64),
}

/// Files and their names, at rest.
#[derive(Debug, Clone, Default)]
pub struct Files {
    /// What a name stands for.
    pub names: BTreeMap<PathBuf, FileId>,
    /// What is in a file.
    pub contents: BTreeMap<FileId, Content>,
}

impl Files {
    /// What is in the file of this name.
    pub fn get(&self, path: &Path) -> Option<&Content> {
        self.contents.get(self.names.get(path)?)
    }

    /// A hash of all names and what is in their files.
    pub fn hash(&self) -> u64 {
        let mut all = Vec::new();
        for (path, file) in &self.names {
            let content = self.contents.get(file).map_or(0, Content::hash);
            all.extend_from_slice(path.as_os_str().as_encoded_bytes());
            all.push(0);
            all.extend_from_slice(&content.to_le_bytes());
        }
        super::content::hash_of(&all)
    }
}

/// All that was done to a disk since it was as `start`.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// How it began; all of that is durable.
    pub start: Files,
    /// What was done then.
    pub events: Vec<Event>,
    /// What each file is, for messages.
    pub roles: BTreeMap<FileId, Role>,
}

impl History {
    /// How often files were flushed.
    pub fn syncs(&self) -> usize {
        let is_sync = |event: &&Event| matches!(event, Event::Sync { .. });
        self.events.iter().filter(is_sync).count()
    }

    /// An event in a line.
    pub fn describe(&self, at: usize) -> String {
        let role = |file: &FileId| match self.roles.get(file) {
            Some(role) => format!("{role:?} (file {file})"),
            None => format!("file {file}"),
        };
        match self.events.get(at) {
            None => "the end".to_owned(),
            Some(Event::Create { file, path }) => {
                format!("create {} as {}", path.display(), role(file))
            }
            Some(Event::Remove { path }) => format!("remove {}", path.display()),
            Some(Event::Write {
                file,
                offset,
                bytes,
            }) => format!("write {} {offset}+{}", role(file), bytes.len()),
            Some(Event::SetLen { file, len }) => format!("set size {} {len}", role(file)),
            Some(Event::Sync { file, ok: true }) => format!("sync {}", role(file)),
            Some(Event::Sync { file, ok: false }) => format!("sync {} fails", role(file)),
            Some(Event::SyncDirectory { directory }) => {
                format!("sync directory {}", directory.display())
            }
            Some(Event::Mark(mark)) => format!("mark {mark}"),
        }
    }
}
