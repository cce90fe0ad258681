//! The options for a period of time.

use crate::datetime::{LocalNow, SpanWords, TimeSpan};
use crate::errors::{Failure, Result};
use crate::output::OutputWriter;

/// Returns the time in the display zone.
pub fn local_now(out: &OutputWriter) -> LocalNow {
    LocalNow::in_zone(out.time_zone())
}

// Flattened into the arguments of commands.
#[derive(Debug, clap::Args)]
pub struct SpanArgs {
    /// today, tomorrow, a weekday, week, month or year (also next week, last month), 2026-12-24,
    /// 2026-12 or 2026
    #[arg(value_name = "WHEN", conflicts_with_all = ["from", "to"])]
    period: Vec<String>,
    /// First day or time: monday, +3d, 2026-12-24, "tomorrow 9:00" [default: today]
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    from: Option<String>,
    /// Last day, or end time [default: six days after --from]
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    to: Option<String>,
}

impl SpanArgs {
    pub fn parse_span(&self, here: &LocalNow) -> Result<TimeSpan> {
        let name = self.period.join(" ");
        let words = SpanWords {
            name: (!self.period.is_empty()).then_some(name.as_str()),
            from: self.from.as_deref(),
            to: self.to.as_deref(),
        };
        TimeSpan::parse(words, here).map_err(Failure::usage)
    }
}
