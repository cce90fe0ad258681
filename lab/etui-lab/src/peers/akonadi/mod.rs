//! Akonadi's address book, driven by a client of ours in a session of its own.
//!
//! - [`check`] says whether it can be driven here;
//! - [`build`] compiles its client (`contacts.cpp`);
//! - [`AkonadiSession`] is a private D-Bus with its processes, in a directory of its own: without a
//!   display, with its SQLite backend, and with one agent, "Personal Contacts", which keeps each
//!   contact in a file of its own as well.

#[cfg(test)]
mod tests;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::client::CommandClient;
use super::session::{PrivateSession, SessionConfig};
use super::{compile, output};
use crate::error::Error;
use crate::machine;

const CLIENT: &str = include_str!("contacts.cpp");

/// The packages of Debian that are needed, for messages.
const PACKAGES: &str = "akonadi-server akonadi-backend-sqlite kdepim-runtime libkf5akonadicontact-dev g++ pkg-config \
     dbus-daemon";
/// Programs that are needed.
const TOOLS: [&str; 5] = [
    "akonadi_control",
    "akonadi_contacts_resource",
    "c++",
    "pkg-config",
    "dbus-daemon",
];
/// Where the distribution has the agents, and the data that the session's programs read.
const AGENT: &str = "/usr/share/akonadi/agents/contactsresource.desktop";
const SHARED: [&str; 2] = ["mime", "akonadi/plugins"];
/// Headers of its libraries.
const HEADERS: &str = "/usr/include/KF5";
const INCLUDED: [&str; 5] = [
    "AkonadiCore",
    "KContacts",
    "KCoreAddons",
    "KConfigCore",
    "KItemModels",
];
const LIBRARIES: [&str; 3] = ["-lKF5AkonadiCore", "-lKF5Contacts", "-lKF5CoreAddons"];
const QT: [&str; 3] = ["Qt5Core", "Qt5Gui", "Qt5DBus"];

/// The address book's agent: its first instance has this name.
const INSTANCE: &str = "akonadi_contacts_resource_0";
/// Its processes, as far as the kernel keeps their names: the last one keeps the records.
const PROCESSES: [&str; 3] = ["akonadi_control", "akonadi_contact", "akonadiserver"];

/// Whether it can be driven here; if not, the reason and the remedy.
pub fn check() -> Result<(), String> {
    let help = format!("install {PACKAGES}");
    if let Some(tool) = TOOLS.iter().find(|t| machine::find_tool(t).is_none()) {
        return Err(format!("there is no `{tool}`: {help}"));
    }
    let headers = ["AkonadiCore", "KContacts"].map(|name| format!("{HEADERS}/{name}"));
    let needed = headers.iter().map(String::as_str).chain([AGENT]);
    for file in needed {
        if !Path::new(file).exists() {
            return Err(format!("{file} is missing: {help}"));
        }
    }
    let libraries = output(Command::new("pkg-config").args(["--variable=libdir", "Qt5Core"]));
    let libraries = libraries.map_err(|_| format!("Qt's development files are missing: {help}"))?;
    let driver = Path::new(libraries.trim()).join("qt5/plugins/sqldrivers/libqsqlite3.so");
    match driver.is_file() {
        true => Ok(()),
        false => Err(format!(
            "Akonadi's SQLite backend is missing ({}): {help}",
            driver.display()
        )),
    }
}

/// Compiles the client into a directory; an existing file that was made from the same source is
/// taken as it is.
pub fn build(cache: &Path) -> Result<PathBuf, Error> {
    let flags = output(
        Command::new("pkg-config")
            .args(["--cflags", "--libs"])
            .args(QT),
    )?;
    let included = INCLUDED.map(|name| format!("-I{HEADERS}/{name}"));
    let flags: Vec<&str> = ["-std=c++17", "-fPIC"]
        .into_iter()
        .chain(included.iter().map(String::as_str))
        .chain(flags.split_whitespace())
        .chain(LIBRARIES)
        .collect();
    let compiler = Command::new("c++");
    compile(compiler, cache, "akonadi-client", ("cpp", CLIENT), &flags)
}

/// A private session; it ends when this is dropped, with all its processes.
#[derive(Debug)]
pub struct AkonadiSession {
    session: PrivateSession,
    client: PathBuf,
    /// Directory of its sockets, whose paths must be short.
    _sockets: tempfile::TempDir,
}

impl AkonadiSession {
    /// Starts a session in a directory: an empty one, or one that a session was in before, whose
    /// address book it then has.
    pub fn start(dir: &Path, client: &Path) -> Result<Self, Error> {
        let dir = &std::path::absolute(dir).map_err(|e| Error::file(dir, e))?;
        let sockets = tempfile::Builder::new()
            .prefix("etui-lab-")
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir();
        let sockets = sockets.map_err(|e| Error::file(std::env::temp_dir(), e))?;
        write_configuration(dir)?;
        let session = PrivateSession::start(SessionConfig {
            dir,
            services: Vec::new(),
            environment: vec![
                ("QT_QPA_PLATFORM", "offscreen".into()),
                // Nothing of the system's but what the session links to.
                ("XDG_DATA_DIRS", dir.join("share").into()),
                ("XDG_CONFIG_DIRS", dir.join("config").into()),
                ("XDG_RUNTIME_DIR", sockets.path().into()),
            ],
            server_environment: Vec::new(),
            command: &|program| Ok(Command::new(program)),
        })?;
        Ok(Self {
            session,
            client: client.to_owned(),
            _sockets: sockets,
        })
    }

    /// Starts a client program in the session.
    pub fn client(&self) -> Result<CommandClient, Error> {
        self.session.client(Command::new(&self.client))
    }

    /// Its processes as far as they run.
    pub fn servers(&self) -> Vec<u32> {
        let named = PROCESSES.iter().map(|name| self.session.named(name));
        named.flatten().collect()
    }

    /// The process that keeps the records.
    pub fn server(&self) -> Result<u32, Error> {
        let mut named = self.session.named(PROCESSES[2]);
        named
            .pop()
            .ok_or_else(|| Error::other("Akonadi's server does not run"))
    }
}

/// Writes the configuration of a new session: backend, agent, and the agent's directory.
fn write_configuration(dir: &Path) -> Result<(), Error> {
    let write = |name: &str, text: String| {
        let file = dir.join(name);
        let parent = file.parent().unwrap_or(dir);
        fs::create_dir_all(parent).map_err(|e| Error::file(parent, e))?;
        fs::write(&file, text).map_err(|e| Error::file(&file, e))
    };
    let agent = fs::read_to_string(AGENT).map_err(|e| Error::file(AGENT, e))?;
    write("share/akonadi/agents/contactsresource.desktop", agent)?;
    let server = "config/akonadi/akonadiserverrc";
    if dir.join(server).exists() {
        return Ok(());
    }
    write(server, "[%General]\nDriver=QSQLITE3\n".to_owned())?;
    let contacts = dir.join("data/contacts");
    let contacts = contacts.display();
    write(
        &format!("config/{INSTANCE}rc"),
        format!("[General]\nPath={contacts}/\nIsConfigured=true\n"),
    )?;
    for name in SHARED {
        let link = dir.join("share").join(name);
        let parent = link.parent().unwrap_or(dir);
        fs::create_dir_all(parent).map_err(|e| Error::file(parent, e))?;
        symlink(Path::new("/usr/share").join(name), &link).map_err(|e| Error::file(&link, e))?;
    }
    Ok(())
}
