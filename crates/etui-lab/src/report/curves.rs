//! The points of a chart as a grid: places across, series down.

use super::bar_label;
use super::numbers::{self, Scale};
use crate::{Chart, ChartKind, Unit};

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
        .flat_map(|series| series.points.iter().map(|(x, _)| *x))
        .filter(|x| x.is_finite())
        .collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let values = chart
        .series
        .iter()
        .flat_map(|series| series.points.iter().map(|(_, y)| *y));
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
                let at = series.points.iter().find(|(of, _)| of == x);
                at.map_or_else(
                    || "-".to_owned(),
                    |(_, y)| match scale {
                        Some(scale) => scale.write(*y),
                        None => numbers::format_value(*y, chart.unit),
                    },
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
