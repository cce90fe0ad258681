//! `media-sync`: batches of metadata and album art, as a phone gets them from a PC (study 1).

mod library;
mod report;
mod scans;
mod sqlite;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use self::library::{BATCH, Picture, Track};
use super::about::AboutText;
use super::common::copy_shared;
use crate::{
    Arm, ArmGroup, ArmRole, ArmSettings, Error, Experiment, ExperimentInfo, LabContext, Recorder,
    ReportSpec, Results, RunCase, RunPlan, Study, stacks,
};

const NAME: &str = "media-sync";
const KB: u64 = 1 << 10;
const MB: u64 = 1 << 20;

const AS_FOUND: &str = "as found";
const FORMULA: &str = "journal rests by the formula";
const ENOUGH: &str = "journal rests as long as it was";
const GROWTH: &str = "database grows in steps";
const BUFFER: &str = "buffer of 4 pages, read ahead";
const COALESCE: &str = "write-back consolidated";
const ALL: &str = "all cures";
/// Not the study's: SQLite's write-ahead log, by itself, and through the VFS `etui` with the
/// checkpoints apart and as SQLite has them.
const WAL: &str = "write-ahead log";
const REDO: &str = "etui-vfs";
const REDO_BY_ITSELF: &str = "etui-vfs, SQLite's checkpoints";
/// The VFS without a cure of its own.
const LOGGED: &str = "etui-vfs, new pages logged";
const PAGEWISE: &str = "etui-vfs, checkpoint page by page";
/// The media library, which is given the thumbnails, with SQLite's own log and on the VFS `etui`.
const ETUI: &str = "etui, media library";
const ETUI_REDO: &str = "etui, media library, on etui-vfs";

/// The work of scans that decode the covers and make the thumbnails.
const DECODING: &str = "covers decoded";

/// The soft heap limits that are tried as cures, megabytes.
const LIMITS: [u64; 4] = [2, 4, 8, 16];
/// The page size at which every cure is tried alone.
const PAGE_SIZE: u64 = 4096;
/// The card file systems, and a file system of today, when root; the card file systems on a
/// modelled card in a virtual machine.
const STACKS: [&str; 6] = [stacks::HERE, "vfat", "exfat", "ext4", "vm-vfat", "vm-exfat"];

/// The most that is tried in a virtual machine.
const MAX_GUEST_TRACKS: u64 = 300;
const MAX_GUEST_BATCHES: u64 = 2;

pub struct MediaSync;

/// The study's rule for the size at which the journal rests: min(16 pages, 512 kB), never under
/// 64 kB.
fn resting_size(page_size: u64) -> u64 {
    (16 * page_size).clamp(64 * KB, 512 * KB)
}

/// The study's rule for the buffer: 8 kB where that holds 4 pages, else 4 pages.
fn buffer_size(page_size: u64) -> u64 {
    (4 * page_size).max(8 * KB)
}

/// The name of an arm with a soft heap limit.
fn limit_arm(megabytes: u64) -> String {
    format!("soft heap limit {megabytes} MB")
}

