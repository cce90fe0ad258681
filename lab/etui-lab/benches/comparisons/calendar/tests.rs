//! Every arm at a small size, and its report.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;

use super::*;
use etui_lab::FindingStatus;
use etui_lab::MeasurePass;
use etui_lab::experiments::backends::run_all::run_all;
use etui_lab::peers::eds;

fn plan() -> RunPlan {
    let set = [
        ("sizes", vec![60]),
        ("saves", vec![5]),
        ("years", vec![1]),
        ("daily", vec![2]),
        ("endless", vec![20]),
        ("weeks", vec![9]),
    ];
    let set: BTreeMap<_, _> = set.map(|(name, value)| (name.to_owned(), value)).into();
    let lab = LabContext::new(&Calendars.experiment_info(), true, &set).unwrap();
    Calendars.plan_run(&lab).unwrap()
}

#[test]
fn all_arms_give_the_same_answer() {
    if let Err(reason) = eds::available(Server::Calendar) {
        println!("skipped for Evolution Data Server: {reason}");
    }
    let lines = run_all(
        &Calendars,
        &plan(),
        &[MeasurePass::Timed, MeasurePass::Counted],
    );
    let results = Results::of(NAME, &lines);
    let shown = Calendars.present_results(&results);
    assert!(shown.tables.iter().all(|table| !table.rows.is_empty()));
    assert!(shown.charts.iter().all(|chart| !chart.series.is_empty()));
    let group = results.groups().into_iter().next().unwrap();
    let hits = |name: &str| results.median(&group, report::ETUI, &format!("{name}/hits"));
    assert!(hits("year").unwrap() > hits("year_events").unwrap());
    let redo = |measure: &str| results.median(&group, report::PLAIN_REDO, measure);
    assert_eq!(redo("saves/vfs_commits"), Some(5.0));
    for group in results.groups() {
        if is_dense(&group.work) {
            let hits = results.median(&group, report::ETUI, "middle/hits").unwrap();
            assert!(hits > 3.0, "{}: {hits}", group.work);
        }
    }
    if eds::available(Server::Calendar).is_ok() {
        assert_ne!(shown.verdict.shown, FindingStatus::Open);
        let flushes = |arm: &str| results.median(&group, arm, "save_one/flushes");
        // Where a tracer can watch: as shipped nothing is flushed before the reply.
        if let Some(durable) = flushes(report::DURABLE) {
            assert!(durable >= 2.0, "file, directory: {durable}");
        }
    }
}

#[test]
fn partial_results_are_shown() {
    let shown = Calendars.present_results(&Results::default());
    assert_eq!(shown.verdict.shown, FindingStatus::Open);
    let mut plan = plan();
    for group in &mut plan.groups {
        group.arms.retain(|arm| is_product(&arm.settings, "etui"));
    }
    plan.groups.retain(|group| !group.arms.is_empty());
    let lines = run_all(&Calendars, &plan, &[MeasurePass::Timed]);
    let shown = Calendars.present_results(&Results::of(NAME, &lines));
    assert_eq!(shown.verdict.shown, FindingStatus::Open);
    assert!(!shown.verdict.sentence.is_empty());
}
