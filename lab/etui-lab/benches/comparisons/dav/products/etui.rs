//! `etui serve`, filled by PUT.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde::Deserialize;

use super::super::multistatus::Multistatus;
use super::super::requests;
use super::{DavServer, Workload, find_etui, free_address, make_dirs, run_command, write_file};
use etui_lab::Error;

const STORE: &str = "store.etui";
/// The answer of `add-device`, with the password.
const DEVICE: &str = "device.json";

/// Checks that the program is here, and serves over HTTP.
pub(super) fn check_program() -> Result<(), String> {
    let etui = find_etui().map_err(|error| error.to_string())?;
    let mut command = Command::new(etui);
    let helped = command.args(["serve", "add-device", "--help"]).output();
    let serves = helped.is_ok_and(|output| output.status.success());
    match serves {
        true => Ok(()),
        false => Err("the command `etui` here does not serve over HTTP".to_owned()),
    }
}

fn etui_command(dir: &Path) -> Result<Command, Error> {
    let mut command = Command::new(find_etui()?);
    command.env("TZ", "UTC").env("LC_ALL", "C.UTF-8");
    command.arg("--store").arg(dir.join(STORE));
    Ok(command)
}

#[derive(Deserialize)]
struct AddedDevice {
    user: String,
    password: String,
}

pub(super) fn start(dir: &Path) -> Result<DavServer, Error> {
    let file = dir.join(DEVICE);
    let json = fs::read(&file).map_err(|e| Error::file(&file, e))?;
    let device: AddedDevice =
        serde_json::from_slice(&json).map_err(|e| Error::other(e.to_string()))?;
    let address = free_address()?;
    let mut command = etui_command(dir)?;
    command.args(["serve", "--listen", &address.to_string()]);
    let server = DavServer::start(&mut command, address, dir)?;
    let server = server.with_login(&device.user, &device.password);
    let address_book = first_collection(&server, "/dav/addressbooks/")?;
    let calendar = first_collection(&server, "/dav/calendars/")?;
    Ok(server.with_collections(&address_book, &calendar))
}

fn first_collection(server: &DavServer, home: &str) -> Result<String, Error> {
    let answer = server.client().send(&requests::list(home))?;
    let listed = Multistatus::parse(&answer.body)?;
    let mut paths = listed.resources.into_iter().map(|one| one.path);
    let found = paths.find(|path| path.len() > home.len());
    found.ok_or_else(|| Error::other(format!("{home} is empty, status {}", answer.status)))
}

pub(super) fn fill(dir: &Path, workload: &Workload, until: Instant) -> Result<(), Error> {
    make_dirs(dir)?;
    let added = run_command(etui_command(dir)?.args(["--json", "serve", "add-device", "lab"]))?;
    write_file(&dir.join(DEVICE), &added)?;
    let mut server = start(dir)?;
    server.put_all(workload, until)?;
    server.stop()
}
