//! The study's fifth way: the image is copied to a RAM disk first, and the start is from there.

use std::ops::Range;
use std::time::Instant;

use super::methods::LoadMethod;
use super::{answer_sum, cold, data, measure_start};
use crate::stacks::RamCopy;
use crate::{Arm, ArmRole, Error, MeasurePass, Recorder};

/// The stack whose image is copied.
pub(super) const STACK: &str = "squashfs";
/// The arm, and the setting by which it is known.
pub(super) const COPIED: &str = "image copied to a RAM disk, taken over";
pub(super) const SETTING: &str = "copied";
/// The way to the data on the RAM disk.
pub(super) const METHOD: LoadMethod = LoadMethod::UsedTakenOver;

pub(super) fn arm(megabytes: u64) -> Arm {
    Arm::new(COPIED, ArmRole::Cure, SETTING).with("megabytes", megabytes)
}

/// Copies, mounts and starts, all of it cold; then starts from the RAM disk again.
pub(super) fn run(
    recorder: &mut Recorder,
    method: LoadMethod,
    used: &[Range<usize>],
) -> Result<(), Error> {
    let mut ram = RamCopy::prepare(recorder.shared(), recorder.dir())?;
    cold::evict_cache(ram.image())?;
    let (mut parts, mut file) = (Vec::new(), None);
    let first = measure_start(recorder, "cold", || {
        let begun = Instant::now();
        ram.copy()?;
        parts.push(("copy", begun.elapsed()));
        let begun = Instant::now();
        let path = ram.mount()?.join(data::FILE);
        parts.push(("mount", begun.elapsed()));
        let begun = Instant::now();
        let started = method.start(&path, used, true);
        parts.push(("start", begun.elapsed()));
        file = Some(path);
        started
    })?;
    for (part, time) in parts {
        if recorder.pass() == MeasurePass::Timed {
            recorder.record(&format!("{part}/wall_ns"), time.as_nanos() as f64);
        }
    }
    let file = file.ok_or_else(|| Error::other("the copy was not mounted"))?;
    cold::warm_cache(&file)?;
    let second = measure_start(recorder, "warm", || method.start(&file, used, true))?;
    answer_sum(recorder, &[first, second])
}
