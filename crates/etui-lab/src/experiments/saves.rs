//! `saves`: the cost of single durable saves, alone, from many threads, and with views open.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use etui::contacts::{Card, Contacts, Filter, View, ViewChanges};
use etui::{Options, Store, Vfs};
use etui_lab_io::instrumented::{FileKind, InstrumentedOptions, InstrumentedVfs};
use etui_testkit::people::People;
use rustix::time::{ClockId, clock_gettime};

use super::searches::people_options;
use crate::measure::process::written_bytes;
use crate::stacks::HERE;
use crate::{
    Arm, ArmGroup, ArmRole, ArmSettings, Conclusion, Error, Experiment, ExperimentInfo, LabContext,
    Measure, Parameter, Per, Recorder, ReportSpec, Results, RunCase, RunPlan, TableSpec, Threshold,
    stats,
};

const NAME: &str = "saves";
const STORE: &str = "contacts.etui";

const NEW: &str = "new contacts";
const CHANGED: &str = "changed phone numbers";
const THREADS: &str = "threads";
const SLOW_THREADS: &str = "threads, flushes 3 ms longer";
const VIEWS: &str = "views open";
const LATENCY: &str = "from a save to a view";

const SYSTEM_VFS: &str = "SQLite's WAL";
const ETUI_VFS: &str = "etui-vfs";
const ONE_THREAD: &str = "1 thread";
const MANY_THREADS: &str = "16 threads";
const SAME_PROCESS: &str = "same process";
const OTHER_PROCESS: &str = "another process";

const SLOW_FLUSH: Duration = Duration::from_millis(3);
/// Saves of a thread group per second, as a multiple of one thread's, with slow flushes.
const MIN_GROUP_SPEEDUP: f64 = 6.0;
/// Saves with 1,000 views open, as a multiple of the time with none.
const MAX_VIEW_COST: f64 = 1.25;
/// Saves larger than this include a merge or a checkpoint.
const MAX_SINGLE_BYTES: f64 = 262_144.0;
/// Between two saves whose latency is measured.
const PACE: Duration = Duration::from_millis(5);

/// Longest time without a change before a reader gives up.
const MAX_SILENCE: Duration = Duration::from_secs(10);

/// The experiment.
pub struct Saves;

impl Experiment for Saves {
    fn experiment_info(&self) -> ExperimentInfo {
        ExperimentInfo {
            name: NAME,
            title: "Single durable saves: bytes, flushes, threads, open views",
            study: None,
            question: "What does one durable save cost, how much do threads share, and how soon \
                       does a view report it?",
            method: "Contacts are saved one by one, each durable when the call returns, into a \
                     store that was filled by one batch. Bytes are those handed to the kernel. \
                     Threads share the saves between them; flushes are counted, and delayed, by \
                     an instrumented VFS. Views have one filter each and none of them matches, \
                     except for the latency, where one does: from the return of a save to the \
                     reader's receipt, one save every 5 ms.",
            same_answer: "The number of contacts afterwards.",
            found: &[],
            parameters: &[
                Parameter {
                    name: "contacts",
                    about: "contacts in the store beforehand",
                    quick: &[12_800],
                    full: &[12_800],
                },
                Parameter {
                    name: "saves",
                    about: "contacts saved",
                    quick: &[640],
                    full: &[2_560],
                },
            ],
        }
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let saves = lab.value("saves");
        let arm = |name: &str, setting: &str, value: u64| {
            let settings = ArmSettings::new().with("saves", saves);
            Arm::new(name, ArmRole::Etui, settings.with(setting, value))
        };
        let vfs = || vec![arm(SYSTEM_VFS, "system", 1), arm(ETUI_VFS, "system", 0)];
        let threads = || {
            vec![
                arm(ONE_THREAD, "threads", 1),
                arm("2 threads", "threads", 2),
                arm(MANY_THREADS, "threads", 16),
            ]
        };
        let views = [0, 1, 100, 1_000].map(|count| arm(&view_arm(count), "views", count));
        let latency = vec![
            arm(SAME_PROCESS, "views", 0),
            arm("same process, 1,000 other views", "views", 1_000),
            arm(OTHER_PROCESS, "other process", 1),
        ];
        let group = |(work, arms): (&str, Vec<Arm>)| ArmGroup {
            work: work.to_owned(),
            stack: HERE.to_owned(),
            size: lab.value("contacts"),
            repetitions: if lab.quick() { 3 } else { 5 },
            seconds: saves as f64 / 1_000.0,
            arms,
            ..ArmGroup::default()
        };
        let works = [
            (NEW, vfs()),
            (CHANGED, vfs()),
            (THREADS, threads()),
            (SLOW_THREADS, threads()),
            (VIEWS, views.to_vec()),
            (LATENCY, latency),
        ];
        Ok(RunPlan {
            groups: works.into_iter().map(group).collect(),
            not_run: Vec::new(),
        })
    }

