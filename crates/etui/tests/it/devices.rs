//! Devices: added, listed, found by their password, removed.

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use etui::store::{DeviceAccess, Options, SqlValue};
use etui::{Error, Store};

/// Returns the number of tables of devices.
fn tables(store: &Store) -> SqlValue {
    let query = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'device%'";
    store.sql(query, &[]).unwrap().rows.remove(0).remove(0)
}

#[test]
fn a_store_without_devices_has_no_table_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("s.etui")).unwrap();
    assert_eq!(store.devices().list().unwrap(), []);
    assert_eq!(
        store
            .devices()
            .find("0123456789abcdefghjkmnpqrstv")
            .unwrap(),
        None
    );
    assert!(matches!(
        store.devices().remove("Pixel"),
        Err(Error::NoDevice { name, known }) if name == "Pixel" && known.is_empty()
    ));
    assert_eq!(tables(&store), SqlValue::Integer(0));
    assert!(store.check().unwrap().is_clean());
}

#[test]
fn each_device_has_its_own_password() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.etui");
    let store = Store::open(&path).unwrap();
    let book = store.contacts().unwrap().id();
    let all = DeviceAccess::default();
    let some = DeviceAccess {
        is_read_only: true,
        only: Some(HashSet::from([book])),
        ..DeviceAccess::default()
    };
    let pixel = store.devices().add("Pixel", &all).unwrap().to_string();
    let tablet = store
        .devices()
        .add("Ada's tablet", &some)
        .unwrap()
        .to_string();
    assert_ne!(pixel, tablet);
    assert!(matches!(
        store.devices().add("Pixel", &some),
        Err(Error::DeviceExists(name)) if name == "Pixel"
    ));
    // They are there for another process.
    store.close().unwrap();
    let store = Store::open(&path).unwrap();
    let names: Vec<_> = store
        .devices()
        .list()
        .unwrap()
        .into_iter()
        .map(|d| d.name)
        .collect();
    assert_eq!(names, ["Pixel", "Ada's tablet"]);
    let found = store.devices().find(&pixel).unwrap().unwrap();
    assert_eq!((found.name.as_str(), found.access), ("Pixel", all));
    let found = store.devices().find(&tablet).unwrap().unwrap();
    assert_eq!(
        (found.name.as_str(), &found.access),
        ("Ada's tablet", &some)
    );

    // The file has no password in it.
    let query = "SELECT hex(hash), length(hash) FROM device";
    for row in store.sql(query, &[]).unwrap().rows {
        assert_eq!(row[1], SqlValue::Integer(32));
    }
    store.close().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let holds = |text: &str| bytes.windows(text.len()).any(|w| w == text.as_bytes());
    assert!(holds("Pixel"));
    assert!(!holds(&pixel) && !holds(&pixel.replace('-', "")));
}

#[test]
fn a_removed_device_is_not_found() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("s.etui")).unwrap();
    let access = DeviceAccess {
        is_read_only: false,
        only: Some(HashSet::new()),
        ..DeviceAccess::default()
    };
    let pixel = store.devices().add("Pixel", &access).unwrap().to_string();
    // Seeing none is not seeing all.
    let found = store.devices().find(&pixel).unwrap().unwrap();
    assert_eq!(found.access.only, Some(HashSet::new()));
    assert_eq!(store.devices().remove("Pixel").unwrap().id, found.id);
    assert_eq!(store.devices().find(&pixel).unwrap(), None);
    assert_eq!(store.devices().list().unwrap(), []);
    // The name is free again, with another password.
    let again = store.devices().add("Pixel", &access).unwrap().to_string();
    assert_ne!(again, pixel);
    assert!(matches!(
        store.devices().remove("pixel"),
        Err(Error::NoDevice { known, .. }) if known == ["Pixel"]
    ));
    for bad in ["", " a", "a ", "a\nb", &"x".repeat(101)] {
        let added = store.devices().add(bad, &access);
        assert!(matches!(added, Err(Error::BadDeviceName(name)) if name == bad));
    }
}

#[test]
fn the_time_of_use_is_recorded_once_a_day() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.etui");
    let store = Store::open(&path).unwrap();
    let password = store
        .devices()
        .add("Pixel", &DeviceAccess::default())
        .unwrap();
    let password = password.to_string();
    let device = || store.devices().list().unwrap().remove(0);
    assert_eq!(device().last_seen, None);
    assert!(device().added <= SystemTime::now());
    let found = store.devices().find(&password).unwrap().unwrap();
    // Finding it writes nothing.
    assert_eq!(device().last_seen, None);
    assert!(store.devices().record_use(&found).unwrap());
    let seen = device().last_seen.unwrap();
    assert!(seen.elapsed().unwrap() < Duration::from_secs(60));
    std::thread::sleep(Duration::from_millis(5));
    let found = store.devices().find(&password).unwrap().unwrap();
    assert!(!store.devices().record_use(&found).unwrap());
    assert_eq!(device().last_seen, Some(seen));
    store.close().unwrap();

    // A store that cannot be written still knows its devices.
    let mut options = Options::default();
    (options.read_only, options.create) = (true, false);
    let store = Store::open_with(&path, &options).unwrap();
    let found = store.devices().find(&password).unwrap().unwrap();
    assert_eq!(found.name, "Pixel");
    assert!(!store.devices().record_use(&found).unwrap());
}
