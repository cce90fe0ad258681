//! The guest's first process: mounts what a program expects, loads the modules, and answers the
//! host's requests until it is told to power off or the host is gone.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::mount::{MountFlags, UnmountFlags};
use rustix::system::RebootCommand;

use super::protocol::{CommandOutput, GuestAnswer, GuestInfo, GuestReply, GuestRequest};
use crate::error::Error;
use crate::runner::worker_task::{WorkerReply, WorkerTask};
use crate::stacks::mounts;

pub const PROGRAM: &str = "/lab/program";
/// Names the modules and their parameters, in the order in which they are loaded.
pub const MODULES: &str = "/lab/modules.list";
/// The name of the port in QEMU's command line.
const PORT: &str = "lab";
/// The port's device is there some moments before it is connected.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(300);

/// Runs as the first process of a guest; returns only if it is none.
pub fn guest_main() -> Result<(), Error> {
    if std::process::id() != 1 {
        return Err(Error::Usage(
            "this command is the first process of the laboratory's virtual machine".to_owned(),
        ));
    }
    let served = prepare().and_then(|(input, output)| serve(input, output));
    if let Err(error) = served {
        // To the console, which the host keeps.
        eprintln!("{error}");
    }
    power_off()
}

fn prepare() -> Result<(BufReader<File>, File), Error> {
    for (kind, point) in [
        ("devtmpfs", "/dev"),
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("tmpfs", "/tmp"),
    ] {
        mount(kind, point, kind, "")?;
    }
    let list = fs::read_to_string(MODULES).map_err(|e| Error::file(MODULES, e))?;
    for line in list.lines() {
        let (module, parameters) = line.split_once(' ').unwrap_or((line, ""));
        let parameters = CString::new(parameters).map_err(|e| Error::other(e.to_string()))?;
        let file = File::open(module).map_err(|e| Error::file(module, e))?;
        rustix::system::finit_module(&file, &parameters, 0).map_err(|e| Error::file(module, e))?;
    }
    let port = find_port()?;
    let output = OpenOptions::new().write(true).read(true).open(&port);
    let output = output.map_err(|e| Error::file(&port, e))?;
    let input = output.try_clone().map_err(|e| Error::file(&port, e))?;
    let watched = output.try_clone().map_err(|e| Error::file(&port, e))?;
    std::thread::spawn(move || watch_host(&watched));
    Ok((BufReader::new(input), output))
}

