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
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::SwitchError;
use crate::server::bus_names::{BOOK_NAME, CALENDAR_NAME};

/// The name of the systemd unit.
const UNIT: &str = "etui-eds.service";
/// The first line of every file that is written here; others are never touched.
const MARK: &str = "# Written by `etui eds`; `etui eds off` removes it.";
/// The beginning of the line with the store's path.
const STORE_LINE: &str = "# Store: ";

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
    pub(super) fn service_folder(&self, lasting: Lasting) -> Result<PathBuf, SwitchError> {
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
    ///
    /// # Errors
    /// If a file is there that cannot be read.
    pub(super) fn service_files(&self) -> Result<Vec<ServiceFile>, SwitchError> {
        let mut found = Vec::new();
        for lasting in [Lasting::Session, Lasting::Permanent] {
            let Ok(dir) = self.service_folder(lasting) else {
                continue;
            };
            for name in [BOOK_NAME, CALENDAR_NAME] {
                let path = dir.join(format!("{name}.service"));
                if let Some(text) = read_own(&path)? {
                    let store = text.lines().find_map(|line| line.strip_prefix(STORE_LINE));
                    found.push(ServiceFile {
                        store: store.map(PathBuf::from),
                        path,
                    });
                }
            }
        }
        Ok(found)
    }

    /// Writes the files. `command` is the program and its arguments.
    ///
    /// # Errors
    /// If a file cannot be written, or is there and not from here.
    pub(super) fn write_files(
        &self,
        lasting: Lasting,
        store: &Path,
        command: &[String],
        with_systemd: bool,
    ) -> Result<(), SwitchError> {
        let store = store.display();
        let written = command.join(" ") + &store.to_string();
        if written.contains(char::is_control) {
            return Err(SwitchError::Refused(format!(
                "{}: service files cannot hold a line break or another control character",
                written.escape_debug()
            )));
        }
        let dir = self.service_folder(lasting)?;
        fs::create_dir_all(&dir).map_err(|e| SwitchError::file(&dir, e))?;
        let unit = self.unit(lasting).filter(|_| with_systemd);
        for name in [BOOK_NAME, CALENDAR_NAME] {
            let path = dir.join(format!("{name}.service"));
            let mut text = format!(
                "{MARK}\n{STORE_LINE}{store}\n[D-BUS Service]\nName={name}\nExec={}\n",
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
        let files = self.service_files()?.into_iter().map(|file| file.path);
        let units = [Lasting::Session, Lasting::Permanent].map(|lasting| self.unit(lasting));
        for path in files.chain(units.into_iter().flatten()) {
            if read_own(&path)?.is_some() {
                fs::remove_file(&path).map_err(|e| SwitchError::file(&path, e))?;
            }
        }
        Ok(())
    }
}

/// A service file that was written here.
#[derive(Debug)]
pub(super) struct ServiceFile {
    pub(super) path: PathBuf,
    /// The store that it serves.
    pub(super) store: Option<PathBuf>,
}

/// Reads a file that was written here; `None` if there is none, or another one.
fn read_own(path: &Path) -> Result<Option<String>, SwitchError> {
    match fs::read(path) {
        Ok(bytes) => {
            let text = String::from_utf8(bytes).ok();
            Ok(text.filter(|text| text.starts_with(MARK)))
        }
        Err(e) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&e.kind()) => Ok(None),
        Err(e) => Err(SwitchError::file(path, e)),
    }
}

fn write_file(path: &Path, text: &str) -> Result<(), SwitchError> {
    if path.exists() && read_own(path)?.is_none() {
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
        let store = Path::new("/s/a b.etui");
        dirs.write_files(Lasting::Session, store, &command, true)
            .unwrap();
        let files = dirs.service_files().unwrap();
        assert_eq!(files.len(), 2);
        assert_eq!(files[1].store.as_deref(), Some(store));
        let text = fs::read_to_string(&files[0].path).unwrap();
        assert!(text.contains("Exec=\"/a b/etui\" \"\\$x\"\n"), "{text}");
        assert!(text.contains("SystemdService=etui-eds.service"));
        dirs.remove_files().unwrap();
        assert!(dirs.service_files().unwrap().is_empty());
        assert!(!dir.path().join("run/systemd/user").join(UNIT).exists());

        let other = dir.path().join("data/dbus-1/services");
        fs::create_dir_all(&other).unwrap();
        let other = other.join(format!("{BOOK_NAME}.service"));
        fs::write(&other, "[D-BUS Service]\n").unwrap();
        let refused = dirs.write_files(Lasting::Permanent, store, &command, false);
        assert!(matches!(refused, Err(SwitchError::Refused(_))));
        dirs.remove_files().unwrap();
        assert!(other.exists());
        let refused = dirs.write_files(Lasting::Session, Path::new("/a\nExec=b"), &command, false);
        assert!(matches!(refused, Err(SwitchError::Refused(_))));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let dirs = UserDirs {
            data: dir.path().join("data"),
            config: dir.path().join("config"),
            runtime: None,
        };
        let services = dir.path().join("data/dbus-1/services");
        let file = services.join(format!("{CALENDAR_NAME}.service"));
        fs::create_dir_all(&file).unwrap();
        for told in [dirs.service_files().map(drop), dirs.remove_files()] {
            let told = told.unwrap_err().to_string();
            assert!(told.starts_with(&file.display().to_string()), "{told}");
        }
        // A link in a circle, and bytes that are no text.
        fs::remove_dir(&file).unwrap();
        std::os::unix::fs::symlink(&file, &file).unwrap();
        assert!(dirs.service_files().is_err());
        fs::remove_file(&file).unwrap();
        fs::write(&file, b"\xff").unwrap();
        assert!(dirs.service_files().unwrap().is_empty());
        // The folder is missing, or is none.
        fs::remove_dir_all(&services).unwrap();
        assert!(dirs.service_files().unwrap().is_empty());
        fs::write(&services, "").unwrap();
        assert!(dirs.service_files().unwrap().is_empty());
        let told = dirs.write_files(Lasting::Permanent, Path::new("/s"), &[], false);
        assert!(
            told.unwrap_err()
                .to_string()
                .starts_with(&services.display().to_string())
        );
    }
}
