//! Progress on the terminal, with the time that is left.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::arms::{ArmGroup, RunCase};
use crate::output;

/// Shows how far a run is. The time left is the experiments' own estimate of the runs to come,
/// scaled by how long those took that were made.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    /// Expected seconds of the runs to come, the next one last.
    to_come: Vec<f64>,
    expected: f64,
    taken: f64,
    current: Option<(Instant, f64)>,
}

impl Progress {
    pub fn new(shown: bool) -> Self {
        let bar = ProgressBar::new(0);
        if !shown {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        if let Ok(style) =
            ProgressStyle::with_template("{bar:24} {pos}/{len} runs, {prefix} left  {wide_msg}")
        {
            bar.set_style(style);
        }
        Self {
            bar,
            to_come: Vec::new(),
            expected: 0.0,
            taken: 0.0,
            current: None,
        }
    }

    /// These runs are to come after those already expected.
    pub fn expect(&mut self, seconds: &[f64]) {
        let seconds = seconds.iter().rev().map(|one| one.max(0.001));
        self.to_come.splice(..0, seconds);
        self.bar.set_length(self.to_come.len() as u64);
        self.left();
    }

    /// This group is made ready now.
    pub fn group(&mut self, experiment: &str, group: &ArmGroup) {
        let ArmGroup { work, stack, .. } = group;
        self.bar
            .set_message(format!("{experiment}: making {work} ready on {stack}"));
        self.bar.tick();
    }

    /// This run is made now.
    pub fn begin(&mut self, case: &RunCase) {
        let expected = self.to_come.pop().unwrap_or(0.0);
        self.current = Some((Instant::now(), expected));
        self.bar.set_message(format!(
            "{}: {}, {} on {}",
            case.experiment, case.arm, case.work, case.stack
        ));
        self.bar.tick();
    }

    pub fn end(&mut self) {
        if let Some((begun, expected)) = self.current.take() {
            self.taken += begun.elapsed().as_secs_f64();
            self.expected += expected;
        }
        self.bar.inc(1);
        self.left();
    }

    /// Removes runs that will not be made.
    pub fn skip(&mut self, runs: usize) {
        let left = self.to_come.len().saturating_sub(runs);
        self.to_come.truncate(left);
        self.bar.inc(runs as u64);
        self.left();
    }

    /// Prints a line above the bar.
    pub fn tell(&self, words: &str) {
        self.bar.suspend(|| output::print_error(words));
    }

    /// Reports a failed run above the bar.
    pub fn failed(&self, case: &RunCase, message: &str) {
        self.tell(&format!(
            "{}: {} ({} on {}) failed: {message}",
            case.experiment, case.arm, case.work, case.stack
        ));
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn left(&self) {
        let scale = if self.expected > 1.0 {
            self.taken / self.expected
        } else {
            1.0
        };
        let left = self.to_come.iter().sum::<f64>() * scale;
        self.bar.set_prefix(format_time(
            Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX),
        ));
    }
}

pub fn format_time(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 {
        format!("{seconds} s")
    } else {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
