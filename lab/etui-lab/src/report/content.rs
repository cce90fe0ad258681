//! Output of an experiment: tables, charts, a verdict. Every form of the report (page,
//! Markdown, CSV, terminal) is made from these.

use serde::Serialize;
use strum::IntoStaticStr;

use crate::ArmRole;

/// All that an experiment shows of its results.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ExperimentReport {
    /// The tables, the most important first.
    pub tables: Vec<Table>,
    /// The charts.
    pub charts: Vec<Chart>,
    /// The verdict.
    pub verdict: Verdict,
}

/// Whether the study's finding shows on this machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingStatus {
    /// Too little was run.
    #[default]
    Open,
    /// It shows as the study found it.
    Yes,
    /// It shows in part.
    Partly,
    /// It no longer shows; the verdict says why.
    No,
}

/// The verdict on the results.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Verdict {
    /// What to change on this machine, the most useful first.
    pub advice: Vec<Advice>,
    /// Whether the study's finding shows.
    pub shown: FindingStatus,
    /// One plain sentence.
    pub sentence: String,
    /// The figures that the sentence rests on; may be empty.
    pub evidence: String,
    /// Further sentences: explanations, losses and their reasons, differences to the study.
    pub notes: Vec<String>,
}

/// A change that the reader can make, and what it brings on this machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// Whether the change is worth making here.
    pub worth: bool,
    /// Whether the times or rates show it; else a counter decides.
    pub clear: bool,
    /// Whether it is for users of etui, or of a product that etui may replace.
    pub about_etui: bool,
    /// By which factor it gains.
    pub factor: f64,
    /// What to do: an imperative.
    pub change: String,
    /// What that brings here, with its figures.
    pub gain: String,
    /// How it is done: settings, calls; may be empty.
    pub how: String,
    /// What was measured, and where.
    pub measured: String,
    /// Unit of the figures.
    pub unit: Unit,
    /// The figures that the sentence compares: before, after, and etui's.
    pub figures: Vec<AdviceFigure>,
}

impl Advice {
    /// Returns the advice in one sentence.
    pub fn sentence(&self) -> String {
        format!("{}: {}.", self.change, self.gain)
    }
}

/// One of the figures that an [`Advice`] compares.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AdviceFigure {
    /// Its place in the comparison, e.g. `Before`.
    pub title: &'static str,
    /// The arm.
    pub arm: String,
    /// Its work, where the figures are of different ones; else empty.
    pub work: String,
    /// The arm's role.
    pub role: ArmRole,
    /// The median.
    pub value: f64,
    /// The lowest and the highest of the repetitions.
    pub range: Option<(f64, f64)>,
}

/// Unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "lowercase")]
pub enum Unit {
    /// Nanoseconds; shown as ns, us, ms or s.
    Nanoseconds,
    /// Bytes; shown as B, kB, MB.
    Bytes,
    /// A number of something.
    Count,
    /// A rate per second.
    #[strum(serialize = "per second")]
    PerSecond,
    /// A ratio; shown as 1.25x.
    Ratio,
    /// A part of a whole, 0 to 1; shown in per cent.
    Fraction,
}

/// Direction in which a figure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BetterWhen {
    /// Less of it.
    Less,
    /// More of it.
    More,
    /// Neither; it informs.
    Neither,
}

/// A column of figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TableColumn {
    /// Its heading, short.
    pub title: String,
    /// Unit.
    pub unit: Unit,
    /// Better direction; losses are marked by it.
    pub better: BetterWhen,
}

impl TableColumn {
    /// A column.
    pub fn new(title: impl Into<String>, unit: Unit, better: BetterWhen) -> Self {
        let title = title.into();
        Self {
            title,
            unit,
            better,
        }
    }
}

/// One figure, or the reason why there is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TableCell {
    /// The figure (a median where it was repeated), in the column's unit.
    pub value: Option<f64>,
    /// The lowest and the highest of the repetitions.
    pub range: Option<(f64, f64)>,
    /// The ratio of this figure to the base's.
    pub ratio: Option<f64>,
    /// Whether ratios of the column are taken against this figure.
    pub base: bool,
    /// By how much this figure, another product's, is better than etui's.
    pub lost: Option<Loss>,
    /// Words in place of a figure or beside it, e.g. `not run`.
    pub note: String,
}

impl TableCell {
    /// A figure.
    pub fn of(value: Option<f64>) -> Self {
        Self {
            value,
            ..Self::default()
        }
    }
}

/// How far another product is ahead of etui.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Loss {
    /// etui's arm.
    pub arm: String,
    /// Its figure, in the column's unit.
    pub figure: f64,
    /// How many times better the other figure is; infinite if it is zero.
    pub times: f64,
    /// Whether the ranges of the repetitions overlap, so that it may be chance.
    pub unsure: bool,
}

/// A row: an arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TableRow {
    /// The arm's name. Where all rows of a table have the form `group: arm`, the report says
    /// each group once, as a heading above its arms.
    pub label: String,
    /// Role.
    pub role: ArmRole,
    /// A figure for each column.
    pub cells: Vec<TableCell>,
}

/// A table: arms down, measures across.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Table {
    /// Title.
    pub title: String,
    /// How to read it; may be empty.
    pub caption: String,
    /// The columns of figures.
    pub columns: Vec<TableColumn>,
    /// The rows.
    pub rows: Vec<TableRow>,
}

/// The kind of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChartKind {
    /// Growth curves over the size, both axes logarithmic.
    Growth,
    /// One bar for each point, from zero, labelled.
    Bars,
    /// Bars whose parts are stacked: each series is a part, each label a bar.
    Stacked,
}

/// A curve, or the bars of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChartSeries {
    /// Its name in the legend.
    pub name: String,
    /// Role; decides its look.
    pub role: ArmRole,
    /// The points.
    pub points: Vec<ChartPoint>,
}

/// A point of a curve, or a bar.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ChartPoint {
    /// The place; for bars the position in [`Chart::labels`].
    pub x: f64,
    /// The figure: a median where it was repeated.
    pub y: f64,
    /// The lowest and the highest of the repetitions.
    pub range: Option<(f64, f64)>,
}

impl From<(f64, f64)> for ChartPoint {
    fn from((x, y): (f64, f64)) -> Self {
        let range = None;
        Self { x, y, range }
    }
}

/// A chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chart {
    /// Title.
    pub title: String,
    /// Kind.
    pub kind: ChartKind,
    /// The x axis' words.
    pub x: String,
    /// The y axis' words.
    pub y: String,
    /// The y axis' unit.
    pub unit: Unit,
    /// The names of the bars, if it has bars.
    pub labels: Vec<String>,
    /// The curves or bars.
    pub series: Vec<ChartSeries>,
}
