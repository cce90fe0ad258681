//! The writer of a scan: decides which record each file is, and saves batches.
//!
//! A new file is, in this order: the lost or removed record of the same content; a copy of a record
//! whose file is there, with a record of its own; the lost record of the same recording; else new.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension};

use super::compare::{self, LostFile, Plan};
use super::read::{Content, Message, ReadFile, Workers};
use super::{Reporter, ScanOptions, ScanPhase, ScanReport};
use crate::db::{IndexContext, LargeCommits};
use crate::error::{Error, Result};
use crate::media::cover::{self, CoverId, NewCover};
use crate::media::files::{self, FileState, StoredFile};
use crate::media::group::{Contribution, GroupVotes};
use crate::media::library::{Media, Problem, find_record};
use crate::media::membership::{GroupKey, contributions};
use crate::media::tag_lines::{TagLines, USER};
use crate::media::track::Track;
use crate::media::user_data::put_lines;
use crate::record::prepared::IndexedRecord;
use crate::record::records::{self, RecordWriter};
use crate::search::index::IndexParts;
use crate::search::index::merge::merge_index;
use crate::types::{CollectionKind, Condition};

/// A batch ends at this many bytes of thumbnails and texts, which bounds memory: more than the
/// 2.5 MB of the first study's batch,
const BATCH_BYTES: usize = 3 << 20;
/// or after this time, which bounds the work that a killed scan repeats. Each batch writes most
/// pages of a small library's indexes, so the time is long (`media-scan`).
const BATCH_TIME: Duration = Duration::from_secs(2);
/// With fewer files it goes on: there is little to repeat, and the numbers of a small library's records do not
/// depend on the speed of the machine.
const BATCH_FILES: usize = 16;
/// A scan of this many files checkpoints rarely. It also ends with a merge of the search index: searches
/// compare pending records one by one.
const LARGE_SCAN: u64 = 1_000;
/// Messages that wait for the writer.
const QUEUED: usize = 64;
/// Time without a message after which the progress is told again.
const IDLE: Duration = Duration::from_millis(100);

/// A record's kind, UID, whether it is live, and its text.
type FoundRecord = (CollectionKind, String, bool, Vec<u8>);

/// Saves and removes records, and counts them in their groups.
pub(super) struct RecordEdits<'m> {
    media: &'m Media<'m>,
    with: IndexContext<'m>,
    groups: HashMap<GroupKey, GroupDelta>,
}

#[derive(Default)]
struct GroupDelta {
    added: Vec<Contribution>,
    removed: Vec<Contribution>,
}

impl<'m> RecordEdits<'m> {
    pub(super) fn new(media: &'m Media<'m>) -> Self {
        Self {
            media,
            with: media.db.index_context(),
            groups: HashMap::new(),
        }
    }

