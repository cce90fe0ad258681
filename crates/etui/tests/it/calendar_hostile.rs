//! Hostile calendars: rules that fire every second, numbers without bounds, one UID for everything,
//! thousands of zones, times at both ends of the range. They are imported or rejected, the store
//! stays consistent, a second import changes nothing, and a query costs its answer: none of these
//! tests ends in reasonable time if a query expands everything.

use std::ops::{ControlFlow, Range};

use crate::support::{clean, directory};
use etui::calendar::OccurrenceLimit;
use etui::calendar::time::{Date, DateTimeValue, TimeZone, Timestamp};
use etui::calendar::{BoundedOccurrences, Calendar};
use etui::import::ImportReport;
use etui::{Options, Store};

fn event(uid: &str, lines: &str) -> String {
    format!("BEGIN:VEVENT\r\nUID:{uid}\r\nDTSTAMP:20260101T000000Z\r\n{lines}\r\nEND:VEVENT\r\n")
}

fn object(body: &str) -> String {
    format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{body}END:VCALENDAR\r\n")
}

fn import(calendar: &Calendar, input: &str) -> ImportReport {
    let go_on = &mut |_: etui::import::ImportEvent<'_>| ControlFlow::Continue(());
    calendar.import(input.as_bytes(), go_on).unwrap()
}

fn week(year: i32) -> Range<Timestamp> {
    let from = TimeZone::UTC.to_utc(Date::new(year, 3, 2).unwrap().midnight());
    from..from.plus_seconds(7 * 86_400)
}

/// Imports one object twice and runs every kind of query. Returns the first report and the number of
/// occurrences of a week, at most a hundred.
fn attack(body: &str) -> (ImportReport, usize) {
    let input = object(body);
    let (_dir, path) = directory();
    let mut options = Options::default();
    options.locale = Some("en".into());
    let store = Store::open_with(&path, &options).unwrap();
    let calendar = store.calendar().unwrap();
    let report = import(&calendar, &input);
    let berlin = TimeZone::named("Europe/Berlin").unwrap();
    for year in [1, 1970, 2100, 9998] {
        let all = calendar
            .between_bounded(week(year), &berlin, OccurrenceLimit::First(100))
            .unwrap()
            .occurrences;
        assert!(all.len() <= 100 && all.is_sorted_by_key(|o| o.during.start));
    }
    let always = Timestamp::MIN..Timestamp::MAX;
    calendar
        .between_bounded(always, &berlin, OccurrenceLimit::First(100))
        .unwrap();
    let day = week(2026).start..week(2026).start.plus_seconds(86_400);
    let busy = calendar.free_busy(day, &berlin).unwrap();
    assert!(
        busy.windows(2)
            .all(|w| w[0].during.end <= w[1].during.start)
    );
    for after in [Timestamp::MIN, week(2026).start, week(9998).start] {
        let due = calendar.alarms(after, 10, &berlin).unwrap().alarms;
        assert!(due.len() <= 10 && due.iter().all(|d| d.at >= after));
    }
    let mut out = Vec::new();
    assert_eq!(
        calendar.export(&mut out, None).unwrap(),
        calendar.count().unwrap()
    );
    if report.refused == 0 {
        assert!(out == input.as_bytes(), "it is written as it came");
    }
    clean(&store);
    let before = store.token().unwrap();
    let again = import(&calendar, &input);
    assert_eq!((again.added, again.changed), (0, 0));
    assert_eq!(store.token().unwrap(), before);
    let occurrences = calendar
        .between_bounded(week(2026), &berlin, OccurrenceLimit::First(100))
        .unwrap()
        .occurrences;
    (report, occurrences.len())
}

fn days() -> impl Iterator<Item = Date> {
    let first = Date::new(2020, 1, 1).unwrap();
    (0..).map(move |n| first.plus_days(n))
}

