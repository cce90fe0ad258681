//! Bodies in all forms in which clients send them, and the limits.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use etui::Store;
use etui_testkit::wait::{LIMIT, wait_until};

use crate::client::{TestServer, card};

fn path(uid: &str) -> String {
    format!("/dav/addressbooks/1/{uid}.vcf")
}

#[test]
fn what_is_put_is_got() {
    let server = TestServer::start();
    let mut client = server.client();
    let card = card("ada", "Ada Lovelace");
    assert_eq!(client.ask("PUT", &path("ada"), &card).status, 201);
    // On the same connection.
    let answer = client.get(&path("ada"));
    assert_eq!((answer.status, answer.text()), (200, card.as_str()));
    let head = client.ask("HEAD", &path("ada"), "");
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(
        head.header("content-length"),
        Some(card.len().to_string().as_str())
    );
    assert_eq!(client.ask("DELETE", &path("ada"), "").status, 204);
    assert_eq!(client.get(&path("ada")).status, 404);
    // A line for each request, without the name of the record.
    let line = server.wait_for_log(" PUT ");
    assert!(
        line.contains(" Phone PUT ") && line.contains(" 201 "),
        "{line}"
    );
    assert!(!server.log.lock().unwrap().concat().contains("ada"));
}

#[test]
fn chunked_bodies_are_read() {
    let server = TestServer::start();
    let mut client = server.client();
    let card = card("ada", "Ada");
    client
        .send_head("PUT", &path("ada"), "Transfer-Encoding: chunked\r\n")
        .unwrap();
    for part in card.as_bytes().chunks(7) {
        client
            .send(format!("{:x}\r\n", part.len()).as_bytes())
            .unwrap();
        client.send(part).unwrap();
        client.send(b"\r\n").unwrap();
    }
    client.send(b"0\r\n\r\n").unwrap();
    assert_eq!(client.read_answer(false).unwrap().status, 201);
    assert_eq!(client.get(&path("ada")).text(), card);
}

#[test]
fn requests_may_come_in_pieces_or_several_at_once() {
    let server = TestServer::start();
    let mut client = server.client();
    let card = card("ada", "Ada");
    let authorization = client.authorization.clone().unwrap();
    let request = format!(
        "PUT {} HTTP/1.1\r\nHost: x\r\n{authorization}Content-Length: {}\r\n\r\n{card}",
        path("ada"),
        card.len()
    );
    for byte in request.as_bytes() {
        client.send(std::slice::from_ref(byte)).unwrap();
    }
    assert_eq!(client.read_answer(false).unwrap().status, 201);
    // Pipelined.
    let get = format!(
        "GET {} HTTP/1.1\r\nHost: x\r\n{authorization}\r\n",
        path("ada")
    );
    client.send(get.repeat(5).as_bytes()).unwrap();
    for _ in 0..5 {
        assert_eq!(client.read_answer(false).unwrap().text(), card);
    }
}

#[test]
fn a_client_that_asks_first_is_answered_first() {
    let server = TestServer::start();
    let card = card("ada", "Ada");
    let lines = format!("Expect: 100-continue\r\nContent-Length: {}\r\n", card.len());
    let mut client = server.client();
    client.send_head("PUT", &path("ada"), &lines).unwrap();
    assert_eq!(client.read_head().unwrap().status, 100);
    client.send(card.as_bytes()).unwrap();
    assert_eq!(client.read_answer(false).unwrap().status, 201);
    // Without a password, or too large: no body is asked for.
    let mut stranger = server.stranger();
    stranger.send_head("PUT", &path("eve"), &lines).unwrap();
    assert_eq!(stranger.read_answer(false).unwrap().status, 401);
    let mut client = server.client();
    let lines = "Expect: 100-continue\r\nContent-Length: 99999999\r\n";
    client.send_head("PUT", &path("eve"), lines).unwrap();
    assert_eq!(client.read_answer(false).unwrap().status, 413);
}

