//! `--announce`: the server in the lists of the local network (mDNS and DNS-SD, RFC 6762, RFC 6763, RFC 6764), by
//! Avahi's program.
//!
//! A shell is in between, since it ends the program when its standard input closes: the kernel closes the pipe
//! however the server ends.

use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use etui_program::App;

use super::home::machine_name;

/// The program, of the package avahi-utils.
const PROGRAM: &str = "avahi-publish-service";

/// Starts the program for both services, with the name and the port, and ends it at the end of the input.
const SCRIPT: &str = "\
avahi-publish-service --no-fail \"$1\" _carddavs._tcp \"$2\" path=/dav/ & contacts=$!
avahi-publish-service --no-fail \"$1\" _caldavs._tcp \"$2\" path=/dav/ & calendars=$!
read -r _
kill $contacts $calendars
wait";

/// The longest name of a service, in bytes (RFC 6763 section 4.1.1).
const MAX_NAME: usize = 63;

/// A server that is announced until this is dropped.
pub struct Announcement(Child);

impl Announcement {
    /// Announces the first of these addresses that others can reach. What is in the way is a note: devices can be
    /// given the address by hand.
    pub fn start(app: &mut App, addresses: &[SocketAddr]) -> Option<Self> {
        let is_open = |address: &&SocketAddr| !address.ip().to_canonical().is_loopback();
        let Some(address) = addresses.iter().find(is_open) else {
            let text = "Not announced: only programs on this machine can reach the server. Add --tls --listen 0.0.0.0:5233";
            app.out.write_note(text);
            return None;
        };
        // Of the shell only its own end would be known.
        let found = Command::new(PROGRAM)
            .arg("--version")
            .stdout(Stdio::null())
            .status();
        if let Err(error) = found {
            app.out.write_note(&format!(
                "Not announced: {PROGRAM}: {error}; install avahi-utils"
            ));
            return None;
        }
        let mut name = match machine_name() {
            machine if machine.is_empty() => "etui".to_owned(),
            machine => format!("etui on {machine}"),
        };
        name.truncate(MAX_NAME);
        let mut shell = Command::new("sh");
        shell
            .args(["-c", SCRIPT, "sh", &name, &address.port().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            // Ctrl-C in the terminal ends the server, and the pipe then ends these.
            .process_group(0);
        if app.out.is_quiet() {
            shell.stderr(Stdio::null());
        }
        match shell.spawn() {
            Ok(child) => Some(Self(child)),
            Err(error) => {
                app.out.write_note(&format!("Not announced: sh: {error}"));
                None
            }
        }
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        // Its input closes.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
