//! Compares the folders with the stored files: which are equal, moved, changed, new and lost.
//!
//! A file of the same path, size, time and inode is the same. A folder or file of another path is a
//! moved one if the inode, and of a file also size and time, are those of one that is gone from its
//! path on the same file system. Nothing is opened.

mod roots;
mod walked;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use rusqlite::Connection;

use self::walked::{
    WalkedFolder, album_folder, context, cover_file, folders_with_music, has_audio, is_cover,
};
use super::record_edits::RecordEdits;
use super::walk::{Belonging, FileKind, FileStat, Listing, list_folder, split_name};
use super::{Reporter, ScanReport};
use crate::error::{Error, Result};
use crate::media::files::{
    self, FileState, FolderTree, LostFile, StoredFile, StoredFolder, StoredRoot,
};
use crate::media::library::Media;
use crate::media::membership::album_uid;
use crate::media::track::Track;
use crate::types::CollectionKind;

/// Files of one task at most, so that a folder of thousands is read by all workers.
const TASK_FILES: usize = 32;

/// The work of a scan.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Roots to insert or update.
    roots: Vec<StoredRoot>,
    /// Roots that became a folder of another: the root, the other, its folder and name there.
    absorbed: Vec<(i64, i64, i64, Vec<u8>)>,
    folders: Vec<(i64, StoredFolder)>,
    /// The places in `folders` by id.
    folder_places: HashMap<i64, usize>,
    moved: Vec<MovedFile>,
    /// Files that are read again although they did not change. They are marked first: a scan that
    /// is killed before it reads them has left them to the next.
    again: Vec<(i64, Vec<u8>)>,
    pub(super) tasks: Vec<FolderTask>,
    pub(super) lost: Vec<LostFile>,
    /// Roots that are not there.
    pub(super) away: HashSet<i64>,
    /// The largest ids of a folder and of a root when the plan was made.
    last_ids: (i64, i64),
}

#[derive(Debug)]
struct MovedFile {
    from: (i64, Vec<u8>),
    folder: i64,
    album_folder: i64,
    file: StoredFile,
}

/// Files of one folder to be read.
#[derive(Debug)]
pub(super) struct FolderTask {
    pub(super) folder: i64,
    /// The folder whose id tells albums without an album artist apart: the parent of `CD 2`.
    pub(super) album_folder: i64,
    pub(super) path: PathBuf,
    /// The picture that is the cover of music without one.
    pub(super) cover: Option<PathBuf>,
    pub(super) has_music: bool,
    pub(super) files: Vec<FileTask>,
}

/// A file to be read.
#[derive(Debug)]
pub(super) struct FileTask {
    pub(super) name: Vec<u8>,
    pub(super) kind: FileKind,
    pub(super) stat: FileStat,
    /// Its record, if it had one.
    pub(super) record: Option<i64>,
    /// Set if it is the second file of another's entry.
    pub(super) belonging: Option<Belonging>,
    /// The names of its sidecars.
    pub(super) sidecars: Vec<Vec<u8>>,
}

impl FileTask {
    /// Returns true if a file of this role can have the stored state; `knows_owner`: the file that it belongs to
    /// is not new.
    fn is_as(&self, state: FileState, knows_owner: bool) -> bool {
        let is_attached = state == FileState::Attached;
        match self.belonging {
            Some(Belonging::Always) => is_attached,
            // A longer video beside a picture is read again for a new one only.
            Some(Belonging::IfShort) => is_attached || knows_owner,
            None => !is_attached && (state == FileState::Cover) == is_cover(self.kind),
        }
    }
}

impl Plan {
    /// The number of files to read.
    pub(super) fn to_read(&self) -> u64 {
        self.tasks.iter().map(|task| task.files.len() as u64).sum()
    }

    /// Plans a folder of a root, in the place of what was planned of it.
    fn put_folder(&mut self, root: i64, folder: StoredFolder) {
        match self.planned_folder(folder.id) {
            Some(planned) => *planned = folder,
            None => {
                self.folder_places.insert(folder.id, self.folders.len());
                self.folders.push((root, folder));
            }
        }
    }

    fn planned_folder(&mut self, id: i64) -> Option<&mut StoredFolder> {
        let place = *self.folder_places.get(&id)?;
        self.folders.get_mut(place).map(|(_, folder)| folder)
    }

