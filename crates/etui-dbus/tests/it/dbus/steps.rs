//! The steps of a store: listed, and undone.

use std::collections::HashMap;

use zbus::{OwnedObjectPath, Variant};

use super::support::*;

/// A step.
type Step = (u64, i64, String, String, u64, bool, u64);
/// The answer of an undo.
type Undone = (u64, HashMap<String, u64>, Vec<(String, String, String)>);

fn steps(client: &Client) -> Vec<Step> {
    client.store("Steps", &none()).unwrap()
}

fn undo(client: &Client, ids: &[u64]) -> Undone {
    client.store("Undo", &(ids, none())).unwrap()
}

fn effects(undone: &Undone) -> Vec<(&str, u64)> {
    let mut all: Vec<_> = undone
        .1
        .iter()
        .map(|(name, n)| (name.as_str(), *n))
        .collect();
    all.sort_unstable();
    all
}

#[test]
fn calls_are_steps_and_undoing_them_is_one() {
    let service = Running::start();
    let (client, second) = (service.client(), service.client());
    let book = client.collection("contacts");
    let count = || client.property::<u64>(&book, COLLECTION, "Count");
    client.save(&book, &[card("a", "Ada", ""), card("ö", "Bo", "")]);
    second
        .call::<_, ()>(&book, COLLECTION, "Remove", &(vec![("a", "")], none()))
        .unwrap();
    let listed = steps(&client);
    let named: Vec<_> = listed
        .iter()
        .map(|s| (s.2.as_str(), s.3.as_str(), s.4))
        .collect();
    assert_eq!(named[..2], [("D-Bus", "Remove", 1), ("D-Bus", "Save", 2)]);
    assert!(listed[0].1 > 1_700_000_000);

    let undone = undo(&second, &[listed[0].0, listed[1].0]);
    assert_eq!(effects(&undone), [("removed", 2), ("restored", 1)]);
    assert!(undone.2.is_empty());
    assert_eq!(count(), 0);
    let after = steps(&client);
    assert_eq!((after[0].0, after[0].5), (undone.0, true));
    assert_eq!(after[1].6, undone.0);
    // Undoing the undo does them again.
    undo(&client, &[undone.0]);
    assert_eq!(count(), 1);
}

#[test]
fn what_was_changed_since_is_kept_and_named() {
    let service = Running::start();
    let (client, second) = (service.client(), service.client());
    let book = client.collection("contacts");
    client.save(
        &book,
        &[card("odd, \"name\"", "Ada", ""), card("b", "Bo", "")],
    );
    let first = steps(&client)[0].0;
    second.save(&book, &[card("odd, \"name\"", "Ada King", "")]);
    let undone = undo(&client, &[first]);
    assert_eq!(effects(&undone), [("kept", 1), ("removed", 1)]);
    let left = (
        "odd, \"name\"".to_owned(),
        "contacts".to_owned(),
        "kept".to_owned(),
    );
    assert_eq!(undone.2, [left]);
}

/// Collections created, renamed, coloured and removed by a call are as before, with their objects.
#[test]
fn collections_are_undone_with_their_objects() {
    let service = Running::start();
    let (client, second) = (service.client(), service.client());
    let club: OwnedObjectPath = client
        .store("CreateCollection", &("calendar", "Club", none()))
        .unwrap();
    let club = club.to_string();
    let created = steps(&client)[0].0;
    client
        .call::<_, ()>(&club, COLLECTION, "Rename", &"Chœur")
        .unwrap();
    let renamed = steps(&client)[0].clone();
    client
        .call::<_, ()>(&club, CALENDAR, "SetColor", &"teal")
        .unwrap();
    let coloured = steps(&client)[0].clone();
    let path = OwnedObjectPath::try_from(club.clone()).unwrap();
    client
        .store::<_, ()>("RemoveCollection", &(path, none()))
        .unwrap();
    let removed = steps(&client)[0].clone();
    let names = [&renamed, &coloured, &removed].map(|step| step.3.as_str());
    assert_eq!(names, ["Rename", "SetColor", "RemoveCollection"]);

    undo(&second, &[removed.0]);
    assert_eq!(
        client.property::<String>(&club, COLLECTION, "Name"),
        "Chœur"
    );
    undo(&second, &[coloured.0]);
    assert_eq!(client.property::<String>(&club, CALENDAR, "Color"), "");
    undo(&second, &[renamed.0]);
    assert_eq!(client.property::<String>(&club, COLLECTION, "Name"), "Club");
    undo(&second, &[created]);
    let gone = client.refusal(&club, COLLECTION, "Get", &("a", vec!["uid"]));
    assert!(
        gone.starts_with("org.freedesktop.DBus.Error.Unknown"),
        "{gone}"
    );
}

#[test]
fn unknown_steps_and_options_are_refused_and_nothing_is_undone() {
    let service = Running::start();
    let client = service.client();
    let book = client.collection("contacts");
    client.save(&book, &[card("a", "Ada", "")]);
    let latest = steps(&client)[0].0;
    for ids in [vec![u64::MAX], vec![0], vec![latest, latest + 1_000]] {
        let refused = client
            .store::<_, Undone>("Undo", &(&ids, none()))
            .unwrap_err();
        assert_eq!(refused.name, "NotFound", "{ids:?}");
    }
    let option = Options::from([("dry", Variant::from(true))]);
    let refused = client
        .store::<_, Undone>("Undo", &(vec![latest], option))
        .unwrap_err();
    assert_eq!(refused.name, "BadOption");
    assert_eq!(client.property::<u64>(&book, COLLECTION, "Count"), 1);
    assert_eq!(undo(&client, &[]).0, 0);
    // Named twice, it is undone once.
    assert_eq!(effects(&undo(&client, &[latest, latest])), [("removed", 1)]);
}

/// Ten thousand steps, made by another program, in pages; and 10,000 records undone in one.
#[test]
fn many_steps_come_in_pages() {
    let service = Running::start();
    let client = service.client();
    let book = client.collection("contacts");
    client.save(&book, &cards(10_000, ""));
    let large = steps(&client)[0].0;
    let mut options = etui::Options::default();
    options.durability = etui::Durability::Deferred;
    let store = etui::Store::open_with(&service.store, &options).unwrap();
    let contacts = store.contacts().unwrap();
    for n in 0..2_500 {
        let text = card("busy", &format!("Name {n}"), "");
        contacts
            .save(&etui::contacts::Card::parse(text).unwrap())
            .unwrap();
    }
    drop(contacts);
    store.close().unwrap();
    let (mut before, mut all) = (u64::MAX, Vec::new());
    loop {
        let options = Options::from([
            ("limit", Variant::from(1_000_u64)),
            ("before", Variant::from(before)),
        ]);
        let page: Vec<Step> = client.store("Steps", &options).unwrap();
        let Some(last) = page.last() else { break };
        before = last.0;
        all.extend(page.iter().map(|step| step.0));
    }
    assert!(all.len() > 2_500, "{}", all.len());
    assert!(all.is_sorted_by(|a, b| a > b));
    let undone = undo(&client, &[large]);
    assert_eq!(effects(&undone), [("removed", 10_000)]);
}
