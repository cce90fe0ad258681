//! [`FolderSync`]: the changes of a folder since the last export or import, by its ledger.
//!
//! ```text
//! file      record    import
//! as then   any       not read: the record may have changed here
//! changed   as then   read
//! changed   changed   read, and named: the record's own version stays in its history
//! gone      as then   named; with --delete the record is removed
//! gone      changed   named; the next export writes the file
//! ```

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use etui::import::ImportReport;
use etui::record::{Collection, Reader, StoredRecord};
use etui::store::CollectionKey;
use etui::{Condition, ETag, Store};
use etui_program::output::{OutputWriter, escape_text, one_line, pluralize, quote_operand};
use etui_program::{Failure, Result};

use super::folder::SourceFolder;
use crate::commands::records::stored_title;
use crate::commands::vdir::item::ItemRecord;
use crate::commands::vdir::ledger::{ExportLedger, LedgerEntry, collection_home};
use crate::commands::written_version::WrittenVersion;

/// The import of one source of a folder into a collection.
pub struct FolderSync {
    folder: SourceFolder,
    home: String,
    ledger: ExportLedger,
    is_new: bool,
    /// Files that are not read.
    unchanged: u64,
    bytes: u64,
    /// Of these, those without a record.
    removed_here: u64,
    /// Names and UIDs of the records that were changed in the folder and here.
    changed_twice: Vec<(PathBuf, String)>,
}

impl FolderSync {
    /// Compares the waiting files of a source with the ledger, and leaves out those that are as they
    /// were.
    pub fn begin<R: ItemRecord>(
        store: &Store,
        collection: &Collection<R>,
        folder: &SourceFolder,
    ) -> Result<Self> {
        let ledger = ExportLedger::read(&folder.path)?;
        let mut sync = Self {
            folder: folder.clone(),
            home: collection_home(store, collection.id())?,
            is_new: ledger.is_none(),
            ledger: ledger.unwrap_or_default(),
            unchanged: 0,
            bytes: 0,
            removed_here: 0,
            changed_twice: Vec::new(),
        };
        if sync.ledger.files_of(&sync.home).next().is_none() {
            return Ok(sync);
        }
        let snapshot = store.snapshot()?;
        let reader = snapshot.collection::<R>(CollectionKey::Id(collection.id()))?;
        let mut files = folder.files.borrow_mut();
        let mut changed = VecDeque::new();
        let is_gone = |name: &str| !folder.path.join(name).exists();
        let files_of = sync.ledger.files_of(&sync.home);
        let gone: HashMap<&str, &LedgerEntry> = files_of
            .filter(|(name, _)| is_gone(name))
            .filter_map(|(_, entry)| Some((entry.uid.as_deref()?, entry)))
            .collect();
        let mut renamed = Vec::new();
        for item in std::mem::take(&mut files.waiting) {
            let bytes = std::fs::read(&item.path).map_err(|e| Failure::io(&item.path, e))?;
            let name = item.name().unwrap_or_default();
            let moved = || {
                let entry = gone.get(R::file_uid(&bytes)?.as_str())?;
                renamed.push((name.to_owned(), (*entry).clone()));
                Some(*entry)
            };
            let Some(entry) = sync.ledger.get(&sync.home, name).or_else(moved) else {
                changed.push_back(item);
                continue;
            };
            let stored = match &entry.uid {
                Some(uid) => reader.get(uid)?,
                None => None,
            };
            // A file with several records is always read.
            if entry.uid.is_some() && ETag::of(&bytes) == entry.hash {
                sync.unchanged += 1;
                sync.bytes += item.size;
                sync.removed_here += u64::from(stored.is_none());
                continue;
            }
            if let (Some(uid), Some(stored)) = (&entry.uid, stored)
                && !is_as_noted(&reader, &stored, entry.hash)?
                && !is_as_noted(&reader, &stored, ETag::of(&bytes))?
            {
                sync.changed_twice.push((item.path.clone(), uid.clone()));
            }
            changed.push_back(item);
        }
        files.waiting = changed;
        drop(files);
        for (name, entry) in renamed {
            sync.ledger.insert(&name, entry);
        }
        Ok(sync)
    }

