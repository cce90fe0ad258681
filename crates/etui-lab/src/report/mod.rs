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
mod text_table;

use std::collections::BTreeMap;

use crate::results::RunHeader;
use crate::{Chart, ExperimentInfo, ExperimentReport, FindingStatus, NotRun, Results, Study, Unit};
use text_table::TextTable;

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

    /// Returns the cells where another product does better: the table's title, then place and
    /// figure, e.g. `Fetch all, evolution: 4.10 ms (1.30x)`.
    fn losses(&self) -> Vec<(&str, String)> {
        let mut losses = Vec::new();
        for table in &self.presentation.tables {
            let text = TextTable::new(table);
            for row in &text.rows {
                for (cell, column) in row.cells.iter().zip(&text.columns) {
                    let ratio = Some(cell.ratio.as_str()).filter(|r| !r.is_empty() && !cell.base);
                    let figure = match (cell.figure(), ratio) {
                        (Some(figure), Some(ratio)) => format!(": {figure} ({ratio})"),
                        (Some(figure), None) => format!(": {figure}"),
                        (None, Some(ratio)) => format!(": {ratio}"),
                        (None, None) => String::new(),
                    };
                    if cell.lost {
                        let words = format!("{column}, {}{figure}", row.label);
                        losses.push((table.title.as_str(), words));
                    }
                }
            }
        }
        losses
    }

    /// Returns the parts not run, the failed runs and the stacks: title, then term and text of
    /// each.
    fn lists(&self) -> [(&'static str, Vec<(String, String)>); 3] {
        let not_run = self.not_run_by_reason().into_iter();
        let failed = self.failed.iter();
        let stacks = self
            .stacks
            .iter()
            .filter(|(_, details)| !details.is_empty());
        let stacks = stacks.map(|(name, details)| {
            let each: Vec<String> = details.iter().map(|(k, v)| format!("{k}: {v}")).collect();
            (name.clone(), each.join("; "))
        });
        [
            (
                "Not run here",
                not_run
                    .map(|(reason, parts)| (parts.join(", "), reason.to_owned()))
                    .collect(),
            ),
            (
                "Failed",
                failed
                    .map(|(work, arm, message)| (format!("{work}, {arm}"), message.clone()))
                    .collect(),
            ),
            ("Storage stacks", stacks.collect()),
        ]
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

/// Names the studies without a result; empty if there are none.
fn missing_studies(report: &Report) -> String {
    let has = |study| report.sections.iter().any(|s| s.about.study == Some(study));
    let missing = Study::ALL.into_iter().filter(|study| !has(*study));
    let titles: Vec<&str> = missing.map(Study::title).collect();
    match titles.as_slice() {
        [] => String::new(),
        titles => format!("Not among these results: {}.", titles.join("; ")),
    }
}

/// The name of the bar at this place of a chart.
fn bar_label(chart: &Chart, x: f64) -> String {
    let named = (x.is_finite() && x >= 0.0)
        .then(|| chart.labels.get(x.round() as usize))
        .flatten();
    named.map_or_else(|| numbers::format_value(x, Unit::Count), Clone::clone)
}

/// Returns the status of a section's finding; none where there is no study whose finding
/// could show.
fn sign_of(section: &ReportSection) -> Option<FindingStatus> {
    let of = section.presentation.verdict.shown;
    (section.about.study.is_some() || of == FindingStatus::Open).then_some(of)
}

/// The verdict's sentence; words in its place where there is none yet.
pub(crate) fn verdict_sentence(section: &ReportSection) -> &str {
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
    let figure = |number: u64, unit| match number {
        0 => String::new(),
        number => numbers::format_value(number as f64, unit),
    };
    let run = if header.quick { "quick" } else { "full" };
    let rights = if header.root { "as" } else { "without" };
    let facts = [
        ("Processor", header.processor.clone()),
        ("Cores used", figure(header.cores, Unit::Count)),
        ("Memory", figure(header.memory, Unit::Bytes)),
        ("System", header.system.clone()),
        ("Kernel", header.kernel.clone()),
        ("etui", header.etui.clone()),
        ("SQLite", header.sqlite.clone()),
        ("Started", header.started.clone()),
        ("Run", format!("{run}, {rights} root")),
    ];
    let known = |fact: String| match fact.as_str() {
        "" => "not known".to_owned(),
        _ => fact,
    };
    facts.map(|(name, fact)| (name, known(fact))).into()
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
