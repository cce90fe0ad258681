//! The server as a process: answers, stops, is killed, and is used by vdirsyncer.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use etui::Store;
use etui_testkit::wait::{LIMIT, wait_until};
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::TestHome;
use crate::vdir::is_installed;

/// A server in a process of its own.
pub struct ServerProcess {
    child: Child,
    /// Its lines on standard output: the address, and with TLS the fingerprints of certificate and authority.
    printed: Vec<String>,
    pub port: u16,
}

impl ServerProcess {
    pub fn start(home: &TestHome, args: &[&str]) -> Self {
        let mut child = home
            .command("etui")
            .args(["serve", "--listen", "0"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let is_encrypted = args.contains(&"--tls");
        let printed: Vec<String> = (0..1 + 2 * usize::from(is_encrypted))
            .map(|_| lines.next().unwrap().unwrap())
            .collect();
        let address = printed[0].strip_prefix("Serving on ").unwrap();
        let port = address.trim_end_matches('/').rsplit(':').next().unwrap();
        let port = port.parse().unwrap();
        Self {
            child,
            printed,
            port,
        }
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).unwrap();
    }

    /// Waits for its end; returns its exit code and its log.
    pub fn wait(mut self) -> (Option<i32>, String) {
        let mut log = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut log)
            .unwrap();
        (self.child.wait().unwrap().code(), log)
    }
}

/// A connection that sends a password.
struct Connection {
    stream: BufReader<TcpStream>,
    authorization: String,
}

impl Connection {
    fn open(port: u16, password: &str) -> std::io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(LIMIT))?;
        Ok(Self {
            stream: BufReader::new(stream),
            authorization: format!(
                "Authorization: Basic {}\r\n",
                base64(&format!("me:{password}"))
            ),
        })
    }

    /// Sends a request; returns the status and the body.
    fn ask(&mut self, method: &str, path: &str, body: &str) -> std::io::Result<(u16, String)> {
        let (authorization, length) = (&self.authorization, body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\n{authorization}Content-Length: {length}\r\n\r\n{body}"
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let (mut status, mut length) = (0, 0);
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(rest) = line.strip_prefix("http/1.1 ") {
                status = rest[..3].parse().unwrap();
            } else if let Some(rest) = line.strip_prefix("content-length: ") {
                length = rest.parse().unwrap();
            } else if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok((status, String::from_utf8(body).unwrap()))
    }
}

/// Encodes in base64 (RFC 4648).
fn base64(text: &str) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for part in text.as_bytes().chunks(3) {
        let bits = part
            .iter()
            .fold(0u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - part.len()));
        for n in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * n)) as usize & 63];
            out.push(if n > part.len() { '=' } else { digit.into() });
        }
    }
    out
}

/// Adds a device; returns its password.
fn add_device(home: &TestHome) -> String {
    let (json, code) = home.run("etui serve add-device Phone --json");
    assert_eq!(code, Some(0), "{json}");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    json["password"].as_str().unwrap().to_owned()
}

fn card(uid: &str) -> String {
    format!(
        "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nFN:Name {uid}\r\nN:{uid};;;;\r\nEND:VCARD\r\n"
    )
}

/// The store of a home.
fn store_of(home: &TestHome) -> Store {
    Store::open(Path::new(&home.path(".local/share/etui/personal.etui"))).unwrap()
}

/// The path of the first address book.
fn book_path(home: &TestHome) -> String {
    let id = store_of(home).contacts().unwrap().id();
    format!("/dav/addressbooks/{id}/")
}

