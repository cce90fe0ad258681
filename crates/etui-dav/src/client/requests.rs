//! The requests of a client.

use http::{HeaderMap, HeaderValue, Method, header};

use super::address::Address;
use super::discovery::RemoteKind;
use crate::xml::{Namespace, Writer};

/// A request: where it goes, its method, headers and body.
#[derive(Debug, Clone)]
pub struct ClientRequest {
    address: Address,
    method: Method,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl ClientRequest {
    fn new(address: &Address, method: &str, body: Vec<u8>) -> Self {
        // The methods are those of this module.
        let method = Method::from_bytes(method.as_bytes()).unwrap_or(Method::GET);
        Self {
            address: address.clone(),
            method,
            headers: HeaderMap::new(),
            body,
        }
    }

    /// Returns where it goes.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Returns the method.
    #[must_use]
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// Returns the headers, without those of the connection and of credentials.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Returns the body; empty if there is none.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Returns the request at another address, where a server has moved the resource.
    #[must_use]
    pub fn at(mut self, address: Address) -> Self {
        self.address = address;
        self
    }

    fn with(mut self, name: header::HeaderName, value: &str) -> Self {
        // A value with control characters cannot be sent: a condition that is not kept would overwrite, so
        // that it is replaced by one that no resource meets.
        let value = HeaderValue::from_str(value);
        let value = value.unwrap_or(HeaderValue::from_static("\"\""));
        self.headers.insert(name, value);
        self
    }

    fn xml(address: &Address, method: &str, depth: &'static str, body: Vec<u8>) -> Self {
        let depth_header = header::HeaderName::from_static("depth");
        Self::new(address, method, body)
            .with(header::CONTENT_TYPE, "application/xml; charset=utf-8")
            .with(depth_header, depth)
    }
}

/// The condition of a `PUT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutCondition<'e> {
    /// There is nothing there.
    New,
    /// The resource has this entity tag, as the server wrote it.
    Unchanged(&'e str),
}

/// Writes a document; the writes are to memory.
fn document(write: impl FnOnce(&mut Writer<'_>) -> std::io::Result<()>) -> Vec<u8> {
    let mut body = Vec::new();
    let mut writer = Writer::new(&mut body);
    let written = writer.declaration().and_then(|()| write(&mut writer));
    let _in_memory = written.and_then(|()| writer.finish());
    body
}

/// Asks for properties at `depth`, `0` or `1`.
pub(super) fn propfind(
    address: &Address,
    depth: &'static str,
    properties: &[(Namespace, &str)],
) -> ClientRequest {
    let body = document(|w| {
        w.open(&Namespace::Dav, "propfind")?;
        w.open(&Namespace::Dav, "prop")?;
        for (ns, name) in properties {
            w.empty(ns, name)?;
        }
        Ok(())
    });
    ClientRequest::xml(address, "PROPFIND", depth, body)
}

/// Asks for the collections in a home, with what is known of each.
#[must_use]
pub fn list_collections(home: &Address) -> ClientRequest {
    use Namespace::{Apple, CalDav, CalendarServer, CardDav, Dav};
    propfind(
        home,
        "1",
        &[
            (Dav, "resourcetype"),
            (Dav, "displayname"),
            (Dav, "sync-token"),
            (CalendarServer, "getctag"),
            (Dav, "current-user-privilege-set"),
            (CalDav, "supported-calendar-component-set"),
            (Apple, "calendar-color"),
            (CardDav, "supported-address-data"),
        ],
    )
}

/// Asks for names and entity tags of all members of a collection.
#[must_use]
pub fn list_members(collection: &Address) -> ClientRequest {
    let properties = [
        (Namespace::Dav, "getetag"),
        (Namespace::Dav, "resourcetype"),
    ];
    propfind(collection, "1", &properties)
}

/// Asks for a published calendar, unless it is as it was: `etag` and `modified` are the headers of the last answer,
/// empty for one that did not have them (RFC 9110 section 13.1).
#[must_use]
pub fn get_if_changed(file: &Address, etag: &str, modified: &str) -> ClientRequest {
    let mut request = ClientRequest::new(file, "GET", Vec::new())
        .with(header::ACCEPT, "text/calendar, */*;q=0.5");
    if !etag.is_empty() {
        request = request.with(header::IF_NONE_MATCH, etag);
    }
    if !modified.is_empty() {
        request = request.with(header::IF_MODIFIED_SINCE, modified);
    }
    request
}

/// Sends a form, as authorization servers take it (RFC 6749 appendix B).
#[must_use]
pub fn post_form(at: &Address, form: String) -> ClientRequest {
    ClientRequest::new(at, "POST", form.into_bytes())
        .with(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .with(header::ACCEPT, "application/json")
}

/// Asks for the changes of a collection since a token, or for all members (RFC 6578 section 3.2).
#[must_use]
pub fn sync_collection(collection: &Address, token: Option<&str>) -> ClientRequest {
    let body = document(|w| {
        w.open(&Namespace::Dav, "sync-collection")?;
        w.leaf(&Namespace::Dav, "sync-token", token.unwrap_or_default())?;
        w.leaf(&Namespace::Dav, "sync-level", "1")?;
        w.open(&Namespace::Dav, "prop")?;
        w.empty(&Namespace::Dav, "getetag")
    });
    // Section 3.2: Depth is 0. Servers that want 1 as in the drafts take it from `sync-level`.
    ClientRequest::xml(collection, "REPORT", "0", body)
}

/// Asks for the texts of some members by their hrefs, as the server wrote them.
#[must_use]
pub fn multiget(collection: &Address, kind: RemoteKind, hrefs: &[&str]) -> ClientRequest {
    let (ns, report, data) = match kind {
        RemoteKind::Contacts => (Namespace::CardDav, "addressbook-multiget", "address-data"),
        RemoteKind::Calendar => (Namespace::CalDav, "calendar-multiget", "calendar-data"),
    };
    let body = document(|w| {
        w.open(&ns, report)?;
        w.open(&Namespace::Dav, "prop")?;
        w.empty(&Namespace::Dav, "getetag")?;
        w.empty(&ns, data)?;
        w.close()?;
        for href in hrefs {
            w.leaf(&Namespace::Dav, "href", href)?;
        }
        Ok(())
    });
    // CardDAV wants a depth of 0, CalDAV ignores it (RFC 6352 section 8.7, RFC 4791 section 7.9).
    ClientRequest::xml(collection, "REPORT", "0", body)
}

/// Asks for the state of a collection: its token (RFC 6578) and `getctag`.
#[must_use]
pub fn collection_state(collection: &Address) -> ClientRequest {
    let properties = [
        (Namespace::Dav, "resourcetype"),
        (Namespace::Dav, "sync-token"),
        (Namespace::CalendarServer, "getctag"),
    ];
    propfind(collection, "0", &properties)
}

/// Asks for a resource.
#[must_use]
pub fn get(resource: &Address) -> ClientRequest {
    ClientRequest::new(resource, "GET", Vec::new())
}

/// Saves a text.
#[must_use]
pub fn put(
    resource: &Address,
    kind: RemoteKind,
    text: Vec<u8>,
    condition: PutCondition<'_>,
) -> ClientRequest {
    let content = match kind {
        RemoteKind::Contacts => "text/vcard; charset=utf-8",
        RemoteKind::Calendar => "text/calendar; charset=utf-8",
    };
    let request = ClientRequest::new(resource, "PUT", text).with(header::CONTENT_TYPE, content);
    match condition {
        PutCondition::New => request.with(header::IF_NONE_MATCH, "*"),
        PutCondition::Unchanged(etag) => request.with(header::IF_MATCH, etag),
    }
}

/// Removes a resource that still has this entity tag.
#[must_use]
pub fn delete(resource: &Address, etag: &str) -> ClientRequest {
    ClientRequest::new(resource, "DELETE", Vec::new()).with(header::IF_MATCH, etag)
}
