//! The tables `media_root`, `media_folder` and `media_file`: where the files of a library are.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension};

use super::scan::walk::{FileKind, FileStat, ListedFile, find_owners, split_name};
use super::tag_lines::TagLines;
use crate::error::Result;

/// A folder that is scanned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredRoot {
    pub(super) id: i64,
    pub(super) path: PathBuf,
    pub(super) fsid: i64,
    pub(super) inode: i64,
    pub(super) is_away: bool,
}

/// A folder below a root. The root's own has no parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredFolder {
    pub(super) id: i64,
    pub(super) parent: Option<i64>,
    pub(super) name: Vec<u8>,
    pub(super) inode: i64,
    /// Hash of the circumstances that its files depend on: see `scan::compare`.
    pub(super) context: i64,
}

/// State of a file after a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum FileState {
    Read = 0,
    ReadInPart = 1,
    Refused = 2,
    Cover = 3,
    /// A picture beside music that no camera took, such as a scan of the booklet.
    Ignored = 4,
    /// The second file of an entry: a raw picture beside its JPEG, the video of a live photo, a sidecar.
    Attached = 5,
}

impl FileState {
    pub(super) fn from_number(number: i64) -> Self {
        match number {
            0 => Self::Read,
            1 => Self::ReadInPart,
            3 => Self::Cover,
            4 => Self::Ignored,
            5 => Self::Attached,
            _ => Self::Refused,
        }
    }
}

/// A file as it was last read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredFile {
    pub(super) name: Vec<u8>,
    pub(super) stat: FileStat,
    pub(super) state: FileState,
    pub(super) record: Option<i64>,
    /// Why it was refused or read in part.
    pub(super) problem: Option<String>,
}

/// A file that is not at its path any more.
#[derive(Debug)]
pub(super) struct LostFile {
    pub(super) folder: i64,
    pub(super) name: Vec<u8>,
    pub(super) inode: i64,
    pub(super) record: Option<i64>,
}

pub(super) fn read_roots(conn: &Connection) -> Result<Vec<StoredRoot>> {
    let mut statement =
        conn.prepare_cached("SELECT id, path, fsid, inode, is_away FROM media_root ORDER BY id")?;
    let roots = statement.query_map([], |r| {
        Ok(StoredRoot {
            id: r.get(0)?,
            path: path_of(r.get_ref(1)?.as_bytes().unwrap_or_default()),
            fsid: r.get(2)?,
            inode: r.get(3)?,
            is_away: r.get(4)?,
        })
    })?;
    Ok(roots.collect::<rusqlite::Result<_>>()?)
}

/// Returns the path of stored bytes.
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// Returns the folders of a root.
pub(super) fn read_folders(conn: &Connection, root: i64) -> Result<Vec<StoredFolder>> {
    let mut statement = conn.prepare_cached(
        "SELECT id, parent, name, inode, context FROM media_folder WHERE root = ?1 ORDER BY id",
    )?;
    let folders = statement.query_map([root], |r| {
        Ok(StoredFolder {
            id: r.get(0)?,
            parent: r.get(1)?,
            name: r.get(2)?,
            inode: r.get(3)?,
            context: r.get(4)?,
        })
    })?;
    Ok(folders.collect::<rusqlite::Result<_>>()?)
}

/// Returns true if a file of a root is known.
pub(super) fn has_files(conn: &Connection, root: i64) -> Result<bool> {
    let mut statement = conn.prepare_cached(
        "SELECT 1 FROM media_folder d JOIN media_file f ON f.folder = d.id WHERE d.root = ?1",
    )?;
    Ok(statement.exists([root])?)
}

/// Returns the files of a folder, sorted by name.
pub(super) fn read_files(conn: &Connection, folder: i64) -> Result<Vec<StoredFile>> {
    let mut statement = conn.prepare_cached(
        "SELECT name, size, mtime, inode, state, record, problem FROM media_file \
         WHERE folder = ?1 ORDER BY name",
    )?;
    let files = statement.query_map([folder], |r| {
        Ok(StoredFile {
            name: r.get(0)?,
            stat: FileStat {
                size: r.get(1)?,
                mtime: r.get(2)?,
                inode: r.get(3)?,
            },
            state: FileState::from_number(r.get(4)?),
            record: r.get(5)?,
            problem: r.get(6)?,
        })
    })?;
    Ok(files.collect::<rusqlite::Result<_>>()?)
}

/// Returns the largest folder id that was given out.
pub(super) fn last_folder(conn: &Connection) -> Result<i64> {
    let last: Option<i64> = conn.query_row("SELECT max(id) FROM media_folder", [], |r| r.get(0))?;
    Ok(last.unwrap_or(0))
}

