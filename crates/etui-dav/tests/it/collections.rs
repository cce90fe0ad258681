//! Collections: made, changed, removed.

use etui::calendar::CalendarObject;
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
    for (media_type, status) in [
        ("xyz-foo/bar-512", 415),
        ("text/calendar; charset=utf-8", 415),
        ("Text/XML; charset=utf-8", 400),
    ] {
        let answer = served
            .request("MKCOL", "/dav/addressbooks/y/")
            .header("content-type", media_type)
            .body("not XML");
        assert_eq!(answer.status(), status, "{media_type}");
    }
    let as_curl = served
        .request("MKCOL", "/dav/addressbooks/curl/")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(format!("<mkcol xmlns=\"DAV:\" xmlns:card=\"urn:ietf:params:xml:ns:carddav\"><set><prop>{book}</prop></set></mkcol>"));
    assert_eq!(as_curl.status(), 201);
    assert_eq!(
        served.store.collections::<Card>().names().unwrap(),
        ["Contacts", "x", "curl"]
    );
    assert_eq!(
        served
            .store
            .collections::<CalendarObject>()
            .names()
            .unwrap(),
        ["Calendar", "x"]
    );
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
        served.store.collections::<Card>().names().unwrap(),
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
    assert_eq!(
        served
            .store
            .collections::<CalendarObject>()
            .names()
            .unwrap(),
        ["Calendar"]
    );
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
    // All changes, or none: a name that could be set alone is not.
    let answer = proppatch(
        &served,
        path,
        &format!(
            "<set><prop><displayname>New</displayname><x:large>{large}</x:large></prop></set>"
        ),
    );
    assert_eq!(
        answer.lines().lines().take(4).collect::<Vec<_>>(),
        [
            "207",
            path,
            "  HTTP/1.1 424 Failed Dependency",
            "    d:displayname"
        ]
    );
    assert_eq!(
        served
            .store
            .collections::<CalendarObject>()
            .names()
            .unwrap(),
        ["Calendar"]
    );
    let made = mkcol(
        &served,
        "/dav/calendars/x/",
        &format!("<a xmlns='urn:x'>{large}</a>"),
    );
    assert_eq!(made.status(), 424);
    assert!(made.text().contains("507 Insufficient Storage"));
    assert_eq!(
        served
            .store
            .collections::<CalendarObject>()
            .names()
            .unwrap(),
        ["Calendar"]
    );
    let removed = served.store.collections::<CalendarObject>().removed();
    assert!(removed.unwrap().is_empty());
    let unnamed = proppatch(&served, path, "<set><prop><displayname/></prop></set>");
    assert!(unnamed.lines().contains("409 Conflict"));
    for protected in [
        "<getetag/>",
        "<principal-URL/>",
        "<c:calendar-home-set/>",
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
        served
            .store
            .collections::<Card>()
            .restore("Contacts")
            .unwrap(),
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

/// Other programs give a collection a name and an external id; its URL stays.
#[test]
fn the_url_of_a_collection_stays() {
    let served = Served::new();
    let plain = "/dav/addressbooks/1/a.vcf";
    served.put(plain, &card("a", "Ada"));
    let contacts = served.store.contacts().unwrap();
    contacts
        .set_external_id(Some("system-address-book"))
        .unwrap();
    assert_eq!(mkcol(&served, "/dav/addressbooks/team/", "").status(), 201);
    let team = served.store.collection::<Card>(Some("team")).unwrap();
    assert_eq!(team.external_id().unwrap(), None);
    team.set_external_id(Some("other")).unwrap();
    served
        .store
        .collections::<Card>()
        .rename("team", "Group")
        .unwrap();
    let list = || {
        let request = served.request("PROPFIND", "/dav/addressbooks/");
        let answer = request.header("depth", "1").body("");
        answer.hrefs().split_off(1)
    };
    assert_eq!(list(), ["/dav/addressbooks/1/", "/dav/addressbooks/team/"]);
    assert_eq!(served.get(plain).text(), card("a", "Ada"));
    served.put("/dav/addressbooks/team/b.vcf", &card("b", "Bo"));
    // The number is another path to it, also in a multiget.
    let by_number = format!("/dav/addressbooks/{}/", team.id());
    assert_eq!(
        served.get(&format!("{by_number}b.vcf")).text(),
        card("b", "Bo")
    );
    let multiget = format!(
        r#"<C:addressbook-multiget xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:carddav"><D:prop><D:getetag/></D:prop><D:href>{by_number}b.vcf</D:href><D:href>/dav/addressbooks/team/b.vcf</D:href><D:href>{plain}</D:href></C:addressbook-multiget>"#
    );
    for path in ["/dav/addressbooks/team/", by_number.as_str()] {
        let answer = served.request("REPORT", path).body(&multiget).lines();
        assert_eq!(answer.matches("200 OK").count(), 2, "{answer}");
        assert_eq!(answer.matches("404 Not Found").count(), 1, "{answer}");
    }
    for other in ["system-address-book", "other", "Group"] {
        let path = format!("/dav/addressbooks/{other}/b.vcf");
        assert_eq!(served.get(&path).status(), 404, "{other}");
    }
}

/// A later calendar at the path of a removed one is another one for a client that has a token.
#[test]
fn a_token_is_bound_to_its_collection() {
    let served = Served::new();
    let path = "/dav/calendars/x/";
    let make = || served.request("MKCALENDAR", path).body("").status();
    let sync = |path: &str, token: &str| {
        let body = format!(
            r#"<sync-collection xmlns="DAV:"><sync-token>{token}</sync-token><prop><getetag/></prop></sync-collection>"#
        );
        served.request("REPORT", path).body(body)
    };
    assert_eq!(make(), 201);
    let empty = served.token(path);
    served.put("/dav/calendars/x/e.ics", &event("e", "Tea", 5));
    let full = served.token(path);
    assert_eq!(sync(path, &empty).hrefs(), ["/dav/calendars/x/e.ics"]);
    assert_eq!(served.request("DELETE", path).body("").status(), 204);
    assert_eq!(make(), 201);
    served.put("/dav/calendars/x/f.ics", &event("f", "Cake", 6));
    for token in [&empty, &full] {
        let refused = (403, "d:valid-sync-token".to_owned());
        assert_eq!(sync(path, token).refusal(), refused, "{token}");
    }
    let own = served.token(path);
    assert_eq!(sync(path, &own).hrefs(), [""; 0]);
    assert_eq!(sync("/dav/calendars/2/", &own).status(), 403);
}

/// The text of a colour comes back as it was set, until another program sets another colour.
#[test]
fn a_colour_comes_back_as_it_was_set() {
    let served = Served::new();
    let path = "/dav/calendars/2/";
    let color = "<calendar-color xmlns='http://apple.com/ns/ical/'";
    let read = || {
        let answer = propfind(&served, path, &format!("<prop>{color}/></prop>"));
        let line = answer
            .lines()
            .find(|line| line.contains("ic:calendar-color"));
        line.unwrap()
            .trim()
            .replace("ic:calendar-color", "")
            .trim()
            .to_owned()
    };
    for text in ["#ff0000", "#FF0000FF", "#00ff0080", "teal"] {
        let set = format!("<set><prop>{color}>{text}</calendar-color></prop></set>");
        assert!(proppatch(&served, path, &set).lines().contains("200 OK"));
        assert_eq!(read(), text);
    }
    let calendar = served.store.calendar().unwrap();
    assert_eq!(calendar.color().unwrap(), "teal".parse().ok());
    calendar.set_color("#123456".parse().ok()).unwrap();
    assert_eq!(read(), "#123456ff");
    let remove = format!("<remove><prop>{color}/></prop></remove>");
    assert!(proppatch(&served, path, &remove).lines().contains("200 OK"));
    assert_eq!((read(), calendar.color().unwrap()), (String::new(), None));
}
