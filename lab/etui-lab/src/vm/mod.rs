//! A virtual machine with a file system of its own: QEMU as an ordinary user, a kernel from the
//! distribution's package, and this program as the guest's first process.
//!
//! ```text
//!   host                                     guest
//!   Vm::boot      qemu, kernel, initramfs    kernel runs `PROGRAM guest`
//!   Vm::mount  ── a line of JSON ──────────> mount(2)
//!              <── a line of JSON ─────────
//!   Vm::perform_task ──────────────────────> `PROGRAM worker`, as on the host
//! ```
//!
//! The lines go through a port of virtio-serial, which on the host is QEMU's standard input and
//! output: no sockets, and nothing to remove. The guest powers itself off when the host is gone.
//!
//! The initramfs holds this program, the libraries that the dynamic loader names, some tools of
//! file systems, and kernel modules; nothing in the guest is installed. Disks are plain files or
//! sockets of an NBD server ([`VmDisk`]).

mod accelerator;
mod guest;
mod initramfs;
mod kernel;
mod protocol;
mod qemu;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::machine;
use crate::runner::worker_task::{WorkerReply, WorkerTask};

pub use accelerator::Accelerator;
pub(crate) use guest::guest_main;
pub use kernel::GuestKernel;
pub use protocol::{CommandOutput, GuestInfo};
use protocol::{GuestAnswer, GuestReply, GuestRequest};
use qemu::Qemu;

pub(crate) const QEMU: &str = "qemu-system-x86_64";
/// A guest that has not reported itself by then hangs.
const BOOT_TIMEOUT: Duration = Duration::from_secs(600);
/// Time for everything but a worker's task.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(600);
/// Time for a worker's task; the emulated processor is some ten times slower than the host's.
const TASK_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// Returns the reason why no virtual machine can run here, and the remedy.
pub fn check_available() -> Result<(), String> {
    if std::env::consts::ARCH != "x86_64" {
        return Err("the virtual machine needs an x86-64 processor".to_owned());
    }
    if machine::find_tool(QEMU).is_none() {
        return Err("qemu-system-x86 is not installed: `etui lab setup`".to_owned());
    }
    GuestKernel::find().map(|_| ()).map_err(|e| e.to_string())
}

