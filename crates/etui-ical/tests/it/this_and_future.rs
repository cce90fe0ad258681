//! One instance of a series of which overrides change all later instances (`RANGE=THISANDFUTURE`).

use etui_ical::CalendarObject;
use etui_ical::time::{TimeZone, Timestamp};
use etui_ical::zones::TimeZoneResolver;

/// Series with overrides of all later instances.
fn series() -> Vec<(&'static str, String)> {
    let event = |lines: &str| format!("BEGIN:VEVENT\r\nUID:1\r\n{lines}END:VEVENT\r\n");
    let kind = |of: &str, text: String| text.replace("VEVENT", of);
    let daily = |more: &str| {
        event(&format!(
            "SUMMARY:Course\r\nDTSTART;TZID=Europe/Berlin:20261201T070000\r\n\
             DTEND;TZID=Europe/Berlin:20261201T073000\r\nRRULE:FREQ=DAILY;COUNT=6\r\n{more}"
        ))
    };
    let evening = |id: &str, day: u32, hour: u32| {
        event(&format!(
            "SUMMARY:Evening {day}\r\nLOCATION:Hall B\r\nRECURRENCE-ID;{id}\r\n\
             DTSTART;TZID=Europe/Berlin:202612{day:02}T{hour}0000\r\n\
             DTEND;TZID=Europe/Berlin:202612{day:02}T{hour}3000\r\n"
        ))
    };
    let third = "RANGE=THISANDFUTURE;TZID=Europe/Berlin:20261203T070000";
    let fifth = "TZID=Europe/Berlin;RANGE=THISANDFUTURE:20261205T070000";
    vec![
        ("one stretch", daily("") + &evening(third, 3, 20)),
        (
            "named in UTC",
            daily("") + &evening("RANGE=THISANDFUTURE:20261203T060000Z", 3, 20),
        ),
        (
            "two stretches",
            daily("") + &evening(third, 3, 20) + &evening(fifth, 5, 18),
        ),
        (
            "stretches of one instance",
            daily("")
                + &evening(third, 3, 20)
                + &evening(
                    "RANGE=THISANDFUTURE;TZID=Europe/Berlin:20261204T070000",
                    4,
                    18,
                ),
        ),
        (
            "an override after the first",
            daily("")
                + &evening(third, 3, 20)
                + &evening("TZID=Europe/Berlin:20261204T070000", 4, 12),
        ),
        (
            "an excluded time after the first",
            daily("EXDATE;TZID=Europe/Berlin:20261204T070000\r\n") + &evening(third, 3, 20),
        ),
        (
            "to the day before, from the first instance on",
            daily("")
                + &evening(
                    "RANGE=THISANDFUTURE;TZID=Europe/Berlin:20261201T070000",
                    1,
                    20,
                ),
        ),
        (
            "from the last instance on",
            daily("").replace("COUNT=6", "COUNT=3") + &evening(third, 3, 20),
        ),
        (
            "floating, with a duration",
            event(
                "SUMMARY:A\r\nDTSTART:20261201T070000\r\nDURATION:PT1H\r\nRRULE:FREQ=DAILY;COUNT=5\r\n",
            ) + &event(
                "SUMMARY:B\r\nRECURRENCE-ID;RANGE=THISANDFUTURE:20261202T070000\r\n\
                     DTSTART:20261202T200000\r\nDURATION:PT2H\r\n",
            ),
        ),
        (
            "days",
            event("SUMMARY:A\r\nDTSTART;VALUE=DATE:20261201\r\nRRULE:FREQ=WEEKLY;COUNT=5\r\n")
                + &event(
                    "SUMMARY:B\r\nRECURRENCE-ID;VALUE=DATE;RANGE=THISANDFUTURE:20261208\r\n\
                     DTSTART;VALUE=DATE:20261209\r\nDTEND;VALUE=DATE:20261211\r\n",
                ),
        ),
        (
            "to-dos with a due time only",
            kind(
                "VTODO",
                event("SUMMARY:A\r\nDUE:20261201T070000Z\r\nRRULE:FREQ=DAILY;COUNT=5\r\n")
                    + &event(
                        "SUMMARY:B\r\nRECURRENCE-ID;RANGE=THISANDFUTURE:20261202T070000Z\r\n\
                         DUE:20261202T090000Z\r\n",
                    ),
            ),
        ),
        (
            "over a clock change",
            event(
                "SUMMARY:A\r\nDTSTART;TZID=Europe/Berlin:20261023T070000\r\nRRULE:FREQ=DAILY;COUNT=5\r\n",
            ) + &event(
                "SUMMARY:B\r\nRECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20261024T070000\r\n\
                 DTSTART;TZID=America/New_York:20261024T090000\r\n",
            ),
        ),
    ]
}

