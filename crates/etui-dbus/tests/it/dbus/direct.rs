//! Private connections: the same objects, views of their own, and a client that never reads.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use zbus::connection::Builder;
use zbus::{OwnedObjectPath, block_on};

use super::support::*;

fn socket(client: &Client) -> UnixStream {
    let fd: zbus::OwnedFd = client.store("Direct", &none()).unwrap();
    UnixStream::from(OwnedFd::from(fd))
}

fn connect(client: &Client) -> Client {
    let builder = Builder::unix_stream(socket(client)).p2p();
    let connection = block_on(builder.build()).unwrap();
    Client { connection }
}

#[test]
fn a_private_connection_has_the_same_objects() {
    let service = Running::start();
    let client = service.client();
    let direct = connect(&client);
    let book = direct.collection("contacts");
    direct.save(&book, &[card("a", "Ada", "")]);
    let (row,): (Row,) = client
        .call(&book, COLLECTION, "Get", &("a", vec!["name"]))
        .unwrap();
    assert_eq!(row.2, vec!["Ada"]);
    assert_eq!(
        direct.rows_by_file(&book, "QueryFd", &("", none())).len(),
        1
    );
    // A collection created on the bus is there too.
    let club: OwnedObjectPath = client
        .store("CreateCollection", &("contacts", "Club", none()))
        .unwrap();
    assert_eq!(
        direct.property::<String>(club.as_str(), COLLECTION, "Name"),
        "Club"
    );
    // Its views are its own, and go with it.
    let view: OwnedObjectPath = direct
        .call(&book, COLLECTION, "OpenView", &("", none()))
        .unwrap();
    type Changes = (Vec<(String, Row)>, bool);
    let (changes, _): Changes = direct
        .call(view.as_str(), VIEW, "Changes", &["uid"].as_slice())
        .unwrap();
    assert!(changes.is_empty());
    assert!(
        client
            .call::<_, Changes>(view.as_str(), VIEW, "Changes", &["uid"].as_slice())
            .is_err()
    );
    let unknown = client.store::<_, zbus::OwnedFd>(
        "Direct",
        &Options::from([("colour", zbus::Variant::from("red"))]),
    );
    assert_eq!(unknown.unwrap_err().name, "BadOption");
}

/// A client that sends calls and reads no replies is cut off; the service's memory stays bounded.
#[test]
fn a_client_that_never_reads_is_cut_off() {
    let service = Running::start();
    let client = service.client();
    let book = client.collection("contacts");
    let note = format!("NOTE:{}\r\n", "x".repeat(900_000));
    client.save(&book, &[card("big", "Big", &note)]);
    // Authenticated by hand, as a connection would read what comes.
    let mut socket = socket(&client);
    let uid = rustix::process::getuid().as_raw();
    let hex: String = uid
        .to_string()
        .bytes()
        .map(|b| format!("{b:02x}"))
        .collect();
    socket
        .write_all(format!("\0AUTH EXTERNAL {hex}\r\n").as_bytes())
        .unwrap();
    let mut answer = [0; 256];
    let got = std::io::Read::read(&mut socket, &mut answer).unwrap();
    assert!(answer[..got].starts_with(b"OK "), "{answer:?}");
    socket.write_all(b"BEGIN\r\n").unwrap();
    let call = zbus::Message::method_call(book.as_str(), "Get")
        .interface(COLLECTION)
        .build(&("big", ["card"].as_slice()))
        .unwrap();
    let before = resident();
    let sent = (0..100_000)
        .take_while(|_| socket.write_all(call.data()).is_ok())
        .count();
    assert!(sent < 100_000, "it was not cut off");
    let grown = resident().saturating_sub(before);
    assert!(grown < 300 << 20, "{grown} bytes more");
    let (row,): (Row,) = client
        .call(&book, COLLECTION, "Get", &("big", vec!["name"]))
        .unwrap();
    assert_eq!(row.2, vec!["Big"]);
}

/// The resident memory of this process, which has the service.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = status.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}
