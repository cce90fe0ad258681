//! [`find_due`]: the reminders that are due at a moment, and when to look again.

use std::collections::{BTreeMap, HashMap};

use etui::RecordId;
use etui::calendar::time::{TimeZone, Timestamp};
use etui::calendar::{AlarmAction, CalendarObject, CutSeries, DueAlarm};
use etui::record::Reader;
use etui_program::{AlarmKey, Result, ShownAlarms};

/// A reminder that is shown later than this, in seconds, was missed.
const MISSED_AFTER: i64 = 120;

/// Alarms that are read first, and at most at once. Each page is [`PAGE_GROWTH`] times as large as the
/// one before: with many dense series a page costs the same whatever its size.
const PAGE: usize = 64;
const PAGE_GROWTH: usize = 4;
const MAX_OF_MOMENT: usize = 4_096;
/// Pages that are read of a calendar. Then the alarms that were missed are given up, except those of
/// the last [`LATEST`] seconds.
const MAX_PAGES: usize = 4;
const LATEST: i64 = 60;

/// A calendar in a snapshot, and its name.
pub type NamedReader<'s> = (String, Reader<CalendarObject>);

/// An alarm to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reminder {
    /// The name of its calendar.
    pub calendar: String,
    /// The UID of its entry.
    pub uid: String,
    pub alarm: DueAlarm,
    /// Whether it is shown late: nobody was there, or the computer was asleep.
    pub is_missed: bool,
    /// Earlier alarms of the entry that are due, too. One reminder is shown for all.
    pub earlier: Vec<DueAlarm>,
}

impl Reminder {
    /// Returns the key of the alarm.
    pub fn key(&self) -> AlarmKey {
        (self.alarm.at, self.uid.clone())
    }

    /// Remembers that it was shown.
    pub fn remember(&self, shown: &mut ShownAlarms, now: Timestamp) {
        for alarm in self.earlier.iter().chain([&self.alarm]) {
            shown.remember(alarm, &self.uid, now);
        }
    }
}

/// The reminders that are due, in the order of their alarms.
#[derive(Debug, Default)]
pub struct DueReminders {
    pub reminders: Vec<Reminder>,
    /// Alarms that were snoozed until now, and are no more.
    pub ended_snoozes: Vec<AlarmKey>,
    /// The next alarm, or end of a snooze.
    pub next: Option<Timestamp>,
    /// Series whose alarms were not all searched.
    pub cut: Vec<CutSeries>,
    /// Calendars with more missed alarms than are read; those before `floor` are given up.
    pub overfull: Vec<String>,
    pub floor: Option<Timestamp>,
}

impl DueReminders {
    /// Has the caller look again at this time, or earlier.
    fn look_at(&mut self, at: Timestamp) {
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }
}

