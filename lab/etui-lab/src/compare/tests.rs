#![allow(clippy::unwrap_used)]

use super::*;
use crate::arms::{ArmRole, ArmSettings, MeasurePass, RunCase};
use crate::results::RunHeader;
use crate::results::RunRecord;

/// A results file of one experiment with two arms; `values` gives a measure's value by arm
/// and repetition.
fn sample_lines(
    measure: &str,
    repetitions: u32,
    values: impl Fn(&str, u32) -> f64,
) -> Vec<ResultLine> {
    let mut header = RunHeader::default();
    header.experiments.insert("one".to_owned(), BTreeMap::new());
    let mut lines = vec![ResultLine::Lab(header)];
    for repetition in 0..repetitions {
        for (arm, role) in [("as found", ArmRole::AsFound), ("etui", ArmRole::Etui)] {
            lines.push(ResultLine::Run(RunRecord {
                case: RunCase {
                    experiment: "one".to_owned(),
                    work: "save".to_owned(),
                    stack: "here".to_owned(),
                    size: 100,
                    arm: arm.to_owned(),
                    role,
                    pass: MeasurePass::Timed,
                    repetition,
                    settings: ArmSettings::new(),
                },
                answer: String::new(),
                measures: BTreeMap::from([(measure.to_owned(), values(arm, repetition))]),
            }));
        }
    }
    lines
}

fn find_counter(value: f64) -> Vec<ResultLine> {
    sample_lines("save/fdatasync_calls", 1, |_, _| value)
}

#[test]
fn exact_counters_differ_by_one() {
    let same = compare(&find_counter(100.0), &find_counter(100.0), false);
    assert!(same.differences.is_empty());
    let worse = compare(&find_counter(100.0), &find_counter(101.0), false);
    assert!(worse.worse());
    assert_eq!(worse.differences.len(), 2);
    let better = compare(&find_counter(101.0), &find_counter(100.0), false);
    assert!(!better.worse());
    assert_eq!(better.differences.len(), 2);
}

#[test]
fn counters_that_vary_are_judged_by_their_ranges() {
    let vary = |base: f64| sample_lines("save/write_calls", 4, move |_, n| base + f64::from(n));
    let near = compare(&vary(100.0), &vary(102.0), false);
    assert!(near.differences.is_empty());
    assert!(compare(&vary(100.0), &vary(120.0), false).worse());
}

#[test]
fn instructions_may_differ_by_their_noise() {
    let of = |value: f64| sample_lines("save/instructions", 1, move |_, _| value);
    let near = compare(&of(1e6), &of(1.02e6), false);
    assert!(near.differences.is_empty());
    assert!(compare(&of(1e6), &of(1.2e6), false).worse());
    let mut elsewhere = of(1.2e6);
    if let Some(ResultLine::Lab(header)) = elsewhere.first_mut() {
        header.processor = "another".to_owned();
    }
    let told = compare(&of(1e6), &elsewhere, false);
    assert!(!told.worse());
    assert_eq!((told.differences.len(), told.remarks.len()), (2, 1));
}

#[test]
fn instructions_decide_on_the_same_system_only() {
    let of = |value: f64| sample_lines("save/instructions", 1, move |_, _| value);
    let mut elsewhere = of(1.2e6);
    if let Some(ResultLine::Lab(header)) = elsewhere.first_mut() {
        header.system = "another".to_owned();
    }
    let told = compare(&of(1e6), &elsewhere, false);
    assert_eq!(told.differences.len(), 2);
    assert!(!told.worse());
}

#[test]
fn passes_are_not_mixed() {
    let counted = |value: f64| {
        let mut counted = sample_lines("save/write_calls", 1, move |_, _| value);
        for line in &mut counted {
            if let ResultLine::Run(run) = line {
                run.case.pass = MeasurePass::Counted;
            }
        }
        counted
    };
    // A counter varies between passes by more than the regression.
    let both = |value: f64| [counter_of(value), counted(value + 50.0)].concat();
    assert!(compare(&both(100.0), &both(110.0), false).worse());
}

fn counter_of(value: f64) -> Vec<ResultLine> {
    sample_lines("save/write_calls", 1, move |_, _| value)
}

#[test]
fn times_without_a_base_in_both_are_not_judged() {
    let time = |scale: f64| {
        sample_lines("save/wall_ns", 5, move |arm, _| match arm {
            "etui" => 50.0 * scale,
            _ => 100.0,
        })
    };
    let mut alone = time(3.0);
    alone.retain(|line| !matches!(line, ResultLine::Run(run) if run.case.arm == "as found"));
    let comparison = compare(&time(1.0), &alone, true);
    assert!(comparison.differences.is_empty(), "{comparison:?}");
}

#[test]
fn times_are_judged_as_ratios_and_gate_only_if_asked_for() {
    // The second machine is three times slower; etui's ratio to the other arm is the same.
    let time = |machine: f64, ratio: f64| {
        sample_lines("save/wall_ns", 5, move |arm, n| {
            let noise = 1.0 + f64::from(n) * 0.01;
            machine * noise * if arm == "etui" { ratio * noise } else { 1.0 }
        })
    };
    let same = compare(&time(100.0, 0.5), &time(300.0, 0.5), true);
    assert!(same.differences.is_empty(), "{same:?}");
    let slower = compare(&time(100.0, 0.5), &time(100.0, 0.8), false);
    assert_eq!(slower.differences.len(), 1);
    assert!(!slower.worse());
    assert!(compare(&time(100.0, 0.5), &time(100.0, 0.8), true).worse());
}

#[test]
fn what_only_one_file_has_is_counted() {
    let other = sample_lines("save/other", 1, |_, _| 1.0);
    let none = compare(&find_counter(1.0), &other, false);
    assert_eq!((none.compared, none.gone, none.new), (0, 2, 2));
}

#[test]
fn a_few_faults_are_the_moments() {
    let faults = |value: f64| sample_lines("save/minor_faults", 3, move |_, _| value);
    let few = compare(&faults(1.0), &faults(0.0), false);
    assert!(few.differences.is_empty(), "{few:?}");
    let many = compare(&faults(100.0), &faults(140.0), false);
    assert_eq!(many.differences.len(), 2);
    assert!(!many.worse());
}
