//! [`Installation`]: where the server's programs and headers are.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::{compile, output};
use super::{Built, DURABLE, SERVICES, Server, Suite};
use crate::error::Error;
use crate::machine;

/// An installed server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Installation {
    /// The system's own.
    #[default]
    System,
    /// That of a Debian suite.
    Suite(Suite),
}

impl Installation {
    /// Finds that of a suite; the system's own, if none is named.
    pub fn of(suite: Option<&str>) -> Result<Self, Error> {
        match suite {
            Some(name) => Ok(Self::Suite(Suite::find(name)?)),
            None => Ok(Self::System),
        }
    }

    /// A command that runs one of its programs, which sees the directory `near`.
    pub fn command(&self, program: impl AsRef<Path>, near: &Path) -> Result<Command, Error> {
        match self {
            Self::System => Ok(Command::new(program.as_ref())),
            Self::Suite(suite) => suite.command(program, near),
        }
    }

    /// One of its files, as seen from outside.
    pub fn file(&self, path: &str) -> PathBuf {
        match self {
            Self::System => PathBuf::from(path),
            Self::Suite(suite) => suite.file(path),
        }
    }

    /// Returns the server's version; if it cannot be driven, the reason and the remedy.
    pub fn check(&self, server: Server) -> Result<String, String> {
        let help = match self {
            Self::System => "`etui lab setup`".to_owned(),
            Self::Suite(suite) => format!(
                "remove {} and unpack it again by `etui lab setup --eds-versions`",
                suite.file("/").display()
            ),
        };
        for tool in ["cc", "pkg-config", "dbus-daemon"] {
            let found = match self {
                Self::System => machine::find_tool(tool).is_some(),
                // A link there is one within the suite's root.
                Self::Suite(suite) => {
                    let file = suite.file(&format!("/usr/bin/{tool}"));
                    file.symlink_metadata().is_ok()
                }
            };
            if !found {
                return Err(format!("there is no `{tool}`: {help}"));
            }
        }
        for name in server.services() {
            let service = self.file(&format!("{SERVICES}/{name}.service"));
            if !service.is_file() {
                return Err(format!("{} is missing: {help}", service.display()));
            }
        }
        let version = self.pkg_config(&["--modversion", server.library()], Path::new("/tmp"));
        match version {
            Ok(version) if !version.trim().is_empty() => Ok(version.trim().to_owned()),
            _ => Err(format!(
                "the development files of {} are missing: {help}",
                server.library()
            )),
        }
    }

    fn pkg_config(&self, arguments: &[&str], near: &Path) -> Result<String, Error> {
        output(self.command("pkg-config", near)?.args(arguments))
    }

    /// Compiles the server's client and the library into a directory; existing files that were
    /// made from the same source are taken as they are.
    pub fn build(&self, server: Server, cache: &Path) -> Result<Built, Error> {
        let cache = &std::path::absolute(cache).map_err(|e| Error::file(cache, e))?;
        let client = self.compile_client(cache, "eds-client", server.client(), server.library())?;
        let flags = ["-std=gnu11", "-shared", "-fPIC", "-ldl"];
        let compiler = self.command("cc", cache)?;
        let durable = compile(
            compiler,
            cache,
            &self.label("eds-durable"),
            ("c", DURABLE),
            &flags,
        )?;
        Ok(Built {
            server,
            installation: self.clone(),
            client,
            durable,
        })
    }

    /// Compiles a program into a directory, with a library by its name in `pkg-config`.
    pub fn compile_client(
        &self,
        cache: &Path,
        name: &str,
        source: &str,
        library: &str,
    ) -> Result<PathBuf, Error> {
        let flags = self.pkg_config(&["--cflags", "--libs", library], cache)?;
        let flags = flags.split_whitespace();
        let flags: Vec<&str> = ["-std=gnu11"].into_iter().chain(flags).collect();
        // Programs of a suite run in another directory.
        let cache = &std::path::absolute(cache).map_err(|e| Error::file(cache, e))?;
        let compiler = self.command("cc", cache)?;
        compile(compiler, cache, &self.label(name), ("c", source), &flags)
    }

    /// A file's name, with that of the suite.
    fn label(&self, name: &str) -> String {
        match self {
            Self::System => name.to_owned(),
            Self::Suite(suite) => format!("{name}-{}", suite.name()),
        }
    }
}