#[test]
fn a_server_answers_and_stops() {
    for signal in [Signal::TERM, Signal::INT] {
        let home = TestHome::new();
        let password = add_device(&home);
        let book = book_path(&home);
        let server = ServerProcess::start(&home, &[]);
        let mut phone = Connection::open(server.port, &password).unwrap();
        let path = format!("{book}a.vcf");
        assert_eq!(phone.ask("PUT", &path, &card("a")).unwrap().0, 201);
        assert_eq!(phone.ask("GET", &path, "").unwrap(), (200, card("a")));
        // Other commands work meanwhile, and see it.
        let (list, _) = home.run("etui contacts list --quiet");
        assert!(list.contains("Name a"), "{list}");
        server.signal(signal);
        let (code, log) = server.wait();
        assert_eq!(code, Some(0), "{log}");
        let lines: Vec<_> = log.lines().collect();
        assert_eq!(lines.len(), 2, "{log}");
        // A line is written when its answer has been sent; the next answer may be faster.
        let put = lines.iter().find(|line| line.contains(" Phone PUT "));
        assert!(put.is_some_and(|line| line.contains(" 201 ")), "{log}");
        assert!(!log.contains("a.vcf") && !log.contains(&password), "{log}");
        assert_eq!(home.run("etui check --quiet"), (String::new(), Some(0)));
    }
}

/// What a device did is undone, and what others changed since is kept.
#[test]
fn the_changes_of_a_device_are_undone() {
    let home = TestHome::with_people();
    let password = add_device(&home);
    let book = book_path(&home);
    let server = ServerProcess::start(&home, &[]);
    let mut phone = Connection::open(server.port, &password).unwrap();
    let again = card("k").replace("Name k", "Another name");
    for (method, name, text, status) in [
        ("PUT", "n", card("n"), 201),
        ("PUT", "m", card("m"), 201),
        ("DELETE", "m", String::new(), 204),
        ("PUT", "k", card("k"), 201),
        ("PUT", "k", again, 204),
    ] {
        let answer = phone.ask(method, &format!("{book}{name}.vcf"), &text);
        assert_eq!(answer.unwrap().0, status, "{method} {name}");
    }
    server.signal(Signal::TERM);
    server.wait();
    home.run("etui contacts edit -q n --set note=here");
    let (text, _) = home.run("etui undo --device phone --since yesterday --dry-run | grep -c Phone; etui undo --device Phone --since yesterday");
    assert!(text.starts_with("5\n"), "{text}");
    for line in [
        "changed back: ",
        "removed: 8 Name k",
        "restored: 6 Name m",
        "removed: 6 Name m",
        "kept, changed since: 5 Name n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let (text, code) = home.run("etui undo --device Phone; etui contacts list --fields uid");
    assert!(
        text.contains("kept, changed since: 5"),
        "the step with the kept record is left: {text}"
    );
    for (uid, is_there) in [
        ("\nanna\n", true),
        ("\nn\n", true),
        ("\nm\n", false),
        ("\nk\n", false),
    ] {
        assert_eq!(text.contains(uid), is_there, "{text}");
    }
    assert_eq!(code, Some(0));
}

#[test]
fn a_certificate_is_made_once() {
    let home = TestHome::new();
    let server = ServerProcess::start(&home, &["--tls"]);
    assert!(
        server.printed[0].starts_with("Serving on https://127.0.0.1:"),
        "{:?}",
        server.printed
    );
    let server_lines = server.printed.clone();
    server.signal(Signal::TERM);
    server.wait();
    assert!(
        server_lines[1].starts_with("Certificate (SHA-256): "),
        "{server_lines:?}"
    );
    assert!(
        server_lines[2].starts_with("Its authority (SHA-256): "),
        "{server_lines:?}"
    );
    let key = home.path(".config/etui/serve-key.pem");
    let first = std::fs::read(&key).unwrap();
    assert_eq!(key.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let server = ServerProcess::start(&home, &["--tls"]);
    server.signal(Signal::TERM);
    server.wait();
    assert_eq!(std::fs::read(&key).unwrap(), first);
}

/// The number of kills: 5, 50 with `ETUI_TEST_LONG=1`, or `ETUI_KILLS`.
fn kills() -> u32 {
    match std::env::var("ETUI_KILLS") {
        Ok(kills) => kills.parse().unwrap(),
        Err(_) if std::env::var_os("ETUI_TEST_LONG").is_some() => 50,
        Err(_) => 5,
    }
}

#[test]
fn what_was_answered_is_there_after_a_kill() {
    let home = TestHome::new();
    let password = add_device(&home);
    let book = book_path(&home);
    let mut answered: Vec<String> = Vec::new();
    for round in 0..kills() {
        let server = ServerProcess::start(&home, &[]);
        let (port, is_over, count) = (server.port, AtomicBool::new(false), AtomicUsize::new(0));
        let now: Vec<String> = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|writer| {
                    let (password, book) = (&password, &book);
                    let (is_over, count) = (&is_over, &count);
                    scope.spawn(move || {
                        let mut answered = Vec::new();
                        let Ok(mut phone) = Connection::open(port, password) else {
                            return answered;
                        };
                        for n in 0..1000 {
                            let uid = format!("r{round}-w{writer}-{n}");
                            match phone.ask("PUT", &format!("{book}{uid}.vcf"), &card(&uid)) {
                                Ok((status, _)) => assert_eq!(status, 201),
                                Err(_) => return answered,
                            }
                            answered.push(uid);
                            count.fetch_add(1, Ordering::Relaxed);
                            if is_over.load(Ordering::Relaxed) {
                                return answered;
                            }
                        }
                        answered
                    })
                })
                .collect();
            // In the midst of the requests, each time elsewhere.
            let least = 1 + (round as usize * 37) % 100;
            wait_until("requests are answered", || {
                count.load(Ordering::Relaxed) >= least
            });
            server.signal(Signal::KILL);
            is_over.store(true, Ordering::Relaxed);
            writers
                .into_iter()
                .flat_map(|writer| writer.join().unwrap())
                .collect()
        });
        assert!(!now.is_empty(), "round {round}: nothing was answered");
        answered.extend(now);
        assert_eq!(server.wait().0, None);
        let store = store_of(&home);
        let contacts = store.contacts().unwrap();
        for uid in &answered {
            let found = contacts.get(uid).unwrap();
            assert_eq!(
                found.unwrap().text,
                card(uid).into_bytes(),
                "round {round}: {uid}"
            );
        }
        store.close().unwrap();
    }
    assert_eq!(home.run("etui check --quiet"), (String::new(), Some(0)));
}

