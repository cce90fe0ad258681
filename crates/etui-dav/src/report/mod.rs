//! REPORT: the reports of WebDAV, CalDAV and CardDAV.

mod expand_property;
mod multiget;
mod principals;
mod query;
mod sync_collection;

use crate::context::{Context, FoundCollection, for_kind};
use crate::data::DataForm;
use crate::failure::{Refusal, Result};
use crate::kind::DavKind;
use crate::path::{Home, Target};
use crate::property::Wanted;
use crate::respond::Respond;
use crate::session::Outcome;
use crate::xml::{Element, Namespace};

use expand_property::expand_property;
use multiget::multiget;
use principals::{principal_match, principal_property_search, principal_search_property_set};
use query::{address_query, calendar_query, free_busy_query};
use sync_collection::sync_collection;

pub(crate) fn report(
    context: &Context<'_>,
    target: &Target,
    out: &mut dyn Respond,
    outcome: &mut Outcome,
) -> Result<()> {
    let report = context.required_xml()?;
    let kind = match (&report.ns, report.name.as_str()) {
        (Namespace::Dav, "sync-collection") => "sync-collection",
        (Namespace::Dav, "expand-property") => "expand-property",
        (Namespace::Dav, "principal-match") => "principal-match",
        (Namespace::Dav, "principal-property-search") => "principal-property-search",
        (Namespace::Dav, "principal-search-property-set") => "principal-search-property-set",
        (Namespace::CalDav, "calendar-query") => "calendar-query",
        (Namespace::CalDav, "free-busy-query") => "free-busy-query",
        (Namespace::CardDav, "addressbook-query") => "addressbook-query",
        (Namespace::CalDav, "calendar-multiget") => "calendar-multiget",
        (Namespace::CardDav, "addressbook-multiget") => "addressbook-multiget",
        _ => return Err(unsupported()),
    };
    outcome.kind = kind;
    let target = &match target {
        Target::Nothing => return Err(Refusal::not_found().into()),
        target => target.clone(),
    };
    match (kind, target) {
        ("expand-property", _) => expand_property(context, target, &report, out),
        ("principal-match", _) => principal_match(context, &report, out),
        ("principal-property-search", _) => principal_property_search(context, &report, out),
        ("principal-search-property-set", _) => principal_search_property_set(out),
        ("sync-collection", Target::Collection(home, segment)) => {
            for_kind!(
                *home,
                sync_collection(context, segment, &report, out, outcome)
            )
        }
        (
            "calendar-multiget",
            Target::Collection(Home::Calendars, segment)
            | Target::Resource(Home::Calendars, segment, _),
        ) => multiget::<etui::calendar::CalendarObject>(context, segment, &report, out, outcome),
        (
            "addressbook-multiget",
            Target::Collection(Home::AddressBooks, segment)
            | Target::Resource(Home::AddressBooks, segment, _),
        ) => multiget::<etui::contacts::Card>(context, segment, &report, out, outcome),
        ("calendar-query", Target::Collection(Home::Calendars, segment)) => {
            calendar_query(context, segment, &report, out, outcome)
        }
        ("free-busy-query", Target::Collection(Home::Calendars, segment)) => {
            free_busy_query(context, segment, &report, out, outcome)
        }
        ("addressbook-query", Target::Collection(Home::AddressBooks, segment)) => {
            address_query(context, segment, &report, out, outcome)
        }
        _ => Err(unsupported()),
    }
}

fn unsupported() -> crate::failure::Failure {
    Refusal::forbidden("this report is not supported here")
        .with(Namespace::Dav, "supported-report")
        .into()
}

/// Returns the form of the content that a report wants; `None`: it wants none.
pub(crate) fn data_form<R: DavKind>(
    context: &Context<'_>,
    found: &FoundCollection<'_, R>,
    wanted: &Wanted,
) -> Result<Option<DataForm>> {
    let (ns, name) = R::DATA;
    let Some(element) = wanted.named(&ns, name) else {
        return Ok(None);
    };
    DataForm::of::<R>(element, || context.zone(found)).map(Some)
}

/// Returns the number in `DAV:limit/DAV:nresults` (RFC 5323 section 5.17).
pub(crate) fn limit_of(report: &Element) -> Result<Option<u64>> {
    let limit = report.child(&Namespace::Dav, "limit");
    let Some(number) = limit.and_then(|limit| limit.child(&Namespace::Dav, "nresults")) else {
        return Ok(None);
    };
    match number.text.trim().parse() {
        Ok(number) if number > 0 => Ok(Some(number)),
        _ => Err(Refusal::bad_request("DAV:nresults is not a positive number").into()),
    }
}
