//! [`TestServer`]: a server with a store of its own; [`Client`]: HTTP over a socket, byte by byte if need be.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use etui::Store;
use etui::store::DeviceAccess;
use etui_serve::{ServeError, ServeOptions, Server, StopHandle, StoreSource};
use etui_testkit::wait::{LIMIT, wait_for};
use tempfile::TempDir;

/// A running server.
pub struct TestServer {
    pub dir: TempDir,
    pub address: SocketAddr,
    pub password: String,
    pub fingerprint: Option<String>,
    pub log: Arc<Mutex<Vec<String>>>,
    stop: StopHandle,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

impl TestServer {
    /// Starts one with a device.
    pub fn start() -> Self {
        Self::start_with(|_| {})
    }

    /// Starts one with changed options.
    pub fn start_with(change: impl FnOnce(&mut ServeOptions)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("ada.etui");
        let password = add_device(&store, "Phone", &DeviceAccess::default());
        Self::start_in(dir, password, |options| change(options))
    }

    /// Starts one in a directory that has stores.
    pub fn start_in(
        dir: TempDir,
        password: String,
        change: impl FnOnce(&mut ServeOptions),
    ) -> Self {
        let log = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&log);
        let mut options = ServeOptions::new(StoreSource::One(dir.path().join("ada.etui")));
        options.listen = vec!["127.0.0.1:0".parse().unwrap()];
        options.log = Arc::new(move |line| lines.lock().unwrap().push(line.to_owned()));
        // On a busy machine each of these may take longer than a client is given.
        let limits = &mut options.limits;
        (limits.stranger, limits.handshake, limits.head) = (LIMIT, LIMIT, LIMIT);
        change(&mut options);
        let server = Server::bind(options).unwrap();
        let address = server.addresses().first().copied();
        let (stop, fingerprint) = (server.stop_handle(), server.fingerprint());
        let thread = std::thread::spawn(move || server.run());
        Self {
            dir,
            address: address.unwrap_or_else(|| "127.0.0.1:9".parse().unwrap()),
            password,
            fingerprint,
            log,
            stop,
            thread: Some(thread),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Returns a connection that sends the device's password.
    pub fn client(&self) -> Client<TcpStream> {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.set_write_timeout(Some(LIMIT)).unwrap();
        Client::new(stream, Some(("ada", &self.password)))
    }

    /// Returns a connection on which a request was answered, where connections have a short time: on
    /// a busy machine the first one may be cut off before.
    pub fn client_in_time(&self) -> Client<TcpStream> {
        wait_for("a request that is sent in time", || {
            let mut client = self.client();
            let answer = client.try_ask("GET", "/", "").ok()?;
            assert_eq!(answer.status, 200);
            Some(client)
        })
    }

    /// Returns a connection without a password.
    pub fn stranger(&self) -> Client<TcpStream> {
        let mut client = self.client();
        client.authorization = None;
        client
    }

    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// Stops it, and waits until it ended.
    pub fn stop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap().unwrap();
        }
    }

    /// Waits until a log line has this text, and returns it.
    pub fn wait_for_log(&self, text: &str) -> String {
        wait_for(&format!("{text:?} in the log"), || {
            let lines = self.log.lock().unwrap();
            lines.iter().find(|line| line.contains(text)).cloned()
        })
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take()
            && !std::thread::panicking()
        {
            thread.join().unwrap().unwrap();
        }
    }
}

/// Adds a device to a store, which is made if there is none; returns its password.
pub fn add_device(store: &std::path::Path, name: &str, access: &DeviceAccess) -> String {
    let store = Store::open(store).unwrap();
    let password = store.devices().add(name, access).unwrap().to_string();
    store.close().unwrap();
    password
}

/// A contact.
pub fn card(uid: &str, name: &str) -> String {
    format!("BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nFN:{name}\r\nN:{name};;;;\r\nEND:VCARD\r\n")
}

/// An answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(n, _)| n == name);
        let first = found.next()?;
        assert_eq!(found.next(), None, "{name} twice");
        Some(&first.1)
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

