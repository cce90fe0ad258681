//! Random histories until enough distinct images were opened; a failing one is shrunk.
//!
//! The normal tests open some hundred images; for the long run, with another seed:
//!
//! ```text
//! ETUI_CRASH_IMAGES=100000 ETUI_CRASH_SEED=1 \
//!     cargo test --release -p etui-vfs --test it -- random_ --nocapture
//! ```

use std::env;
use std::time::{Duration, Instant};

use etui_testkit::rng::SplitMix64;

use crate::crash::check::{Budget, Subject, Tally, examine};
use crate::crash::shrink::{listing, shrink};
use crate::crash::steps::{Journal, Setup, Step, Synchronous, draw, share};

/// Returns a number from the environment.
pub fn variable(name: &str, otherwise: u64) -> u64 {
    let text = env::var(name).unwrap_or_default();
    if text.is_empty() {
        return otherwise;
    }
    text.parse()
        .unwrap_or_else(|_| panic!("{name} is a number, not {text:?}"))
}

/// The kind of the histories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// All steps.
    All,
    /// Long snapshots, so that checkpoints are partial: only readers and memory limit the life of
    /// pages in the WAL.
    Patient,
    /// Rollback journals only.
    Rollback,
    /// SQLite's own WAL, and a second program.
    Shared,
}

/// Returns the history of a seed.
pub fn history(seed: u64, synchronous: Synchronous, kind: Kind) -> (Setup, Vec<Step>) {
    let mut rng = SplitMix64::stream(seed, synchronous as u64);
    let mut setup = Setup::draw(synchronous, &mut rng);
    let length = [12, 25, 50, 100][rng.below(4) as usize];
    let mut steps = draw(&setup, length, &mut rng);
    if kind == Kind::Patient {
        steps.retain_mut(|step| match step {
            Step::Checkpoint { mode, .. } => {
                *mode = "PASSIVE";
                true
            }
            Step::EndRead { .. } => rng.chance(300),
            Step::Vacuum { .. } | Step::Close { .. } | Step::Reopen => rng.chance(100),
            Step::Journal { .. } | Step::Kill => false,
            _ => true,
        });
    }
    if kind == Kind::Shared {
        setup.journal = Journal::Wal;
        steps = share(&setup, steps, &mut rng);
        // A connection of SQLite that leaves WAL mode keeps pages which another program has changed, if
        // page 1 is as it read it last.
        steps.retain(|step| !matches!(step, Step::Journal { .. }));
    }
    if kind == Kind::Rollback {
        setup.journal = match rng.below(3) {
            0 => Journal::Delete,
            1 => Journal::Truncate,
            _ => Journal::Persist,
        };
        steps.retain(|step| !matches!(step, Step::Journal { mode: Journal::Wal }));
    }
    (setup, steps)
}

pub fn budget() -> Budget {
    Budget {
        per_point: 60,
        per_history: 250,
        of_recovery: 10,
        between: 30,
    }
}

/// Runs histories of seeds from `first`, until `images` distinct ones were opened or one fails.
pub fn hunt(
    subject: &Subject,
    (synchronous, kind): (Synchronous, Kind),
    first: u64,
    images: usize,
    shrink_for: Duration,
) -> (Tally, Option<String>) {
    let mut all = Tally::default();
    let mut seed = first;
    while all.distinct < images {
        let (setup, steps) = history(seed, synchronous, kind);
        let (tally, done) = examine(subject, &setup, &steps, &budget(), seed);
        all += tally;
        if let Err(wrong) = done {
            let (steps, wrong) = shrink(&steps, wrong, shrink_for, |steps| {
                examine(subject, &setup, steps, &budget(), seed).1.err()
            });
            let text = format!(
                "seed {seed}, {setup:?}\n{} steps:\n{}{wrong}",
                steps.len(),
                listing(&steps)
            );
            return (all, Some(text));
        }
        seed += 1;
    }
    (all, None)
}

/// Runs one level of `synchronous`.
pub fn survives(subject: &Subject, synchronous: Synchronous, kind: Kind, images: usize) {
    let seed = variable("ETUI_CRASH_SEED", 1);
    let begun = Instant::now();
    let (tally, finding) = hunt(
        subject,
        (synchronous, kind),
        seed,
        images,
        Duration::from_secs(60),
    );
    println!(
        "{}, {synchronous:?}, {kind:?}, seeds {seed} to {}: {} histories, {} commits, {} images, \
         {} different ({} of recoveries), {:.1} s: {}",
        subject.vfs,
        seed + tally.histories as u64 - 1,
        tally.histories,
        tally.commits,
        tally.images,
        tally.distinct,
        tally.of_recovery,
        begun.elapsed().as_secs_f64(),
        if finding.is_some() { "FAILED" } else { "ok" }
    );
    if let Some(etui) = &subject.etui {
        let done = etui.counters();
        println!(
            "  with all images: {} commits, {} recoveries, {} checkpoints, {} pages folded, {} in \
             place",
            done.commits, done.recoveries, done.checkpoints, done.pages_folded, done.pages_in_place,
        );
    }
    if let Some(finding) = finding {
        panic!("{finding}");
    }
}
