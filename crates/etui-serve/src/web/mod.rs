//! The web page: today's agenda, a search in the contacts, and a contact's details.
//!
//! It reads only, has no script, and shows only collections that the device may see. All foreign text is escaped by `maud`.

mod agenda;
mod contacts;
mod layout;

use etui::CollectionId;
use etui::calendar::time::TimeZone;
use etui::record::RecordKind;
use etui::{RecordId, Snapshot};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderName, HeaderValue, Response, StatusCode, Uri};
use maud::Markup;

use crate::accounts::Login;
use crate::answer_body::AnswerBody;

/// The path of the style sheet.
pub const STYLE_PATH: &str = "/style.css";

/// The path of contacts' pages: `/contacts/COLLECTION/RECORD`.
const CONTACTS_PATH: &str = "/contacts/";

const STYLE: &str = include_str!("style.css");

/// No script, no frame, no other site.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";

/// Answers a request for a page.
///
/// # Errors
/// Any read error of the store.
pub fn answer_page(
    login: &Login,
    uri: &Uri,
    zone: &TimeZone,
) -> etui::Result<Response<AnswerBody>> {
    let snapshot = login.store.snapshot()?;
    let view = DeviceView {
        login,
        snapshot: &snapshot,
    };
    let path = uri.path();
    let (status, title, content) = if path == "/" {
        let search = read_search(uri.query().unwrap_or_default());
        match search.is_empty() {
            true => {
                let now = zone.to_local(std::time::SystemTime::now().into());
                let today = now.date();
                let content = agenda::show_day(&view, today, zone)?;
                (StatusCode::OK, "Today".to_owned(), (content, search))
            }
            false => {
                let content = contacts::show_search(&view, &search)?;
                (StatusCode::OK, search.clone(), (content, search))
            }
        }
    } else if let Some((collection, record)) = contact_of(path)
        && let Some((name, content)) = contacts::show_contact(&view, collection, record)?
    {
        (StatusCode::OK, name, (content, String::new()))
    } else {
        let title = "Not found".to_owned();
        (
            StatusCode::NOT_FOUND,
            title,
            (layout::not_found(), String::new()),
        )
    };
    let (content, search) = content;
    let page = layout::page(&title, &search, &content);
    Ok(html(status, page))
}

/// Returns the style sheet.
pub fn style_sheet() -> Response<AnswerBody> {
    let mut answer = Response::new(AnswerBody::from(STYLE));
    let headers = [
        (CONTENT_TYPE, "text/css; charset=utf-8"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CACHE_CONTROL, "max-age=3600"),
    ];
    set_headers(&mut answer, headers);
    answer
}

fn html(status: StatusCode, page: Markup) -> Response<AnswerBody> {
    let mut answer = Response::new(AnswerBody::from(page.into_string()));
    *answer.status_mut() = status;
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        // Personal data stay out of the disk cache.
        (CACHE_CONTROL, "no-store"),
    ];
    set_headers(&mut answer, headers);
    let same_origin = HeaderValue::from_static("same-origin");
    let name = HeaderName::from_static("cross-origin-resource-policy");
    answer.headers_mut().insert(name, same_origin);
    answer
}

fn set_headers<const N: usize>(
    answer: &mut Response<AnswerBody>,
    headers: [(HeaderName, &'static str); N],
) {
    for (name, value) in headers {
        let value = HeaderValue::from_static(value);
        answer.headers_mut().insert(name, value);
    }
}

/// Returns the value of `q` in a query, without blanks at its ends.
fn read_search(query: &str) -> String {
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    let found = pairs.find(|(name, _)| name == "q");
    found.map_or_else(String::new, |(_, value)| value.trim().to_owned())
}

/// Returns the collection and the record of a contact's path.
fn contact_of(path: &str) -> Option<(CollectionId, RecordId)> {
    let (collection, record) = path.strip_prefix(CONTACTS_PATH)?.split_once('/')?;
    Some((
        CollectionId(collection.parse().ok()?),
        RecordId(record.parse().ok()?),
    ))
}

/// One state of a store, as a device sees it.
struct DeviceView<'a> {
    login: &'a Login,
    snapshot: &'a Snapshot,
}

impl<'a> DeviceView<'a> {
    /// Returns true if the device may see a collection.
    fn may_see(&self, collection: CollectionId) -> bool {
        let only = self.login.device.access.only.as_ref();
        only.is_none_or(|only| only.contains(&collection))
    }

    /// Returns the collections of a kind that the device may see, with their names.
    fn collections<R: RecordKind>(&self) -> etui::Result<Vec<(String, etui::record::Reader<R>)>> {
        let mut all = Vec::new();
        for name in self.snapshot.collections::<R>()? {
            let reader = self.snapshot.collection::<R>(&name)?;
            if self.may_see(reader.id()) {
                all.push((name, reader));
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_queries_are_read() {
        assert_eq!(read_search("a=1&q=+M%C3%BCller%26+"), "Müller&");
        assert_eq!(read_search("q"), "");
        assert_eq!(
            contact_of("/contacts/3/17"),
            Some((CollectionId(3), RecordId(17)))
        );
        for bad in [
            "/contacts/",
            "/contacts/3",
            "/contacts/3/17/",
            "/contacts/x/1",
            "/contact/3/1",
        ] {
            assert_eq!(contact_of(bad), None, "{bad}");
        }
    }
}
