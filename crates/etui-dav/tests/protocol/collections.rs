//! Collections: made, changed, removed.

use etui::contacts::Card;

use crate::support::{Answer, Served, card, event};

fn mkcol(served: &Served, path: &str, properties: &str) -> Answer {
    let body = format!(
        r#"<mkcol xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav" xmlns:card="urn:ietf:params:xml:ns:carddav" xmlns:ic="http://apple.com/ns/ical/"><set><prop>{properties}</prop></set></mkcol>"#
    );
    served.request("MKCOL", path).body(body)
}

fn proppatch(served: &Served, path: &str, update: &str) -> Answer {
    let body = format!(
        r#"<propertyupdate xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav" xmlns:x="urn:x">{update}</propertyupdate>"#
    );
    served.request("PROPPATCH", path).body(body)
}

fn propfind(served: &Served, path: &str, body: &str) -> String {
    let body = format!(
        r#"<propfind xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav" xmlns:x="urn:x">{body}</propfind>"#
    );
    served
        .request("PROPFIND", path)
        .header("depth", "0")
        .body(body)
        .lines()
}

#[test]
fn a_type_must_fit_its_home() {
    let served = Served::new();
    let book = "<resourcetype><collection/><card:addressbook/></resourcetype>";
    let calendar = "<resourcetype><collection/><c:calendar/></resourcetype>";
    for (path, properties, refusal) in [
        ("/dav/addressbooks/x/", calendar, "d:valid-resourcetype"),
        ("/dav/calendars/x/", book, "d:valid-resourcetype"),
        (
            "/dav/calendars/x/",
            "<resourcetype><collection/></resourcetype>",
            "d:valid-resourcetype",
        ),
        ("/dav/x/", book, ""),
        ("/dav/calendars/2/x/", calendar, ""),
        ("/dav/addressbooks/17/", book, ""),
    ] {
        let answer = mkcol(&served, path, properties);
        match path {
            "/dav/calendars/2/x/" => assert_eq!(answer.status(), 403, "{path}"),
            _ => assert_eq!(answer.refusal(), (403, refusal.to_owned()), "{path}"),
        }
    }
    assert_eq!(mkcol(&served, "/dav/addressbooks/x/", book).status(), 201);
    assert_eq!(mkcol(&served, "/dav/calendars/x", calendar).status(), 201);
    let other = served.request("MKCOL", "/dav/addressbooks/y/").body("<x/>");
    assert_eq!(other.status(), 415);
    assert_eq!(served.store.address_books().unwrap(), ["Contacts", "x"]);
    assert_eq!(served.store.calendars().unwrap(), ["Calendar", "x"]);
    let again = served.request("MKCALENDAR", "/dav/calendars/x/").body("");
    assert_eq!(again.refusal(), (403, "d:resource-must-be-null".to_owned()));
    let elsewhere = served
        .request("MKCALENDAR", "/dav/addressbooks/z/")
        .body("");
    assert_eq!(
        elsewhere.refusal(),
        (403, "c:calendar-collection-location-ok".to_owned())
    );
}

#[test]
fn two_collections_may_want_one_name() {
    let served = Served::new();
    for path in ["/dav/addressbooks/a/", "/dav/addressbooks/b/"] {
        assert_eq!(
            mkcol(&served, path, "<displayname>Team</displayname>").status(),
            201
        );
    }
    assert_eq!(
        served.store.address_books().unwrap(),
        ["Contacts", "Team", "Team 2"]
    );
    let answer = proppatch(
        &served,
        "/dav/addressbooks/b/",
        "<set><prop><displayname>Team</displayname><x:a>1</x:a></prop></set>",
    );
    assert_eq!(
        answer.lines().lines().take(6).collect::<Vec<_>>(),
        [
            "207",
            "/dav/addressbooks/b/",
            "  HTTP/1.1 409 Conflict",
            "    d:displayname",
            "  HTTP/1.1 424 Failed Dependency",
            "    urn:x:a"
        ]
    );
    assert!(propfind(&served, "/dav/addressbooks/b/", "<prop><x:a/></prop>").contains("404"));
}

#[test]
fn a_property_that_cannot_be_set_makes_no_collection() {
    let served = Served::new();
    let answer = mkcol(
        &served,
        "/dav/calendars/x/",
        "<ic:calendar-color>no colour</ic:calendar-color><displayname>X</displayname><getetag/>",
    );
    assert_eq!(answer.status(), 424);
    assert_eq!(answer.xml().name, "mkcol-response");
    let text = answer.text();
    for status in ["409 Conflict", "403 Forbidden", "424 Failed Dependency"] {
        assert!(text.contains(status), "{text}");
    }
    assert_eq!(served.store.calendars().unwrap(), ["Calendar"]);
}

