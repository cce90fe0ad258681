//! [`HttpClient`]: a blocking client of HTTP/1.1 on one connection, which is kept as long as the server
//! permits (RFC 9112).

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use etui_lab::Error;

/// No server may take longer for one answer.
const TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// A client of one server.
#[derive(Debug)]
pub(super) struct HttpClient {
    address: SocketAddr,
    /// The value of `Authorization`.
    authorization: String,
    /// For each read.
    timeout: Duration,
    connection: Option<BufReader<TcpStream>>,
}

/// A request.
#[derive(Debug, Clone)]
pub(super) struct HttpRequest {
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: String,
}

/// An answer, whole.
#[derive(Debug, Default)]
pub(super) struct HttpAnswer {
    pub(super) status: u16,
    /// Of HTTP/1.0, which closes a connection unless it says otherwise.
    is_http_1_0: bool,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl HttpAnswer {
    /// Returns the value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(of, _)| of.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    fn header_has(&self, name: &str, word: &str) -> bool {
        let value = self.header(name).unwrap_or_default();
        value
            .split(',')
            .any(|part| part.trim().eq_ignore_ascii_case(word))
    }
}

/// Why there is no answer.
enum Failed {
    /// The server closed a kept connection before it answered.
    Closed,
    Io(std::io::Error),
    Malformed(String),
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl HttpClient {
    pub(super) fn new(address: SocketAddr, authorization: &str) -> Self {
        Self {
            address,
            authorization: authorization.to_owned(),
            timeout: TIMEOUT,
            connection: None,
        }
    }

    /// Sets how long it waits for an answer.
    pub(super) fn set_timeout(&mut self, timeout: Duration) {
        // Zero is no timeout of a socket.
        self.timeout = timeout.max(Duration::from_millis(1));
    }

    /// Sends a request and reads its answer. It is sent again if a kept connection turns out to be closed.
    pub(super) fn send(&mut self, request: &HttpRequest) -> Result<HttpAnswer, Error> {
        let bytes = self.format_request(request);
        let was_kept = self.connection.is_some();
        let mut answered = self.exchange(&bytes, request.method);
        if was_kept && matches!(answered, Err(Failed::Closed)) {
            answered = self.exchange(&bytes, request.method);
        }
        answered.map_err(|failed| {
            self.connection = None;
            let words = match failed {
                Failed::Closed => "the server closed the connection".to_owned(),
                Failed::Io(error) => error.to_string(),
                Failed::Malformed(words) => words,
            };
            Error::other(format!("{} {}: {words}", request.method, request.path))
        })
    }

    fn format_request(&self, request: &HttpRequest) -> Vec<u8> {
        let mut head = format!(
            "{} {} HTTP/1.1\r\nHost: {}\r\nAuthorization: {}\r\nContent-Length: {}\r\n",
            request.method,
            request.path,
            self.address,
            self.authorization,
            request.body.len()
        );
        for (name, value) in &request.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        head.push_str(&request.body);
        head.into_bytes()
    }

    fn exchange(&mut self, bytes: &[u8], method: &str) -> Result<HttpAnswer, Failed> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let stream = TcpStream::connect(self.address)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(self.timeout))?;
                BufReader::new(stream)
            }
        };
        let is_gone = |kind| matches!(kind, ErrorKind::BrokenPipe | ErrorKind::ConnectionReset);
        match connection.get_mut().write_all(bytes) {
            Err(error) if is_gone(error.kind()) => return Err(Failed::Closed),
            written => written?,
        }
        let mut answer = loop {
            let answer = read_head(&mut connection)?;
            // An interim answer, such as 100.
            if answer.status >= 200 {
                break answer;
            }
        };
        let mut is_kept = !answer.header_has("Connection", "close")
            && (!answer.is_http_1_0 || answer.header_has("Connection", "keep-alive"));
        if method != "HEAD" && !matches!(answer.status, 204 | 304) {
            is_kept &= read_body(&mut connection, &mut answer)?;
        }
        self.connection = is_kept.then_some(connection);
        Ok(answer)
    }
}

fn read_line(from: &mut impl BufRead) -> Result<String, Failed> {
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(Failed::Closed);
    }
    let line = String::from_utf8_lossy(&line);
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// Reads the status line and the headers.
fn read_head(from: &mut impl BufRead) -> Result<HttpAnswer, Failed> {
    let first = match read_line(from) {
        Err(Failed::Io(error)) if error.kind() == ErrorKind::ConnectionReset => {
            return Err(Failed::Closed);
        }
        line => line?,
    };
    let status = first.split(' ').nth(1).and_then(|word| word.parse().ok());
    let status = status.ok_or_else(|| Failed::Malformed(format!("no status line: {first:?}")))?;
    let mut headers = Vec::new();
    loop {
        let line = read_line(from)?;
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
    }
    Ok(HttpAnswer {
        status,
        is_http_1_0: first.starts_with("HTTP/1.0"),
        headers,
        body: Vec::new(),
    })
}

