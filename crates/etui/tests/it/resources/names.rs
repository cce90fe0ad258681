//! Names: given, computed, kept in the trash, taken over.

use etui::contacts::Contacts;
use etui::resource::ResourceKey;
use etui::resource::{ResourceCondition, ResourceTag};
use etui::{Error, SaveOutcome};

use super::{event, get, listed, marks, new_store, put, since};
use crate::support::{card, clean, vcard};

fn book(contacts: &Contacts) -> Vec<String> {
    listed(contacts)
}

#[test]
fn a_name_is_kept_byte_for_byte() {
    let (_dir, store) = new_store();
    let contacts = store.contacts().unwrap();
    let names = [
        "a.vcf",
        "A.vcf",
        "100%",
        "a%2fb",
        "a@b.vcf",
        "a:b",
        "a b",
        "line\nbreak",
        "Ä.vcf",
        "ä",
        "...",
    ];
    for (number, name) in names.iter().enumerate() {
        let text = vcard(&format!("uid{number}"), name);
        let saved = put(&contacts, name, &text).unwrap();
        assert_eq!(saved.outcome, SaveOutcome::Added);
        assert!(saved.is_verbatim);
        let found = contacts.resource(name).unwrap().unwrap();
        assert_eq!((found.bytes, found.tag), (text.into_bytes(), saved.tag));
    }
    let mut sorted = names.map(str::to_owned);
    sorted.sort();
    assert_eq!(book(&contacts), sorted);
    assert_eq!(contacts.resource("a.VCF").unwrap(), None);
    for bad in ["", ".", "..", "a/b", "a\0b", &"x".repeat(256)] {
        let refused = put(&contacts, bad, vcard("bad", "Bad"));
        assert!(matches!(refused, Err(Error::BadResourceName(name)) if name == bad));
    }
    clean(&store);
}

/// Records that came another way have names without a row, and keep them when they are put.
#[test]
fn records_without_a_name_have_a_computed_one() {
    let (_dir, store) = new_store();
    let contacts = store.contacts().unwrap();
    let id = contacts.save(&card("ada", "Ada")).unwrap().id;
    let name = format!("etui-{id}.vcf");
    assert_eq!(book(&contacts), std::slice::from_ref(&name));
    let found = contacts.resource(&name).unwrap().unwrap();
    assert_eq!((found.id, found.uid.as_str()), (id, "ada"));
    assert_eq!(
        contacts.resource(ResourceKey::Uid("ada")).unwrap().unwrap(),
        found
    );
    assert_eq!(contacts.resource(id).unwrap().unwrap(), found);

    let saved = put(&contacts, &name, vcard("ada", "Ada Lovelace")).unwrap();
    assert_eq!((saved.id, saved.outcome), (id, SaveOutcome::Changed));
    put(&contacts, "other.vcf", vcard("other", "Other")).unwrap();
    assert_eq!(book(&contacts), [name.clone(), "other.vcf".to_owned()]);
    for other in ["etui-99.vcf", "etui-4.vcf"] {
        let refused = put(&contacts, other, vcard("new", "New"));
        assert!(
            matches!(refused, Err(Error::ReservedName(_))),
            "{refused:?}"
        );
    }
    // Not of that form.
    for other in ["etui-99.ics", "etui-099.vcf"] {
        put(&contacts, other, vcard(other, "New")).unwrap();
    }
    let read: Vec<_> = contacts.resource_names(&[id]).unwrap();
    assert_eq!(read, [Some((name, saved.tag))]);
    clean(&store);
}

