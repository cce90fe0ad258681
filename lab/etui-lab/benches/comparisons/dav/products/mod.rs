//! The servers: each is filled once in a directory, and started in a copy of it.

mod cyrus;
mod etui;
mod radicale;
mod xandikos;

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::super::server_process::{ServerProcess, wait_until};
use super::http::{HttpClient, HttpRequest};
use super::report;
use super::requests;
use super::workload::{NamedText, ResourceKind, Workload};
use etui_lab::peers::eds::find_etui;
use etui_lab::{Error, machine};

/// The user of the servers that let one choose.
const USER: &str = "alice";
const PASSWORD: &str = "secret";
/// Connections over which a kind of resources is saved when a server is filled.
const CONNECTIONS: usize = 4;
/// File in a server's directory with its output.
pub const LOG: &str = "log";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    Etui,
    Radicale,
    Xandikos,
    Cyrus,
}

impl Product {
    pub const ALL: [Self; 4] = [Self::Etui, Self::Radicale, Self::Xandikos, Self::Cyrus];

    pub fn arm_name(self) -> &'static str {
        match self {
            Self::Etui => report::ETUI,
            Self::Radicale => report::RADICALE,
            Self::Xandikos => report::XANDIKOS,
            Self::Cyrus => report::CYRUS,
        }
    }

    pub fn dir_name(self) -> &'static str {
        match self {
            Self::Etui => "etui",
            Self::Radicale => "radicale",
            Self::Xandikos => "xandikos",
            Self::Cyrus => "cyrus",
        }
    }

    /// Returns the reason if it cannot run here.
    pub fn missing(self) -> Option<String> {
        match self {
            Self::Etui => etui::check_program().err(),
            Self::Radicale => check_tools(&[radicale::PROGRAM], radicale::REMEDY),
            Self::Xandikos => xandikos::missing(),
            Self::Cyrus => cyrus::missing(),
        }
    }

    /// Fills it, in an empty directory. It does not run afterwards.
    pub fn fill(self, dir: &Path, workload: &Workload, until: Instant) -> Result<(), Error> {
        match self {
            Self::Etui => etui::fill(dir, workload, until),
            Self::Radicale => radicale::fill(dir, workload, until),
            Self::Xandikos => xandikos::fill(dir, workload),
            Self::Cyrus => cyrus::fill(dir, workload, until),
        }
    }

    /// Starts it in a directory that was filled, or in a copy of one.
    pub fn start(self, dir: &Path) -> Result<DavServer, Error> {
        match self {
            Self::Etui => etui::start(dir),
            Self::Radicale => radicale::start(dir),
            Self::Xandikos => xandikos::start(dir),
            Self::Cyrus => cyrus::start(dir),
        }
    }
}

fn check_tools(tools: &[&str], remedy: &str) -> Option<String> {
    let missing = tools
        .iter()
        .find(|tool| machine::find_tool(tool).is_none())?;
    Some(format!("there is no `{missing}`: {remedy}"))
}

pub fn tool_command(name: &str) -> Result<Command, Error> {
    let program = machine::find_tool(name);
    let mut command = Command::new(program.ok_or_else(|| Error::not_run(format!("no {name}")))?);
    // Floating times are times of UTC.
    command.env("TZ", "UTC");
    Ok(command)
}

