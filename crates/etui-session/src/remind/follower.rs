//! [`Follower`]: shows the reminders as they become due.

use etui::CollectionId;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::fd::{AsFd, OwnedFd};
use std::time::SystemTime;

use etui::Store;
use etui::calendar::time::{TimeZone, Timestamp};
use etui::calendar::{CalendarObject, View};
use etui::{Error, Snapshot};
use etui_program::output::{Style, name_cut, one_line, pluralize};
use etui_program::{AlarmKey, App, Failure, LockedState, Result, StateFile, StopSignal};
use futures_lite::future;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use zruntime::{AsyncIo, SharedRuntime};

use super::notifications::{Notification, NotificationServer, ServerEvent};
use super::schedule::{DueReminders, NamedReader, Reminder, find_alarm, find_due};
use super::wake::WakeTimer;
use super::words::{ReminderText, reminder_json};
use etui_program::services::remind::RemindArgs;
use etui_when::format_clock;

/// Reminders that are due at once and shown one by one. More are shown as one list.
const MAX_SEPARATE: usize = 8;
/// Lines of that list.
const MAX_LISTED: usize = 20;
/// Seconds after which a notification that failed is tried again.
const RETRY_AFTER: i64 = 60;
/// Least age, in seconds, of a missed alarm that is shown: the timer may fire late.
const MIN_MISSED: i64 = 300;

/// Where reminders are shown.
pub enum ReminderTarget {
    /// As notifications; on the terminal while there is no server.
    Notifications(Box<NotificationServer>),
    /// As lines of the output.
    Output,
}

/// A notification that is shown.
struct OpenNotification {
    /// Its alarms; of a list, several.
    keys: Vec<AlarmKey>,
}

/// Shows the reminders of a store.
pub struct Follower<'a> {
    app: &'a mut App,
    store: &'a Store,
    args: &'a RemindArgs,
    /// The ids of the calendars; `None`: all.
    selected: Option<Vec<CollectionId>>,
    state: StateFile,
    /// A view of each calendar, which wakes the follower.
    views: BTreeMap<CollectionId, View>,
    open: HashMap<u32, OpenNotification>,
    /// Notes that were written; each is written once.
    noted: HashSet<String>,
}

impl<'a> Follower<'a> {
    pub fn new(
        app: &'a mut App,
        store: &'a Store,
        args: &'a RemindArgs,
        selected: Option<Vec<CollectionId>>,
    ) -> Self {
        Self {
            app,
            store,
            args,
            selected,
            state: StateFile::of_store(store.path()),
            views: BTreeMap::new(),
            open: HashMap::new(),
            noted: HashSet::new(),
        }
    }

    /// Connects to the desktop. Without a bus the reminders go to the terminal, if there is one.
    pub async fn find_target(&mut self) -> Result<ReminderTarget> {
        match NotificationServer::connect().await {
            Ok(server) => Ok(ReminderTarget::Notifications(Box::new(server))),
            Err(error) if self.app.out.terminal => {
                self.note(format!(
                    "No session bus ({error}); reminders are printed here"
                ));
                Ok(ReminderTarget::Output)
            }
            Err(error) => Err(Failure::Other(format!(
                "no notifications without a session bus: {error}; --print prints the reminders"
            ))),
        }
    }

    /// Shows reminders until a signal arrives, or the reader of the output is gone.
    pub async fn follow(&mut self, mut target: ReminderTarget) -> Result<()> {
        let timer = WakeTimer::new()?;
        let stop = StopSignal::install()?;
        self.note("Showing reminders; stop with Ctrl-C.".to_owned());
        loop {
            self.follow_calendars()?;
            let now = clock();
            let next = self.show_due_or_wait(&mut target).await?;
            self.store.maintenance().release_memory();
            if !timer.set(now, next)? {
                continue;
            }
            let event = self.wait(&timer, &stop, &mut target).await?;
            let is_printing = matches!(target, ReminderTarget::Output);
            if stop.is_set() || (is_printing && output_is_closed()) {
                return Ok(());
            }
            match event {
                Some(ServerEvent::BusLost) => {
                    let lost = "the session bus is lost";
                    if !self.app.out.terminal {
                        return Err(Failure::Other(lost.to_owned()));
                    }
                    self.note(format!("{lost}; reminders are printed here"));
                    self.open.clear();
                    target = ReminderTarget::Output;
                }
                Some(event) => self.take_event(event)?,
                None => {}
            }
        }
    }

