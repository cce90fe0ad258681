//! Nothing is left behind, not by a run that was killed either.
//!
//! Each run is entered in a registry, a directory of the user's own: one file a run, locked
//! (`flock`) for as long as the run lives.
//!
//! ```text
//! /var/tmp/etui-lab-UID/          0700, the user's own
//!   3f9c0a72d1e8b654              one run: the file's name is the run's id
//!     dir /home/ann/.etui-lab-3f9c0a72d1e8b654
//!     dir /dev/shm/.etui-lab-3f9c0a72d1e8b654
//! ```
//!
//! A line is written before its directory is created. A run creates files only in a directory
//! that has the run's id in its name, or has the id itself: mounts and loop images are in the
//! directories, processes carry the id in their environment ([`MARKER`]), instances of the
//! kernel's tracer begin with it. So an entry whose lock can be had belongs to a run that is
//! dead, and lists everything to be removed. Entries of live runs are left alone.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::FlockOperation;
use rustix::process::Signal;

use super::run_id::{self, MARKER};
use crate::error::Error;
use crate::machine;
use crate::measure::trace;
use crate::stacks::{self, mounts};

/// Prefix of the names of all run directories.
const PREFIX: &str = ".etui-lab-";

/// Longest path of a run's directory, bytes: SQLite takes 512, and databases are
/// some directories deeper.
const LONGEST: usize = 400;

/// The runs of this user on this machine.
#[derive(Debug, Clone)]
pub struct CleanupRegistry {
    dir: PathBuf,
}

impl CleanupRegistry {
    /// This user's: under `/var/tmp`, which outlives a restart of the machine as the
    /// directories do; where that cannot be, in `$XDG_RUNTIME_DIR`.
    pub fn open() -> Result<Self, Error> {
        let uid = rustix::process::geteuid().as_raw();
        let first = Self::at(Path::new(&format!("/var/tmp/etui-lab-{uid}")));
        match (first, std::env::var_os("XDG_RUNTIME_DIR")) {
            (Err(_), Some(dir)) => Self::at(&PathBuf::from(dir).join("etui-lab")),
            (registry, _) => registry,
        }
    }

    /// In a directory, which is made if need be. It must be the user's own.
    pub fn at(dir: &Path) -> Result<Self, Error> {
        match fs::DirBuilder::new().mode(0o700).create(dir) {
            Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(Error::file(dir, e));
            }
            _ => {}
        }
        let found = fs::symlink_metadata(dir).map_err(|e| Error::file(dir, e))?;
        let own = found.is_dir()
            && found.uid() == rustix::process::geteuid().as_raw()
            && found.permissions().mode() & 0o077 == 0;
        if !own {
            return Err(Error::other(format!(
                "{} should be a directory of this user's alone (mode 0700); move it away",
                dir.display()
            )));
        }
        Ok(Self {
            dir: dir.to_owned(),
        })
    }

    /// Enters a new run.
    pub fn begin(&self) -> Result<LiveProcess, Error> {
        // Between creation and locking, a concurrent sweep may take the entry for a dead one.
        for _ in 0..10 {
            let id = random_id()?;
            let entry = self.dir.join(&id);
            let file = File::options()
                .append(true)
                .create_new(true)
                .mode(0o600)
                .open(&entry)
                .map_err(|e| Error::file(&entry, e))?;
            let locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
            if locked && entry.exists() {
                run_id::set_current_run(&id);
                return Ok(LiveProcess {
                    id,
                    entry,
                    file,
                    ended: false,
                });
            }
        }
        Err(Error::other(format!(
            "no entry could be made in {}",
            self.dir.display()
        )))
    }

    /// Removes leftovers of dead runs and returns them. One that cannot be removed does not
    /// keep the rest: its entry stays for the next time, and the error is given at the end.
    pub fn sweep(&self) -> Result<Vec<String>, Error> {
        let mut removed = Vec::new();
        let mut failed = None;
        let entries = fs::read_dir(&self.dir).map_err(|e| Error::file(&self.dir, e))?;
        for entry in entries {
            let entry = entry.map_err(|e| Error::file(&self.dir, e))?;
            let path = entry.path();
            let Some(id) = entry.file_name().to_str().map(str::to_owned) else {
                continue;
            };
            if !is_id(&id) {
                continue;
            }
            let Ok(file) = File::open(&path) else {
                continue;
            };
            if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
                continue;
            }
            match clean_entry(&id, &path) {
                Ok(cleaned) => {
                    removed.extend(cleaned);
                    fs::remove_file(&path).map_err(|e| Error::file(&path, e))?;
                }
                Err(e) => failed = Some(e),
            }
        }
        failed.map_or(Ok(removed), Err)
    }
}

/// A run that lives: entered for as long as this is.
#[derive(Debug)]
pub struct LiveProcess {
    id: String,
    entry: PathBuf,
    file: File,
    ended: bool,
}

impl LiveProcess {
    /// Environment variable that marks every process of the run: name and value.
    pub fn marker(&self) -> (&'static str, &str) {
        (MARKER, &self.id)
    }

