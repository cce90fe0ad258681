//! Requests of vdirsyncer, and cases of its tests.

use crate::support::{Served, card, event};

const LIST: &str = r#"<?xml version="1.0" encoding="utf-8" ?><propfind xmlns="DAV:"><prop><resourcetype/><getcontenttype/><getetag/></prop></propfind>"#;

#[test]
fn a_collection_is_listed_with_types_and_tags() {
    let served = Served::new();
    let tag = served.put("/dav/calendars/2/e.ics", &event("e", "Tea", 5));
    let answer = served
        .request("PROPFIND", "/dav/calendars/2/")
        .header("depth", "1")
        .body(LIST);
    assert_eq!(
        answer.lines(),
        format!(
            "207
/dav/calendars/2/
  HTTP/1.1 200 OK
    d:resourcetype
      d:collection
      c:calendar
  HTTP/1.1 404 Not Found
    d:getcontenttype
    d:getetag
/dav/calendars/2/e.ics
  HTTP/1.1 200 OK
    d:resourcetype
    d:getcontenttype text/calendar; charset=utf-8
    d:getetag {}
",
            tag.escape_debug()
        )
    );
    let one = served
        .request("PROPFIND", "/dav/calendars/2/e.ics")
        .header("depth", "0")
        .body(LIST);
    assert!(
        one.lines()
            .contains("d:getcontenttype text/calendar; charset=utf-8; component=vevent\n")
    );
}

#[test]
fn names_with_odd_characters_come_back() {
    let served = Served::new();
    for (number, name) in [
        "a%40b", "a%20b", "a%0ab", "%c3%a4", "a%2523", "a:b", "%25", "+",
    ]
    .iter()
    .enumerate()
    {
        let path = format!("/dav/addressbooks/1/{name}.vcf");
        let uid = format!("{number} @%\u{e4}");
        served.put(&path, &card(&uid, "Someone"));
        assert_eq!(served.get(&path).text(), card(&uid, "Someone"), "{name}");
    }
    let answer = served
        .request("PROPFIND", "/dav/addressbooks/1/")
        .header("depth", "1")
        .body(LIST);
    for href in &answer.hrefs()[1..] {
        assert_eq!(served.get(href).status(), 200, "{href}");
    }
}

#[test]
fn a_collection_is_made_and_removed() {
    let served = Served::new();
    let body = r#"<?xml version="1.0" encoding="utf-8" ?><mkcol xmlns="DAV:"><set><prop><resourcetype><collection/>
        <x:addressbook xmlns:x="urn:ietf:params:xml:ns:carddav"/></resourcetype></prop></set></mkcol>"#;
    let path = "/dav/addressbooks/test-1a2b/";
    assert_eq!(served.request("MKCOL", path).body(body).status(), 201);
    assert_eq!(served.request("MKCOL", path).body(body).status(), 405);
    served.put(&format!("{path}a.vcf"), &card("a", "Ada"));
    let removed = served.request("DELETE", path).body("");
    assert_eq!((removed.status(), removed.outcome.removed), (204, 1));
    assert_eq!(
        served
            .request("PROPFIND", path)
            .header("depth", "1")
            .body(LIST)
            .status(),
        404
    );
    // It is in the trash.
    assert_eq!(
        served
            .store
            .collections::<etui::contacts::Card>()
            .restore("test-1a2b")
            .unwrap(),
        1
    );
    assert_eq!(served.get(&format!("{path}a.vcf")).text(), card("a", "Ada"));
}

#[test]
fn a_record_that_came_otherwise_has_a_name() {
    let served = Served::new();
    let stored = etui::contacts::Card::parse(card("imported", "Bo")).unwrap();
    let saved = served.store.contacts().unwrap().save(&stored).unwrap();
    let answer = served
        .request("PROPFIND", "/dav/addressbooks/1/")
        .header("depth", "1")
        .body(LIST);
    let href = format!("/dav/addressbooks/1/etui-{}.vcf", saved.id);
    assert_eq!(answer.hrefs()[1], href);
    assert_eq!(served.get(&href).text(), card("imported", "Bo"));
    // Nobody else takes such a name.
    let answer = served
        .request("PUT", "/dav/addressbooks/1/etui-999.vcf")
        .body(card("x", "X"));
    assert_eq!(answer.status(), 403);
}
