//! [`ProcessTree`]: processor time and memory of a process and its descendants.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use super::super::processes::peak_memory;
use etui_lab::Error;
use etui_lab::measure::process::ProcessMemory;

#[derive(Debug)]
pub struct ProcessTree {
    root: u32,
    processes: Vec<u32>,
    /// Processor time by process, also of processes that have ended since they were seen.
    seen: HashMap<u32, Duration>,
}

impl ProcessTree {
    /// Of a process, with its descendants as of now.
    pub fn of(root: u32) -> Self {
        let mut tree = Self {
            root,
            processes: Vec::new(),
            seen: HashMap::new(),
        };
        tree.find_descendants();
        tree
    }

    /// Looks for processes that were started or have ended since the last time.
    pub fn find_descendants(&mut self) {
        let parents: Vec<(u32, u32)> = process_ids()
            .filter_map(|pid| Some((pid, parent_of(pid)?)))
            .collect();
        self.processes = vec![self.root];
        let mut at = 0;
        while let Some(&parent) = self.processes.get(at) {
            let children = parents.iter().filter(|(_, of)| *of == parent);
            self.processes.extend(children.map(|(pid, _)| *pid));
            at += 1;
        }
    }

    /// Returns their processor time, user and system, with that of threads that have ended.
    pub fn cpu_time(&mut self) -> Duration {
        for &process in &self.processes {
            if let Some(time) = process_clock(process) {
                self.seen.insert(process, time);
            }
        }
        self.seen.values().sum()
    }

    /// Returns their memory, added up, and the sum of the peaks of their resident memory.
    ///
    /// # Errors
    /// If one of them has ended.
    pub fn memory(&self) -> Result<(ProcessMemory, u64), Error> {
        let mut all = ProcessMemory::default();
        let mut peaks = 0;
        for &process in &self.processes {
            let of_one = ProcessMemory::of(process)?;
            all.rss += of_one.rss;
            all.pss += of_one.pss;
            all.vms += of_one.vms;
            all.private_dirty += of_one.private_dirty;
            all.private += of_one.private;
            peaks += peak_memory(process)?;
        }
        Ok((all, peaks))
    }
}

/// Reads the processor clock of a process (clock_getcpuclockid(3)).
fn process_clock(process: u32) -> Option<Duration> {
    let process = nix::unistd::Pid::from_raw(i32::try_from(process).ok()?);
    let clock = nix::time::clock_getcpuclockid(process).ok()?;
    Some(nix::time::clock_gettime(clock).ok()?.into())
}

fn process_ids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// proc_pid_stat(5): the fourth field, second behind the name.
fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use etui_testkit::wait::wait_until;

    use super::*;

    #[test]
    fn a_tree_of_processes_has_the_time_of_all() {
        let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; sleep 60 & wait";
        let mut shell = std::process::Command::new("sh");
        let mut shell = shell.args(["-c", script]).spawn().unwrap();
        let mut tree = ProcessTree::of(shell.id());
        wait_until("the shell has a child", || {
            tree.find_descendants();
            tree.processes.len() >= 2
        });
        let [_, sleeping] = tree.processes[..] else {
            panic!("{tree:?}");
        };
        let (memory, peak) = tree.memory().unwrap();
        assert!(memory.rss > ProcessMemory::of(shell.id()).unwrap().rss && peak >= memory.rss);
        let used = tree.cpu_time();
        assert!(used > Duration::from_millis(1), "{used:?}");
        // The time of those that have ended stays.
        let sleeping = rustix::process::Pid::from_raw(sleeping as i32).unwrap();
        rustix::process::kill_process(sleeping, rustix::process::Signal::TERM).unwrap();
        shell.wait().unwrap();
        tree.find_descendants();
        assert!(tree.cpu_time() >= used);
    }
}
