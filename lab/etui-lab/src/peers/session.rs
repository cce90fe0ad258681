//! [`PrivateSession`]: a D-Bus of its own with the processes of a product, in a directory of its own.
//!
//! The bus knows the product's services only, so that nothing of the person's desktop is started
//! or touched. Everything the product writes is under the session's directory. Its processes are
//! found again by a variable in their environment (`ETUI_LAB_SESSION`) and killed when the session
//! is dropped. If this process is killed first, the kernel kills the bus with it
//! (`setpriv --pdeathsig`), the product's processes end when they lose their bus, and any that
//! remain carry `ETUI_LAB_RUN`, by which the next run finds it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use etui_testkit::bus::session;
use rustix::process::{Pid, Signal, pidfd_send_signal};

use super::client::CommandClient;
use crate::error::Error;
use crate::machine;

/// The variable by which a session's processes are found.
const MARK: &str = "ETUI_LAB_SESSION";
/// The variable by which a run's processes are found; handed on if it is set.
const RUN: &str = "ETUI_LAB_RUN";

/// Sessions of this process so far: makes their marks different.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// How a session is started.
pub struct SessionConfig<'a> {
    /// A directory: an empty one, or one that a session was in before, whose data it then has.
    pub dir: &'a Path,
    /// Service files: their names, without `.service`, and their texts.
    pub services: Vec<(&'a str, String)>,
    /// Variables of all of its processes.
    pub environment: Vec<(&'a str, OsString)>,
    /// Variables of the processes that the bus starts, and of no client.
    pub server_environment: Vec<(&'a str, OsString)>,
    /// Returns the command that runs a program, by its name.
    pub command: &'a dyn Fn(&str) -> Result<Command, Error>,
}

/// A private session; it ends when this is dropped, with all its processes.
#[derive(Debug)]
pub struct PrivateSession {
    dir: PathBuf,
    environment: Vec<(String, OsString)>,
    mark: String,
    address: String,
    bus: Child,
}

impl PrivateSession {
    /// Starts the bus. The product's processes start when they are first asked for.
    pub fn start(config: SessionConfig<'_>) -> Result<Self, Error> {
        let dir = config.dir;
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{number}", std::process::id());
        session::create_directories(dir).map_err(|e| Error::file(dir, e))?;
        for (name, text) in config.services {
            let to = dir.join("services").join(format!("{name}.service"));
            fs::write(&to, text).map_err(|e| Error::file(&to, e))?;
        }
        let bus_config = dir.join("session.conf");
        let services = dir.join("services");
        let text = session::bus_configuration(&format!("etui-lab-{mark}"), &[&services]);
        fs::write(&bus_config, text).map_err(|e| Error::file(&bus_config, e))?;

        let log = dir.join("session.log");
        let log = File::create(&log).map_err(|e| Error::file(&log, e))?;
        let mut command = match machine::find_tool("setpriv") {
            Some(_) => {
                let mut command = (config.command)("setpriv")?;
                command.args(["--pdeathsig", "KILL", "dbus-daemon"]);
                command
            }
            None => (config.command)("dbus-daemon")?,
        };
        let environment = config.environment.into_iter();
        let environment: Vec<_> = environment
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        session_environment(&mut command, dir, &mark);
        command
            .envs(environment.iter().cloned())
            .envs(config.server_environment);
        let failed = |message: String| Error::Command {
            command: "dbus-daemon".to_owned(),
            message,
        };
        let started = session::start_bus(command, &bus_config, log);
        let (bus, address) = started.map_err(|e| failed(e.to_string()))?;
        // From here on dropping it stops the bus.
        let session = Self {
            dir: dir.to_owned(),
            environment,
            mark,
            address,
            bus,
        };
        if session.address.is_empty() {
            return Err(failed(session.last_words()));
        }
        Ok(session)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Starts a client program in the session.
    pub fn client(&self, mut command: Command) -> Result<CommandClient, Error> {
        let log = self.dir.join("client.log");
        let file = File::create(&log).map_err(|e| Error::file(&log, e))?;
        session_environment(&mut command, &self.dir, &self.mark);
        command
            .envs(self.environment.iter().cloned())
            .env("DBUS_SESSION_BUS_ADDRESS", &self.address)
            .stderr(file);
        CommandClient::start(command)
    }

    /// Its processes of a name, as far as the kernel keeps it.
    pub fn named(&self, name: &str) -> Vec<u32> {
        let comm = |pid: u32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let marked = machine::processes_with(MARK, &self.mark).into_iter();
        let mut pids: Vec<u32> = marked
            .map(|(pid, _)| pid.as_raw_nonzero().get().cast_unsigned())
            .collect();
        pids.retain(|pid| comm(*pid).trim_end() == name);
        pids.sort_unstable();
        pids
    }

    fn last_words(&self) -> String {
        let log = fs::read_to_string(self.dir.join("session.log")).unwrap_or_default();
        log.lines().last().unwrap_or("it said nothing").to_owned()
    }
}

impl Drop for PrivateSession {
    fn drop(&mut self) {
        // The bus last: without it the others would end by themselves, each in its own time.
        let until = Instant::now() + Duration::from_secs(5);
        let bus = Pid::from_child(&self.bus);
        loop {
            let mut left = machine::processes_with(MARK, &self.mark);
            left.retain(|(pid, _)| *pid != bus);
            if left.is_empty() || Instant::now() > until {
                break;
            }
            for (_, handle) in left {
                // It may be gone already.
                let _ = pidfd_send_signal(&handle, Signal::KILL);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.bus.kill();
        let _ = self.bus.wait();
    }
}

/// The environment of everything in the session: nothing of the person's own but the path.
fn session_environment(command: &mut Command, dir: &Path, mark: &str) {
    session::set_environment(command, dir);
    if let Some(run) = std::env::var_os(RUN) {
        command.env(RUN, run);
    }
    command.env(MARK, mark).env("HOME", dir);
}
