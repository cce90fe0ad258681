//! `etui media scan`.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use etui::Store;
use etui::media::{
    DesktopThumbnails, FolderWatch, ScanOptions, ScanPhase, ScanProgress, ScanReport,
};
use etui_program::output::{ProgressReporter, escape_text, format_count, object, pluralize};
use etui_program::{App, Failure, Result, StopSignal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::open_or_create;

const EXAMPLES: &str = "\
Examples:
  etui media scan ~/Music ~/Pictures
  etui media scan                          the folders of the library again
  etui media scan --watch                  then whenever files change, until Ctrl-C
  etui media scan --import-ratings         take over stars and plays of other players
  etui --json media scan

Only new and changed files are opened. A file that was moved, renamed or retagged keeps its
rating and plays. A folder that is not there, such as a drive that is not connected, keeps its
records. Ctrl-C stops; the next scan goes on from there.";

/// Scan folders for new, changed, moved and lost files
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ScanArgs {
    /// Folders; they are added to the library [default: the folders of the library]
    #[arg(value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Threads that read files [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Take over the ratings and numbers of plays in the files' tags (POPM, FMPS, RATING, XMP), where
    /// there are none yet
    #[arg(long)]
    import_ratings: bool,
    /// Then follow the folders and scan when files change, until Ctrl-C
    #[arg(long, short)]
    watch: bool,
    /// List the files that could not be read, or not in full
    #[arg(long, short)]
    verbose: bool,
}

pub fn scan_folders(app: &mut App, args: &ScanArgs) -> Result<()> {
    let mut options = app.store_options();
    options.merge_substrings = false;
    // The scan and the merge after it read most pages of a large library, all of which would stay mapped.
    options.memory_map = false;
    let store = open_or_create(app, options)?;
    let media = store.media()?;
    if args.folders.is_empty() && media.roots()?.is_empty() {
        return Err(Failure::usage(
            "the library has no folders yet; name one: etui media scan ~/Music",
        ));
    }
    let stop = StopSignal::install()?;
    let options = ScanOptions {
        threads: args.threads,
        desktop: DesktopThumbnails::of_user(),
        ..ScanOptions::default()
    };
    let report = with_progress(app, &stop, |progress| {
        media.scan(&args.folders, &options, progress)
    })?;
    // After a signal it is left to the next scan: it may take seconds.
    if !report.is_stopped {
        merge_index(app, &store);
    }
    write_report(app, args, &report)?;
    if args.import_ratings && !report.is_stopped {
        let import = media.import_ratings()?;
        match app.out.json {
            true => app.out.write_json(&object! {
                imported_ratings: import.ratings,
                imported_plays: import.plays,
            })?,
            false => app.out.status(format!(
                "{} and {} taken over from tags",
                pluralize(import.ratings, "rating"),
                pluralize(import.plays, "play count"),
            ))?,
        }
    }
    if args.watch && !report.is_stopped {
        follow_folders(app, args, &store, &options, &stop)?;
    }
    store.close()?;
    Ok(())
}

/// Scans whenever files change, until a signal.
fn follow_folders(
    app: &mut App,
    args: &ScanArgs,
    store: &Store,
    options: &ScanOptions,
    stop: &StopSignal,
) -> Result<()> {
    let media = store.media()?;
    let mut watch = media.watch_folders()?;
    let mut unwatched = 0;
    app.out
        .write_note("Watching for changes; stop with Ctrl-C.");
    loop {
        let report = match with_progress(app, stop, |progress| watch.scan(options, progress)) {
            // By another process: its results are stored, and this one looks again.
            Err(Failure::Library(etui::Error::ScannedMeanwhile)) => None,
            report => Some(report?),
        };
        if let Some(report) = report.filter(ScanReport::has_changes) {
            merge_index(app, store);
            write_report(app, args, &report)?;
            app.out.flush_output()?;
        }
        if watch.unwatched() > unwatched {
            unwatched = watch.unwatched();
            app.out.write_note(&format!(
                "{} beyond fs.inotify.max_user_watches: scanned once a minute",
                pluralize(unwatched as u64, "folder")
            ));
        }
        if !wait_until_due(&mut watch, stop)? {
            return Ok(());
        }
    }
}

/// Waits until files changed. Returns false after a signal.
fn wait_until_due(watch: &mut FolderWatch, stop: &StopSignal) -> Result<bool> {
    loop {
        let due = watch.due_in()?;
        let wait = due.and_then(|due| Timespec::try_from(due).ok());
        let mut fds = [
            PollFd::new(stop, PollFlags::IN),
            PollFd::new(&*watch, PollFlags::IN),
        ];
        match poll(&mut fds, wait.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(Failure::named_io("poll", e.into())),
        }
        if stop.is_set() {
            return Ok(false);
        }
        if due == Some(Duration::ZERO) {
            return Ok(true);
        }
    }
}

type ProgressFunction<'p> = &'p mut dyn FnMut(&ScanProgress) -> ControlFlow<()>;

/// Runs a scan with a progress bar; a signal stops it.
fn with_progress(
    app: &App,
    stop: &StopSignal,
    scan: impl FnOnce(ProgressFunction<'_>) -> etui::Result<ScanReport>,
) -> Result<ScanReport> {
    let mut bar = ProgressReporter::for_files(&app.out, "Scanning");
    let report = scan(&mut |progress| {
        let message = match progress.phase {
            ScanPhase::Listing => format!("{} found", format_count(progress.files)),
            _ => format!("{:.0} files/s", progress.rate()),
        };
        bar.set_of_files(progress.read, progress.to_read, message);
        match stop.is_set() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    drop(bar);
    Ok(report?)
}

fn merge_index(app: &mut App, store: &Store) {
    if let Err(error) = store.maintenance().merge_index() {
        app.out.write_error_line(&format!(
            "all records are saved, but merging the search index failed: {error}"
        ));
    }
}

fn write_report(app: &mut App, args: &ScanArgs, report: &ScanReport) -> Result<()> {
    if app.out.json {
        let away = report.away.iter().map(|path| path.display().to_string());
        let problems = report.problems.iter().map(|problem| {
            object! { path: problem.path.display().to_string(), reason: &problem.reason, refused: problem.is_refused }
        });
        let unreadable = report.unreadable.iter().map(|(path, reason)| {
            object! { path: path.display().to_string(), reason: reason }
        });
        return app.out.write_json(&object! {
            files: report.files,
            added: report.added,
            changed: report.changed,
            moved: report.moved,
            moved_folders: report.moved_folders,
            lost: report.lost,
            covers: report.covers,
            away: away.collect::<Vec<_>>(),
            unreadable: unreadable.collect::<Vec<_>>(),
            problems: problems.collect::<Vec<_>>(),
            other_formats: report.other_formats.clone(),
            excluded_folders: report.excluded_folders,
            stopped: report.is_stopped,
        });
    }
    let refused = report.problems.iter().filter(|problem| problem.is_refused);
    let refused = refused.count();
    let counts = [
        (report.added, "new"),
        (report.changed, "read again"),
        (report.moved, "moved"),
        (report.lost, "lost"),
        (refused as u64, "refused"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts = counts.map(|(count, what)| format!("{} {what}", format_count(*count)));
    let folders = (report.moved_folders > 0)
        .then(|| format!("{} moved", pluralize(report.moved_folders, "folder")));
    let counts: Vec<String> = counts.chain(folders).collect();
    let changes = match counts.is_empty() {
        true => "nothing changed".to_owned(),
        false => counts.join(", "),
    };
    app.out
        .status(format!("{}: {changes}", pluralize(report.files, "file")))?;
    for path in &report.away {
        app.out.write_note(&format!(
            "not there, its records stay: {}",
            escape_text(&path.display().to_string())
        ));
    }
    for (path, reason) in &report.unreadable {
        app.out.write_error_line(&format!(
            "{}: {reason}; its records stay",
            escape_text(&path.display().to_string())
        ));
    }
    if !report.other_formats.is_empty() {
        let formats = report.other_formats.iter();
        let formats = formats.map(|(name, count)| format!("{} {name}", format_count(*count)));
        app.out.write_note(&format!(
            "{} of other formats: {}",
            pluralize(report.other_formats.values().sum(), "file"),
            formats.collect::<Vec<_>>().join(", ")
        ));
    }
    if report.excluded_folders > 0 {
        app.out.write_note(&format!(
            "{} left out for a file .nomedia",
            pluralize(report.excluded_folders, "folder")
        ));
    }
    let count = report.problems.len() as u64;
    if args.verbose {
        for problem in &report.problems {
            app.out.write_error_line(&format!(
                "{}: {}",
                escape_text(&problem.path.display().to_string()),
                escape_text(&problem.reason)
            ));
        }
    } else if count > 0 {
        app.out.write_note(&format!(
            "{} could not be read, or not in full: etui media problems",
            pluralize(count, "file")
        ));
    }
    if report.is_stopped {
        app.out
            .write_note("Stopped. The next scan goes on from here.");
    }
    Ok(())
}
