//! Growth curves on the page: drawings with logarithmic axes.
//!
//! Each is drawn twice, for a wide and for a narrow page, since letters must not shrink with
//! the paper; the style sheet shows the one that fits. On the wide one each curve's name
//! is at its end; on the narrow one, and where names are long, a letter is, and a key
//! below lists the names. Curves differ in colour, marker, dashes and name.

use super::super::curves::{chart_grid, point_range};
use super::super::numbers::{self, Scale};
use super::super::text::{text_pixels, wrap_pixels};
use super::axis::Axis;
use super::styles::Styles;
use super::{begin_table, end_table, put, role_class};
use crate::{ArmRole, Chart, ChartPoint, ChartSeries, Unit};

/// The size of letters.
const LETTERS: f64 = 12.0;
/// From one line of letters to the next.
const LEADING: f64 = 15.0;
/// The dashes of the curves of one role, in turn.
const DASHES: [&str; 6] = ["", "7 4", "2 3", "10 3 2 3", "4 2", "12 4 4 4"];

/// A curve that can be drawn.
struct PlotCurve<'a> {
    series: &'a ChartSeries,
    /// Which of its role.
    variant: usize,
    /// Its letter in the key.
    letter: String,
    /// Its points within the axes, by x.
    points: Vec<ChartPoint>,
}

/// Returns true if both coordinates have a place on logarithmic axes.
fn is_drawable(point: &ChartPoint) -> bool {
    fits_axis(point.x) && fits_axis(point.y)
}

fn fits_axis(value: f64) -> bool {
    value.is_finite() && value > 1e-290 && value < 1e290
}

fn curve_letter(at: usize) -> String {
    let letter = char::from(b'a' + (at % 26) as u8);
    match at / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}

fn chart_curves<'a>(chart: &'a Chart, styles: &Styles<'_>) -> Vec<PlotCurve<'a>> {
    let mut curves = Vec::new();
    for series in &chart.series {
        let mut points: Vec<ChartPoint> =
            series.points.iter().copied().filter(is_drawable).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        if !points.is_empty() {
            curves.push(PlotCurve {
                series,
                variant: styles.variant(series.role, &series.name),
                letter: curve_letter(curves.len()),
                points,
            });
        }
    }
    curves
}

/// Growth curves; `number` is the chart's among those of the page.
pub(super) fn write_growth(out: &mut String, chart: &Chart, number: usize, styles: &Styles<'_>) {
    let curves = chart_curves(chart, styles);
    put!(
        out,
        "<figure class=\"growth\">\n<figcaption><b>{}</b>",
        chart.title
    );
    let all = || curves.iter().flat_map(|curve| curve.points.iter().copied());
    let heights = all().flat_map(|point| {
        let (low, high) = point.range.unwrap_or((point.y, point.y));
        let ends = [low, high].into_iter().filter(|end| fits_axis(*end));
        ends.chain([point.y])
    });
    let axes = Axis::around(all().map(|point| point.x)).zip(Axis::around(heights));
    if let Some(axes) = axes {
        out.push_str(" <span>Both axes are logarithmic.");
        if all().any(|point| point.range.is_some()) {
            out.push_str(" Points are medians; the lines through them show the lowest and the highest repetition.");
        }
        out.push_str("</span></figcaption>\n");
        let short = curves
            .iter()
            .all(|c| wrap_pixels(&c.series.name, LETTERS, NAMES).len() <= 2);
        let id = format!("g{number}");
        draw_plot(out, chart, &curves, axes, &PlotForm::new(&id, false, short));
        draw_plot(out, chart, &curves, axes, &PlotForm::new(&id, true, false));
        write_key(out, &curves, short);
    } else {
        out.push_str("</figcaption>\n<p class=\"small\">Nothing of this can be drawn yet.</p>\n");
    }
    left_out(out, chart);
    write_figures(out, chart);
    out.push_str("</figure>\n");
}

