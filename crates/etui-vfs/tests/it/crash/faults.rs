//! Each call to the disk fails once: no crash, no damage, no acknowledged commit is lost.

use std::time::Duration;

use etui_testkit::disk::{DiskEvent, FaultKind, InjectedFailure, RecordingDisk};
use etui_testkit::rng::SplitMix64;
use etui_vfs::device::Role;

use crate::crash::check::{Budget, Subject, Tally, examine_history, look};
use crate::crash::commits::Window;
use crate::crash::plain::Mistake;
use crate::crash::run::{DATABASE, Run};
use crate::crash::shrink::{listing, shrink};
use crate::crash::steps::{Journal, Setup, Step, Synchronous, draw};
use crate::crash::stock::stock;

/// A run of histories with failing calls.
pub struct Trial<'a> {
    pub subject: &'a Subject,
    pub setup: &'a Setup,
    pub steps: &'a [Step],
    /// Images to create as well, if any.
    pub images: Option<Budget>,
    /// Only unnamed files fail.
    pub scratch: bool,
}

impl Trial<'_> {
    /// Returns the number of calls of the history without a failure.
    pub fn calls(&self) -> Result<u64, String> {
        let disk = RecordingDisk::new();
        let failing = self.failing(&disk);
        let before = failing.calls();
        self.run(&disk, self.steps)?;
        Ok(failing.calls() - before)
    }

    fn failing(&self, disk: &RecordingDisk) -> RecordingDisk {
        match self.scratch {
            true => self.subject.rack.scratch(),
            false => disk.clone(),
        }
    }

    /// Runs the steps and closes. Returns whether the failure came while SQLite relied on a
    /// rollback journal, whose guarantees after a failed flush are SQLite's own.
    fn run(&self, disk: &RecordingDisk, steps: &[Step]) -> Result<(Run<'_>, bool), String> {
        let mut run = Run::new(self.subject, self.setup, disk, true);
        let failing = self.failing(disk);
        let mut with_journal = false;
        for (at, step) in steps.iter().enumerate() {
            let before = (failing.failed(), run.has_rollback_journal());
            run.step(step)
                .map_err(|wrong| format!("step {at}, {step:?}: {wrong}"))?;
            with_journal |= !before.0 && failing.failed() && before.1;
        }
        run.close()?;
        Ok((run, with_journal))
    }

    /// Runs the history with a failure. Reports a shortened history and the disk's events if it is
    /// wrong.
    pub fn fail(&self, failure: InjectedFailure, tally: &mut Tally) -> Result<(), String> {
        let Err(wrong) = self.fail_once(failure, self.steps, tally) else {
            return Ok(());
        };
        let time = Duration::from_secs(30);
        let (steps, wrong) = shrink(self.steps, wrong, time, |steps| {
            // The call that has to fail is earlier in a shorter history.
            (0..=failure.at).rev().take(60).find_map(|at| {
                let failure = InjectedFailure { at, ..failure };
                self.fail_once(failure, steps, &mut Tally::default()).err()
            })
        });
        Err(format!("{wrong}\nsteps:\n{}", listing(&steps)))
    }

    /// Runs the history with one failure, closes, and opens it on a healthy disk; then also after
    /// power failures.
    fn fail_once(
        &self,
        failure: InjectedFailure,
        steps: &[Step],
        tally: &mut Tally,
    ) -> Result<(), String> {
        let disk = RecordingDisk::new();
        let failing = self.failing(&disk);
        let at = failing.calls() + failure.at;
        failing.fail(Some(InjectedFailure { at, ..failure }));
        let (run, with_journal) = self.run(&disk, steps)?;
        if !failing.failed() {
            // This call cannot fail in this way.
            return Ok(());
        }
        failing.fail(None);
        let commits = run.commits.clone();
        let acknowledged = run.acknowledged();
        drop(run);
        let mount = self
            .subject
            .rack
            .mount(&RecordingDisk::from_files(disk.files()));
        let path = mount.path(DATABASE);
        let (sql, found) = look(&path, &self.subject.vfs)
            .map_err(|wrong| format!("afterwards: {wrong}; {failure:?}:{}", events(&disk)))?;
        let window = Window {
            durable: acknowledged,
            acknowledged,
            begun: commits.states.len(),
        };
        if !commits.allows(window, found) {
            return Err(format!(
                "afterwards the tables are as after {:?}, not {acknowledged}; {failure:?}:{}",
                commits.find(found),
                events(&disk)
            ));
        }
        sql.execute_batch("CREATE TABLE probe(x)")
            .map_err(|error| format!("writing afterwards: {error}"))?;
        sql.close().map_err(|(_, error)| error.to_string())?;
        let (_, plain) = look(&path, &self.subject.plain)?;
        if plain != found {
            return Err("afterwards plain SQLite sees other tables".to_owned());
        }
        let sqlites_matter = with_journal || failure.lasting && run_has_journals(self.setup, steps);
        let left_out = sqlites_matter || self.nobody_knows(&disk);
        if let Some(budget) = self.images.as_ref().filter(|_| !left_out) {
            examine_history(
                self.subject,
                self.setup,
                &disk,
                &commits,
                budget,
                failure.at,
                tally,
            )?;
        }
        Ok(())
    }

    /// Returns true if a flush of the log failed and the process was then killed: the next one
    /// reads data that is not durable and cannot know. With FULL, everything that it reads is.
    fn nobody_knows(&self, disk: &RecordingDisk) -> bool {
        let history = disk.history();
        let failed = history.events.iter().any(|event| match event {
            DiskEvent::Sync { file, ok: false } => history.roles.get(file) == Some(&Role::Redo),
            _ => false,
        });
        let kills = self.steps.iter().any(|step| matches!(step, Step::Kill));
        failed && kills && self.setup.synchronous < Synchronous::Full
    }
}