#[test]
fn vdirsyncer_copies_and_changes_records_over_tls() {
    if !is_installed("vdirsyncer") {
        return;
    }
    let home = TestHome::with_people();
    let password = add_device(&home);
    let server = ServerProcess::start(&home, &["--tls"]);
    // It trusts the certificate by the fingerprint that the server prints.
    let fingerprint = server.printed[1].rsplit(' ').next().unwrap();
    let config = format!(
        "[general]\nstatus_path = \"~/status/\"\n[pair p]\na = \"x\"\nb = \"y\"\ncollections = [\"from b\"]\n\
         [storage x]\ntype = \"filesystem\"\npath = \"~/books\"\nfileext = \".vcf\"\n\
         [storage y]\ntype = \"carddav\"\nurl = \"https://127.0.0.1:{}/\"\nusername = \"me\"\n\
         password = \"{password}\"\nverify_fingerprint = \"{fingerprint}\"\n",
        server.port
    );
    std::fs::write(home.path("vdirsyncer.conf"), config).unwrap();
    let sync = "vdirsyncer -c vdirsyncer.conf sync";
    let (text, _) = home.run(&format!(
        "yes | vdirsyncer -c vdirsyncer.conf discover; {sync}"
    ));
    let folder = std::fs::read_dir(home.path("books")).unwrap().next();
    let folder = folder.unwrap_or_else(|| panic!("{text}")).unwrap().path();
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 4, "{text}");
    // A new file, and one that is gone.
    std::fs::write(folder.join("new.vcf"), card("new")).unwrap();
    let bob = std::fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let mut bob =
        bob.filter(|file| std::fs::read_to_string(file).is_ok_and(|text| text.contains("UID:bob")));
    std::fs::remove_file(bob.next().unwrap()).unwrap();
    let (text, code) = home.run(sync);
    assert_eq!(code, Some(0), "{text}");
    server.signal(Signal::TERM);
    let (code, log) = server.wait();
    assert_eq!(code, Some(0), "{log}");
    let store = store_of(&home);
    let contacts = store.contacts().unwrap();
    assert_eq!(
        contacts.get("new").unwrap().unwrap().text,
        card("new").into_bytes()
    );
    assert!(contacts.get("bob").unwrap().is_none(), "{text} {log}");
    assert_eq!(contacts.count().unwrap(), 4);
}
