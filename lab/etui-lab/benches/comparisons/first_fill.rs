//! `first-fill`: the import of a large address book, and the memory that it takes.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use etui::Store;
use etui::contacts::{Card, Contacts, Filter, Query, SortOrder};
use etui_testkit::people::{People, varied_person};
use etui_testkit::rng::SplitMix64;

use super::processes::anonymous_memory;
use super::report::bounded_report;
use super::searches::{import_people, write_people};
use etui_lab::experiments::about::AboutText;
use etui_lab::experiments::common::people_options;
use etui_lab::measure::process::ProcessMemory;
use etui_lab::stacks::HERE;
use etui_lab::{
    Arm, ArmGroup, ArmRole, Error, Experiment, ExperimentInfo, LabContext, Measure, Per, Recorder,
    ReportSpec, Results, RunCase, RunPlan, TableSpec, Threshold,
};

const NAME: &str = "first-fill";
const WORK: &str = "import";
const ARM: &str = "etui";
/// Saves of [`BATCH`] contacts in place of one import.
const BATCHES: &str = "etui, in batches of 100";
const BATCH: usize = 100;
/// Contacts up to which batches are measured too.
const MAX_IN_BATCHES: u64 = 100_000;
const SEARCHES: u64 = 1_000;
const SAVES: usize = 1_000;
/// Interval of the memory samples.
const SAMPLE: Duration = Duration::from_millis(2);
/// Upper bounds, for a million contacts.
const MAX_FILL_NS: f64 = 60e9;
const MAX_PEAK_BYTES: f64 = 72e6;
const MAX_LEFT_BYTES: f64 = 12e6;

pub struct FirstFill;

impl Experiment for FirstFill {
    fn experiment_info(&self) -> ExperimentInfo {
        static ABOUT: AboutText = AboutText::new(include_str!("first_fill.md"));
        ABOUT.info(NAME, None)
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let groups = lab.values("contacts").iter().map(|&size| {
            let mut arms = vec![Arm::new(ARM, ArmRole::Etui, "")];
            if size <= MAX_IN_BATCHES {
                arms.push(Arm::new(BATCHES, ArmRole::Variant, "batches"));
            }
            ArmGroup {
                repetitions: 1,
                seconds: size as f64 / 15_000.0,
                ..ArmGroup::new(WORK, HERE, size, arms)
            }
        });
        Ok(groups.collect::<Vec<_>>().into())
    }

    fn set_up(&self, group: &ArmGroup, dir: &Path) -> Result<(), Error> {
        write_people(&dir.join("first.vcf"), 1, group.size)?;
        write_people(&dir.join("more.vcf"), 2, group.size / 5)
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        let path = recorder.dir().join("contacts.etui");
        let before = private_dirty()?;
        let store = Store::open_with(&path, &people_options())?;
        let contacts = store.contacts()?;
        let more = case.size / 5;
        for (phase, count) in [("first", case.size), ("more", more)] {
            let file = recorder.shared().join(format!("{phase}.vcf"));
            let base = anonymous_memory();
            let peak = recorder.phase(phase, || {
                sample_peak(|| match case.settings.is("batches") {
                    false => import_people(&contacts, &file, count),
                    true => save_in_batches(&contacts, &file),
                })
            })?;
            let peak = peak.saturating_sub(base) as f64;
            recorder.record(&format!("{phase}/peak_bytes"), peak);
        }
        let count = case.size + more;
        let mut record_left = |phase: &str, before: u64| -> Result<(), Error> {
            let left = private_dirty()?.saturating_sub(before);
            recorder.record(&format!("{phase}/private_dirty_bytes"), left as f64);
            Ok(())
        };
        record_left("imported", before)?;
        search_contacts(&contacts, count)?;
        record_left("searched", before)?;
        for text in People::varied(3).take(SAVES) {
            contacts.save(&Card::parse(text)?)?;
        }
        record_left("saved", before)?;
        let saved = contacts.count()?;
        drop(contacts);
        store.close()?;
        let before = private_dirty()?;
        let store = Store::open_with(&path, &people_options())?;
        search_contacts(&store.contacts()?, count)?;
        record_left("reopened", before)?;
        store.close()?;
        recorder.answer(saved.to_le_bytes());
        let file = std::fs::metadata(&path).map_err(|e| Error::file(&path, e))?;
        recorder.record("file/length_bytes", file.len() as f64);
        Ok(())
    }

