//! [`Progress`]: a bar on standard error, on a terminal, and only when something takes long.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::OutputWriter;

/// What is faster needs no bar.
const PATIENCE: Duration = Duration::from_millis(700);

/// How far something has come.
pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
    wanted: bool,
    drawn: bool,
}

impl Progress {
    /// Bytes of a whole of `total`, if that is known.
    pub fn of_bytes(out: &OutputWriter, label: &str, total: Option<u64>) -> Self {
        let template = match total {
            Some(_) => {
                "{prefix} {bar:24} {percent:>3} %  {decimal_bytes} of {decimal_total_bytes}  {msg}  {eta} left"
            }
            None => "{prefix} {spinner} {decimal_bytes}  {msg}",
        };
        Self::new(out, label, total, template)
    }

    /// Pages of a database; the whole is told with each step.
    pub fn of_pages(out: &OutputWriter, label: &str) -> Self {
        Self::new(
            out,
            label,
            Some(1),
            "{prefix} {bar:24} {percent:>3} %  {eta} left",
        )
    }

    fn new(out: &OutputWriter, label: &str, total: Option<u64>, template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("█▌ "));
        }
        bar.set_prefix(super::one_line(label).into_owned());
        Self {
            bar,
            begun: Instant::now(),
            wanted: out.shows_progress(),
            drawn: false,
        }
    }

    /// Has come to `position`.
    pub fn set(&mut self, position: u64, message: String) {
        if !self.wanted {
            return;
        }
        self.bar.set_position(position);
        self.bar.set_message(message);
        if !self.drawn && self.begun.elapsed() > PATIENCE {
            self.drawn = true;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Has come to `done` of `all`.
    pub fn set_of(&mut self, done: u64, all: u64) {
        self.bar.set_length(all);
        self.set(done, String::new());
    }

    /// Does something that writes to the terminal beside the bar.
    pub fn beside<T>(&self, work: impl FnOnce() -> T) -> T {
        self.bar.suspend(work)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
