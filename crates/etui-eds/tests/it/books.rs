//! Address books on a private bus, with the stock registry of sources.

use std::path::PathBuf;

use etui::Store;
use etui::contacts::Card;
use etui_testkit::bus::private_memory;
use zbus::OwnedObjectPath;

use crate::support::{BOOKS, Client, Desktop, error_name, wait_for};

const FACTORY: &str = "/org/gnome/evolution/dataserver/AddressBookFactory";

async fn open_book(client: &Client) -> String {
    let opened = client
        .call(
            BOOKS,
            FACTORY,
            "AddressBookFactory",
            "OpenAddressBook",
            ("system-address-book",),
        )
        .await
        .unwrap();
    let (path, name): (String, String) = opened.body().deserialize().unwrap();
    assert_eq!(name, BOOKS);
    client
        .call(BOOKS, &path, "AddressBook", "Open", ())
        .await
        .unwrap();
    path
}

async fn create(client: &Client, book: &str, cards: &[&str]) -> Result<Vec<String>, String> {
    let body = (cards, 0u32);
    let reply = client.call(BOOKS, book, "AddressBook", "CreateContacts", body);
    Ok(reply.await?.body().deserialize().unwrap())
}

async fn uids(client: &Client, book: &str, query: &str) -> Result<Vec<String>, String> {
    let reply = client.call(BOOKS, book, "AddressBook", "GetContactListUids", (query,));
    let mut uids: Vec<String> = reply.await?.body().deserialize().unwrap();
    uids.sort();
    Ok(uids)
}

async fn open_view(client: &Client, book: &str, query: &str) -> String {
    let reply = client.call(BOOKS, book, "AddressBook", "GetView", (query,));
    let path: OwnedObjectPath = reply.await.unwrap().body().deserialize().unwrap();
    path.to_string()
}

fn card(uid: &str, name: &str) -> String {
    format!(
        "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nFN:{name}\r\nN:{name}\r\n\
         TEL;TYPE=HOME:+49 30 1234567\r\nEND:VCARD\r\n"
    )
}

#[test]
fn contacts_are_created_found_and_removed() {
    zbus::block_on(async {
        let Some(desktop) = Desktop::start().await else {
            return;
        };
        let client = &desktop.client;
        let book = &open_book(client).await;
        let no_uid = card("", "Åsa").replace("UID:\r\n", "");
        let made = create(client, book, &[&card("ada", "Ada"), &no_uid]).await;
        let made = made.unwrap();
        assert_eq!(made[0], "ada");
        assert!(made[1].starts_with("pas-id-"));

        let found = uids(client, book, "(is \"full_name\" \"ASA\")").await;
        assert_eq!(found.unwrap(), [made[1].as_str()]);
        let everyone = "(contains \"x-evolution-any-field\" \"\")";
        assert_eq!(uids(client, book, everyone).await.unwrap().len(), 2);
        let by_phone = "(eqphone_short \"phone\" \"123-4567\")";
        assert_eq!(uids(client, book, by_phone).await.unwrap().len(), 2);

        let reply = client.call(BOOKS, book, "AddressBook", "GetContact", ("ada",));
        let text: String = reply.await.unwrap().body().deserialize().unwrap();
        assert!(
            text.contains("X-EVOLUTION-E164=301234567,\"+49\":"),
            "{text}"
        );
        assert!(text.contains("\r\nREV:"), "{text}");

        let body = (["ada", "nobody"].as_slice(), 0u32);
        let refused = client.call(BOOKS, book, "AddressBook", "RemoveContacts", body);
        let not_found = error_name("e-book-client-error-quark", 1);
        assert_eq!(refused.await.unwrap_err(), not_found, "all or none");
        let body = (["ada"].as_slice(), 0u32);
        let removed = client.call(BOOKS, book, "AddressBook", "RemoveContacts", body);
        removed.await.unwrap();
        assert_eq!(uids(client, book, "").await.unwrap(), [made[1].as_str()]);
    });
}

