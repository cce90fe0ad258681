//! Resources after the change log was trimmed, which takes 30 days.

use std::collections::BTreeMap;

use etui_testkit::rng::SplitMix64;
use rusqlite::Connection;

use super::{ResourceChanges, ResourceCondition, ResourceTag};
use crate::contacts::{Card, Contacts};
use crate::record::changes::{KEPT_MS, latest_seq, trim_log};
use crate::types::{SyncToken, now_ms};
use crate::{Options, Store};

fn new_store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("s.etui")).unwrap();
    (dir, store)
}

fn text(uid: &str, name: &str) -> String {
    format!("BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nFN:{name}\r\nEND:VCARD\r\n")
}

fn put(contacts: &Contacts, name: &str, uid: &str, version: &str) {
    let text = text(uid, version);
    let always = ResourceCondition::Always;
    contacts
        .put_resource(name, text.as_bytes(), &always)
        .unwrap();
}

/// Trims the log but for its latest change.
fn trim(store: &Store) {
    store.maintenance().merge_index().unwrap();
    let trim =
        |conn: &Connection| trim_log(conn, now_ms() + KEPT_MS + 60_000, latest_seq(conn)?, 1);
    store.db.write_unhooked(trim).unwrap();
}

fn count_names(store: &Store) -> i64 {
    let count = |conn: &Connection| -> crate::Result<i64> {
        Ok(conn.query_row("SELECT count(*) FROM resource", [], |r| r.get(0))?)
    };
    store.db.read_transaction(count).unwrap()
}

/// Returns the names of the changes, `None` if all are to be listed.
fn names(contacts: &Contacts, token: &SyncToken) -> Option<Vec<String>> {
    match contacts.resource_changes(Some(token), None).unwrap() {
        ResourceChanges::Since { changes, .. } => {
            Some(changes.into_iter().map(|change| change.name).collect())
        }
        ResourceChanges::Resynchronise => None,
    }
}

/// Changes of other collections do not make a token too old.
#[test]
fn a_quiet_collection_keeps_its_token() {
    let (_dir, store) = new_store();
    let contacts = store.contacts().unwrap();
    let other = store.collections::<Card>().create("Other").unwrap();
    put(&contacts, "a.vcf", "a", "A");
    put(&contacts, "b.vcf", "b", "B");
    let before = contacts.collection_token().unwrap();
    put(&contacts, "a.vcf", "a", "A again");
    let token = contacts.collection_token().unwrap();
    for version in ["1", "2", "3"] {
        put(&other, "x.vcf", "x", version);
    }
    trim(&store);
    assert_eq!(contacts.collection_token().unwrap(), token);
    assert_eq!(names(&contacts, &token), Some(vec![]));
    assert_eq!(names(&contacts, &before), None);
    // So finds a process that begins now.
    let again = Store::open_with(store.path(), &Options::default()).unwrap();
    assert_eq!(again.contacts().unwrap().collection_token().unwrap(), token);

    put(&contacts, "c.vcf", "c", "C");
    put(&other, "x.vcf", "x", "4");
    put(&other, "x.vcf", "x", "5");
    trim(&store);
    put(&contacts, "b.vcf", "b", "B again");
    assert_eq!(
        names(&contacts, &token),
        Some(vec!["c.vcf".to_owned(), "b.vcf".to_owned()])
    );
}

/// A removal that is no longer in the log is not missed, although the record is gone.
#[test]
fn a_purged_removal_is_not_missed() {
    let (_dir, store) = new_store();
    let contacts = store.contacts().unwrap();
    let other = store.collections::<Card>().create("Other").unwrap();
    put(&contacts, "a.vcf", "a", "A");
    put(&contacts, "b.vcf", "b", "B");
    let before = contacts.collection_token().unwrap();
    contacts.remove("b").unwrap();
    let after = contacts.collection_token().unwrap();
    put(&other, "x.vcf", "x", "1");
    put(&other, "x.vcf", "x", "2");
    assert_eq!(count_names(&store), 3);
    trim(&store);
    assert!(contacts.trash().unwrap().is_empty());
    assert_eq!(count_names(&store), 2, "the name goes with the record");
    assert_eq!(names(&contacts, &before), None);
    assert_eq!(names(&contacts, &after), Some(vec![]));
    assert_eq!(contacts.collection_token().unwrap(), after);
    assert!(store.check().unwrap().is_clean());
}

