//! `searches`: the processor time of list and search requests as an application makes them, which
//! are listed in [`requests`].

mod requests;

use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use etui::contacts::Contacts;
use etui::{Durability, Store};
use etui_testkit::people::People;
use rustix::time::{ClockId, clock_gettime};

use self::requests::{QuerySource, list_requests};
use super::report::bounded_report;
use etui_lab::experiments::about::AboutText;
use etui_lab::experiments::common::{people_options, record_quantiles};
use etui_lab::report::numbers::format_whole;
use etui_lab::stacks::HERE;
use etui_lab::{
    Arm, ArmGroup, ArmRole, Error, Experiment, ExperimentInfo, LabContext, Measure, Recorder,
    ReportSpec, Results, RunCase, RunPlan, TableSpec, Threshold, stats,
};

const NAME: &str = "searches";
const WORK: &str = "search";
const STORE: &str = "people.etui";
/// Requests of an arm that are timed, and that precede them.
const TIMED: usize = 200;
const WARM_UP: usize = 40;
/// Upper bounds of the slowest page, nanoseconds, up to and above this size.
const LARGE: u64 = 100_000;
const MAX_SMALL_NS: f64 = 5e6;
const MAX_LARGE_NS: f64 = 100e6;

pub struct Searches;

impl Experiment for Searches {
    fn experiment_info(&self) -> ExperimentInfo {
        static ABOUT: AboutText = AboutText::new(include_str!("searches.md"));
        ABOUT.info(NAME, None)
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let groups = lab.values("sizes").iter().map(|&size| {
            let arms = list_requests().into_iter();
            let arms = arms.map(|(name, _)| Arm::new(name, ArmRole::Etui, ""));
            ArmGroup {
                repetitions: 1,
                seconds: 0.5 + size as f64 / 500_000.0,
                ..ArmGroup::new(WORK, HERE, size, arms.collect())
            }
        });
        Ok(groups.collect::<Vec<_>>().into())
    }

    fn set_up(&self, group: &ArmGroup, dir: &Path) -> Result<(), Error> {
        let cards = dir.join("people.vcf");
        write_people(&cards, 1, group.size)?;
        let mut options = people_options();
        options.durability = Durability::Deferred;
        let store = Store::open_with(dir.join(STORE), &options)?;
        import_people(&store.contacts()?, &cards, group.size)?;
        store.maintenance().merge_index()?;
        store.close()?;
        std::fs::remove_file(&cards).map_err(|e| Error::file(&cards, e))
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        let mut options = people_options();
        options.read_only = true;
        let store = Store::open_with(recorder.shared().join(STORE), &options)?;
        // Every record's page is mapped then, as in a process that has run for a while.
        let snapshot = store.snapshot()?;
        snapshot.contacts()?.for_each(|_, text| {
            black_box(text);
            Ok(())
        })?;
        drop(snapshot);
        let contacts = store.contacts()?;
        recorder.answer(contacts.count()?.to_le_bytes());
        let make = list_requests()
            .into_iter()
            .find(|(name, _)| *name == case.arm);
        let (_, make) = make.ok_or_else(|| Error::other(format!("no request `{}`", case.arm)))?;
        let mut source = QuerySource::new(42, case.size);
        let (mut times, mut rows) = (Vec::new(), Vec::new());
        for at in 0..WARM_UP + TIMED {
            let request = make(&mut source);
            let begun = thread_time();
            let found = request.send(&contacts)?;
            let took = thread_time().saturating_sub(begun);
            if at >= WARM_UP {
                times.push(took.as_nanos() as f64);
                rows.push(found as f64);
            }
        }
        record_quantiles(recorder, "request", &times);
        if let Some(rows) = stats::median(&rows) {
            recorder.record("request/rows", rows);
        }
        Ok(())
    }

    fn report_spec(&self, results: &Results) -> ReportSpec {
        let groups = results.select_groups(&[WORK], &[HERE]);
        let slowest = || Measure::new("slowest", "request/max_ns");
        let tables = groups.iter().map(|group| {
            TableSpec::new(
                format!("One request among {} contacts", format_whole(group.size)),
                vec![group.clone()],
            )
            .caption("Processor time of the thread, over 200 different queries.")
            .measures(vec![
                Measure::new("median", "request/p50_ns"),
                Measure::new("99th percentile", "request/p99_ns"),
                slowest(),
                Measure::new("rows", "request/rows").informative(),
            ])
        });
        let thresholds = groups.iter().flat_map(|group| {
            let pages = results.arms(group).into_iter();
            let pages =
                pages.filter(|(arm, _)| !arm.starts_with("all ") && !arm.starts_with("count"));
            pages.map(|(arm, _)| {
                let claim = format!(
                    "slowest `{arm}` among {} contacts",
                    format_whole(group.size)
                );
                let bound = if group.size > LARGE {
                    MAX_LARGE_NS
                } else {
                    MAX_SMALL_NS
                };
                Threshold::target(claim)
                    .of(Some(group), arm, slowest())
                    .at_most(bound)
            })
        });
        let (tables, bounds) = (tables.collect(), thresholds.collect());
        bounded_report(None, tables, Vec::new(), bounds)
    }
}

/// Writes people with varied names as a file of vCards.
pub(super) fn write_people(path: &Path, seed: u64, count: u64) -> Result<(), Error> {
    let failed = |e| Error::file(path, e);
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    for text in People::varied(seed).take(usize::try_from(count).unwrap_or(usize::MAX)) {
        file.write_all(text.as_bytes()).map_err(failed)?;
    }
    file.flush().map_err(failed)
}

pub(super) fn import_people(contacts: &Contacts, path: &Path, count: u64) -> Result<(), Error> {
    let file = File::open(path).map_err(|e| Error::file(path, e))?;
    let report = contacts.import(file, &mut |_| ControlFlow::Continue(()))?;
    match report.added {
        added if added == count => Ok(()),
        added => Err(Error::other(format!("{added} of {count} were added"))),
    }
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::from_secs(time.tv_sec.unsigned_abs())
        + Duration::from_nanos(time.tv_nsec.unsigned_abs())
}