#[test]
fn unknown_properties_are_kept() {
    let served = Served::new();
    let path = "/dav/calendars/2/";
    let set = "<set xml:lang='de'><prop><x:note>a &lt;b></x:note><x:tree k='v'>one<x:two/>three</x:tree>\
               <c:calendar-description>Tea &amp; cake</c:calendar-description></prop></set>\
               <remove><prop><x:never/></prop></remove>";
    assert_eq!(
        proppatch(&served, path, set).lines(),
        "207
/dav/calendars/2/
  HTTP/1.1 200 OK
    urn:x:note
    urn:x:tree
    c:calendar-description
    urn:x:never
"
    );
    let wanted = "<prop><x:note/><x:tree/><c:calendar-description/><x:never/></prop>";
    assert_eq!(
        propfind(&served, path, wanted),
        "207
/dav/calendars/2/
  HTTP/1.1 200 OK
    urn:x:note xml:lang=de a <b>
    urn:x:tree k=v xml:lang=de one
      urn:x:two
    c:calendar-description xml:lang=de Tea & cake
  HTTP/1.1 404 Not Found
    urn:x:never
"
    );
    // allprop has them, but not those of CalDAV (RFC 4791 section 5.2).
    let all = propfind(&served, path, "<allprop/><include><owner/></include>");
    assert_eq!(
        all,
        "207
/dav/calendars/2/
  HTTP/1.1 200 OK
    d:resourcetype
      d:collection
      c:calendar
    d:displayname Calendar
    urn:x:note xml:lang=de a <b>
    urn:x:tree k=v xml:lang=de one
      urn:x:two
    d:owner
      d:href /dav/me/
"
    );
    let names = propfind(&served, path, "<propname/>");
    for name in [
        "urn:x:note\n",
        "c:calendar-description\n",
        "d:resourcetype\n",
        "c:supported-calendar-data\n",
    ] {
        assert!(names.contains(name), "{names}");
    }
    let remove = "<remove><prop><x:note/><x:tree/></prop></remove>";
    assert!(proppatch(&served, path, remove).lines().contains("200 OK"));
    assert!(!propfind(&served, path, "<allprop/>").contains("urn:x"));
}

#[test]
fn properties_have_a_limit_and_a_protection() {
    let served = Served::new();
    let path = "/dav/calendars/2/";
    let large = "x".repeat(70_000);
    let answer = proppatch(
        &served,
        path,
        &format!("<set><prop><x:large>{large}</x:large></prop></set>"),
    );
    assert!(
        answer.lines().contains("507 Insufficient Storage"),
        "{}",
        answer.lines()
    );
    for protected in [
        "<getetag/>",
        "<sync-token/>",
        "<c:supported-calendar-component-set/>",
    ] {
        let answer = proppatch(
            &served,
            path,
            &format!("<set><prop>{protected}</prop></set>"),
        );
        assert!(
            answer
                .lines()
                .contains("d:cannot-modify-protected-property"),
            "{}",
            answer.lines()
        );
    }
    let zone = "<set><prop><c:calendar-timezone>Europe/Berlin</c:calendar-timezone></prop></set>";
    assert!(
        proppatch(&served, path, zone)
            .lines()
            .contains("c:valid-calendar-data")
    );
    served.put("/dav/calendars/2/e.ics", &event("e", "Tea", 5));
    for fixed in [
        "/",
        "/dav/",
        "/dav/me/",
        "/dav/calendars/",
        "/dav/calendars/2/e.ics",
    ] {
        let answer = proppatch(&served, fixed, "<set><prop><x:a>1</x:a></prop></set>");
        assert!(answer.lines().contains("403 Forbidden"), "{fixed}");
    }
    assert_eq!(proppatch(&served, path, "").status(), 400);
    let minimal = served
        .request("PROPPATCH", path)
        .header("prefer", "return=minimal")
        .body("<propertyupdate xmlns='DAV:'><set><prop><displayname>Mine</displayname></prop></set></propertyupdate>");
    assert_eq!((minimal.status(), minimal.bytes().len()), (200, 0));
}

#[test]
fn the_last_collection_stays() {
    let served = Served::new();
    served.put("/dav/addressbooks/1/a.vcf", &card("a", "Ada"));
    let last = served.request("DELETE", "/dav/addressbooks/1/").body("");
    assert_eq!(last.refusal(), (403, String::new()));
    assert!(
        last.text().contains("is the only address book"),
        "{}",
        last.text()
    );
    // With another one the default can go; the other is the default then.
    assert_eq!(mkcol(&served, "/dav/addressbooks/work/", "").status(), 201);
    let removed = served.request("DELETE", "/dav/addressbooks/1/").body("");
    assert_eq!((removed.status(), removed.outcome.removed), (204, 1));
    assert_eq!(served.store.contacts().unwrap().name(), "work");
    assert_eq!(served.get("/dav/addressbooks/1/a.vcf").status(), 404);
    assert_eq!(
        served.store.restore_collection::<Card>("Contacts").unwrap(),
        1
    );
    assert_eq!(
        served.get("/dav/addressbooks/1/a.vcf").text(),
        card("a", "Ada")
    );
    for fixed in ["/", "/dav/", "/dav/me/", "/dav/calendars/"] {
        assert_eq!(
            served.request("DELETE", fixed).body("").status(),
            403,
            "{fixed}"
        );
    }
}
