//! Views: pulled changes, one signal, gone with their client.

use std::pin::Pin;
use std::task::Poll;

use etui_testkit::wait::{LIMIT, wait_until};
use futures_core::Stream;
use zbus::{MatchRule, MessageStream, OwnedObjectPath, block_on};

use super::support::*;

type Changes = (Vec<(String, Row)>, bool);
type Page = (Vec<(String, Row)>, Vec<Row>);

/// The signals `Ready` of a client's views.
struct Signals {
    stream: MessageStream,
}

impl Signals {
    fn of(client: &Client) -> Self {
        let rule = MatchRule::builder()
            .msg_type(zbus::message::Type::Signal)
            .interface(VIEW)
            .member("Ready")
            .build()
            .unwrap();
        let stream = block_on(MessageStream::for_match_rule(
            rule,
            &client.connection,
            None,
        ))
        .unwrap();
        Self { stream }
    }

    /// Waits for a signal, and returns its view.
    fn next(&mut self) -> String {
        let stream = &mut self.stream;
        block_on(async {
            let runtime = zruntime::SharedRuntime::current().unwrap();
            let next = std::future::poll_fn(|cx| Pin::new(&mut *stream).poll_next(cx));
            let message = runtime.timeout(LIMIT, next).await.unwrap();
            let message = message.unwrap().unwrap();
            message.header().path().unwrap().to_string()
        })
    }

    /// Waits for a signal of a view.
    fn wait_for(&mut self, view: &str) {
        while self.next() != view {}
    }

    /// Returns whether a signal of a view has come with the answers to its client.
    fn has_more(&mut self, view: &str) -> bool {
        let stream = &mut self.stream;
        block_on(std::future::poll_fn(|cx| {
            while let Poll::Ready(message) = Pin::new(&mut *stream).poll_next(cx) {
                let message = message.unwrap().unwrap();
                if message.header().path().is_some_and(|path| *path == *view) {
                    return Poll::Ready(true);
                }
            }
            Poll::Ready(false)
        }))
    }
}

fn kinds(changes: &[(String, Row)]) -> Vec<(&str, &str)> {
    changes
        .iter()
        .map(|(kind, row)| (kind.as_str(), row.2[0].as_str()))
        .collect()
}

#[test]
fn a_view_is_ready_once_and_pulls_each_change_once() {
    let service = Running::start();
    let (client, other) = (service.client(), service.client());
    let book = client.collection("contacts");
    let (mut signals, mut strangers) = (Signals::of(&client), Signals::of(&other));
    let marks: OwnedObjectPath = other
        .call(&book, COLLECTION, "OpenView", &("name:mark*", none()))
        .unwrap();
    client.save(&book, &[card("a", "Ada", ""), card("b", "Bo", "")]);
    let view: OwnedObjectPath = client
        .call(&book, COLLECTION, "OpenView", &("name:a*", none()))
        .unwrap();
    let view = view.to_string();
    assert_eq!(client.property::<String>(&view, VIEW, "Filter"), "name:a*");
    assert_eq!(client.property::<u64>(&view, VIEW, "Count"), 1);
    let (changes, rows): Page = client
        .call(&view, VIEW, "Load", &(0_u64, 10_u64, vec!["name"]))
        .unwrap();
    assert_eq!((changes.len(), rows.len()), (0, 1));
    assert_eq!(rows[0].2, vec!["Ada"]);
    // Another one, from which nothing is read at first: that allows a further signal.
    client.call::<_, ()>(&view, VIEW, "Close", &()).unwrap();
    let view: OwnedObjectPath = client
        .call(&book, COLLECTION, "OpenView", &("name:a*", none()))
        .unwrap();
    let view = view.to_string();

    // Another program saves: many times, one signal.
    let store = service.open_store();
    let contacts = store.contacts().unwrap();
    let save = |uid: &str, name: &str| {
        let card = etui::contacts::Card::parse(card(uid, name, "")).unwrap();
        contacts.save(&card).unwrap();
    };
    for n in 0..50 {
        save("c", &format!("Anna {n}"));
    }
    save("a", "Zed");
    signals.wait_for(&view);
    // Once the second mark is announced, everything of before the first one is.
    for n in 0..2 {
        save("mark", &format!("Mark {n}"));
        let mut is_told = false;
        while !is_told {
            // Nobody else heard of the view.
            assert_eq!(strangers.next(), marks.as_str());
            let (changes, _): Changes = other
                .call(marks.as_str(), VIEW, "Changes", &["uid"].as_slice())
                .unwrap();
            is_told = !changes.is_empty();
        }
    }
    assert_eq!(client.property::<String>(&view, VIEW, "Filter"), "name:a*");
    assert!(!signals.has_more(&view));
    let (changes, reset): Changes = client
        .call(&view, VIEW, "Changes", &["uid", "name"].as_slice())
        .unwrap();
    assert!(!reset);
    assert_eq!(kinds(&changes), [("added", "c"), ("removed", "a")]);
    assert_eq!(changes[0].1.2[1], "Anna 49");
    assert_eq!(changes[1].1.1, "", "a removed record has no ETag");
    save("c", "Anna");
    signals.wait_for(&view);
    let (changes, rows): Page = client
        .call(&view, VIEW, "Load", &(0_u64, 10_u64, vec!["uid"]))
        .unwrap();
    assert_eq!(kinds(&changes), [("changed", "c")]);
    assert_eq!(rows.len(), 1);
    // A bad column does not lose the changes.
    save("d", "Al");
    let refused = client
        .call::<_, Changes>(&view, VIEW, "Changes", &["colour"].as_slice())
        .unwrap_err();
    assert_eq!(refused.name, "BadColumn");
    let (changes, _): Changes = client
        .call(&view, VIEW, "Changes", &["uid"].as_slice())
        .unwrap();
    assert_eq!(kinds(&changes), [("added", "d")]);

    client.call::<_, ()>(&view, VIEW, "Close", &()).unwrap();
    assert!(
        client
            .call::<_, Changes>(&view, VIEW, "Changes", &["uid"].as_slice())
            .is_err()
    );
    let bad = client.call::<_, OwnedObjectPath>(&book, COLLECTION, "OpenView", &("name:(", none()));
    assert_eq!(bad.unwrap_err().name, "BadFilter");
}