#[test]
fn rules_that_fire_every_second() {
    let every = |start: &str, more: &str| {
        attack(&event(
            "1",
            &format!("DTSTART:{start}\r\nRRULE:FREQ=SECONDLY{more}"),
        ))
        .1
    };
    assert_eq!(every("19700101T000000Z", ""), 100);
    assert_eq!(every("00010101T000000", "\r\nDURATION:P1W"), 100);
    assert_eq!(every("19700101T000000Z", "\r\nDURATION:P99999999D"), 100);
    assert_eq!(every("19700101T000000Z", "\r\nEXRULE:FREQ=SECONDLY"), 0);
    assert_eq!(every("19700101T000000Z", ";COUNT=4294967295"), 100);
    assert_eq!(every("19700101T000000Z", ";BYMONTH=2;BYMONTHDAY=30"), 0);
    let many: String = (0..20)
        .map(|n| {
            event(
                &n.to_string(),
                "DTSTART:19700101T000000Z\r\nRRULE:FREQ=SECONDLY",
            )
        })
        .collect();
    assert_eq!(attack(&many).1, 100);
}

/// Contiguous seconds are one busy period.
#[test]
fn free_busy_of_every_second_is_one_range() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let lines = "DTSTART:20200101T000000Z\r\nDURATION:PT1S\r\nRRULE:FREQ=SECONDLY";
    import(&calendar, &object(&event("1", lines)));
    let busy = calendar.free_busy(week(2026), &TimeZone::UTC).unwrap();
    assert_eq!(busy.len(), 1);
    assert_eq!(busy[0].during, week(2026));
}

/// A contiguous busy period is computed from its rule; expanding these rules would take years.
#[test]
fn free_busy_of_every_second_costs_nothing_in_a_thousand_years() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let at = |text: &str| match text.parse().unwrap() {
        DateTimeValue::Utc(wall) => TimeZone::UTC.to_utc(wall),
        other => panic!("{other:?}"),
    };
    let years = at("19000101T000000Z")..at("29000101T000000Z");
    let all = years.end;
    let start = at("20200101T000000Z");
    for (n, (lines, from, to)) in [
        (
            "DTSTART:20200101T000000Z\r\nDURATION:PT1S\r\nRRULE:FREQ=SECONDLY",
            start,
            all,
        ),
        (
            "DTSTART:20200101T000000Z\r\nDURATION:P9999D\r\nRRULE:FREQ=SECONDLY",
            start,
            all,
        ),
        (
            "DTSTART:20200101T000000Z\r\nDURATION:PT1M\r\nRRULE:FREQ=MINUTELY;COUNT=4294967295",
            start,
            all,
        ),
        (
            "DTSTART:20200101T000000Z\r\nDURATION:PT61S\r\n\
             RRULE:FREQ=SECONDLY;INTERVAL=60;UNTIL=28000101T000000Z",
            start,
            at("28000101T000000Z").plus_seconds(61),
        ),
        (
            "DTSTART;TZID=Europe/Berlin:20200101T010000\r\nDURATION:P9D\r\nRRULE:FREQ=SECONDLY",
            start,
            all,
        ),
        (
            "DTSTART:20200101T000000\r\nDURATION:P9D\r\nRRULE:FREQ=SECONDLY",
            start,
            all,
        ),
        ("DTSTART:20200101T000000Z\r\nRRULE:FREQ=SECONDLY", all, all),
    ]
    .into_iter()
    .enumerate()
    {
        let calendar = store
            .collections::<etui::calendar::CalendarObject>()
            .create(&n.to_string())
            .unwrap();
        import(&calendar, &object(&event("1", lines)));
        let busy = calendar.free_busy(years.clone(), &TimeZone::UTC).unwrap();
        let expected: Vec<_> = (from < to).then_some(from..to).into_iter().collect();
        let found: Vec<_> = busy.into_iter().map(|b| b.during).collect();
        assert_eq!(found, expected, "{lines}");
    }
}

