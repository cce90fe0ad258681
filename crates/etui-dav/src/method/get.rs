//! GET and HEAD of a resource.

use std::borrow::Cow;

use http::{Method, Response, StatusCode};

use super::answer_empty;
use crate::condition;
use crate::context::Context;
use crate::data::CardVersion;
use crate::failure::{Refusal, Result};
use crate::headers::{self, Conditions};
use crate::kind::DavKind;
use crate::path::Home;
use crate::property::quoted;
use crate::respond::Respond;
use crate::session::Outcome;

pub(crate) fn get<R: DavKind>(
    cx: &Context<'_>,
    segment: &str,
    name: &str,
    out: &mut dyn Respond,
    outcome: &mut Outcome,
) -> Result<()> {
    let found = cx.expect::<R>(segment)?;
    outcome.collection = Some(found.collection.id());
    let Some(stored) = found.collection.resource(name)? else {
        return Err(Refusal::not_found().into());
    };
    let tag = quoted(&stored.tag);
    let conditions = Conditions::of(cx.request.headers());
    if condition::is_failed(&conditions, stored.tag) {
        let detail = "the resource has another entity tag";
        return Err(Refusal::new(StatusCode::PRECONDITION_FAILED, detail).into());
    }
    if condition::is_known(&conditions, stored.tag) {
        return answer_empty(out, StatusCode::NOT_MODIFIED, &[("etag", tag)]);
    }
    outcome.read = 1;
    let version = match R::HOME {
        Home::AddressBooks => headers::accepted_vcard(cx.request.headers()),
        Home::Calendars => None,
    };
    let version = version.and_then(|version| CardVersion::of(&version));
    let (body, content_type) = match version {
        Some(version) => match version.convert(&stored.bytes) {
            Cow::Borrowed(text) => (Cow::Borrowed(text.as_bytes()), R::content_type(None)),
            Cow::Owned(text) => (Cow::Owned(text.into_bytes()), R::content_type(None)),
        },
        None => (
            Cow::Borrowed(stored.bytes.as_slice()),
            R::content_type(Some(&stored.bytes)),
        ),
    };
    let mut head = Response::builder()
        .status(StatusCode::OK)
        .header("content-type", content_type.as_ref())
        .header("content-length", body.len());
    // The tag is that of the stored bytes.
    if body == stored.bytes {
        head = head.header("etag", tag);
    }
    if R::HOME == Home::AddressBooks {
        head = head.header("vary", "accept");
    }
    let body_out = out.start(head.body(()).map_err(std::io::Error::other)?)?;
    if cx.request.method() != Method::HEAD {
        body_out.write_all(&body)?;
    }
    Ok(())
}
