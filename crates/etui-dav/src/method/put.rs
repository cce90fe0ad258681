//! PUT (RFC 4791 section 5.3.2, RFC 6352 section 6.3.2).

use etui::contacts::Card;
use etui::record::Collection;
use etui::resource::{Resource, ResourceCondition, SavedResource, StoredResource};
use etui::{SaveOutcome, calendar::CalendarObject};
use etui_vcard::VCardVersion;
use http::StatusCode;
use http::header::CONTENT_RANGE;

use super::refused::{Attempt, refusal_of};
use super::{answer_body, answer_empty};
use crate::condition;
use crate::context::Context;
use crate::failure::{Refusal, Result};
use crate::headers::{self, Conditions};
use crate::kind::{DavKind, component_of};
use crate::property::quoted;
use crate::respond::Respond;
use crate::session::Outcome;
use crate::xml::Namespace;

/// A saved resource.
pub(crate) struct Put {
    saved: SavedResource,
    /// Reading the resource gives the bytes that were sent.
    is_verbatim: bool,
}

/// How the bytes of one kind are put.
pub(crate) trait PutKind: DavKind {
    /// Saves the bytes.
    fn put(
        collection: &Collection<'_, Self>,
        name: &str,
        bytes: &[u8],
        condition: &ResourceCondition,
    ) -> etui::Result<Put>;

    /// Returns the component that the collection would have to take; `None`: any will do.
    fn component(bytes: &[u8]) -> Option<&'static str>;
}

impl PutKind for CalendarObject {
    fn put(
        collection: &Collection<'_, Self>,
        name: &str,
        bytes: &[u8],
        condition: &ResourceCondition,
    ) -> etui::Result<Put> {
        put_bytes(collection, name, bytes, condition)
    }

    fn component(bytes: &[u8]) -> Option<&'static str> {
        component_of(bytes)
    }
}

impl PutKind for Card {
    fn put(
        collection: &Collection<'_, Self>,
        name: &str,
        bytes: &[u8],
        condition: &ResourceCondition,
    ) -> etui::Result<Put> {
        let card = Card::parse(bytes)?;
        if card.version() != VCardVersion::V3_0 {
            return put_bytes(collection, name, bytes, condition);
        }
        let mut is_merged = false;
        let saved = collection.put_resource_with(name, condition, |stored| {
            let text = merged(stored, &card)?;
            is_merged = text.as_deref().is_some_and(|text| text != bytes);
            Ok(text.unwrap_or_else(|| bytes.to_vec()))
        })?;
        Ok(Put {
            is_verbatim: saved.is_verbatim && !is_merged,
            saved,
        })
    }

    fn component(_bytes: &[u8]) -> Option<&'static str> {
        None
    }
}

/// Returns the text to keep for an edited card of version 3.0, if that is another one. A client that was
/// given a 4.0 card as 3.0 could not see all of it; the rest is kept.
fn merged(stored: Option<&StoredResource>, edited: &Card) -> etui::Result<Option<Vec<u8>>> {
    let Some(stored) = stored.map(|stored| Card::parse(stored.bytes.as_slice())) else {
        return Ok(None);
    };
    let stored = stored?;
    // Another UID is another person, or is refused.
    if stored.version() != VCardVersion::V4_0 || stored.uid() != edited.uid() {
        return Ok(None);
    }
    Ok(Some(stored.merge_v3(edited)?.into_text()))
}

fn put_bytes<R: Resource>(
    collection: &Collection<'_, R>,
    name: &str,
    bytes: &[u8],
    condition: &ResourceCondition,
) -> etui::Result<Put> {
    let saved = collection.put_resource(name, bytes, condition)?;
    Ok(Put {
        is_verbatim: saved.is_verbatim,
        saved,
    })
}

pub(crate) fn put<R: PutKind>(
    cx: &Context<'_>,
    segment: &str,
    name: &str,
    out: &mut dyn Respond,
    outcome: &mut Outcome,
) -> Result<()> {
    let found = cx.expect::<R>(segment)?;
    outcome.collection = Some(found.collection.id());
    cx.expect_may_write()?;
    // RFC 9110 section 14.5.
    if cx.request.headers().contains_key(CONTENT_RANGE) {
        return Err(Refusal::bad_request("a part of a resource cannot be put").into());
    }
    let bytes = cx.request.body().as_slice();
    if bytes.len() as u64 > cx.options.max_resource {
        let detail = format!("a resource has at most {} bytes", cx.options.max_resource);
        return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
            .with(R::NS, "max-resource-size")
            .into());
    }
    let attempt = Attempt {
        cx,
        collection: &found.collection,
        name,
        bytes,
    };
    if let Some(component) = R::component(bytes) {
        let components = cx.node(&found).components()?;
        if !components.iter().any(|one| one == component) {
            let refusal = Refusal::forbidden(format!("this calendar takes no {component}"))
                .with(Namespace::CalDav, "supported-calendar-component");
            return Err(attempt.keep(refusal.into()));
        }
    }
    let condition = condition::of_write(&Conditions::of(cx.request.headers()));
    let Put { saved, is_verbatim } = R::put(&found.collection, name, bytes, &condition)
        .map_err(|error| attempt.keep(refusal_of::<R>(error, &found.href)))?;
    outcome.written = u64::from(saved.outcome != SaveOutcome::Unchanged);
    let status = match saved.outcome {
        SaveOutcome::Added => StatusCode::CREATED,
        SaveOutcome::Changed | SaveOutcome::Unchanged => StatusCode::NO_CONTENT,
    };
    // A client believes that it has the bytes of this tag (RFC 4791 section 5.3.4).
    let mut tag = Vec::new();
    if is_verbatim {
        tag.push(("etag", quoted(&saved.tag)));
    }
    if headers::prefers_representation(cx.request.headers())
        && let Some(stored) = found.collection.resource(name)?
    {
        let status = match status {
            StatusCode::NO_CONTENT => StatusCode::OK,
            status => status,
        };
        let headers = [
            ("etag", quoted(&stored.tag)),
            (
                "content-type",
                R::content_type(Some(&stored.bytes)).into_owned(),
            ),
            ("content-location", cx.request.uri().path().to_owned()),
            ("preference-applied", "return=representation".to_owned()),
        ];
        return answer_body(out, status, &headers, &stored.bytes);
    }
    answer_empty(out, status, &tag)
}
