//! Shared parts of the experiments on address books and calendars:
//! [`StoreBackend`], the operations of every product on records of any kind, and their measurement.
//!
//! - [`etui`]: a store of etui's;
//! - [`eds`]: Evolution Data Server;
//! - [`vfs_variants`]: arms whose SQLite goes through the VFS `etui`;
//! - [`trace`]: writes of a save, observed from outside;
//! - [`report`]: tables and charts that they share.

pub mod eds;
pub mod etui;
pub mod report;
#[cfg(test)]
pub mod run_all;
pub mod trace;
pub mod vfs_variants;

use std::time::{Duration, Instant};

use self::trace::SaveTrace;
use crate::error::Error;
use crate::measure::process::ProcessMemory;
use crate::peers::eds::{BATCH, TimedAnswer, digest_names};
use crate::{Recorder, stats};

/// A work that takes longer is not repeated within a run.
const LONG: Duration = Duration::from_millis(150);

/// Records that are open.
///
/// Every work answers with the time of each of its calls, in nanoseconds, how many records
/// came, and where names are at hand a digest of UIDs and names.
pub trait StoreBackend {
    /// Saves records in one call.
    fn save_batch(&mut self, from: u64, count: u64) -> Result<TimedAnswer, Error>;
    /// Saves records singly.
    fn save_each(&mut self, from: u64, count: u64) -> Result<TimedAnswer, Error>;
    /// Fetches every record.
    fn fetch_all(&mut self) -> Result<TimedAnswer, Error>;
    /// Fetches every record and reads its name.
    fn fetch_names(&mut self) -> Result<TimedAnswer, Error>;
    /// Fetches records one by one.
    fn fetch_one(&mut self, times: u64, uids: &[String]) -> Result<TimedAnswer, Error>;
    /// Fetches records in one call.
    fn fetch_many(&mut self, times: u64, uids: &[String]) -> Result<TimedAnswer, Error>;
    /// Closes it; the time it takes.
    fn close(&mut self) -> Result<TimedAnswer, Error>;
    /// Opens it again; the time it takes.
    fn open(&mut self) -> Result<TimedAnswer, Error>;
    /// Fetches every record, reads its name and keeps them: for the memory that takes.
    fn hold_all(&mut self) -> Result<(), Error>;
    /// The processes that serve it.
    fn process_ids(&self) -> Vec<u32>;
    /// The process that writes.
    fn writer_id(&self) -> Result<u32, Error>;
}

/// Times `times` calls; the last result is handed on.
pub fn timed<T>(
    times: u64,
    mut work: impl FnMut() -> Result<T, Error>,
) -> Result<(Vec<f64>, T), Error> {
    let mut ns = Vec::new();
    loop {
        let begun = Instant::now();
        let result = work()?;
        ns.push(begun.elapsed().as_nanos() as f64);
        if ns.len() as u64 >= times {
            return Ok((ns, result));
        }
    }
}

/// Times `times` calls, which differ; how many records came of the last.
pub fn each(
    times: u64,
    mut work: impl FnMut(u64) -> Result<u64, Error>,
) -> Result<TimedAnswer, Error> {
    let mut n = 0;
    let (ns, count) = timed(times, || {
        n += 1;
        work(n)
    })?;
    Ok(counted(ns, count))
}

/// An answer whose digest nobody asks for.
pub fn counted(ns: Vec<f64>, count: u64) -> TimedAnswer {
    TimedAnswer {
        ns,
        count,
        ..TimedAnswer::default()
    }
}

/// An answer of UIDs and names.
pub fn answer<'a>(ns: Vec<f64>, records: impl Iterator<Item = (&'a str, &'a str)>) -> TimedAnswer {
    let mut count = 0;
    let digest = digest_names(records.inspect(|_| count += 1));
    TimedAnswer { ns, count, digest }
}

/// The same of pairs that are kept.
pub fn answer_pairs(ns: Vec<f64>, named: &[(String, String)]) -> TimedAnswer {
    let pairs = named.iter();
    answer(ns, pairs.map(|(uid, name)| (uid.as_str(), name.as_str())))
}

/// The time since then, as an answer.
pub fn since(begun: Instant) -> TimedAnswer {
    counted(vec![begun.elapsed().as_nanos() as f64], 0)
}

/// Fills a shelf in batches; the time of all of them.
pub fn fill(backends: &mut dyn StoreBackend, count: u64) -> Result<f64, Error> {
    let mut ns = 0.0;
    for from in (0..count).step_by(BATCH as usize) {
        let answer = backends.save_batch(from, (count - from).min(BATCH))?;
        ns += answer.ns.iter().sum::<f64>();
    }
    Ok(ns)
}

/// Does a work several times, fewer if it takes long; all times in one answer, the rest of the
/// last.
pub fn rounds(
    times: u64,
    mut work: impl FnMut() -> Result<TimedAnswer, Error>,
) -> Result<TimedAnswer, Error> {
    let begun = Instant::now();
    let mut answer = work()?;
    for _ in 1..times {
        if begun.elapsed() > LONG {
            break;
        }
        let next = work()?;
        answer.ns.extend(next.ns);
    }
    Ok(answer)
}