#[test]
fn bodies_have_a_largest_size() {
    let server = TestServer::start_with(|options| {
        (options.limits.resource_bytes, options.limits.xml_bytes) = (2000, 3000);
    });
    let note = |length: usize| {
        format!(
            "{}NOTE:{}\r\nEND:VCARD\r\n",
            card("a", "A").replace("END:VCARD\r\n", ""),
            "x".repeat(length)
        )
    };
    let fits = note(1500);
    assert_eq!(server.client().ask("PUT", &path("a"), &fits).status, 201);
    let answer = server.client().ask("PUT", &path("a"), &note(2000));
    assert_eq!(
        (answer.status, answer.text()),
        (413, "At most 2000 bytes are taken.\n")
    );
    assert_eq!(
        server
            .client()
            .ask("PROPFIND", "/dav/", &" ".repeat(3001))
            .status,
        413
    );
    assert_eq!(server.client().get(&path("a")).text(), fits);
}

#[test]
fn an_endless_body_is_cut_off() {
    let server = TestServer::start_with(|options| options.limits.resource_bytes = 100_000);
    let mut client = server.client();
    client
        .send_head("PUT", &path("a"), "Transfer-Encoding: chunked\r\n")
        .unwrap();
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    // 413, then the connection ends; until then the writes succeed.
    let mut sent = 0u64;
    while client.send(chunk.as_bytes()).is_ok() {
        sent += chunk.len() as u64;
        assert!(sent < 64 << 20, "it takes everything");
    }
    server.wait_for_log("too-large");
    assert_eq!(
        Store::open(server.path("ada.etui"))
            .unwrap()
            .contacts()
            .unwrap()
            .count()
            .unwrap(),
        0
    );
}

#[test]
fn a_stranger_cannot_fill_the_memory() {
    let server = TestServer::start();
    let mut client = server.stranger();
    let lines = "Content-Length: 10000000\r\n";
    client.send_head("PUT", &path("a"), lines).unwrap();
    let piece = vec![b'x'; 1 << 16];
    let mut sent = 0;
    while sent < 10_000_000 && client.send(&piece).is_ok() {
        sent += piece.len();
    }
    assert!(sent < 10_000_000, "all was read");
    server.wait_for_log("no-password");
}

#[test]
fn heads_have_a_largest_size() {
    let server = TestServer::start();
    let mut client = server.client();
    let lines = format!("X-Long: {}\r\n", "x".repeat(60 << 10));
    client.send_head("GET", "/", &lines).unwrap();
    assert_eq!(client.read_answer(false).unwrap().status, 200);
    let mut client = server.client();
    let lines = format!("X-Long: {}\r\n", "x".repeat(200 << 10));
    // The server may close before all is sent.
    let _ = client.send_head("GET", "/", &lines);
    assert_eq!(client.read_head().unwrap().status, 431);
    // An endless head.
    let mut client = server.client();
    let mut sent = 0;
    client.send(b"GET / HTTP/1.1\r\n").unwrap();
    while client.stream.get_mut().write_all(b"X-A: b\r\n").is_ok() {
        sent += 8;
        assert!(sent < 16 << 20, "it takes everything");
    }
}

#[test]
fn malformed_requests_are_refused() {
    let server = TestServer::start();
    for bad in [
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "\0\0\0\0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost x\r\n\r\n",
        "PUT / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "PUT / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{fc}\u{3}\u{3}",
    ] {
        let mut client = server.stranger();
        client.send(bad.as_bytes()).unwrap();
        client
            .stream
            .get_ref()
            .shutdown(std::net::Shutdown::Write)
            .unwrap();
        match client.read_head() {
            Ok(answer) => assert_eq!(answer.status, 400, "{bad:?}"),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof, "{bad:?}"),
        }
    }
    assert_eq!(server.client().get("/").status, 200);
}

