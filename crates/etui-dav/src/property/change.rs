//! Changes of a collection's properties, which PROPPATCH, MKCOL and MKCALENDAR ask for.

use etui::Store;
use etui::calendar::{CalendarObject, Color};
use etui::record::Collection;
use http::StatusCode;

use super::collection::{COLOR, COMPONENT_SET, component_names};
use super::dead::{DeadValue, clark_name};
use super::{Name, expect_few};
use crate::failure::{Failure, Refusal, Result};
use crate::kind::{COMPONENTS, DavKind};
use crate::path::Home;
use crate::xml::{Element, Namespace};

/// Properties that the server computes.
const PROTECTED: &[(Namespace, &str)] = &[
    (Namespace::Dav, "resourcetype"),
    (Namespace::Dav, "getetag"),
    (Namespace::Dav, "getcontenttype"),
    (Namespace::Dav, "getcontentlength"),
    (Namespace::Dav, "getlastmodified"),
    (Namespace::Dav, "creationdate"),
    (Namespace::Dav, "supportedlock"),
    (Namespace::Dav, "lockdiscovery"),
    (Namespace::Dav, "sync-token"),
    (Namespace::Dav, "owner"),
    (Namespace::Dav, "acl"),
    (Namespace::Dav, "current-user-principal"),
    (Namespace::Dav, "current-user-privilege-set"),
    (Namespace::Dav, "principal-collection-set"),
    (Namespace::Dav, "supported-report-set"),
    (Namespace::CalendarServer, "getctag"),
    (Namespace::CalDav, "supported-calendar-data"),
    (Namespace::CalDav, "supported-collation-set"),
    (Namespace::CalDav, "max-resource-size"),
    (Namespace::CardDav, "supported-address-data"),
    (Namespace::CardDav, "supported-collation-set"),
    (Namespace::CardDav, "max-resource-size"),
];

/// A change of one property.
#[derive(Debug, Clone)]
pub(crate) struct PropertyChange {
    pub(crate) name: Name,
    /// The element to set; `None`: the property is removed.
    pub(crate) value: Option<Element>,
}

/// A change that is applied.
enum Applied {
    Rename(String),
    Color(Option<Color>),
    Keep(String, Option<String>),
    Nothing,
}

/// Returns the changes of the `set` and `remove` elements of a request, in their order.
pub(crate) fn changes_of(request: &Element) -> std::result::Result<Vec<PropertyChange>, Refusal> {
    let mut changes = Vec::new();
    for step in &request.children {
        let is_set = step.is(&Namespace::Dav, "set");
        if !is_set && !step.is(&Namespace::Dav, "remove") {
            continue;
        }
        for prop in step.children_named(&Namespace::Dav, "prop") {
            for element in &prop.children {
                changes.push(PropertyChange {
                    name: Name::of(element),
                    value: is_set.then(|| with_language(element, &[prop, step, request])),
                });
            }
        }
    }
    expect_few(changes.len())?;
    Ok(changes)
}

/// Returns an element with the language that one around it declares (RFC 4918 section 4.3).
fn with_language(element: &Element, around: &[&Element]) -> Element {
    let mut element = element.clone();
    element.tail.clear();
    if element.attribute("xml:lang").is_none()
        && let Some(language) = around.iter().find_map(|one| one.attribute("xml:lang"))
    {
        let language = language.to_owned();
        element.attributes.push(("xml:lang".to_owned(), language));
    }
    element
}

/// The result for each property; `None`: it is as the client wants it.
pub(crate) type ChangeResults = Vec<(Name, Option<Refusal>)>;

/// Checks that all changes can be made, before any is; the error has the refusal of each.
pub(crate) fn check<R: DavKind>(
    changes: &[PropertyChange],
    is_new: bool,
) -> std::result::Result<(), ChangeResults> {
    let results: ChangeResults = changes
        .iter()
        .map(|change| (change.name.clone(), parse::<R>(change, is_new).err()))
        .collect();
    match results.iter().any(|(_, refusal)| refusal.is_some()) {
        true => Err(failed_dependencies(results)),
        false => Ok(()),
    }
}

/// Marks the changes that were not made because of others (RFC 4918 section 11.4).
fn failed_dependencies(results: ChangeResults) -> ChangeResults {
    let dependency = || {
        let detail = "not changed, because another property could not be changed";
        Refusal::new(StatusCode::FAILED_DEPENDENCY, detail)
    };
    let all = results.into_iter();
    all.map(|(name, refusal)| (name, Some(refusal.unwrap_or_else(dependency))))
        .collect()
}

fn is(name: &Name, known: &(Namespace, &str)) -> bool {
    name.ns == known.0 && name.local == known.1
}

