//! Comparison of two results files beyond noise.
//!
//! How it is judged, measure by measure ([`MeasureClass`]):
//!
//! | class | a difference counts if | gates |
//! |---|---|---|
//! | exact counters | the values differ at all; where they varied within a file: as for times, beyond 2 % | yes |
//! | instructions | they differ by more than 3 % (hash tables have random seeds) | on the same system and processor: C libraries choose code by both |
//! | block I/O, memory, faults | the two ranges are farther apart than each is wide, beyond 25 % and beyond 16 (64 KiB) | no |
//! | time | the same, beyond 25 %, of the ratio to the group's first arm within each repetition, five repetitions at least on both sides | only if asked for |
//!
//! Values of different passes are not mixed. Instructions are also the C library's and the C
//! compiler's, so on another system they are reported and decide nothing.
//!
//! Absolute times are not judged: the machine of the one run is not the machine of the other,
//! even if it is the same. A ratio within one repetition remains.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Measure;
use crate::arms::MeasurePass;
use crate::measure::{self, MeasureClass};
use crate::report::content::Unit;
use crate::results::{Figure, GroupKey, ResultLine, Results};

/// Fewer repetitions than this decide nothing about time.
const ENOUGH: usize = 5;

/// A measure that differs beyond noise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    pub experiment: String,
    /// The group's work, stack and size.
    pub group: String,
    pub arm: String,
    /// The measure, `phase/measure`.
    pub measure: String,
    /// Its unit; of times a ratio to the group's first arm.
    pub unit: Unit,
    pub before: f64,
    pub after: f64,
    /// Whether it is worse now.
    pub worse: bool,
    /// Whether it decides the exit code.
    pub gates: bool,
}

/// Differences of two results files.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// Measures that were in both.
    pub compared: usize,
    /// Measures that are no longer there: of arms or groups that the later run did not have.
    pub gone: usize,
    /// Measures that were not there before.
    pub new: usize,
    /// Differences beyond noise, worse first.
    pub differences: Vec<Difference>,
    /// Other differences between the runs, in words.
    pub remarks: Vec<String>,
}

impl Comparison {
    /// Whether something that gates is worse.
    pub fn worse(&self) -> bool {
        self.differences.iter().any(|d| d.worse && d.gates)
    }
}

/// Compares the lines of two results files. With `times`, times gate as well.
pub fn compare(before: &[ResultLine], after: &[ResultLine], times: bool) -> Comparison {
    let mut comparison = Comparison::default();
    let (old, new) = (
        crate::results::file::read_header(before),
        crate::results::file::read_header(after),
    );
    let remarks = old.differences(&new);
    comparison.remarks = remarks
        .map(|(what, old, new)| format!("{what}: {old}, then {new}"))
        .collect();
    let gating = ChangeGate {
        times,
        instructions: old.system == new.system && old.processor == new.processor,
    };
    let mut names: Vec<&String> = old.experiments.keys().collect();
    names.extend(new.experiments.keys());
    names.sort_unstable();
    names.dedup();
    for name in names {
        compare_experiment(
            name,
            &Results::of(name, before),
            &Results::of(name, after),
            gating,
            &mut comparison,
        );
    }
    comparison.differences.sort_by_key(|d| (!d.worse, !d.gates));
    comparison
}

/// Which of the classes that do not always decide the exit code do.
#[derive(Debug, Clone, Copy)]
struct ChangeGate {
    times: bool,
    instructions: bool,
}

