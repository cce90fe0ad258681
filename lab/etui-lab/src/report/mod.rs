//! The report: `html` is one page that needs nothing else, `markdown` its text,
//! `csv` every figure in one long table, `terminal` one experiment at the prompt.
//!
//! All are made from a [`Report`]: the machine, and a [`ReportSection`] for each
//! experiment. None of them trusts the text of a results file, and none needs the results
//! to be complete.

pub(crate) mod content;
mod csv;
mod curves;
mod html;
mod markdown;
pub mod numbers;
mod terminal;
pub(crate) mod text;
mod text_table;

use std::collections::BTreeMap;

use crate::results::RunHeader;
use crate::{
    Advice, Chart, ExperimentInfo, ExperimentReport, FindingStatus, NotRun, Results, Study, Unit,
};
use numbers::Scale;
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

    /// Returns the cells where another product does better: the table's title, then who wins where
    /// and by how much, e.g. `evolution, fetch all: 4.10 ms, 1.3 times better than etui (5.33 ms)`.
    fn losses(&self) -> Vec<(&str, String)> {
        let mut losses = Vec::new();
        for table in &self.presentation.tables {
            let text = TextTable::new(table);
            for row in &text.rows {
                for (cell, column) in row.cells.iter().zip(&text.columns) {
                    if let Some(lost) = &cell.lost {
                        let figure = cell.figure().unwrap_or_default();
                        let words = format!("{}, {column}: {figure}, {lost}", row.label);
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

/// Returns the headings of the verdicts in the summary, each with its sections: those that repeat a
/// study, whose finding may still show, and the others.
fn verdict_lists(report: &Report) -> Vec<(&'static str, Vec<&ReportSection>)> {
    let (of_studies, further): (Vec<_>, Vec<_>) = by_study(report)
        .into_iter()
        .partition(|(study, _)| study.is_some());
    let lists = [
        ("Whether the studies' findings still show here", of_studies),
        ("What the further experiments show", further),
    ];
    let lists = lists.into_iter().map(|(title, studies)| {
        let sections = studies.into_iter().flat_map(|(_, sections)| sections);
        (title, sections.collect::<Vec<_>>())
    });
    lists.filter(|(_, sections)| !sections.is_empty()).collect()
}

/// Returns an experiment's short name: its study and the name to run it by.
fn short_name(about: &ExperimentInfo) -> String {
    match about.study {
        Some(study) => format!("{} ({})", study.title(), about.name),
        None => about.title.to_owned(),
    }
}

/// Names the studies without a result; empty if there are none.
fn missing_studies(report: &Report) -> String {
    let has = |study| report.sections.iter().any(|s| s.about.study == Some(study));
    let missing = Study::ALL.iter().copied().filter(|study| !has(*study));
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

struct AdviceList<'a> {
    /// Its heading; none for the first.
    title: &'static str,
    /// Whether the advice is to change something.
    worth: bool,
    /// Advice, with the experiment that it is from.
    all: Vec<(&'a ReportSection, &'a Advice)>,
}

/// Returns the lists of the summary: changes for any program, those for users of etui, and
/// settings to keep.
fn advice_lists(report: &Report) -> Vec<AdviceList<'_>> {
    let changes = sort_advice(report, true).into_iter();
    let (etui, any): (Vec<_>, Vec<_>) = changes.partition(|(_, advice)| advice.about_etui);
    let title = if any.is_empty() {
        ""
    } else {
        "Where etui is used, or could be"
    };
    let lists = [
        ("", true, any),
        (title, true, etui),
        ("What to leave as it is", false, sort_advice(report, false)),
    ];
    let lists = lists.into_iter();
    let lists = lists.map(|(title, worth, all)| AdviceList { title, worth, all });
    lists.filter(|list| !list.all.is_empty()).collect()
}

/// Returns the advice to change something, or to leave it: clear gains first, the largest of them
/// first.
fn sort_advice(report: &Report, worth: bool) -> Vec<(&ReportSection, &Advice)> {
    let sections = by_study(report).into_iter().flat_map(|(_, of)| of);
    let mut all: Vec<(&ReportSection, &Advice)> = sections
        .flat_map(|section| {
            let advice = section.presentation.verdict.advice.iter();
            advice.map(move |one| (section, one))
        })
        .filter(|(_, advice)| advice.worth == worth)
        .collect();
    all.sort_by(|(_, a), (_, b)| {
        let by_clock = b.clear.cmp(&a.clear);
        by_clock.then(b.factor.total_cmp(&a.factor))
    });
    all
}

/// Writes the figures that advice compares, e.g. `as found, DELETE: 298/s (290-301); ...`.
fn advice_figures(advice: &Advice) -> String {
    let figures = advice.figures.iter().map(|figure| {
        let scale = Scale::of(advice.unit, [figure.value]);
        let range = match figure.range {
            Some((low, high)) if low != high => format!(" ({})", scale.range(low, high)),
            _ => String::new(),
        };
        format!("{} {}{range}", figure.title, scale.write(figure.value))
    });
    figures.collect::<Vec<_>>().join("; ")
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
const METHOD: [&str; 6] = [
    "Each run of each arm is a process of its own, so that its time, memory and calls are its \
     alone.",
    "Repetitions alternate: all arms run once, then all again, so that whatever else the \
     machine does at that moment falls on all of them.",
    "A time is the median of its repetitions; beside it, and as a thin line in charts, are the \
     lowest and the highest. Counters without a range were counted once.",
    "A ratio is that of the two medians shown, to the figure marked \u{201c}base\u{201d}. An absolute \
     time holds for this machine and this hour; a ratio says more.",
    "Advice to change something is given if the change gains at least a tenth (where it costs \
     something, more), and four of five repetitions agree: both are compared in each of them.",
    "System calls by file, flushes, block I/O and instructions are counted in runs of their own, \
     which are not timed. Page faults, and calls and bytes in all, are the kernel's own counts, \
     looked at before and after what is timed. All arms of a group must give the same answer \
     before any of their figures count.",
];

/// The sign of a loss, in every form of the report.
const LOSS: &str = "\u{25bc}";
/// Meaning of the sign of a loss.
const LOSS_MEANS: &str = "another program or setting does better than etui here";