    fn set_up(&self, group: &ArmGroup, dir: &Path) -> Result<(), Error> {
        let store = Store::open_with(dir.join(STORE), &people_options())?;
        store.contacts()?.save_many(&make_cards(1, group.size)?)?;
        store.merge_index()?;
        Ok(store.close()?)
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        let path = recorder.dir().join(STORE);
        let source = recorder.shared().join(STORE);
        std::fs::copy(&source, &path).map_err(|e| Error::file(&source, e))?;
        let saves = case.settings.number("saves")?;
        let mut options = people_options();
        match case.work.as_str() {
            NEW | CHANGED => {
                if case.settings.number("system")? == 0 {
                    options.vfs = Vfs::Etui;
                }
                let cards = match case.work.as_str() {
                    NEW => make_cards(2, saves)?,
                    _ => change_numbers(make_cards(1, saves)?)?,
                };
                save_singly(&path, &options, &cards, recorder)
            }
            THREADS => share_saves(&path, &options, case, Duration::ZERO, recorder),
            SLOW_THREADS => share_saves(&path, &options, case, SLOW_FLUSH, recorder),
            VIEWS => save_with_views(&path, &options, case, recorder),
            LATENCY => measure_latency(&path, &options, case, recorder),
            other => Err(Error::other(format!("no work `{other}`"))),
        }
    }

    fn report_spec(&self, results: &Results) -> ReportSpec {
        let group = |work: &str| results.select_groups(&[work], &[HERE]).into_iter().next();
        let table = |work: &str, caption: &str, measures, base| TableSpec {
            title: format!("Saves: {work}"),
            caption: caption.to_owned(),
            groups: results.select_groups(&[work], &[HERE]),
            measures,
            base,
            ..TableSpec::default()
        };
        let one = || Measure::new("one, median", "save/p50_ns");
        let single = || {
            vec![
                Measure::new("bytes, median", "save/p50_bytes"),
                Measure::new("bytes, mean", "save/mean_bytes"),
                Measure::new("with merges and checkpoints", "save/called_write_bytes")
                    .per(Per::Setting("saves")),
                Measure::new("flushes", "save/flushes").per(Per::Setting("saves")),
                one(),
                Measure::wall_time("with merges and checkpoints", "save")
                    .per(Per::Setting("saves")),
            ]
        };
        let each = || Measure::wall_time("a save", "save").per(Per::Setting("saves"));
        let shared = || {
            vec![
                each(),
                Measure::new("flushes a save", "save/flushes").per(Per::Setting("saves")),
            ]
        };
        let report = || Measure::new("median", "report/p50_ns");
        let slow = group(SLOW_THREADS);
        ReportSpec {
            tables: vec![
                table(
                    NEW,
                    "The mean leaves out merges of the index.",
                    single(),
                    Some(SYSTEM_VFS),
                ),
                table(
                    CHANGED,
                    "The mean leaves out merges of the index.",
                    single(),
                    Some(SYSTEM_VFS),
                ),
                table(
                    SLOW_THREADS,
                    "Ratios are to one thread.",
                    shared(),
                    Some(ONE_THREAD),
                ),
                table(
                    THREADS,
                    "Ratios are to one thread.",
                    shared(),
                    Some(ONE_THREAD),
                ),
                table(
                    VIEWS,
                    "Views that none of the saves concerns; ratios are to no view.",
                    vec![
                        one(),
                        Measure::new("99th percentile", "save/p99_ns"),
                        each(),
                    ],
                    Some("0 views"),
                ),
                table(
                    LATENCY,
                    "",
                    vec![
                        report(),
                        Measure::new("99th percentile", "report/p99_ns"),
                        Measure::new("longest", "report/max_ns"),
                    ],
                    None,
                ),
            ],
            thresholds: vec![
                Threshold::target(
                    "time of 16 threads for a save against one thread's, flushes 3 ms longer",
                    slow.as_ref(),
                    MANY_THREADS,
                    each(),
                )
                .against_arm(ONE_THREAD)
                .at_most(1.0 / MIN_GROUP_SPEEDUP),
                Threshold::target(
                    "a save with 1,000 views open",
                    group(VIEWS).as_ref(),
                    view_arm(1_000),
                    one(),
                )
                .against_arm(view_arm(0))
                .at_most(MAX_VIEW_COST),
                Threshold::target(
                    "bytes of a new contact through etui-vfs",
                    group(NEW).as_ref(),
                    ETUI_VFS,
                    Measure::new("bytes", "save/p50_bytes"),
                )
                .against_arm(SYSTEM_VFS)
                .at_most(1.0),
                Threshold::target(
                    "a save reported to a view of another process",
                    group(LATENCY).as_ref(),
                    OTHER_PROCESS,
                    report(),
                ),
            ],
            conclusion: Conclusion {
                yes: "Threads share flushes, and views cost writers little.",
                partly: "A target of single saves is missed.",
                no: "All targets of single saves are missed.",
            },
            ..ReportSpec::default()
        }
    }
}

