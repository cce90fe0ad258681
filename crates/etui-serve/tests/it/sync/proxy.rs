//! [`Proxy`]: passes bytes between a client and a server, and counts them: where a test says, it cuts the connection.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use etui_testkit::wait::wait_until;

/// A listening proxy.
pub struct Proxy {
    pub address: SocketAddr,
    state: Arc<State>,
}

struct State {
    /// Bytes of both directions until the place that the test named. Below 0 it is passed.
    left: AtomicI64,
    /// All connections are cut there.
    is_cutting: AtomicBool,
    /// Directions of connections that are not at their end.
    open: AtomicUsize,
}

const FAR: i64 = i64::MAX / 2;

impl Proxy {
    pub fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            left: AtomicI64::new(FAR),
            is_cutting: AtomicBool::new(false),
            open: AtomicUsize::new(0),
        });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                let Ok(server) = TcpStream::connect(server) else {
                    return;
                };
                for end in [&client, &server] {
                    end.set_nodelay(true).unwrap();
                }
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                shared.open.fetch_add(2, Ordering::SeqCst);
                let asked = Arc::new(Asked::default());
                let (up, waiting) = (Arc::clone(&shared), Arc::clone(&asked));
                std::thread::spawn(move || {
                    up.pass(&from, &to, &mut |bytes| waiting.add(bytes));
                    let _ = from.shutdown(Shutdown::Both);
                    // Servers go on with a request whose connection is closed: a whole one is answered first.
                    wait_until("an answer", || !waiting.is_whole());
                    let _ = to.shutdown(Shutdown::Write);
                    up.open.fetch_sub(1, Ordering::SeqCst);
                });
                let down = Arc::clone(&shared);
                std::thread::spawn(move || {
                    down.pass(&server, &client, &mut |_| asked.clear());
                    asked.clear();
                    let _ = client.shutdown(Shutdown::Both);
                    let _ = std::io::copy(&mut &server, &mut std::io::sink());
                    down.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, state }
    }

    /// Cuts connections after this number of bytes.
    pub fn cut_after(&self, bytes: i64) {
        self.state.is_cutting.store(true, Ordering::SeqCst);
        self.state.left.store(bytes, Ordering::SeqCst);
    }

    /// Counts this number of bytes, and passes on what comes after.
    pub fn watch(&self, bytes: i64) {
        self.state.is_cutting.store(false, Ordering::SeqCst);
        self.state.left.store(bytes, Ordering::SeqCst);
    }

    /// Returns true if the bytes were passed on.
    pub fn is_spent(&self) -> bool {
        self.state.left.load(Ordering::SeqCst) <= 0
    }

    /// Waits until the server has ended all that it was asked, and passes everything on again.
    pub fn mend(&self) {
        wait_until("the server is done with all connections", || {
            self.state.open.load(Ordering::SeqCst) == 0
        });
        self.state.left.store(FAR, Ordering::SeqCst);
    }
}

impl State {
    /// Passes bytes on until an end is closed, or the place of the cut; tells what it passes.
    fn pass(&self, mut from: &TcpStream, mut to: &TcpStream, on_bytes: &mut dyn FnMut(&[u8])) {
        let mut buffer = [0; 4096];
        while let Ok(length) = from.read(&mut buffer) {
            let left = self.left.fetch_sub(length as i64, Ordering::SeqCst);
            let kept = match self.is_cutting.load(Ordering::SeqCst) {
                true => length.min(usize::try_from(left.max(0)).unwrap()),
                false => length,
            };
            if kept > 0 {
                on_bytes(&buffer[..kept]);
            }
            if length == 0 || to.write_all(&buffer[..kept]).is_err() || kept < length {
                break;
            }
        }
    }
}

/// The bytes of a request that the server has not begun to answer.
#[derive(Default)]
struct Asked(Mutex<Vec<u8>>);

impl Asked {
    fn add(&self, bytes: &[u8]) {
        self.0.lock().unwrap().extend_from_slice(bytes);
    }

    fn clear(&self) {
        self.0.lock().unwrap().clear();
    }

    /// Returns true if the server can answer it.
    fn is_whole(&self) -> bool {
        let asked = self.0.lock().unwrap();
        let Some(end) = asked.windows(4).position(|part| part == b"\r\n\r\n") else {
            return false;
        };
        let head = String::from_utf8_lossy(&asked[..end]).to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
        asked.len() >= end + 4 + length
    }
}