    fn report_spec(&self, results: &Results) -> ReportSpec {
        let groups = results.select_groups(&[WORK], &[HERE]);
        let largest = groups.last();
        let target = |claim: &str, key: &str, bound| {
            Threshold::target(claim)
                .of(largest, ARM, Measure::new(claim, key))
                .at_most(bound)
        };
        let bounds = vec![
            target("time of the first import", "first/wall_ns", MAX_FILL_NS),
            target(
                "its peak of anonymous memory",
                "first/peak_bytes",
                MAX_PEAK_BYTES,
            ),
            target(
                "private memory left after imports, searches and saves",
                "saved/private_dirty_bytes",
                MAX_LEFT_BYTES,
            ),
        ];
        let table = TableSpec::new("Imports and memory", groups.clone())
            .caption("Bounds are for a million contacts.")
            .measures(vec![
                Measure::wall_time("first import", "first"),
                Measure::wall_time("each", "first").per(Per::Size),
                Measure::new("peak", "first/peak_bytes"),
                Measure::wall_time("a fifth more", "more"),
                Measure::new("peak", "more/peak_bytes"),
                Measure::new("left", "imported/private_dirty_bytes"),
                Measure::new("after searches", "searched/private_dirty_bytes"),
                Measure::new("after saves", "saved/private_dirty_bytes"),
                Measure::new("reopened, after searches", "reopened/private_dirty_bytes"),
                Measure::new("the file", "file/length_bytes"),
            ])
            .size_unit("contacts");
        bounded_report(None, vec![table], Vec::new(), bounds)
    }
}

fn private_dirty() -> Result<u64, Error> {
    Ok(ProcessMemory::of(std::process::id())?.private_dirty)
}

/// Runs work; returns the largest anonymous memory meanwhile.
fn sample_peak(work: impl FnOnce() -> Result<(), Error>) -> Result<u64, Error> {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sampler = scope.spawn(|| {
            let mut peak = 0;
            while !done.load(Ordering::Relaxed) {
                peak = anonymous_memory().max(peak);
                std::thread::sleep(SAMPLE);
            }
            peak
        });
        let result = work();
        done.store(true, Ordering::Relaxed);
        let peak = sampler.join();
        result?;
        peak.map_err(|_| Error::other("the sampling thread panicked"))
    })
}

/// Saves the vCards of a file in batches.
fn save_in_batches(contacts: &Contacts, path: &Path) -> Result<(), Error> {
    let failed = |e| Error::file(path, e);
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    let (mut text, mut batch) = (String::new(), Vec::with_capacity(BATCH));
    while file.read_line(&mut text).map_err(failed)? > 0 {
        if text.ends_with("END:VCARD\r\n") {
            batch.push(Card::parse(std::mem::take(&mut text))?);
        }
        if batch.len() == BATCH {
            contacts.save_many(&batch)?;
            batch.clear();
        }
    }
    contacts.save_many(&batch)?;
    Ok(())
}

/// Reads pages of the list, letters, and searches of six kinds.
fn search_contacts(contacts: &Contacts, count: u64) -> Result<(), Error> {
    let mut rng = SplitMix64::new(7);
    let people = u32::try_from(count).unwrap_or(u32::MAX);
    for _ in 0..100 {
        let offset = u64::from(rng.below(people));
        contacts.query(&Query::all().offset(offset).limit(50))?;
    }
    contacts.letters()?;
    for n in 0..SEARCHES {
        let person = varied_person(1, u64::from(rng.below(people)));
        let name: String = person.family.chars().take(1 + n as usize % 5).collect();
        let given = person.given.replace('"', "");
        let text = match n % 6 {
            0 => format!("\"{name}\""),
            1 => format!("name:\"{name}\"*"),
            2 => format!("name:*\"{name}\"*"),
            3 => format!("given:\"{given}\" -family:\"{name}\"*"),
            4 => format!("email:*\"{name}\""),
            _ => format!("any:*\"{name}\"* or phone:*{:03}", n % 1_000),
        };
        let Ok(filter) = text.parse::<Filter>() else {
            continue;
        };
        let sort = [SortOrder::List, SortOrder::Unordered][n as usize % 2];
        contacts.query(&Query::new(filter).sort(sort).limit(50))?;
    }
    Ok(())
}
