//! Evolution Data Server's address book and calendar, driven by small clients of ours in a
//! session of their own.
//!
//! - [`Server`] is which of the two;
//! - [`build`] compiles its client (`contacts.c` or `calendar.c`, each behind `common.c`) and what
//!   makes the server durable (`durable.c`);
//! - [`EdsSession`] is a private D-Bus with the server's processes, in a directory of its own;
//! - [`CommandClient`] gives commands to the client and reads its answers;
//! - [`Installation`] is the system's own server, or that of a Debian suite ([`Suite`]);
//! - [`first_screen`] is a program's way from its start to its first page of contacts.

mod installation;
mod session;
mod suite;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use installation::Installation;
pub use session::EdsSession;
pub use suite::{
    SUITE_BYTES, SUITES, Suite, configured_mirror, missing_suites, missing_tools, unpack_suite,
};

pub use super::client::{CommandClient, TimedAnswer, digest_names};
pub use super::output;
use crate::error::Error;
use crate::machine;

const DURABLE: &str = include_str!("durable.c");

/// The services that a private session can start, where the distribution puts them.
const SERVICES: &str = "/usr/share/dbus-1/services";
/// The registry of sources.
pub const SOURCES: &str = "org.gnome.evolution.dataserver.Sources5";

/// How many records are given to the server at once.
pub const BATCH: u64 = 3_200;

/// The indexes of an address book that `contacts.c` can ask for, one more in each step: after the
/// first, which has none.
pub const INDEX_STEPS: [&str; 9] = [
    "no index",
    "+ beginnings of names",
    "+ ends of names",
    "+ names in list order",
    "+ beginnings of e-mail",
    "+ ends of e-mail",
    "+ beginnings of phone",
    "+ ends of phone",
    "+ phone numbers",
];

/// One of its two servers that keep records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// Contacts.
    AddressBook,
    /// Events.
    Calendar,
}

impl Server {
    /// The services of a session: its own, and the list of sources.
    fn services(self) -> [&'static str; 2] {
        let own = match self {
            Self::AddressBook => "org.gnome.evolution.dataserver.AddressBook10",
            Self::Calendar => "org.gnome.evolution.dataserver.Calendar8",
        };
        [own, SOURCES]
    }

    /// The name of its process, as far as the kernel keeps it.
    fn process(self) -> &'static str {
        match self {
            Self::AddressBook => "evolution-addre",
            Self::Calendar => "evolution-calen",
        }
    }

    /// The library that its client is made with, as `pkg-config` knows it.
    fn library(self) -> &'static str {
        match self {
            Self::AddressBook => "libebook-1.2",
            Self::Calendar => "libecal-2.0",
        }
    }

    fn client(self) -> &'static str {
        match self {
            Self::AddressBook => concat!(include_str!("common.c"), include_str!("contacts.c")),
            Self::Calendar => concat!(include_str!("common.c"), include_str!("calendar.c")),
        }
    }
}

/// The program that answers as the server does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServedBy {
    /// The server as it is shipped.
    Stock,
    /// The server, flushing before it answers.
    DurableStock,
    /// `etui eds serve`.
    Etui,
}

/// The command `etui`: beside this program, or in `PATH`.
///
/// # Errors
/// If it is in neither place.
pub fn find_etui() -> Result<PathBuf, Error> {
    let own = std::env::current_exe().ok();
    // A test runs from `deps`, below the directory of the programs.
    let near = own.iter().flat_map(|own| own.ancestors().skip(1).take(2));
    near.map(|dir| dir.join("etui"))
        .find(|file| file.is_file())
        .or_else(|| machine::find_tool("etui"))
        .ok_or_else(|| {
            Error::not_run("there is no command `etui` beside this program, nor in PATH; `cargo build --profile dist -p etui-cli -p etui-serve -p etui-session` in the sources builds it and the programs that it starts")
        })
}

/// The client and the library that makes the server durable, compiled.
#[derive(Debug, Clone)]
pub struct Built {
    server: Server,
    installation: Installation,
    client: PathBuf,
    durable: PathBuf,
}

/// Whether the system's own server can be driven here; if not, the reason and the remedy.
pub fn available(server: Server) -> Result<(), String> {
    Installation::System.check(server).map(drop)
}

/// Compiles the client of the system's own server, and the library, into a directory; existing
/// files that were made from the same source are taken as they are.
pub fn build(server: Server, cache: &Path) -> Result<Built, Error> {
    Installation::System.build(server, cache)
}

/// Compiles a program into a directory, with a library by its name in `pkg-config`.
pub fn compile_client(
    cache: &Path,
    name: &str,
    source: &str,
    library: &str,
) -> Result<PathBuf, Error> {
    Installation::System.compile_client(cache, name, source, library)
}

/// Makes a book or calendar by these commands, the last of which opens it, and fills it from a
/// file, in a session that ends again. Any session in the directory then finds it.
pub fn fill(
    dir: &Path,
    built: &Built,
    served_by: ServedBy,
    commands: &[&[&str]],
    file: &Path,
) -> Result<(), Error> {
    let served_by = match served_by {
        ServedBy::DurableStock => ServedBy::Stock,
        other => other,
    };
    let session = EdsSession::start(dir, built, served_by)?;
    let mut client = session.client()?;
    for command in commands {
        client.ask(command)?;
    }
    let loaded = client.load(file)?;
    for from in (0..loaded).step_by(BATCH as usize) {
        client.batch(from, (loaded - from).min(BATCH))?;
    }
    client.ask(&["close"])?;
    Ok(())
}

/// [`fill`] for an address book without a summary setup, as a user's book is.
pub fn fill_book(dir: &Path, built: &Built, book: &str, cards: &Path) -> Result<(), Error> {
    let commands: [&[&str]; 2] = [&["create", book, "shipped"], &["connect", book, "dbus"]];
    fill(dir, built, ServedBy::Stock, &commands, cards)
}

/// From the start of a program to its first contacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstScreen {
    /// From before the process is made until its answer is here.
    pub wall: Duration,
    /// The part of it after the program's `main`: reading the list of books, opening the book,
    /// fetching the contacts and their names.
    pub inside: Duration,
    /// The contacts that came.
    pub count: u64,
}

/// Starts a program that opens a book and shows its first contacts by name. Cold in a session
/// that was just started: the server's processes are then started by it. Warm the second time.
/// `way` is `dbus`, or `direct` for a client that reads the database itself.
pub fn first_screen(
    session: &EdsSession,
    book: &str,
    way: &str,
    contacts: u64,
) -> Result<FirstScreen, Error> {
    let begun = std::time::Instant::now();
    let mut client = session.client()?;
    let answer = client.ask(&["start", book, way, &contacts.to_string()])?;
    let wall = begun.elapsed();
    Ok(FirstScreen {
        wall,
        inside: Duration::from_nanos(answer.ns.first().map_or(0, |ns| *ns as u64)),
        count: answer.count,
    })
}
