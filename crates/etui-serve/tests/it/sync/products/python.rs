//! Radicale and Xandikos, of Debian or of an environment in PATH.

use std::fs;
use std::process::Command;

use rustix::process::Signal;

use super::{PASSWORD, Process, Product, USER, free_address, server};

pub fn radicale() -> Product {
    let dir = tempfile::tempdir().unwrap();
    let address = free_address();
    let path = |name: &str| dir.path().join(name).display().to_string();
    fs::write(path("users"), format!("{USER}:{PASSWORD}\n")).unwrap();
    let config = format!(
        "[server]\nhosts = {address}\n[auth]\ntype = htpasswd\nhtpasswd_filename = {}\n\
         htpasswd_encryption = plain\ndelay = 0\n[rights]\ntype = owner_only\n[storage]\nfilesystem_folder = {}\n",
        path("users"),
        path("data")
    );
    fs::write(path("config"), config).unwrap();
    let mut command = Command::new("radicale");
    command
        .env("PYTHONUNBUFFERED", "1")
        .args(["--config", &path("config")]);
    let process = Process::start(&mut command, &dir, "log", address, Signal::KILL);
    Product {
        server: server(address),
        discovery: "/".to_owned(),
        homes: [format!("/{USER}/"), format!("/{USER}/")],
        has_vdirsyncer: true,
        _processes: vec![process],
        _dir: dir,
    }
}

/// Xandikos asks nobody for a password.
pub fn xandikos() -> Product {
    let dir = tempfile::tempdir().unwrap();
    let address = free_address();
    let mut command = Command::new("xandikos");
    command
        .env("PYTHONUNBUFFERED", "1")
        .args(["serve", "--defaults", "--current-user-principal"])
        .arg(format!("/{USER}/"))
        .args(["--listen-address", "127.0.0.1", "--port"])
        .arg(address.port().to_string())
        .arg("--directory")
        .arg(dir.path().join("data"));
    let process = Process::start(&mut command, &dir, "log", address, Signal::KILL);
    Product {
        server: server(address),
        discovery: "/".to_owned(),
        homes: [format!("/{USER}/contacts/"), format!("/{USER}/calendars/")],
        has_vdirsyncer: true,
        _processes: vec![process],
        _dir: dir,
    }
}
