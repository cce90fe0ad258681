//! Comparisons of etui with servers, players and its own settings, for developers: benches on the
//! runner of the laboratory. `just bench run dav`.

// A bench is compiled with its tests, but not with their harness.
#![cfg_attr(test, allow(dead_code, unused_imports))]

mod comparisons;

use std::process::ExitCode;

use clap::Parser;

/// The arguments after `follow`, by which `saves` starts a reader in a process of its own.
#[derive(Debug, Parser)]
struct Follow {
    #[command(flatten)]
    args: comparisons::saves::FollowArgs,
}

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|first| first == "follow") {
        return match Follow::parse_from(std::env::args_os().skip(1)).args.run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        };
    }
    etui_lab::cli::main(&comparisons::all_comparisons())
}
