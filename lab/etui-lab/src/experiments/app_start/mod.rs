//! `app-start`: how an application's initial data gets into its memory, and how soon the first
//! screen of a contact list is there (study 5).

mod card;
mod cold;
mod copied;
mod data;
mod methods;
mod report;
mod screen;

use std::path::Path;

use self::methods::{LoadMethod, StartedData};
use super::about::AboutText;
use crate::measure::process::ProcessMemory;
use crate::peers::eds;
use crate::{
    Arm, ArmGroup, ArmRole, Error, Experiment, ExperimentInfo, LabContext, Recorder, ReportSpec,
    Results, RunCase, RunPlan, Study, stacks,
};

const NAME: &str = "app-start";

const READ: &str = "read";
const WRITTEN: &str = "written";
const SCREEN: &str = "first screen";

/// The file systems that the study's question is asked of, besides the current one.
const FILE_SYSTEMS: [&str; 5] = ["ext4", "squashfs", "erofs", "xfs", "btrfs"];
/// A slow card in a virtual machine.
const CARD: &str = "vm-sd-card";
/// The part that is used where only one is tried.
const HALF: u64 = 50;

pub struct AppStart;

impl Experiment for AppStart {
    fn experiment_info(&self) -> ExperimentInfo {
        static ABOUT: AboutText = AboutText::new(include_str!("about.md"));
        ABOUT.info(NAME, Some(Study::ApplicationStart))
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let mut plan = RunPlan::default();
        let megabytes = lab.value("megabytes");
        let stacks = [stacks::HERE, stacks::RAM].into_iter().chain(FILE_SYSTEMS);
        let available = plan.keep_available(lab, stacks);
        for &stack in &available {
            let here = stack == stacks::HERE;
            let one = [HALF];
            let percents = match !here && lab.quick() {
                true => &one,
                false => lab.values("used"),
            };
            let every = here || !lab.quick();
            for &percent in percents {
                for work in [READ, WRITTEN] {
                    let mut arms = method_arms(work, megabytes, every);
                    if stack == copied::STACK && work == WRITTEN {
                        arms.push(copied::arm(megabytes));
                    }
                    plan.groups.push(ArmGroup {
                        repetitions: match (lab.quick(), here) {
                            (true, false) => 2,
                            _ => 5,
                        },
                        seconds: 0.3,
                        ..ArmGroup::new(work, stack, percent, arms)
                    });
                }
            }
            if stack == stacks::RAM {
                plan.skip(
                    "cold starts from the RAM disk",
                    "data in memory is never cold",
                );
            }
        }
        let server = eds::available(eds::Server::AddressBook);
        if let Err(reason) = &server {
            plan.skip("first screen of Evolution Data Server", reason);
        }
        // On a device of its own the requests can be counted.
        let screens = [stacks::HERE, screen::COUNTED];
        for stack in screens.into_iter().filter(|at| available.contains(at)) {
            for &contacts in lab.values("contacts") {
                let arms = screen::screen_arms(server.is_ok() && stack == stacks::HERE);
                plan.groups.push(ArmGroup {
                    repetitions: if lab.quick() { 3 } else { 5 },
                    seconds: 0.5,
                    ..ArmGroup::new(SCREEN, stack, contacts, arms)
                });
            }
        }
        for stack in plan.keep_available(lab, [CARD]) {
            for &contacts in lab.values("contacts") {
                plan.groups.push(ArmGroup {
                    repetitions: 3,
                    seconds: 3.0,
                    ..ArmGroup::new(SCREEN, stack, contacts, screen::screen_arms(false))
                });
            }
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
            return screen::run(&case.settings, recorder);
        }
        let method = match case.settings.is(copied::SETTING) {
            true => copied::METHOD,
            false => LoadMethod::named(&case.arm)?,
        };
        let write = case.work == WRITTEN;
        let file = recorder.shared().join(data::FILE);

        // Loads the program's own pages.
        let small = recorder.shared().join(data::SMALL);
        drop(method.start(&small, &data::used_runs(data::SMALL_RUNS, 100), write)?);

        let used = data::used_runs(run_count(case.settings.number("megabytes")?)?, case.size);
        if case.settings.is(copied::SETTING) {
            return copied::run(recorder, method, &used);
        }
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
        answer_sum(recorder, &sums)
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

/// Answers the sum that every start gave.
fn answer_sum(recorder: &mut Recorder, sums: &[u64]) -> Result<(), Error> {
    let sum = match sums {
        [one] => *one,
        [one, other] if one == other => *one,
        _ => return Err(Error::other("the data was another the second time")),
    };
    recorder.answer(sum.to_le_bytes());
    Ok(())
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
    let few: &[LoadMethod] = match work {
        READ => &[
            LoadMethod::ReadAll,
            LoadMethod::ReadUsed,
            LoadMethod::Map,
            LoadMethod::MapUsedPopulated,
            LoadMethod::RingDirect,
        ],
        _ => &[
            LoadMethod::ReadAll,
            LoadMethod::PrivateReadFirst,
            LoadMethod::UsedTakenOver,
        ],
    };
    let methods = LoadMethod::list(work == WRITTEN);
    let methods = methods.filter(|method| every || few.contains(method));
    let arms = methods.map(|method| {
        let role = match method {
            LoadMethod::ReadAll => ArmRole::AsFound,
            LoadMethod::MapUsedPopulated | LoadMethod::UsedTakenOver => ArmRole::AllCures,
            _ => ArmRole::Cure,
        };
        Arm::new(method.name(), role, "").with("megabytes", megabytes)
    });
    arms.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::super::backends::run_all::run_all;
    use super::*;
    use crate::MeasurePass;
    use crate::results::ResultLine;

    /// Every method, cold and warm, at a small size: the answers must agree.
    #[test]
    fn all_methods_give_the_same_answer() {
        let set = BTreeMap::from([
            ("megabytes".to_owned(), vec![2]),
            ("used".to_owned(), vec![40]),
        ]);
        let lab = LabContext::new(&AppStart.experiment_info(), true, &set).unwrap();
        let mut plan = AppStart.plan_run(&lab).unwrap();
        let wanted = |group: &ArmGroup| group.stack == stacks::HERE && group.work != SCREEN;
        plan.groups.retain(wanted);
        assert_eq!(plan.groups.len(), 2);
        let mut answers = BTreeSet::new();
        for line in run_all(&AppStart, &plan, &[MeasurePass::Timed]) {
            let ResultLine::Run(run) = line else { continue };
            assert!(run.measures["cold/wall_ns"] > 0.0 && run.measures["warm/wall_ns"] > 0.0);
            answers.insert(run.answer);
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
