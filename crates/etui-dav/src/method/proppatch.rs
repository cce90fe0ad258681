//! PROPPATCH of a collection (RFC 4918 section 9.2).

use crate::context::{Context, for_kind};
use crate::failure::{Refusal, Result};
use crate::headers;
use crate::kind::DavKind;
use crate::multistatus::Multistatus;
use crate::path::Target;
use crate::property::change::{self, ChangeResults, PropertyChange};
use crate::respond::Respond;
use crate::session::Outcome;
use crate::xml::Namespace;
use etui::store::CollectionKey;

use super::answer_empty;

pub(crate) fn proppatch(
    context: &Context<'_>,
    target: &Target,
    out: &mut dyn Respond,
    outcome: &mut Outcome,
) -> Result<()> {
    let body = context.required_xml()?;
    if !body.is(&Namespace::Dav, "propertyupdate") {
        return Err(Refusal::bad_request("the body is not DAV:propertyupdate").into());
    }
    let changes = change::changes_of(&body)?;
    if changes.is_empty() {
        return Err(Refusal::bad_request("the body changes no property").into());
    }
    let (href, results) = match target {
        Target::Collection(home, segment) => {
            for_kind!(*home, of_collection(context, segment, &changes, outcome))?
        }
        Target::Resource(home, segment, name) => {
            for_kind!(*home, of_resource(context, segment, name))?;
            (
                context.request.uri().path().to_owned(),
                all_forbidden(&changes),
            )
        }
        Target::Nothing => return Err(Refusal::not_found().into()),
        _ => {
            context.expect_may_write()?;
            (
                context.request.uri().path().to_owned(),
                all_forbidden(&changes),
            )
        }
    };
    let is_done = results.iter().all(|(_, refusal)| refusal.is_none());
    if is_done && headers::prefers_minimal(context.request.headers()) {
        let applied = [("preference-applied", "return=minimal".to_owned())];
        return answer_empty(out, http::StatusCode::OK, &applied);
    }
    let mut answer = Multistatus::start(out, false)?;
    answer.changed(&href, &results)?;
    Ok(answer.finish()?)
}

/// Refuses to change the properties of a path that is no collection.
fn all_forbidden(changes: &[PropertyChange]) -> ChangeResults {
    let refusal = Refusal::forbidden("only collections have properties that can be set");
    let all = changes.iter();
    all.map(|one| (one.name.clone(), Some(refusal.clone())))
        .collect()
}

fn of_resource<R: DavKind>(context: &Context<'_>, segment: &str, name: &str) -> Result<()> {
    let found = context.find::<R>(segment)?.ok_or_else(Refusal::not_found)?;
    context.expect_may_write()?;
    match found
        .collection
        .resource(name)?
        .and_then(|stored| found.seen(stored))
    {
        Some(_) => Ok(()),
        None => Err(Refusal::not_found().into()),
    }
}

fn of_collection<R: DavKind>(
    context: &Context<'_>,
    segment: &str,
    changes: &[PropertyChange],
    outcome: &mut Outcome,
) -> Result<(String, ChangeResults)> {
    let found = context.expect::<R>(segment, outcome)?;
    match found.shared {
        Some(_) => context.expect_may_write()?,
        None => context.expect_may_write_to(&found)?,
    }
    let checked = match change::check::<R>(changes, false) {
        Err(refused) => return Ok((found.href, refused)),
        Ok(checked) => checked,
    };
    // Of a collection of another person the user changes how it is shown to the user.
    let key = match &found.shared {
        Some(shared) => CollectionKey::Reference(shared.reference.id()),
        None => CollectionKey::Id(found.collection.id()),
    };
    let results = match context.store.collections::<R>().change(key, &checked) {
        Ok(()) => change::made(changes),
        Err(error) => change::refused(changes, error)?,
    };
    Ok((found.href, results))
}