fn work_name(page_size: u64) -> String {
    format!("{} kB pages", page_size / KB)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArmExtent {
    /// Every cure, logs, and etui.
    Full,
    /// Those that matter to a file system, logs, and etui.
    Card,
    /// Those that matter to a file system, and logs.
    Guest,
    /// Those that depend on the page size.
    Pages,
}

fn sync_arms(page_size: u64, tracks: u64, extent: ArmExtent) -> Vec<Arm> {
    let (full, lasting) = (extent == ArmExtent::Full, extent != ArmExtent::Pages);
    let guest = extent == ArmExtent::Guest;
    let (found_resting, resting) = (64 * KB, resting_size(page_size));
    let (found_buffer, buffer) = (8 * KB, buffer_size(page_size));
    // As the study found it; an arm changes some of these. The journal rests at 0 if it is as long
    // as it ever was.
    let found = format!(
        "page_size={page_size} tracks={tracks} limit={MB} resting={found_resting} growth=0 \
         buffer={found_buffer} coalesce=0"
    );
    let mut arms = Vec::new();
    let mut add = |wanted: bool, name: &str, role, changes: &str| {
        if wanted {
            arms.push(Arm::new(name, role, &*format!("{found} {changes}")));
        }
    };
    add(true, AS_FOUND, ArmRole::AsFound, "");
    for megabytes in LIMITS {
        let limit = format!("limit={}", megabytes * MB);
        add(
            full || megabytes == 8,
            &limit_arm(megabytes),
            ArmRole::Cure,
            &limit,
        );
    }
    let (by_formula, grown) = (format!("resting={resting}"), format!("growth={MB}"));
    let (buffered, coalesced) = (format!("buffer={buffer}"), format!("coalesce={}", 512 * KB));
    // A rule that gives the value as found would repeat that arm.
    add(
        full || resting != found_resting,
        FORMULA,
        ArmRole::Cure,
        &by_formula,
    );
    add(true, ENOUGH, ArmRole::Cure, "resting=0");
    add(lasting, GROWTH, ArmRole::Cure, &grown);
    let wanted = buffer != found_buffer && (full || !lasting);
    add(wanted, BUFFER, ArmRole::Cure, &buffered);
    add(lasting, COALESCE, ArmRole::Cure, &coalesced);
    let limit = format!("limit={}", 8 * MB);
    let all = format!("{limit} resting=0 {grown} {buffered} {coalesced}");
    add(true, ALL, ArmRole::AllCures, &all);
    for (name, role, changes) in [
        (WAL, ArmRole::Peer, "log=wal apart"),
        (REDO, ArmRole::Etui, "log=redo apart"),
        (
            LOGGED,
            ArmRole::Variant,
            "log=redo apart options=append=18446744073709551615",
        ),
        (
            PAGEWISE,
            ArmRole::Variant,
            "log=redo apart options=gather=0",
        ),
        (REDO_BY_ITSELF, ArmRole::Variant, "log=redo"),
    ] {
        let wanted = lasting && !(guest && role == ArmRole::Cure);
        add(wanted, name, role, &format!("{limit} {changes}"));
    }
    add(lasting && !guest, ETUI, ArmRole::Etui, "etui");
    add(lasting && !guest, ETUI_REDO, ArmRole::Etui, "etui etui-vfs");
    arms
}

struct SyncWork<'a> {
    settings: &'a ArmSettings,
    tracks: u64,
    batches: u64,
}

impl SyncWork<'_> {
    /// Makes batch `n`: new tracks with their pictures.
    fn make_batch(&self, n: u64) -> Vec<(Track, Picture)> {
        let first = self.tracks + n * BATCH;
        let tracks = (first..first + BATCH).map(Track::number);
        tracks
            .map(|track| (track.clone(), track.picture()))
            .collect()
    }
}

/// Records how much room the database files of a run have on their file system.
fn record_room(recorder: &mut Recorder) -> Result<(), Error> {
    let dir = recorder.dir().to_owned();
    let mut blocks = 0;
    for entry in fs::read_dir(&dir).map_err(|e| Error::file(&dir, e))? {
        let entry = entry.map_err(|e| Error::file(&dir, e))?;
        let file = entry.metadata().map_err(|e| Error::file(entry.path(), e))?;
        if file.is_file() {
            blocks += file.blocks();
        }
    }
    recorder.record("sync/allocated_bytes", blocks as f64 * 512.0);
    Ok(())
}

