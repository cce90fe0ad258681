//! The examples of RFC 4791 sections 7.8 and 7.10, over the objects of its appendix B.

use super::*;

/// Begins each object of the appendix that has times in a time zone.
const ZONE: &str = "BEGIN:VTIMEZONE\nLAST-MODIFIED:20040110T032845Z\nTZID:US/Eastern\n\
    BEGIN:DAYLIGHT\nDTSTART:20000404T020000\nRRULE:FREQ=YEARLY;BYDAY=1SU;BYMONTH=4\nTZNAME:EDT\n\
    TZOFFSETFROM:-0500\nTZOFFSETTO:-0400\nEND:DAYLIGHT\n\
    BEGIN:STANDARD\nDTSTART:20001026T020000\nRRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10\nTZNAME:EST\n\
    TZOFFSETFROM:-0400\nTZOFFSETTO:-0500\nEND:STANDARD\nEND:VTIMEZONE\n";

/// abcd1.ics to abcd7.ics.
const COMPONENTS: [&str; 7] = [
    "BEGIN:VEVENT\nDTSTAMP:20060206T001102Z\nDTSTART;TZID=US/Eastern:20060102T100000\n\
     DURATION:PT1H\nSUMMARY:Event #1\nDescription:Go Steelers!\n\
     UID:74855313FA803DA593CD579A@example.com\nEND:VEVENT\n",
    "BEGIN:VEVENT\nDTSTAMP:20060206T001121Z\nDTSTART;TZID=US/Eastern:20060102T120000\n\
     DURATION:PT1H\nRRULE:FREQ=DAILY;COUNT=5\nSUMMARY:Event #2\n\
     UID:00959BC664CA650E933C892C@example.com\nEND:VEVENT\n\
     BEGIN:VEVENT\nDTSTAMP:20060206T001121Z\nDTSTART;TZID=US/Eastern:20060104T140000\n\
     DURATION:PT1H\nRECURRENCE-ID;TZID=US/Eastern:20060104T120000\nSUMMARY:Event #2 bis\n\
     UID:00959BC664CA650E933C892C@example.com\nEND:VEVENT\n\
     BEGIN:VEVENT\nDTSTAMP:20060206T001121Z\nDTSTART;TZID=US/Eastern:20060106T140000\n\
     DURATION:PT1H\nRECURRENCE-ID;TZID=US/Eastern:20060106T120000\nSUMMARY:Event #2 bis bis\n\
     UID:00959BC664CA650E933C892C@example.com\nEND:VEVENT\n",
    "BEGIN:VEVENT\nATTENDEE;PARTSTAT=ACCEPTED;ROLE=CHAIR:mailto:cyrus@example.com\n\
     ATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:lisa@example.com\nDTSTAMP:20060206T001220Z\n\
     DTSTART;TZID=US/Eastern:20060104T100000\nDURATION:PT1H\nLAST-MODIFIED:20060206T001330Z\n\
     ORGANIZER:mailto:cyrus@example.com\nSEQUENCE:1\nSTATUS:TENTATIVE\nSUMMARY:Event #3\n\
     UID:DC6C50A017428C5216A2F1CD@example.com\nX-ABC-GUID:E1CX5Dr-0007ym-Hz@example.com\n\
     END:VEVENT\n",
    "BEGIN:VTODO\nDTSTAMP:20060205T235335Z\nDUE;VALUE=DATE:20060104\nSTATUS:NEEDS-ACTION\n\
     SUMMARY:Task #1\nUID:DDDEEB7915FA61233B861457@example.com\n\
     BEGIN:VALARM\nACTION:AUDIO\nTRIGGER;RELATED=START:-PT10M\nEND:VALARM\nEND:VTODO\n",
    "BEGIN:VTODO\nDTSTAMP:20060205T235300Z\nDUE;TZID=US/Eastern:20060106T120000\n\
     LAST-MODIFIED:20060205T235308Z\nSEQUENCE:1\nSTATUS:NEEDS-ACTION\nSUMMARY:Task #2\n\
     UID:E10BA47467C5C69BB74E8720@example.com\n\
     BEGIN:VALARM\nACTION:AUDIO\nTRIGGER;RELATED=START:-PT10M\nEND:VALARM\nEND:VTODO\n",
    "BEGIN:VTODO\nCOMPLETED:20051223T122322Z\nDTSTAMP:20060205T235400Z\nDUE;VALUE=DATE:20051225\n\
     LAST-MODIFIED:20060205T235308Z\nSEQUENCE:1\nSTATUS:COMPLETED\nSUMMARY:Task #3\n\
     UID:E10BA47467C5C69BB74E8722@example.com\nEND:VTODO\n",
    "BEGIN:VTODO\nDTSTAMP:20060205T235600Z\nDUE;VALUE=DATE:20060101\n\
     LAST-MODIFIED:20060205T235308Z\nSEQUENCE:1\nSTATUS:CANCELLED\nSUMMARY:Task #4\n\
     UID:E10BA47467C5C69BB74E8725@example.com\nEND:VTODO\n",
];

