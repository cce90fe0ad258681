//! GET and HEAD of a resource.

use http::{Method, Response, StatusCode};

use super::answer_empty;
use crate::condition;
use crate::context::Context;
use crate::data::card_as_version;
use crate::failure::{Refusal, Result};
use crate::headers::{self, Conditions};
use crate::kind::DavKind;
use crate::path::Home;
use crate::property::quoted;
use crate::respond::Respond;
use crate::session::Outcome;

pub(crate) fn get<R: DavKind>(
    context: &Context<'_>,
    segment: &str,
    name: &str,
    out: &mut dyn Respond,
    outcome: &mut Outcome,
) -> Result<()> {
    let found = context.expect::<R>(segment, outcome)?;
    let stored = found.collection.resource(name)?;
    let Some(stored) = stored.and_then(|stored| found.seen(stored)) else {
        return Err(Refusal::not_found().into());
    };
    let tag = quoted(&stored.tag);
    let conditions = Conditions::of(context.request.headers());
    if condition::is_failed(&conditions, stored.tag) {
        let detail = "the resource has another entity tag";
        return Err(Refusal::new(StatusCode::PRECONDITION_FAILED, detail).into());
    }
    if condition::is_known(&conditions, stored.tag) {
        return answer_empty(out, StatusCode::NOT_MODIFIED, &[("etag", tag)]);
    }
    outcome.read = 1;
    let version = match R::HOME {
        Home::AddressBooks => headers::accepted_vcard(context.request.headers()),
        Home::Calendars => None,
    };
    let converted = version.and_then(|version| card_as_version(&stored.bytes, &version));
    let content_type = R::content_type(Some(converted.as_ref().unwrap_or(&stored.bytes)));
    let body = converted.as_ref().unwrap_or(&stored.bytes);
    let mut head = Response::builder()
        .status(StatusCode::OK)
        .header("content-type", content_type.as_ref())
        .header("content-length", body.len());
    // The tag is that of the stored bytes.
    if *body == stored.bytes {
        head = head.header("etag", tag);
    }
    if R::HOME == Home::AddressBooks {
        head = head.header("vary", "accept");
    }
    let body_out = out.start(head.body(()).map_err(std::io::Error::other)?)?;
    if context.request.method() != Method::HEAD {
        body_out.write_all(body)?;
    }
    Ok(())
}
