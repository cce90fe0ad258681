//! Collections and their records: renamed, removed, coloured, copied, moved, brought back, searched.

use zbus::{OwnedObjectPath, Variant};

use super::support::*;

/// A list of collections.
type Collections = Vec<(String, OwnedObjectPath, String)>;
/// Removed collections.
type Removed = Vec<(String, String, u64, i64)>;
/// The versions of a record.
type Versions = Vec<(i64, i64, String, bool)>;
/// The answer of a search.
type Found = (Vec<Row>, String, u64, String);

fn create(client: &Client, kind: &str, name: &str) -> String {
    let path: OwnedObjectPath = client
        .store("CreateCollection", &(kind, name, none()))
        .unwrap();
    path.to_string()
}

fn path(text: &str) -> OwnedObjectPath {
    OwnedObjectPath::try_from(text).unwrap()
}

/// Names of one kind with their objects.
fn names(client: &Client, kind: &str) -> Vec<String> {
    let all: Collections = client.store("Collections", &kind).unwrap();
    all.into_iter().map(|(name, ..)| name).collect()
}

#[test]
fn names_of_all_sorts_are_given_and_bad_ones_refused() {
    let service = Running::start();
    let (client, second) = (service.client(), service.client());
    for (kind, other) in [("contacts", "calendar"), ("calendar", "contacts")] {
        let club = create(&client, kind, "Club");
        let other = client.collection(other);
        for name in [
            "Chœur d’Été",
            "تقويم",
            "a/b;c,d",
            "\"q\" 'n' \\",
            "👩‍👩‍👧 home",
            "Club",
        ] {
            client
                .call::<_, ()>(&club, COLLECTION, "Rename", &name)
                .unwrap();
            assert_eq!(second.property::<String>(&club, COLLECTION, "Name"), name);
            assert_eq!(names(&second, kind)[1], name);
        }
        let first = names(&client, kind)[0].clone();
        let long = "x".repeat(201);
        for (name, error) in [
            ("", "BadArgument"),
            (" x", "BadArgument"),
            ("a\nb", "BadArgument"),
            (&long, "BadArgument"),
            (&first, "Exists"),
        ] {
            assert_eq!(
                client.refusal(&club, COLLECTION, "Rename", &name),
                error,
                "{name}"
            );
        }
        assert_eq!(names(&client, kind), [&first, "Club"]);
        assert_ne!(other, club);
    }
}

#[test]
fn collections_are_removed_with_what_was_confirmed_and_come_back() {
    let service = Running::start();
    let (client, second) = (service.client(), service.client());
    let book = client.collection("contacts");
    let club = create(&client, "contacts", "Club");
    client.save(&club, &cards(3, ""));
    let remove = |path: &str, options: Options<'_>| {
        let path = OwnedObjectPath::try_from(path.to_owned()).unwrap();
        client.store::<_, ()>("RemoveCollection", &(path, options))
    };
    // Not what the user confirmed.
    let two = Options::from([("records", Variant::from(2_u64))]);
    assert_eq!(remove(&club, two).unwrap_err().name, "Conflict");
    let bad = Options::from([("force", Variant::from(true))]);
    assert_eq!(remove(&club, bad).unwrap_err().name, "BadOption");
    let view: OwnedObjectPath = second
        .call(&club, COLLECTION, "OpenView", &("", none()))
        .unwrap();
    let three = Options::from([("records", Variant::from(3_u64))]);
    remove(&club, three).unwrap();
    assert_eq!(names(&second, "contacts"), ["Contacts"]);
    // The object is gone for all; the view of another client reports the removals.
    let gone = second.refusal(&club, COLLECTION, "Get", &("uid-0", vec!["name"]));
    assert!(
        gone.starts_with("org.freedesktop.DBus.Error.Unknown"),
        "{gone}"
    );
    let (changes, reset): (Vec<(String, Row)>, bool) =
        second.call(&view, VIEW, "Changes", &vec!["uid"]).unwrap();
    assert!(!reset);
    assert_eq!(changes.len(), 3);
    assert!(changes.iter().all(|(kind, _)| kind == "removed"));
    for nothing in [club.as_str(), "/", "/org/etui/Store1/collection/x", &view] {
        let refused = remove(nothing, none()).unwrap_err().name;
        assert!(
            ["NoCollection", "BadArgument"].contains(&refused.as_str()),
            "{nothing}"
        );
    }
    assert_eq!(remove(&book, none()).unwrap_err().name, "LastCollection");
    let calendar = client.collection("calendar");
    assert_eq!(
        remove(&calendar, none()).unwrap_err().name,
        "LastCollection"
    );

    let removed: Removed = client.store("RemovedCollections", &"").unwrap();
    assert_eq!(removed.len(), 1);
    assert_eq!(
        (removed[0].0.as_str(), removed[0].1.as_str(), removed[0].2),
        ("Club", "contacts", 3)
    );
    assert!(removed[0].3 > 1_700_000_000);
    let back: OwnedObjectPath = second
        .store("RestoreCollection", &("contacts", "Club"))
        .unwrap();
    assert_eq!(*back.as_str(), *club);
    assert_eq!(client.property::<u64>(&club, COLLECTION, "Count"), 3);
    let removed: Removed = client.store("RemovedCollections", &"contacts").unwrap();
    assert!(removed.is_empty());
}

