//! MKCOL with properties (RFC 5689) and MKCALENDAR (RFC 4791 section 5.3.1).

use http::{Response, StatusCode};

use etui::record::Collection;
use etui::store::CollectionChanges;
use etui::store::NewCollection;

use super::answer_empty;
use crate::context::{Context, for_kind, is_segment};
use crate::failure::{Refusal, Result};
use crate::headers;
use crate::kind::DavKind;
use crate::multistatus::write_changed;
use crate::path::{Home, Target};
use crate::property::change::{self, ChangeResults, PropertyChange};
use crate::respond::Respond;
use crate::session::Outcome;
use crate::xml::{Element, Namespace, Writer};

/// The number of names that are tried if another collection has the wanted one.
const MAX_NAMES: usize = 1000;

pub(crate) fn mkcol(
    context: &Context<'_>,
    target: &Target,
    is_mkcalendar: bool,
    out: &mut dyn Respond,
    outcome: &mut Outcome,
) -> Result<()> {
    context.expect_may_write()?;
    let Target::Collection(home, segment) = target else {
        let refusal = Refusal::forbidden("make collections below addressbooks/ or calendars/");
        return Err(match is_mkcalendar {
            true => refusal.with(Namespace::CalDav, "calendar-collection-location-ok"),
            false => refusal,
        }
        .into());
    };
    if is_mkcalendar && *home != Home::Calendars {
        return Err(Refusal::forbidden("make calendars below calendars/")
            .with(Namespace::CalDav, "calendar-collection-location-ok")
            .into());
    }
    if context.session.sees.is_some() {
        let detail = "this device sees some collections only, and makes none";
        return Err(Refusal::forbidden(detail)
            .with(Namespace::Dav, "need-privileges")
            .about(context.request.uri().path().to_owned())
            .into());
    }
    let body = match context.xml() {
        Err(_) if !is_said_to_be_xml(context) => {
            let detail = "the body is not XML; send application/xml, or no body";
            return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail).into());
        }
        body => body?,
    };
    let root = match is_mkcalendar {
        true => (Namespace::CalDav, "mkcalendar"),
        false => (Namespace::Dav, "mkcol"),
    };
    if let Some(body) = &body
        && !body.is(&root.0, root.1)
    {
        let detail = format!("the body is not {}", root.1);
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail).into());
    }
    for_kind!(
        *home,
        make(context, segment, body.as_ref(), is_mkcalendar, out, outcome)
    )
}

/// Returns whether a body that is no XML is a mistake in it (400) or another media type (415, RFC
/// 4918 section 9.3). XML is read whatever it is said to be: curl says that it is a form.
fn is_said_to_be_xml(context: &Context<'_>) -> bool {
    let said = headers::text(context.request.headers(), "content-type").unwrap_or_default();
    let media_type = said.split(';').next().unwrap_or_default().trim();
    let mut known = ["", "application/xml", "text/xml"].iter();
    known.any(|known| media_type.eq_ignore_ascii_case(known))
}

fn make<R: DavKind>(
    context: &Context<'_>,
    segment: &str,
    body: Option<&Element>,
    is_mkcalendar: bool,
    out: &mut dyn Respond,
    outcome: &mut Outcome,
) -> Result<()> {
    if context.find::<R>(segment)?.is_some() {
        let detail = "there is a collection of this name";
        return Err(match is_mkcalendar {
            true => Refusal::forbidden(detail).with(Namespace::Dav, "resource-must-be-null"),
            false => Refusal::new(StatusCode::METHOD_NOT_ALLOWED, detail),
        }
        .into());
    }
    if !is_segment(segment) {
        let detail = "a collection's name in a path is not a number only";
        return Err(Refusal::forbidden(detail).into());
    }
    let changes = body
        .map(change::changes_of)
        .transpose()?
        .unwrap_or_default();
    check_type::<R>(&changes)?;
    let checked = match change::check::<R>(&changes, true) {
        Err(results) => return answer_failed(out, &results, is_mkcalendar),
        Ok(checked) => checked,
    };
    match create::<R>(context, segment, checked)? {
        Ok(made) => outcome.collection = Some(made.id()),
        Err(error) => {
            let results = change::refused(&changes, error)?;
            return answer_failed(out, &results, is_mkcalendar);
        }
    }
    let cache = [("cache-control", "no-cache".to_owned())];
    answer_empty(out, StatusCode::CREATED, &cache)
}

/// Creates a collection. Names are unique in a store, display names on a server are not: a further one
/// gets a number. The inner error is that of a property.
fn create<'a, R: DavKind>(
    context: &Context<'a>,
    segment: &str,
    mut changes: CollectionChanges,
) -> Result<etui::Result<Collection<R>>> {
    let wanted = changes.name.unwrap_or_else(|| segment.to_owned());
    for number in 1..=MAX_NAMES {
        changes.name = Some(match number {
            1 => wanted.clone(),
            number => format!("{wanted} {number}"),
        });
        match context.store.collections::<R>().create(NewCollection {
            segment: Some(segment),
            changes: Some(&changes),
            ..NewCollection::default()
        }) {
            Err(etui::Error::CollectionExists { .. }) => {}
            Err(
                error @ (etui::Error::BadName { .. }
                | etui::Error::BadResourceName(_)
                | etui::Error::SegmentExists { .. }),
            ) => return Err(Refusal::forbidden(error.to_string()).into()),
            made => return Ok(made),
        }
    }
    let detail = format!("there are too many collections named {wanted}");
    Err(Refusal::forbidden(detail).into())
}

/// Checks that a `resourcetype` in the request is that of the home (RFC 5689 section 3).
fn check_type<R: DavKind>(changes: &[PropertyChange]) -> Result<()> {
    let types = changes.iter().find_map(|change| {
        let is_type = change.name.ns == Namespace::Dav && change.name.local == "resourcetype";
        change.value.as_ref().filter(|_| is_type)
    });
    let Some(types) = types else {
        return Ok(());
    };
    let (ns, of) = R::COLLECTION_TYPE;
    let is_known = |child: &Element| child.is(&ns, of) || child.is(&Namespace::Dav, "collection");
    let has_type = types.child(&ns, of).is_some();
    match has_type && types.children.iter().all(is_known) {
        true => Ok(()),
        false => Err(Refusal::forbidden(format!("here is made: {of}"))
            .with(Namespace::Dav, "valid-resourcetype")
            .into()),
    }
}

/// Answers with the properties that could not be set; nothing was made.
fn answer_failed(
    out: &mut dyn Respond,
    results: &ChangeResults,
    is_mkcalendar: bool,
) -> Result<()> {
    let (ns, name) = match is_mkcalendar {
        true => (Namespace::CalDav, "mkcalendar-response"),
        false => (Namespace::Dav, "mkcol-response"),
    };
    let head = Response::builder()
        .status(StatusCode::FAILED_DEPENDENCY)
        .header("content-type", "application/xml; charset=utf-8")
        .body(())
        .map_err(std::io::Error::other)?;
    let mut w = Writer::new(out.start(head)?);
    w.declaration()?;
    w.open(&ns, name)?;
    write_changed(&mut w, results)?;
    Ok(w.finish()?)
}
