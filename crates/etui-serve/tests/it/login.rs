//! Passwords, and requests without one.

use std::time::{Duration, Instant};

use etui::Store;
use etui::store::DeviceAccess;
use etui_serve::{ServeError, ServeOptions, Server, StoreSource};

use crate::client::{TestServer, add_device, basic, card};

const CARD: &str = "/dav/addressbooks/1/ada.vcf";

#[test]
fn nothing_is_there_without_a_password() {
    let server = TestServer::start();
    let methods = [
        "GET", "HEAD", "PUT", "DELETE", "PROPFIND", "REPORT", "OPTIONS", "POST", "X",
    ];
    for path in [
        "/",
        "/dav/",
        "/dav/me/",
        CARD,
        "/contacts/1/1",
        "/nowhere",
        "//",
        "/dav/../",
    ] {
        for method in methods {
            let answer = server.stranger().ask(method, path, "");
            assert_eq!(answer.status, 401, "{method} {path}");
            let challenge = answer.header("www-authenticate").unwrap();
            assert_eq!(challenge, "Basic realm=\"etui\", charset=\"UTF-8\"");
        }
    }
}

#[test]
fn wrong_passwords_are_refused() {
    let server = TestServer::start_with(|options| options.limits.wrong_passwords = 1000);
    let good = server.password.clone();
    let other = format!("{}{}", &good[1..], &good[..1]);
    let bad = [
        String::new(),
        "Authorization: Basic\r\n".to_owned(),
        "Authorization: Bearer abc\r\n".to_owned(),
        basic("ada", ""),
        basic("ada", "password"),
        basic("ada", &good[1..]),
        basic("ada", &other),
        basic("", &other),
        basic(&good, "ada"),
        format!("{}{}", basic("ada", &good), basic("ada", &good)),
    ];
    for authorization in bad {
        let mut client = server.stranger();
        client.authorization = Some(authorization.clone());
        assert_eq!(
            client.ask("PROPFIND", "/dav/", "").status,
            401,
            "{authorization}"
        );
    }
    let line = server.wait_for_log("wrong-password");
    assert!(line.ends_with("from 127.0.0.1"), "{line}");
    assert!(!line.contains(&good[..4]), "{line}");
    // As a person types it.
    for password in [
        good.replace('-', ""),
        good.replace('-', " "),
        good.to_uppercase(),
    ] {
        let mut client = server.stranger();
        client.authorization = Some(basic("ada", &password));
        assert_eq!(client.ask("PROPFIND", "/dav/", "").status, 207);
    }
}

#[test]
fn answers_to_wrong_passwords_wait_and_others_do_not() {
    // A busy machine may take longer for anything.
    let waits = [400, 20_000].map(Duration::from_millis);
    assert!(waits.into_iter().any(only_wrong_passwords_wait));
}

/// Returns whether others are answered in less time than a wrong password has to wait.
fn only_wrong_passwords_wait(wait: Duration) -> bool {
    let server = TestServer::start_with(|options| {
        (
            options.limits.wrong_passwords,
            options.limits.wrong_password_wait,
        ) = (3, wait);
    });
    let fail = || {
        let mut client = server.stranger();
        client.authorization = Some(basic("ada", "0123-4567-89ab-cdef-ghjk-mnpq-rstv"));
        let begun = Instant::now();
        assert_eq!(client.get("/").status, 401);
        begun.elapsed()
    };
    for _ in 0..3 {
        fail();
    }
    assert!(fail() >= wait);
    // The device with the right one, at the same address, does not wait; nor does a request without any.
    std::thread::scope(|scope| {
        let failing = scope.spawn(fail);
        std::thread::sleep(wait / 8);
        let begun = Instant::now();
        assert_eq!(server.client().get("/").status, 200);
        assert_eq!(server.stranger().get("/").status, 401);
        let is_in_time = begun.elapsed() < wait / 2;
        assert!(failing.join().unwrap() >= wait);
        is_in_time
    })
}

#[test]
fn a_removed_device_is_refused_at_once() {
    let server = TestServer::start();
    let mut client = server.client();
    assert_eq!(client.ask("PROPFIND", "/dav/", "").status, 207);
    let store = Store::open(server.path("ada.etui")).unwrap();
    store.devices().remove("Phone").unwrap();
    assert_eq!(client.ask("PROPFIND", "/dav/", "").status, 401);
    let password = store
        .devices()
        .add("Tablet", &DeviceAccess::default())
        .unwrap();
    client.authorization = Some(basic("ada", &password.to_string()));
    assert_eq!(client.ask("PROPFIND", "/dav/", "").status, 207);
}

#[test]
fn well_known_addresses_lead_to_the_root() {
    let server = TestServer::start();
    for path in [
        "/.well-known/caldav",
        "/.well-known/carddav",
        "/.well-known/carddav/",
    ] {
        for method in ["GET", "HEAD", "PROPFIND", "OPTIONS", "PUT", "REPORT"] {
            let answer = server.stranger().ask(method, path, "");
            assert_eq!(answer.status, 301, "{method} {path}");
            assert_eq!(answer.header("location"), Some("/dav/"));
        }
    }
    let answer = server.client().ask("PROPFIND", "/dav", "");
    assert_eq!(
        (answer.status, answer.header("location")),
        (301, Some("/dav/"))
    );
    assert_eq!(server.stranger().get("/.well-known/other").status, 401);
}

#[test]
fn a_read_only_device_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let access = DeviceAccess {
        is_read_only: true,
        only: None,
        ..DeviceAccess::default()
    };
    let path = dir.path().join("ada.etui");
    let password = add_device(&path, "Frame", &access);
    let server = TestServer::start_in(dir, password, |_| {});
    let answer = server.client().ask("PUT", CARD, &card("ada", "Ada"));
    assert_eq!(answer.status, 403);
    assert_eq!(
        Store::open(&path)
            .unwrap()
            .contacts()
            .unwrap()
            .count()
            .unwrap(),
        0
    );
}

#[test]
fn passwords_never_cross_a_network_in_the_clear() {
    let dir = tempfile::tempdir().unwrap();
    let options = |address: &str| {
        let store = dir.path().join("ada.etui");
        let mut options = ServeOptions::new(StoreSource::One(store));
        options.listen = vec![address.parse().unwrap()];
        options
    };
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let refused = Server::bind(options(address)).err().unwrap();
        assert!(matches!(refused, ServeError::Unencrypted(_)), "{refused}");
    }
    // Nothing was made.
    assert_eq!(dir.path().read_dir().unwrap().count(), 0);
    for address in ["127.0.0.1:0", "127.0.0.2:0"] {
        Server::bind(options(address)).unwrap();
    }
    let mut behind = options("0.0.0.0:0");
    behind.behind_proxy = true;
    Server::bind(behind).unwrap();
}

#[test]
fn a_proxy_names_the_client() {
    let server = TestServer::start_with(|options| options.behind_proxy = true);
    let mut client = server.stranger();
    let authorization = basic("ada", "wrong");
    client.authorization = Some(format!(
        "{authorization}X-Forwarded-For: 198.51.100.1\r\nX-Forwarded-For: 198.51.100.2, 203.0.113.9\r\n"
    ));
    assert_eq!(client.get("/").status, 401);
    let line = server.wait_for_log("wrong-password");
    assert!(line.ends_with("from 203.0.113.9"), "{line}");
}