/// How wide the names at the curves' ends may be.
const NAMES: f64 = 190.0;

/// Which of the two drawings.
struct PlotForm {
    class: &'static str,
    id: String,
    width: f64,
    least_height: f64,
    /// Names at the ends, not letters.
    names: bool,
}

impl PlotForm {
    fn new(chart: &str, narrow: bool, names: bool) -> Self {
        let (class, width, least_height) = match narrow {
            true => ("narrow", 330.0, 220.0),
            false => ("wide", 720.0, 280.0),
        };
        Self {
            class,
            id: format!("{chart}-{class}"),
            width,
            least_height,
            names,
        }
    }
}

/// Where a drawing's parts are.
struct PlotFrame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    axes: (Axis, Axis),
}

impl PlotFrame {
    fn x(&self, value: f64) -> f64 {
        self.left + self.axes.0.place(value) * (self.right - self.left)
    }

    fn y(&self, value: f64) -> f64 {
        self.bottom - self.axes.1.place(value) * (self.bottom - self.top)
    }
}

/// A name at the end of a curve.
struct CurveLabel<'a> {
    curve: &'a PlotCurve<'a>,
    lines: Vec<String>,
    /// Where its curve ends.
    x: f64,
    wish: f64,
    /// Its middle.
    at: f64,
}

impl CurveLabel<'_> {
    fn height(&self) -> f64 {
        self.lines.len() as f64 * LEADING
    }
}

