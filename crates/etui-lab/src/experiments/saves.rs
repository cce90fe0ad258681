//! `saves`: the cost of single durable saves, alone, from many threads, and with views open.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use etui::contacts::{Card, Contacts, Filter, View, ViewChanges};
use etui::{Options, Store, Vfs};
use etui_lab_io::instrumented::{FileKind, InstrumentedOptions, InstrumentedVfs};
use rustix::time::{ClockId, clock_gettime};

use super::about::AboutText;
use super::common::{copy_shared, fill_store, make_cards, people_options, record_quantiles};
use crate::measure::process::written_bytes;
use crate::stacks::HERE;
use crate::{
    AdviceSpec, Arm, ArmGroup, ArmRole, Conclusion, Error, Experiment, ExperimentInfo, LabContext,
    Measure, Per, Recorder, ReportSpec, Results, RunCase, RunPlan, TableSpec, Threshold, stats,
};

const NAME: &str = "saves";
const STORE: &str = "contacts.etui";

const NEW: &str = "new contacts";
const CHANGED: &str = "changed phone numbers";
const THREADS: &str = "threads";
const SLOW_THREADS: &str = "threads, flushes 3 ms longer";
const VIEWS: &str = "views open";
const LATENCY: &str = "from a save to a view";
const SPACED: &str = "a save every 9 s";
const OPENED: &str = "open, one save, close";

const SYSTEM_VFS: &str = "SQLite's WAL";
const ETUI_VFS: &str = "etui-vfs";
const BURSTS: &str = "etui-vfs, in bursts";
const ONE_THREAD: &str = "1 thread";
const MANY_THREADS: &str = "16 threads";
const NO_VIEWS: &str = "0 views";
const MANY_VIEWS: &str = "1000 views";
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

/// Between two saves of [`SPACED`]: longer than the pause after which the redo log is settled.
const SPACE: Duration = Duration::from_secs(9);
/// The saves of [`SPACED`] and [`OPENED`].
const SPACED_SAVES: (u64, u64) = (3, 10);
const OPENED_SAVES: (u64, u64) = (30, 100);
/// Flushes of occasional saves, as a multiple of those by SQLite's WAL.
const MAX_SPACED_FLUSHES: f64 = 1.0;
const MAX_OPENED_FLUSHES: f64 = 1.1;
/// The stack whose block device is the laboratory's own.
const COUNTED_STACK: &str = "ext4";

/// Longest time without a change before a reader gives up.
const MAX_SILENCE: Duration = Duration::from_secs(10);

/// The experiment.
pub struct Saves;

impl Experiment for Saves {
    fn experiment_info(&self) -> ExperimentInfo {
        static ABOUT: AboutText = AboutText::new(include_str!("saves.md"));
        ABOUT.info(NAME, None)
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let vfs = [
            (SYSTEM_VFS, ""),
            (ETUI_VFS, "redo=always"),
            (BURSTS, "redo=bursts"),
        ]
        .as_slice();
        let threads = [
            (ONE_THREAD, "threads=1"),
            ("2 threads", "threads=2"),
            (MANY_THREADS, "threads=16"),
        ];
        let views = [
            (NO_VIEWS, "views=0"),
            ("1 view", "views=1"),
            ("100 views", "views=100"),
            (MANY_VIEWS, "views=1000"),
        ];
        let latency = [
            ("same process", "views=0"),
            ("same process, 1,000 other views", "views=1000"),
            (OTHER_PROCESS, "other-process"),
        ];
        let works = [
            (NEW, vfs),
            (CHANGED, vfs),
            (THREADS, &threads),
            (SLOW_THREADS, &threads),
            (VIEWS, &views),
            (LATENCY, &latency),
        ];
        let saves = lab.value("saves");
        let groups = works.map(|(work, arms)| {
            let arms = arms.iter().map(|(name, settings)| {
                Arm::new(*name, ArmRole::Etui, *settings).with("saves", saves)
            });
            ArmGroup {
                repetitions: if lab.quick() { 3 } else { 5 },
                seconds: saves as f64 / 1_000.0,
                ..ArmGroup::new(work, HERE, lab.value("contacts"), arms.collect())
            }
        });
        let occasional = [(SPACED, SPACED_SAVES), (OPENED, OPENED_SAVES)];
        let occasional = occasional.map(|(work, (few, many))| {
            let arms = vfs.iter().map(|(name, settings)| {
                let count = if lab.quick() { few } else { many };
                Arm::new(*name, ArmRole::Etui, *settings).with("saves", count)
            });
            ArmGroup {
                counted: true,
                repetitions: if lab.quick() { 1 } else { 3 },
                seconds: SPACE.as_secs_f64() * few as f64,
                ..ArmGroup::new(work, COUNTED_STACK, lab.value("contacts"), arms.collect())
            }
        });
        Ok([groups.as_slice(), &occasional].concat().into())
    }

