//! The end of a scan: lost records go to the trash, and covers that nothing uses are deleted.

use std::collections::HashSet;
use std::path::Path;

use rusqlite::Connection;

use super::compare::Plan;
use super::record_edits::RecordEdits;
use super::{Reporter, ScanPhase, ScanReport};
use crate::error::Result;
use crate::media::cover::{self, CoverId};
use crate::media::files;
use crate::media::library::Media;
use crate::media::tag_lines::TagLines;
use crate::types::CollectionKind;

/// Removes lost records. Without lost or changed files nothing is written.
pub(super) fn finish(
    media: &Media,
    plan: &Plan,
    found: &[bool],
    reporter: &mut Reporter<'_>,
    report: &mut ScanReport,
) -> Result<()> {
    let gone: Vec<_> = plan
        .lost
        .iter()
        .enumerate()
        .filter(|(place, _)| found.get(*place) != Some(&true))
        .map(|(_, file)| file)
        .collect();
    // Folders that were moved away from are empty now, too.
    let left: HashSet<i64> = plan.left_folders().collect();
    if gone.is_empty() && left.is_empty() && report.changed == 0 {
        return Ok(());
    }
    reporter.enter(ScanPhase::Finishing);
    report.lost = media.db.write(|conn| {
        let mut edits = RecordEdits::new(media);
        let removed = edits.run(conn, |conn, edits, writing| {
            let mut removed = 0;
            for file in &gone {
                // The next scan finds the rest lost.
                if !reporter.go_on() {
                    report.is_stopped = true;
                    return Ok(removed);
                }
                files::delete_lost(conn, file)?;
                if let Some(record) = file.record
                    && files::file_of_record(conn, record)?.is_none()
                {
                    removed += u64::from(edits.remove(conn, writing, record)?);
                }
            }
            Ok(removed)
        })?;
        if reporter.is_stopped {
            return Ok(removed);
        }
        for &folder in &left {
            files::delete_if_empty(conn, folder)?;
        }
        delete_unused_covers(media, conn)?;
        Ok(removed)
    })?;
    Ok(())
}

/// Forgets a root, its files and folders, and moves its records to the trash.
pub(super) fn remove_root(media: &Media, path: &Path) -> Result<bool> {
    let canonical = path.canonicalize();
    let path = canonical.as_deref().unwrap_or(path);
    media.db.write(|conn| {
        let roots = files::read_roots(conn)?;
        let Some(root) = roots.into_iter().find(|root| root.path == path) else {
            return Ok(false);
        };
        let folders = files::read_folders(conn, root.id)?;
        let mut edits = RecordEdits::new(media);
        edits.run(conn, |conn, edits, writing| {
            for folder in &folders {
                for file in files::read_files(conn, folder.id)? {
                    files::delete_file(conn, folder.id, &file.name)?;
                    if let Some(record) = file.record
                        && files::file_of_record(conn, record)?.is_none()
                    {
                        edits.remove(conn, writing, record)?;
                    }
                }
            }
            Ok(())
        })?;
        conn.execute("DELETE FROM media_folder WHERE root = ?1", [root.id])?;
        conn.execute("DELETE FROM media_root WHERE id = ?1", [root.id])?;
        delete_unused_covers(media, conn)?;
        Ok(true)
    })
}

/// Deletes the covers that no track or picture has, in the trash or not.
fn delete_unused_covers(media: &Media, conn: &Connection) -> Result<()> {
    let mut unused: HashSet<CoverId> = cover::all_ids(conn)?.into_iter().collect();
    let mut statement = conn.prepare_cached("SELECT text FROM record WHERE collection = ?1")?;
    for kind in [CollectionKind::Music, CollectionKind::Pictures] {
        let mut rows = statement.query([media.collection_id(kind)])?;
        while let Some(row) = rows.next()? {
            let lines = TagLines::from_text(row.get(0)?);
            let used = lines.first("file.cover").and_then(|id| id.parse().ok());
            if let Some(id) = used {
                unused.remove(&id);
            }
        }
    }
    for id in unused {
        cover::delete(conn, id)?;
    }
    Ok(())
}
