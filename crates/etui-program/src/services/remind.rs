//! Arguments of `etui calendar remind`, which `etui-session` runs.

use etui::calendar::time::Duration;
use etui_when::parse_duration;

const EXAMPLES: &str = "\
Examples:
  etui calendar remind                       notify until Ctrl-C
  etui calendar remind Work Family           of two calendars
  etui calendar remind --snooze 10,30 --no-sound
  etui calendar remind --print               print a line for each reminder, do not notify
  etui calendar remind --once                print the reminders that are due now, for cron
  systemctl --user enable --now etui-remind  notify whenever you are logged in

An alarm is shown once, also if several of these run or one is started again: those that were shown
are remembered in STORE-reminders.json, beside the store. Alarms that were missed while nothing ran,
or the computer slept, are shown once and marked; --missed says how old they may be. A snoozed
reminder is shown again. Alarms that were acknowledged (RFC 9074), those of cancelled and completed
entries, and those that send mails are left out.";

/// Show reminders of the alarms that are due
///
/// Notifies by the desktop's notifications, until Ctrl-C. Without a notification server the reminders
/// are printed on the terminal; without a terminal, it waits for a server. Without a session bus and a
/// terminal it ends with an error.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct RemindArgs {
    /// Calendars [default: all, or that of --calendar]
    #[arg(value_name = "NAME")]
    pub calendars: Vec<String>,
    /// Print the reminders that are due and were not shown, and exit
    #[arg(long)]
    pub once: bool,
    /// Print a line for each reminder, do not notify (also with --json)
    #[arg(long)]
    pub print: bool,
    /// Show alarms that were missed for at most this time
    #[arg(long, value_name = "DURATION", default_value = "1d", value_parser = parse_duration)]
    pub missed: Duration,
    /// Offer to remind again after these minutes
    #[arg(
        long,
        value_name = "MINUTES",
        value_delimiter = ',',
        default_value = "5,60",
        value_parser = clap::value_parser!(u32).range(1..=10_080)
    )]
    pub snooze: Vec<u32>,
    /// Notify without a sound
    #[arg(long)]
    pub no_sound: bool,
}