/// Reads every contact of a book `times` times.
async fn read_all(client: &Client, book: &str, times: usize) -> usize {
    let everyone = "(contains \"x-evolution-any-field\" \"\")";
    let mut count = 0;
    for _ in 0..times {
        let reply = client.call(BOOKS, book, "AddressBook", "GetContactList", (everyone,));
        let cards: Vec<String> = reply.await.unwrap().body().deserialize().unwrap();
        count = cards.len();
    }
    count
}

#[test]
fn a_service_at_rest_gives_memory_back() {
    zbus::block_on(async {
        let Some(desktop) = Desktop::start().await else {
            return;
        };
        let client = &desktop.client;
        let book = &open_book(client).await;
        let note = "x".repeat(8 << 10);
        let with_note = |n: usize| {
            let card = card(&format!("u{n}"), &format!("Name {n}"));
            card.replace("END:", &format!("NOTE:{note}\r\nEND:"))
        };
        let cards: Vec<String> = (0..2_000).map(with_note).collect();
        let cards: Vec<&str> = cards.iter().map(String::as_str).collect();
        assert_eq!(create(client, book, &cards).await.unwrap().len(), 2_000);
        assert_eq!(read_all(client, book, 2).await, 2_000);

        let process = client.process_of(BOOKS).await;
        let after_answers = private_memory(process).unwrap();
        // The answers had 16 MB, the file has as many.
        let released = after_answers - (8 << 20);
        wait_for("it needs less memory", async || {
            let now = private_memory(process).unwrap();
            (now < released).then_some(())
        })
        .await;
        assert_eq!(read_all(client, book, 1).await, 2_000);
    });
}

#[test]
fn errors_have_the_names_that_clients_decode() {
    zbus::block_on(async {
        let Some(desktop) = Desktop::start().await else {
            return;
        };
        let client = &desktop.client;
        let factory = "AddressBookFactory";
        let unknown = client
            .call(BOOKS, FACTORY, factory, "OpenAddressBook", ("nothing",))
            .await;
        assert_eq!(unknown.unwrap_err(), error_name("g-io-error-quark", 1));
        let calendar = client
            .call(
                BOOKS,
                FACTORY,
                factory,
                "OpenAddressBook",
                ("system-calendar",),
            )
            .await;
        assert_eq!(calendar.unwrap_err(), error_name("g-io-error-quark", 15));

        let book = &open_book(client).await;
        let error = |code| error_name("e-client-error-quark", code);
        let book_error = |code| error_name("e-book-client-error-quark", code);
        for query in ["(and)", "#t", "(is \"id\"", &"(not ".repeat(100_000)] {
            assert_eq!(uids(client, book, query).await.unwrap_err(), error(16));
        }
        create(client, book, &[&card("a", "A")]).await.unwrap();
        let again = create(client, book, &[&card("b", "B"), &card("a", "A")]).await;
        assert_eq!(again.unwrap_err(), book_error(2));
        let twice = create(client, book, &[&card("c", "C"), &card("c", "C")]).await;
        assert_eq!(twice.unwrap_err(), book_error(2));
        assert_eq!(uids(client, book, "").await.unwrap(), ["a"], "all or none");
        assert_eq!(
            create(client, book, &["hello"]).await.unwrap_err(),
            error(0)
        );

        let get = client.call(BOOKS, book, "AddressBook", "GetContact", ("x",));
        assert_eq!(get.await.unwrap_err(), book_error(1));
        let body = (["x"].as_slice(), 0u32);
        let remove = client.call(BOOKS, book, "AddressBook", "RemoveContacts", body);
        assert_eq!(remove.await.unwrap_err(), book_error(1));
        let modify = |text: String| async move {
            let body = (vec![text], 0u32);
            let reply = client.call(BOOKS, book, "AddressBook", "ModifyContacts", body);
            reply.await.map(|_| ())
        };
        assert_eq!(modify(card("x", "X")).await.unwrap_err(), book_error(1));
        let no_uid = card("x", "X").replace("UID:x\r\n", "");
        assert_eq!(modify(no_uid).await.unwrap_err(), error(19));

        // A conflict fails where the client asks for it.
        let stale = card("a", "A").replace("END:", "REV:old\r\nEND:");
        let body = (vec![stale], 1u32);
        let modify = client.call(BOOKS, book, "AddressBook", "ModifyContacts", body);
        assert_eq!(modify.await.unwrap_err(), error(21));
    });
}

