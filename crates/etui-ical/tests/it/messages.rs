//! Messages of RFC 5546 in any order: the result is that of a naive model.

use std::collections::BTreeMap;

use etui_ical::zones::TimeZoneResolver;
use etui_ical::{CalendarObject, MergeOutcome, Method, Status};
use etui_testkit::rng::SplitMix64;

const SERIES: &str = "DTSTART:20270301T090000Z\r\nRRULE:FREQ=DAILY;COUNT=6\r\n";

fn parse(properties: &str, sequence: u32, stamp: u32) -> CalendarObject {
    let text = format!(
        "BEGIN:VEVENT\r\nUID:1\r\nSEQUENCE:{sequence}\r\nDTSTAMP:20260101T0000{stamp:02}Z\r\n\
         {properties}END:VEVENT\r\n"
    );
    CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap()
}

fn moved(day: u32, title: &str) -> String {
    format!(
        "RECURRENCE-ID:202703{day:02}T090000Z\r\nDTSTART:202703{day:02}T110000Z\r\nSUMMARY:{title}\r\n"
    )
}

/// Merges messages in this order.
fn receive_all(messages: &[(CalendarObject, Method)]) -> CalendarObject {
    let mut all = messages.iter().cloned().map(|(mut object, method)| {
        object.apply_method(method);
        (object, method)
    });
    let (mut object, _) = all.next().unwrap();
    for (message, method) in all {
        object.receive(message, method, false);
    }
    object
}

fn sorted(object: &CalendarObject) -> Vec<Vec<u8>> {
    let mut all: Vec<_> = object.component_texts().map(<[u8]>::to_vec).collect();
    all.sort();
    all
}

#[test]
fn the_order_of_messages_does_not_matter() {
    let mut rng = SplitMix64::new(5546);
    for _ in 0..1_000 {
        // Title and whether it is cancelled, by instance; 0 is the series.
        let mut messages: Vec<(u32, u32, u32, Method)> = Vec::new();
        for stamp in 0..2 + rng.below(10) {
            let (day, sequence) = (rng.below(5), rng.below(4));
            let method = match rng.below(3) {
                0 => Method::Cancel,
                1 => Method::Publish,
                _ => Method::Request,
            };
            messages.push((day, sequence, stamp, method));
        }
        // A series is always sent at some time.
        messages.push((0, rng.below(4), 20, Method::Request));
        let made = |&(day, sequence, stamp, method): &(u32, u32, u32, Method)| {
            let title = format!("m{stamp}");
            let properties = match day {
                0 => format!("{SERIES}SUMMARY:{title}\r\n"),
                day => moved(day, &title),
            };
            (parse(&properties, sequence, stamp), method)
        };
        let mut expected: BTreeMap<u32, (String, bool)> = BTreeMap::new();
        let highest = |day: u32, cancels: bool| {
            let of_it = messages.iter().filter(|m| m.0 == day);
            let of_it = of_it.filter(|m| (m.3 == Method::Cancel) == cancels);
            of_it.map(|m| (m.1, m.2)).max()
        };
        for day in messages.iter().map(|m| m.0) {
            let content = highest(day, false);
            let cancel = highest(day, true).max(highest(0, true));
            let (_, stamp) = content.or(highest(day, true)).unwrap();
            let own_cancel = content.is_none() || cancel > content;
            expected.insert(day, (format!("m{stamp}"), own_cancel));
        }
        let mut first = None;
        for _ in 0..4 {
            for i in (1..messages.len()).rev() {
                let j = rng.below(i as u32 + 1) as usize;
                messages.swap(i, j);
            }
            let all: Vec<_> = messages.iter().map(made).collect();
            let object = receive_all(&all);
            let found: BTreeMap<u32, (String, bool)> = object
                .components()
                .map(|c| {
                    let id = c.timing.as_ref().and_then(|t| t.recurrence_id.as_ref());
                    let day = id.map_or(0, |id| id.id.value().to_string()[6..8].parse().unwrap());
                    let title = c.summary.clone().unwrap();
                    (day, (title, c.status == Some(Status::Cancelled)))
                })
                .collect();
            assert_eq!(found, expected, "{messages:?}");
            let texts = sorted(&object);
            assert_eq!(
                first.get_or_insert_with(|| texts.clone()),
                &texts,
                "{messages:?}"
            );
        }
    }
}

#[test]
fn a_time_is_found_by_its_instant() {
    let mut object = parse(SERIES, 0, 0);
    object.receive(parse(&moved(3, "utc"), 1, 1), Method::Request, false);
    let local = "RECURRENCE-ID;TZID=Europe/Berlin:20270303T100000\r\nDTSTART:20270303T120000Z\r\n";
    let merged = object.receive(parse(local, 2, 2), Method::Request, false);
    assert_eq!(merged.outcomes, [MergeOutcome::Taken]);
    assert_eq!(object.components().len(), 2);
}

#[test]
fn older_messages_and_proposals_change_nothing() {
    let mut object = parse(SERIES, 2, 0);
    let text = object.text().to_vec();
    for (message, method, outcome) in [
        (parse(SERIES, 1, 9), Method::Request, MergeOutcome::Older),
        (
            parse(SERIES, 3, 9),
            Method::Proposal,
            MergeOutcome::Proposal,
        ),
        (
            parse(&moved(2, "x"), 3, 9),
            Method::Reply,
            MergeOutcome::Proposal,
        ),
    ] {
        assert_eq!(object.receive(message, method, false).outcomes, [outcome]);
        assert_eq!(object.text(), text);
    }
}

#[test]
fn a_reply_changes_one_attendee() {
    let both = "ATTENDEE;RSVP=TRUE:mailto:a@example.org\r\nATTENDEE:mailto:b@example.org\r\n";
    let mut object = parse(&format!("{SERIES}{both}"), 0, 0);
    let answer = "ATTENDEE;PARTSTAT=ACCEPTED:MAILTO:A@example.org\r\n";
    let merged = object.receive(parse(answer, 0, 1), Method::Reply, false);
    assert_eq!(merged.outcomes, [MergeOutcome::Taken]);
    let answers: Vec<_> = object
        .master()
        .attendees
        .iter()
        .map(|a| a.answer.clone())
        .collect();
    assert_eq!(answers, [Some("ACCEPTED".to_owned()), None]);
    assert!(object.master().recurs());
}

#[test]
fn an_add_is_a_further_time() {
    let mut added = parse("DTSTART:20270320T090000Z\r\n", 1, 1);
    added.apply_method(Method::Add);
    let mut object = parse(SERIES, 0, 0);
    object.receive(added, Method::Add, false);
    assert_eq!(object.components().len(), 2);
    assert!(object.master().recurs());
    let again = CalendarObject::parse(object.text(), &TimeZoneResolver::new()).unwrap();
    assert!(again.components().eq(object.components()));
}