#[test]
fn many_clients_at_once() {
    let server = TestServer::start();
    let answered = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for client in 0..64 {
            let (server, answered) = (&server, &answered);
            scope.spawn(move || {
                let mut connection = server.client();
                for n in 0..5 {
                    let uid = format!("c{client}-{n}");
                    let card = card(&uid, &format!("Client {client}"));
                    assert_eq!(connection.ask("PUT", &path(&uid), &card).status, 201);
                    assert_eq!(connection.get(&path(&uid)).text(), card);
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(answered.into_inner(), 320);
    let store = Store::open(server.path("ada.etui")).unwrap();
    assert_eq!(store.contacts().unwrap().count().unwrap(), 320);
}

#[test]
fn large_bodies_share_the_memory_and_all_come_to_their_end() {
    let server = TestServer::start_with(|options| {
        options.limits.bodies_bytes = 1 << 20;
        (options.limits.body_pause, options.limits.body) = (2 * LIMIT, 2 * LIMIT);
    });
    let large = |uid: &str| {
        let note = format!("NOTE:{}\r\nEND:", "x".repeat(3 << 20));
        card(uid, "Ada").replace("END:", &note)
    };
    // Together they need four times the memory that there is.
    std::thread::scope(|scope| {
        for n in 0..4 {
            let server = &server;
            scope.spawn(move || {
                let uid = format!("c{n}");
                let answer = server.client().ask("PUT", &path(&uid), &large(&uid));
                assert_eq!(answer.status, 201);
            });
        }
    });
    // Some that stop in the middle keep neither short requests out, nor another large one.
    let mut slow: Vec<_> = (0..3).map(|_| server.client()).collect();
    for (n, client) in slow.iter_mut().enumerate() {
        client
            .send_head(
                "PUT",
                &path(&format!("s{n}")),
                "Content-Length: 10000000\r\n",
            )
            .unwrap();
        client.send(&[b'x'; 300 << 10]).unwrap();
    }
    for uid in ["a", "b"] {
        let answer = server.client().ask("PUT", &path(uid), &card(uid, "Ada"));
        assert_eq!(answer.status, 201);
    }
    let answer = server.client().ask("PUT", &path("d"), &large("d"));
    assert_eq!(answer.status, 201);
}

#[test]
fn bodies_that_stop_lose_their_memory() {
    let server = TestServer::start_with(|options| {
        (options.limits.bodies_bytes, options.limits.body_pause) =
            (64 << 10, Duration::from_millis(500));
    });
    let mut slow: Vec<_> = (0..3).map(|_| server.client()).collect();
    for client in &mut slow {
        client
            .send_head("PUT", &path("a"), "Content-Length: 10000000\r\n")
            .unwrap();
        client.send(&[b'x'; 300 << 10]).unwrap();
    }
    // One grows beyond the memory and stops; the others wait for it.
    let mut statuses: Vec<_> = slow
        .iter_mut()
        .map(|client| client.read_head().unwrap().status)
        .collect();
    statuses.sort_unstable();
    assert!(statuses.starts_with(&[408]), "{statuses:?}");
    assert!(statuses.iter().all(|s| matches!(s, 408 | 503)));
    let note = format!("NOTE:{}\r\nEND:", "x".repeat(3 << 20));
    let large = card("b", "B").replace("END:", &note);
    // It has to be sent in time, too.
    wait_until("another has the memory", || {
        let answer = server.client().try_ask("PUT", &path("b"), &large);
        answer.is_ok_and(|answer| answer.status == 201)
    });
}

#[test]
fn a_declared_length_is_refused_at_once() {
    let server = TestServer::start_with(|options| {
        (options.limits.body_pause, options.limits.body) = (2 * LIMIT, 2 * LIMIT);
    });
    let mut client = server.client();
    client
        .send_head("PUT", &path("a"), "Content-Length: 99999999\r\n")
        .unwrap();
    // Nothing of the body is sent.
    assert_eq!(client.read_answer(false).unwrap().status, 413);
}

#[test]
fn a_device_that_removes_most_of_a_collection_is_noticed() {
    let server = TestServer::start();
    let mut client = server.client();
    for n in 0..16 {
        let uid = format!("c{n}");
        let answer = client.ask("PUT", &path(&uid), &card(&uid, "Ada"));
        assert_eq!(answer.status, 201);
    }
    for n in 0..9 {
        assert_eq!(
            client.ask("DELETE", &path(&format!("c{n}")), "").status,
            204
        );
    }
    let notices = || {
        let lines = server.log.lock().unwrap().clone();
        lines.iter().filter(|line| line.contains("notice:")).count()
    };
    assert_eq!(notices(), 0);
    for n in 9..12 {
        assert_eq!(
            client.ask("DELETE", &path(&format!("c{n}")), "").status,
            204
        );
    }
    let line = server.wait_for_log("notice:");
    assert!(line.contains("Phone removed 10 records"), "{line}");
    assert_eq!(notices(), 1);
}
