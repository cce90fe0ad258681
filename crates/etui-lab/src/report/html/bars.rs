//! Bar charts on the page: rows of a table whose middle column is drawn. The words are the
//! table's own, so they wrap and are never cut, at any width.

use super::super::bar_label;
use super::super::curves::point_range;
use super::super::numbers::Scale;
use super::styles::Styles;
use super::{put, role_class};
use crate::{Chart, ChartKind, ChartPoint};

/// The patterns that distinguish parts of stacked bars without colour: lines and dots in the
/// paper's colour, laid over the fill. The first part has none.
const PATTERNS: [&str; 5] = [
    "<path d=\"M-2 2l4-4M0 8l8-8M6 10l4-4\"/>",
    "<path d=\"M0 4h8\"/>",
    "<path d=\"M4 0v8\"/>",
    "<path d=\"M-2 6l4 4M0 0l8 8M6-2l4 4\"/>",
    "<path d=\"M0 4h8M4 0v8\"/>",
];
/// How many fills there are; the patterns change once they are used up.
const FILLS: usize = 7;

/// Puts the patterns into the page, once.
pub(super) fn write_patterns(out: &mut String) {
    out.push_str(
        "<svg class=\"defs\" width=\"0\" height=\"0\" aria-hidden=\"true\" focusable=\"false\">\
         <defs>\n",
    );
    for (at, drawing) in (1..).zip(PATTERNS) {
        put!(
            out,
            "<pattern id=\"p{at}\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">\
             {drawing}</pattern>\n"
        );
    }
    out.push_str("</defs></svg>\n");
}

/// The fill and the pattern of a part.
fn part_style(part: usize) -> (usize, usize) {
    let fill = part % FILLS;
    (fill, (part + part / FILLS) % (PATTERNS.len() + 1))
}

/// Draws a part from `x` on, in per cent of the width; pattern 0 is none.
fn write_rect(out: &mut String, x: f64, width: f64, class: &str, pattern: usize) {
    let place = format!("x=\"{x:.3}%\" y=\"0\" width=\"{width:.3}%\" height=\"100%\"");
    put!(out, "<rect {place} class=\"{class}\"/>");
    if pattern > 0 {
        put!(out, "<rect {place} fill=\"url(#p{pattern})\"/>");
    }
}

/// A point, and the place of its series.
type Bar<'a> = (&'a ChartPoint, usize);

/// The finite points of a chart, by place, then by series.
fn chart_points(chart: &Chart) -> Vec<Bar<'_>> {
    let mut all = Vec::new();
    for (at, series) in chart.series.iter().enumerate() {
        let drawn = series
            .points
            .iter()
            .filter(|point| point.x.is_finite() && point.y.is_finite());
        all.extend(drawn.map(|point| (point, at)));
    }
    all.sort_by(|(a, of_a), (b, of_b)| a.x.total_cmp(&b.x).then(of_a.cmp(of_b)));
    all
}