    /// Opens views of new calendars, and reads those that are open, so that each later change wakes.
    fn follow_calendars(&mut self) -> Result<()> {
        let mut present = HashSet::new();
        for name in self.store.collections::<CalendarObject>().names()? {
            let calendar = match self.store.collection::<CalendarObject>(&name) {
                Err(Error::NoCollection { .. }) => continue,
                other => other?,
            };
            if !self.is_selected(calendar.id()) {
                continue;
            }
            present.insert(calendar.id());
            if let Entry::Vacant(unknown) = self.views.entry(calendar.id()) {
                unknown.insert(calendar.view(&"".parse()?)?);
            }
        }
        for view in self.views.values_mut() {
            view.changes()?;
        }
        // The view of a removed calendar reports that it was restored.
        if present.is_empty() {
            return Err(Failure::NotFound(
                "the calendar was removed; there is nothing to remind of".to_owned(),
            ));
        }
        Ok(())
    }

    fn is_selected(&self, id: CollectionId) -> bool {
        self.selected.as_ref().is_none_or(|all| all.contains(&id))
    }

    /// Shows the due alarms, if there is somebody to show them to.
    async fn show_due_or_wait(&mut self, target: &mut ReminderTarget) -> Result<Option<Timestamp>> {
        let ReminderTarget::Notifications(server) = target else {
            return self.show_due(target).await;
        };
        // An error is that of a bus that is lost; the wait returns at once.
        if server.is_available().await.unwrap_or(false) {
            return self.show_due(target).await;
        }
        if self.app.out.terminal {
            self.note("No notification server runs; reminders are printed here".to_owned());
            return self.show_due(&mut ReminderTarget::Output).await;
        }
        self.note("No notification server runs; waiting for one".to_owned());
        Ok(None)
    }

    /// Shows the reminders that are due and were not shown, and remembers each. Returns when to look
    /// again.
    pub async fn show_due(&mut self, target: &mut ReminderTarget) -> Result<Option<Timestamp>> {
        let state_file = self.state.clone();
        let mut state = state_file.lock()?;
        if state.was_damaged {
            self.note(format!(
                "{}: damaged, and put aside; alarms of the last day may be shown again",
                state_file.path().display()
            ));
        }
        let (now, zone) = (clock(), self.app.out.time_zone());
        let before = state.shown.clone();
        let (due, gone) = self.look(&state, now, &zone)?;
        self.note_omissions(&due);
        if let Some(floor) = due.floor {
            state.shown.raise_floor(floor);
        }
        for key in &due.ended_snoozes {
            state.shown.end_snooze(key);
        }
        if state.shown != before {
            state.save()?;
        }
        let is_shown = match target {
            ReminderTarget::Output => self.print_all(&due, &mut state, now, &zone),
            ReminderTarget::Notifications(server) => {
                for id in gone {
                    self.open.remove(&id);
                    // It may be closed already.
                    let _ = server.close(id).await;
                }
                self.notify_all(server, &due, &mut state, now, &zone).await
            }
        };
        match is_shown? {
            true => Ok(due.next),
            false => {
                let retry = now.plus_seconds(RETRY_AFTER);
                Ok(Some(due.next.map_or(retry, |next| next.min(retry))))
            }
        }
    }

    /// Reads the due alarms, and the open notifications whose alarms are no more.
    fn look(
        &self,
        state: &LockedState<'_>,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Result<(DueReminders, Vec<u32>)> {
        let snapshot = self.store.snapshot()?;
        let calendars = self.readers(&snapshot)?;
        let max_missed = self.args.missed.nominal_seconds().max(MIN_MISSED);
        let due = find_due(&calendars, &state.shown, now, zone, max_missed)?;
        let mut gone = Vec::new();
        for (id, open) in &self.open {
            let [key] = open.keys.as_slice() else {
                continue;
            };
            if find_alarm(&calendars, key, zone)?.is_none() {
                gone.push(*id);
            }
        }
        Ok((due, gone))
    }