/// Returns the accelerator of this machine. The first call after a restart boots a machine with
/// KVM, if there is a KVM.
pub fn probe_accelerator() -> Result<Accelerator, Error> {
    check_available().map_err(Error::NotRun)?;
    let dir = tempfile::tempdir().map_err(|e| Error::file(std::env::temp_dir(), e))?;
    let program = std::env::current_exe().map_err(|e| Error::file("this program", e))?;
    accelerator::choose(dir.path(), &program, &AtomicBool::new(false))
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DiskBus {
    /// virtio-blk: `/dev/vda`, `/dev/vdb`, ... No forced unit access.
    #[default]
    Virtio,
    /// Emulated NVMe with a polled queue: `/dev/nvme0n1`, `/dev/nvme1n1`, ... It has no volatile
    /// cache: each write is durable when it is done. With a cache QEMU would take writes with
    /// forced unit access for plain ones.
    Nvme,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiskSource {
    /// A raw image, through the host's page cache; flushes of the guest are not passed to it.
    File(PathBuf),
    /// The Unix socket of an NBD server; each write and flush reaches it.
    Nbd(PathBuf),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VmDisk {
    pub source: DiskSource,
    pub bus: DiskBus,
}

impl VmDisk {
    /// A raw image on virtio-blk.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let source = DiskSource::File(path.into());
        let bus = DiskBus::Virtio;
        Self { source, bus }
    }

    /// An NBD server's socket on virtio-blk.
    pub fn nbd(socket: impl Into<PathBuf>) -> Self {
        let source = DiskSource::Nbd(socket.into());
        let bus = DiskBus::Virtio;
        Self { source, bus }
    }

    /// This disk on another controller.
    #[must_use]
    pub fn on(mut self, bus: DiskBus) -> Self {
        self.bus = bus;
        self
    }
}

/// What a virtual machine consists of.
#[derive(Debug, Clone)]
pub struct VmOptions {
    /// An existing directory for its files (initramfs, console). Two machines need two.
    pub dir: PathBuf,
    /// Its disks, in the order in which the kernel numbers them.
    pub disks: Vec<VmDisk>,
    /// The kernel's names of the file systems that are mounted (`ext4`, `vfat`, ...).
    pub file_systems: Vec<String>,
    /// MiB of memory beside those that the program itself needs.
    pub memory: u64,
    /// The program whose subcommand `guest` is the guest's first process: one over
    /// [`cli::main`](crate::cli::main).
    pub program: PathBuf,
}

impl VmOptions {
    /// A machine over this program, with 256 MiB.
    pub fn new(dir: &Path, disks: Vec<VmDisk>, file_systems: &[&str]) -> Result<Self, Error> {
        Ok(Self {
            dir: dir.to_owned(),
            disks,
            file_systems: file_systems.iter().map(|&name| name.to_owned()).collect(),
            memory: 256,
            program: std::env::current_exe().map_err(|e| Error::file("this program", e))?,
        })
    }
}

/// A running virtual machine. Killed when dropped.
#[derive(Debug)]
pub struct Vm {
    qemu: Qemu,
    accelerator: Accelerator,
    info: GuestInfo,
}

impl Vm {
    /// Boots a machine, and waits for its guest to report itself.
    pub fn boot(options: &VmOptions, stop: &AtomicBool) -> Result<Self, Error> {
        let accelerator = accelerator::choose(&options.dir, &options.program, stop)?;
        Self::boot_with(options, accelerator, BOOT_TIMEOUT, stop)
    }

    /// Boots a machine on a given accelerator within a time.
    pub fn boot_with(
        options: &VmOptions,
        accelerator: Accelerator,
        timeout: Duration,
        stop: &AtomicBool,
    ) -> Result<Self, Error> {
        check_available().map_err(Error::NotRun)?;
        let kernel = GuestKernel::find()?;
        let initramfs = options.dir.join("initramfs");
        initramfs::write_initramfs(&initramfs, &kernel, options)?;
        let mut qemu = Qemu::start(options, accelerator, &kernel.image(), &initramfs)?;
        let reply = qemu.receive::<GuestReply>(Instant::now() + timeout, stop);
        // QEMU has it in memory by now.
        fs::remove_file(&initramfs).map_err(|e| Error::file(&initramfs, e))?;
        match reply? {
            Ok(GuestAnswer::Ready(info)) => Ok(Self {
                qemu,
                accelerator,
                info,
            }),
            Ok(other) => Err(Error::other(format!("the guest begins with {other:?}"))),
            Err(message) => Err(Error::other(format!("the guest: {message}"))),
        }
    }

    pub fn accelerator(&self) -> Accelerator {
        self.accelerator
    }

    /// The guest's kernel and its devices.
    pub fn info(&self) -> &GuestInfo {
        &self.info
    }

    /// Mounts a device's file system; the mount point is made. `options` are the file system's,
    /// e.g. `data=ordered`; access times are off. With `ro` among them it is read-only.
    pub fn mount(
        &mut self,
        device: &str,
        point: &str,
        file_system: &str,
        options: &str,
    ) -> Result<(), Error> {
        self.done(&GuestRequest::Mount {
            device: device.to_owned(),
            point: point.to_owned(),
            file_system: file_system.to_owned(),
            options: options.to_owned(),
        })
    }

    /// Unmounts. The device's buffers are dropped too, so that it may be changed from outside.
    pub fn unmount(&mut self, point: &str) -> Result<(), Error> {
        self.done(&GuestRequest::Unmount {
            point: point.to_owned(),
        })
    }

    /// Makes a directory and its parents.
    pub fn create_dir(&mut self, path: &Path) -> Result<(), Error> {
        self.done(&GuestRequest::CreateDir {
            path: path.to_owned(),
        })
    }

    /// Removes a directory with its contents, if it exists.
    pub fn remove_dir(&mut self, path: &Path) -> Result<(), Error> {
        self.done(&GuestRequest::RemoveDir {
            path: path.to_owned(),
        })
    }

    /// Runs a program with arguments and an input, and waits for its end. The program of the
    /// machine itself is [`guest::PROGRAM`](Self::PROGRAM).
    pub fn command(
        &mut self,
        program: &str,
        args: &[&str],
        input: &str,
        stop: &AtomicBool,
    ) -> Result<CommandOutput, Error> {
        let request = GuestRequest::Command {
            program: program.to_owned(),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            input: input.to_owned(),
        };
        match self.request(&request, TASK_TIMEOUT, stop)? {
            GuestAnswer::Output(output) => Ok(output),
            other => Err(unexpected(&other)),
        }
    }

    /// Where the machine's program is in the guest.
    pub const PROGRAM: &'static str = guest::PROGRAM;

    /// Does a worker's task, in a process of its own as on the host. Paths in the task are the guest's.
    pub fn perform_task(
        &mut self,
        task: &WorkerTask,
        stop: &AtomicBool,
    ) -> Result<WorkerReply, Error> {
        let request = GuestRequest::Worker { task: task.clone() };
        match self.request(&request, TASK_TIMEOUT, stop)? {
            GuestAnswer::Worker(reply) => Ok(reply),
            other => Err(unexpected(&other)),
        }
    }

    fn done(&mut self, request: &GuestRequest) -> Result<(), Error> {
        match self.request(request, REQUEST_TIMEOUT, &AtomicBool::new(false))? {
            GuestAnswer::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    fn request(
        &mut self,
        request: &GuestRequest,
        timeout: Duration,
        stop: &AtomicBool,
    ) -> Result<GuestAnswer, Error> {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Stopped);
        }
        self.qemu.send(request)?;
        let reply: GuestReply = self.qemu.receive(Instant::now() + timeout, stop)?;
        reply.map_err(|message| Error::other(format!("in the virtual machine: {message}")))
    }
}

fn unexpected(answer: &GuestAnswer) -> Error {
    Error::other(format!("the guest gave another answer: {answer:?}"))
}
