//! Collections: reading, saving, queries, changes, descriptors.

use zbus::{OwnedObjectPath, Variant};

use super::support::*;

#[test]
fn the_store_describes_itself() {
    let service = Running::start();
    let client = service.client();
    let path = etui_dbus::STORE_PATH;
    assert_eq!(client.property::<String>(path, STORE, "Locale"), "en-GB");
    assert_eq!(client.property::<String>(path, STORE, "Region"), "GB");
    assert!(!client.property::<bool>(path, STORE, "ReadOnly"));
    let features: Vec<String> = client.property(path, STORE, "Features");
    assert!(features.contains(&"direct".to_owned()));
    let xml: String = client
        .call(
            path,
            "org.freedesktop.DBus.Introspectable",
            "Introspect",
            &(),
        )
        .unwrap();
    assert!(
        xml.contains("Returns a token of the present state"),
        "{xml}"
    );

    let all: Vec<(String, OwnedObjectPath, String)> = client.store("Collections", &"").unwrap();
    let names: Vec<_> = all
        .iter()
        .map(|(n, _, kind)| (n.as_str(), kind.as_str()))
        .collect();
    assert_eq!(names, [("Contacts", "contacts"), ("Calendar", "calendar")]);
    let token: String = client.store("Token", &()).unwrap();
    assert_eq!(token.split('.').count(), 3);
    let refused = client.store::<_, Vec<(String, OwnedObjectPath, String)>>("Collections", &"mail");
    assert_eq!(refused.unwrap_err().name, "BadArgument");
}

#[test]
fn collections_are_created_renamed_elsewhere_and_restored() {
    let service = Running::start();
    let client = service.client();
    let options = Options::from([("external_id", Variant::from("dav-1"))]);
    let club: OwnedObjectPath = client
        .store("CreateCollection", &("contacts", "Club", options))
        .unwrap();
    let club = club.to_string();
    assert_eq!(
        client.property::<String>(&club, COLLECTION, "ExternalId"),
        "dav-1"
    );
    client.save(&club, &[card("a", "Ada", "")]);
    let taken =
        client.store::<_, OwnedObjectPath>("CreateCollection", &("contacts", "Club", none()));
    assert_eq!(taken.unwrap_err().name, "Exists");
    let unknown = Options::from([("colour", Variant::from("red"))]);
    let refused = client
        .store::<_, OwnedObjectPath>("CreateCollection", &("contacts", "Other", unknown))
        .unwrap_err();
    assert_eq!(refused.name, "BadOption");
    assert_eq!(refused.arguments::<(String, String)>().1, "colour");

    // Another program renames it: the object stays.
    let store = service.open_store();
    store
        .collections::<etui::contacts::Card>()
        .rename("Club", "Choir")
        .unwrap();
    assert_eq!(
        client.property::<String>(&club, COLLECTION, "Name"),
        "Choir"
    );
    assert_eq!(client.property::<u64>(&club, COLLECTION, "Count"), 1);
    store
        .collections::<etui::contacts::Card>()
        .remove("Choir")
        .unwrap();
    let gone = client
        .call::<_, (Row,)>(&club, COLLECTION, "Get", &("a", vec!["uid"]))
        .unwrap_err();
    assert_eq!(gone.name, "NoCollection");
    assert_eq!(
        gone.arguments::<(String, Vec<String>)>().1,
        vec!["Contacts"]
    );
    let all: Vec<(String, OwnedObjectPath, String)> =
        client.store("Collections", &"contacts").unwrap();
    assert_eq!(all.len(), 1);
    let managed: zbus::fdo::ManagedObjects = client
        .call(
            etui_dbus::STORE_PATH,
            "org.freedesktop.DBus.ObjectManager",
            "GetManagedObjects",
            &(),
        )
        .unwrap();
    let mut objects: Vec<String> = managed.keys().map(ToString::to_string).collect();
    objects.sort_unstable();
    let (book, calendar) = (client.collection("contacts"), client.collection("calendar"));
    let mut expected = vec![book, calendar, "/org/etui/Store1/media".to_owned()];
    expected.sort_unstable();
    assert_eq!(objects, expected);
    let back: OwnedObjectPath = client
        .store("RestoreCollection", &("contacts", "Choir"))
        .unwrap();
    assert_eq!(back.to_string(), club);
    let (row,): (Row,) = client
        .call(&club, COLLECTION, "Get", &("a", vec!["name"]))
        .unwrap();
    assert_eq!(row.2, vec!["Ada"]);
}

