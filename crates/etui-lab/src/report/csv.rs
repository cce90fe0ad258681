//! Every figure in one long table: comma-separated values as RFC 4180 has them.
//!
//! ```text
//! experiment,table,row,role,column,unit,value,low,high,ratio,note,lost
//! media-sync,Per batch,8 MB limit,cure,Time,nanoseconds,401000000,398000000,411000000,0.82,,
//! ```
//!
//! Values are not rounded and have the unit named; the points of a chart follow the tables,
//! the chart as table, the curve as row, the place on the x axis as column.

use super::{Report, ReportSection, bar_label};
use crate::{ChartKind, Unit};

/// The first line.
const HEADINGS: [&str; 12] = [
    "experiment",
    "table",
    "row",
    "role",
    "column",
    "unit",
    "value",
    "low",
    "high",
    "ratio",
    "note",
    "lost",
];

/// The report as comma-separated values.
pub fn csv(report: &Report) -> String {
    let mut out = String::new();
    line(&mut out, &HEADINGS);
    for section in &report.sections {
        tables(&mut out, section);
        charts(&mut out, section);
    }
    out
}

fn tables(out: &mut String, section: &ReportSection) {
    for table in &section.presentation.tables {
        for row in &table.rows {
            for (cell, column) in row.cells.iter().zip(&table.columns) {
                line(
                    out,
                    &[
                        section.about.name,
                        &table.title,
                        &row.label,
                        row.role.label(),
                        &column.title,
                        unit(column.unit),
                        &number(cell.value),
                        &number(cell.range.map(|(low, _)| low)),
                        &number(cell.range.map(|(_, high)| high)),
                        &number(cell.ratio),
                        &cell.note,
                        if cell.lost { "lost" } else { "" },
                    ],
                );
            }
        }
    }
}

fn charts(out: &mut String, section: &ReportSection) {
    for chart in &section.presentation.charts {
        for series in &chart.series {
            for (x, y) in &series.points {
                let place = match chart.kind {
                    ChartKind::Growth => number(Some(*x)),
                    ChartKind::Bars | ChartKind::Stacked => bar_label(chart, *x),
                };
                line(
                    out,
                    &[
                        section.about.name,
                        &chart.title,
                        &series.name,
                        series.role.label(),
                        &place,
                        unit(chart.unit),
                        &number(Some(*y)),
                        "",
                        "",
                        "",
                        "",
                        "",
                    ],
                );
            }
        }
    }
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "nanoseconds",
        Unit::Bytes => "bytes",
        Unit::Count => "count",
        Unit::PerSecond => "per second",
        Unit::Ratio => "ratio",
        Unit::Fraction => "fraction",
    }
}

/// A number that reads back as the same; nothing if it is none.
fn number(value: Option<f64>) -> String {
    match value {
        Some(value) if value.is_finite() => value.to_string(),
        _ => String::new(),
    }
}

fn line(out: &mut String, fields: &[&str]) {
    for (at, field) in fields.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        if field.contains(['"', ',', '\r', '\n']) {
            out.push('"');
            out.push_str(&field.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(field);
        }
    }
    out.push_str("\r\n");
}
