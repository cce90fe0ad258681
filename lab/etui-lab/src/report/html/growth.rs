//! Growth curves on the page, drawn by plotters: both axes logarithmic. Each is drawn twice, for a
//! wide and for a narrow page, since letters must not shrink with the drawing; the style sheet
//! shows the one that fits. Colours are those of the style sheet's light theme, which the dark one
//! replaces by their values.

use maud::{Markup, PreEscaped, html};
use plotters::coord::Shift;
use plotters::coord::combinators::{BindKeyPoints, IntoLogRange};
use plotters::prelude::*;

use super::super::curves::chart_grid;
use super::super::numbers::{format_tick, format_value};
use super::{HtmlText, role_class, scrolling_table, text};
use crate::{ArmRole, Chart, ChartPoint, ChartSeries, Unit};

/// The size of plotters' letters that gives 12 pixels.
const LETTERS: i32 = 15;

/// Ways to draw a line.
const DASHES: usize = 5;

type DrawingError = DrawingAreaErrorKind<std::io::Error>;

/// A curve that can be drawn: its points within the axes by x, and which of its role it is.
struct Curve<'a> {
    series: &'a ChartSeries,
    variant: usize,
    points: Vec<ChartPoint>,
}

impl Curve<'_> {
    /// The dashes and gaps of its line, by which curves of one role are told apart.
    fn dashes(&self) -> Option<(u32, u32)> {
        let dashes = (self.variant % DASHES) as u32;
        (dashes > 0).then(|| (12 / dashes, 3 + dashes))
    }

    /// Whether its points are circles instead of dots, where there are more curves than dashes.
    fn is_hollow(&self) -> bool {
        self.variant / DASHES % 2 == 1
    }
}

/// Returns true if both coordinates have a place on logarithmic axes.
fn is_drawable(point: &ChartPoint) -> bool {
    fits_axis(point.x) && fits_axis(point.y)
}

fn fits_axis(value: f64) -> bool {
    value.is_finite() && value > 1e-30 && value < 1e30
}

fn chart_curves(chart: &Chart) -> Vec<Curve<'_>> {
    let mut curves: Vec<Curve<'_>> = Vec::new();
    for series in &chart.series {
        let points = series.points.iter().copied().filter(is_drawable);
        let mut points: Vec<ChartPoint> = points.collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        if points.is_empty() {
            continue;
        }
        let of_role = curves.iter().filter(|one| one.series.role == series.role);
        curves.push(Curve {
            series,
            variant: of_role.count(),
            points,
        });
    }
    curves
}

/// Growth curves, their key and their figures.
pub(super) fn growth(chart: &Chart) -> Markup {
    let curves = chart_curves(chart);
    let drawings = [("wide", (720, 340)), ("narrow", (330, 260))];
    let drawings = drawings.map(|(class, size)| draw(chart, &curves, size).map(|svg| (class, svg)));
    html! {
        figure.growth {
            figcaption {
                b { (text(&chart.title)) }
                @if drawings[0].is_some() {
                    " " span {
                        (text(&chart.y)) " over " (text(&chart.x))
                        ". Both axes are logarithmic. Points are medians; the lines through them show \
                         the lowest and the highest repetition."
                    }
                }
            }
            @for (class, svg) in drawings.iter().flatten() {
                // The rest of the element is plotters'.
                (PreEscaped(format!("<svg class=\"{class}\" role=\"img\" aria-label=\"{}\"{svg}", HtmlText(&chart.title))))
            }
            @if drawings[0].is_some() {
                (key(&curves))
            } @else {
                p.small { "Nothing of this can be drawn yet." }
            }
            (left_out(chart))
            (figures(chart))
        }
    }
}