/// The height of a bar: of its one point, or of all parts.
fn bar_total(bar: &[Bar<'_>]) -> f64 {
    match bar {
        [(point, _)] => point.y,
        parts => parts.iter().map(|(point, _)| point.y.max(0.0)).sum(),
    }
}

/// The farthest that a bar and its range reach.
fn bar_end(bar: &[Bar<'_>]) -> f64 {
    let high = match bar {
        [(point, _)] => finite_range(point).map_or(0.0, |(_, high)| high),
        _ => 0.0,
    };
    bar_total(bar).max(high)
}

fn finite_range(point: &ChartPoint) -> Option<(f64, f64)> {
    point
        .range
        .filter(|(low, high)| low.is_finite() && high.is_finite())
}

/// Bars from zero: one for each point, or for each place, with the points as its parts.
pub(super) fn write_bars(out: &mut String, chart: &Chart, styles: &Styles<'_>) {
    let points = chart_points(chart);
    put!(
        out,
        "<figure class=\"bars\">\n<figcaption><b>{}</b>",
        chart.title
    );
    let ranges = points.iter().any(|(point, _)| point.range.is_some());
    let taken = match ranges {
        true => "bars are medians, lines reach from the lowest to the highest repetition",
        false => "each from one run",
    };
    if !chart.y.is_empty() && !points.is_empty() {
        put!(out, " <span>{}; {taken}</span>", chart.y);
    }
    out.push_str("</figcaption>\n");
    if points.is_empty() {
        out.push_str("<p class=\"small\">Nothing of this was run.</p>\n</figure>\n");
        return;
    }
    let stacked = chart.kind == ChartKind::Stacked;
    let bars: Vec<&[Bar<'_>]> = points
        .chunk_by(|(a, _), (b, _)| stacked && a.x == b.x)
        .collect();
    let most = bars.iter().map(|bar| bar_end(bar)).fold(0.0, f64::max);
    // Figures that are far apart have each the unit that suits it, as they have in sentences.
    let single = |bar: &[Bar<'_>]| Scale::of(chart.unit, [bar_total(bar)]);
    let common = Scale::of(chart.unit, bars.iter().map(|bar| bar_total(bar)));
    // Where every bar has a name of its own, the series says nothing that the name does not.
    let several = bars
        .windows(2)
        .any(|two| matches!(two, [[(a, _), ..], [(b, _), ..]] if a.x == b.x));
    let mut group: Option<f64> = None;
    out.push_str("<table>\n<tbody>\n");
    for bar in bars {
        let Some((point, at)) = bar.first().copied() else {
            continue;
        };
        let Some(series) = chart.series.get(at) else {
            continue;
        };
        let x = point.x;
        let mut name = bar_label(chart, x);
        if several {
            if group != Some(x) {
                if group.is_some() {
                    out.push_str("</tbody>\n<tbody>\n");
                }
                put!(
                    out,
                    "<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"3\">{}</th></tr>\n",
                    name
                );
                group = Some(x);
            }
            name.clone_from(&series.name);
        }
        let scale = if stacked { common } else { single(bar) };
        let class = role_class(series.role);
        let svg = match stacked {
            true => "height=\"16\" aria-hidden=\"true\"".to_owned(),
            false => format!("height=\"14\" aria-hidden=\"true\" class=\"{class}\""),
        };
        put!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"bar\"><svg width=\"100%\" {svg}>",
            name
        );
        let place = |value: f64| (value / most).clamp(0.0, 1.0) * 100.0;
        let mut from = 0.0;
        for (point, at) in bar.iter().filter(|_| most > 0.0) {
            let width = place(point.y);
            let part = chart.series.get(*at);
            let name = part.map_or("", |part| part.name.as_str());
            if !stacked {
                let variant = part.map_or(0, |part| styles.variant(part.role, name));
                let shade = if variant % 2 == 1 { "own shade" } else { "own" };
                write_rect(out, 0.0, width, shade, variant % 6);
                if let Some((low, high)) = finite_range(point) {
                    let (low, high) = (place(low), place(high));
                    put!(
                        out,
                        "<line class=\"spread\" x1=\"{low:.3}%\" x2=\"{high:.3}%\" y1=\"7\" y2=\"7\"/>"
                    );
                }
            } else if width > 0.0 {
                let (fill, pattern) = part_style(styles.part(name));
                write_rect(out, from, width, &format!("f{fill}"), pattern);
                from += width;
            }
        }
        out.push_str("</svg>");
        if stacked {
            write_parts(out, chart, bar, &scale, styles);
        }
        put!(
            out,
            "</td><td class=\"figure\">{}",
            scale.write(bar_total(bar))
        );
        if let (false, Some(range)) = (stacked, point_range(point, &scale)) {
            put!(out, " <span class=\"range\">({})</span>", range);
        }
        out.push_str("</td></tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</figure>\n");
}

/// Writes the parts of a stacked bar: swatch, name and figure of each.
fn write_parts(
    out: &mut String,
    chart: &Chart,
    bar: &[Bar<'_>],
    scale: &Scale,
    styles: &Styles<'_>,
) {
    out.push_str("<span class=\"parts\">");
    for (point, at) in bar.iter().filter(|(point, _)| point.y != 0.0) {
        let Some(series) = chart.series.get(*at) else {
            continue;
        };
        let (fill, pattern) = part_style(styles.part(&series.name));
        out.push_str(
            "<span><svg class=\"swatch\" width=\"14\" height=\"14\" aria-hidden=\"true\">",
        );
        write_rect(out, 0.0, 100.0, &format!("f{fill}"), pattern);
        put!(
            out,
            "</svg>{} {}</span> ",
            series.name,
            scale.write(point.y)
        );
    }
    out.push_str("</span>");
}
