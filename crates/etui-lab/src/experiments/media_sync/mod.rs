//! `media-sync`: batches of metadata and album art, as a phone gets them from a PC (study 1).

mod contacts;
mod library;
mod log;
mod report;
mod sqlite;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use self::library::{BATCH, Track};
use crate::{
    Arm, ArmGroup, ArmRole, ArmSettings, Error, Experiment, ExperimentInfo, LabContext, NotRun,
    Parameter, PublishedResult, Recorder, ReportSpec, Results, RunCase, RunPlan, Study, stacks,
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
/// The study's settings through the VFS, and its older cures one by one: options, and the soft
/// heap limit in megabytes.
const OLDER: [(&str, &str, u64); 6] = [
    ("etui-vfs, journal: as found", "", 1),
    (
        "etui-vfs, journal: rests by the formula",
        "journal_rests=1",
        1,
    ),
    (
        "etui-vfs, journal: database grows in steps",
        "database_step=1048576",
        1,
    ),
    (
        "etui-vfs, journal: buffer of 4 pages, read ahead",
        "read_buffer=16384",
        1,
    ),
    (
        "etui-vfs, journal: write-back consolidated",
        "write_back=524288",
        1,
    ),
    (
        "etui-vfs, journal: all cures",
        "database_step=1048576 read_buffer=16384 write_back=524288",
        8,
    ),
];
const ETUI: &str = "etui, as contacts with photos";

/// The soft heap limits that are tried as cures, megabytes.
const LIMITS: [u64; 4] = [2, 4, 8, 16];
/// The page size at which every cure is tried alone.
const PAGE_SIZE: u64 = 4096;
/// The card file systems, and a file system of today, when root.
const STACKS: [&str; 4] = [stacks::HERE, "vfat", "exfat", "ext4"];

/// The experiment.
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

/// As the study found it; a cure changes one of these.
#[derive(Debug, Clone, Copy)]
struct SqliteTuning {
    page_size: u64,
    limit: u64,
    /// 0: as long as it ever was.
    resting: u64,
    growth: u64,
    buffer: u64,
    coalesce: u64,
}

impl SqliteTuning {
    fn as_found(page_size: u64) -> Self {
        Self {
            page_size,
            limit: MB,
            resting: 64 * KB,
            growth: 0,
            buffer: 8 * KB,
            coalesce: 0,
        }
    }

    fn arm(self, name: impl Into<String>, role: ArmRole, tracks: u64) -> Arm {
        let settings = ArmSettings::new()
            .with("page_size", self.page_size)
            .with("tracks", tracks)
            .with("limit", self.limit)
            .with("resting", self.resting)
            .with("growth", self.growth)
            .with("buffer", self.buffer)
            .with("coalesce", self.coalesce);
        Arm::new(name, role, settings)
    }
}

/// Which arms a group has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArmExtent {
    /// Every cure, logs, and etui.
    Full,
    /// Those that matter to a file system, logs, and etui.
    Card,
    /// Those that depend on the page size.
    Pages,
}

