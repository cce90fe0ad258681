//! [`serve_http`]: a server whose answers a test makes.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

pub struct HttpRequest {
    pub method: String,
    pub path: String,
    /// By their names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: String,
    /// Requests of the connection that were answered before.
    pub answered: usize,
}

/// Status, header lines, body.
pub type HttpAnswer = (u16, String, String);

/// The connection is closed without an answer.
pub const HANG_UP: HttpAnswer = (0, String::new(), String::new());

/// Serves on a free port, as long as the test program runs.
pub fn serve_http(
    answer: impl Fn(&HttpRequest) -> HttpAnswer + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer: Arc<dyn Fn(&HttpRequest) -> HttpAnswer + Send + Sync> = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (answer, stream) = (Arc::clone(&answer), stream.unwrap());
            std::thread::spawn(move || serve_connection(stream, &*answer));
        }
    });
    address
}

fn serve_connection(
    mut stream: TcpStream,
    answer: &dyn Fn(&HttpRequest) -> HttpAnswer,
) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    for answered in 0.. {
        let mut line = String::new();
        reader
            .read_line(&mut line)
            .ok()
            .filter(|length| *length > 0)?;
        let mut words = line.split(' ');
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            match line.trim().split_once(':') {
                Some((name, value)) => {
                    headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
                }
                None => break,
            }
        }
        let length = headers
            .get("content-length")
            .map_or(0, |text| text.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let request = HttpRequest {
            method,
            path,
            headers,
            body: String::from_utf8(body).unwrap(),
            answered,
        };
        let (status, more, text) = answer(&request);
        if status == HANG_UP.0 {
            return None;
        }
        // A test may send a wrong length of its own.
        let length = match more.contains("Content-Length") {
            true => String::new(),
            false => format!("Content-Length: {}\r\n", text.len()),
        };
        write!(stream, "HTTP/1.1 {status} X\r\n{length}{more}\r\n{text}").ok()?;
        if more.contains("Connection: close") {
            return None;
        }
    }
    None
}
