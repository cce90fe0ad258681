//! [`EdsSession`]: a [`PrivateSession`] of the server. Its bus knows two services only, the server
//! and the list of sources.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::session::{PrivateSession, SessionConfig};
use super::{Built, CommandClient, Installation, SERVICES, SOURCES, ServedBy, find_etui};
use crate::error::Error;

/// A private session; it ends when this is dropped, with all its processes.
#[derive(Debug)]
pub struct EdsSession {
    session: PrivateSession,
    built: Built,
    served_by: ServedBy,
}

impl EdsSession {
    /// Starts a session in a directory: an empty one, or one that a session was in before,
    /// whose books and calendars it then has. [`ServedBy::DurableStock`] is by `durable.c`.
    pub fn start(dir: &Path, built: &Built, served_by: ServedBy) -> Result<Self, Error> {
        let services = built.server.services().map(|name| {
            let text = match served_by {
                ServedBy::Etui if name != SOURCES => etui_service_file(dir, name)?,
                _ => service_file(&built.installation, name)?,
            };
            Ok::<_, Error>((name, text))
        });
        let preload = (served_by == ServedBy::DurableStock)
            .then(|| ("LD_PRELOAD", built.durable.clone().into_os_string()));
        let session = PrivateSession::start(SessionConfig {
            dir,
            services: services.into_iter().collect::<Result<_, _>>()?,
            environment: Vec::new(),
            server_environment: preload.into_iter().collect(),
            command: &|program| built.installation.command(program, dir),
        })?;
        Ok(Self {
            session,
            built: built.clone(),
            served_by,
        })
    }

    /// Starts a client program in the session.
    pub fn client(&self) -> Result<CommandClient, Error> {
        let (built, dir) = (&self.built, self.session.dir());
        self.session
            .client(built.installation.command(&built.client, dir)?)
    }

    /// The server's processes as far as they run: its own, and the list of sources'.
    pub fn servers(&self) -> Vec<u32> {
        [self.process(), "evolution-sourc"]
            .iter()
            .flat_map(|name| self.session.named(name))
            .collect()
    }

    /// The process that keeps the records.
    pub fn factory(&self) -> Result<u32, Error> {
        // A subprocess, where the server is built to have them, comes after its parent.
        let mut named = self.session.named(self.process());
        named
            .pop()
            .ok_or_else(|| Error::other("the server does not run"))
    }

    /// The name of the process that keeps the records.
    fn process(&self) -> &'static str {
        match self.served_by {
            ServedBy::Etui => "etui-session",
            _ => self.built.server.process(),
        }
    }

    /// A book's database.
    pub fn database(&self, book: &str) -> PathBuf {
        let books = self.session.dir().join("data/evolution/addressbook");
        books.join(book).join("contacts.db")
    }
}

/// A service as the distribution has it, but started by the bus and not by systemd.
fn service_file(installation: &Installation, name: &str) -> Result<String, Error> {
    let from = installation.file(&format!("{SERVICES}/{name}.service"));
    let text = fs::read_to_string(&from).map_err(|e| Error::file(&from, e))?;
    let text: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("SystemdService"))
        .collect();
    Ok(text.join("\n") + "\n")
}

/// A service by the command `etui`, with a store in the session's directory.
fn etui_service_file(dir: &Path, name: &str) -> Result<String, Error> {
    let (etui, store) = (find_etui()?, dir.join("data/personal.etui"));
    let (etui, store) = (etui.display(), store.display());
    Ok(format!(
        "[D-BUS Service]\nName={name}\nExec=\"{etui}\" --store \"{store}\" eds serve --idle-exit 0\n"
    ))
}
