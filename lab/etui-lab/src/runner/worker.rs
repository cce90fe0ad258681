//! The process that runs one arm once, or sets up the shared files of a group.
//!
//! It reads a [`WorkerTask`] as JSON from standard input and writes a [`WorkerReply`] as JSON to the file
//! that its argument names.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use super::worker_task::{WorkerFailure, WorkerReply, WorkerTask};
use crate::error::Error;
use crate::experiment::Experiment;
use crate::recorder::Recorder;

/// Does the task on standard input.
pub fn worker_main(experiments: &[&'static dyn Experiment], reply: &Path) -> Result<(), Error> {
    // When the laboratory is killed, its worker goes with it.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let mut bytes = Vec::new();
    std::io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|e| Error::file("standard input", e))?;
    let task: WorkerTask =
        serde_json::from_slice(&bytes).map_err(|e| Error::other(format!("not a task: {e}")))?;
    let answer: WorkerReply = perform_task(experiments, task).map_err(|error| match error {
        Error::NotRun(reason) => WorkerFailure::NotRun(reason),
        error => WorkerFailure::Failed(error.to_string()),
    });
    let bytes = serde_json::to_vec(&answer).map_err(|e| Error::other(e.to_string()))?;
    fs::write(reply, bytes).map_err(|e| Error::file(reply, e))
}

fn perform_task(
    experiments: &[&'static dyn Experiment],
    task: WorkerTask,
) -> Result<(BTreeMap<String, f64>, String), Error> {
    let named = |name: &str| {
        experiments
            .iter()
            .find(|experiment| experiment.experiment_info().name == name)
            .ok_or_else(|| Error::other(format!("no experiment `{name}`")))
    };
    match task {
        WorkerTask::RunRecord { case, place } => {
            let mut recorder = Recorder::new(place, case.pass);
            named(&case.experiment)?.run_case(&case, &mut recorder)?;
            Ok(recorder.finish())
        }
        WorkerTask::Furnish {
            experiment,
            group,
            dir,
        } => {
            named(&experiment)?.set_up(&group, &dir)?;
            Ok((BTreeMap::new(), String::new()))
        }
    }
}
