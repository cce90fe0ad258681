//! `calendar-query`, `addressbook-query` and `free-busy-query` over HTTP.

use crate::support::{Answer, Served, card, event};

const CALENDAR: &str = "/dav/calendars/2/";
const BOOK: &str = "/dav/addressbooks/1/";

fn week(served: &Served, data: &str) -> Answer {
    let body = format!(
        r#"<C:calendar-query xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:prop><D:getetag/>{data}</D:prop>
        <C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT">
        <C:time-range start="20260105T000000Z" end="20260112T000000Z"/></C:comp-filter></C:comp-filter></C:filter></C:calendar-query>"#
    );
    served
        .request("REPORT", CALENDAR)
        .header("depth", "1")
        .body(body)
}

#[test]
fn a_week_is_queried() {
    let served = Served::new();
    for day in 1..=20 {
        served.put(
            &format!("{CALENDAR}{day}.ics"),
            &event(&day.to_string(), "Tea", day),
        );
    }
    let answer = week(&served, "");
    assert_eq!(answer.outcome.kind, "calendar-query");
    let expected: Vec<String> = (5..=11).map(|day| format!("{CALENDAR}{day}.ics")).collect();
    assert_eq!(answer.hrefs(), expected);
    let whole = week(&served, "<C:calendar-data/>");
    assert_eq!(
        whole.find("calendar-data").unwrap().text,
        event("5", "Tea", 5)
    );
    assert_eq!(whole.outcome.read, 7);
}

#[test]
fn a_series_is_expanded() {
    let served = Served::new();
    let daily = event("d", "Walk", 1).replace("SUMMARY", "RRULE:FREQ=DAILY;COUNT=30\r\nSUMMARY");
    served.put(&format!("{CALENDAR}d.ics"), &daily);
    let expand = r#"<C:calendar-data><C:expand start="20260105T000000Z" end="20260107T000000Z"/></C:calendar-data>"#;
    let text = week(&served, expand).find("calendar-data").unwrap().text;
    assert_eq!(text.matches("BEGIN:VEVENT").count(), 2, "{text}");
    assert!(
        text.contains("DTSTART:20260106T100000Z") && !text.contains("RRULE"),
        "{text}"
    );
}

#[test]
fn an_expansion_beyond_limits_refuses_one_resource() {
    let served = Served::new();
    let often = event("o", "Tick", 1).replace("SUMMARY", "RRULE:FREQ=SECONDLY\r\nSUMMARY");
    served.put(&format!("{CALENDAR}o.ics"), &often);
    served.put(&format!("{CALENDAR}p.ics"), &event("p", "Tea", 6));
    let expand = r#"<C:calendar-data><C:expand start="20260105T000000Z" end="20260112T000000Z"/></C:calendar-data>"#;
    let lines = week(&served, expand).lines();
    assert!(
        lines
            .contains("o.ics\n  d:status HTTP/1.1 403 Forbidden\n  d:error\n    c:max-instances\n"),
        "{lines}"
    );
    assert!(lines.contains("p.ics\n  HTTP/1.1 200 OK"), "{lines}");
}

#[test]
fn a_bad_filter_is_refused() {
    let served = Served::new();
    let query = |filter: &str| {
        let body = format!(
            r#"<C:calendar-query xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:prop><D:getetag/></D:prop><C:filter>{filter}</C:filter></C:calendar-query>"#
        );
        served.request("REPORT", CALENDAR).body(body)
    };
    assert_eq!(query("").refusal(), (403, "c:valid-filter".to_owned()));
    let collation = r#"<C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT"><C:prop-filter name="SUMMARY"><C:text-match collation="i;klingon">x</C:text-match></C:prop-filter></C:comp-filter></C:comp-filter>"#;
    assert_eq!(
        query(collation).refusal(),
        (403, "c:supported-collation".to_owned())
    );
    // A query of the other kind is none of this collection's.
    let book = r#"<B:addressbook-query xmlns:B="urn:ietf:params:xml:ns:carddav"/>"#;
    assert_eq!(
        served.request("REPORT", CALENDAR).body(book).refusal(),
        (403, "d:supported-report".to_owned())
    );
}

