//! [`Product`]: a CardDAV and CalDAV server of others, with files of its own, which are gone with it.

mod cyrus;
mod python;
mod sogo;

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use etui_testkit::wait::wait_until;
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

pub use cyrus::cyrus;
pub use python::{radicale, xandikos};
pub use sogo::sogo;

use super::dav::{Dav, Server};

const USER: &str = "ada";
const PASSWORD: &str = "lovelace";

/// A server that runs.
pub struct Product {
    server: Server,
    /// From this path its collections are found.
    pub discovery: String,
    /// The homes of address books and of calendars, each with a slash at the end.
    homes: [String; 2],
    /// vdirsyncer edits on it now and then.
    pub has_vdirsyncer: bool,
    /// Ended before its files are removed.
    _processes: Vec<Process>,
    _dir: TempDir,
}

impl Product {
    /// Makes an address book and a calendar, both empty.
    pub fn make_collections(&self, number: u64) -> Dav {
        let [book, calendar] =
            [("b", 0), ("c", 1)].map(|(name, home)| format!("{}{name}{number}/", self.homes[home]));
        let body = "<?xml version=\"1.0\" encoding=\"utf-8\"?><mkcol xmlns=\"DAV:\" \
            xmlns:C=\"urn:ietf:params:xml:ns:carddav\"><set><prop><resourcetype><collection/><C:addressbook/>\
            </resourcetype></prop></set></mkcol>";
        let xml = "Content-Type: application/xml; charset=utf-8\r\n";
        let made = self.server.ask("MKCOL", &book, xml, body.as_bytes());
        assert_eq!(made.status, 201, "{made:?}");
        let made = self.server.ask("MKCALENDAR", &calendar, "", b"");
        assert_eq!(made.status, 201, "{made:?}");
        Dav::new(self.server.clone(), book, calendar)
    }

    /// Removes them, so that the next ones are found sooner, if the server does that.
    pub fn remove_collections(&self, there: &Dav) {
        for path in [&there.book, &there.calendar] {
            // Cyrus does not.
            let _ = self.server.ask("DELETE", path, "", b"");
        }
    }
}

/// A program, with all that it starts. Its log is shown when a test fails.
struct Process {
    child: Child,
    log: PathBuf,
    end: Signal,
}

impl Process {
    /// Starts one that listens at an address, and waits until it does. Its output goes to the file `log`.
    fn start(
        command: &mut Command,
        dir: &TempDir,
        log: &str,
        address: SocketAddr,
        end: Signal,
    ) -> Self {
        let log = dir.path().join(log);
        let file = fs::File::create(&log).unwrap();
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .spawn()
            .unwrap_or_else(|error| panic!("{program}: {error}; see scripts/need"));
        let mut process = Self { child, log, end };
        wait_until(&format!("{program} listens"), || {
            let status = process.child.try_wait().unwrap();
            assert!(status.is_none(), "{program} has ended: {status:?}");
            TcpStream::connect(address).is_ok()
        });
        process
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.child), self.end);
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = fs::read(&self.log).unwrap_or_default();
            let end = &log[log.len().saturating_sub(8_000)..];
            eprintln!("{}: {}", self.log.display(), String::from_utf8_lossy(end));
        }
    }
}

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

fn server(address: SocketAddr) -> Server {
    Server {
        address,
        user: USER.to_owned(),
        password: PASSWORD.to_owned(),
    }
}

/// Runs a program to its end; `input` is its standard input.
fn run(command: &mut Command, input: &str) {
    use std::io::Write;

    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}; see scripts/need"));
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {said}");
}

/// Returns a command of a program that refuses to be run by root: root runs it as another user.
fn as_user(user: &str, program: &str) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("runuser");
    command.args(["-u", user, "--", program]);
    command
}
