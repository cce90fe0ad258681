//! The command `etui-lab`: the laboratory over its own experiments.

use std::process::ExitCode;

fn main() -> ExitCode {
    etui_lab::cli::main(&etui_lab::experiments::all_experiments())
}
