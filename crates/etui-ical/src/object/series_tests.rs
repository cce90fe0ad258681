//! Instances of a series: found, excluded, cut off, split.

#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::ics::{ComponentGrouper, ObjectPiece, ObjectReader};
use crate::time::{CalendarTime, Date, TimeZone, Timestamp};
use crate::zones::TimeZoneDefinition;

fn parse(text: &str) -> CalendarObject {
    CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap()
}

/// The daily series of ten from 1 December with a change of its fourth and its eighth instance.
fn daily(extra: &str) -> CalendarObject {
    parse(&format!(
        "BEGIN:VEVENT\r\nUID:r1\r\nDTSTART;TZID=Europe/Berlin:20261201T090000\r\n\
         DTEND;TZID=Europe/Berlin:20261201T100000\r\nRRULE:FREQ=DAILY;COUNT=10\r\n{extra}\
         BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT5M\r\nEND:VALARM\r\nEND:VEVENT\r\n\
         BEGIN:VEVENT\r\nUID:r1\r\nRECURRENCE-ID:20261204T080000Z\r\n\
         DTSTART:20261204T120000Z\r\nEND:VEVENT\r\n\
         BEGIN:VEVENT\r\nUID:r1\r\nRECURRENCE-ID;TZID=Europe/Berlin:20261208T090000\r\n\
         DTSTART:20261208T120000Z\r\nEND:VEVENT\r\n"
    ))
}

fn id(object: &CalendarObject, text: &str) -> CalendarTime {
    object.instance_id(text).unwrap()
}

/// Start and end of each instance up to the year 2029.
fn instances(object: &CalendarObject) -> Vec<(Timestamp, Timestamp)> {
    let at = |year| TimeZone::UTC.to_utc(Date::new(year, 1, 1).unwrap().midnight());
    let set = object.recurrence_set();
    let mut all: Vec<_> = set
        .between(at(1990)..at(2029), &TimeZone::UTC)
        .map(|i| (i.during.start, i.during.end))
        .collect();
    all.sort();
    all
}

fn text(object: &CalendarObject) -> String {
    String::from_utf8(object.text().to_vec()).unwrap()
}

#[test]
fn an_instance_is_an_override_or_a_copy_of_the_master() {
    let zones = TimeZoneResolver::new();
    let series = daily("");
    let of = |value: &str| {
        let found = series.instance(&id(&series, value), &zones).unwrap();
        found.map(|o| text(&o))
    };
    assert!(
        of("20261204T090000")
            .unwrap()
            .contains("DTSTART:20261204T120000Z")
    );
    assert!(
        of("20261204T080000Z")
            .unwrap()
            .contains("DTSTART:20261204T120000Z")
    );
    let fifth = of("20261205T090000").unwrap();
    assert!(fifth.contains("RRULE:FREQ=DAILY;COUNT=10\r\nRECURRENCE-ID;TZID=Europe/Berlin:20261205T090000\r\nBEGIN:VALARM"), "{fifth}");
    for none in [
        "20261205T100000",
        "20261130T090000",
        "20261211T090000",
        "20261205",
    ] {
        let found = of(none);
        // A day is its instance.
        assert_eq!(found.is_some(), none == "20261205", "{none}");
    }
    assert!(series.instance_id("never").is_none());
    assert!(series.is_first_instance(&id(&series, "20261201T090000")));
    assert!(!series.is_first_instance(&id(&series, "20261202T090000")));
}

#[test]
fn an_excluded_instance_leaves_with_its_override() {
    let zones = TimeZoneResolver::new();
    let mut series = daily("");
    let fourth = id(&series, "20261204T090000");
    series.exclude_instance(&fourth, &zones).unwrap();
    assert!(text(&series).contains("EXDATE;TZID=Europe/Berlin:20261204T090000\r\n"));
    assert_eq!(
        (series.components().len(), instances(&series).len()),
        (2, 9)
    );
    let gone = ObjectError::NoInstance("20261204T090000".into());
    assert_eq!(series.exclude_instance(&fourth, &zones), Err(gone.clone()));
    assert_eq!(series.remove_override(&fourth, &zones), Err(gone));
    let eighth = id(&series, "20261208T090000");
    series.remove_override(&eighth, &zones).unwrap();
    assert_eq!(
        (series.components().len(), instances(&series).len()),
        (1, 9)
    );
}