/// The busy period computed from a rule equals that of its instances.
#[test]
fn free_busy_is_what_the_instances_make() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let mut number = 0;
    for zone in ["Z", ";TZID=America/New_York", ""] {
        for rule in [
            "HOURLY;INTERVAL=5",
            "MINUTELY;INTERVAL=90;COUNT=20",
            "HOURLY;UNTIL=20260312",
        ] {
            for more in [
                "",
                "\r\nEXDATE:20260308T063000Z",
                "\r\nRDATE:20260301T063000Z",
            ] {
                for length in ["PT59M", "PT1H", "PT90M", "PT7H", "P8D"] {
                    let (parameter, z) = match zone {
                        "Z" => ("", "Z"),
                        zone => (zone, ""),
                    };
                    let lines = format!(
                        "DTSTART{parameter}:20260307T003000{z}\r\nDURATION:{length}\r\n\
                         RRULE:FREQ={rule}{more}"
                    );
                    number += 1;
                    let calendar = store
                        .collections::<etui::calendar::CalendarObject>()
                        .create(&number.to_string())
                        .unwrap();
                    import(&calendar, &object(&event("1", &lines)));
                    let range = week(2026).start.plus_seconds(61 * 86_400)
                        ..week(2026).end.plus_seconds(75 * 86_400);
                    let viewer = TimeZone::named("America/New_York").unwrap();
                    let busy = calendar.free_busy(range.clone(), &viewer).unwrap();
                    let mut naive: Vec<std::ops::Range<Timestamp>> = Vec::new();
                    for o in calendar.between(range.clone(), &viewer).unwrap() {
                        let (start, end) =
                            (o.during.start.max(range.start), o.during.end.min(range.end));
                        match naive.last_mut() {
                            Some(last) if start <= last.end => last.end = last.end.max(end),
                            _ => naive.push(start..end),
                        }
                    }
                    let busy: Vec<_> = busy.into_iter().map(|b| b.during).collect();
                    assert_eq!(busy, naive, "{lines}");
                }
            }
        }
    }
}

#[test]
fn alarms_that_are_repeated_for_ever() {
    let alarm = |trigger: &str, more: &str| {
        format!("BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER{trigger}\r\n{more}END:VALARM")
    };
    let often = "REPEAT:4294967295\r\nDURATION:PT1S\r\n";
    let rarely = "REPEAT:999999999\r\nDURATION:P9999D\r\n";
    for start in [
        "DTSTART:20260101T000000Z",
        "DTSTART:19700101T000000Z\r\nRRULE:FREQ=SECONDLY",
    ] {
        for alarm in [
            alarm(":-PT1M", often),
            alarm(":PT1M", rarely),
            alarm(":P99999999999D", often),
            alarm(";RELATED=END:P9999999D", ""),
            alarm(";VALUE=DATE-TIME:99991231T235959Z", often),
            alarm(":-PT1M", "ACKNOWLEDGED:99991231T000000Z\r\n"),
        ] {
            attack(&event("1", &format!("{start}\r\n{alarm}")));
        }
        let seen = "X-MOZ-LASTACK:99990101T000000Z";
        let alarm = alarm(":-PT1M", often);
        attack(&event("1", &format!("{seen}\r\n{start}\r\n{alarm}")));
    }
    let many: Vec<String> = (0..5_000)
        .map(|n| alarm(&format!(":-PT{n}M"), often))
        .collect();
    let many = many.join("\r\n");
    attack(&event("1", &format!("DTSTART:20260302T000000Z\r\n{many}")));
    attack(&event(
        "1",
        &format!("DTSTART:20260302T000000Z\r\nRRULE:FREQ=DAILY\r\n{many}"),
    ));
}

#[test]
fn thousands_of_changed_instances() {
    let main = event("1", "DTSTART:20000101T000000Z\r\nRRULE:FREQ=DAILY");
    let changes = |range: &str| -> Vec<String> {
        let change = |day: Date| {
            let lines = format!("RECURRENCE-ID{range}:{day}T000000Z\r\nDTSTART:{day}T010000Z");
            event("1", &format!("{lines}\r\nSUMMARY:On {day}\r\nDURATION:P1D"))
        };
        days().take(4_000).map(change).collect()
    };
    let (report, occurrences) = attack(&format!("{main}{}", changes("").concat()));
    assert_eq!((report.added, occurrences), (1, 8));
    let (report, occurrences) = attack(&format!(
        "{main}{}",
        changes(";RANGE=THISANDFUTURE").concat()
    ));
    assert_eq!((report.added, occurrences), (1, 8));
    // With other records between them.
    let apart: String = changes("")
        .iter()
        .take(3_000)
        .enumerate()
        .map(|(n, change)| format!("{change}{}", event(&format!("other-{n}"), "SUMMARY:A")))
        .collect();
    assert_eq!(attack(&format!("{main}{apart}")).0.added, 3_001);
}

