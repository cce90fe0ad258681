//! What etui's programs share: the options of every command, the output, failures with their exit codes,
//! and the arguments of the services.
//!
//! ```text
//! etui ──────────── contacts, calendar, media, import, export: what a person types
//!  │ starts
//!  ├─ etui-serve ── `etui serve`: HTTP, TLS, devices
//!  └─ etui-session ─ `etui eds`, `etui dbus`, `etui calendar remind`: the desktop's session
//! ```
//!
//! `etui` knows the arguments of all ([`services`]), so that help, manual and completions are complete
//! without the other programs; [`launch`] replaces it by the program that does the work.
//!
//! | module | |
//! |---|---|
//! | `app` | [`App`]: the store and the collections that the options name |
//! | `global_args` | options of every command |
//! | [`output`] | text, tables, JSON, progress |
//! | `errors` | [`Failure`]: the error of a command, its exit code |
//! | [`services`], `launch` | the other programs |
//! | `state_file`, `shown` | reminders that were shown, which a purge erases, too |
//! | `stop_signal` | the end by Ctrl-C |

mod app;
mod errors;
mod global_args;
mod launch;
pub mod output;
pub mod services;
mod shown;
mod state_file;
mod stop_signal;

use std::process::ExitCode;

pub use app::{App, create_parent_dir};
pub use errors::{Failure, Result};
pub use global_args::{CalendarOptions, GlobalArgs};
pub use launch::launch;
pub use shown::{AlarmKey, ShownAlarms, UnreadableShown};
pub use state_file::{LockedState, StateFile};
pub use stop_signal::StopSignal;

/// Runs a command and reports its failure. With `step`, the words of the command, its changes are one step
/// of the history, which is undone as one.
pub fn run_command(
    global: &GlobalArgs,
    step: Option<&str>,
    work: impl FnOnce(&mut App) -> Result<()>,
) -> ExitCode {
    let mut app = App::new(global);
    app.out.command = step.unwrap_or_default().to_owned();
    etui::set_default_actor("etui");
    let _step = step.map(|words| etui::label_step("etui", words));
    let result = work(&mut app);
    match result.and_then(|()| app.out.flush_output()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => app.out.report_failure(&failure),
    }
}
