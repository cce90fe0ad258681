//! `media-scan`: a music library's scans, searches and pages, beside music servers.
//!
//! - [`collection`]: the files, and their changes;
//! - [`server`]: what each product does;
//! - [`etui`], [`mpd`], [`beets`]: the products;
//! - [`report`]: the declared report.

mod beets;
mod collection;
mod etui;
mod mpd;
mod report;
mod server;
#[cfg(test)]
mod tests;

use std::path::Path;

use self::collection::Files;
use self::server::{LibraryTrack, MediaServer};
use super::processes;
use etui_lab::experiments::about::AboutText;
use etui_lab::stacks::HERE;
use etui_lab::{
    Arm, ArmGroup, ArmRole, Error, Experiment, ExperimentInfo, LabContext, MeasurePass, Recorder,
    ReportSpec, Results, RunCase, RunPlan, stats,
};

pub struct MediaScan;

const NAME: &str = "media-scan";
const WORK: &str = "music";
/// A word of titles.
const WORD: &str = "Orchard";
/// Hits that a list shows first.
const FIRST_HITS: usize = 50;
/// Albums on a page.
const PAGE: usize = 60;
/// Albums up to which beets is measured.
const MAX_BEETS_ALBUMS: u64 = 100;
/// Times that a search and a page are repeated.
const ROUNDS: u32 = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Product {
    Etui,
    Mpd,
    Beets,
}

impl Product {
    const ALL: [Self; 3] = [Self::Etui, Self::Mpd, Self::Beets];

    fn arm_name(self) -> &'static str {
        match self {
            Self::Etui => report::ETUI,
            Self::Mpd => report::MPD,
            Self::Beets => report::BEETS,
        }
    }

    /// Returns the reason if it cannot run here.
    fn missing(self) -> Option<String> {
        let tool = match self {
            Self::Etui => return None,
            Self::Mpd => mpd::PROGRAM,
            Self::Beets => beets::PROGRAM,
        };
        let found = etui_lab::machine::find_tool(tool);
        found
            .is_none()
            .then(|| format!("there is no `{tool}`: `etui lab setup`"))
    }

    fn start(self, dir: &Path, music: &Path) -> Result<Box<dyn MediaServer>, Error> {
        Ok(match self {
            Self::Etui => Box::new(etui::EtuiLibrary::open(dir)?),
            Self::Mpd => Box::new(mpd::Mpd::start(dir, music)?),
            Self::Beets => Box::new(beets::Beets::new(dir, music)?),
        })
    }
}

impl Experiment for MediaScan {
    fn experiment_info(&self) -> ExperimentInfo {
        static ABOUT: AboutText = AboutText::new(include_str!("about.md"));
        ABOUT.info(NAME, None)
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let mut plan = RunPlan::default();
        plan.skip(
            "arm minidlna",
            "it reads no AIFF and no Opus, two of the six formats: it cannot give the same answer",
        );
        plan.skip(
            "arm LocalSearch",
            "the laboratory does not drive it: it indexes the folders of a desktop session's settings, \
             at a time of its own choice",
        );
        let mut arms = Vec::new();
        for product in Product::ALL {
            let role = match product {
                Product::Etui => ArmRole::Etui,
                _ => ArmRole::Peer,
            };
            match product.missing() {
                Some(reason) => plan.skip(format!("arm {}", product.arm_name()), reason),
                None => arms.push(Arm::new(product.arm_name(), role, "")),
            }
        }
        for &albums in lab.values("albums") {
            let mut arms = arms.clone();
            if albums > MAX_BEETS_ALBUMS {
                arms.retain(|arm| arm.name != report::BEETS);
                plan.skip(
                    format!("arm {}, {albums} albums", report::BEETS),
                    format!("a scan takes minutes; it is compared up to {MAX_BEETS_ALBUMS} albums"),
                );
            }
            plan.groups.push(ArmGroup {
                repetitions: if lab.quick() { 3 } else { 5 },
                syscalls: true,
                seconds: 0.3 * albums as f64,
                ..ArmGroup::new(WORK, HERE, albums * collection::TRACKS, arms)
            });
        }
        Ok(plan)
    }

