//! Study 4, its picture of versions: Evolution Data Server as three Debian suites have it.

use std::path::Path;

use super::about::AboutText;
use super::backends::report::{growth_chart, save_measures, wall_times};
use super::backends::{self, build_client, count_records};
use super::phonebook::{ContactKind, write_cards};
use crate::error::Error;
use crate::measure::pinned::run_pinned;
use crate::peers::eds::{Installation, SUITES, Server};
use crate::report::content::{Chart, ChartKind, ChartSeries, Unit};
use crate::report::numbers::format_whole;
use crate::spec::{Conclusion, Measure, Per, TableSpec, Threshold, chart_point};
use crate::stacks::HERE;
use crate::{
    AdviceSpec, Arm, ArmGroup, ArmRole, ArmSettings, Experiment, ExperimentInfo, ExperimentReport,
    GroupKey, LabContext, Recorder, ReportSpec, Results, RunCase, RunPlan, Study,
};

pub struct EdsVersions;

/// The works: the ways to the same book.
const OVER_BUS: &str = "over D-Bus";
const DIRECT: &str = "direct";
/// Arm of the system's own server.
const SYSTEM: &str = "EDS of this system, no root of its own";
/// A step from one version to the next that counts as a regression.
const REGRESSION: f64 = 1.1;

/// Operations of the chart: title, phase, divisor.
const OPERATIONS: [(&str, &str, Per); 11] = [
    ("save one", "save_one", Per::Run),
    ("save in batches, each", "fill", Per::Size),
    ("fetch every vCard", "all", Per::Run),
    ("fetch every vCard and its name", "names", Per::Run),
    ("names alone", "partial", Per::Run),
    ("one by UID", "get", Per::Run),
    ("50 by UID", "get_many", Per::Run),
    ("first 50 by name", "screen", Per::Run),
    ("name begins", "name_prefix", Per::Run),
    ("e-mail ends", "email_suffix", Per::Run),
    ("same phone number", "phone_equal", Per::Run),
];

fn arm_name(suite: &str) -> &'static str {
    match suite {
        "bullseye" => "EDS of Debian 11",
        "bookworm" => "EDS of Debian 12",
        _ => "EDS of Debian 13",
    }
}

fn measure((title, phase, per): (&str, &str, Per)) -> Measure {
    Measure::wall_time(title, phase).per(per)
}

impl Experiment for EdsVersions {
    fn experiment_info(&self) -> ExperimentInfo {
        static ABOUT: AboutText = AboutText::new(include_str!("eds_versions.md"));
        ABOUT.info("eds-versions", Some(Study::AddressBook))
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let mut plan = RunPlan::default();
        let mut arms = Vec::new();
        for suite in SUITES {
            let found = Installation::of(Some(suite)).map_err(|e| match e {
                Error::NotRun(reason) => reason,
                other => other.to_string(),
            });
            let role = match suite == SUITES[0] {
                true => ArmRole::AsFound,
                false => ArmRole::Peer,
            };
            match found.and_then(|installed| installed.check(Server::AddressBook)) {
                Ok(version) => {
                    let settings = ArmSettings::from("product=eds setup=shipped");
                    let settings = settings.with("suite", suite).with("version", version);
                    arms.push(Arm::new(arm_name(suite), role, settings));
                }
                Err(reason) => plan.skip(format!("version of {suite}"), reason),
            }
        }
        if arms.is_empty() {
            return Ok(plan);
        }
        match Installation::System.check(Server::AddressBook) {
            Ok(version) => {
                let settings = ArmSettings::from("product=eds setup=shipped");
                let settings = settings.with("version", version);
                arms.push(Arm::new(SYSTEM, ArmRole::Peer, settings));
            }
            Err(reason) => plan.skip("arm of this system", reason),
        }
        let mut sizes = lab.values("sizes").to_vec();
        sizes.sort_unstable();
        for &size in &sizes {
            for (work, way) in [(OVER_BUS, "dbus"), (DIRECT, "direct")] {
                let arms = arms.iter().cloned().map(|arm| {
                    let arm = arm.with("way", way);
                    arm.with("saves", lab.value("saves"))
                });
                plan.groups.push(ArmGroup {
                    repetitions: if lab.quick() { 3 } else { 5 },
                    counted: work == OVER_BUS && Some(&size) == sizes.last(),
                    seconds: 1.0 + size as f64 / 2_500.0,
                    ..ArmGroup::new(work, HERE, size, arms.collect())
                });
            }
        }
        Ok(plan)
    }

