//! [`FolderWriter`]: the files of one folder, written so that a killed export leaves whole files.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use etui::ETag;
use etui_program::{Failure, Result};
use rustix::fs::FlockOperation;
use tempfile::TempPath;

use crate::commands::vdir::item::ItemRecord;
use crate::commands::vdir::ledger::{ExportLedger, LedgerEntry, PART_PREFIX, PART_SUFFIX};
use crate::commands::vdir::names::{item_name, second_item_name};
use crate::commands::vdir::{COLOR, DISPLAY_NAME, list_items};

/// Files that are flushed together before they get their names.
const BATCH: usize = 256;

/// The numbers of files of an export.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WriteCounts {
    /// Written, new or in place of another version.
    pub written: u64,
    /// Not written, since they have these bytes already.
    pub unchanged: u64,
    /// Removed, since their records are gone.
    pub removed: u64,
    /// Kept, since another program changed them.
    pub kept: u64,
    /// Files without a record that were not removed.
    pub stale: u64,
    /// Not written, since another program removed their files.
    pub gone: u64,
}

impl WriteCounts {
    pub fn add(&mut self, other: &Self) {
        self.written += other.written;
        self.unchanged += other.unchanged;
        self.removed += other.removed;
        self.kept += other.kept;
        self.stale += other.stale;
        self.gone += other.gone;
    }
}

/// A file that was in the folder before.
struct ExistingItem {
    name: String,
    hash: ETag,
}

/// A file that is written and has no name yet.
struct PendingItem {
    part: TempPath,
    name: String,
    uid: String,
    hash: ETag,
    /// The hash of the file that it replaces.
    replaces: Option<ETag>,
}

/// Writes the items of a folder. Holds a lock on it until the end.
pub struct FolderWriter {
    folder: PathBuf,
    lock: File,
    suffix: &'static str,
    force: bool,
    /// The collection, in the ledger.
    home: String,
    ledger: ExportLedger,
    saved: Option<ExportLedger>,
    /// Items by their UID.
    existing: HashMap<String, ExistingItem>,
    /// Files that are no item of these records, by their names.
    unreadable: HashMap<String, ETag>,
    /// Names in use, in lower case: some file systems do not distinguish case.
    used: HashSet<String>,
    /// Files of the ledger that another program removed, by the UIDs of their records.
    gone: HashMap<String, String>,
    pending: Vec<PendingItem>,
    counts: WriteCounts,
    kept: Vec<String>,
    not_rewritten: Vec<String>,
}

/// The outcome of an export into a folder.
pub struct WrittenFolder {
    pub counts: WriteCounts,
    /// The files that were kept, since another program changed them.
    pub kept: Vec<String>,
    /// The files that were not written, since another program removed them.
    pub gone: Vec<String>,
}

