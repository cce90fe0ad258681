//! Tokens of collections, and changes page by page.

use etui::contacts::Card;
use etui::resource::ResourceChanges;
use etui::{Options, Store};

use super::{event, listed, marks, new_store, put, since};
use crate::support::{card, vcard};

/// The token of a collection stays when another one changes.
#[test]
fn a_token_is_that_of_its_collection() {
    let (_dir, store) = new_store();
    let (contacts, calendar) = (store.contacts().unwrap(), store.calendar().unwrap());
    let other = store.collections::<Card>().create("Other").unwrap();
    let start = contacts.collection_token().unwrap();
    put(&contacts, "a.vcf", vcard("a", "A")).unwrap();
    let first = contacts.collection_token().unwrap();
    assert!(first.seq > start.seq);
    put(&calendar, "1.ics", event("1", "A")).unwrap();
    put(&calendar, "1.ics", event("1", "B")).unwrap();
    other.save(&card("a", "A")).unwrap();
    other.remove("a").unwrap();
    assert_eq!(contacts.collection_token().unwrap(), first);
    assert!(calendar.collection_token().unwrap().seq > first.seq);
    contacts.save(&card("a", "B")).unwrap();
    let second = contacts.collection_token().unwrap();
    assert!(second.seq > first.seq);
    assert_eq!(since(&contacts, &second), (Vec::new(), second));
    assert_eq!(marks(&since(&contacts, &first).0), ["a.vcf"]);
    // A store-wide token serves as well.
    let (changes, token) = since(&contacts, &store.token().unwrap());
    assert_eq!((changes.len(), token), (0, second));

    // A snapshot has the token of its state, also after the latest one is known.
    let snapshot = store.snapshot().unwrap();
    contacts.remove("a").unwrap();
    let third = contacts.collection_token().unwrap();
    assert_eq!(
        snapshot.contacts().unwrap().collection_token().unwrap(),
        second
    );
    assert_eq!(contacts.collection_token().unwrap(), third);
    drop(snapshot);
    // So does another process.
    let again = Store::open_with(store.path(), &Options::default()).unwrap();
    assert_eq!(again.contacts().unwrap().collection_token().unwrap(), third);
}

#[test]
fn a_token_of_another_store_or_of_the_future_is_refused() {
    let (_dir, store) = new_store();
    let (_other_dir, other) = new_store();
    let contacts = store.contacts().unwrap();
    contacts.save(&card("a", "A")).unwrap();
    other.contacts().unwrap().save(&card("a", "A")).unwrap();
    let mut token = contacts.collection_token().unwrap();
    token.seq += 1;
    for token in [token, other.contacts().unwrap().collection_token().unwrap()] {
        assert_eq!(
            contacts.resource_changes(Some(&token), None).unwrap(),
            ResourceChanges::Resynchronise
        );
    }
}

/// A listing in pages is continued by its tokens, while records change.
#[test]
fn a_listing_goes_on_page_by_page() {
    let (_dir, store) = new_store();
    let contacts = store.contacts().unwrap();
    for uid in ["gone", "a", "b", "c", "d", "e"] {
        put(&contacts, &format!("{uid}.vcf"), vcard(uid, uid)).unwrap();
    }
    contacts.remove("gone").unwrap();
    contacts.save(&card("a", "A again")).unwrap();
    let page = |token: Option<&etui::SyncToken>| match contacts
        .resource_changes(token, Some(2))
        .unwrap()
    {
        ResourceChanges::Since {
            changes,
            token,
            is_complete,
        } => (marks(&changes), token, is_complete),
        ResourceChanges::Resynchronise => panic!("the log is kept"),
    };
    let (names, token, is_complete) = page(None);
    assert_eq!(
        (names, is_complete),
        (vec!["b.vcf".to_owned(), "c.vcf".to_owned()], false)
    );
    // Its text form too.
    let token = token.to_string().parse().unwrap();
    contacts.remove("b").unwrap();
    contacts.remove("d").unwrap();
    let (names, token, is_complete) = page(Some(&token));
    assert_eq!(
        (names, is_complete),
        (vec!["e.vcf".to_owned(), "a.vcf".to_owned()], false)
    );
    let (names, token, is_complete) = page(Some(&token));
    assert_eq!(
        (names, is_complete),
        (vec!["-b.vcf".to_owned(), "-d.vcf".to_owned()], true)
    );
    assert_eq!(token, contacts.collection_token().unwrap());
    assert_eq!(listed(&contacts), ["a.vcf", "c.vcf", "e.vcf"]);
}

#[test]
fn properties_are_kept_and_bounded() {
    let (_dir, store) = new_store();
    let contacts = store.contacts().unwrap();
    assert_eq!(contacts.properties().unwrap(), []);
    let token = contacts.collection_token().unwrap();
    contacts
        .set_properties(&[("{a:}order", Some("1")), ("{a:}color", Some("<c/>"))])
        .unwrap();
    contacts
        .set_properties(&[
            ("{a:}order", Some("2")),
            ("{a:}color", None),
            ("{a:}none", None),
        ])
        .unwrap();
    let all = contacts.properties().unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(
        (all[0].name.as_str(), all[0].value.as_str()),
        ("{a:}order", "2")
    );
    let large = "ä".repeat(etui::resource::MAX_PROPERTY_BYTES / 2);
    let refused = contacts.set_properties(&[("{a:}order", Some("3")), ("{a:}x", Some(&large))]);
    assert!(matches!(refused, Err(etui::Error::TooManyProperties { size }) if size > 65_536));
    assert_eq!(contacts.properties().unwrap(), all);
    assert_eq!(contacts.collection_token().unwrap(), token);
    assert_eq!(
        store
            .collections::<Card>()
            .create("Other")
            .unwrap()
            .properties()
            .unwrap(),
        []
    );
    store.collections::<Card>().remove("Contacts").unwrap();
    assert!(contacts.set_properties(&[("{a:}x", Some("1"))]).is_err());
    store.collections::<Card>().restore("Contacts").unwrap();
    assert_eq!(contacts.properties().unwrap(), all);
}
