//! Questions about the results of one experiment.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use super::{ResultLine, RunHeader, RunRecord};
use crate::arms::{ArmRole, GroupKey, NotRun, RunCase};
use crate::stats;

/// A measure over its repetitions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// The median.
    pub median: f64,
    /// The lowest.
    pub low: f64,
    /// The highest.
    pub high: f64,
    /// How many repetitions.
    pub count: usize,
}

impl Figure {
    pub(crate) fn single(value: f64) -> Self {
        Self {
            median: value,
            low: value,
            high: value,
            count: 1,
        }
    }

    /// Of values in any order; none of none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let median = stats::median(values)?;
        Some(Self {
            median,
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            count: values.len(),
        })
    }
}

/// The results of one experiment, as far as it was run.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// The machine and the settings.
    pub header: RunHeader,
    /// Every run, in the order in which they were made.
    pub runs: Vec<RunRecord>,
    /// Parts not run.
    pub not_run: Vec<NotRun>,
    /// Failed runs: work, arm and message.
    pub failed: Vec<(String, String, String)>,
    /// How each stack was made.
    pub stacks: BTreeMap<String, BTreeMap<String, String>>,
}

impl Results {
    /// Those of one experiment among the lines of a file.
    pub fn of(experiment: &str, lines: &[ResultLine]) -> Self {
        let mut results = Self::default();
        let mut not_run: HashSet<&NotRun> = HashSet::new();
        let mut failed: HashMap<_, (usize, &RunCase, &String)> = HashMap::new();
        for (at, line) in lines.iter().enumerate() {
            match line {
                ResultLine::Lab(header) => results.header = header.clone(),
                ResultLine::Stack { name, details } => {
                    results.stacks.insert(name.clone(), details.clone());
                }
                ResultLine::NotRun {
                    experiment: of,
                    part,
                } if of == experiment && not_run.insert(part) => {
                    results.not_run.push(part.clone());
                }
                ResultLine::Run(run) if run.case.experiment == experiment => {
                    // A repeated run replaces the failure.
                    failed.remove(&run.case.key());
                    results.runs.push(run.clone());
                }
                ResultLine::Failed { case, message } if case.experiment == experiment => {
                    failed.insert(case.key(), (at, case, message));
                }
                _ => {}
            }
        }
        let mut failed: Vec<_> = failed.into_values().collect();
        failed.sort_unstable_by_key(|(at, ..)| *at);
        results.failed = failed
            .into_iter()
            .map(|(_, case, message)| (case.work.clone(), case.arm.clone(), message.clone()))
            .collect();
        results
    }

    /// The groups, in the order in which they were first run.
    pub fn groups(&self) -> Vec<GroupKey> {
        let mut groups = Vec::new();
        for run in &self.runs {
            let key = run.case.group();
            if !groups.contains(&key) {
                groups.push(key);
            }
        }
        groups
    }

    /// Returns the groups of these works on these stacks (none: on any), in that order, by
    /// rising size.
    pub fn select_groups(&self, works: &[&str], stacks: &[&str]) -> Vec<GroupKey> {
        let place = |names: &[&str], name: &str| names.iter().position(|one| *one == name);
        let mut groups = self.groups();
        groups.retain(|group| {
            let on_stack = stacks.is_empty() || stacks.contains(&group.stack.as_str());
            on_stack && works.contains(&group.work.as_str())
        });
        groups.sort_by_key(|group| {
            (
                place(stacks, &group.stack),
                place(works, &group.work),
                group.size,
            )
        });
        groups
    }

