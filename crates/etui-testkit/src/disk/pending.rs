//! [`PendingState`]: which part of a history is durable, and which part a power cut can still destroy.
//!
//! The simulated device promises little: a flush of a file makes durable its bytes and its
//! size; a flush of a directory makes durable its names. Everything else may or may
//! not have happened, sector by sector, in any order, except:
//!
//! - a sector holds one of its contents, never a mixture ([`PendingState::tear`] is separate);
//! - the sizes of one file follow each other in order, and so do the uses of one name: file systems keep
//!   these in a journal;
//! - space that a file gained without a write reads as zeros.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::content::FileContent;
use super::history::{DiskEvent, DiskFiles, FileId};
use super::platform::directory_of;
use crate::rng::SplitMix64;

/// A unit that may or may not be present after a power cut.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum CrashUnit {
    /// A sector of a write.
    Sector {
        /// The file.
        file: FileId,
        /// The event that wrote it.
        event: usize,
        /// Index of the sector in the file.
        sector: u64,
    },
    /// The size given to a file by a write or a change of size.
    Size {
        /// The file.
        file: FileId,
        /// The event that set it.
        event: usize,
    },
    /// A name that was created or removed.
    Name {
        /// The name.
        path: PathBuf,
        /// The event that did it.
        event: usize,
    },
}