    fn set_up(&self, group: &ArmGroup, dir: &Path) -> Result<(), Error> {
        let people = make_cards(1, group.size)?;
        Ok(fill_store(&dir.join(STORE), &people_options(), &people)?.close()?)
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        let path = copy_shared(recorder, STORE, STORE)?;
        let saves = case.settings.number("saves")?;
        let mut options = people_options();
        options.vfs = match case.settings.text("redo") {
            Ok("bursts") => Vfs::Bursts,
            Ok(_) => Vfs::Etui,
            Err(_) => Vfs::System,
        };
        match case.work.as_str() {
            SPACED => save_spaced(&path, &options, &make_cards(2, saves)?, recorder),
            OPENED => save_opened(&path, &options, &make_cards(2, saves)?, recorder),
            NEW | CHANGED => {
                let cards = match case.work.as_str() {
                    NEW => make_cards(2, saves)?,
                    _ => change_numbers(make_cards(1, saves)?)?,
                };
                save_singly(&path, &options, &cards, recorder)
            }
            THREADS => share_saves(&path, case, Duration::ZERO, recorder),
            SLOW_THREADS => share_saves(&path, case, SLOW_FLUSH, recorder),
            VIEWS => save_with_views(&path, case, recorder),
            LATENCY => measure_latency(&path, case, recorder),
            other => Err(Error::other(format!("no work `{other}`"))),
        }
    }