#[test]
fn calendars_have_colours() {
    let service = Running::start();
    let (client, second) = (service.client(), service.client());
    let calendar = client.collection("calendar");
    let color = || second.property::<String>(&calendar, CALENDAR, "Color");
    assert_eq!(color(), "");
    for (set, expected) in [
        ("teal", "#008080"),
        ("#FFF", "#ffffff"),
        (" rgb(1, 2, 3) ", "#010203"),
        ("hsl(120 100% 50%)", "#00ff00"),
        ("#12345678", "#123456"),
        ("", ""),
    ] {
        client
            .call::<_, ()>(&calendar, CALENDAR, "SetColor", &set)
            .unwrap();
        assert_eq!(color(), expected, "{set}");
    }
    for bad in ["reddish", "#12", "rgb(", "é", "url(x)"] {
        let refused = client.refusal(&calendar, CALENDAR, "SetColor", &bad);
        assert_eq!(refused, "BadArgument", "{bad}");
    }
    // Address books have none.
    let book = client.collection("contacts");
    let refused = client.refusal(&book, CALENDAR, "SetColor", &"teal");
    assert!(
        refused.starts_with("org.freedesktop.DBus.Error.Unknown"),
        "{refused}"
    );
}

#[test]
fn records_are_copied_and_moved_all_or_none() {
    let service = Running::start();
    let client = service.client();
    let (book, club) = (
        client.collection("contacts"),
        create(&client, "contacts", "Club"),
    );
    let calendar = client.collection("calendar");
    let saved = client.save(
        &book,
        &[
            card("a", "Ada", ""),
            card("ö é", "Bo", ""),
            card("c", "Cy", ""),
        ],
    );
    let target = path(&club);
    let transfer = |method: &str, records: &[(&str, &str)], to: &OwnedObjectPath| {
        client.call::<_, Vec<(u64, String, String)>>(
            &book,
            COLLECTION,
            method,
            &(records, to, none()),
        )
    };
    let count = |path: &str| client.property::<u64>(path, COLLECTION, "Count");

    let copied = transfer("Copy", &[("a", &saved[0].2), ("ö é", "")], &target).unwrap();
    assert_eq!((copied[0].1.as_str(), &copied[0].2), ("a", &saved[0].2));
    assert_eq!((count(&book), count(&club)), (3, 2));
    // Again: it is there with the same text.
    transfer("Copy", &[("a", "")], &target).unwrap();
    let moved = transfer("Move", &[("ö é", ""), ("c", "")], &target).unwrap();
    assert_eq!(moved[1].1, "c");
    assert_eq!((count(&book), count(&club)), (1, 3));

    client.save(&club, &[card("a", "Ada King", "")]);
    for (records, to, error) in [
        (vec![("a", "")], &target, "Conflict"),
        (vec![("a", saved[1].2.as_str())], &target, "Conflict"),
        (vec![("nobody", "")], &target, "NotFound"),
        (vec![("a", "\"x\"")], &target, "BadArgument"),
        (vec![("a", "")], &path(&book), "BadArgument"),
        (vec![("a", "")], &path(&calendar), "NoCollection"),
        (
            vec![("a", "")],
            &path("/org/etui/Store1/collection/99"),
            "NoCollection",
        ),
        (
            vec![("a", "")],
            &path("/org/etui/Store1/media"),
            "BadArgument",
        ),
    ] {
        for method in ["Copy", "Move"] {
            let refused = transfer(method, &records, to).unwrap_err();
            assert_eq!(refused.name, error, "{method} {records:?} {to:?}");
        }
    }
    assert_eq!((count(&book), count(&club)), (1, 3));
}