/// A connection.
pub struct Client<S> {
    pub stream: BufReader<S>,
    /// Lines of the head with the password.
    pub authorization: Option<String>,
}

impl<S: Read + Write> Client<S> {
    pub fn new(stream: S, login: Option<(&str, &str)>) -> Self {
        Self {
            stream: BufReader::new(stream),
            authorization: login.map(|(user, password)| basic(user, password)),
        }
    }

    /// Sends a request with a body of known length, and reads the answer.
    pub fn ask(&mut self, method: &str, path: &str, body: &str) -> Answer {
        self.try_ask(method, path, body).unwrap()
    }

    /// Sends a request about a collection and its members.
    pub fn ask_deep(&mut self, method: &str, path: &str, body: &str) -> Answer {
        let lines = format!("Depth: 1\r\nContent-Length: {}\r\n", body.len());
        self.send_head(method, path, &lines).unwrap();
        self.send(body.as_bytes()).unwrap();
        self.read_answer(false).unwrap()
    }

    pub fn try_ask(&mut self, method: &str, path: &str, body: &str) -> io::Result<Answer> {
        let mut lines = match body.is_empty() {
            true => String::new(),
            false => format!("Content-Length: {}\r\n", body.len()),
        };
        if method == "PROPFIND" {
            lines += "Depth: 0\r\n";
        }
        self.send_head(method, path, &lines)?;
        self.send(body.as_bytes())?;
        self.read_answer(method == "HEAD")
    }

    /// Sends a head with further lines.
    pub fn send_head(&mut self, method: &str, path: &str, lines: &str) -> io::Result<()> {
        let authorization = self.authorization.clone().unwrap_or_default();
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{authorization}{lines}\r\n");
        self.send(head.as_bytes())
    }

    /// Begins a request with a body, and waits until the server reads that.
    pub fn begin(&mut self, path: &str, length: usize) {
        let lines = format!("Expect: 100-continue\r\nContent-Length: {length}\r\n");
        self.send_head("PUT", path, &lines).unwrap();
        assert_eq!(self.read_head().unwrap().status, 100);
    }

    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)?;
        self.stream.get_mut().flush()
    }

    pub fn get(&mut self, path: &str) -> Answer {
        self.ask("GET", path, "")
    }

    fn read_line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end_matches("\r\n").to_owned())
    }

    /// Reads an answer; that to `HEAD` has no body.
    pub fn read_answer(&mut self, is_head: bool) -> io::Result<Answer> {
        let mut answer = self.read_head()?;
        if is_head || answer.status < 200 || matches!(answer.status, 204 | 304) {
            return Ok(answer);
        }
        if answer.header("transfer-encoding") == Some("chunked") {
            loop {
                let size = usize::from_str_radix(&self.read_line()?, 16).unwrap();
                let at = answer.body.len();
                answer.body.resize(at + size, 0);
                self.stream.read_exact(&mut answer.body[at..])?;
                assert_eq!(self.read_line()?, "");
                if size == 0 {
                    return Ok(answer);
                }
            }
        }
        let length = answer.header("content-length").unwrap().parse().unwrap();
        answer.body.resize(length, 0);
        self.stream.read_exact(&mut answer.body)?;
        Ok(answer)
    }

    pub fn read_head(&mut self) -> io::Result<Answer> {
        let status = self.read_line()?;
        let (version, status) = status.split_once(' ').unwrap();
        assert_eq!(version, "HTTP/1.1");
        let status = status.split(' ').next().unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.read_line()?;
            let Some((name, value)) = line.split_once(':') else {
                assert_eq!(line, "");
                return Ok(Answer {
                    status,
                    headers,
                    body: Vec::new(),
                });
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }

    /// Returns true if the server has closed the connection.
    pub fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        match self.stream.read(&mut byte) {
            Ok(0) => true,
            Ok(_) => false,
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
                true
            }
        }
    }
}

/// Returns the header of a password.
pub fn basic(user: &str, password: &str) -> String {
    let token = STANDARD.encode(format!("{user}:{password}"));
    format!("Authorization: Basic {token}\r\n")
}
