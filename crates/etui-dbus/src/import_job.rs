//! `org.etui.ImportJob1`: an import that runs.

// The macro `interface` takes the names of a reply's arguments for a tuple, not for an alias of one.
#![allow(clippy::type_complexity)]

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use etui::import::{ImportEvent, ImportReport, Refused};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use zbus::message::Header;
use zbus::object_server::SignalEmitter;
use zbus::{Connection, OwnedObjectPath, interface};
use zruntime::SharedRuntime;

use crate::collection::CollectionCalls;
use crate::error::{ErrorKind, StoreError};
use crate::rows::without_nul;
use crate::service::{ClientId, Endpoint, OwnedKind, OwnedObject};
use etui_bus::guard::catch_panic_on_worker;

/// Imports that run at once.
const MAX_JOBS: usize = 4;
/// Rejected parts that are announced; the rest is counted.
const MAX_REFUSALS: u64 = 1_000;
/// Time between two announcements of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
/// Time after which a read from a silent pipe looks whether the job was cancelled.
const READ_TIMEOUT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};

/// The numbers of an import: records added, changed and unchanged, parts refused and warned of,
/// bytes read.
type ImportNumbers = (u64, u64, u64, u64, u64, u64);

/// A part that was refused: first and last line, reason, beginning.
type WireRefusal = (u64, u64, String, String);

/// The state of a job, shared by its object and its thread.
#[derive(Default)]
pub(crate) struct JobState {
    cancelled: AtomicBool,
    progress: Mutex<JobProgress>,
}

#[derive(Default)]
struct JobProgress {
    /// `None` while it runs.
    outcome: Option<Result<(), String>>,
    report: ImportReport,
    signals: VecDeque<JobSignal>,
    is_sending: bool,
}

/// A signal to be sent.
enum JobSignal {
    Progress(u64, u64),
    Refused(WireRefusal),
    Warned(WireRefusal),
    Finished(String, String),
}

impl JobState {
    fn progress(&self) -> MutexGuard<'_, JobProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the job to end. Saved batches stay.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Returns true until the job has ended.
    pub(crate) fn is_running(&self) -> bool {
        self.progress().outcome.is_none()
    }

    fn state_name(&self) -> &'static str {
        match &self.progress().outcome {
            None => "running",
            Some(Ok(())) => "finished",
            Some(Err(_)) if self.is_cancelled() => "cancelled",
            Some(Err(_)) => "failed",
        }
    }
}

/// Sends a job's signals to its client, one after the other. Progress that waits is replaced by the
/// latest, so a client that never reads costs a bounded queue.
#[derive(Clone)]
struct JobSignals {
    state: Arc<JobState>,
    emitter: SignalEmitter<'static>,
    runtime: SharedRuntime,
}

impl JobSignals {
    fn send(&self, signal: JobSignal) {
        {
            let mut progress = self.state.progress();
            if let (JobSignal::Progress(..), Some(JobSignal::Progress(..))) =
                (&signal, progress.signals.back())
            {
                progress.signals.pop_back();
            }
            progress.signals.push_back(signal);
            if std::mem::replace(&mut progress.is_sending, true) {
                return;
            }
        }
        let all = self.clone();
        self.runtime
            .spawn(
                "signals of an import",
                async move { all.send_queued().await },
            )
            .detach();
    }

    async fn send_queued(&self) {
        loop {
            let next = {
                let mut progress = self.state.progress();
                let next = progress.signals.pop_front();
                progress.is_sending = next.is_some();
                next
            };
            let Some(signal) = next else {
                return;
            };
            // A client that left gets nothing.
            let _ = match signal {
                JobSignal::Progress(bytes, records) => {
                    ImportJob::progress(&self.emitter, bytes, records).await
                }
                JobSignal::Refused((line, last, reason, excerpt)) => {
                    ImportJob::refused(&self.emitter, line, last, reason, excerpt).await
                }
                JobSignal::Warned((line, last, reason, excerpt)) => {
                    ImportJob::warned(&self.emitter, line, last, reason, excerpt).await
                }
                JobSignal::Finished(state, message) => {
                    ImportJob::finished(&self.emitter, state, message).await
                }
            };
        }
    }
}

