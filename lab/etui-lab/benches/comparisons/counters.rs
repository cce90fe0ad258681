//! `counters`: cost of etui's operations in counters that repeat exactly. The project's
//! baseline, compared at every change.

use std::path::Path;

use etui::contacts::{Card, Contacts, Field, Filter, MatchMode, Paging};
use etui::{Durability, Store};

use etui_lab::Error;
use etui_lab::experiments::about::AboutText;
use etui_lab::experiments::common::{copy_shared, fill_store, make_cards, people_options};
use etui_lab::{AdviceSpec, Conclusion, Measure, Per, ReportSpec, TableSpec, Threshold};
use etui_lab::{
    Arm, ArmGroup, ArmRole, Experiment, ExperimentInfo, LabContext, Recorder, Results, RunCase,
    RunPlan,
};

pub struct Counters;

const BOOK: &str = "contacts.etui";

/// The arm whose saves are durable when they return.
const DURABLE: &str = "durable";

/// The operations, and how often each phase repeats them.
const WORKS: [(&str, u64); 6] = [
    ("open and close", 1),
    ("save one", 256),
    ("save a batch", 3_200),
    ("get one by UID", 1_000),
    ("find by the beginning of a name", 100),
    ("first screen", 100),
];

/// The reported counters of an operation: title and key.
const SHOWN: [(&str, &str); 5] = [
    ("instructions", "work/instructions"),
    ("system calls", "work/calls"),
    ("flushes", "work/flush_calls"),
    ("write calls", "work/write_calls"),
    ("bytes written", "work/called_write_bytes"),
];

impl Experiment for Counters {
    fn experiment_info(&self) -> ExperimentInfo {
        static ABOUT: AboutText = AboutText::new(include_str!("counters.md"));
        ABOUT.info("counters", None)
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let stack = match lab.stack("ram") {
            Ok(()) => "ram",
            Err(_) => "here",
        };
        let groups = WORKS.map(|(work, _)| {
            let arms = vec![
                Arm::new(DURABLE, ArmRole::Etui, ""),
                Arm::new("deferred", ArmRole::Variant, "deferred"),
            ];
            ArmGroup {
                counted: true,
                syscalls: true,
                instructions: true,
                seconds: 0.5,
                ..ArmGroup::new(work, stack, lab.value("contacts"), arms)
            }
        });
        Ok(groups.to_vec().into())
    }

    fn set_up(&self, group: &ArmGroup, dir: &Path) -> Result<(), Error> {
        let people = make_cards(1, group.size)?;
        Ok(fill_store(&dir.join(BOOK), &people_options(), &people)?.close()?)
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        let path = recorder.dir().join(BOOK);
        let mut options = people_options();
        if case.settings.is("deferred") {
            options.durability = Durability::Deferred;
        }
        if case.work == "open and close" {
            // A freshly filled process has other memory to search through.
            copy_shared(recorder, BOOK, BOOK)?;
            let count = recorder.phase("work", || {
                let store = Store::open_with(&path, &options)?;
                let count = store.contacts()?.count()?;
                store.close()?;
                Ok(count)
            })?;
            recorder.answer(count.to_le_bytes());
            return Ok(());
        }
        let there = make_cards(1, case.size)?;
        let store = fill_store(&path, &options, &there)?;
        let contacts = store.contacts()?;
        contacts.count()?;
        run_operation(&case.work, &contacts, &there, recorder)?;
        let all = contacts.all()?;
        let mut left: Vec<&[u8]> = all.iter().map(|(_, text)| text).collect();
        left.sort_unstable();
        for text in left {
            recorder.answer(text);
        }
        drop(contacts);
        Ok(store.close()?)
    }