fn view_arm(count: u64) -> String {
    format!("{count} view{}", if count == 1 { "" } else { "s" })
}

fn make_cards(seed: u64, count: u64) -> Result<Vec<Card>, Error> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let texts = People::new(seed).take(count);
    texts.map(|text| Ok(Card::parse(text)?)).collect()
}

fn change_numbers(mut cards: Vec<Card>) -> Result<Vec<Card>, Error> {
    for (at, card) in cards.iter_mut().enumerate() {
        card.set("TEL", &format!("+49 30 23125 {at:04}"))?;
    }
    Ok(cards)
}

/// Records the median and the upper quantiles of times in nanoseconds.
fn record_quantiles(recorder: &mut Recorder, phase: &str, times: &[f64]) {
    for (name, part) in [("p50_ns", 0.5), ("p99_ns", 0.99), ("max_ns", 1.0)] {
        if let Some(time) = stats::quantile(times, part) {
            recorder.record(&format!("{phase}/{name}"), time);
        }
    }
}

fn record_count(recorder: &mut Recorder, contacts: &Contacts<'_>) -> Result<(), Error> {
    recorder.answer(contacts.count()?.to_le_bytes());
    Ok(())
}

/// Saves cards one by one; records the bytes and the time of each.
fn save_singly(
    path: &Path,
    options: &Options,
    cards: &[Card],
    recorder: &mut Recorder,
) -> Result<(), Error> {
    // A store's first save makes the log.
    let store = Store::open_with(path, options)?;
    store.contacts()?.save(&make_cards(3, 1)?.remove(0))?;
    store.close()?;
    let store = Store::open_with(path, options)?;
    let contacts = store.contacts()?;
    let before = store.vfs_counters();
    let (mut times, mut bytes) = (Vec::new(), Vec::new());
    recorder.phase("save", || {
        for card in cards {
            let (written, begun) = (written_bytes(), Instant::now());
            contacts.save(card)?;
            times.push(begun.elapsed().as_nanos() as f64);
            bytes.push(written_bytes().saturating_sub(written) as f64);
        }
        Ok(())
    })?;
    let flushes = match (before, store.vfs_counters()) {
        (Some(before), Some(now)) => now.since(&before).redo_flushes,
        // SQLite's own VFS does not count: one for each save, checkpoints left out.
        _ => cards.len() as u64,
    };
    recorder.record("save/flushes", flushes as f64);
    record_quantiles(recorder, "save", &times);
    if let Some(median) = stats::median(&bytes) {
        recorder.record("save/p50_bytes", median);
    }
    bytes.retain(|bytes| *bytes < MAX_SINGLE_BYTES);
    let mean = bytes.iter().sum::<f64>() / bytes.len().max(1) as f64;
    recorder.record("save/mean_bytes", mean);
    record_count(recorder, &contacts)
}