#[test]
fn a_removed_record_keeps_its_name() {
    let (_dir, store) = new_store();
    let contacts = store.contacts().unwrap();
    let id = put(&contacts, "ada.vcf", vcard("ada", "Ada")).unwrap().id;
    let token = contacts.collection_token().unwrap();
    contacts.remove("ada").unwrap();
    assert_eq!(get(&contacts, "ada.vcf"), None);
    assert_eq!(marks(&since(&contacts, &token).0), ["-ada.vcf"]);

    contacts.restore("ada").unwrap();
    assert_eq!(book(&contacts), ["ada.vcf"]);
    contacts
        .remove_resource("ada.vcf", &ResourceCondition::Always)
        .unwrap();
    assert!(matches!(
        contacts.remove_resource("ada.vcf", &ResourceCondition::Always),
        Err(Error::NoResource(name)) if name == "ada.vcf"
    ));
    // Its UID again under its name: it comes back.
    let saved = put(&contacts, "ada.vcf", vcard("ada", "Ada again")).unwrap();
    assert_eq!((saved.id, saved.outcome), (id, SaveOutcome::Added));
    clean(&store);
}

/// A name that another record takes over is no longer that of the removed one.
#[test]
fn a_name_in_the_trash_can_be_taken_over() {
    let (_dir, store) = new_store();
    let contacts = store.contacts().unwrap();
    let first = put(&contacts, "x.vcf", vcard("a", "A")).unwrap().id;
    let token = contacts.collection_token().unwrap();
    contacts.remove("a").unwrap();
    let second = put(&contacts, "x.vcf", vcard("b", "B")).unwrap().id;
    assert_ne!(first, second);
    assert_eq!(
        marks(&since(&contacts, &token).0),
        [format!("-etui-{first}.vcf"), "x.vcf".to_owned()]
    );
    contacts.restore("a").unwrap();
    assert_eq!(
        book(&contacts),
        [format!("etui-{first}.vcf"), "x.vcf".to_owned()]
    );
    clean(&store);
}

/// A computed name that another record takes over is not computed again.
#[test]
fn a_computed_name_can_be_taken_over() {
    let (_dir, store) = new_store();
    let contacts = store.contacts().unwrap();
    let id = contacts.save(&card("a", "A")).unwrap().id;
    let name = format!("etui-{id}.vcf");
    contacts.remove("a").unwrap();
    put(&contacts, &name, vcard("b", "B")).unwrap();
    contacts.restore("a").unwrap();
    assert_eq!(book(&contacts), [format!("etui-{id}-2.vcf"), name.clone()]);
    assert_eq!(contacts.resource(&name).unwrap().unwrap().uid, "b");
    clean(&store);
}

/// The UID of a removed record under another name: the record comes back under it, and its
/// former name is reported as removed.
#[test]
fn a_removed_record_comes_back_under_the_new_name() {
    let (_dir, store) = new_store();
    let contacts = store.contacts().unwrap();
    let id = put(&contacts, "old.vcf", vcard("a", "A")).unwrap().id;
    let token = contacts.collection_token().unwrap();
    contacts.remove("a").unwrap();
    let saved = put(&contacts, "new.vcf", vcard("a", "A")).unwrap();
    assert_eq!((saved.id, saved.outcome), (id, SaveOutcome::Added));
    assert_eq!(marks(&since(&contacts, &token).0), ["-old.vcf", "new.vcf"]);
    assert_eq!(get(&contacts, "old.vcf"), None);

    // The former name is free.
    let token = contacts.collection_token().unwrap();
    put(&contacts, "old.vcf", vcard("b", "B")).unwrap();
    assert_eq!(marks(&since(&contacts, &token).0), ["old.vcf"]);
    assert_eq!(book(&contacts), ["new.vcf", "old.vcf"]);
    clean(&store);
}

#[test]
fn a_uid_has_one_name() {
    let (_dir, store) = new_store();
    let calendar = store.calendar().unwrap();
    put(&calendar, "a.ics", event("1", "A")).unwrap();
    for name in ["b.ics", "c.ics"] {
        let refused = put(&calendar, name, event("1", "A"));
        assert!(
            matches!(&refused, Err(Error::UidTaken { uid, name }) if uid == "1" && name == "a.ics"),
            "{refused:?}"
        );
    }
    let refused = put(&calendar, "a.ics", event("2", "A"));
    assert!(
        matches!(&refused, Err(Error::UidTaken { uid, name }) if uid == "1" && name == "a.ics")
    );
    assert_eq!(
        get(&calendar, "a.ics").unwrap(),
        event("1", "A").into_bytes()
    );
}

