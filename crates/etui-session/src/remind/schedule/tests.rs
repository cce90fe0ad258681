//! The schedule with a clock passed in, over real stores.

#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;

use etui::Store;
use etui::calendar::CalendarObject;
use etui::calendar::time::{DateTimeValue, TimeZone, Timestamp};
use etui::calendar::zones::TimeZoneResolver;
use tempfile::TempDir;

use super::*;

const DAY: i64 = 86_400;

/// A store, the alarms that were shown, and the zone of the display.
struct Fixture {
    _dir: TempDir,
    store: Store,
    shown: ShownAlarms,
    zone: TimeZone,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path().join("personal.etui")).unwrap();
        Self {
            _dir: dir,
            store,
            shown: ShownAlarms::default(),
            zone: TimeZone::named("Europe/Berlin").unwrap(),
        }
    }

    fn save(&self, kind: &str, uid: &str, lines: &str) {
        let text = format!("BEGIN:{kind}\nUID:{uid}\nSUMMARY:{uid}\n{lines}\nEND:{kind}\n");
        let object = CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap();
        self.store.calendar().unwrap().save(&object).unwrap();
    }

    /// An event in Berlin with an alarm of these lines.
    fn event(&self, uid: &str, start: &str, alarm: &str) {
        let start = format!("DTSTART;TZID=Europe/Berlin:{start}\nDURATION:PT30M");
        self.save("VEVENT", uid, &format!("{start}\n{}", valarm(alarm)));
    }

    /// Returns the reminders at a local time, and the local time of the next look, without
    /// remembering them.
    fn look(&self, now: &str) -> DueReminders {
        let snapshot = self.store.snapshot().unwrap();
        let names = snapshot.collections::<CalendarObject>().unwrap();
        let readers = names.into_iter().map(|name| {
            let reader = snapshot.collection(&name).unwrap();
            (name, reader)
        });
        let readers: Vec<NamedReader<'_>> = readers.collect();
        find_due(&readers, &self.shown, self.at(now), &self.zone, DAY).unwrap()
    }

    /// Shows the alarms that are due at a local time: titles, `!` for missed; then the next look.
    fn show(&mut self, now: &str) -> String {
        let due = self.look(now);
        let at = self.at(now);
        let mut words = Vec::new();
        for reminder in &due.reminders {
            let mark = if reminder.is_missed { "!" } else { "" };
            words.push(format!("{mark}{}", reminder.alarm.title));
            reminder.remember(&mut self.shown, at);
        }
        for key in &due.ended_snoozes {
            self.shown.end_snooze(key);
        }
        // As a restart would.
        let file = self.shown.to_json().unwrap();
        self.shown = ShownAlarms::parse(&file).unwrap();
        let next = due.next.map(|next| self.zone.to_local(next).to_string());
        words.push(format!("next {}", next.unwrap_or("never".to_owned())));
        words.join(" ")
    }

    fn at(&self, local: &str) -> Timestamp {
        let value: DateTimeValue = local.parse().unwrap();
        self.zone.to_utc(value.local())
    }

    fn key(&self, local: &str, uid: &str) -> AlarmKey {
        (self.at(local), uid.to_owned())
    }
}

fn valarm(lines: &str) -> String {
    format!("BEGIN:VALARM\nACTION:DISPLAY\n{lines}\nEND:VALARM")
}

#[test]
fn each_alarm_is_shown_once_when_it_is_due() {
    let mut all = Fixture::new();
    all.event("Dentist", "20261125T143000", "TRIGGER:-PT10M");
    all.event("Lunch", "20261125T123000", "TRIGGER:PT0S");
    assert_eq!(all.show("20261125T120000"), "next 20261125T123000");
    assert_eq!(all.show("20261125T122959"), "next 20261125T123000");
    assert_eq!(all.show("20261125T123000"), "Lunch next 20261125T142000");
    assert_eq!(all.show("20261125T123000"), "next 20261125T142000");
    assert_eq!(all.show("20261125T142030"), "Dentist next never");
    assert_eq!(all.show("20261125T142030"), "next never");
}

#[test]
fn alarms_missed_for_a_day_are_shown_once_and_marked() {
    let mut all = Fixture::new();
    all.event("Old", "20261123T090000", "TRIGGER:PT0S");
    all.event("Yesterday", "20261124T150000", "TRIGGER:PT0S");
    all.event("Late", "20261125T092800", "TRIGGER:PT0S");
    all.event("Now", "20261125T093000", "TRIGGER:PT0S");
    assert_eq!(
        all.show("20261125T093000"),
        "!Yesterday Late Now next never"
    );
    assert_eq!(all.show("20261125T093000"), "next never");
}

