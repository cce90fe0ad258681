//! Clients by hand: a socket without a connection that reads and checks, and the memory of a service.

use std::fs;
use std::io::{self, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixStream};

use super::PrivateBus;

impl PrivateBus {
    /// Connects a socket to the bus and authenticates. Its first message has to be `Hello`.
    ///
    /// # Errors
    /// If the bus does not answer.
    pub fn connect_socket(&self) -> io::Result<UnixStream> {
        let address = self.address().strip_prefix("unix:abstract=");
        let name = address.and_then(|rest| rest.split(',').next());
        let name = name.ok_or_else(|| io::Error::other("not an abstract address"))?;
        let address = SocketAddr::from_abstract_name(name.as_bytes())?;
        let mut socket = UnixStream::connect_addr(&address)?;
        authenticate(&mut socket)?;
        Ok(socket)
    }
}

/// Authenticates as a client on a D-Bus socket; messages can be sent from then on.
///
/// # Errors
/// If the other side refuses, or closes the socket.
pub fn authenticate(socket: &mut UnixStream) -> io::Result<()> {
    let user = fs::metadata("/proc/self")?.uid().to_string();
    let hex: String = user.bytes().map(|byte| format!("{byte:02x}")).collect();
    socket.write_all(format!("\0AUTH EXTERNAL {hex}\r\n").as_bytes())?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n") {
        let mut byte = [0];
        socket.read_exact(&mut byte)?;
        answer.extend(byte);
    }
    if !answer.starts_with(b"OK ") {
        let answer = String::from_utf8_lossy(&answer).into_owned();
        return Err(io::Error::other(answer));
    }
    socket.write_all(b"BEGIN\r\n")
}

/// Returns the bytes of memory that a process shares with no other.
///
/// # Errors
/// If there is no such process.
pub fn private_memory(process: u32) -> io::Result<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup"))?;
    let private = text.lines().filter(|line| line.starts_with("Private_"));
    let sizes = private.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    Ok(sizes.sum::<u64>() * 1024)
}
