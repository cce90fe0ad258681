//! [`ShownAlarms`]: the alarms that were shown, so that none is shown twice.
//!
//! An alarm is identified by the UID of its entry and its time. An entry that is moved has other
//! alarms; one that is renamed has the same.

use std::collections::BTreeMap;

use etui::calendar::DueAlarm;
use etui::calendar::time::{CalendarTime, Timestamp};
use serde::{Deserialize, Serialize};

/// Alarms that are remembered. Of more, the earliest are forgotten, and nothing before them is shown.
const MAX_SHOWN: usize = 1_000;

/// Alarms this far ahead, in seconds, cannot have been shown: the clock was wrong. They are forgotten.
const MAX_AHEAD: i64 = 86_400;

/// Version of the file's format.
const VERSION: u32 = 1;

/// The time of an alarm and the UID of its entry.
pub type AlarmKey = (Timestamp, String);

/// The alarms that were shown, in the order of their times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownAlarms {
    /// All alarms before this time were shown.
    floor: Timestamp,
    alarms: BTreeMap<AlarmKey, ShownAlarm>,
}

/// The rest of an alarm that was shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ShownAlarm {
    /// Start of the instance.
    start: Option<String>,
    /// It is shown again at this time.
    snoozed_until: Option<Timestamp>,
    /// Its repetitions are not shown.
    is_dismissed: bool,
}

/// The file, in JSON. Times are Unix seconds.
#[derive(Debug, Serialize, Deserialize)]
struct ShownFile {
    version: u32,
    floor: Option<i64>,
    alarms: Vec<ShownRow>,
}

/// An alarm in the file.
#[derive(Debug, Serialize, Deserialize)]
struct ShownRow {
    at: i64,
    uid: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    snoozed_until: Option<i64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dismissed: bool,
}

/// Why a file cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub enum UnreadableShown {
    /// A later version wrote it.
    Newer,
    /// It is no such file.
    Damaged,
}

impl Default for ShownAlarms {
    fn default() -> Self {
        Self {
            floor: Timestamp::MIN,
            alarms: BTreeMap::new(),
        }
    }
}

