//! What the experiments on records in a store share, address books and calendars alike:
//! [`Shelf`], the works that every product does with records of any kind, and what measures them.
//!
//! - [`etui`]: a store of etui's;
//! - [`eds`]: Evolution Data Server;
//! - [`through`]: arms whose SQLite goes through the VFS `etui`;
//! - [`trace`]: what a save writes, watched from outside;
//! - [`show`]: tables and curves, arms down, works across, each against etui.

pub mod eds;
pub mod etui;
pub mod show;
pub mod through;
pub mod trace;
#[cfg(test)]
pub mod trial;

use std::time::{Duration, Instant};

use self::trace::Trace;
use crate::error::Error;
use crate::measure::process::Memory;
use crate::peers::eds::{Answer, BATCH, digest};
use crate::{Meter, stats};

/// A work that takes longer is not repeated within a run.
const LONG: Duration = Duration::from_millis(150);

/// Records that are open.
///
/// Every work answers with the time of each of its calls, in nanoseconds, how many records
/// came, and where names are at hand a digest of UIDs and names.
pub trait Shelf {
    /// Saves records in one call.
    fn batch(&mut self, from: u64, count: u64) -> Result<Answer, Error>;
    /// Saves records singly.
    fn singles(&mut self, from: u64, count: u64) -> Result<Answer, Error>;
    /// Fetches every record.
    fn all(&mut self) -> Result<Answer, Error>;
    /// Fetches every record and reads its name.
    fn names(&mut self) -> Result<Answer, Error>;
    /// Fetches records one by one.
    fn get(&mut self, times: u64, uids: &[String]) -> Result<Answer, Error>;
    /// Fetches records in one call.
    fn many(&mut self, times: u64, uids: &[String]) -> Result<Answer, Error>;
    /// Closes it; the time it takes.
    fn close(&mut self) -> Result<Answer, Error>;
    /// Opens it again; the time it takes.
    fn open(&mut self) -> Result<Answer, Error>;
    /// Fetches every record, reads its name and keeps them: for the memory that takes.
    fn hold(&mut self) -> Result<(), Error>;
    /// The processes that serve it.
    fn processes(&self) -> Vec<u32>;
    /// The process that writes.
    fn writer(&self) -> Result<u32, Error>;
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
pub fn each(times: u64, mut work: impl FnMut(u64) -> Result<u64, Error>) -> Result<Answer, Error> {
    let mut n = 0;
    let (ns, count) = timed(times, || {
        n += 1;
        work(n)
    })?;
    Ok(counted(ns, count))
}

/// An answer whose digest nobody asks for.
pub fn counted(ns: Vec<f64>, count: u64) -> Answer {
    Answer {
        ns,
        count,
        ..Answer::default()
    }
}

/// An answer of UIDs and names.
pub fn answer<'a>(ns: Vec<f64>, records: impl Iterator<Item = (&'a str, &'a str)>) -> Answer {
    let mut count = 0;
    let digest = digest(records.inspect(|_| count += 1));
    Answer { ns, count, digest }
}

/// The same of pairs that are kept.
pub fn answer_pairs(ns: Vec<f64>, named: &[(String, String)]) -> Answer {
    let pairs = named.iter();
    answer(ns, pairs.map(|(uid, name)| (uid.as_str(), name.as_str())))
}

/// The time since then, as an answer.
pub fn since(begun: Instant) -> Answer {
    counted(vec![begun.elapsed().as_nanos() as f64], 0)
}

/// Fills a shelf in batches; the time of all of them.
pub fn fill(shelf: &mut dyn Shelf, count: u64) -> Result<f64, Error> {
    let mut ns = 0.0;
    for from in (0..count).step_by(BATCH as usize) {
        let answer = shelf.batch(from, (count - from).min(BATCH))?;
        ns += answer.ns.iter().sum::<f64>();
    }
    Ok(ns)
}