/// Records a work's time: the median of its calls.
pub fn record(recorder: &mut Recorder, name: &str, answer: &TimedAnswer) {
    if let (false, Some(median)) = (recorder.counts(), stats::median(&answer.ns)) {
        recorder.record(&format!("{name}/wall_ns"), median);
    }
}

/// Fills a shelf and records how long that took.
pub fn fill_and_record(
    recorder: &mut Recorder,
    backends: &mut dyn StoreBackend,
    count: u64,
) -> Result<(), Error> {
    let filled = fill(backends, count)?;
    if !recorder.counts() {
        recorder.record("fill/wall_ns", filled);
    }
    Ok(())
}

/// Reads a shelf in the ways that all have in common. `few` and `many` say how often at most;
/// nothing is recorded unless `timed`.
pub fn read(
    recorder: &mut Recorder,
    backends: &mut dyn StoreBackend,
    uids: &[String],
    (few, many): (u64, u64),
    timed: bool,
) -> Result<(), Error> {
    let record = |recorder: &mut Recorder, name: &str, answer: &TimedAnswer| {
        if timed {
            record(recorder, name, answer);
        }
    };
    let names = rounds(few, || backends.fetch_names())?;
    record(recorder, "names", &names);
    recorder.answer(names.count.to_le_bytes());
    recorder.answer(&names.digest);
    let all = rounds(few, || backends.fetch_all())?;
    record(recorder, "all", &all);
    recorder.answer(all.count.to_le_bytes());
    let one = backends.fetch_one(few, uids)?;
    record(recorder, "get", &one);
    recorder.answer(&one.digest);
    let at_once = backends.fetch_many(many, uids)?;
    record(recorder, "get_many", &at_once);
    recorder.answer(&at_once.digest);
    Ok(())
}

/// Closes a shelf and opens it again, several times.
pub fn reopen(
    recorder: &mut Recorder,
    backends: &mut dyn StoreBackend,
    times: u64,
    timed: bool,
) -> Result<(), Error> {
    let (mut opened, mut closed) = (TimedAnswer::default(), TimedAnswer::default());
    for _ in 0..times {
        closed.ns.extend(backends.close()?.ns);
        opened.ns.extend(backends.open()?.ns);
    }
    if timed {
        record(recorder, "open", &opened);
        record(recorder, "close", &closed);
    }
    Ok(())
}

/// Saves records singly into a filled backend. A counted run traces the writes; with
/// a VFS it records its counters too.
pub fn save_singly(
    recorder: &mut Recorder,
    backends: &mut dyn StoreBackend,
    vfs: Option<&etui_vfs::Vfs>,
    from: u64,
    saves: u64,
) -> Result<(), Error> {
    if recorder.counts() {
        let watched = SaveTrace::attach(
            backends.writer_id()?,
            &recorder.dir().join("trace"),
            recorder.dir(),
        );
        match vfs {
            Some(vfs) => vfs_variants::count_saves(recorder, vfs, backends, from, saves)?,
            None => drop(backends.save_each(from, saves)?),
        }
        if let Some(watched) = watched {
            let written = watched.end()?;
            let each = |count: u64| count as f64 / saves as f64;
            recorder.record("save_one/file_writes", each(written.writes));
            recorder.record("save_one/file_write_bytes", each(written.bytes));
            recorder.record("save_one/flushes", each(written.flushes));
        }
    } else {
        let saved = backends.save_each(from, saves)?;
        record(recorder, "save_one", &saved);
        let mean = saved.ns.iter().sum::<f64>() / saved.ns.len().max(1) as f64;
        recorder.record("save_one_mean/wall_ns", mean);
    }
    recorder.answer(backends.fetch_all()?.count.to_le_bytes());
    Ok(())
}

/// The memory of processes together.
fn used(pids: Vec<u32>) -> Result<ProcessMemory, Error> {
    let mut sum = ProcessMemory::default();
    for pid in pids {
        let memory = ProcessMemory::of(pid)?;
        sum.rss += memory.rss;
        sum.pss += memory.pss;
        sum.vms += memory.vms;
        sum.private_dirty += memory.private_dirty;
    }
    Ok(sum)
}

/// Records the memory of all processes with an empty shelf, with the filled one opened, and with
/// every record fetched, its name read, and kept. `look` is a program's first request.
pub fn memory<S: StoreBackend + ?Sized>(
    recorder: &mut Recorder,
    open: impl Fn(&Recorder, bool) -> Result<Box<S>, Error>,
    look: impl Fn(&mut S) -> Result<TimedAnswer, Error>,
) -> Result<(), Error> {
    let mut empty = open(recorder, false)?;
    look(&mut empty)?;
    empty.hold_all()?;
    let before = used(empty.process_ids())?;
    empty.close()?;
    drop(empty);
    let mut backends = open(recorder, true)?;
    look(&mut backends)?;
    let opened = used(backends.process_ids())?;
    backends.hold_all()?;
    let held = used(backends.process_ids())?;
    for (label, memory) in [("empty", before), ("opened", opened), ("held", held)] {
        for (measure, value) in memory.measures() {
            recorder.record(&format!("{label}/{measure}"), value);
        }
    }
    let names = backends.fetch_names()?;
    recorder.answer(names.count.to_le_bytes());
    recorder.answer(&names.digest);
    Ok(())
}
