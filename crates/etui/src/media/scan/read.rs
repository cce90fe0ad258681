//! Reading files: a worker for each core takes folders and sends the results to the writer.
//!
//! A cover is decoded once, by the worker that claims it; a worker that meets it meanwhile waits
//! until it was sent. So a record never comes to the writer before its cover.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Condvar, Mutex, PoisonError};

use etui_media::{
    Capture, ContentKey, Description, DesktopSize, DesktopThumbnail, DesktopThumbnails,
    PictureParser, Thumbnails, Unreadable, date_in_name, limits, make_thumbnails, raw_format,
    read_audio, read_picture, read_video,
};

use super::compare::{FileTask, FolderTask};
use super::walk::{Belonging, FileKind, FileStat};
use crate::media::cover::{CoverId, NewCover};
use crate::media::membership::album_uid;
use crate::media::tag_lines::TagLines;
use crate::media::track::Track;
use crate::types::CollectionKind;

/// Longest video of a live photo, in milliseconds: phones record three seconds.
const MAX_LIVE: u64 = 6_000;

/// Bytes of a sidecar file.
const MAX_SIDECAR: u64 = 1 << 20;

/// Pictures of more bytes are decoded one at a time, to bound memory.
const LARGE_PICTURE: usize = 4 << 20;

/// Message of a worker.
pub(super) enum Message {
    /// A cover that no other message has, before the first record with it.
    Cover(CoverId, NewCover),
    File(ReadFile),
}

/// A file that was read.
pub(super) struct ReadFile {
    /// The place of its task.
    pub(super) task: usize,
    pub(super) name: Vec<u8>,
    pub(super) stat: FileStat,
    pub(super) record: Option<i64>,
    pub(super) content: Content,
    /// Why a part of it was not read.
    pub(super) problem: Option<String>,
}

/// Content of a file.
pub(super) enum Content {
    Record {
        kind: CollectionKind,
        lines: TagLines,
        key: ContentKey,
        cover: Option<CoverId>,
    },
    Cover,
    Ignored,
    /// It is the second file of another's record.
    Attached,
    Refused,
    /// It is not there any more: as if it had not been listed.
    Vanished,
}

/// State that the workers share.
pub(super) struct Workers<'t> {
    tasks: &'t [FolderTask],
    next: AtomicUsize,
    pub(super) stop: AtomicBool,
    covers: Mutex<HashMap<CoverId, CoverState>>,
    cover_sent: Condvar,
    large_picture: Mutex<()>,
    desktop: Option<&'t DesktopThumbnails>,
}

#[derive(Clone)]
enum CoverState {
    /// A worker makes its thumbnails.
    Claimed,
    Known,
    /// It cannot be decoded, for this reason.
    Unreadable(String),
}

impl<'t> Workers<'t> {
    /// `known`: covers that are stored.
    pub(super) fn new(
        tasks: &'t [FolderTask],
        known: impl Iterator<Item = CoverId>,
        desktop: Option<&'t DesktopThumbnails>,
    ) -> Self {
        Self {
            tasks,
            next: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            covers: Mutex::new(known.map(|id| (id, CoverState::Known)).collect()),
            cover_sent: Condvar::new(),
            large_picture: Mutex::new(()),
            desktop,
        }
    }

    /// Reads tasks until there are none, or the writer is gone.
    pub(super) fn work(&self, out: &SyncSender<Message>) {
        let mut parser = PictureParser::default();
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = self.tasks.get(number) else {
                return;
            };
            let mut folder_cover = None;
            for file in &task.files {
                if self.stop.load(Ordering::Relaxed) {
                    return;
                }
                let mut read = ReadFile {
                    task: number,
                    name: file.name.clone(),
                    stat: file.stat,
                    record: file.record,
                    content: Content::Refused,
                    problem: None,
                };
                let path = task.path.join(crate::media::files::path_of(&file.name));
                let done = caught(|| {
                    self.read_file(task, file, &path, &mut folder_cover, &mut parser, out)
                });
                match done {
                    Ok((stat, content, problem)) => {
                        read.stat = stat;
                        read.content = content;
                        read.problem = problem;
                    }
                    Err(Unreadable::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {
                        read.content = Content::Vanished;
                    }
                    Err(error) => {
                        // The next scan tries again.
                        if matches!(error, Unreadable::Io(_) | Unreadable::TooSlow) {
                            read.stat.mtime = 0;
                        }
                        read.problem = Some(error.to_string());
                    }
                }
                if out.send(Message::File(read)).is_err() {
                    return;
                }
            }
        }
    }

