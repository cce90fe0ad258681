//! [`EdsSession`]: a D-Bus of its own with the server's processes, in a directory of its own.
//!
//! The bus knows two services only, the server and the list of sources, so that nothing
//! of the person's desktop is started or touched. Everything the server writes is under the
//! session's directory. Its processes are found again by a variable in their environment
//! (`ETUI_LAB_SESSION`) and killed when the session is dropped. If this process is killed
//! first, the kernel kills the bus with it (`setpriv --pdeathsig`), the server's processes end
//! when they lose their bus, and any that remain carry `ETUI_LAB_RUN`, by which the
//! next run finds it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{Built, EdsClient, Installation, SERVICES, SOURCES, ServedBy, find_etui};
use crate::error::Error;
use crate::machine;

/// The variable by which a session's processes are found.
const MARK: &str = "ETUI_LAB_SESSION";
/// The variable by which a run's processes are found; handed on if it is set.
const RUN: &str = "ETUI_LAB_RUN";

/// Sessions of this process so far: makes their marks different.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// A private session; it ends when this is dropped, with all its processes.
#[derive(Debug)]
pub struct EdsSession {
    dir: PathBuf,
    built: Built,
    served_by: ServedBy,
    mark: String,
    address: String,
    bus: Child,
}

impl EdsSession {
    /// Starts a session in a directory: an empty one, or one that a session was in before,
    /// whose books and calendars it then has. [`ServedBy::DurableStock`] is by `durable.c`.
    pub fn start(dir: &Path, built: &Built, served_by: ServedBy) -> Result<Self, Error> {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{number}", std::process::id());
        for name in ["data", "cache", "config", "run", "tmp", "services"] {
            let dir = dir.join(name);
            fs::create_dir_all(&dir).map_err(|e| Error::file(&dir, e))?;
        }
        let run = dir.join("run");
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(&run, private).map_err(|e| Error::file(&run, e))?;
        for name in built.server.services() {
            match served_by {
                ServedBy::Etui if name != SOURCES => etui_service_file(dir, name)?,
                _ => service_file(dir, &built.installation, name)?,
            }
        }
        let config = dir.join("session.conf");
        fs::write(&config, bus_configuration(dir, &mark)).map_err(|e| Error::file(&config, e))?;

        let log = dir.join("session.log");
        let log = File::create(&log).map_err(|e| Error::file(&log, e))?;
        let mut command = match machine::find_tool("setpriv") {
            Some(_) => {
                let mut command = built.installation.command("setpriv", dir)?;
                command.args(["--pdeathsig", "KILL", "dbus-daemon"]);
                command
            }
            None => built.installation.command("dbus-daemon", dir)?,
        };
        command
            .args(["--nofork", "--print-address=1"])
            .arg(format!("--config-file={}", config.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log);
        session_environment(&mut command, dir, &mark);
        if served_by == ServedBy::DurableStock {
            command.env("LD_PRELOAD", &built.durable);
        }
        let failed = |message: String| Error::Command {
            command: "dbus-daemon".to_owned(),
            message,
        };
        let mut bus = command.spawn().map_err(|e| failed(e.to_string()))?;
        let mut address = String::new();
        if let Some(out) = bus.stdout.take() {
            // The line comes once the bus listens; none comes if it ends.
            let _ = BufReader::new(out).read_line(&mut address);
        }
        // From here on dropping it stops the bus.
        let session = Self {
            dir: dir.to_owned(),
            built: built.clone(),
            served_by,
            mark,
            address: address.trim().to_owned(),
            bus,
        };
        if session.address.is_empty() {
            return Err(failed(session.last_words()));
        }
        Ok(session)
    }

    /// Starts a client program in the session.
    pub fn client(&self) -> Result<EdsClient, Error> {
        let log = self.dir.join("client.log");
        let file = File::create(&log).map_err(|e| Error::file(&log, e))?;
        let built = &self.built;
        let mut command = built.installation.command(&built.client, &self.dir)?;
        session_environment(&mut command, &self.dir, &self.mark);
        command
            .env("DBUS_SESSION_BUS_ADDRESS", &self.address)
            .stderr(file);
        EdsClient::start(command)
    }

    /// The server's processes as far as they run: its own, and the list of sources'.
    pub fn servers(&self) -> Vec<u32> {
        [self.process(), "evolution-sourc"]
            .iter()
            .flat_map(|name| self.named(name))
            .collect()
    }

    /// The process that keeps the records.
    pub fn factory(&self) -> Result<u32, Error> {
        // A subprocess, where the server is built to have them, comes after its parent.
        self.named(self.process())
            .pop()
            .ok_or_else(|| Error::other("the server does not run"))
    }

    /// The name of the process that keeps the records.
    fn process(&self) -> &'static str {
        match self.served_by {
            ServedBy::Etui => "etui",
            _ => self.built.server.process(),
        }
    }