#[test]
fn records_are_saved_read_removed_and_restored() {
    let service = Running::start();
    let client = service.client();
    let book = client.collection("contacts");
    let more = "EMAIL:a@example.org\r\nEMAIL:b@example.org\r\n";
    let saved = client.save(&book, &[card("a", "Ada", more), card("b", "Bo", "")]);
    assert_eq!(saved[0].1, "a");
    let (row,): (Row,) = client
        .call(
            &book,
            COLLECTION,
            "Get",
            &("a", vec!["emails", "name", "card"]),
        )
        .unwrap();
    assert_eq!((row.0, &row.1), (saved[0].0, &saved[0].2));
    assert_eq!(
        row.2,
        [
            "a@example.org\u{1f}b@example.org",
            "Ada",
            &card("a", "Ada", more)
        ]
    );
    let (found, missing): (Vec<Row>, Vec<String>) = client
        .call(
            &book,
            COLLECTION,
            "GetMany",
            &(vec!["b", "x", "a", "b"], vec!["uid"], none()),
        )
        .unwrap();
    let uids: Vec<&str> = found.iter().map(|row| row.2[0].as_str()).collect();
    assert_eq!((uids, missing), (vec!["b", "a", "b"], vec!["x".to_owned()]));

    let get = |uid: &str, column: &str| {
        client
            .call::<_, (Row,)>(&book, COLLECTION, "Get", &(uid, vec![column]))
            .unwrap_err()
            .name
    };
    assert_eq!(get("x", "name"), "NotFound");
    assert_eq!(get("a", "colour"), "BadColumn");

    // Conditions.
    type Saved = Vec<(u64, String, String)>;
    let save = |records: &[(String, &str)], all: bool| {
        let options = Options::from([("all", Variant::from(all))]);
        client.call::<_, Saved>(&book, COLLECTION, "Save", &(records, options))
    };
    let absent = [
        (card("c", "Cy", ""), "absent"),
        (card("a", "Ann", ""), "absent"),
    ];
    let conflict = save(&absent, true).unwrap_err();
    assert_eq!(conflict.name, "Conflict");
    let (_, uid, etag) = conflict.arguments::<(String, String, String)>();
    assert_eq!((uid.as_str(), &etag), ("a", &saved[0].2));
    assert_eq!(get("c", "name"), "NotFound");
    let each = save(&absent, false).unwrap();
    assert!(each[0].0 > 0);
    assert_eq!(each[1], (0, "a".to_owned(), saved[0].2.clone()));
    assert_eq!(
        save(&[(card("a", "Ann", ""), saved[0].2.as_str())], true).unwrap()[0].1,
        "a"
    );
    let bad = save(
        &[(card("d", "Di", ""), ""), ("no card".to_owned(), "")],
        true,
    )
    .unwrap_err();
    assert_eq!(bad.name, "BadRecord");
    assert_eq!(bad.arguments::<(String, u32)>().1, 1);
    // A card without UID gets one from the store.
    let nameless = save(
        &[("BEGIN:VCARD\r\nFN:Nobody\r\nEND:VCARD\r\n".to_owned(), "")],
        true,
    )
    .unwrap();
    assert!(nameless[0].1.starts_with("etui-"), "{nameless:?}");

    let remove = |records: &[(&str, &str)]| {
        client.call::<_, ()>(&book, COLLECTION, "Remove", &(records, none()))
    };
    assert_eq!(
        remove(&[("b", ""), ("x", "")]).unwrap_err().name,
        "NotFound"
    );
    assert_eq!(
        remove(&[("b", saved[0].2.as_str())]).unwrap_err().name,
        "Conflict"
    );
    remove(&[("b", saved[1].2.as_str())]).unwrap();
    let missing: Vec<String> = client
        .call(&book, COLLECTION, "Restore", &["b", "x"].as_slice())
        .unwrap();
    assert_eq!(missing, vec!["x"]);
    assert_eq!(client.property::<u64>(&book, COLLECTION, "Count"), 4);
}

