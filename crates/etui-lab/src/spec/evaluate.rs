//! Evaluates the declarations of a report over results.

use super::{
    Base, ChartAxis, ChartSpec, ColumnAxis, Measure, ReportSpec, TableSpec, Threshold,
    ThresholdKind, capitalize,
};
use crate::ArmRole;
use crate::present::{
    BetterWhen, Chart, ChartKind, ChartPoint, ChartSeries, ExperimentReport, FindingStatus, Loss,
    Table, TableCell, TableColumn, TableRow, Unit, Verdict,
};
use crate::report::numbers::{format_value, format_whole};
use crate::results::{Figure, GroupKey, Results};

/// A figure that is better than etui's by less than this factor is no loss.
const LEAST_LOSS: f64 = 1.02;

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

impl TableSpec {
    fn evaluate(&self, results: &Results, etui: Option<&str>) -> Option<Table> {
        let labels = self.group_labels();
        let groups = || self.groups.iter().zip(&labels);
        let (columns, rows): (Vec<TableColumn>, Vec<TableRow>) = match self.columns {
            ColumnAxis::Measures => {
                let columns = self.measures.iter().map(|m| m.column(m.title.clone()));
                let mut rows = Vec::new();
                for (group, label) in groups() {
                    for (arm, role) in select_arms(results, std::slice::from_ref(group), &self.arms)
                    {
                        let cells = self.measures.iter();
                        let cells = cells.map(|m| self.cell(results, (group, &arm, role), m, etui));
                        rows.push(TableRow {
                            cells: cells.collect(),
                            label: match label.as_str() {
                                "" => arm,
                                label => format!("{label}: {arm}"),
                            },
                            role,
                        });
                    }
                }
                (columns.collect(), rows)
            }
            ColumnAxis::Groups => {
                let across = || {
                    let measures = self.measures.iter();
                    measures.flat_map(|measure| groups().map(move |(g, l)| (measure, g, l)))
                };
                let columns = across().map(|(measure, _, label)| {
                    let title = match (label.as_str(), self.measures.len()) {
                        ("", _) => measure.title.clone(),
                        (label, 1) => label.to_owned(),
                        (label, _) => format!("{label}, {}", measure.title),
                    };
                    measure.column(title)
                });
                let arms = select_arms(results, &self.groups, &self.arms).into_iter();
                let rows = arms.map(|(arm, role)| TableRow {
                    cells: across()
                        .map(|(m, group, _)| self.cell(results, (group, &arm, role), m, etui))
                        .collect(),
                    label: arm,
                    role,
                });
                (columns.collect(), rows.collect())
            }
        };
        let published = self.published.iter().map(|row| TableRow {
            label: row.label.clone(),
            role: ArmRole::AsFound,
            cells: row
                .figures
                .iter()
                .map(|f| TableCell::of(Some(*f)))
                .collect(),
        });
        let measured = rows.iter().any(has_figures);
        let mut rows: Vec<TableRow> = published.chain(rows).filter(has_figures).collect();
        for at in 0..columns.len() {
            // A base that nothing is compared with is not shown as one.
            let ratios = |row: &TableRow| row.cells.get(at).is_some_and(|c| c.ratio.is_some());
            if !rows.iter().any(ratios) {
                let cells = rows.iter_mut().filter_map(|row| row.cells.get_mut(at));
                cells.for_each(|cell| cell.base = false);
            }
        }
        let used: Vec<bool> = (0..columns.len())
            .map(|at| {
                let mut cells = rows.iter().filter_map(|row| row.cells.get(at));
                cells.any(|cell| cell.value.is_some())
            })
            .collect();
        measured.then(|| Table {
            title: self.title.clone(),
            caption: self.caption.clone(),
            columns: keep_used(columns, &used),
            rows: rows
                .into_iter()
                .map(|row| TableRow {
                    cells: keep_used(row.cells, &used),
                    ..row
                })
                .collect(),
        })
    }