/// Finds the alarms that are due at `now` and were not shown, those missed for at most `max_missed`
/// seconds among them. Alarms that send mails, and unknown ones, are left out.
///
/// # Errors
/// Any error of reading.
pub fn find_due(
    calendars: &[NamedReader<'_>],
    shown: &ShownAlarms,
    now: Timestamp,
    zone: &TimeZone,
    max_missed: i64,
) -> Result<DueReminders> {
    let mut found = DueReminders {
        next: shown.next_snooze().filter(|next| *next > now),
        ..DueReminders::default()
    };
    let since = shown.floor(now).max(now.plus_seconds(-max_missed));
    // The latest alarm of each entry, and the earlier ones.
    let mut by_uid: BTreeMap<String, Reminder> = BTreeMap::new();
    for (name, reader) in calendars {
        let mut uids: HashMap<RecordId, Option<String>> = HashMap::new();
        for alarm in read_due(name, reader, since..now, zone, &mut found)? {
            if !matches!(alarm.action, AlarmAction::Display | AlarmAction::Audio) {
                continue;
            }
            let uid = match uids.entry(alarm.record) {
                std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::hash_map::Entry::Vacant(unknown) => {
                    unknown.insert(reader.get(alarm.record)?.map(|stored| stored.uid))
                }
            };
            if let Some(uid) = uid
                && !shown.contains(&alarm, uid)
            {
                let is_missed = now.seconds().saturating_sub(alarm.at.seconds()) > MISSED_AFTER;
                add_alarm(&mut by_uid, name, uid, alarm, is_missed);
            }
        }
    }
    for key in shown.snoozed_until(now) {
        match find_alarm(calendars, &key, zone)? {
            Some((name, alarm)) => add_alarm(&mut by_uid, &name, &key.1, alarm, false),
            None => found.ended_snoozes.push(key),
        }
    }
    found.reminders = by_uid.into_values().collect();
    found.reminders.sort_by_key(Reminder::key);
    found.cut.sort_by_key(|cut| cut.record);
    found.cut.dedup();
    Ok(found)
}

/// Adds an alarm to the reminder of its entry.
fn add_alarm(
    by_uid: &mut BTreeMap<String, Reminder>,
    calendar: &str,
    uid: &str,
    alarm: DueAlarm,
    is_missed: bool,
) {
    let Some(reminder) = by_uid.get_mut(uid) else {
        let reminder = Reminder {
            calendar: calendar.to_owned(),
            uid: uid.to_owned(),
            alarm,
            is_missed,
            earlier: Vec::new(),
        };
        by_uid.insert(uid.to_owned(), reminder);
        return;
    };
    if alarm.at > reminder.alarm.at {
        let earlier = std::mem::replace(&mut reminder.alarm, alarm);
        reminder.earlier.push(earlier);
        reminder.calendar = calendar.to_owned();
    } else {
        reminder.earlier.push(alarm);
    }
    reminder.is_missed &= is_missed;
}

/// Reads the alarms of a calendar from `range.start` to `range.end`, both included, and notes the next
/// one.
fn read_due(
    name: &str,
    reader: &Reader<CalendarObject>,
    range: std::ops::Range<Timestamp>,
    zone: &TimeZone,
    found: &mut DueReminders,
) -> Result<Vec<DueAlarm>> {
    let now = range.end;
    let (mut after, mut size) = (range.start, PAGE);
    let mut due = Vec::new();
    for page in 0..2 * MAX_PAGES {
        if page == MAX_PAGES && after < now.plus_seconds(-LATEST) {
            after = now.plus_seconds(-LATEST);
            found.overfull.push(name.to_owned());
            found.floor = Some(after);
            due.clear();
        }
        let alarms = reader.alarms(after, size, zone)?;
        found.cut.extend(alarms.cut);
        let is_full = alarms.alarms.len() == size;
        let last = alarms.alarms.last().map(|last| last.at);
        for alarm in alarms.alarms {
            if alarm.at > now {
                found.look_at(alarm.at);
                return Ok(due);
            }
            due.push(alarm);
        }
        let grown = (size * PAGE_GROWTH).min(MAX_OF_MOMENT);
        match last {
            // There may be more at that moment.
            Some(last) if is_full && last > after => (after, size) = (last, grown),
            Some(_) if is_full && size < MAX_OF_MOMENT => size = grown,
            Some(last) if is_full => after = last.plus_seconds(1),
            _ => return Ok(due),
        }
    }
    found.look_at(now.plus_seconds(LATEST));
    Ok(due)
}

/// Finds an alarm by its time and the UID of its entry, with the name of its calendar; `None` if the
/// entry was removed, moved or completed, or the alarm acknowledged.
///
/// # Errors
/// Any error of reading.
pub fn find_alarm(
    calendars: &[NamedReader<'_>],
    (at, uid): &AlarmKey,
    zone: &TimeZone,
) -> Result<Option<(String, DueAlarm)>> {
    for (name, reader) in calendars {
        let Some(stored) = reader.get(uid)? else {
            continue;
        };
        let due = alarms_of_moment(reader, *at, zone)?;
        if let Some(alarm) = due.into_iter().find(|alarm| alarm.record == stored.id) {
            return Ok(Some((name.clone(), alarm)));
        }
    }
    Ok(None)
}

/// Returns the alarms that are due at one moment.
fn alarms_of_moment(
    reader: &Reader<CalendarObject>,
    at: Timestamp,
    zone: &TimeZone,
) -> Result<Vec<DueAlarm>> {
    let mut size = PAGE / 4;
    loop {
        let mut due = reader.alarms(at, size, zone)?.alarms;
        let is_full = due.len() == size;
        due.retain(|alarm| alarm.at == at);
        if !is_full || due.len() < size || size >= MAX_OF_MOMENT {
            return Ok(due);
        }
        size *= PAGE_GROWTH;
    }
}

#[cfg(test)]
mod tests;
