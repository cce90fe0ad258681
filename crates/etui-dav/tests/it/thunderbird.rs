//! Requests of Thunderbird's address book and calendar.

use crate::support::{Answer, Served, card, event};

const AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Thunderbird/140.3.0";
const BOOK: &str = "/dav/addressbooks/1/";

fn send(served: &Served, method: &str, path: &str, depth: &str, body: &str) -> Answer {
    served
        .request(method, path)
        .header("user-agent", AGENT)
        .header("content-type", "text/xml; charset=utf-8")
        .header("depth", depth)
        .body(body)
}

fn sync(token: &str) -> String {
    format!(
        r#"<sync-collection xmlns="DAV:" xmlns:card="urn:ietf:params:xml:ns:carddav">
        <sync-token>{token}</sync-token><sync-level>1</sync-level>
        <prop><getetag/><card:address-data/></prop></sync-collection>"#
    )
}

#[test]
fn cards_come_with_the_changes() {
    let served = Served::new();
    let path = format!("{BOOK}a.vcf");
    // No condition at all.
    assert_eq!(
        served.request("PUT", &path).body(card("a", "Ada")).status(),
        201
    );
    let answer = send(&served, "REPORT", BOOK, "1", &sync(""));
    let lines = answer.lines();
    assert!(
        lines.contains("card:address-data content-type=text/vcard version=3.0 BEGIN:VCARD\\r\\n"),
        "{lines}"
    );
    let token = answer.find("sync-token").unwrap().text;
    assert_eq!(served.request("DELETE", &path).body("").status(), 204);
    let answer = send(&served, "REPORT", BOOK, "1", &sync(&token));
    assert_eq!(
        answer.lines(),
        format!("207\n{path}\n  d:status HTTP/1.1 404 Not Found\nd:sync-token TOKEN\n")
    );
}

#[test]
fn a_refused_token_is_answered_400() {
    let served = Served::new();
    let answer = send(&served, "REPORT", BOOK, "1", &sync("data:,spoilt"));
    assert_eq!(answer.refusal(), (400, "d:valid-sync-token".to_owned()));
}

#[test]
fn a_book_is_listed_first() {
    let served = Served::new();
    let tag = served.put(&format!("{BOOK}a.vcf"), &card("a", "Ada"));
    let body = r#"<propfind xmlns="DAV:" xmlns:cs="http://calendarserver.org/ns/"><prop><getetag/><resourcetype/><cs:x/></prop></propfind>"#;
    let answer = send(&served, "PROPFIND", BOOK, "1", body);
    assert_eq!(
        answer.lines(),
        format!(
            "207
{BOOK}
  HTTP/1.1 200 OK
    d:resourcetype
      d:collection
      card:addressbook
  HTTP/1.1 404 Not Found
    d:getetag
    cs:x
{BOOK}a.vcf
  HTTP/1.1 200 OK
    d:getetag {}
    d:resourcetype
  HTTP/1.1 404 Not Found
    cs:x
",
            tag.escape_debug()
        )
    );
}

#[test]
fn a_calendar_is_synchronised_with_content_types() {
    let served = Served::new();
    let path = "/dav/calendars/2/tea.ics";
    let tag = served.put(path, &event("tea", "Tea", 5));
    let body = r#"<sync-collection xmlns="DAV:"><sync-token/><sync-level>1</sync-level><prop><getcontenttype/><getetag/></prop></sync-collection>"#;
    let answer = send(&served, "REPORT", "/dav/calendars/2/", "1", body);
    assert_eq!(
        answer.lines(),
        format!(
            "207
{path}
  HTTP/1.1 200 OK
    d:getcontenttype text/calendar; charset=utf-8
    d:getetag {}
d:sync-token TOKEN
",
            tag.escape_debug()
        )
    );
    let body = format!(
        r#"<C:calendar-multiget xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:prop><D:getetag/><C:calendar-data/></D:prop><D:href>{path}</D:href></C:calendar-multiget>"#
    );
    let answer = send(&served, "REPORT", "/dav/calendars/2/", "1", &body);
    assert_eq!(
        answer.find("calendar-data").unwrap().text,
        event("tea", "Tea", 5)
    );
}