    fn named(&self, name: &str) -> Vec<u32> {
        let comm = |pid: u32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let mut pids = is_marked(&self.mark);
        pids.retain(|pid| comm(*pid).trim_end() == name);
        pids.sort_unstable();
        pids
    }

    /// A book's database.
    pub fn database(&self, book: &str) -> PathBuf {
        self.dir
            .join("data/evolution/addressbook")
            .join(book)
            .join("contacts.db")
    }

    fn last_words(&self) -> String {
        let log = fs::read_to_string(self.dir.join("session.log")).unwrap_or_default();
        log.lines().last().unwrap_or("it said nothing").to_owned()
    }
}

impl Drop for EdsSession {
    fn drop(&mut self) {
        // The bus last: without it the others would end by themselves, each in its own time.
        let until = Instant::now() + Duration::from_secs(5);
        let bus = self.bus.id();
        loop {
            let left: Vec<u32> = is_marked(&self.mark)
                .into_iter()
                .filter(|pid| *pid != bus)
                .collect();
            if left.is_empty() || Instant::now() > until {
                break;
            }
            for pid in left {
                if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                    // It may be gone already.
                    let _ = kill_process(pid, Signal::KILL);
                }
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.bus.kill();
        let _ = self.bus.wait();
    }
}

/// The processes that carry a session's mark, this one never among them.
fn is_marked(mark: &str) -> Vec<u32> {
    let wanted = format!("{MARK}={mark}");
    let own = std::process::id();
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| *pid != own)
        .filter(|pid| {
            fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| {
                environment
                    .split(|byte| *byte == 0)
                    .any(|variable| variable == wanted.as_bytes())
            })
        })
        .collect()
}

/// The environment of everything in the session: nothing of the person's own but the path.
fn session_environment(command: &mut Command, dir: &Path, mark: &str) {
    command.env_clear();
    for name in ["PATH", RUN] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
        .env(MARK, mark)
        .env("HOME", dir)
        .env("XDG_DATA_HOME", dir.join("data"))
        .env("XDG_CACHE_HOME", dir.join("cache"))
        .env("XDG_CONFIG_HOME", dir.join("config"))
        .env("XDG_RUNTIME_DIR", dir.join("run"))
        .env("TMPDIR", dir.join("tmp"))
        .env("GIO_USE_VFS", "local")
        .env("GSETTINGS_BACKEND", "memory")
        // Every glibc has this one; the server needs UTF-8, not the language.
        .env("LANG", "C.UTF-8");
}

/// A service as the distribution has it, but started by the bus and not by systemd.
fn service_file(dir: &Path, installation: &Installation, name: &str) -> Result<(), Error> {
    let from = installation.file(&format!("{SERVICES}/{name}.service"));
    let text = fs::read_to_string(&from).map_err(|e| Error::file(&from, e))?;
    let text: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("SystemdService"))
        .collect();
    let to = dir.join("services").join(format!("{name}.service"));
    fs::write(&to, text.join("\n") + "\n").map_err(|e| Error::file(&to, e))
}

/// A service by the command `etui`, with a store in the session's directory.
fn etui_service_file(dir: &Path, name: &str) -> Result<(), Error> {
    let (etui, store) = (find_etui()?, dir.join("data/personal.etui"));
    let (etui, store) = (etui.display(), store.display());
    let text = format!(
        "[D-BUS Service]\nName={name}\nExec=\"{etui}\" --store \"{store}\" eds serve --idle-exit 0\n"
    );
    let to = dir.join("services").join(format!("{name}.service"));
    fs::write(&to, text).map_err(|e| Error::file(&to, e))
}

/// Returns the bus's configuration: the permissions of a session bus, and its default limits,
/// which are wider than the ones built in. The abstract address leaves no file and has no
/// path that could be too long.
fn bus_configuration(dir: &Path, mark: &str) -> String {
    let services = escape_xml(&dir.join("services").to_string_lossy());
    let limits: String = [
        ("max_incoming_bytes", 1_000_000_000_u64),
        ("max_outgoing_bytes", 1_000_000_000),
        ("max_message_size", 1_000_000_000),
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
         <listen>unix:abstract=etui-lab-{mark}</listen>\n  <auth>EXTERNAL</auth>\n  \
         <servicedir>{services}</servicedir>\n  <policy context=\"default\">\n    \
         <allow send_destination=\"*\" eavesdrop=\"true\"/>\n    <allow eavesdrop=\"true\"/>\n    \
         <allow own=\"*\"/>\n  </policy>\n{limits}</busconfig>\n"
    )
}

fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
