//! One run of one arm in a process of its own: this program again, as a worker.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::worker_task::{WorkerFailure, WorkerReply, WorkerTask};
use super::{GroupWork, SetupResult};
use crate::arms::{ArmGroup, MeasurePass, RunCase};
use crate::error::Error;
use crate::measure::{instructions, syscalls};
use crate::recorder::RunLocation;
use crate::results::RunRecord;
use crate::stacks::Stack;

/// No run may take longer; one that does hangs.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Runs an arm once and reads its measures.
pub fn run_arm(
    case: &RunCase,
    dir: &Path,
    set_up: &SetupResult,
    work: &GroupWork,
    stop: &AtomicBool,
) -> Result<RunRecord, Error> {
    let place = RunLocation {
        dir: dir.to_owned(),
        shared: set_up.shared.clone(),
        devices: set_up.stack.devices.clone(),
        traced: case.pass == MeasurePass::Syscalls,
    };
    let task = WorkerTask::RunRecord {
        case: case.clone(),
        place,
    };
    if set_up.stack.machine().is_some() {
        let (measures, answer) = match case.pass {
            MeasurePass::Timed | MeasurePass::Counted => {
                perform_in_guest(&task, &set_up.stack, stop)?
            }
            MeasurePass::Syscalls | MeasurePass::Instructions => {
                return Err(Error::not_run("the virtual machine has no tracer of calls"));
            }
        };
        return Ok(RunRecord {
            case: case.clone(),
            answer,
            measures,
        });
    }
    let files = work.fresh("worker")?;
    let trace = files.join("trace");
    let wrap = |command: Command| match case.pass {
        MeasurePass::Syscalls => {
            syscalls::check_available().map_err(Error::NotRun)?;
            syscalls::wrap_command(&command, &trace).ok_or_else(|| Error::not_run("no strace"))
        }
        MeasurePass::Instructions => instructions::wrap_command(&command, &trace),
        MeasurePass::Timed | MeasurePass::Counted => Ok(command),
    };
    let (mut measures, answer) = perform_task(&task, &files, work, stop, wrap)?;
    match case.pass {
        MeasurePass::Syscalls => {
            measures.clear();
            for (phase, counts) in syscalls::read_trace(&trace)? {
                for (measure, value) in counts {
                    measures.insert(format!("{phase}/{measure}"), value);
                }
            }
        }
        MeasurePass::Instructions => measures = instructions::read_counts(&trace)?,
        MeasurePass::Timed | MeasurePass::Counted => {}
    }
    Ok(RunRecord {
        case: case.clone(),
        answer,
        measures,
    })
}

/// Sets up the shared files of a group. In a worker, too: it can be stopped at any time, and
/// all that it starts carries the run's id. `stack` is the one that `dir` is on.
pub fn set_up(
    experiment: &str,
    group: &ArmGroup,
    dir: &Path,
    stack: Option<&Stack>,
    work: &GroupWork,
    stop: &AtomicBool,
) -> Result<(), Error> {
    let task = WorkerTask::Furnish {
        experiment: experiment.to_owned(),
        group: group.clone(),
        dir: dir.to_owned(),
    };
    if let Some(stack) = stack.filter(|stack| stack.machine().is_some()) {
        return perform_in_guest(&task, stack, stop).map(|_| ());
    }
    perform_task(&task, &work.fresh("worker")?, work, stop, Ok).map(|_| ())
}

/// Has a worker in the stack's virtual machine do a task.
fn perform_in_guest(
    task: &WorkerTask,
    stack: &Stack,
    stop: &AtomicBool,
) -> Result<(BTreeMap<String, f64>, String), Error> {
    let mut vm = stack
        .machine()
        .ok_or_else(|| Error::other("the stack is in no virtual machine"))?;
    vm.perform_task(task, stop)?
        .map_err(|failure| match failure {
            WorkerFailure::NotRun(reason) => Error::NotRun(reason),
            WorkerFailure::Failed(message) => Error::Other(message),
        })
}

/// Has a worker do a task; returns its figures and its answer. `files` holds their messages.
fn perform_task(
    task: &WorkerTask,
    files: &Path,
    work: &GroupWork,
    stop: &AtomicBool,
    wrap: impl FnOnce(Command) -> Result<Command, Error>,
) -> Result<(BTreeMap<String, f64>, String), Error> {
    let (reply, errors) = (files.join("reply"), files.join("errors"));
    let program = std::env::current_exe().map_err(|e| Error::file("this program", e))?;
    let mut command = Command::new(program);
    command.arg("worker").arg(&reply);
    let mut command = wrap(command)?;
    let stderr = File::create(&errors).map_err(|e| Error::file(&errors, e))?;
    let (marker, id) = work.live.marker();
    // A process group of its own: Ctrl-C reaches the laboratory alone, which ends the worker.
    let mut child = command
        .env(marker, id)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(stderr)
        .spawn()
        .map_err(|e| Error::file(command.get_program(), e))?;
    let sent = serde_json::to_vec(task)
        .map_err(|e| Error::other(e.to_string()))
        .and_then(|bytes| match child.stdin.take() {
            Some(mut stdin) => stdin.write_all(&bytes).map_err(|e| Error::file("stdin", e)),
            None => Err(Error::other("the worker has no standard input")),
        });
    let ended = wait_worker(&mut child, stop);
    let said = fs::read(&errors).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    ended.map_err(|error| worse_error(error, &said))?;
    let reply: WorkerReply = match fs::read(&reply) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map_err(|e| Error::other(format!("the worker's reply cannot be read: {e}")))?,
        Err(_) => {
            sent?;
            let error = Error::other("the worker ended without a reply");
            return Err(worse_error(error, &said));
        }
    };
    reply.map_err(|failure| match failure {
        WorkerFailure::NotRun(reason) => Error::NotRun(reason),
        WorkerFailure::Failed(message) => worse_error(Error::Other(message), &said),
    })
}

/// Waits for the worker's end. Killed when the run is stopped or when it takes too long.
fn wait_worker(child: &mut Child, stop: &AtomicBool) -> Result<(), Error> {
    let begun = Instant::now();
    let mut nap = Duration::from_micros(500);
    loop {
        let ended = child.try_wait().map_err(|e| Error::file("the worker", e))?;
        if let Some(status) = ended {
            return if status.success() {
                Ok(())
            } else {
                Err(Error::other(format!("the worker ended with {status}")))
            };
        }
        let stopped = stop.load(Ordering::Relaxed);
        if stopped || begun.elapsed() > PATIENCE {
            // Already gone is as good.
            let _ = child.kill();
            let _ = child.wait();
            return Err(if stopped {
                Error::Stopped
            } else {
                Error::other(format!(
                    "no end after {} minutes; it was killed",
                    PATIENCE.as_secs() / 60
                ))
            });
        }
        std::thread::sleep(nap);
        // Short runs are seen to end at once; long ones are not disturbed.
        nap = (nap * 2).min(Duration::from_millis(20));
    }
}

/// An error with the last words of the worker.
fn worse_error(error: Error, said: &str) -> Error {
    let lines = said.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<&str> = lines.collect();
    let last = lines
        .get(lines.len().saturating_sub(3)..)
        .unwrap_or_default();
    if last.is_empty() || matches!(error, Error::Stopped) {
        return error;
    }
    Error::other(format!("{error}: {}", last.join(" | ")))
}
