//! [`Address`]: where a request goes, and whether credentials may.

use http::Uri;
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// What a path has besides letters and digits without being escaped (RFC 3986 section 3.3).
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// What a query cannot have; its escapes stay as they are.
const QUERY: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>');

/// Providers that keep the collections of an account on other hosts than the one that they name: all hosts of the
/// domain are theirs.
const PROVIDERS: &[&str] = &["icloud.com"];

/// The URL of a server, a collection or a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    is_https: bool,
    host: String,
    port: u16,
    /// In the normal form of [`normal_path`], with the query.
    path: String,
}

/// A text that is no address, or an address that a server may not send us to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It is none of https and http.
    #[error("{0}: not an address of a server; write it as https://HOST/ or https://HOST/PATH/")]
    NoAddress(String),
    /// It has a user or a password.
    #[error("{0}: leave user and password out of the address; they are asked for")]
    Credentials(String),
    /// The server names another host.
    #[error("the server at {from} refers to {to}, another host: the password is not sent there")]
    OtherHost {
        /// The host of the address that the person gave.
        from: String,
        /// The address that the server names.
        to: String,
    },
    /// The server names an address without TLS.
    #[error("the server at {from} refers to {to}, without TLS: nothing is sent there")]
    NotSecure {
        /// The host of the address that the person gave.
        from: String,
        /// The address that the server names.
        to: String,
    },
}

impl Address {
    /// Parses an absolute URL; a host alone is one of https.
    ///
    /// # Errors
    /// [`AddressError::NoAddress`], [`AddressError::Credentials`].
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        // What is before an @ may be a password, in whatever way it is written, and is not shown.
        let bad = || match text.rsplit_once('@') {
            Some((_, host)) => AddressError::Credentials(printable(host)),
            None => AddressError::NoAddress(printable(text)),
        };
        let with_scheme = match text.contains("://") {
            true => text.to_owned(),
            false => format!("https://{text}"),
        };
        let uri: Uri = with_scheme.parse().map_err(|_| bad())?;
        let is_https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(bad()),
        };
        let authority = uri.authority().ok_or_else(bad)?;
        if authority.as_str().contains('@') {
            let (_, host) = authority.as_str().rsplit_once('@').unwrap_or_default();
            return Err(AddressError::Credentials(printable(host)));
        }
        let host = authority.host().to_ascii_lowercase();
        if host.is_empty() {
            return Err(bad());
        }
        let port = match authority.port() {
            Some(port) => port.as_u16(),
            // A port that is no number.
            None if authority.as_str().len() > host.len() => return Err(bad()),
            None if is_https => 443,
            None => 80,
        };
        let reference = uri
            .path_and_query()
            .map_or("/", |reference| reference.as_str());
        let path = normal_reference(reference);
        Ok(Self {
            is_https,
            host,
            port,
            path,
        })
    }

    /// Returns the host.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns true for https.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.is_https
    }

    /// Returns the path, in the form of [`normal_path`].
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns true if both have scheme, host and port in common.
    #[must_use]
    pub fn is_same_server(&self, other: &Self) -> bool {
        (self.is_https, &self.host, self.port) == (other.is_https, &other.host, other.port)
    }

    /// Returns the address on the same server with this path.
    #[must_use]
    pub fn with_path(&self, path: &str) -> Self {
        Self {
            path: normal_path(path),
            ..self.clone()
        }
    }

    /// Resolves a reference of an answer: a path, an absolute URL, or a path below this address.
    ///
    /// # Errors
    /// [`AddressError::NoAddress`], [`AddressError::Credentials`].
    pub fn resolve(&self, href: &str) -> Result<Self, AddressError> {
        let href = href.trim();
        let is_absolute = ["https://", "http://"].iter().any(|scheme| {
            let start = href.get(..scheme.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        });
        if is_absolute {
            // A server may write what a URL cannot have, such as blanks.
            let (head, path) = match href.get(8..).and_then(|rest| rest.find('/')) {
                Some(slash) => href.split_at(8 + slash),
                None => (href, "/"),
            };
            let mut found = Self::parse(head)?;
            found.path = normal_reference(path);
            return Ok(found);
        }
        if let Some(rest) = href.strip_prefix("//") {
            let scheme = if self.is_https { "https" } else { "http" };
            return self.resolve(&format!("{scheme}://{rest}"));
        }
        let path = match href.starts_with('/') {
            true => href.to_owned(),
            false => {
                let own = self.path.split('?').next().unwrap_or_default();
                let folder = own.rfind('/').map_or("/", |slash| &own[..=slash]);
                format!("{folder}{href}")
            }
        };
        Ok(Self {
            path: normal_reference(&path),
            ..self.clone()
        })
    }

    /// Checks that the credentials for this address, which a person gave, may go to `other`, which a server names:
    /// to the same host, or to one of the same provider, and never without TLS if this address has it.
    ///
    /// # Errors
    /// [`AddressError::OtherHost`], [`AddressError::NotSecure`].
    pub fn trusts(&self, other: &Self) -> Result<(), AddressError> {
        let (from, to) = (self.host.clone(), other.to_string());
        if self.is_https && !other.is_https {
            return Err(AddressError::NotSecure { from, to });
        }
        let is_in = |host: &str, domain: &str| {
            let before = host.strip_suffix(domain);
            before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
        };
        let is_provider = |domain: &&str| is_in(&self.host, domain) && is_in(&other.host, domain);
        let is_known = self.is_https && PROVIDERS.iter().any(is_provider);
        // Another port is another program; only https itself may be written in two ways.
        match self.is_same_server(other) || is_known || self.is_upgrade(other) {
            true => Ok(()),
            false => Err(AddressError::OtherHost { from, to }),
        }
    }

    /// Returns true if `other` is this server with TLS, at the ports of http and https.
    fn is_upgrade(&self, other: &Self) -> bool {
        !self.is_https
            && other.is_https
            && self.host == other.host
            && (self.port, other.port) == (80, 443)
    }
}

