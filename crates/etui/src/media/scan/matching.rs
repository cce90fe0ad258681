//! [`RecordMatcher`]: which record a new file is.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use rusqlite::Connection;

use super::record_edits::RecordEdits;
use crate::error::Result;
use crate::media::files::{self, LostFile};
use crate::media::library::{Media, find_record};
use crate::media::tag_lines::TagLines;
use crate::media::track::Track;
use crate::types::CollectionKind;

/// Lengths of one recording in two formats differ by at most this, in milliseconds.
const MAX_LENGTH_DIFFERENCE: u64 = 2_000;

/// A record's UID, whether it is live, and its text.
pub(super) type MatchedRecord = (String, bool, Vec<u8>);

/// Finds the records of new files: those whose file is lost, removed or away.
pub(super) struct RecordMatcher<'a, 'm> {
    media: &'m Media,
    lost_files: &'a [LostFile],
    /// Roots that are not there.
    away: &'a HashSet<i64>,
    lost: LostRecords,
    /// The first copy of a content that may be free: those before it have their files. Without it,
    /// each of many equal files would look at all copies.
    next_copy: HashMap<(CollectionKind, String), u64>,
}

impl<'a, 'm> RecordMatcher<'a, 'm> {
    pub(super) fn new(
        media: &'m Media,
        lost_files: &'a [LostFile],
        away: &'a HashSet<i64>,
    ) -> Result<Self> {
        Ok(Self {
            media,
            lost_files,
            away,
            lost: LostRecords::read(media, lost_files)?,
            next_copy: HashMap::new(),
        })
    }

    /// Returns which lost files were found, by their places.
    pub(super) fn into_found(self) -> Vec<bool> {
        self.lost.found
    }

    /// Returns the record that a new file is; `None`: it is new.
    pub(super) fn find(
        &mut self,
        conn: &Connection,
        edits: &RecordEdits<'_>,
        kind: CollectionKind,
        lines: &TagLines,
        key: &str,
    ) -> Result<Option<MatchedRecord>> {
        let mut lost = self.lost.take_content(kind, key);
        if lost.is_none() {
            // Removed, gone, or on a drive that is away: the record or one of its copies.
            let collection = self.media.collection_id(kind);
            let mut copy = self.first_copy(kind, key);
            while let Some((id, is_live, text)) =
                find_record(conn, collection, &copy_uid(key, copy))?
            {
                if self.take_free(conn, id)? {
                    return Ok(Some((copy_uid(key, copy), is_live, text)));
                }
                copy += 1;
                self.next_copy.insert((kind, key.to_owned()), copy);
            }
        }
        if lost.is_none() && kind == CollectionKind::Music && !self.lost_files.is_empty() {
            let track = Track::new(lines.clone());
            lost = recording(&track)
                .and_then(|recording| self.lost.take_recording(&recording, track.length()));
        }
        let Some(lost) = lost.and_then(|place| self.lost_files.get(place)) else {
            return Ok(None);
        };
        files::delete_lost(conn, lost)?;
        let found = lost.record.map(|record| edits.read(conn, record));
        let found = found.transpose()?.flatten();
        Ok(found.map(|(_, uid, is_live, text)| (uid, is_live, text)))
    }

    /// Returns true if a record has no file that is there; one that is gone is left without it.
    fn take_free(&self, conn: &Connection, record: i64) -> Result<bool> {
        let Some((folder, name)) = files::file_of_record(conn, record)? else {
            return Ok(true);
        };
        let is_gone = self.is_gone(conn, folder, &name)?;
        if is_gone {
            files::forget_record(conn, folder, &name)?;
        }
        Ok(is_gone)
    }

