//! A calendar: Evolution Data Server's, plain SQLite and etui.
//!
//! - [`data`]: the events and the queries;
//! - [`works`]: the works beyond those of every [`backends`](super::shelf), as each product does them;
//! - [`plain`]: plain SQLite with a straightforward schema;
//! - [`dense`]: ranges in years of dense data, and in unbounded series;
//! - [`report`]: the declared report.

mod data;
mod dense;
mod plain;
mod report;
#[cfg(test)]
mod tests;
mod works;

use std::fs;
use std::path::Path;

use etui::calendar::CalendarObject;
use etui::{Durability, Vfs};

use self::plain::{EventRow, PlainCalendar};
use self::works::CalendarBackend;
use super::backends::eds::EdsBackend;
use super::backends::etui::{EtuiBackend, store_options};
use super::backends::{self, StoreBackend as _, fill, record, rounds, vfs_variants};
use crate::error::Error;
use crate::peers::eds::{self, EdsSession, Server};
use crate::stacks::HERE;
use crate::{
    Arm, ArmGroup, ArmRole, ArmSettings, Experiment, ExperimentInfo, LabContext, NotRun, Parameter,
    Recorder, ReportSpec, Results, RunCase, RunPlan,
};

/// The experiment.
pub struct Calendars;

const NAME: &str = "calendar";
/// Events fetched at once.
const SCREEN: u64 = 50;
/// The client's commands that make the server's calendar and open it.
const CREATE: [&str; 2] = ["create", "lab"];
const CONNECT: [&str; 2] = ["connect", "lab"];

/// The works of this experiment.
const CALENDAR_WORK: &str = "calendar";
const MEMORY_WORK: &str = "memory";
const DENSE_WORK: &str = "dense years";
const ENDLESS_WORK: &str = "dense years, events without end";

/// Shared files of a group: the events, and filled stores.
const EVENTS: &str = "events.ics";
const FILLED_ETUI: &str = "filled.etui";
const FILLED_PLAIN: &str = "filled.plain";

