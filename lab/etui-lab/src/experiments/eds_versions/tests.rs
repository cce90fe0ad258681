//! Versions that are unpacked here, and the report of made-up figures.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;

use super::super::backends::run_all::run_all;
use super::*;
use crate::FindingStatus;
use crate::arms::MeasurePass;
use crate::results::{ResultLine, RunRecord};

fn plan() -> RunPlan {
    let set = BTreeMap::from([
        ("sizes".to_owned(), vec![50]),
        ("saves".to_owned(), vec![5]),
    ]);
    let lab = LabContext::new(&EdsVersions.experiment_info(), true, &set).unwrap();
    EdsVersions.plan_run(&lab).unwrap()
}

#[test]
fn all_versions_give_the_same_answer() {
    let plan = plan();
    for skipped in &plan.not_run {
        println!("skipped: {}: {}", skipped.what, skipped.reason);
        assert!(skipped.reason.contains("setup") || skipped.reason.contains("name space"));
    }
    let lines = run_all(&EdsVersions, &plan, &[MeasurePass::Timed]);
    let results = Results::of("eds-versions", &lines);
    let shown = EdsVersions.present_results(&results);
    if plan.groups.is_empty() {
        assert_eq!(shown.verdict.shown, FindingStatus::Open);
        assert_eq!(plan.not_run.len(), SUITES.len());
        return;
    }
    assert!(shown.tables.iter().all(|table| !table.rows.is_empty()));
    let versions = measured_versions(&results, &plan_group(OVER_BUS));
    assert!(!versions.is_empty());
    assert_eq!(shown.charts.is_empty(), versions.len() < 2);
}

fn plan_group(work: &str) -> GroupKey {
    GroupKey {
        work: work.to_owned(),
        stack: HERE.to_owned(),
        size: 50,
    }
}

/// Results of two repetitions: fetching takes 1.5 times as long in the second version and as
/// long as at first in the third; saving gets faster.
fn made_up() -> Vec<ResultLine> {
    let figures = [
        ("bullseye", "3.38.3", 100.0, 80.0),
        ("bookworm", "3.46.4", 150.0, 60.0),
        ("trixie", "3.56.2", 100.0, 58.0),
    ];
    let mut lines = Vec::new();
    for (suite, version, all, save) in figures {
        let settings = ArmSettings::from("product=eds").with("version", version);
        let arm = Arm::new(arm_name(suite), ArmRole::Peer, settings);
        let group = ArmGroup::new(OVER_BUS, HERE, 50, vec![arm.clone()]);
        for repetition in 0..2 {
            let noise = f64::from(repetition) + 1.0;
            lines.push(ResultLine::Run(RunRecord {
                case: group.make_case("eds-versions", &arm, MeasurePass::Timed, repetition),
                answer: String::new(),
                measures: BTreeMap::from([
                    ("all/wall_ns".to_owned(), all * noise),
                    ("save_one/wall_ns".to_owned(), save * noise),
                ]),
            }));
        }
    }
    lines
}

#[test]
fn the_chart_shows_what_came_and_went() {
    let results = Results::of("eds-versions", &made_up());
    let shown = EdsVersions.present_results(&results);
    assert_eq!(shown.verdict.shown, FindingStatus::Yes);
    let evidence = &shown.verdict.evidence;
    assert!(
        evidence.contains("`fetch every vCard` in 3.46.4 against 3.38.3: 1.50x"),
        "{evidence}"
    );
    let faster = shown.verdict.notes.last().unwrap();
    assert!(faster.contains("save one 0.75x in 3.46.4"), "{faster}");
    assert!(
        faster.contains("fetch every vCard 0.67x in 3.56.2"),
        "{faster}"
    );
    assert!(!faster.contains("save one 0.97x"), "within a tenth");

    let chart = &shown.charts[0];
    assert_eq!(chart.labels.len(), OPERATIONS.len());
    let names: Vec<&str> = chart.series.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "3.38.3, Debian 11",
            "3.46.4, Debian 12",
            "3.56.2, Debian 13"
        ]
    );
    let heights =
        |at: usize| -> Vec<_> { chart.series[at].points.iter().map(|p| (p.x, p.y)).collect() };
    assert_eq!(heights(1), [(0.0, 0.75), (2.0, 1.5)]);
    assert_eq!(heights(2)[1], (2.0, 1.0));
}

#[test]
fn one_version_alone_is_no_comparison() {
    let lines: Vec<ResultLine> = made_up().into_iter().take(2).collect();
    let shown = EdsVersions.present_results(&Results::of("eds-versions", &lines));
    assert_eq!(shown.verdict.shown, FindingStatus::Open);
    assert!(shown.charts.is_empty());
}
