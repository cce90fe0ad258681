//! The parts of a private session: directories, environment, configuration and daemon of a bus, all
//! below one directory.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The directories of a session.
const DIRECTORIES: [&str; 7] = ["home", "data", "cache", "config", "run", "tmp", "services"];

/// Limits of an ordinary session bus, which are wider than the ones built in.
const LIMITS: [(&str, u64); 8] = [
    ("max_incoming_bytes", 1_000_000_000),
    ("max_outgoing_bytes", 1_000_000_000),
    ("max_message_size", 1_000_000_000),
    ("max_incoming_unix_fds", 250_000_000),
    ("max_outgoing_unix_fds", 250_000_000),
    ("service_start_timeout", 120_000),
    ("max_match_rules_per_connection", 50_000),
    ("max_replies_per_connection", 50_000),
];

/// Creates the directories of a session; those that exist are kept.
///
/// # Errors
/// If one cannot be created.
pub fn create_directories(dir: &Path) -> io::Result<()> {
    for name in DIRECTORIES {
        fs::create_dir_all(dir.join(name))?;
    }
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(dir.join("run"), private)
}

/// Sets the environment of everything in a session: nothing of the user's own but the path.
pub fn set_environment(command: &mut Command, dir: &Path) {
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
        // Every glibc has this one; servers need UTF-8, not the language.
        .env("LANG", "C.UTF-8");
}

/// Returns the configuration of a bus with the permissions of a session bus, that starts the
/// services of these directories; the first that has a name wins. The address is abstract: it
/// leaves no file, and a path could be too long for a socket.
pub fn bus_configuration(address: &str, services: &[&Path]) -> String {
    let services: String = services
        .iter()
        .map(|dir| {
            let dir = escape_xml(&dir.to_string_lossy());
            format!("  <servicedir>{dir}</servicedir>\n")
        })
        .collect();
    let limits: String = LIMITS
        .iter()
        .map(|(name, value)| format!("  <limit name=\"{name}\">{value}</limit>\n"))
        .collect();
    format!(
        "<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN\"\n \
         \"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">\n\
         <busconfig>\n  <type>session</type>\n  \
         <listen>unix:abstract={address}</listen>\n  <auth>EXTERNAL</auth>\n\
         {services}  <policy context=\"default\">\n    \
         <allow send_destination=\"*\" eavesdrop=\"true\"/>\n    <allow eavesdrop=\"true\"/>\n    \
         <allow own=\"*\"/>\n  </policy>\n{limits}</busconfig>\n"
    )
}

fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Starts `dbus-daemon`, to which the command comes down, with a configuration file; its output goes
/// to `log`. Returns the process, and the address once the bus listens; it is empty if the
/// daemon ended instead.
///
/// # Errors
/// If the command cannot be run.
pub fn start_bus(mut command: Command, config: &Path, log: File) -> io::Result<(Child, String)> {
    let mut daemon = command
        .args(["--nofork", "--print-address=1"])
        .arg(format!("--config-file={}", config.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()?;
    let mut address = String::new();
    if let Some(out) = daemon.stdout.take() {
        // The line comes once the bus listens; an end without one leaves the address empty.
        let _ = BufReader::new(out).read_line(&mut address);
    }
    Ok((daemon, address.trim().to_owned()))
}