type Described = (Timestamp, Timestamp, String, Option<String>);

fn parse(text: &str) -> CalendarObject {
    CalendarObject::parse(text, &TimeZoneResolver::new()).expect("an object")
}

/// Original start, and the described times and texts, of each instance.
fn instances(object: &CalendarObject) -> Vec<(etui_ical::time::CalendarTime, Described)> {
    let set = object.recurrence_set();
    let mut all: Vec<_> = set
        .between(Timestamp::MIN..Timestamp::MAX, &TimeZone::UTC)
        .map(|i| {
            let component = object.components().nth(i.component).expect("a component");
            let summary = component.summary.clone().unwrap_or_default();
            let described = (
                i.during.start,
                i.during.end,
                summary,
                component.location.clone(),
            );
            (i.id, described)
        })
        .collect();
    all.sort_by_key(|(id, _)| id.at(&TimeZone::UTC));
    all
}

fn described(object: &CalendarObject) -> Vec<Described> {
    instances(object).into_iter().map(|(_, d)| d).collect()
}

#[test]
fn an_excluded_instance_takes_no_other_along() {
    for (name, text) in series() {
        let object = parse(&text);
        let all = instances(&object);
        for (at, (id, _)) in all.iter().enumerate() {
            let mut changed = object.clone();
            changed
                .exclude_instance(id, &TimeZoneResolver::new())
                .expect("an instance");
            let mut expected: Vec<_> = all.iter().map(|(_, d)| d.clone()).collect();
            let _ = expected.remove(at);
            assert_eq!(described(&changed), expected, "{name}, {id:?}");
        }
    }
}

#[test]
fn a_changed_instance_changes_no_other() {
    let zones = TimeZoneResolver::new();
    for (name, text) in series() {
        let object = parse(&text);
        let all = instances(&object);
        for (at, (id, own)) in all.iter().enumerate() {
            let mut one = object
                .instance(id, &zones)
                .expect("text")
                .expect("an instance");
            assert!(
                !one.master()
                    .timing
                    .as_ref()
                    .and_then(|t| t.recurrence_id.as_ref())
                    .expect("an id")
                    .this_and_future
            );
            one.set(0, "SUMMARY", "Changed", &zones).expect("a summary");
            let instance = object
                .recurrence_set()
                .instance_with_id(id, &TimeZone::UTC)
                .expect("times");
            assert_eq!(
                (instance.during.start, instance.during.end),
                (own.0, own.1),
                "{name}"
            );
            let start = if one.master().start.is_some() {
                "DTSTART"
            } else {
                "DUE"
            };
            one.set_time(0, start, &instance.start, &zones)
                .expect("a start");
            if one.master().end.is_some() {
                one.set_time(0, "DTEND", &instance.end, &zones)
                    .expect("an end");
            }
            let mut changed = object.clone();
            changed.replace_components(&one, &zones).expect("a series");
            let mut expected: Vec<_> = all.iter().map(|(_, d)| d.clone()).collect();
            expected[at].2 = "Changed".to_owned();
            assert_eq!(described(&changed), expected, "{name}, {id:?}");
        }
    }
}

#[test]
fn the_copy_of_an_instance_has_the_text_of_its_stretch() {
    let zones = TimeZoneResolver::new();
    let (_, text) = series().remove(0);
    let object = parse(&text);
    let id = object.instance_id("20261205T070000").expect("a time");
    let copy = object
        .instance(&id, &zones)
        .expect("text")
        .expect("an instance");
    assert_eq!(
        String::from_utf8_lossy(copy.text()),
        "BEGIN:VEVENT\r\nUID:1\r\nSUMMARY:Evening 3\r\nLOCATION:Hall B\r\n\
         RECURRENCE-ID;TZID=Europe/Berlin:20261205T070000\r\n\
         DTSTART;TZID=Europe/Berlin:20261205T200000\r\n\
         DTEND;TZID=Europe/Berlin:20261205T203000\r\nEND:VEVENT\r\n"
    );
}
