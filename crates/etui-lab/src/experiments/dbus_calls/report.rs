//! The declared report of `dbus-calls`.

use super::{MANY, WORK};
use crate::present::Unit;
use crate::spec::{AdviceSpec, Conclusion, Measure, Per, ReportSpec, TableSpec, Threshold};
use crate::stacks::HERE;
use crate::{GroupKey, Results};

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

/// Advice on how many contacts to fetch in a call, and through which interface.
fn advise(group: Option<&GroupKey>) -> Vec<AdviceSpec> {
    let each = Measure::wall_time("a contact", "get_many").per(Per::Times(MANY as u64));
    let together = AdviceSpec::new("fetch many contacts in one call over D-Bus")
        .or_else("fetch contacts one by one over D-Bus if that is simpler")
        .how("GetMany; in Evolution's interface a query that names the UIDs")
        .measured(format!(
            "A contact, fetched alone and as one of {MANY}, client and service on one core"
        ))
        .about_etui()
        .gain("a contact")
        .before(group, OWN, Measure::wall_time("a contact", "get"))
        .after(group, OWN, each);
    let interface = AdviceSpec::new("call etui's own D-Bus interface instead of Evolution's")
        .or_else("call etui by Evolution's D-Bus interface where a program does so already")
        .how("org.etui.Store1")
        .measured(format!(
            "{MANY} contacts by UID in one call; etui answers through both interfaces"
        ))
        .about_etui()
        .gain("a call")
        .compare(
            group,
            &Measure::wall_time("a call", "get_many"),
            AS_EDS,
            OWN,
        );
    vec![together, interface]
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
    ReportSpec {
        tables: calls.into_iter().chain([rest]).collect(),
        advice: advise(group),
        thresholds: thresholds.chain(shapes).collect(),
        conclusion: Conclusion {
            yes: "A call of etui's services costs little more than the way over the bus.",
            partly: "A call of etui's services costs little more than the way over the bus, but not \
                     every call, start or memory stays within its bound.",
            no: "Calls, start and memory of etui's services all exceed their bounds.",
        },
        ..ReportSpec::default()
    }
}
