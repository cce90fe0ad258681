//! Stopping, and the Unix socket.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use etui::Store;
use etui_testkit::wait::LIMIT;

use crate::client::{Client, TestServer, card};

#[test]
fn a_running_request_is_answered_and_idle_connections_end() {
    let mut server = TestServer::start_with(|options| options.limits.stop = LIMIT);
    let mut idle = server.client();
    assert_eq!(idle.get("/").status, 200);
    // Half of a request is there when the server is stopped.
    let mut running = server.client();
    let card = card("a", "Ada");
    running.begin("/dav/addressbooks/1/a.vcf", card.len());
    let (first, rest) = card.as_bytes().split_at(20);
    running.send(first).unwrap();
    let begun = Instant::now();
    server.stop_handle().stop();
    assert!(idle.is_closed());
    running.send(rest).unwrap();
    assert_eq!(running.read_answer(false).unwrap().status, 201);
    assert!(running.is_closed());
    server.stop();
    assert!(begun.elapsed() < LIMIT, "{:?}", begun.elapsed());
    // Closed: one plain file, complete.
    let files: Vec<_> = server
        .dir
        .path()
        .read_dir()
        .unwrap()
        .map(|f| f.unwrap().file_name())
        .collect();
    assert!(
        !files.iter().any(|f| f.to_string_lossy().ends_with("-wal")),
        "{files:?}"
    );
    let store = Store::open(server.path("ada.etui")).unwrap();
    assert_eq!(store.contacts().unwrap().count().unwrap(), 1);
    assert!(std::net::TcpStream::connect(server.address).is_err());
}

#[test]
fn a_request_that_never_ends_does_not_keep_the_server() {
    let mut server = TestServer::start_with(|options| {
        options.limits.stop = Duration::from_millis(300);
        (options.limits.body_pause, options.limits.body) = (2 * LIMIT, 2 * LIMIT);
    });
    let mut running = server.client();
    running.begin("/dav/addressbooks/1/a.vcf", 100);
    let begun = Instant::now();
    server.stop();
    assert!(begun.elapsed() < LIMIT, "{:?}", begun.elapsed());
    assert!(running.is_closed());
}

#[test]
fn a_unix_socket_serves_too() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("etui.sock");
    let mut server = TestServer::start_with(|options| {
        options.listen.clear();
        options.unix = Some(socket.clone());
    });
    let connect = |password: Option<&str>| {
        let stream = UnixStream::connect(&socket).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        Client::new(stream, password.map(|password| ("ada", password)))
    };
    assert_eq!(connect(None).get("/").status, 401);
    let mut client = connect(Some(&server.password));
    assert_eq!(
        client
            .ask("PUT", "/dav/addressbooks/1/a.vcf", &card("a", "A"))
            .status,
        201
    );
    drop(client);
    server.stop();
    assert!(!socket.exists());
}

#[test]
fn a_socket_that_was_left_is_replaced_and_one_in_use_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("etui.sock");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    assert!(socket.exists());
    let server = TestServer::start_with(|options| options.unix = Some(socket.clone()));
    let store = etui_serve::StoreSource::One(server.path("ada.etui"));
    let mut second = etui_serve::ServeOptions::new(store);
    second.unix = Some(socket.clone());
    let refused = etui_serve::Server::bind(second.clone())
        .err()
        .unwrap()
        .to_string();
    assert!(refused.contains("etui.sock"), "{refused}");
    // A file that is no socket stays.
    let file = dir.path().join("notes");
    std::fs::write(&file, "text").unwrap();
    second.unix = Some(file.clone());
    assert!(etui_serve::Server::bind(second).is_err());
    assert_eq!(std::fs::read(&file).unwrap(), b"text");
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    std::io::Write::write_all(&mut stream, b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.0 401"), "{answer}");
}
