//! Declarations of an experiment's report.
//!
//! An experiment declares tables ([`TableSpec`]), charts ([`ChartSpec`]) and thresholds
//! ([`Threshold`]) over [`Measure`]s. [`ReportSpec::evaluate`] (in `evaluate`) turns them and the
//! results into tables, charts and a verdict; every form of the report is made from those.

/// Methods that set a field each: `NAME(FIELD: TYPE OF THE ARGUMENT);`.
macro_rules! setters {
    ($($(#[$about:meta])* $name:ident($field:ident: $type:ty);)*) => {$(
        $(#[$about])*
        #[must_use]
        pub fn $name(mut self, $field: $type) -> Self {
            self.$field = $field.into();
            self
        }
    )*};
}

mod advice;
mod evaluate;

use std::collections::BTreeMap;

use crate::measure;
use crate::report::content::{BetterWhen, Table, TableColumn, Unit};
use crate::results::{Figure, GroupKey, Results};
use crate::stats;

pub use advice::AdviceSpec;
pub(crate) use evaluate::chart_point;

/// Divisor of a measure.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Per {
    /// The whole run.
    #[default]
    Run,
    /// One unit of the group's size.
    Size,
    /// One unit of a numeric setting of the arm.
    Setting(&'static str),
    /// A fixed number of operations.
    Times(u64),
    /// Another measure of the same arm; gives a ratio.
    Measure(&'static str),
    /// A rate: units of the group's size per second of a time.
    Second,
}

/// A measured quantity: its key in the results, its divisor and its unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Measure {
    /// Column heading.
    pub title: String,
    /// `phase/measure`, or a sum: `sync/wall_ns + checkpoint/wall_ns`. `-` subtracts. A term
    /// that was not recorded counts as 0 if another one was.
    pub key: String,
    /// Divisor.
    pub per: Per,
    /// Unit of the quotient.
    pub unit: Unit,
    /// Which direction is better.
    pub better: BetterWhen,
}

impl Measure {
    /// A measure of the whole run; less is better.
    pub fn new(title: impl Into<String>, key: impl Into<String>) -> Self {
        let key = key.into();
        let (unit, _) = measure::measure_unit(key.split(' ').next().unwrap_or_default());
        Self {
            title: title.into(),
            key,
            per: Per::Run,
            unit,
            better: BetterWhen::Less,
        }
    }

    /// Wall time of a phase.
    pub fn wall_time(title: impl Into<String>, phase: &str) -> Self {
        Self::new(title, format!("{phase}/wall_ns"))
    }

    /// Sets the divisor, and the unit that follows from it.
    #[must_use]
    pub fn per(mut self, per: Per) -> Self {
        match per {
            Per::Second => (self.unit, self.better) = (Unit::PerSecond, BetterWhen::More),
            Per::Measure(_) => self.unit = Unit::Ratio,
            _ => {}
        }
        self.per = per;
        self
    }

    /// Marks the measure as informative: neither direction is better.
    #[must_use]
    pub fn informative(mut self) -> Self {
        self.better = BetterWhen::Neither;
        self
    }

    /// Returns the values by repetition.
    fn read_values(&self, results: &Results, group: &GroupKey, arm: &str) -> BTreeMap<u32, f64> {
        let mut sum: BTreeMap<u32, f64> = BTreeMap::new();
        let mut sign = 1.0;
        for word in self.key.split_whitespace() {
            match word {
                "+" => sign = 1.0,
                "-" => sign = -1.0,
                key => {
                    let term: BTreeMap<u32, f64> =
                        results.values(group, arm, key).into_iter().collect();
                    if sum.is_empty() {
                        sum = term
                            .into_iter()
                            .map(|(at, value)| (at, sign * value))
                            .collect();
                        continue;
                    }
                    // A term from a pass of its own has its median for every repetition.
                    let median = results.median(group, arm, key).unwrap_or(0.0);
                    for (at, value) in &mut sum {
                        *value += sign * term.get(at).copied().unwrap_or(median);
                    }
                }
            }
        }
        let Some(divide) = self.divisor(results, group, arm) else {
            return BTreeMap::new();
        };
        for value in sum.values_mut() {
            *value = divide(*value);
        }
        sum
    }

    fn divisor(
        &self,
        results: &Results,
        group: &GroupKey,
        arm: &str,
    ) -> Option<Box<dyn Fn(f64) -> f64>> {
        let size = group.size.max(1) as f64;
        let by = match self.per {
            Per::Run => 1.0,
            Per::Size => size,
            Per::Times(times) => times.max(1) as f64,
            Per::Setting(name) => results.setting(group, arm, name)?.as_f64()?.max(1.0),
            Per::Measure(key) => results.median(group, arm, key).filter(|by| *by > 0.0)?,
            Per::Second => return Some(Box::new(move |ns| size / (ns.max(1.0) / 1e9))),
        };
        Some(Box::new(move |value| value / by))
    }

    /// Returns the figure of an arm over its repetitions.
    pub fn figure(&self, results: &Results, group: &GroupKey, arm: &str) -> Option<Figure> {
        let values = self.read_values(results, group, arm);
        Figure::of(&values.into_values().collect::<Vec<_>>())
    }

    /// Returns the ratio of an arm's figure to another's: that of the medians, so that it agrees
    /// with the figures beside it. Its range is that of the ratios within each repetition.
    pub fn ratio(
        &self,
        results: &Results,
        group: &GroupKey,
        arm: &str,
        base: &str,
    ) -> Option<Figure> {
        let base = self.read_values(results, group, base);
        let values = self.read_values(results, group, arm);
        let ratios = values.iter().filter_map(|(at, value)| {
            let base = *base.get(at)?;
            (base > 0.0).then_some(value / base)
        });
        let within = Figure::of(&ratios.collect::<Vec<_>>())?;
        let median = |values: &BTreeMap<u32, f64>| {
            stats::median(&values.values().copied().collect::<Vec<_>>())
        };
        let (value, base) = (median(&values)?, median(&base)?);
        (base > 0.0).then(|| Figure {
            median: value / base,
            low: within.low.min(value / base),
            high: within.high.max(value / base),
            count: within.count,
        })
    }

    fn column(&self, title: String) -> TableColumn {
        TableColumn {
            title,
            unit: self.unit,
            better: self.better,
        }
    }
}

/// Axis of a table's columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ColumnAxis {
    /// One column for each measure; a row for each arm of each group.
    #[default]
    Measures,
    /// One column for each group (and measure); a row for each arm.
    Groups,
}

/// A row of figures that were published elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedRow {
    /// Label.
    pub label: String,
    /// One figure for each column, in the column's unit.
    pub figures: Vec<f64>,
}

