//! Requests that are meant to harm.

use std::io;

use etui_dav::{Respond, answer};
use http::{Request, Response};

use crate::support::{SESSION, Served, card};

const BOOK: &str = "/dav/addressbooks/1/";

#[test]
fn entities_are_not_expanded() {
    let served = Served::new();
    for body in [
        r#"<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><propfind xmlns="DAV:"><prop><x>&b;</x></prop></propfind>"#,
        r#"<!DOCTYPE x SYSTEM "file:///etc/passwd"><propfind xmlns="DAV:"><allprop/></propfind>"#,
        r#"<propfind xmlns="DAV:"><prop><x>&unknown;</x></prop></propfind>"#,
        "<propfind xmlns=\"DAV:\"><prop>\u{1}</prop></propfind>",
        "<propfind xmlns=\"DAV:\">",
        "not XML",
        "<x/>",
    ] {
        for method in ["PROPFIND", "PROPPATCH", "REPORT"] {
            let answer = served.request(method, BOOK).header("depth", "0").body(body);
            assert!([400, 403].contains(&answer.status()), "{method} {body}");
        }
    }
    let deep = format!("{}{}", "<a xmlns='DAV:'>".repeat(40), "</a>".repeat(40));
    assert_eq!(served.request("REPORT", BOOK).body(deep).status(), 400);
    let wide = format!(
        "<propfind xmlns='DAV:'><prop>{}</prop></propfind>",
        "<a/>".repeat(100_001)
    );
    assert_eq!(
        served
            .request("PROPFIND", BOOK)
            .header("depth", "1")
            .body(wide)
            .status(),
        400
    );
}

#[test]
fn sizes_are_limited() {
    let mut served = Served::new();
    served.options.max_resource = 300;
    served.options.max_xml = 100;
    let large = card("a", &"x".repeat(300));
    let answer = served.request("PUT", &format!("{BOOK}a.vcf")).body(&large);
    assert_eq!(answer.refusal(), (413, "card:max-resource-size".to_owned()));
    let body = format!(
        "<propfind xmlns='DAV:'><prop><x>{}</x></prop></propfind>",
        "x".repeat(100)
    );
    assert_eq!(
        served
            .request("PROPFIND", BOOK)
            .header("depth", "0")
            .body(body)
            .status(),
        413
    );
    served.put(&format!("{BOOK}b.vcf"), &card("b", "Bo"));
}

#[test]
fn infinite_depth_is_refused() {
    let served = Served::new();
    for path in ["/dav/", BOOK] {
        let answer = served
            .request("PROPFIND", path)
            .header("depth", "infinity")
            .body("");
        assert_eq!(
            answer.refusal(),
            (403, "d:propfind-finite-depth".to_owned())
        );
        assert_eq!(served.request("PROPFIND", path).body("").status(), 403);
    }
}

#[test]
fn paths_stay_where_they_are() {
    let served = Served::new();
    served.put(&format!("{BOOK}a.vcf"), &card("a", "Ada"));
    for path in [
        "/dav/addressbooks/1/../1/a.vcf",
        "/dav/addressbooks/1/%2e%2e/1/a.vcf",
        "/dav/addressbooks//1/a.vcf",
        "/dav/addressbooks/1//a.vcf",
        "/dav/addressbooks/1%2fa.vcf",
        "/dav/addressbooks/1/a.vcf%00",
        "/dav/addressbooks/1/a.vcf/",
        "/dav/addressbooks/01/a.vcf",
        "/dav/addressbooks/+1/a.vcf",
        "/dav/addressbooks/Contacts/a.vcf",
        "/dav/calendars/1/a.vcf",
        "/dav/addressbooks/1/A.vcf",
        "/dav/addressbooks/1/%ff.vcf",
        "/etc/passwd",
    ] {
        for method in ["GET", "DELETE"] {
            let status = served.request(method, path).body("").status();
            assert!([400, 404].contains(&status), "{method} {path} {status}");
        }
        let status = served.request("PUT", path).body(card("b", "Bo")).status();
        assert!([201, 400, 404, 405].contains(&status), "{path} {status}");
    }
    assert_eq!(served.get(&format!("{BOOK}a.vcf")).text(), card("a", "Ada"));
    // A multiget names nothing outside its collection.
    let hrefs = [
        "/dav/calendars/2/a.vcf",
        "/dav/addressbooks/2/a.vcf",
        "../1/a.vcf",
        "",
        "/etc/passwd",
        "/dav/addressbooks/1/",
    ];
    let all: String = hrefs
        .iter()
        .map(|href| format!("<href>{href}</href>"))
        .collect();
    let body = format!(
        r#"<B:addressbook-multiget xmlns="DAV:" xmlns:B="urn:ietf:params:xml:ns:carddav"><prop><B:address-data/></prop>{all}</B:addressbook-multiget>"#
    );
    let answer = served.request("REPORT", BOOK).body(body);
    assert_eq!(answer.lines().matches("404 Not Found").count(), hrefs.len());
    assert_eq!(answer.outcome.read, 0);
}

