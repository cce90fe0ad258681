//! The points of a chart as a grid: places across, series down.

use super::bar_label;
use super::numbers::{self, Scale};
use crate::{Chart, ChartKind, ChartPoint, Unit};

/// A chart's figures in words.
pub(super) struct GridTable {
    /// The places on the x axis, or the bars.
    pub places: Vec<String>,
    /// Each series' name and its figures, a dash where it has none.
    pub rows: Vec<(String, Vec<String>)>,
}

/// The grid of a chart; growth curves have the sizes across, bars their names.
pub(super) fn chart_grid(chart: &Chart) -> GridTable {
    let mut xs: Vec<f64> = chart
        .series
        .iter()
        .flat_map(|series| series.points.iter().map(|point| point.x))
        .filter(|x| x.is_finite())
        .collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let values = chart
        .series
        .iter()
        .flat_map(|series| series.points.iter().map(|point| point.y));
    // Curves climb over decades; each of their figures has the unit that suits it.
    let scale = match chart.kind {
        ChartKind::Growth => None,
        ChartKind::Bars | ChartKind::Stacked => Some(Scale::of(chart.unit, values)),
    };
    let rows = chart
        .series
        .iter()
        .map(|series| {
            let figures = xs.iter().map(|x| {
                let at = series.points.iter().find(|point| point.x == *x);
                at.map_or_else(
                    || "-".to_owned(),
                    |point| write_point(point, chart.unit, scale),
                )
            });
            (series.name.clone(), figures.collect())
        })
        .collect();
    let places = xs
        .iter()
        .map(|x| match chart.kind {
            ChartKind::Growth => numbers::format_value(*x, Unit::Count),
            ChartKind::Bars | ChartKind::Stacked => bar_label(chart, *x),
        })
        .collect();
    GridTable { places, rows }
}

/// Writes a point's figure, and its range.
fn write_point(point: &ChartPoint, unit: Unit, scale: Option<Scale>) -> String {
    let scale = scale.unwrap_or_else(|| Scale::of(unit, [point.y]));
    let figure = scale.write(point.y);
    match point_range(point, &scale) {
        Some(range) => format!("{figure} ({range})"),
        None => figure,
    }
}

/// The lowest and the highest repetition of a point, if they differ.
pub(super) fn point_range(point: &ChartPoint, scale: &Scale) -> Option<String> {
    let (low, high) = point.range?;
    let differ = low.is_finite() && high.is_finite() && low != high;
    differ.then(|| scale.range(low, high))
}