    fn report_spec(&self, results: &Results) -> ReportSpec {
        let tables = WORKS.iter().map(|(work, times)| {
            let each =
                |(title, key): &(&str, &str)| Measure::new(*title, *key).per(Per::Times(*times));
            TableSpec::new(
                format!("One operation: {work}"),
                results.select_groups(&[work], &[]),
            )
            .caption("Flushes of the deferred level are those of checkpoints.")
            .measures(SHOWN.iter().map(each).collect())
        });
        let (work, times) = WORKS[1];
        let save = results.select_groups(&[work], &[]).into_iter().next();
        let flushes = Measure::new("flushes", "work/flush_calls").per(Per::Times(times));
        let (batch, in_batch) = WORKS[2];
        let batch = results.select_groups(&[batch], &[]).into_iter().next();
        let advice = AdviceSpec::new("save many contacts in one batch")
            .or_else("save contacts one by one if that is simpler")
            .how("save_many: one transaction for all of them")
            .measured("A contact saved durably, alone and in a batch of 3,200")
            .about_etui()
            .gain("flushes for each contact")
            .before(save.as_ref(), DURABLE, flushes.clone())
            .after(
                batch.as_ref(),
                DURABLE,
                flushes.clone().per(Per::Times(in_batch)),
            );
        ReportSpec {
            advice: vec![advice],
            conclusion: Conclusion {
                yes: "The tables show what each operation costs, in counters that do not depend on how \
                      fast the machine is.",
                ..Conclusion::default()
            },
            tables: tables.collect(),
            thresholds: vec![
                Threshold::target(
                    "flushes of a durable save of one contact, checkpoints and merges included",
                )
                .of(save.as_ref(), DURABLE, flushes),
            ],
            ..ReportSpec::default()
        }
    }
}

/// Does an operation so often, as its phase `work`.
fn run_operation(
    work: &str,
    contacts: &Contacts,
    there: &[Card],
    recorder: &mut Recorder,
) -> Result<(), Error> {
    let times = WORKS.iter().find(|(name, _)| *name == work);
    let times = times.map_or(0, |(_, times)| *times);
    let first = there.iter().cycle().take(times as usize);
    let answer: u64 = match work {
        "save one" => {
            let more = make_cards(2, times)?;
            recorder.phase("work", || {
                for card in &more {
                    contacts.save(card)?;
                }
                Ok(contacts.count()?)
            })?
        }
        "save a batch" => {
            let more = make_cards(2, times)?;
            recorder.phase("work", || {
                contacts.save_many(&more)?;
                Ok(contacts.count()?)
            })?
        }
        "get one by UID" => {
            let uids: Vec<String> = first.filter_map(Card::uid).map(Into::into).collect();
            let found = recorder.phase("work", || {
                let mut found = Vec::with_capacity(uids.len());
                for uid in &uids {
                    found.extend(contacts.get(uid)?);
                }
                Ok(found)
            })?;
            for contact in &found {
                recorder.answer(&contact.text);
            }
            found.len() as u64
        }
        "find by the beginning of a name" => {
            let names: Vec<Filter> = first
                .map(|card| {
                    Filter::text(
                        Field::Name,
                        MatchMode::Prefix,
                        card.display_name().chars().take(4).collect::<String>(),
                    )
                })
                .collect();
            let found = recorder.phase("work", || {
                let mut found = Vec::new();
                for name in &names {
                    found.extend(contacts.find(name)?);
                }
                Ok(found)
            })?;
            for entry in &found {
                recorder.answer(&entry.summary.name);
            }
            found.len() as u64
        }
        "first screen" => {
            let seen = recorder.phase("work", || {
                let mut seen = 0;
                for _ in 0..times {
                    seen += contacts.list(Paging::first(50))?.len() as u64;
                }
                Ok(seen)
            })?;
            // Once more, uncounted: keeping it while it is counted would count as well.
            for entry in contacts.list(Paging::first(50))? {
                recorder.answer(&entry.summary.name);
            }
            seen
        }
        other => return Err(Error::other(format!("no operation `{other}`"))),
    };
    recorder.answer(answer.to_le_bytes());
    Ok(())
}
