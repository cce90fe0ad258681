//! Any requests to a small store: each is answered, no answer says that the server failed, and XML that is
//! answered is XML. What was put with a tag comes back byte for byte.
//!
//! ```text
//! PUT /dav/addressbooks/1/b.vcf     method and path
//! If-None-Match: *                  headers
//!                                   an empty line
//! BEGIN:VCARD                       the body
//! ...
//! ====                              the next request
//! ```

#![no_main]

use etui::Store;
use etui_dav::xml::{Element, Limits};
use etui_dav::{Collected, DavOptions, Session, answer};
use http::{Request, Response};
use libfuzzer_sys::fuzz_target;

/// Requests of one input.
const MAX_REQUESTS: usize = 8;

const SESSION: Session<'static> = Session {
    device: "fuzzer",
    may_write: true,
    sees: None,
    reads: None,
    user: "ada",
    root: "/dav/",
    shared: &[],
};

const CARD: &[u8] =
    b"BEGIN:VCARD\r\nVERSION:4.0\r\nUID:a\r\nFN:Ada\r\nTEL;VALUE=uri:tel:+49-30-1\r\nEND:VCARD\r\n";

const EVENT: &[u8] = b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Example//Test//EN\r\nBEGIN:VEVENT\r\nUID:e\r\n\
    DTSTAMP:20260101T000000Z\r\nDTSTART:20260105T100000\r\nDURATION:PT1H\r\nRRULE:FREQ=WEEKLY\r\nSUMMARY:Tea\r\n\
    END:VEVENT\r\nEND:VCALENDAR\r\n";

fuzz_target!(|data: &[u8]| {
    let dir = tempfile::tempdir().expect("a directory");
    let store = Store::open(dir.path().join("fuzz.etui")).expect("a store");
    for (path, body) in [
        ("/dav/addressbooks/1/a.vcf", CARD),
        ("/dav/calendars/2/e.ics", EVENT),
    ] {
        let request = Request::put(path).body(body.to_vec()).expect("a request");
        assert_eq!(send(&store, &request).status().as_u16(), 201);
    }
    for part in split(data, b"====\n").into_iter().take(MAX_REQUESTS) {
        let Some(request) = parse(part) else {
            continue;
        };
        let response = send(&store, &request);
        let status = response.status();
        assert!(
            !status.is_server_error() || status.as_u16() == 507,
            "{request:?} {response:?}"
        );
        let content_type = response.headers().get("content-type");
        if content_type.is_some_and(|value| value.as_bytes().starts_with(b"application/xml")) {
            let read = Element::parse(
                response.body(),
                &Limits {
                    max_depth: 64,
                    ..Limits::default()
                },
            );
            assert!(
                read.is_ok(),
                "{:?}",
                String::from_utf8_lossy(response.body())
            );
        }
        let is_put = request.method() == "PUT" && status.is_success();
        if let Some(tag) = response.headers().get("etag").filter(|_| is_put) {
            let get = Request::get(request.uri())
                .body(Vec::new())
                .expect("a request");
            let read = send(&store, &get);
            // With `Prefer: return=representation` the tag is that of the answer's body.
            let is_told = response.headers().contains_key("preference-applied");
            let expected = if is_told {
                response.body()
            } else {
                request.body()
            };
            assert_eq!(read.body(), expected);
            assert_eq!(read.headers().get("etag"), Some(tag));
        }
    }
    assert!(store.check().expect("it can be checked").is_clean());
});

fn send(store: &Store, request: &Request<Vec<u8>>) -> Response<Vec<u8>> {
    let mut out = Collected::new();
    answer(store, &SESSION, &DavOptions::default(), request, &mut out).expect("an answer");
    out.into_response()
}

/// Parses a request; `None`: the server would not have let it in.
fn parse(text: &[u8]) -> Option<Request<Vec<u8>>> {
    let parts = split(text, b"\n\n");
    let (head, body) = (
        parts.first()?,
        text.get(parts.first()?.len() + 2..).unwrap_or_default(),
    );
    let mut lines = std::str::from_utf8(head).ok()?.lines();
    let (method, path) = lines.next()?.split_once(' ')?;
    let mut request = Request::builder().method(method).uri(path);
    for line in lines {
        let (name, value) = line.split_once(':')?;
        request = request.header(name.trim(), value.trim());
    }
    request.body(body.to_vec()).ok()
}

fn split<'d>(data: &'d [u8], separator: &[u8]) -> Vec<&'d [u8]> {
    let mut parts = Vec::new();
    let mut rest = data;
    while let Some(at) = rest.windows(separator.len()).position(|w| w == separator) {
        parts.push(&rest[..at]);
        rest = &rest[at + separator.len()..];
    }
    parts.push(rest);
    parts
}