    /// Reads one file. The listing's properties are replaced by those of the opened file; a file
    /// that changes while it is read is read again by the next scan.
    fn read_file(
        &self,
        task: &FolderTask,
        file: &FileTask,
        path: &Path,
        folder_cover: &mut Option<Option<CoverId>>,
        parser: &mut PictureParser,
        out: &SyncSender<Message>,
    ) -> Result<(FileStat, Content, Option<String>), Unreadable> {
        if file.belonging == Some(Belonging::Always) {
            return Ok((file.stat, Content::Attached, None));
        }
        let opened = open_regular(path)?;
        let before = FileStat::of(&opened.metadata()?);
        let name = String::from_utf8_lossy(&file.name);
        let mut problem = None;
        let sidecars = read_sidecars(task, file, &mut problem);
        let content = match file.kind {
            FileKind::Cover(_) => Content::Cover,
            // Without an owner it is not listed.
            FileKind::Sidecar => Content::Attached,
            FileKind::Audio => {
                let audio = read_audio(&opened, &name)?;
                problem = audio.problem;
                let mut cover = None;
                if let Some(picture) = &audio.cover {
                    match self.cover(picture, out) {
                        Ok(id) => cover = Some(id),
                        Err(error) => {
                            problem.get_or_insert_with(|| format!("its cover: {error}"));
                        }
                    }
                }
                let is_folders = cover.is_none();
                if is_folders {
                    cover = *folder_cover.get_or_insert_with(|| {
                        let picture = read_whole(task.cover.as_deref()?).ok()?;
                        self.cover(&picture, out).ok()
                    });
                }
                let mut lines = TagLines::default();
                for (name, value) in &audio.tags {
                    lines.push(name, value);
                }
                lines.push("file.name", &name);
                lines.push("file.format", audio.format);
                lines.push_number("file.length", audio.length);
                if let Some(stars) = audio.rating {
                    lines.push_number("file.rating", stars);
                }
                if let Some(plays) = audio.plays {
                    lines.push_number("file.plays", plays);
                }
                let album = album_uid(&Track::new(lines.clone()), &task.album_folder.to_string());
                lines.set("file.album", album.as_deref());
                if is_folders && cover.is_some() {
                    lines.push("file.foldercover", "1");
                }
                record(CollectionKind::Music, lines, audio.key, cover)
            }
            FileKind::Picture if is_video(&name) => {
                let video = read_video(&opened, &sidecars, parser)?;
                if file.belonging.is_some() && video.length <= MAX_LIVE {
                    Content::Attached
                } else {
                    let mut lines = TagLines::default();
                    lines.push("file.name", &name);
                    let extension = name.rsplit('.').next().unwrap_or_default();
                    lines.push("file.format", &extension.to_ascii_lowercase());
                    lines.push_number("file.length", video.length);
                    let size = (video.width, video.height);
                    push_size(&mut lines, size);
                    push_capture(&mut lines, &video.capture, &name, before);
                    push_description(&mut lines, &video.description);
                    // No frame is decoded: the desktop may have a thumbnail.
                    let cover = self.desktop_cover(path, before, size, out);
                    record(CollectionKind::Pictures, lines, video.key, cover)
                }
            }
            FileKind::Picture => {
                let picture = read_picture(&opened, &name, &sidecars, parser)?;
                let by_camera =
                    picture.capture.taken.is_some() || !picture.capture.camera.is_empty();
                if task.has_music && !by_camera {
                    Content::Ignored
                } else {
                    problem = picture.problem.or(problem);
                    let size = (picture.width, picture.height);
                    let cover = match raw_format(&name) {
                        // As of videos.
                        Some(_) => self.desktop_cover(path, before, size, out),
                        None => {
                            let cover = read_opened(&opened, before).and_then(|bytes| {
                                let make = || {
                                    let found = self.desktop_thumbnail(path, before);
                                    let made =
                                        found.and_then(|found| found.to_thumbnails(size).ok());
                                    made.map_or_else(|| make_thumbnails(&bytes), Ok)
                                };
                                self.cover_of(&bytes, make, out)
                            });
                            if let Err(error) = &cover {
                                problem.get_or_insert_with(|| format!("no thumbnail: {error}"));
                            }
                            cover.ok()
                        }
                    };
                    let mut lines = TagLines::default();
                    lines.push("file.name", &name);
                    lines.push("file.format", picture.format);
                    push_size(&mut lines, size);
                    push_capture(&mut lines, &picture.capture, &name, before);
                    push_description(&mut lines, &picture.description);
                    record(CollectionKind::Pictures, lines, picture.key, cover)
                }
            }
        };
        let after = FileStat::of(&opened.metadata()?);
        let stat = match before == after {
            true => before,
            false => FileStat { mtime: 0, ..after },
        };
        Ok((stat, content, problem))
    }

