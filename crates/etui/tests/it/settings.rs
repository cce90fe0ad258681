//! Changes of a store's locale and region.

use etui::contacts::{Card, Filter};
use etui::store::Options;
use etui::text::phone::Region;
use etui::{Error, Store};

fn options(locale: &str, region: &str) -> Options {
    let mut options = Options::default();
    options.locale = Some(locale.to_owned());
    options.region = Some(region.to_owned());
    options
}

fn card(uid: &str, name: &str, phone: &str) -> Card {
    let text = format!(
        "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:{uid}\r\nFN:{name}\r\nTEL:{phone}\r\nEND:VCARD\r\n"
    );
    Card::parse(text).unwrap()
}

fn found(store: &Store, filter: &str) -> Vec<String> {
    let filter: Filter = filter.parse().unwrap();
    let found = store.contacts().unwrap().find(&filter).unwrap();
    found.into_iter().map(|entry| entry.summary.name).collect()
}

#[test]
fn all_records_are_indexed_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.etui");
    let store = Store::open_with(&path, &options("sv", "SE")).unwrap();
    let contacts = store.contacts().unwrap();
    for (uid, name) in [("a", "Zoe"), ("b", "Örjan"), ("c", "Olle")] {
        contacts.save(&card(uid, name, "030 23125001")).unwrap();
    }
    drop(contacts);
    assert_eq!(found(&store, "*"), ["Olle", "Zoe", "Örjan"]);
    assert_eq!(found(&store, "phone:+493023125001"), [""; 0]);
    store.change_settings("de", Region::parse("DE")).unwrap();

    let store = Store::open(&path).unwrap();
    assert_eq!(store.settings().locale, "de");
    assert_eq!(store.settings().region, Region::parse("DE"));
    assert_eq!(found(&store, "*"), ["Olle", "Örjan", "Zoe"]);
    assert_eq!(found(&store, "phone:+493023125001").len(), 3);
    assert_eq!(found(&store, "phone:+463023125001"), [""; 0]);
    assert!(store.check().unwrap().is_clean());
    store.change_settings("de", None).unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!(store.settings().region, None);
    assert_eq!(found(&store, "phone:+493023125001"), [""; 0]);
}

#[test]
fn a_handle_from_before_the_change_cannot_write() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.etui");
    let before = Store::open_with(&path, &options("de", "DE")).unwrap();
    before
        .contacts()
        .unwrap()
        .save(&card("a", "Ada", "1234567"))
        .unwrap();
    let other = Store::open(&path).unwrap();
    other.change_settings("de", Region::parse("US")).unwrap();

    let saved = before
        .contacts()
        .unwrap()
        .save(&card("b", "Bob", "1234567"));
    assert!(matches!(saved, Err(Error::SettingsChanged(_))), "{saved:?}");
    assert_eq!(found(&before, "*"), ["Ada"]);
    let after = Store::open(&path).unwrap();
    after
        .contacts()
        .unwrap()
        .save(&card("b", "Bob", "1234567"))
        .unwrap();
    assert_eq!(found(&after, "*"), ["Ada", "Bob"]);
}

#[test]
fn a_bad_locale_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.etui");
    let store = Store::open_with(&path, &options("de", "DE")).unwrap();
    let changed = store.change_settings("no_tag!", None);
    assert!(matches!(changed, Err(Error::BadLocale(_))), "{changed:?}");
    let store = Store::open(&path).unwrap();
    assert_eq!(store.settings().region, Region::parse("DE"));
}
