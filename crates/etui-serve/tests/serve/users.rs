//! A directory of stores: each user sees their own, whatever path is asked for.

use etui::Store;
use etui::contacts::Card;
use etui::store::DeviceAccess;
use etui_serve::StoreSource;

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