impl ShownAlarms {
    /// Parses a file. An empty one has no alarms.
    pub fn parse(bytes: &[u8]) -> Result<Self, UnreadableShown> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let file: ShownFile = match serde_json::from_slice(bytes) {
            Ok(file) => file,
            Err(_) => {
                let value: Option<serde_json::Value> = serde_json::from_slice(bytes).ok();
                let version = value.and_then(|value| value.get("version")?.as_u64());
                return Err(match version.is_some_and(|v| v > u64::from(VERSION)) {
                    true => UnreadableShown::Newer,
                    false => UnreadableShown::Damaged,
                });
            }
        };
        if file.version > VERSION {
            return Err(UnreadableShown::Newer);
        }
        let alarms = file.alarms.into_iter().map(|row| {
            let alarm = ShownAlarm {
                start: row.start,
                snoozed_until: row.snoozed_until.map(Timestamp::from_seconds),
                is_dismissed: row.dismissed,
            };
            ((Timestamp::from_seconds(row.at), row.uid), alarm)
        });
        let mut all = Self {
            floor: file.floor.map_or(Timestamp::MIN, Timestamp::from_seconds),
            alarms: alarms.collect(),
        };
        all.forget_earliest();
        Ok(all)
    }

    /// Returns the content of the file.
    pub fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        let rows = self.alarms.iter().map(|((at, uid), alarm)| ShownRow {
            at: at.seconds(),
            uid: uid.clone(),
            start: alarm.start.clone(),
            snoozed_until: alarm.snoozed_until.map(Timestamp::seconds),
            dismissed: alarm.is_dismissed,
        });
        let file = ShownFile {
            version: VERSION,
            floor: (self.floor > Timestamp::MIN).then_some(self.floor.seconds()),
            alarms: rows.collect(),
        };
        let mut text = serde_json::to_vec(&file)?;
        text.push(b'\n');
        Ok(text)
    }

    /// Returns the time from which on alarms may not have been shown. A time in the future is from a
    /// clock that was wrong.
    pub fn floor(&self, now: Timestamp) -> Timestamp {
        match self.floor > now {
            true => Timestamp::MIN,
            false => self.floor,
        }
    }

    /// Gives up the alarms before a time.
    pub fn raise_floor(&mut self, floor: Timestamp) {
        self.floor = self.floor.max(floor);
    }

    /// Returns true if an alarm was shown, or is a repetition of one that was dismissed.
    pub fn contains(&self, alarm: &DueAlarm, uid: &str) -> bool {
        let key = (alarm.at, uid.to_owned());
        if self.alarms.contains_key(&key) {
            return true;
        }
        let start = alarm.start.as_ref().map(start_key);
        alarm.is_repetition
            && self
                .alarms
                .iter()
                .any(|((_, of), shown)| shown.is_dismissed && of == uid && shown.start == start)
    }

    /// Remembers that an alarm was shown at `now`, and ends its snoozing.
    pub fn remember(&mut self, alarm: &DueAlarm, uid: &str, now: Timestamp) {
        let shown = self.alarms.entry((alarm.at, uid.to_owned())).or_default();
        shown.start = alarm.start.as_ref().map(start_key);
        shown.snoozed_until = None;
        let last = now.plus_seconds(MAX_AHEAD);
        self.alarms.retain(|(at, _), _| *at <= last);
        self.forget_earliest();
    }

    /// Has a shown alarm shown again at `until`.
    pub fn snooze(&mut self, key: &AlarmKey, until: Timestamp) {
        if let Some(alarm) = self.alarms.get_mut(key) {
            alarm.snoozed_until = Some(until);
        }
    }

    /// Ends the snoozing of an alarm that is no more.
    pub fn end_snooze(&mut self, key: &AlarmKey) {
        if let Some(alarm) = self.alarms.get_mut(key) {
            alarm.snoozed_until = None;
        }
    }

    /// Suppresses the repetitions of an alarm.
    pub fn dismiss(&mut self, key: &AlarmKey) {
        if let Some(alarm) = self.alarms.get_mut(key) {
            alarm.is_dismissed = true;
        }
    }

    /// Forgets the alarms of entries that were erased.
    pub fn forget_entries(&mut self, is_erased: impl Fn(&str) -> bool) {
        self.alarms.retain(|(_, uid), _| !is_erased(uid));
    }

    /// Returns the alarms whose snoozing is over.
    pub fn snoozed_until(&self, now: Timestamp) -> Vec<AlarmKey> {
        let snoozed = self.alarms.iter();
        let due = snoozed.filter(|(_, alarm)| alarm.snoozed_until.is_some_and(|t| t <= now));
        due.map(|(key, _)| key.clone()).collect()
    }

    /// Returns the time at which the next snoozing ends.
    pub fn next_snooze(&self) -> Option<Timestamp> {
        self.alarms.values().filter_map(|a| a.snoozed_until).min()
    }

    fn forget_earliest(&mut self) {
        while self.alarms.len() > MAX_SHOWN {
            if let Some(((at, _), _)) = self.alarms.pop_first() {
                self.floor = self.floor.max(at.plus_seconds(1));
            }
        }
    }
}