/// A table: arms down; measures or groups across. Rows and columns without a figure are left
/// out, and so is a table without rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TableSpec {
    /// Title.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// Groups shown, in order.
    pub groups: Vec<GroupKey>,
    /// Arms shown; empty: all of them.
    pub arms: Vec<String>,
    /// Measures shown.
    pub measures: Vec<Measure>,
    /// Axis of the columns.
    pub columns: ColumnAxis,
    /// The arm that ratios are taken against, in the same group.
    pub base: Option<&'static str>,
    /// Unit of the groups' sizes, for labels: `records`.
    pub size_unit: &'static str,
    /// Published figures, shown before the measured rows.
    pub published: Vec<PublishedRow>,
}

impl TableSpec {
    /// A table of all arms.
    pub fn new(title: impl Into<String>, groups: Vec<GroupKey>) -> Self {
        Self {
            title: title.into(),
            groups,
            ..Self::default()
        }
    }

    setters! {
        /// Sets how to read it.
        caption(caption: impl Into<String>);
        /// Sets the measures.
        measures(measures: Vec<Measure>);
        /// Takes ratios to an arm.
        base(base: impl Into<Option<&'static str>>);
        /// Sets the unit of the groups' sizes.
        size_unit(size_unit: &'static str);
        /// Shows published figures before the measured rows.
        published(published: Vec<PublishedRow>);
    }

    /// Shows these arms alone.
    #[must_use]
    pub fn arms<A: Into<String>>(mut self, arms: impl IntoIterator<Item = A>) -> Self {
        self.arms = arms.into_iter().map(A::into).collect();
        self
    }

    /// Shows a column for each group.
    #[must_use]
    pub fn by_group(mut self) -> Self {
        self.columns = ColumnAxis::Groups;
        self
    }
}

/// The x axis of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChartAxis {
    /// The groups' sizes, with their unit: growth curves, one for each arm.
    Sizes(&'static str),
    /// The arms: bars of one measure, or stacked bars of several.
    Arms,
}

/// A chart. One without figures is left out, and so is a curve of a single point.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartSpec {
    /// Title.
    pub title: String,
    /// Groups shown: one for bars, one for each size for curves.
    pub groups: Vec<GroupKey>,
    /// Arms shown; empty: all of them.
    pub arms: Vec<String>,
    /// Measures: one, or the parts of stacked bars.
    pub measures: Vec<Measure>,
    /// The x axis.
    pub axis: ChartAxis,
    /// Title of the y axis.
    pub y: &'static str,
}

impl ChartSpec {
    /// Growth curves of a time over the groups' sizes.
    pub fn growth(
        title: impl Into<String>,
        groups: Vec<GroupKey>,
        time: Measure,
        sizes: &'static str,
    ) -> Self {
        Self {
            axis: ChartAxis::Sizes(sizes),
            ..Self::bars(title, groups, vec![time], "time")
        }
    }

