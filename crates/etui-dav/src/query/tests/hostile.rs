//! Data and requests that are made to cost much.

use std::time::Instant;

use etui::calendar::zones::TimeZoneResolver;
use proptest::prelude::*;

use super::*;
use crate::xml::Namespace;

fn every_second(alarm: &str) -> String {
    format!(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:1\r\n\
         DTSTART:20200101T000000Z\r\nDURATION:PT1S\r\nRRULE:FREQ=SECONDLY\r\nSUMMARY:tick\r\n\
         {alarm}END:VEVENT\r\nEND:VCALENDAR\r\n"
    )
}

#[test]
fn an_expansion_of_every_second_is_refused() {
    let expand =
        parse_calendar_data("<C:expand start=\"20200101T000000Z\" end=\"20300101T000000Z\"/>");
    let object = every_second("");
    let error = expand.apply(object.as_bytes(), &TimeZone::UTC).unwrap_err();
    assert_eq!(error.precondition().unwrap().1, "max-instances");
    let large = every_second(&format!("DESCRIPTION:{}\r\n", "x".repeat(1 << 20)));
    let error = expand.apply(large.as_bytes(), &TimeZone::UTC).unwrap_err();
    assert_eq!(error.status(), 403);
    let minute = "<C:expand start=\"20290101T000000Z\" end=\"20290101T000100Z\"/>";
    let minute = parse_calendar_data(minute);
    let part = minute.apply(object.as_bytes(), &TimeZone::UTC).unwrap();
    let text = String::from_utf8(part.into_owned()).unwrap();
    assert_eq!(text.matches("BEGIN:VEVENT").count(), 60);
}

#[test]
fn dense_rules_are_examined_to_a_limit() {
    let alarm =
        "BEGIN:VALARM\r\nTRIGGER:-P1D\r\nREPEAT:4000000000\r\nDURATION:PT1S\r\nEND:VALARM\r\n";
    let store = TestStore::with_calendar(every_second(alarm).as_bytes());
    let begin = Instant::now();
    let century = "<C:time-range start=\"20200101T000000Z\" end=\"21200101T000000Z\"/>";
    let event = |inner: &str| format!("<C:comp-filter name=\"VEVENT\">{inner}</C:comp-filter>");
    for conditions in [
        event(century),
        event(&format!("{century}<C:prop-filter name=\"SUMMARY\"/>")),
        event(&format!(
            "<C:comp-filter name=\"VALARM\">{century}</C:comp-filter>"
        )),
        event(
            "<C:comp-filter name=\"VALARM\"><C:time-range end=\"20191231T000001Z\"/></C:comp-filter>",
        ),
    ] {
        let query = parse_query(&conditions).unwrap();
        assert_eq!(store.find(&query, &TimeZone::UTC), ["1"], "{conditions}");
    }
    // Every second of the century one by one would take hours.
    assert!(begin.elapsed().as_secs() < 600);
}

/// An element with names and attributes of queries, in any nesting.
fn element() -> impl Strategy<Value = Element> {
    let name = prop::sample::select(vec![
        "filter",
        "comp-filter",
        "prop-filter",
        "param-filter",
        "is-not-defined",
        "time-range",
        "text-match",
        "timezone",
        "timezone-id",
        "limit",
        "nresults",
        "comp",
        "prop",
        "allprop",
        "allcomp",
        "expand",
        "limit-recurrence-set",
        "limit-freebusy-set",
        "calendar-data",
    ]);
    let ns = prop::sample::select(vec![Namespace::CalDav, Namespace::CardDav, Namespace::Dav]);
    let value = prop_oneof![
        prop::sample::select(vec![
            "VCALENDAR",
            "VEVENT",
            "VTODO",
            "VALARM",
            "SUMMARY",
            "DTSTART",
            "yes",
            "no",
            "anyof",
            "allof",
            "i;octet",
            "i;unicode-casemap",
            "20060104T000000Z",
            "20070104T000000Z",
            "99991231T235959Z",
            "00010101T000000Z",
            "equals",
            "item1.TEL",
            "",
            "3.0",
            "2.0",
        ])
        .prop_map(str::to_owned),
        ".{0,8}",
    ];
    let attribute = prop::sample::select(vec![
        "name",
        "start",
        "end",
        "collation",
        "negate-condition",
        "test",
        "match-type",
        "novalue",
        "version",
        "content-type",
    ])
    .prop_map(str::to_owned);
    let leaf = (
        ns,
        name,
        prop::collection::vec((attribute, value), 0..4),
        "[A-Z\n]{0,6}",
    );
    let leaf = leaf.prop_map(|(ns, name, attributes, text)| Element {
        attributes,
        text,
        ..Element::new(ns, name)
    });
    leaf.prop_recursive(5, 40, 5, |inner| {
        (inner.clone(), prop::collection::vec(inner, 0..5)).prop_map(|(mut parent, children)| {
            parent.children = children;
            parent
        })
    })
}

