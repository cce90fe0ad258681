//! Evaluates the declarations of a report over results: here the thresholds and the verdict,
//! [`tables`] and [`charts`] apart.

mod charts;
mod tables;

use super::{Base, ReportSpec, Threshold, ThresholdKind, capitalize};
use crate::ArmRole;
use crate::report::content::{ExperimentReport, FindingStatus, Unit, Verdict};
use crate::report::numbers::format_value;
use crate::results::{Figure, GroupKey, Results};

pub(crate) use charts::chart_point;

/// Above this number of thresholds the notes list only those that do not hold.
const MAX_LISTED_THRESHOLDS: usize = 8;

impl Threshold {
    fn evaluate(&self, results: &Results) -> Option<CheckedThreshold<'_>> {
        let group = self.group.as_ref()?;
        let figure = match &self.base {
            Base::Nothing => self.measure.figure(results, group, &self.arm)?,
            Base::Arm(base) => self.measure.ratio(results, group, &self.arm, base)?,
            Base::Other(base_group, base_arm, base) => {
                let base = base.figure(results, base_group.as_ref()?, base_arm)?;
                let figure = self.measure.figure(results, group, &self.arm)?;
                (base.median > 0.0).then(|| Figure::single(figure.median / base.median))?
            }
        };
        Some(CheckedThreshold {
            threshold: self,
            figure,
            holds: (self.low..=self.high).contains(&figure.median),
        })
    }

    fn unit(&self) -> Unit {
        match self.base {
            Base::Nothing => self.measure.unit,
            Base::Arm(_) | Base::Other(..) => Unit::Ratio,
        }
    }
}

/// A threshold with its figure.
struct CheckedThreshold<'a> {
    threshold: &'a Threshold,
    figure: Figure,
    holds: bool,
}

impl CheckedThreshold<'_> {
    /// Returns `claim: figure of the base (the study: figure)`.
    fn format_figure(&self) -> String {
        let Threshold {
            claim, published, ..
        } = self.threshold;
        let mut figure = format_value(self.figure.median, self.threshold.unit());
        if let Base::Arm(base) = &self.threshold.base {
            figure += &format!(" of \u{201c}{base}\u{201d}");
        }
        match *published {
            "" => format!("{claim}: {figure}"),
            published => format!("{claim}: {figure} (the study: {published})"),
        }
    }

    /// Returns the figure with its range, its bound and whether it holds.
    fn format_note(&self) -> String {
        let unit = self.threshold.unit();
        let format = |value| format_value(value, unit);
        let status = match (self.threshold.kind, self.holds) {
            (ThresholdKind::Finding, true) => "Shows",
            (ThresholdKind::Finding, false) => "Does not show",
            (ThresholdKind::Target, true) => "Met",
            (ThresholdKind::Target, false) => "Missed",
        };
        let mut note = format!("{status}: {}", self.format_figure());
        if self.figure.count > 1 {
            note += &format!(
                "; {} to {} in {} repetitions",
                format(self.figure.low),
                format(self.figure.high),
                self.figure.count
            );
        }
        if self.threshold.high.is_finite() {
            note += &format!("; bound: at most {}", format(self.threshold.high));
        }
        if self.threshold.low.is_finite() {
            note += &format!("; bound: at least {}", format(self.threshold.low));
        }
        note + "."
    }
}

impl ReportSpec {
    /// Evaluates the declarations over results, which may be partial.
    pub fn evaluate(self, results: &Results) -> ExperimentReport {
        let tables = self.tables.iter();
        let tables = tables.filter_map(|table| table.evaluate(results, self.etui));
        let charts = self.charts.iter();
        let charts = charts.filter_map(|chart| chart.evaluate(results));
        ExperimentReport {
            verdict: self.evaluate_verdict(results),
            charts: charts.collect(),
            tables: tables.chain(self.derived_tables).collect(),
        }
    }

    fn evaluate_verdict(&self, results: &Results) -> Verdict {
        let checked: Vec<_> = self
            .thresholds
            .iter()
            .filter_map(|threshold| threshold.evaluate(results))
            .collect();
        let of_kind = |kind| checked.iter().filter(move |c| c.threshold.kind == kind);
        let declared = |kind| {
            self.thresholds
                .iter()
                .filter(move |t| t.kind == kind)
                .count()
        };
        let deciding = match declared(ThresholdKind::Finding) {
            0 => ThresholdKind::Target,
            _ => ThresholdKind::Finding,
        };
        let evaluated = of_kind(deciding).count();
        let holding = of_kind(deciding).filter(|c| c.holds).count();
        let status = match (holding, evaluated, declared(deciding)) {
            (_, 0, _) => FindingStatus::Open,
            (holding, evaluated, declared) if holding == evaluated && evaluated * 2 > declared => {
                FindingStatus::Yes
            }
            (0, evaluated, declared) if evaluated * 2 >= declared => FindingStatus::No,
            (0, ..) => FindingStatus::Open,
            _ => FindingStatus::Partly,
        };
        let conclusion = match status {
            FindingStatus::Open => "Too little was run to tell.",
            FindingStatus::Yes => self.conclusion.yes,
            FindingStatus::Partly => self.conclusion.partly,
            FindingStatus::No => self.conclusion.no,
        };
        let figures: Vec<String> = of_kind(deciding)
            .take(2)
            .map(CheckedThreshold::format_figure)
            .collect();
        let evidence = match figures.as_slice() {
            [] => String::new(),
            figures => format!("{}.", capitalize(&figures.join("; "))),
        };
        let mut notes = Vec::new();
        for kind in [ThresholdKind::Finding, ThresholdKind::Target] {
            let many = of_kind(kind).count() > MAX_LISTED_THRESHOLDS;
            let listed = of_kind(kind).filter(|c| !many || !c.holds);
            notes.extend(listed.map(CheckedThreshold::format_note));
        }
        notes.extend(self.notes.iter().cloned());
        let advice = self.advice.iter();
        Verdict {
            advice: advice.filter_map(|one| one.evaluate(results)).collect(),
            shown: status,
            sentence: conclusion.to_owned(),
            evidence,
            notes,
        }
    }
}

