//! Parts and expansions of calendar objects (RFC 4791 section 9.6).

use super::*;

const OBJECT: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:1\r\n\
    DTSTART;VALUE=DATE:20260101\r\nRRULE:FREQ=WEEKLY\r\nSUMMARY:a long title that is folded\r\n  here\r\n\
    BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT1H\r\nEND:VALARM\r\nEND:VEVENT\r\n\
    BEGIN:VEVENT\r\nUID:1\r\nRECURRENCE-ID;VALUE=DATE:20260108\r\nDTSTART;VALUE=DATE:20260220\r\n\
    END:VEVENT\r\nEND:VCALENDAR\r\n";

fn apply_to(object: &str, data: &str) -> Result<String, QueryError> {
    let data = parse_calendar_data(data);
    let part = data.apply(object.as_bytes(), &TimeZone::UTC)?;
    Ok(String::from_utf8(part.into_owned()).unwrap())
}

fn apply(data: &str) -> String {
    apply_to(OBJECT, data).unwrap()
}

#[test]
fn parts_are_those_that_are_named() {
    assert_eq!(apply(""), OBJECT);
    assert_eq!(apply("<C:comp name=\"VCALENDAR\"/>"), OBJECT);
    let all = "<C:comp name=\"vcalendar\"><C:allprop/><C:allcomp/></C:comp>";
    assert_eq!(apply(all), OBJECT);
    let none = "<C:comp name=\"VCALENDAR\"><C:allprop/></C:comp>";
    assert_eq!(
        apply(none),
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nEND:VCALENDAR\r\n"
    );
    let event = |inner: &str| {
        format!("<C:comp name=\"VCALENDAR\"><C:comp name=\"VEVENT\">{inner}</C:comp></C:comp>")
    };
    assert_eq!(apply(&event("")), OBJECT);
    let summary = "<C:prop name=\"SUMMARY\"/><C:prop name=\"UID\" novalue=\"yes\"/>";
    let head = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\n";
    assert_eq!(
        apply(&event(summary)),
        format!(
            "{head}BEGIN:VEVENT\r\nUID:\r\nSUMMARY:a long title that is folded\r\n  here\r\n\
             END:VEVENT\r\nBEGIN:VEVENT\r\nUID:\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
        )
    );
    let alarm = event("<C:prop name=\"UID\"/><C:comp name=\"VALARM\"/>");
    assert!(apply(&alarm).contains("UID:1\r\nBEGIN:VALARM\r\nACTION:DISPLAY\r\n"));
    let todo = "<C:comp name=\"VCALENDAR\"><C:comp name=\"VTODO\"/></C:comp>";
    assert_eq!(apply(todo), format!("{head}END:VCALENDAR\r\n"));
}

#[test]
fn dates_and_floating_times_stay_as_they_are_in_expansions() {
    let range = |start: &str, end: &str| format!("<C:expand start=\"{start}\" end=\"{end}\"/>");
    let found = apply(&range("20260105T000000Z", "20260116T000000Z"));
    assert_eq!(
        found,
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\n\
         RECURRENCE-ID;VALUE=DATE:20260115\r\nUID:1\r\nDTSTART;VALUE=DATE:20260115\r\n\
         SUMMARY:a long title that is folded\r\n  here\r\nBEGIN:VALARM\r\nACTION:DISPLAY\r\n\
         TRIGGER:-PT1H\r\nEND:VALARM\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    );
    let moved = apply(&range("20260220T000000Z", "20260221T000000Z"));
    assert!(
        moved.contains(
            "RECURRENCE-ID;VALUE=DATE:20260108\r\nUID:1\r\nDTSTART;VALUE=DATE:20260220\r\n"
        ),
        "{moved}"
    );
    assert_eq!(moved.matches("BEGIN:VEVENT").count(), 1);
    let floating = OBJECT.replace("DTSTART;VALUE=DATE:20260101", "DTSTART:20260101T100000");
    let found = apply_to(&floating, &range("20260115T000000Z", "20260116T000000Z")).unwrap();
    assert!(
        found.contains("RECURRENCE-ID:20260115T100000\r\nUID:1\r\nDTSTART:20260115T100000\r\n"),
        "{found}"
    );
}

