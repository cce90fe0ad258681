//! [`Written`]: the kinds of records that children write. Each version of a record has other content.

use std::ops::Range;

use etui::calendar::time::{TimeZone, Timestamp};
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{Calendar, CalendarObject};
use etui::contacts::{Card, Contacts, Paging};
use etui::record::{self, Collection};
use etui::{CheckReport, Store};
use etui_testkit::calendars::{Span, entry};
use etui_testkit::own_process::ProgramOfTest;
use etui_testkit::people::{Version, person};

use super::collections::{calendars_are_written_until_killed, contacts_are_written_until_killed};
use crate::support::calendar::{naive, naive_alarms, told, told_alarms};

/// The seed of the contents.
const CONTENTS: u64 = 11;
/// The years covered by the calendar's records.
const YEARS: u32 = 2;
const DAY: i64 = 86_400;

/// A kind of record.
pub trait Written: record::RecordKind {
    /// The child that writes such records.
    fn child() -> ProgramOfTest;

    /// Returns the collection that the child writes to.
    fn of(store: &Store) -> Collection<Self>;

    /// Returns the content of a version of a record.
    fn content(uid: u32, version: u64) -> String;

    fn make(uid: u32, version: u64) -> Self;

    /// Returns the number of checked records of this kind.
    fn counted(report: &CheckReport) -> u64;

    /// Compares query results with the records' own contents; `draw` selects the queries. Returns
    /// the number of results.
    fn compare(collection: &Collection<Self>, draw: u64) -> usize;
}

pub fn name(uid: u32) -> String {
    format!("record-{uid}")
}

/// Returns the number in a UID.
pub fn number(name: &str) -> u32 {
    name.strip_prefix("record-").unwrap().parse().unwrap()
}

impl Written for Card {
    fn child() -> ProgramOfTest {
        ProgramOfTest::new(contacts_are_written_until_killed)
    }

    fn of(store: &Store) -> Contacts {
        store.contacts().unwrap()
    }

    fn content(uid: u32, version: u64) -> String {
        let mut person = person(CONTENTS, version);
        person.uid = name(uid);
        // Version 4.0 would write it as a URN.
        person.version = Version::V3;
        person.to_text()
    }

    fn make(uid: u32, version: u64) -> Self {
        Self::parse(Self::content(uid, version)).unwrap()
    }

    fn counted(report: &CheckReport) -> u64 {
        report.contacts
    }

    /// The list.
    fn compare(contacts: &Contacts, _: u64) -> usize {
        let listed = contacts.list(Paging::ALL).unwrap().len();
        assert_eq!(listed as u64, contacts.count().unwrap());
        listed
    }
}

impl Written for CalendarObject {
    fn child() -> ProgramOfTest {
        ProgramOfTest::new(calendars_are_written_until_killed)
    }

    fn of(store: &Store) -> Calendar {
        store.calendar().unwrap()
    }

    /// A single event, a series, with or without alarms, or a to-do, as generated.
    fn content(uid: u32, version: u64) -> String {
        let entry = entry(CONTENTS, Span::years(YEARS), version);
        entry.text.replace(&entry.uid, &name(uid))
    }

    fn make(uid: u32, version: u64) -> Self {
        Self::parse(Self::content(uid, version), &TimeZoneResolver::new()).unwrap()
    }

    fn counted(report: &CheckReport) -> u64 {
        report.entries
    }

    /// Compares a range and its alarms.
    fn compare(calendar: &Calendar, draw: u64) -> usize {
        let viewer = TimeZone::named("Europe/Berlin").unwrap();
        let days = i64::try_from(draw * 37 % u64::from(YEARS * 365)).unwrap();
        let start = Timestamp::from_seconds((Span::years(YEARS).first_day + days) * DAY);
        let range: Range<Timestamp> = start..start.plus_seconds(9 * DAY);
        let found = calendar.between(range.clone(), &viewer).unwrap();
        assert_eq!(
            told(&found),
            naive(calendar, &range, &viewer),
            "from {start}"
        );
        let alarms = calendar.alarms(start, 2_000, &viewer).unwrap().alarms;
        assert_eq!(
            told_alarms(&alarms, &range),
            naive_alarms(calendar, &range, &viewer),
            "alarms from {start}"
        );
        found.len() + alarms.len()
    }
}
