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
mod wake;
mod words;

use self::follower::{Follower, ReminderTarget};
use etui::CollectionId;
use etui::calendar::CalendarObject;
use etui_program::services::remind::RemindArgs;
use etui_program::{App, Result};

pub fn run_reminders(app: &mut App, args: &RemindArgs) -> Result<()> {
    let store = app.open_to_read()?;
    let mut names: Vec<&str> = args.calendars.iter().map(String::as_str).collect();
    if names.is_empty() {
        names.extend(app.calendar.as_deref());
    }
    let ids = names.into_iter().map(|name| {
        let calendar = store.collection::<CalendarObject>(name)?;
        Ok(calendar.id())
    });
    let ids: Vec<CollectionId> = ids.collect::<Result<_>>()?;
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