#[test]
fn a_series_ends_before_an_instance() {
    let zones = TimeZoneResolver::new();
    let mut series = daily("EXDATE;TZID=Europe/Berlin:20261202T090000,20261207T090000\r\n");
    series
        .end_before(&id(&series, "20261206T090000"), &zones)
        .unwrap();
    let ended = text(&series);
    assert!(ended.contains("RRULE:FREQ=DAILY;COUNT=5\r\n"), "{ended}");
    assert!(
        ended.contains("EXDATE;TZID=Europe/Berlin:20261202T090000\r\n"),
        "{ended}"
    );
    assert_eq!(
        (series.components().len(), instances(&series).len()),
        (2, 4)
    );
    let first = id(&series, "20261201T090000");
    assert_eq!(series.end_before(&first, &zones), Err(ObjectError::Empty));
    for (start, until) in [
        (
            "DTSTART;TZID=Europe/Berlin:20261201T090000",
            "20261206T075959Z",
        ),
        ("DTSTART:20261201T090000Z", "20261206T085959Z"),
        ("DTSTART:20261201T090000", "20261206T085959"),
        ("DTSTART;VALUE=DATE:20261201", "20261205"),
    ] {
        let mut series = parse(&format!(
            "BEGIN:VTODO\r\nUID:1\r\n{start}\r\nRRULE:UNTIL=20300101;FREQ=DAILY\r\nEND:VTODO\r\n"
        ));
        let sixth = match start.contains("DATE") {
            true => id(&series, "20261206"),
            false => id(&series, "20261206T090000"),
        };
        series.end_before(&sixth, &zones).unwrap();
        assert!(
            text(&series).contains(&format!("RRULE:FREQ=DAILY;UNTIL={until}\r\n")),
            "{until}"
        );
        assert_eq!(instances(&series).len(), 5);
    }
}

#[test]
fn a_changed_rest_is_a_series_of_its_own() {
    let zones = TimeZoneResolver::new();
    let series = daily("EXDATE;TZID=Europe/Berlin:20261207T090000\r\n");
    let sixth = id(&series, "20261206T090000");
    let copy = series.instance(&sixth, &zones).unwrap().unwrap();
    // The start of the series, moved by an hour; or that of the instance.
    for start in ["20261201T100000", "20261206T100000"] {
        let changed = text(&copy).replace("Berlin:20261201T090000", &format!("Berlin:{start}"));
        let changed = changed.replace("DTEND;TZID=Europe/Berlin:20261201T100000", "DURATION:PT30M");
        let parts = series
            .change_from(&sixth, &parse(&changed), Some("r2"), &zones)
            .unwrap();
        let after = text(&parts.after);
        assert!(
            after.contains("UID:r2\r\nDTSTART;TZID=Europe/Berlin:20261206T100000\r\n"),
            "{after}"
        );
        assert!(after.contains("RRULE:FREQ=DAILY;COUNT=5\r\n"), "{after}");
        assert!(
            after.contains("EXDATE;TZID=Europe/Berlin:20261207T100000\r\n"),
            "{after}"
        );
        assert!(!after.contains("RECURRENCE-ID"), "{after}");
        assert_eq!(instances(&parts.after).len(), 4);
        let before = parts.before.unwrap();
        assert_eq!(
            (before.components().len(), instances(&before).len()),
            (2, 5)
        );
    }
    let weekly = text(&copy).replace("FREQ=DAILY;COUNT=10", "FREQ=WEEKLY;COUNT=3");
    let parts = series
        .change_from(&sixth, &parse(&weekly), None, &zones)
        .unwrap();
    assert_eq!(instances(&parts.after).len(), 3);
    assert_ne!(parts.after.uid(), series.uid());
    // Only COUNT is another: it still counts from the start of the series.
    for (count, left) in [(8, 2), (4, 1)] {
        let other = text(&copy).replace("COUNT=10", &format!("COUNT={count}"));
        let parts = series
            .change_from(&sixth, &parse(&other), None, &zones)
            .unwrap();
        // Of the three that are left by COUNT=8, the seventh is excluded.
        assert_eq!(instances(&parts.after).len(), left, "{count}");
    }
}

