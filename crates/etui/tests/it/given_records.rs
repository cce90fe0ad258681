//! Records and collections by their ids: rows in the caller's order, handles that survive renaming,
//! removals all or none, and rows of a view's changes in one state.

use crate::support::{card, directory, german};
use etui::calendar::{self, CalendarObject, zones::TimeZoneResolver};
use etui::contacts::{Card, Column, Filter, Query};
use etui::store::CollectionKey;
use etui::watch::ViewChanges;
use etui::{ChangeKind, Condition, ETag, Error, Store};

fn store() -> (tempfile::TempDir, Store) {
    let (dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    (dir, store)
}

#[test]
fn rows_by_uid_and_id_are_those_of_a_query() {
    let (_dir, store) = store();
    let contacts = store.contacts().unwrap();
    let cards: Vec<Card> = (0..100)
        .map(|n| card(&format!("uid-{n}"), &format!("Name {:02}", 99 - n)))
        .collect();
    contacts.save_many(&cards).unwrap();
    for columns in [
        Column::Uid | Column::Card,
        Column::Uid | Column::Name,
        Column::Uid | Column::ETag | Column::Family | Column::Emails | Column::Name,
    ] {
        let all = contacts.query(&Query::all().columns(columns)).unwrap();
        let uids: Vec<&str> = all.iter().map(|row| row.get(Column::Uid)).collect();
        let mut asked = uids.clone();
        asked.insert(7, "absent");
        let text = |rows: &etui::contacts::Rows| -> Vec<String> {
            rows.iter().map(|row| format!("{row:?}")).collect()
        };
        let by_uid = contacts.rows(&asked, columns).unwrap();
        assert_eq!(text(&by_uid), text(&all));
        let snapshot = store.snapshot().unwrap();
        let reader = snapshot.contacts().unwrap();
        let by_id = reader.rows(all.ids().iter().copied(), columns).unwrap();
        assert_eq!(text(&by_id), text(&all));
    }

    let calendar = store.calendar().unwrap();
    let text =
        "BEGIN:VEVENT\r\nUID:e\r\nSUMMARY:Fair\r\nDTSTART:20261121T190000Z\r\nEND:VEVENT\r\n";
    let event = CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap();
    calendar.save(&event).unwrap();
    let columns = calendar::Column::Start | calendar::Column::Uid;
    let rows = calendar.rows(["e"], columns).unwrap();
    let row = rows.get(0).unwrap();
    assert_eq!(row.get(calendar::Column::Start), "20261121T190000Z");
    assert!(contacts.rows(["e"], Column::Uid).unwrap().is_empty());
}

#[test]
fn a_collection_is_found_by_id_after_renaming() {
    let (_dir, store) = store();
    let id = store.collections::<Card>().create("Club").unwrap().id();
    store.collections::<Card>().rename("Club", "Choir").unwrap();
    let found = store.collection::<Card>(CollectionKey::Id(id)).unwrap();
    assert_eq!((found.name(), found.id()), ("Choir", id));
    assert!(
        store
            .snapshot()
            .unwrap()
            .collection::<Card>(CollectionKey::Id(id))
            .is_ok()
    );
    // An id of the other kind, and of a removed collection.
    assert!(
        store
            .collection::<CalendarObject>(CollectionKey::Id(id))
            .is_err()
    );
    store.collections::<Card>().remove("Choir").unwrap();
    match store.collection::<Card>(CollectionKey::Id(id)) {
        Err(Error::NoCollection { known, .. }) => assert_eq!(known, ["Contacts"]),
        other => panic!("{:?}", other.map(|c| c.id())),
    }
}

#[test]
fn removals_with_conditions_are_all_or_none() {
    let (_dir, store) = store();
    let contacts = store.contacts().unwrap();
    let a = contacts.save(&card("a", "Ada")).unwrap();
    contacts.save(&card("b", "Bo")).unwrap();
    let other = Condition::IfMatch(ETag::of(b"another text"));
    let missing = contacts.remove_all_if(&[("a", Condition::Always), ("c", Condition::Always)]);
    assert!(matches!(missing, Err(Error::NoRecord { uid, .. }) if uid == "c"));
    let conflict = contacts.remove_all_if(&[("a", Condition::Always), ("b", other)]);
    assert!(matches!(conflict, Err(Error::Conflict { uid, .. }) if uid == "b"));
    assert_eq!(contacts.count().unwrap(), 2);
    let both = [("a", Condition::IfMatch(a.etag)), ("b", Condition::Always)];
    contacts.remove_all_if(&both).unwrap();
    assert_eq!(contacts.count().unwrap(), 0);
}

#[test]
fn the_columns_of_a_views_changes_are_read_in_their_state() {
    let (_dir, store) = store();
    let contacts = store.contacts().unwrap();
    let mut view = contacts.view(&Filter::All).unwrap();
    contacts.save(&card("a", "Ada")).unwrap();
    let failed = view.changes_and(|_, _| Err::<(), _>(Error::Stopped));
    assert!(failed.is_err());
    let (changes, names) = view
        .changes_and(|changes, reader| {
            let ViewChanges::Since(changes) = changes else {
                panic!("a reset");
            };
            let ids: Vec<_> = changes.iter().map(|c| c.id).collect();
            contacts.save(&card("a", "Ada again")).unwrap();
            let rows = reader.rows(ids.iter().copied(), Column::Name)?;
            Ok(rows.iter().map(|r| r.name().to_owned()).collect::<Vec<_>>())
        })
        .unwrap();
    // The changes of the failed call, without the save that came later.
    assert_eq!(names, ["Ada"]);
    let ViewChanges::Since(changes) = changes else {
        panic!("a reset");
    };
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].kind, ChangeKind::Added);
}