fn sync_arms(page_size: u64, tracks: u64, extent: ArmExtent) -> Vec<Arm> {
    let found = SqliteTuning::as_found(page_size);
    let full = extent == ArmExtent::Full;
    let mut arms = vec![found.arm(AS_FOUND, ArmRole::AsFound, tracks)];
    let mut cure = |wanted: bool, name: &str, tuning: SqliteTuning| {
        if wanted {
            arms.push(tuning.arm(name, ArmRole::Cure, tracks));
        }
    };
    for megabytes in LIMITS {
        let tuning = SqliteTuning {
            limit: megabytes * MB,
            ..found
        };
        cure(full || megabytes == 8, &limit_arm(megabytes), tuning);
    }
    // A rule that gives the value as found would repeat that arm.
    let resting = resting_size(page_size);
    cure(
        full || resting != found.resting,
        FORMULA,
        SqliteTuning { resting, ..found },
    );
    cure(
        true,
        ENOUGH,
        SqliteTuning {
            resting: 0,
            ..found
        },
    );
    let lasting = extent != ArmExtent::Pages;
    cure(
        lasting,
        GROWTH,
        SqliteTuning {
            growth: MB,
            ..found
        },
    );
    let pages = buffer_size(page_size);
    let wanted = pages != found.buffer && extent != ArmExtent::Card;
    cure(
        wanted,
        BUFFER,
        SqliteTuning {
            buffer: pages,
            ..found
        },
    );
    let coalesce = 512 * KB;
    cure(lasting, COALESCE, SqliteTuning { coalesce, ..found });
    let all = SqliteTuning {
        limit: 8 * MB,
        resting: 0,
        growth: MB,
        buffer: pages,
        coalesce,
        ..found
    };
    arms.push(all.arm(ALL, ArmRole::AllCures, tracks));
    if lasting {
        let log = |limit: u64, redo: bool, options: &str| {
            ArmSettings::new()
                .with("page_size", page_size)
                .with("tracks", tracks)
                .with("limit", limit * MB)
                .with("log", true)
                .with("redo", redo)
                .with("options", options)
        };
        for (name, role, redo, apart, options) in [
            (WAL, ArmRole::Peer, false, true, ""),
            (REDO, ArmRole::Etui, true, true, ""),
            (
                LOGGED,
                ArmRole::Cure,
                true,
                true,
                "append=18446744073709551615",
            ),
            (PAGEWISE, ArmRole::Cure, true, true, "gather=0"),
            (REDO_BY_ITSELF, ArmRole::Etui, true, false, ""),
        ] {
            let settings = log(8, redo, options).with("checkpoints_apart", apart);
            arms.push(Arm::new(name, role, settings));
        }
        for (name, options, limit) in OLDER {
            let cut = limit == 1 && options != "journal_rests=1";
            let settings = log(limit, true, options)
                .with("rollback", true)
                .with("resting", if cut { 64 * KB } else { 0 });
            arms.push(Arm::new(name, ArmRole::Cure, settings));
        }
        let settings = ArmSettings::new()
            .with("page_size", page_size)
            .with("tracks", tracks)
            .with("etui", true);
        arms.push(Arm::new(ETUI, ArmRole::Etui, settings));
    }
    arms
}

/// Work of an arm.
struct SyncWork<'a> {
    settings: &'a ArmSettings,
    tracks: u64,
    batches: u64,
}

/// Makes the batches.
struct BatchSource {
    next: u64,
}

impl BatchSource {
    fn new(work: &SyncWork<'_>) -> Self {
        Self { next: work.tracks }
    }

    /// The next tracks with their pictures.
    fn next(&mut self) -> Vec<(Track, Vec<u8>)> {
        let first = self.next;
        self.next += BATCH;
        (first..self.next)
            .map(|id| {
                let track = Track::number(id);
                let picture = track.picture();
                (track, picture)
            })
            .collect()
    }
}

/// Records how much room all files of a run have on their file system.
fn record_room(recorder: &mut Recorder) -> Result<(), Error> {
    let dir = recorder.dir().to_owned();
    let mut blocks = 0;
    for entry in fs::read_dir(&dir).map_err(|e| Error::file(&dir, e))? {
        let entry = entry.map_err(|e| Error::file(&dir, e))?;
        let file = entry.metadata().map_err(|e| Error::file(entry.path(), e))?;
        blocks += file.blocks();
    }
    recorder.record("sync/allocated_bytes", blocks as f64 * 512.0);
    Ok(())
}

