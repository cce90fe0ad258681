//! The declared report of `sync`.

use super::super::report::bounded_report;
use super::WORK;
use etui_lab::stacks::HERE;
use etui_lab::{GroupKey, Measure, ReportSpec, Results, TableSpec, Threshold};

/// The arms' names.
pub(super) const ETUI: &str = "etui sync";
pub(super) const ETUI_SERVE: &str = "etui-serve sync";
pub(super) const VDIRSYNCER: &str = "vdirsyncer";
pub(super) const NEVEREST: &str = "neverest";

/// The phases.
pub(super) const FIRST: &str = "first";
pub(super) const IDLE: &str = "idle";
pub(super) const ONE_EACH: &str = "one_each";

/// Bounds of etui: processor time, nanoseconds; requests; and the part of vdirsyncer's processor time.
const MAX_FIRST: f64 = 2e9;
const MAX_IDLE: f64 = 5e6;
const MAX_IDLE_REQUESTS: f64 = 2.0;
const MAX_ONE_EACH_REQUESTS: f64 = 6.0;
const MAX_PART: f64 = 1.0 / 20.0;

fn processor(phase: &str) -> Measure {
    Measure::new("processor", format!("{phase}/processor_ns"))
}

fn requests(phase: &str) -> Measure {
    Measure::new("requests", format!("{phase}/requests"))
}

fn tables(groups: &[GroupKey]) -> Vec<TableSpec> {
    let table = |title: &str, caption: &str, phase: &str| {
        TableSpec::new(title, groups.to_vec())
            .caption(caption)
            .measures(vec![
                processor(phase),
                Measure::wall_time("time", phase),
                requests(phase),
                Measure::new("peak memory", format!("{phase}/peak_rss_bytes")),
            ])
            .base(ETUI)
            .size_unit("contacts")
    };
    vec![
        table(
            "First sync",
            "Into an empty copy, which is paired already. Processor time is that of the client and of all \
             processes that it starts, user and system. Requests are those that the server answered. Memory is \
             resident memory at its peak, looked at every 5 ms.",
            FIRST,
        ),
        table(
            "Nothing changed",
            "Medians of up to five runs one after the other.",
            IDLE,
        ),
        table(
            "One card changed on each side",
            "Medians of up to five runs, each after a change of one card in the copy and of another one on the \
             server.",
            ONE_EACH,
        ),
    ]
}

pub(super) fn report_spec(results: &Results) -> ReportSpec {
    let groups = results.select_groups(&[WORK], &[HERE]);
    let largest = groups.last();
    let target = |claim: &str, measure| Threshold::target(claim).of(largest, ETUI, measure);
    let mut bounds = vec![
        target("processor time, first sync", processor(FIRST)).at_most(MAX_FIRST),
        target("processor time, nothing changed", processor(IDLE)).at_most(MAX_IDLE),
        target("requests, nothing changed", requests(IDLE)).at_most(MAX_IDLE_REQUESTS),
        target("requests, one change on each side", requests(ONE_EACH))
            .at_most(MAX_ONE_EACH_REQUESTS),
    ];
    for (phase, title) in [
        (FIRST, "first sync"),
        (IDLE, "nothing changed"),
        (ONE_EACH, "one change on each side"),
    ] {
        let claim = format!("processor time beside vdirsyncer, {title}");
        let bound = target(&claim, processor(phase)).against_arm(VDIRSYNCER);
        bounds.push(bound.at_most(MAX_PART));
    }
    bounded_report(ETUI, tables(&groups), Vec::new(), bounds)
}