    /// Notes the files in the ledger after they were imported, names the records that were changed on
    /// both sides, and names or removes the records whose files are gone. Returns the number of removed
    /// records.
    pub fn finish<R: ItemRecord>(
        mut self,
        out: &mut OutputWriter,
        store: &Store,
        collection: &Collection<R>,
        delete: bool,
        report: &mut ImportReport,
    ) -> Result<u64> {
        report.unchanged += self.unchanged;
        report.bytes += self.bytes;
        let folder = self.folder.path.clone();
        let shown = quote_operand(&folder.display().to_string());
        if self.removed_here > 0 {
            out.write_note(&format!(
                "{}: {} without a record, which was removed here, not imported again; to remove such \
                 files: etui export --delete --vdir",
                escape_text(&folder.display().to_string()),
                pluralize(self.removed_here, "file")
            ));
        }
        for (path, uid) in std::mem::take(&mut self.changed_twice) {
            let Some(stored) = collection.get(&uid)? else {
                continue;
            };
            out.write_error_line(&one_line(&format!(
                "{}: was changed there and here; it has the version of the folder, and the other is \
                 kept: etui {} restore {}",
                path.display(),
                R::COMMAND,
                stored.id
            )));
        }
        let before = self.ledger.clone();
        for (name, entry) in self.folder.files.borrow().entries(&self.home) {
            self.ledger.insert(name, entry);
        }
        let removed = match self.folder.is_last {
            true => self.take_removals(out, store, collection, delete, &shown)?,
            false => 0,
        };
        if self.ledger != before {
            match self.ledger.write(&folder) {
                // Such as on a read-only medium.
                Err(_) if self.is_new => {}
                done => done?,
            }
        }
        Ok(removed)
    }

    /// Finds the files that another program removed.
    fn take_removals<R: ItemRecord>(
        &mut self,
        out: &mut OutputWriter,
        store: &Store,
        collection: &Collection<R>,
        delete: bool,
        shown: &str,
    ) -> Result<u64> {
        let is_gone = |name: &String| !self.folder.path.join(name).exists();
        let files = self.ledger.files_of(&self.home);
        let (gone, present): (Vec<_>, Vec<_>) = files.partition(|(name, _)| is_gone(name));
        let present: HashSet<&str> = present
            .iter()
            .filter_map(|(_, e)| e.uid.as_deref())
            .collect();
        // A file that was renamed is not gone.
        let is_renamed = |entry: &LedgerEntry| match &entry.uid {
            Some(uid) => present.contains(uid.as_str()),
            None => true,
        };
        let gone: Vec<(String, Option<LedgerEntry>)> = gone
            .into_iter()
            .map(|(name, entry)| (name.clone(), (!is_renamed(entry)).then(|| entry.clone())))
            .collect();
        let (mut removable, mut named) = (Vec::new(), Vec::new());
        let snapshot = store.snapshot()?;
        let reader = snapshot.collection::<R>(CollectionKey::Id(collection.id()))?;
        for (name, entry) in gone {
            let stored = match entry.as_ref().and_then(|e| Some((e.uid.as_ref()?, e.hash))) {
                Some((uid, hash)) => reader.get(uid)?.map(|stored| (stored, hash)),
                None => None,
            };
            let path = self.folder.path.join(&name);
            match stored {
                None => self.ledger.remove(&name),
                Some((stored, hash)) if !is_as_noted(&reader, &stored, hash)? => {
                    out.write_error_line(&describe_gone(
                        &path,
                        &stored,
                        "but it was changed here since; it stays, and the next export writes the file",
                    ));
                    self.ledger.remove(&name);
                }
                Some((stored, _)) if delete => removable.push((name, stored)),
                Some((stored, _)) => named.push((path, stored)),
            }
        }
        drop(snapshot);
        for (path, stored) in &named {
            out.write_error_line(&describe_gone(path, stored, "it stays here"));
        }
        if !named.is_empty() {
            out.write_note(&format!(
                "To remove {} here too: etui import --delete {shown}",
                pluralize(named.len() as u64, R::ONE)
            ));
        }
        let uids: Vec<(&str, Condition)> = removable
            .iter()
            .map(|(_, stored)| (stored.uid.as_str(), Condition::IfMatch(stored.etag)))
            .collect();
        collection.remove_all_if(&uids)?;
        for (name, stored) in &removable {
            self.ledger.remove(name);
            if !out.json {
                let undo = format!("etui {} restore {}", R::COMMAND, stored.id);
                let path = self.folder.path.join(name);
                let text = format!("removed here too (undo: {undo})");
                out.write_note(&describe_gone(&path, stored, &text));
            }
        }
        Ok(removable.len() as u64)
    }
}

/// Formats `book/bob.vcf: removed by another program: Bob Öst (2), it stays here`.
fn describe_gone<R: ItemRecord>(path: &Path, stored: &StoredRecord<R>, outcome: &str) -> String {
    one_line(&format!(
        "{}: removed by another program: {} ({}), {outcome}",
        path.display(),
        stored_title(stored),
        stored.id
    ))
    .into_owned()
}

/// Returns true if a record has the bytes of the file that was last exported or imported.
fn is_as_noted<R: ItemRecord>(
    reader: &Reader<R>,
    stored: &StoredRecord<R>,
    hash: ETag,
) -> Result<bool> {
    if stored.etag == hash {
        return Ok(true);
    }
    // The folder may have been exported in another version.
    for version in WrittenVersion::value_variants() {
        let bytes = R::file_bytes(reader, stored.id, &stored.text, *version)?;
        if ETag::of(&bytes) == hash {
            return Ok(true);
        }
    }
    Ok(false)
}
