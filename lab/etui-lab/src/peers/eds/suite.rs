//! [`Suite`]: the server of a Debian suite, in a root directory of its own.
//!
//! `etui lab setup --eds-versions` unpacks each suite into the user's cache directory, owned by
//! the user. Programs run in it by `unshare` and `chroot`: a user and a mount name space, no
//! root, and no process in between, so that a process is the one that was started. A program sees
//! the devices, `/proc` and the top-level directories of itself and of the run's files.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use super::super::output;
use crate::error::Error;
use crate::machine::{cache_dir, find_tool};

/// The suites, the oldest first.
pub const SUITES: [&str; 3] = ["bullseye", "bookworm", "trixie"];

/// The command that unpacks them.
const SETUP: &str = "`etui lab setup --eds-versions`";
/// Bytes that a suite takes, roughly, for the question before it is unpacked.
pub const SUITE_BYTES: u64 = 1_200_000_000;

/// Packages of a suite: the server, what its client is compiled with, a bus.
const PACKAGES: &str = "evolution-data-server,libebook1.2-dev,gcc,libc6-dev,pkg-config,dbus";
/// Files that no program of the laboratory reads.
const UNNEEDED: [&str; 3] = ["doc", "man", "locale"];

/// Enters a root: its path, the directories to be seen in it, `--`, the command. The mounts end
/// with the process.
const ENTER: &str = r#"
set -e
root=$1
PATH=$PATH:/usr/sbin:/sbin
shift
while [ "$1" != -- ]; do
    mkdir -p "$root$1"
    mount --rbind "$1" "$root$1"
    shift
done
shift
exec chroot "$root" "$@"
"#;
/// What every program sees.
const SEEN: [&str; 2] = ["/dev", "/proc"];

/// The unpacked root of a suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suite {
    name: String,
    root: PathBuf,
}

impl Suite {
    /// Finds a suite in the cache.
    pub fn find(name: &str) -> Result<Self, Error> {
        let root = root_of(name)?;
        if !root.is_dir() {
            return Err(Error::not_run(format!(
                "{} is missing: {SETUP} unpacks it, about 1 GB",
                root.display()
            )));
        }
        let suite = Self {
            name: name.to_owned(),
            root,
        };
        suite.enter("true", Path::new("/tmp"))?;
        Ok(suite)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A file of the suite, as seen from outside.
    pub fn file(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// A command that runs a program: one of the suite, by its name, or any other, by its absolute
    /// path. It sees the directory `near`.
    pub fn command(&self, program: impl AsRef<Path>, near: &Path) -> Result<Command, Error> {
        let program = program.as_ref();
        let unshare = find_tool("unshare").ok_or_else(|| {
            Error::not_run("there is no `unshare` (package util-linux) to enter the suite's root")
        })?;
        let mut seen = SEEN.map(PathBuf::from).to_vec();
        let near = std::path::absolute(near).map_err(|e| Error::file(near, e))?;
        for path in [near.as_path(), program] {
            if path.is_absolute() {
                let top = top_level(path)?;
                if !seen.contains(&top) {
                    seen.push(top);
                }
            }
        }
        let mut command = Command::new(unshare);
        command
            .args(["--user", "--map-root-user", "--mount", "--"])
            .args(["sh", "-c", ENTER, "sh"])
            .arg(&self.root)
            .args(seen)
            .arg("--")
            .arg(program);
        Ok(command)
    }

    /// Runs a program without arguments, to see that programs can be run.
    fn enter(&self, program: &str, near: &Path) -> Result<(), Error> {
        let tried = output(&mut self.command(program, near)?);
        tried.map(drop).map_err(|e| {
            let reason = match &e {
                Error::Command { message, .. } => message.lines().last().unwrap_or_default(),
                _ => "",
            };
            Error::not_run(format!(
                "no program can be run in {}: a user name space with mounts is needed, which this \
                 system or container does not permit ({reason})",
                self.root.display()
            ))
        })
    }
}

fn root_of(name: &str) -> Result<PathBuf, Error> {
    Ok(cache_dir()?.join(format!("eds-{name}")))
}

/// The first component of an absolute path, which is made visible at the same place. One that the
/// suite's own system is in would be hidden by it.
fn top_level(path: &Path) -> Result<PathBuf, Error> {
    const OWN: [&str; 7] = ["usr", "bin", "sbin", "lib", "lib64", "lib32", "etc"];
    let mut parts = path.components();
    match (parts.next(), parts.next()) {
        (Some(Component::RootDir), Some(Component::Normal(top)))
            if OWN.iter().all(|own| top != *own) =>
        {
            Ok(Path::new("/").join(top))
        }
        _ => Err(Error::not_run(format!(
            "{} cannot be seen in a suite's root, which has such a directory of its own; run in \
             another directory",
            path.display()
        ))),
    }
}

/// Returns the suites that are not in the cache yet.
pub fn missing_suites() -> Result<Vec<&'static str>, Error> {
    let mut missing = Vec::new();
    for name in SUITES {
        if !root_of(name)?.is_dir() {
            missing.push(name);
        }
    }
    Ok(missing)
}

/// Returns the tools, by their packages, that unpacking needs and that are missing.
pub fn missing_tools() -> Vec<&'static str> {
    let mut tools = vec![
        ("mmdebstrap", "mmdebstrap"),
        ("tar", "tar"),
        ("unshare", "util-linux"),
    ];
    if !rustix::process::geteuid().is_root() {
        tools.push(("newuidmap", "uidmap"));
    }
    tools.retain(|(tool, _)| find_tool(tool).is_none());
    tools.into_iter().map(|(_, package)| package).collect()
}

