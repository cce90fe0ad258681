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
const HEADINGS: &str = "experiment,table,row,role,column,unit,value,low,high,ratio,note,lost";

/// The report as comma-separated values.
pub fn to_csv(report: &Report) -> String {
    let mut out = format!("{HEADINGS}\r\n");
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
                let (low, high) = cell.range.unzip();
                let place = [&table.title, &row.label, row.role.label(), &column.title];
                let figures = [cell.value, low, high, cell.ratio];
                let marks = [
                    cell.note.as_str(),
                    if cell.lost.is_some() { "lost" } else { "" },
                ];
                write_line(out, section, place, column.unit, figures, marks);
            }
        }
    }
}

fn write_charts(out: &mut String, section: &ReportSection) {
    for chart in &section.presentation.charts {
        for series in &chart.series {
            for point in &series.points {
                let at = match chart.kind {
                    ChartKind::Growth => format_number(Some(point.x)),
                    ChartKind::Bars | ChartKind::Stacked => bar_label(chart, point.x),
                };
                let place = [&chart.title, &series.name, series.role.label(), &at];
                let (low, high) = point.range.unzip();
                let figures = [Some(point.y), low, high, None];
                write_line(out, section, place, chart.unit, figures, ["", ""]);
            }
        }
    }
}

/// A number that reads back as the same; nothing if it is none.
fn format_number(value: Option<f64>) -> String {
    match value {
        Some(value) if value.is_finite() => value.to_string(),
        _ => String::new(),
    }
}

/// Writes a line: table, row, role and column; value, low, high and ratio; note and loss.
fn write_line(
    out: &mut String,
    section: &ReportSection,
    place: [&str; 4],
    unit: Unit,
    figures: [Option<f64>; 4],
    marks: [&str; 2],
) {
    let figures = figures.map(format_number);
    let fields = [section.about.name].into_iter().chain(place);
    let fields = fields.chain([unit.into()]);
    let fields = fields
        .chain(figures.iter().map(String::as_str))
        .chain(marks);
    let fields: Vec<String> = fields.map(quote_field).collect();
    out.push_str(&fields.join(","));
    out.push_str("\r\n");
}

fn quote_field(field: &str) -> String {
    match field.contains(['"', ',', '\r', '\n']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}
