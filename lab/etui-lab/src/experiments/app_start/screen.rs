//! From the start of a program to the first screen of its contact list.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use etui::Store;
use etui::contacts::{Card, Paging};
use etui_testkit::people::People;

use super::cold;
use crate::measure::block::DeviceStat;
use crate::measure::process::PageFaults;
use crate::peers::eds;
use crate::{Arm, ArmGroup, ArmRole, ArmSettings, Error, MeasurePass, Recorder};

/// Names on a screen.
pub(super) const SCREEN: usize = 50;
/// The store's name.
const STORE: &str = "contacts.etui";
/// The start with nothing in memory, the program and the file system's own data included.
pub(super) const ALL_COLD: &str = "all-cold";
/// The names that the first screen must show.
const NAMES: &str = "names";
/// The directory of Evolution Data Server's session, and its book.
const EDS: &str = "eds";
const BOOK: &str = "contacts";

/// The stack whose device counts the requests.
pub(super) const COUNTED: &str = "ext4";

/// The arm of etui.
pub(super) const ETUI: &str = "etui";
/// The arm of plain SQLite.
pub(super) const PLAIN: &str = "plain SQLite, etui's schema";
/// The programs that show the screen: etui, plain SQLite with etui's schema, and Evolution Data
/// Server by way of D-Bus or with direct read access.
const PROGRAMS: [(&str, ArmRole, &str); 5] = [
    (ETUI, ArmRole::Etui, ""),
    (PLAIN, ArmRole::Peer, "options=--plain"),
    (
        "plain SQLite, through etui-vfs",
        ArmRole::Variant,
        "options=--plain,--etui-vfs",
    ),
    ("Evolution Data Server, D-Bus", ArmRole::Peer, "way=dbus"),
    ("Evolution Data Server, direct", ArmRole::Peer, "way=direct"),
];

/// Returns the arms; those of the server only where it can be driven.
pub(super) fn screen_arms(server: bool) -> Vec<Arm> {
    let arms = PROGRAMS.map(|(name, role, settings)| Arm::new(name, role, settings));
    let there = |arm: &Arm| server || arm.settings.text("way").is_err();
    arms.into_iter().filter(there).collect()
}

/// Creates the store and notes its first screen; creates the server's book, if the server
/// is asked for.
pub(super) fn set_up(group: &ArmGroup, dir: &Path) -> Result<(), Error> {
    let count = usize::try_from(group.size).unwrap_or(usize::MAX);
    let store = Store::open(dir.join(STORE))?;
    let all = store.contacts()?;
    let texts: Vec<String> = People::new(5).take(count).collect();
    for batch in texts.chunks(3_200) {
        let cards = batch.iter().map(|text| Card::parse(text.as_str()));
        all.save_many(&cards.collect::<Result<Vec<_>, _>>()?)?;
    }
    store.maintenance().merge_index()?;
    let names: Vec<String> = all
        .list(Paging::first(SCREEN as u64))?
        .into_iter()
        .map(|entry| entry.summary.name)
        .collect();
    drop(all);
    store.close()?;
    write_store(&dir.join(NAMES), &names.join("\n"))?;

    if group
        .arms
        .iter()
        .any(|arm| arm.settings.text("way").is_ok())
    {
        let (session, cards) = (dir.join(EDS), dir.join("cards.vcf"));
        fs::create_dir(&session).map_err(|e| Error::file(&session, e))?;
        write_store(&cards, &texts.concat())?;
        let built = eds::build(eds::Server::AddressBook, dir)?;
        eds::fill_book(&session, &built, BOOK, &cards)?;
    }
    // Dirty pages cannot be evicted.
    rustix::fs::sync();
    Ok(())
}

fn write_store(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(|e| Error::file(path, e))
}

/// Shows the first screen, cold and warm.
pub(super) fn run(settings: &ArmSettings, recorder: &mut Recorder) -> Result<(), Error> {
    let path = recorder.shared().join(NAMES);
    let expected = fs::read_to_string(&path).map_err(|e| Error::file(&path, e))?;
    let count = expected.lines().count() as u64;
    match (settings.text("way"), settings.text("options")) {
        (Ok(way), _) => run_server(recorder, way, count)?,
        (_, Ok(options)) => {
            run_program(recorder, &options.split(',').collect::<Vec<_>>(), &expected)?;
        }
        _ => run_program(recorder, &[], &expected)?,
    }
    recorder.answer(count.to_le_bytes());
    Ok(())
}

