//! The options for a period of time.

use super::agenda::browser::AgendaView;
use etui_program::output::OutputWriter;
use etui_program::{Failure, Result};
use etui_when::{LocalNow, SpanWords, TimeSpan};

/// Returns the time in the display zone.
pub fn local_now(out: &OutputWriter) -> LocalNow {
    LocalNow::in_zone(out.time_zone())
}

// Flattened into the arguments of commands.
#[derive(Debug, clap::Args)]
pub struct SpanArgs {
    /// today, tomorrow, a weekday, week, weekend, month or year (also next week, last month),
    /// 2026-12-24, 2026-12 or 2026
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
    /// Returns the view of the browser for the period; `None` if it is none of its own.
    pub fn view(&self) -> Option<AgendaView> {
        if self.from.is_some() || self.to.is_some() {
            return None;
        }
        let name = self.period.join(" ").to_ascii_lowercase();
        let unit = name.rsplit(' ').next().unwrap_or_default();
        let is_number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        Some(match unit {
            "" | "week" | "weekend" => AgendaView::Week,
            "month" => AgendaView::Month,
            "year" => return None,
            // 2026, 2026-12
            _ if is_number(&name) => return None,
            _ if name.len() == 7 && name.split('-').all(is_number) => AgendaView::Month,
            _ => AgendaView::Day,
        })
    }

    /// Returns the arguments for a period in words.
    pub fn of_period(words: &[String]) -> Self {
        Self {
            period: words.to_owned(),
            from: None,
            to: None,
        }
    }

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
