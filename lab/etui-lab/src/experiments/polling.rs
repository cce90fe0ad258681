//! `polling`: waiting for the device by interrupt, by spinning and by polling (study 2's third
//! cure), one request at a time.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use etui_lab_io::uring::{AlignedBuffer, CompletionMode, UringQueue};
use etui_testkit::rng::SplitMix64;

use super::about::AboutText;
use super::common::record_quantiles;
use crate::{
    AdviceSpec, Arm, ArmGroup, ArmRole, ChartSpec, Conclusion, Error, Experiment, ExperimentInfo,
    GroupKey, LabContext, Measure, MeasurePass, Per, Recorder, ReportSpec, Results, RunCase,
    RunPlan, Study, TableSpec, Threshold, stacks,
};

const NAME: &str = "polling";
const FILE: &str = "blocks";
/// The file's length. That a device's cache may hold it does no harm: ways of waiting are
/// compared, not devices.
const LENGTH: u64 = 16 << 20;
const KB: usize = 1 << 10;

const CALLS: &str = "pread and pwrite, interrupts";
const INTERRUPTS: &str = "io_uring, interrupts";
const SPINNING: &str = "io_uring, spinning";
const POLLED: &str = "io_uring, polled";
/// Emulated NVMe whose driver has a polled queue.
const GUEST: &str = "vm-nvme";
/// Polling pays if it saves at least this part of a request.
const MAX_POLLED_RATIO: f64 = 0.99;

/// The works: name, bytes of a request, whether it is a durable write.
const WORKS: [(&str, usize, bool); 4] = [
    ("read 4 kB", 4 * KB, false),
    ("read 16 kB", 16 * KB, false),
    ("durable write 4 kB", 4 * KB, true),
    ("durable write 16 kB", 16 * KB, true),
];

pub struct Polling;

impl Experiment for Polling {
    fn experiment_info(&self) -> ExperimentInfo {
        static ABOUT: AboutText = AboutText::new(include_str!("polling.md"));
        ABOUT.info(NAME, Some(Study::SmartphoneStack))
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let mut plan = RunPlan::default();
        let arms = [
            Arm::new(CALLS, ArmRole::AsFound, "mode=calls"),
            Arm::new(INTERRUPTS, ArmRole::Peer, "mode=interrupts"),
            Arm::new(SPINNING, ArmRole::Cure, "mode=spinning"),
            Arm::new(POLLED, ArmRole::Cure, "mode=polled"),
        ];
        let polled_here = polled_queues(Path::new("."));
        if let Err(reason) = &polled_here {
            plan.skip(format!("arm {POLLED} on {}", stacks::HERE), reason);
        }
        for stack in plan.keep_available(lab, [stacks::HERE, GUEST]) {
            let guest = stack == GUEST;
            for (work, bytes, durable) in WORKS {
                let size = lab.value(if durable { "writes" } else { "reads" });
                let arms = arms.iter().filter(|arm| {
                    let polled = arm.name == POLLED;
                    guest || !polled || polled_here.is_ok()
                });
                let arms = arms.cloned();
                let arms = arms.map(|arm| arm.with("bytes", bytes as u64).with("durable", durable));
                // A machine is booted for each work.
                if guest && lab.quick() && bytes != 4 * KB {
                    continue;
                }
                plan.groups.push(ArmGroup {
                    repetitions: if lab.quick() { 3 } else { 7 },
                    seconds: if guest { 1.0 } else { 0.3 },
                    ..ArmGroup::new(work, stack, size, arms.collect())
                });
            }
        }
        Ok(plan)
    }

    fn set_up(&self, _: &ArmGroup, dir: &Path) -> Result<(), Error> {
        let path = dir.join(FILE);
        let file = File::create(&path).map_err(|e| Error::file(&path, e))?;
        let mut block = vec![0; 1 << 20];
        for at in (0..LENGTH).step_by(block.len()) {
            fill_block(&mut block, at);
            file.write_all_at(&block, at)
                .map_err(|e| Error::file(&path, e))?;
        }
        file.sync_all().map_err(|e| Error::file(&path, e))
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        let bytes = usize::try_from(case.settings.number("bytes")?).unwrap_or(4 * KB);
        let durable = case.settings.is("durable");
        let path = recorder.shared().join(FILE);
        let mut device = Device::open(&path, case.settings.text("mode")?, bytes)?;
        let mut rng = SplitMix64::new(case.size);
        let blocks = u32::try_from(LENGTH / bytes as u64).unwrap_or(u32::MAX);
        let places: Vec<u64> = (0..case.size)
            .map(|_| u64::from(rng.below(blocks)) * bytes as u64)
            .collect();
        // Distinguishes this run's blocks from those of an earlier one.
        let own = if durable { own_number(case) } else { 0 };
        let mut times = Vec::with_capacity(places.len());
        let mut seen = blake3::Hasher::new();
        // The first request meets a cold queue; it is not among those that count.
        device.read(0)?;
        recorder.phase("work", || {
            for &place in &places {
                if durable {
                    fill_block(device.buffer.bytes_mut(), place ^ own);
                }
                let begun = Instant::now();
                match durable {
                    true => device.write(place)?,
                    false => device.read(place)?,
                }
                times.push(begun.elapsed().as_nanos() as f64);
            }
            Ok(())
        })?;
        let mut expected = vec![0; bytes];
        for &place in &places {
            device.read(place)?;
            if durable {
                fill_block(&mut expected, place ^ own);
                if device.buffer.bytes() != expected.as_slice() {
                    return Err(Error::other(format!(
                        "what was written at {place} is not there"
                    )));
                }
            } else {
                seen.update(device.buffer.bytes());
            }
            seen.update(&place.to_le_bytes());
        }
        recorder.answer(seen.finalize().as_bytes());
        if recorder.pass() == MeasurePass::Timed {
            record_quantiles(recorder, "request", &times);
        }
        Ok(())
    }

