//! The roots of a scan: which are scanned, renamed, part of another, or away.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::Comparison;
use super::walked::WalkedFolder;
use crate::error::{Error, Result};
use crate::media::files::{self, FolderTree, StoredRoot};
use crate::media::scan::walk::{FileStat, list_folder};

/// Stored files that are looked for to know a root again.
const PROBES: usize = 200;

impl Comparison<'_, '_> {
    /// Returns the roots to scan: those of `folders`, each a stored one or new, or all.
    pub(super) fn choose_roots(
        &mut self,
        conn: &Connection,
        folders: &[PathBuf],
        stored: &mut Vec<StoredRoot>,
    ) -> Result<Vec<StoredRoot>> {
        if folders.is_empty() {
            return Ok(stored.clone());
        }
        let mut wanted: Vec<StoredRoot> = Vec::new();
        let mut next_root = stored.iter().map(|root| root.id).max().unwrap_or(0) + 1;
        for folder in folders {
            let path = folder.canonicalize().map_err(|e| Error::io(folder, e))?;
            let (fsid, inode) = identity(&path).map_err(|e| Error::io(folder, e))?;
            // The folder of a library, or one below it.
            let known = stored.iter().find(|root| path.starts_with(&root.path));
            // A folder of the library that was renamed.
            let mut renamed = None;
            for root in stored.iter() {
                let is_same = (root.fsid, root.inode) == (fsid, inode) && !root.path.exists();
                if known.is_none() && is_same && has_known_file(conn, root, &path)? {
                    renamed = Some(root);
                }
            }
            let root = match known.or(renamed) {
                Some(root) if path.starts_with(&root.path) => root.clone(),
                Some(root) => {
                    self.report.moved_folders += 1;
                    StoredRoot {
                        path,
                        ..root.clone()
                    }
                }
                None => {
                    let root = StoredRoot {
                        id: next_root,
                        path,
                        fsid,
                        inode,
                        is_away: false,
                    };
                    next_root += 1;
                    self.plan.roots.push(root.clone());
                    root
                }
            };
            let below: Vec<StoredRoot> = stored
                .iter()
                .filter(|other| other.id != root.id && other.path.starts_with(&root.path))
                .cloned()
                .collect();
            for inner in below {
                self.absorb(conn, &root, &inner)?;
                stored.retain(|other| other.id != inner.id);
                wanted.retain(|other| other.id != inner.id);
            }
            if !wanted.iter().any(|other| other.id == root.id) {
                wanted.push(root.clone());
            }
            stored.retain(|other| other.id != root.id);
            stored.push(root);
        }
        Ok(wanted)
    }

    /// Marks the roots that are not scanned this time and are not there: copies of their
    /// files elsewhere keep the records.
    pub(super) fn look_for_others(&mut self, stored: &[StoredRoot]) -> Result<()> {
        for root in stored {
            let is_scanned = self.scanned.contains(&root.id);
            if !is_scanned && !root.is_away && identity(&root.path).is_err() {
                self.away(root.clone())?;
            }
        }
        Ok(())
    }

    /// Makes a stored root a folder of a new one that contains it.
    fn absorb(&mut self, conn: &Connection, root: &StoredRoot, inner: &StoredRoot) -> Result<()> {
        // One that is named in this call, too, is not a root.
        self.plan.roots.retain(|planned| planned.id != inner.id);
        let tree = FolderTree::read(conn, inner.id)?;
        if tree.root.is_none() {
            return Ok(());
        }
        let top = self.put_folder(root, None, Vec::new(), root.inode);
        let below = inner.path.strip_prefix(&root.path).unwrap_or(&inner.path);
        let names: Vec<&[u8]> = below.iter().map(OsStrExt::as_bytes).collect();
        let Some((last, between)) = names.split_last() else {
            return Ok(());
        };
        let mut parent = top;
        let mut path = root.path.clone();
        for name in between {
            path.push(files::path_of(name));
            let inode = identity(&path).map_or(0, |(_, inode)| inode);
            parent = self.put_folder(root, Some(parent), name.to_vec(), inode);
        }
        self.plan
            .absorbed
            .push((inner.id, root.id, parent, last.to_vec()));
        Ok(())
    }

    pub(super) fn compare_root(
        &mut self,
        conn: &Connection,
        root: StoredRoot,
        walked: &mut Vec<WalkedFolder>,
    ) -> Result<()> {
        let tree = self.tree(conn, &root)?;
        let had_files = files::has_files(conn, root.id)?;
        let there = identity(&root.path).and_then(|identity| {
            let listing = list_folder(&root.path, &mut || self.reporter.go_on())?;
            Ok((identity, listing))
        });
        if self.reporter.is_stopped {
            return Ok(());
        }
        let (fsid, inode, listing) = match there {
            // An empty folder where a drive was connected.
            Ok((_, listing)) if listing.is_empty && had_files => return self.away(root),
            Ok(((fsid, inode), listing)) => (fsid, inode, listing),
            Err(_) if had_files || root.is_away => return self.away(root),
            Err(error) => return Err(Error::io(&root.path, error)),
        };
        // Another folder is mounted there, with nothing of this one in it.
        let is_other = (fsid, inode) != (root.fsid, root.inode) || is_mount_point(&root.path);
        if is_other && had_files && !has_known_file(conn, &root, &root.path)? {
            return self.away(root);
        }
        let present = StoredRoot {
            fsid,
            inode,
            is_away: false,
            ..root.clone()
        };
        let is_planned = self.plan.roots.iter().any(|planned| planned.id == root.id);
        let is_stored = files::read_roots(conn)?.contains(&present);
        if !is_planned && !is_stored {
            self.plan.roots.push(present.clone());
        }
        self.walk(conn, &present, tree, listing, walked)
    }

    fn away(&mut self, root: StoredRoot) -> Result<()> {
        self.report.away.push(root.path.clone());
        if !root.is_away {
            self.plan.roots.push(StoredRoot {
                is_away: true,
                ..root
            });
        }
        Ok(())
    }
}

/// The file system and inode of a folder.
pub(super) fn identity(path: &Path) -> std::io::Result<(i64, i64)> {
    let fsid = rustix::fs::statvfs(path)?.f_fsid;
    let inode = std::fs::metadata(path)?.ino();
    Ok((fsid.cast_signed(), inode.cast_signed()))
}

/// Returns true if a stored file of the root is below `path`, unchanged. Inodes alone do not tell
/// one removable drive from another.
fn has_known_file(conn: &Connection, root: &StoredRoot, path: &Path) -> Result<bool> {
    let tree = FolderTree::read(conn, root.id)?;
    let mut left = PROBES;
    let mut folders: Vec<i64> = tree.by_id.keys().copied().collect();
    folders.sort_unstable();
    for folder in folders {
        let Some(dir) = tree.path(path, folder) else {
            continue;
        };
        for file in files::read_files(conn, folder)? {
            let found = dir.join(files::path_of(&file.name)).symlink_metadata();
            if let Ok(found) = found {
                let stat = FileStat::of(&found);
                if (stat.size, stat.mtime) == (file.stat.size, file.stat.mtime) {
                    return Ok(true);
                }
            }
            left -= 1;
            if left == 0 {
                return Ok(false);
            }
        }
    }
    Ok(false)
}

/// Returns true if a folder is the root of a file system, whose inode others have, too.
fn is_mount_point(path: &Path) -> bool {
    let device = |path: &Path| std::fs::metadata(path).map(|m| m.dev()).ok();
    path.parent()
        .is_none_or(|parent| device(path) != device(parent))
}
