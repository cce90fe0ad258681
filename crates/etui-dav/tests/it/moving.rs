//! MOVE and COPY.

use crate::support::{Answer, Served, card, event};

const FROM: &str = "/dav/addressbooks/1/a.vcf";

fn transfer(served: &Served, method: &str, from: &str, to: &str, overwrite: &str) -> Answer {
    served
        .request(method, from)
        .header("destination", to)
        .header("overwrite", overwrite)
        .body("")
}

#[test]
fn a_resource_moves_within_the_store() {
    let served = Served::new();
    assert_eq!(
        served
            .request("MKCOL", "/dav/addressbooks/work/")
            .body("")
            .status(),
        201
    );
    let tag = served.put(FROM, &card("a", "Ada"));
    let to = "/dav/addressbooks/work/b%20c.vcf";
    let url = format!("https://dav.example.org{to}");
    let moved = transfer(&served, "MOVE", FROM, &url, "F");
    assert_eq!((moved.status(), moved.header("etag")), (201, tag.as_str()));
    assert_eq!(served.get(FROM).status(), 404);
    assert_eq!(served.get(to).text(), card("a", "Ada"));
    // To another name. The old one is gone in the next synchronisation.
    let token = served.token("/dav/addressbooks/work/");
    let moved = transfer(&served, "MOVE", to, "/dav/addressbooks/work/d.vcf", "T");
    assert_eq!(moved.status(), 201);
    let sync = format!(
        r#"<sync-collection xmlns="DAV:"><sync-token>{token}</sync-token><prop/></sync-collection>"#
    );
    let changes = served
        .request("REPORT", "/dav/addressbooks/work/")
        .body(sync);
    let mut hrefs = changes.hrefs();
    hrefs.sort();
    assert_eq!(hrefs, [to, "/dav/addressbooks/work/d.vcf"]);
    assert_eq!(transfer(&served, "MOVE", FROM, to, "T").status(), 404);
}

#[test]
fn nothing_is_overwritten_unasked() {
    let served = Served::new();
    assert_eq!(
        served
            .request("MKCOL", "/dav/addressbooks/work/")
            .body("")
            .status(),
        201
    );
    served.put(FROM, &card("a", "Ada"));
    let to = "/dav/addressbooks/work/a.vcf";
    served.put(to, &card("a", "Old"));
    for method in ["MOVE", "COPY"] {
        assert_eq!(
            transfer(&served, method, FROM, to, "F").status(),
            412,
            "{method}"
        );
    }
    let stale = served
        .request("MOVE", FROM)
        .header("destination", to)
        .header("if-match", "\"00000000000000000000000000000000\"")
        .body("");
    assert_eq!(stale.status(), 412);
    assert_eq!(served.get(to).text(), card("a", "Old"));
    assert_eq!(transfer(&served, "COPY", FROM, to, "T").status(), 204);
    assert_eq!(served.get(to).text(), card("a", "Ada"));
    assert_eq!(served.get(FROM).text(), card("a", "Ada"));
    assert_eq!(transfer(&served, "MOVE", FROM, to, "T").status(), 204);
    assert_eq!(served.get(FROM).status(), 404);
    // One collection has a UID once.
    let copy = transfer(&served, "COPY", to, "/dav/addressbooks/work/c.vcf", "T");
    assert_eq!(copy.refusal(), (403, "card:no-uid-conflict".to_owned()));
    assert_eq!(copy.find("href").unwrap().text, to);
}

#[test]
fn other_destinations_are_refused() {
    let served = Served::new();
    served.put(FROM, &card("a", "Ada"));
    served.put("/dav/calendars/2/e.ics", &event("e", "Tea", 5));
    for (to, status) in [
        ("/dav/calendars/2/a.ics", 403),
        ("/dav/addressbooks/1/", 403),
        ("/elsewhere/a.vcf", 403),
        ("/dav/addressbooks/9/a.vcf", 409),
        ("/dav/addressbooks/1/../a.vcf", 400),
        ("a.vcf", 400),
        ("", 400),
        ("/dav/addressbooks/1/etui-99.vcf", 403),
    ] {
        for method in ["MOVE", "COPY"] {
            if method == "COPY" && to.contains("etui-") {
                continue;
            }
            assert_eq!(
                transfer(&served, method, FROM, to, "T").status(),
                status,
                "{method} {to}"
            );
        }
    }
    assert_eq!(served.request("MOVE", FROM).body("").status(), 400);
    let collection = transfer(
        &served,
        "MOVE",
        "/dav/addressbooks/1/",
        "/dav/addressbooks/x/",
        "T",
    );
    assert_eq!(collection.status(), 403);
    assert_eq!(served.get(FROM).text(), card("a", "Ada"));
}

#[test]
fn a_calendar_takes_its_components_only() {
    let served = Served::new();
    let tasks = r#"<c:mkcalendar xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><set><prop><c:supported-calendar-component-set><c:comp name="VTODO"/></c:supported-calendar-component-set></prop></set></c:mkcalendar>"#;
    let made = served.request("MKCALENDAR", "/dav/calendars/tasks/");
    assert_eq!(made.body(tasks).status(), 201);
    let from = "/dav/calendars/2/e.ics";
    served.put(from, &event("e", "Tea", 5));
    for method in ["MOVE", "COPY"] {
        let answer = transfer(&served, method, from, "/dav/calendars/tasks/e.ics", "T");
        let refusal = (403, "c:supported-calendar-component".to_owned());
        assert_eq!(answer.refusal(), refusal, "{method}");
    }
    assert_eq!(served.get(from).status(), 200);
}

/// RFC 4791 section 5.3.2.1, RFC 6352 section 6.3.2.1.
#[test]
fn another_contact_is_not_overwritten() {
    let served = Served::new();
    let made = served.request("MKCOL", "/dav/addressbooks/work/").body("");
    assert_eq!(made.status(), 201);
    served.put(FROM, &card("a", "Ada"));
    let to = "/dav/addressbooks/work/b.vcf";
    served.put(to, &card("b", "Bo"));
    for method in ["COPY", "MOVE"] {
        let answer = transfer(&served, method, FROM, to, "T");
        assert_eq!(answer.refusal(), (403, "card:no-uid-conflict".to_owned()));
        assert_eq!(answer.find("href").unwrap().text, to);
        assert_eq!(answer.outcome.removed, 0);
    }
    assert_eq!(served.get(to).text(), card("b", "Bo"));
    assert_eq!(served.get(FROM).text(), card("a", "Ada"));
}
