//! Sources that a person adds, renames and removes in the stock registry, and their collections.

use std::collections::HashMap;

use etui::Store;
use etui::contacts::Card;
use zbus::OwnedObjectPath;

use crate::support::{BOOKS, CALENDARS, Client, Desktop, error_name, wait_for};

const REGISTRY: &str = "org.gnome.evolution.dataserver.Sources5";
const MANAGER: &str = "/org/gnome/evolution/dataserver/SourceManager";
const FACTORY: &str = "/org/gnome/evolution/dataserver/AddressBookFactory";

fn key_file(name: &str) -> String {
    format!(
        "[Data Source]\nDisplayName={name}\nEnabled=true\nParent=local-stub\n\n\
         [Address Book]\nBackendName=local\n"
    )
}

async fn open_book(client: &Client, source: &str) -> Result<String, String> {
    let body = (source,);
    let opened = client.call(
        BOOKS,
        FACTORY,
        "AddressBookFactory",
        "OpenAddressBook",
        body,
    );
    let (path, _): (String, String) = opened.await?.body().deserialize().unwrap();
    Ok(path)
}

/// The registry's object of the source with this name.
async fn source_object(client: &Client, name: &str) -> OwnedObjectPath {
    let manager = zbus::fdo::ObjectManagerProxy::builder(&client.connection)
        .destination(REGISTRY)
        .path(MANAGER)
        .build()
        .await
        .unwrap();
    let objects = manager.get_managed_objects().await.unwrap();
    let wanted = format!("DisplayName={name}\n");
    let has_name = |properties: &HashMap<_, zbus::OwnedVariant>| {
        let data = properties
            .get("Data")
            .and_then(|d| d.downcast_ref::<&str>().ok());
        data.is_some_and(|data| data.contains(&wanted))
    };
    let found = objects
        .iter()
        .find(|(_, interfaces)| interfaces.values().any(has_name));
    found.unwrap().0.clone()
}

/// Waits until the store is as `is_there` wants it.
async fn wait_until(store: &Store, is_there: impl Fn(&Store) -> bool) {
    wait_for("the store's collections", async || {
        is_there(store).then_some(())
    })
    .await;
}

#[test]
fn collections_follow_their_sources() {
    zbus::block_on(async {
        let Some(desktop) = Desktop::start().await else {
            return;
        };
        let client = &desktop.client;
        let new = HashMap::from([("club", key_file("Club"))]);
        let made = client.call(REGISTRY, MANAGER, "SourceManager", "CreateSources", (new,));
        made.await.unwrap();
        let book = open_book(client, "club").await.unwrap();
        let card = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:ada\r\nFN:Ada\r\nN:Ada\r\nEND:VCARD\r\n";
        let body = (vec![card], 0u32);
        let saved = client.call(BOOKS, &book, "AddressBook", "CreateContacts", body);
        saved.await.unwrap();
        let store = Store::open(desktop.store()).unwrap();
        let has = |name: &str| {
            let name = name.to_owned();
            move |store: &Store| store.collections::<Card>().names().unwrap().contains(&name)
        };
        assert!(has("Club")(&store));

        let object = source_object(client, "Club").await;
        let body = (key_file("Chess club"),);
        let written = client.call(REGISTRY, &object, "Source.Writable", "Write", body);
        written.await.unwrap();
        wait_until(&store, has("Chess club")).await;
        assert!(!has("Club")(&store));
        let got = client.call(BOOKS, &book, "AddressBook", "GetContact", ("ada",));
        got.await.unwrap();

        let removed = client.call(REGISTRY, &object, "Source.Removable", "Remove", ());
        removed.await.unwrap();
        let is_removed = |store: &Store| {
            let removed = store.collections::<Card>().removed().unwrap();
            removed
                .iter()
                .any(|book| book.name == "Chess club" && book.records == 1)
        };
        wait_until(&store, is_removed).await;
        let gone = client.call(BOOKS, &book, "AddressBook", "GetContact", ("ada",));
        gone.await.unwrap_err();
        let no_source = error_name("g-io-error-quark", 1);
        assert_eq!(open_book(client, "club").await.unwrap_err(), no_source);
        // Others stay.
        open_book(client, "system-address-book").await.unwrap();
    });
}

/// Opens the calendar of birthdays, which a stock helper makes, and returns the helper's name.
async fn open_birthdays(client: &Client) -> Result<String, String> {
    let factory = "/org/gnome/evolution/dataserver/CalendarFactory";
    let opened = client.call(
        CALENDARS,
        factory,
        "CalendarFactory",
        "OpenCalendar",
        ("birthdays",),
    );
    let (path, helper): (String, String) = opened.await?.body().deserialize().unwrap();
    let opened = client.call(&helper, &path, "Calendar", "Open", ());
    opened.await.map(|_| helper)
}

#[test]
fn a_helper_that_was_killed_is_started_again() {
    zbus::block_on(async {
        let Some(desktop) = Desktop::start().await else {
            return;
        };
        let client = &desktop.client;
        let killed = open_birthdays(client).await.unwrap();
        assert_ne!(killed, CALENDARS);
        let process = client.process_of(&killed).await.cast_signed();
        let process = rustix::process::Pid::from_raw(process).unwrap();
        rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
        let helper = open_birthdays(client).await.unwrap();
        assert_ne!(helper, killed);
    });
}
