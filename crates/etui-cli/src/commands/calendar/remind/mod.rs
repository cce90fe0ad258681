//! `etui calendar remind`: shows reminders while the person is logged in.
//!
//! ```text
//! store ── views ─────────────┐
//! clock ── WakeTimer ─────────┤
//! desktop ── ServerEvent ─────┴─► Follower ── find_due ── Reminder ─► notification, or a line
//!                                    │            ▲                        │
//!                                    │            └── ShownAlarms ◄────────┘ remembered after it
//!                                    └── StateFile: STORE-reminders.json             was shown
//! ```
//!
//! Nothing is kept in memory from one look to the next but the notifications that are open: after
//! each wake-up the alarms that are due and were not shown are searched again.

mod follower;
mod notifications;
mod schedule;
mod shown;
pub mod state_file;
mod wake;
mod words;

use etui::calendar::CalendarObject;
use etui::calendar::time::Duration;

use self::follower::{Follower, ReminderTarget};
use crate::app::App;
use crate::errors::Result;
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
    calendars: Vec<String>,
    /// Print the reminders that are due and were not shown, and exit
    #[arg(long)]
    once: bool,
    /// Print a line for each reminder, do not notify (also with --json)
    #[arg(long)]
    print: bool,
    /// Show alarms that were missed for at most this time
    #[arg(long, value_name = "DURATION", default_value = "1d", value_parser = parse_duration)]
    missed: Duration,
    /// Offer to remind again after these minutes
    #[arg(
        long,
        value_name = "MINUTES",
        value_delimiter = ',',
        default_value = "5,60",
        value_parser = clap::value_parser!(u32).range(1..=10_080)
    )]
    snooze: Vec<u32>,
    /// Notify without a sound
    #[arg(long)]
    no_sound: bool,
}

pub fn run_reminders(app: &mut App, args: &RemindArgs) -> Result<()> {
    let store = app.open_to_read()?;
    let mut names: Vec<&str> = args.calendars.iter().map(String::as_str).collect();
    if names.is_empty() {
        names.extend(app.calendar.as_deref());
    }
    let ids = names.into_iter().map(|name| {
        let calendar = store.collection::<CalendarObject>(Some(name))?;
        Ok(calendar.id())
    });
    let ids: Vec<i64> = ids.collect::<Result<_>>()?;
    let selected = (!ids.is_empty()).then_some(ids);
    let is_printing = args.print || args.once || app.out.json;
    let is_once = args.once;
    let mut follower = Follower::new(app, &store, args, selected);
    zbus::block_on(async {
        let mut target = match is_printing {
            true => ReminderTarget::Output,
            false => follower.find_target().await?,
        };
        match is_once {
            true => follower.show_due(&mut target).await.map(|_| ()),
            false => follower.follow(target).await,
        }
    })
}
