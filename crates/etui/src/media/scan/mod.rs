//! Scans: find new, changed, moved and lost files in folders, and read them.
//!
//! ```text
//! walk ── list and stat each folder; nothing is opened
//!   └─ compare ── with the stored files: same, moved (by inode), changed, new, lost
//!        └─ read ── a worker per core: tags, covers, thumbnails
//!             └─ write ── batches; a new file that is a lost one by its content is that one. Folders
//!                  │      and moved files are written with the first batch
//!                  └─ finish ── lost records to the trash, covers that nothing uses deleted
//! ```
//!
//! The batches of a scan that is stopped or killed stay; the next scan goes on from there.

mod compare;
mod finish;
mod matching;
mod read;
mod record_edits;
pub(super) mod walk;
mod watch;
mod write;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use self::watch::FolderWatch;
use etui_media::DesktopThumbnails;

use super::cover_thumbnails::CoverThumbnails;
use super::library::{Media, Problem};
use crate::error::Result;

/// How to scan.
#[derive(Debug, Clone, Default)]
pub struct ScanOptions {
    /// Threads that read files; `None`: one for each core.
    pub threads: Option<usize>,
    /// Thumbnails that the program already has. A cover or picture with one of these ids is not
    /// decoded; its thumbnails are stored in the transaction of the first record that has it, and
    /// those that no record has are not stored. A cover that is stored already stays as it is.
    pub covers: Vec<CoverThumbnails>,
    /// The desktop's thumbnails. A picture that has a valid one of 256 pixels or more is not decoded,
    /// and pictures and videos without a decoder have it as theirs.
    pub desktop: Option<DesktopThumbnails>,
}

/// Phase of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScanPhase {
    /// Lists folders.
    Listing,
    /// Reads new and changed files.
    Reading,
    /// Moves lost records to the trash.
    Finishing,
}

/// How far a scan is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanProgress {
    /// Its phase.
    pub phase: ScanPhase,
    /// Media files that were listed.
    pub files: u64,
    /// Files to read: new and changed ones.
    pub to_read: u64,
    /// Of them read.
    pub read: u64,
    /// New covers and pictures with thumbnails.
    pub covers: u64,
    /// Time since the first file was read.
    pub reading_for: Duration,
}

impl ScanProgress {
    /// Returns the files read a second; 0 before the first.
    pub fn rate(&self) -> f64 {
        match self.reading_for.as_secs_f64() {
            0.0 => 0.0,
            seconds => self.read as f64 / seconds,
        }
    }
}

/// Result of a scan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanReport {
    /// Media files that are there.
    pub files: u64,
    /// New tracks and pictures.
    pub added: u64,
    /// Tracks and pictures whose file was read again.
    pub changed: u64,
    /// Files that were found elsewhere: their records stayed.
    pub moved: u64,
    /// Folders that were found elsewhere: none of their files was opened.
    pub moved_folders: u64,
    /// Records whose file is gone. They are in the trash.
    pub lost: u64,
    /// New covers and pictures with thumbnails.
    pub covers: u64,
    /// Folders that are scanned but were not there. Their records stay.
    pub away: Vec<PathBuf>,
    /// Folders that could not be listed. Their records stay.
    pub unreadable: Vec<(PathBuf, String)>,
    /// Files that could not be read in this scan, or not in full.
    pub problems: Vec<Problem>,
    /// Files of media formats that are not read, by extension in lower case.
    pub other_formats: BTreeMap<&'static str, u64>,
    /// Folders that are left out for a file `.nomedia`, each with those below it.
    pub excluded_folders: u64,
    /// True if the progress function stopped it.
    pub is_stopped: bool,
}

impl ScanReport {
    /// Returns true if the library is not as it was before the scan.
    pub fn has_changes(&self) -> bool {
        let counts = [
            self.added,
            self.changed,
            self.moved,
            self.moved_folders,
            self.lost,
        ];
        counts.iter().any(|count| *count > 0) || !self.problems.is_empty()
    }
}

impl Media {
    /// Scans folders, those given and those below them, and adds them to the library; without any,
    /// all folders of the library. `progress` is called a few times a second; if it breaks, the
    /// scan stops after the present batch, and the next one goes on from there.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) for a folder that is not there; any write error.
    /// Committed batches stay.
    pub fn scan(
        &self,
        folders: &[PathBuf],
        options: &ScanOptions,
        progress: &mut dyn FnMut(&ScanProgress) -> ControlFlow<()>,
    ) -> Result<ScanReport> {
        let mut reporter = Reporter::new(progress);
        let mut report = ScanReport::default();
        let plan = compare::plan(self, folders, &mut reporter, &mut report)?;
        if reporter.is_stopped {
            report.is_stopped = true;
            return Ok(report);
        }
        reporter.progress.to_read = plan.to_read();
        let found = write::read_and_write(self, &plan, options, &mut reporter, &mut report)?;
        if reporter.is_stopped {
            report.is_stopped = true;
            return Ok(report);
        }
        finish::finish(self, &plan, &found, &mut reporter, &mut report)?;
        if report.has_changes() {
            self.link_playlists()?;
        }
        Ok(report)
    }

    /// Forgets a folder: it is not scanned any more, and its records go to the trash. Returns false
    /// if no such folder is scanned.
    ///
    /// # Errors
    /// Any write error.
    pub fn remove_root(&self, path: &Path) -> Result<bool> {
        finish::remove_root(self, path)
    }
}

/// Calls the progress function a few times a second.
struct Reporter<'p> {
    progress: ScanProgress,
    function: &'p mut dyn FnMut(&ScanProgress) -> ControlFlow<()>,
    last: Option<Instant>,
    is_stopped: bool,
}

/// Time between two calls of the progress function.
const BETWEEN_CALLS: Duration = Duration::from_millis(100);

impl<'p> Reporter<'p> {
    fn new(function: &'p mut dyn FnMut(&ScanProgress) -> ControlFlow<()>) -> Self {
        Self {
            progress: ScanProgress {
                phase: ScanPhase::Listing,
                files: 0,
                to_read: 0,
                read: 0,
                covers: 0,
                reading_for: Duration::ZERO,
            },
            function,
            last: None,
            is_stopped: false,
        }
    }

    /// Calls the function if it is time. Returns false if the scan is to stop.
    fn go_on(&mut self) -> bool {
        let is_due = self.last.is_none_or(|last| last.elapsed() >= BETWEEN_CALLS);
        if is_due && !self.is_stopped {
            self.last = Some(Instant::now());
            self.is_stopped = (self.function)(&self.progress).is_break();
        }
        !self.is_stopped
    }

    fn enter(&mut self, phase: ScanPhase) {
        self.progress.phase = phase;
        self.last = None;
    }
}