impl CrashUnit {
    /// Returns the event of the unit.
    pub fn event(&self) -> usize {
        match self {
            Self::Sector { event, .. } | Self::Size { event, .. } | Self::Name { event, .. } => {
                *event
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteDurability {
    /// Not flushed.
    Open,
    /// Flushed.
    Settled,
    /// A flush of it failed; no later flush repairs that.
    Doubtful,
}

#[derive(Debug, Clone)]
struct PendingChange {
    event: usize,
    fate: WriteDurability,
    /// The bytes; `None` for a change of size.
    write: Option<(u64, Arc<[u8]>)>,
    /// The file's size from then on, if it changed.
    len: Option<u64>,
}

#[derive(Debug, Clone, Default)]
struct PendingFile {
    durable: FileContent,
    changes: Vec<PendingChange>,
    len: u64,
}

/// The state of a disk at a point of its history.
#[derive(Debug, Clone)]
pub struct PendingState {
    sector: u64,
    files: BTreeMap<FileId, PendingFile>,
    names: BTreeMap<PathBuf, FileId>,
    /// Names created (with their file) and removed, not flushed.
    renames: Vec<(usize, PathBuf, Option<FileId>)>,
}

/// Splits a write into its parts per sector.
fn sectors(offset: u64, bytes: &[u8], sector: u64) -> impl Iterator<Item = (u64, u64, &[u8])> {
    let end = offset + bytes.len() as u64;
    let all = (offset / sector)..end.div_ceil(sector);
    let all = if bytes.is_empty() { 0..0 } else { all };
    all.map(move |at| {
        let from = (at * sector).max(offset);
        let to = ((at + 1) * sector).min(end);
        let part = bytes.get((from - offset) as usize..(to - offset) as usize);
        (at, from, part.unwrap_or_default())
    })
}

impl PendingFile {
    fn push(&mut self, change: PendingChange) {
        if let Some(len) = change.len {
            self.len = len;
        }
        self.changes.push(change);
    }

    fn sync(&mut self, ok: bool) {
        let fate = if ok {
            WriteDurability::Settled
        } else {
            WriteDurability::Doubtful
        };
        for change in &mut self.changes {
            if change.fate == WriteDurability::Open {
                change.fate = fate;
            }
        }
        let is_settled = |change: &&PendingChange| change.fate == WriteDurability::Settled;
        let settled = self.changes.iter().take_while(is_settled).count();
        for change in self.changes.drain(..settled) {
            if let Some((offset, bytes)) = &change.write {
                self.durable.write_at(bytes, *offset);
            } else if let Some(len) = change.len {
                self.durable.set_len(len);
            }
        }
    }

    /// Returns the file's content with the pending sectors and sizes in `kept`.
    fn content(&self, file: FileId, sector_bytes: u64, kept: &BTreeSet<&CrashUnit>) -> FileContent {
        let mut content = self.durable.clone();
        if self.changes.is_empty() {
            return content;
        }
        let mut len = content.len();
        // A sector that is present contains all earlier writes to it.
        let mut newest: BTreeMap<u64, usize> = BTreeMap::new();
        let mut last_size = None;
        for change in &self.changes {
            let (event, settled) = (change.event, change.fate == WriteDurability::Settled);
            let size = CrashUnit::Size { file, event };
            if change.len.is_some() && (settled || kept.contains(&size)) {
                last_size = Some(event);
            }
            let (offset, bytes) = match &change.write {
                Some((offset, bytes)) => (*offset, bytes),
                None => continue,
            };
            for (sector, _, _) in sectors(offset, bytes, sector_bytes) {
                let unit = CrashUnit::Sector {
                    file,
                    event,
                    sector,
                };
                if settled || kept.contains(&unit) {
                    newest.insert(sector, event);
                }
            }
        }
        for change in &self.changes {
            if let Some(to) = change.len
                && last_size.is_some_and(|last| change.event <= last)
            {
                len = to;
                if change.write.is_none() && to < content.len() {
                    content.set_len(to);
                }
            }
            if let Some((offset, bytes)) = &change.write {
                if change.fate == WriteDurability::Settled {
                    // The size may be in doubt since an earlier flush; the bytes are not.
                    len = len.max(offset + bytes.len() as u64);
                }
                for (at, from, part) in sectors(*offset, bytes, sector_bytes) {
                    if newest
                        .get(&at)
                        .is_some_and(|newest| change.event <= *newest)
                    {
                        content.write_at(part, from);
                    }
                }
            }
        }
        content.set_len(len);
        content
    }
}

impl PendingState {
    /// Creates a disk with only durable files. `sector`: bytes that the device writes atomically.
    pub fn new(start: &DiskFiles, sector: u64) -> Self {
        let durable = |(file, content): (&FileId, &FileContent)| {
            let waiting = PendingFile {
                durable: content.clone(),
                changes: Vec::new(),
                len: content.len(),
            };
            (*file, waiting)
        };
        Self {
            sector,
            files: start.contents.iter().map(durable).collect(),
            names: start.names.clone(),
            renames: Vec::new(),
        }
    }

    /// Applies one event.
    pub fn apply(&mut self, at: usize, event: &DiskEvent) {
        match event {
            DiskEvent::Create { file, path } => {
                self.files.entry(*file).or_default();
                self.renames.push((at, path.clone(), Some(*file)));
            }
            DiskEvent::Remove { path } => self.renames.push((at, path.clone(), None)),
            DiskEvent::Write {
                file,
                offset,
                bytes,
            } => {
                let waiting = self.files.entry(*file).or_default();
                let end = offset + bytes.len() as u64;
                waiting.push(PendingChange {
                    event: at,
                    fate: WriteDurability::Open,
                    write: Some((*offset, Arc::clone(bytes))),
                    len: (end > waiting.len).then_some(end),
                });
            }
            DiskEvent::SetLen { file, len } => {
                let waiting = self.files.entry(*file).or_default();
                if *len != waiting.len {
                    waiting.push(PendingChange {
                        event: at,
                        fate: WriteDurability::Open,
                        write: None,
                        len: Some(*len),
                    });
                }
            }
            DiskEvent::Sync { file, ok } => {
                if let Some(waiting) = self.files.get_mut(file) {
                    waiting.sync(*ok);
                }
            }
            DiskEvent::SyncDirectory { directory } => {
                let (flushed, rest) = std::mem::take(&mut self.renames)
                    .into_iter()
                    .partition(|(_, path, _)| directory_of(path) == *directory);
                self.renames = rest;
                let flushed: Vec<(usize, PathBuf, Option<FileId>)> = flushed;
                for (_, path, file) in flushed {
                    name(&mut self.names, path, file);
                }
            }
            DiskEvent::Mark(_) => {}
        }
    }

    /// Returns all pending units, in order of their events. Files without a reachable
    /// name are excluded.
    pub fn atoms(&self) -> Vec<CrashUnit> {
        let mut reachable: Vec<FileId> = self.names.values().copied().collect();
        reachable.extend(self.renames.iter().filter_map(|(_, _, file)| *file));
        let mut atoms = Vec::new();
        for file in reachable {
            let Some(waiting) = self.files.get(&file) else {
                continue;
            };
            let unsettled = |change: &&PendingChange| change.fate != WriteDurability::Settled;
            for change in waiting.changes.iter().filter(unsettled) {
                let event = change.event;
                if change.len.is_some() {
                    atoms.push(CrashUnit::Size { file, event });
                }
                if let Some((offset, bytes)) = &change.write {
                    for (sector, _, _) in sectors(*offset, bytes, self.sector) {
                        atoms.push(CrashUnit::Sector {
                            file,
                            event,
                            sector,
                        });
                    }
                }
            }
        }
        for (event, path, _) in &self.renames {
            let (path, event) = (path.clone(), *event);
            atoms.push(CrashUnit::Name { path, event });
        }
        atoms.sort_by_key(CrashUnit::event);
        atoms
    }

    /// Returns true if the unit was written after the last flush. Data left in doubt by a failed flush may
    /// have been overwritten durably since.
    pub fn is_under_way(&self, atom: &CrashUnit) -> bool {
        let CrashUnit::Sector { file, event, .. } = atom else {
            return false;
        };
        let mut changes = self
            .files
            .get(file)
            .into_iter()
            .flat_map(|file| &file.changes);
        changes.any(|change| change.event == *event && change.fate == WriteDurability::Open)
    }

    /// Damages the sector of a unit, as a device that stops in the middle of a write.
    pub fn tear(&self, files: &mut DiskFiles, atom: &CrashUnit) {
        let CrashUnit::Sector {
            file,
            event,
            sector,
        } = atom
        else {
            return;
        };
        let Some(content) = files.contents.get_mut(file) else {
            return;
        };
        let begin = sector * self.sector;
        let len = content.len().saturating_sub(begin).min(self.sector);
        let mut rng = SplitMix64::stream(*event as u64, *sector);
        let garbage: Vec<u8> = (0..len).map(|_| rng.next_u64() as u8).collect();
        content.write_at(&garbage, begin);
    }

    /// Returns the disk after a power cut at which, of the pending units, those in `kept` were written.
    pub fn files(&self, atoms: &[CrashUnit], kept: &[bool]) -> DiskFiles {
        let kept = atoms.iter().zip(kept).filter(|(_, kept)| **kept);
        let kept: BTreeSet<&CrashUnit> = kept.map(|(unit, _)| unit).collect();
        // A name that is kept has all its earlier uses.
        let mut last_uses: BTreeMap<&PathBuf, usize> = BTreeMap::new();
        for unit in &kept {
            if let CrashUnit::Name { path, event } = unit {
                last_uses.insert(path, *event);
            }
        }
        let mut names = self.names.clone();
        for (event, path, file) in &self.renames {
            if last_uses.get(path).is_some_and(|last| event <= last) {
                name(&mut names, path.clone(), *file);
            }
        }
        let content = |file: &FileId| {
            let content = match self.files.get(file) {
                Some(waiting) => waiting.content(*file, self.sector, &kept),
                None => FileContent::default(),
            };
            (*file, content)
        };
        DiskFiles {
            contents: names.values().map(content).collect(),
            names,
        }
    }
}

fn name(names: &mut BTreeMap<PathBuf, FileId>, path: PathBuf, file: Option<FileId>) {
    match file {
        Some(file) => names.insert(path, file),
        None => names.remove(&path),
    };
}
