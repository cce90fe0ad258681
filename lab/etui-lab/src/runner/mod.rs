//! Runs experiments: every arm in a process of its own, repetition by repetition.
//!
//! ```text
//! for each group (work, stack, size)
//!     stack made ready, set_up once
//!     counted, traced, simulated: each arm once
//!     repetition 0:  arm 1, arm 2, ... arm n      times are compared within a repetition,
//!     repetition 1:  arm n, ... arm 2, arm 1      so that drift affects all arms alike
//! ```
//!
//! Every run is a line of the results file at once, so a run that is stopped goes on where it
//! was. Leftovers of a stopped or killed run are removed by the next one
//! ([`cleanup`]).

mod case;
pub mod cleanup;
mod narrow;
mod progress;
pub mod run_id;
pub mod worker;
pub mod worker_task;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::arms::{ArmGroup, CaseKey, MeasurePass, NotRun, RunCase};
use crate::error::Error;
use crate::experiment::{Experiment, RunPlan};
use crate::lab::LabContext;
use crate::machine;
use crate::output;
use crate::results::file::{self, Writer};
use crate::results::{GroupKey, ResultLine, RunHeader, RunRecord};
use crate::stacks::{self, Stack};

use cleanup::{CleanupRegistry, LiveProcess};
use progress::Progress;

/// Parameter values, by experiment and parameter.
pub type ArmSettings = BTreeMap<String, BTreeMap<String, Vec<u64>>>;

#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// The quick values of the parameters instead of the full ones.
    pub quick: bool,
    /// Parameters set by hand.
    pub set: ArmSettings,
    /// Where the results go.
    pub file: PathBuf,
    /// Start again, even if there are results to resume from.
    pub fresh: bool,
    /// Only these stacks; all if empty.
    pub stacks: Vec<String>,
    /// Only arms whose names hold one of these; all if empty.
    pub arms: Vec<String>,
    /// Number of timed repetitions, instead of the experiment's own.
    pub repetitions: Option<u32>,
    /// Show progress on the terminal.
    pub progress: bool,
}

/// The outcome of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunOutcome {
    pub made: usize,
    /// Runs that were there already.
    pub kept: usize,
    pub failed: usize,
}

/// An experiment's name and plan.
struct PlannedExperiment {
    name: &'static str,
    plan: RunPlan,
}

