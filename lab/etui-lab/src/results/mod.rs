//! Results: runs and their machine, line by line ([`mod@file`]), and queries on them
//! ([`Results`]).

pub mod file;
mod query;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::arms::{NotRun, RunCase};

pub use crate::arms::GroupKey;
pub use query::{Figure, Results};

/// The version of the lines' format.
pub const FORMAT: u32 = 1;

/// The first line: everything that a figure depends on besides its arm.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// The version of this format.
    pub format: u32,
    /// When the run was begun, RFC 3339, UTC.
    pub started: String,
    /// etui's version.
    pub etui: String,
    /// SQLite's version and source id, as it is built into the laboratory.
    pub sqlite: String,
    /// The kernel's release.
    pub kernel: String,
    /// The distribution, as it calls itself.
    pub system: String,
    /// The processor's model.
    pub processor: String,
    /// The cores this process may use.
    pub cores: u64,
    /// The machine's memory, bytes.
    pub memory: u64,
    /// Whether it ran as root.
    pub root: bool,
    /// Whether it was a quick run.
    pub quick: bool,
    /// The tools that were there, with their versions.
    pub tools: BTreeMap<String, String>,
    /// The experiments, each with its parameters.
    pub experiments: BTreeMap<String, BTreeMap<String, Vec<u64>>>,
}

impl RunHeader {
    /// Returns the versions and machine parts that differ: name, this value and the other.
    pub(crate) fn differences<'a>(
        &'a self,
        other: &'a Self,
    ) -> impl Iterator<Item = (&'static str, &'a str, &'a str)> {
        let pairs = [
            ("etui", &*self.etui, &*other.etui),
            ("SQLite", &self.sqlite, &other.sqlite),
            ("kernel", &self.kernel, &other.kernel),
            ("processor", &self.processor, &other.processor),
            ("system", &self.system, &other.system),
        ];
        pairs.into_iter().filter(|(_, this, other)| this != other)
    }
}

/// Result of one run of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Which run.
    #[serde(flatten)]
    pub case: RunCase,
    /// A digest of the answer: equal for all arms of a group.
    pub answer: String,
    /// The figures by name, e.g. `save/wall_ns`; see [`crate::measure`].
    pub measures: BTreeMap<String, f64>,
}

/// A line of a results file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[allow(clippy::large_enum_variant)]
pub enum ResultLine {
    /// The first one.
    Lab(RunHeader),
    /// How a stack was made: file system, devices, options.
    Stack {
        /// Its name.
        name: String,
        /// File system, devices, options.
        details: BTreeMap<String, String>,
    },
    /// A part that was not run.
    NotRun {
        /// The experiment.
        experiment: String,
        /// Part and reason.
        #[serde(flatten)]
        part: NotRun,
    },
    /// One run.
    Run(RunRecord),
    /// A run that failed, or whose answer was not that of the other arms.
    Failed {
        /// Which run.
        #[serde(flatten)]
        case: RunCase,
        /// Message.
        message: String,
    },
    /// The last line of a complete run.
    End {
        /// How long it took, seconds; of a run that was stopped, since it last went on.
        seconds: f64,
    },
}
