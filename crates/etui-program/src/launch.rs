//! Starting another of etui's programs.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use crate::errors::Failure;

/// Replaces this process by another program of etui, which is beside this one or in `PATH`. Returns only if
/// that fails; `install` says how the program is installed.
pub fn launch(
    program: &str,
    arguments: impl IntoIterator<Item = OsString>,
    install: &str,
) -> Failure {
    let Some(path) = find_program(program) else {
        return Failure::Other(format!(
            "this needs the program `{program}`, which is neither beside this one nor in PATH; {install}"
        ));
    };
    let error = Command::new(&path).args(arguments).exec();
    Failure::io(&path, error)
}

fn find_program(name: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().ok();
    let own = own.and_then(|own| Some(own.parent()?.join(name)));
    let path = std::env::var_os("PATH").unwrap_or_default();
    own.into_iter()
        .chain(std::env::split_paths(&path).map(|dir| dir.join(name)))
        .find(|program| program.is_file())
}