impl Experiment for Calendars {
    fn experiment_info(&self) -> ExperimentInfo {
        ExperimentInfo {
            name: NAME,
            title: "Calendars: behind a server, by plain SQLite, in process",
            study: None,
            question: "What does it cost to save and fetch events, and to know what happens in a \
                       week or a year, in a small calendar, in a large one, and in one that goes \
                       on for decades?",
            method: "A calendar is filled in batches of 3,200, read in every way, and saved into \
                     singly; some hundredths of the events have changed instances. Evolution Data \
                     Server runs in a private session (its own D-Bus and directories) and is \
                     driven by a small C client through libecal, which keeps the time of each \
                     call; a changed instance can only be received, in a second call. Its \
                     calendars are read through D-Bus alone. As shipped it is not durable when a \
                     save returns: it keeps a calendar in memory and writes the whole of it to \
                     one text file when it is idle afterwards. Made durable, a small preloaded \
                     library has that done at once, the file and its directory flushed, before \
                     the reply. Plain SQLite has a row for each record with an index on its first \
                     start and one on its last end; what recurs is parsed and expanded by etui's \
                     own rules when a range is asked for; it is there twice, by itself and, \
                     unmodified, through etui's VFS. So is etui, durable, deferred, and on its \
                     VFS. Dense years: so many events a day over so many years, without and with \
                     a thousand events that recur without end; a week in the middle of the data, \
                     and weeks spread over the hundred years before and after one day.",
            same_answer: "After the fill every arm names all events: UIDs and titles must be the \
                          same set. So must the 50 fetched by UID one by one and at once, each \
                          time that something happens in a range (UID, start and end), the events \
                          of a range and of a search, and the number of events after the saves. \
                          Ranges end where no event begins or ends, times are seen from UTC, and \
                          left out are rules that do not make their own start, for there products \
                          mean different things.",
            found: &[],
            parameters: &[
                Parameter {
                    name: "sizes",
                    about: "events in the calendar",
                    quick: &[100, 1_600, 10_000],
                    full: &[100, 1_600, 10_000, 12_800],
                },
                Parameter {
                    name: "saves",
                    about: "events saved singly into the filled calendar",
                    quick: &[40],
                    full: &[100],
                },
                Parameter {
                    name: "years",
                    about: "years of dense data",
                    quick: &[1, 10, 40],
                    full: &[1, 10, 40],
                },
                Parameter {
                    name: "daily",
                    about: "events a day in dense data",
                    quick: &[5],
                    full: &[5],
                },
                Parameter {
                    name: "endless",
                    about: "events that recur without end, beside dense data",
                    quick: &[1_000],
                    full: &[1_000],
                },
                Parameter {
                    name: "weeks",
                    about: "weeks asked for within a hundred years",
                    quick: &[100],
                    full: &[200],
                },
            ],
        }
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let mut plan = RunPlan::default();
        let eds = eds::available(Server::Calendar);
        if let Err(reason) = &eds {
            plan.not_run.push(NotRun {
                what: "arms of Evolution Data Server".to_owned(),
                reason: reason.clone(),
            });
        }
        let saves = lab.value("saves");
        let mut arms = arms(saves);
        arms.retain(|arm| eds.is_ok() || !is_product(&arm.settings, "eds"));
        let group = |work: &str, size: u64| ArmGroup {
            work: work.to_owned(),
            stack: HERE.to_owned(),
            size,
            repetitions: if lab.quick() { 3 } else { 5 },
            seconds: 1.0 + size as f64 / 2_000.0,
            arms: arms.clone(),
            ..ArmGroup::default()
        };
        let mut sizes = lab.values("sizes").to_vec();
        sizes.sort_unstable();
        for size in &sizes {
            plan.groups.push(ArmGroup {
                counted: Some(size) == sizes.last(),
                ..group(CALENDAR_WORK, *size)
            });
        }
        if let Some(largest) = sizes.last() {
            let mut memory = group(MEMORY_WORK, *largest);
            memory.repetitions = 1;
            memory.arms.retain(|arm| reads_are_its_own(&arm.settings));
            plan.groups.push(memory);
        }
        for (work, endless) in [(DENSE_WORK, 0), (ENDLESS_WORK, lab.value("endless"))] {
            for years in lab.values("years") {
                plan.groups.push(ArmGroup {
                    arms: dense::dense_arms(lab, endless),
                    seconds: 1.0 + *years as f64 / 4.0,
                    ..group(work, *years)
                });
            }
        }
        Ok(plan)
    }

    fn set_up(&self, group: &ArmGroup, dir: &Path) -> Result<(), Error> {
        let Some(arm) = group.arms.first() else {
            return Ok(());
        };
        if is_dense(&group.work) {
            return dense::set_up(group.size, &arm.settings, dir);
        }
        let saves = match group.work.as_str() {
            MEMORY_WORK => 0,
            _ => arm.settings.number("saves")?,
        };
        let count = (group.size + saves) as usize;
        data::write_events(&dir.join(EVENTS), data::generate_events().take(count))?;
        if group
            .arms
            .iter()
            .any(|arm| is_product(&arm.settings, "eds"))
        {
            eds::build(Server::Calendar, dir)?;
        }
        match group.work.as_str() {
            MEMORY_WORK => fill_stores(
                dir,
                data::parse_records(data::generate_events().take(count))?,
            ),
            _ => Ok(()),
        }
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        match case.work.as_str() {
            CALENDAR_WORK => calendar(case, recorder),
            MEMORY_WORK => memory(case, recorder),
            work if is_dense(work) => dense::run(case, recorder),
            other => Err(Error::other(format!("calendar knows no work `{other}`"))),
        }
    }

    fn report_spec(&self, results: &Results) -> ReportSpec {
        report::report_spec(results)
    }
}

fn is_dense(work: &str) -> bool {
    matches!(work, DENSE_WORK | ENDLESS_WORK)
}

fn is_product(settings: &ArmSettings, name: &str) -> bool {
    settings
        .text("product")
        .is_ok_and(|product| product == name)
}

