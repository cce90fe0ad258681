//! Requests of iOS and macOS.

use crate::support::{Served, card, event};

/// The properties that Contacts asks for. Most of them only Apple's server has.
const PROPERTIES: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<A:propfind xmlns:A="DAV:"><A:prop><A:add-member/><B:bulk-requests xmlns:B="http://me.com/_namespace/"/>
<A:current-user-privilege-set/><A:displayname/><C:max-image-size xmlns:C="urn:ietf:params:xml:ns:carddav"/>
<C:max-resource-size xmlns:C="urn:ietf:params:xml:ns:carddav"/><D:me-card xmlns:D="http://calendarserver.org/ns/"/>
<A:owner/><D:push-transports xmlns:D="http://calendarserver.org/ns/"/><D:pushkey xmlns:D="http://calendarserver.org/ns/"/>
<A:quota-available-bytes/><A:quota-used-bytes/><A:resource-id/><A:resourcetype/><A:supported-report-set/>
<A:sync-token/></A:prop></A:propfind>"#;

#[test]
fn unknown_properties_are_missing_in_one_propstat() {
    let served = Served::new();
    let answer = served
        .request("PROPFIND", "/dav/addressbooks/1/")
        .header("depth", "0")
        .header("brief", "t")
        .body(PROPERTIES);
    let brief = answer.lines();
    assert!(!brief.contains("404"), "{brief}");
    assert_eq!(answer.header("preference-applied"), "return=minimal");
    let answer = served
        .request("PROPFIND", "/dav/addressbooks/1/")
        .header("depth", "0")
        .body(PROPERTIES);
    let lines = answer.lines();
    let missing = lines.split_once("  HTTP/1.1 404 Not Found\n").unwrap().1;
    assert_eq!(
        missing,
        "    d:add-member
    http://me.com/_namespace/:bulk-requests
    card:max-image-size
    cs:me-card
    cs:push-transports
    cs:pushkey
    d:quota-available-bytes
    d:quota-used-bytes
    d:resource-id
"
    );
}

