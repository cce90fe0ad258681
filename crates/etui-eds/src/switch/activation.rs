//! The files by which the bus starts this service in the place of the stock one.
//!
//! ```text
//! try   $XDG_RUNTIME_DIR/dbus-1/services/   until logout
//! on    $XDG_DATA_HOME/dbus-1/services/     until they are removed
//! ```
//!
//! A session bus looks there before it looks into the system's directories. Where a systemd of the
//! user runs, the files name a unit, so that both names start one process.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::SwitchError;
use crate::server::bus_names::{BOOK_NAME, CALENDAR_NAME};

/// The name of the systemd unit.
const UNIT: &str = "etui-eds.service";
/// The first line of every file that is written here; others are never touched.
const MARK: &str = "# Written by `etui eds`; `etui eds off` removes it.";

/// How long the service takes the stock server's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lasting {
    /// Until logout.
    Session,
    /// Until it is switched off.
    Permanent,
}

/// The directories of the user that take part.
#[derive(Debug, Clone)]
pub struct UserDirs {
    /// `$XDG_DATA_HOME`.
    pub data: PathBuf,
    /// `$XDG_CONFIG_HOME`.
    pub config: PathBuf,
    /// `$XDG_RUNTIME_DIR`; needed for a session only.
    pub runtime: Option<PathBuf>,
}

impl UserDirs {
    /// Reads the environment as the XDG Base Directory Specification says.
    ///
    /// # Errors
    /// If there is no home directory.
    pub fn from_environment() -> Result<Self, SwitchError> {
        let absolute = |name: &str| {
            let path = std::env::var_os(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let home = absolute("HOME");
        let below = |name: &str, default: &str| {
            absolute(name).or_else(|| home.as_ref().map(|home| home.join(default)))
        };
        let missing = || SwitchError::Refused("there is no home directory".to_owned());
        Ok(Self {
            data: below("XDG_DATA_HOME", ".local/share").ok_or_else(missing)?,
            config: below("XDG_CONFIG_HOME", ".config").ok_or_else(missing)?,
            runtime: absolute("XDG_RUNTIME_DIR"),
        })
    }

    /// The directory of service files.
    fn services(&self, lasting: Lasting) -> Result<PathBuf, SwitchError> {
        let base = match lasting {
            Lasting::Permanent => &self.data,
            Lasting::Session => self.runtime.as_ref().ok_or_else(|| {
                SwitchError::Refused(
                    "XDG_RUNTIME_DIR is not set; `etui eds on` does without".to_owned(),
                )
            })?,
        };
        Ok(base.join("dbus-1/services"))
    }

    fn unit(&self, lasting: Lasting) -> Option<PathBuf> {
        let base = match lasting {
            Lasting::Permanent => &self.config,
            Lasting::Session => self.runtime.as_ref()?,
        };
        Some(base.join("systemd/user").join(UNIT))
    }

    /// The service files that exist and name this service.
    pub(super) fn service_files(&self) -> Vec<(Lasting, PathBuf)> {
        let mut found = Vec::new();
        for lasting in [Lasting::Session, Lasting::Permanent] {
            let Ok(dir) = self.services(lasting) else {
                continue;
            };
            for name in [BOOK_NAME, CALENDAR_NAME] {
                let path = dir.join(format!("{name}.service"));
                if is_ours(&path) {
                    found.push((lasting, path));
                }
            }
        }
        found
    }

    /// Writes the files. `command` is the program and its arguments.
    ///
    /// # Errors
    /// If a file cannot be written, or is there and not from here.
    pub(super) fn write_files(
        &self,
        lasting: Lasting,
        command: &[String],
        with_systemd: bool,
    ) -> Result<(), SwitchError> {
        let dir = self.services(lasting)?;
        fs::create_dir_all(&dir).map_err(|e| SwitchError::file(&dir, e))?;
        let unit = self.unit(lasting).filter(|_| with_systemd);
        for name in [BOOK_NAME, CALENDAR_NAME] {
            let path = dir.join(format!("{name}.service"));
            let mut text = format!(
                "{MARK}\n[D-BUS Service]\nName={name}\nExec={}\n",
                quote_command(command, false)
            );
            if unit.is_some() {
                text.push_str(&format!("SystemdService={UNIT}\n"));
            }
            write_file(&path, &text)?;
        }
        if let Some(unit) = unit {
            let text = format!(
                "{MARK}\n[Unit]\nDescription=Address books and calendars of etui\n\n\
                 [Service]\nType=dbus\nBusName={BOOK_NAME}\nExecStart={}\n",
                quote_command(command, true)
            );
            let dir = unit.parent().unwrap_or(Path::new("/"));
            fs::create_dir_all(dir).map_err(|e| SwitchError::file(dir, e))?;
            write_file(&unit, &text)?;
        }
        Ok(())
    }

    /// Removes every file that was written here.
    pub(super) fn remove_files(&self) -> Result<(), SwitchError> {
        let files = self.service_files().into_iter().map(|(_, path)| path);
        let units = [Lasting::Session, Lasting::Permanent].map(|lasting| self.unit(lasting));
        for path in files.chain(units.into_iter().flatten()) {
            if is_ours(&path) {
                fs::remove_file(&path).map_err(|e| SwitchError::file(&path, e))?;
            }
        }
        Ok(())
    }
}

fn is_ours(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|text| text.starts_with(MARK))
}

fn write_file(path: &Path, text: &str) -> Result<(), SwitchError> {
    if path.exists() && !is_ours(path) {
        return Err(SwitchError::Refused(format!(
            "{}: exists and is not from etui; it was not changed",
            path.display()
        )));
    }
    let failed = |e| SwitchError::file(path, e);
    let dir = path.parent().unwrap_or(Path::new("/"));
    let file = tempfile::NamedTempFile::new_in(dir).map_err(failed)?;
    fs::write(file.path(), text).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|e| failed(e.error))?;
    Ok(())
}

/// A command line as service files and units write it: each argument in quotes.
fn quote_command(command: &[String], in_unit: bool) -> String {
    let quoted = command.iter().map(|argument| {
        let mut text = argument.replace('\\', "\\\\").replace('"', "\\\"");
        match in_unit {
            true => text = text.replace('%', "%%").replace('$', "$$"),
            false => text = text.replace('$', "\\$").replace('`', "\\`"),
        }
        format!("\"{text}\"")
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_and_removed_and_others_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let dirs = UserDirs {
            data: dir.path().join("data"),
            config: dir.path().join("config"),
            runtime: Some(dir.path().join("run")),
        };
        let command = ["/a b/etui".to_owned(), "$x".to_owned()];
        dirs.write_files(Lasting::Session, &command, true).unwrap();
        let files = dirs.service_files();
        assert_eq!(files.len(), 2);
        let text = fs::read_to_string(&files[0].1).unwrap();
        assert!(text.contains("Exec=\"/a b/etui\" \"\\$x\"\n"), "{text}");
        assert!(text.contains("SystemdService=etui-eds.service"));
        dirs.remove_files().unwrap();
        assert!(dirs.service_files().is_empty());
        assert!(!dir.path().join("run/systemd/user").join(UNIT).exists());

        let other = dir.path().join("data/dbus-1/services");
        fs::create_dir_all(&other).unwrap();
        let other = other.join(format!("{BOOK_NAME}.service"));
        fs::write(&other, "[D-BUS Service]\n").unwrap();
        let refused = dirs.write_files(Lasting::Permanent, &command, false);
        assert!(matches!(refused, Err(SwitchError::Refused(_))));
        dirs.remove_files().unwrap();
        assert!(other.exists());
    }
}