/// Does a work several times, fewer if it takes long; all times in one answer, the rest of the
/// last.
pub fn rounds(
    times: u64,
    mut work: impl FnMut() -> Result<Answer, Error>,
) -> Result<Answer, Error> {
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
pub fn record(meter: &mut Meter, name: &str, answer: &Answer) {
    if let (false, Some(median)) = (meter.counts(), stats::median(&answer.ns)) {
        meter.record(&format!("{name}/wall_ns"), median);
    }
}

/// Fills a shelf and records how long that took.
pub fn fill_and_record(meter: &mut Meter, shelf: &mut dyn Shelf, count: u64) -> Result<(), Error> {
    let filled = fill(shelf, count)?;
    if !meter.counts() {
        meter.record("fill/wall_ns", filled);
    }
    Ok(())
}

/// Reads a shelf in the ways that all have in common. `few` and `many` say how often at most;
/// nothing is recorded unless `timed`.
pub fn read(
    meter: &mut Meter,
    shelf: &mut dyn Shelf,
    uids: &[String],
    (few, many): (u64, u64),
    timed: bool,
) -> Result<(), Error> {
    let record = |meter: &mut Meter, name: &str, answer: &Answer| {
        if timed {
            record(meter, name, answer);
        }
    };
    let names = rounds(few, || shelf.names())?;
    record(meter, "names", &names);
    meter.answer(names.count.to_le_bytes());
    meter.answer(&names.digest);
    let all = rounds(few, || shelf.all())?;
    record(meter, "all", &all);
    meter.answer(all.count.to_le_bytes());
    let one = shelf.get(few, uids)?;
    record(meter, "get", &one);
    meter.answer(&one.digest);
    let at_once = shelf.many(many, uids)?;
    record(meter, "get_many", &at_once);
    meter.answer(&at_once.digest);
    Ok(())
}

/// Closes a shelf and opens it again, several times.
pub fn reopen(
    meter: &mut Meter,
    shelf: &mut dyn Shelf,
    times: u64,
    timed: bool,
) -> Result<(), Error> {
    let (mut opened, mut closed) = (Answer::default(), Answer::default());
    for _ in 0..times {
        closed.ns.extend(shelf.close()?.ns);
        opened.ns.extend(shelf.open()?.ns);
    }
    if timed {
        record(meter, "open", &opened);
        record(meter, "close", &closed);
    }
    Ok(())
}

/// Saves records singly into a filled shelf. In a counted run it is watched what is written; with
/// a VFS also what that counts.
pub fn save_singly(
    meter: &mut Meter,
    shelf: &mut dyn Shelf,
    vfs: Option<&etui_vfs::Vfs>,
    from: u64,
    saves: u64,
) -> Result<(), Error> {
    if meter.counts() {
        let watched = Trace::attach(shelf.writer()?, &meter.dir().join("trace"), meter.dir());
        match vfs {
            Some(vfs) => through::saves(meter, vfs, shelf, from, saves)?,
            None => drop(shelf.singles(from, saves)?),
        }
        if let Some(watched) = watched {
            let written = watched.end()?;
            let each = |count: u64| count as f64 / saves as f64;
            meter.record("save_one/file_writes", each(written.writes));
            meter.record("save_one/file_write_bytes", each(written.bytes));
            meter.record("save_one/flushes", each(written.flushes));
        }
    } else {
        let saved = shelf.singles(from, saves)?;
        record(meter, "save_one", &saved);
        let mean = saved.ns.iter().sum::<f64>() / saved.ns.len().max(1) as f64;
        meter.record("save_one_mean/wall_ns", mean);
    }
    meter.answer(shelf.all()?.count.to_le_bytes());
    Ok(())
}

/// The memory of processes together.
fn used(pids: Vec<u32>) -> Result<Memory, Error> {
    let mut sum = Memory::default();
    for pid in pids {
        let memory = Memory::of(pid)?;
        sum.rss += memory.rss;
        sum.pss += memory.pss;
        sum.vms += memory.vms;
        sum.private_dirty += memory.private_dirty;
    }
    Ok(sum)
}

/// Records the memory of all processes with an empty shelf, with the filled one opened, and with
/// every record fetched, its name read, and kept. `look` is what a program does first.
pub fn memory<S: Shelf + ?Sized>(
    meter: &mut Meter,
    open: impl Fn(&Meter, bool) -> Result<Box<S>, Error>,
    look: impl Fn(&mut S) -> Result<Answer, Error>,
) -> Result<(), Error> {
    let mut empty = open(meter, false)?;
    look(&mut empty)?;
    empty.hold()?;
    let before = used(empty.processes())?;
    empty.close()?;
    drop(empty);
    let mut shelf = open(meter, true)?;
    look(&mut shelf)?;
    let opened = used(shelf.processes())?;
    shelf.hold()?;
    let held = used(shelf.processes())?;
    for (label, memory) in [("empty", before), ("opened", opened), ("held", held)] {
        for (measure, value) in memory.measures() {
            meter.record(&format!("{label}/{measure}"), value);
        }
    }
    let names = shelf.names()?;
    meter.answer(names.count.to_le_bytes());
    meter.answer(&names.digest);
    Ok(())
}