    /// The number of moved files.
    pub(super) fn moved(&self) -> u64 {
        self.moved.len() as u64
    }

    /// Folders that files were lost or moved from.
    pub(super) fn left_folders(&self) -> impl Iterator<Item = i64> {
        let moved = self.moved.iter().map(|moved| moved.from.0);
        moved.chain(self.lost.iter().map(|lost| lost.folder))
    }

    /// Returns true if there are folders or moved files to write.
    pub(super) fn changes_structure(&self) -> bool {
        !(self.roots.is_empty()
            && self.absorbed.is_empty()
            && self.folders.is_empty()
            && self.again.is_empty()
            && self.moved.is_empty())
    }
}

/// Everything that comparing needs of all roots.
struct Comparison<'a, 'p> {
    plan: Plan,
    /// Files that are at no stored path, with the root's file system.
    found: Vec<FoundFile>,
    /// Where lost files were, by file system and content of the listing.
    lost: HashMap<(i64, FileStat), Vec<(i64, StoredFile)>>,
    next_folder: i64,
    /// Roots that are scanned.
    scanned: HashSet<i64>,
    reporter: &'a mut Reporter<'p>,
    report: &'a mut ScanReport,
}

struct FoundFile {
    fsid: i64,
    place: usize,
    file: FileTask,
    /// The file that had its path, by another inode: it may have been moved, or replaced by an
    /// editor that writes a new file.
    former: Option<StoredFile>,
}

/// Compares the given folders, or all roots.
pub(super) fn plan(
    media: &Media,
    folders: &[PathBuf],
    reporter: &mut Reporter<'_>,
    report: &mut ScanReport,
) -> Result<Plan> {
    media.db.read_transaction(|conn| {
        let mut comparison = Comparison {
            plan: Plan {
                last_ids: last_ids(conn)?,
                ..Plan::default()
            },
            found: Vec::new(),
            lost: HashMap::new(),
            next_folder: files::last_folder(conn)? + 1,
            scanned: HashSet::new(),
            reporter,
            report,
        };
        let mut stored = files::read_roots(conn)?;
        let wanted = comparison.choose_roots(conn, folders, &mut stored)?;
        let mut walked = Vec::new();
        for root in wanted {
            comparison.scanned.insert(root.id);
            comparison.compare_root(conn, root, &mut walked)?;
            if comparison.reporter.is_stopped {
                return Ok(comparison.plan);
            }
        }
        comparison.look_for_others(&stored)?;
        comparison.match_moved(conn, &walked)?;
        comparison.add_found(walked);
        let Comparison { mut plan, lost, .. } = comparison;
        plan.lost = lost
            .into_values()
            .flatten()
            .map(|(folder, file)| LostFile {
                folder,
                name: file.name,
                inode: file.stat.inode,
                record: file.record,
            })
            .collect();
        plan.lost
            .sort_by(|a, b| (a.folder, &a.name).cmp(&(b.folder, &b.name)));
        let away = files::read_roots(conn)?
            .into_iter()
            .filter(|root| root.is_away);
        plan.away.extend(away.map(|root| root.id));
        for root in &plan.roots {
            match root.is_away {
                true => plan.away.insert(root.id),
                false => plan.away.remove(&root.id),
            };
        }
        Ok(plan)
    })
}

/// Writes folders and moved files, in the present transaction.
pub(super) fn write_structure(media: &Media, conn: &Connection, plan: &Plan) -> Result<()> {
    // The ids of this plan are taken if another scan added folders meanwhile.
    if last_ids(conn)? != plan.last_ids {
        return Err(Error::ScannedMeanwhile);
    }
    for (old, root, parent, name) in &plan.absorbed {
        conn.execute(
            "UPDATE media_folder SET parent = ?2, name = ?3 WHERE root = ?1 AND parent IS NULL",
            (old, parent, name),
        )?;
        conn.execute(
            "UPDATE media_folder SET root = ?2 WHERE root = ?1",
            (old, root),
        )?;
        conn.execute("DELETE FROM media_root WHERE id = ?1", [old])?;
    }
    for root in &plan.roots {
        files::put_root(conn, root)?;
    }
    for (root, folder) in &plan.folders {
        files::put_folder(conn, *root, folder)?;
    }
    for (folder, name) in &plan.again {
        files::forget_time(conn, *folder, name)?;
    }
    let mut edits = RecordEdits::new(media);
    for moved in &plan.moved {
        files::delete_file(conn, moved.from.0, &moved.from.1)?;
    }
    edits.run(conn, |conn, edits, writing| {
        for moved in &plan.moved {
            files::put_file(conn, moved.folder, &moved.file)?;
            let Some(record) = moved.file.record else {
                continue;
            };
            edits.edit(conn, writing, record, |kind, lines| {
                let name = String::from_utf8_lossy(&moved.file.name);
                lines.set("file.name", Some(&name));
                if kind == CollectionKind::Music {
                    let track = Track::new(lines.clone());
                    let album = album_uid(&track, &moved.album_folder.to_string());
                    lines.set("file.album", album.as_deref());
                }
            })?;
        }
        Ok(())
    })
}

