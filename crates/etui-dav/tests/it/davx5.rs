//! Requests of DAVx5.

use etui_dav::xml::Namespace;

use crate::support::{Served, card, event};

const BOOK: &str = "/dav/addressbooks/1/";

const COLLECTIONS: &str = r#"<propfind xmlns="DAV:" xmlns:CAL="urn:ietf:params:xml:ns:caldav" xmlns:CARD="urn:ietf:params:xml:ns:carddav" xmlns:CS="http://calendarserver.org/ns/" xmlns:IC="http://apple.com/ns/ical/"><prop><resourcetype /><displayname /><current-user-privilege-set /><owner /><CAL:calendar-description /><CAL:supported-calendar-component-set /><IC:calendar-color /><CAL:calendar-timezone /><CS:source /></prop></propfind>"#;

const CAPABILITIES: &str = r#"<propfind xmlns="DAV:" xmlns:CARD="urn:ietf:params:xml:ns:carddav" xmlns:CS="http://calendarserver.org/ns/"><prop><CARD:max-resource-size /><CARD:supported-address-data /><supported-report-set /><CS:getctag /><sync-token /></prop></propfind>"#;

fn sync(token: &str, limit: &str) -> String {
    format!(
        r#"<sync-collection xmlns="DAV:"><sync-token>{token}</sync-token><sync-level>1</sync-level>{limit}<prop><getetag /></prop></sync-collection>"#
    )
}

fn multiget(names: &[&str]) -> String {
    let hrefs: String = names
        .iter()
        .map(|name| format!("<href>{BOOK}{name}</href>"))
        .collect();
    format!(
        r#"<CARD:addressbook-multiget xmlns="DAV:" xmlns:CARD="urn:ietf:params:xml:ns:carddav"><prop><getcontenttype /><getetag /><CARD:address-data version="3.0" /></prop>{hrefs}</CARD:addressbook-multiget>"#
    )
}

#[test]
fn calendars_are_found_with_their_properties() {
    let served = Served::new();
    let answer = served
        .request("PROPFIND", "/dav/calendars/")
        .header("depth", "1")
        .body(COLLECTIONS);
    assert_eq!(
        answer.lines(),
        "207
/dav/calendars/
  HTTP/1.1 200 OK
    d:resourcetype
      d:collection
    d:displayname Calendars
    d:current-user-privilege-set
      d:privilege
        d:read
      d:privilege
        d:read-current-user-privilege-set
      d:privilege
        d:bind
      d:privilege
        d:unbind
    d:owner
      d:href /dav/me/
  HTTP/1.1 404 Not Found
    c:calendar-description
    c:supported-calendar-component-set
    ic:calendar-color
    c:calendar-timezone
    cs:source
/dav/calendars/2/
  HTTP/1.1 200 OK
    d:resourcetype
      d:collection
      c:calendar
    d:displayname Calendar
    d:current-user-privilege-set
      d:privilege
        d:read
      d:privilege
        d:read-current-user-privilege-set
      d:privilege
        d:write
      d:privilege
        d:write-properties
      d:privilege
        d:write-content
      d:privilege
        d:bind
      d:privilege
        d:unbind
    d:owner
      d:href /dav/me/
    c:supported-calendar-component-set
      c:comp name=VEVENT
      c:comp name=VTODO
      c:comp name=VJOURNAL
  HTTP/1.1 404 Not Found
    c:calendar-description
    ic:calendar-color
    c:calendar-timezone
    cs:source
"
    );
}

#[test]
fn an_address_book_tells_what_it_can() {
    let served = Served::new();
    let answer = served
        .request("PROPFIND", BOOK)
        .header("depth", "0")
        .body(CAPABILITIES);
    assert_eq!(
        answer.lines(),
        "207
/dav/addressbooks/1/
  HTTP/1.1 200 OK
    card:max-resource-size 10485760
    card:supported-address-data
      card:address-data-type content-type=text/vcard version=3.0
    d:supported-report-set
      d:supported-report
        d:report
          d:sync-collection
      d:supported-report
        d:report
          card:addressbook-multiget
      d:supported-report
        d:report
          card:addressbook-query
      d:supported-report
        d:report
          d:expand-property
      d:supported-report
        d:report
          d:principal-match
      d:supported-report
        d:report
          d:principal-property-search
      d:supported-report
        d:report
          d:principal-search-property-set
    cs:getctag TOKEN
    d:sync-token TOKEN
"
    );
}

