//! The work as a phase, its block requests traced where they are ours alone.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::measure::layout::{ByteSplit, DiskLayout, Purpose};
use crate::measure::trace::BlockTrace;
use crate::{Error, Recorder};

/// Measures the phase `work`, after everything before it has reached the device. The database and
/// the files beside it are looked up afterwards; those that no longer exist are
/// `Purpose::Journal`.
pub fn count_work(
    recorder: &mut Recorder,
    database: &Path,
    work: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    settle_device(recorder.dir())?;
    let traced = recorder.counts() && !recorder.devices().is_empty();
    let trace = match traced.then(|| BlockTrace::start(recorder.devices())) {
        // The device's own counters are there in any case.
        None | Some(Err(Error::NotRun(_))) => None,
        Some(started) => Some(started?),
    };
    recorder.phase("work", work)?;
    let Some(trace) = trace else {
        return Ok(());
    };
    let requests = trace.stop()?;
    let journals = ["-journal", "-wal", "-redo"].map(|ending| {
        let mut name = database.as_os_str().to_owned();
        name.push(ending);
        (Purpose::Journal, PathBuf::from(name))
    });
    let mut files = vec![(Purpose::Database, database)];
    files.extend(
        journals
            .iter()
            .map(|(purpose, path)| (*purpose, path.as_path())),
    );
    files.retain(|(_, path)| path.exists());
    let layout = DiskLayout::of(recorder.dir(), recorder.devices(), &files, Purpose::Journal)?;
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