/// Writes the URL.
impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.is_https { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.host)?;
        if self.port != if self.is_https { 443 } else { 80 } {
            write!(f, ":{}", self.port)?;
        }
        f.write_str(&self.path)
    }
}

/// Returns a text as a terminal may show it.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// Returns path and query in their normal form, without a fragment.
fn normal_reference(path: &str) -> String {
    let path = path.split('#').next().unwrap_or_default();
    match path.split_once('?') {
        Some((path, query)) => {
            // Controls, such as a line end, and blanks would end the line of a request.
            let query = percent_encode(query.as_bytes(), QUERY);
            format!("{}?{query}", normal_path(path))
        }
        None => normal_path(path),
    }
}

/// Returns the form of a path by which two are compared: servers escape `@`, `:` and blanks or do not, and differ in
/// the case of the digits of an escape.
///
/// ```
/// use etui_dav::client::normal_path;
/// assert_eq!(normal_path("/a%40b/x%2fy/ü z.ics"), "/a@b/x%2Fy/%C3%BC%20z.ics");
/// ```
#[must_use]
pub fn normal_path(path: &str) -> String {
    let mut segments = Vec::new();
    let mut rest = path.split('/').peekable();
    while let Some(segment) = rest.next() {
        let decoded: Vec<u8> = percent_decode_str(segment).collect();
        // Names that mean another folder are none (RFC 3986 section 5.2.4); the last one leaves a slash.
        let is_step = matches!(decoded.as_slice(), b"." | b"..");
        if decoded == b".." && segments.len() > 1 {
            segments.pop();
        }
        match is_step {
            false => segments.push(percent_encode(&decoded, PATH).to_string()),
            true if rest.peek().is_none() => segments.push(String::new()),
            true => {}
        }
    }
    let path = segments.join("/");
    match path.starts_with('/') {
        true => path,
        false => format!("/{path}"),
    }
}
