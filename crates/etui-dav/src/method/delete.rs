//! DELETE of a resource, or of a collection with all that is in it. Both go to the trash.

use http::StatusCode;

use etui::store::CollectionKey;

use super::answer_empty;
use super::refused::{expect_open, refusal_of};
use crate::condition;
use crate::context::{Context, for_kind};
use crate::failure::{Failure, Refusal, Result};
use crate::headers::Conditions;
use crate::kind::DavKind;
use crate::path::Target;
use crate::respond::Respond;
use crate::session::Outcome;
use crate::xml::Namespace;

pub(crate) fn delete(
    context: &Context<'_>,
    target: &Target,
    out: &mut dyn Respond,
    outcome: &mut Outcome,
) -> Result<()> {
    context.expect_may_write()?;
    match target {
        Target::Resource(home, segment, name) => {
            for_kind!(*home, of_resource(context, segment, name, outcome))?;
        }
        Target::Collection(home, segment) => {
            for_kind!(*home, of_collection(context, segment, outcome))?;
        }
        Target::Nothing => return Err(Refusal::not_found().into()),
        _ => return Err(Refusal::forbidden("this part of the tree is fixed").into()),
    }
    answer_empty(out, StatusCode::NO_CONTENT, &[])
}

fn of_resource<R: DavKind>(
    context: &Context<'_>,
    segment: &str,
    name: &str,
    outcome: &mut Outcome,
) -> Result<()> {
    let found = context.expect::<R>(segment, outcome)?;
    expect_open(context, &found, name)?;
    let condition = condition::of_write(&Conditions::of(context.request.headers()));
    match found.collection.remove_resource(name, &condition) {
        Ok(()) => {
            outcome.removed = 1;
            Ok(())
        }
        // Gone already: a client that repeats a removal learns it by 404, whatever its condition.
        Err(etui::Error::ConditionFailed { found: None, .. }) => Err(Refusal::not_found().into()),
        Err(error) => Err(refusal_of::<R>(error, &found.href)),
    }
}

fn of_collection<R: DavKind>(
    context: &Context<'_>,
    segment: &str,
    outcome: &mut Outcome,
) -> Result<()> {
    let found = context.expect::<R>(segment, outcome)?;
    if found.shared.is_some() {
        return Err(Refusal::forbidden("its owner alone may remove it")
            .with(Namespace::Dav, "need-privileges")
            .about(found.href)
            .into());
    }
    context.expect_may_write_to(&found)?;
    if !Conditions::of(context.request.headers()).is_empty() {
        let detail = "a collection has no entity tag";
        return Err(Refusal::new(StatusCode::PRECONDITION_FAILED, detail).into());
    }
    match context
        .store
        .collections::<R>()
        .remove(CollectionKey::Id(found.collection.id()))
    {
        Ok(removed) => {
            outcome.removed = removed.records;
            Ok(())
        }
        Err(error @ etui::Error::LastCollection { .. }) => {
            Err(Refusal::forbidden(error.to_string()).into())
        }
        Err(error) => Err(Failure::from(error)),
    }
}
