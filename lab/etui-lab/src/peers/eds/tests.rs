//! The real server's calendar beside our own recurrence.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::{self, File};

use etui::calendar::CalendarObject;
use etui::calendar::time::{TimeZone, Timestamp};
use etui::calendar::zones::TimeZoneResolver;
use etui_testkit::calendars::{Calendars, Shape, Span, write_entries};

use super::*;

const CALENDAR: &str = "lab";

#[test]
fn a_calendar_is_filled_read_and_asked() {
    if let Err(reason) = available(Server::Calendar) {
        println!("skipped: {reason}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let entries: Vec<_> = Calendars::over(6, Span::USUAL)
        .filter(|entry| !matches!(entry.shape, Shape::Todo | Shape::Journal))
        // Whether a start that the rule does not make counts is each product's own.
        .filter(|entry| !entry.text.contains("MONTHLY;BYDAY=-1"))
        .take(300)
        .collect();
    assert!(entries.iter().any(|entry| entry.overrides > 0));
    let file = dir.path().join("events.ics");
    write_entries(&mut File::create(&file).unwrap(), entries.iter().cloned()).unwrap();
    let records: Vec<CalendarObject> = entries
        .iter()
        .map(|entry| CalendarObject::parse(entry.text.as_str(), &TimeZoneResolver::new()).unwrap())
        .collect();
    let title = |record: &CalendarObject| record.master().summary.clone().unwrap_or_default();
    let expected = |some: &[CalendarObject]| {
        let named: Vec<_> = some.iter().map(|r| (r.uid().unwrap(), title(r))).collect();
        digest_names(named.iter().map(|(uid, title)| (*uid, title.as_str())))
    };

    let built = build(Server::Calendar, dir.path()).unwrap();
    for served_by in [ServedBy::Stock, ServedBy::DurableStock] {
        let home = dir.path().join(format!("home-{served_by:?}"));
        fs::create_dir(&home).unwrap();
        let session = EdsSession::start(&home, &built, served_by).unwrap();
        let mut client = session.client().unwrap();
        assert!(client.ask(&["all"]).is_err(), "nothing is open");
        client.ask(&["create", CALENDAR]).unwrap();
        client.ask(&["connect", CALENDAR]).unwrap();
        assert_eq!(client.load(&file).unwrap(), 300);
        client.batch(0, 250).unwrap();
        let saved = client.ask(&["save", "250", "50"]).unwrap();
        assert_eq!(saved.ns.len(), 50);
        let kept = home.join("data/evolution/calendar/lab/calendar.ics");
        if served_by == ServedBy::DurableStock {
            let text = fs::read_to_string(&kept).unwrap();
            assert!(
                text.contains(records[299].uid().unwrap()),
                "written before the reply"
            );
        }

        let names = client.ask(&["names"]).unwrap();
        assert_eq!((names.count, names.digest), (300, expected(&records)));
        assert_eq!(client.ask(&["all"]).unwrap().count, 300);
        let some: Vec<CalendarObject> = records.iter().step_by(7).cloned().collect();
        for command in ["get", "many"] {
            let mut words = vec![command.to_owned(), "2".to_owned()];
            words.extend(some.iter().map(|r| r.uid().unwrap().to_owned()));
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            assert_eq!(
                client.ask(&words).unwrap().digest,
                expected(&some),
                "{command}"
            );
        }

        // Three minutes past four: nothing begins or ends about then.
        let monday = 20_605 * 86_400 + 4 * 3_600 + 180;
        for days in [7, 365] {
            let (from, to) = (monday, monday + days * 86_400);
            let range = Timestamp::from_seconds(from)..Timestamp::from_seconds(to);
            let mut lines = Vec::new();
            for record in &records {
                for instance in record
                    .recurrence_set()
                    .between(range.clone(), &TimeZone::UTC)
                {
                    let (start, end) = (instance.during.start, instance.during.end);
                    let when = format!("{}-{}", start.seconds(), end.seconds());
                    lines.push((record.uid().unwrap().to_owned(), when));
                }
            }
            let (from, to) = (from.to_string(), to.to_string());
            let asked = client.ask(&["instances", "1", &from, &to]).unwrap();
            let pairs = lines
                .iter()
                .map(|(uid, when)| (uid.as_str(), when.as_str()));
            assert_eq!(
                (asked.count, asked.digest),
                (lines.len() as u64, digest_names(pairs))
            );
            assert!(asked.count > 5);
        }
        client.ask(&["close"]).unwrap();
        assert!(client.ask(&["connect", CALENDAR]).is_ok());
        drop(client);
        drop(session);
    }
}
