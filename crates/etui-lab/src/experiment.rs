//! The one shape that every experiment has: [`Experiment`].
//!
//! An experiment states its question and its study's findings ([`ExperimentInfo`]), which arms it
//! compares ([`RunPlan`]), how one arm is run ([`Experiment::run`], in a process of its own, with
//! a [`Recorder`](crate::Meter)), and declares its report ([`Experiment::report_spec`]).

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;
use crate::spec::ReportSpec;
use crate::{ExperimentReport, GroupKey, LabContext, Recorder, Results};

/// One of the five studies that etui is built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
    pub const ALL: [Study; 5] = [
        Study::MusicSync,
        Study::SmartphoneStack,
        Study::DateBook,
        Study::AddressBook,
        Study::ApplicationStart,
    ];

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

/// Role of an arm in the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArmRole {
    /// As the study found it.
    AsFound,
    /// One cure alone.
    Cure,
    /// All cures together.
    AllCures,
    /// Gives up durability or safety; an upper bound, no mitigation.
    Unsafe,
    /// Another product.
    Peer,
    /// etui, durable, as it is by default or as this experiment recommends it.
    Etui,
    /// etui with another setting, e.g. not durable, or a part of it under another program. Neither
    /// etui's figure nor a cure of the study.
    Variant,
}

impl ArmRole {
    /// The words for people.
    pub fn label(self) -> &'static str {
        match self {
            ArmRole::AsFound => "as found",
            ArmRole::Cure => "cure",
            ArmRole::AllCures => "all cures",
            ArmRole::Unsafe => "unsafe",
            ArmRole::Peer => "peer",
            ArmRole::Etui => "etui",
            ArmRole::Variant => "variant",
        }
    }
}

/// Settings of an arm: names and values, kept with its results.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ArmSettings(BTreeMap<String, Value>);

impl ArmSettings {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// These, and one more.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// A text.
    pub fn text(&self, name: &str) -> Result<&str, Error> {
        self.0
            .get(name)
            .and_then(Value::as_str)
            .ok_or_else(|| Error::setting(name, "a text"))
    }

    /// A whole number.
    pub fn number(&self, name: &str) -> Result<u64, Error> {
        self.0
            .get(name)
            .and_then(Value::as_u64)
            .ok_or_else(|| Error::setting(name, "a whole number"))
    }

    /// Whether a switch is set; absent means no.
    pub fn is(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v))
    }
}

impl From<&str> for ArmSettings {
    /// Parses words: `name` is a switch that is set, `name=value` a whole number or a text. The
    /// last of two with the same name counts.
    fn from(words: &str) -> Self {
        let words = words.split_whitespace();
        words.fold(Self::new(), |settings, word| match word.split_once('=') {
            None => settings.with(word, true),
            Some((name, value)) => match value.parse::<u64>() {
                Ok(number) => settings.with(name, number),
                Err(_) => settings.with(name, value),
            },
        })
    }
}

/// One way to do the work of a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// The name, unique in its group, e.g. `soft heap limit 8 MB`.
    pub name: String,
    /// Role.
    pub role: ArmRole,
    /// Settings.
    pub settings: ArmSettings,
}

impl Arm {
    /// An arm; its settings may be words, e.g. `redo saves=60`.
    pub fn new(name: impl Into<String>, role: ArmRole, settings: impl Into<ArmSettings>) -> Self {
        let (name, settings) = (name.into(), settings.into());
        Self {
            name,
            role,
            settings,
        }
    }

    /// This arm with one more setting.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.settings = self.settings.with(name, value);
        self
    }
}

/// Arms that do the same work, on the same stack, at the same size. They are compared with
/// each other, repetition by repetition, and their answers must agree.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ArmGroup {
    /// The work, e.g. `insert`.
    pub work: String,
    /// The storage stack by its name, e.g. `here`, `ext4`, `ram` ([`crate::stacks`]).
    pub stack: String,
    /// Amount of work: records, bytes, ...; defined by the experiment.
    pub size: u64,
    /// How often each arm is timed.
    pub repetitions: u32,
    /// Whether each arm is also run once to be counted ([`MeasurePass::Counted`]).
    pub counted: bool,
    /// Whether each arm is also run once under a tracer of system calls ([`MeasurePass::Syscalls`]),
    /// where there is one.
    pub syscalls: bool,
    /// Whether each arm is also run once on a simulated processor that counts instructions
    /// ([`MeasurePass::Instructions`]), where there is one. Some fifty times slower.
    pub instructions: bool,
    /// The arms, in the order in which they are shown.
    pub arms: Vec<Arm>,
    /// A guess at how long one run of one arm takes, for the time left until it is measured.
    pub seconds: f64,
}

impl ArmGroup {
    /// A group whose arms are timed; everything else is off or 0.
    pub fn new(work: impl Into<String>, stack: &str, size: u64, arms: Vec<Arm>) -> Self {
        Self {
            work: work.into(),
            stack: stack.to_owned(),
            size,
            arms,
            ..Self::default()
        }
    }

    /// One run of one of the group's arms.
    pub fn make_case(
        &self,
        experiment: &str,
        arm: &Arm,
        pass: MeasurePass,
        repetition: u32,
    ) -> RunCase {
        RunCase {
            experiment: experiment.to_owned(),
            work: self.work.clone(),
            stack: self.stack.clone(),
            size: self.size,
            arm: arm.name.clone(),
            role: arm.role,
            pass,
            repetition,
            settings: arm.settings.clone(),
        }
    }
}

/// A part that cannot be run on this machine, and why.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NotRun {
    /// The part, e.g. `stack vfat` or `arm Evolution Data Server`.
    pub what: String,
    /// Reason and remedy.
    pub reason: String,
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

/// Purpose of a run: the clock, or one of the counters. Only [`MeasurePass::Timed`] gives times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeasurePass {
    /// For the clock: nothing is watched that would slow the work.
    Timed,
    /// For the counters of the kernel, of the block device and of the experiment's shims.
    Counted,
    /// For system calls by file, under `strace`.
    Syscalls,
    /// For instructions, under valgrind's callgrind.
    Instructions,
}

/// One run of one arm, as passed to its process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunCase {
    /// The experiment's name.
    pub experiment: String,
    /// The group's work.
    pub work: String,
    /// The group's stack.
    pub stack: String,
    /// The group's size.
    pub size: u64,
    /// The arm's name.
    pub arm: String,
    /// The arm's role.
    pub role: ArmRole,
    /// For the clock or for the counters.
    pub pass: MeasurePass,
    /// Which repetition, from 0.
    pub repetition: u32,
    /// The arm's settings.
    pub settings: ArmSettings,
}

/// The identity of a run in a results file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CaseKey {
    pub experiment: String,
    pub group: GroupKey,
    pub arm: String,
    pub pass: MeasurePass,
    pub repetition: u32,
}

impl RunCase {
    /// Returns the group.
    pub fn group(&self) -> GroupKey {
        GroupKey {
            work: self.work.clone(),
            stack: self.stack.clone(),
            size: self.size,
        }
    }

    pub(crate) fn key(&self) -> CaseKey {
        CaseKey {
            experiment: self.experiment.clone(),
            group: self.group(),
            arm: self.arm.clone(),
            pass: self.pass,
            repetition: self.repetition,
        }
    }
}

/// An experiment. See the book, *Adding an experiment*, for one from beginning to end.
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