/// Runs experiments, or goes on with a run of them that was stopped.
pub fn run_experiments(
    experiments: &[&'static dyn Experiment],
    options: &RunOptions,
    stop: &Arc<AtomicBool>,
) -> Result<RunOutcome, Error> {
    let mut header = machine::run_header();
    header.quick = options.quick;
    let mut planned = Vec::new();
    for experiment in experiments {
        let about = experiment.experiment_info();
        let none = BTreeMap::new();
        let set = options.set.get(about.name).unwrap_or(&none);
        let lab = LabContext::new(&about, options.quick, set)?;
        header
            .experiments
            .insert(about.name.to_owned(), lab.parameters().clone());
        planned.push(PlannedExperiment {
            name: about.name,
            plan: experiment.plan_run(&lab)?,
        });
    }
    narrow::narrow_plan(planned.iter_mut().map(|one| &mut one.plan), options)?;
    let (writer, lines) = open_results(options, &header)?;
    let (work, swept) = GroupWork::begin()?;
    let mut session = RunSession {
        writer,
        known: FinishedRuns::of(&lines),
        outcome: RunOutcome::default(),
        progress: Progress::new(options.progress),
        work,
        stop: Arc::clone(stop),
    };
    if file::is_complete(&lines) && !session.more(&planned) {
        session.outcome.kept = session.known.done.len();
        return Ok(session.outcome);
    }
    for words in swept {
        session.progress.tell(&words);
    }
    let begun = Instant::now();
    for one in &planned {
        for group in &one.plan.groups {
            session
                .progress
                .expect(&estimate_time(one.name, group, &session.known));
        }
        for part in &one.plan.not_run {
            session.not_run(one.name, part.clone())?;
        }
    }
    for one in &planned {
        for group in &one.plan.groups {
            session.group(one, group)?;
        }
    }
    if session.outcome.failed == 0 {
        session.writer.append(&ResultLine::End {
            seconds: begun.elapsed().as_secs_f64(),
        })?;
    }
    session.progress.finish();
    let outcome = session.outcome;
    // By now every stack is removed; anything found here was forgotten by its owner.
    for what in session.work.live.end()? {
        if !what.starts_with("directory ") {
            output::print_error(format_args!("removed at the end: {what}"));
        }
    }
    Ok(outcome)
}

/// Opens the results file: a new one, or the one to go on with.
fn open_results(
    options: &RunOptions,
    header: &RunHeader,
) -> Result<(Writer, Vec<ResultLine>), Error> {
    let path = &options.file;
    if options.fresh || !path.exists() {
        return Ok((Writer::create(path, header)?, Vec::new()));
    }
    let lines = file::read_results(path)?;
    if lines.is_empty() {
        return Ok((Writer::create(path, header)?, Vec::new()));
    }
    let old = file::read_header(&lines);
    if let Some(difference) = describe_difference(&old, header) {
        return Err(Error::Usage(format!(
            "{} was started with {difference}; --fresh starts again, --out NAME keeps both",
            path.display()
        )));
    }
    Writer::resume(path)
}

/// Returns the difference that keeps two runs from being one.
fn describe_difference(old: &RunHeader, new: &RunHeader) -> Option<String> {
    // An update of the system leaves its name another, and the figures as they are.
    let mut differences = old.differences(new).filter(|(what, ..)| *what != "system");
    if let Some((what, old, new)) = differences.next() {
        return Some(format!("another {what} ({old}, now {new})"));
    }
    if old.root != new.root {
        let who = if old.root { "root" } else { "another user" };
        return Some(format!("the rights of {who}"));
    }
    (old.experiments != new.experiments).then(|| "other experiments or parameters".to_owned())
}

/// The runs of a group in the order in which they are made.
fn plan_cases(experiment: &str, group: &ArmGroup) -> Vec<RunCase> {
    let has = |tool| machine::find_tool(tool).is_some();
    let once = [
        (MeasurePass::Counted, group.counted),
        (MeasurePass::Syscalls, group.syscalls && has("strace")),
        (
            MeasurePass::Instructions,
            group.instructions && has("valgrind"),
        ),
    ];
    let mut cases = Vec::new();
    for (pass, _) in once.into_iter().filter(|(_, wanted)| *wanted) {
        let arms = group.arms.iter();
        cases.extend(arms.map(|arm| group.make_case(experiment, arm, pass, 0)));
    }
    for repetition in 0..group.repetitions {
        let case = |arm| group.make_case(experiment, arm, MeasurePass::Timed, repetition);
        if repetition % 2 == 0 {
            cases.extend(group.arms.iter().map(case));
        } else {
            cases.extend(group.arms.iter().rev().map(case));
        }
    }
    cases
}

fn estimate_time(experiment: &str, group: &ArmGroup, known: &FinishedRuns) -> Vec<f64> {
    plan_cases(experiment, group)
        .iter()
        .filter(|case| !known.done.contains(&case.key()))
        .map(|case| match case.pass {
            MeasurePass::Instructions => group.seconds * 30.0,
            _ => group.seconds,
        })
        .collect()
}

/// Runs already in a results file.
#[derive(Default)]
struct FinishedRuns {
    done: HashSet<CaseKey>,
    /// The answer of an experiment's group: the first that was given, and by which arm.
    answers: HashMap<(String, GroupKey), (String, String)>,
    not_run: HashSet<(String, NotRun)>,
    stacks: HashSet<String>,
}

impl FinishedRuns {
    fn of(lines: &[ResultLine]) -> Self {
        let mut known = Self::default();
        for line in lines {
            match line {
                ResultLine::Run(run) => {
                    known.done.insert(run.case.key());
                    known
                        .answers
                        .entry((run.case.experiment.clone(), run.case.group()))
                        .or_insert_with(|| (run.answer.clone(), run.case.arm.clone()));
                }
                ResultLine::NotRun { experiment, part } => {
                    known.not_run.insert((experiment.clone(), part.clone()));
                }
                ResultLine::Stack { name, .. } => {
                    known.stacks.insert(name.clone());
                }
                _ => {}
            }
        }
        known
    }
}

/// A run in progress.
struct RunSession {
    writer: Writer,
    known: FinishedRuns,
    outcome: RunOutcome,
    progress: Progress,
    work: GroupWork,
    stop: Arc<AtomicBool>,
}

impl RunSession {
    /// Whether more is wanted than the file has: it may have been made with fewer arms, stacks
    /// or repetitions. Parts that could not be run, and missing counters, count as tried.
    fn more(&self, planned: &[PlannedExperiment]) -> bool {
        let arm = |key: &CaseKey| (key.experiment.clone(), key.group.clone(), key.arm.clone());
        let tried: HashSet<_> = self.known.done.iter().map(arm).collect();
        planned.iter().any(|one| {
            let not_run = |what: String| {
                let mut parts = self.known.not_run.iter();
                parts.any(|(of, part)| of == one.name && part.what == what)
            };
            let missing = |case: &RunCase| {
                let key = case.key();
                !self.known.done.contains(&key)
                    && (case.pass == MeasurePass::Timed || !tried.contains(&arm(&key)))
                    && !not_run(no_arm(case))
            };
            let mut groups = one.plan.groups.iter();
            groups.any(|group| {
                plan_cases(one.name, group).iter().any(missing) && !not_run(no_group(group))
            })
        })
    }

    fn not_run(&mut self, experiment: &str, part: NotRun) -> Result<(), Error> {
        let known = (experiment.to_owned(), part);
        if self.known.not_run.contains(&known) {
            return Ok(());
        }
        let (experiment, part) = known.clone();
        self.known.not_run.insert(known);
        self.writer.append(&ResultLine::NotRun { experiment, part })
    }

    fn check_stop(&self) -> Result<(), Error> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(Error::Stopped),
            false => Ok(()),
        }
    }

    fn group(&mut self, planned: &PlannedExperiment, group: &ArmGroup) -> Result<(), Error> {
        let mut cases = plan_cases(planned.name, group);
        let all = cases.len();
        cases.retain(|case| !self.known.done.contains(&case.key()));
        self.outcome.kept += all - cases.len();
        if cases.is_empty() {
            return Ok(());
        }
        self.check_stop()?;
        self.progress.group(planned.name, group);
        let set_up = match self.set_up(planned, group) {
            Ok(set_up) => set_up,
            Err(Error::NotRun(reason)) => {
                self.progress.skip(cases.len());
                let what = no_group(group);
                return self.not_run(planned.name, NotRun { what, reason });
            }
            Err(other) => {
                self.check_stop()?;
                return self.unready(&cases, &other.to_string());
            }
        };
        let mut given_up: HashSet<(String, MeasurePass)> = HashSet::new();
        for case in cases {
            if given_up.contains(&(case.arm.clone(), case.pass)) {
                self.progress.skip(1);
                continue;
            }
            self.check_stop()?;
            self.progress.begin(&case);
            let done = self.case(&case, &set_up);
            self.check_stop()?;
            match done {
                Ok(run) => {
                    self.known.done.insert(case.key());
                    self.outcome.made += 1;
                    self.writer.append(&ResultLine::Run(run))?;
                }
                Err(Error::NotRun(reason)) => {
                    given_up.insert((case.arm.clone(), case.pass));
                    let what = match case.pass {
                        MeasurePass::Syscalls => "system calls by file".to_owned(),
                        MeasurePass::Instructions => "instructions".to_owned(),
                        MeasurePass::Timed | MeasurePass::Counted => no_arm(&case),
                    };
                    self.not_run(planned.name, NotRun { what, reason })?;
                }
                Err(other) => {
                    given_up.insert((case.arm.clone(), case.pass));
                    self.outcome.failed += 1;
                    let message = other.to_string();
                    self.progress.failed(&case, &message);
                    self.writer.append(&ResultLine::Failed { case, message })?;
                }
            }
            self.progress.end();
        }
        Ok(())
    }

    /// A group that could not be made ready: each of its arms failed.
    fn unready(&mut self, cases: &[RunCase], message: &str) -> Result<(), Error> {
        let mut told = HashSet::new();
        for case in cases {
            self.progress.skip(1);
            if told.insert(&case.arm) {
                self.outcome.failed += 1;
                self.progress.failed(case, message);
                self.writer.append(&ResultLine::Failed {
                    case: case.clone(),
                    message: message.to_owned(),
                })?;
            }
        }
        Ok(())
    }

    /// Prepares the group's stack and sets up its shared files.
    fn set_up(
        &mut self,
        planned: &PlannedExperiment,
        group: &ArmGroup,
    ) -> Result<SetupResult, Error> {
        let packed = stacks::is_packed(&group.stack);
        let staging = self.work.fresh("contents")?;
        if packed {
            case::set_up(planned.name, group, &staging, None, &self.work, &self.stop)?;
        }
        let contents = packed.then_some(&*staging);
        let stack =
            stacks::prepare_until_stopped(&group.stack, &self.work.dir, contents, &self.stop)?;
        if !self.known.stacks.contains(&stack.name) {
            self.known.stacks.insert(stack.name.clone());
            self.writer.append(&ResultLine::Stack {
                name: stack.name.clone(),
                details: stack.details.clone(),
            })?;
        }
        if packed {
            let runs = match stack.machine() {
                Some(_) => stack.dir.clone(),
                None => self.work.fresh("runs")?,
            };
            let shared = stack.dir.clone();
            return Ok(SetupResult {
                stack,
                shared,
                runs,
            });
        }
        let set_up = SetupResult {
            shared: stack.dir.join("shared"),
            runs: stack.dir.clone(),
            stack,
        };
        let (stack, shared) = (&set_up.stack, &set_up.shared);
        stack.fresh_dir(shared)?;
        case::set_up(
            planned.name,
            group,
            shared,
            Some(stack),
            &self.work,
            &self.stop,
        )?;
        Ok(set_up)
    }

    /// Runs one arm once, and compares its answer.
    fn case(&mut self, case: &RunCase, set_up: &SetupResult) -> Result<RunRecord, Error> {
        let dir = set_up.runs.join("run");
        set_up.stack.restore()?;
        set_up.stack.fresh_dir(&dir)?;
        let run = case::run_arm(case, &dir, set_up, &self.work, &self.stop);
        let removed = match run {
            // The stack is about to be taken down.
            Err(Error::Stopped) => Ok(()),
            _ => set_up.stack.remove_dir(&dir),
        };
        let run = run?;
        removed?;
        let (answer, arm) = self
            .known
            .answers
            .entry((case.experiment.clone(), case.group()))
            .or_insert_with(|| (run.answer.clone(), case.arm.clone()));
        if *answer != run.answer {
            return Err(Error::other(format!(
                "the answer ({}) is not the one that `{arm}` gave ({answer}), so its time does not count",
                run.answer
            )));
        }
        Ok(run)
    }
}