    fn set_up(&self, group: &ArmGroup, dir: &Path) -> Result<(), Error> {
        collection::write_shared(dir, group.size / collection::TRACKS)
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        let product = Product::ALL
            .into_iter()
            .find(|product| product.arm_name() == case.arm);
        let product = product.ok_or_else(|| Error::other(format!("no arm `{}`", case.arm)))?;
        let mut files = Files::link_shared(recorder.shared(), recorder.dir())?;
        let dir = recorder.dir().join("library");
        std::fs::create_dir(&dir).map_err(|e| Error::file(&dir, e))?;
        let mut server = product.start(&dir, files.root())?;

        scan_as_phase(recorder, "first", &mut *server, &files)?;
        recorder.record("first/files", files.count_files() as f64);
        recorder.record("first/distinct_covers", files.count_covers() as f64);
        let library = server.library_bytes()?;
        recorder.record("first/library_bytes", library as f64);
        record_answer(recorder, server.list_tracks()?);
        scan_as_phase(recorder, "again", &mut *server, &files)?;

        let mut hits = measure_rounds(recorder, "search", &mut *server, |server| {
            server.find_titles(WORD)
        })?;
        hits.sort_unstable();
        let expected = files.titles_with(WORD);
        if hits != expected {
            return Err(Error::other(format!(
                "{} of {} tracks with `{WORD}` in the title were found",
                hits.len(),
                expected.len()
            )));
        }
        recorder.record("search/hits", hits.len() as f64);
        let first = measure_rounds(recorder, "search_first", &mut *server, |server| {
            server.find_first_titles(WORD, FIRST_HITS)
        })?;
        if first < FIRST_HITS.min(expected.len()) {
            return Err(Error::other(format!("a page of {first} hits")));
        }
        recorder.record("search_first/hits", first as f64);
        let albums = measure_rounds(recorder, "page", &mut *server, |server| {
            server.list_albums(PAGE)
        })?;
        if albums < PAGE.min(files.count_albums()) {
            return Err(Error::other(format!("a page of {albums} albums")));
        }
        recorder.record("page/albums", albums as f64);

        server.stop()?;
        files.rename_root()?;
        server.start_at(files.root())?;
        scan_as_phase(recorder, "renamed", &mut *server, &files)?;
        record_answer(recorder, server.list_tracks()?);
        let changed = files.change_some()?;
        scan_as_phase(recorder, "changed", &mut *server, &files)?;
        recorder.record("changed/files", changed as f64);
        record_answer(recorder, server.list_tracks()?);
        server.stop()
    }

    fn report_spec(&self, results: &Results) -> ReportSpec {
        report::report_spec(results)
    }
}

fn scan_as_phase(
    recorder: &mut Recorder,
    phase: &str,
    server: &mut dyn MediaServer,
    files: &Files,
) -> Result<(), Error> {
    processes::reset_peak_memory();
    let before = server.processor_time()?;
    let measures = recorder.phase(phase, || server.scan_folder(files.root()))?;
    let used = server.processor_time()?.saturating_sub(before);
    if recorder.pass() == MeasurePass::Timed {
        recorder.record(&format!("{phase}/processor_ns"), used.as_nanos() as f64);
    }
    if let Some(peak) = server.peak_memory()?
        && recorder.pass() == MeasurePass::Timed
    {
        recorder.record(&format!("{phase}/peak_rss_bytes"), peak as f64);
    }
    for (measure, value) in measures {
        // Times hold only where nothing watches.
        if !measure.ends_with("_ns") || recorder.pass() == MeasurePass::Timed {
            recorder.record(&format!("{phase}/{measure}"), value);
        }
    }
    Ok(())
}

/// Repeats a request and records the median of its time.
fn measure_rounds<T>(
    recorder: &mut Recorder,
    phase: &str,
    server: &mut dyn MediaServer,
    request: impl Fn(&mut dyn MediaServer) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut answer = request(server)?;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let begun = std::time::Instant::now();
        answer = request(server)?;
        times.push(begun.elapsed().as_nanos() as f64);
    }
    if let Some(median) = stats::median(&times).filter(|_| recorder.pass() == MeasurePass::Timed) {
        recorder.record(&format!("{phase}/wall_ns"), median);
    }
    Ok(answer)
}

/// Adds all tracks to the answer: album and title, sorted; and the number of albums.
fn record_answer(recorder: &mut Recorder, mut tracks: Vec<LibraryTrack>) {
    tracks.sort_unstable();
    recorder.answer((tracks.len() as u64).to_le_bytes());
    let mut albums: Vec<&str> = tracks.iter().map(|track| track.album.as_str()).collect();
    albums.dedup();
    recorder.answer((albums.len() as u64).to_le_bytes());
    for track in &tracks {
        recorder.answer(&track.album);
        recorder.answer(&track.title);
    }
}