impl Experiment for MediaSync {
    fn experiment_info(&self) -> ExperimentInfo {
        ExperimentInfo {
            name: NAME,
            title: "Album art and metadata in batches of 60, as a phone got them from a PC",
            study: Some(Study::MusicSync),
            question: "What do a small cache, a journal that is cut and lengthened again, and \
                growth page by page cost when pictures come in batches?",
            method: "A library of tracks with four indexes gets batches of 60 tracks with album \
                art, 1.7 to 2.5 MB, one transaction each: for each track its metadata, the \
                picture, the metadata once more. Before the first batch that counts, all metadata \
                is written once (a scan of the card) and one batch is added. SQLite goes through \
                a VFS that counts what reaches the file system and makes the cures that lie below \
                SQLite. As found: soft heap limit 1 MB, rollback journal that rests at 64 kB \
                (PERSIST), buffer of 8 kB for reading the database. Memory statistics are on, as the soft heap limit \
                needs them; the cache has no other bound. One connection stands for the phone's \
                shared cache, and the kernel's page cache lies below everything, which the phone \
                did not have. The journal `as long as it was` is never cut: the scan has made it \
                as long as any batch needs. Consolidated write-back has a buffer of 512 kB for \
                each file; growth goes in steps of 1 MB. All cures: 8 MB, journal never cut, and \
                the rest. Beside the study's settings SQLite's write-ahead log is tried, with the \
                limit of 8 MB: by itself, and, unmodified, through etui's VFS, where a batch is \
                one record in a redo log that rests at 4 MB. Their time is up to the commit; \
                each batch is then written back as a phase of its own, and both are shown \
                together, beside a run that leaves that to SQLite. etui keeps contacts so far, not music: the same tracks as cards, \
                pictures as photos in base64, which are a third larger; it has its own cache, \
                log and limits, and indexes for searching that the others lack.",
            same_answer: "A digest of titles, artists, albums and pictures of all tracks, read \
                back through a new connection.",
            found: FIGURES,
            parameters: &[
                Parameter {
                    name: "page-sizes",
                    about: "bytes in a page; every cure is tried at 4096",
                    quick: &[4096, 1024, 2048, 8192, 16_384],
                    full: &[4096, 1024, 2048, 8192, 16_384],
                },
                Parameter {
                    name: "batches",
                    about: "batches of 60 tracks",
                    quick: &[6],
                    full: &[12],
                },
                Parameter {
                    name: "tracks",
                    about: "tracks in the library beforehand",
                    quick: &[1_200],
                    full: &[2_400],
                },
            ],
        }
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let mut plan = RunPlan::default();
        let (tracks, batches) = (lab.value("tracks"), lab.value("batches"));
        for stack in STACKS {
            if let Err(reason) = lab.stack(stack) {
                let what = format!("stack {stack}");
                plan.not_run.push(NotRun { what, reason });
                continue;
            }
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
                let extent = match (main, here || !lab.quick()) {
                    (false, _) => ArmExtent::Pages,
                    (true, true) => ArmExtent::Full,
                    (true, false) => ArmExtent::Card,
                };
                plan.groups.push(ArmGroup {
                    work: work_name(page_size),
                    stack: stack.to_owned(),
                    size: batches,
                    repetitions: match (lab.quick(), main && here) {
                        (true, false) => 1,
                        (true, true) | (false, false) => 3,
                        (false, true) => 5,
                    },
                    counted: !here,
                    syscalls: here && main,
                    arms: sync_arms(page_size, tracks, extent),
                    seconds: 0.1 * batches as f64,
                    ..ArmGroup::default()
                });
            }
        }
        Ok(plan)
    }

    fn set_up(&self, group: &ArmGroup, dir: &Path) -> Result<(), Error> {
        for arm in &group.arms {
            let tracks = arm.settings.number("tracks")?;
            if arm.settings.is("etui") {
                contacts::set_up(&dir.join("library.etui"), tracks)?;
            } else if !dir.join("library.db").exists() {
                let page_size = arm.settings.number("page_size")?;
                sqlite::set_up(&dir.join("library.db"), page_size, tracks)?;
            }
        }
        Ok(())
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        let etui = case.settings.is("etui");
        let name = if etui { "library.etui" } else { "library.db" };
        let (from, to) = (recorder.shared().join(name), recorder.dir().join(name));
        fs::copy(&from, &to).map_err(|e| Error::file(&from, e))?;
        let synced = fs::File::open(&to).and_then(|file| file.sync_all());
        synced.map_err(|e| Error::file(&to, e))?;
        let work = SyncWork {
            settings: &case.settings,
            tracks: case.settings.number("tracks")?,
            batches: case.size,
        };
        if etui {
            contacts::sync_contacts(&work, recorder)
        } else if case.settings.is("log") {
            log::sync_log(&work, recorder)
        } else {
            sqlite::sync_sqlite(&work, recorder)
        }
    }

    fn report_spec(&self, results: &Results) -> ReportSpec {
        report::report_spec(results)
    }
}

const FIGURES: &[PublishedResult] = &[
    PublishedResult {
        finding: "the 1 MB soft heap limit is smaller than one batch: dirty pages spill and are \
                  written more than once, in random order",
        cure: "limit raised to 8 MB: a whole batch stays in memory",
        figure: "music sync takes 20 % less time",
    },
    PublishedResult {
        finding: "the 8 kB file buffer holds too few pages at large page sizes (not one of 16 kB)",
        cure: "the buffer holds at least 4 pages; read-ahead is a multiple of the page size",
        figure: "-",
    },
    PublishedResult {
        finding: "every page appended out of order resizes the file",
        cure: "the resize is deferred until pages are really written",
        figure: "-",
    },
    PublishedResult {
        finding: "the journal rests at 64 kB but grows to 150 kB or more: its clusters are freed \
                  and allocated again in every batch",
        cure: "it rests at min(16 pages, 512 kB), never under 64 kB",
        figure: "committing one batch took about 700 ms, of it 200-300 ms FAT updates; after the \
                 cure none in the steady state",
    },
    PublishedResult {
        finding: "writing back 2.5 MB of new pages updates the FAT many times",
        cure: "cluster allocations are consolidated during write-back",
        figure: "-",
    },
];

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