/// Returns the arms of groups, each once, in the order in which they were planned.
fn select_arms(
    results: &Results,
    groups: &[GroupKey],
    wanted: &[String],
) -> Vec<(String, ArmRole)> {
    let mut arms: Vec<(String, ArmRole)> = Vec::new();
    for group in groups {
        for arm in results.arms(group) {
            if (wanted.is_empty() || wanted.contains(&arm.0)) && !arms.contains(&arm) {
                arms.push(arm);
            }
        }
    }
    arms
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use super::*;
    use crate::arms::{ArmSettings, MeasurePass, RunCase};
    use crate::results::RunRecord;
    use crate::spec::{Conclusion, Measure, Per};

    pub type Run<'a> = (&'a str, u64, ArmRole, &'a [(&'a str, f64)]);

    pub fn results(runs: &[Run<'_>]) -> Results {
        let runs = runs
            .iter()
            .enumerate()
            .map(|(at, (arm, size, role, measures))| RunRecord {
                case: RunCase {
                    experiment: "one".to_owned(),
                    work: "save".to_owned(),
                    stack: "here".to_owned(),
                    size: *size,
                    arm: (*arm).to_owned(),
                    role: *role,
                    pass: MeasurePass::Timed,
                    repetition: runs
                        .iter()
                        .take(at)
                        .filter(|earlier| (earlier.0, earlier.1) == (*arm, *size))
                        .count() as u32,
                    settings: ArmSettings::new(),
                },
                answer: String::new(),
                measures: measures
                    .iter()
                    .map(|(k, v)| ((*k).to_owned(), *v))
                    .collect(),
            });
        Results {
            runs: runs.collect(),
            ..Results::default()
        }
    }

    pub fn sample() -> Results {
        let times = |ns| [("a/wall_ns", ns), ("b/wall_ns", ns / 2.0)];
        results(&[
            ("old", 10, ArmRole::AsFound, &times(40.0)),
            ("ours", 10, ArmRole::Etui, &times(20.0)),
            ("peer", 10, ArmRole::Peer, &times(10.0)),
            ("old", 20, ArmRole::AsFound, &times(80.0)),
        ])
    }

    #[test]
    fn measures_are_sums_and_quotients() {
        let (results, group) = (sample(), sample().groups().remove(0));
        let of = |measure: Measure| measure.figure(&results, &group, "old").unwrap().median;
        assert_eq!(of(Measure::new("", "a/wall_ns + b/wall_ns")), 60.0);
        assert_eq!(
            of(Measure::new("", "a/wall_ns - b/wall_ns + no/wall_ns")),
            20.0
        );
        assert_eq!(of(Measure::wall_time("", "a").per(Per::Size)), 4.0);
        let second = Measure::wall_time("", "a").per(Per::Second);
        assert_eq!(of(second.clone()), 10.0 / 40e-9);
        assert_eq!(
            second
                .ratio(&results, &group, "ours", "old")
                .unwrap()
                .median,
            2.0
        );
        assert_eq!(
            of(Measure::wall_time("", "a").per(Per::Measure("b/wall_ns"))),
            2.0
        );
    }

    #[test]
    fn a_verdict_counts_the_findings_that_hold() {
        let (results, group) = (sample(), sample().groups().remove(0));
        let finding = |bound| {
            let measure = Measure::wall_time("a", "a");
            Threshold::finding("time of ours")
                .of(Some(&group), "ours", measure)
                .against_arm("old")
                .at_most(bound)
                .published("0.4")
        };
        let verdict = |bounds: &[f64], results: &Results| {
            let spec = ReportSpec {
                thresholds: bounds.iter().map(|bound| finding(*bound)).collect(),
                conclusion: Conclusion {
                    yes: "Faster.",
                    partly: "Mixed.",
                    no: "Slower.",
                },
                ..ReportSpec::default()
            };
            spec.evaluate(results).verdict
        };
        let yes = verdict(&[0.6], &results);
        assert_eq!(yes.shown, FindingStatus::Yes);
        assert_eq!(yes.sentence, "Faster.");
        assert_eq!(
            yes.evidence,
            "Time of ours: 0.50x of \u{201c}old\u{201d} (the study: 0.4)."
        );
        assert_eq!(
            yes.notes,
            [
                "Shows: time of ours: 0.50x of \u{201c}old\u{201d} (the study: 0.4); bound: at most 0.60x."
            ]
        );
        assert_eq!(verdict(&[0.6, 0.1], &results).shown, FindingStatus::Partly);
        assert_eq!(verdict(&[0.1], &results).shown, FindingStatus::No);
        let open = verdict(&[0.6], &Results::default());
        assert_eq!(open.shown, FindingStatus::Open);
        assert_eq!(open.sentence, "Too little was run to tell.");
    }
}
