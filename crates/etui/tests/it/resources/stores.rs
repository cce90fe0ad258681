//! Names in backups, copies and damaged stores, and the cost for a store without resources.

use std::fs;

use etui::resource::ResourceChanges;
use etui::{Options, Store};

use super::{event, get, listed, new_store, put, since};
use crate::support::{card, clean, german, people, vcard};

/// A backup, a restored store and a copied file keep names and bytes; their tokens are void.
#[test]
fn names_are_in_backups_and_copies() {
    let (dir, store) = new_store();
    put(&store.contacts().unwrap(), "a.vcf", vcard("a", "A")).unwrap();
    put(&store.calendar().unwrap(), "1.ics", event("1", "A")).unwrap();
    store
        .calendar()
        .unwrap()
        .set_properties(&[("{a:}b", Some("1"))])
        .unwrap();
    let token = store.contacts().unwrap().collection_token().unwrap();
    let [backup, restored, copied] = ["backup", "restored", "copied"].map(|n| dir.path().join(n));
    store.backup(&backup, &mut |_, _| {}).unwrap();
    Store::restore(&backup, &restored, &mut |_, _| {}).unwrap();
    let path = store.path().to_owned();
    store.close().unwrap();
    fs::copy(&path, &copied).unwrap();
    for path in [restored, copied] {
        let store = Store::open_with(&path, &german()).unwrap();
        let (contacts, calendar) = (store.contacts().unwrap(), store.calendar().unwrap());
        assert_eq!(listed(&contacts), ["a.vcf"]);
        assert_eq!(get(&contacts, "a.vcf").unwrap(), vcard("a", "A").as_bytes());
        assert_eq!(get(&calendar, "1.ics").unwrap(), event("1", "A").as_bytes());
        assert_eq!(calendar.properties().unwrap().len(), 1);
        // A copy is another incarnation from its first write on.
        put(&contacts, "a.vcf", vcard("a", "B")).unwrap();
        let changes = contacts.resource_changes(Some(&token), None).unwrap();
        assert_eq!(changes, ResourceChanges::Resynchronise);
        clean(&store);
    }
}

#[test]
fn a_check_reports_names_that_are_wrong() {
    let (_dir, store) = new_store();
    for uid in ["a", "b"] {
        put(
            &store.contacts().unwrap(),
            &format!("{uid}.vcf"),
            vcard(uid, uid),
        )
        .unwrap();
    }
    let path = store.path().to_owned();
    store.close().unwrap();
    let damage = rusqlite::Connection::open(&path).unwrap();
    damage
        .execute_batch(
            "DROP INDEX resource_record;
             INSERT INTO resource (collection, name, record) VALUES (1, 'second', 1), (1, 'none', 99);
             UPDATE resource SET collection = 2 WHERE name = 'b.vcf';",
        )
        .unwrap();
    drop(damage);
    let store = Store::open_with(&path, &german()).unwrap();
    let mut problems = store.check().unwrap().problems;
    problems.sort();
    assert_eq!(
        problems,
        [
            "the resource name \"a.vcf\" is that of record 1, which has several names",
            "the resource name \"b.vcf\" is that of record 2, which is in another collection",
            "the resource name \"none\" is that of record 99, which is not there",
        ]
    );
}

/// The names cost a plain save nothing: it writes as many pages as in a store without them, and the
/// store has no table before the first put.
#[test]
fn a_plain_save_pays_nothing_for_names() {
    let written = |is_served: bool| {
        let (dir, path) = crate::support::directory();
        let mut options: Options = german();
        options.vfs = etui::Vfs::System;
        let store = Store::open_with(&path, &options).unwrap();
        let contacts = store.contacts().unwrap();
        contacts.save_many(&people(5, 300)).unwrap();
        if is_served {
            for number in 0..50 {
                let name = format!("{number}.vcf");
                put(&contacts, &name, vcard(&name, "A")).unwrap();
            }
            for number in 0..50 {
                contacts.remove(&format!("{number}.vcf")).unwrap();
            }
        }
        store.close().unwrap();
        let tables = rusqlite::Connection::open(&path).unwrap();
        let count: i64 = tables
            .query_row(
                "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'resource%'",
                [],
                |r| r.get(0),
            )
            .unwrap();
        drop(tables);
        assert_eq!(count > 0, is_served);
        let store = Store::open_with(&path, &options).unwrap();
        let contacts = store.contacts().unwrap();
        // The first write of an opened store makes the log.
        contacts.save(&card("first", "First")).unwrap();
        let log = dir.path().join("personal.etui-wal");
        let before = fs::metadata(&log).unwrap().len();
        contacts.save(&card("new", "New")).unwrap();
        contacts.save(&card("new", "Changed")).unwrap();
        contacts.remove("new").unwrap();
        fs::metadata(&log).unwrap().len() - before
    };
    let (plain, served) = (written(false), written(true));
    assert!(plain > 0);
    assert_eq!(plain, served);
}

/// Two handles, two threads: every put is there, each UID once.
#[test]
fn many_threads_put_at_once() {
    let (_dir, store) = new_store();
    let start = store.contacts().unwrap().collection_token().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let contacts = store.contacts().unwrap();
            scope.spawn(move || {
                for number in 0..50 {
                    let name = format!("{thread}-{number}.vcf");
                    put(&contacts, &name, vcard(&name, "A")).unwrap();
                }
            });
        }
    });
    let contacts = store.contacts().unwrap();
    assert_eq!(listed(&contacts).len(), 200);
    assert_eq!(since(&contacts, &start).0.len(), 200);
    clean(&store);
}
