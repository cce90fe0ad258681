//! Answers with many parts (RFC 4918 section 13), read as they come.

use std::io::BufRead;

use super::address::Address;
use crate::xml::{Element, Limits, Namespace, XmlError};

/// Bytes of a server's reason that are kept.
const MAX_REASON: usize = 300;

/// Limits of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerLimits {
    /// Its size in bytes.
    pub max_bytes: u64,
    /// The size in bytes of what it says of one resource, which is held in memory.
    pub max_response_bytes: u64,
    /// The number of its resources.
    pub max_responses: u64,
}

/// 1 GiB, since texts of 50 resources have up to 10 MiB each; 32 MiB for one, with the escapes of XML; 1,000,000 resources.
impl Default for AnswerLimits {
    fn default() -> Self {
        Self {
            max_bytes: 1 << 30,
            max_response_bytes: 32 << 20,
            max_responses: 1_000_000,
        }
    }
}

/// An answer that is not read to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// It is not XML, or beyond a limit.
    #[error("the server's answer cannot be read: {0}")]
    Xml(#[from] XmlError),
    /// It is another document, such as a page to log in.
    #[error("the server answers with another document ({0}) than CalDAV and CardDAV have")]
    OtherDocument(String),
    /// It has more resources than [`AnswerLimits::max_responses`].
    #[error("the server's answer has more than {0} resources")]
    TooMany(u64),
}

/// What an answer has beside its resources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Multistatus {
    /// The token of a sync-collection report.
    pub sync_token: Option<String>,
    /// The number of resources.
    pub responses: u64,
}

/// What an answer says of one resource.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Response {
    /// Its reference, as the server wrote it.
    pub href: String,
    /// The status of the resource as a whole; `None` where each property has its own.
    pub status: Option<u16>,
    /// The properties that it has.
    pub properties: Vec<Element>,
    /// Why the server refuses it, in its own words.
    pub reason: Option<String>,
}

impl Response {
    /// Takes a `response`; it may be of several resources that have one status (RFC 4918 section 14.24).
    fn all_of(mut element: Element) -> impl Iterator<Item = Self> {
        let dav = &Namespace::Dav;
        let status = element
            .child(dav, "status")
            .map(|status| status_code(&status.text));
        let reason = reason_of(&element);
        let mut hrefs = Vec::new();
        let mut properties = Vec::new();
        for child in &mut element.children {
            if child.is(dav, "href") {
                hrefs.push(child.text.trim().to_owned());
            } else if child.is(dav, "propstat") {
                let status = child.child(dav, "status");
                // A server that leaves the status out means that it has them.
                let status = status.map_or(200, |status| status_code(&status.text));
                let found = child
                    .children
                    .iter_mut()
                    .find(|found| found.is(dav, "prop"));
                if let (200..=299, Some(found)) = (status, found) {
                    properties.append(&mut found.children);
                }
            }
        }
        hrefs.into_iter().map(move |href| Self {
            href,
            status,
            properties: properties.clone(),
            reason: reason.clone(),
        })
    }

    /// Returns a property.
    #[must_use]
    pub fn property(&self, ns: &Namespace, name: &str) -> Option<&Element> {
        self.properties.iter().find(|found| found.is(ns, name))
    }

    /// Returns the text of a property, if it is not empty.
    #[must_use]
    pub fn text(&self, ns: &Namespace, name: &str) -> Option<&str> {
        let text = self.property(ns, name)?.text.trim();
        Some(text).filter(|text| !text.is_empty())
    }

    /// Returns the references in a property.
    pub fn hrefs(&self, ns: &Namespace, name: &str) -> impl Iterator<Item = &str> {
        let found = self.property(ns, name).into_iter();
        let all = found.flat_map(|found| found.children_named(&Namespace::Dav, "href"));
        all.map(|href| href.text.trim())
            .filter(|href| !href.is_empty())
    }

    /// Returns true if this says of the collection itself that the answer has not all of it (RFC 6578 section 3.6).
    #[must_use]
    pub fn is_cut(&self, collection: &Address) -> bool {
        let path = collection
            .resolve(&self.href)
            .map(|found| found.path().to_owned());
        let own = collection.path().trim_end_matches('/');
        self.status == Some(507) && path.is_ok_and(|path| path.trim_end_matches('/') == own)
    }

    /// Returns true if the resource is a collection, of whatever kind.
    #[must_use]
    pub fn is_collection(&self) -> bool {
        let kind = self.property(&Namespace::Dav, "resourcetype");
        kind.is_some_and(|kind| kind.child(&Namespace::Dav, "collection").is_some())
    }
}

/// What an answer says of a member of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CollectionItem {
    /// Its path in normal form, by which it is known.
    pub href: String,
    /// Its entity tag as the server wrote it.
    pub etag: Option<String>,
    /// Its text, if it was asked for.
    pub text: Option<String>,
    /// The status, if it is not there or cannot be had; 404 and 410 say that it is gone.
    pub failure: Option<u16>,
    /// Why it cannot be had, in the server's own words.
    pub reason: Option<String>,
}