    fn report_spec(&self, results: &Results) -> ReportSpec {
        report_spec(results)
    }
}

/// A number of each run's own, beyond all places of the file.
fn own_number(case: &RunCase) -> u64 {
    let mut hash = blake3::Hasher::new();
    hash.update(case.arm.as_bytes());
    hash.update(&[case.pass as u8]);
    hash.update(&case.repetition.to_le_bytes());
    let mut own = [0; 8];
    hash.finalize_xof().fill(&mut own);
    u64::from_le_bytes(own) | 1 << 63
}

/// Fills a block with the content of its offset.
fn fill_block(block: &mut [u8], place: u64) {
    for (n, word) in block.chunks_exact_mut(8).enumerate() {
        let at = place.wrapping_add(n as u64 * 8);
        word.copy_from_slice(&etui_testkit::rng::mix64(at).to_le_bytes());
    }
}

/// Whether the device below a directory has polled queues; if not, why not.
fn polled_queues(dir: &Path) -> Result<(), String> {
    let number = fs::metadata(dir).map_err(|e| e.to_string())?.dev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let device = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    let device = fs::canonicalize(&device)
        .map_err(|_| format!("no single block device ({major}:{minor}) is below this directory"))?;
    // A partition has the queue of its disk.
    let queues = [
        device.join("queue/io_poll"),
        device.join("../queue/io_poll"),
    ];
    let polls = queues.iter().find_map(|path| fs::read_to_string(path).ok());
    let name = device
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    match polls.as_deref().map(str::trim) {
        Some("1") => Ok(()),
        Some(_) => Err(format!(
            "{name} has no polled queues (/sys/class/block/{name}/queue/io_poll is 0); its driver \
             takes a number of them when it is loaded, e.g. nvme.poll_queues=1"
        )),
        None => Err(format!("the kernel does not tell whether {name} polls")),
    }
}

/// A file past the page cache, and a way to it.
struct Device {
    file: File,
    ring: Option<(UringQueue, CompletionMode)>,
    buffer: AlignedBuffer,
    bytes: usize,
    path: PathBuf,
}

impl Device {
    fn open(path: &Path, mode: &str, bytes: usize) -> Result<Self, Error> {
        let direct = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).unwrap_or(0);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(direct)
            .open(path)
            .map_err(|e| match e.kind() {
                std::io::ErrorKind::InvalidInput => {
                    Error::not_run("this file system has no direct access (O_DIRECT)")
                }
                _ => Error::file(path, e),
            })?;
        let mode = match mode {
            "calls" => None,
            "interrupts" => Some(CompletionMode::Interrupts),
            "spinning" => Some(CompletionMode::Spinning),
            "polled" => Some(CompletionMode::Polled),
            other => return Err(Error::other(format!("no way to wait is called `{other}`"))),
        };
        let ring = mode
            .map(|mode| UringQueue::new(1, mode).map(|ring| (ring, mode)))
            .transpose()?;
        Ok(Self {
            file,
            ring,
            buffer: AlignedBuffer::new(bytes)?,
            bytes,
            path: path.to_owned(),
        })
    }

    fn read(&mut self, place: u64) -> Result<(), Error> {
        match &mut self.ring {
            None => self
                .file
                .read_exact_at(self.buffer.bytes_mut(), place)
                .map_err(|e| Error::file(&self.path, e)),
            Some((ring, _)) => {
                let part = [(place, self.bytes)];
                let read = ring.read(&self.file, &part, &mut self.buffer)?;
                if read == self.bytes as u64 {
                    return Ok(());
                }
                Err(Error::other(format!("read {read} bytes of {}", self.bytes)))
            }
        }
    }

    /// Writes, durably.
    fn write(&mut self, place: u64) -> Result<(), Error> {
        let part = [(place, self.bytes)];
        match &mut self.ring {
            None => self
                .file
                .write_all_at(self.buffer.bytes(), place)
                .and_then(|()| self.file.sync_data())
                .map_err(|e| Error::file(&self.path, e)),
            Some((ring, CompletionMode::Polled)) => {
                ring.write(&self.file, &part, &self.buffer, true)?;
                Ok(())
            }
            Some((ring, _)) => {
                ring.write(&self.file, &part, &self.buffer, false)?;
                Ok(ring.sync_data(&self.file)?)
            }
        }
    }
}

