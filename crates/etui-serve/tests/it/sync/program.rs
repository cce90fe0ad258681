//! The program: certificates, passwords, a full disk, two runs at once.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use etui::Store;
use etui::calendar::CalendarObject;
use etui::contacts::Card;
use etui::store::CollectionKey;
use etui_serve::OwnCertificate;

use super::http::serve_http;
use super::place::texts;
use crate::client::TestServer;

/// Runs `etui sync` with words in a home; `on_line` is given the lines of standard error. Returns all that it
/// wrote, and its exit status.
pub fn run_with(
    home: &Path,
    words: &[&str],
    on_line: &mut dyn FnMut(&str),
) -> (String, Option<i32>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_etui-serve"))
        .args(["sync", "--store"])
        .arg(home.join("p.etui"))
        .args(words)
        .env("HOME", home)
        .env("PATH", "/nowhere")
        .env_remove("DBUS_SESSION_BUS_ADDRESS")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let errors = BufReader::new(child.stderr.take().unwrap());
    for line in errors.lines().map(Result::unwrap) {
        on_line(&line);
        said.push_str(&line);
        said.push('\n');
    }
    let output = child.wait_with_output().unwrap();
    said.push_str(&String::from_utf8(output.stdout).unwrap());
    (said, output.status.code())
}

fn run(home: &Path, words: &[&str]) -> (String, Option<i32>) {
    run_with(home, words, &mut |_| {})
}

fn write_password(home: &Path, password: &str) -> String {
    let path = home.join("password");
    std::fs::write(&path, password).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&path, mode).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_certificate_of_its_own_is_taken_by_its_fingerprint_alone() {
    let (certificates, others) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let names = ["127.0.0.1".to_owned()];
    let files = OwnCertificate::ensure(certificates.path(), "pc", &names)
        .unwrap()
        .files;
    let server = TestServer::start_with(|options| options.tls = Some(files));
    let home = tempfile::tempdir().unwrap();
    let password = write_password(home.path(), &server.password);
    let url = format!("https://{}/", server.address);
    let fingerprint = server.fingerprint.clone().unwrap();
    let add = [
        "add",
        &url,
        "--name",
        "s",
        "--user",
        "ada",
        "--password-file",
        &password,
    ];
    let (said, code) = run(home.path(), &add);
    assert!(code == Some(1) && said.contains(&fingerprint), "{said}");
    // One digit off.
    let wrong = fingerprint
        .replacen(|c: char| c.is_ascii_hexdigit(), "x", 1)
        .replace('x', "0");
    let wrong = if wrong == fingerprint {
        fingerprint.replacen('0', "1", 1)
    } else {
        wrong
    };
    let (said, code) = run(
        home.path(),
        &[&add[..], &["--certificate", &wrong]].concat(),
    );
    assert!(code == Some(1) && said.contains("certificate"), "{said}");
    let (said, code) = run(
        home.path(),
        &[&add[..], &["--certificate", &fingerprint]].concat(),
    );
    assert!(code == Some(0) && said.contains("in step"), "{said}");
    // Somebody else answers at the address: not a byte of the password goes there.
    let files = OwnCertificate::ensure(others.path(), "pc", &names)
        .unwrap()
        .files;
    let address = server.address;
    drop(server);
    let other = TestServer::start_with(|options| {
        options.tls = Some(files);
        options.listen = vec![address];
    });
    let (said, code) = run(home.path(), &[]);
    assert!(code == Some(1) && said.contains("certificate"), "{said}");
    assert!(
        !other
            .log
            .lock()
            .unwrap()
            .iter()
            .any(|line| line.contains("ada"))
    );
}

#[test]
fn wrong_passwords_and_addresses_say_so_and_leave_nothing() {
    let server = TestServer::start();
    let home = tempfile::tempdir().unwrap();
    let password = write_password(home.path(), "wrong");
    let good = format!("http://{}/", server.address);
    let add = |url: &str| {
        run(
            home.path(),
            &["add", url, "--user", "ada", "--password-file", &password],
        )
    };
    let (said, code) = add(&good);
    assert!(
        code == Some(1) && said.contains("does not take this user and password"),
        "{said}"
    );
    let (said, code) = add("http://127.0.0.1:9/");
    assert!(
        code == Some(1) && said.contains("cannot be reached"),
        "{said}"
    );
    let (said, code) = add("ftp://127.0.0.1/");
    assert!(
        code == Some(2) && said.contains("not an address of a server"),
        "{said}"
    );
    let (said, code) = run(home.path(), &["status"]);
    assert!(code == Some(0) && said.contains("No accounts"), "{said}");
}

