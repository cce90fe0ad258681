//! The writer of a scan: decides which record each file is, and saves batches.
//!
//! A new file is, in this order: the lost or removed record of the same content; a copy of a record
//! whose file is there, with a record of its own; the lost record of the same recording; else new.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::compare::{self, Plan};
use super::matching::RecordMatcher;
use super::read::{Content, Message, ReadFile, Workers};
use super::record_edits::RecordEdits;
use super::{Reporter, ScanOptions, ScanPhase, ScanReport};
use crate::db::LargeCommits;
use crate::error::{Error, Result};
use crate::media::cover::{self, CoverId, NewCover};
use crate::media::files::{self, FileState, StoredFile};
use crate::media::library::{Media, Problem};
use crate::media::tag_lines::{TagLines, USER};
use crate::record::records::RecordWriter;
use crate::search::index::IndexParts;
use crate::search::index::merge::merge_index;

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
/// Files of a batch that are still written after a stop, which is to be obeyed within a second.
const STOPPED_FILES: usize = 256;
/// Messages that wait for the writer.
const QUEUED: usize = 64;
/// Time without a message after which the progress is told again.
const IDLE: Duration = Duration::from_millis(100);

/// Reads the files of a plan on all cores and writes their records. Returns which lost files were
/// found, by their places.
pub(super) fn read_and_write(
    media: &Media,
    plan: &Plan,
    options: &ScanOptions,
    reporter: &mut Reporter<'_>,
    report: &mut ScanReport,
) -> Result<Vec<bool>> {
    let mut matcher = RecordMatcher::new(media, &plan.lost, &plan.away)?;
    if plan.tasks.is_empty() {
        if plan.changes_structure() {
            let write = |conn: &Connection| compare::write_structure(media, conn, plan);
            media.db.write(write)?;
            report.moved += plan.moved();
        }
        return Ok(matcher.into_found());
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
            matcher: &mut matcher,
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
        && !reporter.is_stopped
        && let Err(error) = merge_index(&media.db, IndexParts::TERMS)
    {
        // As after a commit: the next merge takes these changes too.
        tracing::warn!(%error, "the index was not merged");
    }
    Ok(matcher.into_found())
}

struct BatchWriter<'w, 'a, 'm> {
    media: &'m Media,
    plan: &'a Plan,
    large_commits: &'a LargeCommits<'m>,
    matcher: &'w mut RecordMatcher<'a, 'm>,
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

impl<'a> BatchWriter<'_, 'a, '_> {
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
                self.write_batch(reporter)?;
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

    /// Writes what was read. If the scan is stopped meanwhile, the rest of it is left to the next.
    fn write_batch(&mut self, reporter: &mut Reporter<'_>) -> Result<()> {
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
                let mut left_after_stop = STOPPED_FILES;
                for file in &files {
                    if !reporter.go_on() {
                        if left_after_stop == 0 {
                            break;
                        }
                        left_after_stop -= 1;
                    }
                    let Some(task) = self.plan.tasks.get(file.task) else {
                        continue;
                    };
                    if matches!(file.content, Content::Vanished) {
                        continue;
                    }
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
            Content::Cover | Content::Ignored | Content::Attached => {
                // It was a picture before there was music, or the picture that it belongs to, beside it.
                if let Some(record) = file.record {
                    edits.remove(conn, writing, record)?;
                }
                let state = match file.content {
                    Content::Cover => FileState::Cover,
                    Content::Attached => FileState::Attached,
                    _ => FileState::Ignored,
                };
                return Ok((state, None));
            }
            // Its former record stays.
            Content::Refused | Content::Vanished => return Ok((FileState::Refused, file.record)),
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
            counts.covers.insert(id);
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
            None => {
                let found = self.matcher.find(conn, edits, kind, lines, &key)?;
                counts.moved += u64::from(found.is_some());
                found
            }
        };
        let (uid, is_live, old) = match target {
            Some((uid, is_live, text)) => (uid, is_live, Some(TagLines::from_text(text))),
            None => {
                counts.added += 1;
                (self.matcher.free_uid(conn, kind, &key)?, false, None)
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
}

#[derive(Default)]
struct Counts {
    added: u64,
    changed: u64,
    moved: u64,
    covers: HashSet<CoverId>,
}
