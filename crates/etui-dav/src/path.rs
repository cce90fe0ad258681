//! Paths of requests, and hrefs of answers.
//!
//! ```text
//! ROOT                        the root
//! ROOT me/                    the principal
//! ROOT addressbooks/          the home of the address books
//! ROOT addressbooks/ID/       a collection
//! ROOT addressbooks/ID/NAME   a resource
//! ROOT calendars/...          likewise
//! ```
//!
//! A path is split at its slashes first, and each segment is decoded alone: a slash or NUL that
//! appears by decoding makes the path bad, as do empty segments and `..`.

use etui::CollectionId;
use http::Request;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Characters that are encoded: all but the unreserved ones of RFC 3986 section 2.3.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The two kinds of collections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Home {
    AddressBooks,
    Calendars,
}

impl Home {
    pub(crate) const ALL: [Self; 2] = [Self::AddressBooks, Self::Calendars];

    pub(crate) fn segment(self) -> &'static str {
        match self {
            Self::AddressBooks => "addressbooks",
            Self::Calendars => "calendars",
        }
    }
}

/// The target of a path, which may not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// `/` of the server, above the root.
    Server,
    Root,
    Principal,
    Home(Home),
    Collection(Home, String),
    Resource(Home, String, String),
    /// Below the root, but never anything.
    Nothing,
}

/// A path that is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadPath {
    #[error("the path is not absolute")]
    Relative,
    #[error("the path has an empty segment, or one of dots")]
    Segment,
    #[error(
        "the path is not percent-encoded UTF-8 without slashes and control characters in its segments"
    )]
    Encoding,
}

impl Target {
    /// Parses a path (without query) below `root`.
    pub(crate) fn parse(path: &str, root: &str) -> Result<Self, BadPath> {
        let path = path.strip_prefix('/').ok_or(BadPath::Relative)?;
        if path.is_empty() {
            return Ok(Self::Server);
        }
        let (path, has_slash) = match path.strip_suffix('/') {
            Some(path) => (path, true),
            None => (path, false),
        };
        let segments = path.split('/').map(decode).collect::<Result<Vec<_>, _>>()?;
        let root: Vec<String> = root
            .split('/')
            .filter(|segment| !segment.is_empty())
            .map(decode)
            .collect::<Result<_, _>>()?;
        let Some(below) = segments.strip_prefix(root.as_slice()) else {
            return Ok(Self::Nothing);
        };
        let home = |segment: &str| Home::ALL.into_iter().find(|home| home.segment() == segment);
        Ok(match below {
            [] => Self::Root,
            [first] if first == "me" => Self::Principal,
            [first, rest @ ..] => match (home(first), rest) {
                (Some(home), []) => Self::Home(home),
                (Some(home), [id]) => Self::Collection(home, id.clone()),
                (Some(home), [id, name]) if !has_slash => {
                    Self::Resource(home, id.clone(), name.clone())
                }
                _ => Self::Nothing,
            },
        })
    }

    /// Parses an href: an absolute path, or the path of a URL.
    pub(crate) fn parse_href(href: &str, root: &str) -> Result<Self, BadPath> {
        Self::parse(path_of_href(href.trim())?, root)
    }
}

/// Returns the path in a URL or in an absolute path, without query and fragment.
fn path_of_href(href: &str) -> Result<&str, BadPath> {
    let path = match href.split_once("://") {
        Some((scheme, rest)) if !scheme.is_empty() && !scheme.contains('/') => {
            rest.find('/').map_or("/", |at| &rest[at..])
        }
        _ => href,
    };
    let end = path.find(['?', '#']).unwrap_or(path.len());
    match path.starts_with('/') {
        true => Ok(&path[..end]),
        false => Err(BadPath::Relative),
    }
}