/// Ten thousand records moved in one call, and back.
#[test]
fn many_records_are_moved_at_once() {
    let service = Running::start();
    let client = service.client();
    let (book, club) = (
        client.collection("contacts"),
        create(&client, "contacts", "Club"),
    );
    client.save(&book, &cards(10_000, ""));
    let uids: Vec<String> = (0..10_000).map(|n| format!("uid-{n}")).collect();
    let records: Vec<(&str, &str)> = uids.iter().map(|uid| (uid.as_str(), "")).collect();
    let body = (&records, path(&club), none());
    let moved: Vec<(u64, String, String)> = client.call(&book, COLLECTION, "Move", &body).unwrap();
    assert_eq!(moved.len(), 10_000);
    assert_eq!(client.property::<u64>(&club, COLLECTION, "Count"), 10_000);
    assert_eq!(client.property::<u64>(&book, COLLECTION, "Count"), 0);
    // Ranked, in pages: each record once.
    let (mut after, mut seen) = (String::new(), std::collections::HashSet::new());
    loop {
        let options = Options::from([
            ("limit", Variant::from(3_000_u64)),
            ("after", Variant::from(after.clone())),
            ("count", Variant::from(true)),
            ("columns", Variant::from(vec!["uid"])),
        ]);
        let (rows, next, count, _): Found = client
            .call(&club, COLLECTION, "Search", &("name", options))
            .unwrap();
        assert_eq!(count, 10_000);
        seen.extend(rows.into_iter().map(|row| row.0));
        if next.is_empty() {
            break;
        }
        after = next;
    }
    assert_eq!(seen.len(), 10_000);
    let all = client.refusal(
        &club,
        COLLECTION,
        "Search",
        &(
            "name",
            Options::from([("columns", Variant::from(vec!["card"]))]),
        ),
    );
    assert_eq!(all, "TooLarge");
}

