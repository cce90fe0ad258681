//! [`RecordingDisk`]: a disk in memory that records every operation.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use etui_vfs::device::{Access, File, Lock, Platform, Role};

use super::content::FileContent;
use super::fault::{FaultKind, FaultSchedule, InjectedFailure, PlatformCall};
use super::history::{DiskEvent, DiskFiles, DiskHistory, FileId};

/// A disk as seen by one process. Clones belong to that process.
#[derive(Clone)]
pub struct RecordingDisk {
    machine: Arc<Mutex<DiskState>>,
    process: u32,
}

/// State shared by all processes.
#[derive(Default)]
struct DiskState {
    /// The current state: writes are visible, flushed or not.
    now: DiskFiles,
    history: DiskHistory,
    faults: FaultSchedule,
    flush_takes: Duration,
    /// The holder of each file's lock: an open file.
    locks: BTreeMap<FileId, u64>,
    /// The number of open handles of each file.
    open: BTreeMap<FileId, u32>,
    handles: u64,
    files: FileId,
    processes: u32,
    /// Processes that were killed.
    gone: BTreeSet<u32>,
}

impl fmt::Debug for RecordingDisk {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Disk(process {})", self.process)
    }
}

impl Default for RecordingDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl RecordingDisk {
    /// Creates an empty disk.
    pub fn new() -> Self {
        Self::from_files(DiskFiles::default())
    }

    /// Creates a disk with these files, all durable.
    pub fn from_files(files: DiskFiles) -> Self {
        let next = files.contents.keys().next_back().map_or(0, |last| last + 1);
        let machine = DiskState {
            now: files.clone(),
            history: DiskHistory {
                start: files,
                ..DiskHistory::default()
            },
            files: next,
            ..DiskState::default()
        };
        Self {
            machine: Arc::new(Mutex::new(machine)),
            process: 0,
        }
    }

    /// Returns the disk as seen by another process.
    pub fn another_process(&self) -> Self {
        let mut machine = self.machine();
        machine.processes += 1;
        Self {
            machine: Arc::clone(&self.machine),
            process: machine.processes,
        }
    }

    /// Ends this process: its locks are released, and all its later calls fail.
    pub fn kill(&self) {
        self.machine().gone.insert(self.process);
        // Its files release their locks one by one on their next call; nobody waits for that.
        let mut machine = self.machine();
        let ours = |handle: u64| (handle >> 32) as u32 == self.process;
        machine.locks.retain(|_, handle| !ours(*handle));
    }

    /// Returns the current files, unflushed data included.
    pub fn files(&self) -> DiskFiles {
        let mut files = self.machine().now.clone();
        let named: BTreeSet<FileId> = files.names.values().copied().collect();
        files.contents.retain(|file, _| named.contains(file));
        files
    }

    /// Returns the history so far.
    pub fn history(&self) -> DiskHistory {
        self.machine().history.clone()
    }

    /// Returns the number of events so far.
    pub fn events(&self) -> usize {
        self.machine().history.events.len()
    }

    /// Adds a mark to the history.
    pub fn mark(&self, mark: u64) {
        self.machine().history.events.push(DiskEvent::Mark(mark));
    }

    /// Returns the number of calls so far.
    pub fn calls(&self) -> u64 {
        self.machine().faults.calls
    }

    /// Sets the call that fails, or none.
    pub fn fail(&self, failure: Option<InjectedFailure>) {
        let mut machine = self.machine();
        machine.faults.failure = failure;
        machine.faults.hit = false;
    }

    /// Returns true if the failure has happened.
    pub fn failed(&self) -> bool {
        self.machine().faults.hit
    }

    /// Sets the duration of each flush.
    pub fn flush_takes(&self, time: Duration) {
        self.machine().flush_takes = time;
    }

    fn machine(&self) -> MutexGuard<'_, DiskState> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the machine, unless this process was killed.
    fn alive(&self) -> io::Result<MutexGuard<'_, DiskState>> {
        let machine = self.machine();
        if machine.gone.contains(&self.process) {
            return Err(io::Error::other("the power was cut"));
        }
        Ok(machine)
    }

    /// Locks the machine for a call that may fail.
    fn call(&self, call: PlatformCall) -> io::Result<MutexGuard<'_, DiskState>> {
        let mut machine = self.alive()?;
        match machine.faults.count(call) {
            Some(fault) => Err(fault.error()),
            None => Ok(machine),
        }
    }
}

/// Returns the directory of a path.
pub(super) fn directory_of(path: &Path) -> PathBuf {
    path.parent().map(Path::to_path_buf).unwrap_or_default()
}

impl DiskState {
    fn forget_if_unused(&mut self, file: FileId) {
        let named = self.now.names.values().any(|id| *id == file);
        if !named && !self.open.contains_key(&file) {
            self.now.contents.remove(&file);
        }
    }
}