#[test]
fn too_many_changes_are_a_reset() {
    let service = Running::start();
    let client = service.client();
    let book = client.collection("contacts");
    let view: OwnedObjectPath = client
        .call(&book, COLLECTION, "OpenView", &("", none()))
        .unwrap();
    let view = view.to_string();
    let note = format!("NOTE:{}\r\n", "x".repeat(2_000));
    client.save(&book, &cards(1_000, &note));
    let large = client
        .call::<_, Page>(&view, VIEW, "Load", &(0_u64, 1_000_u64, vec!["card"]))
        .unwrap_err();
    assert_eq!(large.name, "TooLarge");
    let (changes, reset): Changes = client
        .call(&view, VIEW, "Changes", &["card"].as_slice())
        .unwrap();
    assert!(reset && changes.is_empty());
    client.save(&book, &[card("uid-0", "Changed", "")]);
    let (changes, reset): Changes = client
        .call(&view, VIEW, "Changes", &["uid"].as_slice())
        .unwrap();
    assert_eq!(
        (kinds(&changes), reset),
        (vec![("changed", "uid-0")], false)
    );
}

#[test]
fn views_go_with_their_client_and_are_bounded() {
    let service = Running::start();
    let (client, other) = (service.client(), service.client());
    let book = client.collection("contacts");
    let open = |client: &Client| {
        client.call::<_, OwnedObjectPath>(&book, COLLECTION, "OpenView", &("", none()))
    };
    let view = open(&client).unwrap().to_string();
    for _ in 1..256 {
        open(&client).unwrap();
    }
    assert_eq!(open(&client).unwrap_err().name, "Busy");
    open(&other).unwrap();
    assert_eq!(client.property::<String>(&view, VIEW, "Filter"), "");
    block_on(client.connection.close()).unwrap();
    wait_until("the view is gone", || {
        let gone = other.call::<_, Changes>(&view, VIEW, "Changes", &["uid"].as_slice());
        gone.is_err_and(|e| e.name.ends_with("UnknownObject"))
    });
}

/// A program that follows a collection hears that its name is another one, whoever gave it.
#[test]
fn a_view_is_ready_when_its_collection_is_renamed() {
    let service = Running::start();
    let (client, second) = (service.client(), service.client());
    let book = client.collection("contacts");
    let mut signals = Signals::of(&client);
    let view: OwnedObjectPath = client
        .call(&book, COLLECTION, "OpenView", &("uid:nobody", none()))
        .unwrap();
    let store = service.open_store();
    let names = ["Friends", "Family"];
    for (n, name) in names.into_iter().enumerate() {
        let (changes, _): Changes = client.call(&view, VIEW, "Changes", &vec!["uid"]).unwrap();
        assert!(changes.is_empty());
        match n {
            0 => second.call(&book, COLLECTION, "Rename", &name).unwrap(),
            _ => drop(
                store
                    .collections::<etui::contacts::Card>()
                    .rename(names[0], name),
            ),
        }
        signals.wait_for(&view);
        assert_eq!(client.property::<String>(&book, COLLECTION, "Name"), name);
    }
}
