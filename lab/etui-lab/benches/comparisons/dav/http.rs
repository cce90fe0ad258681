//! [`HttpClient`]: a client of HTTP/1.1 on one connection, which is kept as long as the server permits.

use std::fmt::Display;
use std::net::SocketAddr;
use std::time::Duration;

use etui_lab::Error;
use ureq::Agent;
use ureq::http::Request;

/// No server may take longer for one answer.
const TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// Most bytes of an answer.
const MAX_BODY: u64 = 1 << 30;

#[derive(Debug)]
pub struct HttpClient {
    address: SocketAddr,
    /// The value of `Authorization`.
    authorization: String,
    agent: Agent,
}

#[derive(Debug, Clone)]
pub struct HttpRequest {
    pub method: &'static str,
    pub path: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
}

#[derive(Debug, Default)]
pub struct HttpAnswer {
    pub status: u16,
    pub body: Vec<u8>,
}

impl HttpClient {
    pub fn new(address: SocketAddr, authorization: &str) -> Self {
        let mut client = Self {
            address,
            authorization: authorization.to_owned(),
            agent: Agent::new_with_defaults(),
        };
        client.set_timeout(TIMEOUT);
        client
    }

    /// Sets how long it waits for an answer.
    pub fn set_timeout(&mut self, timeout: Duration) {
        // PROPFIND and REPORT are not among HTTP's own methods.
        let config = Agent::config_builder()
            .allow_non_standard_methods(true)
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(timeout));
        self.agent = Agent::new_with_config(config.build());
    }

    pub fn send(&mut self, request: &HttpRequest) -> Result<HttpAnswer, Error> {
        let failed = |error: &dyn Display| {
            Error::other(format!("{} {}: {error}", request.method, request.path))
        };
        let mut built = Request::builder()
            .method(request.method)
            .uri(format!("http://{}{}", self.address, request.path))
            .header("Authorization", &self.authorization);
        for (name, value) in &request.headers {
            built = built.header(*name, value);
        }
        let answered = match request.body.as_str() {
            "" => self.agent.run(built.body(()).map_err(|e| failed(&e))?),
            body => self.agent.run(built.body(body).map_err(|e| failed(&e))?),
        };
        let mut answer = answered.map_err(|e| failed(&e))?;
        let body = answer.body_mut().with_config().limit(MAX_BODY);
        Ok(HttpAnswer {
            body: body.read_to_vec().map_err(|e| failed(&e))?,
            status: answer.status().as_u16(),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::{BufRead, BufReader, Write};
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
        assert!(error.starts_with("GET /book/: "), "{error}");
        served.join().unwrap();
    }
}