impl Comparison<'_, '_> {
    /// Plans a folder, unless it is planned; returns its id.
    fn put_folder(
        &mut self,
        root: &StoredRoot,
        parent: Option<i64>,
        name: Vec<u8>,
        inode: i64,
    ) -> i64 {
        let planned =
            self.plan.folders.iter().find(|(of, folder)| {
                *of == root.id && folder.parent == parent && folder.name == name
            });
        if let Some((_, folder)) = planned {
            return folder.id;
        }
        let id = self.next_folder;
        self.next_folder += 1;
        let folder = StoredFolder {
            id,
            parent,
            name,
            inode,
            context: 0,
        };
        self.plan.put_folder(root.id, folder);
        id
    }

    /// The stored and planned folders of a root.
    fn tree(&self, conn: &Connection, root: &StoredRoot) -> Result<FolderTree> {
        let mut folders = files::read_folders(conn, root.id)?;
        for (inner, of, parent, name) in &self.plan.absorbed {
            if *of == root.id {
                let moved = files::read_folders(conn, *inner)?;
                folders.extend(moved.into_iter().map(|folder| match folder.parent {
                    Some(_) => folder,
                    None => StoredFolder {
                        parent: Some(*parent),
                        name: name.clone(),
                        ..folder
                    },
                }));
            }
        }
        let planned = self.plan.folders.iter().filter(|(of, _)| *of == root.id);
        folders.extend(planned.map(|(_, folder)| folder.clone()));
        Ok(FolderTree::new(folders))
    }

    /// Walks a root and compares each folder's files.
    fn walk(
        &mut self,
        conn: &Connection,
        root: &StoredRoot,
        tree: FolderTree,
        listing: Listing,
        walked: &mut Vec<WalkedFolder>,
    ) -> Result<()> {
        let mut claimed: HashSet<i64> = HashSet::new();
        let mut unreadable: HashSet<i64> = HashSet::new();
        let (top, is_new) = match tree.root {
            Some(top) => (top, false),
            None => (self.put_folder(root, None, Vec::new(), root.inode), true),
        };
        claimed.insert(top);
        let first = walked.len();
        self.count_listing(&listing);
        walked.push(WalkedFolder {
            id: top,
            root: root.id,
            path: root.path.clone(),
            parent: None,
            name: Vec::new(),
            inode: root.inode,
            listing,
            is_new,
            is_moved: false,
            context: tree.by_id.get(&top).map_or(0, |folder| folder.context),
        });
        // By name, else by inode: one that is not at its path any more.
        let mut at = first;
        while let Some(folder) = walked.get(at) {
            let (parent, parent_path) = (folder.id, folder.path.clone());
            let children = folder.listing.folders.clone();
            for child in children {
                let path = parent_path.join(files::path_of(&child.name));
                let by_name = tree.child(parent, &child.name);
                let by_name = by_name.filter(|id| !claimed.contains(id));
                let by_inode = || {
                    let moved = tree.with_inode(child.inode)?;
                    let old = tree.path(&root.path, moved.id);
                    let is_gone = old.is_none_or(|old| !old.is_dir());
                    (is_gone && !claimed.contains(&moved.id)).then_some(moved.id)
                };
                let known = by_name.or_else(by_inode);
                let is_moved = by_name.is_none();
                let listing = match list_folder(&path, &mut || self.reporter.go_on()) {
                    Ok(listing) => listing,
                    // It vanished after its parent was listed.
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                    Err(error) => {
                        self.report.unreadable.push((path, error.to_string()));
                        unreadable.extend(known);
                        claimed.extend(known);
                        continue;
                    }
                };
                self.count_listing(&listing);
                let id = match known {
                    Some(id) => id,
                    None => {
                        let id = self.next_folder;
                        self.next_folder += 1;
                        id
                    }
                };
                claimed.insert(id);
                let stored = StoredFolder {
                    id,
                    parent: Some(parent),
                    name: child.name.clone(),
                    inode: child.inode,
                    context: tree.by_id.get(&id).map_or(0, |folder| folder.context),
                };
                // A folder that was moved, or whose inode changed.
                let before = tree.by_id.get(&id);
                if let Some(before) = before.filter(|before| **before != stored) {
                    let is_moved = (before.parent, &before.name) != (stored.parent, &stored.name);
                    self.report.moved_folders += u64::from(is_moved);
                    self.plan.put_folder(root.id, stored);
                }
                walked.push(WalkedFolder {
                    id,
                    root: root.id,
                    path,
                    parent: Some(at),
                    name: child.name,
                    inode: child.inode,
                    listing,
                    is_new: known.is_none(),
                    is_moved,
                    context: tree.by_id.get(&id).map_or(0, |folder| folder.context),
                });
            }
            at += 1;
            if !self.reporter.go_on() {
                return Ok(());
            }
        }
        if self.reporter.is_stopped {
            return Ok(());
        }
        let music = folders_with_music(walked, first);
        for place in first..walked.len() {
            self.compare_files(conn, root, walked, place, &music)?;
            if self.reporter.is_stopped {
                return Ok(());
            }
        }
        // Stored folders that were not found, unless they are below one that cannot be read.
        for folder in tree.by_id.values() {
            let is_below_unreadable = tree
                .ancestors(folder.id)
                .any(|ancestor| unreadable.contains(&ancestor));
            if !claimed.contains(&folder.id) && !is_below_unreadable {
                for file in files::read_files(conn, folder.id)? {
                    self.lose(root, folder.id, file);
                }
            }
        }
        Ok(())
    }

