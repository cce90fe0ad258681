//! QEMU's process: its command line, and the lines to and from the guest.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Accelerator, DiskBus, DiskSource, VmDisk, VmOptions};
use crate::error::Error;
use crate::machine;
use crate::runner::run_id;

/// How often a wait looks whether the run was stopped.
const STOP_INTERVAL: Duration = Duration::from_millis(50);

/// QEMU, running. Killed when dropped.
#[derive(Debug)]
pub struct Qemu {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    console: PathBuf,
    errors: PathBuf,
}

impl Qemu {
    /// Starts QEMU over a kernel and an initramfs.
    pub fn start(
        options: &VmOptions,
        accelerator: Accelerator,
        kernel: &Path,
        initramfs: &Path,
    ) -> Result<Self, Error> {
        let program = machine::find_tool(super::QEMU)
            .ok_or_else(|| Error::not_run("qemu-system-x86 is not installed: `etui lab setup`"))?;
        let console = options.dir.join("console");
        let errors = options.dir.join("qemu-errors");
        let stderr = File::create(&errors).map_err(|e| Error::file(&errors, e))?;
        let size = fs::metadata(initramfs).map_err(|e| Error::file(initramfs, e))?;
        // The archive and its files are both in memory while it is unpacked.
        let memory = options.memory + (size.len() * 2).div_ceil(1 << 20);
        let mut command = Command::new(&program);
        command
            .args(machine_options(accelerator, memory))
            .args([
                "-chardev".into(),
                file_option("file,id=console,path=", &console),
            ])
            .arg("-kernel")
            .arg(kernel)
            .arg("-initrd")
            .arg(initramfs)
            .args(["-append", KERNEL_COMMAND_LINE]);
        for (nth, disk) in options.disks.iter().enumerate() {
            command.args(disk_options(nth, disk));
        }
        // Ctrl-C reaches the laboratory alone, which ends the machine.
        command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr);
        // A worker has the run's id in its environment already.
        if let Some(id) = run_id::current_run() {
            command.env(run_id::MARKER, id);
        }
        let mut child = command.spawn().map_err(|e| Error::file(&program, e))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or_else(|| Error::other("QEMU has no pipes"))?;
        let (sender, lines) = mpsc::channel();
        // Ends with QEMU's output.
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            child,
            input,
            lines,
            console,
            errors,
        })
    }

    /// Sends a line.
    pub fn send(&mut self, request: &impl Serialize) -> Result<(), Error> {
        let mut line = serde_json::to_vec(request).map_err(|e| Error::other(e.to_string()))?;
        line.push(b'\n');
        let sent = self
            .input
            .write_all(&line)
            .and_then(|()| self.input.flush());
        sent.map_err(|e| self.failure(&format!("it takes no requests ({e})")))
    }

    pub fn receive<T: DeserializeOwned>(
        &mut self,
        until: Instant,
        stop: &AtomicBool,
    ) -> Result<T, Error> {
        loop {
            match self.lines.recv_timeout(STOP_INTERVAL) {
                Ok(line) => {
                    return serde_json::from_str(&line).map_err(|e| {
                        Error::other(format!("the virtual machine's line cannot be read: {e}"))
                    });
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.failure("it ended")),
                Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => {
                    return Err(Error::Stopped);
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() > until => {
                    return Err(self.failure("no answer in time"));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// An error with the last lines of QEMU and of the guest's console.
    fn failure(&self, what: &str) -> Error {
        let mut message = format!("the virtual machine: {what}");
        for path in [&self.errors, &self.console] {
            let text = fs::read(path).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            let lines: Vec<&str> = lines.collect();
            for line in &lines[lines.len().saturating_sub(4)..] {
                message.push_str(" | ");
                message.push_str(line);
            }
        }
        Error::Other(message)
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        // Already gone is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// No speculative-execution mitigations: the guest runs nothing but the laboratory.
const KERNEL_COMMAND_LINE: &str = "console=ttyS0 quiet panic=-1 nokaslr mitigations=off \
     no_timer_check tsc=reliable rdinit=/lab/program -- guest";

fn machine_options(accelerator: Accelerator, memory: u64) -> Vec<OsString> {
    let (accel, cpu) = match accelerator {
        Accelerator::Kvm => ("kvm", "host"),
        Accelerator::Tcg => ("tcg,thread=multi", "max"),
    };
    let memory = memory.to_string();
    [
        ["-accel", accel],
        ["-cpu", cpu],
        ["-machine", "q35"],
        ["-m", &memory],
        ["-smp", "1"],
        ["-display", "none"],
        ["-serial", "chardev:console"],
        ["-chardev", "stdio,id=port,signal=off"],
        ["-device", "virtio-serial-pci"],
        ["-device", "virtserialport,chardev=port,name=lab"],
    ]
    .iter()
    .flatten()
    .chain(&["-nodefaults", "-no-user-config", "-no-reboot"])
    .map(OsString::from)
    .collect()
}

/// A disk's options. A plain image is not flushed: the host's cache is as durable as a run needs.
fn disk_options(nth: usize, disk: &VmDisk) -> [OsString; 4] {
    let node = format!("node-name=disk{nth}");
    let backend = match &disk.source {
        DiskSource::File(path) => {
            let driver = format!("driver=raw,{node},cache.no-flush=on,file.driver=file,");
            file_option(&format!("{driver}file.filename="), path)
        }
        DiskSource::Nbd(socket) => {
            let driver = format!("driver=nbd,{node},server.type=unix,");
            file_option(&format!("{driver}server.path="), socket)
        }
    };
    let device = match disk.bus {
        DiskBus::Virtio => format!("virtio-blk-pci,drive=disk{nth}"),
        DiskBus::Nvme => format!("nvme,drive=disk{nth},serial=lab{nth},write-cache=off"),
    };
    ["-blockdev".into(), backend, "-device".into(), device.into()]
}

/// An option that ends with a path; QEMU doubles commas in it.
fn file_option(before: &str, path: &Path) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut option = before.as_bytes().to_vec();
    for &byte in path.as_os_str().as_bytes() {
        option.push(byte);
        if byte == b',' {
            option.push(byte);
        }
    }
    OsString::from_vec(option)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_paths_are_doubled() {
        let option = file_option("file,path=", Path::new("/a,b/c"));
        assert_eq!(option, "file,path=/a,,b/c");
    }

    #[test]
    fn disks_by_source_and_controller() {
        let words = |disk: VmDisk| disk_options(1, &disk).map(|word| word.into_string());
        let [_, backend, _, device] = words(VmDisk::file("/i.img"));
        assert_eq!(
            backend.as_deref(),
            Ok(
                "driver=raw,node-name=disk1,cache.no-flush=on,file.driver=file,file.filename=/i.img"
            )
        );
        assert_eq!(device.as_deref(), Ok("virtio-blk-pci,drive=disk1"));
        let [_, backend, _, device] = words(VmDisk::nbd("/s").on(DiskBus::Nvme));
        assert_eq!(
            backend.as_deref(),
            Ok("driver=nbd,node-name=disk1,server.type=unix,server.path=/s")
        );
        assert_eq!(
            device.as_deref(),
            Ok("nvme,drive=disk1,serial=lab1,write-cache=off")
        );
    }
}