/// Shares saves between threads; flushes are delayed and counted.
fn share_saves(
    path: &Path,
    options: &Options,
    case: &RunCase,
    delay: Duration,
    recorder: &mut Recorder,
) -> Result<(), Error> {
    let vfs_options = InstrumentedOptions {
        sync_delay: delay,
        ..InstrumentedOptions::default()
    };
    let failed = |e: etui_lab_io::Error| Error::other(e.to_string());
    let vfs = InstrumentedVfs::register(NAME, vfs_options).map_err(failed)?;
    vfs.make_default().map_err(failed)?;
    let flushes = || {
        let counters = vfs.counters();
        counters.of(FileKind::Wal).syncs + counters.of(FileKind::Database).syncs
    };
    let store = Store::open_with(path, options)?;
    let contacts = store.contacts()?;
    let cards = make_cards(2, case.settings.number("saves")?)?;
    let threads = usize::try_from(case.settings.number("threads")?).unwrap_or(1);
    let before = flushes();
    recorder.phase("save", || {
        std::thread::scope(|scope| {
            let chunks = cards.chunks(cards.len().div_ceil(threads).max(1));
            let saving: Vec<_> = chunks
                .map(|cards| {
                    scope.spawn(|| {
                        cards
                            .iter()
                            .try_for_each(|card| contacts.save(card).map(drop))
                    })
                })
                .collect();
            for thread in saving {
                match thread.join() {
                    Ok(saved) => saved?,
                    Err(_) => return Err(Error::other("a saving thread panicked")),
                }
            }
            Ok(())
        })
    })?;
    recorder.record("save/flushes", (flushes() - before) as f64);
    record_count(recorder, &contacts)
}

/// Opens views whose filters match none of the saved contacts: names, numbers, addresses, words.
fn open_views<'s>(contacts: &Contacts<'s>, count: u64) -> Result<Vec<View<'s>>, Error> {
    let views = (0..count).map(|at| {
        let text = match at % 8 {
            0 => format!("name:vornamex{at}"),
            1 => format!("name:n{at}*"),
            2 => format!("phone:*{:07}", at * 7919),
            3 => format!("email:*@host{at}.example"),
            4 => format!("org:*firma{at}*"),
            5 => format!("category:c{at}"),
            6 => format!("suche{at}"),
            _ => format!("phone:+4930{:07}", at * 104_729),
        };
        Ok(contacts.view(&parse_filter(&text)?)?)
    });
    views.collect()
}

fn parse_filter(text: &str) -> Result<Filter, Error> {
    text.parse()
        .map_err(|_| Error::other(format!("`{text}` is no filter")))
}

fn save_with_views(
    path: &Path,
    options: &Options,
    case: &RunCase,
    recorder: &mut Recorder,
) -> Result<(), Error> {
    let store = Store::open_with(path, options)?;
    let contacts = store.contacts()?;
    let cards = make_cards(2, case.settings.number("saves")?)?;
    let (warm_up, timed) = cards.split_at(cards.len() / 4);
    for card in warm_up {
        contacts.save(card)?;
    }
    let _views = open_views(&contacts, case.settings.number("views")?)?;
    let mut times = Vec::new();
    recorder.phase("save", || {
        for card in timed {
            let begun = Instant::now();
            contacts.save(card)?;
            times.push(begun.elapsed().as_nanos() as f64);
        }
        Ok(())
    })?;
    record_quantiles(recorder, "save", &times);
    record_count(recorder, &contacts)
}

fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// Receives changes until `count` came; returns their numbers and times.
fn receive_changes(view: &mut View<'_>, count: usize) -> Result<Vec<(usize, u64)>, Error> {
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
fn send_changes(contacts: &Contacts<'_>, count: usize) -> Result<Vec<u64>, Error> {
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
fn measure_latency(
    path: &Path,
    options: &Options,
    case: &RunCase,
    recorder: &mut Recorder,
) -> Result<(), Error> {
    let count = usize::try_from(case.settings.number("saves")?.min(200)).unwrap_or(0);
    let store = Store::open_with(path, options)?;
    let contacts = store.contacts()?;
    // The first save to a copied store resets its views.
    contacts.save(&make_cards(3, 1)?.remove(0))?;
    let (sent, received) = if case.settings.number("other process").is_ok() {
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
    pub fn run_case(&self) -> Result<(), Error> {
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