    /// Returns true for a file on a drive that is away, or that is not at its path any more: it is
    /// in a folder that is not scanned this time.
    fn is_gone(&self, conn: &Connection, folder: i64, name: &[u8]) -> Result<bool> {
        let Some((path, root)) = files::folder_path(conn, folder)? else {
            return Ok(true);
        };
        let found = path.join(files::path_of(name)).symlink_metadata();
        let is_missing = found.is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound);
        Ok(is_missing || self.away.contains(&root.id))
    }

    fn first_copy(&self, kind: CollectionKind, key: &str) -> u64 {
        let known = self.next_copy.get(&(kind, key.to_owned()));
        known.copied().unwrap_or(1)
    }

    /// Returns the UID of a new record: that of its content, or, of a copy, the next free one.
    pub(super) fn free_uid(
        &self,
        conn: &Connection,
        kind: CollectionKind,
        key: &str,
    ) -> Result<String> {
        let collection = self.media.collection_id(kind);
        let mut copy = self.first_copy(kind, key);
        while find_record(conn, collection, &copy_uid(key, copy))?.is_some() {
            copy += 1;
        }
        Ok(copy_uid(key, copy))
    }
}

/// The UID of the first record of a content, or of a further copy.
fn copy_uid(key: &str, copy: u64) -> String {
    match copy {
        1 => format!("etui-{key}"),
        copy => format!("etui-{key}-{copy}"),
    }
}

/// The places of lost files, by the keys that identify a new file as one of them.
#[derive(Default)]
struct LostRecords {
    by_content: HashMap<(CollectionKind, String), VecDeque<usize>>,
    /// Each with its length in milliseconds.
    by_recording: HashMap<String, BTreeSet<(u64, usize)>>,
    /// Those that a new file took over.
    found: Vec<bool>,
}

impl LostRecords {
    fn read(media: &Media, lost: &[LostFile]) -> Result<Self> {
        let mut records = Self {
            found: vec![false; lost.len()],
            ..Self::default()
        };
        if lost.is_empty() {
            return Ok(records);
        }
        let edits = RecordEdits::new(media);
        media.db.read_transaction(|conn| {
            for (place, file) in lost.iter().enumerate() {
                let Some(record) = file.record else { continue };
                let Some((kind, _, _, text)) = edits.read(conn, record)? else {
                    continue;
                };
                let lines = TagLines::from_text(text);
                if let Some(key) = lines.first("file.key") {
                    let of_key = records.by_content.entry((kind, key.into_owned()));
                    of_key.or_default().push_back(place);
                }
                let track = Track::new(lines);
                if kind == CollectionKind::Music
                    && let Some(recording) = recording(&track)
                {
                    let of_recording = records.by_recording.entry(recording).or_default();
                    of_recording.insert((track.length(), place));
                }
            }
            Ok(records)
        })
    }

    /// Takes a lost file of this content.
    fn take_content(&mut self, kind: CollectionKind, key: &str) -> Option<usize> {
        if self.by_content.is_empty() {
            return None;
        }
        let places = self.by_content.get_mut(&(kind, key.to_owned()))?;
        while let Some(place) = places.pop_front() {
            if let Some(found) = self.found.get_mut(place).filter(|found| !**found) {
                *found = true;
                return Some(place);
            }
        }
        None
    }

    /// Takes a lost file of this recording and about this length.
    fn take_recording(&mut self, recording: &str, length: u64) -> Option<usize> {
        let places = self.by_recording.get_mut(recording)?;
        let shortest = length.saturating_sub(MAX_LENGTH_DIFFERENCE);
        let longest = length.saturating_add(MAX_LENGTH_DIFFERENCE);
        loop {
            let mut as_long = places.range((shortest, 0)..=(longest, usize::MAX));
            let one = *as_long.next()?;
            places.remove(&one);
            if let Some(found) = self.found.get_mut(one.1).filter(|found| !**found) {
                *found = true;
                return Some(one.1);
            }
        }
    }
}

/// Identifies a recording in files of different formats.
fn recording(track: &Track) -> Option<String> {
    let id = track.tags("MUSICBRAINZ_TRACKID").next();
    let release = track.tags("MUSICBRAINZ_ALBUMID").next();
    if let (Some(id), Some(release)) = (id, release) {
        return Some(format!("{id}\n{release}"));
    }
    let (disc, number) = track.position();
    let (album, title) = (track.album(), track.title());
    let fold = etui_text::fold::fold_words;
    (!album.is_empty() && track.tags("TITLE").next().is_some()).then(|| {
        let artist = fold(&track.album_artist());
        format!(
            "{artist}\n{}\n{disc}\n{number}\n{}",
            fold(&album),
            fold(&title)
        )
    })
}
