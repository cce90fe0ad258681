//! PUT (RFC 4791 section 5.3.2, RFC 6352 section 6.3.2).

use std::borrow::Cow;

use etui::SaveOutcome;
use http::StatusCode;
use http::header::CONTENT_RANGE;

use super::refused::{Attempt, expect_open, refusal_of_text};
use super::{answer_body, answer_empty};
use crate::condition;
use crate::context::{Context, FoundCollection};
use crate::failure::{Refusal, Result};
use crate::headers::{self, Conditions};
use crate::kind::DavKind;
use crate::property::quoted;
use crate::query::View;
use crate::respond::Respond;
use crate::session::Outcome;
use crate::xml::Namespace;

/// Media types of texts of which a client does not say what they are.
const OTHER_MEDIA_TYPES: [&str; 2] = ["text/plain", "application/octet-stream"];

pub(crate) fn put<R: DavKind>(
    context: &Context<'_>,
    segment: &str,
    name: &str,
    out: &mut dyn Respond,
    outcome: &mut Outcome,
) -> Result<()> {
    let bytes = context.request.body().as_slice();
    let Some(found) = context.find::<R>(segment)? else {
        let missing = Refusal::not_found().into();
        // An edit that is older than the removal of the collection.
        return Err(match context.find_removed::<R>(segment)? {
            Some(id) => Attempt::<R>::of_removed(context, id, name, bytes).keep(missing),
            None => missing,
        });
    };
    outcome.collection = Some(found.id());
    let attempt = Attempt::new(context, &found, name, bytes);
    let refuse = |failure| attempt.keep(failure);
    check_request(context, &found, bytes).map_err(refuse)?;
    expect_open(context, &found, name).map_err(refuse)?;
    let condition = condition::of_write(&Conditions::of(context.request.headers()));
    let saved = found
        .collection
        .put_resource(name, bytes, &condition)
        .map_err(|error| refuse(refusal_of_text::<R>(error, &found.href, bytes)))?;
    outcome.written = u64::from(saved.outcome != SaveOutcome::Unchanged);
    let status = match saved.outcome {
        SaveOutcome::Added => StatusCode::CREATED,
        SaveOutcome::Changed | SaveOutcome::Unchanged => StatusCode::NO_CONTENT,
    };
    if headers::prefers_representation(context.request.headers()) {
        let stored = match saved.is_verbatim {
            true => Some((saved.tag, Cow::Borrowed(bytes))),
            false => {
                let stored = found.collection.resource(name)?;
                stored.map(|stored| (stored.tag, Cow::Owned(stored.bytes)))
            }
        };
        if let Some((tag, bytes)) = stored {
            let status = match status {
                StatusCode::NO_CONTENT => StatusCode::OK,
                status => status,
            };
            let headers = [
                ("etag", quoted(&tag)),
                ("content-type", R::content_type(Some(&bytes)).into_owned()),
                ("content-location", context.request.uri().path().to_owned()),
                ("preference-applied", "return=representation".to_owned()),
            ];
            return answer_body(out, status, &headers, &bytes);
        }
    }
    // A client believes that it has the bytes of this tag (RFC 4791 section 5.3.4).
    let tag = saved.is_verbatim.then(|| ("etag", quoted(&saved.tag)));
    answer_empty(out, status, tag.as_slice())
}

/// Checks all but the resource that is stored.
fn check_request<R: DavKind>(
    context: &Context<'_>,
    found: &FoundCollection<'_, R>,
    bytes: &[u8],
) -> Result<()> {
    context.expect_may_write_to(found)?;
    if found.view(bytes) != View::Whole {
        let detail =
            "an entry in the collection of another person cannot be private or confidential";
        return Err(Refusal::forbidden(detail).with(R::NS, R::VALID_DATA).into());
    }
    // RFC 9110 section 14.5.
    if context.request.headers().contains_key(CONTENT_RANGE) {
        return Err(Refusal::bad_request("a part of a resource cannot be put").into());
    }
    if bytes.len() as u64 > context.options.max_resource {
        let detail = format!(
            "a resource has at most {} bytes",
            context.options.max_resource
        );
        return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
            .with(R::NS, "max-resource-size")
            .into());
    }
    expect_media_type::<R>(context)?;
    expect_component(context, found, bytes)
}

/// Fails if the text says to be something else. Some clients do not say what it is.
fn expect_media_type<R: DavKind>(context: &Context<'_>) -> Result<()> {
    let Some(text) = headers::text(context.request.headers(), "content-type") else {
        return Ok(());
    };
    let media_type = text.split(';').next().unwrap_or_default().trim();
    let mut known = R::MEDIA_TYPES.iter().chain(&OTHER_MEDIA_TYPES);
    match media_type.is_empty() || known.any(|known| media_type.eq_ignore_ascii_case(known)) {
        true => Ok(()),
        false => Err(
            Refusal::forbidden(format!("a resource here is not {media_type}"))
                .with(R::NS, R::SUPPORTED_DATA)
                .into(),
        ),
    }
}

/// Fails if the collection does not take the components of a resource.
pub(super) fn expect_component<R: DavKind>(
    context: &Context<'_>,
    found: &FoundCollection<'_, R>,
    bytes: &[u8],
) -> Result<()> {
    let Some(component) = R::component(bytes) else {
        return Ok(());
    };
    let components = context.node(found).components()?;
    match components.iter().any(|one| one == component) {
        true => Ok(()),
        false => Err(
            Refusal::forbidden(format!("this calendar takes no {component}"))
                .with(Namespace::CalDav, "supported-calendar-component")
                .into(),
        ),
    }
}
