//! `sync-collection` (RFC 6578): the changes of a collection since a token.

use http::StatusCode;

use etui::record::Reader;
use etui::resource::{ResourceChange, ResourceChanges};

use super::{data_form, limit_of};
use crate::context::{Context, FoundCollection};
use crate::failure::{Refusal, Result};
use crate::headers;
use crate::kind::DavKind;
use crate::member_writer::MemberWriter;
use crate::multistatus::Multistatus;
use crate::path::resource_href;
use crate::property::{Wanted, parse_token, token_text};
use crate::query::{View, view_for_others};
use crate::respond::Respond;
use crate::session::Outcome;
use crate::xml::{Element, Namespace};

/// The number of resources whose bytes are asked for at once.
const BATCH: usize = 64;

pub(super) fn sync_collection<R: DavKind>(
    context: &Context<'_>,
    segment: &str,
    report: &Element,
    out: &mut dyn Respond,
    outcome: &mut Outcome,
) -> Result<()> {
    let found = context.expect::<R>(segment, outcome)?;
    let level = report.child(&Namespace::Dav, "sync-level");
    if level.is_some_and(|level| level.text.trim().eq_ignore_ascii_case("infinite")) {
        return Err(Refusal::forbidden(
            "a collection has no collections in it; ask with sync-level 1",
        )
        .with(Namespace::Dav, "sync-traversal-supported")
        .into());
    }
    let limit = limit_of(report)?;
    let wanted = Wanted::of(report)?;
    let form = data_form(context, &found, &wanted)?;
    let refused = || refused_token(context);
    let token = report.child(&Namespace::Dav, "sync-token");
    let since = match token
        .map(|token| token.text.trim())
        .filter(|text| !text.is_empty())
    {
        None => None,
        Some(text) => Some(parse_token(found.collection.id(), text).ok_or_else(refused)?),
    };
    let snapshot = found.store.snapshot()?;
    let reader = found.reader(&snapshot)?;
    let (changes, token, is_complete) = match reader.resource_changes(since.as_ref(), limit)? {
        ResourceChanges::Since {
            changes,
            token,
            is_complete,
        } => (changes, token, is_complete),
        ResourceChanges::Resynchronise => return Err(refused().into()),
    };
    let minimal = headers::prefers_minimal(context.request.headers());
    let members = MemberWriter::<R>::new(context, &found, &wanted, form);
    let mut answer = Multistatus::start(out, minimal)?;
    for batch in changes.chunks(BATCH) {
        for run in batch.chunk_by(|a, b| a.tag.is_some() == b.tag.is_some()) {
            if run.iter().all(|change| change.tag.is_some()) {
                // One that has become private is gone for the user.
                for change in run.iter().filter(|_| since.is_some()) {
                    if is_hidden(&found, &reader, change)? && was_seen(&reader, change)? {
                        answer.not_found(&resource_href(&found.href, &change.name))?;
                    }
                }
                let ids: Vec<_> = run.iter().map(|change| change.id).collect();
                outcome.read += members.write_records(&mut answer, &reader, &ids)?;
                continue;
            }
            for change in run {
                // The name of one that always was private is nobody's business.
                if found.shared.is_some() && !was_seen(&reader, change)? {
                    continue;
                }
                answer.not_found(&resource_href(&found.href, &change.name))?;
            }
        }
    }
    if !is_complete {
        // RFC 6578 section 3.6: there is more, from the token on.
        let cut = Refusal::new(StatusCode::INSUFFICIENT_STORAGE, "there are more changes")
            .with(Namespace::Dav, "number-of-matches-within-limits");
        answer.status(&found.href, &cut)?;
    }
    answer.sync_token(&token_text(found.collection.id(), &token))?;
    Ok(answer.finish()?)
}

/// Returns true if the user may read nothing of a resource.
fn is_hidden<R: DavKind>(
    found: &FoundCollection<'_, R>,
    reader: &Reader<R>,
    change: &ResourceChange,
) -> Result<bool> {
    if found.shared.is_none() {
        return Ok(false);
    }
    let stored = reader.resource(change.id)?;
    Ok(stored.is_some_and(|stored| found.seen(stored).is_none()))
}

/// Returns true if others could read something of a resource in one of its kept versions.
fn was_seen<R: DavKind>(reader: &Reader<R>, change: &ResourceChange) -> Result<bool> {
    let texts = reader.kept_texts(change.id)?;
    let is_seen = |text: &Vec<u8>| view_for_others(&R::as_object(text)) != View::Hidden;
    Ok(texts.iter().any(is_seen))
}

/// Returns the refusal of a token. Thunderbird begins again after 400 only, others look for the element.
fn refused_token(context: &Context<'_>) -> Refusal {
    let status = match headers::is_thunderbird(context.request.headers()) {
        true => StatusCode::BAD_REQUEST,
        false => StatusCode::FORBIDDEN,
    };
    Refusal::new(
        status,
        "the token is of another state; list the collection again",
    )
    .with(Namespace::Dav, "valid-sync-token")
}
