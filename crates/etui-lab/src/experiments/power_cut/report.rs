//! Tables, verdict and thresholds of `power-cut`.

use super::arms;
use crate::{Conclusion, GroupKey, Measure, ReportSpec, Results, TableSpec, Threshold};

fn lossy() -> Measure {
    Measure::new("points with losses", "cut/lossy_points")
}

fn lost() -> Measure {
    Measure::new("records lost", "cut/lost")
}

fn damaged() -> Measure {
    Measure::new("damaged", "cut/damaged + cut/unmounted")
}

pub fn report_spec(results: &Results) -> ReportSpec {
    let groups = results.groups();
    let tables = vec![
        TableSpec::new("Power cuts at which acknowledged records were lost", groups.clone())
            .caption("Of as many points as the last table says.")
            .measures(vec![lossy()])
            .by_group()
            .size_unit("saves"),
        TableSpec::new("Power cuts that left a damaged store", groups.clone())
            .caption("It cannot be opened, its check finds faults, or its records are those of no moment of the run; or its file system cannot be mounted.")
            .measures(vec![damaged()])
            .by_group()
            .size_unit("saves"),
        TableSpec::new("Power cuts, in detail", groups.clone())
            .caption("Records acknowledged and lost are added up over all points; those of damaged stores are not counted. Writes in doubt are those since the last flush.")
            .measures(vec![
                Measure::new("points", "cut/points").informative(),
                Measure::new("acknowledged", "cut/acknowledged").informative(),
                lossy(),
                lost(),
                Measure::new("damaged stores", "cut/damaged"),
                Measure::new("not mounted", "cut/unmounted"),
                Measure::new("writes in doubt", "cut/in_doubt").informative(),
                Measure::new("flushes of the run", "cut/flushes").informative(),
            ])
            .size_unit("saves"),
    ];
    ReportSpec {
        tables,
        thresholds: groups.iter().flat_map(list_thresholds).collect(),
        conclusion: Conclusion {
            yes: "With a rollback journal and synchronous=FULL a power cut takes acknowledged records; \
                  use EXTRA, or WAL with FULL.",
            partly: "With a rollback journal and synchronous=FULL a power cut takes acknowledged records \
                     on some file systems; use EXTRA, or WAL with FULL.",
            no: "No power cut took an acknowledged record of a rollback journal with synchronous=FULL here.",
        },
        etui: Some(arms::FULL_REDO),
        ..ReportSpec::default()
    }
}

fn list_thresholds(group: &GroupKey) -> Vec<Threshold> {
    let name = &group.work;
    let none_of = |arm: &str, what: &str, measure| {
        Threshold::target(format!("{name}, {arm}: {what}"))
            .of(Some(group), arm, measure)
            .at_most(0.0)
    };
    let mut thresholds = vec![
        Threshold::finding(format!(
            "{name}: cuts that took records of a rollback journal with FULL"
        ))
        .of(Some(group), arms::PLAIN_DELETE, lossy())
        .at_least(1.0),
    ];
    for arm in arms::DURABLE {
        thresholds.push(none_of(arm, "records lost", lost()));
    }
    for arm in arms::DURABLE.iter().chain(&arms::DEFERRED) {
        thresholds.push(none_of(arm, "damaged stores", damaged()));
    }
    for arm in arms::DROPPED {
        let claim = format!("{name}, {arm}: cuts that took records");
        let measure = Measure::new("", "cut/lossy_points + cut/damaged + cut/unmounted");
        let threshold = Threshold::target(claim).of(Some(group), arm, measure);
        thresholds.push(threshold.at_least(1.0));
    }
    thresholds
}
