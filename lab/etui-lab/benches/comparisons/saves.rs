//! `saves`: the cost of single durable saves, alone, from many threads, and with views open.
//!
//! - [`latency`]: the time from a save to a view;
//! - [`report`]: the declared report.

mod latency;
mod report;

pub use latency::FollowArgs;

use std::path::Path;
use std::time::{Duration, Instant};

use etui::contacts::{Card, Contacts, Filter, View};
use etui::{Options, Store, Vfs};
use etui_lab_io::instrumented::{FileKind, InstrumentedOptions, InstrumentedVfs};

use super::processes::written_bytes;
use etui_lab::experiments::about::AboutText;
use etui_lab::experiments::common::{
    copy_shared, fill_store, make_cards, people_options, record_quantiles,
};
use etui_lab::stacks::HERE;
use etui_lab::{
    Arm, ArmGroup, ArmRole, Error, Experiment, ExperimentInfo, LabContext, Recorder, ReportSpec,
    Results, RunCase, RunPlan, stats,
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
const ONE_THREAD: &str = "1 thread";
const MANY_THREADS: &str = "16 threads";
const NO_VIEWS: &str = "0 views";
const MANY_VIEWS: &str = "1000 views";
const OTHER_PROCESS: &str = "another process";

const SLOW_FLUSH: Duration = Duration::from_millis(3);
/// Saves larger than this include a merge or a checkpoint.
const MAX_SINGLE_BYTES: f64 = 262_144.0;

/// Between two saves of [`SPACED`]: longer than the pause after which the redo log is settled.
const SPACE: Duration = Duration::from_secs(9);
/// The saves of [`SPACED`] and [`OPENED`].
const SPACED_SAVES: (u64, u64) = (3, 10);
const OPENED_SAVES: (u64, u64) = (30, 100);
/// The stack whose block device is the laboratory's own.
const COUNTED_STACK: &str = "ext4";

pub struct Saves;

impl Experiment for Saves {
    fn experiment_info(&self) -> ExperimentInfo {
        static ABOUT: AboutText = AboutText::new(include_str!("saves.md"));
        ABOUT.info(NAME, None)
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let vfs = [(SYSTEM_VFS, ""), (ETUI_VFS, "redo=always")].as_slice();
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
            Ok(_) => Vfs::RedoLog,
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
            LATENCY => latency::measure_latency(&path, case, recorder),
            other => Err(Error::other(format!("no work `{other}`"))),
        }
    }

    fn report_spec(&self, results: &Results) -> ReportSpec {
        report::report_spec(results)
    }
}

fn change_numbers(mut cards: Vec<Card>) -> Result<Vec<Card>, Error> {
    for (at, card) in cards.iter_mut().enumerate() {
        card.set("TEL", &format!("+49 30 23125 {at:04}"))?;
    }
    Ok(cards)
}

fn record_count(recorder: &mut Recorder, contacts: &Contacts) -> Result<(), Error> {
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
    // SQLite's own log, on files whose flushes are counted and delayed.
    let files = InstrumentedVfs::register(NAME, vfs_options)?;
    let vfs = etui_vfs_base::register_above("saves-above-counting", files.name())?;
    if !etui::use_base(vfs) {
        return Err(Error::other("a store was opened before"));
    }
    let options = people_options();
    let flushes = || {
        let counters = files.counters();
        counters.of(FileKind::Wal).syncs + counters.of(FileKind::Database).syncs
    };
    let store = Store::open_with(path, &options)?;
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
    let flushes = flushes() - before;
    if flushes == 0 {
        return Err(Error::other("no flush of a durable save was counted"));
    }
    recorder.record("save/flushes", flushes as f64);
    record_count(recorder, &contacts)
}

/// Opens views whose filters match none of the saved contacts: names, numbers, addresses, words.
fn open_views(contacts: &Contacts, count: u64) -> Result<Vec<View>, Error> {
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