#[test]
fn a_view_tells_content_and_changes_of_any_process() {
    zbus::block_on(async {
        let Some(mut desktop) = Desktop::start().await else {
            return;
        };
        let book = open_book(&desktop.client).await;
        let mut other = Client::connect(&desktop.bus).await;
        create(
            &desktop.client,
            &book,
            &[&card("ada", "Ada"), &card("bob", "Bob")],
        )
        .await
        .unwrap();
        let view = open_view(&desktop.client, &book, "(contains \"full_name\" \"ad\")").await;
        let client = &mut desktop.client;
        let start = client.call(BOOKS, &view, "AddressBookView", "Start", ());
        start.await.unwrap();
        let added = client.signal(&view, "ObjectsAdded").await;
        let pairs: Vec<String> = added.body().deserialize().unwrap();
        assert_eq!((pairs.len(), pairs[1].as_str()), (2, "ada"));
        let complete = client.signal(&view, "Complete").await;
        let (name, _): (String, String) = complete.body().deserialize().unwrap();
        assert_eq!(name, "");

        // Another process saves to the store itself.
        let store = Store::open(desktop.bus.dir().join("store.etui")).unwrap();
        let contacts = store.contacts().unwrap();
        contacts
            .save(&Card::parse(card("bob", "Brad")).unwrap())
            .unwrap();
        let client = &mut desktop.client;
        let added = client.signal(&view, "ObjectsAdded").await;
        let pairs: Vec<String> = added.body().deserialize().unwrap();
        assert_eq!(pairs[1], "bob", "it begins to match");
        client.signal(&view, "Complete").await;
        contacts
            .save(&Card::parse(card("ada", "Eve")).unwrap())
            .unwrap();
        let removed = client.signal(&view, "ObjectsRemoved").await;
        let uids: Vec<String> = removed.body().deserialize().unwrap();
        assert_eq!(uids, ["ada"], "it stops matching");

        assert!(
            !other.has_heard(&view, "ObjectsAdded").await,
            "the owner's alone"
        );
    });
}

#[test]
fn a_change_right_after_an_addition_is_told_too() {
    zbus::block_on(async {
        let Some(mut desktop) = Desktop::start().await else {
            return;
        };
        let book = open_book(&desktop.client).await;
        let view = open_view(&desktop.client, &book, "").await;
        let client = &mut desktop.client;
        let start = client.call(BOOKS, &view, "AddressBookView", "Start", ());
        start.await.unwrap();
        client.signal(&view, "Complete").await;
        for number in 0..20 {
            let uid = format!("u{number}");
            create(client, &book, &[&card(&uid, "Ada")]).await.unwrap();
            let body = (vec![card(&uid, "Eve")], 0u32);
            let modify = client.call(BOOKS, &book, "AddressBook", "ModifyContacts", body);
            modify.await.unwrap();
            for (signal, name) in [("ObjectsAdded", "FN:Ada"), ("ObjectsModified", "FN:Eve")] {
                let told = client.signal(&view, signal).await;
                let pairs: Vec<String> = told.body().deserialize().unwrap();
                assert!(pairs[0].contains(name) && pairs[1] == uid, "{pairs:?}");
            }
        }
    });
}

