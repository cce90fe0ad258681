//! The report of a comparison: its tables, and bounds of etui's figures, which decide its verdict.

use etui_lab::{ChartSpec, Conclusion, ReportSpec, TableSpec, Threshold};

/// Declares a report; losses are counted against an arm of etui.
pub fn bounded_report(
    etui: impl Into<Option<&'static str>>,
    tables: Vec<TableSpec>,
    charts: Vec<ChartSpec>,
    thresholds: Vec<Threshold>,
) -> ReportSpec {
    ReportSpec {
        tables,
        charts,
        thresholds,
        conclusion: Conclusion {
            yes: "Every figure of etui is within its bound.",
            partly: "Not every figure of etui is within its bound; the notes name those that are not.",
            no: "No figure of etui is within its bound.",
        },
        etui: etui.into(),
        ..ReportSpec::default()
    }
}
