//! Observing a command without root and without changing its program: a library preloaded into it,
//! or `strace`.

mod observed;
mod observer;
mod program;
mod trace;

pub use observed::{CommitShape, FileIo, Observed, StatementShape};
pub use program::{CommandEnd, CommandRun, Tracer, run_command};
