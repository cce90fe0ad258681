//! This machine in its network: the directory of its certificate, its name, the addresses by which devices reach it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;

use etui_program::services::serve::DEFAULT_ADDRESS;
use etui_program::{Failure, Result};

/// Returns `$XDG_CONFIG_HOME/etui`, or `~/.config/etui`.
pub fn config_directory() -> Result<PathBuf> {
    let absolute = |name: &str| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let base = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    let none = "there is no home directory to keep a certificate in; use --cert and --key";
    base.map(|base| base.join("etui"))
        .ok_or_else(|| Failure::usage(none))
}

/// Returns the name of this machine; empty if it has none that a certificate can have.
pub fn machine_name() -> String {
    let machine = rustix::system::uname();
    let name = machine.nodename().to_str().unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    let name = name.trim_end_matches('.');
    match name.chars().all(is_plain) {
        true => name.to_ascii_lowercase(),
        false => String::new(),
    }
}

/// Returns the names and addresses by which devices may reach this machine.
pub fn own_names(listen: &[SocketAddr]) -> Vec<String> {
    let mut names = vec!["localhost".to_owned()];
    let machine = machine_name();
    if !machine.is_empty() {
        if !machine.contains('.') {
            names.push(format!("{machine}.local"));
        }
        names.push(machine);
    }
    names.extend(["127.0.0.1".to_owned(), "::1".to_owned()]);
    let addresses = listen.iter().map(|address| reachable(address.ip()));
    names.extend(addresses.map(|address| address.to_string()));
    names.sort();
    names.dedup();
    names
}

/// Returns the address at which others reach a listener: for that of all addresses, the one by which this
/// machine goes out. Nothing is sent to find it.
pub fn reachable(address: IpAddr) -> IpAddr {
    if !address.is_unspecified() {
        return address;
    }
    let found = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).and_then(|socket| {
        // An address that is reserved for documentation (RFC 5737).
        socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9))?;
        socket.local_addr()
    });
    found.map_or(DEFAULT_ADDRESS.ip(), |found| found.ip())
}