/// abcd8.ics.
const FREE_BUSY: &str = "BEGIN:VFREEBUSY\nORGANIZER;CN=\"Bernard Desruisseaux\":mailto:bernard@example.com\n\
    UID:76ef34-54a3d2@example.com\nDTSTAMP:20050530T123421Z\nDTSTART:20060101T000000Z\n\
    DTEND:20060108T000000Z\nFREEBUSY:20050531T230000Z/20050601T010000Z\n\
    FREEBUSY;FBTYPE=BUSY-TENTATIVE:20060102T100000Z/20060102T120000Z\n\
    FREEBUSY:20060103T100000Z/20060103T120000Z\nFREEBUSY:20060104T100000Z/20060104T120000Z\n\
    FREEBUSY;FBTYPE=BUSY-UNAVAILABLE:20060105T100000Z/20060105T120000Z\n\
    FREEBUSY:20060106T100000Z/20060106T120000Z\nEND:VFREEBUSY\n";

/// Returns an object of the appendix.
fn object(components: &str) -> String {
    let zone = if components.contains("TZID=") {
        ZONE
    } else {
        ""
    };
    let head = "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//Example Corp.//CalDAV Client//EN\n";
    format!("{head}{zone}{components}END:VCALENDAR\n")
}

fn store() -> TestStore {
    TestStore::with_calendar(COMPONENTS.map(object).concat().as_bytes())
}

/// Returns the numbers of the objects that match conditions on the `VCALENDAR`.
fn ask(store: &TestStore, conditions: &str) -> Vec<usize> {
    let query = parse_query(conditions).unwrap();
    let found = store.find(&query, &TimeZone::UTC);
    // The evaluation of whole objects agrees.
    let zones = etui::calendar::zones::TimeZoneResolver::new();
    let numbers = |uid: &String| 1 + COMPONENTS.iter().position(|c| c.contains(uid)).unwrap();
    let found: Vec<usize> = found.iter().map(numbers).collect();
    let is_match = |n: &usize| {
        let object = object(COMPONENTS[n - 1]);
        query.matches(object.as_bytes(), &zones, &TimeZone::UTC)
    };
    assert_eq!((1..=7).filter(is_match).collect::<Vec<_>>(), found);
    found
}

fn within(component: &str, conditions: &str) -> String {
    format!("<C:comp-filter name=\"{component}\">{conditions}</C:comp-filter>")
}

fn range(name: &str, start: &str, end: &str) -> String {
    format!("<C:{name} start=\"{start}\" end=\"{end}\"/>")
}

fn apply(data: &str, number: usize) -> String {
    let object = object(COMPONENTS[number - 1]);
    let data = parse_calendar_data(data);
    let part = data.apply(object.as_bytes(), &TimeZone::UTC).unwrap();
    String::from_utf8(part.into_owned()).unwrap()
}

