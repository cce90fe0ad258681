//! [`RunUsage`]: the cost of a run of a client.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

use super::super::dav::process_tree::ProcessTree;
use etui_lab::Error;

/// Time between two looks at the memory of a client.
const BETWEEN: Duration = Duration::from_millis(5);

#[derive(Debug, Default)]
pub(super) struct RunUsage {
    /// User and system, of the client and all processes that it waited for.
    pub(super) processor: Duration,
    pub(super) wall: Duration,
    /// Resident memory of its processes at most, in bytes.
    pub(super) peak: u64,
    /// Requests that the server answered.
    pub(super) requests: u64,
}

impl RunUsage {
    pub(super) const MEASURES: [&str; 4] =
        ["wall_ns", "processor_ns", "requests", "peak_rss_bytes"];

    /// Returns the values of the measures.
    pub(super) fn values(&self) -> [f64; 4] {
        let (wall, processor) = (self.wall.as_nanos(), self.processor.as_nanos());
        [
            wall as f64,
            processor as f64,
            self.requests as f64,
            self.peak as f64,
        ]
    }

    /// Runs a client to its end; what it says goes to a file in a directory.
    pub(super) fn measure(mut command: Command, dir: &Path) -> Result<Self, Error> {
        let log = dir.join("client.log");
        let output = File::create(&log).map_err(|e| Error::file(&log, e))?;
        let errors = output.try_clone().map_err(|e| Error::file(&log, e))?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        let before = processor_of_children()?;
        let begun = Instant::now();
        let started = command.spawn();
        let mut child = started.map_err(|e| Error::file(command.get_program(), e))?;
        let (id, has_ended) = (child.id(), AtomicBool::new(false));
        let (status, wall, peak) = std::thread::scope(|scope| {
            let watched = scope.spawn(|| watch_memory(id, &has_ended));
            let status = child.wait();
            let wall = begun.elapsed();
            has_ended.store(true, Ordering::Relaxed);
            (status, wall, watched.join().unwrap_or_default())
        });
        let status = status.map_err(|e| Error::file(command.get_program(), e))?;
        if !status.success() {
            return Err(Error::Command {
                command: format!("{command:?}: {status}"),
                message: std::fs::read_to_string(&log).unwrap_or_default(),
            });
        }
        Ok(Self {
            processor: processor_of_children()?.saturating_sub(before),
            wall,
            peak,
            requests: 0,
        })
    }
}

/// Returns the processor time of the children of this process that were waited for, and of theirs.
fn processor_of_children() -> Result<Duration, Error> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|e| Error::other(e.to_string()))?;
    let duration = |time: TimeVal| {
        let micros = time.tv_sec() * 1_000_000 + time.tv_usec();
        Duration::from_micros(micros.unsigned_abs())
    };
    Ok(duration(usage.user_time()) + duration(usage.system_time()))
}

/// Returns the peak of a process and its descendants, added up, until it has ended.
fn watch_memory(id: u32, has_ended: &AtomicBool) -> u64 {
    let mut tree = ProcessTree::of(id);
    let mut peak = 0;
    while !has_ended.load(Ordering::Relaxed) {
        tree.find_descendants();
        if let Ok((_, peaks)) = tree.memory() {
            peak = peak.max(peaks);
        }
        std::thread::sleep(BETWEEN);
    }
    peak
}
