//! The options that say from when to when.

use crate::datetime::{LocalNow, Span, SpanWords};
use crate::errors::{Failure, Result};
use crate::output::OutputWriter;

/// Where and when the person is.
pub fn here(out: &OutputWriter) -> LocalNow {
    LocalNow::now(out.zone())
}

/// From when to when.
#[derive(Debug, clap::Args)]
pub struct SpanArgs {
    /// today, tomorrow, a weekday, week, month or year (also next week, last month), 2026-12-24,
    /// 2026-12 or 2026
    #[arg(value_name = "WHEN", conflicts_with_all = ["from", "to"])]
    what: Vec<String>,
    /// From this day or time on, such as monday, +3d, 2026-12-24, "tomorrow 9:00" [default: today]
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    from: Option<String>,
    /// Until then; a day is part of it [default: seven days in all]
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    to: Option<String>,
}

impl SpanArgs {
    /// The span that is meant.
    pub fn span(&self, here: &LocalNow) -> Result<Span> {
        let what = self.what.join(" ");
        let words = SpanWords {
            what: (!self.what.is_empty()).then_some(what.as_str()),
            from: self.from.as_deref(),
            to: self.to.as_deref(),
        };
        Span::of(words, here).map_err(Failure::usage)
    }
}
