//! The command `etui`.

fn main() -> std::process::ExitCode {
    etui_cli::run()
}