    /// Compares the files of one folder with the stored ones; both are sorted by name.
    fn compare_files(
        &mut self,
        conn: &Connection,
        root: &StoredRoot,
        walked: &[WalkedFolder],
        place: usize,
        music: &HashSet<usize>,
    ) -> Result<()> {
        let Some(folder) = walked.get(place) else {
            return Ok(());
        };
        let has_music = music.contains(&place);
        let stored = match folder.is_new {
            true => Vec::new(),
            false => files::read_files(conn, folder.id)?,
        };
        let files = &folder.listing.files;
        let knows_owner: Vec<bool> = files
            .iter()
            .map(|file| {
                let owner = file.owner.and_then(|owner| files.get(owner.place));
                owner.is_some_and(|owner| {
                    stored
                        .binary_search_by(|old| old.name.cmp(&owner.name))
                        .is_ok()
                })
            })
            .collect();
        let is_sidecar = |name: &[u8]| FileKind::of_name(name) == Some(FileKind::Sidecar);
        let has_sidecars = files.iter().any(|file| file.kind == FileKind::Sidecar)
            || stored
                .iter()
                .any(|old| old.state == FileState::Attached && is_sidecar(&old.name));
        let mut stored = stored.into_iter().peekable();
        let mut same = Vec::new();
        let mut described: HashSet<Vec<u8>> = HashSet::new();
        let mut add_changed = |name: &[u8]| {
            if has_sidecars {
                add_described(name, &mut described);
            }
        };
        for (file, knows_owner) in files.iter().zip(knows_owner) {
            if file.is_stray() {
                continue;
            }
            self.reporter.progress.files += u64::from(file.kind != FileKind::Sidecar);
            if !self.reporter.go_on() {
                return Ok(());
            }
            while let Some(lost) = stored.next_if(|old| old.name < file.name) {
                add_changed(&lost.name);
                self.lose(root, folder.id, lost);
            }
            let kind = match file.kind {
                FileKind::Cover(_) if !has_music => FileKind::Picture,
                kind => kind,
            };
            let old = stored.next_if(|old| old.name == file.name);
            let mut task = FileTask {
                name: file.name.clone(),
                kind,
                stat: file.stat,
                record: None,
                belonging: file.owner.map(|owner| owner.how),
                sidecars: Vec::new(),
            };
            match old {
                Some(old) if old.stat == file.stat && task.is_as(old.state, knows_owner) => {
                    task.record = old.record;
                    same.push(task);
                    continue;
                }
                Some(old) => {
                    let is_other = old.stat.inode != file.stat.inode || folder.is_moved;
                    if !is_other {
                        task.record = old.record;
                    }
                    let former = (is_other && !folder.is_moved).then(|| old.clone());
                    if is_other {
                        self.lose(root, folder.id, old);
                    }
                    self.find(root, place, task, former);
                }
                None => self.find(root, place, task, None),
            }
            add_changed(&file.name);
        }
        for lost in stored {
            add_changed(&lost.name);
            self.lose(root, folder.id, lost);
        }
        let context = context(walked, place);
        let is_planned = self.plan.folder_places.contains_key(&folder.id);
        if folder.is_new && is_planned {
            self.set_context(walked, place, context);
        }
        let is_other_context = folder.context != context && !folder.is_new;
        if is_other_context {
            self.set_context(walked, place, context);
        }
        for file in same {
            let is_described = has_sidecars
                && (described.contains(&file.name) || described.contains(split_name(&file.name).0));
            if (is_other_context && !is_cover(file.kind)) || is_described {
                self.plan.again.push((folder.id, file.name.clone()));
                self.find(root, place, file, None);
            }
        }
        Ok(())
    }

