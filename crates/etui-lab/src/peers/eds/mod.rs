//! Evolution Data Server's address book, driven by a small client of ours in a session of its
//! own.
//!
//! - [`build`] compiles the client (`client.c`) and what makes the server durable (`durable.c`);
//! - [`Session`] is a private D-Bus with the server's processes, in a directory of its own;
//! - [`Client`] gives commands to the client and reads its answers;
//! - [`first_screen`] is a program's way from its start to its first page of contacts.

mod client;
mod session;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub use client::{Answer, Client, digest};
pub use session::Session;

use crate::error::Error;
use crate::machine;

const CLIENT: &str = include_str!("client.c");
const DURABLE: &str = include_str!("durable.c");

/// The services that a private session can start, where the distribution puts them.
const SERVICES: &str = "/usr/share/dbus-1/services";
const SERVICE_NAMES: [&str; 2] = [
    "org.gnome.evolution.dataserver.AddressBook10",
    "org.gnome.evolution.dataserver.Sources5",
];

/// The client and the library that makes the server durable, compiled.
#[derive(Debug, Clone)]
pub struct Built {
    client: PathBuf,
    durable: PathBuf,
}

/// How a book is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setup {
    /// No summary setup, as a user's book is.
    Shipped,
    /// Every index: beginnings and ends of names, e-mail and phone; phone numbers.
    Tuned,
}

impl Setup {
    /// The client's word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Shipped => "shipped",
            Self::Tuned => "tuned",
        }
    }
}

/// How a book is read; saves always go through D-Bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Everything through D-Bus.
    Dbus,
    /// The client reads the database itself.
    Direct,
}

impl Way {
    /// The client's word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Dbus => "dbus",
            Self::Direct => "direct",
        }
    }
}

/// Whether the server can be driven here; if not, why not and what would help.
pub fn available() -> Result<(), String> {
    let help = "`etui lab setup`";
    for tool in ["cc", "pkg-config", "dbus-daemon"] {
        if machine::find_tool(tool).is_none() {
            return Err(format!("there is no `{tool}`: {help}"));
        }
    }
    for name in SERVICE_NAMES {
        let service = Path::new(SERVICES).join(format!("{name}.service"));
        if !service.is_file() {
            return Err(format!("{} is missing: {help}", service.display()));
        }
    }
    match version() {
        Some(_) => Ok(()),
        None => Err(format!(
            "the development files of libebook are missing: {help}"
        )),
    }
}

/// The version that is installed.
pub fn version() -> Option<String> {
    let out = Command::new("pkg-config")
        .args(["--modversion", "libebook-1.2"])
        .output()
        .ok()?;
    let version = String::from_utf8(out.stdout).ok()?.trim().to_owned();
    (out.status.success() && !version.is_empty()).then_some(version)
}

/// Compiles the client and the library into a directory; what is there already and was made
/// from the same source is taken as it is.
pub fn build(cache: &Path) -> Result<Built, Error> {
    let flags = output(Command::new("pkg-config").args(["--cflags", "--libs", "libebook-1.2"]))?;
    let flags: Vec<&str> = flags.split_whitespace().collect();
    Ok(Built {
        client: compile(cache, "eds-client", CLIENT, &flags)?,
        durable: compile(cache, "eds-durable", DURABLE, &["-shared", "-fPIC", "-ldl"])?,
    })
}

/// The file's name holds its source's digest. It appears whole: it is renamed into place.
fn compile(cache: &Path, name: &str, source: &str, flags: &[&str]) -> Result<PathBuf, Error> {
    let digest = blake3::hash(source.as_bytes()).to_hex();
    let made = cache.join(format!("{name}-{}", &digest[..16]));
    if made.is_file() {
        return Ok(made);
    }
    let text = made.with_extension(format!("{}.c", std::process::id()));
    let fresh = made.with_extension(format!("{}.new", std::process::id()));
    fs::write(&text, source).map_err(|e| Error::file(&text, e))?;
    let compiled = output(
        Command::new("cc")
            .args(["-std=gnu11", "-O2", "-w", "-o"])
            .arg(&fresh)
            .arg(&text)
            .args(flags),
    );
    // A source that stays behind is only in the way; the directory is the caller's.
    let _ = fs::remove_file(&text);
    compiled?;
    fs::rename(&fresh, &made).map_err(|e| Error::file(&made, e))?;
    Ok(made)
}

/// What a command prints; its last words if it fails.
fn output(command: &mut Command) -> Result<String, Error> {
    let command_line = command_line(command);
    let failed = |message: String| Error::Command {
        command: command_line,
        message,
    };
    let out = match command.output() {
        Ok(out) => out,
        Err(e) => return Err(failed(e.to_string())),
    };
    if !out.status.success() {
        let words = String::from_utf8_lossy(&out.stderr).trim().to_owned();
        return Err(failed(words));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

fn command_line(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Makes a book and fills it from a file of vCards, in a session that ends again. The directory
/// then holds a book that any session in it finds.
pub fn fill(
    dir: &Path,
    built: &Built,
    book: &str,
    setup: Setup,
    cards: &Path,
) -> Result<(), Error> {
    let session = Session::start(dir, built, false)?;
    let mut client = session.client()?;
    client.ask(&["create", book, setup.word()])?;
    client.ask(&["connect", book, Way::Dbus.word()])?;
    let loaded = client.load(cards)?;
    for from in (0..loaded).step_by(3_200) {
        client.batch(from, (loaded - from).min(3_200))?;
    }
    client.ask(&["close"])?;
    Ok(())
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
pub fn first_screen(
    session: &Session,
    book: &str,
    way: Way,
    contacts: u64,
) -> Result<FirstScreen, Error> {
    let begun = std::time::Instant::now();
    let mut client = session.client()?;
    let answer = client.ask(&["start", book, way.word(), &contacts.to_string()])?;
    let wall = begun.elapsed();
    Ok(FirstScreen {
        wall,
        inside: Duration::from_nanos(answer.ns.first().map_or(0, |ns| *ns as u64)),
        count: answer.count,
    })
}