/// Inserts a root, or writes where it is and whether it is there.
pub(super) fn put_root(conn: &Connection, root: &StoredRoot) -> Result<()> {
    conn.prepare_cached(
        "INSERT INTO media_root (id, path, fsid, inode, is_away) VALUES (?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT (id) DO UPDATE SET path = ?2, fsid = ?3, inode = ?4, is_away = ?5",
    )?
    .execute((
        root.id,
        root.path.as_os_str().as_bytes(),
        root.fsid,
        root.inode,
        root.is_away,
    ))?;
    Ok(())
}

/// Inserts a folder, or moves it.
pub(super) fn put_folder(conn: &Connection, root: i64, folder: &StoredFolder) -> Result<()> {
    conn.prepare_cached(
        "INSERT INTO media_folder (id, root, parent, name, inode, context) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
         ON CONFLICT (id) DO UPDATE \
         SET root = ?2, parent = ?3, name = ?4, inode = ?5, context = ?6",
    )?
    .execute((
        folder.id,
        root,
        folder.parent,
        &folder.name,
        folder.inode,
        folder.context,
    ))?;
    Ok(())
}

/// Inserts a file, or replaces it.
pub(super) fn put_file(conn: &Connection, folder: i64, file: &StoredFile) -> Result<()> {
    conn.prepare_cached(
        "INSERT OR REPLACE INTO media_file \
         (folder, name, size, mtime, inode, state, record, problem) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute((
        folder,
        &file.name,
        file.stat.size,
        file.stat.mtime,
        file.stat.inode,
        file.state as u8,
        file.record,
        &file.problem,
    ))?;
    Ok(())
}

pub(super) fn delete_file(conn: &Connection, folder: i64, name: &[u8]) -> Result<()> {
    conn.prepare_cached("DELETE FROM media_file WHERE folder = ?1 AND name = ?2")?
        .execute((folder, name))?;
    Ok(())
}

/// Deletes a file that was lost, unless another was moved to its path meanwhile.
pub(super) fn delete_lost(conn: &Connection, lost: &LostFile) -> Result<()> {
    conn.prepare_cached("DELETE FROM media_file WHERE folder = ?1 AND name = ?2 AND inode = ?3")?
        .execute((lost.folder, &lost.name, lost.inode))?;
    Ok(())
}

/// Leaves a file without its record, which another file has now.
pub(super) fn forget_record(conn: &Connection, folder: i64, name: &[u8]) -> Result<()> {
    conn.prepare_cached(
        "UPDATE media_file SET record = NULL, mtime = 0 WHERE folder = ?1 AND name = ?2",
    )?
    .execute((folder, name))?;
    Ok(())
}

/// Returns true if a track has its folder's cover, or none where there is one now.
pub(super) fn uses_folder_cover(
    conn: &Connection,
    record: i64,
    has_cover_there: bool,
) -> Result<bool> {
    let text: Option<Vec<u8>> = conn
        .prepare_cached("SELECT text FROM record WHERE id = ?1")?
        .query_row([record], |r| r.get(0))
        .optional()?;
    let lines = TagLines::from_text(text.unwrap_or_default());
    let is_folders = lines.first("file.foldercover").is_some();
    Ok(is_folders || (lines.first("file.cover").is_none() && has_cover_there))
}

/// Makes the next scan read a file again.
pub(super) fn forget_time(conn: &Connection, folder: i64, name: &[u8]) -> Result<()> {
    conn.prepare_cached("UPDATE media_file SET mtime = 0 WHERE folder = ?1 AND name = ?2")?
        .execute((folder, name))?;
    Ok(())
}

/// Deletes folders without files and folders, upwards from `folder`; the root's own stays.
pub(super) fn delete_if_empty(conn: &Connection, folder: i64) -> Result<()> {
    let mut at = Some(folder);
    while let Some(folder) = at {
        at = conn
            .prepare_cached(
                "DELETE FROM media_folder WHERE id = ?1 AND parent IS NOT NULL \
                 AND NOT EXISTS (SELECT 1 FROM media_file WHERE folder = ?1) \
                 AND NOT EXISTS (SELECT 1 FROM media_folder f WHERE f.parent = ?1) \
                 RETURNING parent",
            )?
            .query_row([folder], |r| r.get(0))
            .optional()?
            .flatten();
    }
    Ok(())
}

