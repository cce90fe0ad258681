//! Bar charts on the page: rows of a table whose middle column is drawn. The words are the
//! table's own, so they wrap and are never cut, at any width.

use super::super::bar_label;
use super::super::numbers::Scale;
use super::super::text::HtmlText;
use super::{put, role_class};
use crate::Chart;

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
    for (at, drawing) in PATTERNS.iter().enumerate() {
        put!(
            out,
            "<pattern id=\"p{}\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">\
             {drawing}</pattern>\n",
            at + 1
        );
    }
    out.push_str("</defs></svg>\n");
}

/// The fill and the pattern of a part.
fn part_style(part: usize) -> (usize, usize) {
    let fill = part % FILLS;
    (fill, (part + part / FILLS) % (PATTERNS.len() + 1))
}

fn write_rect(out: &mut String, x: f64, width: f64, class: &str, pattern: usize) {
    put!(
        out,
        "<rect x=\"{x:.3}%\" y=\"0\" width=\"{width:.3}%\" height=\"100%\" class=\"{class}\"/>"
    );
    if pattern > 0 {
        put!(
            out,
            "<rect x=\"{x:.3}%\" y=\"0\" width=\"{width:.3}%\" height=\"100%\" \
             fill=\"url(#p{pattern})\"/>"
        );
    }
}

fn write_swatch(out: &mut String, part: usize) {
    let (fill, pattern) = part_style(part);
    out.push_str("<svg class=\"swatch\" width=\"14\" height=\"14\" aria-hidden=\"true\">");
    write_rect(out, 0.0, 100.0, &format!("f{fill}"), pattern);
    out.push_str("</svg>");
}

fn write_title(out: &mut String, chart: &Chart) {
    put!(out, "<figcaption><b>{}</b>", HtmlText(&chart.title));
    if !chart.y.is_empty() {
        put!(out, " <span>{}</span>", HtmlText(&chart.y));
    }
    out.push_str("</figcaption>\n");
}

/// The finite points of a chart: place, series, value; by place, then by series.
fn chart_points(chart: &Chart) -> Vec<(f64, usize, f64)> {
    let mut all: Vec<(f64, usize, f64)> = Vec::new();
    for (at, series) in chart.series.iter().enumerate() {
        let drawn = series
            .points
            .iter()
            .filter(|(x, y)| x.is_finite() && y.is_finite());
        all.extend(drawn.map(|(x, y)| (*x, at, *y)));
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    all
}

/// One bar for each point, from zero.
pub(super) fn write_bars(out: &mut String, chart: &Chart) {
    let points = chart_points(chart);
    out.push_str("<figure class=\"bars\">\n");
    write_title(out, chart);
    if points.is_empty() {
        out.push_str("<p class=\"small\">Nothing of this was run.</p>\n</figure>\n");
        return;
    }
    let most = points.iter().map(|(_, _, y)| *y).fold(0.0, f64::max);
    let scale = Scale::of(chart.unit, points.iter().map(|(_, _, y)| *y));
    // Where every bar has a name of its own, the series says nothing that the name does not.
    let several = points
        .windows(2)
        .any(|two| matches!(two, [a, b] if a.0 == b.0));
    let mut group: Option<f64> = None;
    out.push_str("<table>\n<tbody>\n");
    for (x, at, y) in points {
        let Some(series) = chart.series.get(at) else {
            continue;
        };
        if several && group != Some(x) {
            if group.is_some() {
                out.push_str("</tbody>\n<tbody>\n");
            }
            put!(
                out,
                "<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"3\">{}</th></tr>\n",
                HtmlText(&bar_label(chart, x))
            );
            group = Some(x);
        }
        let name = if several {
            series.name.clone()
        } else {
            bar_label(chart, x)
        };
        put!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"bar\"><svg width=\"100%\" height=\"14\" \
             aria-hidden=\"true\" class=\"{}\">",
            HtmlText(&name),
            role_class(series.role)
        );
        if most > 0.0 {
            let shade = if role_variant(chart, at) % 2 == 1 {
                "own shade"
            } else {
                "own"
            };
            write_rect(
                out,
                0.0,
                (y / most).clamp(0.0, 1.0) * 100.0,
                shade,
                role_variant(chart, at) % 6,
            );
        }
        put!(
            out,
            "</svg></td><td class=\"figure\">{}</td></tr>\n",
            HtmlText(&scale.write(y))
        );
    }
    out.push_str("</tbody>\n</table>\n</figure>\n");
}

/// Which one of its role a series is.
pub(super) fn role_variant(chart: &Chart, at: usize) -> usize {
    let role = chart.series.get(at).map(|series| series.role);
    chart
        .series
        .iter()
        .take(at)
        .filter(|series| Some(series.role) == role)
        .count()
}

/// Bars whose parts are stacked; the parts' figures are below each.
pub(super) fn write_stacked(out: &mut String, chart: &Chart) {
    let points = chart_points(chart);
    out.push_str("<figure class=\"bars\">\n");
    write_title(out, chart);
    if points.is_empty() {
        out.push_str("<p class=\"small\">Nothing of this was run.</p>\n</figure>\n");
        return;
    }
    let mut bars: Vec<(f64, Vec<(usize, f64)>)> = Vec::new();
    for (x, at, y) in points {
        match bars.last_mut() {
            Some((of, parts)) if *of == x => parts.push((at, y)),
            _ => bars.push((x, vec![(at, y)])),
        }
    }
    let sum = |parts: &[(usize, f64)]| parts.iter().map(|(_, y)| y.max(0.0)).sum::<f64>();
    let most = bars.iter().map(|(_, parts)| sum(parts)).fold(0.0, f64::max);
    let scale = Scale::of(chart.unit, bars.iter().map(|(_, parts)| sum(parts)));
    out.push_str("<table>\n<tbody>\n");
    for (x, parts) in &bars {
        put!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"bar\"><svg width=\"100%\" height=\"16\" \
             aria-hidden=\"true\">",
            HtmlText(&bar_label(chart, *x))
        );
        let mut from = 0.0;
        for (at, y) in parts.iter().filter(|(_, y)| *y > 0.0 && most > 0.0) {
            let (fill, pattern) = part_style(*at);
            let width = y / most * 100.0;
            write_rect(out, from, width, &format!("f{fill}"), pattern);
            from += width;
        }
        out.push_str("</svg><span class=\"parts\">");
        for (at, y) in parts.iter().filter(|(_, y)| *y != 0.0) {
            let Some(series) = chart.series.get(*at) else {
                continue;
            };
            out.push_str("<span>");
            write_swatch(out, *at);
            put!(
                out,
                "{} {}</span> ",
                HtmlText(&series.name),
                HtmlText(&scale.write(*y))
            );
        }
        put!(
            out,
            "</span></td><td class=\"figure\">{}</td></tr>\n",
            HtmlText(&scale.write(sum(parts)))
        );
    }
    out.push_str("</tbody>\n</table>\n</figure>\n");
}
