//! The declared report of `dbus-calls`.

use super::super::report::bounded_report;
use super::WORK;
use etui_lab::Results;
use etui_lab::Unit;
use etui_lab::stacks::HERE;
use etui_lab::{Measure, ReportSpec, TableSpec, Threshold};

/// The arms' names.
pub const OWN: &str = "etui over D-Bus";
pub const AS_EDS: &str = "etui as EDS";

/// Bounds of the ratios to the echo.
const MAX_EMPTY: f64 = 1.1;
const MAX_GET: f64 = 1.15;
const MAX_GET_MANY: f64 = 1.25;
/// Bound of the first reply, nanoseconds.
const MAX_FIRST_REPLY: f64 = 30e6;
/// Bound of the private memory, bytes.
const MAX_PRIVATE: f64 = 15e6;

fn ratio(phase: &str) -> Measure {
    Measure {
        unit: Unit::Ratio,
        ..Measure::new("service / echo", format!("{phase}/ratio"))
    }
}

pub(super) fn report_spec(results: &Results) -> ReportSpec {
    let groups = results.select_groups(&[WORK], &[HERE]);
    let group = groups.last();
    let calls = [
        ("empty", "An empty call"),
        ("get", "One contact by UID"),
        ("get_many", "50 contacts by UID"),
    ];
    let calls = calls.map(|(phase, title)| {
        TableSpec::new(title, groups.clone()).measures(vec![
            Measure::wall_time("service", phase),
            Measure::new("echo", format!("{phase}/echo_ns")),
            ratio(phase),
            Measure::new("reply", format!("{phase}/reply_bytes")).informative(),
        ])
    });
    let rest = TableSpec::new("Start and memory", groups.clone()).measures(vec![
        Measure::wall_time("first reply", "first_reply"),
        Measure::new("private, after all were read", "read_all/private_bytes"),
        Measure::new("of that dirty", "read_all/private_dirty_bytes"),
        Measure::new("private, at rest", "rest/private_bytes"),
        Measure::new("of that dirty, at rest", "rest/private_dirty_bytes"),
        Measure::new("PSS, at rest", "rest/pss_bytes"),
        Measure::new("real-time priority", "pinned/real_time").informative(),
    ]);
    let target = |claim: &str, arm, measure| {
        Threshold::target(format!("{claim}, {arm}")).of(group, arm, measure)
    };
    let private = || Measure::new("private, at rest", "rest/private_bytes");
    let first = || Measure::wall_time("first reply", "first_reply");
    let thresholds = [OWN, AS_EDS].into_iter().flat_map(|arm| {
        [
            target("an empty call against the echo", arm, ratio("empty")).at_most(MAX_EMPTY),
            target("first reply after activation", arm, first()).at_most(MAX_FIRST_REPLY),
            target("private memory at rest", arm, private()).at_most(MAX_PRIVATE),
        ]
    });
    let shapes = [
        target("`GetContact` against the echo", AS_EDS, ratio("get")).at_most(MAX_GET),
        target("`GetMany` of 50 against the echo", OWN, ratio("get_many")).at_most(MAX_GET_MANY),
    ];
    let tables = calls.into_iter().chain([rest]).collect();
    let bounds = thresholds.chain(shapes).collect();
    bounded_report(None, tables, Vec::new(), bounds)
}