    /// Runs `work`, and then writes the groups that it changed, in the present transaction.
    pub(super) fn run<T>(
        &mut self,
        conn: &Connection,
        work: impl FnOnce(&Connection, &mut Self, &mut RecordWriter<'_>) -> Result<T>,
    ) -> Result<T> {
        RecordWriter::run_scan(conn, self.media.db.order(), |writing| {
            let value = work(conn, self, writing)?;
            self.write_groups(conn, writing)?;
            Ok(value)
        })
    }

    /// Saves a record; `old`: its text, if it is live. Returns its id.
    pub(super) fn put(
        &mut self,
        conn: &Connection,
        writing: &mut RecordWriter<'_>,
        kind: CollectionKind,
        uid: &str,
        lines: TagLines,
        old: Option<&TagLines>,
    ) -> Result<i64> {
        let before = old.map(|old| contributions(kind, old)).unwrap_or_default();
        let after = contributions(kind, &lines);
        if before != after {
            self.count(before, after);
        }
        let collection = (kind, self.media.collection_id(kind));
        put_lines(conn, writing, &self.with, collection, uid, lines)
    }

    /// Changes the text of a live record.
    pub(super) fn edit(
        &mut self,
        conn: &Connection,
        writing: &mut RecordWriter<'_>,
        record: i64,
        change: impl FnOnce(CollectionKind, &mut TagLines),
    ) -> Result<()> {
        let Some((kind, uid, true, text)) = self.read(conn, record)? else {
            return Ok(());
        };
        let old = TagLines::from_text(text);
        let mut lines = old.clone();
        change(kind, &mut lines);
        self.put(conn, writing, kind, &uid, lines, Some(&old))?;
        Ok(())
    }

    /// Moves a record to the trash. Returns false if it is not live.
    pub(super) fn remove(
        &mut self,
        conn: &Connection,
        writing: &mut RecordWriter<'_>,
        record: i64,
    ) -> Result<bool> {
        let Some((kind, uid, true, text)) = self.read(conn, record)? else {
            return Ok(false);
        };
        self.count(contributions(kind, &TagLines::from_text(text)), Vec::new());
        let collection = self.media.collection_id(kind);
        records::remove(conn, writing, collection, &uid, Condition::Always)
    }

    /// Returns a record.
    pub(super) fn read(&self, conn: &Connection, record: i64) -> Result<Option<FoundRecord>> {
        let found: Option<(i64, String, bool, Vec<u8>)> = conn
            .prepare_cached(
                "SELECT collection, uid, removed_at IS NULL, text FROM record WHERE id = ?1",
            )?
            .query_row([record], |r| {
                Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?))
            })
            .optional()?;
        Ok(found.map(|(collection, uid, is_live, text)| {
            let is_picture = collection == self.media.collection_id(CollectionKind::Pictures);
            let kind = match is_picture {
                true => CollectionKind::Pictures,
                false => CollectionKind::Music,
            };
            (kind, uid, is_live, text)
        }))
    }

    fn count(
        &mut self,
        before: Vec<(GroupKey, Contribution)>,
        after: Vec<(GroupKey, Contribution)>,
    ) {
        for (key, contribution) in before {
            let delta = self.groups.entry(key).or_default();
            delta.removed.push(contribution);
        }
        for (key, contribution) in after {
            let delta = self.groups.entry(key).or_default();
            delta.added.push(contribution);
        }
    }

    fn write_groups(&mut self, conn: &Connection, writing: &mut RecordWriter<'_>) -> Result<()> {
        let groups = std::mem::take(&mut self.groups);
        let mut groups: Vec<(GroupKey, GroupDelta)> = groups.into_iter().collect();
        // In an order that does not differ from run to run.
        groups.sort_by(|((a, uid_a), _), ((b, uid_b), _)| {
            (a.schema_name(), uid_a).cmp(&(b.schema_name(), uid_b))
        });
        for ((kind, uid), delta) in groups {
            let collection = self.media.collection_id(kind);
            let found = find_record(conn, collection, &uid)?;
            let mut votes = match found {
                Some((_, true, text)) => GroupVotes::parse(text),
                _ => GroupVotes::default(),
            };
            delta.added.iter().for_each(|member| votes.add(member));
            delta.removed.iter().for_each(|member| votes.remove(member));
            if votes.members == 0 {
                records::remove(conn, writing, collection, &uid, Condition::Always)?;
                continue;
            }
            let text = votes.to_text();
            let derived = votes.index(kind, &self.with);
            let one = IndexedRecord::stored(&uid, &text, &derived);
            one.put(conn, writing, collection, Condition::Always)?;
        }
        Ok(())
    }
}

/// The lost files of a scan, by the keys that identify a new file as one of them.
#[derive(Default)]
pub(super) struct LostRecords {
    by_key: HashMap<String, Vec<usize>>,
    by_recording: HashMap<String, Vec<usize>>,
    /// Those that a new file took over.
    found: Vec<bool>,
}

