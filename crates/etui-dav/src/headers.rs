//! The headers that requests of WebDAV depend on.

use http::HeaderMap;
use http::header::{ACCEPT, HeaderName, IF_MATCH, IF_NONE_MATCH, USER_AGENT};

/// A list of entity tags (RFC 9110 section 8.8.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TagList {
    /// `*`
    Any,
    /// The opaque parts, without quotes.
    Tags(Vec<EntityTag>),
}

/// An entity tag of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntityTag {
    pub(crate) opaque: String,
    pub(crate) is_weak: bool,
}

/// The conditions of a request (RFC 9110 section 13.1).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Conditions {
    pub(crate) if_match: Option<TagList>,
    pub(crate) if_none_match: Option<TagList>,
}

impl Conditions {
    /// Reads `If-Match` and `If-None-Match`, and of `If` (RFC 4918 section 10.4) its entity tags.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let mut found = Self {
            if_match: tag_list(headers, &IF_MATCH),
            if_none_match: tag_list(headers, &IF_NONE_MATCH),
        };
        if let (None, Some(value)) = (&found.if_match, text(headers, "if")) {
            found.if_match = Some(TagList::Tags(tags_of_if(value)));
        }
        found
    }

    /// Returns true if there is no condition.
    pub(crate) fn is_empty(&self) -> bool {
        self.if_match.is_none() && self.if_none_match.is_none()
    }
}

/// Returns the entity tags of an `If` header that names nothing else. One that asks for a lock, or
/// negates, gives no tags: it is never true here, as there are no locks.
fn tags_of_if(value: &str) -> Vec<EntityTag> {
    let mut tags = Vec::new();
    let mut rest = value.trim();
    while !rest.is_empty() {
        // A tag `<URL>` before a list names the resource of the request, or another one; it is not looked at.
        if let Some(after) = rest.strip_prefix('<') {
            let Some((_, after)) = after.split_once('>') else {
                return Vec::new();
            };
            rest = after.trim_start();
        }
        let Some((list, after)) = rest.strip_prefix('(').and_then(|l| l.split_once(')')) else {
            return Vec::new();
        };
        let tag = list.trim();
        let tag = tag.strip_prefix('[').and_then(|tag| tag.strip_suffix(']'));
        match tag.map(parse_tags) {
            Some(mut found) if found.len() == 1 => tags.append(&mut found),
            _ => return Vec::new(),
        }
        rest = after.trim_start();
    }
    tags
}

fn tag_list(headers: &HeaderMap, name: &HeaderName) -> Option<TagList> {
    let mut tags = Vec::new();
    let mut is_there = false;
    for value in headers.get_all(name) {
        is_there = true;
        let value = String::from_utf8_lossy(value.as_bytes());
        if value.trim() == "*" {
            return Some(TagList::Any);
        }
        tags.append(&mut parse_tags(&value));
    }
    is_there.then_some(TagList::Tags(tags))
}

/// Parses a list of entity tags. One without quotes, as some clients send it, counts as it is.
fn parse_tags(list: &str) -> Vec<EntityTag> {
    let mut tags = Vec::new();
    let mut rest = list;
    loop {
        rest = rest.trim_start_matches([',', ' ', '\t']);
        if rest.is_empty() {
            return tags;
        }
        let (is_weak, after) = match rest.strip_prefix("W/") {
            Some(after) => (true, after),
            None => (false, rest),
        };
        let (opaque, after) = match after.strip_prefix('"') {
            Some(after) => after.split_once('"').unwrap_or((after, "")),
            None => {
                let end = after.find(',').unwrap_or(after.len());
                (after[..end].trim_end(), &after[end..])
            }
        };
        tags.push(EntityTag {
            opaque: opaque.to_owned(),
            is_weak,
        });
        rest = after;
    }
}

/// The header `Depth` (RFC 4918 section 10.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    Zero,
    One,
    Infinity,
}

/// Returns the depth; `None` if the header is missing or has another value.
pub(crate) fn depth(headers: &HeaderMap) -> Option<Depth> {
    match text(headers, "depth")?.trim() {
        "0" => Some(Depth::Zero),
        "1" => Some(Depth::One),
        depth if depth.eq_ignore_ascii_case("infinity") => Some(Depth::Infinity),
        _ => None,
    }
}

/// Returns true if the client wants no properties that are missing (`Prefer: return=minimal`, RFC 8144, or `Brief: t`).
pub(crate) fn prefers_minimal(headers: &HeaderMap) -> bool {
    prefers(headers, "return=minimal")
        || text(headers, "brief").is_some_and(|brief| brief.trim().eq_ignore_ascii_case("t"))
}

/// Returns true if the client wants the resource after a write (`Prefer: return=representation`).
pub(crate) fn prefers_representation(headers: &HeaderMap) -> bool {
    prefers(headers, "return=representation")
}

fn prefers(headers: &HeaderMap, wanted: &str) -> bool {
    let values = headers.get_all("prefer").iter();
    values.filter_map(|value| value.to_str().ok()).any(|value| {
        let preferences = value.split([',', ';']);
        preferences
            .map(|value| value.replace([' ', '\t', '"'], ""))
            .any(|value| value.eq_ignore_ascii_case(wanted))
    })
}

