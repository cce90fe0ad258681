//! MOVE and COPY of a resource within the store (RFC 4918 sections 9.8 and 9.9).

use etui::SaveOutcome;
use etui::record::Collection;
use http::StatusCode;

use super::answer_empty;
use super::put::expect_component;
use super::refused::{expect_open, refusal_of};
use crate::condition;
use crate::context::{Context, for_kind};
use crate::failure::{Refusal, Result};
use crate::headers::{self, Conditions};
use crate::kind::DavKind;
use crate::path::{Home, Target};
use crate::property::quoted;
use crate::query::View;
use crate::respond::Respond;
use crate::session::Outcome;

pub(crate) fn transfer(
    context: &Context<'_>,
    target: &Target,
    out: &mut dyn Respond,
    outcome: &mut Outcome,
) -> Result<()> {
    context.expect_may_write()?;
    let destination = headers::text(context.request.headers(), "destination")
        .ok_or_else(|| Refusal::bad_request("there is no header Destination"))?;
    let destination = context
        .target(destination)
        .map_err(|error| Refusal::bad_request(format!("the header Destination: {error}")))?;
    let Target::Resource(home, from, name) = target else {
        return Err(Refusal::forbidden("only a resource can be moved or copied").into());
    };
    match destination {
        Target::Resource(to_home, to, to_name) if to_home == *home => {
            let names = TransferPaths {
                from,
                name,
                to: &to,
                to_name: &to_name,
            };
            for_kind!(*home, transfer_resource(context, &names, out, outcome))
        }
        Target::Nothing | Target::Server => {
            Err(Refusal::forbidden("the destination is not in this tree of collections").into())
        }
        _ => Err(Refusal::forbidden(match home {
            Home::AddressBooks => "a contact goes to an address book only",
            Home::Calendars => "a calendar object goes to a calendar only",
        })
        .into()),
    }
}

/// The segments of source and destination.
struct TransferPaths<'n> {
    from: &'n str,
    name: &'n str,
    to: &'n str,
    to_name: &'n str,
}

fn transfer_resource<R: DavKind>(
    context: &Context<'_>,
    names: &TransferPaths<'_>,
    out: &mut dyn Respond,
    outcome: &mut Outcome,
) -> Result<()> {
    let from = context.expect::<R>(names.from, outcome)?;
    // RFC 4918 section 9.9.4: the collection of the destination must be there.
    let to = context.find::<R>(names.to)?.ok_or_else(|| {
        Refusal::new(
            StatusCode::CONFLICT,
            "the collection of the destination is missing",
        )
    })?;
    if !std::ptr::eq(from.store, to.store) {
        let detail =
            "it cannot be moved or copied between the collections of two people; save it there";
        return Err(Refusal::forbidden(detail).into());
    }
    let is_move = context.request.method().as_str() == "MOVE";
    if is_move {
        expect_open(context, &from, names.name)?;
    } else if let Some(stored) = from.collection.resource(names.name)?
        && from.view(&stored.bytes) != View::Whole
    {
        return Err(Refusal::not_found().into());
    }
    expect_open(context, &to, names.to_name)?;
    let may_overwrite = headers::may_overwrite(context.request.headers());
    let condition = condition::of_write(&Conditions::of(context.request.headers()));
    let refused = |error| refusal_of::<R>(error, &to.href);
    if from.collection.id() != to.collection.id()
        && let Some(stored) = from.collection.resource(names.name)?
    {
        expect_component(context, &to, &stored.bytes)?;
    }
    let transfer = match is_move {
        true => Collection::move_resource,
        false => Collection::copy_resource,
    };
    let saved = transfer(
        &from.collection,
        names.name,
        &condition,
        &to.collection,
        names.to_name,
        may_overwrite,
    )
    .map_err(refused)?;
    // In one collection it is renamed.
    outcome.removed = u64::from(is_move && from.collection.id() != to.collection.id());
    outcome.written = u64::from(saved.outcome != SaveOutcome::Unchanged);
    let status = match saved.outcome {
        SaveOutcome::Added => StatusCode::CREATED,
        SaveOutcome::Changed | SaveOutcome::Unchanged => StatusCode::NO_CONTENT,
    };
    answer_empty(out, status, &[("etag", quoted(&saved.tag))])
}
