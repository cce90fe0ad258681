//! The arms that are etui's media library: files that carry their originals, scanned; their
//! thumbnails are given, or made by the scan.

use std::collections::HashMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use etui::Store;
use etui::media::{
    CoverId, CoverThumbnails, Media, ScanOptions, ScanReport, ThumbnailSize, text_values,
};
use etui_testkit::media::{AudioFormat, TrackSpec, audio_file, cover};

use super::super::backends::etui::arm_options;
use super::library::{BATCH, Track};
use super::sqlite::payload_bytes;
use super::{SyncWork, record_room};
use crate::{Error, Recorder};

/// Directory of the files that come from the PC: `card`, and a directory for each batch.
const FILES: &str = "files";
/// Folder that is scanned.
const MUSIC: &str = "Music";
/// Length of a track in milliseconds.
const LENGTH: u32 = 1_000;
/// Width and height of an original in pixels.
const ORIGINAL: u16 = 400;

fn make_original(track: &Track) -> Vec<u8> {
    cover(track.id, ORIGINAL)
}

fn write_file(dir: &Path, track: &Track, original: Option<Vec<u8>>) -> Result<(), Error> {
    let spec = TrackSpec {
        title: track.title.clone(),
        artists: vec![track.artist.clone()],
        album: track.album.clone(),
        album_artist: track.artist.clone(),
        cover: original.map(Into::into),
        ..TrackSpec::new(track.id, LENGTH)
    };
    // A folder for each 60 tracks: the other arms list none.
    let folder = dir.join(MUSIC).join((track.id / BATCH).to_string());
    fs::create_dir_all(&folder).map_err(|e| Error::file(&folder, e))?;
    let name = Path::new(&track.path).file_name().unwrap_or_default();
    let path = folder.join(name);
    fs::write(&path, audio_file(AudioFormat::Mp3, &spec)).map_err(|e| Error::file(&path, e))
}

/// Writes the files of a card without pictures, and those of the batches.
pub(super) fn set_up(dir: &Path, tracks: u64, batches: u64) -> Result<(), Error> {
    let files = dir.join(FILES);
    for id in 0..tracks {
        write_file(&files.join("card"), &Track::number(id), None)?;
    }
    for batch in 0..=batches {
        let first = tracks + batch * BATCH;
        for track in (first..first + BATCH).map(Track::number) {
            let picture = make_original(&track);
            write_file(&files.join(batch.to_string()), &track, Some(picture))?;
        }
    }
    Ok(())
}

/// A media library and the folder that it scans.
struct Library<'a> {
    media: Media,
    /// The files that come.
    from: &'a Path,
    /// The run's own directory.
    to: &'a Path,
}

impl<'a> Library<'a> {
    fn of(store: &'a Store, from: &'a Path, to: &'a Path) -> Result<Self, Error> {
        let media = store.media()?;
        Ok(Self { media, from, to })
    }

    /// Copies the files of a part to the card, as the PC does, and waits for the device.
    fn receive_files(&self, part: &str) -> Result<(), Error> {
        let mut folders = vec![self.from.join(part)];
        let base = self.from.join(part);
        while let Some(folder) = folders.pop() {
            let to = self.to.join(folder.strip_prefix(&base).unwrap_or(&folder));
            fs::create_dir_all(&to).map_err(|e| Error::file(&to, e))?;
            for entry in fs::read_dir(&folder).map_err(|e| Error::file(&folder, e))? {
                let path = entry.map_err(|e| Error::file(&folder, e))?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if let Some(name) = path.file_name() {
                    fs::copy(&path, to.join(name)).map_err(|e| Error::file(&path, e))?;
                }
            }
        }
        let dir = fs::File::open(self.to).map_err(|e| Error::file(self.to, e))?;
        rustix::fs::syncfs(dir).map_err(|e| Error::file(self.to, e))
    }

    fn scan_music(&self, covers: Vec<CoverThumbnails>) -> Result<ScanReport, Error> {
        let options = ScanOptions {
            covers,
            ..ScanOptions::default()
        };
        let go_on = &mut |_: &_| ControlFlow::Continue(());
        let report = self.media.scan(&[self.to.join(MUSIC)], &options, go_on)?;
        match report.problems.first() {
            Some(problem) => Err(Error::other(format!(
                "{}: {}",
                problem.path.display(),
                problem.reason
            ))),
            None => Ok(report),
        }
    }

    /// Bytes that the scan stored of its own: thumbnails and texts of tracks.
    fn stored_bytes(&self) -> Result<u64, Error> {
        let mut bytes = self.media.stats()?.thumbnail_bytes;
        self.media.tracks().for_each(|_, text| {
            bytes += text.len() as u64;
            Ok(())
        })?;
        Ok(bytes)
    }

