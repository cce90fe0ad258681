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
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

mod raw;

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
        for name in ["home", "data", "cache", "config", "run", "tmp", "services"] {
            fs::create_dir(dir.path().join(name))?;
        }
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(dir.path().join("run"), private)?;
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
        set_environment(&mut command, dir.path());
        let mut daemon = command
            .args(["--nofork", "--print-address=1"])
            .arg(format!("--config-file={}", config.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(dir.path().join("bus.log"))?)
            .spawn()?;
        let mut address = String::new();
        if let Some(out) = daemon.stdout.take() {
            // The line comes once the bus listens; none comes if it ends.
            BufReader::new(out).read_line(&mut address)?;
        }
        let bus = Self {
            address: address.trim().to_owned(),
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
        set_environment(&mut command, self.dir.path());
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

/// Sets the environment of everything on the bus: nothing of the user's own but the path.
fn set_environment(command: &mut Command, dir: &Path) {
    command.env_clear();
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
        .env("HOME", dir.join("home"))
        .env("XDG_DATA_HOME", dir.join("data"))
        .env("XDG_CACHE_HOME", dir.join("cache"))
        .env("XDG_CONFIG_HOME", dir.join("config"))
        .env("XDG_RUNTIME_DIR", dir.join("run"))
        .env("TMPDIR", dir.join("tmp"))
        .env("GIO_USE_VFS", "local")
        .env("GSETTINGS_BACKEND", "memory")
        .env("LANG", "C.UTF-8");
}

/// Returns the bus's configuration: the permissions and limits of an ordinary session bus. The
/// address is abstract: a path in a temporary directory may be too long for a socket.
fn configuration(dir: &Path) -> String {
    let escape = |path: PathBuf| {
        path.to_string_lossy()
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
    };
    let name = dir
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let limits: String = [
        ("max_incoming_bytes", 1_000_000_000_u64),
        ("max_outgoing_bytes", 1_000_000_000),
        ("max_message_size", 1_000_000_000),
        ("max_incoming_unix_fds", 250_000_000),
        ("max_outgoing_unix_fds", 250_000_000),
        ("service_start_timeout", 120_000),
        ("max_match_rules_per_connection", 50_000),
        ("max_replies_per_connection", 50_000),
    ]
    .iter()
    .map(|(name, value)| format!("  <limit name=\"{name}\">{value}</limit>\n"))
    .collect();
    format!(
        "<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN\"\n \
         \"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">\n\
         <busconfig>\n  <type>session</type>\n  \
         <listen>unix:abstract={name}-{process}</listen>\n  <auth>EXTERNAL</auth>\n  \
         <servicedir>{run}</servicedir>\n  <servicedir>{data}</servicedir>\n  \
         <servicedir>{services}</servicedir>\n  <policy context=\"default\">\n    \
         <allow send_destination=\"*\" eavesdrop=\"true\"/>\n    <allow eavesdrop=\"true\"/>\n    \
         <allow own=\"*\"/>\n  </policy>\n{limits}</busconfig>\n",
        process = std::process::id(),
        run = escape(dir.join("run/dbus-1/services")),
        data = escape(dir.join("data/dbus-1/services")),
        services = escape(dir.join("services")),
    )
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