/// Made durable, deferred or on another VFS, an arm reads as the one that it is a variant of.
fn reads_are_its_own(settings: &ArmSettings) -> bool {
    !settings.is("durable") && !settings.is("deferred") && !settings.is("etui-vfs")
}

/// The arms, as found first.
fn arms(saves: u64) -> Vec<Arm> {
    let own = |product: &str| {
        ArmSettings::new()
            .with("product", product)
            .with("saves", saves)
    };
    vec![
        Arm::new(report::SHIPPED, ArmRole::AsFound, own("eds")),
        Arm::new(
            report::DURABLE,
            ArmRole::Peer,
            own("eds").with("durable", true),
        ),
        Arm::new(report::PLAIN, ArmRole::Peer, own("plain")),
        Arm::new(
            report::PLAIN_REDO,
            ArmRole::Peer,
            own("plain").with("redo", true),
        ),
        Arm::new(report::ETUI, ArmRole::Etui, own("etui")),
        Arm::new(
            report::DEFERRED,
            ArmRole::Etui,
            own("etui").with("deferred", true),
        ),
        Arm::new(
            report::ETUI_REDO,
            ArmRole::Etui,
            own("etui").with("etui-vfs", true),
        ),
    ]
}

/// Fills a store of etui's and a database with the same records.
fn fill_stores(dir: &Path, records: Vec<CalendarObject>) -> Result<(), Error> {
    let rows: Vec<EventRow> = records.iter().map(EventRow::of).collect();
    let count = rows.len() as u64;
    let mut etui = EtuiBackend::new(
        &dir.join(FILLED_ETUI),
        store_options(Durability::Deferred),
        records,
    )?;
    fill(&mut etui, count)?;
    etui.merge()?;
    etui.close()?;
    let mut plain = PlainCalendar::new(&dir.join(FILLED_PLAIN), rows, None)?;
    fill(&mut plain, count)?;
    plain.close()?;
    Ok(())
}

fn session(case: &RunCase, recorder: &Recorder, name: &str) -> Result<EdsSession, Error> {
    eds::available(Server::Calendar).map_err(Error::not_run)?;
    let built = eds::build(Server::Calendar, recorder.shared())?;
    let dir = recorder.dir().join(name);
    fs::create_dir_all(&dir).map_err(|e| Error::file(&dir, e))?;
    EdsSession::start(&dir, &built, case.settings.is("durable"))
}

/// The arm's calendar, empty and open; through a VFS, if it is plain SQLite's and one is named.
fn empty(
    case: &RunCase,
    recorder: &Recorder,
    vfs: Option<&str>,
) -> Result<Box<dyn CalendarBackend>, Error> {
    let settings = &case.settings;
    let count = (case.size + settings.number("saves")?) as usize;
    let records = || data::parse_records(data::generate_events().take(count));
    Ok(match settings.text("product")? {
        "etui" => {
            let mut options = store_options(match settings.is("deferred") {
                true => Durability::Deferred,
                false => Durability::Full,
            });
            if settings.is("etui-vfs") {
                options.vfs = Vfs::Etui;
            }
            let path = recorder.dir().join("calendar.etui");
            Box::new(EtuiBackend::new(&path, options, records()?)?)
        }
        "plain" => {
            let rows = records()?.iter().map(EventRow::of).collect();
            Box::new(PlainCalendar::new(
                &recorder.dir().join("calendar.db"),
                rows,
                vfs,
            )?)
        }
        _ => {
            let session = session(case, recorder, "eds")?;
            let mut eds = EdsBackend::open(session, Some(&CREATE), &CONNECT)?;
            eds.load(&recorder.shared().join(EVENTS))?;
            Box::new(eds)
        }
    })
}