/// A card without a UID keeps the record of its name.
#[test]
fn a_card_without_a_uid_keeps_its_record() {
    let (_dir, store) = new_store();
    let contacts = store.contacts().unwrap();
    let text = |name: &str| format!("BEGIN:VCARD\r\nVERSION:2.1\r\nN:{name}\r\nEND:VCARD\r\n");
    let first = put(&contacts, "x.vcf", text("A")).unwrap();
    let second = put(&contacts, "x.vcf", text("B")).unwrap();
    assert_eq!(
        (second.id, second.outcome),
        (first.id, SaveOutcome::Changed)
    );
    assert_eq!(get(&contacts, "x.vcf").unwrap(), text("B").into_bytes());
    assert_eq!(
        contacts
            .history(&contacts.resource("x.vcf").unwrap().unwrap().uid)
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn conditions_are_checked_first() {
    let (_dir, store) = new_store();
    let contacts = store.contacts().unwrap();
    let (a, b) = (vcard("a", "A"), vcard("a", "B"));
    let try_put = |text: &str, condition: ResourceCondition| {
        contacts.put_resource("a.vcf", text.as_bytes(), &condition)
    };
    let failed = |result: etui::Result<_>, found: Option<ResourceTag>| matches!(result, Err(Error::ConditionFailed { name, found: tag }) if name == "a.vcf" && tag == found);
    assert!(failed(
        try_put(&a, ResourceCondition::IfExists).map(drop),
        None
    ));
    let first = try_put(&a, ResourceCondition::IfAbsent).unwrap().tag;
    assert!(failed(
        try_put(&b, ResourceCondition::IfAbsent).map(drop),
        Some(first)
    ));
    let none_of = ResourceCondition::IfNoneMatch(vec![first]);
    assert!(failed(try_put(&b, none_of.clone()).map(drop), Some(first)));
    let second = try_put(&b, ResourceCondition::IfMatch(vec![first]))
        .unwrap()
        .tag;
    assert!(failed(
        try_put(&a, ResourceCondition::IfMatch(vec![first])).map(drop),
        Some(second)
    ));
    try_put(&a, ResourceCondition::IfMatch(vec![second, first])).unwrap();
    try_put(&b, ResourceCondition::IfExists).unwrap();
    let stale = ResourceCondition::IfMatch(vec![first]);
    assert!(failed(
        contacts.remove_resource("a.vcf", &stale),
        Some(second)
    ));
    contacts
        .remove_resource("a.vcf", &ResourceCondition::IfMatch(vec![second]))
        .unwrap();
    assert!(failed(
        contacts.remove_resource("a.vcf", &ResourceCondition::IfExists),
        None
    ));
    try_put(&a, none_of).unwrap();
}

/// An edit is merged into the version that it replaces, also if that was saved while it was merged.
#[test]
fn an_edit_takes_back_nothing_that_was_saved_meanwhile() {
    let (_dir, store) = new_store();
    let contacts = store.contacts().unwrap();
    let whole = |year: u32| {
        format!("BEGIN:VCARD\r\nVERSION:4.0\r\nUID:a\r\nFN:A\r\nBDAY:{year}\r\nEND:VCARD\r\n")
    };
    put(&contacts, "a.vcf", whole(1000)).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let contacts = store.contacts().unwrap();
            for year in 1001..1201 {
                put(&contacts, "a.vcf", whole(year)).unwrap();
                std::thread::yield_now();
                let text = String::from_utf8(get(&contacts, "a.vcf").unwrap()).unwrap();
                assert!(text.contains(&format!("BDAY:{year}\r\n")), "{text}");
            }
        });
        let mut number = 0;
        while !writer.is_finished() {
            number += 1;
            // vCard 3.0 cannot say a year alone.
            let edited = vcard("a", "A").replace("FN:", &format!("TEL:{number}\r\nFN:"));
            let exists = ResourceCondition::IfExists;
            let saved = contacts.put_resource("a.vcf", edited.as_bytes(), &exists);
            assert!(!saved.unwrap().is_verbatim);
        }
    });
}

