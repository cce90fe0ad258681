//! [`Scripted`]: a CardDAV collection that behaves as servers are documented or reported to.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use super::http::{HANG_UP, HttpAnswer, serve_http};

/// How the server behaves.
#[derive(Default)]
pub struct Behaviour {
    /// Members that it has: name, then entity tag and text.
    pub members: BTreeMap<String, (u64, String)>,
    /// Members that it neither lists nor gives.
    pub hidden: Vec<String>,
    /// Members that it does not list, and gives.
    pub unlisted: Vec<String>,
    /// It knows sync-collection, and lists this many at once.
    pub cut_at: Option<usize>,
    /// It knows sync-collection with tokens of moments: of a member that was made after one and removed again, it tells
    /// nothing.
    pub has_moments: bool,
    /// When a member was made.
    pub made: BTreeMap<String, u64>,
    /// Members that were removed: name, when it was made, and removed.
    pub removed: Vec<(String, u64, u64)>,
    /// It refuses a PUT of a text with this part, with 403.
    pub refuses: Option<String>,
    /// It answers 500 to a PUT of a text with this part.
    pub fails: Option<String>,
    /// Its lists have weak entity tags, as behind a proxy that compresses.
    pub is_weak: bool,
    /// Its tags are SOGo's, of the first version, whatever the text.
    pub counts: bool,
    /// The change of a text that it stores; it then returns no entity tag.
    pub rewrites: Option<fn(&str) -> String>,
    /// It stores a new text under another name, and says so in `Location`.
    pub moves: bool,
    /// It answers one request of each connection, and does not say so.
    pub hangs_up: bool,
    /// It hangs up at a PUT of a text with this part.
    pub breaks_at: Option<String>,
    /// So many requests are answered with 429 first.
    pub busy: u32,
    /// All requests are redirected there.
    pub redirect: Option<String>,
    /// The next answer is this, whatever is asked.
    pub answer: Option<String>,
    pub next: u64,
    /// Methods and paths, with whether a password came.
    pub log: Vec<(String, bool)>,
}

#[derive(Clone)]
pub struct Scripted {
    pub address: SocketAddr,
    pub state: Arc<Mutex<Behaviour>>,
}

pub const FOLDER: &str = "/dav/book/";

impl Scripted {
    pub fn start() -> Self {
        let state: Arc<Mutex<Behaviour>> = Arc::default();
        let served = Arc::clone(&state);
        let address = serve_http(move |request| {
            let mut state = served.lock().unwrap();
            if state.hangs_up && request.answered > 0 {
                return HANG_UP;
            }
            let breaks_at = state.breaks_at.as_deref();
            let is_broken = breaks_at.is_some_and(|text| request.body.contains(text));
            if request.method == "PUT" && is_broken {
                return HANG_UP;
            }
            let has_password = request.headers.contains_key("authorization");
            let line = format!("{} {}", request.method, request.path);
            state.log.push((line, has_password));
            state.answer(
                &request.method,
                &request.path,
                &request.headers,
                &request.body,
            )
        });
        Self { address, state }
    }

    pub fn url(&self) -> String {
        format!("http://{}{FOLDER}", self.address)
    }

    pub fn put(&self, name: &str, text: &str) {
        let mut state = self.state.lock().unwrap();
        state.next += 1;
        let next = state.next;
        state.made.entry(name.to_owned()).or_insert(next);
        state
            .members
            .insert(name.to_owned(), (next, text.to_owned()));
    }

    pub fn remove(&self, name: &str) {
        self.state.lock().unwrap().remove(name);
    }
}

