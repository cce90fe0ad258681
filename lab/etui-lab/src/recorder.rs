//! Recorder of an arm's measures: [`Recorder`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::arms::MeasurePass;
use crate::error::Error;
use crate::measure::block::DeviceStat;
use crate::measure::process::{self, ProcessUsage};
use crate::measure::{instructions, syscalls};

/// Where an arm runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLocation {
    /// An empty directory on the stack, this run's alone; removed afterwards. On a read-only
    /// stack: beside it, on the current directory's file system.
    pub dir: PathBuf,
    /// The directory on the stack that [`set_up`](crate::Experiment::set_up) filled.
    pub shared: PathBuf,
    /// The block devices below, by the kernel's names, if they are the laboratory's alone.
    pub devices: Vec<String>,
    /// Whether system calls are being traced, so that phases are marked for the tracer.
    pub traced: bool,
}

/// Measures one run of one arm.
///
/// Figures are named `phase/measure`, e.g. `save/wall_ns`; see [`crate::measure`] for the
/// names and units. Figures recorded twice under one name are added up.
#[derive(Debug)]
pub struct Recorder {
    place: RunLocation,
    pass: MeasurePass,
    measures: BTreeMap<String, f64>,
    answer: blake3::Hasher,
}

impl Recorder {
    /// For a run at a place.
    pub fn new(place: RunLocation, pass: MeasurePass) -> Self {
        Self {
            place,
            pass,
            measures: BTreeMap::new(),
            answer: blake3::Hasher::new(),
        }
    }

    /// An empty directory on the stack, this run's alone.
    pub fn dir(&self) -> &Path {
        &self.place.dir
    }

    /// The shared directory of the group, filled by [`set_up`](crate::Experiment::set_up).
    pub fn shared(&self) -> &Path {
        &self.place.shared
    }

    /// The laboratory's own block devices below, by the kernel's names (`loop0`); none if the
    /// stack is shared with the rest of the machine.
    pub fn devices(&self) -> &[String] {
        &self.place.devices
    }

    /// Whether this run is for the clock or for the counters.
    pub fn pass(&self) -> MeasurePass {
        self.pass
    }

    /// Whether this run is for the counters.
    pub fn counts(&self) -> bool {
        self.pass == MeasurePass::Counted
    }

    /// Does a part of the work and measures it: wall and CPU time in a timed pass, block I/O in
    /// a counted one; in both, page faults and the calls and bytes of `/proc/self/io`, read
    /// at before the clock begins and after it ends.
    pub fn phase<T>(
        &mut self,
        name: &str,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let devices = self.watched()?;
        if self.place.traced {
            syscalls::mark_begin(name);
        }
        let before = ProcessUsage::before();
        // Only where it counts: under valgrind this clock's page is not mapped.
        let timed = self.pass == MeasurePass::Timed;
        let cpu = timed.then(process::cpu_time);
        let begun = Instant::now();
        if self.pass == MeasurePass::Instructions {
            instructions::begin_counting(name);
        }
        let done = work();
        if self.pass == MeasurePass::Instructions {
            instructions::end_counting();
        }
        let wall = begun.elapsed();
        let cpu = cpu.map(|before| process::cpu_time().saturating_sub(before));
        let after = ProcessUsage::after();
        if self.place.traced {
            syscalls::mark_end(name);
        }
        if let Some(cpu) = cpu {
            self.record(&format!("{name}/wall_ns"), wall.as_nanos() as f64);
            self.record(&format!("{name}/cpu_ns"), cpu.as_nanos() as f64);
        }
        for (measure, value) in after.since(&before) {
            self.record(&format!("{name}/{measure}"), value);
        }
        for (device, before) in devices {
            for (measure, value) in DeviceStat::read(&device)?.since(&before) {
                self.record(&format!("{name}/{measure}"), value);
            }
        }
        done
    }

    /// Returns the counters of the devices, except in a timed pass.
    fn watched(&self) -> Result<Vec<(String, DeviceStat)>, Error> {
        let devices = self.place.devices.iter();
        devices
            .filter(|_| self.pass != MeasurePass::Timed)
            .map(|name| Ok((name.clone(), DeviceStat::read(name)?)))
            .collect()
    }

    /// Records a figure under `phase/measure`; one recorded before under the name is added to.
    pub fn record(&mut self, name: &str, value: f64) {
        *self.measures.entry(name.to_owned()).or_insert(0.0) += value;
    }

    /// Records the memory of this process and of others: `label/rss_bytes` and so on, added up
    /// over the processes.
    pub fn memory(&mut self, label: &str, others: &[u32]) -> Result<(), Error> {
        for pid in std::iter::once(std::process::id()).chain(others.iter().copied()) {
            for (measure, value) in process::ProcessMemory::of(pid)?.measures() {
                self.record(&format!("{label}/{measure}"), value);
            }
        }
        Ok(())
    }

    /// Adds to the answer, which must be equal for all arms of the group. Parts are kept
    /// apart by their lengths.
    pub fn answer(&mut self, part: impl AsRef<[u8]>) {
        let part = part.as_ref();
        self.answer.update(&(part.len() as u64).to_le_bytes());
        self.answer.update(part);
    }

    /// The figures and the answer's digest.
    pub fn finish(self) -> (BTreeMap<String, f64>, String) {
        let answer = self.answer.finalize().to_hex().as_str()[..32].to_owned();
        (self.measures, answer)
    }
}
