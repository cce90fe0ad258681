//! Where passwords are: the Secret Service, a command, a file. The store has only which.

use std::io::{BufRead, IsTerminal, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use etui_program::{Failure, Result};

/// Where a password is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Secret {
    /// In the Secret Service, read by secret-tool.
    Keyring,
    /// Written by a command.
    Command(String),
    /// An access token, written by a command.
    Token(String),
    /// In a file.
    File(PathBuf),
    /// There is none.
    None,
}

impl Secret {
    /// Returns the text that the store keeps.
    pub fn to_text(&self) -> String {
        match self {
            Self::Keyring => "keyring".to_owned(),
            Self::Command(command) => format!("command {command}"),
            Self::Token(command) => format!("token {command}"),
            Self::File(path) => format!("file {}", path.display()),
            Self::None => "none".to_owned(),
        }
    }

    pub fn parse(text: &str) -> Self {
        match text.split_once(' ') {
            Some(("command", command)) => Self::Command(command.to_owned()),
            Some(("token", command)) => Self::Token(command.to_owned()),
            Some(("file", path)) => Self::File(path.into()),
            _ if text == "keyring" => Self::Keyring,
            _ => Self::None,
        }
    }

    /// Reads the password of an account.
    pub fn read(&self, account: &str) -> Result<String> {
        let output =
            match self {
                Self::None => return Ok(String::new()),
                Self::Keyring => run(Command::new("secret-tool")
                    .args(["lookup", "service", "etui", "account", account]))?,
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

    /// Keeps a password: in the Secret Service, or in a file beside the store.
    pub fn keep(account: &str, password: &str, store: &Path) -> Result<Self> {
        if keep_in_keyring(account, password) {
            return Ok(Self::Keyring);
        }
        let mut path = store.as_os_str().to_owned();
        let name: String = account
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '.' {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        path.push(format!("-sync-{name}.secret"));
        let path = std::path::absolute(PathBuf::from(path))
            .map_err(|e| Failure::named_io("the secret", e))?;
        let _ = std::fs::remove_file(&path);
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(|e| Failure::io(&path, e))?;
        writeln!(file, "{password}")
            .and_then(|()| file.sync_all())
            .map_err(|e| Failure::io(&path, e))?;
        Ok(Self::File(path))
    }

    /// Deletes a password that etui keeps.
    pub fn forget(&self, account: &str, store: &Path) {
        match self {
            Self::Keyring => {
                // What the Secret Service does not have is forgotten.
                let _ = Command::new("secret-tool")
                    .args(["clear", "service", "etui", "account", account])
                    .status();
            }
            // One that the person made stays.
            Self::File(path)
                if path
                    .as_os_str()
                    .to_string_lossy()
                    .starts_with(&format!("{}-sync-", store.display())) =>
            {
                let _ = std::fs::remove_file(path);
            }
            _ => {}
        }
    }
}

fn keep_in_keyring(account: &str, password: &str) -> bool {
    if std::env::var_os("DBUS_SESSION_BUS_ADDRESS").is_none() {
        return false;
    }
    let label = format!("--label=etui sync: {account}");
    let child = Command::new("secret-tool")
        .args(["store", &label, "service", "etui", "account", account])
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
