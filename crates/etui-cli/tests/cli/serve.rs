//! `etui serve` over HTTP: devices, and the server as a process, also when it is killed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use etui::Store;
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{TestHome, session};
use crate::terminal::TerminalSession;

/// Hides passwords and times, which differ in each run.
const HIDE: &str = "sed -E 's/[0-9a-hjkmnp-tv-z]{4}(-[0-9a-hjkmnp-tv-z]{4}){6}/PASSWORD/g; \
                    s/20[0-9]{2}-[0-9-]+ [0-9:]+/YYYY-MM-DD HH:MM/g; s/20[0-9T:-]+[+][0-9:]+/TIME/g'";

#[test]
fn help_teaches() {
    let home = TestHome::new();
    session!(home, ["etui serve --help"], @"");
    session!(home, ["etui serve add-device --help | sed '/^Global/,/^$/d'"], @"");
    session!(home, ["etui serve devices --help | sed '/^Global/,/^$/d'"], @"");
    session!(home, ["etui serve remove-device --help | sed '/^Global/,/^$/d'"], @"");
}

#[test]
fn devices_are_added_listed_and_removed() {
    let home = TestHome::with_people();
    session!(home, [
        "etui serve devices",
        &format!("etui serve add-device Laptop | {HIDE}"),
        &format!("etui serve add-device Phone --url https://dav.example.org | {HIDE}"),
        &format!("etui serve add-device Frame --read-only --only Calendar --json | {HIDE}"),
        &format!("etui serve devices | {HIDE}"),
        &format!("etui serve devices --json | {HIDE}"),
        "etui serve remove-device Laptop",
        "etui serve remove-device Laptop",
        &format!("etui serve remove-device Frame --json | {HIDE}"),
        "etui -q serve remove-device Phone",
        "etui serve remove-device Phone",
        "etui check",
    ], @"");
}

#[test]
fn mistakes_are_explained() {
    let home = TestHome::with_people();
    session!(home, [
        "etui -q serve add-device Phone >password && wc -l <password",
        "etui serve add-device Phone",
        "etui serve add-device ''",
        "etui serve add-device Frame --only Work",
        "etui serve add-device Phone2 --url dav.example.org",
        "etui serve --listen 0.0.0.0:0",
        "etui serve --listen nowhere",
        "etui serve --cert a.pem",
        "etui serve --cert a.pem --key a.pem --listen 0",
        "etui serve --users nowhere --listen 0",
        "etui serve --dbus --tls",
        "etui serve --tls devices",
        "etui serve devices --json | wc -l",
    ], @"");
}

#[test]
fn a_code_for_a_camera_is_on_the_terminal() {
    let home = TestHome::new();
    let args = [
        "serve",
        "add-device",
        "Phone",
        "--url",
        "https://dav.example.org",
    ];
    let mut session = TerminalSession::start(&home, (80, 50), &args, "true");
    session.sees("The password is shown only now.");
    session.child.wait().unwrap();
    let text = session.raw_output();
    assert!(text.contains("\x1b[38;5;16;48;5;231m"), "{text}");
    assert!(text.contains("scan this"), "{text}");
}

/// A server in a process of its own.
struct ServerProcess {
    child: Child,
    /// Its lines on standard output until the first log line.
    printed: Vec<String>,
    port: u16,
}

impl ServerProcess {
    fn start(home: &TestHome, args: &[&str]) -> Self {
        let mut child = home
            .command("etui")
            .args(["serve", "--listen", "0"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut printed = Vec::new();
        let port = loop {
            let line = lines.next().unwrap().unwrap();
            let address = line.strip_prefix("Serving on ").map(str::to_owned);
            printed.push(line);
            if let Some(address) = address {
                let port = address.trim_end_matches('/').rsplit(':').next().unwrap();
                break port.parse().unwrap();
            }
        };
        Self {
            child,
            printed,
            port,
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).unwrap();
    }

    /// Waits for its end; returns its exit code and its log.
    fn wait(mut self) -> (Option<i32>, String) {
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
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
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
        assert!(
            lines[0].contains(" Phone PUT ") && lines[0].contains(" 201 "),
            "{log}"
        );
        assert!(!log.contains("a.vcf") && !log.contains(&password), "{log}");
        assert_eq!(home.run("etui check --quiet"), (String::new(), Some(0)));
    }
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
    server.signal(Signal::TERM);
    server.wait();
    let key = home.path(".config/etui/serve-key.pem");
    let first = std::fs::read(&key).unwrap();
    use std::os::unix::fs::PermissionsExt;
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
        let (port, is_over) = (server.port, AtomicBool::new(false));
        let now: Vec<String> = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|writer| {
                    let (password, book, is_over) = (&password, &book, &is_over);
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
                            if is_over.load(Ordering::Relaxed) {
                                return answered;
                            }
                        }
                        answered
                    })
                })
                .collect();
            std::thread::sleep(Duration::from_millis(150 + u64::from(round * 37 % 200)));
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
