//! `datebook`: a date book of 6,800 records, natively and through a compatibility layer (study 3).

mod book;
mod etui;
mod idle;
mod layer;
mod plain;
mod record;
mod report;

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use ::etui::{Options, Store};
use strum::{EnumString, IntoStaticStr, VariantArray};

use self::book::{DatebookBackend, RecordForm, SeenRecords};
use self::layer::{Layer, LayerMitigations};
use self::plain::Plain;
use super::about::AboutText;
use super::backends::etui::arm_options;
use super::common::copy_shared;
use crate::{
    Arm, ArmGroup, ArmRole, ArmSettings, Error, Experiment, ExperimentInfo, LabContext,
    MeasurePass, Recorder, ReportSpec, Results, RunCase, RunPlan, Study, stacks,
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
const VIEW_REDO: &str = "etui date book, on etui-vfs";
/// etui's arms.
const ETUI: [&str; 3] = [NATIVE, VIEW, VIEW_REDO];
/// The arms: settings, and whether they are cures that only some groups have.
const ARMS: [(&str, ArmRole, &str, bool); 9] = [
    (FOUND, ArmRole::AsFound, "", false),
    (BY_INDEX, ArmRole::Cure, "index", true),
    (CLEAN_CLOSE, ArmRole::Cure, "clean-close", true),
    (GROUPED, ArmRole::Cure, "grouped", true),
    (CURED, ArmRole::AllCures, "index clean-close grouped", false),
    (PLAIN, ArmRole::Peer, "plain", false),
    (NATIVE, ArmRole::Variant, "etui=native", false),
    (VIEW, ArmRole::Etui, "etui=view", false),
    (VIEW_REDO, ArmRole::Variant, "etui=view etui-vfs", false),
];

/// The most records that a run may count off to find positions; 100 million take seconds.
const MOST_COUNTED_OFF: u64 = 400_000_000;

pub struct Datebook;

#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantArray)]
enum StudyTest {
    #[strum(serialize = "nothing")]
    Nothing,
    #[strum(serialize = "query 1")]
    QueryOne,
    #[strum(serialize = "get 1 clean")]
    GetOneClean,
    #[strum(serialize = "get 1 dirty")]
    GetOneDirty,
    #[strum(serialize = "query all")]
    QueryAll,
    #[strum(serialize = "get all clean")]
    GetAllClean,
    #[strum(serialize = "get all dirty")]
    GetAllDirty,
    #[strum(serialize = "get all dirty, sync after each")]
    SyncEach,
}

impl StudyTest {
    /// Those whose growth a quick run shows.
    const GROWTH: [StudyTest; 3] = [
        StudyTest::Nothing,
        StudyTest::QueryAll,
        StudyTest::GetAllDirty,
    ];

    fn name(self) -> &'static str {
        self.into()
    }

    fn named(name: &str) -> Result<Self, Error> {
        let test = name.parse();
        test.map_err(|_| Error::other(format!("there is no test `{name}`")))
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

fn datebook_arms(every_cure: bool, syncs: u64) -> Vec<Arm> {
    let arms = ARMS
        .into_iter()
        .filter(|(.., single)| every_cure || !single);
    arms.map(|(name, role, settings, _)| Arm::new(name, role, settings).with("syncs", syncs))
        .collect()
}

impl Experiment for Datebook {
    fn experiment_info(&self) -> ExperimentInfo {
        static ABOUT: AboutText = AboutText::new(include_str!("about.md"));
        ABOUT.info(NAME, Some(Study::DateBook))
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let mut plan = RunPlan::default();
        let syncs = lab.value("syncs");
        let base = lab.value("records");
        for stack in plan.keep_available(lab, [stacks::HERE, stacks::RAM]) {
            for &size in lab.values("records") {
                let growth = size != base;
                if growth && stack != stacks::HERE {
                    continue;
                }
                let tests: &[StudyTest] = match growth && lab.quick() {
                    true => &StudyTest::GROWTH,
                    false => StudyTest::VARIANTS,
                };
                for &test in tests {
                    let every_cure = stack == stacks::HERE && !(growth && lab.quick());
                    plan.groups
                        .push(test_group(test, stack, size, syncs, lab, every_cure));
                }
            }
        }
        for &size in lab.values("records") {
            for &test in StudyTest::VARIANTS {
                let counted_off = test.counted_off(size, syncs);
                if counted_off > MOST_COUNTED_OFF {
                    let reason = format!(
                        "finding each position by counting takes {} million steps; the arms with \
                         an index are run",
                        counted_off / 1_000_000
                    );
                    let name = test.name();
                    plan.skip(format!("`{name}` by counting, {size} records"), reason);
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
        // Flushed, so that no sync of the test pays for the copy.
        let file = copy_shared(recorder, product.made(), "datebook.db")?;
        flush_file(&file)?;
        let plain = || -> Opened<'_> { Ok(Box::new(Plain::open(&file)?)) };
        let layer = |cures| -> Opened<'_> { Ok(Box::new(Layer::open(&file, cures)?)) };
        // No arm's opening is the first one of its process.
        match &product {
            DatebookProduct::Plain => drop(idle::time_round(plain)?),
            DatebookProduct::Layer(cures) => drop(idle::time_round(|| layer(*cures))?),
            DatebookProduct::Etui(_, options) => etui::open_once(&file, options)?,
        }
        flush_file(&file)?;
        let form = match &product {
            DatebookProduct::Plain => work.run_case(recorder, plain)?,
            DatebookProduct::Layer(cures) => work.run_case(recorder, || layer(*cures))?,
            DatebookProduct::Etui(view, options) => {
                work.run_etui(recorder, &file, *view, options)?
            }
        };
        work.record(recorder);
        if test == StudyTest::Nothing && recorder.pass() == MeasurePass::Timed {
            idle::repeat_rounds(recorder, || match &product {
                DatebookProduct::Plain => idle::time_round(plain),
                DatebookProduct::Layer(cures) => idle::time_round(|| layer(*cures)),
                DatebookProduct::Etui(view, options) => etui::time_round(&file, *view, options),
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
            DatebookProduct::Etui(..) => etui::read_contents(&file, each)?,
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

enum DatebookProduct {
    Layer(LayerMitigations),
    Plain,
    /// Natively or through the view.
    Etui(bool, Options),
}

impl DatebookProduct {
    fn of(settings: &ArmSettings) -> Self {
        match settings.text("etui") {
            Ok(way) => Self::Etui(way == "view", arm_options(settings)),
            Err(_) if settings.is("plain") => Self::Plain,
            Err(_) => Self::Layer(LayerMitigations {
                index: settings.is("index"),
                clean_close: settings.is("clean-close"),
                grouped: settings.is("grouped"),
            }),
        }
    }

    /// The date book that was furnished for it.
    fn made(&self) -> &'static str {
        match self {
            Self::Layer(_) => "layer.db",
            Self::Plain => "plain.db",
            Self::Etui(..) => "datebook.etui",
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
        options: &Options,
    ) -> Result<RecordForm, Error> {
        let store = recorder.phase("open", || {
            time_phase(&mut self.spent, || Ok(Store::open_with(file, options)?))
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
        let counts_off = |arm: &Arm| match DatebookProduct::of(&arm.settings) {
            DatebookProduct::Layer(cures) => !cures.index,
            _ => false,
        };
        arms.retain(|arm| !counts_off(arm));
    }
    ArmGroup {
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
        // Flushes of syncs and closes, and system calls of opening.
        syscalls: stack == stacks::HERE
            && (matches!(test, StudyTest::SyncEach | StudyTest::Nothing)
                || (test == StudyTest::GetAllDirty && size == lab.value("records"))),
        instructions: stack == stacks::HERE && test == StudyTest::Nothing,
        seconds: 0.1 + counted_off as f64 * 1.5e-8,
        ..ArmGroup::new(test.name(), stack, size, arms)
    }
}

/// Runs and adds the time it took.
fn time_phase<T>(time: &mut Duration, work: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let done = work();
    *time += begun.elapsed();
    done
}

fn flush_file(file: &Path) -> Result<(), Error> {
    File::open(file)
        .and_then(|open| open.sync_all())
        .map_err(|e| Error::file(file, e))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::backends::run_all::run_all;
    use super::*;
    use crate::results::ResultLine;

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
        let set = BTreeMap::from([
            ("records".to_owned(), vec![40]),
            ("syncs".to_owned(), vec![6]),
        ]);
        let lab = LabContext::new(&Datebook.experiment_info(), true, &set).unwrap();
        let mut plan = Datebook.plan_run(&lab).unwrap();
        plan.groups.retain(|group| group.stack == stacks::HERE);
        assert_eq!(plan.groups.len(), 8);
        let mut seen = BTreeMap::new();
        for line in run_all(&Datebook, &plan, &[MeasurePass::Timed]) {
            let ResultLine::Run(run) = line else { continue };
            let (measures, arm) = (run.measures, run.case.arm);
            for phase in ["open", "process", "close"] {
                assert!(measures.contains_key(&format!("{phase}/wall_ns")));
            }
            let nothing = run.case.work == "nothing";
            let again = measures.contains_key("again/open_ns");
            assert_eq!(again, nothing, "{arm}");
            if arm == CURED && nothing {
                assert_eq!(measures["close/vm_steps"], 0.0);
            }
            if arm == FOUND && nothing {
                assert!(measures["close/vm_steps"] > 40.0);
            }
            seen.insert(run.case.work, run.answer);
        }
        // The answer depends on the test.
        assert_ne!(seen["get all clean"], seen["get all dirty"]);
        assert_eq!(seen["query all"], seen["get all clean"]);
        assert_ne!(seen["get 1 dirty"], seen["get 1 clean"]);
    }
}