/// Spinning is worth a processor from this factor on.
const MIN_SPINNING_GAIN: f64 = 1.3;

fn report_spec(results: &Results) -> ReportSpec {
    let p50 = || Measure::new("median", "request/p50_ns");
    let groups = results.groups();
    // Where polling was possible, if anywhere.
    let polled = |work: &str| {
        let of_work = || groups.iter().filter(|group| group.work == work);
        let measured =
            |group: &&GroupKey| results.median(group, POLLED, "request/p50_ns").is_some();
        of_work().find(measured).or_else(|| of_work().next())
    };
    let (read, write) = (polled(WORKS[0].0), polled(WORKS[2].0));
    let tables = groups.iter().map(|group| {
        TableSpec::new(
            format!("{}, one at a time, {}", group.work, group.stack),
            vec![group.clone()],
        )
        .caption(
            "Time of a request, and processor time of the process for it. Ratios are to \
             plain calls.",
        )
        .measures(vec![
            p50(),
            Measure::new("99th percentile", "request/p99_ns"),
            Measure::new("processor", "work/cpu_ns").per(Per::Size),
        ])
        .base(CALLS)
    });
    let charts = groups.iter().map(|group| {
        ChartSpec::bars(
            format!("{}, {}: median", group.work, group.stack),
            vec![group.clone()],
            vec![p50()],
            "time of a request",
        )
    });
    let against_interrupts = |claim: &str, group, arm| {
        Threshold::target(claim)
            .of(group, arm, p50())
            .against_arm(INTERRUPTS)
    };
    let advice = AdviceSpec::new("spin while waiting for short reads")
        .how("io_uring, its completion queue looked at in a loop; it costs a processor meanwhile")
        .or_else("let programs sleep until the disk is done, as spinning keeps a processor busy")
        .worth_from(MIN_SPINNING_GAIN)
        .measured("A read of 4 kB past the page cache, median")
        .gain("a read")
        .compare(read, &p50(), CALLS, SPINNING);
    ReportSpec {
        tables: tables.collect(),
        advice: vec![advice],
        charts: charts.collect(),
        thresholds: vec![
            Threshold::finding("time of a polled 4 kB read against one by interrupt")
                .of(read, POLLED, p50())
                .against_arm(INTERRUPTS)
                .at_most(MAX_POLLED_RATIO),
            against_interrupts("a polled durable write", write, POLLED),
            against_interrupts("a spinning read", read, SPINNING),
            against_interrupts("a spinning durable write", write, SPINNING),
        ],
        conclusion: Conclusion {
            yes: "Polling the device still takes less time than waiting for its interrupt.",
            partly: "",
            no: "Polling the device takes no less time than waiting for its interrupt.",
        },
        ..ReportSpec::default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_way_reads_and_writes_the_same() {
        let dir = tempfile::tempdir().unwrap();
        Polling.set_up(&ArmGroup::default(), dir.path()).unwrap();
        let path = dir.path().join(FILE);
        let before = fs::read(&path).unwrap();
        for mode in ["calls", "interrupts", "spinning"] {
            let mut device = match Device::open(&path, mode, 4 * KB) {
                Ok(device) => device,
                Err(Error::NotRun(reason)) => {
                    eprintln!("skipped: {mode}: {reason}");
                    continue;
                }
                Err(error) => panic!("{error}"),
            };
            device.read(8192).unwrap();
            assert!(device.buffer.bytes() == &before[8192..12_288]);
            device.buffer.bytes_mut().fill(3);
            device.write(4096).unwrap();
            let now = fs::read(&path).unwrap();
            assert!(now[4096..8192].iter().all(|byte| *byte == 3));
            assert!(now[8192..] == before[8192..]);
            let mut block = vec![0; 4096];
            fill_block(&mut block, 4096);
            device.buffer.bytes_mut().copy_from_slice(&block);
            device.write(4096).unwrap();
            assert!(fs::read(&path).unwrap() == before);
        }
        assert!(Device::open(&path, "by luck", 4 * KB).is_err());
    }
}
