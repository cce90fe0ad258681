//! Clients that send or read slowly, or not at all.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use etui::Store;
use etui::contacts::Card;
use etui_testkit::wait::{LIMIT, wait_until};

use crate::client::{Client, TestServer, card};

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
    assert!(server.client_in_time().is_closed());
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
    let lines = "Content-Length: 1000000\r\n";
    client
        .send_head("PUT", "/dav/addressbooks/1/a.vcf", lines)
        .unwrap();
    wait_until("both are cut off", || {
        // It may be closed.
        let _ = client.send(b"x");
        let log = server.log.lock().unwrap();
        log.iter().filter(|l| l.contains("too-slow")).count() == 2
    });
}

#[test]
fn idle_strangers_do_not_keep_others_out() {
    let server = TestServer::start_with(|options| {
        (options.limits.stranger, options.limits.head) = (2 * LIMIT, 2 * LIMIT);
    });
    // More than all connections that there may be.
    let mut idle: Vec<_> = (0..300).map(|_| server.stranger()).collect();
    let mut device = server.client();
    assert_eq!(device.get("/").status, 200);
    // The oldest were cut off, and the device is not.
    assert!(idle[0].is_closed());
    idle.extend((0..100).map(|_| server.stranger()));
    assert_eq!(device.get("/").status, 200);
}