impl LostRecords {
    fn read(media: &Media<'_>, lost: &[LostFile]) -> Result<Self> {
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
                    let of_key = records.by_key.entry(key.into_owned()).or_default();
                    of_key.push(place);
                }
                if kind == CollectionKind::Music
                    && let Some(recording) = recording(&Track::new(lines))
                {
                    let of_recording = records.by_recording.entry(recording).or_default();
                    of_recording.push(place);
                }
            }
            Ok(records)
        })
    }

    /// Takes a lost file that is the new one.
    fn take<'l>(
        &mut self,
        lost: &'l [LostFile],
        by: fn(&Self) -> &HashMap<String, Vec<usize>>,
        key: &str,
        is_one: impl Fn(i64) -> Result<bool>,
    ) -> Result<Option<&'l LostFile>> {
        let places = by(self).get(key).cloned().unwrap_or_default();
        for place in places {
            if self.found.get(place) == Some(&true) {
                continue;
            }
            let Some(file) = lost.get(place) else {
                continue;
            };
            if file.record.map_or(Ok(false), &is_one)? {
                if let Some(found) = self.found.get_mut(place) {
                    *found = true;
                }
                return Ok(Some(file));
            }
        }
        Ok(None)
    }

    /// Returns true if the lost file at this place was found.
    pub(super) fn is_found(&self, place: usize) -> bool {
        self.found.get(place) == Some(&true)
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

/// Reads the files of a plan on all cores and writes their records. Returns which lost files were
/// found.
pub(super) fn read_and_write(
    media: &Media<'_>,
    plan: &Plan,
    options: &ScanOptions,
    reporter: &mut Reporter<'_>,
    report: &mut ScanReport,
) -> Result<LostRecords> {
    let mut lost = LostRecords::read(media, &plan.lost)?;
    if plan.tasks.is_empty() {
        if plan.changes_structure() {
            let write = |conn: &Connection| compare::write_structure(media, conn, plan);
            media.db.write(write)?;
            report.moved += plan.moved();
        }
        return Ok(lost);
    }
    reporter.enter(ScanPhase::Reading);
    let large_commits = media.db.expect_large_commits(plan.to_read() >= LARGE_SCAN);
    let stored: HashSet<CoverId> = media
        .db
        .read_transaction(cover::all_ids)?
        .into_iter()
        .collect();
    let given = options.covers.iter().map(|given| (given.id, &given.cover));
    let given: HashMap<CoverId, &NewCover> = given.filter(|(id, _)| !stored.contains(id)).collect();
    let known = stored.into_iter().chain(given.keys().copied());
    let workers = Workers::new(&plan.tasks, known, options.desktop.as_ref());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = options.threads.unwrap_or(cores).clamp(1, plan.tasks.len());
    let (sender, receiver) = sync_channel(QUEUED);
    let written = std::thread::scope(|scope| {
        let mut failed = None;
        for number in 0..threads {
            let (workers, sender) = (&workers, sender.clone());
            let worker = std::thread::Builder::new().name(format!("etui-scan-{number}"));
            match worker.spawn_scoped(scope, move || workers.work(&sender)) {
                Err(error) if number == 0 => failed = Some(error),
                Err(_) => break,
                Ok(_) => failed = None,
            }
        }
        drop(sender);
        if let Some(error) = failed {
            return Err(Error::io(media.db.path(), error));
        }
        let mut writer = BatchWriter {
            media,
            plan,
            large_commits: &large_commits,
            lost: &mut lost,
            report,
            structure_is_due: plan.changes_structure(),
            given,
            covers: HashMap::new(),
            files: Vec::new(),
            bytes: 0,
        };
        let written = writer.write_all(&receiver, reporter);
        // After an error or a stop: no worker waits for the writer any more.
        workers.stop.store(true, Ordering::Relaxed);
        drop(receiver);
        written
    });
    written?;
    if plan.to_read() >= LARGE_SCAN
        && let Err(error) = merge_index(&media.db, IndexParts::TERMS)
    {
        // As after a commit: the next merge takes these changes too.
        tracing::warn!(%error, "the index was not merged");
    }
    Ok(lost)
}

struct BatchWriter<'a, 'm> {
    media: &'m Media<'m>,
    plan: &'a Plan,
    large_commits: &'a LargeCommits<'m>,
    lost: &'a mut LostRecords,
    report: &'a mut ScanReport,
    /// Folders and moved files are to be written with the next batch.
    structure_is_due: bool,
    /// Covers that the program gave and no file had yet.
    given: HashMap<CoverId, &'a NewCover>,
    /// Covers that came; those that no record used yet stay for the next batch.
    covers: HashMap<CoverId, Cow<'a, NewCover>>,
    files: Vec<ReadFile>,
    bytes: usize,
}

impl<'a> BatchWriter<'a, '_> {
    fn write_all(
        &mut self,
        messages: &Receiver<Message>,
        reporter: &mut Reporter<'_>,
    ) -> Result<()> {
        let begun = Instant::now();
        let mut batch_begun = Instant::now();
        loop {
            let ended = match messages.recv_timeout(IDLE) {
                // Its file follows, for the same batch.
                Ok(Message::Cover(id, cover)) => {
                    self.add_cover(id, Cow::Owned(cover), reporter);
                    continue;
                }
                Ok(Message::File(file)) => {
                    if let Content::Record { lines, cover, .. } = &file.content {
                        self.bytes += lines.as_bytes().len();
                        let given = cover.and_then(|id| self.given.remove_entry(&id));
                        if let Some((id, given)) = given {
                            self.add_cover(id, Cow::Borrowed(given), reporter);
                        }
                    }
                    self.files.push(file);
                    reporter.progress.read += 1;
                    false
                }
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => true,
            };
            reporter.progress.reading_for = begun.elapsed();
            if ended {
                // Once more, with all that was read.
                reporter.enter(ScanPhase::Reading);
            }
            let stops = !reporter.go_on();
            let is_late = batch_begun.elapsed() >= BATCH_TIME && self.files.len() >= BATCH_FILES;
            let is_full = self.bytes >= BATCH_BYTES || is_late;
            if ended || stops || is_full {
                self.write_batch()?;
                batch_begun = Instant::now();
            }
            if ended || stops {
                return Ok(());
            }
        }
    }

    fn add_cover(&mut self, id: CoverId, cover: Cow<'a, NewCover>, reporter: &mut Reporter<'_>) {
        self.bytes += cover.stored_bytes();
        self.covers.insert(id, cover);
        reporter.progress.covers += 1;
    }

    fn write_batch(&mut self) -> Result<()> {
        let files = std::mem::take(&mut self.files);
        self.bytes = 0;
        if files.is_empty() && !self.structure_is_due {
            return Ok(());
        }
        let media = self.media;
        let mut problems = Vec::new();
        let counts = media.db.write(|conn| {
            self.large_commits.prepare(conn)?;
            if self.structure_is_due {
                compare::write_structure(media, conn, self.plan)?;
            }
            let mut edits = RecordEdits::new(media);
            edits.run(conn, |conn, edits, writing| {
                let mut counts = Counts::default();
                for file in &files {
                    let Some(task) = self.plan.tasks.get(file.task) else {
                        continue;
                    };
                    let (state, record) =
                        self.write_content(conn, edits, writing, file, &mut counts)?;
                    let stored = StoredFile {
                        name: file.name.clone(),
                        stat: file.stat,
                        state,
                        record,
                        problem: file.problem.clone(),
                    };
                    files::put_file(conn, task.folder, &stored)?;
                    if let Some(reason) = &file.problem {
                        problems.push(Problem {
                            path: task.path.join(files::path_of(&file.name)),
                            reason: reason.clone(),
                            is_refused: state == FileState::Refused,
                        });
                    }
                }
                Ok(counts)
            })
        })?;
        // A batch reads pages all over the indexes. Those of a large library would all stay mapped:
        // the peak memory of `media-scan`.
        media.db.unmap_files();
        if std::mem::take(&mut self.structure_is_due) {
            self.report.moved += self.plan.moved();
        }
        self.report.added += counts.added;
        self.report.changed += counts.changed;
        self.report.moved += counts.moved;
        self.report.covers += counts.covers.len() as u64;
        for id in counts.covers {
            self.covers.remove(&id);
        }
        self.report.problems.append(&mut problems);
        Ok(())
    }

    /// Saves the content of a file; returns its state and its record.
    fn write_content(
        &mut self,
        conn: &Connection,
        edits: &mut RecordEdits<'_>,
        writing: &mut RecordWriter<'_>,
        file: &ReadFile,
        counts: &mut Counts,
    ) -> Result<(FileState, Option<i64>)> {
        let (kind, lines, key, cover) = match &file.content {
            Content::Cover | Content::Ignored => {
                // It was a picture before there was music beside it.
                if let Some(record) = file.record {
                    edits.remove(conn, writing, record)?;
                }
                let is_cover = matches!(file.content, Content::Cover);
                return Ok(match is_cover {
                    true => (FileState::Cover, None),
                    false => (FileState::Ignored, None),
                });
            }
            // Its former record stays.
            Content::Refused => return Ok((FileState::Refused, file.record)),
            Content::Record {
                kind,
                lines,
                key,
                cover,
            } => (*kind, lines, key.to_string(), *cover),
        };
        if let Some(id) = cover
            && let Some(new) = self.covers.get(&id)
            && !counts.covers.contains(&id)
        {
            cover::insert(conn, id, new)?;
            counts.covers.push(id);
        }
        let state = match file.problem {
            Some(_) => FileState::ReadInPart,
            None => FileState::Read,
        };
        let target = match file.record {
            Some(record) => {
                let found = edits.read(conn, record)?;
                // It was music and is a video now, or the other way round.
                if found.as_ref().is_some_and(|(of, ..)| *of != kind) {
                    edits.remove(conn, writing, record)?;
                }
                found.filter(|(of, ..)| *of == kind)
            }
            None => None,
        };
        let target = match target {
            Some((_, uid, is_live, text)) => {
                counts.changed += 1;
                Some((uid, is_live, text))
            }
            None => self.match_record(conn, edits, kind, lines, &key, counts)?,
        };
        let (uid, is_live, old) = match target {
            Some((uid, is_live, text)) => (uid, is_live, Some(TagLines::from_text(text))),
            None => {
                counts.added += 1;
                (self.free_uid(conn, kind, &key)?, false, None)
            }
        };
        let mut lines = lines.clone();
        if let Some(old) = &old {
            lines.append(&old.filtered(USER, true));
        }
        let live = old.as_ref().filter(|_| is_live);
        let id = edits.put(conn, writing, kind, &uid, lines, live)?;
        Ok((state, Some(id)))
    }

    /// Returns the record that a new file is: one whose file is lost, removed or away.
    fn match_record(
        &mut self,
        conn: &Connection,
        edits: &RecordEdits<'_>,
        kind: CollectionKind,
        lines: &TagLines,
        key: &str,
        counts: &mut Counts,
    ) -> Result<Option<(String, bool, Vec<u8>)>> {
        let of_kind = |record: i64| {
            let found = edits.read(conn, record)?;
            Ok(found.is_some_and(|(of, ..)| of == kind))
        };
        let mut lost = self
            .lost
            .take(&self.plan.lost, |lost| &lost.by_key, key, of_kind)?;
        if lost.is_none() {
            // Removed, gone, or on a drive that is away: the record or one of its copies.
            let collection = self.media.collection_id(kind);
            let mut copy = 1;
            while let Some((id, is_live, text)) =
                find_record(conn, collection, &copy_uid(key, copy))?
            {
                let at = files::file_of_record(conn, id)?;
                let is_free = match &at {
                    Some((folder, name)) => self.is_gone(conn, *folder, name)?,
                    None => true,
                };
                if is_free {
                    if let Some((folder, name)) = at {
                        files::forget_record(conn, folder, &name)?;
                    }
                    counts.moved += 1;
                    return Ok(Some((copy_uid(key, copy), is_live, text)));
                }
                copy += 1;
            }
        }
        if lost.is_none() && kind == CollectionKind::Music && !self.plan.lost.is_empty() {
            let track = Track::new(lines.clone());
            if let Some(recording) = recording(&track) {
                let is_as_long = |record: i64| {
                    let found = edits.read(conn, record)?;
                    Ok(found.is_some_and(|(of, _, _, text)| {
                        let other = Track::new(TagLines::from_text(text));
                        of == kind && other.length().abs_diff(track.length()) <= 2_000
                    }))
                };
                lost = self.lost.take(
                    &self.plan.lost,
                    |lost| &lost.by_recording,
                    &recording,
                    is_as_long,
                )?;
            }
        }
        let Some(lost) = lost else { return Ok(None) };
        files::delete_file(conn, lost.folder, &lost.name)?;
        counts.moved += 1;
        let found = lost
            .record
            .map(|record| edits.read(conn, record))
            .transpose()?;
        Ok(found
            .flatten()
            .map(|(_, uid, is_live, text)| (uid, is_live, text)))
    }

    /// Returns true for a file on a drive that is away, or that is not at its path any more: it is
    /// in a folder that is not scanned this time.
    fn is_gone(&self, conn: &Connection, folder: i64, name: &[u8]) -> Result<bool> {
        let Some((path, root)) = files::folder_path(conn, folder)? else {
            return Ok(true);
        };
        let found = path.join(files::path_of(name)).symlink_metadata();
        let is_missing = found.is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound);
        Ok(is_missing || self.plan.away.contains(&root.id))
    }

    /// Returns the UID of a new record: that of its content, or, of a copy, the next free one.
    fn free_uid(&self, conn: &Connection, kind: CollectionKind, key: &str) -> Result<String> {
        let collection = self.media.collection_id(kind);
        let mut copy = 1;
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

#[derive(Default)]
struct Counts {
    added: u64,
    changed: u64,
    moved: u64,
    covers: Vec<CoverId>,
}