#[test]
fn several_alarms_of_an_entry_are_one_reminder() {
    let mut all = Fixture::new();
    let alarms = ["TRIGGER:-PT1H", "TRIGGER:-PT10M", "TRIGGER:PT0S"]
        .map(valarm)
        .join("\n");
    let lines = format!("DTSTART:20261125T083000Z\nRRULE:FREQ=DAILY;COUNT=3\n{alarms}");
    all.save("VEVENT", "Jour fixe", &lines);
    assert_eq!(
        all.show("20261125T083000"),
        "Jour fixe next 20261125T092000"
    );
    assert_eq!(
        all.show("20261125T092000"),
        "Jour fixe next 20261125T093000"
    );
    // The computer sleeps for a day.
    assert_eq!(
        all.show("20261126T092500"),
        "!Jour fixe next 20261126T093000"
    );
    assert_eq!(
        all.show("20261126T093000"),
        "Jour fixe next 20261127T083000"
    );
    assert_eq!(all.show("20261128T120000"), "next never");
}

#[test]
fn changes_of_entries_are_followed() {
    let mut all = Fixture::new();
    all.event("Dentist", "20261125T143000", "TRIGGER:-PT10M");
    assert_eq!(all.show("20261125T142000"), "Dentist next never");
    // Another title or place is the same alarm.
    let place = "LOCATION:Room 2\nSUMMARY:The dentist";
    all.event(
        "Dentist",
        "20261125T143000",
        &format!("TRIGGER:-PT10M\nEND:VALARM\n{place}\nBEGIN:VALARM\nTRIGGER:-P9D"),
    );
    assert_eq!(all.show("20261125T142100"), "next never");
    // Another time is another alarm.
    all.event("Dentist", "20261125T160000", "TRIGGER:-PT10M");
    assert_eq!(all.show("20261125T142200"), "next 20261125T155000");
    // An entry whose alarm is over already, but has not begun.
    all.event("Call", "20261125T143000", "TRIGGER:-PT30M");
    assert_eq!(all.show("20261125T142300"), "!Call next 20261125T155000");
    all.store.calendar().unwrap().remove("Dentist").unwrap();
    assert_eq!(all.show("20261125T160000"), "next never");
}

#[test]
fn acknowledged_cancelled_and_completed_ones_are_not_shown() {
    let mut all = Fixture::new();
    all.event(
        "Seen",
        "20261125T143000",
        "TRIGGER:-PT10M\nACKNOWLEDGED:20261125T132000Z",
    );
    all.event("Mail", "20261125T143000", "TRIGGER:-PT10M\nACTION:EMAIL");
    all.event("None", "20261125T143000", "TRIGGER:-PT10M\nACTION:NONE");
    let alarm = valarm("TRIGGER:-PT10M");
    let start = "DTSTART:20261125T133000Z";
    all.save(
        "VEVENT",
        "Off",
        &format!("{start}\nSTATUS:CANCELLED\n{alarm}"),
    );
    all.save(
        "VTODO",
        "Done",
        &format!("{start}\nSTATUS:COMPLETED\n{alarm}"),
    );
    all.event(
        "Shown",
        "20261125T143000",
        "TRIGGER:-PT10M\nACKNOWLEDGED:20261125T131959Z",
    );
    assert_eq!(all.show("20261125T143000"), "!Shown next never");
}

#[test]
fn every_kind_of_trigger_is_due() {
    let mut all = Fixture::new();
    all.event("End", "20261125T140000", "TRIGGER;RELATED=END:-PT5M");
    all.event(
        "Absolute",
        "20300101T090000",
        "TRIGGER;VALUE=DATE-TIME:20261125T133000Z",
    );
    let alarm = valarm("TRIGGER:-PT10M");
    all.save(
        "VTODO",
        "Due",
        &format!("DUE;TZID=Europe/Berlin:20261125T145000\n{alarm}"),
    );
    let nine = valarm("TRIGGER:PT9H");
    all.save(
        "VEVENT",
        "Holiday",
        &format!("DTSTART;VALUE=DATE:20261126\n{nine}"),
    );
    assert_eq!(all.show("20261125T140000"), "next 20261125T142500");
    assert_eq!(all.show("20261125T142500"), "End next 20261125T143000");
    assert_eq!(all.show("20261125T143000"), "Absolute next 20261125T144000");
    assert_eq!(all.show("20261125T144000"), "Due next 20261126T090000");
    // A day begins where the display is.
    all.zone = TimeZone::named("Asia/Tokyo").unwrap();
    assert_eq!(all.show("20261126T085900"), "next 20261126T090000");
    assert_eq!(all.show("20261126T090000"), "Holiday next never");
}