#[test]
fn resources_move_to_another_name() {
    let (_dir, store) = new_store();
    let contacts = store.contacts().unwrap();
    let always = ResourceCondition::Always;
    let a = put(&contacts, "a.vcf", vcard("a", "A")).unwrap();
    let b = put(&contacts, "b.vcf", vcard("b", "B")).unwrap();
    let token = contacts.collection_token().unwrap();
    let moved = contacts
        .move_resource("a.vcf", &always, &contacts, "c.vcf", false)
        .unwrap();
    assert_eq!(
        (moved.id, moved.tag, moved.outcome),
        (a.id, a.tag, SaveOutcome::Added)
    );
    assert_eq!(marks(&since(&contacts, &token).0), ["-a.vcf", "c.vcf"]);
    assert_eq!(get(&contacts, "a.vcf"), None);

    let refused = contacts.move_resource("c.vcf", &always, &contacts, "b.vcf", false);
    assert!(
        matches!(refused, Err(Error::ConditionFailed { name, found }) if name == "b.vcf" && found == Some(b.tag))
    );
    // One of another UID is never overwritten.
    let refused = contacts.move_resource("c.vcf", &always, &contacts, "b.vcf", true);
    assert!(matches!(refused, Err(Error::UidTaken { uid, name }) if uid == "b" && name == "b.vcf"));
    // The name of a removed one is free.
    contacts.remove_resource("b.vcf", &always).unwrap();
    let moved = contacts
        .move_resource("c.vcf", &always, &contacts, "b.vcf", false)
        .unwrap();
    assert_eq!((moved.id, moved.outcome), (a.id, SaveOutcome::Added));
    assert_eq!(book(&contacts), ["b.vcf"]);
    assert_eq!(contacts.trash().unwrap().len(), 1);
    assert_eq!(
        marks(&since(&contacts, &token).0),
        [
            "-a.vcf".to_owned(),
            format!("-etui-{}.vcf", b.id),
            "-c.vcf".to_owned(),
            "b.vcf".to_owned()
        ]
    );
    // And back.
    contacts
        .move_resource("b.vcf", &always, &contacts, "a.vcf", false)
        .unwrap();
    assert_eq!(book(&contacts), ["a.vcf"]);
    assert!(matches!(
        contacts.move_resource("b.vcf", &always, &contacts, "d.vcf", false),
        Err(Error::NoResource(_))
    ));
    clean(&store);
}

#[test]
fn resources_move_to_another_collection() {
    let (_dir, store) = new_store();
    let home = store.calendar().unwrap();
    let work = store
        .collections::<etui::calendar::CalendarObject>()
        .create("Work")
        .unwrap();
    let always = ResourceCondition::Always;
    let bytes = event("1", "A");
    put(&home, "a.ics", &bytes).unwrap();
    let token = home.collection_token().unwrap();
    let there = work.collection_token().unwrap();
    let moved = home
        .move_resource("a.ics", &always, &work, "b.ics", false)
        .unwrap();
    assert_eq!(moved.outcome, SaveOutcome::Added);
    assert_eq!(marks(&since(&home, &token).0), ["-a.ics"]);
    assert_eq!(marks(&since(&work, &there).0), ["b.ics"]);
    let found = work.resource("b.ics").unwrap().unwrap();
    assert_eq!(
        (found.bytes, found.tag),
        (bytes.clone().into_bytes(), moved.tag)
    );

    // The UID is taken under another name, and replaced under its own.
    put(&home, "c.ics", event("1", "B")).unwrap();
    let refused = home.move_resource("c.ics", &always, &work, "d.ics", true);
    assert!(matches!(refused, Err(Error::UidTaken { name, .. }) if name == "b.ics"));
    assert_eq!(listed(&home), ["c.ics"]);
    let moved = home
        .move_resource("c.ics", &always, &work, "b.ics", true)
        .unwrap();
    assert_eq!(moved.outcome, SaveOutcome::Changed);
    assert_eq!(get(&work, "b.ics").unwrap(), event("1", "B").into_bytes());
    clean(&store);
}
