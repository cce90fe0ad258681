//! [`Dav`]: two collections of a server, read and edited by plain requests that have nothing of the client under
//! test but the writing and reading of XML.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use etui_dav::client::{
    Address, AnswerLimits, ClientRequest, CollectionItem, PutCondition, RemoteKind, delete,
    list_members, multiget, put, read_multistatus,
};
use etui_testkit::wait::LIMIT;

use crate::client::basic;

/// A text on the server.
#[derive(Debug, Clone)]
pub struct Member {
    pub href: String,
    pub etag: String,
    pub text: String,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
}

/// A server and who logs in.
#[derive(Debug, Clone)]
pub struct Server {
    pub address: SocketAddr,
    pub user: String,
    pub password: String,
}

impl Server {
    pub fn url(&self, path: &str) -> Address {
        Address::parse(&format!("http://{}{path}", self.address)).unwrap()
    }

    /// Sends a request on a connection of its own; `lines` are further ones of the head.
    pub fn ask(&self, method: &str, path: &str, lines: &str, body: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let login = basic(&self.user, &self.password);
        let mut all = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\n{login}Connection: close\r\nContent-Length: {}\r\n{lines}\r\n",
            self.address,
            body.len()
        )
        .into_bytes();
        all.extend_from_slice(body);
        stream.write_all(&all).unwrap();
        let answer = read_answer(&mut BufReader::new(stream));
        answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    fn send(&self, request: &ClientRequest) -> Answer {
        let headers = request.headers().iter();
        let lines: String = headers
            .map(|(name, value)| format!("{name}: {}\r\n", value.to_str().unwrap()))
            .collect();
        let path = request.address().path();
        self.ask(request.method().as_str(), path, &lines, request.body())
    }
}

fn read_answer(from: &mut impl BufRead) -> io::Result<Answer> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if from.read_line(&mut head)? == 0 {
            return Err(io::Error::other(head));
        }
    }
    let head = head.to_ascii_lowercase();
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
    let status = status.ok_or_else(|| io::Error::other(head.clone()))?;
    if status < 200 {
        return read_answer(from);
    }
    let mut body = Vec::new();
    let header = |name| {
        let lines = head.lines();
        lines.filter_map(|line| line.strip_prefix(name)).next()
    };
    let length = header("content-length:").map(|length| length.trim().parse().unwrap());
    match length {
        _ if status == 204 => {}
        _ if header("transfer-encoding:").is_some() => loop {
            let mut line = String::new();
            from.read_line(&mut line)?;
            let size = u64::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
            from.take(size).read_to_end(&mut body)?;
            from.read_line(&mut line)?;
            if size == 0 {
                break;
            }
        },
        Some(length) => {
            body.resize(length, 0);
            from.read_exact(&mut body)?;
        }
        None => {
            from.read_to_end(&mut body)?;
        }
    }
    Ok(Answer { status, body })
}

/// An address book and a calendar of a server.
pub struct Dav {
    pub server: Server,
    /// Their paths, each with a slash at the end.
    pub book: String,
    pub calendar: String,
    /// What was read last.
    seen: RefCell<BTreeMap<String, Member>>,
    fresh: Cell<u32>,
}

impl Dav {
    pub fn new(server: Server, book: String, calendar: String) -> Self {
        Self {
            server,
            book,
            calendar,
            seen: RefCell::default(),
            fresh: Cell::new(0),
        }
    }

    pub fn path(&self, kind: RemoteKind) -> &str {
        match kind {
            RemoteKind::Contacts => &self.book,
            RemoteKind::Calendar => &self.calendar,
        }
    }

    /// Returns all texts by UID. Panics if a UID is there twice.
    pub fn members(&self, kind: RemoteKind) -> BTreeMap<String, Member> {
        let collection = self.server.url(self.path(kind));
        let listed = self.items(&list_members(&collection), &collection);
        let hrefs: Vec<&str> = listed.iter().map(|item| item.href.as_str()).collect();
        let mut all = BTreeMap::new();
        if hrefs.is_empty() {
            return all;
        }
        let items = self.items(&multiget(&collection, kind, &hrefs), &collection);
        assert_eq!(items.len(), hrefs.len(), "{items:?}");
        for item in items {
            assert_eq!(item.failure, None, "{item:?}");
            let text = item.text.unwrap().replace("\r\n", "\n");
            let uid = value(&text, "UID").unwrap_or_else(|| panic!("no UID: {text}"));
            let member = Member {
                href: item.href,
                etag: item.etag.unwrap(),
                text: text.replace('\n', "\r\n"),
            };
            let twin = all.insert(uid, member);
            assert!(twin.is_none(), "a UID is there twice: {twin:?}");
        }
        self.seen.replace(all.clone());
        all
    }

    fn items(&self, request: &ClientRequest, collection: &Address) -> Vec<CollectionItem> {
        let answer = self.server.send(request);
        let said = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!(answer.status, 207, "{request:?}: {said}");
        let mut items = Vec::new();
        let on_response = &mut |response| items.extend(CollectionItem::of(collection, &response));
        read_multistatus(&*answer.body, &AnswerLimits::default(), on_response).unwrap();
        items
    }

    /// Adds a text; false if the name is taken.
    pub fn put_new(&self, kind: RemoteKind, name: &str, text: &str) -> bool {
        let at = self.server.url(&format!("{}{name}", self.path(kind)));
        let request = put(&at, kind, text.into(), PutCondition::New);
        let answer = self.server.send(&request);
        let said = String::from_utf8_lossy(&answer.body);
        assert!(
            matches!(answer.status, 200..=204 | 412),
            "{}: {said}: {text}",
            answer.status
        );
        answer.status != 412
    }

    /// Replaces a text as it was read last.
    pub fn replace(&self, kind: RemoteKind, uid: &str, text: &str) {
        let member = self.seen.borrow()[uid].clone();
        let at = self.server.url(&member.href);
        let condition = PutCondition::Unchanged(&member.etag);
        let answer = self.server.send(&put(&at, kind, text.into(), condition));
        let said = String::from_utf8_lossy(&answer.body);
        assert!(
            matches!(answer.status, 200..=204),
            "{member:?}: {}: {said}: {text}",
            answer.status
        );
    }

    /// Removes a text as it was read last.
    pub fn delete(&self, uid: &str) {
        let member = self.seen.borrow()[uid].clone();
        let at = self.server.url(&member.href);
        let answer = self.server.send(&delete(&at, &member.etag));
        assert!(matches!(answer.status, 200..=204), "{member:?}: {answer:?}");
    }

    pub fn fresh_name(&self) -> String {
        self.fresh.set(self.fresh.get() + 1);
        format!("n{}", self.fresh.get())
    }
}

/// Returns the value of the first property with a name.
pub fn value(text: &str, name: &str) -> Option<String> {
    values(text, name).into_iter().next()
}

/// Returns the values of a property, in order of their text.
pub fn values(text: &str, name: &str) -> Vec<String> {
    let text = text.replace("\r\n", "\n").replace("\n ", "");
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let own = lines.filter(|(head, _)| head.split(';').next() == Some(name));
    let mut all: Vec<String> = own.map(|(_, value)| value.to_owned()).collect();
    all.sort_unstable();
    all
}
