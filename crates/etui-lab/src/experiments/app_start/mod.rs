//! `app-start`: how an application's initial data gets into its memory, and how soon the first
//! screen of a contact list is there (study 5).

mod cold;
mod data;
mod methods;
mod report;
mod screen;

use std::path::Path;

use self::methods::{LoadMethod, StartedData};
use self::screen::ScreenProgram;
use crate::measure::process::ProcessMemory;
use crate::peers::eds;
use crate::{
    Arm, ArmGroup, ArmRole, ArmSettings, Error, Experiment, ExperimentInfo, LabContext, NotRun,
    Parameter, PublishedResult, Recorder, ReportSpec, Results, RunCase, RunPlan, Study, stacks,
};

const NAME: &str = "app-start";

const READ: &str = "read";
const WRITTEN: &str = "written";
const SCREEN: &str = "first screen";

/// The file systems that the study's question is asked of, besides the current one.
const FILE_SYSTEMS: [&str; 5] = ["ext4", "squashfs", "erofs", "xfs", "btrfs"];
/// The part that is used where only one is tried.
const HALF: u64 = 50;

/// The experiment.
pub struct AppStart;

impl Experiment for AppStart {
    fn experiment_info(&self) -> ExperimentInfo {
        ExperimentInfo {
            name: NAME,
            title: "Initial data into memory: read, mapped, taken over; and the first screen",
            study: Some(Study::ApplicationStart),
            question: "What is the quickest way to an application's initial data when only a part \
                       of it is used, and what does it cost in page faults and memory?",
            method: "A file of initial data, by default 64 MB, of each page of which one half is \
                random and one repeats a text, so that compressing file systems halve it. It is \
                used to 10, 50 or 100 %: runs of 64 kB, drawn once and spread over the file, are \
                gone through from front to back; a word in each 512 bytes is added up. In the \
                variants `written`, one byte of each used page is written as well, in the \
                process's own memory; the study's takeover is for such data. Time is from opening \
                the file until all was used. Cold: the file, and as root the whole page cache, is \
                put out of memory before (what was read from the device shows that it was); the \
                device, and below a virtual machine its host, may still hold it. Warm: after the \
                file was read once. Direct reads go to the device in any case. The study's \
                takeover, a patch that made the page of the cache the process's own without a \
                copy, is not in today's kernel: here it is a private mapping whose pages are \
                copied at once, populated for writing, whole or in the part that is used. Faults \
                are counted as the kernel counts them: pages that are populated count as faults \
                though the program never stops for them one by one. Memory is what the process \
                has more at the end. First screen: a program is started that opens a store of \
                contacts and prints the names of the first 50; time is from before it is \
                made until the last name was read, and until it has ended. Plain SQLite does \
                so twice: by itself, and through etui's VFS, which takes the file for its \
                process alone and looks for a redo log first. Evolution Data \
                Server's cold start is that in a new session, which starts the server's \
                processes; its warm one is a second client beside them.",
            same_answer: "The sum of the words that were looked at. For the first screen, the \
                names; of Evolution Data Server, which sorts by other rules, their number.",
            found: FIGURES,
            parameters: &[
                Parameter {
                    name: "megabytes",
                    about: "the size of the initial data",
                    quick: &[64],
                    full: &[64],
                },
                Parameter {
                    name: "used",
                    about: "the part of it that is used, per cent",
                    quick: &[10, 50, 100],
                    full: &[10, 25, 50, 75, 100],
                },
                Parameter {
                    name: "contacts",
                    about: "contacts in the store whose first screen is shown",
                    quick: &[12_800],
                    full: &[12_800, 102_400],
                },
            ],
        }
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let mut plan = RunPlan::default();
        let megabytes = lab.value("megabytes");
        for stack in [stacks::HERE, stacks::RAM].into_iter().chain(FILE_SYSTEMS) {
            if let Err(reason) = lab.stack(stack) {
                plan.not_run.push(NotRun {
                    what: format!("stack {stack}"),
                    reason,
                });
                continue;
            }
            let here = stack == stacks::HERE;
            let one = [HALF];
            let percents = match !here && lab.quick() {
                true => &one,
                false => lab.values("used"),
            };
            let every = here || !lab.quick();
            for &percent in percents {
                for work in [READ, WRITTEN] {
                    plan.groups.push(ArmGroup {
                        work: work.to_owned(),
                        stack: stack.to_owned(),
                        size: percent,
                        repetitions: match (lab.quick(), here) {
                            (true, false) => 2,
                            _ => 5,
                        },
                        arms: method_arms(work, megabytes, every),
                        seconds: 0.3,
                        ..ArmGroup::default()
                    });
                }
            }
            if stack == stacks::RAM {
                plan.not_run.push(NotRun {
                    what: "cold starts from the RAM disk".to_owned(),
                    reason: "data in memory is never cold".to_owned(),
                });
            }
        }
        let server = eds::available(eds::Server::AddressBook);
        if let Err(reason) = &server {
            plan.not_run.push(NotRun {
                what: "first screen of Evolution Data Server".to_owned(),
                reason: reason.clone(),
            });
        }
        for &contacts in lab.values("contacts") {
            plan.groups.push(ArmGroup {
                work: SCREEN.to_owned(),
                stack: stacks::HERE.to_owned(),
                size: contacts,
                repetitions: if lab.quick() { 3 } else { 5 },
                arms: screen_arms(server.is_ok()),
                seconds: 0.5,
                ..ArmGroup::default()
            });
        }
        Ok(plan)
    }

