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

fn sorted(object: &CalendarObject) -> Vec<Vec<u8>> {
    let mut all: Vec<_> = object.component_texts().map(<[u8]>::to_vec).collect();
    all.sort();
    all
}

/// A message of the random test: 0 is the series, 1 to 4 its days, 7 and 8 days that an ADD brings, 12
/// to 14 the stretches from a day on.
#[derive(Debug, Clone, Copy)]
struct Sent {
    day: u32,
    sequence: u32,
    stamp: u32,
    method: Method,
    /// Days in the rule of the series.
    count: u32,
}

impl Sent {
    fn random(rng: &mut SplitMix64, stamp: u32) -> Self {
        let (mut day, mut sequence) = (rng.below(5), rng.below(4));
        let method = match rng.below(8) {
            0 | 1 => Method::Cancel,
            2 | 3 => Method::Publish,
            4 => Method::Add,
            5 => Method::Reply,
            _ => Method::Request,
        };
        match method {
            Method::Add => day = 7 + day % 2,
            // An answer to one time is to its latest question.
            Method::Reply if day > 0 => sequence = 3,
            Method::Publish if rng.below(4) == 0 => day = 12 + day % 3,
            _ => {}
        }
        let count = 4 + rng.below(4);
        Self {
            day,
            sequence,
            stamp,
            method,
            count,
        }
    }

    fn message(self) -> CalendarObject {
        let Self {
            day,
            sequence,
            stamp,
            method,
            count,
        } = self;
        let title = format!("m{stamp}");
        let properties = match (method, day) {
            (Method::Reply, 0) => return reply(None, "a", "ACCEPTED", sequence, stamp),
            (Method::Reply, day) => return reply(Some(day), "a", "DECLINED", sequence, stamp),
            (Method::Add, day) => format!(
                "DTSTART:202703{:02}T110000Z\r\nSUMMARY:{title}\r\n",
                day + 10
            ),
            (_, 0) => format!(
                "DTSTART:20270301T090000Z\r\nRRULE:FREQ=DAILY;COUNT={count}\r\nSUMMARY:{title}\r\n{ASKED}"
            ),
            (_, 12..) => format!(
                "RECURRENCE-ID;RANGE=THISANDFUTURE:202703{:02}T090000Z\r\nDTSTART:202703{:02}T100000Z\r\n\
                 SUMMARY:{title}\r\n{ASKED}",
                day - 10,
                day - 10
            ),
            (_, day) => format!("{}{ASKED}", moved(day, &title)),
        };
        let mut message = parse(&properties, sequence, stamp);
        message.apply_method(method);
        message
    }
}

/// What the components of a series must say: title, whether it is cancelled, and the answer of a.
fn expected(messages: &[Sent]) -> BTreeMap<u32, (String, bool, Option<&'static str>)> {
    let highest = |day: u32, is_one: fn(Method) -> bool| {
        let of_it = messages.iter().filter(|m| m.day == day && is_one(m.method));
        of_it.map(|m| (m.sequence, m.stamp)).max()
    };
    let is_content = |m| !matches!(m, Method::Cancel | Method::Reply);
    let mut all = BTreeMap::new();
    let answered = |day: u32, content: Option<(u32, u32)>| {
        let newest = highest(day, |m| m == Method::Reply)?;
        let text = if day == 0 { "ACCEPTED" } else { "DECLINED" };
        (newest.0 >= content?.0).then_some(text)
    };
    for day in messages
        .iter()
        .filter(|m| m.method != Method::Reply)
        .map(|m| m.day)
    {
        let content = highest(day, is_content);
        let cancel = highest(day, |m| m == Method::Cancel).max(highest(0, |m| m == Method::Cancel));
        let (_, stamp) = content.or(highest(day, |m| m == Method::Cancel)).unwrap();
        let is_cancelled = content.is_none() || cancel > content;
        let shown = content.or(highest(day, |m| m == Method::Cancel));
        all.insert(
            day,
            (format!("m{stamp}"), is_cancelled, answered(day, shown)),
        );
    }
    // A time with an answer only is as the stretch or the series that it is in.
    for day in 1..5 {
        let stretch = (12..15)
            .rev()
            .find(|s| s - 10 <= day && all.contains_key(s));
        let governing = stretch.unwrap_or(0);
        let content = highest(governing, is_content);
        let shown = content.or(highest(governing, |m| m == Method::Cancel));
        if !all.contains_key(&day)
            && let Some(answer) = answered(day, shown)
        {
            let (title, is_cancelled, _) = all[&governing].clone();
            all.insert(day, (title, is_cancelled, Some(answer)));
        }
    }
    all
}