#[test]
fn partial_retrieval_of_events_by_time_range_7_8_1() {
    let time = range("time-range", "20060104T000000Z", "20060105T000000Z");
    assert_eq!(ask(&store(), &within("VEVENT", &time)), [2, 3]);
    let props = [
        "SUMMARY", "UID", "DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "EXRULE",
    ];
    let props: String = props
        .iter()
        .chain(&["EXDATE", "RECURRENCE-ID"])
        .map(|name| format!("<C:prop name=\"{name}\"/>"))
        .collect();
    let data = format!(
        "<C:comp name=\"VCALENDAR\"><C:prop name=\"VERSION\"/><C:comp name=\"VEVENT\">{props}\
         </C:comp><C:comp name=\"VTIMEZONE\"/></C:comp>"
    );
    let expected = format!(
        "BEGIN:VCALENDAR\nVERSION:2.0\n{ZONE}BEGIN:VEVENT\n\
         DTSTART;TZID=US/Eastern:20060104T100000\nDURATION:PT1H\nSUMMARY:Event #3\n\
         UID:DC6C50A017428C5216A2F1CD@example.com\nEND:VEVENT\nEND:VCALENDAR\n"
    );
    assert_eq!(apply(&data, 3), expected);
    assert_eq!(apply(&data, 2).matches("BEGIN:VEVENT").count(), 3);
    assert!(!apply(&data, 2).contains("DTSTAMP"));
}

#[test]
fn partial_retrieval_of_recurring_events_7_8_2() {
    let time = range("time-range", "20060103T000000Z", "20060105T000000Z");
    assert_eq!(ask(&store(), &within("VEVENT", &time)), [2, 3]);
    let limit = range(
        "limit-recurrence-set",
        "20060103T000000Z",
        "20060105T000000Z",
    );
    let limited = apply(&limit, 2);
    let whole = object(COMPONENTS[1]);
    let (kept, _) = whole.split_at(
        whole
            .find("BEGIN:VEVENT\nDTSTAMP:20060206T001121Z\nDTSTART;TZID=US/Eastern:20060106")
            .unwrap(),
    );
    assert_eq!(limited, format!("{kept}END:VCALENDAR\n"));
    assert_eq!(apply(&limit, 3), object(COMPONENTS[2]));
}

#[test]
fn expanded_retrieval_of_recurring_events_7_8_3() {
    let expand = range("expand", "20060103T000000Z", "20060105T000000Z");
    assert_eq!(
        apply(&expand, 2),
        "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//Example Corp.//CalDAV Client//EN\n\
         BEGIN:VEVENT\nRECURRENCE-ID:20060103T170000Z\nDTSTAMP:20060206T001121Z\n\
         DTSTART:20060103T170000Z\nDURATION:PT1H\nSUMMARY:Event #2\n\
         UID:00959BC664CA650E933C892C@example.com\nEND:VEVENT\n\
         BEGIN:VEVENT\nRECURRENCE-ID:20060104T170000Z\nDTSTAMP:20060206T001121Z\n\
         DTSTART:20060104T190000Z\nDURATION:PT1H\nSUMMARY:Event #2 bis\n\
         UID:00959BC664CA650E933C892C@example.com\nEND:VEVENT\nEND:VCALENDAR\n"
    );
    let once = object(COMPONENTS[2]).replace(ZONE, "").replace(
        "DTSTART;TZID=US/Eastern:20060104T100000",
        "DTSTART:20060104T150000Z",
    );
    assert_eq!(apply(&expand, 3), once);
}

#[test]
fn partial_retrieval_of_stored_free_busy_components_7_8_4() {
    let time = range("time-range", "20060102T000000Z", "20060103T000000Z");
    let query = parse_query(&within("VFREEBUSY", &time)).unwrap();
    let object = object(FREE_BUSY);
    let zones = etui::calendar::zones::TimeZoneResolver::new();
    assert!(query.matches(object.as_bytes(), &zones, &TimeZone::UTC));
    assert_eq!(ask(&store(), &within("VFREEBUSY", &time)), [0; 0]);
    let data = parse_calendar_data(&range(
        "limit-freebusy-set",
        "20060102T000000Z",
        "20060103T000000Z",
    ));
    let part = data.apply(object.as_bytes(), &TimeZone::UTC).unwrap();
    let lines: Vec<&str> = std::str::from_utf8(&part).unwrap().lines().collect();
    let periods: Vec<&str> = lines
        .into_iter()
        .filter(|l| l.starts_with("FREEBUSY"))
        .collect();
    assert_eq!(
        periods,
        ["FREEBUSY;FBTYPE=BUSY-TENTATIVE:20060102T100000Z/20060102T120000Z"]
    );
}

