//! A directory of stores: each user sees their own, whatever path is asked for.

use etui::Store;
use etui::contacts::Card;
use etui::store::DeviceAccess;
use etui_serve::StoreSource;
use etui_testkit::wait::wait_for;

use crate::client::{TestServer, add_device, basic, card};

/// A family of two, each with a contact.
fn family() -> (TestServer, [String; 2]) {
    let dir = tempfile::tempdir().unwrap();
    let passwords = ["ada", "bob"].map(|user| {
        let path = dir.path().join(format!("{user}.etui"));
        let store = Store::open(&path).unwrap();
        let secret = Card::parse(card("secret", &format!("Secret of {user}"))).unwrap();
        store.contacts().unwrap().save(&secret).unwrap();
        store.close().unwrap();
        add_device(&path, "Phone", &DeviceAccess::default())
    });
    std::fs::write(dir.path().join("secret.txt"), "Secret of the directory").unwrap();
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    let users = dir.path().to_owned();
    let server = TestServer::start_in(dir, passwords[0].clone(), |options| {
        options.source = StoreSource::Users(users);
        options.limits.wrong_passwords = 1000;
    });
    (server, passwords)
}

#[test]
fn each_user_has_a_root() {
    let (server, [_, bob]) = family();
    for path in ["/dav/", "/dav", "/dav/ada"] {
        let answer = server.client().ask("PROPFIND", path, "");
        assert_eq!(
            (answer.status, answer.header("location")),
            (301, Some("/dav/ada/")),
            "{path}"
        );
    }
    assert_eq!(server.client().ask("PROPFIND", "/dav/ada/", "").status, 207);
    let mut client = server.stranger();
    client.authorization = Some(basic("bob", &bob));
    assert_eq!(client.ask("PROPFIND", "/dav/bob/", "").status, 207);
    assert_eq!(
        client
            .ask("PUT", "/dav/bob/addressbooks/1/n.vcf", &card("n", "N"))
            .status,
        201
    );
    let line = server.wait_for_log(" PUT ");
    assert!(line.contains(" bob/Phone PUT "), "{line}");
    // Stores that come later are served too.
    let path = server.path("eve.etui");
    let eve = add_device(&path, "Phone", &DeviceAccess::default());
    client.authorization = Some(basic("eve", &eve));
    assert_eq!(client.ask("PROPFIND", "/dav/eve/", "").status, 207);
}

#[test]
fn a_password_opens_only_its_own_store() {
    let (server, [ada, bob]) = family();
    let wrong = [
        ("ada", bob.as_str()),
        ("bob", ada.as_str()),
        ("", &ada),
        ("Ada", &ada),
        ("ada.etui", &ada),
        ("./ada", &ada),
        ("sub/../ada", &ada),
        ("../x/ada", &ada),
        ("ada\0", &ada),
        ("eve", &ada),
        ("sub", &ada),
        ("secret.txt", &ada),
    ];
    for (user, password) in wrong {
        let mut client = server.stranger();
        client.authorization = Some(basic(user, password));
        assert_eq!(
            client.ask("PROPFIND", "/dav/ada/", "").status,
            401,
            "{user}"
        );
    }
    // Nothing was made.
    let mut names: Vec<_> = server
        .dir
        .path()
        .read_dir()
        .unwrap()
        .map(|f| f.unwrap().file_name())
        .collect();
    names.retain(|name| name.to_string_lossy().ends_with(".etui"));
    names.sort();
    assert_eq!(names, ["ada.etui", "bob.etui"]);
}

#[test]
fn no_path_leads_to_another_user() {
    let (server, _) = family();
    let paths = [
        "/dav/bob/",
        "/dav/bob/addressbooks/1/",
        "/dav/bob/addressbooks/1/secret.vcf",
        "/dav/ada/../bob/addressbooks/1/secret.vcf",
        "/dav/ada/%2e%2e/bob/addressbooks/1/secret.vcf",
        "/dav/ada/..%2fbob/addressbooks/1/secret.vcf",
        "/dav/ada//bob/addressbooks/1/secret.vcf",
        "/dav//bob/",
        "//dav/bob/",
        "/dav/./bob/",
        "/dav/ada%2f..%2fbob/",
        "/dav/ada/..\\bob/",
        "/dav/%62ob/",
        "/dav/bob%00/",
        "/../secret.txt",
        "/secret.txt",
        "/dav/ada/secret.txt",
        "/dav/ada/../secret.txt",
        "http://localhost/dav/bob/addressbooks/1/",
        "/contacts/1/../../dav/bob/",
        "/.well-known/../dav/bob/",
    ];
    for path in paths {
        for method in [
            "GET", "PROPFIND", "REPORT", "PUT", "DELETE", "MKCOL", "MOVE", "OPTIONS",
        ] {
            let mut client = server.client();
            let body = match method {
                "PUT" => card("evil", "Evil"),
                _ => String::new(),
            };
            let lines = format!(
                "Content-Length: {}\r\nDepth: 1\r\nDestination: /dav/bob/addressbooks/1/evil.vcf\r\n",
                body.len()
            );
            client.send_head(method, path, &lines).unwrap();
            client.send(body.as_bytes()).unwrap();
            let answer = client.read_answer(false).unwrap();
            let text = String::from_utf8_lossy(&answer.body);
            assert!(
                !text.contains("Secret of bob") && !text.contains("directory"),
                "{method} {path}"
            );
            assert!(!text.contains("/dav/bob"), "{method} {path}: {text}");
        }
    }
    // Ada's contact cannot be moved over to Bob.
    let mut client = server.client();
    let lines = "Destination: /dav/bob/addressbooks/1/evil.vcf\r\n";
    client
        .send_head("MOVE", "/dav/ada/addressbooks/1/etui-1.vcf", lines)
        .unwrap();
    assert!(client.read_answer(false).unwrap().status >= 400);
    for user in ["ada", "bob"] {
        let store = Store::open(server.path(&format!("{user}.etui"))).unwrap();
        let book = store.contacts().unwrap();
        assert_eq!(book.count().unwrap(), 1, "{user}");
        assert!(book.get("secret").unwrap().is_some(), "{user}");
    }
}