#[test]
fn a_changed_rest_of_a_series_is_expanded_and_kept() {
    let object = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\n\
        DTSTART;TZID=Europe/Berlin:20260101T100000\r\nDTEND;TZID=Europe/Berlin:20260101T110000\r\n\
        RRULE:FREQ=DAILY\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nUID:1\r\n\
        RECURRENCE-ID;TZID=Europe/Berlin;RANGE=THISANDFUTURE:20260105T100000\r\n\
        DTSTART;TZID=Europe/Berlin:20260105T120000\r\nDTEND;TZID=Europe/Berlin:20260105T123000\r\n\
        X-SEEN;TZID=Europe/Berlin:20260105T120000\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
    let range = "start=\"20260707T000000Z\" end=\"20260708T000000Z\"";
    let expanded = apply_to(object, &format!("<C:expand {range}/>")).unwrap();
    assert_eq!(
        expanded,
        "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nRECURRENCE-ID:20260707T080000Z\r\nUID:1\r\n\
         DTSTART:20260707T100000Z\r\nDTEND:20260707T103000Z\r\nX-SEEN:20260105T110000Z\r\n\
         END:VEVENT\r\nEND:VCALENDAR\r\n"
    );
    let limited = format!("<C:limit-recurrence-set {range}/>");
    assert_eq!(apply_to(object, &limited).unwrap(), object);
    let before = "<C:limit-recurrence-set start=\"20260102T000000Z\" end=\"20260103T000000Z\"/>";
    let kept = apply_to(object, before).unwrap();
    assert_eq!(kept.matches("BEGIN:VEVENT").count(), 1);
}

#[test]
fn todos_are_expanded_by_their_own_rules() {
    let todo = |lines: &str| {
        format!("BEGIN:VCALENDAR\r\nBEGIN:VTODO\r\nUID:1\r\n{lines}END:VTODO\r\nEND:VCALENDAR\r\n")
    };
    let expand = "<C:expand start=\"20260110T000000Z\" end=\"20260112T000000Z\"/>";
    let undated = todo("CREATED:20260101T000000Z\r\n");
    assert_eq!(apply_to(&undated, expand).unwrap(), undated);
    let later = todo("CREATED:20260113T000000Z\r\n");
    assert!(!apply_to(&later, expand).unwrap().contains("VTODO"));
    let due = todo("DUE;VALUE=DATE:20260101\r\nRRULE:FREQ=DAILY\r\n");
    let found = apply_to(&due, expand).unwrap();
    // A due date is at midnight, the end of the range included.
    let dates: Vec<&str> = found.lines().filter(|l| l.starts_with("DUE")).collect();
    assert_eq!(
        dates,
        ["DUE;VALUE=DATE:20260111", "DUE;VALUE=DATE:20260112"]
    );
}

#[test]
fn wrong_parts_are_refused() {
    let error = |element: &str| CalendarData::parse(&parse_xml(CALDAV, element)).unwrap_err();
    for (element, status) in [
        (
            "<C:calendar-data content-type=\"application/calendar+json\"/>",
            403,
        ),
        ("<C:calendar-data version=\"1.0\"/>", 403),
        (
            "<C:calendar-data><C:comp name=\"VEVENT\"/></C:calendar-data>",
            400,
        ),
        ("<C:calendar-data><C:comp/></C:calendar-data>", 400),
        (
            "<C:calendar-data><C:expand start=\"20260101T000000Z\"/></C:calendar-data>",
            400,
        ),
    ] {
        assert_eq!(error(element).status(), status, "{element}");
    }
}

#[test]
fn an_instance_ends_as_in_the_agenda() {
    let event = |lines: &str| {
        format!(
            "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\n{lines}END:VEVENT\r\nEND:VCALENDAR\r\n"
        )
    };
    let range = "<C:expand start=\"20261020T000000Z\" end=\"20261028T000000Z\"/>";
    let ends = |lines: &str| {
        let found = apply_to(&event(lines), range).unwrap();
        let of = |line: &&str| line.starts_with("DUR") || line.starts_with("DTEND");
        found
            .lines()
            .filter(of)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    // A day has 25 hours when summer time ends.
    let berlin = "DTSTART;TZID=Europe/Berlin:20261023T213000\r\nDURATION:P1D\r\nRRULE:FREQ=DAILY;COUNT=3\r\n";
    assert_eq!(
        ends(berlin),
        ["DURATION:P1D", "DTEND:20261025T203000Z", "DURATION:P1D"]
    );
    let weeks = "DTSTART;TZID=Europe/Berlin:20261020T100000\r\nDURATION:P1W\r\n";
    assert_eq!(ends(weeks), ["DTEND:20261027T090000Z"]);
    // A period has a length of its own, whatever the others have.
    for own in ["DURATION:PT1H", "DTEND:20261020T090000Z"] {
        let periods = format!(
            "DTSTART:20261020T080000Z\r\n{own}\r\n\
             RDATE;VALUE=PERIOD:20261021T120000Z/PT3H,20261022T120000Z/20261022T130000Z\r\n"
        );
        let found = ends(&periods);
        assert_eq!(
            (found.len(), found[1].as_str()),
            (3, "DTEND:20261021T150000Z")
        );
    }
    // All day, and floating.
    let dates = "DTSTART;VALUE=DATE:20261024\r\nDURATION:P2D\r\nRRULE:FREQ=DAILY;COUNT=2\r\n";
    assert_eq!(ends(dates), ["DURATION:P2D", "DURATION:P2D"]);
    let floating = "DTSTART:20261024T100000\r\nDURATION:P1DT1H\r\n";
    assert_eq!(ends(floating), ["DURATION:P1DT1H"]);
}