#[test]
fn markup_in_texts_stays_text() {
    let served = Served::new();
    let name = "</d:displayname><d:status>HTTP/1.1 200 OK";
    let body = format!(
        "<propertyupdate xmlns='DAV:'><set><prop><displayname>{}</displayname></prop></set></propertyupdate>",
        name.replace('<', "&lt;")
    );
    assert_eq!(served.request("PROPPATCH", BOOK).body(body).status(), 207);
    let answer = served
        .request("PROPFIND", BOOK)
        .header("depth", "0")
        .body(r#"<propfind xmlns="DAV:"><prop><displayname/><n:x xmlns:n="urn:&quot;&lt;"/></prop></propfind>"#);
    assert_eq!(answer.find("displayname").unwrap().text, name);
    assert_eq!(answer.find("x").unwrap().ns.uri(), "urn:\"<");
    // A name of a resource that looks like markup.
    let path = format!("{BOOK}%3Cd:href%3E%26.vcf");
    served.put(&path, &card("a", "]]>&<x>"));
    let listed = served
        .request("PROPFIND", BOOK)
        .header("depth", "1")
        .body("");
    assert_eq!(served.get(&listed.hrefs()[1]).text(), card("a", "]]>&<x>"));
}

#[test]
fn other_methods_are_refused() {
    let served = Served::new();
    let path = format!("{BOOK}a.vcf");
    served.put(&path, &card("a", "Ada"));
    for (method, path) in [
        ("POST", path.as_str()),
        ("LOCK", path.as_str()),
        ("ACL", BOOK),
        ("GET", BOOK),
        ("PUT", BOOK),
        ("GET", "/dav/"),
    ] {
        let answer = served.request(method, path).body("");
        assert_eq!(answer.status(), 405, "{method} {path}");
        assert!(answer.header("allow").contains("PROPFIND"));
    }
    let report = r#"<x:unknown xmlns:x="urn:x"/>"#;
    assert_eq!(
        served.request("REPORT", BOOK).body(report).refusal(),
        (403, "d:supported-report".to_owned())
    );
    let part = served
        .request("PUT", &path)
        .header("content-range", "bytes 0-1/3")
        .body("x");
    assert_eq!(part.status(), 400);
}

/// A connection that breaks after some bytes.
struct Broken {
    left: usize,
}

impl Respond for Broken {
    fn start(&mut self, _: Response<()>) -> io::Result<&mut dyn io::Write> {
        Ok(self)
    }
}

impl io::Write for Broken {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match bytes.len().min(self.left) {
            0 if !bytes.is_empty() => Err(io::ErrorKind::BrokenPipe.into()),
            len => {
                self.left -= len;
                Ok(len)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_broken_connection_ends_the_answer() {
    let served = Served::new();
    for n in 0..200 {
        served.put(&format!("{BOOK}{n}.vcf"), &card(&n.to_string(), "Someone"));
    }
    let sync = r#"<sync-collection xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><sync-token/><prop><getetag/><c:address-data/></prop></sync-collection>"#;
    for (method, body) in [("PROPFIND", ""), ("REPORT", sync)] {
        let request = Request::builder()
            .method(method)
            .uri(BOOK)
            .header("depth", "1");
        let request = request.body(body.as_bytes().to_vec()).unwrap();
        for left in [0, 10, 20_000] {
            let mut out = Broken { left };
            let ended = answer(&served.store, &SESSION, &served.options, &request, &mut out);
            assert_eq!(
                ended.unwrap_err().kind(),
                io::ErrorKind::BrokenPipe,
                "{method} {left}"
            );
        }
    }
    // The store is usable.
    served.put(&format!("{BOOK}last.vcf"), &card("last", "Someone"));
}

/// Attributes and names cost memory, and are in the answer for each resource.
#[test]
fn attributes_and_names_have_a_total_limit() {
    let served = Served::new();
    let element = "<a a='' b='' c='' d='' e='' f='' g='' h='' i='' j=''/>";
    let body = format!("<p xmlns='urn:x'>{}</p>", element.repeat(10_001));
    let answer = served
        .request("PROPFIND", "/dav/")
        .header("depth", "0")
        .body(body);
    assert_eq!(answer.status(), 400);
    assert!(
        answer.text().contains("100000 attributes"),
        "{}",
        answer.text()
    );
    let names: String = (0..400)
        .map(|number| format!("<x:{}{number}/>", "n".repeat(50)))
        .collect();
    let body = format!("<propfind xmlns='DAV:' xmlns:x='urn:x'><prop>{names}</prop></propfind>");
    let answer = served
        .request("PROPFIND", "/dav/")
        .header("depth", "0")
        .body(body);
    assert_eq!(answer.status(), 400);
    assert!(answer.text().contains("16384 bytes"), "{}", answer.text());
}