    fn cell(
        &self,
        results: &Results,
        (group, arm, role): (&GroupKey, &str, ArmRole),
        measure: &Measure,
        etui: Option<&str>,
    ) -> TableCell {
        let Some(figure) = measure.figure(results, group, arm) else {
            return TableCell::default();
        };
        let ratio = |base| measure.ratio(results, group, arm, base).map(|r| r.median);
        TableCell {
            value: Some(figure.median),
            range: (figure.count > 1).then_some((figure.low, figure.high)),
            ratio: self.base.filter(|base| *base != arm).and_then(ratio),
            base: self.base == Some(arm),
            lost: etui
                .filter(|_| !matches!(role, ArmRole::Etui | ArmRole::Variant | ArmRole::Unsafe))
                .and_then(|etui| {
                    let etui = self.etui_arm(results, group, etui)?;
                    let ours = measure.figure(results, group, &etui)?;
                    find_loss(&figure, &ours, &etui, measure.better)
                }),
            note: String::new(),
        }
    }

    /// Returns the arm that losses of a group are counted against: etui's, or where the table has
    /// none of that name, its first arm of etui.
    fn etui_arm(&self, results: &Results, group: &GroupKey, etui: &str) -> Option<String> {
        let arms = select_arms(results, std::slice::from_ref(group), &self.arms);
        let named = arms.iter().find(|(arm, _)| arm == etui);
        let any = || arms.iter().find(|(_, role)| *role == ArmRole::Etui);
        named.or_else(any).map(|(arm, _)| arm.clone())
    }

    /// Returns a label for each group, of the parts in which the groups differ.
    fn group_labels(&self) -> Vec<String> {
        let differ = |part: fn(&GroupKey) -> String| {
            let mut parts = self.groups.iter().map(part);
            let first = parts.next();
            parts.any(|part| Some(part) != first)
        };
        let work = differ(|group| group.work.clone());
        let stack = differ(|group| group.stack.clone());
        let size = differ(|group| group.size.to_string());
        let label = |group: &GroupKey| {
            let mut parts = Vec::new();
            if stack {
                parts.push(group.stack.clone());
            }
            if work {
                parts.push(group.work.clone());
            }
            if size {
                let of = format!("{} {}", format_whole(group.size), self.size_unit);
                parts.push(of.trim_end().to_owned());
            }
            parts.join(", ")
        };
        self.groups.iter().map(label).collect()
    }
}

/// Returns by how much a figure is better than etui's.
fn find_loss(figure: &Figure, ours: &Figure, etui: &str, better: BetterWhen) -> Option<Loss> {
    let (above, below) = match better {
        BetterWhen::Less => (ours.median, figure.median),
        BetterWhen::More => (figure.median, ours.median),
        BetterWhen::Neither => return None,
    };
    let times = match below > 0.0 {
        true => above / below,
        false if above > 0.0 => f64::INFINITY,
        false => return None,
    };
    (times >= LEAST_LOSS).then(|| Loss {
        arm: etui.to_owned(),
        figure: ours.median,
        times,
        unsure: figure.low <= ours.high && ours.low <= figure.high,
    })
}

fn has_figures(row: &TableRow) -> bool {
    row.cells.iter().any(|cell| cell.value.is_some())
}

fn keep_used<T>(all: Vec<T>, used: &[bool]) -> Vec<T> {
    let kept = all.into_iter().zip(used).filter(|(_, used)| **used);
    kept.map(|(one, _)| one).collect()
}

impl ChartSpec {
    fn evaluate(&self, results: &Results) -> Option<Chart> {
        let unit = self.measures.first()?.unit;
        let arms = select_arms(results, &self.groups, &self.arms);
        let (kind, x, labels, series) = match self.axis {
            ChartAxis::Sizes(x) => (ChartKind::Growth, x, Vec::new(), self.curves(results, arms)),
            ChartAxis::Arms => {
                let (labels, series) = self.collect_bars(results, arms);
                let kind = match self.measures.len() {
                    1 => ChartKind::Bars,
                    _ => ChartKind::Stacked,
                };
                (kind, "", labels, series)
            }
        };
        (!series.is_empty()).then(|| Chart {
            title: self.title.clone(),
            kind,
            x: x.to_owned(),
            y: self.y.to_owned(),
            unit,
            labels,
            series,
        })
    }

