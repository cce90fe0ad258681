//! The one shape that every experiment has: [`Experiment`].
//!
//! An experiment states its question and its study's findings ([`ExperimentInfo`]), which arms it
//! compares ([`RunPlan`]), how one arm is run ([`Experiment::run_case`], in a process of its own,
//! with a [`Recorder`]), and declares its report ([`Experiment::report_spec`]).

use std::path::Path;

use serde::{Deserialize, Serialize};
use strum::VariantArray;

use crate::arms::{ArmGroup, NotRun, RunCase};
use crate::error::Error;
use crate::lab::LabContext;
use crate::recorder::Recorder;
use crate::report::content::ExperimentReport;
use crate::results::Results;
use crate::spec::ReportSpec;

/// One of the five studies that etui is built from.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, VariantArray,
)]
#[serde(rename_all = "kebab-case")]
pub enum Study {
    /// MTP music sync on a Symbian^3 phone: Symbian SQL, 2010.
    MusicSync,
    /// The smartphone I/O stack: Jeong et al., USENIX ATC 2013.
    SmartphoneStack,
    /// Palm date book on NVFS: Llamagraphics, 2005.
    DateBook,
    /// Evolution Data Server's address book: Openismus, 2012.
    AddressBook,
    /// Application start: CE Linux Forum, 2005-2007.
    ApplicationStart,
}

impl Study {
    /// All of them, in the order of the book.
    pub const ALL: &'static [Study] = Self::VARIANTS;

    /// Returns the title.
    pub fn title(self) -> &'static str {
        match self {
            Study::MusicSync => "Music sync on a phone",
            Study::SmartphoneStack => "The smartphone I/O stack",
            Study::DateBook => "A date book on flash",
            Study::AddressBook => "An address book behind a server",
            Study::ApplicationStart => "Application start",
        }
    }

    /// Returns authors and year.
    pub fn source(self) -> &'static str {
        match self {
            Study::MusicSync => "MTP music sync on a Symbian^3 phone, Symbian SQL, 2010",
            Study::SmartphoneStack => {
                "Jeong et al., I/O Stack Optimization for Smartphones, USENIX ATC 2013"
            }
            Study::DateBook => "Palm date book on NVFS, Llamagraphics, 2005",
            Study::AddressBook => "Evolution Data Server's address book, Openismus, 2012",
            Study::ApplicationStart => "Application start, CE Linux Forum, 2005-2007",
        }
    }
}

/// A figure of the study itself, the historical anchor.
#[derive(Debug, Clone, Copy)]
pub struct PublishedResult {
    /// The finding.
    pub finding: &'static str,
    /// The proposed mitigation.
    pub cure: &'static str,
    /// Its figure, in its own words and units.
    pub figure: &'static str,
}

/// What an arm is, for a reader of the report.
#[derive(Debug, Clone, Copy)]
pub struct ArmMeaning {
    /// The arm's name; one that ends in `...` is all arms whose names begin so.
    pub name: &'static str,
    /// What it does, in a sentence without a full stop.
    pub about: &'static str,
}

/// A parameter of a run: a list of whole numbers.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// The name, for `--set NAME=VALUE,VALUE`.
    pub name: &'static str,
    /// Meaning and unit.
    pub about: &'static str,
    /// The values of a quick run (`etui lab studies`).
    pub quick: &'static [u64],
    /// The values of a full run (`etui lab run NAME`).
    pub full: &'static [u64],
}

/// Description of an experiment.
#[derive(Debug, Clone, Copy)]
pub struct ExperimentInfo {
    /// The name at the prompt, e.g. `media-sync`.
    pub name: &'static str,
    /// Title, one line.
    pub title: &'static str,
    /// The study it repeats, if it repeats one.
    pub study: Option<Study>,
    /// The question, in a sentence.
    pub question: &'static str,
    /// Method, and differences from the study, in a few sentences.
    pub method: &'static str,
    /// How it is made sure that all arms did the same work.
    pub same_answer: &'static str,
    /// The study's results.
    pub found: &'static [PublishedResult],
    /// What the arms are.
    pub arms: &'static [ArmMeaning],
    /// Parameters.
    pub parameters: &'static [Parameter],
}

impl ExperimentInfo {
    /// Returns the meaning of an arm's name; empty if the description has none.
    pub fn arm_meaning(&self, arm: &str) -> &'static str {
        let mut meanings = self.arms.iter();
        let named = meanings.find(|meaning| match meaning.name.strip_suffix("...") {
            Some(start) => arm.starts_with(start),
            None => arm == meaning.name,
        });
        named.map_or("", |meaning| meaning.about)
    }
}

/// Plan of an experiment on this machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunPlan {
    /// The groups, in order.
    pub groups: Vec<ArmGroup>,
    /// Parts that cannot be run.
    pub not_run: Vec<NotRun>,
}

impl RunPlan {
    /// Notes a part that cannot be run here.
    pub fn skip(&mut self, what: impl Into<String>, reason: impl Into<String>) {
        let (what, reason) = (what.into(), reason.into());
        self.not_run.push(NotRun { what, reason });
    }

    /// Returns the stacks that are available here, and notes the others.
    pub fn keep_available<'s>(
        &mut self,
        lab: &LabContext,
        stacks: impl IntoIterator<Item = &'s str>,
    ) -> Vec<&'s str> {
        let mut available: Vec<&str> = stacks.into_iter().collect();
        available.retain(|stack| {
            let checked = lab.stack(stack);
            checked
                .map_err(|reason| self.skip(format!("stack {stack}"), reason))
                .is_ok()
        });
        available
    }
}

impl From<Vec<ArmGroup>> for RunPlan {
    fn from(groups: Vec<ArmGroup>) -> Self {
        Self {
            groups,
            not_run: Vec::new(),
        }
    }
}

/// An experiment. `examples/flush_cost.rs` is one from beginning to end; the book, *Adding an experiment*, explains it.
pub trait Experiment: Sync {
    /// Description.
    fn experiment_info(&self) -> ExperimentInfo;

    /// Plans all arms for this machine, and lists parts that cannot be run here.
    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error>;

    /// Writes the shared files of a group into a directory on its stack, once, before the first
    /// run, unmeasured, in a process of its own: [`Recorder::shared`]. Nothing, unless an experiment says otherwise.
    fn set_up(&self, group: &ArmGroup, dir: &Path) -> Result<(), Error> {
        let _ = (group, dir);
        Ok(())
    }

    /// Runs one arm, once. Called in a process of its own, whose memory, calls and time are
    /// the arm's alone. An arm that cannot be run after all returns [`Error::NotRun`].
    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error>;

    /// Declares the tables, charts and verdict over the results, which may be partial.
    fn report_spec(&self, results: &Results) -> ReportSpec;

    /// Evaluates [`report_spec`](Experiment::report_spec) over results.
    fn present_results(&self, results: &Results) -> ExperimentReport {
        self.report_spec(results).evaluate(results)
    }
}