#[test]
fn a_change_of_all_keeps_overrides_and_moves_dates() {
    let zones = TimeZoneResolver::new();
    let series = daily("EXDATE;TZID=Europe/Berlin:20261207T090000\r\n");
    let sixth = id(&series, "20261206T090000");
    let copy = text(&series.instance(&sixth, &zones).unwrap().unwrap());
    for start in ["20261201T100000", "20261206T100000"] {
        let changed = copy.replace("Berlin:20261201T090000", &format!("Berlin:{start}"));
        let changed = changed.replace("DTEND;TZID=Europe/Berlin:20261201T100000", "DURATION:PT30M");
        let mut series = series.clone();
        series.change_all(&sixth, &parse(&changed), &zones).unwrap();
        let all = text(&series);
        assert!(
            all.contains("DTSTART;TZID=Europe/Berlin:20261201T100000\r\n"),
            "{all}"
        );
        assert!(
            all.contains("EXDATE;TZID=Europe/Berlin:20261207T100000\r\n"),
            "{all}"
        );
        assert_eq!(series.components().len(), 3);
        assert!(series.master().recurs());
    }
}

#[test]
fn a_split_that_would_change_instances_is_refused() {
    let zones = TimeZoneResolver::new();
    let two = daily("RRULE:FREQ=WEEKLY\r\n");
    let sixth = id(&two, "20261206T090000");
    assert_eq!(
        two.split_at(&sixth, None, &zones),
        Err(ObjectError::CannotSplit)
    );
    let series = daily("");
    let late = id(&series, "20270101T090000");
    assert!(matches!(
        series.split_at(&late, None, &zones),
        Err(ObjectError::NoInstance(_))
    ));
}

#[test]
fn components_replace_those_of_their_instance() {
    let zones = TimeZoneResolver::new();
    let mut series = daily("");
    let new = parse(
        "BEGIN:VEVENT\nUID:r1\nRECURRENCE-ID:20261208T080000Z\nDTSTART:20261208T130000Z\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:r1\nRECURRENCE-ID:20261209T080000Z\nDTSTART:20261209T130000Z\nEND:VEVENT",
    );
    series.replace_components(&new, &zones).unwrap();
    assert_eq!(series.components().len(), 4);
    assert!(
        text(&series).contains("20261208T130000Z") && !text(&series).contains("20261208T120000Z")
    );
    let master = parse("BEGIN:VEVENT\r\nUID:r1\r\nDTSTART:20261201T080000Z\r\nEND:VEVENT\r\n");
    series.replace_components(&master, &zones).unwrap();
    assert_eq!(series.components().len(), 4);
    assert!(text(&series).starts_with("BEGIN:VEVENT\r\nUID:r1\r\nDTSTART:20261201T080000Z"));
    let other = parse("BEGIN:VEVENT\r\nUID:r2\r\nSUMMARY:x\r\nEND:VEVENT\r\n");
    assert_eq!(
        series.replace_components(&other, &zones),
        Err(ObjectError::Several)
    );
}

fn rules() -> impl Strategy<Value = String> {
    let rule = select(vec![
        "DAILY",
        "DAILY;INTERVAL=3",
        "WEEKLY;BYDAY=MO,WE,FR",
        "WEEKLY;INTERVAL=2;BYDAY=TU,SA;WKST=SU",
        "MONTHLY",
        "MONTHLY;BYDAY=-1FR",
        "MONTHLY;BYDAY=MO,TU,WE;BYSETPOS=2,-1",
        "YEARLY;BYMONTH=3,10;BYMONTHDAY=31",
        "YEARLY",
        "HOURLY;INTERVAL=7",
        "DAILY;BYHOUR=8,15;BYMINUTE=30",
    ]);
    let end = prop_oneof![
        Just(String::new()),
        (1u32..60).prop_map(|n| format!(";COUNT={n}")),
        (2026..2030).prop_map(|y| format!(";UNTIL={y}0704T000000Z")),
    ];
    (rule, end).prop_map(|(rule, end)| format!("RRULE:FREQ={rule}{end}\r\n"))
}