    fn set_up(&self, group: &ArmGroup, dir: &Path) -> Result<(), Error> {
        write_cards(count_records(group)?, dir)?;
        build_client::<ContactKind>(group, dir)
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        run_pinned(|_| backends::run_arm::<ContactKind>(case, recorder))
    }

    fn report_spec(&self, results: &Results) -> ReportSpec {
        report_spec(results)
    }

    fn present_results(&self, results: &Results) -> ExperimentReport {
        let mut report = report_spec(results).evaluate(results);
        for (at, work) in [OVER_BUS, DIRECT].into_iter().enumerate() {
            let largest = results.select_groups(&[work], &[HERE]).pop();
            if let Some(chart) = largest.and_then(|group| version_chart(results, &group)) {
                report.charts.insert(at.min(report.charts.len()), chart);
            }
        }
        report
    }
}

/// The suites' arms that were run, the oldest first, each with its version.
fn measured_versions(results: &Results, group: &GroupKey) -> Vec<(&'static str, ArmRole, String)> {
    let arms = results.arms(group);
    let suites = SUITES.into_iter().filter_map(|suite| {
        let name = arm_name(suite);
        let (_, role) = arms.iter().find(|(arm, _)| arm == name)?;
        let version = results.setting(group, name, "version")?;
        Some((name, *role, version.as_str()?.to_owned()))
    });
    suites.collect()
}

