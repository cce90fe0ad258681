//! `datebook`: a date book of 6,800 records, alone and behind a compatibility layer (study 3).

mod book;
mod etui;
mod idle;
mod layer;
mod plain;
mod record;
mod report;

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use self::book::{DatebookBackend, RecordForm, SeenRecords};
use self::layer::{Layer, LayerMitigations};
use self::plain::Plain;
use crate::{
    Arm, ArmGroup, ArmRole, ArmSettings, Error, Experiment, ExperimentInfo, LabContext,
    MeasurePass, NotRun, Parameter, PublishedResult, Recorder, ReportSpec, Results, RunCase,
    RunPlan, Study, stacks,
};

const NAME: &str = "datebook";

const FOUND: &str = "layer as found";
const BY_INDEX: &str = "position by index";
const CLEAN_CLOSE: &str = "close only what changed";
const GROUPED: &str = "one transaction";
const CURED: &str = "layer, all cures";
const PLAIN: &str = "plain SQLite";
const NATIVE: &str = "etui native";
const VIEW: &str = "etui date book";
const VIEW_KEPT: &str = "etui date book, log kept";
const VIEW_REDO: &str = "etui date book, on etui-vfs";
/// etui's arms, and how they are asked for.
const ETUI: [(&str, &str); 4] = [
    (NATIVE, "native"),
    (VIEW, "view"),
    (VIEW_KEPT, "view-kept"),
    (VIEW_REDO, "view-redo"),
];

/// The most records that a run may count off to find positions; 100 million take seconds.
const MOST_COUNTED_OFF: u64 = 400_000_000;

/// The experiment.
pub struct Datebook;

/// One of the study's tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StudyTest {
    Nothing,
    QueryOne,
    GetOneClean,
    GetOneDirty,
    QueryAll,
    GetAllClean,
    GetAllDirty,
    SyncEach,
}

impl StudyTest {
    const ALL: [StudyTest; 8] = [
        StudyTest::Nothing,
        StudyTest::QueryOne,
        StudyTest::GetOneClean,
        StudyTest::GetOneDirty,
        StudyTest::QueryAll,
        StudyTest::GetAllClean,
        StudyTest::GetAllDirty,
        StudyTest::SyncEach,
    ];

    /// Those whose growth a quick run shows.
    const GROWTH: [StudyTest; 3] = [
        StudyTest::Nothing,
        StudyTest::QueryAll,
        StudyTest::GetAllDirty,
    ];