    fn curves(&self, results: &Results, arms: Vec<(String, ArmRole)>) -> Vec<ChartSeries> {
        let series = arms.into_iter().map(|(name, role)| {
            let points = self.groups.iter().filter_map(|group| {
                let figure = self.measures.first()?.figure(results, group, &name)?;
                Some(chart_point(group.size as f64, &figure))
            });
            ChartSeries {
                points: points.collect(),
                name,
                role,
            }
        });
        series.filter(|series| series.points.len() > 1).collect()
    }

    fn collect_bars(
        &self,
        results: &Results,
        arms: Vec<(String, ArmRole)>,
    ) -> (Vec<String>, Vec<ChartSeries>) {
        let Some(group) = self.groups.first() else {
            return (Vec::new(), Vec::new());
        };
        let figure = |arm: &str, measure: &Measure| measure.figure(results, group, arm);
        let has_any = |arm: &str| self.measures.iter().any(|m| figure(arm, m).is_some());
        let arms: Vec<_> = arms.into_iter().filter(|(arm, _)| has_any(arm)).collect();
        let labels = arms.iter().map(|(arm, _)| arm.clone()).collect();
        let mut series: Vec<ChartSeries> = Vec::new();
        for measure in &self.measures {
            for (at, (arm, role)) in arms.iter().enumerate() {
                let Some(figure) = figure(arm, measure) else {
                    continue;
                };
                let point = chart_point(at as f64, &figure);
                // Bars have a series for each role, stacked bars one for each part.
                let (name, role) = match self.measures.len() {
                    1 => (role.label(), *role),
                    _ => (measure.title.as_str(), ArmRole::AsFound),
                };
                match series.iter_mut().find(|series| series.name == name) {
                    Some(series) => series.points.push(point),
                    None => series.push(ChartSeries {
                        name: name.to_owned(),
                        role,
                        points: vec![point],
                    }),
                }
            }
        }
        series.retain(|series| series.points.iter().any(|point| point.y != 0.0));
        (labels, series)
    }
}

/// Returns the point of a figure, with the range of its repetitions.
pub(crate) fn chart_point(x: f64, figure: &Figure) -> ChartPoint {
    ChartPoint {
        x,
        y: figure.median,
        range: (figure.count > 1).then_some((figure.low, figure.high)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use super::*;
    use crate::experiment::{ArmSettings, MeasurePass, RunCase};
    use crate::results::RunRecord;
    use crate::spec::{Conclusion, Per};

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

    fn sample() -> Results {
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
    fn a_peer_that_is_faster_is_a_loss() {
        let results = sample();
        let table = TableSpec {
            groups: results.groups(),
            measures: vec![Measure::wall_time("a", "a"), Measure::new("none", "none")],
            base: Some("old"),
            size_unit: "records",
            ..TableSpec::default()
        };
        let table = table.evaluate(&results, Some("ours")).unwrap();
        let labels: Vec<&str> = table.rows.iter().map(|row| row.label.as_str()).collect();
        assert_eq!(labels[2..], ["10 records: peer", "20 records: old"]);
        let lost = table.rows.iter().map(|row| row.cells[0].lost.as_ref());
        let lost: Vec<_> = lost.map(|loss| loss.map(|l| (l.figure, l.times))).collect();
        assert_eq!(lost, [None, None, Some((20.0, 2.0)), None]);
        // A table whose arm of etui has another name.
        let other = TableSpec {
            groups: results.groups(),
            measures: vec![Measure::wall_time("a", "a")],
            ..TableSpec::default()
        };
        let other = other.evaluate(&results, Some("ours elsewhere")).unwrap();
        let loss = other.rows[2].cells[0].lost.as_ref().unwrap();
        assert_eq!((loss.arm.as_str(), loss.unsure), ("ours", false));
        assert_eq!(table.rows[1].cells[0].ratio, Some(0.5));
        assert_eq!(
            table.columns.len(),
            1,
            "columns without figures are left out"
        );
        assert!(TableSpec::default().evaluate(&results, None).is_none());
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
