//! For tests: every arm of a plan, run in this process.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;

use crate::arms::MeasurePass;
use crate::results::{ResultLine, RunRecord};
use crate::{Error, Experiment, Recorder, RunLocation, RunPlan};

/// Runs every arm of a plan once in each pass and checks that the answers of a group agree.
pub fn run_all(
    experiment: &dyn Experiment,
    plan: &RunPlan,
    passes: &[MeasurePass],
) -> Vec<ResultLine> {
    let mut lines = Vec::new();
    for group in &plan.groups {
        // On a disk, where a cold start can be had.
        let shared = tempfile::tempdir_in(".").unwrap();
        experiment.set_up(group, shared.path()).unwrap();
        let mut answers: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (arm, pass) in group
            .arms
            .iter()
            .flat_map(|arm| passes.iter().map(move |pass| (arm, *pass)))
        {
            let dir = tempfile::tempdir().unwrap();
            let place = RunLocation {
                dir: dir.path().to_owned(),
                shared: shared.path().to_owned(),
                devices: Vec::new(),
                traced: false,
            };
            let case = group.make_case(experiment.experiment_info().name, arm, pass, 0);
            let mut recorder = Recorder::new(place, pass);
            match experiment.run_case(&case, &mut recorder) {
                Ok(()) => {}
                Err(Error::NotRun(reason)) => {
                    eprintln!("{} of {}: {reason}", case.arm, case.work);
                    continue;
                }
                Err(error) => panic!("{} of {}: {error}", case.arm, case.work),
            }
            let (measures, answer) = recorder.finish();
            answers
                .entry(answer.clone())
                .or_default()
                .push(arm.name.clone());
            lines.push(ResultLine::Run(RunRecord {
                case,
                answer,
                measures,
            }));
        }
        // None where no arm can run.
        assert!(
            answers.len() <= 1,
            "the answers of `{}` differ: {answers:#?}",
            group.work
        );
    }
    lines
}