/// Returns the name of a group that cannot be run.
fn no_group(group: &ArmGroup) -> String {
    format!("{} on {}", group.work, group.stack)
}

/// Returns the name of an arm that cannot be run.
fn no_arm(case: &RunCase) -> String {
    format!("{} ({} on {})", case.arm, case.work, case.stack)
}

/// A stack with a group's shared files.
struct SetupResult {
    stack: Stack,
    shared: PathBuf,
    /// Where runs get their own directories.
    runs: PathBuf,
}

impl Drop for SetupResult {
    fn drop(&mut self) {
        // The stack takes itself down; on the current file system its contents are ours to
        // remove. The rest stays in the work directory, which is removed whole.
        if !stacks::read_only(&self.stack.name) && self.stack.machine().is_none() {
            let _ = fs::remove_dir_all(&self.shared);
        }
    }
}

/// The run's own directory on the current directory's file system, and its entry among the
/// runs that live. All that the run made is removed at its end.
#[derive(Debug)]
struct GroupWork {
    dir: PathBuf,
    live: LiveProcess,
}

impl GroupWork {
    /// Removes leftovers of dead runs, and enters a new one. Returns the removed parts, too. Anything that
    /// cannot be removed yet, because somebody uses it, is in no run's way.
    fn begin() -> Result<(Self, Vec<String>), Error> {
        let registry = CleanupRegistry::open()?;
        let swept = match registry.sweep() {
            Ok(removed) => removed
                .iter()
                .map(|what| format!("removed what a dead run left: {what}"))
                .collect(),
            Err(e) => vec![format!("what a dead run left cannot be removed yet: {e}")],
        };
        let mut live = registry.begin()?;
        let dir = live.directory(Path::new("."))?;
        Ok((Self { dir, live }, swept))
    }

    /// An empty directory of this name.
    fn fresh(&self, name: &str) -> Result<PathBuf, Error> {
        let dir = self.dir.join(name);
        remove_directory(&dir)?;
        fs::create_dir(&dir).map_err(|e| Error::file(&dir, e))?;
        Ok(dir)
    }
}

fn remove_directory(dir: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(dir) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::file(dir, error)),
    }
}