#[test]
fn more_stores_than_may_be_open_are_served() {
    let dir = tempfile::tempdir().unwrap();
    let users: Vec<(String, String)> = (0..6)
        .map(|n| {
            let user = format!("user{n}");
            let path = dir.path().join(format!("{user}.etui"));
            let password = add_device(&path, "Phone", &DeviceAccess::default());
            (user, password)
        })
        .collect();
    let source = dir.path().to_owned();
    let server = TestServer::start_in(dir, String::new(), |options| {
        options.source = StoreSource::Users(source);
        options.limits.open_stores = 2;
    });
    for round in 0..3 {
        for (user, password) in &users {
            let mut client = server.stranger();
            client.authorization = Some(basic(user, password));
            let uid = format!("c{round}");
            let path = format!("/dav/{user}/addressbooks/1/{uid}.vcf");
            assert_eq!(client.ask("PUT", &path, &card(&uid, user)).status, 201);
        }
    }
    for (user, _) in &users {
        let store = Store::open(server.path(&format!("{user}.etui"))).unwrap();
        assert_eq!(store.contacts().unwrap().count().unwrap(), 3);
    }
}

#[test]
fn a_replaced_store_is_opened_again() {
    let (server, [ada, _]) = family();
    let mut client = server.client();
    let book = "/dav/ada/addressbooks/1/";
    assert_eq!(client.ask("PROPFIND", book, "").status, 207);
    let backup = server.path("backup.etui");
    let password = add_device(&backup, "Tablet", &DeviceAccess::default());
    let (store, former) = (server.path("ada.etui"), server.path("former"));
    let first = format!("{book}first.vcf");
    assert_eq!(client.ask("PUT", &first, &card("first", "F")).status, 201);
    // While there is a log of the former file, the new one is not opened: the two would be mixed.
    let log = server.path("ada.etui-wal");
    assert!(log.exists());
    std::fs::rename(&store, &former).unwrap();
    std::fs::copy(&backup, &store).unwrap();
    assert_eq!(client.ask("PROPFIND", book, "").status, 503);
    server.wait_for_log("the file of the store was replaced while it was in use");
    // The former file comes back, and nothing is lost.
    std::fs::rename(&former, &store).unwrap();
    assert_eq!(client.get(&first).text(), card("first", "F"));
    // A backup takes its place, with another password.
    let last = format!("{book}last.vcf");
    assert_eq!(client.ask("PUT", &last, &card("last", "L")).status, 201);
    std::fs::rename(&backup, &store).unwrap();
    assert_eq!(client.ask("PROPFIND", book, "").status, 503);
    std::fs::remove_file(log).unwrap();
    // A request that is answered may use the former file for a moment: nothing is opened until it is closed.
    wait_for("the new file", || {
        let status = client.ask("PROPFIND", book, "").status;
        assert!([401, 503].contains(&status), "{status}");
        (status == 401).then_some(())
    });
    client.authorization = Some(basic("ada", &password));
    let new = format!("{book}new.vcf");
    assert_eq!(client.ask("PUT", &new, &card("new", "New")).status, 201);
    let saved = Store::open(&store).unwrap();
    assert!(saved.contacts().unwrap().get("new").unwrap().is_some());
    saved.close().unwrap();
    // A file that is gone has no users, and no other takes its place.
    std::fs::remove_file(&store).unwrap();
    assert_eq!(client.ask("PROPFIND", book, "").status, 401);
    client.authorization = Some(basic("ada", &ada));
    assert_eq!(client.ask("PROPFIND", book, "").status, 401);
    assert!(!store.exists());
}

#[test]
fn the_one_store_is_not_made_again_when_it_goes() {
    let server = TestServer::start();
    let mut client = server.client();
    assert_eq!(client.get("/").status, 200);
    std::fs::remove_file(server.path("ada.etui")).unwrap();
    let answer = client.get("/");
    assert_eq!(answer.status, 503);
    assert!(!server.path("ada.etui").exists());
    let line = server.wait_for_log("error:");
    assert!(line.ends_with("the file of the store is gone"), "{line}");
}

#[test]
fn refusals_take_the_same_time_for_users_who_do_not_exist() {
    let (server, _) = family();
    let least = std::time::Duration::from_millis(100);
    for user in ["ada", "bob", "nobody", "../ada"] {
        for _ in 0..2 {
            let mut client = server.stranger();
            client.authorization = Some(basic(user, "0123-4567-89ab-cdef-ghjk-mnpq-rstv"));
            let begun = std::time::Instant::now();
            assert_eq!(client.get("/").status, 401);
            assert!(begun.elapsed() >= least, "{user}");
        }
    }
}

#[test]
fn names_of_devices_are_one_word_in_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ada.etui");
    let name = "x PUT - 200 \u{202e}";
    let password = add_device(&path, name, &DeviceAccess::default());
    let server = TestServer::start_in(dir, password, |_| {});
    assert_eq!(server.client().get("/").status, 200);
    let line = server.wait_for_log(" GET ");
    assert!(
        line.contains(r#" "x PUT - 200 \u{202e}" GET page 200 "#),
        "{line}"
    );
}