    /// Creates the run's own directory in another one. Parts that stacks create elsewhere are noted too.
    pub fn directory(&mut self, parent: &Path) -> Result<PathBuf, Error> {
        let parent = fs::canonicalize(parent).map_err(|e| Error::file(parent, e))?;
        let dir = parent.join(format!("{PREFIX}{}", self.id));
        if dir.as_os_str().len() > LONGEST {
            return Err(Error::other(format!(
                "the laboratory cannot run in {}: SQLite takes no paths as long as would be \
                 needed; run in a directory with a shorter one",
                parent.display()
            )));
        }
        for dir in stacks::outside_directory(&dir).iter().chain([&dir]) {
            self.note(dir)?;
        }
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&dir)
            .map_err(|e| Error::file(&dir, e))?;
        Ok(dir)
    }

    /// Writes a directory down, before it is made. Its name must hold the run's id.
    fn note(&mut self, dir: &Path) -> Result<(), Error> {
        let text = dir.to_str().filter(|text| !text.contains('\n'));
        let Some(text) = text else {
            return Err(Error::other(format!(
                "the laboratory cannot run in {}: its name is not plain text",
                dir.display()
            )));
        };
        writeln!(self.file, "dir {text}")
            .and_then(|()| self.file.sync_all())
            .map_err(|e| Error::file(&self.entry, e))
    }

    /// Ends the run: whatever there still is of it is removed, and named.
    pub fn end(mut self) -> Result<Vec<String>, Error> {
        self.ended = true;
        self.clean_entry()
    }

    fn clean_entry(&self) -> Result<Vec<String>, Error> {
        let removed = clean_entry(&self.id, &self.entry)?;
        fs::remove_file(&self.entry).map_err(|e| Error::file(&self.entry, e))?;
        Ok(removed)
    }
}

impl Drop for LiveProcess {
    fn drop(&mut self) {
        if !self.ended {
            // A run that ends by an error has its own to report; the next run reports this.
            let _ = self.clean_entry();
        }
    }
}

fn random_id() -> Result<String, Error> {
    let mut bytes = [0_u8; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|e| Error::file("/dev/urandom", e))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn is_id(name: &str) -> bool {
    name.len() == 16 && name.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Removes all there is of a run. The entry itself stays: it is removed when all else is gone.
fn clean_entry(id: &str, entry: &Path) -> Result<Vec<String>, Error> {
    let text = fs::read_to_string(entry).map_err(|e| Error::file(entry, e))?;
    let mut removed = kill_marked(id);
    removed.extend(trace::remove_instances(id));
    for dir in text.lines().filter_map(|line| line.strip_prefix("dir ")) {
        let dir = Path::new(dir);
        if is_removable(dir, id) {
            removed.extend(empty_and_remove(dir)?);
        }
    }
    Ok(removed)
}

/// Whether a path can be a directory of a run's: by its name, its owner, and being no link.
fn is_removable(dir: &Path, id: &str) -> bool {
    let named = dir
        .file_name()
        .and_then(|name| name.to_str())
        .and_then(|name| name.strip_prefix(PREFIX))
        == Some(id);
    named
        && dir.is_absolute()
        && fs::symlink_metadata(dir)
            .is_ok_and(|found| found.is_dir() && found.uid() == rustix::process::geteuid().as_raw())
}

/// Unmounts file systems in a directory, detaches the loop devices over its files, and
/// removes it. Nothing is removed while anything is mounted in it.
fn empty_and_remove(dir: &Path) -> Result<Vec<String>, Error> {
    let mut removed = Vec::new();
    for mount in mounts::mounts_beneath(dir)? {
        stacks::unmount_path(&mount.point)?;
        removed.push(format!("mount {}", mount.point.display()));
    }
    for device in loops_beneath(dir) {
        stacks::detach_loop(&device.to_string_lossy())?;
        removed.push(format!("loop device {}", device.display()));
    }
    if let Some(mount) = mounts::mounts_beneath(dir)?.first() {
        return Err(Error::other(format!(
            "{} is still mounted: unmount it, then run again",
            mount.point.display()
        )));
    }
    // Links are removed, not followed.
    fs::remove_dir_all(dir).map_err(|e| Error::file(dir, e))?;
    removed.push(format!("directory {}", dir.display()));
    Ok(removed)
}

/// The loop devices whose image is, or was, in a directory.
pub(crate) fn loops_beneath(dir: &Path) -> Vec<PathBuf> {
    let Ok(devices) = fs::read_dir("/sys/block") else {
        return Vec::new();
    };
    devices
        .flatten()
        .filter(|device| {
            fs::read_to_string(device.path().join("loop/backing_file")).is_ok_and(|image| {
                let image = image.strip_suffix('\n').unwrap_or(&image);
                Path::new(image.strip_suffix(" (deleted)").unwrap_or(image)).starts_with(dir)
            })
        })
        .map(|device| Path::new("/dev").join(device.file_name()))
        .collect()
}

/// Kills the processes that carry a run's id, and waits until they are gone. Twice at least,
/// as one may have made another meanwhile.
fn kill_marked(id: &str) -> Vec<String> {
    let mut killed = Vec::new();
    for _ in 0..40 {
        let found = machine::processes_with(MARKER, id);
        if found.is_empty() {
            break;
        }
        for (pid, handle) in found {
            if rustix::process::pidfd_send_signal(&handle, Signal::KILL).is_ok() {
                let words = format!("process {}", pid.as_raw_nonzero());
                if !killed.contains(&words) {
                    killed.push(words);
                }
            }
        }
        thread::sleep(Duration::from_millis(50));
    }
    killed
}

#[cfg(test)]
mod tests;