/// Starts this program as one that shows the first screen, by these options.
fn run_program(recorder: &mut Recorder, how: &[&str], expected: &str) -> Result<(), Error> {
    let store = recorder.shared().join(STORE);
    // Brings the program itself into memory.
    start_program(&store, how)?;
    let phases: &[&str] = match cold::can_evict_all() {
        true => &["cold", "warm", ALL_COLD],
        false => &["cold", "warm"],
    };
    for &phase in phases {
        match phase {
            "cold" => cold::evict_file(&store)?,
            ALL_COLD => cold::evict_cache(&store)?,
            _ => {}
        }
        let (read, faults) = (ScreenReads::so_far(recorder)?, PageFaults::read().children);
        let shown = start_program(&store, how)?;
        let now = PageFaults::read().children;
        record_screen(recorder, phase, shown.screen);
        record_screen(recorder, &format!("{phase}-exit"), shown.exit);
        for (measure, value) in [
            ("minor_faults", now.0.saturating_sub(faults.0) as f64),
            ("major_faults", now.1.saturating_sub(faults.1) as f64),
        ] {
            recorder.record(&format!("{phase}/{measure}"), value);
        }
        read.record_since(recorder, phase)?;
        if shown.names.join("\n") != expected {
            return Err(Error::other("the first screen shows other names"));
        }
    }
    Ok(())
}

/// Reads so far: of the store's own device, or else of this process and its children.
enum ScreenReads {
    Device(String, DeviceStat),
    Process(f64),
}

impl ScreenReads {
    fn so_far(recorder: &Recorder) -> Result<Self, Error> {
        Ok(match recorder.devices().first() {
            Some(device) => Self::Device(device.clone(), DeviceStat::read(device)?),
            None => Self::Process(cold::device_bytes()),
        })
    }

    fn record_since(self, recorder: &mut Recorder, phase: &str) -> Result<(), Error> {
        match self {
            Self::Device(device, before) => {
                for (measure, value) in DeviceStat::read(&device)?.since(&before) {
                    if measure.starts_with("block_read") {
                        recorder.record(&format!("{phase}/{measure}"), value);
                    }
                }
            }
            Self::Process(before) => {
                let bytes = cold::device_bytes() - before;
                recorder.record(&format!("{phase}/block_read_bytes"), bytes);
            }
        }
        Ok(())
    }
}

/// Starts the server's client: first in a new session, which starts the server, then again.
fn run_server(recorder: &mut Recorder, way: &str, count: u64) -> Result<(), Error> {
    let built = eds::build(eds::Server::AddressBook, recorder.shared())?;
    let session =
        eds::EdsSession::start(&recorder.shared().join(EDS), &built, eds::ServedBy::Stock)?;
    for (phase, cold) in [("cold", true), ("warm", false)] {
        let database = session.database(BOOK);
        if cold {
            cold::evict_cache(&database)?;
        }
        let shown = eds::first_screen(&session, BOOK, way, SCREEN as u64)?;
        record_screen(recorder, phase, shown.wall);
        if shown.count != count {
            return Err(Error::other(format!(
                "the first screen shows {} contacts, not {count}",
                shown.count
            )));
        }
    }
    Ok(())
}

fn record_screen(recorder: &mut Recorder, phase: &str, time: Duration) {
    if recorder.pass() == MeasurePass::Timed {
        recorder.record(&format!("{phase}/wall_ns"), time.as_nanos() as f64);
    }
}

/// Output of a program with times, from before its start.
struct ScreenResult {
    names: Vec<String>,
    screen: Duration,
    exit: Duration,
}

fn start_program(store: &Path, how: &[&str]) -> Result<ScreenResult, Error> {
    let program = std::env::current_exe().map_err(|e| Error::file("this program", e))?;
    let mut command = Command::new(&program);
    command.arg("first-screen").arg(store).args(how);
    let failed = |e| Error::file(&program, e);
    let begun = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut names = Vec::new();
    if let Some(out) = child.stdout.take() {
        for line in BufReader::new(out).lines().take(SCREEN) {
            names.push(line.map_err(failed)?);
        }
    }
    let screen = begun.elapsed();
    let status = child.wait().map_err(failed)?;
    let exit = begun.elapsed();
    if !status.success() {
        let problem = "the program that shows the first screen ended with";
        return Err(Error::other(format!("{problem} {status}")));
    }
    Ok(ScreenResult {
        names,
        screen,
        exit,
    })
}