/// How an operation's time changed from one version to the next.
#[derive(Debug, Clone, PartialEq)]
struct VersionStep {
    operation: (&'static str, &'static str, Per),
    from: (&'static str, String),
    to: (&'static str, String),
    ratio: f64,
}

/// Every operation's steps from version to version.
fn version_steps(results: &Results, group: &GroupKey) -> Vec<VersionStep> {
    let versions = measured_versions(results, group);
    let mut steps = Vec::new();
    for operation in OPERATIONS {
        for pair in versions.windows(2) {
            let [(from, _, old), (to, _, new)] = pair else {
                continue;
            };
            let ratio = measure(operation).ratio(results, group, to, from);
            steps.extend(ratio.map(|ratio| VersionStep {
                operation,
                from: (from, old.clone()),
                to: (to, new.clone()),
                ratio: ratio.median,
            }));
        }
    }
    steps
}

/// All operations in all versions, as ratios to the oldest version.
fn version_chart(results: &Results, group: &GroupKey) -> Option<Chart> {
    let versions = measured_versions(results, group);
    let (oldest, _, oldest_version) = versions.first()?;
    let series = versions.iter().map(|(arm, role, version)| {
        let points = (0..).zip(OPERATIONS).filter_map(|(at, operation)| {
            let figure = measure(operation).ratio(results, group, arm, oldest)?;
            Some(chart_point(f64::from(at), &figure))
        });
        ChartSeries {
            name: format!("{version}, {}", arm.trim_start_matches("EDS of ")),
            role: *role,
            points: points.collect(),
        }
    });
    let series: Vec<_> = series.collect();
    let labels = OPERATIONS.map(|(title, ..)| title.to_owned());
    (series.len() > 1).then(|| Chart {
        title: format!("Versions {}, {} contacts", group.work, group.size),
        kind: ChartKind::Bars,
        x: String::new(),
        y: format!("time, in that of version {oldest_version}; less is better"),
        unit: Unit::Ratio,
        labels: labels.to_vec(),
        series,
    })
}

fn report_spec(results: &Results) -> ReportSpec {
    let groups = |work| results.select_groups(&[work], &[HERE]);
    let largest = groups(OVER_BUS).pop();
    let mut tables = Vec::new();
    for work in [OVER_BUS, DIRECT] {
        let versions = groups(work).pop().map(|group| {
            let versions = measured_versions(results, &group).into_iter();
            let names = versions.map(|(arm, _, version)| {
                format!("{} has {version}", arm.trim_start_matches("EDS of "))
            });
            names.collect::<Vec<_>>().join(", ")
        });
        let table = |title: &str, measures: Vec<Measure>| {
            TableSpec::new(format!("{title} {work}, by version"), groups(work))
                .caption(versions.clone().unwrap_or_default() + ".")
                .measures(measures)
                .base(arm_name(SUITES[0]))
                .size_unit("contacts")
        };
        let reads = OPERATIONS.into_iter().skip(2).map(measure);
        tables.push(table("Fetching and finding", reads.collect()));
        if work == OVER_BUS {
            tables.push(table("Saving", save_measures()));
        }
        tables.push(table(
            "Opening",
            wall_times(&[("open", "open"), ("close", "close")]),
        ));
    }
    let steps = largest.as_ref().map(|group| version_steps(results, group));
    let steps = steps.unwrap_or_default();
    let worst = steps.iter().max_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let finding = worst.map(|step| {
        let (title, ..) = step.operation;
        let claim = format!(
            "the largest step, `{title}` in {} against {}",
            step.to.1, step.from.1
        );
        Threshold::finding(claim)
            .of(largest.as_ref(), step.to.0, measure(step.operation))
            .against_arm(step.from.0)
            .at_least(REGRESSION)
            .published("133 %")
    });
    let versions = largest
        .as_ref()
        .map(|group| measured_versions(results, group));
    let advice = advise(largest.as_ref(), &versions.unwrap_or_default());
    let mut notes = Vec::new();
    for (title, is_meant) in [
        (
            "Slower by a tenth or more",
            (|r| r >= REGRESSION) as fn(f64) -> bool,
        ),
        ("Faster by a tenth or more", |r| r <= 1.0 / REGRESSION),
    ] {
        let meant = steps.iter().filter(|step| is_meant(step.ratio));
        let named: Vec<String> = meant.map(describe_step).collect();
        if !named.is_empty() {
            notes.push(format!("{title}: {}.", named.join("; ")));
        }
    }
    ReportSpec {
        tables,
        charts: vec![
            growth_chart(
                groups(OVER_BUS),
                "all",
                "Fetching every contact, by version",
                "contacts in the book",
                Per::Run,
            ),
            growth_chart(
                groups(OVER_BUS),
                "save_one",
                "Saving one contact, by version",
                "contacts in the book",
                Per::Run,
            ),
        ],
        advice: advice.into_iter().collect(),
        thresholds: finding.into_iter().collect(),
        conclusion: Conclusion {
            yes: "Operations still become slower from one version to the next.",
            no: "No operation became slower by a tenth from one of these versions to the next.",
            ..Conclusion::default()
        },
        notes,
        ..ReportSpec::default()
    }
}

/// Advice on the version to run: the oldest or the newest.
fn advise(
    group: Option<&GroupKey>,
    versions: &[(&'static str, ArmRole, String)],
) -> Option<AdviceSpec> {
    let [(oldest, _, old), .., (newest, _, new)] = versions else {
        return None;
    };
    let contacts = format_whole(group?.size);
    Some(
        AdviceSpec::new(format!(
            "run version {new} of Evolution Data Server, not {old}"
        ))
        .or_else(format!(
            "do not expect speed of version {new} of Evolution Data Server over {old}"
        ))
        .measured(format!("All {contacts} contacts over D-Bus"))
        .gain("fetching every contact")
        .compare(group, &Measure::wall_time("time", "all"), *oldest, *newest),
    )
}

/// Returns `OPERATION 1.40x in NEW against OLD`.
fn describe_step(step: &VersionStep) -> String {
    let (title, ..) = step.operation;
    format!(
        "{title} {:.2}x in {} against {}",
        step.ratio, step.to.1, step.from.1
    )
}

#[cfg(test)]
mod tests;
