//! The command `etui`: contacts, calendar and media at the prompt.
//!
//! `args` declares the command line, `commands` has a module for each command, `json` the objects that they
//! print. What the programs share is in `etui-program`.
//!
//! A library with one function, so that cargo compiles it while its dependencies are still being
//! optimised: a program waits for all of them.

mod args;
mod commands;
mod foreign_words;
mod json;
mod terminal;

use std::process::ExitCode;

/// Runs the command line of this process.
pub fn run() -> ExitCode {
    commands::services::start_sync();
    match args::parse_command_line() {
        Ok((command_line, words)) => {
            etui_program::run_command(&command_line.global, Some(&words), |app| {
                commands::run_command(app, command_line.command)
            })
        }
        Err(code) => code,
    }
}