/// Returns the mirror of Debian that the machine's own sources name.
pub fn configured_mirror() -> Result<String, Error> {
    let format = "$(ORIGIN) $(COMPONENT) $(SUITE) $(REPO_URI)";
    let mut command = Command::new("apt-get");
    command.args(["indextargets", "--format", format, "Created-By: Packages"]);
    let listed = output(command.stdin(Stdio::null()))?;
    debian_mirror(&listed).ok_or_else(|| {
        Error::other(
            "the machine's apt sources name no Debian mirror; give one with --debian-mirror",
        )
    })
}

/// The first mirror of Debian's main archive among `origin component suite uri`.
fn debian_mirror(listed: &str) -> Option<String> {
    let entries = listed.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words.next()?, words.next()?, words.next()?))
    });
    // Updates, security and backports are in archives of their own or have no old suites.
    let mut main = entries.filter(|(origin, component, suite, _)| {
        *origin == "Debian" && *component == "main" && !suite.contains('-')
    });
    main.next().map(|(.., uri)| uri.to_owned())
}

/// Unpacks a suite into the cache. It appears whole: it is renamed into place.
pub fn unpack_suite(name: &str, mirror: &str) -> Result<(), Error> {
    let root = root_of(name)?;
    let fresh = root.with_extension("new");
    if fresh.exists() {
        fs::remove_dir_all(&fresh).map_err(|e| Error::file(&fresh, e))?;
    }
    fs::create_dir_all(&fresh).map_err(|e| Error::file(&fresh, e))?;
    let unpacked = pipe_suite(name, mirror, &fresh);
    if unpacked.is_err() {
        // What is left of it is removed by the next attempt.
        let _ = fs::remove_dir_all(&fresh);
        return unpacked;
    }
    fs::rename(&fresh, &root).map_err(|e| Error::file(&root, e))
}

fn pipe_suite(name: &str, mirror: &str, to: &Path) -> Result<(), Error> {
    let mut make = Command::new("mmdebstrap");
    make.args(["--variant=essential", "--format=tar", "--quiet"])
        .arg(format!("--include={PACKAGES}"));
    for directory in UNNEEDED {
        make.arg(format!("--dpkgopt=path-exclude=/usr/share/{directory}/*"));
    }
    for option in apt_proxies() {
        make.arg(format!("--aptopt={option}"));
    }
    make.args([name, "-", mirror])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let failed = |command: &str, message: String| Error::Command {
        command: command.to_owned(),
        message,
    };
    let mut making = make
        .spawn()
        .map_err(|e| failed("mmdebstrap", e.to_string()))?;
    let mut tar = Command::new("tar");
    // All files are the user's own, and can be removed as such; devices are the host's.
    tar.args(["-x", "--no-same-owner", "--exclude=./dev/*", "-C"])
        .arg(to);
    if let Some(archive) = making.stdout.take() {
        tar.stdin(archive);
    }
    let untarred = tar.status().map_err(|e| failed("tar", e.to_string()));
    let made = making
        .wait()
        .map_err(|e| failed("mmdebstrap", e.to_string()))?;
    if !made.success() {
        let message = format!("it ended with {made}; its own words are above");
        return Err(failed(&format!("mmdebstrap {name}"), message));
    }
    match untarred? {
        status if status.success() => Ok(()),
        status => Err(failed("tar", format!("it ended with {status}"))),
    }
}

/// The machine's proxies, as options of apt.
fn apt_proxies() -> Vec<String> {
    let proxies = ["Acquire::http::Proxy", "Acquire::https::Proxy"];
    let set = proxies.into_iter().filter_map(|name| {
        let mut command = Command::new("apt-config");
        let line = output(command.args(["dump", "--no-empty", name])).ok()?;
        let line = line.lines().find(|line| line.starts_with(name))?;
        Some(line.to_owned())
    });
    set.collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_mirror_is_that_of_the_main_archive() {
        let listed = "Other main stable http://other.example/apt/\n\
                      Debian main stable-security http://security.example/debian-security/\n\
                      Debian contrib stable http://contrib.example/debian/\n\
                      \n\
                      Debian main stable http://mirror.example/debian/\n";
        let mirror = debian_mirror(listed);
        assert_eq!(mirror.as_deref(), Some("http://mirror.example/debian/"));
        assert_eq!(debian_mirror("Ubuntu main noble http://a.example/\n"), None);
    }

    #[test]
    fn the_directory_of_a_run_is_seen_below_the_root() {
        let top = |path: &str| top_level(Path::new(path));
        assert_eq!(top("/home/ada/run").unwrap(), Path::new("/home"));
        assert_eq!(top("/dev/shm/run").unwrap(), Path::new("/dev"));
        for hidden in ["/usr/local/run", "/etc", "/", "run"] {
            let refused = top(hidden);
            assert!(matches!(refused, Err(Error::NotRun(_))), "{hidden}");
        }
    }
}