#[test]
fn a_stranger_has_a_short_time() {
    let server = TestServer::start_with(|options| {
        (options.limits.stranger, options.limits.refusal) = (3 * SHORT, Duration::ZERO);
    });
    let mut device = server.client_in_time();
    let begun = Instant::now();
    let mut idle = server.stranger();
    // Requests without a password, or with a wrong one, do not help.
    let mut busy = server.stranger();
    wait_until("the stranger is cut off", || {
        busy.try_ask("GET", "/", "").is_err()
    });
    assert!(idle.is_closed());
    assert!(begun.elapsed() >= 3 * SHORT);
    assert_eq!(device.get("/").status, 200);
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

/// Asks for all cards, without reading the answer.
fn ask_for_all(server: &TestServer) -> Client<TcpStream> {
    let mut client = server.client();
    let length = format!("Content-Length: {}\r\nDepth: 1\r\n", ALL.len());
    client
        .send_head("REPORT", "/dav/addressbooks/1/", &length)
        .unwrap();
    client.send(ALL.as_bytes()).unwrap();
    client
}

#[test]
fn who_does_not_read_a_large_answer_loses_it() {
    let server = TestServer::start_with(|options| {
        (options.limits.answer_pause, options.limits.answer_patience) = (SHORT, SHORT / 6);
        options.limits.connections = 1;
    });
    fill(&server);
    let mut client = ask_for_all(&server);
    server.wait_for_log(" REPORT ");
    // Another connection finds room once this one is cut off.
    assert_eq!(server.client().get("/").status, 200);
    // The client knows that the answer is not complete.
    let mut rest = Vec::new();
    if client.stream.read_to_end(&mut rest).is_ok() {
        assert!(!rest.ends_with(b"0\r\n\r\n"));
    }
}

#[test]
fn slow_readers_hold_no_worker_and_lose_nothing() {
    let server = TestServer::start_with(|options| {
        (options.limits.workers, options.limits.answer_patience) = (2, SHORT / 6);
        options.limits.answer_pause = 2 * LIMIT;
    });
    fill(&server);
    let all = ask_for_all(&server).read_answer(false).unwrap();
    let mut slow: Vec<_> = (0..4).map(|_| ask_for_all(&server)).collect();
    let mut device = server.client();
    assert_eq!(device.get("/").status, 200);
    let path = "/dav/addressbooks/1/a.vcf";
    assert_eq!(device.ask("PUT", path, &card("a", "Ada")).status, 201);
    // Each has the whole answer, from the time of its request.
    for client in &mut slow {
        let answer = client.read_answer(false).unwrap();
        assert!(answer.body.len() >= all.body.len() && answer.body.ends_with(b"</d:multistatus>"));
        // The connection goes on.
        assert_eq!(client.get(path).text(), card("a", "Ada"));
    }
}

#[test]
fn an_answer_that_finds_no_room_is_cut() {
    let server = TestServer::start_with(|options| {
        (options.limits.spool_bytes, options.limits.answer_patience) = (1 << 20, SHORT / 6);
    });
    fill(&server);
    let mut client = ask_for_all(&server);
    server.wait_for_log("not-answered");
    let mut rest = Vec::new();
    if client.stream.read_to_end(&mut rest).is_ok() {
        assert!(!rest.ends_with(b"0\r\n\r\n"));
    }
    assert_eq!(server.client().get("/").status, 200);
}

#[test]
fn a_program_that_writes_for_long_stops_no_log_in_and_no_reading() {
    // A busy machine may take longer for anything.
    let waits = [6 * SHORT, 100 * SHORT];
    assert!(waits.into_iter().any(is_read_while_writes_wait));
}

/// Starts a program that holds the write lock of a store until its input ends.
fn lock_store(path: &Path) -> Child {
    let script = "import sqlite3, sys\n\
                  store = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                  store.execute('BEGIN IMMEDIATE')\n\
                  print('locked', flush=True)\n\
                  sys.stdin.read()\n";
    let mut locker = Command::new("python3")
        .args(["-c", script])
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let output = locker.stdout.as_mut().unwrap();
    BufReader::new(output).read_line(&mut line).unwrap();
    assert_eq!(line, "locked\n");
    locker
}

/// Returns whether a device is answered before writes have waited for their time.
fn is_read_while_writes_wait(write_wait: Duration) -> bool {
    let server = TestServer::start_with(|options| {
        (options.limits.workers, options.limits.write_wait) = (4, write_wait);
    });
    let is_in_time = {
        let mut locker = lock_store(&server.path("ada.etui"));
        // Writes wait, then the devices are to come again.
        let mut writers: Vec<_> = (0..4).map(|_| server.client()).collect();
        for (n, writer) in writers.iter_mut().enumerate() {
            let path = format!("/dav/addressbooks/1/b{n}.vcf");
            let card = card(&format!("b{n}"), "Bob");
            let length = format!("Content-Length: {}\r\n", card.len());
            writer.send_head("PUT", &path, &length).unwrap();
            writer.send(card.as_bytes()).unwrap();
        }
        // The first use of the device is not recorded, and nobody waits for that.
        let begun = Instant::now();
        assert_eq!(server.client().get("/").status, 200);
        let is_in_time = begun.elapsed() < write_wait;
        for writer in &mut writers {
            let answer = writer.read_answer(false).unwrap();
            assert_eq!(answer.status, 503);
            assert!(answer.header("retry-after").is_some());
        }
        // The program ends at the end of its input, and its transaction with it.
        drop(locker.stdin.take());
        locker.wait().unwrap();
        is_in_time
    };
    let path = "/dav/addressbooks/1/c.vcf";
    assert_eq!(
        server.client().ask("PUT", path, &card("c", "C")).status,
        201
    );
    is_in_time
}

#[test]
fn a_log_that_cannot_be_written_stops_nothing() {
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let (written, lines) = std::sync::mpsc::channel();
    let (wait, written) = (Mutex::new(wait), Mutex::new(written));
    let server = TestServer::start_with(|options| {
        options.log = Arc::new(move |line| {
            let _ = wait.lock().unwrap().recv();
            let _ = written.lock().unwrap().send(line.to_owned());
        });
    });
    let mut client = server.client();
    for _ in 0..5 {
        assert_eq!(client.get("/").status, 200);
    }
    assert!(lines.try_recv().is_err());
    drop(release);
    for _ in 0..5 {
        let line = lines.recv_timeout(LIMIT).unwrap();
        assert!(line.contains(" GET page 200 "), "{line}");
    }
}