impl Platform for RecordingDisk {
    fn open(&self, path: Option<&Path>, role: Role, access: Access) -> io::Result<Box<dyn File>> {
        let known = path.and_then(|path| self.machine().now.names.get(path).copied());
        let call = match known {
            Some(_) => PlatformCall::Other,
            None => PlatformCall::Create,
        };
        let mut machine = self.call(call)?;
        let file = match known {
            Some(file) => file,
            None if path.is_some() && !access.create => {
                return Err(io::Error::from(io::ErrorKind::NotFound));
            }
            None => {
                let file = machine.files;
                machine.files += 1;
                machine.now.contents.insert(file, FileContent::default());
                machine.history.roles.insert(file, role);
                if let Some(path) = path {
                    let path = path.to_path_buf();
                    machine.now.names.insert(path.clone(), file);
                    machine
                        .history
                        .events
                        .push(DiskEvent::Create { file, path });
                }
                file
            }
        };
        machine.history.roles.entry(file).or_insert(role);
        *machine.open.entry(file).or_insert(0) += 1;
        machine.handles += 1;
        let handle = (u64::from(self.process) << 32) | machine.handles;
        drop(machine);
        Ok(Box::new(OpenFile {
            disk: self.clone(),
            file,
            handle,
            write: access.write,
            recorded: path.is_some(),
        }))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        let machine = self.call(PlatformCall::Other)?;
        Ok(machine.now.names.contains_key(path))
    }

    fn remove(&self, path: &Path, durably: bool) -> io::Result<()> {
        let mut machine = self.call(PlatformCall::Other)?;
        if let Some(file) = machine.now.names.remove(path) {
            let path = path.to_path_buf();
            machine.history.events.push(DiskEvent::Remove { path });
            machine.forget_if_unused(file);
        }
        drop(machine);
        if durably {
            self.sync_directory_of(path)?;
        }
        Ok(())
    }

    /// Either name may be on the disk after a power cut, or both, or none.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut machine = self.call(PlatformCall::Other)?;
        if machine.now.names.contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let file = machine.now.names.remove(from);
        let file = file.ok_or(io::ErrorKind::NotFound)?;
        let path = to.to_path_buf();
        machine.now.names.insert(path.clone(), file);
        let events = &mut machine.history.events;
        events.push(DiskEvent::Create { file, path });
        let path = from.to_path_buf();
        events.push(DiskEvent::Remove { path });
        Ok(())
    }

    fn sync_directory_of(&self, path: &Path) -> io::Result<()> {
        let mut machine = self.call(PlatformCall::Sync)?;
        let directory = directory_of(path);
        let event = DiskEvent::SyncDirectory { directory };
        machine.history.events.push(event);
        Ok(())
    }
}

/// A file of a [`RecordingDisk`].
#[derive(Debug)]
struct OpenFile {
    disk: RecordingDisk,
    file: FileId,
    /// Process number, then handle number.
    handle: u64,
    write: bool,
    /// A file without a name does not survive a power cut, so its operations are not recorded.
    recorded: bool,
}

impl OpenFile {
    fn may_write(&self) -> io::Result<()> {
        if self.write {
            return Ok(());
        }
        Err(io::Error::from(io::ErrorKind::PermissionDenied))
    }

    fn write_now(&self, machine: &mut DiskState, bytes: &[u8], offset: u64) {
        let file = self.file;
        let content = machine.now.contents.entry(file).or_default();
        content.write_at(bytes, offset);
        if self.recorded {
            machine.history.events.push(DiskEvent::Write {
                file,
                offset,
                bytes: Arc::from(bytes),
            });
        }
    }
}

impl File for OpenFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let machine = self.disk.call(PlatformCall::Other)?;
        let content = machine.now.contents.get(&self.file);
        Ok(content.map_or(0, |content| content.read_at(bytes, offset)))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.may_write()?;
        let mut machine = self.disk.alive()?;
        let fault = machine.faults.count(PlatformCall::Write);
        let written = match fault {
            None => bytes,
            Some(FaultKind::Short) => bytes.get(..bytes.len() / 2).unwrap_or_default(),
            Some(_) => &[],
        };
        if !written.is_empty() {
            self.write_now(&mut machine, written, offset);
        }
        fault.map_or(Ok(()), |fault| Err(fault.error()))
    }

    fn len(&self) -> io::Result<u64> {
        let machine = self.disk.call(PlatformCall::Other)?;
        Ok(machine
            .now
            .contents
            .get(&self.file)
            .map_or(0, FileContent::len))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.may_write()?;
        let mut machine = self.disk.call(PlatformCall::SetLen)?;
        let file = self.file;
        machine.now.contents.entry(file).or_default().set_len(len);
        if self.recorded {
            machine.history.events.push(DiskEvent::SetLen { file, len });
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut machine = self.disk.alive()?;
        let fault = machine.faults.count(PlatformCall::Sync);
        let takes = machine.flush_takes;
        if self.recorded {
            machine.history.events.push(DiskEvent::Sync {
                file: self.file,
                ok: fault.is_none(),
            });
        }
        drop(machine);
        if !takes.is_zero() {
            thread::sleep(takes);
        }
        fault.map_or(Ok(()), |fault| Err(fault.error()))
    }

    fn lock(&self, lock: Lock) -> io::Result<bool> {
        let mut machine = self.disk.alive()?;
        let holder = machine.locks.get(&self.file).copied();
        match lock {
            Lock::Exclusive | Lock::Shared => {
                if holder.is_some_and(|holder| holder != self.handle) {
                    return Ok(false);
                }
                machine.locks.insert(self.file, self.handle);
            }
            Lock::None => {
                if holder == Some(self.handle) {
                    machine.locks.remove(&self.file);
                }
            }
        }
        Ok(true)
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        let mut machine = self.disk.machine();
        if machine.locks.get(&self.file) == Some(&self.handle) {
            machine.locks.remove(&self.file);
        }
        if let Some(open) = machine.open.get_mut(&self.file) {
            *open -= 1;
            if *open == 0 {
                machine.open.remove(&self.file);
            }
        }
        machine.forget_if_unused(self.file);
    }
}
