//! [`Disk`]: a disk in memory that remembers everything that was done to it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use etui_vfs::device::{Access, File, Lock, Platform, Role};

use super::content::Content;
use super::fault::{Call, Failure, Fault, Faults};
use super::history::{Event, FileId, Files, History};

/// A disk as one process sees it. Clones are the same process.
#[derive(Clone)]
pub struct Disk {
    machine: Arc<Mutex<Machine>>,
    process: u32,
}

/// What all processes share.
#[derive(Default)]
struct Machine {
    /// As the processes see it: what was written is there, flushed or not.
    now: Files,
    history: History,
    faults: Faults,
    flush_takes: Duration,
    /// Who holds a file's lock: the open file.
    locks: BTreeMap<FileId, u64>,
    /// How often a file is open.
    open: BTreeMap<FileId, u32>,
    handles: u64,
    files: FileId,
    processes: u32,
    /// Processes that were killed.
    gone: BTreeSet<u32>,
}

impl fmt::Debug for Disk {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Disk(process {})", self.process)
    }
}

impl Default for Disk {
    fn default() -> Self {
        Self::new()
    }
}

impl Disk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::from_files(Files::default())
    }

    /// A disk that holds these files, durably.
    pub fn from_files(files: Files) -> Self {
        let next = files.contents.keys().next_back().map_or(0, |last| last + 1);
        let machine = Machine {
            now: files.clone(),
            history: History {
                start: files,
                ..History::default()
            },
            files: next,
            ..Machine::default()
        };
        Self {
            machine: Arc::new(Mutex::new(machine)),
            process: 0,
        }
    }

    /// The same disk as another process sees it.
    pub fn another_process(&self) -> Self {
        let mut machine = self.machine();
        machine.processes += 1;
        Self {
            machine: Arc::clone(&self.machine),
            process: machine.processes,
        }
    }

    /// Ends this process: its locks are given up, and all its calls fail from now on.
    pub fn kill(&self) {
        self.machine().gone.insert(self.process);
        // Its files give up their locks one by one, as they find out; nobody waits for that.
        let mut machine = self.machine();
        let ours = |handle: u64| (handle >> 32) as u32 == self.process;
        machine.locks.retain(|_, handle| !ours(*handle));
    }

    /// The files as they are seen now; also those that are not flushed.
    pub fn files(&self) -> Files {
        let mut files = self.machine().now.clone();
        let named: BTreeSet<FileId> = files.names.values().copied().collect();
        files.contents.retain(|file, _| named.contains(file));
        files
    }

    /// All that was done so far.
    pub fn history(&self) -> History {
        self.machine().history.clone()
    }

    /// How many events there are so far.
    pub fn events(&self) -> usize {
        self.machine().history.events.len()
    }

    /// Puts a mark into the history.
    pub fn mark(&self, mark: u64) {
        self.machine().history.events.push(Event::Mark(mark));
    }

    /// How many calls were made.
    pub fn calls(&self) -> u64 {
        self.machine().faults.calls
    }

    /// Makes a call fail, or none.
    pub fn fail(&self, failure: Option<Failure>) {
        let mut machine = self.machine();
        machine.faults.failure = failure;
        machine.faults.hit = false;
    }

    /// Whether the failure has happened.
    pub fn failed(&self) -> bool {
        self.machine().faults.hit
    }

    /// Makes each flush take its time.
    pub fn flush_takes(&self, time: Duration) {
        self.machine().flush_takes = time;
    }

    fn machine(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The machine, unless this process is gone.
    fn alive(&self) -> io::Result<MutexGuard<'_, Machine>> {
        let machine = self.machine();
        if machine.gone.contains(&self.process) {
            return Err(io::Error::other("the power was cut"));
        }
        Ok(machine)
    }

    /// The machine, for a call that may fail.
    fn call(&self, call: Call) -> io::Result<MutexGuard<'_, Machine>> {
        let mut machine = self.alive()?;
        match machine.faults.count(call) {
            Some(fault) => Err(fault.error()),
            None => Ok(machine),
        }
    }
}