/// The object of a job.
pub(crate) struct ImportJob {
    endpoint: Endpoint,
    state: Arc<JobState>,
}

#[interface(name = "org.etui.ImportJob1")]
impl ImportJob {
    /// `running`, `finished`, `cancelled` or `failed`. See the signal Finished.
    #[zbus(property(emits_changed_signal = "false"))]
    fn state(&self) -> String {
        self.state.state_name().to_owned()
    }

    /// Returns the records added, changed and unchanged, the parts refused and warned of, the bytes
    /// read, and the text of the error that ended the job. The numbers are complete when it has
    /// ended.
    #[zbus(out_args("added", "changed", "unchanged", "refused", "warned", "bytes", "error"))]
    fn report(&self) -> Result<(u64, u64, u64, u64, u64, u64, String), StoreError> {
        self.endpoint.answer(|_| {
            let progress = self.state.progress();
            let (added, changed, unchanged, refused, warned, bytes) = numbers(&progress.report);
            let error = match &progress.outcome {
                Some(Err(error)) => error.clone(),
                _ => String::new(),
            };
            Ok((added, changed, unchanged, refused, warned, bytes, error))
        })
    }

    /// Returns the first thousand parts that were refused: first and last line, reason, beginning.
    #[zbus(out_args("refusals"))]
    fn refusals(&self) -> Result<Vec<WireRefusal>, StoreError> {
        self.endpoint.answer(|_| {
            let progress = self.state.progress();
            Ok(progress.report.refusals.iter().map(wire_refusal).collect())
        })
    }

    /// Ends the import. Batches that are saved stay.
    fn cancel(&self) -> Result<(), StoreError> {
        self.endpoint.answer(|_| {
            self.state.cancel();
            Ok(())
        })
    }

    /// Cancels the import if it runs, and removes the object. The same happens when its client
    /// leaves the bus.
    async fn close(&self, #[zbus(header)] header: Header<'_>) -> Result<(), StoreError> {
        self.endpoint.answer(|_| Ok(()))?;
        if let Some(path) = header.path() {
            self.endpoint.service.close_object(path.as_str()).await;
        }
        Ok(())
    }

