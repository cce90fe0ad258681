//! The lines between host and guest: a [`GuestRequest`] each way there, a [`GuestReply`] back.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::runner::worker_task::{WorkerReply, WorkerTask};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case")]
pub enum GuestRequest {
    /// Mount a file system.
    Mount {
        /// The device's file.
        device: String,
        /// Where; made if need be.
        point: String,
        /// The kernel's name.
        file_system: String,
        /// The file system's options.
        options: String,
    },
    /// Unmount a file system.
    Unmount {
        point: String,
    },
    /// Make a directory with its parents.
    CreateDir {
        path: PathBuf,
    },
    RemoveDir {
        path: PathBuf,
    },
    /// Run a program to its end.
    Command {
        program: String,
        args: Vec<String>,
        input: String,
    },
    /// Do a worker's task in a process of its own.
    Worker {
        task: WorkerTask,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuestAnswer {
    /// The first line, unasked: the guest is ready.
    Ready(GuestInfo),
    Done,
    /// A command's end.
    Output(CommandOutput),
    /// A worker's reply.
    Worker(WorkerReply),
}

/// An answer, or the reason why there is none.
pub type GuestReply = Result<GuestAnswer, String>;

/// A guest that is ready.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestInfo {
    /// The kernel's release.
    pub kernel: String,
    /// Its block devices by the kernel's names.
    pub devices: Vec<String>,
}

/// Outcome of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOutput {
    /// The exit code; none if a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}
