//! The report: `html` is one page that needs nothing else, `markdown` the same as text,
//! `csv` every figure in one long table, `terminal` one experiment at the prompt.
//!
//! All are made from a [`Report`]: the machine, and a [`ReportSection`] for each
//! experiment. None of them trusts the text of a results file, and none needs the results
//! to be complete.

mod csv;
mod curves;
mod glance;
mod html;
mod markdown;
pub mod numbers;
mod terminal;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use crate::results::RunHeader;
use crate::{
    ArmRole, Chart, ExperimentInfo, ExperimentReport, FindingStatus, NotRun, Results, Study, Table,
};
use numbers::Scale;

pub use csv::to_csv;
pub use html::to_html;
pub use markdown::to_markdown;
pub use terminal::to_terminal;

/// Content of a report.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The machine and the settings.
    pub header: RunHeader,
    /// The experiments.
    pub sections: Vec<ReportSection>,
}

/// One experiment's part of the report.
#[derive(Debug, Clone)]
pub struct ReportSection {
    /// Description.
    pub about: ExperimentInfo,
    /// Its evaluated report.
    pub presentation: ExperimentReport,
    /// Parts not run.
    pub not_run: Vec<NotRun>,
    /// Failed runs: work, arm and message.
    pub failed: Vec<(String, String, String)>,
    /// How each stack was made.
    pub stacks: BTreeMap<String, BTreeMap<String, String>>,
    /// With which parameters it was run.
    pub parameters: BTreeMap<String, Vec<u64>>,
}

impl ReportSection {
    /// Returns the section of an experiment, from its results and their evaluation
    /// ([`Experiment::report_spec`](crate::Experiment::report_spec)).
    pub fn new(about: ExperimentInfo, results: &Results, presentation: ExperimentReport) -> Self {
        Self {
            about,
            presentation,
            not_run: results.not_run.clone(),
            failed: results.failed.clone(),
            stacks: results.stacks.clone(),
            parameters: results
                .header
                .experiments
                .get(about.name)
                .cloned()
                .unwrap_or_default(),
        }
    }

    /// Returns the parts not run, by reason.
    fn not_run_by_reason(&self) -> Vec<(&str, Vec<&str>)> {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for part in &self.not_run {
            let what = part.what.as_str();
            match reasons.iter_mut().find(|(of, _)| *of == part.reason) {
                Some((_, parts)) if parts.contains(&what) => {}
                Some((_, parts)) => parts.push(what),
                None => reasons.push((&part.reason, vec![what])),
            }
        }
        reasons
    }

    /// How many parts were not run.
    fn parts_not_run(&self) -> usize {
        self.not_run_by_reason()
            .iter()
            .map(|(_, parts)| parts.len())
            .sum()
    }

    /// Every cell where another product does better.
    fn losses(&self) -> Vec<Loss<'_>> {
        let mut losses = Vec::new();
        for table in &self.presentation.tables {
            let scales = column_scales(table);
            for row in &table.rows {
                for ((cell, column), scale) in row.cells.iter().zip(&table.columns).zip(&scales) {
                    if cell.lost {
                        losses.push(Loss {
                            table: &table.title,
                            row: &row.label,
                            column: &column.title,
                            figure: cell.value.map(|value| scale.write(value)),
                            ratio: cell
                                .ratio
                                .filter(|r| r.is_finite())
                                .map(numbers::format_ratio),
                        });
                    }
                }
            }
        }
        losses
    }

    /// The parameters in words, e.g. `records 100, 1,600`.
    fn settings(&self) -> String {
        let each: Vec<String> = self
            .parameters
            .iter()
            .map(|(name, values)| {
                let values: Vec<String> =
                    values.iter().map(|v| numbers::format_whole(*v)).collect();
                format!("{name} {}", values.join(", "))
            })
            .collect();
        each.join("; ")
    }
}

/// A cell where another product does better.
struct Loss<'a> {
    table: &'a str,
    row: &'a str,
    column: &'a str,
    figure: Option<String>,
    ratio: Option<String>,
}

impl Loss<'_> {
    /// Where it is and how much, e.g. `Fetch all, evolution: 4.10 ms (1.30x)`.
    fn words(&self) -> String {
        let mut words = format!("{}, {}", self.column, self.row);
        match (&self.figure, &self.ratio) {
            (Some(figure), Some(ratio)) => words += &format!(": {figure} ({ratio})"),
            (Some(figure), None) => words += &format!(": {figure}"),
            (None, Some(ratio)) => words += &format!(": {ratio}"),
            (None, None) => {}
        }
        words
    }
}

/// The sections of each study, in the book's order; those that belong to none come last.
fn by_study(report: &Report) -> Vec<(Option<Study>, Vec<&ReportSection>)> {
    Study::ALL
        .iter()
        .copied()
        .map(Some)
        .chain([None])
        .map(|study| {
            let of = report.sections.iter().filter(|s| s.about.study == study);
            (study, of.collect::<Vec<_>>())
        })
        .filter(|(_, sections)| !sections.is_empty())
        .collect()
}

/// Returns a section's name in the summary: its study's title, with its own where the study
/// has several.
fn section_name(
    study: Option<Study>,
    sections: &[&ReportSection],
    section: &ReportSection,
) -> String {
    match study {
        Some(study) if sections.len() > 1 => {
            format!("{}: {}", study.title(), section.about.title)
        }
        Some(study) => study.title().to_owned(),
        None => section.about.title.to_owned(),
    }
}

/// The studies of which these results hold nothing.
fn missing_studies(report: &Report) -> Vec<Study> {
    let here: BTreeSet<Study> = report
        .sections
        .iter()
        .filter_map(|s| s.about.study)
        .collect();
    Study::ALL
        .into_iter()
        .filter(|study| !here.contains(study))
        .collect()
}