fn parse<R: DavKind>(
    change: &PropertyChange,
    is_new: bool,
) -> std::result::Result<Applied, Refusal> {
    let PropertyChange { name, value } = change;
    if PROTECTED.iter().any(|known| is(name, known)) {
        // The type of a new collection was looked at already.
        if is_new && is(name, &(Namespace::Dav, "resourcetype")) {
            return Ok(Applied::Nothing);
        }
        return Err(Refusal::forbidden("this property is computed")
            .with(Namespace::Dav, "cannot-modify-protected-property"));
    }
    let is_calendar = R::HOME == Home::Calendars;
    if is(name, &(Namespace::Dav, "displayname")) {
        return match value {
            // A collection has a name.
            None => Ok(Applied::Nothing),
            Some(value) if value.text.trim().is_empty() => Ok(Applied::Nothing),
            Some(value) => Ok(Applied::Rename(value.text.trim().to_owned())),
        };
    }
    if is_calendar && is(name, &COLOR) {
        let Some(value) = value else {
            return Ok(Applied::Color(None));
        };
        let color = value.text.trim().parse();
        return match color {
            Ok(color) => Ok(Applied::Color(Some(color))),
            Err(error) => Err(conflict(format!("calendar-color: {error}"))),
        };
    }
    if is_calendar && is(name, &COMPONENT_SET) {
        if !is_new {
            return Err(Refusal::forbidden("set when the calendar is made")
                .with(Namespace::Dav, "cannot-modify-protected-property"));
        }
        let names = value.as_ref().map(component_names).unwrap_or_default();
        let known = names
            .iter()
            .filter(|name| COMPONENTS.contains(&name.as_str()));
        if known.count() == 0 {
            let detail = "a calendar takes VEVENT, VTODO or VJOURNAL";
            return Err(
                Refusal::forbidden(detail).with(Namespace::CalDav, "supported-calendar-component")
            );
        }
    }
    if is_calendar && is(name, &(Namespace::CalDav, "calendar-timezone")) {
        let is_zone = |value: &Element| {
            let text = value.text.to_ascii_uppercase();
            text.contains("BEGIN:VTIMEZONE") && text.contains("END:VTIMEZONE")
        };
        if value.as_ref().is_some_and(|value| !is_zone(value)) {
            return Err(
                Refusal::forbidden("not a calendar object with one VTIMEZONE")
                    .with(Namespace::CalDav, "valid-calendar-data"),
            );
        }
    }
    Ok(Applied::Keep(
        clark_name(name),
        value.as_ref().map(DeadValue::of),
    ))
}

fn conflict(detail: String) -> Refusal {
    Refusal::new(StatusCode::CONFLICT, detail)
}

/// Makes the changes, which have been checked. The kept properties change together. A name or size that the store refuses
/// is among the results.
pub(crate) fn apply<R: DavKind>(
    store: &Store,
    collection: &Collection<'_, R>,
    changes: &[PropertyChange],
    is_new: bool,
) -> Result<ChangeResults> {
    let mut kept: Vec<(String, Option<String>)> = Vec::new();
    let mut rename = None;
    let mut color = None;
    for change in changes {
        match parse::<R>(change, is_new) {
            Ok(Applied::Rename(name)) => rename = Some((change.name.clone(), name)),
            Ok(Applied::Color(value)) => color = Some(value),
            Ok(Applied::Keep(name, value)) => {
                kept.retain(|(one, _)| *one != name);
                kept.push((name, value));
            }
            Ok(Applied::Nothing) => {}
            Err(refusal) => return Err(refusal.into()),
        }
    }
    let mut results: ChangeResults = changes.iter().map(|one| (one.name.clone(), None)).collect();
    if let Some((property, name)) = rename
        && name != collection.name()
        && let Err(error) = store.rename_collection::<R>(collection.name(), &name)
    {
        let refusal = match &error {
            etui::Error::CollectionExists { .. } | etui::Error::BadName { .. } => {
                conflict(error.to_string())
            }
            _ => return Err(error.into()),
        };
        for (name, result) in &mut results {
            if *name == property {
                *result = Some(refusal.clone());
            }
        }
        return Ok(failed_dependencies(results));
    }
    if let Some(color) = color {
        let calendar = store.collection_by_id::<CalendarObject>(collection.id())?;
        calendar.set_color(color)?;
    }
    let borrowed: Vec<(&str, Option<&str>)> = kept
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_deref()))
        .collect();
    if borrowed.is_empty() {
        return Ok(results);
    }
    match collection.set_properties(&borrowed) {
        Ok(()) => Ok(results),
        Err(error @ etui::Error::TooManyProperties { .. }) => {
            let refusal = Refusal::new(StatusCode::INSUFFICIENT_STORAGE, error.to_string());
            for (name, result) in &mut results {
                let clark = clark_name(name);
                if kept.iter().any(|(one, _)| *one == clark) {
                    *result = Some(refusal.clone());
                }
            }
            Ok(results)
        }
        Err(error) => Err(Failure::from(error)),
    }
}