    /// Returns the desktop's thumbnail of a file, if it has the pixels of ours.
    fn desktop_thumbnail(&self, path: &Path, stat: FileStat) -> Option<DesktopThumbnail> {
        let seconds = stat.mtime.div_euclid(1_000_000_000);
        self.desktop?.find(path, seconds, DesktopSize::Large)
    }

    /// Returns the id of the desktop's thumbnail of a file that is not decoded; `size`: of the original.
    fn desktop_cover(
        &self,
        path: &Path,
        stat: FileStat,
        size: (u32, u32),
        out: &SyncSender<Message>,
    ) -> Option<CoverId> {
        let found = self.desktop_thumbnail(path, stat)?;
        let make = || found.to_thumbnails(size);
        self.cover_of(&found.png, make, out).ok()
    }

    /// Returns the id of a picture, which is decoded unless its thumbnails are known.
    fn cover(&self, picture: &[u8], out: &SyncSender<Message>) -> Result<CoverId, Unreadable> {
        self.cover_of(picture, || make_thumbnails(picture), out)
    }

    /// Returns the id of a picture, whose thumbnails are made unless they are known.
    fn cover_of(
        &self,
        picture: &[u8],
        make: impl FnOnce() -> Result<Thumbnails, Unreadable>,
        out: &SyncSender<Message>,
    ) -> Result<CoverId, Unreadable> {
        let id = CoverId::of(picture);
        let mut covers = self.covers.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match covers.get(&id) {
                Some(CoverState::Known) => return Ok(id),
                Some(CoverState::Unreadable(why)) => {
                    return Err(Unreadable::Damaged(why.clone()));
                }
                Some(CoverState::Claimed) => {
                    let waited = self.cover_sent.wait(covers);
                    covers = waited.unwrap_or_else(PoisonError::into_inner);
                }
                None => {
                    covers.insert(id, CoverState::Claimed);
                    break;
                }
            }
        }
        drop(covers);
        let one_at_a_time = (picture.len() > LARGE_PICTURE).then(|| {
            let lock = self.large_picture.lock();
            lock.unwrap_or_else(PoisonError::into_inner)
        });
        let made = caught(make);
        drop(one_at_a_time);
        let (state, result) = match made {
            Ok(made) => {
                let new = NewCover {
                    width: made.width,
                    height: made.height,
                    color: made.color,
                    small: made.small,
                    large: made.large,
                };
                // If the writer is gone, so is the record.
                let _ = out.send(Message::Cover(id, new));
                (CoverState::Known, Ok(id))
            }
            Err(error) => (CoverState::Unreadable(error.to_string()), Err(error)),
        };
        let mut covers = self.covers.lock().unwrap_or_else(PoisonError::into_inner);
        covers.insert(id, state);
        self.cover_sent.notify_all();
        result
    }
}

/// Runs a parser. One that panics has refused its input: the other files are read.
fn caught<T>(parse: impl FnOnce() -> Result<T, Unreadable>) -> Result<T, Unreadable> {
    let parsed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(parse));
    parsed.unwrap_or_else(|_| Err(Unreadable::Damaged("its parser failed".to_owned())))
}