#[test]
fn versions_are_listed_read_and_brought_back() {
    let service = Running::start();
    let (client, second) = (service.client(), service.client());
    let book = client.collection("contacts");
    for name in ["Ada Byron", "Ada King", "Ada Lovelace"] {
        client.save(&book, &[card("ä/1", name, "")]);
    }
    second
        .call::<_, ()>(&book, COLLECTION, "Remove", &(vec![("ä/1", "")], none()))
        .unwrap();
    let history = |options| -> Versions {
        client
            .call(&book, COLLECTION, "History", &("ä/1", options))
            .unwrap()
    };
    let versions = history(none());
    let kinds: Vec<_> = versions.iter().map(|v| (v.2.as_str(), v.3)).collect();
    assert_eq!(
        kinds,
        [
            ("removed", true),
            ("edited", false),
            ("edited", false),
            ("added", false)
        ]
    );
    assert!(versions[1].1 > 1_700_000_000);
    let page = Options::from([
        ("offset", Variant::from(1_u64)),
        ("limit", Variant::from(2_i32)),
    ]);
    assert_eq!(history(page), versions[1..3]);

    let first = versions[3].0;
    let text: String = client
        .call(&book, COLLECTION, "Version", &("ä/1", first))
        .unwrap();
    assert_eq!(text, card("ä/1", "Ada Byron", ""));
    let raw = client.rows_by_file(&book, "VersionFd", &("ä/1", first));
    assert_eq!(raw[0].1, [b"\xc3\xa4/1".to_vec(), text.into_bytes()]);
    let (saved,): ((u64, String, String),) = second
        .call(&book, COLLECTION, "BringBack", &("ä/1", first))
        .unwrap();
    assert_eq!(saved.1, "ä/1");
    let (row,): (Row,) = client
        .call(&book, COLLECTION, "Get", &("ä/1", vec!["name"]))
        .unwrap();
    assert_eq!((row.2[0].as_str(), row.1), ("Ada Byron", saved.2));

    for (uid, number) in [
        ("ä/1", 0_i64),
        ("ä/1", -1),
        ("ä/1", i64::MAX),
        ("nobody", first),
    ] {
        for method in ["Version", "VersionFd", "BringBack"] {
            let refused = client.refusal(&book, COLLECTION, method, &(uid, number));
            assert_eq!(refused, "NotFound", "{method} {uid} {number}");
        }
    }
    let nothing: Versions = client
        .call(&book, COLLECTION, "History", &("nobody", none()))
        .unwrap();
    assert!(nothing.is_empty());
    // More than an array has: by descriptor.
    client.save(
        &book,
        &[card(
            "large",
            "Large",
            &format!("NOTE:{}\r\n", "x".repeat(1_100_000)),
        )],
    );
    let large: Versions = client
        .call(&book, COLLECTION, "History", &("large", none()))
        .unwrap();
    let refused = client.refusal(&book, COLLECTION, "Version", &("large", large[0].0));
    assert_eq!(refused, "TooLarge");
    assert!(
        client.rows_by_file(&book, "VersionFd", &("large", large[0].0))[0].1[1].len() > 1_100_000
    );
}

#[test]
fn a_search_finds_what_is_meant_and_corrects_typing() {
    let service = Running::start();
    let client = service.client();
    let book = client.collection("contacts");
    client.save(
        &book,
        &[
            card("note", "Ada Baker", "NOTE:drinks tea\r\n"),
            card(
                "organisation",
                "Tea House",
                "ORG:Tea House\r\nX-ABSHOWAS:COMPANY\r\n",
            ),
            card("person", "Tea Zimmer", "N:Zimmer;Tea;;;\r\n"),
            card("müller", "Jürgen Müller", "TEL:+49 30 1234567\r\n"),
        ],
    );
    let search = |text: &str, more: Options<'_>| -> (Vec<String>, u64, String) {
        let mut options = Options::from([("columns", Variant::from(vec!["uid"]))]);
        options.extend(more);
        let (rows, _, count, corrected): Found = client
            .call(&book, COLLECTION, "Search", &(text, options))
            .unwrap();
        (
            rows.into_iter().map(|row| row.2[0].clone()).collect(),
            count,
            corrected,
        )
    };
    let counted = Options::from([("count", Variant::from(true))]);
    let (found, count, corrected) = search("tea", counted);
    assert_eq!(found.last().map(String::as_str), Some("note"));
    assert_eq!((found.len(), count, corrected.as_str()), (3, 3, ""));
    assert_eq!(search("1234567", none()).0, ["müller"]);
    let (found, _, corrected) = search("Jurgen Mueler", none());
    assert_eq!(found, ["müller"], "{corrected}");
    // The corrected filter asks for the same.
    assert_eq!(search(&corrected, none()).0, ["müller"]);
    let exactly = Options::from([("correct", Variant::from(false))]);
    assert_eq!(search("Muellr", exactly), (Vec::new(), 0, String::new()));
    assert!(search("qqqqqq", none()).0.is_empty());
    for (text, options, error) in [
        ("name:(", none(), "BadFilter"),
        (
            "tea",
            Options::from([("sort", Variant::from("name"))]),
            "BadOption",
        ),
        (
            "tea",
            Options::from([("columns", Variant::from(vec!["nme"]))]),
            "BadColumn",
        ),
    ] {
        assert_eq!(
            client.refusal(&book, COLLECTION, "Search", &(text, options)),
            error
        );
    }
    // Calendars are searched too, in one rank.
    let calendar = client.collection("calendar");
    let event =
        "BEGIN:VEVENT\r\nUID:e\r\nSUMMARY:Tea time\r\nDTSTART:20261201T090000Z\r\nEND:VEVENT\r\n";
    client.save(&calendar, &[event.to_owned()]);
    let (rows, ..): Found = client
        .call(&calendar, COLLECTION, "Search", &("tea", none()))
        .unwrap();
    assert_eq!(rows.len(), 1);
}