    /// The runs of a group.
    pub fn in_group<'a>(&'a self, group: &'a GroupKey) -> impl Iterator<Item = &'a RunRecord> + 'a {
        self.runs.iter().filter(move |run| {
            run.case.work == group.work
                && run.case.stack == group.stack
                && run.case.size == group.size
        })
    }

    /// The arms of a group with their roles, in the order in which they were planned.
    pub fn arms(&self, group: &GroupKey) -> Vec<(String, ArmRole)> {
        let mut arms: Vec<(String, ArmRole)> = Vec::new();
        for run in self.in_group(group) {
            if !arms.iter().any(|(name, _)| *name == run.case.arm) {
                arms.push((run.case.arm.clone(), run.case.role));
            }
        }
        arms
    }

    /// A setting of an arm.
    pub fn setting(&self, group: &GroupKey, arm: &str, name: &str) -> Option<Value> {
        self.in_group(group)
            .find(|run| run.case.arm == arm)?
            .case
            .settings
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value.clone())
    }

    /// A measure's values with their repetition, in that order. All are from one pass, the one
    /// that disturbs least of those that have the measure: passes are not mixed.
    pub(crate) fn values(&self, group: &GroupKey, arm: &str, measure: &str) -> Vec<(u32, f64)> {
        let measured = || {
            self.in_group(group)
                .filter(|run| run.case.arm == arm)
                .filter_map(|run| Some((&run.case, *run.measures.get(measure)?)))
        };
        let pass = measured().map(|(case, _)| case.pass).min();
        let mut values: Vec<(u32, f64)> = measured()
            .filter(|(case, _)| Some(case.pass) == pass)
            .map(|(case, value)| (case.repetition, value))
            .collect();
        values.sort_by_key(|(repetition, _)| *repetition);
        values
    }

    /// A measure of an arm over its repetitions.
    pub fn figure(&self, group: &GroupKey, arm: &str, measure: &str) -> Option<Figure> {
        let values = self.values(group, arm, measure).into_iter();
        Figure::of(&values.map(|(_, value)| value).collect::<Vec<_>>())
    }

    /// A measure of an arm: its median.
    pub fn median(&self, group: &GroupKey, arm: &str, measure: &str) -> Option<f64> {
        Some(self.figure(group, arm, measure)?.median)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Measure;
    use crate::arms::{ArmSettings, MeasurePass};

    fn run(arm: &str, pass: MeasurePass, repetition: u32, measure: &str, value: f64) -> ResultLine {
        ResultLine::Run(RunRecord {
            case: RunCase {
                experiment: "one".to_owned(),
                work: "save".to_owned(),
                stack: "here".to_owned(),
                size: 100,
                arm: arm.to_owned(),
                role: ArmRole::Cure,
                pass,
                repetition,
                settings: ArmSettings::new().with("limit", 8),
            },
            answer: String::new(),
            measures: BTreeMap::from([(measure.to_owned(), value)]),
        })
    }

    fn failed(line: &ResultLine) -> ResultLine {
        let ResultLine::Run(run) = line else {
            return line.clone();
        };
        ResultLine::Failed {
            case: run.case.clone(),
            message: "out of luck".to_owned(),
        }
    }

    #[test]
    fn ratios_agree_with_the_medians_and_vary_within_repetitions() {
        let mut lines = Vec::new();
        // The machine gets slower all the time; b takes twice as long as a throughout.
        for repetition in [2, 0, 1] {
            let slow = f64::from(repetition + 1);
            lines.push(run(
                "a",
                MeasurePass::Timed,
                repetition,
                "save/wall_ns",
                slow,
            ));
            lines.push(run(
                "b",
                MeasurePass::Timed,
                repetition,
                "save/wall_ns",
                slow * 2.0,
            ));
        }
        // Only in one of them.
        lines.push(run("b", MeasurePass::Timed, 3, "save/wall_ns", 1000.0));
        let results = Results::of("one", &lines);
        let groups = results.groups();
        let group = groups.first().unwrap();
        assert_eq!(results.arms(group).len(), 2);
        let measure = Measure::wall_time("time", "save");
        let ratio = measure.ratio(&results, group, "b", "a").unwrap();
        assert_eq!(ratio.count, 3);
        let other = measure.figure(&results, group, "b").unwrap();
        let figure = measure.figure(&results, group, "a").unwrap();
        assert_eq!(ratio.median, other.median / figure.median);
        assert_eq!((ratio.low, ratio.high), (2.0, 2.5));
        assert_eq!((figure.median, figure.low, figure.high), (2.0, 1.0, 3.0));
        assert_eq!(results.setting(group, "a", "limit"), Some(8.into()));
    }

    #[test]
    fn a_figure_is_of_one_pass() {
        let lines = [
            run("a", MeasurePass::Counted, 0, "save/minor_faults", 900.0),
            run("a", MeasurePass::Timed, 0, "save/minor_faults", 10.0),
            run("a", MeasurePass::Timed, 1, "save/minor_faults", 12.0),
            run("a", MeasurePass::Counted, 0, "save/block_writes", 7.0),
        ];
        let results = Results::of("one", &lines);
        let group = results.groups().remove(0);
        let faults = results.figure(&group, "a", "save/minor_faults").unwrap();
        assert_eq!((faults.median, faults.high, faults.count), (11.0, 12.0, 2));
        let writes = results.figure(&group, "a", "save/block_writes").unwrap();
        assert_eq!((writes.median, writes.count), (7.0, 1));
    }

    #[test]
    fn what_was_made_again_after_a_failure_did_not_fail() {
        let good = run("a", MeasurePass::Timed, 0, "save/wall_ns", 1.0);
        let other = run("a", MeasurePass::Timed, 1, "save/wall_ns", 1.0);
        let lines = [failed(&good), failed(&other), good];
        let results = Results::of("one", &lines);
        assert_eq!(results.failed.len(), 1);
        assert_eq!(results.runs.len(), 1);
        assert!(Results::of("two", &lines).failed.is_empty());
    }
}
