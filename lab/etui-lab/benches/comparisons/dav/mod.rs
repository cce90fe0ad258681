//! `dav`: `etui serve` as a server of contacts and calendars, beside other servers.
//!
//! - [`workload`]: the resources; [`expected`]: the answers that are expected;
//! - [`products`]: the servers, how they are filled and started;
//! - [`http`], [`requests`], [`multistatus`]: the client;
//! - [`session`]: what an operation costs a server;
//! - [`report`]: the declared report.

pub mod expected;
pub mod http;
pub mod multistatus;
pub mod process_tree;
pub mod products;
mod report;
pub mod requests;
mod session;
#[cfg(test)]
mod tests;
pub mod workload;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use self::expected::ExpectedAnswer;
use self::products::Product;
use self::requests::SaveCondition;
use self::session::{COUNTED, DavSession, MAX_ROUNDS};
use self::workload::{ExpectedWeek, ResourceKind, Workload};
use etui_lab::experiments::about::AboutText;
use etui_lab::stacks::HERE;
use etui_lab::{
    Arm, ArmGroup, ArmRole, Error, Experiment, ExperimentInfo, LabContext, MeasurePass, Recorder,
    ReportSpec, Results, RunCase, RunPlan,
};

pub struct Dav;

const NAME: &str = "dav";
const WORK: &str = "requests";
/// Settings of an arm.
const SECONDS: &str = "seconds";
const COUNTED_SAVES: &str = "counted";
/// Time in which each server must be filled; the laboratory gives up after fifteen minutes.
const FILL_LIMIT: Duration = Duration::from_secs(12 * 60);
const RAM_DISK: &str = "/dev/shm";
/// File in the place of a server's directory, with the reason why it was not filled.
const NOT_FILLED: &str = "not-filled";

impl Experiment for Dav {
    fn experiment_info(&self) -> ExperimentInfo {
        static ABOUT: AboutText = AboutText::new(include_str!("about.md"));
        ABOUT.info(NAME, None)
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let mut plan = RunPlan::default();
        let mut arms = Vec::new();
        for product in Product::ALL {
            let role = match product {
                Product::Etui => ArmRole::Etui,
                _ => ArmRole::Peer,
            };
            match product.missing() {
                Some(reason) => plan.skip(format!("arm {}", product.arm_name()), reason),
                None => arms.push(
                    Arm::new(product.arm_name(), role, "")
                        .with(SECONDS, lab.value(SECONDS))
                        .with(COUNTED_SAVES, COUNTED),
                ),
            }
        }
        if arms.is_empty() {
            return Ok(plan);
        }
        for &contacts in lab.values("contacts") {
            plan.groups.push(ArmGroup {
                repetitions: if lab.quick() { 1 } else { 3 },
                syscalls: true,
                seconds: 16.0 * lab.value(SECONDS) as f64,
                ..ArmGroup::new(WORK, HERE, contacts, arms.clone())
            });
        }
        Ok(plan)
    }

    fn set_up(&self, group: &ArmGroup, dir: &Path) -> Result<(), Error> {
        let workload = Workload::generate(group.size)?;
        ExpectedWeek::compute(&workload, dir)?;
        let until = Instant::now() + FILL_LIMIT;
        let products = Product::ALL.into_iter();
        let products = products.filter(|product| group.arms.iter().any(|arm| is_of(arm, *product)));
        std::thread::scope(|scope| {
            let workload = &workload;
            let filling: Vec<_> = products
                .map(|product| {
                    let dir = dir.join(product.dir_name());
                    scope.spawn(move || fill(product, &dir, workload, until))
                })
                .collect();
            for filled in filling {
                let filled = filled.join();
                filled.map_err(|_| Error::other("a thread that fills a server panicked"))??;
            }
            Ok(())
        })
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        let product = Product::ALL
            .into_iter()
            .find(|product| product.arm_name() == case.arm);
        let product = product.ok_or_else(|| Error::other(format!("no arm `{}`", case.arm)))?;
        let dir = filled_dir(product, recorder)?;
        let workload = Workload::generate(case.size)?;
        let week = ExpectedWeek::read(recorder.shared())?;
        let limit = Duration::from_secs(case.settings.number(SECONDS)?);
        let mut server = product.start(&dir)?;
        let mut session = DavSession::new(recorder, &server, limit, product == Product::Etui)?;
        measure_all(&mut session, &server, &workload, &week, case)?;
        server.stop()
    }

    fn report_spec(&self, results: &Results) -> ReportSpec {
        report::report_spec(results)
    }
}

fn is_of(arm: &Arm, product: Product) -> bool {
    arm.name == product.arm_name()
}

/// Fills a server. A peer that cannot be filled is noted, with the reason.
fn fill(product: Product, dir: &Path, workload: &Workload, until: Instant) -> Result<(), Error> {
    fs::create_dir(dir).map_err(|e| Error::file(dir, e))?;
    match fill_and_copy(product, dir, workload, until) {
        Err(error) if product != Product::Etui => {
            let note = dir.join(NOT_FILLED);
            fs::write(&note, error.to_string()).map_err(|e| Error::file(&note, e))
        }
        filled => filled,
    }
}

