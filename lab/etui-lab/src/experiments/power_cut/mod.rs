//! `power-cut`: the power fails at points of a recorded run, on real file systems in a virtual
//! machine whose disk is the laboratory's own.

mod arms;
mod file_systems;
mod guest;
mod machine;
mod outcome;
mod points;
mod port;
mod record;
mod repeat;
mod report;
mod saves;
mod stores;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::about::AboutText;
use crate::{
    ArmGroup, Error, Experiment, ExperimentInfo, LabContext, Recorder, ReportSpec, Results,
    RunCase, RunPlan, stacks, vm,
};
use file_systems::{FILE_SYSTEMS, FileSystem};
pub(crate) use guest::CutGuestArgs;
use machine::CutMachine;
use outcome::{ArmOutcome, cut_arm};
pub(crate) use repeat::RepeatCutArgs;

const NAME: &str = "power-cut";
/// The outcomes of all arms of a group.
const OUTCOMES: &str = "outcomes.json";

/// Directory of the records of runs with a point that needs to be looked at.
const RECORDS: &str = "etui-lab-results/power-cut";

/// The experiment.
pub struct PowerCut;

impl Experiment for PowerCut {
    fn experiment_info(&self) -> ExperimentInfo {
        static ABOUT: AboutText = AboutText::new(include_str!("about.md"));
        ABOUT.info(NAME, None)
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let mut plan = RunPlan::default();
        let (points, seed) = (lab.value("points"), lab.value("seed"));
        let systems = usize::try_from(lab.value("systems")).unwrap_or(usize::MAX);
        for file_system in FILE_SYSTEMS.iter().take(systems) {
            let available = vm::check_available().and_then(|()| file_system.check_available());
            if let Err(reason) = available {
                plan.skip(format!("power cuts on {}", file_system.name), reason);
                continue;
            }
            let arms = arms::list_arms().into_iter();
            let arms = arms.map(|arm| arm.with("points", points).with("seed", seed));
            let arms = arms.map(|arm| arm.with("tear", lab.value("tear")));
            plan.groups.push(ArmGroup {
                repetitions: 1,
                seconds: 2.0 + points as f64 * 0.2,
                ..ArmGroup::new(
                    file_system.name,
                    stacks::HERE,
                    lab.value("saves"),
                    arms.collect(),
                )
            });
        }
        plan.skip(
            "power cuts of Evolution Data Server and Akonadi",
            "the virtual machine has neither their processes nor a D-Bus session",
        );
        Ok(plan)
    }

    /// Runs all arms: one virtual machine serves them.
    fn set_up(&self, group: &ArmGroup, dir: &Path) -> Result<(), Error> {
        let file_system = FileSystem::by_name(&group.work)?;
        let mut outcomes: BTreeMap<&str, Result<ArmOutcome, String>> = BTreeMap::new();
        let mut machine = None;
        for arm in &group.arms {
            let booted = match machine.take() {
                Some(booted) => booted,
                None => {
                    let base = Arc::new(file_system.make(&dir.join("base"))?);
                    CutMachine::boot(file_system, base, dir)?
                }
            };
            match cut_arm(&booted, arm, group.size, Path::new(RECORDS)) {
                Ok(outcome) => {
                    outcomes.insert(&arm.name, Ok(outcome));
                    machine = Some(booted);
                }
                // The next arm has a machine of its own.
                Err(error) => {
                    outcomes.insert(&arm.name, Err(error.to_string()));
                }
            }
        }
        let path = dir.join(OUTCOMES);
        let text = serde_json::to_vec(&outcomes).map_err(|e| Error::other(e.to_string()))?;
        fs::write(&path, text).map_err(|e| Error::file(&path, e))
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        let path = recorder.shared().join(OUTCOMES);
        let text = fs::read(&path).map_err(|e| Error::file(&path, e))?;
        let mut outcomes: BTreeMap<String, Result<BTreeMap<String, Value>, String>> =
            serde_json::from_slice(&text).map_err(|e| Error::other(e.to_string()))?;
        let outcome = outcomes.remove(&case.arm);
        let outcome = outcome.ok_or_else(|| Error::other("the arm was not run"))?;
        // The counts of an `ArmOutcome`; its findings are no number.
        for (measure, value) in outcome.map_err(Error::other)? {
            if let Some(value) = value.as_f64() {
                recorder.record(&format!("cut/{measure}"), value);
            }
        }
        // All arms did all saves, and had all of them when the run was not cut.
        recorder.answer(case.size.to_le_bytes());
        Ok(())
    }

    fn report_spec(&self, results: &Results) -> ReportSpec {
        report::report_spec(results)
    }
}
