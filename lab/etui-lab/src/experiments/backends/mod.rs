//! Shared parts of the experiments on address books and calendars:
//! [`StoreBackend`], the operations of every product on records of any kind, and their measurement.
//!
//! - [`etui`]: a store of etui's;
//! - [`server`]: Evolution Data Server and Akonadi, through our clients;
//! - [`local`]: stores in this process;
//! - [`own`]: a store over etui's own D-Bus interface;
//! - [`trace`]: writes of a save, observed from outside;
//! - [`report`]: tables and charts that they share.

pub mod etui;
pub mod local;
pub mod own;
pub mod report;
pub mod run_all;
pub mod server;
pub mod trace;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use etui_vfs::Vfs;

use self::server::{AkonadiBackend, EdsBackend};
use self::trace::SaveTrace;
use super::common::{copy_shared, register_variant};
use crate::error::Error;
use crate::measure::pinned::run_pinned;
use crate::measure::process::ProcessMemory;
use crate::peers::akonadi::{self, AkonadiSession};
use crate::peers::eds::{
    self, BATCH, EdsSession, Installation, ServedBy, Server, TimedAnswer, digest_names,
};
use crate::stacks::HERE;
use crate::{
    Arm, ArmGroup, ArmRole, ArmSettings, LabContext, Recorder, RunCase, RunPlan, redo, stats,
};

/// The work that measures memory.
pub const MEMORY_WORK: &str = "memory";
/// The work on one core: client, bus and service share it, so that times are processor time.
pub const PINNED_WORK: &str = "clients on one core";
/// Records on a screen, and fetched at once.
pub const SCREEN: u64 = 50;
/// A work that takes longer is not repeated within a run.
const LONG: Duration = Duration::from_millis(150);
/// Bytes in a block of the redo log.
const BLOCK: f64 = 4096.0;

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
    /// Waits for writes that go on after the saves were answered; the time it takes, if there are
    /// any that a program can wait for.
    fn finish_writes(&mut self) -> Result<Option<TimedAnswer>, Error> {
        Ok(None)
    }
    /// The processes that serve it.
    fn process_ids(&self) -> Vec<u32> {
        vec![std::process::id()]
    }
    /// The process that writes.
    fn writer_id(&self) -> Result<u32, Error> {
        Ok(std::process::id())
    }
}

/// Kind of records of an experiment, and the operations on them.
pub trait BackendKind {
    /// The operations of every product.
    type Backend: StoreBackend + ?Sized;
    /// The server that keeps such records.
    const SERVER: Server;
    /// The file of the records to be saved, in the group's directory.
    const RECORDS: &'static str;
    /// Returns the client's commands that create the server's collection and open it.
    fn commands(settings: &ArmSettings) -> Result<[Vec<&str>; 2], Error>;
    /// Returns the operations by the server's client.
    fn of_server(backend: EdsBackend) -> Box<Self::Backend>;
    /// Returns the operations by Akonadi's client.
    fn of_akonadi(_backend: AkonadiBackend) -> Result<Box<Self::Backend>, Error> {
        Err(Error::not_run("Akonadi is driven with contacts alone"))
    }
    /// Opens a store in this process, created if there is none; with records to be saved.
    fn open_local(
        case: &RunCase,
        shared: &Path,
        path: &Path,
        vfs: Option<&str>,
        to_save: bool,
    ) -> Result<Box<Self::Backend>, Error>;
    /// Reads the filled store in the ways of this kind alone.
    fn read_records(
        case: &RunCase,
        pass: &mut ReadPass<'_>,
        backend: &mut Self::Backend,
    ) -> Result<(), Error>;
    /// A program's first request.
    fn look(backend: &mut Self::Backend) -> Result<TimedAnswer, Error>;
}

/// Whether an arm is of a product.
pub fn is_product(settings: &ArmSettings, name: &str) -> bool {
    settings
        .text("product")
        .is_ok_and(|product| product == name)
}

/// Whether an arm's reads differ from those of the arm that it is a variant of: made durable,
/// deferred or on another VFS it reads the same.
fn reads_differ(settings: &ArmSettings) -> bool {
    let variants = ["durable", "deferred", "etui-vfs"];
    !variants.into_iter().any(|variant| settings.is(variant))
}

/// An arm as it is declared: name, role, settings.
pub type ArmSpec<'a> = (&'a str, ArmRole, &'a str);

