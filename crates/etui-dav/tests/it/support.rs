//! A server without a socket over a real store, and answers as text.

use std::fmt::Write as _;

use etui::Store;
use etui_dav::xml::{Element, Limits, Namespace};
use etui_dav::{Collected, DavOptions, Outcome, Session, answer};
use http::{Request, Response};

/// A store that is served.
pub struct Served {
    pub store: Store,
    pub options: DavOptions,
    _dir: tempfile::TempDir,
}

/// A request that is being written.
pub struct Sent<'s> {
    served: &'s Served,
    session: Session<'s>,
    request: http::request::Builder,
}

/// An answer.
pub struct Answer {
    pub response: Response<Vec<u8>>,
    pub outcome: Outcome,
}

pub const SESSION: Session<'static> = Session {
    device: "Pixel",
    may_write: true,
    sees: None,
    reads: None,
    user: "ada",
    root: "/dav/",
    shared: &[],
};

impl Served {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path().join("personal.etui")).unwrap();
        Self {
            store,
            options: DavOptions::default(),
            _dir: dir,
        }
    }

    pub fn request(&self, method: &str, path: &str) -> Sent<'_> {
        self.request_as(SESSION, method, path)
    }

    pub fn request_as<'s>(&'s self, session: Session<'s>, method: &str, path: &str) -> Sent<'s> {
        Sent {
            served: self,
            session,
            request: Request::builder().method(method).uri(path),
        }
    }

    /// Puts a resource that is new, and returns its entity tag.
    pub fn put(&self, path: &str, body: &str) -> String {
        let answer = self
            .request("PUT", path)
            .header("if-none-match", "*")
            .body(body);
        assert_eq!(answer.status(), 201, "{}", answer.text());
        answer.header("etag").to_owned()
    }

    pub fn get(&self, path: &str) -> Answer {
        self.request("GET", path).body("")
    }

    /// Returns the token of a collection.
    pub fn token(&self, path: &str) -> String {
        let body = r#"<propfind xmlns="DAV:"><prop><sync-token/></prop></propfind>"#;
        let answer = self
            .request("PROPFIND", path)
            .header("depth", "0")
            .body(body);
        answer.find("sync-token").expect("a token").text
    }
}

impl Sent<'_> {
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.request = self.request.header(name, value);
        self
    }

    pub fn body(self, body: impl AsRef<[u8]>) -> Answer {
        let request = self.request.body(body.as_ref().to_vec()).unwrap();
        let mut out = Collected::new();
        let Served { store, options, .. } = self.served;
        let outcome = answer(store, &self.session, options, &request, &mut out).unwrap();
        let response = out.into_response();
        assert_eq!(outcome.status, response.status().as_u16());
        assert!(outcome.status < 500 || outcome.status == 507, "{outcome:?}");
        if request.method() != "HEAD"
            && let Some(length) = response.headers().get("content-length")
        {
            assert_eq!(length.to_str().unwrap(), response.body().len().to_string());
        }
        Answer { response, outcome }
    }
}

impl Answer {
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    pub fn header(&self, name: &str) -> &str {
        self.response
            .headers()
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    pub fn bytes(&self) -> &[u8] {
        self.response.body()
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(self.response.body()).unwrap()
    }

    pub fn xml(&self) -> Element {
        Element::parse(self.bytes(), &Limits::default()).unwrap()
    }

    /// Returns the first element of this name.
    pub fn find(&self, name: &str) -> Option<Element> {
        find(&self.xml(), name).cloned()
    }

    /// Returns the status and the name of the broken condition.
    pub fn refusal(&self) -> (u16, String) {
        let error = self.xml();
        assert!(error.is(&Namespace::Dav, "error"), "{}", self.text());
        let condition = error
            .children
            .iter()
            .find(|child| child.name != "responsedescription");
        (self.status(), condition.map(qualified).unwrap_or_default())
    }

    /// Returns a multistatus answer as lines.
    pub fn lines(&self) -> String {
        let mut out = format!("{}\n", self.status());
        for child in &self.xml().children {
            match child.name.as_str() {
                "response" => show_response(child, &mut out),
                _ => show_value(child, 0, &mut out),
            }
        }
        out
    }

    /// Returns the hrefs of a multistatus answer.
    pub fn hrefs(&self) -> Vec<String> {
        let root = self.xml();
        let responses = root.children_named(&Namespace::Dav, "response");
        responses
            .map(|one| one.child(&Namespace::Dav, "href").unwrap().text.clone())
            .collect()
    }
}

fn find<'e>(element: &'e Element, name: &str) -> Option<&'e Element> {
    if element.name == name {
        return Some(element);
    }
    element.children.iter().find_map(|child| find(child, name))
}

fn show_response(response: &Element, out: &mut String) {
    for child in &response.children {
        match child.name.as_str() {
            "href" => writeln!(out, "{}", child.text).unwrap(),
            "propstat" => {
                let status = child.child(&Namespace::Dav, "status").unwrap();
                writeln!(out, "  {}", status.text).unwrap();
                for property in &child.child(&Namespace::Dav, "prop").unwrap().children {
                    show_value(property, 2, out);
                }
                if let Some(error) = child.child(&Namespace::Dav, "error") {
                    show_value(error, 1, out);
                }
            }
            _ => show_value(child, 1, out),
        }
    }
}

fn show_value(element: &Element, indent: usize, out: &mut String) {
    let indent_text = "  ".repeat(indent);
    write!(out, "{indent_text}{}", qualified(element)).unwrap();
    for (name, value) in &element.attributes {
        write!(out, " {name}={value}").unwrap();
    }
    let text = element.text.trim();
    match is_random(&element.name) {
        true => write!(out, " TOKEN").unwrap(),
        false if !text.is_empty() => write!(out, " {}", text.escape_debug()).unwrap(),
        false => {}
    }
    out.push('\n');
    for child in &element.children {
        show_value(child, indent + 1, out);
    }
}

/// Returns true for properties with the identity of the store.
fn is_random(name: &str) -> bool {
    matches!(name, "sync-token" | "getctag")
}

fn qualified(element: &Element) -> String {
    let prefix = match &element.ns {
        Namespace::Dav => "d",
        Namespace::CalDav => "c",
        Namespace::CardDav => "card",
        Namespace::CalendarServer => "cs",
        Namespace::Apple => "ic",
        Namespace::Other(uri) => uri,
    };
    format!("{prefix}:{}", element.name)
}

/// Returns a card of version 3.0.
pub fn card(uid: &str, name: &str) -> String {
    format!("BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nFN:{name}\r\nN:{name};;;;\r\nEND:VCARD\r\n")
}

/// Returns an event at ten o'clock of a day of January 2026.
pub fn event(uid: &str, title: &str, day: u8) -> String {
    format!(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Example//Test//EN\r\nBEGIN:VEVENT\r\nUID:{uid}\r\n\
         DTSTAMP:20260101T000000Z\r\nDTSTART:202601{day:02}T100000Z\r\nDTEND:202601{day:02}T110000Z\r\n\
         SUMMARY:{title}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )
}
