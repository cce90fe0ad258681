//! Clients that never read, and arguments as large as the bus lets them be.

use std::io::Write;

use etui_testkit::wait::{PAUSE, wait_until};
use zbus::OwnedObjectPath;
use zbus::message::Message;

use super::session::Source::{Book, Calendar};
use super::session::{EVERYONE, Session, Source};
use crate::support::error_name;

fn card(uid: &str, note: &str) -> String {
    format!("BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nFN:{uid}\r\nNOTE:{note}\r\nEND:VCARD\r\n")
}

fn event(uid: &str, note: &str) -> String {
    format!(
        "BEGIN:VEVENT\r\nUID:{uid}\r\nDTSTAMP:20260101T000000Z\r\nDTSTART:20261201T090000Z\r\n\
         DESCRIPTION:{note}\r\nEND:VEVENT\r\n"
    )
}

fn create(session: &Session, cards: &[String]) {
    let created = session.call::<_, Vec<String>>(Book, "CreateContacts", &(cards, 0_u32));
    assert_eq!(created.unwrap().len(), cards.len());
}

/// Asks as another client until a contact is there; returns the most memory that the service had.
fn answered_until(session: &Session, uid: &str) -> u64 {
    let mut peak = session.memory();
    // However long the work takes: each answer has its limit.
    loop {
        session.expect_answers();
        peak = peak.max(session.memory());
        let found = session.call::<_, String>(Book, "GetContact", &uid);
        if found.is_ok() {
            return peak;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Replies of 300 MB for a client that does not read one.
#[test]
fn a_client_that_never_reads_fills_no_memory_and_holds_up_nobody() {
    let Some(session) = Session::start() else {
        return;
    };
    let note = "x".repeat(20_000);
    let cards: Vec<String> = (0..100).map(|n| card(&format!("c{n}"), &note)).collect();
    create(&session, &cards);
    let before = session.memory();

    let mut socket = session.socket();
    let mut send = |message: Message| socket.write_all(message.data()).unwrap();
    // Views of everything: their paths are numbered.
    let reply = session.call::<_, OwnedObjectPath>(Book, "GetView", &EVERYONE);
    let first = reply.unwrap();
    let (root, number) = first.as_str().rsplit_once('/').unwrap();
    let number: u32 = number.parse().unwrap();
    for view in 1..=20 {
        send(session.message(Book, "GetView", &EVERYONE));
        let path = format!("{root}/{}", number + view);
        let start = Message::method_call(path, "Start")
            .interface("org.gnome.evolution.dataserver.AddressBookView")
            .destination(Book.bus_name());
        send(start.build(&()).unwrap());
    }
    for _ in 0..80 {
        send(session.message(Book, "GetContactList", &EVERYONE));
    }
    for _ in 0..3_000 {
        send(session.message(Book, "GetContact", &"c0"));
    }
    let last = vec![card("last", "")];
    send(session.message(Book, "CreateContacts", &(last, 0_u32)));
    let grown = answered_until(&session, "last").saturating_sub(before);
    println!("never read: {} MB more", grown >> 20);
    assert!(grown < 120 << 20, "{} MB more", grown >> 20);
}

/// 60 MiB of cards and components in one call, and more such calls than the service keeps; texts
/// of 100 MB.
#[test]
fn large_arguments_are_answered_and_fill_no_memory() {
    let Some(session) = Session::start() else {
        return;
    };
    let text = "x".repeat(100_000_000);
    let error = |source, method: &str| {
        session
            .call::<_, zbus::OwnedVariant>(source, method, &text)
            .unwrap_err()
    };
    assert!(error(Book, "GetContactList").ends_with("_e_2dclient_2derror_2dquark.Code16"));
    assert!(error(Calendar, "GetTimezone").ends_with("cal_2dclient_2derror_2dquark.Code1"));

    let before = session.memory();
    let long = std::env::var_os("ETUI_TEST_LONG").is_some();
    let mut socket = session.socket();
    let note = "x".repeat(1 << 20);
    for call in 0..if long { 8 } else { 1 } {
        let uid = |n: u32| format!("large-{call}-{n}");
        let cards: Vec<String> = (0..30).map(|n| card(&uid(n), &note)).collect();
        let events: Vec<String> = (0..30).map(|n| event(&uid(n), &note)).collect();
        for message in [
            session.message(Book, "CreateContacts", &(cards, 0_u32)),
            session.message(Calendar, "CreateObjects", &(events, 0_u32)),
        ] {
            socket.write_all(message.data()).unwrap();
        }
    }
    let last = vec![card("last", "")];
    let last = session.message(Book, "CreateContacts", &(last, 0_u32));
    socket.write_all(last.data()).unwrap();
    // Calls of one client may overtake each other.
    let peak = answered_until(&session, "large-0-0").max(answered_until(&session, "last"));
    let grown = peak.saturating_sub(before);
    println!("large arguments: {} MB more", grown >> 20);
    assert!(grown < 900 << 20, "{} MB more", grown >> 20);
    let found: Vec<String> = session
        .call(
            Book,
            "GetContactListUids",
            &"(beginswith \"id\" \"large-0\")",
        )
        .unwrap();
    assert_eq!(found.len(), 30);
}

/// A client has a bounded number of views and cursors; those that it disposed of do not count.
#[test]
fn views_and_cursors_of_a_client_are_bounded() {
    let Some(session) = Session::start() else {
        return;
    };
    let open = |source: Source| match source {
        Book => session.call::<_, OwnedObjectPath>(Book, "GetView", &EVERYONE),
        Calendar => session.call::<_, OwnedObjectPath>(Calendar, "GetView", &"#t"),
    };
    let dispose = |source: Source, view: &OwnedObjectPath| {
        let interface = format!("{}View", source.interface());
        let target = (source.bus_name(), view.as_str(), interface.as_str());
        session.try_call(target, "Dispose", &()).unwrap();
    };
    let mut views = Vec::new();
    let refused = loop {
        let source = if views.len() % 2 == 0 { Book } else { Calendar };
        match open(source) {
            Ok(view) => views.push((source, view)),
            Err(error) => break error,
        }
        assert!(views.len() <= 1_000);
    };
    assert_eq!(refused, error_name("e-client-error-quark", 1));
    let cursor = (EVERYONE, ["full_name"].as_slice(), ["ascending"].as_slice());
    let refused = session.call::<_, OwnedObjectPath>(Book, "GetCursor", &cursor);
    assert_eq!(refused.unwrap_err(), error_name("e-client-error-quark", 1));
    for (source, view) in &views[..2] {
        dispose(*source, view);
    }
    // The object is removed after the reply.
    for source in [Book, Calendar] {
        wait_until("a view that was disposed of does not count", || {
            open(source).is_ok()
        });
    }
}

/// An array of D-Bus has at most 64 MiB: a longer list is an error, and the service goes on.
#[test]
fn a_list_that_no_message_can_hold_is_an_error() {
    let Some(session) = Session::start() else {
        return;
    };
    let note = "x".repeat(1 << 20);
    for call in 0..3 {
        let cards: Vec<String> = (0..23)
            .map(|n| card(&format!("{call}-{n}"), &note))
            .collect();
        create(&session, &cards);
    }
    let refused = session.call::<_, Vec<String>>(Book, "GetContactList", &EVERYONE);
    assert_eq!(refused.unwrap_err(), error_name("e-client-error-quark", 14));
    session.expect_answers();
    let all: Vec<String> = session.call(Book, "GetContactListUids", &EVERYONE).unwrap();
    assert_eq!(all.len(), 69);
}