fn draw_plot(
    out: &mut String,
    chart: &Chart,
    curves: &[PlotCurve<'_>],
    axes: (Axis, Axis),
    form: &PlotForm,
) {
    let width = form.width;
    let names: Vec<Vec<String>> = curves
        .iter()
        .map(|curve| {
            if form.names {
                wrap_pixels(&curve.series.name, LETTERS, NAMES)
            } else {
                vec![curve.letter.clone()]
            }
        })
        .collect();
    let widest = |lines: &mut dyn Iterator<Item = &String>| {
        lines
            .map(|line| text_pixels(line, LETTERS))
            .fold(0.0, f64::max)
    };
    let beside = widest(&mut names.iter().flatten()) + 34.0;
    let tall: f64 = names.iter().map(|lines| lines.len() as f64 * LEADING).sum();
    let y_labels: Vec<String> = axes
        .1
        .ticks()
        .iter()
        .map(|t| numbers::format_tick(*t, chart.unit))
        .collect();
    let left = widest(&mut y_labels.iter()).max(24.0) + 10.0;
    let above = wrap_pixels(&chart.y, LETTERS, width - 8.0);
    let below = wrap_pixels(&chart.x, LETTERS, width - 8.0);
    let top = above.len() as f64 * LEADING + 12.0;
    let bottom = top + tall.max(form.least_height);
    let frame = PlotFrame {
        left,
        right: width - beside,
        top,
        bottom,
        axes,
    };
    let height = bottom + 24.0 + below.len() as f64 * LEADING + 4.0;
    let PlotForm { class, id, .. } = form;
    put!(
        out,
        "<svg class=\"{class}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-labelledby=\"{id}-t {id}-d\">\n<title id=\"{id}-t\">{}</title>\n\
         <desc id=\"{id}-d\">",
        chart.title
    );
    write_description(out, chart, curves);
    out.push_str("</desc>\n");
    for (at, line) in above.iter().enumerate() {
        let place = (2.0, LETTERS + at as f64 * LEADING);
        write_text(out, "axis", place, "start", line);
    }
    for (at, line) in below.iter().enumerate() {
        let place = (frame.right, bottom + 24.0 + LETTERS + at as f64 * LEADING);
        // A long title begins at the left edge, or it would be cut there.
        if text_pixels(line, LETTERS) < frame.right {
            write_text(out, "axis", place, "end", line);
        } else {
            write_text(out, "axis", (2.0, place.1), "start", line);
        }
    }
    draw_gridlines(out, chart, &frame);
    for curve in curves {
        draw_line(out, chart, curve, &frame);
    }
    draw_labels(out, curves, names, &frame);
    out.push_str("</svg>\n");
}

fn write_text(out: &mut String, class: &str, (x, y): (f64, f64), anchor: &str, words: &str) {
    put!(
        out,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>\n",
        words
    );
}

/// Spans of an axis that labels occupy.
#[derive(Default)]
struct TakenSpans(Vec<(f64, f64)>);

impl TakenSpans {
    /// Takes the span around a middle, if it is free.
    fn take(&mut self, middle: f64, half: f64) -> bool {
        let (from, to) = (middle - half, middle + half);
        let free = self.0.iter().all(|(a, b)| to < *a || from > *b);
        if free {
            self.0.push((from, to));
        }
        free
    }
}

fn draw_gridlines(out: &mut String, chart: &Chart, frame: &PlotFrame) {
    let PlotFrame {
        left,
        right,
        top,
        bottom,
        ..
    } = *frame;
    let decade = |t: f64| (t.log10() - t.log10().round()).abs() < 1e-6;
    // Decades are labelled first, ticks between them where there is room.
    let by_weight = |axis: Axis| {
        let (whole, part): (Vec<f64>, Vec<f64>) =
            axis.ticks().into_iter().partition(|t| decade(*t));
        whole.into_iter().chain(part)
    };
    let class = |tick| if decade(tick) { "grid" } else { "grid fine" };
    let mut taken = TakenSpans::default();
    for tick in by_weight(frame.axes.1) {
        let (y, class) = (frame.y(tick), class(tick));
        put!(
            out,
            "<path class=\"{class}\" d=\"M{left:.1} {y:.1}H{right:.1}\"/>\n"
        );
        if taken.take(y, LEADING / 2.0) {
            let words = numbers::format_tick(tick, chart.unit);
            write_text(out, "tick", (left - 6.0, y + 4.0), "end", &words);
        }
    }
    let mut taken = TakenSpans::default();
    for tick in by_weight(frame.axes.0) {
        let (x, class) = (frame.x(tick), class(tick));
        put!(
            out,
            "<path class=\"{class}\" d=\"M{x:.1} {top:.1}V{bottom:.1}\"/>\n"
        );
        let words = numbers::format_tick(tick, Unit::Count);
        let half = text_pixels(&words, LETTERS) / 2.0 + 3.0;
        if x >= half && taken.take(x, half) {
            write_text(out, "tick", (x, bottom + 17.0), "middle", &words);
        }
    }
    put!(
        out,
        "<path class=\"frame\" d=\"M{left:.1} {top:.1}V{bottom:.1}H{right:.1}\"/>\n"
    );
}

/// The class, and the dashes, of a curve.
fn curve_style(curve: &PlotCurve<'_>) -> (String, &'static str) {
    let ours = if curve.series.role == ArmRole::Etui {
        " ours"
    } else {
        ""
    };
    let shade = if curve.variant % 2 == 1 { " shade" } else { "" };
    (
        format!("curve {}{shade}{ours}", role_class(curve.series.role)),
        DASHES[curve.variant % DASHES.len()],
    )
}

fn draw_line(out: &mut String, chart: &Chart, curve: &PlotCurve<'_>, frame: &PlotFrame) {
    let (class, dashes) = curve_style(curve);
    put!(out, "<g class=\"{class}\">");
    if curve.points.len() > 1 {
        out.push_str("<path class=\"line\" d=\"");
        for (at, point) in curve.points.iter().enumerate() {
            let command = if at == 0 { 'M' } else { 'L' };
            let (x, y) = (frame.x(point.x), frame.y(point.y));
            put!(out, "{command}{x:.1} {y:.1}");
        }
        put!(out, "\" stroke-dasharray=\"{dashes}\"/>");
    }
    for point in &curve.points {
        let (x, y) = (frame.x(point.x), frame.y(point.y));
        if let Some((low, high)) = point.range
            && fits_axis(low)
            && fits_axis(high)
        {
            let (low, high) = (frame.y(low), frame.y(high));
            put!(
                out,
                "<path class=\"spread\" d=\"M{x:.1} {low:.1}V{high:.1}\"/>"
            );
        }
        let at = numbers::format_value(point.x, Unit::Count);
        let scale = Scale::of(chart.unit, [point.y]);
        let mut value = scale.write(point.y);
        if let Some(range) = point_range(point, &scale) {
            value += &format!(" ({range})");
        }
        put!(
            out,
            "<g transform=\"translate({x:.1} {y:.1})\"><title>{}, {} {}: {}</title>",
            curve.series.name,
            at,
            chart.x,
            value
        );
        draw_marker(out, curve);
        out.push_str("</g>");
    }
    out.push_str("</g>\n");
}

/// A curve's marker, at the origin: each role begins with a shape of its own.
fn draw_marker(out: &mut String, curve: &PlotCurve<'_>) {
    const SHAPES: [&str; 6] = [
        "M-3.6-3.6h7.2v7.2h-7.2z",
        "M0-4.6L4.4 3.4H-4.4z",
        "M0-5L4.6 0 0 5-4.6 0z",
        "M0 4.6L4.4-3.4H-4.4z",
        "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
        "M-1.6-4.6h3.2v3h3v3.2h-3v3h-3.2v-3h-3v-3.2h3z",
    ];
    let first = match curve.series.role {
        ArmRole::AsFound => 0,
        ArmRole::Cure => 1,
        ArmRole::AllCures => 3,
        ArmRole::Peer => 2,
        ArmRole::Unsafe => 5,
        ArmRole::Etui => 4,
        ArmRole::Variant => 3,
    };
    let shape = SHAPES[(first + curve.variant) % SHAPES.len()];
    let hollow = if (curve.variant / 2) % 2 == 1 {
        " hollow"
    } else {
        ""
    };
    put!(out, "<path class=\"mark{hollow}\" d=\"{shape}\"/>");
}

/// Puts the names beside the curves' ends, moved apart where they would overlap.
fn draw_labels(
    out: &mut String,
    curves: &[PlotCurve<'_>],
    names: Vec<Vec<String>>,
    frame: &PlotFrame,
) {
    let ends = curves.iter().zip(names).filter_map(|(curve, lines)| {
        let last = curve.points.last()?;
        let (x, wish) = (frame.x(last.x), frame.y(last.y));
        Some(CurveLabel {
            curve,
            lines,
            x,
            wish,
            at: wish,
        })
    });
    let mut ends: Vec<CurveLabel<'_>> = ends.collect();
    ends.sort_by(|a, b| a.wish.total_cmp(&b.wish));
    spread_labels(&mut ends, frame);
    for end in &ends {
        let (class, _) = curve_style(end.curve);
        let (from, to) = (end.x + 6.0, frame.right + 14.0);
        let far = if frame.right - from > 60.0 {
            " far"
        } else {
            ""
        };
        let (corner, marker) = ((frame.right + 2.0).max(from), frame.right + 20.0);
        let CurveLabel { wish, at, .. } = end;
        put!(
            out,
            "<g class=\"{class}\"><path class=\"leader{far}\" \
             d=\"M{from:.1} {wish:.1}H{corner:.1}L{to:.1} {at:.1}\"/>\
             <g transform=\"translate({marker:.1} {at:.1})\">"
        );
        draw_marker(out, end.curve);
        out.push_str("</g></g>\n");
        let first = end.at - end.height() / 2.0 + LETTERS - 0.5;
        for (at, line) in end.lines.iter().enumerate() {
            let place = (frame.right + 29.0, first + at as f64 * LEADING);
            write_text(out, "name", place, "start", line);
        }
    }
}

/// Moves names down until none overlaps, then up again where they leave the drawing.
fn spread_labels(ends: &mut [CurveLabel<'_>], frame: &PlotFrame) {
    let mut free = frame.top - LEADING / 2.0;
    for end in ends.iter_mut() {
        let half = end.height() / 2.0;
        end.at = end.wish.max(free + half);
        free = end.at + half;
    }
    let mut free = frame.bottom + LEADING / 2.0;
    for end in ends.iter_mut().rev() {
        let half = end.height() / 2.0;
        end.at = end.at.min(free - half);
        free = end.at - half;
    }
}

/// Writes a description for screen readers.
fn write_description(out: &mut String, chart: &Chart, curves: &[PlotCurve<'_>]) {
    put!(
        out,
        "Curves on logarithmic axes, {} over {}.",
        chart.y,
        chart.x
    );
    let value = |point: &ChartPoint| {
        let at = numbers::format_value(point.x, Unit::Count);
        format!("{} at {at}", numbers::format_value(point.y, chart.unit))
    };
    for curve in curves {
        if let (Some(first), Some(last)) = (curve.points.first(), curve.points.last()) {
            put!(
                out,
                " {}: {} to {}.",
                curve.series.name,
                value(first),
                value(last)
            );
        }
    }
}

/// The names of the letters; `short`, and only the narrow drawing needs them.
fn write_key(out: &mut String, curves: &[PlotCurve<'_>], short: bool) {
    let narrow = if short { " narrow" } else { "" };
    put!(out, "<ul class=\"key{narrow}\">\n");
    for curve in curves {
        let (class, dashes) = curve_style(curve);
        put!(
            out,
            "<li><svg class=\"swatch\" width=\"34\" height=\"14\" viewBox=\"0 0 34 14\" \
             aria-hidden=\"true\"><g class=\"{class}\"><path class=\"line\" d=\"M0 7H34\" \
             stroke-dasharray=\"{dashes}\"/><g transform=\"translate(17 7)\">"
        );
        draw_marker(out, curve);
        put!(
            out,
            "</g></g></svg><b>{}</b> <span>{}</span></li>\n",
            curve.letter,
            curve.series.name
        );
    }
    out.push_str("</ul>\n");
}

/// Says which points have no place on logarithmic axes.
fn left_out(out: &mut String, chart: &Chart) {
    let mut words = Vec::new();
    for series in &chart.series {
        let places: Vec<String> = series
            .points
            .iter()
            .filter(|point| !is_drawable(point))
            .map(|point| {
                let at = numbers::format_value(point.x, Unit::Count);
                format!("{} at {at}", numbers::format_value(point.y, chart.unit))
            })
            .collect();
        if !places.is_empty() {
            words.push(format!("{}: {}", series.name, places.join(", ")));
        }
    }
    if !words.is_empty() {
        let words = words.join("; ");
        put!(
            out,
            "<p class=\"small\">Not on logarithmic axes: {}.</p>\n",
            words
        );
    }
}

/// Writes the exact figures of the curves.
fn write_figures(out: &mut String, chart: &Chart) {
    let grid = chart_grid(chart);
    if grid.places.is_empty() {
        return;
    }
    out.push_str("<details>\n<summary>Figures of this chart</summary>\n");
    let mut headings = vec![(chart.x.as_str(), false)];
    headings.extend(grid.places.iter().map(|place| (place.as_str(), true)));
    begin_table(out, &chart.title, "figures", &headings);
    for (name, figures) in &grid.rows {
        put!(out, "<tr><th scope=\"row\">{}</th>", name);
        for figure in figures {
            put!(out, "<td class=\"figure\">{}</td>", figure);
        }
        out.push_str("</tr>\n");
    }
    end_table(out);
    out.push_str("</details>\n");
}
