//! [`MediaCollection`]: a folder of albums.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::plan::{AlbumPlan, CoverPlacement};
use super::{AudioFormat, TrackSpec, audio_file};

/// A music collection on disk.
///
/// ```text
/// Artist/Album/NN Title.ext
/// Artist/Album/CD N/NN Title.ext        every tenth album, the fourth first
/// Various Artists/Album/NN Title.ext    every ninth album, the seventh first
/// Artist/Album/cover.jpg                if the cover is in the folder
/// ```
///
/// An album has 12 tracks of 1 to 4 seconds in one format. Seven albums have all six formats, nine
/// all cover placements, three in five MusicBrainz ids. Every second album is in the Latin script,
/// the others in eight scripts. A collection is the start of a larger one with the same seed.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// use etui_testkit::media::MediaCollection;
///
/// # let dir = std::env::temp_dir().join(format!("etui-media-{}", std::process::id()));
/// let collection = MediaCollection::write(&dir, 1, 7)?;
/// assert_eq!(collection.tracks.len(), 12);
/// assert!(dir.join(&collection.tracks[0].path).exists());
/// # std::fs::remove_dir_all(&dir)
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct MediaCollection {
    /// The folder of the collection.
    pub root: PathBuf,
    /// All tracks, album by album, in the order of the albums.
    pub tracks: Vec<MediaTrack>,
    /// Paths of the `cover.jpg` files, relative to the root.
    pub folder_covers: Vec<PathBuf>,
}

/// A file of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaTrack {
    /// Path relative to the collection's root.
    pub path: PathBuf,
    /// Number of the album in the collection, from 0.
    pub album: u32,
    /// Format of the file.
    pub format: AudioFormat,
    /// Location of the album's cover.
    pub cover: CoverPlacement,
    /// Sound and tags of the file.
    pub spec: TrackSpec,
}

impl MediaCollection {
    /// Writes a collection of `albums` albums into `dir`, which is created if it is missing.
    ///
    /// About 2 MB an album.
    pub fn write(dir: &Path, albums: u32, seed: u64) -> io::Result<Self> {
        let mut collection = Self {
            root: dir.to_owned(),
            tracks: Vec::new(),
            folder_covers: Vec::new(),
        };
        fs::create_dir_all(dir)?;
        let mut used_folders = HashSet::new();
        for number in 0..albums {
            let plan = AlbumPlan::new(seed, number, &mut used_folders);
            collection.write_album(number, plan)?;
        }
        Ok(collection)
    }

    fn write_album(&mut self, number: u32, plan: AlbumPlan) -> io::Result<()> {
        fs::create_dir_all(self.root.join(&plan.folder))?;
        if let (CoverPlacement::Folder | CoverPlacement::Both, Some(cover)) =
            (plan.placement, &plan.cover)
        {
            let path = plan.folder.join("cover.jpg");
            fs::write(self.root.join(&path), cover)?;
            self.folder_covers.push(path);
        }
        for (path, spec) in plan.tracks {
            let target = self.root.join(&path);
            if let Some(folder) = target.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(target, audio_file(plan.format, &spec))?;
            self.tracks.push(MediaTrack {
                path,
                album: number,
                format: plan.format,
                cover: plan.placement,
                spec,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use lofty::file::TaggedFileExt;
    use lofty::tag::Accessor;

    use super::super::tests::read;
    use super::*;

    #[test]
    fn a_collection_has_every_format_and_shape_and_reads_back() {
        let dir = tempfile::tempdir().unwrap();
        let collection = MediaCollection::write(dir.path(), 10, 3).unwrap();
        assert_eq!(collection.tracks.len(), 120);
        let paths: HashSet<_> = collection.tracks.iter().map(|t| &t.path).collect();
        assert_eq!(paths.len(), 120);
        let formats: HashSet<_> = collection.tracks.iter().map(|t| t.format).collect();
        assert_eq!(formats.len(), AudioFormat::ALL.len());
        let covers: HashSet<_> = collection.tracks.iter().map(|t| t.cover).collect();
        assert_eq!(covers.len(), 4);
        assert_eq!(collection.folder_covers.len(), 3);
        for cover in &collection.folder_covers {
            assert!(dir.path().join(cover).exists());
        }
        assert!(collection.tracks.iter().any(|t| t.spec.compilation));
        assert!(collection.tracks.iter().any(|t| t.spec.disc == 2));
        for track in &collection.tracks {
            let file = read(&fs::read(dir.path().join(&track.path)).unwrap());
            let tag = file.primary_tag().unwrap();
            assert_eq!(tag.title().as_deref(), Some(&*track.spec.title));
            assert_eq!(tag.album().as_deref(), Some(&*track.spec.album));
            assert_eq!(tag.picture_count() > 0, track.spec.cover.is_some());
        }
    }

    #[test]
    fn equal_seeds_give_equal_files() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let first = MediaCollection::write(one.path(), 4, 9).unwrap();
        let second = MediaCollection::write(two.path(), 5, 9).unwrap();
        assert!(second.tracks.starts_with(&first.tracks));
        for track in &first.tracks {
            let bytes = [&one, &two].map(|dir| fs::read(dir.path().join(&track.path)).unwrap());
            assert!(bytes[0] == bytes[1], "{}", track.path.display());
        }
    }

    #[test]
    fn album_folders_do_not_repeat() {
        let mut used_folders = HashSet::new();
        for number in 0..200 {
            AlbumPlan::new(1, number, &mut used_folders);
        }
        assert_eq!(used_folders.len(), 200);
    }
}
