//! The task of a worker and its answer: [`WorkerTask`], [`WorkerReply`].

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::arms::{ArmGroup, RunCase};
use crate::recorder::RunLocation;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "kebab-case")]
pub enum WorkerTask {
    /// Run an arm once.
    RunRecord { case: RunCase, place: RunLocation },
    /// Set up the shared files of a group.
    Furnish {
        experiment: String,
        group: ArmGroup,
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