/// The directory that a name is in.
pub(super) fn directory_of(path: &Path) -> PathBuf {
    path.parent().map(Path::to_path_buf).unwrap_or_default()
}

impl Machine {
    fn forget_if_unused(&mut self, file: FileId) {
        let named = self.now.names.values().any(|id| *id == file);
        if !named && !self.open.contains_key(&file) {
            self.now.contents.remove(&file);
        }
    }
}

impl Platform for Disk {
    fn open(&self, path: Option<&Path>, role: Role, access: Access) -> io::Result<Box<dyn File>> {
        let known = path.and_then(|path| self.machine().now.names.get(path).copied());
        let call = match known {
            Some(_) => Call::Other,
            None => Call::Create,
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
                machine.now.contents.insert(file, Content::default());
                machine.history.roles.insert(file, role);
                if let Some(path) = path {
                    let path = path.to_path_buf();
                    machine.now.names.insert(path.clone(), file);
                    machine.history.events.push(Event::Create { file, path });
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
        let machine = self.call(Call::Other)?;
        Ok(machine.now.names.contains_key(path))
    }

    fn remove(&self, path: &Path, durably: bool) -> io::Result<()> {
        let mut machine = self.call(Call::Other)?;
        if let Some(file) = machine.now.names.remove(path) {
            let path = path.to_path_buf();
            machine.history.events.push(Event::Remove { path });
            machine.forget_if_unused(file);
        }
        drop(machine);
        if durably {
            self.sync_directory_of(path)?;
        }
        Ok(())
    }

    fn sync_directory_of(&self, path: &Path) -> io::Result<()> {
        let mut machine = self.call(Call::Sync)?;
        let directory = directory_of(path);
        let event = Event::SyncDirectory { directory };
        machine.history.events.push(event);
        Ok(())
    }
}

/// A file of a [`Disk`].
#[derive(Debug)]
struct OpenFile {
    disk: Disk,
    file: FileId,
    /// The process, then a number of its own.
    handle: u64,
    write: bool,
    /// A file without a name is gone after a power cut; nobody asks what was done to it.
    recorded: bool,
}

impl OpenFile {
    fn may_write(&self) -> io::Result<()> {
        if self.write {
            return Ok(());
        }
        Err(io::Error::from(io::ErrorKind::PermissionDenied))
    }

    fn write_now(&self, machine: &mut Machine, bytes: &[u8], offset: u64) {
        let file = self.file;
        let content = machine.now.contents.entry(file).or_default();
        content.write_at(bytes, offset);
        if self.recorded {
            machine.history.events.push(Event::Write {
                file,
                offset,
                bytes: Arc::from(bytes),
            });
        }
    }
}

impl File for OpenFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let machine = self.disk.call(Call::Other)?;
        let content = machine.now.contents.get(&self.file);
        Ok(content.map_or(0, |content| content.read_at(bytes, offset)))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.may_write()?;
        let mut machine = self.disk.alive()?;
        let fault = machine.faults.count(Call::Write);
        let written = match fault {
            None => bytes,
            Some(Fault::Short) => bytes.get(..bytes.len() / 2).unwrap_or_default(),
            Some(_) => &[],
        };
        if !written.is_empty() {
            self.write_now(&mut machine, written, offset);
        }
        fault.map_or(Ok(()), |fault| Err(fault.error()))
    }

    fn len(&self) -> io::Result<u64> {
        let machine = self.disk.call(Call::Other)?;
        Ok(machine.now.contents.get(&self.file).map_or(0, Content::len))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.may_write()?;
        let mut machine = self.disk.call(Call::SetLen)?;
        let file = self.file;
        machine.now.contents.entry(file).or_default().set_len(len);
        if self.recorded {
            machine.history.events.push(Event::SetLen { file, len });
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut machine = self.disk.alive()?;
        let fault = machine.faults.count(Call::Sync);
        let takes = machine.flush_takes;
        if self.recorded {
            machine.history.events.push(Event::Sync {
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
            Lock::Exclusive => {
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