/// Lines of calendar objects in any order.
fn object() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "BEGIN:VCALENDAR",
        "END:VCALENDAR",
        "BEGIN:VEVENT",
        "END:VEVENT",
        "BEGIN:VTODO",
        "END:VTODO",
        "BEGIN:VALARM",
        "END:VALARM",
        "BEGIN:VTIMEZONE",
        "END:VTIMEZONE",
        "TZID:X",
        "UID:1",
        "DTSTART:20060104T100000Z",
        "DTSTART;TZID=X:20060104T100000",
        "DTSTART;VALUE=DATE:20060104",
        "DTSTART:99991231T235959Z",
        "DTEND:20060104T110000",
        "DUE:20060105",
        "DURATION:P1W",
        "RRULE:FREQ=DAILY",
        "RRULE:FREQ=SECONDLY;BYSECOND=1",
        "RDATE:20060106T100000Z",
        "RECURRENCE-ID:20060105T100000Z",
        "RECURRENCE-ID;RANGE=THISANDFUTURE:20060105T100000Z",
        "TRIGGER:-P9999999D",
        "TRIGGER;RELATED=END:P1D",
        "REPEAT:99",
        "SUMMARY:ß\\, ",
        " folded",
        "FREEBUSY:20060104T100000Z/PT1H,x",
        "BEGIN:VFREEBUSY",
        "END:VFREEBUSY",
        "",
        "x",
    ]);
    prop::collection::vec(line, 0..30).prop_map(|lines| lines.join("\r\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_elements_and_objects_give_an_answer(element in element(), object in object()) {
        let zones = TimeZoneResolver::new();
        let report = Element {
            children: vec![element.clone()],
            ..Element::new(Namespace::CalDav, "calendar-query")
        };
        for root in [&element, &report] {
            if let Ok(query) = parse_calendar_query(root) {
                let _ = query.matches(object.as_bytes(), &zones, &TimeZone::UTC);
            }
            if let Ok(query) = parse_address_query(root) {
                let _ = query.matches(object.as_bytes());
            }
            if let Ok(data) = CalendarData::parse(root) {
                let _ = data.apply(object.as_bytes(), &TimeZone::UTC);
            }
            if let Ok(data) = AddressData::parse(root) {
                let _ = data.apply(object.as_bytes());
            }
            let _ = parse_free_busy_query(root);
        }
    }

    #[test]
    fn any_bytes_are_a_calendar_object(bytes in prop::collection::vec(any::<u8>(), 0..200), text in object()) {
        let zones = TimeZoneResolver::new();
        let query = parse_query(
            "<C:comp-filter name=\"VEVENT\"><C:time-range start=\"20060104T000000Z\"/>\
             <C:comp-filter name=\"VALARM\"><C:time-range end=\"20060104T000000Z\"/></C:comp-filter>\
             </C:comp-filter>",
        ).unwrap();
        let data = [
            "<C:expand start=\"20060104T000000Z\" end=\"20060108T000000Z\"/>",
            "<C:limit-recurrence-set start=\"20060104T000000Z\" end=\"20060108T000000Z\"/>\
             <C:limit-freebusy-set start=\"20060104T000000Z\" end=\"20060108T000000Z\"/>",
        ].map(parse_calendar_data);
        for bytes in [&bytes[..], text.as_bytes()] {
            let _ = query.matches(bytes, &zones, &TimeZone::UTC);
            for data in &data {
                let _ = data.apply(bytes, &TimeZone::UTC);
            }
        }
    }
}
