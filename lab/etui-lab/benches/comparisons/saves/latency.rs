//! The time from a save to the view that it concerns, in its own process and in another one.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use etui::Store;
use etui::contacts::{Card, Contacts, View, ViewChanges};
use rustix::time::{ClockId, clock_gettime};

use super::{open_views, parse_filter, record_count};
use etui_lab::experiments::common::{make_cards, people_options, record_quantiles};
use etui_lab::{Error, Recorder, RunCase};

/// Between two saves whose latency is measured.
const PACE: Duration = Duration::from_millis(5);
/// Longest time without a change before a reader gives up.
const MAX_SILENCE: Duration = Duration::from_secs(10);

fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// Receives changes until `count` came; returns their numbers and times.
fn receive_changes(view: &mut View, count: usize) -> Result<Vec<(usize, u64)>, Error> {
    let mut received = Vec::new();
    while received.len() < count {
        let Some(changes) = view.wait(Some(MAX_SILENCE))? else {
            let missing = (0..count).filter(|n| received.iter().all(|(of, _)| of != n));
            let missing: Vec<usize> = missing.collect();
            return Err(Error::other(format!("changes {missing:?} did not come")));
        };
        if let ViewChanges::Since(changes) = changes {
            let now = monotonic_ns();
            let numbers = changes
                .into_iter()
                .filter_map(|c| c.summary.organization.parse().ok());
            received.extend(numbers.map(|number: usize| (number, now)));
        }
    }
    Ok(received)
}

/// Saves contacts whose organisation is their number; returns when each save returned.
fn send_changes(contacts: &Contacts, count: usize) -> Result<Vec<u64>, Error> {
    let send_one = |number: usize| {
        std::thread::sleep(PACE);
        let text = format!(
            "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:latency-{number}\r\nFN:Latency\r\nORG:{number}\r\n\
             CATEGORIES:latency\r\nEND:VCARD\r\n"
        );
        contacts.save(&Card::parse(text)?)?;
        Ok(monotonic_ns())
    };
    (0..count).map(send_one).collect()
}

/// Records the time from each save's return to its receipt.
pub(super) fn measure_latency(
    path: &Path,
    case: &RunCase,
    recorder: &mut Recorder,
) -> Result<(), Error> {
    let count = usize::try_from(case.settings.number("saves")?.min(200)).unwrap_or(0);
    let store = Store::open_with(path, &people_options())?;
    let contacts = store.contacts()?;
    // The first save to a copied store resets its views.
    contacts.save(&make_cards(3, 1)?.remove(0))?;
    let (sent, received) = if case.settings.is("other-process") {
        let this = std::env::current_exe().map_err(|e| Error::file("this program", e))?;
        let failed = |e| Error::file(&this, e);
        let mut reader = Command::new(&this)
            .arg("follow")
            .arg(path)
            .arg(count.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let output = reader
            .stdout
            .take()
            .ok_or_else(|| Error::other("no output"))?;
        let mut lines = BufReader::new(output).lines();
        let ready = lines.next().transpose().map_err(failed)?;
        if ready.as_deref() != Some("ready") {
            return Err(Error::other("the reader did not start"));
        }
        let sent = send_changes(&contacts, count)?;
        let mut received = Vec::new();
        for line in lines {
            let line = line.map_err(failed)?;
            let (number, time) = line.split_once(' ').unwrap_or_default();
            received.extend(number.parse().ok().zip(time.parse().ok()));
        }
        reader.wait().map_err(failed)?;
        (sent, received)
    } else {
        let _views = open_views(&contacts, case.settings.number("views")?)?;
        let mut view = contacts.view(&parse_filter("category:latency")?)?;
        std::thread::scope(|scope| {
            let reader = scope.spawn(move || receive_changes(&mut view, count));
            let sent = send_changes(&contacts, count)?;
            match reader.join() {
                Ok(received) => Ok::<_, Error>((sent, received?)),
                Err(_) => Err(Error::other("the reader panicked")),
            }
        })?
    };
    let latencies = received.iter().filter_map(|(number, time): &(usize, u64)| {
        // The reader may have it before the writer's call has returned.
        Some(time.saturating_sub(*sent.get(*number)?) as f64)
    });
    record_quantiles(recorder, "report", &latencies.collect::<Vec<_>>());
    record_count(recorder, &contacts)
}

/// Print when changes of the category `latency` are received
#[derive(Debug, clap::Args)]
pub struct FollowArgs {
    /// The store.
    store: PathBuf,
    /// How many changes to wait for.
    count: usize,
}

impl FollowArgs {
    /// Prints `ready`, then the number and the time of each change.
    pub fn run(&self) -> Result<(), Error> {
        let store = Store::open_with(&self.store, &people_options())?;
        let contacts = store.contacts()?;
        let mut view = contacts.view(&parse_filter("category:latency")?)?;
        let mut out = std::io::stdout().lock();
        let failed = |e| Error::file("standard output", e);
        writeln!(out, "ready").map_err(failed)?;
        for (number, time) in receive_changes(&mut view, self.count)? {
            writeln!(out, "{number} {time}").map_err(failed)?;
        }
        Ok(())
    }
}