    /// Plans the new context of a folder.
    fn set_context(&mut self, walked: &[WalkedFolder], place: usize, context: i64) {
        let Some(folder) = walked.get(place) else {
            return;
        };
        if let Some(planned) = self.plan.planned_folder(folder.id) {
            planned.context = context;
            return;
        }
        let parent = folder.parent.and_then(|parent| walked.get(parent));
        let stored = StoredFolder {
            id: folder.id,
            parent: parent.map(|parent| parent.id),
            name: folder.name.clone(),
            inode: folder.inode,
            context,
        };
        self.plan.put_folder(folder.root, stored);
    }

    /// Counts the files and folders of a listing that are left out.
    fn count_listing(&mut self, listing: &Listing) {
        self.report.excluded_folders += u64::from(listing.is_excluded);
        for (extension, count) in &listing.others {
            *self.report.other_formats.entry(extension).or_default() += count;
        }
    }

    fn find(
        &mut self,
        root: &StoredRoot,
        place: usize,
        file: FileTask,
        former: Option<StoredFile>,
    ) {
        self.found.push(FoundFile {
            fsid: root.fsid,
            place,
            file,
            former,
        });
    }

    fn lose(&mut self, root: &StoredRoot, folder: i64, file: StoredFile) {
        let of_stat = self.lost.entry((root.fsid, file.stat)).or_default();
        of_stat.push((folder, file));
    }

    /// Finds the files that were moved: new ones that are lost elsewhere. One without a cover of its
    /// own is read again if there is one where it is, or was one where it was.
    fn match_moved(&mut self, conn: &Connection, walked: &[WalkedFolder]) -> Result<()> {
        let found = std::mem::take(&mut self.found);
        for found in found {
            let key = (found.fsid, found.file.stat);
            let is_new = found.file.record.is_none();
            let kind = found.file.kind;
            let class = |kind: Option<FileKind>| kind == Some(FileKind::Audio);
            let of_kind = |file: &StoredFile| {
                found.file.is_as(file.state, true)
                    && class(FileKind::of_name(&file.name)) == class(Some(kind))
            };
            let lost = self.lost.get_mut(&key).filter(|_| is_new).and_then(|lost| {
                let at = lost.iter().position(|(_, file)| of_kind(file))?;
                Some(lost.swap_remove(at))
            });
            let folder = walked.get(found.place);
            let (Some((from, file)), Some(folder)) = (lost, folder) else {
                self.found.push(found);
                continue;
            };
            let has_cover_there = cover_file(walked, found.place).is_some();
            let needs_cover = match file.record {
                Some(record) if kind == FileKind::Audio => {
                    files::uses_folder_cover(conn, record, has_cover_there)?
                }
                _ => kind == FileKind::Picture,
            };
            let mut stored = StoredFile {
                name: found.file.name.clone(),
                ..file
            };
            if needs_cover {
                stored.stat.mtime = 0;
                self.found.push(FoundFile {
                    file: FileTask {
                        record: stored.record,
                        ..found.file
                    },
                    // It was moved onto that one, which is lost.
                    former: None,
                    ..found
                });
            }
            self.plan.moved.push(MovedFile {
                from: (from, file.name),
                folder: folder.id,
                album_folder: album_folder(walked, found.place),
                file: stored,
            });
        }
        // What was not moved there has replaced the file that had its path.
        for found in &mut self.found {
            let Some(former) = found.former.take() else {
                continue;
            };
            let folder = walked.get(found.place).map(|folder| folder.id);
            let key = (found.fsid, former.stat);
            let lost = self.lost.get_mut(&key).and_then(|lost| {
                let at = lost
                    .iter()
                    .position(|(of, file)| Some(*of) == folder && file.name == former.name)?;
                Some(lost.swap_remove(at))
            });
            if let Some((_, former)) = lost {
                found.file.record = former.record;
            }
        }
        Ok(())
    }