    fn report_spec(&self, results: &Results) -> ReportSpec {
        let group = |work: &str| results.select_groups(&[work], &[HERE]).into_iter().next();
        let table = |work: &str, caption: &str, measures, base| {
            let groups = results.select_groups(&[work], &[HERE]);
            let table = TableSpec::new(format!("Saves: {work}"), groups);
            table.caption(caption).measures(measures).base(base)
        };
        let one = || Measure::new("one, median", "save/p50_ns");
        let each = || Measure::wall_time("a save", "save").per(Per::Setting("saves"));
        let flushes = |title| Measure::new(title, "save/flushes").per(Per::Setting("saves"));
        let single = || {
            vec![
                Measure::new("bytes, median", "save/p50_bytes"),
                Measure::new("bytes, mean", "save/mean_bytes"),
                Measure::new("with merges and checkpoints", "save/called_write_bytes")
                    .per(Per::Setting("saves")),
                flushes("flushes"),
                one(),
                Measure::wall_time("with merges and checkpoints", "save")
                    .per(Per::Setting("saves")),
            ]
        };
        let shared = || vec![each(), flushes("flushes a save")];
        let device = |title, key: &str| Measure::new(title, key).per(Per::Setting("saves"));
        let device_flushes = || device("flushes", "save/block_flushes");
        let occasional = || {
            vec![
                device_flushes(),
                device("writes", "save/block_writes"),
                device("bytes", "save/block_write_bytes"),
            ]
        };
        let on_device = |work: &str| {
            let groups = results.select_groups(&[work], &[COUNTED_STACK]);
            TableSpec::new(format!("Saves: {work}"), groups)
                .caption("Of the block device, the file system's own journal included.")
                .measures(occasional())
                .base(Some(SYSTEM_VFS))
        };
        let at_device = |work, most, about| {
            let groups = results.select_groups(&[work], &[COUNTED_STACK]);
            Threshold::target(about)
                .of(groups.into_iter().next().as_ref(), BURSTS, device_flushes())
                .against_arm(SYSTEM_VFS)
                .at_most(most)
        };
        let share_flushes =
            AdviceSpec::new("save from several threads at once where flushes are slow")
                .or_else("save from one thread")
                .how("threads with one open store; saves that wait together share a flush")
                .measured("A durable save, flushes 3 ms longer than this machine's")
                .about_etui()
                .gain("a save")
                .compare(
                    group(SLOW_THREADS).as_ref(),
                    &each(),
                    ONE_THREAD,
                    MANY_THREADS,
                );
        let write_less = AdviceSpec::new("put etui's store on its own VFS")
            .or_else("leave etui's store on SQLite's own log")
            .how("Options::vfs = Vfs::Etui, or Vfs::Bursts for a program that saves now and then")
            .measured("Bytes of a durable save of one contact, its indexes included")
            .about_etui()
            .gain("data written for a contact")
            .compare(
                group(NEW).as_ref(),
                &Measure::new("bytes", "save/p50_bytes"),
                SYSTEM_VFS,
                ETUI_VFS,
            );
        let report = || Measure::new("median", "report/p50_ns");
        let without_merges = "The mean leaves out merges of the index.";
        let to_one_thread = "Ratios are to one thread.";
        ReportSpec {
            tables: vec![
                table(NEW, without_merges, single(), Some(SYSTEM_VFS)),
                table(CHANGED, without_merges, single(), Some(SYSTEM_VFS)),
                on_device(SPACED),
                on_device(OPENED),
                table(SLOW_THREADS, to_one_thread, shared(), Some(ONE_THREAD)),
                table(THREADS, to_one_thread, shared(), Some(ONE_THREAD)),
                table(
                    VIEWS,
                    "Views that none of the saves concerns; ratios are to no view.",
                    vec![
                        one(),
                        Measure::new("99th percentile", "save/p99_ns"),
                        each(),
                    ],
                    Some(NO_VIEWS),
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
                at_device(
                    SPACED,
                    MAX_SPACED_FLUSHES,
                    "flushes of a save every 9 s, with the redo log in bursts",
                ),
                at_device(
                    OPENED,
                    MAX_OPENED_FLUSHES,
                    "flushes of opening, one save and closing, with the redo log in bursts",
                ),
                Threshold::target(
                    "time of 16 threads for a save against one thread's, flushes 3 ms longer",
                )
                .of(group(SLOW_THREADS).as_ref(), MANY_THREADS, each())
                .against_arm(ONE_THREAD)
                .at_most(1.0 / MIN_GROUP_SPEEDUP),
                Threshold::target("a save with 1,000 views open")
                    .of(group(VIEWS).as_ref(), MANY_VIEWS, one())
                    .against_arm(NO_VIEWS)
                    .at_most(MAX_VIEW_COST),
                Threshold::target("bytes of a new contact through etui-vfs")
                    .of(
                        group(NEW).as_ref(),
                        ETUI_VFS,
                        Measure::new("bytes", "save/p50_bytes"),
                    )
                    .against_arm(SYSTEM_VFS)
                    .at_most(1.0),
                Threshold::target("a save reported to a view of another process").of(
                    group(LATENCY).as_ref(),
                    OTHER_PROCESS,
                    report(),
                ),
            ],
            advice: vec![share_flushes, write_less],
            conclusion: Conclusion {
                yes: "Threads share flushes, and views cost writers little.",
                partly: "Threads share flushes and views cost writers little, but not all figures stay \
                         within their bounds.",
                no: "No figure of single saves stays within its bound.",
            },
            ..ReportSpec::default()
        }
    }
}

fn change_numbers(mut cards: Vec<Card>) -> Result<Vec<Card>, Error> {
    for (at, card) in cards.iter_mut().enumerate() {
        card.set("TEL", &format!("+49 30 23125 {at:04}"))?;
    }
    Ok(cards)
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

/// Saves cards one by one, with a pause after each, in a program that stays open.
fn save_spaced(
    path: &Path,
    options: &Options,
    cards: &[Card],
    recorder: &mut Recorder,
) -> Result<(), Error> {
    let store = Store::open_with(path, options)?;
    let contacts = store.contacts()?;
    contacts.save(&make_cards(3, 1)?.remove(0))?;
    std::thread::sleep(SPACE);
    recorder.phase("save", || {
        for card in cards {
            contacts.save(card)?;
            std::thread::sleep(SPACE);
        }
        Ok(())
    })?;
    record_count(recorder, &contacts)
}

/// Opens the store, saves a card and closes it, for each card.
fn save_opened(
    path: &Path,
    options: &Options,
    cards: &[Card],
    recorder: &mut Recorder,
) -> Result<(), Error> {
    recorder.phase("save", || {
        cards.iter().try_for_each(|card| {
            let store = Store::open_with(path, options)?;
            store.contacts()?.save(card)?;
            Ok(store.close()?)
        })
    })?;
    record_count(recorder, &Store::open_with(path, options)?.contacts()?)
}

/// Shares saves between threads; flushes are delayed and counted.
fn share_saves(
    path: &Path,
    case: &RunCase,
    delay: Duration,
    recorder: &mut Recorder,
) -> Result<(), Error> {
    let vfs_options = InstrumentedOptions {
        sync_delay: delay,
        ..InstrumentedOptions::default()
    };
    let vfs = InstrumentedVfs::register(NAME, vfs_options)?;
    vfs.make_default()?;
    let flushes = || {
        let counters = vfs.counters();
        counters.of(FileKind::Wal).syncs + counters.of(FileKind::Database).syncs
    };
    let store = Store::open_with(path, &people_options())?;
    let contacts = store.contacts()?;
    let cards = make_cards(2, case.settings.number("saves")?)?;
    let threads = usize::try_from(case.settings.number("threads")?).unwrap_or(1);
    let before = flushes();
    recorder.phase("save", || {
        std::thread::scope(|scope| {
            let chunks = cards.chunks(cards.len().div_ceil(threads).max(1));
            let save = |cards: &[Card]| cards.iter().try_for_each(|c| contacts.save(c).map(drop));
            let saving: Vec<_> = chunks
                .map(|cards| scope.spawn(move || save(cards)))
                .collect();
            saving.into_iter().try_for_each(|thread| {
                let saved = thread.join();
                Ok(saved.map_err(|_| Error::other("a saving thread panicked"))??)
            })
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

fn save_with_views(path: &Path, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
    let store = Store::open_with(path, &people_options())?;
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
fn measure_latency(path: &Path, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
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
