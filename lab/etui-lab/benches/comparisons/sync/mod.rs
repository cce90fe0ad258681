//! `sync`: `etui sync` beside other programs that keep a copy of a server's contacts in step with it.
//!
//! - [`clients`]: the programs, and how their copies are read and changed;
//! - [`served`]: the server at the other end, which counts its requests;
//! - [`usage`]: the cost of a run for a client;
//! - [`report`]: the declared report.

mod clients;
mod report;
mod served;
#[cfg(test)]
mod tests;
mod usage;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use self::clients::{ClientKind, SyncClient};
use self::served::Served;
use self::usage::RunUsage;
use super::dav::products::Product;
use super::dav::workload::{NamedText, ResourceKind, Workload};
use etui_lab::experiments::about::AboutText;
use etui_lab::stacks::HERE;
use etui_lab::{
    Arm, ArmGroup, ArmRole, Error, Experiment, ExperimentInfo, LabContext, Recorder, ReportSpec,
    Results, RunCase, RunPlan, stats,
};

pub struct Sync;

const NAME: &str = "sync";
const WORK: &str = "contacts";
/// Setting of an arm.
const SECONDS: &str = "seconds";
/// Times that a run without changes, and one with a change on each side, are repeated at most.
const ROUNDS: usize = 5;
const FILL_LIMIT: Duration = Duration::from_secs(12 * 60);

impl Experiment for Sync {
    fn experiment_info(&self) -> ExperimentInfo {
        static ABOUT: AboutText = AboutText::new(include_str!("about.md"));
        ABOUT.info(NAME, None)
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let mut plan = RunPlan::default();
        plan.skip(
            "arm pimsync",
            "it is in no registry that the laboratory installs from",
        );
        let mut arms = Vec::new();
        for kind in ClientKind::ALL {
            let role = match kind {
                ClientKind::Etui => ArmRole::Etui,
                ClientKind::EtuiServe => ArmRole::Variant,
                _ => ArmRole::Peer,
            };
            match kind.missing() {
                Some(reason) => plan.skip(format!("arm {}", kind.arm_name()), reason),
                None => {
                    arms.push(Arm::new(kind.arm_name(), role, "").with(SECONDS, lab.value(SECONDS)))
                }
            }
        }
        if let Some(reason) = Product::Etui.missing() {
            plan.skip("all arms: the server", reason);
            return Ok(plan);
        }
        for &contacts in lab.values("contacts") {
            plan.groups.push(ArmGroup {
                repetitions: if lab.quick() { 1 } else { 3 },
                seconds: 4.0 * lab.value(SECONDS) as f64,
                ..ArmGroup::new(WORK, HERE, contacts, arms.clone())
            });
        }
        Ok(plan)
    }

    fn set_up(&self, group: &ArmGroup, dir: &Path) -> Result<(), Error> {
        let workload = Workload::generate(group.size)?;
        let until = Instant::now() + FILL_LIMIT;
        Product::Etui.fill(&dir.join(served::DIR), &workload, until)
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        let kind = ClientKind::ALL
            .into_iter()
            .find(|kind| kind.arm_name() == case.arm);
        let kind = kind.ok_or_else(|| Error::other(format!("no arm `{}`", case.arm)))?;
        let workload = Workload::generate(case.size)?;
        let texts = workload.of(ResourceKind::Contact);
        let dir = recorder.dir().join("client");
        fs::create_dir(&dir).map_err(|e| Error::file(&dir, e))?;
        let served = Served::start(recorder)?;
        let mut run = SyncRun {
            client: kind.pair(&dir, &served)?,
            served,
            expected: texts
                .there()
                .iter()
                .map(|one| (one.uid.as_str(), None))
                .collect(),
            limit: Duration::from_secs(case.settings.number(SECONDS)?),
            recorder,
        };
        run.measure(report::FIRST, 1, |_, _| Ok(()))?;
        run.measure(report::IDLE, ROUNDS, |_, _| Ok(()))?;
        let mut changed = texts.spread();
        run.measure(report::ONE_EACH, ROUNDS, |run, round| {
            let here = changed.next();
            let there = changed.next();
            match (here, there) {
                (Some(here), Some(there)) => run.change(here, there, round),
                _ => Err(Error::other("there are too few contacts")),
            }
        })?;
        run.answer();
        run.served.stop()
    }

