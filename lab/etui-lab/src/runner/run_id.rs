//! The id of a run, which all its processes carry.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The environment variable that carries a run's id in all its processes but the first.
pub const MARKER: &str = "ETUI_LAB_RUN";

/// The run of this process that was begun last.
static LATEST: Mutex<Option<String>> = Mutex::new(None);

fn latest() -> MutexGuard<'static, Option<String>> {
    LATEST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The id of this process's run, for the tools that it starts; in a worker they have it from
/// the environment.
pub fn current_run() -> Option<String> {
    latest().clone()
}

/// Notes the id of the run that this process has begun.
pub fn set_current_run(id: &str) {
    *latest() = Some(id.to_owned());
}
