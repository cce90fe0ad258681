//! KVM if a timed boot with it succeeds, else the emulated processor.
//!
//! That `/dev/kvm` exists proves nothing: where virtualisation is nested, a guest may hang.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::fs::Access;

use super::{Vm, VmOptions};
use crate::error::Error;
use crate::machine;

/// A boot takes one to two seconds where KVM works.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// How the guest's processor is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accelerator {
    /// The host's processor.
    Kvm,
    /// Emulated: counts are exact, processor time is not comparable with the host's.
    Tcg,
}

impl Accelerator {
    /// QEMU's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Tcg => "tcg",
        }
    }
}

/// Returns the accelerator of this machine; a probe's result is kept until the machine restarts.
pub(super) fn choose(dir: &Path, program: &Path, stop: &AtomicBool) -> Result<Accelerator, Error> {
    let may_open = Access::READ_OK | Access::WRITE_OK;
    if rustix::fs::access("/dev/kvm", may_open).is_err() {
        return Ok(Accelerator::Tcg);
    }
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let path = machine::cache_dir()?.join("accelerator");
    let known = fs::read_to_string(&path).unwrap_or_default();
    match known.split_once(' ') {
        Some(("kvm", of)) if of == boot => return Ok(Accelerator::Kvm),
        Some(("tcg", of)) if of == boot => return Ok(Accelerator::Tcg),
        _ => {}
    }
    let found = probe(&dir.join("probe"), program, stop)?;
    fs::write(&path, format!("{} {boot}", found.name())).map_err(|e| Error::file(&path, e))?;
    Ok(found)
}

fn probe(dir: &PathBuf, program: &Path, stop: &AtomicBool) -> Result<Accelerator, Error> {
    fs::create_dir(dir).map_err(|e| Error::file(dir, e))?;
    let mut options = VmOptions::new(dir, Vec::new(), &[])?;
    options.program = program.to_owned();
    let booted = Vm::boot_with(&options, Accelerator::Kvm, PROBE_TIMEOUT, stop);
    let removed = fs::remove_dir_all(dir).map_err(|e| Error::file(dir, e));
    let accelerator = match booted {
        Ok(_) => Accelerator::Kvm,
        Err(Error::Stopped) => return Err(Error::Stopped),
        Err(_) => Accelerator::Tcg,
    };
    removed.map(|()| accelerator)
}