/// Powers off when the host's end of the port is closed: QEMU outlives a laboratory that was
/// killed, and a write to the port would then wait for ever.
fn watch_host(port: &File) {
    let begun = Instant::now();
    let mut connected = false;
    let second = Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    loop {
        // Without events to wait for, it ends with the time or with the connection.
        let mut watched = [PollFd::new(port, PollFlags::empty())];
        let polled = rustix::event::poll(&mut watched, Some(&second));
        if polled.is_ok() && !watched[0].revents().contains(PollFlags::HUP) {
            connected = true;
        } else if connected || begun.elapsed() > CONNECT_TIMEOUT {
            let _ = power_off();
        } else {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The device is made a moment after its module is loaded.
fn find_port() -> Result<PathBuf, Error> {
    for _ in 0..500 {
        let ports = fs::read_dir("/sys/class/virtio-ports")
            .into_iter()
            .flatten();
        for port in ports.flatten() {
            let name = fs::read_to_string(port.path().join("name")).unwrap_or_default();
            let device = Path::new("/dev").join(port.file_name());
            if name.trim() == PORT && device.exists() {
                return Ok(device);
            }
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(Error::other("the port to the host does not appear"))
}

fn serve(input: BufReader<File>, mut output: File) -> Result<(), Error> {
    let mut send = |reply: &GuestReply| {
        let mut line = serde_json::to_vec(reply).map_err(|e| Error::other(e.to_string()))?;
        line.push(b'\n');
        output.write_all(&line).map_err(|e| Error::file(PORT, e))
    };
    send(&Ok(GuestAnswer::Ready(guest_info())))?;
    for line in input.lines() {
        let line = line.map_err(|e| Error::file(PORT, e))?;
        let request = serde_json::from_str(&line).map_err(|e| Error::other(e.to_string()))?;
        send(&answer(request).map_err(|error| error.to_string()))?;
    }
    Ok(())
}

fn guest_info() -> GuestInfo {
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let mut devices: Vec<String> = devices
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    devices.sort();
    GuestInfo {
        kernel: rustix::system::uname()
            .release()
            .to_string_lossy()
            .into_owned(),
        devices,
    }
}

fn answer(request: GuestRequest) -> Result<GuestAnswer, Error> {
    match request {
        GuestRequest::Mount {
            device,
            point,
            file_system,
            options,
        } => mount(&device, &point, &file_system, &options)?,
        GuestRequest::Unmount { point } => {
            rustix::mount::unmount(&point, UnmountFlags::NOFOLLOW)
                .map_err(|e| Error::file(&point, e))?;
            drop_caches()?;
        }
        GuestRequest::CreateDir { path } => {
            fs::create_dir_all(&path).map_err(|e| Error::file(&path, e))?;
        }
        GuestRequest::RemoveDir { path } => match fs::remove_dir_all(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::file(&path, e));
            }
            _ => {}
        },
        GuestRequest::Command {
            program,
            args,
            input,
        } => {
            let mut command = Command::new(&program);
            let output = feed(command.args(args), input.as_bytes())?;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            return Ok(GuestAnswer::Output(CommandOutput {
                code: output.status.code(),
                stdout: text(&output.stdout),
                stderr: text(&output.stderr),
            }));
        }
        GuestRequest::Worker { task } => return perform_task(&task).map(GuestAnswer::Worker),
    }
    Ok(GuestAnswer::Done)
}

/// Does a task in a worker of this program, as the runner does on the host.
fn perform_task(task: &WorkerTask) -> Result<WorkerReply, Error> {
    let reply = Path::new("/tmp/reply");
    let bytes = serde_json::to_vec(task).map_err(|e| Error::other(e.to_string()))?;
    let mut command = Command::new(PROGRAM);
    // A program's files that are no part of a run: caches, configuration.
    command
        .env("HOME", "/root")
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    let output = feed(command.arg("worker").arg(reply), &bytes)?;
    let replied = fs::read(reply);
    let _ = fs::remove_file(reply);
    match replied {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| Error::other(e.to_string())),
        Err(_) => {
            let words = String::from_utf8_lossy(&output.stderr).into_owned();
            let status = output.status;
            Err(Error::other(format!(
                "the worker ended with {status}: {words}"
            )))
        }
    }
}

/// Runs a command with an input, and waits for its end.
fn feed(command: &mut Command, input: &[u8]) -> Result<Output, Error> {
    let program = PathBuf::from(command.get_program());
    let failed = |e| Error::file(&program, e);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input is no error.
        let _ = stdin.write_all(input);
    }
    child.wait_with_output().map_err(failed)
}

fn drop_caches() -> Result<(), Error> {
    const DROP: &str = "/proc/sys/vm/drop_caches";
    rustix::fs::sync();
    fs::write(DROP, "3").map_err(|e| Error::file(DROP, e))
}

fn mount(source: &str, point: &str, file_system: &str, options: &str) -> Result<(), Error> {
    fs::create_dir_all(point).map_err(|e| Error::file(point, e))?;
    let mut flags = MountFlags::NOATIME;
    let mut own = Vec::new();
    for option in options.split(',').filter(|option| !option.is_empty()) {
        match option {
            "ro" => flags |= MountFlags::RDONLY,
            option => own.push(option),
        }
    }
    let own = CString::new(own.join(",")).map_err(|e| Error::other(e.to_string()))?;
    rustix::mount::mount(source, point, file_system, flags, own.as_c_str())
        .map_err(|e| Error::other(format!("mount -t {file_system} {source} {point}: {e}")))
}

fn power_off() -> Result<(), Error> {
    let mounted = mounts::list_mounts().unwrap_or_default();
    for mount in mounted
        .iter()
        .rev()
        .filter(|mount| mount.point.starts_with("/mnt"))
    {
        let _ = rustix::mount::unmount(&mount.point, UnmountFlags::NOFOLLOW);
    }
    rustix::fs::sync();
    rustix::system::reboot(RebootCommand::PowerOff).map_err(|e| Error::other(e.to_string()))
}