#[test]
fn retrieval_of_todos_by_alarm_time_range_7_8_5() {
    let time = range("time-range", "20060106T100000Z", "20060107T100000Z");
    let alarm = within("VALARM", &time);
    assert_eq!(ask(&store(), &within("VTODO", &alarm)), [5]);
    assert_eq!(ask(&store(), &within("VEVENT", &alarm)), [0; 0]);
}

#[test]
fn retrieval_of_an_event_by_uid_7_8_6() {
    let uid = "<C:prop-filter name=\"UID\"><C:text-match collation=\"i;octet\"\n\
               >DC6C50A017428C5216A2F1CD@example.com</C:text-match></C:prop-filter>";
    assert_eq!(ask(&store(), &within("VEVENT", uid)), [3]);
}

#[test]
fn retrieval_of_events_by_partstat_7_8_7() {
    let attendee = |answer: &str| {
        within(
            "VEVENT",
            &format!(
                "<C:prop-filter name=\"ATTENDEE\"><C:text-match collation=\"i;ascii-casemap\"\
                 >mailto:lisa@example.com</C:text-match><C:param-filter name=\"PARTSTAT\">\
                 <C:text-match collation=\"i;ascii-casemap\">{answer}</C:text-match>\
                 </C:param-filter></C:prop-filter>"
            ),
        )
    };
    assert_eq!(ask(&store(), &attendee("NEEDS-ACTION")), [3]);
    // Another attendee has this one.
    assert_eq!(ask(&store(), &attendee("ACCEPTED")), [0; 0]);
}

#[test]
fn retrieval_of_events_only_7_8_8() {
    assert_eq!(ask(&store(), &within("VEVENT", "")), [1, 2, 3]);
    assert_eq!(ask(&store(), ""), [1, 2, 3, 4, 5, 6, 7]);
    let not = within("VEVENT", "<C:is-not-defined/>");
    assert_eq!(ask(&store(), &not), [4, 5, 6, 7]);
}

#[test]
fn retrieval_of_all_pending_todos_7_8_9() {
    let pending = "<C:prop-filter name=\"COMPLETED\"><C:is-not-defined/></C:prop-filter>\
        <C:prop-filter name=\"STATUS\"><C:text-match negate-condition=\"yes\">CANCELLED\
        </C:text-match></C:prop-filter>";
    assert_eq!(ask(&store(), &within("VTODO", pending)), [4, 5]);
}

/// The error of an unsupported filter, and conditions on the object around the components.
#[test]
fn conditions_on_the_whole_object_7_8_10() {
    let refused = within(
        "VEVENT",
        "<C:prop-filter name=\"SUMMARY\"><C:time-range start=\"20060101T000000Z\"/></C:prop-filter>",
    );
    assert_eq!(
        parse_query(&refused).unwrap_err().precondition().unwrap().1,
        "valid-filter"
    );
    let zone = within("VTIMEZONE", "");
    assert_eq!(ask(&store(), &zone), [1, 2, 3, 5]);
    let program =
        "<C:prop-filter name=\"PRODID\"><C:text-match>example corp</C:text-match></C:prop-filter>";
    assert_eq!(ask(&store(), program).len(), 7);
}

#[test]
fn properties_have_time_ranges() {
    let store = store();
    let by = |component: &str, name: &str, start: &str, end: &str| {
        let filter = format!(
            "<C:prop-filter name=\"{name}\">{}</C:prop-filter>",
            range("time-range", start, end)
        );
        ask(&store, &within(component, &filter))
    };
    let (day, next) = ("20060102T000000Z", "20060103T000000Z");
    assert_eq!(by("VEVENT", "DTSTART", day, next), [1, 2]);
    assert_eq!(by("VEVENT", "DTSTART", "20060102T170000Z", next), [2]);
    assert_eq!(by("VEVENT", "DTSTART", day, "20060102T150000Z"), [0; 0]);
    // The end follows from DTSTART and DURATION.
    assert_eq!(
        by("VEVENT", "DTEND", "20060102T160000Z", "20060102T160001Z"),
        [1]
    );
    assert_eq!(
        by("VTODO", "DUE", "20060104T000000Z", "20060105T000000Z"),
        [4]
    );
    assert_eq!(by("VTODO", "COMPLETED", "20051223T122322Z", day), [6]);
    assert_eq!(by("VTODO", "COMPLETED", "20051223T122323Z", day), [0; 0]);
    assert_eq!(
        by(
            "VEVENT",
            "LAST-MODIFIED",
            "20060206T001330Z",
            "20060206T001331Z"
        ),
        [3]
    );
}