#[test]
fn a_full_disk_loses_nothing_and_the_next_run_goes_on() {
    let server = TestServer::start();
    let there = Store::open(server.path("ada.etui")).unwrap();
    let contacts = there.contacts().unwrap();
    for n in 0..400 {
        let note = format!("{n} ").repeat(200);
        let card = format!(
            "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:u{n}\r\nFN:Person {n}\r\nNOTE:{note}\r\nEND:VCARD\r\n"
        );
        contacts.save(&Card::parse(card).unwrap()).unwrap();
    }
    let home = tempfile::tempdir().unwrap();
    let password = write_password(home.path(), &server.password);
    let url = format!("http://{}/", server.address);
    let add = [
        "add",
        &url,
        "--name",
        "s",
        "--user",
        "ada",
        "--password-file",
        &password,
        "--no-sync",
    ];
    let (said, code) = run(home.path(), &add);
    assert_eq!(code, Some(0), "{said}");
    // 512 KiB, in blocks of 512 bytes: less than the texts. The limit of a file has the effect of a full disk.
    let full = Command::new("/bin/sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 1024; exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_etui-serve"))
        .args(["sync", "--store"])
        .arg(home.path().join("p.etui"))
        .env("HOME", home.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&full.stderr).into_owned();
    assert!(
        full.status.code() == Some(1) && !said.contains("panicked"),
        "{said}"
    );
    let (said, code) = run(home.path(), &[]);
    assert_eq!(code, Some(0), "{said}");
    let here = Store::open(home.path().join("p.etui")).unwrap();
    assert_eq!(texts::<Card>(&here), texts::<Card>(&there));
    assert_eq!(texts::<Card>(&here).len(), 400);
}

#[test]
fn two_runs_at_once_do_not_both_send() {
    let server = TestServer::start();
    let home = tempfile::tempdir().unwrap();
    let password = write_password(home.path(), &server.password);
    let url = format!("http://{}/", server.address);
    let add = [
        "add",
        &url,
        "--name",
        "s",
        "--user",
        "ada",
        "--password-file",
        &password,
    ];
    run(home.path(), &add);
    let lock = home.path().join("p.etui-sync.lock");
    let file = std::fs::File::open(lock).unwrap();
    file.lock().unwrap();
    let (said, code) = run(home.path(), &[]);
    assert!(
        code == Some(1) && said.contains("another etui sync is running"),
        "{said}"
    );
    drop(file);
    let (said, code) = run(home.path(), &[]);
    assert!(code == Some(0) && said.contains("in step"), "{said}");
}

#[test]
fn a_subscription_that_fails_is_told_once_and_stays_as_it_is() {
    let published = Arc::new(Mutex::new((200, String::new())));
    let text = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nX-WR-CALNAME:Holidays\r\nBEGIN:VEVENT\r\nUID:h1\r\n\
                DTSTAMP:20261101T000000Z\r\nDTSTART;VALUE=DATE:20261225\r\nSUMMARY:Christmas\r\nEND:VEVENT\r\n\
                END:VCALENDAR\r\n";
    published.lock().unwrap().1 = text.to_owned();
    let served = Arc::clone(&published);
    let address = serve_http(move |_| {
        let (status, text) = served.lock().unwrap().clone();
        (status, String::new(), text)
    });
    let home = tempfile::tempdir().unwrap();
    let url = format!("webcal://{address}/holidays.ics");
    // Nothing speaks TLS there: the address without it is tried.
    let (said, code) = run(home.path(), &["subscribe", &url]);
    assert!(
        code == Some(0) && said.contains("Holidays: 1 added here"),
        "{said}"
    );
    let (said, code) = run(home.path(), &["subscribe", &url]);
    assert!(
        code != Some(0) && said.contains("subscribed to already"),
        "{said}"
    );
    *published.lock().unwrap() = (404, String::new());
    let runs = [0; 3].map(|_| run(home.path(), &[]));
    assert_eq!(
        runs.each_ref().map(|(_, code)| *code),
        [Some(1), Some(0), Some(0)]
    );
    assert!(runs[0].0.contains("stays as it is") && runs[1].0.contains("as before"));
    // Another reason is news.
    *published.lock().unwrap() = (200, "<html>".to_owned());
    assert_eq!(run(home.path(), &[]).1, Some(1));
    *published.lock().unwrap() = (200, text.to_owned());
    let (said, code) = run(home.path(), &[]);
    assert!(
        code == Some(0) && said.contains("Holidays: in step"),
        "{said}"
    );
    let here = Store::open(home.path().join("p.etui")).unwrap();
    let calendar = here.collection::<CalendarObject>(CollectionKey::Name("Holidays"));
    assert_eq!(calendar.unwrap().count().unwrap(), 1);
    // A server's address is told apart.
    let password = write_password(home.path(), "p");
    let url = format!("http://{address}/x.ics");
    let add = ["add", &url, "--user", "a", "--password-file", &password];
    let (said, code) = run(home.path(), &add);
    assert!(
        code == Some(1) && said.contains("etui calendars subscribe"),
        "{said}"
    );
}
