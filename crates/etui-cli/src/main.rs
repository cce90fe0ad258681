//! The command `etui`: personal data at the prompt.
//!
//! `args` says what can be asked for, `commands` has a file for each of it, `output` writes
//! what people and programs read, `errors` says what went wrong and with which exit code.

mod app;
mod args;
mod commands;
mod datetime;
mod errors;
mod output;

use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match args::parse() {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    let mut app = app::App::new(&cli.global);
    let result = commands::run(&mut app, cli.command).and_then(|()| app.out.flush());
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => app.out.fail(&failure),
    }
}