/// Draws curves; returns the drawing's markup after `<svg`. None if nothing can be drawn.
fn draw(chart: &Chart, curves: &[Curve<'_>], size: (u32, u32)) -> Option<String> {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let ranges = points().filter_map(|point| point.range);
    let heights = ranges.flat_map(|(low, high)| [low, high]);
    let heights = heights.filter(|end| fits_axis(*end));
    let xs = span(points().map(|point| point.x))?;
    let ys = span(heights.chain(points().map(|point| point.y)))?;
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
    let drawn = draw_plot(&area, chart, curves, (xs, ys), size.0);
    drop(area);
    drawn.ok()?;
    // It is part of a page, which loads nothing.
    let svg = svg.replace(" xmlns=\"http://www.w3.org/2000/svg\"", "");
    Some(svg.strip_prefix("<svg")?.to_owned())
}

/// Returns the ends of an axis around values.
fn span(values: impl Iterator<Item = f64>) -> Option<std::ops::Range<f64>> {
    let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    (low <= high).then(|| low / 1.5..high * 1.5)
}

/// Returns the ticks of a logarithmic axis: 1, 2 and 5 of each decade, or as many decades as there is
/// place for.
fn axis_ticks(ends: &std::ops::Range<f64>, most: usize) -> Vec<f64> {
    let decades = ends.start.log10().floor() as i32..=ends.end.log10().ceil() as i32;
    let ticks = |steps: &[f64], every: usize| -> Vec<f64> {
        let powers = decades
            .clone()
            .step_by(every)
            .map(|power| 10f64.powi(power));
        let ticks = powers.flat_map(|power| steps.iter().map(move |step| step * power));
        ticks.filter(|tick| ends.contains(tick)).collect()
    };
    let spaced = (1..=decades.clone().count()).map(|every| ticks(&[1.0], every));
    std::iter::once(ticks(&[1.0, 2.0, 5.0], 1))
        .chain(spaced)
        .find(|ticks| ticks.len() <= most)
        .unwrap_or_default()
}

fn draw_plot(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    chart: &Chart,
    curves: &[Curve<'_>],
    (xs, ys): (std::ops::Range<f64>, std::ops::Range<f64>),
    width: u32,
) -> Result<(), DrawingError> {
    let x_ticks = axis_ticks(&xs, if width < 500 { 3 } else { 7 });
    let y_ticks = axis_ticks(&ys, 7);
    let mut plot = ChartBuilder::on(area)
        .margin(8)
        .margin_right(24)
        .x_label_area_size(26)
        .y_label_area_size(88)
        .build_cartesian_2d(
            xs.log_scale().with_key_points(x_ticks),
            ys.log_scale().with_key_points(y_ticks),
        )?;
    plot.configure_mesh()
        .disable_x_mesh()
        .x_label_formatter(&|x| format_tick(*x, Unit::Count))
        .y_label_formatter(&|y| format_tick(*y, chart.unit))
        .label_style(("sans-serif", LETTERS))
        .draw()?;
    for curve in curves {
        let color = role_color(curve.series.role);
        let line = color.stroke_width(if curve.series.role == ArmRole::Etui {
            3
        } else {
            2
        });
        let path = curve.points.iter().map(|point| (point.x, point.y));
        match curve.dashes() {
            None => plot.draw_series(LineSeries::new(path.clone(), line))?,
            Some((drawn, left)) => {
                plot.draw_series(DashedLineSeries::new(path.clone(), drawn, left, line))?
            }
        };
        let dot = if curve.is_hollow() {
            color.stroke_width(2)
        } else {
            color.filled()
        };
        plot.draw_series(path.map(|at| Circle::new(at, 4, dot)))?;
        let ranges = curve.points.iter().filter_map(|point| {
            let (low, high) = point
                .range
                .filter(|(a, b)| fits_axis(*a) && fits_axis(*b))?;
            Some(PathElement::new(
                vec![(point.x, low), (point.x, high)],
                color,
            ))
        });
        plot.draw_series(ranges)?;
    }
    area.present()
}

/// The colour of a role in the light theme of the style sheet.
fn role_color(role: ArmRole) -> RGBColor {
    match role {
        ArmRole::AsFound => RGBColor(0x55, 0x58, 0x5e),
        ArmRole::Cure => RGBColor(0xa8, 0x6f, 0x00),
        ArmRole::AllCures => RGBColor(0x00, 0x72, 0xb2),
        ArmRole::Unsafe => RGBColor(0xa8, 0x3a, 0x00),
        ArmRole::Peer => RGBColor(0xa3, 0x4d, 0x80),
        ArmRole::Etui => RGBColor(0x00, 0x79, 0x5a),
        ArmRole::Variant => RGBColor(0x5d, 0x8a, 0x0a),
    }
}

/// The curves' names, each with its colour and dashes.
fn key(curves: &[Curve<'_>]) -> Markup {
    html! {
        ul.key {
            @for curve in curves {
                @let dashes = curve.dashes().map_or("none".to_owned(), |(drawn, left)| format!("{drawn} {left}"));
                li {
                    svg class={"swatch " (role_class(curve.series.role))} width="34" height="14" viewBox="0 0 34 14" aria-hidden="true" {
                        path.line d="M0 7H34" stroke-dasharray=(dashes) {}
                        circle class={"dot" @if curve.is_hollow() { " hollow" }} cx="17" cy="7" r="4" {}
                    }
                    span { (text(&curve.series.name)) }
                }
            }
        }
    }
}

/// The points that have no place on logarithmic axes.
fn left_out(chart: &Chart) -> Markup {
    let words = chart.series.iter().filter_map(|series| {
        let places = series.points.iter().filter(|point| !is_drawable(point));
        let places = places.map(|point| {
            let at = format_value(point.x, Unit::Count);
            format!("{} at {at}", format_value(point.y, chart.unit))
        });
        let places: Vec<String> = places.collect();
        (!places.is_empty()).then(|| format!("{}: {}", series.name, places.join(", ")))
    });
    let words: Vec<String> = words.collect();
    html! {
        @if !words.is_empty() {
            p.small { "Not on logarithmic axes: " (text(words.join("; "))) "." }
        }
    }
}

/// The exact figures of the curves.
fn figures(chart: &Chart) -> Markup {
    let grid = chart_grid(chart);
    let mut headings = vec![(chart.x.as_str(), false)];
    headings.extend(grid.places.iter().map(|place| (place.as_str(), true)));
    let rows = html! {
        @for (name, figures) in &grid.rows {
            tr {
                th scope="row" { (text(name)) }
                @for figure in figures { td.figure { (text(figure)) } }
            }
        }
    };
    html! {
        @if !grid.places.is_empty() {
            details {
                summary { "Figures of this chart" }
                (scrolling_table((&chart.title, "figures", false), &headings, &rows))
            }
        }
    }
}
