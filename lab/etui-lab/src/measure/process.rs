//! Resource usage of a process, from `/proc`.

use std::fs;
use std::io::Read;
use std::time::Duration;

use crate::error::Error;

/// The processor time of this process so far, all threads.
pub fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// The measures of [`ProcessUsage`].
const MEASURES: [&str; 6] = [
    "minor_faults",
    "major_faults",
    "write_calls",
    "called_write_bytes",
    "read_calls",
    "called_read_bytes",
];

/// Page faults, calls and bytes of this process so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessUsage([u64; MEASURES.len()]);

impl ProcessUsage {
    /// Reads the usage before a measurement; zero where the kernel gives none.
    pub fn before() -> Self {
        let (minor, major) = PageFaults::read().own;
        // Last, as this read itself is the first thing that the kernel counts after it.
        let ([writes, written, reads, read], length) = read_io();
        Self([minor, major, writes, written, reads + 1, read + length])
    }

    /// Reads the usage after something was measured.
    pub fn after() -> Self {
        let ([writes, written, reads, read], _) = read_io();
        let (minor, major) = PageFaults::read().own;
        Self([minor, major, writes, written, reads, read])
    }

    /// Returns the measures since `before`, without the reads of `/proc` itself.
    pub fn since(&self, before: &Self) -> impl Iterator<Item = (&'static str, f64)> {
        let counters = self.0.into_iter().zip(before.0);
        let gone = counters.map(|(now, then)| now.saturating_sub(then) as f64);
        MEASURES.into_iter().zip(gone)
    }
}

/// Reads `/proc/self/io` by one call: write calls, bytes written, read calls, bytes read; and
/// its length.
fn read_io() -> ([u64; 4], u64) {
    let mut buffer = [0; 1024];
    let length = fs::File::open("/proc/self/io")
        .and_then(|mut file| file.read(&mut buffer))
        .unwrap_or(0);
    let io = String::from_utf8_lossy(buffer.get(..length).unwrap_or_default());
    let fields = ["syscw:", "wchar:", "syscr:", "rchar:"];
    (fields.map(|name| read_field(&io, name)), length as u64)
}

/// Page faults so far, minor and major: this process's and those of its children that were
/// waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageFaults {
    /// This process's.
    pub own: (u64, u64),
    /// Its children's.
    pub children: (u64, u64),
}

impl PageFaults {
    /// Reads them; zero where the kernel gives none.
    pub fn read() -> Self {
        // proc_pid_stat(5): the second field is the name in brackets, which may hold anything;
        // behind it come minflt as the 8th, then cminflt, majflt and cmajflt.
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let mut numbers = stat
            .rsplit_once(')')
            .map_or("", |(_, rest)| rest)
            .split_ascii_whitespace()
            .skip(7)
            .map(|field| field.parse().unwrap_or(0));
        let mut next = || numbers.next().unwrap_or(0);
        let (minor, childrens_minor, major, childrens_major) = (next(), next(), next(), next());
        Self {
            own: (minor, major),
            children: (childrens_minor, childrens_major),
        }
    }
}

/// Returns the number after a name at the beginning of a line of `/proc`; 0 without one.
pub fn read_field(text: &str, name: &str) -> u64 {
    text.lines()
        .find_map(|line| {
            line.strip_prefix(name)?
                .split_ascii_whitespace()
                .next()?
                .parse()
                .ok()
        })
        .unwrap_or(0)
}

/// The memory of a process, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessMemory {
    /// Resident memory, shared or not.
    pub rss: u64,
    /// Proportional memory: shared pages divided by the number of sharers.
    pub pss: u64,
    /// Virtual: its address space.
    pub vms: u64,
    /// Private dirty memory.
    pub private_dirty: u64,
    /// Private memory, clean or dirty: of no other process.
    pub private: u64,
}

impl ProcessMemory {
    /// Of a process.
    pub fn of(pid: u32) -> Result<Self, Error> {
        let path = format!("/proc/{pid}/smaps_rollup");
        let rollup = fs::read_to_string(&path).map_err(|e| Error::file(&path, e))?;
        let path = format!("/proc/{pid}/status");
        let status = fs::read_to_string(&path).map_err(|e| Error::file(&path, e))?;
        let private_dirty = read_field(&rollup, "Private_Dirty:") * 1024;
        Ok(Self {
            rss: read_field(&rollup, "Rss:") * 1024,
            pss: read_field(&rollup, "Pss:") * 1024,
            vms: read_field(&status, "VmSize:") * 1024,
            private_dirty,
            private: private_dirty + read_field(&rollup, "Private_Clean:") * 1024,
        })
    }

    /// By the names of the measures.
    pub fn measures(&self) -> [(&'static str, f64); 5] {
        [
            ("rss_bytes", self.rss as f64),
            ("pss_bytes", self.pss as f64),
            ("vms_bytes", self.vms as f64),
            ("private_dirty_bytes", self.private_dirty as f64),
            ("private_bytes", self.private as f64),
        ]
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_done_is_counted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let before = ProcessUsage::before();
        fs::write(file.path(), [7; 1000]).unwrap();
        let done: Vec<_> = ProcessUsage::after().since(&before).collect();
        let of = |name| done.iter().find(|(n, _)| *n == name).unwrap().1;
        // Other tests of this process may write meanwhile, so these are the least.
        assert!(of("write_calls") >= 1.0 && of("called_write_bytes") >= 1000.0);
    }

    #[test]
    fn memory_of_this_process() {
        let memory = ProcessMemory::of(std::process::id()).unwrap();
        assert!(memory.rss > 0 && memory.vms >= memory.rss && memory.private_dirty <= memory.rss);
        assert!(ProcessMemory::of(u32::MAX).is_err());
    }
}