impl Behaviour {
    fn answer(
        &mut self,
        method: &str,
        path: &str,
        headers: &BTreeMap<String, String>,
        body: &str,
    ) -> HttpAnswer {
        let plain = |status| (status, String::new(), String::new());
        if let Some(to) = &self.redirect {
            return (301, format!("Location: {to}\r\n"), String::new());
        }
        if let Some(answer) = self.answer.take() {
            return (207, String::new(), answer);
        }
        if self.busy > 0 {
            self.busy -= 1;
            return (429, "Retry-After: 0\r\n".to_owned(), String::new());
        }
        let name = path.strip_prefix(FOLDER).unwrap_or_default().to_owned();
        let found = self
            .members
            .get(&name)
            .filter(|_| !self.hidden.contains(&name));
        let tag = found.map(|(tag, _)| self.tag(*tag));
        match method {
            "PROPFIND" if headers.get("depth").is_some_and(|depth| depth == "0") => {
                let token = match self.cut_at.is_some() || self.has_moments {
                    true => "<sync-token>t0</sync-token>",
                    false => "",
                };
                multistatus(&format!(
                    "<response><href>{FOLDER}</href><propstat><prop><resourcetype><collection/>\
                     <C:addressbook/></resourcetype>{token}</prop><status>HTTP/1.1 200 OK</status></propstat>\
                     </response>"
                ))
            }
            "PROPFIND" => multistatus(&self.list(0, usize::MAX).0),
            "REPORT" if body.contains("sync-collection") && self.has_moments => {
                let since = body.split("sync-token>t").nth(1);
                let since = since.and_then(|rest| rest.split('<').next()?.parse().ok());
                multistatus(&self.list_since(since))
            }
            "REPORT" if body.contains("sync-collection") => {
                let Some(cut) = self.cut_at else {
                    return plain(501);
                };
                let from = body.split("sync-token>").nth(1);
                let from = from.and_then(|rest| rest.split('<').next()?.strip_prefix('t'));
                let from: usize = from.map_or(0, |text| text.parse().unwrap());
                let (mut list, count) = self.list(from, cut);
                if count == cut {
                    write!(
                        list,
                        "<response><href>{FOLDER}</href><status>HTTP/1.1 507 X</status></response>"
                    )
                    .unwrap();
                }
                write!(list, "<sync-token>t{}</sync-token>", from + count).unwrap();
                multistatus(&list)
            }
            "REPORT" => {
                let mut all = String::new();
                for part in body.split("href>").filter(|part| part.starts_with('/')) {
                    let href = part.split('<').next().unwrap();
                    let name = href.strip_prefix(FOLDER).unwrap_or_default().to_owned();
                    match self.members.get(&name).filter(|_| !self.hidden.contains(&name)) {
                        Some((tag, text)) => write!(
                            all,
                            "<response><href>{href}</href><propstat><prop><getetag>{}</getetag>\
                             <C:address-data>{text}</C:address-data></prop><status>HTTP/1.1 200 OK</status>\
                             </propstat></response>",
                            self.listed_tag(*tag)
                        ),
                        None => write!(
                            all,
                            "<response><href>{href}</href><status>HTTP/1.1 404 X</status></response>"
                        ),
                    }
                    .unwrap();
                }
                multistatus(&all)
            }
            "GET" => match found {
                Some((_, text)) => (200, String::new(), text.clone()),
                None => plain(404),
            },
            "PUT" => {
                let is_wrong = match (headers.get("if-match"), headers.get("if-none-match")) {
                    (Some(asked), _) => tag.as_ref() != Some(asked),
                    (None, Some(_)) => tag.is_some(),
                    (None, None) => true,
                };
                if is_wrong {
                    return plain(412);
                }
                if self
                    .refuses
                    .as_ref()
                    .is_some_and(|text| body.contains(text.as_str()))
                {
                    let reason =
                        "<error xmlns=\"DAV:\"><message>no photos of cats</message></error>";
                    return (403, String::new(), reason.to_owned());
                }
                if self
                    .fails
                    .as_ref()
                    .is_some_and(|text| body.contains(text.as_str()))
                {
                    return plain(500);
                }
                self.next += 1;
                let (text, etag) = match self.rewrites {
                    Some(rewrite) => (rewrite(body), String::new()),
                    None => (
                        body.to_owned(),
                        format!("ETag: {}\r\n", self.tag(self.next)),
                    ),
                };
                let (stored, location) = match self.moves && tag.is_none() {
                    true => {
                        let stored = format!("moved-{}.vcf", self.next);
                        let location = format!("Location: {FOLDER}{stored}\r\n");
                        (stored, location)
                    }
                    false => (name, String::new()),
                };
                self.made.entry(stored.clone()).or_insert(self.next);
                self.members.insert(stored, (self.next, text));
                (201, etag + &location, String::new())
            }
            "DELETE" if tag.is_some() && headers.get("if-match") == tag.as_ref() => {
                self.remove(&name);
                plain(204)
            }
            "DELETE" => plain(412),
            _ => plain(405),
        }
    }

    fn tag(&self, number: u64) -> String {
        match self.counts {
            true => "\"gcs00000000\"".to_owned(),
            false => format!("\"{number}\""),
        }
    }

    fn listed_tag(&self, number: u64) -> String {
        let weak = if self.is_weak { "W/" } else { "" };
        format!("{weak}{}", self.tag(number))
    }

    fn remove(&mut self, name: &str) {
        self.next += 1;
        self.members.remove(name);
        let made = self.made.remove(name).unwrap_or_default();
        self.removed.push((name.to_owned(), made, self.next));
    }

    /// Lists what changed since a moment, or all.
    fn list_since(&self, since: Option<u64>) -> String {
        let mut list = String::new();
        for (name, (tag, _)) in &self.members {
            if since.is_none_or(|since| *tag > since) {
                let tag = self.listed_tag(*tag);
                write!(
                    list,
                    "<response><href>{FOLDER}{name}</href><propstat><prop><getetag>{tag}</getetag></prop>\
                     <status>HTTP/1.1 200 OK</status></propstat></response>"
                )
                .unwrap();
            }
        }
        for (name, made, removed) in &self.removed {
            let is_told = since.is_some_and(|since| *made <= since && since < *removed);
            if is_told && !self.members.contains_key(name) {
                let status = "<status>HTTP/1.1 404 X</status>";
                write!(
                    list,
                    "<response><href>{FOLDER}{name}</href>{status}</response>"
                )
                .unwrap();
            }
        }
        list + &format!("<sync-token>t{}</sync-token>", self.next)
    }

    fn list(&self, from: usize, most: usize) -> (String, usize) {
        let is_listed =
            |name: &&String| !self.hidden.contains(name) && !self.unlisted.contains(name);
        let names = self.members.keys().filter(is_listed).skip(from).take(most);
        let (mut list, mut count) = (String::new(), 0);
        for name in names {
            count += 1;
            let tag = self.listed_tag(self.members[name].0);
            write!(
                list,
                "<response><href>{FOLDER}{name}</href><propstat><prop><getetag>{tag}</getetag></prop>\
                 <status>HTTP/1.1 200 OK</status></propstat></response>"
            )
            .unwrap();
        }
        (list, count)
    }
}

fn multistatus(inner: &str) -> HttpAnswer {
    let text = format!(
        "<?xml version=\"1.0\"?><multistatus xmlns=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:carddav\">{inner}\
         </multistatus>"
    );
    (207, String::new(), text)
}
