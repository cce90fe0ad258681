//! Requests with random damage: each has an answer, and the store stays whole.

use std::fs;

use etui::Store;
use etui_dav::xml::{Element, Limits};
use etui_dav::{Collected, DavOptions, answer};
use etui_testkit::rng::SplitMix64;
use http::Request;

use crate::support::{SESSION, Served, card, event};

/// Texts that are put in the place of others.
const SPLICES: [&str; 20] = [
    "%2f",
    "%",
    "..",
    "/",
    "//",
    "\0",
    "\u{ffff}",
    "&#0;",
    "&x;",
    "<!DOCTYPE a>",
    "<![CDATA[",
    "]]>",
    "xmlns=\"\"",
    "99999999999999999999",
    "-1",
    "\"",
    "*",
    "W/",
    "\r\n",
    "99991231T235959Z",
];

/// The requests that the fuzzer starts from, see `fuzz/fuzz_targets/dav_request.rs`.
fn seeds() -> Vec<Vec<u8>> {
    let folder = format!(
        "{}/../../fuzz/seeds/dav-request",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let files = paths.iter().map(|path| fs::read_to_string(path).unwrap());
    let requests = files.flat_map(|file| {
        let parts = file.split("====\n").map(|part| part.as_bytes().to_vec());
        parts.collect::<Vec<_>>()
    });
    requests.collect()
}

fn parse(text: &[u8]) -> Option<Request<Vec<u8>>> {
    let end = text.windows(2).position(|pair| pair == b"\n\n")?;
    let mut lines = std::str::from_utf8(&text[..end]).ok()?.lines();
    let (method, path) = lines.next()?.split_once(' ')?;
    let mut request = Request::builder().method(method).uri(path);
    for line in lines {
        let (name, value) = line.split_once(':')?;
        request = request.header(name, value.trim());
    }
    request.body(text[end + 2..].to_vec()).ok()
}

/// Returns a random index below `count`, which is not 0.
fn below(random: &mut SplitMix64, count: usize) -> usize {
    let count = u32::try_from(count).unwrap();
    usize::try_from(random.below(count)).unwrap()
}

fn damage(text: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut SplitMix64) {
    for _ in 0..=random.below(3) {
        let at = below(random, text.len() + 1);
        let end = (at + below(random, 12)).min(text.len());
        match random.below(5) {
            0 => drop(text.drain(at..end)),
            1 => {
                let splice = SPLICES[below(random, SPLICES.len())];
                text.splice(at..end, splice.bytes());
            }
            2 => {
                let copy = text[at..end].to_vec();
                text.splice(at..at, copy);
            }
            3 if at < text.len() => text[at] = u8::try_from(random.below(256)).unwrap(),
            _ => {
                let other = &seeds[below(random, seeds.len())];
                let from = below(random, other.len());
                let to = (from + 40).min(other.len());
                text.splice(at..end, other[from..to].iter().copied());
            }
        }
    }
}

fn send(store: &Store, request: &Request<Vec<u8>>) -> u16 {
    let mut out = Collected::new();
    answer(store, &SESSION, &DavOptions::default(), request, &mut out).unwrap();
    let response = out.into_response();
    let status = response.status().as_u16();
    assert!(status < 500 || status == 507, "{request:?} {response:?}");
    let content_type = response.headers().get("content-type");
    if content_type.is_some_and(|value| value.as_bytes().starts_with(b"application/xml")) {
        let limits = Limits {
            max_depth: 64,
            ..Limits::default()
        };
        Element::parse(response.body(), &limits).unwrap();
    }
    status
}

#[test]
fn damaged_requests_have_answers() {
    let long = std::env::var_os("ETUI_TEST_LONG").is_some();
    let (served, seeds) = (Served::new(), seeds());
    served.put("/dav/addressbooks/1/a.vcf", &card("a", "Ada"));
    served.put("/dav/calendars/2/e.ics", &event("e", "Tea", 5));
    let mut random = SplitMix64::new(7);
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..if long { 200_000 } else { 4_000 } {
        let mut text = seeds[below(&mut random, seeds.len())].clone();
        damage(&mut text, &seeds, &mut random);
        if let Some(request) = parse(&text) {
            *counts.entry(send(&served.store, &request)).or_insert(0) += 1;
        }
    }
    // They go beyond the first check.
    for status in [201, 204, 207, 400, 403, 404, 412] {
        assert!(counts.contains_key(&status), "{counts:?}");
    }
    assert!(served.store.check().unwrap().is_clean());
}