    /// Bytes read and records imported so far; at most ten times a second.
    #[zbus(signal)]
    async fn progress(emitter: &SignalEmitter<'_>, bytes: u64, records: u64) -> zbus::Result<()>;

    /// A part was refused: its lines, the reason, its beginning. Sent for the first thousand.
    #[zbus(signal)]
    async fn refused(
        emitter: &SignalEmitter<'_>,
        line: u64,
        last_line: u64,
        reason: String,
        excerpt: String,
    ) -> zbus::Result<()>;

    /// A part was imported, but not fully understood. Sent for the first thousand.
    #[zbus(signal)]
    async fn warned(
        emitter: &SignalEmitter<'_>,
        line: u64,
        last_line: u64,
        reason: String,
        excerpt: String,
    ) -> zbus::Result<()>;

    /// The job has ended: its state, and the text of the error if it failed.
    #[zbus(signal)]
    async fn finished(
        emitter: &SignalEmitter<'_>,
        state: String,
        message: String,
    ) -> zbus::Result<()>;
}

fn numbers(report: &ImportReport) -> ImportNumbers {
    (
        report.added,
        report.changed,
        report.unchanged,
        report.refused,
        report.warned,
        report.bytes,
    )
}

fn wire_refusal(refused: &Refused) -> WireRefusal {
    let text = |text: &str| without_nul(text.into()).into_owned();
    (
        refused.line,
        refused.last_line,
        text(&refused.reason),
        text(&refused.excerpt),
    )
}

/// Starts an import into a collection; returns the path of its object.
pub(crate) async fn start(
    (endpoint, calls): (&Endpoint, &Arc<dyn CollectionCalls>),
    file: OwnedFd,
    (client, header): (ClientId, &Header<'_>),
    connection: &Connection,
) -> Result<OwnedObjectPath, StoreError> {
    let service = &endpoint.service;
    if service.running_jobs() >= MAX_JOBS {
        return Err(StoreError::new(
            ErrorKind::Busy,
            format!("{MAX_JOBS} imports run already; wait for one to end"),
        ));
    }
    let path = format!("/org/etui/ImportJob1/{}", service.next_number());
    let state = Arc::new(JobState::default());
    let mut emitter = SignalEmitter::new(connection, path.clone())?.into_owned();
    if let Some(sender) = header.sender() {
        emitter = emitter.set_destination(sender.to_owned().into());
    }
    let signals = JobSignals {
        state: Arc::clone(&state),
        emitter,
        runtime: SharedRuntime::current()?,
    };
    let object = OwnedObject {
        client,
        connection: connection.clone(),
        kind: OwnedKind::Job(Arc::clone(&state)),
    };
    service.add_object(&path, object)?;
    let job = ImportJob {
        endpoint: endpoint.clone(),
        state: Arc::clone(&state),
    };
    let job = endpoint.guard(job);
    connection.object_server().at(path.as_str(), job).await?;

    let (calls, store) = (Arc::clone(calls), Arc::clone(service.store()));
    let runtime = signals.runtime.clone();
    let run = async move {
        let events = signals.clone();
        let input = JobInput {
            file: File::from(file),
            state: Arc::clone(&state),
        };
        let work = move || -> Result<ImportReport, StoreError> {
            let mut reporter = Reporter::new(events);
            let on_event = &mut |event: ImportEvent<'_>| reporter.report(&event);
            Ok(calls.import_stream(&store, Box::new(input), on_event)?)
        };
        let result = catch_panic_on_worker(work).await;
        let message = result.as_ref().err().map(ToString::to_string);
        {
            let mut progress = signals.state.progress();
            progress.outcome = Some(match result {
                Ok(report) => {
                    progress.report = report;
                    Ok(())
                }
                Err(error) => Err(error.to_string()),
            });
        }
        signals.send(JobSignal::Finished(
            signals.state.state_name().to_owned(),
            message.unwrap_or_default(),
        ));
    };
    runtime.spawn("import", run).detach();
    Ok(OwnedObjectPath::try_from(path)?)
}

/// Turns the events of an import into signals.
struct Reporter {
    signals: JobSignals,
    refused: u64,
    warned: u64,
    last_progress: Option<Instant>,
}

impl Reporter {
    fn new(signals: JobSignals) -> Self {
        Self {
            signals,
            refused: 0,
            warned: 0,
            last_progress: None,
        }
    }

    fn report(&mut self, event: &ImportEvent<'_>) -> ControlFlow<()> {
        match event {
            ImportEvent::Progress { bytes, records } => {
                let now = Instant::now();
                let is_due = self
                    .last_progress
                    .is_none_or(|last| now.duration_since(last) >= PROGRESS_INTERVAL);
                if is_due {
                    self.last_progress = Some(now);
                    self.signals.send(JobSignal::Progress(*bytes, *records));
                }
            }
            ImportEvent::Refused(refused) => {
                self.refused += 1;
                if self.refused <= MAX_REFUSALS {
                    self.signals.send(JobSignal::Refused(wire_refusal(refused)));
                }
            }
            ImportEvent::Warned(refused) => {
                self.warned += 1;
                if self.warned <= MAX_REFUSALS {
                    self.signals.send(JobSignal::Warned(wire_refusal(refused)));
                }
            }
            _ => {}
        }
        match self.signals.state.is_cancelled() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// The client's file. Cancelling the job ends a read from a silent pipe.
struct JobInput {
    file: File,
    state: Arc<JobState>,
}

impl Read for JobInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.state.is_cancelled() {
                return Err(io::Error::other("the import was cancelled"));
            }
            let mut file = [PollFd::from_borrowed_fd(self.file.as_fd(), PollFlags::IN)];
            match poll(&mut file, Some(&READ_TIMEOUT)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return self.file.read(buffer),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