#[test]
fn thousands_of_dates() {
    let from = week(2026).start;
    let exceptions: String = (0..20_000)
        .map(|n| format!("EXDATE:{}\r\n", from.plus_seconds(n)))
        .collect();
    attack(&event(
        "1",
        &format!("{exceptions}DTSTART:20200101T000000Z\r\nRRULE:FREQ=SECONDLY"),
    ));
    let periods: String = (0..20_000)
        .map(|n| {
            let start = Timestamp::from_seconds(n);
            format!("RDATE;VALUE=PERIOD:{start}/P2{n:05}D\r\n")
        })
        .collect();
    let (_, occurrences) = attack(&event("1", &format!("{periods}DTSTART:20000101T000000Z")));
    assert_eq!(occurrences, 100);
}

#[test]
fn thousands_of_zones() {
    let zone = |n: usize, parts: &str| {
        format!("BEGIN:VTIMEZONE\r\nTZID:Zone {n}\r\n{parts}END:VTIMEZONE\r\n")
    };
    let part = |start: &str, rule: &str| {
        format!(
            "BEGIN:STANDARD\r\nDTSTART:{start}\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\n\
             RRULE:{rule}\r\nEND:STANDARD\r\n"
        )
    };
    let at_ten = event(
        "1",
        "DTSTART;TZID=Zone 7:20260302T100000\r\nRRULE:FREQ=YEARLY",
    );
    let many: String = (0..4_000)
        .map(|n| zone(n, &part("20000101T000000", "FREQ=YEARLY;COUNT=2")))
        .collect();
    assert_eq!(
        attack(&format!("{many}{at_ten}")),
        attack(&format!("{many}{at_ten}"))
    );
    // Rules that hold for ten thousand years with hardly any transition.
    let rule = "FREQ=MONTHLY;BYDAY=MO;BYMONTHDAY=31";
    let parts = format!(
        "{}{}",
        part("00010101T000000", rule).repeat(250),
        part("99981231T000000", rule)
    );
    let deep: String = (0..10).map(|n| zone(n, &parts)).collect();
    assert_eq!(attack(&format!("{deep}{at_ten}")).1, 1);
    let dense = parts.replace(rule, "FREQ=MINUTELY;INTERVAL=1439;BYHOUR=5;BYDAY=SU");
    let dense: String = (0..10).map(|n| zone(n, &dense)).collect();
    assert_eq!(attack(&format!("{dense}{at_ten}")).1, 1);
    // Offsets of nearly a day, in both directions.
    let wide = part("00010101T000000", "FREQ=YEARLY")
        .replace("+0100", "+235959")
        .replace("+0200", "-235959");
    attack(&format!("{}{at_ten}", zone(7, &wide)));
    // An unknown name on each line.
    let lines: String = (0..10_000)
        .map(|n| format!("EXDATE;TZID=Nowhere {n}:20260101T000000\r\n"))
        .collect();
    let (report, _) = attack(&event("1", &format!("{lines}DTSTART:20260101T000000Z")));
    assert!((1..=100).contains(&report.warned), "{}", report.warned);
}

#[test]
fn one_uid_in_every_object() {
    let objects: Vec<String> = (0..1_500)
        .map(|n| {
            object(&event(
                "same",
                &format!("DTSTART:20260302T000000Z\r\nSUMMARY:{n}"),
            ))
        })
        .collect();
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let report = import(&calendar, &objects.concat());
    assert_eq!(
        (report.added, report.changed, report.refused),
        (1, 0, 1_499)
    );
    let stored = calendar.get("same").unwrap().unwrap();
    assert!(
        String::from_utf8(stored.text)
            .unwrap()
            .contains("SUMMARY:0\r\n")
    );
    clean(&store);
}

#[test]
fn names_that_are_none_or_too_long() {
    let odd = [
        "",
        " ",
        "\\n",
        "a\0b",
        "../../x",
        "'; DROP TABLE record; --",
        "🏖",
        "\u{202e}",
    ];
    let events: String = odd.iter().map(|uid| event(uid, "SUMMARY:A")).collect();
    assert_eq!(attack(&events).0.refused, 0);
    let (long, longer) = ("u".repeat(1_000_000), "u".repeat(1_000_001));
    let both = [&long, &longer].map(|uid| event(uid, "SUMMARY:A")).concat();
    assert_eq!(attack(&both).0.good(), 2);
    let lines = format!(
        "DTSTART:20260302T000000Z\r\nSUMMARY:{}\r\nLOCATION:{}\r\nCATEGORIES:{}",
        "word ".repeat(200_000),
        "x".repeat(1_000_000),
        "é,".repeat(300_000)
    );
    assert_eq!(attack(&event("1", &lines)).1, 1);
}

