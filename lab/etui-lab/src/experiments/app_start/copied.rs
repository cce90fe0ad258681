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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{RunLocation, stacks};

    #[test]
    fn the_parts_are_timed_and_make_up_the_start() {
        if let Err(reason) = stacks::check_available(STACK) {
            println!("{STACK}: {reason}");
            return;
        }
        let work = tempfile::tempdir().unwrap();
        let work = fs::canonicalize(work.path()).unwrap();
        let (contents, dir) = (work.join("contents"), work.join("run"));
        fs::create_dir(&contents).unwrap();
        fs::create_dir(&dir).unwrap();
        data::write_data(&contents.join(data::FILE), 4).unwrap();
        let stack = stacks::prepare_stack(STACK, &work, Some(&contents)).unwrap();
        let place = RunLocation {
            dir,
            shared: stack.dir.clone(),
            devices: Vec::new(),
            traced: false,
        };
        let mut recorder = Recorder::new(place, MeasurePass::Timed);
        run(&mut recorder, METHOD, &data::used_runs(4, 50)).unwrap();
        let (measures, _) = recorder.finish();
        let time = |part: &str| measures[&format!("{part}/wall_ns")];
        let parts = ["copy", "mount", "start"].map(time);
        assert!(parts.iter().all(|part| *part > 0.0) && time("warm") > 0.0);
        assert!(parts.iter().sum::<f64>() <= time("cold"));
    }
}