/// Plans a work on collections of each size, their memory at the largest, and the arms of clients
/// at the largest on one core.
pub fn plan_sizes<K: BackendKind>(
    lab: &LabContext,
    plan: &mut RunPlan,
    work: &str,
    arms: &[ArmSpec<'_>],
    clients: &[ArmSpec<'_>],
) {
    let available = eds::available(K::SERVER);
    if let Err(reason) = &available {
        plan.skip("arms of Evolution Data Server", reason);
    }
    let declare = |arms: &[ArmSpec<'_>]| {
        let arms = arms.iter().map(|(name, role, settings)| {
            Arm::new(*name, *role, *settings).with("saves", lab.value("saves"))
        });
        let can_run = |arm: &Arm| available.is_ok() || !is_product(&arm.settings, "eds");
        arms.filter(can_run).collect::<Vec<Arm>>()
    };
    let (mut arms, clients) = (declare(arms), declare(clients));
    let mut sizes = lab.values("sizes").to_vec();
    sizes.sort_unstable();
    for &size in &sizes {
        plan.groups.push(ArmGroup {
            repetitions: if lab.quick() { 3 } else { 5 },
            counted: Some(&size) == sizes.last(),
            seconds: 1.0 + size as f64 / 2_500.0,
            ..ArmGroup::new(work, HERE, size, arms.clone())
        });
    }
    if let Some(largest) = plan.groups.last().cloned() {
        plan.groups.push(ArmGroup {
            work: PINNED_WORK.to_owned(),
            counted: false,
            arms: clients.clone(),
            ..largest.clone()
        });
        for client in clients {
            if arms.iter().all(|arm| arm.name != client.name) {
                arms.push(client);
            }
        }
        arms.retain(|arm| reads_differ(&arm.settings));
        plan.groups.push(ArmGroup {
            work: MEMORY_WORK.to_owned(),
            repetitions: 1,
            counted: false,
            arms,
            ..largest
        });
    }
}

/// Number of records of a group: those of the fill, and those that are saved singly.
pub fn count_records(group: &ArmGroup) -> Result<u64, Error> {
    let saves = group.arms.first().map(|arm| arm.settings.number("saves"));
    match group.work.as_str() {
        MEMORY_WORK => Ok(group.size),
        _ => Ok(group.size + saves.transpose()?.unwrap_or(0)),
    }
}

/// Compiles the server's client for each installation that the arms need.
pub fn build_client<K: BackendKind>(group: &ArmGroup, dir: &Path) -> Result<(), Error> {
    for arm in &group.arms {
        if is_product(&arm.settings, "eds") {
            let suite = arm.settings.text("suite").ok();
            Installation::of(suite)?.build(K::SERVER, dir)?;
        }
    }
    Ok(())
}

/// Contents of a collection that is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Contents {
    /// None; records are to be saved into it.
    ToFill,
    /// None.
    Empty,
    /// All records, saved by other processes.
    Filled,
}

/// Opens the collection of an arm; through a VFS, if it is plain SQLite's and one is named.
fn open_backend<K: BackendKind>(
    case: &RunCase,
    recorder: &Recorder,
    vfs: Option<&str>,
    contents: Contents,
) -> Result<Box<K::Backend>, Error> {
    let name = format!("{contents:?}");
    let (path, shared) = (recorder.dir().join(&name), recorder.shared());
    let product = case.settings.text("product")?;
    let filled = contents == Contents::Filled;
    if product == "akonadi" {
        let backend = open_akonadi(&path, shared, K::RECORDS, contents)?;
        return K::of_akonadi(backend);
    }
    if product != "eds" {
        if filled {
            let store = if product == "own" { "etui" } else { product };
            copy_shared(recorder, &format!("filled.{store}"), &name)?;
        }
        return K::open_local(case, shared, &path, vfs, contents == Contents::ToFill);
    }
    let installation = Installation::of(case.settings.text("suite").ok())?;
    installation.check(K::SERVER).map_err(Error::not_run)?;
    let built = installation.build(K::SERVER, shared)?;
    let [create, connect] = K::commands(&case.settings)?;
    let records = shared.join(K::RECORDS);
    let served_by = match (case.settings.is("by-etui"), case.settings.is("durable")) {
        (true, _) => ServedBy::Etui,
        (_, true) => ServedBy::DurableStock,
        _ => ServedBy::Stock,
    };
    fs::create_dir_all(&path).map_err(|e| Error::file(&path, e))?;
    if filled {
        eds::fill(&path, &built, served_by, &[&create, &connect], &records)?;
    }
    let session = EdsSession::start(&path, &built, served_by)?;
    let create = (!filled).then_some(create.as_slice());
    let mut backend = EdsBackend::open(session, create, &connect)?;
    if contents == Contents::ToFill {
        backend.load(&records)?;
    }
    Ok(K::of_server(backend))
}

/// Opens an address book of Akonadi.
fn open_akonadi(
    path: &Path,
    shared: &Path,
    records: &str,
    contents: Contents,
) -> Result<AkonadiBackend, Error> {
    akonadi::check().map_err(Error::not_run)?;
    let client = akonadi::build(shared)?;
    let start = |create| {
        let session = AkonadiSession::start(path, &client)?;
        AkonadiBackend::open(session, create, &["connect"])
    };
    let create = Some(["create"].as_slice());
    let records = shared.join(records);
    fs::create_dir_all(path).map_err(|e| Error::file(path, e))?;
    if contents == Contents::Filled {
        let mut backend = start(create)?;
        let count = backend.load(&records)?;
        fill(&mut backend, count)?;
        backend.finish_writes()?;
        drop(backend);
        return start(None);
    }
    let mut backend = start(create)?;
    if contents == Contents::ToFill {
        backend.load(&records)?;
    }
    Ok(backend)
}

/// Runs an arm: fills its collection, reads it in every way and saves into it singly; or measures
/// the memory that it takes.
pub fn run_arm<K: BackendKind>(case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
    match case.work.as_str() {
        MEMORY_WORK => measure_memory::<K>(case, recorder),
        PINNED_WORK => run_pinned(|_| measure_works::<K>(case, recorder)),
        _ => measure_works::<K>(case, recorder),
    }
}

/// Fills a collection and saves into it singly, without reads between.
pub fn measure_saves<K: BackendKind>(case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
    let mut backend = open_backend::<K>(case, recorder, None, Contents::ToFill)?;
    let filled = fill(&mut *backend, case.size)?;
    if !recorder.counts() {
        recorder.record("fill/wall_ns", filled);
    }
    let saves = case.settings.number("saves")?;
    save_singly(recorder, &mut *backend, None, case.size, saves)
}

fn measure_works<K: BackendKind>(case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
    let vfs = register_variant(&case.settings)?;
    let vfs_name = vfs.as_ref().map(Vfs::name);
    let mut backend = open_backend::<K>(case, recorder, vfs_name, Contents::ToFill)?;
    let filled = fill(&mut *backend, case.size)?;
    if !recorder.counts() {
        recorder.record("fill/wall_ns", filled);
    }
    if let Some(rest) = backend.finish_writes()? {
        record(recorder, "finish_writes", &rest);
    }
    let timed = !recorder.counts() && reads_differ(&case.settings);
    K::read_records(case, &mut ReadPass { recorder, timed }, &mut *backend)?;
    let saves = case.settings.number("saves")?;
    save_singly(recorder, &mut *backend, vfs.as_ref(), case.size, saves)
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

/// An answer of pairs that are kept.
pub fn answer_pairs(ns: Vec<f64>, named: &[(String, String)]) -> TimedAnswer {
    let pairs = named.iter();
    answer(ns, pairs.map(|(uid, name)| (uid.as_str(), name.as_str())))
}

/// Fills a collection in batches; the time of all of them.
pub fn fill<B: StoreBackend + ?Sized>(backend: &mut B, count: u64) -> Result<f64, Error> {
    let mut ns = 0.0;
    for from in (0..count).step_by(BATCH as usize) {
        let answer = backend.save_batch(from, (count - from).min(BATCH))?;
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

/// Reads of a filled collection. In a counted run, and by arms that differ in their saves, each is
/// made once, for the answer alone.
pub struct ReadPass<'r> {
    /// Recorder of the run.
    pub recorder: &'r mut Recorder,
    timed: bool,
}

impl ReadPass<'_> {
    /// How often a read is made.
    pub fn times(&self, times: u64) -> u64 {
        if self.timed { times } else { 1 }
    }

    /// Records a read's time.
    pub fn record(&mut self, name: &str, answer: &TimedAnswer) {
        if self.timed {
            record(self.recorder, name, answer);
        }
    }

    /// Records a read's time; its records are part of the answer.
    pub fn record_answer(&mut self, name: &str, answer: &TimedAnswer) {
        self.record(name, answer);
        self.recorder.answer(answer.count.to_le_bytes());
        self.recorder.answer(&answer.digest);
        if self.recorder.counts() {
            self.recorder
                .record(&format!("{name}/hits"), answer.count as f64);
        }
    }

    /// Reads in the ways that all kinds of records have in common.
    pub fn read_common<B: StoreBackend + ?Sized>(
        &mut self,
        backend: &mut B,
        uids: &[String],
    ) -> Result<(), Error> {
        let few = self.times(3);
        self.record_answer("names", &rounds(few, || backend.fetch_names())?);
        self.record_answer("all", &rounds(few, || backend.fetch_all())?);
        self.record_answer("get", &backend.fetch_one(few, uids)?);
        let many = self.times(10);
        self.record_answer("get_many", &backend.fetch_many(many, uids)?);
        Ok(())
    }

    /// Closes a collection and opens it again, several times.
    pub fn reopen<B: StoreBackend + ?Sized>(&mut self, backend: &mut B) -> Result<(), Error> {
        let (mut opened, mut closed) = (TimedAnswer::default(), TimedAnswer::default());
        for _ in 0..self.times(5) {
            closed.ns.extend(backend.close()?.ns);
            opened.ns.extend(backend.open()?.ns);
        }
        self.record("open", &opened);
        self.record("close", &closed);
        Ok(())
    }
}

/// Saves records singly into a filled backend. A counted run traces the writes; with
/// a VFS it records its counters too, and the log bytes of one save.
fn save_singly<B: StoreBackend + ?Sized>(
    recorder: &mut Recorder,
    backend: &mut B,
    vfs: Option<&Vfs>,
    from: u64,
    saves: u64,
) -> Result<(), Error> {
    if recorder.counts() {
        let trace = recorder.dir().join("trace");
        let watched = SaveTrace::attach(backend.writer_id()?, &trace, recorder.dir());
        match vfs {
            Some(vfs) => {
                let (before, mut blocks) = (vfs.counters(), Vec::new());
                for at in from..from + saves {
                    let earlier = vfs.counters();
                    backend.save_each(at, 1)?;
                    blocks.push(vfs.counters().since(&earlier).blocks as f64 * BLOCK);
                }
                redo::record_counters(recorder, "saves", &vfs.counters().since(&before));
                if let Some(median) = stats::median(&blocks) {
                    recorder.record("save_one/vfs_median_block_bytes", median);
                }
            }
            None => drop(backend.save_each(from, saves)?),
        }
        if let Some(watched) = watched {
            let written = watched.end()?;
            let each = |count: u64| count as f64 / saves as f64;
            recorder.record("save_one/file_writes", each(written.writes));
            recorder.record("save_one/file_write_bytes", each(written.bytes));
            recorder.record("save_one/flushes", each(written.flushes));
        }
    } else {
        let saved = backend.save_each(from, saves)?;
        record(recorder, "save_one", &saved);
        let mean = saved.ns.iter().sum::<f64>() / saved.ns.len().max(1) as f64;
        recorder.record("save_one_mean/wall_ns", mean);
    }
    recorder.answer(backend.fetch_all()?.count.to_le_bytes());
    Ok(())
}

/// Records the memory of all processes with an empty collection, with the filled one opened, and
/// with every record fetched, its name read, and kept.
pub fn measure_memory<K: BackendKind>(
    case: &RunCase,
    recorder: &mut Recorder,
) -> Result<(), Error> {
    let vfs = register_variant(&case.settings)?;
    let vfs = vfs.as_ref().map(Vfs::name);
    let record = |recorder: &mut Recorder, label: &str, backend: &K::Backend| {
        for pid in backend.process_ids() {
            for (measure, value) in ProcessMemory::of(pid)?.measures() {
                recorder.record(&format!("{label}/{measure}"), value);
            }
        }
        Ok::<_, Error>(())
    };
    let mut empty = open_backend::<K>(case, recorder, vfs, Contents::Empty)?;
    K::look(&mut empty)?;
    empty.hold_all()?;
    record(recorder, "empty", &empty)?;
    empty.close()?;
    drop(empty);
    let mut backend = open_backend::<K>(case, recorder, vfs, Contents::Filled)?;
    K::look(&mut backend)?;
    record(recorder, "opened", &backend)?;
    backend.hold_all()?;
    record(recorder, "held", &backend)?;
    let names = backend.fetch_names()?;
    recorder.answer(names.count.to_le_bytes());
    recorder.answer(&names.digest);
    Ok(())
}