/// Identifies the start of an instance.
fn start_key(start: &CalendarTime) -> String {
    start.value().to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use etui::RecordId;
    use etui::calendar::AlarmAction;
    use etui::calendar::ics::ComponentKind;

    use super::*;

    fn alarm(at: i64, is_repetition: bool) -> DueAlarm {
        DueAlarm {
            record: RecordId(1),
            component: 0,
            at: Timestamp::from_seconds(at),
            is_repetition,
            kind: ComponentKind::Event,
            start: Some(CalendarTime::Utc(Timestamp::from_seconds(5_000))),
            end: None,
            title: String::new(),
            location: String::new(),
            action: AlarmAction::Display,
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    #[test]
    fn the_file_is_read_as_it_was_written() {
        let mut shown = ShownAlarms::default();
        shown.remember(&alarm(100, false), "a \"b\"\n", at(100));
        shown.remember(&alarm(200, false), "c", at(200));
        shown.snooze(&(at(100), "a \"b\"\n".to_owned()), at(400));
        shown.dismiss(&(at(200), "c".to_owned()));
        let text = shown.to_json().unwrap();
        insta::assert_snapshot!(String::from_utf8_lossy(&text), @r#"{"version":1,"floor":null,"alarms":[{"at":100,"uid":"a \"b\"\n","start":"19700101T012320Z","snoozed_until":400},{"at":200,"uid":"c","start":"19700101T012320Z","dismissed":true}]}"#);
        assert_eq!(ShownAlarms::parse(&text), Ok(shown));
        assert_eq!(ShownAlarms::parse(b""), Ok(ShownAlarms::default()));
        let newer = br#"{"version":2,"alarms":"?"}"#;
        assert_eq!(ShownAlarms::parse(newer), Err(UnreadableShown::Newer));
        for damaged in [&b"{"[..], b"\xff", b"[]", b"{\"version\":1}"] {
            assert_eq!(ShownAlarms::parse(damaged), Err(UnreadableShown::Damaged));
        }
    }

    #[test]
    fn repetitions_of_a_dismissed_alarm_are_not_shown() {
        let mut shown = ShownAlarms::default();
        shown.remember(&alarm(100, false), "a", at(100));
        assert!(shown.contains(&alarm(100, false), "a"));
        assert!(!shown.contains(&alarm(100, false), "b"));
        assert!(!shown.contains(&alarm(160, true), "a"));
        shown.dismiss(&(at(100), "a".to_owned()));
        assert!(shown.contains(&alarm(160, true), "a"));
        assert!(!shown.contains(&alarm(160, true), "b"));
        // Another alarm of the entry.
        assert!(!shown.contains(&alarm(160, false), "a"));
        let mut other = alarm(160, true);
        other.start = Some(CalendarTime::Utc(at(9_000)));
        assert!(!shown.contains(&other, "a"));
    }

    #[test]
    fn only_so_many_are_remembered() {
        let mut shown = ShownAlarms::default();
        for n in 0..MAX_SHOWN as i64 + 10 {
            shown.remember(&alarm(n, false), "a", at(n));
        }
        assert_eq!(shown.alarms.len(), MAX_SHOWN);
        assert_eq!(shown.floor(at(5_000)), at(10));
        assert!(shown.contains(&alarm(10, false), "a"));
        let read = ShownAlarms::parse(&shown.to_json().unwrap());
        assert_eq!(read, Ok(shown.clone()));
        // The clock was ahead when they were shown.
        assert_eq!(shown.floor(at(9)), Timestamp::MIN);
    }

    #[test]
    fn alarms_shown_by_a_clock_that_was_far_ahead_are_forgotten() {
        let mut shown = ShownAlarms::default();
        let year = 365 * 86_400;
        shown.remember(&alarm(year, false), "a", at(year));
        shown.remember(&alarm(900, false), "a", at(900));
        // An hour ahead, though, is remembered.
        shown.remember(&alarm(4_500, false), "a", at(4_500));
        shown.remember(&alarm(901, false), "a", at(901));
        assert!(!shown.contains(&alarm(year, false), "a"));
        assert!(shown.contains(&alarm(900, false), "a"));
        assert!(shown.contains(&alarm(4_500, false), "a"));
    }

    #[test]
    fn snoozed_alarms_are_due_again() {
        let mut shown = ShownAlarms::default();
        let key = (at(100), "a".to_owned());
        shown.snooze(&key, at(400));
        assert_eq!(shown.next_snooze(), None);
        shown.remember(&alarm(100, false), "a", at(100));
        shown.snooze(&key, at(400));
        assert_eq!(shown.next_snooze(), Some(at(400)));
        assert!(shown.snoozed_until(at(399)).is_empty());
        assert_eq!(shown.snoozed_until(at(400)), std::slice::from_ref(&key));
        shown.remember(&alarm(100, false), "a", at(400));
        assert_eq!(shown.next_snooze(), None);
        shown.snooze(&key, at(500));
        shown.end_snooze(&key);
        assert_eq!(shown.next_snooze(), None);
    }
}
