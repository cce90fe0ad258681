//! The command `etui`: contacts and calendars at the prompt.
//!
//! `args` declares the command line, `commands` has a module for each command, `output` writes
//! text, tables and JSON, `errors` maps failures to exit codes.
//!
//! A library with one function, so that cargo compiles it while its dependencies are still being
//! optimised: a program waits for all of them.

mod app;
mod args;
mod commands;
mod errors;
mod foreign_words;
mod global_args;
mod output;
mod stop_signal;
mod terminal;

use std::process::ExitCode;

/// Runs the command line of this process.
pub fn run() -> ExitCode {
    let (command_line, words) = match args::parse_command_line() {
        Ok(parsed) => parsed,
        Err(code) => return code,
    };
    let mut app = app::App::new(&command_line.global);
    app.out.command.clone_from(&words);
    etui::set_default_actor("etui");
    // What a service does on the way is not one step.
    let is_service = ["serve", "eds serve", "calendar remind"].contains(&words.as_str());
    let _step = (!is_service).then(|| etui::label_step("etui", &words));
    let result = commands::run_command(&mut app, command_line.command);
    match result.and_then(|()| app.out.flush_output()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => app.out.report_failure(&failure),
    }
}
