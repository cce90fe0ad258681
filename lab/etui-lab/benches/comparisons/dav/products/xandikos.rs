//! Xandikos: a git repository for each collection, into which the laboratory commits all resources.

use std::path::Path;
use std::process::Command;

use super::{
    DavServer, ResourceKind, USER, Workload, check_tools, free_address, make_dirs, run_command,
    tool_command, write_resources,
};
use etui_lab::Error;

const PROGRAM: &str = "xandikos";
const GIT: &str = "git";
const REMEDY: &str =
    "`pip install xandikos`, in an environment whose programs are in PATH, and git";

/// Collections that it creates itself.
const BOOK: &str = "contacts/addressbook";
const CALENDAR: &str = "calendars/calendar";

/// Returns the reason if it cannot run here: old versions, such as Debian's, have no `serve`.
pub(super) fn missing() -> Option<String> {
    let absent = check_tools(&[PROGRAM, GIT], REMEDY);
    let serves = || {
        let help = run_command(tool_command(PROGRAM).ok()?.args(["serve", "--help"])).ok()?;
        Some(help.contains("xandikos serve"))
    };
    match absent {
        None if serves() != Some(true) => {
            Some(format!("`{PROGRAM}` is too old, without `serve`: {REMEDY}"))
        }
        absent => absent,
    }
}

pub(super) fn start(dir: &Path) -> Result<DavServer, Error> {
    let address = free_address()?;
    let mut command = tool_command(PROGRAM)?;
    command
        .args(["serve", "--defaults", "--no-detect-systemd"])
        .args(["--current-user-principal", &format!("/{USER}/")])
        .args(["--listen-address", &address.ip().to_string()])
        .args(["--port", &address.port().to_string()])
        .arg("--directory")
        .arg(dir.join("data"))
        .arg("--state-dir")
        .arg(dir.join("state"));
    let server = DavServer::start(&mut command, address, dir)?;
    let path = |name| format!("/{USER}/{name}/");
    Ok(server.with_collections(&path(BOOK), &path(CALENDAR)))
}

pub(super) fn fill(dir: &Path, workload: &Workload) -> Result<(), Error> {
    make_dirs(dir)?;
    start(dir)?.stop()?;
    let collections = [
        (BOOK, ResourceKind::Contact),
        (CALENDAR, ResourceKind::Event),
    ];
    for (name, kind) in collections {
        let collection = dir.join("data").join(USER).join(name);
        write_resources(&collection, workload, kind)?;
        run_command(git(&collection)?.args(["add", "--all"]))?;
        run_command(git(&collection)?.args(["commit", "--quiet", "--message", "Fill"]))?;
        run_command(git(&collection)?.args(["gc", "--quiet"]))?;
    }
    Ok(())
}

/// git in a repository, without the settings of the person.
fn git(repository: &Path) -> Result<Command, Error> {
    let mut command = tool_command(GIT)?;
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .arg("-C")
        .arg(repository)
        .args(["-c", "user.name=lab", "-c", "user.email=lab@example.org"])
        .args(["-c", "gc.auto=0"]);
    Ok(command)
}
