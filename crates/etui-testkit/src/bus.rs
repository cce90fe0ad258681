//! [`PrivateBus`]: a D-Bus session bus for one test, in a directory of its own.
//!
//! ```no_run
//! # fn main() -> std::io::Result<()> {
//! let bus = etui_testkit::bus::PrivateBus::start()?;
//! bus.add_service("org.example.Service", "/path/of/service --store FILE")?;
//! let status = bus.command("busctl").args(["--user", "list"]).status()?;
//! # let _ = status; Ok(())
//! # }
//! ```
//!
//! The bus knows no services but those that the test adds, and those of the user, which come first:
//! in `run/dbus-1/services` and `data/dbus-1/services`. It and the services that it starts see
//! nothing of the user's home: `HOME`, the XDG directories and `TMPDIR` are in the bus's
//! directory.
//!
//! ```text
//! DIR/  home/  data/  cache/  config/  run/  tmp/  services/  session.conf  bus.log
//! ```

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use tempfile::TempDir;

mod raw;
pub mod session;

pub use raw::{authenticate, private_memory};

/// The service files of the distribution.
const SYSTEM_SERVICES: &str = "/usr/share/dbus-1/services";

/// A private session bus. Dropping it ends the bus; its services lose their connection with it.
///
/// Where `setpriv` exists, the kernel also ends the bus with the thread that started it, so that
/// a test that is killed leaves none.
#[derive(Debug)]
pub struct PrivateBus {
    address: String,
    daemon: Child,
    dir: TempDir,
}

impl PrivateBus {
    /// Starts a bus.
    ///
    /// # Errors
    /// If `dbus-daemon` is missing or does not start; its output is part of the message.
    pub fn start() -> io::Result<Self> {
        let dir = tempfile::Builder::new().prefix("etui-bus-").tempdir()?;
        session::create_directories(dir.path())?;
        let config = dir.path().join("session.conf");
        fs::write(&config, configuration(dir.path()))?;

        let mut command = match find_program("setpriv") {
            Some(setpriv) => {
                let mut command = Command::new(setpriv);
                command.args(["--pdeathsig", "KILL", "dbus-daemon"]);
                command
            }
            None => Command::new("dbus-daemon"),
        };
        session::set_environment(&mut command, dir.path());
        let log = File::create(dir.path().join("bus.log"))?;
        let (daemon, address) = session::start_bus(command, &config, log)?;
        let bus = Self {
            address,
            daemon,
            dir,
        };
        if bus.address.is_empty() {
            return Err(io::Error::other(format!(
                "dbus-daemon did not start: {}",
                bus.log()
            )));
        }
        Ok(bus)
    }

    /// The address that clients connect to, as in `DBUS_SESSION_BUS_ADDRESS`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The directory of the bus. It is removed when the bus is dropped.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The process of the bus.
    pub fn process_id(&self) -> u32 {
        self.daemon.id()
    }

    /// Adds a service that the bus starts when its name is asked for, also while the bus runs.
    /// `exec` is the command line as in a service file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn add_service(&self, name: &str, exec: &str) -> io::Result<()> {
        self.write_service(
            name,
            &format!("[D-BUS Service]\nName={name}\nExec={exec}\n"),
        )
    }

    /// Adds a service of the distribution. The bus starts it itself, not through systemd.
    ///
    /// # Errors
    /// If the service is not installed.
    pub fn add_system_service(&self, name: &str) -> io::Result<()> {
        let text = fs::read_to_string(format!("{SYSTEM_SERVICES}/{name}.service"))?;
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with("SystemdService"))
            .collect();
        self.write_service(name, &(lines.join("\n") + "\n"))
    }

    fn write_service(&self, name: &str, text: &str) -> io::Result<()> {
        let services = self.dir.path().join("services");
        fs::write(services.join(format!("{name}.service")), text)
    }

    /// Returns a command that runs on the bus: an environment of its own with the address.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        session::set_environment(&mut command, self.dir.path());
        command.env("DBUS_SESSION_BUS_ADDRESS", &self.address);
        command
    }

    /// What the bus and the services that it started wrote to standard error.
    pub fn log(&self) -> String {
        fs::read(self.dir.path().join("bus.log"))
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    /// Ends the bus while its clients are connected.
    pub fn stop(&mut self) {
        // It may have ended already.
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

impl Drop for PrivateBus {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns the bus's configuration: the user's services come first.
fn configuration(dir: &Path) -> String {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let address = format!("{name}-{}", std::process::id());
    let services = ["run/dbus-1/services", "data/dbus-1/services", "services"];
    let services = services.map(|name| dir.join(name));
    let services: Vec<&Path> = services.iter().map(PathBuf::as_path).collect();
    session::bus_configuration(&address, &services)
}

/// Finds a program in `PATH`.
fn find_program(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|dir| dir.join(name))
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_bus_answers_and_ends_when_dropped() {
        let bus = PrivateBus::start().unwrap();
        bus.add_service("org.example.Absent", "/bin/false").unwrap();
        let start = |name: &str| {
            let out = bus
                .command("dbus-send")
                .args(["--session", "--print-reply", "--dest=org.freedesktop.DBus"])
                .args(["/", "org.freedesktop.DBus.StartServiceByName"])
                .args([&format!("string:{name}"), "uint32:0"])
                .output()
                .unwrap();
            String::from_utf8(out.stderr).unwrap()
        };
        let missing = start("org.example.Missing");
        assert!(missing.contains("ServiceUnknown"), "{missing}");
        bus.add_service("org.example.Fails", "/bin/false").unwrap();
        let fails = start("org.example.Fails");
        assert!(fails.contains("ChildExited"), "{fails}");
        let process = PathBuf::from(format!("/proc/{}", bus.process_id()));
        let dir = bus.dir().to_owned();
        assert!(process.exists());
        drop(bus);
        assert!(!process.exists());
        assert!(!dir.exists());
    }
}