/// Fills a server on the RAM disk, if there is one, as peers flush up to ten times for each record; and copies its
/// files.
fn fill_and_copy(
    product: Product,
    dir: &Path,
    workload: &Workload,
    until: Instant,
) -> Result<(), Error> {
    let mut builder = tempfile::Builder::new();
    let Ok(filled) = builder.prefix("etui-lab-").tempdir_in(RAM_DISK) else {
        return product.fill(dir, workload, until);
    };
    product.fill(filled.path(), workload, until)?;
    let mut copy = Command::new("cp");
    let copied = copy.arg("-a").arg(filled.path().join(".")).arg(dir);
    match copied.status().map_err(|e| Error::file("cp", e))?.success() {
        true => Ok(()),
        false => Err(Error::other(format!("{} was not copied", dir.display()))),
    }
}

/// Returns the directory of a filled server. All runs of it are there: a copy would have 45,000 files.
fn filled_dir(product: Product, recorder: &Recorder) -> Result<PathBuf, Error> {
    let dir = recorder.shared().join(product.dir_name());
    match fs::read_to_string(dir.join(NOT_FILLED)) {
        Ok(reason) => Err(Error::not_run(format!("it could not be filled: {reason}"))),
        Err(_) => Ok(dir),
    }
}

/// Measures all operations. Where system calls are counted, only saves. At the end there are the same names as before,
/// some with other texts.
fn measure_all(
    session: &mut DavSession<'_>,
    server: &products::DavServer,
    workload: &Workload,
    week: &ExpectedWeek,
    case: &RunCase,
) -> Result<(), Error> {
    let reads = case.pass == MeasurePass::Timed;
    // Texts that no run has saved before.
    let first_change = 1_000 * (1 + case.repetition as usize) * usize::from(reads);
    for kind in ResourceKind::BOTH {
        let phases = Phases::of(kind);
        let (texts, collection) = (workload.of(kind), server.collection(kind));
        let tags = session.list(kind, workload)?;
        let changed = texts.spread().enumerate();
        let changed = changed.filter_map(|(round, text)| {
            let tag = tags.get(&text.name)?;
            Some((
                text.changed(kind, first_change + round),
                SaveCondition::Has(tag),
            ))
        });
        // Before a token is asked for: etui gives other ones after the first save in a copied store.
        session.save(phases.replace, kind, changed)?;
        let mut token = None;
        if reads {
            let names = texts.there().iter().map(|one| one.name.clone());
            let all = ExpectedAnswer::names(names);
            session.read(phases.list, &requests::list(collection), &all)?;
            let answer = session.read(phases.sync, &requests::sync(collection, None), &all)?;
            token = answer.and_then(|answer| answer.sync_token);
            let expected = ExpectedAnswer::texts(texts.many());
            let request = requests::multiget(collection, kind, texts.many());
            session.read(phases.multiget, &request, &expected)?;
            match kind {
                ResourceKind::Contact => query_names(session, collection, workload)?,
                ResourceKind::Event => query_week(session, collection, workload, week)?,
            }
        }
        if let Some(token) = token {
            let changes = texts.spread().enumerate();
            let changes = changes
                .map(|(round, text)| text.changed(kind, first_change + MAX_ROUNDS + 1 + round));
            session.sync_each(phases.sync_change, kind, token, changes)?;
        }
        let new_ones = texts.new_ones().iter().cloned();
        let new_ones = new_ones.map(|text| (text, SaveCondition::IsNew));
        session.save(phases.put, kind, new_ones)?;
        session.remove(kind, texts.new_ones())?;
    }
    match reads {
        true => session.record_memory(),
        false => Ok(()),
    }
}

fn query_names(
    session: &mut DavSession<'_>,
    collection: &str,
    workload: &Workload,
) -> Result<(), Error> {
    let expected = ExpectedAnswer::names(workload.with_name_part.iter().cloned());
    let request = requests::query_names(collection);
    session.read(report::NAMES, &request, &expected).map(|_| ())
}

fn query_week(
    session: &mut DavSession<'_>,
    collection: &str,
    workload: &Workload,
    week: &ExpectedWeek,
) -> Result<(), Error> {
    let there = workload.of(ResourceKind::Event).there().iter();
    let of_week = there.filter(|text| week.names.contains(&text.name));
    let mut expected = ExpectedAnswer::texts(of_week);
    let request = requests::query_week(collection, false);
    session.read(report::WEEK, &request, &expected)?;
    expected.components = Some(week.occurrences);
    let request = requests::query_week(collection, true);
    session
        .read(report::EXPANDED, &request, &expected)
        .map(|_| ())
}

/// The names of the phases of a kind of resource.
struct Phases {
    list: &'static str,
    sync: &'static str,
    sync_change: &'static str,
    multiget: &'static str,
    replace: &'static str,
    put: &'static str,
}

impl Phases {
    const fn of(kind: ResourceKind) -> Self {
        match kind {
            ResourceKind::Contact => Self {
                list: "list_contacts",
                sync: "sync_contacts",
                sync_change: "sync_changed_contact",
                multiget: "get_50_contacts",
                replace: "replace_contact",
                put: "add_contact",
            },
            ResourceKind::Event => Self {
                list: "list_events",
                sync: "sync_events",
                sync_change: "sync_changed_event",
                multiget: "get_50_events",
                replace: "replace_event",
                put: "add_event",
            },
        }
    }
}
