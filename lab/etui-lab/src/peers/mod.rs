//! Other products, driven as users drive them.
//!
//! - `client`: commands to a client program;
//! - `session`: a private D-Bus with the processes of a product;
//! - [`eds`], `akonadi`: servers of personal data, with their clients;
//! - [`plain`]: plain SQLite; [`bus`]: etui's own services.

pub(crate) mod akonadi;
pub mod bus;
pub(crate) mod client;
pub mod eds;
pub mod plain;
pub(crate) mod session;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;
use crate::machine::command_line;

/// Compiles a program by a command: compiler and flags. The file's name holds its source's digest.
/// It appears whole: it is renamed into place.
fn compile(
    mut compiler: Command,
    cache: &Path,
    name: &str,
    (language, source): (&str, &str),
    flags: &[&str],
) -> Result<PathBuf, Error> {
    let digest = blake3::hash(source.as_bytes()).to_hex();
    let made = cache.join(format!("{name}-{}", &digest[..16]));
    if made.is_file() {
        return Ok(made);
    }
    let text = made.with_extension(format!("{}.{language}", std::process::id()));
    let fresh = made.with_extension(format!("{}.new", std::process::id()));
    fs::write(&text, source).map_err(|e| Error::file(&text, e))?;
    let compiled = output(
        compiler
            .args(["-O2", "-w", "-o"])
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

/// Returns a command's output; all that it says, as a compiler does, as the error if it fails.
pub fn output(command: &mut Command) -> Result<String, Error> {
    let out = command.output();
    let failed = |message: String| Error::Command {
        command: command_line(command),
        message,
    };
    let out = out.map_err(|e| failed(e.to_string()))?;
    if !out.status.success() {
        let words = String::from_utf8_lossy(&out.stderr).trim().to_owned();
        return Err(failed(words));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// The beginning of a command, for messages.
fn shorten_line(line: &str) -> String {
    line.chars().take(120).collect()
}
