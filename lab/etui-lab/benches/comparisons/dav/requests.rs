//! The requests, in the forms that DAVx5 and Thunderbird send (RFC 4791, RFC 6352, RFC 6578).

use etui::calendar::time::Timestamp;

use super::http::HttpRequest;
use super::workload::{NAME_PART, NamedText, ResourceKind, queried_week};

const XML: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n";
const NAMESPACES: &str = "xmlns:D=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:caldav\" \
                          xmlns:A=\"urn:ietf:params:xml:ns:carddav\"";

fn xml(method: &'static str, path: &str, depth: &str, body: &str) -> HttpRequest {
    HttpRequest {
        method,
        path: path.to_owned(),
        headers: vec![
            ("Content-Type", "application/xml; charset=utf-8".to_owned()),
            ("Depth", depth.to_owned()),
        ],
        body: format!("{XML}{body}"),
    }
}

/// All names with their ETags.
pub fn list(collection: &str) -> HttpRequest {
    let body = format!("<D:propfind {NAMESPACES}><D:prop><D:getetag/></D:prop></D:propfind>");
    xml("PROPFIND", collection, "1", &body)
}

/// The changes since a token, or all resources.
pub fn sync(collection: &str, token: Option<&str>) -> HttpRequest {
    let token = token.unwrap_or_default();
    let body = format!(
        "<D:sync-collection {NAMESPACES}><D:sync-token>{}</D:sync-token>\
         <D:sync-level>1</D:sync-level><D:prop><D:getetag/></D:prop></D:sync-collection>",
        quick_xml::escape::escape(token)
    );
    xml("REPORT", collection, "0", &body)
}

#[derive(Debug, Clone, Copy)]
pub enum SaveCondition<'e> {
    /// `If-None-Match: *`
    IsNew,
    /// `If-Match`
    Has(&'e str),
}

/// Saves a resource.
pub fn put(
    collection: &str,
    kind: ResourceKind,
    text: &NamedText,
    condition: Option<SaveCondition<'_>>,
) -> HttpRequest {
    let mut headers = vec![("Content-Type", kind.content_type().to_owned())];
    match condition {
        Some(SaveCondition::IsNew) => headers.push(("If-None-Match", "*".to_owned())),
        Some(SaveCondition::Has(etag)) => headers.push(("If-Match", etag.to_owned())),
        None => {}
    }
    HttpRequest {
        method: "PUT",
        path: format!("{collection}{}", text.name),
        headers,
        body: text.text.clone(),
    }
}

/// Removes a resource.
pub fn delete(collection: &str, text: &NamedText) -> HttpRequest {
    HttpRequest {
        method: "DELETE",
        path: format!("{collection}{}", text.name),
        headers: Vec::new(),
        body: String::new(),
    }
}

/// Texts by name.
pub fn multiget<'t>(
    collection: &str,
    kind: ResourceKind,
    texts: impl Iterator<Item = &'t NamedText>,
) -> HttpRequest {
    let hrefs: String = texts
        .map(|one| format!("<D:href>{collection}{}</D:href>", one.name))
        .collect();
    let (report, data) = match kind {
        ResourceKind::Contact => ("A:addressbook-multiget", "A:address-data"),
        ResourceKind::Event => ("C:calendar-multiget", "C:calendar-data"),
    };
    let body =
        format!("<{report} {NAMESPACES}><D:prop><D:getetag/><{data}/></D:prop>{hrefs}</{report}>");
    xml("REPORT", collection, "1", &body)
}

/// The events of a week with their texts; as occurrences if `expand`.
pub fn query_week(collection: &str, expand: bool) -> HttpRequest {
    let range = queried_week().range;
    let [start, end] = [range.start, range.end].map(Timestamp::from_seconds);
    let range = format!("start=\"{start}\" end=\"{end}\"");
    let data = match expand {
        true => format!("<C:calendar-data><C:expand {range}/></C:calendar-data>"),
        false => "<C:calendar-data/>".to_owned(),
    };
    let body = format!(
        "<C:calendar-query {NAMESPACES}><D:prop><D:getetag/>{data}</D:prop><C:filter>\
         <C:comp-filter name=\"VCALENDAR\"><C:comp-filter name=\"VEVENT\"><C:time-range {range}/>\
         </C:comp-filter></C:comp-filter></C:filter></C:calendar-query>"
    );
    xml("REPORT", collection, "1", &body)
}

/// The names of the contacts with a part in their names.
pub fn query_names(collection: &str) -> HttpRequest {
    let body = format!(
        "<A:addressbook-query {NAMESPACES}><D:prop><D:getetag/></D:prop><A:filter>\
         <A:prop-filter name=\"FN\"><A:text-match collation=\"i;unicode-casemap\" \
         match-type=\"contains\">{NAME_PART}</A:text-match></A:prop-filter></A:filter>\
         </A:addressbook-query>"
    );
    xml("REPORT", collection, "1", &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_query_are_in_utc() {
        let request = query_week("/c/", true);
        let range = "start=\"20220704T040300Z\" end=\"20220711T040300Z\"";
        assert_eq!(request.body.matches(range).count(), 2);
    }
}