#[test]
fn a_first_sync_and_the_changes_after_it() {
    let served = Served::new();
    let a = served.put(&format!("{BOOK}a.vcf"), &card("a", "Ada"));
    let b = served.put(&format!("{BOOK}b%40c.vcf"), &card("b", "Bo"));
    let answer = served
        .request("REPORT", BOOK)
        .header("depth", "0")
        .body(sync("", ""));
    assert_eq!(
        answer.lines(),
        format!(
            "207
{BOOK}a.vcf
  HTTP/1.1 200 OK
    d:getetag {a}
{BOOK}b%40c.vcf
  HTTP/1.1 200 OK
    d:getetag {b}
d:sync-token TOKEN
",
            a = a.escape_debug(),
            b = b.escape_debug()
        )
    );
    let token = answer.find("sync-token").unwrap().text;
    assert_eq!(token, served.token(BOOK));

    let answer = served
        .request("REPORT", BOOK)
        .body(multiget(&["a.vcf", "b@c.vcf", "x.vcf"]));
    assert_eq!(answer.outcome.read, 2);
    let lines = answer.lines();
    assert!(
        lines.contains(
            "card:address-data content-type=text/vcard version=3.0 BEGIN:VCARD\\r\\nVERSION:3.0"
        ),
        "{lines}"
    );
    assert!(
        lines.contains(&format!("{BOOK}b@c.vcf\n  HTTP/1.1 200 OK")),
        "{lines}"
    );
    assert!(
        lines.contains(&format!("{BOOK}x.vcf\n  d:status HTTP/1.1 404 Not Found\n")),
        "{lines}"
    );

    // Nothing changed.
    let answer = served.request("REPORT", BOOK).body(sync(&token, ""));
    assert_eq!(answer.lines(), "207\nd:sync-token TOKEN\n");

    let changed = served
        .request("PUT", &format!("{BOOK}a.vcf"))
        .header("if-match", &a)
        .body(card("a", "Ada L."));
    assert_eq!(changed.status(), 204);
    let removed = served
        .request("DELETE", &format!("{BOOK}b%40c.vcf"))
        .header("if-match", &b)
        .body("");
    assert_eq!(removed.status(), 204);
    let answer = served.request("REPORT", BOOK).body(sync(&token, ""));
    assert_eq!(
        answer.lines(),
        format!(
            "207
{BOOK}a.vcf
  HTTP/1.1 200 OK
    d:getetag {}
{BOOK}b%40c.vcf
  d:status HTTP/1.1 404 Not Found
d:sync-token TOKEN
",
            changed.header("etag").escape_debug()
        )
    );
}

#[test]
fn a_change_elsewhere_leaves_the_token() {
    let served = Served::new();
    served.put(&format!("{BOOK}a.vcf"), &card("a", "Ada"));
    let token = served.token(BOOK);
    served.put("/dav/calendars/2/e.ics", &event("e", "Tea", 5));
    assert_eq!(served.token(BOOK), token);
    assert_ne!(served.token("/dav/calendars/2/"), token);
}

#[test]
fn a_listing_by_pages_misses_nothing() {
    let served = Served::new();
    for n in 0..25 {
        served.put(&format!("{BOOK}{n}.vcf"), &card(&n.to_string(), "Someone"));
    }
    let mut token = String::new();
    let mut seen = Vec::new();
    for page in 0.. {
        let limit = "<limit><nresults>10</nresults></limit>";
        let answer = served.request("REPORT", BOOK).body(sync(&token, limit));
        token = answer.find("sync-token").unwrap().text;
        let mut hrefs = answer.hrefs();
        let is_cut = hrefs.last().is_some_and(|href| href == BOOK);
        if is_cut {
            hrefs.pop();
            let lines = answer.lines();
            let end = "/dav/addressbooks/1/\n  d:status HTTP/1.1 507 Insufficient Storage\n  d:error\n    \
                       d:number-of-matches-within-limits\nd:sync-token TOKEN\n";
            assert!(lines.ends_with(end), "{lines}");
        }
        assert!(hrefs.len() <= 10);
        seen.append(&mut hrefs);
        if page == 0 {
            // A change meanwhile is on a later page.
            let path = format!("{BOOK}3.vcf");
            let changed = served
                .request("PUT", &path)
                .body(card("3", "Somebody else"));
            assert_eq!(changed.status(), 204);
        }
        if !is_cut {
            break;
        }
        assert!(page < 5);
    }
    assert_eq!(token, served.token(BOOK));
    let again = format!("{BOOK}3.vcf");
    assert_eq!(seen.iter().filter(|href| **href == again).count(), 2);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 25);
}

#[test]
fn a_token_of_another_store_is_refused() {
    let served = Served::new();
    let other = Served::new();
    let token = other.token(BOOK);
    for token in [
        token.as_str(),
        "data:,x",
        "http://example.org/7",
        "data:,1.2.99999",
    ] {
        let answer = served.request("REPORT", BOOK).body(sync(token, ""));
        assert_eq!(
            answer.refusal(),
            (403, "d:valid-sync-token".to_owned()),
            "{token}"
        );
    }
}

#[test]
fn a_new_contact_of_a_taken_name_is_refused() {
    let served = Served::new();
    let path = format!("{BOOK}a.vcf");
    served.put(&path, &card("a", "Ada"));
    let again = |header, value, body: String| {
        served
            .request("PUT", &path)
            .header(header, value)
            .body(body)
    };
    assert_eq!(
        again("if-none-match", "*", card("a", "Other")).status(),
        412
    );
    assert_eq!(again("if-match", "\"0\"", card("a", "Other")).status(), 412);
    assert_eq!(served.get(&path).text(), card("a", "Ada"));

    // 403 with the resource that has the UID; after 409 DAVx5 would drop the edit without a message.
    let other = served
        .request("PUT", &format!("{BOOK}b.vcf"))
        .body(card("a", "Ada"));
    assert_eq!(other.refusal(), (403, "card:no-uid-conflict".to_owned()));
    assert_eq!(other.find("href").unwrap().text, path);
    let error = other.xml();
    assert!(
        error
            .child(&Namespace::CardDav, "no-uid-conflict")
            .is_some()
    );
}