    /// Makes tasks of the files to be read, and plans the new folders that have any.
    fn add_found(&mut self, walked: Vec<WalkedFolder>) {
        let mut by_place: HashMap<usize, Vec<FileTask>> = HashMap::new();
        for found in std::mem::take(&mut self.found) {
            by_place.entry(found.place).or_default().push(found.file);
        }
        let moved_to: HashSet<i64> = self.plan.moved.iter().map(|moved| moved.folder).collect();
        // A new folder is stored if it has media, or one below it has.
        let mut has_media = vec![false; walked.len()];
        for (place, folder) in walked.iter().enumerate().rev() {
            let own =
                by_place.contains_key(&place) || moved_to.contains(&folder.id) || !folder.is_new;
            if own && let Some(flag) = has_media.get_mut(place) {
                *flag = true;
            }
            if has_media.get(place) == Some(&true)
                && let Some(flag) = folder.parent.and_then(|parent| has_media.get_mut(parent))
            {
                *flag = true;
            }
        }
        for (place, folder) in walked.iter().enumerate() {
            let parent = folder.parent.and_then(|parent| walked.get(parent));
            let is_planned = self.plan.folder_places.contains_key(&folder.id);
            if folder.is_new && has_media.get(place) == Some(&true) && !is_planned {
                let stored = StoredFolder {
                    id: folder.id,
                    parent: parent.map(|parent| parent.id),
                    name: folder.name.clone(),
                    inode: folder.inode,
                    context: context(&walked, place),
                };
                self.plan.put_folder(folder.root, stored);
            }
            let Some(files) = by_place.remove(&place) else {
                continue;
            };
            let listed = &folder.listing.files;
            let mut sidecars: HashMap<&[u8], Vec<Vec<u8>>> = HashMap::new();
            for file in listed.iter().filter(|file| file.kind == FileKind::Sidecar) {
                if let Some(owner) = file.owner.and_then(|owner| listed.get(owner.place)) {
                    sidecars
                        .entry(&owner.name)
                        .or_default()
                        .push(file.name.clone());
                }
            }
            let cover = cover_file(&walked, place);
            let has_music = has_audio(&folder.listing);
            let mut files = files.into_iter().map(|file| FileTask {
                sidecars: sidecars.remove(file.name.as_slice()).unwrap_or_default(),
                ..file
            });
            loop {
                // Collected anew: parts split off a vector would keep the capacity of the whole.
                let files: Vec<FileTask> = files.by_ref().take(TASK_FILES).collect();
                if files.is_empty() {
                    break;
                }
                self.plan.tasks.push(FolderTask {
                    folder: folder.id,
                    album_folder: album_folder(&walked, place),
                    path: folder.path.clone(),
                    cover: cover.clone(),
                    has_music,
                    files,
                });
            }
        }
        self.report.files = self.reporter.progress.files;
    }
}

/// Adds the names of files that may have other sidecars after a change of one: with or without an ending.
fn add_described(changed: &[u8], described: &mut HashSet<Vec<u8>>) {
    let (stem, extension) = split_name(changed);
    // Of two pictures of a name, the first has its sidecar: the other one, if that is gone.
    described.insert(stem.to_vec());
    if extension.eq_ignore_ascii_case(b"xmp") {
        // That of a raw picture is of the JPEG beside it.
        described.insert(split_name(stem).0.to_vec());
    }
}

fn last_ids(conn: &Connection) -> Result<(i64, i64)> {
    let roots = files::read_roots(conn)?;
    let last_root = roots.iter().map(|root| root.id).max();
    Ok((files::last_folder(conn)?, last_root.unwrap_or(0)))
}
