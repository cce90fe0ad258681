//! Where passwords are: the Secret Service, a command, a file. The store has only which.

use std::io::{BufRead, IsTerminal, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use etui_program::{Failure, Result};

/// Where a password is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Secret {
    /// In the Secret Service under this key, read by secret-tool.
    Keyring(String),
    /// Written by a command.
    Command(String),
    /// An access token, written by a command.
    Token(String),
    /// In a file.
    File(PathBuf),
    /// What gets access tokens ([`super::browser_login`]), in the Secret Service or in a file.
    OAuth(Box<Secret>),
    /// There is none.
    None,
}

impl Secret {
    /// Returns the text that the store keeps.
    pub fn to_text(&self) -> String {
        match self {
            Self::Keyring(key) => format!("keyring {key}"),
            Self::Command(command) => format!("command {command}"),
            Self::Token(command) => format!("token {command}"),
            Self::File(path) => format!("file {}", path.display()),
            Self::OAuth(kept) => format!("oauth {}", kept.to_text()),
            Self::None => "none".to_owned(),
        }
    }

    pub fn parse(text: &str) -> Self {
        match text.split_once(' ') {
            Some(("command", command)) => Self::Command(command.to_owned()),
            Some(("token", command)) => Self::Token(command.to_owned()),
            Some(("file", path)) => Self::File(path.into()),
            Some(("oauth", kept)) => Self::OAuth(Box::new(Self::parse(kept))),
            Some(("keyring", key)) => Self::Keyring(key.to_owned()),
            _ => Self::None,
        }
    }

    /// Reads the password of an account.
    pub fn read(&self, account: &str) -> Result<String> {
        let output = match self {
            Self::None => return Ok(String::new()),
            Self::OAuth(kept) => return kept.read(account),
            Self::Keyring(key) => {
                run(Command::new("secret-tool").args(["lookup", "service", "etui", "account", key]))?
            }
            Self::Command(command) | Self::Token(command) => {
                run(Command::new("sh").args(["-c", command]))?
            }
            Self::File(path) => {
                let found = std::fs::metadata(path).map_err(|e| Failure::io(path, e))?;
                if found.permissions().mode() & 0o077 != 0 {
                    return Err(Failure::Other(format!(
                        "{}: others can read the password; run: chmod 600 {}",
                        path.display(),
                        path.display()
                    )));
                }
                std::fs::read_to_string(path).map_err(|e| Failure::io(path, e))?
            }
        };
        // The first line, as password managers write it.
        let password = output.lines().next().unwrap_or_default().to_owned();
        match password.is_empty() {
            true => Err(Failure::Other(format!(
                "there is no password for {account}"
            ))),
            false => Ok(password),
        }
    }

    /// Keeps the password of an account of a store: in the Secret Service, or in a file beside the store.
    pub fn keep(account: &str, password: &str, store: &Path) -> Result<Self> {
        let store = std::path::absolute(store).map_err(|e| Failure::io(store, e))?;
        // Other stores may have accounts of the same name.
        let key = format!("{account} of {}", store.display());
        if keep_in_keyring(&key, password) {
            return Ok(Self::Keyring(key));
        }
        let hash = ring::digest::digest(&ring::digest::SHA256, account.as_bytes());
        let name: String = hash.as_ref()[..8]
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        let mut path = store.into_os_string();
        path.push(format!("-sync-{name}{SECRET}"));
        let path = PathBuf::from(path);
        // One of an account that was not removed whole.
        let _ = std::fs::remove_file(&path);
        write_secret(&path, password)?;
        Ok(Self::File(path))
    }

    /// Replaces the text of [`Secret::keep`].
    pub fn replace(&self, text: &str) -> Result<()> {
        match self {
            Self::OAuth(kept) => kept.replace(text),
            Self::Keyring(key) if keep_in_keyring(key, text) => Ok(()),
            Self::File(path) => {
                let mut new = path.clone().into_os_string();
                new.push(".new");
                let new = PathBuf::from(new);
                // One of a run that was cut off.
                let _ = std::fs::remove_file(&new);
                write_secret(&new, text)?;
                std::fs::rename(&new, path).map_err(|e| Failure::io(path, e))
            }
            _ => Err(Failure::Other(
                "the token of later runs cannot be kept".to_owned(),
            )),
        }
    }

    /// Deletes a password that etui keeps.
    pub fn forget(&self, store: &Path) {
        match self {
            Self::Keyring(key) => {
                // One that the Secret Service does not have is forgotten.
                let _ = Command::new("secret-tool")
                    .args(["clear", "service", "etui", "account", key])
                    .status();
            }
            Self::File(path) => {
                let own = std::path::absolute(store).unwrap_or_default();
                let own = format!("{}-sync-", own.display());
                let text = path.to_string_lossy();
                // One that the person made stays.
                if text.starts_with(&own) && text.ends_with(SECRET) {
                    let _ = std::fs::remove_file(path);
                }
            }
            Self::OAuth(kept) => kept.forget(store),
            _ => {}
        }
    }
}

/// Returns true for a file that etui keeps a password in.
pub fn is_own(path: &Path) -> bool {
    path.to_string_lossy().ends_with(SECRET)
}

fn write_secret(path: &Path, text: &str) -> Result<()> {
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|e| Failure::io(path, e))?;
    writeln!(file, "{text}")
        .and_then(|()| file.sync_all())
        .map_err(|e| Failure::io(path, e))
}

/// The end of the names of files that etui keeps passwords in.
const SECRET: &str = ".secret";

fn keep_in_keyring(key: &str, password: &str) -> bool {
    if std::env::var_os("DBUS_SESSION_BUS_ADDRESS").is_none() {
        return false;
    }
    let label = format!("--label=etui sync: {key}");
    let child = Command::new("secret-tool")
        .args(["store", &label, "service", "etui", "account", key])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else { return false };
    let written = child
        .stdin
        .take()
        .is_some_and(|mut pipe| pipe.write_all(password.as_bytes()).is_ok());
    child.wait().is_ok_and(|status| status.success()) && written
}

fn run(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| Failure::named_io(&name, e))?;
    if !output.status.success() {
        return Err(Failure::Other(format!(
            "the command for the password failed ({})",
            output.status
        )));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Asks a person for a line; without echo for a password.
pub fn ask(question: &str, is_secret: bool) -> Result<String> {
    let stdin = std::io::stdin();
    let is_terminal = stdin.is_terminal();
    if is_terminal {
        eprint!("{question}: ");
    }
    let echo = match is_terminal && is_secret {
        true => rustix::termios::tcgetattr(&stdin).ok(),
        false => None,
    };
    if let Some(mut quiet) = echo.clone() {
        quiet.local_modes.remove(rustix::termios::LocalModes::ECHO);
        let _ = rustix::termios::tcsetattr(&stdin, rustix::termios::OptionalActions::Flush, &quiet);
    }
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line);
    if let Some(echo) = echo {
        let _ = rustix::termios::tcsetattr(&stdin, rustix::termios::OptionalActions::Now, &echo);
        eprintln!();
    }
    read.map_err(|e| Failure::named_io("standard input", e))?;
    let line = line.trim_end_matches(['\r', '\n']).to_owned();
    match line.is_empty() {
        true => Err(Failure::usage(format!("{question}: nothing was given"))),
        false => Ok(line),
    }
}