    fn report_spec(&self, results: &Results) -> ReportSpec {
        report::report_spec(results)
    }
}

/// A client and its server.
struct SyncRun<'r, 't> {
    recorder: &'r mut Recorder,
    served: Served,
    client: Box<dyn SyncClient>,
    /// The cards that both sides must have, by UID: with the mark of their last change.
    expected: BTreeMap<&'t str, Option<String>>,
    /// Time for the rounds of a work.
    limit: Duration,
}

impl<'t> SyncRun<'_, 't> {
    /// Measures runs of the client, each after something is done; and checks both sides after the last.
    fn measure(
        &mut self,
        phase: &str,
        rounds: usize,
        mut before: impl FnMut(&mut Self, usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let begun = Instant::now();
        let mut all: Vec<RunUsage> = Vec::new();
        while all.len() < rounds && (all.is_empty() || begun.elapsed() < self.limit) {
            before(self, all.len())?;
            let requests = self.served.count_requests()?;
            let mut usage = RunUsage::measure(self.client.sync_command()?, self.recorder.dir())?;
            usage.requests = self.served.count_requests()? - requests;
            all.push(usage);
        }
        self.check(phase)?;
        for (at, measure) in RunUsage::MEASURES.into_iter().enumerate() {
            let values = all.iter().filter_map(|one| one.values().get(at).copied());
            if let Some(median) = stats::median(&values.collect::<Vec<f64>>()) {
                self.recorder.record(&format!("{phase}/{measure}"), median);
            }
        }
        Ok(())
    }

    /// Changes a card here and another one on the server.
    fn change(
        &mut self,
        here: &'t NamedText,
        there: &'t NamedText,
        round: usize,
    ) -> Result<(), Error> {
        let marks = ["here", "there"].map(|side| format!("X-ETUI-LAB:{side} {round}"));
        let [here_mark, there_mark] = marks;
        self.client.change(&here.uid, &here_mark)?;
        let text = marked(&there.text, &there_mark);
        self.served.save(&NamedText {
            text,
            ..there.clone()
        })?;
        self.expected.insert(&here.uid, Some(here_mark));
        self.expected.insert(&there.uid, Some(there_mark));
        Ok(())
    }

    /// Checks that both sides have the same cards: all of them, with all changes.
    fn check(&self, phase: &str) -> Result<(), Error> {
        let sides = [
            ("the copy", self.client.cards()?),
            ("the server", self.served.cards()?),
        ];
        for (side, cards) in sides {
            let is_there = |(uid, mark): &(&&str, &Option<String>)| {
                let text = cards.get(**uid);
                let has_mark = |text: &String| mark.as_ref().is_none_or(|mark| text.contains(mark));
                text.is_some_and(has_mark)
            };
            let there = self.expected.iter().filter(is_there).count();
            if there != self.expected.len() || cards.len() != there {
                return Err(Error::other(format!(
                    "after `{phase}` {side} has {} cards, {there} of the {} that are expected",
                    cards.len(),
                    self.expected.len()
                )));
            }
        }
        Ok(())
    }

    /// Records the cards that both sides have at the end. How many are changed depends on the client's speed.
    fn answer(&mut self) {
        for uid in self.expected.keys() {
            self.recorder.answer(uid);
        }
    }
}

/// Returns a card with one more line.
fn marked(text: &str, mark: &str) -> String {
    text.replacen("END:VCARD", &format!("{mark}\r\nEND:VCARD"), 1)
}