/// Runs a command to its end; returns what it printed.
pub fn run_command(command: &mut Command) -> Result<String, Error> {
    let output = command
        .output()
        .map_err(|e| Error::file(command.get_program(), e))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(Error::Command {
        command: command.get_program().to_string_lossy().into_owned(),
        message: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

pub fn write_file(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(|e| Error::file(path, e))
}

pub fn make_dirs(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(|e| Error::file(path, e))
}

/// Writes the resources of a kind as files.
fn write_resources(dir: &Path, workload: &Workload, kind: ResourceKind) -> Result<(), Error> {
    let mut there = workload.of(kind).there().iter();
    there.try_for_each(|one| write_file(&dir.join(&one.name), &one.text))
}

/// Returns an address that no one listens at.
fn free_address() -> Result<SocketAddr, Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address.map_err(|e| Error::file("a port", e))
}

/// A server that runs. It ends with this.
#[derive(Debug)]
pub struct DavServer {
    process: ServerProcess,
    pub address: SocketAddr,
    pub user: String,
    pub password: String,
    address_book: String,
    calendar: String,
}

impl DavServer {
    /// Starts a program that listens at an address, and waits until it does. The collections are given later.
    fn start(command: &mut Command, address: SocketAddr, dir: &Path) -> Result<Self, Error> {
        let log = dir.join(LOG);
        let mut process = ServerProcess::none();
        // Cyrus ends its whole process group with itself.
        process.start(command.process_group(0), &log)?;
        wait_until("a server that listens", || {
            match TcpStream::connect(address) {
                Ok(_) => Ok(Some(())),
                Err(_) if process.is_running() => Ok(None),
                Err(error) => {
                    let said = fs::read_to_string(&log).unwrap_or_default();
                    let program = command.get_program().to_string_lossy();
                    Err(Error::other(format!(
                        "{program} does not start: {error}; {said}"
                    )))
                }
            }
        })?;
        Ok(Self {
            process,
            address,
            user: String::new(),
            password: String::new(),
            address_book: String::new(),
            calendar: String::new(),
        }
        .with_login(USER, PASSWORD))
    }

    fn with_login(mut self, user: &str, password: &str) -> Self {
        (self.user, self.password) = (user.to_owned(), password.to_owned());
        self
    }

    fn with_collections(mut self, address_book: &str, calendar: &str) -> Self {
        (self.address_book, self.calendar) = (address_book.to_owned(), calendar.to_owned());
        self
    }

    pub fn id(&self) -> Result<u32, Error> {
        let id = self.process.id();
        id.ok_or_else(|| Error::other("the server does not run"))
    }

    pub fn client(&self) -> HttpClient {
        let login = STANDARD.encode(format!("{}:{}", self.user, self.password));
        HttpClient::new(self.address, &format!("Basic {login}"))
    }

    /// Returns the path of a collection, with a slash at the end.
    pub fn collection(&self, kind: ResourceKind) -> &str {
        match kind {
            ResourceKind::Contact => &self.address_book,
            ResourceKind::Event => &self.calendar,
        }
    }

    pub fn stop(&mut self) -> Result<(), Error> {
        self.process.stop()
    }

    /// Saves all resources, over several connections: Cyrus answers each after a delay of the network.
    fn put_all(&self, workload: &Workload, until: Instant) -> Result<(), Error> {
        std::thread::scope(|scope| {
            let mut filling = Vec::new();
            for kind in ResourceKind::BOTH {
                let there = workload.of(kind).there();
                for part in there.chunks(there.len().div_ceil(CONNECTIONS).max(1)) {
                    filling.push(scope.spawn(move || self.put_part(kind, part, until)));
                }
            }
            for filled in filling {
                let filled = filled.join();
                filled.map_err(|_| Error::other("a client panicked"))??;
            }
            Ok(())
        })
    }

    fn put_part(
        &self,
        kind: ResourceKind,
        part: &[NamedText],
        until: Instant,
    ) -> Result<(), Error> {
        let mut client = self.client();
        let collection = self.collection(kind);
        for (number, one) in part.iter().enumerate() {
            if Instant::now() > until {
                let all = part.len();
                return Err(Error::other(format!(
                    "the time to fill it was over after {number} of {all} resources of a connection"
                )));
            }
            send_wanted(&mut client, &requests::put(collection, kind, one, None))?;
        }
        Ok(())
    }
}

/// Sends a request that has to succeed.
fn send_wanted(client: &mut HttpClient, request: &HttpRequest) -> Result<(), Error> {
    let answer = client.send(request)?;
    if (200..300).contains(&answer.status) {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&answer.body);
    let said: String = said.chars().take(300).collect();
    Err(Error::other(format!(
        "{} {}: {} {said}",
        request.method, request.path, answer.status
    )))
}

/// Time that is left.
fn time_left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}