impl CollectionItem {
    /// Returns what a response says of a member; `None` if it is of the collection itself, of another collection
    /// in it, or of a resource that is not in it.
    #[must_use]
    pub fn of(collection: &Address, response: &Response) -> Option<Self> {
        let address = collection.resolve(&response.href).ok()?;
        let (path, own) = (address.path(), collection.path());
        let folder = own.trim_end_matches('/');
        let name = path.strip_prefix(folder)?.strip_prefix('/')?;
        let is_member = !name.is_empty() && !name.contains('/');
        if !is_member || response.is_collection() {
            return None;
        }
        let text = [
            (Namespace::CardDav, "address-data"),
            (Namespace::CalDav, "calendar-data"),
        ];
        let text = text
            .iter()
            .find_map(|(ns, name)| response.property(ns, name));
        let failure = response
            .status
            .filter(|status| !(200..300).contains(status));
        Some(Self {
            href: path.to_owned(),
            etag: response.text(&Namespace::Dav, "getetag").map(str::to_owned),
            text: text.map(|text| text.text.clone()),
            failure,
            reason: response.reason.clone(),
        })
    }

    /// Returns true if the server says that there is no such member.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        matches!(self.failure, Some(404 | 410))
    }
}

/// Reads a `multistatus`; `on_response` is given each resource as it comes.
///
/// # Errors
/// [`AnswerError`]. Resources that came before are passed on: what is not among them is unknown, not gone.
pub fn read_multistatus(
    body: impl BufRead,
    limits: &AnswerLimits,
    on_response: &mut dyn FnMut(Response),
) -> Result<Multistatus, AnswerError> {
    let mut found = Multistatus::default();
    let xml_limits = Limits {
        max_bytes: limits.max_bytes,
        max_child_bytes: limits.max_response_bytes,
        ..Limits::default()
    };
    let root = Element::parse_children(body, &xml_limits, &mut |child| {
        if child.is(&Namespace::Dav, "response") {
            for response in Response::all_of(child) {
                found.responses += 1;
                if found.responses <= limits.max_responses {
                    on_response(response);
                }
            }
        } else if child.is(&Namespace::Dav, "sync-token") {
            let token = child.text.trim();
            found.sync_token = Some(token.to_owned()).filter(|token| !token.is_empty());
        }
    })?;
    if !root.is(&Namespace::Dav, "multistatus") {
        let name: String = root.name.chars().take(40).collect();
        return Err(AnswerError::OtherDocument(name));
    }
    match found.responses > limits.max_responses {
        true => Err(AnswerError::TooMany(limits.max_responses)),
        false => Ok(found),
    }
}

/// Returns the server's own reason in the body of a refusal: the description or the names of the elements in
/// `DAV:error`, the text of a page, or the text itself.
#[must_use]
pub fn failure_reason(body: &[u8]) -> Option<String> {
    let limits = Limits::default();
    let text = match Element::parse(body, &limits) {
        Ok(error) => reason_of_error(&error)?,
        Err(_) => {
            let text = String::from_utf8_lossy(body);
            let mut plain = String::new();
            let mut is_tag = false;
            for c in text.chars().take(4096) {
                match c {
                    '<' => is_tag = true,
                    '>' => {
                        is_tag = false;
                        plain.push(' ');
                    }
                    c if !is_tag => plain.push(c),
                    _ => {}
                }
            }
            plain
        }
    };
    shortened(&text)
}

/// Returns the text on one line, without what a terminal would take as a command.
pub(super) fn shortened(text: &str) -> Option<String> {
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    let mut text = words.join(" ");
    if text.len() > MAX_REASON {
        text.truncate(text.floor_char_boundary(MAX_REASON));
        text.push_str("...");
    }
    Some(text).filter(|text| !text.is_empty())
}

/// Returns the reason within a response.
fn reason_of(response: &Element) -> Option<String> {
    let description = response.child(&Namespace::Dav, "responsedescription");
    let said = description.and_then(|description| shortened(&description.text));
    let error = response.child(&Namespace::Dav, "error");
    said.or_else(|| shortened(&reason_of_error(error?)?))
}

/// Returns the texts in an error, such as sabre's `message`, else the names of its elements.
fn reason_of_error(error: &Element) -> Option<String> {
    let is_text = |child: &&Element| {
        let known = ["message", "responsedescription", "error-description"];
        known.contains(&child.name.as_str())
    };
    let texts: Vec<&str> = error
        .children
        .iter()
        .filter(is_text)
        .map(|child| child.text.trim())
        .filter(|text| !text.is_empty())
        .collect();
    let names: Vec<&str> = error
        .children
        .iter()
        .map(|child| child.name.as_str())
        .collect();
    let joined = match (texts.is_empty(), names.is_empty()) {
        (false, _) => texts.join(" "),
        (true, false) => names.join(" "),
        (true, true) => error.text.clone(),
    };
    Some(joined)
}

/// Returns the number of a status line: `HTTP/1.1 200 OK`. One that is none says nothing good.
fn status_code(line: &str) -> u16 {
    let number = line.split_ascii_whitespace().nth(1);
    number.and_then(|number| number.parse().ok()).unwrap_or(500)
}
