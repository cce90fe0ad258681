//! A virtual machine whose disk is recorded, and shows its states after cuts: [`CutMachine`].

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::file_systems::FileSystem;
use super::port::{CheckedStore, GuestMessage, GuestTask, HostPort};
use crate::device::{BlockDisk, DeviceLog, DeviceModel, NbdServer, OverlayDisk};
use crate::vm::{Vm, VmDisk, VmOptions};
use crate::{ArmSettings, Error};

/// The guest's program: a command of the laboratory.
pub const GUEST_COMMAND: &str = "power-cut-guest";
/// No task takes longer; one that does hangs.
const TASK_TIMEOUT: Duration = Duration::from_secs(300);
/// Time for the end of the machine.
const END_TIMEOUT: Duration = Duration::from_secs(20);
/// How often the guest's program may end by itself.
const MAX_RESTARTS: usize = 100;

/// The kernel's names of the device under test and of the port.
const DEVICES: [&str; 2] = ["/dev/vda", "/dev/vdb"];

/// A guest with one file system.
#[derive(Debug)]
pub struct CutMachine {
    guest: JoinHandle<()>,
    // Dropped in this order: a port waits for tasks.
    tasks: Sender<GuestTask>,
    messages: Receiver<GuestMessage>,
    _port: NbdServer,
    device: Arc<NbdServer>,
    file_system: &'static FileSystem,
    /// The empty file system.
    base: Arc<dyn BlockDisk>,
}

impl CutMachine {
    /// Boots a machine in a directory, which holds its files. `base` has the file system, empty.
    pub fn boot(
        file_system: &'static FileSystem,
        base: Arc<dyn BlockDisk>,
        dir: &Path,
    ) -> Result<Self, Error> {
        // The path of a socket is short, and a run's directory is in the current one.
        let current = std::env::current_dir().map_err(|e| Error::file(".", e))?;
        let near = dir.strip_prefix(current).unwrap_or(dir);
        let sockets = [near.join("disk"), near.join("port")];
        let overlay = Arc::new(OverlayDisk::new(base.clone()));
        let device = NbdServer::start(&sockets[0], overlay, &DeviceModel::NONE, true)?;
        let device = Arc::new(device);
        let (tell, messages) = mpsc::channel();
        let (tasks, take) = mpsc::channel();
        let port = Arc::new(HostPort::new(device.clone(), tell.clone(), take));
        let port = NbdServer::start(&sockets[1], port, &DeviceModel::NONE, false)?;
        let disks = sockets.iter().map(VmDisk::nbd).collect();
        let options = VmOptions::new(dir, disks, &[file_system.name])?;
        let vm = Vm::boot(&options, &AtomicBool::new(false))?;
        let [device_name, port_name] = DEVICES;
        let args = [GUEST_COMMAND, file_system.name, device_name, port_name];
        let guest = thread::spawn(move || run_guest(vm, &args, &tell));
        Ok(Self {
            guest,
            tasks,
            messages,
            _port: port,
            device,
            file_system,
            base,
        })
    }

    pub fn file_system(&self) -> &'static FileSystem {
        self.file_system
    }

    /// The empty file system, as it was made.
    pub fn base(&self) -> &Arc<dyn BlockDisk> {
        &self.base
    }

    /// Has the guest save records on an empty file system; returns the record of the device.
    pub fn record(&self, settings: &ArmSettings, saves: u64) -> Result<DeviceLog, Error> {
        let disk = Arc::new(OverlayDisk::new(self.base.clone()));
        self.device.replace_disk(disk)?;
        drop(self.device.take_log());
        let settings = settings.clone();
        match self.perform(GuestTask::Record { settings, saves })? {
            GuestMessage::Recorded { error: None } => Ok(self.device.take_log()),
            GuestMessage::Recorded { error: Some(error) }
            | GuestMessage::Ended { reason: error } => {
                Err(Error::other(format!("in the virtual machine: {error}")))
            }
            other => Err(Error::other(format!("the guest sent {other:?}"))),
        }
    }

    /// Has the guest look at a store on a disk.
    pub fn check(
        &self,
        disk: Arc<dyn BlockDisk>,
        settings: &ArmSettings,
        saves: u64,
    ) -> Result<CheckedStore, Error> {
        self.device.replace_disk(disk)?;
        let settings = settings.clone();
        let message = self.perform(GuestTask::Check { settings, saves })?;
        // The writes of the check.
        drop(self.device.take_log());
        match message {
            GuestMessage::Checked(checked) => {
                if checked.restarts {
                    self.receive()?;
                }
                Ok(checked)
            }
            // A store that kills the program is damaged.
            GuestMessage::Ended { reason } => Ok(CheckedStore {
                damage: Some(reason),
                ..CheckedStore::default()
            }),
            other => Err(Error::other(format!("the guest sent {other:?}"))),
        }
    }

    fn perform(&self, task: GuestTask) -> Result<GuestMessage, Error> {
        let gone = |_| Error::other("the virtual machine is gone");
        self.tasks.send(task).map_err(gone)?;
        self.receive()
    }

    fn receive(&self) -> Result<GuestMessage, Error> {
        self.messages
            .recv_timeout(TASK_TIMEOUT)
            .map_err(|_| Error::other("the virtual machine has ended, or does not answer"))
    }
}

impl Drop for CutMachine {
    fn drop(&mut self) {
        // A guest that is gone takes no more.
        let _ = self.tasks.send(GuestTask::End);
        // It needs its devices to the end.
        let begun = Instant::now();
        while !self.guest.is_finished() && begun.elapsed() < END_TIMEOUT {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Runs the guest's program, and again if it ended by itself.
fn run_guest(mut vm: Vm, args: &[&str], tell: &Sender<GuestMessage>) {
    let stop = AtomicBool::new(false);
    for _ in 0..MAX_RESTARTS {
        let done = vm.command(Vm::PROGRAM, args, "", &stop);
        let (reason, goes_on) = match done {
            Ok(output) if output.code == Some(0) => break,
            Ok(output) => {
                let words = output.stderr.trim();
                let status = output
                    .code
                    .map_or("a signal".to_owned(), |code| code.to_string());
                (format!("the program ended with {status}: {words}"), true)
            }
            Err(error) => (error.to_string(), false),
        };
        if tell.send(GuestMessage::Ended { reason }).is_err() || !goes_on {
            break;
        }
    }
}