/// Returns true unless the client forbids to replace the destination (RFC 4918 section 10.6).
pub(crate) fn may_overwrite(headers: &HeaderMap) -> bool {
    !text(headers, "overwrite").is_some_and(|value| value.trim().eq_ignore_ascii_case("f"))
}

/// Returns the version of vCard that the client asks for by `Accept`: `text/vcard; version=4.0`.
pub(crate) fn accepted_vcard(headers: &HeaderMap) -> Option<String> {
    let values = headers.get_all(ACCEPT).iter();
    values
        .filter_map(|value| value.to_str().ok())
        .find_map(|value| {
            value.split(',').find_map(|range| {
                let mut parts = range.split(';').map(str::trim);
                let is_vcard = parts.next()?.eq_ignore_ascii_case("text/vcard");
                let version =
                    parts
                        .filter_map(|part| part.split_once('='))
                        .find_map(|(name, value)| {
                            let is_version = name.trim().eq_ignore_ascii_case("version");
                            is_version.then(|| value.trim().trim_matches('"').to_owned())
                        });
                version.filter(|_| is_vcard)
            })
        })
}

/// Returns true for Thunderbird, which starts again only if its token is refused by 400.
pub(crate) fn is_thunderbird(headers: &HeaderMap) -> bool {
    let agent = headers
        .get(USER_AGENT)
        .and_then(|agent| agent.to_str().ok());
    agent.is_some_and(|agent| agent.contains("Thunderbird"))
}

/// Returns the value of a header that is text.
pub(crate) fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use http::HeaderValue;

    use super::*;

    fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in all {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    fn tags(all: &[(&str, bool)]) -> Option<TagList> {
        let tags = all.iter().map(|(opaque, is_weak)| EntityTag {
            opaque: (*opaque).to_owned(),
            is_weak: *is_weak,
        });
        Some(TagList::Tags(tags.collect()))
    }

    #[test]
    fn conditions_are_lists_of_tags() {
        let if_match = |value: &str| Conditions::of(&headers(&[("if-match", value)])).if_match;
        assert_eq!(if_match("*"), Some(TagList::Any));
        assert_eq!(if_match(" \"a\""), tags(&[("a", false)]));
        assert_eq!(
            if_match("\"a,b\" ,W/\"c\",, d"),
            tags(&[("a,b", false), ("c", true), ("d", false)])
        );
        assert_eq!(if_match("\"a"), tags(&[("a", false)]));
        assert_eq!(if_match(""), tags(&[]));
        let both = Conditions::of(&headers(&[
            ("if-none-match", "\"a\""),
            ("if-none-match", "\"b\""),
        ]));
        assert_eq!(both.if_none_match, tags(&[("a", false), ("b", false)]));
        assert_eq!(both.if_match, None);
        assert!(Conditions::of(&headers(&[])).is_empty());
    }

    #[test]
    fn a_condition_that_is_not_understood_never_holds() {
        let of = |value: &str| Conditions::of(&headers(&[("if", value)])).if_match;
        assert_eq!(of("([\"a\"])"), tags(&[("a", false)]));
        assert_eq!(
            of("</x> ([\"a\"]) ([W/\"b\"])"),
            tags(&[("a", false), ("b", true)])
        );
        for other in [
            "(<opaquelocktoken:1>)",
            "(<urn:x> [\"a\"])",
            "(Not [\"a\"])",
            "([\"a\"]) (<urn:x>)",
            "([\"a\"",
            "<",
            "x",
        ] {
            assert_eq!(of(other), tags(&[]), "{other}");
        }
    }

    #[test]
    fn preferences_are_read() {
        assert!(prefers_minimal(&headers(&[(
            "prefer",
            "respond-async, return = minimal"
        )])));
        assert!(prefers_minimal(&headers(&[(
            "prefer",
            "return=\"minimal\"; x=y"
        )])));
        assert!(prefers_minimal(&headers(&[("brief", "t")])));
        assert!(!prefers_minimal(&headers(&[
            ("prefer", "return=representation"),
            ("brief", "f")
        ])));
        assert!(prefers_representation(&headers(&[(
            "prefer",
            "return=representation"
        )])));
        assert_eq!(depth(&headers(&[("depth", " 1")])), Some(Depth::One));
        assert_eq!(
            depth(&headers(&[("depth", "Infinity")])),
            Some(Depth::Infinity)
        );
        assert_eq!(depth(&headers(&[("depth", "2")])), None);
        assert!(may_overwrite(&headers(&[])));
        assert!(!may_overwrite(&headers(&[("overwrite", "F")])));
        let accepted = |value: &str| accepted_vcard(&headers(&[("accept", value)]));
        assert_eq!(
            accepted("*/*, text/vcard; charset=utf-8; version=4.0").as_deref(),
            Some("4.0")
        );
        assert_eq!(
            accepted("text/vcard;version=\"3.0\"").as_deref(),
            Some("3.0")
        );
        assert_eq!(accepted("text/vcard, text/x;version=3.0"), None);
    }
}