#[test]
fn the_order_of_messages_does_not_matter() {
    let mut rng = SplitMix64::new(5546);
    let mut answers_to_times = 0;
    for _ in 0..1_000 {
        // The series is there before anybody answers.
        let first = Sent {
            day: 0,
            sequence: 0,
            stamp: 0,
            method: Method::Request,
            count: 5,
        };
        let mut messages: Vec<Sent> = (1..3 + rng.below(12))
            .map(|n| Sent::random(&mut rng, n))
            .collect();
        let all: Vec<_> = [first]
            .into_iter()
            .chain(messages.iter().copied())
            .collect();
        let expected = expected(&all);
        let mut texts = None;
        for _ in 0..4 {
            for i in (1..messages.len()).rev() {
                let j = rng.below(i as u32 + 1) as usize;
                messages.swap(i, j);
            }
            let mut object = first.message();
            for sent in &messages {
                object.receive(sent.message(), sent.method, false);
            }
            let found: BTreeMap<u32, _> = object
                .components()
                .map(|c| {
                    let id = c.timing.as_ref().and_then(|t| t.recurrence_id.as_ref());
                    let day = id.map_or(0, |id| {
                        let day: u32 = id.id.value().to_string()[6..8].parse().unwrap();
                        match (id.this_and_future, day) {
                            (true, day) => day + 10,
                            (false, 11..) => day - 10,
                            (false, day) => day,
                        }
                    });
                    let a = c.attendees.iter().find(|a| a.address.starts_with("a@"));
                    let answer = a.and_then(|a| a.answer.clone());
                    (
                        day,
                        (
                            c.summary.clone().unwrap(),
                            c.status == Some(Status::Cancelled),
                            answer,
                        ),
                    )
                })
                .collect();
            let found: BTreeMap<_, _> = found
                .iter()
                .map(|(day, (title, cancelled, answer))| {
                    (*day, (title.clone(), *cancelled, answer.as_deref()))
                })
                .collect();
            assert_eq!(found, expected, "{messages:?}");
            answers_to_times += found.keys().filter(|day| (1..5).contains(*day)).count();
            let sorted = sorted(&object);
            assert_eq!(
                texts.get_or_insert_with(|| sorted.clone()),
                &sorted,
                "{messages:?}"
            );
            let again = CalendarObject::parse(object.text(), &TimeZoneResolver::new()).unwrap();
            assert!(again.components().eq(object.components()), "{messages:?}");
        }
    }
    assert!(answers_to_times > 1_000);
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

const ASKED: &str = "ATTENDEE;RSVP=TRUE:mailto:a@example.org\r\nATTENDEE:mailto:b@example.org\r\n";

/// A REPLY of an attendee, to the series or to one time of it.
fn reply(day: Option<u32>, who: &str, answer: &str, sequence: u32, stamp: u32) -> CalendarObject {
    let id = day.map_or_else(String::new, |day| {
        format!("RECURRENCE-ID:202703{day:02}T090000Z\r\n")
    });
    let properties = format!("{id}ATTENDEE;PARTSTAT={answer}:mailto:{who}@example.org\r\n");
    let mut reply = parse(&properties, sequence, stamp);
    reply.apply_method(Method::Reply);
    reply
}

/// The answers of a and b to the series and to each time with a component.
fn answers(object: &CalendarObject) -> BTreeMap<u32, [Option<String>; 2]> {
    let each = object.components().map(|c| {
        let id = c.timing.as_ref().and_then(|t| t.recurrence_id.as_ref());
        let day = id.map_or(0, |id| id.id.value().to_string()[6..8].parse().unwrap());
        let of = |who: &str| {
            let mut all = c.attendees.iter();
            all.find(|a| a.address.starts_with(who))?.answer.clone()
        };
        (day, [of("a@"), of("b@")])
    });
    each.collect()
}

#[test]
fn the_newest_answer_counts() {
    let series = || parse(&format!("{SERIES}{ASKED}"), 1, 0);
    let some = |text: &str| Some(text.to_owned());
    // Answers of a, each with its SEQUENCE and stamp, and the one that counts.
    type Given = (&'static str, u32, u32);
    let cases: [(&[Given], Option<&str>); 7] = [
        (&[("ACCEPTED", 1, 2), ("DECLINED", 1, 3)], Some("DECLINED")),
        (&[("DECLINED", 1, 3), ("ACCEPTED", 1, 2)], Some("DECLINED")),
        (&[("ACCEPTED", 2, 1), ("DECLINED", 1, 9)], Some("ACCEPTED")),
        (&[("ACCEPTED", 0, 9)], None),
        (
            &[("TENTATIVE", 1, 4), ("TENTATIVE", 1, 4)],
            Some("TENTATIVE"),
        ),
        (&[("ACCEPTED;X=1", 1, 4)], Some("ACCEPTED")),
        (
            &[("DELEGATED", 1, 4), ("ACCEPTED", 0, 9)],
            Some("DELEGATED"),
        ),
    ];
    for (all, expected) in cases {
        let mut object = series();
        for (answer, sequence, stamp) in all {
            let message = reply(None, "a", answer, *sequence, *stamp);
            object.receive(message, Method::Reply, false);
        }
        assert_eq!(
            answers(&object)[&0],
            [expected.and_then(some), None],
            "{all:?}"
        );
    }
    // The invitation arrives again: with a lower or an equal SEQUENCE the answer stays, with a higher one
    // it was to another question.
    for (sequence, stays) in [(1, true), (2, false)] {
        let mut object = series();
        object.receive(reply(None, "a", "ACCEPTED", 1, 5), Method::Reply, false);
        let again = parse(&format!("{SERIES}{ASKED}SUMMARY:x\r\n"), sequence, 9);
        object.receive(again, Method::Request, false);
        let expected = stays.then(|| "ACCEPTED".to_owned());
        assert_eq!(answers(&object)[&0], [expected, None]);
        assert_eq!(object.master().summary.as_deref(), Some("x"));
    }
}

#[test]
fn an_answer_to_one_time_is_of_that_time() {
    let some = |text: &str| Some(text.to_owned());
    let mut object = parse(&format!("{SERIES}{ASKED}SUMMARY:Talk\r\n"), 1, 0);
    let mut send =
        |message: CalendarObject, method| object.receive(message, method, false).outcomes;
    // Days outside of the series, people who are not asked, answers that are too old.
    for (day, who, sequence) in [(9, "a", 1), (2, "c", 1)] {
        let outcome = send(
            reply(Some(day), who, "DECLINED", sequence, 3),
            Method::Reply,
        );
        assert_eq!(outcome, [MergeOutcome::Proposal], "{day} {who}");
    }
    send(reply(Some(2), "a", "DECLINED", 0, 3), Method::Reply);
    let outcome = send(reply(Some(3), "b", "DECLINED", 1, 3), Method::Reply);
    assert_eq!(outcome, [MergeOutcome::Taken]);
    let outcome = send(reply(Some(3), "b", "DECLINED", 1, 3), Method::Reply);
    assert_eq!(outcome, [MergeOutcome::Known]);
    send(reply(Some(3), "a", "TENTATIVE", 1, 4), Method::Reply);
    assert_eq!(
        answers(&object),
        BTreeMap::from([
            (0, [None, None]),
            (3, [some("TENTATIVE"), some("DECLINED")])
        ])
    );
    let one = object.components().nth(1).unwrap();
    assert_eq!(
        one.start.as_ref().unwrap().value().to_string(),
        "20270303T090000Z"
    );
    assert!(!one.recurs() && object.master().recurs());
    let again = CalendarObject::parse(object.text(), &TimeZoneResolver::new()).unwrap();
    assert!(again.components().eq(object.components()));

    // The series changes: the copy with the answers does, too, until they are asked anew.
    let newer =
        |sequence, stamp| parse(&format!("{SERIES}{ASKED}SUMMARY:New\r\n"), sequence, stamp);
    object.receive(newer(1, 8), Method::Request, false);
    assert_eq!(
        object.components().nth(1).unwrap().summary.as_deref(),
        Some("New")
    );
    assert_eq!(answers(&object)[&3], [some("TENTATIVE"), some("DECLINED")]);
    // What a person changed stays, and keeps its answers.
    let mut own = object.clone();
    own.set(1, "SUMMARY", "Mine", &TimeZoneResolver::new())
        .unwrap();
    own.receive(newer(1, 9), Method::Request, false);
    assert_eq!(
        own.components().nth(1).unwrap().summary.as_deref(),
        Some("Mine")
    );
    assert_eq!(answers(&own)[&3], [some("TENTATIVE"), some("DECLINED")]);
    object.receive(newer(2, 9), Method::Request, false);
    assert_eq!(answers(&object), BTreeMap::from([(0, [None, None])]));
}

#[test]
fn one_time_may_be_named_without_its_start() {
    let mut cancel = parse("RECURRENCE-ID:20270303T090000Z\r\n", 1, 3);
    cancel.apply_method(Method::Cancel);
    let mut object = parse(SERIES, 0, 0);
    object.receive(cancel, Method::Cancel, false);
    assert_eq!(object.master().status, None);
    let cancelled = object.components().nth(1).unwrap();
    assert_eq!(cancelled.status, Some(Status::Cancelled));
    let found = object.recurrence_set();
    let id = object.instance_id("20270303T090000Z").unwrap();
    let found = found
        .instance_with_id(&id, &etui_ical::time::TimeZone::UTC)
        .unwrap();
    assert_eq!(found.component, 1);
}

#[test]
fn a_skip_stays_when_the_series_arrives_again() {
    let zones = TimeZoneResolver::new();
    // The rest of the newer series, and the days that are left of 1 to 6 March, at their hour.
    let cases = [
        (
            "DTSTART:20270301T090000Z\r\nRRULE:FREQ=DAILY;COUNT=6\r\n",
            "1 2 4 6",
            2,
        ),
        (
            "DTSTART:20270301T140000Z\r\nRRULE:FREQ=DAILY;COUNT=6\r\n",
            "1 2 4 6",
            2,
        ),
        (
            "DTSTART;VALUE=DATE:20270301\r\nRRULE:FREQ=DAILY;COUNT=6\r\n",
            "1 2 4 6",
            2,
        ),
        (
            "DTSTART;TZID=Europe/Berlin:20270301T100000\r\nRRULE:FREQ=DAILY;COUNT=6\r\n",
            "1 2 4 6",
            2,
        ),
        (
            "DTSTART:20270302T090000Z\r\nRRULE:FREQ=DAILY;COUNT=6\r\n",
            "2 4 6 7",
            2,
        ),
        (
            "DTSTART:20270301T090000Z\r\nRRULE:FREQ=DAILY;INTERVAL=2;COUNT=3\r\n",
            "1",
            2,
        ),
        (
            "DTSTART:20270302T090000Z\r\nRRULE:FREQ=DAILY;INTERVAL=2;COUNT=3\r\n",
            "2 4 6",
            0,
        ),
        (
            "DTSTART:20270301T090000Z\r\nRRULE:FREQ=DAILY;COUNT=6\r\nEXDATE:20270303T090000Z\r\n",
            "1 2 4 6",
            1,
        ),
    ];
    for (newer, days, kept) in cases {
        let mut object = parse(SERIES, 0, 0);
        for day in ["20270303T090000Z", "20270305T090000Z"] {
            let id = object.instance_id(day).unwrap();
            object.exclude_instance(&id, &zones).unwrap();
        }
        let merged = object.receive(parse(newer, 1, 1), Method::Request, false);
        assert_eq!(merged.outcomes, [MergeOutcome::Taken]);
        assert_eq!(merged.kept_exclusions.len(), kept, "{newer}");
        let again = CalendarObject::parse(object.text(), &zones).unwrap();
        assert!(again.components().eq(object.components()), "{newer}");
        let set = object.recurrence_set();
        let from = etui_ical::time::Timestamp::from_seconds(0);
        let zone = etui_ical::time::TimeZone::UTC;
        let all = set.between(from..etui_ical::time::Timestamp::MAX, &zone);
        let found: Vec<_> = all
            .map(|i| {
                i.start.value().to_string()[6..8]
                    .trim_start_matches('0')
                    .to_owned()
            })
            .collect();
        assert_eq!(found.join(" "), days, "{newer}");
    }
    // A component of the message for that time brings it back.
    let mut object = parse(SERIES, 0, 0);
    let id = object.instance_id("20270303T090000Z").unwrap();
    object.exclude_instance(&id, &zones).unwrap();
    let both = format!(
        "{}{}",
        String::from_utf8_lossy(parse(SERIES, 1, 1).text()),
        String::from_utf8_lossy(parse(&moved(3, "back"), 1, 1).text()),
    );
    let both = CalendarObject::parse(both, &zones).unwrap();
    let merged = object.receive(both, Method::Request, false);
    assert_eq!(merged.kept_exclusions, []);
    assert_eq!(object.components().len(), 2);
    // What was sent before is older, and changes no skip.
    let text = object.text().to_vec();
    object.receive(parse(SERIES, 0, 0), Method::Request, false);
    assert_eq!(object.text(), text);
}
