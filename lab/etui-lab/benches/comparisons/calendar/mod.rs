//! A calendar: Evolution Data Server's, plain SQLite and etui.
//!
//! - [`data`]: the events and the queries;
//! - [`works`]: the works beyond those of every [`backends`], as each product does them;
//! - [`plain`]: plain SQLite with a straightforward schema;
//! - [`own`]: etui's own D-Bus interface;
//! - [`dense`]: ranges in years of dense data, and in unbounded series;
//! - [`report`]: the declared report.

pub(super) mod data;
mod dense;
mod own;
mod plain;
mod report;
#[cfg(test)]
mod tests;
mod works;

use std::path::Path;

use etui::calendar::CalendarObject;

use self::plain::{EventRow, PlainCalendar};
use self::works::CalendarBackend;
use etui_lab::Error;
use etui_lab::experiments::about::AboutText;
use etui_lab::experiments::backends::etui::{EtuiBackend, arm_options};
use etui_lab::experiments::backends::own::OwnBackend;
use etui_lab::experiments::backends::server::EdsBackend;
use etui_lab::experiments::backends::{
    self, ArmSpec, BackendKind, MEMORY_WORK, PINNED_WORK, ReadPass, SCREEN, StoreBackend as _,
    fill, is_product, rounds,
};
use etui_lab::peers::eds::{Server, TimedAnswer};
use etui_lab::stacks::HERE;
use etui_lab::{
    ArmGroup, ArmRole, ArmSettings, Experiment, ExperimentInfo, LabContext, Recorder, ReportSpec,
    Results, RunCase, RunPlan,
};

pub struct Calendars;

const NAME: &str = "calendar";
/// The works of this experiment.
const CALENDAR_WORK: &str = "calendar";
const DENSE_WORK: &str = "dense years";
const ENDLESS_WORK: &str = "dense years, events without end";

/// Shared files of a group: the events, and filled stores.
const EVENTS: &str = "events.ics";
const FILLED_ETUI: &str = "filled.etui";
const FILLED_PLAIN: &str = "filled.plain";

/// The arms, as found first.
const ARMS: [ArmSpec<'static>; 8] = {
    use ArmRole::{AsFound, Etui, Peer, Variant};
    [
        (report::SHIPPED, AsFound, "product=eds"),
        (report::DURABLE, Peer, "product=eds durable"),
        (report::PLAIN, Peer, "product=plain"),
        (report::PLAIN_REDO, Variant, "product=plain redo"),
        (report::ETUI, Etui, "product=etui"),
        (report::SYSTEM_VFS, Variant, "product=etui system-vfs"),
        (report::DEFERRED, Variant, "product=etui deferred"),
        (report::ETUI_REDO, Variant, "product=etui etui-vfs"),
    ]
};

/// The arms of clients, on one core.
const CLIENTS: [ArmSpec<'static>; 3] = [
    (report::SHIPPED, ArmRole::AsFound, "product=eds"),
    (report::AS_EDS, ArmRole::Variant, "product=eds by-etui"),
    (report::OWN, ArmRole::Variant, "product=own"),
];

impl Experiment for Calendars {
    fn experiment_info(&self) -> ExperimentInfo {
        static ABOUT: AboutText = AboutText::new(include_str!("about.md"));
        ABOUT.info(NAME, None)
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let mut plan = RunPlan::default();
        backends::plan_sizes::<EventKind>(lab, &mut plan, CALENDAR_WORK, &ARMS, &CLIENTS);
        for (work, endless) in [(DENSE_WORK, 0), (ENDLESS_WORK, lab.value("endless"))] {
            for &years in lab.values("years") {
                plan.groups.push(ArmGroup {
                    repetitions: if lab.quick() { 3 } else { 5 },
                    seconds: 1.0 + years as f64 / 4.0,
                    ..ArmGroup::new(work, HERE, years, dense::dense_arms(lab, endless))
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
        let count = backends::count_records(group)? as usize;
        data::write_events(&dir.join(EVENTS), data::generate_events().take(count))?;
        backends::build_client::<EventKind>(group, dir)?;
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
            CALENDAR_WORK | MEMORY_WORK | PINNED_WORK => {
                backends::run_arm::<EventKind>(case, recorder)
            }
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

/// Fills a store of etui's and a database with the same records.
fn fill_stores(dir: &Path, records: Vec<CalendarObject>) -> Result<(), Error> {
    let rows: Vec<EventRow> = records.iter().map(EventRow::of).collect();
    let count = rows.len() as u64;
    EtuiBackend::create_filled(&dir.join(FILLED_ETUI), records)?;
    let mut plain = PlainCalendar::new(&dir.join(FILLED_PLAIN), rows, None)?;
    fill(&mut plain, count)?;
    plain.close().map(drop)
}

struct EventKind;

impl BackendKind for EventKind {
    type Backend = dyn CalendarBackend;
    const SERVER: Server = Server::Calendar;
    const RECORDS: &'static str = EVENTS;

    fn commands(_: &ArmSettings) -> Result<[Vec<&str>; 2], Error> {
        Ok([vec!["create", "lab"], vec!["connect", "lab"]])
    }

    fn of_server(backend: EdsBackend) -> Box<Self::Backend> {
        Box::new(backend)
    }

    fn open_local(
        case: &RunCase,
        _: &Path,
        path: &Path,
        vfs: Option<&str>,
        to_save: bool,
    ) -> Result<Box<Self::Backend>, Error> {
        let count = match to_save {
            true => case.size + case.settings.number("saves")?,
            false => 0,
        };
        let entries = data::generate_events().take(count as usize);
        if is_product(&case.settings, "own") {
            let texts = entries.map(|entry| entry.text).collect();
            return Ok(Box::new(OwnBackend::<CalendarObject>::start(path, texts)?));
        }
        let records = data::parse_records(entries)?;
        if is_product(&case.settings, "plain") {
            let rows = records.iter().map(EventRow::of).collect();
            return Ok(Box::new(PlainCalendar::new(path, rows, vfs)?));
        }
        Ok(Box::new(EtuiBackend::new(
            path,
            arm_options(&case.settings),
            records,
        )?))
    }

    fn read_records(
        case: &RunCase,
        pass: &mut ReadPass<'_>,
        calendar: &mut Self::Backend,
    ) -> Result<(), Error> {
        let (some, many) = (pass.times(5), pass.times(10));
        pass.read_common(calendar, &data::select_uids(case.size, SCREEN))?;
        for asked in data::query_ranges() {
            let found = rounds(many, || calendar.find_instances(1, &asked))?;
            pass.record_answer(asked.name, &found);
            let found = rounds(some, || calendar.find_events(1, &asked))?;
            pass.record_answer(&format!("{}_events", asked.name), &found);
        }
        for (name, text) in data::SEARCHES {
            let found = rounds(many, || calendar.search_titles(1, text))?;
            pass.record_answer(name, &found);
        }
        for (name, answer) in calendar.own_requests(many, &data::query_ranges()[0])? {
            pass.record(name, &answer);
        }
        pass.reopen(calendar)
    }

    fn look(calendar: &mut Self::Backend) -> Result<TimedAnswer, Error> {
        calendar.find_instances(1, &data::query_ranges()[0])
    }
}