#[test]
fn both_ends_of_time() {
    let starts = [
        "00010101",
        "99991231",
        "00010101T000000",
        "99991231T235959Z",
        "99991231T235959",
        "00010101T000000Z",
        "00000101T000000",
        "99991231T240000",
    ];
    let more = [
        "",
        "RRULE:FREQ=DAILY\r\n",
        "RRULE:FREQ=YEARLY;INTERVAL=4294967295\r\n",
        "DURATION:P99999999999D\r\n",
        "DURATION:-P99999999999D\r\n",
        "DURATION:PT9223372036854775807S\r\n",
        "DTEND:00010101T000000Z\r\n",
        "DTEND:99991231T235959Z\r\nRRULE:FREQ=DAILY;COUNT=3\r\n",
        "RECURRENCE-ID;RANGE=THISANDFUTURE:00010101T000000Z\r\n",
    ];
    let alarm =
        "BEGIN:VALARM\r\nTRIGGER:-P99999999999D\r\nREPEAT:2\r\nDURATION:P99999999W\r\nEND:VALARM";
    let mut events = String::new();
    for start in starts {
        for more in more {
            let uid = format!("{start} {more}").replace("\r\n", "");
            events.push_str(&event(&uid, &format!("DTSTART:{start}\r\n{more}{alarm}")));
            attack(&event("1", &format!("DTSTART:{start}\r\n{more}{alarm}")));
        }
    }
    attack(&events);
    // A series that is moved from one end to the other.
    let main = event("1", "DTSTART:00010101T000000Z\r\nRRULE:FREQ=DAILY");
    let moved = "RECURRENCE-ID;RANGE=THISANDFUTURE:00010102T000000Z\r\nDTSTART:99991231T000000Z";
    attack(&format!("{main}{}", event("1", moved)));
}

#[test]
fn depth_without_end() {
    let deep = format!(
        "{}{}",
        "BEGIN:X-A\r\n".repeat(50_000),
        "END:X-A\r\n".repeat(50_000)
    );
    let good = event("1", "DTSTART:20260302T000000Z");
    for bad in [
        event("2", deep.trim_end()),
        "BEGIN:VEVENT\r\n".repeat(50_000),
        "END:VEVENT\r\n".repeat(50_000),
    ] {
        let (report, occurrences) = attack(&format!("{bad}{good}"));
        assert!(report.refused > 0);
        assert_eq!((report.added, occurrences), (1, 1));
    }
}

/// A rule that fires every second, and a thousand of them, leave room for the others.
#[test]
fn dense_rules_do_not_hide_other_entries() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let tick = |n: usize| {
        let lines = format!("DTSTART:20200101T000000Z\r\nSUMMARY:{n}\r\nRRULE:FREQ=SECONDLY");
        event(&format!("tick{n}"), &lines)
    };
    let own = (0..7)
        .map(|n| {
            event(
                &format!("own{n}"),
                &format!("DTSTART:2026030{}T120000Z", 2 + n),
            )
        })
        .collect::<String>();
    let hourly = event("hourly", "DTSTART:20260101T000000Z\r\nRRULE:FREQ=HOURLY");
    import(&calendar, &object(&(own + &hourly + &tick(0))));
    let count = |found: &BoundedOccurrences, uid: &str| {
        let id = calendar.get(uid).unwrap().unwrap().id;
        found.occurrences.iter().filter(|o| o.record == id).count()
    };
    let found = calendar
        .between_bounded(week(2026), &TimeZone::UTC, OccurrenceLimit::Fair(10_000))
        .unwrap();
    assert_eq!(
        (count(&found, "hourly"), count(&found, "tick0")),
        (168, 700)
    );
    assert_eq!(
        (found.occurrences.len(), found.per_series),
        (7 + 168 + 700, 700)
    );
    assert_eq!(found.cut.len(), 1);
    assert_eq!(&*found.cut[0].title, "0");
    assert!(!found.has_more && found.occurrences.is_sorted_by_key(|o| o.during.start));
    // The series with the most occurrences are cut first.
    let found = calendar
        .between_bounded(week(2026), &TimeZone::UTC, OccurrenceLimit::Fair(400))
        .unwrap();
    assert_eq!(
        (count(&found, "hourly"), count(&found, "tick0")),
        (168, 175)
    );
    import(
        &calendar,
        &object(&(1..1_000).map(tick).collect::<String>()),
    );
    let found = calendar
        .between_bounded(week(2026), &TimeZone::UTC, OccurrenceLimit::Fair(10_000))
        .unwrap();
    assert!(found.occurrences.len() <= 10_000 && found.per_series < 10);
    for n in 0..7 {
        assert_eq!(count(&found, &format!("own{n}")), 1);
    }
    assert_eq!((found.cut.len(), found.has_more), (1_001, false));
    let found = calendar
        .between_bounded(week(2026), &TimeZone::UTC, OccurrenceLimit::Fair(100))
        .unwrap();
    assert_eq!((found.occurrences.len(), found.has_more), (100, true));
    // The first in time, without a cap.
    let first = calendar
        .between_bounded(week(2026), &TimeZone::UTC, OccurrenceLimit::First(2_500))
        .unwrap()
        .occurrences;
    let all_of_second = |n: i64| {
        first
            .iter()
            .filter(move |o| o.during.start == week(2026).start.plus_seconds(n))
    };
    assert_eq!(first.len(), 2_500);
    assert_eq!(
        [0, 1, 2].map(|n| all_of_second(n).count()),
        [1_001, 1_000, 499]
    );
}