/// The scale of each column of a table.
fn column_scales(table: &Table) -> Vec<Scale> {
    table
        .columns
        .iter()
        .enumerate()
        .map(|(at, column)| {
            let cells = table.rows.iter().filter_map(|row| row.cells.get(at));
            Scale::of(column.unit, cells.filter_map(|cell| cell.value))
        })
        .collect()
}

/// For each row and column, whether ratios of the column are taken against it: it has a figure
/// and no ratio where others have ratios, and is the only such row, or all such rows have a
/// role that no row with a ratio has. Nowhere, if that is not plain.
fn base_cells(table: &Table) -> Vec<Vec<bool>> {
    let columns = (0..table.columns.len()).map(|at| {
        let cells = || {
            table
                .rows
                .iter()
                .map(move |row| (row.role, row.cells.get(at)))
        };
        let role = |compared: bool| {
            cells().filter_map(move |(role, cell)| {
                let cell = cell.filter(|cell| cell.value.is_some())?;
                (cell.ratio.is_some() == compared).then_some(role)
            })
        };
        let bases: BTreeSet<ArmRole> = role(false).collect();
        let compared: BTreeSet<ArmRole> = role(true).collect();
        let plain = role(false).count() == 1 || bases.len() == 1 && bases.is_disjoint(&compared);
        let plain = plain && !compared.is_empty();
        cells()
            .map(|(_, cell)| plain && cell.is_some_and(|c| c.value.is_some() && c.ratio.is_none()))
            .collect::<Vec<bool>>()
    });
    let columns: Vec<Vec<bool>> = columns.collect();
    (0..table.rows.len())
        .map(|row| {
            columns
                .iter()
                .map(|c| c.get(row).copied().unwrap_or(false))
                .collect()
        })
        .collect()
}

/// The rows' groups and names, if all their labels are of the form `group: name` and some
/// group has several: then the group is said once, as a heading.
fn group_rows(table: &Table) -> Option<Vec<(&str, &str)>> {
    let parts: Option<Vec<(&str, &str)>> = table
        .rows
        .iter()
        .map(|row| row.label.split_once(": "))
        .collect();
    parts.filter(|parts| {
        parts
            .windows(2)
            .any(|two| matches!(two, [a, b] if a.0 == b.0))
    })
}

/// The name of the bar at this place of a chart.
fn bar_label(chart: &Chart, x: f64) -> String {
    let named = (x.is_finite() && x >= 0.0)
        .then(|| chart.labels.get(x.round() as usize))
        .flatten();
    named.map_or_else(
        || numbers::format_value(x, crate::Unit::Count),
        Clone::clone,
    )
}

/// Returns the status of a section's finding; none where there is no study whose finding
/// could show.
fn sign_of(section: &ReportSection) -> Option<FindingStatus> {
    let of = section.presentation.verdict.shown;
    (section.about.study.is_some() || of == FindingStatus::Open).then_some(of)
}

/// The verdict's sentence; words in its place where there is none yet.
fn verdict_sentence(section: &ReportSection) -> &str {
    match section.presentation.verdict.sentence.as_str() {
        "" => "Too little was run to tell.",
        sentence => sentence,
    }
}

/// The words for a verdict's sign.
fn status_words(shown: FindingStatus) -> &'static str {
    match shown {
        FindingStatus::Open => "undecided",
        FindingStatus::Yes => "still shows",
        FindingStatus::Partly => "shows in part",
        FindingStatus::No => "no longer shows",
    }
}

/// The machine, the programs and the run: name and value.
fn machine_facts(header: &RunHeader) -> Vec<(&'static str, String)> {
    let or = |text: &str| {
        if text.is_empty() {
            "not known".to_owned()
        } else {
            text.to_owned()
        }
    };
    let known = |number: u64, words: String| {
        if number == 0 {
            "not known".to_owned()
        } else {
            words
        }
    };
    vec![
        ("Processor", or(&header.processor)),
        (
            "Cores used",
            known(header.cores, numbers::format_whole(header.cores)),
        ),
        (
            "Memory",
            known(
                header.memory,
                numbers::format_value(header.memory as f64, crate::Unit::Bytes),
            ),
        ),
        ("System", or(&header.system)),
        ("Kernel", or(&header.kernel)),
        ("etui", or(&header.etui)),
        ("SQLite", or(&header.sqlite)),
        ("Started", or(&header.started)),
        (
            "Run",
            format!(
                "{}, {} root",
                if header.quick { "quick" } else { "full" },
                if header.root { "as" } else { "without" }
            ),
        ),
    ]
}

/// How every figure is taken, in sentences.
const METHOD: [&str; 5] = [
    "Each run of each arm is a process of its own, so that its time, memory and calls are its \
     alone.",
    "Repetitions alternate: all arms run once, then all again, so that whatever else the \
     machine does at that moment falls on all of them.",
    "A time is the median of its repetitions; beside it stand the lowest and the highest.",
    "A ratio is taken repetition by repetition against the figure marked \u{201c}base\u{201d}; \
     its median is shown. An absolute time holds for this machine and this hour; a ratio says \
     more.",
    "System calls by file, flushes, block I/O and instructions are counted in runs of their own, \
     which are not timed. Page faults, and calls and bytes in all, are the kernel's own counts, \
     looked at before and after what is timed. All arms of a group must give the same answer \
     before any of their figures count.",
];

/// The sign of a loss, in every form of the report.
const LOSS: &str = "\u{25bc}";
/// Meaning of the sign of a loss.
const LOSS_MEANS: &str = "another product does better than etui here";
