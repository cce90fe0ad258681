//! `dbus-calls`: calls of the services over D-Bus, beside an echo of as many bytes.
//!
//! - `calls.c`: the client and the echo, on libdbus;
//! - [`service`]: the two services and their calls;
//! - [`report`]: the declared report.

mod report;
mod service;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use etui::contacts::Card;
use etui_testkit::bus::PrivateBus;
use etui_testkit::people::{Version, person};

use self::service::{RemoteCall, Service};
use etui_lab::experiments::about::AboutText;
use etui_lab::experiments::common::{copy_shared, fill_store, people_options};
use etui_lab::measure::pinned::run_pinned;
use etui_lab::measure::process::ProcessMemory;
use etui_lab::peers::bus::BusClient;
use etui_lab::peers::eds;
use etui_lab::stacks::HERE;
use etui_lab::{
    Arm, ArmGroup, ArmRole, Error, Experiment, ExperimentInfo, LabContext, Recorder, ReportSpec,
    Results, RunCase, RunPlan, stats,
};

pub struct DbusCalls;

const NAME: &str = "dbus-calls";
const WORK: &str = "calls";
/// The book of people that is used.
const SEED: u64 = 4;
/// Files of the group: a store, and UIDs with commas between them.
const STORE: &str = "contacts.etui";
const UIDS: &str = "uids";
/// Calls in a block.
const BLOCK: u64 = 25;
/// Time after the last answer before memory is measured.
const AFTER_ANSWER: Duration = Duration::from_secs(2);
/// Time from there until the service is at rest: it gives memory back five to ten seconds after the
/// last call.
const UNTIL_REST: Duration = Duration::from_secs(9);
/// Records that are fetched at once.
const MANY: usize = 50;

impl Experiment for DbusCalls {
    fn experiment_info(&self) -> ExperimentInfo {
        static ABOUT: AboutText = AboutText::new(include_str!("about.md"));
        ABOUT.info(NAME, None)
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let mut plan = RunPlan::default();
        if let Err(reason) = eds::available(eds::Server::AddressBook) {
            plan.skip("arms over D-Bus", reason);
            return Ok(plan);
        }
        let arms = Service::ALL.map(|service| {
            let arm = Arm::new(service.arm_name(), ArmRole::Etui, "");
            let arm = arm.with("rounds", lab.value("rounds"));
            arm.with("starts", lab.value("starts"))
        });
        plan.groups.push(ArmGroup {
            repetitions: if lab.quick() { 3 } else { 5 },
            seconds: 10.0,
            ..ArmGroup::new(WORK, HERE, lab.value("contacts"), arms.to_vec())
        });
        Ok(plan)
    }

    fn set_up(&self, group: &ArmGroup, dir: &Path) -> Result<(), Error> {
        compile_client(dir)?;
        // As the server's own clients write them.
        let people = (0..group.size).map(|n| Card::parse(person(SEED, n).to_vcard(Version::V3)));
        let people = people.collect::<Result<Vec<Card>, _>>()?;
        // Spread over the book.
        let uids = people.iter().step_by((people.len() / MANY).max(1));
        let uids: Vec<&str> = uids.take(MANY).filter_map(Card::uid).collect();
        let file = dir.join(UIDS);
        fs::write(&file, uids.join(",")).map_err(|e| Error::file(&file, e))?;
        Ok(fill_store(&dir.join(STORE), &people_options(), &people)?.close()?)
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        let service = Service::ALL
            .into_iter()
            .find(|service| service.arm_name() == case.arm);
        let service = service.ok_or_else(|| Error::other(format!("no arm `{}`", case.arm)))?;
        let store = copy_shared(recorder, STORE, STORE)?;
        run_pinned(|real_time| {
            recorder.record("pinned/real_time", f64::from(u8::from(real_time)));
            measure_service(case, service, &store, recorder)
        })
    }

    fn report_spec(&self, results: &Results) -> ReportSpec {
        report::report_spec(results)
    }
}

fn compile_client(dir: &Path) -> Result<PathBuf, Error> {
    eds::compile_client(dir, "dbus-calls", include_str!("calls.c"), "dbus-1")
}

/// A bus that starts the service.
struct Session {
    client: BusClient,
    bus: PrivateBus,
}

impl Session {
    fn start(service: Service, store: &Path) -> Result<Self, Error> {
        let failed = |e: std::io::Error| Error::other(format!("the bus: {e}"));
        let bus = PrivateBus::start().map_err(failed)?;
        bus.add_system_service(eds::SOURCES).map_err(failed)?;
        let command = service.command_line(&eds::find_etui()?, store);
        bus.add_service(service.bus_name(), &command)
            .map_err(failed)?;
        let client = BusClient::connect(bus.address())?;
        // It runs before a program asks for contacts.
        service::start_registry(&client)?;
        Ok(Self { client, bus })
    }

