//! Thumbnails for the desktop: those of the library, written where file managers look for them.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use etui_media::{DesktopSize, DesktopThumbnails, Unreadable};

use super::library::Media;
use crate::error::{Error, Result};
use crate::types::{RecordId, ThumbnailSize};

/// What became of the desktop's thumbnails of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DesktopThumbnailState {
    /// They were written.
    Written,
    /// They were there, made by this or another program of the file as it is.
    Current,
    /// There is no thumbnail of the file: it was marked so for this program, until it changes.
    Failed,
    /// The record has no file that is there.
    NoFile,
}

impl Media {
    /// Writes the desktop's thumbnails of the file of a track or picture, `normal` and `large`, unless
    /// valid ones are there. The file is not decoded: they are made of the library's.
    ///
    /// # Errors
    /// [`Error::Io`]; any read error.
    pub fn write_desktop_thumbnails(
        &self,
        id: RecordId,
        desktop: &DesktopThumbnails,
    ) -> Result<DesktopThumbnailState> {
        let Some(path) = self.path(id)? else {
            return Ok(DesktopThumbnailState::NoFile);
        };
        let mtime = match std::fs::symlink_metadata(&path) {
            Ok(found) => found.mtime(),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Ok(DesktopThumbnailState::NoFile);
            }
            Err(e) => return Err(Error::io(&path, e)),
        };
        let cover = self.cover_of(id)?;
        let mut state = DesktopThumbnailState::Current;
        for (size, ours) in [
            (DesktopSize::Normal, ThumbnailSize::Small),
            (DesktopSize::Large, ThumbnailSize::Large),
        ] {
            if desktop.read(&path, mtime, size).is_some() {
                continue;
            }
            let jpeg = match cover {
                Some(cover) => self.thumbnail(cover, ours)?,
                None => None,
            };
            let Some(jpeg) = jpeg else {
                if !desktop.has_failed(&path, mtime) {
                    let marked = desktop.write_failure(&path, mtime);
                    marked.map_err(|error| failed(desktop, &path, error))?;
                }
                return Ok(DesktopThumbnailState::Failed);
            };
            let written = desktop.write(&path, mtime, size, &jpeg);
            written.map_err(|error| failed(desktop, &path, error))?;
            state = DesktopThumbnailState::Written;
        }
        Ok(state)
    }
}

fn failed(desktop: &DesktopThumbnails, file: &Path, error: Unreadable) -> Error {
    let at = desktop.path(file, DesktopSize::Normal);
    match error {
        Unreadable::Io(error) => Error::io(&at, error),
        other => Error::io(&at, io::Error::other(other.to_string())),
    }
}