#[test]
fn alarms_are_searched_within_a_limit() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let alarms: String = (0..256)
        .map(|n| format!("BEGIN:VALARM\r\nTRIGGER:-PT{n}S\r\nREPEAT:1000000\r\nDURATION:P1D\r\nEND:VALARM\r\n"))
        .collect();
    let hostile = format!(
        "DTSTART:20200101T000000Z\r\nRRULE:FREQ=SECONDLY\r\n{}",
        alarms.trim_end()
    );
    let own = "DTSTART:20260101T120000Z\r\nRRULE:FREQ=DAILY\r\nSUMMARY:Own\r\n\
               BEGIN:VALARM\r\nTRIGGER:-PT10M\r\nEND:VALARM";
    let all: String = (0..5).map(|n| event(&n.to_string(), &hostile)).collect();
    import(&calendar, &object(&(all + &event("own", own))));
    let noon = week(2026).start.plus_seconds(11 * 3_600 + 49 * 60);
    let due = calendar.alarms(noon, 100_000, &TimeZone::UTC).unwrap();
    assert_eq!(due.cut.len(), 5);
    let is_own = |alarm: &&etui::calendar::DueAlarm| alarm.title == "Own";
    let first = due.alarms.iter().find(is_own).unwrap();
    assert_eq!(first.at, noon.plus_seconds(60));
    assert!(due.alarms.is_sorted_by_key(|alarm| alarm.at));
    // The occurrences shown are found without a cut: the seconds of the alarms are those of the start.
    let quiet = event(
        "0",
        "DTSTART:20200101T000000Z\r\nRRULE:FREQ=SECONDLY\r\n\
        BEGIN:VALARM\r\nTRIGGER:-PT1S\r\nEND:VALARM",
    );
    let other = store
        .collections::<etui::calendar::CalendarObject>()
        .create("Other")
        .unwrap();
    import(&other, &object(&quiet));
    let due = other.alarms(noon, 10, &TimeZone::UTC).unwrap();
    assert_eq!((due.alarms.len(), due.cut), (10, Vec::new()));
    assert_eq!(due.alarms[9].at, noon.plus_seconds(9));
}

#[test]
fn free_busy_of_thousands_of_dense_rules_ends() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let tick = |n: usize| {
        let lines = "DTSTART:20200101T000000Z\r\nDURATION:PT1S\r\nRRULE:FREQ=SECONDLY;INTERVAL=2";
        event(&n.to_string(), lines)
    };
    import(&calendar, &object(&(0..300).map(tick).collect::<String>()));
    let day = week(2026).start..week(2026).start.plus_seconds(7 * 86_400);
    let busy = calendar.free_busy(day.clone(), &TimeZone::UTC).unwrap();
    assert_eq!(busy[0].during, day.start..day.start.plus_seconds(1));
    assert!(busy.len() <= 302_400 && busy.windows(2).all(|w| w[0].during.end < w[1].during.start));
    assert_eq!(busy.last().unwrap().during.end, day.end);
}