    fn readers<'s>(&self, snapshot: &'s Snapshot) -> Result<Vec<NamedReader<'s>>> {
        let mut readers = Vec::new();
        for name in snapshot.collections::<CalendarObject>()? {
            let reader = snapshot.collection::<CalendarObject>(&name)?;
            if self.is_selected(reader.id()) {
                readers.push((name, reader));
            }
        }
        Ok(readers)
    }

    /// Prints all reminders.
    fn print_all(
        &mut self,
        due: &DueReminders,
        state: &mut LockedState<'_>,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Result<bool> {
        for reminder in &due.reminders {
            let text = ReminderText::new(reminder, now, zone);
            match self.app.out.json {
                true => {
                    let object = reminder_json(reminder, &text, zone);
                    self.app.out.write_json(&object)?;
                }
                false => self.print_line(reminder, &text, zone)?,
            }
            self.app.out.flush_output()?;
            reminder.remember(&mut state.shown, now);
            state.save()?;
        }
        Ok(true)
    }

    /// Prints a reminder: `14:20  Dentist  in 10 minutes (14:30-15:00)  Room 4  #17`.
    fn print_line(
        &mut self,
        reminder: &Reminder,
        text: &ReminderText,
        zone: &TimeZone,
    ) -> Result<()> {
        let out = &mut self.app.out;
        let at = match &text.missed_at {
            Some(at) => at.clone(),
            None => format_clock(zone.to_local(reminder.alarm.at)),
        };
        let title = out
            .with_style(Style::Bold, &one_line(&text.title))
            .into_owned();
        let number = format!("#{}", reminder.alarm.record);
        let number = out.with_style(Style::Dim, &number).into_owned();
        let (when, place) = (text.when.clone(), one_line(&text.place).into_owned());
        let parts = [at, title, when, place, number];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        out.write_line(parts.join("  "))
    }

    /// Notifies of all reminders. Returns false if some could not be shown.
    async fn notify_all(
        &mut self,
        server: &mut NotificationServer,
        due: &DueReminders,
        state: &mut LockedState<'_>,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Result<bool> {
        let texts = due.reminders.iter();
        let texts = texts.map(|reminder| ReminderText::new(reminder, now, zone));
        let texts: Vec<ReminderText> = texts.collect();
        let has_sound = !self.args.no_sound;
        let mut shown: Vec<(Notification, &[Reminder])> = Vec::new();
        if due.reminders.len() > MAX_SEPARATE {
            shown.push((list_of(&texts, has_sound), &due.reminders));
        } else {
            for (text, reminder) in texts.iter().zip(due.reminders.chunks(1)) {
                let snooze = &self.args.snooze;
                let notification = Notification::of_reminder(text, has_sound, snooze);
                shown.push((notification, reminder));
            }
        }
        for (notification, reminders) in shown {
            let replaces = match reminders {
                [one] => self.open_of(&one.uid),
                _ => None,
            };
            let id = match server.show(&notification, replaces).await {
                Ok(id) => id,
                Err(error) => {
                    self.note(format!("A notification failed and is tried again: {error}"));
                    return Ok(false);
                }
            };
            self.noted
                .retain(|note| !note.starts_with("A notification failed"));
            // Killed here, it shows them again: a reminder that is lost would be worse.
            for reminder in reminders {
                reminder.remember(&mut state.shown, now);
            }
            state.save()?;
            let keys = reminders.iter().map(Reminder::key).collect();
            self.open.insert(id, OpenNotification { keys });
        }
        Ok(true)
    }

    /// Returns the open notification of an entry.
    fn open_of(&self, uid: &str) -> Option<u32> {
        let is_its = |open: &OpenNotification| match open.keys.as_slice() {
            [(_, of)] => of == uid,
            _ => false,
        };
        let mut all = self.open.iter();
        all.find(|(_, open)| is_its(open)).map(|(id, _)| *id)
    }

    /// Takes an event of the server.
    fn take_event(&mut self, event: ServerEvent) -> Result<()> {
        let (id, minutes) = match event {
            ServerEvent::Snoozed { id, minutes } => (id, Some(minutes)),
            ServerEvent::Dismissed { id } => (id, None),
            ServerEvent::Closed { id } => {
                self.open.remove(&id);
                return Ok(());
            }
            ServerEvent::ServerChanged | ServerEvent::BusLost => {
                self.open.clear();
                return Ok(());
            }
        };
        // Notifications of other programs have signals, too.
        let Some(open) = self.open.remove(&id) else {
            return Ok(());
        };
        let mut state = self.state.lock()?;
        for key in &open.keys {
            match minutes {
                Some(minutes) => {
                    let until = clock().plus_seconds(i64::from(minutes) * 60);
                    state.shown.snooze(key, until);
                }
                None => state.shown.dismiss(key),
            }
        }
        state.save()
    }

    /// Waits until something may be due, or for an event of the server.
    async fn wait(
        &self,
        timer: &WakeTimer,
        stop: &StopSignal,
        target: &mut ReminderTarget,
    ) -> Result<Option<ServerEvent>> {
        let failed = |e: std::io::Error| Failure::named_io("epoll", e);
        let descriptor = self.watch_descriptors(timer, stop)?;
        let runtime = SharedRuntime::current().map_err(failed)?;
        let watched = AsyncIo::new_nonblocking(&runtime, descriptor).map_err(failed)?;
        let wake = async {
            watched.readable().await.map_err(failed)?;
            Ok(None)
        };
        match target {
            ReminderTarget::Output => wake.await,
            ReminderTarget::Notifications(server) => {
                future::or(wake, async { Ok(Some(server.next_event().await)) }).await
            }
        }
    }

    /// Returns a descriptor that is readable when one of those waited for is.
    fn watch_descriptors(&self, timer: &WakeTimer, stop: &StopSignal) -> Result<OwnedFd> {
        let failed = |e: rustix::io::Errno| Failure::named_io("epoll", e.into());
        let all = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        let data = epoll::EventData::new_u64(0);
        epoll::add(&all, timer, data, epoll::EventFlags::IN).map_err(failed)?;
        epoll::add(&all, stop, data, epoll::EventFlags::IN).map_err(failed)?;
        for view in self.views.values() {
            let changes = view.descriptor()?;
            epoll::add(&all, changes, data, epoll::EventFlags::IN).map_err(failed)?;
        }
        // A closed pipe is reported without being requested; a file cannot be waited for.
        let stdout = std::io::stdout();
        let _ = epoll::add(&all, stdout.as_fd(), data, epoll::EventFlags::empty());
        Ok(all)
    }

    fn note_omissions(&mut self, due: &DueReminders) {
        if let Some(names) = name_cut(&due.cut) {
            self.note(format!(
                "Not all alarms of {names} are searched; there are too many"
            ));
        }
        for name in &due.overfull {
            self.note(format!(
                "Too many alarms of the calendar {} were missed; those of the last minute are shown",
                one_line(name)
            ));
        }
    }

    /// Writes a note, unless it was written before.
    fn note(&mut self, text: String) {
        if !self.noted.contains(&text) {
            self.app.out.write_note(&text);
            self.noted.insert(text);
        }
    }
}

/// Returns one notification of many reminders.
fn list_of(texts: &[ReminderText], has_sound: bool) -> Notification {
    let lines = texts
        .iter()
        .take(MAX_LISTED)
        .map(|text| match text.when.is_empty() {
            true => one_line(&text.title).into_owned(),
            false => format!("{}, {}", one_line(&text.title), text.when),
        });
    let mut lines: Vec<String> = lines.collect();
    if texts.len() > MAX_LISTED {
        lines.push(format!("and {} more", texts.len() - MAX_LISTED));
    }
    Notification {
        title: pluralize(texts.len() as u64, "reminder"),
        body: lines.join("\n"),
        was_missed: texts.iter().all(|text| text.missed_at.is_some()),
        has_sound,
        snooze_minutes: Vec::new(),
    }
}

fn clock() -> Timestamp {
    Timestamp::from(SystemTime::now())
}

/// Returns true if nobody reads standard output any more.
fn output_is_closed() -> bool {
    let stdout = std::io::stdout();
    let mut fds = [PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::empty())];
    poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}