fn compare_experiment(
    name: &str,
    before: &Results,
    after: &Results,
    gating: ChangeGate,
    comparison: &mut Comparison,
) {
    let mut groups = before.groups();
    for group in after.groups() {
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    for group in groups {
        let old = arm_values(before, &group);
        let new = arm_values(after, &group);
        let base = base_arm(before, after, &group);
        for (key, was) in &old {
            let Some(now) = new.get(key) else {
                comparison.gone += 1;
                continue;
            };
            let (arm, measure, _) = key;
            let (unit, class) = measure::measure_unit(measure);
            let judged = if class == MeasureClass::Time {
                arm_ratios(before, &group, arm, base.as_deref(), measure)
                    .zip(arm_ratios(after, &group, arm, base.as_deref(), measure))
                    .map(|(was, now)| (was, now, Unit::Ratio))
            } else {
                Figure::of(was)
                    .zip(Figure::of(now))
                    .map(|(was, now)| (was, now, unit))
            };
            comparison.compared += 1;
            let Some((was, now, unit)) = judged else {
                continue;
            };
            if !is_different(class, unit, &was, &now) {
                continue;
            }
            comparison.differences.push(Difference {
                experiment: name.to_owned(),
                group: format!("{} on {}, {}", group.work, group.stack, group.size),
                arm: arm.clone(),
                measure: measure.clone(),
                unit,
                before: was.median,
                after: now.median,
                worse: (now.median > was.median) != measure::more_is_better(measure),
                gates: match class {
                    MeasureClass::Exact => true,
                    MeasureClass::Instructions => gating.instructions,
                    MeasureClass::Time => gating.times,
                    MeasureClass::Block | MeasureClass::Memory => false,
                },
            });
        }
        comparison.new += new.keys().filter(|key| !old.contains_key(*key)).count();
    }
}

/// The arm that times are compared with: the first that both runs have.
fn base_arm(before: &Results, after: &Results, group: &GroupKey) -> Option<String> {
    let there = after.arms(group);
    before
        .arms(group)
        .into_iter()
        .map(|(arm, _)| arm)
        .find(|arm| there.iter().any(|(other, _)| other == arm))
}

/// All values of a group's measures by arm, measure and pass.
fn arm_values(
    results: &Results,
    group: &GroupKey,
) -> BTreeMap<(String, String, MeasurePass), Vec<f64>> {
    let mut values: BTreeMap<(String, String, MeasurePass), Vec<f64>> = BTreeMap::new();
    for run in results.in_group(group) {
        for (measure, value) in &run.measures {
            values
                .entry((run.case.arm.clone(), measure.clone(), run.case.pass))
                .or_default()
                .push(*value);
        }
    }
    values
}

/// A time as its ratio to the base; none for the base itself, or with too few repetitions.
fn arm_ratios(
    results: &Results,
    group: &GroupKey,
    arm: &str,
    base: Option<&str>,
    measure: &str,
) -> Option<Figure> {
    let base = base.filter(|base| *base != arm)?;
    Measure::new("", measure)
        .ratio(results, group, arm, base)
        .filter(|ratio| ratio.count >= ENOUGH)
}

fn is_different(class: MeasureClass, unit: Unit, was: &Figure, now: &Figure) -> bool {
    let least = if unit == Unit::Bytes { 65_536.0 } else { 16.0 };
    match class {
        MeasureClass::Exact if is_constant(was) && is_constant(now) => was.median != now.median,
        MeasureClass::Exact => ranges_apart(was, now, 0.02),
        MeasureClass::Instructions => is_changed(was, now, 0.03),
        MeasureClass::Time => ranges_apart(was, now, 0.25),
        // A page, a fault or a request more or less is the kernel's moment, not the arm's.
        MeasureClass::Block | MeasureClass::Memory => {
            ranges_apart(was, now, 0.25) && (now.median - was.median).abs() >= least
        }
    }
}

fn is_constant(figure: &Figure) -> bool {
    figure.low == figure.high
}

/// Whether the medians differ by more than a part of the smaller one.
fn is_changed(was: &Figure, now: &Figure, part: f64) -> bool {
    let smaller = was.median.abs().min(now.median.abs());
    (now.median - was.median).abs() > part * smaller
}

/// Whether the ranges are farther apart than each is wide, and the medians differ by a part.
fn ranges_apart(was: &Figure, now: &Figure, part: f64) -> bool {
    let gap = (now.low - was.high).max(was.low - now.high);
    let wide = (was.high - was.low).max(now.high - now.low);
    // A single value has no range to judge by.
    was.count > 1 && now.count > 1 && gap > wide && is_changed(was, now, part)
}

#[cfg(test)]
mod tests;
