//! Requests of Evolution Data Server.

use crate::support::{Served, card};

#[test]
fn options_come_first() {
    let served = Served::new();
    for path in [
        "*",
        "/",
        "/dav/",
        "/dav/addressbooks/1/",
        "/dav/calendars/2/x.ics",
        "/dav/nothing",
    ] {
        let answer = served.request("OPTIONS", path).body("");
        assert_eq!(answer.status(), 200);
        assert_eq!(
            answer.header("dav"),
            "1, 3, access-control, calendar-access, addressbook, extended-mkcol"
        );
        assert!(answer.header("allow").contains("PROPFIND"), "{path}");
    }
}

#[test]
fn an_edit_is_believed_by_its_tag() {
    let served = Served::new();
    let path = "/dav/addressbooks/1/a.vcf";
    let tag = served.put(path, &card("a", "Ada"));
    let body = card("a", "Ada L.");
    let answer = served
        .request("PUT", path)
        .header("if-match", &tag)
        .body(&body);
    assert_eq!((answer.status(), answer.outcome.written), (204, 1));
    let new = answer.header("etag").to_owned();
    let get = served.get(path);
    assert_eq!(
        (get.text(), get.header("etag")),
        (body.as_str(), new.as_str())
    );
    assert_eq!(get.header("content-type"), "text/vcard; charset=utf-8");
    // The old tag is of no use any more.
    for method in ["PUT", "DELETE"] {
        let body = if method == "PUT" {
            card("a", "Late")
        } else {
            String::new()
        };
        assert_eq!(
            served
                .request(method, path)
                .header("if-match", &tag)
                .body(body)
                .status(),
            412
        );
    }
    let known = served
        .request("GET", path)
        .header("if-none-match", &new)
        .body("");
    assert_eq!((known.status(), known.bytes().len()), (304, 0));
    let other = served
        .request("GET", path)
        .header("if-match", &tag)
        .body("");
    assert_eq!(other.status(), 412);
    let head = served.request("HEAD", path).body("");
    assert_eq!((head.status(), head.bytes().len()), (200, 0));
    assert_eq!(head.header("content-length"), body.len().to_string());
    let removed = served
        .request("DELETE", path)
        .header("if-match", &new)
        .body("");
    assert_eq!((removed.status(), removed.outcome.removed), (204, 1));
    assert_eq!(
        served
            .request("DELETE", path)
            .header("if-match", &new)
            .body("")
            .status(),
        404
    );
    assert_eq!(served.get(path).status(), 404);
}

#[test]
fn an_unchanged_card_is_not_written() {
    let served = Served::new();
    let path = "/dav/addressbooks/1/a.vcf";
    let tag = served.put(path, &card("a", "Ada"));
    let token = served.token("/dav/addressbooks/1/");
    let answer = served.request("PUT", path).body(card("a", "Ada"));
    assert_eq!((answer.status(), answer.outcome.written), (204, 0));
    assert_eq!(answer.header("etag"), tag);
    assert_eq!(served.token("/dav/addressbooks/1/"), token);
}

#[test]
fn a_client_may_want_the_saved_card() {
    let served = Served::new();
    let answer = served
        .request("PUT", "/dav/addressbooks/1/a.vcf")
        .header("prefer", "return=representation")
        .body(card("a", "Ada"));
    assert_eq!(answer.status(), 201);
    assert_eq!(answer.text(), card("a", "Ada"));
    assert_eq!(
        answer.header("content-location"),
        "/dav/addressbooks/1/a.vcf"
    );
    assert_ne!(answer.header("etag"), "");
}
