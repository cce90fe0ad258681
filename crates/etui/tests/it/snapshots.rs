//! Snapshots and their readers: one state, also on other threads and while it is read.

use std::thread;

use etui::contacts::{Card, Column, Query};
use etui::{Error, Store};
use tempfile::TempDir;

fn card(uid: &str) -> Card {
    let text = format!("BEGIN:VCARD\r\nVERSION:4.0\r\nUID:{uid}\r\nFN:Ada {uid}\r\nEND:VCARD\r\n");
    Card::parse(text).unwrap()
}

/// A reader outlives the snapshot that it is of, and moves to threads; none sees a later write.
#[test]
fn readers_share_one_state() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path().join("s.etui")).unwrap();
    let contacts = store.contacts().unwrap();
    contacts.save_many(&[card("1"), card("2")]).unwrap();
    let snapshot = store.snapshot().unwrap();
    let reader = snapshot.contacts().unwrap();
    assert_eq!((reader.id(), reader.name()), (contacts.id(), "Contacts"));
    contacts.remove("1").unwrap();
    contacts.save(&card("3")).unwrap();
    let other = snapshot.collection::<Card>("Contacts").unwrap();
    drop(snapshot);
    let count = || other.count().unwrap();
    let uids = || {
        let rows = reader.query(&Query::all().columns(Column::Uid)).unwrap();
        let uids: Vec<String> = rows
            .iter()
            .map(|row| row.get(Column::Uid).to_owned())
            .collect();
        uids
    };
    thread::scope(|scope| {
        let counts: Vec<_> = (0..4).map(|_| scope.spawn(count)).collect();
        let all: Vec<_> = (0..4).map(|_| scope.spawn(uids)).collect();
        counts
            .into_iter()
            .for_each(|count| assert_eq!(count.join().unwrap(), 2));
        all.into_iter()
            .for_each(|uids| assert_eq!(uids.join().unwrap(), ["1", "2"]));
    });
    assert_eq!(
        contacts
            .get_many(["1", "3"])
            .unwrap()
            .iter()
            .flatten()
            .count(),
        1
    );
}

/// A visitor reads other records of the state while it is read, also by another reader of it.
#[test]
fn a_visitor_reads_the_same_state() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path().join("s.etui")).unwrap();
    let contacts = store.contacts().unwrap();
    contacts.save_many(&[card("1"), card("2")]).unwrap();
    let snapshot = store.snapshot().unwrap();
    let reader = snapshot.contacts().unwrap();
    let mut visited = 0;
    reader
        .for_each(|id, text| {
            contacts.remove("2").or_else(|error| match error {
                Error::NoRecord { .. } => Ok(()),
                error => Err(error),
            })?;
            let same = snapshot.contacts()?.get(id)?.expect("it is in this state");
            assert_eq!(same.text, text);
            assert_eq!(reader.count()?, 2);
            visited += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!((visited, contacts.count().unwrap()), (2, 1));
}

#[test]
fn a_snapshot_of_a_closed_store_is_told() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("s.etui");
    let store = Store::open(&path).unwrap();
    let snapshot = store.snapshot().unwrap();
    let reader = snapshot.contacts().unwrap();
    store.close().unwrap();
    let is_closed = |error: Option<Error>| matches!(error, Some(Error::Closed(p)) if p == path);
    assert!(is_closed(reader.count().err()));
    assert!(is_closed(snapshot.calendar().err()));
    drop((snapshot, reader));
    assert!(Store::open(&path).unwrap().check().unwrap().is_clean());
}