    /// Reads all tracks and their thumbnails; there must be `total`. Returns a digest of each by
    /// the track's number.
    fn read_tracks(&self, total: u64) -> Result<Vec<blake3::Hash>, Error> {
        let mut tracks = Vec::new();
        self.media.tracks().for_each(|_, text| {
            let mut texts = ["TITLE", "ARTIST", "ALBUM"].map(|name| (name, String::new()));
            let mut id: Option<CoverId> = None;
            for (name, value) in text_values(text) {
                if name == "file.cover" {
                    id = value.parse().ok();
                } else if let Some((_, text)) = texts.iter_mut().find(|(of, _)| *of == name) {
                    *text = value;
                }
            }
            tracks.push((texts.map(|(_, text)| text), id));
            Ok(())
        })?;
        let covers: Vec<_> = tracks.iter().map(|(_, id)| *id).collect();
        let mut digests = HashMap::new();
        let mut at = tracks.into_iter();
        self.media
            .each_thumbnail(ThumbnailSize::Large, covers, |jpeg| {
                if let Some((texts, _)) = at.next() {
                    let mut hash = blake3::Hasher::new();
                    for text in &texts {
                        hash.update(text.as_bytes());
                        hash.update(&[0]);
                    }
                    hash.update(jpeg.unwrap_or_default());
                    digests.insert(texts, hash.finalize());
                }
            })?;
        let digest = |id| {
            let track = Track::number(id);
            let texts = [track.title, track.artist, track.album];
            let missing = || Error::other(format!("track {id} is not there"));
            digests.get(&texts).copied().ok_or_else(missing)
        };
        (0..total).map(digest).collect()
    }
}

impl SyncWork<'_> {
    /// Copies the files of batch `n` to the card and scans them, as a phase if `recorder` is given.
    /// Returns the bytes of its payload.
    fn scan_batch(
        &self,
        library: &Library<'_>,
        n: u64,
        recorder: Option<&mut Recorder>,
    ) -> Result<u64, Error> {
        let decodes = self.settings.is("decodes");
        let batch = self.make_batch(n);
        let covers = batch.iter().filter(|_| !decodes).map(|(track, picture)| {
            // One thumbnail of at most 128 pixels serves for both sizes.
            let id = CoverId::of(&make_original(track));
            let side = u32::from(ORIGINAL);
            let (small, large) = (picture.clone(), picture.clone());
            CoverThumbnails::new(id, (side, side), 0, small, large)
        });
        let covers: Result<Vec<_>, _> = covers.collect();
        let covers = covers.map_err(|e| Error::other(e.to_string()))?;
        library.receive_files(&n.to_string())?;
        let before = if decodes { library.stored_bytes()? } else { 0 };
        let report = match recorder {
            None => library.scan_music(covers)?,
            Some(recorder) => recorder.phase("sync", || library.scan_music(covers))?,
        };
        if (report.added, report.covers) != (BATCH, BATCH) {
            return Err(Error::other(format!("of batch {n}: {report:?}")));
        }
        Ok(match decodes {
            true => library.stored_bytes()? - before,
            false => payload_bytes(&batch) as u64,
        })
    }
}

/// Runs an arm.
pub(super) fn scan_batches(work: &SyncWork<'_>, recorder: &mut Recorder) -> Result<(), Error> {
    let (from, to) = (recorder.shared().join(FILES), recorder.dir().to_owned());
    let path = to.join("library.etui");
    let options = arm_options(work.settings);
    let open = || Store::open_with(&path, &options);
    let store = open()?;
    let card = Library::of(&store, &from, &to)?;
    card.receive_files("card")?;
    card.scan_music(Vec::new())?;
    work.scan_batch(&card, 0, None)?;
    drop(card);
    // The batches that count begin without a log, and their last part is written back by the close.
    store.close()?;
    let store = open()?;
    let batches = Library::of(&store, &from, &to)?;
    for n in 1..=work.batches {
        let payload = work.scan_batch(&batches, n, Some(recorder))?;
        recorder.record("sync/payload_bytes", payload as f64);
    }
    record_room(recorder)?;
    drop(batches);
    recorder.phase("checkpoint", || Ok(store.close()?))?;
    let total = work.tracks + BATCH * (work.batches + 1);
    let store = open()?;
    let all = Library::of(&store, &from, &to)?;
    let rows = recorder.phase("read", || all.read_tracks(total))?;
    for row in rows {
        recorder.answer(row.as_bytes());
    }
    drop(all);
    Ok(store.close()?)
}