    /// As the study names it.
    fn name(self) -> &'static str {
        match self {
            StudyTest::Nothing => "nothing",
            StudyTest::QueryOne => "query 1",
            StudyTest::GetOneClean => "get 1 clean",
            StudyTest::GetOneDirty => "get 1 dirty",
            StudyTest::QueryAll => "query all",
            StudyTest::GetAllClean => "get all clean",
            StudyTest::GetAllDirty => "get all dirty",
            StudyTest::SyncEach => "get all dirty, sync after each",
        }
    }

    fn named(name: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|test| test.name() == name)
            .ok_or_else(|| Error::other(format!("there is no test `{name}`")))
    }

    /// Returns the requested positions: none, the middle one, all, or `syncs` spread evenly.
    fn positions(self, records: u64, syncs: u64) -> Vec<u64> {
        match self {
            StudyTest::Nothing => Vec::new(),
            StudyTest::QueryOne | StudyTest::GetOneClean | StudyTest::GetOneDirty => {
                vec![records / 2]
            }
            StudyTest::QueryAll | StudyTest::GetAllClean | StudyTest::GetAllDirty => {
                (0..records).collect()
            }
            StudyTest::SyncEach => {
                let count = syncs.clamp(1, records.max(1));
                (0..count).map(|i| i * records / count).collect()
            }
        }
    }

    /// How many records the layer as found counts off, at processing and at closing.
    fn counted_off(self, records: u64, syncs: u64) -> u64 {
        let asked = self.positions(records, syncs).len() as u64;
        asked.saturating_mul(records)
    }

    /// Does the test with an open book; each record seen goes to `seen`.
    fn process(
        self,
        book: &mut dyn DatebookBackend,
        positions: &[u64],
        seen: &mut SeenRecords,
    ) -> Result<(), Error> {
        let form = book.record_form();
        if self == StudyTest::QueryAll {
            return book.peek_all(positions.len() as u64, &mut |record| seen.push(record));
        }
        for &position in positions {
            match self {
                StudyTest::Nothing | StudyTest::QueryOne | StudyTest::QueryAll => {
                    book.peek_record(position, &mut |record| seen.push(record))?;
                }
                StudyTest::GetOneClean | StudyTest::GetAllClean => {
                    let record = book.take_record(position)?;
                    seen.push(&record);
                    book.release_record(position, record, false)?;
                }
                StudyTest::GetOneDirty | StudyTest::GetAllDirty | StudyTest::SyncEach => {
                    let record = book.take_record(position)?;
                    seen.push(&record);
                    let mut changed = form.read(&record)?;
                    changed.touch();
                    book.release_record(position, form.write(&changed, position)?, true)?;
                    if self == StudyTest::SyncEach {
                        book.sync_record(position)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Returns the arms: all, or a selection.
fn datebook_arms(every_cure: bool, syncs: u64) -> Vec<Arm> {
    let settings = || ArmSettings::new().with("syncs", syncs);
    let cure = |name, switch: &str| Arm::new(name, ArmRole::Cure, settings().with(switch, true));
    let mut arms = vec![Arm::new(FOUND, ArmRole::AsFound, settings())];
    if every_cure {
        arms.extend([
            cure(BY_INDEX, "index"),
            cure(CLEAN_CLOSE, "clean-close"),
            cure(GROUPED, "grouped"),
        ]);
    }
    let all = settings()
        .with("index", true)
        .with("clean-close", true)
        .with("grouped", true);
    arms.push(Arm::new(CURED, ArmRole::AllCures, all));
    arms.push(Arm::new(
        PLAIN,
        ArmRole::Peer,
        settings().with("plain", true),
    ));
    for (name, way) in ETUI {
        arms.push(Arm::new(name, ArmRole::Etui, settings().with("etui", way)));
    }
    arms
}

impl Experiment for Datebook {
    fn experiment_info(&self) -> ExperimentInfo {
        ExperimentInfo {
            name: NAME,
            title: "A date book of 6,800 records, natively and through a compatibility layer",
            study: Some(Study::DateBook),
            question: "What do opening, using and closing a database cost when next to nothing \
                       changes, and what does a layer between program and database cost?",
            method: "The study's eight tests, each on a fresh copy of the date book in a process \
                of its own, the file in the page cache; opening, processing and closing are timed \
                apart. Records are generated: appointments of about 104 bytes packed. Palm's layer \
                is not published, so a layer is modelled whose mechanism has the costs that the \
                study measured: the records are texts in a calendar's database, ordered by an \
                index on their start, and the program sees the old packed records by position. As \
                found, a position is counted off in a query prepared anew (ORDER BY start LIMIT 1 \
                OFFSET n), so one record costs O(n) and all cost O(n^2); nobody notes what was \
                changed, so a close re-reads the whole list against its digests, looks up and \
                converts every record that was shown once more, and writes back those that differ \
                one by one; a sync writes the record and the layer's own state in a commit each. \
                Cures: the position is looked up in a stored list by a kept statement (insertions \
                in the middle, which none of the tests makes, would cost more); a close deals only \
                with what was changed and not synced; all that is done between open, sync and \
                close is one transaction. Plain SQLite keeps the packed records by position, which is the key, \
                and uses one transaction likewise. \
                etui's records are the texts themselves, so its programs read and change texts, \
                where the others' unpack and pack; natively by one walk to look \
                at all (in the order of adding, which is the list's here), record by record by \
                number to take them, and one batch of what was changed; through its date-book \
                view, record by record, also with the log kept beside the closed store \
                (Options::persist_wal), and with the store on etui's VFS. What was seen is \
                compared after the clock has stopped. Of etui's close the first part makes the \
                changes durable, the second closes the store; flushes are counted of each. \
                Each arm's book was opened and closed once before, in the process and behind the \
                copy, and flushed. What does nothing is timed behind that flush, and again and \
                again right after; its instructions and system calls are counted. All: WAL, synchronous=FULL for syncs, the database flushed at close; the layer as \
                found writes back at close with NORMAL, as waiting for every record would be \
                slower than what the study saw. `Sync after each` does so many records as the \
                parameter says, spread evenly over the list, and its times are for those; nothing \
                is extrapolated. The study's devices were flash and battery-backed RAM: here the \
                current directory's file system and a RAM disk.",
            same_answer: "A digest of every record seen, in order, and of the whole date book \
                afterwards, both in the packed form.",
            found: FIGURES,
            parameters: &[
                Parameter {
                    name: "records",
                    about: "records in the date book; the first is the size of the full set of \
                            tests, the others show the growth",
                    quick: &[6_800, 100, 12_800],
                    full: &[6_800, 100, 1_600, 12_800, 102_400],
                },
                Parameter {
                    name: "syncs",
                    about: "records changed and synced in the test with a sync after each",
                    quick: &[200],
                    full: &[1_000],
                },
            ],
        }
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let mut plan = RunPlan::default();
        let syncs = lab.value("syncs");
        let base = lab.value("records");
        for stack in [stacks::HERE, stacks::RAM] {
            if let Err(reason) = lab.stack(stack) {
                plan.not_run.push(NotRun {
                    what: format!("stack {stack}"),
                    reason,
                });
                continue;
            }
            for &size in lab.values("records") {
                let growth = size != base;
                if growth && stack != stacks::HERE {
                    continue;
                }
                let tests: &[StudyTest] = match growth && lab.quick() {
                    true => &StudyTest::GROWTH,
                    false => &StudyTest::ALL,
                };
                for &test in tests {
                    let every_cure = stack == stacks::HERE && !(growth && lab.quick());
                    plan.groups
                        .push(test_group(test, stack, size, syncs, lab, every_cure));
                }
            }
        }
        for &size in lab.values("records") {
            for test in StudyTest::ALL {
                if test.counted_off(size, syncs) > MOST_COUNTED_OFF {
                    plan.not_run.push(NotRun {
                        what: format!("`{}` by counting, {size} records", test.name()),
                        reason: format!(
                            "finding each position by counting takes {} million steps; the arms \
                             with an index are run",
                            test.counted_off(size, syncs) / 1_000_000
                        ),
                    });
                }
            }
        }
        Ok(plan)
    }

    fn set_up(&self, group: &ArmGroup, dir: &Path) -> Result<(), Error> {
        layer::make_layer(&dir.join("layer.db"), group.size)?;
        plain::make_plain(&dir.join("plain.db"), group.size)?;
        etui::make_store(&dir.join("datebook.etui"), group.size)
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        let test = StudyTest::named(&case.work)?;
        let product = DatebookProduct::of(&case.settings);
        let positions = test.positions(case.size, case.settings.number("syncs")?);
        let mut work = DatebookRun {
            test,
            seen: SeenRecords::with_room(positions.len()),
            positions,
            spent: Duration::ZERO,
            processing: Duration::ZERO,
        };
        let file = recorder.dir().join("datebook.db");
        copy_file(&recorder.shared().join(product.made()), &file)?;
        let plain = || -> Opened<'_> { Ok(Box::new(Plain::open(&file)?)) };
        let layer = |cures| -> Opened<'_> { Ok(Box::new(Layer::open(&file, cures)?)) };
        // No arm's opening is the first one of its process.
        match product {
            DatebookProduct::Plain => drop(idle::time_round(plain)?),
            DatebookProduct::Layer(cures) => drop(idle::time_round(|| layer(cures))?),
            DatebookProduct::Etui { on, .. } => etui::open_once(&file, on)?,
        }
        flush_file(&file)?;
        let form = match product {
            DatebookProduct::Plain => work.run_case(recorder, plain)?,
            DatebookProduct::Layer(cures) => work.run_case(recorder, || layer(cures))?,
            DatebookProduct::Etui { view, on } => work.run_etui(recorder, &file, view, on)?,
        };
        work.record(recorder);
        if test == StudyTest::Nothing && recorder.pass() == MeasurePass::Timed {
            idle::repeat_rounds(recorder, || match product {
                DatebookProduct::Plain => idle::time_round(plain),
                DatebookProduct::Layer(cures) => idle::time_round(|| layer(cures)),
                DatebookProduct::Etui { view, on } => etui::time_round(&file, view, on),
            })?;
        }

        let mut seen = blake3::Hasher::new();
        for record in work.seen.iter() {
            seen.update(&form.packed(record)?);
        }
        recorder.answer(seen.finalize().as_bytes());
        let mut left = blake3::Hasher::new();
        let mut wrong = None;
        let each = |record: &[u8]| match form.packed(record) {
            Ok(packed) => drop(left.update(&packed)),
            Err(error) => wrong = Some(error),
        };
        match product {
            DatebookProduct::Plain => plain::plain_contents(&file, each)?,
            DatebookProduct::Layer(_) => layer::layer_contents(&file, each)?,
            DatebookProduct::Etui { .. } => etui::read_contents(&file, each)?,
        }
        if let Some(error) = wrong {
            return Err(error);
        }
        recorder.answer(left.finalize().as_bytes());
        Ok(())
    }

    fn report_spec(&self, results: &Results) -> ReportSpec {
        report::report_spec(results)
    }
}

/// Product of an arm.
#[derive(Debug, Clone, Copy)]
enum DatebookProduct {
    Layer(LayerMitigations),
    Plain,
    Etui { view: bool, on: etui::On },
}

impl DatebookProduct {
    fn of(settings: &ArmSettings) -> Self {
        match settings.text("etui") {
            Ok(way) => Self::Etui {
                view: way != "native",
                on: match way {
                    "view-redo" => etui::On::Redo,
                    "view-kept" => etui::On::KeptLog,
                    _ => etui::On::System,
                },
            },
            Err(_) if settings.is("plain") => Self::Plain,
            Err(_) => Self::Layer(LayerMitigations {
                index: settings.is("index"),
                clean_close: settings.is("clean-close"),
                grouped: settings.is("grouped"),
            }),
        }
    }

    /// The date book that was furnished for it.
    fn made(self) -> &'static str {
        match self {
            Self::Layer(_) => "layer.db",
            Self::Plain => "plain.db",
            Self::Etui { .. } => "datebook.etui",
        }
    }
}

/// A book that was just opened.
type Opened<'b> = Result<Box<dyn DatebookBackend + 'b>, Error>;

/// One test while it is done.
struct DatebookRun {
    test: StudyTest,
    positions: Vec<u64>,
    seen: SeenRecords,
    /// The time of all phases, and of the second alone.
    spent: Duration,
    processing: Duration,
}

impl DatebookRun {
    /// Opens, processes and closes; the form of the records that were seen.
    fn run_case<'b>(
        &mut self,
        recorder: &mut Recorder,
        open: impl FnOnce() -> Opened<'b>,
    ) -> Result<RecordForm, Error> {
        let mut book = recorder.phase("open", || time_phase(&mut self.spent, open))?;
        let form = book.record_form();
        recorder.phase("process", || {
            time_phase(&mut self.processing, || {
                self.test
                    .process(&mut *book, &self.positions, &mut self.seen)
            })
        })?;
        let processed = book.count_calls();
        let counts = recorder.phase("close", || time_phase(&mut self.spent, || book.close()))?;
        if form == RecordForm::Packed {
            for (phase, counts) in [("process", processed), ("close", counts.since(&processed))] {
                recorder.record(&format!("{phase}/vm_steps"), counts.steps as f64);
                recorder.record(&format!("{phase}/conversions"), counts.conversions as f64);
            }
        }
        Ok(form)
    }

    /// The same with a store around the book: closing it is a phase of its own, whose time is
    /// the close's, too.
    fn run_etui(
        &mut self,
        recorder: &mut Recorder,
        file: &Path,
        view: bool,
        on: etui::On,
    ) -> Result<RecordForm, Error> {
        let store = recorder.phase("open", || {
            time_phase(&mut self.spent, || etui::open_store(file, on))
        })?;
        let calendar = recorder.phase("open", || {
            time_phase(&mut self.spent, || Ok(store.calendar()?))
        })?;
        let form = self.run_case(recorder, || etui::open_book(&calendar, view))?;
        drop(calendar);
        let mut closing = Duration::ZERO;
        recorder.phase("store", || time_phase(&mut closing, || Ok(store.close()?)))?;
        self.spent += closing;
        if recorder.pass() == MeasurePass::Timed {
            recorder.record("close/wall_ns", closing.as_nanos() as f64);
        }
        Ok(form)
    }

    fn record(&self, recorder: &mut Recorder) {
        if recorder.pass() != MeasurePass::Timed {
            return;
        }
        let total = self.spent + self.processing;
        recorder.record("total/wall_ns", total.as_nanos() as f64);
        if self.test == StudyTest::SyncEach {
            let each = self.processing.as_nanos() as f64 / self.positions.len().max(1) as f64;
            recorder.record("sync/wall_ns", each);
        }
    }
}

fn test_group(
    test: StudyTest,
    stack: &str,
    size: u64,
    syncs: u64,
    lab: &LabContext,
    every_cure: bool,
) -> ArmGroup {
    let counted_off = test.counted_off(size, syncs);
    let mut arms = datebook_arms(every_cure, syncs);
    if counted_off > MOST_COUNTED_OFF {
        let counts_off = |arm: &Arm| matches!(DatebookProduct::of(&arm.settings), DatebookProduct::Layer(c) if !c.index);
        arms.retain(|arm| !counts_off(arm));
    }
    ArmGroup {
        work: test.name().to_owned(),
        stack: stack.to_owned(),
        size,
        // Counting off takes long, varies little, and differs a hundredfold. A test that opens, and does
        // next to nothing, takes no time, and varies most.
        repetitions: match (lab.quick(), counted_off) {
            (true, ..1_000_000) => 7,
            (false, ..1_000_000) => 11,
            (true, ..10_000_000) => 3,
            (true, ..100_000_000) => 2,
            (true, _) => 1,
            (false, ..100_000_000) => 5,
            (false, _) => 2,
        },
        counted: false,
        // Flushes of syncs and closes, and system calls of opening.
        syscalls: stack == stacks::HERE
            && (matches!(test, StudyTest::SyncEach | StudyTest::Nothing)
                || (test == StudyTest::GetAllDirty && size == lab.value("records"))),
        instructions: stack == stacks::HERE && test == StudyTest::Nothing,
        arms,
        seconds: 0.1 + counted_off as f64 * 1.5e-8,
    }
}

/// Runs and adds the time it took.
fn time_phase<T>(time: &mut Duration, work: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let done = work();
    *time += begun.elapsed();
    done
}

/// Copies a database and flushes the copy, so that no sync of the test pays for it.
fn copy_file(from: &Path, to: &Path) -> Result<(), Error> {
    fs::copy(from, to).map_err(|e| Error::file(from, e))?;
    flush_file(to)
}

fn flush_file(file: &Path) -> Result<(), Error> {
    File::open(file)
        .and_then(|open| open.sync_all())
        .map_err(|e| Error::file(file, e))
}

/// The study's own figures; a tick is 1/60 s.
const FIGURES: &[PublishedResult] = &[
    PublishedResult {
        finding: "closing costs about 1 s per 10,000 records even if nothing was changed",
        cure: "close only what changed; meanwhile, tell the user while a slow close goes on, and \
               let old records be purged",
        figure: "nothing, open/process/close: 0/0/48 ticks on flash natively, 0/0/0 in RAM, \
                 11/0/117 through the layer",
    },
    PublishedResult {
        finding: "the compatibility layer is hundreds of times slower than native access",
        cure: "leave it; or find records by an index and convert only what is asked for",
        figure: "query all: 0/8/29 ticks natively, 11/3,168/7,241 through the layer; get all \
                 dirty: 0/14/50 and 10/2,967/23,442",
    },
    PublishedResult {
        finding: "one record costs a close as much as many",
        cure: "do work in proportion to what was touched",
        figure: "query 1: 0/0/34 ticks natively, 10/1/67 through the layer; get 1 clean 0/0/37 \
                 and 10/0/90; get 1 dirty 0/0/56 and 10/1/121; get all clean 0/14/48 and \
                 11/3,030/7,333",
    },
    PublishedResult {
        finding: "a sync costs about 19 ticks, so it pays only for up to about three",
        cure: "group changes",
        figure: "get all dirty, sync after each: 0/129,083/4 ticks natively, 11/234,125/26,641 \
                 through the layer",
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::RunLocation;

    #[test]
    fn positions_are_those_of_the_tests() {
        assert!(StudyTest::Nothing.positions(100, 5).is_empty());
        assert_eq!(StudyTest::QueryOne.positions(101, 5), [50]);
        assert_eq!(StudyTest::GetAllDirty.positions(3, 5), [0, 1, 2]);
        assert_eq!(StudyTest::SyncEach.positions(100, 4), [0, 25, 50, 75]);
        assert_eq!(StudyTest::SyncEach.positions(3, 5), [0, 1, 2]);
    }

    /// Every arm of every test, at a tiny size: records read and final contents must agree.
    #[test]
    fn all_arms_give_the_same_answer() {
        let root = tempfile::tempdir().unwrap();
        let shared = root.path().join("shared");
        fs::create_dir(&shared).unwrap();
        let set = BTreeMap::from([
            ("records".to_owned(), vec![40]),
            ("syncs".to_owned(), vec![6]),
        ]);
        let lab = LabContext::new(&Datebook.experiment_info(), true, &set).unwrap();
        let plan = Datebook.plan_run(&lab).unwrap();
        let groups: Vec<&ArmGroup> = plan.groups.iter().filter(|g| g.stack == "here").collect();
        assert_eq!(groups.len(), 8);
        Datebook.set_up(groups[0], &shared).unwrap();

        let mut seen = BTreeMap::new();
        for group in groups {
            for arm in &group.arms {
                let dir = tempfile::tempdir_in(root.path()).unwrap();
                let place = RunLocation {
                    dir: dir.path().to_owned(),
                    shared: shared.clone(),
                    devices: Vec::new(),
                    traced: false,
                };
                let case = group.make_case(NAME, arm, MeasurePass::Timed, 0);
                let mut recorder = Recorder::new(place, MeasurePass::Timed);
                Datebook.run_case(&case, &mut recorder).unwrap();
                let (measures, answer) = recorder.finish();
                for phase in ["open", "process", "close"] {
                    assert!(measures.contains_key(&format!("{phase}/wall_ns")));
                }
                let expected = seen.entry(group.work.clone()).or_insert(answer.clone());
                assert_eq!(*expected, answer, "{} {}", group.work, arm.name);
                let again = measures.contains_key("again/open_ns");
                assert_eq!(again, group.work == "nothing", "{}", arm.name);
                if arm.name == CURED && group.work == "nothing" {
                    assert_eq!(measures["close/vm_steps"], 0.0);
                }
                if arm.name == FOUND && group.work == "nothing" {
                    assert!(measures["close/vm_steps"] > 40.0);
                }
            }
        }
        // The answer depends on the test.
        assert_ne!(seen["get all clean"], seen["get all dirty"]);
        assert_eq!(seen["query all"], seen["get all clean"]);
        assert_ne!(seen["get 1 dirty"], seen["get 1 clean"]);
    }
}
