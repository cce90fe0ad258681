//! Commands that other programs run: `etui serve`, `etui sync`, `etui eds`, `etui dbus`, `etui calendar remind`.

use std::ffi::OsString;

use crate::args::arguments_without;
use etui_program::{Failure, launch};

const INSTALL_SERVE: &str =
    "install the package etui-serve, or `cargo install --locked --path crates/etui-serve`";

/// Replaces this process by `etui-serve`.
pub fn run_serve() -> Failure {
    launch("etui-serve", arguments_without(&["serve"]), INSTALL_SERVE)
}

/// Replaces this process by `etui-serve sync`, if its first word is `sync`: a run that finds nothing new is half as
/// long without the definition of all commands (the comparison `sync`, idle).
pub fn start_sync() {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == "sync") && words.all(|word| word != "conflicts") {
        // An error is told by the command as it is parsed.
        let _ = launch("etui-serve", std::env::args_os().skip(1), INSTALL_SERVE);
    }
}

/// Replaces this process by `etui-serve sync`, which has TLS.
pub fn run_sync() -> Failure {
    let command = std::iter::once(OsString::from("sync"));
    let arguments = command.chain(arguments_without(&["sync"]));
    launch("etui-serve", arguments, INSTALL_SERVE)
}

/// Replaces this process by `etui-serve sync subscribe`.
pub fn run_subscribe() -> Failure {
    let command = ["sync", "subscribe"].map(OsString::from).into_iter();
    let arguments = command.chain(arguments_without(&["calendars", "subscribe"]));
    launch("etui-serve", arguments, INSTALL_SERVE)
}

/// Replaces this process by a command of `etui-session`; `words` are those of `etui`, the last one is that of
/// `etui-session`.
pub fn run_session(words: &[&str]) -> Failure {
    let install =
        "install the package etui-session, or `cargo install --locked --path crates/etui-session`";
    let command = words.last().map(OsString::from);
    launch(
        "etui-session",
        command.into_iter().chain(arguments_without(words)),
        install,
    )
}
