//! The arms that an experiment compares: [`Arm`], [`ArmGroup`], and [`RunCase`], one run of one arm.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::IntoStaticStr;

use crate::error::Error;

/// Role of an arm in the comparison.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "lowercase")]
pub enum ArmRole {
    /// As the study found it.
    #[strum(serialize = "as found")]
    AsFound,
    /// One cure alone.
    Cure,
    /// All cures together.
    #[strum(serialize = "all cures")]
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
        self.into()
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

/// Which group: work, stack and size.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKey {
    /// The work.
    pub work: String,
    /// The stack.
    pub stack: String,
    /// The size.
    pub size: u64,
}

/// A part that cannot be run on this machine, and why.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NotRun {
    /// The part, e.g. `stack vfat` or `arm Evolution Data Server`.
    pub what: String,
    /// Reason and remedy.
    pub reason: String,
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