#[test]
fn floating_times_are_in_the_zone_of_the_request() {
    let event = "BEGIN:VEVENT\nUID:f\nDTSTAMP:20060101T000000Z\nDTSTART:20060102T100000\n\
                 DURATION:PT1H\nEND:VEVENT\n";
    let store = TestStore::with_calendar(object(event).as_bytes());
    let time = range("time-range", "20060102T150000Z", "20060102T160000Z");
    let filter = format!(
        "<C:filter>{}</C:filter>",
        within("VCALENDAR", &within("VEVENT", &time))
    );
    let ask = |zone: &str| {
        let document = format!("<C:calendar-query>{filter}{zone}</C:calendar-query>");
        let query = parse_calendar_query(&parse_xml(CALDAV, &document));
        query.map(|query| store.find(&query, &TimeZone::UTC).len())
    };
    assert_eq!(ask("").unwrap(), 0);
    let eastern = format!("<C:timezone>BEGIN:VCALENDAR\n{ZONE}END:VCALENDAR\n</C:timezone>");
    assert_eq!(ask(&eastern).unwrap(), 1);
    assert_eq!(
        ask("<C:timezone-id>America/New_York</C:timezone-id>").unwrap(),
        1
    );
    let refused = |zone: &str| ask(zone).unwrap_err().precondition().unwrap().1;
    assert_eq!(refused("<C:timezone>x</C:timezone>"), "valid-calendar-data");
    assert_eq!(
        refused("<C:timezone-id>Nowhere</C:timezone-id>"),
        "valid-timezone"
    );
    let query = parse_query(&within("VEVENT", &time)).unwrap();
    let new_york = TimeZone::named("America/New_York").unwrap();
    assert_eq!(store.find(&query, &new_york), ["f"]);
}

#[test]
fn free_busy_query_7_10_1() {
    let document = "<C:free-busy-query><C:time-range start=\"20060104T140000Z\" \
                    end=\"20060105T220000Z\"/></C:free-busy-query>";
    let asked = parse_free_busy_query(&parse_xml(CALDAV, document)).unwrap();
    let store = store();
    let snapshot = store.store.snapshot().unwrap();
    let reader = snapshot.calendar().unwrap();
    let now = instant("20050125T090000Z");
    let answer = free_busy(&reader, &asked, &TimeZone::UTC, now, false).unwrap();
    assert_eq!(
        String::from_utf8(answer).unwrap().replace("\r\n", "\n"),
        "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//etui//etui//EN\nBEGIN:VFREEBUSY\n\
         UID:etui-20060104T140000Z-20060105T220000Z\nDTSTAMP:20050125T090000Z\n\
         DTSTART:20060104T140000Z\nDTEND:20060105T220000Z\n\
         FREEBUSY;FBTYPE=BUSY-TENTATIVE:20060104T150000Z/20060104T160000Z\n\
         FREEBUSY;FBTYPE=BUSY:20060104T190000Z/20060104T200000Z\n\
         FREEBUSY;FBTYPE=BUSY:20060105T170000Z/20060105T180000Z\n\
         END:VFREEBUSY\nEND:VCALENDAR\n"
    );
    for refused in [
        "<C:free-busy-query/>",
        "<C:free-busy-query><C:time-range start=\"20060104T140000Z\"/></C:free-busy-query>",
    ] {
        let error = parse_free_busy_query(&parse_xml(CALDAV, refused)).unwrap_err();
        assert_eq!(error.status(), 400);
    }
}
