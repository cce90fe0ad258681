//! [`Proxy`]: passes bytes between a client and a server, and cuts the connection where a test says.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// A listening proxy.
pub struct Proxy {
    pub address: SocketAddr,
    /// Bytes of both directions that are still passed on. Below 0 all connections are cut.
    left: Arc<AtomicI64>,
}

impl Proxy {
    pub fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let left = Arc::new(AtomicI64::new(i64::MAX / 2));
        let budget = Arc::clone(&left);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                let Ok(server) = TcpStream::connect(server) else {
                    return;
                };
                let ends = [
                    (client.try_clone().unwrap(), server.try_clone().unwrap()),
                    (server, client),
                ];
                for (from, to) in ends {
                    let budget = Arc::clone(&budget);
                    std::thread::spawn(move || pass(from, to, &budget));
                }
            }
        });
        Self { address, left }
    }

    /// Cuts connections after this number of bytes.
    pub fn cut_after(&self, bytes: i64) {
        self.left.store(bytes, Ordering::SeqCst);
    }

    /// Passes everything on again.
    pub fn mend(&self) {
        self.left.store(i64::MAX / 2, Ordering::SeqCst);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, left: &AtomicI64) {
    let mut buffer = [0; 4096];
    while let Ok(length) = from.read(&mut buffer) {
        let allowed = left.fetch_sub(length as i64, Ordering::SeqCst);
        let kept = length.min(usize::try_from(allowed.max(0)).unwrap());
        if length == 0 || to.write_all(&buffer[..kept]).is_err() || kept < length {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
