//! `counters`: cost of etui's operations in counters that repeat exactly. The project's
//! baseline, compared at every change.

use std::path::Path;

use etui::contacts::{Card, Contacts, Filter, Paging};
use etui::{Durability, Options, Store};
use etui_testkit::people::People;

use crate::error::Error;
use crate::spec::{Measure, Per, ReportSpec, TableSpec, Threshold};
use crate::{
    Arm, ArmGroup, ArmRole, ArmSettings, Experiment, ExperimentInfo, LabContext, Parameter,
    Recorder, Results, RunCase, RunPlan,
};

/// The experiment.
pub struct Counters;

/// The file.
const BOOK: &str = "contacts.etui";

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
        ExperimentInfo {
            name: "counters",
            title: "What etui's operations cost, in counters that repeat exactly",
            study: None,
            question: "How many instructions, system calls, flushes and bytes does each operation take?",
            method: "Each operation is run on a book of people from a fixed seed, once under \
                callgrind and once under strace: opening on a copy of a book that another process \
                made, the others in a store that is open and was read and saved to before. Nothing \
                here depends on how fast the machine is.",
            same_answer: "Both durability levels must find the same contacts, and have the same \
                          ones in the end.",
            found: &[],
            parameters: &[Parameter {
                name: "contacts",
                about: "contacts in the book beforehand",
                quick: &[1_600],
                full: &[1_600],
            }],
        }
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let stack = if lab.stack("ram").is_ok() {
            "ram"
        } else {
            "here"
        };
        let groups = WORKS
            .iter()
            .map(|(work, _)| ArmGroup {
                work: (*work).to_owned(),
                stack: stack.to_owned(),
                size: lab.value("contacts"),
                counted: true,
                syscalls: true,
                instructions: true,
                seconds: 0.5,
                arms: vec![
                    Arm::new("durable", ArmRole::Etui, ArmSettings::new()),
                    Arm::new(
                        "deferred",
                        ArmRole::Etui,
                        ArmSettings::new().with("deferred", true),
                    ),
                ],
                ..ArmGroup::default()
            })
            .collect();
        Ok(RunPlan {
            groups,
            not_run: Vec::new(),
        })
    }

    fn set_up(&self, group: &ArmGroup, dir: &Path) -> Result<(), Error> {
        let store = fill_store(
            &dir.join(BOOK),
            &store_options(),
            &make_cards(1, group.size)?,
        )?;
        Ok(store.close()?)
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        let path = recorder.dir().join(BOOK);
        let mut options = store_options();
        if case.settings.is("deferred") {
            options.durability = Durability::Deferred;
        }
        if case.work == "open and close" {
            // A freshly filled process has other memory to search through.
            let made = recorder.shared().join(BOOK);
            std::fs::copy(&made, &path).map_err(|e| Error::file(&made, e))?;
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
        let mut left: Vec<Vec<u8>> = contacts
            .all()?
            .iter()
            .map(|(_, text)| text.to_vec())
            .collect();
        left.sort_unstable();
        for text in left {
            recorder.answer(text);
        }
        drop(contacts);
        store.close()?;
        Ok(())
    }

    fn report_spec(&self, results: &Results) -> ReportSpec {
        let tables = WORKS.iter().map(|(work, times)| {
            let each =
                |(title, key): &(&str, &str)| Measure::new(*title, *key).per(Per::Times(*times));
            TableSpec {
                title: format!("One `{work}`"),
                caption: "Flushes of the deferred level are those of checkpoints.".to_owned(),
                groups: results.select_groups(&[work], &[]),
                measures: SHOWN.iter().map(each).collect(),
                ..TableSpec::default()
            }
        });
        let (work, times) = WORKS[1];
        let save = results.select_groups(&[work], &[]).into_iter().next();
        let flushes = Measure::new("flushes", "work/flush_calls").per(Per::Times(times));
        ReportSpec {
            tables: tables.collect(),
            thresholds: vec![Threshold::target(
                "flushes of a durable save of one contact, checkpoints and merges included",
                save.as_ref(),
                "durable",
                flushes,
            )],
            ..ReportSpec::default()
        }
    }
}

/// How a book is opened.
fn store_options() -> Options {
    let mut options = Options::default();
    options.locale = Some("de".to_owned());
    options.region = Some("DE".to_owned());
    options
}

/// A new store with these people.
fn fill_store(path: &Path, options: &Options, people: &[Card]) -> Result<Store, Error> {
    let store = Store::open_with(path, options)?;
    store.contacts()?.save_many(people)?;
    store.merge_index()?;
    Ok(store)
}

/// People from a seed, as cards.
fn make_cards(seed: u64, count: u64) -> Result<Vec<Card>, Error> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    People::new(seed)
        .take(count)
        .map(|text| Ok(Card::parse(text)?))
        .collect()
}

/// Does an operation so often, as its phase `work`.
fn run_operation(
    work: &str,
    contacts: &Contacts,
    there: &[Card],
    recorder: &mut Recorder,
) -> Result<(), Error> {
    let times = WORKS
        .iter()
        .find(|(name, _)| *name == work)
        .map_or(0, |(_, times)| *times);
    let first = |times: u64| {
        there
            .iter()
            .cycle()
            .take(usize::try_from(times).unwrap_or(0))
    };
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
            let uids: Vec<String> = first(times).filter_map(Card::uid).map(Into::into).collect();
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
            let names: Vec<Filter> = first(times)
                .map(|card| {
                    Filter::name_prefix(card.display_name().chars().take(4).collect::<String>())
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
