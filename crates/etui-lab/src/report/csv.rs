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
pub fn to_csv(report: &Report) -> String {
    let mut out = String::new();
    write_line(&mut out, &HEADINGS);
    for section in &report.sections {
        write_tables(&mut out, section);
        write_charts(&mut out, section);
    }
    out
}

fn write_tables(out: &mut String, section: &ReportSection) {
    for table in &section.presentation.tables {
        for row in &table.rows {
            for (cell, column) in row.cells.iter().zip(&table.columns) {
                write_line(
                    out,
                    &[
                        section.about.name,
                        &table.title,
                        &row.label,
                        row.role.label(),
                        &column.title,
                        unit_name(column.unit),
                        &format_number(cell.value),
                        &format_number(cell.range.map(|(low, _)| low)),
                        &format_number(cell.range.map(|(_, high)| high)),
                        &format_number(cell.ratio),
                        &cell.note,
                        if cell.lost { "lost" } else { "" },
                    ],
                );
            }
        }
    }
}

fn write_charts(out: &mut String, section: &ReportSection) {
    for chart in &section.presentation.charts {
        for series in &chart.series {
            for (x, y) in &series.points {
                let place = match chart.kind {
                    ChartKind::Growth => format_number(Some(*x)),
                    ChartKind::Bars | ChartKind::Stacked => bar_label(chart, *x),
                };
                write_line(
                    out,
                    &[
                        section.about.name,
                        &chart.title,
                        &series.name,
                        series.role.label(),
                        &place,
                        unit_name(chart.unit),
                        &format_number(Some(*y)),
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

fn unit_name(unit: Unit) -> &'static str {
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
fn format_number(value: Option<f64>) -> String {
    match value {
        Some(value) if value.is_finite() => value.to_string(),
        _ => String::new(),
    }
}

fn write_line(out: &mut String, fields: &[&str]) {
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
