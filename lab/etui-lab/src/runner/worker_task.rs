//! What a worker is told and what it answers: [`WorkerTask`], [`WorkerReply`].

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::arms::{ArmGroup, RunCase};
use crate::recorder::RunLocation;

/// The task of a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "kebab-case")]
pub enum WorkerTask {
    /// Run an arm once.
    RunRecord {
        /// Which run.
        case: RunCase,
        /// Where.
        place: RunLocation,
    },
    /// Set up the shared files of a group.
    Furnish {
        /// The experiment.
        experiment: String,
        /// The group.
        group: ArmGroup,
        /// Where.
        dir: PathBuf,
    },
}

/// The reply of a worker: the figures by name and the answer's digest.
pub type WorkerReply = Result<(BTreeMap<String, f64>, String), WorkerFailure>;

/// A worker's reply without figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkerFailure {
    /// The task cannot be done here, and why.
    NotRun(String),
    /// The task failed, with a message.
    Failed(String),
}
