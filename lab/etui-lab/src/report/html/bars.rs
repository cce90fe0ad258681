//! Bar charts on the page: rows of a table whose middle column is drawn. The words are the
//! table's own, so they wrap and are never cut, at any width.

use super::super::bar_label;
use super::super::curves::point_range;
use super::super::numbers::Scale;
use super::{put, role_class};
use crate::{Chart, ChartKind, ChartPoint, ChartSeries};

/// How many fills the style sheet has for the parts of stacked bars.
const FILLS: usize = 7;

/// A bar: where it is, and its parts with their series.
struct Bar<'a> {
    x: f64,
    parts: Vec<(&'a ChartSeries, &'a ChartPoint)>,
}

impl Bar<'_> {
    /// The height: of the one point, or of all parts.
    fn total(&self) -> f64 {
        match self.parts.as_slice() {
            [(_, point)] => point.y,
            parts => parts.iter().map(|(_, point)| point.y.max(0.0)).sum(),
        }
    }

    /// The farthest that the bar and its range reach.
    fn end(&self) -> f64 {
        let high = match self.parts.as_slice() {
            [(_, point)] => finite_range(point).map_or(0.0, |(_, high)| high),
            _ => 0.0,
        };
        self.total().max(high)
    }
}

fn finite_range(point: &ChartPoint) -> Option<(f64, f64)> {
    let is_finite = |(low, high): &(f64, f64)| low.is_finite() && high.is_finite();
    point.range.filter(is_finite)
}

/// Returns the bars of a chart by place: one for each point, or for each place.
fn chart_bars(chart: &Chart) -> Vec<Bar<'_>> {
    let series = chart.series.iter();
    let points = series.flat_map(|series| series.points.iter().map(move |point| (series, point)));
    let mut points: Vec<_> = points
        .filter(|(_, point)| point.x.is_finite() && point.y.is_finite())
        .collect();
    points.sort_by(|(_, a), (_, b)| a.x.total_cmp(&b.x));
    let stacked = chart.kind == ChartKind::Stacked;
    let bars = points.chunk_by(|(_, a), (_, b)| stacked && a.x == b.x);
    bars.map(|parts| Bar {
        x: parts.first().map_or(0.0, |(_, point)| point.x),
        parts: parts.to_vec(),
    })
    .collect()
}

/// Writes bars from zero. `parts` are the names of the parts of an experiment's stacked bars: each has
/// one fill in all of its charts.
pub(super) fn write_bars(out: &mut String, chart: &Chart, parts: &[&str]) {
    let bars = chart_bars(chart);
    put!(
        out,
        "<figure class=\"bars\">\n<figcaption><b>{}</b>",
        chart.title
    );
    let mut points = bars.iter().flat_map(|bar| &bar.parts);
    let taken = match points.any(|(_, point)| point.range.is_some()) {
        true => "bars are medians, lines reach from the lowest to the highest repetition",
        false => "each from one run",
    };
    if !chart.y.is_empty() && !bars.is_empty() {
        put!(out, " <span>{}; {taken}</span>", chart.y);
    }
    out.push_str("</figcaption>\n");
    if bars.is_empty() {
        out.push_str("<p class=\"small\">Nothing of this was run.</p>\n</figure>\n");
        return;
    }
    let stacked = chart.kind == ChartKind::Stacked;
    let most = bars.iter().map(Bar::end).fold(0.0, f64::max);
    let common = Scale::of(chart.unit, bars.iter().map(Bar::total));
    // Where every bar has a name of its own, the series says nothing that the name does not.
    let several = bars
        .windows(2)
        .any(|two| matches!(two, [a, b] if a.x == b.x));
    let fill = |name: &str| parts.iter().position(|part| *part == name).unwrap_or(0) % FILLS;
    let place = |value: f64| (value / most).clamp(0.0, 1.0) * 100.0;
    let mut group: Option<f64> = None;
    out.push_str("<table>\n<tbody>\n");
    for bar in &bars {
        let Some((series, point)) = bar.parts.first() else {
            continue;
        };
        let mut name = bar_label(chart, bar.x);
        if several {
            if group != Some(bar.x) {
                if group.is_some() {
                    out.push_str("</tbody>\n<tbody>\n");
                }
                put!(
                    out,
                    "<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"3\">{}</th></tr>\n",
                    name
                );
                group = Some(bar.x);
            }
            name.clone_from(&series.name);
        }
        let class = role_class(series.role);
        put!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"bar\"><svg width=\"100%\" height=\"14\" \
             aria-hidden=\"true\" class=\"{class}\">",
            name
        );
        let mut from = 0.0;
        for (part, point) in bar.parts.iter().filter(|_| most > 0.0) {
            let width = place(point.y);
            let class = match stacked {
                true => format!("f{}", fill(&part.name)),
                false => "own".to_owned(),
            };
            put!(
                out,
                "<rect x=\"{from:.3}%\" y=\"0\" width=\"{width:.3}%\" height=\"100%\" class=\"{class}\"/>"
            );
            if let Some((low, high)) = finite_range(point).filter(|_| !stacked) {
                let (low, high) = (place(low), place(high));
                put!(
                    out,
                    "<line class=\"spread\" x1=\"{low:.3}%\" x2=\"{high:.3}%\" y1=\"7\" y2=\"7\"/>"
                );
            }
            from += width;
        }
        out.push_str("</svg>");
        // Figures that are far apart have each the unit that suits it, as they have in sentences.
        let mut scale = Scale::of(chart.unit, [bar.total()]);
        if stacked {
            scale = common;
            out.push_str("<span class=\"parts\">");
            for (part, point) in bar.parts.iter().filter(|(_, point)| point.y != 0.0) {
                put!(
                    out,
                    "<span><i class=\"swatch f{}\"></i>{} {}</span> ",
                    fill(&part.name),
                    part.name,
                    scale.write(point.y)
                );
            }
            out.push_str("</span>");
        }
        put!(
            out,
            "</td><td class=\"figure\">{}",
            scale.write(bar.total())
        );
        if let Some(range) = point_range(point, &scale).filter(|_| !stacked) {
            put!(out, " <span class=\"range\">({})</span>", range);
        }
        out.push_str("</td></tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</figure>\n");
}