    fn set_up(&self, group: &ArmGroup, dir: &Path) -> Result<(), Error> {
        if group.work == SCREEN {
            return screen::set_up(group, dir);
        }
        let megabytes = group
            .arms
            .first()
            .map_or(Ok(0), |arm| arm.settings.number("megabytes"))?;
        data::write_data(&dir.join(data::SMALL), data::SMALL_RUNS)?;
        data::write_data(&dir.join(data::FILE), run_count(megabytes)?)
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        if case.work == SCREEN {
            return screen::run(ScreenProgram::named(&case.arm)?, recorder);
        }
        let method = LoadMethod::named(&case.arm)?;
        let write = case.work == WRITTEN;
        let file = recorder.shared().join(data::FILE);

        // Loads the program's own pages.
        let small = recorder.shared().join(data::SMALL);
        drop(method.start(&small, &data::used_runs(data::SMALL_RUNS, 100), write)?);

        let used = data::used_runs(run_count(case.settings.number("megabytes")?)?, case.size);
        let mut sums = Vec::new();
        if case.stack != stacks::RAM {
            cold::evict_cache(&file)?;
            sums.push(measure_start(recorder, "cold", || {
                method.start(&file, &used, write)
            })?);
        }
        cold::warm_cache(&file)?;
        sums.push(measure_start(recorder, "warm", || {
            method.start(&file, &used, write)
        })?);
        let sum = match sums.as_slice() {
            [one] => *one,
            [one, other] if one == other => *one,
            _ => return Err(Error::other("the data was another the second time")),
        };
        recorder.answer(sum.to_le_bytes());
        Ok(())
    }

    fn report_spec(&self, results: &Results) -> ReportSpec {
        report::report_spec(results)
    }
}

/// Loads the data, and measures time, faults, device reads and memory.
fn measure_start(
    recorder: &mut Recorder,
    phase: &str,
    start: impl FnOnce() -> Result<StartedData, Error>,
) -> Result<u64, Error> {
    let pid = std::process::id();
    let (bytes, memory) = (cold::device_bytes(), ProcessMemory::of(pid)?);
    let started = recorder.phase(phase, start)?;
    let (read, held) = (cold::device_bytes() - bytes, ProcessMemory::of(pid)?);
    let more = |now: u64, then: u64| now.saturating_sub(then) as f64;
    for (measure, value) in [
        ("block_read_bytes", read),
        ("rss_bytes", more(held.rss, memory.rss)),
        (
            "private_dirty_bytes",
            more(held.private_dirty, memory.private_dirty),
        ),
    ] {
        recorder.record(&format!("{phase}/{measure}"), value);
    }
    Ok(started.sum)
}

fn run_count(megabytes: u64) -> Result<usize, Error> {
    let bytes = usize::try_from(megabytes << 20)
        .ok()
        .filter(|bytes| *bytes > 0 && megabytes <= 1 << 14);
    bytes
        .map(|bytes| bytes / data::RUN)
        .ok_or_else(|| Error::Usage("`megabytes` should be 1 to 16384".to_owned()))
}