#[test]
fn contacts_are_queried_up_to_a_limit() {
    let served = Served::new();
    for n in 0..5 {
        served.put(
            &format!("{BOOK}{n}.vcf"),
            &card(&n.to_string(), &format!("Müller {n}")),
        );
    }
    served.put(&format!("{BOOK}x.vcf"), &card("x", "Schmidt"));
    let query = |limit: &str| {
        let body = format!(
            r#"<B:addressbook-query xmlns:D="DAV:" xmlns:B="urn:ietf:params:xml:ns:carddav"><D:prop><D:getetag/><B:address-data><B:prop name="FN"/></B:address-data></D:prop>
            <B:filter><B:prop-filter name="FN"><B:text-match collation="i;unicode-casemap" match-type="contains">MÜLL</B:text-match></B:prop-filter></B:filter>{limit}</B:addressbook-query>"#
        );
        served
            .request("REPORT", BOOK)
            .header("depth", "1")
            .body(body)
    };
    let answer = query("");
    assert_eq!(answer.hrefs().len(), 5);
    let text = answer.find("address-data").unwrap().text;
    assert_eq!(
        text,
        "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Müller 0\r\nEND:VCARD\r\n"
    );
    let cut = query("<B:limit><B:nresults>2</B:nresults></B:limit>");
    assert_eq!(cut.hrefs().len(), 3);
    assert!(
        cut.lines()
            .contains("/dav/addressbooks/1/\n  d:status HTTP/1.1 507"),
        "{}",
        cut.lines()
    );
}

#[test]
fn busy_time_is_told() {
    let served = Served::new();
    served.put(&format!("{CALENDAR}e.ics"), &event("e", "Tea", 6));
    let body = r#"<C:free-busy-query xmlns:C="urn:ietf:params:xml:ns:caldav"><C:time-range start="20260105T000000Z" end="20260112T000000Z"/></C:free-busy-query>"#;
    let answer = served
        .request("REPORT", CALENDAR)
        .header("depth", "1")
        .body(body);
    assert_eq!(answer.status(), 200);
    assert_eq!(
        answer.header("content-type"),
        "text/calendar; charset=utf-8; component=vfreebusy"
    );
    assert!(
        answer
            .text()
            .contains("FREEBUSY;FBTYPE=BUSY:20260106T100000Z/20260106T110000Z\r\n"),
        "{}",
        answer.text()
    );
}

#[test]
fn dates_are_in_the_zone_of_the_calendar() {
    let served = Served::new();
    let zone = "BEGIN:VCALENDAR\r\nBEGIN:VTIMEZONE\r\nTZID:Ship\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\n\
                TZOFFSETFROM:+1200\r\nTZOFFSETTO:+1200\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\nEND:VCALENDAR\r\n";
    let body = format!(
        r#"<propertyupdate xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><set><prop><C:calendar-timezone>{}</C:calendar-timezone></prop></set></propertyupdate>"#,
        zone.replace('\r', "&#13;")
    );
    assert!(
        served
            .request("PROPPATCH", CALENDAR)
            .body(body)
            .lines()
            .contains("200 OK")
    );
    let day = |date: &str| {
        let object = event("x", "Day", 1);
        let start = object.find("DTSTART").unwrap();
        let end = object.find("SUMMARY").unwrap();
        let object = object.replace(
            &object[start..end],
            &format!("DTSTART;VALUE=DATE:{date}\r\n"),
        );
        object.replace("UID:x", &format!("UID:{date}"))
    };
    // At +12:00 the fourth of January ends at noon UTC, and the eleventh too.
    for date in ["20260104", "20260105", "20260111", "20260112"] {
        served.put(&format!("{CALENDAR}{date}.ics"), &day(date));
    }
    let expected = ["20260105", "20260111", "20260112"].map(|date| format!("{CALENDAR}{date}.ics"));
    assert_eq!(week(&served, "").hrefs(), expected);
    // Or that of its id.
    let body = r#"<propertyupdate xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><remove><prop><C:calendar-timezone/></prop></remove><set><prop><C:calendar-timezone-id>Pacific/Honolulu</C:calendar-timezone-id></prop></set></propertyupdate>"#;
    assert!(
        served
            .request("PROPPATCH", CALENDAR)
            .body(body)
            .lines()
            .contains("200 OK")
    );
    let expected = ["20260104", "20260105", "20260111"].map(|date| format!("{CALENDAR}{date}.ics"));
    assert_eq!(week(&served, "").hrefs(), expected);
}
