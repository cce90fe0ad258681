//! Processor time, memory and written bytes of processes, as the kernel counts them in `/proc`.

use std::fs;
use std::time::Duration;

use etui_lab::Error;
use etui_lab::measure::process::read_field;

/// Returns the bytes that this process handed to write calls so far.
pub fn written_bytes() -> u64 {
    read_field(
        &fs::read_to_string("/proc/self/io").unwrap_or_default(),
        "wchar:",
    )
}

/// Returns the anonymous resident memory of this process, in bytes.
pub fn anonymous_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    read_field(&status, "RssAnon:") * 1024
}

/// Returns the peak of a process's resident memory, in bytes.
///
/// # Errors
/// If there is no such process.
pub fn peak_memory(pid: u32) -> Result<u64, Error> {
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).map_err(|e| Error::file(&path, e))?;
    Ok(read_field(&status, "VmHWM:") * 1024)
}

/// Makes this process's present resident memory its peak (proc_pid_clear_refs(5)), where that is
/// permitted.
pub fn reset_peak_memory() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Processor time of a process, with that of its children that were waited for, in ticks of 10 ms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessCpu {
    ticks: u64,
}

/// Length of a tick: `USER_HZ` is 100.
const TICK: Duration = Duration::from_millis(10);

impl ProcessCpu {
    /// Of a process.
    ///
    /// # Errors
    /// If there is no such process.
    pub fn of(pid: u32) -> Result<Self, Error> {
        let path = format!("/proc/{pid}/stat");
        let stat = fs::read_to_string(&path).map_err(|e| Error::file(&path, e))?;
        let [user, system, childrens_user, childrens_system] = Self::parse_stat(&stat);
        Ok(Self {
            ticks: user + system + childrens_user + childrens_system,
        })
    }

    /// Of the children of this process that were waited for.
    pub fn of_children() -> Self {
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let [_, _, user, system] = Self::parse_stat(&stat);
        Self {
            ticks: user + system,
        }
    }

    /// proc_pid_stat(5): utime, stime, cutime and cstime are fields 14 to 17; the second is the name
    /// in brackets, which may hold anything.
    fn parse_stat(stat: &str) -> [u64; 4] {
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let mut numbers = rest.split_ascii_whitespace().skip(11);
        [(); 4].map(|()| numbers.next().and_then(|n| n.parse().ok()).unwrap_or(0))
    }

    /// Returns the sum of two.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            ticks: self.ticks + other.ticks,
        }
    }

    /// Returns the difference to an earlier one.
    #[must_use]
    pub fn minus(self, earlier: Self) -> Self {
        Self {
            ticks: self.ticks.saturating_sub(earlier.ticks),
        }
    }

    pub fn time(self) -> Duration {
        TICK * u32::try_from(self.ticks).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_child_that_was_waited_for_has_processor_time() {
        let before = ProcessCpu::of_children();
        let loops = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let mut child = std::process::Command::new("sh");
        assert!(child.args(["-c", loops]).status().unwrap().success());
        let used = ProcessCpu::of_children().minus(before);
        assert!(used.time() > Duration::ZERO);
        let own = ProcessCpu::of(std::process::id()).unwrap();
        assert!(own.plus(used).time() >= used.time());
        assert!(ProcessCpu::of(u32::MAX).is_err());
        assert!(peak_memory(std::process::id()).unwrap() > 0);
    }
}