/// Everything but memory and dense years: fills a calendar, reads it in every way, saves into it
/// singly.
fn calendar(case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
    let vfs = vfs_variants::register_variant(&case.settings)?;
    let mut calendar = empty(case, recorder, vfs.as_ref().map(etui_vfs::Vfs::name))?;
    backends::fill_and_record(recorder, calendar.as_mut(), case.size)?;
    reads(case, recorder, calendar.as_mut())?;
    let saves = case.settings.number("saves")?;
    backends::save_singly(recorder, calendar.as_mut(), vfs.as_ref(), case.size, saves)
}

/// Reads a calendar in every way. For the answer alone, and each once, in a counted run and by
/// arms that differ in their saves.
fn reads(
    case: &RunCase,
    recorder: &mut Recorder,
    calendar: &mut dyn CalendarBackend,
) -> Result<(), Error> {
    let timed = !recorder.counts() && reads_are_its_own(&case.settings);
    let times = |times: u64| if timed { times } else { 1 };
    let (few, some, many) = (times(3), times(5), times(10));
    let record = |recorder: &mut Recorder, name: &str, found: &eds::TimedAnswer| {
        if timed {
            record(recorder, name, found);
        }
        recorder.answer(found.count.to_le_bytes());
        recorder.answer(&found.digest);
        if recorder.counts() {
            recorder.record(&format!("{name}/hits"), found.count as f64);
        }
    };
    let uids = data::select_uids(case.size, SCREEN);
    backends::read(recorder, calendar, &uids, (few, many), timed)?;
    for asked in data::query_ranges() {
        let found = rounds(many, || calendar.find_instances(1, &asked))?;
        record(recorder, asked.name, &found);
        let found = rounds(some, || calendar.find_events(1, &asked))?;
        record(recorder, &format!("{}_events", asked.name), &found);
    }
    for search in data::SEARCHES {
        let found = rounds(many, || calendar.search_titles(1, &search))?;
        record(recorder, search.name, &found);
    }
    if timed {
        for (name, answer) in calendar.own_requests(many, &data::query_ranges()[0])? {
            backends::record(recorder, name, &answer);
        }
    }
    backends::reopen(recorder, calendar, some, timed)
}

/// Memory of all processes with an empty calendar, with the filled one opened, and with every
/// event fetched, its title read, and kept.
fn memory(case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
    let vfs = vfs_variants::register_variant(&case.settings)?;
    let vfs = vfs.as_ref().map(etui_vfs::Vfs::name);
    let week = &data::query_ranges()[0];
    backends::memory(
        recorder,
        |recorder, filled| opened(case, recorder, filled, vfs),
        |calendar| calendar.find_instances(1, week),
    )
}

/// The arm's calendar in processes that did not fill it: empty or filled, and open.
fn opened(
    case: &RunCase,
    recorder: &Recorder,
    filled: bool,
    vfs: Option<&str>,
) -> Result<Box<dyn CalendarBackend>, Error> {
    let name = if filled { "filled" } else { "empty" };
    let path = recorder.dir().join(name);
    let copy = |from: &str| match filled {
        true => {
            let from = recorder.shared().join(from);
            fs::copy(&from, &path)
                .map(drop)
                .map_err(|e| Error::file(&path, e))
        }
        false => Ok(()),
    };
    Ok(match case.settings.text("product")? {
        "etui" => {
            copy(FILLED_ETUI)?;
            let options = store_options(Durability::Full);
            Box::new(EtuiBackend::<CalendarObject>::new(
                &path,
                options,
                Vec::new(),
            )?)
        }
        "plain" => {
            copy(FILLED_PLAIN)?;
            Box::new(PlainCalendar::new(&path, Vec::new(), vfs)?)
        }
        _ => {
            if filled {
                fs::create_dir_all(&path).map_err(|e| Error::file(&path, e))?;
                let built = eds::build(Server::Calendar, recorder.shared())?;
                let events = recorder.shared().join(EVENTS);
                eds::fill(&path, &built, &[&CREATE, &CONNECT], &events)?;
            }
            let create: Option<&[&str]> = (!filled).then_some(&CREATE);
            let session = session(case, recorder, name)?;
            Box::new(EdsBackend::open(session, create, &CONNECT)?)
        }
    })
}