/// The methods of a work: all, or those that the study compares.
fn method_arms(work: &str, megabytes: u64, every: bool) -> Vec<Arm> {
    let (methods, few): (&[LoadMethod], &[LoadMethod]) = match work {
        READ => (
            &LoadMethod::READ,
            &[
                LoadMethod::ReadAll,
                LoadMethod::ReadUsed,
                LoadMethod::Map,
                LoadMethod::MapUsedPopulated,
                LoadMethod::RingDirect,
            ],
        ),
        _ => (
            &LoadMethod::WRITTEN,
            &[
                LoadMethod::ReadAll,
                LoadMethod::PrivateReadFirst,
                LoadMethod::UsedTakenOver,
            ],
        ),
    };
    methods
        .iter()
        .filter(|method| every || few.contains(method))
        .map(|method| {
            let role = match method {
                LoadMethod::ReadAll => ArmRole::AsFound,
                LoadMethod::MapUsedPopulated | LoadMethod::UsedTakenOver => ArmRole::AllCures,
                _ => ArmRole::Cure,
            };
            let settings = ArmSettings::new().with("megabytes", megabytes);
            Arm::new(method.name(), role, settings)
        })
        .collect()
}

/// Returns the programs that show a first screen.
fn screen_arms(server: bool) -> Vec<Arm> {
    ScreenProgram::ALL
        .into_iter()
        .filter(|who| server || !matches!(who, ScreenProgram::Eds(_)))
        .map(|who| {
            let role = match who {
                ScreenProgram::Etui => ArmRole::Etui,
                ScreenProgram::Plain | ScreenProgram::PlainRedo | ScreenProgram::Eds(_) => {
                    ArmRole::Peer
                }
            };
            Arm::new(who.name(), role, ArmSettings::new())
        })
        .collect()
}

/// The study's own figures.
const FIGURES: &[PublishedResult] = &[
    PublishedResult {
        finding: "read() into memory reads and copies all of the initial data",
        cure: "map the file: pages come on demand",
        figure: "4.420 s with read(), 3.995 s with mmap (10 % less; CompactFlash, ext3)",
    },
    PublishedResult {
        finding: "a mapped page that is written later costs a second fault and a copy",
        cure: "takeover: the cached page becomes the process's own at the first fault",
        figure: "3.959 s (0.04 s less), 317 page faults instead of 496",
    },
    PublishedResult {
        finding: "a compressed read-only file system is no slower",
        cure: "squashfs",
        figure: "4.002 s with takeover (3.959 s on ext3)",
    },
    PublishedResult {
        finding: "copying the image to a RAM disk first does not pay",
        cure: "read at start only what is used at start",
        figure: "3.336 s + 1.212 s copy + 0.041 s mount = 4.588 s",
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;
    use crate::{MeasurePass, RunLocation};

    /// Every method, cold and warm, at a small size: the answers must agree.
    #[test]
    fn all_methods_give_the_same_answer() {
        let root = tempfile::tempdir_in(".").unwrap();
        let shared = root.path().join("shared");
        fs::create_dir(&shared).unwrap();
        let set = BTreeMap::from([
            ("megabytes".to_owned(), vec![2]),
            ("used".to_owned(), vec![40]),
        ]);
        let lab = LabContext::new(&AppStart.experiment_info(), true, &set).unwrap();
        let plan = AppStart.plan_run(&lab).unwrap();
        let groups: Vec<&ArmGroup> = plan
            .groups
            .iter()
            .filter(|group| group.stack == "here" && group.work != SCREEN)
            .collect();
        assert_eq!(groups.len(), 2);
        AppStart.set_up(groups[0], &shared).unwrap();

        let mut answers = BTreeMap::new();
        for group in groups {
            for arm in &group.arms {
                let place = RunLocation {
                    dir: root.path().to_owned(),
                    shared: shared.clone(),
                    devices: Vec::new(),
                    traced: false,
                };
                let case = group.make_case(NAME, arm, MeasurePass::Timed, 0);
                let mut recorder = Recorder::new(place, MeasurePass::Timed);
                match AppStart.run_case(&case, &mut recorder) {
                    Err(Error::NotRun(reason)) => {
                        eprintln!("{}: {reason}", arm.name);
                        continue;
                    }
                    done => done.unwrap(),
                }
                let (measures, answer) = recorder.finish();
                assert!(measures["cold/wall_ns"] > 0.0 && measures["warm/wall_ns"] > 0.0);
                let expected = answers.entry(group.size).or_insert(answer.clone());
                assert_eq!(*expected, answer, "{} at {} %", arm.name, group.size);
            }
        }
        assert_eq!(answers.len(), 1);
    }

    #[test]
    fn sizes_are_checked() {
        assert_eq!(run_count(64).unwrap(), 1_024);
        assert!(run_count(0).is_err());
        assert!(run_count(u64::MAX).is_err());
    }
}