#[test]
fn repetitions_are_shown_until_the_alarm_is_dismissed() {
    let mut all = Fixture::new();
    let repeated = "TRIGGER:-PT30M\nREPEAT:5\nDURATION:PT5M";
    all.event("Train", "20261125T150000", repeated);
    assert_eq!(all.show("20261125T143000"), "Train next 20261125T143500");
    assert_eq!(all.show("20261125T143500"), "Train next 20261125T144000");
    all.shown.dismiss(&all.key("20261125T143500", "Train"));
    assert_eq!(all.show("20261125T144000"), "next 20261125T144500");
    assert_eq!(all.show("20261125T150000"), "next never");
}

#[test]
fn clock_changes_of_the_zone_move_no_alarm() {
    let mut all = Fixture::new();
    let alarm = valarm("TRIGGER:-PT3H");
    let start = "DTSTART;TZID=Europe/Berlin:20261024T050000\nRRULE:FREQ=DAILY;COUNT=3";
    all.save("VEVENT", "Early", &format!("{start}\n{alarm}"));
    assert_eq!(all.show("20261024T020000"), "Early next 20261025T020000");
    // Three hours before five, by the clock that is set back at three, is two o'clock again.
    let second = Timestamp::from_seconds(all.at("20261025T050000").seconds() - 3 * 3_600);
    assert_eq!(all.look("20261025T000000").next, Some(second));
}

#[test]
fn a_clock_that_is_set_shows_nothing_twice() {
    let mut all = Fixture::new();
    all.event("Dentist", "20261125T143000", "TRIGGER:-PT10M");
    all.event("Lunch", "20261125T123000", "TRIGGER:PT0S");
    assert_eq!(all.show("20261125T142000"), "!Lunch Dentist next never");
    // An hour back.
    assert_eq!(all.show("20261125T132000"), "next 20261125T142000");
    assert_eq!(all.show("20261125T142000"), "next never");
    // Far back, and to the right time.
    assert_eq!(all.show("19700101T010000"), "next 20261125T123000");
    assert_eq!(all.show("20261125T142100"), "next never");
}

#[test]
fn snoozed_alarms_are_shown_again() {
    let mut all = Fixture::new();
    all.event("Dentist", "20261125T143000", "TRIGGER:-PT10M");
    all.event("Lunch", "20261125T143000", "TRIGGER:-PT10M");
    assert_eq!(all.show("20261125T142000"), "Dentist Lunch next never");
    let until = all.at("20261125T142500");
    for uid in ["Dentist", "Lunch"] {
        all.shown.snooze(&all.key("20261125T142000", uid), until);
    }
    assert_eq!(all.show("20261125T142100"), "next 20261125T142500");
    // One is moved meanwhile: its new alarm counts.
    all.event("Lunch", "20261125T153000", "TRIGGER:-PT10M");
    assert_eq!(all.show("20261125T142500"), "Dentist next 20261125T152000");
    assert_eq!(all.show("20261125T142500"), "next 20261125T152000");
    assert_eq!(all.shown.next_snooze(), None);
}

#[test]
fn two_calendars_with_one_entry_are_one_reminder() {
    let mut all = Fixture::new();
    all.event("Dentist", "20261125T143000", "TRIGGER:-PT10M");
    let other = all
        .store
        .collections::<CalendarObject>()
        .create("Copy")
        .unwrap();
    let mut ics = Vec::new();
    all.store
        .calendar()
        .unwrap()
        .export(&mut ics, None)
        .unwrap();
    other
        .import(&*ics, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    drop(other);
    assert_eq!(all.show("20261125T142000"), "Dentist next never");
    assert_eq!(all.show("20261125T142000"), "next never");
}

#[test]
fn hundreds_of_alarms_at_one_moment_are_all_shown() {
    let mut all = Fixture::new();
    for n in 0..300 {
        all.event(&format!("E{n:03}"), "20261125T143000", "TRIGGER:-PT10M");
    }
    assert_eq!(all.look("20261125T142000").reminders.len(), 300);
    all.show("20261125T142000");
    assert_eq!(all.show("20261125T142000"), "next never");
}

#[test]
fn an_entry_of_every_second_does_not_hide_others() {
    let mut all = Fixture::new();
    let alarm = valarm("TRIGGER:PT0S");
    let rule = "DTSTART:20261101T000000Z\nRRULE:FREQ=SECONDLY";
    all.save("VEVENT", "Tick", &format!("{rule}\n{alarm}"));
    all.event("Own", "20261125T142000", "TRIGGER:PT0S");
    let due = all.look("20261125T142000");
    assert_eq!(due.overfull, ["Calendar"]);
    assert_eq!(due.floor, Some(all.at("20261125T141900")));
    assert_eq!(due.next, Some(all.at("20261125T142001")));
    all.shown.raise_floor(due.floor.unwrap());
    assert_eq!(all.show("20261125T142000"), "Own Tick next 20261125T142001");
    assert_eq!(all.show("20261125T142001"), "Tick next 20261125T142002");
    assert!(all.look("20261125T142002").overfull.is_empty());
}
