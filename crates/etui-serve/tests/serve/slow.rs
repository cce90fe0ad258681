//! Clients that send or read slowly, or not at all.

use std::io::Read;
use std::time::{Duration, Instant};

use etui::Store;
use etui::contacts::Card;

use crate::client::{TIMEOUT, TestServer, card};

const SHORT: Duration = Duration::from_millis(300);

#[test]
fn a_slow_head_is_cut_off() {
    let server = TestServer::start_with(|options| options.limits.head = SHORT);
    let begun = Instant::now();
    let mut slow = server.stranger();
    // A byte now and then does not help.
    std::thread::scope(|scope| {
        let mut writer = slow.stream.get_ref().try_clone().unwrap();
        scope.spawn(move || {
            for byte in b"GET / HTTP/1.1\r\nX-Slow: abcdefghijklmnopqrstuvwxyz" {
                use std::io::Write;
                if writer.write_all(std::slice::from_ref(byte)).is_err() {
                    return;
                }
                std::thread::sleep(SHORT / 6);
            }
        });
        assert!(slow.is_closed());
    });
    assert!(begun.elapsed() >= SHORT);
    // Nor does silence, before or between requests.
    let mut idle = server.client();
    assert!(idle.is_closed());
    let mut idle = server.client();
    assert_eq!(idle.get("/").status, 200);
    assert!(idle.is_closed());
}

#[test]
fn a_slow_body_is_cut_off() {
    let server = TestServer::start_with(|options| {
        (options.limits.body_pause, options.limits.body) = (SHORT, 3 * SHORT);
    });
    let lines = "Content-Length: 1000\r\n";
    let mut client = server.client();
    client
        .send_head("PUT", "/dav/addressbooks/1/a.vcf", lines)
        .unwrap();
    client.send(b"BEGIN:VCARD").unwrap();
    assert_eq!(client.read_answer(false).unwrap().status, 408);
    // Slow, but never silent.
    let mut client = server.client();
    let begun = Instant::now();
    client
        .send_head("PUT", "/dav/addressbooks/1/a.vcf", lines)
        .unwrap();
    while begun.elapsed() < TIMEOUT && client.send(b"x").is_ok() {
        std::thread::sleep(SHORT / 6);
        if server
            .log
            .lock()
            .unwrap()
            .iter()
            .filter(|l| l.contains("too-slow"))
            .count()
            == 2
        {
            break;
        }
    }
    assert!(begun.elapsed() < TIMEOUT);
}

#[test]
fn slow_clients_do_not_keep_others_out() {
    let server = TestServer::start_with(|options| {
        (options.limits.connections, options.limits.head) = (8, SHORT);
    });
    let idle: Vec<_> = (0..8).map(|_| server.stranger()).collect();
    std::thread::sleep(SHORT / 6);
    // It waits until they are cut off.
    assert_eq!(server.client().get("/").status, 200);
    drop(idle);
}

/// Fills the store, so that a listing has some megabytes.
fn fill(server: &TestServer) -> u64 {
    let store = Store::open(server.path("ada.etui")).unwrap();
    let note = "x".repeat(5000);
    let cards = (0..2000).map(|n| {
        let card = card(&format!("c{n}"), "Ada");
        Card::parse(card.replace("END:", &format!("NOTE:{note}\r\nEND:"))).unwrap()
    });
    let cards: Vec<_> = cards.collect();
    store.contacts().unwrap().save_many(&cards).unwrap();
    cards.iter().map(|card| card.text().len() as u64).sum()
}

/// A request whose answer has all cards.
const ALL: &str = "<?xml version=\"1.0\"?><C:addressbook-query xmlns:D=\"DAV:\" \
    xmlns:C=\"urn:ietf:params:xml:ns:carddav\"><D:prop><C:address-data/></D:prop>\
    <C:filter/></C:addressbook-query>";

#[test]
fn a_large_answer_comes_in_pieces_to_who_reads_it() {
    let server = TestServer::start_with(|options| options.limits.workers = 1);
    let least = fill(&server);
    let mut client = server.client();
    let length = format!("Content-Length: {}\r\nDepth: 1\r\n", ALL.len());
    client
        .send_head("REPORT", "/dav/addressbooks/1/", &length)
        .unwrap();
    client.send(ALL.as_bytes()).unwrap();
    let answer = client.read_answer(false).unwrap();
    assert_eq!(answer.status, 207);
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    assert!(answer.body.len() as u64 > least);
    // The connection goes on.
    assert_eq!(client.get("/").status, 200);
}

#[test]
fn who_does_not_read_a_large_answer_loses_it() {
    let server = TestServer::start_with(|options| {
        (options.limits.workers, options.limits.answer_pause) = (1, SHORT);
    });
    fill(&server);
    let mut client = server.client();
    let length = format!("Content-Length: {}\r\nDepth: 1\r\n", ALL.len());
    client
        .send_head("REPORT", "/dav/addressbooks/1/", &length)
        .unwrap();
    client.send(ALL.as_bytes()).unwrap();
    // The only worker is free again.
    let begun = Instant::now();
    assert_eq!(server.client().get("/").status, 200);
    assert!(begun.elapsed() < TIMEOUT);
    server.wait_for_log("not-answered");
    // The client knows that the answer is not complete.
    let mut rest = Vec::new();
    if client.stream.read_to_end(&mut rest).is_ok() {
        assert!(!rest.ends_with(b"0\r\n\r\n"));
    }
}