/// The folder and name of a record's file.
pub(super) fn file_of_record(conn: &Connection, record: i64) -> Result<Option<(i64, Vec<u8>)>> {
    Ok(conn
        .prepare_cached("SELECT folder, name FROM media_file WHERE record = ?1 LIMIT 1")?
        .query_row([record], |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()?)
}

/// Returns the names of the further files of a picture's or video's entry, in order.
pub(super) fn attached_to(conn: &Connection, folder: i64, name: &[u8]) -> Result<Vec<Vec<u8>>> {
    let (stem, _) = split_name(name);
    // With the dot: `1.mp3` is not to look at `10.mp3` and all others.
    let start = [stem, b"."].concat();
    let mut statement = conn.prepare_cached(
        "SELECT name, state FROM media_file WHERE folder = ?1 AND name >= ?2 ORDER BY name",
    )?;
    let mut rows = statement.query((folder, &start))?;
    let (mut files, mut attached) = (Vec::new(), Vec::new());
    while let Some(row) = rows.next()? {
        let name: Vec<u8> = row.get(0)?;
        if !name.starts_with(&start) {
            break;
        }
        let Some(kind) = FileKind::of_name(&name) else {
            continue;
        };
        attached.push(FileState::from_number(row.get(1)?) == FileState::Attached);
        files.push(ListedFile {
            name,
            kind,
            stat: FileStat::default(),
            owner: None,
        });
    }
    find_owners(&mut files);
    // The sidecar of a live photo's video belongs to the picture.
    let owner = |mut place: usize| loop {
        match files.get(place).and_then(|file| file.owner) {
            Some(owner) if attached.get(place) == Some(&true) => place = owner.place,
            _ => return files.get(place),
        }
    };
    let belongs = |place: &usize| {
        attached.get(*place) == Some(&true) && owner(*place).is_some_and(|owner| owner.name == name)
    };
    let names = (0..files.len())
        .filter(belongs)
        .filter_map(|place| files.get(place));
    Ok(names.map(|file| file.name.clone()).collect())
}

/// Returns the path of a folder and its root.
pub(super) fn folder_path(conn: &Connection, folder: i64) -> Result<Option<(PathBuf, StoredRoot)>> {
    let mut names = Vec::new();
    let mut at = folder;
    let mut statement =
        conn.prepare_cached("SELECT root, parent, name FROM media_folder WHERE id = ?1")?;
    // A path has at most 2,048 names (PATH_MAX).
    for _ in 0..2_048 {
        let row: Option<(i64, Option<i64>, Vec<u8>)> = statement
            .query_row([at], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
            .optional()?;
        let Some((root, parent, name)) = row else {
            return Ok(None);
        };
        let Some(parent) = parent else {
            let roots = read_roots(conn)?;
            let Some(root) = roots.into_iter().find(|r| r.id == root) else {
                return Ok(None);
            };
            let mut path = root.path.clone();
            names
                .iter()
                .rev()
                .for_each(|name: &Vec<u8>| path.push(path_of(name)));
            return Ok(Some((path, root)));
        };
        names.push(name);
        at = parent;
    }
    Ok(None)
}

/// The folders of a root by parent and name, and by inode.
#[derive(Debug, Default)]
pub(super) struct FolderTree {
    pub(super) by_id: HashMap<i64, StoredFolder>,
    by_name: HashMap<(i64, Vec<u8>), i64>,
    by_inode: HashMap<i64, i64>,
    pub(super) root: Option<i64>,
}

impl FolderTree {
    pub(super) fn read(conn: &Connection, root: i64) -> Result<Self> {
        Ok(Self::new(read_folders(conn, root)?))
    }

    pub(super) fn new(folders: Vec<StoredFolder>) -> Self {
        let mut tree = Self::default();
        for folder in folders {
            match folder.parent {
                None => tree.root = Some(folder.id),
                Some(parent) => {
                    tree.by_name
                        .insert((parent, folder.name.clone()), folder.id);
                }
            }
            tree.by_inode.insert(folder.inode, folder.id);
            tree.by_id.insert(folder.id, folder);
        }
        tree
    }

    /// Returns a folder and those it is in.
    pub(super) fn ancestors(&self, folder: i64) -> impl Iterator<Item = i64> {
        let mut at = self.by_id.get(&folder);
        let mut left = self.by_id.len();
        std::iter::from_fn(move || {
            let folder = at?;
            left = left.checked_sub(1)?;
            at = folder.parent.and_then(|parent| self.by_id.get(&parent));
            Some(folder.id)
        })
    }

    /// Returns the folder of this name in another.
    pub(super) fn child(&self, parent: i64, name: &[u8]) -> Option<i64> {
        self.by_name.get(&(parent, name.to_vec())).copied()
    }

    pub(super) fn with_inode(&self, inode: i64) -> Option<&StoredFolder> {
        self.by_id.get(self.by_inode.get(&inode)?)
    }

    /// Returns the path of a folder below the root's path.
    pub(super) fn path(&self, root: &Path, folder: i64) -> Option<PathBuf> {
        let mut names = Vec::new();
        let mut at = self.by_id.get(&folder)?;
        while let Some(parent) = at.parent {
            names.push(&at.name);
            at = self.by_id.get(&parent)?;
            if names.len() > self.by_id.len() {
                return None;
            }
        }
        let mut path = root.to_owned();
        names.iter().rev().for_each(|name| path.push(path_of(name)));
        Some(path)
    }
}