#[test]
fn cards_are_version_3_unless_asked_for() {
    let served = Served::new();
    let stored = "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:a\r\nFN:Ada\r\nTEL;PREF=1;VALUE=uri:tel:+49-30-1\r\nEND:VCARD\r\n";
    served.put("/dav/addressbooks/1/a.vcf", stored);
    let ask = |data: &str| {
        let body = format!(
            r#"<B:addressbook-multiget xmlns:B="urn:ietf:params:xml:ns:carddav"><A:prop xmlns:A="DAV:"><A:getetag/>{data}</A:prop><A:href xmlns:A="DAV:">/dav/addressbooks/1/a.vcf</A:href></B:addressbook-multiget>"#
        );
        served
            .request("REPORT", "/dav/addressbooks/1/")
            .header("depth", "1")
            .body(body)
    };
    let text = ask("<B:address-data/>").find("address-data").unwrap().text;
    assert_eq!(
        text,
        "BEGIN:VCARD\r\nVERSION:3.0\r\nN:;;;;\r\nUID:a\r\nFN:Ada\r\nTEL;TYPE=pref:+49-30-1\r\nEND:VCARD\r\n"
    );
    let data = ask(r#"<B:address-data content-type="text/vcard" version="4.0"/>"#);
    assert_eq!(data.find("address-data").unwrap().text, stored);
    let refused = ask(r#"<B:address-data version="5.0"/>"#);
    assert_eq!(
        refused.refusal(),
        (403, "card:supported-address-data".to_owned())
    );
    // GET gives the bytes as they are, unless a version is asked for.
    assert_eq!(served.get("/dav/addressbooks/1/a.vcf").text(), stored);
    let get = served
        .request("GET", "/dav/addressbooks/1/a.vcf")
        .header("accept", "text/vcard; version=3.0")
        .body("");
    assert_eq!(get.text(), text);
    assert_eq!(get.header("etag"), "");
}

#[test]
fn a_calendar_is_made_and_coloured() {
    let served = Served::new();
    let body = r##"<?xml version="1.0" encoding="UTF-8"?>
        <B:mkcalendar xmlns:B="urn:ietf:params:xml:ns:caldav"><A:set xmlns:A="DAV:"><A:prop>
        <A:displayname>Family</A:displayname>
        <D:calendar-color xmlns:D="http://apple.com/ns/ical/" symbolic-color="blue">#1BADF8FF</D:calendar-color>
        <D:calendar-order xmlns:D="http://apple.com/ns/ical/">7</D:calendar-order>
        <B:supported-calendar-component-set><B:comp name="VEVENT"/></B:supported-calendar-component-set>
        <B:calendar-timezone>BEGIN:VCALENDAR&#13;
BEGIN:VTIMEZONE&#13;
TZID:Europe/Berlin&#13;
END:VTIMEZONE&#13;
END:VCALENDAR&#13;
</B:calendar-timezone></A:prop></A:set></B:mkcalendar>"##;
    let path = "/dav/calendars/DB7E6C1F-1AF8-4E52-A0B7-8C7A2B0F0B52/";
    let made = served.request("MKCALENDAR", path).body(body);
    assert_eq!(made.status(), 201, "{}", made.text());
    let body = r#"<A:propfind xmlns:A="DAV:" xmlns:B="urn:ietf:params:xml:ns:caldav" xmlns:D="http://apple.com/ns/ical/"><A:prop><A:displayname/><D:calendar-color/><D:calendar-order/><B:supported-calendar-component-set/><B:calendar-timezone/></A:prop></A:propfind>"#;
    let answer = served
        .request("PROPFIND", path)
        .header("depth", "0")
        .body(body);
    assert_eq!(
        answer.lines(),
        format!(
            "207
{path}
  HTTP/1.1 200 OK
    d:displayname Family
    ic:calendar-color symbolic-color=blue #1BADF8FF
    ic:calendar-order 7
    c:supported-calendar-component-set
      c:comp name=VEVENT
    c:calendar-timezone BEGIN:VCALENDAR\\r\\nBEGIN:VTIMEZONE\\r\\nTZID:Europe/Berlin\\r\\nEND:VTIMEZONE\\r\\nEND:VCALENDAR
"
        )
    );
    let calendar = served
        .store
        .collection::<etui::calendar::CalendarObject>(Some("Family"))
        .unwrap();
    assert_eq!(calendar.color().unwrap().unwrap().to_string(), "#1badf8");
    // A to-do does not belong there.
    let todo = event("t", "Buy tea", 5)
        .replace("VEVENT", "VTODO")
        .replace("DTEND", "DUE");
    let answer = served.request("PUT", &format!("{path}t.ics")).body(todo);
    assert_eq!(
        answer.refusal(),
        (403, "c:supported-calendar-component".to_owned())
    );
    served.put(&format!("{path}e.ics"), &event("e", "Tea", 5));
}

#[test]
fn a_name_and_a_colour_are_changed() {
    let served = Served::new();
    let body = r##"<A:propertyupdate xmlns:A="DAV:"><A:set><A:prop><A:displayname>Private</A:displayname>
        <D:calendar-color xmlns:D="http://apple.com/ns/ical/">#CC73E1FF</D:calendar-color></A:prop></A:set>
        <A:remove><A:prop><D:calendar-order xmlns:D="http://apple.com/ns/ical/"/></A:prop></A:remove>
        </A:propertyupdate>"##;
    let answer = served.request("PROPPATCH", "/dav/calendars/2/").body(body);
    assert_eq!(
        answer.lines(),
        "207
/dav/calendars/2/
  HTTP/1.1 200 OK
    d:displayname
    ic:calendar-color
    ic:calendar-order
"
    );
    assert_eq!(
        served
            .store
            .collections::<etui::calendar::CalendarObject>()
            .names()
            .unwrap(),
        ["Private"]
    );
}

#[test]
fn groups_and_members_are_expanded() {
    let served = Served::new();
    served.put("/dav/addressbooks/1/a.vcf", &card("a", "Ada"));
    let body = r#"<A:expand-property xmlns:A="DAV:">
        <A:property name="current-user-principal"><A:property name="displayname"/>
          <A:property name="calendar-home-set" namespace="urn:ietf:params:xml:ns:caldav"/><A:property name="x"/></A:property>
        <A:property name="displayname"/><A:property name="nothing" namespace="urn:x"/></A:expand-property>"#;
    let answer = served
        .request("REPORT", "/dav/addressbooks/1/")
        .header("depth", "0")
        .body(body);
    assert_eq!(
        answer.lines(),
        "207
/dav/addressbooks/1/
  HTTP/1.1 200 OK
    d:current-user-principal
      d:response
        d:href /dav/me/
        d:propstat
          d:prop
            d:displayname ada
            c:calendar-home-set
              d:href /dav/calendars/
          d:status HTTP/1.1 200 OK
        d:propstat
          d:prop
            d:x
          d:status HTTP/1.1 404 Not Found
    d:displayname Contacts
  HTTP/1.1 404 Not Found
    urn:x:nothing
"
    );
}

#[test]
fn the_principal_is_searched_by_its_name() {
    let served = Served::new();
    let body = r#"<A:principal-search-property-set xmlns:A="DAV:"/>"#;
    let answer = served.request("REPORT", "/dav/").body(body);
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.find("prop").unwrap().children[0].name, "displayname");
    let search = |searches: &str| {
        let body = format!(
            r#"<A:principal-property-search xmlns:A="DAV:">{searches}<A:prop><A:displayname/></A:prop></A:principal-property-search>"#
        );
        served
            .request("REPORT", "/dav/")
            .header("depth", "0")
            .body(body)
            .hrefs()
    };
    let by = |property: &str, text: &str| {
        format!(
            "<A:property-search><A:prop><A:{property}/></A:prop><A:match>{text}</A:match></A:property-search>"
        )
    };
    assert_eq!(search(&by("displayname", "AD")), ["/dav/me/"]);
    assert_eq!(search(&by("principal-URL", "/me")), ["/dav/me/"]);
    assert_eq!(
        search(&(by("displayname", "ada") + &by("displayname", "bo"))),
        [""; 0]
    );
    assert_eq!(search(&by("email", "ada")), [""; 0]);
    assert_eq!(search(""), ["/dav/me/"]);
    let body = r#"<A:principal-match xmlns:A="DAV:"><A:self/></A:principal-match>"#;
    let answer = served.request("REPORT", "/dav/").body(body);
    assert_eq!(answer.lines(), "207\n/dav/me/\n  HTTP/1.1 200 OK\n");
}