fn run_has_journals(setup: &Setup, steps: &[Step]) -> bool {
    let is_rollback = |mode: Journal| mode != Journal::Wal;
    let changes = |step: &Step| matches!(step, Step::Journal { mode } if is_rollback(*mode));
    is_rollback(setup.journal) || steps.iter().any(changes)
}

fn events(disk: &RecordingDisk) -> String {
    let history = disk.history();
    let lines = (0..history.events.len()).map(|at| format!("\n  {at}: {}", history.describe(at)));
    lines.collect()
}

/// Runs failures in several histories. Returns the first wrong result.
pub fn first_wrong(
    subject: &Subject,
    synchronous: Synchronous,
    images: Option<Budget>,
    scratch: bool,
    seeds: std::ops::Range<u64>,
    failures: u64,
) -> (Tally, Option<String>) {
    let mut tally = Tally::default();
    for seed in seeds {
        let mut rng = SplitMix64::stream(seed, 7);
        let setup = Setup::draw(synchronous, &mut rng);
        let steps = draw(&setup, 20, &mut rng);
        let trial = Trial {
            subject,
            setup: &setup,
            steps: &steps,
            images: images.clone(),
            scratch,
        };
        let calls = match trial.calls() {
            Ok(calls) => calls,
            Err(wrong) => return (tally, Some(format!("seed {seed}, no failure: {wrong}"))),
        };
        let step = (calls / failures).max(1);
        let mut at = u64::from(rng.below(step as u32));
        while at < calls {
            tally.histories += 1;
            let failure = InjectedFailure {
                at,
                fault: [
                    FaultKind::Io,
                    FaultKind::Flush,
                    FaultKind::Full,
                    FaultKind::Short,
                ][rng.below(4) as usize],
                lasting: rng.chance(300),
            };
            if let Err(wrong) = trial.fail(failure, &mut tally) {
                let text = format!("seed {seed}, {setup:?}, {failure:?}: {wrong}");
                return (tally, Some(text));
            }
            at += 1 + u64::from(rng.below(2 * step as u32 - 1));
        }
    }
    (tally, None)
}

#[test]
fn stock_wal_survives_failing_calls() {
    let subject = stock(Mistake::None);
    for scratch in [false, true] {
        let (tally, wrong) = first_wrong(&subject, Synchronous::Full, None, scratch, 0..10, 40);
        println!("stock, failing calls (scratch: {scratch}): {tally:?}");
        assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
    }
}