fn record(
    kind: CollectionKind,
    mut lines: TagLines,
    key: ContentKey,
    cover: Option<CoverId>,
) -> Content {
    lines.push("file.key", &key.to_string());
    if let Some(cover) = cover {
        lines.push("file.cover", &cover.to_string());
    }
    Content::Record {
        kind,
        lines,
        key,
        cover,
    }
}

fn is_video(name: &str) -> bool {
    let extension = name.rsplit('.').next().unwrap_or_default();
    let videos = ["3gp", "m4v", "mkv", "mov", "mp4", "webm"];
    videos
        .iter()
        .any(|video| extension.eq_ignore_ascii_case(video))
}

fn push_size(lines: &mut TagLines, (width, height): (u32, u32)) {
    if width > 0 && height > 0 {
        lines.push_number("file.width", width);
        lines.push_number("file.height", height);
    }
}

/// Adds when a picture was taken and what says so: its data, its name, or, so that it has a day at
/// all, the time of its file.
fn push_capture(lines: &mut TagLines, capture: &Capture, name: &str, stat: FileStat) {
    let system = |time: jiff::Timestamp| {
        let local = time.to_zoned(jiff::tz::TimeZone::system()).datetime();
        local.strftime("%Y-%m-%dT%H:%M:%S").to_string()
    };
    let said = capture.taken.as_ref().map(|taken| {
        let utc = taken
            .is_utc
            .then(|| format!("{}Z", taken.time).parse().ok());
        let time = utc.flatten().map_or_else(|| taken.time.clone(), system);
        (time, taken.from.name())
    });
    let named = || date_in_name(name).map(|time| (time, "name"));
    let of_file = || {
        let time = jiff::Timestamp::from_nanosecond(stat.mtime.into()).ok()?;
        Some((system(time), "file"))
    };
    if let Some((time, from)) = said.or_else(named).or_else(of_file) {
        lines.push("file.taken", &time);
        lines.push("file.takenfrom", from);
    }
    if let Some(place) = capture.place {
        lines.push(
            "file.place",
            &format!("{:.6},{:.6}", place.latitude, place.longitude),
        );
    }
    lines.push("file.camera", &capture.camera);
}

/// Adds the words of XMP and IPTC, in the names of tags.
fn push_description(lines: &mut TagLines, said: &Description) {
    lines.push("TITLE", &said.title);
    lines.push("DESCRIPTION", &said.caption);
    for keyword in &said.keywords {
        lines.push("KEYWORD", keyword);
    }
    for person in &said.people {
        lines.push("PERSON", person);
    }
    if let Some(stars) = said.rating {
        lines.push_number("file.rating", stars);
    }
}

/// Returns the contents of a file's sidecars. One that vanishes meanwhile is as if it had not been listed.
fn read_sidecars(task: &FolderTask, file: &FileTask, problem: &mut Option<String>) -> Vec<Vec<u8>> {
    let mut contents = Vec::with_capacity(file.sidecars.len());
    for name in &file.sidecars {
        let mut bytes = Vec::new();
        let opened = open_regular(&task.path.join(crate::media::files::path_of(name)));
        let read = opened.and_then(|file| Ok(file.take(MAX_SIDECAR).read_to_end(&mut bytes)?));
        match read {
            Ok(_) => contents.push(bytes),
            Err(Unreadable::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                let name = String::from_utf8_lossy(name);
                problem.get_or_insert_with(|| format!("{name}: {error}"));
            }
        }
    }
    contents
}

/// Opens a regular file. A link is not followed, and a pipe does not block.
fn open_regular(path: &Path) -> Result<File, Unreadable> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)?;
    if !opened.metadata()?.is_file() {
        return Err(std::io::Error::other("not a regular file").into());
    }
    Ok(opened)
}

fn read_whole(path: &Path) -> Result<Vec<u8>, Unreadable> {
    let opened = open_regular(path)?;
    let stat = FileStat::of(&opened.metadata()?);
    read_opened(&opened, stat)
}

fn read_opened(mut file: &File, stat: FileStat) -> Result<Vec<u8>, Unreadable> {
    use std::io::Seek;
    let size = stat.size.cast_unsigned();
    if size > limits::MAX_PICTURE {
        return Err(Unreadable::TooManyBytes(size));
    }
    file.rewind()?;
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    file.take(limits::MAX_PICTURE).read_to_end(&mut bytes)?;
    Ok(bytes)
}
