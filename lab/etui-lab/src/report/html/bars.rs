//! Bar charts on the page: rows of a table whose middle column is drawn. The words are the
//! table's own, so they wrap and are never cut, at any width.

use maud::{Markup, html};

use super::super::bar_label;
use super::super::curves::point_range;
use super::super::numbers::Scale;
use super::{role_class, text};
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

/// Bars from zero. `parts` are the names of the parts of an experiment's stacked bars: each has one fill
/// in all of its charts.
pub(super) fn bars(chart: &Chart, parts: &[&str]) -> Markup {
    let bars = chart_bars(chart);
    let mut points = bars.iter().flat_map(|bar| &bar.parts);
    let taken = match points.any(|(_, point)| point.range.is_some()) {
        true => "bars are medians, lines reach from the lowest to the highest repetition",
        false => "each from one run",
    };
    // Where every bar has a name of its own, the series says nothing that the name does not.
    let several = bars.windows(2).any(|two| two[0].x == two[1].x);
    let groups = bars.chunk_by(|a, b| !several || a.x == b.x);
    let drawing = BarDrawing {
        chart,
        parts,
        several,
        most: bars.iter().map(Bar::end).fold(0.0, f64::max),
        common: Scale::of(chart.unit, bars.iter().map(Bar::total)),
    };
    html! {
        figure.bars {
            figcaption {
                b { (text(&chart.title)) }
                @if !chart.y.is_empty() && !bars.is_empty() {
                    " " span { (text(&chart.y)) "; " (taken) }
                }
            }
            @if bars.is_empty() {
                p.small { "Nothing of this was run." }
            } @else {
                table {
                    @for group in groups {
                        tbody {
                            @if several {
                                tr.group {
                                    th scope="rowgroup" colspan="3" { (text(bar_label(chart, group[0].x))) }
                                }
                            }
                            @for bar in group { (drawing.row(bar)) }
                        }
                    }
                }
            }
        }
    }
}

/// What the bars of a chart have in common.
struct BarDrawing<'a> {
    chart: &'a Chart,
    parts: &'a [&'a str],
    /// Several bars have the same name.
    several: bool,
    /// The farthest that a bar reaches.
    most: f64,
    common: Scale,
}

impl BarDrawing<'_> {
    fn fill(&self, name: &str) -> usize {
        let at = self.parts.iter().position(|part| *part == name);
        at.unwrap_or(0) % FILLS
    }

    fn percent(&self, value: f64) -> String {
        format!("{:.3}%", self.share(value))
    }

    fn share(&self, value: f64) -> f64 {
        (value / self.most).clamp(0.0, 1.0) * 100.0
    }

    fn row(&self, bar: &Bar<'_>) -> Markup {
        let stacked = self.chart.kind == ChartKind::Stacked;
        let (series, point) = bar.parts[0];
        let name = match self.several {
            true => series.name.clone(),
            false => bar_label(self.chart, bar.x),
        };
        // Figures that are far apart have each the unit that suits it, as they have in sentences.
        let scale = match stacked {
            true => self.common,
            false => Scale::of(self.chart.unit, [bar.total()]),
        };
        let drawn = bar.parts.iter().filter(|_| self.most > 0.0);
        let drawn = drawn.scan(0.0, |from, (part, point)| {
            let begin = *from;
            *from += self.share(point.y);
            Some((begin, part, point))
        });
        html! {
            tr {
                th scope="row" { (text(name)) }
                td.bar {
                    svg width="100%" height="14" aria-hidden="true" class=(role_class(series.role)) {
                        @for (from, part, point) in drawn {
                            @let class = if stacked { format!("f{}", self.fill(&part.name)) } else { "own".to_owned() };
                            rect x={(format!("{from:.3}%"))} y="0" width=(self.percent(point.y)) height="100%" class=(class) {}
                            @if let Some((low, high)) = finite_range(point).filter(|_| !stacked) {
                                line.spread x1=(self.percent(low)) x2=(self.percent(high)) y1="7" y2="7" {}
                            }
                        }
                    }
                    @if stacked {
                        span.parts {
                            @for (part, point) in bar.parts.iter().filter(|(_, point)| point.y != 0.0) {
                                span {
                                    i class={"swatch f" (self.fill(&part.name))} {}
                                    (text(&part.name)) " " (text(scale.write(point.y)))
                                }
                                " "
                            }
                        }
                    }
                }
                td.figure {
                    (text(scale.write(bar.total())))
                    @if let Some(range) = point_range(point, &scale).filter(|_| !stacked) {
                        " " span.range { "(" (text(range)) ")" }
                    }
                }
            }
        }
    }
}