/// A view is below the path of the service, and nobody else hears of it from the store's object
/// manager.
#[test]
fn views_are_below_the_services_path_and_of_their_client() {
    let service = Running::start();
    let (client, second) = (service.client(), service.client());
    let book = client.collection("contacts");
    let view: OwnedObjectPath = client
        .call(&book, COLLECTION, "OpenView", &("name:secret", none()))
        .unwrap();
    assert!(
        view.as_str().starts_with("/org/etui/Store1/view/"),
        "{view}"
    );
    let managed = |client: &Client, path: &str| -> Vec<String> {
        let found: zbus::fdo::ManagedObjects = client
            .call(
                path,
                "org.freedesktop.DBus.ObjectManager",
                "GetManagedObjects",
                &(),
            )
            .unwrap();
        assert!(!format!("{found:?}").contains("secret"), "{found:?}");
        found.keys().map(ToString::to_string).collect()
    };
    let views = "/org/etui/Store1/view";
    assert_eq!(managed(&client, views), [view.to_string()]);
    assert!(managed(&second, views).is_empty());
    for client in [&client, &second] {
        assert_eq!(managed(client, etui_dbus::STORE_PATH).len(), 3);
    }
    // It answers nobody else.
    let columns = vec!["uid"];
    assert_eq!(second.refusal(&view, VIEW, "Changes", &columns), "NotFound");
    let page = (0_u64, 10_u64, &columns);
    assert_eq!(second.refusal(&view, VIEW, "Load", &page), "NotFound");
    assert_eq!(second.refusal(&view, VIEW, "Close", &()), "NotFound");
    let get = (VIEW, "Filter");
    let properties = "org.freedesktop.DBus.Properties";
    assert_eq!(second.refusal(&view, properties, "Get", &get), "NotFound");
    assert_eq!(
        client.property::<String>(&view, VIEW, "Filter"),
        "name:secret"
    );
    client.call::<_, ()>(&view, VIEW, "Close", &()).unwrap();
    assert!(managed(&client, views).is_empty());
}

/// Every property says what a cache of it is worth, and what it says is true: no property is signalled.
#[test]
fn properties_say_that_they_are_constant_or_not_announced() {
    let service = Running::start();
    let client = service.client();
    let (book, calendar) = (client.collection("contacts"), client.collection("calendar"));
    let view: OwnedObjectPath = client
        .call(&book, COLLECTION, "OpenView", &("", none()))
        .unwrap();
    let paths = [
        etui_dbus::STORE_PATH,
        &book,
        &calendar,
        MEDIA_PATH,
        view.as_str(),
    ];
    let mut properties = 0;
    for path in paths {
        let xml: String = client
            .call(
                path,
                "org.freedesktop.DBus.Introspectable",
                "Introspect",
                &(),
            )
            .unwrap();
        let own = xml
            .split("<interface ")
            .filter(|part| part.starts_with("name=\"org.etui."));
        for interface in own {
            for property in interface.split("<property ").skip(1) {
                let property = property.split("</property>").next().unwrap();
                let says = ["const", "false"].iter().any(|value| {
                    property.contains(&format!("EmitsChangedSignal\" value=\"{value}\""))
                });
                assert!(says, "{path}: {property}");
                properties += 1;
            }
        }
    }
    assert!(properties >= 15, "{properties}");
}