/// Reads the body; returns false if it ended with the connection.
fn read_body(from: &mut impl BufRead, answer: &mut HttpAnswer) -> Result<bool, Failed> {
    if answer.header_has("Transfer-Encoding", "chunked") {
        read_chunks(from, &mut answer.body)?;
        return Ok(true);
    }
    let length = answer.header("Content-Length");
    match length.map(|length| length.parse::<u64>()) {
        Some(Ok(length)) => {
            let read = from.take(length).read_to_end(&mut answer.body)?;
            match read as u64 == length {
                true => Ok(true),
                false => Err(Failed::Malformed(format!("{read} of {length} bytes came"))),
            }
        }
        Some(Err(_)) => Err(Failed::Malformed("Content-Length is no number".to_owned())),
        None => {
            from.read_to_end(&mut answer.body)?;
            Ok(false)
        }
    }
}

fn read_chunks(from: &mut impl BufRead, body: &mut Vec<u8>) -> Result<(), Failed> {
    loop {
        let line = read_line(from)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16)
            .map_err(|_| Failed::Malformed(format!("no chunk size: {line:?}")))?;
        let read = from.take(size).read_to_end(body)?;
        if (read as u64) < size {
            return Err(Failed::Closed);
        }
        let after = read_line(from)?;
        if size == 0 {
            // Trailers, up to the empty line.
            let mut line = after;
            while !line.is_empty() {
                line = read_line(from)?;
            }
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::net::TcpListener;

    use super::*;

    fn get(path: &str) -> HttpRequest {
        HttpRequest {
            method: "GET",
            path: path.to_owned(),
            headers: Vec::new(),
            body: String::new(),
        }
    }

    /// Serves connections, each with these answers and then closed; returns the requests' first lines.
    fn serve(
        connections: Vec<Vec<&'static str>>,
    ) -> (SocketAddr, std::thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let served = std::thread::spawn(move || {
            let mut lines = Vec::new();
            for answers in connections {
                let (stream, _) = listener.accept().unwrap();
                let mut stream = BufReader::new(stream);
                for answer in answers {
                    let mut line = String::new();
                    stream.read_line(&mut line).unwrap();
                    lines.push(line.trim_end().to_owned());
                    while line != "\r\n" {
                        line.clear();
                        stream.read_line(&mut line).unwrap();
                    }
                    stream.get_mut().write_all(answer.as_bytes()).unwrap();
                }
            }
            lines
        });
        (address, served)
    }

    #[test]
    fn bodies_end_by_length_by_chunks_and_by_the_connection() {
        let chunks = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 207 Multi-Status\r\n\
                      Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nA: b\r\n\r\n";
        let (address, served) = serve(vec![
            vec![
                "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nETag: \"7\"\r\n\r\nhi",
                chunks,
            ],
            vec!["HTTP/1.0 201 Created\r\n\r\nall"],
            vec!["HTTP/1.1 204 No Content\r\n\r\n"],
        ]);
        let mut client = HttpClient::new(address, "Basic eDp5");
        let first = client.send(&get("/1")).unwrap();
        assert_eq!((first.status, first.body.as_slice()), (200, &b"hi"[..]));
        assert_eq!(first.header("etag"), Some("\"7\""));
        let second = client.send(&get("/2")).unwrap();
        assert_eq!(
            (second.status, second.body.as_slice()),
            (207, &b"abcde"[..])
        );
        // The first connection was closed after its second answer.
        let third = client.send(&get("/3")).unwrap();
        assert_eq!((third.status, third.body.as_slice()), (201, &b"all"[..]));
        assert_eq!(client.send(&get("/4")).unwrap().status, 204);
        let lines = served.join().unwrap();
        assert_eq!(lines.first().unwrap(), "GET /1 HTTP/1.1");
        assert_eq!(lines.len(), 4);
    }

    #[test]
    fn an_answer_that_breaks_off_is_an_error() {
        let (address, served) = serve(vec![vec![
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
        ]]);
        let mut client = HttpClient::new(address, "Basic eDp5");
        let error = client.send(&get("/book/")).unwrap_err().to_string();
        assert_eq!(error, "GET /book/: 4 of 9 bytes came");
        served.join().unwrap();
    }
}
