//! [`DiskHistory`]: every operation on a disk, in order.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use etui_vfs::device::Role;

use super::content::FileContent;

/// A file, independent of its name.
pub type FileId = u32;

/// One operation.
#[derive(Debug, Clone)]
pub enum DiskEvent {
    /// A file was created under a name.
    Create {
        /// The file.
        file: FileId,
        /// Its name.
        path: PathBuf,
    },
    /// A name was removed.
    Remove {
        /// The name.
        path: PathBuf,
    },
    /// Bytes were written.
    Write {
        /// The file.
        file: FileId,
        /// The offset.
        offset: u64,
        /// The bytes.
        bytes: Arc<[u8]>,
    },
    /// A size was set.
    SetLen {
        /// The file.
        file: FileId,
        /// The new size in bytes.
        len: u64,
    },
    /// A file was flushed.
    Sync {
        /// The file.
        file: FileId,
        /// Whether the flush succeeded.
        ok: bool,
    },
    /// A directory was flushed.
    SyncDirectory {
        /// The directory.
        directory: PathBuf,
    },
    /// A mark set by the test, for example for an acknowledged commit.
    Mark(u64),
}

/// Files and their names at one moment.
#[derive(Debug, Clone, Default)]
pub struct DiskFiles {
    /// The file of each name.
    pub names: BTreeMap<PathBuf, FileId>,
    /// The content of each file.
    pub contents: BTreeMap<FileId, FileContent>,
}

impl DiskFiles {
    /// Returns the content of the file with this name.
    pub fn get(&self, path: &Path) -> Option<&FileContent> {
        self.contents.get(self.names.get(path)?)
    }

    /// Returns a hash of all names and contents.
    pub fn hash(&self) -> u64 {
        let mut all = Vec::new();
        for (path, file) in &self.names {
            let content = self.contents.get(file).map_or(0, FileContent::hash);
            all.extend_from_slice(path.as_os_str().as_encoded_bytes());
            all.push(0);
            all.extend_from_slice(&content.to_le_bytes());
        }
        super::content::hash_of(&all)
    }
}

/// Every operation on a disk since its state `start`.
#[derive(Debug, Clone, Default)]
pub struct DiskHistory {
    /// The initial state; all of it is durable.
    pub start: DiskFiles,
    /// The operations.
    pub events: Vec<DiskEvent>,
    /// The role of each file, for messages.
    pub roles: BTreeMap<FileId, Role>,
}

impl DiskHistory {
    /// Returns the number of flushes of files.
    pub fn syncs(&self) -> usize {
        let is_sync = |event: &&DiskEvent| matches!(event, DiskEvent::Sync { .. });
        self.events.iter().filter(is_sync).count()
    }

    /// Describes an event in one line.
    pub fn describe(&self, at: usize) -> String {
        let role = |file: &FileId| match self.roles.get(file) {
            Some(role) => format!("{role:?} (file {file})"),
            None => format!("file {file}"),
        };
        match self.events.get(at) {
            None => "the end".to_owned(),
            Some(DiskEvent::Create { file, path }) => {
                format!("create {} as {}", path.display(), role(file))
            }
            Some(DiskEvent::Remove { path }) => format!("remove {}", path.display()),
            Some(DiskEvent::Write {
                file,
                offset,
                bytes,
            }) => format!("write {} {offset}+{}", role(file), bytes.len()),
            Some(DiskEvent::SetLen { file, len }) => format!("set size {} {len}", role(file)),
            Some(DiskEvent::Sync { file, ok: true }) => format!("sync {}", role(file)),
            Some(DiskEvent::Sync { file, ok: false }) => format!("sync {} fails", role(file)),
            Some(DiskEvent::SyncDirectory { directory }) => {
                format!("sync directory {}", directory.display())
            }
            Some(DiskEvent::Mark(mark)) => format!("mark {mark}"),
        }
    }
}
