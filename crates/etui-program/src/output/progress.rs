//! [`ProgressReporter`]: a progress bar on standard error, shown if an operation takes long.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::OutputWriter;

/// A faster operation shows no bar.
const BAR_DELAY: Duration = Duration::from_millis(700);

/// Progress of an operation.
pub struct ProgressReporter {
    bar: ProgressBar,
    begun: Instant,
    is_enabled: bool,
    is_drawn: bool,
}

impl ProgressReporter {
    /// Reports bytes of a total, if the total is known.
    pub fn for_bytes(out: &OutputWriter, label: &str, total: Option<u64>) -> Self {
        let template = match total {
            Some(_) => {
                "{prefix} {bar:24} {percent:>3} %  {decimal_bytes} of {decimal_total_bytes}  {msg}  {eta} left"
            }
            None => "{prefix} {spinner} {decimal_bytes}  {msg}",
        };
        Self::new(out, label, total, template)
    }

    /// Reports database pages; each step passes the total to [`Self::set_of_total`].
    pub fn for_pages(out: &OutputWriter, label: &str) -> Self {
        let template = "{prefix} {bar:24} {percent:>3} %  {eta} left";
        Self::new(out, label, Some(1), template)
    }

    /// Reports files; each step passes the total to [`Self::set_of_files`].
    pub fn for_files(out: &OutputWriter, label: &str) -> Self {
        let template = "{prefix} {bar:24} {pos} of {len} files  {msg}  {eta} left";
        Self::new(out, label, Some(1), template)
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
            is_enabled: out.shows_progress(),
            is_drawn: false,
        }
    }

    /// Sets the position and the message.
    pub fn set_position(&mut self, position: u64, message: String) {
        if !self.is_enabled {
            return;
        }
        self.bar.set_position(position);
        self.bar.set_message(message);
        if !self.is_drawn && self.begun.elapsed() > BAR_DELAY {
            self.is_drawn = true;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Sets the position and the total.
    pub fn set_of_total(&mut self, done: u64, all: u64) {
        self.bar.set_length(all);
        self.set_position(done, String::new());
    }

    /// Sets the number of files that are done, their total and the message.
    pub fn set_of_files(&mut self, done: u64, all: u64, message: String) {
        self.bar.set_length(all.max(1));
        self.set_position(done, message);
    }

    /// Hides the bar while `work` writes to the terminal.
    pub fn suspend<T>(&self, work: impl FnOnce() -> T) -> T {
        self.bar.suspend(work)
    }
}

impl Drop for ProgressReporter {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