/// Decodes one segment.
fn decode(segment: &str) -> Result<String, BadPath> {
    let bytes = segment.as_bytes();
    let is_encoded = |at: usize| {
        let digits = bytes.get(at + 1..at + 3);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    let mut escapes = bytes.iter().enumerate().filter(|(_, b)| **b == b'%');
    if !escapes.all(|(at, _)| is_encoded(at)) {
        return Err(BadPath::Encoding);
    }
    let text = percent_decode_str(segment)
        .decode_utf8()
        .map_err(|_| BadPath::Encoding)?;
    if text.is_empty() || text == "." || text == ".." {
        return Err(BadPath::Segment);
    }
    if text.contains(['/', '\0']) {
        return Err(BadPath::Encoding);
    }
    Ok(text.into_owned())
}

/// Returns true for the paths at which clients look for a server (RFC 6764 section 5). Requests of any method
/// are redirected from there to the root, with 301.
///
/// ```
/// assert!(etui_dav::well_known("/.well-known/carddav"));
/// assert!(!etui_dav::well_known("/dav/"));
/// ```
#[must_use]
pub fn well_known(path: &str) -> bool {
    let path = path.strip_suffix('/').unwrap_or(path);
    matches!(path, "/.well-known/caldav" | "/.well-known/carddav")
}

/// Returns true if the answer to a request needs a collection of another person, which has this number in the homes of
/// the user: it is about that one, or lists a home.
///
/// ```
/// use etui::CollectionId;
/// use etui_dav::concerns;
/// use http::Request;
/// let get = Request::get("/dav/ada/calendars/17/1.ics").body(())?;
/// assert!(concerns(&get, "/dav/ada/", CollectionId(17)) && !concerns(&get, "/dav/ada/", CollectionId(18)));
/// let list = Request::builder().method("PROPFIND").uri("/dav/ada/calendars/").header("depth", "1").body(())?;
/// assert!(concerns(&list, "/dav/ada/", CollectionId(17)));
/// # Ok::<(), http::Error>(())
/// ```
#[must_use]
pub fn concerns<B>(request: &Request<B>, root: &str, collection: CollectionId) -> bool {
    match Target::parse(request.uri().path(), root) {
        Ok(Target::Collection(_, segment) | Target::Resource(_, segment, _)) => {
            segment == collection.to_string()
        }
        Ok(Target::Home(_)) => {
            let depth = request.headers().get("depth");
            depth.is_none_or(|depth| depth != "0")
        }
        _ => false,
    }
}

/// Returns the href of a home.
pub(crate) fn home_href(root: &str, home: Home) -> String {
    format!("{root}{}/", home.segment())
}

/// Returns the href of the principal.
pub(crate) fn principal_href(root: &str) -> String {
    format!("{root}me/")
}

/// Returns the href of a collection.
pub(crate) fn collection_href(root: &str, home: Home, id: &str) -> String {
    let id = utf8_percent_encode(id, ENCODED);
    format!("{root}{}/{id}/", home.segment())
}

/// Appends the encoded name of a resource to the href of its collection.
pub(crate) fn resource_href(collection: &str, name: &str) -> String {
    let name = utf8_percent_encode(name, ENCODED);
    format!("{collection}{name}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn paths_name_their_targets() {
        let resource = |name: &str| Target::Resource(Home::Calendars, "7".into(), name.to_owned());
        for (path, target) in [
            ("/", Target::Server),
            ("/dav", Target::Root),
            ("/dav/", Target::Root),
            ("/dav/me", Target::Principal),
            ("/dav/me/", Target::Principal),
            ("/dav/me/x", Target::Nothing),
            ("/dav/calendars", Target::Home(Home::Calendars)),
            ("/dav/addressbooks/", Target::Home(Home::AddressBooks)),
            (
                "/dav/calendars/7",
                Target::Collection(Home::Calendars, "7".into()),
            ),
            (
                "/dav/calendars/7/",
                Target::Collection(Home::Calendars, "7".into()),
            ),
            ("/dav/calendars/7/a%40b.ics", resource("a@b.ics")),
            ("/%64av/calendars/7/a@b.ics", resource("a@b.ics")),
            ("/dav/calendars/7/a%0a%25+b%C3%A4", resource("a\n%+bä")),
            ("/dav/calendars/7/a/", Target::Nothing),
            ("/dav/calendars/7/a/b", Target::Nothing),
            ("/dav/other/", Target::Nothing),
            ("/davx/", Target::Nothing),
            ("/elsewhere", Target::Nothing),
        ] {
            assert_eq!(Target::parse(path, "/dav/"), Ok(target), "{path}");
        }
        assert_eq!(
            Target::parse("/dav/ada/me/", "/dav/ada/"),
            Ok(Target::Principal)
        );
        assert_eq!(
            Target::parse("/dav/bob/me/", "/dav/ada/"),
            Ok(Target::Nothing)
        );
    }

    #[test]
    fn no_encoding_leaves_its_segment() {
        for path in [
            "dav/",
            "/dav//me",
            "//dav/",
            "/dav/./me",
            "/dav/../me",
            "/dav/%2e%2e/me",
            "/dav/calendars/7/..",
            "/dav/calendars/7/%2E",
            "/dav/calendars/7/a%2fb",
            "/dav/calendars/7/a%2Fb",
            "/dav/calendars/7/a%00b",
            "/dav/calendars/7/a%",
            "/dav/calendars/7/a%4",
            "/dav/calendars/7/a%+1",
            "/dav/calendars/7/%ff",
        ] {
            assert!(Target::parse(path, "/dav/").is_err(), "{path}");
        }
        // Decoded once, not twice.
        assert_eq!(
            Target::parse("/dav/calendars/7/a%252fb", "/dav/"),
            Ok(Target::Resource(
                Home::Calendars,
                "7".into(),
                "a%2fb".into()
            ))
        );
    }

    #[test]
    fn hrefs_come_back() {
        let collection = collection_href("/dav/", Home::AddressBooks, "my book");
        assert_eq!(collection, "/dav/addressbooks/my%20book/");
        for name in ["a@b.vcf", "%40", "ä\n?#&", "..."] {
            let href = resource_href(&collection, name);
            assert_eq!(
                Target::parse_href(&href, "/dav/"),
                Ok(Target::Resource(
                    Home::AddressBooks,
                    "my book".into(),
                    name.into()
                )),
                "{href}"
            );
        }
        assert_eq!(
            Target::parse_href(" https://example.org:8443/dav/me/?x=/y#z\n", "/dav/"),
            Ok(Target::Principal)
        );
        assert_eq!(
            Target::parse_href("http://example.org", "/dav/"),
            Ok(Target::Server)
        );
        assert!(Target::parse_href("me/", "/dav/").is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_path_is_parsed_or_refused(path in "(/|dav|calendars|%|[0-9a-f]|\\.|\\PC){0,30}") {
            if let Ok(Target::Resource(_, id, name)) = Target::parse(&path, "/dav/") {
                for segment in [id, name] {
                    proptest::prop_assert!(!segment.contains(['/', '\0']) && segment != "..");
                }
            }
        }
    }
}
