//! Devices that may only read, or see some collections only.

use std::collections::HashSet;

use etui_dav::Session;

use crate::support::{SESSION, Served, card, event};

const PROPERTIES: &str = r#"<propfind xmlns="DAV:"><prop><resourcetype/><current-user-privilege-set/></prop></propfind>"#;

#[test]
fn a_reading_device_changes_nothing() {
    let served = Served::new();
    let reader = Session {
        may_write: false,
        ..SESSION
    };
    let path = "/dav/addressbooks/1/a.vcf";
    served.put(path, &card("a", "Ada"));
    let collection = "/dav/addressbooks/1/";
    let update = r#"<propertyupdate xmlns="DAV:"><set><prop><displayname>X</displayname></prop></set></propertyupdate>"#;
    for (method, path, body) in [
        ("PUT", path, card("a", "Changed")),
        ("DELETE", path, String::new()),
        ("DELETE", collection, String::new()),
        ("MKCOL", "/dav/addressbooks/x/", String::new()),
        ("MKCALENDAR", "/dav/calendars/x/", String::new()),
        ("PROPPATCH", collection, update.to_owned()),
        ("MOVE", path, String::new()),
        ("COPY", path, String::new()),
    ] {
        let answer = served
            .request_as(reader, method, path)
            .header("destination", "/dav/addressbooks/1/b.vcf")
            .body(body);
        assert_eq!(
            answer.refusal(),
            (403, "d:need-privileges".to_owned()),
            "{method}"
        );
    }
    assert_eq!(served.get(path).text(), card("a", "Ada"));
    // Its edit is kept.
    let kept = served.store.refused().list().unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!(
        served.store.refused().text(kept[0].id).unwrap(),
        Some(card("a", "Changed").into_bytes())
    );
    assert_eq!(
        served.request_as(reader, "GET", path).body("").status(),
        200
    );
    let answer = served
        .request_as(reader, "PROPFIND", collection)
        .header("depth", "0")
        .body(PROPERTIES);
    assert!(!answer.lines().contains("d:write"), "{}", answer.lines());
}

#[test]
fn a_hidden_collection_is_not_there() {
    let served = Served::new();
    let hidden = "/dav/calendars/2/e.ics";
    served.put(hidden, &event("e", "Tea", 5));
    served.put("/dav/addressbooks/1/a.vcf", &card("a", "Ada"));
    let sees: HashSet<etui::CollectionId> = [etui::CollectionId(1)].into();
    let session = Session {
        sees: Some(&sees),
        ..SESSION
    };
    let send = |method: &str, path: &str, body: &str| {
        let request = served
            .request_as(session, method, path)
            .header("depth", "1");
        request
            .header("destination", "/dav/calendars/2/f.ics")
            .body(body)
    };
    let multiget = r#"<C:calendar-multiget xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:prop><D:getetag/></D:prop><D:href>/dav/calendars/2/e.ics</D:href></C:calendar-multiget>"#;
    let sync =
        r#"<sync-collection xmlns="DAV:"><sync-token/><prop><getetag/></prop></sync-collection>"#;
    for (method, path, body) in [
        ("GET", hidden, ""),
        ("PUT", hidden, &event("e", "Mine", 5)),
        ("DELETE", hidden, ""),
        ("MOVE", hidden, ""),
        ("PROPFIND", hidden, PROPERTIES),
        ("PROPFIND", "/dav/calendars/2/", PROPERTIES),
        (
            "PROPPATCH",
            "/dav/calendars/2/",
            r#"<propertyupdate xmlns="DAV:"><set><prop><x/></prop></set></propertyupdate>"#,
        ),
        ("REPORT", "/dav/calendars/2/", multiget),
        ("REPORT", "/dav/calendars/2/", sync),
        ("DELETE", "/dav/calendars/2/", ""),
    ] {
        assert_eq!(send(method, path, body).status(), 404, "{method} {path}");
    }
    assert_eq!(
        send("PROPFIND", "/dav/calendars/", PROPERTIES).hrefs(),
        ["/dav/calendars/"]
    );
    assert_eq!(
        send("PROPFIND", "/dav/addressbooks/", PROPERTIES).hrefs(),
        ["/dav/addressbooks/", "/dav/addressbooks/1/"]
    );
    assert_eq!(send("MKCOL", "/dav/addressbooks/x/", "").refusal().0, 403);
    assert_eq!(send("GET", "/dav/addressbooks/1/a.vcf", "").status(), 200);
    assert_eq!(served.get(hidden).text(), event("e", "Tea", 5));
    assert!(served.store.refused().list().unwrap().is_empty());
}

#[test]
fn users_have_their_own_root() {
    let served = Served::new();
    let ada = Session {
        root: "/dav/ada/",
        ..SESSION
    };
    let path = "/dav/ada/addressbooks/1/a.vcf";
    assert_eq!(
        served
            .request_as(ada, "PUT", path)
            .body(card("a", "Ada"))
            .status(),
        201
    );
    assert_eq!(
        served
            .request_as(ada, "GET", "/dav/addressbooks/1/a.vcf")
            .body("")
            .status(),
        404
    );
    assert_eq!(
        served
            .request_as(ada, "GET", "/dav/bob/addressbooks/1/a.vcf")
            .body("")
            .status(),
        404
    );
    let answer = served
        .request_as(ada, "PROPFIND", "/dav/ada/addressbooks/1/")
        .header("depth", "1")
        .body(PROPERTIES);
    assert_eq!(answer.hrefs(), ["/dav/ada/addressbooks/1/", path]);
}