    /// Bars of one measure, or stacked bars of several.
    pub fn bars(
        title: impl Into<String>,
        groups: Vec<GroupKey>,
        measures: Vec<Measure>,
        y: &'static str,
    ) -> Self {
        Self {
            title: title.into(),
            groups,
            arms: Vec::new(),
            measures,
            axis: ChartAxis::Arms,
            y,
        }
    }
}

/// Whether a threshold repeats a study's finding or is a goal of this project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThresholdKind {
    /// A finding of the study: decides the verdict.
    Finding,
    /// A goal: reported as met or missed.
    Target,
}

/// Base of a threshold's ratio.
#[derive(Debug, Clone, PartialEq)]
enum Base {
    Nothing,
    Arm(String),
    Other(Option<GroupKey>, String, Measure),
}

/// A bound for a figure, or for a ratio of two figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    claim: String,
    group: Option<GroupKey>,
    arm: String,
    measure: Measure,
    base: Base,
    low: f64,
    high: f64,
    published: &'static str,
    kind: ThresholdKind,
}

impl Threshold {
    fn new(kind: ThresholdKind, claim: impl Into<String>) -> Self {
        Self {
            claim: claim.into(),
            group: None,
            arm: String::new(),
            measure: Measure::new("", ""),
            base: Base::Nothing,
            low: f64::NEG_INFINITY,
            high: f64::INFINITY,
            published: "",
            kind,
        }
    }

    /// A finding of the study. `claim` names the figure.
    pub fn finding(claim: impl Into<String>) -> Self {
        Self::new(ThresholdKind::Finding, claim)
    }

    /// A goal. `claim` names the figure.
    pub fn target(claim: impl Into<String>) -> Self {
        Self::new(ThresholdKind::Target, claim)
    }

    /// Sets the figure: a measure of an arm.
    #[must_use]
    pub fn of(
        mut self,
        group: Option<&GroupKey>,
        arm: impl Into<String>,
        measure: Measure,
    ) -> Self {
        (self.group, self.arm, self.measure) = (group.cloned(), arm.into(), measure);
        self
    }

    /// Takes the ratio to another arm of the group.
    #[must_use]
    pub fn against_arm(mut self, arm: impl Into<String>) -> Self {
        self.base = Base::Arm(arm.into());
        self
    }

    /// Takes the ratio to any other figure.
    #[must_use]
    pub fn against_figure(
        mut self,
        group: Option<&GroupKey>,
        arm: impl Into<String>,
        measure: Measure,
    ) -> Self {
        self.base = Base::Other(group.cloned(), arm.into(), measure);
        self
    }

    setters! {
        /// Sets the upper bound.
        at_most(high: f64);
        /// Sets the lower bound.
        at_least(low: f64);
        /// Sets the study's own figure, in its own words.
        published(published: &'static str);
    }
}

/// The verdict's sentence, by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Conclusion {
    /// All findings show.
    pub yes: &'static str,
    /// Some findings show.
    pub partly: &'static str,
    /// No finding shows.
    pub no: &'static str,
}

/// Everything that an experiment reports, declared.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReportSpec {
    /// Tables, the most important first.
    pub tables: Vec<TableSpec>,
    /// Tables that no declaration describes, shown after the others.
    pub derived_tables: Vec<Table>,
    /// Charts.
    pub charts: Vec<ChartSpec>,
    /// What the reader should change, the most useful first.
    pub advice: Vec<AdviceSpec>,
    /// Findings of the study and targets of this project.
    pub thresholds: Vec<Threshold>,
    /// The verdict's sentence.
    pub conclusion: Conclusion,
    /// Further notes.
    pub notes: Vec<String>,
    /// The arm of etui that losses are counted against.
    pub etui: Option<&'static str>,
}

/// Writes the first letter in upper case.
fn capitalize(words: &str) -> String {
    let mut chars = words.chars();
    let first = chars.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(chars).collect()
}