impl Experiment for MediaSync {
    fn experiment_info(&self) -> ExperimentInfo {
        static ABOUT: AboutText = AboutText::new(include_str!("about.md"));
        ABOUT.info(NAME, Some(Study::MusicSync))
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let mut plan = RunPlan::default();
        let (tracks, batches) = (lab.value("tracks"), lab.value("batches"));
        for stack in plan.keep_available(lab, STACKS) {
            let here = stack == stacks::HERE;
            for &page_size in lab.values("page-sizes") {
                if !page_size.is_power_of_two() || !(512..=65_536).contains(&page_size) {
                    return Err(Error::Usage(format!(
                        "SQLite has no pages of {page_size} bytes: give powers of two, 512 to 65536"
                    )));
                }
                let main = page_size == PAGE_SIZE;
                if !here && (!main || (lab.quick() && stack == "ext4")) {
                    continue;
                }
                let guest = stacks::is_guest(stack);
                // An emulated processor, and a card that writes 10 MB a second.
                let (tracks, batches) = match guest {
                    true => (tracks.min(MAX_GUEST_TRACKS), batches.min(MAX_GUEST_BATCHES)),
                    false => (tracks, batches),
                };
                let extent = match (main, here || !lab.quick()) {
                    (false, _) => ArmExtent::Pages,
                    (true, _) if guest => ArmExtent::Guest,
                    (true, true) => ArmExtent::Full,
                    (true, false) => ArmExtent::Card,
                };
                let arms = sync_arms(page_size, tracks, extent);
                if guest {
                    plan.skip(
                        format!("{ETUI} on {stack}"),
                        "its files and covers would take an emulated processor minutes",
                    );
                }
                plan.groups.push(ArmGroup {
                    repetitions: match (lab.quick(), main && here) {
                        (true, false) => 1,
                        (false, false) if guest => 1,
                        (true, true) | (false, false) => 3,
                        (false, true) => 5,
                    },
                    counted: !here,
                    syscalls: here && main,
                    seconds: 0.1 * batches as f64,
                    ..ArmGroup::new(work_name(page_size), stack, batches, arms)
                });
            }
        }
        let etui = format!("tracks={tracks} etui decodes");
        let arms = [(ETUI, ""), (ETUI_REDO, "etui-vfs")].map(|(name, more)| {
            let settings = format!("{etui} {more}");
            Arm::new(name, ArmRole::Etui, &*settings)
        });
        plan.groups.push(ArmGroup {
            repetitions: if lab.quick() { 3 } else { 5 },
            syscalls: true,
            seconds: 0.3 * batches as f64,
            ..ArmGroup::new(DECODING, stacks::HERE, batches, arms.to_vec())
        });
        Ok(plan)
    }

    fn set_up(&self, group: &ArmGroup, dir: &Path) -> Result<(), Error> {
        let is_etui = |arm: &&Arm| arm.settings.is("etui");
        if let Some(arm) = group.arms.iter().find(is_etui) {
            scans::set_up(dir, arm.settings.number("tracks")?, group.size)?;
        }
        if let Some(arm) = group.arms.iter().find(|arm| !is_etui(arm)) {
            let (page_size, tracks) = (
                arm.settings.number("page_size")?,
                arm.settings.number("tracks")?,
            );
            sqlite::set_up(&dir.join("library.db"), page_size, tracks)?;
        }
        Ok(())
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        let work = SyncWork {
            settings: &case.settings,
            tracks: case.settings.number("tracks")?,
            batches: case.size,
        };
        if case.settings.is("etui") {
            return scans::scan_batches(&work, recorder);
        }
        let to = copy_shared(recorder, "library.db", "library.db")?;
        let synced = fs::File::open(&to).and_then(|file| file.sync_all());
        synced.map_err(|e| Error::file(&to, e))?;
        sqlite::sync_tracks(&work, recorder)
    }

    fn report_spec(&self, results: &Results) -> ReportSpec {
        report::report_spec(results)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_study_s_rules() {
        assert_eq!(
            [1024, 4096, 8192, 65_536].map(resting_size),
            [64 * KB, 64 * KB, 128 * KB, 512 * KB]
        );
        assert_eq!(
            [1024, 2048, 4096, 16_384].map(buffer_size),
            [8 * KB, 8 * KB, 16 * KB, 64 * KB]
        );
    }
}