#[test]
fn cards_of_other_programs_come_in_the_desktops_words() {
    zbus::block_on(async {
        let Some(desktop) = Desktop::start().await else {
            return;
        };
        let client = &desktop.client;
        let book = open_book(client).await;
        let store = Store::open(desktop.bus.dir().join("store.etui")).unwrap();
        let contacts = store.contacts().unwrap();
        let save = |body: &str| {
            let text = format!("BEGIN:VCARD\r\nVERSION:4.0\r\n{body}END:VCARD\r\n");
            contacts.save(&Card::parse(text).unwrap()).unwrap();
        };
        save(
            "UID:urn:uuid:ada\r\nFN:Ada\r\nEMAIL:ada@example.org\r\nIMPP:xmpp:ada@example.org\r\n",
        );
        save("UID:all\r\nFN:All\r\nKIND:group\r\nMEMBER:urn:uuid:ada\r\nMEMBER:urn:uuid:gone\r\n");
        let get = async |uid: &str| -> String {
            let got = client.call(BOOKS, &book, "AddressBook", "GetContact", uid);
            got.await.unwrap().body().deserialize().unwrap()
        };
        assert!(
            get("urn:uuid:ada")
                .await
                .contains("X-JABBER:ada@example.org\r\n")
        );
        let group = get("all").await;
        assert!(group.contains("X-EVOLUTION-LIST:TRUE\r\n"), "{group}");
        assert!(group.contains(":Ada <ada@example.org>\r\n"), "{group}");
        for (query, expected) in [
            ("(contains \"im_jabber\" \"ada\")", "urn:uuid:ada"),
            ("(is \"list\" \"TRUE\")", "all"),
        ] {
            let found = client.call(BOOKS, &book, "AddressBook", "GetContactListUids", query);
            let found: Vec<String> = found.await.unwrap().body().deserialize().unwrap();
            assert_eq!(found, [expected]);
        }

        // Taken out of the list by a program; the one without an address stays.
        let lines = group.split_inclusive("\r\n");
        let text: String = lines.filter(|line| !line.starts_with("EMAIL")).collect();
        let body = (vec![text], 0u32);
        let modify = client.call(BOOKS, &book, "AddressBook", "ModifyContacts", body);
        modify.await.unwrap();
        let stored = contacts.get("all").unwrap().unwrap().text;
        let stored = String::from_utf8(stored).unwrap();
        assert!(
            stored.contains("KIND:group\r\nMEMBER:urn:uuid:gone\r\n"),
            "{stored}"
        );
        assert!(
            !stored.contains("uuid:ada") && !stored.contains("EVOLUTION"),
            "{stored}"
        );
    });
}

#[test]
fn the_revision_is_told_before_the_reply() {
    use futures_lite::StreamExt;
    zbus::block_on(async {
        let Some(desktop) = Desktop::start().await else {
            return;
        };
        let client = &desktop.client;
        let book = open_book(client).await;
        let mut messages = zbus::MessageStream::from(&client.connection);
        create(client, &book, &[&card("ada", "Ada")]).await.unwrap();
        let mut changed = false;
        while let Some(Ok(message)) = messages.next().await {
            let header = message.header();
            let member = header.member().map(|m| m.to_string());
            changed |= member.as_deref() == Some("PropertiesChanged");
            let is_reply = header.reply_serial().is_some();
            if is_reply && message.body().deserialize::<Vec<String>>().is_ok() {
                break;
            }
        }
        assert!(changed);
    });
}

#[test]
fn a_picture_is_a_file_and_comes_back_as_the_picture() {
    zbus::block_on(async {
        let Some(desktop) = Desktop::start().await else {
            return;
        };
        let client = &desktop.client;
        let book = &open_book(client).await;
        let photo = "PHOTO;ENCODING=b;TYPE=PNG:aGVsbG8=\r\n";
        let stored = card("ada", "Ada").replace("END:", &format!("{photo}END:"));
        create(client, book, &[&stored]).await.unwrap();
        let get = || async {
            let reply = client.call(BOOKS, book, "AddressBook", "GetContact", ("ada",));
            let text: String = reply.await.unwrap().body().deserialize().unwrap();
            text
        };
        let text = get().await;
        let uri = text.split("PHOTO;VALUE=uri:file://").nth(1).unwrap();
        let path = PathBuf::from(uri.split("\r\n").next().unwrap());
        assert_eq!(std::fs::read(path).unwrap(), b"hello");

        let body = (vec![text.replace("Ada", "Ada L.")], 0u32);
        let modify = client.call(BOOKS, book, "AddressBook", "ModifyContacts", body);
        modify.await.unwrap();
        let store = Store::open(desktop.store()).unwrap();
        let kept = store.contacts().unwrap().get("ada").unwrap().unwrap();
        let kept = String::from_utf8(kept.text).unwrap();
        assert!(kept.contains(photo) && kept.contains("Ada L."), "{kept}");
        assert!(!kept.contains("X-EVOLUTION-E164"), "{kept}");
    });
}

