//! The work as a phase, its block requests traced where they are ours alone.

use std::fs::File;
use std::path::Path;

use crate::measure::layout::{ByteSplit, DiskLayout, Purpose};
use crate::measure::trace::BlockTrace;
use crate::{Error, Recorder};

/// Measures the phase `work`, after everything before it has reached the device. `files` are
/// looked up afterwards; those that no longer exist are `Purpose::Journal`.
pub fn count_work(
    recorder: &mut Recorder,
    files: &[(Purpose, &Path)],
    work: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    settle_device(recorder.dir())?;
    let trace = if recorder.counts() && !recorder.devices().is_empty() {
        match BlockTrace::start(recorder.devices()) {
            Ok(trace) => Some(trace),
            // The device's own counters are there in any case.
            Err(Error::NotRun(_)) => None,
            Err(error) => return Err(error),
        }
    } else {
        None
    };
    recorder.phase("work", work)?;
    let Some(trace) = trace else {
        return Ok(());
    };
    let requests = trace.stop()?;
    let there: Vec<(Purpose, &Path)> = files
        .iter()
        .copied()
        .filter(|(_, path)| path.exists())
        .collect();
    let layout = DiskLayout::of(recorder.dir(), recorder.devices(), &there, Purpose::Journal)?;
    for (measure, value) in ByteSplit::of(&requests, &layout).measures() {
        recorder.record(&format!("work/{measure}"), value);
    }
    Ok(())
}

/// Writes back all that the preparations left in memory.
fn settle_device(dir: &Path) -> Result<(), Error> {
    let open = File::open(dir).map_err(|e| Error::file(dir, e))?;
    rustix::fs::syncfs(&open).map_err(|e| Error::file(dir, e))
}