#[test]
fn queries_are_paged_counted_and_explained() {
    let service = Running::start();
    let client = service.client();
    let book = client.collection("contacts");
    client.save(&book, &cards(50, ""));
    type Page = (Vec<Row>, String, u64);
    let query = |filter: &str, options: Options<'_>| {
        client.call::<_, Page>(&book, COLLECTION, "Query", &(filter, options))
    };
    let page = |after: &str, sort: &str| {
        let options = Options::from([
            ("limit", Variant::from(20_i32)),
            ("after", Variant::from(after.to_owned())),
            ("columns", Variant::from(vec!["name"])),
            ("sort", Variant::from(sort.to_owned())),
            ("count", Variant::from(true)),
        ]);
        query("", options).unwrap()
    };
    for sort in ["name", "-name", "added"] {
        let (mut names, mut after) = (Vec::new(), String::new());
        loop {
            let (rows, next, count) = page(&after, sort);
            assert_eq!(count, 50);
            names.extend(rows.into_iter().map(|row| row.2[0].clone()));
            if next.is_empty() {
                break;
            }
            after = next;
        }
        if sort == "-name" {
            names.reverse();
        }
        let expected: Vec<String> = (0..50).map(|n| format!("Name {n:05}")).collect();
        assert_eq!(names, expected, "{sort}");
    }
    let (rows, next, count) = query("name:00007", none()).unwrap();
    assert_eq!((rows.len(), next.as_str(), count), (1, "", 0));
    assert_eq!(rows[0].2.len(), 4, "the columns of the summary");
    let plan: String = client
        .call(&book, COLLECTION, "Explain", &("name:00007", none()))
        .unwrap();
    assert!(plan.contains("name"), "{plan}");

    let bad = query("name:(", none()).unwrap_err();
    assert_eq!(bad.name, "BadFilter");
    assert!(bad.arguments::<(String, u32)>().1 > 0);
    let option =
        |key, value: Variant<'static>| query("", Options::from([(key, value)])).unwrap_err().name;
    assert_eq!(option("sort", Variant::from("size")), "BadOption");
    assert_eq!(option("limit", Variant::from(-1_i32)), "BadOption");
    assert_eq!(option("limit", Variant::from("many")), "BadOption");
    assert_eq!(option("after", Variant::from("nonsense")), "BadOption");
    assert_eq!(option("colour", Variant::from("red")), "BadOption");
    assert_eq!(
        option("columns", Variant::from(vec!["colour"])),
        "BadColumn"
    );
}

#[test]
fn large_answers_go_by_descriptor() {
    let service = Running::start();
    let client = service.client();
    let book = client.collection("contacts");
    let note = format!("NOTE:{}\r\n", "x".repeat(1_000));
    client.save(&book, &cards(2_100, &note));
    let columns = || Options::from([("columns", Variant::from(vec!["uid", "card"]))]);
    let query = client
        .call::<_, (Vec<Row>, String, u64)>(&book, COLLECTION, "Query", &("", columns()))
        .unwrap_err();
    assert_eq!(query.name, "TooLarge");
    let rows = client.rows_by_file(&book, "QueryFd", &("", columns()));
    assert_eq!(rows.len(), 2_100);
    let text = |n: usize| card(&format!("uid-{n}"), &format!("Name {n:05}"), &note).into_bytes();
    for (n, (_, values)) in rows.iter().enumerate() {
        assert_eq!(values, &[format!("uid-{n}").into_bytes(), text(n)]);
    }
    let uids: Vec<String> = (0..2_100).rev().map(|n| format!("uid-{n}")).collect();
    let many = client
        .call::<_, (Vec<Row>, Vec<String>)>(
            &book,
            COLLECTION,
            "GetMany",
            &(&uids, vec!["card"], none()),
        )
        .unwrap_err();
    assert_eq!(many.name, "TooLarge");
    let rows = client.rows_by_file(&book, "GetManyFd", &(&uids, vec!["card"], none()));
    assert_eq!(rows.len(), 2_100);
    assert_eq!(rows[0].1, [text(2_099)]);
    let unordered = Options::from([
        ("sort", Variant::from("none")),
        ("offset", Variant::from(2_090_u64)),
    ]);
    assert_eq!(
        client
            .rows_by_file(&book, "QueryFd", &("", unordered))
            .len(),
        10
    );
}