    /// Times calls of the service and of the echo; blocks of both, in turn.
    fn time_calls(
        &self,
        program: &Path,
        call: &RemoteCall,
        rounds: u64,
    ) -> Result<CallTimes, Error> {
        let mut command = self.bus.command(program);
        command.args([rounds.to_string(), BLOCK.to_string()]);
        let printed = eds::output(command.args(call.words()))?;
        CallTimes::parse(&printed)
            .ok_or_else(|| Error::other(format!("not understood: {printed:?}")))
    }
}

fn measure_service(
    case: &RunCase,
    service: Service,
    store: &Path,
    recorder: &mut Recorder,
) -> Result<(), Error> {
    let program = compile_client(recorder.shared())?;
    let uids = recorder.shared().join(UIDS);
    let uids = fs::read_to_string(&uids).map_err(|e| Error::file(&uids, e))?;
    let session = Session::start(service, store)?;
    let mut first_replies = Vec::new();
    for _ in 0..case.settings.number("starts")? {
        let begun = Instant::now();
        service.open(&session.client)?;
        first_replies.push(begun.elapsed().as_nanos() as f64);
        session.client.end_service(service.bus_name())?;
    }
    record_median(recorder, "first_reply/wall_ns", &first_replies);

    let path = service.open(&session.client)?;
    let rounds = case.settings.number("rounds")?;
    for (phase, call) in service.calls(&path, &uids) {
        let times = session.time_calls(&program, &call, rounds)?;
        record_median(recorder, &format!("{phase}/wall_ns"), &times.service);
        record_median(recorder, &format!("{phase}/echo_ns"), &times.echo);
        record_median(recorder, &format!("{phase}/ratio"), &times.ratios());
        recorder.record(&format!("{phase}/reply_bytes"), times.reply_bytes);
    }

    let count = service.read_all(&session.client, &path)?;
    recorder.answer(count.to_le_bytes());
    let process = session.client.process_of(service.bus_name())?;
    for (moment, wait) in [("read_all", AFTER_ANSWER), ("rest", UNTIL_REST)] {
        std::thread::sleep(wait);
        for (measure, value) in ProcessMemory::of(process)?.measures() {
            recorder.record(&format!("{moment}/{measure}"), value);
        }
    }
    Ok(())
}

fn record_median(recorder: &mut Recorder, name: &str, values: &[f64]) {
    if let Some(median) = stats::median(values) {
        recorder.record(name, median);
    }
}

/// Times of blocks of calls, in nanoseconds.
#[derive(Debug, Default, PartialEq)]
struct CallTimes {
    reply_bytes: f64,
    echo: Vec<f64>,
    service: Vec<f64>,
}

impl CallTimes {
    /// Parses the client's output: the reply's length, then a line for each block.
    fn parse(printed: &str) -> Option<Self> {
        let mut numbers = printed.split_whitespace().map(str::parse::<f64>);
        let mut times = Self {
            reply_bytes: numbers.next()?.ok()?,
            ..Self::default()
        };
        while let Some(echo) = numbers.next() {
            times.echo.push(echo.ok()?);
            times.service.push(numbers.next()?.ok()?);
        }
        Some(times)
    }

    fn ratios(&self) -> Vec<f64> {
        let pairs = self.service.iter().zip(&self.echo);
        pairs.map(|(service, echo)| service / echo).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeMap;

    use super::*;
    use etui_lab::MeasurePass;
    use etui_lab::experiments::backends::run_all::run_all;

    #[test]
    fn both_services_answer_beside_the_echo() {
        let small = [("contacts", 60), ("rounds", 2), ("starts", 1)];
        let set = small.map(|(name, value)| (name.to_owned(), vec![value]));
        let info = DbusCalls.experiment_info();
        let lab = LabContext::new(&info, true, &BTreeMap::from(set)).unwrap();
        let plan = DbusCalls.plan_run(&lab).unwrap();
        let lines = run_all(&DbusCalls, &plan, &[MeasurePass::Timed]);
        let results = Results::of(NAME, &lines);
        let shown = DbusCalls.present_results(&results);
        for group in results.groups() {
            assert_eq!(shown.tables.len(), 4);
            for service in Service::ALL {
                let of = |measure| results.median(&group, service.arm_name(), measure);
                let (one, many) = (of("get/reply_bytes"), of("get_many/reply_bytes"));
                assert!(many.unwrap() > 20.0 * one.unwrap());
                assert!(of("empty/ratio").unwrap() > 0.0);
                assert!(of("first_reply/wall_ns").unwrap() > 0.0);
                let (after, rest) = (of("read_all/private_bytes"), of("rest/private_bytes"));
                assert!(after.unwrap() > 0.0 && rest.unwrap() > 0.0);
            }
        }
    }

    #[test]
    fn blocks_of_both_are_told_apart() {
        let times = CallTimes::parse("88\n100 150\n200 220\n").unwrap();
        assert_eq!(times.reply_bytes, 88.0);
        assert_eq!(times.ratios(), [1.5, 1.1]);
        assert_eq!(CallTimes::parse("88\n100\n"), None);
    }
}