impl FolderWriter {
    /// Opens a folder, or creates it, readable only by its owner. Part files of a killed export are
    /// removed.
    pub fn open<R: ItemRecord>(folder: &Path, home: String, force: bool) -> Result<Self> {
        let failed = |e| Failure::io(folder, e);
        let mut builder = std::fs::DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(failed)?;
        let lock = File::open(folder).map_err(failed)?;
        // One export at a time, so that part files are those of a killed one.
        rustix::fs::flock(&lock, FlockOperation::LockExclusive).map_err(|e| failed(e.into()))?;
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let is_part = name
                .to_str()
                .is_some_and(|n| n.starts_with(PART_PREFIX) && n.ends_with(PART_SUFFIX));
            if is_part {
                std::fs::remove_file(folder.join(name)).map_err(failed)?;
            }
        }
        let saved = ExportLedger::read(folder)?;
        let mut writer = Self {
            folder: folder.to_owned(),
            lock,
            suffix: R::SUFFIX,
            force,
            home,
            ledger: saved.clone().unwrap_or_default(),
            saved,
            existing: HashMap::new(),
            unreadable: HashMap::new(),
            used: HashSet::new(),
            gone: HashMap::new(),
            pending: Vec::new(),
            counts: WriteCounts::default(),
            kept: Vec::new(),
            not_rewritten: Vec::new(),
        };
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            writer.used.insert(name.to_string_lossy().to_lowercase());
        }
        for item in list_items(folder, R::SUFFIX)? {
            // A file with a name that is not text was not written by an export.
            let Some(name) = item.name() else { continue };
            let bytes = std::fs::read(&item.path).map_err(|e| Failure::io(&item.path, e))?;
            let (name, hash) = (name.to_owned(), ETag::of(&bytes));
            match R::file_uid(&bytes) {
                Some(uid) => {
                    let item = ExistingItem { name, hash };
                    writer.existing.entry(uid).or_insert(item);
                }
                None => {
                    writer.unreadable.insert(name, hash);
                }
            }
        }
        for (name, entry) in writer.ledger.files_of(&writer.home) {
            if let Some(uid) = &entry.uid
                && !writer.used.contains(&name.to_lowercase())
            {
                writer.gone.insert(uid.clone(), name.clone());
            }
        }
        Ok(writer)
    }

    /// Writes the item of a record, unless the folder has these bytes.
    pub fn write(&mut self, uid: &str, bytes: Vec<u8>) -> Result<()> {
        let hash = ETag::of(&bytes);
        let mut replaces = None;
        // A file of this name that has no record was a record's before it was damaged.
        let damaged = |(name, hash)| ExistingItem { name, hash };
        let existing = self.existing.remove(uid).or_else(|| {
            let name = item_name(uid, self.suffix);
            self.unreadable.remove_entry(&name).map(damaged)
        });
        let name = match existing {
            Some(item) if item.hash == hash => {
                self.counts.unchanged += 1;
                self.note(&item.name, uid, hash);
                return Ok(());
            }
            Some(item) if !self.force && !self.ledger.has(&self.home, &item.name, item.hash) => {
                self.counts.kept += 1;
                self.kept.push(item.name);
                return Ok(());
            }
            Some(item) => {
                replaces = Some(item.hash);
                item.name
            }
            None => match self.gone.remove(uid) {
                Some(name) if !self.force => {
                    self.counts.gone += 1;
                    self.not_rewritten.push(name);
                    return Ok(());
                }
                _ => self.free_name(uid)?,
            },
        };
        let part = self.write_part(&bytes)?;
        self.pending.push(PendingItem {
            part,
            name,
            uid: uid.to_owned(),
            hash,
            replaces,
        });
        match self.pending.len() < BATCH {
            true => Ok(()),
            false => self.name_pending(),
        }
    }

    /// Notes in the ledger that a file has the bytes of its record.
    fn note(&mut self, name: &str, uid: &str, hash: ETag) {
        let entry = LedgerEntry {
            hash,
            home: self.home.clone(),
            uid: Some(uid.to_owned()),
        };
        self.ledger.insert(name, entry);
    }

    /// Returns a file name for a UID that no file has.
    fn free_name(&mut self, uid: &str) -> Result<String> {
        let names = [
            item_name(uid, self.suffix),
            second_item_name(uid, self.suffix),
        ];
        for name in names {
            if self.used.insert(name.to_lowercase()) {
                return Ok(name);
            }
        }
        Err(Failure::Exists(format!(
            "{}: the names for the UID {uid} are in use by other files; move them away",
            self.folder.display()
        )))
    }

    /// Writes a part file.
    fn write_part(&self, bytes: &[u8]) -> Result<TempPath> {
        let failed = |e| Failure::io(&self.folder, e);
        let mut file = tempfile::Builder::new()
            .prefix(PART_PREFIX)
            .suffix(PART_SUFFIX)
            .tempfile_in(&self.folder)
            .map_err(failed)?;
        file.write_all(bytes).map_err(failed)?;
        Ok(file.into_temp_path())
    }

    /// Flushes the part files and gives them their names. A file that another program has written
    /// meanwhile is kept.
    fn name_pending(&mut self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.flush()?;
        for item in std::mem::take(&mut self.pending) {
            let path = self.folder.join(&item.name);
            let failed = |e| Failure::io(&path, e);
            let is_named = match item.replaces {
                Some(_) if self.force => item.part.persist(&path).map(|()| true),
                Some(hash) => match std::fs::read(&path).map(|bytes| ETag::of(&bytes)) {
                    Ok(now) if now == hash => item.part.persist(&path).map(|()| true),
                    Ok(_) => Ok(false),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        item.part.persist(&path).map(|()| true)
                    }
                    Err(error) => return Err(failed(error)),
                },
                None => match item.part.persist_noclobber(&path) {
                    Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
                    named => named.map(|()| true),
                },
            };
            if is_named.map_err(|e| failed(e.error))? {
                self.counts.written += 1;
                self.note(&item.name, &item.uid, item.hash);
            } else {
                self.counts.kept += 1;
                self.kept.push(item.name);
            }
        }
        Ok(())
    }

    /// Flushes all writes to the file system of the folder.
    fn flush(&self) -> Result<()> {
        let failed = |e: rustix::io::Errno| Failure::io(&self.folder, e.into());
        #[cfg(target_os = "linux")]
        rustix::fs::syncfs(&self.lock).map_err(failed)?;
        #[cfg(not(target_os = "linux"))]
        for item in &self.pending {
            let file = File::open(&item.part).map_err(|e| Failure::io(&item.part, e))?;
            rustix::fs::fsync(&file).map_err(failed)?;
        }
        Ok(())
    }

    /// Writes name and colour of the collection, if the folder has none, removes the files without
    /// a record if asked to, and writes the ledger. `is_all`: all records of the collection were
    /// written.
    pub fn finish(
        mut self,
        name: &str,
        color: Option<&str>,
        is_all: bool,
        delete: bool,
    ) -> Result<WrittenFolder> {
        self.name_pending()?;
        for (file, value) in [(DISPLAY_NAME, Some(name)), (COLOR, color)] {
            if let Some(value) = value.filter(|_| !self.used.contains(file)) {
                let path = self.folder.join(file);
                let part = self.write_part(value.as_bytes())?;
                part.persist(&path)
                    .map_err(|e| Failure::io(&path, e.error))?;
            }
        }
        if is_all {
            self.remove_stale(delete)?;
            // Gone on both sides.
            for name in std::mem::take(&mut self.gone).into_values() {
                self.ledger.remove(&name);
            }
        }
        if self.saved.as_ref() != Some(&self.ledger) {
            self.ledger.write(&self.folder)?;
        }
        self.lock
            .sync_all()
            .map_err(|e| Failure::io(&self.folder, e))?;
        self.kept.sort();
        self.not_rewritten.sort();
        Ok(WrittenFolder {
            counts: self.counts,
            kept: self.kept,
            gone: self.not_rewritten,
        })
    }

    /// Removes the items without a record, or counts them.
    fn remove_stale(&mut self, delete: bool) -> Result<()> {
        for item in std::mem::take(&mut self.existing).into_values() {
            let is_ours = self.ledger.has(&self.home, &item.name, item.hash);
            match (delete, is_ours || self.force) {
                (false, _) => self.counts.stale += 1,
                (true, false) => {
                    self.counts.kept += 1;
                    self.kept.push(item.name);
                }
                (true, true) => {
                    let path = self.folder.join(&item.name);
                    std::fs::remove_file(&path).map_err(|e| Failure::io(&path, e))?;
                    self.ledger.remove(&item.name);
                    self.counts.removed += 1;
                }
            }
        }
        Ok(())
    }
}