proptest! {
    /// The two parts of a split series have its instances, and the first part is the series ended
    /// there.
    #[test]
    fn parts_have_the_instances_of_the_series(
        rule in rules(),
        form in 0..4usize,
        day in 1u32..28,
        cut in 1usize..40,
        excluded in prop::collection::vec(0usize..40, 0..3),
        dates in prop::collection::vec((1u32..28, 1u32..13), 0..3),
        changed in prop::collection::vec(0usize..40, 0..3),
    ) {
        let (params, suffix) = [
            (";TZID=Europe/Berlin", "T090000"),
            ("", "T090000Z"),
            ("", "T090000"),
            (";VALUE=DATE", ""),
        ][form];
        let mut body = format!("DTSTART{params}:202603{day:02}{suffix}\r\n{rule}");
        for (day, month) in dates {
            body += &format!("RDATE{params}:2027{month:02}{day:02}{suffix}\r\n");
        }
        let zones = TimeZoneResolver::new();
        let event = |body: &str| format!("BEGIN:VEVENT\r\nUID:1\r\n{body}END:VEVENT\r\n");
        let plain = parse(&event(&body));
        let set = plain.recurrence_set();
        let all: Vec<_> = set
            .between(plain.recurrence_set().bounds(), &TimeZone::UTC)
            .take(60)
            .map(|i| i.id.value())
            .collect();
        for n in excluded {
            if let Some(date) = all.get(n) {
                body += &format!("EXDATE{params}:{date}\r\n");
            }
        }
        let mut objects = event(&body);
        let mut changed: Vec<_> = changed.into_iter().filter_map(|n| all.get(n)).collect();
        changed.sort_by_key(|id| id.to_string());
        changed.dedup();
        for id in changed {
            objects += &event(&format!(
                "RECURRENCE-ID{params}:{id}\r\nDTSTART:20270101T000000Z\r\nDURATION:PT1H\r\n"
            ));
        }
        let series = parse(&objects);
        let Some(cut) = all.get(cut) else { return Ok(()) };
        let cut = series.instance_id(&cut.to_string()).unwrap();
        let parts = series.split_at(&cut, Some("2"), &zones).unwrap();
        let before = parts.before.unwrap();
        let mut both = [instances(&before), instances(&parts.after)].concat();
        both.sort();
        prop_assert!(both == instances(&series), "{}\n{}\n{}", text(&series), text(&before), text(&parts.after));
        let mut ended = series.clone();
        ended.end_before(&cut, &zones).unwrap();
        prop_assert_eq!(text(&ended), text(&before));
        prop_assert!(parts.after.components().all(|c| c.uid.as_deref() == Some("2")));
    }
}

/// Objects found in files: cutting a series at any instance keeps its instances, or is refused.
#[test]
fn objects_of_files_are_cut_at_each_instance() {
    let mut cut_series = 0;
    for fixture in etui_testkit::fixtures::icalendar::ALL {
        let mut zones = TimeZoneResolver::new();
        let mut grouper = ComponentGrouper::new();
        let mut groups = Vec::new();
        for piece in ObjectReader::new(fixture.bytes) {
            match piece.unwrap() {
                ObjectPiece::Zone(zone) => zones.define(&TimeZoneDefinition::parse(&zone.bytes)),
                ObjectPiece::Component(component) => groups.extend(grouper.push(component).0),
                _ => {}
            }
        }
        groups.extend(grouper.finish());
        for group in groups {
            let Ok(object) = CalendarObject::parse(group.text(), &zones) else {
                continue;
            };
            let set = object.recurrence_set();
            let ids: Vec<_> = set
                .between(set.bounds(), &TimeZone::UTC)
                .take(6)
                .map(|i| i.id)
                .collect();
            for id in &ids {
                let mut copy = object.clone();
                let _ = copy.exclude_instance(id, &zones);
                let _ = copy.end_before(id, &zones);
                if let Ok(Some(one)) = object.instance(id, &zones) {
                    let _ = object.change_from(id, &one, None, &zones);
                    let _ = copy.change_all(id, &one, &zones);
                    let _ = copy.replace_components(&one, &zones);
                }
                if let Ok(parts) = object.split_at(id, None, &zones) {
                    let before = parts.before.as_ref().map(instances).unwrap_or_default();
                    let mut both = [before, instances(&parts.after)].concat();
                    both.sort();
                    assert!(both == instances(&object), "{}", text(&object));
                    cut_series += 1;
                }
            }
        }
    }
    assert!(cut_series > 20, "{cut_series}");
}
