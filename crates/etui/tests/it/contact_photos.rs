//! Thumbnails of contacts' photos: made when first asked for, stored apart from the cards, and
//! deleted with the last contact that has the photo.

use std::fs;
use std::path::Path;

use etui::contacts::{Card, Contacts, ThumbnailSize};
use etui::store::Options;
use etui::{RecordId, Store};
use etui_testkit::images::base64;
use etui_testkit::media::cover;
use rusqlite::Connection;

fn card(uid: &str, photo: Option<&[u8]>) -> Card {
    let photo = photo.map_or_else(String::new, |bytes| {
        format!("PHOTO;ENCODING=b;TYPE=JPEG:{}\r\n", base64(bytes))
    });
    let text =
        format!("BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nFN:{uid}\r\n{photo}END:VCARD\r\n");
    Card::parse(text).unwrap()
}

fn id(contacts: &Contacts, uid: &str) -> RecordId {
    contacts.get(uid).unwrap().unwrap().id
}

/// The numbers of photos, and of contacts that were asked for theirs.
fn stored_rows(path: &Path) -> (i64, i64) {
    let plain = Connection::open(path).unwrap();
    let count = |table| {
        let sql = format!("SELECT count(*) FROM {table}");
        plain.query_row(&sql, [], |r| r.get(0)).unwrap()
    };
    (count("photo"), count("contact_photo"))
}

/// The thumbnails of contacts, in their order.
fn thumbnails(contacts: &Contacts, ids: &[RecordId]) -> Vec<Option<Vec<u8>>> {
    let mut found = Vec::new();
    let visit = |jpeg: Option<&[u8]>| found.push(jpeg.map(<[u8]>::to_vec));
    contacts
        .each_photo(ThumbnailSize::Small, ids, visit)
        .unwrap();
    found
}

fn side(jpeg: &[u8]) -> usize {
    imagesize::blob_size(jpeg).unwrap().width
}

#[test]
fn photos_are_shown_without_the_cards() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.etui");
    let store = Store::open(&path).unwrap();
    let contacts = store.contacts().unwrap();
    let (first, second) = (cover(1, 300), cover(2, 100));
    contacts
        .save_many(&[
            card("ada", Some(&first)),
            card("bob", None),
            card("cyd", Some(b"\xff\xd8\xff\xe0 no picture")),
            card("dee", Some(&second)),
            // Shares the photo of ada.
            card("eve", Some(&first)),
        ])
        .unwrap();
    let ids: Vec<_> = ["ada", "bob", "cyd", "dee", "eve"]
        .map(|uid| id(&contacts, uid))
        .to_vec();
    let made = thumbnails(&contacts, &ids);
    let sides: Vec<_> = made.iter().map(|one| one.as_deref().map(side)).collect();
    assert_eq!(sides, [Some(128), None, None, Some(100), Some(128)]);
    assert_eq!(made[0], made[4]);
    assert_eq!(stored_rows(&path), (2, 5));
    let large = contacts.photo(ids[0], ThumbnailSize::Large).unwrap();
    assert_eq!(side(&large.unwrap()), 256);

    // Again: the same, from the stored thumbnails. Even after the cards are overwritten by another
    // program, which only a read of them would notice.
    drop(contacts);
    store.close().unwrap();
    let plain = Connection::open(&path).unwrap();
    plain.execute("UPDATE record SET text = x'00'", []).unwrap();
    drop(plain);
    let store = Store::open(&path).unwrap();
    let contacts = store.contacts().unwrap();
    assert_eq!(thumbnails(&contacts, &ids), made);
}

#[test]
fn a_changed_card_gets_another_thumbnail() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.etui");
    let store = Store::open(&path).unwrap();
    let contacts = store.contacts().unwrap();
    contacts.save(&card("ada", Some(&cover(1, 100)))).unwrap();
    let ada = id(&contacts, "ada");
    let before = thumbnails(&contacts, &[ada]);
    contacts.save(&card("ada", Some(&cover(2, 100)))).unwrap();
    let after = thumbnails(&contacts, &[ada]);
    assert!(after[0].is_some() && before != after);
    // The first photo is nobody's any more.
    assert_eq!(stored_rows(&path), (1, 1));

    contacts.save(&card("ada", None)).unwrap();
    assert_eq!(thumbnails(&contacts, &[ada]), [None]);
    assert_eq!(stored_rows(&path), (0, 1));

    contacts.restore("ada").unwrap();
    assert_eq!(thumbnails(&contacts, &[ada]), after);
    contacts.remove("ada").unwrap();
    assert_eq!(thumbnails(&contacts, &[ada]), [None]);
    // A contact of another address book is none of this one.
    let other = store.collections::<Card>().create("Other").unwrap();
    contacts.restore("ada").unwrap();
    assert_eq!(thumbnails(&other, &[ada]), [None]);
}

#[test]
fn a_read_only_store_shows_photos() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.etui");
    let store = Store::open(&path).unwrap();
    let cards: Vec<_> = (0..70)
        .map(|n| card(&format!("c{n}"), Some(&cover(n % 3, 64))))
        .collect();
    store.contacts().unwrap().save_many(&cards).unwrap();
    store.close().unwrap();
    let before = fs::read(&path).unwrap();

    let mut options = Options::default();
    options.read_only = true;
    let store = Store::open_with(&path, &options).unwrap();
    let contacts = store.contacts().unwrap();
    let ids: Vec<_> = (0..70).map(|n| id(&contacts, &format!("c{n}"))).collect();
    let made = thumbnails(&contacts, &ids);
    assert!(made.iter().all(Option::is_some));
    assert_eq!(made[0], made[69]);
    drop(contacts);
    store.close().unwrap();
    assert!(before == fs::read(&path).unwrap(), "the store is as it was");
}

#[test]
fn photos_are_shown_while_thumbnails_cannot_be_stored() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.etui");
    let mut options = Options::default();
    options.busy_timeout = std::time::Duration::from_millis(20);
    let store = Store::open_with(&path, &options).unwrap();
    let contacts = store.contacts().unwrap();
    contacts.save(&card("ada", Some(&cover(1, 64)))).unwrap();
    let ada = id(&contacts, "ada");
    // Another program holds the write lock.
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let shown = thumbnails(&contacts, &[ada]);
    assert!(shown[0].is_some());
    writer.execute_batch("ROLLBACK").unwrap();
    drop(writer);
    assert_eq!(thumbnails(&contacts, &[ada]), shown);
    assert_eq!(stored_rows(&path), (1, 1));
}