/// A name that a record lost is kept as long as clients may ask for changes before that.
#[test]
fn released_names_are_forgotten_with_the_log() {
    let (_dir, store) = new_store();
    let contacts = store.contacts().unwrap();
    let always = ResourceCondition::Always;
    put(&contacts, "1.vcf", "a", "A");
    let rename = |from: &str, to: &str| {
        contacts
            .move_resource(from, &always, &contacts, to, false)
            .unwrap();
    };
    rename("1.vcf", "2.vcf");
    rename("2.vcf", "3.vcf");
    assert_eq!(count_names(&store), 3);
    trim(&store);
    rename("3.vcf", "4.vcf");
    assert_eq!(
        count_names(&store),
        3,
        "2.vcf, 3.vcf, 4.vcf: the latest change stays"
    );
    trim(&store);
    rename("4.vcf", "5.vcf");
    assert_eq!(count_names(&store), 3);
    assert!(store.check().unwrap().is_clean());
}

/// Properties go with their collection.
#[test]
fn properties_are_purged_with_the_collection() {
    let (_dir, store) = new_store();
    let contacts = store.contacts().unwrap();
    let other = store.collections::<Card>().create("Other").unwrap();
    store.collections::<Card>().create("Last").unwrap();
    other.set_properties(&[("{a:}b", Some("1"))]).unwrap();
    contacts.set_properties(&[("{a:}b", Some("1"))]).unwrap();
    let count = || {
        let sql = "SELECT count(*) FROM collection_property";
        let count = |conn: &Connection| -> crate::Result<i64> {
            Ok(conn.query_row(sql, [], |r| r.get(0))?)
        };
        store.db.read_transaction(count).unwrap()
    };
    store.collections::<Card>().remove("Other").unwrap();
    for version in ["1", "2", "3"] {
        put(&contacts, "x.vcf", "x", version);
    }
    assert_eq!(count(), 2);
    trim(&store);
    assert_eq!(count(), 1);
}

/// Clients that follow the changes, while the log is trimmed at random moments, end with the listing.
#[test]
fn clients_follow_while_the_log_is_trimmed() {
    for seed in 0..12 {
        let mut rng = SplitMix64::new(seed);
        let (_dir, store) = new_store();
        let contacts = store.contacts().unwrap();
        let other = store.collections::<Card>().create("Other").unwrap();
        let mut clients: Vec<(Option<SyncToken>, BTreeMap<String, ResourceTag>)> =
            vec![Default::default(); 3];
        for version in 0..60 {
            let uid = rng.below(6).to_string();
            let name = format!("{}.vcf", rng.below(5));
            let version = version.to_string();
            match rng.below(6) {
                0 | 1 => {
                    let always = ResourceCondition::Always;
                    let _ = contacts.put_resource(&name, text(&uid, &version).as_bytes(), &always);
                }
                2 => {
                    let _ = contacts.remove(&uid);
                }
                3 => {
                    let card = Card::parse(text(&uid, &version)).unwrap();
                    contacts.save(&card).unwrap();
                }
                4 => put(&other, "x.vcf", "x", &version),
                _ if rng.chance(300) => trim(&store),
                _ => {}
            }
            let Some((token, known)) = clients.get_mut(rng.below(9) as usize) else {
                continue;
            };
            let limit = Some(1 + u64::from(rng.below(3)));
            match contacts.resource_changes(token.as_ref(), limit).unwrap() {
                ResourceChanges::Resynchronise => {
                    assert!(token.is_some());
                    *token = None;
                    known.clear();
                }
                ResourceChanges::Since {
                    changes,
                    token: next,
                    is_complete,
                } => {
                    for change in changes {
                        match change.tag {
                            Some(tag) => known.insert(change.name, tag),
                            None => known.remove(&change.name),
                        };
                    }
                    *token = Some(next);
                    if is_complete {
                        let mut all = BTreeMap::new();
                        let visit = |entry: super::ListedResource<'_>| {
                            all.insert(entry.name.into_owned(), entry.tag);
                            Ok(())
                        };
                        contacts.for_each_resource(visit).unwrap();
                        assert_eq!(*known, all, "seed {seed}");
                    }
                }
            }
        }
        assert!(store.check().unwrap().is_clean());
    }
}