#[test]
fn a_card_that_is_not_utf8_comes_converted_and_raw() {
    let service = Running::start();
    let client = service.client();
    let book = client.collection("contacts");
    let bytes =
        b"BEGIN:VCARD\r\nVERSION:3.0\r\nUID:j\r\nFN:J\xfcrgen \x00 M\r\nEND:VCARD\r\n".to_vec();
    let store = service.open_store();
    let jurgen = etui::contacts::Card::parse(bytes.clone()).unwrap();
    store.contacts().unwrap().save(&jurgen).unwrap();
    let (row,): (Row,) = client
        .call(&book, COLLECTION, "Get", &("j", vec!["name", "card"]))
        .unwrap();
    assert!(row.2[0].starts_with("Jürgen"), "{row:?}");
    assert!(row.2[1].contains("FN:Jürgen"), "{row:?}");
    let raw = client.rows_by_file(&book, "Raw", &["j", "x"].as_slice());
    assert_eq!(raw.len(), 1);
    assert_eq!(raw[0].1, [b"j".to_vec(), bytes]);
}

#[test]
fn hostile_arguments_are_refused_and_others_served() {
    let service = Running::start();
    let (client, other) = (service.client(), service.client());
    let book = client.collection("contacts");
    client.save(&book, &[card("a", "Ada", "")]);
    let served = || {
        let (row,): (Row,) = other
            .call(&book, COLLECTION, "Get", &("a", vec!["name"]))
            .unwrap();
        assert_eq!(row.2, vec!["Ada"]);
    };
    for filter in [
        "(".repeat(100_000),
        "!".repeat(100_000),
        "-".repeat(100_000) + "name:a",
    ] {
        let refused = client.call::<_, (Vec<Row>, String, u64)>(
            &book,
            COLLECTION,
            "Query",
            &(&filter, none()),
        );
        if let Err(refused) = refused {
            assert_eq!(refused.name, "BadFilter");
        }
        served();
    }
    // 60 MB of text: no card is that large.
    let huge = card("h", "Huge", &format!("NOTE:{}\r\n", "x".repeat(60_000_000)));
    let refused = client
        .call::<_, Vec<(u64, String, String)>>(
            &book,
            COLLECTION,
            "Save",
            &([(huge.as_str(), "")].as_slice(), none()),
        )
        .unwrap_err();
    assert_eq!(refused.name, "BadRecord");
    served();
    let unknown = client
        .call::<_, (Row,)>(
            "/org/etui/Store1/collection/99",
            COLLECTION,
            "Get",
            &("a", vec!["name"]),
        )
        .unwrap_err();
    assert_eq!(unknown.name, "org.freedesktop.DBus.Error.UnknownObject");
    let wrong = client
        .call::<_, (Row,)>(&book, COLLECTION, "Get", &(7_u32,))
        .unwrap_err();
    assert!(
        wrong.name.starts_with("org.freedesktop.DBus.Error."),
        "{}",
        wrong.name
    );
    served();
}

#[test]
fn changes_are_listed_from_a_token() {
    let service = Running::start();
    let client = service.client();
    let book = client.collection("contacts");
    let start: String = client.property(&book, COLLECTION, "Token");
    client.save(&book, &cards(5, ""));
    type Changes = (Vec<(String, String, u64)>, String, bool);
    let since = |token: &str, limit: u64| {
        let options = Options::from([("limit", Variant::from(limit))]);
        client.call::<_, Changes>(&book, COLLECTION, "ChangesSince", &(token, options))
    };
    let (first, token, more) = since(&start, 3).unwrap();
    assert!(more);
    let uids: Vec<&str> = first.iter().map(|(uid, ..)| uid.as_str()).collect();
    assert_eq!(uids, vec!["uid-0", "uid-1", "uid-2"]);
    let (rest, token, more) = since(&token, 3).unwrap();
    assert_eq!((rest.len(), more), (2, false));
    assert_eq!(rest[0].1, "added");
    client
        .call::<_, ()>(
            &book,
            COLLECTION,
            "Remove",
            &([("uid-1", "")].as_slice(), none()),
        )
        .unwrap();
    let (last, token, _) = since(&token, 3).unwrap();
    assert_eq!(last[0].1, "removed");
    assert_eq!(since(&token, 3).unwrap().0, []);
    let other = "0123456789abcdef.0123456789abcdef.1";
    assert_eq!(since(other, 3).unwrap_err().name, "Resynchronise");
    assert_eq!(since("yesterday", 3).unwrap_err().name, "BadArgument");
}
