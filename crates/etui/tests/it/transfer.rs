//! Records are copied and moved to another collection, all or none.

use std::ops::ControlFlow;

use crate::support::{card, clean, directory, german, vcard};
use etui::contacts::Contacts;
use etui::{Changes, Condition, Error, SaveOutcome, Store};

fn always<'u>(uids: &[&'u str]) -> Vec<(&'u str, Condition)> {
    uids.iter().map(|uid| (*uid, Condition::Always)).collect()
}

fn uids(contacts: &Contacts) -> Vec<String> {
    let all = contacts.all().unwrap();
    all.iter()
        .map(|(id, _)| contacts.get(id).unwrap().unwrap().uid)
        .collect()
}

#[test]
fn a_moved_contact_is_in_the_other_book_and_comes_back_with_its_id() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let (home, work) = (
        store.contacts().unwrap(),
        store
            .collections::<etui::contacts::Card>()
            .create("Work")
            .unwrap(),
    );
    for uid in ["a", "b", "c"] {
        home.save(&card(uid, uid)).unwrap();
    }
    let ids = ["a", "b"].map(|uid| home.get(uid).unwrap().unwrap().id);
    let token = store.token().unwrap();
    let moved = home.move_all_if(&always(&["a", "b"]), &work).unwrap();
    assert!(
        moved
            .iter()
            .all(|saved| saved.outcome == SaveOutcome::Added)
    );
    assert_eq!(uids(&home), ["c"]);
    assert_eq!(uids(&work), ["a", "b"]);
    assert_eq!(
        work.get("a").unwrap().unwrap().text,
        vcard("a", "a").as_bytes()
    );
    assert_eq!(work.find(&"name:b".parse().unwrap()).unwrap().len(), 1);
    // A reader of either book sees it.
    for (book, changes) in [(&home, 2), (&work, 2)] {
        match book.changes_since(&token).unwrap() {
            Changes::Since(all) => assert_eq!(all.len(), changes),
            other => panic!("{other:?}"),
        }
    }
    let back = work.move_all_if(&always(&["a", "b"]), &home).unwrap();
    assert_eq!(back.iter().map(|saved| saved.id).collect::<Vec<_>>(), ids);
    assert_eq!(home.count().unwrap(), 3);
    assert_eq!(work.count().unwrap(), 0);
    clean(&store);
}

#[test]
fn a_copy_is_another_contact_and_the_same_text_is_not_written_twice() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let (home, work) = (
        store.contacts().unwrap(),
        store
            .collections::<etui::contacts::Card>()
            .create("Work")
            .unwrap(),
    );
    home.save(&card("a", "a")).unwrap();
    let copied = home.copy_all_if(&always(&["a"]), &work).unwrap();
    assert_eq!(copied[0].outcome, SaveOutcome::Added);
    let copied = home.copy_all_if(&always(&["a"]), &work).unwrap();
    assert_eq!(copied[0].outcome, SaveOutcome::Unchanged);
    work.save(&card("a", "at work")).unwrap();
    assert_eq!(
        home.get("a").unwrap().unwrap().text,
        vcard("a", "a").as_bytes()
    );
    clean(&store);
}

#[test]
fn nothing_is_moved_if_one_cannot_be() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let (home, work) = (
        store.contacts().unwrap(),
        store
            .collections::<etui::contacts::Card>()
            .create("Work")
            .unwrap(),
    );
    for uid in ["a", "b"] {
        home.save(&card(uid, uid)).unwrap();
    }
    work.save(&card("b", "another")).unwrap();
    match home.move_all_if(&always(&["a", "b"]), &work) {
        Err(Error::BatchConflict { index, uid, .. }) => assert_eq!((index, &*uid), (1, "b")),
        other => panic!("{other:?}"),
    }
    match home.move_all_if(&always(&["a", "nobody"]), &work) {
        Err(Error::NoRecord { uid, .. }) => assert_eq!(uid, "nobody"),
        other => panic!("{other:?}"),
    }
    let stale = home.get("a").unwrap().unwrap().etag;
    home.save(&card("a", "changed")).unwrap();
    let outdated = [("a", Condition::IfMatch(stale))];
    assert!(matches!(
        home.copy_all_if(&outdated, &work),
        Err(Error::Conflict { .. })
    ));
    assert!(matches!(
        home.move_all_if(&always(&["a"]), &home),
        Err(Error::SameCollection { .. })
    ));
    assert_eq!(uids(&home), ["a", "b"]);
    assert_eq!(uids(&work), ["b"]);
    assert!(home.trash().unwrap().is_empty());
    store
        .collections::<etui::contacts::Card>()
        .remove("Work")
        .unwrap();
    assert!(matches!(
        home.move_all_if(&always(&["a"]), &work),
        Err(Error::NoCollection { .. })
    ));
    clean(&store);
}

/// The zone of an entry goes with it; the name of the calendar that it was exported from does not.
#[test]
fn a_moved_entry_keeps_its_time_zone() {
    let object = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Example//EN\r\nX-WR-CALNAME:Ships\r\n\
        BEGIN:VTIMEZONE\r\nTZID:Ship\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\n\
        TZOFFSETFROM:+0300\r\nTZOFFSETTO:+0300\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n\
        BEGIN:VEVENT\r\nUID:1\r\nDTSTART;TZID=Ship:20261121T190000\r\nEND:VEVENT\r\n\
        END:VCALENDAR\r\n";
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let (ships, other) = (
        store.calendar().unwrap(),
        store
            .collections::<etui::calendar::CalendarObject>()
            .create("Other")
            .unwrap(),
    );
    ships
        .import(object.as_bytes(), &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let start = |calendar: &etui::calendar::Calendar| {
        let (_, record) = calendar.record("1").unwrap().unwrap();
        assert!(record.unresolved_tzids().is_empty());
        record.master().start.clone()
    };
    let before = start(&ships);
    ships.move_all_if(&always(&["1"]), &other).unwrap();
    assert_eq!(ships.count().unwrap(), 0);
    assert_eq!(start(&other), before);
    let export = |calendar: &etui::calendar::Calendar| {
        let mut out = Vec::new();
        calendar.export(&mut out, None).unwrap();
        String::from_utf8(out).unwrap()
    };
    let exported = export(&other);
    assert!(exported.contains("TZID:Ship"), "{exported}");
    assert!(!exported.contains("Ships"), "{exported}");
    // Back in its calendar, it is the object that it was.
    other.move_all_if(&always(&["1"]), &ships).unwrap();
    assert_eq!(export(&ships), object);
    clean(&store);
}