#[test]
fn a_cursor_steps_and_follows() {
    zbus::block_on(async {
        let Some(mut desktop) = Desktop::start().await else {
            return;
        };
        let client = &desktop.client;
        let book = open_book(client).await;
        let names = ["Cold", "Adam", "Bird"];
        let cards: Vec<String> = names.iter().map(|name| card(name, name)).collect();
        let cards: Vec<&str> = cards.iter().map(String::as_str).collect();
        create(client, &book, &cards).await.unwrap();
        let body = ("", vec!["family_name"], vec!["ascending"]);
        let reply = client.call(BOOKS, &book, "AddressBook", "GetCursor", body);
        let path: OwnedObjectPath = reply.await.unwrap().body().deserialize().unwrap();
        let cursor = path.to_string();
        let step = |origin: i32, count: i32| {
            let (client, book, cursor) = (&desktop.client, &book, &cursor);
            async move {
                let get = ("org.gnome.evolution.dataserver.AddressBook", "Revision");
                let revision = client.connection.call_method(
                    Some(BOOKS),
                    book.as_str(),
                    Some("org.freedesktop.DBus.Properties"),
                    "Get",
                    &get,
                );
                let revision = revision.await.unwrap();
                let revision: zbus::OwnedVariant = revision.body().deserialize().unwrap();
                let revision = String::try_from(revision).unwrap();
                let body = (revision, 3i32, origin, count);
                let reply = client.call(BOOKS, cursor, "AddressBookCursor", "Step", body);
                let reply = reply.await?;
                let (n, cards, total, position): (i32, Vec<String>, u32, u32) =
                    reply.body().deserialize().unwrap();
                let names = cards.iter().map(|text| {
                    let card = Card::parse(text.as_bytes()).unwrap();
                    card.uid().unwrap_or_default().to_owned()
                });
                Ok::<_, String>((n, names.collect::<Vec<_>>(), total, position))
            }
        };
        let expected = (2, vec!["Adam".to_owned(), "Bird".to_owned()], 3, 2);
        assert_eq!(step(0, 2).await.unwrap(), expected);
        assert_eq!(
            step(0, 2).await.unwrap(),
            (1, vec!["Cold".to_owned()], 3, 4)
        );
        let refused = error_name("e-client-error-quark", 17);
        assert_eq!(step(0, 2).await.unwrap_err(), refused);
        assert_eq!(step(2, -1).await.unwrap().1, ["Cold"]);
        create(&desktop.client, &book, &[&card("Bach", "Bach")])
            .await
            .unwrap();
        let expected = (1, vec!["Bird".to_owned()], 4, 3);
        assert_eq!(step(0, -1).await.unwrap(), expected);
        let _ = &mut desktop;
    });
}

#[test]
fn clients_that_open_a_new_address_book_at_once_get_one_object() {
    let Some(desktop) = zbus::block_on(Desktop::start()) else {
        return;
    };
    let start = std::sync::Barrier::new(8);
    let paths: Vec<String> = std::thread::scope(|scope| {
        let open = || {
            let client = zbus::block_on(Client::connect(&desktop.bus));
            start.wait();
            zbus::block_on(open_book(&client))
        };
        let clients: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
        clients.into_iter().map(|c| c.join().unwrap()).collect()
    });
    assert!(paths.iter().all(|path| *path == paths[0]), "{paths:?}");
    let (parent, _) = paths[0].rsplit_once('/').unwrap();
    let introspectable = Some("org.freedesktop.DBus.Introspectable");
    let connection = &desktop.client.connection;
    let call = connection.call_method(Some(BOOKS), parent, introspectable, "Introspect", &());
    let text: String = zbus::block_on(call).unwrap().body().deserialize().unwrap();
    assert_eq!(text.matches("<node name=").count(), 1, "{text}");
}
